"""Candidates to hits: every score is a number from 0 to 1 that means the same for every query.

    lexical    the share of the query's weight (idf) that a candidate holds, term counts saturated as in BM25
    dense      square of the cosine of query and candidate
    context    what the messages around it add to both (legs.py)
    speaker    takes a share away from what others said, when the query names a speaker; never a filter
    form       more for a message that says much, less for a text that ends in a question, and for a reply of an assistant
               or a tool, unless it is asked for; more for one that names a time, where the query asks when
    time       more for a message that was said at the time that the query names (dates)
    learned    what a learned model adds or takes besides, where there is one (rerank); for the order only
    tokens     more for the best of these that answer the query token by token (maxsim), where there are vectors of tokens

    score = lexical and dense, weighted (lexical alone where a candidate has no vector yet), with what the others add or take

Nothing is normalised by the best hit of the query, so one threshold can tell the questions that the memory does not answer:
all their scores are low. Rank fusion would lose just that, and ranks worse than BM25 alone on LoCoMo.

Each leg is one entry in `Hit.scores`, and they sum to the score.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from datetime import datetime
from typing import TYPE_CHECKING

import msgspec

from bethink.errors import InvalidInput
from bethink.retrieval.dates import TimeCue, time_score
from bethink.retrieval.form import asks_for_reply, asks_when, form_share
from bethink.retrieval.hits import Hit, RecallResult
from bethink.retrieval.names import ROLES
from bethink.retrieval.ranker import DEFAULT, Ranker
from bethink.retrieval.rerank import corrected
from bethink.retrieval.terms import asking_terms, query_terms, unspaced_runs
from bethink.storage.base import Candidate, Found
from bethink.values import Namespace

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

__all__ = ["Scored", "Weighed", "rank", "ranking", "weighed"]

_COMPARED = 48
"""So many are compared token by token. (LoCoMo: of all, no more of the evidence is found.)"""


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


def rank(
    found: Found,
    query: str,
    terms: tuple[str, ...],
    *,
    names: frozenset[str] = frozenset(),
    cues: Sequence[TimeCue] = (),
    beside: bool = False,
    k: int,
    now: datetime,
    ranker: Ranker = DEFAULT,
    tokens: NDArray[np.int8] | None = None,
) -> RecallResult:
    """The at most `k` best of what was found, or nothing and the reason.

    Args:
        found: the store's answer to `Search`.
        query: what was asked, with the names in it.
        terms: the terms searched for (`query_terms`).
        names: those who speak in the scope and whom the query names (`speakers_in`), candidates of theirs or not.
        cues: the times that the query names (`dates.time_cues`).
        beside: whether there is something in view, which was not looked for (`Search.in_view`).
        k: 1 or more.
        now: a candidate from the future counts as from now.
        tokens: vectors of the tokens of the query, where the candidates have brought theirs; shape (tokens, dimension).

    A score rests on the query, the statistics, the candidate and those of its neighbours that were found too, as candidates or
    beside them, whatever else was.

    Ties go to the newer, then to the smaller id. The same message in several threads (forks) is one hit.
    """
    if k < 1:
        raise InvalidInput("k", f"{k}", "ask for 1 hit or more")
    dense = any(candidate.cosine is not None for candidate in found.candidates)
    tokens = tokens if ranker.tokens else None
    legs = ("lexical",) * bool(terms) + ("dense",) * dense + ("tokens",) * (tokens is not None)
    asked = weighed(found, query, terms, names=names, cues=cues, beside=beside, ranker=ranker)
    scored = _scored(found, query, names, asked, cues, ranker, tokens)
    if not scored or max([each.worth for each in scored]) < asked.needed:
        why = _why_nothing(found, query, scored, asked.needed)
        return RecallResult(pending=found.pending, empty_reason=why, legs=legs, needed=asked.needed)
    ranked = _ordered(scored, now, None if tokens is None else ranker, least=asked.least)
    hits = tuple([_hit(each) for each in ranked[:k]])
    return RecallResult(hits=hits, pending=found.pending, legs=legs, needed=asked.needed)


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
    """What `rank` makes of a query; for the arguments see there."""
    from bethink.retrieval.legs import leniency, term_weights

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


def ranking(
    found: Found,
    query: str,
    terms: tuple[str, ...],
    *,
    names: frozenset[str] = frozenset(),
    cues: Sequence[TimeCue] = (),
    now: datetime,
    ranker: Ranker = DEFAULT,
    tokens: NDArray[np.int8] | None = None,
) -> list[Scored]:
    """All that was found, in the order of `rank`, whatever its threshold."""
    asked = weighed(found, query, terms, names=names, cues=cues, beside=False, ranker=ranker)
    tokens = tokens if ranker.tokens else None
    scored = _scored(found, query, names, asked, cues, ranker, tokens)
    return _ordered(scored, now, None if tokens is None else ranker)


def _ordered(scored: list[Scored], now: datetime, ranker: Ranker | None, *, least: float = -1.0) -> list[Scored]:
    """Those that are worth enough, best first; corrected, where the ranker that compared tokens is given and has a reranker."""
    if ranker is None or ranker.reranker is None:
        return _once(_in_order([each for each in scored if each.worth >= least], now))
    ranked = _once(_in_order(scored, now))
    hits = corrected([_hit(each) for each in ranked], ranker.reranker)
    changed = [
        msgspec.structs.replace(each, score=hit.score, learned=hit.scores["learned"])
        for each, hit in zip(ranked, hits, strict=True)
    ]
    return [each for each in sorted(changed, key=lambda each: -each.score) if each.worth >= least]


def _scored(
    found: Found,
    query: str,
    named: frozenset[str],
    asked: Weighed,
    cues: Sequence[TimeCue],
    ranker: Ranker,
    tokens: NDArray[np.int8] | None,
) -> list[Scored]:
    # Here and not above: whoever only names a Ranker needs no numpy.
    from bethink.retrieval.legs import legs_of

    when, reply = asks_when(query), asks_for_reply(query)
    scored = []
    for candidate, lexical, dense, context in legs_of(found, asked.weights, ranker):
        total = lexical + context + (dense or 0.0)
        speaker = form = time = nearby = 0.0
        if named and candidate.speaker not in named and candidate.speaker not in ROLES:
            speaker = -ranker.speaker * total
            total += speaker
        if total:
            form = form_share(candidate, when, reply, ranker) * total
            total += form
        # The time of a record is when it was made, perhaps long after what it tells of was said.
        if cues and candidate.kind == "message":
            within = _said_within(candidate.at, cues)
            time = ranker.time * time_score(candidate.at, cues) + max(0.0, asked.spoken - total) * within
            total += time
            nearby = 0.0 if within else time
        score, worth = total, total - nearby
        if total > 1:
            # What comes to more than 1 is scaled to 1.
            scale, score, worth = 1 / total, 1.0, min(1.0, worth)
            lexical, context, speaker, form, time = (leg * scale for leg in (lexical, context, speaker, form, time))
            dense = None if dense is None else dense * scale
        # Rounded, so that float noise of another machine's vectors does not decide between equals.
        scored.append(Scored(candidate, lexical, dense, context, speaker, form, time, round(score, 6), round(worth, 6)))
    return scored if tokens is None else _compared(found, scored, tokens, ranker)


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


def _compared(found: Found, scored: list[Scored], query: NDArray[np.int8], ranker: Ranker) -> list[Scored]:
    """With what the best of them have for answering the query token by token."""
    from bethink.retrieval.legs import answers

    best = sorted(range(len(scored)), key=lambda row: (-scored[row].score, row))[:_COMPARED]
    changed = list(scored)
    for row, alike in zip(best, answers(found, best, query, ranker).tolist(), strict=True):
        changed[row] = _with_tokens(scored[row], ranker.tokens * alike)
    return changed


def _with_tokens(scored: Scored, tokens: float) -> Scored:
    before = scored.lexical + (scored.dense or 0.0) + scored.context
    if before:
        # Who said it, and its form, count for this as well.
        tokens *= max(0.0, before + scored.speaker + scored.form) / before
    total = scored.score + tokens
    # What comes to more than 1 is scaled to 1; its worth stays.
    scale = 1 / max(1.0, total)
    legs = {leg: getattr(scored, leg) * scale for leg in ("lexical", "context", "speaker", "form", "time")}
    dense = None if scored.dense is None else scored.dense * scale
    return msgspec.structs.replace(scored, **legs, dense=dense, tokens=tokens * scale, score=round(min(1.0, total), 6))


def _said_within(at: datetime, cues: Iterable[TimeCue]) -> bool:
    return any(cue.start is not None and cue.end is not None and cue.start <= at < cue.end for cue in cues)


def _in_order(scored: Iterable[Scored], now: datetime) -> list[Scored]:
    def place(each: Scored) -> tuple[float, float, str, Namespace, str, int]:
        candidate = each.candidate
        at = min(candidate.at, now).timestamp()
        return -each.score, -at, candidate.id, candidate.namespace, candidate.thread_id or "", candidate.seq

    return sorted(scored, key=place)


def _once(scored: Iterable[Scored]) -> list[Scored]:
    """Each message once, where it ranks best."""
    first: dict[tuple[Namespace, str, str], Scored] = {}
    for each in scored:
        first.setdefault((each.candidate.namespace, each.candidate.id, each.candidate.text), each)
    return list(first.values())


def _why_nothing(found: Found, query: str, ranked: list[Scored], threshold: float) -> str:
    if not found.units:
        return "nothing is stored here"
    if not query.strip():
        return "the query is empty"
    if not ranked:
        return "nothing stored shares a word with the query"
    best = max(each.worth for each in ranked)
    return f"the best of {len(ranked)} candidates scores {best:.2f}, below the threshold of {threshold:.2f}"


def _hit(scored: Scored) -> Hit:
    candidate = scored.candidate
    return Hit(
        kind=candidate.kind,
        id=candidate.id,
        namespace=candidate.namespace,
        thread_id=candidate.thread_id,
        seq=candidate.seq,
        text=candidate.text,
        speaker=candidate.speaker,
        trust=candidate.trust,
        at=candidate.at,
        score=scored.score,
        scores=scored.scores,
    )
