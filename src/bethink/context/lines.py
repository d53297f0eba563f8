"""Items written as lines, and the last of them kept: most of what a context shows was in the one before it. Pure but for that.

What a line says follows from seven fields of its item, and the words of a text from the text. An answer is kept under exactly
these, so it is right whenever it is found, whatever has happened to the database meanwhile; what has changed has another key.
"""

from __future__ import annotations

from functools import lru_cache

from bethink.context.items import Item, Shown, line_from
from bethink.models import TokenCounter
from bethink.retrieval.terms import index_terms

__all__ = ["Lines", "words_of"]

_KEPT = 4_096
_LONGEST_KEPT = 2_000
"""Characters of a text."""


def words_of(text: str) -> frozenset[str]:
    """The index terms of a text, each once."""
    return frozenset(index_terms(text).split())


class Lines:
    """Writes items as lines, and tells the words of a text; keeps the last of both. May be used from many threads.

    `forget` empties it: what was removed from the database is not to live on in the process.
    """

    def __init__(self) -> None:
        self._line = lru_cache(maxsize=_KEPT)(line_from)
        self._words = lru_cache(maxsize=_KEPT)(words_of)

    def shown(self, item: Item, counter: TokenCounter) -> Shown:
        """See `items.shown`."""
        write = self._line if len(item.text) <= _LONGEST_KEPT else line_from
        line = write(item.text, item.of, item.id, item.at, item.trust, item.speaker, item.changed)
        return Shown(item, line, counter.count(line) + 1)

    def words(self, text: str) -> frozenset[str]:
        """See `words_of`."""
        return self._words(text) if len(text) <= _LONGEST_KEPT else words_of(text)

    def forget(self) -> None:
        self._line.cache_clear()
        self._words.cache_clear()
