"""States that agents save in a thread."""

from __future__ import annotations

from datetime import datetime
from typing import Any

import msgspec

from bethink.values import Namespace

__all__ = ["Prune", "Save"]


class Save(msgspec.Struct, frozen=True, kw_only=True):
    """A checkpoint for a thread. What is returned is the checkpoint as stored.

    Contract:
        - NotFound unless the thread is there.
        - an id that the thread has already, with the same state, format, label, view and metadata, is a retry: nothing is
          written, and the stored checkpoint is returned, wherever it stands. With anything else it raises Conflict.
        - `parent_id`: InvalidInput unless the thread has a checkpoint of that id. Left out, it is the newest checkpoint of the
          thread, if there is one; None says that it follows from none.
        - `seq`: the thread's tip at that moment if it is left out; InvalidInput unless it is from 0 to the tip. It may lie
          between a tool call and its result, where an agent may well stop; a fork cannot.
        - the state comes back byte for byte. One whose bytes are not what was saved raises CorruptStore when it is read.
    """

    namespace: Namespace
    thread_id: str
    id: str
    at: datetime
    state: bytes
    format: str
    label: str = ""
    view: dict[str, Any] = msgspec.field(default_factory=dict)
    metadata: dict[str, Any] = msgspec.field(default_factory=dict)
    parent_id: str | msgspec.UnsetType | None = msgspec.UNSET
    seq: int | None = None


class Prune(msgspec.Struct, frozen=True, kw_only=True):
    """Remove checkpoints of a thread: all but the `keep` newest, or those of some ids. Their ids are returned, oldest first.

    Contract:
        - name one of `keep` and `ids`, else InvalidInput. NotFound if the thread is not there, or has none of one of the ids.
        - a checkpoint that stays while its parent goes gets the nearest before it that stays as its parent, or none.
        - other threads keep their copies.
        - their bytes may be in free pages of the file until something is forgotten.
    """

    namespace: Namespace
    thread_id: str
    keep: int | None = None
    ids: tuple[str, ...] = ()
