"""A JSON Schema as a template, and a profile as its object: a dict that the schema is true of.

An object whose properties are sections, each a string (with an `enum` or without), integer, number or boolean, or an array of
one of these. What a property takes is said by its name, or by `"x-profile": {...}` (see `fields`). A keyword that would
promise more than memory can keep, such as a pattern or a minimum, is refused rather than passed over.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

import msgspec

from bethink.errors import InvalidInput
from bethink.insights.domains.fields import section_for
from bethink.insights.domains.filled import Filled
from bethink.insights.domains.template import AnswerKind, Holds, ProfileTemplate

__all__ = ["object_by", "template_of_schema"]

_TOLD = frozenset({"$schema", "$id", "$comment", "title", "description", "examples", "deprecated", "readOnly", "writeOnly"})
"""Keywords that say nothing of what a value may be."""
_OF_OBJECT = _TOLD | {"type", "properties", "required", "additionalProperties", "x-profile"}
_OF_ONE = _TOLD | {"type", "enum", "x-profile", "default"}
_OF_MANY = _TOLD | {"type", "items", "maxItems", "uniqueItems", "x-profile", "default"}
_KINDS: dict[str, AnswerKind] = {"string": "text", "integer": "integer", "number": "number", "boolean": "flag"}
_FITTING = 'use "string", "integer", "number", "boolean" or an "array" of one of these; with "null" for what may be unknown'


class _Property(msgspec.Struct, frozen=True):
    holds: Holds
    nullable: bool
    limit: int | None


def template_of_schema(schema: Mapping[str, Any]) -> ProfileTemplate:
    """The template that a JSON Schema describes.

    Raises:
        InvalidInput: it is no object with properties, has a keyword that would be broken or a property that cannot be filled.
    """
    _check_keywords(schema, _OF_OBJECT, "schema")
    if schema.get("type") != "object":
        raise InvalidInput("schema.type", "no object", 'describe a profile as {"type": "object", "properties": {...}}')
    required = schema.get("required", [])
    found = _properties(schema)
    if not isinstance(required, list) or not all(name in found for name in required):
        raise InvalidInput("schema.required", "something that is no property", "name properties alone")
    sections = []
    for name, each in found.items():
        where = f"schema.properties.{name}"
        if name in required and not (each.holds.many or each.nullable):
            raise InvalidInput(
                where, 'required, without "null"', 'let its type be ["...", "null"], or leave it out of "required"'
            )
        options = schema["properties"][name].get("x-profile")
        section = section_for(name, each.holds, options, where)
        sections.append(section if each.limit is None else msgspec.structs.replace(section, limit=each.limit))
    options = schema.get("x-profile", {})
    if not isinstance(options, Mapping) or not set(options) <= {"size", "instructions"}:
        raise InvalidInput("schema.x-profile", "unknown options", 'use "size" and "instructions"')
    title = re.sub(r"\W+", "_", str(schema.get("title", ""))).strip("_")
    name = title if title.isidentifier() else "schema"
    return ProfileTemplate(name=name, sections=tuple(sections), about=str(schema.get("description", "")), **options)


def object_by(schema: Mapping[str, Any], filled: Mapping[str, Filled]) -> dict[str, Any]:
    """A dict that the schema is true of. What nothing fills is empty, or None where the schema has that, or not there."""
    given: dict[str, Any] = {}
    for name, each in _properties(schema).items():
        value = filled[name].value
        if value is not None or each.nullable:
            given[name] = value
    return given


def _properties(schema: Mapping[str, Any]) -> dict[str, _Property]:
    properties = schema.get("properties")
    if not isinstance(properties, Mapping) or not properties:
        raise InvalidInput("schema.properties", "none", "give a property for each thing to know")
    return {name: _property(each, f"schema.properties.{name}") for name, each in properties.items()}


def _property(given: object, where: str) -> _Property:
    if not isinstance(given, Mapping):
        raise InvalidInput(where, f"a {type(given).__name__}", "describe it by an object")
    kind, nullable = _type(given, where)
    if kind != "array":
        _check_keywords(given, _OF_ONE, where)
        return _Property(_one(kind, given, nullable, where), nullable, None)
    _check_keywords(given, _OF_MANY, where)
    items = given.get("items")
    if not isinstance(items, Mapping):
        raise InvalidInput(
            f"{where}.items", "nothing that says what they are", 'write {"type": "array", "items": {"type": "string"}}'
        )
    _check_keywords(items, _OF_ONE - {"x-profile"}, f"{where}.items")
    of, nothing = _type(items, f"{where}.items")
    if of in ("array", "boolean") or nothing:
        raise InvalidInput(f"{where}.items", "items that nothing can fill", _FITTING)
    limit = given.get("maxItems")
    if limit is not None and not (type(limit) is int and limit >= 1):
        raise InvalidInput(f"{where}.maxItems", "not a number of 1 or more", "use 1 or more")
    holds = _one(of, items, False, f"{where}.items")
    return _Property(msgspec.structs.replace(holds, many=True), nullable, limit)


def _type(given: Mapping[str, Any], where: str) -> tuple[str, bool]:
    kinds = given.get("type")
    several = kinds if isinstance(kinds, list) else [kinds]
    named = [kind for kind in several if kind != "null"]
    if len(named) != 1 or named[0] not in (*_KINDS, "array"):
        raise InvalidInput(f"{where}.type", "a type that nothing can fill", _FITTING)
    return str(named[0]), "null" in several


def _one(kind: str, given: Mapping[str, Any], nullable: bool, where: str) -> Holds:
    if "enum" not in given:
        return Holds(kind=_KINDS[kind], many=False)
    choices = given["enum"]
    if isinstance(choices, list) and nullable:
        choices = [choice for choice in choices if choice is not None]
    if kind != "string" or not isinstance(choices, list) or not choices or not all(isinstance(each, str) for each in choices):
        raise InvalidInput(f"{where}.enum", "not a list of texts", "give choices that are strings")
    return Holds(kind="choice", many=False, choices=tuple(choices))


def _check_keywords(given: Mapping[str, Any], known: frozenset[str], where: str) -> None:
    if unknown := sorted([str(key) for key in given if key not in known]):
        names = ", ".join([key for key in unknown if key.lstrip("$").isidentifier()]) or f"{len(unknown)} of them"
        raise InvalidInput(
            where, f"keywords that cannot be kept ({names})", "leave them out: memory cannot promise what people say"
        )
