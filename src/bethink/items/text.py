"""What of an item's value search reads: its strings, each on a line behind the name that it has in the value.

    {"food": "pizza", "trips": [{"to": "Ghent"}]}  ─ text_of ─▶  food: pizza
                                                                to: Ghent

Paths choose: "trips[*].to", "trips[0]", "profile.name", "profile.*", "$" for the whole value. A key that holds a dot or a
bracket is written in a JSON list of keys: '["a.b", "c"]'. A path that leads nowhere gives nothing.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Sequence
from typing import Any, TypeAlias

from bethink.errors import InvalidInput
from bethink.values import check_text

__all__ = ["Path", "Step", "checked_paths", "strings_of", "text_of"]

Step: TypeAlias = str | int
"""A key of an object, a place in a list, or `EACH`."""
Path: TypeAlias = tuple[Step, ...]
EACH = "*"
"""Every item of a list, and every value of an object."""

MAX_PATHS = 100
MAX_CHARACTERS = 20_000
"""Of the text. What lies beyond is stored, and not found by its words."""

_PART = re.compile(r"([^\[\]]*)((?:\[(?:-?\d{1,9}|\*)\])*)")
_PLACE = re.compile(r"\[(-?\d+|\*)\]")


def checked_paths(index: object) -> tuple[Path, ...] | None:
    """The paths that `index` names; () for none of the value, None for all of it.

    Raises:
        InvalidInput: it is neither true nor false nor a list of paths, or one of them is none.
    """
    if isinstance(index, bool):
        return None if index else ()
    if isinstance(index, str) or not isinstance(index, Sequence):
        raise InvalidInput("index", f"a {type(index).__name__}", 'pass True, False, or paths: index=["title", "notes[*].text"]')
    if len(index) > MAX_PATHS:
        raise InvalidInput("index", f"{len(index)} paths", f"use at most {MAX_PATHS}, or True for all strings")
    return tuple([_path(each, f"index[{place}]") for place, each in enumerate(index)])


def _path(given: object, field: str) -> Path:
    text = check_text(given, field)
    if text == "$":
        return ()
    if text.startswith("["):
        try:
            keys = json.loads(text)
        except (ValueError, RecursionError):
            keys = None
        if not isinstance(keys, list) or not keys or not all(isinstance(key, str) for key in keys):
            raise InvalidInput(field, "not a JSON list of keys", """write it as '["a.b", "c"]'""")
        return tuple(keys)
    steps: list[Step] = []
    for part in text.removeprefix("$.").split("."):
        match = _PART.fullmatch(part)
        if match is None or not part:
            raise InvalidInput(field, "no path", 'write it as "profile.name", "notes[0].text" or "notes[*].text"')
        if match[1]:
            steps.append(match[1])
        steps += [EACH if place == EACH else int(place) for place in _PLACE.findall(match[2])]
    return tuple(steps)


def text_of(value: dict[str, Any], paths: Sequence[Path] | None) -> str:
    """The lines of a value, in the order of the paths, each line once; `paths` as `checked_paths` gives them."""
    found = [("", value)] if paths is None else [each for path in paths for each in _at("", value, path)]
    lines = dict.fromkeys(line for name, each in found for line in _lines(name, each))
    return "\n".join(lines)[:MAX_CHARACTERS]


def _at(name: str, value: Any, path: Sequence[Step]) -> Iterator[tuple[str, Any]]:
    """What is at a path, each with the last name on the way to it."""
    if not path:
        yield name, value
        return
    step, *rest = path
    if isinstance(value, dict):
        if isinstance(step, str) and step in value:
            yield from _at(step, value[step], rest)
        elif step == EACH:
            for key, each in value.items():
                yield from _at(key, each, rest)
    elif isinstance(value, list):
        if step == EACH:
            for each in value:
                yield from _at(name, each, rest)
        elif isinstance(step, int) and -len(value) <= step < len(value):
            yield from _at(name, value[step], rest)


def strings_of(value: Any) -> Iterator[str]:
    """Every string of a value."""
    if isinstance(value, str):
        yield value
    elif isinstance(value, dict | list):
        for each in value.values() if isinstance(value, dict) else value:
            yield from strings_of(each)


def _lines(name: str, value: Any) -> Iterator[str]:
    if isinstance(value, str):
        if value.strip():
            yield f"{name}: {value}" if name else value
    elif isinstance(value, dict):
        for key, each in value.items():
            yield from _lines(key, each)
    elif isinstance(value, list):
        for each in value:
            yield from _lines(name, each)
