"""The seam: spans within spans, told to whoever listens, free where nobody does; and what a listener hears of each verb."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Iterator, Mapping
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest

from bethink import AsyncMemory, LimitExceeded, Limits, Listener, Memory, Settings
from bethink.errors import NotFound
from bethink.telemetry import Telemetry
from bethink.testing.doubles import START, FrozenClock, HashEmbedder


class Ticking:
    """A monotonic clock that is one second later each time it is read."""

    def __init__(self) -> None:
        self.now = 0.0

    def __call__(self) -> float:
        self.now += 1.0
        return self.now


class Log(Listener):
    """Writes down what begins and ends."""

    def __init__(self) -> None:
        self.lines: list[str] = []
        self.facts: dict[str, dict[str, Any]] = {}
        self.told: list[object] = []

    def begin(self, name: str, facts: Mapping[str, Any]) -> str:
        self.lines.append(f"> {name}")
        self.told += facts.values()
        return name.upper()

    def end(self, begun: Any, name: str, seconds: float, facts: Mapping[str, Any], error: type[BaseException] | None) -> None:
        assert begun == name.upper()
        self.lines.append(f"< {name}" + (f" {error.__name__}" if error else ""))
        self.facts[name] = dict(facts)
        self.told += facts.values()

    @property
    def verbs(self) -> list[str]:
        return [line[2:] for line in self.lines if line.startswith(">")]


@pytest.fixture
def log() -> Log:
    return Log()


@pytest.fixture
def memory(tmp_path: Path, log: Log) -> Iterator[Memory]:
    opened = Memory(
        tmp_path / "m.db", clock=FrozenClock(START), embedder=HashEmbedder(), settings=Settings(window=300), listener=log
    )
    with opened:
        yield opened


# -- spans ----------------------------------------------------------------------------------------------------------------


def test_where_nobody_listens_a_span_is_one_object_that_does_nothing() -> None:
    telemetry = Telemetry()
    with telemetry.span("one") as one, telemetry.span("two", facts=1) as two:
        one.add(more=2)
    assert one is two


def test_spans_lie_within_each_other(log: Log) -> None:
    telemetry = Telemetry(log)
    with telemetry.span("outer"):
        with telemetry.span("inner"):
            pass
        with telemetry.span("inner"):
            pass
    assert log.lines == ["> outer", "> inner", "< inner", "> inner", "< inner", "< outer"]


def test_a_span_tells_what_was_found_out_and_what_ended_it(log: Log) -> None:
    telemetry = Telemetry(log)

    def fail() -> None:
        with telemetry.span("outer", before=1) as span:
            span.add(after=2)
            raise KeyError("a secret")

    with pytest.raises(KeyError):
        fail()
    assert log.lines == ["> outer", "< outer KeyError"]
    assert log.facts["outer"] == {"before": 1, "after": 2}


def test_a_turn_measures_its_steps_whether_anybody_listens_or_not() -> None:
    telemetry = Telemetry(clock=Ticking())
    with telemetry.turn() as turn:
        for _ in range(2):
            with telemetry.span("view"):
                pass
        with telemetry.span("recall"), telemetry.span("recall.search"):
            pass
        assert turn.measured() == {"context": 9.0, "view": 2.0, "recall": 3.0, "recall.search": 1.0}
    with telemetry.span("view"):
        pass
    assert turn.seconds == {"view": 2.0, "recall": 3.0, "recall.search": 1.0}


def test_a_turn_of_one_database_hears_nothing_of_another() -> None:
    one, other = Telemetry(), Telemetry()
    with one.turn() as turn, other.span("elsewhere"), other.turn(), one.span("here"):
        pass
    assert turn.seconds.keys() == set()
    with one.turn() as turn, other.span("elsewhere"), one.span("here"):
        pass
    assert turn.seconds.keys() == {"here"}


def test_each_thread_has_its_own_turn() -> None:
    telemetry = Telemetry()
    ready = threading.Barrier(2)
    found: dict[str, set[str]] = {}

    def work(name: str) -> None:
        with telemetry.turn() as turn:
            ready.wait(10)
            with telemetry.span(name):
                ready.wait(10)
        found[name] = set(turn.seconds)

    workers = [threading.Thread(target=work, args=(name,)) for name in ("one", "two")]
    for worker in workers:
        worker.start()
    for worker in workers:
        worker.join(10)
    assert found == {"one": {"one"}, "two": {"two"}}


def test_each_task_has_its_own_turn() -> None:
    telemetry = Telemetry()

    async def work(name: str) -> set[str]:
        with telemetry.turn() as turn:
            await asyncio.sleep(0)
            with telemetry.span(name):
                await asyncio.sleep(0)
        return set(turn.seconds)

    async def both() -> list[set[str]]:
        return list(await asyncio.gather(work("one"), work("two")))

    assert asyncio.run(both()) == [{"one"}, {"two"}]


def test_a_turn_that_is_late_begins_no_further_step() -> None:
    telemetry = Telemetry(clock=Ticking())
    done: list[str] = []

    def work() -> None:
        with telemetry.turn(most=timedelta(seconds=4)):
            for step in ("one", "two", "three"):
                with telemetry.span(step):
                    done.append(step)

    with pytest.raises(LimitExceeded):
        work()
    assert done == ["one", "two"]


# -- what is heard of a memory --------------------------------------------------------------------------------------------


def test_each_verb_is_a_span(memory: Memory, log: Log) -> None:
    thread = memory.thread("t")
    thread.add("user", "I live in Ghent.")
    with thread.turn() as turn:
        turn.add("assistant", "Noted.")
    memory.store("Likes maps.")
    found = memory.recall("Ghent")
    hits = log.facts["recall"]["hits"]
    context = thread.context()
    thread.checkpoint({"step": 1})
    memory.replay(context.receipt_id)
    thread.end()
    memory.forget(thread="t")
    outer = [name for name in log.verbs if "." not in name and name not in ("derive", "view", "compose")]
    assert outer == [
        *("append", "append", "store", "recall", "context", "recall", "store", "checkpoint", "replay", "end", "forget"),
    ]
    assert log.facts["append"] == {"namespace": ("default",), "thread_id": "t", "messages": 1}
    assert log.facts["context"] == {"namespace": ("default",), "thread_id": "t", "budget": 300}
    assert hits == len(found) > 0


def test_what_goes_wrong_is_told_by_its_type(memory: Memory, log: Log) -> None:
    with pytest.raises(NotFound):
        memory.replay("unknown")
    assert log.lines == ["> replay", "< replay NotFound"]


def test_a_listener_hears_no_word_of_anybody(memory: Memory, log: Log) -> None:
    thread = memory.thread("t")
    for number in range(40):
        thread.add("user", f"The zyzzyva number {number} lives in Ghent.")
    thread.context("zyzzyva")
    memory.recall("zyzzyva")
    memory.store("A zyzzyva is a weevil.")
    thread.end()
    assert len(log.told) > 50
    assert "zyzzyva" not in repr(log.told)


def test_on_a_loop_the_same_is_heard(tmp_path: Path, log: Log) -> None:
    async def go() -> None:
        async with AsyncMemory(tmp_path / "m.db", embedder=None, listener=log) as memory:
            thread = memory.thread("t")
            await asyncio.gather(*(thread.add("user", f"hello {number}") for number in range(3)))
            async with thread.turn() as turn:
                await turn.add("user", "hello")
            assert (await thread.context(limits=Limits(context_tokens=900))).tokens > 0

    asyncio.run(go())
    assert log.verbs.count("append") == 4
    assert log.verbs.count("context") == 1
    assert log.lines.count("< append") == 4
