"""Tiers and scores beside messages in SQLite: marked, read, and what forks and forgets do to them.

A row for each message that has one, under the message's number: an append writes none, and a thread's lie together.
"""

from __future__ import annotations

from collections.abc import Sequence

from bethink.errors import NotFound
from bethink.marks import Scored, Tiered, tier_of
from bethink.storage.base import Mark
from bethink.storage.sqlite.driver import Database
from bethink.storage.sqlite.queries import q
from bethink.storage.sqlite.tail import shorten
from bethink.storage.sqlite.values import SEQ_BITS, decode_message, listed, micros, moment, path_of

__all__ = ["drop", "fork", "mark", "read"]


def mark(database: Database, request: Mark) -> None:
    """See `storage.base.Mark`."""
    rows = database.execute(q.find_thread, (path_of(request.namespace), request.thread_id))
    if not rows:
        raise NotFound(f"thread {request.thread_id!r} is not in this namespace")
    thread, _, tip, _ = rows[0]
    first = thread << SEQ_BITS
    named = [message_id for message_id, _ in (*request.tiers, *request.scores)]
    shorten(database, thread)
    ids = (listed(named), thread, tip)
    found = database.execute(q.known_messages, ids) + database.execute(q.known_unlisted, ids)
    messages = {message_id: decode_message(body, seq, group, raw, form) for message_id, seq, group, body, raw, form in found}
    for message_id in named:
        if message_id not in messages:
            raise NotFound(f"message {message_id!r} is not in thread {request.thread_id!r}")
    before = database.total_changes()
    tiers = dict(_tiers(database, thread)) if request.tiers else {}
    at = micros(request.at)
    for message_id, tier in request.tiers:
        message = messages[message_id]
        if tier != tier_of(message, tiers):
            tiers[message.seq] = Tiered(tier, request.at)
            database.execute(q.set_tier, (first + message.seq, tier, at))
    scores = [(first + messages[message_id].seq, score, request.author, at) for message_id, score in request.scores]
    if scores:
        database.executemany(q.set_score, scores)
    if database.total_changes() != before:
        database.execute(q.touch_thread, (thread,))


def read(database: Database, thread: int, seqs: Sequence[int]) -> tuple[dict[int, Tiered], dict[int, Scored]]:
    """The tiers of a thread, and the scores of some of its messages, by seq."""
    first = thread << SEQ_BITS
    scores = database.execute(q.scores_of_messages, (listed(first + seq for seq in seqs),)) if seqs else []
    return (
        _tiers(database, thread),
        {number - first: Scored(score, author, moment(at)) for number, score, author, at in scores},
    )


def _tiers(database: Database, thread: int) -> dict[int, Tiered]:
    first = thread << SEQ_BITS
    rows = database.execute(q.tiers_between, (first, first + (1 << SEQ_BITS) - 1))
    return {number - first: Tiered(tier, moment(at)) for number, tier, at in rows}


def fork(database: Database, span: tuple[int, int], moved: int) -> None:
    """Copy those of the messages in a span of numbers, for copies of these that were moved."""
    database.execute(q.fork_tiers, (*span, moved))
    database.execute(q.fork_scores, (*span, moved))


def drop(database: Database, messages: str) -> None:
    """Remove those of some messages (numbers as `listed`)."""
    database.execute(q.drop_tiers, (messages,))
    database.execute(q.drop_scores, (messages,))
