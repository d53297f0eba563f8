"""Summaries refined by themselves: never in the way of a context, never half done, never lost."""

from __future__ import annotations

import asyncio
import os
import threading
import time
from collections.abc import Callable
from datetime import timedelta
from pathlib import Path

import anyio
import anyio.to_thread
import msgspec
import pytest
from tests.path.refining import authors, model, said

from bethink import AsyncMemory, InvalidInput, Memory, Settings, Thread
from bethink.models.language import AsyncGivenModel, GivenModel, Prompt
from bethink.steps.background import LoopWorker, ThreadWorker
from bethink.storage.base import Read, Refine, Transcript
from bethink.storage.reference import ReferenceStore
from bethink.testing.doubles import AsyncScriptedModel, FrozenClock, Hang, Scripted, ScriptedModel, summing_up

SMALL = Settings(window=600, segment_messages=6, node_fan_in=3, node_tokens=80, refine_limit=100)
PATIENCE = 20.0
"""Seconds until a test gives up on what is to happen by itself."""


def opened(model: GivenModel | None, path: Path | str = ":memory:", **options: object) -> Memory:
    options = {"clock": FrozenClock(), "settings": SMALL, **options}
    return Memory(path, embedder=None, language_model=model, **options)  # type: ignore[arg-type]


def talk(memory: Memory, first: int = 0, last: int = 20, thread_id: str = "t") -> Thread:
    thread = memory.thread(thread_id)
    for number in range(first, last):
        thread.append(said(number))
    thread.context()
    return thread


def until(holds: Callable[[], bool]) -> None:
    """Wait for something that another thread does."""
    end = time.monotonic() + PATIENCE
    while not holds():
        assert time.monotonic() < end, "it did not happen"
        time.sleep(0.005)


def at_rest(memory: Memory) -> bool:
    worker = memory._engine.watcher
    assert isinstance(worker, ThreadWorker)
    return worker._thread is None


def test_a_memory_with_a_model_refines_by_itself_after_a_fold() -> None:
    with opened(model()) as memory:
        thread = talk(memory)
        until(lambda: authors(thread) == {"small"})
        until(lambda: at_rest(memory))
        assert memory.check() == []


def test_by_hand_means_that_nothing_is_asked_by_itself() -> None:
    silent = ScriptedModel([])
    with opened(silent, settings=msgspec.structs.replace(SMALL, refine="manual")) as memory:
        talk(memory)
        assert memory._engine.watcher is None
    assert silent.calls == 0


def test_another_word_for_it_is_refused() -> None:
    with pytest.raises(InvalidInput, match=r"settings\.refine"):
        Settings(refine="sometimes")  # type: ignore[arg-type]
    with pytest.raises(InvalidInput, match="refine_limit"):
        Settings(refine_limit=0)


def test_a_context_never_waits_for_the_model() -> None:
    slow = ScriptedModel(lambda prompt: Hang(60.0, summing_up(prompt)), name="small")
    with opened(slow) as memory:
        began = time.monotonic()
        thread = talk(memory)
        until(lambda: slow.calls == 1)
        for number in range(20, 30):
            thread.append(said(number))
            assert thread.context().tokens <= 600
        assert time.monotonic() - began < 30.0
        assert authors(thread) == {"extractive"}
        slow.release()
        until(lambda: authors(thread) == {"small"})


def test_what_the_context_showed_meanwhile_is_replayed_to_the_same_bytes() -> None:
    slow = ScriptedModel(lambda prompt: Hang(60.0, summing_up(prompt)), name="small")
    with opened(slow) as memory:
        thread = talk(memory)
        before = thread.context()
        slow.release()
        until(lambda: authors(thread) == {"small"})
        assert memory.replay(before.receipt_id).messages == before.messages


def test_closing_waits_for_no_model_and_what_it_answers_then_is_dropped(tmp_path: Path) -> None:
    slow = ScriptedModel(lambda prompt: Hang(60.0, summing_up(prompt)), name="small")
    with opened(slow, tmp_path / "a.db") as memory:
        talk(memory)
        until(lambda: slow.calls == 1)
        began = time.monotonic()
    assert time.monotonic() - began < 30.0
    slow.release()
    until(lambda: at_rest(memory))
    assert slow.calls == 1
    with opened(model(), tmp_path / "a.db") as memory:
        assert authors(memory.thread("t")) == {"extractive"}
        memory.thread("t").context()
        until(lambda: authors(memory.thread("t")) == {"small"})
        assert memory.check() == []


def test_a_long_past_is_caught_up_with_by_and_by() -> None:
    store = ReferenceStore()
    talk(opened(None, store=store), 0, 100)
    small = model()
    with opened(small, store=store, settings=msgspec.structs.replace(SMALL, refine_limit=3)) as memory:
        thread = memory.thread("t")
        thread.context()
        until(lambda: small.calls == 3 and at_rest(memory))
        thread.context()
        assert at_rest(memory)
        calls = small.calls
        for number in range(100, 125):
            thread.append(said(number))
        thread.context()
        until(lambda: small.calls == calls + 3 and at_rest(memory))
        assert authors(thread) == {"extractive", "small"}


def test_a_failure_is_tried_again_by_the_first_context_after_its_wait() -> None:
    clock = FrozenClock()
    answers: list[Scripted] = [ConnectionError()]
    flaky = ScriptedModel(lambda prompt: answers.pop() if answers else summing_up(prompt), name="small")
    with opened(flaky, clock=clock) as memory:
        thread = talk(memory)
        until(lambda: flaky.calls > 1 and at_rest(memory))
        (failed,) = [node.failed for node in thread.summaries() if node.failed is not None]
        calls = flaky.calls
        thread.context()
        assert (at_rest(memory), flaky.calls) == (True, calls)
        assert failed.retry_at is not None
        clock.set(failed.retry_at)
        thread.context()
        until(lambda: authors(thread) == {"small"})


def test_what_lost_lines_to_a_forget_is_written_anew_after_the_next_context() -> None:
    small = model()
    with opened(small) as memory:
        thread = talk(memory)
        until(lambda: authors(thread) == {"small"} and at_rest(memory))
        calls = small.calls
        memory.forget(message="u0")
        thread.context()
        until(lambda: small.calls > calls and at_rest(memory))
        assert memory.thread("t").refine().attempts == ()


def test_what_is_forgotten_while_the_worker_is_at_the_thread_is_come_back_to() -> None:
    memories: list[Memory] = []
    calls: list[Prompt] = []

    def answer(prompt: Prompt) -> str:
        calls.append(prompt)
        if len(calls) == 1:
            memories[0].forget(message="u0")
        return summing_up(prompt)

    # One at a time, so that the worker does not come upon the change by itself.
    one = msgspec.structs.replace(SMALL, refine_limit=1)
    with opened(ScriptedModel(answer, name="small"), settings=one) as memory:
        memories.append(memory)
        thread = talk(memory)
        until(lambda: len(calls) == 1 and at_rest(memory))
        thread.context()
        until(lambda: len(calls) == 2 and at_rest(memory))


class FailingStore(ReferenceStore):
    """Raises something that is none of the store's errors, whenever a summary is stored."""

    def refine(self, request: Refine, /) -> None:
        raise ZeroDivisionError("a fault of the store")


def test_a_worker_that_dies_is_nothing_to_the_conversation_and_another_takes_over(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    seen: list[type[BaseException]] = []
    monkeypatch.setattr(threading, "excepthook", lambda args: seen.append(args.exc_type))
    small = model()
    with opened(small, store=FailingStore()) as memory:
        thread = talk(memory)
        until(lambda: len(seen) == 1)
        talk(memory, 20, 30)
        until(lambda: len(seen) == 2)
        assert seen == [ZeroDivisionError, ZeroDivisionError]
        assert authors(thread) == {"extractive"}
        assert memory.check() == []


def test_threads_of_all_namespaces_are_worked_on_one_after_the_other() -> None:
    active, most = [0], [0]

    def counting(prompt: Prompt) -> Scripted:
        active[0] += 1
        most[0] = max(most[0], active[0])
        time.sleep(0.001)
        active[0] -= 1
        return summing_up(prompt)

    with opened(ScriptedModel(counting, name="small")) as memory:
        threads = [talk(memory.user(f"user {number}")) for number in range(5)]
        until(lambda: all(authors(thread) == {"small"} for thread in threads))
    assert most == [1]


@pytest.mark.skipif(not hasattr(os, "fork"), reason="the system has no fork")
@pytest.mark.filterwarnings("ignore:.*multi-threaded.*:DeprecationWarning")
def test_a_forked_process_has_a_worker_of_its_own(tmp_path: Path) -> None:
    slow = ScriptedModel(lambda prompt: Hang(0.05, summing_up(prompt)), name="small")
    with opened(slow, tmp_path / "a.db") as memory:
        talk(memory)
        until(lambda: slow.calls >= 1)
        child = os.fork()
        if child == 0:
            code = 1
            try:
                other = talk(memory, thread_id="of the child")
                until(lambda: authors(other) == {"small"})
                code = 0
            finally:
                os._exit(code)
        assert os.waitpid(child, 0)[1] == 0
        until(lambda: authors(memory.thread("t")) == {"small"})
        assert authors(memory.thread("of the child")) == {"small"}
        assert memory.check() == []


# -- on an event loop ------------------------------------------------------------------------------------------------------


def opened_async(model: AsyncGivenModel, path: Path | str = ":memory:", **options: object) -> AsyncMemory:
    options = {"clock": FrozenClock(), "settings": SMALL, **options}
    return AsyncMemory(path, embedder=None, language_model=model, **options)  # type: ignore[arg-type]


async def talk_async(memory: AsyncMemory, first: int = 0, last: int = 20) -> None:
    thread = memory.thread("t")
    for number in range(first, last):
        await thread.append(said(number))
    await thread.context()


async def happens(holds: Callable[[], bool]) -> None:
    """`until` for a loop, which goes on meanwhile."""
    await anyio.to_thread.run_sync(until, holds)


async def written(memory: AsyncMemory) -> None:
    """Until every summary is a model's."""
    await happens(lambda: "extractive" not in authors(memory._sync.thread("t")))


def test_an_asynchronous_model_is_asked_in_a_task_of_the_loop() -> None:
    threads: set[threading.Thread] = set()

    def on_thread(prompt: Prompt) -> Scripted:
        threads.add(threading.current_thread())
        return summing_up(prompt)

    async def main() -> None:
        async with opened_async(AsyncScriptedModel(on_thread, name="async")) as memory:
            await talk_async(memory)
            await written(memory)
            assert await memory.check() == []

    asyncio.run(main())
    assert threads == {threading.main_thread()}


def test_a_synchronous_model_of_a_loop_is_asked_on_a_thread() -> None:
    async def main() -> None:
        async with opened_async(model()) as memory:
            await talk_async(memory)
            await written(memory)

    asyncio.run(main())


def test_a_context_does_not_wait_for_an_asynchronous_model_and_closing_ends_its_task() -> None:
    async def main() -> None:
        asked = asyncio.Event()

        def hang(_: Prompt) -> Hang:
            asked.set()
            return Hang(600.0)

        async with opened_async(AsyncScriptedModel(hang, name="async")) as memory:
            await talk_async(memory)
            await asked.wait()
            with anyio.fail_after(PATIENCE):
                await talk_async(memory, 20, 25)
            assert {node.author for node in await memory.thread("t").summaries()} == {"extractive"}
        names = [task.get_name() for task in asyncio.all_tasks()]
        assert "bethink-refine" not in names

    asyncio.run(main())


def test_a_loop_that_ends_takes_its_task_along_and_the_next_goes_on(tmp_path: Path) -> None:
    hang = [True]
    asked = AsyncScriptedModel(lambda prompt: Hang(600.0) if hang[0] else summing_up(prompt), name="async")
    memory = opened_async(asked, tmp_path / "a.db")

    async def first() -> None:
        await talk_async(memory)
        await happens(lambda: asked.calls > 0)

    async def second() -> None:
        await talk_async(memory, 20, 40)
        await written(memory)
        await memory.close()

    asyncio.run(first())
    hang[0] = False
    asyncio.run(second())


class BusyOnce(ReferenceStore):
    """Cannot be read in the background the first time."""

    def __init__(self) -> None:
        super().__init__()
        self.refused = False

    def read(self, request: Read, /) -> Transcript:
        if request.tree and not self.refused:
            from bethink import StoreBusy

            self.refused = True
            raise StoreBusy("locked")
        return super().read(request)


def test_a_store_that_is_busy_is_come_back_to_at_the_next_context() -> None:
    with opened(model(), store=BusyOnce()) as memory:
        thread = talk(memory)
        until(lambda: at_rest(memory))
        thread.context()
        until(lambda: authors(thread) == {"small"})

    async def main() -> None:
        async with opened_async(AsyncScriptedModel(summing_up, name="async"), store=BusyOnce()) as memory:
            await talk_async(memory)
            worker = memory._sync._engine.watcher
            assert isinstance(worker, LoopWorker)
            await asyncio.gather(*worker._tasks)
            await memory.thread("t").context()
            await written(memory)

    asyncio.run(main())


def test_waiting_is_told_by_the_clock_that_was_given() -> None:
    clock = FrozenClock()
    down = ScriptedModel(lambda _: ConnectionError(), name="small")
    with opened(down, clock=clock) as memory:
        thread = talk(memory)
        until(lambda: down.calls == 3 and at_rest(memory))
        clock.advance(timedelta(hours=2))
        thread.context()
        until(lambda: down.calls == 6 and at_rest(memory))
