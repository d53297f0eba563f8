"""The contract of forgetting a thread that shares messages with others: its forks, the thread it was forked from."""

from __future__ import annotations

import msgspec
import pytest

from bethink.storage.base import Store
from bethink.testing._contract import (
    EVERYTHING,
    NS,
    ContractBase,
    append,
    calls,
    embed,
    fold,
    forget,
    fork,
    get,
    hits,
    ids,
    info,
    insight,
    line,
    node,
    put,
    read,
    receipt,
    record,
    result,
    say,
    scan,
    shown,
    source,
    summary,
)
from bethink.threads import ForkPoint

_WORDS = "the zanzibar consignment 4711"


class ForgetForkContract(ContractBase):
    """A thread that goes takes nothing from the threads that share messages with it."""

    @pytest.fixture
    def forked(self, store: Store) -> Store:
        """Thread `t` of three messages, folded; a fork after the second with one of its own; everything found and shown."""
        append(store, say("m1", "bees"), say("m2", "honey"), say("m3", "rain"))
        fold(store, node("n1", 1, 2, line("bees", "m1")), through=2)
        put(store, insight("r1", "likes bees", source("m1", "likes bees")))
        put(store, insight("r3", "dislikes rain", source("m3", "dislikes rain"), slot="rain"))
        append(store, say("f3", _WORDS), thread="fork", fork_of=ForkPoint("t", 2))
        put(store, insight("r4", _WORDS, source("f3", _WORDS, "fork"), slot="consignment"))
        put(store, summary("s1", line("bees", "m1")), summary("s2", line("honey", "m2"), thread="fork"))
        for thread, of_thread in (("t", ("m1", "m3")), ("fork", ("m1", "f3"))):
            lines = (shown("node", "n1"), shown("record", "r1"), *(shown("message", message) for message in of_thread))
            put(store, receipt=receipt(f"of {thread}", *lines, thread=thread, recent=((1, 3),)))
        embed(store)
        return store

    def test_a_fork_that_goes_leaves_its_parent_whole(self, forked: Store) -> None:
        before = read(forked, nodes=True)
        records = [record(forked, name) for name in ("r1", "r3", "s1")]
        went = forget(forked, thread_id="fork")
        assert (went.thread_ids, went.message_ids, went.record_ids) == (("fork",), ("f3",), ("r4", "s2"))
        assert (went.changed, went.receipts, went.lines) == ((), 1, 2)
        assert read(forked, nodes=True) == before
        assert [record(forked, name) for name in ("r1", "r3", "s1")] == records
        assert hits(forked, "bees rain", near="bees") == {"m1", "m2", "m3", "r1", "r3", "s1"}
        assert [each.id for each in scan(forked, "receipts")] == ["of t"]

    def test_a_parent_that_goes_leaves_its_fork_whole(self, forked: Store) -> None:
        before = read(forked, "fork", nodes=True)
        unmoved = [record(forked, name) for name in ("r4", "s2")]
        went = forget(forked, thread_id="t")
        assert (went.thread_ids, went.message_ids, went.record_ids) == (("t",), ("m3",), ("r3", "s1"))
        assert (went.changed, went.receipts, went.lines) == ((), 1, 2)
        assert read(forked, "fork", nodes=True) == before
        assert info(forked, "fork").parent == ForkPoint("t", 2)
        assert [record(forked, name) for name in ("r4", "s2")] == unmoved
        assert hits(forked, "bees rain", near="bees") == {"m1", "m2", "f3", "r1", "r4", "s2"}
        assert [each.id for each in scan(forked, "receipts")] == ["of fork"]
        assert [each.id for each in get(forked, nodes=("n1",)).nodes] == ["n1"]

    def test_a_record_is_rehomed_with_its_messages(self, forked: Store) -> None:
        before = record(forked, "r1")
        forget(forked, thread_id="t")
        assert record(forked, "r1") == msgspec.structs.replace(before, sources=(source("m1", "likes bees", "fork"),))
        assert [unit.text for unit in scan(forked, "pending")] == []

    def test_then_it_goes_with_the_message(self, forked: Store) -> None:
        forget(forked, thread_id="t")
        went = forget(forked, message_id="m1")
        assert (went.message_ids, went.record_ids, went.receipts) == (("m1",), ("r1",), 1)
        assert ids(read(forked, "fork").messages) == ["m2", "f3"]
        assert forked.verify(("likes bees",)).clean

    def test_or_with_the_last_thread_that_holds_it(self, forked: Store) -> None:
        forget(forked, thread_id="t")
        went = forget(forked, thread_id="fork")
        assert (went.message_ids, went.record_ids) == (("f3", "m1", "m2"), ("r1", "r4", "s2"))
        stats = forked.stats(EVERYTHING)
        assert (stats.threads, sum(stats.records.values()), stats.units, stats.receipts) == (0, 0, 0, 0)

    def test_only_its_own_words_are_nowhere_afterwards(self, forked: Store) -> None:
        forget(forked, thread_id="fork")
        assert forked.verify((_WORDS,)).clean
        assert not forked.verify(("likes bees",)).clean

    def test_it_leaves_the_units_of_the_others(self, forked: Store) -> None:
        before = forked.stats(EVERYTHING).units
        went = forget(forked, thread_id="fork")
        # Copies of m1 and m2, f3, r4 and s2.
        assert went.units == 5
        assert (forked.stats(EVERYTHING).units, forked.stats(EVERYTHING).pending) == (before - 5, 0)

    def test_the_home_is_the_thread_created_first(self, store: Store) -> None:
        append(store, say("m1"), say("m2"))
        put(store, insight("r1", "x", source("m1"), source("m2", "said later")))
        fork(store, 1, to="z")
        fork(store, 2, to="a")
        fork(store, 2, to="b")
        forget(store, thread_id="t")
        assert [(each.thread_id, each.message_id) for each in record(store, "r1").sources] == [("z", "m1"), ("a", "m2")]

    def test_a_source_it_has_already_is_not_there_twice(self, store: Store) -> None:
        append(store, say("m1"))
        fork(store, 1)
        put(store, insight("r1", "early", source("m1", "early"), source("m1", "late", "fork")))
        assert forget(store, thread_id="t").changed == ()
        assert record(store, "r1") == insight("r1", "early", source("m1", "early", "fork"))
        assert forget(store, message_id="m1").record_ids == ("r1",)

    def test_a_record_that_loses_one_source_and_keeps_another_takes_its_wording(self, store: Store) -> None:
        append(store, say("m1"), say("m2"))
        fork(store, 1)
        put(store, insight("r1", "late", source("m1", "early"), source("m2", "late")))
        put(store, receipt=receipt("c1", shown("record", "r1"), thread="fork"))
        went = forget(store, thread_id="t")
        assert (went.changed, went.receipts) == (("r1",), 1)
        stored = record(store, "r1")
        assert (stored.text, stored.sources) == ("early", (source("m1", "early", "fork"),))

    def test_a_summary_of_another_thread_keeps_its_lines(self, store: Store) -> None:
        append(store, say("m1"))
        fork(store, 1)
        mixed = msgspec.structs.replace(summary("s1", line("of one", "m1"), thread="fork"), sources=(source("m1", ""),))
        put(store, mixed)
        assert forget(store, thread_id="t").changed == ()
        assert record(store, "s1") == summary("s1", line("of one", "m1"), thread="fork")

    def test_a_call_that_goes_leaves_the_call_in_its_fork(self, store: Store) -> None:
        append(store, calls("m1", "c1"))
        fork(store, 1)
        append(store, result("m2", "c1"))
        assert forget(store, thread_id="t").message_ids == ("m2",)
        assert append(store, result("f2", "c1"), thread="fork").messages[0].group == 1

    def test_another_message_of_the_same_id_is_no_home(self, store: Store) -> None:
        append(store, say("1", _WORDS))
        append(store, say("1", "hello"), thread="other")
        put(store, insight("r1", _WORDS, source("1", _WORDS)))
        put(store, receipt=receipt("c1", shown("message", "1"), thread="other"))
        went = forget(store, thread_id="t")
        assert (went.message_ids, went.record_ids, went.receipts) == (("1",), ("r1",), 1)
        assert store.verify((_WORDS,)).clean
        assert ids(read(store, "other").messages) == ["1"]

    def test_a_thread_of_another_namespace_is_no_home(self, store: Store) -> None:
        below = (*NS, "work")
        append(store, say("m1"), thread="kept", namespace=below)
        append(store, say("m1"))
        put(store, insight("r1", "x", source("m1")))
        went = forget(store, subtree=True, thread_id="t")
        assert (went.message_ids, went.record_ids) == (("m1",), ("r1",))
        assert ids(read(store, "kept", below).messages) == ["m1"]

    def test_each_namespace_of_a_subtree_keeps_its_own(self, store: Store) -> None:
        below = (*NS, "work")
        for namespace in (NS, below):
            append(store, say("m1"), say("m2"), namespace=namespace)
            put(store, insight("r1", "x", source("m1")), namespace=namespace)
        fork(store, 1, namespace=below)
        went = forget(store, subtree=True, thread_id="t")
        assert (went.message_ids, went.record_ids, went.thread_ids) == (("m1", "m2"), ("r1",), ("t",))
        assert get(store, records=("r1",)).records == ()
        assert record(store, "r1", below).sources == (source("m1", thread="fork"),)
