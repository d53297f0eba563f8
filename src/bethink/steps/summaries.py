"""The summary nodes of a thread to look at, and the messages that one stands for."""

from __future__ import annotations

from collections.abc import Sequence

import msgspec

from bethink.engine import Engine
from bethink.errors import NotFound
from bethink.messages import Message
from bethink.records import Line, Node
from bethink.storage.base import Attempt, Get, Read, Scope
from bethink.values import Namespace

__all__ = ["SummaryNode", "covered", "expand", "summaries"]


class SummaryNode(msgspec.Struct, frozen=True, kw_only=True):
    """A summary node of a thread, and what came of asking models for it.

    Attributes:
        attempts: the last of each model that was asked, by the model's name.
    """

    node: Node
    attempts: tuple[Attempt, ...] = ()

    @property
    def id(self) -> str:
        return self.node.id

    @property
    def level(self) -> int:
        """1 for a summary of messages, n for one of the nodes of level n-1."""
        return self.node.level

    @property
    def covers(self) -> tuple[tuple[int, int], ...]:
        """The seqs it stands for, as inclusive ranges in order."""
        return self.node.covers

    @property
    def lines(self) -> tuple[Line, ...]:
        return self.node.lines

    @property
    def author(self) -> str:
        """`"extractive"`, or the name of the model that wrote it."""
        return self.node.author

    @property
    def failed(self) -> Attempt | None:
        """The last attempt at a better summary, if it failed."""
        last = max(self.attempts, key=lambda attempt: attempt.at, default=None)
        return last if last is not None and last.failed else None


def summaries(engine: Engine, namespace: Namespace, thread_id: str) -> list[SummaryNode]:
    """The nodes of a thread that have not been replaced, by level and first seq; [] if there is no such thread."""
    try:
        transcript = engine.store.read(Read(namespace=namespace, thread_id=thread_id, limit=0, tree=True))
    except NotFound:
        return []
    attempts: dict[str, list[Attempt]] = {}
    for attempt in transcript.attempts:
        attempts.setdefault(attempt.node_id, []).append(attempt)
    return [SummaryNode(node=node, attempts=tuple(attempts.get(node.id, ()))) for node in transcript.nodes]


def expand(engine: Engine, namespace: Namespace, thread_id: str, node_id: str) -> list[Message]:
    """The messages that a node of the thread stands for, in order, whatever its level. One that was replaced may be named too.

    Raises:
        NotFound: the thread has no such node.
    """
    nodes = engine.store.get(Get(scope=Scope(namespace), nodes=(node_id,), thread_id=thread_id)).nodes
    if not nodes:
        raise NotFound(f"thread {thread_id!r} has no summary node {node_id!r} — look at its summaries, or it was forgotten")
    return covered(engine, namespace, thread_id, nodes[0].covers)


def covered(engine: Engine, namespace: Namespace, thread_id: str, covers: Sequence[tuple[int, int]]) -> list[Message]:
    """The messages of a thread within some ranges of seqs, in order."""
    read = Read(namespace=namespace, thread_id=thread_id, after=covers[0][0] - 1, before=covers[-1][1] + 1)
    messages = engine.store.read(read).messages
    return [message for message in messages if any(first <= message.seq <= last for first, last in covers)]
