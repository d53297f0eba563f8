"""What stays in the profile: a score that decays with neglect, grows with use, and never erases anything.

    score    = (decay + boost) * weight
    decay    = e^(-days / (base_decay * strength))      days since the last access, or since it was said
    strength = 1 + ln(1 + access_count)                 each use makes it last longer
    boost    = recency_boost while younger than recency_window, else 0

The formula and its constants are those of DESIGN section 7 and live in `settings.Retention`. Ages are never below zero: a clock
that was set back, or a record dated in the future, must not score above what is fresh now. They count from when something was
said or the work was done, not from when that was read: after an outage everything scores as if there had been none.

What is pinned is exempt, and so is what concerns somebody's health or the law (`Retention.exempt`): an allergy mentioned once,
a year ago, still matters.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from datetime import datetime, timedelta

from bethink.records import Insight, Record
from bethink.settings import Retention, Settings

__all__ = ["beyond", "curve", "exempt", "first_hand", "in_slot", "ranked", "score", "select_profile"]

_NO_TIME = timedelta(0)


def score(insight: Record, *, now: datetime, retention: Retention) -> float:
    """The retention score at `now`: from 0 to (1 + recency_boost) * the highest weight (1.95 with the defaults)."""
    age = max(_NO_TIME, now - _since(insight))
    idle = age if insight.last_accessed is None else max(_NO_TIME, now - insight.last_accessed)
    strength = 1 + math.log1p(insight.access_count)
    decay = math.exp(-(idle / retention.base_decay) / strength)
    boost = retention.recency_boost if age < retention.recency_window else 0.0
    weight: float = getattr(retention, insight.importance)
    return (decay + boost) * weight


def _since(record: Record) -> datetime:
    if isinstance(record, Insight):
        return record.said_at
    return min(record.at, record.recorded_at)


def curve(insight: Record, *, start: datetime, days: Sequence[int], retention: Retention) -> tuple[float, ...]:
    """The scores that it will have so many days after `start` if nobody uses it till then."""
    return tuple([score(insight, now=start + timedelta(days=each), retention=retention) for each in days])


def exempt(insight: Insight, retention: Retention = Retention()) -> bool:  # noqa: B008 - a frozen value
    """Whether it is kept whatever it scores: pinned, a constraint of health or of the law (`Retention.exempt`), or in a slot
    that a template keeps (`Retention.kept`).
    """
    if insight.pinned or (insight.topic == "constraint" and insight.slot.partition(":")[0] in retention.exempt):
        return True
    return any(in_slot(insight.slot, kept) for kept in retention.kept)


def in_slot(slot: str, of: str) -> bool:
    """Whether a slot is another, or below it: "allergy:nuts" is in "allergy"."""
    return slot == of or slot.startswith(f"{of}:")


def first_hand(insight: Insight) -> bool:
    """Whether the person it is about said it. What somebody tells of another carries `metadata["told_by"]`."""
    return "told_by" not in insight.metadata


def select_profile(insights: Iterable[Insight], *, now: datetime, settings: Settings) -> tuple[tuple[Insight, float], ...]:
    """The profile: those of `insights` that are current and trusted, each with its score.

    Whose profile it is, the caller decides: pass the insights of that subject.

    Order: exempt ones first, then by score, highest first; equal scores by id. At most `settings.profile_size` of them, or as
    many as are exempt where that is more: a bound on size is no reason to leave out an allergy.
    """
    found = ranked(insights, now, settings.retention)
    return found[: _bound(found, settings)]


def beyond(insights: Iterable[Insight], *, now: datetime, settings: Settings) -> tuple[tuple[Insight, float], ...]:
    """What would be in the profile if it were larger, in the same order: these are to be archived. None is exempt."""
    found = ranked(insights, now, settings.retention)
    return found[_bound(found, settings) :]


def _bound(found: tuple[tuple[Insight, float], ...], settings: Settings) -> int:
    bound = settings.profile_size
    # Those that are exempt come first.
    while bound < len(found) and exempt(found[bound][0], settings.retention):
        bound += 1
    return bound


def ranked(insights: Iterable[Insight], now: datetime, retention: Retention) -> tuple[tuple[Insight, float], ...]:
    """Those of `insights` that are current and trusted, each with its score: exempt ones first, then by score, then by id."""
    scored = [
        (insight, score(insight, now=now, retention=retention))
        for insight in insights
        if insight.current and insight.trust == "user"
    ]
    return tuple(sorted(scored, key=lambda pair: (not exempt(pair[0], retention), -pair[1], pair[0].id)))
