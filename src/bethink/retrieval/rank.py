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

import hashlib
import math
import re
from collections.abc import Iterable, Iterator, Sequence
from datetime import datetime
from typing import TYPE_CHECKING, Literal, overload

import msgspec

from bethink.errors import InvalidInput
from bethink.messages import Trust
from bethink.records import RecordKind
from bethink.retrieval.dates import TimeCue, time_score
from bethink.retrieval.hits import LeftOut, Member, excerpt
from bethink.retrieval.rerank import Reranker, corrected
from bethink.retrieval.terms import asking_terms, index_terms, query_terms, stop_words, unspaced_runs
from bethink.storage.base import Candidate, Found
from bethink.values import Namespace

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

__all__ = ["Hit", "Ranker", "RecallResult", "Scored", "Weighed", "rank", "ranking", "speakers_in", "weighed", "without_names"]

_NAME, _VERSION = "legs", 3
_COMPARED = 48
"""So many are compared token by token. (LoCoMo: of all, no more of the evidence is found.)"""
_ROLES = frozenset({"", "system", "developer", "user", "assistant", "tool"})


class Ranker(msgspec.Struct, frozen=True, kw_only=True):
    """The parameters of ranking; shares and scores are from 0 to 1. The defaults were chosen on four conversations of LoCoMo.

    Attributes:
        k1, b: BM25's saturation of term counts and correction for length.
        asking: part of their weight that words have which questions are put in (`terms.asking_terms`; English).
        dated: part that the words of a time have which the query names: "in May 2023" is rarely said in that month.
        dense: weight of the dense leg; the lexical one has the rest.
        alike: cosine from which two texts mean the same.
        context: how much of its neighbours' term counts a message has; `dense_context` of their cosines' squares. One that is
            so many terms long as `damping` has all of that, one twice as long has half.
        speaker: share taken from what was said by others than the speakers whom the query names.
        length: share added to a message for each e-fold of terms beyond 20 (taken for each below); at most 1.5 of it, or 2
            below. A record is short or long by how it was made.
        question: share taken from what ends in a question mark; less from a text of more than 20 terms, which says more than
            that.
        reply: share taken from messages of the roles assistant and tool, unless the query asks for what was answered (English):
            what somebody said of himself is evidence, and what he was told about it is not.
        when: share added to what says a time, for a query that asks when or how long. English.
        time: what is added for having been said on the very day that the query names; less for a less exact time. For what was
            said near that time and not within it, it decides the order only, and does not lift a score over a threshold.
        tokens: what is added for each 1 of likeness above chance, for answering the query token by token; for the order only,
            as time nearby.
        chance: likeness that a text of 20 tokens has with any query; `chance_growth` more for each e-fold of tokens.
        token_context: how much of its neighbours' likeness a message has, damped as `context` is.
        threshold: score below which even the best candidate is no answer, and nothing is returned; for a query of up to two
            words that tell. Of one of n such words the fourth root of 2 / n of it: half of a long question is not held by
            chance. (See `term_weights`; n is the effective number of terms, 1 / sum of squared weights.)
        lexical_threshold: the same where the dense leg did not run.
        tail: hits after the best one may have that share of the threshold; and all, where what is in view was not looked for,
            since the best one may be among that.
        least_units: a scope of fewer units is ranked as if it had that many, the others without any word of the query: of
            five notes every word of each would else look common, and every word of none decisive.
        reranker: corrects the scores of what is returned, where tokens are compared (`rerank`). None for none.
    """

    k1: float = 0.9
    b: float = 0.4
    asking: float = 0.6
    dated: float = 0.3
    dense: float = 0.4
    alike: float = 0.9
    context: float = 1.25
    dense_context: float = 0.8
    damping: float = 60.0
    speaker: float = 0.3
    length: float = 0.05
    question: float = 0.25
    reply: float = 0.2
    when: float = 0.2
    time: float = 0.2
    tokens: float = 0.5
    chance: float = 0.2
    chance_growth: float = 0.04
    token_context: float = 0.4
    threshold: float = 0.25
    lexical_threshold: float = 0.26
    tail: float = 0.5
    least_units: int = 200
    reranker: Reranker | None = None

    def __post_init__(self) -> None:
        shares = (
            "b",
            "asking",
            "dated",
            "dense",
            "speaker",
            "length",
            "question",
            "when",
            "time",
            "tokens",
            "chance",
            "chance_growth",
            "threshold",
            "lexical_threshold",
            "tail",
        )
        for name in shares:
            if not 0 <= getattr(self, name) <= 1:
                raise InvalidInput(f"ranker.{name}", f"{getattr(self, name)}", "use a number from 0 to 1")
        if not 0 < self.alike <= 1:
            raise InvalidInput("ranker.alike", f"{self.alike}", "use a number above 0, at most 1")
        for name in ("k1", "context", "dense_context", "token_context", "damping"):
            if not 0 <= getattr(self, name) < math.inf:
                raise InvalidInput(f"ranker.{name}", f"{getattr(self, name)}", "use a number of 0 or more")
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
        scores: what each leg that ran added or took; they sum to `score`. See the head of `retrieval.rank`.
        cut: which characters of `text` a budget has room for; None for all. `shown` is that passage.
        tokens: of its line in a context, and of those of its members; 0 where no budget was given.
        members: what belongs to its turn or session, in order; () where each hit is a unit of its own.
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
    cut: tuple[int, int] | None = None
    tokens: int = 0
    members: tuple[Member, ...] = ()

    @property
    def shown(self) -> str:
        """What of the text there is room for, with `…` where something is left out."""
        return excerpt(self.text, self.cut)


class RecallResult(msgspec.Struct, frozen=True, kw_only=True):
    """A sequence of hits, best first, and how it came about.

    Attributes:
        pending: how many things in scope have no vector yet and were found by their words only.
        empty_reason: why there is no hit; "" when there is one.
        legs: which ran: "lexical", "dense", "tokens".
        needed: what the best hit had to come to: the threshold for this query.
        tokens: of all lines, where a budget was given.
        left_out: what the budget had no room for, in the order of rank.
    """

    hits: tuple[Hit, ...] = ()
    pending: int = 0
    empty_reason: str = ""
    legs: tuple[str, ...] = ()
    needed: float = 0.0
    tokens: int = 0
    left_out: tuple[LeftOut, ...] = ()

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
    compared = tokens is not None and bool(ranker.tokens)
    legs = ("lexical",) * bool(terms) + ("dense",) * dense + ("tokens",) * compared
    asked = weighed(found, query, terms, names=names, cues=cues, beside=beside, ranker=ranker)
    scored = _scored(found, query, names, asked, cues, ranker, tokens)
    if not scored or max([each.worth for each in scored]) < asked.needed:
        why = _why_nothing(found, query, scored, asked.needed)
        return RecallResult(pending=found.pending, empty_reason=why, legs=legs, needed=asked.needed)
    ranked = _ordered(scored, now, ranker if compared else None, least=asked.least)
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
    scored = _scored(found, query, names, asked, cues, ranker, tokens)
    return _ordered(scored, now, ranker if tokens is not None and ranker.tokens else None)


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

    asks_when, asks_reply = bool(_WHEN.search(query)), bool(_REPLY.search(query))
    scored = []
    for candidate, lexical, dense, context in legs_of(found, asked.weights, ranker):
        total = lexical + context + (dense or 0.0)
        speaker = form = time = nearby = 0.0
        if named and candidate.speaker not in named and candidate.speaker not in _ROLES:
            speaker = -ranker.speaker * total
            total += speaker
        if total:
            form = _form(candidate, asks_when, asks_reply, ranker) * total
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
    return scored if tokens is None or not ranker.tokens else _compared(found, scored, tokens, ranker)


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


_WHEN = re.compile(r"^\W*when\b|\bhow long\b|\b(?:what|which) (?:day|date|month|year|time)\b", re.IGNORECASE)
_GIVEN = "advised|explained|gave|given|listed|mentioned|proposed|provided|recommended|said|suggested|told|wrote"
_GIFT = "advice|answer|explanation|recommendation|reply|response|suggestion"
_REPLY = re.compile(
    rf"\b(?:did|have|had) you\b|\byou(?:['’]ve| have| had)? (?:\w+ )?(?:{_GIVEN})\b|\byour (?:\w+ )?(?:{_GIFT})s?\b"
    r"|\bassistant\b",
    re.IGNORECASE,
)
_ANSWERING = frozenset({"assistant", "tool"})
_SAID = """
yesterday today tonight tomorrow last next ago week weekend month year day days since recently monday tuesday wednesday thursday
friday saturday sunday january february march april may june july august september october november december
"""
_TIMES = frozenset(_SAID.split())
_TIME_WORD = re.compile(r"[a-z]{3,9}|20\d\d")
_SHORT, _LEAST, _MOST = 20, -2.0, 1.5
_QUESTION_MARKS = ("?", "？", "؟")


def _form(candidate: Candidate, asks_when: bool, asks_reply: bool, ranker: Ranker) -> float:
    """What is added for the form of a text, as a share of what it has; more than -1."""
    share = 0.0
    if candidate.kind == "message":
        share += ranker.length * min(_MOST, max(_LEAST, math.log(max(1, candidate.length) / _SHORT)))
    if candidate.text.rstrip().endswith(_QUESTION_MARKS):
        share -= ranker.question * min(1.0, _SHORT / max(1, candidate.length))
    if candidate.speaker in _ANSWERING and not asks_reply:
        share -= ranker.reply
    if asks_when and any(word in _TIMES or word.isdecimal() for word in _TIME_WORD.findall(candidate.text.lower())):
        share += ranker.when
    return max(-1.0, share)


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
