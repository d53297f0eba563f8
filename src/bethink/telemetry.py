"""Who listens to what is done, and how long each step takes: the seam between the steps and any telemetry.

    with engine.telemetry.span("recall"):        # a verb, or a step of one
        ...
    with engine.telemetry.turn(...) as turn:     # a context: measured whether anybody listens or not
        ...

A span is opened where something is done, and tells its name, its facts and its seconds to the `Listener` of the memory. Where
there is none, and no turn either, a span is one shared object that does nothing. Facts are ids and numbers, never what anybody
said. Spans lie within each other as the calls do, in threads and in tasks: which turn one belongs to is a context variable.
Time is a monotonic clock's.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from contextvars import ContextVar, Token
from datetime import timedelta
from types import TracebackType
from typing import Any

from typing_extensions import Self

from bethink.errors import LimitExceeded
from bethink.limits import LimitWarning
from bethink.usage import ModelCall, TurnUsage

__all__ = ["Listener", "Span", "Telemetry", "Turn"]


class Listener:
    """Is told what a memory does, on the thread or task that does it and while it does it. Override what you want to hear.

    Whatever a listener raises is logged (logger "bethink", its type alone) and goes no further: no turn is lost to it.
    """

    def begin(self, name: str, facts: Mapping[str, Any]) -> Any:
        """A verb ("context", "append", "recall", ...) or a step of one ("recall.search") begins. A verb has its namespace among
        its facts, a step has not. What this returns is given to the `end` of the same span."""

    def end(self, begun: Any, name: str, seconds: float, facts: Mapping[str, Any], error: type[BaseException] | None) -> None:
        """It has ended; `error` is what ended it early. `facts` are those of the beginning and what was found out since."""

    def turn(self, usage: TurnUsage) -> None:
        """A context was made; its span is still open."""

    def model_call(self, call: ModelCall) -> None:
        """A language model was asked for a thread, and has answered or failed."""

    def warning(self, thread_id: str, warning: LimitWarning) -> None:
        """Something came near a limit."""

    def without(self, thread_id: str, problem: str) -> None:
        """A context was made without something that failed: `problem` says what, and what to do about it."""


class Telemetry:
    """Opens spans and turns, and tells the listener. May be used from many threads and tasks.

    Args:
        listener: is told; None listens to nothing.
        clock: seconds on a monotonic clock.
    """

    def __init__(self, listener: Listener | None = None, *, clock: Callable[[], float] = time.perf_counter) -> None:
        self.listener = listener
        self.clock = clock

    def span(self, name: str, **facts: Any) -> Span | _Nothing:
        """For `with`: a verb or step of this name, with what is known of it already."""
        turn = _turn.get()
        if turn is not None and turn.telemetry is not self:
            turn = None
        if turn is None and self.listener is None:
            return _NOTHING
        return Span(self, name, facts, turn)

    def turn(self, *, most: timedelta | None = None, **facts: Any) -> Turn:
        """For `with`: a context. `most` is how long it may take."""
        return Turn(self, facts, most)

    def go_without(self, problem: str) -> None:
        """Note for the turn that is being made, if one is, what failed and was done without. It is logged too."""
        import logging

        logging.getLogger("bethink").warning("%s", problem)
        turn = _turn.get()
        if turn is not None and turn.telemetry is self:
            turn.without.append(problem)

    def tell(self, what: str, *given: Any) -> Any:
        """Call a method of the listener, if there is one; what it raises is logged."""
        if self.listener is None:
            return None
        try:
            return getattr(self.listener, what)(*given)
        except Exception as error:
            # A listener is a guest: what it cannot do must not undo what it listens to.
            import logging

            logging.getLogger("bethink").warning("%s of a listener raised %s", what, type(error).__name__)
            return None


class _Nothing:
    """A span that nobody hears of."""

    __slots__ = ()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: object, error: object, traceback: object) -> None:
        return None

    def add(self, **facts: Any) -> None:
        """Nobody wants to know."""


_NOTHING = _Nothing()


class Span:
    """Something that is being done."""

    __slots__ = ("_begun", "_started", "_turn", "facts", "name", "telemetry")

    def __init__(self, telemetry: Telemetry, name: str, facts: dict[str, Any], turn: Turn | None) -> None:
        self.telemetry = telemetry
        self.name = name
        self.facts = facts
        self._turn = turn
        self._begun: Any = None
        self._started = 0.0

    def __enter__(self) -> Self:
        if self._turn is not None:
            self._turn.check_time()
        if self.telemetry.listener is not None:
            self._begun = self.telemetry.tell("begin", self.name, self.facts)
        self._started = self.telemetry.clock()
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None) -> None:
        seconds = self.elapsed
        if self._turn is not None:
            self._turn.seconds[self.name] = self._turn.seconds.get(self.name, 0.0) + seconds
        if self.telemetry.listener is not None:
            self.telemetry.tell("end", self._begun, self.name, seconds, self.facts, kind)

    def add(self, **facts: Any) -> None:
        """Facts that have been found out since it began."""
        self.facts.update(facts)

    @property
    def elapsed(self) -> float:
        """Seconds since it began."""
        return self.telemetry.clock() - self._started


class Turn(Span):
    """A context that is being made: the span of all its steps.

    Attributes:
        seconds: by step, of those that have ended.
        without: what failed and was done without.
    """

    __slots__ = ("_most", "_token", "seconds", "without")

    def __init__(self, telemetry: Telemetry, facts: dict[str, Any], most: timedelta | None) -> None:
        super().__init__(telemetry, "context", facts, None)
        self._most = None if most is None else most.total_seconds()
        self._token: Token[Turn | None] | None = None
        self.seconds: dict[str, float] = {}
        self.without: list[str] = []

    def __enter__(self) -> Self:
        super().__enter__()
        self._token = _turn.set(self)
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None) -> None:
        assert self._token is not None, "a turn is left once, after it was entered"
        _turn.reset(self._token)
        super().__exit__(kind, error, traceback)

    def check_time(self) -> None:
        """LimitExceeded if it has taken longer than it may."""
        if self._most is not None and self.elapsed > self._most:
            raise LimitExceeded("latency", self._most, self.elapsed, "seconds", "allow more time, or ask for less")

    def measured(self) -> dict[str, float]:
        """Seconds by step so far, "context" the whole; to the microsecond."""
        return {step: round(taken, 6) for step, taken in {"context": self.elapsed, **self.seconds}.items()}


_turn: ContextVar[Turn | None] = ContextVar("bethink_turn", default=None)
"""The context that is being made, if one is."""
