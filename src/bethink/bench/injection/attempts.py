"""The attempts: data, read from `corpus.json`. `{mark}` in a text is the mark of a record that the memory holds."""

from __future__ import annotations

from functools import cache
from importlib.resources import files
from typing import Literal

import msgspec

__all__ = ["Attempt", "Turn", "attempts"]


class Turn(msgspec.Struct, frozen=True):
    """One message of an attempt, and who says it: a document ("external") comes in a user's message marked as external."""

    by: Literal["user", "assistant", "tool", "external"]
    text: str
    name: str = ""


class Attempt(msgspec.Struct, frozen=True, rename={"kind": "class"}):
    """Attributes:
    kind: what sort of attempt.
    ask: the question whose context is looked at.
    passed_on: the user's own message passes on what he has not said.
    """

    id: str
    kind: str
    ask: str
    turns: tuple[Turn, ...]
    passed_on: bool = False


@cache
def attempts() -> tuple[Attempt, ...]:
    """All of them."""
    text = files("bethink.bench.injection").joinpath("corpus.json").read_bytes()
    return msgspec.json.decode(text, type=tuple[Attempt, ...])
