"""The commands about templates: those that are there, whether a schema can be met, and a profile laid out by one."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner

from bethink import Memory
from bethink.cli.app import app
from bethink.insights.domains.catalogue import TEMPLATES

SCHEMA = {
    "title": "Patient",
    "type": "object",
    "properties": {"city": {"type": ["string", "null"]}, "allergies": {"type": "array", "items": {"type": "string"}}},
}


@pytest.fixture
def db(tmp_path: Path) -> Path:
    path = tmp_path / "memory.db"
    with Memory(path, embedder=None) as memory:
        memory.thread("t").add("user", "I'm allergic to nuts. I live in Porto. I prefer plain explanations.")
        memory.thread("t").add("user", "Always answer in Spanish.")
    return path


def run(db: Path, *arguments: str, code: int = 0, env: dict[str, str] | None = None) -> str:
    result = CliRunner().invoke(app, [*arguments, "--db", str(db), "--embedder", "none"], env=env)
    assert result.exit_code == code, result.output
    return result.stdout if code == 0 else result.stderr


def test_templates_lists_them_all_without_a_database(tmp_path: Path) -> None:
    nowhere = tmp_path / "none.db"
    listed = json.loads(run(nowhere, "templates", "--json"))["templates"]
    assert [each["name"] for each in listed] == list(TEMPLATES)
    assert "healthcare" in run(nowhere, "templates")
    assert not nowhere.exists()


def test_templates_shows_the_sections_of_one(db: Path) -> None:
    assert "never let go" in run(db, "templates", "healthcare")
    found: dict[str, Any] = json.loads(run(db, "templates", "healthcare", "--json"))
    assert found["sections"][0]["slots"] == ["allergy", "intolerance"]


def test_templates_says_whether_a_schema_can_be_met(db: Path, tmp_path: Path) -> None:
    file = tmp_path / "patient.json"
    file.write_text(json.dumps({**SCHEMA, "minProperties": 2}))
    assert "keywords that cannot be kept (minProperties)" in run(db, "templates", str(file), code=2)
    file.write_text("[1")
    assert "a file without a JSON object" in run(db, "templates", str(file), code=2)


def test_a_profile_is_shown_in_sections(db: Path) -> None:
    shown = run(db, "profile", "--template", "healthcare")
    assert shown.index("allergies") < shown.index("allergic to nuts") < shown.index("communication")
    assert "lives in Porto" not in shown
    assert "nothing yet: " in shown
    found = json.loads(run(db, "profile", "--template", "healthcare", "--json"))
    (section,) = [each for each in found["sections"] if each["name"] == "allergies"]
    assert section["value"] == ["allergic to nuts"]
    assert section["insights"] == [found["entries"][0]["insight"]["id"]]


def test_a_profile_fills_a_json_schema(db: Path, tmp_path: Path) -> None:
    file = tmp_path / "patient.json"
    file.write_text(json.dumps(SCHEMA))
    found = json.loads(run(db, "profile", "--template", str(file), "--json"))
    assert found["profile"] == {"city": "Porto", "allergies": ["nuts"]}


def test_a_template_of_no_such_name_is_refused(db: Path) -> None:
    assert "did you mean 'tutoring'" in run(db, "profile", "--template", "tutor", code=2)


def test_the_environment_names_the_template_that_a_memory_is_opened_with(db: Path) -> None:
    env = {"BETHINK_PROFILE": "coding_agent"}
    found = json.loads(run(db, "profile", "--json", env=env))
    assert found["template"] == "coding_agent"
    assert found["sections"][0]["value"] == ["Always answer in Spanish"]
