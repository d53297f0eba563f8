"""Messages in: given an id and a time, their index terms made, stored in one transaction."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime

import msgspec

from bethink.engine import Engine
from bethink.ids import new_id
from bethink.messages import Message
from bethink.retrieval.terms import index_terms
from bethink.storage.base import Append, Appended
from bethink.threads import ForkPoint
from bethink.values import Namespace

__all__ = ["append"]

_INDEXED_CHARACTERS = 20_000


def append(
    engine: Engine,
    namespace: Namespace,
    thread_id: str,
    messages: Sequence[Message],
    *,
    expected_tip: int | None = None,
    fork_of: ForkPoint | None = None,
    metadata: dict[str, object] | None = None,
) -> Appended:
    """Store checked messages (`formats.from_any`, `messages.checked`) at the end of a thread; see `storage.base.Append`."""
    now = engine.clock.now()
    ready = [_ready(message, now) for message in messages]
    return engine.store.append(
        Append(
            namespace=namespace,
            thread_id=thread_id,
            at=now,
            messages=tuple(ready),
            terms=tuple(map(_terms_of, ready)),
            expected_tip=expected_tip,
            fork_of=fork_of,
            metadata=metadata or {},
        )
    )


def _ready(message: Message, now: datetime) -> Message:
    """A message fit to be stored: with an id and a time, and without the place it may have had in another thread."""
    return msgspec.structs.replace(message, created_at=message.created_at or now, id=message.id or new_id(now), seq=0, group=0)


def _terms_of(message: Message) -> str:
    return "" if message.pinned else index_terms(message.text[:_INDEXED_CHARACTERS])
