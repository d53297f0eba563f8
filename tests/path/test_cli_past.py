"""The commands about time, undo and review."""

from __future__ import annotations

import json
from datetime import datetime, timedelta, timezone
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner

from bethink import Memory
from bethink.cli.app import app
from bethink.testing.doubles import FrozenClock

MARCH = datetime(2025, 3, 1, 9, tzinfo=timezone.utc)


class Shell:
    """Runs commands on a database in which somebody has moved."""

    def __init__(self, db: Path) -> None:
        self.db = db
        clock = FrozenClock(MARCH)
        with Memory(db, clock=clock, embedder=None) as memory:
            for text in ("I live in Porto.", "I moved to Ghent."):
                memory.thread("t").add("user", text)
                memory.profile()
                clock.advance(timedelta(days=31))

    def run(self, *arguments: str, code: int = 0, env: dict[str, str] | None = None) -> str:
        given = [*arguments, "--db", str(self.db), "--embedder", "none"]
        result = CliRunner().invoke(app, given, env=env)
        assert result.exit_code == code, result.output
        return result.stdout if code == 0 else result.stderr

    def json(self, *arguments: str, env: dict[str, str] | None = None) -> Any:
        return json.loads(self.run(*arguments, "--json", env=env))


@pytest.fixture
def shell(tmp_path: Path) -> Shell:
    return Shell(tmp_path / "memory.db")


def texts(records: list[dict[str, Any]]) -> list[str]:
    return [record["text"] for record in records]


def test_history_tells_what_took_whose_place(shell: Shell) -> None:
    said = shell.run("history", "residence")
    assert said.index("lives in Porto") < said.index("retired: superseded; now: lives in Ghent")
    entries = shell.json("history", "residence")["entries"]
    assert [entry["record"]["text"] for entry in entries] == ["lives in Porto", "lives in Ghent"]


def test_diff_tells_old_and_new(shell: Shell) -> None:
    assert "~ lives in Porto → lives in Ghent" in shell.run("diff", "--since", "2025-03-02")
    found = shell.json("diff", "--since", "2025-03-02", "--until", "2025-04-30T12:00:00+02:00")
    assert [(each["old"]["text"], each["new"]["text"]) for each in found["changed"]] == [("lives in Porto", "lives in Ghent")]
    assert "Nothing has changed." in shell.run("diff", "--since", "2025-05-01")


@pytest.mark.parametrize("option", ["--as-of", "--valid-at"])
def test_profile_and_recall_answer_for_a_time(shell: Shell, option: str) -> None:
    (entry,) = shell.json("profile", option, "2025-03-05")["entries"]
    assert entry["insight"]["text"] == "lives in Porto"
    hits = shell.json("recall", "where does she live", "--kind", "insight", option, "2025-03-05")["hits"]
    assert texts(hits) == ["lives in Porto"]


@pytest.mark.parametrize("wrong", ["yesterday", "2999-01-01", "2025-03-01T12:00:00"])
def test_a_time_that_is_none_or_to_come_or_without_a_zone_is_named(shell: Shell, wrong: str) -> None:
    assert "as_of" in shell.run("profile", "--as-of", wrong, code=2)


def test_a_change_is_listed_and_undone(shell: Shell) -> None:
    first, second = shell.json("changes")["changes"]
    assert "drawn t" in shell.run("changes")
    assert shell.json("undo", second["id"])["undoes"] == second["id"]
    assert [entry["insight"]["text"] for entry in shell.json("profile")["entries"]] == ["lives in Porto"]
    assert first["added"]


def test_what_waits_is_shown_and_approved_or_rejected(shell: Shell) -> None:
    reviewing = {"BETHINK_REVIEW": "1"}
    shell.run("add", "t", "user", "I like tea. I like fado.", env=reviewing)
    assert "likes tea" in shell.run("pending", env=reviewing)
    tea, fado = shell.json("pending", env=reviewing)["pending"]
    assert texts(shell.json("approve", tea["id"])["records"]) == ["likes tea"]
    assert texts(shell.json("reject", fado["id"])["rejected"]) == ["likes fado"]
    assert "Nothing waits." in shell.run("pending")
    assert "likes fado" not in shell.run("profile")
