"""Messages of ten characters, ten tokens each, and what a plan does with them: for the tests of policies and tiers."""

from __future__ import annotations

from collections.abc import Sequence

from bethink import Message, ToolCall
from bethink.compaction.plan import Plan
from bethink.messages import Group, Role, Tier

_ROLES: tuple[Role, ...] = ("user", "assistant")


def said(role: Role, text: str = "x" * 10, tier: Tier = "working") -> Message:
    return Message(role=role, content=text, tier=tier)


def calling(*ids: str) -> Message:
    return Message(role="assistant", tool_calls=tuple(ToolCall(call_id, "search") for call_id in ids))


def result(call_id: str, text: str = "x" * 10) -> Message:
    return Message(role="tool", content=text, tool_call_id=call_id)


def chat(turns: int) -> list[Message]:
    return [said(role) for _ in range(turns) for role in _ROLES]


def size(group: Group) -> int:
    """Ten characters, ten tokens."""
    return sum(len(message.text) for message in group.messages)


def seqs(found: Sequence[Group]) -> list[int]:
    return [message.seq for group in found for message in group.messages]


def left(plan: Plan) -> list[int]:
    return seqs([each.group for each in plan.left])
