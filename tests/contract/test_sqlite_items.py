"""Items in a file: what search keeps of words that went, what `check` finds, and which rows a key is found by."""

from __future__ import annotations

import itertools
import subprocess
import sys
from collections.abc import Iterator
from contextlib import closing
from datetime import datetime, timedelta, timezone
from pathlib import Path

import pytest

from bethink import Memory
from bethink.storage.base import Forget, Found, ItemChange, KeepItems, ListItems, RefreshItems, Scope, Search
from bethink.storage.base.filters import alive
from bethink.storage.sqlite import SqliteStore, items, lexicon
from bethink.storage.sqlite.driver import Database
from bethink.storage.sqlite.queries import q
from bethink.testing.doubles import HashEmbedder

AT = datetime(2026, 3, 1, 12, tzinfo=timezone.utc)
NS = ("acme", "ada")
EMBEDDER = HashEmbedder()


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "a.db"


@pytest.fixture
def store(path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[SqliteStore]:
    """A store that keeps the units of every word, and weighs units by them."""
    monkeypatch.setattr(lexicon, "_READ", range(10_000))
    monkeypatch.setattr(lexicon, "_enough", lambda _: 0)
    with closing(opened(path)) as store:
        yield store


def opened(path: Path) -> SqliteStore:
    return SqliteStore(path, durability="normal")


_numbers = itertools.count(1)


def put(store: SqliteStore, key: str, text: str, *, ttl: timedelta | None = None) -> None:
    item_id = f"i{next(_numbers)}"
    change = ItemChange(namespace=NS, key=key, id=item_id, value={"said": text}, text=text, at=AT, ttl=ttl)
    store.keep_items(KeepItems(changes=(change,), history=1))


def search(store: SqliteStore, words: str) -> Found:
    request = Search(scope=Scope(NS), terms=tuple(words.split()), kinds=("item",), limit=3)
    return store.search(request)


def same(one: Found, other: Found) -> bool:
    found, expected = ({candidate.id for candidate in each.candidates} for each in (one, other))
    return (found, one.units, one.frequency) == (expected, other.units, other.frequency)


# -- what search keeps ----------------------------------------------------------------------------------------------------


def test_a_word_that_was_looked_for_is_found_where_it_is_now(store: SqliteStore, path: Path) -> None:
    for number in range(12):
        put(store, f"k{number}", "honey and rain" if number % 2 else "honey and bees")
        assert search(store, "honey rain").units == number + 1
    put(store, "k1", "nothing like that")
    put(store, "k2", "honey again")
    with closing(opened(path)) as fresh:
        assert same(search(store, "honey rain bees"), search(fresh, "honey rain bees"))
    assert search(store, "honey").frequency == {"honey": 11}


@pytest.mark.parametrize("listed", [2, 10_000])
def test_another_process_learns_of_units_that_went(
    store: SqliteStore, path: Path, listed: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(items, "_LISTED", listed)
    for number in range(9):
        put(store, f"k{number}", f"honey and word{number}")
    assert search(store, "honey").frequency == {"honey": 9}
    with closing(opened(path)) as other:
        for number in range(6):
            put(other, f"k{number}", "something else")
        assert same(search(store, "honey word1 word7"), search(other, "honey word1 word7"))
    assert search(store, "honey word1").frequency == {"honey": 3}


def test_who_reads_as_of_before_units_went_is_not_served_from_what_came_after(store: SqliteStore) -> None:
    for number in range(4):
        put(store, f"k{number}", "honey")
    with store._readers.reading() as before:
        word = ["honey#1"]
        assert len(store._frequencies.postings().of(before, word)["honey#1"]) == 4
        put(store, "k0", "rain")
        assert search(store, "honey").frequency == {"honey": 3}
        assert len(store._frequencies.postings().of(before, word)["honey#1"]) == 4
    assert search(store, "honey").frequency == {"honey": 3}


def test_a_forget_leaves_no_list_of_what_went(store: SqliteStore) -> None:
    put(store, "a", "honey", ttl=timedelta(minutes=1))
    put(store, "b", "honey")
    put(store, "b", "rain")
    assert search(store, "honey").frequency == {"honey": 1}
    store.forget(Forget(scope=Scope(NS), at=AT + timedelta(hours=1), expired=True))
    with store._readers.reading() as database:
        assert database.execute("SELECT count(*) FROM dropped") == [(0,)]
    assert search(store, "honey rain").frequency == {"rain": 1}


# -- several processes ----------------------------------------------------------------------------------------------------

COUNTING = """
import sys
from bethink import Conflict, Memory
with Memory(sys.argv[1], embedder=None, durability="normal") as memory:
    done = 0
    while done < 10:
        item = memory.items.get("count")
        try:
            memory.items.put("count", {"n": item.value["n"] + 1}, expected_version=item.version)
        except Conflict:
            continue
        done += 1
"""


def test_processes_that_count_up_lose_no_count(path: Path) -> None:
    with Memory(path, embedder=None, durability="normal") as memory:
        memory.items.put("count", {"n": 0})
        running = [subprocess.Popen([sys.executable, "-c", COUNTING, str(path)]) for _ in range(3)]
        assert [process.wait(timeout=120) for process in running] == [0, 0, 0]
        item = memory.items.get("count")
        assert item is not None
        assert (item.value, item.version) == ({"n": 30}, 31)
        assert memory.check() == []


# -- check ----------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("damage", "problem"),
    [
        ("DELETE FROM items WHERE current = 1", "is a version of an item that its key does not know"),
        ("DELETE FROM items WHERE current = 1", "has no current version, or one that is not its highest"),
        ("UPDATE items SET current = 0", "differs from its record"),
        ("UPDATE items SET expires_at = 5 WHERE current = 1", "differs from its record"),
        ("UPDATE items SET key = 'other' WHERE current = 1", "has no current version, or one that is not its highest"),
        ("DELETE FROM records WHERE retired = 1", "is of a record that is not there"),
        ("INSERT INTO dropped (unit) SELECT unit FROM records WHERE unit IS NOT NULL", "is listed as gone and is there"),
    ],
)
def test_what_does_not_fit_together_is_found(store: SqliteStore, damage: str, problem: str) -> None:
    put(store, "k", "honey")
    put(store, "k", "rain")
    assert store.check() == []

    def harm(database: Database) -> None:
        database.execute("PRAGMA defer_foreign_keys = ON")
        database.execute(damage)

    store._writer.run(harm)
    assert problem in [found.what for found in store.check()]


# -- rows -----------------------------------------------------------------------------------------------------------------


def test_a_key_is_found_by_an_index_however_many_there_are(store: SqliteStore) -> None:
    with store._readers.reading() as database:
        for statement in (q.list_items_of_keys, q.list_versions, q.list_items_of_ids, q.list_items, q.list_items_here):
            sql = statement.replace(":record", "1")
            given = ("a", "b", 0) if statement in (q.list_items, q.list_items_here) else ("a", "b", 0, '["k"]')
            plan = [row[3] for row in database.execute(f"EXPLAIN QUERY PLAN {sql}", (*given, -1, 0))]
            assert not [step for step in plan if step.startswith("SCAN") and "VIRTUAL TABLE" not in step], plan
            if statement is q.list_items_here:
                assert not [step for step in plan if "TEMP B-TREE" in step], plan


def test_what_expires_is_found_by_an_index(store: SqliteStore) -> None:
    with store._readers.reading() as database:
        for statement in (q.expired_items, q.has_expired):
            plan = [row[3] for row in database.execute(f"EXPLAIN QUERY PLAN {statement}", ("a", "b", 0))]
            assert any("items_expiring" in step for step in plan), plan


def test_a_refreshed_item_is_still_found_by_its_filter(store: SqliteStore) -> None:
    put(store, "k", "honey", ttl=timedelta(minutes=10))
    later = AT + timedelta(minutes=9, microseconds=1)
    assert store.refresh_items(RefreshItems(keys=((NS, "k"),), at=later)) == 1
    for moment, found in ((later + timedelta(minutes=9), 1), (later + timedelta(minutes=10), 0)):
        request = Search(scope=Scope(NS), terms=("honey",), kinds=("item",), where=alive(moment))
        assert len(store.search(request).candidates) == found
        assert len(store.list_items(ListItems(scope=Scope(NS), at=moment, where=alive(moment)))) == found
