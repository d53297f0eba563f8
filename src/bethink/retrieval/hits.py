"""What hits are made of where they are more than one line each, and what is not shown of them."""

from __future__ import annotations

from datetime import datetime
from typing import Literal

import msgspec

from bethink.messages import Trust
from bethink.records import RecordKind

__all__ = ["LeftOut", "Member", "excerpt"]


class Member(msgspec.Struct, frozen=True, kw_only=True):
    """One of the things that a hit stands for, where hits are turns or sessions.

    Attributes:
        score: as a hit of its own; None for what is no answer itself and belongs to the turn.
        cut, tokens: see `Hit`.
    """

    kind: Literal["message"] | RecordKind
    id: str
    thread_id: str | None
    seq: int
    text: str
    speaker: str
    trust: Trust
    at: datetime
    score: float | None = None
    cut: tuple[int, int] | None = None
    tokens: int = 0


class LeftOut(msgspec.Struct, frozen=True, kw_only=True):
    """A hit, or a member of one, that did not fit into a budget.

    Attributes:
        tokens: of its line.
        left: tokens that were left when its turn came.
    """

    kind: Literal["message"] | RecordKind
    id: str
    thread_id: str | None
    seq: int
    score: float | None
    tokens: int
    left: int


def excerpt(text: str, cut: tuple[int, int] | None) -> str:
    """What a cut leaves of a text, with a mark on each side where something is left out."""
    if cut is None:
        return text
    start, end = cut
    return "… " * (start > 0) + text[start:end] + " …" * (end < len(text))
