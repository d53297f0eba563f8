"""Sessions that end by themselves: idle ones, long ones, and those that a process died over."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import threading
from collections.abc import Iterator
from datetime import datetime, timedelta, timezone
from pathlib import Path
from typing import Any

import pytest

from bethink import InvalidInput, Memory, Settings
from bethink.steps import reflect as steps
from bethink.storage.base import Acquire, Cursor, Due, Put, Scan, Scope
from bethink.storage.sqlite import SqliteStore
from bethink.testing.doubles import FrozenClock

AT = datetime(2026, 3, 2, 9, 0, tzinfo=timezone.utc)
HALF_HOUR = timedelta(minutes=30)
IDLE = Settings(reflect_after=HALF_HOUR)


@pytest.fixture
def clock() -> FrozenClock:
    return FrozenClock(AT)


@pytest.fixture
def memory(clock: FrozenClock, tmp_path: Path) -> Iterator[Memory]:
    with opened(tmp_path, clock) as memory:
        yield memory


def opened(folder: Path, clock: FrozenClock, settings: Settings = IDLE) -> Memory:
    return Memory(folder / "agent.db", embedder=None, clock=clock, settings=settings)


def say(memory: Memory, name: str, *texts: str) -> None:
    for text in texts:
        memory.thread(name).add("user", text)


def ended(memory: Memory) -> list[str]:
    return [thread.thread_id for thread in memory.threads() if 0 < thread.reflected_through == thread.tip]


# -- who notices ----------------------------------------------------------------------------------------------------------


def test_a_session_that_is_idle_is_ended_by_the_next_context(memory: Memory, clock: FrozenClock) -> None:
    say(memory, "old", "The invoice of the plumber came to 310 euros.")
    clock.advance(HALF_HOUR)
    say(memory, "new", "Any updates?")
    context = memory.thread("new").context(budget=800)
    (line,) = [line.text for line in context.lines if line.section == "previous session"]
    assert "The invoice of the plumber came to 310 euros." in line
    assert ended(memory) == ["old"]


@pytest.mark.parametrize("look", ["profile", "recall", "records", "episodes", "flush"])
def test_whoever_looks_next_ends_it(memory: Memory, clock: FrozenClock, look: str) -> None:
    say(memory, "old", "I live in Ghent.")
    clock.advance(HALF_HOUR)
    getattr(memory, look)(*(("Ghent",) if look == "recall" else ()))
    assert ended(memory) == ["old"]


def test_a_session_that_is_not_idle_yet_goes_on(memory: Memory, clock: FrozenClock) -> None:
    say(memory, "old", "I live in Ghent.")
    clock.advance(HALF_HOUR - timedelta(microseconds=1))
    memory.profile()
    assert ended(memory) == []


def test_a_new_message_makes_it_young_again(memory: Memory, clock: FrozenClock) -> None:
    say(memory, "old", "I live in Ghent.")
    clock.advance(timedelta(minutes=20))
    say(memory, "old", "I like tea.")
    clock.advance(timedelta(minutes=20))
    memory.profile()
    assert ended(memory) == []


def test_the_time_that_messages_carry_plays_no_part(memory: Memory) -> None:
    memory.thread("import").add("user", "I live in Ghent.", created_at=AT - timedelta(days=900))
    memory.profile()
    assert ended(memory) == []


def test_without_the_setting_nobody_ends_it(tmp_path: Path, clock: FrozenClock) -> None:
    with opened(tmp_path, clock, Settings()) as memory:
        say(memory, "old", "I live in Ghent.")
        clock.advance(timedelta(days=30))
        memory.profile()
        memory.flush()
        assert ended(memory) == []


def test_a_long_session_is_reflected_on_every_so_many_messages(tmp_path: Path, clock: FrozenClock) -> None:
    with opened(tmp_path, clock, Settings(reflect_every=3)) as memory:
        through = []
        for number in range(7):
            say(memory, "t", f"I like dish {number}.")
            memory.thread("t").context(budget=800)
            through.append(memory.thread("t").info().reflected_through)
        assert through == [0, 0, 3, 3, 3, 6, 6]
        assert len(memory.records("summary")) == 1


def test_a_backlog_is_caught_up_by_and_by_and_the_last_session_comes_first(memory: Memory, clock: FrozenClock) -> None:
    for number in range(9):
        say(memory, f"s{number}", f"We decided to paint fence {number}.")
        clock.advance(timedelta(days=1))
    for passes, name in enumerate(["s9", "s10", "s11"], start=1):
        text = memory.thread(name).context("hello", budget=800).to_bytes().decode()
        assert "fence 8" in text
        assert len(ended(memory)) == min(9, 4 * passes)


# -- all that are due -----------------------------------------------------------------------------------------------------


def test_reflect_due_ends_all_and_tells_what_each_left(tmp_path: Path, clock: FrozenClock) -> None:
    with opened(tmp_path, clock, Settings()) as memory:
        say(memory, "one", "I live in Ghent.", "We decided to take the train.", "TODO: book the seats.")
        clock.advance(timedelta(minutes=1))
        say(memory, "two", "Hello!")
        clock.advance(timedelta(hours=1))
        assert [thread.thread_id for thread in memory.due(after=HALF_HOUR)] == ["one", "two"]
        first, second = memory.reflect_due(after=HALF_HOUR)
        assert (first.thread_id, first.through, second.thread_id) == ("one", 3, "two")
        assert first.summary is not None
        assert "lives in Ghent" in [each.text for each in first.insights]
        assert [each.text for each in first.decisions] == ["take the train"]
        assert [each.text for each in first.open_tasks] == ["book the seats"]
        assert memory.thread("one").reflection() == first
        assert memory.reflect_due(after=HALF_HOUR) == []


def test_below_and_limit_say_how_many(tmp_path: Path, clock: FrozenClock) -> None:
    with opened(tmp_path, clock, Settings()) as memory:
        for name in ("ada", "bob"):
            say(memory.user(name), "t", "I live in Ghent.")
            clock.advance(timedelta(minutes=1))
        clock.advance(timedelta(hours=1))
        assert memory.reflect_due(after=HALF_HOUR) == []
        assert [each.namespace[-1] for each in memory.reflect_due(after=HALF_HOUR, below=True, limit=1)] == ["ada"]
        assert [each.namespace[-1] for each in memory.reflect_due(after=HALF_HOUR, below=True)] == ["bob"]


def test_a_number_of_messages_makes_one_due(tmp_path: Path, clock: FrozenClock) -> None:
    with opened(tmp_path, clock, Settings()) as memory:
        say(memory, "long", "one", "two", "three")
        say(memory, "short", "one")
        assert [each.thread_id for each in memory.due(every=3)] == ["long"]


@pytest.mark.parametrize("wrong", [{}, {"after": timedelta()}, {"every": 0}, {"after": HALF_HOUR, "limit": 0}])
def test_what_says_nothing_is_refused(tmp_path: Path, clock: FrozenClock, wrong: dict[str, Any]) -> None:
    with opened(tmp_path, clock, Settings()) as memory, pytest.raises(InvalidInput):
        memory.reflect_due(**wrong)


@pytest.mark.parametrize("wrong", [{"reflect_after": timedelta()}, {"reflect_every": 0}, {"episode_keep": "all"}])
def test_settings_that_make_no_sense_are_refused(wrong: dict[str, Any]) -> None:
    with pytest.raises(InvalidInput):
        Settings(**wrong)


def test_a_thread_that_was_never_ended_has_no_reflection(memory: Memory) -> None:
    say(memory, "t", "hello")
    assert memory.thread("t").reflection() is None


# -- once, whoever does it ------------------------------------------------------------------------------------------------


def test_one_that_somebody_else_is_at_is_left_to_him(memory: Memory, clock: FrozenClock) -> None:
    say(memory, "t", "I live in Ghent.")
    clock.advance(HALF_HOUR)
    now = clock.now()
    until = now + timedelta(minutes=5)
    request = Acquire(namespace=("default",), thread_id="t", holder="other", at=now, until=until, purpose="reflection")
    memory._engine.store.acquire(request)
    assert memory.reflect_due() == []
    # He has died: his lease ends by itself.
    clock.advance(timedelta(minutes=5))
    assert [each.thread_id for each in memory.reflect_due()] == ["t"]


def test_a_turn_does_not_keep_a_session_from_being_ended_nor_the_other_way_round(memory: Memory, clock: FrozenClock) -> None:
    say(memory, "t", "I live in Ghent.")
    clock.advance(HALF_HOUR)
    with memory.thread("t").turn() as turn:
        assert [each.thread_id for each in memory.reflect_due()] == ["t"]
        turn.add("user", "And I like tea.")


def test_many_at_once_end_each_session_once(memory: Memory, clock: FrozenClock) -> None:
    for number in range(6):
        say(memory, f"t{number}", f"We decided to paint fence {number}.")
    clock.advance(HALF_HOUR)
    found: list[str] = []
    workers = [threading.Thread(target=lambda: found.extend(each.thread_id for each in memory.reflect_due())) for _ in range(4)]
    for worker in workers:
        worker.start()
    for worker in workers:
        worker.join()
    assert sorted(found) == [f"t{number}" for number in range(6)]
    assert len(memory.records("summary", current=False)) == 6
    assert memory.check() == []


def test_what_was_moved_meanwhile_is_not_stored_twice(memory: Memory, monkeypatch: pytest.MonkeyPatch) -> None:
    say(memory, "t", "We decided to paint the fence.")
    made = steps._result

    def late(*given: Any) -> Put:
        put = made(*given)
        monkeypatch.setattr(steps, "_result", made)
        memory.thread("t").end()
        return put

    monkeypatch.setattr(steps, "_result", late)
    summary = memory.thread("t").end()
    assert memory.records("summary", current=False) == [summary]


@pytest.mark.slow
def test_who_is_killed_over_a_session_holds_nobody_up_for_longer_than_his_lease(tmp_path: Path, clock: FrozenClock) -> None:
    with opened(tmp_path, clock) as memory:
        say(memory, "t", "We decided to paint the fence.")
    code = f"""
import os, signal
from datetime import datetime, timedelta, timezone
from bethink import Memory, Settings
from bethink.steps import reflect
from bethink.testing.doubles import FrozenClock
reflect._result = lambda *given: os.kill(os.getpid(), signal.SIGKILL)
clock = FrozenClock(datetime(2026, 3, 2, 10, tzinfo=timezone.utc))
Memory({os.fspath(tmp_path / "agent.db")!r}, embedder=None, clock=clock).reflect_due(after=timedelta(minutes=30))
"""
    done = subprocess.run([sys.executable, "-c", code], check=False)
    assert done.returncode == -signal.SIGKILL
    clock.advance(timedelta(hours=1))
    with opened(tmp_path, clock) as memory:
        assert memory.reflect_due() == []
        clock.advance(timedelta(minutes=5))
        assert [each.thread_id for each in memory.reflect_due()] == ["t"]
        assert memory.check() == []


# -- converging -----------------------------------------------------------------------------------------------------------

SAID = (
    ("a", "Our goal is to paint the fence before the party."),
    ("a", "We decided to use green paint, because it was cheap."),
    ("b", "I live in Ghent. I'm allergic to peanuts."),
    ("a", "I live in Porto now. We switched to blue paint."),
    ("b", "I like tea. TODO: call the dentist."),
    ("a", "Perfect, that worked."),
)


def told(memory: Memory) -> list[Any]:
    """What holds in the end, without the times of deriving."""
    lines = [(line.section, line.text) for line in memory.thread("new").context("hello", budget=800).lines]
    records = [(each.kind, each.text, each.valid_from, each.trust) for each in memory.records()]
    threads = [(each.thread_id, each.tip, each.extracted_through, each.reflected_through) for each in memory.threads()]
    reflections = [memory.thread(name).reflection() for name in ("a", "b")]
    left = [(each.through, [entry.text for entry in (*each.decisions, *each.open_tasks)]) for each in reflections if each]
    return [sorted(records, key=str), threads, left, lines]


@pytest.mark.parametrize("stops", [(2,), (1, 3, 5), (1, 2, 3, 4, 5)])
def test_however_often_it_was_reflected_on_the_end_is_the_same(tmp_path: Path, stops: tuple[int, ...]) -> None:
    found = []
    for name, reflect_at in (("after an outage", ()), ("in between", stops)):
        (tmp_path / name).mkdir()
        clock = FrozenClock(AT)
        with opened(tmp_path / name, clock, Settings()) as memory:
            for number, (thread, text) in enumerate(SAID):
                memory.thread(thread).add("user", text, id=f"m{number}")
                clock.advance(timedelta(minutes=1))
                if number in reflect_at:
                    memory.reflect_due(every=1)
            memory.reflect_due(every=1)
            found.append(told(memory))
            assert memory.check() == []
    assert found[0] == found[1]


# -- by an index ----------------------------------------------------------------------------------------------------------


def test_threads_that_are_ended_are_not_looked_at(tmp_path: Path) -> None:
    store = SqliteStore(tmp_path / "agent.db")
    with Memory(store=store, embedder=None, clock=FrozenClock(AT), settings=Settings()) as memory:
        for number in range(20):
            say(memory, f"t{number}", "hello")
            memory.thread(f"t{number}").end()
        say(memory, "open", "hello")
        scan = Scan(what="threads", scope=Scope(("default",)), due=Due(idle_since=AT))
        assert [each.thread_id for each in store.scan(scan).items] == ["open"]  # type: ignore[union-attr]
        query = "SELECT count(*) FROM threads INDEXED BY threads_not_ended WHERE reflected_through < tip OR settled = 0"
        assert store._writer.run(lambda database: database.execute(query)) == [(1,)]


def test_a_thread_that_goes_on_after_its_end_is_found_again(memory: Memory) -> None:
    say(memory, "t", "hello")
    memory.thread("t").end()
    say(memory, "t", "and again")
    assert [each.thread_id for each in memory.due(every=1)] == ["t"]


def test_moving_the_cursor_by_hand_is_all_that_a_queue_would_say(memory: Memory) -> None:
    say(memory, "t", "hello")
    memory._engine.store.put(Put(namespace=("default",), cursor=Cursor("t", "reflected", 0, 1)))
    assert memory.due(every=1) == []
