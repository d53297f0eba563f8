"""Made-up conversation: the same for the same seed, of any length, plain enough to be searched and summed up like real talk."""

from __future__ import annotations

import random
from collections.abc import Iterator
from datetime import datetime, timedelta, timezone

from bethink.messages import Message

__all__ = ["START", "text_of", "turns"]

START = datetime(2025, 3, 1, 9, 0, tzinfo=timezone.utc)

_SYLLABLES = (
    "ba",
    "con",
    "der",
    "fi",
    "gra",
    "hol",
    "in",
    "jo",
    "kan",
    "lu",
    "mer",
    "nop",
    "or",
    "pel",
    "qua",
    "ri",
    "sten",
    "tor",
    "ul",
    "ven",
)
_SMALL = (
    "the",
    "and",
    "to",
    "of",
    "a",
    "in",
    "that",
    "it",
    "for",
    "was",
    "on",
    "with",
    "as",
    "at",
    "this",
    "but",
    "from",
    "we",
)
_USER = (
    "I moved to {place} {when}.",
    "I don't like {thing} any more.",
    "My sister works for {place}.",
    "We decided to take the {thing} on {day}.",
    "I prefer {thing} to {other}.",
    "Remember that the {thing} costs {number} euros.",
    "I'm allergic to {allergen}.",
)
_DAYS = ("Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday", "Sunday")
_VOCABULARY = 4_000
_PLACES, _THINGS, _ALLERGENS = 24, 120, 5
"""Of how many places and things a user speaks: people come back to what they have, and nobody has a hundred allergies."""


def _word(rank: int) -> str:
    """The word of a rank: every rank has one, and common words (low ranks) are short."""
    word = ""
    rank += 1
    while rank:
        rank, syllable = divmod(rank, len(_SYLLABLES))
        word += _SYLLABLES[syllable]
    return word


def _words(draw: random.Random, count: int) -> list[str]:
    # Ranks fall off as in natural text, with small words between.
    ranks = (int(_VOCABULARY ** draw.random()) - 1 for _ in range(count))
    return [draw.choice(_SMALL) if draw.random() < 0.45 else _word(rank) for rank in ranks]


def text_of(seed: int, size: int) -> str:
    """A text of exactly `size` characters: sentences of 6 to 14 words."""
    draw = random.Random(seed)
    text = ""
    while len(text) < size:
        text += " ".join(_words(draw, draw.randint(6, 14))).capitalize() + ". "
    return text[: size - 1].rstrip() + "." * (size - len(text[: size - 1].rstrip()))


def turns(count: int, *, seed: int = 0) -> Iterator[Message]:
    """A conversation of `count` messages, user and assistant by turns, two minutes apart. One user turn in eight says
    something about the user; the others are small talk of 10 to 50 words. What is said of the user comes back again and again.
    """
    draw = random.Random(seed)
    for number in range(count):
        sentences = [" ".join(_words(draw, draw.randint(6, 14))).capitalize() + "." for _ in range(draw.randint(1, 4))]
        if number % 2 == 0 and draw.random() < 0.125:
            facts = {
                "place": _word(_VOCABULARY + draw.randrange(_PLACES)).capitalize(),
                "thing": _word(draw.randrange(_THINGS)),
                "other": _word(draw.randrange(_THINGS)),
                "allergen": _word(_VOCABULARY - 1 - draw.randrange(_ALLERGENS)),
                "when": f"in {draw.randint(1990, 2024)}",
                "day": draw.choice(_DAYS),
                "number": draw.randint(2, 900),
            }
            sentences.insert(0, draw.choice(_USER).format(**facts))
        yield Message(
            role="user" if number % 2 == 0 else "assistant",
            content=" ".join(sentences),
            created_at=START + timedelta(minutes=2 * number),
        )
