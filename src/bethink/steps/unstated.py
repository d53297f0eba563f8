"""Insights out of sentences that no rule reads: the embedding around the pure `insights.unstated`.

It is done where a session is reflected on, and nowhere else: a context would wait for the vector of every sentence (5 ms each).
The thread's "reflected" cursor has it done once for each message. An embedder that fails leaves the session as it is, to be
reflected on again, so that what is drawn is the same as if it never had.
"""

from __future__ import annotations

from collections.abc import Sequence

from bethink.engine import Engine
from bethink.messages import Message
from bethink.records import Insight
from bethink.threads import ThreadInfo

__all__ = ["unstated"]


def unstated(engine: Engine, thread: ThreadInfo, messages: Sequence[Message]) -> tuple[Insight, ...]:
    """What the messages past the thread's cursor say by their meaning alone; nothing without an embedder that is calibrated.

    Args:
        messages: of the thread, stored, in order.

    Raises:
        EmbeddingFailed: the embedder did.
    """
    embedder = None if engine.settings.prototypes is False else engine.calibrated
    # Who hands work to a specialist is not the user.
    if embedder is None or thread.handed_from is not None:
        return ()
    from bethink.insights.domains.asked import rules_of
    from bethink.insights.extract import extract
    from bethink.insights.unstated import meant, sayings

    new = [message for message in messages if message.seq > thread.reflected_through]
    now = engine.clock.now()
    said = sayings(new, extract(new, thread_id=thread.thread_id, now=now, also=rules_of(engine.template)))
    if not said:
        return ()
    with engine.telemetry.span("unstated", sentences=len(said)):
        vectors = embedder.embed([saying.text for saying in said])
        return meant(said, vectors, thread_id=thread.thread_id, now=now)
