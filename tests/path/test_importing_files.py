"""Importing files as people have them: cut off, mixed, damaged, large; and the same every time."""

from __future__ import annotations

import itertools
import json
import random
from pathlib import Path
from typing import Any

import pytest
from tests.path.importable import AT, CALL, FUNCTION_CALL, chatgpt, claude, hello, langchain, node, one, put, said

from bethink.demo import conversations as demo_conversations
from bethink.errors import ImportFailed
from bethink.formats import to_format
from bethink.importing import FORMATS, detect, read
from bethink.threads import place

# -- files as people have them --------------------------------------------------------------------------------------------


def lines_of(count: int) -> list[bytes]:
    return [json.dumps({"thread_id": f"t{n}", "messages": [hello(content=f"message {n}")]}).encode() for n in range(count)]


@pytest.mark.parametrize(
    ("before", "end", "last"),
    [
        (b"", b"\n", b"\n"),
        (b"", b"\n", b""),
        (b"\xef\xbb\xbf", b"\n", b"\n"),
        (b"", b"\r\n", b"\r\n"),
        (b"\n\n", b"\n\n", b"\n\n"),
    ],
    ids=["plain", "no last line end", "byte order mark", "CRLF", "empty lines"],
)
def test_V040_lines_are_read_whatever_ends_them(tmp_path: Path, before: bytes, end: bytes, last: bytes) -> None:
    file = tmp_path / "file.txt"
    file.write_bytes(before + end.join(lines_of(3)) + last)

    assert [conversation.thread_id for conversation in read(file)] == ["t0", "t1", "t2"]


def test_V040_two_records_glued_on_one_line_cost_that_line_alone(tmp_path: Path) -> None:
    one, two, three, four = lines_of(4)
    file = tmp_path / "file.jsonl"
    file.write_bytes(one + b"\n" + two + three + b"\n" + four)
    errors: list[ImportFailed] = []

    assert [conversation.thread_id for conversation in read(file, on_error="skip", errors=errors)] == ["t0", "t3"]
    assert [error.field for error in errors] == ["line 2"]


@pytest.mark.parametrize("seed", range(20))
def test_V042_a_file_cut_anywhere_loses_its_last_line_alone(tmp_path: Path, seed: int) -> None:
    whole = b"\n".join(lines_of(50)) + b"\n"
    cut = random.Random(seed).randrange(len(whole) // 2, len(whole))
    file = tmp_path / "file.jsonl"
    file.write_bytes(whole[:cut])
    errors: list[ImportFailed] = []

    found = [conversation.thread_id for conversation in read(file, on_error="skip", errors=errors)]

    complete = whole[:cut].count(b"\n") + (whole[cut - 1 : cut] == b"}" and whole[cut : cut + 1] == b"\n")
    assert found == [f"t{n}" for n in range(complete)]
    assert len(errors) == (0 if whole[cut - 1 : cut] == b"\n" or whole[cut : cut + 1] == b"\n" else 1)


def test_lines_are_streamed(tmp_path: Path) -> None:
    file = tmp_path / "file.jsonl"
    file.write_bytes(b"\n".join([*lines_of(200), b"broken"]))

    found = read(file)

    assert [next(found).thread_id for _ in range(200)] == [f"t{n}" for n in range(200)]
    with pytest.raises(ImportFailed, match="line 201"):
        next(found)


@pytest.mark.parametrize(
    ("content", "problem"),
    [
        (b"", "file: empty"),
        (b'[{"role": "user", "content": "hi"}', "file: JSON that is cut off"),
        (b'[{"role": "user",\n "content": }]', "file: not JSON from line 2 column 13"),
        (b'["\xff"]', "file: not UTF-8 at byte 2"),
        ('[{"role": "user"}]'.encode("utf-16"), "file: UTF-16"),
        (b"plain text", "file: not JSON"),
        (b"{}", "file: of a format that is not known here"),
        (b"[]", "file: of a format that is not known here"),
        (b"42", "file: of a format that is not known here"),
    ],
)
def test_a_file_that_is_no_conversation_is_refused_with_the_reason(tmp_path: Path, content: bytes, problem: str) -> None:
    file = tmp_path / "file.json"
    file.write_bytes(content)

    with pytest.raises(ImportFailed) as caught:
        list(read(file))

    assert str(caught.value).startswith(problem)


def test_a_file_that_is_not_there_and_a_format_that_is_none_are_refused(tmp_path: Path) -> None:
    with pytest.raises(ImportFailed, match="not there"):
        detect(tmp_path / "nothing.json")
    with pytest.raises(ImportFailed, match="openai, responses"):
        list(read(put(tmp_path, [hello()]), "word"))


# -- what cannot be taken -------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("wrong", "field"),
    [
        ({"role": "human", "content": "hi"}, "[1].role"),
        ({"role": "user"}, "[1].content"),
        ({"role": "user", "content": [{"type": "text"}]}, "[1].content[0].text"),
        ("text", "[1]"),
        ({"role": "tool", "tool_call_id": "c9", "content": "42"}, "[1].tool_call_id"),
        ({"role": "user", "content": "other", "id": "m0"}, "[1].id"),
    ],
)
def test_a_message_that_cannot_be_taken_costs_itself_alone(tmp_path: Path, wrong: Any, field: str) -> None:
    file = put(tmp_path, [hello(id="m0"), wrong, hello("assistant", "hello")])
    errors: list[ImportFailed] = []

    with pytest.raises(ImportFailed) as caught:
        list(read(file, "openai"))
    (conversation,) = read(file, "openai", on_error="skip", errors=errors)

    assert caught.value.field == field
    assert caught.value.fix
    assert [error.field for error in errors] == [field]
    assert said(conversation) == [("user", "hi"), ("assistant", "hello")]


def test_V054_V055_a_message_no_backend_could_hold_costs_itself_alone(tmp_path: Path) -> None:
    file = tmp_path / "file.json"
    file.write_bytes(
        rb'[{"role":"user","content":"ok \udc88 end"},{"role":"user","content":"a\u0000b"},'
        rb'{"role":"user","content":"n","score":NaN},{"role":"user","content":"fine"}]'
    )
    errors: list[ImportFailed] = []

    (conversation,) = read(file, on_error="skip", errors=errors)

    assert said(conversation) == [("user", "fine")]
    assert [error.field for error in errors] == ["[0].content", "[1].content", "[2].score"]


def test_a_line_of_messages_is_named_down_to_the_field(tmp_path: Path) -> None:
    file = put(tmp_path, {"messages": [hello()]}, {"messages": [hello(), {"role": "user", "content": 5}]}, name="f.jsonl")

    with pytest.raises(ImportFailed) as caught:
        list(read(file))

    assert str(caught.value) == "line 2: messages[1].content: a int — pass a string, a list of parts, or None"


def test_a_result_whose_call_could_not_be_taken_is_left_out_with_it(tmp_path: Path) -> None:
    bad_call = {"role": "assistant", "tool_calls": [{**CALL, "id": ""}]}
    errors: list[ImportFailed] = []
    file = put(tmp_path, [hello(), bad_call, {"role": "tool", "tool_call_id": "c1", "content": "42"}])

    (conversation,) = read(file, on_error="skip", errors=errors)

    assert said(conversation) == [("user", "hi")]
    assert [error.field for error in errors] == ["[1].tool_calls[0].id", "[2].tool_call_id"]


RESPONSE = {"id": "r", "output": [{"type": "reasoning", "id": "rs", "summary": []}, {**FUNCTION_CALL}], "input": "hi"}
CLAUDE_TURN = {
    "uuid": "m",
    "sender": "assistant",
    "text": "",
    "content": [{"type": "tool_use", "name": "f", "input": {}}, {"type": "tool_result", "content": "x"}],
    "attachments": [{"file_name": "a", "extracted_content": "b"}],
    "files": [{"file_name": "c"}],
}
SESSION = {
    "session_1_date_time": "1:56 pm on 8 May, 2023",
    "session_1": [{"speaker": "A", "dia_id": "D1", "text": "x", "blip_caption": "y"}],
}
SAMPLES: dict[str, Any] = {
    "openai": [hello(id="m1"), {"role": "assistant", "tool_calls": [CALL]}, hello("tool", tool_call_id="c1")],
    "responses": RESPONSE,
    "chatgpt": chatgpt("a", node("u", None, "user", "hi"), node("a", "u", "assistant", "1", recipient="python")),
    "claude": claude(CLAUDE_TURN),
    "langchain": langchain(),
    "locomo": [{"sample_id": "s", "conversation": SESSION}],
}


def places(value: Any, path: tuple[Any, ...] = ()) -> list[tuple[Any, ...]]:
    """The path of everything in a JSON value."""
    inner = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    return [path, *(found for key, item in inner for found in places(item, (*path, key)))]


def replaced(value: Any, path: tuple[Any, ...], by: Any) -> Any:
    if not path:
        return by
    copy = dict(value) if isinstance(value, dict) else list(value)
    copy[path[0]] = replaced(copy[path[0]], path[1:], by)
    return copy


@pytest.mark.parametrize("format", SAMPLES)
@pytest.mark.parametrize("by", [None, 5, "text", "", [], {}, [[]], [5], {"a": 1}, "\ud800"], ids=repr)
def test_whatever_stands_in_a_file_is_taken_or_named(tmp_path: Path, format: str, by: Any) -> None:  # noqa: A002
    file = tmp_path / "file.json"
    for path in places(SAMPLES[format]):
        file.write_text(json.dumps(replaced(SAMPLES[format], path, by)))
        errors: list[ImportFailed] = []

        for conversation in read(file, format, on_error="skip", errors=errors):
            place(conversation.messages, tip=0, last=None, calls={})

        assert all(error.field and error.problem for error in errors)


# -- the same every time --------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "value",
    [
        [hello(), hello(), hello("assistant")],
        [{"messages": [hello(created_at=AT.isoformat())]}] * 3,
        chatgpt("u", node("u", None, "user", "hi")),
        claude({"sender": "human", "text": "hi", "created_at": AT.isoformat()}),
        langchain(),
    ],
    ids=["openai", "dated", "chatgpt", "claude", "langchain"],
)
def test_V026_V030_reading_twice_gives_the_same_ids_each_once(tmp_path: Path, value: Any) -> None:
    file = put(tmp_path, value)
    first, second = list(read(file)), list(read(file))

    assert first == second
    for conversation in first:
        ids = [message.id for message in conversation.messages]
        assert all(ids)
        assert len(set(ids)) == len(ids)


def test_V028_people_may_repeat_themselves_but_an_id_may_not(tmp_path: Path) -> None:
    conversation = one(tmp_path, [hello(), hello(), hello(id="m1"), hello(id="m1")])

    assert len(conversation.messages) == 3


def test_V030_a_longer_file_begins_with_the_same_ids(tmp_path: Path) -> None:
    turns = [hello(content=str(n)) for n in range(6)]

    short = one(tmp_path, turns[:4])
    long = one(tmp_path, turns)

    assert long.messages[:4] == short.messages


# -- the demo transcript --------------------------------------------------------------------------------------------------


def test_the_transcript_is_two_peoples_dated_sessions() -> None:
    found = demo_conversations()

    assert [conversation.user for conversation in found] == ["mara"] * 5 + ["tobias"] * 2
    assert 110 <= sum(len(conversation.messages) for conversation in found) <= 150
    for conversation in found:
        times = [message.created_at for message in conversation.messages]
        assert all(one <= other for one, other in itertools.pairwise(times) if one and other)
        assert times[0] is not None
        assert times[0].date().isoformat() == conversation.thread_id.partition("-")[2]


def test_every_call_of_the_transcript_has_its_result_and_all_of_it_can_be_sent() -> None:
    parallel = 0
    for conversation in demo_conversations():
        calls = [call.id for message in conversation.messages for call in message.tool_calls]
        results = [message.tool_call_id for message in conversation.messages if message.role == "tool"]
        parallel += sum(len(message.tool_calls) > 1 for message in conversation.messages)

        assert sorted(calls) == sorted(filter(None, results))
        assert len(to_format(conversation.messages, "openai")) == len(conversation.messages)

    assert parallel == 2


def test_formats_are_seven() -> None:
    assert FORMATS == ("openai", "responses", "chatgpt", "claude", "langchain", "locomo", "jsonl")
