"""What came of asking a model, beside the thread that it was about."""

from __future__ import annotations

import msgspec

from bethink.errors import Conflict
from bethink.storage._reference_state import Row, State, Thread
from bethink.storage.base import Ask, Asked
from bethink.storage.derive import asked_within
from bethink.values import Namespace

__all__ = ["asked_of_fork", "keep_asked"]


def keep_asked(state: State, namespace: Namespace, ask: Ask) -> None:
    """See `storage.base.Ask`."""
    asked = ask.asked
    thread = state.thread(namespace, asked.thread_id)
    kept = next((row for row in thread.asked if (row.value.step, row.value.first) == (asked.step, asked.first)), None)
    if ask.expected != (None if kept is None else kept.value):
        raise Conflict(f"somebody else has asked a model to {asked.step} the same messages — read what came of it")
    row = Row(state.number() if kept is None else kept.number, asked)
    rows = tuple(sorted([*(each for each in thread.asked if each is not kept), row], key=lambda each: each.number))
    state.put_thread(msgspec.structs.replace(thread, asked=rows))


def asked_of_fork(state: State, parent: Thread, seq: int, fork_id: str) -> tuple[Row[Asked], ...]:
    """What a fork takes."""
    return tuple([Row(state.number(), each) for each in asked_within([row.value for row in parent.asked], seq, fork_id)])
