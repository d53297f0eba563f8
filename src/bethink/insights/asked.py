"""How far a model has been asked to do a step for a thread, out of what came of asking: pure, as `compaction.due` is.

1 ... through          asked, with an answer, or given up: never asked again by the same model
within it              failed: "due" again once its wait is over, or at once by another model
through + 1 ... tip    never asked
"""

from __future__ import annotations

from collections.abc import Iterable
from datetime import datetime
from typing import Literal

import msgspec

from bethink.compaction.attempts import retry_after
from bethink.models.language import Usage
from bethink.settings import Backoff
from bethink.storage.base import Asked, AskedStep, FailureReason

__all__ = ["Progress", "asked_of", "progress_of"]


class Progress(msgspec.Struct, frozen=True):
    """How a step stands for a thread.

    Attributes:
        through: the last seq that was ever asked about; 0 for none.
        settled: everything up to this seq has its answer, or was given up.
        due, waiting, given_up: those that failed, in the order of their messages.
    """

    through: int = 0
    settled: int = 0
    due: tuple[Asked, ...] = ()
    waiting: tuple[Asked, ...] = ()
    given_up: tuple[Asked, ...] = ()


def progress_of(asked: Iterable[Asked], *, model: str, now: datetime, backoff: Backoff) -> Progress:
    """How a step stands, by what was asked for it in one thread."""
    rows = sorted(asked, key=lambda each: each.first)
    due: list[Asked] = []
    waiting: list[Asked] = []
    given_up: list[Asked] = []
    for each in rows:
        if not each.failed:
            continue
        if each.model != model:
            due.append(each)
        elif each.retry_at is None:
            given_up.append(each)
        else:
            # A wait that is longer than any can be (the clock was set back since) is over.
            (waiting if now < each.retry_at <= now + backoff.most else due).append(each)
    through = max((each.through for each in rows), default=0)
    opened = [each.first for each in (*due, *waiting)]
    return Progress(through, min([through, *[first - 1 for first in opened]]), tuple(due), tuple(waiting), tuple(given_up))


def asked_of(
    step: AskedStep,
    *,
    thread_id: str,
    first: int,
    through: int,
    model: str,
    prompt: str,
    at: datetime,
    last: Asked | None,
    backoff: Backoff,
    reason: FailureReason | Literal[""] = "",
    detail: str = "",
    kept: int = 0,
    dropped: dict[str, int] | None = None,
    usage: Usage | None = None,
    seconds: float = 0.0,
) -> Asked:
    """What came of asking once more, with the time to ask again where it failed.

    A model that is out of reach is asked again for ever, in the end after the longest wait: an outage, however long, leaves no
    trace. What it has answered in vain so often (`Backoff.attempts`) is given up.

    Args:
        last: what is kept for the same messages.
    """
    number = last.number + 1 if last is not None and last.failed and last.model == model else 1
    wait = retry_after(number, seed=f"{step} {thread_id} {first}", backoff=backoff) if reason else None
    if wait is None and reason in ("error", "timeout"):
        wait = backoff.most
    return Asked(
        thread_id=thread_id,
        step=step,
        first=first,
        through=through,
        model=model,
        prompt=prompt,
        at=at,
        number=number,
        reason=reason,
        detail=detail,
        kept=kept,
        dropped=dropped or {},
        usage=usage or Usage(),
        seconds=seconds,
        retry_at=None if wait is None else at + wait,
    )
