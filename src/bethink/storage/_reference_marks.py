"""Tiers and scores beside messages: `storage.base.Mark`, and what a fork takes along."""

from __future__ import annotations

from collections.abc import Collection

import msgspec

from bethink.errors import NotFound
from bethink.marks import Scored, Tiered, tier_of
from bethink.storage._reference_state import State, Thread
from bethink.storage.base import Mark

__all__ = ["mark", "marks_within", "without_marks"]


def mark(state: State, request: Mark) -> None:
    """See `storage.base.Mark`."""
    thread = state.thread(request.namespace, request.thread_id)
    messages = {message.id: message for message in thread.messages}
    for message_id, _ in (*request.tiers, *request.scores):
        if message_id not in messages:
            raise NotFound(f"message {message_id!r} is not in thread {request.thread_id!r}")
    tiers, scores = dict(thread.tiers), dict(thread.scores)
    for message_id, tier in request.tiers:
        if tier != tier_of(messages[message_id], tiers):
            tiers[messages[message_id].seq] = Tiered(tier, request.at)
    for message_id, score in request.scores:
        seq = messages[message_id].seq
        known = scores.get(seq)
        if known is None or (known.score, known.author) != (score, request.author):
            scores[seq] = Scored(score, request.author, request.at)
    state.put_thread(msgspec.structs.replace(thread, tiers=tiers, scores=scores))


def marks_within(fork: Thread, parent: Thread, seq: int) -> Thread:
    """A fork with those of its parent's messages up to a seq."""
    tiers = {at: tiered for at, tiered in parent.tiers.items() if at <= seq}
    scores = {at: scored for at, scored in parent.scores.items() if at <= seq}
    return msgspec.structs.replace(fork, tiers=tiers, scores=scores)


def without_marks(thread: Thread, seqs: Collection[int]) -> Thread:
    """A thread without those of some messages."""
    tiers = {seq: tiered for seq, tiered in thread.tiers.items() if seq not in seqs}
    scores = {seq: scored for seq, scored in thread.scores.items() if seq not in seqs}
    return msgspec.structs.replace(thread, tiers=tiers, scores=scores)
