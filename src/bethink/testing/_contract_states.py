"""The contract: entries of a thread's state."""

from __future__ import annotations

from typing import Any

import msgspec
import pytest

from bethink.errors import NotFound
from bethink.records import Source, StateEntry, StatePart
from bethink.storage.base import Append, Retire, Store
from bethink.testing._contract import (
    AT,
    EVERYTHING,
    NS,
    ContractBase,
    append,
    forget,
    fork,
    get,
    hits,
    insight,
    put,
    receipt,
    record,
    say,
    scan,
    shown,
    source,
)
from bethink.threads import ForkPoint

_WORDS = "forty-two green bottles"


def entry(entry_id: str, text: str, *sources: Source, part: StatePart = "fact", thread: str = "t", **fields: Any) -> StateEntry:
    return StateEntry(
        id=entry_id, text=text, trust="user", recorded_at=AT, thread_id=thread, part=part, sources=sources, **fields
    )


def entries(store: Store, thread: str) -> list[StateEntry]:
    """Those of one thread, in the order of insertion."""
    return [stored.record for stored in scan(store, "records", kinds=("state",), thread_id=thread)]


class StateContract(ContractBase):
    def test_an_entry_comes_back_as_it_was(self, store: Store) -> None:
        append(store, say("m1"))
        given = entry("e1", "use SQLite", source("m1"), part="decision", because="one file", key="database", seq=1, place=4)
        put(store, given)
        assert record(store, "e1") == given

    def test_it_is_scanned_by_its_thread_and_kind(self, store: Store) -> None:
        append(store, say("m1"))
        append(store, say("n1"), thread="other")
        put(store, entry("e1", "one"), entry("e2", "two", thread="other"), insight("r1", "lives here", source("m1")))
        assert [each.id for each in entries(store, "t")] == ["e1"]
        assert [each.id for each in entries(store, "other")] == ["e2"]

    def test_search_does_not_find_it(self, store: Store) -> None:
        append(store, say("m1", "unrelated"))
        put(store, entry("e1", "honey", source("m1")))
        assert hits(store, "honey") == set()
        assert store.stats(EVERYTHING).units == 1

    def test_its_thread_must_be_there(self, store: Store) -> None:
        with pytest.raises(NotFound):
            put(store, entry("e1", "one"))
        append(store, say("m1"))
        with pytest.raises(NotFound):
            put(store, entry("e1", "one"), entry("e2", "two", thread="elsewhere"))
        assert scan(store, "records") == []

    def test_writing_it_changes_the_revision(self, store: Store) -> None:
        append(store, say("m1"))
        before = store.revision(NS)
        put(store, entry("e1", "one"))
        assert store.revision(NS) > before

    def test_one_that_is_withdrawn_stays_in_history(self, store: Store) -> None:
        append(store, say("m1"))
        put(store, entry("e1", "one"))
        put(store, retire=(Retire("e1", AT, "withdrawn"),))
        assert (record(store, "e1").current, record(store, "e1").reason) == (False, "withdrawn")


class ForgetStateContract(ContractBase):
    def test_it_goes_with_the_first_of_its_sources(self, store: Store) -> None:
        append(store, say("m1"), say("m2"))
        put(store, entry("e1", _WORDS, source("m1"), source("m2")), receipt=receipt("c1", shown("record", "e1")))
        went = forget(store, message_id="m2")
        assert (went.record_ids, went.receipts) == (("e1",), 1)
        assert store.verify((_WORDS,)).clean

    def test_what_was_set_by_hand_goes_with_its_thread(self, store: Store) -> None:
        append(store, say("m1"))
        append(store, say("n1"), thread="other")
        put(store, entry("e1", _WORDS), entry("e2", "kept", thread="other"))
        assert forget(store, thread_id="t").record_ids == ("e1",)
        assert [each.id for each in entries(store, "other")] == ["e2"]
        assert store.verify((_WORDS,)).clean

    def test_receipts_of_specialists_that_show_it_go(self, store: Store) -> None:
        below, beside, other = (*NS, "handoff", "x"), (NS[0], f"{NS[1]}2", "handoff", "x"), (*NS, "work", "x")
        append(store, say("m1"))
        put(store, entry("e1", "one", source("m1")), entry("e2", "two"))
        for namespace in (below, beside, other):
            append(store, say("n1"), namespace=namespace)
            put(store, namespace=namespace, receipt=receipt("c1", shown("record", "e1")))
            put(store, namespace=namespace, receipt=receipt("c2", shown("record", "e2")))
        assert forget(store, message_id="m1").receipts == 1
        assert [each.id for each in get(store, below, receipts=("c1", "c2")).receipts] == ["c2"]
        for namespace in (beside, other):
            assert [each.id for each in get(store, namespace, receipts=("c1", "c2")).receipts] == ["c1", "c2"]


class ForkStateContract(ContractBase):
    def test_a_fork_takes_what_lies_within(self, store: Store) -> None:
        append(store, say("m1"), say("m2"))
        put(
            store,
            entry("e1", "said early", source("m1"), seq=1),
            entry("e2", "said late", source("m2"), seq=2),
            entry("e3", "set early", seq=1),
            entry("e4", "set late", seq=2),
        )
        fork(store, 1)
        found = entries(store, "fork")
        assert [each.text for each in found] == ["said early", "set early"]
        assert found[0].sources == (source("m1", thread="fork"),)
        assert not {each.id for each in found} & {"e1", "e2", "e3", "e4"}

    def test_what_was_withdrawn_is_withdrawn_in_the_fork(self, store: Store) -> None:
        append(store, say("m1"))
        put(store, entry("e1", "one", seq=1))
        put(store, retire=(Retire("e1", AT, "withdrawn"),))
        fork(store, 1)
        assert [each.current for each in entries(store, "fork")] == [False]

    def test_an_answer_names_the_copy_of_its_question(self, store: Store) -> None:
        append(store, say("m1"))
        put(store, entry("e1", "which?", part="question", seq=1), entry("e2", "this", part="answer", about="e1", seq=1))
        fork(store, 1)
        question, answer = entries(store, "fork")
        assert answer.about == question.id

    def test_each_goes_its_own_way(self, store: Store) -> None:
        append(store, say("m1"))
        put(store, entry("e1", "one", source("m1"), seq=1))
        fork(store, 1)
        before = entries(store, "fork")
        assert forget(store, thread_id="t").record_ids == ("e1",)
        assert entries(store, "fork") == before
        assert forget(store, message_id="m1").record_ids == (before[0].id,)

    def test_a_fork_that_cannot_be_made_takes_nothing(self, store: Store) -> None:
        append(store, say("m1"))
        put(store, entry("e1", "one", seq=1))
        with pytest.raises(NotFound):
            store.append(Append(namespace=NS, thread_id="fork", at=AT, fork_of=ForkPoint("elsewhere", 1)))
        assert [stored.record.id for stored in scan(store, "records")] == ["e1"]

    def test_one_whose_source_lies_beyond_stays_behind(self, store: Store) -> None:
        append(store, say("m1"), say("m2"))
        put(store, entry("e1", "late", source("m2"), seq=1))
        fork(store, 1)
        assert entries(store, "fork") == []

    def test_a_second_fork_has_entries_of_its_own(self, store: Store) -> None:
        append(store, say("m1"))
        put(store, entry("e1", "one", seq=1))
        fork(store, 1, to="a")
        fork(store, 1, to="b")
        fork(store, 1, to="c", of="b")
        assert len({each.record.id for each in scan(store, "records")}) == 4
        copy = entries(store, "c")[0]
        assert msgspec.structs.replace(copy, id="e1", thread_id="t") == record(store, "e1")
