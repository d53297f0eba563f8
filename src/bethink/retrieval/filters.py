"""Filters as users write them, checked before anything runs.

    {"kind": "message", "metadata.topic": {"in": ["billing", "refund"]}, "at": {"gte": "2026-03-01T00:00:00Z"}}
    {"or": [{"speaker": "Mara"}, {"not": {"metadata.closed": True}}]}

Several keys, and several operators of a field, must all hold. "$gte" and "AND" are taken for "gte" and "and". A key of metadata
that holds a dot is written as a JSON list: '["metadata", "a.b"]'. `Filter` nodes stand wherever a dict may.

A filter over items (`item_filter`) names what is in their values: {"color": "red", "size.height": {"gte": 3}}.

Whatever is not understood is refused: an operator or field that is passed over would find more than was asked for.
"""

from __future__ import annotations

import json
import math
from collections.abc import Callable, Mapping, Sequence
from datetime import datetime
from typing import Any, TypeAlias, TypeGuard, get_args

import msgspec

from bethink.errors import InvalidInput
from bethink.messages import Role, Tier, Trust
from bethink.records import Outcome
from bethink.storage.base import And, Compare, Contains, Exists, Filter, In, Not, Or
from bethink.storage.base.filters import FIELDS, METADATA, VALUE, Comparison, FieldPath, Scalar, unknown_node
from bethink.values import check_text, utc

__all__ = ["MAX_DEPTH", "MAX_KEYS", "MAX_NODES", "MAX_TEXT", "MAX_VALUES", "Where", "filter_of", "item_filter"]

Where: TypeAlias = Filter | Mapping[str, Any]

MAX_DEPTH = 16
"""Of dicts and nodes in each other."""
MAX_NODES = 200
MAX_VALUES = 1_000
"""Of one list."""
MAX_KEYS = 16
"""Of one path of metadata."""
MAX_TEXT = 10_000
"""Characters of a value or a key."""

_COMPARISONS: tuple[Comparison, ...] = get_args(Comparison)
_OPERATORS = (*_COMPARISONS, "ne", "in", "nin", "exists", "contains")
_JOINS = ("and", "or", "not")
_NAMES: dict[str, tuple[str, ...]] = {
    "kind": ("message", "note", "insight", "summary", "episode"),
    "outcome": get_args(Outcome),
    "role": get_args(Role),
    "tier": get_args(Tier),
    "trust": get_args(Trust),
}
"""The fields that hold one of a few names."""
_SHOWN = 60


def filter_of(where: Where | None) -> Filter | None:
    """The filter that `where` means, checked; None for None, which lets everything pass.

    Raises:
        InvalidInput: names the place in `where`, what stands there and what to write; also for an empty filter, of which nobody
            can say whether it means everything or nothing.
    """
    return None if where is None else _Reader(_path).read(where, "where", 1)


def item_filter(where: Where | None) -> Filter | None:
    """The same for a filter over items: what it names is in their values. In a `Filter` node the path begins with "value".

    Raises:
        InvalidInput: as `filter_of`.
    """
    return None if where is None else _Reader(_value_path).read(where, "where", 1)


class _Reader:
    """Reads one filter and counts its nodes. What is written for a field is read by `path`."""

    def __init__(self, path: Callable[[object, str], FieldPath]) -> None:
        self._path = path
        self._nodes = 0

    def read(self, given: object, where: str, depth: int) -> Filter:
        if depth > MAX_DEPTH:
            raise InvalidInput(where, f"nested more than {MAX_DEPTH} deep", "flatten it")
        if isinstance(given, Filter):
            return self._node(given, where, depth)
        if not isinstance(given, Mapping):
            raise InvalidInput(where, _a(given), 'pass a dict, such as {"metadata.topic": "billing"}, or a Filter')
        if not given:
            raise InvalidInput(where, "empty", "it could mean everything or nothing: leave it out to mean everything")
        return _all([part for key, value in given.items() for part in self._item(key, value, where, depth)])

    def _item(self, key: object, value: object, where: str, depth: int) -> list[Filter]:
        """What one key of a dict says."""
        join = _word(key)
        if join in ("and", "or"):
            place = f"{where}.{join}"
            if not _is_list(value):
                raise InvalidInput(place, _a(value), f'pass a list of filters: {{"{join}": [{{...}}, {{...}}]}}')
            return [self._joined(And if join == "and" else Or, value, place, depth)]
        if join == "not":
            return [self._counted(Not(self.read(value, f"{where}.not", depth + 1)), f"{where}.not")]
        field = self._path(key, where)
        place = f"{where}.{_shown(field)}"
        if not isinstance(value, Mapping):
            return [self._test(field, "eq", value, place)]
        if not value:
            raise InvalidInput(place, "an empty dict", f"name an operator: {', '.join(_OPERATORS)}")
        return [self._test(field, _operator(name, place), operand, place) for name, operand in value.items()]

    def _test(self, field: FieldPath, operator: str, operand: object, where: str) -> Filter:
        """A test of a field by an operator as written."""
        place = f"{where}.{operator}"
        if operator == "ne":
            return Not(self._counted(Compare(field, "eq", _value(field, operand, place)), place))
        if operator in ("in", "nin"):
            within = self._counted(In(field, _values(field, operand, place)), place)
            return Not(within) if operator == "nin" else within
        if operator == "exists":
            if not isinstance(operand, bool):
                raise InvalidInput(place, _a(operand), "pass true or false")
            there = self._counted(Exists(field), place)
            return there if operand else Not(there)
        if operator == "contains":
            return self._counted(Contains(_in_metadata(field, place), _value(field, operand, place)), place)
        return self._counted(_comparison(field, operator, operand, place), place)

    def _node(self, node: Filter, where: str, depth: int) -> Filter:
        """The same node with everything in it checked."""
        match node:
            case And(parts) | Or(parts):
                place = f"{where}.{type(node).__name__.lower()}"
                if not isinstance(parts, tuple):
                    raise InvalidInput(place, _a(parts), "pass a tuple of filters")
                return self._joined(type(node), parts, place, depth)
            case Not(part):
                return self._counted(Not(self.read(part, f"{where}.not", depth + 1)), where)
            case Compare(field, op, value):
                path = self._path(field, where)
                place = f"{where}.{_shown(path)}"
                if op not in _COMPARISONS:
                    raise InvalidInput(place, "no such comparison", f"use one of {', '.join(_COMPARISONS)}")
                return self._test(path, op, value, place)
            case In(field, values):
                path = self._path(field, where)
                return self._test(path, "in", values, f"{where}.{_shown(path)}")
            case Contains(field, value):
                path = self._path(field, where)
                return self._test(path, "contains", value, f"{where}.{_shown(path)}")
            case Exists(field):
                return self._counted(Exists(self._path(field, where)), where)
        raise unknown_node(node)

    def _joined(self, join: type[And | Or], parts: Sequence[object], where: str, depth: int) -> Filter:
        if not parts:
            raise InvalidInput(where, "an empty list", "it could mean everything or nothing: leave it out")
        read = tuple([self.read(part, f"{where}[{index}]", depth + 1) for index, part in enumerate(parts)])
        return self._counted(join(read), where)

    def _counted(self, node: Filter, where: str) -> Filter:
        self._nodes += 1
        if self._nodes > MAX_NODES:
            raise InvalidInput(where, f"more than {MAX_NODES} conditions", 'use "in" for many values of one field')
        return node


def _all(parts: list[Filter]) -> Filter:
    return parts[0] if len(parts) == 1 else And(tuple(parts))


# -- fields ---------------------------------------------------------------------------------------------------------------


def _path(given: object, where: str) -> FieldPath:
    """A field as a path of keys: from "metadata.a.b", a JSON list of keys, or a tuple."""
    keys = _keys(given, where)
    if len(keys) > 1 + MAX_KEYS:
        raise InvalidInput(where, f"a path of {len(keys)} keys", f"use at most {MAX_KEYS} below metadata")
    if keys[0] == METADATA and len(keys) > 1:
        if isinstance(given, str) and not given.startswith("[") and not all(keys):
            raise InvalidInput(where, "a path with nothing between two dots", """write it as '["metadata", ""]'""")
    elif len(keys) != 1 or keys[0] not in FIELDS:
        raise InvalidInput(
            f"{where}.{_shown(keys)}",
            "no field of that name",
            f"use one of {', '.join(FIELDS)}, {', '.join(_JOINS)}; what you gave as metadata is below it: metadata.<key>",
        )
    return keys


def _value_path(given: object, where: str) -> FieldPath:
    """What is written for something in an item's value: "a.b", or a JSON list of keys; a node's path begins with "value"."""
    keys = _keys(given, where)
    if isinstance(given, str):
        if not given.startswith("[") and not all(keys):
            raise InvalidInput(where, "a path with nothing between two dots", """write it as '["a", ""]'""")
        keys = (VALUE, *keys)
    if len(keys) > 1 + MAX_KEYS:
        raise InvalidInput(where, f"a path of {len(keys) - 1} keys", f"use at most {MAX_KEYS}")
    if keys[0] != VALUE or len(keys) < 2:
        raise InvalidInput(where, "a path that is in no value", """begin it with "value": ("value", "color")""")
    return keys


def _keys(given: object, where: str) -> FieldPath:
    keys: Any = given
    if isinstance(given, str):
        if len(given) > MAX_TEXT:
            raise InvalidInput(where, f"a field of {len(given):,} characters", f"use at most {MAX_TEXT:,}")
        try:
            keys = json.loads(given) if given.startswith("[") else given.split(".")
        except (ValueError, RecursionError):
            keys = None
    if not _is_list(keys) or not keys or not all(isinstance(key, str) for key in keys):
        found = _a(given) if not isinstance(given, str) else "no list of keys"
        raise InvalidInput(where, found, """name a field as text, or as a JSON list of keys: '["metadata", "a.b"]'""")
    for key in keys:
        check_text(key, where)
        if len(key) > MAX_TEXT:
            raise InvalidInput(where, f"a key of {len(key):,} characters", f"use at most {MAX_TEXT:,}")
    return tuple(keys)


def _in_metadata(field: FieldPath, where: str) -> FieldPath:
    if field[0] not in (METADATA, VALUE):
        raise InvalidInput(where, "not for this field", 'it looks into lists, which only metadata holds; use "eq" or "in"')
    return field


def _word(key: object) -> str:
    """A join or an operator as we spell it."""
    return key.removeprefix("$").lower() if isinstance(key, str) else ""


def _operator(given: object, where: str) -> str:
    word = _word(given)
    if word not in _OPERATORS:
        raise InvalidInput(where, "no such operator", f"use one of {', '.join(_OPERATORS)}")
    return word


# -- values ---------------------------------------------------------------------------------------------------------------


def _comparison(field: FieldPath, op: str, operand: object, where: str) -> Compare:
    value = _value(field, operand, where)
    comparison: Comparison = next(each for each in _COMPARISONS if each == op)
    if comparison != "eq":
        if field[0] not in ("at", METADATA, VALUE):
            raise InvalidInput(where, "not for this field", 'it has no order; use "eq" or "in"')
        if value is None or isinstance(value, bool):
            raise InvalidInput(where, _a(value), 'it has no order; use "eq" or "ne"')
    return Compare(field, comparison, value)


def _values(field: FieldPath, given: object, where: str) -> tuple[Scalar, ...]:
    if not _is_list(given):
        raise InvalidInput(where, _a(given), "pass a list of values")
    if len(given) > MAX_VALUES:
        raise InvalidInput(where, f"{len(given):,} values", f"use at most {MAX_VALUES:,}")
    return tuple([_value(field, value, f"{where}[{index}]") for index, value in enumerate(given)])


def _value(field: FieldPath, given: object, where: str) -> Scalar:
    """A value that the field may hold, in its plain form."""
    name = field[0]
    if name in (METADATA, VALUE):
        return _json_value(given, where)
    if name == "at":
        return _time(given, where)
    if name == "pinned":
        if not isinstance(given, bool):
            raise InvalidInput(where, _a(given), "pass true or false")
        return given
    text = _text(given, where)
    if name in _NAMES and text not in _NAMES[name]:
        raise InvalidInput(where, f"no {name} of that name", f"use one of {', '.join(_NAMES[name])}")
    return text


def _json_value(given: object, where: str) -> Scalar:
    if given is None or isinstance(given, bool):
        return given
    if isinstance(given, str):
        return _text(given, where)
    if isinstance(given, int):
        if not -(2**63) <= given < 2**63:
            raise InvalidInput(where, f"an integer of {given.bit_length()} bits", "no stored number is that large; use a float")
        return int(given)
    if isinstance(given, float):
        if not math.isfinite(given):
            raise InvalidInput(where, "a float that is not finite", "use a number; no stored one is NaN or infinite")
        return float(given)
    if isinstance(given, datetime):
        raise InvalidInput(where, "a datetime", "metadata is JSON: compare with a text in the form in which it was stored")
    if _is_list(given):
        raise InvalidInput(where, _a(given), 'pass one value; "in" takes a list of them, "contains" looks into a stored list')
    raise InvalidInput(where, _a(given), "pass a text, a number, true, false or null; what is nested is metadata.<key>.<key>")


def _text(given: object, where: str) -> str:
    if given is None:
        raise InvalidInput(where, "null, which this field never is", 'ask whether there is one: {"exists": false}')
    if _is_list(given):
        raise InvalidInput(where, _a(given), 'pass one text; "in" takes a list of them')
    text = check_text(given, where)
    if len(text) > MAX_TEXT:
        raise InvalidInput(where, f"{len(text):,} characters", f"use at most {MAX_TEXT:,}")
    return str.__str__(text)


def _time(given: object, where: str) -> datetime:
    if isinstance(given, str):
        try:
            given = msgspec.convert(given, datetime)
        except msgspec.ValidationError:
            raise InvalidInput(where, "a text that is no time", "write it as 2026-03-01T00:00:00Z, or +01:00 for Z") from None
    if not isinstance(given, datetime):
        raise InvalidInput(where, _a(given), "pass an aware datetime, or a text such as 2026-03-01T00:00:00Z")
    return utc(given, where)


# -- what was found -------------------------------------------------------------------------------------------------------


def _is_list(value: object) -> TypeGuard[list[Any] | tuple[Any, ...]]:
    return isinstance(value, list | tuple)


def _a(value: object) -> str:
    """A value by its type alone."""
    if value is None:
        return "null"
    name = type(value).__name__
    return f"an {name}" if name[0] in "aeiou" else f"a {name}"


def _shown(field: Sequence[str]) -> str:
    """A field in an error: as it is written, unless it is long or could break a line of a log."""
    name = ".".join(field)
    return name if 0 < len(name) <= _SHOWN and name.isprintable() else f"<a path of {len(name)} characters>"
