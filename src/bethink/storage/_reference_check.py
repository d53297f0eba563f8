"""What must always hold between the things in a state. A `Problem` for each that does not."""

from __future__ import annotations

from collections.abc import Iterator

from bethink.records import AnyRecord, Episode, ItemVersion, StateEntry, Summary
from bethink.storage._reference_items import versions
from bethink.storage._reference_state import Key, State, Thread, Unit, call_states, covered_seqs, current_nodes
from bethink.storage.base import Problem
from bethink.values import Namespace

__all__ = ["problems"]


def problems(state: State) -> list[Problem]:
    """Everything inconsistent, in the order of the tables."""
    found: list[Problem] = []
    for key, thread_row in state.threads.items():
        found += (Problem(what, _where("thread", key)) for what in _of_thread(thread_row.value))
    for key, record_row in state.records.items():
        found += (Problem(what, _where("record", key)) for what in _of_record(state, key[0], record_row.value))
    for key, receipt_row in state.receipts.items():
        if (key[0], receipt_row.value.thread_id) not in state.threads:
            found.append(Problem("is of a thread that is not there", _where("receipt", key)))
    for key in state.usage:
        if key not in state.receipts:
            found.append(Problem("is of a receipt that is not there", _where("usage", key)))
    for number, (namespace, call) in state.calls.items():
        if (namespace, call.thread_id) not in state.threads:
            found.append(Problem("is of a thread that is not there", f"model call {number}"))
    for number, (key, _) in state.versions.items():
        if key not in state.records:
            found.append(Problem("is of a record that is not there", f"version {number}"))
    for number, unit in state.units.items():
        found += (Problem(what, f"unit {number}") for what in _of_unit(state, unit))
    return found


def _where(sort: str, key: Key) -> str:
    return f"{sort} {key[1]!r} in {key[0]!r}"


def _of_thread(thread: Thread) -> Iterator[str]:
    info, messages = thread.info, thread.messages
    seqs = [message.seq for message in messages]
    ids = {message.id for message in messages}
    if info.count != len(messages):
        yield f"counts {info.count} messages and holds {len(messages)}"
    if seqs != sorted(set(seqs)) or (seqs and seqs[-1] > info.tip):
        yield "the seqs of its messages do not rise to its tip"
    if len(ids) != len(messages):
        yield "an id occurs twice"
    calls = call_states(message for message in messages if message.role != "tool")
    if any(message.tool_call_id not in calls for message in messages if message.role == "tool"):
        yield "a tool result is without its call"
    if not set(seqs).issuperset([*thread.tiers, *thread.scores]):
        yield "has a tier or a score for a message that is not there"
    if set(seqs) != set(thread.stored):
        yield "does not know of each message when it was stored"
    yield from _of_nodes(thread, set(seqs), ids)
    checkpoints = [row.value for row in thread.checkpoints]
    known = {None, *(checkpoint.id for checkpoint in checkpoints)}
    for checkpoint in checkpoints:
        if checkpoint.parent_id not in known:
            yield f"checkpoint {checkpoint.id!r} has a parent that is not there"
        if checkpoint.seq > info.tip:
            yield f"checkpoint {checkpoint.id!r} is beyond its tip"


def _of_nodes(thread: Thread, there: set[int], ids: set[str]) -> Iterator[str]:
    nodes = {node.id for node in thread.nodes}
    for node in thread.nodes:
        if not there.issuperset(covered_seqs(node)):
            yield f"node {node.id!r} covers a message that is not there"
        if any(not ids.issuperset(line.sources) for line in node.lines):
            yield f"node {node.id!r} cites a message that is not there"
        if not nodes.issuperset(node.children):
            yield f"node {node.id!r} has a child that is not there"
        if node.replaced_by and node.replaced_by not in nodes:
            yield f"node {node.id!r} was replaced by nothing that is there"
    current = {node.id for node in current_nodes(thread)}
    if any(not current.issuperset(node.children) for node in thread.nodes):
        yield "a node that was replaced is the child of another still"
    if any(attempt.node_id not in current for attempt in thread.attempts):
        yield "an attempt is at the summary of a node that is not there"


def _of_record(state: State, namespace: Namespace, record: AnyRecord) -> Iterator[str]:
    cited = {(source.thread_id, source.message_id) for source in record.sources}
    if isinstance(record, Summary):
        cited |= {(record.thread_id, message_id) for line in record.lines for message_id in line.sources}
    if not all(state.has_message(namespace, thread_id, message_id) for thread_id, message_id in cited):
        yield "rests on a message that is not there"
    if isinstance(record, StateEntry) and (namespace, record.thread_id) not in state.threads:
        yield "is of the state of a thread that is not there"
    if isinstance(record, Episode):
        if record.thread_id and (namespace, record.thread_id) not in state.threads:
            yield "is of a thread that is not there"
        if any((namespace, entry) not in state.records for entry in record.entries):
            yield "was made of an entry that is not there"
    if record.superseded_by is not None and (namespace, record.superseded_by) not in state.records:
        yield "is superseded by a record that is not there"
    if record.superseded_by is not None and record.current:
        yield "is current and superseded"
    if isinstance(record, ItemVersion):
        yield from _of_item(state, namespace, record)


def _of_item(state: State, namespace: Namespace, item: ItemVersion) -> Iterator[str]:
    held = versions(state, namespace, item.key)
    if [each.current for each in held] != [False] * (len(held) - 1) + [True]:
        yield "is of an item whose highest version is not its current one"
    if len({each.version for each in held}) != len(held):
        yield "is of an item with a version twice"
    if not item.current and any(
        (unit.namespace, unit.id, unit.seq) == (namespace, item.id, 0) for unit in state.units.values()
    ):
        yield "is a former version that can be found"


def _of_unit(state: State, unit: Unit) -> Iterator[str]:
    if unit.seq:
        row = state.threads.get((unit.namespace, unit.thread_id))
        there = row is not None and any(message.seq == unit.seq for message in row.value.messages)
    else:
        there = (unit.namespace, unit.id) in state.records
    if not there:
        yield "stands for something that is not there"
    for vector, space in ((unit.vector, state.embedder), (unit.filled, state.filling)):
        if vector is not None and (space is None or len(vector) != 4 * space.dimension):
            yield "has a vector that is not of its space"
    if unit.tokens is not None and len(unit.tokens[1]) % (unit.tokens[0].dimension // 2):
        yield "has vectors of tokens that are not whole"
