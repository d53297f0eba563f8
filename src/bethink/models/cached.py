"""A counter that remembers: the same message is counted for the plan, for the choice and for the result."""

from __future__ import annotations

from functools import lru_cache

from bethink.models import TokenCounter

__all__ = ["CachedCounter"]

_TEXTS = 16_384
_LONGEST = 4_096


class CachedCounter:
    """Counts like the counter it wraps, and keeps the counts of the last few thousand texts that are not long.

    `forget` empties it: what was removed from the database is not to live on in the process.
    """

    def __init__(self, counter: TokenCounter) -> None:
        self._counter = counter
        self._short = lru_cache(maxsize=_TEXTS)(counter.count)

    @property
    def name(self) -> str:
        return self._counter.name

    def count(self, text: str) -> int:
        return self._short(text) if len(text) <= _LONGEST else self._counter.count(text)

    def forget(self) -> None:
        self._short.cache_clear()
