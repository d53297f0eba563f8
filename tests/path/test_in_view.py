"""Recall of a context finds what is not in view, as much of it as was asked for."""

from __future__ import annotations

from pathlib import Path

import pytest

from bethink import Memory, Message, Settings, SlidingWindow
from bethink.context import Context
from bethink.models import Embedder
from bethink.testing.doubles import FrozenClock, HashEmbedder

LIMIT = 5
OLD, NEW = 10, 60


@pytest.fixture(params=[None, HashEmbedder()], ids=["words", "meaning"])
def memory(request: pytest.FixtureRequest, tmp_path: Path) -> Memory:
    embedder: Embedder | None = request.param
    return Memory(tmp_path / "m.db", embedder=embedder, clock=FrozenClock(), settings=Settings(recall_limit=LIMIT))


def talk(memory: Memory, thread_id: str = "t") -> None:
    """A few older messages about herons, and many new ones that match better."""
    old = [said(f"old {number}", f"Entry {number} of it: the herons nest in the reeds again.") for number in range(OLD)]
    memory.thread(thread_id).append([*old, *(said(f"new {number}", "herons " * (1 + number % 3)) for number in range(NEW))])


def said(message_id: str, text: str) -> Message:
    return Message(id=message_id, role="user", content=text)


def context(memory: Memory, thread_id: str = "t", query: str | None = "herons") -> Context:
    return memory.thread(thread_id).context(budget=20_000, policy=SlidingWindow(NEW), query=query)


def recalled(of: Context) -> list[str]:
    return [line.id for line in of.section("recalled")]


@pytest.mark.parametrize("query", ["herons", None])
def test_recall_is_full_although_much_in_view_matches_better(memory: Memory, query: str | None) -> None:
    with memory:
        talk(memory)
        found = recalled(context(memory, query=query))
        assert len(found) == LIMIT
        assert all(name.startswith("old") for name in found)


def test_a_fork_recalls_nothing_of_its_parent_that_it_has_in_view_itself(memory: Memory) -> None:
    with memory:
        talk(memory)
        memory.thread("t").fork(at=OLD + NEW, thread_id="fork")
        found = recalled(context(memory, "fork"))
        assert len(found) == len(set(found)) == LIMIT
        assert all(name.startswith("old") for name in found)


def test_a_record_that_is_shown_takes_no_place_among_what_is_recalled(memory: Memory) -> None:
    with memory:
        for number in range(2 * LIMIT):
            memory.store(f"Herons, note {number}.", pinned=True)
        talk(memory)
        found = context(memory)
        assert len(recalled(found)) == LIMIT
        assert all(name.startswith("old") for name in recalled(found))


def test_each_recalled_line_says_why(memory: Memory) -> None:
    with memory:
        talk(memory)
        found = context(memory)
        lines = found.section("recalled")
        assert lines
        assert all(line.reason.startswith("score 0.") and "lexical" in line.reason for line in lines)
        assert all("lexical" in line.scores and line.sources == (line.id,) for line in lines)
