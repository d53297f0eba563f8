"""What a threshold does: how often an unrelated question rightly gets nothing, and what related ones lose. Pure.

    quiet   of unrelated questions (`questions.unrelated`), the share that gets no hit
    lost    of related questions, the recall at 10 without the threshold, less that with it
    silent  of related questions, the share that gets no hit

The threshold applies to the best hit; the hits after it need a share of it (`Ranker.tail`). So what any threshold would do
follows from the scores of a ranking without one: that is the curve. (But for what is near a time that a question names, which
counts for the order and not for the threshold: there the curve is a little too low.) What the ranker's own threshold does is
measured, by asking with it.
"""

from __future__ import annotations

from collections.abc import Sequence
from statistics import fmean

import msgspec

__all__ = ["Point", "Probe", "Threshold", "curve", "measured"]

_STEP, _STEPS = 0.02, 31


class Probe(msgspec.Struct, frozen=True, kw_only=True):
    """One question, asked for 10 hits without the threshold and with it.

    Attributes:
        evidence: how many turns it needs; 0 for an unrelated question.
        scores: of the hits without the threshold, best first, as parts of what a threshold of 1 would ask of this question
            (`legs.leniency`).
        found: of each of them, whether it is evidence.
        hits: how many there were with the threshold, and `kept` of them evidence.
    """

    evidence: int
    scores: tuple[float, ...]
    found: tuple[bool, ...]
    hits: int
    kept: int


class Point(msgspec.Struct, frozen=True, kw_only=True):
    """What one threshold does."""

    threshold: float
    quiet: float
    lost: float
    silent: float


class Threshold(msgspec.Struct, frozen=True, kw_only=True):
    """The ranker's own, measured, and what others would do."""

    related: int
    unrelated: int
    own: Point
    curve: tuple[Point, ...]


def measured(probes: Sequence[Probe], threshold: float, tail: float) -> Threshold | None:
    """None unless there are related and unrelated questions."""
    related = [each for each in probes if each.evidence]
    unrelated = [each for each in probes if not each.evidence]
    if not related or not unrelated:
        return None
    own = Point(
        threshold=threshold,
        quiet=_mean([not each.hits for each in unrelated]),
        lost=_mean([(sum(each.found) - each.kept) / each.evidence for each in related]),
        silent=_mean([not each.hits for each in related]),
    )
    return Threshold(related=len(related), unrelated=len(unrelated), own=own, curve=curve(probes, tail))


def curve(probes: Sequence[Probe], tail: float) -> tuple[Point, ...]:
    """Thresholds from 0 to 0.6, and what each would do; for probes of both sorts."""
    return tuple(_point(probes, round(step * _STEP, 2), tail) for step in range(_STEPS))


def _point(probes: Sequence[Probe], threshold: float, tail: float) -> Point:
    related = [each for each in probes if each.evidence]
    answered = [_answers(each, threshold) for each in related]
    return Point(
        threshold=threshold,
        quiet=_mean([not _answers(each, threshold) for each in probes if not each.evidence]),
        lost=_mean([
            (sum(each.found) - (sum(_kept(each, threshold * tail)) if answers else 0)) / each.evidence
            for each, answers in zip(related, answered, strict=True)
        ]),
        silent=_mean([not answers for answers in answered]),
    )  # fmt: skip


def _answers(probe: Probe, threshold: float) -> bool:
    return bool(probe.scores) and probe.scores[0] >= threshold


def _kept(probe: Probe, least: float) -> list[bool]:
    return [found for score, found in zip(probe.scores, probe.found, strict=True) if score >= least]


def _mean(shares: Sequence[float]) -> float:
    return round(fmean(shares), 4)
