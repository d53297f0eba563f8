"""How a context is measured: the counter of its text, and the frames of the model that reads it.

A model's name decides both. What is framed how is in `framing`; text is counted exactly where the model's vocabulary is public
and on this machine (extra "tokens"), and otherwise by the built-in counter, which errs upwards. A counter that the caller chose
is used for every model.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any

from bethink.messages import Message
from bethink.models import TokenCounter
from bethink.models.cached import CachedCounter
from bethink.models.framing import FRAMING, Framing, framing_of
from bethink.models.tokens import BuiltinCounter, message_tokens, schema_tokens

__all__ = ["Measure", "counter_for"]


class Measure:
    """Counts texts as a `TokenCounter`, and messages and tools with their frames.

    Args:
        counter: counts text.
        model: the name of the model that reads, as its provider writes it; "" for any.
    """

    def __init__(self, counter: TokenCounter, model: str = "") -> None:
        self._counter = counter
        self.count: Callable[[str], int] = counter.count
        """See `TokenCounter.count`."""
        self._count_lines = counter.count_lines if isinstance(counter, CachedCounter) else None
        self.model = model
        self.framing: Framing = framing_of(model) if model else FRAMING

    @property
    def name(self) -> str:
        """The counter's name, with the model that the frames are of: what receipts keep."""
        return f"{self._counter.name}/{self.model}" if self.model else self._counter.name

    def message(self, message: Message) -> int:
        """Tokens of a message, with all that is sent of it."""
        return message_tokens(message, self._counter, self.framing)

    def messages(self, messages: Iterable[Message]) -> int:
        """Tokens of messages together."""
        counter, framing = self._counter, self.framing
        return sum([message_tokens(message, counter, framing) for message in messages])

    def lines(self, lines: Sequence[str], *, name: str) -> int:
        """Tokens of a message under a name whose text is these lines, joined by line breaks. None may be empty, or begin or end
        with white space, or have a line break within.
        """
        text = self._count_lines(lines) if self._count_lines else self.count("\n".join(lines))
        return self.framing.message + self.framing.named + self.count(name) + text

    def remembering(self) -> Measure:
        """The same measure, for a piece of work that counts the same texts again and again: it keeps every count."""
        return Measure(_Remembering(self._counter), self.model)

    def around(self, tools: Sequence[Mapping[str, Any]] = ()) -> tuple[tuple[str, int], ...]:
        """What a request counts besides its messages, each `(name, tokens)`: the tools it offers, and what begins the reply.

        () where neither a model nor a tool is named: then it is the messages that are measured, not a request.

        Raises:
            InvalidInput: a tool that is not JSON.
        """
        if not tools and not self.model:
            return ()
        parts = ("tools", schema_tokens(tools, self._counter, self.framing)), ("reply", self.framing.reply)
        return tuple(part for part in parts if part[1])


class _Remembering:
    """Counts like the counter it wraps, each text once."""

    def __init__(self, counter: TokenCounter) -> None:
        self.name = counter.name
        self._counter = counter
        self._known: dict[str, int] = {}

    def count(self, text: str) -> int:
        tokens = self._known.get(text)
        if tokens is None:
            tokens = self._known[text] = self._counter.count(text)
        return tokens


def counter_for(model: str) -> TokenCounter:
    """The counter for a model: exact where its vocabulary is public and on this machine, else the built-in one."""
    encoding = framing_of(model).encoding if model else ""
    if encoding:
        from bethink.models.exact import TiktokenCounter

        if TiktokenCounter.available(encoding):
            return TiktokenCounter(encoding)
    return BuiltinCounter()
