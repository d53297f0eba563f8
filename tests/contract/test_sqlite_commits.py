"""Group commit: writers who wait for the disk together, and nobody's work lost or mixed with another's."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest
from tests.contract.sqlite_files import EVERYTHING, add, opened, texts

from bethink.errors import NotFound, StoreClosed
from bethink.storage.sqlite import SqliteStore
from bethink.storage.sqlite.connection import Durability, Options
from bethink.storage.sqlite.driver import Database
from bethink.storage.sqlite.writer import Writer


@pytest.fixture
def store(tmp_path: Path) -> Iterator[SqliteStore]:
    with closing(opened(tmp_path / "memory.db")) as store:
        yield store
        assert store.check() == []


class Recording:
    """A database that counts its commits, each of which takes as long as on a slow disk."""

    def __init__(self, database: Database, delay: float = 0.005) -> None:
        self._database = database
        self._delay = delay
        self.commits = 0

    def __getattr__(self, name: str) -> Any:
        return getattr(self._database, name)

    def execute(self, sql: str, parameters: Sequence[Any] = ()) -> list[tuple[Any, ...]]:
        if sql == "COMMIT":
            self.commits += 1
            time.sleep(self._delay)
        return self._database.execute(sql, parameters)


def recording(store: SqliteStore, **options: Any) -> Recording:
    database = store._writer._database
    assert database is not None
    store._writer._database = wrapped = Recording(database, **options)
    return wrapped


def test_concurrent_appends_share_commits(store: SqliteStore) -> None:
    database = recording(store)

    def use(thread: int) -> None:
        for number in range(5):
            add(store, f"t{thread}", "one", prefix=f"m{number}")

    with ThreadPoolExecutor(16) as pool:
        list(pool.map(use, range(16)))
    assert store.stats(EVERYTHING).messages == 80
    assert database.commits <= 30


def test_a_single_caller_commits_each_append_at_once(store: SqliteStore) -> None:
    database = recording(store, delay=0)
    for number in range(5):
        add(store, "t", "one", prefix=f"m{number}")
    assert database.commits == 5


def test_what_is_relaxed_does_not_wait_for_the_disk_and_what_comes_next_does(tmp_path: Path) -> None:
    with closing(opened(tmp_path / "m.db", durability="full")) as store:
        levels: list[int] = []

        def note_level(database: Database) -> None:
            levels.append(database.execute("PRAGMA synchronous")[0][0])

        for relaxed in (False, True, True, False):
            store._writer.run(note_level, relaxed=relaxed)
        assert levels == [2, 1, 1, 2]


def test_a_group_waits_for_the_disk_if_one_of_it_must(tmp_path: Path) -> None:
    writer, gate, leader = writer_with_queue(tmp_path / "m.db", "full")
    levels: list[int] = []

    def note_level(database: Database) -> None:
        levels.append(database.execute("PRAGMA synchronous")[0][0])

    threads = [threading.Thread(target=writer.run, args=(note_level,), kwargs={"relaxed": bool(index)}) for index in (0, 1)]
    for count, thread in enumerate(threads, 1):
        thread.start()
        while len(writer._queue) < count:
            time.sleep(0.001)
    gate.set()
    for thread in (leader, *threads):
        thread.join()
    assert levels == [2, 2]
    writer.close()


def writer_with_queue(path: Path, durability: Durability = "normal") -> tuple[Writer, threading.Event, threading.Thread]:
    """A writer whose leader is held up, so that what is run next makes one group."""
    with closing(opened(path)):
        pass
    writer = Writer(Options(str(path), "apsw", durability, timedelta(seconds=5)))
    gate, leading = threading.Event(), threading.Event()

    def hold(_: Database) -> None:
        leading.set()
        assert gate.wait(10)

    leader = threading.Thread(target=writer.run, args=(hold,))
    leader.start()
    assert leading.wait(10)
    return writer, gate, leader


def run_as_group(path: Path, operations: list[Callable[[Database], Any]]) -> tuple[list[Any], list[tuple[Any, ...]]]:
    """What each returned or raised, and the keys of meta that are there afterwards."""
    writer, gate, leader = writer_with_queue(path)
    outcomes: list[Any] = [None] * len(operations)

    def call(index: int) -> None:
        try:
            outcomes[index] = writer.run(operations[index])
        except Exception as error:
            outcomes[index] = error

    threads = []
    for index in range(len(operations)):
        threads.append(threading.Thread(target=call, args=(index,)))
        threads[-1].start()
        while len(writer._queue) <= index:
            time.sleep(0.001)
    gate.set()
    for thread in (leader, *threads):
        thread.join()
    keys = writer.alone(lambda database: database.execute("SELECT key FROM meta WHERE key LIKE 'x%' ORDER BY key"))
    writer.close()
    return outcomes, keys


def writes(key: str, *, then: Exception | None = None) -> Callable[[Database], str]:
    def operation(database: Database) -> str:
        database.execute("INSERT INTO meta (key, value) VALUES (?, 1)", (key,))
        if then is not None:
            raise then
        return key

    return operation


def refuses(_: Database) -> None:
    raise NotFound("nothing of the kind")


def test_one_refusal_leaves_the_rest_of_its_group_alone(tmp_path: Path) -> None:
    outcomes, keys = run_as_group(tmp_path / "m.db", [writes("x1"), refuses, writes("x2")])
    assert outcomes[0] == "x1"
    assert isinstance(outcomes[1], NotFound)
    assert keys == [("x1",), ("x2",)]


def test_one_failure_after_a_write_takes_only_its_own_writes_away(tmp_path: Path) -> None:
    error = RuntimeError("half way")
    outcomes, keys = run_as_group(tmp_path / "m.db", [writes("x1"), writes("x2", then=error), writes("x3")])
    assert outcomes == ["x1", error, "x3"]
    assert keys == [("x1",), ("x3",)]


def test_an_operation_alone_does_not_join_a_group(tmp_path: Path) -> None:
    writer, gate, leader = writer_with_queue(tmp_path / "m.db")
    seen: list[bool] = []
    solo = threading.Thread(target=lambda: seen.append(writer.alone(lambda database: database.in_transaction())))
    solo.start()
    while not writer._queue:
        time.sleep(0.001)
    other = threading.Thread(target=lambda: writer.run(writes("x1")))
    other.start()
    gate.set()
    for thread in (leader, solo, other):
        thread.join()
    assert seen == [False]
    writer.close()


def test_closing_waits_for_the_writes_under_way(tmp_path: Path) -> None:
    store = opened(tmp_path / "memory.db")
    database = recording(store, delay=0.05)
    writing = threading.Thread(target=add, args=(store, "t", "hello"))
    writing.start()
    while not database.commits:
        time.sleep(0.001)
    store.close()
    writing.join()
    with pytest.raises(StoreClosed):
        add(store, "t", "late", prefix="x")
    with closing(opened(tmp_path / "memory.db")) as store:
        assert texts(store, "t") == ["hello"]
