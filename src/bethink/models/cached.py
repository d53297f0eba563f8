"""A counter that remembers: the same message is counted for the plan, for the choice and for the result."""

from __future__ import annotations

from functools import lru_cache

from bethink.models import TokenCounter

__all__ = ["CachedCounter"]

_SHORT_TEXTS, _SHORT = 16_384, 2_048
_LONG_TEXTS, _LONG = 64, 131_072


class CachedCounter:
    """Counts like the counter it wraps, and keeps the counts of the last thousands of short texts and of a few long ones.

    `forget` empties it: what was removed from the database is not to live on in the process.
    """

    def __init__(self, counter: TokenCounter) -> None:
        self._counter = counter
        self._short = lru_cache(maxsize=_SHORT_TEXTS)(counter.count)
        self._long = lru_cache(maxsize=_LONG_TEXTS)(counter.count)

    @property
    def name(self) -> str:
        return self._counter.name

    def count(self, text: str) -> int:
        if len(text) <= _SHORT:
            return self._short(text)
        return self._long(text) if len(text) <= _LONG else self._counter.count(text)

    def forget(self) -> None:
        self._short.cache_clear()
        self._long.cache_clear()
