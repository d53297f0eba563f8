"""Turns across processes, through one real file: whole, in nobody's way after a kill, and without a lock error."""

from __future__ import annotations

import itertools
import signal
import subprocess
import sys
import time
from datetime import timedelta
from pathlib import Path

import pytest

from bethink import Conflict, Memory, ThreadBusy, ToolCall

PROCESSES = 4
TURNS = 20


# -- what the other processes do ------------------------------------------------------------------------------------------


def take_turns(path: str, name: str) -> None:
    """Turns of three messages, as an agent makes them: a question, a call, its result. And a context now and then."""
    with Memory(path, embedder=None, durability="normal") as memory:
        thread = memory.thread("t")
        print("ready", flush=True)
        sys.stdin.readline()
        for number in range(TURNS):
            with thread.turn() as turn:
                turn.add("user", f"{name} {number}")
                turn.add("assistant", tool_calls=[ToolCall(f"{name}-{number}", "search")])
                time.sleep(0.001)
                turn.add("tool", "found", tool_call_id=f"{name}-{number}")
            # Time to think: so the processes come between each other.
            time.sleep(0.002)


def die_within(path: str, seconds: str) -> None:
    """Begin a turn, say half of it, and wait to be killed."""
    with Memory(path, embedder=None) as memory, memory.thread("t").turn(lease=timedelta(seconds=float(seconds))) as turn:
        turn.add("user", "half")
        print("ready", flush=True)
        time.sleep(60)


def oversleep(path: str, seconds: str) -> None:
    """Begin a turn, sleep until told to go on, and report what became of it."""
    with Memory(path, embedder=None) as memory, memory.thread("t").turn(lease=timedelta(seconds=float(seconds))) as turn:
        turn.add("user", "slow 0")
        print("ready", flush=True)
        sys.stdin.readline()
        try:
            turn.add("user", "slow 1")
        except Conflict:
            print("overtaken", flush=True)


TASKS = {task.__name__: task for task in (take_turns, die_within, oversleep)}


def started(task: str, path: Path, argument: str) -> subprocess.Popen[str]:
    return subprocess.Popen(
        [sys.executable, __file__, task, str(path), argument],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )


def is_ready(process: subprocess.Popen[str]) -> bool:
    assert process.stdout is not None
    return process.stdout.readline() == "ready\n"


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "agent.db"


# -- tests ----------------------------------------------------------------------------------------------------------------


def test_V037_V039_V043_every_turn_of_four_processes_stands_whole(path: Path) -> None:
    names = [f"p{number}" for number in range(PROCESSES)]
    processes = [started("take_turns", path, name) for name in names]
    # All begin together: what starting a process costs says nothing about turns.
    assert all(is_ready(process) for process in processes)
    for process in processes:
        assert process.stdin is not None
        process.stdin.write("go\n")
        process.stdin.flush()
    outputs = [process.communicate(timeout=150) for process in processes]
    assert [process.returncode for process in processes] == [0] * PROCESSES, outputs
    with Memory(path, embedder=None) as memory:
        messages = memory.thread("t").messages()
        assert memory.check() == []
    turns = [messages[start : start + 3] for start in range(0, len(messages), 3)]
    assert len(turns) == PROCESSES * TURNS
    said = [question.text for question, _, _ in turns]
    for question, call, result in turns:
        call_id = question.text.replace(" ", "-")
        assert (call.tool_calls[0].id, result.tool_call_id) == (call_id, call_id)
    for name in names:
        assert [text for text in said if text.startswith(name)] == [f"{name} {number}" for number in range(TURNS)]
    # They did come between each other: nobody had all of his turns in a row.
    runs = [name for name, _ in itertools.groupby(said, lambda text: text.split()[0])]
    assert len(runs) > PROCESSES


def test_after_a_kill_the_others_go_on_when_the_lease_ends(path: Path) -> None:
    process = started("die_within", path, "1.5")
    assert is_ready(process)
    with Memory(path, embedder=None) as memory:
        thread = memory.thread("t")
        process.send_signal(signal.SIGKILL)
        process.communicate()
        with pytest.raises(ThreadBusy) as caught:
            thread.turn(timeout=timedelta()).__enter__()
        with thread.turn(timeout=timedelta(seconds=30)) as turn:
            assert turn.lease.token == 2
            assert memory._engine.clock.now() >= caught.value.until
            turn.add("user", "on")
        assert [message.text for message in thread.messages()] == ["half", "on"]
        assert memory.check() == []


def test_V039_a_process_that_slept_through_its_end_writes_nothing_between_others(path: Path) -> None:
    process = started("oversleep", path, "0.3")
    assert is_ready(process)
    with Memory(path, embedder=None) as memory:
        thread = memory.thread("t")
        with thread.turn(timeout=timedelta(seconds=30)) as turn:
            turn.add("user", "on 0")
            output, errors = process.communicate("go on\n", timeout=60)
            assert (output, process.returncode) == ("overtaken\n", 0), errors
            turn.add("user", "on 1")
        assert [message.text for message in thread.messages()] == ["slow 0", "on 0", "on 1"]
        assert memory.check() == []


if __name__ == "__main__":
    TASKS[sys.argv[1]](*sys.argv[2:])
