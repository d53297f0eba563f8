"""The contract of `mark`: tiers and scores beside messages."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import timedelta
from typing import Any

import pytest

from bethink.errors import NotFound
from bethink.ids import new_id
from bethink.marks import TIERS, Scored, Tiered
from bethink.messages import Tier
from bethink.storage.base import Mark, Store, Transcript
from bethink.testing._contract import (
    AT,
    NS,
    ContractBase,
    append,
    calls,
    fold,
    forget,
    fork,
    get,
    info,
    node,
    put,
    read,
    receipt,
    result,
    say,
    scan,
    seqs,
)
from bethink.values import Namespace

LATER = AT + timedelta(hours=1)


def mark(
    store: Store,
    *tiers: tuple[int, Tier],
    scores: Sequence[tuple[int, int]] = (),
    thread: str = "t",
    namespace: Namespace = NS,
    **fields: Any,
) -> None:
    """Mark the messages m1, m2, ... by their numbers."""
    fields.setdefault("at", AT)
    store.mark(
        Mark(
            namespace=namespace,
            thread_id=thread,
            tiers=tuple((f"m{number}", tier) for number, tier in tiers),
            scores=tuple((f"m{number}", score) for number, score in scores),
            **fields,
        )
    )


def score(store: Store, *scores: tuple[int, int], author: str = "judge", **fields: Any) -> None:
    mark(store, scores=scores, author=author, **fields)


def marked(store: Store, thread: str = "t") -> Transcript:
    return read(store, thread, marks=True)


class MarkContract(ContractBase):
    @pytest.fixture
    def spoken(self, store: Store) -> Store:
        """A store with a thread of five messages, the third of which is permanent."""
        append(store, say("m1"), say("m2", role="system"), say("m3", tier="permanent"), say("m4"), say("m5"))
        return store

    def test_a_tier_stands_beside_a_message_which_stays_as_it_was(self, spoken: Store) -> None:
        before = read(spoken)
        mark(spoken, (1, "long_term"), (4, "ephemeral"))
        assert read(spoken) == before
        assert marked(spoken).tiers == {1: Tiered("long_term", AT), 4: Tiered("ephemeral", AT)}
        assert marked(spoken).messages == before.messages

    @pytest.mark.parametrize("tier", TIERS)
    def test_any_tier_is_read_back(self, spoken: Store, tier: Tier) -> None:
        mark(spoken, (1, "long_term"), (1, tier))
        assert marked(spoken).tiers[1].tier == tier

    def test_the_last_tier_counts(self, spoken: Store) -> None:
        mark(spoken, (1, "long_term"))
        mark(spoken, (1, "ephemeral"), (1, "permanent"), at=LATER)
        assert marked(spoken).tiers == {1: Tiered("permanent", LATER)}

    def test_the_tier_that_a_message_has_writes_nothing(self, spoken: Store) -> None:
        mark(spoken, (1, "working"), (3, "permanent"))
        assert marked(spoken).tiers == {}
        mark(spoken, (1, "permanent"))
        mark(spoken, (1, "permanent"), at=LATER)
        assert marked(spoken).tiers == {1: Tiered("permanent", AT)}

    def test_a_message_that_is_given_its_own_tier_again_is_known_to_have_had_another(self, spoken: Store) -> None:
        mark(spoken, (3, "working"))
        mark(spoken, (3, "permanent"), at=LATER)
        assert marked(spoken).tiers == {3: Tiered("permanent", LATER)}
        assert seqs(read(spoken, limit=0, pinned=True).messages) == [2, 3]

    def test_pinned_brings_what_is_permanent_now(self, spoken: Store) -> None:
        mark(spoken, (1, "permanent"), (3, "working"))
        assert seqs(read(spoken, limit=0, pinned=True).messages) == [1, 2]
        assert seqs(read(spoken, limit=2, pinned=True).messages) == [1, 2, 4, 5]

    @pytest.mark.parametrize("tier", TIERS)
    def test_system_messages_are_pinned_whatever_their_tier(self, spoken: Store, tier: Tier) -> None:
        mark(spoken, (2, tier))
        assert seqs(read(spoken, limit=0, pinned=True).messages) == [2, 3]

    def test_pinned_with_whole_groups_brings_the_group_of_what_was_made_permanent(self, store: Store) -> None:
        append(store, say("m1"), calls("m2", "c1"), say("m3"), result("m4", "c1"), say("m5"))
        mark(store, (4, "permanent"))
        assert seqs(read(store, limit=0, pinned=True).messages) == [4]
        assert seqs(read(store, limit=0, pinned=True, whole_groups=True).messages) == [2, 4]

    def test_a_score_stands_beside_a_message_with_its_author(self, spoken: Store) -> None:
        before = read(spoken)
        score(spoken, (1, 9), (4, 2))
        assert marked(spoken).scores == {1: Scored(9, "judge", AT), 4: Scored(2, "judge", AT)}
        assert (read(spoken), marked(spoken).tiers) == (before, {})

    def test_the_last_score_counts(self, spoken: Store) -> None:
        score(spoken, (1, 9))
        score(spoken, (1, 9), at=LATER)
        assert marked(spoken).scores == {1: Scored(9, "judge", AT)}
        score(spoken, (1, 3), (1, 9), author="another", at=LATER)
        assert marked(spoken).scores == {1: Scored(9, "another", LATER)}

    def test_tiers_come_of_the_whole_thread_and_scores_of_the_messages_read(self, spoken: Store) -> None:
        mark(spoken, (1, "permanent"), (5, "ephemeral"))
        score(spoken, (1, 9), (4, 8), (5, 7))
        found = read(spoken, limit=1, marks=True)
        assert (list(found.tiers), list(found.scores)) == ([1, 5], [5])
        assert list(read(spoken, limit=0, pinned=True, marks=True).scores) == [1]

    def test_marks_come_only_when_asked_for(self, spoken: Store) -> None:
        mark(spoken, (1, "permanent"), scores=((1, 9),), author="judge")
        assert (read(spoken).tiers, read(spoken).scores) == ({}, {})

    @pytest.mark.parametrize("count", [1, 100])
    def test_messages_are_found_whose_ids_were_made_for_them(self, store: Store, count: int) -> None:
        made = [new_id(AT) for _ in range(count)]
        append(store, *(say(message_id) for message_id in made), fresh=True)
        store.mark(Mark(namespace=NS, thread_id="t", at=AT, tiers=((made[0], "permanent"),), scores=((made[-1], 9),)))
        assert (list(marked(store).tiers), list(marked(store).scores)) == ([1], [count])

    def test_all_of_it_or_none(self, spoken: Store) -> None:
        append(spoken, say("m6"), thread="u")
        for missing in (0, 6, 7):
            with pytest.raises(NotFound):
                mark(spoken, (1, "permanent"), (missing, "permanent"))
            with pytest.raises(NotFound):
                mark(spoken, (1, "permanent"), scores=((missing, 5),), author="judge")
        assert (marked(spoken).tiers, marked(spoken).scores) == ({}, {})

    def test_a_thread_that_is_not_there_is_not_found(self, spoken: Store) -> None:
        with pytest.raises(NotFound):
            mark(spoken, (1, "permanent"), thread="none")
        with pytest.raises(NotFound):
            mark(spoken, (1, "permanent"), namespace=("acme",))

    def test_nothing_else_changes(self, spoken: Store) -> None:
        fold(spoken, node("n1", 1, 1), through=1)
        put(spoken, receipt=receipt("c1", recent=((1, 5),)))
        before = (info(spoken), read(spoken, nodes=True), scan(spoken, "receipts"), spoken.revision(NS))
        mark(spoken, (1, "permanent"), (3, "ephemeral"), scores=((5, 1),), author="judge", at=LATER)
        assert (info(spoken), read(spoken, nodes=True), scan(spoken, "receipts"), spoken.revision(NS)) == before

    def test_a_retry_of_a_promoted_message_is_a_retry(self, spoken: Store) -> None:
        mark(spoken, (1, "permanent"))
        assert append(spoken, say("m1")).added == 0
        assert marked(spoken).tiers == {1: Tiered("permanent", AT)}

    def test_a_fork_takes_along_those_of_its_messages(self, spoken: Store) -> None:
        mark(spoken, (1, "permanent"), (4, "ephemeral"), scores=((3, 2), (5, 6)), author="judge")
        fork(spoken, 3)
        assert (list(marked(spoken, "fork").tiers), list(marked(spoken, "fork").scores)) == ([1], [3])
        mark(spoken, (1, "ephemeral"), thread="fork", at=LATER)
        assert marked(spoken).tiers[1] == Tiered("permanent", AT)
        assert marked(spoken, "fork").tiers[1] == Tiered("ephemeral", LATER)

    def test_they_go_with_their_message_in_every_fork(self, spoken: Store) -> None:
        mark(spoken, (1, "permanent"), (4, "permanent"), scores=((1, 9), (5, 6)), author="judge")
        fork(spoken, 5)
        forget(spoken, message_id="m1")
        for thread in ("t", "fork"):
            assert (list(marked(spoken, thread).tiers), list(marked(spoken, thread).scores)) == ([4], [5])

    def test_they_go_with_their_thread_and_a_fork_keeps_its_own(self, spoken: Store) -> None:
        mark(spoken, (1, "permanent"), scores=((5, 6),), author="judge")
        fork(spoken, 5)
        forget(spoken, thread_id="t")
        append(spoken, say("m1"))
        assert (marked(spoken).tiers, marked(spoken).scores) == ({}, {})
        assert (list(marked(spoken, "fork").tiers), list(marked(spoken, "fork").scores)) == ([1], [5])

    def test_they_go_with_their_namespace(self, spoken: Store) -> None:
        mark(spoken, (1, "permanent"), scores=((5, 6),), author="a judge whose name is long")
        forget(spoken)
        assert spoken.check() == []
        assert spoken.verify(("a judge whose name is long",)).hits == ()

    def test_messages_are_found_and_fetched_as_they_were_appended(self, spoken: Store) -> None:
        mark(spoken, (3, "working"))
        (stored,) = get(spoken, messages=("m3",)).messages
        assert [stored.message.tier, scan(spoken, "messages")[2].message.tier] == ["permanent", "permanent"]
