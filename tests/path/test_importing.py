"""Importing: each format's file becomes threads, the same on every run; what cannot be taken is named by where it stands."""

from __future__ import annotations

import collections
import itertools
import json
from datetime import datetime, timedelta, timezone
from pathlib import Path
from typing import Any

import msgspec
import pytest
from tests.path.importable import AT, CALL, FUNCTION_CALL, chatgpt, claude, hello, langchain, node, one, put, said

from bethink.errors import ImportFailed
from bethink.formats import from_any, to_format, to_openai
from bethink.importing import detect, export_line, read, read_records
from bethink.messages import Message, Part, ToolCall
from bethink.records import Insight, Note, Source
from bethink.storage.base import StoredMessage, StoredRecord
from bethink.threads import ThreadInfo, place

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
        ({"sources": []}, "record.sources", "an insight without a source"),
        ({"recorded_at": "2024-05-01T00:00:00"}, "record.recorded_at", "a naive time"),
        ({"valid_from": "2024-05-01T00:00:00"}, "record.valid_from", "a naive time"),
        ({"importance": "huge"}, "record.importance", "Invalid enum value"),
    ],
)
def test_a_record_that_no_export_holds_is_refused(tmp_path: Path, change: dict[str, Any], field: str, problem: str) -> None:
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
    line = json.loads(export_line(StoredRecord(("ada",), insight)))
    file = tmp_path / "export.jsonl"
    file.write_text(json.dumps({**line, "record": {**line["record"], **change}}) + "\n")
    with pytest.raises(ImportFailed) as failed:
        list(read_records(file))
    assert field in str(failed.value)
    assert problem in str(failed.value)


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
