"""How well a moment fits the times that were named: a number from 0 to 1 that means the same for every query."""

from __future__ import annotations

import math
from collections.abc import Iterable
from datetime import datetime

from bethink.retrieval.dates.cues import TimeCue
from bethink.retrieval.dates.stretches import Precision

__all__ = ["time_score"]

_STRENGTH: dict[Precision, float] = {"day": 1.0, "week": 0.75, "month": 0.5, "season": 0.35, "year": 0.25}


def time_score(at: datetime, cues: Iterable[TimeCue]) -> float:
    return max((_fit(at, cue) for cue in cues), default=0.0)


def _fit(at: datetime, cue: TimeCue) -> float:
    if cue.start is None or cue.end is None or cue.precision is None:
        return 0.0
    strength = _STRENGTH[cue.precision]
    if cue.relation in ("before", "until"):
        limit = cue.start if cue.relation == "before" else cue.end
        late = (at - limit).total_seconds() / 86400
        return 0.5 * strength * (1.0 if late < 0 else math.exp(-late / 7))
    if cue.relation in ("since", "after"):
        limit = cue.start if cue.relation == "since" else cue.end
        early = (limit - at).total_seconds() / 86400
        return 0.5 * strength * (1.0 if early <= 0 else math.exp(-early / 3))
    if at < cue.start:
        away, scale = (cue.start - at).total_seconds() / 86400, 3
    elif at >= cue.end:
        away, scale = (at - cue.end).total_seconds() / 86400, 7
    else:
        return strength
    return strength * math.exp(-away / scale) * 0.7
