"""The storage contract on SQLite, with each driver."""

from __future__ import annotations

import warnings
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import pytest

from bethink.storage.base import Store
from bethink.storage.sqlite import SqliteStore
from bethink.storage.sqlite.driver import Driver
from bethink.testing.store import StoreContract


@pytest.fixture(params=["apsw", "sqlite3"])
def driver(request: pytest.FixtureRequest) -> Iterator[Driver]:
    chosen: Driver = request.param
    with warnings.catch_warnings():
        # The standard library's SQLite has the WAL-reset bug on most Pythons; that it says so is tested elsewhere.
        warnings.simplefilter("ignore", RuntimeWarning)
        yield chosen


class TestSqliteStore(StoreContract):
    @pytest.fixture
    def store(self, tmp_path: Path, driver: Driver) -> Iterator[SqliteStore]:
        with closing(SqliteStore(tmp_path / "memory.db", driver=driver, durability="normal")) as store:
            yield store

    def reopen(self, store: Store) -> Store:
        assert isinstance(store, SqliteStore)
        return SqliteStore(store.path)
