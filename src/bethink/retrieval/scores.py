"""What each candidate comes to: numbers from 0 to 1 that mean the same for every query, a column for each leg.

    query ─▶ Weighed ─┐
    candidates ─▶ legs ─┴─▶ Scores, columns ─ of(row) ─▶ Scored

    lexical    the share of the query's weight (idf) that a candidate holds, term counts saturated as in BM25
    dense      square of the cosine of query and candidate
    context    what the messages around it add to both (legs.py)
    speaker    takes a share away from what others said, when the query names a speaker; never a filter
    form       more for a message that says much, less for a text that ends in a question, and for a reply of an assistant
               or a tool, unless it is asked for; more for one that names a time, where the query asks when
    time       more for a message that was said at the time that the query names (dates)

    score = lexical and dense, weighted (lexical alone where a candidate has no vector yet), with what the others add or take

Nothing is normalised by the best hit of the query, so one threshold can tell the questions that the memory does not answer:
all their scores are low. Rank fusion would lose just that, and ranks worse than BM25 alone on LoCoMo.

A candidate of its own is made of what is returned alone: of a hundred that are looked at, a dozen at most are.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from datetime import datetime

import msgspec
import numpy as np
from numpy.typing import NDArray

from bethink.retrieval.dates import TimeCue, time_score
from bethink.retrieval.form import asks_for_reply, asks_when, form_shares
from bethink.retrieval.legs import Column, legs_of, leniency, term_weights
from bethink.retrieval.names import ROLES
from bethink.retrieval.ranker import Ranker
from bethink.retrieval.terms import asking_terms, query_terms, unspaced_runs
from bethink.storage.base import Candidate, Found

__all__ = ["Scored", "Scores", "Weighed", "scores_of", "weighed"]


class Scored(msgspec.Struct, frozen=True, gc=False):
    """A candidate with what each leg came to, None for one that did not run; together they are `score`."""

    candidate: Candidate
    lexical: float
    dense: float | None
    context: float
    speaker: float
    form: float
    time: float
    score: float
    worth: float
    """What is compared with a threshold."""
    tokens: float = 0.0
    learned: float = 0.0

    @property
    def scores(self) -> dict[str, float]:
        """Of each leg that ran, or that added or took something."""
        dense = {} if self.dense is None else {"dense": self.dense}
        told = {"lexical": self.lexical, **dense}
        rest = {"context": self.context, "speaker": self.speaker, "form": self.form, "time": self.time}
        rest |= {"tokens": self.tokens, "learned": self.learned}
        return told | {leg: value for leg, value in rest.items() if value}


class Scores(msgspec.Struct, frozen=True):
    """The columns, a row for each candidate. See `Scored`.

    Attributes:
        embedded: who has a vector; the others have no `dense`.
    """

    candidates: tuple[Candidate, ...]
    lexical: Column
    dense: Column
    embedded: NDArray[np.bool_]
    context: Column
    speaker: Column
    form: Column
    time: Column
    score: Column
    worth: Column

    def of(self, row: int) -> Scored:
        """A row."""
        return Scored(
            self.candidates[row],
            float(self.lexical[row]),
            float(self.dense[row]) if self.embedded[row] else None,
            float(self.context[row]),
            float(self.speaker[row]),
            float(self.form[row]),
            float(self.time[row]),
            float(self.score[row]),
            float(self.worth[row]),
        )

    def rows(self) -> list[Scored]:
        """All of them."""
        return [self.of(row) for row in range(len(self.candidates))]


def scores_of(
    found: Found, query: str, named: frozenset[str], asked: Weighed, cues: Sequence[TimeCue], ranker: Ranker
) -> Scores:
    """Of all candidates. `named` are the speakers whom the query names."""
    candidates = found.candidates
    legs = legs_of(found, asked.weights, ranker)
    total = legs.lexical + legs.context + legs.dense
    speaker = np.zeros(len(candidates))
    if named:
        others = [each.speaker not in named and each.speaker not in ROLES for each in candidates]
        speaker = np.where(others, -ranker.speaker * total, 0.0)
        total += speaker
    form = np.where(
        total == 0, 0.0, form_shares(candidates, legs.lengths, asks_when(query), asks_for_reply(query), ranker) * total
    )
    total += form
    time, nearby = _times(candidates, total, asked, cues, ranker) if cues else (np.zeros(len(candidates)),) * 2
    total += time
    # What comes to more than 1 is scaled to 1. Rounded, so that float noise of another machine's vectors does not decide
    # between equals.
    scale = 1 / np.maximum(1.0, total)
    return Scores(
        candidates,
        legs.lexical * scale,
        legs.dense * scale,
        legs.embedded,
        legs.context * scale,
        speaker * scale,
        form * scale,
        time * scale,
        np.minimum(1.0, total).round(6),
        np.minimum(1.0, total - nearby).round(6),
    )


def _times(
    candidates: Sequence[Candidate], total: Column, asked: Weighed, cues: Sequence[TimeCue], ranker: Ranker
) -> tuple[Column, Column]:
    """What is added for the time at which something was said, and what of it for a time near one that is named. That of a
    record is when it was made, perhaps long after what it tells of was said.
    """
    time, nearby = np.zeros(len(candidates)), np.zeros(len(candidates))
    for row, candidate in enumerate(candidates):
        if candidate.kind == "message":
            within = _said_within(candidate.at, cues)
            time[row] = ranker.time * time_score(candidate.at, cues) + max(0.0, asked.spoken - total[row]) * within
            nearby[row] = 0.0 if within else time[row]
    return time, nearby


class Weighed(msgspec.Struct, frozen=True):
    """What ranking makes of a query, given what was found.

    Attributes:
        weights: how telling each term is, as a share of the whole query.
        spoken: what is given at least to what was said at a time that the query names.
        leniency: the part of a threshold that this query has to pass.
        needed: what one of the hits must be worth so that there are any.
        least: what each of them must be worth.
    """

    weights: dict[str, float]
    spoken: float
    leniency: float
    needed: float
    least: float


def weighed(
    found: Found,
    query: str,
    terms: tuple[str, ...],
    *,
    names: frozenset[str],
    cues: Sequence[TimeCue],
    beside: bool,
    ranker: Ranker,
) -> Weighed:
    """What ranking makes of a query; for the arguments see `rank.rank`."""
    dated = _dated(query, names, terms, cues)
    parts = {term: ranker.asking for term in terms if term in asking_terms()} | dict.fromkeys(dated, ranker.dated)
    weights = term_weights(found, terms, ranker.least_units, runs=unspaced_runs(query), parts=parts)
    dense = any(candidate.cosine is not None for candidate in found.candidates)
    part = leniency(weights)
    threshold = (ranker.threshold if dense else ranker.lexical_threshold) * part
    least = threshold * ranker.tail
    return Weighed(
        weights=weights,
        spoken=_SPOKEN if dated and parts.keys() >= set(terms) else 0.0,
        leniency=part,
        needed=round(least if beside else threshold, 6),
        least=least,
    )


_SPOKEN = 1 / 3
"""For a query that names a time and asks for nothing else, such as "What happened on 3 May?", what was said then has that much
at least."""


def _dated(query: str, named: frozenset[str], terms: tuple[str, ...], cues: Sequence[TimeCue]) -> list[str]:
    """The terms that the query has only in the words of a time."""
    spans = [cue.span for cue in cues if cue.start is not None]
    if not spans:
        return []
    for start, end in spans:
        query = query[:start] + " " * (end - start) + query[end:]
    others = frozenset(query_terms(query, names=named))
    return [term for term in terms if term not in others]


def _said_within(at: datetime, cues: Iterable[TimeCue]) -> bool:
    return any(cue.start is not None and cue.end is not None and cue.start <= at < cue.end for cue in cues)
