"""Every way to today's schema leads to the same one, and a file that is newer, older or foreign is met with care."""

from __future__ import annotations

import shutil
import threading
from collections.abc import Callable
from contextlib import closing
from datetime import datetime, timedelta, timezone
from pathlib import Path

import pytest

from bethink.errors import SchemaError, StoreError
from bethink.messages import Message
from bethink.storage.base import Append, Read
from bethink.storage.sqlite import SqliteStore, migrate
from bethink.storage.sqlite.connection import Options, open_connection
from bethink.storage.sqlite.driver import Database, connect
from bethink.storage.sqlite.migrate import APPLICATION_ID, SCHEMA_VERSION, migrations, prepare

AT = datetime(2026, 3, 1, 12, tzinfo=timezone.utc)
NEXT = SCHEMA_VERSION + 1
MIGRATION = """
-- A column, and a table that needs the rows as they were.
ALTER TABLE threads ADD COLUMN mood TEXT;
CREATE TABLE moods (thread INTEGER PRIMARY KEY, mood TEXT NOT NULL) STRICT;
INSERT INTO moods (thread, mood) SELECT id, 'calm; mostly' FROM threads;
"""


def raw(path: Path) -> Database:
    return open_connection(Options(str(path), "apsw", "normal", timedelta(seconds=10)))


def schema(database: Database) -> list[tuple[object, ...]]:
    return database.execute("SELECT type, name, tbl_name, sql FROM sqlite_schema ORDER BY type, name")


def with_a_message(path: Path) -> None:
    with closing(SqliteStore(path, durability="normal")) as store:
        message = Message(role="user", content="hello", id="m1", created_at=AT)
        store.append(Append(namespace=("a",), thread_id="t", at=AT, messages=(message,)))


@pytest.fixture
def next_version(monkeypatch: pytest.MonkeyPatch) -> dict[int, str]:
    """As if the package had one more migration."""
    scripts = {**migrations(), NEXT: MIGRATION}
    monkeypatch.setattr(migrate, "migrations", lambda: scripts)
    return scripts


def test_schema_file_and_migrations_make_the_same_schema(tmp_path: Path) -> None:
    with closing(raw(tmp_path / "whole.db")) as whole, closing(raw(tmp_path / "steps.db")) as steps:
        prepare(whole, str(tmp_path / "whole.db"))
        prepare(steps, str(tmp_path / "steps.db"), scripts=migrations())
        assert schema(whole) == schema(steps)
        assert whole.execute("SELECT * FROM meta ORDER BY key") == steps.execute("SELECT * FROM meta ORDER BY key")
        for database in (whole, steps):
            assert database.execute("PRAGMA user_version") == [(SCHEMA_VERSION,)]
            assert database.execute("PRAGMA application_id") == [(APPLICATION_ID,)]


def test_migrations_are_numbered_without_gaps_up_to_the_schema_version() -> None:
    assert list(migrations()) == list(range(1, SCHEMA_VERSION + 1))


def test_V105_an_older_file_is_migrated_after_a_copy_was_made(tmp_path: Path, next_version: dict[int, str]) -> None:
    path = tmp_path / "memory.db"
    with_a_message(path)
    with closing(raw(path)) as database:
        prepare(database, str(path), target=NEXT)
        assert database.execute("SELECT mood FROM moods") == [("calm; mostly",)]
        assert database.execute("PRAGMA user_version") == [(NEXT,)]
        assert database.execute("SELECT count(*) FROM messages") == [(1,)]
    backup = tmp_path / f"memory.db.v{SCHEMA_VERSION}.bak"
    shutil.copy(backup, tmp_path / "copy.db")
    with closing(SqliteStore(tmp_path / "copy.db", durability="normal")) as store:
        assert store.read(Read(namespace=("a",), thread_id="t")).messages[0].text == "hello"
        assert store.check() == []


def test_V105_two_that_migrate_at_once_migrate_once(tmp_path: Path, next_version: dict[int, str]) -> None:
    path = tmp_path / "memory.db"
    with_a_message(path)
    barrier = threading.Barrier(4)
    errors: list[BaseException] = []

    def migrate_it() -> None:
        try:
            with closing(raw(path)) as database:
                barrier.wait()
                prepare(database, str(path), target=NEXT)
        except BaseException as error:
            errors.append(error)

    threads = [threading.Thread(target=migrate_it) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert errors == []
    with closing(raw(path)) as database:
        assert database.execute("SELECT count(*) FROM moods") == [(1,)]
    assert [file.name for file in tmp_path.glob("*.tmp")] == []


def test_V105_a_migration_that_fails_leaves_the_file_as_it_was(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "memory.db"
    with_a_message(path)
    broken = {**migrations(), NEXT: f"{MIGRATION} INSERT INTO nowhere VALUES (1);"}
    monkeypatch.setattr(migrate, "migrations", lambda: broken)
    with closing(raw(path)) as database:
        before = schema(database)
        with pytest.raises(StoreError):
            prepare(database, str(path), target=NEXT)
        assert schema(database) == before
        assert database.execute("PRAGMA user_version") == [(SCHEMA_VERSION,)]
    monkeypatch.undo()
    with closing(SqliteStore(path, durability="normal")) as store:
        assert store.check() == []


def test_V105_a_newer_file_is_refused_and_both_versions_are_named(tmp_path: Path) -> None:
    path = tmp_path / "memory.db"
    with_a_message(path)
    with closing(raw(path)) as database:
        database.execute(f"PRAGMA user_version = {SCHEMA_VERSION + 6}")
    with pytest.raises(SchemaError, match=rf"version {SCHEMA_VERSION + 6}\b.*up to {SCHEMA_VERSION}\b"):
        SqliteStore(path)
    with closing(raw(path)) as database:
        assert database.execute("SELECT count(*) FROM messages") == [(1,)]


@pytest.mark.parametrize(
    "make",
    [
        lambda database: database.execute("CREATE TABLE groceries (name TEXT)"),
        lambda database: database.execute("PRAGMA application_id = 1"),
        lambda database: database.execute("PRAGMA user_version = 1"),
    ],
    ids=["tables", "application", "version"],
)
def test_a_database_of_another_program_is_refused(tmp_path: Path, make: Callable[[Database], object]) -> None:
    path = tmp_path / "other.db"
    with closing(connect(str(path), "apsw", timedelta())) as database:
        make(database)
    content = path.read_bytes()
    with pytest.raises(SchemaError, match="another program"):
        SqliteStore(path)
    assert path.read_bytes() == content
