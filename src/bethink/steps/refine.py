"""A language model's summaries in the place of extractive ones, one node after the other.

    tree ─▶ what is due ─▶ step ─▶ the model ─▶ outcome ─▶ store.refine, against the node as it was read
      ▲                                                          │
      └──────────────────────────────────────────────────────────┘

The work is a generator as a model's step is: it yields steps and is sent what came of them. So it is written once, and whoever
drives it decides where the model is asked; the store is only touched while it is advanced. Whatever happens in between, nothing
is half done: a summary takes its node's place together with the attempt that says so, and what was made of something that has
changed since is dropped.
"""

from __future__ import annotations

from collections.abc import Generator, Iterator, Sequence
from contextlib import closing, contextmanager
from functools import partial
from inspect import GEN_RUNNING, getgeneratorstate

import msgspec

from bethink.compaction.attempts import attempt_of
from bethink.compaction.due import Standing, children_of, standings
from bethink.compaction.model_scores import Judged
from bethink.compaction.model_summary import Failed, Outcome, Written, summarise_lines_with_model, summarise_with_model
from bethink.engine import Engine
from bethink.errors import Conflict, InvalidInput, NotFound
from bethink.ids import derived_id
from bethink.insights.model_reflect import reflect_with_model
from bethink.limits import Budget, Limits
from bethink.models.language import Call, ModelStep
from bethink.records import Node
from bethink.settings import ModelStepName, check_choice
from bethink.steps.curate import ASKED_STEPS, curating
from bethink.steps.derive import derive
from bethink.steps.refine_report import OUT_OF_REACH, Answered, RefineReport, Refining, Step, Tally
from bethink.steps.score import keep, scoring_step
from bethink.steps.summaries import covered
from bethink.steps.usage import Meter
from bethink.storage.base import Attempt, Read, Refine, Scan, Scope
from bethink.threads import ThreadInfo
from bethink.values import Namespace

__all__ = [
    "Answered",
    "RefineReport",
    "Refining",
    "advance",
    "asked",
    "check_model",
    "checked_steps",
    "refine",
    "refine_async",
    "refining",
    "summary_step",
]

CURATED = frozenset(ASKED_STEPS)
"""Steps that are about long-term memory."""


# -- drivers --------------------------------------------------------------------------------------------------------------


def refine(
    engine: Engine,
    namespace: Namespace,
    thread_id: str | None = None,
    *,
    below: bool = False,
    limit: int | None = None,
    limits: Limits | None = None,
    steps: Sequence[ModelStepName] | None = None,
    budget: Budget | None = None,
) -> RefineReport:
    """Ask the model for every summary that is due, in a thread or in all of a namespace; see `Thread.refine`."""
    work = refining(engine, namespace, thread_id, below=below, limit=limit, limits=limits, steps=steps, budget=budget)
    with closing(work), engine.telemetry.span("refine", namespace=namespace):
        found = advance(work)
        while not isinstance(found, RefineReport):
            found = advance(work, asked(engine, found))
        return found


async def refine_async(
    engine: Engine,
    namespace: Namespace,
    thread_id: str | None = None,
    *,
    below: bool = False,
    limit: int | None = None,
    limits: Limits | None = None,
    steps: Sequence[ModelStepName] | None = None,
    budget: Budget | None = None,
) -> RefineReport:
    """`refine` for an event loop: the store is used in worker threads, the model where `Engine.ask_async` asks it."""
    from anyio.to_thread import run_sync

    work = refining(engine, namespace, thread_id, below=below, limit=limit, limits=limits, steps=steps, budget=budget)
    with _ended(work), engine.telemetry.span("refine", namespace=namespace):
        found = await run_sync(partial(advance, work))
        while not isinstance(found, RefineReport):
            calls: list[Call] = []
            outcome = await engine.ask_async(found, observe=calls.append)
            found = await run_sync(partial(advance, work, Answered(outcome, tuple(calls))))
        return found


@contextmanager
def _ended(work: Refining) -> Iterator[None]:
    """Close the work, unless a worker thread is at it: where the task that waits for it was cancelled, that comes to the end of
    its step, and nobody asks for the next."""
    try:
        yield
    finally:
        if getgeneratorstate(work) != GEN_RUNNING:
            work.close()


def advance(work: Refining, answered: Answered | None = None) -> Step | RefineReport:
    """Go on with the work up to the next step, or to its end."""
    try:
        return next(work) if answered is None else work.send(answered)
    except StopIteration as done:
        report: RefineReport = done.value
        return report


def asked(engine: Engine, step: Step) -> Answered:
    """What came of a step with the engine's model."""
    calls: list[Call] = []
    outcome = engine.ask(step, observe=calls.append)
    return Answered(outcome, tuple(calls))


# -- the work -------------------------------------------------------------------------------------------------------------


def refining(
    engine: Engine,
    namespace: Namespace,
    thread_id: str | None = None,
    *,
    below: bool = False,
    limit: int | None = None,
    limits: Limits | None = None,
    steps: Sequence[ModelStepName] | None = None,
    budget: Budget | None = None,
) -> Refining:
    """The work of `refine`, for a driver. Within `limits`, or those of the memory, and a budget of its own.

    Raises:
        InvalidInput: there is no model, or the limit is below 1; when the work begins.
    """
    if limit is not None and limit < 1:
        raise InvalidInput("limit", f"{limit}", "use 1 or more, or leave it out for all that is due")
    model = engine.model_name
    tally = Tally(limit, checked_steps(engine, steps))
    limits = engine.limits if limits is None else limits
    if budget is not None:
        limits = msgspec.structs.replace(limits, per_call=budget)
    if thread_id is not None:
        yield from _all_of(engine, namespace, thread_id, model, tally, limits)
        return tally.report()
    for thread in engine.pages(Scan(what="threads", scope=Scope(namespace, below))):
        assert isinstance(thread, ThreadInfo), "a page holds what was asked for"
        yield from _all_of(engine, thread.namespace, thread.thread_id, model, tally, limits, thread)
    return tally.report()


def checked_steps(engine: Engine, steps: Sequence[ModelStepName] | None) -> tuple[ModelStepName, ...]:
    """The steps asked for, or those of the settings.

    Raises:
        InvalidInput: one that there is none of.
    """
    if steps is None:
        return engine.settings.model_steps
    if isinstance(steps, str):
        raise InvalidInput("steps", "a string", 'pass a list, such as ["extract"]')
    for step in steps:
        check_choice(step, "steps", ModelStepName)
    return tuple(steps)


def _all_of(
    engine: Engine,
    namespace: Namespace,
    thread_id: str,
    model: str,
    tally: Tally,
    limits: Limits,
    thread: ThreadInfo | None = None,
) -> Generator[Step, Answered, None]:
    """Every step, for one thread."""
    if "summarise" in tally.steps:
        # A fork may have nodes of its parent beyond what it has folded itself.
        if thread is None or thread.folded_through or thread.parent is not None:
            yield from _thread(engine, namespace, thread_id, model, tally, limits)
        yield from _scores(engine, namespace, thread_id, model, tally, limits)
    if not CURATED.isdisjoint(tally.steps):
        # What rules draw is there first: it is what holds where the model fails.
        derive(engine, namespace)
        meter = Meter(engine, namespace, thread_id, limits, tally.call)
        yield from curating(engine, namespace, thread_id, model, tally, meter)


def _thread(
    engine: Engine, namespace: Namespace, thread_id: str, model: str, tally: Tally, limits: Limits
) -> Generator[Step, Answered, None]:
    # Each at most once in a call, whatever happens to it: one that somebody else keeps changing comes up again and again.
    tried: set[str] = set()
    meter = Meter(engine, namespace, thread_id, limits, tally.call)
    tree = Read(namespace=namespace, thread_id=thread_id, limit=0, tree=True)
    while True:
        try:
            transcript = engine.store.read(tree)
        except NotFound:
            return
        found = standings(transcript.nodes, transcript.attempts, model=model, now=engine.clock.now(), settings=engine.settings)
        due = next((each for each in found if each.status == "due" and each.key not in tried), None)
        refusal = meter.refusal
        if due is not None and refusal is not None:
            tally.limited = refusal.limit
        if due is None or refusal is not None or not tally.may_ask:
            tally.leave(found)
            return
        tried.add(due.key)
        step = summary_step(engine, namespace, thread_id, due, transcript.nodes, model)
        if step is not None:
            answered = yield meter.within(step)
            meter.keep(answered.calls)
            if meter.refused:
                tally.drop(answered)
                continue
            attempt, kept = _settle(engine, namespace, thread_id, due, answered, model)
            tally.add(attempt, kept)


def _scores(
    engine: Engine, namespace: Namespace, thread_id: str, model: str, tally: Tally, limits: Limits
) -> Generator[Step, Answered, None]:
    """Ask once for the scores of a thread's messages, where a model is to give them."""
    if engine.settings.importance != "model":
        return
    messages, step = scoring_step(engine, namespace, thread_id)
    if step is None:
        return
    meter = Meter(engine, namespace, thread_id, limits, tally.call)
    refusal = meter.refusal
    if refusal is not None or tally.out_of_reach >= OUT_OF_REACH:
        tally.limited = tally.limited if refusal is None else refusal.limit
        tally.unscored += len(messages)
        return
    answered = yield meter.within(step)
    meter.keep(answered.calls)
    judged = answered.outcome
    assert isinstance(judged, Judged), "a step is answered with what came of it"
    if meter.refused and meter.refusal is not None:
        # That is no failure of the model's.
        tally.limited, judged = meter.refusal.limit, msgspec.structs.replace(judged, reason="")
    kept = keep(engine, namespace, thread_id, model, judged)
    tally.add_scores(judged, answered, kept=kept, again=engine.clock.now() + engine.settings.model_backoff.first)
    tally.unscored += len(messages) - (len(judged.scores) if kept else 0)


def summary_step(
    engine: Engine, namespace: Namespace, thread_id: str, due: Standing, nodes: tuple[Node, ...], model: str
) -> ModelStep[Outcome] | None:
    """What the model is to be asked for a node: of its messages, or of the lines of the nodes below it. None where something
    of it was forgotten since the tree was read."""
    settings, count = engine.settings, engine.counter.count
    if due.node.level > 1:
        below = children_of(due.node, {node.id: node for node in nodes})
        return summarise_lines_with_model(
            [line for child in below for line in child.lines],
            limit=settings.node_tokens,
            count=count,
            author=model,
            window=settings.model_window,
            language=settings.summary_language,
            instructions=settings.summary_instructions,
        )
    try:
        messages = covered(engine, namespace, thread_id, due.node.covers)
    except NotFound:
        return None
    if len(messages) < sum(last - first + 1 for first, last in due.node.covers):
        return None
    return summarise_with_model(
        messages,
        limit=settings.node_tokens,
        count=count,
        author=model,
        window=settings.model_window,
        language=settings.summary_language,
        instructions=settings.summary_instructions,
    )


def _settle(
    engine: Engine, namespace: Namespace, thread_id: str, due: Standing, answered: Answered, model: str
) -> tuple[Attempt, bool]:
    """Store what came of asking; the attempt, and whether it was kept."""
    now = engine.clock.now()
    outcome, old = answered.outcome, due.node
    assert isinstance(outcome, Written | Failed), "a step is answered with what came of it"
    node: Node | None = None
    if isinstance(outcome, Written) and outcome.author == model:
        newest = max((line.at for line in outcome.lines), default=now)
        node = msgspec.structs.replace(
            old,
            id=derived_id(newest, "node", *namespace, thread_id, old.id, model, due.span),
            lines=outcome.lines,
            author=model,
            created_at=now,
            span=due.span,
        )
    attempt = attempt_of(
        outcome,
        span=due.key,
        node_id=(node or old).id,
        model=model,
        at=now,
        seconds=answered.seconds,
        last=due.last,
        backoff=engine.settings.model_backoff,
    )
    try:
        engine.store.refine(Refine(namespace=namespace, thread_id=thread_id, expected=old, attempt=attempt, node=node))
    except (Conflict, NotFound):
        return attempt, False
    return attempt, True


# -- settings -------------------------------------------------------------------------------------------------------------

_SETTING = {
    "limit": "node_tokens",
    "window": "model_window",
    "language": "summary_language",
    "instructions": "summary_instructions",
}


def check_model(engine: Engine) -> None:
    """See that the settings make sense with a model, before anything is asked.

    Raises:
        InvalidInput: a window too small for the prompt, an unknown language.
    """
    settings = engine.settings
    try:
        summarise_with_model(
            (),
            limit=settings.node_tokens,
            count=engine.counter.count,
            author=engine.model_name,
            window=settings.model_window,
            language=settings.summary_language,
            instructions=settings.summary_instructions,
        ).close()
    except InvalidInput as error:
        raise InvalidInput(f"settings.{_SETTING.get(error.field, error.field)}", error.problem, error.fix) from None
    if "reflect" in settings.model_steps:
        try:
            reflect_with_model((), count=engine.counter.count, author=engine.model_name, settings=settings).close()
        except InvalidInput as error:
            field = "summary_tokens" if error.field == "limit" else _SETTING.get(error.field, error.field)
            raise InvalidInput(f"settings.{field}", error.problem, error.fix) from None
