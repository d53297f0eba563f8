"""The storage contract as plain code: everything in memory, nothing clever. Every other backend is compared with this one.

    ReferenceStore   takes the lock, works on a copy of the state, swaps it in; a function for each verb is in
      _reference_state          what is held
      _reference_threads        messages appended, forked and read
      _reference_records        records put with what goes with them; things by id
      _reference_turns          leases
      _reference_spaces         whose vectors
      _reference_nodes          summary nodes folded and refined
      _reference_search         what search finds, and its statistics
      _reference_checkpoints    states saved and pruned
      _reference_asked          what came of asking a model
      _reference_marks          tiers and scores beside messages
      _reference_items          JSON under keys
      _reference_forget         what goes with what
      _reference_rewrite        what is stored, in other words
      _reference_scan           everything, page by page
      _reference_check          what must always hold

It also serves as a store for tests and for memories that need not outlive their process.
"""

from __future__ import annotations

import threading
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from datetime import datetime

import msgspec

from bethink.checkpoints import Checkpoint
from bethink.errors import BethinkError, StoreClosed
from bethink.models import Fingerprint
from bethink.storage._reference_check import problems
from bethink.storage._reference_checkpoints import prune, save
from bethink.storage._reference_forget import forget
from bethink.storage._reference_items import count_items, expired, item_namespaces, keep_items, list_items, refresh_items
from bethink.storage._reference_marks import mark
from bethink.storage._reference_nodes import fold, refine
from bethink.storage._reference_records import get, put
from bethink.storage._reference_rewrite import rewrite
from bethink.storage._reference_scan import everything, scan, stats
from bethink.storage._reference_search import search, speakers
from bethink.storage._reference_spaces import bind, fill, spaces, switch
from bethink.storage._reference_state import State
from bethink.storage._reference_threads import append, read
from bethink.storage._reference_turns import acquire, release
from bethink.storage.base import (
    Acquire,
    Append,
    Appended,
    Fetched,
    Fold,
    Forget,
    ForgetReceipt,
    Found,
    Get,
    KeepItems,
    Lease,
    ListItems,
    Mark,
    Page,
    Problem,
    Prune,
    Put,
    Read,
    Refine,
    RefreshItems,
    Release,
    Rewrite,
    Rewritten,
    Save,
    Scan,
    Scope,
    Search,
    Space,
    Stats,
    StoredItem,
    Transcript,
    Verification,
)
from bethink.threads import ThreadInfo
from bethink.values import Namespace

__all__ = ["ReferenceStore"]

replace = msgspec.structs.replace


class ReferenceStore:
    """A `Store` in memory, gone when it is closed."""

    def __init__(self) -> None:
        self._lock = threading.RLock()
        self._state = State()
        self._closed = False

    @contextmanager
    def _reading(self) -> Iterator[State]:
        with self._lock:
            if self._closed:
                raise StoreClosed("the store has been closed — open it again")
            yield self._state

    @contextmanager
    def _writing(self) -> Iterator[State]:
        """A copy to change; it becomes the state unless the block raises."""
        with self._reading() as state:
            changed = state.copy()
            yield changed
            self._state = changed

    def append(self, request: Append, /) -> Appended:
        with self._writing() as state:
            return append(state, request)

    def append_each(self, requests: Sequence[Append], /) -> list[Appended | BethinkError]:
        return [self._outcome(request) for request in requests]

    def _outcome(self, request: Append) -> Appended | BethinkError:
        try:
            return self.append(request)
        except BethinkError as error:
            return error

    def read(self, request: Read, /) -> Transcript:
        with self._reading() as state:
            return read(state.thread(request.namespace, request.thread_id), request)

    def get(self, request: Get, /) -> Fetched:
        with self._reading() as state:
            return get(state, request)

    def fold(self, request: Fold, /) -> ThreadInfo:
        with self._writing() as state:
            return fold(state, request)

    def refine(self, request: Refine, /) -> None:
        with self._writing() as state:
            refine(state, request)

    def mark(self, request: Mark, /) -> None:
        with self._writing() as state:
            mark(state, request)

    def acquire(self, request: Acquire, /) -> Lease:
        with self._writing() as state:
            return acquire(state, request)

    def release(self, request: Release, /) -> None:
        with self._writing() as state:
            release(state, request.lease)

    def put(self, request: Put, /) -> None:
        with self._writing() as state:
            put(state, request)

    def save(self, request: Save, /) -> Checkpoint:
        with self._writing() as state:
            return save(state, request)

    def prune(self, request: Prune, /) -> tuple[str, ...]:
        with self._writing() as state:
            return prune(state, request)

    def keep_items(self, request: KeepItems, /) -> tuple[StoredItem | None, ...]:
        with self._writing() as state:
            return keep_items(state, request)

    def refresh_items(self, request: RefreshItems, /) -> int:
        with self._writing() as state:
            return refresh_items(state, request)

    def list_items(self, request: ListItems, /) -> tuple[StoredItem, ...]:
        with self._reading() as state:
            return list_items(state, request)

    def count_items(self, request: ListItems, /) -> int:
        with self._reading() as state:
            return count_items(state, request)

    def item_namespaces(self, scope: Scope, at: datetime, /) -> tuple[Namespace, ...]:
        with self._reading() as state:
            return item_namespaces(state, scope, at)

    def has_expired(self, scope: Scope, at: datetime, /) -> bool:
        with self._reading() as state:
            return bool(expired(state, Forget(scope=scope, at=at)))

    def search(self, request: Search, /) -> Found:
        with self._reading() as state:
            return search(state, request)

    def revision(self, _: Namespace, /) -> int:
        """The number of changes of records, in whichever namespace."""
        with self._reading() as state:
            return state.revision

    def speakers(self, scope: Scope, /, *, at: datetime | None = None) -> tuple[str, ...]:
        """Names under which messages that search can find were said."""
        with self._reading() as state:
            return speakers(state, scope, at)

    def forget(self, request: Forget, /) -> ForgetReceipt:
        with self._writing() as state:
            return forget(state, request)

    def rewrite(self, request: Rewrite, /) -> Rewritten:
        with self._writing() as state:
            return rewrite(state.copy() if request.dry else state, request)

    def scan(self, request: Scan, /) -> Page:
        with self._reading() as state:
            return scan(state, request)

    def check(self) -> list[Problem]:
        """Everything inconsistent; empty when sound."""
        with self._reading() as state:
            return problems(state)

    def verify(self, texts: tuple[str, ...], /) -> Verification:
        """Look for the texts, line by line, in the JSON of everything held: the nearest thing to files there is here."""
        with self._reading() as state:
            held = everything(state)
        pieces = sorted({line.strip() for text in texts for line in text.splitlines()} - {""})
        found = [(held.find(msgspec.json.encode(piece)[1:-1]), piece) for piece in pieces]
        hits = tuple(("memory", offset, piece) for offset, piece in found if offset >= 0)
        return Verification(needles=len(pieces), files=(("memory", len(held)),), hits=hits)

    def stats(self, scope: Scope, /) -> Stats:
        with self._reading() as state:
            return stats(state, scope)

    def spaces(self) -> tuple[Space, ...]:
        with self._reading() as state:
            return spaces(state)

    def bind_embedder(self, fingerprint: Fingerprint) -> None:
        with self._writing() as state:
            bind(state, fingerprint)

    def fill_space(self, fingerprint: Fingerprint) -> None:
        with self._writing() as state:
            fill(state, fingerprint)

    def switch_space(self, fingerprint: Fingerprint, *, waiting: int = 0) -> bool:
        with self._writing() as state:
            return switch(state, fingerprint, waiting)

    def sweep(self) -> bool:
        """Nothing is left to remove: what was given up is gone at once."""
        with self._reading():
            return False

    def close(self) -> None:
        """Release everything. Closing twice is fine."""
        with self._lock:
            self._closed = True
            self._state = State()
