"""What came of asking a model, as a value to keep, and when to ask again.

    no attempt yet ──▶ failed, retry_at ──▶ failed, retry_at (twice as long) ──▶ ... ──▶ failed, retry_at None: given up
           └──────────────▶ written                     attempts are counted for one span and one model

Waiting is data: nothing here sleeps or reads a clock. A wait grows exponentially up to a cap and is shortened by a share that
follows from the span, so that many threads that failed together do not all come back at once, and the same attempt always waits
the same. A span that changes, or another model, starts anew.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Sequence
from datetime import datetime, timedelta

from bethink.compaction.model_summary import Failed, Outcome
from bethink.compaction.prompts import PROMPT_FINGERPRINT
from bethink.records import Node
from bethink.settings import Backoff
from bethink.storage.base import Attempt

__all__ = ["attempt_of", "is_due", "retry_after", "span_key", "span_of"]


def span_of(node: Node, children: Sequence[Node] = ()) -> str:
    """Names what a node summarises: the messages it covers, or the nodes below it as they are.

    Messages never change under their seq, nor lines under a node's id, and a node that loses a line has lost a message that it
    covers. So with any change of what a summary would be made of, the name is another.

    Args:
        children: the nodes that `node.children` names, in that order.
    """
    parts = [each for child in children for each in (child.id, *_ranges(child))] if node.level > 1 else _ranges(node)
    return _digest((str(node.level), *parts))


def span_key(span: str, instructions: str = "") -> str:
    """Names what a model is asked: a span, and the words of the prompt."""
    return _digest((PROMPT_FINGERPRINT, instructions, span))


def _ranges(node: Node) -> list[str]:
    return [f"{first}-{last}" for first, last in node.covers]


def _digest(parts: Iterable[str]) -> str:
    digest = hashlib.blake2b(digest_size=16)
    for part in parts:
        encoded = part.encode()
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
    seconds: float = 0.0,
    last: Attempt | None = None,
    backoff: Backoff | None = None,
) -> Attempt:
    """The attempt that ended in `outcome` at the instant `at`.

    Args:
        seconds: how long its calls took.
        last: the last attempt that is kept for the node, whatever its span and model.
        backoff: the default one when nothing is said.
    """
    number = last.number + 1 if last is not None and _same(last, span, model) else 1
    if not isinstance(outcome, Failed):
        return Attempt(span=span, node_id=node_id, model=model, at=at, number=number, usage=outcome.usage, seconds=seconds)
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
        seconds=seconds,
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
