"""Checks at the door: what every public call runs its arguments through before anything is written.

Each function returns the value in its stored form or raises `InvalidInput` naming the field, what it got and the fix.
"""

from __future__ import annotations

import math
import re
from collections.abc import Mapping, Sequence
from datetime import datetime, timezone
from typing import Any, TypeAlias

from bethink.errors import InvalidInput, InvalidNamespace

__all__ = ["Namespace", "check_id", "check_json", "check_namespace", "check_text", "utc"]

Namespace: TypeAlias = tuple[str, ...]

MAX_NAME_LENGTH = 200
MAX_NAMESPACE_DEPTH = 16
_MAX_JSON_DEPTH = 100
_CONTROL = re.compile(r"[\x00-\x1f\x7f]")


def check_namespace(namespace: Sequence[str]) -> Namespace:
    """A namespace as a tuple: 1 to 16 non-empty segments without control characters, each at most 200 characters."""
    if isinstance(namespace, str) or not isinstance(namespace, Sequence):
        raise InvalidNamespace(
            "namespace", f"a {type(namespace).__name__}", 'pass a tuple of segments, such as ("acme", "user-123")'
        )
    if not 1 <= len(namespace) <= MAX_NAMESPACE_DEPTH:
        raise InvalidNamespace("namespace", f"{len(namespace)} segments", f"use 1 to {MAX_NAMESPACE_DEPTH}")
    for position, segment in enumerate(namespace):
        check_id(segment, f"namespace[{position}]", InvalidNamespace)
    return tuple(namespace)


def check_id(value: object, field: str, error: type[InvalidInput] = InvalidInput) -> str:
    """A name or id: a non-empty string without control characters or lone surrogates, at most 200 characters."""
    if not isinstance(value, str):
        raise error(field, f"a {type(value).__name__}", "pass a string")
    if not value or value.isspace():
        raise error(field, "empty", "an empty name would mean everything or nothing; give one")
    if len(value) > MAX_NAME_LENGTH:
        raise error(field, f"{len(value)} characters", f"use at most {MAX_NAME_LENGTH}")
    if _CONTROL.search(value):
        raise error(field, "holds a control character", "remove it")
    return check_text(value, field, error)


def check_text(value: object, field: str, error: type[InvalidInput] = InvalidInput) -> str:
    """A text that every backend can hold: no NUL (PostgreSQL has no place for it), no lone surrogate (UTF-8 has none)."""
    if not isinstance(value, str):
        raise error(field, f"a {type(value).__name__}", "pass a string")
    if "\x00" in value:
        raise error(field, f"holds a NUL character at {value.index(chr(0))}", 'remove it: text.replace("\\x00", "")')
    try:
        value.encode()
    except UnicodeEncodeError as error_found:
        raise error(
            field,
            f"holds a lone surrogate at {error_found.start}",
            'repair it: text.encode("utf-8", "replace").decode()',
        ) from None
    return value


def check_json(value: Any, field: str, error: type[InvalidInput] = InvalidInput, *, _depth: int = 0) -> None:
    """Raise unless `value` comes back equal from JSON: null, bool, int of 64 bits, finite float, text, list, string-keyed
    dict. Checked here and not left to an encoder because encoders turn dates, sets or bytes into strings without a word.
    """
    if value is None or isinstance(value, bool):
        return
    if isinstance(value, str):
        check_text(value, field, error)
    elif isinstance(value, int):
        if not -(2**63) <= value < 2**63:
            raise error(field, f"an integer of {value.bit_length()} bits", "pass it as a string")
    elif isinstance(value, float):
        if not math.isfinite(value):
            raise error(field, "a float that is not finite", "pass None or a string")
    elif _depth >= _MAX_JSON_DEPTH:
        raise error(field, f"nested more than {_MAX_JSON_DEPTH} deep, or circular", "flatten it")
    elif isinstance(value, list):
        for index, item in enumerate(value):
            check_json(item, f"{field}[{index}]", error, _depth=_depth + 1)
    elif isinstance(value, Mapping):
        for key, item in value.items():
            if not isinstance(key, str):
                raise error(field, f"a key of type {type(key).__name__}", "use string keys")
            check_text(key, f"{field} key", error)
            check_json(item, f"{field}.{key}", error, _depth=_depth + 1)
    else:
        raise error(field, f"a {type(value).__name__}, which JSON has no form for", "convert it to a string, number or list")


def utc(value: object, field: str, error: type[InvalidInput] = InvalidInput) -> datetime:
    """An aware datetime, in UTC. A naive one is refused: which zone it was meant in is not ours to guess."""
    if not isinstance(value, datetime):
        raise error(field, f"a {type(value).__name__}", "pass an aware datetime")
    if value.tzinfo is None or value.utcoffset() is None:
        raise error(
            field,
            "a naive datetime (no time zone)",
            "pass an aware one: datetime.now(timezone.utc), or value.replace(tzinfo=...) with the zone it was meant in",
        )
    return value.astimezone(timezone.utc)
