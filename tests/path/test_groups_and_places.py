"""Which messages belong together, and where a new one goes: `messages.groups` and `threads.place`."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime, timezone

import pytest
from hypothesis import HealthCheck, given, settings

from bethink.errors import InvalidMessage
from bethink.messages import Group, Message, Part, Raw, ToolCall, groups
from bethink.testing.strategies import histories
from bethink.threads import CallState, Placed, place

for_any = settings(max_examples=60, deadline=None, suppress_health_check=[HealthCheck.too_slow])
AT = datetime(2026, 3, 1, 12, tzinfo=timezone.utc)


def said(role: str, text: str = "…", **fields: object) -> Message:
    return Message(role=role, content=text, created_at=AT, **fields)  # type: ignore[arg-type]


def calling(*ids: str) -> Message:
    return Message(role="assistant", created_at=AT, tool_calls=tuple(ToolCall(call_id, "search", "{}") for call_id in ids))


def result(call_id: str, text: str = "found") -> Message:
    return said("tool", text, tool_call_id=call_id)


def thinking() -> Message:
    return Message(role="assistant", content=(Part("reasoning", "hm"),), created_at=AT)


def placed(*messages: Message) -> tuple[Message, ...]:
    return place(messages, tip=0, last=None, calls={}).messages


def seqs(found: Sequence[Group]) -> list[list[int]]:
    return [[message.seq for message in group.messages] for group in found]


def test_messages_are_numbered_from_the_tip_without_gaps() -> None:
    found = place([said("user"), said("assistant")], tip=7, last=None, calls={}).messages
    assert [message.seq for message in found] == [8, 9]


def test_a_plain_message_is_a_group_of_its_own_named_by_its_seq() -> None:
    assert [message.group for message in placed(said("user"), said("assistant"), said("assistant"))] == [1, 2, 3]


def test_parallel_calls_and_all_their_results_are_one_group() -> None:
    found = placed(said("user"), calling("a", "b", "c"), result("b"), result("c"), result("a"))
    assert [message.group for message in found] == [1, 2, 2, 2, 2]
    assert groups(found)[1].open_calls == ()


def test_calls_without_a_result_are_listed_in_the_order_of_the_calls() -> None:
    assert groups(placed(calling("a", "b", "c"), result("b")))[0].open_calls == ("a", "c")


def test_reasoning_and_the_reply_it_led_to_are_one_group() -> None:
    found = placed(said("user"), thinking(), calling("a"), result("a"))
    assert [message.group for message in found] == [1, 2, 2, 2]


def test_reasoning_before_a_user_message_stays_alone() -> None:
    assert [message.group for message in placed(thinking(), said("user"))] == [1, 2]


def test_parallel_calls_sent_as_single_items_are_one_group() -> None:
    def item(call_id: str) -> Message:
        return Message(role="assistant", tool_calls=(ToolCall(call_id, "f"),), raw=Raw("responses", b"{}"), created_at=AT)

    found = placed(item("a"), item("b"), result("a"), result("b"))
    assert [message.group for message in found] == [1, 1, 1, 1]


def test_two_chat_messages_with_calls_are_two_groups() -> None:
    assert [message.group for message in placed(calling("a"), calling("b"), result("a"), result("b"))] == [1, 2, 1, 2]


def test_V005_a_late_result_joins_its_call_and_stands_where_it_arrived() -> None:
    found = groups(placed(calling("a"), said("user"), said("assistant"), result("a"), said("user")))
    assert seqs(found) == [[2], [3], [1, 4], [5]]


def test_a_result_in_a_later_batch_finds_the_group_of_its_call() -> None:
    later = place([result("a")], tip=5, last=said("user"), calls={"a": CallState(group=2)})
    assert later.messages[0].group == 2
    assert later.calls == {"a": CallState(2, answered=True)}


def test_a_call_id_may_come_back_once_its_result_is_in() -> None:
    found = placed(calling("a"), result("a"), calling("a"), result("a"))
    assert [message.group for message in found] == [1, 1, 3, 3]


@pytest.mark.parametrize(
    ("messages", "field"),
    [
        ([said("user"), result("nowhere")], "messages[1].tool_call_id"),
        ([calling("a"), result("a"), result("a")], "messages[2].tool_call_id"),
        ([calling("a"), calling("a")], "messages[1].tool_calls"),
    ],
    ids=["a result without a call", "a second result", "a call whose id is still open"],
)
def test_what_cannot_be_placed_is_refused_by_name(messages: list[Message], field: str) -> None:
    with pytest.raises(InvalidMessage) as caught:
        placed(*messages)
    assert caught.value.field == field


@for_any
@given(histories())
def test_any_history_is_split_into_groups_completely(history: list[Message]) -> None:
    found = groups(placed(*history))
    assert sorted(seq for group in seqs(found) for seq in group) == list(range(1, len(history) + 1))
    assert [group.last_seq for group in found] == sorted(group.last_seq for group in found)
    assert all(group.messages[0].seq == group.number for group in found)


@for_any
@given(histories())
def test_no_result_of_any_history_is_apart_from_its_call(history: list[Message]) -> None:
    for group in groups(placed(*history)):
        called: list[str] = []
        for message in group.messages:
            if message.role == "tool":
                assert message.tool_call_id in called
            called += [call.id for call in message.tool_calls]


@for_any
@given(histories())
def test_placing_one_at_a_time_gives_what_placing_all_at_once_gives(history: list[Message]) -> None:
    at_once = place(history, tip=0, last=None, calls={})
    so_far = Placed((), {})
    for message in history:
        last = so_far.messages[-1] if so_far.messages else None
        step = place([message], tip=len(so_far.messages), last=last, calls=so_far.calls)
        so_far = Placed(so_far.messages + step.messages, so_far.calls | step.calls)
    assert so_far == at_once
