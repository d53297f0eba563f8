"""Files that tool calls wrote: which calls write, and where."""

from __future__ import annotations

import hashlib
import re
from collections.abc import Iterator, Sequence
from typing import Any

import msgspec

from bethink.messages import Message, ToolCall

__all__ = ["Written", "written_by"]

_WRITING = re.compile(r"(?:write|creat|edit|sav|append|patch|updat|replac|insert|export|upload|put)")
_THING = re.compile(r"(?:file|doc|notebook|artifact|report|fs|path|editor|edittool|patch|object)")
_ALONE = frozenset(("write", "edit", "multiedit", "create", "save"))
_READING = frozenset(("view", "read", "open", "list", "undo_edit", "delete", "remove"))
_PATHS = (
    "path",
    "file_path",
    "filepath",
    "filename",
    "file_name",
    "file",
    "target_file",
    "notebook_path",
    "destination",
    "uri",
    "key",
)
_CONTENTS = ("content", "contents", "file_text", "text", "data")
_PATCHED = re.compile(r"^\*\*\* (?:Add|Update) File: (.+)$", re.MULTILINE)
_FAILED = re.compile(
    r"\W*(?:error|exception|traceback|failed|failure|fatal|permission denied|access denied|denied|no such|cannot|could not"
    r"|unable|invalid|not found|timed? ?out)\b",
    re.IGNORECASE,
)
_LONGEST = 300


class Written(msgspec.Struct, frozen=True):
    """Where a call wrote, the SHA-256 of what, where the call says all of it, and which of its message's calls it was."""

    ref: str
    digest: str = ""
    number: int = 0


def written_by(messages: Sequence[Message], after: int) -> Iterator[tuple[Message, Written]]:
    """What calls wrote whose results came after a seq and report no error; each with the message that made the call."""
    calls: dict[str, tuple[Message, int, ToolCall]] = {}
    for message in messages:
        calls.update((call.id, (message, number, call)) for number, call in enumerate(message.tool_calls))
        made = calls.pop(message.tool_call_id or "", None) if message.role == "tool" else None
        if made and message.seq > after and not made[0].external and made[0].id and not _failed(message.text):
            yield from ((made[0], written) for written in _written(made[2], made[1]))


def _written(call: ToolCall, number: int) -> Iterator[Written]:
    name = re.sub(r"[^a-z]", "", call.name.lower())
    if name not in _ALONE and not (_WRITING.search(name) and _THING.search(name)):
        return
    given = _json(call.arguments)
    if not isinstance(given, dict):
        patch = call.arguments
    elif str(given.get("command", "")).lower() in _READING:
        return
    else:
        path = next((given[key] for key in _PATHS if isinstance(given.get(key), str)), "")
        if _is_path(path):
            content = next((given[key] for key in _CONTENTS if isinstance(given.get(key), str)), None)
            yield Written(path.strip(), "" if content is None else hashlib.sha256(content.encode()).hexdigest(), number)
            return
        patch = next((value for value in given.values() if isinstance(value, str) and "*** " in value), "")
    paths = (path.strip() for path in _PATCHED.findall(patch))
    yield from (Written(path, number=number) for path in paths if _is_path(path))


def _is_path(text: str) -> bool:
    return bool(text.strip()) and len(text) <= _LONGEST and text.isprintable()


def _failed(result: str) -> bool:
    said = _json(result)
    if isinstance(said, dict):
        if said.get("error") or said.get("is_error") or said.get("ok") is False or said.get("success") is False:
            return True
        return str(said.get("status", "")).lower() in ("error", "failed", "failure")
    return bool(_FAILED.match(result))


def _json(text: str) -> Any:
    try:
        return msgspec.json.decode(text)
    except (msgspec.DecodeError, RecursionError):  # the latter: nested deeper than can be read
        return None
