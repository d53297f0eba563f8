"""A price for a language model that does not say what its calls cost.

    model = priced(model, tokens_in=0.15, tokens_out=0.60)      # US dollars for a million tokens

Costs are then counted with the calls (`Thread.usage`), and a limit can be set for them (`Limits.cost`).
"""

from __future__ import annotations

import math
from typing import cast, overload

import msgspec

from bethink.errors import InvalidInput
from bethink.models.given import as_any_model, is_async_model
from bethink.models.language import AsyncGivenModel, AsyncLanguageModel, GivenModel, LanguageModel, Prompt, Reply

__all__ = ["AsyncPriced", "Priced", "priced"]

_MILLION = 1_000_000


class _Price(msgspec.Struct, frozen=True):
    """For a million tokens, read and written."""

    tokens_in: float
    tokens_out: float

    def on(self, reply: Reply) -> Reply:
        """The reply with its cost. One that tells its cost, or no tokens at all, is left as it is."""
        if reply.cost is not None or (reply.tokens_in is None and reply.tokens_out is None):
            return reply
        cost = (self.tokens_in * (reply.tokens_in or 0) + self.tokens_out * (reply.tokens_out or 0)) / _MILLION
        return msgspec.structs.replace(reply, cost=cost)


class Priced:
    """A model whose replies tell their cost; see `priced`."""

    def __init__(self, model: LanguageModel, price: _Price) -> None:
        self._model = model
        self._price = price

    @property
    def name(self) -> str:
        return self._model.name

    def complete(self, prompt: Prompt) -> Reply:
        return self._price.on(self._model.complete(prompt))


class AsyncPriced:
    """`Priced` for an event loop."""

    def __init__(self, model: AsyncLanguageModel, price: _Price) -> None:
        self._model = model
        self._price = price

    @property
    def name(self) -> str:
        return self._model.name

    async def complete(self, prompt: Prompt) -> Reply:
        return self._price.on(await self._model.complete(prompt))


@overload
def priced(model: GivenModel, *, tokens_in: float, tokens_out: float) -> Priced: ...
@overload
def priced(model: AsyncLanguageModel, *, tokens_in: float, tokens_out: float) -> AsyncPriced: ...
def priced(model: AsyncGivenModel, *, tokens_in: float, tokens_out: float) -> Priced | AsyncPriced:
    """The model at a price: each reply that says how many tokens it took, and not what they cost, is given its cost.

    Args:
        tokens_in, tokens_out: US dollars for a million tokens read, and for a million written.

    Raises:
        InvalidInput: no model, or no price.
    """
    for name, given in (("tokens_in", tokens_in), ("tokens_out", tokens_out)):
        if isinstance(given, bool) or not isinstance(given, (int, float)) or not 0 <= given < math.inf:
            raise InvalidInput(f"priced.{name}", f"a {type(given).__name__} that is no price", "use 0 or more")
    found, price = as_any_model(model), _Price(tokens_in, tokens_out)
    if is_async_model(found):
        return AsyncPriced(cast("AsyncLanguageModel", found), price)
    return Priced(cast("LanguageModel", found), price)
