"""Checkpoints in a state: saved, pruned, taken along by a fork, and gone with the messages they know of."""

from __future__ import annotations

from collections.abc import Iterable

import msgspec

from bethink.checkpoints import Checkpoint, CheckpointInfo, digest_of, line_of, relinked
from bethink.errors import Conflict, InvalidInput, NotFound
from bethink.storage._reference_state import Row, State, Thread
from bethink.storage.base import Append, Prune, Save

__all__ = ["forked", "info_of", "prune", "save", "those_left", "without"]

replace = msgspec.structs.replace


def save(state: State, request: Save) -> Checkpoint:
    """See `storage.base.Save`."""
    thread = state.thread(request.namespace, request.thread_id)
    known = {row.value.id: row.value for row in thread.checkpoints}
    stored = known.get(request.id)
    if stored is not None:
        if _said(stored) != _said(request):
            raise Conflict(f"checkpoint {request.id!r} is in thread {request.thread_id!r} already and holds something else")
        return stored
    parent_id = request.parent_id
    if parent_id is msgspec.UNSET:
        parent_id = thread.checkpoints[-1].value.id if thread.checkpoints else None
    elif parent_id is not None and parent_id not in known:
        raise InvalidInput("parent_id", "no checkpoint of this thread", "name one of the same thread, or leave it out")
    tip = thread.info.tip
    if request.seq is not None and not 0 <= request.seq <= tip:
        raise InvalidInput("seq", f"{request.seq}", f"use one from 0 to the tip of the thread, {tip}, or leave it out")
    checkpoint = Checkpoint(
        namespace=request.namespace,
        thread_id=request.thread_id,
        id=request.id,
        seq=tip if request.seq is None else request.seq,
        created_at=request.at,
        format=request.format,
        size=len(request.state),
        digest=digest_of(request.state),
        parent_id=parent_id,
        label=request.label,
        view=request.view,
        metadata=request.metadata,
        state=request.state,
    )
    state.put_thread(replace(thread, checkpoints=(*thread.checkpoints, Row(state.number(), checkpoint))))
    return checkpoint


def _said(given: Save | Checkpoint) -> tuple[object, ...]:
    """What makes a checkpoint the same as another of its id; its place in the thread is no part of it."""
    return given.state, given.format, given.label, given.view, given.metadata


def prune(state: State, request: Prune) -> tuple[str, ...]:
    """See `storage.base.Prune`."""
    thread = state.thread(request.namespace, request.thread_id)
    names = [row.value.id for row in thread.checkpoints]
    if (request.keep is None) == (not request.ids):
        raise InvalidInput("prune", "not one of keep and ids", "say how many to keep, or which to remove")
    if request.keep is None:
        unknown = sorted(set(request.ids).difference(names))
        if unknown:
            raise NotFound(f"checkpoint {unknown[0]!r} is not in thread {request.thread_id!r}")
        going = set(request.ids)
    else:
        going = set(names[: max(0, len(names) - request.keep)])
    state.put_thread(replace(thread, checkpoints=those_left(thread.checkpoints, going)))
    return tuple(name for name in names if name in going)


def forked(state: State, parent: Thread, request: Append) -> tuple[Row[Checkpoint], ...]:
    """Copies for a fork, each with a number of its own."""
    assert request.fork_of is not None
    seq = request.fork_of.seq
    wanted = {row.value.id for row in parent.checkpoints if row.value.seq <= seq}
    if request.checkpoint_id is not None:
        at = {row.value.id: row.value.seq for row in parent.checkpoints}.get(request.checkpoint_id)
        if at is None:
            raise NotFound(f"checkpoint {request.checkpoint_id!r} is not in thread {request.fork_of.thread_id!r}")
        if at != seq:
            raise InvalidInput("fork_of.seq", f"{seq}", f"fork at the seq of the checkpoint, {at}")
        wanted &= line_of(_links(parent.checkpoints), request.checkpoint_id)
    left = those_left(parent.checkpoints, {row.value.id for row in parent.checkpoints} - wanted)
    return tuple(Row(state.number(), replace(row.value, thread_id=request.thread_id)) for row in left)


def without(thread: Thread, first: int) -> tuple[Row[Checkpoint], ...]:
    """Those of a thread that loses messages from seq `first` on."""
    return those_left(thread.checkpoints, {row.value.id for row in thread.checkpoints if row.value.seq >= first})


def those_left(rows: tuple[Row[Checkpoint], ...], going: set[str]) -> tuple[Row[Checkpoint], ...]:
    parents = relinked(_links(rows), going)
    return tuple(
        Row(row.number, replace(row.value, parent_id=parents[row.value.id])) if row.value.id in parents else row
        for row in rows
        if row.value.id not in going
    )


def _links(rows: Iterable[Row[Checkpoint]]) -> dict[str, str | None]:
    return {row.value.id: row.value.parent_id for row in rows}


def info_of(checkpoint: Checkpoint) -> CheckpointInfo:
    """A checkpoint without its state."""
    return CheckpointInfo(**{name: getattr(checkpoint, name) for name in CheckpointInfo.__struct_fields__})
