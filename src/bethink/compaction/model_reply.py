"""What a model's reply is worth: lines that rest on messages it was shown, or the reason why it is worth nothing.

    reply ─▶ statements, each with the numbers it cites ─▶ grounded ─▶ within the limit ─▶ in the right language ─▶ lines

Nothing of a reply is believed. A statement stays only if it cites something of the list, has no number that the list lacks, and
does not merely repeat the instructions. What it rests on is then looked up: a message that has a fact of the statement, or two
rare words of it, which those cited lack, is added to them; where most of its words are from elsewhere, it rests on all that
was shown. A source too many costs a line when that source is forgotten; a source too few would keep what was to be forgotten.
"""

from __future__ import annotations

import html
import re
from collections import Counter
from collections.abc import Callable, Iterable, Sequence

import msgspec

from bethink.compaction.extractive import MAX_LINE_LENGTH, shortened
from bethink.compaction.facts import facts
from bethink.compaction.languages import in_another_language
from bethink.compaction.prompts import Shown
from bethink.compaction.wanted import first_that_fit
from bethink.records import Line
from bethink.retrieval.terms import index_terms, stop_words
from bethink.storage.base import FailureReason

__all__ = ["Cited", "Grounds", "cited_statements", "read_reply", "spoken"]

_THINKING = re.compile(r"\A\s*<(think|thinking|reasoning)>.*?(?:</\1>|\Z)", re.DOTALL | re.IGNORECASE)
_MARKER = re.compile(r"(?:(?:[-*+•‣–—>]|\[[ xX]\]|\d{1,3}[.)])\s+)+")
_NUMBERS = r"(?:(?:messages?|msgs?|m|nos?\.?|#)\s?)?\d{1,6}(?:\s?(?:,|;|&|-|–|and|to)\s?(?:and\s)?[#m]?\d{1,6})*"
_CITATION = rf"(?:\*\*)?[\[【［]\s?{_NUMBERS}\s?[\]】］](?:\*\*)?"
_CITED_FIRST = re.compile(rf"{_CITATION}(?:\s?[,:.]|\s?[–-](?=\s))?\s?", re.IGNORECASE)
_CITED_LAST = re.compile(rf"[\s,(]*{_CITATION}[\s.)]*\Z", re.IGNORECASE)
_RANGE = re.compile(r"(\d{1,6})(?:\s?(?:-|–|to)\s?[#m]?(\d{1,6}))?", re.IGNORECASE)
_GROUPED = re.compile(r"(?<=\d),(?=\d{3}(?!\d))")
_DIGITS = re.compile(r"\d+")
_WORDY = re.compile(r"[^\W_]")

# Of a reply only so much is read, by the tokens asked for: one that never ends is no more than over-long.
_READ_PER_TOKEN, _READ_AT_LEAST = 40, 4_000
_MOST_IN_LINE = 2_000
# A word that more messages have does not tell which of them a statement rests on. It takes two words that do, or one fact.
_TELLING, _WORDS_THAT_TELL = 2, 2


class Cited(msgspec.Struct, frozen=True):
    """A statement of a reply, and the numbers it cites as inclusive ranges; none where it cites nothing."""

    text: str
    cites: tuple[tuple[int, int], ...] = ()

    def names(self, number: int) -> bool:
        return any(first <= number <= last for first, last in self.cites)


def read_reply(
    text: str,
    grounds: Grounds,
    *,
    limit: int,
    count: Callable[[str], int],
    language: str = "",
    truncated: bool = False,
) -> tuple[Line, ...] | FailureReason:
    """The lines that a reply holds, or why it holds none. Never raises, whatever the text.

    Args:
        text: the reply as it came.
        grounds: what the model was shown.
        limit: tokens that the lines may have together, each counted with the line break behind it.
        count: tokens of a text.
        language: see `in_another_language`.
        truncated: whether the model was stopped; its last line is then half a statement and left out.

    Returns:
        One line or more in the order of what they rest on, each at most `MAX_LINE_LENGTH` characters; of a reply that is too
        long, those first lines that fit. Or `"empty"`, `"uncited"` (no statement of it can be used), `"too long"` (not even its
        first line fits), `"other language"`.
    """
    text = spoken(text)
    most = max(_READ_AT_LEAST, _READ_PER_TOKEN * limit)
    if len(text) > most:
        text, truncated = text[:most], True
    if not _WORDY.search(text):
        return "empty"
    stated = cited_statements(text)
    if truncated:
        stated = stated[:-1]
        if not stated:
            return "too long"
    different: dict[str, tuple[int, Line]] = {}
    for each in stated:
        if (found := grounds.line_for(each)) is not None:
            different.setdefault(found[1].text.casefold(), found)
    if not different:
        return "uncited"
    grounded = list(different.values())
    fitting = grounded[: len(first_that_fit([line for _, line in grounded], limit, count))]
    if not fitting:
        return "too long"
    if in_another_language("\n".join(line.text for _, line in fitting), grounds.texts, language):
        return "other language"
    return tuple(line for _, line in sorted(fitting, key=lambda pair: pair[0]))


def spoken(text: str) -> str:
    """A reply as every store can hold it, without what the model thought aloud before it answered."""
    return _THINKING.sub("", _clean(text))


def cited_statements(text: str) -> list[Cited]:
    """The lines of a reply as statements, without list marks and citations; headings and fences are statements that cite
    nothing. A citation stands at the start or at the end of its line: "[3, 5] ...", "... [#3-5].".
    """
    found = []
    for whole in text.splitlines():
        line = " ".join(whole[:_MOST_IN_LINE].split())
        if marker := _MARKER.match(line):
            line = line[marker.end() :]
        cites: list[tuple[int, int]] = []
        while first := _CITED_FIRST.match(line):
            cites += _ranges(first.group())
            line = line[first.end() :]
        while last := _CITED_LAST.search(line):
            cites += _ranges(last.group())
            line = line[: last.start()]
        # Markup was escaped on the way to the model, which copies it.
        line = shortened(html.unescape(line), MAX_LINE_LENGTH)
        if _WORDY.search(line):
            found.append(Cited(line, tuple(cites)))
    return found


class Grounds:
    """What a model was shown, ready to be compared with what it wrote.

    Args:
        shown: the list, of one line or more.
        told: the instructions, whose repetition is no news.
    """

    def __init__(self, shown: Sequence[Shown], told: str) -> None:
        self._shown = tuple(shown)
        self._terms = [_terms(each.text) for each in shown]
        self._spread = Counter(term for terms in self._terms for term in terms)
        self._digits = {number for each in shown for number in _digits(f"{each.text} {each.speaker} {each.at.date()}")}
        self._told = _terms(told)
        self._speakers = _terms(" ".join(each.speaker for each in shown))

    @property
    def texts(self) -> tuple[str, ...]:
        return tuple(each.text for each in self._shown)

    def line_for(self, stated: Cited) -> tuple[int, Line] | None:
        """The line that a statement comes to, with the place of the newest message that it rests on; None if it is not used."""
        places = [place for place, each in enumerate(self._shown) if stated.names(each.number)]
        text = stated.text
        for place in places:
            text = text.removeprefix(self._shown[place].heading).lstrip()
        terms = _terms(text)
        if not places or not terms or not _digits(text) <= self._digits:
            return None
        own = [term for term in terms if term not in self._spread]
        if 2 * len(self._told.intersection(own)) > len(terms):
            return None
        known = frozenset[str]().union(*(_terms(fact) for fact in facts([text])[0].all))
        rests_on = self._rests_on(terms, known, places)
        chosen = [self._shown[place] for place in rests_on]
        line = Line(
            text=text,
            sources=tuple(dict.fromkeys(source for each in chosen for source in each.sources)),
            at=max(each.at for each in chosen),
            speaker=_together(self._shown[place].speaker for place in places),
        )
        return rests_on[-1], line

    def _rests_on(self, terms: frozenset[str], known: frozenset[str], places: Sequence[int]) -> list[int]:
        """Places of what a statement with these terms, of which those of facts are `known`, rests on if it cites `places`."""
        chosen = set(places)
        covered = frozenset[str]().union(*(self._terms[place] for place in chosen))
        # Who is spoken to says nothing of what is said.
        new = terms - covered - self._speakers
        missing = {term for term in new if term in known or self._spread[term] <= _TELLING}
        while missing:
            shares = [missing & self._terms[place] for place in range(len(self._shown))]
            gain, best = max((len(share) + len(share & known) * _WORDS_THAT_TELL, place) for place, share in enumerate(shares))
            if gain < _WORDS_THAT_TELL:
                break
            chosen.add(best)
            missing -= self._terms[best]
            covered |= self._terms[best]
        here = len(terms & covered)
        elsewhere = sum(term in self._spread for term in new - covered)
        if not here or elsewhere > here:
            return list(range(len(self._shown)))
        return sorted(chosen)


def _terms(text: str) -> frozenset[str]:
    """What a text is about: its index terms without function words."""
    return frozenset(index_terms(text).split()) - stop_words


def _digits(text: str) -> set[str]:
    """The runs of digits in a text, as numbers: "3,500" is one, "2026-03-01" is three."""
    return {run.lstrip("0") or "0" for run in _DIGITS.findall(_GROUPED.sub("", text))}


def _ranges(citation: str) -> list[tuple[int, int]]:
    pairs = [(int(first), int(last or first)) for first, last in _RANGE.findall(citation)]
    return [(min(pair), max(pair)) for pair in pairs]


def _together(speakers: Iterable[str]) -> str:
    """Up to three names as one; "several" for more."""
    names = list(dict.fromkeys(speakers))
    return " and ".join(names) if len(names) <= 3 else "several"


def _clean(text: str) -> str:
    """`text` as every store can hold it: no NUL, no byte-order mark, no lone surrogate."""
    return text.replace("\x00", "").replace("\ufeff", "").encode("utf-8", "replace").decode()
