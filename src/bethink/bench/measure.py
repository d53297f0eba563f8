"""Samples, turns and tables.

take_turns   every contestant once, then every contestant again: all meet the same disk and the same neighbours
Sample       one contestant's times of one repeat
Series       its repeats: medians with their spread, and ratios to another's
"""

from __future__ import annotations

import statistics
from collections.abc import Awaitable, Callable, Mapping, Sequence
from time import perf_counter
from typing import Any

import msgspec

__all__ = ["Series", "Spread", "columns", "milliseconds", "print_json", "spread", "take_turns"]


class Spread(msgspec.Struct, frozen=True):
    """A figure that was measured several times: the median, and the least and greatest."""

    median: float
    least: float
    greatest: float

    def text(self, form: str = ".2f") -> str:
        return f"{self.median:{form}} [{self.least:{form}}-{self.greatest:{form}}]"


def spread(values: Sequence[float]) -> Spread:
    return Spread(statistics.median(values), min(values), max(values))


class Series(msgspec.Struct, frozen=True):
    """Seconds of every call of one contestant, repeat by repeat."""

    name: str
    repeats: tuple[tuple[float, ...], ...]

    @property
    def p50(self) -> Spread:
        """Median call, in seconds."""
        return spread([statistics.median(calls) for calls in self.repeats])

    @property
    def p95(self) -> Spread:
        return spread([statistics.quantiles(calls, n=20)[-1] for calls in self.repeats])

    @property
    def mean(self) -> Spread:
        return spread([statistics.fmean(calls) for calls in self.repeats])

    @property
    def rate(self) -> Spread:
        """Calls a second."""
        return spread([len(calls) / sum(calls) for calls in self.repeats])

    def times_the_rate_of(self, other: Series) -> Spread:
        """How many calls a second for one of the other's, over whole repeats: a slow disk now and then counts for both."""
        pairs = zip(self.repeats, other.repeats, strict=True)
        return spread([(len(ours) / sum(ours)) / (len(theirs) / sum(theirs)) for ours, theirs in pairs])

    def times_as_fast_as(self, other: Series) -> Spread:
        """The same by median calls: what a call costs when the disk is quiet."""
        pairs = zip(self.repeats, other.repeats, strict=True)
        return spread([statistics.median(theirs) / statistics.median(ours) for ours, theirs in pairs])

    def summary(self) -> dict[str, Any]:
        """The figures by name, for JSON."""
        return {"p50_ms": milliseconds(self.p50), "mean_ms": milliseconds(self.mean), "per_second": self.rate}


def milliseconds(seconds: Spread) -> Spread:
    return Spread(seconds.median * 1e3, seconds.least * 1e3, seconds.greatest * 1e3)


async def take_turns(
    contestants: Mapping[str, Callable[[int], Awaitable[object] | None]],
    *,
    calls: int,
    repeats: int,
    warm_up: int = 40,
    stint: int = 1,
) -> dict[str, Series]:
    """Call each contestant `calls` times in each repeat, in turns of `stint` calls, a different one first in every round.

    A contestant is given the number of the call. One that returns an awaitable is awaited; both ways the time is from the call
    to its end.
    """
    names = list(contestants)
    times: dict[str, list[list[float]]] = {name: [] for name in names}
    number = 0
    for repeat in range(-1, repeats):
        for name in names:
            times[name].append([])
        for turn in range(-(-(warm_up if repeat < 0 else calls) // stint)):
            for place in range(len(names)):
                name = names[(turn + place) % len(names)]
                for call in range(stint):
                    started = perf_counter()
                    pending = contestants[name](number + call)
                    if pending is not None:
                        await pending
                    times[name][-1].append(perf_counter() - started)
            number += stint
    return {name: Series(name, tuple(map(tuple, times[name][1:]))) for name in names}


def columns(rows: Sequence[Sequence[str]]) -> str:
    """Rows as a table: the first column to the left, the others to the right; the first row is the head."""
    widths = [max(len(row[index]) for row in rows) for index in range(len(rows[0]))]
    lines = [
        "  ".join(
            cell.ljust(width) if index == 0 else cell.rjust(width)
            for index, (cell, width) in enumerate(zip(row, widths, strict=True))
        )
        for row in rows
    ]
    return "\n".join([lines[0], "-" * len(lines[0]), *lines[1:]])


def print_json(figures: object) -> None:
    print(msgspec.json.format(msgspec.json.encode(figures), indent=2).decode())
