"""One object for a whole run. Pure.

The figures are of the questions that have an answer. Questions of LoCoMo's category 5 ask somebody about what the other said:
their evidence is there, and their figures are beside (`adversarial`); figures over all questions are in `with_adversarial`.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from bethink.bench.retrieval.figures import Asked, Figures, Scores, figures, mean_of
from bethink.bench.retrieval.questions import ADVERSARIAL, Source, group_of
from bethink.bench.retrieval.run import DEPTH, OURS, Results
from bethink.bench.retrieval.threshold import Threshold, measured
from bethink.errors import InvalidInput
from bethink.models import Fingerprint
from bethink.retrieval.ranker import Ranker

__all__ = ["Report", "Summary", "name_of", "report"]


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
        embedder=name_of(embedder),
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


def name_of(embedder: Fingerprint | None) -> str:
    """The embedder's name, or "none"."""
    return embedder.name if embedder else "none"
