"""The contract of `Search.around`: the messages beside the best of each leg are candidates as well."""

from __future__ import annotations

from typing import Any

import msgspec
import pytest

from bethink.storage.base import Candidate, Exists, Not, Store
from bethink.testing._contract import ContractBase, append, embed, forget, fork, hits, note, put, say, search
from bethink.testing._contract_in_view import in_view

LEGS: tuple[dict[str, Any], ...] = ({"query": "bees"}, {"near": "bees"})
TALK = ("rain", "wind", "snow", "bees", "hail", "fog", "sun")


class NeighboursContract(ContractBase):
    @pytest.mark.parametrize("later", [0, 100], ids=["new", "old"])
    def test_two_messages_on_each_side_of_the_best_are_candidates_whatever_they_hold(self, store: Store, later: int) -> None:
        talk(store)
        append(store, *(say(f"x{number}", "nothing") for number in range(later)), thread="other")
        embed(store)
        for leg in LEGS:
            assert hits(store, **leg, limit=1, around=1) == {"m2", "m3", "m4", "m5", "m6"}
            assert hits(store, **leg, limit=1) == {"m4"}

    def test_a_neighbour_carries_what_ranking_needs(self, store: Store) -> None:
        talk(store)
        embed(store)
        found = {each.id: each for each in search(store, "bees wind", near="bees", limit=1, around=1).candidates}
        assert (found["m2"].seq, found["m2"].text, found["m2"].counts) == (2, "wind", {"wind": 1})
        assert found["m3"].counts == {}
        assert found["m3"].cosine is not None

    def test_neighbours_are_those_of_the_best_of_each_leg_only(self, store: Store) -> None:
        append(store, say("m1", "rain"), say("m2", "bees bees bees"), thread="a")
        append(store, say("m3", "wind"), say("m4", "bees and many other words that dilute them"), thread="b")
        assert hits(store, "bees", around=1) == {"m1", "m2", "m4"}
        assert hits(store, "bees", around=2) == {"m1", "m2", "m3", "m4"}

    def test_the_messages_of_another_thread_are_no_neighbours(self, store: Store) -> None:
        append(store, say("m1", "bees"), thread="a")
        append(store, say("m2", "rain"), thread="b")
        assert hits(store, "bees", around=5) == {"m1"}

    def test_records_have_no_neighbours(self, store: Store) -> None:
        append(store, say("m1", "rain"), say("m2", "wind"))
        put(store, note("r1", "bees"), note("r2", "fog"))
        assert hits(store, "bees", around=5) == {"r1"}

    def test_what_lay_between_and_is_forgotten_still_keeps_two_messages_apart(self, store: Store) -> None:
        talk(store)
        forget(store, message_id="m5")
        assert hits(store, "bees", around=1) == {"m2", "m3", "m4", "m6"}

    def test_what_says_nothing_is_no_neighbour(self, store: Store) -> None:
        append(store, say("m1", "..."), say("m2", "bees"), say("m3", "rain", tier="permanent"))
        assert hits(store, "bees", around=1) == {"m2"}

    def test_neighbours_in_view_are_beside_the_candidates(self, store: Store) -> None:
        talk(store)
        embed(store)
        for leg in LEGS:
            found = search(store, **leg, limit=1, around=1, in_view=in_view((5, 7)))
            assert {each.id for each in found.candidates} == {"m2", "m3", "m4"}
            assert {each.id for each in found.beside} == {"m5", "m6"}

    def test_neighbours_that_do_not_pass_the_filter_are_beside_the_candidates(self, store: Store) -> None:
        weathers = (say(f"m{seq}", text, metadata={} if seq % 2 else {"even": True}) for seq, text in enumerate(TALK, 1))
        append(store, *weathers)
        embed(store)
        for leg in LEGS:
            found = search(store, **leg, limit=1, around=1, where=Exists(("metadata", "even")))
            assert {each.id for each in found.candidates} == {"m2", "m4", "m6"}
            assert {each.id for each in found.beside} == {"m3", "m5"}

    @pytest.mark.parametrize("later", [0, 100], ids=["new", "old"])
    def test_what_is_beside_is_told_as_if_it_were_a_candidate(self, store: Store, later: int) -> None:
        late = {"late": True}
        append(store, *(say(f"m{seq}", text, metadata=late if seq > 4 else {}) for seq, text in enumerate(TALK, 1)))
        append(store, *(say(f"x{number}", "nothing") for number in range(later)), thread="other")
        embed(store)
        request: dict[str, Any] = {"query": "bees hail", "near": "bees", "around": 1, "limit": 1}
        whole = {each.id: each for each in search(store, **request).candidates}
        for beside in (
            search(store, **request, in_view=in_view((5, 6))).beside,
            search(store, **request, where=Not(Exists(("metadata", "late")))).beside,
        ):
            assert {each.id for each in beside} == {"m5", "m6"}
            assert all(_alike(each, whole[each.id]) for each in beside)

    def test_without_neighbours_nothing_is_beside(self, store: Store) -> None:
        talk(store)
        assert search(store, "bees", in_view=in_view((5, 7))).beside == ()

    def test_a_fork_has_the_neighbours_that_it_copied(self, store: Store) -> None:
        talk(store)
        fork(store, 4)
        found = search(store, "bees", around=2).candidates
        assert {each.seq for each in found if each.thread_id != "t"} == {2, 3, 4}
        assert {each.seq for each in found if each.thread_id == "t"} == {2, 3, 4, 5, 6}

    def test_positions_are_those_of_the_terms_in_the_text(self, store: Store) -> None:
        append(store, say("m1", "bees like rain, and bees like wind"))
        (found,) = search(store, "bees wind").candidates
        assert found.positions == {"bee": (0, 4), "wind": (6,)}


def _alike(one: Candidate, other: Candidate) -> bool:
    """The same but for the last digits of the cosine."""
    assert one.cosine is not None
    return msgspec.structs.replace(one, cosine=None) == msgspec.structs.replace(other, cosine=None) and (
        one.cosine == pytest.approx(other.cosine, abs=1e-6)
    )


def talk(store: Store) -> None:
    append(store, *(say(f"m{number}", text) for number, text in enumerate(TALK, 1)))
