"""Candidates for a query: the lexical leg from the lexicon, the dense leg from the spaces, statistics from the totals.

The lexical leg in three steps, so that a long past does not make it slow:

    frequency of each term ─▶ units that hold a rare one, the best by FTS5 ─▶ BM25 over the scope's statistics, by all terms

A term that half of all units hold says little, and FTS5 would score every one of them. So the terms go into its query from the
rarest up until they occur often enough in all (`_LOOKED_AT`); the others count where a unit is looked at anyway. What is
passed over is a unit that holds only the commonest terms, and only where there are many that hold a rarer one. FTS5's own
`bm25()` ranks by statistics of the whole database and only decides which rows are looked at; what is returned is chosen by BM25
over the scope's statistics (k1 1.2, b 0.75; Robertson and Zaragoza 2009), among those and the messages in the tails (tail.py).
The neighbours of the best of each leg are looked up by message number, which is next to theirs.
What is in view already is looked up first, by ranges of message numbers, and no leg sees it. A filter is part of each leg's own
query (filters.py). Neighbours are looked up whether in view or not, passing or not, and told apart afterwards.
Every term is a quoted string in the query, so no text is ever read as an operator.
"""

from __future__ import annotations

import math
import threading
from collections import OrderedDict
from collections.abc import Callable, Collection, Iterable, Mapping
from typing import TYPE_CHECKING, NamedTuple

from bethink.storage.base import Candidate, Found, Scope, Search
from bethink.storage.sqlite.driver import Database, Row
from bethink.storage.sqlite.filters import Passing
from bethink.storage.sqlite.queries import q
from bethink.storage.sqlite.spaces import find
from bethink.storage.sqlite.tail import FIRST_KEY, Tails, Unsettled
from bethink.storage.sqlite.units import last_unit
from bethink.storage.sqlite.values import (
    SEQ_BITS,
    decode_record,
    decode_said,
    listed,
    moment,
    namespace_of,
    path_of,
    path_range,
)
from bethink.storage.vectors import check_query
from bethink.values import Namespace

if TYPE_CHECKING:
    from bethink.storage.sqlite.dense import Partitions

__all__ = ["Frequencies", "search"]

_K1, _B = 1.2, 0.75
_KINDS = ("message", "note", "insight", "summary")
_MANY = 1_000
"""Units of a scope from which on its tag costs more than to look whether it is needed."""
_LOOKED_AT = 300
"""How often the terms that FTS5 looks for occur in all, as far as there are so many; four times the limit if that is more."""
_SCOPES, _TERMS = 16, 4_096
"""Of how many scopes, and of how many terms in each, frequencies are kept."""
_NEW = 1_000
"""So many new units are counted one by one; more are left to the lexicon."""


class _Known(NamedTuple):
    """What is known of a scope, as of a moment: the last unit number given then, its units, and frequencies."""

    last: int
    units: int
    of: dict[str, int]


class Frequencies:
    """Frequencies of terms among the units of the scopes searched last. May be used from many threads.

    A unit's words never change, and its number is never used again. So what is known of a scope still holds if it has as many
    units as then, not counting those with higher numbers than there were then; if it has fewer, it is dropped.
    """

    def __init__(self) -> None:
        self._known: OrderedDict[Scope, _Known] = OrderedDict()
        self._lock = threading.Lock()

    def of(
        self, scope: Scope, terms: Iterable[str], database: Database, units: int, count: Callable[[str], int]
    ) -> dict[str, int]:
        """The frequency of each term; `count` is asked for those that are not known.

        Args:
            units: how many units the scope has.
        """
        last = last_unit(database)
        with self._lock:
            known = self._known.pop(scope, None)
        if known is None or len(known.of) > _TERMS:
            known = _Known(last, units, {})
        elif known.last != last or known.units != units:
            known = _brought_up(known, last, units, database.execute(q.new_terms, (known.last, *path_range(scope))))
        wanted = tuple(terms)
        missing = {term: count(term) for term in wanted if term not in known.of}
        if missing:
            # Another thread may be reading the old one.
            known = known._replace(of={**known.of, **missing})
        with self._lock:
            self._known[scope] = known
            if len(self._known) > _SCOPES:
                self._known.popitem(last=False)
        return {term: known.of[term] for term in wanted}

    def clear(self) -> None:
        with self._lock:
            self._known.clear()


def _brought_up(known: _Known, last: int, units: int, new: list[Row]) -> _Known:
    """What was known, with the units that have come since; nothing if others have gone or there are too many to count."""
    if known.units + len(new) != units or len(new) > _NEW:
        return _Known(last, units, {})
    frequency = dict(known.of)
    for (terms,) in new:
        for term in set(terms.split(" ")):
            if term in frequency:
                frequency[term] += 1
    return _Known(last, units, frequency)


class _Counted(NamedTuple):
    """Where each query term stands in a unit, and how many terms it has."""

    positions: Mapping[str, tuple[int, ...]]
    length: int


class _LeftOut(NamedTuple):
    """What is not to be found: units, and the keys of messages that may be in tails."""

    units: tuple[int, ...] = ()
    keys: frozenset[int] = frozenset()


def _in_view(database: Database, request: Search, namespaces: list[Row]) -> _LeftOut:
    """As many numbers as there are things in view: their texts were read for that, which costs far more."""
    asked = request.in_view
    number = None if asked is None else next((row[0] for row in namespaces if row[1] == path_of(asked.namespace)), None)
    if asked is None or number is None:
        return _LeftOut()
    last_seq = (1 << SEQ_BITS) - 1
    spans = [(max(first, 1), min(last, last_seq)) for first, last in asked.spans]
    rows = database.execute(q.in_view, (number, asked.thread_id, listed(spans), listed(asked.records)))
    return _LeftOut(
        units=tuple([unit for _, unit in rows if unit is not None]),
        keys=frozenset([FIRST_KEY + message for message, unit in rows if unit is None]),
    )


def search(
    database: Database, request: Search, partitions: Callable[[], Partitions], frequencies: Frequencies, tails: Tails
) -> Found:
    """See `storage.base.Search`. `partitions` is asked for only if there is a vector: it needs numpy."""
    space = find(database, request.space)
    if request.vector is not None:
        check_query(request.vector, space.dimension)
    namespaces = database.execute(q.namespaces_in_scope, (space.number, *path_range(request.scope)))
    tail = tails.of(database, request.scope)
    units = sum(row[2] for row in namespaces) + len(tail)
    if not units:
        return Found(candidates=(), units=0, mean_length=0.0, frequency={}, pending=0)
    mean_length = (sum(row[3] for row in namespaces) + sum(message.length for message in tail)) / units
    pending = units - sum(row[4] for row in namespaces)

    without = _in_view(database, request, namespaces)
    passing = None if request.where is None else Passing(database, request.scope, request.where, units)
    lexicon = _Lexicon(database, request, namespaces, tail, without, passing)
    frequency = lexicon.frequency(frequencies)
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

    rows = {row[0]: row for row in _rows(database, {*best, *cosines}, tail)}
    counted = {unit: lexicon.counted(row) for unit, row in rows.items()}
    # Without a limit that cuts, and without neighbours, there is nothing to choose.
    choose = len(best) > request.limit or request.around
    lexical = _best(best, counted, units, mean_length, frequency, request.limit) if choose else list(best)
    centres = {*lexical[: request.around], *list(cosines)[: request.around]}
    around, beside = _around(database, centres, lexicon.tail, without, passing)
    around.difference_update(lexical, cosines)
    unread = (around | beside).difference(rows)
    rows.update((row[0], row) for row in _rows(database, unread, tail))
    counted.update((unit, lexicon.counted(rows[unit])) for unit in unread)
    if similarities is not None:
        cosines.update(similarities.of([*lexical, *around]))
        lent = similarities.of_left_out(beside)
    chosen = [unit for unit in sorted({*lexical, *around, *cosines}) if unit in rows]
    named = {row[1]: namespace_of(row[1]) for row in namespaces}
    return Found(
        candidates=tuple(_candidate(rows[unit], named, counted[unit], cosines.get(unit)) for unit in chosen),
        units=units,
        mean_length=mean_length,
        frequency=frequency,
        pending=pending,
        paths=similarities.paths if similarities is not None else (),
        beside=tuple(_candidate(rows[unit], named, counted[unit], lent.get(unit)) for unit in sorted(beside) if unit in rows),
    )


def _best(
    among: Iterable[int],
    counted: dict[int, _Counted],
    units: int,
    mean_length: float,
    frequency: dict[str, int],
    limit: int,
) -> list[int]:
    """The best by BM25, equal ones by number."""
    rarity = {term: math.log(1 + (units - holding + 0.5) / (holding + 0.5)) for term, holding in frequency.items()}

    def bm25(unit: int) -> float:
        positions, length = counted[unit]
        damping = _K1 * (1 - _B + _B * length / mean_length)
        counts = ((rarity[term], len(places)) for term, places in positions.items())
        # Rounded, so that the order of a sum does not decide between equals.
        return round(sum(weight * count * (_K1 + 1) / (count + damping) for weight, count in counts), 9)

    return sorted(among, key=lambda unit: (-bm25(unit), unit))[:limit]


def _around(
    database: Database,
    centres: Collection[int],
    tail: Mapping[int, _Counted],
    without: _LeftOut,
    passing: Passing | None,
) -> tuple[set[int], set[int]]:
    """The neighbours of some units, messages all: at most two away in the same thread. First those that may be found, then
    those that are in view or do not pass.
    """
    if not centres:
        return set(), set()
    settled = [unit for unit in centres if unit < FIRST_KEY]
    others = [unit - FIRST_KEY for unit in centres if unit >= FIRST_KEY]
    rows = database.execute(q.neighbours, (listed(settled), listed(others)))
    keyed = {number: FIRST_KEY + number if unit is None else unit for number, unit in rows}
    units = {unit for unit in keyed.values() if unit < FIRST_KEY or unit in tail}
    found = units.difference(without.units, without.keys)
    if passing is not None:
        found.intersection_update(map(keyed.__getitem__, passing.messages(keyed)))
    return found, units - found


class _Lexicon:
    """The lexical leg of one search: the rows of the lexicon, and the messages in the tails."""

    def __init__(
        self,
        database: Database,
        request: Search,
        namespaces: list[Row],
        tail: list[Unsettled],
        without: _LeftOut,
        passing: Passing | None,
    ) -> None:
        self._database = database
        self._request = request
        self._terms = tuple(dict.fromkeys(request.terms))
        self._wanted = frozenset(self._terms)
        self._units = sum(row[2] for row in namespaces)
        self._scope = _scope_tag(database, request, namespaces, self._units)
        self._without = without
        self._passing = passing
        self.tail = {message.key: self._in(message) for message in tail}

    def frequency(self, frequencies: Frequencies) -> dict[str, int]:
        """In how many units of the scope each term occurs, whatever their kind and current or not; absent for none."""
        if not self._terms:
            return {}
        found = frequencies.of(self._request.scope, self._terms, self._database, self._units, self._holding)
        for counted in self.tail.values():
            for term in counted.positions:
                found[term] += 1
        return {term: total for term, total in found.items() if total}

    def _holding(self, term: str) -> int:
        number: int = self._database.execute(q.match_count, (f"{self._scope}terms : {_quoted(term)}",))[0][0]
        return number

    def best(self, frequency: dict[str, int]) -> list[int]:
        """What holds any of the terms: the best of the lexicon, and all of the tails."""
        request, without = self._request, self._without
        if not frequency or not request.kinds or request.limit < 1:
            return []
        found: list[int] = []
        if self._units:
            terms = sorted(frequency, key=lambda term: (frequency[term], term))
            # Frequencies are of all kinds: they do not say how many there are of some.
            rarest = self._rarest(terms, frequency) if set(request.kinds) == set(_KINDS) else len(terms)
            found = self._matching(terms[:rarest], frequency)
            # What holds a rare term may all be in view, or not pass: then a commoner one tells too.
            fewer = self._passing is not None or without.units or without.keys
            while fewer and len(found) < request.limit and rarest < len(terms):
                # A filter may pass so few that each further word would be looked for in vain.
                rarest = rarest + 1 if self._passing is None else len(terms)
                found = self._matching(terms[:rarest], frequency)
        if "message" in request.kinds:
            keys = [key for key, counted in self.tail.items() if counted.positions and key not in without.keys]
            if self._passing is not None and keys:
                passing = self._passing.messages(key - FIRST_KEY for key in keys)
                keys = [key for key in keys if key - FIRST_KEY in passing]
            found += keys
        return found

    def _matching(self, terms: list[str], frequency: dict[str, int]) -> list[int]:
        """The best units of the lexicon that hold one of some terms."""
        request = self._request
        query = f"{self._scope}terms : ({' OR '.join(map(_quoted, terms))})"
        if set(request.kinds) != set(_KINDS):
            kinds = " OR ".join(f'"k{kind}"' for kind in request.kinds)
            query += f" AND tags : ({kinds})"
        if request.current:
            # What is left out is rare; a tag of all others would make FTS5 walk through every row.
            query = f'({query}) NOT tags : "retired"'
        if self._passing is not None:
            matches = sum(frequency[term] for term in terms)
            return self._passing.matching(query, self._without.units, request.limit, matches)
        if self._without.units:
            rows = self._database.execute(q.match_best_but, (query, listed(self._without.units), request.limit))
        else:
            rows = self._database.execute(q.match_best, (query, request.limit))
        return [unit for (unit,) in rows]

    def _rarest(self, terms: list[str], frequency: dict[str, int]) -> int:
        """How many of the terms, from the rarest up, occur often enough in all."""
        enough = max(_LOOKED_AT, 4 * self._request.limit)
        together = 0
        for number, term in enumerate(terms):
            if number and together + frequency[term] > enough:
                return number
            together += frequency[term]
        return len(terms)

    def _in(self, message: Unsettled) -> _Counted:
        return _Counted({term: message.terms[term] for term in self._terms if term in message.terms}, message.length)

    def counted(self, row: Row) -> _Counted:
        """Of a row of `_rows`."""
        return self.tail.get(row[0]) or self._count(row[1], row[2])

    def _count(self, length: int, terms: str) -> _Counted:
        wanted = self._wanted
        words = terms.split(" ")
        positions: dict[str, tuple[int, ...]] = {}
        if not wanted.isdisjoint(words):
            for place, word in [(place, word) for place, word in enumerate(words) if word in wanted]:
                positions[word] = (*positions.get(word, ()), place)
        return _Counted(positions, length)


def _scope_tag(database: Database, request: Search, namespaces: list[Row], units: int) -> str:
    """The part of a query that keeps it to the scope; nothing where all there is lies in it."""
    path = path_of(request.scope.namespace)
    if not path:
        return ""
    if units >= _MANY and database.execute(q.count_units)[0][0] == units:
        return ""
    # A namespace that holds anything has a row, and so has the root of a subtree that does.
    number = next(row[0] for row in namespaces if row[1] == path)
    return f'tags : "{"s" if request.scope.subtree else "n"}{number}" AND '


def _quoted(term: str) -> str:
    """A term as a string of FTS5's query language."""
    return '"' + term.replace('"', '""') + '"'


def _rows(database: Database, units: set[int], tail: list[Unsettled]) -> list[Row]:
    """Of each unit: number, length, terms, path, kind, thread id, seq, id, time, and the body of what it stands for."""
    if not units:
        return []
    chosen = listed(units)
    rows = database.execute(q.candidate_messages, (chosen,)) + database.execute(q.candidate_records, (chosen,))
    return rows + [message.row for message in tail if message.key in units]


def _candidate(row: Row, named: dict[str, Namespace], counted: _Counted, cosine: float | None) -> Candidate:
    _, _, _, path, kind, thread_id, seq, thing_id, created_at, body = row
    if kind == "message":
        said = decode_said(body)
        text, speaker, trust, at = said.text, said.speaker, said.trust, moment(created_at)
    else:
        record = decode_record(body)
        text, speaker, trust, at = record.text, "", record.trust, record.recorded_at
    return Candidate(
        kind=kind,
        id=thing_id,
        namespace=named[path],
        thread_id=thread_id,
        seq=seq,
        text=text,
        speaker=speaker,
        trust=trust,
        at=at,
        positions=dict(counted.positions),
        length=counted.length,
        cosine=cosine,
    )
