"""`ItemRules`: the part of `StoreMachine` that puts, refreshes, lists, searches and sweeps items.

Times of the machine are minutes, and items live for a few of them, so that some have expired whenever something is asked.
"""

from __future__ import annotations

from datetime import timedelta
from typing import Any

import msgspec
from hypothesis import strategies as st
from hypothesis.stateful import rule

from bethink.storage.base import (
    Compare,
    Exists,
    Filter,
    Forget,
    ForgetReceipt,
    ItemChange,
    KeepItems,
    ListItems,
    RefreshItems,
    Scope,
    Search,
    Store,
)
from bethink.storage.base.filters import alive
from bethink.testing._stateful import MachineBase, namespaces, scopes
from bethink.values import Namespace

__all__ = ["ItemRules"]

_keys = st.sampled_from(("k1", "k1", "k2", "k%"))
_texts = st.sampled_from(("bees make honey", "rain in Lisbon", "", "bees bees rain"))
_wheres: st.SearchStrategy[Filter | None] = st.sampled_from(
    (
        None,
        Compare(("value", "n"), "gt", 1),
        Compare(("value", "said"), "eq", "rain in Lisbon"),
        ~Exists(("value", "at", "all")),
        Compare(("value", 'a "quoted" key'), "eq", True),
    )
)
_histories = st.sampled_from((0, 1, 1, 3))


@st.composite
def _changes(draw: st.DrawFn) -> dict[str, Any]:
    """A change without its id and time: three in four put something."""
    said = draw(_texts)
    number = draw(st.integers(0, 3))
    values: dict[str, Any] = {"said": said, "n": number, 'a "quoted" key': number > 1}
    return {
        "namespace": draw(namespaces),
        "key": draw(_keys),
        "value": values if draw(st.integers(0, 3)) else None,
        "text": said if draw(st.booleans()) else "",
        "ttl": draw(st.none() | st.integers(1, 12).map(lambda minutes: timedelta(minutes=minutes))),
        "expected_version": draw(st.none() | st.none() | st.integers(0, 2)),
    }


class ItemRules(MachineBase):
    """Items put, refreshed, listed, searched, swept and forgotten."""

    @rule(changes=st.lists(_changes(), min_size=1, max_size=3), history=_histories)
    def keep_items(self, changes: list[dict[str, Any]], history: int) -> None:
        at = self.now()
        made = tuple(ItemChange(id=self.fresh("i"), at=at, **change) for change in changes)
        self.both(lambda store: store.keep_items(KeepItems(changes=made, history=history)))

    @rule(keys=st.lists(st.tuples(namespaces, _keys), min_size=1, max_size=3))
    def refresh_items(self, keys: list[tuple[Namespace, str]]) -> None:
        request = RefreshItems(keys=tuple(keys), at=self.now())
        self.both(lambda store: store.refresh_items(request))

    @rule(
        scope=scopes,
        keys=st.none() | st.lists(_keys, max_size=2).map(tuple),
        where=_wheres,
        former=st.booleans(),
        limit=st.none() | st.integers(0, 3),
        offset=st.integers(0, 2),
    )
    def list_items(
        self, scope: Scope, keys: tuple[str, ...] | None, where: Filter | None, former: bool, limit: int | None, offset: int
    ) -> None:
        request = ListItems(
            scope=scope,
            at=self.now(),
            keys=keys,
            where=where,
            former=former and keys is not None,
            limit=limit,
            offset=offset,
        )
        self.both(lambda store: store.list_items(request))
        self.both(lambda store: store.count_items(request))
        self.both(lambda store: store.has_expired(scope, request.at))

    @rule(scope=scopes, words=_texts, where=_wheres)
    def search_items(self, scope: Scope, words: str, where: Filter | None) -> None:
        """What is found is alive, and current."""
        at = self.now()
        request = Search(
            scope=scope,
            terms=tuple(dict.fromkeys(words.lower().split())),
            kinds=("item",),
            limit=1000,
            where=alive(at) if where is None else alive(at) & where,
        )

        def found(store: Store) -> list[tuple[Namespace, str, str]]:
            candidates = store.search(request).candidates
            there = {(each.namespace, each.item.id) for each in store.list_items(ListItems(scope=scope, at=at))}
            assert there.issuperset([(each.namespace, each.id) for each in candidates])
            return sorted((each.namespace, each.id, each.text) for each in candidates)

        self.both(found)

    @rule(scope=scopes)
    def sweep_items(self, scope: Scope) -> None:
        request = Forget(scope=scope, at=self.now(), expired=True)
        self.both(lambda store: store.forget(request), _without_id)

    @rule(scope=scopes, place=st.integers(0, 5))
    def forget_item(self, scope: Scope, place: int) -> None:
        """A version of an item by its id takes its key along."""
        at = self.now()

        def forget(store: Store) -> ForgetReceipt | None:
            items = store.list_items(ListItems(scope=scope, at=at))
            if place >= len(items):
                return None
            return store.forget(Forget(scope=Scope(items[place].namespace), at=at, record_id=items[place].item.id))

        self.both(forget, lambda receipt: receipt and _without_id(receipt))


def _without_id(receipt: ForgetReceipt) -> ForgetReceipt:
    return msgspec.structs.replace(receipt, id="", erased=True)
