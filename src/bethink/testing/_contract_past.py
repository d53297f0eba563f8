"""The contract of what was: versions, changes, counts of what was forgotten, and a search among what there was."""

from __future__ import annotations

from datetime import timedelta

import pytest

from bethink.errors import Conflict, NotFound
from bethink.records import Insight, Proposal, Summary
from bethink.storage.base import Change, Cite, Past, Pin, Restore, Retire, Scope, Store, StoredVersion, Version, What
from bethink.testing._contract import (
    AT,
    NS,
    ContractBase,
    append,
    embed,
    forget,
    fork,
    hits,
    insight,
    line,
    note,
    put,
    record,
    say,
    scan,
    search,
    source,
    summary,
)
from bethink.threads import ForkPoint

LATER, LATEST = AT + timedelta(hours=1), AT + timedelta(hours=2)


def versions(store: Store, record_id: str = "r1") -> list[Version]:
    found: list[StoredVersion] = scan(store, "versions", record_id=record_id)
    return [each.version for each in found]


class VersionContract(ContractBase):
    def test_each_change_of_a_record_leaves_what_it_was(self, store: Store) -> None:
        append(store, say("m1"), say("m2"))
        put(store, insight("r1", "lives in Porto", source("m1")))
        put(store, retire=(Retire("r1", LATER, "archived"),))
        put(store, insight("r1", "lives in Porto", source("m2")), at=LATEST)
        first, second = versions(store)
        assert (first.until, first.before, first.gained) == (LATER, {"retired_at": None, "reason": ""}, ())
        assert (second.until, set(second.before), second.gained) == (LATEST, {"retired_at", "reason"}, (("t", "m2"),))

    def test_a_use_counts_from_when_it_was_told_of(self, store: Store) -> None:
        put(store, note("r1"))
        put(store, cite=(Cite("r1", AT),), at=LATER)
        assert [(each.until, each.before) for each in versions(store)] == [(LATER, {"access_count": 0, "last_accessed": None})]

    def test_a_pin_leaves_what_was(self, store: Store) -> None:
        put(store, note("r1"))
        put(store, pin=(Pin("r1"),), at=LATER)
        assert [(each.until, each.before) for each in versions(store)] == [(LATER, {"pinned": False})]

    def test_what_changes_nothing_leaves_nothing(self, store: Store) -> None:
        append(store, say("m1"))
        put(store, insight("r1", "lives in Porto", source("m1")))
        put(store, insight("r1", "lives in Porto", source("m1")))
        put(store, retire=(Retire("r1", LATER, "archived"),))
        put(store, retire=(Retire("r1", LATEST, "again"),))
        assert len(versions(store)) == 1

    def test_without_a_time_the_latest_that_the_request_names_counts(self, store: Store) -> None:
        put(store, note("r1"))
        put(store, note("r2", recorded_at=LATEST), cite=(Cite("r1", LATER),))
        assert [each.until for each in versions(store)] == [LATEST]

    def test_versions_are_found_by_record_and_by_time(self, store: Store) -> None:
        put(store, note("r1"), note("r2"), namespace=("a",))
        for at, name in ((AT, "r1"), (LATER, "r2"), (LATEST, "r1")):
            put(store, namespace=("a",), cite=(Cite(name, at),), at=at)
        found = scan(store, "versions", ("a",), since=AT)
        assert [(each.namespace, each.record_id, each.version.until) for each in found] == [
            (("a",), "r2", LATER),
            (("a",), "r1", LATEST),
        ]
        assert len(scan(store, "versions", ("a",), record_id="r1")) == 2
        assert scan(store, "versions", ("ab",)) == []

    def test_versions_go_with_their_record(self, store: Store) -> None:
        put(store, note("r1"))
        put(store, cite=(Cite("r1", AT),))
        forget(store, record_id="r1")
        assert scan(store, "versions", subtree=True) == []

    def test_they_are_there_after_reopening(self, store: Store) -> None:
        put(store, note("r1"))
        put(store, cite=(Cite("r1", AT),), change=Change(id="c1", at=AT, what="reviewed"))
        again = self.reopen(store)
        assert versions(again) == versions(store)
        assert scan(again, "changes") == scan(store, "changes")


class ChangeContract(ContractBase):
    def test_a_change_names_what_was_new_and_its_versions_name_it(self, store: Store) -> None:
        put(store, note("r1"))
        change = Change(id="c1", at=LATER, what="drawn", thread_id="t")
        put(store, note("r1"), note("r2"), retire=(Retire("r1", LATER, "newer"),), change=change)
        (kept,) = scan(store, "changes")
        assert (kept.id, kept.what, kept.thread_id, kept.added) == ("c1", "drawn", "t", ("r2",))
        assert [each.change for each in versions(store)] == ["c1"]

    def test_a_restored_record_is_what_it_is_told_to_be(self, store: Store) -> None:
        append(store, say("m1"), say("m2"))
        put(store, insight("r1", "lives in Porto", source("m1")), note("r2"))
        before = record(store, "r1")
        put(store, insight("r1", "lives in Porto", source("m2")), retire=(Retire("r1", LATER, "newer", "r2", LATER),))
        put(store, at=LATEST, restore=(Restore(record_id="r1", without=(("t", "m2"),)),))
        assert record(store, "r1") == before
        assert "r1" in hits(store, "porto")
        forget(store, message_id="m2")
        assert record(store, "r1") == before

    def test_an_unknown_record_is_not_restored(self, store: Store) -> None:
        put(store, note("r1"))
        for restore in (Restore(record_id="r9"), Restore(record_id="r1", retired_at=AT, superseded_by="r9")):
            with pytest.raises(NotFound):
                put(store, at=LATER, restore=(restore,))
        assert record(store, "r1") == note("r1")

    def test_what_rests_on_another_revision_is_refused_whole(self, store: Store) -> None:
        put(store, note("r1"))
        revision = store.revision(NS)
        put(store, cite=(Cite("r1", AT),))
        with pytest.raises(Conflict):
            put(store, note("r2"), at_revision=revision)
        assert [each.record.id for each in scan(store, "records")] == ["r1"]
        put(store, note("r2"), at_revision=store.revision(NS))
        assert record(store, "r2") == note("r2")

    def test_what_was_forgotten_is_counted_where_it_was(self, store: Store) -> None:
        append(store, say("m1"))
        put(store, insight("r1", "lives in Porto", source("m1")), note("r2"))
        put(store, note("r3"), namespace=("other",))
        forget(store, message_id="m1")
        forget(store, record_id="r2")
        found = scan(store, "forgotten")
        assert [(each.at, each.messages, each.records) for each in found] == [(AT, 1, 1), (AT, 0, 1)]
        assert scan(store, "forgotten", ("other",)) == []

    def test_of_a_forgotten_namespace_nothing_is_left(self, store: Store) -> None:
        put(store, note("r1"), note("r2"), change=Change(id="c1", at=AT, what="drawn"))
        put(store, cite=(Cite("r1", AT),))
        forget(store, record_id="r2")
        forget(store)
        kinds: tuple[What, ...] = ("versions", "changes", "forgotten")
        assert [scan(store, what, (), subtree=True) for what in kinds] == [[], [], []]


class PastContract(ContractBase):
    def found(self, store: Store, query: str, **past: object) -> set[str]:
        return hits(store, query, past=Past(**past), around=9)  # type: ignore[arg-type]

    def test_messages_count_that_were_stored_by_then(self, store: Store) -> None:
        append(store, say("m1", "bees in the garden"), at=AT)
        append(store, say("m2", "bees in the orchard"), at=LATER)
        assert self.found(store, "bees", at=AT) == {"m1"}
        assert self.found(store, "bees", at=LATER) == {"m1", "m2"}
        assert self.found(store, "bees", at=AT - timedelta(hours=1)) == set()

    def test_what_came_later_is_no_neighbour_and_not_counted(self, store: Store) -> None:
        append(store, say("m1", "bees in the garden"), at=AT)
        append(store, say("m2", "they make honey"), at=LATER)
        found = search(store, "bees honey", past=Past(at=AT), around=9)
        assert (found.units, found.frequency, found.mean_length) == (1, {"bee": 1}, 4.0)
        assert ({each.id for each in found.candidates}, found.beside, found.pending) == ({"m1"}, (), 1)

    def test_a_fork_has_its_messages_from_when_it_was_made(self, store: Store) -> None:
        append(store, say("m1", "bees in the garden"), at=AT)
        append(store, thread="fork", at=LATER, fork_of=ForkPoint("t", 1))
        then, now = (search(store, "bees", past=Past(at=at)) for at in (AT, LATER))
        assert (len(then.candidates), len(now.candidates)) == (1, 2)
        assert [each.thread_id for each in scan(store, "messages", stored_by=AT)] == ["t"]

    def test_records_are_found_and_counted_that_are_named_whatever_they_are_now(self, store: Store) -> None:
        put(store, note("r1", "bees"), note("r2", "bees and rain"), note("r3", "bees"), retire=(Retire("r1", AT, "old"),))
        known, found = ((NS, "r1"), (NS, "r2"), (NS, "r9")), ((NS, "r1"),)
        then = search(store, "bees", past=Past(at=AT, known=known, found=found))
        assert ({each.id for each in then.candidates}, then.units, then.frequency) == ({"r1"}, 2, {"bee": 2})
        assert self.found(store, "bees", found=found) == {"r1"}

    def test_of_another_namespace_a_record_is_another(self, store: Store) -> None:
        put(store, note("r1", "bees"), namespace=("a",))
        put(store, note("r1", "bees"), namespace=("a", "b"))
        past = Past(found=((("a", "b"), "r1"),))
        (hit,) = search(store, "bees", ("a",), subtree=True, past=past).candidates
        assert hit.namespace == ("a", "b")

    def test_it_holds_for_vectors_too(self, store: Store) -> None:
        append(store, say("m1", "bees in the garden"), at=AT)
        append(store, say("m2", "bees in the garden"), at=LATER)
        embed(store)
        found = search(store, near="bees in the garden", past=Past(at=AT))
        assert ({each.id for each in found.candidates}, found.pending) == ({"m1"}, 0)

    def test_names_are_of_those_who_had_spoken(self, store: Store) -> None:
        append(store, say("m1", "bees", name="Ana"), at=AT)
        append(store, say("m2", "bees", name="Tom"), at=LATER)
        assert store.speakers(Scope(NS), at=AT) == ("Ana",)
        assert store.speakers(Scope(NS), at=LATER) == ("Ana", "Tom")

    def test_messages_are_listed_that_were_stored_by_then(self, store: Store) -> None:
        for at, name in ((AT, "m1"), (LATER, "m2"), (LATEST, "m3")):
            append(store, say(name), at=at)
        (last,) = scan(store, "messages", stored_by=LATER, thread_id="t", newest=True, limit=5)[:1]
        assert last.message.id == "m2"
        assert [each.message.id for each in scan(store, "messages", stored_by=LATER)] == ["m1", "m2"]


class ProposalContract(ContractBase):
    def propose(self, store: Store, proposed: Insight | Summary) -> None:
        proposal = Proposal(
            id="p1",
            text=proposed.text,
            trust=proposed.trust,
            recorded_at=proposed.recorded_at,
            sources=proposed.sources,
            proposed=proposed,
        )
        put(store, proposal)

    def test_it_is_kept_and_not_found_by_search(self, store: Store) -> None:
        append(store, say("m1", "hello"))
        self.propose(store, insight("r1", "lives in Porto", source("m1")))
        kept = record(store, "p1")
        assert isinstance(kept, Proposal)
        assert kept.proposed == insight("r1", "lives in Porto", source("m1"))
        assert hits(store, "porto", current=False) == set()

    def test_it_loses_the_words_of_what_is_forgotten(self, store: Store) -> None:
        append(store, say("m1", "hello"), say("m2", "hello"))
        self.propose(store, insight("r1", "in Porto", source("m1", "in Porto"), source("m2", "Porto it is")))
        forget(store, message_id="m1")
        kept = record(store, "p1")
        assert isinstance(kept, Proposal)
        assert (kept.text, kept.proposed.text, kept.proposed.sources) == ("Porto it is", "Porto it is", kept.sources)
        forget(store, message_id="m2")
        assert scan(store, "records") == []

    def test_that_of_a_summary_loses_lines_and_goes_with_its_thread(self, store: Store) -> None:
        append(store, say("m1"), say("m2"))
        self.propose(store, summary("s1", line("said hello", "m1"), line("said more", "m2")))
        forget(store, message_id="m1")
        kept = record(store, "p1")
        assert (kept.text, [each.message_id for each in kept.sources]) == ("said more", ["m2"])
        forget(store, thread_id="t")
        assert scan(store, "records") == []

    def test_it_moves_with_its_sources_to_a_fork(self, store: Store) -> None:
        append(store, say("m1"))
        self.propose(store, insight("r1", "lives in Porto", source("m1")))
        fork(store, 1)
        forget(store, thread_id="t")
        kept = record(store, "p1")
        assert isinstance(kept, Proposal)
        assert [each.thread_id for each in kept.proposed.sources] == ["fork"]
