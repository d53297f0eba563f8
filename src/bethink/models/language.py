"""A language model, as a step sees it: it yields a `Prompt` and is sent back an answer.

    step ──Prompt──▶ run / arun ──▶ the model
         ◀──Reply or ModelError──

A step (`ModelStep`) is a generator and does no I/O, so its logic is written once. Two drivers run it: `run` with a synchronous
client, `arun` with an asynchronous one on the caller's own event loop. Whatever a client does wrong becomes a value that the
step is sent: an error, silence, something that is no reply. Nothing here sleeps; when to try again is data of the
caller's (see `compaction.attempts`). What a call took is told to whoever asks (`Call`).

What is asked and answered is what people said, and a client holds keys: no `repr` here shows either, nor does a `ModelError`.
"""

from __future__ import annotations

import contextvars
import inspect
import math
import queue
import threading
import time
from collections.abc import Awaitable, Callable, Generator
from contextlib import closing
from typing import Any, Generic, Literal, Protocol, TypeAlias, TypeVar, cast

import msgspec

from bethink.errors import InvalidInput, ModelFailed
from bethink.values import check_id

__all__ = [
    "MOST_CALLS",
    "PLANNED",
    "Answer",
    "AsyncFunction",
    "AsyncGivenModel",
    "AsyncLanguageModel",
    "Call",
    "Function",
    "GivenModel",
    "LanguageModel",
    "ModelError",
    "ModelStep",
    "Observer",
    "Prompt",
    "Reply",
    "Said",
    "Usage",
    "arun",
    "as_any_model",
    "as_async_model",
    "as_model",
    "is_async_model",
    "planned",
    "run",
]

T = TypeVar("T")

MOST_CALLS = 16
"""How often one step may ask its model when nothing else is said."""

RESERVED_NAMES = frozenset({"extractive"})
"""Authors of summaries that are no model."""


class Prompt(msgspec.Struct, frozen=True, kw_only=True):
    """What a model is asked.

    Attributes:
        purpose: what it is for (`"summary"`), for telemetry and for models that route by it.
        system: instructions, from bethink and the developer.
        user: the material, delimited and escaped.
        max_tokens: the longest reply of use, in tokens of the caller's counter.
        schema: a JSON Schema of the wanted answer; servers that can constrain to it do.
    """

    purpose: str
    system: str
    user: str
    max_tokens: int
    schema: dict[str, Any] | None = None

    @property
    def text(self) -> str:
        """Both parts as one text, for a model that takes a single string."""
        return f"{self.system}\n\n{self.user}" if self.system else self.user

    def __repr__(self) -> str:
        return f"Prompt({self.purpose!r}, {len(self.text):,} characters, at most {self.max_tokens:,} tokens back)"

    def __rich_repr__(self) -> list[tuple[str, Any]]:
        return [("purpose", self.purpose), ("characters", len(self.text)), ("max_tokens", self.max_tokens)]


class Reply(msgspec.Struct, frozen=True):
    """What a model answered.

    Attributes:
        text: its words; "" for none.
        tokens_in, tokens_out: what the model says it read and wrote; None where it does not say.
        cost: what the call cost, in US dollars; None where nobody says.
        truncated: whether the model was stopped before it had finished.
    """

    text: str
    tokens_in: int | None = None
    tokens_out: int | None = None
    cost: float | None = None
    truncated: bool = False

    def __post_init__(self) -> None:
        if not isinstance(self.text, str):
            raise InvalidInput("reply.text", f"a {type(self.text).__name__}", 'pass a string, "" for no answer')
        for name in ("tokens_in", "tokens_out"):
            tokens = getattr(self, name)
            if tokens is not None and (isinstance(tokens, bool) or not isinstance(tokens, int) or tokens < 0):
                raise InvalidInput(f"reply.{name}", f"a {type(tokens).__name__} that counts nothing", "pass 0 or more, or None")
        if self.cost is not None and not (isinstance(self.cost, (int, float)) and 0 <= self.cost < math.inf):
            raise InvalidInput("reply.cost", f"a {type(self.cost).__name__} that is no amount", "pass 0 or more, or None")

    def __repr__(self) -> str:
        return f"Reply({len(self.text):,} characters, {self.tokens_in} tokens in, {self.tokens_out} out, cost {self.cost})"

    def __rich_repr__(self) -> list[tuple[str, Any]]:
        told = (("tokens_in", self.tokens_in), ("tokens_out", self.tokens_out), ("cost", self.cost))
        return [("characters", len(self.text)), *told]


class ModelError(msgspec.Struct, frozen=True):
    """What a step is sent instead of a reply.

    Attributes:
        reason: `"timeout"` for an answer that did not come in time, else `"error"`.
        detail: what happened, in a few words: the exception's type, and its HTTP status or what bethink says of it. Never the
            message of others, which may quote the prompt or a key.
    """

    reason: Literal["error", "timeout"]
    detail: str = ""


PLANNED = ModelError("error", "planned, not asked")
"""What a dry run sends a step: one that asks several times goes on to its next question."""


class Usage(msgspec.Struct, frozen=True, omit_defaults=True):
    """What some calls took together. Calls that did not tell count as 0 tokens; `cost` is None until one of them tells."""

    calls: int = 0
    tokens_in: int = 0
    tokens_out: int = 0
    cost: float | None = None

    def plus(self, answer: Answer) -> Usage:
        """With one more call, answered so."""
        if isinstance(answer, ModelError):
            return msgspec.structs.replace(self, calls=self.calls + 1)
        return Usage(
            calls=self.calls + 1,
            tokens_in=self.tokens_in + (answer.tokens_in or 0),
            tokens_out=self.tokens_out + (answer.tokens_out or 0),
            cost=self.cost if answer.cost is None else (self.cost or 0.0) + answer.cost,
        )


class Call(msgspec.Struct, frozen=True):
    """One call of a model, for whoever counts: never what was asked or answered.

    Attributes:
        purpose: of the prompt.
        model: its name.
        seconds: from the question to the answer, or until the wait for it was over.
        usage: what the call took.
        failed: `"error"` or `"timeout"`; "" where the model replied, whatever the reply is worth.
    """

    purpose: str
    model: str
    seconds: float
    usage: Usage
    failed: Literal["", "error", "timeout"] = ""


Answer: TypeAlias = Reply | ModelError
Observer: TypeAlias = Callable[[Call], None]
"""Is told of each call when it has ended, on the thread or task that runs the step."""
ModelStep: TypeAlias = Generator[Prompt, Answer, T]
"""Logic that asks a model: yields prompts, is sent answers, returns its result. One that is sent errors must come to its end:
the drivers bound how often it may ask."""


# -- models ---------------------------------------------------------------------------------------------------------------


class LanguageModel(Protocol):
    """A synchronous client of a language model."""

    @property
    def name(self) -> str:
        """Names the model and its version; it is kept beside what the model wrote."""
        ...

    def complete(self, prompt: Prompt) -> Reply:
        """The model's answer. May raise whatever the client raises, and take as long as it takes."""
        ...


class AsyncLanguageModel(Protocol):
    """`LanguageModel` for an event loop. Its `complete` must let itself be cancelled."""

    @property
    def name(self) -> str: ...

    async def complete(self, prompt: Prompt) -> Reply: ...


Said: TypeAlias = str | Reply | tuple[str, Any]
"""What a function may return in place of a model: the words, a reply, or the words and what they took (see `functions`)."""
Function: TypeAlias = Callable[[str], Said] | Callable[[Prompt], Said]
AsyncFunction: TypeAlias = Callable[[str], Awaitable[Said]] | Callable[[Prompt], Awaitable[Said]]
GivenModel: TypeAlias = LanguageModel | Function | str
"""What `as_model` takes."""
AsyncGivenModel: TypeAlias = GivenModel | AsyncLanguageModel | AsyncFunction
"""What `as_any_model` takes."""


def as_model(model: GivenModel, name: str = "") -> LanguageModel:
    """`model` itself if it has `complete`, or the function as a model.

    Args:
        model: a `LanguageModel`, a function from a text or a `Prompt` to a text (`models.functions`), or a name
            (`models.named`).
        name: for a function; its own name when nothing is said.

    Raises:
        InvalidInput: it is neither, it is asynchronous, or its name cannot be kept.
    """
    if isinstance(model, str):
        from bethink.models.named import language_model_named

        return language_model_named(model)
    complete = _complete_of(model)
    if _is_async(complete) or (complete is None and _is_async(model)):
        raise InvalidInput("model", "asynchronous", "pass a synchronous client, or use AsyncMemory")
    if complete is not None:
        _checked_name(getattr(model, "name", None))
        return cast("LanguageModel", model)
    from bethink.models.functions import CallableModel

    return CallableModel(_function(model), _name_of(model, name))


def as_async_model(model: AsyncLanguageModel | AsyncFunction, name: str = "") -> AsyncLanguageModel:
    """`as_model` for asynchronous clients and coroutine functions."""
    complete = _complete_of(model)
    if not (_is_async(complete) or (complete is None and _is_async(model))):
        raise InvalidInput("model", "not asynchronous", "pass an object with `async def complete`, or an `async def` function")
    if complete is not None:
        _checked_name(getattr(model, "name", None))
        return cast("AsyncLanguageModel", model)
    from bethink.models.functions import AsyncCallableModel

    return AsyncCallableModel(_function(model), _name_of(model, name))


def as_any_model(model: AsyncGivenModel, name: str = "") -> LanguageModel | AsyncLanguageModel:
    """`as_async_model` for what is asynchronous, `as_model` for what is not."""
    if is_async_model(model):
        return as_async_model(cast("AsyncLanguageModel", model), name)
    return as_model(cast("LanguageModel", model), name)


def is_async_model(model: object) -> bool:
    """Whether a model, or a function that stands for one, is asynchronous."""
    return _is_async(getattr(model, "complete", model))


def _complete_of(model: object) -> object:
    if isinstance(model, type):
        raise InvalidInput("model", "a class", f"pass an object of it: {model.__name__}(...)")
    return getattr(model, "complete", None)


def _function(model: object) -> Callable[..., Any]:
    if not callable(model):
        raise InvalidInput(
            "model",
            f"a {type(model).__name__}",
            'pass an object with `complete`, a function of a text, or a name: "openai:MODEL"',
        )
    return model


def _name_of(function: object, name: str) -> str:
    own = str(getattr(function, "__name__", ""))
    return _checked_name(name or (own if own.isidentifier() else "function"))


def _checked_name(name: object) -> str:
    found = check_id(name, "model.name")
    if found in RESERVED_NAMES:
        raise InvalidInput("model.name", f"{found!r}, which names no model", "call it something else")
    return found


def _is_async(function: object) -> bool:
    return inspect.iscoroutinefunction(function) or inspect.iscoroutinefunction(getattr(function, "__call__", None))  # noqa: B004


# -- drivers --------------------------------------------------------------------------------------------------------------


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
