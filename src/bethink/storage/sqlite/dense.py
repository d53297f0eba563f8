"""The dense leg: the nearest vectors of a scope.

    vectors (table) ─▶ Partition: what memory holds of one namespace's in a space (see partition.py)
                                      └─▶ Similarities of a query to them

A partition is loaded when it is first searched and then kept fresh. New vectors have higher numbers and are read on, and so is
one whose record was retired or that was made anew: it gets a new number, and `partitions.changes` says that there is something
to read. If there are fewer then than there should be, some went, and the list of those that are there is read. All this is
looked up in the search's own read transaction, so other processes' writes count from the next search on. When anything was
forgotten, all partitions are dropped: of what is gone, nothing stays in memory.

Partitions not searched for the longest time are dropped when they take more than `HELD` bytes together.
"""

from __future__ import annotations

import threading
from collections import OrderedDict
from collections.abc import Collection, Iterable, Sequence

import numpy as np
from numpy.typing import NDArray

from bethink.storage.sqlite.driver import Database
from bethink.storage.sqlite.partition import Partition, Path, emptied, path_for
from bethink.storage.sqlite.queries import q

__all__ = ["HELD", "Partitions", "Similarities"]

HELD = 1 << 28
"""Bytes of all partitions: 1,000,000 vectors of 384 dimensions take 257 MB, 100,000 take 26. One alone may take more."""
_PAGE = 4_096
_WORN = 2
"""A partition that holds so many for each that is there is loaded anew."""
_SPARE = 1.02
"""A first load has room for what comes next."""


class Similarities:
    """Similarities of a query to the eligible vectors of some partitions; those of the units in `without` are not.

    Attributes:
        paths: how each kind of partition was searched, sorted.
    """

    def __init__(
        self,
        database: Database,
        partitions: list[Partition],
        query: bytes,
        kinds: tuple[str, ...],
        current: bool,
        without: Collection[int] = (),
    ) -> None:
        self._database = database
        self._query = np.frombuffer(query, dtype="<f4").astype(np.float32)
        left_out = np.array(sorted(without), dtype=np.int64)
        self._chosen = kinds, current
        filled = [partition for partition in partitions if partition.count]
        self._parts = [(partition, partition.eligible(kinds, current, left_out)) for partition in filled]
        self.paths: tuple[Path, ...] = tuple(sorted({partition.path for partition in filled}))

    def keep(self, units: Iterable[int]) -> None:
        """Of the eligible vectors, those of `units` alone are from now on."""
        kept = np.fromiter(units, dtype=np.int64)
        self._parts = [(partition, _among(partition, kept, eligible)) for partition, eligible in self._parts]

    def best(self, limit: int) -> dict[int, float]:
        """The units with the highest similarity, highest first; equal ones by unit number."""
        if limit < 1:
            return {}
        found: dict[int, float] = {}
        for partition, eligible in self._parts:
            found.update(partition.best(self._database, self._query, limit, eligible))
        units, values = np.fromiter(found, np.int64, len(found)), np.fromiter(found.values(), np.float64, len(found))
        if len(units) > limit:
            near = values >= np.partition(values, len(values) - limit)[len(values) - limit]
            units, values = units[near], values[near]
        order = np.lexsort((units, -values))[:limit]
        return dict(zip(units[order].tolist(), values[order].tolist(), strict=True))

    def of(self, units: Iterable[int]) -> dict[int, float]:
        """The similarities of those of `units` that have a vector and are eligible."""
        return self._cosines(units, self._parts)

    def of_left_out(self, units: Collection[int]) -> dict[int, float]:
        """The same of units that are not eligible for being `without` or not in what was to `keep`."""
        if not units:
            return {}
        nothing = np.empty(0, np.int64)
        return self._cosines(units, [(part, part.eligible(*self._chosen, nothing)) for part, _ in self._parts])

    def _cosines(self, units: Iterable[int], parts: Sequence[tuple[Partition, NDArray[np.bool_] | None]]) -> dict[int, float]:
        wanted = np.fromiter(units, dtype=np.int64)
        found: dict[int, float] = {}
        if len(wanted):
            for partition, eligible in parts:
                found.update(partition.cosines(self._database, self._query, wanted, eligible))
        return found


def _among(partition: Partition, units: NDArray[np.int64], eligible: NDArray[np.bool_] | None) -> NDArray[np.bool_]:
    mask = np.zeros(partition.count, np.bool_)
    mask[partition.at(units)] = True
    return mask if eligible is None else mask & eligible


class _Held:
    """A partition and its lock: who loads one keeps nobody from another."""

    def __init__(self) -> None:
        self.lock = threading.Lock()
        self.partition: Partition | None = None


class Partitions:
    """The partitions that have been searched, kept for the next search. May be used from many threads."""

    def __init__(self) -> None:
        self._held: OrderedDict[tuple[int, int], _Held] = OrderedDict()
        self._lock = threading.Lock()
        self._forgotten = 0

    def fresh(self, database: Database, space: int, namespaces: Iterable[tuple[int, int, int]]) -> list[Partition]:
        """The vectors of a space in some namespaces, as the database's open transaction sees them.

        Args:
            namespaces: the number of each, how many vectors of the space it has, and their counter of changes.
        """
        forgotten: int = database.execute(q.forgotten)[0][0]
        with self._lock:
            if forgotten > self._forgotten:
                self._held.clear()
                self._forgotten = forgotten
        partitions = []
        for namespace, embedded, changes in namespaces:
            with self._lock:
                held = self._held.setdefault((space, namespace), _Held())
                self._held.move_to_end((space, namespace))
            with held.lock:
                held.partition = _brought_up(held.partition, database, (space, namespace), embedded, changes)
                partitions.append(held.partition)
        self._shrink()
        return partitions

    def _shrink(self) -> None:
        """Drop the partitions that were not searched for the longest time, while all take too much; never the last."""
        with self._lock:
            sizes = {name: held.partition.nbytes for name, held in self._held.items() if held.partition is not None}
            total = sum(sizes.values())
            for name, size in list(sizes.items())[:-1]:
                if total <= HELD:
                    break
                del self._held[name]
                total -= size

    def clear(self) -> None:
        with self._lock:
            self._held.clear()


def _brought_up(known: Partition | None, database: Database, place: tuple[int, int], embedded: int, changes: int) -> Partition:
    path = path_for(embedded)
    partition = known
    if partition is None or partition.path != path or partition.count > _WORN * (embedded + 1):
        partition = emptied(path, changes, int(embedded * _SPARE))
    if partition.changes != changes or partition.live < embedded:
        partition = _read_on(partition, database, place)
    if partition.live != embedded and partition.changes != changes:
        # Some went.
        partition = partition.as_stored(database.execute(q.vector_states, place), changes)
    return partition if partition.changes == changes else partition.at_changes(changes)


def _read_on(partition: Partition, database: Database, place: tuple[int, int]) -> Partition:
    """With all that came since, or was changed and has a new number for it."""
    more = q.vectors_after if partition.path == "exact" else q.codes_after
    while rows := database.execute(more, (*place, partition.last_id, _PAGE)):
        partition = partition.with_more(rows)
    return partition
