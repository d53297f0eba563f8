"""What a call of `refine` has done and may do: its report, and the count of it while it goes on."""

from __future__ import annotations

from collections.abc import Generator
from dataclasses import dataclass, field
from datetime import datetime
from typing import TypeAlias

import msgspec

from bethink.compaction.due import Standing
from bethink.compaction.model_scores import Judged
from bethink.compaction.model_summary import Outcome
from bethink.insights.asked import Progress
from bethink.insights.model_extract import Extracted
from bethink.insights.model_importance import Weighed
from bethink.insights.model_reconcile import Decided
from bethink.models.language import Call, ModelStep, Usage
from bethink.settings import ModelStepName
from bethink.steps.usage import Spent
from bethink.storage.base import Asked, Attempt
from bethink.usage import plus

__all__ = ["OUT_OF_REACH", "Answered", "Found", "RefineReport", "Refining", "Step", "Tally"]

OUT_OF_REACH = 3
"""After so many errors and time-outs in a row the model is taken to be out of reach, and the rest is left for later."""

Found: TypeAlias = Outcome | Judged | Extracted | Decided | Weighed
"""What a step ends in."""


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
        asked: what came of the other steps (`settings.model_steps`), in order, those that failed too. What of these waits, is
            given up or is left counts with the summaries.
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
    asked: tuple[Asked, ...] = ()
    usage: Usage = Usage()
    seconds: float = 0.0

    @property
    def written(self) -> tuple[Attempt, ...]:
        return tuple(attempt for attempt in self.attempts if not attempt.failed)

    @property
    def failed(self) -> tuple[Attempt | Asked, ...]:
        """Each says why (`reason`, `detail`) and when it is tried again (`retry_at`)."""
        done: list[Attempt | Asked] = [*self.attempts, *self.asked]
        return tuple([each for each in done if each.failed])


class Answered(msgspec.Struct, frozen=True):
    """What came of a step, and the calls it took."""

    outcome: Found
    calls: tuple[Call, ...] = ()

    @property
    def seconds(self) -> float:
        return sum(call.seconds for call in self.calls)


Step: TypeAlias = ModelStep[Found]
Refining: TypeAlias = Generator[Step, Answered, RefineReport]


@dataclass
class Tally:
    """What has been done, and what may be."""

    limit: int | None
    steps: tuple[ModelStepName, ...] = ("summarise",)
    call: Spent = field(default_factory=Spent)
    asked: list[Asked] = field(default_factory=list)
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
        done = len(self.attempts) + len(self.asked) + self.overtaken
        return self.out_of_reach < OUT_OF_REACH and (self.limit is None or done < self.limit)

    def add(self, attempt: Attempt, kept: bool) -> None:
        self.usage = plus(self.usage, attempt.usage)
        self.seconds += attempt.seconds
        self.out_of_reach = self.out_of_reach + 1 if attempt.reason in ("error", "timeout") else 0
        if kept:
            self.attempts.append(attempt)
        else:
            self.overtaken += 1

    def add_asked(self, asked: Asked, kept: bool) -> None:
        """Count what came of a step of long-term memory."""
        self.usage = plus(self.usage, asked.usage)
        self.seconds += asked.seconds
        self.out_of_reach = self.out_of_reach + 1 if asked.reason in ("error", "timeout") else 0
        if kept:
            self.asked.append(asked)
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

    def leave_asked(self, progress: Progress, *, left: bool) -> None:
        """Count what is left of a step in a thread; `left` where there is something that was not asked for."""
        self.due += left
        self.given_up += len(progress.given_up)
        self.waits += [each.retry_at for each in progress.waiting if each.retry_at]

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
            asked=tuple(self.asked),
            usage=self.usage,
            seconds=self.seconds,
        )
