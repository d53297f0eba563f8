"""The forms of a time: each is a pattern, and how the calendar reads what it matched.

    "7 May 2023", "2023-05-07", "5/7/2023", "2023年5月7日"       a day, whoever asks and whenever
    "May 7th", "in May", "in spring", "at Christmas", "the 3rd"   of the latest year or month in which it has begun
    "yesterday", "last week", "on Friday", "two weeks ago"        counted from today

`forms()` lists them. A form is tried only on a text that holds one of its `cues`, since most texts hold none.

Many of these words say something else as well: "may" is a verb, "march" another, April a woman, 2000 a number. Such a match is
`weak`: it counts only behind a word that makes a time of it ("in May", "since 2000").
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator
from datetime import date
from functools import lru_cache
from typing import TypeAlias

import msgspec

from bethink.retrieval.dates import readers, words
from bethink.retrieval.dates.readers import Readings

__all__ = ["Form", "every_cue", "forms"]

Reader: TypeAlias = Callable[[re.Match[str], date], Readings]


class Form(msgspec.Struct, frozen=True):
    """One way to write a time.

    Attributes:
        cues: a folded text in which none of these words occurs holds no match; empty for scripts without words.
        source: its pattern, for folded text.
        read: what a match means.
        weak: which words must stand before a match, as a key of `phrases.LEADS`; "" for a form that is a time by itself.
        relative: the meaning rests on more than the year of today.
    """

    cues: frozenset[str]
    source: str
    read: Reader
    weak: str = ""
    relative: bool = False

    def matches(self, folded: str) -> Iterator[re.Match[str]]:
        return _compiled(self.source).finditer(folded)


_compiled = lru_cache(maxsize=None)(re.compile)
"""At the first text that holds a cue of the form: all of them would take some 30 ms."""


_WORD = re.compile(r"[^\W_]+")
_YEAR = r"(?P<year>(?:19|20)\d\d(?!\d|[.,]\d|%)|['’]\d\d)"
_SAME_YEAR = rf"(?:(?:\s*,\s*|\s+|-)(?:of\s+|de\s+|del\s+)?{_YEAR})"
_TIME_OF_DAY = r"(?:\s+(?:morning|afternoon|evening|night))?"
_UNTIL_DAY = r"(?:\s*[-–]\s*(?P<until>\d{1,2})(?:st|nd|rd|th)?(?![\d:]))?"
_HOLIDAY = (
    r"christmas(?:\s+(?:eve|day))?|new\s+year['’]?s(?:\s+(?:eve|day))?|hallowe['’]?en|thanksgiving(?:\s+day)?"
    r"|valentine['’]?s(?:\s+day)?|st\.?\s+patrick['’]?s(?:\s+day)?|easter(?:\s+sunday)?|independence\s+day"
)
_HOLIDAY_CUES = frozenset(
    ("christmas", "year", "halloween", "hallowe", "thanksgiving", "valentine", "valentines", "patrick", "patricks", "easter")
) | {"independence"}
_YEARS = frozenset(map(str, range(1900, 2100)))
_ORDINALS = frozenset(f"{number}{ending}" for number in range(1, 32) for ending in ("st", "nd", "rd", "th"))
_UNITS = frozenset(
    f"{unit}{s}" for unit in ("hour", "day", "week", "fortnight", "weekend", "month", "quarter", "year") for s in ("", "s")
)


def _any(phrases: Iterable[str]) -> str:
    """One of these words or phrases, the longest first."""
    return "|".join(re.escape(word).replace(r"\ ", r"\s+") for word in sorted(phrases, key=lambda word: (-len(word), word)))


def _longest_words(phrases: Iterable[str]) -> frozenset[str]:
    """The longest word of each: fewer texts hold it than the others."""
    return frozenset(max(_WORD.findall(phrase), key=len) for phrase in phrases)


def _form(cues: Iterable[str], pattern: str, read: Reader, *, weak: str = "", relative: bool = False) -> Form:
    return Form(frozenset(cues), rf"(?<!\w)(?:{pattern})(?!\w)", read, weak, relative)


@lru_cache(maxsize=1)
def forms() -> tuple[Form, ...]:
    """Every form, each once."""
    return (*_days(), *_months_and_years(), *_counted_from_today(), *_without_spaces())


@lru_cache(maxsize=1)
def every_cue() -> frozenset[str]:
    """The cues of all forms: most texts hold none of them."""
    return frozenset().union(*(form.cues for form in forms()))


def _days() -> Iterator[Form]:
    weekday = rf"(?:(?:{_any(words.WEEKDAYS)}|{_any(words.SHORT_WEEKDAYS)})\.?,?\s+(?:the\s+)?)?"
    day = r"(?P<day>\d{1,2})(?P<th>st|nd|rd|th|er|[.º°])?"
    yield _form(_YEARS, r"(?<![-/.])((?:19|20)\d\d)([-/])(\d\d?)\2(\d\d?)(?:t\d\d\S{0,24}|(?![-/\d]|\.\d))", readers.iso_day)
    yield _form(_YEARS, r"(?<![-/.\d])(\d\d?)/(\d\d?)/((?:19|20)\d\d)(?!/)", readers.slashed)
    yield _form(_YEARS, r"(?<![-/.\d])(\d\d?)\.(\d\d?)\.((?:19|20)\d\d)(?!\.\d)", readers.dotted)
    yield _form(
        words.EVERY_MONTH,
        rf"(?<![.,:/$€£#-]){weekday}{day}{_UNTIL_DAY}(?:\s+(?:of\s+|de\s+)?|-)(?P<month>{_any(words.EVERY_MONTH)})\.?{_SAME_YEAR}?",
        readers.month_day,
    )
    yield _form(
        words.MONTHS,
        rf"{weekday}(?P<month>{_any(words.MONTHS)})\.?\s+(?:the\s+)?(?P<day>\d{{1,2}})(?P<th>st|nd|rd|th)?(?![\d:/%]|\.\d)"
        rf"{_UNTIL_DAY}{_SAME_YEAR}?",
        readers.month_day,
    )
    yield _form(_HOLIDAY_CUES, rf"(?P<holiday>{_HOLIDAY}){_SAME_YEAR}", readers.holiday_of_year)
    yield _form(_HOLIDAY_CUES, rf"(?P<holiday>{_HOLIDAY})", readers.holiday_alone, weak="holiday")
    yield _form(_ORDINALS, r"the\s+(?P<day>\d{1,2})(?:st|nd|rd|th)", readers.day_of_month, weak="nth")


def _months_and_years() -> Iterator[Form]:
    yield _form(_YEARS, r"(?<![-/.])((?:19|20)\d\d)-(0[1-9]|1[0-2])(?![-/.]?\d)", readers.iso_month)
    yield _form(words.EVERY_MONTH, rf"(?P<month>{_any(words.EVERY_MONTH)})\.?{_SAME_YEAR}", readers.month_year)
    yield _form(words.PLAIN_MONTHS, rf"(?P<month>{_any(words.PLAIN_MONTHS)})", readers.month_alone)
    english = [name for name in words.MONTHS if name not in words.PLAIN_MONTHS]
    yield _form(english, rf"(?P<month>{_any(english)})(?!['’]s)", readers.month_alone, weak="month")
    other = [name for name in words.OTHER_MONTHS if name != "mars"]
    yield _form(other, rf"(?P<month>{_any(other)})", readers.month_alone, weak="foreign")
    yield _form(["mars"], r"(?<=en )(?P<month>mars)", readers.month_alone, weak="foreign")
    yield _form(words.SEASONS, rf"(?P<season>{_any(words.SEASONS)}){_SAME_YEAR}", readers.season_of_year)
    seasons = [name for name in words.SEASONS if name != "fall"]
    yield _form(seasons, rf"(?P<season>{_any(seasons)})", readers.season_alone, weak="season")
    yield _form(["fall"], r"(?P<season>fall)(?!\s+of)", readers.season_alone, weak="fall")
    yield _form(["q1", "q2", "q3", "q4"], rf"q(?P<quarter>[1-4]){_SAME_YEAR}", readers.quarter)
    yield _form(_YEARS, r"(?<![-/.,:#$€£])(?P<year>(?:19|20)\d\d)(?![-/:%]?\d|[.,]\d|%|-)", readers.year_alone, weak="year")


def _counted_from_today() -> Iterator[Form]:
    step = r"(?P<step>last|previous|this\s+past|this\s+coming|this|current|next|upcoming)"
    count = rf"(?P<count>{words.NUMBER})"
    yield _form(
        _longest_words(words.DAYS_AWAY),
        rf"(?P<words>(?:yesterday|tomorrow){_TIME_OF_DAY}|{_any(words.DAYS_AWAY)})",
        readers.named_day,
        relative=True,
    )
    yield _form(_UNITS, rf"{step}\s+(?P<unit>weekend|week|month|quarter|year)(?!\s+of\b)", readers.stepped, relative=True)
    yield _form(_longest_words(words.UNITS_AWAY), rf"(?P<words>{_any(words.UNITS_AWAY)})", readers.other_unit, relative=True)
    yield _form(_UNITS, r"the\s+(?P<unit>weekend|week|month|year)\s+before\s+last", readers.before_last, relative=True)
    the_weekend = r"the\s+weekend(?!\s+(?:of|before|after)\b)"
    yield _form(["weekend"], the_weekend, readers.latest_weekend, weak="weekend", relative=True)
    yield _form(
        words.WEEKDAYS,
        r"(?<!black\s)(?<!good\s)(?<!ash\s)(?<!every\s)(?<!each\s)(?<!any\s)"
        rf"(?:{step}\s+)?(?P<weekday>{_any(words.WEEKDAYS)}){_TIME_OF_DAY}",
        readers.weekday,
        relative=True,
    )
    yield _form(words.SHORT_WEEKDAYS, r"(?P<step>last|next)\s+(?P<weekday>sat|sun|wed)", readers.short_weekday, relative=True)
    others = _any(name for name in words.SHORT_WEEKDAYS if name not in ("sat", "sun", "wed"))
    yield _form(words.SHORT_WEEKDAYS, rf"(?P<step>last|next|on)\s+(?P<weekday>{others})", readers.short_weekday, relative=True)
    yield _form(
        (*words.MONTHS, *words.SEASONS, *_HOLIDAY_CUES),
        rf"{step}\s+(?P<name>{_any((*words.MONTHS, *words.SEASONS))}|{_HOLIDAY})(?!\s+\d|\s+of\b)",
        readers.stepped_yearly,
        relative=True,
    )
    yield _form(
        ["ago", "back"],
        rf"{count}(?:\s*(?:-|–|or|to)\s*(?P<most>{words.NUMBER}))?\s+(?P<unit>minute|hour|day|week|fortnight|month|year)s?"
        r"(?P<more>\s+or\s+(?:two|so))?\s+(?:ago|back)",
        readers.ago,
        relative=True,
    )
    yield _form(["half"], r"half\s+a\s+year\s+(?:ago|back)", readers.half_ago, relative=True)
    yield _form(
        _UNITS,
        rf"(?P<the>(?:the|these)\s+)?(?P<step>last|this\s+past|past|next)\s+(?:{count}\s+)?"
        r"(?P<unit>hour|day|week|fortnight|month|year)s?(?!\s+of\b)",
        readers.rolling,
        relative=True,
    )


def _without_spaces() -> Iterator[Form]:
    """Dates of Chinese, Japanese and Korean, which stand within a run of other characters."""
    dated = r"(?<!\d)(?P<year>(?:19|20)\d\d)\s?[年년](?:\s?(?P<month>\d\d?)\s?[月월](?:\s?(?P<day>\d\d?)\s?[日号號일])?)?"
    for pattern, read, relative in (
        (dated, readers.unspaced_date, False),
        (r"(?<!\d)(?P<month>\d\d?)\s?[月월](?:\s?(?P<day>\d\d?)\s?[日号號일])?", readers.unspaced_month, False),
        (rf"(?P<words>{_any(words.UNSPACED_DAYS_AWAY)})", readers.unspaced_day, True),
        (rf"(?P<words>{_any(words.UNSPACED_UNITS_AWAY)})", readers.unspaced_unit, True),
    ):
        yield Form(frozenset(), pattern, read, "", relative)
