"""The language model of a memory: what may be one, and where it is asked."""

from __future__ import annotations

import asyncio
import threading
from datetime import timedelta

import pytest

from bethink import AsyncMemory, InvalidInput, Memory, Prompt, Reply, Settings
from bethink.engine import Engine
from bethink.models.language import Answer, AsyncGivenModel, GivenModel, ModelError, ModelStep
from bethink.testing.doubles import AsyncScriptedModel, Hang, Scripted, ScriptedModel

PROMPT = Prompt(purpose="test", system="", user="How many moons?", max_tokens=10)


def ask() -> ModelStep[Answer]:
    return (yield PROMPT)


def engine(model: GivenModel | None, settings: Settings | None = None) -> Engine:
    return Memory(language_model=model, settings=settings, embedder=None)._engine


def asked_on_a_loop(model: AsyncGivenModel | None) -> Answer:
    async def talk() -> Answer:
        async with AsyncMemory(language_model=model, embedder=None) as memory:
            return await memory._sync._engine.ask_async(ask())

    return asyncio.run(talk())


def shout(text: str) -> str:
    return text.upper()


async def whisper(text: str) -> str:
    return text.lower()


def test_a_memory_takes_a_model_or_a_function() -> None:
    assert engine(ScriptedModel(["two"])).ask(ask()) == Reply("two")
    assert engine(shout).ask(ask()) == Reply("HOW MANY MOONS?")


def test_a_memory_without_a_model_says_how_to_give_one() -> None:
    with pytest.raises(InvalidInput, match="language_model="):
        engine(None).ask(ask())
    with pytest.raises(InvalidInput, match="language_model="):
        asked_on_a_loop(None)


@pytest.mark.parametrize("model", [whisper, AsyncScriptedModel(["two"])])
def test_a_memory_without_a_loop_refuses_what_is_asynchronous(model: GivenModel) -> None:
    with pytest.raises(InvalidInput, match="AsyncMemory"):
        Memory(language_model=model)


def test_what_is_no_model_is_refused() -> None:
    with pytest.raises(InvalidInput):
        Memory(language_model=1)  # type: ignore[arg-type]
    with pytest.raises(InvalidInput):
        AsyncMemory(language_model=1)  # type: ignore[arg-type]


@pytest.mark.parametrize("name", ["gpt", "openai", "openai:", "minilm"])
def test_a_name_that_is_none_is_refused_with_one_that_is(name: str) -> None:
    with pytest.raises(InvalidInput, match="openai:MODEL"):
        Memory(language_model=name)


@pytest.mark.parametrize("model", [ScriptedModel(["two"]), AsyncScriptedModel(["two"]), lambda _: "two"])
def test_on_a_loop_models_and_functions_of_both_sorts_are_asked(model: AsyncGivenModel) -> None:
    assert asked_on_a_loop(model) == Reply("two")


def test_an_asynchronous_model_is_asked_on_the_loop_and_a_synchronous_one_is_not() -> None:
    threads: list[threading.Thread] = []

    def on_thread(_: Prompt) -> Scripted:
        threads.append(threading.current_thread())
        return "two"

    asked_on_a_loop(AsyncScriptedModel(on_thread))
    asked_on_a_loop(ScriptedModel(on_thread))
    assert [thread is threading.main_thread() for thread in threads] == [True, False]


def test_a_call_may_take_as_long_as_the_settings_say() -> None:
    slow = ScriptedModel([Hang(30.0)])
    found = engine(slow, Settings(model_timeout=timedelta(seconds=0.05))).ask(ask())
    assert found == ModelError("timeout", "no answer within 0.05 s")


def test_a_time_limit_of_nothing_is_refused() -> None:
    with pytest.raises(InvalidInput, match="model_timeout"):
        Settings(model_timeout=timedelta())
