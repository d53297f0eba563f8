"""Insights and summaries that wait for somebody's word (`Settings.review`), and what comes of his yes.

    statements ─ proposals ─▶ Proposal, kept as a record ─ approving ─▶ what reconciling them now changes

Approving is deriving, later: what is known by then decides what a statement adds to, supersedes or merely repeats. So the order
of approvals matters no more than that in which conversations come in.
"""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime

import msgspec

from bethink.ids import derived_id
from bethink.insights.reconcile import Changes, reconcile
from bethink.insights.undoing import UNDONE
from bethink.records import Episode, Insight, Proposal, Summary

__all__ = ["APPROVED", "REJECTED", "approving", "proposal_of", "proposals"]

APPROVED, REJECTED = "approved", "rejected"
"""Reasons of proposals that wait no more."""


def proposals(known: Sequence[Insight], statements: Sequence[Insight], *, now: datetime) -> tuple[Proposal, ...]:
    """A proposal for each statement that would change something that is known, in their order."""
    return tuple([proposal_of(each, now=now) for each in statements if _changes_anything(known, each, now)])


def _changes_anything(known: Sequence[Insight], statement: Insight, now: datetime) -> bool:
    changes = reconcile(known, (statement,), now=now)
    return bool(changes.records or changes.retire)


def proposal_of(proposed: Insight | Summary | Episode, *, now: datetime) -> Proposal:
    """What waits instead of an insight, summary or episode. Its id follows from what is proposed and from where it was said."""
    said = [part for source in proposed.sources for part in (source.thread_id, source.message_id)]
    at = proposed.valid_from or proposed.recorded_at
    return Proposal(
        id=derived_id(at, "proposal", proposed.id, *said),
        text=proposed.text,
        trust=proposed.trust,
        recorded_at=now,
        valid_from=proposed.valid_from,
        importance=proposed.importance,
        sources=proposed.sources,
        proposed=proposed,
    )


def approving(known: Sequence[Insight], approved: Sequence[Proposal], *, now: datetime) -> Changes:
    """What the insights among some proposals change, as of now: the system comes to know them when they are approved."""
    statements = [
        msgspec.structs.replace(each.proposed, recorded_at=now) for each in approved if isinstance(each.proposed, Insight)
    ]
    # What was undone is as if it had never been said.
    return reconcile([insight for insight in known if insight.reason != UNDONE], statements, now=now)
