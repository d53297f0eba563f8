"""What a recall gives back: hits, best first, what belongs to them, and what a budget had no room for."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import datetime
from typing import Literal, overload

import msgspec

from bethink.claims import Contrary
from bethink.messages import Trust
from bethink.records import RecordKind
from bethink.values import Namespace

__all__ = ["Hit", "LeftOut", "Member", "RecallResult", "excerpt"]


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
        tokens: of its line, with the heading of its day if none of that day had been taken.
        left: tokens that were left when its turn came.
    """

    kind: Literal["message"] | RecordKind
    id: str
    thread_id: str | None
    seq: int
    score: float | None
    tokens: int
    left: int


class Hit(msgspec.Struct, frozen=True, kw_only=True):
    """One thing recalled, with why.

    Attributes:
        id: the message's or the record's.
        score: 0 to 1, higher is better, to six decimals.
        scores: what each leg that ran added or took; they sum to `score`. See the head of `retrieval.scores`.
        cut: which characters of `text` a budget has room for; None for all. `shown` is that passage.
        tokens: of its line in a context, or of those of its members, with the headings of days that no hit before it has a line
            of; 0 where no budget was given.
        members: what belongs to its turn or session, in order; () where each hit is a unit of its own.
        author: the agent whose word a record is (see `Record.author`); "" for a message, which has its speaker.
        disputed_by: facts of the same board that answer its question otherwise.
    """

    kind: Literal["message"] | RecordKind
    id: str
    namespace: Namespace
    thread_id: str | None
    seq: int
    text: str
    speaker: str
    trust: Trust
    at: datetime
    score: float
    scores: dict[str, float]
    cut: tuple[int, int] | None = None
    tokens: int = 0
    members: tuple[Member, ...] = ()
    author: str = ""
    disputed_by: tuple[Contrary, ...] = ()

    @property
    def shown(self) -> str:
        """What of the text there is room for, with `…` where something is left out."""
        return excerpt(self.text, self.cut)


class RecallResult(msgspec.Struct, frozen=True, kw_only=True):
    """A sequence of hits, best first, and how it came about.

    Attributes:
        pending: how many things in scope have no vector yet and were found by their words only.
        empty_reason: why there is no hit; "" when there is one.
        legs: which ran: "lexical", "dense", "tokens".
        needed: what the best hit had to come to: the threshold for this query.
        tokens: of all lines and the headings of their days, where a budget was given.
        left_out: what the budget had no room for, in the order of rank.
    """

    hits: tuple[Hit, ...] = ()
    pending: int = 0
    empty_reason: str = ""
    legs: tuple[str, ...] = ()
    needed: float = 0.0
    tokens: int = 0
    left_out: tuple[LeftOut, ...] = ()

    def __len__(self) -> int:
        return len(self.hits)

    def __iter__(self) -> Iterator[Hit]:
        return iter(self.hits)

    @overload
    def __getitem__(self, index: int) -> Hit: ...
    @overload
    def __getitem__(self, index: slice) -> tuple[Hit, ...]: ...
    def __getitem__(self, index: int | slice) -> Hit | tuple[Hit, ...]:
        return self.hits[index]


def excerpt(text: str, cut: tuple[int, int] | None) -> str:
    """What a cut leaves of a text, with a mark on each side where something is left out."""
    if cut is None:
        return text
    start, end = cut
    return "… " * (start > 0) + text[start:end] + " …" * (end < len(text))
