"""The seam to SQLite: one small `Database` over apsw, or over the standard library's sqlite3, with our errors.

apsw comes first because its wheel carries a current SQLite. The standard library's is often older than 3.51.3, where two
processes that write and checkpoint at the same instant can damage the file (the WAL-reset bug); it works, with a warning.

No loadable extension, and no memory mapping (reports of that bug name `mmap_size` on a file that several processes write).
"""

from __future__ import annotations

import random
import sqlite3
import time
import warnings
from collections.abc import Callable, Iterable, Sequence
from contextlib import closing
from datetime import timedelta
from typing import Any, Literal, Protocol, TypeAlias

from bethink.errors import CorruptStore, StoreBusy, StoreClosed, StoreError

__all__ = ["Database", "Driver", "Row", "choose", "connect", "translated"]

Driver: TypeAlias = Literal["apsw", "sqlite3"]
Row: TypeAlias = tuple[Any, ...]

_SAFE_VERSION = (3, 51, 3)
_STATEMENTS = 256


class Database(Protocol):
    """One connection, used by one thread at a time. Every error is one of `bethink.errors`."""

    version: str
    """Driver and SQLite, such as "apsw 3.54.1"."""

    def execute(self, sql: str, parameters: Sequence[Any] = ()) -> list[Row]:
        """Run one statement and return all its rows."""
        ...

    def executemany(self, sql: str, rows: Iterable[Sequence[Any]]) -> None:
        """Run one statement for each of `rows`."""
        ...

    def script(self, sql: str) -> None:
        """Run several statements, in the transaction that is open."""
        ...

    def insert(self, sql: str, parameters: Sequence[Any]) -> int:
        """Run an INSERT and return the row id."""
        ...

    def total_changes(self) -> int:
        """Rows changed since the connection was opened: equal before and after means that nothing was written between."""
        ...

    def in_transaction(self) -> bool: ...

    def copy_to(self, path: str) -> None:
        """Write a copy of the database as last committed to a new file, also from within a transaction (SQLite's backup)."""
        ...

    def close(self) -> None: ...


def choose(driver: Driver | None) -> Driver:
    """The driver to use: the one asked for, else apsw, else sqlite3 (warning where its SQLite has the WAL-reset bug)."""
    if driver != "sqlite3":
        try:
            import apsw  # noqa: F401
        except ImportError:
            if driver == "apsw":
                raise
        else:
            return "apsw"
    if sqlite3.sqlite_version_info < _SAFE_VERSION:
        warnings.warn(
            f"this Python's SQLite {sqlite3.sqlite_version} can damage a file that several processes write at the same instant "
            "(fixed in 3.51.3) — pip install apsw, which brings a current one",
            RuntimeWarning,
            stacklevel=3,
        )
    return "sqlite3"


def connect(path: str, driver: Driver, timeout: timedelta) -> Database:
    """Open the file, creating it if it is not there. A statement that meets a lock waits for up to `timeout`."""
    return _Apsw(path, timeout) if driver == "apsw" else _Stdlib(path, timeout)


# -- errors ---------------------------------------------------------------------------------------------------------------

_BUSY, _LOCKED, _READONLY, _IOERR, _CORRUPT, _FULL, _CANTOPEN, _NOTADB = 5, 6, 8, 10, 11, 13, 14, 26

_MEANING: dict[int, tuple[type[StoreError], str]] = {
    _BUSY: (
        StoreBusy,
        "another process held the database locked for longer than the timeout — try again, or raise busy_timeout",
    ),
    _LOCKED: (StoreBusy, "a table of the database is locked — try again"),
    _READONLY: (StoreError, "the database cannot be written: the file or its folder is read-only"),
    _IOERR: (StoreError, "the disk failed while the database was read or written — nothing was half-written"),
    _CORRUPT: (CorruptStore, "the database file is damaged — restore a copy of it"),
    _FULL: (StoreError, "the disk is full — nothing was written; free some space and try again"),
    _CANTOPEN: (StoreError, "the database file cannot be opened — see that its folder is there and may be written"),
    _NOTADB: (CorruptStore, "the file is no SQLite database, or is damaged at its start"),
}

# Python 3.10's sqlite3 has no error codes.
_CODE_OF_TEXT = {
    "database is locked": _BUSY,
    "database table is locked": _LOCKED,
    "attempt to write a readonly database": _READONLY,
    "disk I/O error": _IOERR,
    "database disk image is malformed": _CORRUPT,
    "database or disk is full": _FULL,
    "unable to open database file": _CANTOPEN,
    "file is not a database": _NOTADB,
}


def translated(code: int | None, text: str) -> StoreError:
    """The error for a result code of SQLite (primary or extended), or for its text where there is no code."""
    if code is None:
        code = _CODE_OF_TEXT.get(text, 0)
    kind, meaning = _MEANING.get(code & 0xFF, (StoreError, f"SQLite refused (result code {code})"))
    return kind(meaning)


# -- drivers --------------------------------------------------------------------------------------------------------------


class _Apsw:
    def __init__(self, path: str, timeout: timedelta) -> None:
        import apsw

        self._path = path
        self._error = apsw.Error
        self._closed_errors = (apsw.ConnectionClosedError, apsw.CursorClosedError)
        self.version = f"apsw {apsw.sqlite_lib_version()}"
        try:
            self._connection = apsw.Connection(path, statementcachesize=_STATEMENTS)
        except apsw.Error as error:
            raise self._translated(error) from error
        # Without this, a SQLite that has STAT4 plans a join anew whenever its parameters change: 13 µs a time instead of 3.
        self._connection.config(apsw.SQLITE_DBCONFIG_ENABLE_QPSG, 1)
        self._connection.set_busy_handler(_patience(timeout))
        self._cursor = self._connection.cursor()

    def _translated(self, error: Exception) -> StoreError:
        if isinstance(error, self._closed_errors):
            return StoreClosed("the store has been closed — open it again")
        return translated(getattr(error, "extendedresult", 0), "")

    def execute(self, sql: str, parameters: Sequence[Any] = ()) -> list[Row]:
        try:
            return self._cursor.execute(sql, parameters).fetchall()
        except self._error as error:
            raise self._translated(error) from error

    def executemany(self, sql: str, rows: Iterable[Sequence[Any]]) -> None:
        try:
            self._cursor.executemany(sql, rows)
        except self._error as error:
            raise self._translated(error) from error

    def script(self, sql: str) -> None:
        self.execute(sql)

    def insert(self, sql: str, parameters: Sequence[Any]) -> int:
        self.execute(sql, parameters)
        return self._connection.last_insert_rowid()

    def total_changes(self) -> int:
        return self._connection.total_changes()

    def in_transaction(self) -> bool:
        return self._connection.in_transaction

    def copy_to(self, path: str) -> None:
        import apsw

        try:
            with (
                closing(apsw.Connection(self._path)) as source,
                closing(apsw.Connection(path)) as copy,
                copy.backup("main", source, "main") as backup,
            ):
                while not backup.done:
                    backup.step(1_000)
        except apsw.Error as error:
            raise self._translated(error) from error

    def close(self) -> None:
        self._connection.close(True)


class _Stdlib:
    def __init__(self, path: str, timeout: timedelta) -> None:
        self._path = path
        self.version = f"sqlite3 {sqlite3.sqlite_version}"
        try:
            self._connection = sqlite3.connect(
                path,
                timeout=timeout.total_seconds(),
                isolation_level=None,
                check_same_thread=False,
                cached_statements=_STATEMENTS,
            )
        except sqlite3.Error as error:
            raise self._translated(error) from error
        self._cursor = self._connection.cursor()

    @staticmethod
    def _translated(error: Exception) -> StoreError:
        if isinstance(error, sqlite3.ProgrammingError) and "closed" in str(error):
            return StoreClosed("the store has been closed — open it again")
        return translated(getattr(error, "sqlite_errorcode", None), str(error))

    def execute(self, sql: str, parameters: Sequence[Any] = ()) -> list[Row]:
        try:
            return self._cursor.execute(sql, parameters).fetchall()
        except sqlite3.Error as error:
            raise self._translated(error) from error

    def executemany(self, sql: str, rows: Iterable[Sequence[Any]]) -> None:
        try:
            self._cursor.executemany(sql, rows)
        except sqlite3.Error as error:
            raise self._translated(error) from error

    def script(self, sql: str) -> None:
        # `executescript` would commit the open transaction first.
        statement = ""
        for line in sql.splitlines(keepends=True):
            statement += line
            if sqlite3.complete_statement(statement):
                self.execute(statement)
                statement = ""

    def insert(self, sql: str, parameters: Sequence[Any]) -> int:
        self.execute(sql, parameters)
        row_id = self._cursor.lastrowid
        assert row_id is not None
        return row_id

    def total_changes(self) -> int:
        return self._connection.total_changes

    def in_transaction(self) -> bool:
        return self._connection.in_transaction

    def copy_to(self, path: str) -> None:
        try:
            with closing(sqlite3.connect(self._path)) as source, closing(sqlite3.connect(path)) as copy:
                source.backup(copy)
        except sqlite3.Error as error:
            raise self._translated(error) from error

    def close(self) -> None:
        self._connection.close()


def _patience(timeout: timedelta) -> Callable[[int], bool]:
    """A busy handler: waits that grow and are drawn at random, so that writers do not wake in step, until the time is up."""
    deadline = 0.0

    def wait(calls_before: int) -> bool:
        nonlocal deadline
        now = time.monotonic()
        if calls_before == 0:
            deadline = now + timeout.total_seconds()
        if now >= deadline:
            return False
        longest = min(0.000_5 * 2 ** min(calls_before, 6), 0.02)
        time.sleep(random.uniform(longest / 4, longest))  # noqa: S311 - no secret
        return True

    return wait
