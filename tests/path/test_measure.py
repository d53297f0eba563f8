"""A context is measured as the model that reads it counts: its text, its frames, its tools."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest

from bethink import AsyncMemory, BudgetError, InvalidInput, Memory, Message, Part, ToolCall
from bethink.models.exact import TiktokenCounter
from bethink.models.framing import FRAMING, framing_of
from bethink.models.measure import Measure, counter_for
from bethink.models.tokens import BuiltinCounter, message_tokens, schema_tokens
from bethink.testing.doubles import START, FrozenClock

COUNTER = BuiltinCounter()
TOOL: dict[str, Any] = {
    "type": "function",
    "function": {
        "name": "get_weather",
        "description": "Get the weather in a place",
        "parameters": {"type": "object", "properties": {"place": {"type": "string"}}},
    },
}
exact = pytest.mark.skipif(not TiktokenCounter.available("o200k_base"), reason='needs the extra "tokens"')


class Words:
    """Counts words."""

    name = "words"

    def count(self, text: str) -> int:
        return len(text.split())


def memory_of(**options: Any) -> Memory:
    return Memory(clock=FrozenClock(START), embedder=None, **options)


def talk(memory: Memory) -> None:
    memory.thread("t").append(
        [
            {"role": "system", "content": "You are a helpful, pattern-following assistant."},
            {"role": "system", "name": "example_user", "content": "New synergies will help drive top-line growth."},
            {"role": "system", "name": "example_assistant", "content": "Things working well together will increase revenue."},
            {"role": "user", "content": "This late pivot means we don't have time to boil the ocean — für Zoë, 東京."},
        ]
    )


# -- which counter and frames ---------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("model", "encoding"),
    [
        ("gpt-4o-2024-08-06", "o200k_base"),
        ("gpt-4o-mini", "o200k_base"),
        ("gpt-4.1-nano", "o200k_base"),
        ("o3", "o200k_base"),
        ("openai/gpt-5", "o200k_base"),
        ("gpt-4", "cl100k_base"),
        ("gpt-4-turbo-2024-04-09", "cl100k_base"),
        ("gpt-3.5-turbo", "cl100k_base"),
        ("claude-sonnet-4-5", ""),
        ("my-model", ""),
        ("", ""),
    ],
)
def test_the_counter_follows_the_vocabulary_of_the_model(model: str, encoding: str) -> None:
    exact_one = encoding and TiktokenCounter.available(encoding)
    assert counter_for(model).name == (f"tiktoken:{encoding}" if exact_one else "builtin-2")
    assert framing_of(model).encoding == encoding


def test_without_a_model_the_built_in_counter_and_the_default_frames_are_taken() -> None:
    memory = memory_of()
    talk(memory)
    context = memory.thread("t").context()
    assert context.measure.name == "builtin-2"
    assert context.tokens == sum(message_tokens(message, COUNTER, FRAMING) for message in context.messages)
    assert set(context.sections) == {"pinned", "recent messages"}


def test_the_name_of_the_measure_says_counter_and_model() -> None:
    assert Measure(COUNTER).name == "builtin-2"
    assert Measure(COUNTER, "claude-sonnet-4-5").name == "builtin-2/claude-sonnet-4-5"


def test_a_counter_of_ones_own_counts_for_every_model() -> None:
    memory = memory_of(counter=Words(), for_model="gpt-4o")
    talk(memory)
    thread = memory.thread("t")
    assert thread.context().measure.name == "words/gpt-4o"
    assert thread.context(for_model="gpt-4").measure.name == "words/gpt-4"


@pytest.mark.parametrize("model", ["gpt-4o", "claude-sonnet-4-5", "my-model"])
def test_the_receipt_names_the_model_and_is_replayed_as_it_was_counted(model: str) -> None:
    memory = memory_of()
    talk(memory)
    context = memory.thread("t").context(for_model=model, tools=[TOOL])
    again = memory.replay(context.receipt_id)
    assert (again.to_bytes(), again.explain()) == (context.to_bytes(), context.explain())
    assert again.measure.name == context.measure.name
    assert context.measure.name.endswith(f"/{model}")


# -- as the provider counts -----------------------------------------------------------------------------------------------


def documented(messages: list[dict[str, Any]], count: TiktokenCounter) -> int:
    """OpenAI's cookbook, "How to count tokens with tiktoken": what a chat request of these messages counts."""
    tokens = 3
    for message in messages:
        tokens += 3 + sum(count.count(value) for value in message.values()) + ("name" in message)
    return tokens


@exact
@pytest.mark.parametrize(("model", "encoding"), [("gpt-4o", "o200k_base"), ("gpt-4", "cl100k_base")])
def test_the_tokens_of_a_context_are_those_that_openai_documents(model: str, encoding: str) -> None:
    memory = memory_of(for_model=model)
    memory.store("the deploy key is in the vault", pinned=True)
    talk(memory)
    context = memory.thread("t").context()
    assert any(message.name == "memory" for message in context.messages)
    assert context.tokens == documented(context.to_openai(), TiktokenCounter(encoding))


@exact
def test_the_budget_of_a_named_model_holds_to_the_token() -> None:
    memory = memory_of(for_model="gpt-4o")
    talk(memory)
    thread = memory.thread("t")
    needed = thread.context().tokens
    assert thread.context(budget=needed).tokens == needed
    with pytest.raises(BudgetError) as caught:
        thread.context(budget=needed - 1)
    assert caught.value.needed == needed
    assert ("reply", 3) in caught.value.parts


@pytest.mark.parametrize(("model", "image"), [("gpt-4o", 1_445), ("claude-opus-4-7", 4_784), (None, 1_600)])
def test_an_image_counts_as_the_model_documents_it(model: str | None, image: int) -> None:
    memory = memory_of()
    thread = memory.thread("t")
    thread.add("user", [Part("image", ref="https://example.org/a.png")])
    frame = framing_of(model or "").message
    assert thread.context(for_model=model).sections["recent messages"] == frame + image


def test_the_frame_of_a_call_is_the_models() -> None:
    message = Message(role="assistant", tool_calls=(ToolCall("c1", "f", "{}"),))
    assert Measure(COUNTER, "gpt-4o").message(message) == message_tokens(message, COUNTER, framing_of("gpt-4o"))


# -- tools ----------------------------------------------------------------------------------------------------------------


def test_tools_are_counted_and_handed_back() -> None:
    memory = memory_of()
    talk(memory)
    thread = memory.thread("t")
    without, offered = thread.context(), thread.context(tools=[TOOL, TOOL])
    assert offered.sections["tools"] == schema_tokens([TOOL, TOOL], COUNTER)
    assert offered.tokens == without.tokens + offered.sections["tools"] + offered.sections["reply"]
    assert offered.tools == (TOOL, TOOL)
    assert offered.messages == without.messages


def test_tools_leave_less_room_for_messages() -> None:
    memory = memory_of()
    thread = memory.thread("t")
    for number in range(60):
        thread.add("user" if number % 2 else "assistant", f"message {number} of a talk that goes on for quite a while")
    tools = [TOOL] * 8
    context = thread.context(budget=1_000, tools=tools)
    assert context.tokens <= 1_000
    assert context.sections["recent messages"] < thread.context(budget=1_000).sections["recent messages"]


def test_tools_larger_than_the_budget_are_named_in_the_error() -> None:
    memory = memory_of()
    talk(memory)
    with pytest.raises(BudgetError, match=r"tools \([\d,]+\)") as caught:
        memory.thread("t").context(budget=100, tools=[TOOL] * 20)
    assert caught.value.parts[0][0] == "tools"


def test_tools_that_do_not_fit_beside_what_must_be_there_are_listed_with_it() -> None:
    memory = memory_of()
    talk(memory)
    with pytest.raises(BudgetError) as caught:
        memory.thread("t").context(budget=100, tools=[TOOL])
    assert [name for name, _ in caught.value.parts] == ["tools", "pinned messages", "newest user message", "reply"]
    assert caught.value.needed == sum(tokens for _, tokens in caught.value.parts) > 100


def test_a_tool_that_is_no_json_is_refused_with_its_place() -> None:
    memory = memory_of()
    talk(memory)
    with pytest.raises(InvalidInput, match=r"tools\[1\]"):
        memory.thread("t").context(tools=[TOOL, {"default": {1, 2}}])


def test_what_the_caller_changes_of_a_tool_later_is_not_in_the_context() -> None:
    memory = memory_of()
    talk(memory)
    tool: dict[str, Any] = {"name": "f", "parameters": {"type": "object"}}
    context = memory.thread("t").context(tools=[tool])
    tool["parameters"]["type"] = "array"
    assert context.tools == ({"name": "f", "parameters": {"type": "object"}},)


def test_the_same_counts_on_an_event_loop() -> None:
    memory = memory_of()
    talk(memory)

    async def tokens() -> int:
        async with AsyncMemory(clock=FrozenClock(START), embedder=None, for_model="gpt-4o") as twin:
            await twin.thread("t").append(memory.thread("t").messages())
            return (await twin.thread("t").context(tools=[TOOL], oversize="cut")).tokens

    assert asyncio.run(tokens()) == memory.thread("t").context(tools=[TOOL], for_model="gpt-4o").tokens


# -- how full -------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("budget", "load"), [(200, "ideal"), (199, "good"), (134, "good"), (133, "high"), (112, "high"), (111, "critical")]
)
def test_a_context_says_how_full_it_is(budget: int, load: str) -> None:
    memory = memory_of(counter=Words())
    thread = memory.thread("t")
    thread.add("user", "word " * 95)  # and 5 for its frame
    context = thread.context(budget=budget)
    assert (context.tokens, context.headroom, context.load) == (100, budget - 100, load)
    assert f"{load})" in str(context.explain()).split("\n")[0]


def test_the_sections_add_up_to_the_whole() -> None:
    memory = memory_of()
    memory.store("the deploy key is in the vault", pinned=True)
    talk(memory)
    memory.thread("t").add("user", "I live in Lisbon and I'm allergic to peanuts.")
    context = memory.thread("t").context(for_model="gpt-4o", tools=[TOOL])
    assert set(context.sections) == {"pinned", "profile", "frame", "recent messages", "tools", "reply"}
    assert sum(context.sections.values()) == context.tokens
    assert sum(part.tokens for part in context.explain().kept) == context.tokens
