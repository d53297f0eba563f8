"""What callers give as a language model: a client, a function, or a name.

client, function, "openai:MODEL" ─▶ as_model, as_async_model, as_any_model ─▶ LanguageModel or AsyncLanguageModel
"""

from __future__ import annotations

import inspect
from collections.abc import Callable
from typing import Any, cast

from bethink.errors import InvalidInput
from bethink.models.language import (
    RESERVED_NAMES,
    AsyncFunction,
    AsyncGivenModel,
    AsyncLanguageModel,
    GivenModel,
    LanguageModel,
)
from bethink.values import check_id

__all__ = ["as_any_model", "as_async_model", "as_model", "is_async_model"]


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
