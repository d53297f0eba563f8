"""A dataclass as a template, and a profile as its object.

A field is a section. Its type says what it holds: `str`, `int`, `float`, `bool`, a `Literal` or `Enum` of texts, or a `list` or
`tuple` of one of these. Whatever is one value must do without it, by `None` or a default: nobody can promise that it is known.
What a field takes is said by its name, or by `field(metadata={"profile": {...}})` (see `fields`).
"""

from __future__ import annotations

import dataclasses
import enum
import types
import typing
from collections.abc import Mapping
from typing import Any, Literal, TypeVar, get_args, get_origin

import msgspec

from bethink.errors import InvalidInput
from bethink.insights.domains.fields import section_for
from bethink.insights.domains.filled import Filled
from bethink.insights.domains.template import AnswerKind, Holds, ProfileTemplate

__all__ = ["object_of", "template_of_class"]

_T = TypeVar("_T")
_METADATA = "profile"
_FITTING = (
    "use str, int, float, bool, a Literal or Enum of texts, or a list or tuple of one of these, with None for what is unknown"
)
_PLAIN: dict[object, AnswerKind] = {str: "text", int: "integer", float: "number", bool: "flag"}


def template_of_class(cls: type) -> ProfileTemplate:
    """The template that a dataclass describes.

    Raises:
        InvalidInput: it is none, or has a field that cannot be filled.
    """
    if not (isinstance(cls, type) and dataclasses.is_dataclass(cls)):
        raise InvalidInput(
            "profile", "a class that is no dataclass", "give a dataclass, a name, a ProfileTemplate or a JSON Schema"
        )
    hints = _hints(cls)
    sections = []
    for field in _fields(cls):
        where = f"{cls.__name__}.{field.name}"
        holds, nullable = _holds(hints[field.name], where)
        default = field.default is not dataclasses.MISSING or field.default_factory is not dataclasses.MISSING
        if not (holds.many or nullable or default):
            raise InvalidInput(
                where, "neither None nor a default", f"write it as {_spelled(holds)} | None = None: it may not be known"
            )
        sections.append(section_for(field.name, holds, field.metadata.get(_METADATA), where))
    if not sections:
        raise InvalidInput(cls.__name__, "no fields", "give it a field for each thing to know")
    return ProfileTemplate(name=cls.__name__, sections=tuple(sections))


def object_of(cls: type[_T], filled: Mapping[str, Filled]) -> _T:
    """An object of the class. What nothing fills is its default, or else None or empty."""
    hints = _hints(cls)
    given: dict[str, Any] = {}
    for field in _fields(cls):
        value = filled[field.name].value
        default = field.default is not dataclasses.MISSING or field.default_factory is not dataclasses.MISSING
        if value in (None, []) and default:
            continue
        given[field.name] = msgspec.convert(value, hints[field.name])
    return cls(**given)


def _fields(cls: type) -> list[dataclasses.Field[Any]]:
    return [field for field in dataclasses.fields(cls) if field.init]


def _hints(cls: type) -> dict[str, Any]:
    try:
        return typing.get_type_hints(cls)
    except (NameError, TypeError):
        raise InvalidInput(
            cls.__name__, "annotations that cannot be resolved", "define it where its types are, at module level"
        ) from None


def _holds(annotation: Any, where: str) -> tuple[Holds, bool]:
    """What a type holds, and whether None will do."""
    nullable = False
    if get_origin(annotation) in (typing.Union, types.UnionType):
        parts = [part for part in get_args(annotation) if part is not type(None)]
        nullable = len(parts) < len(get_args(annotation))
        if len(parts) != 1:
            raise InvalidInput(where, "several types", _FITTING)
        annotation = parts[0]
    if get_origin(annotation) is list:
        return _many(get_args(annotation)[0], where), nullable
    if get_origin(annotation) is tuple:
        inner = get_args(annotation)
        if len(inner) != 2 or inner[1] is not Ellipsis:
            raise InvalidInput(where, "a tuple of a fixed length", "write tuple[str, ...]: nobody knows how many there will be")
        return _many(inner[0], where), nullable
    return _one(annotation, where), nullable


def _many(annotation: Any, where: str) -> Holds:
    holds = _one(annotation, where)
    if holds.kind == "flag":
        raise InvalidInput(where, "many flags", _FITTING)
    return msgspec.structs.replace(holds, many=True)


def _one(annotation: Any, where: str) -> Holds:
    if annotation in _PLAIN:
        return Holds(kind=_PLAIN[annotation], many=False)
    choices: tuple[Any, ...] = ()
    if get_origin(annotation) is Literal:
        choices = get_args(annotation)
    elif isinstance(annotation, type) and issubclass(annotation, enum.Enum):
        choices = tuple([member.value for member in annotation])
    if choices and all(isinstance(choice, str) for choice in choices):
        return Holds(kind="choice", many=False, choices=choices)
    raise InvalidInput(where, "a type that nothing can fill", _FITTING)


def _spelled(holds: Holds) -> str:
    return {"text": "str", "integer": "int", "number": "float", "flag": "bool"}.get(holds.kind, "its type")
