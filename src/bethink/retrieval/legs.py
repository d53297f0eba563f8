"""The legs of a score: pure functions from a candidate to numbers from 0 to 1 that mean the same for every query.

    Words      term counts of the best passage, saturated as in BM25; those of the messages around it count as well, damped
    meanings   squared cosines, likewise

A turn of a talk is hard to tell without those around it: who asks "where did you go?" has said nothing of the sea, and the
answer does not repeat the question. So each message has a share of what its neighbours hold. A long message speaks for itself
and has less of it: with as much, the replies around every question would win (BEAM).

Counts of neighbours are added before they are saturated: what a message says itself is not said twice by its neighbours.
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterable, Mapping, Sequence
from typing import TypeAlias

import msgspec

from bethink.retrieval.passages import WINDOW, best_passage
from bethink.storage.base import Candidate, Found
from bethink.values import Namespace

__all__ = ["Around", "Words", "leniency", "meaning", "meanings", "neighbours", "term_weights"]

_NEIGHBOURS = ((-1, 0.5), (-2, 0.2), (1, 0.4), (2, 0.2))
"""Seqs away, and the share of theirs that a message has."""

_PASTED = 32

Around: TypeAlias = Sequence[tuple[int, float]]
"""Positions of neighbours, and the share of each."""


def neighbours(candidates: Sequence[Candidate]) -> list[Around]:
    """Of each candidate, which of the others are at most two messages away in its thread. A record has none."""
    threads: dict[tuple[Namespace, str], dict[int, int]] = {}
    for index, each in enumerate(candidates):
        if each.kind == "message" and each.thread_id is not None:
            threads.setdefault((each.namespace, each.thread_id), {})[each.seq] = index
    around: list[Around] = [()] * len(candidates)
    for thread in threads.values():
        for seq, index in thread.items():
            around[index] = [(thread[seq + step], share) for step, share in _NEIGHBOURS if seq + step in thread]
    return around


# -- words ----------------------------------------------------------------------------------------------------------------


def term_weights(
    found: Found,
    terms: Sequence[str],
    least_units: int,
    *,
    runs: Iterable[tuple[str, str]] = (),
    parts: Mapping[str, float] | None = None,
) -> dict[str, float]:
    """How telling each term is, as a share of the whole query: log(1 + (N - n + 0.5) / (n + 0.5)), the idf of Lucene's BM25. A
    term that occurs nowhere is the most telling of all: what holds all the others does not answer the whole question. But one
    of 32 characters or more that occurs nowhere is no word of the question, rather something pasted.

    Args:
        runs: of the query, in scripts without spaces (`terms.unspaced_runs`); see `_shares_of_run`.
        parts: of terms that count less, which part of their weight they have.
    """
    units = max(found.units, least_units)
    idf = {term: _idf(units, found.frequency.get(term, 0)) for term in terms if term in found.frequency or len(term) < _PASTED}
    less = dict(parts or {})
    for run, rest in runs:
        less |= dict.fromkeys((*run, *_pairs(run)), 0.0)
        for term, share in _shares_of_run(rest, found.frequency).items():
            less[term] = max(share, less[term])
    weights = {term: weight * less.get(term, 1.0) for term, weight in idf.items()}
    total = sum(weights.values())
    return {term: weight / total for term, weight in weights.items()} if total else {}


def leniency(weights: Mapping[str, float]) -> float:
    """The part of a threshold that a query has to pass: 1 for one of up to two words that tell, (2 / n)^¼ for one of n. To hold
    the same share of more words by chance is rarer.

    n is the effective number of terms, 1 / sum of squared weights: 4 for four of equal weight, less where one outweighs them.
    """
    concentration = sum([weight * weight for weight in weights.values()])
    return min(1.0, (2 * concentration) ** 0.25) if concentration else 1.0


_PER_CHARACTER = 0.5
"""Of a word, in scripts without spaces."""
_ALONE, _ENDING = 0.25, 0.25
_HANGUL = re.compile("[\uac00-\ud7a3]+")


def _pairs(run: str) -> list[str]:
    return [run[at : at + 2] for at in range(len(run) - 1)]


def _shares_of_run(run: str, frequency: Mapping[str, int]) -> dict[str, float]:
    """For how much of a word each pair of characters stands, and each character alone.

    Where the words of a run end is not known, and a pair across two of them often occurs nowhere: it would be the most telling
    of all. So each character counts once, through the pairs with it that do occur, and through the others where none does. A
    character alone is weak evidence. Particles cling to Korean words: what follows the last pair that occurs tells little.
    """
    if len(run) == 1:
        return {run: _PER_CHARACTER}
    pairs = _pairs(run)
    last = max((at + 1 for at, pair in enumerate(pairs) if pair in frequency), default=len(run))
    ending = _ENDING if _HANGUL.fullmatch(run) else 1.0
    shares = dict.fromkeys([*run, *pairs], 0.0)
    for at, character in enumerate(run):
        if character == " ":
            continue
        around = [pair for pair in pairs[max(0, at - 1) : at + 1] if " " not in pair]
        holding = [pair for pair in around if pair in frequency]
        part = _PER_CHARACTER * (ending if at > last else 1.0)
        if not holding and character in frequency:
            shares[character] += _ALONE * part
        for pair in holding or around:
            shares[pair] += part / len(holding or around)
        if not around:
            shares[character] += part
    return {term: share for term, share in shares.items() if " " not in term}


def _idf(units: int, holding: int) -> float:
    return math.log(1 + (units - holding + 0.5) / (holding + 0.5))


class Words(msgspec.Struct, frozen=True):
    """The lexical leg for one query.

    Attributes:
        weights: of each term (`term_weights`).
        mean_length: of the units in scope, in terms.
        k1, b: BM25's.
    """

    weights: dict[str, float]
    mean_length: float
    k1: float
    b: float

    def counts(self, candidate: Candidate) -> dict[str, float]:
        """BM25's saturated count of each term in the candidate's best passage: 1 for one occurrence in a passage of mean
        length, less than k1 + 1 for any number.
        """
        held = {term: places for term, places in candidate.positions.items() if term in self.weights}
        if not held:
            return {}
        counts, length = best_passage(held, candidate.length, self._worth)
        return self._saturated(counts, length)

    def _worth(self, counts: Mapping[str, int], length: int) -> float:
        return sum(self.weights[term] * count for term, count in self._saturated(counts, length).items())

    def _saturated(self, counts: Mapping[str, int], length: int) -> dict[str, float]:
        mean = min(self.mean_length, WINDOW)
        damping = self.k1 * (1 - self.b + self.b * length / mean) if mean else self.k1
        return {term: count * (self.k1 + 1) / (count + damping) for term, count in counts.items()}

    def shares(self, own: Mapping[str, float], around: Iterable[tuple[Mapping[str, float], float]]) -> tuple[float, float]:
        """What a candidate's own counts come to, and what those of its neighbours add, of each a part: together from 0 to 1.
        Each term has half of its weight for a count of 1, two thirds for a count of 2.
        """
        weights = self.weights
        alone = sum([weights[term] * count / (1 + count) for term, count in own.items()])
        together = dict(own)
        for counts, part in around:
            for term, count in counts.items():
                together[term] = together.get(term, 0.0) + part * count
        return alone, sum([weights[term] * count / (1 + count) for term, count in together.items()]) - alone


# -- meanings -------------------------------------------------------------------------------------------------------------


def meaning(cosine: float, alike: float) -> float:
    """The square of a cosine, 1 from `alike` on. Squared, since half of a cosine is chance; opposites are unrelated, 0."""
    return min(1.0, (max(0.0, cosine) / alike) ** 2)


def meanings(own: float, around: Iterable[tuple[float, float]]) -> tuple[float, float]:
    """A candidate's own `meaning`, and what those of its neighbours add, of each a part: together at most 1."""
    return own, min(1.0 - own, sum([near * part for near, part in around]))
