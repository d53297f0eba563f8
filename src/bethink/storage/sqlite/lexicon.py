"""The lexical leg: what of the lexicon, and of the messages in the tails, holds words of a query.

    frequency of each term ─┬─ rare ────▶ scored by FTS5 ──────────┬─▶ (search.py) BM25 by all terms
                            └─ common ──▶ weighed by what they hold ┘

The lexicon holds each term with the number of its namespace, so a search reads what the namespaces of its scope hold and no
more, however large the file. Where they are many (`_EACH`), it looks for the term in all, and leaves out what is of others.

Few matches are scored by FTS5's own `bm25()`, whose statistics are those of the whole database. Where the terms occur more
than `_LOOKED_AT` times in all, that would take milliseconds. Then units are weighed by the terms that they hold and by their
length (postings.py). Where a filter or the number of namespaces leaves it to FTS5 all the same, its query has the terms from
the rarest up until they occur often enough; the others count where a unit is looked at anyway. What comes of either only
decides which rows are looked at.
Every term is a quoted string in the query, so no text is ever read as an operator.
"""

from __future__ import annotations

import math
import threading
from collections import OrderedDict
from collections.abc import Callable, Collection, Iterable, Mapping
from typing import TYPE_CHECKING, NamedTuple

from bethink.storage.base import Scope, Search
from bethink.storage.sqlite.driver import Database, Row
from bethink.storage.sqlite.filters import Passing
from bethink.storage.sqlite.in_view import LeftOut
from bethink.storage.sqlite.queries import q
from bethink.storage.sqlite.tail import FIRST_KEY, Unsettled
from bethink.storage.sqlite.units import COLUMNS, column_of, in_lexicon, last_unit, quoted
from bethink.storage.sqlite.values import listed, path_range

if TYPE_CHECKING:
    from bethink.storage.sqlite.postings import Postings

__all__ = ["Counted", "Frequencies", "Lexicon", "best_of"]

_KINDS = ("message", "note", "insight", "summary", "episode")
_EACH = 8
"""So many namespaces are looked into one by one, each term in each; of more, all of the file are at once."""
_LOOKED_AT = 300
"""How often terms occur in all whose matches FTS5 scores; four times the limit if that is more."""
_READ = range(3_000, 200_000)
"""Of so many units in scope, which hold a term is read at once, since most likely it is wanted; of fewer or more, how many."""
_WEIGHED = 64
"""So many units, the heaviest, are read; half as many again as the limit if that is more."""
_BESIDE = 16
"""So many more, where messages of the thread may be in view: those are told by their numbers once they have been read."""
_WEIGHED_BY = 30_000
"""How often terms occur in all by which units are weighed, from the rarest up: to read so many numbers takes 6 ms, once."""
K1, B = 1.2, 0.75
"""Of BM25 (Robertson and Zaragoza 2009)."""
_SCOPES, _TERMS = 16, 4_096
"""Of how many scopes, and of how many terms in each, frequencies are kept."""
_NEW = 200
"""So many new units are counted one by one; to count those of more takes longer than to ask the lexicon again."""


class Counted(NamedTuple):
    """Where each query term stands in a unit, and how many terms it has."""

    positions: dict[str, tuple[int, ...]]
    length: int


class _Known(NamedTuple):
    """What is known of a scope, as of a moment: the last unit number given then, its units, and frequencies."""

    last: int
    units: int
    of: dict[str, int]


class Frequencies:
    """Frequencies of terms among the units of the scopes searched last, and the units of the common ones (`postings`). May be
    used from many threads.

    A unit's words never change, and its number is never used again. So what is known of a scope still holds if it has as many
    units as then, not counting those with higher numbers than there were then; if it has fewer, it is dropped.
    """

    def __init__(self) -> None:
        self._known: OrderedDict[Scope, _Known] = OrderedDict()
        self._postings: Postings | None = None
        self._lock = threading.Lock()

    def postings(self) -> Postings:
        """Made when first asked for: it needs numpy."""
        from bethink.storage.sqlite.postings import Postings

        with self._lock:
            if self._postings is None:
                self._postings = Postings()
            return self._postings

    def of(
        self,
        scope: Scope,
        terms: Iterable[str],
        database: Database,
        units: int,
        count: Callable[[Collection[str]], Mapping[str, int]],
    ) -> dict[str, int]:
        """The frequency of each term; `count` is asked for those that are not known.

        Args:
            units: how many units the scope has.
        """
        last = last_unit(database)
        with self._lock:
            known = self._known.pop(scope, None)
        if known is None or len(known.of) > _TERMS or last - known.last > _NEW:
            known = _Known(last, units, {})
        elif known.last != last or known.units != units:
            known = _brought_up(known, last, units, database.execute(q.new_terms, (known.last, *path_range(scope))))
        wanted = tuple(terms)
        if missing := [term for term in wanted if term not in known.of]:
            # Nobody else has it before it is put back. Who reads it still, asks for terms that are there and stay.
            known.of.update(count(missing))
        with self._lock:
            self._known[scope] = known
            if len(self._known) > _SCOPES:
                self._known.popitem(last=False)
        return {term: known.of[term] for term in wanted}

    def clear(self) -> None:
        with self._lock:
            self._known.clear()
            self._postings = None


def _brought_up(known: _Known, last: int, units: int, new: list[Row]) -> _Known:
    """What was known, with the units that have come since; nothing if others have gone."""
    if known.units + len(new) != units:
        return _Known(last, units, {})
    frequency = dict(known.of)
    for (terms,) in new:
        for term in set(terms.split(" ")):
            if term in frequency:
                frequency[term] += 1
    return _Known(last, units, frequency)


class Lexicon:
    """The lexical leg of one search: the rows of the lexicon, and the messages in the tails."""

    def __init__(
        self,
        database: Database,
        request: Search,
        namespaces: list[Row],
        tail: list[Unsettled],
        without: LeftOut,
        passing: Passing | None,
        frequencies: Frequencies,
    ) -> None:
        self._database = database
        self._request = request
        self._terms = tuple(dict.fromkeys(request.terms))
        self._wanted = frozenset(self._terms)
        self._units = sum(row[2] for row in namespaces)
        length = sum(row[3] for row in namespaces) + sum(message.length for message in tail)
        self._mean_length = length / max(self._units + len(tail), 1)
        self._spaces = [row[0] for row in namespaces if row[2]]
        self._without = without
        self._passing = passing
        self._frequencies = frequencies
        self.tail = {message.key: self._in(message) for message in tail}
        self.read: dict[int, Row] = {}
        """Rows of units (the query `unit_rows`) that were read on the way."""

    def frequency(self) -> dict[str, int]:
        """In how many units of the scope each term occurs, whatever their kind and current or not; absent for none."""
        if not self._terms:
            return {}
        found = self._frequencies.of(self._request.scope, self._terms, self._database, self._units, self._holding)
        for counted in self.tail.values():
            for term in counted.positions:
                found[term] += 1
        return {term: total for term, total in found.items() if total}

    def frequency_among(self, units: Collection[int]) -> dict[str, int]:
        """The same of some units of the lexicon, and the tails: every unit that holds a term is looked at."""
        among, found = frozenset(units), {}
        for term in self._terms:
            folded = _folded(term)
            words = [quoted(in_lexicon(folded, space)) for space in self._spaces]
            if len(self._spaces) > _EACH:
                words = [f"{quoted(folded + '#')} *"]
            rows = self._database.execute(q.match_all, (" OR ".join(words),)) if words else []
            found[term] = sum([unit in among for (unit,) in rows])
        for counted in self.tail.values():
            for term in counted.positions:
                found[term] += 1
        return {term: total for term, total in found.items() if total}

    def _holding(self, terms: Collection[str]) -> dict[str, int]:
        """In how many units of the lexicon each of some terms occurs, 0 for none."""
        spaces, asked = self._spaces, {term: _folded(term) for term in terms}
        if len(spaces) > _EACH:
            holding: dict[str, int] = dict(self._database.execute(q.holding_of, (listed(asked.values()), listed(spaces))))
            return {term: holding.get(word, 0) for term, word in asked.items()}
        words = [in_lexicon(word, space) for word in asked.values() for space in spaces]
        if self._units in _READ:
            units = self._frequencies.postings().of(self._database, words)
            holding = {word: len(each) for word, each in units.items()}
        else:
            holding = dict(self._database.execute(q.holding, (listed(words),)))
        return {term: sum([holding.get(in_lexicon(word, space), 0) for space in spaces]) for term, word in asked.items()}

    def best(self, frequency: dict[str, int]) -> list[int]:
        """What holds any of the terms: the best of the lexicon, and all of the tails."""
        request, without = self._request, self._without
        if not frequency or not request.kinds or request.limit < 1:
            return []
        found: list[int] = []
        if self._units:
            terms = sorted(frequency, key=lambda term: (frequency[term], term))
            rarest = _rarest(terms, frequency, _enough(request.limit))
            if self._passing is not None and self._passing.few is not None:
                found = self._holders(self._passing.few, frequency)
            elif rarest < len(terms) and self._passing is None and len(self._spaces) <= _EACH:
                found = self._heaviest(terms, frequency)
            else:
                found = self._scored(terms, frequency, rarest)
        if "message" in request.kinds:
            keys = [key for key, counted in self.tail.items() if counted.positions]
            keys = [key for key in keys if not without.holds_message(key - FIRST_KEY)]
            if self._passing is not None and keys:
                passing = self._passing.messages(key - FIRST_KEY for key in keys)
                keys = [key for key in keys if key - FIRST_KEY in passing]
            found += keys
        return found

    def _heaviest(self, terms: list[str], frequency: dict[str, int]) -> list[int]:
        """The units of the lexicon that hold most of the terms, by weight, each term counted once and the length as in BM25."""
        from bethink.storage.sqlite.postings import heaviest

        request, number = self._request, self._units + len(self.tail)
        weights = {
            in_lexicon(_folded(term), space): _rarity(frequency[term], number)
            for term in terms[: _rarest(terms, frequency, _WEIGHED_BY)]
            for space in self._spaces
        }
        held = [(units, weights[word]) for word, units in self._frequencies.postings().of(self._database, weights).items()]
        most = max(_WEIGHED, request.limit + request.limit // 2)
        ahead = most + _BESIDE * self._without.messages
        while True:
            weight_of = dict(heaviest(held, ahead, self._without.others))
            weighed = self._not_in_view(weight_of)
            kept = [row for row in weighed[:most] if row[4] in request.kinds and not (request.current and row[6])]
            if len(weight_of) < ahead or (len(kept) >= request.limit and len(weighed) >= most):
                break
            # What is retired, of another kind or in view took the place of others.
            if len(weighed) >= most:
                most *= 4
            ahead = max(4 * ahead, most)

        def place(row: Row) -> tuple[float, int]:
            unit, length = row[:2]
            return -round(weight_of[unit] / (1 + K1 * (1 - B + B * length / self._mean_length)), 9), unit

        return [row[0] for row in sorted(kept, key=place)[: request.limit]]

    def _not_in_view(self, units: Iterable[int]) -> list[Row]:
        """The rows of some units, in the order given, without the messages of the thread that are in view."""
        rows = self._database.execute(q.unit_rows, (listed(units),))
        self.read = {row[0]: row for row in rows}
        if not self._without.messages:
            return rows
        return [row for row in rows if row[4] != "message" or not self._without.holds_message(row[5])]

    def _holders(self, units: Iterable[int], frequency: dict[str, int]) -> list[int]:
        """The best of few units, of those that hold any of the terms."""
        request, without = self._request, self._without.others
        rows = self._not_in_view([unit for unit in units if unit not in without])
        kept = [row for row in rows if row[4] in request.kinds and not (request.current and row[6])]
        counted = {row[0]: each for row in kept if (each := self.counted(row)).positions}
        number = self._units + len(self.tail)
        return best_of(counted, counted, number, self._mean_length, frequency, request.limit)

    def _scored(self, terms: list[str], frequency: dict[str, int], rarest: int) -> list[int]:
        """The best by FTS5 of the units that hold one of so many terms, the rarest, or of more."""
        request, without = self._request, self._without
        found = self._matching(terms[:rarest], frequency)
        # What holds a rare term may all be of other kinds, in view, or not pass: then a commoner one tells too.
        fewer = set(request.kinds) != set(_KINDS) or self._passing is not None or without
        while fewer and len(found) < request.limit and rarest < len(terms):
            # A filter may pass so few that each further word would be looked for in vain.
            rarest = rarest + 1 if self._passing is None else len(terms)
            found = self._matching(terms[:rarest], frequency)
        return found

    def _matching(self, terms: list[str], frequency: dict[str, int]) -> list[int]:
        """The best units of the lexicon that hold one of some terms."""
        request, without, everywhere = self._request, self._without, len(self._spaces) > _EACH
        retired = (False,) if request.current else (False, True)
        columns = [column for kind in request.kinds for each in retired if (column := column_of(kind, each)) in COLUMNS]
        if everywhere:
            words = [f"{quoted(term + '#')} *" for term in terms]
        else:
            words = [quoted(in_lexicon(term, space)) for term in terms for space in self._spaces]
        query = f"{{{' '.join(columns)}}} : ({' OR '.join(words)})"
        if self._passing is not None:
            matches = sum(frequency[term] for term in terms)
            return self._passing.matching(query, without.units, self._spaces, request.limit, matches)
        if everywhere:
            rows = self._database.execute(q.match_best_of, (query, listed(without.units), listed(self._spaces), request.limit))
        elif without:
            rows = self._database.execute(q.match_best_but, (query, listed(without.units), request.limit))
        else:
            rows = self._database.execute(q.match_best, (query, request.limit))
        return [unit for (unit,) in rows]

    def _in(self, message: Unsettled) -> Counted:
        return Counted({term: message.terms[term] for term in self._terms if term in message.terms}, message.length)

    def counted(self, row: Row) -> Counted:
        """Of a row of a candidate."""
        return self.tail.get(row[0]) or self._count(row[1], row[2])

    def _count(self, length: int, terms: str) -> Counted:
        wanted = self._wanted
        positions: dict[str, tuple[int, ...]] = {}
        for place, word in enumerate(terms.split(" ")):
            if word in wanted:
                positions[word] = (*positions.get(word, ()), place)
        return Counted(positions, length)


def _enough(limit: int) -> int:
    return max(_LOOKED_AT, 4 * limit)


def _rarest(terms: list[str], frequency: dict[str, int], enough: int) -> int:
    """How many of the terms, from the rarest up, occur no more than often enough in all; at least one."""
    together = 0
    for number, term in enumerate(terms):
        if number and together + frequency[term] > enough:
            return number
        together += frequency[term]
    return len(terms)


def _rarity(frequency: int, units: int) -> float:
    """BM25's inverse document frequency of what so many of the units hold."""
    return math.log(1 + (units - frequency + 0.5) / (frequency + 0.5))


def best_of(
    among: Iterable[int],
    counted: Mapping[int, Counted],
    units: int,
    mean_length: float,
    frequency: Mapping[str, int],
    limit: int,
) -> list[int]:
    """The best by BM25, equal ones by number."""
    weight = {term: (K1 + 1) * _rarity(holding, units) for term, holding in frequency.items()}

    def place(unit: int) -> tuple[float, int]:
        positions, length = counted[unit]
        damping = K1 * (1 - B + B * length / mean_length)
        score = 0.0
        for term, places in positions.items():
            count = len(places)
            score += weight[term] * count / (count + damping)
        # Rounded, so that the order of a sum does not decide between equals.
        return -round(score, 9), unit

    return sorted(among, key=place)[:limit]


def _folded(term: str) -> str:
    """A term as FTS5's tokenizer leaves it."""
    return term.encode().lower().decode()
