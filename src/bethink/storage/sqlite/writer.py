"""The one place that writes: group commit.

    run(function) ─▶ queue ─▶ the first to come leads: BEGIN IMMEDIATE, every queued operation in turn, COMMIT ─▶ all wake

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
from collections.abc import Callable, Iterable
from contextlib import suppress
from typing import Any, TypeVar, cast

from bethink.errors import BethinkError, StoreClosed, StoreError
from bethink.storage.sqlite.connection import CLOSED, Options, open_connection
from bethink.storage.sqlite.driver import Database
from bethink.storage.sqlite.log import make_room

__all__ = ["Writer"]

T = TypeVar("T")

Function = Callable[[Database], Any]

_MAX_GROUP = 128
_LONGEST_WAIT = 0.002
_ROOM_AFTER, _ROOM_EVERY = 8, 1_024


class _Operation:
    """Something to run in a transaction, and what became of it."""

    __slots__ = ("done", "error", "function", "relaxed", "result")

    def __init__(self, function: Function, relaxed: bool) -> None:
        self.function = function
        self.relaxed = relaxed
        self.done = False
        self.result: Any = None
        self.error: BaseException | None = None

    def fail(self, error: StoreError) -> None:
        # One exception cannot be raised by several threads: each adds its traceback to it.
        self.error = type(error)(*error.args)
        self.error.__cause__ = error.__cause__
        self.done = True


class _Call:
    """What one thread asks for. One that waits has a lock, `wake`, which is released when it is done, or when it is to lead."""

    __slots__ = ("operations", "solo", "to_lead", "wake")

    def __init__(self, functions: Iterable[Function], *, solo: bool = False, relaxed: bool = False) -> None:
        self.operations = [_Operation(function, relaxed) for function in functions]
        self.solo = solo
        self.to_lead = False

    def queue_up(self) -> None:
        self.wake = threading.Lock()
        self.wake.acquire()

    @property
    def done(self) -> bool:
        return self.operations[-1].done


class Writer:
    """Runs operations on the writing connection, several to a transaction.

    Args:
        options: how to open the file.
        database: the connection to write on, if there is one already; else it is opened when it is needed.
        max_group: at most so many calls in one transaction.
    """

    def __init__(self, options: Options, database: Database | None = None, *, max_group: int = _MAX_GROUP) -> None:
        self._options = options
        self._database = database
        self._mutex = threading.Lock()
        self._queue: deque[_Call] = deque()
        self._gathering = threading.Condition(self._mutex)
        self._leading = False
        self._closed = False
        self._crowd = 1
        """How many were writing at once when the last group was done."""
        self._last_commit = 0.0
        """How long it took, in seconds."""
        self._commits = 0
        self._waits = True
        """Whether commits wait for the disk, as far as `durability` has them wait at all."""
        self.max_group = max_group

    def run(self, function: Callable[[Database], T], *, relaxed: bool = False) -> T:
        """Run `function(database)` within a transaction and return its result once that has been committed.

        If it is relaxed, and all that share its commit are, that does not wait for the disk.

        Raises:
            Whatever the function raises, and then none of its changes is there.
        """
        return cast("T", _result(self._finished(_Call((function,), relaxed=relaxed))))

    def run_each(self, functions: Iterable[Callable[[Database], T]]) -> list[T | BethinkError]:
        """Run several, each as `run` does, with one wait for the disk; the errors that `run` would raise are returned."""
        call = _Call(functions)
        if not call.operations:
            return []
        self._finished(call)
        outcomes: list[T | BethinkError] = []
        for operation in call.operations:
            if operation.error is not None and not isinstance(operation.error, BethinkError):
                raise operation.error
            outcomes.append(operation.result if operation.error is None else operation.error)
        return outcomes

    def alone(self, action: Callable[[Database], T]) -> T:
        """Run `action(database)` outside of any transaction, while nobody else in this process writes."""
        return cast("T", _result(self._finished(_Call((action,), solo=True))))

    def _finished(self, call: _Call) -> _Call:
        with self._mutex:
            if self._closed:
                raise StoreClosed(CLOSED)
            # Nobody else writes, nor did when the last was done.
            at_once = not self._leading and self._crowd == 1
            leads = not self._leading
            self._leading = True
            if not at_once:
                call.queue_up()
                self._queue.append(call)
                if len(self._queue) == self._crowd:
                    self._gathering.notify()
        if at_once:
            self._serve([call])
            return call
        if not leads:
            self._wait(call)
        if not call.done:
            self._lead()
        return call

    def _wait(self, call: _Call) -> None:
        try:
            call.wake.acquire()
        except BaseException:
            # An interrupt while waiting. The operation may be running by now; nobody may wait for this thread to lead.
            with self._mutex:
                if call in self._queue:
                    self._queue.remove(call)
            if call.to_lead:
                self._pass_on()
            raise

    def _lead(self) -> None:
        """Run what is queued. The first in the queue is always the leader's own call."""
        with self._mutex:
            if len(self._queue) < self._crowd:
                self._gathering.wait_for(lambda: len(self._queue) >= self._crowd, min(self._last_commit / 4, _LONGEST_WAIT))
            calls = [self._queue.popleft()]
            while not calls[0].solo and self._queue and not self._queue[0].solo and len(calls) < self.max_group:
                calls.append(self._queue.popleft())
        self._serve(calls)

    def _serve(self, calls: list[_Call]) -> None:
        """Run calls, the first of which is the leader's own."""
        operations = [operation for call in calls for operation in call.operations] if len(calls) > 1 else calls[0].operations
        started = time.monotonic()
        try:
            if calls[0].solo:
                self._alone(operations[0])
            else:
                self._commit(operations)
        finally:
            for operation in operations:
                if not operation.done:
                    operation.fail(StoreError("the write was interrupted and may not be stored — a retry stores nothing twice"))
            with self._mutex:
                self._last_commit = time.monotonic() - started
                self._crowd = min(len(calls) + len(self._queue), self.max_group)
                # The leader, who is the first of the calls, waits for nobody.
                for call in calls[1:]:
                    call.wake.release()
                self._name_successor()

    def _pass_on(self) -> None:
        with self._mutex:
            self._name_successor()

    def _name_successor(self) -> None:
        """Wake the first in the queue to lead, or let the next who comes do so."""
        self._leading = bool(self._queue)
        if self._queue:
            successor = self._queue[0]
            successor.to_lead = True
            successor.wake.release()

    def _open(self) -> Database:
        if self._database is None:
            self._database = open_connection(self._options)
        return self._database

    def _alone(self, action: _Operation) -> None:
        try:
            action.result = action.function(self._open())
        except StoreError as error:
            action.error = error
        action.done = True

    def _commit(self, operations: list[_Operation]) -> None:
        try:
            database = self._open()
            self._wait_for_disk(database, not all(operation.relaxed for operation in operations))
            database.execute("BEGIN IMMEDIATE")
        except StoreError as error:
            for operation in operations:
                operation.fail(error)
            return
        try:
            self._run(database, operations)
        except StoreError as error:
            if len(operations) == 1:
                operations[0].fail(error)
                return
            for operation in operations:
                self._commit([operation])
            return
        self._commits += 1
        # Who writes once or twice does not gain from it what it costs. (Every so often, since a forget cuts the log off.)
        if self._commits % _ROOM_EVERY == _ROOM_AFTER:
            with suppress(StoreError):
                make_room(database, self._options.path)

    def _wait_for_disk(self, database: Database, wait: bool) -> None:
        """Whether the commits to come wait for it. One that does waits for all before it too: the log is one file."""
        if self._options.durability == "full" and wait != self._waits:
            database.execute(f"PRAGMA synchronous = {'FULL' if wait else 'NORMAL'}")
            self._waits = wait

    def _run(self, database: Database, operations: list[_Operation]) -> None:
        """All in the transaction that is open, and commit. Raises StoreError, with all rolled back, if that fails."""
        try:
            for operation in operations:
                before = database.total_changes()
                try:
                    operation.result, operation.error = operation.function(database), None
                except Exception as error:
                    operation.error = error
                    if database.total_changes() != before or not database.in_transaction():
                        if len(operations) > 1:
                            raise StoreError("one operation of the group failed after it had written") from error
                        _roll_back(database)
            if database.in_transaction():
                database.execute("COMMIT")
        except BaseException:
            _roll_back(database)
            raise
        for operation in operations:
            operation.done = True

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


def _result(call: _Call) -> Any:
    operation = call.operations[0]
    if operation.error is not None:
        raise operation.error
    return operation.result


def _roll_back(database: Database) -> None:
    with suppress(StoreError):
        if database.in_transaction():
            database.execute("ROLLBACK")
