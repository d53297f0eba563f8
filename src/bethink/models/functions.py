"""A function as a language model: what it is given, and what it may return.

    (text: str)          the instructions and the material, as one text
    (prompt: Prompt)     both apart, with their purpose, limit and schema; the parameter says `Prompt`

    str                  the words
    (str, usage)         and what they took, in an object or mapping of the client's: tokens_in, prompt_tokens or input_tokens;
                         tokens_out, completion_tokens or output_tokens; cost. None for nothing known
    Reply                all of it

What it raises, or returns of another sort, is a failed call, and says so without what was said.
"""

from __future__ import annotations

import inspect
from collections.abc import Awaitable, Callable, Mapping
from typing import Any, cast

from bethink.errors import InvalidInput, ModelFailed
from bethink.models.language import AsyncFunction, Function, Prompt, Reply

__all__ = ["AsyncCallableModel", "CallableModel"]

_NAMES = {
    "tokens_in": ("tokens_in", "prompt_tokens", "input_tokens"),
    "tokens_out": ("tokens_out", "completion_tokens", "output_tokens"),
    "cost": ("cost",),
}


class CallableModel:
    """A function as a `LanguageModel`.

    Raises:
        InvalidInput: it cannot be called with one argument.
    """

    def __init__(self, function: Function, name: str) -> None:
        self._function = function
        self._whole = _takes_prompt(function)
        self.name = name

    def complete(self, prompt: Prompt) -> Reply:
        """What the function returns, as a reply.

        Raises:
            ModelFailed: it returned something else. What the function raises comes as it is.
        """
        ask = cast("Callable[[object], object]", self._function)
        return _reply(self.name, ask(prompt if self._whole else prompt.text))

    def __repr__(self) -> str:
        # The function may be a partial that holds a key, so it is not shown.
        return f"CallableModel({self.name!r})"


class AsyncCallableModel:
    """`CallableModel` for a coroutine function."""

    def __init__(self, function: AsyncFunction, name: str) -> None:
        self._function = function
        self._whole = _takes_prompt(function)
        self.name = name

    async def complete(self, prompt: Prompt) -> Reply:
        ask = cast("Callable[[object], Awaitable[object]]", self._function)
        return _reply(self.name, await ask(prompt if self._whole else prompt.text))

    def __repr__(self) -> str:
        return f"AsyncCallableModel({self.name!r})"


def _takes_prompt(function: Callable[..., Any]) -> bool:
    """Whether the function's parameter is a `Prompt`, as its annotation says, be it written out or a string."""
    try:
        signature = inspect.signature(function)
    except (TypeError, ValueError):
        return False  # one of C, which does not tell
    try:
        signature.bind(None)
    except TypeError:
        raise InvalidInput(
            "model", "a function that cannot be called with one argument", "pass one of a text, or of a `Prompt`"
        ) from None
    said = next(iter(signature.parameters.values())).annotation
    if isinstance(said, str):
        return said.strip("'\"").rpartition(".")[2] == Prompt.__name__
    return said is Prompt


def _reply(name: str, found: object) -> Reply:
    if isinstance(found, Reply):
        return found
    if isinstance(found, str):
        return Reply(found)
    if isinstance(found, tuple) and len(found) == 2 and isinstance(found[0], str):
        return _with_usage(name, *found)
    if inspect.isawaitable(found):
        if inspect.iscoroutine(found):
            found.close()
        raise ModelFailed(name, "returned something to await", "pass the `async def` function itself, to AsyncMemory")
    raise ModelFailed(name, f"returned a {type(found).__name__}", "return a str, a pair of a str and its usage, or a Reply")


def _with_usage(name: str, text: str, usage: object) -> Reply:
    try:
        return Reply(text, **{field: _told(usage, names) for field, names in _NAMES.items()})
    except InvalidInput as error:
        raise ModelFailed(name, f"{error.field} is {error.problem}", error.fix) from None


def _told(usage: object, names: tuple[str, ...]) -> Any:
    for name in names:
        found = usage.get(name) if isinstance(usage, Mapping) else getattr(usage, name, None)
        if found is not None:
            return found
    return None
