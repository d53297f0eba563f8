"""`bethink bench context`: what the context of a long thread costs once it is compacted.

A conversation of made-up talk is appended, then its first context is asked for: that draws insights from all of it and folds
it, which is timed apart. After that each sample is one more user message (not timed) and one context for it (timed), as an
agent does it: recall, profile, summary, recent messages, receipt. The same is done at several lengths, with and without an
embedder, because what is promised is a time that does not grow with the thread.

With an embedder, a context also embeds the new message and the query; both are part of the time.

`--profile` shows where the time goes: own and cumulative time of each function within one context.
"""

from __future__ import annotations

import argparse
import cProfile
import pstats
import tempfile
from collections.abc import Callable, Iterator
from datetime import timedelta
from pathlib import Path
from time import perf_counter

import msgspec

from bethink.bench.measure import Series, columns, milliseconds, print_json
from bethink.bench.talk import START, turns
from bethink.memory import Memory
from bethink.messages import Message
from bethink.models.minilm import MiniLM
from bethink.thread import Thread

__all__ = ["main"]

GOAL_MS = 10.0
_BATCH = 500
_PROFILED_LINES = 30


class Case(msgspec.Struct, frozen=True):
    """What was measured at one length, with or without an embedder. Times in seconds."""

    messages: int
    embedder: bool
    append: float
    embed: float
    first: float
    contexts: Series
    tokens: int
    nodes: int


def main(argv: list[str]) -> int:
    """Run the benchmark. Returns 1 if the goal was missed at the greatest length, and 0 otherwise."""
    parser = argparse.ArgumentParser(prog="bethink bench context", description="Time to build the context of a long thread.")
    parser.add_argument("--messages", type=int, nargs="+", default=[1_000, 10_000], help="lengths of the thread (1000 10000)")
    parser.add_argument("--budget", type=int, default=8_000, help="tokens of a context (8000)")
    parser.add_argument("--contexts", type=int, default=50, help="contexts in a repeat (50)")
    parser.add_argument("--repeats", type=int, default=4, help="repeats (4)")
    parser.add_argument("--no-embedder", action="store_true", help="leave out the cases with an embedder")
    parser.add_argument("--profile", action="store_true", help="also show where the time goes, at the greatest length")
    parser.add_argument("--folder", type=Path, help="where to put the databases (a temporary folder)")
    parser.add_argument("--json", action="store_true", help="print JSON")
    options = parser.parse_args(argv)

    with_embedder = [False] if options.no_embedder or not MiniLM.available() else [False, True]
    cases = []
    profiles: list[tuple[str, pstats.Stats]] = []
    for embedder in with_embedder:
        for messages in sorted(options.messages):
            with tempfile.TemporaryDirectory(dir=options.folder) as folder:
                longest = messages == max(options.messages)
                case, stats = _measure(Path(folder) / "m.db", messages, embedder, options, profile=options.profile and longest)
            cases.append(case)
            if stats is not None:
                profiles.append((_title(case), stats))
    if options.json:
        print_json([_figures(case) for case in cases])
    else:
        _print(cases, options)
        for title, stats in profiles:
            _print_profile(title, stats)
    return 0 if all(_ms(case) < GOAL_MS for case in cases if case.messages == max(options.messages)) else 1


def _ms(case: Case) -> float:
    return case.contexts.p50.median * 1e3


def _title(case: Case) -> str:
    return f"{case.messages:,} messages, {'with' if case.embedder else 'without'} embedder"


def _figures(case: Case) -> dict[str, object]:
    return {
        "messages": case.messages,
        "embedder": case.embedder,
        "append_s": case.append,
        "embed_s": case.embed,
        "first_context_s": case.first,
        "context_p50_ms": milliseconds(case.contexts.p50),
        "context_p95_ms": milliseconds(case.contexts.p95),
        "tokens": case.tokens,
        "summary_nodes": case.nodes,
    }


def _print(cases: list[Case], options: argparse.Namespace) -> None:
    print(
        f"contexts of {options.budget} tokens, {options.repeats} repeats of {options.contexts}; a new user message before each"
    )
    print("medians of the repeats [least-greatest]\n")
    rows = [["thread", "p50 ms", "p95 ms", "append s", "embed s", "first context s", "tokens", "nodes"]]
    for case in cases:
        p50, p95 = milliseconds(case.contexts.p50), milliseconds(case.contexts.p95)
        once = [f"{case.append:.2f}", f"{case.embed:.1f}" if case.embedder else "-", f"{case.first:.2f}"]
        rows.append([_title(case), p50.text(), p95.text(), *once, str(case.tokens), str(case.nodes)])
    print(columns(rows))
    longest = max(options.messages)
    for case in (case for case in cases if case.messages == longest):
        verdict = "reached" if _ms(case) < GOAL_MS else "MISSED"
        print(f"\n{_title(case)}: goal {GOAL_MS:g} ms {verdict}")
        shorter = min((other for other in cases if other.embedder == case.embedder), key=lambda other: other.messages)
        if shorter.messages < longest:
            growth = _ms(case) / _ms(shorter)
            print(f"  {growth:.2f} times as long as at {shorter.messages:,} messages")


# -- measuring ------------------------------------------------------------------------------------------------------------


def _measure(
    path: Path, messages: int, embedder: bool, options: argparse.Namespace, *, profile: bool
) -> tuple[Case, pstats.Stats | None]:
    talk = list(turns(messages))
    with Memory(path, embedder=MiniLM() if embedder else None) as memory:
        thread = memory.thread("t")
        appended = _seconds(lambda: [thread.append(talk[start : start + _BATCH]) for start in range(0, messages, _BATCH)])
        embedded = _seconds(memory.flush)
        first = _seconds(lambda: thread.context(budget=options.budget))

        questions = _questions(options.contexts * (options.repeats + 2), messages)
        for _ in range(min(options.contexts, 10)):
            _sample(thread, next(questions), options.budget)
        repeats = tuple(
            tuple(_sample(thread, next(questions), options.budget) for _ in range(options.contexts))
            for _ in range(options.repeats)
        )
        stats = _profiled(thread, [next(questions) for _ in range(options.contexts)], options.budget) if profile else None
        context = thread.context(budget=options.budget)
        nodes = memory.stats().nodes
    case = Case(
        messages=messages,
        embedder=embedder,
        append=appended,
        embed=embedded,
        first=first,
        contexts=Series(f"{messages}", repeats),
        tokens=context.tokens,
        nodes=nodes,
    )
    return case, stats


def _seconds(action: Callable[[], object]) -> float:
    started = perf_counter()
    action()
    return perf_counter() - started


def _questions(count: int, messages: int) -> Iterator[Message]:
    """Further user messages, dated after the conversation."""
    later = START + timedelta(minutes=2 * messages)
    for number, message in enumerate(turns(2 * count, seed=1)):
        if message.role == "user":
            yield msgspec.structs.replace(message, created_at=later + timedelta(minutes=number))


def _sample(thread: Thread, message: Message, budget: int) -> float:
    thread.append([message])
    return _seconds(lambda: thread.context(budget=budget))


def _profiled(thread: Thread, messages: list[Message], budget: int) -> pstats.Stats:
    profiler = cProfile.Profile()
    for message in messages:
        thread.append([message])
        profiler.enable()
        thread.context(budget=budget)
        profiler.disable()
    return pstats.Stats(profiler)


def _print_profile(title: str, stats: pstats.Stats) -> None:
    """The functions that most time was spent in, with all that they called; milliseconds of one context.

    The profiler makes Python code look two to three times as slow as it is, and leaves SQLite as it is.
    """
    table: dict[tuple[str, int, str], tuple[int, int, float, float, object]] = stats.stats  # type: ignore[attr-defined]
    contexts = max(calls for (_, _, name), (_, calls, _, _, _) in table.items() if name == "build_context")
    rows = [["function", "calls", "own ms", "with all it calls ms"]]
    for (file, line, name), (_, calls, own, total, _) in sorted(table.items(), key=lambda entry: -entry[1][3])[
        :_PROFILED_LINES
    ]:
        where = f"{Path(file).parent.name}/{Path(file).name}:{line} {name}" if line else name
        rows.append([where, f"{calls / contexts:.1f}", f"{own / contexts * 1e3:.2f}", f"{total / contexts * 1e3:.2f}"])
    print(f"\n{title}: where the time of a context goes\n\n{columns(rows)}")


if __name__ == "__main__":
    import sys

    sys.exit(main(sys.argv[1:]))
