"""States of an agent: saved in its thread, found again, and the thread branched off where one was saved."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import msgspec

from bethink.checkpoints import Checkpoint, CheckpointInfo, encoded_state, plain_object
from bethink.engine import Engine
from bethink.errors import InvalidInput, NotFound
from bethink.ids import new_id
from bethink.steps.append import append, append_request
from bethink.storage.base import Get, Prune, Save, Scan, Scope
from bethink.threads import ForkPoint
from bethink.values import Namespace, check_id, check_text

__all__ = ["checkpoints", "fork_at_checkpoint", "prune", "resume", "save", "save_request"]


def save_request(
    engine: Engine,
    namespace: Namespace,
    thread_id: str,
    state: object,
    *,
    label: str = "",
    view: Mapping[str, Any] | None = None,
    metadata: Mapping[str, Any] | None = None,
    format: str = "json",  # noqa: A002 - the field's name
    parent: str | None = None,
    checkpoint_id: str = "",
) -> Save:
    """What `save` asks of the store, with everything taken as it is now; nothing is stored yet.

    Raises:
        InvalidInput: the state, view or metadata cannot be taken; see `checkpoints.encoded_state`.
    """
    now = engine.clock.now()
    return Save(
        namespace=namespace,
        thread_id=thread_id,
        id=check_id(checkpoint_id, "id") if checkpoint_id else new_id(now),
        at=now,
        state=encoded_state(state, format),
        format=format,
        label=check_text(label, "label"),
        view=plain_object(view, "view"),
        metadata=plain_object(metadata, "metadata"),
        parent_id=msgspec.UNSET if parent is None else check_id(parent, "parent"),
    )


def save(engine: Engine, request: Save) -> Checkpoint:
    """Save a checkpoint; its thread is made if it is not there, for an agent has a state before anybody has said anything."""
    with engine.telemetry.span("checkpoint", namespace=request.namespace, thread_id=request.thread_id):
        try:
            return engine.store.save(request)
        except NotFound:
            append(engine, request.namespace, request.thread_id, ())
            return engine.store.save(request)


def checkpoints(engine: Engine, namespace: Namespace, thread_id: str, limit: int | None = None) -> list[CheckpointInfo]:
    """The newest `limit` checkpoints of a thread (all if left out), newest first; [] if there is no such thread."""
    if limit is not None and limit < 0:
        raise InvalidInput("limit", f"{limit}", "use 0 or more, or leave it out for all")
    scan = Scan(what="checkpoints", scope=Scope(namespace), thread_id=thread_id, newest=True)
    found: list[CheckpointInfo] = []
    if limit == 0:
        return found
    for item in engine.pages(scan if limit is None else msgspec.structs.replace(scan, limit=min(limit, scan.limit))):
        assert isinstance(item, CheckpointInfo), "a page holds what was asked for"
        found.append(item)
        if len(found) == limit:
            break
    return found


def resume(engine: Engine, namespace: Namespace, thread_id: str, checkpoint_id: str | None = None) -> Checkpoint:
    """A checkpoint of a thread with its state, whole; the newest if none is named.

    Raises:
        NotFound: the thread has none, or none of that id.
        CorruptStore: it is damaged.
    """
    if checkpoint_id is not None:
        found = _of_thread(engine, namespace, thread_id, check_id(checkpoint_id, "checkpoint_id"))
        if found is None:
            raise _nowhere(engine, namespace, thread_id, checkpoint_id)
        return found
    # One that is pruned between the two calls is no longer the newest: look again.
    while newest := checkpoints(engine, namespace, thread_id, 1):
        found = _of_thread(engine, namespace, thread_id, newest[0].id)
        if found is not None:
            return found
    raise NotFound(f"thread {thread_id!r} has no checkpoint here — save one with `thread.checkpoint(state)`")


def _of_thread(engine: Engine, namespace: Namespace, thread_id: str, checkpoint_id: str) -> Checkpoint | None:
    wanted = Get(scope=Scope(namespace), checkpoints=(checkpoint_id,), thread_id=thread_id)
    return next(iter(engine.store.get(wanted).checkpoints), None)


def _nowhere(engine: Engine, namespace: Namespace, thread_id: str, checkpoint_id: str) -> NotFound:
    """That a thread has no such checkpoint, and which thread has."""
    others = engine.store.get(Get(scope=Scope(namespace), checkpoints=(checkpoint_id,))).checkpoints
    if others:
        return NotFound(
            f"checkpoint {checkpoint_id!r} is of thread {others[0].thread_id!r}, not of {thread_id!r} — resume that thread, "
            "or fork it there and go on in the fork"
        )
    return NotFound(f"thread {thread_id!r} has no checkpoint {checkpoint_id!r} — list what it has with `thread.checkpoints()`")


def prune(engine: Engine, namespace: Namespace, thread_id: str, checkpoint_ids: tuple[str, ...], keep: int | None) -> list[str]:
    """Remove a thread's checkpoints: those named, or all but the `keep` newest. The ids of those removed, oldest first.

    Raises:
        InvalidInput: not one of the two was given.
        NotFound: no such thread, or none of one of the ids in it; nothing was removed.
    """
    if keep is not None and keep < 0:
        raise InvalidInput("keep", f"{keep}", "use 0 or more")
    ids = tuple([check_id(checkpoint_id, "checkpoint id") for checkpoint_id in checkpoint_ids])
    if (keep is None) == (not ids):
        raise InvalidInput("prune", "not one of ids and keep", "name the checkpoints to remove, or say how many to keep")
    return list(engine.store.prune(Prune(namespace=namespace, thread_id=thread_id, keep=keep, ids=ids)))


def fork_at_checkpoint(engine: Engine, namespace: Namespace, thread_id: str, checkpoint_id: str, to: str) -> None:
    """Make the thread `to` of what this one was at a checkpoint, which is the newest that it has.

    Raises:
        NotFound, CorruptStore: as `resume`.
        InvalidInput: it was saved between a tool call and its result.
        Conflict: there is a thread of that id already.
    """
    at = resume(engine, namespace, thread_id, checkpoint_id)
    request = append_request(engine, namespace, to, (), fork_of=ForkPoint(thread_id, at.seq))
    engine.store.append(msgspec.structs.replace(request, checkpoint_id=checkpoint_id))
