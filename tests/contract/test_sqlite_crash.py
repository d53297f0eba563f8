"""A process killed at any moment, a statement that fails anywhere: what was acknowledged is there, the rest not half there."""

from __future__ import annotations

import random
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import closing
from datetime import datetime, timezone
from pathlib import Path
from typing import Any

import pytest

from bethink.errors import BethinkError, StoreError
from bethink.messages import Message, ToolCall
from bethink.records import Line, Node, Note, Receipt, Source
from bethink.storage.base import (
    Append,
    Cite,
    Cursor,
    Fold,
    Forget,
    Get,
    Prune,
    Put,
    Read,
    Retire,
    Save,
    Scan,
    Scope,
    Search,
    What,
)
from bethink.storage.sqlite import SqliteStore, tail
from bethink.storage.sqlite.driver import Database
from bethink.testing.doubles import HashEmbedder
from bethink.threads import ForkPoint, ThreadInfo

AT = datetime(2026, 3, 1, 12, tzinfo=timezone.utc)
NS = ("acme", "ada")
SCOPE = Scope(NS)
ROUNDS = 6
OPERATIONS = 200
EMBEDDER = HashEmbedder()


def message(name: str, text: str) -> Message:
    return Message(role="user", content=text, id=name, created_at=AT)


def append(thread_id: str, *messages: Message, fork_of: ForkPoint | None = None) -> Append:
    return Append(namespace=NS, thread_id=thread_id, at=AT, messages=messages, fork_of=fork_of)


def save(thread_id: str, name: str, **options: Any) -> Save:
    return Save(namespace=NS, thread_id=thread_id, id=name, at=AT, format="x", **options)


def node(name: str, first: int, last: int, *sources: str) -> Node:
    lines = (Line(text="what was said", sources=sources, at=AT),)
    return Node(id=name, level=1, covers=((first, last),), lines=lines, author="extractive", created_at=AT)


def note(name: str, *sources: tuple[str, str]) -> Note:
    rests_on = tuple(Source(message_id, thread_id, f"as {message_id} says it") for thread_id, message_id in sources)
    return Note(id=name, text=f"note {name}", trust="user", recorded_at=AT, sources=rests_on)


# -- kill -9 --------------------------------------------------------------------------------------------------------------


def live(path: str, seed: str) -> None:
    """Random operations; a line of standard output for each message or checkpoint that is stored or gone for good."""
    tail.LONGEST = 8
    chance = random.Random(seed)
    store = SqliteStore(path)
    store.bind_embedder(EMBEDDER.fingerprint)
    print("ready", flush=True)
    for number in range(OPERATIONS):
        name = f"{seed}-{number}"
        try:
            _act(store, chance, name)
        except BethinkError:
            # Refused, as a conflict or for want of what was forgotten.
            continue
    time.sleep(60)


def _act(store: SqliteStore, chance: random.Random, name: str) -> None:
    thread_id = f"t{chance.randrange(4)}"
    act = chance.choice(
        ("append", "append", "append", "batch", "put", "fold", "search", "embed", "forget", "fork", "save", "prune")
    )
    if act == "append":
        store.append(append(thread_id, message(name, f"bees and honey {name} " * chance.randrange(1, 60))))
        print("stored", thread_id, name, flush=True)
    elif act == "batch":
        names = [f"{name}.{part}" for part in range(5)]
        store.append(append(thread_id, *(message(each, f"rain {each}") for each in names)))
        for each in names:
            print("stored", thread_id, each, flush=True)
    elif act == "put":
        messages = store.read(Read(namespace=NS, thread_id=thread_id, limit=3)).messages
        store.put(Put(namespace=NS, records=(note(name, *((thread_id, each.id) for each in messages)),)))
    elif act == "fold":
        transcript = store.read(Read(namespace=NS, thread_id=thread_id))
        through = transcript.thread.folded_through
        fresh = [each for each in transcript.messages if each.seq > through][:6]
        covers = tuple((each.seq, each.seq) for each in fresh)
        lines = (Line(text="what was said", sources=tuple(each.id for each in fresh), at=AT),)
        summary = Node(id=name, level=1, covers=covers, lines=lines, author="x", created_at=AT)
        last = fresh[-1].seq if fresh else through
        store.fold(
            Fold(namespace=NS, thread_id=thread_id, nodes=(summary,) if fresh else (), through=last, expected_through=through)
        )
    elif act == "search":
        store.search(Search(scope=SCOPE, terms=("bee",)))
    elif act == "embed":
        items = store.scan(Scan(what="pending", scope=SCOPE, limit=20)).items
        vectors = tuple((item.unit, EMBEDDER.stored(item.text)) for item in items)  # type: ignore[union-attr]
        store.put(Put(namespace=NS, vectors=vectors))
    elif act == "forget":
        messages = store.read(Read(namespace=NS, thread_id=thread_id, limit=20)).messages
        if messages:
            gone = chance.choice(messages).id
            print("forgetting", thread_id, gone, flush=True)
            store.forget(Forget(scope=SCOPE, at=AT, message_id=gone))
    elif act == "save":
        store.save(save(thread_id, name, state=name.encode() * chance.randrange(1, 4_000)))
        print("saved", thread_id, name, flush=True)
    elif act == "prune":
        print("pruning", thread_id, name, flush=True)
        store.prune(Prune(namespace=NS, thread_id=thread_id, keep=chance.randrange(3)))
    else:
        tip = store.read(Read(namespace=NS, thread_id=thread_id, limit=0)).thread.tip
        store.append(append(f"fork-{name}", fork_of=ForkPoint(thread_id, tip)))


@pytest.mark.parametrize("round_number", range(ROUNDS))
def test_V023_V042_a_kill_leaves_every_acknowledged_message_and_a_sound_file(tmp_path: Path, round_number: int) -> None:
    path = tmp_path / "memory.db"
    for life in range(2):
        process = subprocess.Popen(
            [sys.executable, __file__, str(path), f"{round_number}.{life}"], stdout=subprocess.PIPE, text=True
        )
        assert process.stdout is not None
        assert process.stdout.readline() == "ready\n"
        time.sleep(random.Random(round_number * 10 + life).uniform(0.05, 0.7))
        process.send_signal(signal.SIGKILL)
        # The kill may have come in the middle of a line.
        lines = [line.split() for line in process.communicate()[0].splitlines(keepends=True) if line.endswith("\n")]
        stored = {(thread_id, name) for what, thread_id, name in lines if what == "stored"}
        forgotten = {name for what, _, name in lines if what == "forgetting"}
        saved: set[tuple[str, str]] = set()
        for what, thread_id, name in lines:
            if what == "saved":
                saved.add((thread_id, name))
            elif what in ("pruning", "forgetting"):
                # A message that is forgotten takes checkpoints along, in every thread that holds it.
                saved = {pair for pair in saved if pair[0] != thread_id and what == "pruning"}
        with closing(SqliteStore(path, durability="normal")) as store:
            there = {(item.thread_id, item.message.id) for item in _all(store, "messages")}
            assert {pair for pair in stored - there if pair[1] not in forgotten} == set()
            assert saved <= {(item.thread_id, item.id) for item in _all(store, "checkpoints")}
            assert store.check() == []
            store.append(append("t0", message(f"after-{life}", "it goes on")))


def _all(store: SqliteStore, what: What) -> list[Any]:
    items: list[Any] = []
    request = Scan(what=what, scope=Scope((), subtree=True), limit=10_000)
    page = store.scan(request)
    items += page.items
    assert page.next is None
    return items


# -- a statement that fails -----------------------------------------------------------------------------------------------


class Failing:
    """A database whose n-th statement fails. Rolling back does not, as in SQLite."""

    def __init__(self, database: Database) -> None:
        self._database = database
        self.left: int | None = None
        self.failed = False

    def __getattr__(self, name: str) -> Any:
        return getattr(self._database, name)

    def _count(self, sql: str) -> None:
        if self.left is None or sql == "ROLLBACK" or sql.startswith("PRAGMA synchronous"):
            return
        if self.left == 0:
            self.failed, self.left = True, None
            raise StoreError("injected")
        self.left -= 1

    def execute(self, sql: str, parameters: Sequence[Any] = ()) -> list[tuple[Any, ...]]:
        self._count(sql)
        return self._database.execute(sql, parameters)

    def executemany(self, sql: str, rows: Sequence[Any]) -> None:
        self._count(sql)
        self._database.executemany(sql, rows)

    def insert(self, sql: str, parameters: Sequence[Any]) -> int:
        self._count(sql)
        return self._database.insert(sql, parameters)


@pytest.fixture
def store(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[SqliteStore]:
    """A thread of six messages with a call, one folded, one fork, records, vectors."""
    with closing(SqliteStore(tmp_path / "memory.db", durability="normal")) as store:
        store.bind_embedder(EMBEDDER.fingerprint)
        call = Message(role="assistant", tool_calls=(ToolCall("c1", "f"),), id="m3", created_at=AT)
        result = Message(role="tool", content="four", tool_call_id="c1", id="m4", created_at=AT)
        said = (message("m1", "bees"), message("m2", "honey"), call, result, message("m5", "rain"))
        store.append(append("t", *said))
        store.fold(Fold(namespace=NS, thread_id="t", nodes=(node("n1", 1, 2, "m1"),), through=2, expected_through=0))
        for name, seq in (("s1", 2), ("s2", 4), ("s3", 5)):
            store.save(save("t", name, state=name.encode() * 2_000, seq=seq))
        store.append(append("fork", fork_of=ForkPoint("t", 4)))
        store.put(Put(namespace=NS, records=(note("r1", ("t", "m1")), note("r2", ("t", "m1"), ("t", "m5")))))
        receipt = Receipt(
            id="c1",
            thread_id="t",
            created_at=AT,
            budget=9,
            tokens=1,
            counter="x",
            ranker="x",
            renderer=1,
            digest="x",
            recent=((1, 2),),
        )
        store.put(Put(namespace=NS, receipt=receipt, retire=(Retire("r1", AT, "superseded", "r2"),)))
        items = store.scan(Scan(what="pending", scope=SCOPE, limit=4)).items
        vectors = tuple((item.unit, EMBEDDER.stored(item.text)) for item in items)  # type: ignore[union-attr]
        store.put(Put(namespace=NS, vectors=vectors))
        yield store


def everything(store: SqliteStore) -> list[Any]:
    sorts: tuple[What, ...] = ("threads", "messages", "records", "receipts", "pending", "checkpoints")
    states = store.get(Get(scope=SCOPE, checkpoints=("s1", "s2", "s3", "s4"))).checkpoints
    nodes = store.get(Get(scope=SCOPE, nodes=("n1", "n2"))).nodes
    return [nodes, states, *(_all(store, what) for what in sorts), store.stats(SCOPE).units]


def _append(store: SqliteStore) -> object:
    again = (message("m6", "wax"), Message(role="assistant", tool_calls=(ToolCall("c2", "f"),), id="m7", created_at=AT))
    return store.append(append("t", *again))


def _append_to_new(store: SqliteStore) -> object:
    return store.append(Append(namespace=(*NS, "new"), thread_id="t", at=AT, messages=(message("x", "wax"),)))


def _fork(store: SqliteStore) -> object:
    return store.append(append("fork2", message("m6", "wax"), fork_of=ForkPoint("t", 5)))


def _fold(store: SqliteStore) -> object:
    return store.fold(Fold(namespace=NS, thread_id="t", nodes=(node("n2", 3, 5, "m5"),), through=5, expected_through=2))


def _put(store: SqliteStore) -> object:
    items = store.scan(Scan(what="pending", scope=SCOPE)).items
    store.put(
        Put(
            namespace=NS,
            cursor=Cursor("t", "extracted", 0, 5),
            records=(note("r3", ("t", "m5")), note("r1", ("t", "m2"))),
            retire=(Retire("r2", AT, "withdrawn"),),
            cite=(Cite("r3", AT),),
            vectors=tuple((item.unit, EMBEDDER.stored("x")) for item in items),  # type: ignore[union-attr]
        )
    )
    return None


def _save(store: SqliteStore) -> object:
    return store.save(save("t", "s4", state=b"four" * 5_000, view={"step": 4}))


def _prune(store: SqliteStore) -> object:
    return store.prune(Prune(namespace=NS, thread_id="t", ids=("s2",)))


def _forget_message(store: SqliteStore) -> object:
    return store.forget(Forget(scope=SCOPE, at=AT, message_id="m1"))


def _forget_scope(store: SqliteStore) -> object:
    return store.forget(Forget(scope=SCOPE, at=AT))


@pytest.mark.parametrize("act", [_append, _append_to_new, _fork, _fold, _put, _save, _prune, _forget_message, _forget_scope])
def test_V021_V022_whichever_statement_fails_all_of_it_happens_or_nothing(
    store: SqliteStore, act: Callable[[SqliteStore], object]
) -> None:
    failing: Any = Failing(store._writer.alone(lambda database: database))
    store._writer._database = failing
    before = everything(store)
    for statement in range(1000):
        failing.left, failing.failed = statement, False
        try:
            act(store)
        except StoreError:
            assert failing.failed
            failing.left = None
            assert everything(store) == before
            assert store.check() == []
        else:
            break
    # The first success is the first time that nothing failed, or that what failed was only the cleaning after a forget.
    assert statement > 3
    failing.left = None
    assert everything(store) != before
    store.close()
    with closing(SqliteStore(store.path, durability="normal")) as reopened:
        assert reopened.check() == []


def test_a_settling_that_fails_anywhere_leaves_every_word_to_be_found(
    store: SqliteStore, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(tail, "LONGEST", 0)
    failing: Any = Failing(store._writer.alone(lambda database: database))
    store._writer._database = failing
    for statement in range(100):
        store.append(append("t", message(f"s{statement}", "wax")))
        failing.left, failing.failed = statement, False
        found = store.search(Search(scope=SCOPE, terms=("wax",)))
        failing.left = None
        assert found.frequency == {"wax": statement + 1}
        assert store.check() == []
        if not failing.failed:
            break
    assert statement > 5


def test_the_failing_database_fails_at_every_statement(store: SqliteStore) -> None:
    failing: Any = Failing(store._writer.alone(lambda database: database))
    store._writer._database = failing
    seen = 0
    for statement in range(20):
        failing.left, failing.failed = statement, False
        try:
            store.append(append("t", message(f"s{statement}", "one")))
        except StoreError:
            seen += 1
    assert seen >= 5
    info = store.scan(Scan(what="threads", scope=SCOPE)).items[0]
    assert isinstance(info, ThreadInfo)
    assert info.count == 5 + 20 - seen


if __name__ == "__main__":
    live(*sys.argv[1:])
