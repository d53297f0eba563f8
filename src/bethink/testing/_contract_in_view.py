"""The contract of `Search.in_view`: what whoever searches has before him already is not found, and nothing else changes."""

from __future__ import annotations

from typing import Any

import msgspec
import pytest

from bethink.storage.base import Found, InView, Retire, Store
from bethink.testing._contract import (
    AT,
    NS,
    ContractBase,
    append,
    embed,
    fork,
    hits,
    insight,
    line,
    note,
    put,
    say,
    scan,
    search,
    summary,
)
from bethink.values import Namespace

LEGS: tuple[dict[str, Any], ...] = ({"query": "bees"}, {"near": "bees"})
MANY = 100
"""Messages: so many that a backend which leaves the newest for later has done its work on most of them."""


class InViewContract(ContractBase):
    def test_messages_in_view_are_no_candidates_of_either_leg(self, store: Store) -> None:
        append(store, *(say(f"m{number}", "bees") for number in range(1, 7)))
        embed(store)
        seen = in_view((1, 1), (3, 4))
        assert hits(store, "bees", in_view=seen) == hits(store, near="bees", in_view=seen) == {"m2", "m5", "m6"}
        assert hits(store, "bees", near="bees", in_view=seen) == {"m2", "m5", "m6"}

    def test_records_in_view_are_no_candidates_of_either_leg(self, store: Store) -> None:
        append(store, say("m1", "bees"))
        put(store, note("r1", "bees"), insight("r2", "bees"), summary("r3", line("bees", "m1")), note("r4", "bees"))
        embed(store)
        seen = in_view(records=("r1", "r2", "r3"))
        assert hits(store, "bees", in_view=seen) == hits(store, near="bees", in_view=seen) == {"m1", "r4"}

    def test_a_retired_record_in_view_is_none_either(self, store: Store) -> None:
        put(store, note("r1", "bees"), note("r2", "bees"))
        embed(store)
        put(store, retire=(Retire("r1", AT, "archived"),))
        for options in LEGS:
            assert hits(store, **options, current=False, in_view=in_view(records=("r1",))) == {"r2"}

    @pytest.mark.parametrize("late", [0, 5])
    @pytest.mark.parametrize("count", [5, MANY])
    def test_the_limit_is_of_what_is_not_in_view(self, store: Store, count: int, late: int) -> None:
        append(store, *(say(f"old{number}", f"bees, and number {number} of other words") for number in range(6)))
        append(store, *(say(f"m{number}", "bees") for number in range(count)))
        embed(store)
        append(store, *(say(f"late{number}", "bees") for number in range(late)))
        seen = in_view((7, 6 + count + late))
        everything = {f"old{number}" for number in range(6)}
        for options in LEGS:
            assert hits(store, **options, limit=6, in_view=seen) == hits(store, **options, in_view=seen) == everything
            assert len(hits(store, **options, limit=4, in_view=seen)) == 4
            assert not hits(store, **options, limit=4) & everything

    def test_the_statistics_are_those_of_all_in_scope(self, store: Store) -> None:
        append(store, say("m1", "bees bees honey"), say("m2", "bees"), say("m3", "rain and wind"))
        put(store, note("r1", "honey"))
        embed(store)
        append(store, say("m4", "bees and rain"))
        without = search(store, "bees honey", near="bees")
        found = search(store, "bees honey", near="bees", in_view=in_view((2, 4), records=("r1",)))
        assert _rest(found) == _rest(without)
        assert list(found.candidates) == [each for each in without.candidates if each.id == "m1"]

    def test_what_is_left_is_what_was_found_before(self, store: Store) -> None:
        append(store, *(say(f"m{number}", "bees " * (number % 7) + f"honey {number}") for number in range(1, MANY)))
        embed(store)
        append(store, say("late", "bees and honey"))
        before = {each.id: each for each in search(store, "bees honey", near="honey").candidates}
        after = {each.id: each for each in search(store, "bees honey", near="honey", in_view=in_view((20, 60))).candidates}
        assert after == {name: each for name, each in before.items() if not 20 <= each.seq <= 60}

    def test_all_may_be_in_view(self, store: Store) -> None:
        append(store, say("m1", "bees"), say("m2", "bees"))
        put(store, note("r1", "bees"))
        embed(store)
        found = search(store, "bees", near="bees", in_view=in_view((1, 2), records=("r1",)))
        assert (found.candidates, found.units) == ((), 3)

    def test_spans_may_overlap_and_come_in_any_order(self, store: Store) -> None:
        append(store, *(say(f"m{number}", "bees") for number in range(1, 13)))
        embed(store)
        seen = in_view((9, 9), (2, 7), (3, 4), (10, 2**40))
        for options in LEGS:
            assert hits(store, **options, in_view=seen) == {"m1", "m8"}

    def test_what_is_not_there_is_not_in_view(self, store: Store) -> None:
        assert hits(store, "bees", in_view=in_view((1, 5), records=("r1",))) == set()
        append(store, say("m1", "bees"))
        append(store, say("o1", "bees"), thread="other")
        embed(store)
        nothing = (
            in_view((1, 5), thread="unknown", records=("unknown",)),
            in_view((2, 1), (5, 2**40), (-3, 0)),
            in_view((1, 5), namespace=("unknown",)),
            in_view(),
        )
        for seen in nothing:
            assert hits(store, "bees", in_view=seen) == hits(store, near="bees", in_view=seen) == {"m1", "o1"}

    def test_other_threads_and_namespaces_are_not_in_view(self, store: Store) -> None:
        append(store, say("m1", "bees"))
        append(store, say("o1", "bees"), thread="other")
        append(store, say("b1", "bees"), namespace=(*NS, "below"))
        put(store, note("r1", "bees"))
        put(store, note("r1", "bees too"), namespace=(*NS, "below"))
        for namespace in (NS, (*NS, "below")):
            embed(store, namespace)
        seen = in_view((1, 9), records=("r1",))
        for options in LEGS:
            found = search(store, **options, subtree=True, in_view=seen).candidates
            assert {each.text for each in found if each.kind == "note"} == {"bees too"}
            assert {each.id for each in found} == {"o1", "b1", "r1"}

    def test_the_copies_of_a_fork_are_in_view_with_it(self, store: Store) -> None:
        append(store, *(say(f"m{number}", "bees") for number in range(1, 5)))
        embed(store)
        fork(store, 3)
        append(store, say("f4", "bees"), thread="fork")
        fork(store, 3, to="again", of="fork")
        for options in LEGS:
            found = search(store, **options, in_view=in_view((2, 4), thread="fork")).candidates
            assert {(each.thread_id, each.id) for each in found} - {("t", "m4")} == {
                (each, "m1") for each in ("t", "fork", "again")
            }

    def test_a_message_that_was_appended_to_another_thread_is_in_view_there(self, store: Store) -> None:
        append(store, say("m1", "bees"))
        scan(store, "pending")
        append(store, say("m1", "bees"), thread="other")
        assert hits(store, "bees", in_view=in_view((1, 1))) == set()
        assert hits(store, "bees", in_view=in_view((1, 1), thread="other")) == set()
        scan(store, "pending")
        assert hits(store, "bees", in_view=in_view((1, 1), thread="other")) == set()

    def test_words_that_are_rare_only_in_view_hide_nothing(self, store: Store) -> None:
        append(store, *(say(f"m{number}", f"bees {number}") for number in range(350)))
        append(store, *(say(f"z{number}", "zebras and bees") for number in range(MANY)))
        scan(store, "pending")
        append(store, say("question", "which zebras keep bees"))
        assert len(hits(store, "zebras bees", limit=20, in_view=in_view((351, 451)))) == 20
        assert len(hits(store, "question zebras bees", limit=20, in_view=in_view((360, 451)))) == 20


def in_view(*spans: tuple[int, int], thread: str = "t", namespace: Namespace = NS, records: tuple[str, ...] = ()) -> InView:
    return InView(namespace=namespace, thread_id=thread, spans=spans, records=records)


def _rest(found: Found) -> dict[str, Any]:
    """All but the candidates."""
    return {**msgspec.structs.asdict(found), "candidates": ()}
