"""Chat messages and Responses items in files, in the shapes that people keep them.

    [message, ...]                       one thread, named after the file
    {"messages": [message, ...], ...}    one thread; "input", "items" and "output" likewise, in this order
    [thread, thread, ...]                several, each in one of the shapes above
    JSON Lines                           a thread or a message a line

Beside its messages a thread may say "thread_id" (or "conversation_id", "session_id", "id"), "title", "user".
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from bethink.formats import from_any, from_openai, from_responses, is_item
from bethink.formats.content import id_in, time_in
from bethink.importing.conversation import Conversation, Draft, Items, Problems, assemble, join, name_in, need, thread_name
from bethink.messages import Message

__all__ = ["MESSAGE_LISTS", "conversations", "is_thread"]

MESSAGE_LISTS = ("messages", "input", "items", "output")
_THREAD_IDS = ("thread_id", "conversation_id", "session_id", "id")


def conversations(items: Items, name: str, problems: Problems, *, source: str) -> Iterator[Conversation]:
    """The threads of a file. Bare messages at the top level are one thread, whose conversation comes last.

    With source "responses", `{role, content}` without a type is taken as an item, which it is too.
    """
    bare: list[Draft] = []
    for index, (where, item) in enumerate(items):
        if not isinstance(item, list) and not is_thread(item):
            bare += _drafts([(where, item)], problems, source)
            continue
        with problems.at(where):
            yield _conversation(where, item, thread_name(name, index, where), problems, source)
    if bare:
        yield assemble(source, thread_name(name, 0, ""), bare, problems)


def is_thread(value: object) -> bool:
    """Whether a value holds messages and is none itself (items hold "input" and "output" too)."""
    return (
        isinstance(value, Mapping)
        and "role" not in value
        and "type" not in value
        and any(isinstance(value.get(key), list) for key in MESSAGE_LISTS)
    )


def _conversation(where: str, item: Any, name: str, problems: Problems, source: str) -> Conversation:
    if isinstance(item, list):
        return assemble(source, name, _drafts(_located(item, where), problems, source), problems)
    located: list[tuple[str, Any]] = []
    for key in MESSAGE_LISTS:
        if isinstance(item.get(key), str):  # the Responses API takes a bare string for one user message
            located.append((join(where, key), {"role": "user", "content": item[key]}))
        elif key in item:
            located += _located(need(item, key, list, where), join(where, key))
    title = item.get("title")
    return assemble(
        source,
        name_in(item, *_THREAD_IDS) or name,
        _drafts(located, problems, source, item.get("created_at")),
        problems,
        title=title if isinstance(title, str) else "",
        user=name_in(item, "user"),
    )


def _located(items: list[Any], where: str) -> list[tuple[str, Any]]:
    separator = ": " if where.startswith("line") and ": " not in where else ""
    return [(f"{where}{separator}[{index}]", item) for index, item in enumerate(items)]


def _drafts(
    located: list[tuple[str, Any]],
    problems: Problems,
    source: str,
    start: object = None,
) -> list[Draft]:
    drafts: list[Draft] = []
    for where, item in located:
        with problems.at(where):
            drafts.append(Draft(where, _message(item, where, source, start)))
    return drafts


def _message(item: Any, where: str, source: str, start: object) -> Message:
    if not isinstance(item, Mapping):
        return from_any(item, field=where)  # which refuses it
    if source == "responses" or is_item(item):
        return from_responses(item, created_at=time_in(item.get("created_at", start)), field=where)
    # Id and time are no fields of a chat message: once understood they are not kept among its JSON, which goes to providers.
    at, own_id = time_in(item.get("created_at")), id_in(item)
    taken = {key for key, found in (("created_at", at), ("id", own_id)) if found}
    return from_openai({key: value for key, value in item.items() if key not in taken}, id=own_id, created_at=at, field=where)
