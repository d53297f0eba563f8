"""The storage contract as plain code: everything in memory, nothing clever. Every other backend is compared with this one.

    ReferenceStore   takes the lock, works on a copy of the state, swaps it in
      _append, _read, _put ...  one function a verb, in the order of the contract's sentences
      _reference_state          what is held
      _reference_spaces         whose vectors
      _reference_nodes          summary nodes folded and refined
      _reference_search         what search finds, and its statistics
      _reference_checkpoints    states saved and pruned
      _reference_asked          what came of asking a model
      _reference_marks          tiers and scores beside messages
      _reference_items          JSON under keys
      _reference_forget         what goes with what
      _reference_rewrite        what is stored, in other words
      _reference_scan           everything, page by page
      _reference_check          what must always hold

It also serves as a store for tests and for memories that need not outlive their process.
"""

from __future__ import annotations

import threading
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from datetime import datetime

import msgspec

from bethink.checkpoints import Checkpoint
from bethink.errors import BethinkError, Conflict, InvalidInput, NotFound, StoreClosed
from bethink.marks import is_pinned
from bethink.messages import Message, same_message
from bethink.models import Fingerprint
from bethink.records import AnyRecord, Episode, StateEntry, Summary
from bethink.storage._reference_asked import asked_of_fork, keep_asked
from bethink.storage._reference_check import problems
from bethink.storage._reference_checkpoints import forked, prune, save
from bethink.storage._reference_forget import forget
from bethink.storage._reference_items import count_items, expired, item_namespaces, keep_items, list_items, refresh_items
from bethink.storage._reference_marks import mark, marks_within
from bethink.storage._reference_nodes import fold, refine, top_nodes, tree
from bethink.storage._reference_rewrite import rewrite
from bethink.storage._reference_scan import everything, scan, stats
from bethink.storage._reference_search import search, speakers
from bethink.storage._reference_spaces import bind, fill, is_filling, spaces, switch
from bethink.storage._reference_state import (
    Row,
    State,
    Thread,
    Unit,
    attempts_at,
    call_states,
    in_scope,
    rows,
)
from bethink.storage.base import (
    Acquire,
    Append,
    Appended,
    Cite,
    Cursor,
    Fetched,
    Fold,
    Forget,
    ForgetReceipt,
    Found,
    Get,
    KeepItems,
    Lease,
    ListItems,
    Mark,
    Page,
    Pin,
    Problem,
    Prune,
    Purpose,
    Put,
    Read,
    Refine,
    RefreshItems,
    Release,
    Restore,
    Retire,
    Rewrite,
    Rewritten,
    Save,
    Scan,
    Scope,
    Search,
    Space,
    Stats,
    StoredItem,
    StoredMessage,
    StoredRecord,
    Transcript,
    Verification,
    Weigh,
    restored,
)
from bethink.storage.derive import nodes_within, refuse_item, repinned, states_within, terms_of
from bethink.storage.leases import given_back, granted, require
from bethink.storage.vectors import check_tokens, check_vectors
from bethink.threads import ThreadInfo, place
from bethink.values import Namespace

__all__ = ["ReferenceStore"]

replace = msgspec.structs.replace


class ReferenceStore:
    """A `Store` in memory, gone when it is closed."""

    def __init__(self) -> None:
        self._lock = threading.RLock()
        self._state = State()
        self._closed = False

    @contextmanager
    def _reading(self) -> Iterator[State]:
        with self._lock:
            if self._closed:
                raise StoreClosed("the store has been closed — open it again")
            yield self._state

    @contextmanager
    def _writing(self) -> Iterator[State]:
        """A copy to change; it becomes the state unless the block raises."""
        with self._reading() as state:
            changed = state.copy()
            yield changed
            self._state = changed

    def append(self, request: Append, /) -> Appended:
        with self._writing() as state:
            return _append(state, request)

    def append_each(self, requests: Sequence[Append], /) -> list[Appended | BethinkError]:
        return [self._outcome(request) for request in requests]

    def _outcome(self, request: Append) -> Appended | BethinkError:
        try:
            return self.append(request)
        except BethinkError as error:
            return error

    def read(self, request: Read, /) -> Transcript:
        with self._reading() as state:
            return _read(state.thread(request.namespace, request.thread_id), request)

    def get(self, request: Get, /) -> Fetched:
        with self._reading() as state:
            return _get(state, request)

    def fold(self, request: Fold, /) -> ThreadInfo:
        with self._writing() as state:
            return fold(state, request)

    def refine(self, request: Refine, /) -> None:
        with self._writing() as state:
            refine(state, request)

    def mark(self, request: Mark, /) -> None:
        with self._writing() as state:
            mark(state, request)

    def acquire(self, request: Acquire, /) -> Lease:
        with self._writing() as state:
            return _acquire(state, request)

    def release(self, request: Release, /) -> None:
        with self._writing() as state:
            _release(state, request.lease)

    def put(self, request: Put, /) -> None:
        with self._writing() as state:
            _put(state, request)

    def save(self, request: Save, /) -> Checkpoint:
        with self._writing() as state:
            return save(state, request)

    def prune(self, request: Prune, /) -> tuple[str, ...]:
        with self._writing() as state:
            return prune(state, request)

    def keep_items(self, request: KeepItems, /) -> tuple[StoredItem | None, ...]:
        with self._writing() as state:
            return keep_items(state, request)

    def refresh_items(self, request: RefreshItems, /) -> int:
        with self._writing() as state:
            return refresh_items(state, request)

    def list_items(self, request: ListItems, /) -> tuple[StoredItem, ...]:
        with self._reading() as state:
            return list_items(state, request)

    def count_items(self, request: ListItems, /) -> int:
        with self._reading() as state:
            return count_items(state, request)

    def item_namespaces(self, scope: Scope, at: datetime, /) -> tuple[Namespace, ...]:
        with self._reading() as state:
            return item_namespaces(state, scope, at)

    def has_expired(self, scope: Scope, at: datetime, /) -> bool:
        with self._reading() as state:
            return bool(expired(state, Forget(scope=scope, at=at)))

    def search(self, request: Search, /) -> Found:
        with self._reading() as state:
            return search(state, request)

    def revision(self, _: Namespace, /) -> int:
        """The number of changes of records, in whichever namespace."""
        with self._reading() as state:
            return state.revision

    def speakers(self, scope: Scope, /, *, at: datetime | None = None) -> tuple[str, ...]:
        """Names under which messages that search can find were said."""
        with self._reading() as state:
            return speakers(state, scope, at)

    def forget(self, request: Forget, /) -> ForgetReceipt:
        with self._writing() as state:
            return forget(state, request)

    def rewrite(self, request: Rewrite, /) -> Rewritten:
        with self._writing() as state:
            return rewrite(state.copy() if request.dry else state, request)

    def scan(self, request: Scan, /) -> Page:
        with self._reading() as state:
            return scan(state, request)

    def check(self) -> list[Problem]:
        """Everything inconsistent; empty when sound."""
        with self._reading() as state:
            return problems(state)

    def verify(self, texts: tuple[str, ...], /) -> Verification:
        """Look for the texts, line by line, in the JSON of everything held: the nearest thing to files there is here."""
        with self._reading() as state:
            held = everything(state)
        pieces = sorted({line.strip() for text in texts for line in text.splitlines()} - {""})
        found = [(held.find(msgspec.json.encode(piece)[1:-1]), piece) for piece in pieces]
        hits = tuple(("memory", offset, piece) for offset, piece in found if offset >= 0)
        return Verification(needles=len(pieces), files=(("memory", len(held)),), hits=hits)

    def stats(self, scope: Scope, /) -> Stats:
        with self._reading() as state:
            return stats(state, scope)

    def spaces(self) -> tuple[Space, ...]:
        with self._reading() as state:
            return spaces(state)

    def bind_embedder(self, fingerprint: Fingerprint) -> None:
        with self._writing() as state:
            bind(state, fingerprint)

    def fill_space(self, fingerprint: Fingerprint) -> None:
        with self._writing() as state:
            fill(state, fingerprint)

    def switch_space(self, fingerprint: Fingerprint, *, waiting: int = 0) -> bool:
        with self._writing() as state:
            return switch(state, fingerprint, waiting)

    def sweep(self) -> bool:
        """Nothing is left to remove: what was given up is gone at once."""
        with self._reading():
            return False

    def close(self) -> None:
        """Release everything. Closing twice is fine."""
        with self._lock:
            self._closed = True
            self._state = State()


# -- append and read ------------------------------------------------------------------------------------------------------


def _append(state: State, request: Append) -> Appended:
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


def _read(thread: Thread, request: Read) -> Transcript:
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


def _get(state: State, request: Get) -> Fetched:
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


# -- turns ----------------------------------------------------------------------------------------------------------------


def _acquire(state: State, request: Acquire) -> Lease:
    thread = state.thread(request.namespace, request.thread_id)
    lease = granted(_last_lease(thread, request.purpose), request)
    state.put_thread(_leased(thread, lease))
    return lease


def _last_lease(thread: Thread, purpose: Purpose) -> Lease | None:
    return thread.lease if purpose == "turn" else thread.reflecting


def _leased(thread: Thread, lease: Lease) -> Thread:
    return replace(thread, lease=lease) if lease.purpose == "turn" else replace(thread, reflecting=lease)


def _release(state: State, lease: Lease) -> None:
    row = state.threads.get((lease.namespace, lease.thread_id))
    left = None if row is None else given_back(_last_lease(row.value, lease.purpose), lease)
    if row is not None and left is not None:
        state.put_thread(_leased(row.value, left))


# -- put ------------------------------------------------------------------------------------------------------------------


def _put(state: State, request: Put) -> None:
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
