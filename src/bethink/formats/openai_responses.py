"""OpenAI Responses items, in and out: one item is one message, and a message may be several items.

The item is always kept whole as `Raw("responses", ...)`: `threads.place` knows by it that a model's reply came in pieces
(reasoning, then the message or one call per item), which together are one group.

    message, {role, content}                          its role
    reasoning                                         assistant, reasoning parts only
    function_call, custom_tool_call, computer_call,   assistant with one call
      shell_call, local_shell_call, apply_patch_call,
      client tool_search_call, mcp_approval_request
    their outputs, mcp_approval_response              tool
    calls that the provider runs itself, compaction,  assistant, one part "other"
      item_reference
    additional_tools, configuration_update            developer, one part "other"

The names are those of `openai.types.responses.ResponseInputItemParam`.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from datetime import datetime
from typing import Any

import msgspec

from bethink.errors import InvalidMessage
from bethink.formats.content import (
    content_of,
    custom_calls,
    decode,
    id_in,
    json_bytes,
    mapping,
    only,
    placeholder,
    role_of,
    time_in,
)
from bethink.formats.whole import whole_groups
from bethink.messages import Group, Message, Part, Raw, ToolCall, checked

__all__ = ["ITEM_TYPES", "from_responses", "to_responses", "to_responses_list"]

# A call: the tool's name where the item has none, and the field that holds what it was called with.
_CALLS: dict[str, tuple[str, str]] = {
    "function_call": ("", "arguments"),
    "custom_tool_call": ("", "input"),
    "computer_call": ("computer", "action"),
    "shell_call": ("shell", "action"),
    "local_shell_call": ("local_shell", "action"),
    "apply_patch_call": ("apply_patch", "operation"),
    "tool_search_call": ("tool_search", "arguments"),
}
_OUTPUTS = frozenset(
    {
        "apply_patch_call_output",
        "computer_call_output",
        "custom_tool_call_output",
        "function_call_output",
        "local_shell_call_output",
        "shell_call_output",
        "tool_search_output",
    }
)
_HOSTED = frozenset(
    {
        "code_interpreter_call",
        "compaction",
        "file_search_call",
        "image_generation_call",
        "item_reference",
        "mcp_call",
        "mcp_list_tools",
        "program",
        "program_output",
        "web_search_call",
    }
)
_SETTINGS = frozenset({"additional_tools", "configuration_update"})

ITEM_TYPES = frozenset(
    {*_CALLS, *_OUTPUTS, *_HOSTED, *_SETTINGS, "message", "reasoning", "mcp_approval_request", "mcp_approval_response"}
)


def from_responses(
    item: Mapping[str, Any],
    *,
    id: str = "",  # noqa: A002
    created_at: datetime | None = None,
    field: str = "item",
) -> Message:
    """The message that one item says. `item` is not changed, and nothing of it is held on to.

    Args:
        item: an input or output item of the Responses API.
        id: the message's id; without it the item's own, if usable.
        created_at: when it was said; without it the item's "created_at", if it has a usable one.
        field: what to call it in errors.

    Raises:
        InvalidMessage: naming the field, what was found, and the fix. So for an item type that is not in `ITEM_TYPES`.
    """
    mapping(item, field)
    json = json_bytes(item, field)
    message = msgspec.structs.replace(
        _canonical(item, field),
        id=id or _own_id(item),
        created_at=created_at if created_at is not None else time_in(item.get("created_at")),
        raw=Raw("responses", json),
    )
    return checked(message, field)


def _own_id(item: Mapping[str, Any]) -> str:
    # A reference carries the id of what it refers to; an output of a local shell may carry its call's.
    return "" if _type_of(item) in ("item_reference", "local_shell_call_output") else id_in(item)


def _type_of(item: Mapping[str, Any]) -> object:
    if item.get("type") is not None:
        return item["type"]
    return "item_reference" if "id" in item and set(item) <= {"id", "type"} else "message"


def _canonical(item: Mapping[str, Any], field: str) -> Message:
    kind = _type_of(item)
    if not isinstance(kind, str):
        raise InvalidMessage(f"{field}.type", f"a {type(kind).__name__}", "name the type of the item")
    if kind == "message":
        return Message(role=role_of(item, field), content=content_of(item.get("content"), f"{field}.content"))
    if kind == "reasoning":
        return Message(role="assistant", content=_thoughts(item, field))
    if kind == "mcp_approval_request":
        return _calls(item.get("id"), item.get("name"), item.get("arguments"), field)
    if kind == "mcp_approval_response":
        reason = item.get("reason")
        verdict = "approved" if item.get("approve") is True else "denied"
        return _answers(item.get("approval_request_id"), f"{verdict}: {reason}" if isinstance(reason, str) else verdict)
    # The provider's own tool search has no call id: nobody else answers it.
    if kind in _HOSTED or (kind in ("tool_search_call", "tool_search_output") and item.get("call_id") is None):
        reference = item.get("id")
        return Message(role="assistant", content=(Part("other", kind, reference if isinstance(reference, str) else ""),))
    if kind in _CALLS:
        name, written = _CALLS[kind]
        given = item.get(written, item.get("actions") if kind == "computer_call" else None)
        return _calls(item.get("call_id"), name or item.get("name"), given, field)
    if kind in _OUTPUTS:
        # What the API documents as "id" of a local shell's output is the id of its call.
        call_id = item.get("call_id", item.get("id") if kind == "local_shell_call_output" else None)
        return _answers(call_id, _output(item.get("output", item.get("tools")), f"{field}.output"))
    if kind in _SETTINGS:
        return Message(role="developer", content=(Part("other", kind),))
    raise InvalidMessage(
        f"{field}.type",
        f"{kind!r} is no item of a conversation that is known here",
        "leave it out, or pass it as text in a message; a newer bethink may know it",
    )


def _thoughts(item: Mapping[str, Any], field: str) -> tuple[Part, ...]:
    """The parts of a reasoning item; one empty part where all of it is encrypted."""
    parts: list[Part] = []
    for key in ("summary", "content"):
        content = content_of(item.get(key), f"{field}.{key}")
        texts = (part.text for part in content) if isinstance(content, tuple) else (content,) if content else ()
        parts += (Part("reasoning", text) for text in texts)
    return tuple(parts) or (Part("reasoning"),)


def _calls(call_id: Any, name: Any, given: object, field: str) -> Message:
    arguments = given if isinstance(given, str) else "" if given is None else json_bytes(given, field).decode()
    return Message(role="assistant", tool_calls=(ToolCall(call_id, name, arguments),))


def _answers(call_id: Any, content: str | tuple[Part, ...]) -> Message:
    return Message(role="tool", tool_call_id=call_id, content=content)


def _output(value: object, field: str) -> str | tuple[Part, ...]:
    """A result: text, parts, a screenshot, or what a shell wrote."""
    if value is None:
        return ""
    if isinstance(value, Mapping):
        value = [value]
    if isinstance(value, list) and all(isinstance(part, Mapping) and "stdout" in part for part in value):
        return tuple(Part("text", f"{part['stdout']}{part.get('stderr', '')}") for part in value)
    return content_of(value, field) or ""


# -- out ------------------------------------------------------------------------------------------------------------------


def to_responses(message: Message) -> list[dict[str, Any]]:
    """The message as items: the one `from_responses` was given, or else the plain form, text before calls.

    No ids are invented. Reasoning parts of other formats are left out, since the API takes back only its own.
    """
    if message.raw is not None and message.raw.format == "responses":
        return [decode(message.raw.json)]
    return _items(message, custom_calls(message))


def _items(message: Message, custom: frozenset[str]) -> list[dict[str, Any]]:
    if message.role == "tool":
        kind = "custom_tool_call_output" if message.tool_call_id in custom else "function_call_output"
        return [{"type": kind, "call_id": message.tool_call_id, "output": _content_out(message) or ""}]
    calls = [_call_item(call, call.id in custom) for call in message.tool_calls]
    content = _content_out(message)
    if calls and not content:
        return calls
    return [{"type": "message", "role": message.role, "content": content or ""}, *calls]


def _call_item(call: ToolCall, custom: bool) -> dict[str, Any]:
    if custom:
        return {"type": "custom_tool_call", "call_id": call.id, "name": call.name, "input": call.arguments}
    return {"type": "function_call", "call_id": call.id, "name": call.name, "arguments": call.arguments}


def _content_out(message: Message) -> str | list[dict[str, Any]] | None:
    if not isinstance(message.content, tuple):
        return message.content
    parts = [part for part in message.content if part.type not in ("reasoning", "other")]
    if message.role == "assistant" or all(part.type == "text" for part in parts):
        # Lists of input parts are for what a model is shown, not for what it said; text alone is a string in both.
        return "\n".join(part.text if part.type == "text" else placeholder(part) for part in parts)
    return [_part_item(part) for part in parts]


def _part_item(part: Part) -> dict[str, Any]:
    if part.type == "text":
        return {"type": "input_text", "text": part.text}
    data, url = part.ref.startswith("data:"), "://" in part.ref
    if part.type == "image" and part.ref:
        return {"type": "input_image", "detail": "auto", "image_url" if data or url else "file_id": part.ref}
    if part.type == "file" and data:
        return {"type": "input_file", "filename": part.text or "file", "file_data": part.ref}
    if part.type == "file" and part.ref:
        return {"type": "input_file", "file_url" if url else "file_id": part.ref}
    return {"type": "input_text", "text": placeholder(part)}


def to_responses_list(messages: Iterable[Message]) -> list[dict[str, Any]]:
    """Messages of a thread as a list that the Responses API takes: see `whole_groups` for what is left out.

    Reasoning that led to nothing that is here is left out too. Where the reasoning itself is missing, what followed it loses
    its id, which is what ties it to that reasoning.
    """
    return [item for group in whole_groups(messages) for item in _group_items(group)]


def _group_items(group: Group) -> list[dict[str, Any]]:
    members = list(group.messages)
    custom = frozenset[str]().union(*map(custom_calls, members))
    followed = max((index for index, member in enumerate(members) if not only(member, "reasoning")), default=-1)
    headless = group.number != members[0].seq
    items: list[dict[str, Any]] = []
    for member in members[: followed + 1]:
        own = to_responses(member) if member.raw and member.raw.format == "responses" else _items(member, custom)
        if headless and member.role == "assistant":
            own = [{key: value for key, value in item.items() if key != "id"} for item in own]
        items += own
    return items
