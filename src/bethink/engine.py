"""One open database with its models: what every `Memory` view of it shares, and what the `steps` work with."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Iterator, Sequence
from threading import Lock
from typing import Generic, TypeAlias, TypeVar

import msgspec

from bethink.checkpoints import CheckpointInfo
from bethink.compaction.extractive import choose
from bethink.insights.standing import changed_since
from bethink.models import Clock, Embedder, TokenCounter
from bethink.models.cached import CachedCounter, CachedEmbedder
from bethink.records import AnyRecord, Insight, Line, Note, Receipt, RecordKind, StateEntry, Summary
from bethink.retrieval.rank import Ranker
from bethink.settings import Settings
from bethink.storage.base import (
    Forget,
    ForgetReceipt,
    Pending,
    Put,
    Scan,
    Scope,
    Store,
    StoredMessage,
    StoredRecord,
)
from bethink.threads import ThreadInfo
from bethink.values import Namespace

__all__ = ["Engine", "Known"]

_K = TypeVar("_K")
_V = TypeVar("_V")
_Wording: TypeAlias = tuple[tuple[str, ...], tuple[str, ...], int]
"""Texts and speakers of lines, and a limit."""

_CHOICES = 256
_NAMESPACES = 64


class Known(msgspec.Struct, frozen=True, kw_only=True):
    """What every context of a namespace is to have at hand of its records.

    Attributes:
        insights: all, oldest first.
        current: those that are current, oldest first.
        changed: by message id, what has taken the place of something the message said (see `changed_since`).
        notes: the current ones that are pinned, oldest first.
        summaries: the newest session summary, and the newest of another thread than that one's.
    """

    insights: tuple[Insight, ...]
    current: tuple[Insight, ...]
    changed: dict[str, Insight]
    notes: tuple[Note, ...]
    summaries: tuple[Summary, ...]


class Engine:
    """Store, clock, counter, embedder, settings, ranker. Safe to use from many threads."""

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
        self._choices: _Last[_Wording, frozenset[int]] = _Last(_CHOICES)
        self.embedder = None if embedder is None else CachedEmbedder(embedder)
        self.settings = settings
        self.ranker = ranker
        self._known: _Last[Namespace, tuple[int, Known]] = _Last(_NAMESPACES)
        self._entries: _Last[Namespace, tuple[int, dict[str, tuple[StateEntry, ...]]]] = _Last(_NAMESPACES)
        self._bound = False

    def chosen_lines(self, lines: Sequence[Line], limit: int) -> frozenset[int]:
        """Which of the lines `compaction.extractive.choose` chooses, by position.

        Remembered: the folded past changes seldom, and every context of a thread asks for the same choice of it.
        """
        # What is chosen depends on words and speakers alone.
        wording = tuple([line.text for line in lines]), tuple([line.speaker for line in lines]), limit
        positions = self._choices.get(wording)
        if positions is None:
            chosen = set(choose(lines, limit=limit, count=self.counter.count))
            positions = frozenset(position for position, line in enumerate(lines) if line in chosen)
            self._choices.keep(wording, positions)
        return positions

    def forget(self, request: Forget) -> ForgetReceipt:
        """Forget in the database, and in what this process keeps at hand."""
        receipt = self.store.forget(request)
        self.counter.forget()
        if self.embedder is not None:
            self.embedder.forget()
        self._choices.clear()
        self._known.clear()
        self._entries.clear()
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

    def pages(self, scan: Scan) -> Iterator[ThreadInfo | StoredMessage | StoredRecord | Receipt | Pending | CheckpointInfo]:
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

        See `known`.
        """
        known = self.known(namespace)
        return known.current if current else known.insights

    def known(self, namespace: Namespace) -> Known:
        """What is known in a namespace.

        Read once for each revision of the namespace's records, and kept for the last namespaces asked for.
        """
        # Before they are read: what is written meanwhile has a higher revision, and the next call reads again.
        revision = self.store.revision(namespace)
        at, known = self._known.get(namespace) or (None, None)
        if known is None or at != revision:
            known = self._read_known(Scope(namespace))
            self._known.keep(namespace, (revision, known))
        return known

    def _read_known(self, scope: Scope) -> Known:
        found = (stored.record for stored in self.records(scope, kinds=("insight",), current=False))
        insights = tuple([record for record in found if isinstance(record, Insight)])
        pinned = (stored.record for stored in self.records(scope, kinds=("note",), pinned=True))
        summaries: list[Summary] = []
        for stored in self.records(scope, kinds=("summary",), newest=True, limit=4):
            summary = stored.record
            if isinstance(summary, Summary) and summary.thread_id not in [other.thread_id for other in summaries]:
                summaries.append(summary)
                if len(summaries) == 2:
                    break
        return Known(
            insights=insights,
            current=tuple([insight for insight in insights if insight.current]),
            changed=changed_since(insights),
            notes=tuple([record for record in pinned if isinstance(record, Note)]),
            summaries=tuple(summaries),
        )

    def entries(self, namespace: Namespace) -> dict[str, tuple[StateEntry, ...]]:
        """The entries of the states of a namespace by thread, as they were put; read once for each revision, as `known` is."""
        revision = self.store.revision(namespace)
        at, entries = self._entries.get(namespace) or (None, None)
        if entries is None or at != revision:
            found: dict[str, list[StateEntry]] = {}
            for stored in self.records(Scope(namespace), kinds=("state",), current=False):
                if isinstance(stored.record, StateEntry):
                    found.setdefault(stored.record.thread_id, []).append(stored.record)
            entries = {thread_id: tuple(of_thread) for thread_id, of_thread in found.items()}
            self._entries.keep(namespace, (revision, entries))
        return entries

    def keep(self, namespace: Namespace, *records: AnyRecord) -> None:
        """Store records that rest on nothing but the caller's word."""
        self.store.put(Put(namespace=namespace, records=records))


class _Last(Generic[_K, _V]):
    """The values kept last, at most `most` of them, each under its key. May be used from many threads."""

    def __init__(self, most: int) -> None:
        self._most = most
        self._kept: OrderedDict[_K, _V] = OrderedDict()
        self._lock = Lock()

    def get(self, key: _K) -> _V | None:
        with self._lock:
            value = self._kept.get(key)
            if value is not None:
                self._kept.move_to_end(key)
            return value

    def keep(self, key: _K, value: _V) -> None:
        with self._lock:
            self._kept[key] = value
            self._kept.move_to_end(key)
            if len(self._kept) > self._most:
                self._kept.popitem(last=False)

    def clear(self) -> None:
        with self._lock:
            self._kept.clear()
