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

from collections.abc import Generator, Iterator
from contextlib import closing, contextmanager
from dataclasses import dataclass, field
from datetime import datetime
from functools import partial
from inspect import GEN_RUNNING, getgeneratorstate
from typing import TypeAlias

import msgspec

from bethink.compaction.attempts import attempt_of
from bethink.compaction.due import Standing, children_of, standings
from bethink.compaction.model_scores import Judged
from bethink.compaction.model_summary import Outcome, Written, summarise_lines_with_model, summarise_with_model
from bethink.engine import Engine
from bethink.errors import Conflict, InvalidInput, NotFound
from bethink.ids import derived_id
from bethink.limits import Limits
from bethink.models.language import Call, ModelStep, Usage
from bethink.records import Node
from bethink.steps.score import keep, scoring_step
from bethink.steps.summaries import covered
from bethink.steps.usage import Meter
from bethink.storage.base import Attempt, Read, Refine, Scan, Scope
from bethink.threads import ThreadInfo
from bethink.usage import plus
from bethink.values import Namespace

__all__ = ["Answered", "RefineReport", "Refining", "advance", "asked", "check_model", "refine", "refine_async", "refining"]

_OUT_OF_REACH = 3
"""After so many errors and time-outs in a row the model is taken to be out of reach, and the rest is left for later."""


class RefineReport(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """What a call of `refine` did, and what it left.

    Attributes:
        attempts: one for each summary that was asked for, in order; `written` and `failed` are the two sorts of them.
        overtaken: outcomes that were dropped, since their node had been replaced or something of it been forgotten meanwhile.
        due: summaries that are left to be asked for now: `limit` was reached, or the model is out of reach.
        waiting: those that failed lately; the first of them is asked for again at `retry_at`.
        given_up: those that failed too often. They stay extractive until what they summarise changes.
        limited: the limit of the language model that was reached (a field of `Limits`): what is due then waits for another day.
        scored: messages that were given a score (`settings.importance`).
        unscored: those that are left for another time.
        score_failure: why the last scores asked for did not come: `"error"`, `"timeout"` or `"unreadable"`; "" if they did.
        usage: what the calls took, those of outcomes that were dropped included.
        seconds: how long the calls took.
    """

    attempts: tuple[Attempt, ...] = ()
    overtaken: int = 0
    due: int = 0
    waiting: int = 0
    given_up: int = 0
    retry_at: datetime | None = None
    limited: str = ""
    scored: int = 0
    unscored: int = 0
    score_failure: str = ""
    usage: Usage = Usage()
    seconds: float = 0.0

    @property
    def written(self) -> tuple[Attempt, ...]:
        return tuple(attempt for attempt in self.attempts if not attempt.failed)

    @property
    def failed(self) -> tuple[Attempt, ...]:
        """Each says why (`reason`, `detail`) and when it is tried again (`retry_at`)."""
        return tuple(attempt for attempt in self.attempts if attempt.failed)


class Answered(msgspec.Struct, frozen=True):
    """What came of a step, and the calls it took."""

    outcome: Outcome | Judged
    calls: tuple[Call, ...] = ()

    @property
    def seconds(self) -> float:
        return sum(call.seconds for call in self.calls)


_Step: TypeAlias = ModelStep[Outcome] | ModelStep[Judged]
Refining: TypeAlias = Generator[_Step, Answered, RefineReport]


# -- drivers --------------------------------------------------------------------------------------------------------------


def refine(
    engine: Engine,
    namespace: Namespace,
    thread_id: str | None = None,
    *,
    below: bool = False,
    limit: int | None = None,
    limits: Limits | None = None,
) -> RefineReport:
    """Ask the model for every summary that is due, in a thread or in all of a namespace; see `Thread.refine`."""
    work = refining(engine, namespace, thread_id, below=below, limit=limit, limits=limits)
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
) -> RefineReport:
    """`refine` for an event loop: the store is used in worker threads, the model where `Engine.ask_async` asks it."""
    from anyio.to_thread import run_sync

    work = refining(engine, namespace, thread_id, below=below, limit=limit, limits=limits)
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


def advance(work: Refining, answered: Answered | None = None) -> _Step | RefineReport:
    """Go on with the work up to the next step, or to its end."""
    try:
        return next(work) if answered is None else work.send(answered)
    except StopIteration as done:
        report: RefineReport = done.value
        return report


def asked(engine: Engine, step: _Step) -> Answered:
    """What came of a step with the engine's model."""
    calls: list[Call] = []
    outcome = engine.ask(step, observe=calls.append)
    return Answered(outcome, tuple(calls))


# -- the work -------------------------------------------------------------------------------------------------------------


@dataclass
class _Tally:
    """What has been done, and what may be."""

    limit: int | None
    attempts: list[Attempt] = field(default_factory=list)
    overtaken: int = 0
    due: int = 0
    given_up: int = 0
    waits: list[datetime] = field(default_factory=list)
    usage: Usage = field(default_factory=Usage)
    seconds: float = 0.0
    out_of_reach: int = 0
    limited: str = ""
    scored: int = 0
    unscored: int = 0
    score_failure: str = ""
    score_again: datetime | None = None

    @property
    def may_ask(self) -> bool:
        done = len(self.attempts) + self.overtaken
        return self.out_of_reach < _OUT_OF_REACH and (self.limit is None or done < self.limit)

    def add(self, attempt: Attempt, kept: bool) -> None:
        self.usage = plus(self.usage, attempt.usage)
        self.seconds += attempt.seconds
        self.out_of_reach = self.out_of_reach + 1 if attempt.reason in ("error", "timeout") else 0
        if kept:
            self.attempts.append(attempt)
        else:
            self.overtaken += 1

    def drop(self, answered: Answered) -> None:
        """A step that was cut short: nobody knows what the model would have said."""
        self.usage = plus(self.usage, *[call.usage for call in answered.calls])
        self.seconds += answered.seconds
        self.overtaken += 1

    def add_scores(self, judged: Judged, answered: Answered, *, kept: bool, again: datetime) -> None:
        """Count what came of asking for scores, which `limit` has nothing to do with."""
        # Of the calls that were made: a limit may have refused the last one that the step asked for.
        self.usage = plus(self.usage, *[call.usage for call in answered.calls])
        self.seconds += answered.seconds
        self.out_of_reach = self.out_of_reach + 1 if judged.reason in ("error", "timeout") else 0
        self.scored += len(judged.scores) if kept else 0
        if judged.reason:
            self.score_failure, self.score_again = judged.reason, again

    def leave(self, found: tuple[Standing, ...]) -> None:
        """Count what is left of a thread."""
        self.due += sum(each.status == "due" for each in found)
        self.given_up += sum(each.status == "given up" for each in found)
        self.waits += [each.last.retry_at for each in found if each.status == "waiting" and each.last and each.last.retry_at]

    def report(self) -> RefineReport:
        return RefineReport(
            attempts=tuple(self.attempts),
            overtaken=self.overtaken,
            due=self.due,
            waiting=len(self.waits),
            given_up=self.given_up,
            retry_at=min([*self.waits, *filter(None, [self.score_again])], default=None),
            limited=self.limited,
            scored=self.scored,
            unscored=self.unscored,
            score_failure=self.score_failure,
            usage=self.usage,
            seconds=self.seconds,
        )


def refining(
    engine: Engine,
    namespace: Namespace,
    thread_id: str | None = None,
    *,
    below: bool = False,
    limit: int | None = None,
    limits: Limits | None = None,
) -> Refining:
    """The work of `refine`, for a driver. Within `limits`, or those of the memory.

    Raises:
        InvalidInput: there is no model, or the limit is below 1; when the work begins.
    """
    if limit is not None and limit < 1:
        raise InvalidInput("limit", f"{limit}", "use 1 or more, or leave it out for all that is due")
    model = engine.model_name
    tally = _Tally(limit)
    limits = engine.limits if limits is None else limits
    if thread_id is not None:
        yield from _thread(engine, namespace, thread_id, model, tally, limits)
        yield from _scores(engine, namespace, thread_id, model, tally, limits)
        return tally.report()
    for thread in engine.pages(Scan(what="threads", scope=Scope(namespace, below))):
        assert isinstance(thread, ThreadInfo), "a page holds what was asked for"
        # A fork may have nodes of its parent beyond what it has folded itself.
        if thread.folded_through or thread.parent is not None:
            yield from _thread(engine, thread.namespace, thread.thread_id, model, tally, limits)
        yield from _scores(engine, thread.namespace, thread.thread_id, model, tally, limits)
    return tally.report()


def _thread(
    engine: Engine, namespace: Namespace, thread_id: str, model: str, tally: _Tally, limits: Limits
) -> Generator[_Step, Answered, None]:
    # Each at most once in a call, whatever happens to it: one that somebody else keeps changing comes up again and again.
    tried: set[str] = set()
    meter = Meter(engine, namespace, thread_id, limits)
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
        step = _step(engine, namespace, thread_id, due, transcript.nodes, model)
        if step is not None:
            answered = yield meter.within(step)
            meter.keep(answered.calls)
            if meter.refused:
                tally.drop(answered)
                continue
            attempt, kept = _settle(engine, namespace, thread_id, due, answered, model)
            tally.add(attempt, kept)


def _scores(
    engine: Engine, namespace: Namespace, thread_id: str, model: str, tally: _Tally, limits: Limits
) -> Generator[_Step, Answered, None]:
    """Ask once for the scores of a thread's messages, where a model is to give them."""
    if engine.settings.importance != "model":
        return
    messages, step = scoring_step(engine, namespace, thread_id)
    if step is None:
        return
    meter = Meter(engine, namespace, thread_id, limits)
    refusal = meter.refusal
    if refusal is not None or tally.out_of_reach >= _OUT_OF_REACH:
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


def _step(
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
    assert not isinstance(outcome, Judged), "a step is answered with what came of it"
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
