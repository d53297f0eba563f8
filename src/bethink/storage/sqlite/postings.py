"""Which units hold a word: read from the lexicon once, then kept in memory.

    word ─▶ units, ascending ─┐
    word ─▶ units, ascending ─┴─▶ heaviest: the units that hold the most of the words, by their weights

To let FTS5 score every unit that holds a common word takes 2.4 µs each; to read their numbers 0.2, once; to add up weights by
numpy 0.02. So all words of a query can count in a large scope, not the rarest alone.

A unit's words never change, and its number is never used again. So what was read holds up to the last unit that there was, and
what came later is read when the word is next asked for, in the transaction of whoever asks. Units go with a forget, after which
all is read anew, and with versions of items, which are listed in `dropped`: they are taken out of what is known.
"""

from __future__ import annotations

import threading
from collections import OrderedDict
from collections.abc import Collection, Sequence
from typing import NamedTuple, TypeAlias

import msgspec
import numpy as np
from numpy.typing import NDArray

from bethink.storage.sqlite.driver import Database
from bethink.storage.sqlite.queries import q
from bethink.storage.sqlite.units import last_unit, quoted

__all__ = ["Postings", "Units", "heaviest"]

Units: TypeAlias = NDArray[np.int64]

_KEPT = 2_000_000
"""So many numbers are kept in all, 16 MB; a word takes as much room as `_WORD` besides."""
_WORD = 32
_CLOSE = 300_000
"""Units no further apart have an array together."""
_ROUNDING = 1e-6
_read = msgspec.json.Decoder(list[int]).decode


class _Known(NamedTuple):
    """The units that hold a word, up to a number."""

    last: int
    units: Units


class Postings:
    """The units of words looked for last. May be used from many threads."""

    def __init__(self) -> None:
        self._known: OrderedDict[str, _Known] = OrderedDict()
        self._numbers = 0
        self._forgotten = 0
        self._dropped = 0
        self._lock = threading.Lock()

    def of(self, database: Database, words: Collection[str]) -> dict[str, Units]:
        """Of each word, as the lexicon has it, the units that hold it, ascending."""
        last = last_unit(database)
        forgotten: int = database.execute(q.forgotten)[0][0]
        dropped: int = database.execute(q.last_dropped)[0][0]
        with self._lock:
            if forgotten > self._forgotten:
                self._clear()
                self._forgotten = forgotten
            self._take_out(database, dropped)
            # Whoever reads as of before units went is not served from what was read after that.
            current = (forgotten, dropped) == (self._forgotten, self._dropped)
            known = {word: self._known[word] for word in words if current and word in self._known}
        found = {word: _up_to(last, word, known.get(word), database) for word in words}
        if current:
            with self._lock:
                if (forgotten, dropped) == (self._forgotten, self._dropped):
                    self._keep({word: _Known(last, units) for word, units in found.items()})
        return found

    def _keep(self, found: dict[str, _Known]) -> None:
        for word, new in found.items():
            old = self._known.pop(word, None)
            if old is not None:
                self._numbers -= len(old.units) + _WORD
            # Another thread may have read further meanwhile.
            newest = new if old is None or old.last < new.last else old
            self._known[word] = newest
            self._numbers += len(newest.units) + _WORD
        while self._numbers > _KEPT:
            _, oldest = self._known.popitem(last=False)
            self._numbers -= len(oldest.units) + _WORD

    def _take_out(self, database: Database, dropped: int) -> None:
        """The units that went since one was last taken out; all that is known, if not all of them are listed any more."""
        if dropped <= self._dropped:
            return
        if self._known:
            gone = [unit for (unit,) in database.execute(q.dropped_after, (self._dropped, dropped))]
            if len(gone) < dropped - self._dropped:
                self._clear()
            for word, known in self._known.items():
                places = _places(known.units, np.array(gone, dtype=np.int64)) if len(known.units) else ()
                if len(places):
                    self._known[word] = known._replace(units=np.delete(known.units, places))
                    self._numbers -= len(places)
        self._dropped = dropped

    def clear(self) -> None:
        with self._lock:
            self._clear()

    def _clear(self) -> None:
        self._known.clear()
        self._numbers = 0


def _up_to(last: int, word: str, known: _Known | None, database: Database) -> Units:
    if known is not None and known.last >= last:
        # It may have been read in a later transaction than this one.
        return known.units if known.last == last else known.units[: np.searchsorted(known.units, last, side="right")]
    after = 0 if known is None else known.last
    new = np.array(_read(database.execute(q.units_holding, (quoted(word), after))[0][0]), dtype=np.int64)
    if known is None:
        return new
    return np.concatenate([known.units, new]) if len(new) else known.units


def heaviest(held: Sequence[tuple[Units, float]], count: int, without: Collection[int] = ()) -> list[tuple[int, float]]:
    """The `count` units that hold the most of some words by weight, each with its weight, heaviest first; of equal ones the
    newest. Where units are far apart, more of a word's are looked at only as long as they may be among them.

    Args:
        held: of each word its units, ascending, and its weight, which is above 0; the rarest first.
        without: units that are left out.
    """
    held = [each for each in held if len(each[0])]
    if not held:
        return []
    left_out = np.array(sorted(without), dtype=np.int64)
    first, last = min([holding[0] for holding, _ in held]), max([holding[-1] for holding, _ in held])
    close = last - first < _CLOSE
    units, weights = _in_a_row(held, left_out, first, last) if close else _one_by_one(held, count, left_out)
    if len(units) > count:
        heavy = weights >= np.partition(weights, len(weights) - count)[len(weights) - count] - _ROUNDING
        units, weights = units[heavy], weights[heavy]
    # Rounded, so that the order of a sum does not decide between equals.
    weights = np.round(weights, 9)
    order = np.lexsort((-units, -weights))[:count]
    return list(zip(units[order].tolist(), weights[order].tolist(), strict=True))


def _in_a_row(held: Sequence[tuple[Units, float]], left_out: Units, first: int, last: int) -> tuple[Units, NDArray[np.float64]]:
    """The weights of all units from the first to the last that hold a word, added up in one array."""
    weights = np.zeros(last - first + 1)
    for holding, weight in held:
        weights[holding - first] += weight
    weights[left_out[(left_out >= first) & (left_out <= last)] - first] = 0
    places = np.flatnonzero(weights)
    return places + first, weights[places]


def _one_by_one(held: Sequence[tuple[Units, float]], count: int, left_out: Units) -> tuple[Units, NDArray[np.float64]]:
    """The weights of those that may be among the `count` heaviest, and of others."""
    units, weights = np.zeros(0, np.int64), np.zeros(0)
    to_come = sum(weight for _, weight in held)
    least = 0.0
    for holding, weight in held:
        to_come -= weight
        places = np.minimum(np.searchsorted(holding, units), len(holding) - 1)
        both = holding[places] == units
        weights[both] += weight
        # What holds this word and those to come, and none before, may be heavy enough still.
        if len(units) < count or weight + to_come >= least:
            new = np.ones(len(holding), bool)
            new[places[both]] = False
            new[_places(holding, left_out)] = False
            units = np.concatenate([units, holding[new]])
            weights = np.concatenate([weights, np.full(np.count_nonzero(new), weight)])
        if len(units) > count:
            least = np.partition(weights, len(weights) - count)[len(weights) - count] - _ROUNDING
            enough = weights + to_come >= least
            units, weights = units[enough], weights[enough]
    return units, weights


def _places(units: Units, some: Units) -> Units:
    """Where those of some units stand that are among `units`, which ascend."""
    places: Units = np.minimum(np.searchsorted(units, some), len(units) - 1)
    there: Units = places[units[places] == some]
    return there
