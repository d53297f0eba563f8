"""Appends of many tasks that share their waits for the disk, and their hops to a worker thread.

    append ─▶ queue ─▶ the first to come leads: one hop with all that is queued (`Store.append_each`) ─▶ all go on

Whoever finds nobody leading leads; those who come meanwhile queue up and go together next. There is no task of its own, so
nothing outlives the callers. A leader that is cancelled on its hop leaves the rest to the worker thread, which goes on: those
who were taken along are none the worse for it.
"""

from __future__ import annotations

import threading
from collections import deque
from collections.abc import Sequence
from contextlib import suppress
from typing import Literal
from weakref import WeakKeyDictionary

import anyio
import anyio.from_thread
import anyio.lowlevel
import anyio.to_thread

from bethink.storage.base import Append, Appended, Store

__all__ = ["Appends", "appends_to"]

_MOST = 128


class _Waiting:
    """An append that waits until it is done, or until it is its task's turn to lead."""

    __slots__ = ("outcome", "request", "to_lead")

    def __init__(self, request: Append) -> None:
        self.request = request
        self.outcome: Appended | Exception | None = None
        self.to_lead = False


class _Hop:
    """A call of `append_each` on a worker thread, which may lose the task that waits for it."""

    def __init__(self, store: Store, taken: Sequence[_Waiting]) -> None:
        self.taken = taken
        self._store = store
        self._lock = threading.Lock()
        self._state: Literal["not started", "running", "done"] = "not started"
        self._abandoned = False

    def run(self) -> bool:
        """On the worker thread. Returns whether somebody has to be told, since nobody waits any more."""
        with self._lock:
            if self._abandoned:
                return False
            self._state = "running"
        outcomes: Sequence[Appended | Exception]
        try:
            outcomes = self._store.append_each([waiting.request for waiting in self.taken])
        except Exception as error:
            outcomes = [error] * len(self.taken)
        for waiting, outcome in zip(self.taken, outcomes, strict=True):
            waiting.outcome = outcome
        with self._lock:
            self._state = "done"
            return self._abandoned

    def abandon(self) -> Literal["not started", "running", "done"]:
        """On the event loop. Returns how far it is; one that has not started never will."""
        with self._lock:
            self._abandoned = True
            return self._state


class Appends:
    """The appends of one event loop to one store."""

    def __init__(self, store: Store) -> None:
        self._store = store
        self._queue: deque[_Waiting] = deque()
        self._leading = False
        self._crowd = 1
        """How many went on the last hop, and waited for it."""
        # One event for all: making one for each would cost as much as the wait itself.
        self._news = anyio.Event()

    async def append(self, request: Append) -> Appended:
        """As `Store.append`. A task that is cancelled leaves all of it or none."""
        own = _Waiting(request)
        self._queue.append(own)
        try:
            if not self._leading:
                self._leading = own.to_lead = True
            while own.outcome is None and not own.to_lead:
                await self._news.wait()
            if own.to_lead and self._crowd > 1:
                # Those whom the last leader served may have their next append to bring: they come before us in the loop.
                await anyio.lowlevel.checkpoint()
        except BaseException:
            # Cancelled. What a leader took is done without us; what is still queued is not.
            if own in self._queue:
                self._queue.remove(own)
                if own.to_lead:
                    self._pass_on()
            raise
        if own.to_lead:
            await self._lead()
        assert own.outcome is not None, "who leads is the first in the queue"
        if isinstance(own.outcome, Exception):
            raise own.outcome
        return own.outcome

    async def _lead(self) -> None:
        hop = _Hop(self._store, [self._queue.popleft() for _ in range(min(len(self._queue), _MOST))])
        self._crowd = len(hop.taken)
        try:
            await anyio.to_thread.run_sync(self._run, hop)
        except BaseException:
            state = hop.abandon()
            if state == "not started":
                self._queue.extendleft(reversed(hop.taken[1:]))
                self._pass_on()
            elif state == "done":
                self._pass_on()
            raise
        self._pass_on()

    def _run(self, hop: _Hop) -> None:
        if hop.run():
            # The loop may have ended meanwhile, and everybody with it.
            with suppress(RuntimeError):
                anyio.from_thread.run_sync(self._pass_on)

    def _pass_on(self) -> None:
        """Let the first in the queue lead, or whoever comes next; everybody looks what is new."""
        self._leading = bool(self._queue)
        if self._queue:
            self._crowd += 1
            self._queue[0].to_lead = True
        news, self._news = self._news, anyio.Event()
        news.set()


_of_this_loop: anyio.lowlevel.RunVar[WeakKeyDictionary[Store, Appends]] = anyio.lowlevel.RunVar("bethink_appends")


def appends_to(store: Store) -> Appends:
    """The appends of the running event loop to a store."""
    known = _of_this_loop.get(None)
    if known is None:
        known = WeakKeyDictionary()
        _of_this_loop.set(known)
    found = known.get(store)
    if found is None:
        found = known[store] = Appends(store)
    return found
