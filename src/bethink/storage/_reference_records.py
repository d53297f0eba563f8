"""Records of a `ReferenceStore` with what is written beside them, and things by id.

One function for each sentence of `storage.base.Put`, in its order.
"""

from __future__ import annotations

import msgspec

from bethink.errors import Conflict, NotFound
from bethink.records import AnyRecord, Episode, StateEntry, Summary
from bethink.storage._reference_asked import keep_asked
from bethink.storage._reference_spaces import is_filling
from bethink.storage._reference_state import Row, State, Unit, in_scope, rows
from bethink.storage.base import (
    Cite,
    Cursor,
    Fetched,
    Get,
    Pin,
    Put,
    Restore,
    Retire,
    Scope,
    StoredMessage,
    StoredRecord,
    Weigh,
    restored,
)
from bethink.storage.derive import refuse_item, repinned, terms_of
from bethink.storage.vectors import check_tokens, check_vectors
from bethink.values import Namespace

__all__ = ["get", "put"]

replace = msgspec.structs.replace


def put(state: State, request: Put) -> None:
    if request.cursor is not None:
        _move(state, request.namespace, request.cursor)
    if request.at_revision not in (None, state.revision):
        raise Conflict("the records of the namespace have changed — read them and try again", actual=state.revision)
    for ask in request.asked:
        keep_asked(state, request.namespace, ask)
    _put_records(state, request)
    if request.receipt is not None:
        key = (request.namespace, request.receipt.id)
        if key in state.receipts:
            raise Conflict(f"receipt {request.receipt.id!r} is stored already")
        state.thread(request.namespace, request.receipt.thread_id)
        state.receipts[key] = Row(state.number(), request.receipt)
    if request.usage is not None:
        key = (request.namespace, request.usage.context_id)
        if key in state.receipts:
            state.usage.setdefault(key, Row(state.receipts[key].number, request.usage))
    for call in request.calls:
        if (request.namespace, call.thread_id) in state.threads:
            state.calls[state.number()] = (request.namespace, call)
    _put_vectors(state, request)


def _put_records(state: State, request: Put) -> None:
    added = tuple(record.id for record in request.records if (request.namespace, record.id) not in state.records)
    for record in request.records:
        _keep(state, request, record)
    for restore in request.restore:
        _restore(state, request, restore)
    for retire in request.retire:
        _retire(state, request, retire)
    for weigh in request.weigh:
        _weigh(state, request, weigh)
    for cite in request.cite:
        _cite(state, request, cite)
    for pin in request.pin:
        _pin(state, request, pin)
    if request.change is not None:
        state.changes[state.number()] = (request.namespace, replace(request.change, added=tuple(dict.fromkeys(added))))


def _put_vectors(state: State, request: Put) -> None:
    if request.vectors:
        _embed(state, request)
    if request.tokens is not None:
        check_tokens(request.tokens)
        for number, data in request.tokens.of:
            unit = state.units.get(number)
            if unit is not None and in_scope(unit.namespace, Scope(request.namespace, subtree=True)):
                state.units[number] = replace(unit, tokens=(request.tokens.space, data))


def _move(state: State, namespace: Namespace, cursor: Cursor) -> None:
    thread = state.thread(namespace, cursor.thread_id)
    field = f"{cursor.which}_through"
    actual = getattr(thread.info, field)
    if actual != cursor.expected:
        raise Conflict(
            f"thread {cursor.thread_id!r} is {cursor.which} through {actual}, not {cursor.expected} — another writer was first",
            expected=cursor.expected,
            actual=actual,
        )
    state.put_thread(replace(thread, info=replace(thread.info, **{field: cursor.through})))


def _keep(state: State, request: Put, record: AnyRecord) -> None:
    refuse_item(record)
    namespace = request.namespace
    if isinstance(record, StateEntry) or (isinstance(record, Episode) and record.thread_id):
        state.thread(namespace, record.thread_id)
    if isinstance(record, Episode):
        for entry in record.entries:
            state.record(namespace, entry)
    cited = [(source.thread_id, source.message_id) for source in record.sources]
    if isinstance(record, Summary):
        cited += [(record.thread_id, message_id) for line in record.lines for message_id in line.sources]
    for thread_id, message_id in cited:
        if not state.has_message(namespace, thread_id, message_id):
            raise NotFound(f"message {message_id!r}, a source of record {record.id!r}, is not in thread {thread_id!r}")

    row = state.records.get((namespace, record.id))
    if row is None:
        state.put_record(namespace, record)
        state.add_unit(Unit(namespace, record.id, terms_of(record)))
        return
    known = {(source.thread_id, source.message_id): source for source in row.value.sources}
    for source in record.sources:
        known.setdefault((source.thread_id, source.message_id), source)
    joined = replace(row.value, sources=tuple(known.values()))
    if not joined.current:
        joined = replace(joined, retired_at=None, superseded_by=None, reason="", valid_to=None)
    if joined != row.value:
        state.change_record(namespace, joined, request)


def _restore(state: State, request: Put, restore: Restore) -> None:
    record = state.record(request.namespace, restore.record_id)
    refuse_item(record)
    if restore.superseded_by is not None:
        state.record(request.namespace, restore.superseded_by)
    after = restored(record, restore)
    if after != record:
        state.change_record(request.namespace, after, request)


def _retire(state: State, request: Put, retire: Retire) -> None:
    record = state.record(request.namespace, retire.record_id)
    refuse_item(record)
    if retire.superseded_by is not None:
        refuse_item(state.record(request.namespace, retire.superseded_by))
    if record.current:
        closed = replace(record, retired_at=retire.at, reason=retire.reason, superseded_by=retire.superseded_by)
        closed = closed if retire.valid_to is None else replace(closed, valid_to=retire.valid_to)
        state.change_record(request.namespace, closed, request)


def _weigh(state: State, request: Put, weigh: Weigh) -> None:
    record = state.record(request.namespace, weigh.record_id)
    refuse_item(record)
    weighed = replace(record, importance=weigh.importance)
    if weighed != record:
        state.change_record(request.namespace, weighed, request)


def _cite(state: State, request: Put, cite: Cite) -> None:
    record = state.record(request.namespace, cite.record_id)
    refuse_item(record)
    last = max(record.last_accessed or cite.at, cite.at)
    used = replace(record, access_count=record.access_count + 1, last_accessed=last)
    state.change_record(request.namespace, used, request)


def _pin(state: State, request: Put, pin: Pin) -> None:
    record = state.record(request.namespace, pin.record_id)
    after = repinned(record, pinned=pin.pinned)
    if after != record:
        state.change_record(request.namespace, after, request)


def _embed(state: State, request: Put) -> None:
    filling = is_filling(state, request.space)
    space = state.filling if filling else state.embedder
    check_vectors([vector for _, vector in request.vectors], space.dimension if space else None)
    for number, vector in request.vectors:
        unit = state.units.get(number)
        if unit is not None and in_scope(unit.namespace, Scope(request.namespace, subtree=True)):
            state.units[number] = replace(unit, filled=vector) if filling else replace(unit, vector=vector)


# -- things by id ---------------------------------------------------------------------------------------------------------


def get(state: State, request: Get) -> Fetched:
    messages, records = set(request.messages), set(request.records)
    nodes, receipts = set(request.nodes), set(request.receipts)
    threads = list(rows(state.threads, request.scope))
    there = [StoredRecord(name, row.value) for (name, _), row in state.records.items() if in_scope(name, request.scope)]
    return Fetched(
        messages=tuple(
            StoredMessage(thread.value.info.namespace, thread.value.info.thread_id, message)
            for thread in threads
            for message in thread.value.messages
            if message.id in messages
        ),
        records=(*[each for each in there if each.record.id in records], *_ending(there, request)),
        # Forks share nodes; the copies say the same.
        nodes=tuple(
            {
                node.id: node
                for thread in threads
                if request.thread_id in (None, thread.value.info.thread_id)
                for node in thread.value.nodes
                if node.id in nodes
            }.values()
        ),
        receipts=tuple(row.value for row in rows(state.receipts, request.scope) if row.value.id in receipts),
        checkpoints=tuple(
            row.value
            for row in sorted((row for thread in threads for row in thread.value.checkpoints), key=lambda row: row.number)
            if row.value.id in request.checkpoints and request.thread_id in (None, row.value.thread_id)
        ),
    )


def _ending(there: list[StoredRecord], request: Get) -> list[StoredRecord]:
    ends = tuple([ending for ending in request.endings if ending])
    return [each for each in there if each.record.id.endswith(ends) and each.record.id not in request.records]
