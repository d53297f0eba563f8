"""Everything of a scope as JSON lines that an import reads back."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterator

import msgspec

from bethink.checkpoints import CheckpointInfo
from bethink.engine import Engine
from bethink.errors import NotFound
from bethink.importing.jsonl import PlacedCheckpoint, export_line
from bethink.marks import Tiered, tier_of
from bethink.records import EVERY_KIND, StateEntry
from bethink.steps.items import is_there
from bethink.steps.promote import tiers as promoted
from bethink.storage.base import Get, Read, Scan, Scope, StoredMessage, StoredRecord, What
from bethink.threads import ThreadInfo
from bethink.values import Namespace

__all__ = ["export"]

_ORDER: tuple[What, ...] = ("threads", "messages", "records")


def export(engine: Engine, scope: Scope) -> Iterator[bytes]:
    """Threads, messages, records, checkpoints, in this order, one JSON object a line. A message has the tier that it has now.
    What is written or removed meanwhile may or may not be among them; items that have expired are not.

    Raises:
        CorruptStore: a checkpoint is damaged; prune it, or restore the file.
    """
    tiers, places = _Tiers(engine), _Places(engine)
    for what in _ORDER:
        for item in engine.pages(Scan(what=what, scope=scope, kinds=EVERY_KIND if what == "records" else None)):
            assert isinstance(item, (ThreadInfo, StoredMessage, StoredRecord)), "a page holds what was asked for"
            if isinstance(item, StoredMessage):
                item = tiers.applied(item)
            elif isinstance(item, StoredRecord):
                if not is_there(engine, item):
                    continue
                item = places.of(item)
            yield export_line(item)
    for info in engine.pages(Scan(what="checkpoints", scope=scope)):
        assert isinstance(info, CheckpointInfo), "a page holds what was asked for"
        yield from map(export_line, _placed(engine, info))


class _Tiers:
    """What was promoted, a thread at a time: a scan yields the messages of each together."""

    def __init__(self, engine: Engine) -> None:
        self._engine = engine
        self._of: tuple[Namespace, str] | None = None
        self._tiers: dict[int, Tiered] = {}

    def applied(self, stored: StoredMessage) -> StoredMessage:
        """The message with the tier it has now."""
        if (stored.namespace, stored.thread_id) != self._of:
            self._of = stored.namespace, stored.thread_id
            self._tiers = promoted(self._engine, *self._of)
        message = stored.message
        tier = tier_of(message, self._tiers)
        if tier == message.tier:
            return stored
        return msgspec.structs.replace(stored, message=msgspec.structs.replace(message, tier=tier))


class _Places:
    """Entries of states with the seqs that their threads will have when they are imported: those have no gaps."""

    def __init__(self, engine: Engine) -> None:
        self._engine = engine
        self._thread: tuple[Namespace, str] | None = None
        self._seqs: list[int] = []

    def of(self, stored: StoredRecord) -> StoredRecord:
        record = stored.record
        if not isinstance(record, StateEntry):
            return stored
        if self._thread != (stored.namespace, record.thread_id):
            try:
                read = self._engine.store.read(Read(namespace=stored.namespace, thread_id=record.thread_id))
            except NotFound:
                # Forgotten since the record was read.
                return stored
            self._thread = stored.namespace, record.thread_id
            self._seqs = [message.seq for message in read.messages]
        return StoredRecord(stored.namespace, msgspec.structs.replace(record, seq=bisect_right(self._seqs, record.seq)))


def _placed(engine: Engine, info: CheckpointInfo) -> Iterator[PlacedCheckpoint]:
    """The checkpoint, if it is still there, with the last message that it knows of."""
    wanted = Get(scope=Scope(info.namespace), checkpoints=(info.id,), thread_id=info.thread_id)
    for checkpoint in engine.store.get(wanted).checkpoints:
        known = Read(namespace=info.namespace, thread_id=info.thread_id, before=checkpoint.seq + 1, limit=1)
        messages = engine.store.read(known).messages
        yield PlacedCheckpoint(checkpoint, messages[0].id if messages else "")
