"""Summary nodes of a thread: read, folded, and replaced by a model's."""

from __future__ import annotations

import msgspec

from bethink.errors import Conflict
from bethink.records import Node
from bethink.storage._reference_state import State, Thread, attempts_at, covered_seqs, current_nodes
from bethink.storage.base import Fold, Refine
from bethink.storage.derive import with_child_replaced
from bethink.threads import ThreadInfo

__all__ = ["fold", "refine", "top_nodes", "tree"]

replace = msgspec.structs.replace


def top_nodes(thread: Thread) -> tuple[Node, ...]:
    """Those that are no child of another, by first seq."""
    nodes = current_nodes(thread)
    children = {child for node in nodes for child in node.children}
    return tuple(sorted((node for node in nodes if node.id not in children), key=lambda node: (node.first_seq, node.id)))


def tree(thread: Thread) -> tuple[Node, ...]:
    """Those that have not been replaced, by level and first seq."""
    return tuple(sorted(current_nodes(thread), key=lambda node: (node.level, node.first_seq, node.id)))


def fold(state: State, request: Fold) -> ThreadInfo:
    """See `storage.base.Fold`."""
    thread = state.thread(request.namespace, request.thread_id)
    if thread.info.folded_through != request.expected_through:
        raise Conflict(
            f"thread {request.thread_id!r} is folded through {thread.info.folded_through}, not {request.expected_through} "
            "— another writer folded it first; read it again",
            expected=request.expected_through,
            actual=thread.info.folded_through,
        )
    there = {message.seq for message in thread.messages}
    known = {node.id for node in thread.nodes}
    nodes = {node.id for node in current_nodes(thread)}
    for node in request.nodes:
        if node.id in known or node.id in nodes:
            raise Conflict(f"node {node.id!r} is in thread {request.thread_id!r} already")
        if not all(seq in there for seq in covered_seqs(node)) or not nodes.issuperset(node.children):
            raise Conflict(
                f"something that node {node.id!r} stands for was forgotten or replaced — read the thread and plan again"
            )
        nodes.add(node.id)
    info = replace(thread.info, folded_through=request.through)
    state.put_thread(replace(thread, info=info, nodes=thread.nodes + request.nodes))
    return info


def refine(state: State, request: Refine) -> None:
    """See `storage.base.Refine`."""
    thread = state.thread(request.namespace, request.thread_id)
    expected, node, attempt = request.expected, request.node, request.attempt
    if expected not in thread.nodes:
        raise Conflict(f"node {expected.id!r} has been replaced or changed — read the thread's nodes again")
    nodes = thread.nodes
    if node is not None:
        if any(each.id == node.id for each in nodes):
            raise Conflict(f"node {node.id!r} is in thread {request.thread_id!r} already")
        replaced = replace(expected, replaced_by=node.id)
        nodes = (
            *(replaced if each == expected else with_child_replaced(each, expected.id, node.id) for each in nodes),
            node,
        )
    kept = attempts_at(nodes, thread.attempts)
    others = [each for each in kept if (each.node_id, each.model) != (attempt.node_id, attempt.model)]
    attempts = tuple(sorted([*others, attempt], key=lambda each: (each.node_id, each.model)))
    state.put_thread(replace(thread, nodes=nodes, attempts=attempts))
