"""Leases in SQLite: one row for each thread and purpose that has ever had one. The rules are in `storage.leases`.

Why a new token waits for the disk: were its commit lost with the machine, the next holder would get the same number. Our own
holders would not mind, since all of them are processes of that machine and died with it; but a token may have been shown to
something elsewhere that refuses lesser ones. (With `durability="normal"` nothing waits, and that may happen.) A renewal and a
release move no token. When they are lost, the lease ends a little earlier or later than it was to, and has lost its holder.
"""

from __future__ import annotations

from bethink.errors import NotFound
from bethink.storage.base import Acquire, Append, Lease
from bethink.storage.leases import given_back, granted, require
from bethink.storage.sqlite.driver import Database, Row
from bethink.storage.sqlite.queries import q
from bethink.storage.sqlite.values import micros, moment, path_of

__all__ = ["acquire", "release", "require_lease"]


def acquire(database: Database, request: Acquire) -> Lease:
    """See `storage.base.Acquire`."""
    rows = database.execute(q.thread_with_lease, (request.purpose, path_of(request.namespace), request.thread_id))
    if not rows:
        raise NotFound(f"thread {request.thread_id!r} is not in this namespace")
    lease = granted(_last(rows[0], request), request)
    _write(database, rows[0][0], lease)
    return lease


def release(database: Database, lease: Lease) -> None:
    """See `storage.base.Release`."""
    for row in database.execute(q.thread_with_lease, (lease.purpose, path_of(lease.namespace), lease.thread_id)):
        left = given_back(_last(row, lease), lease)
        if left is not None:
            _write(database, row[0], left)


def require_lease(database: Database, request: Append, lease: Lease) -> None:
    """Raise Conflict unless the lease is the current one of the request's thread, which may be gone."""
    rows = database.execute(q.thread_with_lease, ("turn", path_of(request.namespace), request.thread_id))
    require(_last(rows[0], request) if rows else None, lease, request.thread_id)


def _last(row: Row, of: Acquire | Lease | Append) -> Lease | None:
    _, token, holder, expires_at = row
    if token is None:
        return None
    return Lease(
        namespace=of.namespace,
        thread_id=of.thread_id,
        token=token,
        holder=holder,
        expires_at=moment(expires_at),
        purpose="turn" if isinstance(of, Append) else of.purpose,
    )


def _write(database: Database, thread: int, lease: Lease) -> None:
    database.execute(q.set_lease, (thread, lease.token, lease.holder, micros(lease.expires_at), lease.purpose))
