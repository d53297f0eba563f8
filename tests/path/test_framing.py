"""What a request counts besides its text: frames, images, tools."""

from __future__ import annotations

from typing import Any

import pytest

from bethink.errors import InvalidInput
from bethink.formats.openai_chat import from_openai
from bethink.formats.openai_responses import from_responses
from bethink.messages import Message, Part, ToolCall
from bethink.models.framing import FRAMING, Framing, framing_of
from bethink.models.tokens import BuiltinCounter, message_tokens, request_tokens, schema_tokens

COUNTER = BuiltinCounter()
GPT_4O = framing_of("gpt-4o")
WEATHER: dict[str, Any] = {
    "type": "function",
    "function": {
        "name": "get_current_weather",
        "description": "Get the current weather in a given location",
        "parameters": {
            "type": "object",
            "properties": {
                "location": {"type": "string", "description": "The city and state, e.g. Porto, Portugal"},
                "unit": {"type": "string", "description": "The unit of temperature", "enum": ["celsius", "fahrenheit"]},
            },
            "required": ["location"],
        },
    },
}


def picture(detail: str | None) -> Message:
    image = {"url": "https://example.com/a.png"} | ({} if detail is None else {"detail": detail})
    return from_openai({"role": "user", "content": [{"type": "image_url", "image_url": image}]})


# -- which framing --------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("model", "image", "image_low"),
    [
        ("gpt-4o", 1_445, 85),
        ("gpt-4o-2024-11-20", 1_445, 85),
        ("openai/gpt-4o", 1_445, 85),
        ("chatgpt-4o-latest", 1_445, 85),
        ("gpt-4o-mini-2024-07-18", 48_169, 2_833),
        ("gpt-4.1", 1_536, 85),
        ("gpt-4.1-mini", 2_489, 2_489),
        ("gpt-4.1-nano", 3_779, 3_779),
        ("gpt-5", 1_190, 70),
        ("gpt-5-mini-2025-08-07", 2_489, 2_489),
        ("o3", 1_275, 75),
        ("o4-mini", 2_642, 2_642),
        ("claude-3-5-sonnet-20241022", 1_600, 1_600),
        ("claude-3-haiku-20240307", 1_600, 1_600),
        ("anthropic/claude-sonnet-4.5", 1_600, 1_600),
        ("claude-opus-4-1-20250805", 1_600, 1_600),
        ("claude-sonnet-4-20250514", 1_600, 1_600),
        ("claude-opus-4-7", 4_784, 4_784),
    ],
)
def test_a_model_is_framed_by_its_name(model: str, image: int, image_low: int) -> None:
    framing = framing_of(model)
    assert (framing.image, framing.image_low) == (image, image_low)


@pytest.mark.parametrize("model", ["gpt-5.5", "gpt-6", "gpt-4omni", "my-model", "", "llama-3"])
def test_a_model_that_is_not_known_is_framed_with_the_default(model: str) -> None:
    assert framing_of(model) == FRAMING


@pytest.mark.parametrize(("model", "tools"), [("gpt-4o", 12), ("claude-3-opus-20240229", 530), ("claude-opus-4-7", 346)])
def test_a_family_says_what_having_tools_counts(model: str, tools: int) -> None:
    assert framing_of(model).tools == tools


# -- messages -------------------------------------------------------------------------------------------------------------


def test_openai_documents_three_tokens_around_a_message_and_its_role() -> None:
    assert message_tokens(Message(role="user", content=""), COUNTER, GPT_4O) == 4


def test_a_name_counts_one_more_than_its_text() -> None:
    plain = Message(role="user", content="hello")
    named = Message(role="user", content="hello", name="Ada")
    assert message_tokens(named, COUNTER, GPT_4O) == message_tokens(plain, COUNTER, GPT_4O) + 1 + COUNTER.count("Ada")


def test_each_of_two_parallel_calls_has_its_frame() -> None:
    calls = (ToolCall("c1", "f", "{}"), ToolCall("c2", "f", "{}"))
    framed = Framing(call=100)
    bare = Framing(call=0)
    message = Message(role="assistant", tool_calls=calls)
    assert message_tokens(message, COUNTER, framed) == message_tokens(message, COUNTER, bare) + 200


@pytest.mark.parametrize(("detail", "tokens"), [("low", 85), ("high", 1_445), ("auto", 1_445), (None, 1_445)])
def test_an_image_counts_by_the_detail_its_message_asks_for(detail: str | None, tokens: int) -> None:
    assert message_tokens(picture(detail), COUNTER, GPT_4O) == 4 + tokens


def test_the_detail_is_read_from_the_responses_format_too() -> None:
    image = {"type": "input_image", "image_url": "https://example.com/a.png", "detail": "low"}
    text = {"type": "input_text", "text": "look"}
    message = from_responses({"type": "message", "role": "user", "content": [text, image]})
    assert message_tokens(message, COUNTER, GPT_4O) == 4 + COUNTER.count("look") + 85


def test_each_image_of_a_message_has_its_own_detail() -> None:
    low = {"type": "image_url", "image_url": {"url": "https://example.com/a.png", "detail": "low"}}
    high = {"type": "image_url", "image_url": {"url": "https://example.com/b.png", "detail": "high"}}
    message = from_openai({"role": "user", "content": [high, low, low]})
    assert message_tokens(message, COUNTER, GPT_4O) == 4 + 1_445 + 2 * 85


def test_a_model_that_knows_no_detail_counts_every_image_the_same() -> None:
    claude = framing_of("claude-sonnet-4-5")
    assert message_tokens(picture("low"), COUNTER, claude) == message_tokens(picture("high"), COUNTER, claude)


def test_a_file_counts_as_other() -> None:
    message = Message(role="user", content=(Part("file", "report.pdf", "file-1"),))
    assert message_tokens(message, COUNTER, Framing(other=7_000)) == 5 + COUNTER.count("report.pdf") + 7_000


# -- tools ----------------------------------------------------------------------------------------------------------------


def test_no_tools_count_nothing() -> None:
    assert schema_tokens([], COUNTER, framing_of("claude-3-opus")) == 0


def test_a_tool_counts_at_least_what_openai_documents_for_it() -> None:
    # The cookbook's rule for gpt-4o, on the texts of this tool: 7 for the function, 3 for having properties, 3 for each
    # property, 3 for each choice less 3, 12 at the end, and the words.
    words = "get_current_weather:Get the current weather in a given location"
    location = "location:string:The city and state, e.g. Porto, Portugal"
    unit = "unit:string:The unit of temperature"
    choices = "celsius", "fahrenheit"
    documented = 7 + 3 + 3 + 3 - 3 + 2 * 3 + 12 + sum(map(COUNTER.count, (words, location, unit, *choices)))
    assert documented <= schema_tokens([WEATHER], COUNTER, GPT_4O) <= 2 * documented


def test_another_tool_adds_its_schema_and_its_frame() -> None:
    one = schema_tokens([WEATHER], COUNTER, GPT_4O)
    assert schema_tokens([WEATHER, WEATHER], COUNTER, GPT_4O) == 2 * one - GPT_4O.tools


def test_what_is_no_json_is_refused_with_its_place() -> None:
    with pytest.raises(InvalidInput, match=r"tools\[1\]"):
        schema_tokens([WEATHER, {"default": {1, 2}}], COUNTER)


def test_a_request_is_its_messages_its_tools_and_the_beginning_of_the_reply() -> None:
    messages = [Message(role="system", content="Be brief."), Message(role="user", content="hello")]
    parts = sum(message_tokens(message, COUNTER, GPT_4O) for message in messages) + schema_tokens([WEATHER], COUNTER, GPT_4O)
    assert request_tokens(messages, COUNTER, tools=[WEATHER], framing=GPT_4O) == parts + 3
