"""What happens while a model is asked: messages, forgetting, other writers, a store that fails, a task that is cancelled."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from pathlib import Path

import pytest
from tests.path.refining import SMALL, authors, model, opened, said, seen, talk

from bethink import AsyncMemory, Memory, Settings, StoreBusy, Thread
from bethink.models.language import Prompt
from bethink.storage.base import Read, Refine, Transcript
from bethink.storage.reference import ReferenceStore
from bethink.testing.doubles import AsyncScriptedModel, FrozenClock, Hang, Scripted, ScriptedModel, summing_up


def interrupted(memory_of: list[Memory], act: Callable[[Thread], object]) -> ScriptedModel:
    """A model during whose first answer something happens."""
    todo = [act]

    def answer(prompt: Prompt) -> str:
        if todo:
            todo.pop()(memory_of[0].thread("t"))
        return summing_up(prompt)

    return ScriptedModel(answer, name="small")


def while_asked(act: Callable[[Thread], object]) -> tuple[Memory, Thread]:
    memories: list[Memory] = []
    memories.append(opened(interrupted(memories, act)))
    return memories[0], talk(memories[0])


def test_V038_a_message_that_arrives_meanwhile_is_there_and_is_not_covered() -> None:
    memory, thread = while_asked(lambda thread: thread.append(said(99)))
    covered = [node.covers for node in thread.summaries()]
    thread.refine()
    assert [node.covers for node in thread.summaries()] == covered
    assert [message.id for message in thread.messages(2)] == ["u99", "a99"]
    assert "QX-1099" in thread.context().text
    assert not any("QX-1099" in line.text for node in thread.summaries() for line in node.lines)
    assert memory.check() == []


def test_V038_a_thread_that_is_forgotten_meanwhile_stays_forgotten() -> None:
    memory, thread = while_asked(lambda thread: thread.delete())
    report = thread.refine()
    assert (report.attempts, report.overtaken, report.usage.calls) == ((), 1, 1)
    assert (memory.threads(), memory.stats().nodes, memory.stats().attempts) == ([], 0, 0)


def test_V038_a_message_that_is_forgotten_meanwhile_is_in_no_summary() -> None:
    memory, thread = while_asked(lambda _: memory.forget(message="u0"))
    report = thread.refine()
    assert report.overtaken == 1
    assert not any("QX-1000" in line.text for node in thread.summaries() for line in node.lines if "u0" in line.sources)
    assert all("u0" not in line.sources for node in thread.summaries() for line in node.lines)
    assert (authors(thread), memory.check()) == ({"small"}, [])


def test_what_folds_meanwhile_is_kept_and_refined_after_it() -> None:
    def folds(thread: Thread) -> None:
        for number in range(20, 40):
            thread.append(said(number))
        thread.context()

    memory, thread = while_asked(folds)
    before = len(thread.summaries())
    thread.refine()
    assert len(thread.summaries()) > before
    assert (authors(thread), memory.check()) == ({"small"}, [])


def test_of_two_who_refine_at_once_one_writes_and_the_other_finds_it_done() -> None:
    memory, thread = while_asked(lambda thread: thread.refine(limit=1))
    report = thread.refine()
    assert report.overtaken == 1
    assert len(report.written) == len(thread.summaries()) - 1
    assert (authors(thread), memory.check()) == ({"small"}, [])
    assert len(thread.summaries()) == memory.stats().nodes


class BrokenStore(ReferenceStore):
    """Raises at the n-th verb from now on, before or after it is done."""

    def __init__(self) -> None:
        super().__init__()
        self.left = -1
        self.after = False

    def _step(self) -> bool:
        self.left -= 1
        return self.left == 0

    def read(self, request, /):  # type: ignore[no-untyped-def]
        if self._step():
            raise StoreBusy("locked")
        return super().read(request)

    def refine(self, request: Refine, /) -> None:
        broken = self._step()
        if broken and not self.after:
            raise StoreBusy("locked")
        super().refine(request)
        if broken:
            raise StoreBusy("locked")


@pytest.mark.parametrize("after", [False, True])
def test_V022_a_store_that_fails_at_any_step_leaves_every_node_old_or_new_and_the_next_call_goes_on(after: bool) -> None:
    for step in range(1, 60):
        store = BrokenStore()
        store.after = after
        with opened(model(), store=store) as memory:
            thread = talk(memory)
            messages, covers = thread.messages(), [node.covers for node in thread.summaries()]
            store.left = step
            try:
                thread.refine()
            except StoreBusy:
                done = False
            else:
                done = True
            store.left = -1
            assert memory.check() == []
            assert (thread.messages(), [node.covers for node in thread.summaries()]) == (messages, covers)
            thread.refine()
            assert authors(thread) == {"small"}
            if done:
                return
    pytest.fail("the call never came to its end")


def test_an_interrupt_in_the_middle_of_a_call_loses_nothing() -> None:
    answers: list[Scripted] = [KeyboardInterrupt()]
    stopped = ScriptedModel(lambda prompt: answers.pop() if answers else summing_up(prompt), name="small")
    with opened(stopped, settings=Settings(window=600, refine="manual", model_timeout=None)) as memory:
        thread = talk(memory)
        before = seen(thread)
        with pytest.raises(KeyboardInterrupt):
            thread.refine()
        assert (seen(thread), thread.summaries()[0].attempts) == (before, ())
        assert thread.refine().written


# -- on an event loop ------------------------------------------------------------------------------------------------------


def test_a_loop_refines_with_a_model_of_its_own_sort(tmp_path: Path) -> None:
    async def talk_async() -> None:
        asked = AsyncScriptedModel(summing_up, name="async")
        async with AsyncMemory(
            tmp_path / "a.db", language_model=asked, embedder=None, clock=FrozenClock(), settings=SMALL
        ) as memory:
            thread = memory.thread("t")
            for number in range(20):
                await thread.append(said(number))
            await thread.context()
            report = await thread.refine(limit=1)
            assert len(report.written) == 1
            report = await memory.refine()
            nodes = await thread.summaries()
            assert {node.author for node in nodes} == {"async"}
            assert asked.calls == len(nodes)
            assert [message.id for message in await thread.expand(nodes[0].id)][:2] == ["u0", "a0"]
            assert await memory.check() == []

    asyncio.run(talk_async())


def test_a_task_that_is_cancelled_while_it_asks_loses_nothing(tmp_path: Path) -> None:
    async def talk_async() -> None:
        begun = asyncio.Event()

        def hang(_: Prompt) -> Hang:
            begun.set()
            return Hang(60.0)

        asked = AsyncScriptedModel(hang, name="async")
        async with AsyncMemory(
            tmp_path / "a.db", language_model=asked, embedder=None, clock=FrozenClock(), settings=SMALL
        ) as memory:
            thread = memory.thread("t")
            for number in range(20):
                await thread.append(said(number))
            await thread.context()
            before = await thread.summaries()
            task = asyncio.create_task(thread.refine())
            await begun.wait()
            task.cancel()
            with pytest.raises(asyncio.CancelledError):
                await task
            assert await thread.summaries() == before
            assert await memory.check() == []

    asyncio.run(talk_async())


class CancellingStore(ReferenceStore):
    """Has the task that uses it cancelled in the middle of its n-th verb from now on."""

    def __init__(self) -> None:
        super().__init__()
        self.left = -1
        self.cancel: Callable[[], object] = lambda: None

    def _step(self) -> None:
        self.left -= 1
        if self.left == 0:
            self.cancel()

    def read(self, request: Read, /) -> Transcript:
        self._step()
        return super().read(request)

    def refine(self, request: Refine, /) -> None:
        self._step()
        super().refine(request)


def test_V020_a_task_that_is_cancelled_at_any_step_leaves_every_node_old_or_new_and_the_next_goes_on() -> None:
    async def once(step: int) -> bool:
        store = CancellingStore()
        asked = AsyncScriptedModel(summing_up, name="async")
        async with AsyncMemory(store=store, language_model=asked, embedder=None, clock=FrozenClock(), settings=SMALL) as memory:
            thread = memory.thread("t")
            for number in range(20):
                await thread.append(said(number))
            await thread.context()
            covers = [node.covers for node in await thread.summaries()]
            task = asyncio.create_task(thread.refine())
            loop = asyncio.get_running_loop()
            store.cancel = lambda: loop.call_soon_threadsafe(task.cancel)
            store.left = step
            await asyncio.wait([task])
            store.left = -1
            assert await memory.check() == []
            assert [node.covers for node in await thread.summaries()] == covers
            await thread.refine()
            assert {node.author for node in await thread.summaries()} == {"async"}
            return task.cancelled()

    cancelled = [asyncio.run(once(step)) for step in range(1, 22)]
    assert cancelled[:10] == [True] * 10
    assert not cancelled[-1]
