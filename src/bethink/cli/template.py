"""How a command is told a template: by its option, or by the environment."""

from __future__ import annotations

import os
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import msgspec
import typer

from bethink.errors import InvalidInput

if TYPE_CHECKING:
    from bethink.insights.domains.given import GivenTemplate

__all__ = ["Template", "given_template", "template_of_environment"]

Template = Annotated[
    str | None,
    typer.Option("--template", metavar="NAME", help="Lay it out by a template: a name, or a file with a JSON Schema."),
]


def given_template(text: str) -> GivenTemplate:
    """What `--template` names.

    Raises:
        InvalidInput: a file that holds no JSON object.
    """
    if not text.endswith(".json"):
        return text
    try:
        schema: Any = msgspec.json.decode(Path(text).read_bytes())
    except msgspec.DecodeError:
        schema = None
    if not isinstance(schema, dict):
        raise InvalidInput("template", "a file without a JSON object", "give one that holds a JSON Schema")
    return schema


def template_of_environment() -> GivenTemplate | None:
    """The template that `BETHINK_PROFILE` names, which a memory is opened with; None if it names none."""
    text = os.environ.get("BETHINK_PROFILE", "")
    return given_template(text) if text else None
