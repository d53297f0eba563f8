"""Which namespaces are listed: those that match, cut to a depth, in order, page by page. Pure."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from bethink.errors import InvalidInput, InvalidNamespace
from bethink.values import Namespace, check_id

__all__ = ["ANY", "checked_pattern", "listed_places"]

ANY = "*"
"""Stands for any one segment."""


def checked_pattern(given: object, field: str) -> tuple[str, ...]:
    """Leading or last segments of a namespace, some of which may be `ANY`; () matches all."""
    if isinstance(given, str) or not isinstance(given, Sequence):
        raise InvalidNamespace(field, f"a {type(given).__name__}", 'pass a tuple of segments, such as ("users", "*")')
    return tuple([check_id(segment, f"{field}[{place}]", InvalidNamespace) for place, segment in enumerate(given)])


def listed_places(
    places: Iterable[Namespace],
    *,
    prefix: tuple[str, ...] = (),
    suffix: tuple[str, ...] = (),
    max_depth: int | None = None,
    limit: int | None = None,
    offset: int = 0,
) -> list[Namespace]:
    """Those that begin and end as the patterns say, each cut to `max_depth` segments and there once, sorted.

    What is matched is the whole place, what is counted is what is left of it.
    """
    if max_depth is not None and max_depth < 1:
        raise InvalidInput("max_depth", f"{max_depth}", "use 1 or more, or leave it out")
    matching = [place for place in places if _matches(place[: len(prefix)], prefix) and _ends_as(place, suffix)]
    cut = sorted({place[:max_depth] for place in matching})
    return cut[offset : None if limit is None else offset + limit]


def _ends_as(place: Namespace, suffix: tuple[str, ...]) -> bool:
    return _matches(place[max(0, len(place) - len(suffix)) :], suffix)


def _matches(segments: Namespace, pattern: tuple[str, ...]) -> bool:
    return len(segments) == len(pattern) and all(
        wanted in (ANY, segment) for segment, wanted in zip(segments, pattern, strict=True)
    )
