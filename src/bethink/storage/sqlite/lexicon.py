"""The lexical leg: what of the lexicon, and of the messages in the tails, holds words of a query.

    frequency of each term ─▶ units that hold a rare one, the best by FTS5 ─▶ (search.py) BM25 by all terms

The lexicon holds each term with the number of its namespace, so a search reads what the namespaces of its scope hold and no
more, however large the file. Where they are many (`_EACH`), it looks for the term in all, and leaves out what is of others.

A term that half of all units hold says little, and FTS5 would score every one of them. So the terms go into its query from the
rarest up until they occur often enough in all (`_LOOKED_AT`); the others count where a unit is looked at anyway. What is
passed over is a unit that holds only the commonest terms, and only where there are many that hold a rarer one. FTS5's own
`bm25()` ranks by statistics of the whole database and only decides which rows are looked at.
Every term is a quoted string in the query, so no text is ever read as an operator.
"""

from __future__ import annotations

import threading
from collections import OrderedDict
from collections.abc import Callable, Collection, Iterable, Mapping
from typing import NamedTuple

from bethink.storage.base import Scope, Search
from bethink.storage.sqlite.driver import Database, Row
from bethink.storage.sqlite.filters import Passing
from bethink.storage.sqlite.queries import q
from bethink.storage.sqlite.tail import FIRST_KEY, Unsettled
from bethink.storage.sqlite.units import COLUMNS, column_of, in_lexicon, last_unit
from bethink.storage.sqlite.values import listed, path_range

__all__ = ["Counted", "Frequencies", "LeftOut", "Lexicon"]

_KINDS = ("message", "note", "insight", "summary")
_EACH = 8
"""So many namespaces are looked into one by one, each term in each; of more, all of the file are at once."""
_LOOKED_AT = 300
"""How often the terms that FTS5 looks for occur in all, as far as there are so many; four times the limit if that is more."""
_SCOPES, _TERMS = 16, 4_096
"""Of how many scopes, and of how many terms in each, frequencies are kept."""
_NEW = 200
"""So many new units are counted one by one; to count those of more takes longer than to ask the lexicon again."""


class Counted(NamedTuple):
    """Where each query term stands in a unit, and how many terms it has."""

    positions: dict[str, tuple[int, ...]]
    length: int


class LeftOut(NamedTuple):
    """What is not to be found: units, and the keys of messages that may be in tails."""

    units: tuple[int, ...] = ()
    keys: frozenset[int] = frozenset()


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
            # Another thread may be reading the old one.
            known = known._replace(of={**known.of, **count(missing)})
        with self._lock:
            self._known[scope] = known
            if len(self._known) > _SCOPES:
                self._known.popitem(last=False)
        return {term: known.of[term] for term in wanted}

    def clear(self) -> None:
        with self._lock:
            self._known.clear()


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
    ) -> None:
        self._database = database
        self._request = request
        self._terms = tuple(dict.fromkeys(request.terms))
        self._wanted = frozenset(self._terms)
        self._units = sum(row[2] for row in namespaces)
        self._spaces = [row[0] for row in namespaces if row[2]]
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

    def _holding(self, terms: Collection[str]) -> dict[str, int]:
        """In how many units of the lexicon each of some terms occurs, 0 for none."""
        spaces, asked = self._spaces, {term: _folded(term) for term in terms}
        if len(spaces) > _EACH:
            holding: dict[str, int] = dict(self._database.execute(q.holding_of, (listed(asked.values()), listed(spaces))))
            return {term: holding.get(word, 0) for term, word in asked.items()}
        words = [in_lexicon(word, space) for word in asked.values() for space in spaces]
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
            rarest = self._rarest(terms, frequency)
            found = self._matching(terms[:rarest], frequency)
            # What holds a rare term may all be of other kinds, in view, or not pass: then a commoner one tells too.
            fewer = set(request.kinds) != set(_KINDS) or self._passing is not None or without.units or without.keys
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
        request, without, everywhere = self._request, self._without.units, len(self._spaces) > _EACH
        retired = (False,) if request.current else (False, True)
        columns = [column for kind in request.kinds for each in retired if (column := column_of(kind, each)) in COLUMNS]
        if everywhere:
            words = [f"{_quoted(term + '#')} *" for term in terms]
        else:
            words = [_quoted(in_lexicon(term, space)) for term in terms for space in self._spaces]
        query = f"{{{' '.join(columns)}}} : ({' OR '.join(words)})"
        if self._passing is not None:
            matches = sum(frequency[term] for term in terms)
            return self._passing.matching(query, without, self._spaces, request.limit, matches)
        if everywhere:
            rows = self._database.execute(q.match_best_of, (query, listed(without), listed(self._spaces), request.limit))
        elif without:
            rows = self._database.execute(q.match_best_but, (query, listed(without), request.limit))
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

    def _in(self, message: Unsettled) -> Counted:
        return Counted({term: message.terms[term] for term in self._terms if term in message.terms}, message.length)

    def counted(self, row: Row) -> Counted:
        """Of a row of `_rows`."""
        return self.tail.get(row[0]) or self._count(row[1], row[2])

    def _count(self, length: int, terms: str) -> Counted:
        wanted = self._wanted
        words = terms.split(" ")
        positions: dict[str, tuple[int, ...]] = {}
        if not wanted.isdisjoint(words):
            for place, word in [(place, word) for place, word in enumerate(words) if word in wanted]:
                positions[word] = (*positions.get(word, ()), place)
        return Counted(positions, length)


def _folded(term: str) -> str:
    """A term as FTS5's tokenizer leaves it."""
    return term.encode().lower().decode()


def _quoted(term: str) -> str:
    """A term as a string of FTS5's query language."""
    return '"' + term.replace('"', '""') + '"'
