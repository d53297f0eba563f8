"""Files as items: a JSON document is read whole, JSON Lines are streamed.

A file is JSON Lines if it is called so, or if its first line is an object by itself and another line follows. UTF-8, with or
without a byte order mark, any line ends, with or without the last.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import msgspec

from bethink.errors import ImportFailed
from bethink.importing.conversation import Items, Problems

__all__ = ["items_of"]

_BOM = b"\xef\xbb\xbf"
_UTF16 = (b"\xff\xfe", b"\xfe\xff")


def items_of(path: Path, problems: Problems) -> Items:
    """The top-level items of a file, each with where it stands. Lines are read as they are asked for.

    An item that is no JSON is a problem by its line number; a broken line of JSON Lines costs that line alone.
    """
    with path.open("rb") as file:
        start = file.read(2)
        if start in _UTF16:
            raise ImportFailed("file", "UTF-16 text", "save it as UTF-8")
    return _lines(path, problems) if _is_lines(path) else _document(path, problems)


def _is_lines(path: Path) -> bool:
    with path.open("rb") as file:
        content = (line for line in map(_strip, file) if line)
        first = next(content, b"")
        if path.suffix == ".jsonl":
            return first not in (b"[", b"{")
        return first.startswith(b"{") and next(content, None) is not None and _parsed(first) is not None


def _strip(line: bytes) -> bytes:
    return line.strip().removeprefix(_BOM)


def _parsed(data: bytes) -> Any:
    try:
        return parse(data)
    except ValueError:
        return None


def parse(data: bytes) -> Any:
    """The JSON value that `data` is.

    Raises:
        ValueError: it is not JSON, or not UTF-8.
    """
    try:
        return msgspec.json.decode(data)
    except (msgspec.DecodeError, ValueError):
        # The standard library takes two things that others write: NaN, and halves of surrogate pairs. Both are then refused
        # by the message they are in, which costs that message and not the file.
        return json.loads(data.decode())


def _lines(path: Path, problems: Problems) -> Iterator[tuple[str, Any]]:
    with path.open("rb") as file:
        for number, line in enumerate(file, start=1):
            content = _strip(line)
            if not content:
                continue
            where = f"line {number}"
            with problems.at(where):
                try:
                    value = parse(content)
                except ValueError as error:
                    raise _not_json(where, content, error) from None
                yield where, value


def _document(path: Path, problems: Problems) -> Iterator[tuple[str, Any]]:
    data = _strip(path.read_bytes())
    try:
        value = parse(data)
    except ValueError as error:
        problems.report(_not_json("file", data, error))
        return
    if isinstance(value, list):
        yield from ((f"[{index}]", item) for index, item in enumerate(value))
    else:
        yield "", value


def _not_json(where: str, data: bytes, error: ValueError) -> ImportFailed:
    if isinstance(error, UnicodeDecodeError):
        return ImportFailed(where, f"not UTF-8 at byte {error.start}", "save it as UTF-8")
    if not data:
        return ImportFailed(where, "empty", "give a file with conversations in it")
    if isinstance(error, json.JSONDecodeError):
        at = f"column {error.colno}" if where != "file" else f"line {error.lineno} column {error.colno}"
        if error.pos >= len(data.decode().rstrip()) or error.msg.startswith("Unterminated"):
            return ImportFailed(where, f"JSON that is cut off ({at})", "restore the rest of it, or leave it out")
        return ImportFailed(where, f"not JSON from {at}", "repair it, or leave it out")
    return ImportFailed(where, "not JSON", "repair it, or leave it out")
