"""What was known at a time: records with what happened to them later taken back.

    records, versions ─ as_known ─▶ records as the system knew them

A record is as it was, with the sources that it had. What has been forgotten since stays forgotten. So a record that rested on
nothing else by then is not there; one that was closed for a record that is gone is current again, unless another held its slot
by then: the rules of `derive`, applied to the past.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from datetime import datetime

import msgspec

from bethink.records import AnyRecord, Proposal, StateEntry
from bethink.storage.base import StoredRecord, StoredVersion, Version
from bethink.storage.derive import reopened
from bethink.values import Namespace

__all__ = ["all_as_known", "as_known"]


def as_known(record: AnyRecord, versions: Sequence[Version], at: datetime) -> AnyRecord | None:
    """A record as it was at a system time; None if there was none, or nothing is left of what it rested on then.

    Args:
        versions: of the record, in the order in which they were kept. Those until `at` and before may be missing.

    Its words are those of now, unless they come from a source that it gained since: then they are those of the newest source
    that it had.
    """
    if record.recorded_at > at:
        return None
    later = [version for version in versions if version.until > at]
    if not later:
        return record
    values = msgspec.to_builtins(record)
    for version in reversed(later):
        values.update(version.before)
    before = msgspec.convert(values, type(record))
    gained = {place for version in later for place in version.gained}
    return _without(before, gained)


def _without(record: AnyRecord, gained: set[tuple[str, str]]) -> AnyRecord | None:
    places = {(source.thread_id, source.message_id) for source in record.sources}
    # A thread that was forgotten has left the message to another: then the message's id alone tells.
    moved = {message_id for thread_id, message_id in gained if (thread_id, message_id) not in places}
    left = tuple(
        source
        for source in record.sources
        if (source.thread_id, source.message_id) not in gained and source.message_id not in moved
    )
    if left == record.sources:
        return record
    if not left:
        return None
    wordings = {source.text for source in left}
    later = {source.text for source in record.sources} - wordings
    text = left[-1].text if record.text in later else record.text
    return msgspec.structs.replace(record, sources=left, text=text)


def all_as_known(records: Iterable[StoredRecord], versions: Iterable[StoredVersion], at: datetime) -> list[StoredRecord]:
    """All of some namespaces, in the order given, as they were at a system time, without entries of states and proposals.

    What names a successor that was not there yet, or is there no more, is current, or names what held its slot.
    """
    kept: dict[tuple[Namespace, str], list[Version]] = {}
    for each in versions:
        kept.setdefault((each.namespace, each.record_id), []).append(each.version)
    known: dict[tuple[Namespace, str], AnyRecord] = {}
    for stored in records:
        if isinstance(stored.record, StateEntry | Proposal):
            continue
        place = stored.namespace, stored.record.id
        if (record := as_known(stored.record, kept.get(place, ()), at)) is not None:
            known[place] = record
    for namespace in dict.fromkeys(namespace for namespace, _ in known):
        _reopen(known, namespace)
    return [StoredRecord(namespace, record) for (namespace, _), record in known.items()]


def _reopen(known: dict[tuple[Namespace, str], AnyRecord], namespace: Namespace) -> None:
    within = {record_id: record for (owner, record_id), record in known.items() if owner == namespace}
    orphans = [record for record in within.values() if record.superseded_by not in (None, *within)]
    if orphans:
        for record in reopened(orphans, [record for record in within.values() if record.superseded_by is None]):
            known[namespace, record.id] = record
