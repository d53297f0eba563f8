"""What a state holds, page by page (`scan`), in numbers (`stats`), and as bytes (`everything`)."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from datetime import datetime
from typing import Any

import msgspec

from bethink.checkpoints import CheckpointInfo
from bethink.models import Fingerprint
from bethink.records import AnyRecord, Receipt
from bethink.storage._reference_checkpoints import info_of
from bethink.storage._reference_search import unit_text
from bethink.storage._reference_spaces import is_filling, vector_of
from bethink.storage._reference_state import State, Thread, Unit, current_nodes, in_scope, rows
from bethink.storage.base import (
    Asked,
    Change,
    Due,
    ForgottenCount,
    Page,
    Pending,
    Scan,
    Scope,
    Stats,
    StoredMessage,
    StoredRecord,
    StoredVersion,
)
from bethink.storage.derive import thread_of
from bethink.storage.scans import check_by_id
from bethink.threads import ThreadInfo
from bethink.usage import ModelCall, TurnUsage

__all__ = ["everything", "scan", "stats"]

Position = tuple[int, int]
"""Where an item stands among those of its sort: its number of insertion, and for a message its seq in that thread."""


def scan(state: State, request: Scan) -> Page:
    """One page. `next` is the position of its last item, so what is written or removed meanwhile moves nothing else."""
    if request.by_id:
        return _by_id(state, request)
    items = sorted(_ITEMS[request.what](state, request), key=lambda item: item[0], reverse=request.newest)
    if request.after is not None:
        number, seq = map(int, request.after.split("."))
        items = [item for item in items if (item[0] < (number, seq) if request.newest else item[0] > (number, seq))]
    page = items[: request.limit]
    last = f"{page[-1][0][0]}.{page[-1][0][1]}" if len(items) > len(page) else None
    return Page(tuple(item for _, item in page), last)


def _by_id(state: State, request: Scan) -> Page:
    check_by_id(request)
    items = sorted([item for _, item in _records(state, request)], key=lambda stored: stored.record.id, reverse=request.newest)
    after = request.after
    if after is not None:
        items = [item for item in items if (item.record.id < after if request.newest else item.record.id > after)]
    page = items[: request.limit]
    return Page(tuple(page), page[-1].record.id if len(items) > len(page) else None)


def _is_due(thread: Thread, due: Due) -> bool:
    info = thread.info
    new = any(message.seq > info.reflected_through for message in thread.messages)
    idle = due.idle_since is not None and info.updated_at <= due.idle_since
    return new and (idle or (due.messages is not None and info.tip - info.reflected_through >= due.messages))


def _threads(state: State, request: Scan) -> Iterator[tuple[Position, ThreadInfo]]:
    for row in rows(state.threads, request.scope):
        thread = row.value
        behind = any(message.seq > thread.info.extracted_through for message in thread.messages)
        due = request.due is None or _is_due(thread, request.due)
        if request.thread_id in (None, thread.info.thread_id) and (behind or not request.behind) and due:
            yield (row.number, 0), thread.info


def _messages(state: State, request: Scan) -> Iterator[tuple[Position, StoredMessage]]:
    for row in rows(state.threads, request.scope):
        info = row.value.info
        by = request.stored_by
        if request.thread_id in (None, info.thread_id) and (by is None or info.created_at <= by):
            for message in row.value.messages:
                if by is not None and row.value.stored[message.seq] > by:
                    continue
                yield (row.number, message.seq), StoredMessage(info.namespace, info.thread_id, message)


def _records(state: State, request: Scan) -> Iterator[tuple[Position, StoredRecord]]:
    for (namespace, _), row in state.records.items():
        record = row.value
        if (
            in_scope(namespace, request.scope)
            and (record.kind != "item" if request.kinds is None else record.kind in request.kinds)
            and (record.current or not request.current)
            and (record.pinned or not request.pinned)
            and request.thread_id in (None, thread_of(record) or "")
        ):
            yield (row.number, 0), StoredRecord(namespace, record)


def _receipts(state: State, request: Scan) -> Iterator[tuple[Position, Receipt]]:
    for row in rows(state.receipts, request.scope):
        if request.thread_id in (None, row.value.thread_id):
            yield (row.number, 0), row.value


def _usage(state: State, request: Scan) -> Iterator[tuple[Position, TurnUsage]]:
    for row in rows(state.usage, request.scope):
        if request.thread_id in (None, row.value.thread_id):
            yield (row.number, 0), row.value


def _calls(state: State, request: Scan) -> Iterator[tuple[Position, ModelCall]]:
    for number, (namespace, call) in state.calls.items():
        if in_scope(namespace, request.scope) and request.thread_id in (None, call.thread_id):
            yield (number, 0), call


def _asked(state: State, request: Scan) -> Iterator[tuple[Position, Asked]]:
    for thread in rows(state.threads, request.scope):
        if request.thread_id in (None, thread.value.info.thread_id):
            for row in thread.value.asked:
                yield (row.number, 0), row.value


def _checkpoints(state: State, request: Scan) -> Iterator[tuple[Position, CheckpointInfo]]:
    for thread in rows(state.threads, request.scope):
        if request.thread_id in (None, thread.value.info.thread_id):
            for row in thread.value.checkpoints:
                yield (row.number, 0), info_of(row.value)


def _versions(state: State, request: Scan) -> Iterator[tuple[Position, StoredVersion]]:
    for number, ((namespace, record_id), version) in state.versions.items():
        named = request.record_id in (None, record_id)
        if named and in_scope(namespace, request.scope) and _is_later(version.until, request):
            yield (number, 0), StoredVersion(namespace, record_id, version)


def _changes(state: State, request: Scan) -> Iterator[tuple[Position, Change]]:
    for number, (namespace, change) in state.changes.items():
        if in_scope(namespace, request.scope) and _is_later(change.at, request):
            yield (number, 0), change


def _forgotten(state: State, request: Scan) -> Iterator[tuple[Position, ForgottenCount]]:
    for number, (namespace, forgotten) in state.forgotten.items():
        if in_scope(namespace, request.scope) and _is_later(forgotten.at, request):
            yield (number, 0), forgotten


def _is_later(at: datetime, request: Scan) -> bool:
    return request.since is None or at > request.since


def _pending(state: State, request: Scan) -> Iterator[tuple[Position, Pending]]:
    filling = is_filling(state, request.space)
    for number, unit in state.units.items():
        waits = vector_of(unit, filling=filling) is None if request.tokens is None else _lacks(unit, request.tokens)
        if waits and in_scope(unit.namespace, request.scope):
            yield (number, 0), Pending(number, unit_text(state, unit))


def _lacks(unit: Unit, space: Fingerprint) -> bool:
    """Whether it has no token vectors of the space."""
    return unit.tokens is None or unit.tokens[0] != space


_ITEMS: dict[str, Callable[[State, Scan], Iterable[tuple[Position, Any]]]] = {
    "threads": _threads,
    "messages": _messages,
    "records": _records,
    "receipts": _receipts,
    "pending": _pending,
    "checkpoints": _checkpoints,
    "usage": _usage,
    "model calls": _calls,
    "asked": _asked,
    "versions": _versions,
    "changes": _changes,
    "forgotten": _forgotten,
}


def stats(state: State, scope: Scope) -> Stats:
    threads: list[Thread] = [row.value for row in rows(state.threads, scope)]
    records: list[AnyRecord] = [row.value for row in rows(state.records, scope)]
    units = [unit for unit in state.units.values() if in_scope(unit.namespace, scope)]
    names = {namespace for namespace, _ in [*state.threads, *state.records] if in_scope(namespace, scope)}
    kinds = sorted({record.kind for record in records})
    return Stats(
        namespaces=len(names),
        threads=len(threads),
        messages=sum(len(thread.messages) for thread in threads),
        nodes=sum(len(current_nodes(thread)) for thread in threads),
        records={kind: sum(record.kind == kind for record in records) for kind in kinds},
        retired=sum(not record.current for record in records),
        receipts=sum(1 for _ in rows(state.receipts, scope)),
        checkpoints=sum(len(thread.checkpoints) for thread in threads),
        units=len(units),
        pending=sum(unit.vector is None for unit in units),
        schema_version=1,
        embedder=state.embedder,
        size_bytes=len(everything(state)),
        engine="reference",
        attempts=sum(len(thread.attempts) for thread in threads),
    )


def everything(state: State) -> bytes:
    """All that is held, as JSON, and the states of checkpoints as they are."""
    tables = (
        *(state.threads, state.records, state.receipts, state.units, state.usage, state.calls),
        *(state.versions, state.changes, state.forgotten),
    )
    held = msgspec.json.encode([list(table.values()) for table in tables])
    states = [row.value.state for thread in state.threads.values() for row in thread.value.checkpoints]
    return b"\n".join([held, *states])
