"""Exact cosine over the vectors of a scope, in memory.

    vectors (table) ─▶ Space: one namespace's vectors as a matrix ─▶ Similarities of a query to all of them

A space is loaded when it is first searched and then kept fresh: new vectors have higher numbers and are read on; when
`namespaces.changes` has moved (a vector went, a record was retired), the list of those that are there is read again. Both are
looked up in the search's own read transaction, so other processes' writes count from the next search on.

Vectors are of length 1 (`models.Embedder`), so cosine is the dot product.
"""

from __future__ import annotations

import threading
from collections.abc import Collection, Iterable
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from bethink.storage.sqlite.driver import Database, Row
from bethink.storage.sqlite.queries import q

__all__ = ["Similarities", "Space", "Spaces"]

_KINDS = ("message", "note", "insight", "summary")
_PAGE = 4_096
_GROWTH = 1.5


class Space:
    """The vectors of one namespace, as of one moment; never changed.

    Attributes:
        changes: the namespace's counter at that moment.
        ids, units, kinds, retired: of each vector, ascending by id.
        buffer: shape (capacity, dimension), of which the first len(ids) rows are filled. Later spaces may fill further rows.
    """

    def __init__(
        self,
        changes: int,
        ids: NDArray[np.int64],
        units: NDArray[np.int64],
        kinds: NDArray[np.int8],
        retired: NDArray[np.bool_],
        buffer: NDArray[np.float32],
    ) -> None:
        self.changes = changes
        self.ids, self.units, self.kinds, self.retired = ids, units, kinds, retired
        self.buffer = buffer

    @property
    def matrix(self) -> NDArray[np.float32]:
        return self.buffer[: len(self.ids)]

    @property
    def last_id(self) -> int:
        return int(self.ids[-1]) if len(self.ids) else 0

    @cached_property
    def by_unit(self) -> NDArray[np.int64]:
        """Positions in ascending order of unit."""
        return np.argsort(self.units)

    def at(self, units: NDArray[np.int64]) -> NDArray[np.int64]:
        """The positions of those of `units` that have a vector here."""
        order = self.by_unit
        rows = order[np.minimum(np.searchsorted(self.units, units, sorter=order), len(order) - 1)]
        found: NDArray[np.int64] = rows[self.units[rows] == units]
        return found

    def eligible(self, kinds: Iterable[str], current: bool) -> NDArray[np.bool_]:
        chosen: NDArray[np.bool_] = np.isin(self.kinds, [_KINDS.index(kind) for kind in kinds])
        return chosen & ~self.retired if current else chosen


class Similarities:
    """Similarities of a query to the eligible vectors of some spaces; those of the units in `without` are not."""

    def __init__(
        self, spaces: list[Space], query: bytes, kinds: tuple[str, ...], current: bool, without: Collection[int] = ()
    ) -> None:
        vector = np.frombuffer(query, dtype="<f4")
        left_out = np.fromiter(without, dtype=np.int64)
        self._parts = []
        for space in spaces:
            if len(space.ids):
                chosen = space.eligible(kinds, current)
                chosen[space.at(left_out)] = False
                self._parts.append((space, space.matrix @ vector, chosen))

    def keep(self, units: Iterable[int]) -> None:
        """Of the eligible vectors, those of `units` alone are from now on."""
        kept = np.fromiter(units, dtype=np.int64)
        for space, _, chosen in self._parts:
            chosen &= np.isin(space.units, kept)

    def best(self, limit: int) -> dict[int, float]:
        """The units with the highest similarity, highest first; equal ones by unit number."""
        if not self._parts or limit < 1:
            return {}
        units = np.concatenate([space.units[chosen] for space, _, chosen in self._parts])
        values = np.concatenate([similarity[chosen] for _, similarity, chosen in self._parts])
        if len(units) > limit:
            least = np.partition(values, len(values) - limit)[len(values) - limit]
            near = values >= least
            units, values = units[near], values[near]
        order = np.lexsort((units, -values))[:limit]
        return dict(zip(units[order].tolist(), values[order].tolist(), strict=True))

    def of(self, units: Iterable[int]) -> dict[int, float]:
        """The similarities of those of `units` that have a vector and are eligible."""
        wanted = np.fromiter(units, dtype=np.int64)
        found: dict[int, float] = {}
        for space, similarity, chosen in self._parts:
            rows = space.at(wanted)
            hits = rows[chosen[rows]]
            found.update(zip(space.units[hits].tolist(), similarity[hits].tolist(), strict=True))
        return found


class Spaces:
    """The spaces that have been searched, kept for the next search. May be used from many threads."""

    def __init__(self) -> None:
        self._spaces: dict[int, Space] = {}
        self._lock = threading.Lock()

    def fresh(self, database: Database, namespace: int, embedded: int, changes: int) -> Space:
        """The vectors of a namespace, as the database's open transaction sees them."""
        with self._lock:
            space = self._spaces.get(namespace)
            if space is None:
                space = _empty(changes)
            elif space.changes != changes:
                space = _reconciled(space, database.execute(q.vector_states, (namespace,)), changes)
            while len(space.ids) < embedded:
                rows = database.execute(q.vectors_after, (namespace, space.last_id, _PAGE))
                if not rows:
                    break
                space = _extended(space, rows, embedded)
            self._spaces[namespace] = space
            return space

    def clear(self) -> None:
        with self._lock:
            self._spaces.clear()


def _empty(changes: int) -> Space:
    return Space(
        changes,
        np.empty(0, np.int64),
        np.empty(0, np.int64),
        np.empty(0, np.int8),
        np.empty(0, np.bool_),
        np.empty((0, 0), np.float32),
    )


def _columns(rows: list[Row]) -> tuple[Any, Any, Any, Any]:
    ids = np.array([row[0] for row in rows], np.int64)
    units = np.array([row[1] for row in rows], np.int64)
    kinds = np.array([_KINDS.index(row[2]) for row in rows], np.int8)
    return ids, units, kinds, np.array([row[3] for row in rows], np.bool_)


def _extended(space: Space, rows: list[Row], expected: int) -> Space:
    """With further rows, in the spare part of the same buffer if there is room."""
    ids, units, kinds, retired = _columns(rows)
    added = np.frombuffer(b"".join(row[4] for row in rows), dtype="<f4").reshape(len(rows), -1)
    count, total = len(space.ids), len(space.ids) + len(rows)
    buffer = space.buffer
    if len(buffer) < total or buffer.shape[1] != added.shape[1]:
        # The first load takes just what there is; one that keeps growing gets room to grow.
        capacity = max(total, expected if count == 0 else int(total * _GROWTH))
        buffer = np.empty((capacity, added.shape[1]), np.float32)
        if count:
            buffer[:count] = space.matrix
    buffer[count:total] = added
    return Space(
        space.changes,
        np.concatenate([space.ids, ids]),
        np.concatenate([space.units, units]),
        np.concatenate([space.kinds, kinds]),
        np.concatenate([space.retired, retired]),
        buffer,
    )


def _reconciled(space: Space, rows: list[Row], changes: int) -> Space:
    """With only the vectors that are still there, and with the states they are in now."""
    ids, units, kinds, retired = _columns(rows)
    left = np.isin(space.ids, ids)
    known = np.isin(ids, space.ids)
    # A buffer is shared only while nothing is taken out of it, so that rows in use are never filled anew.
    buffer = space.buffer if left.all() else space.matrix[left]
    return Space(changes, ids[known], units[known], kinds[known], retired[known], buffer)
