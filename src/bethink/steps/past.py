"""As of a time: what was known then, what was true then, what has changed since.

A question as of a time writes nothing, and draws nothing from messages: what nobody had asked for by then had not been drawn.
It reads every record of its scope, and those of their versions that are later than the time.
"""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime

import msgspec

from bethink.engine import Engine
from bethink.errors import InvalidInput, NotFound
from bethink.insights.differences import Diff, HistoryEntry, chain, difference, story
from bethink.insights.past import true_at
from bethink.records import AnyRecord, Insight, Note, RecordKind
from bethink.storage.base import (
    Compare,
    Filter,
    ForgottenCount,
    Or,
    Past,
    Scan,
    Scope,
    StoredMessage,
    StoredRecord,
    StoredVersion,
    Version,
)
from bethink.storage.known import all_as_known
from bethink.values import Namespace, utc

__all__ = ["NOW", "When", "diff", "held_at", "history", "notes_at", "past_of", "said_by", "tip_at", "when"]

_KINDS: tuple[RecordKind, ...] = ("note", "insight", "summary", "episode")


class When(msgspec.Struct, frozen=True):
    """The times that a question is about: what the system knew at one, what was true in the world at the other.

    Attributes:
        as_of: None for now.
        valid_at: None for whatever is current, whenever it is true.
    """

    as_of: datetime | None = None
    valid_at: datetime | None = None

    @property
    def is_now(self) -> bool:
        """Whether the question is about what is current, and nothing else."""
        return self.as_of is None and self.valid_at is None


NOW = When()
"""A question about what is current."""


def when(engine: Engine, as_of: object, valid_at: object) -> When:
    """Times as they were given.

    Raises:
        InvalidInput: a naive time, or an `as_of` that is yet to come: what will be known nobody can say. What is going to be
            true may be asked for.
    """
    known = None if as_of is None else _past(engine, as_of, "as_of")
    return When(known, None if valid_at is None else utc(valid_at, "valid_at"))


def _past(engine: Engine, given: object, field: str) -> datetime:
    at = utc(given, field)
    if at > engine.clock.now():
        raise InvalidInput(field, "a time that is yet to come", "give one up to now; `valid_at` may be any time")
    return at


def _records_at(
    engine: Engine, scope: Scope, at: datetime | None, kinds: tuple[RecordKind, ...] = _KINDS
) -> list[StoredRecord]:
    """Every record of a scope as it was known at a system time, whether current or not, oldest first."""
    # Records first: what is changed after they have been read leaves a version that says what was read.
    records = list(engine.records(scope, kinds=kinds, current=False))
    if at is None:
        return records
    return all_as_known(records, _versions(engine, scope, since=at), at)


def notes_at(engine: Engine, namespace: Namespace, at: datetime) -> list[Note]:
    """The notes of a namespace as they were known at a system time, whether current or not, oldest first."""
    known = _records_at(engine, Scope(namespace), at, ("note",))
    return [each.record for each in known if isinstance(each.record, Note)]


def _versions(
    engine: Engine, scope: Scope, *, since: datetime | None = None, record_id: str | None = None
) -> list[StoredVersion]:
    scan = Scan(what="versions", scope=scope, since=since, record_id=record_id)
    return [item for item in engine.pages(scan) if isinstance(item, StoredVersion)]


def _holds(record: AnyRecord, valid_at: datetime | None) -> bool:
    return record.current if valid_at is None else true_at(record, valid_at)


def held_at(engine: Engine, namespace: Namespace, asked: When, subject: str) -> dict[str, Insight]:
    """What held of a subject at the times asked for, as it was known, by id. What was true at a time of the world may have been
    superseded since.
    """
    known = [each.record for each in _records_at(engine, Scope(namespace), asked.as_of, ("insight",))]
    return {
        record.id: record
        for record in known
        if isinstance(record, Insight) and record.subject == subject and _holds(record, asked.valid_at)
    }


def past_of(engine: Engine, scope: Scope, asked: When) -> Past:
    """What a search may find at the times asked for."""
    known = _records_at(engine, scope, asked.as_of)
    found = [each for each in known if _holds(each.record, asked.valid_at)]
    return Past(at=asked.as_of, known=_places(known), found=_places(found))


def _places(records: Sequence[StoredRecord]) -> tuple[tuple[Namespace, str], ...]:
    return tuple([(each.namespace, each.record.id) for each in records])


def said_by(valid_at: datetime) -> Filter:
    """Of messages, those that were said by a time of the world."""
    return Or((~Compare(("kind",), "eq", "message"), Compare(("at",), "lte", valid_at)))


def tip_at(engine: Engine, namespace: Namespace, thread_id: str, at: datetime) -> int:
    """The seq of the last message of a thread that was stored by a time; 0 for none."""
    scan = Scan(what="messages", scope=Scope(namespace), thread_id=thread_id, stored_by=at, newest=True, limit=1)
    found = engine.store.scan(scan).items
    return found[0].message.seq if found and isinstance(found[0], StoredMessage) else 0


def history(
    engine: Engine, namespace: Namespace, *, record_id: str = "", subject: str = "", slot: str = ""
) -> list[HistoryEntry]:
    """What took whose place, oldest first, each with what happened to it.

    Raises:
        NotFound: no such record, or nothing was ever in that slot.
    """
    scope = Scope(namespace)
    records = [each.record for each in engine.records(scope, kinds=_KINDS, current=False)]
    found = chain(records, record_id=record_id, subject=subject, slot=slot)
    if not found:
        what = f"record {record_id!r} is not" if record_id else f"nothing about {subject!r} was ever kept under {slot!r}"
        raise NotFound(f"{what} in this namespace")
    return [HistoryEntry(record, story(record, _versions_of(engine, scope, record.id))) for record in found]


def _versions_of(engine: Engine, scope: Scope, record_id: str) -> list[Version]:
    return [each.version for each in _versions(engine, scope, record_id=record_id)]


def diff(engine: Engine, namespace: Namespace, since: object, until: object) -> Diff:
    """What changed between two times; see `differences.Diff`.

    Raises:
        InvalidInput: a naive time, one that is yet to come, or `since` after `until`.
    """
    start = _past(engine, since, "since")
    end = engine.clock.now() if until is None else _past(engine, until, "until")
    if start > end:
        raise InvalidInput("since", "later than until", "give the earlier time as `since`")
    scope = Scope(namespace)
    records = list(engine.records(scope, kinds=_KINDS, current=False))
    versions = _versions(engine, scope, since=start)
    before, after = ([each.record for each in all_as_known(records, versions, at)] for at in (start, end))
    found = difference(before, after, since=start, until=end)
    gone = [item for item in engine.pages(Scan(what="forgotten", scope=scope, since=start)) if isinstance(item, ForgottenCount)]
    gone = [each for each in gone if each.at <= end]
    return msgspec.structs.replace(
        found,
        forgotten_messages=sum(each.messages for each in gone),
        forgotten_records=sum(each.records for each in gone),
    )
