"""What was: records as they were before each of their changes, and a search as it would have been.

A row says how a record is; a `Version` how it was until something happened to it. So what the system knew at a time is the row
with its later versions taken back, the newest first (`storage.known.as_known`), whatever has been cited, closed, restated or
made current again since. What was forgotten has neither row nor versions: it stays forgotten, also as of a time before.
"""

from __future__ import annotations

from datetime import datetime
from typing import Any, Literal

import msgspec

from bethink.records import AnyRecord
from bethink.values import Namespace

__all__ = ["Change", "ForgottenCount", "Past", "Restore", "StoredVersion", "Version", "restored", "version_of"]

_NEVER_VERSIONED = frozenset({"id", "text", "sources", "lines"})


class Version(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """What a record was until one change of it.

    Attributes:
        until: system time of the change. Each counts from its own time on, also where a clock was set back in between.
        before: the fields that the change altered, as they were, as JSON. Never text or sources.
        gained: `(thread_id, message_id)` of what the change added to its sources.
        change: the id of the `Change` it was part of; "" for none.
    """

    until: datetime
    before: dict[str, Any] = msgspec.field(default_factory=dict)
    gained: tuple[tuple[str, str], ...] = ()
    change: str = ""


class StoredVersion(msgspec.Struct, frozen=True):
    """A version with whose it is."""

    namespace: Namespace
    record_id: str
    version: Version


class Change(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """What was stored together, by one drawing of insights, one end of a thread, one review, or one undoing.

    Attributes:
        id: UUIDv7. The requests of one `end()` share it.
        at: system time.
        thread_id: whose messages it came from; "" for none.
        added: ids of the records that were new; the store fills it in.
        undoes: the id of the change that this one took back.
    """

    id: str
    at: datetime
    what: Literal["drawn", "ended", "reviewed", "undone"]
    thread_id: str = ""
    added: tuple[str, ...] = ()
    undoes: str = ""


class Restore(msgspec.Struct, frozen=True, kw_only=True):
    """Put a record back to what it was: whether it is closed, and how; without some of its sources.

    Attributes:
        without: `(thread_id, message_id)` of messages that are no sources of it any more, unless none would be left.
    """

    record_id: str
    retired_at: datetime | None = None
    superseded_by: str | None = None
    reason: str = ""
    valid_to: datetime | None = None
    without: tuple[tuple[str, str], ...] = ()


class ForgottenCount(msgspec.Struct, frozen=True):
    """How much one forget took from a namespace: numbers alone, so that what is gone can be counted and not named."""

    at: datetime
    messages: int
    records: int


class Past(msgspec.Struct, frozen=True, kw_only=True):
    """A search among what there was at a time. Of records, whoever asks says which there were: see `storage.known`.

    Attributes:
        at: messages stored by then are all that there are, neighbours among them; None for all that are there now.
        known: the records that there were, found or not: with those messages they are what is counted. Without `at`, all count
            that are there now.
        found: the records that may be found, whatever they are by now: `current` is passed over.
    """

    at: datetime | None = None
    known: tuple[tuple[Namespace, str], ...] = ()
    found: tuple[tuple[Namespace, str], ...] = ()


def version_of(before: AnyRecord, after: AnyRecord, *, until: datetime, change: str = "") -> Version:
    """What is to be kept of a record when it changes."""
    altered = {
        name: msgspec.to_builtins(was)
        for name in before.__struct_fields__
        if name not in _NEVER_VERSIONED and (was := getattr(before, name)) != getattr(after, name)
    }
    known = {(source.thread_id, source.message_id) for source in before.sources}
    places = [(source.thread_id, source.message_id) for source in after.sources]
    gained = tuple([place for place in places if place not in known])
    return Version(until=until, before=altered, gained=gained, change=change)


def restored(record: AnyRecord, to: Restore) -> AnyRecord:
    """The record as `Restore` has it."""
    gone = set(to.without)
    left = tuple([source for source in record.sources if (source.thread_id, source.message_id) not in gone])
    return msgspec.structs.replace(
        record,
        retired_at=to.retired_at,
        superseded_by=to.superseded_by,
        reason=to.reason,
        valid_to=to.valid_to,
        sources=left or record.sources,
    )
