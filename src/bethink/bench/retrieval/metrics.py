"""How good a ranking is, for one question: pure functions of a ranking and of what was wanted.

A ranking is names, best first; what is wanted is a set of names, of turns or of sessions. A name that is there twice (two
passages of a message, two turns of a session) counts once, where it stands first; it takes the places that it takes. Every
figure is from 0 to 1, and greater is better.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

import msgspec

from bethink.errors import InvalidInput

__all__ = ["Sized", "all_at", "any_at", "ndcg_at", "recall_at", "reciprocal_rank", "within"]


def recall_at(ranked: Sequence[str], wanted: frozenset[str], k: int) -> float:
    """|wanted ∩ first k| / |wanted|: the share of what is wanted among the first `k` (Manning et al., Introduction to
    Information Retrieval, 8.3). LoCoMo's "recall" of evidence is this one.
    """
    _check(wanted, k)
    return len(wanted.intersection(ranked[:k])) / len(wanted)


def any_at(ranked: Sequence[str], wanted: frozenset[str], k: int) -> float:
    """1 if one of what is wanted is among the first `k`, else 0: hit rate, LongMemEval's `recall_any@k`."""
    _check(wanted, k)
    return float(not wanted.isdisjoint(ranked[:k]))


def all_at(ranked: Sequence[str], wanted: frozenset[str], k: int) -> float:
    """1 if everything that is wanted is among the first `k`, else 0: LongMemEval's `recall_all@k`."""
    _check(wanted, k)
    return float(wanted.issubset(ranked[:k]))


def ndcg_at(ranked: Sequence[str], wanted: frozenset[str], k: int) -> float:
    """sum of 1 / log2(1 + place) over the wanted ones among the first `k`, as a share of the same for the best ranking there is
    (Järvelin and Kekäläinen 2002, with relevance 0 or 1).
    """
    _check(wanted, k)
    found = sum(_gain(place) for place in _places(ranked[:k], wanted))
    return found / sum(map(_gain, range(1, min(k, len(wanted)) + 1)))


def reciprocal_rank(ranked: Sequence[str], wanted: frozenset[str]) -> float:
    """1 / place of the first that is wanted, 0 if none is in the ranking (Voorhees 1999). Its mean is the MRR."""
    _check(wanted, 1)
    return next((1 / place for place in _places(ranked, wanted)), 0.0)


class Sized(msgspec.Struct, frozen=True):
    """A name of a ranking with what it takes: the tokens of its line, and of its day's heading where that is not there yet."""

    name: str
    tokens: int
    day: str = ""
    heading: int = 0


def within(ranked: Sequence[Sized], wanted: frozenset[str], budget: int) -> float:
    """The share of what is wanted that fits into a budget of tokens, in lines under one heading for each day.

    Taken by rank: each that still fits goes in, one that does not is passed over. A name that is in already costs again if it
    comes with other words, as a second passage does.

    Args:
        ranked: best first.
    """
    _check(wanted, budget)
    left, taken, days = budget, set[str](), set[str]()
    for each in ranked:
        tokens = each.tokens if each.day in days else each.tokens + each.heading
        if tokens <= left:
            left -= tokens
            taken.add(each.name)
            days.add(each.day)
    return len(wanted & taken) / len(wanted)


def _places(ranked: Sequence[str], wanted: frozenset[str]) -> list[int]:
    """Where the wanted ones stand first, from 1."""
    first: dict[str, int] = {}
    for place, name in enumerate(ranked, 1):
        first.setdefault(name, place)
    return [place for name, place in first.items() if name in wanted]


def _gain(place: int) -> float:
    return 1 / math.log2(1 + place)


def _check(wanted: frozenset[str], k: int) -> None:
    if not wanted:
        raise InvalidInput("wanted", "nothing", "leave out questions without evidence")
    if k < 1:
        raise InvalidInput("k", f"{k}", "use 1 or more")
