"""Many writers at once, each with a thread of its own: with group commit, and with one commit for each append.

    threads     operating system threads that call `Thread.append`; Python runs one of them at a time
    tasks       tasks of one event loop that await `AsyncThread.append`

One commit for each is the same store with groups of one: for tasks, each append then also makes its own hop to a worker thread.

Sharing a commit saves waits for the disk, and nothing else. What an append costs besides, mostly in Python and in pages of its
own, bounds what it can come to, and a disk that answers at once leaves little to save. So two more are measured: the same
writers with a store that waits for no disk at all, which is the ceiling; and all of it with a disk that is slower by `SLOWER`
seconds a commit, as that of a rented machine often is.
"""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Callable
from contextlib import closing
from functools import partial
from pathlib import Path
from time import perf_counter, sleep
from typing import Any, NamedTuple

import anyio.to_thread

from bethink.async_memory import AsyncMemory
from bethink.bench.measure import Spread, spread
from bethink.bench.talk import text_of
from bethink.memory import Memory
from bethink.storage.sqlite import SqliteStore
from bethink.storage.sqlite.driver import Database

__all__ = ["SLOWER", "Load", "Writers", "measure"]

SLOWER = 0.001


class Load(NamedTuple):
    """How many write at once, how many appends each makes, and of how many characters."""

    writers: int
    each: int
    size: int


class Writers(NamedTuple):
    """Appends a second of all writers together, repeat by repeat."""

    alone: list[float]
    grouped: list[float]
    unbound: list[float]
    """Grouped as well, waiting for no disk."""

    @property
    def ratio(self) -> Spread:
        return self._times_alone(self.grouped)

    @property
    def ceiling(self) -> Spread:
        """What the ratio would be if no commit took any wait."""
        return self._times_alone(self.unbound)

    def _times_alone(self, rates: list[float]) -> Spread:
        return spread([rate / alone for rate, alone in zip(rates, self.alone, strict=True)])


class _Slow:
    """A database whose commits take longer."""

    def __init__(self, database: Database, seconds: float) -> None:
        self._database = database
        self._seconds = seconds

    def __getattr__(self, name: str) -> Any:
        return getattr(self._database, name)

    def execute(self, sql: str, parameters: Any = ()) -> list[Any]:
        if sql == "COMMIT":
            sleep(self._seconds)
        return self._database.execute(sql, parameters)


def measure(folder: Path, load: Load, repeats: int, *, slower: float = 0) -> dict[str, Writers]:
    """In turns, each on a file of its own, with commits that are slower by so many seconds; the first repeat is not counted."""
    folder.mkdir()
    found = {"threads": Writers([], [], []), "tasks": Writers([], [], [])}
    with (
        closing(SqliteStore(folder / "threads-alone.db")) as threads_alone,
        closing(SqliteStore(folder / "threads.db")) as threads,
        closing(SqliteStore(folder / "threads-unbound.db", durability="normal")) as threads_unbound,
        closing(SqliteStore(folder / "tasks-alone.db")) as tasks_alone,
        closing(SqliteStore(folder / "tasks.db")) as tasks,
        closing(SqliteStore(folder / "tasks-unbound.db", durability="normal")) as tasks_unbound,
    ):
        threads_alone._writer.max_group = tasks_alone._writer.max_group = 1
        if slower:
            for store in (threads_alone, threads, tasks_alone, tasks):
                database = store._writer._database
                assert database is not None, "opening the file opens it"
                slow: Any = _Slow(database, slower)
                store._writer._database = slow
        turns: list[tuple[list[float], Callable[[list[list[str]]], float]]] = [
            (found["threads"].alone, partial(_threads, threads_alone)),
            (found["threads"].grouped, partial(_threads, threads)),
            (found["threads"].unbound, partial(_threads, threads_unbound)),
            (found["tasks"].alone, partial(_tasks, tasks_alone, own_hop=True)),
            (found["tasks"].grouped, partial(_tasks, tasks, own_hop=False)),
            (found["tasks"].unbound, partial(_tasks, tasks_unbound, own_hop=False)),
        ]
        for repeat in range(-1, repeats):
            for rates, run in turns:
                seconds = run(_texts(load, repeat + 1))
                if repeat >= 0:
                    rates.append(load.writers * load.each / seconds)
    return found


def _texts(load: Load, repeat: int) -> list[list[str]]:
    """What each writer has to say."""
    return [
        [text_of(repeat * 1_000_000 + writer * 1_000 + number, load.size) for number in range(load.each)]
        for writer in range(load.writers)
    ]


def _threads(store: SqliteStore, texts: list[list[str]]) -> float:
    """Seconds from the moment they may start until the last is done."""
    memory = Memory(store=store, embedder=None)
    start = threading.Barrier(len(texts) + 1)

    def write(writer: int) -> None:
        thread = memory.thread(f"writer-{writer}")
        start.wait()
        for text in texts[writer]:
            thread.append([{"role": "user", "content": text}])

    writers = [threading.Thread(target=write, args=(writer,)) for writer in range(len(texts))]
    for each in writers:
        each.start()
    start.wait()
    started = perf_counter()
    for each in writers:
        each.join()
    return perf_counter() - started


def _tasks(store: SqliteStore, texts: list[list[str]], *, own_hop: bool) -> float:
    memory = AsyncMemory(store=store, embedder=None)
    plain = Memory(store=store, embedder=None)

    async def write(writer: int) -> None:
        name = f"writer-{writer}"
        thread, sync = memory.thread(name), plain.thread(name)
        for text in texts[writer]:
            message = {"role": "user", "content": text}
            if own_hop:
                await anyio.to_thread.run_sync(sync.append, [message])
            else:
                await thread.append([message])

    async def run() -> float:
        started = perf_counter()
        await asyncio.gather(*map(write, range(len(texts))))
        return perf_counter() - started

    return asyncio.run(run())
