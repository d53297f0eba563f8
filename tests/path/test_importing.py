"""Importing: each format's file becomes threads, the same on every run; what cannot be taken is named by where it stands."""

from __future__ import annotations

import collections
import itertools
import json
import random
from datetime import datetime, timedelta, timezone
from pathlib import Path
from typing import Any

import msgspec
import pytest

from bethink.demo import conversations as demo_conversations
from bethink.errors import ImportFailed
from bethink.formats import from_any, to_format, to_openai
from bethink.importing import FORMATS, Conversation, detect, export_line, read, read_records
from bethink.messages import Message, Part, ToolCall
from bethink.records import Insight, Note, Source
from bethink.storage.base import StoredMessage, StoredRecord
from bethink.threads import ThreadInfo, place

AT = datetime(2026, 5, 14, 9, 30, tzinfo=timezone.utc)
FUNCTION_CALL = {"type": "function_call", "id": "fc_1", "call_id": "c1", "name": "f", "arguments": "{}"}
CALL = {"id": "c1", "type": "function", "function": {"name": "f", "arguments": "{}"}}


def put(path: Path, *values: Any, name: str = "file.json") -> Path:
    """A file of one JSON value, or with several, of JSON Lines."""
    file = path / name
    file.write_bytes(b"\n".join(json.dumps(value).encode() for value in values))
    return file


def one(path: Path, *values: Any, format: str | None = None) -> Conversation:  # noqa: A002
    (conversation,) = read(put(path, *values), format)
    return conversation


def said(conversation: Conversation) -> list[tuple[str, str]]:
    return [(message.role, message.text) for message in conversation.messages]


def hello(role: str = "user", content: str = "hi", **more: Any) -> dict[str, Any]:
    return {"role": role, "content": content, **more}


# -- OpenAI chat and Responses --------------------------------------------------------------------------------------------


def test_a_list_of_chat_messages_is_one_thread_named_after_the_file(tmp_path: Path) -> None:
    conversation = one(tmp_path, [hello(), hello("assistant", "hello")])

    assert conversation.thread_id == "file"
    assert said(conversation) == [("user", "hi"), ("assistant", "hello")]


def test_a_thread_may_say_its_id_title_user_and_end(tmp_path: Path) -> None:
    thread = {"thread_id": "t1", "title": "Hello", "user": "ada", "messages": [hello()]}

    conversation = one(tmp_path, thread)

    assert (conversation.thread_id, conversation.title, conversation.user) == ("t1", "Hello", "ada")


def test_threads_in_a_list_and_on_lines_are_told_apart(tmp_path: Path) -> None:
    threads = [{"messages": [hello()]}, {"messages": [hello(content="ho")], "id": "own"}]

    in_list = list(read(put(tmp_path, threads)))
    on_lines = list(read(put(tmp_path, *threads)))
    bare = list(read(put(tmp_path, [[hello()], [hello()]])))

    assert [conversation.thread_id for conversation in in_list] == ["file/1", "own"]
    assert on_lines == in_list
    assert [conversation.thread_id for conversation in bare] == ["file/1", "file/2"]
    assert bare[0].messages[0].id != bare[1].messages[0].id


def test_messages_on_lines_are_one_thread(tmp_path: Path) -> None:
    assert said(one(tmp_path, hello(), hello("assistant", "hello"))) == [("user", "hi"), ("assistant", "hello")]


def test_id_and_time_of_a_chat_message_are_not_sent_back_to_a_provider(tmp_path: Path) -> None:
    (message,) = one(tmp_path, [hello(id="m1", created_at="2026-05-14T11:30:00+02:00", mood="fine")]).messages

    assert (message.id, message.created_at) == ("m1", AT)
    assert to_openai(message) == hello(mood="fine")


def test_a_message_without_a_time_takes_that_of_its_neighbour(tmp_path: Path) -> None:
    late = AT + timedelta(hours=1)
    times = [None, AT.isoformat(), None, late.timestamp(), None]

    conversation = one(tmp_path, [hello(created_at=at) for at in times])

    assert [message.created_at for message in conversation.messages] == [AT, AT, AT, late, late]


def test_responses_items_keep_their_groups(tmp_path: Path) -> None:
    items = [
        hello(),
        {"type": "reasoning", "id": "rs_1", "summary": []},
        FUNCTION_CALL,
        {"type": "function_call_output", "call_id": "c1", "output": "42"},
    ]

    from_list = one(tmp_path, items)
    from_parts = one(tmp_path, {"id": "resp_1", "created_at": AT.timestamp(), "input": "hi", "output": items[1:]})

    assert detect(tmp_path / "file.json") == "responses"
    assert [message.group for message in place(from_list.messages, tip=0, last=None, calls={}).messages] == [1, 2, 2, 2]
    assert to_format(from_parts.messages, "responses")[1:] == items[1:]
    assert {message.created_at for message in from_parts.messages} == {AT}
    assert from_parts.thread_id == "resp_1"


# -- ChatGPT and Claude exports -------------------------------------------------------------------------------------------


def node(key: str, parent: str | None, role: str | None, *parts: Any, **more: Any) -> dict[str, Any]:
    content = more.pop("content", {"content_type": "text", "parts": list(parts)})
    author = {"role": role, "name": more.pop("name", None), "metadata": {}}
    message = {"id": key, "author": author, "content": content, "recipient": "all", "create_time": 1778751000.5, **more}
    return {"id": key, "parent": parent, "children": [], "message": message if role else None}


def chatgpt(current: str, *nodes: dict[str, Any]) -> list[dict[str, Any]]:
    return [
        {
            "title": "Trip",
            "conversation_id": "conv-1",
            "create_time": AT.timestamp(),
            "current_node": current,
            "mapping": {node["id"]: node for node in nodes},
        }
    ]


def test_a_chatgpt_conversation_is_the_path_to_its_current_node(tmp_path: Path) -> None:
    export = chatgpt(
        "a2",
        node("root", None, None),
        node("s", "root", "system", "", create_time=None),
        node("u1", "s", "user", "Which train?", create_time=None),
        node("a1", "u1", "assistant", "The first answer"),
        node("a2", "u1", "assistant", "The second answer"),
    )

    conversation = one(tmp_path, export)

    assert detect(tmp_path / "file.json") == "chatgpt"
    assert (conversation.thread_id, conversation.title) == ("conv-1", "Trip")
    assert said(conversation) == [("user", "Which train?"), ("assistant", "The second answer")]
    assert [message.id for message in conversation.messages] == ["u1", "a2"]
    assert conversation.messages[0].created_at == AT
    assert conversation.messages[1].created_at == AT + timedelta(seconds=0.5)


def test_a_chatgpt_tool_is_called_and_answers(tmp_path: Path) -> None:
    image = {"content_type": "image_asset_pointer", "asset_pointer": "file-service://x"}
    export = chatgpt(
        "a2",
        node(
            "u", None, "user", image, "What is 6 * 7?", content={"content_type": "multimodal_text", "parts": [image, "6 * 7?"]}
        ),
        node("th", "u", "assistant", content={"content_type": "thoughts", "thoughts": [{"summary": "s", "content": "hmm"}]}),
        node(
            "a1", "th", "assistant", recipient="python", content={"content_type": "code", "language": "python", "text": "6*7"}
        ),
        node("t1", "a1", "tool", name="python", content={"content_type": "execution_output", "text": "42"}),
        node("t2", "t1", "tool", name="python", content={"content_type": "tether_quote", "title": "T", "text": "more"}),
        node("a2", "t2", "assistant", "42."),
    )

    user, thought, call, result, more, answer = one(tmp_path, export).messages

    assert user.content == (Part("image", ref="file-service://x"), Part("text", "6 * 7?"))
    assert thought.content == (Part("reasoning", "hmm"),)
    assert call.tool_calls == (ToolCall("a1", "python", "6*7"),)
    assert (result.role, result.tool_call_id, result.text, result.trust) == ("tool", "a1", "42", "tool")
    assert (more.role, more.speaker, more.text, more.trust) == ("assistant", "python", "T\nmore", "external")
    assert answer.text == "42."


def test_a_broken_chatgpt_tree_is_reported_by_where_it_is(tmp_path: Path) -> None:
    export = chatgpt("u", node("u", "gone", "user", "hi")) + chatgpt("x", node("x", "x", "user", "hi"))
    errors: list[ImportFailed] = []

    assert list(read(put(tmp_path, export), on_error="skip", errors=errors)) == []
    assert [error.field for error in errors] == ["[0].mapping", "[1].mapping"]


def claude(*messages: dict[str, Any]) -> list[dict[str, Any]]:
    return [{"uuid": "conv-1", "name": "Trip", "account": {"uuid": "acc"}, "chat_messages": list(messages)}]


def test_a_claude_conversation_with_documents_tools_and_plain_text(tmp_path: Path) -> None:
    attachment = {"file_name": "lease.txt", "file_type": "txt", "extracted_content": "The rent is 700."}
    export = claude(
        {
            "uuid": "m1",
            "sender": "human",
            "text": "What is the rent?",
            "content": [{"type": "text", "text": "What is the rent?"}],
            "created_at": AT.isoformat(),
            "attachments": [attachment],
            "files": [{"file_name": "plan.png"}],
        },
        {
            "uuid": "m2",
            "sender": "assistant",
            "text": "",
            "created_at": "2026-05-14T09:31:00.123456Z",
            "content": [
                {"type": "thinking", "thinking": "look"},
                {"type": "text", "text": "Let me calculate."},
                {"type": "tool_use", "name": "repl", "input": {"code": "700*12"}},
                {"type": "tool_result", "name": "repl", "content": [{"type": "text", "text": "8400"}]},
                {"type": "text", "text": "8,400 a year."},
            ],
        },
        {"uuid": "m3", "sender": "human", "text": "Thanks", "content": [], "created_at": AT.isoformat()},
    )

    conversation = one(tmp_path, export)
    document, question, call, result, answer, thanks = conversation.messages

    assert detect(tmp_path / "file.json") == "claude"
    assert (conversation.thread_id, conversation.title) == ("conv-1", "Trip")
    assert (document.role, document.text, document.trust, document.id) == ("user", "The rent is 700.", "external", "m1:1")
    assert document.metadata == {"file_name": "lease.txt"}
    assert (question.text, question.id, question.created_at) == ("What is the rent?", "m1", AT)
    assert question.content == (Part("text", "What is the rent?"), Part("file", "plan.png"))
    assert (call.text, call.tool_calls[0].arguments) == ("Let me calculate.", '{"code":"700*12"}')
    assert (result.role, result.tool_call_id, result.text) == ("tool", call.tool_calls[0].id, "8400")
    assert (answer.text, answer.id) == ("8,400 a year.", "m2")
    assert thanks.text == "Thanks"


# -- LangChain ------------------------------------------------------------------------------------------------------------


def langchain() -> list[dict[str, Any]]:
    """As `messages_to_dict` writes it."""
    common: dict[str, Any] = {"additional_kwargs": {}, "response_metadata": {}, "name": None, "id": None}
    call = {"name": "f", "args": {"a": 1}, "id": "c1", "type": "tool_call"}
    bad_call = {"type": "invalid_tool_call", "id": "c2", "name": "g", "args": "{bad", "error": None}
    return [
        {"type": "system", "data": {"content": "be brief", "type": "system", **common}},
        {"type": "human", "data": {**common, "content": "hi", "type": "human", "name": "ada", "id": "h1"}},
        {
            "type": "ai",
            "data": {
                **common,
                "content": [{"type": "text", "text": "ok"}, {"type": "tool_use", "id": "c1", "name": "f", "input": {}}],
                "type": "ai",
                "tool_calls": [call],
                "invalid_tool_calls": [bad_call],
                "usage_metadata": None,
            },
        },
        {
            "type": "tool",
            "data": {**common, "content": "42", "type": "tool", "name": "f", "tool_call_id": "c1", "status": "success"},
        },
    ]


def test_langchain_messages_keep_calls_results_and_their_own_json(tmp_path: Path) -> None:
    conversation = one(tmp_path, langchain())
    system, human, ai, tool = conversation.messages

    assert detect(tmp_path / "file.json") == "langchain"
    assert (system.role, human.speaker, human.id) == ("system", "ada", "h1")
    assert ai.tool_calls == (ToolCall("c1", "f", '{"a":1}'), ToolCall("c2", "g", "{bad"))
    assert ai.text == "ok"
    assert (tool.role, tool.tool_call_id, tool.text) == ("tool", "c1", "42")
    assert [json.loads(message.raw.json) for message in conversation.messages if message.raw] == langchain()


def test_langchain_threads_come_as_lists_dicts_and_constructors(tmp_path: Path) -> None:
    messages = langchain()
    constructed = {"lc": 1, "type": "constructor", "id": ["langchain", "schema", "messages", "HumanMessage"]}

    assert [c.thread_id for c in read(put(tmp_path, [messages, messages]))] == ["file/1", "file/2"]
    assert [c.thread_id for c in read(put(tmp_path, {"t1": messages, "t2": messages}))] == ["t1", "t2"]
    assert one(tmp_path, {"thread_id": "t1", "messages": messages}).thread_id == "t1"
    assert said(one(tmp_path, [{**constructed, "kwargs": {"content": "hi", "type": "human"}}])) == [("user", "hi")]


def test_V100_a_constructor_of_something_else_is_not_constructed(tmp_path: Path) -> None:
    evil = {"lc": 1, "type": "constructor", "id": ["os", "system"], "kwargs": {"command": "touch /tmp/owned"}}

    with pytest.raises(ImportFailed, match="type"):
        list(read(put(tmp_path, [evil]), "langchain"))


# -- LoCoMo ---------------------------------------------------------------------------------------------------------------


def test_both_speakers_of_locomo_are_people(tmp_path: Path) -> None:
    sample = {
        "sample_id": "conv-1",
        "conversation": {
            "speaker_a": "Ada",
            "speaker_b": "Bo",
            "session_2_date_time": "12:05 am on 1 January, 2024",
            "session_2": [{"speaker": "Bo", "dia_id": "D2:1", "text": "Hi", "blip_caption": "a dog"}],
            "session_1_date_time": "1:56 pm on 8 May, 2023",
            "session_1": [
                {"speaker": "Ada", "dia_id": "D1:1", "text": "Hey"},
                {"speaker": "Bo", "dia_id": "D1:2", "text": "Ho"},
            ],
            "session_3_date_time": "1:56 pm on 8 May, 2025",
        },
    }

    first, second = read(put(tmp_path, [sample]))

    assert detect(tmp_path / "file.json") == "locomo"
    assert (first.thread_id, second.thread_id) == ("conv-1/session_1", "conv-1/session_2")
    assert [(m.role, m.speaker, m.text, m.metadata) for m in first.messages] == [
        ("user", "Ada", "Hey", {"dia_id": "D1:1"}),
        ("user", "Bo", "Ho", {"dia_id": "D1:2"}),
    ]
    assert [m.created_at for m in first.messages] == [
        datetime(2023, 5, 8, 13, 56, tzinfo=timezone.utc),
        datetime(2023, 5, 8, 13, 57, tzinfo=timezone.utc),
    ]
    assert second.messages[0].text == "Hi [shares an image: a dog]"
    assert second.messages[0].created_at == datetime(2024, 1, 1, 0, 5, tzinfo=timezone.utc)


@pytest.mark.shared
def test_every_message_of_every_locomo_conversation_is_there(shared: Path) -> None:
    path = shared / "data" / "locomo" / "locomo_dev.json"
    counts: collections.Counter[str] = collections.Counter()
    ids: set[str] = set()
    for conversation in read(path):
        counts[conversation.thread_id.partition("/")[0]] += len(conversation.messages)
        ids |= {message.id for message in conversation.messages}
        times = [message.created_at for message in conversation.messages]
        assert all(one < other for one, other in itertools.pairwise(times) if one and other)
        assert {message.role for message in conversation.messages} == {"user"}

    assert dict(counts) == {"conv-26": 419, "conv-30": 369, "conv-41": 663, "conv-42": 629, "conv-43": 680, "conv-44": 675}
    assert len(ids) == counts.total()


# -- bethink's own export -------------------------------------------------------------------------------------------------


def thread_of(thread_id: str, *messages: Message, namespace: tuple[str, ...] = ("acme", "ada"), **more: Any) -> list[bytes]:
    info = ThreadInfo(namespace=namespace, thread_id=thread_id, created_at=AT, updated_at=AT, tip=len(messages), **more)
    return [export_line(info), *(export_line(StoredMessage(namespace, thread_id, message)) for message in messages)]


def some_messages() -> tuple[Message, ...]:
    items: list[Any] = [
        Message(role="user", content=(Part("text", "see"), Part("image", ref="data:,x")), tier="permanent", external=True),
        {"role": "assistant", "content": "é\u202e", "tool_calls": [CALL], "usage": {"n": 1.0}},
        {"role": "tool", "tool_call_id": "c1", "content": "42"},
        {"type": "reasoning", "id": "rs_1", "summary": []},
        {
            "type": "message",
            "id": "msg_1",
            "role": "assistant",
            "content": [{"type": "output_text", "text": "x", "annotations": []}],
        },
    ]
    made = [msgspec.structs.replace(from_any(item), created_at=AT) for item in items]
    named = [msgspec.structs.replace(message, id=message.id or f"m{n}") for n, message in enumerate(made)]
    return place(named, tip=0, last=None, calls={}).messages


def test_an_export_read_back_gives_equal_messages(tmp_path: Path) -> None:
    messages = some_messages()
    file = tmp_path / "export.jsonl"
    lines = thread_of("t1", *messages, metadata={"a": 1}, extracted_through=len(messages))
    lines += thread_of("t2", messages[0], namespace=("acme", "bo"))
    file.write_bytes(b"".join(lines))

    first, second = read(file)

    assert detect(file) == "jsonl"
    assert first.messages == messages
    assert (first.namespace, first.metadata, first.settled) == (("acme", "ada"), {"a": 1}, True)
    assert (second.namespace, second.thread_id, second.settled) == (("acme", "bo"), "t2", False)
    assert b"".join(lines[:1] + [export_line(StoredMessage(("acme", "ada"), "t1", m)) for m in first.messages]) == b"".join(
        lines[: len(messages) + 1]
    )


def test_records_of_an_export_are_read_back_equal(tmp_path: Path) -> None:
    insight = Insight(
        id="i1",
        text="lives in Ghent",
        trust="user",
        recorded_at=AT,
        topic="identity",
        subject="user",
        slot="residence",
        value="ghent",
        sources=(Source("m1", "t1", "lives in Ghent", 0, 4),),
    )
    stored = [
        StoredRecord(("ada",), Note(id="n1", text="a note", trust="user", recorded_at=AT)),
        StoredRecord(("ada",), insight),
    ]
    file = tmp_path / "export.jsonl"
    file.write_bytes(b"".join([*thread_of("t1", *some_messages()), *map(export_line, stored)]))

    assert list(read_records(file)) == stored
    assert len(list(read(file))) == 1


@pytest.mark.parametrize(
    ("change", "field", "problem"),
    [
        (lambda line: line["message"].update(role=5), "line 2: message.role", "int"),
        (lambda line: line["message"].update(role="human"), "line 2: message.role", "Invalid enum"),
        (lambda line: line.pop("thread_id"), "line 2", "thread_id"),
        (lambda line: line.update(thread_id=""), "line 2: thread_id", "empty"),
        (lambda line: line.update(namespace=["a", ""]), "line 2: namespace[1]", "empty"),
        (lambda line: line["message"].update(created_at="2026-05-14T09:30:00"), "line 2: message.created_at", "naive"),
        (lambda line: line["message"].update(content="a\x00"), "line 2: message.content", "NUL"),
        (lambda line: line["message"].update(tool_call_id="c9", role="tool"), "line 2: message.tool_call_id", "no call"),
    ],
)
def test_a_malformed_line_is_named_by_number_field_and_what_was_found(
    tmp_path: Path, change: Any, field: str, problem: str
) -> None:
    info, first, second = thread_of("t1", *some_messages()[:2])
    line = json.loads(first)
    change(line)
    file = tmp_path / "export.jsonl"
    file.write_bytes(info + json.dumps(line).encode() + b"\n" + second)

    with pytest.raises(ImportFailed) as caught:
        list(read(file, "jsonl"))
    errors: list[ImportFailed] = []
    (conversation,) = [c for c in read(file, "jsonl", on_error="skip", errors=errors) if c.messages]

    assert caught.value.field == field
    assert problem in caught.value.problem
    assert caught.value.fix
    assert [str(error) for error in errors] == [str(caught.value)]
    assert [message.id for message in conversation.messages] == ["m1"]


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
