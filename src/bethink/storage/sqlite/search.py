"""Candidates for a query: the lexical leg from the lexicon, the dense leg from the spaces, statistics from the totals.

    in view, filter ─┬─▶ lexical leg (lexicon.py) ─▶ the best by BM25 ─┬─▶ and their neighbours ─▶ candidates
                     └─▶ dense leg (dense.py) ────▶ the nearest ───────┘

What the lexical leg returns is chosen by BM25 over the scope's statistics (k1 1.2, b 0.75; Robertson and Zaragoza 2009), among
the rows that it looked at and the messages in the tails (tail.py).
The neighbours of the best of each leg are looked up by message number, which is next to theirs.
What is in view already is no answer: each leg leaves it out by itself (in_view.py). A filter is part of each leg's own
query (filters.py). Neighbours are looked up whether in view or not, passing or not, and told apart afterwards.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import TYPE_CHECKING

import msgspec

from bethink.storage.base import Candidate, Found, Search
from bethink.storage.sqlite.candidates import candidate, names_for, neighbours, rows_of
from bethink.storage.sqlite.driver import Database
from bethink.storage.sqlite.filters import Passing
from bethink.storage.sqlite.in_view import LeftOut
from bethink.storage.sqlite.lexicon import Frequencies, Lexicon, best_of
from bethink.storage.sqlite.past import Then
from bethink.storage.sqlite.queries import q
from bethink.storage.sqlite.spaces import find
from bethink.storage.sqlite.tail import Unsettled
from bethink.storage.sqlite.tokens import tokens_of
from bethink.storage.sqlite.values import path_range
from bethink.storage.vectors import check_query

if TYPE_CHECKING:
    from bethink.storage.sqlite.dense import Partitions

__all__ = ["search"]


def search(
    database: Database, request: Search, partitions: Callable[[], Partitions], frequencies: Frequencies, tail: list[Unsettled]
) -> Found:
    """See `storage.base.Search`.

    Args:
        partitions: asked for only if there is a vector: it needs numpy.
        tail: the messages in the tails of the scope.
    """
    space = find(database, request.space)
    if request.vector is not None:
        check_query(request.vector, space.dimension)
    namespaces = database.execute(q.namespaces_in_scope, (space.number, *path_range(request.scope)))
    then = None if request.past is None else Then(database, request, request.past, tail, space.number)
    lengths = None if then is None else then.lengths
    tail = tail if then is None else then.tail
    units = (sum(row[2] for row in namespaces) if lengths is None else len(lengths)) + len(tail)
    if not units:
        return Found(candidates=(), units=0, mean_length=0.0, frequency={}, pending=0)
    length = sum(row[3] for row in namespaces) if lengths is None else sum(lengths.values())
    mean_length = (length + sum(message.length for message in tail)) / units
    pending = units - sum(row[4] for row in namespaces) if then is None or lengths is None else then.pending

    if then is not None:
        request = msgspec.structs.replace(request, current=False)
    without = LeftOut(database, request.in_view, namespaces)
    unfiltered = request.where is None and then is None
    passing = None if unfiltered else Passing(database, request.scope, request.where, units, then)
    lexicon = Lexicon(database, request, namespaces, tail, without, passing, frequencies)
    frequency = lexicon.frequency() if lengths is None else lexicon.frequency_among(lengths)
    best = lexicon.best(frequency)
    cosines: dict[int, float] = {}
    lent: dict[int, float] = {}
    similarities = None
    if request.vector is not None:
        from bethink.storage.sqlite.dense import Similarities

        filled = partitions().fresh(database, space.number, [(row[0], row[4], row[5]) for row in namespaces if row[4]])
        similarities = Similarities(database, filled, request.vector, request.kinds, request.current, without.units)
        limit = request.limit
        cosines = similarities.best(limit) if passing is None else passing.nearest(similarities, limit)

    unsettled = {message.key: message for message in tail}
    rows = rows_of(database, {*best, *cosines}, unsettled, lexicon.read)
    counted = {unit: lexicon.counted(row) for unit, row in rows.items()}
    # Without a limit that cuts, and without neighbours, there is nothing to choose.
    choose = len(best) > request.limit or request.around
    lexical = best_of(best, counted, units, mean_length, frequency, request.limit) if choose else list(best)
    centres = {*lexical[: request.around], *list(cosines)[: request.around]}
    more, near = neighbours(database, [rows[unit] for unit in centres if unit in rows], rows, unsettled)
    if then is not None:
        there = then.stored_by(near.values())
        near = {unit: number for unit, number in near.items() if number in there}
    rows.update(more)
    counted.update((unit, lexicon.counted(row)) for unit, row in more.items())
    around, beside = _told_apart(near, without, passing)
    around.difference_update(lexical, cosines)
    if similarities is not None:
        cosines.update(similarities.of([*lexical, *around]))
        lent = similarities.of_left_out(beside)
    chosen = [unit for unit in sorted({*lexical, *around, *cosines}) if unit in rows]
    tokens = tokens_of(database, {*chosen, *beside}, request.tokens)
    names = names_for(database, namespaces, rows.values())

    def made(units: Iterable[int], cosines: dict[int, float]) -> tuple[Candidate, ...]:
        return tuple([candidate(rows[unit], names, counted[unit], cosines.get(unit), tokens.get(unit)) for unit in units])

    return Found(
        candidates=made(chosen, cosines),
        units=units,
        mean_length=mean_length,
        frequency=frequency,
        pending=pending,
        paths=similarities.paths if similarities is not None else (),
        beside=made(sorted(beside), lent),
    )


def _told_apart(near: dict[int, int], without: LeftOut, passing: Passing | None) -> tuple[set[int], set[int]]:
    """Of messages by unit, those that may be found, and those that are in view or do not pass."""
    found = {unit for unit, number in near.items() if not without.holds_message(number)}
    if passing is not None and found:
        passed = passing.messages(near.values())
        found = {unit for unit in found if near[unit] in passed}
    return found, near.keys() - found
