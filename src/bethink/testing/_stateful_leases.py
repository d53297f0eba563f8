"""`LeaseRules`: the part of `StoreMachine` in which two holders take turns.

Times of the machine are minutes, and a lease lasts for a few of them, so that some have ended whenever something is asked.
"""

from __future__ import annotations

from datetime import timedelta
from typing import Any

from hypothesis import strategies as st
from hypothesis.stateful import rule

from bethink.storage.base import Acquire, Lease, Purpose, Release, Store
from bethink.testing._stateful import MachineBase, namespaces, thread_ids
from bethink.values import Namespace

__all__ = ["LeaseRules"]


class LeaseRules(MachineBase):
    """Leases taken, renewed, given back, overtaken; and appends under one."""

    def __init__(self) -> None:
        super().__init__()
        self.leases: list[Lease] = []

    @rule(
        namespace=namespaces,
        thread_id=thread_ids,
        holder=st.sampled_from(("h1", "h2")),
        minutes=st.integers(1, 20),
        purpose=st.sampled_from(("turn", "turn", "reflection")),
    )
    def acquire(self, namespace: Namespace, thread_id: str, holder: str, minutes: int, purpose: Purpose) -> None:
        """Every step is a minute, so some leases end by themselves."""
        self.acquire_lease(namespace, thread_id, holder, minutes, purpose=purpose)

    @rule(data=st.data(), minutes=st.integers(1, 20))
    def renew(self, data: st.DataObject, minutes: int) -> None:
        lease = self.draw_lease(data)
        if lease is not None:
            named = {"token": lease.token, "purpose": lease.purpose}
            self.acquire_lease(lease.namespace, lease.thread_id, lease.holder, minutes, **named)

    def acquire_lease(self, namespace: Namespace, thread_id: str, holder: str, minutes: int, **options: Any) -> None:
        at = self.now()
        until = at + timedelta(minutes=minutes)
        request = Acquire(namespace=namespace, thread_id=thread_id, holder=holder, at=at, until=until, **options)

        def acquire(store: Store) -> Lease:
            lease = store.acquire(request)
            self.leases = [*self.leases[-5:], lease]
            return lease

        self.both(acquire)

    @rule(data=st.data())
    def release(self, data: st.DataObject) -> None:
        lease = self.draw_lease(data)
        if lease is not None:
            self.both(lambda store: store.release(Release(lease)))

    @rule(data=st.data(), elsewhere=st.integers(0, 9))
    def append_with_lease(self, data: st.DataObject, elsewhere: int) -> None:
        lease = self.draw_lease(data)
        if lease is not None:
            thread_id = "t3" if elsewhere == 0 else lease.thread_id
            self.append(lease.namespace, thread_id, self.message("user", "rain"), lease=lease)

    def draw_lease(self, data: st.DataObject) -> Lease | None:
        """One of the last, current or not."""
        return data.draw(st.sampled_from(self.leases)) if self.leases else None
