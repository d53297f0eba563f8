"""The twin for event loops: the same results, whole transactions, no loop it is bound to."""

from __future__ import annotations

import asyncio
import contextlib
import threading
from functools import partial
from pathlib import Path

import anyio

from bethink import AsyncMemory, Memory, Message
from bethink.testing.doubles import FrozenClock, HashEmbedder


def opened(path: Path | str = ":memory:") -> AsyncMemory:
    return AsyncMemory(path, clock=FrozenClock(), embedder=HashEmbedder())


def test_the_whole_way_of_a_message(tmp_path: Path) -> None:
    async def talk() -> None:
        async with opened(tmp_path / "a.db") as memory:
            user = memory.user("mara")
            thread = user.thread("t")
            message = await thread.add("user", "I'm allergic to peanuts and I live in Ghent.")
            await thread.append([{"role": "assistant", "content": "Noted."}])
            assert [found.text for found in await thread.messages()] == [message.text, "Noted."]
            context = await thread.context("dinner", budget=500)
            assert (await user.replay(context.receipt_id)).to_bytes() == context.to_bytes()
            assert len(await user.profile()) == 2
            assert (await user.recall("peanuts"))[0].id in {message.id, *[record.id for record in await user.records()]}
            assert (await thread.end()) is not None
            fork = await thread.fork(1)
            assert len(await fork.messages()) == 1
            assert [line async for line in memory.export()]
            await user.forget(message=message.id)
            assert (await user.verify("allergic to peanuts")).clean
            assert await memory.check() == []

    asyncio.run(talk())


def test_V020_a_cancelled_append_leaves_all_of_it_or_nothing(tmp_path: Path) -> None:
    async def talk() -> None:
        async with opened(tmp_path / "a.db") as memory:
            for attempt in range(20):
                thread = memory.thread(f"t{attempt}")
                batch = [Message(role="user", content=str(number)) for number in range(5)]
                task = asyncio.create_task(thread.append(batch))
                await asyncio.sleep(0.0002 * (attempt % 5))
                task.cancel()
                # An append may also be done before it is cancelled.
                with contextlib.suppress(asyncio.CancelledError):
                    await task
                texts = [message.text for message in await thread.messages()]
                assert texts in ([], ["0", "1", "2", "3", "4"])
            assert await memory.check() == []

    asyncio.run(talk())


def test_V045_what_is_changed_while_the_call_runs_is_not_stored(tmp_path: Path) -> None:
    async def talk() -> None:
        async with opened(tmp_path / "a.db") as memory:
            message = {"role": "user", "content": "as it was", "extra": {"list": [1]}}
            task = asyncio.create_task(memory.thread("t").append([message]))
            await asyncio.sleep(0)
            message["content"] = "changed"
            message["extra"]["list"].append(2)  # type: ignore[index]
            await task
            (stored,) = await memory.thread("t").messages()
            assert stored.text == "as it was"

    asyncio.run(talk())


def test_V046_one_object_serves_one_loop_after_the_other_and_several_at_once(tmp_path: Path) -> None:
    memory = opened(tmp_path / "a.db")

    async def add(text: str) -> None:
        await memory.thread("t").add("user", text)

    asyncio.run(add("one"))
    asyncio.run(add("two"))
    other = threading.Thread(target=asyncio.run, args=(add("three"),))
    other.start()
    other.join()
    with Memory(tmp_path / "a.db", embedder=None) as plain:
        assert sorted(message.text for message in plain.thread("t").messages()) == ["one", "three", "two"]
    asyncio.run(memory.close())


def test_V036_calls_at_once_leave_a_sound_store(tmp_path: Path) -> None:
    async def talk() -> None:
        async with opened(tmp_path / "a.db") as memory:
            async with anyio.create_task_group() as group:
                for number in range(40):
                    group.start_soon(memory.thread(f"t{number % 4}").add, "user", f"I like fruit {number}")
                    group.start_soon(memory.store, f"note {number}")
                    group.start_soon(memory.thread(f"t{number % 4}").context, "fruit")
            assert sum([len(await memory.thread(f"t{number}").messages()) for number in range(4)]) == 40
            assert len(await memory.records("note")) == 40
            assert await memory.check() == []

    asyncio.run(talk())


def test_V036_what_is_added_and_forgotten_at_once_is_there_or_gone_after_every_round(tmp_path: Path) -> None:
    async def talk() -> None:
        async with opened(tmp_path / "a.db") as memory:
            notes: list[str] = []
            for number in range(50):
                async with anyio.create_task_group() as group:
                    for note in notes:
                        group.start_soon(partial(memory.forget, record=note))
                        group.start_soon(memory.recall, "fruit")
                    group.start_soon(partial(memory.thread("t").add, "user", f"I like fruit {number}", id=f"m{number}"))
                    added = await memory.store(f"note {number}")
                    group.start_soon(memory.cite, added.id)
                notes = [added.id]
                assert [record.id for record in await memory.records("note")] == notes
                assert [message.id for message in await memory.thread("t").messages()] == [f"m{n}" for n in range(number + 1)]
            assert await memory.check() == []
        with Memory(tmp_path / "a.db", embedder=None) as plain:
            assert plain.check() == []

    asyncio.run(talk())
