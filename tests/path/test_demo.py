"""`bethink demo`: what it claims on the screen, asserted from its facts."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner

from bethink.cli.app import app
from bethink.models.minilm import MiniLM

Facts = dict[str, Any]


def _run(*arguments: str, code: int = 0) -> str:
    result = CliRunner().invoke(app, ["demo", *arguments])
    assert result.exit_code == code, result.output
    return result.stdout


@pytest.fixture(scope="module")
def facts() -> Facts:
    found: Facts = json.loads(_run("--json"))
    return found


@pytest.fixture(scope="module")
def page() -> str:
    return _run()


def test_seven_sessions_come_in_and_a_second_import_adds_nothing(facts: Facts) -> None:
    assert len(facts["import"]["sessions"]) == 7
    assert facts["import"]["messages"] == sum(facts["import"]["sessions"].values()) > 100
    assert facts["import"]["added_again"] == 0


def test_every_session_gets_a_summary(facts: Facts) -> None:
    lines = facts["end"]["summary_lines"]
    assert lines.keys() == facts["import"]["sessions"].keys()
    assert min(lines.values()) > 0
    assert sum(lines.values()) < facts["import"]["messages"]


def test_the_profile_quotes_its_sources(facts: Facts) -> None:
    entries = {entry["text"]: entry for entry in facts["profile"]["entries"]}
    [allergy] = [entry for text, entry in entries.items() if "peanut" in text]
    [quote] = allergy["quotes"]
    assert (quote["thread_id"], quote["seq"]) == ("mara-2026-01-12", 18)
    assert quote["said_at"].startswith("2026-01-12")
    assert "allergic to peanuts" in quote["text"]
    assert all(entry["quotes"] for entry in entries.values())


def test_a_changed_mind_supersedes_what_was_said_before(facts: Facts) -> None:
    changes = {change["text"]: change for change in facts["superseded"]["superseded"]}
    [home] = [change for text, change in changes.items() if "Porto" in text]
    assert "Ghent" in home["now"]
    [coffee] = [change for text, change in changes.items() if "coffee" in text]
    assert coffee["now"] != coffee["text"]
    assert coffee["until"].startswith("2026-05-06")
    known = {entry["text"] for entry in facts["profile"]["entries"]}
    assert known.isdisjoint(changes)


def test_the_context_holds_its_budget_and_gives_every_line_a_reason(facts: Facts) -> None:
    context = facts["context"]
    assert 0 < context["tokens"] <= context["budget"] == 700
    assert all(line["reason"] for line in context["lines"])
    assert any("peanuts" in line["text"] for line in context["lines"] if line["section"] == "profile")
    assert context["messages"][-1]["role"] == "user"


def test_replay_gives_the_same_bytes(facts: Facts) -> None:
    assert facts["context"]["replay_same_bytes"] is True


def test_a_question_is_answered_with_scores_by_leg(facts: Facts) -> None:
    hits = facts["recall"]["hits"]
    assert "peanuts" in hits[0]["text"]
    assert all(hit["score"] == pytest.approx(min(1, sum(hit["scores"].values())), abs=1e-6) for hit in hits)
    assert [hit["score"] for hit in hits] == sorted((hit["score"] for hit in hits), reverse=True)


def test_a_question_without_an_answer_gets_none_and_the_reason(facts: Facts) -> None:
    assert facts["nothing"]["hits"] == []
    assert "threshold" in facts["nothing"]["empty_reason"]


def test_another_user_never_gets_maras_memories(facts: Facts) -> None:
    hits = facts["isolation"]["hits"]
    assert facts["isolation"]["query"] == facts["recall"]["query"]
    assert "shellfish" in hits[0]["text"]
    assert all(hit["namespace"] == ["default", "tobias"] for hit in hits)
    assert not any("peanut" in hit["text"] for hit in hits)


def test_what_is_forgotten_is_in_the_files_before_and_in_no_byte_after(facts: Facts) -> None:
    forget = facts["forget"]
    assert forget["message"] in forget["receipt"]["message_ids"]
    assert len(forget["before"]["hits"]) > 0
    assert forget["after"]["hits"] == []
    assert forget["after"]["bytes"] > 0
    assert forget["after"]["files"][0]["file"].endswith("demo.db")
    assert forget["before"]["needles"] == forget["after"]["needles"] > 0


def test_the_profile_loses_what_was_forgotten_and_nothing_else(facts: Facts) -> None:
    before, after = facts["forget"]["profile_before"], facts["forget"]["profile_after"]
    assert set(after) < set(before)
    assert all("running" in text or "marathon" in text for text in set(before) - set(after))


def test_the_database_is_sound_at_the_end(facts: Facts) -> None:
    assert facts["check"] == {"sound": True, "problems": []}


def test_the_page_is_short_plain_and_numbered(page: str) -> None:
    lines = page.splitlines()
    assert len(lines) <= 115
    assert max(map(len, lines)) <= 80
    assert "\x1b" not in page
    assert re.findall(r"^(\d+)\. ", page, re.MULTILINE) == [str(number) for number in range(1, 11)]


def test_the_page_ends_with_what_to_do_next(page: str) -> None:
    _, _, after = page.partition("What next")
    assert len([line for line in after.splitlines() if line.startswith("  bethink")]) == 3


def test_two_runs_differ_in_nothing_but_ids_times_and_sizes(page: str) -> None:
    def fixed(text: str) -> str:
        # A line may end within a time.
        text = " ".join(text.split())
        text = re.sub(r"[0-9a-f]{8}-[0-9a-f]{4}-7[0-9a-f]{3}-[0-9a-f]{4}-[0-9a-f]{12}", "ID", text)
        text = re.sub(r"\d{4}-\d\d-\d\d \d\d:\d\d", "TIME", text)
        return re.sub(r"[\d,]+ bytes of [^.]*\.db[\w., -]*", "FILES", text)

    assert fixed(_run()) == fixed(page)


def test_without_the_embedder_it_says_so_and_everything_holds(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(MiniLM, "available", staticmethod(lambda: False))
    facts = json.loads(_run("--json"))
    assert facts["recall_by"] == "words"
    assert "peanuts" in facts["recall"]["hits"][0]["text"]
    assert facts["nothing"]["hits"] == []
    assert "shellfish" in facts["isolation"]["hits"][0]["text"]
    assert "by words alone" in " ".join(_run().split())


def test_keep_leaves_a_database_that_the_other_commands_read(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    _run("--keep", "--json")
    result = CliRunner().invoke(app, ["threads", "--db", "demo.db", "--user", "mara", "--json"])
    assert result.exit_code == 0
    assert len(json.loads(result.stdout)["threads"]) == 6


def test_it_touches_no_file_that_is_there(tmp_path: Path) -> None:
    other = tmp_path / "other.db"
    other.write_bytes(b"not ours")
    _run("--db", str(other), code=2)
    assert other.read_bytes() == b"not ours"
