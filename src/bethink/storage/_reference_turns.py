"""Turns of a `ReferenceStore`: a thread's leases, one of each purpose."""

from __future__ import annotations

import msgspec

from bethink.storage._reference_state import State, Thread
from bethink.storage.base import Acquire, Lease, Purpose
from bethink.storage.leases import given_back, granted

__all__ = ["acquire", "release"]

replace = msgspec.structs.replace


def acquire(state: State, request: Acquire) -> Lease:
    thread = state.thread(request.namespace, request.thread_id)
    lease = granted(_last_lease(thread, request.purpose), request)
    state.put_thread(_leased(thread, lease))
    return lease


def _last_lease(thread: Thread, purpose: Purpose) -> Lease | None:
    return thread.lease if purpose == "turn" else thread.reflecting


def _leased(thread: Thread, lease: Lease) -> Thread:
    return replace(thread, lease=lease) if lease.purpose == "turn" else replace(thread, reflecting=lease)


def release(state: State, lease: Lease) -> None:
    row = state.threads.get((lease.namespace, lease.thread_id))
    left = None if row is None else given_back(_last_lease(row.value, lease.purpose), lease)
    if row is not None and left is not None:
        state.put_thread(_leased(row.value, left))
