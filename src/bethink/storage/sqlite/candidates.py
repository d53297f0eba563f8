"""Rows of what a search has found and of the messages around it, and candidates made of them.

    units ─▶ rows ─┬────────────────────────▶ candidates
                   └─▶ message numbers ± 2 ─▶ rows of neighbours

A message's number is its thread's times 2^32 plus its seq, so neighbours are looked up by number, next to each other. Numbers
of threads and namespaces become names once for all rows: a join would look them up for each.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping
from typing import NamedTuple, TypeAlias

from bethink.storage.base import Candidate
from bethink.storage.sqlite.driver import Database, Row
from bethink.storage.sqlite.lexicon import Counted
from bethink.storage.sqlite.queries import q
from bethink.storage.sqlite.tail import FIRST_KEY, Unsettled
from bethink.storage.sqlite.values import SEQ_BITS, decode_record, decode_said, listed, moment, namespace_of
from bethink.values import Namespace

__all__ = ["Names", "Rows", "candidate", "names_for", "neighbours", "rows_of"]

_NEAR = (-2, -1, 1, 2)

Rows: TypeAlias = dict[int, Row]
"""By unit: that, its length, its terms, the number of its namespace, its kind, the message's number or the thread id of the
record, seq, id, time, and the body of what it stands for."""


def rows_of(database: Database, units: Collection[int], tail: Mapping[int, Unsettled], read: Mapping[int, Row]) -> Rows:
    """The rows of some units, those of the tails among them; without those that are not there.

    Args:
        read: rows of units (the query `unit_rows`) that have been read already.
    """
    found = {unit: tail[unit].row for unit in units if unit in tail}
    settled = sorted([unit for unit in units if unit < FIRST_KEY])
    known = [read[unit] for unit in settled if unit in read]
    if unread := [unit for unit in settled if unit not in read]:
        known += database.execute(q.unit_rows, (listed(unread),))
    messages = {row[5]: row for row in known if row[4] == "message"}
    if messages:
        for number, *rest in database.execute(q.candidate_messages, (listed(messages),)):
            row = messages[number]
            found[row[0]] = (*row[:5], number, *rest)
    records = {row[5]: row for row in known if row[4] != "message"}
    if records:
        for number, thread_id, record_id, body in database.execute(q.candidate_records, (listed(records),)):
            row = records[number]
            found[row[0]] = (*row[:5], thread_id, 0, record_id, None, body)
    return found


def neighbours(
    database: Database, centres: Iterable[Row], rows: Rows, tail: Mapping[int, Unsettled]
) -> tuple[Rows, dict[int, int]]:
    """The messages at most two away from some in the same thread.

    Args:
        centres: rows; a record has no neighbours.
        rows: what has been read already.

    Returns:
        The rows of those that are not in `rows`, and the message number of each neighbour by its unit.
    """
    numbers = [row[5] for row in centres if row[4] == "message"]
    near = {number + step for number in numbers for step in _NEAR if (number + step) >> SEQ_BITS == number >> SEQ_BITS}
    known = {row[5]: unit for unit, row in rows.items() if row[4] == "message"}
    units = {known[number]: number for number in near if number in known}
    more: Rows = {}
    unread = sorted(near.difference(known))
    if unread:
        more = {row[0]: row for row in database.execute(q.candidate_neighbours, (listed(unread),))}
        more.update((key, tail[key].row) for number in unread if (key := FIRST_KEY + number) in tail)
        units.update((unit, row[5]) for unit, row in more.items())
    return more, units


class Names(NamedTuple):
    """By their numbers."""

    namespaces: Mapping[int, Namespace]
    threads: Mapping[int, str]


def names_for(database: Database, namespaces: Iterable[Row], rows: Iterable[Row]) -> Names:
    """For some rows; `namespaces` are those of the scope."""
    threads = sorted({row[5] >> SEQ_BITS for row in rows if row[4] == "message"})
    return Names(
        {row[0]: namespace_of(row[1]) for row in namespaces},
        dict(database.execute(q.thread_ids, (listed(threads),))) if threads else {},
    )


def candidate(row: Row, names: Names, counted: Counted, cosine: float | None, tokens: bytes | None) -> Candidate:
    """What ranking is told of a row."""
    _, _, _, namespace, kind, place, seq, thing_id, created_at, body = row
    if kind == "message":
        thread_id: str | None = names.threads[place >> SEQ_BITS]
        text, speaker, trust = decode_said(body)
        at = moment(created_at)
    else:
        record = decode_record(body)
        thread_id = place
        text, speaker, trust, at = record.text, "", record.trust, record.at
    return Candidate(
        kind=kind,
        id=thing_id,
        namespace=names.namespaces[namespace],
        thread_id=thread_id,
        seq=seq,
        text=text,
        speaker=speaker,
        trust=trust,
        at=at,
        positions=counted.positions,
        length=counted.length,
        cosine=cosine,
        tokens=tokens,
    )
