"""`bethink bench append`: what keeping one message costs when the disk must have it before the call returns.

Part one, in turns within one run, each on a file of its own, one message of some 600 bytes a call, `synchronous = FULL`.
A turn is `--stint` calls in a row (25), as a writer does who has that much to say; with `--stint 1` every call comes after
those of all the others, which evict its code and data from the processor's caches:

    bethink             Thread.append: the message, its place in the thread, its index terms
    bethink async       AsyncThread.append: the same from an event loop, one hop to a worker thread
    openai-agents       SQLiteSession.add_items, awaited (it hops to a worker thread itself)
    langgraph           SqliteSaver.put of a checkpoint whose state is the conversation so far, at most 200 plain dicts
    langgraph, 1        the same with a state of this one message: not a conversation, but the least a put can cost
    disk                write and fsync of as many bytes to a plain file: what no store can undercut

LangGraph writes the whole state at each put, so a longer conversation costs it more: the goal is for one that grows to 200
messages, as those of bethink and openai-agents grow here without end. In a graph it also commits the writes of each step
(`put_writes`); that is left out here.

Part two: many writers at once, with group commit and with one commit for each append, see `writers`. Where even a store that
waits for no disk would not reach the goal, no group commit can, and the goal is not judged.

What is compared is calls a second over whole repeats ("rate"), beside the ratio of median calls.
"""

from __future__ import annotations

import argparse
import asyncio
import importlib.util
import os
import tempfile
from collections.abc import Awaitable, Callable, Sequence
from contextlib import AsyncExitStack, closing
from pathlib import Path
from typing import Any, NamedTuple

from bethink.async_memory import AsyncMemory
from bethink.bench.measure import Series, Spread, columns, milliseconds, print_json, spread, take_turns
from bethink.bench.talk import text_of
from bethink.bench.writers import SLOWER, Load, Writers, measure
from bethink.memory import Memory
from bethink.storage.sqlite import SqliteStore

__all__ = ["main"]

OURS, OURS_ASYNC, SESSION, SAVER, SAVER_LEAST, DISK = (
    "bethink",
    "bethink async",
    "openai-agents",
    "langgraph",
    "langgraph, 1",
    "disk",
)
PEERS = (SESSION, SAVER, SAVER_LEAST)
GOALS = {SESSION: 2.0, SAVER: 1.5}
GROUP_GOAL = 5.0
FULL = 2
"""What `PRAGMA synchronous` answers for FULL."""

_TEXTS = 256
_CONVERSATION = 200

Call = Callable[[int], "Awaitable[object] | None"]


class Contestant(NamedTuple):
    call: Call
    synchronous: int | None
    """What `PRAGMA synchronous` says on the connection that writes; None for a plain file."""


def main(argv: list[str]) -> int:
    """Run the benchmark. Returns 1 if a goal that could be measured was missed, and 0 otherwise."""
    parser = argparse.ArgumentParser(prog="bethink bench append", description="Durable appends a second.")
    parser.add_argument("--calls", type=int, default=200, help="appends of each store in a repeat (200)")
    parser.add_argument("--repeats", type=int, default=5, help="repeats (5)")
    parser.add_argument("--stint", type=int, default=25, help="calls in a row in each turn (25)")
    parser.add_argument("--size", type=int, default=600, help="characters of a message (600)")
    parser.add_argument("--writers", type=int, default=32, help="concurrent writers in part two (32)")
    parser.add_argument("--each", type=int, default=20, help="appends of each of them in a repeat (20)")
    parser.add_argument("--folder", type=Path, help="where to put the databases (a temporary folder)")
    parser.add_argument("--json", action="store_true", help="print JSON")
    options = parser.parse_args(argv)

    with tempfile.TemporaryDirectory(dir=options.folder) as name:
        folder = Path(name)
        series, synchronous, missing = asyncio.run(_one_at_a_time(folder, options))
        load = Load(options.writers, options.each, options.size)
        writers = {
            f"{kind}{disk}": found
            for disk, slower in (("", 0.0), (f", +{SLOWER * 1e3:g} ms", SLOWER))
            for kind, found in measure(folder / f"slower-{slower}", load, options.repeats, slower=slower).items()
        }
    ratios = {name: series[OURS].times_the_rate_of(one) for name, one in series.items() if name in PEERS}
    reached = all(ratios[peer].median >= goal for peer, goal in GOALS.items() if peer in ratios)
    reached = reached and not any(_group_verdict(found) == "MISSED" for found in writers.values())
    if options.json:
        print_json(
            {
                "append": {name: {**one.summary(), "synchronous": synchronous[name]} for name, one in series.items()},
                "rate_ratio": ratios,
                "median_ratio": {peer: series[OURS].times_as_fast_as(series[peer]) for peer in ratios},
                "writers": {
                    kind: {
                        "count": options.writers,
                        "group_commit_per_second": spread(found.grouped),
                        "one_commit_each_per_second": spread(found.alone),
                        "unbound_per_second": spread(found.unbound),
                        "ratio": found.ratio,
                        "ceiling": found.ceiling,
                        "verdict": _group_verdict(found),
                    }
                    for kind, found in writers.items()
                },
                "not_installed": missing,
            }
        )
    else:
        _print(options, series, synchronous, missing, ratios)
        print(f"\n{options.writers} writers at once, {options.each} appends each, appends a second\n")
        rows = [["", "one commit each", "group commit", "no disk at all", "ratio", "ceiling", f"goal {GROUP_GOAL:g}"]]
        for kind, found in writers.items():
            rates = [spread(each).text(".0f") for each in found]
            rows.append([kind, *rates, found.ratio.text(".1f"), found.ceiling.text(".1f"), _group_verdict(found)])
        print(columns(rows))
    return 0 if reached else 1


def _print(
    options: argparse.Namespace,
    series: dict[str, Series],
    synchronous: dict[str, int | None],
    missing: list[str],
    ratios: dict[str, Spread],
) -> None:
    print(f"one message of {options.size} characters a transaction, in turns, {options.repeats} repeats of {options.calls}")
    print("medians of the repeats [least-greatest]; milliseconds\n")
    rows = [["", "p50", "mean", "per second", "synchronous"]]
    for name, one in series.items():
        level = {None: "fsync", FULL: "FULL"}.get(synchronous[name], str(synchronous[name]))
        rows.append([name, milliseconds(one.p50).text(), milliseconds(one.mean).text(), one.rate.text(".0f"), level])
    print(columns(rows))
    table = [["ratio", "per second", "by median call", "goal"]]
    for peer, ratio in ratios.items():
        goal = f"{GOALS[peer]:g} {_verdict(ratio, GOALS[peer])}" if peer in GOALS else "-"
        table.append([f"bethink / {peer}", ratio.text(), series[OURS].times_as_fast_as(series[peer]).text(), goal])
    if ratios:
        print("\n" + columns(table))
    if missing:
        print(f'\nnot measured, because not installed: {", ".join(missing)} - pip install "bethink[bench]"')


def _group_verdict(found: Writers) -> str:
    if found.ratio.median >= GROUP_GOAL:
        return "reached"
    return "MISSED" if found.ceiling.median >= GROUP_GOAL else "above the ceiling"


def _verdict(ratio: Spread, goal: float) -> str:
    return "reached" if ratio.median >= goal else "MISSED"


# -- one at a time --------------------------------------------------------------------------------------------------------


async def _one_at_a_time(
    folder: Path, options: argparse.Namespace
) -> tuple[dict[str, Series], dict[str, int | None], list[str]]:
    texts = [text_of(number, options.size) for number in range(_TEXTS)]
    contestants: dict[str, Contestant] = {}
    missing: list[str] = []
    async with AsyncExitStack() as stack:
        contestants[OURS] = _ours(folder, texts, stack)
        contestants[OURS_ASYNC] = _ours_async(folder, texts, stack)
        if _installed("agents"):
            contestants[SESSION] = await _session(folder, texts, stack)
        else:
            missing.append("openai-agents")
        if _installed("langgraph.checkpoint.sqlite"):
            contestants[SAVER] = _saver(folder, texts, stack, conversation=_CONVERSATION)
            contestants[SAVER_LEAST] = _saver(folder, texts, stack, conversation=1)
        else:
            missing.append("langgraph-checkpoint-sqlite")
        contestants[DISK] = _disk(folder, texts, stack)
        calls = {name: contestant.call for name, contestant in contestants.items()}
        series = await take_turns(calls, calls=options.calls, repeats=options.repeats, stint=options.stint)
    return series, {name: contestant.synchronous for name, contestant in contestants.items()}, missing


def _installed(module: str) -> bool:
    try:
        return importlib.util.find_spec(module) is not None
    except ModuleNotFoundError:  # of a parent package
        return False


def _ours(folder: Path, texts: Sequence[str], stack: AsyncExitStack) -> Contestant:
    store = SqliteStore(folder / "bethink.db")
    memory = stack.enter_context(Memory(store=store, embedder=None))
    thread = memory.thread("t")

    def call(number: int) -> None:
        thread.append([{"role": "user", "content": texts[number % len(texts)]}])

    return Contestant(call, _synchronous(store))


def _ours_async(folder: Path, texts: Sequence[str], stack: AsyncExitStack) -> Contestant:
    store = SqliteStore(folder / "bethink-async.db")
    memory = AsyncMemory(store=store, embedder=None)
    stack.push_async_callback(memory.close)
    thread = memory.thread("t")

    def call(number: int) -> Awaitable[object]:
        return thread.append([{"role": "user", "content": texts[number % len(texts)]}])

    return Contestant(call, _synchronous(store))


def _synchronous(store: SqliteStore) -> int:
    level: int = store._writer.run(lambda database: database.execute("PRAGMA synchronous"))[0][0]
    return level


async def _session(folder: Path, texts: Sequence[str], stack: AsyncExitStack) -> Contestant:
    from agents import SQLiteSession

    session: Any = SQLiteSession("t", folder / "openai-agents.db")
    stack.callback(session.close)

    def call(number: int) -> Awaitable[object]:
        added: Awaitable[object] = session.add_items([{"role": "user", "content": texts[number % len(texts)]}])
        return added

    # Its connections belong to worker threads; they are all made by the same function.
    rows = await asyncio.to_thread(lambda: session._get_connection().execute("PRAGMA synchronous").fetchall())
    return Contestant(call, rows[0][0])


def _saver(folder: Path, texts: Sequence[str], stack: AsyncExitStack, *, conversation: int) -> Contestant:
    import sqlite3

    from langgraph.checkpoint.base import empty_checkpoint
    from langgraph.checkpoint.sqlite import SqliteSaver

    path = folder / f"langgraph-{conversation}.db"
    connection = stack.enter_context(closing(sqlite3.connect(path, check_same_thread=False)))
    saver: Any = SqliteSaver(connection)
    saver.setup()
    config: dict[str, Any] = {}
    state: list[dict[str, str]] = []

    def call(number: int) -> None:
        nonlocal config, state
        if number % conversation == 0 or not config:
            config, state = {"configurable": {"thread_id": f"t{number}", "checkpoint_ns": ""}}, []
        state = [*state, {"role": "user", "content": texts[number % len(texts)]}]
        checkpoint = empty_checkpoint()
        checkpoint["channel_values"] = {"messages": state}
        checkpoint["channel_versions"] = {"messages": number}
        config = saver.put(config, checkpoint, {"source": "loop", "step": number, "parents": {}}, {"messages": number})

    return Contestant(call, connection.execute("PRAGMA synchronous").fetchone()[0])


def _disk(folder: Path, texts: Sequence[str], stack: AsyncExitStack) -> Contestant:
    file = os.open(folder / "plain", os.O_WRONLY | os.O_CREAT | os.O_APPEND)
    stack.callback(os.close, file)
    sync = getattr(os, "fdatasync", os.fsync)

    def call(number: int) -> None:
        os.write(file, texts[number % len(texts)].encode())
        sync(file)

    return Contestant(call, None)


if __name__ == "__main__":
    import sys

    sys.exit(main(sys.argv[1:]))
