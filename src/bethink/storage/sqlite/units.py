"""Units: what search can find, and the places where one is.

    units ─ merge ─┬─▶ lexicon   full text
                   ├─▶ totals    of its namespace
                   └─▶ pending ─ embed ─▶ vectors

Every change of a unit goes through here, so that they always agree.

An append waits for the disk, the shorter the fewer pages it writes: 0.2 ms for one page, 0.28 for eight, and twice that
while the log still grows. An insert into FTS5 adds 0.2 ms, since FTS5 writes a segment at every commit. So an append writes its
unit and nothing else. Every 64th unit merges the newest into the other places in one go, 0.03 ms each; `meta.merged_through`
says how far that has come. A search reads what is not merged yet, at most some 63 units of all namespaces, as it is: what has
been committed is found at once.
"""

from __future__ import annotations

from collections.abc import Collection
from typing import NamedTuple

from bethink.errors import InvalidInput
from bethink.storage.base import Scope
from bethink.storage.sqlite.driver import Database
from bethink.storage.sqlite.queries import q
from bethink.storage.sqlite.values import listed, namespace_of, path_of, path_range
from bethink.values import Namespace

__all__ = [
    "MERGE_EVERY",
    "Totals",
    "add_to_totals",
    "add_unit",
    "drop_units",
    "embed",
    "intern",
    "length_of",
    "merge_if_due",
    "merged_through",
    "set_retired",
    "tags_of",
]

MERGE_EVERY = 64


class Totals(NamedTuple):
    """What is added to the totals of a namespace."""

    units: int = 0
    length: int = 0
    embedded: int = 0
    changes: int = 0


def intern(database: Database, namespace: Namespace) -> int:
    """The number of a namespace, which gets one, as do its ancestors, if it has none."""
    path = path_of(namespace)
    found = database.execute(q.namespace_id, (path,))
    if not found:
        database.execute(q.add_namespaces, (listed(_with_ancestors(namespace)),))
        found = database.execute(q.namespace_id, (path,))
    number: int = found[0][0]
    return number


def add_unit(
    database: Database,
    namespace: int,
    kind: str,
    owner: int,
    terms: str,
    *,
    retired: bool = False,
    speaker: str | None = None,
) -> int | None:
    """Make something findable; a thing without terms is not. The caller goes on to `merge_if_due`."""
    if not terms:
        return None
    return database.insert(q.add_unit, (namespace, kind, owner, retired, length_of(terms), terms, speaker))


def length_of(terms: str) -> int:
    """How many terms there are, joined by single spaces."""
    return terms.count(" ") + 1 if terms else 0


def add_to_totals(database: Database, namespace: int, totals: Totals) -> None:
    database.execute(q.add_to_totals, (*totals, namespace))


def merge_if_due(database: Database, first: int, last: int) -> None:
    """After units `first` to `last` were added: merge the newest if a batch is complete."""
    if (first - 1) // MERGE_EVERY == last // MERGE_EVERY:
        return
    tags: dict[int, str] = {}
    totals: dict[int, Totals] = {}
    indexed = []
    waiting = []
    for unit, namespace, kind, retired, length, terms, embedded in database.execute(
        q.unmerged_units, (merged_through(database),)
    ):
        if namespace not in tags:
            tags[namespace] = _namespace_tags(database, namespace)
        indexed.append((unit, tags_of(tags[namespace], kind, retired), terms))
        so_far = totals.get(namespace, Totals())
        totals[namespace] = Totals(so_far.units + 1, so_far.length + length)
        if not embedded:
            waiting.append((unit, namespace))
    database.executemany(q.index_unit, indexed)
    database.executemany(q.add_pending, waiting)
    for namespace, change in totals.items():
        add_to_totals(database, namespace, change)
    database.execute(q.set_meta, ("merged_through", last))


def merged_through(database: Database) -> int:
    """The last unit that was merged."""
    number: int = database.execute(q.meta, ("merged_through",))[0][0]
    return number


def drop_units(database: Database, units: Collection[int]) -> None:
    """Remove units everywhere."""
    if not units:
        return
    chosen = listed(units)
    merged = merged_through(database)
    tags: dict[int, str] = {}
    totals: dict[int, Totals] = {}
    unindexed = []
    for unit, namespace, kind, retired, length, terms, embedded in database.execute(q.units_by_id, (chosen,)):
        so_far = totals.get(namespace, Totals())
        if unit <= merged:
            if namespace not in tags:
                tags[namespace] = _namespace_tags(database, namespace)
            unindexed.append((unit, tags_of(tags[namespace], kind, retired), terms))
            so_far = so_far._replace(units=so_far.units - 1, length=so_far.length - length)
        totals[namespace] = so_far._replace(embedded=so_far.embedded - embedded, changes=so_far.changes + embedded)
    database.executemany(q.unindex_unit, unindexed)
    database.execute(q.drop_vectors, (chosen,))
    database.execute(q.drop_pending, (chosen,))
    database.execute(q.drop_units, (chosen,))
    database.execute(q.remember_unit, (max(units),))
    for namespace, change in totals.items():
        add_to_totals(database, namespace, change)


def set_retired(database: Database, unit: int, retired: bool) -> None:
    """The record that a unit stands for has been retired, or is current again."""
    _, namespace, kind, before, _, terms, embedded = database.execute(q.units_by_id, (listed([unit]),))[0]
    if bool(before) == retired:
        return
    if unit <= merged_through(database):
        tags = _namespace_tags(database, namespace)
        database.execute(q.unindex_unit, (unit, tags_of(tags, kind, not retired), terms))
        database.execute(q.index_unit, (unit, tags_of(tags, kind, retired), terms))
    database.execute(q.retire_unit, (retired, unit))
    if embedded:
        database.execute(q.retire_vector, (retired, unit))
        add_to_totals(database, namespace, Totals(changes=1))


def embed(database: Database, namespace: Namespace, vectors: Collection[tuple[int, bytes]], dimension: int | None) -> None:
    """Give units of a namespace or below their vectors. One that is not there any more is passed over."""
    if dimension is None:
        raise InvalidInput("vectors", "no embedder is bound to the store", "call bind_embedder first")
    for _, data in vectors:
        if len(data) != 4 * dimension:
            raise InvalidInput("vectors", f"{len(data)} bytes", f"pass {dimension} float32 values")
    low, high = path_range(Scope(namespace, subtree=True))
    totals: dict[int, Totals] = {}
    for unit, data in vectors:
        for number, kind, retired, embedded in database.execute(q.unit_in_scope, (unit, low, high)):
            so_far = totals.get(number, Totals())
            if embedded:
                database.execute(q.drop_vectors, (listed([unit]),))
                totals[number] = so_far._replace(changes=so_far.changes + 1)
            else:
                database.execute(q.drop_pending, (listed([unit]),))
                totals[number] = so_far._replace(embedded=so_far.embedded + 1)
            database.execute(q.add_vector, (unit, number, kind, retired, data))
    for number, change in totals.items():
        add_to_totals(database, number, change)


# -- tags -----------------------------------------------------------------------------------------------------------------


def tags_of(namespace_tags: str, kind: str, retired: bool) -> str:
    """What the lexicon's column `tags` holds for a unit."""
    return f"{namespace_tags} k{kind} retired" if retired else f"{namespace_tags} k{kind}"


def _namespace_tags(database: Database, namespace: int) -> str:
    path = database.execute(q.path_by_id, (namespace,))[0][0]
    ids = database.execute(q.namespace_ids, (listed(_with_ancestors(namespace_of(path))),))
    return " ".join([f"n{namespace}", *(f"s{number}" for (number,) in ids)])


def _with_ancestors(namespace: Namespace) -> list[str]:
    return [path_of(namespace[:depth]) for depth in range(1, len(namespace) + 1)]
