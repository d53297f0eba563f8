"""How the calendar reads what a form of `forms` has matched: a match and the day it is read on, to stretches of time.

A reader gives one stretch, more for a date that can be read in several ways, none for what is no time after all, such as "the
3rd floor". It raises `ValueError` or `OverflowError` for a day that no calendar has.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from datetime import date, timedelta
from typing import TypeAlias

import msgspec

from bethink.retrieval.dates import stretches, words
from bethink.retrieval.dates.stretches import Stretch

__all__ = [
    "Readings",
    "ago",
    "before_last",
    "day_of_month",
    "dotted",
    "half_ago",
    "holiday_alone",
    "holiday_of_year",
    "iso_day",
    "iso_month",
    "latest_weekend",
    "month_alone",
    "month_day",
    "month_year",
    "named_day",
    "other_unit",
    "quarter",
    "rolling",
    "season_alone",
    "season_of_year",
    "short_weekday",
    "slashed",
    "stepped",
    "stepped_yearly",
    "unspaced_date",
    "unspaced_day",
    "unspaced_month",
    "unspaced_unit",
    "weekday",
    "year_alone",
]

Readings: TypeAlias = tuple[Stretch, ...]

_NOTHING: Readings = ()
_NEXT_WORD = re.compile(r"\s{1,4}([^\W\d_]+)")


def _word_after(match: re.Match[str]) -> str:
    found = _NEXT_WORD.match(match.string, match.end())
    return found[1] if found else ""


def _year_in(text: str) -> int:
    return int(text) if len(text) == 4 else 2000 + int(text[1:])


def iso_day(match: re.Match[str], _today: date) -> Readings:
    return (stretches.day(date(int(match[1]), int(match[3]), int(match[4]))),)


def iso_month(match: re.Match[str], _today: date) -> Readings:
    return (stretches.month(int(match[1]), int(match[2])),)


def slashed(match: re.Match[str], _today: date) -> Readings:
    """Both 7 May and 5 July of "5/7/2023", which is the one here and the other there; one where the other is no day."""
    one, other, of_year = int(match[1]), int(match[2]), int(match[3])
    orders = dict.fromkeys(((one, other), (other, one)))
    return tuple(stretches.day(date(of_year, of_month, number)) for number, of_month in orders if of_month <= 12)


def dotted(match: re.Match[str], _today: date) -> Readings:
    return (stretches.day(date(int(match[3]), int(match[2]), int(match[1]))),)


def month_day(match: re.Match[str], today: date) -> Readings:
    name, number = match["month"], int(match["day"])
    of_month, count = words.EVERY_MONTH[name], max(1, int(match["until"] or number) - number + 1)
    if match["year"]:
        return (stretches.days(date(_year_in(match["year"]), of_month, number), count, "day"),)
    if name in ("may", "march") and not match["th"] and _is_verb(match):
        return _NOTHING
    return (stretches.latest(lambda of_year: stretches.days(date(of_year, of_month, number), count, "day"), today),)


def _is_verb(match: re.Match[str]) -> bool:
    """Whether "may" or "march" are verbs beside this number: "these 7 may be wrong", "you may 3 times"."""
    word = _word_after(match)
    if match.start("day") < match.start("month"):
        return word not in words.FUNCTION_WORDS | {""}
    return word in words.COUNTED


def month_year(match: re.Match[str], _today: date) -> Readings:
    return (stretches.month(_year_in(match["year"]), words.EVERY_MONTH[match["month"]]),)


def month_alone(match: re.Match[str], today: date) -> Readings:
    number = words.EVERY_MONTH[match["month"]]
    return (stretches.latest(lambda of_year: stretches.month(of_year, number), today),)


def year_alone(match: re.Match[str], _today: date) -> Readings:
    return _NOTHING if _word_after(match) in words.COUNTED else (stretches.year(int(match["year"])),)


def quarter(match: re.Match[str], _today: date) -> Readings:
    return (stretches.month(_year_in(match["year"]), 3 * int(match["quarter"]) - 2, 3),)


def season_of_year(match: re.Match[str], _today: date) -> Readings:
    return (stretches.season(words.SEASONS[match["season"]], _year_in(match["year"])),)


def season_alone(match: re.Match[str], today: date) -> Readings:
    return (stretches.latest(lambda of_year: stretches.season(words.SEASONS[match["season"]], of_year), today),)


_FIXED = {"hallo": (10, 31), "valen": (2, 14), "st": (3, 17), "indep": (7, 4)}


def _holiday_in(name: str, of_year: int) -> Stretch:
    """Christmas is three days and Easter four: from Good Friday to Monday."""
    for beginning, (number, of_day) in _FIXED.items():
        if name.startswith(beginning):
            return stretches.day(date(of_year, number, of_day))
    if name.startswith("thanks"):
        return stretches.day(stretches.nth_weekday(of_year, 11, 3, 4))
    if name.startswith("easter"):
        return stretches.days(stretches.easter(of_year) - timedelta(days=2), 4, "day")
    if name.startswith("new"):
        return stretches.day(date(of_year, 12, 31) if name.endswith("eve") else date(of_year, 1, 1))
    return stretches.days(date(of_year, 12, 24), 1 if name.endswith("eve") else 3, "day")


def holiday_of_year(match: re.Match[str], _today: date) -> Readings:
    return (_holiday_in(match["holiday"], _year_in(match["year"])),)


def holiday_alone(match: re.Match[str], today: date) -> Readings:
    return (stretches.latest(lambda of_year: _holiday_in(match["holiday"], of_year), today),)


def day_of_month(match: re.Match[str], today: date) -> Readings:
    """The latest day of that number, but none for "the 3rd floor"."""
    if _word_after(match) not in words.FUNCTION_WORDS | {"", "morning", "afternoon", "evening", "night"}:
        return _NOTHING
    number = int(match["day"])
    for back in range(13):
        of_month = stretches.month(today.year, today.month - back)
        found = of_month.first + timedelta(days=number - 1)
        if of_month.first <= found < of_month.after and found <= today:
            return (stretches.day(found),)
    return _NOTHING


def named_day(match: re.Match[str], today: date) -> Readings:
    said = " ".join(match["words"].split())
    if said not in words.DAYS_AWAY:  # "yesterday evening"
        said = said.split()[0]
    return (stretches.day(today + timedelta(days=words.DAYS_AWAY[said])),)


def unspaced_day(match: re.Match[str], today: date) -> Readings:
    return (stretches.day(today + timedelta(days=words.UNSPACED_DAYS_AWAY[match["words"]])),)


def unspaced_unit(match: re.Match[str], today: date) -> Readings:
    return (_unit(*words.UNSPACED_UNITS_AWAY[match["words"]], today),)


def other_unit(match: re.Match[str], today: date) -> Readings:
    return (_unit(*words.UNITS_AWAY[" ".join(match["words"].split())], today),)


def unspaced_date(match: re.Match[str], _today: date) -> Readings:
    of_year = int(match["year"])
    if match["day"]:
        return (stretches.day(date(of_year, int(match["month"]), int(match["day"]))),)
    return (stretches.month(of_year, _checked(int(match["month"]))) if match["month"] else stretches.year(of_year),)


def unspaced_month(match: re.Match[str], today: date) -> Readings:
    number = int(match["month"])
    if match["day"]:
        return (stretches.latest(lambda of_year: stretches.day(date(of_year, number, int(match["day"]))), today),)
    return (stretches.latest(lambda of_year: stretches.month(of_year, _checked(number)), today),)


def _checked(month: int) -> int:
    if not 1 <= month <= 12:
        raise ValueError("no such month")
    return month


def _unit(name: str, step: int, today: date) -> Stretch:
    if name == "week":
        return stretches.week(today + timedelta(weeks=step))
    if name == "weekend":
        return stretches.weekend(today + timedelta(weeks=step))
    if name == "month":
        return stretches.month(today.year, today.month + step)
    if name == "quarter":
        return stretches.month(today.year, (today.month - 1) // 3 * 3 + 1 + 3 * step, 3)
    return stretches.year(today.year + step)


def stepped(match: re.Match[str], today: date) -> Readings:
    """A unit of the calendar: "last week", "this weekend", "next year"."""
    return (_unit(match["unit"], _step(match["step"]), today),)


def _step(said: str) -> int:
    """-1 for "last" and "this past", 1 for "next" and "this coming"."""
    return words.STEPS[said.split()[-1]]


def before_last(match: re.Match[str], today: date) -> Readings:
    return (_unit(match["unit"], -2, today),)


def latest_weekend(_match: re.Match[str], today: date) -> Readings:
    return (_unit("weekend", 0 if today.weekday() >= 5 else -1, today),)


def weekday(match: re.Match[str], today: date) -> Readings:
    number, step = words.WEEKDAYS.index(match["weekday"]), _step(match["step"] or "last")
    if step == 0:
        return (stretches.day(today + timedelta(days=number - today.weekday())),)
    nearest = stretches.weekday_before if step < 0 else stretches.weekday_after
    return (stretches.day(nearest(number, today)),)


def short_weekday(match: re.Match[str], today: date) -> Readings:
    """As `weekday`, but none for "my last SAT score"."""
    if _word_after(match) not in words.FUNCTION_WORDS | {""}:
        return _NOTHING
    nearest = stretches.weekday_after if match["step"] == "next" else stretches.weekday_before
    return (stretches.day(nearest(words.SHORT_WEEKDAYS[match["weekday"]], today)),)


def stepped_yearly(match: re.Match[str], today: date) -> Readings:
    """What comes once a year: "last May" has ended, "next Christmas" has not begun."""
    name, step = match["name"], _step(match["step"])
    if name in ("may", "march") and step == 0 and _word_after(match) not in words.FUNCTION_WORDS | {""}:
        return _NOTHING  # "this may be"
    if name in words.MONTHS:
        of: Callable[[int], Stretch] = lambda of_year: stretches.month(of_year, words.MONTHS[name])  # noqa: E731
    elif name in words.SEASONS:
        of = lambda of_year: stretches.season(words.SEASONS[name], of_year)  # noqa: E731
    else:
        of = lambda of_year: _holiday_in(name, of_year)  # noqa: E731
    if step == 0:
        return (of(today.year),)
    found = stretches.latest(of, today, ended=True) if step < 0 else stretches.earliest(of, today)
    return (msgspec.structs.replace(found, yearly=False),)


def ago(match: re.Match[str], today: date) -> Readings:
    """Around that day: seven days of "two weeks ago", a month of "two months ago"; of "two years ago" a year of the calendar.
    "A few" are two to five.
    """
    least, most = words.number_of(match["count"])
    if match["most"]:
        most = max(least, words.number_of(match["most"])[1])
    elif match["more"]:
        most += 1
    unit, exact = match["unit"], least == most
    if unit in ("minute", "hour"):
        return (stretches.day(today - timedelta(days=least // 24 * (unit == "hour"))),)
    if unit == "day":
        return (stretches.days(today - timedelta(days=most), most - least + 1, "day" if exact else "week"),)
    if unit == "year":
        return (Stretch(date(today.year - most, 1, 1), date(today.year - least + 1, 1, 1), "year"),)
    if unit == "month":
        far, near = (stretches.around(stretches.months_away(today, -count), 15, "month") for count in (most, least))
    else:
        weeks = 2 if unit == "fortnight" else 1
        far, near = (stretches.around(today - timedelta(weeks=weeks * count), 3, "week") for count in (most, least))
    return (Stretch(far.first, near.after, near.precision),)


def half_ago(_match: re.Match[str], today: date) -> Readings:
    return (stretches.around(stretches.months_away(today, -6), 30, "season"),)


def rolling(match: re.Match[str], today: date) -> Readings:
    """Up to today, or from today on: "in the last 3 months", "the past week", "the next few days"."""
    count, unit, step = match["count"], match["unit"], _step(match["step"])
    if not count and (unit in ("day", "hour") or step > 0 or not (match["the"] or match["step"].endswith("past"))):
        return _NOTHING  # "last week" is a week of the calendar, "the last day" the end of something
    most = step * (words.number_of(count)[1] if count else 1)
    if unit in ("month", "year"):
        other = stretches.months_away(today, most if unit == "month" else 12 * most)
    else:
        other = today + timedelta(days=most * {"hour": 0, "day": 1, "week": 7, "fortnight": 14}[unit])
    first, last = min(today, other), max(today, other)
    return (stretches.over(first, last + timedelta(days=1)),)
