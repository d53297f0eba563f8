"""Items in SQLite: put, refreshed, listed, and what they leave behind.

    items     where a key stands: its versions, which is current, when each expires
    records   a version itself, of kind "item", with the unit of the current one

As in `threads.py`, each function runs within somebody else's transaction, and looks before it writes. An item that has expired
is passed over by every query here; its rows go when its key is put again, or by a forget.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator
from datetime import datetime

from bethink.errors import StoreError
from bethink.records import ItemVersion
from bethink.storage.base import KeepItems, ListItems, Problem, RefreshItems, Scope, StoredItem
from bethink.storage.items import planned, refreshed
from bethink.storage.sqlite.driver import Database, Row
from bethink.storage.sqlite.filters import Condition, of_record
from bethink.storage.sqlite.queries import q
from bethink.storage.sqlite.records import index_record, write_record
from bethink.storage.sqlite.units import drop_units, intern
from bethink.storage.sqlite.values import decode_record, encode, listed, micros, namespace_of, path_of, path_range
from bethink.values import Namespace

__all__ = ["count_items", "has_expired", "item_namespaces", "keep_items", "list_items", "problems", "refresh_items"]

_LISTED = 10_000
"""So many of the units that went stay listed in `dropped`."""


def keep_items(database: Database, request: KeepItems) -> tuple[StoredItem | None, ...]:
    """See `storage.base.KeepItems`."""

    def there(namespace: Namespace, key: str) -> ItemVersion | None:
        rows = _find(database, namespace, key)
        return _item(rows[0][2]) if rows else None

    def used(namespace: Namespace, record_id: str) -> bool:
        return bool(database.execute(q.find_record_at, (record_id, path_of(namespace))))

    steps = planned(request.changes, there, used)
    for step in steps:
        if step.item is None and not step.clear:
            continue
        namespace = intern(database, step.namespace)
        if step.clear:
            _drop(database, database.execute(q.versions_of_key, (namespace, step.key)))
        if step.former is not None:
            _retire(database, step.namespace, step.former)
        if step.item is not None:
            _add(database, namespace, step.item)
            _drop(database, database.execute(q.versions_beyond, (namespace, step.key, request.history)))
    return tuple(step.answer for step in steps)


def refresh_items(database: Database, request: RefreshItems) -> int:
    """See `storage.base.RefreshItems`."""
    count = 0
    for namespace, key in dict.fromkeys(request.keys):
        for number, unit, body in _find(database, namespace, key):
            left = refreshed(_item(body), request.at)
            if left is not None and left.expires_at is not None:
                write_record(database, number, unit, left)
                database.execute(q.refresh_item, (micros(left.expires_at), number))
                count += 1
    return count


def _find(database: Database, namespace: Namespace, key: str) -> list[Row]:
    return database.execute(q.find_item, (path_of(namespace), key))


def _item(body: bytes) -> ItemVersion:
    record = decode_record(body)
    assert isinstance(record, ItemVersion), "a row of items is of an item"
    return record


def _add(database: Database, namespace: int, item: ItemVersion) -> None:
    number = database.insert(q.add_record, (namespace, item.id, item.kind, False, None, None, False, encode(item)))
    expires_at = None if item.expires_at is None else micros(item.expires_at)
    database.execute(q.add_item, (namespace, item.key, item.version, number, expires_at))
    index_record(database, namespace, number, item)


def _retire(database: Database, namespace: Namespace, former: ItemVersion) -> None:
    """It is read by its key from now on, and not searched."""
    ((number, unit, _),) = _find(database, namespace, former.key)
    database.execute(q.retire_item, (number,))
    database.execute(q.set_record_unit, (None, number))
    _drop_units(database, [] if unit is None else [unit])
    write_record(database, number, None, former)


def _drop(database: Database, versions: list[Row]) -> None:
    if not versions:
        return
    numbers = listed(number for number, _ in versions)
    database.execute(q.drop_items, (numbers,))
    database.execute(q.drop_records, (numbers,))
    _drop_units(database, [unit for _, unit in versions if unit is not None])


def _drop_units(database: Database, units: Collection[int]) -> None:
    if not units:
        return
    drop_units(database, units)
    database.executemany(q.note_dropped, [(unit,) for unit in units])
    last: int = database.execute(q.last_dropped)[0][0]
    database.execute(q.shorten_dropped, (last - _LISTED,))


# -- reading --------------------------------------------------------------------------------------------------------------


def list_items(database: Database, request: ListItems) -> tuple[StoredItem, ...]:
    """See `storage.base.ListItems`."""
    limit = -1 if request.limit is None else request.limit
    return tuple(StoredItem(namespace_of(path), _item(body)) for path, body in _listed(database, request, limit))


def count_items(database: Database, request: ListItems) -> int:
    """See `storage.base.Store.count_items`."""
    statement, parameters = _statement(request)
    (count,) = database.execute(f"SELECT count(*) FROM ({statement})", (*parameters, -1, 0))[0]  # noqa: S608 - our own
    return int(count)


def _listed(database: Database, request: ListItems, limit: int) -> list[Row]:
    statement, parameters = _statement(request)
    return database.execute(statement, (*parameters, limit, request.offset))


def _statement(request: ListItems) -> tuple[str, tuple[object, ...]]:
    """Its last two parameters are a limit and an offset."""
    parameters: tuple[object, ...] = (*path_range(request.scope), micros(request.at))
    statement, named = q.list_items, request.keys if request.ids is None else request.ids
    if not request.scope.subtree:
        statement = q.list_items_here
    if named is not None:
        statement = q.list_versions if request.former else q.list_items_of_keys if request.ids is None else q.list_items_of_ids
        parameters += (listed(dict.fromkeys(named)),)
    if request.former:
        return statement, parameters
    where = Condition("1") if request.where is None else of_record(request.where)
    return statement.replace(":record", where.sql), (*parameters, *where.parameters)


def item_namespaces(database: Database, scope: Scope, at: datetime) -> tuple[Namespace, ...]:
    """See `storage.base.Store.item_namespaces`."""
    rows = database.execute(q.item_namespaces, (*path_range(scope), micros(at)))
    return tuple(sorted(namespace_of(path) for (path,) in rows))


def has_expired(database: Database, scope: Scope, at: datetime) -> bool:
    """See `storage.base.Store.has_expired`."""
    return bool(database.execute(q.has_expired, (*path_range(scope), micros(at)))[0][0])


# -- checking -------------------------------------------------------------------------------------------------------------


def problems(database: Database) -> Iterator[Problem]:
    """A problem for each row that is not what its record says."""
    for number, _, key, version, current, expires_at, body in database.execute(q.all_items):
        where = f"item of record row {number}"
        if body is None:
            yield Problem("is of a record that is not there", where)
            continue
        try:
            item = decode_record(body)
        except StoreError:
            continue
        expires = None if not isinstance(item, ItemVersion) or item.expires_at is None else micros(item.expires_at)
        known = (key, version, bool(current), expires_at)
        if not isinstance(item, ItemVersion) or known != (item.key, item.version, item.current, expires):
            yield Problem("differs from its record", where)
