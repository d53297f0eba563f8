"""Messages of a `ReferenceStore`: appended, forked from another thread, and read."""

from __future__ import annotations

import msgspec

from bethink.errors import Conflict, InvalidInput
from bethink.marks import is_pinned
from bethink.messages import Message, same_message
from bethink.records import StateEntry
from bethink.storage._reference_asked import asked_of_fork
from bethink.storage._reference_checkpoints import forked
from bethink.storage._reference_marks import marks_within
from bethink.storage._reference_nodes import top_nodes, tree
from bethink.storage._reference_state import State, Thread, Unit, attempts_at, call_states
from bethink.storage.base import Append, Appended, Read, Transcript
from bethink.storage.derive import nodes_within, states_within, terms_of
from bethink.storage.leases import require
from bethink.threads import ThreadInfo, place

__all__ = ["append", "read"]

replace = msgspec.structs.replace


def append(state: State, request: Append) -> Appended:
    if request.fork_of is not None:
        thread = _forked(state, request)
    elif (request.namespace, request.thread_id) in state.threads:
        thread = state.thread(request.namespace, request.thread_id)
    else:
        thread = Thread(_new_info(request))

    known = {message.id: message for message in thread.messages}
    new: dict[str, Message] = {}
    for message in request.messages:
        stored = known.get(message.id) or new.get(message.id)
        if stored is None:
            new[message.id] = message
        elif not same_message(stored, message):
            raise Conflict(f"message {message.id!r} is in thread {request.thread_id!r} already and says something else")

    entirely_a_retry = bool(request.messages) and not new
    if request.expected_tip not in (None, thread.info.tip) and not entirely_a_retry:
        raise Conflict(
            f"the tip of thread {request.thread_id!r} is {thread.info.tip}, not {request.expected_tip} — read it and try again",
            expected=request.expected_tip,
            actual=thread.info.tip,
        )
    if request.lease is not None and not entirely_a_retry:
        require(thread.lease, request.lease, request.thread_id)

    placed = place(
        tuple(new.values()),
        tip=thread.info.tip,
        last=thread.messages[-1] if thread.messages else None,
        calls=call_states(thread.messages),
    ).messages
    messages = thread.messages + placed
    info = thread.info
    if placed:
        info = replace(info, tip=placed[-1].seq, count=len(messages), updated_at=request.at)
    added_at = {**thread.stored, **{message.seq: request.at for message in placed}}
    state.put_thread(replace(thread, info=info, messages=messages, stored=added_at))
    if request.fork_of is not None:
        _fork_state(state, request)
    for message in placed:
        state.add_unit(Unit(request.namespace, message.id, terms_of(message), request.thread_id, message.seq))

    by_id = {message.id: message for message in messages}
    return Appended(tuple(by_id[message.id] for message in request.messages), added=len(placed), tip=info.tip)


def _new_info(request: Append) -> ThreadInfo:
    return ThreadInfo(
        namespace=request.namespace,
        thread_id=request.thread_id,
        created_at=request.at,
        updated_at=request.at,
        parent=request.fork_of,
        metadata=request.metadata,
    )


def _forked(state: State, request: Append) -> Thread:
    """The thread as it starts: a copy of its parent up to the fork. Its units are added here, its row is not."""
    point = request.fork_of
    assert point is not None
    if (request.namespace, request.thread_id) in state.threads:
        raise Conflict(f"thread {request.thread_id!r} exists already — a fork needs a new thread id")
    parent = state.thread(request.namespace, point.thread_id)
    if point.seq > parent.info.tip:
        raise InvalidInput("fork_of.seq", f"{point.seq}", f"the tip of the parent is {parent.info.tip}")
    shared = tuple(message for message in parent.messages if message.seq <= point.seq)
    beyond = {message.group for message in parent.messages if message.seq > point.seq}
    if any(message.group in beyond for message in shared):
        raise InvalidInput(
            "fork_of.seq", f"{point.seq} is within a group", "fork before the tool call or after the last of its results"
        )
    nodes, folded_through = nodes_within(parent.nodes, point.seq, parent.info.folded_through)
    for unit in list(state.units.values()):
        if (unit.namespace, unit.thread_id) == (request.namespace, point.thread_id) and 0 < unit.seq <= point.seq:
            state.add_unit(replace(unit, thread_id=request.thread_id))
    info = replace(
        _new_info(request),
        tip=point.seq,
        count=len(shared),
        folded_through=folded_through,
        extracted_through=min(parent.info.extracted_through, point.seq),
        reflected_through=min(parent.info.reflected_through, point.seq),
    )
    attempts = attempts_at(nodes, parent.attempts)
    # As in a copy, and no earlier than the fork: see `_reference_search.stored_by`.
    stored = {seq: at for seq, at in parent.stored.items() if seq <= point.seq}
    asked = asked_of_fork(state, parent, point.seq, request.thread_id)
    fork = Thread(info, shared, nodes, forked(state, parent, request), attempts, stored=stored, asked=asked)
    return marks_within(fork, parent, point.seq)


def _fork_state(state: State, request: Append) -> None:
    """Copy the entries at or below the fork, whose messages are there already."""
    point = request.fork_of
    assert point is not None
    rows = [row.value for (namespace, _), row in state.records.items() if namespace == request.namespace]
    entries = [record for record in rows if isinstance(record, StateEntry) and record.thread_id == point.thread_id]
    for entry in states_within(entries, point.seq, request.thread_id):
        if all(state.has_message(request.namespace, source.thread_id, source.message_id) for source in entry.sources):
            state.put_record(request.namespace, entry)


def read(thread: Thread, request: Read) -> Transcript:
    after = max(request.after or 0, thread.info.folded_through if request.unfolded else 0)
    within = [
        message
        for message in thread.messages
        if message.seq > after and (request.before is None or message.seq < request.before)
    ]
    newest = within if request.limit is None else within[max(0, len(within) - request.limit) :]
    pinned = [message for message in thread.messages if request.pinned and is_pinned(message, thread.tiers)]
    wanted = [*newest, *pinned]
    seqs = {message.seq for message in wanted}
    groups = {message.group for message in wanted} if request.whole_groups else set()
    messages = tuple(message for message in thread.messages if message.seq in seqs or message.group in groups)
    nodes = tree(thread) if request.tree else top_nodes(thread) if request.nodes else ()
    scores = {message.seq: thread.scores[message.seq] for message in messages if message.seq in thread.scores}
    return Transcript(
        thread.info,
        messages,
        nodes,
        attempts=thread.attempts if request.tree else (),
        tiers=dict(sorted(thread.tiers.items())) if request.marks else {},
        scores=scores if request.marks else {},
    )
