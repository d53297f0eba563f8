"""What is left of a derived value when what it rests on is forgotten: pure functions that every backend calls.

    message ─▶ line of a node      nodes_without      ─▶ receipt   receipt_shows
            ─▶ line of a summary   summary_without
            ─▶ source of a record  record_without     ─▶ superseded record   reopened
    thread  ─▶ source of a record  rehomed
    entry of a state ─▶ episode    made_of
    fork    ─▶ entry of a state    states_within
            ─▶ what was asked      asked_within

One rule runs through all of them: a text that rests on a forgotten message goes whole, however many other messages it also
rests on, since nobody can say which of its words came from which. What remains was worded by others.

How `storage.base` is read where its sentences leave room; every backend does the same:

- A fork's copies are messages and search units of their own, each with the vector of what it copies; copied nodes keep their
  ids. `folded_through` of a fork is cut to what the copied nodes still cover (`nodes_within`), so that nothing falls between.
- A message that is named takes its group along in every thread that holds it, and each of those members goes likewise: an id in
  the receipt is nowhere in the scope any more.
- A thread that goes takes its own copies along and no other thread's, so no group is cut. Whether another thread holds the same
  message is asked of id and canonical form, since a caller may number the messages of every thread from 1. A node that a fork
  has too does not count as gone. `ThreadInfo.parent` may name a thread that is gone: it is history, not a reference.
- A record whose text changed is indexed anew (`terms_of`), if it was indexed before, as another unit with another number:
  a vector of the old words that is being computed meanwhile finds no place. It does not count among the units that went.
- A node or summary that lost a line, a part of what it covers, or a child counts as changed: receipts that show it go.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping
from datetime import datetime

import msgspec

from bethink.errors import Conflict, InvalidInput
from bethink.ids import derived_id
from bethink.messages import Message
from bethink.records import (
    AnyRecord,
    Episode,
    Insight,
    ItemVersion,
    Line,
    Node,
    Note,
    Proposal,
    Receipt,
    Source,
    StateEntry,
    Summary,
)
from bethink.storage.base import Asked

__all__ = [
    "asked_within",
    "made_of",
    "node_without",
    "nodes_within",
    "nodes_without",
    "receipt_shows",
    "record_without",
    "refuse_item",
    "rehomed",
    "reopened",
    "repinned",
    "speaker_of",
    "states_within",
    "summary_without",
    "terms_of",
    "thread_of",
    "unplaced",
    "with_child_replaced",
]

replace = msgspec.structs.replace

_INDEXED_CHARACTERS = 20_000
"""Of a message. What lies beyond is stored, and not found by its words."""


def nodes_within(nodes: Iterable[Node], seq: int, folded_through: int) -> tuple[tuple[Node, ...], int]:
    """What a fork at `seq` takes over: the nodes that lie within, in the order given, and its own `folded_through`.

    A node that reaches beyond `seq` stays behind, and the messages that only it covers are unfolded again in the fork.
    """
    given = tuple(nodes)
    kept = tuple(node for node in given if node.last_seq <= seq)
    covered = _seqs(kept)
    uncovered = (other for other in _seqs(given) if other <= seq and other not in covered)
    return kept, min(folded_through, seq, min(uncovered, default=seq + 1) - 1)


def _seqs(nodes: Iterable[Node]) -> set[int]:
    return {seq for node in nodes for first, last in node.covers for seq in range(first, last + 1)}


def node_without(
    node: Node, gone_ids: Collection[str], gone_seqs: Collection[int], gone_nodes: Collection[str] = ()
) -> Node | None:
    """The node without messages of its thread, or None when it covers nothing any more.

    Args:
        gone_ids, gone_seqs: ids and seqs of the messages that go from the node's thread. Pass sets.
        gone_nodes: ids of nodes that go with them, to be dropped from `children`.

    Returns:
        `node` itself when nothing of it is touched.
    """
    covers = _ranges_without(node.covers, gone_seqs)
    if not covers:
        return None
    lines = _lines_without(node.lines, gone_ids)
    children = tuple(child for child in node.children if child not in gone_nodes)
    if (covers, lines, children) == (node.covers, node.lines, node.children):
        return node
    return replace(node, covers=covers, lines=lines, children=children)


def nodes_without(nodes: Iterable[Node], gone_ids: Collection[str], gone_seqs: Collection[int]) -> dict[str, Node]:
    """What is left of the nodes of a thread, by id, when messages of it go; a node itself where nothing of it is touched.

    A model's node goes whole with any message that it covers: it saw that message, and nobody can say which of its words came
    from it, whatever its lines cite. The node that it had replaced stands again, in its place among the children of the one
    above. Lines that nodes above have of it go too, unless somebody said them word for word. (One that has replaced nothing is
    left without the lines that cite what goes.)
    """
    given = {node.id: node for node in nodes}
    replaced = {node.replaced_by: node.id for node in given.values() if node.replaced_by}
    written = {
        node.id
        for node in given.values()
        if node.author != "extractive" and node.id in replaced and _ranges_without(node.covers, gone_seqs) != node.covers
    }
    said = {line for node in given.values() if node.level == 1 and node.author == "extractive" for line in node.lines}
    unsaid = {line for node_id in written for line in given[node_id].lines} - said

    def standing(node_id: str) -> str:
        while node_id in written:
            node_id = replaced[node_id]
        return node_id

    left: dict[str, Node] = {}
    for node in given.values():
        if node.id in written:
            continue
        if not written.isdisjoint((node.replaced_by, *node.children)):
            after = "" if node.replaced_by in written else node.replaced_by
            node = replace(node, children=tuple(map(standing, node.children)), replaced_by=after)
        if not unsaid.isdisjoint(node.lines):
            node = replace(node, lines=tuple(line for line in node.lines if line not in unsaid))
        left[node.id] = node
    removed = {node.id for node in left.values() if node_without(node, gone_ids, gone_seqs) is None}
    found = (node_without(node, gone_ids, gone_seqs, removed) for node in left.values())
    return {node.id: node for node in found if node is not None}


def with_child_replaced(node: Node, child: str, by: str) -> Node:
    """The node with another child in the place of one, if it is a child of it."""
    if child not in node.children:
        return node
    return replace(node, children=tuple(by if each == child else each for each in node.children))


def summary_without(summary: Summary, gone_ids: Collection[str]) -> Summary | None:
    """The summary without the lines that rest on messages of its thread; None when it had lines and has none left.

    Its text is rebuilt from the lines that remain. Returns `summary` itself when no line is touched.
    """
    lines = _lines_without(summary.lines, gone_ids)
    if lines == summary.lines:
        return summary
    if not lines:
        return None
    return replace(summary, lines=lines, text="\n".join(line.text for line in lines))


def record_without(record: AnyRecord, gone: Collection[tuple[str, str]]) -> AnyRecord | None:
    """The record without some of its sources; None when it had sources and has none left.

    A note or insight takes the wording of the newest source that remains; a summary is rebuilt from its lines; an entry of a
    state, an episode, and a summary that a model wrote goes with the first of its sources; a proposal is left with what is left
    of what it proposes. Trust stays: it is the lowest of all that ever led to the record, and forgetting must not raise it.

    Args:
        gone: `(thread_id, message_id)` of the messages that go from the record's namespace. Pass a set.

    Returns:
        `record` itself when nothing of it is touched.
    """
    sources = tuple(source for source in record.sources if (source.thread_id, source.message_id) not in gone)
    if record.sources and not sources:
        return None
    if isinstance(record, Proposal):
        return _proposing(record, record_without(record.proposed, gone))
    if isinstance(record, Summary):
        if record.author and sources != record.sources:
            return None
        left = summary_without(record, {message_id for thread_id, message_id in gone if thread_id == record.thread_id})
        return left if left is None or sources == left.sources else replace(left, sources=sources)
    if sources == record.sources:
        return record
    if isinstance(record, StateEntry | Episode):
        return None
    return replace(record, sources=sources, text=sources[-1].text)


def unplaced(record: AnyRecord, messages: Collection[tuple[str, str]]) -> AnyRecord:
    """The record whose sources no longer say where in these messages, which have other words now, theirs stand.

    Args:
        messages: each with its thread's id before its own. Pass a set.

    Returns:
        `record` itself when no source says so.
    """
    sources = tuple(
        replace(source, start=0, end=0) if source.end and (source.thread_id, source.message_id) in messages else source
        for source in record.sources
    )
    return record if sources == record.sources else replace(record, sources=sources)


def rehomed(record: AnyRecord, homes: Mapping[tuple[str, str], str]) -> AnyRecord:
    """The record with its sources in a forgotten thread moved to the threads that hold their messages too.

    Its text stays: what it rests on is still there. A source that the record has already is not there twice; the earlier stays.

    Args:
        homes: the other thread's id, by `(thread_id, message_id)` of a message that goes with its thread and is held there.

    Returns:
        `record` itself when it has no such source.
    """
    if isinstance(record, Proposal):
        moved = _proposing(record, rehomed(record.proposed, homes))
        assert moved is not None, "what moves stays"
        return moved
    places = [(homes.get((source.thread_id, source.message_id), source.thread_id), source) for source in record.sources]
    if all(thread_id == source.thread_id for thread_id, source in places):
        return record
    sources: dict[tuple[str, str], Source] = {}
    for thread_id, source in places:
        sources.setdefault((thread_id, source.message_id), replace(source, thread_id=thread_id))
    return replace(record, sources=tuple(sources.values()))


def _proposing(proposal: Proposal, left: AnyRecord | None) -> Proposal | None:
    """The proposal of what is left of what it proposes."""
    if left is proposal.proposed:
        return proposal
    if left is None:
        return None
    assert isinstance(left, Insight | Summary | Episode), "a record stays of its kind"
    return replace(proposal, proposed=left, text=left.text, sources=left.sources)


def reopened(orphans: Iterable[AnyRecord], others: Iterable[AnyRecord]) -> tuple[AnyRecord, ...]:
    """Records whose successor was removed, as they stand afterwards, ordered by id.

    An orphan becomes current again unless another record holds its place, which is the subject and slot of an insight, the
    thread of a summary, or the author and question of a fact on a board: one that is current, or an insight that began later
    and was archived. Then that one is named as its successor. Of several orphans of one place the newest (by `recorded_at`,
    then id) comes back.

    Args:
        orphans: the records that remain, of one namespace, whose `superseded_by` names a removed record.
        others: the records of that namespace that remain and that nothing took the place of; only insights, summaries and
            notes with a claim among them matter.
    """
    current: dict[tuple[str, ...], str] = {}
    archived: dict[tuple[str, ...], Insight] = {}
    for record in others:
        place = _place(record)
        if place is not None and record.current:
            current[place] = record.id
        elif place is not None and isinstance(record, Insight) and record.archived:
            archived[place] = max(record, archived.get(place, record), key=_began)
    found: list[AnyRecord] = []
    for orphan in sorted(orphans, key=lambda record: (record.recorded_at, record.id), reverse=True):
        place = _place(orphan)
        if place is not None:
            holder = current.get(place)
            if (
                holder is None
                and isinstance(orphan, Insight)
                and place in archived
                and _began(archived[place]) > _began(orphan)
            ):
                holder = archived[place].id
            if holder is not None:
                found.append(replace(orphan, superseded_by=holder))
                continue
            current[place] = orphan.id
        found.append(replace(orphan, retired_at=None, superseded_by=None, reason="", valid_to=None))
    return tuple(sorted(found, key=lambda record: record.id))


def _place(record: AnyRecord) -> tuple[str, ...] | None:
    """What at most one current record of a namespace holds: a subject's slot, a thread's summary, an author's answer."""
    if isinstance(record, Insight):
        return "slot", record.subject, record.slot
    if isinstance(record, Summary):
        return "summary", record.thread_id
    if isinstance(record, Note) and record.claim is not None and record.claim.question is not None:
        return "claim", record.author, *record.claim.question
    return None


def _began(insight: Insight) -> tuple[datetime, str]:
    return insight.valid_from or insight.recorded_at, insight.id


def receipt_shows(
    receipt: Receipt,
    *,
    seqs: Mapping[str, Collection[int]],
    message_ids: Collection[str],
    record_ids: Collection[str],
    node_ids: Collection[str],
) -> bool:
    """Whether a context was made of any of these.

    Args:
        seqs: per thread id, the seqs of messages, looked up in what the receipt showed verbatim. Pass sets.
        message_ids, record_ids, node_ids: looked up in its lines. Pass sets.
    """
    named: dict[str, Collection[str]] = {"message": message_ids, "record": record_ids, "node": node_ids}
    if any(line.id in named[line.of] for line in receipt.lines):
        return True
    of_thread = seqs.get(receipt.thread_id, ())
    return any(first <= seq <= last for seq in of_thread for first, last in receipt.pinned + receipt.recent)


def terms_of(thing: Message | AnyRecord) -> str:
    """Index terms of a message or record, joined by spaces. None for a message that is pinned, and so in view anyway, for an
    entry of a state, which is read and not searched, for what waits to be approved, and for a former version of an item.
    """
    # Imported here because it brings the stemmer, for which who only stores need not wait.
    from bethink.retrieval.terms import index_terms

    if isinstance(thing, Message):
        return "" if thing.pinned else index_terms(thing.text[:_INDEXED_CHARACTERS])
    if isinstance(thing, StateEntry | Proposal) or (isinstance(thing, ItemVersion) and not thing.current):
        return ""
    return index_terms(thing.text)


def refuse_item(record: AnyRecord) -> None:
    """Raise for a version of an item, where a record is put, retired or cited: its key and its history would not know of it."""
    if isinstance(record, ItemVersion):
        raise InvalidInput("records", "a version of an item", "items are put and removed by their keys")


def repinned(record: AnyRecord, *, pinned: bool) -> AnyRecord:
    """A record pinned, or let go.

    Raises:
        InvalidInput: it is of a kind that no profile, context or archiving asks whether it is pinned.
        Conflict: it is to be pinned and is no longer current.
    """
    refuse_item(record)
    if not isinstance(record, Note | Insight | Episode):
        raise InvalidInput("record", f"of kind {record.kind!r}", "pin a note, an insight or an episode")
    if pinned and not record.current:
        raise Conflict(f"record {record.id!r} is no longer current ({record.reason or 'retired'}) — pin what took its place")
    return record if record.pinned == pinned else msgspec.structs.replace(record, pinned=pinned)


def thread_of(record: AnyRecord) -> str | None:
    """The thread that a record is about and goes with; None for one that belongs to no single thread."""
    if isinstance(record, Proposal):
        return thread_of(record.proposed)
    return record.thread_id or None if isinstance(record, Summary | Episode | StateEntry) else None


def made_of(record: AnyRecord, entries: Collection[str]) -> bool:
    """Whether a record was made of one of some entries of its thread's state, by their ids, and so goes with it."""
    if isinstance(record, Proposal):
        return made_of(record.proposed, entries)
    return isinstance(record, Episode) and not set(entries).isdisjoint(record.entries)


def states_within(entries: Iterable[StateEntry], seq: int, fork_id: str) -> tuple[StateEntry, ...]:
    """What a fork at `seq` takes over of the state of its parent, as entries of its own, in the order given.

    An answer names the copy of its question. Ids are made from the fork's and the parent's, so that no two forks share one.
    """
    given = [entry for entry in entries if entry.seq <= seq]
    ids = {entry.id: derived_id(entry.recorded_at, "fork", fork_id, entry.id) for entry in given}
    return tuple(
        replace(
            entry,
            id=ids[entry.id],
            thread_id=fork_id,
            about=ids.get(entry.about, ""),
            sources=tuple(replace(source, thread_id=fork_id) for source in entry.sources),
        )
        for entry in given
    )


def asked_within(asked: Iterable[Asked], seq: int, fork_id: str) -> tuple[Asked, ...]:
    """What a fork at `seq` takes over of what a model was asked for its parent, in the order given.

    That is what succeeded, as far as it is about messages that the fork has too.
    """
    return tuple(
        replace(each, thread_id=fork_id, through=min(each.through, seq))
        for each in asked
        if each.first <= seq and not each.failed
    )


def speaker_of(message: Message) -> str | None:
    """The name under which a message was said. That of a tool is not one: nobody is meant by it in a question."""
    return None if message.role == "tool" else message.name or None


def _lines_without(lines: tuple[Line, ...], gone_ids: Collection[str]) -> tuple[Line, ...]:
    return tuple(line for line in lines if not any(source in gone_ids for source in line.sources))


def _ranges_without(ranges: tuple[tuple[int, int], ...], gone: Collection[int]) -> tuple[tuple[int, int], ...]:
    """Inclusive ranges in order, with the seqs in `gone` cut out of them."""
    left: list[tuple[int, int]] = []
    for first, last in ranges:
        start = first
        for seq in sorted(seq for seq in gone if first <= seq <= last):
            if start < seq:
                left.append((start, seq - 1))
            start = seq + 1
        if start <= last:
            left.append((start, last))
    return tuple(left)
