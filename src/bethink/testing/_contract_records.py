"""The contract of `put`, `get`, `scan`, `stats` and what concerns the store as a whole."""

from __future__ import annotations

from collections.abc import Callable
from datetime import timedelta
from typing import Any

import msgspec
import pytest

from bethink.errors import Conflict, EmbedderMismatch, InvalidInput, NotFound, StoreClosed
from bethink.storage.base import (
    Append,
    Cite,
    Cursor,
    Due,
    Fold,
    Forget,
    Get,
    Pin,
    Put,
    Read,
    Retire,
    Scan,
    Scope,
    Search,
    Store,
)
from bethink.testing._contract import (
    AT,
    EMBEDDER,
    NS,
    ContractBase,
    append,
    embed,
    forget,
    fork,
    get,
    hits,
    info,
    insight,
    line,
    note,
    put,
    read,
    receipt,
    record,
    say,
    scan,
    search,
    shown,
    source,
    summary,
    together,
)
from bethink.testing.doubles import HashEmbedder

LATER = AT + timedelta(hours=1)


class RecordContract(ContractBase):
    def test_a_record_comes_back_as_it_was_given(self, store: Store) -> None:
        append(store, say("m1"))
        given = (
            note("r1", "the wifi code", metadata={"tags": ["home"]}, valid_from=AT, pinned=True, importance="high"),
            insight("r2", "lives in Lisbon", source("m1", "I live in Lisbon"), access_count=3, last_accessed=LATER),
            summary("r3", line("said hello", "m1")),
        )
        put(store, *given)
        assert tuple(record(store, each.id) for each in given) == given

    def test_a_known_id_gains_the_sources_it_lacks(self, store: Store) -> None:
        append(store, say("m1"), say("m2"))
        put(store, insight("r1", "lives in Lisbon", source("m1")))
        put(store, insight("r1", "lives in Lisbon", source("m1", "worded anew"), source("m2")))
        assert record(store, "r1").sources == (source("m1"), source("m2"))

    def test_the_same_message_in_two_threads_is_two_sources(self, store: Store) -> None:
        append(store, say("m1"))
        fork(store, 1)
        put(store, insight("r1", "lives in Lisbon", source("m1")))
        put(store, insight("r1", "lives in Lisbon", source("m1", thread="fork")))
        assert len(record(store, "r1").sources) == 2

    def test_a_known_id_keeps_its_text_trust_and_counters(self, store: Store) -> None:
        put(store, note("r1", "the first text"), cite=(Cite("r1", LATER),))
        put(store, msgspec.structs.replace(note("r1", "another text"), trust="external"))
        stored = record(store, "r1")
        assert (stored.text, stored.trust, stored.access_count, stored.last_accessed) == ("the first text", "user", 1, LATER)
        assert (hits(store, "first"), hits(store, "another")) == ({"r1"}, set())
        assert store.stats(Scope(NS)).units == 1

    def test_a_retired_record_that_is_put_again_becomes_current(self, store: Store) -> None:
        put(store, note("r1"), note("r2"), retire=(Retire("r1", LATER, "superseded", superseded_by="r2", valid_to=LATER),))
        put(store, note("r1"))
        assert record(store, "r1") == note("r1")

    def test_a_source_that_is_not_there_is_not_found(self, store: Store) -> None:
        append(store, say("m1"))
        for missing in (source("m9"), source("m1", thread="elsewhere")):
            with pytest.raises(NotFound):
                put(store, note("r0"), insight("r1", "lives in Lisbon", source("m1"), missing))
        assert get(store, records=("r0", "r1")).records == ()

    def test_V085_a_summary_line_resting_on_no_message_is_not_found(self, store: Store) -> None:
        append(store, say("m1"))
        with pytest.raises(NotFound):
            put(store, msgspec.structs.replace(summary("r1", line("said hello", "m1", "m9")), sources=()))

    def test_a_source_in_another_namespace_is_not_there(self, store: Store) -> None:
        append(store, say("m1"), namespace=("acme", "bob"))
        with pytest.raises(NotFound):
            put(store, insight("r1", "lives in Lisbon", source("m1")))

    def test_one_id_in_two_namespaces_is_two_records(self, store: Store) -> None:
        put(store, note("r1", "hers"))
        put(store, note("r1", "his"), namespace=("acme", "bob"))
        assert (record(store, "r1").text, record(store, "r1", ("acme", "bob")).text) == ("hers", "his")

    def test_V029_the_same_record_twice_is_one(self, store: Store) -> None:
        for _ in range(3):
            put(store, note("r1"))
        assert store.stats(Scope(NS)).records.get("note") == 1

    def test_retiring_closes_a_record_and_keeps_it(self, store: Store) -> None:
        put(store, note("r1"), note("r2"))
        put(store, retire=(Retire("r1", LATER, "newer", superseded_by="r2", valid_to=AT),))
        stored = record(store, "r1")
        assert not stored.current
        assert (stored.retired_at, stored.reason, stored.superseded_by, stored.valid_to) == (LATER, "newer", "r2", AT)

    def test_retiring_without_valid_to_leaves_it(self, store: Store) -> None:
        put(store, note("r1", valid_to=LATER), retire=(Retire("r1", LATER, "archived"),))
        assert record(store, "r1").valid_to == LATER

    def test_retiring_a_retired_record_changes_nothing(self, store: Store) -> None:
        put(store, note("r1"), retire=(Retire("r1", AT, "first"),))
        before = record(store, "r1")
        put(store, retire=(Retire("r1", LATER, "second", valid_to=LATER),))
        assert record(store, "r1") == before

    def test_retiring_or_citing_an_unknown_id_is_not_found_and_nothing_is_written(self, store: Store) -> None:
        with pytest.raises(NotFound):
            put(store, note("r1"), retire=(Retire("r9", AT, "gone"),))
        with pytest.raises(NotFound):
            put(store, note("r1"), cite=(Cite("r9", AT),))
        with pytest.raises(NotFound):
            put(store, note("r1"), pin=(Pin("r9"),))
        assert get(store, records=("r1",)).records == ()

    def test_V085_a_successor_that_is_not_there_is_not_found(self, store: Store) -> None:
        put(store, note("r1"))
        with pytest.raises(NotFound):
            put(store, retire=(Retire("r1", AT, "newer", superseded_by="r9"),))
        assert record(store, "r1").current

    def test_what_a_request_inserts_it_may_retire_and_cite(self, store: Store) -> None:
        put(store, note("old"))
        put(store, note("new"), retire=(Retire("old", AT, "newer", superseded_by="new"),), cite=(Cite("new", AT),))
        assert (record(store, "old").superseded_by, record(store, "new").access_count) == ("new", 1)

    def test_a_citation_counts_and_keeps_the_latest_time(self, store: Store) -> None:
        put(store, note("r1"))
        for at in (AT, LATER, AT):
            put(store, cite=(Cite("r1", at),))
        assert (record(store, "r1").access_count, record(store, "r1").last_accessed) == (3, LATER)

    def test_a_record_cited_twice_in_one_request_counts_twice(self, store: Store) -> None:
        put(store, note("r1"), cite=(Cite("r1", LATER), Cite("r1", AT)))
        assert (record(store, "r1").access_count, record(store, "r1").last_accessed) == (2, LATER)

    def test_no_citation_is_lost_between_threads(self, store: Store) -> None:
        put(store, note("r1"))

        def citing() -> None:
            for _ in range(15):
                put(store, cite=(Cite("r1", AT),))

        assert together(*[citing] * 4) == [None] * 4
        assert record(store, "r1").access_count == 60

    def test_what_is_pinned_is_listed_as_that_until_it_is_let_go(self, store: Store) -> None:
        put(store, note("r1"), note("r2"))
        put(store, pin=(Pin("r2"),), at=LATER)
        assert record(store, "r2").pinned
        assert [each.record.id for each in scan(store, "records", pinned=True)] == ["r2"]
        put(store, pin=(Pin("r2", pinned=False),), at=LATER)
        assert scan(store, "records", pinned=True) == []

    def test_pinning_what_is_pinned_and_letting_go_what_is_not_leave_nothing(self, store: Store) -> None:
        put(store, note("r1", pinned=True), note("r2"))
        put(store, pin=(Pin("r1"), Pin("r2", pinned=False)), at=LATER)
        assert scan(store, "versions") == []

    def test_only_notes_insights_and_episodes_can_be_pinned(self, store: Store) -> None:
        append(store, say("m1"))
        put(store, summary("s1", line("hello", "m1")))
        with pytest.raises(InvalidInput):
            put(store, pin=(Pin("s1"),), at=LATER)

    def test_what_is_no_longer_current_is_not_pinned_and_may_be_let_go(self, store: Store) -> None:
        put(store, note("r1", pinned=True), note("r2"))
        put(store, retire=(Retire("r1", AT, "archived"), Retire("r2", AT, "archived")))
        with pytest.raises(Conflict):
            put(store, pin=(Pin("r1", pinned=False), Pin("r2")), at=LATER)
        assert record(store, "r1").pinned
        put(store, pin=(Pin("r1", pinned=False),), at=LATER)
        assert not record(store, "r1").pinned

    @pytest.mark.parametrize("which", ["extracted", "reflected"])
    def test_a_cursor_moves_from_what_it_was(self, store: Store, which: str) -> None:
        append(store, say("m1"), say("m2"))
        put(store, cursor=Cursor("t", which, 0, 1))  # type: ignore[arg-type]
        put(store, cursor=Cursor("t", which, 1, 2))  # type: ignore[arg-type]
        assert getattr(info(store), f"{which}_through") == 2

    def test_a_cursor_that_is_elsewhere_leaves_everything_untouched(self, store: Store) -> None:
        append(store, say("m1"))
        put(store, note("r1"), cursor=Cursor("t", "extracted", 0, 1))
        with pytest.raises(Conflict):
            put(store, note("r2"), cursor=Cursor("t", "extracted", 0, 1), cite=(Cite("r1", AT),))
        assert get(store, records=("r2",)).records == ()
        assert record(store, "r1").access_count == 0

    def test_of_many_who_move_a_cursor_one_wins(self, store: Store) -> None:
        append(store, say("m1"))

        def derive(number: int) -> None:
            put(store, note(f"r{number}"), cursor=Cursor("t", "extracted", 0, 1))

        outcomes = together(*(lambda n=n: derive(n) for n in range(6)))
        assert sum(isinstance(outcome, Conflict) for outcome in outcomes) == 5
        assert len(scan(store, "records")) == 1

    def test_a_receipt_is_stored_and_its_id_is_used_once(self, store: Store) -> None:
        append(store, say("m1"))
        given = receipt("c1", shown("message", "m1"), recent=((1, 1),))
        put(store, receipt=given)
        assert get(store, receipts=("c1", "unknown")).receipts == (given,)
        with pytest.raises(Conflict):
            put(store, note("r1"), receipt=given)
        assert get(store, records=("r1",)).records == ()

    def test_V025_a_vector_of_the_wrong_length_leaves_nothing_and_the_retry_succeeds(self, store: Store) -> None:
        store.bind_embedder(EMBEDDER.fingerprint)
        put(store, note("r1"))
        (pending,) = scan(store, "pending")
        with pytest.raises(InvalidInput):
            put(store, note("r2"), vectors=((pending.unit, b"\x00" * 12),))
        assert get(store, records=("r2",)).records == ()
        put(store, note("r2"), vectors=((pending.unit, EMBEDDER.stored("a note")),))
        assert [unit.text for unit in scan(store, "pending")] == [record(store, "r2").text]

    def test_a_vector_without_an_embedder_is_refused(self, store: Store) -> None:
        put(store, note("r1"))
        (pending,) = scan(store, "pending")
        with pytest.raises(InvalidInput):
            put(store, vectors=((pending.unit, EMBEDDER.stored("a note")),))

    def test_a_vector_for_a_unit_forgotten_meanwhile_is_passed_over(self, store: Store) -> None:
        store.bind_embedder(EMBEDDER.fingerprint)
        put(store, note("r1"))
        (pending,) = scan(store, "pending")
        forget(store, record_id="r1")
        put(store, note("r2"), vectors=((pending.unit, EMBEDDER.stored("a note")),))
        assert search(store, near="a note").pending == 1

    def test_a_unit_waits_for_its_vector_from_the_start(self, store: Store) -> None:
        append(store, say("m1", "bees"))
        put(store, note("r1", "honey"))
        assert sorted(unit.text for unit in scan(store, "pending")) == ["bees", "honey"]
        assert store.stats(Scope(NS)).pending == 2
        embed(store)
        assert scan(store, "pending") == []
        assert store.stats(Scope(NS)).pending == 0

    def test_a_record_without_words_is_no_unit(self, store: Store) -> None:
        put(store, note("r1", "?!"))
        assert store.stats(Scope(NS)).units == 0

    def test_unknown_ids_are_absent_from_the_answer(self, store: Store) -> None:
        append(store, say("m1"))
        found = get(store, messages=("m9", "m1"), records=("r9",), nodes=("n9",), receipts=("c9",))
        assert [each.message.id for each in found.messages] == ["m1"]
        assert (found.records, found.nodes, found.receipts) == ((), (), ())


class ScanContract(ContractBase):
    def test_V034_threads_of_one_instant_page_without_repeats_and_backwards_mirrors(self, store: Store) -> None:
        names = [f"thread-{number * 7 % 25}" for number in range(25)]
        for name in names:
            append(store, thread=name)
        forwards = [thread.thread_id for thread in scan(store, "threads", limit=10)]
        assert forwards == names
        assert [thread.thread_id for thread in scan(store, "threads", limit=10, newest=True)] == names[::-1]

    def test_messages_come_by_thread_and_seq(self, store: Store) -> None:
        append(store, say("a1"), thread="a")
        append(store, say("b1"), thread="b")
        append(store, say("a2"), thread="a")
        scanned = scan(store, "messages", limit=2)
        assert [each.message.id for each in scanned] == ["a1", "a2", "b1"]
        assert [(each.namespace, each.thread_id) for each in scanned] == [(NS, "a"), (NS, "a"), (NS, "b")]
        assert scan(store, "messages", limit=2, newest=True) == scanned[::-1]
        assert [each.message.id for each in scan(store, "messages", thread_id="a")] == ["a1", "a2"]

    def test_records_come_by_insertion_and_are_filtered_by_kind_and_currency(self, store: Store) -> None:
        append(store, say("m1"))
        put(store, note("r9"), insight("r1", "lives in Lisbon"), summary("r5", line("hello", "m1")))
        put(store, retire=(Retire("r1", AT, "archived"),), cite=(Cite("r9", AT),))
        assert [each.record.id for each in scan(store, "records", limit=1)] == ["r9", "r1", "r5"]
        assert [each.record.id for each in scan(store, "records", newest=True, limit=1)] == ["r5", "r1", "r9"]
        assert [each.record.id for each in scan(store, "records", current=True)] == ["r9", "r5"]
        assert [each.record.id for each in scan(store, "records", kinds=("note", "insight"))] == ["r9", "r1"]
        assert scan(store, "records", kinds=()) == []

    def test_summaries_and_receipts_of_one_thread(self, store: Store) -> None:
        for thread in ("a", "b"):
            append(store, say(f"{thread}1"), thread=thread)
            put(
                store,
                summary(f"s-{thread}", line("hello", f"{thread}1"), thread=thread),
                receipt=receipt(f"c-{thread}", thread=thread),
            )
        summaries = scan(store, "records", kinds=("summary",), thread_id="b")
        assert [each.record.id for each in summaries] == ["s-b"]
        assert [each.id for each in scan(store, "receipts", thread_id="b")] == ["c-b"]
        assert [each.id for each in scan(store, "receipts", limit=1)] == ["c-a", "c-b"]

    def test_pending_units_come_by_number(self, store: Store) -> None:
        append(store, say("m1", "one"), say("m2", "two"))
        put(store, note("r1", "three"))
        scanned = scan(store, "pending", limit=1)
        assert sorted(unit.text for unit in scanned) == ["one", "three", "two"]
        assert [unit.unit for unit in scanned] == sorted(unit.unit for unit in scanned)
        assert scan(store, "pending", limit=2, newest=True) == scanned[::-1]

    def test_behind_leaves_out_threads_with_nothing_past_their_cursor(self, store: Store) -> None:
        append(store, thread="empty")
        append(store, say("m1"), thread="new")
        append(store, say("m1"), thread="done")
        put(store, cursor=Cursor("done", "extracted", 0, 1))
        assert [thread.thread_id for thread in scan(store, "threads", behind=True)] == ["new"]

    def test_due_are_threads_with_something_new_that_are_silent_or_long(self, store: Store) -> None:
        append(store, thread="empty")
        append(store, say("m1"), thread="old")
        append(store, say("m1"), thread="ended")
        append(store, say("m1"), say("m2"), thread="long", at=LATER)
        put(store, cursor=Cursor("ended", "reflected", 0, 1))

        def due(**which: Any) -> list[str]:
            return [thread.thread_id for thread in scan(store, "threads", due=Due(**which))]

        assert due(idle_since=AT) == ["old"]
        assert due(idle_since=AT - timedelta(microseconds=1)) == []
        assert due(messages=2) == ["long"]
        assert due(idle_since=AT, messages=2) == ["old", "long"]
        assert due() == []

    def test_a_message_after_the_end_makes_a_thread_due_again(self, store: Store) -> None:
        append(store, say("m1"))
        put(store, cursor=Cursor("t", "reflected", 0, 1))
        append(store, say("m2"), at=LATER)
        assert scan(store, "threads", due=Due(idle_since=AT)) == []
        (found,) = scan(store, "threads", due=Due(idle_since=LATER))
        assert (found.tip, found.reflected_through, found.updated_at) == (2, 1, LATER)

    def test_due_is_of_the_scope_and_page_by_page(self, store: Store) -> None:
        for name in ("a", "b", "c"):
            append(store, say("m1"), thread=name)
        append(store, say("m1"), thread="d", namespace=(*NS, "below"))
        due = Due(idle_since=AT)
        assert [thread.thread_id for thread in scan(store, "threads", due=due, limit=2)] == ["a", "b", "c"]
        assert [thread.thread_id for thread in scan(store, "threads", due=due, newest=True)] == ["c", "b", "a"]
        assert [thread.thread_id for thread in scan(store, "threads", due=due, subtree=True)] == ["a", "b", "c", "d"]
        assert [thread.thread_id for thread in scan(store, "threads", due=due, thread_id="b")] == ["b"]

    def test_by_id_are_the_current_ones_of_a_kind_in_the_order_of_their_ids(self, store: Store) -> None:
        put(store, *(note(each) for each in ("r3", "r1", "r4", "r2")))
        append(store, say("m1"))
        put(store, insight("r0", "lives here", source("m1")), retire=(Retire("r4", AT, "gone"),))
        by_id: dict[str, Any] = {"kinds": ("note",), "current": True, "by_id": True}
        assert [each.record.id for each in scan(store, "records", **by_id, limit=2)] == ["r1", "r2", "r3"]
        assert [each.record.id for each in scan(store, "records", **by_id, limit=2, newest=True)] == ["r3", "r2", "r1"]

    @pytest.mark.parametrize("other", [{"kinds": None}, {"kinds": ("note", "insight")}, {"current": False}, {"subtree": True}])
    def test_by_id_is_of_one_kind_current_in_one_namespace(self, store: Store, other: dict[str, Any]) -> None:
        given: dict[str, Any] = {"kinds": ("note",), "current": True, "by_id": True} | other
        with pytest.raises(InvalidInput):
            scan(store, "records", **given)

    def test_what_is_there_throughout_comes_once_whatever_is_written_meanwhile(self, store: Store) -> None:
        put(store, *(note(f"r{number}") for number in range(20)))
        seen: list[str] = []
        request = Scan(what="records", scope=Scope(NS), limit=3)
        for step in range(100):
            page = store.scan(request)
            seen += [each.record.id for each in page.items]  # type: ignore[union-attr]
            if page.next is None:
                break
            put(store, note(f"new{step}"), cite=(Cite("r19", AT),))
            forget(store, record_id=seen[0] if step == 0 else f"new{step - 1}")
            request = msgspec.structs.replace(request, after=page.next)
        assert [name for name in seen if name.startswith("r")] == [f"r{number}" for number in range(20)]

    def test_paging_beside_writers_misses_nothing(self, store: Store) -> None:
        append(store, *(say(f"m{number}") for number in range(30)))

        def write() -> None:
            for number in range(10):
                append(store, say(f"w{number}"))
                append(store, thread=f"other-{number}")

        def page() -> list[str]:
            return [each.message.id for each in scan(store, "messages", limit=4)]

        _, *scans = together(write, page, page)
        for scanned in scans:
            assert isinstance(scanned, list), scanned
            assert [name for name in scanned if name.startswith("m")] == [f"m{number}" for number in range(30)]
            assert len(set(scanned)) == len(scanned)

    def test_nothing_is_one_empty_page(self, store: Store) -> None:
        for what in ("threads", "messages", "records", "receipts", "pending"):
            page = store.scan(Scan(what=what, scope=Scope(NS)))
            assert (page.items, page.next) == ((), None)


class WholeStoreContract(ContractBase):
    def test_stats_count_a_scope(self, store: Store) -> None:
        append(store, say("m1"), say("m2"))
        append(store, say("m1"), namespace=("acme", "bob"))
        put(store, note("r1"), insight("r2", "lives in Lisbon"), receipt=receipt("c1"), retire=(Retire("r1", AT, "old"),))
        store.fold(Fold(namespace=NS, thread_id="t", nodes=(), through=0, expected_through=0))
        hers, all_of_acme = store.stats(Scope(NS)), store.stats(Scope(("acme",), subtree=True))
        assert (hers.namespaces, hers.threads, hers.messages, hers.nodes, hers.receipts) == (1, 1, 2, 0, 1)
        assert ({kind: count for kind, count in hers.records.items() if count}, hers.retired) == ({"note": 1, "insight": 1}, 1)
        assert (hers.units, hers.pending) == (4, 4)
        assert (all_of_acme.namespaces, all_of_acme.threads, all_of_acme.messages) == (2, 2, 3)
        assert hers.engine

    def test_the_first_embedder_is_the_one(self, store: Store) -> None:
        assert store.stats(Scope(NS)).embedder is None
        store.bind_embedder(EMBEDDER.fingerprint)
        store.bind_embedder(EMBEDDER.fingerprint)
        assert store.stats(Scope(NS)).embedder == EMBEDDER.fingerprint

    def test_V071_another_embedder_of_the_same_dimension_is_refused(self, store: Store) -> None:
        put(store, note("r1", "bees"))
        embed(store)
        with pytest.raises(EmbedderMismatch):
            store.bind_embedder(HashEmbedder(name="other").fingerprint)
        assert store.stats(Scope(NS)).embedder == EMBEDDER.fingerprint
        assert hits(store, near="bees") == {"r1"}

    def test_reopening_finds_everything_as_it_was(self, store: Store) -> None:
        append(store, say("m1"), say("m2"))
        put(store, note("r1"), receipt=receipt("c1"))
        embed(store)
        fresh = self.reopen(store)
        try:
            assert read(fresh) == read(store)
            assert (record(fresh, "r1"), get(fresh, receipts=("c1",))) == (note("r1"), get(store, receipts=("c1",)))
            assert hits(fresh, near="hello") == hits(store, near="hello")
            assert fresh.check() == []
        finally:
            if fresh is not store:
                fresh.close()

    def test_two_handles_see_what_the_other_wrote(self, store: Store) -> None:
        other = self.reopen(store)
        try:
            append(store, say("m1", "bees"))
            append(other, say("m2", "bees"))
            embed(other)
            assert hits(store, near="bees") == hits(other, near="bees") == {"m1", "m2"}
            forget(store, message_id="m1")
            assert hits(store, near="bees") == hits(other, near="bees") == hits(other, "bees") == {"m2"}
        finally:
            if other is not store:
                other.close()

    def test_closing_twice_is_fine_and_any_other_call_raises(self, store: Store) -> None:
        store.close()
        store.close()
        scope = Scope(NS)
        later: list[Callable[[], object]] = [
            lambda: store.append(Append(namespace=NS, thread_id="t", at=AT)),
            lambda: store.read(Read(namespace=NS, thread_id="t")),
            lambda: store.get(Get(scope=scope)),
            lambda: store.fold(Fold(namespace=NS, thread_id="t", nodes=(), through=0, expected_through=0)),
            lambda: store.put(Put(namespace=NS)),
            lambda: store.search(Search(scope=scope)),
            lambda: store.forget(Forget(scope=scope, at=AT)),
            lambda: store.scan(Scan(what="threads", scope=scope)),
            lambda: store.revision(NS),
            lambda: store.speakers(scope),
            lambda: store.stats(scope),
            lambda: store.bind_embedder(EMBEDDER.fingerprint),
            lambda: store.verify(("text",)),
            store.check,
        ]
        for call in later:
            with pytest.raises(StoreClosed):
                call()

    def test_verify_finds_what_is_there(self, store: Store) -> None:
        append(store, say("m1", "the zanzibar consignment"))
        found = store.verify(("the zanzibar consignment",))
        assert not found.clean
        assert found.needles > 0
        assert found.files
        assert store.verify(("a kamchatka expedition",)).clean
