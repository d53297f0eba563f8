"""Who may have the turn of a thread: the rules of `storage.base.Acquire` and `Release` as pure functions.

    acquire ─▶ granted      the lease that is the thread's from now on, or ThreadBusy, or Conflict
    append  ─▶ require      Conflict unless a lease is the thread's
    release ─▶ given_back   what stays of it

A store keeps the last lease of each thread and purpose. When it is given back it stays with its token and without a holder
(""), so that the next is numbered on.
"""

from __future__ import annotations

import msgspec

from bethink.errors import Conflict, ThreadBusy
from bethink.storage.base import Acquire, Lease

__all__ = ["NOBODY", "given_back", "granted", "require"]

NOBODY = ""
"""The holder of a lease that was given back."""


def granted(last: Lease | None, request: Acquire) -> Lease:
    """The lease that the request gets, if `last` is the thread's last one.

    Raises:
        ThreadBusy: another holder has it.
        Conflict: it was to be renewed, and is not the current one any more.
    """
    token, holder = (0, NOBODY) if last is None else (last.token, last.holder)
    if request.token is not None:
        if (token, holder) != (request.token, request.holder):
            raise _overtaken(request.thread_id)
    elif last is None or holder == NOBODY or last.expires_at <= request.at:
        token += 1
    elif holder != request.holder:
        raise ThreadBusy(request.thread_id, last.expires_at, holder)
    return Lease(
        namespace=request.namespace,
        thread_id=request.thread_id,
        token=token,
        holder=request.holder,
        expires_at=request.until,
        purpose=request.purpose,
    )


def given_back(last: Lease | None, lease: Lease) -> Lease | None:
    """What stays of the thread's last lease when `lease` is given back; None where that changes nothing."""
    if last is None or not _same(last, lease):
        return None
    return msgspec.structs.replace(last, holder=NOBODY)


def require(last: Lease | None, lease: Lease, thread_id: str) -> None:
    """Raise Conflict unless `lease` is the thread's last one and has not been given back."""
    if last is None or not _same(last, lease):
        raise _overtaken(thread_id)


def _same(last: Lease, lease: Lease) -> bool:
    """Whether they are one. The time does not count: a renewal moves it."""
    there = (last.namespace, last.thread_id, last.token, last.holder, last.purpose)
    return there == (lease.namespace, lease.thread_id, lease.token, lease.holder, lease.purpose)


def _overtaken(thread_id: str) -> Conflict:
    return Conflict(
        f"this turn of thread {thread_id!r} is over: it was given back, or it ran out and somebody else has had one since, "
        "or the thread was forgotten — read the thread and begin a new turn"
    )
