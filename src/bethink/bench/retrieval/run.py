"""Asking: every system is given every conversation, and asked every question of it.

For each case, one system after the other takes the conversation in and is asked; so all meet the same machine within minutes.
Each question is asked twice: for 10, on the clock, with the query embedded anew, and for `DEPTH`, which figures of sessions and
budgets need. bethink is also asked for what fits into each budget; with its threshold on; and what other conversations would
ask (`threshold`).
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from contextlib import closing, nullcontext
from time import perf_counter, process_time

import msgspec

from bethink.bench.retrieval.figures import BUDGETS, Asked, Talk, judge
from bethink.bench.retrieval.questions import ADVERSARIAL, Case, Question, Session, unrelated
from bethink.bench.retrieval.systems import Bethink, Found, System
from bethink.bench.retrieval.threshold import Probe
from bethink.bench.retrieval.vectors import Vectors
from bethink.models import TokenCounter

__all__ = ["DEPTH", "OURS", "Results", "run"]

OURS = "bethink"
DEPTH = 200
_K = 10


class Results(msgspec.Struct, kw_only=True):
    """What came of a run so far. A case is in it whole, or not at all.

    Attributes:
        asked: by system.
        index_seconds: by system and case.
        probes: of bethink's threshold, by case.
    """

    asked: dict[str, list[Asked]] = msgspec.field(default_factory=dict)
    index_seconds: dict[str, dict[str, float]] = msgspec.field(default_factory=dict)
    probes: dict[str, list[Probe]] = msgspec.field(default_factory=dict)


def run(
    cases: Sequence[Case],
    systems: Mapping[str, Callable[[], System]],
    results: Results,
    *,
    vectors: Vectors | None,
    counter: TokenCounter,
    limit: int | None = None,
    progress: Callable[[str], None] = lambda _: None,
) -> None:
    """Ask all systems the questions of all cases, into `results`, case by case.

    Args:
        systems: makes each by its name.
        vectors: what the systems embed with; its cache spares indexing, never the query that is timed.
        counter: counts the tokens of lines.
        limit: at most so many questions of a case, spread over all of them, and as many unrelated ones.
        progress: called with a line about each case and system before it is done.
    """
    if vectors is not None:
        with vectors.fresh():
            vectors.embed(["A model is loaded before the first question, not by it."])
    for case in cases:
        if not case.questions:
            continue
        sessions = case.read()
        talk = Talk.of(sessions)
        questions = _spread(case.questions, limit)
        of_case = Results()
        for name, make in systems.items():
            progress(f"{case.name}: {len(talk.messages)} messages, {len(questions)} questions, {name}")
            with closing(make()) as system:
                seconds = _index(system, sessions, vectors)
                of_case.index_seconds[name] = {case.name: seconds}
                of_case.asked[name] = [_ask(system, question, talk, case.name, vectors, counter) for question in questions]
                if name == OURS and isinstance(system, Bethink):
                    related = [each for each in questions if each.turns and each.category != ADVERSARIAL]
                    strange = _spread(tuple(unrelated(case, cases)), limit)
                    of_case.probes[case.name] = [_probe(system, question, talk) for question in (*related, *strange)]
        _add(results, of_case)


def _add(results: Results, more: Results) -> None:
    for name, asked in more.asked.items():
        results.asked.setdefault(name, []).extend(asked)
        results.index_seconds.setdefault(name, {}).update(more.index_seconds[name])
    results.probes.update(more.probes)


def _spread(questions: Sequence[Question], limit: int | None) -> Sequence[Question]:
    """At most `limit` of them, evenly: files have their categories one after the other."""
    if limit is None or len(questions) <= limit:
        return questions
    return [questions[index * len(questions) // limit] for index in range(limit)]


def _index(system: System, sessions: tuple[Session, ...], vectors: Vectors | None) -> float:
    spared = vectors.spared if vectors else 0.0
    started = perf_counter()
    system.index(sessions)
    taken = perf_counter() - started
    return taken + (vectors.spared - spared if vectors else 0.0)


def _ask(system: System, question: Question, talk: Talk, case: str, vectors: Vectors | None, counter: TokenCounter) -> Asked:
    with vectors.fresh() if vectors else nullcontext():
        started, cpu = perf_counter(), process_time()
        best = system.ask(question, _K)
        seconds, cpu = perf_counter() - started, process_time() - cpu
    deep = system.ask(question, DEPTH)
    packed = {budget: system.packed(question, budget) for budget in BUDGETS} if isinstance(system, Bethink) else None
    scores = judge(question, talk, best, deep, counter, packed)
    return Asked(case=case, category=question.category, scores=scores, seconds=seconds, cpu=cpu)


def _probe(system: Bethink, question: Question, talk: Talk) -> Probe:
    ranked = system.ask(question, _K)
    kept, part = system.answer(question, _K)
    return Probe(
        evidence=len(question.turns),
        scores=tuple(each.score / part for each in ranked),
        found=_evidence(ranked, question, talk),
        hits=len(kept),
        kept=sum(_evidence(kept, question, talk)),
    )


def _evidence(found: Sequence[Found], question: Question, talk: Talk) -> tuple[bool, ...]:
    """Of each place, whether it is evidence that no place before it was."""
    names = [talk.turns[each.index] for each in found]
    return tuple(name in question.turns and name not in names[:place] for place, name in enumerate(names))
