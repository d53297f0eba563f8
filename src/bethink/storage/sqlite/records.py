"""Records, receipts and things by id: put, get, scan, stats."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import msgspec

from bethink.errors import Conflict, NotFound
from bethink.messages import Message
from bethink.records import AnyRecord, Episode, StateEntry, Summary
from bethink.storage.base import (
    Cite,
    Cursor,
    Fetched,
    Get,
    Page,
    Pending,
    Pin,
    Put,
    Restore,
    Retire,
    Scan,
    StoredMessage,
    StoredRecord,
    Weigh,
    restored,
)
from bethink.storage.derive import refuse_item, repinned, terms_of, thread_of
from bethink.storage.scans import check_by_id
from bethink.storage.sqlite import asked, checkpoints, tokens
from bethink.storage.sqlite.driver import Database, Row
from bethink.storage.sqlite.past import VERSION_SCANS, Keeping
from bethink.storage.sqlite.queries import q
from bethink.storage.sqlite.spaces import find
from bethink.storage.sqlite.tail import message_numbers, settle_thread, shorten
from bethink.storage.sqlite.threads import find_thread, not_there
from bethink.storage.sqlite.units import NewUnit, add_units, embed, intern, set_retired
from bethink.storage.sqlite.values import (
    decode_asked,
    decode_body,
    decode_call,
    decode_message,
    decode_node,
    decode_receipt,
    decode_record,
    decode_usage,
    encode,
    encode_receipt,
    listed,
    micros,
    namespace_of,
    path_of,
    path_range,
    thread_info,
)
from bethink.values import Namespace

__all__ = ["get", "index_record", "put", "scan", "touch_records", "write_record"]

replace = msgspec.structs.replace

_INDEXED = 8
"""So many characters from the end of an id are in an index."""

_NOWHERE = -1
"""The number of a namespace that has none: nothing is in it."""


# -- put ------------------------------------------------------------------------------------------------------------------


def put(database: Database, request: Put) -> None:
    """See `storage.base.Put`. Applied in the order of its sentences."""
    namespace = request.namespace
    if request.cursor is not None:
        _move(database, namespace, request.cursor)
    found = database.execute(q.namespace_id, (path_of(namespace),))
    number = found[0][0] if found else _NOWHERE
    keeping = Keeping(database, request)
    keeping.check_revision()
    for ask in request.asked:
        thread, _ = find_thread(database, namespace, ask.asked.thread_id)
        asked.keep(database, thread, ask)
    number = _put_records(database, keeping, number, request)
    for restore in request.restore:
        _restore(database, keeping, number, restore)
    for retire in request.retire:
        _retire(database, keeping, number, retire)
    for weigh in request.weigh:
        _weigh(database, keeping, number, weigh)
    for cite in request.cite:
        _cite(database, keeping, number, cite)
    for pin in request.pin:
        _pin(database, keeping, number, pin)
    if request.records or request.restore or request.retire or request.weigh or request.cite or request.pin:
        touch_records(database, number)
    if request.change is not None:
        number = intern(database, namespace) if number == _NOWHERE else number
        keeping.keep_change(number)
    if request.receipt is not None:
        receipt = request.receipt
        if database.execute(q.find_receipt, (receipt.id, number)):
            raise Conflict(f"receipt {receipt.id!r} is stored already")
        if not database.execute(q.thread_number, (number, receipt.thread_id)):
            raise not_there(receipt.thread_id)
        row = (number, receipt.id, receipt.thread_id, micros(receipt.created_at), encode_receipt(receipt))
        database.execute(q.add_receipt, row)
    _add_usage(database, number, request)
    _put_vectors(database, request)


def _put_records(database: Database, keeping: Keeping, number: int, request: Put) -> int:
    """Insert the new ones and join the others to what is known; the number of the namespace, which may be there only now."""
    namespace = request.namespace
    for record in request.records:
        refuse_item(record)
        _require_work(database, namespace, number, record)
        known = database.execute(q.find_record, (record.id, number))
        stored = decode_record(known[0][2]) if known else None
        rests_on = _sources(database, number, record, stored)
        if number == _NOWHERE:
            number = intern(database, namespace)
        if stored is None:
            _add(database, number, record, rests_on)
            keeping.added.append(record.id)
        else:
            _join(database, keeping, (known[0][0], known[0][1]), stored, record, rests_on)
    return number


def _require_work(database: Database, namespace: Namespace, number: int, record: AnyRecord) -> None:
    """NotFound unless the thread whose work a record is of is there, and the entries that an episode was made of."""
    if isinstance(record, StateEntry) or (isinstance(record, Episode) and record.thread_id):
        find_thread(database, namespace, record.thread_id)
    if isinstance(record, Episode):
        for entry in record.entries:
            _record(database, number, entry)


def _put_vectors(database: Database, request: Put) -> None:
    if request.vectors:
        embed(database, request.namespace, request.vectors, find(database, request.space))
    if request.tokens is not None:
        tokens.add(database, request.namespace, request.tokens)


def _add_usage(database: Database, namespace: int, request: Put) -> None:
    """What a context and model calls took. What it is about may be gone by now, and then it is of no use."""
    if request.usage is not None:
        for (receipt,) in database.execute(q.find_receipt, (request.usage.context_id, namespace)):
            database.execute(q.add_usage, (receipt, encode(request.usage)))
    for call in request.calls:
        database.execute(q.add_model_call, (namespace, call.thread_id, encode(call)))


def touch_records(database: Database, namespace: int) -> None:
    """Give a namespace the next revision: its records have changed."""
    database.execute(q.next_revision)
    database.execute(q.set_revision, (namespace,))


def _move(database: Database, namespace: Namespace, cursor: Cursor) -> None:
    rows = database.execute(q.cursors, (path_of(namespace), cursor.thread_id))
    if not rows:
        raise not_there(cursor.thread_id)
    thread, extracted, reflected = rows[0]
    actual = extracted if cursor.which == "extracted" else reflected
    if actual != cursor.expected:
        raise Conflict(
            f"thread {cursor.thread_id!r} is {cursor.which} through {actual}, not {cursor.expected} — another writer was first",
            expected=cursor.expected,
            actual=actual,
        )
    if cursor.which == "reflected":
        # A session that was ended grows no more, as a rule: its tail would be looked at for ever (see `threads_not_ended`).
        settle_thread(database, thread)
    database.execute(q.set_extracted if cursor.which == "extracted" else q.set_reflected, (cursor.through, thread))


def _sources(database: Database, namespace: int, record: AnyRecord, stored: AnyRecord | None) -> list[int]:
    """Numbers of the messages that a record rests on, without those it rested on before; NotFound if one is not there."""
    cited = dict.fromkeys(_cited(record))
    # What is said again and again has many sources, and all but the newest are known.
    for known in () if stored is None else _cited(stored):
        cited.pop(known, None)
    numbers = []
    for thread_id in dict.fromkeys(thread_id for thread_id, _ in cited):
        for (thread,) in database.execute(q.thread_number, (namespace, thread_id)):
            shorten(database, thread)
    for thread_id, message_id in cited:
        rows = database.execute(q.find_message, (namespace, thread_id, message_id))
        if not rows:
            raise NotFound(f"message {message_id!r}, a source of record {record.id!r}, is not in thread {thread_id!r}")
        numbers.append(rows[0][0])
    return numbers


def _cited(record: AnyRecord) -> list[tuple[str, str]]:
    cited = [(source.thread_id, source.message_id) for source in record.sources]
    if isinstance(record, Summary):
        cited += [(record.thread_id, message_id) for line in record.lines for message_id in line.sources]
    return cited


def _add(database: Database, namespace: int, record: AnyRecord, rests_on: list[int]) -> None:
    row = (namespace, record.id, record.kind, not record.current, record.superseded_by, thread_of(record), record.pinned)
    number = database.insert(q.add_record, (*row, encode(record)))
    database.executemany(q.add_source, [(message, number) for message in rests_on])
    index_record(database, namespace, number, record)


def _join(
    database: Database,
    keeping: Keeping,
    place: tuple[int, int | None],
    stored: AnyRecord,
    record: AnyRecord,
    rests_on: list[int],
) -> None:
    """A record that is there already gains sources, and is current again."""
    known = {(source.thread_id, source.message_id): source for source in stored.sources}
    for source in record.sources:
        known.setdefault((source.thread_id, source.message_id), source)
    joined = replace(stored, sources=tuple(known.values()))
    if not joined.current:
        joined = replace(joined, retired_at=None, superseded_by=None, reason="", valid_to=None)
    number, unit = place
    database.executemany(q.add_source, [(message, number) for message in rests_on])
    if joined != stored:
        keeping.keep(number, stored, joined)
        write_record(database, number, unit, joined)


def index_record(database: Database, namespace: int, number: int, record: AnyRecord) -> None:
    """Give a record its unit, if it has any words."""
    unit = NewUnit(number, terms_of(record), micros(record.at))
    units = add_units(database, namespace, record.kind, [unit], retired=not record.current)
    database.execute(q.set_record_unit, (units[0][1] if units else None, number))


def write_record(database: Database, number: int, unit: int | None, record: AnyRecord) -> None:
    """Write a record over what it was; its unit learns whether it is current."""
    database.execute(q.set_record, (not record.current, record.superseded_by, record.pinned, encode(record), number))
    if unit is not None:
        set_retired(database, unit, not record.current)


def _record(database: Database, namespace: int, record_id: str) -> tuple[int, int | None, AnyRecord]:
    rows = database.execute(q.find_record, (record_id, namespace))
    if not rows:
        raise NotFound(f"record {record_id!r} is not in this namespace")
    number, unit, body = rows[0]
    record = decode_record(body)
    refuse_item(record)
    return number, unit, record


def _restore(database: Database, keeping: Keeping, namespace: int, restore: Restore) -> None:
    number, unit, record = _record(database, namespace, restore.record_id)
    if restore.superseded_by is not None:
        _record(database, namespace, restore.superseded_by)
    after = restored(record, restore)
    if after == record:
        return
    left = {(source.thread_id, source.message_id) for source in after.sources}
    for source in record.sources:
        if (source.thread_id, source.message_id) not in left:
            database.execute(q.drop_source, (number, namespace, source.thread_id, source.message_id))
    keeping.keep(number, record, after)
    write_record(database, number, unit, after)


def _retire(database: Database, keeping: Keeping, namespace: int, retire: Retire) -> None:
    number, unit, record = _record(database, namespace, retire.record_id)
    if retire.superseded_by is not None:
        _record(database, namespace, retire.superseded_by)
    if record.current:
        closed = replace(record, retired_at=retire.at, reason=retire.reason, superseded_by=retire.superseded_by)
        closed = closed if retire.valid_to is None else replace(closed, valid_to=retire.valid_to)
        keeping.keep(number, record, closed)
        write_record(database, number, unit, closed)


def _weigh(database: Database, keeping: Keeping, namespace: int, weigh: Weigh) -> None:
    number, unit, record = _record(database, namespace, weigh.record_id)
    if record.importance != weigh.importance:
        weighed = replace(record, importance=weigh.importance)
        keeping.keep(number, record, weighed)
        write_record(database, number, unit, weighed)


def _cite(database: Database, keeping: Keeping, namespace: int, cite: Cite) -> None:
    number, unit, record = _record(database, namespace, cite.record_id)
    last = max(record.last_accessed or cite.at, cite.at)
    used = replace(record, access_count=record.access_count + 1, last_accessed=last)
    keeping.keep(number, record, used)
    write_record(database, number, unit, used)


def _pin(database: Database, keeping: Keeping, namespace: int, pin: Pin) -> None:
    number, unit, record = _record(database, namespace, pin.record_id)
    after = repinned(record, pinned=pin.pinned)
    if after != record:
        keeping.keep(number, record, after)
        write_record(database, number, unit, after)


# -- get ------------------------------------------------------------------------------------------------------------------


def get(database: Database, request: Get) -> Fetched:
    """See `storage.base.Get`."""
    scope = path_range(request.scope)
    numbers = message_numbers(database, request.messages, scope)
    messages = database.execute(q.get_messages, (listed(numbers),)) if numbers else []
    records = database.execute(q.get_records, (listed(request.records), *scope)) if request.records else []
    records += _ending(database, request)
    nodes = database.execute(q.get_nodes, (listed(request.nodes), *scope, request.thread_id)) if request.nodes else []
    receipts = database.execute(q.get_receipts, (listed(request.receipts), *scope)) if request.receipts else []
    return Fetched(
        messages=tuple(map(_stored_message, messages)),
        records=tuple(StoredRecord(namespace_of(path), decode_record(body)) for path, body in records),
        # Forks share nodes; the copies say the same.
        nodes=tuple({node.id: node for node in (decode_node(body) for (body,) in nodes)}.values()),
        receipts=tuple(decode_receipt(body) for (body,) in receipts),
        checkpoints=checkpoints.get(database, request) if request.checkpoints else (),
    )


def _ending(database: Database, request: Get) -> list[Row]:
    """Records by the ends of their ids, but those that are asked for by their ids."""
    found: dict[int, Row] = {}
    for ending in request.endings:
        statement = q.records_ending if len(ending) >= _INDEXED else q.records_ending_briefly
        rows = database.execute(statement, (ending, *path_range(request.scope)))
        found.update((number, (path, body)) for number, record_id, path, body in rows if record_id not in request.records)
    return [found[number] for number in sorted(found)]


def _stored_message(row: Row) -> StoredMessage:
    path, thread_id, seq, group, body, raw, form = row
    return StoredMessage(namespace_of(path), thread_id, decode_message(body, seq, group, raw, form))


# -- scan -----------------------------------------------------------------------------------------------------------------


def scan(database: Database, request: Scan) -> Page:
    """See `storage.base.Scan`. `next` is the number of the last row, so nothing that is written meanwhile moves the rest."""
    if request.by_id:
        return _by_id(database, request)
    sql, parameters, item = _SCANS[request.what](request)
    if request.what == "pending" and request.tokens is None:
        parameters = (find(database, request.space).number,)
    after = 0 if request.after is None else int(request.after)
    bounds = (after, _END) if not request.newest else (0, after or _END)
    statement = sql.replace("{order}", "DESC" if request.newest else "ASC")
    # One more than a page, to know whether there is a next.
    rows = database.execute(statement, (*bounds, *path_range(request.scope), *parameters, request.limit + 1))
    page = rows[: request.limit]
    return Page(tuple(map(item, page)), str(page[-1][0]) if page and len(rows) > len(page) else None)


def _by_id(database: Database, request: Scan) -> Page:
    check_by_id(request)
    assert request.kinds is not None, "it is of one kind"
    # Every text is below any blob.
    bounds = (request.after or "", b"") if not request.newest else ("", request.after or b"")
    statement = q.scan_records_by_id.replace("{order}", "DESC" if request.newest else "ASC")
    rows = database.execute(statement, (path_of(request.scope.namespace), request.kinds[0], *bounds, request.limit + 1))
    page = rows[: request.limit]
    items = tuple([StoredRecord(request.scope.namespace, decode_record(body)) for _, body in page])
    return Page(items, page[-1][0] if len(rows) > len(page) else None)


_END = (1 << 63) - 1

_Plan = tuple[str, tuple[Any, ...], Callable[[Row], Any]]


def _threads(request: Scan) -> _Plan:
    if request.due is not None:
        idle = None if request.due.idle_since is None else micros(request.due.idle_since)
        due = (request.thread_id, idle, request.due.messages)
        return q.scan_threads_due, due, lambda row: thread_info(row[1:])
    sql = q.scan_threads_behind if request.behind else q.scan_threads
    return sql, (request.thread_id,), lambda row: thread_info(row[1:])


def _messages(request: Scan) -> _Plan:
    if request.stored_by is not None:
        of_one = request.thread_id is not None and not request.scope.subtree
        statement = q.last_stored_by if of_one else q.scan_messages_stored_by
        return statement, (request.thread_id, micros(request.stored_by)), lambda row: _stored_message(row[1:])
    return q.scan_messages, (request.thread_id,), lambda row: _stored_message(row[1:])


def _records(request: Scan) -> _Plan:
    kinds = None if request.kinds is None else listed(request.kinds)
    statement = q.scan_pinned_records if request.pinned else q.scan_records
    if request.kinds is not None and len(request.kinds) == 1 and not request.pinned and not request.scope.subtree:
        statement = q.scan_records_of_kind if request.thread_id is None else q.scan_records_of_thread
        kinds = request.kinds[0]
    return (
        statement,
        (request.thread_id, request.current, kinds),
        lambda row: StoredRecord(namespace_of(row[1]), decode_record(row[2])),
    )


def _receipts(request: Scan) -> _Plan:
    return q.scan_receipts, (request.thread_id,), lambda row: decode_receipt(row[1])


def _usage(request: Scan) -> _Plan:
    whole = request.thread_id is None or request.scope.subtree
    return q.scan_usage if whole else q.scan_usage_of_thread, (request.thread_id,), lambda row: decode_usage(row[1])


def _model_calls(request: Scan) -> _Plan:
    whole = request.thread_id is None or request.scope.subtree
    sql = q.scan_model_calls if whole else q.scan_model_calls_of_thread
    return sql, (request.thread_id,), lambda row: decode_call(row[1])


def _asked(request: Scan) -> _Plan:
    whole = request.thread_id is None or request.scope.subtree
    sql = q.scan_asked if whole else q.scan_asked_of_thread
    return sql, (request.thread_id,), lambda row: decode_asked(row[1])


def _checkpoints(request: Scan) -> _Plan:
    whole = request.thread_id is None or request.scope.subtree
    sql = q.scan_checkpoints if whole else q.scan_checkpoints_of_thread
    return sql, (request.thread_id,), lambda row: checkpoints.info_of(row[1:])


def _pending(request: Scan) -> _Plan:
    """Its parameter is the number of the space."""
    if request.tokens is not None:
        return q.scan_without_tokens, (tokens.space_key(request.tokens),), _pending_item
    return q.scan_pending if request.scope.subtree else q.scan_pending_of_namespace, (), _pending_item


def _pending_item(row: Row) -> Pending:
    unit, kind, body = row
    thing: Message | AnyRecord = decode_body(body) if kind == "message" else decode_record(body)
    return Pending(unit, thing.text)


_SCANS: dict[str, Callable[[Scan], _Plan]] = {
    "threads": _threads,
    "messages": _messages,
    "records": _records,
    "receipts": _receipts,
    "pending": _pending,
    "checkpoints": _checkpoints,
    "usage": _usage,
    "model calls": _model_calls,
    "asked": _asked,
    **VERSION_SCANS,
}
