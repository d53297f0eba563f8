"""What came of asking a model, as a value to keep, and when to ask again.

    no attempt yet ──▶ failed, retry_at ──▶ failed, retry_at (twice as long) ──▶ ... ──▶ failed, retry_at None: given up
           └──────────────▶ written                     attempts are counted for one span and one model

Waiting is data: nothing here sleeps or reads a clock. A wait grows exponentially up to a cap and is shortened by a share that
follows from the span, so that many threads that failed together do not all come back at once, and the same attempt always waits
the same. A span that changes, or another model, starts anew.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterable
from datetime import datetime, timedelta

import msgspec

from bethink.compaction.model_summary import Failed, Outcome
from bethink.compaction.prompts import PROMPT_FINGERPRINT
from bethink.errors import InvalidInput
from bethink.storage.base import Attempt

__all__ = ["Backoff", "attempt_of", "is_due", "retry_after", "span_key"]


class Backoff(msgspec.Struct, frozen=True, kw_only=True):
    """How long to wait after a failure.

    Attributes:
        first: after the first failure.
        factor: by which each wait is longer than the one before.
        most: no wait is longer.
        jitter: up to this share of a wait is taken off it.
        attempts: after so many failures the span is given up.
    """

    first: timedelta = timedelta(seconds=30)
    factor: float = 2.0
    most: timedelta = timedelta(hours=1)
    jitter: float = 0.25
    attempts: int = 6

    def __post_init__(self) -> None:
        if not timedelta() < self.first <= self.most:
            raise InvalidInput("backoff.first", f"{self.first} of at most {self.most}", "use more than 0, up to `most`")
        if not 1 <= self.factor <= 100:
            raise InvalidInput("backoff.factor", f"{self.factor}", "use 1 to 100")
        if not 0 <= self.jitter < 1:
            raise InvalidInput("backoff.jitter", f"{self.jitter}", "use a share from 0 to below 1")
        if self.attempts < 1:
            raise InvalidInput("backoff.attempts", f"{self.attempts}", "use 1 or more")


def span_key(sources: Iterable[str]) -> str:
    """Names what a model is asked to summarise: ids of messages (or of lines' sources) in order, and the words of the prompt.
    Another message, one less, or a new prompt gives another key."""
    digest = hashlib.blake2b(PROMPT_FINGERPRINT.encode(), digest_size=16)
    for source in sources:
        encoded = source.encode()
        digest.update(len(encoded).to_bytes(8, "big"))
        digest.update(encoded)
    return digest.hexdigest()


def attempt_of(
    outcome: Outcome,
    *,
    span: str,
    node_id: str,
    model: str,
    at: datetime,
    last: Attempt | None = None,
    backoff: Backoff | None = None,
) -> Attempt:
    """The attempt that ended in `outcome` at the instant `at`.

    Args:
        last: the last attempt that is kept for the node, whatever its span and model.
        backoff: the default one when nothing is said.
    """
    number = last.number + 1 if last is not None and _same(last, span, model) else 1
    if not isinstance(outcome, Failed):
        return Attempt(span=span, node_id=node_id, model=model, at=at, number=number, usage=outcome.usage)
    wait = retry_after(number, seed=span, backoff=backoff)
    return Attempt(
        span=span,
        node_id=node_id,
        model=model,
        at=at,
        number=number,
        reason=outcome.reason,
        detail=outcome.detail,
        usage=outcome.usage,
        retry_at=None if wait is None else at + wait,
    )


def retry_after(number: int, *, seed: str, backoff: Backoff | None = None) -> timedelta | None:
    """How long to wait after failure `number` (from 1) in a row; None to give up. The same arguments, the same wait.

    Between `(1 - jitter)` of and all of `min(most, first * factor ** (number - 1))`.
    """
    policy = backoff or Backoff()
    if number >= policy.attempts:
        return None
    # Any factor of at least 1.001 has reached any cap long before the exponent is bounded.
    growth = policy.factor ** min(max(number, 1) - 1, 100)
    longest = min(policy.most.total_seconds(), policy.first.total_seconds() * growth)
    return timedelta(seconds=longest * (1 - policy.jitter * _fraction(f"{number} {seed}")))


def is_due(last: Attempt | None, *, span: str, model: str, now: datetime, backoff: Backoff | None = None) -> bool:
    """Whether to ask a model for a span now, after the last attempt that is kept for its node.

    A wait that is longer than any can be (the clock was set back since) is over.
    """
    if last is None or not _same(last, span, model):
        return True
    if last.retry_at is None:
        return False
    return not now < last.retry_at <= now + (backoff or Backoff()).most


def _same(last: Attempt, span: str, model: str) -> bool:
    """Whether `last` failed at the same."""
    return (last.span, last.model) == (span, model)


def _fraction(seed: str) -> float:
    """A number in [0, 1) that follows from the seed."""
    return int.from_bytes(hashlib.blake2b(seed.encode(), digest_size=6).digest(), "big") / 2**48
