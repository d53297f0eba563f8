"""Connections to one file: a pool for reading, one for writing, and what happens to them in a forked child.

    open_connection ─▶ pragmas ─▶ Database
    Readers          lends a connection for one read transaction: everything within is of one moment

A connection is lent to one thread at a time and comes back afterwards, so there are never more than threads that read at once.
"""

from __future__ import annotations

import random
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from datetime import timedelta
from typing import Literal, NamedTuple, TypeAlias

from bethink.errors import StoreBusy, StoreClosed, StoreError
from bethink.storage.sqlite.driver import Database, Driver, connect

__all__ = ["CLOSED", "Durability", "Options", "Readers", "open_connection"]

Durability: TypeAlias = Literal["full", "normal"]

CLOSED = "the store has been closed — open it again"


class Options(NamedTuple):
    """How to open the file."""

    path: str
    driver: Driver
    durability: Durability
    timeout: timedelta


def open_connection(options: Options, inspect: Callable[[Database], object] | None = None) -> Database:
    """A connection with our pragmas. `inspect` may look at the file before they change anything of it.

    `secure_delete` overwrites what is deleted with zeros. It does not reach the copies that SQLite leaves in the free part of
    a page when it moves rows to another page (measured: three in four of randomly inserted rows leave one), so `forget` also
    rewrites the file, see `erase.py`.
    """
    database = connect(options.path, options.driver, options.timeout)
    try:
        if inspect is not None:
            inspect(database)
        _use_wal(database, options.timeout)
        database.execute(f"PRAGMA synchronous = {options.durability.upper()}")
        database.execute("PRAGMA secure_delete = ON")
        database.execute("PRAGMA trusted_schema = OFF")
    except StoreError:
        database.close()
        raise
    return database


def _use_wal(database: Database, timeout: timedelta) -> None:
    """Switch the file to write-ahead logging. Of several who do so at once all but one are refused without any waiting."""
    deadline = time.monotonic() + timeout.total_seconds()
    while (mode := _journal_mode(database)) == "busy" and time.monotonic() < deadline:
        time.sleep(random.uniform(0.001, 0.01))  # noqa: S311 - no secret
    if mode == "busy":
        raise StoreBusy("another process kept the file locked while it was opened — try again, or raise busy_timeout")
    if mode != "wal":
        raise StoreError(f"the file cannot use write-ahead logging (its mode stays {mode!r}) — put it on a local disk")


def _journal_mode(database: Database) -> str:
    try:
        mode: str = database.execute("PRAGMA journal_mode = WAL")[0][0]
    except StoreBusy:
        return "busy"
    return mode


class Readers:
    """Connections for reading."""

    def __init__(self, options: Options) -> None:
        self._options = options
        self._idle: list[Database] = []
        self._lock = threading.Lock()
        self._closed = False

    @contextmanager
    def reading(self) -> Iterator[Database]:
        """A connection within a read transaction."""
        database = self._take()
        try:
            database.execute("BEGIN")
            yield database
            database.execute("COMMIT")
        except BaseException:
            # A read has nothing to keep; a connection that cannot even end its transaction is not lent again.
            try:
                if database.in_transaction():
                    database.execute("ROLLBACK")
            except StoreError:
                database.close()
            else:
                self._give_back(database)
            raise
        self._give_back(database)

    def _take(self) -> Database:
        with self._lock:
            if self._closed:
                raise StoreClosed(CLOSED)
            if self._idle:
                return self._idle.pop()
        return open_connection(self._options)

    def _give_back(self, database: Database) -> None:
        with self._lock:
            if not self._closed:
                self._idle.append(database)
                return
        database.close()

    def close(self) -> None:
        """Close the idle connections; those that are lent are closed when they come back."""
        with self._lock:
            self._closed = True
            idle, self._idle = self._idle, []
        for database in idle:
            with suppress(StoreError):
                database.close()

    def abandoned(self) -> list[Database]:
        """In a forked child: the parent's connections, which must be neither used nor closed here."""
        return self._idle
