"""A Claude data export: `conversations.json`.

One message of the export may hold words, tool calls and their results in turn; they become messages of their own, so that a
result has the trust of a tool. The text of an attached document becomes a message before the one it was attached to: nobody
in the conversation wrote it.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

import msgspec

from bethink.errors import ImportFailed
from bethink.formats.content import content_of, json_bytes, part_of, time_in
from bethink.importing.conversation import (
    Conversation,
    Draft,
    Items,
    Problems,
    assemble,
    join,
    listed,
    name_in,
    need,
    thread_name,
)
from bethink.messages import Message, Part, Role, ToolCall

__all__ = ["conversations"]

_ROLES: dict[str, Role] = {"human": "user", "assistant": "assistant"}


def conversations(items: Items, name: str, problems: Problems) -> Iterator[Conversation]:
    """The conversations of an export, in its order."""
    for index, (where, item) in enumerate(items):
        with problems.at(where):
            drafts: list[Draft] = []
            for number, message in enumerate(need(item, "chat_messages", list, where)):
                at = f"{join(where, 'chat_messages')}[{number}]"
                with problems.at(at):
                    drafts += (Draft(at, made) for made in _messages(message, at))
            yield assemble(
                "claude",
                name_in(item, "uuid") or thread_name(name, index, where),
                drafts,
                problems,
                title=item["name"] if isinstance(item.get("name"), str) else "",
            )


def _messages(item: Any, where: str) -> list[Message]:
    """The messages that one of the export stands for. The last has its id, those before it have it with a suffix."""
    sender = need(item, "sender", str, where)
    if sender not in _ROLES:
        raise ImportFailed(f"{where}.sender", "an unknown sender", f"{' or '.join(_ROLES)} belongs here")
    own_id = name_in(item, "uuid")
    made = [*_documents(item, where), *_turns(item, _ROLES[sender], own_id or where, where)]
    at = time_in(item.get("created_at"))
    last = len(made) - 1
    return [
        msgspec.structs.replace(message, created_at=at, id=own_id if number == last else f"{own_id}:{number + 1}")
        if own_id
        else msgspec.structs.replace(message, created_at=at)
        for number, message in enumerate(made)
    ]


def _documents(item: Mapping[str, Any], where: str) -> Iterator[Message]:
    for attachment in listed(item, "attachments", where):
        text = attachment.get("extracted_content") if isinstance(attachment, Mapping) else None
        if isinstance(text, str) and text:
            file_name = name_in(attachment, "file_name")
            metadata = {"file_name": file_name} if file_name else {}
            yield Message(role="user", content=text, external=True, metadata=metadata)


def _turns(item: Mapping[str, Any], role: Role, key: str, where: str) -> list[Message]:
    blocks = item.get("content")
    if not isinstance(blocks, list) or not blocks:
        blocks = [{"type": "text", "text": need(item, "text", str, where)}]
    made: list[Message] = []
    parts: list[Part] = []
    calls: list[ToolCall] = []
    waiting: list[str] = []

    def close() -> None:
        if parts or calls:
            plain = all(part.type == "text" for part in parts)
            content = "\n".join(part.text for part in parts) if plain else tuple(parts)
            made.append(Message(role=role, content=content or None, tool_calls=tuple(calls)))
        parts.clear()
        calls.clear()

    for number, block in enumerate(blocks):
        at = f"{where}.content[{number}]"
        kind = need(block, "type", str, at)
        if kind == "tool_use":
            call_id = name_in(block, "id") or f"{key}/{number}"
            waiting.append(call_id)
            arguments = json_bytes(block.get("input") or {}, f"{at}.input").decode()
            calls.append(ToolCall(call_id, need(block, "name", str, at), arguments))
        elif kind == "tool_result":
            close()
            call_id = name_in(block, "tool_use_id") or (waiting[0] if waiting else "")
            if call_id in waiting:
                waiting.remove(call_id)
            result = content_of(block.get("content"), f"{at}.content")
            made.append(Message(role="tool", tool_call_id=call_id, name=name_in(block, "name"), content=result or ""))
        elif kind != "text" or block.get("text"):
            part = part_of(block, at)
            if calls:  # words after a call that has no result: a turn of their own
                close()
            parts.append(part)
    parts += (Part("file", file_name) for file in listed(item, "files", where) if (file_name := _file_name(file)))
    close()
    return made


def _file_name(file: object) -> str | None:
    return name_in(file, "file_name") if isinstance(file, Mapping) else None
