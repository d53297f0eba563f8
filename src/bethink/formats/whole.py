"""Whole groups for sending: every call with its results, every result with its call, each group in one piece.

Model providers refuse a call that is not followed by its results, a result without its call, and a reasoning item without
what it led to. Both formats are exported through here, so that the rule is in one place.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator

import msgspec

from bethink.messages import Group, Message, groups
from bethink.threads import place

__all__ = ["whole_groups"]


def whole_groups(messages: Iterable[Message]) -> Iterator[Group]:
    """The groups that can be sent, in the order of `messages.groups`.

    Messages that have no place in a thread yet are placed as if they were a thread of their own. A result whose call is
    not among the messages is left out. So is a call that has no result, unless its group is the last: there the result is
    what comes next. Nothing is left out of the thread itself.

    Raises:
        InvalidMessage: messages without a place that could not be appended to a thread either.
    """
    given = tuple(messages)
    if not all(message.group for message in given):
        given = place(given, tip=0, last=None, calls={}).messages
    found = groups(given)
    for group in found:
        members = _paired(group, keep_open=group is found[-1])
        if members:
            yield Group(members)


def _paired(group: Group, *, keep_open: bool) -> tuple[Message, ...]:
    made = {call.id for message in group.messages for call in message.tool_calls}
    unanswered = frozenset() if keep_open else frozenset(group.open_calls)
    members = (_without(message, unanswered) for message in group.messages)
    return tuple(member for member in members if member and (member.role != "tool" or member.tool_call_id in made))


def _without(message: Message, calls: frozenset[str]) -> Message | None:
    """The message less those calls; None if nothing is left of it. What it came as says too much then, and is dropped."""
    if not any(call.id in calls for call in message.tool_calls):
        return message
    kept = tuple(call for call in message.tool_calls if call.id not in calls)
    return msgspec.structs.replace(message, tool_calls=kept, raw=None) if kept or message.text else None
