"""Messages in: checked, given an id and a time, their index terms made, stored in one transaction."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime

import msgspec

from bethink.engine import Engine
from bethink.ids import new_id
from bethink.messages import Message, checked
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
    now = engine.clock.now()
    ready = [_ready(message, now, f"messages[{index}]") for index, message in enumerate(messages)]
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


def _ready(message: Message, now: datetime, field: str) -> Message:
    """A message fit to be stored: checked, with an id and a time."""
    created_at = message.created_at or now
    ready = msgspec.structs.replace(message, created_at=created_at, id=message.id or new_id(now), seq=0, group=0)
    return checked(ready, field)


def _terms_of(message: Message) -> str:
    return "" if message.pinned else index_terms(message.text[:_INDEXED_CHARACTERS])
