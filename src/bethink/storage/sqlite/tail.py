"""The tail of a thread: its newest messages, of which nothing but their own rows knows yet.

    append ─▶ tail ─ settle ─┬─▶ units, lexicon, totals (see units.py)
                             ├─▶ the index of ids
                             └─▶ the thread's row: tip, count, updated_at

An append waits for the disk, the shorter the fewer pages it writes: here 0.16 ms for one page, 0.32 for five. So it writes the
message and nothing else; the first after a settling marks the thread's row. Whoever reads a thread adds what the tail says to
what the row says (the view `thread_state`), and a search reads tails as they are, as does who looks for a message by its id:
what has been committed counts at once. Tails of more than `LONGEST` messages in all are settled by the search that meets them,
a batch in one go, which costs each message a fifth of what it would cost alone.

An id that a caller gave is listed in the index at once, since the same may come again; one that was made for its message can
wait, and `ids.may_be_new` tells most of the others from it without a look at the tail.
"""

from __future__ import annotations

import threading
from collections import OrderedDict
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

from bethink.storage.base import Scope
from bethink.storage.derive import speaker_of, terms_of
from bethink.storage.sqlite.driver import Database, Row
from bethink.storage.sqlite.queries import q
from bethink.storage.sqlite.units import NewUnit, add_units, length_of
from bethink.storage.sqlite.values import decode_body, listed, micros, path_range

__all__ = ["FIRST_KEY", "LONGEST", "Tails", "Unsettled", "has_tails", "message_numbers", "settle", "settle_thread", "shorten"]

LONGEST = 64
_BATCH = 1_000
_KEPT = 1_024
_LONGEST_KEPT = 20_000
"""Bytes of a message."""

FIRST_KEY = 1 << 62
"""In a search a message of a tail goes by its number plus this, which is above that of any unit."""


class Unsettled(NamedTuple):
    """A message of a tail, as a search sees it."""

    key: int
    length: int
    terms: Mapping[str, tuple[int, ...]]
    """Where each of its terms stands, from 0."""
    speaker: str | None
    row: Row
    """As the query `candidate_messages` gives it, but without the terms."""


class Tails:
    """What searches made of the messages that they met in tails, kept for the next search. May be used from many threads."""

    def __init__(self) -> None:
        self._kept: OrderedDict[int, Unsettled] = OrderedDict()
        self._lock = threading.Lock()

    def of(self, database: Database, scope: Scope) -> list[Unsettled]:
        """The tails of a scope, without what search is not to find."""
        return self._read(database, [number for (number,) in database.execute(q.tail_numbers, (*path_range(scope), -1))])

    def short(self, database: Database, scope: Scope) -> list[Unsettled] | None:
        """The same; None where they have more than `LONGEST` messages in all."""
        numbers = [number for (number,) in database.execute(q.tail_numbers, (*path_range(scope), LONGEST + 1))]
        return self._read(database, numbers) if len(numbers) <= LONGEST else None

    def _read(self, database: Database, numbers: list[int]) -> list[Unsettled]:
        with self._lock:
            found = {number: self._kept[number] for number in numbers if number in self._kept}
        missing = [number for number in numbers if number not in found]
        if missing:
            rows = database.execute(q.tail_messages, (listed(missing),))
            new = {row[0]: _unsettled(*row) for row in rows}
            found.update(new)
            with self._lock:
                self._kept.update((number, each) for number, each in new.items() if len(each.row[-1]) <= _LONGEST_KEPT)
                while len(self._kept) > _KEPT:
                    self._kept.popitem(last=False)
        return [found[number] for number in numbers if found[number].length]

    def clear(self) -> None:
        with self._lock:
            self._kept.clear()


def _unsettled(number: int, namespace: int, *rest: Any) -> Unsettled:
    unit = _unit_of(number, rest[-1])
    key, length = FIRST_KEY + number, length_of(unit.terms)
    row = (key, length, "", namespace, "message", number, *rest)
    terms: dict[str, list[int]] = {}
    for place, term in enumerate(unit.terms.split(" ")):
        terms.setdefault(term, []).append(place)
    return Unsettled(key, length, {term: tuple(places) for term, places in terms.items()}, unit.speaker, row)


def _unit_of(number: int, body: bytes) -> NewUnit:
    message = decode_body(body)
    assert message.created_at is not None, "a stored message has its time"
    return NewUnit(number, terms_of(message), micros(message.created_at), speaker_of(message))


def has_tails(database: Database, scope: Scope) -> bool:
    """Whether any message of a scope is in a tail."""
    return bool(database.execute(q.tail_numbers, (*path_range(scope), 1)))


def message_numbers(database: Database, ids: Sequence[str], scope: tuple[str, str | bytes]) -> list[int]:
    """The numbers of the messages of a scope (`path_range`) that have one of some ids. Reads the tails of the scope where ids
    were asked for.
    """
    if not ids:
        return []
    return [number for (number,) in database.execute(q.message_numbers, (listed(ids), *scope))]


def shorten(database: Database, thread: int) -> bool:
    """Settle a thread if its tail is longer than `LONGEST`, so that looking for an id in it costs little; whether it was."""
    long = bool(database.execute(q.long_tail, (thread, LONGEST)))
    if long:
        settle_thread(database, thread)
    return long


def settle(database: Database, scope: Scope) -> bool:
    """Settle a batch of the oldest messages in the tails of a scope; whether there may be more."""
    most = _BATCH
    for thread, namespace, tip in database.execute(q.unsettled_threads, path_range(scope)):
        most -= _settle(database, thread, namespace, tip, most)
        if most <= 0:
            return True
    return False


def settle_thread(database: Database, thread: int) -> None:
    """Settle the whole tail of one thread, if it has one."""
    for namespace, tip in database.execute(q.unsettled_thread, (thread,)):
        _settle(database, thread, namespace, tip, -1)


def _settle(database: Database, thread: int, namespace: int, tip: int, most: int) -> int:
    """Settle that many messages of a thread from its tip on (-1 for all); how many there were."""
    rows = database.execute(q.tail_of_thread, (thread, tip, most))
    # What says nothing has no unit.
    units = dict(add_units(database, namespace, "message", [_unit_of(number, body) for number, body in rows]))
    database.executemany(q.settle_message, [(units.get(number), number) for number, _ in rows])
    if rows:
        database.execute(q.set_settled, (len(rows), rows[-1][0], thread))
    return len(rows)
