"""Long-term records with all that is written beside them, and things by id."""

from __future__ import annotations

from datetime import datetime
from typing import Literal

import msgspec

from bethink.checkpoints import Checkpoint
from bethink.messages import Message
from bethink.models import Fingerprint
from bethink.records import AnyRecord, Importance, Node, Receipt
from bethink.storage.base.asking import Ask
from bethink.storage.base.past import Change, Restore
from bethink.storage.base.scope import Scope
from bethink.usage import ModelCall, TurnUsage
from bethink.values import Namespace

__all__ = [
    "Cite",
    "Cursor",
    "Fetched",
    "Get",
    "Pin",
    "Put",
    "Retire",
    "StoredMessage",
    "StoredRecord",
    "TokenVectors",
    "Weigh",
]


class Retire(msgspec.Struct, frozen=True):
    """Close a record: it stops being current and stays in history. Retiring a retired one changes nothing."""

    record_id: str
    at: datetime
    reason: str
    superseded_by: str | None = None
    valid_to: datetime | None = None


class Cite(msgspec.Struct, frozen=True):
    """A use of a record: access_count + 1 and last_accessed = max(last_accessed, at), atomically under concurrency."""

    record_id: str
    at: datetime


class Weigh(msgspec.Struct, frozen=True):
    """How much a record matters, in the place of how much it did. Nothing where it is the same."""

    record_id: str
    importance: Importance


class Pin(msgspec.Struct, frozen=True):
    """Pin a record, or let it go. One that is so already stays as it is."""

    record_id: str
    pinned: bool = True


class Cursor(msgspec.Struct, frozen=True):
    """Move a thread's cursor from what it was; Conflict, and nothing of the request, if it is elsewhere by now.

    That is what makes derivation exactly-once: the result of reading messages up to `through` is stored with the move.
    """

    thread_id: str
    which: Literal["extracted", "reflected"]
    expected: int
    through: int


class TokenVectors(msgspec.Struct, frozen=True):
    """Vectors of the tokens of some units.

    Attributes:
        space: what made them; its dimension is that of one token's vector, and even.
        of: unit numbers, each with its tokens' vectors one after the other, a byte for two components (see `maxsim.packed`). Of
            a text that has no token worth one, b"".
    """

    space: Fingerprint
    of: tuple[tuple[int, bytes], ...]


class Put(msgspec.Struct, frozen=True, kw_only=True):
    """Long-term records and what goes with them, in one transaction.

    Contract, in the order in which it is applied:
        - `cursor` first: a Conflict leaves everything untouched; likewise `at_revision`, if the namespace's revision is
          another by now.
        - `asked`: each is kept in the place of what it expects, else Conflict (see `Ask`). They live and die with their
          thread; a fork takes those that succeeded and begin at or below its seq, which they are cut to.
        - `records`: a new id is inserted; a known id gains the sources it lacks (same message and thread: once) and, if it
          was retired, becomes current again (retired_at, superseded_by, reason and valid_to are cleared); its text,
          trust and counters stay. A source names a message that must be there, else NotFound; an entry of a state names a
          thread that must be, and so does an episode that names one; the
          entries that it was made of must be there too.
        - `restore`, `retire`, `weigh`, `cite`, `pin`: an unknown id raises NotFound.
        - only notes, insights and episodes can be pinned (InvalidInput), and only while they are current (Conflict); they
          may be let go at any time.
        - each of these changes of a known record leaves a `Version` of it, until `at` (the latest time that the request names,
          if that is None); one that changes nothing leaves none.
        - `change`: kept, with the ids of the records that were new, and each version names it. A record that is forgotten
          takes its versions along.
        - none of these takes a version of an item (InvalidInput): see `KeepItems`.
        - `receipt`: stored; a known id raises Conflict.
        - `vectors`: unit numbers from a `Pending` page, each with its float32 vector of the dimension of its space, finite
          and of length 1 (InvalidInput otherwise); a unit forgotten meanwhile is passed over. All are of `space`, which is the
          current one or the one being filled (EmbedderMismatch otherwise); None stands for the current one.
        - `tokens`: kept beside the unit's vector, until the unit goes; of one unit those that came last, whatever their space.
          Each has the size of whole vectors (InvalidInput otherwise); a unit forgotten meanwhile is passed over.
        - `usage`: kept beside the receipt it names, until that goes. Passed over if that receipt is not there (forgotten
          meanwhile), or has one already.
        - `calls`: kept with their thread, until that goes; passed over if it is not there.
        - `relaxed`: the call need not wait for the disk. Should the machine fail, the whole of it may be gone, until something
          that is not relaxed has been committed after it; the process may fail at any time.
    """

    namespace: Namespace
    records: tuple[AnyRecord, ...] = ()
    retire: tuple[Retire, ...] = ()
    cite: tuple[Cite, ...] = ()
    cursor: Cursor | None = None
    receipt: Receipt | None = None
    vectors: tuple[tuple[int, bytes], ...] = ()
    space: Fingerprint | None = None
    tokens: TokenVectors | None = None
    usage: TurnUsage | None = None
    calls: tuple[ModelCall, ...] = ()
    relaxed: bool = False
    at: datetime | None = None
    restore: tuple[Restore, ...] = ()
    change: Change | None = None
    at_revision: int | None = None
    asked: tuple[Ask, ...] = ()
    weigh: tuple[Weigh, ...] = ()
    pin: tuple[Pin, ...] = ()

    @property
    def system_time(self) -> datetime | None:
        """When it is done; None for a request that names no time."""
        if self.at is not None:
            return self.at
        times = [record.recorded_at for record in self.records]
        times += [retire.at for retire in self.retire] + [cite.at for cite in self.cite]
        return max(times, default=None)


class Get(msgspec.Struct, frozen=True, kw_only=True):
    """Things by id within a scope. Unknown ids are simply absent from the answer.

    Attributes:
        thread_id: of nodes and checkpoints: only this thread's.
        endings: of record ids, as contexts show them. Every record whose id ends in one is there, after those asked for by
            `records`, oldest first and each once; an empty one names nothing. Cost: of 8 characters or more, what it finds; a
            shorter one goes through the ids of the scope.
    """

    scope: Scope
    messages: tuple[str, ...] = ()
    records: tuple[str, ...] = ()
    nodes: tuple[str, ...] = ()
    receipts: tuple[str, ...] = ()
    checkpoints: tuple[str, ...] = ()
    thread_id: str | None = None
    endings: tuple[str, ...] = ()


class StoredMessage(msgspec.Struct, frozen=True):
    """A message with where it is."""

    namespace: Namespace
    thread_id: str
    message: Message


class StoredRecord(msgspec.Struct, frozen=True):
    """A record with where it is."""

    namespace: Namespace
    record: AnyRecord


class Fetched(msgspec.Struct, frozen=True):
    """Answer of `get`. A message or checkpoint id that several threads hold (forks) is there once for each; a node's once,
    since its lines are the same in all (which nodes are below it need not be)."""

    messages: tuple[StoredMessage, ...] = ()
    records: tuple[StoredRecord, ...] = ()
    nodes: tuple[Node, ...] = ()
    receipts: tuple[Receipt, ...] = ()
    checkpoints: tuple[Checkpoint, ...] = ()
