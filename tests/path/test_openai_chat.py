"""Chat messages: what goes in comes back, byte for byte, and what is refused is named."""

from __future__ import annotations

import copy
import enum
from datetime import datetime, timezone
from decimal import Decimal
from types import MappingProxyType
from typing import Any

import msgspec
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from bethink.errors import InvalidMessage
from bethink.formats import from_any, from_openai, from_responses, to_format, to_openai, to_openai_list
from bethink.messages import Message, Part, ToolCall
from bethink.threads import place

# -- any legal message ----------------------------------------------------------------------------------------------------

texts = st.text(st.characters(exclude_categories=["Cs"], exclude_characters="\x00"), max_size=20)
names = st.text(st.characters(categories=["L", "N"], include_characters="_-"), min_size=1, max_size=12)
numbers = st.integers(-(2**63), 2**63 - 1) | st.floats(allow_nan=False, allow_infinity=False)
values: st.SearchStrategy[Any] = st.recursive(
    st.none() | st.booleans() | numbers | texts,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(texts, inner, max_size=3),
    max_leaves=5,
)
extras = st.dictionaries(texts.filter(lambda key: not key.isascii()), values, max_size=2)


def shaped(
    required: dict[str, st.SearchStrategy[Any]], **optional: st.SearchStrategy[Any]
) -> st.SearchStrategy[dict[str, Any]]:
    """Dicts of these fields and unknown ones, in any key order."""
    fields = st.fixed_dictionaries(required, optional=optional)
    merged = st.builds(lambda one, other: {**one, **other}, fields, extras)
    return merged.flatmap(lambda made: st.permutations(list(made)).map(lambda keys: {key: made[key] for key in keys}))


data_urls = st.binary(max_size=9).map(lambda data: "data:image/png;base64," + data.hex())
text_parts = shaped({"type": st.just("text"), "text": texts})
parts = st.one_of(
    text_parts,
    shaped(
        {
            "type": st.just("image_url"),
            "image_url": shaped({"url": data_urls | st.just("https://example.org/a.png")}, detail=names),
        }
    ),
    shaped({"type": st.just("input_audio"), "input_audio": shaped({"data": names, "format": st.sampled_from(["wav", "mp3"])})}),
    shaped({"type": st.just("file"), "file": shaped({}, file_id=names, file_data=names, filename=names)}),
    shaped({"type": names}),
)
refusals = shaped({"type": st.just("refusal"), "refusal": texts})
calls = st.one_of(
    shaped({"id": names, "type": st.just("function"), "function": shaped({"name": names, "arguments": texts})}),
    shaped({"id": names, "type": st.just("custom"), "custom": shaped({"name": names, "input": texts})}),
)
chat_messages = st.one_of(
    shaped(
        {"role": st.sampled_from(["user", "system", "developer"]), "content": texts | st.lists(parts, max_size=3)},
        name=names,
        id=texts | st.none(),
        created_at=values,
    ),
    shaped(
        {"role": st.just("assistant")},
        content=texts | st.none() | st.lists(text_parts | refusals, max_size=3),
        refusal=texts | st.none(),
        audio=st.none() | shaped({"id": names}),
        name=names,
        tool_calls=st.lists(calls, max_size=3, unique_by=lambda call: str(call["id"])),
    ),
    shaped({"role": st.just("tool"), "tool_call_id": names, "content": texts | st.lists(text_parts, max_size=3)}, name=names),
)


@settings(max_examples=150, deadline=None)
@given(chat_messages)
def test_any_chat_message_comes_back_with_the_same_bytes(data: dict[str, Any]) -> None:
    before = copy.deepcopy(data)

    back = to_openai(from_openai(data))

    assert msgspec.json.encode(back) == msgspec.json.encode(before)
    assert back == data == before


@settings(max_examples=100, deadline=None)
@given(st.lists(chat_messages, min_size=1, max_size=1))
def test_any_chat_message_has_a_form_as_responses_items(data: list[dict[str, Any]]) -> None:
    message = from_openai(data[0])
    if message.role != "tool":
        items = to_format([message], "responses")

        assert [from_responses(item).role for item in items] == [message.role] * len(items)
        assert [call.id for item in items for call in from_responses(item).tool_calls] == [
            call.id for call in message.tool_calls
        ]


# -- the canonical view ---------------------------------------------------------------------------------------------------

CALL = {"id": "call_1", "type": "function", "function": {"name": "get_weather", "arguments": '{"city": "Ghent"}'}}
OTHER_CALL = {"id": "call_2", "type": "custom", "custom": {"name": "shell", "input": "ls -l"}}


@pytest.mark.parametrize(
    ("data", "expected"),
    [
        pytest.param({"role": "user", "content": "hi"}, Message(role="user", content="hi"), id="text"),
        pytest.param(
            {"role": "developer", "content": "be brief"}, Message(role="developer", content="be brief"), id="developer"
        ),
        pytest.param({"role": "user", "name": "ada", "content": ""}, Message(role="user", content="", name="ada"), id="name"),
        pytest.param(
            {
                "role": "user",
                "content": [{"type": "text", "text": "see"}, {"type": "image_url", "image_url": {"url": "https://x.org/a"}}],
            },
            Message(role="user", content=(Part("text", "see"), Part("image", ref="https://x.org/a"))),
            id="image by URL",
        ),
        pytest.param(
            {"role": "user", "content": [{"type": "input_audio", "input_audio": {"data": "UklG", "format": "wav"}}]},
            Message(role="user", content=(Part("audio", ref="data:audio/wav;base64,UklG"),)),
            id="audio",
        ),
        pytest.param(
            {"role": "user", "content": [{"type": "file", "file": {"file_id": "file-1", "filename": "lease.pdf"}}]},
            Message(role="user", content=(Part("file", "lease.pdf", "file-1"),)),
            id="file",
        ),
        pytest.param(
            {"role": "assistant", "content": None, "tool_calls": [CALL, OTHER_CALL]},
            Message(
                role="assistant",
                tool_calls=(ToolCall("call_1", "get_weather", '{"city": "Ghent"}'), ToolCall("call_2", "shell", "ls -l")),
            ),
            id="parallel calls, function and custom",
        ),
        pytest.param(
            {"role": "tool", "tool_call_id": "call_1", "content": [{"type": "text", "text": "12 degrees"}]},
            Message(role="tool", tool_call_id="call_1", content=(Part("text", "12 degrees"),)),
            id="result in parts",
        ),
        pytest.param(
            {"content": None, "refusal": "I can't help with that.", "role": "assistant"},
            Message(role="assistant", content="I can't help with that."),
            id="refusal",
        ),
        pytest.param(
            {"role": "assistant", "content": "hi", "audio": {"id": "audio_1"}},
            Message(role="assistant", content=(Part("text", "hi"), Part("audio", ref="audio_1"))),
            id="spoken answer",
        ),
        pytest.param(
            {"role": "assistant", "content": None, "function_call": {"name": "f", "arguments": "{}"}},
            Message(role="assistant", tool_calls=(ToolCall("function_call:f", "f", "{}"),)),
            id="legacy function call",
        ),
        pytest.param(
            {"role": "function", "name": "f", "content": "42"},
            Message(role="tool", tool_call_id="function_call:f", name="f", content="42"),
            id="legacy function result",
        ),
    ],
)
def test_the_canonical_view_of_a_chat_message(data: dict[str, Any], expected: Message) -> None:
    message = from_openai(data)

    assert msgspec.structs.replace(message, raw=None) == expected
    assert to_openai(message) == data


@pytest.mark.parametrize("extra", [{}, {"content": None}, {"content": ""}, {"content": []}])
def test_V066_an_assistant_with_calls_may_have_any_kind_of_no_content(extra: dict[str, Any]) -> None:
    data = {"role": "assistant", **extra, "tool_calls": [CALL]}

    message = from_openai(data)

    assert to_openai(message) == data
    assert message.text == ""
    assert message.tool_calls[0].name == "get_weather"


@pytest.mark.parametrize("words", [["before ", "after"], []])
def test_V065_text_parts_are_used_and_images_kept(words: list[str]) -> None:
    image = {"type": "image_url", "image_url": {"url": "https://example.org/cat.png", "detail": "low"}}
    data = {"role": "user", "content": [image, *({"type": "text", "text": word} for word in words)]}

    message = from_openai(data)

    assert message.text == "\n".join(words)
    assert to_openai(message) == data


def test_V107_the_data_of_an_image_is_kept_once() -> None:
    data_url = "data:image/png;base64," + "A" * 2_000_000
    data = {
        "role": "user",
        "content": [{"type": "text", "text": "this"}, {"type": "image_url", "image_url": {"url": data_url}}],
    }

    message = from_openai(data)

    assert message.raw is None
    assert len(msgspec.json.encode(message)) < 1.01 * len(data_url)
    assert to_openai(message) == data


def test_V027_the_callers_dict_is_neither_changed_nor_held_on_to() -> None:
    data: dict[str, Any] = {
        "role": "assistant",
        "content": [{"type": "text", "text": "a"}],
        "x": {"y": [1]},
        "tool_calls": [CALL],
    }
    before = copy.deepcopy(data)

    message = from_openai(data)
    assert data == before
    data["x"]["y"].append(2)
    data["content"][0]["text"] = "changed"
    to_openai(message)["x"]["y"].append(3)

    assert to_openai(message) == before


def test_a_mapping_that_is_no_dict_and_an_enum_are_taken() -> None:
    class Speaker(str, enum.Enum):
        USER = "user"

    message = from_openai(MappingProxyType({"role": Speaker.USER, "content": "hi", "more": MappingProxyType({"a": 1})}))

    assert to_openai(message) == {"role": "user", "content": "hi", "more": {"a": 1}}


# -- ids and times --------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("given_id", "expected"),
    [("msg_1", "msg_1"), ("__fake_id__", ""), ("", ""), ("a\nb", ""), ("x" * 300, ""), (7, ""), (None, "")],
)
def test_a_usable_id_of_the_dict_becomes_the_messages_id(given_id: object, expected: str) -> None:
    data = {"role": "user", "content": "hi", "id": given_id}

    assert from_openai(data).id == expected
    assert from_openai(data, id="mine").id == "mine"
    assert to_openai(from_openai(data)) == data


@pytest.mark.parametrize(
    ("written", "expected"),
    [
        ("2026-05-14T09:30:00Z", datetime(2026, 5, 14, 9, 30, tzinfo=timezone.utc)),
        ("2026-05-14T09:30:00.25+02:00", datetime(2026, 5, 14, 7, 30, 0, 250_000, tzinfo=timezone.utc)),
        (1778750000, datetime(2026, 5, 14, 9, 13, 20, tzinfo=timezone.utc)),
        ("2026-05-14T09:30:00", None),
        ("yesterday", None),
        (True, None),
        (1e300, None),
        (None, None),
    ],
)
def test_a_time_with_a_zone_or_in_unix_seconds_becomes_created_at(written: object, expected: datetime | None) -> None:
    assert from_openai({"role": "user", "content": "hi", "created_at": written}).created_at == expected


def test_an_explicit_time_wins_and_a_naive_one_is_refused() -> None:
    at = datetime(2026, 1, 1, tzinfo=timezone.utc)
    assert from_openai({"role": "user", "content": "hi", "created_at": 0}, created_at=at).created_at == at
    with pytest.raises(InvalidMessage, match="created_at"):
        from_openai({"role": "user", "content": "hi"}, created_at=datetime(2026, 1, 1))  # noqa: DTZ001


# -- refusals -------------------------------------------------------------------------------------------------------------

CIRCULAR: list[Any] = []
CIRCULAR.append(CIRCULAR)


@pytest.mark.parametrize(
    "value",
    [
        Decimal("1.5"),
        datetime(2026, 1, 1, tzinfo=timezone.utc),
        b"bytes",
        {1, 2},
        (1, 2),
        float("nan"),
        float("inf"),
        2**70,
        {1: "key"},
        "lone \udc88 surrogate",
        "nul \x00 byte",
        object(),
        CIRCULAR,
    ],
    ids=lambda value: type(value).__name__,
)
@pytest.mark.parametrize("where", ["message.usage.cost", "message.content[0].text", "message.tool_calls[0].function.arguments"])
def test_V054_V055_V109_V110_what_json_cannot_hold_is_refused_by_its_path(value: object, where: str) -> None:
    data: dict[str, Any] = {
        "role": "assistant",
        "content": [{"type": "text", "text": "a"}],
        "tool_calls": [{"id": "c", "type": "function", "function": {"name": "f", "arguments": "{}"}}],
        "usage": {"cost": 1},
    }
    if where.endswith("cost"):
        data["usage"]["cost"] = value
    elif where.endswith("text"):
        data["content"][0]["text"] = value
    else:
        data["tool_calls"][0]["function"]["arguments"] = value

    with pytest.raises(InvalidMessage) as caught:
        from_openai(data)

    assert caught.value.field.startswith(where)
    assert caught.value.fix


@pytest.mark.parametrize(
    ("data", "field"),
    [
        ("text", "message"),
        ({"content": "x"}, "message.role"),
        ({"role": 5, "content": "x"}, "message.role"),
        ({"role": "human", "content": "x"}, "message.role"),
        ({"role": "user"}, "message.content"),
        ({"role": "user", "content": None}, "message.content"),
        ({"role": "user", "content": {"text": "x"}}, "message.content"),
        ({"role": "user", "content": [5]}, "message.content[0]"),
        ({"role": "user", "content": [{"text": "x"}]}, "message.content[0].type"),
        ({"role": "user", "content": [{"type": "text"}]}, "message.content[0].text"),
        ({"role": "user", "content": "x", "name": 5}, "message.name"),
        ({"role": "user", "content": "x", "tool_calls": [CALL]}, "message.tool_calls"),
        ({"role": "assistant", "tool_calls": "x"}, "message.tool_calls"),
        ({"role": "assistant", "tool_calls": [{"id": "a", "type": "function"}]}, "message.tool_calls[0].function"),
        ({"role": "assistant", "tool_calls": [{"type": "function", "function": {"name": "f"}}]}, "message.tool_calls[0].id"),
        ({"role": "assistant", "tool_calls": [CALL, CALL]}, "message.tool_calls[1].id"),
        ({"role": "tool", "content": "x"}, "message.tool_call_id"),
    ],
)
def test_a_malformed_message_is_refused_by_its_field(data: Any, field: str) -> None:
    with pytest.raises(InvalidMessage) as caught:
        from_any(data)

    assert caught.value.field == field
    assert caught.value.problem


def test_an_error_never_shows_what_was_said() -> None:
    with pytest.raises(InvalidMessage) as caught:
        from_openai({"role": "user", "content": "my secret \x00", "more": "another secret"})

    assert "secret" not in str(caught.value)


# -- whole conversations --------------------------------------------------------------------------------------------------


def item_call(number: int) -> dict[str, Any]:
    return {"type": "function_call", "id": f"fc_{number}", "call_id": f"c{number}", "name": "f", "arguments": "{}"}


def item_result(number: int) -> dict[str, Any]:
    return {"type": "function_call_output", "call_id": f"c{number}", "output": f"result {number}"}


def stored(*items: dict[str, Any]) -> tuple[Message, ...]:
    return place([from_any(item) for item in items], tip=0, last=None, calls={}).messages


def test_V111_parallel_calls_that_came_as_items_become_one_chat_message() -> None:
    thread = stored(
        {"role": "user", "content": "go"},
        {"type": "reasoning", "id": "rs_1", "summary": []},
        item_call(1),
        {"type": "custom_tool_call", "call_id": "c2", "name": "sh", "input": "ls"},
        item_result(2),
        item_result(1),
        {
            "type": "message",
            "id": "msg_1",
            "role": "assistant",
            "content": [{"type": "output_text", "text": "done", "annotations": []}],
        },
    )

    assert to_openai_list(thread) == [
        {"role": "user", "content": "go"},
        {
            "role": "assistant",
            "content": None,
            "tool_calls": [
                {"id": "c1", "type": "function", "function": {"name": "f", "arguments": "{}"}},
                {"id": "c2", "type": "custom", "custom": {"name": "sh", "input": "ls"}},
            ],
        },
        {"role": "tool", "tool_call_id": "c2", "content": "result 2"},
        {"role": "tool", "tool_call_id": "c1", "content": "result 1"},
        {"role": "assistant", "content": "done"},
    ]


def test_a_late_result_follows_its_call_directly() -> None:
    thread = stored(item_call(1), {"role": "user", "content": "meanwhile"}, item_result(1))

    assert [form["role"] for form in to_openai_list(thread)] == ["user", "assistant", "tool"]


def test_an_open_call_is_sent_only_where_its_result_comes_next() -> None:
    asked = {"role": "assistant", "content": "Shall I?", "tool_calls": [CALL]}

    assert to_openai_list([from_any(asked)]) == [asked]
    assert to_openai_list([from_any(asked), Message(role="user", content="wait")]) == [
        {"role": "assistant", "content": "Shall I?"},
        {"role": "user", "content": "wait"},
    ]


def test_a_result_whose_call_is_not_there_is_not_sent() -> None:
    thread = stored(
        {"role": "assistant", "content": None, "tool_calls": [CALL]}, {"role": "tool", "tool_call_id": "call_1", "content": "x"}
    )

    assert to_openai_list(thread[1:]) == []


def test_messages_without_a_place_must_make_sense_as_a_thread() -> None:
    with pytest.raises(InvalidMessage, match="tool_call_id"):
        to_openai_list([Message(role="tool", tool_call_id="c1", content="x")])


def test_what_only_a_user_may_send_becomes_a_mention_elsewhere() -> None:
    screenshot = {"type": "computer_screenshot", "image_url": "data:image/png;base64,AAAA"}
    thread = stored(
        {
            "type": "computer_call",
            "id": "cu_1",
            "call_id": "c1",
            "action": {"type": "screenshot"},
            "pending_safety_checks": [],
            "status": "completed",
        },
        {"type": "computer_call_output", "call_id": "c1", "output": screenshot},
    )

    call, result = to_openai_list(thread)

    assert call["tool_calls"][0]["function"] == {"name": "computer", "arguments": '{"type":"screenshot"}'}
    assert result == {"role": "tool", "tool_call_id": "c1", "content": "[image]"}


def test_an_image_of_a_responses_item_is_an_image_in_chat() -> None:
    item = {
        "role": "user",
        "content": [
            {"type": "input_text", "text": "see"},
            {"type": "input_image", "detail": "auto", "image_url": "https://x.org/a"},
        ],
    }

    assert to_openai_list([from_any(item)]) == [
        {
            "role": "user",
            "content": [{"type": "text", "text": "see"}, {"type": "image_url", "image_url": {"url": "https://x.org/a"}}],
        }
    ]


def test_reasoning_and_hosted_calls_have_no_place_in_chat() -> None:
    thread = stored(
        {"type": "reasoning", "id": "rs_1", "summary": [{"type": "summary_text", "text": "hmm"}]},
        {"type": "web_search_call", "id": "ws_1", "status": "completed", "action": {"type": "search", "query": "q"}},
        {"role": "assistant", "content": "found"},
    )

    assert to_openai_list(thread) == [{"role": "assistant", "content": "found"}]
