"""`redact`, `attested`, and a signed `forget`, from the command line."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from bethink import Memory
from bethink.attestations import check_attestation
from bethink.cli.app import app

ADDRESS = "ana@example.org"


@pytest.fixture
def db(tmp_path: Path) -> Path:
    path = tmp_path / "agent.db"
    with Memory(path, embedder=None) as memory:
        memory.user("mara").thread("t").add("user", f"My mail is {ADDRESS}, customer KD-12345678.")
    return path


def run(capsys: pytest.CaptureFixture[str], *words: object) -> tuple[int, Any]:
    with pytest.raises(SystemExit) as ended:
        app([str(word) for word in words])
    shown = capsys.readouterr()
    code = ended.value.code
    assert isinstance(code, int)
    return code, json.loads(shown.out or shown.err)


def test_a_dry_run_tells_and_changes_nothing(db: Path, capsys: pytest.CaptureFixture[str]) -> None:
    code, facts = run(capsys, "redact", "--db", db, "--dry-run", "--json")
    assert (code, facts["messages"], facts["kinds"], facts["dry_run"]) == (0, 1, {"email": 1}, True)
    with Memory(db, embedder=None) as memory:
        assert not memory.verify(ADDRESS).clean


def test_it_redacts_and_erases(db: Path, capsys: pytest.CaptureFixture[str]) -> None:
    code, facts = run(capsys, "redact", "--db", db, "--yes", "--json", "--pattern", "customer=KD-[0-9]{8}")
    assert (code, facts["changed"], facts["kinds"]) == (0, 1, {"customer": 1, "email": 1})
    with Memory(db, embedder=None) as memory:
        assert memory.verify(ADDRESS, "KD-12345678").clean
    assert run(capsys, "redact", "--db", db, "--yes", "--json")[1]["changed"] == 0


@pytest.mark.parametrize("options", [("--kinds", "mail"), ("--pattern", "x"), ("--pattern", "x=(")])
def test_what_cannot_be_looked_for_is_refused(db: Path, options: tuple[str, str], capsys: pytest.CaptureFixture[str]) -> None:
    assert run(capsys, "redact", "--db", db, "--dry-run", "--json", *options)[0] == 2


def test_nobody_is_asked_where_nobody_is(db: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(capsys, "redact", "--db", db, "--json")[0] == 2


def test_a_signed_receipt_is_written_and_checked(db: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    key, file = tmp_path / "key", tmp_path / "forgotten.json"
    key.write_bytes(bytes(range(32)))
    options = ("--whole-namespace", "--user", "mara", "--yes", "--json")
    assert run(capsys, "forget", "--db", db, *options, "--sign", key, "--receipt", file)[0] == 0
    assert check_attestation(file.read_bytes().strip(), key.read_bytes()).names("namespace", "default", "mara")
    code, facts = run(capsys, "attested", file, "--key", key, "--json")
    assert (code, facts["clean"]) == (0, True)
    file.write_text(file.read_text().replace('"erased":true', '"erased":false'))
    assert run(capsys, "attested", file, "--key", key, "--json")[0] == 2


def test_a_key_that_cannot_sign_is_refused_before_anything_is_forgotten(
    db: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    key = tmp_path / "key"
    key.write_bytes(b"short")
    options = ("--whole-namespace", "--user", "mara", "--yes", "--json")
    assert run(capsys, "forget", "--db", db, *options, "--sign", key, "--receipt", tmp_path / "r")[0] == 2
    assert run(capsys, "forget", "--db", db, *options, "--sign", key)[0] == 2
    with Memory(db, embedder=None) as memory:
        assert not memory.verify(ADDRESS).clean
