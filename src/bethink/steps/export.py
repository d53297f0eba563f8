"""Everything of a scope as JSON lines that an import reads back."""

from __future__ import annotations

from collections.abc import Iterator

import msgspec

from bethink.checkpoints import CheckpointInfo
from bethink.engine import Engine
from bethink.importing.jsonl import PlacedCheckpoint, export_line
from bethink.marks import Tiered, tier_of
from bethink.steps.promote import tiers as promoted
from bethink.storage.base import Get, Read, Scan, Scope, StoredMessage, StoredRecord, What
from bethink.threads import ThreadInfo
from bethink.values import Namespace

__all__ = ["export"]

_ORDER: tuple[What, ...] = ("threads", "messages", "records")


def export(engine: Engine, scope: Scope) -> Iterator[bytes]:
    """Threads, messages, records, checkpoints, in this order, one JSON object a line. A message has the tier that it has now.
    What is written or removed meanwhile may or may not be among them.

    Raises:
        CorruptStore: a checkpoint is damaged; prune it, or restore the file.
    """
    tiers = _Tiers(engine)
    for what in _ORDER:
        for item in engine.pages(Scan(what=what, scope=scope)):
            assert isinstance(item, (ThreadInfo, StoredMessage, StoredRecord)), "a page holds what was asked for"
            yield export_line(tiers.applied(item) if isinstance(item, StoredMessage) else item)
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


def _placed(engine: Engine, info: CheckpointInfo) -> Iterator[PlacedCheckpoint]:
    """The checkpoint, if it is still there, with the last message that it knows of."""
    wanted = Get(scope=Scope(info.namespace), checkpoints=(info.id,), thread_id=info.thread_id)
    for checkpoint in engine.store.get(wanted).checkpoints:
        known = Read(namespace=info.namespace, thread_id=info.thread_id, before=checkpoint.seq + 1, limit=1)
        messages = engine.store.read(known).messages
        yield PlacedCheckpoint(checkpoint, messages[0].id if messages else "")
