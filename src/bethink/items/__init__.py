"""Items: JSON objects under keys, in namespaces. What an agent sets down and looks up again, where memory is what it was told.

    put ─▶ version 1 ─▶ version 2 ─▶ version 3 = the item ─▶ get, search, list
             └────── history ──────┘                       └─▶ delete, or sweep once it has expired

A version is a long-term record (`records.ItemVersion`), and where its key stands is a row beside it. So an item has what every
record has: words and vectors that are searched, filters, namespaces, `check`, `export`, forgetting that can be proved. What a
record has and an item must not, it does not get: versions are put, retired and removed by their keys alone (the store refuses
them elsewhere), nothing of them is revived when another goes, no context shows them, `recall` and the profile leave them out,
and a change of them is none of the records that contexts keep at hand (`Store.revision`).

    __init__    the values: Item, FoundItem, ItemPut
    text        what of a value search reads
    places      which namespaces are listed
    handle      Items: the verbs, of one namespace; `async_handle` the same for an event loop
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import datetime, timedelta
from typing import Any, TypeAlias

import msgspec

from bethink.records import ItemVersion
from bethink.values import Namespace

__all__ = ["FoundItem", "Index", "Item", "ItemPut", "item_of"]

Index: TypeAlias = bool | Sequence[str]
"""What of a value search reads: all strings (True), nothing (False), or the strings at some paths."""


class Item(msgspec.Struct, frozen=True, kw_only=True):
    """What a key holds, or held.

    Attributes:
        namespace: where it is, whole.
        version: 1 for the first, and one more with each `put` while the key is there.
        created_at, updated_at: when the first version was put, and when this one was.
        expires_at: from then on it is not there; None for as long as it is kept.
        replaced_at: when another version took its place; None for the item as it is.
        id: of this version, as `forget(record=...)` takes it.
        author: the agent who put it; "" for whoever holds the memory.
    """

    namespace: Namespace
    key: str
    value: dict[str, Any]
    version: int
    created_at: datetime
    updated_at: datetime
    expires_at: datetime | None = None
    replaced_at: datetime | None = None
    id: str = ""
    author: str = ""


class FoundItem(Item, frozen=True, kw_only=True):
    """An item that was searched for. `score` is from 0 to 1, higher is better; None where there was no query."""

    score: float | None = None


class ItemPut(msgspec.Struct, frozen=True, kw_only=True):
    """One of several changes; see `Items.put`.

    Attributes:
        value: None removes the key.
        below: segments of the namespace below that of the items; () for that itself.
    """

    key: str
    value: Mapping[str, Any] | None
    ttl: timedelta | None = None
    index: Index = True
    expected_version: int | None = None
    below: tuple[str, ...] = ()


def item_of(namespace: Namespace, version: ItemVersion) -> Item:
    """A version as users hold it."""
    return Item(
        namespace=namespace,
        key=version.key,
        value=version.value,
        version=version.version,
        created_at=version.created_at,
        updated_at=version.recorded_at,
        expires_at=version.expires_at,
        replaced_at=version.retired_at,
        id=version.id,
        author=version.author,
    )
