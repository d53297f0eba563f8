"""Turns: one writer at a time in a thread, so that what each of them says stands together.

    with thread.turn() as turn:        waits until it is ours, or raises ThreadBusy
        turn.add("user", question)     an append that carries the lease: stored at once, or refused
        turn.add("assistant", answer)
                                       leaving gives it back; what was appended stays

A turn is a `storage.base.Lease` of the thread: it holds across processes, and ends by itself when its holder dies. If it runs
out before the work is done, the work goes on as long as nobody else has taken the thread; from then on every append is refused
with Conflict. So of writers who all take turns, each has its messages next to each other, whatever happens to the others.

Those who append without a turn are not held up by one (see `storage.base.Append`).
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import suppress
from datetime import datetime, timedelta
from types import TracebackType
from typing import TYPE_CHECKING, Any, TypedDict

from typing_extensions import Self, Unpack

from bethink.errors import InvalidInput, NotFound, StoreError, ThreadBusy
from bethink.formats import from_any
from bethink.ids import new_id
from bethink.messages import Message, Part, Role, Tier, ToolCall, made
from bethink.steps.append import append_request
from bethink.storage.base import Acquire, Append, Appended, Lease, Release
from bethink.values import Namespace
from bethink.waiting import Wait, lines_of

if TYPE_CHECKING:
    from bethink.engine import Engine

__all__ = ["AsyncTurn", "MessageFields", "Turn"]

_LONGEST = timedelta(days=1)
_LOOK = 0.02
"""How often a task looks whether another thread has woken it, in seconds."""


class MessageFields(TypedDict, total=False):
    """What `Turn.add` takes beyond role and content; see `Message`."""

    id: str
    name: str | None
    tool_calls: Sequence[ToolCall]
    tool_call_id: str | None
    created_at: datetime | None
    metadata: Mapping[str, Any] | None
    tier: Tier
    external: bool


class Turn:
    """A turn of one thread, made by `Thread.turn` and begun by `with`. For one use; turns of a thread do not nest."""

    def __init__(self, engine: Engine, namespace: Namespace, thread_id: str, *, timeout: timedelta, lease: timedelta) -> None:
        self._engine = engine
        self._key = (namespace, thread_id)
        self._timeout = _checked(timeout, "timeout")
        self._lasts = _checked(lease, "lease")
        if not lease:
            raise InvalidInput("lease", "0", "give the time that the turn may take, such as timedelta(seconds=60)")
        self._holder = ""
        self._lease: Lease | None = None

    def __repr__(self) -> str:
        return f"Turn({self._key[1]!r}, namespace={self._key[0]!r})"

    def __enter__(self) -> Self:
        bell = threading.Event()
        wait = self._join(bell.set)
        try:
            while True:
                busy = None
                if wait.asks():
                    busy = self._ask()
                    if busy is None:
                        break
                bell.wait(wait.seconds(busy))
                bell.clear()
        except BaseException:
            self._end()
            raise
        self._begin()
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None) -> None:
        try:
            self._give_back()
        finally:
            self._end()

    @property
    def lease(self) -> Lease:
        """What it was given, as of the last renewal. Its `token` may be shown to others that must refuse whoever is overtaken.

        Raises:
            InvalidInput: the turn has not begun.
        """
        if self._lease is None:
            raise InvalidInput("turn", "has not begun", "use it as `with thread.turn() as turn:`")
        return self._lease

    def append(self, messages: Iterable[Message | Mapping[str, Any]], *, expected_tip: int | None = None) -> Appended:
        """As `Thread.append`, in this turn. Nothing is held back: what it returned is stored.

        Raises:
            Conflict: the turn is over, since it ran out and somebody else has had one, or the thread was forgotten; or as of
                `Thread.append`. Nothing of the batch is stored.
        """
        request = self._append_request(messages, expected_tip)
        with self._engine.appending(request):
            return self._engine.store.append(request)

    def add(self, role: Role, content: str | Sequence[Part] | None = None, **fields: Unpack[MessageFields]) -> Message:
        """As `Thread.add`, in this turn."""
        return self.append([made(role, content, **fields)]).messages[0]

    def renew(self, lease: timedelta | None = None) -> Lease:
        """Have it for so long from now, or for as long as it was taken for. For work that takes longer than was thought.

        Raises:
            Conflict: the turn is over (see `append`).
        """
        lasts = self._lasts if lease is None else _checked(lease, "lease")
        self._lease = self._engine.store.acquire(self._acquire_request(lasts, self.lease.token))
        return self._lease

    # -- its parts, which an event loop drives in its own way -----------------------------------------------------------------

    def _join(self, wake: Callable[[], object]) -> Wait:
        if self._holder:
            raise InvalidInput("turn", "has begun before", "call turn() again for each turn")
        clock = self._engine.clock
        self._holder = new_id(clock.now())
        lines = lines_of(self._engine.store)
        lines.join(self._key, self._holder, wake)
        return Wait(lines, self._key, self._holder, self._timeout, clock)

    def _ask(self) -> ThreadBusy | None:
        """Ask the store for the turn: None if it is granted."""
        store, (namespace, thread_id) = self._engine.store, self._key
        request = self._acquire_request(self._lasts)
        try:
            try:
                self._lease = store.acquire(request)
            except NotFound:
                store.append(Append(namespace=namespace, thread_id=thread_id, at=request.at))
                self._lease = store.acquire(request)
        except ThreadBusy as busy:
            return busy
        return None

    def _acquire_request(self, lasts: timedelta, token: int | None = None) -> Acquire:
        namespace, thread_id = self._key
        now = self._engine.clock.now()
        return Acquire(namespace=namespace, thread_id=thread_id, holder=self._holder, at=now, until=now + lasts, token=token)

    def _append_request(self, messages: Iterable[Message | Mapping[str, Any]], expected_tip: int | None) -> Append:
        given = [from_any(message, field=f"messages[{index}]") for index, message in enumerate(messages)]
        return append_request(self._engine, *self._key, given, expected_tip=expected_tip, lease=self.lease)

    def _begin(self) -> None:
        lines_of(self._engine.store).begin(self._key, self._holder)

    def _give_back(self) -> None:
        if self._lease is not None:
            # A lease that cannot be given back runs out.
            with suppress(StoreError):
                self._engine.store.release(Release(self._lease))

    def _end(self) -> None:
        lines_of(self._engine.store).end(self._key, self._holder)


def _checked(time: object, field: str) -> timedelta:
    if not isinstance(time, timedelta):
        raise InvalidInput(field, f"a {type(time).__name__}", "pass a timedelta")
    if not timedelta() <= time <= _LONGEST:
        raise InvalidInput(field, f"{time.total_seconds():g} seconds", "use 0 to a day")
    return time


# -- for an event loop ----------------------------------------------------------------------------------------------------


class AsyncTurn:
    """`Turn` for an event loop: `async with`, and awaited; arguments and results are the same.

    A task that is cancelled while it waits leaves the line; one that is cancelled within its turn gives it back.
    """

    def __init__(self, turn: Turn) -> None:
        self._sync = turn

    def __repr__(self) -> str:
        return f"Async{self._sync!r}"

    async def __aenter__(self) -> Self:
        bell = _Bell()
        wait = self._sync._join(bell.ring)
        try:
            while True:
                busy = None
                if wait.asks():
                    busy = await _Asking(self._sync).answer()
                    if busy is None:
                        break
                await bell.wait(wait.seconds(busy))
        except BaseException:
            self._sync._end()
            raise
        self._sync._begin()
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        try:
            await _surely(self._sync._give_back)
        finally:
            # Here and not on the worker thread: so it wakes a task of this loop at once.
            self._sync._end()

    @property
    def lease(self) -> Lease:
        return self._sync.lease

    async def append(self, messages: Iterable[Message | Mapping[str, Any]], *, expected_tip: int | None = None) -> Appended:
        from bethink.async_appends import appends_to

        # Taken as values here and not on the worker thread: what the caller changes from now on is not ours.
        request = self._sync._append_request(messages, expected_tip)
        with self._sync._engine.appending(request):
            return await appends_to(self._sync._engine.store).append(request)

    async def add(self, role: Role, content: str | Sequence[Part] | None = None, **fields: Unpack[MessageFields]) -> Message:
        return (await self.append([made(role, content, **fields)])).messages[0]

    async def renew(self, lease: timedelta | None = None) -> Lease:
        import anyio.to_thread

        return await anyio.to_thread.run_sync(self._sync.renew, lease)


class _Bell:
    """Wakes a task. One who rings in the task's own thread wakes it at once, others when it next looks."""

    def __init__(self) -> None:
        import anyio

        self._thread = threading.get_ident()
        self._rung = False
        self._event = anyio.Event()

    def ring(self) -> None:
        self._rung = True
        # An event may be set on its own loop only.
        if threading.get_ident() == self._thread:
            self._event.set()

    async def wait(self, seconds: float) -> None:
        """Until it is rung, at most so long."""
        import anyio

        with anyio.move_on_after(seconds):
            while not self._rung:
                with anyio.move_on_after(_LOOK):
                    await self._event.wait()
        self._event = anyio.Event()
        self._rung = False


class _Asking:
    """A call of `Turn._ask` on a worker thread, which may lose the task that waits for the answer."""

    def __init__(self, turn: Turn) -> None:
        self._turn = turn
        self._lock = threading.Lock()
        self._abandoned = False

    async def answer(self) -> ThreadBusy | None:
        """What the store answers. Whoever is cancelled meanwhile does not have the turn."""
        import anyio.to_thread

        try:
            return await anyio.to_thread.run_sync(self._run)
        except BaseException:
            with self._lock:
                self._abandoned = True
            # If it is still under way, the worker thread sees that.
            await _surely(self._turn._give_back)
            raise

    def _run(self) -> ThreadBusy | None:
        if self._abandoned:
            return None
        busy = self._turn._ask()
        with self._lock:
            abandoned = self._abandoned
        if abandoned:
            self._turn._give_back()
        return busy


async def _surely(call: Callable[[], object]) -> None:
    """Run it on a worker thread, whatever is cancelled meanwhile; it may be run more than once."""
    import anyio
    import anyio.to_thread

    cancelled: BaseException | None = None
    while True:
        try:
            with anyio.CancelScope(shield=True):
                await anyio.to_thread.run_sync(call)
            break
        except anyio.get_cancelled_exc_class() as error:
            # The scope keeps off what cancels a scope, not what cancels an asyncio task by itself.
            cancelled = error
    if cancelled is not None:
        raise cancelled
