"""What in a sentence is hard to get back once it is lost: numbers, dates, names, identifiers.

A fact here is a token that stands for itself, folded for comparison ("3,500" and "3500" are one). Names are found by their
capital letter, so scripts without case have none. Rules of thumb, not a tagger: they cost microseconds and never fail.
"""

from __future__ import annotations

import re
from collections.abc import Container, Iterable, Sequence

import msgspec

from bethink.retrieval.terms import stop_words

__all__ = ["Facts", "facts"]

_CALENDAR_WORDS = """
january february march april may june july august september october november december
monday tuesday wednesday thursday friday saturday sunday
jan feb mar apr jun jul aug sep sept oct nov dec mon tue tues wed thu thur thurs fri sat sun
"""
_INTERJECTIONS = "i im ive ill id ok okay oh ah aw wow hey hi hello yes yeah yep nope thanks thank congrats lol please tv"
_EXTENSIONS = "py|js|ts|md|txt|json|ya?ml|toml|csv|sql|pdf|html?|sh|go|rs|java|cpp|db|log|png|jpe?g|docx?|xlsx?"

_CALENDAR = frozenset(_CALENDAR_WORDS.split())
_NOT_NAMES = stop_words | frozenset(_INTERJECTIONS.split())

# Dates in words, in small letters. "may", "march" and the short forms are everyday words too: they need their capital.
_DATE = re.compile(
    r"\b(?:yesterday|today|tonight|tomorrow|(?:mon|tues|wednes|thurs|fri|satur|sun)day|january|february|april|june|july|august"
    r"|september|october|november|december"
    r"|(?:last|next|this|every) (?:night|week|weekend|month|year|spring|summer|fall|autumn|winter)"
    r"|(?:\w+ )?(?:day|week|month|year)s? ago)\b"
)
_MONTH = (
    "(?:jan(?:uary)?|feb(?:ruary)?|mar(?:ch)?|apr(?:il)?|may|june?|july?|aug(?:ust)?|sept?(?:ember)?|oct(?:ober)?"
    "|nov(?:ember)?|dec(?:ember)?)"
)
# A day of the year: "may 5th", "5 of may", "2026-05-05", "5/5/26".
_DAY = re.compile(
    rf"\b(?:({_MONTH})\.? (\d{{1,2}})(?:st|nd|rd|th)?|(\d{{1,2}})(?:st|nd|rd|th)?(?: of)? ({_MONTH})"
    r"|(\d{4}-\d\d-\d\d|\d{1,2}[./]\d{1,2}[./]\d{2,4}))\b"
)
_NUMBER = re.compile(r"(?<![\w.,])v?\d+(?:[.,:/-]\d+)*(?:%|(?:st|nd|rd|th|[ap]m|k|m|g|kg|km|cm|mm|mb|gb|h|min|s)\b)?")
_IDENTIFIER = re.compile(
    r"https?://[^\s<>\"')\]]+"  # an address
    r"|[\w.+-]+@[\w-]+(?:\.[\w-]+)+"  # of mail
    r"|`[^`\n]+`"  # code
    r"|(?<![\w/])~?/[\w.-]+(?:/[\w.-]+)*"  # a path
    rf"|\b[\w./-]+\.(?:{_EXTENSIONS})\b"  # a file
    r"|\b[^\W_]+(?:_[^\W_]+)+\b"  # a name in code
    r"|\b[A-Z]{2,}-?\d[\w-]*"  # a ticket, a model, a flight
)
# The expressions above look at every word; these tell at little cost whether it is worth it.
_HAS_NUMBER = re.compile(r"\d")
_DATE_HINTS = ("day", "tonight", "morrow", "last ", "next ", "this ", "every ", " ago", "uary", "april", "ju", "ember", "ober")
_MAY_BE_IDENTIFIER = re.compile(r"[/@`_]|\.[a-z]|[A-Z]-?\d")
_CAPITAL = re.compile(r"(?<![\w'’-])[^\W\d_a-z](?:[^\W\d_]|['’-](?=[^\W\d_]))*(?![\d_])")
_STARTS_AFTER = frozenset('.!?:;…"“(*')


class Facts(msgspec.Struct, frozen=True):
    """The facts of one sentence, each sort without repetition, in order of appearance."""

    numbers: tuple[str, ...] = ()
    dates: tuple[str, ...] = ()
    names: tuple[str, ...] = ()
    identifiers: tuple[str, ...] = ()

    @property
    def others(self) -> tuple[str, ...]:
        """All but the numbers."""
        return self.dates + self.names + self.identifiers

    @property
    def beside_names(self) -> tuple[str, ...]:
        return self.numbers + self.dates + self.identifiers

    @property
    def all(self) -> tuple[str, ...]:
        return self.numbers + self.others


def facts(sentences: Sequence[str], known: frozenset[str] = frozenset()) -> list[Facts]:
    """The facts of each of `sentences`, which belong together; `known` are names (in small letters) that are none.

    Any word has a capital where a sentence starts, so there it is a name only if it has one elsewhere in `sentences` too, or
    is all capitals.
    """
    words = [_capitals(sentence) for sentence in sentences]
    names = {folded for found in words for _, folded, starts in found if not starts}
    words = [[word for word in found if word[1] not in known] for found in words] if known else words
    return [_facts(sentence, found, names) for sentence, found in zip(sentences, words, strict=True)]


def _facts(sentence: str, words: list[tuple[str, str, bool]], names: Container[str]) -> Facts:
    lowered = sentence.lower()
    numbers: Iterable[str] = ()
    dates: dict[str, None] = {}
    if _HAS_NUMBER.search(sentence):
        numbers = dict.fromkeys(match.group().replace(",", "") for match in _NUMBER.finditer(lowered))
        dates.update((_day_key(*match.groups()), None) for match in _DAY.finditer(lowered))
    if any(map(lowered.__contains__, _DATE_HINTS)):
        dates.update((_date_key(match.group()), None) for match in _DATE.finditer(lowered))
    identifiers: Iterable[str] = ()
    if _MAY_BE_IDENTIFIER.search(sentence):
        identifiers = dict.fromkeys(match.group().rstrip(".,") for match in _IDENTIFIER.finditer(sentence))
    found: dict[str, None] = {}
    for word, folded, starts in words:
        if folded in _CALENDAR:
            dates[_date_key(folded)] = None
        elif not starts or folded in names or (len(word) > 1 and word.isupper()):
            found[folded] = None
    return Facts(tuple(numbers), tuple(dates), tuple(found), tuple(identifiers))


def _date_key(date: str) -> str:
    """One key for "Tuesday", "Tues" and "Tue"."""
    return date[:3] if date in _CALENDAR else date


def _day_key(month: str | None, day: str | None, day_first: str | None, month_last: str | None, figures: str | None) -> str:
    """One key for "May 5th" and "5 May"."""
    return figures or f"{(month or month_last or '')[:3]} {day or day_first}"


def _capitals(sentence: str) -> list[tuple[str, str, bool]]:
    """Words with a capital: as written, folded for comparison, and whether a sentence starts there."""
    found = []
    for match in _CAPITAL.finditer(sentence):
        word = match.group()
        folded = word.lower().replace("’", "'").removesuffix("'s").replace("'", "")
        # "I" and "A" stand for nothing; any other letter alone is a label, as in "hall D".
        if word[0].isupper() and (folded not in _NOT_NAMES or (len(word) == 1 and word not in "IA")):
            before = sentence[: match.start()].rstrip()
            found.append((word, folded, not before or before[-1] in _STARTS_AFTER))
    return found
