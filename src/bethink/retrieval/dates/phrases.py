"""Times with what belongs to them: a part, a distance, a relation, a second time.

A phrase is read from the inside out. The forms find the words of a time ("May 2023"); what stands before them is a part of it
or a distance from it (`parts`), and before that the relation ("since", "around"). Two of them may be one range ("between May
and July"), or the second says on which day the first was said ("last week, as mentioned on November 6, 2023").
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from datetime import date, timedelta
from functools import lru_cache
from typing import Literal, TypeAlias

import msgspec

from bethink.retrieval.dates import stretches
from bethink.retrieval.dates.forms import Form, every_cue, forms
from bethink.retrieval.dates.parts import parts
from bethink.retrieval.dates.readers import Readings
from bethink.retrieval.dates.stretches import Stretch

__all__ = ["LEADS", "RELATIONS", "Phrase", "Relation", "phrases_in"]

Relation: TypeAlias = Literal["within", "before", "until", "since", "after", "around"]
"""How what is asked for stands to a time: in it, before its start, until its end, since its start, after its end, near it."""


_WORD = re.compile(r"[^\W_]+")


class _Atom(msgspec.Struct, frozen=True):
    """The words of a time alone."""

    form: Form
    match: re.Match[str]
    readings: Readings

    @property
    def start(self) -> int:
        return self.match.start()

    @property
    def end(self) -> int:
        return self.match.end()


class Phrase(msgspec.Struct, frozen=True):
    """An atom with what stands before it: its relation from `start` on, a part of it or a distance from it from `core` on.

    Attributes:
        lead: the word before the core, one of `LEADS` or `RELATIONS`; "" where there is none.
    """

    atom: _Atom
    readings: Readings
    relation: Relation
    lead: str
    start: int
    core: int
    end: int


def phrases_in(folded: str, words: frozenset[str], today: date) -> Iterator[Phrase]:
    """The times of a folded text, in order and without overlaps, as they are meant today. `words` are all words of the text."""
    kept = _without_overlaps(folded, [_phrase(folded, atom) for atom in _atoms(folded, words, today)])
    at = 0
    while at < len(kept):
        one = kept[at]
        at += 1
        if at < len(kept):
            other = kept[at]
            joined = _range(folded, one, other) if _is_range(folded, one, other) else None
            if joined is not None:
                one = joined
                at += 1
            elif one.atom.form.relative and not other.atom.form.relative and _TOLD_ON.fullmatch(folded, one.end, other.core):
                one = _phrase(folded, _reread(one.atom, other.readings[0].first))
        yield one


def _atoms(folded: str, words: frozenset[str], today: date) -> Iterator[_Atom]:
    unspaced = not folded.isascii()
    if not unspaced and every_cue().isdisjoint(words):
        return
    for form in forms():
        if form.cues.isdisjoint(words) if form.cues else not unspaced:
            continue
        for match in form.matches(folded):
            try:
                readings = form.read(match, today)
            except (ValueError, OverflowError):  # 31 June; 900 years ago in the year 800
                continue
            if readings:
                yield _Atom(form, match, readings)


def _reread(atom: _Atom, today: date, *, ahead: int = 0) -> _Atom:
    """The atom as it was meant on another day, or so many days after it; as it is where that leaves the calendar."""
    try:
        readings = atom.form.read(atom.match, today + timedelta(days=ahead))
        return msgspec.structs.replace(atom, readings=readings or atom.readings)
    except (ValueError, OverflowError):
        return atom


def _without_overlaps(folded: str, found: list[Phrase]) -> list[Phrase]:
    """The phrases that stand, in order: of two that share words the one that begins first, then the longer. A weak one stands
    with a word before it that makes it a time, or beside another: "from May to March", "in April and May".
    """
    kept: list[Phrase] = []
    for phrase in sorted(found, key=lambda phrase: (phrase.start, -phrase.end, phrase.atom.start)):
        before = kept[-1] if kept else None
        if before is not None and phrase.start < before.end:
            if phrase.atom.start < before.end:
                continue
            # What it has on its left belongs to the one before.
            phrase = Phrase(phrase.atom, phrase.atom.readings, "within", "", phrase.atom.start, phrase.atom.start, phrase.end)
        if _stands(folded, phrase):
            kept.append(phrase)
        elif before is not None and _joins(folded, before, phrase):
            kept.append(msgspec.structs.replace(phrase, relation=before.relation))
    return kept


def _stands(folded: str, phrase: Phrase) -> bool:
    weak = phrase.atom.form.weak
    if not weak or phrase.core < phrase.atom.start or phrase.lead in LEADS[weak]:
        return True
    return weak == "year" and not _WORD.search(folded, 0, phrase.start) and not _WORD.search(folded, phrase.end)


def _joins(folded: str, before: Phrase, phrase: Phrase) -> bool:
    return bool(_LIST.fullmatch(folded, before.end, phrase.core)) and before.atom.form.weak in ("", phrase.atom.form.weak)


# -- what stands before a time --------------------------------------------------------------------------------------------

_WINDOW = 48
"""Characters before a time in which the words that belong to it are looked for."""

RELATIONS: dict[str, Relation] = {
    "before": "before", "prior to": "before", "until": "until", "till": "until", "by": "until", "since": "since",
    "after": "after", "following": "after", "around": "around", "roughly": "around", "circa": "around",
}  # fmt: skip
_COMMON = frozenset(
    ("since", "until", "till", "before", "prior to", "after", "between", "during", "through", "throughout", "around")
)
_OWNERS = frozenset(("the", "my", "our", "his", "her", "their", "your"))
LEADS: dict[str, frozenset[str]] = {
    "month": _COMMON | {"in", "over", "as of", "back in"},
    "foreign": frozenset(("im", "en", "em", "w", "в", "во", "in", "no", "seit", "desde", "depuis")),
    "year": _COMMON | _OWNERS | {"in", "from", "as of", "back in", "circa", "year", "en", "em", "w", "в"},
    "season": _COMMON | {"in", "over", "for"},
    "fall": frozenset(("in", "since")),
    "holiday": _COMMON | {"on", "at", "over", "by", "for"},
    "nth": frozenset(("on", "since", "until", "till", "before", "after", "by")),
    "weekend": _COMMON | {"over", "on", "at", "for"},
}  # fmt: skip
"""Which words make a time of a weak form; `forms` says why it is weak."""


@lru_cache(maxsize=1)
def _lead() -> re.Pattern[str]:
    """One word of `LEADS` or `RELATIONS` right before a time."""
    leads = sorted({*RELATIONS, *(lead for some in LEADS.values() for lead in some)}, key=lambda lead: (-len(lead), lead))
    joined = "|".join(leads).replace(" ", r"\s+")
    return re.compile(rf"(?<!\w)(?P<lead>{joined})(?:\s+the)?(?:\s+year)?\s+$")


def _phrase(folded: str, atom: _Atom) -> Phrase:
    """An atom with the part of it, or the distance from it, that is meant, and with its relation."""
    core, readings = atom.start, atom.readings
    for pattern, apply in parts():
        match = pattern.search(folded, max(0, core - _WINDOW), core)
        if match is not None and (applied := _applied(apply, match, readings)):
            core, readings = match.start(), applied
    match = _lead().search(folded, max(0, core - _WINDOW), core)
    if match is None:
        return Phrase(atom, readings, "within", "", core, core, atom.end)
    lead = " ".join(match["lead"].split())
    return Phrase(atom, readings, RELATIONS.get(lead, "within"), lead, match.start(), core, atom.end)


def _applied(apply: Callable[[re.Match[str], Stretch], Stretch | None], match: re.Match[str], readings: Readings) -> Readings:
    try:
        return tuple(made for reading in readings if (made := apply(match, reading)) is not None)
    except (ValueError, OverflowError):
        return ()


# -- two times ------------------------------------------------------------------------------------------------------------

_LIST = re.compile(r"\s*(?:,|,?\s+(?:and|or|to|until|till|through)|-|–)\s*(?:in\s+)?")
_TO = re.compile(r"\s+(?:to|until|till|through)\s+(?:the\s+)?|\s*[-–]\s*")
_AND = re.compile(r"\s+and\s+(?:the\s+)?")
_TOLD_ON = re.compile(r"\s*,?\s*(?:as\s+(?:mentioned|said|told|shared|discussed|described)\s+)?(?:on|in)\s+(?:the\s+)?")


def _is_range(folded: str, one: Phrase, other: Phrase) -> bool:
    """Whether two times are the ends of one: "between May and July", "from 3 May to 9 June"."""
    if one.lead == "between":
        return bool(_AND.fullmatch(folded, one.end, other.core))
    return one.relation == "within" and bool(_TO.fullmatch(folded, one.end, other.core))


def _range(folded: str, one: Phrase, other: Phrase) -> Phrase | None:
    """From the start of one to the end of the other; where only one of them names its year, the other is near it."""
    if one.readings[0].yearly:
        one = _phrase(folded, _reread(one.atom, other.readings[0].first))
    elif other.readings[0].yearly:
        other = _phrase(folded, _reread(other.atom, one.readings[0].first, ahead=364))
    first, after = one.readings[0], other.readings[0]
    if first.first >= after.after:
        return None
    whole = stretches.over(first.first, after.after)
    readings = (msgspec.structs.replace(whole, yearly=first.yearly and after.yearly),)
    return Phrase(one.atom, readings, "within", one.lead, one.start, one.core, other.end)
