"""From the groups that fold to the nodes that stand for them.

    level 3                       ┌──────── node ────────┐
    level 2             ┌─ node ─┬─ node ─┐   ...      node
    level 1      node node node node node node  ...  node  node  node
    messages     |||| |||| |||| |||| |||| ||||       ||||  ||||  ||||

A level-1 node stands for a segment of a few messages. When a level has too many roots (nodes that are no child), the oldest
of them become the children of one node of the next level. So a thread of n messages has some log n roots, each of bounded
size, and every message is summarised once per level. A higher node holds lines of its children, word for word: nothing is ever
a rewording of a rewording, and the older a span is, the fewer of its lines are left in view.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Iterator, Sequence
from datetime import datetime
from typing import TypeAlias

from bethink.compaction.extractive import choose, summarise
from bethink.ids import derived_id
from bethink.messages import Group, Message
from bethink.records import Line, Node
from bethink.settings import Settings
from bethink.values import Namespace

__all__ = ["fold"]

_Covers: TypeAlias = tuple[tuple[int, int], ...]


def fold(
    groups: Sequence[Group],
    roots: Sequence[Node],
    *,
    namespace: Namespace,
    thread_id: str,
    now: datetime,
    settings: Settings,
    count: Callable[[str], int],
) -> tuple[Node, ...]:
    """The new nodes for `groups`, children before parents; () for no groups.

    Args:
        groups: what folds, in order (`Plan.fold`).
        roots: the thread's nodes that are no child of another, in any order.
        now: becomes the nodes' `created_at`.
        settings: `segment_messages`, `node_tokens` and `node_fan_in` are used.
        count: tokens of a text.

    Afterwards every message of `groups` is covered by exactly one level-1 node, no level has more than `node_fan_in` roots,
    and no node more than `node_tokens` of lines. An id follows from the place, the level, what is covered and when it was
    said, so folding the same again gives the same ids. A group of more than `segment_messages` messages is a segment of its
    own.
    """

    def node(level: int, covers: _Covers, lines: tuple[Line, ...], at: datetime, children: tuple[str, ...] = ()) -> Node:
        spans = ",".join(f"{first}-{last}" for first, last in covers)
        return Node(
            id=derived_id(at, "node", *namespace, thread_id, str(level), spans),
            level=level,
            covers=covers,
            lines=lines,
            author="extractive",
            created_at=now,
            children=children,
        )

    made: list[Node] = []
    for messages in _segments(groups, settings.segment_messages):
        covers = _merged((message.seq, message.seq) for message in messages)
        lines = summarise(messages, limit=settings.node_tokens, count=count)
        made.append(node(1, covers, lines, messages[-1].created_at or now))

    level, fresh = 1, made
    while fresh:
        standing = sorted([*(root for root in roots if root.level == level), *fresh], key=_age)
        level, fresh = level + 1, []
        while len(standing) > settings.node_fan_in:
            children, standing = standing[: settings.node_fan_in], standing[settings.node_fan_in :]
            covers = _merged(span for child in children for span in child.covers)
            lines = tuple(line for child in children for line in child.lines)
            newest = max((line.at for line in lines), default=now)
            lines = choose(lines, limit=settings.node_tokens, count=count)
            fresh.append(node(level, covers, lines, newest, tuple(child.id for child in children)))
        made = made + fresh
    return tuple(made)


def _age(node: Node) -> tuple[int, int]:
    """Orders nodes by when what they cover was completed, as groups are ordered."""
    return node.last_seq, node.first_seq


def _segments(groups: Sequence[Group], most: int) -> Iterator[list[Message]]:
    """The messages of `groups`, by seq, in runs of whole groups of about equal length, each of at most `most` messages where
    its groups allow it."""
    total = sum(len(group.messages) for group in groups)
    fair = math.ceil(total / math.ceil(total / most)) if total else most
    segment: list[Message] = []
    for group in groups:
        if segment and (len(segment) >= fair or len(segment) + len(group.messages) > most):
            yield sorted(segment, key=_seq)
            segment = []
        segment += group.messages
    if segment:
        yield sorted(segment, key=_seq)


def _seq(message: Message) -> int:
    return message.seq


def _merged(spans: Iterable[tuple[int, int]]) -> _Covers:
    """Disjoint inclusive ranges in order, with those joined that touch."""
    merged: list[tuple[int, int]] = []
    for first, last in sorted(spans):
        if merged and first == merged[-1][1] + 1:
            merged[-1] = (merged[-1][0], last)
        else:
            merged.append((first, last))
    return tuple(merged)
