"""Failures of the field that concern deleting and safety, each a test named by its id."""

from __future__ import annotations

import json
import logging
import sqlite3
import traceback
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import pytest

from bethink import Memory, NotFound
from bethink.cli.app import app
from bethink.errors import BethinkError, InvalidInput
from bethink.records import Note, Source
from bethink.storage.base import Put
from bethink.testing.doubles import FrozenClock, HashEmbedder


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "data" / "memory.db"


@pytest.fixture
def memory(path: Path) -> Iterator[Memory]:
    path.parent.mkdir()
    with Memory(path, clock=FrozenClock(), embedder=HashEmbedder(), durability="normal") as memory:
        yield memory


def _rows(path: Path) -> dict[str, int]:
    """Rows of every table but those that tell how often something was done."""
    with closing(sqlite3.connect(path)) as database:
        names = [
            name
            for (name,) in database.execute("SELECT name FROM sqlite_schema WHERE type = 'table' AND sql LIKE 'CREATE TABLE%'")
        ]
        # What was done, and how much was forgotten, is told for good, without a word of it (`diff`).
        told = {"changes", "forgotten"}
        ours = [name for name in names if not name.startswith(("sqlite_", "lexicon")) and name not in told]
        return {name: database.execute(f'SELECT count(*) FROM "{name}"').fetchone()[0] for name in ours}


def test_V083_keeping_and_forgetting_leaves_no_row_behind(memory: Memory, path: Path) -> None:
    user = memory.user("ada")
    user.thread("stays").add("user", "I live in Porto.")
    user.profile()
    user.flush()
    before = _rows(path)
    for number in range(30):
        said = user.thread("t").add("user", f"I love number {number}.")
        note = user.store(f"note {number}")
        user.thread("t").context("number", budget=400)
        user.flush()
        user.forget(record=note.id)
        user.forget(message=said.id)
    user.forget(thread="t")
    assert _rows(path) == before


def test_V084_what_is_said_to_be_forgotten_is_gone_and_what_is_not_is_not(memory: Memory) -> None:
    ada, ben = memory.user("ada"), memory.user("ben")
    note = ada.store("the heron flies at midnight")
    for owner, name in ((ben, note.id), (ada, note.id[:-1] + "x")):
        with pytest.raises(NotFound):
            owner.forget(record=name)
    assert ada.retrieve("heron")[0].id == note.id
    assert ada.forget(record=note.id).record_ids == (note.id,)
    assert (ada.records(current=False), ada.retrieve("heron")) == ([], [])
    with pytest.raises(NotFound):
        ada.forget(record=note.id)


def test_V085_a_record_of_a_message_that_is_not_there_is_refused_whole(memory: Memory) -> None:
    told = memory.thread("t").add("user", "hello")
    at = memory._engine.clock.now()
    good = Note(id="n1", text="a", trust="user", recorded_at=at, sources=(Source(told.id, "t", "hello"),))
    bad = Note(id="n2", text="b", trust="user", recorded_at=at, sources=(Source("nobody", "t", "hello"),))
    with pytest.raises(NotFound):
        memory._engine.store.put(Put(namespace=memory.namespace, records=(good, bad)))
    assert memory.records() == []
    memory._engine.store.put(Put(namespace=memory.namespace, records=(good,)))
    assert memory.forget(message=told.id).record_ids == ("n1",)


def test_V086_a_misspelt_name_is_not_said_to_be_forgotten(
    memory: Memory, path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    memory.thread("Ada").add("user", "hello")
    with pytest.raises(NotFound, match="Adda"):
        memory.forget(thread="Adda")
    assert memory.forget(thread="Ada").thread_ids == ("Ada",)
    with pytest.raises(SystemExit) as ended:
        app(["forget", "--thread", "Adda", "--db", str(path), "--yes", "--json"])
    assert ended.value.code == 3
    assert "Adda" in json.loads(capsys.readouterr().err or capsys.readouterr().out)["error"]["message"]


IDS = ("../../x", "/etc/x", "C:\\x", "a/b", "a%2fb", ".", "..", "CON", "x" * 300, "a\nb", "~", "$HOME", "a;b")


def test_V101_no_id_becomes_a_file_and_no_two_are_one(memory: Memory, tmp_path: Path) -> None:
    kept: dict[str, str] = {}
    for name in IDS:
        for given in (name, name.upper() + "-2"):
            try:
                memory.user(given).thread(given).add("user", f"said under {len(kept)}", id=given)
            except InvalidInput:
                continue
            kept[given] = f"said under {len(kept)}"
            memory.user(given).thread(given).checkpoint({"of": given}, id=given)
    for given, text in kept.items():
        assert [message.text for message in memory.user(given).thread(given).messages()] == [text]
        assert memory.user(given).thread(given).resume().value == {"of": given}
    list(memory.export())
    assert len(kept) > 15
    assert {file.name for file in tmp_path.rglob("*")} == {"data", "memory.db", "memory.db-wal", "memory.db-shm"}


@pytest.mark.parametrize("name", ["\x00", "a\x00b", "", "a\x1fb"])
def test_V101_what_cannot_be_an_id_is_refused(memory: Memory, name: str) -> None:
    with pytest.raises(BethinkError):
        memory.user(name).thread(name).add("user", "hello")


def test_V104_the_password_of_an_address_is_in_no_error(
    caplog: pytest.LogCaptureFixture, capsys: pytest.CaptureFixture[str]
) -> None:
    address = "postgresql://u:S3cret@nohost/db?sslkey=abcdef"
    with caplog.at_level(logging.DEBUG), pytest.raises(InvalidInput) as raised:
        Memory(address)
    with pytest.raises(SystemExit):
        app(["stats", "--db", address, "--json"])
    shown = capsys.readouterr()
    said = "".join(traceback.format_exception(raised.value)) + caplog.text + repr(raised.value)
    for secret in ("S3cret", "abcdef"):
        assert secret not in said.replace(f'"{address}"', "")
        assert secret not in shown.err + shown.out
