"""A ChatGPT data export: `conversations.json`.

Each conversation is a tree of nodes (`mapping`), since answers can be asked for again and questions edited. The thread is the
path from the root to `current_node`; other branches are not imported. A message of the assistant to a tool (`recipient`)
is a call, and the tool's message after it the result.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

import msgspec

from bethink.errors import ImportFailed
from bethink.formats.content import time_in
from bethink.importing.conversation import Conversation, Draft, Items, Problems, assemble, join, name_in, need, thread_name
from bethink.messages import Message, Part, Role, ToolCall

__all__ = ["conversations"]

_ROLES: dict[str, Role] = {"system": "system", "user": "user", "assistant": "assistant", "tool": "tool"}
# Fields that hold the words of a content, in reading order; which a content has depends on its type.
_TEXTS = ("user_profile", "user_instructions", "title", "text", "result", "content")


def conversations(items: Items, name: str, problems: Problems) -> Iterator[Conversation]:
    """The conversations of an export, in its order."""
    for index, (where, item) in enumerate(items):
        with problems.at(where):
            nodes = _path(item, where)
            title = item.get("title")
            yield assemble(
                "chatgpt",
                name_in(item, "conversation_id", "id") or thread_name(name, index, where),
                _drafts(nodes, problems, item.get("create_time")),
                problems,
                title=title if isinstance(title, str) else "",
            )


def _path(item: Any, where: str) -> list[tuple[str, Mapping[str, Any]]]:
    """The messages from the root to the current node, each with where it is."""
    mapping = need(item, "mapping", dict, where)
    key = item.get("current_node")
    if key is None:
        key = next((key for key in reversed(mapping) if not _children(mapping[key])), None)
    path: list[tuple[str, Mapping[str, Any]]] = []
    seen: set[str] = set()
    while key is not None:
        at = f"{join(where, 'mapping')}.{key}"
        if not isinstance(key, str) or key not in mapping or key in seen:
            raise ImportFailed(join(where, "mapping"), "a node whose parent is not there", "export the data again")
        seen.add(key)
        node = mapping[key]
        if not isinstance(node, Mapping):
            raise ImportFailed(at, f"a {type(node).__name__}", "an object belongs here")
        if node.get("message") is not None:
            path.append((f"{at}.message", need(node, "message", dict, at)))
        key = node.get("parent")
    return path[::-1]


def _children(node: object) -> object:
    return node.get("children") if isinstance(node, Mapping) else None


def _drafts(nodes: list[tuple[str, Mapping[str, Any]]], problems: Problems, start: object) -> list[Draft]:
    drafts: list[Draft] = []
    open_calls: dict[str, str] = {}
    for where, node in nodes:
        with problems.at(where):
            message = _message(node, open_calls, where)
            if message is not None:
                at = time_in(node.get("create_time")) or (time_in(start) if not drafts else None)
                drafts.append(Draft(where, msgspec.structs.replace(message, created_at=at)))
                open_calls.update((call.name, call.id) for call in message.tool_calls)
    return drafts


def _message(node: Mapping[str, Any], open_calls: dict[str, str], where: str) -> Message | None:
    """The message of a node; None for the empty ones that the export is full of."""
    author = need(node, "author", dict, where)
    written = need(author, "role", str, f"{where}.author")
    if written not in _ROLES:
        raise ImportFailed(f"{where}.author.role", "an unknown role", f"one of {', '.join(_ROLES)} belongs here")
    content = _content(need(node, "content", dict, where), f"{where}.content")
    if not content:
        return None
    role, own_id = _ROLES[written], name_in(node, "id") or ""
    speaker = author.get("name") if isinstance(author.get("name"), str) else None
    recipient = node.get("recipient")
    if role == "assistant" and isinstance(recipient, str) and recipient != "all":
        text = content if isinstance(content, str) else "\n".join(part.text for part in content)
        return Message(role=role, id=own_id, tool_calls=(ToolCall(own_id or recipient, recipient, text),))
    if role == "tool":
        call_id = open_calls.pop(speaker or "", None)
        if call_id is None:
            # A second result of one call, or one that the provider called by itself: words of a tool all the same.
            return Message(role="assistant", id=own_id, name=speaker, content=content, external=True)
        return Message(role=role, id=own_id, name=speaker, tool_call_id=call_id, content=content)
    return Message(role=role, id=own_id, name=speaker if role == "user" else None, content=content)


def _content(content: Mapping[str, Any], where: str) -> str | tuple[Part, ...]:
    kind = content.get("content_type")
    if kind in ("thoughts", "reasoning_recap"):
        thoughts = content.get("thoughts")
        texts = (
            [thought.get("content") for thought in thoughts if isinstance(thought, Mapping)]
            if isinstance(thoughts, list)
            else []
        )
        return tuple(Part("reasoning", text) for text in texts if isinstance(text, str) and text)
    if "parts" in content:
        parts = tuple(map(_part, need(content, "parts", list, where)))
        kept = tuple(part for part in parts if part.text or part.ref)
        return "\n".join(part.text for part in kept) if all(part.type == "text" for part in kept) else kept
    words = [content[key] for key in _TEXTS if isinstance(content.get(key), str) and content[key]]
    return "\n".join(words)


def _part(part: object) -> Part:
    if isinstance(part, str):
        return Part("text", part)
    if not isinstance(part, Mapping):
        return Part("other", type(part).__name__)
    kind, pointer, text = part.get("content_type"), part.get("asset_pointer"), part.get("text")
    if isinstance(text, str):
        return Part("text", text)
    ref = pointer if isinstance(pointer, str) else ""
    if isinstance(kind, str) and kind.startswith("image"):
        return Part("image", ref=ref)
    if isinstance(kind, str) and "audio" in kind:
        return Part("audio", ref=ref)
    return Part("other", kind if isinstance(kind, str) else "unknown", ref)
