"""`python -m bethink.bench.open`: what a new process pays before it has its first answer.

    bare Python         starting the interpreter
    import bethink      on top of that
    from bethink import Memory
    open and append     a new file, one message, no embedder
    first recall        an existing file of 1,000 messages, the embedder loaded, the query embedded, hits returned

Each is a process of its own, timed from its start until it says that it is done, as a user waits for an answer (leaving takes
another 0.1 s); the interpreter's own start is then taken off. The peak of its resident memory is read on Linux only.
"""

from __future__ import annotations

import argparse
import os
import subprocess
import sys
import tempfile
from pathlib import Path
from time import perf_counter

import msgspec

from bethink.bench.measure import Spread, columns, milliseconds, print_json, spread
from bethink.bench.talk import turns
from bethink.memory import Memory
from bethink.models.minilm import MiniLM

__all__ = ["main"]

GOALS_MS = {"import bethink": 150.0, "first recall": 1_000.0}

_DONE = "print('done', flush=True)"
_PEAK = "print(next(line.split()[1] for line in open('/proc/self/status') if line.startswith('VmHWM')))"
"""Kilobytes, on Linux. `resource.getrusage` would answer for the process that started this one as well."""

_PROGRAMS = {
    "bare Python": "",
    "import bethink": "import bethink",
    "Memory": "from bethink import Memory",
    "open and append": "import sys; from bethink import Memory\n"
    "memory = Memory(sys.argv[1] + '.new', embedder=None); memory.thread().add('user', 'hello')",
    "first recall": "import sys; from bethink import Memory\n"
    "memory = Memory(sys.argv[1]); assert memory.recall('allergic to what?').pending == 0",
}


class Figure(msgspec.Struct, frozen=True):
    """One program: milliseconds beyond the bare interpreter (for that, its own), and megabytes at its peak."""

    ms: Spread
    peak_mb: float | None


def main(argv: list[str]) -> int:
    """Run the benchmark. Returns 1 if a goal was missed, and 0 otherwise."""
    parser = argparse.ArgumentParser(prog="python -m bethink.bench.open", description="What a new process pays.")
    parser.add_argument("--runs", type=int, default=9, help="runs of each program (9)")
    parser.add_argument("--messages", type=int, default=1_000, help="messages in the file that is searched (1000)")
    parser.add_argument("--json", action="store_true", help="print JSON")
    options = parser.parse_args(argv)

    programs = dict(_PROGRAMS)
    if not MiniLM.available():
        del programs["first recall"]
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "m.db"
        with Memory(path) as memory:
            memory.thread("t").append(turns(options.messages))
            memory.flush()
            memory.recall("anything")
        figures = _measure(programs, path, options.runs)
    if options.json:
        print_json(figures)
    else:
        rows = [["process", "ms beyond bare Python", "peak MB", "goal ms"]]
        for name, figure in figures.items():
            peak = "-" if figure.peak_mb is None else f"{figure.peak_mb:.0f}"
            rows.append([name, figure.ms.text(".0f"), peak, f"{GOALS_MS[name]:g}" if name in GOALS_MS else ""])
        print(columns(rows))
    return 0 if all(figures[name].ms.median < goal for name, goal in GOALS_MS.items() if name in figures) else 1


def _measure(programs: dict[str, str], path: Path, runs: int) -> dict[str, Figure]:
    seconds: dict[str, list[float]] = {name: [] for name in programs}
    for run in range(runs + 1):
        for name, code in programs.items():
            path.with_suffix(".db.new").unlink(missing_ok=True)
            took, _ = _run(code, path)
            if run:  # the first leaves the byte code behind
                seconds[name].append(took)
    bare = spread(seconds["bare Python"]).median
    return {
        name: Figure(
            milliseconds(spread([one - (bare if code else 0) for one in seconds[name]])),
            int(_run(f"{code}\n{_PEAK}", path)[1].split()[0]) / 1e3 if sys.platform == "linux" else None,
        )
        for name, code in programs.items()
    }


def _run(code: str, path: Path) -> tuple[float, str]:
    """Seconds until a program has said its first line, and all that it says."""
    # Byte code is written and found as in any installation, whatever is set here.
    environment = {**os.environ, "PYTHONPYCACHEPREFIX": str(path.parent / "bytecode"), "PYTHONDONTWRITEBYTECODE": ""}
    command = [sys.executable, "-c", f"{code}\n{_DONE}", str(path)]
    started = perf_counter()
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True, env=environment) as process:  # noqa: S603
        assert process.stdout is not None
        said = process.stdout.readline()
        took = perf_counter() - started
        rest = process.stdout.read()
    if process.returncode or not said:
        raise subprocess.CalledProcessError(process.returncode, command)
    return took, said + rest


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
