"""Everything that must hold between the rows of a database, and a `Problem` for each that does not.

SQLite's own check ─▶ checks.sql: rows against rows ─▶ bodies against rows, thread by thread
"""

from __future__ import annotations

from collections.abc import Iterator

from bethink.errors import CorruptStore, StoreError
from bethink.records import Episode, Summary
from bethink.storage.base import Problem
from bethink.storage.derive import speaker_of, thread_of
from bethink.storage.sqlite import asked, checkpoints, items
from bethink.storage.sqlite.driver import Database, Row
from bethink.storage.sqlite.queries import Queries, q, statements
from bethink.storage.sqlite.values import (
    decode_call,
    decode_change,
    decode_message,
    decode_node,
    decode_receipt,
    decode_record,
    decode_usage,
    decode_version,
    micros,
)

__all__ = ["check", "check_lexicon"]

_checks = Queries(statements("checks.sql"))

_PAGE = 1_000
_RESTORE = "restore a copy of the file"
_FORGET = "close the store, or forget anything else: that finishes it"


def check(database: Database) -> list[Problem]:
    """Every inconsistency, as the open transaction sees the database; none if it is sound."""
    # FTS5 keeps the list of its segments, and looks whether another connection has changed it when it is searched, not when it
    # is checked (SQLite 3.54): then it would miss segments that have been merged meanwhile.
    database.execute(q.match_any, ('"x"',))
    damage = [row[0] for row in database.execute("PRAGMA integrity_check") if row[0] != "ok"]
    if damage:
        return [Problem(text, "the file", _RESTORE) for text in damage]
    found = [
        Problem(_checks.about(name), where, _FORGET if name == "erasure_unfinished" else "")
        for name in _checks.names
        for (where,) in database.execute(getattr(_checks, name))
    ]
    for thread, thread_id in database.execute(q.all_threads):
        found += (Problem(what, f"thread {thread_id!r} (row {thread})") for what in _of_thread(database, thread))
    found += _of_records(database)
    found += _of_receipts(database)
    found += _of_usage(database)
    found += asked.problems(database)
    found += _of_versions(database)
    found += checkpoints.problems(database)
    found += items.problems(database)
    return [*found, *_of_vectors(database)]


def check_lexicon(database: Database) -> list[Problem]:
    """The full-text index's check of itself; it needs a connection that may write."""
    try:
        database.execute(q.check_lexicon)
    except CorruptStore:
        return [Problem("is damaged", "the full-text index", _RESTORE)]
    return []


def _of_vectors(database: Database) -> Iterator[Problem]:
    """Each vector against the dimension of its space, and its code against itself."""
    if not database.execute(q.any_vector):
        return
    import numpy as np

    from bethink.storage.sqlite.codes import codes_of

    number = 0
    while rows := database.execute(q.vectors_with_codes, (number, _PAGE)):
        number = rows[-1][0]
        sound: dict[int, list[Row]] = {}
        for row in rows:
            each, data, _, dimension = row
            if dimension is None or len(data) != 4 * dimension:
                yield Problem("is not of the dimension of its space", f"vector row {each}")
            else:
                sound.setdefault(dimension, []).append(row)
        for dimension, alike in sound.items():
            matrix = np.frombuffer(b"".join([row[1] for row in alike]), dtype="<f4").reshape(-1, dimension)
            for (each, _, code, _), right in zip(alike, codes_of(matrix), strict=True):
                if code != right:
                    yield Problem("has a code that is not its own", f"vector row {each}")


def _of_thread(database: Database, thread: int) -> Iterator[str]:
    ids: dict[int, str] = {}
    calls: dict[str, bool] = {}
    for seq, group, message_id, pinned, body, raw, form, unit, speaker in database.execute(q.messages_of_thread, (thread,)):
        try:
            message = decode_message(body, seq, group, raw, form)
        except StoreError:
            yield f"message {seq} cannot be read"
            continue
        if (message.id, message.pinned) != (message_id, bool(pinned)):
            yield f"message {seq} differs from its row"
        if unit is not None and speaker != speaker_of(message):
            yield f"message {seq} was said under another name than its unit says"
        ids[seq] = message.id
        calls.update((call.id, False) for call in message.tool_calls)
        if message.tool_call_id is not None:
            if message.tool_call_id not in calls:
                yield f"message {seq} is a tool result without its call"
            calls[message.tool_call_id] = True
    # Of a call id that came back the rows are ordered by group, so that the newest state stands.
    stored = {call_id: bool(answered) for call_id, answered in database.execute(q.calls_of_thread, (thread,))}
    if stored != calls:
        yield "the states of its calls are not those of its messages"
    yield from _of_nodes(database, thread, ids)


def _of_nodes(database: Database, thread: int, ids: dict[int, str]) -> Iterator[str]:
    nodes = [(decode_node(body), top, replaced) for _, top, replaced, body in database.execute(q.nodes_with_top, (thread,))]
    names = {node.id for node, _, _ in nodes}
    children = {child for node, _, _ in nodes for child in node.children}
    there = set(ids.values())
    for node, top, replaced in nodes:
        if not all(seq in ids for first, last in node.covers for seq in range(first, last + 1)):
            yield f"node {node.id!r} covers a message that is not there"
        if any(not there.issuperset(line.sources) for line in node.lines):
            yield f"node {node.id!r} cites a message that is not there"
        if not names.issuperset(node.children):
            yield f"node {node.id!r} has a child that is not there"
        if bool(replaced) != bool(node.replaced_by) or (node.replaced_by and node.replaced_by not in names):
            yield f"node {node.id!r} was replaced by nothing that is there, or does not say so"
        if bool(top) == (node.id in children or bool(replaced)):
            yield f"node {node.id!r} is a child or was replaced and stands at the top, or none of these"
        if replaced and node.id in children:
            yield f"node {node.id!r} was replaced and is the child of another still"


def _of_records(database: Database) -> Iterator[Problem]:
    for number, namespace, *known, body in database.execute(q.all_records):
        record_id = known[0]
        where = f"record {record_id!r} (row {number})"
        try:
            record = decode_record(body)
        except StoreError:
            yield Problem("cannot be read", where)
            continue
        columns = [record.id, record.kind, not record.current, record.superseded_by, thread_of(record), record.pinned]
        if columns != known:
            yield Problem("differs from its row", where)
        cited = {(source.thread_id, source.message_id) for source in record.sources}
        if isinstance(record, Summary):
            cited |= {(record.thread_id, message_id) for line in record.lines for message_id in line.sources}
        made_of = record.entries if isinstance(record, Episode) else ()
        if not all(database.execute(q.find_record, (entry, namespace)) for entry in made_of):
            yield Problem("was made of an entry that is not there", where)
        found = {row[0] for pair in sorted(cited) for row in database.execute(q.find_message, (namespace, *pair))}
        if len(found) < len(cited):
            yield Problem("rests on a message that is not there", where)
        if found != {message for (message,) in database.execute(q.sources_of_record, (number,))}:
            yield Problem("has other sources than its rows say", where)


def _of_receipts(database: Database) -> Iterator[Problem]:
    for number, receipt_id, thread_id, body in database.execute(q.all_receipts):
        where = f"receipt {receipt_id!r} (row {number})"
        try:
            receipt = decode_receipt(body)
        except StoreError:
            yield Problem("cannot be read", where)
            continue
        if (receipt.id, receipt.thread_id) != (receipt_id, thread_id):
            yield Problem("differs from its row", where)


def _of_usage(database: Database) -> Iterator[Problem]:
    for number, receipt_id, thread_id, body in database.execute(q.all_usage):
        try:
            usage = decode_usage(body)
        except StoreError:
            yield Problem("cannot be read", f"usage row {number}")
            continue
        if (usage.context_id, usage.thread_id) != (receipt_id, thread_id):
            yield Problem("differs from its receipt", f"usage row {number}")
    for number, thread_id, body in database.execute(q.all_model_calls):
        try:
            call = decode_call(body)
        except StoreError:
            yield Problem("cannot be read", f"model call row {number}")
            continue
        if call.thread_id != thread_id:
            yield Problem("differs from its row", f"model call row {number}")


def _of_versions(database: Database) -> Iterator[Problem]:
    """Each version, and each change, against its row."""
    for number, until, body in database.execute(q.all_versions):
        try:
            version = decode_version(body)
        except StoreError:
            yield Problem("cannot be read", f"version row {number}")
            continue
        if micros(version.until) != until:
            yield Problem("differs from its row", f"version row {number}")
    for number, at, body in database.execute(q.all_changes):
        try:
            change = decode_change(body)
        except StoreError:
            yield Problem("cannot be read", f"change row {number}")
            continue
        if micros(change.at) != at:
            yield Problem("differs from its row", f"change row {number}")
