"""Units: what search can find, and the places where one is.

    units ─┬─▶ lexicon   full text
           ├─▶ totals    of its namespace
           └─▶ pending ─ embed ─▶ vectors    of each space in use (see spaces.py)

Every change of a unit goes through here, so that they always agree. A record has its unit from the start; a message gets it
when its thread is settled (see tail.py): FTS5 writes a segment at every commit, which takes longer than to write the message.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from typing import NamedTuple

from bethink.storage.base import Scope
from bethink.storage.sqlite.driver import Database, Row
from bethink.storage.sqlite.queries import q
from bethink.storage.sqlite.spaces import InUse, in_use
from bethink.storage.sqlite.values import listed, path_of, path_range
from bethink.storage.vectors import check_vectors
from bethink.values import Namespace

__all__ = [
    "COLUMNS",
    "NewUnit",
    "Totals",
    "add_to_totals",
    "add_units",
    "column_of",
    "copied",
    "drop_units",
    "embed",
    "in_lexicon",
    "index_all",
    "intern",
    "last_unit",
    "length_of",
    "quoted",
    "set_retired",
]


class NewUnit(NamedTuple):
    """What is to be found: the number of its message or record, its terms, when it was said or made (in microseconds since
    1970), and the name under which it was said.
    """

    owner: int
    terms: str
    at: int
    speaker: str | None = None


class Totals(NamedTuple):
    """What is added to the totals of a namespace."""

    units: int = 0
    length: int = 0


def intern(database: Database, namespace: Namespace) -> int:
    """The number of a namespace, which gets one if it has none."""
    path = path_of(namespace)
    found = database.execute(q.namespace_id, (path,))
    if not found:
        database.execute(q.add_namespace, (path,))
        found = database.execute(q.namespace_id, (path,))
    number: int = found[0][0]
    return number


def add_units(
    database: Database, namespace: int, kind: str, things: Sequence[NewUnit], *, retired: bool = False
) -> list[tuple[int, int]]:
    """Make things findable. Returns each owner with its unit; a thing without terms has none."""
    first = last_unit(database) + 1
    rows = [
        (unit, namespace, kind, owner, retired, length_of(terms), terms, speaker, at)
        for unit, (owner, terms, at, speaker) in enumerate((thing for thing in things if thing.terms), first)
    ]
    if not rows:
        return []
    database.executemany(q.add_unit, rows)
    database.executemany(q.index_unit, [_row(row[0], namespace, kind, retired, row[6]) for row in rows])
    database.executemany(q.add_pending, [(space.number, row[0], namespace) for space in in_use(database) for row in rows])
    add_to_totals(database, namespace, Totals(len(rows), sum(row[5] for row in rows)))
    return [(row[3], row[0]) for row in rows]


def copied(database: Database, after: int) -> None:
    """Units after a number have been copied from others, with their vectors: put them in the other places too."""
    totals: dict[int, Totals] = {}
    indexed = []
    for unit, namespace, kind, retired, length, terms in database.execute(q.new_units, (after,)):
        indexed.append(_row(unit, namespace, kind, retired, terms))
        so_far = totals.get(namespace, Totals())
        totals[namespace] = Totals(so_far.units + 1, so_far.length + length)
    database.executemany(q.index_unit, indexed)
    for namespace, change in totals.items():
        add_to_totals(database, namespace, change)
    database.execute(q.new_pending, (after,))
    for space, namespace, embedded in database.execute(q.new_vectors, (after,)):
        database.execute(q.count_vectors, (space, namespace, embedded, 0))


def last_unit(database: Database) -> int:
    """The greatest unit number that was ever given."""
    number: int = database.execute(q.last_unit)[0][0]
    return number


def length_of(terms: str) -> int:
    """How many terms there are, joined by single spaces."""
    return terms.count(" ") + 1 if terms else 0


def add_to_totals(database: Database, namespace: int, totals: Totals) -> None:
    database.execute(q.add_to_totals, (*totals, namespace))


def drop_units(database: Database, units: Collection[int]) -> None:
    """Remove units everywhere."""
    if not units:
        return
    chosen = listed(units)
    totals: dict[int, Totals] = {}
    unindexed = []
    for unit, namespace, kind, retired, length, terms in database.execute(q.units_by_id, (chosen,)):
        unindexed.append(_row(unit, namespace, kind, retired, terms))
        so_far = totals.get(namespace, Totals())
        totals[namespace] = Totals(so_far.units - 1, so_far.length - length)
    database.executemany(q.unindex_unit, unindexed)
    for space, namespace, embedded in database.execute(q.vectors_of_units, (chosen,)):
        database.execute(q.count_vectors, (space, namespace, -embedded, embedded))
    database.execute(q.drop_vectors, (chosen,))
    database.execute(q.drop_tokens, (chosen,))
    database.execute(q.drop_pending, (chosen,))
    database.execute(q.drop_units, (chosen,))
    database.execute(q.remember_unit, (max(units),))
    for namespace, change in totals.items():
        add_to_totals(database, namespace, change)


def index_all(database: Database) -> None:
    """Put every unit into the lexicon, which is empty."""
    database.executemany(q.index_unit, [_row(*row) for row in database.execute(q.all_units)])


def set_retired(database: Database, unit: int, retired: bool) -> None:
    """The record that a unit stands for has been retired, or is current again."""
    _, namespace, kind, before, _, terms = database.execute(q.units_by_id, (listed([unit]),))[0]
    if bool(before) == retired:
        return
    database.execute(q.unindex_unit, _row(unit, namespace, kind, not retired, terms))
    database.execute(q.index_unit, _row(unit, namespace, kind, retired, terms))
    database.execute(q.retire_unit, (retired, unit))
    database.execute(q.retire_vector, (retired, unit))
    for space, _, embedded in database.execute(q.vectors_of_units, (listed([unit]),)):
        database.execute(q.count_vectors, (space, namespace, 0, embedded))


def embed(database: Database, namespace: Namespace, vectors: Collection[tuple[int, bytes]], space: InUse) -> None:
    """Give units of a namespace or below their vectors of a space. One that is not there any more is passed over."""
    data = [vector for _, vector in vectors]
    check_vectors(data, space.dimension)
    codes = _codes(data)
    low, high = path_range(Scope(namespace, subtree=True))
    counted: dict[int, tuple[int, int]] = {}
    for (unit, vector), code in zip(vectors, codes, strict=True):
        for number, kind, retired, embedded in database.execute(q.unit_in_scope, (space.number, unit, low, high)):
            added, changed = counted.get(number, (0, 0))
            if embedded:
                database.execute(q.drop_vector, (space.number, unit))
                counted[number] = added, changed + 1
            else:
                database.execute(q.drop_pending_unit, (space.number, unit))
                counted[number] = added + 1, changed
            database.execute(q.add_vector, (space.number, unit, number, kind, retired, code, vector))
    for number, change in counted.items():
        database.execute(q.count_vectors, (space.number, number, *change))


def _codes(vectors: Sequence[bytes]) -> list[bytes]:
    if not vectors:
        return []
    import numpy as np

    from bethink.storage.sqlite.codes import codes_of

    return codes_of(np.frombuffer(b"".join(vectors), dtype="<f4").reshape(len(vectors), -1))


# -- the lexicon's rows ---------------------------------------------------------------------------------------------------

COLUMNS = (
    *("message", "note", "insight", "summary", "episode"),
    *("retired_note", "retired_insight", "retired_summary", "retired_episode"),
    "item",
)
"""Former versions of items have no unit."""


def column_of(kind: str, retired: bool) -> str:
    """The column of the lexicon that holds the words of units of a kind."""
    return f"retired_{kind}" if retired else kind


def in_lexicon(terms: str, namespace: int) -> str:
    """Terms as the lexicon holds them: each with the number of its namespace."""
    return f"{terms.replace(' ', f'#{namespace} ')}#{namespace}"


def quoted(term: str) -> str:
    """A term as a string of FTS5's query language."""
    return '"' + term.replace('"', '""') + '"'


def _row(unit: int, namespace: int, kind: str, retired: bool, terms: str) -> Row:
    columns: list[str | None] = [None] * len(COLUMNS)
    columns[COLUMNS.index(column_of(kind, retired))] = in_lexicon(terms, namespace)
    return (unit, *columns)
