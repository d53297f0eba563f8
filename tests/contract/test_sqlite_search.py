"""What search costs and keeps on SQLite: tails, words, their lists, and what other processes have written."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest
from tests.contract.sqlite_files import AT, EVERYTHING, NS, add, opened, unsettled

from bethink.errors import StoreBusy
from bethink.messages import Message
from bethink.records import Note
from bethink.retrieval.terms import index_terms
from bethink.storage.base import Append, Forget, Found, Put, Scan, Scope, Search
from bethink.storage.sqlite import SqliteStore, lexicon, tail
from bethink.testing.doubles import HashEmbedder


@pytest.fixture
def store(tmp_path: Path) -> Iterator[SqliteStore]:
    with closing(opened(tmp_path / "memory.db")) as store:
        yield store
        assert store.check() == []


SCRIPTS = [
    "東京タワー",
    "ภาษาไทย",
    "한국어를 말해요",
    "snake_case and kebab-case",
    "naïve café",
    "qx-4071",
    "Привет мир",
    "हिन्दी में",
]


@pytest.mark.parametrize("text", SCRIPTS)
def test_every_term_is_one_token_before_and_after_the_thread_is_settled(store: SqliteStore, text: str) -> None:
    terms = tuple(dict.fromkeys(index_terms(text).split(" ")))
    add(store, "t", text)
    before = store.search(Search(scope=Scope(NS), terms=terms))
    assert unsettled(store) == 1
    store.scan(Scan(what="pending", scope=EVERYTHING))
    assert unsettled(store) == 0
    after = store.search(Search(scope=Scope(NS), terms=terms))
    assert before.candidates == after.candidates
    assert before.frequency == after.frequency == dict.fromkeys(terms, 1)


@pytest.mark.parametrize("term", ['a"b', "a*", "^a", "NEAR(a", "a:b", "-a", "(", "'", "AND", "日本", "👩‍👧", "a_b", "a-b"])
def test_V058_any_term_is_a_word_and_never_an_operator(store: SqliteStore, term: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(tail, "LONGEST", 0)
    monkeypatch.setattr(tail, "terms_of", lambda _: f"{term} other")
    message = Message(role="user", content="x", id="m1", created_at=AT)
    store.append(Append(namespace=NS, thread_id="t", at=AT, messages=(message,)))
    found = store.search(Search(scope=Scope(NS), terms=(term,)))
    assert [(candidate.id, candidate.counts) for candidate in found.candidates] == [("m1", {term: 1})]
    assert found.frequency == {term: 1}


def test_a_search_settles_long_tails_and_leaves_short_ones(store: SqliteStore, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(tail, "_BATCH", 10)
    query = Search(scope=Scope(NS), terms=("bee",), limit=1000)
    add(store, "t", *[f"bees number {number}" for number in range(tail.LONGEST)])
    before = store.search(query)
    assert unsettled(store) == tail.LONGEST
    assert before.frequency == {"bee": tail.LONGEST}
    add(store, "t", "bees once more", prefix="last")
    after = store.search(query)
    assert unsettled(store) == 0
    assert after.frequency == {"bee": tail.LONGEST + 1}
    assert {each.id for each in after.candidates} == {each.id for each in before.candidates} | {"last-t-0"}


def test_a_tail_that_cannot_be_settled_is_searched_as_it_is(store: SqliteStore, monkeypatch: pytest.MonkeyPatch) -> None:
    def busy(*_: object) -> None:
        raise StoreBusy("locked")

    add(store, "t", *[f"bees number {number}" for number in range(tail.LONGEST + 1)])
    monkeypatch.setattr(store._writer, "run", busy)
    found = store.search(Search(scope=Scope(NS), terms=("bee",), limit=1000))
    assert (len(found.candidates), found.frequency) == (tail.LONGEST + 1, {"bee": tail.LONGEST + 1})
    monkeypatch.undo()


def test_a_tail_that_cannot_be_settled_is_no_empty_page_of_what_waits(
    store: SqliteStore, monkeypatch: pytest.MonkeyPatch
) -> None:
    def busy(*_: object) -> None:
        raise StoreBusy("locked")

    add(store, "t", "bees")
    monkeypatch.setattr(store._writer, "run", busy)
    with pytest.raises(StoreBusy):
        store.scan(Scan(what="pending", scope=EVERYTHING))
    monkeypatch.undo()
    assert len(store.scan(Scan(what="pending", scope=EVERYTHING)).items) == 1


def test_what_is_known_of_a_thread_is_the_same_before_and_after_it_is_settled(store: SqliteStore) -> None:
    add(store, "t", "bees", "honey")
    add(store, "u", "wax")
    before = store.scan(Scan(what="threads", scope=EVERYTHING)).items
    assert unsettled(store) == 3
    store.scan(Scan(what="pending", scope=EVERYTHING))
    assert unsettled(store) == 0
    assert store.scan(Scan(what="threads", scope=EVERYTHING)).items == before


def test_V079_a_scope_that_held_everything_stays_strict_when_others_come(
    store: SqliteStore, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(tail, "LONGEST", 0)
    monkeypatch.setattr(lexicon, "_EACH", 0)
    query = Search(scope=Scope(("acme",), subtree=True), terms=("bee",))
    add(store, "t", "bees of acme")
    assert store.search(query).frequency == {"bee": 1}
    add(store, "t", "bees of others", namespace=("others", "ada"))
    found = store.search(query)
    assert [candidate.text for candidate in found.candidates] == ["bees of acme"]
    assert (found.frequency, found.units) == ({"bee": 1}, 1)


def embedded(store: SqliteStore, embedder: HashEmbedder) -> None:
    page = store.scan(Scan(what="pending", scope=EVERYTHING, limit=10_000))
    vectors = tuple((item.unit, embedder.stored(item.text)) for item in page.items)  # type: ignore[union-attr]
    store.put(Put(namespace=NS, vectors=vectors))


def dense(store: SqliteStore, embedder: HashEmbedder, text: str, **options: Any) -> Found:
    return store.search(Search(scope=Scope(NS), vector=embedder.stored(text), **options))


def test_V041_another_store_sees_new_and_forgotten_vectors_at_its_next_search(store: SqliteStore) -> None:
    embedder = HashEmbedder()
    store.bind_embedder(embedder.fingerprint)
    add(store, "t", "bees", "honey")
    embedded(store, embedder)
    with closing(opened(store.path)) as other:
        assert len(dense(other, embedder, "bees").candidates) == 2
        add(store, "t", "wax", prefix="new")
        embedded(store, embedder)
        assert len(dense(other, embedder, "bees").candidates) == 3
        store.forget(Forget(scope=Scope(NS), at=AT, message_id="m-t-0"))
        assert {candidate.text for candidate in dense(other, embedder, "bees").candidates} == {"honey", "wax"}


def test_records_of_another_namespace_leave_the_revision(store: SqliteStore) -> None:
    note = Note(id="r1", text="bees", trust="user", recorded_at=AT)
    store.put(Put(namespace=NS, records=(note,)))
    before = store.revision(NS)
    store.put(Put(namespace=("acme", "bob"), records=(note,)))
    store.forget(Forget(scope=Scope(("acme", "bob")), at=AT))
    assert store.revision(NS) == before


def test_only_the_rarest_terms_are_looked_for(store: SqliteStore, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(lexicon, "_LOOKED_AT", 10)
    monkeypatch.setattr(tail, "LONGEST", 0)
    add(store, "t", *["bees bees"] * 20, *["honey"] * 12, "bees and honey and a badger", "badger")
    found = store.search(Search(scope=Scope(NS), terms=("bee", "honey", "badger"), limit=2))
    assert {candidate.id for candidate in found.candidates} == {"m-t-32", "m-t-33"}
    assert {candidate.id: candidate.counts for candidate in found.candidates}["m-t-32"] == {"bee": 1, "honey": 1, "badger": 1}
    assert found.frequency == {"bee": 21, "honey": 13, "badger": 2}


def test_a_unit_number_is_never_given_twice(store: SqliteStore) -> None:
    embedder = HashEmbedder()
    store.bind_embedder(embedder.fingerprint)
    add(store, "t", "bees", "secret")
    late = store.scan(Scan(what="pending", scope=EVERYTHING)).items[-1]
    store.forget(Forget(scope=Scope(NS), at=AT, message_id="m-t-1"))
    add(store, "t", "another", prefix="new")
    store.put(Put(namespace=NS, vectors=((late.unit, embedder.stored("secret")),)))  # type: ignore[union-attr]
    assert store.stats(EVERYTHING).pending == 2
