"""Stretches of the calendar: whole days from a first one up to, and without, the one after.

A week begins on Monday, a weekend is its Saturday and Sunday. Seasons are those of the northern half of the earth by whole
months; a winter belongs to the year of its December. Everything here is arithmetic on dates without a zone: which instants a
day covers is decided where the zone is known. What no calendar holds (31 June, the year 0) raises `ValueError` or
`OverflowError`.
"""

from __future__ import annotations

from collections.abc import Callable
from datetime import date, timedelta
from typing import Literal, TypeAlias

import msgspec

__all__ = [
    "Precision",
    "Stretch",
    "around",
    "day",
    "days",
    "earliest",
    "easter",
    "latest",
    "month",
    "months_away",
    "nth_weekday",
    "over",
    "part",
    "season",
    "week",
    "weekday_after",
    "weekday_before",
    "weekend",
    "year",
]

Precision: TypeAlias = Literal["day", "week", "month", "season", "year"]

_DAY = timedelta(days=1)
_LONGEST: dict[Precision, int] = {"day": 3, "week": 15, "month": 62, "season": 190}
_SEASON_BEGINS = {"spring": 3, "summer": 6, "autumn": 9, "winter": 12}


class Stretch(msgspec.Struct, frozen=True, gc=False):
    """Days from `first` up to, and without, `after`.

    Attributes:
        precision: how finely it was named: "the first week of May" is a week, "around Christmas" a day.
        yearly: no year was named; it is the one of the year that fits best, and others are possible.
    """

    first: date
    after: date
    precision: Precision
    yearly: bool = False


def day(first: date) -> Stretch:
    return days(first, 1, "day")


def days(first: date, count: int, precision: Precision) -> Stretch:
    return Stretch(first, first + count * _DAY, precision)


def around(middle: date, margin: int, precision: Precision) -> Stretch:
    """A day with `margin` days on either side."""
    return days(middle - margin * _DAY, 2 * margin + 1, precision)


def over(first: date, after: date) -> Stretch:
    """From one day up to, and without, another; as precise as it is short."""
    length = (after - first).days
    fitting: list[Precision] = [name for name, most in _LONGEST.items() if length <= most]
    precision: Precision = fitting[0] if fitting else "year"
    return Stretch(first, after, precision)


def week(holding: date) -> Stretch:
    return days(holding - holding.weekday() * _DAY, 7, "week")


def weekend(holding: date) -> Stretch:
    """Saturday and Sunday of the week that holds a day."""
    return days(holding + (5 - holding.weekday()) * _DAY, 2, "day")


def month(of_year: int, number: int, count: int = 1) -> Stretch:
    """`count` months from the given one on; numbers below 1 and above 12 reach into other years."""
    return Stretch(_first_of(of_year, number), _first_of(of_year, number + count), "month" if count < 3 else "season")


def season(name: str, of_year: int) -> Stretch:
    return month(of_year, _SEASON_BEGINS[name], 3)


def year(number: int) -> Stretch:
    return Stretch(date(number, 1, 1), date(number + 1, 1, 1), "year")


def months_away(start: date, count: int) -> date:
    """The same day of another month, or the last one of that month where it has no such day."""
    first = _first_of(start.year, start.month + count)
    last = _first_of(first.year, first.month + 1) - _DAY
    return first.replace(day=min(start.day, last.day))


def weekday_before(number: int, limit: date) -> date:
    """The latest day of that name (Monday is 0) before `limit`."""
    return limit - ((limit.weekday() - number - 1) % 7 + 1) * _DAY


def weekday_after(number: int, limit: date) -> date:
    """The first day of that name after `limit`."""
    return limit + ((number - limit.weekday() - 1) % 7 + 1) * _DAY


def nth_weekday(of_year: int, of_month: int, number: int, nth: int) -> date:
    """The nth day of that name in a month, as in "the fourth Thursday of November"."""
    return weekday_after(number, date(of_year, of_month, 1) - _DAY) + 7 * (nth - 1) * _DAY


def easter(of_year: int) -> date:
    """Easter Sunday of the Gregorian calendar (the anonymous algorithm, as in Meeus, Astronomical Algorithms, chapter 8)."""
    century, rest = divmod(of_year, 100)
    golden = of_year % 19
    moon = (19 * golden + century - century // 4 - (century - (century + 8) // 25 + 1) // 3 + 15) % 30
    sunday = (32 + 2 * (century % 4) + 2 * (rest // 4) - moon - rest % 4) % 7
    late = (golden + 11 * moon + 22 * sunday) // 451
    number, before = divmod(moon + sunday - 7 * late + 114, 31)
    return date(of_year, number, before + 1)


def latest(of: Callable[[int], Stretch], today: date, *, ended: bool = False) -> Stretch:
    """Of a stretch that comes every year, the latest that has begun by `today`, or `ended` before it."""
    return _nearest(of, today, -1, lambda stretch: stretch.after <= today if ended else stretch.first <= today)


def earliest(of: Callable[[int], Stretch], today: date) -> Stretch:
    """Of a stretch that comes every year, the first to begin after `today`."""
    return _nearest(of, today, 1, lambda stretch: stretch.first > today)


def part(whole: Stretch, numerator: int, denominator: int, precision: Precision) -> Stretch:
    """The part of a stretch from `numerator` / `denominator` of it on, one such fraction long and never less than a day."""
    length = (whole.after - whole.first).days
    first, after = length * numerator // denominator, length * (numerator + 1) // denominator
    return Stretch(whole.first + first * _DAY, whole.first + max(after, first + 1) * _DAY, precision, whole.yearly)


def _first_of(of_year: int, number: int) -> date:
    carried, zero_based = divmod(number - 1, 12)
    return date(of_year + carried, zero_based + 1, 1)


def _nearest(of: Callable[[int], Stretch], today: date, step: int, fits: Callable[[Stretch], bool]) -> Stretch:
    # From a year ahead or behind, since a stretch may reach into the next year; eight years until 29 February comes again.
    for away in range(-1, 10):
        try:
            stretch = of(today.year + step * away)
        except ValueError:
            continue
        if fits(stretch):
            return msgspec.structs.replace(stretch, yearly=True)
    raise ValueError("no year has such a day")
