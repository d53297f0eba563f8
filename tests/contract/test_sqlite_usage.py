"""What `check` finds wrong with the rows of usage and of model calls, and what of them is in the file."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import pytest

from bethink.storage.sqlite import SqliteStore
from bethink.testing._contract import append, put, receipt, say, scan
from bethink.testing._contract_usage import call, usage


@pytest.fixture
def store(tmp_path: Path) -> Iterator[SqliteStore]:
    with closing(SqliteStore(tmp_path / "memory.db", durability="normal")) as opened:
        append(opened, say("m1"))
        put(opened, receipt=receipt("c1"), usage=usage("c1"), calls=(call(),))
        assert opened.check() == []
        yield opened


@pytest.mark.parametrize(
    ("statement", "problem"),
    [
        ("DELETE FROM receipts", "is of a receipt that is not there"),
        ("UPDATE usage SET body = CAST('{}' AS BLOB)", "cannot be read"),
        ("UPDATE receipts SET receipt_id = 'c2'", "differs from its receipt"),
        ("UPDATE model_calls SET thread = 99", "is of a thread that is not there"),
        ("UPDATE model_calls SET body = CAST('[' AS BLOB)", "cannot be read"),
        ("UPDATE threads SET thread_id = 'x'", "differs from its row"),
    ],
)
def test_check_finds_a_row_that_is_wrong(store: SqliteStore, statement: str, problem: str) -> None:
    store._writer.run(lambda database: database.execute(statement))
    assert problem in [found.what for found in store.check()]


def test_a_row_that_cannot_be_read_is_an_error_where_it_is_asked_for(store: SqliteStore) -> None:
    from bethink.errors import CorruptStore

    store._writer.run(lambda database: database.execute("UPDATE usage SET body = CAST('{' AS BLOB)"))
    with pytest.raises(CorruptStore):
        scan(store, "usage")
