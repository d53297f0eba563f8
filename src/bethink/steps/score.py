"""Scores of a thread's messages, by a language model: which are asked for, and what is kept of them."""

from __future__ import annotations

from bethink.compaction.importance import to_be_scored
from bethink.compaction.model_scores import MOST_AT_ONCE, Judged, score_with_model
from bethink.engine import Engine
from bethink.errors import NotFound
from bethink.messages import Message
from bethink.models.language import ModelStep
from bethink.storage.base import Mark, Read
from bethink.values import Namespace

__all__ = ["keep", "scoring_step"]


def scoring_step(engine: Engine, namespace: Namespace, thread_id: str) -> tuple[tuple[Message, ...], ModelStep[Judged] | None]:
    """Of the newest messages of a thread those that are not folded and wait for a score, and the step that scores them; None
    where there is none.
    """
    try:
        found = engine.store.read(Read(namespace=namespace, thread_id=thread_id, limit=2 * MOST_AT_ONCE, marks=True))
    except NotFound:
        return (), None
    unfolded = [message for message in found.messages if message.seq > found.thread.folded_through]
    messages = to_be_scored(unfolded, found.tiers, found.scores)[-MOST_AT_ONCE:]
    if not messages:
        return (), None
    return messages, score_with_model(messages, count=engine.counter.count, window=engine.settings.model_window)


def keep(engine: Engine, namespace: Namespace, thread_id: str, model: str, judged: Judged) -> bool:
    """Store scores beside their messages. Returns whether they are kept: not where one of the messages was forgotten since."""
    if not judged.scores:
        return False
    now = engine.clock.now()
    try:
        engine.store.mark(Mark(namespace=namespace, thread_id=thread_id, at=now, scores=judged.scores, author=model))
    except NotFound:
        return False
    return True
