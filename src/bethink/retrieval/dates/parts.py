"""Parts of a time and distances from it, as told by what stands before it.

    "early May", "the end of 2022"                 a third of it
    "the first week of", "the second half of"      a part of it
    "the week before", "two months after"          not it, but so far from it

Each pattern ends where the time begins; each function takes its match and the time, and gives another, or None.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from datetime import date, timedelta
from functools import lru_cache
from typing import TypeAlias

import msgspec

from bethink.retrieval.dates import stretches
from bethink.retrieval.dates.stretches import Precision, Stretch
from bethink.retrieval.dates.words import NUMBER, WEEKDAYS, number_of

__all__ = ["Part", "parts"]

Part: TypeAlias = tuple[re.Pattern[str], Callable[[re.Match[str], Stretch], "Stretch | None"]]


@lru_cache(maxsize=1)
def parts() -> tuple[Part, ...]:
    """In the order in which they are applied, from the time outwards."""
    days = "|".join(WEEKDAYS)
    edge = (
        r"(?<!\w)(?:(?P<soft>early|late|mid)(?:[\s-]+|\s+in\s+)|(?:the\s+)?(?P<edge>middle|beginning|start|end)\s+of\s+)"
        r"(?:the\s+)?$"
    )
    nth = (
        r"(?<!\w)(?:the\s+)?(?:very\s+)?(?P<nth>first|1st|second|2nd|third|3rd|fourth|4th|last)\s+"
        rf"(?P<unit>day|week|weekend|half|third|quarter|{days})\s+(?:of|in)\s+(?:the\s+)?$"
    )
    away = (
        rf"(?<!\w)(?<!every\s)(?<!each\s)(?:(?:the|last)\s+)?(?:(?P<count>{NUMBER})\s+)?"
        rf"(?P<unit>day|weekend|week|fortnight|month|year|{days})(?P<many>s?)\s+"
        r"(?:right\s+|just\s+)?(?P<side>before|after|prior\s+to|following)\s+(?:the\s+)?$"
    )
    return (re.compile(edge), _edge_of), (re.compile(nth), _part_of), (re.compile(away), _away_from)


_FINER: dict[Precision, Precision] = {"year": "season", "season": "month", "month": "week", "week": "day", "day": "day"}
_EDGES = {"early": (0, 3), "beginning": (0, 3), "start": (0, 3), "mid": (1, 3), "middle": (1, 3), "late": (2, 3), "end": (2, 3)}
_NTH = {"first": 0, "1st": 0, "second": 1, "2nd": 1, "third": 2, "3rd": 2, "fourth": 3, "4th": 3, "last": -1}


def _edge_of(match: re.Match[str], whole: Stretch) -> Stretch | None:
    """A third of it: "early", "mid", "late", "the end of"."""
    if (whole.after - whole.first).days < 4:
        return None
    return stretches.part(whole, *_EDGES[match["soft"] or match["edge"]], _FINER[whole.precision])


def _part_of(match: re.Match[str], whole: Stretch) -> Stretch | None:
    """A part counted from the start, or the last one: "the first week of"."""
    nth, unit = _NTH[match["nth"]], match["unit"]
    fraction = {"half": 2, "third": 3, "quarter": 4}.get(unit)
    if fraction is not None:
        return stretches.part(whole, nth % fraction, fraction, _FINER[whole.precision]) if nth < fraction else None
    if unit in ("day", "week"):
        length = 1 if unit == "day" else 7
        first = whole.first + timedelta(days=length * nth) if nth >= 0 else whole.after - timedelta(days=length)
        found = stretches.days(first, length, "day" if unit == "day" else "week")
    else:
        number = 5 if unit == "weekend" else WEEKDAYS.index(unit)
        if nth >= 0:
            first = stretches.weekday_after(number, whole.first - timedelta(days=1)) + timedelta(weeks=nth)
        else:
            first = stretches.weekday_before(number, whole.after)
        found = stretches.days(first, 2 if unit == "weekend" else 1, "day")
    inside = whole.first <= found.first < whole.after
    return msgspec.structs.replace(found, yearly=whole.yearly) if inside else None


def _away_from(match: re.Match[str], anchor: Stretch) -> Stretch | None:
    """So far from it: "the week before", "two weeks after", "the Sunday before"."""
    unit, back = match["unit"], match["side"].startswith(("before", "prior"))
    if match["many"] and not match["count"]:  # "weeks before" may be any number of them
        return None
    if unit in WEEKDAYS or unit == "weekend":
        number = 5 if unit == "weekend" else WEEKDAYS.index(unit)
        first = (
            stretches.weekday_before(number, anchor.first)
            if back
            else stretches.weekday_after(number, anchor.after - timedelta(days=1))
        )
        found = stretches.days(first, 2 if unit == "weekend" else 1, "day")
    elif match["count"] in (None, "a", "one"):
        found = _beside(unit, anchor, back=back)
    else:
        least, most = number_of(match["count"])
        ends = [_moved(unit, anchor, -count if back else count) for count in (least, most)]
        margin = {"day": 0, "week": 3, "fortnight": 3, "month": 15, "year": 182}[unit]
        precision: Precision = "week" if unit == "fortnight" else unit  # type: ignore[assignment]
        found = Stretch(min(ends) - timedelta(days=margin), max(ends) + timedelta(days=margin + 1), precision)
    return msgspec.structs.replace(found, yearly=anchor.yearly)


def _beside(unit: str, anchor: Stretch, *, back: bool) -> Stretch:
    """The one unit that ends where the anchor begins, or begins where it ends."""
    edge = anchor.first if back else anchor.after
    step = -1 if back else 1
    if unit in ("month", "year"):
        other = stretches.months_away(edge, step * (1 if unit == "month" else 12))
    else:
        other = edge + step * timedelta(days={"day": 1, "week": 7, "fortnight": 14}[unit])
    return Stretch(min(edge, other), max(edge, other), "week" if unit == "fortnight" else unit)  # type: ignore[arg-type]


def _moved(unit: str, anchor: Stretch, count: int) -> date:
    edge = anchor.first if count < 0 else anchor.after - timedelta(days=1)
    if unit in ("month", "year"):
        return stretches.months_away(edge, count * (1 if unit == "month" else 12))
    return edge + timedelta(days=count * {"day": 1, "week": 7, "fortnight": 14}[unit])
