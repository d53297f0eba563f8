"""A report as tables: on a terminal, and at its place in a document; and as a picture. Pure, but for `update`."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path

from bethink.bench.measure import columns
from bethink.bench.plot import Curve, chart
from bethink.bench.retrieval.figures import BUDGETS, Figures, Scores
from bethink.bench.retrieval.questions import ADVERSARIAL, Source, group_of
from bethink.bench.retrieval.report import Report, name_of
from bethink.bench.retrieval.run import OURS
from bethink.bench.retrieval.threshold import Point
from bethink.errors import InvalidInput
from bethink.models import Fingerprint

__all__ = ["NAMES", "about", "divided", "drawn", "markdown", "marked", "parted", "text", "update", "updated"]

NAMES: dict[Source, str] = {"locomo": "LoCoMo", "longmemeval": "LongMemEval", "beam": "BEAM"}

_RANKING = {
    "R@5": "recall_at_5",
    "R@10": "recall_at_10",
    "any@10": "recall_any_at_10",
    "all@10": "recall_all_at_10",
    "NDCG@10": "ndcg_at_10",
    "MRR": "mrr",
    "session R@5": "session_recall_at_5",
    "session any@5": "session_recall_any_at_5",
    "session Hit@1": "session_hit_at_1",
}
_WITHIN = {f"{budget:,} tokens": f"evidence_within_{budget}_tokens" for budget in BUDGETS}
_PACKED = {name: f"packed_{figure.removeprefix('evidence_')}" for name, figure in _WITHIN.items()}
_EVERY = 2  # of the curve, every so many thresholds are shown
_END = "<!-- end -->\n"

_Rows = list[list[str]]


def about(made: Report) -> str:
    """What was run, in a line."""
    by = f"ranker {made.ranker}, embedder {made.embedder}, tokens by {made.counter}"
    return f"{NAMES[made.benchmark]}, {made.questions:,} questions; {by}"


def text(made: Report) -> str:
    """The report for a terminal."""
    parts = [about(made), *(columns(rows) for rows in _tables(made)), *_notes(made)]
    return "\n\n".join(parts)


def markdown(made: Report) -> str:
    """The report as a section of a document."""
    split = "; ".join(f"{group}: {', '.join(_names_of(made, group))}" for group in made.groups)
    return "\n\n".join([f"{about(made)}. {split.capitalize()}.", *map(marked, _tables(made)), *_notes(made)])


def _notes(made: Report) -> Iterator[str]:
    for name, why in made.left_out.items():
        yield f"{name} was left out: {why}."
    if made.unlabelled:
        yield f"{made.unlabelled} questions have no evidence and were not asked."
    if made.interrupted:
        yield "The run was interrupted: these are the conversations that were done."


def _names_of(made: Report, group: str) -> list[str]:
    return [name for name in made.conversations if group_of(made.benchmark, name) == group]


def marked(rows: Sequence[Sequence[str]]) -> str:
    """Rows as a table of a document; the first is the head."""
    head, *others = rows
    return "\n".join("| " + " | ".join(cells) + " |" for cells in (head, ["---"] * len(head), *others))


# -- tables ---------------------------------------------------------------------------------------------------------------


def _tables(made: Report) -> Iterator[_Rows]:
    found = list(_systems(made))
    yield [
        ["ranking", "on", "questions", *_RANKING],
        *([name, on, str(each.questions), *_shares(each, _RANKING)] for name, on, each in found),
    ]
    yield [
        ["evidence within", "on", *_WITHIN, "p50 ms", "p95 ms", "CPU ms", "index s"],
        *(row for name, on, each in found for row in _within(name, on, each)),
    ]
    categories = {**made.by_category, **({ADVERSARIAL: made.adversarial} if made.adversarial else {})}
    yield [
        ["bethink, by category", *_RANKING, *_WITHIN],
        *([name, *_shares(each, _RANKING), *_shares(each, _WITHIN)] for name, each in categories.items()),
    ]
    yield [
        ["bethink, by conversation", "questions", *_RANKING],
        *([name, str(each.questions), *_shares(each, _RANKING)] for name, each in made.conversations.items()),
    ]
    if made.threshold:
        yield list(_thresholds(made))


def _systems(made: Report) -> Iterator[tuple[str, str, Figures]]:
    """Each group's rows together, bethink first: what is compared stands side by side."""
    summaries = {OURS: made, **made.against}
    if len(made.groups) > 1:
        yield from ((name, "all", each) for name, each in summaries.items())
    for group in made.groups:
        yield from ((name, group, each.groups[group]) for name, each in summaries.items() if group in each.groups)


def _within(name: str, on: str, of: Figures) -> Iterator[list[str]]:
    """By rank, and below it what a recall with the budget returns."""
    times = _times(of)
    yield [name, on, *_shares(of, _WITHIN), *times]
    if of.packed_within_250_tokens is not None:
        yield [f"{name}, packed", on, *_shares(of, _PACKED), *("-" for _ in times)]


def _shares(of: Scores, figures: dict[str, str]) -> list[str]:
    return [_share(getattr(of, name)) for name in figures.values()]


def _share(value: float | None) -> str:
    return "-" if value is None else f"{value:.3f}".removeprefix("0")


def _times(of: Figures) -> list[str]:
    times = (of.query_ms_p50, of.query_ms_p95, of.query_cpu_ms_p50, of.index_seconds)
    return [f"{each:.1f}" for each in times]


def _thresholds(made: Report) -> Iterator[list[str]]:
    """The ranker's own threshold as it was measured, and what others would do."""
    measures = ("unrelated quiet", "related lost", "related silent")
    yield ["threshold", *(f"{group}: {measure}" for group in made.threshold for measure in measures)]
    own = [each.own for each in made.threshold.values()]
    yield [f"{own[0].threshold:.2f} (the ranker's)", *_points(own)]
    for points in list(zip(*(each.curve for each in made.threshold.values()), strict=True))[::_EVERY]:
        yield [f"{points[0].threshold:.2f}", *_points(points)]


def _points(points: Sequence[Point]) -> list[str]:
    return [_share(share) for point in points for share in (point.quiet, point.lost, point.silent)]


# -- in documents ---------------------------------------------------------------------------------------------------------


def divided(document: str, source: Source, embedder: Fingerprint | None) -> tuple[str, str]:
    """What is before and after the place of a report in a document: the lines between `<!-- bench locomo NAME -->`, with the
    embedder's name or "none", and the next `<!-- end -->`. Both markers are kept.

    Raises:
        InvalidInput: it has not both, on lines of their own.
    """
    return parted(document, f"<!-- bench {source} {name_of(embedder)} -->\n")


def updated(document: str, made: Report) -> str:
    """The document with the report at its place (see `divided`), instead of what was there."""
    before, after = parted(document, f"<!-- bench {made.benchmark} {made.embedder} -->\n")
    return f"{before}{markdown(made)}\n{after}"


def update(path: Path, made: Report) -> None:
    """Write the report into the document at `path`."""
    path.write_text(updated(path.read_text(encoding="utf-8"), made), encoding="utf-8")


def parted(document: str, start: str) -> tuple[str, str]:
    """What is before and after the place that begins with the line `start` and ends with `<!-- end -->`; both stay.

    Raises:
        InvalidInput: it has no such place.
    """
    before, found, rest = document.partition(start)
    _, end, after = rest.partition(_END)
    if not found or not end:
        raise InvalidInput("document", "no place for the report", f"write {start.strip()} and {_END.strip()} on lines of it")
    return before + found, end + after


# -- as a picture ---------------------------------------------------------------------------------------------------------


def drawn(made: Report) -> str:
    """Evidence within budgets, a line for each system, as SVG."""
    lines = [
        Curve(name, tuple((budget, getattr(found, f"evidence_within_{budget}_tokens") or 0.0) for budget in BUDGETS))
        for name, found in {OURS: made, **made.against}.items()
    ]
    title = f"{NAMES[made.benchmark]}: evidence within a budget"
    return chart(lines, title=title, x="tokens", y="share of the evidence")
