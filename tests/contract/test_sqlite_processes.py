"""Several processes on one file: nothing lost, nothing twice, no lock error; and a process that forks."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Iterator
from contextlib import closing
from datetime import datetime, timezone
from pathlib import Path

import pytest

from bethink.messages import Message, ToolCall
from bethink.records import Note
from bethink.storage.base import Append, Put, Read, Scan, Scope, Search
from bethink.storage.sqlite import SqliteStore
from bethink.testing.doubles import HashEmbedder

AT = datetime(2026, 3, 1, 12, tzinfo=timezone.utc)
NS = ("acme", "ada")
SCOPE = Scope(NS)
PROCESSES = 4
TURNS = 50


def say(store: SqliteStore, thread_id: str, *ids: str) -> None:
    messages = tuple(Message(role="user", content=f"message {name}", id=name, created_at=AT) for name in ids)
    store.append(Append(namespace=NS, thread_id=thread_id, at=AT, messages=messages))


def turn(store: SqliteStore, thread_id: str, name: str) -> None:
    """A call and its result, as one batch."""
    call = Message(role="assistant", tool_calls=(ToolCall(f"call-{name}", "f"),), id=f"{name}-call", created_at=AT)
    result = Message(role="tool", content="ok", tool_call_id=f"call-{name}", id=f"{name}-result", created_at=AT)
    store.append(Append(namespace=NS, thread_id=thread_id, at=AT, messages=(call, result)))


def ids_of(store: SqliteStore, thread_id: str) -> list[str]:
    return [message.id for message in store.read(Read(namespace=NS, thread_id=thread_id)).messages]


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "memory.db"


@pytest.fixture
def store(path: Path) -> Iterator[SqliteStore]:
    with closing(SqliteStore(path, durability="normal")) as store:
        yield store
        assert store.check() == []


# -- what the other processes do ------------------------------------------------------------------------------------------


def write_all(path: str, name: str) -> None:
    """To one thread that all share and to one of its own; turns with calls; a record and a read now and then."""
    with closing(SqliteStore(path, durability="normal")) as store:
        for number in range(TURNS):
            say(store, "shared", f"{name}-{number:03d}")
            say(store, f"own-{name}", f"{name}-{number:03d}")
            turn(store, "turns", f"{name}-{number:03d}")
            note = Note(id=f"r-{name}-{number}", text=f"note {name} {number}", trust="user", recorded_at=AT)
            store.put(Put(namespace=NS, records=(note,)))
            ids_of(store, "shared")


def retry_all(path: str, name: str) -> None:
    """The same ids as every other process."""
    del name
    with closing(SqliteStore(path, durability="normal")) as store:
        for number in range(TURNS):
            say(store, "shared", f"{number:03d}", f"{number:03d}-second")


def embed_one(path: str, name: str) -> None:
    with closing(SqliteStore(path, durability="normal")) as store:
        embedder = HashEmbedder()
        say(store, "shared", name)
        for item in store.scan(Scan(what="pending", scope=SCOPE)).items:
            store.put(Put(namespace=NS, vectors=((item.unit, embedder.stored(item.text)),)))  # type: ignore[union-attr]


TASKS = {task.__name__: task for task in (write_all, retry_all, embed_one)}


def run(task: str, path: Path, *names: str) -> None:
    """Each name in a process of its own, all at once; the file is not there yet unless somebody made it."""
    processes = [
        subprocess.Popen([sys.executable, __file__, task, str(path), name], stderr=subprocess.PIPE, text=True) for name in names
    ]
    outputs = [process.communicate(timeout=120)[1] for process in processes]
    assert [process.returncode for process in processes] == [0] * len(names), outputs


# -- tests ----------------------------------------------------------------------------------------------------------------


def test_V037_V043_four_processes_lose_nothing_and_meet_no_lock(path: Path) -> None:
    names = [f"p{number}" for number in range(PROCESSES)]
    run("write_all", path, *names)
    with closing(SqliteStore(path)) as store:
        shared = ids_of(store, "shared")
        assert len(shared) == len(set(shared)) == PROCESSES * TURNS
        transcript = store.read(Read(namespace=NS, thread_id="shared"))
        assert [message.seq for message in transcript.messages] == list(range(1, PROCESSES * TURNS + 1))
        for name in names:
            own = [f"{name}-{number:03d}" for number in range(TURNS)]
            assert [each for each in shared if each.startswith(name)] == own
            assert ids_of(store, f"own-{name}") == own
        turns = ids_of(store, "turns")
        # V039: no other writer's message comes between a call and its result.
        assert [each.removesuffix("-call") for each in turns[::2]] == [each.removesuffix("-result") for each in turns[1::2]]
        assert store.stats(SCOPE).records == {"note": PROCESSES * TURNS}
        assert store.search(Search(scope=SCOPE, terms=("note",))).frequency == {"note": PROCESSES * TURNS}
        assert store.check() == []


def test_processes_that_retry_the_same_ids_write_them_once(path: Path) -> None:
    run("retry_all", path, "a", "b", "c", "d")
    with closing(SqliteStore(path)) as store:
        assert ids_of(store, "shared") == [name for n in range(TURNS) for name in (f"{n:03d}", f"{n:03d}-second")]
        assert store.check() == []


def test_V041_a_vector_of_another_process_is_found_by_the_next_search(store: SqliteStore, path: Path) -> None:
    embedder = HashEmbedder()
    store.bind_embedder(embedder.fingerprint)
    say(store, "shared", "first")
    query = Search(scope=SCOPE, terms=("new",), vector=embedder.stored("message new"))
    assert store.search(query).candidates == ()
    run("embed_one", path, "new")
    found = {candidate.id: candidate for candidate in store.search(query).candidates}
    assert found["new"].cosine == pytest.approx(1)
    assert found["new"].counts == {"new": 1}
    assert ids_of(store, "shared") == ["first", "new"]


@pytest.mark.skipif(not hasattr(os, "fork"), reason="no fork on this system")
def test_parent_and_child_go_on_after_a_fork(store: SqliteStore) -> None:
    say(store, "t", "before")
    ids_of(store, "t")
    child = os.fork()
    if child == 0:
        # Only os._exit leaves a forked test runner; the status says whether all went well.
        status = 1
        try:
            for number in range(20):
                say(store, "t", f"child-{number}")
            status = 0 if "child-19" in ids_of(store, "t") else 2
        finally:
            os._exit(status)
    for number in range(20):
        say(store, "t", f"parent-{number}")
    assert os.waitpid(child, 0)[1] == 0
    ids = ids_of(store, "t")
    assert ids[0] == "before"
    assert sorted(ids[1:]) == sorted(f"{who}-{number}" for who in ("child", "parent") for number in range(20))


if __name__ == "__main__":
    TASKS[sys.argv[1]](*sys.argv[2:])
