"""Who may write to a thread or reflect on it, and until when."""

from __future__ import annotations

from datetime import datetime
from typing import Literal, TypeAlias

import msgspec

from bethink.values import Namespace

__all__ = ["Acquire", "Lease", "Purpose", "Release"]

Purpose: TypeAlias = Literal["turn", "reflection"]
"""What a lease is for: to write to the thread, or to end its session. The two know nothing of each other."""


class Lease(msgspec.Struct, frozen=True, kw_only=True):
    """The turn of one holder to write to a thread, or to reflect on it, until it ends or is given back.

    Attributes:
        token: the fencing number. It grows with each lease of the thread for its purpose and never comes back while the thread
            is there, also not after a crash: whoever meets a greater one has been overtaken.
        holder: the id of who has it, of the caller's making; a fresh one for each turn, so that nobody takes another's for his.
        expires_at: when it ends by itself.
    """

    namespace: Namespace
    thread_id: str
    token: int
    holder: str
    expires_at: datetime
    purpose: Purpose = "turn"


class Acquire(msgspec.Struct, frozen=True, kw_only=True):
    """A lease of a thread, or more time for one.

    Contract:
        - NotFound if there is no such thread.
        - nobody has it, or it has ended (`expires_at` is `at` or earlier): granted, with the next token; the first is 1.
        - the same holder has it: renewed until `until`, which may be earlier or later than before; the token stays.
        - another holder has it: raises ThreadBusy, which says until when.
        - with `token`, it is a renewal and nothing else: Conflict unless the current lease has this token and holder. It may
          have run out, if nobody has taken the next.
        - leases of one `purpose` bind none of another; an append takes those of turns alone.
        - nothing of the thread changes. Time is what `at` says; the store has no clock. Holders on several machines need clocks
          that agree to well within a lease.
        - a new token has been committed as durably as a message before the call returns; a renewal need not wait for the disk
          (see `Put.relaxed`): a machine that loses it has lost its holder too.

    A fork starts without a lease; with a forgotten thread its lease goes, and with that the turn of whoever had it.
    """

    namespace: Namespace
    thread_id: str
    holder: str
    at: datetime
    until: datetime
    token: int | None = None
    purpose: Purpose = "turn"


class Release(msgspec.Struct, frozen=True):
    """Give a lease back.

    Contract:
        - if it is the thread's current one, nobody has it from now on, and an append with it is refused; else nothing changes.
        - it need not wait for the disk: one that is lost ends by itself.
    """

    lease: Lease
