"""Turns of a thread: whole, one at a time, given back whatever happens; in threads and in tasks of one process."""

from __future__ import annotations

import asyncio
import contextlib
import copy
import itertools
import os
import pickle
import threading
import time
from collections.abc import Iterator
from datetime import datetime, timedelta, timezone
from pathlib import Path
from typing import Any

import anyio
import pytest

from bethink import AsyncMemory, AsyncTurn, Conflict, InvalidInput, Memory, StoreClosed, Thread, ThreadBusy, ToolCall
from bethink.models import SystemClock
from bethink.storage.base import Acquire, Lease, Release, Store
from bethink.storage.reference import ReferenceStore
from bethink.testing.doubles import FrozenClock
from bethink.waiting import Lines, Wait, lines_of

START = datetime(2026, 3, 2, 9, 0, tzinfo=timezone.utc)
AT_ONCE = timedelta()
SOON = timedelta(milliseconds=200)
MINUTE = timedelta(minutes=1)


@pytest.fixture
def clock() -> FrozenClock:
    return FrozenClock(START)


@pytest.fixture(params=["memory", "sqlite"])
def memory(request: pytest.FixtureRequest, tmp_path: Path, clock: FrozenClock) -> Iterator[Memory]:
    path = ":memory:" if request.param == "memory" else tmp_path / "agent.db"
    with Memory(path, clock=clock, embedder=None, durability="normal") as opened:
        yield opened
        assert opened.check() == []
        assert lines_of(opened._engine.store)._lines == {}, "somebody was left in line"


@pytest.fixture
def thread(memory: Memory) -> Thread:
    return memory.thread("t")


class Asked(ReferenceStore):
    """Counts how often it was asked for a turn. It may refuse to answer before its gate is opened."""

    def __init__(self) -> None:
        super().__init__()
        self.asked = 0
        self.gate = threading.Event()
        self.gate.set()
        self.entered = threading.Event()

    def acquire(self, request: Acquire, /) -> Lease:
        self.asked += 1
        self.entered.set()
        assert self.gate.wait(10)
        return super().acquire(request)


def texts(thread: Thread) -> list[str]:
    return [message.text for message in thread.messages()]


def store_of(memory: Memory) -> Store:
    return memory._engine.store


def blocks(said: list[str]) -> list[str]:
    """The turns in the order in which they stand; fails if one is not whole. A text is the turn's name, a blank, a number."""
    found = [(name, [text.split()[1] for text in of]) for name, of in itertools.groupby(said, lambda text: text.split()[0])]
    assert all(parts == ["0", "1", "2"] for _, parts in found), found
    return [name for name, _ in found]


class TestATurn:
    def test_what_is_said_in_it_is_stored_at_once(self, thread: Thread) -> None:
        with thread.turn() as turn:
            added = turn.add("user", "hello", id="m1", metadata={"mood": "good"})
            assert thread.messages() == [added]
            assert turn.append([{"role": "assistant", "content": "hi"}], expected_tip=1).tip == 2
        assert texts(thread) == ["hello", "hi"]

    def test_it_makes_the_thread(self, thread: Thread, memory: Memory) -> None:
        with thread.turn():
            assert thread.info().tip == 0
        assert [info.thread_id for info in memory.threads()] == ["t"]

    def test_a_handle_makes_nothing(self, thread: Thread, memory: Memory) -> None:
        thread.turn()
        assert memory.threads() == []

    def test_another_has_to_wait_and_is_told_how_long(self, thread: Thread) -> None:
        with thread.turn(lease=MINUTE), pytest.raises(ThreadBusy) as caught, thread.turn(timeout=AT_ONCE):
            pass
        assert (caught.value.thread_id, caught.value.until) == ("t", START + MINUTE)

    def test_turns_of_other_threads_are_free(self, thread: Thread, memory: Memory) -> None:
        with thread.turn(), memory.thread("u").turn(timeout=AT_ONCE), memory.user("bob").thread("t").turn(timeout=AT_ONCE):
            pass

    def test_leaving_gives_it_back(self, thread: Thread) -> None:
        with thread.turn() as first:
            pass
        with thread.turn(timeout=AT_ONCE) as second:
            assert (first.lease.token, second.lease.token) == (1, 2)

    def test_an_error_gives_it_back_and_what_was_said_stays(self, thread: Thread) -> None:
        def fail() -> None:
            with thread.turn() as turn:
                turn.add("user", "hello")
                _ = 1 / 0

        with pytest.raises(ZeroDivisionError):
            fail()
        assert texts(thread) == ["hello"]
        with thread.turn(timeout=AT_ONCE):
            pass

    def test_nothing_is_said_after_it(self, thread: Thread) -> None:
        with thread.turn() as turn:
            pass
        with pytest.raises(Conflict):
            turn.add("user", "late")
        assert texts(thread) == []

    def test_nothing_is_said_before_it(self, thread: Thread) -> None:
        turn = thread.turn()
        for act in (lambda: turn.add("user", "early"), turn.renew, lambda: turn.lease):
            with pytest.raises(InvalidInput, match="has not begun"):
                act()

    def test_it_is_for_one_use(self, thread: Thread) -> None:
        turn = thread.turn()
        with turn:
            pass
        with pytest.raises(InvalidInput, match="begun before"), turn:
            pass

    def test_V039_whoever_is_overtaken_writes_nothing_more(self, thread: Thread, clock: FrozenClock) -> None:
        with thread.turn(lease=MINUTE) as slow:
            slow.add("user", "a 0")
            clock.advance(MINUTE)
            with thread.turn(timeout=AT_ONCE) as turn:
                turn.append([{"role": "user", "content": f"b {number}"} for number in range(3)])
                with pytest.raises(Conflict):
                    slow.append([{"role": "user", "content": "a 1"}, {"role": "user", "content": "a 2"}])
                with pytest.raises(Conflict):
                    slow.renew()
        assert texts(thread) == ["a 0", "b 0", "b 1", "b 2"]

    def test_leaving_a_turn_that_ran_out_leaves_the_next_ones_alone(self, thread: Thread, clock: FrozenClock) -> None:
        first = thread.turn(lease=MINUTE)
        with contextlib.ExitStack() as stack:
            stack.enter_context(first)
            clock.advance(MINUTE)
            second = thread.turn(timeout=AT_ONCE)
            second.__enter__()
        second.add("user", "mine still")
        with pytest.raises(ThreadBusy):
            thread.turn(timeout=AT_ONCE).__enter__()
        second.__exit__(None, None, None)

    def test_renewing_lengthens_it(self, thread: Thread, clock: FrozenClock) -> None:
        with thread.turn(lease=MINUTE) as turn:
            clock.advance(MINUTE / 2)
            assert turn.renew().expires_at == START + 1.5 * MINUTE
            assert turn.renew(5 * MINUTE).expires_at == turn.lease.expires_at == START + 5.5 * MINUTE
            clock.advance(4 * MINUTE)
            with pytest.raises(ThreadBusy):
                thread.turn(timeout=AT_ONCE).__enter__()

    def test_V038_a_turn_of_a_forgotten_thread_writes_nothing(self, thread: Thread) -> None:
        with thread.turn() as turn:
            turn.add("user", "hello")
            thread.delete()
            with pytest.raises(Conflict):
                turn.add("assistant", "hi")
        assert texts(thread) == []

    def test_a_retry_after_it_is_no_conflict(self, thread: Thread, clock: FrozenClock) -> None:
        with thread.turn(lease=MINUTE) as turn:
            turn.add("user", "hello", id="m1")
            clock.advance(MINUTE)
            with thread.turn(timeout=AT_ONCE):
                assert turn.add("user", "hello", id="m1").seq == 1

    def test_closing_the_store_within_it_is_no_second_error(self, tmp_path: Path) -> None:
        memory = Memory(tmp_path / "a.db", embedder=None)
        with memory.thread("t").turn() as turn:
            memory.close()
            with pytest.raises(StoreClosed):
                turn.add("user", "late")

    @pytest.mark.parametrize(
        ("options", "field"),
        [
            ({"timeout": timedelta(seconds=-1)}, "timeout"),
            ({"timeout": 5}, "timeout"),
            ({"timeout": timedelta(days=2)}, "timeout"),
            ({"lease": timedelta()}, "lease"),
            ({"lease": timedelta(seconds=-1)}, "lease"),
            ({"lease": 60}, "lease"),
            ({"lease": timedelta.max}, "lease"),
        ],
    )
    def test_times_that_make_no_sense_are_refused(self, thread: Thread, options: dict[str, Any], field: str) -> None:
        with pytest.raises(InvalidInput) as caught:
            thread.turn(**options)
        assert caught.value.field == field

    def test_the_error_survives_a_copy_and_a_pickle(self) -> None:
        error = ThreadBusy("t", START, "h")
        for again in (copy.copy(error), pickle.loads(pickle.dumps(error))):
            assert (str(again), again.thread_id, again.until, again.holder) == (str(error), "t", START, "h")


# -- threads --------------------------------------------------------------------------------------------------------------


def speak(thread: Thread, name: str, pause: float = 0.0) -> None:
    with thread.turn(timeout=timedelta(seconds=30)) as turn:
        for number in range(3):
            turn.add("user", f"{name} {number}")
            time.sleep(pause)


def at_once(*workers: threading.Thread) -> None:
    for worker in workers:
        worker.start()
    for worker in workers:
        worker.join(60)
        assert not worker.is_alive()


class TestThreadsOfOneProcess:
    def test_V039_each_turn_stands_whole(self, thread: Thread) -> None:
        names = [f"n{number}" for number in range(12)]
        at_once(*(threading.Thread(target=speak, args=(thread, name, 0.001)) for name in names))
        assert sorted(blocks(texts(thread))) == sorted(names)

    def test_V044_V047_first_turns_at_once_make_one_thread(self, thread: Thread, memory: Memory) -> None:
        names = [f"n{number}" for number in range(20)]
        at_once(*(threading.Thread(target=speak, args=(thread, name)) for name in names))
        assert sorted(blocks(texts(thread))) == sorted(names)
        assert [info.thread_id for info in memory.threads()] == ["t"]

    def test_V039_calls_and_results_of_two_runs_never_mix(self, thread: Thread) -> None:
        def run(name: str) -> None:
            for number in range(5):
                call_id = f"{name}{number}"
                with thread.turn() as turn:
                    turn.add("assistant", tool_calls=[ToolCall(call_id, "search")])
                    turn.add("tool", "found", tool_call_id=call_id)

        at_once(*(threading.Thread(target=run, args=(name,)) for name in "ab"))
        messages = thread.messages()
        assert [message.tool_calls[0].id for message in messages[::2]] == [message.tool_call_id for message in messages[1::2]]

    def test_who_waits_is_woken_and_does_not_ask_meanwhile(self) -> None:
        store = Asked()
        thread = Memory(store=store, embedder=None).thread("t")
        thread.add("user", "hello")
        begun = threading.Event()

        def wait() -> None:
            with thread.turn():
                begun.set()

        with thread.turn():
            waiting = [threading.Thread(target=wait) for _ in range(4)]
            for each in waiting:
                each.start()
            while store.asked < 2 or len(lines_of(store)._lines[thread.namespace, "t"].waiting) < 4:
                time.sleep(0.001)
            time.sleep(0.3)
            # The one who has it, and the first in line once.
            assert store.asked == 2
            assert not begun.is_set()
            left = time.monotonic()
        assert begun.wait(10)
        assert time.monotonic() - left < 5
        for each in waiting:
            each.join(10)
        # Each once when it becomes the first, and again when it is woken.
        assert store.asked <= 2 * 5

    def test_they_have_it_in_the_order_in_which_they_came(self, thread: Thread) -> None:
        lines = lines_of(thread._engine.store)
        key = (thread.namespace, "t")
        waiting = []
        with thread.turn():
            for number in range(5):
                each = threading.Thread(target=speak, args=(thread, f"n{number}"))
                each.start()
                waiting.append(each)
                while len(lines._lines[key].waiting) < number + 1:
                    time.sleep(0.001)
        for each in waiting:
            each.join(30)
        assert blocks(texts(thread)) == [f"n{number}" for number in range(5)]

    def test_a_turn_that_never_ends_holds_up_nobody_beyond_its_lease(self, tmp_path: Path) -> None:
        with Memory(tmp_path / "a.db", embedder=None) as memory:
            thread = memory.thread("t")
            stuck = thread.turn(lease=SOON)
            stuck.__enter__()
            with thread.turn(timeout=timedelta(seconds=20)) as turn:
                assert turn.lease.token == 2
            stuck.__exit__(None, None, None)

    def test_who_gives_up_lets_the_next_come_first(self, thread: Thread) -> None:
        done = threading.Event()

        def give_up() -> None:
            with pytest.raises(ThreadBusy):
                thread.turn(timeout=SOON).__enter__()

        def wait() -> None:
            with thread.turn(timeout=timedelta(seconds=30)):
                done.set()

        with thread.turn():
            impatient = threading.Thread(target=give_up)
            impatient.start()
            while not lines_of(thread._engine.store)._lines[thread.namespace, "t"].waiting:
                time.sleep(0.001)
            patient = threading.Thread(target=wait)
            patient.start()
            impatient.join(10)
        assert done.wait(10)
        patient.join(10)

    def test_a_process_that_had_it_for_long_lets_others_ask_first(
        self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setattr("bethink.waiting._LONG", 0.2)
        done = threading.Event()

        def hog(memory: Memory) -> None:
            while not done.is_set():
                with memory.thread("t").turn():
                    time.sleep(0.02)

        with Memory(tmp_path / "a.db", embedder=None) as one, Memory(tmp_path / "a.db", embedder=None) as other:
            hogs = [threading.Thread(target=hog, args=(one,)) for _ in range(2)]
            for each in hogs:
                each.start()
            try:
                for _ in range(3):
                    with other.thread("t").turn(timeout=timedelta(seconds=20)):
                        pass
            finally:
                done.set()
                for each in hogs:
                    each.join(20)

    def test_two_stores_on_one_file_take_turns(self, tmp_path: Path) -> None:
        with Memory(tmp_path / "a.db", embedder=None) as one, Memory(tmp_path / "a.db", embedder=None) as other:
            names = [f"n{number}" for number in range(8)]
            at_once(
                *(
                    threading.Thread(target=speak, args=((one, other)[number % 2].thread("t"), name, 0.002))
                    for number, name in enumerate(names)
                )
            )
            assert sorted(blocks(texts(one.thread("t")))) == names

    @pytest.mark.skipif(not hasattr(os, "fork"), reason="no fork on this system")
    def test_a_child_does_not_wait_for_threads_of_its_parent(self, tmp_path: Path) -> None:
        with Memory(tmp_path / "a.db", embedder=None) as memory:
            thread = memory.thread("t")
            with thread.turn(lease=SOON):
                child = os.fork()
                if child == 0:
                    # Only os._exit leaves a forked test runner; the status says whether all went well.
                    status = 1
                    try:
                        with thread.turn(timeout=timedelta(seconds=20)) as turn:
                            turn.add("user", "child")
                        status = 0
                    finally:
                        os._exit(status)
                assert os.waitpid(child, 0)[1] == 0
            assert texts(thread) == ["child"]


class TestWait:
    """How long to wait, and when to ask."""

    KEY = (("a",), "t")

    def wait(self, timeout: timedelta, *, here: bool) -> Wait:
        lines = Lines()
        lines.join(self.KEY, "mine", lambda: None)
        if here:
            lines.join(self.KEY, "theirs", lambda: None)
        return Wait(lines, self.KEY, "mine", timeout, FrozenClock(START))

    def busy(self, after: timedelta = MINUTE) -> ThreadBusy:
        return ThreadBusy("t", START + after, "theirs")

    def test_of_another_process_it_is_asked_again_at_growing_intervals(self) -> None:
        wait = self.wait(10 * MINUTE, here=False)
        pauses = [wait.seconds(self.busy()) for _ in range(20)]
        assert all(0.002 <= pause <= 0.151 for pause in pauses)
        assert max(pauses[:2]) < max(pauses[6:])
        assert len(set(pauses)) > 10

    def test_of_this_process_the_end_is_waited_for(self) -> None:
        assert self.wait(10 * MINUTE, here=True).seconds(self.busy()) == 60

    def test_the_end_of_a_lease_is_not_slept_through(self) -> None:
        assert self.wait(10 * MINUTE, here=False).seconds(self.busy(timedelta(milliseconds=1))) == 0.001

    def test_nobody_waits_beyond_his_own_time(self) -> None:
        assert self.wait(SOON, here=True).seconds(self.busy()) <= 0.2
        assert self.wait(SOON, here=False).seconds(None) <= 0.2

    def test_a_break_is_made_after_long_and_then_it_is_asked(self, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr("bethink.waiting._LONG", 0.0)
        lines = Lines()
        lines.join(self.KEY, "before", lambda: None)
        lines.begin(self.KEY, "before")
        lines.end(self.KEY, "before")
        lines.join(self.KEY, "mine", lambda: None)
        wait = Wait(lines, self.KEY, "mine", MINUTE, FrozenClock(START))
        assert not wait.asks()
        pause = wait.seconds(None)
        assert 0.1 < pause <= 0.15
        time.sleep(pause)
        assert wait.asks()

    def test_who_had_it_for_a_moment_asks_at_once(self) -> None:
        lines = Lines()
        for holder in ("before", "mine"):
            lines.join(self.KEY, holder, lambda: None)
        lines.begin(self.KEY, "before")
        lines.end(self.KEY, "before")
        assert Wait(lines, self.KEY, "mine", MINUTE, FrozenClock(START)).asks()

    def test_what_was_had_is_remembered_for_a_moment_only(self) -> None:
        lines = Lines()
        for number in range(5):
            key = (("a",), str(number))
            lines.join(key, "h", lambda: None)
            lines.begin(key, "h")
            lines.end(key, "h")
            time.sleep(0.16 if number == 3 else 0)
        assert list(lines._had) == [(("a",), "4")]

    def test_when_the_time_is_over_it_is_asked_once_more_and_then_told(self) -> None:
        lines = Lines()
        lines.join(self.KEY, "theirs", lambda: None)
        lines.join(self.KEY, "mine", lambda: None)
        wait = Wait(lines, self.KEY, "mine", AT_ONCE, FrozenClock(START))
        assert wait.asks()
        with pytest.raises(ThreadBusy):
            wait.seconds(self.busy())


# -- tasks ----------------------------------------------------------------------------------------------------------------


async def speak_async(memory: AsyncMemory, name: str) -> None:
    async with memory.thread("t").turn(timeout=timedelta(seconds=30)) as turn:
        for number in range(3):
            await turn.add("user", f"{name} {number}")
            await asyncio.sleep(0.001)


async def in_line(memory: AsyncMemory, count: int) -> None:
    lines = lines_of(memory._sync._engine.store)
    key = (memory.namespace, "t")
    while key not in lines._lines or len(lines._lines[key].waiting) != count:  # noqa: ASYNC110 - there is no event for it
        await asyncio.sleep(0.001)


@pytest.fixture(params=["memory", "sqlite"])
def twin(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[AsyncMemory]:
    path = ":memory:" if request.param == "memory" else tmp_path / "agent.db"
    memory = AsyncMemory(path, embedder=None, durability="normal")
    yield memory
    assert memory._sync.check() == []
    assert lines_of(memory._sync._engine.store)._lines == {}, "somebody was left in line"
    memory._sync.close()


class TestTasks:
    def test_V039_each_turn_stands_whole(self, twin: AsyncMemory) -> None:
        names = [f"n{number}" for number in range(12)]

        async def talk() -> None:
            await asyncio.gather(*(speak_async(twin, name) for name in names))
            assert sorted(blocks([message.text for message in await twin.thread("t").messages()])) == sorted(names)

        asyncio.run(talk())

    def test_tasks_and_threads_stand_in_one_line(self, twin: AsyncMemory) -> None:
        async def talk() -> None:
            def speak_on() -> None:
                for number in range(6):
                    speak(twin._sync.thread("t"), f"s{number}")

            worker = threading.Thread(target=speak_on)
            worker.start()
            for number in range(6):
                await speak_async(twin, f"a{number}")
            await asyncio.to_thread(worker.join, 30)
            assert len(blocks([message.text for message in await twin.thread("t").messages()])) == 12

        asyncio.run(talk())

    def test_it_answers_as_its_twin(self, twin: AsyncMemory) -> None:
        async def talk() -> None:
            async with twin.thread("t").turn(lease=MINUTE) as turn:
                assert (await turn.append([{"role": "user", "content": "hello"}], expected_tip=0)).tip == 1
                before = turn.lease
                assert (await turn.renew(5 * MINUTE)).expires_at > before.expires_at + 3 * MINUTE
                assert turn.lease.token == before.token == 1
                with pytest.raises(ThreadBusy):
                    await twin.thread("t").turn(timeout=AT_ONCE).__aenter__()
            with pytest.raises(Conflict):
                await turn.add("user", "late")
            with pytest.raises(InvalidInput, match="begun before"):
                await turn.__aenter__()

        asyncio.run(talk())

    def test_an_error_gives_it_back(self, twin: AsyncMemory) -> None:
        async def fail() -> None:
            async with twin.thread("t").turn() as turn:
                await turn.add("user", "hello")
                _ = 1 / 0

        async def talk() -> None:
            with pytest.raises(ZeroDivisionError):
                await fail()
            async with twin.thread("t").turn(timeout=AT_ONCE):
                assert len(await twin.thread("t").messages()) == 1

        asyncio.run(talk())

    def test_the_loop_goes_on_while_one_waits(self, twin: AsyncMemory) -> None:
        async def talk() -> None:
            async with twin.thread("t").turn():
                waiting = asyncio.create_task(speak_async(twin, "w"))
                await in_line(twin, 1)
                longest, last = 0.0, time.monotonic()
                for _ in range(50):
                    await asyncio.sleep(0.002)
                    longest, last = max(longest, time.monotonic() - last), time.monotonic()
                # A machine under load may be late; a loop that is blocked is so for as long as the turn lasts.
                assert longest < 1
                assert not waiting.done()
            await waiting

        asyncio.run(talk())

    def test_V045_what_is_changed_while_it_is_stored_is_not_stored(self, twin: AsyncMemory) -> None:
        async def talk() -> None:
            async with twin.thread("t").turn() as turn:
                message = {"role": "user", "content": "as it was"}
                task = asyncio.create_task(turn.append([message]))
                await asyncio.sleep(0)
                message["content"] = "changed"
                await task
            assert [message.text for message in await twin.thread("t").messages()] == ["as it was"]

        asyncio.run(talk())

    def test_V046_one_loop_after_the_other_and_several_at_once(self, twin: AsyncMemory) -> None:
        asyncio.run(speak_async(twin, "one"))
        asyncio.run(speak_async(twin, "two"))
        at_once(*(threading.Thread(target=asyncio.run, args=(speak_async(twin, name),)) for name in ("three", "four")))
        assert sorted(blocks(texts(twin._sync.thread("t")))) == ["four", "one", "three", "two"]

    def test_V020_one_cancelled_in_line_leaves_it_to_the_others(self, twin: AsyncMemory) -> None:
        async def talk() -> None:
            async with twin.thread("t").turn():
                cancelled = asyncio.create_task(speak_async(twin, "c"))
                await in_line(twin, 1)
                other = asyncio.create_task(speak_async(twin, "o"))
                await in_line(twin, 2)
                cancelled.cancel()
                with pytest.raises(asyncio.CancelledError):
                    await cancelled
                await in_line(twin, 1)
            await other
            assert blocks([message.text for message in await twin.thread("t").messages()]) == ["o"]

        asyncio.run(talk())

    def test_V020_one_cancelled_within_its_turn_gives_it_back(self, twin: AsyncMemory) -> None:
        async def long(begun: asyncio.Event) -> None:
            async with twin.thread("t").turn() as turn:
                await turn.add("user", "begun")
                begun.set()
                await asyncio.sleep(60)

        async def cancel_once(begun: asyncio.Event, scope: anyio.CancelScope) -> None:
            await begun.wait()
            scope.cancel()

        async def talk() -> None:
            begun = asyncio.Event()
            with anyio.CancelScope() as scope:
                canceller = asyncio.create_task(cancel_once(begun, scope))
                await long(begun)
            assert scope.cancelled_caught
            await canceller
            begun = asyncio.Event()
            task = asyncio.create_task(long(begun))
            await begun.wait()
            task.cancel()
            with pytest.raises(asyncio.CancelledError):
                await task
            async with twin.thread("t").turn(timeout=AT_ONCE):
                assert len(await twin.thread("t").messages()) == 2

        asyncio.run(talk())

    @pytest.mark.parametrize("after_it", [False, True])
    def test_V020_one_cancelled_while_the_store_is_asked_does_not_keep_it(self, after_it: bool) -> None:
        store = Asked()
        memory = AsyncMemory(store=store, embedder=None)

        async def talk() -> None:
            await memory.thread("t").add("user", "hello")
            store.entered.clear()
            store.gate.clear()
            turn = memory.thread("t").turn()
            task: asyncio.Task[AsyncTurn] = asyncio.create_task(turn.__aenter__())
            assert await asyncio.to_thread(store.entered.wait, 10)
            task.cancel()
            if after_it:
                store.gate.set()
            with pytest.raises(asyncio.CancelledError):
                await task
            store.gate.set()
            async with memory.thread("t").turn(timeout=timedelta(seconds=10)) as next_turn:
                assert next_turn.lease.token in (1, 2)
                await next_turn.add("user", "mine")

        asyncio.run(talk())

    def test_any_moment_of_a_cancellation_leaves_the_thread_free(self, twin: AsyncMemory) -> None:
        async def talk() -> None:
            for attempt in range(40):
                task = asyncio.create_task(speak_async(twin, f"n{attempt}"))
                await asyncio.sleep(0.0002 * attempt)
                task.cancel()
                with contextlib.suppress(asyncio.CancelledError):
                    await task
                async with twin.thread("t").turn(timeout=timedelta(seconds=10)):
                    pass

        asyncio.run(talk())


def test_a_holder_elsewhere_is_waited_for_by_asking_again(tmp_path: Path) -> None:
    with Memory(tmp_path / "a.db", embedder=None) as memory:
        thread = memory.thread("t")
        thread.add("user", "hello")
        now = SystemClock().now()
        lease = store_of(memory).acquire(
            Acquire(namespace=memory.namespace, thread_id="t", holder="elsewhere", at=now, until=now + MINUTE)
        )
        timer = threading.Timer(0.3, lambda: store_of(memory).release(Release(lease)))
        timer.start()
        with thread.turn(timeout=timedelta(seconds=20)) as turn:
            assert turn.lease.token == 2
        timer.join()
