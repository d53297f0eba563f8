"""What takes one change back: a pure plan over records, their versions and changes.

    what it added     is retired, as "undone"
    what it closed    is current again; what it made current again is closed as it was
    what gained a source by it   is without that source

Uses that were counted with it stay counted. Whatever came later and rests on one of these records stands in the way: that must
be taken back first. What was taken back already, and what took it back, are as if neither had been.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from datetime import datetime

import msgspec

from bethink.records import AnyRecord, Insight
from bethink.storage.base import Change, Restore, Retire, StoredVersion, Version

__all__ = ["UNDONE", "Plan", "merged", "undoing"]

UNDONE = "undone"
"""The reason of what an undone change had added."""

_STANDING = frozenset({"retired_at", "superseded_by", "reason", "valid_to"})


class Plan(msgspec.Struct, frozen=True):
    """What to store; or `obstacles`, each in words, and then nothing."""

    restore: tuple[Restore, ...] = ()
    retire: tuple[Retire, ...] = ()
    obstacles: tuple[str, ...] = ()


def merged(changes: Iterable[Change]) -> list[Change]:
    """Each change once, though it was stored in several steps; in the order of their first."""
    found: dict[str, Change] = {}
    for change in changes:
        known = found.get(change.id)
        found[change.id] = change if known is None else msgspec.structs.replace(known, added=known.added + change.added)
    return list(found.values())


def undoing(
    change: Change,
    records: Sequence[AnyRecord],
    versions: Iterable[StoredVersion],
    *,
    now: datetime,
    cancelled: Collection[str] = (),
) -> Plan:
    """How to take a change back.

    Args:
        cancelled: ids of the changes that were taken back, and of those that did it.
        records: all of the namespace, whether current or not.
        versions: all of theirs, in the order in which they were kept.
    """
    known = {record.id: record for record in records}
    kept: dict[str, list[Version]] = {}
    for stored in versions:
        if stored.version.change not in cancelled:
            kept.setdefault(stored.record_id, []).append(stored.version)
    touched = [name for name in known if any(version.change == change.id for version in kept.get(name, ()))]
    added = [name for name in change.added if name in known]
    obstacles = [
        f"record {name} has {_what(version)} since"
        for name in dict.fromkeys([*added, *touched])
        if (version := _later(kept.get(name, ()), change, added=name in added)) is not None
    ]
    restore = [_restored(known[name], kept[name], change, known) for name in touched if name not in added]
    retire = [Retire(name, now, UNDONE) for name in added if known[name].current]
    obstacles += _resting(change, set(added), known, kept)
    obstacles += _holding(restore, {each.record_id for each in retire}, known)
    return Plan((), (), tuple(obstacles)) if obstacles else Plan(tuple(restore), tuple(retire))


def _later(versions: Sequence[Version], change: Change, *, added: bool) -> Version | None:
    """The first later change of the record that is more than a use of it."""
    own = [number for number, version in enumerate(versions) if version.change == change.id]
    if not own and not added:
        return None
    later = versions[own[-1] + 1 :] if own else versions
    return next((version for version in later if version.gained or not _STANDING.isdisjoint(version.before)), None)


def _what(version: Version) -> str:
    if version.gained:
        return "been said again"
    return "been closed" if version.before.get("retired_at", "") is None else "become current again"


def _restored(record: AnyRecord, versions: Sequence[Version], change: Change, known: Mapping[str, AnyRecord]) -> Restore:
    values = msgspec.to_builtins(record)
    own = [version for version in versions if version.change == change.id]
    for version in reversed(own):
        values.update({name: was for name, was in version.before.items() if name in _STANDING})
    was = msgspec.convert(values, type(record))
    without = tuple([place for version in own for place in version.gained])
    if was.superseded_by is not None and was.superseded_by not in known:
        # What had closed it has been forgotten since, and so it would be current by now.
        return Restore(record_id=record.id, without=without)
    return Restore(
        record_id=record.id,
        retired_at=was.retired_at,
        superseded_by=was.superseded_by,
        reason=was.reason,
        valid_to=was.valid_to,
        without=without,
    )


def _resting(
    change: Change, added: set[str], known: Mapping[str, AnyRecord], kept: Mapping[str, Sequence[Version]]
) -> list[str]:
    """What was closed later for something that goes."""
    return [
        f"record {record.id} was closed since, for record {record.superseded_by}"
        for record in known.values()
        if record.superseded_by in added
        and record.id not in added
        and not any(version.change == change.id for version in kept.get(record.id, ()))
    ]


def _holding(restore: Sequence[Restore], going: set[str], known: Mapping[str, AnyRecord]) -> list[str]:
    """What holds by now the slot of something that would be current again."""
    back = {each.record_id: known[each.record_id] for each in restore if each.retired_at is None}
    closing = {each.record_id for each in restore if each.retired_at is not None} | going
    holders = {
        (record.subject, record.slot): record.id
        for record in known.values()
        if isinstance(record, Insight) and record.current and record.id not in closing and record.id not in back
    }
    return [
        f"record {holder} is current in the place of record {record.id}"
        for record in back.values()
        if isinstance(record, Insight) and (holder := holders.get((record.subject, record.slot))) is not None
    ]
