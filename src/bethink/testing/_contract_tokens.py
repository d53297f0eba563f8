"""The contract of token vectors: kept beside a unit, brought along by a search that asks for them, gone with the unit."""

from __future__ import annotations

from datetime import timedelta

import pytest

from bethink.errors import InvalidInput
from bethink.models import Fingerprint
from bethink.storage.base import Compare, Pending, Put, Retire, Scope, Search, Store, TokenVectors
from bethink.testing._contract import (
    AT,
    EMBEDDER,
    NS,
    ContractBase,
    append,
    embed,
    forget,
    fork,
    note,
    put,
    say,
    scan,
    search,
)

SPACE = Fingerprint("tokens", 8, "a")
OTHER = Fingerprint("tokens", 16, "b")


def _tokens(text: str, space: Fingerprint = SPACE) -> bytes:
    """A vector for each word: its first letter, over and over."""
    return b"".join(word[:1].encode() * (space.dimension // 2) for word in text.split())


def _give(store: Store, space: Fingerprint = SPACE) -> None:
    """Give all units of NS their vectors, and those of their tokens."""
    embed(store)
    waiting: list[Pending] = scan(store, "pending", tokens=space)
    store.put(Put(namespace=NS, tokens=TokenVectors(space, tuple((each.unit, _tokens(each.text, space)) for each in waiting))))


def _found(store: Store, query: str = "bees", space: Fingerprint | None = SPACE) -> dict[str, bytes | None]:
    return {each.id: each.tokens for each in search(store, query, tokens=space).candidates}


class TokenContract(ContractBase):
    def test_a_search_that_asks_for_tokens_has_them(self, store: Store) -> None:
        put(store, note("r1", "bees and honey"), note("r2", "bees"))
        _give(store)
        assert _found(store) == {"r1": _tokens("bees and honey"), "r2": _tokens("bees")}

    def test_a_search_that_does_not_ask_has_none(self, store: Store) -> None:
        put(store, note("r1", "bees"))
        _give(store)
        assert _found(store, space=None) == {"r1": None}

    def test_tokens_of_another_space_are_not_there(self, store: Store) -> None:
        put(store, note("r1", "bees"))
        _give(store)
        assert _found(store, space=OTHER) == {"r1": None}

    def test_those_beside_the_candidates_have_theirs_too(self, store: Store) -> None:
        append(store, say("m1", "bees"), say("m2", "honey", created_at=AT + timedelta(hours=1)))
        _give(store)
        found = search(store, "bees", tokens=SPACE, around=5, where=Compare(("at",), "lt", AT + timedelta(minutes=1)))
        assert {each.id: each.tokens for each in found.beside} == {"m2": _tokens("honey")}

    def test_tokens_and_vectors_come_in_one_transaction(self, store: Store) -> None:
        store.bind_embedder(EMBEDDER.fingerprint)
        put(store, note("r1", "bees"))
        (waiting,) = scan(store, "pending")
        tokens = TokenVectors(SPACE, ((waiting.unit, b"1234"),))
        store.put(Put(namespace=NS, vectors=((waiting.unit, EMBEDDER.stored("bees")),), tokens=tokens))
        assert _found(store) == {"r1": b"1234"}
        assert scan(store, "pending") == []

    def test_a_text_without_tokens_has_none_and_does_not_wait(self, store: Store) -> None:
        put(store, note("r1", "bees"))
        embed(store)
        (waiting,) = scan(store, "pending", tokens=SPACE)
        store.put(Put(namespace=NS, tokens=TokenVectors(SPACE, ((waiting.unit, b""),))))
        assert _found(store) == {"r1": b""}
        assert scan(store, "pending", tokens=SPACE) == []

    def test_those_that_came_last_stand_whatever_their_space(self, store: Store) -> None:
        put(store, note("r1", "bees"))
        _give(store)
        _give(store, OTHER)
        assert _found(store, space=OTHER) == {"r1": _tokens("bees", OTHER)}
        assert _found(store) == {"r1": None}

    def test_what_has_no_tokens_of_the_space_waits_for_them(self, store: Store) -> None:
        put(store, note("r1", "bees"), note("r2", "honey"))
        _give(store)
        put(store, note("r3", "wax"))
        assert [each.text for each in scan(store, "pending", tokens=SPACE, limit=1)] == ["wax"]
        assert [each.text for each in scan(store, "pending", tokens=OTHER, limit=2)] == ["bees", "honey", "wax"]

    def test_V025_tokens_that_are_not_whole_leave_nothing(self, store: Store) -> None:
        put(store, note("r1", "bees"))
        embed(store)
        (waiting,) = scan(store, "pending", tokens=SPACE)
        with pytest.raises(InvalidInput) as refused:
            store.put(Put(namespace=NS, records=(note("r2"),), tokens=TokenVectors(SPACE, ((waiting.unit, b"12345"),))))
        assert refused.value.field == "tokens[0]"
        assert len(scan(store, "records")) == len(scan(store, "pending", tokens=SPACE)) == 1

    def test_tokens_of_no_dimension_are_refused(self, store: Store) -> None:
        with pytest.raises(InvalidInput, match="dimension"):
            store.put(Put(namespace=NS, tokens=TokenVectors(Fingerprint("tokens", 0, ""), ())))

    def test_tokens_for_a_unit_forgotten_meanwhile_are_passed_over(self, store: Store) -> None:
        put(store, note("r1", "bees"))
        embed(store)
        (waiting,) = scan(store, "pending", tokens=SPACE)
        forget(store, record_id="r1")
        store.put(Put(namespace=NS, tokens=TokenVectors(SPACE, ((waiting.unit, b"1234"),))))
        assert _found(store) == {}

    def test_another_namespace_gives_a_unit_no_tokens(self, store: Store) -> None:
        put(store, note("r1", "bees"))
        embed(store)
        (waiting,) = scan(store, "pending", tokens=SPACE)
        store.put(Put(namespace=("somebody", "else"), tokens=TokenVectors(SPACE, ((waiting.unit, b"1234"),))))
        assert _found(store) == {"r1": None}

    def test_a_fork_has_the_tokens_of_what_it_copies(self, store: Store) -> None:
        append(store, say("m1", "bees"))
        _give(store)
        fork(store, 1)
        found = search(store, "bees", tokens=SPACE).candidates
        assert sorted((each.thread_id, each.tokens) for each in found) == [("fork", _tokens("bees")), ("t", _tokens("bees"))]

    def test_forgetting_a_fork_leaves_the_tokens_of_its_parent(self, store: Store) -> None:
        append(store, say("m1", "bees"))
        _give(store)
        fork(store, 1)
        forget(store, thread_id="fork")
        assert _found(store) == {"m1": _tokens("bees")}

    def test_what_is_forgotten_leaves_no_tokens(self, store: Store) -> None:
        put(store, note("r1", "bees"), note("r2", "honey wax clover"))
        _give(store)
        forget(store, record_id="r2")
        assert store.verify((_tokens("honey wax clover").decode(),)).clean
        assert _found(store) == {"r1": _tokens("bees")}

    def test_a_record_that_retires_keeps_its_tokens(self, store: Store) -> None:
        put(store, note("r1", "bees"))
        _give(store)
        put(store, retire=(Retire("r1", AT, "old"),))
        (found,) = store.search(Search(scope=Scope(NS), terms=("bee",), current=False, tokens=SPACE)).candidates
        assert found.tokens == _tokens("bees")
