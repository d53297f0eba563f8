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
from collections.abc import Mapping, Sequence
from typing import TypeAlias

import msgspec

from bethink.retrieval.passages import WINDOW, best_passage
from bethink.storage.base import Candidate, Found
from bethink.values import Namespace

__all__ = ["NEIGHBOURS", "Words", "meaning", "meanings", "place_of", "term_weights"]

NEIGHBOURS = ((-1, 0.5), (-2, 0.3), (1, 0.3), (2, 0.15))
"""Seqs away, and the share of theirs that a message has."""

Place: TypeAlias = tuple[Namespace, str, int]


def place_of(candidate: Candidate) -> Place | None:
    """Where a message stands; None for a record, which has no neighbours."""
    if candidate.kind != "message" or candidate.thread_id is None:
        return None
    return candidate.namespace, candidate.thread_id, candidate.seq


def _around(place: Place | None) -> Sequence[tuple[Place, float]]:
    if place is None:
        return ()
    namespace, thread, seq = place
    return [((namespace, thread, seq + step), share) for step, share in NEIGHBOURS]


# -- words ----------------------------------------------------------------------------------------------------------------


def term_weights(found: Found, terms: Sequence[str], least_units: int) -> dict[str, float]:
    """How telling each term is, as a share of the whole query: log(1 + (N - n + 0.5) / (n + 0.5)), the idf of Lucene's BM25. A
    term that occurs nowhere is the most telling of all: what holds all the others does not answer the whole question.
    """
    units = max(found.units, least_units)
    idf = {term: _idf(units, found.frequency.get(term, 0)) for term in terms}
    total = sum(idf.values())
    return {term: weight / total for term, weight in idf.items()}


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
        if not candidate.positions:
            return {}
        counts, length = best_passage(candidate.positions, candidate.length, self._worth)
        return self._saturated(counts, length)

    def _worth(self, counts: Mapping[str, int], length: int) -> float:
        return sum(self.weights.get(term, 0.0) * count for term, count in self._saturated(counts, length).items())

    def _saturated(self, counts: Mapping[str, int], length: int) -> dict[str, float]:
        mean = min(self.mean_length, WINDOW)
        damping = self.k1 * (1 - self.b + self.b * length / mean) if mean else self.k1
        return {term: count * (self.k1 + 1) / (count + damping) for term, count in counts.items()}

    def alone(self, own: Mapping[str, float]) -> float:
        """What a candidate's own counts come to, from 0 to 1: each term has half of its weight for a count of 1."""
        return sum(weight * (y := own[term]) / (1 + y) for term, weight in self.weights.items() if term in own)

    def together(
        self, place: Place | None, own: Mapping[str, float], at: Mapping[Place, Mapping[str, float]], share: float
    ) -> float:
        """The same with the counts of its neighbours, a `share` of them."""
        around = [(at[near], part * share) for near, part in _around(place) if at.get(near)]
        if not around:
            return self.alone(own)
        total = 0.0
        for term, weight in self.weights.items():
            count = own.get(term, 0.0) + sum([counts[term] * part for counts, part in around if term in counts])
            total += weight * count / (1 + count)
        return total


# -- meanings -------------------------------------------------------------------------------------------------------------


def meaning(cosine: float, alike: float) -> float:
    """The square of a cosine, 1 from `alike` on. Squared, since half of a cosine is chance; opposites are unrelated, 0."""
    return min(1.0, (max(0.0, cosine) / alike) ** 2)


def meanings(place: Place | None, own: float, at: Mapping[Place, float], share: float) -> float:
    """A candidate's `meaning` with those of its neighbours, a `share` of them; at most 1."""
    return min(1.0, own + share * sum([at[near] * part for near, part in _around(place) if near in at]))
