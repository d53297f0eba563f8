"""Filters: what a search may find at all, as frozen values, and what they mean.

    where ─ retrieval.filters ─▶ Filter ─┬─ `passes`, over the `fields_of` a message or record: the meaning
    (a dict, as JSON)                    └─ a backend's own query, which must find the same

A field is a path of keys: one of `FIELDS`, or "metadata" and the keys below it; of items "value" and the keys below it, and
"expires_at". Three rules settle what stores elsewhere leave
to chance:

- **Every node is true or false**, also where there is no such field, so `Not` is the exact opposite.
- **Types never mix.** A number is not equal to its text, nor above or below it; true is no number. Integers and floats are
  both numbers. Texts are in the order of their code points.
- **Missing is not null.** `Compare(field, "eq", None)` is true of a stored null, `Exists(field)` of that and any other value.
  A path leads through objects alone: a list is a value.
"""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime
from typing import Any, Literal, TypeAlias

import msgspec

from bethink.errors import InvalidInput
from bethink.marks import Tiered, is_pinned, tier_of
from bethink.messages import Message
from bethink.records import AnyRecord, Episode, ItemVersion, StateEntry, Summary

__all__ = [
    "EXPIRES_AT",
    "FIELDS",
    "METADATA",
    "VALUE",
    "And",
    "Compare",
    "Comparison",
    "Contains",
    "Exists",
    "FieldPath",
    "Filter",
    "In",
    "Not",
    "Or",
    "Scalar",
    "alive",
    "fields_of",
    "passes",
    "unknown_node",
]

FieldPath: TypeAlias = tuple[str, ...]
"""A field of `FIELDS` alone, or "metadata" and at least one key."""
Scalar: TypeAlias = str | int | float | bool | datetime | None
"""A datetime is for the field "at" alone: metadata is JSON, which has none."""
Comparison: TypeAlias = Literal["eq", "lt", "lte", "gt", "gte"]

FIELDS = ("at", "author", "kind", "outcome", "pinned", "role", "speaker", "thread_id", "tier", "trust")
"""Speaker, role and tier are a message's alone, the outcome an episode's; of records, only a summary has a thread, and an
episode that was done in one."""
METADATA = "metadata"
VALUE, EXPIRES_AT = "value", "expires_at"
"""Of items alone, and for filters over items alone."""


class Filter(msgspec.Struct, frozen=True):
    """Any node. `one & other`, `one | other` and `~one` join them."""

    def __and__(self, other: Filter) -> And:
        return And((self, other))

    def __or__(self, other: Filter) -> Or:
        return Or((self, other))

    def __invert__(self) -> Not:
        return Not(self)


class And(Filter, frozen=True):
    """All of the parts."""

    parts: tuple[Filter, ...]


class Or(Filter, frozen=True):
    """At least one of the parts."""

    parts: tuple[Filter, ...]


class Not(Filter, frozen=True):
    """Whatever the part is not true of, which includes what has no such field."""

    part: Filter


class Compare(Filter, frozen=True):
    """The field holds that value, or one of the same type below or above it."""

    field: FieldPath
    op: Comparison
    value: Scalar


class In(Filter, frozen=True):
    """The field holds one of the values; none of them is of the list for no value at all."""

    field: FieldPath
    values: tuple[Scalar, ...]


class Contains(Filter, frozen=True):
    """The field holds a list, and the value is one of its items."""

    field: FieldPath
    value: Scalar


class Exists(Filter, frozen=True):
    """There is such a field, whatever it holds."""

    field: FieldPath


def fields_of(thing: Message | AnyRecord, thread_id: str, tiers: Mapping[int, Tiered]) -> dict[str, Any]:
    """The fields of a stored message or record that it has; `tiers` are those of the message's thread, by seq."""
    if isinstance(thing, Message):
        return {
            "at": thing.created_at,
            "kind": "message",
            "metadata": thing.metadata,
            "pinned": is_pinned(thing, tiers),
            "role": thing.role,
            "speaker": thing.speaker,
            "thread_id": thread_id,
            "tier": tier_of(thing, tiers),
            "trust": thing.trust,
        }
    fields: dict[str, Any] = {
        "at": thing.at,
        "kind": thing.kind,
        "metadata": thing.metadata,
        "pinned": thing.pinned,
        "trust": thing.trust,
    }
    if thing.author:
        fields["author"] = thing.author
    if isinstance(thing, Summary | StateEntry):
        fields["thread_id"] = thing.thread_id
    if isinstance(thing, ItemVersion):
        fields[VALUE] = thing.value
        if thing.expires_at is not None:
            fields[EXPIRES_AT] = thing.expires_at
    if isinstance(thing, Episode):
        fields["outcome"] = thing.outcome
        fields.update({"thread_id": thing.thread_id} if thing.thread_id else {})
    return fields


def alive(at: datetime) -> Filter:
    """What is no item, or one that has not expired by then."""
    return Or((Not(Exists((EXPIRES_AT,))), Compare((EXPIRES_AT,), "gt", at)))


def passes(where: Filter, fields: Mapping[str, Any]) -> bool:
    """Whether the filter is true of something with these fields."""
    match where:
        case And(parts):
            return all(passes(part, fields) for part in parts)
        case Or(parts):
            return any(passes(part, fields) for part in parts)
        case Not(part):
            return not passes(part, fields)
        case Exists(field):
            return _at(field, fields) is not _MISSING
        case Compare(field, op, value):
            return _compares(_at(field, fields), op, value)
        case In(field, values):
            found = _at(field, fields)
            return any(_compares(found, "eq", value) for value in values)
        case Contains(field, value):
            found = _at(field, fields)
            return isinstance(found, list) and any(_compares(item, "eq", value) for item in found)
    raise unknown_node(where)


def unknown_node(node: object) -> InvalidInput:
    """What to raise for a node that one does not know: to pass over it would find more than was asked for."""
    return InvalidInput("where", f"a {type(node).__name__}, which is no filter", "use And, Or, Not, Compare, In, ...")


_MISSING = object()


def _at(field: FieldPath, fields: Mapping[str, Any]) -> Any:
    found: Any = fields
    for key in field:
        if not isinstance(found, Mapping) or key not in found:
            return _MISSING
        found = found[key]
    return found


def _compares(found: Any, op: Comparison, value: Scalar) -> bool:
    sort = _sort(found)
    if sort != _sort(value):
        return False
    if op == "eq":
        return bool(found == value)
    if sort not in ("number", "text", "time"):
        return False
    if op == "lt":
        return bool(found < value)
    if op == "lte":
        return bool(found <= value)
    if op == "gt":
        return bool(found > value)
    return bool(found >= value)


def _sort(value: Any) -> str:
    """The type of a value as filters see it; that of a list or object is of nothing that one can be compared with."""
    if value is None:
        return "null"
    if isinstance(value, bool):
        return "bool"
    if isinstance(value, int | float):
        return "number"
    if isinstance(value, str):
        return "text"
    return "time" if isinstance(value, datetime) else type(value).__name__
