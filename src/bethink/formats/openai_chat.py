"""OpenAI chat messages (`{"role": ..., "content": ...}`), in and out.

A message goes in and comes back as the same JSON bytes: key order, absent and null fields, and fields unknown here included.
Most messages need nothing for that beside the canonical form; for the others `Raw("openai", ...)` keeps the JSON. So
the data of a large image is stored once.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from datetime import datetime
from typing import Any, TypeGuard, cast

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
from bethink.messages import Group, Message, Part, Raw, Role, ToolCall, check_size, checked
from bethink.values import check_text

__all__ = ["chat_form", "from_openai", "is_plain", "plain", "to_openai", "to_openai_list"]


def from_openai(
    data: Mapping[str, Any],
    *,
    id: str = "",  # noqa: A002
    created_at: datetime | None = None,
    field: str = "message",
) -> Message:
    """The message that `data` says. `data` is not changed, and nothing of it is held on to.

    Args:
        data: one chat message; content may be a string, a list of parts, null, or absent where the format allows it.
        id: the message's id; without it the dict's own "id", if it has a usable one.
        created_at: when it was said; without it the dict's "created_at", if that is an ISO time with a zone or Unix seconds.
        field: what to call it in errors.

    Raises:
        InvalidMessage: naming the field, what was found, and the fix.
    """
    if is_plain(data) and not id and created_at is None:
        return plain(data, field)
    mapping(data, field)
    json = json_bytes(data, field)
    role = role_of(data, field)
    calls = _calls_in(data, field)
    call_id = data.get("tool_call_id") if role == "tool" else None
    if data["role"] == "function":  # the form before tool calls had ids
        role, call_id = "tool", _legacy_id(data.get("name"))
    message = checked(
        Message(
            role=role,
            content=_content_in(data, field),
            tool_calls=calls,
            tool_call_id=call_id,
            name=data.get("name"),
            id=id or id_in(data),
            created_at=created_at if created_at is not None else time_in(data.get("created_at")),
        ),
        field,
    )
    if msgspec.json.encode(chat_form(message)) == json:
        return message
    return checked(msgspec.structs.replace(message, raw=Raw("openai", json)), field)


def is_plain(data: object) -> TypeGuard[dict[str, str]]:
    """Whether it is what most messages are, a role and a text: its canonical form gives the same JSON back."""
    return (
        type(data) is dict
        and tuple(data) == ("role", "content")
        and data["role"] in ("user", "assistant", "system", "developer")
        and type(data["content"]) is str
    )


def plain(data: dict[str, str], field: str) -> Message:
    """The message that such a dict says. Most appends are one of these, so nothing is checked that cannot be wrong with it."""
    check_text(data["content"], f"{field}.content", InvalidMessage)
    message = Message(role=cast("Role", data["role"]), content=data["content"])
    check_size(message, field)
    return message


def _content_in(data: Mapping[str, Any], field: str) -> str | tuple[Part, ...] | None:
    content = content_of(data.get("content"), f"{field}.content")
    refusal, audio = data.get("refusal"), data.get("audio")
    if isinstance(refusal, str) and not content:
        content = refusal
    if isinstance(audio, Mapping):  # an earlier spoken answer, named by its id
        spoken = Part("audio", ref=str(audio.get("id", "")))
        words = (Part("text", content),) if isinstance(content, str) else content or ()
        content = (*words, spoken)
    return content


def _calls_in(data: Mapping[str, Any], field: str) -> tuple[ToolCall, ...]:
    calls = data.get("tool_calls")
    if calls is None:
        legacy = data.get("function_call")
        return (
            (_call_of({"id": _legacy_id(legacy.get("name")), "function": legacy}, field),)
            if isinstance(legacy, Mapping)
            else ()
        )
    if not isinstance(calls, list):
        raise InvalidMessage(f"{field}.tool_calls", f"a {type(calls).__name__}", "pass a list of calls")
    return tuple(_call_of(call, f"{field}.tool_calls[{index}]") for index, call in enumerate(calls))


def _call_of(value: object, field: str) -> ToolCall:
    call = mapping(value, field)
    kind, written = ("custom", "input") if call.get("type") == "custom" else ("function", "arguments")
    function = mapping(call.get(kind), f"{field}.{kind}")
    arguments = function.get(written, "")
    if isinstance(arguments, Mapping):  # some servers send the parsed object
        arguments = json_bytes(arguments, field).decode()
    return ToolCall(id=call.get("id"), name=function.get("name"), arguments=arguments)  # type: ignore[arg-type]  # see checked()


def _legacy_id(name: object) -> str:
    """A `function_call` and the "function" message that answers it share nothing but the name."""
    return f"function_call:{name}"


def to_openai(message: Message) -> dict[str, Any]:
    """The message as one chat message: what `from_openai` was given, or else the plain form.

    Chat has no place for reasoning, which is left out, nor for images outside of user messages, which become a mention
    such as `[image]`. A `Message` with `raw` is given back as that, so whoever changes its content drops `raw`.
    """
    if message.raw is not None and message.raw.format == "openai":
        return decode(message.raw.json)
    return chat_form(message)


def chat_form(message: Message) -> dict[str, Any]:
    """The message as one chat message, from its own fields, whatever it came as."""
    form: dict[str, Any] = {"role": message.role}
    if message.tool_call_id is not None:
        form["tool_call_id"] = message.tool_call_id
    form["content"] = _content_out(message)
    if message.name is not None:
        form["name"] = message.name
    if message.tool_calls:
        custom = custom_calls(message)
        form["tool_calls"] = [_call_form(call, call.id in custom) for call in message.tool_calls]
    return form


def _call_form(call: ToolCall, custom: bool) -> dict[str, Any]:
    if custom:
        return {"id": call.id, "type": "custom", "custom": {"name": call.name, "input": call.arguments}}
    return {"id": call.id, "type": "function", "function": {"name": call.name, "arguments": call.arguments}}


def _content_out(message: Message) -> str | list[dict[str, Any]] | None:
    if not isinstance(message.content, tuple):
        return message.content
    parts = [_part_form(part, message.role == "user") for part in message.content if part.type not in ("reasoning", "other")]
    if message.raw is not None and all(part["type"] == "text" for part in parts):
        # From another format: a plain string is what every chat server understands, and None needs calls beside it.
        return "\n".join(part["text"] for part in parts) or (None if message.tool_calls else "")
    return parts


def _part_form(part: Part, user: bool) -> dict[str, Any]:
    if part.type == "text":
        return {"type": "text", "text": part.text}
    data, url = part.ref.startswith("data:"), "://" in part.ref
    if user and part.type == "image" and (data or url):
        return {"type": "image_url", "image_url": {"url": part.ref}}
    if user and part.type == "audio" and data:
        media, _, encoded = part.ref.partition(";base64,")
        return {"type": "input_audio", "input_audio": {"data": encoded, "format": media.removeprefix("data:audio/")}}
    if user and part.type == "file" and data:
        return {"type": "file", "file": {"filename": part.text or "file", "file_data": part.ref}}
    if user and part.type == "file" and part.ref and not url:
        return {"type": "file", "file": {"file_id": part.ref}}
    return {"type": "text", "text": placeholder(part)}


# -- whole conversations --------------------------------------------------------------------------------------------------


def to_openai_list(messages: Iterable[Message]) -> list[dict[str, Any]]:
    """Messages of a thread as a list that the chat API takes: see `whole_groups` for what is left out.

    The calls of one reply that came as several items become one assistant message, followed by all their results.
    """
    return [form for group in whole_groups(messages) for form in _group_form(group)]


def _has_place(message: Message) -> bool:
    """Whether chat can say it. What came as a chat message can come back as one; reasoning and hosted calls cannot."""
    return (message.raw is not None and message.raw.format == "openai") or not only(message, "reasoning", "other")


def _group_form(group: Group) -> list[dict[str, Any]]:
    said = [message for message in group.messages if message.role != "tool" and _has_place(message)]
    results = [to_openai(message) for message in group.messages if message.role == "tool"]
    calling = [message for message in said if message.tool_calls]
    if len(calling) < 2:
        return [*map(to_openai, said), *results]
    plain = [to_openai(message) for message in said if not message.tool_calls]
    text = "\n".join(message.text for message in calling if message.text)
    calls = [call for message in calling for call in chat_form(message)["tool_calls"]]
    return [*plain, {"role": "assistant", "content": text or None, "tool_calls": calls}, *results]
