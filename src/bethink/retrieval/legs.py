"""The legs of a score, each for all candidates at once: arrays of numbers from 0 to 1 that mean the same for every query.

    Words      term counts of the best passage, saturated as in BM25; those of the messages around it count as well, damped
    meanings   squared cosines, likewise
    answers    likeness token by token above what is chance, likewise

A turn of a talk is hard to tell without those around it: who asks "where did you go?" has said nothing of the sea, and the
answer does not repeat the question. So each message has a share of what its neighbours hold. A long message speaks for itself
and has less of it: with as much, the replies around every question would win (BEAM).

Counts of neighbours are added before they are saturated: what a message says itself is not said twice by its neighbours.
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, TypeAlias

import msgspec
import numpy as np
from numpy.typing import NDArray

from bethink.retrieval.maxsim import maxsim
from bethink.retrieval.passages import WHOLE, WINDOW, best_passage
from bethink.storage.base import Candidate, Found
from bethink.values import Namespace

if TYPE_CHECKING:
    from bethink.retrieval.ranker import Ranker

__all__ = ["Around", "Column", "Legs", "Words", "answers", "legs_of", "leniency", "meanings", "neighbours", "term_weights"]

Column: TypeAlias = NDArray[np.float64]
"""A number for each candidate."""

Around: TypeAlias = NDArray[np.intp]
"""For each candidate the rows of its four neighbours; one past the last row where there is none."""

_NEIGHBOURS = ((-1, 0.5), (-2, 0.2), (1, 0.4), (2, 0.2))
"""Seqs away, and the share of theirs that a message has."""
_STEPS = tuple(step for step, _ in _NEIGHBOURS)
_SHARES = tuple(share for _, share in _NEIGHBOURS)

_THREAD_BITS = 34
"""Above those of a seq."""
_APART = 8

_PASTED = 32


def neighbours(candidates: Sequence[Candidate], rows: Sequence[int] | None = None) -> Around:
    """Of each candidate, or of those in some rows alone, which of the others are at most two messages away in its thread. A
    record has none.
    """
    nobody = len(candidates)
    if not nobody:
        return np.zeros((0, len(_STEPS)), dtype=np.intp)
    threads: dict[tuple[Namespace, str | None], int] = {}
    # Messages of a thread are as far apart as their seqs, and out of reach of all else.
    places = np.array(
        [
            (threads.setdefault((each.namespace, each.thread_id), len(threads)) << _THREAD_BITS) + each.seq
            if each.kind == "message"
            else -_APART * (row + 1)
            for row, each in enumerate(candidates)
        ],
        dtype=np.int64,
    )
    order = np.argsort(places, kind="stable")
    ordered = places[order]
    wanted = (places if rows is None else places[list(rows)])[:, np.newaxis] + np.array(_STEPS)
    found = np.minimum(np.searchsorted(ordered, wanted), nobody - 1)
    return np.where(ordered[found] == wanted, order[found], nobody)


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

    def counts(self, candidates: Sequence[Candidate]) -> NDArray[np.float64]:
        """BM25's saturated count of each term (columns, as in `weights`) in the best passage of each candidate (rows): 1 for
        one occurrence in a passage of mean length, less than k1 + 1 for any number. A row of zeros follows the last.
        """
        column = {term: number for number, term in enumerate(self.weights)}
        cells: list[int] = []
        counts: list[int] = []
        lengths = [each.length for each in candidates] + [0]
        for row, candidate in enumerate(candidates):
            positions: Mapping[str, Sequence[int]] = candidate.positions
            if lengths[row] > WHOLE:
                positions, lengths[row] = best_passage(positions, lengths[row], self._worth)
            first = row * len(column)
            for term, places in positions.items():
                if term in column:
                    cells.append(first + column[term])
                    counts.append(len(places))
        table = np.zeros((len(lengths), len(column)))
        table.ravel()[cells] = counts
        return self._saturated(table, np.array(lengths, dtype=np.float64)[:, np.newaxis])

    def _worth(self, positions: Mapping[str, Sequence[int]], length: int) -> float:
        """Of a passage."""
        weights, most = self.weights, self.k1 + 1
        damping = self.k1 * (1 - self.b + self.b * length / self._mean)
        counts = [(term, len(places)) for term, places in positions.items() if term in weights]
        return sum([weights[term] * count * most / (count + damping) for term, count in counts])

    def _saturated(self, counts: NDArray[np.float64], lengths: NDArray[np.float64]) -> NDArray[np.float64]:
        damped = counts + self.k1 * (1 - self.b + self.b * lengths / self._mean)
        return np.divide(counts * (self.k1 + 1), damped, out=np.zeros_like(counts), where=counts > 0)

    @property
    def _mean(self) -> float:
        """Of passages."""
        return min(self.mean_length, WINDOW) or 1.0

    def shares(self, counts: NDArray[np.float64], around: Around, part: Column) -> tuple[Column, Column]:
        """What each candidate's own counts come to, and what those of its neighbours add, of each a part: together from 0 to 1.
        Each term has half of its weight for a count of 1, two thirds for a count of 2.
        """
        weights = np.array(list(self.weights.values()))
        own = counts[: len(around)]
        lent = _lent(counts, around) * part[:, np.newaxis]
        # n / (1 + n) for a count of n; for n and more, so much above it.
        alone = own / (1 + own)
        added = lent / ((1 + own) * (1 + own + lent))
        return (alone * weights).sum(axis=1), (added * weights).sum(axis=1)


def _lent(of: NDArray[np.float64], around: Around) -> NDArray[np.float64]:
    """What the neighbours of each have, each by its share."""
    lent = _SHARES[0] * of[around[:, 0]]
    for number, share in enumerate(_SHARES[1:], 1):
        lent += share * of[around[:, number]]
    return lent


# -- meanings -------------------------------------------------------------------------------------------------------------


def meanings(candidates: Sequence[Candidate], alike: float, around: Around, part: Column) -> tuple[Column, Column]:
    """What each candidate's own cosine comes to, and what those of its neighbours add, of each a part: together at most 1. A
    cosine counts by its square, 1 from `alike` on: half of a cosine is chance. Opposites are unrelated, 0. Who has no vector
    yet has 0, and lends nothing.
    """
    cosines = np.array([*(each.cosine or 0.0 for each in candidates), 0.0])
    meant = np.minimum(1.0, (np.maximum(0.0, cosines) / alike) ** 2)
    own = meant[: len(around)]
    return own, np.minimum(1.0 - own, _lent(meant, around) * part)


# -- tokens ---------------------------------------------------------------------------------------------------------------

_ORDINARY = 20
"""Tokens of a text that the chance of likeness is told of."""


def answers(found: Found, rows: Sequence[int], query: NDArray[np.int8], ranker: Ranker) -> Column:
    """What some candidates, in the order given, have for answering the query token by token: how far their likeness (`maxsim`)
    is above what is chance in a text of their length, and a share of the same of their neighbours. 0 where there are no
    vectors of tokens, or they are not like it at all.

    The longer a text, the nearer by chance is the nearest of its tokens: without that, long replies win (BEAM).
    """
    told = (*found.candidates, *found.beside)
    around = neighbours(told, rows)
    wanted = sorted({*rows, *around.ravel().tolist()} - {len(told)})
    there = [row for row in wanted if told[row].tokens is not None]
    above = np.zeros(len(told) + 1)
    if there:
        texts = [told[row].tokens or b"" for row in there]
        sizes = np.array([2 * len(text) // query.shape[1] for text in texts], dtype=np.float64)
        chance = ranker.chance + ranker.chance_growth * np.log(np.maximum(_SHORTEST, sizes) / _ORDINARY)
        above[there] = np.maximum(0.0, maxsim(query, texts) - chance)
    chosen = np.array(rows, dtype=np.intp)
    lengths = np.array([told[row].length for row in rows], dtype=np.float64)
    damping = np.minimum(1.0, ranker.damping / np.maximum(1.0, lengths))
    return above[chosen] + ranker.token_context * damping * _lent(above, around)


_SHORTEST = 4.0


# -- both -----------------------------------------------------------------------------------------------------------------


class Legs(msgspec.Struct, frozen=True):
    """Of each candidate its lexical and its dense part, and what its neighbours add to both.

    Attributes:
        embedded: who has a vector; the others have 0 as `dense`.
        lengths: in terms.
    """

    lexical: Column
    dense: Column
    embedded: NDArray[np.bool_]
    context: Column
    lengths: Column


def legs_of(found: Found, weights: dict[str, float], ranker: Ranker) -> Legs:
    """Of the candidates of an answer.

    Args:
        weights: of the query's terms (`term_weights`).
    """
    candidates = found.candidates
    # Those beside come last: they are neighbours of candidates and not ranked themselves.
    told = (*candidates, *found.beside)
    around = neighbours(told)[: len(candidates)]
    lengths = np.array([each.length for each in candidates], dtype=np.float64)
    damping = np.minimum(1.0, ranker.damping / np.maximum(1.0, lengths))
    words = Words(weights, found.mean_length, ranker.k1, ranker.b)
    lexical, context = words.shares(words.counts(told), around, ranker.context * damping)
    dense = np.zeros(len(candidates))
    embedded = np.array([each.cosine is not None for each in candidates], dtype=bool)
    if embedded.any():
        near, more = meanings(told, ranker.alike, around, ranker.dense_context * damping)
        weight = np.where(embedded, ranker.dense, 0.0)
        lexical, context, dense = (1 - weight) * lexical, (1 - weight) * context + weight * more, weight * near
    return Legs(lexical, dense, embedded, context, lengths)
