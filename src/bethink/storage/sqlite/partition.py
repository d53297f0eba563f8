"""A partition: what is kept in memory of one namespace's vectors, behind one protocol for small and for large.

    exact    up to `EXACT` vectors: all of them, each compared with the query
    codes    more: four bits a component (codes.py), which choose the few that are read from the file and compared exactly

Which of the two depends on how many vectors the namespace has and on nothing else, so the same data gives the same answer,
whatever a process has in memory. Every cosine that leaves here is of the whole vector; vectors are of length 1
(`models.Embedder`), so it is the dot product.

A partition is the state of one moment and never changes. What follows from it by more vectors shares its buffers, whose spare
room only the newest fills (under the lock of `dense.Partitions`).
"""

from __future__ import annotations

from functools import cached_property
from itertools import groupby
from typing import Literal, NamedTuple, Protocol, TypeAlias

import numpy as np
from numpy.typing import NDArray

from bethink.storage.sqlite.codes import Codes, empty, nearest
from bethink.storage.sqlite.driver import Database, Row
from bethink.storage.sqlite.queries import q
from bethink.storage.sqlite.values import listed

__all__ = ["EXACT", "KINDS", "Partition", "Path", "emptied", "path_for"]

Path: TypeAlias = Literal["exact", "codes"]
Vector: TypeAlias = NDArray[np.float32]
Mask: TypeAlias = NDArray[np.bool_]
Positions: TypeAlias = NDArray[np.intp]

KINDS = ("message", "note", "insight", "summary", "episode")

EXACT = 4_096
"""Vectors up to which all are compared: below a millisecond, and 6 MB of 384 dimensions."""
_ALL = 256
"""Eligible vectors up to which a partition with codes compares all of them."""
_MORE, _MORE_OF = 16, 4
"""How many more than it wants a search compares exactly, where codes choose them: so many, or one for so many of them."""
_RETIRED = len(KINDS)
"""Added to the number of its kind for a retired unit."""
_REPLACED = 2 * _RETIRED
"""Instead of it, where a later vector of the same unit has taken the place."""
_ITEM = _REPLACED + 1
"""The number of an item, which is never retired: above, so that a search for all but items compares each with one number."""
_NOBODY = -1
"""The unit of a vector that was replaced: no unit has this number."""
_GROWTH = 1.25
_ROWS = 1_000
"""Rows of a product: above, BLAS takes several threads, which costs more time than it saves, and may round differently."""


def path_for(vectors: int) -> Path:
    """How a namespace with so many vectors is searched."""
    return "exact" if vectors <= EXACT else "codes"


class _Index(Protocol):
    """What is kept of the vectors themselves. Positions are those of the partition's vectors."""

    path: Path

    @property
    def nbytes(self) -> int: ...

    def appended(self, count: int, data: list[bytes]) -> _Index:
        """With further vectors (or codes) after the first `count`."""
        ...

    def kept(self, count: int, left: Mask) -> _Index:
        """With those of the first `count` vectors that are left."""
        ...

    def choose(self, count: int, query: Vector, limit: int, eligible: Mask | None, /) -> Positions:
        """Positions among the first `count` that hold the `limit` nearest, or are likely to; ascending."""
        ...

    def cosines(self, database: Database, ids: NDArray[np.int64], query: Vector, positions: Positions, /) -> Vector:
        """The cosine of each of some positions, ascending; NaN for a vector that the database does not have (any more)."""
        ...


class _Exact:
    """The vectors: a buffer of rows, of which the partition's count are filled."""

    path: Path = "exact"

    def __init__(self, buffer: NDArray[np.float32]) -> None:
        self._buffer = buffer

    @property
    def nbytes(self) -> int:
        return self._buffer.nbytes

    def appended(self, count: int, data: list[bytes]) -> _Exact:
        added = np.frombuffer(b"".join(data), dtype="<f4").reshape(len(data), -1)
        total, buffer = count + len(data), self._buffer
        if len(buffer) < total or buffer.shape[1] != added.shape[1]:
            buffer = np.empty((_capacity(count, total, len(buffer)), added.shape[1]), np.float32)
            if count:
                buffer[:count] = self._buffer[:count]
        buffer[count:total] = added
        return _Exact(buffer)

    def kept(self, count: int, left: Mask) -> _Exact:
        return _Exact(self._buffer[:count][left])

    def choose(self, count: int, _query: Vector, _limit: int, eligible: Mask | None, /) -> Positions:
        return np.arange(count) if eligible is None else np.flatnonzero(eligible)

    def cosines(self, _database: Database, ids: NDArray[np.int64], query: Vector, positions: Positions, /) -> Vector:
        if len(positions) == len(ids):
            return product(self._buffer[: len(ids)], query)
        return product(self._buffer[positions], query)


class _Codes:
    """Codes of the vectors. The vectors are in the file."""

    path: Path = "codes"

    def __init__(self, codes: Codes) -> None:
        self._codes = codes

    @property
    def nbytes(self) -> int:
        return self._codes.nbytes

    def appended(self, count: int, data: list[bytes]) -> _Codes:
        added = np.frombuffer(b"".join(data), np.uint8).reshape(len(data), -1)
        total, codes = count + len(data), self._codes
        room, length = codes.levels.shape
        if room < total or length != added.shape[1]:
            codes = empty(_capacity(count, total, room), added.shape[1])
            if count:
                codes.fill(0, self._codes.levels[:count])
        codes.fill(count, added)
        return _Codes(codes)

    def kept(self, count: int, left: Mask) -> _Codes:
        levels = self._codes.levels[:count][left]
        codes = empty(len(levels), levels.shape[1])
        codes.fill(0, levels)
        return _Codes(codes)

    def choose(self, count: int, query: Vector, limit: int, eligible: Mask | None, /) -> Positions:
        if eligible is not None and np.count_nonzero(eligible) <= _ALL:
            return np.flatnonzero(eligible)
        return nearest(self._codes, count, query, limit + max(_MORE, limit // _MORE_OF), eligible)

    def cosines(self, database: Database, ids: NDArray[np.int64], query: Vector, positions: Positions, /) -> Vector:
        found = np.full(len(positions), np.nan, np.float32)
        rows = database.execute(q.vectors_by_number, (listed(ids[positions].tolist()),))
        if rows:
            matrix = np.frombuffer(b"".join([row[1] for row in rows]), dtype="<f4").reshape(len(rows), -1)
            # Numbers ascend with positions.
            places = np.searchsorted(ids[positions], np.array([row[0] for row in rows], np.int64))
            found[places] = product(matrix, query)
        return found


class Partition:
    """The vectors of one space in one namespace, as of one moment.

    Attributes:
        changes: their counter at that moment.
        count: how many there are, those included that were replaced since.
        live: how many there are without them.
        ids, units: of each vector, ascending by id.
    """

    def __init__(self, changes: int, count: int, live: int, columns: _Columns, index: _Index) -> None:
        self.changes, self.count, self.live = changes, count, live
        self._columns, self._index = columns, index
        self.ids, self.units, self._flags = columns.ids[:count], columns.units[:count], columns.flags[:count]

    @property
    def path(self) -> Path:
        return self._index.path

    @property
    def last_id(self) -> int:
        return int(self.ids[-1]) if self.count else 0

    @property
    def nbytes(self) -> int:
        return self._index.nbytes + sum(column.nbytes for column in self._columns[:3])

    def with_more(self, rows: list[Row]) -> Partition:
        """With further vectors: number, unit, kind, retired, and the vector or its code (see `path`). One of a unit that has a
        vector here takes its place.
        """
        replaced = self.at(np.array([row[1] for row in rows], np.int64)) if self.count else np.empty(0, np.intp)
        columns = self._columns
        if len(replaced):
            columns = columns._replace(flags=columns.flags.copy(), units=columns.units.copy())
            columns.flags[replaced] = _REPLACED
            columns.units[replaced] = _NOBODY
        index = self._index.appended(self.count, [row[4] for row in rows])
        live = self.live + len(rows) - len(replaced)
        return Partition(self.changes, self.count + len(rows), live, _with_more(columns, self.count, rows), index)

    def at_changes(self, changes: int) -> Partition:
        """The same, known to be all there is at a later moment."""
        return Partition(changes, self.count, self.live, self._columns, self._index)

    def as_stored(self, rows: list[Row], changes: int) -> Partition:
        """With only the vectors that are still there, in the states they are in now: number, unit, kind and retired of each."""
        columns = _with_more(_columns(len(rows)), 0, rows)
        ids = columns.ids[: len(rows)]
        left, known = np.isin(self.ids, ids), np.isin(ids, self.ids)
        # Buffers are shared only while nothing is taken out of them, so that rows in use are never filled anew.
        index = self._index if left.all() else self._index.kept(self.count, left)
        count = int(np.count_nonzero(known))
        return Partition(changes, count, count, columns.of(known), index)

    def eligible(self, kinds: tuple[str, ...], current: bool, without: NDArray[np.int64]) -> Mask | None:
        """Which vectors a search may find; None for all."""
        numbers = [number for number, kind in enumerate(KINDS) if kind in kinds]
        if len(numbers) == len(KINDS) and "item" not in kinds:
            chosen = self._flags < (_RETIRED if current else _REPLACED)
        else:
            if not current:
                numbers += [number + _RETIRED for number in numbers]
            if "item" in kinds:
                numbers.append(_ITEM)
            chosen = _any_of(self._flags, numbers)
        if len(without) and self.count:
            out = self.at(without)
            if len(out):
                chosen[out] = False
        return None if chosen.all() else chosen

    def at(self, units: NDArray[np.int64]) -> Positions:
        """The positions of those of `units` that have a vector here, ascending."""
        order = self._by_unit
        places = np.minimum(np.searchsorted(self.units, units, sorter=order), self.count - 1)
        rows = places if order is None else order[places]
        found: Positions = np.sort(rows[self.units[rows] == units])
        return found

    @cached_property
    def _by_unit(self) -> Positions | None:
        """Positions in ascending order of unit; None if that is their order, as it is unless vectors came late."""
        return None if (self.units[1:] > self.units[:-1]).all() else np.argsort(self.units, kind="stable")

    def best(self, database: Database, query: Vector, limit: int, eligible: Mask | None) -> dict[int, float]:
        """The `limit` nearest of the eligible with their cosines, by unit; more than that may come."""
        chosen = self._index.choose(self.count, query, limit, eligible)
        return self._named(chosen, self._index.cosines(database, self.ids, query, chosen))

    def cosines(self, database: Database, query: Vector, units: NDArray[np.int64], eligible: Mask | None) -> dict[int, float]:
        """The cosines of those of `units` that have a vector here and are eligible."""
        chosen = self.at(units) if self.count else np.empty(0, np.intp)
        if eligible is not None:
            chosen = chosen[eligible[chosen]]
        return self._named(chosen, self._index.cosines(database, self.ids, query, chosen)) if len(chosen) else {}

    def _named(self, positions: Positions, cosines: Vector) -> dict[int, float]:
        there = ~np.isnan(cosines)
        return dict(zip(self.units[positions[there]].tolist(), cosines[there].tolist(), strict=True))


def _any_of(flags: NDArray[np.uint8], numbers: list[int]) -> Mask:
    """Which flags are one of some ascending numbers. To compare each with runs of them is faster than a table."""
    chosen = np.zeros(len(flags), np.bool_)
    for _, run in groupby(enumerate(numbers), key=lambda each: each[1] - each[0]):
        of = [number for _, number in run]
        chosen |= flags - np.uint8(of[0]) < len(of)
    return chosen


class _Columns(NamedTuple):
    """Buffers of what is known of each vector beside itself."""

    ids: NDArray[np.int64]
    units: NDArray[np.int64]
    flags: NDArray[np.uint8]
    """The number of its kind, and whether it is retired."""

    def of(self, chosen: Mask) -> _Columns:
        count = len(chosen)
        return _Columns(self.ids[:count][chosen], self.units[:count][chosen], self.flags[:count][chosen])


def _columns(room: int) -> _Columns:
    return _Columns(np.empty(room, np.int64), np.empty(room, np.int64), np.empty(room, np.uint8))


def emptied(path: Path, changes: int, room: int) -> Partition:
    """A partition without vectors, with room for some."""
    index: _Index = _Exact(np.empty((room, 0), np.float32)) if path == "exact" else _Codes(empty(room, 0))
    return Partition(changes, 0, 0, _columns(room), index)


def _with_more(columns: _Columns, count: int, rows: list[Row]) -> _Columns:
    total = count + len(rows)
    if len(columns.ids) < total:
        grown = _columns(_capacity(count, total, 0))
        grown.ids[:count], grown.units[:count] = columns.ids[:count], columns.units[:count]
        grown.flags[:count] = columns.flags[:count]
        columns = grown
    columns.ids[count:total] = [row[0] for row in rows]
    columns.units[count:total] = [row[1] for row in rows]
    columns.flags[count:total] = [_FLAGS[row[2], row[3]] for row in rows]
    return columns


_FLAGS = {(kind, retired): number + _RETIRED * retired for number, kind in enumerate(KINDS) for retired in (0, 1)}
_FLAGS["item", 0] = _ITEM


def _capacity(count: int, total: int, room: int) -> int:
    """Room for `total`: what there is meant to be at first; later more, for what keeps growing."""
    return int(total * _GROWTH) if count else max(total, room)


def product(matrix: NDArray[np.float32], query: Vector) -> Vector:
    """The product of each row with the query."""
    if len(matrix) <= _ROWS:
        return matrix @ query
    return np.concatenate([matrix[first : first + _ROWS] @ query for first in range(0, len(matrix), _ROWS)])
