"""A template out of what somebody gives as one: a name, a template, a dataclass or a JSON Schema."""

from __future__ import annotations

import difflib
from collections.abc import Mapping
from typing import Any, TypeAlias, cast

from bethink.errors import InvalidInput
from bethink.insights.domains.catalogue import TEMPLATES
from bethink.insights.domains.template import ProfileTemplate

__all__ = ["GivenTemplate", "template_from"]

GivenTemplate: TypeAlias = str | ProfileTemplate | type | Mapping[str, Any]
"""A name of `TEMPLATES`, a template, a dataclass, or a JSON Schema as a dict."""


def template_from(given: GivenTemplate) -> ProfileTemplate:
    """The template that is meant.

    Raises:
        InvalidInput: there is none of that name, or it cannot be met (see `ProfileTemplate`, `classes`, `schemas`).
    """
    if isinstance(given, str):
        if given not in TEMPLATES:
            near = difflib.get_close_matches(given, TEMPLATES, 1)
            fix = f"did you mean {near[0]!r}? There are: {', '.join(TEMPLATES)}" if near else f"use {', '.join(TEMPLATES)}"
            raise InvalidInput("profile", "no template of that name", fix)
        return TEMPLATES[given]
    if isinstance(given, Mapping):
        from bethink.insights.domains.schemas import template_of_schema

        return _fillable(template_of_schema(given))
    if isinstance(given, type):
        from bethink.insights.domains.classes import template_of_class

        return _fillable(template_of_class(given))
    if isinstance(cast("object", given), ProfileTemplate):
        return _fillable(given)
    raise InvalidInput(
        "profile", f"a {type(given).__name__}", "give a name, a ProfileTemplate, a dataclass or a JSON Schema as a dict"
    )


def _fillable(template: ProfileTemplate) -> ProfileTemplate:
    """The template, none of whose slots is one that nothing ever fills."""
    from bethink.insights.domains.fields import family, known_slots

    asked = {claim.name for section in template.sections if section.asks for claim in section.claims}
    known = known_slots()
    for section in template.sections:
        for slot in section.slots:
            if family(slot) in known or slot in asked - set(section.slots):
                continue
            near = difflib.get_close_matches(family(slot), known, 1)
            meant = f"did you mean {near[0]!r}? Or " if near else ""
            fix = f'{meant}name what is to be listened for: asks=("{slot.replace("_", " ").replace(":", " ")}",)'
            raise InvalidInput(f"section {section.name!r}.slots", f"{slot!r}, which nothing fills", fix)
    return template
