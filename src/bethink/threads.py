"""Step 2 of the way of a message: its place in a thread.

A thread is an append-only log. Each message gets the next sequence number (`seq`, from 1, without gaps at the time of writing)
and the number of its group. The rules of placing are here, pure; a store runs them inside its transaction, so that they hold
for any number of writers.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import Any

import msgspec

from bethink.errors import InvalidMessage
from bethink.messages import Message
from bethink.values import Namespace

__all__ = ["HANDOFF", "CallState", "ForkPoint", "Placed", "ThreadInfo", "place"]


HANDOFF = "handoff"
"""The segment below a namespace under which the threads of specialists live, each in a namespace of its own; and the key of a
thread's metadata that says who handed it its work."""


class ForkPoint(msgspec.Struct, frozen=True):
    """Where a thread branched off: the thread it came from and the last `seq` it shares with it."""

    thread_id: str
    seq: int


class ThreadInfo(msgspec.Struct, frozen=True, kw_only=True):
    """What is known of a thread without reading its messages.

    Attributes:
        tip: seq of the newest message ever appended; 0 for an empty thread. Never decreases, also not when messages are
            forgotten, so it can serve as the expected value of a compare-and-set.
        count: messages there now.
        folded_through: every group whose last message is at or below this seq is covered by summary nodes (pinned messages
            excepted, and calls that were open when it was folded).
        extracted_through: insights have been drawn from messages up to this seq.
        reflected_through: the session summary covers messages up to this seq; 0 before the first `end()`.
        updated_at: when the newest message was stored (system time, not `Message.created_at`).
    """

    namespace: Namespace
    thread_id: str
    created_at: datetime
    updated_at: datetime
    tip: int = 0
    count: int = 0
    folded_through: int = 0
    extracted_through: int = 0
    reflected_through: int = 0
    parent: ForkPoint | None = None
    metadata: dict[str, Any] = msgspec.field(default_factory=dict)

    @property
    def handed_from(self) -> str | None:
        """The thread that handed its work to this one (see `Thread.handoff`); None for any other thread.

        It may name a thread that is gone: it is history, not a reference.
        """
        handoff = self.metadata.get(HANDOFF)
        parent = handoff.get("thread") if isinstance(handoff, dict) else None
        return parent if isinstance(parent, str) else None


class CallState(msgspec.Struct, frozen=True):
    """A tool call that is already in the thread: the group it belongs to, and whether it has its result."""

    group: int
    answered: bool = False


class Placed(msgspec.Struct, frozen=True):
    """The outcome of `place`: messages with seq and group, and the state of every call they made or answered."""

    messages: tuple[Message, ...]
    calls: dict[str, CallState]


def place(messages: Sequence[Message], *, tip: int, last: Message | None, calls: Mapping[str, CallState]) -> Placed:
    """Give each new message its seq and its group.

    Args:
        messages: checked, in the caller's order, none of them in the thread yet.
        tip: the thread's tip.
        last: the newest message of the thread, or None.
        calls: state of the calls already in the thread whose ids occur in `messages` (others may be left out).

    Raises:
        InvalidMessage: a tool result without a call before it, or for a call that has its result already.
    """
    states: dict[str, CallState] = {}
    placed: list[Message] = []
    for index, message in enumerate(messages):
        seq = tip + index + 1
        if message.role == "tool":
            group = _group_of_result(message, states, calls, f"messages[{index}]")
            states[_call_id(message)] = CallState(group, answered=True)
        else:
            group = last.group if last is not None and _continues(last, message) else seq
            for call in message.tool_calls:
                known = states.get(call.id) or calls.get(call.id)
                # Some models number their calls afresh in every turn, so an id may come back once its result is in.
                if known is not None and not known.answered:
                    raise InvalidMessage(
                        f"messages[{index}].tool_calls",
                        f"call id {call.id!r} is still waiting for its result",
                        "append that result first, or give the new call its own id",
                    )
                states[call.id] = CallState(group)
        last = msgspec.structs.replace(message, seq=seq, group=group)
        placed.append(last)
    return Placed(tuple(placed), states)


def _call_id(message: Message) -> str:
    assert message.tool_call_id is not None, "checked() lets no tool message through without one"
    return message.tool_call_id


def _group_of_result(message: Message, states: Mapping[str, CallState], calls: Mapping[str, CallState], field: str) -> int:
    call_id = _call_id(message)
    state = states.get(call_id) or calls.get(call_id)
    if state is None:
        raise InvalidMessage(
            f"{field}.tool_call_id",
            f"{call_id!r} is no call of this thread",
            "append the assistant message that makes the call before its result, or in the same batch",
        )
    if state.answered:
        raise InvalidMessage(
            f"{field}.tool_call_id",
            f"call {call_id!r} has its result already",
            "a retry must repeat the id of the message; a second result cannot be sent to a model",
        )
    return state.group


def _continues(last: Message, message: Message) -> bool:
    """Whether `message` is another item of the model reply that `last` belongs to.

    The Responses format sends a reply as several items: reasoning, then the message or the calls it led to, one item per
    parallel call. Providers refuse a reasoning item without its successor and the reverse, so they form one group.
    """
    if last.role != "assistant" or message.role != "assistant":
        return False
    if _only_reasoning(last):
        return True
    # Chat messages carry their parallel calls in one message; two of them in a row are two replies (of two writers, say).
    itemised = last.raw is not None and message.raw is not None and last.raw.format == message.raw.format == "responses"
    return itemised and bool(last.tool_calls and message.tool_calls)


def _only_reasoning(message: Message) -> bool:
    return (
        not message.tool_calls
        and isinstance(message.content, tuple)
        and bool(message.content)
        and all(part.type == "reasoning" for part in message.content)
    )
