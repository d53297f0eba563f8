"""LangChain messages, as `messages_to_dict` or `dumpd` write them: a list, a list of lists, or a dict of lists by thread.

Each keeps its JSON as `Raw("langchain", ...)`. Nothing is constructed from it: class names in the file are read as text.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from bethink.errors import ImportFailed
from bethink.formats.content import content_of, id_in, json_bytes, mapping, time_in
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
from bethink.messages import Message, Part, Raw, Role, ToolCall

__all__ = ["TYPES", "conversations"]

TYPES: dict[str, Role] = {
    "human": "user",
    "ai": "assistant",
    "system": "system",
    "developer": "developer",
    "tool": "tool",
    "HumanMessageChunk": "user",
    "AIMessageChunk": "assistant",
    "SystemMessageChunk": "system",
    "ToolMessageChunk": "tool",
}
# Blocks of an AI message that say again what its `tool_calls` say.
_CALL_BLOCKS = ("tool_use", "tool_call", "tool_call_chunk", "invalid_tool_call", "function_call")


def conversations(items: Items, name: str, problems: Problems) -> Iterator[Conversation]:
    """The threads of a file. Bare messages at the top level are one thread, whose conversation comes last."""
    bare: list[Draft] = []
    for index, (where, item) in enumerate(items):
        if isinstance(item, Mapping) and ("type" in item or "lc" in item):
            with problems.at(where):
                bare.append(Draft(where, _message(item, where)))
            continue
        with problems.at(where):
            for thread_id, path, messages in _threads(item, where, thread_name(name, index, where)):
                drafts: list[Draft] = []
                for number, message in enumerate(messages):
                    at = f"{path}[{number}]"
                    with problems.at(at):
                        drafts.append(Draft(at, _message(message, at)))
                yield assemble("langchain", thread_id, drafts, problems)
    if bare:
        yield assemble("langchain", thread_name(name, 0, ""), bare, problems)


def _threads(item: Any, where: str, name: str) -> list[tuple[str, str, list[Any]]]:
    """The threads of one item: id, where its messages are, the messages."""
    if isinstance(item, list):
        return [(name, where, item)]
    if isinstance(item, Mapping) and "messages" in item:
        own = name_in(item, "thread_id", "session_id", "conversation_id", "id")
        return [(own or name, join(where, "messages"), need(item, "messages", list, where))]
    if isinstance(item, Mapping):
        return [(name_in({"id": key}, "id") or name, join(where, key), need(item, key, list, where)) for key in item]
    raise ImportFailed(where or "file", f"a {type(item).__name__}", "a list of LangChain messages belongs here")


def _message(item: Any, where: str) -> Message:
    data = mapping(item, where)
    for key in ("kwargs", "data"):
        if isinstance(item.get(key), Mapping):
            data = item[key]
    kind = need(data if "type" in data else item, "type", str, where)
    if kind == "chat":  # a role of the caller's own, which may be any
        kind = need(data, "role", str, where)
        kind = next((known for known, role in TYPES.items() if role == kind), kind)
    role = TYPES.get(kind)
    if role is None:
        raise ImportFailed(
            join(where, "type"), "no type of a message in a conversation", f"one of {', '.join(TYPES)} belongs here"
        )
    kwargs, response = data.get("additional_kwargs"), data.get("response_metadata")
    if role == "system" and isinstance(kwargs, Mapping) and kwargs.get("__openai_role__") == "developer":
        role = "developer"
    stamped = (
        source.get(key) for source in (response, kwargs) if isinstance(source, Mapping) for key in ("created_at", "timestamp")
    )
    content = _content(data, where)
    calls = _calls(data, where) if role == "assistant" else ()
    return Message(
        role=role,
        content=None if calls and not content else content,
        tool_calls=calls,
        tool_call_id=data.get("tool_call_id") if role == "tool" else None,
        name=data.get("name"),
        id=id_in(data),
        created_at=next((at for at in map(time_in, stamped) if at), None),
        raw=Raw("langchain", json_bytes(item, where)),
    )


def _content(data: Mapping[str, Any], where: str) -> str | tuple[Part, ...] | None:
    content = data.get("content")
    if isinstance(content, list):
        content = [part for part in content if not (isinstance(part, Mapping) and part.get("type") in _CALL_BLOCKS)]
    return content_of(content, join(where, "content"))


def _calls(data: Mapping[str, Any], where: str) -> tuple[ToolCall, ...]:
    """The calls; of those whose arguments did not parse too, since an agent loop answers them like the others."""
    calls: list[ToolCall] = []
    for key in ("tool_calls", "invalid_tool_calls"):
        for number, call in enumerate(listed(data, key, where)):
            at = f"{join(where, key)}[{number}]"
            args = call.get("args") if isinstance(call, Mapping) else None
            written = args if isinstance(args, str) else json_bytes({} if args is None else args, f"{at}.args").decode()
            calls.append(ToolCall(need(call, "id", str, at), need(call, "name", str, at), written))
    return tuple(calls)
