"""What the two OpenAI formats share: exact JSON, ids and times found in an item, and the parts that content is made of.

Both formats, and the frameworks that imitate them, name the same few things differently (`image_url`, `input_image`,
`image`). One reader takes all of these names, so a message is understood whichever dialect it was written in.
"""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime, timezone
from typing import Any, cast

import msgspec

from bethink.errors import InvalidMessage
from bethink.messages import Message, Part, PartType, Role
from bethink.values import check_id, check_json

__all__ = [
    "content_of",
    "custom_calls",
    "decode",
    "id_in",
    "json_bytes",
    "mapping",
    "only",
    "part_of",
    "placeholder",
    "role_of",
    "time_in",
    "usable_name",
]

# What the OpenAI Agents SDK writes where a provider gave an item no id. It is the same for all, so it names none of them.
_PLACEHOLDER_ID = "__fake_id__"

_TEXT_KEYS = {
    "text": "text",
    "input_text": "text",
    "output_text": "text",
    "refusal": "refusal",
}
_REASONING_KEYS = {"reasoning": "reasoning", "reasoning_text": "text", "summary_text": "text", "thinking": "thinking"}
_MEDIA: dict[str, PartType] = {
    "image_url": "image",
    "input_image": "image",
    "image": "image",
    "computer_screenshot": "image",
    "input_audio": "audio",
    "audio": "audio",
    "file": "file",
    "input_file": "file",
}


def json_bytes(data: object, field: str) -> bytes:
    """`data` as JSON, keys in their order.

    Raises:
        InvalidMessage: naming the path of a value that would not come back equal (see `values.check_json`).
    """
    check_json(data, field, InvalidMessage)
    return msgspec.json.encode(data, enc_hook=_plain_value)


def _plain_value(value: object) -> object:
    """What the encoder does not know but `check_json` lets through: other mappings, subclasses of the plain types."""
    if isinstance(value, Mapping):
        return dict(value)
    return next(kind(value) for kind in (str, int, float) if isinstance(value, kind))


def decode(json: bytes) -> dict[str, Any]:
    """A fresh copy of an item that `json_bytes` wrote."""
    return cast("dict[str, Any]", msgspec.json.decode(json))


def mapping(value: object, field: str) -> Mapping[str, Any]:
    """`value`, or InvalidMessage if it is no dict."""
    if not isinstance(value, Mapping):
        raise InvalidMessage(field, f"a {type(value).__name__}", "pass a dict")
    return value


def role_of(data: Mapping[str, Any], field: str) -> Role:
    """The role as written; `messages.checked` says which roles there are."""
    if "role" not in data:
        raise InvalidMessage(f"{field}.role", "missing", "say who speaks: system, developer, user, assistant or tool")
    if not isinstance(data["role"], str):
        raise InvalidMessage(f"{field}.role", f"a {type(data['role']).__name__}", "pass a string")
    return cast("Role", data["role"])


def id_in(data: Mapping[str, Any]) -> str:
    """The item's own id if it can serve as a message id, else ""."""
    value = data.get("id")
    return "" if value == _PLACEHOLDER_ID else usable_name(value)


def usable_name(value: object) -> str:
    """`value` if it can serve as a name or id, else ""."""
    try:
        return check_id(value, "id", InvalidMessage)
    except InvalidMessage:
        return ""


def time_in(value: object) -> datetime | None:
    """An instant from an ISO 8601 string with a zone, or from seconds since 1970; None for anything else.

    A string without a zone is left alone: which zone it was meant in is not ours to guess.
    """
    try:
        if isinstance(value, str):
            at = msgspec.convert(value, datetime)
            return at.astimezone(timezone.utc) if at.tzinfo else None
        if isinstance(value, (int, float)) and not isinstance(value, bool):
            return datetime.fromtimestamp(value, timezone.utc)
    except (msgspec.ValidationError, ValueError, OverflowError, OSError):
        return None
    return None


def custom_calls(message: Message) -> frozenset[str]:
    """Ids of those calls whose input is free text (a "custom" tool), which both formats write differently from JSON calls."""
    if message.raw is None or not message.tool_calls:
        return frozenset()
    item = decode(message.raw.json)
    if message.raw.format == "openai":
        return frozenset(call["id"] for call in item.get("tool_calls") or () if call.get("type") == "custom")
    if message.raw.format == "responses" and item.get("type") == "custom_tool_call":
        return frozenset(call.id for call in message.tool_calls)
    return frozenset()


# -- parts ----------------------------------------------------------------------------------------------------------------


def content_of(value: object, field: str) -> str | tuple[Part, ...] | None:
    """Content in canonical form: None and strings as they are, a list as a tuple of parts."""
    if value is None or isinstance(value, str):
        return value
    if not isinstance(value, list):
        raise InvalidMessage(field, f"a {type(value).__name__}", "pass a string, a list of parts, or None")
    return tuple(part_of(part, f"{field}[{index}]") for index, part in enumerate(value))


def part_of(value: object, field: str) -> Part:
    """One part of content. A part of a type not known here is kept as "other", its type as its text."""
    if isinstance(value, str):
        return Part("text", value)
    part = mapping(value, field)
    kind = part.get("type")
    if not isinstance(kind, str):
        found = f"a {type(kind).__name__}" if "type" in part else "missing"
        raise InvalidMessage(f"{field}.type", found, 'name the type of the part, such as "text"')
    if kind in _TEXT_KEYS:
        return Part("text", _string(part, _TEXT_KEYS[kind], field))
    if kind in _REASONING_KEYS:
        text = part.get(_REASONING_KEYS[kind])
        return Part("reasoning", text if isinstance(text, str) else "")
    if kind in _MEDIA:
        return _media(_MEDIA[kind], part, kind)
    return Part("other", text=kind)


def _string(part: Mapping[str, Any], key: str, field: str) -> str:
    value = part.get(key)
    if not isinstance(value, str):
        raise InvalidMessage(f"{field}.{key}", f"a {type(value).__name__}" if key in part else "missing", "pass a string")
    return value


def _media(type_: PartType, part: Mapping[str, Any], kind: str) -> Part:
    """An image, sound or file: where it is (URL, data URL or file id) and the file's name if it has one."""
    inner = part.get(kind)
    fields = {**part, **inner} if isinstance(inner, Mapping) else part
    source = fields.get("source")
    if isinstance(source, Mapping):
        fields = {**fields, **source}
    name = next((fields[key] for key in ("filename", "file_name", "name") if isinstance(fields.get(key), str)), "")
    for key in ("url", "image_url", "file_url", "file_id"):
        if isinstance(fields.get(key), str):
            return Part(type_, text=name, ref=fields[key])
    for key in ("file_data", "data", "base64"):
        if isinstance(fields.get(key), str):
            return Part(type_, text=name, ref=_data_url(fields[key], type_, fields))
    return Part(type_, text=name)


def _data_url(data: str, type_: PartType, fields: Mapping[str, Any]) -> str:
    if data.startswith("data:"):
        return data
    media = fields.get("media_type") or fields.get("mime_type")
    if not isinstance(media, str):
        media = f"audio/{fields.get('format')}" if type_ == "audio" else "application/octet-stream"
    return f"data:{media};base64,{data}"


def placeholder(part: Part) -> str:
    """What stands for a part where a format has no place for it: `[image: https://...]`; never the data itself."""
    where = part.text or ("" if part.ref.startswith("data:") else part.ref)
    return f"[{part.type}: {where}]" if where else f"[{part.type}]"


def only(message: Message, *types: PartType) -> bool:
    """Whether the message is nothing but parts of these types."""
    return (
        isinstance(message.content, tuple)
        and bool(message.content)
        and not message.tool_calls
        and all(part.type in types for part in message.content)
    )
