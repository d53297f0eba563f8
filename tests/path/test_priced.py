"""A price for models that tell none."""

from __future__ import annotations

import asyncio
import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bethink import InvalidInput, Prompt, Reply, priced
from bethink.models.given import is_async_model
from bethink.models.priced import AsyncPriced, Priced
from bethink.testing.doubles import AsyncScriptedModel, ScriptedModel

PROMPT = Prompt(purpose="test", system="", user="How many moons?", max_tokens=10)


def reply_of(reply: Reply, tokens_in: float = 2.0, tokens_out: float = 8.0) -> Reply:
    return priced(ScriptedModel([reply]), tokens_in=tokens_in, tokens_out=tokens_out).complete(PROMPT)


def test_a_reply_is_given_what_its_tokens_cost() -> None:
    assert reply_of(Reply("two", tokens_in=500_000, tokens_out=250_000)).cost == 3.0
    assert reply_of(Reply("two", tokens_out=250_000)).cost == 2.0


def test_what_a_model_says_of_its_cost_stands() -> None:
    assert reply_of(Reply("two", tokens_in=500_000, cost=0.01)).cost == 0.01


def test_what_took_nobody_knows_what_has_no_cost() -> None:
    assert reply_of(Reply("two")).cost is None


@given(st.integers(0, 10**7), st.integers(0, 10**7), st.floats(0, 1_000), st.floats(0, 1_000))
def test_the_cost_grows_with_tokens_and_price(tokens_in: int, tokens_out: int, price_in: float, price_out: float) -> None:
    cost = reply_of(Reply("", tokens_in=tokens_in, tokens_out=tokens_out), price_in, price_out).cost
    assert cost is not None
    assert math.isclose(cost * 1e6, tokens_in * price_in + tokens_out * price_out, abs_tol=1e-6)


def test_it_is_as_its_model_is() -> None:
    plain = priced(ScriptedModel(["two"], name="small-1"), tokens_in=1, tokens_out=1)
    assert isinstance(plain, Priced)
    assert plain.name == "small-1"
    assert not is_async_model(plain)
    for_a_loop = priced(AsyncScriptedModel([Reply("two", tokens_in=1_000_000)], name="small-1"), tokens_in=1, tokens_out=1)
    assert isinstance(for_a_loop, AsyncPriced)
    assert is_async_model(for_a_loop)
    assert asyncio.run(for_a_loop.complete(PROMPT)).cost == 1.0


def test_a_function_may_have_a_price_too() -> None:
    assert priced(str.upper, tokens_in=1, tokens_out=1).complete(PROMPT) == Reply("HOW MANY MOONS?")


@pytest.mark.parametrize("price", [-1, math.inf, math.nan, True, "1"])
def test_what_is_no_price_is_refused(price: float) -> None:
    with pytest.raises(InvalidInput, match=r"priced\.tokens_in"):
        priced(ScriptedModel(["two"]), tokens_in=price, tokens_out=1)
