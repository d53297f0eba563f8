"""Why a hit is one, and why something else is none: values, and the pure part of finding them out.

    Looked ─▶ ranking, the one of recall ─▶ each hit with its places by words and by meaning, its terms, its neighbours
    id     ─▶ stored ─ kind ─ retired ─ searched ─ filter ─ legs ─ threshold ─ k ─ budget ─▶ the first of these that it fell at

Nothing is scored anew here: what is told is what ranked.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import TYPE_CHECKING, Any, Literal, TypeAlias

import msgspec

from bethink.retrieval.hits import Hit, RecallResult
from bethink.retrieval.recall import Looked
from bethink.storage.base import And, Candidate, Compare, Contains, Exists, Filter, In, Not, Or, passes
from bethink.values import Namespace

if TYPE_CHECKING:
    from bethink.retrieval.scores import Scored

__all__ = ["Lender", "Placed", "Reason", "Step", "Term", "Why", "WhyNot", "obstacle", "places", "reasons"]

Step: TypeAlias = Literal[
    "stored",
    "namespace",
    "kind",
    "time",
    "retired",
    "searched",
    "query",
    "filter",
    "legs",
    "threshold",
    "k",
    "budget",
    "found",
]
"""Where something fell out, in the order of recall; "found" for what did not."""


class Term(msgspec.Struct, frozen=True):
    """A term of the query: its share of the query's weight, and how many units in scope hold it."""

    weight: float
    units: int


class Placed(msgspec.Struct, frozen=True, kw_only=True):
    """Where a candidate stands among all candidates.

    Attributes:
        rank: by score, from 1.
        by_words: by the lexical leg alone; None for one that holds no word of the query.
        by_meaning: by the dense leg alone; None for one without a vector, or where that leg did not run.
        worth: what is compared with the threshold: the score without what a time nearby added.
    """

    rank: int
    by_words: int | None
    by_meaning: int | None
    score: float
    worth: float


class Lender(msgspec.Struct, frozen=True, kw_only=True):
    """A message around a hit: how far away, which terms of the query it holds, its cosine."""

    seq: int
    terms: dict[str, int]
    cosine: float | None


class Reason(msgspec.Struct, frozen=True, kw_only=True):
    """Why a hit is where it is.

    Attributes:
        hit: with what each leg added or took (`scores`), and what a budget left of it.
        terms: how often it holds each term of the query.
        cosine: of its vector and that of the query.
        neighbours: the messages around it that hold something of the query; `context` of its scores is what they add.
    """

    hit: Hit
    placed: Placed
    terms: dict[str, int]
    cosine: float | None
    neighbours: tuple[Lender, ...] = ()


class Why(msgspec.Struct, frozen=True, kw_only=True):
    """How a recall came about.

    Attributes:
        query: what was read of it; `terms`, what was looked for, and how telling each is.
        names: of people who speak here, and whom it names: taken out of the terms, and whose words rank higher.
        times: those it names, each (start, end, relation); None where the words do not tell when that was.
        legs, paths: which ran, and how the store went about the dense one.
        units, pending: how many things are in scope, and how many of them wait for their vector.
        candidates: how many of them were ranked: of each leg the best `limit`, and those around the best.
        best: what the best candidate is worth; `threshold`, what one had to be; `least`, what each hit had to be.
        result: what the recall returned. `hits` explains each of its hits, in the same order.
    """

    query: str
    names: tuple[str, ...]
    terms: dict[str, Term]
    times: tuple[tuple[datetime | None, datetime | None, str], ...]
    legs: tuple[str, ...]
    paths: tuple[str, ...]
    units: int
    pending: int
    candidates: int
    limit: int
    best: float
    threshold: float
    least: float
    ranker: str
    result: RecallResult
    hits: tuple[Reason, ...]


class WhyNot(msgspec.Struct, frozen=True, kw_only=True):
    """Where something fell out of a recall, and by how much.

    Attributes:
        step: see `Step`.
        detail: the same in a sentence, with figures.
        change: what would have it found; "" where nothing that recall is asked with does.
        placed: its places among the candidates, if it is one; among all that could be, where `step` is "legs".
        needed: what it had to have at least: a worth ("threshold"), or the score of the last hit ("k").
        threshold: the highest one of a ranker with which it would answer ("threshold").
        k: the smallest `k` that has it ("k").
        tokens, left: of its line, and what was left of the budget when its turn came ("budget").
        superseded_by: the record that took its place ("retired").
        condition: the part of the filter that is not true of it ("filter").
    """

    id: str
    step: Step
    detail: str
    change: str = ""
    placed: Placed | None = None
    needed: float | None = None
    threshold: float | None = None
    k: int | None = None
    tokens: int | None = None
    left: int | None = None
    superseded_by: str | None = None
    condition: str = ""

    @property
    def found(self) -> bool:
        return self.step == "found"


def places(ranked: Sequence[Scored]) -> list[Placed]:
    """Of each candidate, in the order given, which is that of `ranking`."""
    words = _by([each.lexical if each.candidate.positions else None for each in ranked])
    meaning = _by([each.candidate.cosine for each in ranked])
    return [
        Placed(rank=number, by_words=words[number - 1], by_meaning=meaning[number - 1], score=each.score, worth=each.worth)
        for number, each in enumerate(ranked, 1)
    ]


def _by(values: Sequence[float | None]) -> list[int | None]:
    """The place of each by its value, from 1; equal ones in the order given."""
    known = [(value, number) for number, value in enumerate(values) if value is not None]
    found: list[int | None] = [None] * len(values)
    for place, (_, number) in enumerate(sorted(known, key=lambda each: (-each[0], each[1])), 1):
        found[number] = place
    return found


def reasons(looked: Looked, ranked: Sequence[Scored], hits: Sequence[Hit]) -> tuple[Reason, ...]:
    """Each hit with why it is where it is."""
    at = {_key(each.candidate): number for number, each in enumerate(ranked)}
    placed = places(ranked)
    around = _around(looked)
    found: list[Reason] = []
    for hit in hits:
        number = at[hit.namespace, hit.id, hit.text]
        candidate = ranked[number].candidate
        found.append(
            Reason(
                hit=hit,
                placed=placed[number],
                terms=_held(candidate),
                cosine=candidate.cosine,
                neighbours=tuple(
                    Lender(seq=each.seq, terms=_held(each), cosine=each.cosine)
                    for each in around.get((candidate.namespace, candidate.thread_id, candidate.seq), ())
                    if candidate.kind == "message" and (each.positions or each.cosine is not None)
                ),
            )
        )
    return tuple(found)


def _around(looked: Looked) -> dict[tuple[Namespace, str | None, int], list[Candidate]]:
    """Of each message that was found, those around it that were found too, in order."""
    from bethink.retrieval.legs import neighbours

    told = (*looked.found.candidates, *looked.found.beside)
    around: dict[tuple[Namespace, str | None, int], list[Candidate]] = {}
    for each, rows in zip(told, neighbours(told).tolist(), strict=True):
        near = [told[row] for row in rows if row < len(told)]
        if each.kind == "message":
            around[each.namespace, each.thread_id, each.seq] = sorted(near, key=lambda other: other.seq)
    return around


def _key(candidate: Candidate) -> tuple[Namespace, str, str]:
    return candidate.namespace, candidate.id, candidate.text


def _held(candidate: Candidate) -> dict[str, int]:
    return dict(sorted(candidate.counts.items()))


# -- filters --------------------------------------------------------------------------------------------------------------


def obstacle(where: Filter, fields: Mapping[str, Any]) -> str:
    """The part of a filter that keeps something with these fields out, and what is there instead; "" if nothing does."""
    if passes(where, fields):
        return ""
    match where:
        case And(parts):
            return next(told for part in parts if (told := obstacle(part, fields)))
        case Or(parts):
            return "none of: " + "; ".join(obstacle(part, fields) for part in parts) if parts else "one of nothing"
        case Not(part):
            return f"not ({_told(part)})"
        case Compare(field) | In(field) | Contains(field) | Exists(field):
            return f"{_told(where)}; it has {_value(field, fields)}"
    return _told(where)


def _told(where: Filter) -> str:
    match where:
        case And(parts):
            return " and ".join(f"({_told(part)})" for part in parts) or "all of nothing"
        case Or(parts):
            return " or ".join(f"({_told(part)})" for part in parts) or "one of nothing"
        case Not(part):
            return f"not ({_told(part)})"
        case Compare(field, op, value):
            return f"{'.'.join(field)} {op} {_json(value)}"
        case In(field, values):
            return f"{'.'.join(field)} in {_json(values)}"
        case Contains(field, value):
            return f"{'.'.join(field)} contains {_json(value)}"
        case Exists(field):
            return f"{'.'.join(field)} exists"
    return type(where).__name__


def _value(field: Sequence[str], fields: Mapping[str, Any]) -> str:
    found: Any = fields
    for key in field:
        if not isinstance(found, Mapping) or key not in found:
            return "no such field"
        found = found[key]
    return _json(found)


def _json(value: Any) -> str:
    return msgspec.json.encode(value).decode()
