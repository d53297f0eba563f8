"""Items in the state: versions are records, and the current one of a key is looked for among them."""

from __future__ import annotations

from collections.abc import Iterator
from copy import deepcopy
from datetime import datetime

import msgspec

from bethink.records import ItemVersion
from bethink.storage._reference_state import Key, Row, State, Unit, in_scope
from bethink.storage.base import Forget, KeepItems, ListItems, RefreshItems, Scope, StoredItem, fields_of, passes
from bethink.storage.derive import terms_of
from bethink.storage.items import planned, refreshed
from bethink.values import Namespace

__all__ = [
    "count_items",
    "expired",
    "item_namespaces",
    "keep_items",
    "list_items",
    "refresh_items",
    "versions",
    "with_other_versions",
]

replace = msgspec.structs.replace


def keep_items(state: State, request: KeepItems) -> tuple[StoredItem | None, ...]:
    """See `storage.base.KeepItems`."""
    steps = planned(
        request.changes,
        lambda namespace, key: current(state, namespace, key),
        lambda namespace, record_id: (namespace, record_id) in state.records,
    )
    for step in steps:
        if step.clear:
            for version in versions(state, step.namespace, step.key):
                _drop(state, step.namespace, version)
        if step.former is not None:
            _drop_unit(state, step.namespace, step.former)
            _write(state, step.namespace, step.former)
        if step.item is not None:
            _write(state, step.namespace, step.item)
            state.add_unit(Unit(step.namespace, step.item.id, terms_of(step.item)))
            former = versions(state, step.namespace, step.key)[:-1]
            for version in former[: max(0, len(former) - request.history)]:
                _drop(state, step.namespace, version)
    return tuple(step.answer for step in steps)


def refresh_items(state: State, request: RefreshItems) -> int:
    """See `storage.base.RefreshItems`."""
    count = 0
    for namespace, key in dict.fromkeys(request.keys):
        item = current(state, namespace, key)
        left = None if item is None else refreshed(item, request.at)
        if left is not None:
            _write(state, namespace, left)
            count += 1
    return count


def versions(state: State, namespace: Namespace, key: str) -> list[ItemVersion]:
    """All of a key, by version."""
    found = [row.value for (place, _), row in state.records.items() if place == namespace]
    return sorted([each for each in found if isinstance(each, ItemVersion) and each.key == key], key=lambda each: each.version)


def current(state: State, namespace: Namespace, key: str) -> ItemVersion | None:
    """The current version of a key, expired or not."""
    return next((each for each in versions(state, namespace, key) if each.current), None)


def _write(state: State, namespace: Namespace, item: ItemVersion) -> None:
    revision = state.revision
    state.put_record(namespace, _own(item))
    state.revision = revision


def _own(item: ItemVersion) -> ItemVersion:
    """With a value that nobody else can change: what is stored is given to nobody, and nobody's is stored."""
    return replace(item, value=deepcopy(item.value))


def _drop(state: State, namespace: Namespace, item: ItemVersion) -> None:
    _drop_unit(state, namespace, item)
    del state.records[namespace, item.id]


def _drop_unit(state: State, namespace: Namespace, item: ItemVersion) -> None:
    for number, unit in list(state.units.items()):
        if (unit.namespace, unit.id, unit.seq) == (namespace, item.id, 0):
            del state.units[number]


# -- what goes ------------------------------------------------------------------------------------------------------------


def expired(state: State, request: Forget) -> set[Key]:
    """What `Forget.expired` names: versions that have expired, and all of a key whose current one has."""
    found = set()
    for (namespace, record_id), row in state.records.items():
        item = row.value
        if isinstance(item, ItemVersion) and in_scope(namespace, request.scope):
            held = current(state, namespace, item.key)
            if not item.alive(request.at) or (held is not None and not held.alive(request.at)):
                found.add((namespace, record_id))
    return found


def with_other_versions(state: State, named: set[Key]) -> set[Key]:
    """Some records, and all versions of the items among them."""
    items = [(namespace, state.record(namespace, record_id)) for namespace, record_id in named]
    keys = {(namespace, item.key) for namespace, item in items if isinstance(item, ItemVersion)}
    return named | {(namespace, each.id) for namespace, key in keys for each in versions(state, namespace, key)}


# -- reading --------------------------------------------------------------------------------------------------------------


def list_items(state: State, request: ListItems) -> tuple[StoredItem, ...]:
    """See `storage.base.ListItems`."""
    rows = sorted(_found(state, request), key=lambda found: -found[0].number)
    end = None if request.limit is None else request.offset + request.limit
    return tuple(StoredItem(namespace, _own(row.value)) for row, namespace in rows)[request.offset : end]


def count_items(state: State, request: ListItems) -> int:
    """See `storage.base.Store.count_items`."""
    return sum(1 for _ in _found(state, request))


def item_namespaces(state: State, scope: Scope, at: datetime) -> tuple[Namespace, ...]:
    """See `storage.base.Store.item_namespaces`."""
    return tuple(sorted({namespace for _, namespace in _found(state, ListItems(scope=scope, at=at))}))


def _found(state: State, request: ListItems) -> Iterator[tuple[Row[ItemVersion], Namespace]]:
    former = request.former and request.keys is not None
    for (namespace, _), row in state.records.items():
        item = row.value
        if not isinstance(item, ItemVersion) or not in_scope(namespace, request.scope) or not item.alive(request.at):
            continue
        held = current(state, namespace, item.key)
        if held is None or not held.alive(request.at) or not (item.current or former):
            continue
        if request.ids is not None and item.id not in request.ids:
            continue
        if request.ids is None and request.keys is not None and item.key not in request.keys:
            continue
        if former or request.where is None or passes(request.where, fields_of(item, "", {})):
            yield Row(row.number, item), namespace
