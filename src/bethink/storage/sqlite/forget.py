"""What goes with what: the cascade of `storage.base.Forget`, within one transaction.

    messages and their groups ─▶ threads, nodes, checkpoints ─▶ records ─▶ records they had superseded ─▶ receipts
                              └▶ units ◀───────────────────────┘

`storage.derive` says what is left of each single value; this module walks. That the bytes leave the file is `erase.py`.
"""

from __future__ import annotations

import sys
from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import NamedTuple

from bethink.errors import InvalidInput, NotFound
from bethink.ids import new_id
from bethink.records import AnyRecord, ItemVersion, StateEntry, Summary
from bethink.storage.base import Forget, ForgetReceipt, Scope
from bethink.storage.derive import made_of, nodes_without, receipt_shows, record_without, rehomed, reopened, terms_of
from bethink.storage.sqlite import checkpoints, marks
from bethink.storage.sqlite.driver import Database, Row
from bethink.storage.sqlite.queries import q
from bethink.storage.sqlite.records import index_record, touch_records, write_record
from bethink.storage.sqlite.tail import message_numbers, settle_thread
from bethink.storage.sqlite.units import drop_units
from bethink.storage.sqlite.values import (
    SEQ_BITS,
    decode_node,
    decode_receipt,
    decode_record,
    encode,
    listed,
    micros,
    namespace_of,
    path_range,
)
from bethink.threads import HANDOFF

__all__ = ["forget", "showing_below"]


class _Home(NamedTuple):
    """Where a message of a thread that goes is held too: the thread's id, and the message's number there."""

    thread_id: str
    message: int


@dataclass
class _Thread:
    """A thread that loses messages, or goes."""

    number: int
    namespace: int
    thread_id: str
    whole: bool = False
    going: dict[int, str] = field(default_factory=dict)
    """Ids of the messages that go, by seq."""
    homes: dict[str, _Home] = field(default_factory=dict)
    """Of a thread that is named: its messages that other threads hold too, by id."""
    shared_nodes: set[str] = field(default_factory=set)
    """Likewise its nodes, as far as their lines go: that is what receipts show."""

    @property
    def messages(self) -> list[int]:
        """The numbers of those that go."""
        return [(self.number << SEQ_BITS) + seq for seq in self.going]

    @property
    def lost(self) -> set[str]:
        """Ids of those that go and have no other home."""
        return set(self.going.values()) - self.homes.keys()


@dataclass
class _Gone:
    """What goes and what changes. Namespaces are numbers; the rest is ids, which several namespaces may share."""

    threads: dict[int, _Thread]
    records: dict[int, list[AnyRecord]] = field(default_factory=dict)
    changed: dict[int, list[AnyRecord]] = field(default_factory=dict)
    nodes: dict[int, set[str]] = field(default_factory=dict)
    """Nodes that go or change: a receipt that shows one cannot be replayed either way."""
    units: list[int] = field(default_factory=list)
    revived: set[str] = field(default_factory=set)
    rehomed: set[int] = field(default_factory=set)
    """Namespaces with records whose sources are in another thread now."""
    lines: int = 0
    receipts: int = 0
    checkpoints: int = 0

    def sources(self, namespace: int) -> set[tuple[str, str]]:
        """The messages that are lost to a namespace, each with its thread."""
        return {(thread.thread_id, message_id) for thread in self.within(namespace) for message_id in thread.lost}

    def homes(self, namespace: int) -> dict[tuple[str, str], _Home]:
        """Where the others that go are held too."""
        threads = self.within(namespace)
        return {(thread.thread_id, message_id): home for thread in threads for message_id, home in thread.homes.items()}

    def within(self, namespace: int) -> list[_Thread]:
        return [thread for thread in self.threads.values() if thread.namespace == namespace]

    def namespaces(self) -> list[int]:
        return sorted({thread.namespace for thread in self.threads.values()} | self.records.keys() | self.changed.keys())


def forget(database: Database, request: Forget) -> ForgetReceipt:
    """Remove it all and note that an erasure is due; the receipt says `erased=False` until that is done."""
    gone, records = _named(database, request)
    for thread in gone.threads.values():
        _drop_from_thread(database, gone, thread)
    _drop_records(database, gone, records)
    count = len(gone.units)
    drop_units(database, gone.units)
    _reword(database, gone)
    for namespace, removed in sorted(gone.records.items()):
        _reopen(database, gone, namespace, [record.id for record in removed])
    for namespace in gone.namespaces():
        _drop_receipts(database, gone, namespace)
    for namespace in sorted(gone.records.keys() | gone.changed.keys() | gone.rehomed):
        touch_records(database, namespace)
    for namespace in gone.namespaces() if not request.expired else ():
        messages, removed = {each for thread in gone.within(namespace) for each in thread.lost}, gone.records.get(namespace, [])
        if messages or removed:
            database.execute(q.add_forgotten, (namespace, micros(request.at), len(messages), len(removed)))
    if request.message_id is request.record_id is request.thread_id is None and not request.expired:
        database.execute(q.drop_empty_namespaces, path_range(request.scope))
        database.execute(q.drop_partitions_astray)
        database.execute(q.drop_changes_astray)
        database.execute(q.drop_forgotten_astray)
    if gone.threads or gone.records:
        database.execute(q.shorten_dropped, (sys.maxsize,))
        database.execute(q.owe_erasure)
    return ForgetReceipt(
        id=new_id(request.at),
        at=request.at,
        scope=request.scope,
        message_ids=_sorted(message_id for thread in gone.threads.values() for message_id in thread.lost),
        record_ids=_sorted(record.id for removed in gone.records.values() for record in removed),
        thread_ids=_sorted(thread.thread_id for thread in gone.threads.values() if thread.whole),
        changed=_sorted(record.id for changed in gone.changed.values() for record in changed),
        revived=_sorted(gone.revived),
        lines=gone.lines,
        units=count,
        receipts=gone.receipts,
        checkpoints=gone.checkpoints,
        erased=False,
    )


def _sorted(ids: Iterable[str]) -> tuple[str, ...]:
    return tuple(sorted(set(ids)))


# -- what the request names -----------------------------------------------------------------------------------------------


def _named(database: Database, request: Forget) -> tuple[_Gone, list[Row]]:
    """The messages, with their groups, and the threads that go; and the rows of the records named. Or NotFound."""
    named = [name for name in (request.message_id, request.record_id, request.thread_id) if name is not None]
    if len(named) + request.expired > 1:
        raise InvalidInput("forget", "more than one of message_id, record_id, thread_id, expired", "make one call for each")
    scope = path_range(request.scope)
    if request.expired:
        return _Gone({}), database.execute(q.expired_items, (*scope, micros(request.at)))
    if request.record_id is not None:
        records = database.execute(q.records_in_scope, (*scope, request.record_id))
        if not records:
            raise NotFound(f"record {request.record_id!r} is not in this scope")
        items = [row[0] for row in records if isinstance(decode_record(row[3]), ItemVersion)]
        others = [row for row in records if row[0] not in items]
        return _Gone({}), others + (database.execute(q.with_other_versions, (listed(items),)) if items else [])
    if request.message_id is not None:
        gone = _Gone({})
        _with_groups(database, gone, scope, [request.message_id])
        if not gone.threads:
            raise NotFound(f"message {request.message_id!r} is not in this scope")
        return gone, []
    rows = database.execute(q.threads_in_scope, (*scope, request.thread_id))
    gone = _Gone({number: _Thread(number, namespace, thread_id, whole=True) for number, namespace, thread_id in rows})
    for thread in gone.threads.values():
        settle_thread(database, thread.number)
        _add_members(gone, thread, database.execute(q.members_of_thread, _span(thread)))
    if request.thread_id is None:
        return gone, database.execute(q.records_in_scope, (*scope, None))
    if not rows:
        raise NotFound(f"thread {request.thread_id!r} is not in this scope")
    for thread in gone.threads.values():
        found = database.execute(q.homes_of_messages, (*_span(thread), thread.namespace))
        thread.homes = {message_id: _Home(home, number) for message_id, home, number in found}
        shared = database.execute(q.nodes_held_elsewhere, (thread.number, thread.namespace))
        pairs = [(decode_node(body), decode_node(copy)) for body, copy in shared]
        thread.shared_nodes = {node.id for node, copy in pairs if node.lines == copy.lines}
    return gone, []


def _span(thread: _Thread) -> tuple[int, int]:
    """The least and the greatest number that a message of the thread can have."""
    first = thread.number << SEQ_BITS
    return first, first + (1 << SEQ_BITS) - 1


def _with_groups(database: Database, gone: _Gone, scope: tuple[str, str | bytes], ids: Iterable[str]) -> None:
    """Add every group of the scope that holds one of these messages, and the groups of all its members elsewhere."""
    seen: set[str] = set()
    new = sorted(set(ids))
    while new:
        seen.update(new)
        found: set[str] = set()
        groups: dict[int, list[int]] = {}
        numbers = message_numbers(database, new, scope)
        for number, namespace, thread_id, group in database.execute(q.groups_with, (listed(numbers),)):
            gone.threads.setdefault(number, _Thread(number, namespace, thread_id))
            groups.setdefault(number, []).append(group)
        for number, within in groups.items():
            settle_thread(database, number)
            rows = database.execute(q.members_of_groups, (number << SEQ_BITS, number, listed(within)))
            found.update(_add_members(gone, gone.threads[number], rows))
        new = sorted(found - seen)


def _add_members(gone: _Gone, thread: _Thread, rows: list[Row]) -> list[str]:
    for seq, message_id, unit in rows:
        if seq not in thread.going:
            thread.going[seq] = message_id
            if unit is not None:
                gone.units.append(unit)
    return [row[1] for row in rows]


# -- threads and nodes ----------------------------------------------------------------------------------------------------


def _drop_from_thread(database: Database, gone: _Gone, thread: _Thread) -> None:
    rows = database.execute(q.nodes_of_thread, (thread.number,))
    nodes = {number: decode_node(body) for number, body in rows}
    ids = set(thread.going.values())
    found = {} if thread.whole else nodes_without(nodes.values(), ids, thread.going.keys())
    left = {number: found[node.id] for number, node in nodes.items() if node.id in found}
    dropped = [number for number in nodes if number not in left]
    changed = {number: node for number, node in left.items() if node is not nodes[number]}
    touched = {nodes[number].id for number in (*dropped, *changed)}
    if touched:
        gone.nodes.setdefault(thread.namespace, set()).update(touched - thread.shared_nodes)
        gone.lines += sum(len(node.lines) for node in nodes.values()) - sum(len(node.lines) for node in left.values())
        children = {child for node in left.values() if not node.replaced_by for child in node.children}
        for number, node in left.items():
            top = node.id not in children and not node.replaced_by
            database.execute(q.set_node, (node.first_seq, top, bool(node.replaced_by), encode(node), number))
        database.execute(q.drop_nodes, (listed(dropped),))
        database.execute(q.drop_attempts, (thread.number,))

    gone.checkpoints += checkpoints.drop_from(database, thread.number, 0 if thread.whole else min(thread.going))
    messages = listed(thread.messages)
    marks.drop(database, messages)
    if thread.whole:
        database.execute(q.drop_calls_of_thread, (thread.number,))
        database.execute(q.drop_lease, (thread.number,))
        database.execute(q.drop_model_calls, (thread.number,))
        database.execute(q.drop_asked, (thread.number,))
        database.execute(q.drop_thread, (thread.number,))
    else:
        groups = listed(row[0] for row in database.execute(q.groups_of, (messages,)))
        database.execute(q.drop_calls, (thread.number, groups))
        database.execute(q.shorten_thread, (len(thread.going), thread.number))
    database.execute(q.drop_messages, (messages,))


# -- records --------------------------------------------------------------------------------------------------------------


def _drop_records(database: Database, gone: _Gone, named: list[Row]) -> None:
    """The records named, summaries of threads that go, records left without a source. Others lose the sources that go.

    A source whose message another thread holds names that thread from now on, which changes nothing that the record says.
    """
    rows = {row[0]: row for row in named}
    going = set(rows)
    for thread in gone.threads.values():
        summaries = database.execute(q.records_about_thread, (thread.namespace, thread.thread_id))
        if thread.whole:
            going.update(row[0] for row in summaries)
        rows.update((row[0], row) for row in summaries)
        messages = listed(thread.messages)
        rows.update((row[0], row) for row in database.execute(q.records_resting_on, (messages,)))
        database.execute(q.drop_sources_in_messages, (messages,))
    sources = {namespace: gone.sources(namespace) for namespace in gone.namespaces()}
    homes = {namespace: gone.homes(namespace) for namespace in gone.namespaces()}
    dropped = []
    for number, namespace, unit, body in (rows[number] for number in sorted(rows)):
        record = decode_record(body)
        at_home = _rehome(database, number, record, homes.get(namespace, {}))
        left = None if number in going else record_without(at_home, sources.get(namespace, set()))
        if left is record:
            continue
        gone.lines += _line_count(record) - _line_count(left)
        if left is None:
            gone.records.setdefault(namespace, []).append(record)
            dropped.append(number)
            if unit is not None:
                gone.units.append(unit)
        else:
            if at_home is not record:
                gone.rehomed.add(namespace)
            if left is not at_home:
                gone.changed.setdefault(namespace, []).append(left)
            write_record(database, number, unit, left)
    dropped += _drop_made_of(database, gone, frozenset(dropped))
    database.execute(q.drop_items, (listed(dropped),))
    database.execute(q.drop_sources_of_records, (listed(dropped),))
    database.execute(q.drop_versions, (listed(dropped),))
    database.execute(q.drop_records, (listed(dropped),))


def _drop_made_of(database: Database, gone: _Gone, dropped: frozenset[int]) -> list[int]:
    """The numbers of further records that go: episodes that were made of an entry of a state that went."""
    found = []
    for namespace, removed in gone.records.items():
        threads: dict[str, set[str]] = {}
        for record in removed:
            if isinstance(record, StateEntry):
                threads.setdefault(record.thread_id, set()).add(record.id)
        for thread_id, entries in threads.items():
            for number, _, unit, body in database.execute(q.records_about_thread, (namespace, thread_id)):
                episode = decode_record(body)
                if number not in dropped and made_of(episode, entries):
                    found.append((number, namespace, unit, episode))
    for _, namespace, unit, episode in found:
        gone.records[namespace].append(episode)
        if unit is not None:
            gone.units.append(unit)
    return [number for number, *_ in found]


def _rehome(database: Database, number: int, record: AnyRecord, homes: dict[tuple[str, str], _Home]) -> AnyRecord:
    """The record as `derive.rehomed` leaves it; its rows in `sources` name the other messages."""
    places = [(source.thread_id, source.message_id) for source in record.sources]
    found = {place: homes[place] for place in places if place in homes}
    database.executemany(q.add_source, [(home.message, number) for home in found.values()])
    return rehomed(record, {place: home.thread_id for place, home in found.items()})


def _line_count(record: AnyRecord | None) -> int:
    return len(record.lines) if isinstance(record, Summary) else 0


def _reword(database: Database, gone: _Gone) -> None:
    """A record in other words gets a new unit, which has to wait for its vector."""
    for namespace, changed in gone.changed.items():
        for record in changed:
            number, unit, _ = database.execute(q.find_record, (record.id, namespace))[0]
            if unit is None:
                continue
            if terms_of(record) != database.execute(q.terms_of_units, (listed([unit]),))[0][2]:
                drop_units(database, [unit])
                index_record(database, namespace, number, record)


def _reopen(database: Database, gone: _Gone, namespace: int, removed: list[str]) -> None:
    """What a removed record had superseded becomes current again, or names the record that stands in its place."""
    rows = database.execute(q.superseded_by, (namespace, listed(removed)))
    if not rows:
        return
    orphans = {record.id: (number, unit, record) for number, unit, record in ((a, b, decode_record(c)) for a, b, c in rows)}
    standing = [decode_record(body) for (body,) in database.execute(q.standing, (namespace,))]
    for record in reopened((orphan for _, _, orphan in orphans.values()), standing):
        number, unit, _ = orphans[record.id]
        write_record(database, number, unit, record)
        if record.current:
            gone.revived.add(record.id)


# -- receipts and namespaces ----------------------------------------------------------------------------------------------


def _drop_receipts(database: Database, gone: _Gone, namespace: int) -> None:
    """Receipts of threads that went, and all that show something that went or changed."""
    threads = gone.within(namespace)
    whole = {thread.thread_id for thread in threads if thread.whole}
    seqs = {thread.thread_id: thread.going.keys() for thread in threads}
    message_ids = {message_id for thread in threads for message_id in thread.lost}
    record_ids = {record.id for record in gone.records.get(namespace, []) + gone.changed.get(namespace, [])}
    node_ids = gone.nodes.get(namespace, set())
    dropped = []
    for number, body in database.execute(q.receipts_of_namespace, (namespace,)):
        receipt = decode_receipt(body)
        if receipt.thread_id in whole or receipt_shows(
            receipt, seqs=seqs, message_ids=message_ids, record_ids=record_ids, node_ids=node_ids
        ):
            dropped.append(number)
    dropped += showing_below(database, namespace, gone.records.get(namespace, []))
    database.execute(q.drop_usage, (listed(dropped),))
    database.execute(q.drop_receipts, (listed(dropped),))
    gone.receipts += len(dropped)


def showing_below(database: Database, namespace: int, removed: list[AnyRecord]) -> list[int]:
    """Receipts of specialists' threads that show an entry of a state that was removed or has other words."""
    entries = {record.id for record in removed if isinstance(record, StateEntry)}
    if not entries:
        return []
    path = database.execute(q.path_by_id, (namespace,))[0][0]
    handed = Scope((*namespace_of(path), HANDOFF), subtree=True)
    return [
        number
        for below, *_ in database.execute(q.namespaces_in_scope, (None, *path_range(handed)))
        for number, body in database.execute(q.receipts_of_namespace, (below,))
        if any(line.id in entries for line in decode_receipt(body).lines if line.of == "record")
    ]
