"""What a `ReferenceStore` holds: a handful of dicts of frozen values.

A verb works on a copy of the state and the store swaps it in at the end, so a verb that raises has changed nothing. Copying is
cheap because everything below the dicts is frozen and shared.

One counter numbers threads, records, receipts, checkpoints and units as they come. That number is their order of insertion and
where a page goes on; it never comes back, also not after a removal.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from datetime import datetime
from typing import Generic, TypeVar

import msgspec

from bethink.checkpoints import Checkpoint
from bethink.errors import NotFound
from bethink.marks import Scored, Tiered
from bethink.messages import Message
from bethink.models import Fingerprint
from bethink.records import AnyRecord, Node, Receipt
from bethink.storage.base import Asked, Attempt, Change, ForgottenCount, Lease, Put, Scope, Version, version_of
from bethink.threads import CallState, ThreadInfo
from bethink.usage import ModelCall, TurnUsage
from bethink.values import Namespace

__all__ = [
    "Key",
    "Row",
    "State",
    "Thread",
    "Unit",
    "attempts_at",
    "call_states",
    "covered_seqs",
    "current_nodes",
    "in_scope",
    "rows",
]

T = TypeVar("T")

Key = tuple[Namespace, str]
"""A namespace and an id in it."""


class Row(msgspec.Struct, Generic[T], frozen=True):
    """A value with its number in the order of insertion."""

    number: int
    value: T


class Thread(msgspec.Struct, frozen=True):
    """A thread with everything that lives and dies with it: messages by seq, nodes in the order in which they were folded,
    checkpoints in the order in which they were saved, attempts by node and model."""

    info: ThreadInfo
    messages: tuple[Message, ...] = ()
    nodes: tuple[Node, ...] = ()
    checkpoints: tuple[Row[Checkpoint], ...] = ()
    attempts: tuple[Attempt, ...] = ()
    lease: Lease | None = None
    """The last one of a turn, see `storage.leases`."""
    reflecting: Lease | None = None
    """The last one of a reflection."""
    tiers: dict[int, Tiered] = msgspec.field(default_factory=dict)
    scores: dict[int, Scored] = msgspec.field(default_factory=dict)
    """Tiers and scores beside messages, by seq. Never changed in place."""
    asked: tuple[Row[Asked], ...] = ()
    """What came of asking a model, in the order of the first attempts."""
    stored: dict[int, datetime] = msgspec.field(default_factory=dict)
    """When each message was stored, by seq. Never changed in place."""


class Unit(msgspec.Struct, frozen=True):
    """Something search can find: a message (`seq` above 0, in `thread_id`) or a record; with its vector of the current space
    and of the one being filled, where it has them."""

    namespace: Namespace
    id: str
    terms: str
    thread_id: str = ""
    seq: int = 0
    vector: bytes | None = None
    filled: bytes | None = None
    tokens: tuple[Fingerprint, bytes] | None = None
    """Vectors of its tokens, with their space."""


@dataclass
class State:
    """Everything. `units` and `calls` are keyed by number, the rest by namespace and id."""

    threads: dict[Key, Row[Thread]] = field(default_factory=dict)
    records: dict[Key, Row[AnyRecord]] = field(default_factory=dict)
    receipts: dict[Key, Row[Receipt]] = field(default_factory=dict)
    units: dict[int, Unit] = field(default_factory=dict)
    embedder: Fingerprint | None = None
    last_number: int = 0
    revision: int = 0
    """How often a record has been changed."""
    usage: dict[Key, Row[TurnUsage]] = field(default_factory=dict)
    """By the namespace and id of the receipt, with its number."""
    calls: dict[int, tuple[Namespace, ModelCall]] = field(default_factory=dict)
    """By number."""
    filling: Fingerprint | None = None
    versions: dict[int, tuple[Key, Version]] = field(default_factory=dict)
    changes: dict[int, tuple[Namespace, Change]] = field(default_factory=dict)
    forgotten: dict[int, tuple[Namespace, ForgottenCount]] = field(default_factory=dict)
    """These three by number."""

    def copy(self) -> State:
        """The same things in dicts of its own."""
        return State(
            self.threads.copy(),
            self.records.copy(),
            self.receipts.copy(),
            self.units.copy(),
            self.embedder,
            self.last_number,
            self.revision,
            self.usage.copy(),
            self.calls.copy(),
            self.filling,
            self.versions.copy(),
            self.changes.copy(),
            self.forgotten.copy(),
        )

    def number(self) -> int:
        self.last_number += 1
        return self.last_number

    def thread(self, namespace: Namespace, thread_id: str) -> Thread:
        """The thread, or NotFound."""
        row = self.threads.get((namespace, thread_id))
        if row is None:
            raise NotFound(f"thread {thread_id!r} is not in this namespace")
        return row.value

    def record(self, namespace: Namespace, record_id: str) -> AnyRecord:
        """The record, or NotFound."""
        row = self.records.get((namespace, record_id))
        if row is None:
            raise NotFound(f"record {record_id!r} is not in this namespace")
        return row.value

    def put_thread(self, thread: Thread) -> None:
        """Insert the thread, or put it in the place of what it was."""
        _place(self, self.threads, (thread.info.namespace, thread.info.thread_id), thread)

    def put_record(self, namespace: Namespace, record: AnyRecord) -> None:
        """Insert the record, or put it in the place of what it was."""
        _place(self, self.records, (namespace, record.id), record)
        self.revision += 1

    def change_record(self, namespace: Namespace, record: AnyRecord, request: Put) -> None:
        """Put a record in the place of what it was, and keep that."""
        before, until = self.record(namespace, record.id), request.system_time
        assert until is not None, "what changes a record has a time"
        version = version_of(before, record, until=until, change="" if request.change is None else request.change.id)
        self.versions[self.number()] = ((namespace, record.id), version)
        self.put_record(namespace, record)

    def drop_record(self, key: Key) -> None:
        del self.records[key]
        self.versions = {number: version for number, version in self.versions.items() if version[0] != key}
        self.revision += 1

    def add_unit(self, unit: Unit) -> None:
        """Make something findable; a thing without terms is not."""
        if unit.terms:
            self.units[self.number()] = unit

    def has_message(self, namespace: Namespace, thread_id: str, message_id: str) -> bool:
        row = self.threads.get((namespace, thread_id))
        return row is not None and any(message.id == message_id for message in row.value.messages)


def _place(state: State, table: dict[Key, Row[T]], key: Key, value: T) -> None:
    table[key] = Row(table[key].number if key in table else state.number(), value)


def in_scope(namespace: Namespace, scope: Scope) -> bool:
    """Whether the scope covers the namespace: equal, or with `subtree` its leading whole segments are."""
    return namespace == scope.namespace or (scope.subtree and namespace[: len(scope.namespace)] == scope.namespace)


def rows(table: dict[Key, Row[T]], scope: Scope) -> Iterator[Row[T]]:
    """What the scope covers of a table, in the order of insertion."""
    return (row for (namespace, _), row in table.items() if in_scope(namespace, scope))


def call_states(messages: Iterable[Message]) -> dict[str, CallState]:
    """The newest state of every tool call among messages by seq."""
    states: dict[str, CallState] = {}
    for message in messages:
        states.update((call.id, CallState(message.group)) for call in message.tool_calls)
        if message.tool_call_id is not None:
            states[message.tool_call_id] = CallState(message.group, answered=True)
    return states


def current_nodes(thread: Thread) -> list[Node]:
    """Those that have not been replaced."""
    return [node for node in thread.nodes if not node.replaced_by]


def attempts_at(nodes: Iterable[Node], attempts: Iterable[Attempt]) -> tuple[Attempt, ...]:
    """Those of the attempts that are at one of the nodes, which has not been replaced."""
    there = {node.id for node in nodes if not node.replaced_by}
    return tuple(attempt for attempt in attempts if attempt.node_id in there)


def covered_seqs(node: Node) -> Iterator[int]:
    """Every seq that a node covers."""
    for first, last in node.covers:
        yield from range(first, last + 1)
