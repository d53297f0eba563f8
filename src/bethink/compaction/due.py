"""Which summary nodes a model is asked for now: pure over a thread's nodes and the attempts that are kept.

    extractive, or of other things than stand below ─┬─ a node below is still to be asked for ─▶ "below first"
                                                     ├─ never asked for, or its wait is over ──▶ "due"
                                                     ├─ failed lately ────────────────────────▶ "waiting"
                                                     └─ failed too often ─────────────────────▶ "given up"
    a model's, of what stands below ────────────────────────────────────────────────────────▶ "settled"

The order is that of the conversation, each node after those below it. So what is oldest gets its summary first, and a node
above is asked for once, when everything below it is as good as it will be.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import Literal, TypeAlias

import msgspec

from bethink.compaction.attempts import is_due, span_key, span_of
from bethink.records import Node
from bethink.settings import Settings
from bethink.storage.base import Attempt

__all__ = ["Standing", "Status", "children_of", "standings"]

Status: TypeAlias = Literal["settled", "below first", "due", "waiting", "given up"]


class Standing(msgspec.Struct, frozen=True, kw_only=True):
    """A node, and how it stands with a model.

    Attributes:
        span: what the node summarises now (see `span_of`).
        key: what the model would be asked (see `span_key`).
        last: the last attempt of this model that is kept for the node.
    """

    node: Node
    status: Status
    span: str
    key: str
    last: Attempt | None = None


def standings(
    nodes: Sequence[Node], attempts: Sequence[Attempt], *, model: str, now: datetime, settings: Settings
) -> tuple[Standing, ...]:
    """How each node stands with the model, in the order in which it is asked.

    Args:
        nodes: every node of a thread that has not been replaced.
        attempts: every attempt that is kept for them.
        settings: `model_backoff` and what goes into the prompt are used.
    """
    by_id = {node.id: node for node in nodes}
    lasts = {attempt.node_id: attempt for attempt in attempts if attempt.model == model}
    asked_for = f"{settings.summary_language}\n{settings.summary_instructions}"
    open_nodes: set[str] = set()
    found: list[Standing] = []
    for node in sorted(nodes, key=_place):
        span = span_of(node, children_of(node, by_id))
        key, last = span_key(span, asked_for), lasts.get(node.id)
        status: Status = "settled"
        if node.author == "extractive" or node.span != span:
            below = not open_nodes.isdisjoint(node.children)
            status = "below first" if below else _status(last, key, model, now, settings)
        if status in ("below first", "due", "waiting"):
            open_nodes.add(node.id)
        found.append(Standing(node=node, status=status, span=span, key=key, last=last))
    return tuple(found)


def children_of(node: Node, by_id: Mapping[str, Node]) -> list[Node]:
    """The nodes that a node names as its children."""
    return [by_id[child] for child in node.children if child in by_id]


def _status(last: Attempt | None, key: str, model: str, now: datetime, settings: Settings) -> Status:
    if is_due(last, span=key, model=model, now=now, backoff=settings.model_backoff):
        return "due"
    assert last is not None, "what was never attempted is due"
    if not last.failed:
        return "settled"
    return "given up" if last.given_up else "waiting"


def _place(node: Node) -> tuple[int, int, int, str]:
    return node.last_seq, node.level, node.first_seq, node.id
