"""A search in several namespaces as if they were one: each is asked by itself, and the answers are ranked together.

Each request names its namespace, so a store never looks where nobody asked it to. Statistics are those of all the places
together; what is a candidate in one has the score that it would have, were all of it in one place.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Sequence
from datetime import datetime

import msgspec

from bethink.engine import Engine
from bethink.storage.base import Found, Past, Scope, Search
from bethink.values import Namespace

__all__ = ["search_each", "speakers_of_each", "together"]

replace = msgspec.structs.replace


def search_each(search: Callable[[Search], Found], scopes: Sequence[Scope]) -> Callable[[Search], Found]:
    """A search of all scopes, none of which lies within another."""
    if len(scopes) == 1:
        return search

    def found(request: Search) -> Found:
        return together([search(replace(request, scope=scope, past=_within(scope, request.past))) for scope in scopes])

    return found


def speakers_of_each(engine: Engine, scopes: Sequence[Scope], at: datetime | None) -> Callable[[Scope], tuple[str, ...]]:
    """Who speaks in any of the scopes, whichever of them is asked for."""

    def speakers(_: Scope) -> tuple[str, ...]:
        return tuple(sorted({name for scope in scopes for name in engine.store.speakers(scope, at=at)}))

    return speakers


def together(found: Sequence[Found]) -> Found:
    """What was found in several places that have nothing in common, as if in one. Linear in the candidates."""
    frequency: Counter[str] = Counter()
    for each in found:
        frequency.update(each.frequency)
    units = sum(each.units for each in found)
    return Found(
        candidates=tuple([candidate for each in found for candidate in each.candidates]),
        units=units,
        mean_length=sum(each.units * each.mean_length for each in found) / units if units else 0.0,
        frequency=dict(frequency),
        pending=sum(each.pending for each in found),
        paths=tuple(sorted({path for each in found for path in each.paths})),
        beside=tuple([candidate for each in found for candidate in each.beside]),
    )


def _within(scope: Scope, past: Past | None) -> Past | None:
    """Of what there was, what was in a scope."""
    if past is None:
        return None

    def inside(place: tuple[Namespace, str]) -> bool:
        namespace = place[0]
        return namespace[: len(scope.namespace)] == scope.namespace

    return replace(past, known=tuple(filter(inside, past.known)), found=tuple(filter(inside, past.found)))
