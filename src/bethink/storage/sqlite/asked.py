"""What came of asking a model, beside the thread that it was about."""

from __future__ import annotations

from collections.abc import Iterator

from bethink.errors import Conflict, StoreError
from bethink.storage.base import Ask, Problem
from bethink.storage.derive import asked_within
from bethink.storage.sqlite.driver import Database
from bethink.storage.sqlite.queries import q
from bethink.storage.sqlite.values import decode_asked, encode

__all__ = ["fork", "keep", "problems"]


def keep(database: Database, thread: int, ask: Ask) -> None:
    """See `storage.base.Ask`."""
    asked = ask.asked
    rows = database.execute(q.find_asked, (thread, asked.step, asked.first))
    kept = decode_asked(rows[0][0]) if rows else None
    if kept != ask.expected:
        raise Conflict(f"somebody else has asked a model to {asked.step} the same messages — read what came of it")
    database.execute(q.set_asked, (thread, asked.step, asked.first, encode(asked)))


def fork(database: Database, parent: int, seq: int, thread: int, thread_id: str) -> None:
    """Copy what a fork takes."""
    given = [decode_asked(body) for (body,) in database.execute(q.asked_of_thread, (parent, seq))]
    for asked in asked_within(given, seq, thread_id):
        database.execute(q.set_asked, (thread, asked.step, asked.first, encode(asked)))


def problems(database: Database) -> Iterator[Problem]:
    """Each row against its body."""
    for number, *known, body in database.execute(q.all_asked):
        try:
            asked = decode_asked(body)
        except StoreError:
            yield Problem("cannot be read", f"asked row {number}")
            continue
        if [asked.thread_id, asked.step, asked.first] != known:
            yield Problem("differs from its row", f"asked row {number}")
