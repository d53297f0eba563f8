"""Why: a recall, and each hit of it explained; or why something is no hit of it, and what would make it one.

The search and the ranking are those of `steps.recall`, asked with the same arguments, so that what is told cannot differ from
what is returned. `why_not` looks the thing up first, and searches again with larger limits only if it has to.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from datetime import datetime
from functools import partial
from typing import TYPE_CHECKING

import msgspec

from bethink.engine import Bound, Engine
from bethink.errors import NotFound
from bethink.messages import Message
from bethink.records import AnyRecord
from bethink.retrieval.grouping import Unit
from bethink.retrieval.hits import RecallResult
from bethink.retrieval.rank import ranking
from bethink.retrieval.recall import Looked, weighed_for
from bethink.retrieval.why import Placed, Term, Why, WhyNot, obstacle, places, reasons
from bethink.steps.answer import Wanted, answered, look_for, most_of
from bethink.steps.past import NOW, When, tip_at
from bethink.steps.recall import embed_some
from bethink.storage.base import Get, Past, Read, Scope, StoredMessage, StoredRecord, fields_of
from bethink.storage.derive import terms_of, thread_of

if TYPE_CHECKING:
    from bethink.retrieval.scores import Scored

__all__ = ["why", "why_not"]

replace = msgspec.structs.replace


def why(engine: Engine, scope: Scope, query: str, wanted: Wanted) -> Why:
    """The recall, and why each of its hits is one."""

    def explained(bound: Bound | None) -> Why:
        embed_some(engine, bound, scope)
        now = wanted.at or engine.clock.now()
        looked = look_for(engine, bound, scope, query, wanted)
        return told(engine, looked, answered(engine, looked, wanted, now=now), now)

    return engine.in_space(explained)


def told(engine: Engine, looked: Looked, result: RecallResult, now: datetime) -> Why:
    """What a search found and what was made of it, explained."""
    found = looked.found
    ranked = _ranked(engine, looked, now)
    asked = weighed_for(looked, engine.ranker)
    return Why(
        query=looked.query,
        names=tuple(sorted(looked.names)),
        terms={term: Term(weight, found.frequency.get(term, 0)) for term, weight in asked.weights.items()},
        times=tuple([(cue.start, cue.end, cue.relation) for cue in looked.cues]),
        legs=result.legs,
        paths=found.paths,
        units=found.units,
        pending=found.pending,
        candidates=len(found.candidates),
        limit=looked.request.limit,
        best=_best(ranked),
        threshold=asked.needed,
        least=asked.least,
        ranker=engine.ranker.fingerprint,
        result=result,
        hits=reasons(looked, ranked, result.hits),
    )


def why_not(engine: Engine, scope: Scope, thing_id: str, query: str, wanted: Wanted, asked: When = NOW) -> WhyNot:
    """Where the message or record of that id falls out of the recall, at the times that were `asked` for.

    Costs a recall, and where no leg has it among its best, one more whose limit is the number of units in scope.
    """

    def told(bound: Bound | None) -> WhyNot:
        embed_some(engine, bound, scope)
        look = partial(look_for, engine, bound, scope, query)
        looked = look(wanted)
        things, missing = _things(engine, scope, thing_id)
        if missing is not None:
            return missing
        now = wanted.at or engine.clock.now()
        result = answered(engine, looked, wanted, now=now)
        known = _of(things[0]).id
        # First of all: a turn may hold what is never searched for.
        if (rank := _rank(result, known)) is not None:
            placed = _placed(_ranked(engine, looked, now), known)
            return WhyNot(id=known, step="found", detail=f"it is in hit {rank}", placed=placed)
        return (
            _not_searched(looked, things, wanted.unit)
            or _not_then(engine, things, asked, wanted.past)
            or _without_words(looked, things)
            or _filtered(engine, looked, things)
            or _fallen(engine, known, wanted, looked, result, look, now)
        )

    return engine.in_space(told)


# -- before the search ----------------------------------------------------------------------------------------------------


def _things(engine: Engine, scope: Scope, given: str) -> tuple[tuple[StoredMessage | StoredRecord, ...], WhyNot | None]:
    """What has the id: a message once for each thread that holds it. Or why there is none."""
    thing_id = given.removeprefix("[").removesuffix("]")
    if thing_id.startswith("mem:"):
        mark = thing_id.removeprefix("mem:")
        found = engine.store.get(Get(scope=scope, endings=(mark,))).records
        known = [each.record.id for each in found if each.record.kind != "item"]
        thing_id = known[0] if known else thing_id
    wider = Scope(scope.namespace, subtree=True)
    for where in (scope, wider):
        fetched = engine.store.get(Get(scope=where, messages=(thing_id,), records=(thing_id,)))
        things: tuple[StoredMessage | StoredRecord, ...] = (*fetched.messages, *fetched.records)
        if things and where == scope:
            return things, None
        if things:
            inside = "/".join(things[0].namespace)
            detail = f"it is in the namespace {inside}, below the one that was searched"
            return (), WhyNot(id=thing_id, step="namespace", detail=detail, change="below=True")
    return (), WhyNot(id=given, step="stored", detail="nothing of that id is stored in this namespace")


def _not_searched(looked: Looked, things: Sequence[StoredMessage | StoredRecord], unit: Unit) -> WhyNot | None:
    """Why the search does not even look at it."""
    thing = _of(things[0])
    kind = "message" if isinstance(thing, Message) else thing.kind
    if kind == "state":
        return WhyNot(id=thing.id, step="kind", detail="it is an entry of a state, which is read and not searched")
    if kind not in looked.request.kinds:
        detail = f"it is of kind {kind}; asked for: {', '.join(looked.request.kinds)}"
        change = 'unit="message"' if unit == "record" else f"kinds with {kind!r}"
        return WhyNot(id=thing.id, step="kind", detail=detail, change=change)
    if looked.request.past is None and not isinstance(thing, Message) and not thing.current:
        reason = f": {thing.reason}" if thing.reason else ""
        by = f" by {thing.superseded_by}" if thing.superseded_by else ""
        return WhyNot(id=thing.id, step="retired", detail=f"it was retired{by}{reason}", superseded_by=thing.superseded_by)
    return None


def _not_then(engine: Engine, things: Sequence[StoredMessage | StoredRecord], asked: When, then: Past | None) -> WhyNot | None:
    """Why it was not there, or did not hold, at the times asked for; in whichever thread it is, if in several."""
    if then is None:
        return None
    told = [_absence(engine, stored, asked, then) for stored in things]
    absent = [each for each in told if each is not None]
    if len(absent) < len(told):
        return None
    detail, change = absent[0]
    return WhyNot(id=_of(things[0]).id, step="time", detail=detail, change=change)


def _absence(engine: Engine, stored: StoredMessage | StoredRecord, asked: When, then: Past) -> tuple[str, str] | None:
    """What is the matter with one thing at those times, and what would have it found; None where nothing is."""
    if isinstance(stored, StoredRecord):
        place = stored.namespace, stored.record.id
        if place in then.found:
            return None
        if asked.as_of is not None and place not in then.known:
            return "it was not known yet at that time", "a later as_of"
        if asked.valid_at is not None:
            return "it did not hold at that time of the world, as far as is known", "another valid_at"
        return "it was known at that time, and no longer current", "an earlier as_of"
    message = stored.message
    if asked.as_of is not None and tip_at(engine, stored.namespace, stored.thread_id, asked.as_of) < message.seq:
        return "it was stored after that time", "a later as_of"
    if asked.valid_at is not None and message.created_at is not None and message.created_at > asked.valid_at:
        return "it was said after that time", "a later valid_at"
    return None


def _without_words(looked: Looked, things: Sequence[StoredMessage | StoredRecord]) -> WhyNot | None:
    """Why there is nothing to compare, of the thing or of the query."""
    thing = _of(things[0])
    if not terms_of(thing):
        pinned = isinstance(thing, Message) and thing.pinned
        detail = "it is pinned, and so in every context: search leaves it out" if pinned else "it holds no word to search for"
        return WhyNot(id=thing.id, step="searched", detail=detail)
    if not looked.query.strip():
        return WhyNot(id=thing.id, step="query", detail="the query is empty")
    return None


def _filtered(engine: Engine, looked: Looked, things: Sequence[StoredMessage | StoredRecord]) -> WhyNot | None:
    """Which part of the filter is not true of it; in whichever thread it is, if in several."""
    where = looked.request.where
    if where is None:
        return None
    conditions = []
    for stored in things:
        thing = _of(stored)
        if isinstance(stored, StoredMessage):
            try:
                request = Read(namespace=stored.namespace, thread_id=stored.thread_id, limit=0, marks=True)
                fields = fields_of(thing, stored.thread_id, engine.store.read(request).tiers)
            except NotFound:
                # Forgotten since.
                continue
        else:
            fields = fields_of(thing, thread_of(stored.record) or "", {})
        conditions.append(obstacle(where, fields))
    if not conditions or not all(conditions):
        return None
    return WhyNot(
        id=_of(things[0]).id,
        step="filter",
        detail=f"the filter is not true of it: {conditions[0]}",
        change="a filter without that",
        condition=conditions[0],
    )


def _of(stored: StoredMessage | StoredRecord) -> Message | AnyRecord:
    return stored.message if isinstance(stored, StoredMessage) else stored.record


# -- in the search, and after it ------------------------------------------------------------------------------------------


def _fallen(
    engine: Engine,
    thing_id: str,
    wanted: Wanted,
    looked: Looked,
    result: RecallResult,
    look: Callable[[Wanted], Looked],
    now: datetime,
) -> WhyNot:
    """Where what is searched for, passes the filter and is in no hit falls out. `look` searches again."""
    ranked = _ranked(engine, looked, now)
    placed = _placed(ranked, thing_id)
    if placed is None:
        return _beyond(engine, thing_id, wanted, looked, look, now)
    best, asked = _best(ranked), weighed_for(looked, engine.ranker)
    threshold, least = asked.needed, asked.least
    if best < threshold:
        detail = f"the best candidate is worth {best:.3f}, below the threshold of {threshold:.3f}, so nothing answers"
        return _below(engine, looked, thing_id, placed, best, threshold, detail)
    if placed.worth < least:
        detail = f"it is worth {placed.worth:.3f}, {least - placed.worth:.3f} below the {least:.3f} that each hit needs"
        return _below(engine, looked, thing_id, placed, best, least, detail)
    whole = answered(engine, looked, replace(wanted, k=len(ranked), budget=None, passages=False), now=now)
    place = _rank(whole, thing_id) or placed.rank
    most = most_of(engine, wanted)
    if place > most:
        last = whole[most - 1].score
        least_k = _least_k(engine, thing_id, wanted, place, look, now)
        return WhyNot(
            id=thing_id,
            step="k",
            detail=f"it is number {place} of {len(whole)} answers, scores {placed.score:.3f}; number {most} scores {last:.3f}",
            change=f"k={least_k}",
            placed=placed,
            needed=last,
            k=least_k,
        )
    for left_out in result.left_out:
        if left_out.id == thing_id:
            return WhyNot(
                id=thing_id,
                step="budget",
                detail=f"its line takes {left_out.tokens} tokens, {left_out.left} were left of {wanted.budget}",
                change="a larger budget",
                placed=placed,
                tokens=left_out.tokens,
                left=left_out.left,
            )
    raise AssertionError("what is no hit fell at one of the steps")


def _below(engine: Engine, looked: Looked, thing_id: str, placed: Placed, best: float, needed: float, detail: str) -> WhyNot:
    """Of a candidate that is worth too little, or of which the best is."""
    tail = engine.ranker.tail
    enough = _floor(min(1.0, (min(best, placed.worth / tail) if tail else best) / weighed_for(looked, engine.ranker).leniency))
    dense = any(candidate.cosine is not None for candidate in looked.found.candidates)
    return WhyNot(
        id=thing_id,
        step="threshold",
        detail=detail,
        change=f"a ranker with a {'threshold' if dense else 'lexical_threshold'} of {enough}",
        placed=placed,
        needed=needed,
        threshold=enough,
    )


def _floor(value: float) -> float:
    """To three decimals, downwards."""
    return int(value * 1000) / 1000


def _beyond(
    engine: Engine, thing_id: str, wanted: Wanted, looked: Looked, look: Callable[[Wanted], Looked], now: datetime
) -> WhyNot:
    """Of what no leg has among its best."""
    wide = look(replace(wanted, k=max(1, looked.found.units), budget=None))
    placed = _placed(_ranked(engine, wide, now), thing_id)
    if placed is None or (placed.by_words is None and placed.by_meaning is None):
        why = "the search was by words alone" if looked.request.vector is None else "it has no vector yet"
        detail = f"it holds no word of the query, is not next to the best of what does, and {why}"
        return WhyNot(id=thing_id, step="legs", detail=detail)
    legs = [
        f"number {place} by {leg}"
        for leg, place in (("words", placed.by_words), ("meaning", placed.by_meaning))
        if place is not None
    ]
    return WhyNot(
        id=thing_id,
        step="legs",
        detail=f"it is {' and '.join(legs)}; of each the first {looked.request.limit} are ranked, and those around the best",
        change=f"k={max(place for place in (placed.by_words, placed.by_meaning) if place is not None)}",
        placed=placed,
    )


def _least_k(engine: Engine, thing_id: str, wanted: Wanted, place: int, look: Callable[[Wanted], Looked], now: datetime) -> int:
    """The `k` that has it: more may be found by a larger one, some of it before this."""
    while True:
        wider = replace(wanted, k=place, budget=None)
        looked = look(wider)
        whole = answered(engine, looked, replace(wider, k=max(place, len(looked.found.candidates))), now=now)
        rank = _rank(whole, thing_id)
        if rank is None or rank <= place or place >= looked.found.units:
            return place
        place = rank


def _best(ranked: Sequence[Scored]) -> float:
    """What the best is worth."""
    return max([each.worth for each in ranked], default=0.0)


def _ranked(engine: Engine, looked: Looked, now: datetime) -> list[Scored]:
    return ranking(
        looked.found,
        looked.query,
        looked.terms,
        names=looked.names,
        cues=looked.cues,
        now=now,
        ranker=engine.ranker,
        tokens=looked.tokens,
    )


def _placed(ranked: Sequence[Scored], thing_id: str) -> Placed | None:
    placed = places(ranked)
    return next((placed[number] for number, each in enumerate(ranked) if each.candidate.id == thing_id), None)


def _rank(result: RecallResult, thing_id: str) -> int | None:
    """Which hit it is, or is a member of, from 1."""
    for number, hit in enumerate(result.hits, 1):
        if hit.id == thing_id or any(member.id == thing_id for member in hit.members):
            return number
    return None
