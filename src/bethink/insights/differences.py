"""What changed between two times, and what became of one thing: read from records and their versions.

records as known at two times ─ difference ─▶ learned, changed, returned, retired, archived
a record, its versions ─ story ─▶ what happened to it, oldest first
a record or slot ─ chain ─▶ the records that took each other's place, oldest first
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from datetime import datetime
from itertools import pairwise
from typing import Any, Literal

import msgspec

from bethink.records import AnyRecord, Insight, Proposal, Source, StateEntry
from bethink.storage.base import Version

__all__ = ["Changed", "Diff", "HistoryEntry", "HistoryEvent", "chain", "difference", "story"]


class HistoryEvent(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """Something that happened to a record. Uses are counted (`access_count`), and are none.

    Attributes:
        at: system time.
        what: it came to be known, was said again by further sources, stopped being current, is current again, was pinned, or
            was let go.
        reason, superseded_by: of "retired".
        sources: of "recorded" and "restated", what it came from; without those that have been forgotten.
    """

    at: datetime
    what: Literal["recorded", "restated", "retired", "returned", "pinned", "unpinned"]
    reason: str = ""
    superseded_by: str | None = None
    sources: tuple[Source, ...] = ()


class HistoryEntry(msgspec.Struct, frozen=True):
    """A record as it is now, and what happened to it, oldest first."""

    record: AnyRecord
    events: tuple[HistoryEvent, ...]


class Changed(msgspec.Struct, frozen=True):
    """A record that another took the place of, the one that stands there at the end, and why the first was closed."""

    old: AnyRecord
    new: AnyRecord
    reason: str


class Diff(msgspec.Struct, frozen=True, kw_only=True):
    """What is known at `until` and was not at `since`, or the other way round; in the order in which records came.

    Each record is in one place alone. What came and went in between is no difference.

    Attributes:
        learned: new, and current; not those that took the place of another.
        changed: the place of which another has taken, at the last.
        returned: current again.
        retired: no longer current, and nothing in its place; `record.reason` says why.
        archived: the same, for want of room in a profile.
        forgotten_messages, forgotten_records: how many were forgotten in between. What they said is in none of the others, on
            either side.
    """

    since: datetime
    until: datetime
    learned: tuple[AnyRecord, ...] = ()
    changed: tuple[Changed, ...] = ()
    returned: tuple[AnyRecord, ...] = ()
    retired: tuple[AnyRecord, ...] = ()
    archived: tuple[AnyRecord, ...] = ()
    forgotten_messages: int = 0
    forgotten_records: int = 0

    def __bool__(self) -> bool:
        """Whether anything is different."""
        found = (self.learned, self.changed, self.returned, self.retired, self.archived)
        return any(found) or bool(self.forgotten_messages or self.forgotten_records)


def difference(before: Iterable[AnyRecord], after: Iterable[AnyRecord], *, since: datetime, until: datetime) -> Diff:
    """Between the records of one namespace as they were known at two times (`storage.known.all_as_known`)."""
    then, now = ({record.id: record for record in records} for records in (before, after))
    changed: list[Changed] = []
    retired: list[AnyRecord] = []
    archived: list[AnyRecord] = []
    for record in now.values():
        former = then.get(record.id)
        if record.current or former is None or not former.current:
            continue
        last = _standing(record, now)
        if last is not None:
            changed.append(Changed(former, last, record.reason))
        else:
            (archived if record.archived else retired).append(record)
    replaced = {each.new.id for each in changed}
    new = [record for record in now.values() if record.current and record.id not in replaced]
    return Diff(
        since=since,
        until=until,
        learned=tuple(record for record in new if record.id not in then),
        changed=tuple(changed),
        returned=tuple(record for record in new if record.id in then and not then[record.id].current),
        retired=tuple(retired),
        archived=tuple(archived),
    )


def _standing(record: AnyRecord, known: Mapping[str, AnyRecord]) -> AnyRecord | None:
    """What is current in the place of a record that was superseded, after however many others; None where nothing is."""
    seen = {record.id}
    found: AnyRecord | None = record
    while found is not None and not found.current:
        found = known.get(found.superseded_by or "")
        if found is not None and found.id in seen:
            return None
        seen.update(() if found is None else (found.id,))
    return found


def story(record: AnyRecord, versions: Sequence[Version]) -> tuple[HistoryEvent, ...]:
    """What happened to a record, oldest first.

    Args:
        versions: all of it, in the order in which they were kept.
    """
    gained = {place for version in versions for place in version.gained}
    first = [source for source in record.sources if (source.thread_id, source.message_id) not in gained]
    events = [HistoryEvent(at=record.recorded_at, what="recorded", sources=tuple(first))]
    values = msgspec.to_builtins(record)
    states: list[dict[str, Any]] = [values]
    for version in reversed(versions):
        states.append({**states[-1], **version.before})
    states.reverse()
    # What was brought in from elsewhere may have been closed before there were versions of it.
    _add(events, record.recorded_at, _OPEN, states[0], ())
    for version, (was, became) in zip(versions, pairwise(states), strict=True):
        sources = [source for source in record.sources if (source.thread_id, source.message_id) in version.gained]
        _add(events, version.until, was, became, sources)
    return tuple(events)


_OPEN: dict[str, Any] = {}


def _add(
    events: list[HistoryEvent], at: datetime, was: dict[str, Any], became: dict[str, Any], sources: Sequence[Source]
) -> None:
    if sources:
        events.append(HistoryEvent(at=at, what="restated", sources=tuple(sources)))
    closed = became.get("retired_at")
    if closed is not None and was.get("retired_at") is None:
        reason, by = became.get("reason", ""), became.get("superseded_by")
        at = at if was is not _OPEN else msgspec.convert(closed, datetime)
        events.append(HistoryEvent(at=at, what="retired", reason=reason, superseded_by=by))
    elif closed is None and was.get("retired_at") is not None:
        events.append(HistoryEvent(at=at, what="returned"))
    if was is not _OPEN and was.get("pinned", False) != became.get("pinned", False):
        events.append(HistoryEvent(at=at, what="pinned" if became.get("pinned") else "unpinned"))


def chain(records: Iterable[AnyRecord], *, record_id: str = "", subject: str = "", slot: str = "") -> list[AnyRecord]:
    """The records that took each other's place, before and after one record, or in one slot of a subject; oldest first.

    Args:
        records: of one namespace, whether current or not.
        record_id: of one of them; or a subject and slot instead.
    """
    known = {record.id: record for record in records if not isinstance(record, StateEntry | Proposal)}
    near: dict[str, set[str]] = {name: set() for name in known}
    for record in known.values():
        if record.superseded_by in known:
            near[record.id].add(record.superseded_by)
            near[record.superseded_by].add(record.id)
    if record_id:
        waiting = [record_id] if record_id in known else []
    else:
        waiting = [name for name, record in known.items() if _is_in(record, subject, slot)]
    found = set(waiting)
    while waiting:
        more = near[waiting.pop()] - found
        found |= more
        waiting += sorted(more)
    return sorted((known[name] for name in found), key=lambda record: (record.recorded_at, record.id))


def _is_in(record: AnyRecord, subject: str, slot: str) -> bool:
    return isinstance(record, Insight) and (record.subject, record.slot) == (subject, slot)
