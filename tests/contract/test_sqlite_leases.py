"""What leases are to the file: one small row, written when it must be, and nothing to appends that have none."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import closing
from datetime import datetime, timedelta, timezone
from pathlib import Path
from typing import Any

import pytest

from bethink.errors import StoreError
from bethink.messages import Message
from bethink.storage.base import Acquire, Append, Lease, Release
from bethink.storage.sqlite import SqliteStore
from bethink.storage.sqlite.driver import Database

AT = datetime(2026, 3, 1, 12, tzinfo=timezone.utc)
NS = ("acme", "ada")
MINUTE = timedelta(minutes=1)


class Watched:
    """A database that notes the statements it runs, and fails at the n-th. Rolling back does not fail, as in SQLite."""

    def __init__(self, database: Database) -> None:
        self._database = database
        self.statements: list[str] = []
        self.left: int | None = None

    def __getattr__(self, name: str) -> Any:
        return getattr(self._database, name)

    def _note(self, sql: str) -> None:
        if not sql.startswith("PRAGMA") or "synchronous" in sql:
            self.statements.append(sql)
        if self.left is None or sql == "ROLLBACK" or sql.startswith("PRAGMA"):
            return
        self.left -= 1
        if self.left < 0:
            self.left = None
            raise StoreError("injected")

    def execute(self, sql: str, parameters: Sequence[Any] = ()) -> list[tuple[Any, ...]]:
        self._note(sql)
        return self._database.execute(sql, parameters)

    def executemany(self, sql: str, rows: Sequence[Any]) -> None:
        self._note(sql)
        self._database.executemany(sql, rows)

    def insert(self, sql: str, parameters: Sequence[Any]) -> int:
        self._note(sql)
        return self._database.insert(sql, parameters)


@pytest.fixture
def store(tmp_path: Path) -> Iterator[SqliteStore]:
    with closing(SqliteStore(tmp_path / "memory.db")) as store:
        say(store, "m1")
        yield store
        assert store.check() == []


def watched(store: SqliteStore) -> Watched:
    database = Watched(store._writer.alone(lambda database: database))
    store._writer._database = database  # type: ignore[assignment]
    return database


def say(store: SqliteStore, name: str, lease: Lease | None = None) -> None:
    message = Message(role="user", content="hello", id=name, created_at=AT)
    store.append(Append(namespace=NS, thread_id="t", at=AT, messages=(message,), fresh=True, lease=lease))


def acquire(store: SqliteStore, holder: str = "ada", token: int | None = None, minutes: int = 1) -> Lease:
    return store.acquire(Acquire(namespace=NS, thread_id="t", holder=holder, at=AT, until=AT + minutes * MINUTE, token=token))


def rows(store: SqliteStore, table: str) -> list[tuple[Any, ...]]:
    with store._readers.reading() as database:
        return database.execute(f"SELECT * FROM {table}")


def test_an_append_without_a_lease_runs_no_statement_about_leases(store: SqliteStore) -> None:
    acquire(store)
    database = watched(store)
    say(store, "m2")
    assert [sql.split(maxsplit=1)[0] for sql in database.statements] == ["BEGIN", "SELECT", "INSERT", "COMMIT"]
    assert not any("leases" in sql for sql in database.statements)


def test_an_append_with_a_lease_runs_one_more(store: SqliteStore) -> None:
    lease = acquire(store)
    database = watched(store)
    say(store, "m2", lease)
    assert sum("leases" in sql for sql in database.statements) == 1
    assert len(database.statements) == 5


def test_taking_and_leaving_a_turn_leaves_the_row_of_the_thread_alone(store: SqliteStore) -> None:
    before = rows(store, "threads")
    database = watched(store)
    store.release(Release(acquire(store)))
    assert rows(store, "threads") == before
    assert [sql.split()[2] for sql in database.statements if sql.startswith("INSERT")] == ["leases", "leases"]
    assert len(rows(store, "leases")) == 1


def test_a_new_token_waits_for_the_disk_a_renewal_and_a_release_do_not(store: SqliteStore) -> None:
    lease = acquire(store)
    assert store._writer._waits
    acquire(store, token=lease.token, minutes=2)
    assert not store._writer._waits
    say(store, "m2", lease)
    assert store._writer._waits
    store.release(Release(lease))
    assert not store._writer._waits
    acquire(store, "bob")
    assert store._writer._waits


def test_a_refused_holder_writes_nothing(store: SqliteStore) -> None:
    acquire(store)
    before = rows(store, "leases")
    database = watched(store)
    for token in (None, 7):
        with pytest.raises(Exception, match="turn"):
            acquire(store, "bob", token)
    assert rows(store, "leases") == before
    assert not any(sql.startswith("INSERT") for sql in database.statements)


def _acquire(store: SqliteStore) -> object:
    return acquire(store, "bob")


def _release(store: SqliteStore) -> object:
    store.release(Release(Lease(namespace=NS, thread_id="t", token=1, holder="ada", expires_at=AT)))
    return None


def _renew(store: SqliteStore) -> object:
    return acquire(store, "ada", token=1, minutes=5)


@pytest.mark.parametrize("act", [_acquire, _release, _renew])
def test_V021_V022_whichever_statement_fails_the_lease_is_as_it_was(
    store: SqliteStore, act: Callable[[SqliteStore], object]
) -> None:
    acquire(store, minutes=0)
    before = rows(store, "leases")
    database = watched(store)
    for statement in range(100):
        database.left = statement
        try:
            act(store)
        except StoreError:
            assert rows(store, "leases") == before
        else:
            break
    database.left = None
    assert statement >= 4
    assert rows(store, "leases") != before


def test_an_orphan_is_found_by_check(store: SqliteStore) -> None:
    with closing(SqliteStore(store.path)) as other:
        other._writer.run(lambda database: database.execute("INSERT INTO leases VALUES (99, 'turn', 0, 'h', 0)"))
        found = {(problem.what, problem.where) for problem in other.check()}
        other._writer.run(lambda database: database.execute("DELETE FROM leases"))
    assert found == {
        ("is of a thread that is not there", "lease of thread row 99"),
        ("has a token below 1", "lease of thread row 99"),
    }
