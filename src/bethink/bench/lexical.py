"""`bethink bench lexical`: recall by words alone, of a tenant in a large file that the benchmark makes itself.

    made-up talk ─▶ a file of three tenants ─▶ a process that recalls from each, then adds to one

Tenants: "one" with `--records`, "small" with a hundredth of the file, "rest" with all others; their messages lie mixed in the
file, as when all talk at the same time. What is asked is the beginning of a text that nobody said, so that common words and
rare ones come as they do in talk (a word's frequency falls off as its rank rises, see talk.py). Times are CPU time of the
thread, so that a busy machine tells nearly the same as an idle one; of adding, also the time until it is on the disk.
"""

from __future__ import annotations

import argparse
import statistics
import sys
import tempfile
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor
from itertools import islice
from multiprocessing import get_context
from pathlib import Path
from time import perf_counter, thread_time
from typing import Any

import msgspec

from bethink.bench.measure import columns, print_json
from bethink.bench.talk import START, turns
from bethink.memory import Memory
from bethink.messages import Message
from bethink.retrieval.terms import query_terms
from bethink.storage.base import Append, Cursor, Put, Scan, Scope, Search
from bethink.storage.sqlite import SqliteStore

__all__ = ["Figures", "Tenant", "main", "measure"]

GOALS: dict[str, float] = {"one recall_ms_p50": 5.0, "small recall_ms_p50": 5.0, "add_ms_p50": 2.0}
"""For 100,000 records of "one" in 1,000,000. None is to be passed."""

_ASKED = 60
"""Characters of a query."""
_BLOCK = 2_000
_LIMIT, _AROUND = 48, 16
"""As recall asks the store."""


class Tenant(msgspec.Struct, frozen=True):
    """Figures of one tenant, in milliseconds of CPU time.

    Attributes:
        first_ms: the first recall of the process, which opens the file and imports what it needs.
        search_ms_p50: the store's part: candidates with their neighbours and statistics.
        recall_ms_p50: all of it.
    """

    records: int
    first_ms: float
    search_ms_p50: float
    search_ms_p95: float
    recall_ms_p50: float
    recall_ms_p95: float


class Figures(msgspec.Struct, frozen=True):
    """What was measured.

    Attributes:
        bytes_a_record: of the whole file.
        add_ms_p50: one more note of "one", in milliseconds of CPU time; `add_wall_ms_p50` until the disk has it.
    """

    records: int
    file_mb: float
    bytes_a_record: int
    tenants: dict[str, Tenant]
    add_ms_p50: float
    add_ms_p95: float
    add_wall_ms_p50: float


# -- the file -------------------------------------------------------------------------------------------------------------


def _make(path: Path, tenants: dict[str, int], progress: Callable[[str], None]) -> None:
    store = SqliteStore(path, durability="normal")
    try:
        total, done = sum(tenants.values()), 0
        words = {name: turns(count, seed=seed) for seed, (name, count) in enumerate(tenants.items())}
        for number, name in enumerate(_mixed(tenants)):
            said = [msgspec.structs.replace(each, id=f"{number}-{at}") for at, each in enumerate(islice(words[name], _BLOCK))]
            _add(store, name, f"t{number}", said)
            done += len(said)
            progress(f"{done:,} of {total:,}")
    finally:
        store.close()


def _mixed(tenants: dict[str, int]) -> Iterator[str]:
    """A name for each block of messages, every tenant's spread evenly over the whole."""
    blocks = {name: -(-count // _BLOCK) for name, count in tenants.items()}
    places = [((at + 0.5) / count, name) for name, count in blocks.items() for at in range(count)]
    return (name for _, name in sorted(places))


def _add(store: SqliteStore, tenant: str, thread: str, said: list[Message]) -> None:
    """Messages of a new thread, settled: they are in the full-text index, and nothing is to be drawn from them."""
    store.append(Append(namespace=(tenant,), thread_id=thread, messages=tuple(said), at=START))
    store.scan(Scan(what="pending", scope=Scope((tenant,)), limit=1))
    store.put(Put(namespace=(tenant,), cursor=Cursor(thread, "extracted", 0, len(said))))


# -- measuring ------------------------------------------------------------------------------------------------------------


def measure(
    records: int, total: int, *, queries: int = 200, path: Path, progress: Callable[[str], None] = lambda _: None
) -> Figures:
    """Make a file at `path` unless it is there, and measure it. About 0.3 ms of CPU time a record, and 1 kB of disk.

    Args:
        records: of tenant "one".
        total: of the file.
    """
    small = max(1, total // 100)
    tenants = {"one": records, "small": small, "rest": total - records - small}
    tenants = {name: count for name, count in tenants.items() if count > 0}
    if not path.exists():
        _make(path, tenants, progress)
    progress("searching")
    with ProcessPoolExecutor(1, get_context("spawn")) as pool:
        return pool.submit(_searched, path, tenants, queries).result()


def _searched(path: Path, tenants: dict[str, int], queries: int) -> Figures:
    """The part that runs in a process of its own."""
    size = path.stat().st_size
    asked = [message.text[:_ASKED] for message in turns(queries, seed=77)]
    found = {name: _tenant(path, name, count, asked) for name, count in tenants.items()}
    cpu, wall = _adding(path, queries)
    total = sum(tenants.values())
    return Figures(total, size / 1e6, size // total, found, *_percentiles(cpu), _percentiles(wall)[0])


def _tenant(path: Path, name: str, count: int, asked: Sequence[str]) -> Tenant:
    store = SqliteStore(path)
    try:
        requests = [Search(scope=Scope((name,)), terms=query_terms(text), limit=_LIMIT, around=_AROUND) for text in asked]
        searches = [took for took, _ in map(_timed(store.search), requests)]
    finally:
        store.close()
    with Memory(path, embedder=None, namespace=(name,)) as memory:
        recall = _timed(memory.recall)
        first, _ = recall(asked[0])
        recalls = [took for took, _ in map(recall, asked)]
    return Tenant(count, first, *_percentiles(searches), *_percentiles(recalls))


def _adding(path: Path, count: int) -> tuple[list[float], list[float]]:
    """Milliseconds of each of some notes: CPU time, and until it is stored."""
    with Memory(path, embedder=None, namespace=("one",)) as memory:
        add = _timed(memory.store)
        took = [add(message.text) for message in turns(count, seed=99)]
    return [cpu for cpu, _ in took], [wall for _, wall in took]


def _timed(call: Callable[[Any], object]) -> Callable[[Any], tuple[float, float]]:
    """The call, returning milliseconds of CPU time and of the clock."""

    def timed(given: Any) -> tuple[float, float]:
        clock, cpu = perf_counter(), thread_time()
        call(given)
        return (thread_time() - cpu) * 1e3, (perf_counter() - clock) * 1e3

    return timed


def _percentiles(took: list[float]) -> tuple[float, float]:
    return statistics.median(took), statistics.quantiles(took, n=20, method="inclusive")[-1] if len(took) > 1 else took[0]


# -- printing -------------------------------------------------------------------------------------------------------------


def main(argv: list[str]) -> int:
    """Run the benchmark. Returns 1 if a goal was missed at the size that the goals are for, and 0 otherwise."""
    parser = argparse.ArgumentParser(prog="bethink bench lexical", description="Recall by words of a tenant in a large file.")
    parser.add_argument("--records", type=int, default=10_000, help='records of the tenant "one" (10000)')
    parser.add_argument("--in", dest="total", type=int, default=None, help="records in the file (ten times as many)")
    parser.add_argument("--queries", type=int, default=200, help="queries of each tenant, and notes added (200)")
    parser.add_argument(
        "--file", type=Path, default=None, help="where to make the file, which stays; one made so is used again"
    )
    parser.add_argument("--json", action="store_true", help="print JSON")
    options = parser.parse_args(argv)
    total = 10 * options.records if options.total is None else options.total
    if options.records < 1 or total < options.records or options.queries < 1:
        parser.error("use --records of 1 or more, --in of no less, and --queries of 1 or more")
    with tempfile.TemporaryDirectory() as folder:
        path = options.file or Path(folder) / "lexical.db"
        figures = measure(options.records, total, queries=options.queries, path=path, progress=_progress)
    print(file=sys.stderr)
    if options.json:
        print_json(figures)
    else:
        print(_table(figures))
    return int(options.records >= 100_000 and total >= 1_000_000 and bool(_missed(figures)))


def _progress(done: str) -> None:
    print(f"\r{done:<60}", end="", file=sys.stderr, flush=True)


def _missed(figures: Figures) -> list[str]:
    """The goals that were not reached."""
    flat = {
        f"{name} {field}": value
        for name, tenant in figures.tenants.items()
        for field, value in msgspec.structs.asdict(tenant).items()
    }
    flat["add_ms_p50"] = figures.add_ms_p50
    return [name for name, goal in GOALS.items() if name in flat and flat[name] > goal]


def _table(figures: Figures) -> str:
    rows = [["tenant", "records", "first ms", "search p50", "p95", "recall p50", "p95"]]
    for name, tenant in figures.tenants.items():
        times = msgspec.structs.astuple(tenant)[1:]
        rows.append([name, f"{tenant.records:,}", *[f"{value:.2f}" for value in times]])
    goals = ", ".join(f"{name} {goal:g}" for name, goal in GOALS.items())
    return "\n".join(
        [
            columns(rows),
            f"one more note {figures.add_ms_p50:.2f} ms, p95 {figures.add_ms_p95:.2f}, "
            f"on disk after {figures.add_wall_ms_p50:.2f}",
            f"file {figures.file_mb:,.0f} MB, {figures.bytes_a_record:,} bytes a record",
            f"CPU milliseconds; goals for 100,000 in 1,000,000: {goals}",
        ]
    )
