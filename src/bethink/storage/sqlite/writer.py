"""The one place that writes: group commit.

    run(operation) ─▶ queue ─▶ the first to come leads: BEGIN IMMEDIATE, every queued operation in turn, COMMIT ─▶ all wake

There is no thread of its own. Whoever finds nobody leading leads at once, so a single caller waits for nobody; those who come
while it commits queue up and share the next commit, led by one of them. A commit costs one wait for the disk, however many
operations are in it. So when there was a crowd, the next leader waits a moment for those who have just been served to come
back (at most a quarter of what the last commit took): otherwise two halves of the crowd would take turns.

An operation looks before it writes: what it refuses, it refuses before its first change, and the group goes on without it. If
one fails after a change, the whole group is rolled back and each of its operations runs again in a transaction of its own.
No savepoints: the full-text index writes out a segment at each.
"""

from __future__ import annotations

import threading
import time
from collections import deque
from collections.abc import Callable
from contextlib import suppress
from typing import Any, TypeVar, cast

from bethink.errors import StoreClosed, StoreError
from bethink.storage.sqlite.connection import CLOSED, Options, open_connection
from bethink.storage.sqlite.driver import Database
from bethink.storage.sqlite.log import make_room

__all__ = ["Writer"]

T = TypeVar("T")

Operation = Callable[[Database], Any]

_MAX_GROUP = 128
_LONGEST_WAIT = 0.002
_ROOM_AFTER, _ROOM_EVERY = 8, 1_024


class _Job:
    """An operation in the queue. `wake` is released when it is done, or when its thread is to lead."""

    __slots__ = ("done", "error", "operation", "result", "solo", "to_lead", "wake")

    def __init__(self, operation: Operation, *, solo: bool) -> None:
        self.operation = operation
        self.solo = solo
        self.wake = threading.Lock()
        self.wake.acquire()
        self.to_lead = False
        self.done = False
        self.result: Any = None
        self.error: BaseException | None = None

    def fail(self, error: StoreError) -> None:
        # One exception cannot be raised by several threads: each adds its traceback to it.
        self.error = type(error)(*error.args)
        self.error.__cause__ = error.__cause__
        self.done = True


class Writer:
    """Runs operations on the writing connection, several to a transaction.

    Args:
        options: how to open the file.
        database: the connection to write on, if there is one already; else it is opened when it is needed.
        max_group: at most that many operations in one transaction.
    """

    def __init__(self, options: Options, database: Database | None = None, *, max_group: int = _MAX_GROUP) -> None:
        self._options = options
        self._database = database
        self._mutex = threading.Lock()
        self._queue: deque[_Job] = deque()
        self._gathering = threading.Condition(self._mutex)
        self._leading = False
        self._closed = False
        self._crowd = 1
        """How many were writing at once when the last group was done."""
        self._last_commit = 0.0
        """How long it took, in seconds."""
        self._commits = 0
        self.max_group = max_group

    def run(self, operation: Callable[[Database], T]) -> T:
        """Run `operation(database)` within a transaction and return its result once that has been committed.

        Raises:
            Whatever the operation raises, and then none of its changes is there.
        """
        return cast("T", self._outcome(_Job(operation, solo=False)))

    def alone(self, action: Callable[[Database], T]) -> T:
        """Run `action(database)` outside of any transaction, while nobody else in this process writes."""
        return cast("T", self._outcome(_Job(action, solo=True)))

    def _outcome(self, job: _Job) -> Any:
        with self._mutex:
            if self._closed:
                raise StoreClosed(CLOSED)
            self._queue.append(job)
            leads = not self._leading
            self._leading = True
            if len(self._queue) == self._crowd:
                self._gathering.notify()
        if not leads:
            self._wait(job)
        if not job.done:
            self._lead()
        if job.error is not None:
            raise job.error
        return job.result

    def _wait(self, job: _Job) -> None:
        try:
            job.wake.acquire()
        except BaseException:
            # An interrupt while waiting. The operation may be running by now; nobody may wait for this thread to lead.
            with self._mutex:
                if job in self._queue:
                    self._queue.remove(job)
            if job.to_lead:
                self._pass_on()
            raise

    def _lead(self) -> None:
        """Run what is queued. The first in the queue is always the leader's own job."""
        with self._mutex:
            if len(self._queue) < self._crowd:
                self._gathering.wait_for(lambda: len(self._queue) >= self._crowd, min(self._last_commit / 4, _LONGEST_WAIT))
            jobs = [self._queue.popleft()]
            while not jobs[0].solo and self._queue and not self._queue[0].solo and len(jobs) < self.max_group:
                jobs.append(self._queue.popleft())
        started = time.monotonic()
        try:
            if jobs[0].solo:
                self._alone(jobs[0])
            else:
                self._commit(jobs)
        finally:
            with self._mutex:
                self._last_commit = time.monotonic() - started
                self._crowd = min(len(jobs) + len(self._queue), self.max_group)
            for job in jobs:
                if not job.done:
                    job.fail(StoreError("the write was interrupted and may not be stored — a retry stores nothing twice"))
                job.wake.release()
            self._pass_on()

    def _pass_on(self) -> None:
        """Wake the first in the queue to lead, or let the next who comes do so."""
        with self._mutex:
            self._leading = bool(self._queue)
            if self._queue:
                successor = self._queue[0]
                successor.to_lead = True
                successor.wake.release()

    def _open(self) -> Database:
        if self._database is None:
            self._database = open_connection(self._options)
        return self._database

    def _alone(self, job: _Job) -> None:
        try:
            job.result = job.operation(self._open())
        except StoreError as error:
            job.error = error
        job.done = True

    def _commit(self, jobs: list[_Job]) -> None:
        try:
            database = self._open()
            database.execute("BEGIN IMMEDIATE")
        except StoreError as error:
            for job in jobs:
                job.fail(error)
            return
        try:
            self._run(database, jobs)
        except StoreError as error:
            if len(jobs) == 1:
                jobs[0].fail(error)
                return
            for job in jobs:
                self._commit([job])
            return
        self._commits += 1
        # Who writes once or twice does not gain from it what it costs. (Every so often, since a forget cuts the log off.)
        if self._commits % _ROOM_EVERY == _ROOM_AFTER:
            with suppress(StoreError):
                make_room(database, self._options.path)

    def _run(self, database: Database, jobs: list[_Job]) -> None:
        """All jobs in the transaction that is open, and commit. Raises StoreError, with all rolled back, if that fails."""
        try:
            for job in jobs:
                before = database.total_changes()
                try:
                    job.result, job.error = job.operation(database), None
                except Exception as error:
                    job.error = error
                    if database.total_changes() != before or not database.in_transaction():
                        if len(jobs) > 1:
                            raise StoreError("one operation of the group failed after it had written") from error
                        _roll_back(database)
            if database.in_transaction():
                database.execute("COMMIT")
        except BaseException:
            _roll_back(database)
            raise
        for job in jobs:
            job.done = True

    def close(self) -> None:
        """Refuse further operations, let those in the queue finish, and close the connection."""
        with self._mutex:
            if self._closed:
                return
            self._closed = True
        while True:
            with self._mutex:
                if not self._leading:
                    break
            threading.Event().wait(0.001)
        if self._database is not None:
            self._database.close()
            self._database = None

    def abandoned(self) -> list[Database]:
        """In a forked child: the parent's connection, which must be neither used nor closed here."""
        return [] if self._database is None else [self._database]


def _roll_back(database: Database) -> None:
    with suppress(StoreError):
        if database.in_transaction():
            database.execute("ROLLBACK")
