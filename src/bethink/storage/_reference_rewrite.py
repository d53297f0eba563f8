"""What is stored, in other words: `storage.base.Rewrite`, all of it in one page."""

from __future__ import annotations

from collections import Counter

import msgspec

from bethink.checkpoints import JSON, Checkpoint, digest_of
from bethink.messages import Message
from bethink.records import AnyRecord, StateEntry
from bethink.redaction import Redaction, counts
from bethink.storage._reference_checkpoints import those_left
from bethink.storage._reference_forget import above
from bethink.storage._reference_state import Key, Row, State, Thread, Unit, in_scope
from bethink.storage.base import Rewrite, Rewritten, rewritten
from bethink.storage.derive import receipt_shows, terms_of, unplaced
from bethink.values import Namespace

__all__ = ["rewrite"]

replace = msgspec.structs.replace


class _Changed:
    """What has changed, by namespace and id."""

    def __init__(self) -> None:
        self.counted: Counter[str] = Counter()
        self.kinds: Counter[str] = Counter()
        self.messages: set[tuple[Key, str]] = set()
        self.nodes: set[Key] = set()
        self.records: set[Key] = set()
        self.entries: set[Key] = set()

    def note(self, what: str, before: object, after: object) -> None:
        self.counted[what] += 1
        self.kinds += counts(before, after)

    def ids(self, keys: set[Key], namespace: Namespace) -> set[str]:
        return {name for owner, name in keys if owner == namespace}


def rewrite(state: State, request: Rewrite) -> Rewritten:
    """See `storage.base.Rewrite`."""
    changed = _Changed()
    for key, row in list(state.threads.items()):
        if in_scope(key[0], request.scope):
            thread = _thread(row.value, request.by, changed)
            if thread is not row.value:
                state.put_thread(thread)
    for record_key, record_row in list(state.records.items()):
        if in_scope(record_key[0], request.scope):
            _record(state, record_key, record_row.value, request.by, changed)
    _units(state, changed)
    _drop_receipts(state, changed)
    return rewritten(changed.counted, changed.kinds, looked_at=len(state.threads) + len(state.records))


def _thread(thread: Thread, by: Redaction, changed: _Changed) -> Thread:
    key = (thread.info.namespace, thread.info.thread_id)
    metadata = by.thread_metadata(thread.info.metadata)
    info = thread.info
    if metadata != info.metadata:
        changed.note("threads", info.metadata, metadata)
        info = replace(info, metadata=metadata)
    nodes = tuple(map(by.node, thread.nodes))
    for before, after in zip(thread.nodes, nodes, strict=True):
        if after is not before:
            changed.note("nodes", before, after)
            changed.nodes.add((key[0], before.id))
    messages = tuple(_message(message, by, key, changed) for message in thread.messages)
    checkpoints = _checkpoints(thread.checkpoints, by, changed)
    found = replace(thread, info=info, messages=messages, nodes=nodes, checkpoints=checkpoints)
    return thread if found == thread else found


def _message(message: Message, by: Redaction, key: Key, changed: _Changed) -> Message:
    redacted = by.message(message)
    if redacted is not message:
        without_raw = replace(message, raw=None), replace(redacted, raw=None)
        if without_raw[0] == without_raw[1] and message.raw and redacted.raw:
            changed.note("messages", message.raw.json.decode(), redacted.raw.json.decode())
        else:
            changed.note("messages", *without_raw)
        changed.messages.add((key, message.id))
    return redacted


def _checkpoints(rows: tuple[Row[Checkpoint], ...], by: Redaction, changed: _Changed) -> tuple[Row[Checkpoint], ...]:
    going = {row.value.id for row in rows if row.value.format != JSON and by.holds(row.value.state)}
    changed.counted["dropped"] += len(going)
    found = []
    for row in those_left(rows, going):
        saved = by.checkpoint(row.value)
        if saved is not row.value:
            changed.note("checkpoints", _shown(row.value), _shown(saved))
            saved = replace(saved, size=len(saved.state), digest=digest_of(saved.state))
        found.append(Row(row.number, saved))
    return tuple(found)


def _shown(saved: Checkpoint) -> list[object]:
    return [saved.label, saved.view, saved.metadata, saved.state.decode("utf-8", "replace")]


def _record(state: State, key: Key, record: AnyRecord, by: Redaction, changed: _Changed) -> None:
    messages = {(thread_id, message_id) for (namespace, thread_id), message_id in changed.messages if namespace == key[0]}
    redacted = by.record(record)
    if redacted is not record:
        changed.note("records", record, redacted)
        changed.records.add(key)
        if isinstance(record, StateEntry):
            changed.entries.add(key)
    at_last = unplaced(redacted, messages)
    if at_last is not record:
        state.put_record(key[0], at_last)


def _units(state: State, changed: _Changed) -> None:
    """A message in other words gets a new unit, and so does a record; they wait for their vectors."""
    for number, unit in list(state.units.items()):
        if unit.seq and ((unit.namespace, unit.thread_id), unit.id) in changed.messages:
            del state.units[number]
            thread = state.thread(unit.namespace, unit.thread_id)
            message = next(message for message in thread.messages if message.seq == unit.seq)
            state.add_unit(Unit(unit.namespace, unit.id, terms_of(message), unit.thread_id, unit.seq))
        elif not unit.seq and (unit.namespace, unit.id) in changed.records:
            terms = terms_of(state.record(unit.namespace, unit.id))
            if terms != unit.terms:
                del state.units[number]
                state.add_unit(Unit(unit.namespace, unit.id, terms))


def _drop_receipts(state: State, changed: _Changed) -> None:
    threads = {key for key, _ in changed.messages}
    for key, row in list(state.receipts.items()):
        namespace, receipt = key[0], row.value
        if (
            (namespace, receipt.thread_id) in threads
            or receipt_shows(
                receipt,
                seqs={},
                message_ids={message_id for (owner, _), message_id in changed.messages if owner == namespace},
                record_ids=changed.ids(changed.records, namespace),
                node_ids=changed.ids(changed.nodes, namespace),
            )
            or any((namespace[:depth], line.id) in changed.entries for depth in above(namespace) for line in receipt.lines)
        ):
            del state.receipts[key]
            state.usage.pop(key, None)
            changed.counted["receipts"] += 1
