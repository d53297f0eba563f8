"""Summaries refined by themselves: after a fold, beside the conversation, never in its way.

    context() ─▶ notice ─▶ line of threads ─▶ a worker: refine each ─▶ nothing left: the worker ends
                              ▲                     │ failed: its time to come
                              └─── a later notice ──┘

Nothing is kept here that matters: what is due is read from the database. So a worker that dies, or a process that ends, loses
nothing; a thread is looked at again when this process, or the next, first makes a context of it, when it folds, when something
was forgotten, and when the wait after a failure is over. There are no timers: a wait ends with the first context after it.
"""

from __future__ import annotations

import os
import threading
from collections import OrderedDict
from contextlib import closing
from datetime import datetime, timezone
from typing import TYPE_CHECKING, TypeAlias

from bethink.engine import Engine
from bethink.errors import BethinkError
from bethink.models.given import is_async_model
from bethink.steps.refine import RefineReport, advance, asked, refine_async, refining
from bethink.values import Namespace

if TYPE_CHECKING:
    import asyncio

__all__ = ["LoopWorker", "ThreadWorker", "worker_for"]

_Key: TypeAlias = tuple[Namespace, str]

_IN_HAND = datetime.max.replace(tzinfo=timezone.utc)
"""When there is something to do again for a thread that is in line or being refined: what comes of that is not known yet."""
_KNOWN = 10_000
"""Threads of which is known that there is nothing to do for now. One that is not among them is looked at once too often."""


def worker_for(engine: Engine) -> ThreadWorker | LoopWorker:
    """A worker that asks the engine's model where that can be asked."""
    return LoopWorker(engine) if is_async_model(engine.language_model) else ThreadWorker(engine)


class _Line:
    """Threads that are to be refined, each once, in the order in which they were noticed. Used under its worker's lock."""

    def __init__(self, engine: Engine) -> None:
        self._engine = engine
        self._waiting: OrderedDict[_Key, None] = OrderedDict()
        self._known: OrderedDict[_Key, datetime | None] = OrderedDict()
        """When there is something to do again; None for "when it folds", or has messages to be scored."""
        self._forgets = 0
        self._forgets_before = 0

    def join(self, key: _Key, *, folded: bool, unscored: bool) -> None:
        again = self._known.get(key)
        # What was scored in vain waits as everything else does; a summary that is new has not failed yet.
        due = unscored if again is None else again <= self._engine.clock.now()
        if folded or due or key not in self._known:
            self._waiting[key] = None
            self._know(key, _IN_HAND)

    def take(self) -> _Key | None:
        self._forgets_before = self._forgets
        return self._waiting.popitem(last=False)[0] if self._waiting else None

    def done(self, key: _Key, report: RefineReport | None) -> None:
        """Remember when to look again: at the next notice, if it could not be done or something was forgotten meanwhile."""
        if report is None or self._forgets != self._forgets_before:
            self._know(key, self._engine.clock.now())
        else:
            self._know(key, report.retry_at)

    def clear(self) -> None:
        self._waiting.clear()

    def look_again(self) -> None:
        """At each thread, when it is noticed next."""
        self._forgets += 1
        self._known.clear()

    def _know(self, key: _Key, again: datetime | None) -> None:
        self._known[key] = again
        self._known.move_to_end(key)
        if len(self._known) > _KNOWN:
            self._known.popitem(last=False)


class _Worker:
    """What both workers are: a line, under a lock that a forked child does not share with its parent."""

    def __init__(self, engine: Engine) -> None:
        self._engine = engine
        self._closed = False
        self._fresh()

    def _fresh(self) -> None:
        self._pid = os.getpid()
        self._lock = threading.Lock()
        self._line = _Line(self._engine)

    def _here(self) -> None:
        """After a fork: begin anew. Threads and tasks are the parent's, and its locks may be held for ever."""
        if self._pid != os.getpid():
            self._fresh()

    def forgot(self) -> None:
        """See `engine.Watcher`."""
        self._here()
        with self._lock:
            self._line.look_again()


class ThreadWorker(_Worker):
    """Refines on one daemon thread, which is there while there is something to do.

    `close` waits for the store to be let go of, not for the model: what that still answers is dropped, and asked for again by
    the next who makes a context of the thread. After `os.fork` the child starts a worker of its own.
    """

    def _fresh(self) -> None:
        super()._fresh()
        self._storing = threading.Lock()
        self._thread: threading.Thread | None = None

    def notice(self, namespace: Namespace, thread_id: str, *, folded: bool, unscored: bool = False) -> None:
        """See `engine.Watcher`."""
        self._here()
        with self._lock:
            if not self._closed:
                self._line.join((namespace, thread_id), folded=folded, unscored=unscored)
                self._start()

    def _start(self) -> None:
        dead = self._thread is None or not self._thread.is_alive()
        if not dead or (key := self._line.take()) is None:
            return
        self._thread = threading.Thread(target=self._work, args=(key,), name="bethink-refine", daemon=True)
        try:
            self._thread.start()
        except RuntimeError:
            # The process has no thread to spare, or is ending.
            self._thread = None
            self._line.done(key, None)

    def _work(self, key: _Key | None) -> None:
        while key is not None:
            try:
                report = self._refine(key)
            except BethinkError:
                # The store cannot be written now, or is closed: what is due stays due.
                report = None
            with self._lock:
                self._line.done(key, report)
                key = self._line.take()
                if key is None:
                    # Within the lock, so that who joins the line now starts another.
                    self._thread = None

    def _refine(self, key: _Key) -> RefineReport | None:
        namespace, thread_id = key
        work = refining(self._engine, namespace, thread_id, limit=self._engine.settings.refine_limit)
        with closing(work):
            answered = None
            while True:
                with self._storing:
                    if self._closed:
                        return None
                    found = advance(work, answered)
                if isinstance(found, RefineReport):
                    return found
                answered = asked(self._engine, found)

    def close(self) -> None:
        """See `engine.Watcher`."""
        self._here()
        with self._lock:
            self._line.clear()
        with self._storing:
            self._closed = True


class LoopWorker(_Worker):
    """Refines with an asynchronous model, in a task of the asyncio loop that `start` is called on. (On another sort of loop no
    task outlives its nursery: there it does nothing, and `refine()` is called by hand.)"""

    def _fresh(self) -> None:
        super()._fresh()
        self._tasks: set[asyncio.Task[None]] = set()

    def notice(self, namespace: Namespace, thread_id: str, *, folded: bool, unscored: bool = False) -> None:
        """See `engine.Watcher`. It is called in worker threads; `start` on the loop does the rest."""
        self._here()
        with self._lock:
            if not self._closed:
                self._line.join((namespace, thread_id), folded=folded, unscored=unscored)

    def start(self) -> None:
        """Begin to work, if there is something to do and nobody does it. Call it on the loop."""
        loop = _running_loop()
        # A task of a loop that has stopped waits for nobody.
        if loop is None or any(not task.done() and task.get_loop().is_running() for task in self._tasks):
            return
        key = self._take()
        if key is not None:
            task = loop.create_task(self._work(key), name="bethink-refine")
            self._tasks.add(task)
            task.add_done_callback(self._tasks.discard)

    def _take(self) -> _Key | None:
        with self._lock:
            return None if self._closed else self._line.take()

    async def _work(self, key: _Key | None) -> None:
        while key is not None:
            try:
                report = await refine_async(self._engine, *key, limit=self._engine.settings.refine_limit)
            except BethinkError:
                report = None
            with self._lock:
                self._line.done(key, report)
            key = self._take()

    def close(self) -> None:
        """See `engine.Watcher`. Where a loop is running, `aclose` comes first."""
        self._here()
        with self._lock:
            self._closed = True
            self._line.clear()

    async def aclose(self) -> None:
        """End the tasks of this loop, and wait for them; those of others are told."""
        import asyncio

        self.close()
        here = _running_loop()
        mine = [task for task in self._tasks if task.get_loop() is here]
        for task in tuple(self._tasks):
            if task in mine:
                task.cancel()
            elif not task.get_loop().is_closed():
                task.get_loop().call_soon_threadsafe(task.cancel)
        if mine:
            await asyncio.gather(*mine, return_exceptions=True)


def _running_loop() -> asyncio.AbstractEventLoop | None:
    """The asyncio loop that this is called on, if it is one."""
    import asyncio

    try:
        return asyncio.get_running_loop()
    except RuntimeError:
        return None
