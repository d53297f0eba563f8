"""A language model, as a step sees it: it yields a `Prompt` and is sent back an answer.

    step ──Prompt──▶ run / arun ──▶ the model
         ◀──Reply or ModelError──

A step (`ModelStep`) is a generator and does no I/O, so its logic is written once. Two drivers run it (`models.driving`), and
what callers give as a model is made one by `models.given`. What a call took is told to whoever asks (`Call`).

What is asked and answered is what people said, and a client holds keys: no `repr` here shows either, nor does a `ModelError`.
"""

from __future__ import annotations

import math
from collections.abc import Awaitable, Callable, Generator
from typing import Any, Literal, Protocol, TypeAlias, TypeVar

import msgspec

from bethink.errors import InvalidInput

__all__ = [
    "PLANNED",
    "RESERVED_NAMES",
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
]

T = TypeVar("T")


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
