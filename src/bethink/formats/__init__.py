"""Message formats of others, in and out. Each comes back as it went in; each can be had from any message.

    openai      chat messages              from_openai, to_openai, to_openai_list
    responses   Responses items            from_responses, to_responses, to_responses_list

`from_any` takes either, and `to_format` writes either by name.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any, Literal, TypeAlias

from bethink.errors import InvalidInput, InvalidMessage
from bethink.formats.openai_chat import from_openai, is_plain, plain, to_openai, to_openai_list
from bethink.formats.openai_responses import ITEM_TYPES, from_responses, to_responses, to_responses_list
from bethink.messages import Message, checked

__all__ = [
    "MessageFormat",
    "from_any",
    "from_openai",
    "from_responses",
    "is_item",
    "to_format",
    "to_openai",
    "to_openai_list",
    "to_responses",
    "to_responses_list",
]

MessageFormat: TypeAlias = Literal["openai", "responses"]

_ITEM_PARTS = ("input_text", "input_image", "input_file", "output_text")


def from_any(value: Message | Mapping[str, Any], *, field: str = "message") -> Message:
    """A checked message from a `Message`, a chat message, or a Responses item.

    Raises:
        InvalidMessage: naming the field, what was found, and the fix.
    """
    if isinstance(value, Message):
        return checked(value, field)
    if is_plain(value):
        return plain(value, field)
    if not isinstance(value, Mapping):
        raise InvalidMessage(
            field, f"a {type(value).__name__}", 'pass a Message or a dict such as {"role": "user", "content": "..."}'
        )
    return from_responses(value, field=field) if is_item(value) else from_openai(value, field=field)


def is_item(value: Mapping[str, Any]) -> bool:
    """Whether a dict is a Responses item and not a chat message.

    A bare `{"role": ..., "content": "text"}` is both; it is taken as a chat message, which says the same.
    """
    kind = value.get("type")
    if kind is not None:
        return "role" not in value or (isinstance(kind, str) and kind in ITEM_TYPES)
    if "role" not in value:
        return set(value) <= {"id", "type"} and "id" in value
    content = value.get("content")
    return isinstance(content, list) and any(isinstance(part, Mapping) and part.get("type") in _ITEM_PARTS for part in content)


def to_format(messages: Iterable[Message], format: MessageFormat) -> list[dict[str, Any]]:  # noqa: A002
    """Messages of a thread as a list that the API of that name takes.

    Raises:
        InvalidInput: no format of that name.
    """
    if format == "openai":
        return to_openai_list(messages)
    if format == "responses":
        return to_responses_list(messages)
    raise InvalidInput("format", f"{format!r} is not a message format", 'use "openai" or "responses"')
