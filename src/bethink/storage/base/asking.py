"""What came of asking a model about long-term memory: extracting, reconciling, weighing, reflecting.

An `Asked` stands for the messages of a thread that a step has been done for, so it is cursor, attempt and account in one. There
is one for each thread, step and first message: a later attempt at the same takes the place of the former.
"""

from __future__ import annotations

from datetime import datetime
from typing import Literal, TypeAlias

import msgspec

from bethink.models.language import Usage
from bethink.storage.base.summaries import FailureReason

__all__ = ["Ask", "Asked", "AskedStep"]

AskedStep: TypeAlias = Literal["extract", "reconcile", "importance", "reflect"]


class Asked(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """One time that a model was asked to do a step for messages of a thread. Nothing of it quotes what was said.

    Attributes:
        first, through: seqs of the messages that it was about, inclusive. Of "reflect" both are where the session ended.
        model: its name.
        prompt: which words it was asked with, such as "extract 1".
        at: when it ended.
        number: which attempt it was in a row by this model, from 1.
        reason: why it failed; "" for one that succeeded.
        detail: what happened, in a few words.
        kept: how many things of the answer were stored.
        dropped: how many were not, by why: "unknown number", "not in its source", ...
        usage, seconds: what the calls took.
        retry_at: when to ask again; None after a success, and where it is given up.
    """

    thread_id: str
    step: AskedStep
    first: int
    through: int
    model: str
    prompt: str
    at: datetime
    number: int = 1
    reason: FailureReason | Literal[""] = ""
    detail: str = ""
    kept: int = 0
    dropped: dict[str, int] = msgspec.field(default_factory=dict)
    usage: Usage = Usage()
    seconds: float = 0.0
    retry_at: datetime | None = None

    @property
    def failed(self) -> bool:
        return self.reason != ""

    @property
    def given_up(self) -> bool:
        return self.failed and self.retry_at is None


class Ask(msgspec.Struct, frozen=True):
    """Keep `asked` in the place of `expected`, the one that was kept for its thread, step and first message (None for none).

    Conflict, and nothing of the request, if another one is kept by now: of two who asked for the same one wins. NotFound if the
    thread is not there.
    """

    asked: Asked
    expected: Asked | None = None
