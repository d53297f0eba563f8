"""Items: JSON objects under keys. Each `put` makes a version, a record of kind "item"; the current version is the item.

    keep_items ─▶ version 1 ─▶ version 2 ─▶ version 3 = the item
                  └───── its history ─────┘

An item that has expired is there for no verb of this module, from that moment on; its versions are removed by
`Forget.expired`, or by the next version of its key. A former version may have expired by itself.
"""

from __future__ import annotations

from datetime import datetime, timedelta
from typing import Any

import msgspec

from bethink.records import ItemVersion
from bethink.storage.base.filters import Filter
from bethink.storage.base.scope import Scope
from bethink.values import Namespace

__all__ = ["ItemChange", "KeepItems", "ListItems", "RefreshItems", "StoredItem"]


class StoredItem(msgspec.Struct, frozen=True):
    """A version of an item with where it is."""

    namespace: Namespace
    item: ItemVersion


class ItemChange(msgspec.Struct, frozen=True, kw_only=True):
    """What is to become of a key: another version, or nothing at all.

    Attributes:
        id: of the new version.
        value: of the new version; None removes the item with its history.
        text: what search reads of it; "" for nothing.
        ttl: how long it lives; None for as long as it is kept.
        at: the moment of the change, by which it is told what has expired.
        put_at, expires_at: of a version that was put elsewhere, when that was, and when it expires. Left out, `at`, and `ttl`
            after that.
        expected_version: Conflict unless the item is of this version at that moment; 0 stands for "not there".
        version: the number of the new version, if it is not the next one; above that of the item that is there.
        created_at: when its first version was put, where nothing is there; when this one was if left out.
        author: the agent who puts it (see `Record.author`).
    """

    namespace: Namespace
    key: str
    at: datetime
    id: str = ""
    value: dict[str, Any] | None = None
    text: str = ""
    ttl: timedelta | None = None
    put_at: datetime | None = None
    expires_at: datetime | None = None
    expected_version: int | None = None
    version: int | None = None
    created_at: datetime | None = None
    author: str = ""


class KeepItems(msgspec.Struct, frozen=True, kw_only=True):
    """Changes of items, in order, in one transaction; each names its namespace. What is returned is each item as it is then, in
    its place; for one that is removed, what it was, or None if it was not there.

    Contract:
        - all or none: of two who expect the same version one wins, and the other's request changes nothing (Conflict).
        - where nothing is there, or what is there has expired by `at` of the change, the first version is made, and whatever is
          left of the key is removed; else the next one. `created_at` is that of the first.
        - the version before is retired when this one is put, and search finds it no more. Of former versions the newest
          `history` stay.
        - an id that the namespace has already raises Conflict, as does a `version` that is not above the one that is there.
        - what is removed here is in no answer any more; its bytes may be in free pages of the file until a forget.
        - nothing of it changes the `revision` of a namespace.
    """

    changes: tuple[ItemChange, ...]
    history: int = 0


class RefreshItems(msgspec.Struct, frozen=True, kw_only=True):
    """Let items live on for their `ttl` from `at`. Others, those that have expired by `at` too, are passed over.

    It makes no version, and need not wait for the disk (see `Put.relaxed`). Returned is how many there were.
    """

    keys: tuple[tuple[Namespace, str], ...]
    at: datetime


class ListItems(msgspec.Struct, frozen=True, kw_only=True):
    """The items of a scope that have not expired by `at`, the one put last first.

    Attributes:
        keys: only those under these keys.
        ids: instead, only those whose current version has one of these ids.
        where: only those that this filter is true of.
        former: of `keys`, which it needs, also former versions that have not expired themselves, without a look at `where`.
        limit, offset: so many of them (all if None), from that place on.
    """

    scope: Scope
    at: datetime
    keys: tuple[str, ...] | None = None
    ids: tuple[str, ...] | None = None
    where: Filter | None = None
    former: bool = False
    limit: int | None = None
    offset: int = 0
