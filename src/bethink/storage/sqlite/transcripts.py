"""Threads read: `storage.base.Read`, and what is kept of one read for the next.

A context reads all of a thread that is not folded, at every turn, and from one turn to the next a message or two have come. So
that is kept, with the thread's `revision`: a number that grows with whatever happens to the thread's messages, marks and nodes
but appends, in whichever process. While it stands, all that was read stands too, and the messages since are all that is new.
"""

from __future__ import annotations

import threading
from collections import OrderedDict
from typing import NamedTuple

from bethink.messages import Message
from bethink.records import Node
from bethink.storage.base import Attempt, Read, Transcript
from bethink.storage.sqlite import marks
from bethink.storage.sqlite.driver import Database, Row
from bethink.storage.sqlite.queries import q
from bethink.storage.sqlite.threads import revised_thread
from bethink.storage.sqlite.values import (
    SEQ_BITS,
    decode_attempt,
    decode_message,
    decode_node,
    is_unchanging,
    listed,
)
from bethink.threads import ThreadInfo

__all__ = ["Transcripts"]

_KEPT = 64
_LARGEST_KEPT = 500_000
"""Bytes of the messages of a transcript."""


class _Kept(NamedTuple):
    """What a read found, the thread's number and revision then, and the bytes of its messages."""

    thread: int
    revision: int
    transcript: Transcript
    size: int


class Transcripts:
    """Reads threads, and keeps the last transcripts of what is not folded, each under the request that it answers.

    One is used only where the read at hand, in its own transaction, finds the thread at the same revision and no shorter: so it
    says what this moment's rows would, whoever has written meanwhile. Nothing is kept that a caller could change. May be used
    from many threads.
    """

    def __init__(self) -> None:
        self._kept: OrderedDict[Read, _Kept] = OrderedDict()
        self._lock = threading.Lock()

    def read(self, database: Database, request: Read) -> Transcript:
        """See `storage.base.Read`."""
        thread, revision, info = revised_thread(database, request.namespace, request.thread_id)
        if not request.unfolded or request.tree or (request.limit, request.before, request.after) != (None, None, None):
            return _read(database, request, thread, info)[0]
        with self._lock:
            known = self._kept.get(request)
        found = None
        if known is not None and (known.thread, known.revision) == (thread, revision):
            found = _grown(database, known, info)
        if found is None:
            transcript, rows = _read(database, request, thread, info)
            found = _Kept(thread, revision, transcript, _size(rows))
        with self._lock:
            if found.size <= _LARGEST_KEPT:
                self._kept[request] = found
                self._kept.move_to_end(request)
                if len(self._kept) > _KEPT:
                    self._kept.popitem(last=False)
            else:
                self._kept.pop(request, None)
        return found.transcript

    def clear(self) -> None:
        """Keep none: what was removed from the database is not to live on in the process."""
        with self._lock:
            self._kept.clear()


def _grown(database: Database, known: _Kept, info: ThreadInfo) -> _Kept | None:
    """The transcript with what was appended since; None if that is not all there is to it."""
    before = known.transcript
    tip = before.thread.tip
    if info.tip < tip:
        # Another reader, of a later moment than this one, has kept it.
        return None
    first = known.thread << SEQ_BITS
    rows = database.execute(q.messages_between, (first + tip, first + info.tip + 1, -1))[::-1] if info.tip > tip else []
    if any(group <= tip for _, group, *_ in rows):
        # It belongs to a group of before. Where that is not here, it is to be read along.
        there = {message.group for message in before.messages}
        if any(group <= tip and group not in there for _, group, *_ in rows):
            return None
    messages = (*before.messages, *_messages(rows))
    transcript = Transcript(info, messages, before.nodes, tiers=before.tiers, scores=before.scores)
    return _Kept(known.thread, known.revision, transcript, known.size + _size(rows))


def _size(rows: list[Row]) -> int:
    """Bytes of some messages; more than are kept where one of them can be changed by whoever is given it."""
    if not all(is_unchanging(body) for _, _, body, _, _ in rows):
        return _LARGEST_KEPT + 1
    return sum([len(body) + len(raw or b"") for _, _, body, raw, _ in rows])


def _read(database: Database, request: Read, thread: int, info: ThreadInfo) -> tuple[Transcript, list[Row]]:
    """What a request asks for, and the rows of the messages."""
    first = thread << SEQ_BITS
    after = max(0, request.after or 0, info.folded_through if request.unfolded else 0)
    before = info.tip + 1 if request.before is None else min(request.before, info.tip + 1)
    rows: list[Row] = []
    if request.limit != 0 and after < before:
        limit = -1 if request.limit is None else request.limit
        rows = database.execute(q.messages_between, (first + after, first + before, limit))
    whole = len(rows) == info.count
    # A group that began within what was read has no member before it, and none after it where that is the newest.
    partly = {row[1] for row in rows if before <= info.tip or row[1] < rows[-1][0]}
    if request.pinned and not whole:
        pinned = database.execute(q.pinned_messages, (thread,))
        partly.update(row[1] for row in pinned)
        rows += pinned
    if request.whole_groups and partly and not whole:
        rows += database.execute(q.group_members, (first, thread, listed(sorted(partly))))
    by_seq = {row[0]: row for row in rows}
    rows = [by_seq[seq] for seq in sorted(by_seq)]
    tiers, scores = marks.read(database, thread, sorted(by_seq)) if request.marks else ({}, {})
    nodes = _tree(database, thread) if request.tree else _top_nodes(database, thread) if request.nodes else ()
    attempts = _attempts(database, thread) if request.tree else ()
    return Transcript(info, _messages(rows), nodes, attempts, tiers, scores), rows


def _messages(rows: list[Row]) -> tuple[Message, ...]:
    return tuple([decode_message(body, seq, group, raw, form) for seq, group, body, raw, form in rows])


def _top_nodes(database: Database, thread: int) -> tuple[Node, ...]:
    return tuple([decode_node(body) for (body,) in database.execute(q.top_nodes, (thread,))])


def _tree(database: Database, thread: int) -> tuple[Node, ...]:
    nodes = [decode_node(body) for (body,) in database.execute(q.current_nodes, (thread,))]
    return tuple(sorted(nodes, key=lambda node: (node.level, node.first_seq, node.id)))


def _attempts(database: Database, thread: int) -> tuple[Attempt, ...]:
    return tuple(decode_attempt(body) for (body,) in database.execute(q.attempts_of_thread, (thread,)))
