"""Responses items: each comes back as it went in, knows its group, and never stands without what it needs."""

from __future__ import annotations

import copy
from typing import Any

import msgspec
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from bethink.errors import InvalidInput, InvalidMessage
from bethink.formats import from_any, from_responses, is_item, to_format, to_openai, to_responses, to_responses_list
from bethink.formats.openai_responses import ITEM_TYPES
from bethink.messages import Message, Part, ToolCall, canonical_json
from bethink.threads import place

# One item of each type, with the fields that openai.types.responses requires.
ITEMS: dict[str, dict[str, Any]] = {
    "bare message": {"role": "user", "content": [{"type": "input_text", "text": "hi"}]},
    "input message": {
        "type": "message",
        "role": "developer",
        "content": [{"type": "input_text", "text": "be brief"}],
        "status": "completed",
    },
    "output message": {
        "id": "msg_1",
        "type": "message",
        "role": "assistant",
        "status": "completed",
        "content": [
            {"type": "output_text", "text": "Ghent", "annotations": [], "logprobs": []},
            {"type": "refusal", "refusal": "no"},
        ],
        "phase": "final_answer",
    },
    "reasoning": {
        "id": "rs_1",
        "type": "reasoning",
        "summary": [{"type": "summary_text", "text": "think"}],
        "encrypted_content": "gAAA",
    },
    "function_call": {
        "type": "function_call",
        "id": "fc_1",
        "call_id": "call_1",
        "name": "f",
        "arguments": '{"a": 1}',
        "status": "completed",
    },
    "function_call_output": {"type": "function_call_output", "id": "fco_1", "call_id": "call_1", "output": "42"},
    "function_call_output in parts": {
        "type": "function_call_output",
        "call_id": "call_1",
        "output": [{"type": "input_text", "text": "see"}, {"type": "input_file", "file_id": "file-1", "filename": "a.pdf"}],
    },
    "custom_tool_call": {"type": "custom_tool_call", "id": "ctc_1", "call_id": "call_1", "name": "sh", "input": "ls"},
    "custom_tool_call_output": {"type": "custom_tool_call_output", "call_id": "call_1", "output": "a\nb"},
    "computer_call": {
        "type": "computer_call",
        "id": "cu_1",
        "call_id": "call_1",
        "action": {"type": "click", "button": "left", "x": 1, "y": 2},
        "pending_safety_checks": [],
        "status": "completed",
    },
    "computer_call_output": {
        "type": "computer_call_output",
        "call_id": "call_1",
        "output": {"type": "computer_screenshot", "image_url": "https://x.org/shot.png"},
    },
    "shell_call": {"type": "shell_call", "call_id": "call_1", "action": {"commands": ["ls"]}},
    "shell_call_output": {
        "type": "shell_call_output",
        "call_id": "call_1",
        "output": [{"stdout": "a\n", "stderr": "", "outcome": {"type": "exit", "exit_code": 0}}],
    },
    "local_shell_call": {
        "type": "local_shell_call",
        "id": "lsh_1",
        "call_id": "call_1",
        "action": {"type": "exec", "command": ["ls"], "env": {}},
        "status": "completed",
    },
    "local_shell_call_output": {"type": "local_shell_call_output", "id": "call_1", "output": "a"},
    "apply_patch_call": {
        "type": "apply_patch_call",
        "call_id": "call_1",
        "operation": {"type": "delete_file", "path": "a.txt"},
        "status": "completed",
    },
    "apply_patch_call_output": {"type": "apply_patch_call_output", "call_id": "call_1", "status": "completed", "output": "ok"},
    "tool_search_call": {"type": "tool_search_call", "call_id": "call_1", "arguments": {"q": "x"}, "execution": "client"},
    "tool_search_output": {"type": "tool_search_output", "call_id": "call_1", "tools": []},
    "tool_search_call of the server": {
        "type": "tool_search_call",
        "call_id": None,
        "arguments": {"q": "x"},
        "execution": "server",
    },
    "mcp_approval_request": {
        "type": "mcp_approval_request",
        "id": "call_1",
        "server_label": "s",
        "name": "f",
        "arguments": "{}",
    },
    "mcp_approval_response": {
        "type": "mcp_approval_response",
        "approval_request_id": "call_1",
        "approve": False,
        "reason": "no",
    },
    "web_search_call": {
        "type": "web_search_call",
        "id": "ws_1",
        "status": "completed",
        "action": {"type": "search", "query": "q"},
    },
    "file_search_call": {"type": "file_search_call", "id": "fs_1", "status": "completed", "queries": ["q"], "results": None},
    "code_interpreter_call": {
        "type": "code_interpreter_call",
        "id": "ci_1",
        "code": "1",
        "container_id": "c",
        "outputs": [{"type": "logs", "logs": "1"}],
        "status": "completed",
    },
    "image_generation_call": {"type": "image_generation_call", "id": "ig_1", "result": "iVBO", "status": "completed"},
    "mcp_call": {"type": "mcp_call", "id": "mcp_1", "server_label": "s", "name": "f", "arguments": "{}", "output": "x"},
    "mcp_list_tools": {"type": "mcp_list_tools", "id": "mcpl_1", "server_label": "s", "tools": []},
    "item_reference": {"type": "item_reference", "id": "msg_9"},
    "item_reference without a type": {"id": "msg_9"},
    "compaction": {"type": "compaction", "id": "cmp_1", "encrypted_content": "gAAA"},
    "program": {"type": "program", "id": "p_1", "call_id": "call_1", "code": "1", "fingerprint": "f"},
    "program_output": {"type": "program_output", "id": "po_1", "call_id": "call_1", "result": "1", "status": "completed"},
    "additional_tools": {"type": "additional_tools", "role": "developer", "tools": []},
    "configuration_update": {"type": "configuration_update", "reasoning": {"effort": "low"}},
}


def test_every_known_item_type_is_in_the_table() -> None:
    assert {item["type"] for item in ITEMS.values() if "type" in item} == ITEM_TYPES


@pytest.mark.parametrize("item", ITEMS.values(), ids=ITEMS.keys())
def test_every_item_comes_back_as_it_went_in(item: dict[str, Any]) -> None:
    before = copy.deepcopy(item)
    assert is_item(item)

    (back,) = to_responses(from_any(item))

    assert msgspec.json.encode(back) == msgspec.json.encode(before)
    assert item == before


extra = st.dictionaries(
    st.text("éèß", min_size=1, max_size=4), st.none() | st.integers(-5, 5) | st.text("ab", max_size=3), max_size=3
)


@settings(max_examples=100, deadline=None)
@given(st.sampled_from([*ITEMS.values()]), extra, st.randoms(use_true_random=False))
def test_any_item_with_unknown_fields_in_any_order_comes_back(item: dict[str, Any], more: dict[str, Any], random: Any) -> None:
    keys = [*item, *more]
    random.shuffle(keys)
    shuffled = {key: {**item, **more}[key] for key in keys}
    if "type" not in item and "role" not in item:
        shuffled = item  # a reference without a type is known by having nothing else

    (back,) = to_responses(from_responses(shuffled))

    assert msgspec.json.encode(back) == msgspec.json.encode(shuffled)


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        ("bare message", Message(role="user", content=(Part("text", "hi"),))),
        ("output message", Message(role="assistant", id="msg_1", content=(Part("text", "Ghent"), Part("text", "no")))),
        ("reasoning", Message(role="assistant", id="rs_1", content=(Part("reasoning", "think"),))),
        ("function_call", Message(role="assistant", id="fc_1", tool_calls=(ToolCall("call_1", "f", '{"a": 1}'),))),
        ("function_call_output", Message(role="tool", id="fco_1", tool_call_id="call_1", content="42")),
        (
            "function_call_output in parts",
            Message(role="tool", tool_call_id="call_1", content=(Part("text", "see"), Part("file", "a.pdf", "file-1"))),
        ),
        ("custom_tool_call", Message(role="assistant", id="ctc_1", tool_calls=(ToolCall("call_1", "sh", "ls"),))),
        (
            "computer_call",
            Message(
                role="assistant",
                id="cu_1",
                tool_calls=(ToolCall("call_1", "computer", '{"type":"click","button":"left","x":1,"y":2}'),),
            ),
        ),
        (
            "computer_call_output",
            Message(role="tool", tool_call_id="call_1", content=(Part("image", ref="https://x.org/shot.png"),)),
        ),
        ("shell_call_output", Message(role="tool", tool_call_id="call_1", content=(Part("text", "a\n"),))),
        ("local_shell_call_output", Message(role="tool", tool_call_id="call_1", content="a")),
        ("mcp_approval_response", Message(role="tool", tool_call_id="call_1", content="denied: no")),
        ("web_search_call", Message(role="assistant", id="ws_1", content=(Part("other", "web_search_call", "ws_1"),))),
        ("item_reference", Message(role="assistant", content=(Part("other", "item_reference", "msg_9"),))),
        ("additional_tools", Message(role="developer", content=(Part("other", "additional_tools"),))),
    ],
)
def test_the_canonical_view_of_an_item(name: str, expected: Message) -> None:
    assert canonical_json(from_responses(ITEMS[name])) == canonical_json(expected)


def test_the_placeholder_id_of_the_agents_sdk_is_no_id() -> None:
    item = {**ITEMS["output message"], "id": "__fake_id__"}

    assert from_responses(item).id == ""
    assert to_responses(from_responses(item)) == [item]


@pytest.mark.parametrize(
    ("item", "field"),
    [
        ({"type": "teleport_call", "id": "t"}, "item.type"),
        ({"type": 5}, "item.type"),
        ({"type": {}}, "item.type"),
        ({}, "item.role"),
        ({"content": "x", "id": "msg_1"}, "item.role"),
        ({"type": "function_call", "name": "f", "arguments": "{}"}, "item.tool_calls[0].id"),
        ({"type": "function_call", "call_id": "c", "arguments": "{}"}, "item.tool_calls[0].name"),
        ({"type": "function_call_output", "output": "x"}, "item.tool_call_id"),
        ({"type": "message", "role": "user", "content": None}, "item.content"),
        ({"type": "function_call", "call_id": "c", "name": "f", "arguments": "a\x00"}, "item.arguments"),
    ],
)
def test_a_malformed_item_is_refused_by_its_field(item: dict[str, Any], field: str) -> None:
    with pytest.raises(InvalidMessage) as caught:
        from_responses(item)

    assert caught.value.field == field


# -- whole conversations --------------------------------------------------------------------------------------------------


def stored(*items: dict[str, Any]) -> tuple[Message, ...]:
    return place([from_any(item) for item in items], tip=0, last=None, calls={}).messages


TURNS = stored(
    {"role": "user", "content": "one"},
    {"type": "reasoning", "id": "rs_1", "summary": []},
    {
        "type": "message",
        "id": "msg_1",
        "role": "assistant",
        "status": "completed",
        "content": [{"type": "output_text", "text": "1", "annotations": []}],
    },
    {"role": "user", "content": "two"},
    {"type": "reasoning", "id": "rs_2", "summary": []},
    {"type": "function_call", "id": "fc_2", "call_id": "c2", "name": "f", "arguments": "{}"},
    {"type": "function_call_output", "call_id": "c2", "output": "2"},
)


def test_reasoning_is_in_the_group_of_what_it_led_to() -> None:
    assert [message.group for message in TURNS] == [1, 2, 2, 4, 5, 5, 5]


def test_V008_no_item_keeps_a_link_to_reasoning_that_is_not_there() -> None:
    without = [message for message in TURNS if not (message.content and message.content[0] == Part("reasoning"))]

    assert [item.get("type") for item in to_responses_list(TURNS)].count("reasoning") == 2
    assert all(item.get("id") is None for item in to_responses_list(without))
    assert [item["type"] for item in to_responses_list(without)] == [
        "message",
        "message",
        "message",
        "function_call",
        "function_call_output",
    ]


def test_V008_reasoning_is_not_sent_without_what_it_led_to() -> None:
    assert [item["type"] for item in to_responses_list(TURNS[:2])] == ["message"]


def test_whole_groups_of_items_come_back_item_for_item() -> None:
    items = [
        ITEMS["input message"],
        ITEMS["reasoning"],
        ITEMS["function_call"],
        ITEMS["function_call_output"],
        ITEMS["output message"],
    ]

    assert to_responses_list(stored(*items)) == items


def test_V111_a_chat_message_with_text_and_two_calls_becomes_several_items() -> None:
    chat: list[dict[str, Any]] = [
        {"role": "system", "content": "be brief"},
        {
            "role": "assistant",
            "content": "let me look",
            "tool_calls": [
                {"id": "c1", "type": "function", "function": {"name": "f", "arguments": "{}"}},
                {"id": "c2", "type": "custom", "custom": {"name": "sh", "input": "ls"}},
            ],
        },
        {"role": "tool", "tool_call_id": "c1", "content": "1"},
        {"role": "tool", "tool_call_id": "c2", "content": [{"type": "text", "text": "2"}]},
    ]

    assert to_format([from_any(message) for message in chat], "responses") == [
        {"type": "message", "role": "system", "content": "be brief"},
        {"type": "message", "role": "assistant", "content": "let me look"},
        {"type": "function_call", "call_id": "c1", "name": "f", "arguments": "{}"},
        {"type": "custom_tool_call", "call_id": "c2", "name": "sh", "input": "ls"},
        {"type": "function_call_output", "call_id": "c1", "output": "1"},
        {"type": "custom_tool_call_output", "call_id": "c2", "output": "2"},
    ]


def test_parts_of_a_user_message_become_input_parts() -> None:
    message = Message(
        role="user",
        content=(
            Part("text", "see"),
            Part("image", ref="file-1"),
            Part("image", ref="data:image/png;base64,AA"),
            Part("file", "a.pdf", "data:application/pdf;base64,AA"),
            Part("file", ref="https://x.org/a.pdf"),
            Part("audio", ref="data:audio/wav;base64,AA"),
            Part("reasoning", "hmm"),
        ),
    )

    assert to_responses(message)[0]["content"] == [
        {"type": "input_text", "text": "see"},
        {"type": "input_image", "detail": "auto", "file_id": "file-1"},
        {"type": "input_image", "detail": "auto", "image_url": "data:image/png;base64,AA"},
        {"type": "input_file", "filename": "a.pdf", "file_data": "data:application/pdf;base64,AA"},
        {"type": "input_file", "file_url": "https://x.org/a.pdf"},
        {"type": "input_text", "text": "[audio]"},
    ]


def test_a_result_waits_with_its_call_and_comes_after_it() -> None:
    thread = stored(ITEMS["function_call"], {"role": "user", "content": "wait"}, ITEMS["function_call_output"])

    assert [item["type"] for item in to_responses_list(thread)] == ["message", "function_call", "function_call_output"]
    assert [item["type"] for item in to_responses_list(thread[:2])] == ["message"]


@st.composite
def threads(draw: st.DrawFn) -> tuple[Message, ...]:
    """Threads that mix both formats, with parallel, late and missing results; stored, and cut at the start."""
    items: list[dict[str, Any]] = []
    waiting: list[str] = []
    for number in range(draw(st.integers(1, 14))):
        kind = draw(st.sampled_from(["user", "text", "reasoning", "call", "chat calls", "hosted", "answer", "answer"]))
        if kind == "user":
            items.append({"role": "user", "content": "go on"})
        elif kind == "text":
            items.append({**ITEMS["output message"], "id": f"msg_{number}"})
        elif kind == "reasoning":
            items.append({**ITEMS["reasoning"], "id": f"rs_{number}"})
        elif kind == "hosted":
            items.append({**ITEMS["web_search_call"], "id": f"ws_{number}"})
        elif kind == "call":
            items.append({**ITEMS["function_call"], "id": f"fc_{number}", "call_id": f"c{number}"})
            waiting.append(f"c{number}")
        elif kind == "chat calls":
            ids = [f"c{number}{letter}" for letter in "ab"]
            calls = [{"id": id_, "type": "function", "function": {"name": "f", "arguments": "{}"}} for id_ in ids]
            items.append({"role": "assistant", "content": draw(st.sampled_from([None, "text"])), "tool_calls": calls})
            waiting += ids
        elif waiting:
            call_id = waiting.pop(draw(st.integers(0, len(waiting) - 1)))
            in_chat = {"role": "tool", "tool_call_id": call_id, "content": "42"}
            items.append(draw(st.sampled_from([in_chat, {"type": "function_call_output", "call_id": call_id, "output": "42"}])))
    thread = stored(*items)
    return thread[draw(st.integers(0, len(thread))) :]


@settings(max_examples=150, deadline=None)
@given(threads())
def test_any_thread_is_legal_for_the_chat_api(thread: tuple[Message, ...]) -> None:
    forms = to_format(thread, "openai")

    expected: list[str] = []
    for form in forms:
        if form["role"] == "tool":
            assert form["tool_call_id"] in expected
            expected.remove(form["tool_call_id"])
        else:
            assert expected == []
            expected = [call["id"] for call in form.get("tool_calls", ())]
            assert form["content"] or expected


@settings(max_examples=150, deadline=None)
@given(threads())
def test_any_thread_is_legal_for_the_responses_api(thread: tuple[Message, ...]) -> None:
    items = to_format(thread, "responses")

    waiting: list[str] = []
    for item, after in zip(items, [*items, {}][1:], strict=True):
        if item["type"] == "function_call":
            waiting.append(item["call_id"])
        elif item["type"] == "function_call_output":
            waiting.remove(item["call_id"])
        elif item["type"] == "reasoning":
            assert after["type"] in ("reasoning", "message", "function_call", "web_search_call")
            assert after.get("role", "assistant") == "assistant"
        elif item.get("role") == "user":
            assert waiting == []


def test_an_item_has_a_plain_chat_form() -> None:
    assert to_openai(from_responses(ITEMS["function_call"])) == {
        "role": "assistant",
        "content": None,
        "tool_calls": [{"id": "call_1", "type": "function", "function": {"name": "f", "arguments": '{"a": 1}'}}],
    }
    assert to_openai(from_responses(ITEMS["reasoning"])) == {"role": "assistant", "content": ""}


def test_an_unknown_format_is_refused() -> None:
    with pytest.raises(InvalidInput, match="format"):
        to_format([], "anthropic")  # type: ignore[arg-type]
