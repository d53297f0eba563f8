"""Which units hold a word: what is kept in memory agrees with the file, whoever writes it."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import closing
from datetime import datetime, timedelta, timezone
from itertools import count
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from bethink.messages import Message
from bethink.records import Note
from bethink.storage.base import Append, Forget, Found, InView, Put, Retire, Scope, Search
from bethink.storage.sqlite import SqliteStore, lexicon, tail
from bethink.storage.sqlite import postings as words
from bethink.storage.sqlite.connection import Options, open_connection
from bethink.storage.sqlite.postings import Postings, Units, heaviest
from bethink.storage.sqlite.queries import q

NS = ("acme", "ada")
HERE = Scope(NS)
AT = datetime(2026, 3, 1, tzinfo=timezone.utc)

numbers = count()


@pytest.fixture
def store(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[SqliteStore]:
    """One in which every scope is a large one, and no message stays in a tail."""
    monkeypatch.setattr(tail, "LONGEST", 0)
    monkeypatch.setattr(lexicon, "_enough", lambda _: 0)
    monkeypatch.setattr(lexicon, "_READ", range(10_000))
    with closing(SqliteStore(tmp_path / "memory.db")) as store:
        yield store


def say(store: SqliteStore, *texts: str, namespace: tuple[str, ...] = NS, thread: str = "t") -> None:
    said = tuple(Message(role="user", content=text, id=f"m{next(numbers)}", created_at=AT) for text in texts)
    store.append(Append(namespace=namespace, thread_id=thread, at=AT, messages=said))


def keep(store: SqliteStore, record_id: str, text: str, *, superseded_by: str | None = None) -> None:
    retired_at = None if superseded_by is None else AT
    note = Note(id=record_id, text=text, trust="user", recorded_at=AT, retired_at=retired_at, superseded_by=superseded_by)
    store.put(Put(namespace=NS, records=(note,)))


def search(store: SqliteStore, *terms: str, limit: int = 10, scope: Scope = HERE, current: bool = True) -> Found:
    return store.search(Search(scope=scope, terms=terms, limit=limit, current=current))


def found(store: SqliteStore, *terms: str, limit: int = 10, scope: Scope = HERE, current: bool = True) -> set[str]:
    return {candidate.text for candidate in search(store, *terms, limit=limit, scope=scope, current=current).candidates}


# -- what is found --------------------------------------------------------------------------------------------------------


def test_what_holds_two_common_words_comes_before_all_that_hold_one(store: SqliteStore) -> None:
    say(store, *["bees alone"] * 40, *["honey alone"] * 40, "bees, honey", "badger alone", *["bees alone"] * 20)
    assert found(store, "bee", "honey", "badger", limit=2) == {"bees, honey", "badger alone"}


def test_of_those_that_hold_the_same_words_the_shortest_come_first(store: SqliteStore) -> None:
    say(store, "bees and their hives in summer", "bees in hives", "hives of bees in all the gardens of the whole town")
    assert found(store, "bee", "hive", limit=1) == {"bees in hives"}


def test_the_same_words_of_another_namespace_are_not_counted(store: SqliteStore) -> None:
    say(store, "bees", "honey")
    say(store, "other bees", "other honey", namespace=("acme", "bob"))
    assert search(store, "bee", "honey").frequency == {"bee": 1, "honey": 1}
    assert found(store, "bee", "honey") == {"bees", "honey"}
    assert len(found(store, "bee", "honey", scope=Scope(("acme",), subtree=True))) == 4


def test_what_came_after_a_search_is_found_by_the_next(store: SqliteStore) -> None:
    say(store, "bees", "honey")
    found(store, "bee", "honey")
    say(store, "new bees", "new honey")
    assert found(store, "bee", "honey") == {"bees", "honey", "new bees", "new honey"}


def test_what_was_forgotten_is_found_by_no_store_that_had_found_it(store: SqliteStore) -> None:
    say(store, "bees", "honey")
    say(store, "secret bees", thread="secret")
    with closing(SqliteStore(store.path)) as other:
        assert len(found(other, "bee", "honey")) == len(found(store, "bee", "honey")) == 3
        store.forget(Forget(scope=Scope(NS), thread_id="secret", at=AT))
        assert search(other, "bee", "honey").frequency == search(store, "bee", "honey").frequency == {"bee": 1, "honey": 1}
        assert found(other, "bee", "honey") == found(store, "bee", "honey") == {"bees", "honey"}


def test_what_has_been_retired_since_is_left_out(store: SqliteStore) -> None:
    keep(store, "old", "old bees and honey")
    keep(store, "new", "new bees")
    assert found(store, "bee", "honey") == {"old bees and honey", "new bees"}
    store.put(Put(namespace=NS, retire=(Retire(record_id="old", at=AT, reason="told anew", superseded_by="new"),)))
    assert found(store, "bee", "honey") == {"new bees"}
    assert found(store, "bee", "honey", current=False) == {"old bees and honey", "new bees"}


def test_what_is_left_out_takes_no_place(store: SqliteStore) -> None:
    for number in range(200):
        keep(store, f"old{number}", "bees and honey", superseded_by="new")
    keep(store, "new", "bees among much else in a very long note")
    assert found(store, "bee", "honey", limit=1) == {"bees among much else in a very long note"}


@pytest.mark.parametrize("many", [20, 100, 600])
def test_what_is_in_view_takes_no_place(store: SqliteStore, many: int) -> None:
    say(store, *["bees and honey"] * many, "bees")
    seen = InView(namespace=NS, thread_id="t", spans=((1, many),))
    request = Search(scope=Scope(NS), terms=("bee", "honey"), limit=1, in_view=seen)
    assert [candidate.text for candidate in store.search(request).candidates] == ["bees"]


def test_kinds_hold_before_the_limit(store: SqliteStore) -> None:
    say(store, *["bees and honey"] * 200)
    keep(store, "note", "bees")
    request = Search(scope=Scope(NS), terms=("bee", "honey"), kinds=("note",), limit=3)
    assert [candidate.text for candidate in store.search(request).candidates] == ["bees"]


# -- what is kept ---------------------------------------------------------------------------------------------------------


def number_of(store: SqliteStore) -> int:
    """The number of the one namespace with units."""
    with store._readers.reading() as database:
        rows = database.execute("SELECT DISTINCT namespace FROM units")
    return int(rows[0][0])


def test_whoever_reads_as_of_before_is_not_shown_what_came_after(store: SqliteStore) -> None:
    say(store, "bees")
    search(store, "bee")
    word, kept = f"bee#{number_of(store)}", Postings()
    earlier = open_connection(Options(str(store.path), "apsw", "full", timedelta(seconds=5)))
    with closing(earlier):
        earlier.execute("BEGIN")
        before = earlier.execute(q.last_unit)[0][0]
        say(store, "more bees")
        search(store, "bee")
        with store._readers.reading() as database:
            assert kept.of(database, [word])[word].tolist() == [before, before + 1]
        assert kept.of(earlier, [word])[word].tolist() == [before]


def test_memory_keeps_no_more_than_it_may(store: SqliteStore, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(words, "_KEPT", 100)
    say(store, *["bees", "honey", "wax"] * 10)
    search(store, "bee")
    kept, namespace = Postings(), number_of(store)
    with store._readers.reading() as database:
        for word in ("bee", "honey", "wax"):
            kept.of(database, [f"{word}#{namespace}"])
    assert list(kept._known) == [f"honey#{namespace}", f"wax#{namespace}"]


# -- the heaviest ---------------------------------------------------------------------------------------------------------

sets = st.lists(st.tuples(st.sets(st.integers(1, 60), max_size=40), st.sampled_from([0.25, 0.5, 1.0, 2.0, 4.0])), max_size=6)


@given(held=sets, wanted=st.integers(1, 30), without=st.sets(st.integers(1, 60), max_size=20))
def test_the_heaviest_are_those_with_the_greatest_sums(
    held: list[tuple[set[int], float]], wanted: int, without: set[int]
) -> None:
    held = sorted(held, key=lambda pair: -pair[1])
    sums = {
        unit: sum(weight for units, weight in held if unit in units)
        for unit in set().union(*(units for units, _ in held)) - without
    }
    expected = sorted(sums.items(), key=lambda pair: (-pair[1], -pair[0]))[:wanted]
    assert heaviest([(ascending(units), weight) for units, weight in held], wanted, without) == expected


def ascending(units: set[int]) -> Units:
    return np.array(sorted(units), dtype=np.int64)
