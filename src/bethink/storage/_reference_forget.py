"""What goes with what: the cascade of `storage.base.Forget`, step by step over the state.

    messages and their groups ─▶ threads, nodes, checkpoints ─▶ records ─▶ records they had superseded ─▶ receipts
                              └▶ units ◀───────────────────────┘

`storage.derive` says what is left of each single value; this module walks.
"""

from __future__ import annotations

from dataclasses import dataclass, field

import msgspec

from bethink.errors import InvalidInput, NotFound
from bethink.ids import new_id
from bethink.messages import Message, canonical_json
from bethink.records import AnyRecord, StateEntry, Summary
from bethink.storage._reference_checkpoints import without
from bethink.storage._reference_items import expired, with_other_versions
from bethink.storage._reference_marks import without_marks
from bethink.storage._reference_state import Key, State, Thread, Unit, attempts_at, in_scope
from bethink.storage.base import Forget, ForgetReceipt, ForgottenCount
from bethink.storage.derive import (
    made_of,
    nodes_without,
    receipt_shows,
    record_without,
    rehomed,
    reopened,
    terms_of,
    thread_of,
)
from bethink.threads import HANDOFF
from bethink.values import Namespace

__all__ = ["above", "forget"]

replace = msgspec.structs.replace


@dataclass
class _Gone:
    """What goes, by namespace and id, and what changes with it."""

    messages: dict[Key, dict[int, str]]
    """Of each thread in scope: the messages that go, id by seq."""
    threads: set[Key]
    records: set[Key]
    homes: dict[Key, dict[str, str]] = field(default_factory=dict)
    """Of a thread that is named: its messages that other threads hold too, each with the first such thread."""
    nodes: set[Key] = field(default_factory=set)
    """Nodes that go or change: a receipt that shows one cannot be replayed either way."""
    entries: set[Key] = field(default_factory=set)
    """Those of the records that are entries of a state: receipts of the namespaces below may show them."""
    changed: set[Key] = field(default_factory=set)
    revived: set[Key] = field(default_factory=set)
    lines: int = 0
    units: int = 0
    receipts: int = 0
    checkpoints: int = 0

    def message_ids(self, namespace: Namespace | None = None) -> set[str]:
        """Of one namespace, or of all: the messages that are in no thread any more."""
        return {message_id for key in self.messages if namespace in (None, key[0]) for message_id in self.lost(key)}

    def lost(self, thread: Key) -> set[str]:
        """Of the messages that go from a thread those that have no other home."""
        return set(self.messages[thread].values()) - self.homes.get(thread, {}).keys()


def forget(state: State, request: Forget) -> ForgetReceipt:
    """See `storage.base.Forget`."""
    gone = _named(state, request)
    _drop_messages(state, gone)
    _drop_records(state, gone)
    _drop_units(state, gone)
    _reopen(state, gone)
    _drop_receipts(state, gone)
    _count(state, gone, request)
    return ForgetReceipt(
        id=new_id(request.at),
        at=request.at,
        scope=request.scope,
        message_ids=tuple(sorted(gone.message_ids())),
        record_ids=_ids(gone.records),
        thread_ids=_ids(gone.threads),
        changed=_ids(gone.changed),
        revived=_ids(gone.revived),
        lines=gone.lines,
        units=gone.units,
        receipts=gone.receipts,
        checkpoints=gone.checkpoints,
    )


def _named(state: State, request: Forget) -> _Gone:
    """What the request names, or NotFound: the messages with their groups, the threads, the records."""
    given = [name for name in (request.message_id, request.record_id, request.thread_id) if name is not None]
    if len(given) + request.expired > 1:
        raise InvalidInput("forget", "more than one of message_id, record_id, thread_id, expired", "make one call for each")
    scope = request.scope
    threads = {key: row.value for key, row in state.threads.items() if in_scope(key[0], scope)}
    records = {key for key in state.records if in_scope(key[0], scope)}

    if request.expired:
        return _Gone(messages={}, threads=set(), records=expired(state, request))
    if request.record_id is not None:
        named = {key for key in records if key[1] == request.record_id}
        if not named:
            raise NotFound(f"record {request.record_id!r} is not in this scope")
        return _Gone(messages={}, threads=set(), records=with_other_versions(state, named))
    if request.message_id is not None:
        if not any(message.id == request.message_id for thread in threads.values() for message in thread.messages):
            raise NotFound(f"message {request.message_id!r} is not in this scope")
        return _Gone(messages=_with_groups(threads, {request.message_id}), threads=set(), records=set())
    if request.thread_id is not None:
        going = {key: thread for key, thread in threads.items() if key[1] == request.thread_id}
        if not going:
            raise NotFound(f"thread {request.thread_id!r} is not in this scope")
        homes = {key: _homes(state, key) for key in going}
        return _Gone(messages=_everything(going), threads=set(going), records=set(), homes=homes)
    return _Gone(messages=_everything(threads), threads=set(threads), records=records)


def _everything(threads: dict[Key, Thread]) -> dict[Key, dict[int, str]]:
    return {key: {message.seq: message.id for message in thread.messages} for key, thread in threads.items()}


def _homes(state: State, going: Key) -> dict[str, str]:
    """Of each message of a thread that another thread of the namespace holds too: the first such thread, by message id."""
    own = {_unplaced(message) for message in state.threads[going].value.messages}
    homes: dict[str, str] = {}
    for thread in _others(state, going):
        for message in thread.messages:
            if _unplaced(message) in own:
                homes.setdefault(message.id, thread.info.thread_id)
    return homes


def _others(state: State, going: Key) -> list[Thread]:
    """The other threads of a thread's namespace, by creation."""
    others = [row for key, row in state.threads.items() if key[0] == going[0] and key != going]
    return [row.value for row in sorted(others, key=lambda row: row.number)]


def _unplaced(message: Message) -> bytes:
    return canonical_json(replace(message, seq=0, group=0))


def _with_groups(threads: dict[Key, Thread], ids: set[str]) -> dict[Key, dict[int, str]]:
    """Per thread, the messages with these ids and all that share a group with one, until nothing is added."""
    while True:
        going: dict[Key, dict[int, str]] = {}
        for key, thread in threads.items():
            groups = {message.group for message in thread.messages if message.id in ids}
            going[key] = {message.seq: message.id for message in thread.messages if message.group in groups}
        found = {message_id for members in going.values() for message_id in members.values()}
        if found <= ids:
            return going
        ids = ids | found


def _drop_messages(state: State, gone: _Gone) -> None:
    """Messages, the node lines that cite them, nodes that cover nothing any more, and the threads themselves."""
    for key, going in gone.messages.items():
        thread = state.threads[key].value
        ids = set(going.values())
        left = () if key in gone.threads else tuple(nodes_without(thread.nodes, ids, going).values())
        # Receipts show lines: a copy of a node that has the same ones serves them, whoever its children are.
        held = (
            {(node.id, node.lines) for other in _others(state, key) for node in other.nodes} if key in gone.threads else set()
        )
        going_nodes = [node for node in thread.nodes if node not in left]
        gone.nodes |= {(key[0], node.id) for node in going_nodes if (node.id, node.lines) not in held}
        gone.lines += sum(len(node.lines) for node in thread.nodes) - sum(len(node.lines) for node in left)
        if key in gone.threads:
            gone.checkpoints += len(thread.checkpoints)
            del state.threads[key]
            state.calls = {number: call for number, call in state.calls.items() if (call[0], call[1].thread_id) != key}
        elif going:
            messages = tuple(message for message in thread.messages if message.seq not in going)
            checkpoints = without(thread, min(going))
            gone.checkpoints += len(thread.checkpoints) - len(checkpoints)
            info = replace(thread.info, count=len(messages))
            attempts = attempts_at(left, thread.attempts)
            left_of = replace(thread, info=info, messages=messages, nodes=left, checkpoints=checkpoints, attempts=attempts)
            stored = {seq: at for seq, at in thread.stored.items() if seq not in going}
            state.put_thread(without_marks(replace(left_of, stored=stored), going))


def _drop_records(state: State, gone: _Gone) -> None:
    """The records named, summaries of threads that go, records left without a source. Others lose the sources that go.

    A source whose message another thread holds names that thread from now on, which changes nothing that the record says.
    """
    sources: dict[Namespace, set[tuple[str, str]]] = {}
    homes: dict[Namespace, dict[tuple[str, str], str]] = {}
    for key in gone.messages:
        namespace, thread_id = key
        sources.setdefault(namespace, set()).update((thread_id, message_id) for message_id in gone.lost(key))
        moved = {(thread_id, message_id): home for message_id, home in gone.homes.get(key, {}).items()}
        homes.setdefault(namespace, {}).update(moved)
    for key, row in list(state.records.items()):
        namespace, record = key[0], row.value
        of_thread = (namespace, thread_of(record)) in gone.threads
        named = key in gone.records or of_thread
        at_home = rehomed(record, homes.get(namespace, {}))
        left = None if named else record_without(at_home, sources.get(namespace, set()))
        if left is record:
            continue
        gone.lines += _line_count(record) - _line_count(left)
        if left is None:
            gone.records.add(key)
            if isinstance(record, StateEntry):
                gone.entries.add(key)
            state.drop_record(key)
        else:
            if left is not at_home:
                gone.changed.add(key)
            state.put_record(namespace, left)
    _drop_made_of(state, gone)


def _drop_made_of(state: State, gone: _Gone) -> None:
    """Episodes that were made of an entry of a state that went."""
    for key, row in list(state.records.items()):
        if made_of(row.value, {entry for namespace, entry in gone.entries if namespace == key[0]}):
            gone.records.add(key)
            state.drop_record(key)


def _line_count(record: AnyRecord | None) -> int:
    return len(record.lines) if isinstance(record, Summary) else 0


def _drop_units(state: State, gone: _Gone) -> None:
    """Units of what went. A record in other words gets a new one, which has to wait for its vector."""
    for number, unit in list(state.units.items()):
        thread, record = (unit.namespace, unit.thread_id), (unit.namespace, unit.id)
        if unit.seq in gone.messages.get(thread, ()) or (not unit.seq and record in gone.records):
            del state.units[number]
            gone.units += 1
        elif not unit.seq and record in gone.changed:
            terms = terms_of(state.record(*record))
            if terms != unit.terms:
                del state.units[number]
                state.add_unit(Unit(unit.namespace, unit.id, terms))


def _reopen(state: State, gone: _Gone) -> None:
    """What a removed record had superseded becomes current again, or names the record that stands in its place."""
    for namespace in sorted({namespace for namespace, _ in gone.records}):
        left = [row.value for key, row in state.records.items() if key[0] == namespace]
        orphans = [record for record in left if (namespace, record.superseded_by) in gone.records]
        for record in reopened(orphans, (record for record in left if record.superseded_by is None)):
            state.put_record(namespace, record)
            if record.current:
                gone.revived.add((namespace, record.id))


def _drop_receipts(state: State, gone: _Gone) -> None:
    """Receipts of threads that went, and all that show something that went or changed."""
    for key, row in list(state.receipts.items()):
        namespace, receipt = key[0], row.value
        if (
            (namespace, receipt.thread_id) in gone.threads
            or receipt_shows(
                receipt,
                seqs={thread_id: going.keys() for (owner, thread_id), going in gone.messages.items() if owner == namespace},
                message_ids=gone.message_ids(namespace),
                record_ids={record_id for owner, record_id in gone.records | gone.changed if owner == namespace},
                node_ids={node_id for owner, node_id in gone.nodes if owner == namespace},
            )
            or any((namespace[:depth], line.id) in gone.entries for depth in above(namespace) for line in receipt.lines)
        ):
            del state.receipts[key]
            state.usage.pop(key, None)
            gone.receipts += 1


def _count(state: State, gone: _Gone, request: Forget) -> None:
    """How much went from each namespace; of a scope that went, not even that. What has expired was not forgotten."""
    if request.expired:
        return
    if request.message_id is request.record_id is request.thread_id is None:
        state.changes = {n: each for n, each in state.changes.items() if not in_scope(each[0], request.scope)}
        state.forgotten = {n: each for n, each in state.forgotten.items() if not in_scope(each[0], request.scope)}
        return
    for namespace in sorted({namespace for namespace, _ in [*gone.messages, *gone.records]}):
        messages = gone.message_ids(namespace)
        records = [key for key in gone.records if key[0] == namespace]
        if messages or records:
            state.forgotten[state.number()] = (namespace, ForgottenCount(request.at, len(messages), len(records)))


def above(namespace: Namespace) -> list[int]:
    """The lengths of the namespaces that have handed work to this one."""
    return [depth for depth in range(1, len(namespace)) if namespace[depth] == HANDOFF]


def _ids(keys: set[Key]) -> tuple[str, ...]:
    return tuple(sorted({name for _, name in keys}))
