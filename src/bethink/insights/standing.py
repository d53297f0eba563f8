"""What now stands in the place of what a message said.

A message keeps its words when something it said is superseded. Whoever is shown the words is to be told what holds now.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from bethink.records import Insight

__all__ = ["changed_since"]


def changed_since(insights: Sequence[Insight]) -> dict[str, Insight]:
    """The current insight that took the place of something a message said, by the id of the message.

    Args:
        insights: of a namespace, oldest first, with those that are no longer current. Where a message said several things that
            were superseded, the successor of the last of them in this order is the one.

    A message that also says what holds now is not in it, nor is one whose successor was withdrawn or forgotten.
    """
    by_id = {insight.id: insight for insight in insights}
    changed: dict[str, Insight] = {}
    for insight in insights:
        if insight.superseded_by is None:
            continue
        successor = _last(insight, by_id)
        if successor is not None and successor.current:
            fresh = {source.message_id for source in successor.sources}
            changed.update({source.message_id: successor for source in insight.sources if source.message_id not in fresh})
    return changed


def _last(superseded: Insight, by_id: Mapping[str, Insight]) -> Insight | None:
    """The last of those that took its place; None where that one is not there."""
    last: Insight | None = superseded
    seen = set()
    while last is not None and last.superseded_by is not None:
        # Reconciling leaves no circle, but a context must not hang on what somebody else has stored.
        if last.id in seen:
            return None
        seen.add(last.id)
        last = by_id.get(last.superseded_by)
    return last
