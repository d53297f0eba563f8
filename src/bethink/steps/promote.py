"""Tiers that messages are given after they were appended, and a look at what stands beside them."""

from __future__ import annotations

from bethink.engine import Engine
from bethink.errors import InvalidInput, NotFound
from bethink.marks import Scored, Tiered, check_tier, tier_of
from bethink.messages import Message, Tier
from bethink.storage.base import Get, Mark, Read, Scope, Transcript
from bethink.values import Namespace, check_id

__all__ = ["promote", "scores", "tiers"]


def promote(engine: Engine, namespace: Namespace, thread_id: str, message: int | str, tier: Tier) -> Tier:
    """Give a message, named by its seq or its id, a tier. Returns the one it had."""
    tier = check_tier(tier)
    found = _message(engine, namespace, thread_id, message)
    before = tier_of(found, _marks(engine, namespace, thread_id).tiers)
    engine.store.mark(Mark(namespace=namespace, thread_id=thread_id, at=engine.clock.now(), tiers=((found.id, tier),)))
    return before


def tiers(engine: Engine, namespace: Namespace, thread_id: str) -> dict[int, Tiered]:
    """What `promote` has set, by seq."""
    try:
        return _marks(engine, namespace, thread_id).tiers
    except NotFound:
        return {}


def scores(engine: Engine, namespace: Namespace, thread_id: str) -> dict[int, Scored]:
    """What a model has said, by seq."""
    try:
        return _marks(engine, namespace, thread_id, limit=None).scores
    except NotFound:
        return {}


def _marks(engine: Engine, namespace: Namespace, thread_id: str, limit: int | None = 0) -> Transcript:
    return engine.store.read(Read(namespace=namespace, thread_id=thread_id, limit=limit, marks=True))


def _message(engine: Engine, namespace: Namespace, thread_id: str, named: int | str) -> Message:
    if isinstance(named, str):
        stored = engine.store.get(Get(scope=Scope(namespace), messages=(check_id(named, "message"),))).messages
        found = [each.message for each in stored if each.thread_id == thread_id]
    elif isinstance(named, int) and not isinstance(named, bool):
        read = Read(namespace=namespace, thread_id=thread_id, after=named - 1, before=named + 1)
        found = list(engine.store.read(read).messages)
    else:
        raise InvalidInput("message", f"a {type(named).__name__}", "give the message's seq or its id")
    if not found:
        raise NotFound(f"thread {thread_id!r} has no message {named!r} — list what it has with `thread.messages()`")
    return found[0]
