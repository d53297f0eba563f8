"""A failure, an interrupt, a kill, a cancellation at every step of a verb: nothing is lost, nothing is half there.

A file is prepared once: a thread folded at several levels with calls, checkpoints, a fork, records, vectors. A verb runs on a
copy of it and is ended at its k-th call of the database driver, or at its k-th wait on an event loop. Then, in the same process
where it lives and after reopening: `check()` is [], every message and checkpoint is there once and in its order, either as
before the verb or as after it, and the verb done again leaves exactly what it leaves when nothing happens.

By default some k of each verb are drawn; EVERY_FAULT=1 (`make nightly`) takes all.
"""

from __future__ import annotations

import asyncio
import os
import random
import shutil
import signal
import subprocess
import sys
from collections.abc import Awaitable, Callable, Generator, Iterator, Sequence
from contextlib import contextmanager, suppress
from datetime import datetime, timedelta, timezone
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple

import pytest

from bethink import AsyncMemory, BethinkError, ItemPut, Memory, Message, Settings, StoreError, ToolCall
from bethink.records import Insight, Node, Note
from bethink.storage.base import Acquire, Read, Release, Scope
from bethink.storage.sqlite import connection
from bethink.storage.sqlite.driver import Database, Driver
from bethink.storage.sqlite.driver import connect as driver_connect
from bethink.testing.doubles import FrozenClock, HashEmbedder, ScriptedModel, remembering
from bethink.values import Namespace

AT = datetime(2026, 3, 2, 9, 0, tzinfo=timezone.utc)
SETTINGS = Settings(window=400, segment_messages=4, node_tokens=60, node_fan_in=2, refine="manual")
NOTE, PINNED = "01980000000070008000000000000001", "01980000000070008000000000000002"
EVERY = os.environ.get("EVERY_FAULT") == "1"
SOME = 4

# -- verbs ----------------------------------------------------------------------------------------------------------------


def say(name: str, text: str, **fields: Any) -> Message:
    return Message(role="user", content=text, id=name, created_at=AT, **fields)


def call(name: str) -> tuple[Message, Message]:
    asking = Message(role="assistant", tool_calls=(ToolCall(f"c-{name}", "look"),), id=f"{name}-call", created_at=AT)
    return asking, Message(role="tool", content="it is there", tool_call_id=f"c-{name}", id=f"{name}-result", created_at=AT)


class Verb(NamedTuple):
    """What is done to a `Memory` or, awaited, to an `AsyncMemory`.

    Attributes:
        at_once: whether all of it is one transaction, so that it is done or not.
        gone: whether doing it again finds nothing left to do, and says so.
    """

    run: Callable[[Any], Any]
    at_once: bool = True
    gone: bool = False


NEW = (say("n1", "I moved to Porto."), *call("n2"), say("n3", "The budget is 3,500 euros."))

VERBS: dict[str, Verb] = {
    "append": Verb(lambda memory: memory.thread("t").append([NEW[0]])),
    "append a batch": Verb(lambda memory: memory.thread("t").append(NEW)),
    "append to a new thread": Verb(lambda memory: memory.user("new").thread("t").append(NEW)),
    "append again, and more": Verb(lambda memory: memory.thread("t").append([say("m39", "note 39 for team 39"), *NEW])),
    "fork": Verb(lambda memory: memory.thread("t").fork(20, thread_id="f"), gone=True),
    "fork at a checkpoint": Verb(lambda memory: memory.thread("t").fork("s2", thread_id="f"), gone=True),
    "context": Verb(lambda memory: memory.thread("t").context("team 7"), at_once=False),
    "checkpoint": Verb(lambda memory: memory.thread("t").checkpoint({"step": list(range(900))}, id="s4", view={"step": 4})),
    "resume": Verb(lambda memory: memory.thread("t").resume()),
    "prune": Verb(lambda memory: memory.thread("t").prune(keep=1)),
    "promote": Verb(lambda memory: memory.thread("t").promote("m5")),
    "refine": Verb(lambda memory: memory.thread("t").refine(), at_once=False),
    "curate": Verb(lambda memory: memory.refine(steps=["extract", "reconcile", "importance", "reflect"]), at_once=False),
    "pin": Verb(lambda memory: memory.pin(NOTE)),
    "unpin": Verb(lambda memory: memory.unpin(PINNED)),
    "set the state": Verb(
        lambda memory: memory.thread("t").set_state(goal="ship", decisions=[("SQLite", "one file")]), gone=True
    ),
    "end": Verb(lambda memory: memory.thread("t").end(), at_once=False),
    "reflect": Verb(lambda memory: memory.reflect_due(every=1), at_once=False),
    "recall": Verb(lambda memory: memory.recall("team 7"), at_once=False),
    "reembed": Verb(lambda memory: memory.reembed(HashEmbedder(16, "new")), at_once=False),
    "put an item": Verb(lambda memory: memory.items.put("counter", {"said": "the second"}, index=True)),
    "put several items": Verb(
        lambda memory: memory.items.put_many(
            [ItemPut(key="new", value={"said": "honey"}), ItemPut(key="short", value=None), ItemPut(key="counter", value={})]
        )
    ),
    "put an item of an expected version": Verb(
        lambda memory: memory.items.put("counter", {"said": "the second"}, expected_version=1), gone=True
    ),
    "refresh an item": Verb(lambda memory: memory.items.get("short", refresh=True)),
    "search items": Verb(lambda memory: memory.items.search("the first"), at_once=False),
    "delete an item": Verb(lambda memory: memory.items.delete("counter")),
    "sweep items": Verb(lambda memory: memory.items.sweep()),
    "forget a message": Verb(lambda memory: memory.forget(message="m2"), gone=True),
    "forget a thread": Verb(lambda memory: memory.forget(thread="t"), gone=True),
}


def _in_turn(memory: Memory) -> None:
    with memory.thread("t").turn() as turn:
        turn.append(NEW[:1])
        turn.append(NEW[1:3])


async def _in_turn_awaited(memory: AsyncMemory) -> None:
    async with memory.thread("t").turn() as turn:
        await turn.append(NEW[:1])
        await turn.append(NEW[1:3])


VERBS["turn"] = Verb(_in_turn, at_once=False)


def prepared(path: Path) -> None:
    """What every verb runs on."""
    with opened(path) as memory:
        thread = memory.thread("t")
        for number in range(30):
            thread.append([say(f"m{number}", f"note {number} for team {number}: room {number + 100}, I like fruit {number}.")])
        thread.append(call("asked"))
        thread.checkpoint({"step": 1}, id="s1")
        thread.context()
        memory.flush()
        thread.checkpoint(b"two" * 2_000, id="s2", format="x")
        for number in range(30, 40):
            thread.append([say(f"m{number}", f"note {number} for team {number}")])
        thread.checkpoint({"step": 3}, id="s3")
        thread.context()
        thread.fork(34, thread_id="other")
        for name, text in ((PINNED, "the key is under the mat"), (NOTE, "the cat is next door")):
            memory._engine.keep(memory.namespace, Note(id=name, text=text, trust="user", recorded_at=AT, pinned=name == PINNED))
        for number in range(40, 62):
            thread.append([say(f"m{number}", f"note {number} for team {number}: I live in town {number}.")])
        thread.append([say("waits", "wait", metadata={"a": 1}), call("late")[0]])
        clock = memory._engine.clock
        assert isinstance(clock, FrozenClock)
        clock.set(AT - timedelta(minutes=5))
        memory.items.put("counter", {"said": "the first"})
        memory.items.put("short", {"said": "not for long"}, ttl=timedelta(minutes=10))
        memory.items.put("over", {"said": "cinnamon"}, ttl=timedelta(minutes=1))
        clock.set(AT)


def options() -> dict[str, Any]:
    return {
        "clock": FrozenClock(AT),
        "embedder": HashEmbedder(),
        "language_model": ScriptedModel(remembering),
        "settings": SETTINGS,
        "durability": "normal",
    }


def opened(path: Path) -> Memory:
    return Memory(path, **options())


# -- what is there --------------------------------------------------------------------------------------------------------


def talk(memory: Memory) -> list[Any]:
    """What somebody has been told is stored: messages, states, tiers, pins, and items as they are."""
    found: list[Any] = []
    for info in memory.threads(below=True):
        thread = memory.scope(*info.namespace[1:]).thread(info.thread_id)
        messages = [(each.seq, each.id, each.content, each.tool_calls) for each in thread.messages()]
        states = [(each.id, each.parent_id, each.seq, thread.resume(each.id).state) for each in thread.checkpoints()]
        found.append((info.namespace, info.thread_id, messages, states, thread.tiers(), thread.state_block(2_000)))
    items = memory.items.search(below=True)
    pins = [each.record.id for each in memory._engine.records(Scope(memory.namespace), kinds=("note",), pinned=True)]
    return [
        *found,
        (None, "pins", pins),
        (None, "items", sorted((each.namespace, each.key, str(each.value), each.expires_at) for each in items)),
    ]


def nodes_of(memory: Memory, namespace: Namespace = ("default",), thread_id: str = "t") -> tuple[Node, ...]:
    return memory._engine.store.read(Read(namespace=namespace, thread_id=thread_id, limit=0, nodes=True)).nodes


def everything(memory: Memory) -> list[Any]:
    """That, and all that is derived, with every message looked at; without ids that chance has made."""
    told = talk(memory)
    for info in memory.threads(below=True):
        thread = memory.scope(*info.namespace[1:]).thread(info.thread_id)
        told.append((thread.id, thread.context().to_bytes(), thread.info().folded_through))
        told.append(nodes_of(memory, info.namespace, info.thread_id))
    records = memory.records(current=False, below=True)
    told.append(sorted((type(each).__name__, each.text, isinstance(each, Insight) and each.current) for each in records))
    memory.flush()
    told.append((memory.stats().units, memory.stats().pending))
    return told


# -- faults ---------------------------------------------------------------------------------------------------------------


class Interrupt(BaseException):
    """As of a user who presses Ctrl-C, or a time limit around the call."""


class Faults:
    """Counts the calls of all connections and does something at the k-th. A rollback does not fail, as in SQLite."""

    def __init__(self) -> None:
        self.calls = 0
        self.at: int | None = None
        self.fault: Callable[[], object] = lambda: None

    def call(self, sql: str) -> None:
        if sql == "ROLLBACK":
            return
        self.calls += 1
        if self.calls == self.at:
            self.fault()

    def arm(self, at: int | None, fault: Callable[[], object]) -> None:
        self.calls, self.at, self.fault = 0, at, fault


class Faulty:
    """A database whose calls are counted."""

    def __init__(self, database: Database, faults: Faults) -> None:
        self._database = database
        self._faults = faults

    def __getattr__(self, name: str) -> Any:
        return getattr(self._database, name)

    def execute(self, sql: str, parameters: Sequence[Any] = ()) -> list[tuple[Any, ...]]:
        self._faults.call(sql)
        return self._database.execute(sql, parameters)

    def executemany(self, sql: str, rows: Any) -> None:
        self._faults.call(sql)
        self._database.executemany(sql, rows)

    def insert(self, sql: str, parameters: Sequence[Any]) -> int:
        self._faults.call(sql)
        return self._database.insert(sql, parameters)


@contextmanager
def faulty() -> Iterator[Faults]:
    """Every connection that is opened within counts its calls."""
    faults = Faults()

    def connect(path: str, driver: Driver, timeout: timedelta) -> Any:
        return Faulty(driver_connect(path, driver, timeout), faults)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(connection, "connect", connect)
        yield faults


def error() -> None:
    raise StoreError("injected")


def interrupt() -> None:
    raise Interrupt


def kill() -> None:
    os.kill(os.getpid(), signal.SIGKILL)


def chosen(name: str, most: int) -> list[int]:
    """The first step and the last, and some between, or all."""
    if EVERY or most <= SOME:
        return list(range(1, most + 1))
    return sorted({1, most, *random.Random(name).sample(range(2, most), SOME - 2)})


# -- tests ----------------------------------------------------------------------------------------------------------------


class World(NamedTuple):
    """The prepared file, what is in it, and for each verb how many calls it makes and what it leaves."""

    path: Path
    before: list[Any]
    calls: dict[str, int]
    after: dict[str, tuple[list[Any], list[Any]]]

    def copy(self, folder: Path) -> Path:
        path = folder / "memory.db"
        for old in folder.glob("memory.db*"):
            old.unlink()
        shutil.copyfile(self.path, path)
        return path


@pytest.fixture(scope="module")
def world(tmp_path_factory: pytest.TempPathFactory) -> World:
    folder = tmp_path_factory.mktemp("faults")
    prepared(folder / "base.db")
    found = World(folder / "base.db", [], {}, {})
    for name, verb in VERBS.items():
        with faulty() as faults, opened(found.copy(folder)) as memory:
            if not found.before:
                found.before.extend(talk(memory))
            faults.arm(None, error)
            verb.run(memory)
            found.calls[name] = faults.calls
            found.after[name] = talk(memory), everything(memory)
            assert memory.check() == []
    return found


def assert_sound(memory: Memory, world: World, name: str, *, opened_anew: bool = True) -> None:
    """As it was before the verb or as after it; of several transactions, some may be done."""
    problems = memory.check()
    if name.startswith(("forget", "sweep")) and not opened_anew:
        # What is gone from the database is not gone from the file's free pages until it is closed, and `check` says so.
        problems = [problem for problem in problems if problem.what != "may still hold bytes that were forgotten"]
    assert problems == []
    found = talk(memory)
    if name == "turn":
        there, was = (next(each[2] for each in told if each[1] == "t") for told in (found, world.before))
        assert there[: len(was)] == was
        assert [each[1] for each in there[len(was) :]] in ([], ["n1"], ["n1", "n2-call", "n2-result"])
    else:
        assert found in (world.before, world.after[name][0])


def _freed(memory: Memory) -> None:
    """As if it were later: whoever died over a session holds it until his lease runs out."""
    store, later = memory._engine.store, AT + timedelta(hours=1)
    for info in memory.threads():
        asked = Acquire(
            namespace=info.namespace,
            thread_id=info.thread_id,
            holder="next",
            at=later,
            until=later + timedelta(minutes=1),
            purpose="reflection",
        )
        store.release(Release(store.acquire(asked)))


def assert_repeatable(memory: Memory, world: World, name: str) -> None:
    """Done again, it leaves what it leaves when nothing happens."""
    verb = VERBS[name]
    if name == "turn":
        # Whoever died in a turn holds it until it runs out.
        clock = memory._engine.clock
        assert isinstance(clock, FrozenClock)
        clock.set(AT + timedelta(hours=1))
        verb.run(memory)
        clock.set(AT)
    elif name == "reflect":
        _freed(memory)
        verb.run(memory)
    elif not (verb.gone and talk(memory) == world.after[name][0]):
        verb.run(memory)
    assert memory.check() == []
    assert (talk(memory), everything(memory)) == world.after[name]
    assert memory.check() == []


@pytest.mark.slow
@pytest.mark.parametrize("name", VERBS)
def test_V021_V022_a_verb_that_fails_anywhere_is_done_or_not_and_can_be_done_again(
    world: World, tmp_path: Path, name: str
) -> None:
    faults_at = [(at, fault) for at in chosen(name, world.calls[name]) for fault in (error, interrupt)]
    for at, fault in faults_at if EVERY else faults_at[::3]:
        path = world.copy(tmp_path)
        with faulty() as faults, opened(path) as memory:
            faults.arm(at, fault)
            with suppress(StoreError, Interrupt):
                VERBS[name].run(memory)
            assert faults.calls >= at
            faults.arm(None, error)
            assert_sound(memory, world, name, opened_anew=False)
        with opened(path) as memory:
            assert_sound(memory, world, name)
            assert_repeatable(memory, world, name)


@pytest.mark.slow
@pytest.mark.skipif(not hasattr(os, "fork"), reason="no fork on this system")
@pytest.mark.parametrize("name", VERBS)
def test_V023_a_process_killed_anywhere_leaves_it_done_or_not_and_it_can_be_done_again(
    world: World, tmp_path: Path, name: str
) -> None:
    steps = chosen(f"kill {name}", world.calls[name])
    for at in steps:
        shutil.copyfile(world.path, tmp_path / f"{at}.db")
    command = [sys.executable, __file__, str(tmp_path), name, *map(str, steps)]
    subprocess.run(command, check=True, timeout=max(300, 5 * len(steps)))
    for at in steps:
        with opened(tmp_path / f"{at}.db") as memory:
            assert_sound(memory, world, name)
            assert_repeatable(memory, world, name)


class Cancelled:
    """Awaits something and cancels the task at its k-th wait, or at none; `waits` counts them."""

    def __init__(self, awaited: Awaitable[object], at: int) -> None:
        self._awaited = awaited
        self._at = at
        self.waits = 0

    def __await__(self) -> Generator[Any, Any, object]:
        inner = self._awaited.__await__()
        send: Callable[[], Any] = partial(next, inner)
        while True:
            try:
                future = send()
            except StopIteration as done:
                return done.value
            self.waits += 1
            if self.waits == self._at:
                task = asyncio.current_task()
                assert task is not None
                task.cancel()
            try:
                sent = yield future
            except BaseException as thrown:
                send = partial(inner.throw, thrown)
            else:
                send = partial(inner.send, sent)


@pytest.mark.slow
@pytest.mark.parametrize("name", VERBS)
def test_V020_a_task_cancelled_at_any_wait_leaves_it_done_or_not_and_it_can_be_done_again(
    world: World, tmp_path: Path, name: str
) -> None:
    run = _in_turn_awaited if name == "turn" else VERBS[name].run

    async def cancelled(path: Path, at: int) -> int:
        memory = AsyncMemory(path, **options())
        task = Cancelled(run(memory), at)
        with suppress(asyncio.CancelledError):
            await asyncio.create_task(_awaited(task))
        await memory.close()
        return task.waits

    waits = asyncio.run(cancelled(world.copy(tmp_path), 0))
    assert waits
    for at in chosen(f"cancel {name}", waits):
        path = world.copy(tmp_path)
        asyncio.run(cancelled(path, at))
        with opened(path) as memory:
            assert_sound(memory, world, name)
            assert_repeatable(memory, world, name)


async def _awaited(awaited: Awaitable[object]) -> object:
    return await awaited


def test_every_verb_has_steps_and_all_but_ten_change_what_was_told(world: World) -> None:
    assert {name: calls for name, calls in world.calls.items() if calls < 3} == {}
    assert [name for name, (told, _) in world.after.items() if told == world.before] == [
        "context",
        "resume",
        "refine",
        "curate",
        "end",
        "reflect",
        "recall",
        "reembed",
        "search items",
        "sweep items",
    ]


def test_the_context_folds_at_several_levels(world: World, tmp_path: Path) -> None:
    with opened(world.copy(tmp_path)) as memory:
        before = nodes_of(memory)
        memory.thread("t").context()
        made = [node for node in nodes_of(memory) if node not in before]
    assert len({node.level for node in made}) > 1


# -- the process that is killed -------------------------------------------------------------------------------------------


def main(folder: str, name: str, *steps: str) -> None:
    """For each step a child that runs the verb on a file of its own and is killed at that call. Waits for all."""
    for at in steps:
        child = os.fork()
        if child:
            status = os.waitpid(child, 0)[1]
            if not os.WIFSIGNALED(status):
                sys.exit(f"{name} was not killed at {at}")
            continue
        with faulty() as faults, opened(Path(folder) / f"{at}.db") as memory:
            faults.arm(int(at), kill)
            with suppress(BethinkError):
                VERBS[name].run(memory)
        os._exit(0)


if __name__ == "__main__":
    main(*sys.argv[1:])
