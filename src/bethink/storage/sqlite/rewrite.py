"""What is stored, in other words: a page of `storage.base.Rewrite`, within one transaction.

    threads ─▶ messages ─▶ nodes ─▶ records ─▶ checkpoints    one phase after the other, each by its row numbers
                  └▶ units, spans of sources                   with each change, the receipts that rest on it

Where to go on is the phase and the last number that it has seen. That the old bytes leave the file is `erase.py`.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Collection
from dataclasses import dataclass, field
from typing import Any

import msgspec

from bethink.checkpoints import JSON, digest_of
from bethink.messages import Message, Raw
from bethink.records import AnyRecord, StateEntry
from bethink.redaction import Redaction, counts
from bethink.storage.base import Rewrite, Rewritten, rewritten
from bethink.storage.derive import receipt_shows, speaker_of, terms_of, unplaced
from bethink.storage.sqlite import checkpoints
from bethink.storage.sqlite.driver import Database, Row
from bethink.storage.sqlite.forget import showing_below
from bethink.storage.sqlite.queries import q
from bethink.storage.sqlite.records import index_record, touch_records, write_record
from bethink.storage.sqlite.tail import settle_thread
from bethink.storage.sqlite.units import NewUnit, add_units, drop_units
from bethink.storage.sqlite.values import (
    body_of,
    decode_body,
    decode_node,
    decode_receipt,
    decode_record,
    encode,
    listed,
    micros,
    path_range,
)

__all__ = ["rewrite"]

replace = msgspec.structs.replace

_objects = msgspec.json.Decoder(dict[str, Any])


@dataclass
class _Done:
    """What a page has changed: of each namespace (by number) what receipts may show, and how many of everything."""

    by: Redaction
    dry: bool
    threads: dict[int, set[str]] = field(default_factory=dict)
    """Ids of the threads that a message changed of."""
    messages: dict[int, set[str]] = field(default_factory=dict)
    records: dict[int, list[AnyRecord]] = field(default_factory=dict)
    nodes: dict[int, set[str]] = field(default_factory=dict)
    counted: Counter[str] = field(default_factory=Counter)
    kinds: Counter[str] = field(default_factory=Counter)

    def note(self, what: str, before: object, after: object) -> None:
        self.counted[what] += 1
        self.kinds += counts(before, after)


def rewrite(database: Database, request: Rewrite) -> Rewritten:
    """See `storage.base.Rewrite`; without the cleaning."""
    phase, after = _place(request.after)
    name, sql, change = _PHASES[phase]
    done = _Done(request.by, request.dry)
    rows = database.execute(sql, (after, *path_range(request.scope), request.limit))
    change(database, rows, done)
    if not request.dry:
        for namespace in sorted(done.messages.keys() | done.records.keys() | done.nodes.keys()):
            _drop_receipts(database, namespace, done)
        for namespace in sorted(done.records):
            touch_records(database, namespace)
        if done.counted:
            database.execute(q.owe_erasure)
    going_on = f"{name}:{rows[-1][0]}" if len(rows) == request.limit else _start_of(phase + 1)
    return rewritten(done.counted, done.kinds, looked_at=len(rows), going_on=going_on)


def _place(after: str | None) -> tuple[int, int]:
    """The phase, and the number after which it goes on."""
    if after is None:
        return 0, 0
    name, _, number = after.partition(":")
    return [phase[0] for phase in _PHASES].index(name), int(number)


def _start_of(phase: int) -> str | None:
    return f"{_PHASES[phase][0]}:0" if phase < len(_PHASES) else None


# -- phases ---------------------------------------------------------------------------------------------------------------


def _threads(database: Database, rows: list[Row], done: _Done) -> None:
    for number, _, _, body in rows:
        metadata = _objects.decode(body)
        redacted = done.by.thread_metadata(metadata)
        if redacted != metadata:
            done.note("threads", metadata, redacted)
            if not done.dry:
                database.execute(q.set_thread_metadata, (encode(redacted), number))


def _messages(database: Database, rows: list[Row], done: _Done) -> None:
    changed: dict[int, Message] = {}
    places: dict[int, tuple[int, int, str, str]] = {}
    for number, thread, namespace, thread_id, message_id, body, raw, form in rows:
        message = decode_body(body)
        if raw is not None:
            message = replace(message, raw=Raw(form or "", raw))
        redacted = done.by.message(message)
        if redacted is message:
            continue
        without_raw = replace(message, raw=None), replace(redacted, raw=None)
        only_raw = without_raw[0] == without_raw[1]
        done.note("messages", *((_words(message), _words(redacted)) if only_raw else without_raw))
        changed[number] = redacted
        places[number] = thread, namespace, thread_id, message_id
        done.threads.setdefault(namespace, set()).add(thread_id)
        done.messages.setdefault(namespace, set()).add(message_id)
    if changed and not done.dry:
        _write_messages(database, changed, places)
        _move_spans(database, changed, {(place[2], place[3]) for place in places.values()})


def _words(message: Message) -> str:
    return message.raw.json.decode("utf-8", "replace") if message.raw else ""


def _write_messages(database: Database, changed: dict[int, Message], places: dict[int, tuple[int, int, str, str]]) -> None:
    threads = sorted({place[0] for place in places.values()})
    for thread in threads:
        # What other processes keep of a tail goes by the numbers of its messages: afterwards it is none.
        settle_thread(database, thread)
    drop_units(database, [unit for _, unit in database.execute(q.units_of_messages, (listed(changed),))])
    units: dict[int, int] = {}
    for namespace in sorted({place[1] for place in places.values()}):
        own = [(number, message) for number, message in changed.items() if places[number][1] == namespace]
        new = [_unit_of(number, message) for number, message in own]
        units.update(add_units(database, namespace, "message", new))
    for number, message in changed.items():
        raw = None if message.raw is None else message.raw.json
        database.execute(q.set_message_body, (body_of(message), raw, units.get(number), number))
    for thread in threads:
        database.execute(q.touch_thread, (thread,))


def _unit_of(number: int, message: Message) -> NewUnit:
    assert message.created_at is not None, "a stored message has its time"
    return NewUnit(number, terms_of(message), micros(message.created_at), speaker_of(message))


def _move_spans(database: Database, changed: Collection[int], messages: Collection[tuple[str, str]]) -> None:
    for number, namespace, unit, body in database.execute(q.records_resting_on, (listed(changed),)):
        record = decode_record(body)
        left = unplaced(record, messages)
        if left is not record:
            write_record(database, number, unit, left)
            touch_records(database, namespace)


def _nodes(database: Database, rows: list[Row], done: _Done) -> None:
    for number, thread, namespace, body in rows:
        node = decode_node(body)
        redacted = done.by.node(node)
        if redacted is node:
            continue
        done.note("nodes", node, redacted)
        done.nodes.setdefault(namespace, set()).add(node.id)
        if not done.dry:
            database.execute(q.set_node_body, (encode(redacted), number))
            database.execute(q.touch_thread, (thread,))


def _records(database: Database, rows: list[Row], done: _Done) -> None:
    for number, namespace, unit, body in rows:
        record = decode_record(body)
        redacted = done.by.record(record)
        if redacted is record:
            continue
        done.note("records", record, redacted)
        done.records.setdefault(namespace, []).append(redacted)
        if done.dry:
            continue
        write_record(database, number, unit, redacted)
        if unit is not None and terms_of(redacted) != terms_of(record):
            drop_units(database, [unit])
            index_record(database, namespace, number, redacted)


class _Saved(msgspec.Struct, frozen=True):
    """As much of a checkpoint as is redacted."""

    label: str
    format: str
    view: dict[str, Any]
    metadata: dict[str, Any]
    state: bytes


def _checkpoints(database: Database, rows: list[Row], done: _Done) -> None:
    for number, thread, checkpoint_id, label, form, view, metadata, state, data in rows:
        saved = _Saved(label, form, _objects.decode(view), _objects.decode(metadata), data)
        if form != JSON and done.by.holds(data):
            done.counted["dropped"] += 1
            if not done.dry:
                checkpoints.drop_some(database, thread, {checkpoint_id})
            continue
        redacted = done.by.checkpoint(saved)
        if redacted is saved:
            continue
        done.note("checkpoints", _shown(saved), _shown(redacted))
        if done.dry:
            continue
        database.execute(q.set_checkpoint, (redacted.label, encode(redacted.view), encode(redacted.metadata), number))
        if redacted.state != data:
            database.execute(q.set_state, (redacted.state, state))
            database.execute(q.set_digests_of_state, (digest_of(redacted.state), state))


def _shown(saved: _Saved) -> list[object]:
    return [saved.label, saved.view, saved.metadata, saved.state.decode("utf-8", "replace")]


_PHASES: tuple[tuple[str, str, Callable[[Database, list[Row], _Done], None]], ...] = (
    ("threads", q.rewrite_threads, _threads),
    ("messages", q.rewrite_messages, _messages),
    ("nodes", q.rewrite_nodes, _nodes),
    ("records", q.rewrite_records, _records),
    ("checkpoints", q.rewrite_checkpoints, _checkpoints),
)


# -- receipts -------------------------------------------------------------------------------------------------------------


def _drop_receipts(database: Database, namespace: int, done: _Done) -> None:
    """Receipts of the threads that a message changed of, and all that show something that changed."""
    threads = done.threads.get(namespace, set())
    records = done.records.get(namespace, [])
    shown = {
        "message_ids": done.messages.get(namespace, set()),
        "record_ids": {record.id for record in records},
        "node_ids": done.nodes.get(namespace, set()),
    }
    dropped = []
    for number, body in database.execute(q.receipts_of_namespace, (namespace,)):
        receipt = decode_receipt(body)
        if receipt.thread_id in threads or receipt_shows(receipt, seqs={}, **shown):
            dropped.append(number)
    if any(isinstance(record, StateEntry) for record in records):
        dropped += showing_below(database, namespace, records)
    database.execute(q.drop_usage, (listed(dropped),))
    database.execute(q.drop_receipts, (listed(dropped),))
    done.counted["receipts"] += len(dropped)
