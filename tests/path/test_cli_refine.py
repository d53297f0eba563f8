"""`bethink refine`: the steps of a language model from the command line, and the dry run of them."""

from __future__ import annotations

import json
import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from tests.path.serving import Server, serving, well_with
from typer.testing import CliRunner

from bethink import Memory
from bethink.cli.app import app


def answers(_: dict[str, Any]) -> dict[str, Any]:
    items = [
        {"message": 1, "about": "user", "topic": "preference", "slot": "likes", "value": "black coffee"},
        {"message": 7, "about": "user", "topic": "preference", "slot": "likes", "value": "tea"},
    ]
    reply = json.dumps({"insights": items})
    return {"choices": [{"message": {"content": reply}, "finish_reason": "stop"}], "usage": {"prompt_tokens": 9}}


@pytest.fixture
def server() -> Iterator[Server]:
    with serving(well_with(answers)) as running:
        yield running


@pytest.fixture
def talked(tmp_path: Path) -> Path:
    path = tmp_path / "agent.db"
    with Memory(path, embedder=None) as memory:
        memory.thread("t").add("user", "These days I really dig black coffee.")
    return path


def command(path: Path, server: Server, *arguments: str) -> tuple[int, str]:
    words = ["refine", "--model", "openai:small", "--db", str(path), "--embedder", "none", *arguments]
    found = CliRunner().invoke(app, words, env={"OPENAI_BASE_URL": server.url, **os.environ})
    return found.exit_code, found.output


def test_a_plan_is_shown_and_nothing_is_asked(talked: Path, server: Server) -> None:
    code, told = command(talked, server, "--step", "extract", "--plan")
    assert code == 0, told
    assert told.startswith("extract: default t, messages 1\n  1 call, at most ")
    assert server.requests == []
    found = json.loads(command(talked, server, "--step", "extract", "--plan", "--json")[1])
    assert (found["calls"], found["planned"][0]["step"], found["tokens"] > 0) == (1, "extract", True)


def test_the_steps_named_are_done_and_what_was_dropped_is_said(talked: Path, server: Server) -> None:
    code, told = command(talked, server, "--step", "extract")
    assert code == 0, told
    assert "extract: t, messages 1\n  1 kept, 1 dropped: unknown number\n" in told
    with Memory(talked, embedder=None) as memory:
        assert [each.value for each in memory.profile()] == ["black coffee"]


def test_a_budget_stops_it_and_says_so(talked: Path, server: Server) -> None:
    code, told = command(talked, server, "--step", "extract", "--max-calls", "0")
    assert (code, server.requests) == (0, [])
    assert "stopped at the limit per_call.max_calls" in told


def test_an_unknown_step_is_refused(talked: Path, server: Server) -> None:
    code, told = command(talked, server, "--step", "dream")
    assert code == 2
    assert "steps" in told
