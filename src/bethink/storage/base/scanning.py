"""Everything, page by page; what is inconsistent; how much there is."""

from __future__ import annotations

from datetime import datetime
from typing import Literal, TypeAlias

import msgspec

from bethink.checkpoints import CheckpointInfo
from bethink.models import Fingerprint
from bethink.records import Receipt, RecordKind
from bethink.storage.base.asking import Asked
from bethink.storage.base.past import Change, ForgottenCount, StoredVersion
from bethink.storage.base.records import StoredMessage, StoredRecord
from bethink.storage.base.scope import Scope
from bethink.threads import ThreadInfo
from bethink.usage import ModelCall, TurnUsage

__all__ = ["Due", "Page", "Pending", "Problem", "Scan", "Scanned", "Stats", "What"]


What: TypeAlias = Literal[
    "threads",
    "messages",
    "records",
    "receipts",
    "pending",
    "checkpoints",
    "usage",
    "model calls",
    "asked",
    "versions",
    "changes",
    "forgotten",
]


class Due(msgspec.Struct, frozen=True, kw_only=True):
    """Which threads a session of is to be ended: those with messages past their "reflected" cursor that ...

    Attributes:
        idle_since: have got none after this moment (the system's time, not that which messages carry).
        messages: or reach so many seqs past it.
    """

    idle_since: datetime | None = None
    messages: int | None = None


class Scan(msgspec.Struct, frozen=True, kw_only=True):
    """A page of everything of one sort in a scope.

    Contract: pass `Page.next` as `after` until it is None; each item that is there throughout comes exactly once, whatever is
    written meanwhile. Order: threads by creation, messages by thread and seq, records, receipts, checkpoints, model calls
    and what was asked (by its first attempt) by insertion, usage as its receipts, pending units by number, versions, changes
    and what was forgotten as they came; `newest` reverses it. Checkpoints come without their states.

    Attributes:
        thread_id: only of this thread (messages, receipts, summaries, episodes, entries of its state, checkpoints, usage,
            model calls, what was asked).
        kinds: for records: only these. None is every kind but "item": versions of items may have expired and are read by their
            keys (`ListItems`), so they come only when they are named (`records.EVERY_KIND`).
        current: for records: without the retired.
        pinned: for records: only pinned ones.
        record_id: for versions: only of this record.
        since: for versions, changes and what was forgotten: only later than this.
        stored_by: for messages: only those that were stored by then, in a thread that there was then.
        behind: for threads: only those with messages past their "extracted" cursor.
        due: for threads: only those whose session is to be ended. Reads the rows of threads that are not ended, and no others.
        by_id: for records: in the order of their ids, which for ids of our own making is that of the times they are of. Of one
            namespace, one kind, and current ones (InvalidInput otherwise).
        space: for pending units: those that wait in this space, which is the current one or the one being filled
            (EmbedderMismatch otherwise); None stands for the current one.
        tokens: for pending units: those that wait for token vectors of this space, instead of those that wait for a vector.
            Looks at every unit of the scope.
    """

    what: What
    scope: Scope
    after: str | None = None
    limit: int = 500
    newest: bool = False
    thread_id: str | None = None
    kinds: tuple[RecordKind, ...] | None = None
    current: bool = False
    pinned: bool = False
    behind: bool = False
    due: Due | None = None
    by_id: bool = False
    space: Fingerprint | None = None
    tokens: Fingerprint | None = None
    record_id: str | None = None
    since: datetime | None = None
    stored_by: datetime | None = None


class Pending(msgspec.Struct, frozen=True):
    """A unit that waits for its vector, or for those of its tokens: its number and the text to embed."""

    unit: int
    text: str


Scanned: TypeAlias = (
    ThreadInfo
    | StoredMessage
    | StoredRecord
    | Receipt
    | Pending
    | CheckpointInfo
    | TurnUsage
    | ModelCall
    | Asked
    | StoredVersion
    | Change
    | ForgottenCount
)
"""What a scan finds, by `What`."""


class Page(msgspec.Struct, frozen=True):
    """Items of the sort asked for, and where to go on; `next` is None at the end."""

    items: tuple[Scanned, ...]
    next: str | None = None


class Problem(msgspec.Struct, frozen=True):
    """An inconsistency that `check` found: what it is, where, and how to mend it."""

    what: str
    where: str
    fix: str = ""


class Stats(msgspec.Struct, frozen=True, kw_only=True):
    """Counts of a scope, and facts of the whole database. `nodes` are those that have not been replaced, `attempts` those that
    are kept, `pending` those that wait in the current space."""

    namespaces: int
    threads: int
    messages: int
    nodes: int
    records: dict[str, int]
    retired: int
    receipts: int
    checkpoints: int
    units: int
    pending: int
    schema_version: int
    embedder: Fingerprint | None
    size_bytes: int
    engine: str
    attempts: int = 0
