"""Threads in SQLite: append, fork off, fold, refine. How they are read is in transcripts.py.

Each function runs within a transaction that somebody else opened, and looks before it writes: whatever it refuses, it refuses
before its first change (see `writer.py`).
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import msgspec

from bethink.errors import Conflict, InvalidInput, NotFound
from bethink.ids import may_be_new
from bethink.messages import Message, same_message
from bethink.records import Node
from bethink.storage.base import Append, Appended, Fold, Refine
from bethink.storage.derive import nodes_within, with_child_replaced
from bethink.storage.sqlite import asked, checkpoints, marks, states
from bethink.storage.sqlite.driver import Database, Row
from bethink.storage.sqlite.leases import require_lease
from bethink.storage.sqlite.queries import q
from bethink.storage.sqlite.tail import settle_thread, shorten
from bethink.storage.sqlite.units import copied, intern, last_unit
from bethink.storage.sqlite.values import (
    SEQ_BITS,
    body_of,
    decode_message,
    decode_node,
    encode,
    listed,
    micros,
    path_of,
    thread_info,
)
from bethink.threads import CallState, Placed, ThreadInfo, place
from bethink.values import Namespace

__all__ = ["Batch", "append", "batch_of", "find_thread", "fold", "not_there", "refine", "revised_thread"]

replace = msgspec.structs.replace

_LAST_SEQ = (1 << SEQ_BITS) - 1


class Batch(NamedTuple):
    """An append with its bodies encoded, which needs no transaction."""

    request: Append
    path: str
    at: int
    bodies: dict[str, bytes]
    """By message id."""


class _Basis(NamedTuple):
    """What an append builds on: the thread as it is, or for a fork that of its parent up to the fork."""

    thread: int
    namespace: int
    tip: int
    settled: int
    """Whether it has no tail, see tail.py."""


def batch_of(request: Append) -> Batch:
    """What can be done before it is this thread's turn to write."""
    bodies: dict[str, bytes] = {}
    for message in request.messages:
        # Of an id that is there twice the first counts.
        if message.id not in bodies:
            bodies[message.id] = body_of(message)
    return Batch(request, path_of(request.namespace), micros(request.at), bodies)


def not_there(thread_id: str) -> NotFound:
    return NotFound(f"thread {thread_id!r} is not in this namespace")


def find_thread(database: Database, namespace: Namespace, thread_id: str) -> tuple[int, ThreadInfo]:
    """A thread's number and what is known of it, or NotFound."""
    number, _, info = revised_thread(database, namespace, thread_id)
    return number, info


def revised_thread(database: Database, namespace: Namespace, thread_id: str) -> tuple[int, int, ThreadInfo]:
    """The same with the thread's revision between the two."""
    rows = database.execute(q.read_thread, (path_of(namespace), thread_id))
    if not rows:
        raise not_there(thread_id)
    number, revision, *columns = rows[0]
    return number, revision, thread_info(tuple(columns))


# -- append ---------------------------------------------------------------------------------------------------------------


def append(database: Database, batch: Batch) -> Appended:
    """See `storage.base.Append`."""
    request = batch.request
    existing = _existing(database, batch)
    basis = existing if request.fork_of is None else _parent(database, request, existing)

    known = _known(database, basis, batch) if basis is not None else {}
    new = _new(request, known)
    tip = 0 if basis is None else basis.tip
    if request.expected_tip not in (None, tip) and (new or not request.messages):
        raise Conflict(
            f"the tip of thread {request.thread_id!r} is {tip}, not {request.expected_tip} — read it and try again",
            expected=request.expected_tip,
            actual=tip,
        )
    if request.lease is not None and (new or not request.messages):
        require_lease(database, request, request.lease)
    placed = _placed(database, basis, tuple(new.values()))

    if existing is None:
        existing = _fork(database, request, basis) if basis is not None else _create(database, batch)
    if placed.messages:
        _store(database, batch, existing, placed)
        known.update((message.id, message) for message in placed.messages)
        tip = placed.messages[-1].seq
    return Appended(tuple(known[message.id] for message in request.messages), added=len(placed.messages), tip=tip)


def _existing(database: Database, batch: Batch) -> _Basis | None:
    """The thread, if it is there, with a tail in which the batch's ids are soon looked up."""
    found = database.execute(q.find_thread, (batch.path, batch.request.thread_id))
    if not found:
        return None
    thread = _Basis(*found[0])
    if _may_be_unlisted(batch, thread) and shorten(database, thread.thread):
        return thread._replace(settled=1)
    return thread


def _may_be_unlisted(batch: Batch, thread: _Basis) -> bool:
    """Whether the thread may hold a message of the batch that the index of ids does not have."""
    return not batch.request.fresh and not thread.settled and any(map(may_be_new, batch.bodies))


def _known(database: Database, basis: _Basis, batch: Batch) -> dict[str, Message]:
    """Those of the batch that are there already, by id."""
    if batch.request.fresh or not batch.bodies:
        return {}
    ids = (listed(batch.bodies), basis.thread, basis.tip)
    rows = database.execute(q.known_messages, ids)
    if _may_be_unlisted(batch, basis):
        rows += database.execute(q.known_unlisted, ids)
    return {message_id: decode_message(body, seq, group, raw, form) for message_id, seq, group, body, raw, form in rows}


def _new(request: Append, known: dict[str, Message]) -> dict[str, Message]:
    """Those that are not, each once, in order."""
    new: dict[str, Message] = {}
    for message in request.messages:
        stored = known.get(message.id) or new.get(message.id)
        if stored is None:
            new[message.id] = message
        elif not same_message(stored, message):
            raise Conflict(f"message {message.id!r} is in thread {request.thread_id!r} already and says something else")
    return new


def _placed(database: Database, basis: _Basis | None, new: Sequence[Message]) -> Placed:
    if basis is None or not new:
        return place(new, tip=0, last=None, calls={})
    last = None
    # Only an item of the same reply can join the group of the message before it.
    if new[0].role == "assistant":
        first = basis.thread << SEQ_BITS
        for seq, group, body, raw, form in database.execute(q.last_message, (first, first + basis.tip)):
            last = decode_message(body, seq, group, raw, form)
    calls: dict[str, CallState] = {}
    ids = [message.tool_call_id for message in new if message.tool_call_id is not None]
    ids += [call.id for message in new for call in message.tool_calls]
    if ids:
        rows = database.execute(q.call_states, (basis.thread, listed(ids), basis.tip))
        calls = {call_id: CallState(group, bool(answered)) for call_id, group, answered in rows}
    return place(new, tip=basis.tip, last=last, calls=calls)


def _create(database: Database, batch: Batch) -> _Basis:
    request = batch.request
    namespace = intern(database, request.namespace)
    row = (namespace, request.thread_id, batch.at, batch.at, 0, 0, 0, 0, 0, None, None, encode(request.metadata))
    settled = not request.messages
    return _Basis(database.insert(q.add_thread, (*row, settled)), namespace, 0, settled)


def _store(database: Database, batch: Batch, thread: _Basis, placed: Placed) -> None:
    number, at = thread.thread, batch.at
    first = number << SEQ_BITS
    rows = []
    for message in placed.messages:
        assert message.created_at is not None, "the caller gives every message its time"
        seq, raw = message.seq, message.raw
        created = at if message.created_at is batch.request.at else micros(message.created_at)
        row = (first + seq, number, seq, message.id, message.group, message.role, message.pinned, created, at)
        body = batch.bodies[message.id]
        rows.append((*row, _listed_at_once(batch, message.id), body, raw.json if raw else None, raw.format if raw else None))
    if len(rows) == 1:
        database.execute(q.add_message, rows[0])
    else:
        database.executemany(q.add_message, rows)
    if placed.calls:
        database.executemany(q.set_call, _calls_of(number, placed.messages))
    if thread.settled:
        database.execute(q.set_unsettled, (number,))


def _listed_at_once(batch: Batch, message_id: str) -> bool:
    """Whether the index of ids has it from the start. One whose id was made for this call can wait, see tail.py."""
    return not (batch.request.fresh and may_be_new(message_id))


def _calls_of(thread: int, messages: Sequence[Message]) -> list[Row]:
    """Each call and each answer by group: `Placed.calls` knows only the last state of an id that comes back."""
    rows: list[Row] = []
    for message in messages:
        rows += ((thread, call.id, message.group, False) for call in message.tool_calls)
        if message.tool_call_id is not None:
            rows.append((thread, message.tool_call_id, message.group, True))
    return rows


# -- fork -----------------------------------------------------------------------------------------------------------------


def _parent(database: Database, request: Append, existing: _Basis | None) -> _Basis:
    """The parent up to the fork, after everything that can be wrong with it."""
    point = request.fork_of
    assert point is not None
    if existing is not None:
        raise Conflict(f"thread {request.thread_id!r} exists already — a fork needs a new thread id")
    rows = database.execute(q.find_thread, (path_of(request.namespace), point.thread_id))
    if not rows:
        raise NotFound(f"thread {point.thread_id!r} is not in this namespace")
    thread, namespace, tip, settled = rows[0]
    if point.seq > tip:
        raise InvalidInput("fork_of.seq", f"{point.seq}", f"the tip of the parent is {tip}")
    if database.execute(q.group_cut, (thread, point.seq)):
        raise InvalidInput(
            "fork_of.seq", f"{point.seq} is within a group", "fork before the tool call or after the last of its results"
        )
    checkpoints.check_fork(database, thread, request)
    return _Basis(thread, namespace, point.seq, settled)


def _fork(database: Database, request: Append, parent: _Basis) -> _Basis:
    """A new thread with copies of everything of its parent up to the fork."""
    assert request.fork_of is not None
    settle_thread(database, parent.thread)
    info = find_thread(database, request.namespace, request.fork_of.thread_id)[1]
    nodes, folded_through = nodes_within(_nodes(database, parent.thread), parent.tip, info.folded_through)
    first = parent.thread << SEQ_BITS
    span = (first + 1, first + parent.tip)
    at = micros(request.at)
    count = database.execute(q.count_messages, span)[0][0]
    cursors = (folded_through, min(info.extracted_through, parent.tip), min(info.reflected_through, parent.tip))
    row = (parent.namespace, request.thread_id, at, at, parent.tip, count, *cursors)
    thread = database.insert(q.add_thread, (*row, request.fork_of.thread_id, parent.tip, encode(request.metadata), True))

    moved = (thread - parent.thread) << SEQ_BITS
    last = last_unit(database)
    database.execute(q.fork_units, (*span, moved, last))
    database.execute(q.fork_messages, (*span, moved, thread, last))
    database.execute(q.fork_vectors, (*span, moved))
    database.execute(q.fork_tokens, (*span, moved))
    database.execute(q.fork_calls, (parent.thread, parent.tip, thread))
    marks.fork(database, span, moved)
    copied(database, last)
    _add_nodes(database, thread, nodes)
    database.execute(q.fork_attempts, (parent.thread, thread))
    asked.fork(database, parent.thread, parent.tip, thread, request.thread_id)
    checkpoints.fork(database, parent.thread, request, thread)
    states.fork(database, parent.namespace, request.fork_of.thread_id, parent.tip, request.thread_id)
    return _Basis(thread, parent.namespace, parent.tip, True)


# -- fold -----------------------------------------------------------------------------------------------------------------


def fold(database: Database, request: Fold) -> ThreadInfo:
    """See `storage.base.Fold`."""
    thread, info = find_thread(database, request.namespace, request.thread_id)
    if info.folded_through != request.expected_through:
        raise Conflict(
            f"thread {request.thread_id!r} is folded through {info.folded_through}, not {request.expected_through} "
            "— another writer folded it first; read it again",
            expected=request.expected_through,
            actual=info.folded_through,
        )
    known: dict[str, int] = dict(database.execute(q.node_ids, (thread,)))
    there = {node_id for node_id, replaced in known.items() if not replaced}
    for node in request.nodes:
        if node.id in known or node.id in there:
            raise Conflict(f"node {node.id!r} is in thread {request.thread_id!r} already")
        if not there.issuperset(node.children) or not _all_there(database, thread, node):
            raise Conflict(
                f"something that node {node.id!r} stands for was forgotten or replaced — read the thread and plan again"
            )
        there.add(node.id)
    _add_nodes(database, thread, request.nodes)
    database.execute(q.set_folded, (request.through, thread))
    return find_thread(database, request.namespace, request.thread_id)[1]


def refine(database: Database, request: Refine) -> None:
    """See `storage.base.Refine`."""
    thread, _ = find_thread(database, request.namespace, request.thread_id)
    expected, node, attempt = request.expected, request.node, request.attempt
    rows = database.execute(q.find_node, (expected.id, thread))
    if not rows or decode_node(rows[0][2]) != expected:
        raise Conflict(f"node {expected.id!r} has been replaced or changed — read the thread's nodes again")
    if node is not None:
        if database.execute(q.find_node, (node.id, thread)):
            raise Conflict(f"node {node.id!r} is in thread {request.thread_id!r} already")
        number, top, _ = rows[0]
        database.execute(q.set_replaced, (encode(replace(expected, replaced_by=node.id)), number))
        database.execute(q.add_node, (thread, node.id, node.first_seq, top, False, encode(node)))
        for above, body in database.execute(q.nodes_naming, (thread, expected.id)):
            database.execute(q.set_node_body, (encode(with_child_replaced(decode_node(body), expected.id, node.id)), above))
        database.execute(q.drop_attempts, (thread,))
        database.execute(q.touch_thread, (thread,))
    database.execute(q.set_attempt, (thread, attempt.node_id, attempt.model, encode(attempt)))


def _all_there(database: Database, thread: int, node: Node) -> bool:
    start = thread << SEQ_BITS
    for low, high in node.covers:
        if low < 1 or high > _LAST_SEQ or database.execute(q.count_messages, (start + low, start + high))[0][0] <= high - low:
            return False
    return True


def _nodes(database: Database, thread: int) -> list[Node]:
    return [decode_node(body) for _, body in database.execute(q.nodes_of_thread, (thread,))]


def _add_nodes(database: Database, thread: int, nodes: Sequence[Node]) -> None:
    if not nodes:
        return
    children = {child for node in nodes for child in node.children}
    rows = [
        (thread, node.id, node.first_seq, not (node.replaced_by or node.id in children), bool(node.replaced_by), encode(node))
        for node in nodes
    ]
    database.executemany(q.add_node, rows)
    if children:
        database.execute(q.make_children, (thread, listed(sorted(children))))
