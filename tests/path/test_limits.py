"""Limits: what they hold, what they refuse before anything is written, what they warn of, when a model is no longer asked."""

from __future__ import annotations

import asyncio
import logging
import pickle
from collections.abc import Iterator
from datetime import timedelta
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bethink import (
    AsyncMemory,
    BudgetError,
    InvalidInput,
    LimitExceeded,
    Limits,
    LimitWarning,
    Listener,
    Memory,
    ModelCall,
    Reply,
    Settings,
    Thread,
    TurnUsage,
)
from bethink.limits import budget_within, crossed, model_limit, near
from bethink.models.language import Prompt, Usage
from bethink.storage.base import Scan, Scope, What
from bethink.telemetry import Telemetry
from bethink.testing.doubles import START, FrozenClock


class Heard(Listener):
    """Remembers what it is told."""

    def __init__(self) -> None:
        self.turns: list[TurnUsage] = []
        self.warnings: list[tuple[str, LimitWarning]] = []
        self.calls: list[ModelCall] = []

    def turn(self, usage: TurnUsage) -> None:
        self.turns.append(usage)

    def warning(self, thread_id: str, warning: LimitWarning) -> None:
        self.warnings.append((thread_id, warning))

    def model_call(self, call: ModelCall) -> None:
        self.calls.append(call)


class Priced:
    """A model whose summaries quote what they sum up, at a price."""

    name = "priced-1"

    def __init__(self, cost: float = 0.01) -> None:
        self.asked = 0
        self._cost = cost

    def complete(self, prompt: Prompt) -> Reply:
        self.asked += 1
        return Reply("The user walked along the river and met Nora.", tokens_in=100, tokens_out=10, cost=self._cost)


def talk(thread: Thread, turns: int) -> None:
    for number in range(turns):
        said = f"On day {number} I walked {number + 3} km along the river and met Nora, who paints boats."
        thread.add("user", said, id=f"q{number}")
        thread.add("assistant", f"That is a good walk for day {number}.", id=f"a{number}")


def everything(memory: Memory) -> list[object]:
    """All that is stored."""
    whats: tuple[What, ...] = ("threads", "messages", "records", "receipts", "usage", "model calls")
    return [list(memory._engine.pages(Scan(what=what, scope=Scope((), subtree=True)))) for what in whats]


@pytest.fixture(params=["memory", "sqlite"])
def path(request: pytest.FixtureRequest, tmp_path: Path) -> str:
    return ":memory:" if request.param == "memory" else str(tmp_path / "agent.db")


@pytest.fixture
def clock() -> FrozenClock:
    return FrozenClock(START)


@pytest.fixture
def memory(path: str, clock: FrozenClock) -> Iterator[Memory]:
    with Memory(path, embedder=None, clock=clock, settings=Settings(window=400)) as opened:
        yield opened
        assert opened.check() == []


class TestValues:
    @pytest.mark.parametrize(
        ("field", "value"),
        [
            ("context_tokens", 0),
            ("memory_tokens", -1),
            ("latency", timedelta()),
            ("model_calls", -1),
            ("model_tokens", float("inf")),
            ("cost", float("nan")),
            ("warn_at", 0.0),
            ("warn_at", 1.1),
        ],
    )
    def test_a_limit_that_is_none_is_refused(self, field: str, value: object) -> None:
        with pytest.raises(InvalidInput, match=f"limits.{field}"):
            Limits(**{field: value})  # type: ignore[arg-type]

    def test_what_one_leaves_out_the_wider_says(self) -> None:
        wide = Limits(context_tokens=100, cost=1.0, warn_at=0.5)
        assert Limits(cost=2.0).within(wide) == Limits(context_tokens=100, cost=2.0, warn_at=0.5)
        assert Limits().within(wide) == wide
        assert (Limits().share, wide.share) == (0.8, 0.5)

    def test_a_budget_is_taken_as_it_is_or_refused(self) -> None:
        limits = Limits(context_tokens=100)
        assert budget_within(limits, None, window=8_000) == 100
        assert budget_within(limits, None, window=50) == 50
        assert budget_within(limits, 100, window=8_000) == 100
        assert budget_within(Limits(), 900, window=8_000) == 900
        with pytest.raises(LimitExceeded):
            budget_within(limits, 101, window=8_000)

    def test_the_error_says_which_by_how_much_and_what_to_do(self) -> None:
        error = LimitExceeded("context_tokens", 8_000, 12_000, "tokens", "give a budget of at most 8,000")
        assert str(error) == (
            "limits.context_tokens: 12,000 tokens, 4,000 more than the 8,000 allowed — give a budget of at most 8,000"
        )
        assert (error.limit, error.most, error.found, error.unit) == ("context_tokens", 8_000, 12_000, "tokens")
        assert str(pickle.loads(pickle.dumps(error))) == str(error)

    def test_the_warning_says_how_near_it_is(self) -> None:
        assert str(LimitWarning("cost", 0.09, 0.1)) == "cost: 0.09 of 0.1 (90%)"

    @given(st.integers(0, 200), st.integers(1, 200), st.floats(0.05, 1))
    def test_a_warning_begins_at_the_share(self, used: int, most: int, share: float) -> None:
        turn = TurnUsage(context_id="c", thread_id="t", at=START, budget=1, counter="b", sections={"pinned": used})
        warned = near(Limits(context_tokens=most, warn_at=share), turn)
        assert [warning.limit for warning in warned] == (["context_tokens"] if used >= share * most else [])

    @given(st.lists(st.integers(0, 30), max_size=30))
    def test_each_limit_of_a_model_is_warned_of_once(self, tokens: list[int]) -> None:
        limits, spent = Limits(model_calls=10, model_tokens=100, cost=1.0), Usage()
        warned: list[str] = []
        for amount in tokens:
            more = spent.plus(Reply("", tokens_in=amount, cost=amount / 100))
            warned += [warning.limit for warning in crossed(limits, spent, more)]
            spent = more
        assert sorted(warned) == sorted(set(warned))
        assert ("model_calls" in warned) == (spent.calls >= 8)
        assert ("model_tokens" in warned) == (spent.tokens_in >= 80)

    def test_a_limit_of_nothing_lets_nothing_pass(self) -> None:
        for limits in (Limits(model_calls=0), Limits(model_tokens=0), Limits(cost=0)):
            assert model_limit(limits, Usage()) is not None
        assert model_limit(Limits(), Usage(calls=10**9)) is None


class TestTokens:
    def test_a_context_keeps_to_the_limit_of_memory_thread_and_call(self, path: str, clock: FrozenClock) -> None:
        with Memory(path, embedder=None, clock=clock, limits=Limits(context_tokens=300)) as memory:
            thread = memory.user("u").thread("t", limits=Limits(memory_tokens=130))
            talk(thread, 40)
            whole = thread.context()
            assert whole.budget == 300
            assert whole.usage is not None
            assert whole.tokens <= 300
            assert 0 < whole.usage.memory <= 130
            assert thread.context(limits=Limits(context_tokens=200)).tokens <= 200
            assert memory.user("u").thread("t").context().budget == 300

    @pytest.mark.parametrize("given", [Limits(context_tokens=60), Limits(context_tokens=399)])
    def test_a_budget_above_the_limit_is_refused_before_anything_is_written(self, memory: Memory, given: Limits) -> None:
        thread = memory.thread("t", limits=given)
        talk(thread, 40)
        before = everything(memory)
        with pytest.raises(LimitExceeded, match=f"{400 - (given.context_tokens or 0)} more than"):
            thread.context(budget=400)
        assert everything(memory) == before

    def test_pinned_lines_that_are_too_much_are_refused_before_anything_is_written(self, memory: Memory) -> None:
        for number in range(8):
            memory.store(f"Nora paints boat number {number} in the harbour.", pinned=True)
        thread = memory.thread("t")
        talk(thread, 40)
        before = everything(memory)
        with pytest.raises(LimitExceeded, match=r"memory_tokens.*pinned.*unpin"):
            thread.context(budget=390, limits=Limits(memory_tokens=100))
        assert everything(memory) == before

    def test_a_handoff_above_the_limit_is_refused_before_anything_is_written(self, memory: Memory) -> None:
        thread = memory.thread("t", limits=Limits(context_tokens=200))
        talk(thread, 4)
        before = everything(memory)
        with pytest.raises(LimitExceeded):
            thread.handoff("Find a train to Ghent.", budget=400)
        assert everything(memory) == before
        assert thread.handoff("Find a train to Ghent.").context.budget == 200

    def test_what_must_be_there_is_still_a_budget_error(self, memory: Memory) -> None:
        memory.thread("t").add("user", "word " * 200)
        with pytest.raises(BudgetError):
            memory.thread("t").context(limits=Limits(context_tokens=50))

    @pytest.mark.parametrize("most", [60, 80, 120, 200])
    def test_the_memory_message_keeps_to_its_limit(self, memory: Memory, most: int) -> None:
        thread = memory.thread("t")
        talk(thread, 30)
        free, held = thread.context("Nora"), thread.context("Nora", limits=Limits(memory_tokens=most))
        assert free.usage is not None
        assert held.usage is not None
        assert held.usage.memory <= min(most, free.usage.memory)
        assert memory.replay(held.receipt_id).to_bytes() == held.to_bytes()

    def test_something_else_than_limits_is_refused(self, memory: Memory) -> None:
        with pytest.raises(InvalidInput, match="limits"):
            memory.thread("t", limits=100)  # type: ignore[arg-type]


class TestLatency:
    def timed(self, memory: Memory, step: float) -> None:
        """A monotonic clock that moves on by `step` each time it is read."""
        now = [0.0]

        def clock() -> float:
            now[0] += step
            return now[0]

        memory._engine.telemetry = Telemetry(memory._engine.telemetry.listener, clock=clock)

    def test_a_context_that_takes_too_long_is_not_stored(self, memory: Memory) -> None:
        thread = memory.thread("t")
        talk(thread, 2)
        self.timed(memory, 0.1)
        with pytest.raises(LimitExceeded, match=r"latency.*seconds"):
            thread.context(limits=Limits(latency=timedelta(seconds=1)))
        assert memory.stats().receipts == 0
        assert thread.usage().turns == 0

    def test_it_is_warned_of(self, memory: Memory) -> None:
        thread = memory.thread("t")
        talk(thread, 2)
        self.timed(memory, 0.1)
        took = thread.context().usage
        assert took is not None
        limits = Limits(latency=timedelta(seconds=2 * took.seconds["context"]), warn_at=0.5)
        (warning,) = thread.context(limits=limits).warnings
        assert warning.limit == "latency"


class TestWarnings:
    def test_each_comes_once_with_the_context_and_to_the_listener(self, path: str, clock: FrozenClock) -> None:
        heard = Heard()
        with Memory(path, embedder=None, clock=clock, limits=Limits(context_tokens=100, warn_at=0.2), listener=heard) as memory:
            thread = memory.thread("t")
            talk(thread, 20)
            context = thread.context()
            assert context.usage is not None
            assert [warning.limit for warning in context.warnings] == ["context_tokens"]
            assert heard.warnings == [("t", context.warnings[0])]
            assert heard.turns == [context.usage]

    def test_far_from_a_limit_there_are_none(self, memory: Memory) -> None:
        memory.thread("t").add("user", "Hello.")
        assert memory.thread("t").context(limits=Limits(context_tokens=100_000)).warnings == ()

    def test_a_listener_that_fails_breaks_no_turn(
        self, path: str, clock: FrozenClock, caplog: pytest.LogCaptureFixture
    ) -> None:
        class Broken(Listener):
            def begin(self, name: str, facts: object) -> None:
                raise ValueError("a secret")

            end = turn = warning = begin  # type: ignore[assignment]

        with (
            caplog.at_level(logging.WARNING, "bethink"),
            Memory(path, embedder=None, clock=clock, limits=Limits(context_tokens=100), listener=Broken()) as memory,
        ):
            talk(memory.thread("t"), 10)
            assert memory.thread("t").context().tokens <= 100
            assert memory.usage().turns == 1
        assert "turn of a listener raised TypeError" in caplog.text or "ValueError" in caplog.text
        assert "secret" not in caplog.text


# -- language models ------------------------------------------------------------------------------------------------------

MANUAL = Settings(window=200, segment_messages=4, node_tokens=60, refine="manual")


def folded(path: str, clock: FrozenClock, model: Priced, limits: Limits, heard: Heard | None = None) -> Memory:
    memory = Memory(path, embedder=None, clock=clock, settings=MANUAL, language_model=model, limits=limits, listener=heard)
    for name in ("t", "other"):
        talk(memory.thread(name), 30)
        memory.thread(name).context()
    return memory


@pytest.mark.parametrize(
    ("limits", "calls"),
    [
        (Limits(model_calls=3), 3),
        (Limits(model_tokens=220), 2),
        (Limits(cost=0.035), 4),
        (Limits(model_calls=0), 0),
    ],
    ids=lambda value: str(value) if isinstance(value, int) else "",
)
def test_a_model_is_not_asked_beyond_a_limit(path: str, clock: FrozenClock, limits: Limits, calls: int) -> None:
    model = Priced()
    with folded(path, clock, model, limits) as memory:
        thread = memory.thread("t")
        report = thread.refine()
        assert model.asked == thread.usage().model.calls == report.usage.calls == calls
        assert report.limited in ("model_calls", "model_tokens", "cost")
        assert report.due > 0
        assert thread.refine().usage.calls == 0
        assert thread.context().tokens > 0
        assert memory.check() == []


def test_a_limit_is_of_one_thread_and_of_one_day(path: str, clock: FrozenClock) -> None:
    model = Priced()
    with folded(path, clock, model, Limits(model_calls=1)) as memory:
        report = memory.refine()
        assert (report.limited, model.asked) == ("model_calls", 2)
        assert [memory.thread(name).usage().model.calls for name in ("t", "other")] == [1, 1]
        clock.advance(timedelta(days=1))
        memory.refine()
        assert model.asked == 4
        used = memory.usage().model
        assert (used.calls, used.tokens_in, used.tokens_out) == (4, 400, 40)
        assert used.cost == pytest.approx(0.04)


def test_without_a_limit_all_that_is_due_is_asked_for(path: str, clock: FrozenClock) -> None:
    with folded(path, clock, Priced(), Limits()) as memory:
        report = memory.thread("t").refine()
        assert (report.limited, report.due) == ("", 0)
        assert memory.thread("t").usage().model.calls == report.usage.calls > 3


def test_calls_of_a_model_are_told_and_warned_of_once(path: str, clock: FrozenClock) -> None:
    heard = Heard()
    with folded(path, clock, Priced(), Limits(model_calls=4, warn_at=0.5), heard) as memory:
        memory.thread("t").refine()
    assert [(call.thread_id, call.call.model, call.call.usage.cost) for call in heard.calls] == [("t", "priced-1", 0.01)] * 4
    assert heard.warnings == [("t", LimitWarning("model_calls", 2, 4))]


def test_scores_are_calls_like_any_other(path: str, clock: FrozenClock) -> None:
    model = Priced()
    settings = Settings(importance="model", refine="manual")
    limits = Limits(model_calls=1)
    with Memory(path, embedder=None, clock=clock, settings=settings, language_model=model, limits=limits) as memory:
        thread = memory.thread("t")
        talk(thread, 4)
        first, second = thread.refine(), thread.refine()
        assert (first.limited, second.limited) == ("", "model_calls")
        assert second.unscored > 0
        assert model.asked == thread.usage().model.calls == 1


def test_a_thread_may_have_a_limit_of_its_own(path: str, clock: FrozenClock) -> None:
    model = Priced()
    with folded(path, clock, model, Limits(model_calls=100)) as memory:
        memory.thread("t", limits=Limits(model_calls=2)).refine()
        assert model.asked == 2


@pytest.mark.parametrize("refine", ["background", "manual"])
def test_on_a_loop_and_in_the_background_the_limit_holds_too(path: str, clock: FrozenClock, refine: str) -> None:
    model = Priced()
    settings = Settings(window=200, segment_messages=4, node_tokens=60, refine=refine)  # type: ignore[arg-type]

    async def go() -> int:
        memory = AsyncMemory(
            path, embedder=None, clock=clock, settings=settings, language_model=model, limits=Limits(model_calls=2)
        )
        async with memory:
            thread = memory.thread("t")
            for number in range(30):
                await thread.add("user", f"On day {number} I walked {number + 3} km and met Nora, who paints boats.")
            await thread.context()
            for _ in range(200):
                if refine == "manual":
                    await thread.refine()
                if (await thread.usage()).model.calls >= 2:
                    break
                await asyncio.sleep(0.02)
            await thread.refine()
            return (await thread.usage()).model.calls

    assert asyncio.run(go()) == 2 == model.asked


def test_limits_and_listeners_cost_no_bytes(memory: Memory, clock: FrozenClock) -> None:
    """The same talk gives the same context, listened to or not, near a limit or not."""
    made: list[bytes] = []
    for listener in (None, Heard()):
        with Memory(embedder=None, clock=FrozenClock(START), settings=Settings(window=400), listener=listener) as other:
            talk(other.thread("t"), 30)
            made.append(other.thread("t").context().to_bytes())
    talk(memory.thread("t"), 30)
    made.append(memory.thread("t").context(limits=Limits(context_tokens=400)).to_bytes())
    assert made[0] == made[1] == made[2]
