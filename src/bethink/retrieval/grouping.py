"""Hits as turns or sessions: what belongs together, with the score of its best. Pure.

    message   each hit is a unit of its own, whatever it is
    turn      a user message with all that follows it up to the next one
    session   a thread: its messages that answer, and its session summaries
    record    notes, insights and session summaries alone, each a unit of its own

A unit has the score of its best member. Sums of the best few, powers of them, and the share of the query that a session covers
as a whole were tried on LoCoMo, and none finds more sessions (recall_any at 5, development: best .945; best and half of the
second .940; sum of all .900).
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Literal, TypeAlias

import msgspec

from bethink.messages import Message
from bethink.retrieval.hits import Hit, Member, RecallResult
from bethink.values import Namespace

__all__ = ["Unit", "grouped"]

Unit: TypeAlias = Literal["message", "turn", "session", "record"]

replace = msgspec.structs.replace


def grouped(result: RecallResult, unit: Unit, *, k: int, turn: Callable[[Hit], Sequence[Message]]) -> RecallResult:
    """The `k` best units of all hits, best first: each as its best hit, with its members in order.

    Args:
        result: every hit there is, not the best few.
        turn: the messages of a hit's turn, in order; asked for at most `k` of them.
    """
    if unit == "turn":
        return replace(result, hits=_turns(result.hits, k, turn))
    if unit == "session":
        return replace(result, hits=_sessions(result.hits)[:k])
    return replace(result, hits=result.hits[:k])


def _sessions(hits: Sequence[Hit]) -> tuple[Hit, ...]:
    units: dict[tuple[Namespace, str, str], list[Hit]] = {}
    for hit in hits:
        key = (hit.namespace, "", hit.id) if hit.thread_id is None else (hit.namespace, "thread", hit.thread_id)
        units.setdefault(key, []).append(hit)
    return tuple([_unit(of[0], [_member(each) for each in of]) for of in units.values()])


def _turns(hits: Sequence[Hit], k: int, turn: Callable[[Hit], Sequence[Message]]) -> tuple[Hit, ...]:
    units: list[tuple[Hit, list[Member]]] = []
    # Of each message of a turn: which unit it is in, and which of its members it is.
    places: dict[tuple[Namespace, str | None, int], tuple[int, int]] = {}
    for hit in hits:
        at = places.get((hit.namespace, hit.thread_id, hit.seq)) if hit.kind == "message" else None
        if at is not None:
            members = units[at[0]][1]
            members[at[1]] = replace(members[at[1]], score=hit.score)
        elif len(units) < k:
            members = _around(hit, turn) if hit.kind == "message" else [_member(hit)]
            if hit.kind == "message":
                places.update(((hit.namespace, hit.thread_id, each.seq), (len(units), n)) for n, each in enumerate(members))
            units.append((hit, members))
    return tuple([_unit(hit, members) for hit, members in units])


def _around(hit: Hit, turn: Callable[[Hit], Sequence[Message]]) -> list[Member]:
    said = [
        Member(
            kind="message",
            id=each.id,
            thread_id=hit.thread_id,
            seq=each.seq,
            text=each.text,
            speaker=each.speaker,
            trust=each.trust,
            at=each.created_at or hit.at,
        )
        for each in turn(hit)
        if each.text.strip() and each.id != hit.id
    ]
    return sorted([*said, _member(hit)], key=lambda each: each.seq)


def _member(hit: Hit) -> Member:
    return Member(
        kind=hit.kind,
        id=hit.id,
        thread_id=hit.thread_id,
        seq=hit.seq,
        text=hit.text,
        speaker=hit.speaker,
        trust=hit.trust,
        at=hit.at,
        score=hit.score,
    )


def _unit(best: Hit, members: Sequence[Member]) -> Hit:
    return replace(best, members=tuple(sorted(members, key=lambda each: (each.seq, each.kind, each.id))))
