"""`AsyncItems`: the methods of `Items`, awaited. What a caller's dict says is read before the hop."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from datetime import timedelta
from typing import TYPE_CHECKING, Any

import msgspec

from bethink.hop import hop
from bethink.items import FoundItem, Index, Item, ItemPut
from bethink.items.handle import Items, own_value
from bethink.storage.base import ForgetReceipt
from bethink.values import Namespace

if TYPE_CHECKING:
    from bethink.retrieval.filters import Where

__all__ = ["AsyncItems"]


class AsyncItems:
    """`Items` for an event loop; arguments and results are the same."""

    def __init__(self, items: Items) -> None:
        self._sync = items

    def __repr__(self) -> str:
        return f"AsyncItems(namespace={self.namespace!r})"

    @property
    def namespace(self) -> Namespace:
        return self._sync.namespace

    async def put(
        self,
        key: str,
        value: Mapping[str, Any],
        *,
        ttl: timedelta | None = None,
        index: Index = True,
        expected_version: int | None = None,
    ) -> Item:
        own = own_value(value)
        return await hop(self._sync.put, key, own, ttl=ttl, index=index, expected_version=expected_version)

    async def put_many(self, changes: Iterable[ItemPut]) -> list[Item | None]:
        own = [
            msgspec.structs.replace(each, value=own_value(each.value))
            if isinstance(each, ItemPut) and each.value is not None
            else each
            for each in changes
        ]
        return await hop(self._sync.put_many, own)

    async def get(self, key: str, *, refresh: bool = False) -> Item | None:
        return await hop(self._sync.get, key, refresh=refresh)

    async def search(
        self,
        query: str | None = None,
        *,
        where: Where | None = None,
        below: bool = False,
        limit: int = 10,
        offset: int = 0,
        threshold: float | None = None,
        refresh: bool = False,
    ) -> list[FoundItem]:
        return await hop(
            self._sync.search,
            query,
            where=where,
            below=below,
            limit=limit,
            offset=offset,
            threshold=threshold,
            refresh=refresh,
        )

    async def count(self, *, where: Where | None = None, below: bool = False) -> int:
        return await hop(self._sync.count, where=where, below=below)

    async def delete(self, *keys: str, expected_version: int | None = None) -> list[str]:
        return await hop(self._sync.delete, *keys, expected_version=expected_version)

    async def history(self, key: str) -> list[Item]:
        return await hop(self._sync.history, key)

    async def list_namespaces(
        self,
        *,
        prefix: Sequence[str] = (),
        suffix: Sequence[str] = (),
        max_depth: int | None = None,
        limit: int = 100,
        offset: int = 0,
    ) -> list[Namespace]:
        return await hop(
            self._sync.list_namespaces, prefix=prefix, suffix=suffix, max_depth=max_depth, limit=limit, offset=offset
        )

    async def sweep(self) -> ForgetReceipt:
        return await hop(self._sync.sweep)
