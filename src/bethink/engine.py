"""One open database with its models: what every `Memory` view of it shares, and what the `steps` work with."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Iterator
from functools import lru_cache
from threading import Lock

import msgspec

from bethink.compaction.extractive import choose
from bethink.models import Clock, Embedder, TokenCounter
from bethink.models.cached import CachedCounter, CachedEmbedder
from bethink.records import AnyRecord, Insight, Line, Receipt, RecordKind
from bethink.retrieval.rank import Ranker
from bethink.retrieval.terms import index_terms
from bethink.settings import Settings
from bethink.storage.base import (
    Forget,
    ForgetReceipt,
    Pending,
    Put,
    RecordEntry,
    Scan,
    Scope,
    Store,
    StoredMessage,
    StoredRecord,
)
from bethink.threads import ThreadInfo
from bethink.values import Namespace

__all__ = ["Engine", "entries"]

_CHOICES = 256
_NAMESPACES = 64


class Engine:
    """Store, clock, counter, embedder, settings, ranker. Safe to use from many threads.

    `chosen_lines(lines, limit)` is `compaction.extractive.choose`, remembered: the folded past changes seldom, and every
    context of a thread asks for the same choice of it.
    """

    def __init__(
        self,
        store: Store,
        *,
        clock: Clock,
        counter: TokenCounter,
        embedder: Embedder | None,
        settings: Settings,
        ranker: Ranker,
    ) -> None:
        self.store = store
        self.clock = clock
        self.counter = CachedCounter(counter)
        self.chosen_lines = lru_cache(maxsize=_CHOICES)(self._choose)
        self.embedder = None if embedder is None else CachedEmbedder(embedder)
        self.settings = settings
        self.ranker = ranker
        self._insights = _Insights()
        self._bound = False

    def _choose(self, lines: tuple[Line, ...], limit: int) -> tuple[Line, ...]:
        return choose(lines, limit=limit, count=self.counter.count)

    def forget(self, request: Forget) -> ForgetReceipt:
        """Forget in the database, and in what this process keeps at hand."""
        receipt = self.store.forget(request)
        self.counter.forget()
        if self.embedder is not None:
            self.embedder.forget()
        self.chosen_lines.cache_clear()
        self._insights.clear()
        return receipt

    def bound_embedder(self, *, replace: bool = False) -> Embedder | None:
        """The embedder, once the database has agreed that its vectors are this one's; None where there is none.

        Raises:
            EmbedderMismatch: the database holds another's; `replace` drops them.
        """
        if self.embedder is not None and (replace or not self._bound):
            self.store.bind_embedder(self.embedder.fingerprint, replace=replace)
            self._bound = True
        return self.embedder

    def pages(self, scan: Scan) -> Iterator[ThreadInfo | StoredMessage | StoredRecord | Receipt | Pending]:
        """Every item of a scan, page after page."""
        while True:
            page = self.store.scan(scan)
            yield from page.items
            if page.next is None:
                return
            scan = msgspec.structs.replace(scan, after=page.next)

    def records(
        self,
        scope: Scope,
        *,
        kinds: tuple[RecordKind, ...] | None = None,
        current: bool = True,
        pinned: bool = False,
        newest: bool = False,
        limit: int = 500,
    ) -> Iterator[StoredRecord]:
        """Records of a scope, oldest first unless `newest`; `limit` is the size of a page, not of the answer."""
        scan = Scan(what="records", scope=scope, kinds=kinds, current=current, pinned=pinned, newest=newest, limit=limit)
        return (item for item in self.pages(scan) if isinstance(item, StoredRecord))

    def insights(self, namespace: Namespace, *, current: bool = False) -> tuple[Insight, ...]:
        """The insights of a namespace, oldest first; by default with those that are no longer current.

        Read once for each revision of the namespace's records, and kept for the last namespaces asked for.
        """
        # Before they are read: what is written meanwhile has a higher revision, and the next call reads again.
        revision = self.store.revision(namespace)
        found = self._insights.get(namespace, revision)
        if found is None:
            stored = self.records(Scope(namespace), kinds=("insight",), current=False)
            found = tuple(each.record for each in stored if isinstance(each.record, Insight))
            self._insights.keep(namespace, revision, found)
        return tuple(insight for insight in found if insight.current) if current else found

    def keep(self, namespace: Namespace, *records: AnyRecord) -> None:
        """Store records that rest on nothing but the caller's word."""
        self.store.put(Put(namespace=namespace, records=entries(records)))


class _Insights:
    """The insights of the namespaces asked for last, each with the revision they are of. May be used from many threads."""

    def __init__(self) -> None:
        self._kept: OrderedDict[Namespace, tuple[int, tuple[Insight, ...]]] = OrderedDict()
        self._lock = Lock()

    def get(self, namespace: Namespace, revision: int) -> tuple[Insight, ...] | None:
        with self._lock:
            kept = self._kept.get(namespace)
            if kept is None or kept[0] != revision:
                return None
            self._kept.move_to_end(namespace)
            return kept[1]

    def keep(self, namespace: Namespace, revision: int, insights: tuple[Insight, ...]) -> None:
        with self._lock:
            self._kept[namespace] = (revision, insights)
            self._kept.move_to_end(namespace)
            if len(self._kept) > _NAMESPACES:
                self._kept.popitem(last=False)

    def clear(self) -> None:
        with self._lock:
            self._kept.clear()


def entries(records: tuple[AnyRecord, ...]) -> tuple[RecordEntry, ...]:
    """Records with their index terms, ready to put."""
    return tuple(RecordEntry(record, index_terms(record.text)) for record in records)
