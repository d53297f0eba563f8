"""Appends of many tasks: few hops, the same outcomes, and nobody harmed by another's cancellation."""

from __future__ import annotations

import asyncio
import contextlib
import threading
from collections.abc import Iterator, Sequence
from datetime import datetime, timezone

import anyio.to_thread
import pytest

from bethink.async_appends import Appends, appends_to
from bethink.errors import BethinkError, Conflict
from bethink.messages import Message
from bethink.storage.base import Append, Appended, Read
from bethink.storage.reference import ReferenceStore

AT = datetime(2026, 3, 1, 12, tzinfo=timezone.utc)
NS = ("acme", "ada")


class Gated(ReferenceStore):
    """A store whose appends wait at a gate; `hops` holds the ids of the messages of each call that came through."""

    def __init__(self) -> None:
        super().__init__()
        self.hops: list[list[str]] = []
        self.entered = threading.Semaphore(0)
        self.gate = threading.Semaphore(0)

    def append_each(self, requests: Sequence[Append], /) -> list[Appended | BethinkError]:
        self.entered.release()
        assert self.gate.acquire(timeout=10)
        self.hops.append([message.id for request in requests for message in request.messages])
        return super().append_each(requests)


@pytest.fixture
def store() -> Iterator[Gated]:
    store = Gated()
    yield store
    store.close()


def said(name: str, **options: object) -> Append:
    message = Message(role="user", content=name, id=name, created_at=AT)
    return Append(namespace=NS, thread_id="t", at=AT, messages=(message,), **options)  # type: ignore[arg-type]


def stored(store: Gated) -> list[str]:
    return [message.id for message in store.read(Read(namespace=NS, thread_id="t")).messages]


async def on_its_hop(store: Gated) -> None:
    assert await asyncio.to_thread(store.entered.acquire, timeout=10)


async def queued(appends: Appends, count: int) -> None:
    while len(appends._queue) < count:  # noqa: ASYNC110 - what is waited for has no event
        await asyncio.sleep(0.001)


async def cancelled(task: asyncio.Task[Appended]) -> None:
    task.cancel()
    with contextlib.suppress(asyncio.CancelledError):
        await task
    assert task.cancelled()


def test_what_comes_during_a_hop_goes_together_on_the_next(store: Gated) -> None:
    async def run() -> None:
        appends = Appends(store)
        first = asyncio.create_task(appends.append(said("m1")))
        await on_its_hop(store)
        others = [asyncio.create_task(appends.append(said(f"m{number}"))) for number in range(2, 6)]
        await queued(appends, 4)
        store.gate.release(2)
        outcomes = await asyncio.gather(first, *others)
        assert [outcome.tip for outcome in outcomes] == [1, 2, 3, 4, 5]
        assert store.hops == [["m1"], ["m2", "m3", "m4", "m5"]]

    asyncio.run(run())


def test_a_refusal_is_for_the_one_who_asked(store: Gated) -> None:
    async def run() -> None:
        appends = Appends(store)
        store.gate.release(9)
        requests = (said("m1"), said("m2", expected_tip=7), said("m3"))
        outcomes = await asyncio.gather(*map(appends.append, requests), return_exceptions=True)
        assert isinstance(outcomes[1], Conflict)
        assert stored(store) == ["m1", "m3"]

    asyncio.run(run())


def test_V020_a_leader_cancelled_on_its_hop_takes_nobody_along(store: Gated) -> None:
    async def run() -> None:
        appends = Appends(store)
        appends._crowd = 2  # as after a hop of two: a leader looks who else comes
        leader = asyncio.create_task(appends.append(said("m1")))
        other = asyncio.create_task(appends.append(said("m2")))
        await on_its_hop(store)
        late = asyncio.create_task(appends.append(said("m3")))
        await queued(appends, 1)
        await cancelled(leader)
        store.gate.release(2)
        assert [(await other).tip, (await late).tip] == [2, 3]
        assert store.hops == [["m1", "m2"], ["m3"]]

    asyncio.run(run())


def test_V020_one_cancelled_in_the_queue_is_not_stored_and_the_rest_go_on(store: Gated) -> None:
    async def run() -> None:
        appends = Appends(store)
        leader = asyncio.create_task(appends.append(said("m1")))
        await on_its_hop(store)
        second = asyncio.create_task(appends.append(said("m2")))
        third = asyncio.create_task(appends.append(said("m3")))
        await queued(appends, 2)
        await cancelled(second)
        store.gate.release(2)
        assert [(await leader).tip, (await third).tip] == [1, 2]
        assert stored(store) == ["m1", "m3"]

    asyncio.run(run())


def test_V020_a_successor_cancelled_before_it_leads_passes_on(store: Gated) -> None:
    async def run() -> None:
        appends = Appends(store)
        leader = asyncio.create_task(appends.append(said("m1")))
        await on_its_hop(store)
        second = asyncio.create_task(appends.append(said("m2")))
        third = asyncio.create_task(appends.append(said("m3")))
        await queued(appends, 2)
        store.gate.release(2)
        while not appends._queue[0].to_lead:  # noqa: ASYNC110
            await asyncio.sleep(0)
        await cancelled(second)
        assert [(await leader).tip, (await third).tip] == [1, 2]

    asyncio.run(run())


def test_V020_a_leader_cancelled_while_it_waits_for_a_worker_thread_leaves_the_lead(store: Gated) -> None:
    async def run() -> None:
        appends = Appends(store)
        appends._crowd = 2
        limiter = anyio.to_thread.current_default_thread_limiter()
        tokens = limiter.total_tokens
        limiter.total_tokens = 1
        held = asyncio.create_task(anyio.to_thread.run_sync(store.gate.acquire))
        await asyncio.sleep(0.01)
        leader = asyncio.create_task(appends.append(said("m1")))
        other = asyncio.create_task(appends.append(said("m2")))
        await asyncio.sleep(0.01)
        await cancelled(leader)
        store.gate.release(2)
        await held
        assert (await other).tip == 1
        limiter.total_tokens = tokens
        assert store.hops == [["m2"]]

    asyncio.run(run())


def test_what_is_no_error_of_ours_reaches_everybody_and_the_next_go_on(monkeypatch: pytest.MonkeyPatch, store: Gated) -> None:
    def broken(*_: object) -> list[Appended | BethinkError]:
        raise ZeroDivisionError

    async def run() -> None:
        appends = Appends(store)
        with monkeypatch.context() as patch:
            patch.setattr(store, "append_each", broken)
            outcomes = await asyncio.gather(*map(appends.append, (said("m1"), said("m2"))), return_exceptions=True)
            assert [type(outcome) for outcome in outcomes] == [ZeroDivisionError] * 2
        store.gate.release()
        assert (await appends.append(said("m3"))).tip == 1

    asyncio.run(run())


def test_each_loop_and_each_store_has_its_own(store: Gated) -> None:
    async def run() -> Appends:
        assert appends_to(store) is appends_to(store)
        assert appends_to(store) is not appends_to(ReferenceStore())
        return appends_to(store)

    assert asyncio.run(run()) is not asyncio.run(run())
