"""What contexts and model calls took: tokens, seconds, money. Values, and their sum.

    each context ─▶ TurnUsage, kept beside its receipt ─┐
                                                        ├─▶ report ─▶ UsageReport of a thread, or of a namespace
    each model call ─▶ ModelCall, kept with its thread ─┘

Numbers alone: no word of anybody is in any of them, and nothing here leaves the machine. What is counted in tokens is the same
whenever the same is done; what is measured in seconds is not, and so is no part of a receipt, which `replay` depends on.

To count the full history would mean to read it. So each turn keeps how much of it has been counted (`Counted`), and the next
adds the messages that came since.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from datetime import datetime

import msgspec

from bethink.models.language import Call, Usage

__all__ = [
    "Counted",
    "Latency",
    "ModelCall",
    "SectionTokens",
    "TurnUsage",
    "UsageReport",
    "percentile",
    "plus",
    "report",
    "together",
]


class Counted(msgspec.Struct, frozen=True, gc=False):
    """The beginning of a thread, as far as its tokens have been counted: all messages up to the seq `through`, how many they
    are, their tokens.

    It holds as long as the thread has that many messages up to there: fewer, and something was forgotten.
    """

    through: int = 0
    messages: int = 0
    tokens: int = 0


class TurnUsage(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """What one context took.

    Attributes:
        context_id: its receipt.
        counter: what counted the tokens.
        sections: tokens by section, in the order shown; "frame" is what holds the memory message together. They add up to
            `tokens`; a section of which nothing is shown is not named.
        memory: tokens of the memory message.
        history: tokens of all messages that the thread had: what the context would have cost without a memory.
        estimated: whether part of `history` is the mean of what was counted, times the messages that were not; see `counted`.
        seconds: by step, "context" the whole. "view.fold" is part of "view", "recall.search" of "recall".
        compactions: how often something was folded for it.
    """

    context_id: str
    thread_id: str
    at: datetime
    budget: int
    counter: str
    sections: dict[str, int]
    memory: int = 0
    history: int = 0
    estimated: bool = False
    counted: Counted = Counted()
    seconds: dict[str, float] = msgspec.field(default_factory=dict)
    compactions: int = 0

    @property
    def tokens(self) -> int:
        """Of the whole context."""
        return sum(self.sections.values())

    @property
    def saved(self) -> int:
        """`history` less what was shown. Below 0 while a talk is so short that what is remembered is longer."""
        return self.history - self.tokens


class ModelCall(msgspec.Struct, frozen=True):
    """One call of a language model for a thread, and when it ended."""

    thread_id: str
    at: datetime
    call: Call


class SectionTokens(msgspec.Struct, frozen=True):
    """Tokens of one section: in the last turn, on average over all turns, in all."""

    last: int
    mean: float
    total: int


class Latency(msgspec.Struct, frozen=True):
    """Seconds of one step, over the turns that took it: at most `p50` in half of them, `p95` in 95 of 100, `most` in all."""

    p50: float
    p95: float
    most: float


class UsageReport(msgspec.Struct, frozen=True, kw_only=True):
    """What the contexts and model calls of a thread or a namespace took together.

    Attributes:
        turns: how many contexts.
        since, until: when the first and the last of them was made; None where there is none.
        tokens: of all of them together.
        sections: by section, in the order shown.
        history: what the full history would have cost at each turn, together.
        estimated: of how many turns the history is partly an estimate.
        seconds: by step; "context" is the whole.
        compactions: how often something was folded.
        model: calls of a language model, their tokens and cost.
    """

    turns: int = 0
    since: datetime | None = None
    until: datetime | None = None
    tokens: int = 0
    sections: dict[str, SectionTokens] = msgspec.field(default_factory=dict)
    history: int = 0
    estimated: int = 0
    seconds: dict[str, Latency] = msgspec.field(default_factory=dict)
    compactions: int = 0
    model: Usage = Usage()

    @property
    def saved(self) -> int:
        """Tokens of the full histories less what was shown."""
        return self.history - self.tokens

    @property
    def saved_share(self) -> float:
        """`saved` as a share of the full histories; 0 where there are none."""
        return self.saved / self.history if self.history else 0.0


# Sections and steps in the order in which a reader meets them; others come after these.
_SECTIONS = (
    *("pinned", "project", "profile", "recalled", "previous session", "earlier sessions", "summary", "frame"),
    *("recent messages", "tools", "reply"),
)
_STEPS = (
    "context",
    "derive",
    "view",
    "view.fold",
    "recall",
    "recall.embed",
    "recall.search",
    "recall.rank",
    "compose",
    "store",
)


def report(turns: Iterable[TurnUsage], calls: Iterable[ModelCall] = ()) -> UsageReport:
    """The sum of turns, in the order in which they were made, and of model calls.

    A mean is over all turns: a section that was not shown counts 0 there.
    """
    made = list(turns)
    if not made:
        return UsageReport(model=together(calls))
    shown = [turn.sections for turn in made]
    seconds: dict[str, list[float]] = {}
    for turn in made:
        for step, taken in turn.seconds.items():
            seconds.setdefault(step, []).append(taken)
    return UsageReport(
        turns=len(made),
        since=min(turn.at for turn in made),
        until=max(turn.at for turn in made),
        tokens=sum(turn.tokens for turn in made),
        sections={name: _section(shown, name) for name in _in_order({name for each in shown for name in each}, _SECTIONS)},
        history=sum(turn.history for turn in made),
        estimated=sum(turn.estimated for turn in made),
        seconds={step: _latency(seconds[step]) for step in _in_order(seconds, _STEPS)},
        compactions=sum(turn.compactions for turn in made),
        model=together(calls),
    )


def together(calls: Iterable[ModelCall]) -> Usage:
    """What some model calls took together. The cost is None until one of them tells."""
    return plus(*[each.call.usage for each in calls])


def plus(*usages: Usage) -> Usage:
    """The sum; the same in whatever order."""
    costs = [usage.cost for usage in usages if usage.cost is not None]
    return Usage(
        calls=sum(usage.calls for usage in usages),
        tokens_in=sum(usage.tokens_in for usage in usages),
        tokens_out=sum(usage.tokens_out for usage in usages),
        cost=math.fsum(costs) if costs else None,
    )


def percentile(values: Sequence[float], share: float) -> float:
    """The least of the values that `share` of them do not exceed (nearest rank): always one of the values."""
    return sorted(values)[max(0, math.ceil(share * len(values)) - 1)]


def _section(shown: Sequence[dict[str, int]], name: str) -> SectionTokens:
    total = sum(sections.get(name, 0) for sections in shown)
    return SectionTokens(last=shown[-1].get(name, 0), mean=total / len(shown), total=total)


def _latency(taken: Sequence[float]) -> Latency:
    return Latency(p50=percentile(taken, 0.5), p95=percentile(taken, 0.95), most=max(taken))


def _in_order(names: Iterable[str], order: Sequence[str]) -> list[str]:
    rank = {name: position for position, name in enumerate(order)}
    return sorted(names, key=lambda name: (rank.get(name, len(order)), name))
