"""Candidates for a query: the lexical leg from the lexicon, the dense leg from the spaces, statistics from the totals.

FTS5's own `bm25()` ranks by statistics of the whole database and only decides which rows are looked at; what is returned is
chosen by BM25 over the scope's statistics (k1 1.2, b 0.75; Robertson and Zaragoza 2009), among those and the units that are
not merged yet. Every term is a quoted string in the query, so no text is ever read as an operator.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import TYPE_CHECKING, NamedTuple

from bethink.records import AnyRecord
from bethink.storage.base import Candidate, Found, Search
from bethink.storage.sqlite.driver import Database, Row
from bethink.storage.sqlite.queries import q
from bethink.storage.sqlite.values import decode_body, decode_record, listed, namespace_of, path_of, path_range

if TYPE_CHECKING:
    from bethink.storage.sqlite.dense import Spaces

__all__ = ["search"]

_K1, _B = 1.2, 0.75
_KINDS = ("message", "note", "insight", "summary")
_MANY = 1_000
"""Units of a scope from which on its tag costs more than to look whether it is needed."""


class _Counted(NamedTuple):
    """How often each query term occurs in a unit, and how many terms it has."""

    counts: dict[str, int]
    length: int


def search(database: Database, request: Search, spaces: Callable[[], Spaces]) -> Found:
    """See `storage.base.Search`. `spaces` is asked for only if there is a vector: it needs numpy."""
    namespaces = database.execute(q.namespaces_in_scope, path_range(request.scope))
    tail = database.execute(q.unmerged_in_scope, path_range(request.scope))
    units = sum(row[2] for row in namespaces) + len(tail)
    if not units:
        return Found(candidates=(), units=0, mean_length=0.0, frequency={}, pending=0)
    mean_length = (sum(row[3] for row in namespaces) + sum(row[3] for row in tail)) / units
    pending = units - sum(row[4] for row in namespaces)

    lexicon = _Lexicon(database, request, namespaces, tail)
    frequency = lexicon.frequency()
    counted = lexicon.matching()

    def bm25(unit: int) -> float:
        score = 0.0
        counts, length = counted[unit]
        for term in lexicon.terms:
            if term in counts:
                rarity = math.log(1 + (units - frequency[term] + 0.5) / (frequency[term] + 0.5))
                score += rarity * counts[term] * (_K1 + 1) / (counts[term] + _K1 * (1 - _B + _B * length / mean_length))
        return score

    lexical = sorted(counted, key=lambda unit: (-bm25(unit), unit))[: request.limit]
    cosines: dict[int, float] = {}
    if request.vector is not None:
        from bethink.storage.sqlite.dense import Similarities

        filled = [spaces().fresh(database, row[0], row[4], row[5]) for row in namespaces if row[4]]
        similarities = Similarities(filled, request.vector, request.kinds, request.current)
        cosines = similarities.best(request.limit)
        cosines.update(similarities.of(lexical))
    chosen = sorted({*lexical, *cosines})
    counted.update(lexicon.counted(unit for unit in chosen if unit not in counted))
    rows = database.execute(q.candidates, (listed(chosen),))
    return Found(
        candidates=tuple(_candidate(row, counted[row[0]], cosines.get(row[0])) for row in rows if row[0] in counted),
        units=units,
        mean_length=mean_length,
        frequency=frequency,
        pending=pending,
    )


class _Lexicon:
    """The lexical leg of one search: the rows of the lexicon, and the units that are not merged yet (the tail)."""

    def __init__(self, database: Database, request: Search, namespaces: list[Row], tail: list[Row]) -> None:
        self._database = database
        self._request = request
        self.terms = tuple(dict.fromkeys(request.terms))
        self._wanted = frozenset(self.terms)
        self._scope = _scope_tag(database, request, namespaces)
        self._tail = [(unit, kind, retired, self._count(length, terms)) for unit, kind, retired, length, terms in tail]

    def frequency(self) -> dict[str, int]:
        """In how many units of the scope each term occurs, whatever their kind and current or not; absent for none."""
        found: dict[str, int] = {}
        for term in self.terms:
            query = f"{self._scope}terms : {_quoted(term)}"
            merged: int = self._database.execute(q.match_count, (query,))[0][0]
            total = merged + sum(term in counted.counts for *_, counted in self._tail)
            if total:
                found[term] = total
        return found

    def matching(self) -> dict[int, _Counted]:
        """Units that hold any of the terms: the best of the lexicon, and all of the tail."""
        if not self.terms or not self._request.kinds or self._request.limit < 1:
            return {}
        query = f"{self._scope}terms : ({' OR '.join(map(_quoted, self.terms))})"
        if set(self._request.kinds) != set(_KINDS):
            kinds = " OR ".join(f'"k{kind}"' for kind in self._request.kinds)
            query += f" AND tags : ({kinds})"
        if self._request.current:
            # What is left out is rare; a tag of all others would make FTS5 walk through every row.
            query = f'({query}) NOT tags : "retired"'
        found = self.counted(unit for (unit,) in self._database.execute(q.match_best, (query, self._request.limit)))
        for unit, kind, retired, counted in self._tail:
            if counted.counts and kind in self._request.kinds and not (retired and self._request.current):
                found[unit] = counted
        return found

    def counted(self, units: object) -> dict[int, _Counted]:
        rows = self._database.execute(q.terms_of_units, (listed(units),))
        return {unit: self._count(length, terms) for unit, length, terms in rows}

    def _count(self, length: int, terms: str) -> _Counted:
        words = terms.split(" ") if self._wanted else []
        return _Counted({term: words.count(term) for term in self._wanted.intersection(words)}, length)


def _scope_tag(database: Database, request: Search, namespaces: list[Row]) -> str:
    """The part of a query that keeps it to the scope; nothing where all that is merged lies in it."""
    path = path_of(request.scope.namespace)
    if not path:
        return ""
    merged = sum(row[2] for row in namespaces)
    if merged >= _MANY and database.execute(q.count_merged)[0][0] == merged:
        return ""
    # A namespace that holds anything has a row, and so has the root of a subtree that does.
    number = next(row[0] for row in namespaces if row[1] == path)
    return f'tags : "{"s" if request.scope.subtree else "n"}{number}" AND '


def _quoted(term: str) -> str:
    """A term as a string of FTS5's query language."""
    return '"' + term.replace('"', '""') + '"'


def _candidate(row: Row, counted: _Counted, cosine: float | None) -> Candidate:
    _, kind, path, thread_id, seq, body = row
    counts = dict(sorted(counted.counts.items()))
    if kind == "message":
        message = decode_body(body)
        assert message.created_at is not None, "a stored message has its time"
        return Candidate(
            kind="message",
            id=message.id,
            namespace=namespace_of(path),
            thread_id=thread_id,
            seq=seq,
            text=message.text,
            speaker=message.speaker,
            trust=message.trust,
            at=message.created_at,
            counts=counts,
            length=counted.length,
            cosine=cosine,
        )
    record: AnyRecord = decode_record(body)
    return Candidate(
        kind=record.kind,
        id=record.id,
        namespace=namespace_of(path),
        thread_id=thread_id,
        seq=0,
        text=record.text,
        speaker="",
        trust=record.trust,
        at=record.recorded_at,
        counts=counts,
        length=counted.length,
        cosine=cosine,
    )
