"""Files to import, and what came of one."""

from __future__ import annotations

import json
from datetime import datetime, timezone
from pathlib import Path
from typing import Any

from bethink.importing import Conversation, read

__all__ = ["AT", "CALL", "FUNCTION_CALL", "chatgpt", "claude", "hello", "langchain", "node", "one", "put", "said"]

AT = datetime(2026, 5, 14, 9, 30, tzinfo=timezone.utc)
FUNCTION_CALL = {"type": "function_call", "id": "fc_1", "call_id": "c1", "name": "f", "arguments": "{}"}
CALL = {"id": "c1", "type": "function", "function": {"name": "f", "arguments": "{}"}}


def put(path: Path, *values: Any, name: str = "file.json") -> Path:
    """A file of one JSON value, or with several, of JSON Lines."""
    file = path / name
    file.write_bytes(b"\n".join(json.dumps(value).encode() for value in values))
    return file


def one(path: Path, *values: Any, format: str | None = None) -> Conversation:  # noqa: A002
    (conversation,) = read(put(path, *values), format)
    return conversation


def said(conversation: Conversation) -> list[tuple[str, str]]:
    return [(message.role, message.text) for message in conversation.messages]


def hello(role: str = "user", content: str = "hi", **more: Any) -> dict[str, Any]:
    return {"role": role, "content": content, **more}


def node(key: str, parent: str | None, role: str | None, *parts: Any, **more: Any) -> dict[str, Any]:
    content = more.pop("content", {"content_type": "text", "parts": list(parts)})
    author = {"role": role, "name": more.pop("name", None), "metadata": {}}
    message = {"id": key, "author": author, "content": content, "recipient": "all", "create_time": 1778751000.5, **more}
    return {"id": key, "parent": parent, "children": [], "message": message if role else None}


def chatgpt(current: str, *nodes: dict[str, Any]) -> list[dict[str, Any]]:
    return [
        {
            "title": "Trip",
            "conversation_id": "conv-1",
            "create_time": AT.timestamp(),
            "current_node": current,
            "mapping": {node["id"]: node for node in nodes},
        }
    ]


def claude(*messages: dict[str, Any]) -> list[dict[str, Any]]:
    return [{"uuid": "conv-1", "name": "Trip", "account": {"uuid": "acc"}, "chat_messages": list(messages)}]


def langchain() -> list[dict[str, Any]]:
    """As `messages_to_dict` writes it."""
    common: dict[str, Any] = {"additional_kwargs": {}, "response_metadata": {}, "name": None, "id": None}
    call = {"name": "f", "args": {"a": 1}, "id": "c1", "type": "tool_call"}
    bad_call = {"type": "invalid_tool_call", "id": "c2", "name": "g", "args": "{bad", "error": None}
    return [
        {"type": "system", "data": {"content": "be brief", "type": "system", **common}},
        {"type": "human", "data": {**common, "content": "hi", "type": "human", "name": "ada", "id": "h1"}},
        {
            "type": "ai",
            "data": {
                **common,
                "content": [{"type": "text", "text": "ok"}, {"type": "tool_use", "id": "c1", "name": "f", "input": {}}],
                "type": "ai",
                "tool_calls": [call],
                "invalid_tool_calls": [bad_call],
                "usage_metadata": None,
            },
        },
        {
            "type": "tool",
            "data": {**common, "content": "42", "type": "tool", "name": "f", "tool_call_id": "c1", "status": "success"},
        },
    ]
