"""What may enter: messages and values are checked before anything is written, and an error says where, what, and the fix."""

from __future__ import annotations

from datetime import datetime, timedelta, timezone
from typing import Any

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from bethink.errors import BethinkError, InvalidInput, InvalidMessage, InvalidNamespace
from bethink.messages import (
    MAX_MESSAGE_BYTES,
    Message,
    Part,
    Raw,
    ToolCall,
    canonical_json,
    canonical_lines,
    checked,
    groups,
    lowest_trust,
    same_message,
)
from bethink.values import check_id, check_json, check_namespace, check_text, utc

AT = datetime(2026, 5, 14, 9, 30, tzinfo=timezone.utc)

# -- messages -------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "message",
    [
        Message(role="user", content=""),
        Message(role="user", content=()),
        Message(role="assistant"),
        Message(role="assistant", content="a", tool_calls=(ToolCall("c1", "f"), ToolCall("c2", "f"))),
        Message(role="tool", tool_call_id="c1", content="42"),
        Message(role="developer", content="be brief", tier="permanent"),
        Message(role="user", content=(Part("image", ref="https://example.org/a.png"),), metadata={"a": [1, None, {"b": 0.5}]}),
        Message(role="user", content="text", name="ada", id="m1", created_at=AT),
    ],
)
def test_a_sound_message_is_taken_as_it_is(message: Message) -> None:
    assert checked(message) == message


@pytest.mark.parametrize(
    ("wrong", "field"),
    [
        ({"role": "human"}, "role"),
        ({"tier": "forever"}, "tier"),
        ({"content": None}, "content"),
        ({"content": ["a", "b"]}, "content"),
        ({"content": "nul \x00"}, "content"),
        ({"content": "half \ud83d"}, "content"),
        ({"content": (Part("text", "nul \x00"),)}, "content[0].text"),
        ({"content": (Part("text", "a"), Part("image", ref="\udc88"))}, "content[1].ref"),
        ({"id": "a\tb"}, "id"),
        ({"id": "x" * 201}, "id"),
        ({"name": "nul \x00"}, "name"),
        ({"tool_calls": (ToolCall("c1", "f"),)}, "tool_calls"),
        ({"tool_call_id": "c1"}, "tool_call_id"),
        ({"role": "tool"}, "tool_call_id"),
        ({"role": "tool", "tool_call_id": ""}, "tool_call_id"),
        ({"role": "assistant", "tool_calls": (ToolCall("", "f"),)}, "tool_calls[0].id"),
        ({"role": "assistant", "tool_calls": (ToolCall("c", "f"), ToolCall("c", "g"))}, "tool_calls[1].id"),
        ({"role": "assistant", "tool_calls": (ToolCall("c", "f", "\x00"),)}, "tool_calls[0].arguments"),
        ({"created_at": datetime(2026, 5, 14)}, "created_at"),  # noqa: DTZ001
        ({"created_at": "2026-05-14"}, "created_at"),
        ({"metadata": {"a": {"b": {1, 2}}}}, "metadata.a.b"),
        ({"metadata": {"a": [b"bytes"]}}, "metadata.a[0]"),
    ],
)
def test_a_message_that_is_not_sound_is_refused_by_its_field(wrong: dict[str, Any], field: str) -> None:
    message = Message(**{"role": "user", "content": "text", **wrong})

    with pytest.raises(InvalidMessage) as caught:
        checked(message, "messages[3]")

    assert caught.value.field == f"messages[3].{field}"
    assert caught.value.problem
    assert caught.value.fix


def test_a_message_beyond_the_limit_is_refused_by_its_size() -> None:
    checked(Message(role="user", content="x" * (MAX_MESSAGE_BYTES - 100)))

    with pytest.raises(InvalidMessage, match="bytes") as caught:
        checked(Message(role="user", content="x" * (5 * MAX_MESSAGE_BYTES)))

    assert len(str(caught.value)) < 300


def test_times_are_kept_in_utc() -> None:
    local = datetime(2026, 5, 14, 11, 30, tzinfo=timezone(timedelta(hours=2)))

    assert checked(Message(role="user", content="a", created_at=local)).created_at == AT
    assert checked(Message(role="user", content="a", created_at=local)).created_at.tzinfo is timezone.utc  # type: ignore[union-attr]


def test_an_error_names_types_and_never_shows_what_was_said() -> None:
    with pytest.raises(InvalidMessage) as caught:
        checked(Message(role="user", content="my secret \x00"))

    assert "secret" not in str(caught.value)


def test_words_are_text_parts_alone() -> None:
    parts = (Part("text", "one"), Part("reasoning", "hidden"), Part("image", ref="x"), Part("text", ""), Part("text", "two"))

    assert Message(role="user", content=parts).text == "one\ntwo"
    assert Message(role="assistant").text == ""
    assert Message(role="user", content="plain").text == "plain"


def test_trust_follows_the_role_unless_nobody_in_the_conversation_wrote_it() -> None:
    assert [Message(role=role, content="").trust for role in ("system", "user", "assistant", "tool")] == [
        "user",
        "user",
        "assistant",
        "tool",
    ]
    assert Message(role="user", content="", external=True).trust == "external"
    assert lowest_trust(["user", "tool", "assistant"]) == "tool"
    assert lowest_trust([]) == "external"


def test_V028_a_retry_says_the_same_whatever_its_time_place_and_metadata() -> None:
    one = Message(role="user", content="hi", id="m1", created_at=AT, seq=1, group=1)
    retry = Message(role="user", content="hi", id="m1", metadata={"try": 2}, raw=Raw("openai", b"{}"))

    assert same_message(one, retry)
    assert not same_message(one, msgspec.structs.replace(retry, content="ho"))
    assert not same_message(one, msgspec.structs.replace(retry, role="system"))
    assert not same_message(one, msgspec.structs.replace(retry, name="ada"))


def test_canonical_json_leaves_out_what_it_came_as() -> None:
    message = Message(role="user", content="hi", raw=Raw("openai", b'{"role":"user"}'))

    assert canonical_json(message) == b'{"role":"user","content":"hi"}'
    assert msgspec.json.decode(canonical_json(message), type=Message) == msgspec.structs.replace(message, raw=None)


def test_canonical_lines_are_the_canonical_json_of_each() -> None:
    messages = [
        Message(role="user", content="hi\nthere", raw=Raw("openai", b"{}")),
        Message(role="assistant", content=None, tool_calls=(ToolCall("c1", "look"),), seq=2, group=2),
    ]
    assert canonical_lines(messages) == b"\n".join(map(canonical_json, messages))
    assert canonical_lines([]) == b""


def test_groups_stand_where_they_were_completed() -> None:
    call = Message(role="assistant", tool_calls=(ToolCall("c1", "f"), ToolCall("c2", "f")), seq=1, group=1)
    chat = Message(role="user", content="meanwhile", seq=2, group=2)
    late = Message(role="tool", tool_call_id="c1", content="42", seq=3, group=1)

    plain, tool = groups([late, chat, call])

    assert plain.messages == (chat,)
    assert tool.messages == (call, late)
    assert (tool.number, tool.last_seq, tool.open_calls) == (1, 3, ("c2",))
    assert groups([]) == ()


# -- values ---------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "namespace", [("a",), ["acme", "user-123"], ("a_b", "a%b", "A B", "é\u202e"), ("x",) * 16, ("x" * 200,)]
)
def test_a_namespace_is_a_tuple_of_segments(namespace: Any) -> None:
    assert check_namespace(namespace) == tuple(namespace)


@pytest.mark.parametrize(
    "namespace",
    ["acme", b"acme", None, 5, {"a"}, (), ("a", ""), ("a", " "), ("a", None), ("a", "b\n"), ("x",) * 17, ("x" * 201,)],
)
def test_a_namespace_that_would_mean_nothing_or_everything_is_refused(namespace: Any) -> None:
    with pytest.raises(InvalidNamespace, match="namespace"):
        check_namespace(namespace)


@pytest.mark.parametrize("name", ["a", "../../x", "CON", "ü", "a b", "x" * 200])
def test_an_id_is_any_printable_text(name: str) -> None:
    assert check_id(name, "thread_id") == name


@pytest.mark.parametrize("name", ["", " ", "\n", "a\x00b", "a\x1fb", "a\x7f", "\ud800", "x" * 201, 5, None, b"a"])
def test_an_id_that_a_backend_could_not_hold_is_refused(name: object) -> None:
    with pytest.raises(InvalidInput, match="thread_id"):
        check_id(name, "thread_id")


@given(st.text())
def test_V054_V055_text_is_taken_if_and_only_if_every_backend_can_hold_it(text: str) -> None:
    try:
        encoded = text.encode()
    except UnicodeEncodeError:
        encoded = b"\x00"
    if b"\x00" in encoded:
        with pytest.raises(InvalidInput, match="field"):
            check_text(text, "field")
    else:
        assert check_text(text, "field") is text


json_values: st.SearchStrategy[Any] = st.recursive(
    st.none()
    | st.booleans()
    | st.integers(-(2**63), 2**63 - 1)
    | st.floats(allow_nan=False, allow_infinity=False)
    | st.text(st.characters(exclude_categories=["Cs"], exclude_characters="\x00"), max_size=8),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text("ab.", max_size=3), inner, max_size=4),
    max_leaves=8,
)


@given(json_values)
def test_V109_what_is_taken_as_json_comes_back_equal(value: Any) -> None:
    check_json(value, "metadata")

    assert msgspec.json.decode(msgspec.json.encode(value)) == value


def test_nesting_is_taken_to_a_hundred_levels() -> None:
    deep: Any = 1
    for _ in range(100):
        deep = [deep]
    check_json(deep, "metadata")

    with pytest.raises(InvalidInput, match="deep"):
        check_json([deep], "metadata")


@pytest.mark.parametrize("value", ["2026-05-14", 5, None, datetime(2026, 5, 14)])  # noqa: DTZ001
def test_a_time_without_a_zone_is_refused(value: object) -> None:
    with pytest.raises(InvalidInput, match="created_at"):
        utc(value, "created_at")


@given(st.datetimes(timezones=st.timezones()))
def test_any_aware_time_is_the_same_instant_in_utc(value: datetime) -> None:
    try:
        expected = value.timestamp()
        converted = utc(value, "at")
    except OverflowError:  # year 1 and 9999, where the instant has no date in UTC
        return
    assert converted.tzinfo is timezone.utc
    assert converted.timestamp() == expected


@pytest.mark.parametrize("error", [InvalidInput("f", "p", "x"), InvalidMessage("f", "p"), InvalidNamespace("f", "p")])
def test_an_error_survives_a_process_boundary(error: InvalidInput) -> None:
    import pickle

    back = pickle.loads(pickle.dumps(error))

    assert (type(back), str(back), back.field) == (type(error), str(error), error.field)
    assert isinstance(back, BethinkError)
    assert isinstance(back, ValueError)
