"""What `refine` would ask a language model now: a dry run.

    standings, messages without a score, jobs ─▶ their steps, driven without a model ─▶ prompts, counted ─▶ RefinePlan

The steps are those that `refine` would drive, and settle their prompts from what they are given. No model is asked, and nothing
is stored but what rules draw, which any reading of the profile would store too.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import msgspec

from bethink.compaction.due import standings
from bethink.engine import Engine
from bethink.errors import NotFound
from bethink.limits import Limits
from bethink.models.driving import planned
from bethink.models.language import Prompt
from bethink.settings import ModelStepName
from bethink.steps.curate import ASKED_STEPS, jobs_of
from bethink.steps.derive import derive
from bethink.steps.refine import checked_steps, summary_step
from bethink.steps.score import scoring_step
from bethink.steps.usage import Meter
from bethink.storage.base import Asked, Read, Scan, Scope
from bethink.threads import ThreadInfo
from bethink.values import Namespace

__all__ = ["PlannedCall", "RefinePlan", "plan"]


class PlannedCall(msgspec.Struct, frozen=True, kw_only=True):
    """One thing that a model would be asked for.

    Attributes:
        step: which of the steps; `"scores"` for how much messages matter (`settings.importance`).
        first, through: seqs of the messages that it is about.
        calls: how many calls it takes: several where the messages do not fit the model's window.
        tokens_in: of the prompts, by the memory's own counter.
        tokens_out: of the longest replies that are of use.
    """

    step: str
    namespace: Namespace
    thread_id: str
    first: int
    through: int
    calls: int
    tokens_in: int
    tokens_out: int

    @property
    def tokens(self) -> int:
        """Of all calls, at most."""
        return self.tokens_in + self.tokens_out


class RefinePlan(msgspec.Struct, frozen=True, kw_only=True):
    """What would be asked, thread after thread, in the order in which `refine` goes.

    Attributes:
        planned: one for each thing asked for.
        waiting: how many failed lately, and are not asked for yet.
        given_up: how many failed too often; see `RefineReport`.
        failed: of these, what came of steps other than summaries, each with its reason; `Thread.summaries` tells of those.
        limited: the limit of the language model that is reached already; "" for none. Then nothing would be asked.
    """

    planned: tuple[PlannedCall, ...] = ()
    waiting: int = 0
    given_up: int = 0
    failed: tuple[Asked, ...] = ()
    limited: str = ""

    @property
    def calls(self) -> int:
        return sum(each.calls for each in self.planned)

    @property
    def tokens(self) -> int:
        """Of all calls together, at most: prompts and replies."""
        return sum(each.tokens for each in self.planned)


class _Planned(msgspec.Struct):
    """What has been found so far."""

    planned: list[PlannedCall]
    waiting: int = 0
    given_up: int = 0
    failed: list[Asked] = msgspec.field(default_factory=list)
    limited: str = ""


def plan(
    engine: Engine,
    namespace: Namespace,
    thread_id: str | None = None,
    *,
    below: bool = False,
    limits: Limits | None = None,
    steps: Sequence[ModelStepName] | None = None,
) -> RefinePlan:
    """What `refine` would ask for, in a thread or in all of a namespace; see `Thread.plan`.

    Raises:
        InvalidInput: there is no model; an unknown step.
    """
    model, wanted = engine.model_name, checked_steps(engine, steps)
    limits = engine.limits if limits is None else limits
    found = _Planned([])
    scan = Scan(what="threads", scope=Scope(namespace, below), thread_id=thread_id)
    for thread in engine.pages(scan):
        assert isinstance(thread, ThreadInfo), "a page holds what was asked for"
        try:
            _of_thread(engine, thread, model, wanted, found)
        except NotFound:
            continue
        refusal = Meter(engine, thread.namespace, thread.thread_id, limits).refusal
        found.limited = found.limited or ("" if refusal is None else refusal.limit)
    return RefinePlan(
        planned=tuple(found.planned),
        waiting=found.waiting,
        given_up=found.given_up,
        failed=tuple(found.failed),
        limited=found.limited,
    )


def _of_thread(engine: Engine, thread: ThreadInfo, model: str, steps: Sequence[ModelStepName], found: _Planned) -> None:
    namespace, thread_id = thread.namespace, thread.thread_id

    def add(step: str, first: int, through: int, prompts: Sequence[Prompt]) -> None:
        if prompts:
            found.planned.append(
                PlannedCall(
                    step=step,
                    namespace=namespace,
                    thread_id=thread_id,
                    first=first,
                    through=through,
                    calls=len(prompts),
                    tokens_in=sum(engine.counter.count(prompt.text) for prompt in prompts),
                    tokens_out=sum(prompt.max_tokens for prompt in prompts),
                )
            )

    if "summarise" in steps:
        for first, through, prompts in _summaries(engine, thread, model, found):
            add("summarise", first, through, prompts)
        if engine.settings.importance == "model":
            messages, scoring = scoring_step(engine, namespace, thread_id)
            if scoring is not None:
                add("scores", messages[0].seq, messages[-1].seq, planned(scoring))
    if not set(ASKED_STEPS).isdisjoint(steps):
        derive(engine, namespace)
    for step in ASKED_STEPS:
        if step in steps:
            progress, jobs = jobs_of(engine, namespace, thread_id, step, model, steps)
            found.waiting += len(progress.waiting)
            found.given_up += len(progress.given_up)
            found.failed += (*progress.waiting, *progress.given_up)
            for job in jobs:
                add(step, job.first, job.through, planned(job.work))


def _summaries(engine: Engine, thread: ThreadInfo, model: str, found: _Planned) -> Iterator[tuple[int, int, list[Prompt]]]:
    tree = engine.store.read(Read(namespace=thread.namespace, thread_id=thread.thread_id, limit=0, tree=True))
    for each in standings(tree.nodes, tree.attempts, model=model, now=engine.clock.now(), settings=engine.settings):
        found.waiting += each.status == "waiting"
        found.given_up += each.status == "given up"
        if each.status == "due":
            step = summary_step(engine, thread.namespace, thread.thread_id, each, tree.nodes, model)
            yield each.node.first_seq, each.node.last_seq, [] if step is None else planned(step)
