"""Times of a text as cues: instants in UTC, with how they were meant and where their words stand."""

from __future__ import annotations

import re
from collections.abc import Iterator
from datetime import date, datetime, timezone, tzinfo
from functools import lru_cache
from itertools import islice, takewhile

import msgspec

from bethink.retrieval.dates.phrases import RELATIONS, Phrase, Relation, phrases_in
from bethink.retrieval.dates.stretches import Precision
from bethink.retrieval.dates.words import FUNCTION_WORDS, fold
from bethink.values import utc

__all__ = ["TimeCue", "asks_when", "said_times", "time_cues"]

_LONGEST = 4_000
"""Characters of a text that are looked at. A question is shorter; what follows in a pasted document is not what is asked."""
_MOST_CUES = 16


class TimeCue(msgspec.Struct, frozen=True, kw_only=True):
    """A time that a text names.

    Attributes:
        start, end: the time itself, [start, end) in UTC: June 2022 of "before June 2022". None for an event ("before the
            trip"), whose time the words do not tell.
        precision: how finely it was named; None for an event.
        relation: how what is asked for stands to it.
        span: where its words stand in the text, relation included: `text[span[0]:span[1]]`.
        yearly: no year was named. The latest one is taken; the same days of another year fit almost as well.
        event: the words that name the event, folded; "" where there is an interval. To resolve one: look for an insight of kind
            event that holds these words, and put the day it is true from in place of the missing interval.
    """

    start: datetime | None
    end: datetime | None
    precision: Precision | None
    relation: Relation
    span: tuple[int, int]
    yearly: bool = False
    event: str = ""


def time_cues(query: str, *, now: datetime) -> tuple[TimeCue, ...]:
    """Every time that a query names, in order of the words.

    Args:
        query: any text; its first 4,000 characters count.
        now: when it is asked, aware. Its zone decides when a day begins.

    "In May" is the latest May that has begun, "on Friday" the latest Friday before today. A date that can be read in two ways
    ("5/7/2023") is two cues with the same span. Linear; about 0.1 ms for a question.
    """
    return tuple(_cues(query, now, events=True))


def said_times(text: str, at: datetime) -> tuple[TimeCue, ...]:
    """The times that a message speaks of, as meant at the moment `at` when it was said: "yesterday" is the day before.

    Without events. A message that names no time costs as much as splitting it into words.
    """
    return tuple(_cues(text, at, events=False))


_ASKS = re.compile(
    r"\A\W{0,9}(?:(?:and|so|but|since|until|by)\s+)?when\b|(?<!\w)(?:what|which)\s+(?:day|date|week|weekend|month|season|year|time)\b"
    r"|(?<!\w)how\s+(?:long|many\s+(?:days|weeks|months|years))\s+(?:ago|since|has|have|is|was|did)\b"
)


def asks_when(query: str) -> bool:
    """Whether a question (in English) asks for a time: its answer is a message that `said_times` finds a time in.

    One message in ten of LoCoMo names a time, and four in five that answer such a question.
    """
    return _ASKS.search(fold(query[:_LONGEST])) is not None


# -- from words to cues -------------------------------------------------------------------------------------------------


_WORD = re.compile(r"[^\W_]+")


def _cues(text: str, now: datetime, *, events: bool) -> list[TimeCue]:
    utc(now, "now")
    folded = fold(text[:_LONGEST])
    words = frozenset(_WORD.findall(folded))
    today, zone = now.date(), now.tzinfo
    assert zone is not None
    cues = [cue for phrase in islice(phrases_in(folded, words, today), _MOST_CUES) for cue in _placed(phrase, zone)]
    if events and not _SIDES.isdisjoint(words):
        taken = [cue.span for cue in cues]
        apart = (cue for cue in _events(folded) if all(cue.span[1] <= start or end <= cue.span[0] for start, end in taken))
        cues.extend(islice(apart, _MOST_CUES))
    return sorted(cues, key=lambda cue: cue.span)


def _placed(phrase: Phrase, zone: tzinfo) -> Iterator[TimeCue]:
    for stretch in phrase.readings:
        try:
            start, end = _midnight(stretch.first, zone), _midnight(stretch.after, zone)
        except OverflowError:  # the first hours of the year 1 in the east
            continue
        if start < end:  # a zone that moves over the date line skips a day
            yield TimeCue(
                start=start,
                end=end,
                precision=stretch.precision,
                relation=phrase.relation,
                span=(phrase.start, phrase.end),
                yearly=stretch.yearly,
            )


def _midnight(day: date, zone: tzinfo) -> datetime:
    # In UTC: two times of one zone are compared by their clocks, and on the day the clocks change that is wrong.
    return datetime(day.year, day.month, day.day, tzinfo=zone).astimezone(timezone.utc)


# -- events -------------------------------------------------------------------------------------------------------------

_SIDES = frozenset(("before", "after", "since", "until", "till", "during", "prior", "following"))
_NO_EVENTS = frozenset(("first", "second", "third", "fourth", "fifth", "last", "next", "same", "other", "rest", "end"))
"""What is counted or compared is no event: "before the second question"."""
_NOT_SPACE = re.compile(r"\S+")


@lru_cache(maxsize=1)
def _event() -> re.Pattern[str]:
    sides = "|".join(sorted(_SIDES - {"prior"}))
    return re.compile(
        rf"(?<!\w)(?P<side>{sides}|prior\s+to)\s+"
        r"(?P<event>(?:the|my|our|his|her|their|your|that|[^\W\d_]{1,32}['’]s)(?:\s+[^\W\d_]{1,32}){1,4})"
    )


def _events(folded: str) -> Iterator[TimeCue]:
    for match in _event().finditer(folded):
        words = match["event"].split()
        telling = list(takewhile(lambda word: word not in FUNCTION_WORDS, words[1:]))
        if telling and telling[0] not in _NO_EVENTS:
            event = " ".join([words[0], *telling])
            end = _end_of(len(telling) + 1, match)
            relation = RELATIONS.get(" ".join(match["side"].split()), "within")
            yield TimeCue(start=None, end=None, precision=None, relation=relation, span=(match.start(), end), event=event)


def _end_of(count: int, match: re.Match[str]) -> int:
    """Where the first `count` words of an event end."""
    ends = [found.end() for found in _NOT_SPACE.finditer(match.string, match.start("event"), match.end("event"))]
    return ends[count - 1]
