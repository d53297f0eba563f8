"""Step 1 of the way of a message: one canonical form, whatever it came as.

A `Message` is a frozen value: a role, content (text, parts, or none), tool calls, and for a tool result the id of the call it
answers. What a framework sent is kept whole in `raw` whenever the canonical form alone would not give it back exactly, so
what goes in comes back item for item, unknown fields included.

Messages that only make sense together share a `group`: an assistant message, all of its tool calls and all of their results,
with the reasoning that led to them. A group is the smallest unit that may be kept, folded or dropped; nothing downstream ever
looks at a lone tool message.

`seq` and `group` are 0 until a store has given the message its place in a thread (see `threads.place`).
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from datetime import datetime
from operator import attrgetter
from typing import Any, Literal, TypeAlias, get_args

import msgspec

from bethink.errors import InvalidMessage
from bethink.values import check_id, check_json, check_text, utc

__all__ = [
    "MAX_MESSAGE_BYTES",
    "Group",
    "Message",
    "Part",
    "PartType",
    "Raw",
    "Role",
    "Tier",
    "ToolCall",
    "Trust",
    "canonical_json",
    "canonical_lines",
    "check_size",
    "checked",
    "groups",
    "is_unverified",
    "lowest_trust",
    "made",
    "ranges",
    "role_of_voice",
    "same_message",
]

Role: TypeAlias = Literal["system", "developer", "user", "assistant", "tool"]
Tier: TypeAlias = Literal["permanent", "long_term", "working", "ephemeral"]
Trust: TypeAlias = Literal["user", "assistant", "tool", "external"]
PartType: TypeAlias = Literal["text", "image", "audio", "file", "reasoning", "other"]

MAX_MESSAGE_BYTES = 10_000_000

_ROLES = get_args(Role)
_TIERS = get_args(Tier)
_TRUST_ORDER: dict[Trust, int] = {"external": 0, "tool": 1, "assistant": 2, "user": 3}
_RESERVED = frozenset((*_ROLES, *_TRUST_ORDER, "several"))
_TRUST_OF_ROLE: dict[str, Trust] = {
    "system": "user",
    "developer": "user",
    "user": "user",
    "assistant": "assistant",
    "tool": "tool",
}


class ToolCall(msgspec.Struct, frozen=True):
    """One call of a tool. `arguments` is the text as the model wrote it, usually JSON, never parsed and re-written here."""

    id: str
    name: str
    arguments: str = ""


class Part(msgspec.Struct, frozen=True, omit_defaults=True):
    """A piece of content. `text` for text and reasoning (a file's name, the type of an "other" part); `ref` (a URL, data URL or
    file id) for what is not text.
    """

    type: PartType
    text: str = ""
    ref: str = ""


class Raw(msgspec.Struct, frozen=True):
    """The JSON a message came as, and the format it is in (`"openai"`, `"responses"`, ...)."""

    format: str
    json: bytes


class Message(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """One message of a thread.

    Attributes:
        role: who speaks.
        content: text, a tuple of parts, or None (an assistant that only calls tools).
        tool_calls: the calls an assistant message makes, in its order; several are parallel.
        tool_call_id: for role "tool", the call it answers.
        name: the speaker's name where several share a role, or the tool's.
        id: unique in its thread; appending an id again is a retry, not a second message.
        created_at: when it was said; aware UTC. The order in a thread is `seq`, never this.
        metadata: JSON of the caller's own.
        tier: how long it stays in view, unless it is given another later (`Thread.promote`).
        external: True where the text was written by nobody in the conversation (a web page, a document).
        raw: what it came as, where the fields above do not say it all.
        seq, group: place in the thread, from 1; 0 before it is stored.
    """

    role: Role
    content: str | tuple[Part, ...] | None = None
    tool_calls: tuple[ToolCall, ...] = ()
    tool_call_id: str | None = None
    name: str | None = None
    id: str = ""
    created_at: datetime | None = None
    metadata: dict[str, Any] = msgspec.field(default_factory=dict)
    tier: Tier = "working"
    external: bool = False
    raw: Raw | None = None
    seq: int = 0
    group: int = 0

    @property
    def text(self) -> str:
        """The words: text content, or the text parts joined by newlines. No reasoning, no images, no tool arguments."""
        if isinstance(self.content, str):
            return self.content
        return "\n".join(part.text for part in self.content or () if part.type == "text" and part.text)

    @property
    def trust(self) -> Trust:
        """Who vouches for the words."""
        return "external" if self.external else _TRUST_OF_ROLE[self.role]

    @property
    def speaker(self) -> str:
        """The name to show: `name` where there is one, else the role."""
        return self.name or self.role

    @property
    def voice(self) -> str:
        """The speaker as a line of a summary names him. Nobody can pass for another by the name he is given: what a tool or a
        document says is named so first, and likewise whoever bears the name of a role that is not his.
        """
        trust = self.trust
        if trust in ("tool", "external"):
            return f"{trust} {self.name}" if self.name else trust
        if self.name and self.name.strip().casefold() in _RESERVED and self.name != self.role:
            return f"{self.role} {self.name}"
        return self.speaker

    @property
    def pinned(self) -> bool:
        """Always in view and never folded: system and developer messages, and those of tier "permanent"."""
        return self.tier == "permanent" or self.role in ("system", "developer")


def role_of_voice(voice: str) -> str:
    """Whether a user, an assistant or a tool is named by a `Message.voice`; whoever has a name of his own counts as a user."""
    kind = voice.partition(" ")[0]
    return kind if voice in ("user", "assistant") or kind == "tool" else "user"


def is_unverified(voice: str) -> bool:
    """Whether somebody named by a `Message.voice`, or by several of them, is a tool or a document."""
    return any(part.strip().partition(" ")[0] in ("tool", "external") for part in voice.replace(" and ", ", ").split(","))


def made(
    role: Role,
    content: str | Sequence[Part] | None,
    *,
    tool_calls: Sequence[ToolCall] = (),
    metadata: Mapping[str, Any] | None = None,
    **fields: Any,
) -> Message:
    """A message that shares nothing with what the caller may still change: sequences become tuples, the metadata a dict."""
    return Message(
        role=role,
        content=content if content is None or isinstance(content, str) else tuple(content),
        tool_calls=tuple(tool_calls),
        metadata=dict(metadata or {}),
        **fields,
    )


class Group(msgspec.Struct, frozen=True):
    """Messages that are kept or dropped as one, in thread order. `messages` is never empty."""

    messages: tuple[Message, ...]

    @property
    def number(self) -> int:
        """The seq of its first message, which names the group within its thread."""
        return self.messages[0].group

    @property
    def last_seq(self) -> int:
        return self.messages[-1].seq

    @property
    def open_calls(self) -> tuple[str, ...]:
        """Ids of calls that have no result yet (a tool still running, an approval still awaited), in call order."""
        for message in self.messages:
            if message.tool_calls:
                break
        else:
            return ()
        calls = [call.id for message in self.messages for call in message.tool_calls]
        answered = {message.tool_call_id for message in self.messages if message.role == "tool"}
        return tuple(call for call in calls if call not in answered)


_seq = attrgetter("seq")


def groups(messages: Iterable[Message]) -> tuple[Group, ...]:
    """The groups among stored messages, ordered by where each was completed (its last message).

    A result that arrived late therefore stands, with its call before it, at the place where it arrived: the order that model
    providers accept, and the time at which it became news.
    """
    members: dict[int, list[Message]] = {}
    for message in sorted(messages, key=_seq):
        members.setdefault(message.group, []).append(message)
    completed = sorted(members.values(), key=lambda group: group[-1].seq)
    return tuple([Group(tuple(group)) for group in completed])


def ranges(seqs: Iterable[int]) -> tuple[tuple[int, int], ...]:
    """Seqs in order as inclusive ranges."""
    found: list[tuple[int, int]] = []
    for seq in seqs:
        if found and found[-1][1] == seq - 1:
            found[-1] = (found[-1][0], seq)
        else:
            found.append((seq, seq))
    return tuple(found)


def lowest_trust(labels: Iterable[Trust]) -> Trust:
    """The trust of something made from several sources: the lowest among them; "external" for none at all."""
    ordered = sorted(labels, key=lambda label: _TRUST_ORDER[label])
    return ordered[0] if ordered else "external"


# -- checks ---------------------------------------------------------------------------------------------------------------


def checked(message: Message, field: str = "message") -> Message:
    """`message` with its time in UTC, or InvalidMessage naming what is wrong with it.

    Whether a tool result has its call is a question about the thread, asked in `threads.place`.
    """
    if message.role not in _ROLES:
        raise InvalidMessage(f"{field}.role", f"{message.role!r} is not a role", f"use one of {', '.join(_ROLES)}")
    if message.tier not in _TIERS:
        raise InvalidMessage(f"{field}.tier", f"{message.tier!r} is not a tier", f"use one of {', '.join(_TIERS)}")
    if message.id:
        check_id(message.id, f"{field}.id", InvalidMessage)
    if message.name is not None:
        check_text(message.name, f"{field}.name", InvalidMessage)
    _check_content(message, field)
    _check_calls(message, field)
    if message.metadata:
        check_json(message.metadata, f"{field}.metadata", InvalidMessage)
    check_size(message, field)
    if message.created_at is None:
        return message
    return msgspec.structs.replace(message, created_at=utc(message.created_at, f"{field}.created_at", InvalidMessage))


def check_size(message: Message, field: str) -> None:
    """Raise InvalidMessage for a message that is too large to be one."""
    size = len(message.raw.json) if message.raw else _size(message)
    if size > MAX_MESSAGE_BYTES:
        raise InvalidMessage(
            field,
            f"{size:,} bytes",
            f"the limit is {MAX_MESSAGE_BYTES:,}; store the file elsewhere and put a reference to it in the message",
        )


def _size(message: Message) -> int:
    """Bytes of its JSON; an upper bound of them where that is far below the limit anyway."""
    if isinstance(message.content, str) and not message.tool_calls and not message.metadata:
        # JSON escapes a character with six bytes at most; names and ids are short.
        most = 6 * len(message.content) + 4_096
        if most < MAX_MESSAGE_BYTES:
            return most
    return len(canonical_json(message))


def _check_content(message: Message, field: str) -> None:
    if isinstance(message.content, str):
        check_text(message.content, f"{field}.content", InvalidMessage)
    elif isinstance(message.content, tuple):
        for index, part in enumerate(message.content):
            check_text(part.text, f"{field}.content[{index}].text", InvalidMessage)
            check_text(part.ref, f"{field}.content[{index}].ref", InvalidMessage)
    elif message.content is not None:
        raise InvalidMessage(
            f"{field}.content", f"a {type(message.content).__name__}", "pass a string, a tuple of Part, or None"
        )
    if message.content is None and not message.tool_calls and message.role != "assistant":
        raise InvalidMessage(f"{field}.content", "None", f"a {message.role} message needs content; an empty string is fine")


def _check_calls(message: Message, field: str) -> None:
    if message.tool_calls and message.role != "assistant":
        raise InvalidMessage(f"{field}.tool_calls", f"on a {message.role} message", "only the assistant calls tools")
    seen: set[str] = set()
    for index, call in enumerate(message.tool_calls):
        where = f"{field}.tool_calls[{index}]"
        check_id(call.id, f"{where}.id", InvalidMessage)
        check_text(call.name, f"{where}.name", InvalidMessage)
        check_text(call.arguments, f"{where}.arguments", InvalidMessage)
        if call.id in seen:
            raise InvalidMessage(f"{where}.id", "the same id as another call of this message", "give each call its own id")
        seen.add(call.id)
    if message.role == "tool":
        if message.tool_call_id is None:
            raise InvalidMessage(f"{field}.tool_call_id", "missing", "name the call that this result answers")
        check_id(message.tool_call_id, f"{field}.tool_call_id", InvalidMessage)
    elif message.tool_call_id is not None:
        raise InvalidMessage(f"{field}.tool_call_id", f"on a {message.role} message", 'only role "tool" answers a call')


# -- stored form ----------------------------------------------------------------------------------------------------------

_encoder = msgspec.json.Encoder()


def canonical_json(message: Message) -> bytes:
    """The message as JSON without `raw`: what a store keeps and what two messages are compared by."""
    return _encoder.encode(msgspec.structs.replace(message, raw=None) if message.raw else message)


def canonical_lines(messages: Iterable[Message]) -> bytes:
    """The `canonical_json` of each, joined by line breaks."""
    return _encoder.encode_lines([msgspec.structs.replace(each, raw=None) if each.raw else each for each in messages])[:-1]


def same_message(one: Message, other: Message) -> bool:
    """Whether two messages say the same: a retry of an id must, or it is a conflict. Times, metadata and place may differ."""
    return (
        one.role == other.role
        and one.content == other.content
        and one.tool_calls == other.tool_calls
        and one.tool_call_id == other.tool_call_id
        and one.name == other.name
    )
