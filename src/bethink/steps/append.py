"""Messages in: given an id and a time, stored in one transaction."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime

import msgspec

from bethink.engine import Engine
from bethink.ids import new_id
from bethink.messages import Message
from bethink.storage.base import Append, Appended, Lease
from bethink.threads import ForkPoint
from bethink.values import Namespace

__all__ = ["append", "append_request"]


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
    return engine.store.append(
        append_request(engine, namespace, thread_id, messages, expected_tip=expected_tip, fork_of=fork_of, metadata=metadata)
    )


def append_request(
    engine: Engine,
    namespace: Namespace,
    thread_id: str,
    messages: Sequence[Message],
    *,
    expected_tip: int | None = None,
    fork_of: ForkPoint | None = None,
    metadata: dict[str, object] | None = None,
    lease: Lease | None = None,
) -> Append:
    """What `append` asks of the store; nothing is stored yet."""
    now = engine.clock.now()
    return Append(
        namespace=namespace,
        thread_id=thread_id,
        at=now,
        messages=tuple([_ready(message, now) for message in messages]),
        fresh=not any(message.id for message in messages),
        expected_tip=expected_tip,
        fork_of=fork_of,
        metadata=metadata or {},
        lease=lease,
    )


def _ready(message: Message, now: datetime) -> Message:
    """A message fit to be stored: with an id and a time, and without the place it may have had in another thread."""
    return msgspec.structs.replace(message, created_at=message.created_at or now, id=message.id or new_id(now), seq=0, group=0)
