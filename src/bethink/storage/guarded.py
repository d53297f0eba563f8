"""A store that does what a view was given the right to, and refuses the rest before anything is read or written.

    every verb ─▶ which namespace, to read or to write? ─▶ Rights ─▶ the store beneath, with the request as it came
                                                            └─▶ PermissionDenied

Here and nowhere else, so that no way of reading or writing can go around it: what stands above may forget to ask. The request
names its namespace, which the store beneath has in its queries; nothing is read first and filtered afterwards. What is of the
whole database (`check`, `verify`, a change of the model) is for whoever holds the memory.

What is written says whose word it is. A record that names another agent is refused, an assistant's message is said under the
agent's own name, and an agent forgets no record that is another's.
"""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime

import msgspec

from bethink.checkpoints import Checkpoint
from bethink.errors import BethinkError, PermissionDenied
from bethink.messages import Message
from bethink.models import Fingerprint
from bethink.records import AnyRecord
from bethink.rights import Rights
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
    Store,
    StoredItem,
    StoredRecord,
    Transcript,
    Verification,
)
from bethink.threads import ThreadInfo
from bethink.values import Namespace

__all__ = ["GuardedStore"]

replace = msgspec.structs.replace

_WHOLE = "it is for whoever holds the memory itself"
_OTHERS = "that record is the word of another; its author may, or whoever holds the memory itself"


class GuardedStore:
    """A `Store` in front of another, for one view."""

    def __init__(self, store: Store, rights: Rights) -> None:
        self._store = store
        self.rights = rights

    @property
    def beneath(self) -> Store:
        """What it stands in front of: for a narrower guard, not for callers."""
        return self._store

    def _reading(self, namespace: Namespace) -> None:
        if not self.rights.may_read(namespace):
            raise PermissionDenied("read", namespace, f"it was given {_named(self.rights.reads)}")

    def _writing(self, namespace: Namespace) -> None:
        if not self.rights.may_write(namespace):
            raise PermissionDenied("write", namespace, f"it was given {_named(self.rights.writes)}")

    # -- reading ----------------------------------------------------------------------------------------------------------

    def read(self, request: Read, /) -> Transcript:
        self._reading(request.namespace)
        return self._store.read(request)

    def get(self, request: Get, /) -> Fetched:
        self._reading(request.scope.namespace)
        return self._store.get(request)

    def search(self, request: Search, /) -> Found:
        self._reading(request.scope.namespace)
        return self._store.search(request)

    def scan(self, request: Scan, /) -> Page:
        self._reading(request.scope.namespace)
        return self._store.scan(request)

    def list_items(self, request: ListItems, /) -> tuple[StoredItem, ...]:
        self._reading(request.scope.namespace)
        return self._store.list_items(request)

    def count_items(self, request: ListItems, /) -> int:
        self._reading(request.scope.namespace)
        return self._store.count_items(request)

    def item_namespaces(self, scope: Scope, at: datetime, /) -> tuple[Namespace, ...]:
        self._reading(scope.namespace)
        return self._store.item_namespaces(scope, at)

    def has_expired(self, scope: Scope, at: datetime, /) -> bool:
        self._reading(scope.namespace)
        return self._store.has_expired(scope, at)

    def revision(self, namespace: Namespace, /) -> int:
        self._reading(namespace)
        return self._store.revision(namespace)

    def speakers(self, scope: Scope, /, *, at: datetime | None = None) -> tuple[str, ...]:
        self._reading(scope.namespace)
        return self._store.speakers(scope, at=at)

    def stats(self, scope: Scope, /) -> Stats:
        self._reading(scope.namespace)
        return self._store.stats(scope)

    def spaces(self) -> tuple[Space, ...]:
        """Names of models and numbers of vectors: whoever searches by meaning needs them."""
        return self._store.spaces()

    # -- writing ----------------------------------------------------------------------------------------------------------

    def append(self, request: Append, /) -> Appended:
        said = self._said(request)
        return self._store.append(said)

    def append_each(self, requests: Sequence[Append], /) -> list[Appended | BethinkError]:
        # Each is done or refused by itself.
        asked = [self._said_or_refused(request) for request in requests]
        allowed = [each for each in asked if isinstance(each, Append)]
        done = iter(self._store.append_each(allowed) if allowed else ())
        return [next(done) if isinstance(each, Append) else each for each in asked]

    def _said_or_refused(self, request: Append) -> Append | PermissionDenied:
        try:
            return self._said(request)
        except PermissionDenied as denied:
            return denied

    def put(self, request: Put, /) -> None:
        self._writing(request.namespace)
        for record in request.records:
            self._own(record, "write", request.namespace)
        self._store.put(request)

    def keep_items(self, request: KeepItems, /) -> tuple[StoredItem | None, ...]:
        for change in request.changes:
            self._writing(change.namespace)
            if change.author not in ("", self.rights.agent):
                raise PermissionDenied("write", change.namespace, _OTHERS)
        signed = tuple([replace(change, author=self.rights.agent) for change in request.changes])
        return self._store.keep_items(replace(request, changes=signed))

    def refresh_items(self, request: RefreshItems, /) -> int:
        for namespace, _ in request.keys:
            self._writing(namespace)
        return self._store.refresh_items(request)

    def fold(self, request: Fold, /) -> ThreadInfo:
        self._writing(request.namespace)
        return self._store.fold(request)

    def refine(self, request: Refine, /) -> None:
        self._writing(request.namespace)
        self._store.refine(request)

    def mark(self, request: Mark, /) -> None:
        self._writing(request.namespace)
        self._store.mark(request)

    def acquire(self, request: Acquire, /) -> Lease:
        self._writing(request.namespace)
        return self._store.acquire(request)

    def release(self, request: Release, /) -> None:
        self._writing(request.lease.namespace)
        self._store.release(request)

    def save(self, request: Save, /) -> Checkpoint:
        self._writing(request.namespace)
        return self._store.save(request)

    def prune(self, request: Prune, /) -> tuple[str, ...]:
        self._writing(request.namespace)
        return self._store.prune(request)

    def rewrite(self, request: Rewrite, /) -> Rewritten:
        self._writing(request.scope.namespace)
        return self._store.rewrite(request)

    def forget(self, request: Forget, /) -> ForgetReceipt:
        self._writing(request.scope.namespace)
        if self.rights.agent and request.record_id is not None:
            found = self._store.get(Get(scope=request.scope, records=(request.record_id,))).records
            for stored in found:
                self._own(stored.record, "forget", stored.namespace)
        elif self.rights.agent and not (request.message_id or request.thread_id or request.expired):
            self._own_all(request.scope)
        return self._store.forget(request)

    def _own_all(self, scope: Scope) -> None:
        scan = Scan(what="records", scope=scope, kinds=("note", "episode"), current=False)
        while True:
            page = self._store.scan(scan)
            for item in page.items:
                if isinstance(item, StoredRecord):
                    self._own(item.record, "forget", item.namespace)
            if page.next is None:
                return
            scan = replace(scan, after=page.next)

    def _own(self, record: AnyRecord, verb: str, namespace: Namespace) -> None:
        if record.author not in ("", self.rights.agent):
            raise PermissionDenied(verb, namespace, _OTHERS)

    def _said(self, request: Append) -> Append:
        self._writing(request.namespace)
        if not self.rights.agent or all(message.role != "assistant" for message in request.messages):
            return request
        return replace(request, messages=tuple([self._spoken(message, request.namespace) for message in request.messages]))

    def _spoken(self, message: Message, namespace: Namespace) -> Message:
        if message.role != "assistant" or message.name == self.rights.agent:
            return message
        if message.name:
            fix = f"it speaks as {self.rights.agent!r}: leave the name out"
            raise PermissionDenied("write", namespace, fix)
        return replace(message, name=self.rights.agent)

    # -- the whole database -----------------------------------------------------------------------------------------------

    def check(self) -> list[Problem]:
        raise PermissionDenied("check", (), _WHOLE)

    def verify(self, _: tuple[str, ...], /) -> Verification:
        raise PermissionDenied("verify", (), _WHOLE)

    def bind_embedder(self, fingerprint: Fingerprint) -> None:
        if not self.rights.writes:
            raise PermissionDenied("bind_embedder", (), _WHOLE)
        self._store.bind_embedder(fingerprint)

    def fill_space(self, fingerprint: Fingerprint) -> None:  # noqa: ARG002 - the waist's signature
        raise PermissionDenied("fill_space", (), _WHOLE)

    def switch_space(self, fingerprint: Fingerprint, *, waiting: int = 0) -> bool:  # noqa: ARG002 - likewise
        raise PermissionDenied("switch_space", (), _WHOLE)

    def sweep(self) -> bool:
        """Nothing: vectors that a change of the model has left are for others to remove."""
        return False

    def close(self) -> None:
        """Nothing: the database is closed by whoever has opened it."""


def _named(places: tuple[Namespace, ...]) -> str:
    return ", ".join("/".join(place) for place in places) or "none"
