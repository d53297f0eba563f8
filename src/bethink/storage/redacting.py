"""A store that redacts what it is given before it hands it on: nothing unredacted is ever stored or indexed.

    append, put, keep_items, fold, refine, save ─▶ Redaction ─▶ the store beneath       every other verb as it is

Here and nowhere else, so that no way of writing can go around it. What is derived rests on what was stored, and is redacted by
that; it is looked at once more because callers store records of their own.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import msgspec

from bethink.checkpoints import Checkpoint
from bethink.errors import BethinkError
from bethink.redaction import Redaction
from bethink.storage.base import Append, Appended, Fold, KeepItems, Put, Refine, Save, Store, StoredItem
from bethink.threads import ThreadInfo

__all__ = ["PASSED", "RedactingStore"]

replace = msgspec.structs.replace

PASSED = frozenset(
    (
        *("read", "get", "search", "scan", "revision", "speakers", "check", "verify", "stats", "close"),
        *("acquire", "release", "mark", "prune", "forget", "rewrite"),
        *("refresh_items", "list_items", "count_items", "item_namespaces", "has_expired"),
        *("spaces", "bind_embedder", "fill_space", "switch_space", "sweep"),
    )
)
"""Verbs that store no words. One that is neither here nor a method below is refused: it might."""


class RedactingStore:
    """A `Store` in front of another.

    A retry of an id is compared as it was stored, so the same message under the same id is a retry here too.
    """

    def __init__(self, store: Store, redaction: Redaction) -> None:
        self._store = store
        self._by = redaction

    if TYPE_CHECKING:

        def __getattr__(self, name: str) -> Any: ...

    else:

        def __getattr__(self, name):
            if name not in PASSED:
                raise AttributeError(f"{type(self).__name__} has no verb {name!r}")
            return getattr(self._store, name)

    def append(self, request: Append, /) -> Appended:
        return self._store.append(self._appended(request))

    def append_each(self, requests: Sequence[Append], /) -> list[Appended | BethinkError]:
        return self._store.append_each([self._appended(request) for request in requests])

    def _appended(self, request: Append) -> Append:
        messages = tuple(map(self._by.message, request.messages))
        return replace(request, messages=messages, metadata=self._by.thread_metadata(request.metadata))

    def put(self, request: Put, /) -> None:
        retire = tuple([replace(each, reason=self._by.text(each.reason)) for each in request.retire])
        self._store.put(replace(request, records=tuple(map(self._by.record, request.records)), retire=retire))

    def keep_items(self, request: KeepItems, /) -> tuple[StoredItem | None, ...]:
        changes = [
            replace(each, value=None if each.value is None else self._by.json(each.value), text=self._by.text(each.text))
            for each in request.changes
        ]
        return self._store.keep_items(replace(request, changes=tuple(changes)))

    def fold(self, request: Fold, /) -> ThreadInfo:
        return self._store.fold(replace(request, nodes=tuple(map(self._by.node, request.nodes))))

    def refine(self, request: Refine, /) -> None:
        node = None if request.node is None else self._by.node(request.node)
        self._store.refine(replace(request, node=node))

    def save(self, request: Save, /) -> Checkpoint:
        return self._store.save(self._by.checkpoint(request))
