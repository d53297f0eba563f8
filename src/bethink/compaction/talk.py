"""What is talked about in a transcript: its groups, without the pinned ones and those that a summary stands for.

From one context to the next a thread grows by a message or two. Then its talk is that of before with these, and nothing of what
was there is looked at again. Pure.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import msgspec

from bethink.marks import Tiered, is_pinned
from bethink.messages import Group, Message, groups
from bethink.models.measure import Measure
from bethink.records import Node
from bethink.storage.base import Transcript

__all__ = ["Talk", "talk_of", "without_pinned"]


class Talk(msgspec.Struct, frozen=True, kw_only=True):
    """A transcript taken apart.

    Attributes:
        pinned: messages that are always in view, by seq.
        whole: groups that are complete, in the order in which they were completed.
        waiting: groups with a call that has no result yet.
        sizes: tokens of each group in `whole`, by its number.
    """

    transcript: Transcript
    pinned: tuple[Message, ...]
    whole: tuple[Group, ...]
    waiting: tuple[Group, ...]
    sizes: Mapping[int, int]


def talk_of(transcript: Transcript, measure: Measure, before: Talk | None = None) -> Talk:
    """What is talked about in a transcript; `before` is what was, by the same measure, where that is known."""
    if before is None or not _goes_on(before.transcript, transcript):
        return _taken_apart(transcript, transcript.messages, measure)
    more = _taken_apart(transcript, transcript.messages[len(before.transcript.messages) :], measure)
    return msgspec.structs.replace(
        more,
        pinned=before.pinned + more.pinned,
        whole=before.whole + more.whole,
        waiting=before.waiting + more.waiting,
        sizes={**before.sizes, **more.sizes},
    )


def _goes_on(before: Transcript, now: Transcript) -> bool:
    """Whether nothing has happened to a thread but that whole groups were appended."""
    known = len(before.messages)
    return (
        now.thread.folded_through == before.thread.folded_through
        and now.nodes == before.nodes
        and now.tiers == before.tiers
        and now.messages[:known] == before.messages
        and all(message.group > before.thread.tip for message in now.messages[known:])
    )


def _taken_apart(transcript: Transcript, messages: tuple[Message, ...], measure: Measure) -> Talk:
    pinned, talk = without_pinned(groups(messages), transcript.tiers)
    talk = _not_covered(talk, transcript.nodes, transcript.thread.folded_through)
    waiting = tuple([group for group in talk if group.open_calls])
    whole = tuple([group for group in talk if not group.open_calls]) if waiting else talk
    sizes = {group.number: measure.messages(group.messages) for group in whole}
    return Talk(transcript=transcript, pinned=pinned, whole=whole, waiting=waiting, sizes=sizes)


def without_pinned(found: Sequence[Group], tiers: Mapping[int, Tiered]) -> tuple[tuple[Message, ...], tuple[Group, ...]]:
    """Pinned messages by seq, and the groups of the others. What shares a group with a pinned message is pinned with it, unless
    one of its calls still waits for its result.
    """
    pinned = [group for group in found if any(is_pinned(message, tiers) for message in group.messages) and not group.open_calls]
    if not pinned:
        return (), tuple(found)
    numbers = {group.number for group in pinned}
    messages = sorted((message for group in pinned for message in group.messages), key=lambda message: message.seq)
    return tuple(messages), tuple(group for group in found if group.number not in numbers)


def _not_covered(found: tuple[Group, ...], nodes: Sequence[Node], through: int) -> tuple[Group, ...]:
    """Groups past `through` that no node stands for. (A fork may inherit nodes beyond its own `folded_through`.)"""
    spans = [span for node in nodes if node.last_seq > through for span in node.covers]
    if not spans:
        return found
    return tuple(group for group in found if not any(first <= group.last_seq <= last for first, last in spans))
