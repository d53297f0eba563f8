"""Conversations from files: `read(path)` yields them, in one of these formats.

    openai      chat messages          chatgpt     a ChatGPT data export
    responses   Responses items        claude      a Claude data export
    jsonl       bethink's own export   langchain   messages_to_dict of LangChain
                                       locomo      the LoCoMo data set

Reading the same file again gives the same ids, so appending what it yields a second time adds nothing.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from functools import partial
from itertools import chain, islice
from pathlib import Path
from typing import Any

from bethink.errors import ImportFailed
from bethink.formats import is_item
from bethink.importing import chatgpt, claude, jsonl, langchain, locomo, openai
from bethink.importing.conversation import Conversation, Items, OnError, Problems
from bethink.importing.files import items_of
from bethink.importing.jsonl import PlacedCheckpoint, export_line
from bethink.storage.base import StoredRecord

__all__ = [
    "FORMATS",
    "Conversation",
    "OnError",
    "PlacedCheckpoint",
    "detect",
    "export_line",
    "read",
    "read_checkpoints",
    "read_records",
]

_READERS: dict[str, Callable[[Items, str, Problems], Iterator[Conversation]]] = {
    "openai": partial(openai.conversations, source="openai"),
    "responses": partial(openai.conversations, source="responses"),
    "chatgpt": chatgpt.conversations,
    "claude": claude.conversations,
    "langchain": langchain.conversations,
    "locomo": locomo.conversations,
    "jsonl": jsonl.conversations,
}

FORMATS = tuple(_READERS)

# How many items are looked at to tell the format: the first ones of a list may be messages that several formats share.
_SAMPLE = 50


def read(
    path: Path,
    format: str | None = None,  # noqa: A002
    *,
    on_error: OnError = "stop",
    errors: list[ImportFailed] | None = None,
) -> Iterator[Conversation]:
    """The conversations of a file, each whole, in the file's order. JSON Lines are streamed: one thread in memory at a time.

    Args:
        path: a UTF-8 file of JSON or JSON Lines.
        format: one of `FORMATS`; told from the content when left out.
        on_error: "stop" raises at the first item that cannot be taken; "skip" leaves it out and goes on.
        errors: with "skip", each problem is appended here.

    Raises:
        ImportFailed: naming where in the file, the field, what was found, and the fix. Always so if the file as a whole cannot
            be taken: not readable, of an unknown format.
    """
    problems = Problems(on_error, errors)
    _check_file(path)
    items = iter(items_of(path, problems))
    if format is None:
        sample = list(islice(items, _SAMPLE))
        if not sample and problems.found:
            return
        format, items = _format_of_items(sample), chain(sample, items)  # noqa: A001
    if format not in _READERS:
        raise ImportFailed("format", f"{format!r} is not a format", f"use one of {', '.join(FORMATS)}")
    yield from _READERS[format](items, path.stem, problems)


def read_records(path: Path, *, on_error: OnError = "stop", errors: list[ImportFailed] | None = None) -> Iterator[StoredRecord]:
    """The long-term records of a file that bethink exported."""
    _check_file(path)
    return jsonl.records(path, Problems(on_error, errors))


def read_checkpoints(
    path: Path, *, on_error: OnError = "stop", errors: list[ImportFailed] | None = None
) -> Iterator[PlacedCheckpoint]:
    """The checkpoints of a file that bethink exported."""
    _check_file(path)
    return jsonl.checkpoints(path, Problems(on_error, errors))


def detect(path: Path) -> str:
    """The format of a file, told from its first items.

    Raises:
        ImportFailed: it is none of `FORMATS`.
    """
    _check_file(path)
    return _format_of_items(list(islice(items_of(path, Problems("skip")), _SAMPLE)))


def _check_file(path: Path) -> None:
    if not path.is_file():
        raise ImportFailed("file", "not there, or not a file", "check the path; of an archive, unpack it first")


def _format_of_items(sample: list[tuple[str, Any]]) -> str:
    found = _format_of([item for _, item in sample])
    if found is None:
        raise ImportFailed("file", "of a format that is not known here", f"name the format: one of {', '.join(FORMATS)}")
    return found


def _format_of(value: Any) -> str | None:
    """The format that a value is written in; None if it is none that is known."""
    if isinstance(value, list):
        found = [format for format in map(_format_of, value[:_SAMPLE]) if format]  # noqa: A001
        # A plain {role, content} is both a chat message and a Responses item; what stands beside it decides.
        return next((format for format in found if format != "openai"), found[0] if found else None)  # noqa: A001
    if not isinstance(value, Mapping):
        return None
    kind = value.get("type")
    marks: tuple[tuple[str, bool], ...] = (
        ("jsonl", kind in ("thread", "message", "record", "checkpoint") and "namespace" in value),
        ("chatgpt", isinstance(value.get("mapping"), Mapping)),
        ("claude", isinstance(value.get("chat_messages"), list)),
        ("locomo", isinstance(value.get("conversation"), Mapping)),
        ("langchain", "lc" in value or (isinstance(kind, str) and (kind in langchain.TYPES or kind == "chat"))),
    )
    for format, holds in marks:  # noqa: A001
        if holds:
            return format
    if openai.is_thread(value):
        key = next(key for key in openai.MESSAGE_LISTS if isinstance(value.get(key), list))
        return _format_of(value[key]) or ("openai" if key == "messages" else "responses")
    if "role" in value or kind is not None:
        return "responses" if is_item(value) else "openai"
    lists = [item for item in value.values() if isinstance(item, list)]
    return "langchain" if lists and _format_of(lists[0]) == "langchain" else None
