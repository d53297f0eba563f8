"""How well a moment fits the times that were named: a number from 0 to 1 that means the same for every query.

    fit of a moment in the time, or on the right side of it     1
    fit of a moment `lag` days after it, `lead` days before     1 / (1 + lag / 5),  1 / (1 + lead)
    score of a cue                                              fit · strength, how finely it was named: see `_STRENGTH`
    score of the moment                                         that of the cue it fits best

People tell what happened on the day and on the days after it, hardly ever before: of the questions of LoCoMo that name a day,
three in four have their evidence on that day, most others within four days after it, one in thirty on the day before.

Strengths are the study's shares (a day counts twice a month, a year a third of it), with weeks and seasons between. Which curve
falls off how fast hardly matters: on LoCoMo, exponential and squared ones at 1 to 20 days are within a point of this one.
"""

from __future__ import annotations

import calendar
from collections.abc import Iterable
from datetime import datetime, timedelta

from bethink.retrieval.dates.cues import TimeCue
from bethink.retrieval.dates.phrases import Relation
from bethink.retrieval.dates.stretches import Precision

__all__ = ["time_score"]

_STRENGTH: dict[Precision, float] = {"day": 1.0, "week": 0.75, "month": 0.5, "season": 0.35, "year": 0.25}
_OPEN = 0.5
"""Share of the strength of a side, such as "before June": it has no far end, so it tells less."""
_ANOTHER_YEAR = 0.5
"""Share of the strength of a cue without a year, where the moment is of another year than the latest."""
_TOLD = 0.75
"""Share of the strength of a time that a message tells of: the moment at which it was said tells more."""
_AFTER, _BEFORE = 5.0, 1.0

_DAY = timedelta(days=1)
_YEAR = 365.2425


def time_score(at: datetime, cues: Iterable[TimeCue], said: Iterable[TimeCue] = ()) -> float:
    """How well something fits the cues of a query, from 0 to 1; 0 where no cue has a time.

    Args:
        at: when it was said, aware.
        cues: of the query, from `time_cues`.
        said: the times it speaks of, from `said_times`: "last summer" in a message of March fits a question about June.

    It falls with the distance from a time and never rises with it, and rises with the precision of what was named. A few
    microseconds a cue.
    """
    told = tuple(said)
    return max((max(_fit(at, cue), max((_told(each, cue) for each in told), default=0.0)) for cue in cues), default=0.0)


def _fit(at: datetime, cue: TimeCue) -> float:
    if cue.start is None or cue.end is None or cue.precision is None:
        return 0.0
    strength = _STRENGTH[cue.precision]
    best = strength * _nearness(at, cue.start, cue.end, cue.relation)
    years = round((at - cue.start) / _DAY / _YEAR)
    if cue.yearly and years:
        start, end = _years_on(cue.start, years), _years_on(cue.end, years)
        best = max(best, _ANOTHER_YEAR * strength * _nearness(at, start, end, cue.relation))
    return best


def _nearness(at: datetime, start: datetime, end: datetime, relation: Relation) -> float:
    if relation in ("before", "until"):
        return _OPEN * _falling(at - (start if relation == "before" else end), _AFTER)
    if relation in ("since", "after"):
        return _OPEN * _falling((start if relation == "since" else end) - at, _BEFORE)
    return _falling(start - at, _BEFORE) if at < start else _falling(at - end, _AFTER)


def _falling(distance: timedelta, days: float) -> float:
    """1 up to a distance of nothing, a half at so many days, and so on down."""
    return 1 / (1 + max(0.0, distance / _DAY) / days)


def _told(said: TimeCue, cue: TimeCue) -> float:
    """How much of the shorter of two times the other one covers, as strong as the less precise of them."""
    if (
        said.start is None
        or said.end is None
        or cue.start is None
        or cue.end is None
        or cue.relation not in ("within", "around")
    ):
        return 0.0
    common = min(said.end, cue.end) - max(said.start, cue.start)
    if common <= timedelta(0) or said.precision is None or cue.precision is None:
        return 0.0
    covered = common / min(said.end - said.start, cue.end - cue.start)
    return _TOLD * min(_STRENGTH[said.precision], _STRENGTH[cue.precision]) * covered


def _years_on(moment: datetime, years: int) -> datetime:
    year = min(9999, max(1, moment.year + years))
    return moment.replace(year=year, day=min(moment.day, calendar.monthrange(year, moment.month)[1]))
