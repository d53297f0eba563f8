"""What a context says of a thread's messages: what was done with those that are not recent, and which were promoted."""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence

from bethink.compaction.plan import Plan
from bethink.marks import TIERS, Tiered, tier_of
from bethink.messages import Group, Message, ranges
from bethink.records import Decision, Node

__all__ = ["decisions", "promoted", "without"]


def decisions(
    plan: Plan,
    *,
    pinned: Sequence[Message],
    recent: Sequence[Group],
    waiting: Sequence[Group],
    nodes: Sequence[Node],
    size: Callable[[Group], int],
) -> tuple[Decision, ...]:
    """What is not among the recent groups: folded, now or earlier, left out, or waiting for a result.

    Args:
        plan: what the policy decided.
        pinned, recent: what is in view.
        waiting: groups whose results are awaited.
        nodes: the thread's summary nodes that are no child of another.
        size: tokens of a group.
    """
    found: list[Decision] = []
    folded = _seqs(plan.fold)
    shown = [*folded, *_seqs(recent), *(message.seq for message in pinned)]
    earlier = without(sorted(span for node in nodes for span in node.covers), shown)
    if earlier:
        found.append(Decision("earlier contexts", "folded", earlier, "summaries stand for them"))
    if folded:
        found.append(Decision(plan.policy, "folded", ranges(folded), plan.reason, sum(map(size, plan.fold))))
    reasons: dict[tuple[str, str], list[Group]] = {}
    for each in plan.left:
        reasons.setdefault((each.policy, each.reason), []).append(each.group)
    for (policy, reason), left in reasons.items():
        found.append(Decision(policy, "left out", ranges(_seqs(left)), reason, sum(map(size, left))))
    if waiting:
        found.append(Decision("pairing", "waits", ranges(_seqs(waiting)), "a call has no result yet"))
    return tuple(found)


def promoted(pinned: Sequence[Message], recent: Sequence[Group], tiers: Mapping[int, Tiered]) -> Iterator[Decision]:
    """The messages in view that have another tier than they were appended with, one decision for each tier."""
    shown = [*pinned, *(message for group in recent for message in group.messages)] if tiers else []
    for tier in TIERS:
        given = sorted(
            message.seq for message in shown if message.seq in tiers and tier_of(message, tiers) == tier != message.tier
        )
        if given:
            since = max(tiers[seq].at for seq in given)
            yield Decision("promote", "promoted", ranges(given), f"tier {tier} since {since.date().isoformat()}")


def _seqs(found: Sequence[Group]) -> list[int]:
    return sorted([message.seq for group in found for message in group.messages])


def without(spans: Iterable[tuple[int, int]], seqs: Iterable[int]) -> tuple[tuple[int, int], ...]:
    """Inclusive ranges in order, without some seqs."""
    gone = sorted(seqs)
    left: list[tuple[int, int]] = []
    for start, end in spans:
        first = start
        for seq in gone[bisect_left(gone, start) : bisect_right(gone, end)]:
            if first < seq:
                left.append((first, seq - 1))
            first = seq + 1
        if first <= end:
            left.append((first, end))
    return _joined(left)


def _joined(spans: Iterable[tuple[int, int]]) -> tuple[tuple[int, int], ...]:
    """Disjoint ranges in order, those that touch made one."""
    joined: list[tuple[int, int]] = []
    for first, last in spans:
        if joined and joined[-1][1] == first - 1:
            joined[-1] = (joined[-1][0], last)
        else:
            joined.append((first, last))
    return tuple(joined)
