"""Everything of a scope as JSON lines that an import reads back."""

from __future__ import annotations

from collections.abc import Iterator

from bethink.engine import Engine
from bethink.importing.jsonl import export_line
from bethink.storage.base import Scan, Scope, StoredMessage, StoredRecord, What
from bethink.threads import ThreadInfo

__all__ = ["export"]

_ORDER: tuple[What, ...] = ("threads", "messages", "records")


def export(engine: Engine, scope: Scope) -> Iterator[bytes]:
    """Threads, then messages, then records, one JSON object a line. What is written meanwhile may or may not be among them."""
    for what in _ORDER:
        for item in engine.pages(Scan(what=what, scope=scope)):
            assert isinstance(item, (ThreadInfo, StoredMessage, StoredRecord)), "a page holds what was asked for"
            yield export_line(item)
