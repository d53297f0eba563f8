"""Functions in place of a language model: what they are given, what they may return, and how it is said that they cannot."""

from __future__ import annotations

import asyncio
import functools
from collections.abc import Awaitable, Callable
from types import SimpleNamespace
from typing import Any, cast

import pytest

import bethink
from bethink import AsyncMemory, InvalidInput, Memory, OpenAIModel, Prompt, Reply
from bethink.models.driving import arun, run
from bethink.models.given import as_any_model, as_async_model, as_model
from bethink.models.language import Answer, AsyncGivenModel, ModelError, ModelStep, Said, Usage

PROMPT = Prompt(purpose="test", system="Be brief.", user="How many moons?", max_tokens=10, schema={"type": "object"})


def ask() -> ModelStep[Answer]:
    return (yield PROMPT)


def asked(function: Callable[..., Any]) -> Answer:
    return run(ask(), as_model(function))


def returning(said: object) -> Callable[[str], Said]:
    def small(text: str) -> Said:
        return cast("Said", said)

    return small


# -- what it is given -----------------------------------------------------------------------------------------------------


def of_a_prompt(prompt: Prompt) -> str:
    return f"{prompt.purpose}, {prompt.max_tokens}, {prompt.schema}"


def of_a_prompt_by_its_whole_name(prompt: bethink.Prompt) -> str:
    return of_a_prompt(prompt)


def of_a_prompt_in_quotes(prompt: "Prompt") -> str:  # noqa: UP037 - some write it so
    return of_a_prompt(prompt)


class Client:
    def __call__(self, prompt: Prompt) -> str:
        return of_a_prompt(prompt)


def evaluated(prompt: Any) -> str:
    return of_a_prompt(prompt)


evaluated.__annotations__["prompt"] = Prompt


@pytest.mark.parametrize(
    "function",
    [
        of_a_prompt,
        of_a_prompt_by_its_whole_name,
        of_a_prompt_in_quotes,
        evaluated,
        Client(),
        Client().__call__,
        functools.partial(of_a_prompt),
    ],
)
def test_a_function_of_a_prompt_is_given_its_parts(function: Callable[[Prompt], str]) -> None:
    assert asked(function) == Reply("test, 10, {'type': 'object'}")


def test_any_other_function_is_given_one_text() -> None:
    assert asked(lambda text: text) == Reply("Be brief.\n\nHow many moons?")
    assert asked("{}".format) == Reply("Be brief.\n\nHow many moons?")


def test_a_coroutine_function_of_a_prompt_is_given_its_parts() -> None:
    async def small(prompt: Prompt) -> Reply:
        return Reply(prompt.user, tokens_in=4)

    assert asyncio.run(arun(ask(), as_async_model(small))) == Reply("How many moons?", tokens_in=4)


@pytest.mark.parametrize("function", [lambda: "two", lambda system, user: "two", lambda *, text: "two"])
def test_a_function_that_cannot_be_called_so_is_refused_when_it_is_given(function: Any) -> None:
    with pytest.raises(InvalidInput, match="one argument"):
        Memory(language_model=function)


def test_a_class_is_refused_with_what_to_write() -> None:
    for given in (Memory, AsyncMemory):
        with pytest.raises(InvalidInput, match=r"OpenAIModel\(\.\.\.\)"):
            given(language_model=cast("Any", OpenAIModel))


def test_the_client_of_another_library_is_refused_with_what_will_do() -> None:
    with pytest.raises(InvalidInput, match=r"a SimpleNamespace.*complete.*openai:MODEL"):
        Memory(language_model=cast("Any", SimpleNamespace(chat=None)))


# -- what it may return ---------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("usage", "told"),
    [
        ({"tokens_in": 3, "tokens_out": 1, "cost": 0.5}, Reply("two", 3, 1, 0.5)),
        ({"prompt_tokens": 3, "completion_tokens": 1, "total_tokens": 4}, Reply("two", 3, 1)),
        ({"input_tokens": 3, "output_tokens": 0}, Reply("two", 3, 0)),
        (SimpleNamespace(prompt_tokens=3, completion_tokens=1), Reply("two", 3, 1)),
        (SimpleNamespace(input_tokens=3, output_tokens=1), Reply("two", 3, 1)),
        (Usage(calls=1, tokens_in=3, tokens_out=1, cost=0.5), Reply("two", 3, 1, 0.5)),
        ({}, Reply("two")),
        (None, Reply("two")),
    ],
)
def test_a_pair_tells_what_the_call_took_in_the_words_of_its_client(usage: object, told: Reply) -> None:
    assert asked(returning(("two", usage))) == told


def test_a_reply_is_taken_as_it_is() -> None:
    reply = Reply("two", tokens_in=3, truncated=True)
    assert asked(returning(reply)) == reply


@pytest.mark.parametrize(
    ("said", "told"),
    [
        (None, "returned a NoneType"),
        (3, "returned a int"),
        (b"two", "returned a bytes"),
        ({"text": "two"}, "returned a dict"),
        (("two",), "returned a tuple"),
        ((1, {}), "returned a tuple"),
        (iter(["two"]), "returned a list_iterator"),
        (("two", {"tokens_in": -1}), "reply.tokens_in is a int that counts nothing"),
        (("two", {"cost": "free"}), "reply.cost is a str that is no amount"),
    ],
)
def test_anything_else_is_a_failed_call_that_says_what_it_was(said: object, told: str) -> None:
    assert asked(returning(said)) == ModelError("error", f"ModelFailed: {told}")


def test_a_function_that_hands_on_a_coroutine_is_told_from_one_that_is_asynchronous() -> None:
    async def later(text: str) -> str:
        return text

    # Were the coroutine left as it is, Python would warn that nobody awaited it.
    assert asked(lambda text: later(text)) == ModelError("error", "ModelFailed: returned something to await")


def test_what_it_raises_is_told_by_its_sort_alone() -> None:
    def small(text: str) -> str:
        raise LookupError(text)

    assert asked(small) == ModelError("error", "LookupError")


def test_functions_of_both_sorts_serve_an_asynchronous_memory() -> None:
    async def later(text: str) -> tuple[str, dict[str, int]]:
        return "two", {"tokens_in": 3}

    async def talk(model: AsyncGivenModel) -> Answer:
        async with AsyncMemory(language_model=model, embedder=None) as memory:
            return await memory._sync._engine.ask_async(ask())

    for function in (later, returning(("two", {"tokens_in": 3}))):
        assert asyncio.run(talk(cast("Callable[[str], Awaitable[Said]]", function))) == Reply("two", tokens_in=3)
        assert as_any_model(cast("Any", function)).name in {"later", "small"}
