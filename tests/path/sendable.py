"""What any context must be, for a provider to take it and for the user to be answered."""

from __future__ import annotations

from collections.abc import Sequence

from bethink import Message


def newest_user_message(messages: Sequence[Message]) -> Message | None:
    return next((message for message in reversed(messages) if message.role == "user"), None)


def assert_calls_are_paired(chat: list[dict[str, object]]) -> None:
    """Every call is followed at once by its results, and every result follows its call: what providers accept."""
    awaited: set[object] = set()
    for message in chat:
        if message["role"] == "tool":
            assert message["tool_call_id"] in awaited, "a result without its call"
            awaited.discard(message["tool_call_id"])
            continue
        assert not awaited, "a call without its result"
        calls = message.get("tool_calls") or []
        assert isinstance(calls, list)
        awaited = {call["id"] for call in calls}
    assert not awaited, "a call without its result"
