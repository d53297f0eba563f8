"""One object for a whole run, and what is printed, drawn and written of it. Pure, but for `update`.

The figures are of the questions that have an answer. Questions of LoCoMo's category 5 ask somebody about what the other said:
their evidence is there, and their figures are beside (`adversarial`); figures over all questions are in `with_adversarial`.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path

from bethink.bench.measure import columns
from bethink.bench.plot import Curve, chart
from bethink.bench.retrieval.figures import BUDGETS, Asked, Figures, Scores, figures, mean_of
from bethink.bench.retrieval.questions import ADVERSARIAL, Source, group_of
from bethink.bench.retrieval.run import DEPTH, OURS, Results
from bethink.bench.retrieval.threshold import Threshold, measured
from bethink.errors import InvalidInput
from bethink.models import Fingerprint
from bethink.retrieval.rank import Ranker

__all__ = ["NAMES", "Report", "Summary", "about", "divided", "drawn", "markdown", "report", "text", "update", "updated"]

NAMES: dict[Source, str] = {"locomo": "LoCoMo", "longmemeval": "LongMemEval", "beam": "BEAM"}

_COLUMNS = {
    "R@5": "recall_at_5",
    "R@10": "recall_at_10",
    "any@10": "recall_any_at_10",
    "all@10": "recall_all_at_10",
    "NDCG@10": "ndcg_at_10",
    "MRR": "mrr",
    **{f"{budget:,} tokens": f"evidence_within_{budget}_tokens" for budget in BUDGETS},
    "session R@5": "session_recall_at_5",
    "any@5": "session_recall_any_at_5",
    "Hit@1": "session_hit_at_1",
}
_SHOWN_THRESHOLDS = 5
_END = "<!-- end -->\n"


class Summary(Figures, frozen=True, kw_only=True):
    """The figures of one system: over all cases, and by group of cases.

    Attributes:
        groups: "development" and "others" (`questions.group_of`), those that have questions.
        adversarial: of questions about what somebody else said; None where there are none.
        with_adversarial: over all questions.
    """

    groups: dict[str, Figures]
    adversarial: Scores | None
    with_adversarial: Scores


class Report(Summary, frozen=True, kw_only=True):
    """The figures of bethink, and of the others beside them.

    Attributes:
        ranker, embedder: what ranked, and what both bethink and the others embedded with ("none" without).
        counter: counted the tokens.
        depth: how many were asked for where a figure needs more than 10.
        conversations: bethink's figures by case.
        threshold: by group, what the threshold does; without those that have no unrelated question.
        against: the other systems.
        left_out: others that could not be asked, and why.
        unlabelled: questions of the files without evidence.
        interrupted: whether the run was ended before its end; the figures are then of the cases that were done.
    """

    benchmark: Source
    ranker: str
    embedder: str
    counter: str
    depth: int
    conversations: dict[str, Figures]
    threshold: dict[str, Threshold]
    against: dict[str, Summary]
    left_out: dict[str, str]
    unlabelled: int
    interrupted: bool


def report(
    source: Source,
    results: Results,
    *,
    ranker: Ranker,
    embedder: Fingerprint | None,
    counter: str,
    left_out: Mapping[str, str] | None = None,
    unlabelled: int = 0,
    interrupted: bool = False,
) -> Report:
    """The report on a run that has done one case at least."""
    ours = _summary(source, results.asked[OURS], results.index_seconds[OURS])
    names = list(results.index_seconds[OURS])
    threshold = ranker.lexical_threshold if embedder is None else ranker.threshold
    probed = {
        group: [probe for name in names if group_of(source, name) == group for probe in results.probes.get(name, ())]
        for group in ("development", "others")
    }
    thresholds = {group: measured(probes, threshold, ranker.tail) for group, probes in probed.items()}
    return Report(
        **{name: getattr(ours, name) for name in Summary.__struct_fields__},
        benchmark=source,
        ranker=ranker.fingerprint,
        embedder=_name_of(embedder),
        counter=counter,
        depth=DEPTH,
        conversations={
            name: of for name in names if (of := _figures(results.asked[OURS], results.index_seconds[OURS], {name}))
        },
        threshold={group: found for group, found in thresholds.items() if found is not None},
        against={
            name: _summary(source, asked, results.index_seconds[name]) for name, asked in results.asked.items() if name != OURS
        },
        left_out=dict(left_out or {}),
        unlabelled=unlabelled,
        interrupted=interrupted,
    )


def _summary(source: Source, asked: Sequence[Asked], seconds: Mapping[str, float]) -> Summary:
    adversarial = [each.scores for each in asked if each.category == ADVERSARIAL]
    grouped = {
        group: _figures(asked, seconds, {name for name in seconds if group_of(source, name) == group})
        for group in ("development", "others")
    }
    whole = _figures(asked, seconds, set(seconds))
    if whole is None:
        raise InvalidInput("file", "no question with evidence", "use the data set with its questions")
    return Summary(
        **{name: getattr(whole, name) for name in Figures.__struct_fields__},
        groups={group: found for group, found in grouped.items() if found is not None},
        adversarial=mean_of(adversarial) if adversarial else None,
        with_adversarial=mean_of(each.scores for each in asked),
    )


def _figures(asked: Sequence[Asked], seconds: Mapping[str, float], names: set[str]) -> Figures | None:
    of_names = [each for each in asked if each.case in names and each.category != ADVERSARIAL]
    return figures(of_names, index_seconds=sum(seconds[name] for name in sorted(names))) if of_names else None


# -- as text --------------------------------------------------------------------------------------------------------------


def about(made: Report) -> str:
    """What was run, in a line."""
    return f"{NAMES[made.benchmark]}, {made.questions:,} questions; ranker {made.ranker}, embedder {made.embedder}"


def text(made: Report) -> str:
    """The report as tables for a terminal."""
    parts = [about(made), columns([_head("all"), *_systems(made, None)])]
    parts += [columns([_head(group), *_systems(made, group)]) for group in made.groups if len(made.groups) > 1]
    parts.append(columns([_head("bethink, by category"), *_categories(made)]))
    parts.append(columns([_head("bethink, by conversation"), *(_row(*each) for each in made.conversations.items())]))
    if made.threshold:
        parts.append(columns(_thresholds(made)))
    parts += [f"{name} left out: {why}" for name, why in made.left_out.items()]
    if made.interrupted:
        parts.append("interrupted: these are the cases that were done")
    return "\n\n".join(parts)


def _head(title: str) -> list[str]:
    return [title, "questions", *_COLUMNS, "p50 ms", "p95 ms", "index s"]


def _row(name: str, of: Figures) -> list[str]:
    return [
        name,
        str(of.questions),
        *_shares(of),
        f"{of.query_ms_p50:.1f}",
        f"{of.query_ms_p95:.1f}",
        f"{of.index_seconds:.1f}",
    ]


def _shares(of: Scores) -> list[str]:
    return [_share(getattr(of, name)) for name in _COLUMNS.values()]


def _share(value: float | None) -> str:
    return "-" if value is None else f"{value:.3f}".removeprefix("0")


def _systems(made: Report, group: str | None) -> list[list[str]]:
    """A row for each system; bethink first."""
    rows = []
    for name, summary in {OURS: made, **made.against}.items():
        found = summary if group is None else summary.groups.get(group)
        if found is not None:
            rows.append(_row(name, found))
    return rows


def _categories(made: Report) -> list[list[str]]:
    found = {**made.by_category, **({ADVERSARIAL: made.adversarial} if made.adversarial else {})}
    return [[name, "", *_shares(scores), "", "", ""] for name, scores in found.items()]


def _thresholds(made: Report) -> list[list[str]]:
    """The ranker's own threshold of each group, and the points of its curve about it."""
    rows = [["threshold", "", "unrelated quiet", "related lost", "related silent"]]
    for group, found in made.threshold.items():
        near = [point for point in found.curve if abs(point.threshold - found.own.threshold) <= _SHOWN_THRESHOLDS * 0.02]
        for what, point in (("its own", found.own), *(("", each) for each in near)):
            shares = [_share(point.quiet), _share(point.lost), _share(point.silent)]
            rows.append([group, f"{point.threshold:.2f} {what}".strip(), *shares])
    return rows


# -- in documents ---------------------------------------------------------------------------------------------------------


def markdown(made: Report) -> str:
    """The report as a section of a document: what was run, and its tables."""
    parts = [f"{about(made)}. Tokens by {made.counter}."]
    parts += [
        f"**{group.capitalize()}** ({', '.join(_names_of(made, group))})\n\n{_table(_head(''), _systems(made, group))}"
        for group in made.groups
    ]
    parts.append(_table(_head("bethink, by category"), _categories(made)))
    if made.threshold:
        head, *rows = _thresholds(made)
        parts.append(_table(head, rows))
    parts += [f"{name} was left out: {why}." for name, why in made.left_out.items()]
    return "\n\n".join(parts)


def _names_of(made: Report, group: str) -> list[str]:
    return [name for name in made.conversations if group_of(made.benchmark, name) == group]


def _table(head: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    lines = [head, ["---"] * len(head), *rows]
    return "\n".join("| " + " | ".join(cells) + " |" for cells in lines)


def divided(document: str, source: Source, embedder: Fingerprint | None) -> tuple[str, str]:
    """What is before and after the place of a report in a document: the lines between `<!-- bench locomo NAME -->`, with the
    embedder's name or "none", and the next `<!-- end -->`. Both markers are kept.

    Raises:
        InvalidInput: it has not both, on lines of their own.
    """
    return _divided(document, f"<!-- bench {source} {_name_of(embedder)} -->\n")


def updated(document: str, made: Report) -> str:
    """The document with the report at its place (see `divided`), instead of what was there."""
    before, after = _divided(document, f"<!-- bench {made.benchmark} {made.embedder} -->\n")
    return f"{before}{markdown(made)}\n{after}"


def _divided(document: str, start: str) -> tuple[str, str]:
    before, found, rest = document.partition(start)
    _, end, after = rest.partition(_END)
    if not found or not end:
        raise InvalidInput(
            "document", "no place for the report", f"write {start.strip()} and {_END.strip()} on two lines of it"
        )
    return before + found, end + after


def _name_of(embedder: Fingerprint | None) -> str:
    return embedder.name if embedder else "none"


def drawn(made: Report) -> str:
    """Evidence within budgets, a line for each system, as SVG."""
    lines = [
        Curve(name, tuple((budget, getattr(found, f"evidence_within_{budget}_tokens") or 0.0) for budget in BUDGETS))
        for name, found in {OURS: made, **made.against}.items()
    ]
    return chart(lines, title=f"{NAMES[made.benchmark]}: evidence within a budget", x="tokens", y="share of the evidence")


def update(path: Path, made: Report) -> None:
    """Write the report into the document at `path` (see `updated`)."""
    path.write_text(updated(path.read_text(encoding="utf-8"), made), encoding="utf-8")
