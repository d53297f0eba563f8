"""When something was, from the words it was told in.

"Last week" means the week before the message, not before today: every expression is resolved against the time of the message
it stands in. Only the common forms are known, and only those that name a definite day, week, month or year; "recently" and
"a few days ago" are left alone, because a wrong date is worse than none. Days are UTC days.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from datetime import datetime, timedelta, timezone
from typing import TypeAlias

import msgspec

__all__ = ["When", "find"]

_MONTHS = ["january", "february", "march", "april", "may", "june"]
_MONTHS += ["july", "august", "september", "october", "november", "december"]
_DAYS = ["monday", "tuesday", "wednesday", "thursday", "friday", "saturday", "sunday"]
_NUMBERS = {"a": 1, "an": 1, "one": 1, "two": 2, "three": 3, "four": 4, "five": 5, "six": 6, "seven": 7, "eight": 8, "nine": 9}
_NUMBERS |= {"ten": 10, "eleven": 11, "twelve": 12, "fifteen": 15, "twenty": 20, "thirty": 30, "a couple of": 2, "a couple": 2}


_Resolved: TypeAlias = tuple[datetime, str]
_Form: TypeAlias = tuple[re.Pattern[str], Callable[[re.Match[str], datetime, bool], _Resolved | None]]


class When(msgspec.Struct, frozen=True):
    """A stretch of time that a text names.

    Attributes:
        at: its first instant, UTC.
        label: how to write it without reference to today: `"7 May 2023"`, `"week of 31 October 2022"`, `"May 2023"`, `"2019"`.
        start, end: where it stands in the text.
    """

    at: datetime
    label: str
    start: int
    end: int


def find(text: str, said: datetime, *, future: bool = False) -> When | None:
    """The first time expression in `text`, a date before others, as meant at the moment `said` (aware); None if there is none.

    Args:
        future: the text speaks of what is to come: "in May" and "on Friday" are then the next ones, not the last.
    """
    said = said.astimezone(timezone.utc)
    return _first(_DATES, text, said, future) or _first(_FORMS, text, said, future)


def _first(forms: Sequence[_Form], text: str, said: datetime, future: bool) -> When | None:
    found: list[When] = []
    for pattern, resolve in forms:
        match = pattern.search(text)
        if match is None:
            continue
        try:
            resolved = resolve(match, said, future)
        except (ValueError, OverflowError):  # 31 June, or 5000 years ago
            continue
        if resolved is not None:
            found.append(When(*resolved, match.start(), match.end()))
    return min(found, key=lambda when: (when.start, -when.end), default=None)


def _day(at: datetime) -> _Resolved:
    day = at.replace(hour=0, minute=0, second=0, microsecond=0)
    return day, f"{day.day} {_MONTHS[day.month - 1].title()} {day.year}"


def _week(at: datetime) -> _Resolved:
    monday, label = _day(at - timedelta(days=at.weekday()))
    return monday, f"week of {label}"


def _month(year: int, month: int) -> _Resolved:
    first = datetime(year, month, 1, tzinfo=timezone.utc)
    return first, f"{_MONTHS[month - 1].title()} {year}"


def _year(year: int) -> _Resolved:
    return datetime(year, 1, 1, tzinfo=timezone.utc), str(year)


def _shift_months(at: datetime, months: int) -> _Resolved:
    year, month = divmod(at.year * 12 + at.month - 1 + months, 12)
    return _month(year, month + 1)


def _named_day(match: re.Match[str], said: datetime, _future: bool) -> _Resolved:
    word = match["word"].lower()
    offset = {"the day before yesterday": -2, "yesterday": -1, "last night": -1, "tomorrow": 1, "the day after tomorrow": 2}
    return _day(said + timedelta(days=offset.get(word, 0)))


def _ago(match: re.Match[str], said: datetime, _future: bool) -> _Resolved | None:
    written, unit = match["count"].lower(), match["unit"].lower()
    count = int(written) if written.isdigit() else _NUMBERS[written]
    return _count(said, -count, unit)


def _in_time(match: re.Match[str], said: datetime, future: bool) -> _Resolved | None:
    written, unit = match["count"].lower(), match["unit"].lower()
    count = int(written) if written.isdigit() else _NUMBERS[written]
    return _count(said, count, unit) if future else None


def _count(said: datetime, count: int, unit: str) -> _Resolved:
    if unit == "day":
        return _day(said + timedelta(days=count))
    if unit == "week":
        return _week(said + timedelta(weeks=count))
    if unit == "month":
        return _shift_months(said, count)
    return _year(said.year + count)


def _relative(match: re.Match[str], said: datetime, future: bool) -> _Resolved:
    step = {"last": -1, "this": 0, "next": 1}[match["which"].lower()]
    unit = match["unit"].lower()
    if unit == "weekend":
        saturday = said - timedelta(days=said.weekday()) + timedelta(days=5 + 7 * step)
        label = _day(saturday)
        return label[0], f"weekend of {label[1]}"
    if unit in _DAYS:
        return _weekday(unit, said, step > 0 or (step == 0 and future))
    if unit in _MONTHS:
        return _named_month(unit, said, step > 0 or (step == 0 and future), strict=step != 0)
    return _count(said, step, unit)


def _on_weekday(match: re.Match[str], said: datetime, future: bool) -> _Resolved:
    return _weekday(match["day"].lower(), said, future)


def _weekday(name: str, said: datetime, future: bool) -> _Resolved:
    """The nearest day of that name after or before the day of `said`, never that day itself."""
    away = _DAYS.index(name) - said.weekday()
    return _day(said + timedelta(days=away % 7 or 7) if future else said - timedelta(days=-away % 7 or 7))


def _named_month(name: str, said: datetime, future: bool, *, strict: bool = False) -> _Resolved:
    month = _MONTHS.index(name) + 1
    year = said.year
    if future and (month < said.month or (strict and month == said.month)):
        year += 1
    elif not future and (month > said.month or (strict and month == said.month)):
        year -= 1
    return _month(year, month)


def _in_month(match: re.Match[str], said: datetime, future: bool) -> _Resolved:
    name = match["month"].lower()
    return _month(int(match["year"]), _MONTHS.index(name) + 1) if match["year"] else _named_month(name, said, future)


def _in_year(match: re.Match[str], _said: datetime, _future: bool) -> _Resolved:
    return _year(int(match["year"]))


def _iso(match: re.Match[str], _said: datetime, _future: bool) -> _Resolved:
    return _day(datetime(int(match["year"]), int(match["month"]), int(match["day"]), tzinfo=timezone.utc))


def _date(match: re.Match[str], said: datetime, future: bool) -> _Resolved:
    month, day = _MONTHS.index(match["month"].lower()) + 1, int(match["day"])
    if match["year"]:
        return _day(datetime(int(match["year"]), month, day, tzinfo=timezone.utc))
    at = datetime(said.year, month, day, tzinfo=timezone.utc)
    if future and at.date() < said.date():
        at = at.replace(year=at.year + 1)
    elif not future and at.date() > said.date():
        at = at.replace(year=at.year - 1)
    return _day(at)


_MONTH = rf"(?P<month>{'|'.join(_MONTHS)})"
_COUNT = rf"(?P<count>\d{{1,4}}|{'|'.join(sorted(_NUMBERS, key=len, reverse=True))})"
_ORDINAL = r"(?P<day>\d{1,2})(?:st|nd|rd|th)?"
_YEAR = r"(?P<year>(?:19|20)\d\d)"


def _form(pattern: str) -> re.Pattern[str]:
    return re.compile(rf"\b(?:{pattern})\b", re.IGNORECASE)


_DATES: tuple[_Form, ...] = (
    (_form(r"(?:on )?(?P<year>\d{4})-(?P<month>\d\d)-(?P<day>\d\d)"), _iso),
    (_form(rf"(?:on )?(?:the )?{_ORDINAL}(?: of)? {_MONTH}(?:,? {_YEAR})?"), _date),
    (_form(rf"(?:on )?{_MONTH} (?:the )?{_ORDINAL}(?:,? {_YEAR})?"), _date),
)
"""What names the day itself: "on Saturday, March 12th" is 12 March, whichever Saturday is nearest."""

_FORMS: tuple[_Form, ...] = (
    (
        _form(r"(?P<word>the day before yesterday|the day after tomorrow|yesterday|last night|today|tonight|tomorrow)"),
        _named_day,
    ),
    (_form(r"(?P<word>yesterday|tomorrow|this) (?:morning|afternoon|evening|night)"), _named_day),
    (_form(rf"(?:about |around )?{_COUNT} (?P<unit>day|week|month|year)s? (?:ago|back)"), _ago),
    (_form(rf"in {_COUNT} (?P<unit>day|week|month|year)s?(?: time)?"), _in_time),
    (_form(rf"(?P<which>last|this|next) (?P<unit>week|weekend|month|year|{'|'.join([*_DAYS, *_MONTHS])})"), _relative),
    (_form(rf"on (?P<day>{'|'.join(_DAYS)})"), _on_weekday),
    (_form(rf"(?:in|since|back in) (?:early |late |mid-?)?{_MONTH}(?:,? (?:of )?{_YEAR})?"), _in_month),
    (_form(rf"(?:in|since|back in) {_YEAR}"), _in_year),
)
