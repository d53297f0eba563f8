"""Refining in several processes, and in one that is killed at any moment: each summary once, nothing lost or half done."""

from __future__ import annotations

import random
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from bethink import Memory, Message, Settings
from bethink.models.language import Prompt
from bethink.testing.doubles import ScriptedModel, summing_up

PROCESSES = 3
ROUNDS = 8
SMALL = Settings(window=600, segment_messages=6, node_fan_in=3, node_tokens=80, refine="manual")


def said(number: int) -> list[Message]:
    return [
        Message(role="user", content=f"Parcel QX-{1000 + number} goes to depot {number} on Monday.", id=f"u{number}"),
        Message(role="assistant", content=f"Good. I noted parcel QX-{1000 + number}.", id=f"a{number}"),
    ]


def opened(path: Path | str, name: str = "small", seconds: float = 0.0) -> Memory:
    def answer(prompt: Prompt) -> str:
        time.sleep(seconds)
        return summing_up(prompt)

    return Memory(path, embedder=None, language_model=ScriptedModel(answer, name=name), settings=SMALL, durability="normal")


# -- what the other processes do -------------------------------------------------------------------------------------------


def refine_all(path: str, name: str) -> None:
    """Refine, when told to; say how much was written and how often somebody else was faster."""
    with opened(path, name, seconds=0.002) as memory:
        print("ready", flush=True)
        sys.stdin.readline()
        report = memory.thread("t").refine()
        print(len(report.written), report.overtaken, flush=True)


def live(path: str, seed: str) -> None:
    """Talk, fold, refine and forget, until killed; a line for each message that is stored."""
    chance = random.Random(seed)
    with opened(path, seconds=0.001) as memory:
        thread = memory.thread("t")
        number = len(thread.messages())
        print("ready", flush=True)
        while True:
            number += 2
            thread.append(said(number))
            print(f"u{number} a{number}", flush=True)
            if chance.random() < 0.3:
                thread.context()
            if chance.random() < 0.2:
                thread.refine(limit=2)


TASKS = {task.__name__: task for task in (refine_all, live)}


def started(task: str, path: Path, argument: str) -> subprocess.Popen[str]:
    process = subprocess.Popen(
        [sys.executable, __file__, task, str(path), argument],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    assert process.stdout is not None
    assert process.stdout.readline() == "ready\n", process.communicate()[1]
    return process


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "agent.db"


@pytest.mark.slow
def test_of_several_processes_that_refine_a_thread_each_summary_is_written_by_one(path: Path) -> None:
    with opened(path) as memory:
        thread = memory.thread("t")
        for number in range(60):
            thread.append(said(number))
        shown = thread.context()
        covers = [(node.level, node.covers) for node in thread.summaries()]
        processes = [started("refine_all", path, f"model {number}") for number in range(PROCESSES)]
        for process in processes:
            assert process.stdin is not None
            process.stdin.write("go\n")
            process.stdin.flush()
        counts = [process.communicate(timeout=120)[0].split() for process in processes]
        assert all(process.returncode == 0 for process in processes)
        nodes = thread.summaries()
        assert sum(int(written) for written, _ in counts) == len(nodes)
        assert [(node.level, node.covers) for node in nodes] == covers
        assert "extractive" not in {node.author for node in nodes}
        assert memory.stats().nodes == memory.stats().attempts == len(nodes)
        assert len(thread.messages()) == 120
        assert memory.replay(shown.receipt_id).messages == shown.messages
        assert memory.check() == []


@pytest.mark.slow
def test_a_process_that_is_killed_while_it_refines_leaves_every_message_and_a_sound_tree(path: Path) -> None:
    chance = random.Random(7)
    stored: set[str] = set()
    for number in range(ROUNDS):
        process = started("live", path, str(number))
        time.sleep(0.05 + 0.4 * chance.random())
        process.send_signal(signal.SIGKILL)
        stored.update(process.communicate(timeout=60)[0].split())
        with opened(path) as memory:
            thread = memory.thread("t")
            messages = {message.id: message.seq for message in thread.messages()}
            assert stored <= messages.keys()
            assert memory.check() == []
            lowest = [node for node in thread.summaries() if node.level == 1]
            covered = [seq for node in lowest for first, last in node.covers for seq in range(first, last + 1)]
            assert len(covered) == len(set(covered)) == thread.info().folded_through
    with opened(path) as memory:
        thread = memory.thread("t")
        thread.context()
        while thread.refine().written:
            pass
        assert {node.author for node in thread.summaries()} == {"small"}
        assert memory.check() == []


if __name__ == "__main__":
    TASKS[sys.argv[1]](*sys.argv[2:])
