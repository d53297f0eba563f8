"""How the tokens of a context are spread over its sections. Pure."""

from __future__ import annotations

from collections.abc import Iterable

from bethink.context.items import BLOCK
from bethink.context.render import Context
from bethink.messages import Message
from bethink.models import TokenCounter
from bethink.models.tokens import message_tokens

__all__ = ["FRAMING", "section_tokens"]

FRAMING = "framing"
"""The section of what holds the memory block together: its preface, its tags, the frame of its message."""


def section_tokens(context: Context, counter: TokenCounter) -> tuple[dict[str, int], int]:
    """Tokens by section, in the order of `BLOCK` and then "recent messages" and "framing", and those of the memory block.

    They add up to `context.tokens`. "pinned" is pinned messages and pinned lines together; sections with nothing are left out.
    """
    made_of = context.made_of
    pinned = {message.seq for message in made_of.pinned}
    # The memory message is made, not stored, and has no place in the thread.
    memory = _size((message for message in context.messages if not message.seq), counter)
    tokens: dict[str, int] = dict.fromkeys(BLOCK, 0)
    for each in made_of.block:
        tokens[each.item.section] += each.tokens
    framing = memory - sum(tokens.values())
    tokens["pinned"] += _size(made_of.pinned, counter)
    tokens["recent messages"] = _size((m for m in context.messages if m.seq and m.seq not in pinned), counter)
    tokens[FRAMING] = max(framing, 0)
    if framing < 0:
        # Some counters find the whole smaller than its lines: the difference is the largest section's.
        tokens[max(BLOCK, key=lambda name: tokens[name])] += framing
    return {name: amount for name, amount in tokens.items() if amount}, memory


def _size(messages: Iterable[Message], counter: TokenCounter) -> int:
    return sum([message_tokens(message, counter) for message in messages])
