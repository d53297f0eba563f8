"""What is kept of the past, and a search among what there was at a time.

put ─▶ Keeping ─▶ versions, changes      forget ─▶ forgotten (counts)
search ─▶ Then: which units there were, how long they are, in how many each term stands
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable
from datetime import datetime
from typing import Any

import msgspec

from bethink.errors import Conflict
from bethink.records import AnyRecord
from bethink.storage.base import ForgottenCount, Past, Put, Scan, Scope, Search, StoredVersion, version_of
from bethink.storage.sqlite.driver import Database, Row
from bethink.storage.sqlite.queries import q
from bethink.storage.sqlite.tail import FIRST_KEY, Unsettled
from bethink.storage.sqlite.values import (
    decode_change,
    decode_version,
    encode,
    listed,
    micros,
    moment,
    namespace_of,
    path_of,
    path_range,
)
from bethink.values import Namespace

__all__ = ["VERSION_SCANS", "Keeping", "Then", "speakers_by"]


class Keeping:
    """What one `Put` leaves of what was; `added` are the ids of its new records."""

    def __init__(self, database: Database, request: Put) -> None:
        self._database, self._request = database, request
        self._change = "" if request.change is None else request.change.id
        self.added: list[str] = []

    def check_revision(self) -> None:
        """Whether the namespace's records are still what whoever asks has read."""
        expected = self._request.at_revision
        actual = self._database.execute(q.revision, (path_of(self._request.namespace),))[0][0]
        if expected not in (None, actual):
            raise Conflict("the records of the namespace have changed — read them and try again", actual=actual)

    def keep(self, number: int, before: AnyRecord, after: AnyRecord) -> None:
        """A version of what is about to be written over."""
        until = self._request.system_time
        assert until is not None, "what changes a record has a time"
        version = version_of(before, after, until=until, change=self._change)
        self._database.execute(q.add_version, (number, micros(until), encode(version)))

    def keep_change(self, namespace: int) -> None:
        change = self._request.change
        assert change is not None, "asked for where there is one"
        whole = msgspec.structs.replace(change, added=tuple(self.added))
        self._database.execute(q.add_change, (namespace, micros(change.at), encode(whole)))


# -- scan -----------------------------------------------------------------------------------------------------------------

_Plan = tuple[str, tuple[Any, ...], Callable[[Row], Any]]


def _since(request: Scan) -> int | None:
    return None if request.since is None else micros(request.since)


def _versions(request: Scan) -> _Plan:
    statement = q.scan_versions if request.record_id is None else q.scan_versions_of_record
    return statement, (_since(request), request.record_id), _stored_version


def _stored_version(row: Row) -> StoredVersion:
    _, path, record_id, body = row
    return StoredVersion(namespace_of(path), record_id, decode_version(body))


def _changes(request: Scan) -> _Plan:
    return q.scan_changes, (_since(request),), lambda row: decode_change(row[1])


def _forgotten(request: Scan) -> _Plan:
    return q.scan_forgotten, (_since(request),), lambda row: ForgottenCount(moment(row[1]), row[2], row[3])


VERSION_SCANS: dict[str, Callable[[Scan], _Plan]] = {"versions": _versions, "changes": _changes, "forgotten": _forgotten}


# -- search ---------------------------------------------------------------------------------------------------------------


class Then:
    """What a search may look at (see `storage.base.Past`): the messages of `tail` are those of the tails that there were.

    Attributes:
        of_message, of_record: conditions and their parameters, over a message m with its thread t, and over a record r.
        lengths: terms of each unit that there was; None where all count that are there now.
        pending: how many of those wait for their vector, and the messages of the tails.
    """

    def __init__(self, database: Database, request: Search, past: Past, tail: list[Unsettled], space: int) -> None:
        self._database, self._at = database, None if past.at is None else micros(past.at)
        self.tail = tail
        found = [number for number, _ in self._places(past.found)]
        self.of_record: tuple[str, tuple[str]] = ("(r.id IN (SELECT value FROM json_each(?)))", (listed(found),))
        self.of_message: tuple[str, tuple[int, ...]] = ("1", ())
        self.lengths: dict[int, int] | None = None
        self.pending = 0
        if self._at is not None:
            self.of_message = ("(m.added_at <= ? AND t.created_at <= ?)", (self._at, self._at))
            there = self.stored_by(message.key - FIRST_KEY for message in tail)
            self.tail = [message for message in tail if message.key - FIRST_KEY in there]
            rows = database.execute(q.units_stored_by, (*path_range(request.scope), self._at, space))
            units = [unit for _, unit in self._places(past.known) if unit is not None]
            rows += database.execute(q.units_with_lengths, (listed(units), space))
            self.lengths = {unit: length for unit, length, _ in rows}
            self.pending = sum(waits is not None for _, _, waits in rows) + len(self.tail)

    def _places(self, records: Collection[tuple[Namespace, str]]) -> list[Row]:
        """Number and unit of each record."""
        pairs = [(path_of(namespace), record_id) for namespace, record_id in records]
        return self._database.execute(q.records_by_place, (listed(pairs),)) if pairs else []

    def stored_by(self, messages: Iterable[int]) -> frozenset[int]:
        """Those of some messages, by their numbers, that there were."""
        numbers = list(messages)
        if self._at is None or not numbers:
            return frozenset(numbers)
        return frozenset([number for (number,) in self._database.execute(q.messages_stored_by, (listed(numbers), self._at))])


def speakers_by(database: Database, scope: Scope, tail: list[Unsettled], at: datetime) -> tuple[str, ...]:
    """The names of those that have spoken by a time."""
    names = {name for (name,) in database.execute(q.speakers_by, (*path_range(scope), micros(at)))}
    said = {message.key - FIRST_KEY: message.speaker for message in tail if message.speaker}
    rows = database.execute(q.messages_stored_by, (listed(said), micros(at))) if said else []
    names.update([name for (number,) in rows if (name := said[number])])
    return tuple(sorted(names))
