"""A clause of the first person as one about its speaker: "I teach at a school" is "teaches at a school".

Only the verb is turned, and only where it shows the person. What somebody has ("my son plays chess") stays his, as "my" does in
what rules draw.
"""

from __future__ import annotations

import re
from typing import Literal, TypeAlias

__all__ = ["TENSES", "Tense", "tense_of", "turned"]

Tense: TypeAlias = Literal["past", "other", ""]
"""What the verb of a clause says; "" where the subject is neither "I" nor "we". A form that may be either is taken as past."""

TENSES: tuple[Tense, ...] = ("past", "other", "")

_SUBJECT = re.compile(
    r"(?P<who>I|[Ww]e)\s+(?P<adverbs>(?:(?:\w+ly|always|also|often|never|still|once|even|sometimes|now|just)\s+)*)"
)
_FORMS = {
    "am": "is", "are": "is", "was": "was", "were": "was", "have": "has", "do": "does", "go": "goes",
    "wanna": "wants to", "gotta": "has to",
}  # fmt: skip
_UNTURNED_FORMS = "can could will would shall should may might must ought no not"
_UNTURNED = frozenset(_UNTURNED_FORMS.split())
_PAST_FORMS = """
was were had did got went came took made gave saw said found left felt kept lost won met ran sat told thought brought bought
built began broke caught chose drew drove ate fell fought flew forgot forgave froze grew held hid hung knew led lent lay lit
meant paid rode rang rose sold sent shook shot showed sang slept spoke spent stood stole stuck swam taught tore threw understood
woke wore wrote became heard dug dealt bent blew bit drank learnt dreamt used put cut hit let set read hurt quit shut spread
"""
_PAST = frozenset(_PAST_FORMS.split())
_HISSING = ("s", "sh", "ch", "x", "z", "o")


def turned(clause: str) -> str:
    """`clause`, whose contractions are written out, without its "I" or "we".

    >>> turned("I always carry a pen"), turned("we were late"), turned("My son plays chess")
    ('always carries a pen', 'was late', 'my son plays chess')
    """
    subject = _SUBJECT.match(clause)
    if subject is None:
        return f"{clause[:1].lower()}{clause[1:]}" if clause.startswith(("My ", "Our ")) else clause
    verb, space, rest = clause[subject.end() :].partition(" ")
    return f"{subject['adverbs']}{_third(verb)}{space}{rest}"


def tense_of(clause: str) -> Tense:
    """Of a clause that begins with "I" or "we", whether it is about the past; "" of any other."""
    subject = _SUBJECT.match(clause)
    if subject is None:
        return ""
    verb = clause[subject.end() :].partition(" ")[0].casefold()
    return "past" if _is_past(verb) else "other"


def _is_past(verb: str) -> bool:
    return verb in _PAST or (verb.endswith("ed") and len(verb) > 4 and verb != "need")


def _third(verb: str) -> str:
    plain = verb.casefold()
    if plain in _FORMS:
        return _FORMS[plain]
    if plain in _UNTURNED or _is_past(plain) or not plain.isalpha():
        return verb
    if plain.endswith("y") and plain[-2:-1] not in "aeiou":
        return f"{verb[:-1]}ies"
    return f"{verb}es" if plain.endswith(_HISSING) else f"{verb}s"
