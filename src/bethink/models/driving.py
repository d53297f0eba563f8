"""The drivers of model steps: `run` with a synchronous client, `arun` with an asynchronous one on the caller's own event loop.

Whatever a client does wrong becomes a value that the step is sent: an error, silence, something that is no reply. Nothing here
sleeps; when to try again is data of the caller's (see `compaction.attempts`).
"""

from __future__ import annotations

import contextvars
import queue
import threading
import time
from contextlib import closing
from typing import Any, Generic, Literal, TypeVar

import msgspec

from bethink.errors import InvalidInput, ModelFailed
from bethink.models.language import (
    PLANNED,
    Answer,
    AsyncLanguageModel,
    Call,
    LanguageModel,
    ModelError,
    ModelStep,
    Observer,
    Prompt,
    Reply,
    Usage,
)

__all__ = ["MOST_CALLS", "arun", "planned", "run"]

T = TypeVar("T")

MOST_CALLS = 16
"""How often one step may ask its model when nothing else is said."""


def run(
    step: ModelStep[T],
    model: LanguageModel,
    *,
    timeout: float | None = None,
    calls: int = MOST_CALLS,
    observe: Observer | None = None,
) -> T:
    """Run a step to its end with a synchronous model and return its result.

    Args:
        step: not started yet. It is closed in any case.
        timeout: seconds that one call may take, None for as long as it likes. With a timeout the call runs on a thread of its
            own (in a copy of the caller's context), which is left to itself when time is up: what it still answers is dropped.
        calls: how often the model may be asked. The next prompt is answered with a `ModelError`.
        observe: is told of each call.

    Raises:
        KeyboardInterrupt and what else is no Exception: as it comes. An Exception of the client's is sent to the step.
        RuntimeError: the step goes on asking after it was told that it may not.
        InvalidInput: a timeout that is not above 0, or fewer than one call.
    """
    _check_limits(timeout, calls)
    asking = _bounded(step, calls)
    with closing(asking):
        found = _advance(asking, None)
        while not isinstance(found, _Done):
            started = time.perf_counter()
            answer = _ask(model, found) if timeout is None else _ask_within(model, found, timeout)
            _tell(observe, found, model.name, started, answer)
            found = _advance(asking, answer)
        return found.value


async def arun(
    step: ModelStep[T],
    model: AsyncLanguageModel,
    *,
    timeout: float | None = None,
    calls: int = MOST_CALLS,
    observe: Observer | None = None,
) -> T:
    """`run` on the caller's own event loop (asyncio or trio). A call that takes too long is cancelled.

    That the caller itself is cancelled ends the step: it is closed, and the cancellation goes on its way.
    """
    import anyio

    _check_limits(timeout, calls)
    asking = _bounded(step, calls)
    with closing(asking):
        found = _advance(asking, None)
        while not isinstance(found, _Done):
            started = time.perf_counter()
            answer: Answer = _too_slow(timeout)
            with anyio.move_on_after(timeout):
                answer = await _ask_async(model, found)
            _tell(observe, found, model.name, started, answer)
            found = _advance(asking, answer)
        return found.value


def planned(step: ModelStep[Any], *, calls: int = MOST_CALLS) -> list[Prompt]:
    """What a step would ask, in order, without a model; at most so many. The step is not started yet, and is closed."""
    prompts: list[Prompt] = []
    with closing(step):
        found = _advance(step, None)
        while not isinstance(found, _Done) and len(prompts) < calls:
            prompts.append(found)
            found = _advance(step, PLANNED)
    return prompts


def _tell(observe: Observer | None, prompt: Prompt, model: str, started: float, answer: Answer) -> None:
    if observe is not None:
        failed = answer.reason if isinstance(answer, ModelError) else ""
        observe(Call(prompt.purpose, model, time.perf_counter() - started, Usage().plus(answer), failed))


class _Done(msgspec.Struct, Generic[T], frozen=True):
    value: T


def _advance(step: ModelStep[T], answer: Answer | None) -> Prompt | _Done[T]:
    try:
        return next(step) if answer is None else step.send(answer)
    except StopIteration as done:
        return _Done(done.value)


def _bounded(step: ModelStep[T], calls: int) -> ModelStep[T]:
    """`step`, asking at most `calls` times."""
    with closing(step):
        asked = 0
        answer: Answer | None = None
        while True:
            found = _advance(step, answer)
            if isinstance(found, _Done):
                return found.value
            asked += 1
            if asked <= calls:
                answer = yield found
            elif asked == calls + 1:
                answer = ModelError("error", f"more than {calls} calls")
            else:
                raise RuntimeError(f"a step for {found.purpose!r} goes on asking after its {calls} calls")


def _check_limits(timeout: float | None, calls: int) -> None:
    if timeout is not None and not timeout > 0:
        raise InvalidInput("timeout", f"{timeout}", "pass seconds above 0, or None for no limit")
    if calls < 1:
        raise InvalidInput("calls", f"{calls}", "use 1 or more")


def _ask(model: LanguageModel, prompt: Prompt) -> Answer:
    try:
        return _reply(model.complete(prompt))
    except Exception as error:
        # Whatever a client raises is an answer: no step should have to know the errors of every client.
        return _failure(error)


async def _ask_async(model: AsyncLanguageModel, prompt: Prompt) -> Answer:
    try:
        return _reply(await model.complete(prompt))
    except Exception as error:
        return _failure(error)


def _ask_within(model: LanguageModel, prompt: Prompt, timeout: float) -> Answer:
    answers: queue.SimpleQueue[Answer | BaseException] = queue.SimpleQueue()

    def work() -> None:
        try:
            answers.put(_ask(model, prompt))
        except BaseException as error:  # raised again below, where somebody is waiting for it
            answers.put(error)

    # A daemon, so that a call that never ends does not keep the process from ending.
    threading.Thread(target=contextvars.copy_context().run, args=(work,), name="bethink-model", daemon=True).start()
    try:
        answer = answers.get(timeout=min(timeout, threading.TIMEOUT_MAX))
    except queue.Empty:
        return _too_slow(timeout)
    if isinstance(answer, BaseException):
        raise answer
    return answer


def _reply(found: object) -> Answer:
    if isinstance(found, Reply):
        return found
    return ModelError("error", f"returned a {type(found).__name__}, not a Reply")


def _too_slow(timeout: float | None) -> ModelError:
    return ModelError("timeout", f"no answer within {timeout:g} s" if timeout is not None else "no answer")


def _failure(error: Exception) -> ModelError:
    kinds = [kind.__name__ for kind in type(error).__mro__]
    # Clients have time-outs of their own (`APITimeoutError`, `ReadTimeout`), and not all of them are a TimeoutError.
    reason: Literal["error", "timeout"] = "timeout" if any("Timeout" in kind for kind in kinds) else "error"
    if isinstance(error, (InvalidInput, ModelFailed)):
        return ModelError(reason, f"{kinds[0]}: {error.problem}")
    status = getattr(error, "status_code", None) or getattr(error, "status", None)
    return ModelError(reason, f"{kinds[0]} {status}" if isinstance(status, int) else kinds[0])
