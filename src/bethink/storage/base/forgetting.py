"""What is removed with what, and the proof that it is gone."""

from __future__ import annotations

from datetime import datetime

import msgspec

from bethink.storage.base.scope import Scope

__all__ = ["Forget", "ForgetReceipt", "Verification"]


class Forget(msgspec.Struct, frozen=True, kw_only=True):
    """Remove something and everything that rests on it. Name exactly one of message, record, thread; or none, for the scope, or
    with `expired` for what has expired in it.

    Contract:
        - a message goes from every thread of the scope that holds it (forks), with the other members of its group: half a
          tool call is no use to anybody.
        - with a message go: its units (full text, vector), the summary lines that cite it (a node or summary left without
          lines goes if nothing it covers is left), itself as a source of records, and every receipt that shows it or anything
          removed or changed with it.
        - with a message go the nodes that a model has written over it, whole; what they had replaced stands again (see
          `Refine`). With a node go the attempts at its summary.
        - a record left without a source goes too; one that keeps a source takes that source's wording. What a removed
          record had superseded becomes current again, unless another record of the same subject and slot is.
        - an episode goes with the first of its sources, and with the first of the entries of its thread's state that it was
          made of (`Episode.entries`).
        - an entry of a state goes with the first of its sources; and with it every receipt that shows it, also in the
          namespaces of `(*namespace, "handoff")` and below: specialists are shown the state of who handed them their work.
        - a record: it, its unit, and receipts that show it. The messages it came from stay. With a version of an item go all
          versions of its key.
        - `expired`: the items of the scope that have expired by `at`, with their history, and former versions that have.
          Nothing else of the scope goes, and none of it is no error.
        - with a receipt goes what is kept beside it of its usage, with a thread the model calls made for it.
        - a thread: itself, its nodes, its receipts, its session summaries, its episodes, its state, and its messages. A message
          that another thread of the namespace holds too (a fork, or the thread it was forked from; the same id, and the same in
          all but its place) stays there, and so does what rests on it: a record's source that named the forgotten thread then
          names the thread that still holds the message, of several the one created first.
        - with a message go the checkpoints of its threads that are at or after its seq: what an agent knew by then may hold its
          words. Those that stay are linked as after `Prune`. With a thread go its checkpoints; forks keep their copies. With a
          record go none.
        - the scope: everything in it, and the namespaces themselves.
        - afterwards the deleted bytes are in no page of the files (free pages and write-ahead log included); only then does
          the call return.
        - NotFound if what is named is not there; forgetting a scope that holds nothing returns a receipt of zeros.
    """

    scope: Scope
    at: datetime
    message_id: str | None = None
    record_id: str | None = None
    thread_id: str | None = None
    expired: bool = False


class ForgetReceipt(msgspec.Struct, frozen=True, kw_only=True):
    """What a forget removed. It holds counts and hashes, never the words.

    Attributes:
        message_ids, record_ids, thread_ids: what went (the ids are not secret and help an audit); of a forgotten thread's
            messages those that no other thread holds.
        lines, units, receipts, checkpoints: how many summary lines, search units, context receipts, and checkpoints went.
        changed: records that stay, with other wording or fewer sources.
        revived: records that became current again.
        erased: whether free pages and log have been cleaned of the bytes (False only if a reader held the log open for
            longer than the timeout; `check` reports it, and the next forget, open or close finishes it).
    """

    id: str
    at: datetime
    scope: Scope
    message_ids: tuple[str, ...] = ()
    record_ids: tuple[str, ...] = ()
    thread_ids: tuple[str, ...] = ()
    changed: tuple[str, ...] = ()
    revived: tuple[str, ...] = ()
    lines: int = 0
    units: int = 0
    receipts: int = 0
    checkpoints: int = 0
    erased: bool = True


class Verification(msgspec.Struct, frozen=True, kw_only=True):
    """Result of looking for a text in the raw bytes of the database.

    Attributes:
        needles: how many byte strings were looked for (pieces of the text in every encoding it may be stored in).
        files: the files read, each with its size.
        hits: where a piece was found, `(file, offset, piece)`; empty if it is nowhere.
    """

    needles: int
    files: tuple[tuple[str, int], ...]
    hits: tuple[tuple[str, int, str], ...]

    @property
    def clean(self) -> bool:
        return not self.hits
