"""`bethink bench year`: a user who comes back: what the end of a session costs after 10, 100, 1,000 of them.

    bethink bench year                     1,000 sessions, durable
    bethink bench year --sessions 3000 --insights 3
    bethink bench year --embedder minilm   with what is drawn and credited by meaning

Each session tells some facts, of which some change what was told before, decides something, and has something done; then it is
ended. What is timed is `Thread.end` alone, without a model: the drawing of insights, their reconciliation, the summary, the
episode, what leaves the profile, and the commit. Goal: p50 below 50 ms over the sessions about the last.
"""

from __future__ import annotations

import argparse
import tempfile
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from datetime import datetime, timedelta, timezone
from pathlib import Path
from statistics import median

import msgspec

from bethink.bench.measure import columns, print_json
from bethink.memory import Memory
from bethink.messages import Message, Role
from bethink.models.minilm import MiniLM
from bethink.models.tokens import BuiltinCounter
from bethink.testing.doubles import FrozenClock

__all__ = ["Year", "ends", "main", "session"]

GOAL = 0.050

_START = datetime(2026, 1, 1, 8, tzinfo=timezone.utc)
_MARKS = (10, 100, 1_000)
_AROUND = 20
_TOWNS = ("Ghent", "Porto", "Oslo", "Turin", "Basel", "Graz", "Nantes", "Tartu")
_TEMPLATES = ("slides", "letter", "table", "poster", "memo")


class Year(msgspec.Struct, frozen=True):
    """Seconds of each end, by wall clock and of the processor; how many records there are afterwards."""

    wall: tuple[float, ...]
    cpu: tuple[float, ...]
    records: dict[str, int]
    profile: int

    def about(self, session: int) -> tuple[float, float]:
        """Medians of the sessions up to that one, from 1."""
        part = slice(max(0, session - _AROUND), session)
        return median(self.wall[part]), median(self.cpu[part])

    @property
    def reached(self) -> bool:
        return self.about(len(self.wall))[0] < GOAL


def session(number: int, insights: int) -> Iterator[tuple[Role, str]]:
    """Who says what in a session; always the same for a number."""
    yield "user", f"Our goal is to send report {number} to the board."
    yield "assistant", "Gladly. What does it have to say?"
    if number % 10 == 0:
        yield "user", f"I live in {_TOWNS[number // 10 % len(_TOWNS)]} now. The sales of this quarter go first."
    for fact in range(insights):
        yield "user", f"I like dish {number * insights + fact}. Please mind it when you book the lunch."
        yield "assistant", "Noted, thank you. The lunch is at noon."
    yield "user", f"We decided to use the {_TEMPLATES[number % len(_TEMPLATES)]}, because it is short."
    yield "assistant", f"I have created reports/{number}.md with 3 sections and 12 figures."
    yield "user", "Perfect, that worked." if number % 4 else "It still fails to open."


def ends(memory: Memory, clock: FrozenClock, sessions: int, insights: int) -> Year:
    """Hold so many sessions and end each."""
    wall: list[float] = []
    cpu: list[float] = []
    for number in range(sessions):
        thread = memory.thread(f"session-{number}")
        thread.append([Message(role=role, content=text) for role, text in session(number, insights)])
        began = time.perf_counter(), time.thread_time()
        thread.end()
        wall.append(time.perf_counter() - began[0])
        cpu.append(time.thread_time() - began[1])
        clock.advance(timedelta(hours=8))
    return Year(tuple(wall), tuple(cpu), memory.stats().records, len(memory.profile()))


def main(argv: Sequence[str]) -> int:
    """Run the benchmark. Returns 1 if the goal was missed, and 0 otherwise."""
    parser = argparse.ArgumentParser(prog="bethink bench year", description="What the end of a session costs as they add up.")
    parser.add_argument("--sessions", type=int, default=1_000, help="how many (1000)")
    parser.add_argument("--insights", type=int, default=1, help="new facts in each (1)")
    parser.add_argument("--embedder", choices=("minilm", "none"), default="none", help="minilm, or none (none)")
    parser.add_argument("--folder", type=Path, help="where to put the database (a temporary folder)")
    parser.add_argument("--json", action="store_true", help="print JSON")
    options = parser.parse_args(argv)
    if options.sessions < 1:
        parser.error("--sessions: use 1 or more")
    if options.insights < 0:
        parser.error("--insights: use 0 or more")
    clock = FrozenClock(_START)
    with _folder(options.folder) as folder:
        embedder = None if options.embedder == "none" else MiniLM()
        if embedder is not None:
            embedder.embed(["Loaded before anything is timed."])
        memory = Memory(
            folder / "year.db", namespace=("bench", "year"), embedder=embedder, clock=clock, counter=BuiltinCounter()
        )
        with memory:
            year = ends(memory, clock, options.sessions, options.insights)
    marks = sorted({mark for mark in (*_MARKS, options.sessions) if mark <= options.sessions})
    rows = [(mark, *year.about(mark)) for mark in marks]
    if options.json:
        print_json(
            {
                "sessions": options.sessions,
                "ends": [{"session": mark, "ms": wall * 1e3, "cpu_ms": cpu * 1e3} for mark, wall, cpu in rows],
                "records": year.records,
                "profile": year.profile,
                "reached": year.reached,
            }
        )
    else:
        _print(year, rows, options.embedder)
    return 0 if year.reached else 1


def _print(year: Year, rows: Sequence[tuple[int, float, float]], embedder: str) -> None:
    table = [["session", "end p50 ms", "of which CPU ms"]]
    table += [[f"{mark:,}", f"{wall * 1e3:.1f}", f"{cpu * 1e3:.1f}"] for mark, wall, cpu in rows]
    models = "without a model" if embedder == "none" else f"with {embedder}"
    print(f"The end of a session, {models}: median of the {_AROUND} up to it\n\n{columns(table)}")
    counts = ", ".join(f"{count:,} of kind {kind}" for kind, count in sorted(year.records.items()))
    print(f"\nRecords: {counts}. The profile shows {year.profile}.")
    print(f"Goal: p50 below {GOAL * 1e3:.0f} ms at the end: {'reached' if year.reached else 'MISSED'}")


@contextmanager
def _folder(given: Path | None) -> Iterator[Path]:
    if given is not None:
        given.mkdir(parents=True, exist_ok=True)
        yield given
        return
    with tempfile.TemporaryDirectory() as folder:
        yield Path(folder)


if __name__ == "__main__":
    import sys

    sys.exit(main(sys.argv[1:]))
