"""Vector spaces: rows that say whose vectors the others are. See `storage.base.spaces` for what they promise.

    current ─┐            ┌─▶ leaving ── sweep ─▶ gone
    filling ─┴─ switch ───┴─▶ current

A switch changes two rows. What counts the vectors of a space (`partitions`), what waits for it (`pending`) and what memory
holds of it (dense.py) all go by its number: nothing of them has to be changed, and no process can take one space for another.
"""

from __future__ import annotations

from typing import Literal, NamedTuple

import msgspec

from bethink.models import Fingerprint, mismatch
from bethink.storage.base import Space
from bethink.storage.sqlite.driver import Database
from bethink.storage.sqlite.queries import q
from bethink.storage.sqlite.values import encode

__all__ = ["InUse", "bind", "embedder", "fill", "find", "in_use", "spaces", "sweep", "switch"]

_SWEPT = 1_000
"""Vectors removed at a time: some milliseconds."""
_SWEPT_PENDING = 10_000


class InUse(NamedTuple):
    """A row: the number of a space and, unless no embedder is bound, its fingerprint as JSON and its dimension."""

    number: int
    body: bytes | None
    dimension: int | None
    state: Literal["current", "filling"]

    @property
    def fingerprint(self) -> Fingerprint | None:
        return None if self.body is None else msgspec.json.decode(self.body, type=Fingerprint)


def in_use(database: Database) -> list[InUse]:
    """The current space, and the one that is being filled if there is one."""
    return [InUse(*row) for row in database.execute(q.spaces_in_use)]


def find(database: Database, fingerprint: Fingerprint | None) -> InUse:
    """The space in use of a fingerprint; the current one for None, or where no embedder is bound.

    Raises:
        EmbedderMismatch: there is none.
    """
    return _among(in_use(database), fingerprint)


def _among(rows: list[InUse], fingerprint: Fingerprint | None) -> InUse:
    current = rows[0]
    bound = None if fingerprint is None else current.fingerprint
    if fingerprint is None or bound is None:
        return current
    body = encode(fingerprint)
    for row in rows:
        if row.body == body:
            return row
    raise mismatch(bound, fingerprint)


def embedder(database: Database) -> Fingerprint | None:
    """Of the current space."""
    return in_use(database)[0].fingerprint


def spaces(database: Database) -> tuple[Space, ...]:
    """See `Store.spaces`."""
    units: int = database.execute(q.count_units)[0][0]
    found = []
    for row in in_use(database):
        if row.fingerprint is not None:
            vectors: int = database.execute(q.vectors_in_space, (row.number,))[0][0]
            found.append(Space(row.fingerprint, row.state, vectors, units - vectors))
    return tuple(found)


def bind(database: Database, fingerprint: Fingerprint) -> None:
    """See `Store.bind_embedder`."""
    current = in_use(database)[0]
    bound = current.fingerprint
    if bound is None:
        database.execute(q.bind_space, (encode(fingerprint), fingerprint.dimension, current.number))
    elif bound != fingerprint:
        raise mismatch(bound, fingerprint)


def fill(database: Database, fingerprint: Fingerprint) -> None:
    """See `Store.fill_space`. Writes a small row for each unit of the database: about a second for a million."""
    current, *others = in_use(database)
    if current.body is None:
        bind(database, fingerprint)
        return
    body = encode(fingerprint)
    if any(other.body == body for other in others):
        return
    for other in others:
        database.execute(q.set_space_state, ("leaving", other.number))
    if current.body != body:
        number = database.insert(q.add_space, (body, fingerprint.dimension))
        database.execute(q.fill_pending, (number,))


def switch(database: Database, fingerprint: Fingerprint, waiting: int) -> bool:
    """See `Store.switch_space`."""
    rows = in_use(database)
    space = _among(rows, fingerprint)
    if space.state == "current":
        return space.body is not None
    if database.execute(q.count_pending, (space.number, waiting + 1))[0][0] > waiting:
        return False
    database.execute(q.set_space_state, ("leaving", rows[0].number))
    database.execute(q.set_space_state, ("current", space.number))
    return True


def sweep(database: Database) -> bool:
    """See `Store.sweep`."""
    for (number,) in database.execute(q.space_leaving):
        database.execute(q.sweep_vectors, (number, _SWEPT))
        database.execute(q.sweep_pending, (number, _SWEPT_PENDING))
        if not database.execute(q.any_of_space, (number,)):
            database.execute(q.drop_partitions_of_space, (number,))
            database.execute(q.drop_space, (number,))
    return bool(database.execute(q.space_leaving))
