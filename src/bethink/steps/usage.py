"""What a context took, and what a thread or a namespace has taken.

Counting a thread's whole history would read it. What earlier contexts counted is kept with their usage, and what is new has
been read for the view; so mostly there is nothing to read here but one small row. Where there is (a long import seen through a
window, a recount after a forget), each context counts one page more, and the rest is estimated meanwhile.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterable, Iterator
from contextlib import closing
from dataclasses import dataclass, field
from datetime import datetime
from operator import attrgetter
from typing import TypeVar

from bethink.context import Context
from bethink.engine import Engine
from bethink.errors import LimitExceeded
from bethink.limits import Limits, budget_limit, crossed, day_of, model_limit
from bethink.messages import Message
from bethink.models.language import Answer, Call, ModelError, ModelStep, Prompt, Usage
from bethink.models.measure import Measure
from bethink.records import Receipt
from bethink.steps.view import View
from bethink.storage.base import Put, Read, Scan, Scope
from bethink.usage import Counted, ModelCall, TurnUsage, UsageReport, plus, report, together
from bethink.values import Namespace

__all__ = ["Meter", "Spent", "usage_of", "usage_of_turn"]

T = TypeVar("T")

_PAGE = 2_048
"""Messages that a context counts beyond those it has read anyway, each once: some 40 ms for so many."""
_LAST = 3
"""Turns looked at for one that was counted by the same counter: a thread may be shown to several models in turn."""


def usage_of_turn(engine: Engine, view: View, context: Context, receipt: Receipt) -> TurnUsage:
    """What a context took, but for its seconds."""
    history = _History(engine, view, context.measure)
    return TurnUsage(
        context_id=receipt.id,
        thread_id=receipt.thread_id,
        at=receipt.created_at,
        budget=receipt.budget,
        counter=receipt.counter,
        sections={str(name): tokens for name, tokens in context.sections.items() if tokens},
        memory=context.made_of.memory,
        history=history.tokens,
        estimated=history.estimated,
        counted=history.counted,
        compactions=view.folds,
    )


_seq = attrgetter("seq")


class _History:
    """Tokens of all messages of a thread, as a view has read it.

    1 ... counted.through | a page more | not counted | past ... tip
          by earlier turns   read here    estimated     read for the view
    """

    def __init__(self, engine: Engine, view: View, measure: Measure) -> None:
        self._engine = engine
        self._measure = measure
        thread = view.thread
        # A thread that was forgotten and begun anew is another.
        self._key = (thread.namespace, thread.thread_id, thread.created_at, measure.name)
        before = self._known(view)
        # Most often `past` lies before `through`: what is new is at hand.
        newer = _newer(view, max(before.through, view.past))
        if before.through < view.past and before.messages + len(newer) < thread.count:
            page = Read(
                namespace=thread.namespace,
                thread_id=thread.thread_id,
                after=before.through,
                before=min(before.through + _PAGE, view.past) + 1,
            )
            before = self._with(before, engine.store.read(page).messages, min(before.through + _PAGE, view.past))
        whole = self._with(before, newer, thread.tip)
        missing = thread.count - whole.messages
        # Forgotten between two reads: then there are fewer than were counted, and nothing is missing.
        self.estimated = missing > 0
        self.tokens = whole.tokens + (round(missing * whole.tokens / max(1, whole.messages)) if self.estimated else 0)
        self.counted = before if self.estimated else whole
        engine.counted.keep(self._key, self.counted)

    def _known(self, view: View) -> Counted:
        """What the last turn had counted, in this process or another, if that is still so."""
        thread = view.thread
        here = self._engine.counted.get(self._key)
        if here is not None and _holds(here, view):
            return here
        scan = Scan(what="usage", scope=Scope(thread.namespace), thread_id=thread.thread_id, newest=True, limit=_LAST)
        for last in self._engine.store.scan(scan).items:
            assert isinstance(last, TurnUsage), "a page holds what was asked for"
            if last.counter == self._measure.name and _holds(last.counted, view):
                return last.counted
        return Counted()

    def _with(self, before: Counted, messages: tuple[Message, ...], through: int) -> Counted:
        tokens = before.tokens + self._measure.messages(messages)
        return Counted(max(through, before.through), before.messages + len(messages), tokens)


def _holds(known: Counted, view: View) -> bool:
    """Whether the thread still has the messages that were counted, as far as the view can tell."""
    if known.through > view.thread.tip:
        return False
    return known.through < view.past or known.messages + len(_newer(view, known.through)) == view.thread.count


def _newer(view: View, seq: int) -> tuple[Message, ...]:
    """The messages that a view has read past a seq."""
    return view.seen[bisect_right(view.seen, seq, key=_seq) :]


def usage_of(engine: Engine, scope: Scope, thread_id: str | None = None) -> UsageReport:
    """What the contexts and model calls of a scope, or of one thread in it, took together. Reads a small row for each."""
    return report(_turns(engine, scope, thread_id), _calls(engine, scope, thread_id))


def _turns(engine: Engine, scope: Scope, thread_id: str | None) -> Iterator[TurnUsage]:
    for item in engine.pages(Scan(what="usage", scope=scope, thread_id=thread_id)):
        assert isinstance(item, TurnUsage), "a page holds what was asked for"
        yield item


def _calls(engine: Engine, scope: Scope, thread_id: str | None, since: datetime | None = None) -> Iterator[ModelCall]:
    """Calls, newest first; none that ended before `since`."""
    for item in engine.pages(Scan(what="model calls", scope=scope, thread_id=thread_id, newest=True)):
        assert isinstance(item, ModelCall), "a page holds what was asked for"
        if since is not None and item.at < since:
            return
        yield item


@dataclass
class Spent:
    """What one call of `refine` has taken, over all of its threads."""

    usage: Usage = field(default_factory=Usage)


class Meter:
    """What a language model is asked for one thread: says when a limit forbids the next call, and keeps the calls.

        meter = Meter(engine, namespace, thread_id, limits)
        if meter.refusal is None:
            answered = yield meter.within(step)
            meter.keep(answered.calls)

    What others spend meanwhile, in this process or another, the next meter sees.
    """

    def __init__(self, engine: Engine, namespace: Namespace, thread_id: str, limits: Limits, call: Spent | None = None) -> None:
        self._engine = engine
        self._namespace = namespace
        self._thread_id = thread_id
        self._limits = limits
        self._budgets = limits.budgets
        self._spent = Usage()
        self._call = call or Spent()
        # What was spent before this meter, by the budget that it counts for.
        self._before = {"per_call": Usage(), "per_thread": Usage(), "per_day": Usage()}
        self._since = Usage()
        self._refusal: LimitExceeded | None = None
        self.refused = False
        """Whether a step was refused a call."""
        today = day_of(engine.clock.now())
        if limits.of_models:
            self._spent = together(_calls(engine, Scope(namespace), thread_id, since=today))
        if "per_thread" in self._budgets:
            self._before["per_thread"] = together(_calls(engine, Scope(namespace), thread_id))
        if "per_day" in self._budgets:
            self._before["per_day"] = together(_calls(engine, Scope(namespace), None, since=today))

    @property
    def refusal(self) -> LimitExceeded | None:
        """Why the model may not be asked again, today or in this call; None while it may."""
        return self._refusal or self._forbids(0)

    def _forbids(self, tokens: int) -> LimitExceeded | None:
        """The limit that forbids a call of so many tokens at most."""
        reached = model_limit(self._limits, self._spent)
        for name, budget in self._budgets.items():
            spent = self._call.usage if name == "per_call" else plus(self._before[name], self._since)
            reached = reached or budget_limit(name, budget, spent, tokens=tokens)
        return reached

    def _most(self, prompt: Prompt) -> int:
        """Tokens that a call may take, where a budget asks for it."""
        if all(budget.max_tokens is None for budget in self._budgets.values()):
            return 0
        return self._engine.counter.count(prompt.text) + prompt.max_tokens

    def within(self, step: ModelStep[T]) -> ModelStep[T]:
        """The step, whose questions are answered with a `ModelError` once a limit is reached: the model does not hear them."""
        with closing(step):
            answer: Answer | None = None
            while True:
                try:
                    prompt = next(step) if answer is None else step.send(answer)
                except StopIteration as done:
                    found: T = done.value
                    return found
                if (refusal := self._forbids(self._most(prompt))) is not None:
                    self.refused, self._refusal = True, refusal
                    answer = ModelError("error", f"limits.{refusal.limit} reached")
                    continue
                answer = yield prompt
                before, self._spent = self._spent, self._spent.plus(answer)
                self._since = self._since.plus(answer)
                self._call.usage = self._call.usage.plus(answer)
                for warning in crossed(self._limits, before, self._spent):
                    self._engine.telemetry.tell("warning", self._thread_id, warning)

    def keep(self, calls: Iterable[Call]) -> None:
        """Store calls that were made, and tell of them."""
        now = self._engine.clock.now()
        made = tuple([ModelCall(self._thread_id, now, call) for call in calls])
        if made:
            self._engine.store.put(Put(namespace=self._namespace, calls=made, relaxed=True))
        for call in made:
            self._engine.telemetry.tell("model_call", call)
