"""Items written as lines, and the last of them kept: most of what a context shows was in the one before it. Pure but for that.

What a line says follows from a few fields of its item, or from a record as it was read; the words of a text follow from
the text. An answer is kept under exactly these, so it is right whenever it is found, whatever has happened to the database
meanwhile: what has changed has another key.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import lru_cache

import msgspec

from bethink.context.items import Item, SectionName, Shown, item_of_record, line_from, line_of, shown_as
from bethink.models import TokenCounter
from bethink.records import AnyRecord, Insight, Node
from bethink.retrieval.terms import index_terms

__all__ = ["FoldedLines", "Lines", "words_of"]

replace = msgspec.structs.replace

_KEPT = 4_096
_LONGEST_KEPT = 2_000
"""Characters of a text."""


def words_of(text: str) -> frozenset[str]:
    """The index terms of a text, each once."""
    return frozenset(index_terms(text).split())


class Lines:
    """Writes records and other items as lines, and tells the words of a text; keeps the last of each. May be used from many
    threads.

    `forget` empties it: what was removed from the database is not to live on in the process.
    """

    def __init__(self) -> None:
        self._line = lru_cache(maxsize=_KEPT)(line_from)
        self._words = lru_cache(maxsize=_KEPT)(words_of)
        self._records: dict[str, tuple[AnyRecord, Item, str]] = {}

    def of_record(
        self,
        record: AnyRecord,
        section: SectionName,
        reason: str,
        scores: dict[str, float],
        counter: TokenCounter,
        group: str = "",
    ) -> Shown:
        """The record as a line. It is the same for as long as it is the same object: whoever reads one that has changed gets
        another.
        """
        known, item, line = self._records.get(record.id) or (None, None, "")
        if item is None or known is not record:
            item = item_of_record(record, section, reason)
            line = line_of(item)
            if len(self._records) >= _KEPT:
                self._records.clear()
            if len(line) <= _LONGEST_KEPT:
                self._records[record.id] = (record, item, line)
        return shown_as(replace(item, section=section, reason=reason, scores=scores, group=group), line, counter)

    def shown(self, item: Item, counter: TokenCounter) -> Shown:
        """See `items.shown`."""
        write = self._line if len(item.text) <= _LONGEST_KEPT else line_from
        line = write(item.text, item.of, item.id, item.trust, item.speaker, item.changed, item.disputed)
        return shown_as(item, line, counter)

    def words(self, text: str) -> frozenset[str]:
        """See `words_of`."""
        return self._words(text) if len(text) <= _LONGEST_KEPT else words_of(text)

    def forget(self) -> None:
        self._records.clear()
        self._line.cache_clear()
        self._words.cache_clear()


class FoldedLines(msgspec.Struct, frozen=True, kw_only=True):
    """The lines that stood for a thread's folded past in a context, and all that they followed from (see `steps.folded`).

    Attributes:
        limit: tokens that they were chosen within.
        nodes, segments: the summary nodes that they are of.
        sources: ids of the messages that these rest on; `visible` those of them that were in view.
        changed: what has taken the place of something a message said (see `Known`).
        lines: as they were written for the context.
    """

    limit: int
    nodes: tuple[Node, ...]
    segments: tuple[Node, ...]
    sources: frozenset[str]
    visible: frozenset[str]
    changed: Mapping[str, Insight]
    lines: tuple[Shown, ...]
