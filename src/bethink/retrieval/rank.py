"""Candidates to hits: every score is a number from 0 to 1 that means the same for every query.

    lexical   the share of the query's weight (idf) that a candidate holds, term counts saturated as in BM25
    dense     cosine of query and candidate; opposite meanings count as unrelated, 0
    speaker   takes a share away from what others said, when the query names a speaker; never a filter

    score = lexical and dense, weighted (lexical alone where a candidate has no vector yet), less what speaker takes

Nothing is normalised by the best hit of the query, so one threshold can tell the questions that the memory does not answer:
all their scores are low. Rank fusion would lose just that, and ranks worse than BM25 alone on LoCoMo.

Each leg is a function from a candidate to a number; another one (a date, a neighbour's score) is one more function and one
more entry in `Hit.scores`.
"""

from __future__ import annotations

import hashlib
import math
import re
from collections.abc import Iterable, Iterator
from datetime import datetime
from typing import Literal, overload

import msgspec

from bethink.errors import InvalidInput
from bethink.messages import Trust
from bethink.records import RecordKind
from bethink.retrieval.terms import index_terms, stop_words
from bethink.storage.base import Candidate, Found
from bethink.values import Namespace

__all__ = ["Hit", "Ranker", "RecallResult", "rank", "speakers_in", "without_names"]

_NAME, _VERSION = "legs", 1
_ROLES = frozenset({"", "system", "developer", "user", "assistant", "tool"})


class Ranker(msgspec.Struct, frozen=True, kw_only=True):
    """The parameters of ranking; shares and scores are from 0 to 1. The defaults were chosen on four conversations of LoCoMo.

    Attributes:
        k1, b: BM25's saturation of term counts and correction for length.
        dense: weight of the dense leg; the lexical one has the rest.
        speaker: share taken from what was said by others than the speakers whom the query names.
        threshold: score below which even the best candidate is no answer, and nothing is returned.
        lexical_threshold: the same where the dense leg did not run: words alone are shared by chance more often.
        tail: hits after the best one may have that share of the threshold; and all, where what is in view was not looked for,
            since the best one may be among that.
        least_units: a scope of fewer units is ranked as if it had that many, the others without any word of the query: of
            five notes every word of each would else look common, and every word of none decisive.
    """

    k1: float = 0.9
    b: float = 0.4
    dense: float = 0.6
    speaker: float = 0.3
    threshold: float = 0.26
    lexical_threshold: float = 0.21
    tail: float = 0.6
    least_units: int = 200

    def __post_init__(self) -> None:
        for name in ("b", "dense", "speaker", "threshold", "lexical_threshold", "tail"):
            if not 0 <= getattr(self, name) <= 1:
                raise InvalidInput(f"ranker.{name}", f"{getattr(self, name)}", "use a number from 0 to 1")
        if not 0 <= self.k1 < math.inf:
            raise InvalidInput("ranker.k1", f"{self.k1}", "use a number of 0 or more")
        if self.least_units < 0:
            raise InvalidInput("ranker.least_units", f"{self.least_units}", "use 0 or more")

    @property
    def fingerprint(self) -> str:
        """Names method, version and parameters; kept on every receipt."""
        digest = hashlib.sha256(msgspec.json.encode(self)).hexdigest()
        return f"{_NAME}-{_VERSION}-{digest[:12]}"


DEFAULT = Ranker()


class Hit(msgspec.Struct, frozen=True, kw_only=True):
    """One thing recalled, with why.

    Attributes:
        id: the message's or the record's.
        score: 0 to 1, higher is better, to six decimals.
        scores: what each leg added ("lexical", "dense") or took ("speaker"); they sum to `score`.
    """

    kind: Literal["message"] | RecordKind
    id: str
    namespace: Namespace
    thread_id: str | None
    seq: int
    text: str
    speaker: str
    trust: Trust
    at: datetime
    score: float
    scores: dict[str, float]


class RecallResult(msgspec.Struct, frozen=True, kw_only=True):
    """A sequence of hits, best first, and how it came about.

    Attributes:
        pending: how many things in scope have no vector yet and were found by their words only.
        empty_reason: why there is no hit; "" when there is one.
        legs: which ran: "lexical", "dense".
    """

    hits: tuple[Hit, ...] = ()
    pending: int = 0
    empty_reason: str = ""
    legs: tuple[str, ...] = ()

    def __len__(self) -> int:
        return len(self.hits)

    def __iter__(self) -> Iterator[Hit]:
        return iter(self.hits)

    @overload
    def __getitem__(self, index: int) -> Hit: ...
    @overload
    def __getitem__(self, index: slice) -> tuple[Hit, ...]: ...
    def __getitem__(self, index: int | slice) -> Hit | tuple[Hit, ...]:
        return self.hits[index]


class _Scored(msgspec.Struct, frozen=True, gc=False):
    candidate: Candidate
    scores: dict[str, float]
    score: float


def rank(
    found: Found,
    query: str,
    terms: tuple[str, ...],
    *,
    names: frozenset[str] = frozenset(),
    beside: bool = False,
    k: int,
    now: datetime,
    ranker: Ranker = DEFAULT,
) -> RecallResult:
    """The at most `k` best of what was found, or nothing and the reason.

    Args:
        found: the store's answer to `Search`.
        query: what was asked, with the names in it.
        terms: the terms searched for (`query_terms`).
        names: those who speak in the scope and whom the query names (`speakers_in`), candidates of theirs or not.
        beside: whether there is something in view, which was not looked for (`Search.in_view`).
        k: 1 or more.
        now: a candidate from the future counts as from now.

    A score rests on the query, the statistics and the candidate alone, whatever else was found.

    Ties go to the newer, then to the smaller id. The same message in several threads (forks) is one hit.
    """
    if k < 1:
        raise InvalidInput("k", f"{k}", "ask for 1 hit or more")
    dense = any(candidate.cosine is not None for candidate in found.candidates)
    legs = ("lexical",) * bool(terms) + ("dense",) * dense
    threshold = ranker.threshold if dense else ranker.lexical_threshold
    ranked = _once(_in_order(_scored(found, names, terms, ranker), now))
    least = threshold * ranker.tail
    needed = least if beside else threshold
    if not ranked or ranked[0].score < needed:
        return RecallResult(pending=found.pending, empty_reason=_why_nothing(found, query, ranked, needed), legs=legs)
    hits = tuple(_hit(each) for each in ranked[:k] if each.score >= least)
    return RecallResult(hits=hits, pending=found.pending, legs=legs)


def _scored(found: Found, named: frozenset[str], terms: tuple[str, ...], ranker: Ranker) -> Iterator[_Scored]:
    weights = _weights(found, terms, ranker)
    for candidate in found.candidates:
        score = _lexical(candidate, weights, found.mean_length, ranker)
        scores = {"lexical": score}
        if candidate.cosine is not None:
            scores["lexical"] *= 1 - ranker.dense
            scores["dense"] = ranker.dense * min(1.0, max(0.0, candidate.cosine))
            score = scores["lexical"] + scores["dense"]
        if named and candidate.speaker not in named and candidate.speaker not in _ROLES:
            scores["speaker"] = -ranker.speaker * score
            score += scores["speaker"]
        # Rounded, so that float noise of another machine's vectors does not decide between equals.
        yield _Scored(candidate, scores, round(score, 6))


def _in_order(scored: Iterable[_Scored], now: datetime) -> list[_Scored]:
    def place(each: _Scored) -> tuple[str, Namespace, str, int]:
        candidate = each.candidate
        return candidate.id, candidate.namespace, candidate.thread_id or "", candidate.seq

    # The last sort decides; the earlier ones order what is equal in it.
    ordered = sorted(scored, key=place)
    ordered.sort(key=lambda each: min(each.candidate.at, now), reverse=True)
    ordered.sort(key=lambda each: each.score, reverse=True)
    return ordered


def _once(scored: Iterable[_Scored]) -> list[_Scored]:
    """Each message once, where it ranks best."""
    first: dict[tuple[Namespace, str, str], _Scored] = {}
    for each in scored:
        first.setdefault((each.candidate.namespace, each.candidate.id, each.candidate.text), each)
    return list(first.values())


def _why_nothing(found: Found, query: str, ranked: list[_Scored], threshold: float) -> str:
    if not found.units:
        return "nothing is stored here"
    if not query.strip():
        return "the query is empty"
    if not ranked:
        return "nothing stored shares a word with the query"
    return f"the best of {len(ranked)} candidates scores {ranked[0].score:.2f}, below the threshold of {threshold:.2f}"


def _hit(scored: _Scored) -> Hit:
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


# -- the lexical leg ------------------------------------------------------------------------------------------------------


def _weights(found: Found, terms: tuple[str, ...], ranker: Ranker) -> dict[str, float]:
    """How telling each term is, as a share of the whole query: log(1 + (N - n + 0.5) / (n + 0.5)), the idf of Lucene's BM25. A
    term that occurs nowhere is the most telling of all: what holds all the others does not answer the whole question."""
    units = max(found.units, ranker.least_units)
    idf = {term: _idf(units, found.frequency.get(term, 0)) for term in terms}
    total = sum(idf.values())
    return {term: weight / total for term, weight in idf.items()}


def _idf(units: int, holding: int) -> float:
    return math.log(1 + (units - holding + 0.5) / (holding + 0.5))


def _lexical(candidate: Candidate, weights: dict[str, float], mean_length: float, ranker: Ranker) -> float:
    """BM25 as a share of what one occurrence of every term in a text of mean length would get; at most 1."""
    length = 1 - ranker.b + ranker.b * candidate.length / mean_length if mean_length else 1.0
    counts, most, saturation = candidate.counts, ranker.k1 + 1, ranker.k1 * length
    share = 0.0
    for term, weight in weights.items():
        if term in counts:
            count = counts[term]
            share += weight * count * most / (count + saturation) if count else 0.0
    return min(1.0, share)


# -- names ----------------------------------------------------------------------------------------------------------------

_WORD = re.compile(r"[^\W_]+(?:['’]s\b)?")


def speakers_in(query: str, speakers: Iterable[str]) -> frozenset[str]:
    """Those of `speakers` whom the query names, by their whole name or a word of it. Roles such as "user" are no names."""
    asked = set(index_terms(query).split(" "))
    return frozenset(speaker for speaker in speakers if speaker not in _ROLES and not asked.isdisjoint(_name_terms(speaker)))


def without_names(query: str, names: Iterable[str]) -> str:
    """The query without these names, for the dense leg: in a small embedding a name drowns everything else. (LoCoMo, recall
    at 10 of the dense leg alone: 29 % with the names, 58 % without.) A query of nothing but names stays as it is.
    """
    gone = {term for name in names for term in _name_terms(name)}
    kept = _WORD.sub(lambda word: "" if index_terms(word.group()) in gone else word.group(), query)
    return " ".join(kept.split()) if any(map(str.isalnum, kept)) else query


def _name_terms(name: str) -> list[str]:
    """Terms that stand for a name: its words of two letters and more, but not "will" or "may"."""
    return [term for term in index_terms(name).split(" ") if len(term) > 1 and term not in stop_words]
