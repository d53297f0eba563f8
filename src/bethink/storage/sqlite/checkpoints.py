"""Checkpoints in SQLite: save, prune, read, and what forks and forgets do to them.

    checkpoints   a row for each, small: its place, its line, its view
    states        the bytes; a fork's copy has a row of its own and shares them

As in `threads.py`, each function runs within somebody else's transaction, and looks before it writes.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator
from typing import Any, NamedTuple

import msgspec

from bethink.checkpoints import Checkpoint, CheckpointInfo, damage, digest_of, line_of, relinked
from bethink.errors import Conflict, CorruptStore, InvalidInput, NotFound
from bethink.storage.base import Append, Get, Problem, Prune, Save
from bethink.storage.sqlite.driver import Database, Row
from bethink.storage.sqlite.queries import q
from bethink.storage.sqlite.values import encode, listed, micros, moment, namespace_of, path_of, path_range

__all__ = [
    "Saving",
    "check_fork",
    "drop_from",
    "drop_some",
    "fork",
    "get",
    "info_of",
    "problems",
    "prune",
    "save",
    "saving",
]

_objects = msgspec.json.Decoder(dict[str, Any])


class Saving(NamedTuple):
    """A checkpoint to be saved, with everything done that needs no transaction."""

    request: Save
    digest: str
    view: bytes
    metadata: bytes


class _Head(NamedTuple):
    """Where a checkpoint stands in its thread."""

    number: int
    checkpoint_id: str
    parent_id: str | None
    seq: int


def saving(request: Save) -> Saving:
    return Saving(request, digest_of(request.state), encode(request.view), encode(request.metadata))


def save(database: Database, given: Saving) -> Checkpoint:
    """See `storage.base.Save`."""
    request = given.request
    thread, tip = _thread(database, request)
    rows = database.execute(q.find_checkpoint, (request.id, thread))
    if rows:
        stored = _checkpoint(rows[0])
        if _said(stored) != _said(request):
            raise Conflict(f"checkpoint {request.id!r} is in thread {request.thread_id!r} already and holds something else")
        return stored
    parent_id = request.parent_id
    if parent_id is msgspec.UNSET:
        newest = database.execute(q.newest_checkpoint, (thread,))
        parent_id = newest[0][0] if newest else None
    elif parent_id is not None and not database.execute(q.find_checkpoint_head, (parent_id, thread)):
        raise InvalidInput("parent_id", "no checkpoint of this thread", "name one of the same thread, or leave it out")
    if request.seq is not None and not 0 <= request.seq <= tip:
        raise InvalidInput("seq", f"{request.seq}", f"use one from 0 to the tip of the thread, {tip}, or leave it out")
    seq = tip if request.seq is None else request.seq
    state = database.insert(q.add_state, (request.state,))
    place = (thread, request.id, seq, parent_id, request.label, request.format, micros(request.at))
    database.execute(q.add_checkpoint, (*place, given.digest, given.view, given.metadata, state))
    return Checkpoint(
        namespace=request.namespace,
        thread_id=request.thread_id,
        id=request.id,
        seq=seq,
        created_at=request.at,
        format=request.format,
        size=len(request.state),
        digest=given.digest,
        parent_id=parent_id,
        label=request.label,
        view=request.view,
        metadata=request.metadata,
        state=request.state,
    )


def _said(given: Save | Checkpoint) -> tuple[object, ...]:
    """What makes a checkpoint the same as another of its id; its place in the thread is no part of it."""
    return given.state, given.format, given.label, given.view, given.metadata


def _thread(database: Database, request: Save | Prune) -> tuple[int, int]:
    """Number and tip of a thread, or NotFound."""
    rows = database.execute(q.find_thread, (path_of(request.namespace), request.thread_id))
    if not rows:
        raise NotFound(f"thread {request.thread_id!r} is not in this namespace")
    return rows[0][0], rows[0][2]


# -- removing -------------------------------------------------------------------------------------------------------------


def prune(database: Database, request: Prune) -> tuple[str, ...]:
    """See `storage.base.Prune`."""
    thread, _ = _thread(database, request)
    if (request.keep is None) == (not request.ids):
        raise InvalidInput("prune", "not one of keep and ids", "say how many to keep, or which to remove")
    heads = _heads(database, thread)
    names = [head.checkpoint_id for head in heads]
    if request.keep is None:
        unknown = sorted(set(request.ids).difference(names))
        if unknown:
            raise NotFound(f"checkpoint {unknown[0]!r} is not in thread {request.thread_id!r}")
        going = set(request.ids)
    else:
        going = set(names[: max(0, len(names) - request.keep)])
    _drop(database, heads, going)
    return tuple(name for name in names if name in going)


def drop_from(database: Database, thread: int, seq: int) -> int:
    """Remove a thread's checkpoints at or after a seq; how many there were."""
    heads = _heads(database, thread)
    going = {head.checkpoint_id for head in heads if head.seq >= seq}
    _drop(database, heads, going)
    return len(going)


def drop_some(database: Database, thread: int, ids: Collection[str]) -> None:
    """Remove some of a thread's checkpoints."""
    _drop(database, _heads(database, thread), ids)


def _heads(database: Database, thread: int) -> list[_Head]:
    """All of a thread, in the order in which they were saved."""
    return [_Head(*row) for row in database.execute(q.checkpoint_heads, (thread,))]


def _links(heads: Iterable[_Head]) -> dict[str, str | None]:
    return {head.checkpoint_id: head.parent_id for head in heads}


def _drop(database: Database, heads: list[_Head], going: Collection[str]) -> None:
    if not going:
        return
    parents = relinked(_links(heads), going)
    rows = [(parents[head.checkpoint_id], head.number) for head in heads if head.checkpoint_id in parents]
    numbers = listed(head.number for head in heads if head.checkpoint_id in going)
    states = listed(state for (state,) in database.execute(q.states_of_checkpoints, (numbers,)))
    if rows:
        database.executemany(q.set_checkpoint_parent, rows)
    database.execute(q.drop_checkpoints, (numbers,))
    database.execute(q.drop_states, (states,))


# -- forks ----------------------------------------------------------------------------------------------------------------


def check_fork(database: Database, parent: int, request: Append) -> None:
    """Raise unless the checkpoint that a fork names is there, at its seq."""
    assert request.fork_of is not None
    if request.checkpoint_id is None:
        return
    rows = database.execute(q.find_checkpoint_head, (request.checkpoint_id, parent))
    if not rows:
        raise NotFound(f"checkpoint {request.checkpoint_id!r} is not in thread {request.fork_of.thread_id!r}")
    if rows[0][1] != request.fork_of.seq:
        raise InvalidInput("fork_of.seq", f"{request.fork_of.seq}", f"fork at the seq of the checkpoint, {rows[0][1]}")


def fork(database: Database, parent: int, request: Append, thread: int) -> None:
    """Copy what a fork takes along of its parent's checkpoints; the bytes are shared."""
    assert request.fork_of is not None
    heads = _heads(database, parent)
    links = _links(heads)
    wanted = {head.checkpoint_id for head in heads if head.seq <= request.fork_of.seq}
    if request.checkpoint_id is not None:
        wanted &= line_of(links, request.checkpoint_id)
    parents = links | relinked(links, links.keys() - wanted)
    rows = [(thread, parents[head.checkpoint_id], head.number) for head in heads if head.checkpoint_id in wanted]
    database.executemany(q.fork_checkpoint, rows)


# -- reading --------------------------------------------------------------------------------------------------------------


def get(database: Database, request: Get) -> tuple[Checkpoint, ...]:
    """Those of `storage.base.Get`. CorruptStore if one of them is damaged."""
    rows = database.execute(q.get_checkpoints, (listed(request.checkpoints), *path_range(request.scope), request.thread_id))
    return tuple(map(_checkpoint, rows))


def info_of(row: Row) -> CheckpointInfo:
    """From the columns of `scan_checkpoints`, without the first."""
    fields, damaged = _fields(row)
    return CheckpointInfo(**fields, damaged=damaged)


def _checkpoint(row: Row) -> Checkpoint:
    """Likewise, with the state as the last column."""
    *head, state = row
    fields, damaged = _fields(tuple(head))
    if damaged or state is None or digest_of(state) != fields["digest"]:
        raise damage(fields["id"])
    return Checkpoint(**fields, state=state)


def _fields(row: Row) -> tuple[dict[str, Any], bool]:
    """The fields of a checkpoint, and whether some could not be read."""
    path, thread_id, checkpoint_id, seq, parent_id, label, form, created, digest, size, view, metadata = row
    fields: dict[str, Any] = {
        "namespace": namespace_of(path),
        "thread_id": thread_id,
        "id": checkpoint_id,
        "seq": seq,
        "parent_id": parent_id,
        "label": label,
        "format": form,
        "created_at": moment(created),
        "digest": digest,
        "size": size or 0,
    }
    try:
        return {**fields, "view": _objects.decode(view), "metadata": _objects.decode(metadata)}, False
    except msgspec.DecodeError:
        return fields, True


# -- checking -------------------------------------------------------------------------------------------------------------


def problems(database: Database) -> Iterator[Problem]:
    """A problem for each checkpoint that is damaged. Reads every state."""
    for (number,) in database.execute(q.all_checkpoints):
        for row in database.execute(q.checkpoint_by_number, (number,)):
            if _is_damaged(row):
                yield Problem("is not what was saved", f"checkpoint {row[2]!r} (row {number})", "prune it")


def _is_damaged(row: Row) -> bool:
    try:
        _checkpoint(row)
    except CorruptStore:
        return True
    return False
