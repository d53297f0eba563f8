"""The contract of `forget`: what goes, what stays, what comes back."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

import msgspec
import pytest

from bethink.errors import InvalidInput, NotFound
from bethink.storage.base import Retire, Scope, Store
from bethink.testing._contract import (
    AT,
    EMBEDDER,
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
    note,
    put,
    read,
    receipt,
    record,
    result,
    say,
    scan,
    search,
    shown,
    source,
    summary,
)

_WORDS = "the zanzibar consignment 4711"


class ForgetMessageContract(ContractBase):
    def test_a_message_goes_and_the_others_keep_their_places(self, store: Store) -> None:
        append(store, say("m1"), say("m2"), say("m3"))
        went = forget(store, message_id="m2")
        assert (went.message_ids, went.record_ids, went.thread_ids, went.units, went.erased) == (("m2",), (), (), 1, True)
        assert (went.at, went.scope, bool(went.id)) == (AT, Scope(NS), True)
        assert [(message.id, message.seq) for message in read(store).messages] == [("m1", 1), ("m3", 3)]
        assert (info(store).tip, info(store).count) == (3, 2)

    def test_the_tip_never_comes_back(self, store: Store) -> None:
        append(store, say("m1"), say("m2"))
        forget(store, message_id="m2")
        assert append(store, say("m3"), expected_tip=2).tip == 3

    def test_a_forgotten_id_may_be_used_again(self, store: Store) -> None:
        append(store, say("m1", "one"))
        forget(store, message_id="m1")
        assert append(store, say("m1", "another")).messages[0].seq == 2

    def test_its_group_goes_with_it(self, store: Store) -> None:
        for number, named in enumerate(("m2", "m3", "m5")):
            thread = f"t{number}"
            append(store, say("m1"), calls("m2", "c1", "c2"), result("m3", "c1"), say("m4"), result("m5", "c2"), thread=thread)
            assert forget(store, message_id=named).message_ids == ("m2", "m3", "m5")
            assert ids(read(store, thread).messages) == ["m1", "m4"]
            forget(store, thread_id=thread)

    def test_a_result_of_a_forgotten_call_is_refused(self, store: Store) -> None:
        append(store, calls("m1", "c1"))
        forget(store, message_id="m1")
        with pytest.raises(InvalidInput):
            append(store, result("m2", "c1"))

    def test_it_goes_from_every_fork(self, store: Store) -> None:
        append(store, say("m1"), say("m2"))
        fork(store, 2)
        went = forget(store, message_id="m1")
        assert (went.message_ids, went.units) == (("m1",), 2)
        assert ids(read(store).messages) == ids(read(store, "fork").messages) == ["m2"]

    def test_a_group_that_grew_apart_in_a_fork_goes_in_both(self, store: Store) -> None:
        append(store, calls("m1", "c1"))
        fork(store, 1)
        append(store, result("m2", "c1"))
        append(store, result("f2", "c1"), say("f3"), thread="fork")
        assert forget(store, message_id="m2").message_ids == ("f2", "m1", "m2")
        assert read(store).messages == ()
        assert ids(read(store, "fork").messages) == ["f3"]

    def test_it_stays_in_namespaces_outside_the_scope(self, store: Store) -> None:
        append(store, say("m1"))
        append(store, say("m1"), namespace=("acme", "bob"))
        forget(store, message_id="m1")
        assert ids(read(store, namespace=("acme", "bob")).messages) == ["m1"]

    def test_neither_leg_of_search_finds_it(self, store: Store) -> None:
        append(store, say("m1", "bees"), say("m2", "bees"))
        embed(store)
        forget(store, message_id="m1")
        assert hits(store, "bees") == hits(store, near="bees") == {"m2"}
        found = search(store, "bees")
        assert (found.units, found.frequency) == (1, {"bee": 1})

    def test_the_lines_that_cite_it_go(self, store: Store) -> None:
        append(store, say("m1"), say("m2"), say("m3"))
        fold(store, node("n1", 1, 3, line("of one", "m1"), line("of both", "m1", "m2"), line("of two", "m2")), through=3)
        went = forget(store, message_id="m1")
        (left,) = read(store, nodes=True).nodes
        assert went.lines == 2
        assert (left.lines, left.covers) == ((line("of two", "m2"),), ((2, 3),))
        assert info(store).folded_through == 3

    def test_a_node_without_lines_stays_while_it_covers_something(self, store: Store) -> None:
        append(store, say("m1"), say("m2"), say("m3"))
        fold(store, node("n1", 1, 3, line("of two", "m2")), through=3)
        forget(store, message_id="m2")
        (left,) = read(store, nodes=True).nodes
        assert (left.lines, left.covers) == ((), ((1, 1), (3, 3)))

    def test_a_node_that_covers_nothing_any_more_goes(self, store: Store) -> None:
        append(store, say("m1"), say("m2"))
        fold(store, node("n1", 1, 1, line("one", "m1")), node("n2", 2, 2, line("two", "m2")), through=2)
        fold(store, node("n3", 1, 2, line("up", "m2"), level=2, children=("n1", "n2")), through=2, expected=2)
        assert forget(store, message_id="m1").lines == 1
        assert get(store, nodes=("n1",)).nodes == ()
        (top,) = read(store, nodes=True).nodes
        assert (top.id, top.children, top.covers) == ("n3", ("n2",), ((2, 2),))

    def test_a_record_left_without_a_source_goes(self, store: Store) -> None:
        append(store, say("m1"), say("m2"))
        put(store, insight("r1", "lives in Lisbon", source("m1")), note("r2"))
        went = forget(store, message_id="m1")
        assert (went.record_ids, went.units) == (("r1",), 2)
        assert [each.record.id for each in scan(store, "records")] == ["r2"]

    def test_a_record_that_keeps_a_source_takes_its_wording(self, store: Store) -> None:
        append(store, say("m1"), say("m2"), say("m3"))
        put(store, insight("r1", "zanzibar", source("m1", "zanzibar"), source("m2", "from lisbon"), source("m3", "in lisbon")))
        embed(store)
        went = forget(store, message_id="m1")
        assert (went.record_ids, went.changed) == ((), ("r1",))
        stored = record(store, "r1")
        assert (stored.text, [each.message_id for each in stored.sources]) == ("in lisbon", ["m2", "m3"])
        assert (hits(store, "zanzibar"), hits(store, "lisbon")) == (set(), {"r1"})
        assert [unit.text for unit in scan(store, "pending")] == ["in lisbon"]

    def test_a_vector_of_the_old_wording_finds_no_place(self, store: Store) -> None:
        append(store, say("m1", "?"), say("m2", "!"))
        put(store, insight("r1", "zanzibar", source("m1", "zanzibar"), source("m2", "in lisbon")))
        (old,) = scan(store, "pending")
        forget(store, message_id="m1")
        store.bind_embedder(EMBEDDER.fingerprint)
        put(store, vectors=((old.unit, EMBEDDER.stored(old.text)),))
        assert [unit.text for unit in scan(store, "pending")] == ["in lisbon"]

    def test_trust_does_not_rise_by_forgetting(self, store: Store) -> None:
        append(store, say("m1", external=True), say("m2"))
        put(store, msgspec.structs.replace(insight("r1", "x", source("m1"), source("m2")), trust="external"))
        forget(store, message_id="m1")
        assert record(store, "r1").trust == "external"

    def test_a_session_summary_loses_the_lines_that_cite_it(self, store: Store) -> None:
        append(store, say("m1"), say("m2"))
        put(store, summary("s1", line("of one", "m1"), line("of two", "m2"), through=2))
        went = forget(store, message_id="m1")
        stored = record(store, "s1")
        assert (stored.text, went.lines, went.changed) == ("of two", 1, ("s1",))
        assert hits(store, "one", kinds=("summary",)) == set()
        assert forget(store, message_id="m2").record_ids == ("s1",)

    def test_receipts_that_show_it_go(self, store: Store) -> None:
        append(store, *(say(f"m{number}") for number in range(1, 6)))
        put(store, receipt=receipt("verbatim", recent=((1, 2), (4, 5))))
        put(store, receipt=msgspec.structs.replace(receipt("pinned"), pinned=((2, 2),)))
        put(store, receipt=receipt("recalled", shown("message", "m2")))
        put(store, receipt=receipt("other", shown("message", "m3"), recent=((3, 5),)))
        assert forget(store, message_id="m2").receipts == 3
        assert [each.id for each in scan(store, "receipts")] == ["other"]

    def test_receipts_that_show_what_went_or_changed_with_it_go(self, store: Store) -> None:
        append(store, *(say(f"m{number}") for number in range(1, 5)))
        fold(store, node("n1", 1, 2, line("of one", "m1")), node("n2", 3, 4, line("of three", "m3")), through=4)
        put(
            store,
            insight("gone", "x", source("m1")),
            insight("changed", "y", source("m1"), source("m2"), slot="other"),
            note("free"),
        )
        for name, of in (("n1", "node"), ("n2", "node"), ("gone", "record"), ("changed", "record"), ("free", "record")):
            put(store, receipt=receipt(f"shows {name}", shown(of, name)))
        assert forget(store, message_id="m1").receipts == 3
        assert [each.id for each in scan(store, "receipts")] == ["shows n2", "shows free"]

    def test_a_receipt_of_another_thread_with_the_same_seqs_stays(self, store: Store) -> None:
        append(store, say("m1"))
        append(store, say("x1"), thread="other")
        put(store, receipt=receipt("c1", thread="other", recent=((1, 1),)))
        assert forget(store, message_id="m1").receipts == 0

    def test_what_is_not_there_is_not_found(self, store: Store) -> None:
        append(store, say("m1"))
        put(store, note("r1"))
        missing: list[dict[str, Any]] = [{"message_id": "m9"}, {"record_id": "r9"}, {"thread_id": "t9"}, {"message_id": "r1"}]
        for named in missing:
            with pytest.raises(NotFound):
                forget(store, **named)
        with pytest.raises(NotFound):
            forget(store, ("acme",), message_id="m1")
        assert store.stats(Scope(NS)).messages == 1

    def test_naming_more_than_one_thing_is_refused(self, store: Store) -> None:
        append(store, say("m1"))
        with pytest.raises(InvalidInput):
            forget(store, message_id="m1", thread_id="t")
        assert info(store).count == 1

    def test_the_words_are_nowhere_afterwards(self, store: Store) -> None:
        append(store, say("m1", _WORDS), say("m2"))
        fold(store, node("n1", 1, 2, line(_WORDS, "m1")), through=2)
        put(store, insight("r1", _WORDS, source("m1", _WORDS)), note("r2", _WORDS, source("m1", _WORDS), source("m2", "b")))
        put(store, summary("s1", line(_WORDS, "m1"), line("other", "m2")))
        embed(store)
        assert not store.verify((_WORDS,)).clean
        assert forget(store, message_id="m1").erased
        assert store.verify((_WORDS,)).hits == ()

    def test_V082_nothing_derived_is_left_behind(self, store: Store) -> None:
        append(store, say("m1", "bees"))
        fold(store, node("n1", 1, 1, line("bees", "m1")), through=1)
        put(
            store,
            insight("r1", "bees", source("m1")),
            summary("s1", line("bees", "m1")),
            receipt=receipt("c1", recent=((1, 1),)),
        )
        forget(store, message_id="m1")
        stats = store.stats(EVERYTHING)
        assert (stats.messages, stats.nodes, sum(stats.records.values()), stats.receipts, stats.units) == (0, 0, 0, 0, 0)


class ForgetRecordContract(ContractBase):
    def test_a_record_goes_with_its_unit_and_its_sources_stay(self, store: Store) -> None:
        append(store, say("m1", "bees"))
        put(store, insight("r1", "bees", source("m1")), note("r2", "bees"))
        embed(store)
        went = forget(store, record_id="r1")
        assert (went.record_ids, went.message_ids, went.units) == (("r1",), (), 1)
        assert hits(store, "bees") == hits(store, near="bees") == {"m1", "r2"}
        assert get(store, records=("r1",)).records == ()

    def test_receipts_that_show_the_record_go(self, store: Store) -> None:
        append(store, say("m1"))
        put(store, note("r1"), note("r2"), receipt=receipt("c1", shown("record", "r1")))
        put(store, receipt=receipt("c2", shown("record", "r2")))
        assert forget(store, record_id="r1").receipts == 1
        assert [each.id for each in scan(store, "receipts")] == ["c2"]

    def test_what_it_had_superseded_becomes_current_again(self, store: Store) -> None:
        put(store, insight("old", "Porto"), insight("new", "Lisbon"))
        put(store, retire=(Retire("old", AT, "newer", superseded_by="new", valid_to=AT),))
        assert forget(store, record_id="new").revived == ("old",)
        assert record(store, "old") == insight("old", "Porto")

    def test_also_when_it_goes_for_want_of_a_source(self, store: Store) -> None:
        append(store, say("m1"))
        put(store, insight("old", "Porto"), insight("new", "Lisbon", source("m1")))
        put(store, retire=(Retire("old", AT, "newer", superseded_by="new"),))
        went = forget(store, message_id="m1")
        assert (went.record_ids, went.revived) == (("new",), ("old",))

    def test_unless_another_of_the_same_subject_and_slot_is_current(self, store: Store) -> None:
        put(
            store, insight("first", "Porto"), insight("second", "Lisbon"), insight("third", "Faro"), insight("x", "x", slot="x")
        )
        put(store, retire=(Retire("first", AT, "newer", superseded_by="second"),))
        put(store, retire=(Retire("second", AT, "newer", superseded_by="third"),))
        assert forget(store, record_id="second").revived == ()
        stored = record(store, "first")
        assert (stored.current, stored.superseded_by) == (False, "third")

    def test_nor_is_it_where_what_came_last_was_archived(self, store: Store) -> None:
        days = [AT + timedelta(days=day) for day in range(3)]
        homes = zip(("first", "second", "third"), ("Porto", "Lisbon", "Faro"), days, strict=True)
        put(store, *[insight(name, home, valid_from=since) for name, home, since in homes])
        put(store, retire=(Retire("first", AT, "superseded", superseded_by="second"),))
        put(store, retire=(Retire("second", AT, "superseded", superseded_by="third"),))
        put(store, retire=(Retire("third", AT, "archived: no room"),))
        assert forget(store, record_id="second").revived == ()
        stored = record(store, "first")
        assert (stored.current, stored.superseded_by) == (False, "third")

    def test_of_several_it_had_superseded_one_comes_back(self, store: Store) -> None:
        put(store, insight("r1", "Porto"), insight("r2", "Braga"), insight("r3", "Lisbon"))
        put(store, retire=tuple(Retire(name, AT, "newer", superseded_by="r3") for name in ("r1", "r2")))
        assert forget(store, record_id="r3").revived == ("r2",)
        assert record(store, "r1").superseded_by == "r2"

    def test_what_was_superseded_by_something_else_stays_retired(self, store: Store) -> None:
        put(store, insight("old", "Porto"), insight("new", "Lisbon"), insight("other", "x", slot="x"))
        put(store, retire=(Retire("old", AT, "newer", superseded_by="new"),))
        assert forget(store, record_id="other").revived == ()


class ForgetManyContract(ContractBase):
    def test_a_thread_goes_with_everything_in_it(self, store: Store) -> None:
        append(store, say("m1", "bees"), say("m2"))
        append(store, say("x1", "bees"), thread="other")
        fold(store, node("n1", 1, 2, line("bees", "m1")), through=2)
        put(
            store,
            insight("r1", "bees", source("m1")),
            insight("r2", "bees", source("m1"), source("x1", "more bees", "other"), slot="x"),
            summary("s1", line("bees", "m1")),
            note("r3"),
        )
        put(store, receipt=receipt("c1"))
        put(store, receipt=receipt("c2", thread="other"))
        went = forget(store, thread_id="t")
        assert (went.thread_ids, went.message_ids, went.record_ids, went.changed) == (
            ("t",),
            ("m1", "m2"),
            ("r1", "s1"),
            ("r2",),
        )
        assert (went.lines, went.units, went.receipts) == (2, 4, 1)
        with pytest.raises(NotFound):
            read(store)
        assert get(store, nodes=("n1",)).nodes == ()
        assert [each.record.id for each in scan(store, "records")] == ["r2", "r3"]
        assert [each.id for each in scan(store, "receipts")] == ["c2"]
        assert [thread.thread_id for thread in scan(store, "threads")] == ["other"]

    def test_its_summary_goes_also_when_it_cites_nothing(self, store: Store) -> None:
        append(store, say("m1"))
        append(store, say("x1"), thread="other")
        put(store, summary("s1"), summary("s2", thread="other"))
        assert forget(store, thread_id="t").record_ids == ("s1",)
        assert [each.record.id for each in scan(store, "records")] == ["s2"]

    def test_an_empty_thread_goes(self, store: Store) -> None:
        append(store)
        assert forget(store, thread_id="t").thread_ids == ("t",)
        assert store.stats(Scope(NS)).threads == 0

    def test_a_forgotten_thread_begins_anew(self, store: Store) -> None:
        append(store, say("m1"), metadata={"title": "old"})
        forget(store, thread_id="t")
        assert append(store, say("m2"), expected_tip=0).tip == 1
        assert info(store).metadata == {}

    def test_a_scope_goes_whole(self, store: Store) -> None:
        for namespace in (NS, ("acme", "ada", "work"), ("acme", "bob")):
            append(store, say("m1", "bees"), namespace=namespace)
            put(store, note("r1", "bees"), namespace=namespace, receipt=receipt("c1"))
        went = forget(store, NS, subtree=True)
        assert (went.message_ids, went.record_ids, went.thread_ids) == (("m1",), ("r1",), ("t",))
        assert (went.units, went.receipts) == (4, 2)
        stats = store.stats(Scope(NS, subtree=True))
        assert (stats.namespaces, stats.threads, stats.messages, stats.units, stats.receipts) == (0, 0, 0, 0, 0)
        assert store.stats(Scope(("acme", "bob"))).units == 2

    def test_without_subtree_what_is_below_stays(self, store: Store) -> None:
        append(store, say("m1"))
        append(store, say("m1"), namespace=(*NS, "work"))
        forget(store)
        assert store.stats(Scope(NS, subtree=True)).messages == 1

    def test_a_scope_that_holds_nothing_gives_a_receipt_of_zeros(self, store: Store) -> None:
        append(store, say("m1"), namespace=("acme", "bob"))
        went = forget(store)
        assert (went.message_ids, went.record_ids, went.thread_ids, went.changed, went.revived) == ((), (), (), (), ())
        assert (went.lines, went.units, went.receipts, went.erased) == (0, 0, 0, True)

    def test_the_words_of_a_scope_are_nowhere_afterwards(self, store: Store) -> None:
        append(store, say("m1", _WORDS))
        append(store, say("m2", "kept"), namespace=("acme", "bob"))
        put(store, note("r1", _WORDS))
        embed(store)
        forget(store)
        assert store.verify((_WORDS,)).clean

    def test_V083_add_and_forget_cycles_leave_nothing(self, store: Store) -> None:
        append(store, say("m0", "stays"))
        start = store.stats(EVERYTHING)
        for number in range(200):
            name = f"m-{number}"
            append(store, say(name, "bees make honey"))
            put(store, insight(f"r-{number}", "bees", source(name)), receipt=receipt(f"c-{number}", shown("message", name)))
            forget(store, message_id=name)
        end = store.stats(EVERYTHING)
        counted = ("namespaces", "threads", "messages", "nodes", "retired", "receipts", "units", "pending")
        assert [getattr(end, name) for name in counted] == [getattr(start, name) for name in counted]
        assert sum(end.records.values()) == 0
