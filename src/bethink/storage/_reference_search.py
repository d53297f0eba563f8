"""What a search finds in the state: two legs over the units in scope, and the statistics of those units.

BM25 here only chooses candidates (k1 1.2, b 0.75, as in Robertson and Zaragoza 2009); `retrieval.rank` gives the scores.
"""

from __future__ import annotations

import math
from bisect import bisect_left
from collections import Counter
from datetime import datetime
from typing import Any

from bethink.messages import Message
from bethink.models import Fingerprint
from bethink.records import AnyRecord
from bethink.storage._reference_spaces import is_filling, vector_of
from bethink.storage._reference_state import State, Unit, in_scope
from bethink.storage.base import Candidate, Found, InView, Past, Scope, Search, fields_of, passes
from bethink.storage.derive import speaker_of, thread_of
from bethink.storage.vectors import check_query

__all__ = ["search", "speakers", "unit_text"]

_K1, _B = 1.2, 0.75


def search(state: State, request: Search) -> Found:
    """See `storage.base.Search`. The statistics are those of every unit in scope, whatever its kind and current or not."""
    filling = is_filling(state, request.space)
    space = state.filling if filling else state.embedder
    if request.vector is not None:
        check_query(request.vector, space.dimension if space else None)
    units = {number: unit for number, unit in state.units.items() if in_scope(unit.namespace, request.scope)}
    units = {number: unit for number, unit in units.items() if _there(state, unit, request.past)}
    vectors = {number: vector_of(unit, filling=filling) for number, unit in units.items()}
    words = {number: unit.terms.split(" ") for number, unit in units.items()}
    counts = {number: Counter(each) for number, each in words.items()}
    terms = tuple(dict.fromkeys(request.terms))
    frequency = {term: sum(term in count for count in counts.values()) for term in terms}
    lengths = {number: count.total() for number, count in counts.items()}
    mean_length = sum(lengths.values()) / len(lengths) if lengths else 0.0

    seen = _Seen(state, request.in_view)
    eligible = [number for number, unit in units.items() if _eligible(state, unit, request) and not seen.holds(unit)]
    cosines = _cosines({number: vectors[number] for number in eligible}, request.vector)

    def candidates(numbers: set[int], cosines: dict[int, float]) -> tuple[Candidate, ...]:
        return tuple(
            _candidate(
                state,
                units[number],
                positions={term: _places(term, words[number]) for term in terms if counts[number][term]},
                length=lengths[number],
                cosine=cosines.get(number),
                tokens=_tokens(units[number], request.tokens),
            )
            for number in sorted(numbers)
        )

    def bm25(number: int) -> float:
        score = 0.0
        for term in terms:
            count = counts[number][term]
            rarity = math.log(1 + (len(units) - frequency[term] + 0.5) / (frequency[term] + 0.5))
            score += rarity * count * (_K1 + 1) / (count + _K1 * (1 - _B + _B * lengths[number] / mean_length))
        # Rounded, so that the order of a sum does not decide between equals.
        return round(score, 9)

    matching = [number for number in eligible if any(counts[number][term] for term in terms)]
    lexical = sorted(matching, key=lambda number: (-bm25(number), number))[: request.limit]
    dense = sorted(cosines, key=lambda number: (-cosines[number], number))[: request.limit]
    around = _around({*lexical[: request.around], *dense[: request.around]}, units)
    beside = around.difference(eligible)
    return Found(
        candidates=candidates({*lexical, *dense, *around} - beside, cosines),
        units=len(units),
        mean_length=mean_length,
        frequency={term: count for term, count in frequency.items() if count},
        pending=sum(vector is None for vector in vectors.values()),
        beside=candidates(beside, _cosines({number: vectors[number] for number in beside}, request.vector)),
    )


def _around(centres: set[int], units: dict[int, Unit]) -> set[int]:
    """The neighbours of some units: messages of the same thread, at most two seqs away."""
    number_at = {(unit.namespace, unit.thread_id, unit.seq): number for number, unit in units.items() if unit.seq}
    places = [
        (unit.namespace, unit.thread_id, unit.seq + step)
        for unit in map(units.__getitem__, centres)
        if unit.seq
        for step in (-2, -1, 1, 2)
    ]
    return {number_at[place] for place in places if place in number_at}


def _places(term: str, words: list[str]) -> tuple[int, ...]:
    return tuple(place for place, word in enumerate(words) if word == term)


def speakers(state: State, scope: Scope, at: datetime | None) -> tuple[str, ...]:
    """See `storage.base.Store.speakers`."""
    units = (unit for unit in state.units.values() if in_scope(unit.namespace, scope))
    said = (_thing(state, unit) for unit in units if at is None or (unit.seq and stored_by(state, unit, at)))
    return tuple(sorted({name for thing in said if isinstance(thing, Message) and (name := speaker_of(thing))}))


def stored_by(state: State, unit: Unit, at: datetime) -> bool:
    """Whether a message was stored by a time, in a thread that there was then."""
    thread = state.thread(unit.namespace, unit.thread_id)
    return thread.stored[unit.seq] <= at and thread.info.created_at <= at


def _there(state: State, unit: Unit, past: Past | None) -> bool:
    if past is None or past.at is None:
        return True
    return stored_by(state, unit, past.at) if unit.seq else (unit.namespace, unit.id) in past.known


def _eligible(state: State, unit: Unit, request: Search) -> bool:
    thing = _thing(state, unit)
    if isinstance(thing, Message):
        chosen = "message" in request.kinds
    else:
        chosen = thing.kind in request.kinds and _wanted(unit, thing, request)
    return chosen and (request.where is None or passes(request.where, _fields(state, unit, thing)))


def _wanted(unit: Unit, record: AnyRecord, request: Search) -> bool:
    if request.past is not None:
        return (unit.namespace, record.id) in request.past.found
    return record.current or not request.current


def _fields(state: State, unit: Unit, thing: Message | AnyRecord) -> dict[str, Any]:
    return fields_of(thing, unit.thread_id, state.thread(unit.namespace, unit.thread_id).tiers if unit.seq else {})


class _Seen:
    """What is in view already."""

    def __init__(self, state: State, in_view: InView | None) -> None:
        self._state, self._in_view = state, in_view
        self._messages: frozenset[str] = frozenset()
        row = None if in_view is None else state.threads.get((in_view.namespace, in_view.thread_id))
        if in_view is not None and row is not None:
            self._messages = frozenset(each.id for each in row.value.messages if _in_spans(each.seq, in_view))

    def holds(self, unit: Unit) -> bool:
        if self._in_view is None or unit.namespace != self._in_view.namespace:
            return False
        thing = _thing(self._state, unit)
        if not isinstance(thing, Message):
            return thing.id in self._in_view.records
        return thing.id in self._messages


def _in_spans(seq: int, in_view: InView) -> bool:
    return any(first <= seq <= last for first, last in in_view.spans)


def _cosines(vectors: dict[int, bytes | None], query: bytes | None) -> dict[int, float]:
    """Similarity to the query of each unit that has a vector; none at all without a query. All are unit vectors."""
    embedded = {number: vector for number, vector in vectors.items() if vector is not None}
    if query is None or not embedded:
        return {}
    import numpy as np

    matrix = np.frombuffer(b"".join(embedded.values()), dtype="<f4").reshape(len(embedded), -1)
    similarities = matrix @ np.frombuffer(query, dtype="<f4")
    return dict(zip(embedded, similarities.tolist(), strict=True))


def _tokens(unit: Unit, space: Fingerprint | None) -> bytes | None:
    return unit.tokens[1] if unit.tokens is not None and unit.tokens[0] == space else None


def _candidate(
    state: State, unit: Unit, *, positions: dict[str, tuple[int, ...]], length: int, cosine: float | None, tokens: bytes | None
) -> Candidate:
    thing = _thing(state, unit)
    if isinstance(thing, Message):
        assert thing.created_at is not None, "a stored message has its time"
        return Candidate(
            kind="message",
            id=thing.id,
            namespace=unit.namespace,
            thread_id=unit.thread_id,
            seq=thing.seq,
            text=thing.text,
            speaker=thing.speaker,
            trust=thing.trust,
            at=thing.created_at,
            positions=positions,
            length=length,
            cosine=cosine,
            tokens=tokens,
        )
    return Candidate(
        kind=thing.kind,
        id=thing.id,
        namespace=unit.namespace,
        thread_id=thread_of(thing),
        seq=0,
        text=thing.text,
        speaker="",
        trust=thing.trust,
        at=thing.at,
        positions=positions,
        length=length,
        cosine=cosine,
        tokens=tokens,
    )


def _thing(state: State, unit: Unit) -> Message | AnyRecord:
    """What the unit stands for."""
    if unit.seq:
        messages = state.thread(unit.namespace, unit.thread_id).messages
        return messages[bisect_left(messages, unit.seq, key=lambda message: message.seq)]
    return state.record(unit.namespace, unit.id)


def unit_text(state: State, unit: Unit) -> str:
    """The words that are to be embedded."""
    return _thing(state, unit).text
