"""How much a context, and the language model, may take: hard limits, and warnings before they are reached. Pure.

    Limits ─┬─ context_tokens, memory_tokens   held: the context is made to fit, and an error where it cannot
            ├─ latency                         looked at before each step of a context
            ├─ model_calls, model_tokens, cost of a thread on one day (UTC): then the model is not asked any more
            └─ per_call, per_thread, per_day: budgets of the same sort

A limit that is passed raises `LimitExceeded`; nothing of the context is stored. For a language model there is always another
way (see `compaction`): it is simply not asked. What comes near a limit is a `LimitWarning` on the context.
"""

from __future__ import annotations

import math
from datetime import datetime, timedelta

import msgspec

from bethink.errors import InvalidInput, LimitExceeded
from bethink.models.language import Usage
from bethink.usage import TurnUsage

__all__ = [
    "NO_LIMITS",
    "Budget",
    "LimitWarning",
    "Limits",
    "budget_limit",
    "budget_within",
    "crossed",
    "day_of",
    "model_limit",
    "near",
]

_WARN_AT = 0.8


class Budget(msgspec.Struct, frozen=True, kw_only=True):
    """How much a language model may be asked, within one of the bounds of `Limits`.

    Attributes:
        max_calls: how often.
        max_tokens: read and written. A call that might pass it is not made: its prompt counts by the memory's own counter, with
            the longest reply that is of use.
        max_cost: in what your model's replies say, US dollars by convention; a call is not made once it is reached, since
            nobody knows what it costs before.
    """

    max_calls: int | None = None
    max_tokens: int | None = None
    max_cost: float | None = None

    def __post_init__(self) -> None:
        for name in self.__struct_fields__:
            most = getattr(self, name)
            if most is not None and not 0 <= most < math.inf:
                raise InvalidInput(f"budget.{name}", f"{most}", "use 0 or more, or None for no limit")


class Limits(msgspec.Struct, frozen=True, kw_only=True):
    """Limits of a memory, a thread or a call. What one leaves out, the wider one says.

    Attributes:
        context_tokens: no context is larger. Without a budget of its own a context takes this as its budget, if
            `settings.window` is larger; a budget above it raises.
        memory_tokens: no memory message is larger; what is pinned must fit in it. Its frame alone takes some 60.
        latency: a context that is not ready by then raises before its next step, and is not stored. What an earlier step stored
            (a fold, insights) stays for the next context.
        model_calls, model_tokens, cost: of the language model, for one thread on one day (UTC). `cost` is in what your model's
            replies say, US dollars by convention.
        per_call: what one call of `refine` may ask of the language model, or one turn of the worker in the background.
        per_thread: what all calls for one thread may take together, on all days.
        per_day: what all calls for one namespace may take on one day (UTC).
        warn_at: the share of a limit from which on there is a warning (0.8).
    """

    context_tokens: int | None = None
    memory_tokens: int | None = None
    latency: timedelta | None = None
    model_calls: int | None = None
    model_tokens: int | None = None
    cost: float | None = None
    per_call: Budget | None = None
    per_thread: Budget | None = None
    per_day: Budget | None = None
    warn_at: float | None = None

    def __post_init__(self) -> None:
        for name in ("context_tokens", "memory_tokens"):
            most = getattr(self, name)
            if most is not None and most < 1:
                raise InvalidInput(f"limits.{name}", f"{most}", "use 1 or more, or None for no limit")
        for name in ("model_calls", "model_tokens", "cost"):
            most = getattr(self, name)
            if most is not None and not 0 <= most < math.inf:
                raise InvalidInput(f"limits.{name}", f"{most}", "use 0 or more, or None for no limit")
        if self.latency is not None and self.latency <= timedelta():
            raise InvalidInput("limits.latency", f"{self.latency}", "use more than 0, or None for no limit")
        if self.warn_at is not None and not 0 < self.warn_at <= 1:
            raise InvalidInput("limits.warn_at", f"{self.warn_at}", "use a share above 0, up to 1")

    def within(self, wider: Limits) -> Limits:
        """These, and where they say nothing the wider ones."""
        return Limits(
            **{name: getattr(wider if getattr(self, name) is None else self, name) for name in self.__struct_fields__}
        )

    @property
    def share(self) -> float:
        """From which on there is a warning."""
        return _WARN_AT if self.warn_at is None else self.warn_at

    @property
    def of_models(self) -> bool:
        """Whether any of them is about the language model."""
        return not self.model_calls is self.model_tokens is self.cost is None

    @property
    def budgets(self) -> dict[str, Budget]:
        """Those of the language model that are given, by the names of their fields."""
        named = {"per_call": self.per_call, "per_thread": self.per_thread, "per_day": self.per_day}
        return {name: budget for name, budget in named.items() if budget is not None}


NO_LIMITS = Limits()
"""Nothing is limited."""


class LimitWarning(msgspec.Struct, frozen=True):
    """Something has come near a limit, or reached it.

    Attributes:
        limit: the field of `Limits`.
        used, most: how much, and the limit, in the same unit; seconds for "latency".
    """

    limit: str
    used: float
    most: float

    @property
    def share(self) -> float:
        return self.used / self.most if self.most else math.inf

    def __str__(self) -> str:
        return f"{self.limit}: {self.used:,g} of {self.most:,g} ({self.share:.0%})"


def budget_within(limits: Limits, budget: int | None, *, window: int) -> int:
    """The budget of a context: the one given, or else the window as far as the limit allows.

    Raises:
        LimitExceeded: the one given is above the limit.
    """
    most = limits.context_tokens
    if budget is None:
        return window if most is None else min(window, most)
    if most is not None and budget > most:
        raise LimitExceeded("context_tokens", most, budget, "tokens", f"give a budget of at most {most:,}")
    return budget


def near(limits: Limits, turn: TurnUsage) -> tuple[LimitWarning, ...]:
    """What of one context came near its limits, each at most once."""
    latency = None if limits.latency is None else limits.latency.total_seconds()
    used = (
        ("context_tokens", turn.tokens, limits.context_tokens),
        ("memory_tokens", turn.memory, limits.memory_tokens),
        ("latency", turn.seconds.get("context", 0.0), latency),
    )
    return tuple(LimitWarning(name, amount, most) for name, amount, most in used if most and amount >= limits.share * most)


def crossed(limits: Limits, before: Usage, after: Usage) -> tuple[LimitWarning, ...]:
    """What came near a limit of the language model by the calls between two sums: each limit is told of once a day."""
    found = []
    for (name, most, was), (_, _, now) in zip(_of_models(limits, before), _of_models(limits, after), strict=True):
        if most is not None and was < limits.share * most <= now:
            found.append(LimitWarning(name, now, most))
    return tuple(found)


def model_limit(limits: Limits, spent: Usage) -> LimitExceeded | None:
    """The limit that forbids to ask the language model once more, after what was spent today; None if none does."""
    for name, most, used in _of_models(limits, spent):
        if most is not None and used >= most:
            unit = {"model_calls": "calls", "model_tokens": "tokens", "cost": "US dollars"}[name]
            return LimitExceeded(name, most, used, unit, "wait for the next day (UTC), or raise the limit")
    return None


def budget_limit(name: str, budget: Budget, spent: Usage, *, tokens: int = 0) -> LimitExceeded | None:
    """The limit of a budget that forbids one more call, after what was spent; None if none does.

    Args:
        name: the field of `Limits` that the budget is.
        tokens: what the call may take at most; 0 where that is not known yet.
    """
    used = spent.tokens_in + spent.tokens_out
    found: tuple[tuple[str, float | None, float, bool, str], ...] = (
        ("max_calls", budget.max_calls, spent.calls, spent.calls >= (budget.max_calls or 0), "calls"),
        ("max_tokens", budget.max_tokens, used + tokens, used + max(1, tokens) > (budget.max_tokens or 0), "tokens"),
        ("max_cost", budget.max_cost, spent.cost or 0.0, (spent.cost or 0.0) >= (budget.max_cost or 0), "US dollars"),
    )
    for limit, most, amount, reached, unit in found:
        if most is not None and reached:
            return LimitExceeded(f"{name}.{limit}", most, amount, unit, _RAISE[name])
    return None


_RAISE = {
    "per_call": "call again, or raise the budget",
    "per_thread": "raise the budget",
    "per_day": "wait for the next day (UTC), or raise the budget",
}


def day_of(now: datetime) -> datetime:
    """When the day of an instant began, in UTC."""
    return now.replace(hour=0, minute=0, second=0, microsecond=0)


def _of_models(limits: Limits, spent: Usage) -> tuple[tuple[str, float | None, float], ...]:
    return (
        ("model_calls", limits.model_calls, spent.calls),
        ("model_tokens", limits.model_tokens, spent.tokens_in + spent.tokens_out),
        ("cost", limits.cost, spent.cost or 0.0),
    )
