"""Candidates to hits: those that are worth enough, best first, each once.

    Scores (scores.py) ─▶ threshold ─▶ order ─▶ the k best as hits

    learned    what a learned model adds or takes besides, where there is one (rerank); for the order only
    tokens     more for the best of these that answer the query token by token (maxsim), where there are vectors of tokens

Each leg is one entry in `Hit.scores`, and they sum to the score. The other legs are told of in scores.py.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from datetime import datetime
from typing import TYPE_CHECKING

import msgspec

from bethink.errors import InvalidInput
from bethink.retrieval.dates import TimeCue
from bethink.retrieval.hits import Hit, RecallResult
from bethink.retrieval.ranker import DEFAULT, Ranker
from bethink.retrieval.rerank import corrected
from bethink.storage.base import Found
from bethink.values import Namespace

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from bethink.retrieval.scores import Scored, Scores, Weighed

__all__ = ["rank", "ranking"]

_COMPARED = 48
"""So many are compared token by token. (LoCoMo: of all, no more of the evidence is found.)"""


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
    asked: Weighed | None = None,
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
        asked: what `weighed` made of all this, where that is known.

    A score rests on the query, the statistics, the candidate and those of its neighbours that were found too, as candidates or
    beside them, whatever else was.

    Ties go to the newer, then to the smaller id. The same message in several threads (forks) is one hit.
    """
    # Here and not above, as in all that follows: whoever only names a Ranker needs no numpy.
    from bethink.retrieval.scores import scores_of, weighed

    if k < 1:
        raise InvalidInput("k", f"{k}", "ask for 1 hit or more")
    tokens = tokens if ranker.tokens else None
    if asked is None:
        asked = weighed(found, query, terms, names=names, cues=cues, beside=beside, ranker=ranker)
    scores = scores_of(found, query, names, asked, cues, ranker)
    legs = ("lexical",) * bool(terms) + ("dense",) * bool(scores.embedded.any()) + ("tokens",) * (tokens is not None)
    if not found.candidates or scores.worth.max() < asked.needed:
        why = _why_nothing(found, query, scores, asked.needed)
        return RecallResult(pending=found.pending, empty_reason=why, legs=legs, needed=asked.needed)
    if tokens is None:
        ranked = _best(scores, k, now, asked.least)
    else:
        compared = _compared(found, scores.rows(), tokens, ranker)
        ranked = _ordered(compared, now, ranker, least=asked.least)[:k]
    return RecallResult(hits=tuple(map(_hit, ranked)), pending=found.pending, legs=legs, needed=asked.needed)


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
    from bethink.retrieval.scores import scores_of, weighed

    asked = weighed(found, query, terms, names=names, cues=cues, beside=False, ranker=ranker)
    scored = scores_of(found, query, names, asked, cues, ranker).rows()
    if tokens is None or not ranker.tokens:
        return _once(_in_order(scored, now))
    return _ordered(_compared(found, scored, tokens, ranker), now, ranker)


def _best(scores: Scores, k: int, now: datetime, least: float) -> list[Scored]:
    """The k best that are worth enough. Made of the rows with the highest scores, of more where too many of those are one
    message."""
    import numpy as np

    rows = np.flatnonzero(scores.worth >= least)
    score = scores.score[rows]
    most = 2 * k
    while len(rows) > most:
        lowest = np.partition(score, len(rows) - most)[len(rows) - most]
        ranked = _once(_in_order([scores.of(row) for row in rows[score >= lowest].tolist()], now))
        if len(ranked) >= k:
            return ranked[:k]
        most *= 2
    return _once(_in_order([scores.of(row) for row in rows.tolist()], now))[:k]


def _ordered(scored: list[Scored], now: datetime, ranker: Ranker, *, least: float = -1.0) -> list[Scored]:
    """Those whose tokens were compared and that are worth enough, best first; corrected, where the ranker has a reranker."""
    if ranker.reranker is None:
        return _once(_in_order([each for each in scored if each.worth >= least], now))
    ranked = _once(_in_order(scored, now))
    hits = corrected([_hit(each) for each in ranked], ranker.reranker)
    changed = [
        msgspec.structs.replace(each, score=hit.score, learned=hit.scores["learned"])
        for each, hit in zip(ranked, hits, strict=True)
    ]
    return [each for each in sorted(changed, key=lambda each: -each.score) if each.worth >= least]


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


def _why_nothing(found: Found, query: str, scores: Scores, threshold: float) -> str:
    if not found.units:
        return "nothing is stored here"
    if not query.strip():
        return "the query is empty"
    if not found.candidates:
        return "nothing stored shares a word with the query"
    best = float(scores.worth.max())
    return f"the best of {len(found.candidates)} candidates scores {best:.2f}, below the threshold of {threshold:.2f}"


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
