"""What the answer in a statement may look like, and its short form for comparison.

thing    "hiking", "the beach", not "it", "your idea"     place    "Lisbon", "the Netherlands", not "a small town"
name     up to three words                                proper   the same, with a capital
choice   whatever the rule's own pattern allowed          deed     what somebody did, does or decided
words    any words that can be understood alone
"""

from __future__ import annotations

import re
import unicodedata

import msgspec

from bethink.insights import english
from bethink.insights.rule import Shape

__all__ = ["Value", "key", "strip_date", "values"]

_LONGEST = {"thing": 7, "place": 4, "name": 3, "proper": 4, "choice": 8, "deed": 16, "words": 16}
_LOOSE_END = re.compile(r"(?:[\s,]+(?:and|or|with|to|of|for|in|on|at|the|a|an|my|our|but))+$", re.IGNORECASE)
_ITEM = re.compile(r"\s*,\s*(?:and |or )?|\s+(?:and|or|&)\s+")
_EDGES = " \t,.;:!?\"'*_()[]-\u2013\u2014\u2026~"
_DAY = "(?:mon|tues?|wed(?:nes)?|thu(?:rs)?|fri|sat(?:ur)?|sun)(?:day)?"
_MONTH = "(?:january|february|march|april|may|june|july|august|september|october|november|december)"
_UNIT = "(?:minute|hour|day|night|week|weekend|month|year|decade|while)s?"
_PART = "(?: (?:morning|afternoon|evening|night))?"
_DATE_WORDS = re.compile(
    r"\s*,?\s*\b(?:recently"
    rf"|(?:on |later |earlier )?(?:last|next|this|that) (?:{_UNIT}|weekend|{_DAY}|night|summer|winter|spring|fall|autumn)"
    rf"|yesterday{_PART}|today|tonight|tomorrow{_PART}|this (?:morning|afternoon|evening)"
    r"|the day (?:before yesterday|after tomorrow)|the other (?:day|night|week|weekend|morning|evening)|some time ago|ages ago"
    rf"|(?:about |around |almost |nearly |over |just )?{english.COUNT} {_UNIT} (?:ago|back)"
    rf"|in {english.COUNT} {_UNIT}(?: time)?|on {_DAY}"
    rf"|(?:in|since|on|until|till|from) (?:early |late |mid-?)?{_MONTH}(?: \d{{1,2}}(?:st|nd|rd|th)?\b)?(?:,? \d{{4}})?"
    rf"|on (?:the )?\d{{1,2}}(?:st|nd|rd|th)?(?: of)? {_MONTH}(?: \d{{4}})?|(?:in|since|until) (?:19|20)\d\d)\b",
    re.IGNORECASE,
)


class Value(msgspec.Struct, frozen=True):
    """An answer: as it was said, and in its short form."""

    text: str
    key: str


def key(words: str, *, deed: bool = False) -> str:
    """The short form: folded case, without articles (of a deed: also without prepositions), at most 8 words.

    >>> key("the Night Train")
    'night train'
    """
    left_out = english.KEYLESS if deed else english.DETERMINERS
    folded = unicodedata.normalize("NFKC", words).casefold()
    split = [word.strip(_EDGES) for word in folded.split()]
    kept = [word for word in split if word and word not in left_out]
    return " ".join((kept or [word for word in split if word])[:8])


def strip_date(words: str) -> str:
    """`words` without the time expressions in them, which mean something else when they are read later."""
    return _LOOSE_END.sub("", " ".join(_DATE_WORDS.sub(" ", words).split()).strip(_EDGES))


def values(words: str, shape: Shape, *, rest: str = "", many: bool = False, lowercase: bool = False) -> list[Value]:
    """The answers in `words`; none where they do not have the shape.

    Args:
        rest: what follows in the sentence: a list may go on there after a comma.
        many: "peanuts and shellfish" is two answers.
        lowercase: the writer uses no capitals, so a place or name need not have one.
    """
    words = _cut(english.TRAILING.sub("", words), shape)
    found = _items(words, rest) if many else [words.strip(_EDGES)]
    kept = [word for word in found if _fits(word, shape, lowercase)]
    # A list is taken whole or, where something in it is no such thing, only its beginning.
    if not kept or kept[0] != found[0]:
        return []
    return [Value(word, key(word, deed=shape == "deed")) for word in kept]


def _cut(words: str, shape: Shape) -> str:
    if shape == "thing":
        return _LOOSE_END.sub("", english.CUT_THING.sub("", strip_date(words)))
    if shape in ("place", "proper", "name"):
        return english.TRAILING.sub("", english.CUT_PLACE.sub("", words))
    if shape == "deed":
        return _LOOSE_END.sub("", english.AND_IT.sub("", english.CUT_DEED.sub("", words)))
    return words


def _items(words: str, rest: str) -> list[str]:
    if words.casefold() in english.LISTS_THAT_ARE_ONE:
        return [words]
    items = [item.strip(_EDGES) for item in _ITEM.split(words)]
    if len(items) > 1 and not all(len(item.split()) <= 3 for item in items):
        # "hiking and going out every weekend with friends": the first is sure.
        items = items[:1]
    continued = _continued(rest) if len(items) == 1 else []
    return [item for item in [*items, *continued] if item]


def _continued(rest: str) -> list[str]:
    """The rest of a list that the clause was cut in: "(hiking,) jazz, and cooking", "(peanuts,) eggs and shellfish"."""
    item = r"(?!(?:and|or) )[\w'-]+(?: (?!(?:and|or) )[\w'-]+)?"
    listed = re.match(rf"((?:{item}, )*(?:{item} )?)(?:and|or) ({item})$", rest)
    if listed is None:
        return []
    items = [*(item.strip() for item in listed[1].split(",")), listed[2]]
    return [] if any(english.FIRST_PERSON.search(item) for item in items) else items


def _fits(words: str, shape: Shape, lowercase: bool) -> bool:
    if not words or len(words.split()) > _LONGEST[shape] or not any(character.isalnum() for character in words):
        return False
    if words.casefold() in english.DETERMINERS:
        return False
    if shape == "thing":
        return (
            not english.NO_THING.match(words)
            and not english.NO_END.search(words)
            and (not words.casefold().startswith("the ") or words[4:5].isupper() or bool(english.GENERIC_THE.match(words)))
        )
    if shape == "deed":
        undated = strip_date(words)
        return not (english.NO_DEED.match(words) or english.POINTING.search(undated) or english.EMPTY.match(undated))
    if shape == "choice":
        return True
    if shape == "words":
        return not english.POINTING.search(words)
    first, *others = words.split()
    if shape == "place":
        capital = (words[4:5] if first.casefold() == "the" and others else words[:1]).isupper()
        return capital or (lowercase and first.casefold() not in english.NO_PLACE and len(others) <= 1)
    if any(word.casefold() in english.NOT_NAMES for word in (first, *others)):
        return False
    return shape == "name" or first[:1].isupper()
