"""Several processes on one board: nothing lost, nobody's answer closed by another, one answer of each to a question."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

from bethink import Memory

PROCESSES = 4
POSTS = 25


def open_board(path: Path | str) -> Memory:
    return Memory(path, namespace=("acme", "launch"), embedder=None, durability="normal")


# -- what the other processes do ------------------------------------------------------------------------------------------


def post_all(path: str, name: str) -> None:
    """What answers nothing, an answer to one question that all answer, and one to a question of its own."""
    with open_board(path) as memory:
        board = memory.view(agent=name, write=["shared"]).scope("shared").board
        for number in range(POSTS):
            board.post(f"note {number} of {name}", about="notes")
            board.post(f"{name} says {number}", about="launch", slot="budget", value=f"{name}-{number}")
            assert [fact.value for fact in board.read("launch", slot="budget", author=name)] == [f"{name}-{number}"]


def post_as_one(path: str, name: str) -> None:
    """As one agent, in several processes."""
    with open_board(path) as memory:
        board = memory.view(agent="researcher", write=["shared"]).scope("shared").board
        for number in range(POSTS):
            board.post(f"{name} says {number}", about="launch", slot="budget", value=f"{name}-{number}")


TASKS = {task.__name__: task for task in (post_all, post_as_one)}


def run(task: str, path: Path) -> list[str]:
    names = [f"p{number}" for number in range(PROCESSES)]
    processes = [
        subprocess.Popen([sys.executable, __file__, task, str(path), name], stderr=subprocess.PIPE, text=True) for name in names
    ]
    outputs = [process.communicate(timeout=120)[1] for process in processes]
    assert [process.returncode for process in processes] == [0] * len(names), outputs
    return names


# -- tests ----------------------------------------------------------------------------------------------------------------


def test_V037_processes_that_post_on_one_board_lose_nothing(tmp_path: Path) -> None:
    path = tmp_path / "memory.db"
    names = run("post_all", path)
    with open_board(path) as memory:
        board = memory.scope("shared").board
        assert sorted(fact.text for fact in board.read("notes")) == sorted(
            f"note {number} of {name}" for name in names for number in range(POSTS)
        )
        answers = board.read("launch", slot="budget")
        assert {fact.author: fact.value for fact in answers} == {name: f"{name}-{POSTS - 1}" for name in names}
        assert len(answers) == PROCESSES
        assert all({other.author for other in fact.contradicted_by} == {*names} - {fact.author} for fact in answers)
        history = board.history("launch", slot="budget")
        assert len(history) == PROCESSES * POSTS
        by_id = {fact.id: fact for fact in history}
        closed = [fact for fact in history if fact.superseded_by is not None]
        assert all(by_id[fact.superseded_by or ""].author == fact.author for fact in closed)
        assert memory.check() == []


def test_of_processes_that_post_as_one_agent_one_answer_stands_and_all_are_kept(tmp_path: Path) -> None:
    path = tmp_path / "memory.db"
    run("post_as_one", path)
    with open_board(path) as memory:
        board = memory.scope("shared").board
        assert len(board.read()) == 1
        current = memory.scope("shared").records("note")
        assert len(current) == 1
        assert len(board.history()) == PROCESSES * POSTS
        assert memory.check() == []


if __name__ == "__main__":
    TASKS[sys.argv[1]](*sys.argv[2:])
