"""What contexts and model calls take: counted, kept beside receipts, added up, and forgotten with them."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Iterable, Iterator
from datetime import datetime, timedelta, timezone
from pathlib import Path
from typing import Any, get_args

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bethink import Memory, Settings, SlidingWindow, StoreBusy, Thread
from bethink.context import SectionName
from bethink.messages import Message
from bethink.models.language import Call, Usage
from bethink.models.measure import Measure
from bethink.models.tokens import BuiltinCounter, message_tokens
from bethink.storage.base import Put, Scan, Scope, Store
from bethink.storage.sqlite import SqliteStore
from bethink.testing.doubles import FrozenClock, HashEmbedder
from bethink.testing.strategies import histories
from bethink.usage import Latency, ModelCall, SectionTokens, TurnUsage, UsageReport, percentile, plus, report

START = datetime(2026, 3, 2, 9, 0, tzinfo=timezone.utc)


def turn(
    number: int = 0, *, sections: dict[str, int] | None = None, seconds: dict[str, float] | None = None, history: int = 0
) -> TurnUsage:
    return TurnUsage(
        context_id=f"c{number}",
        thread_id="t",
        at=START + timedelta(minutes=number),
        budget=1_000,
        counter="builtin",
        sections={"recent messages": 10} if sections is None else sections,
        seconds=seconds or {},
        history=history,
    )


def call(**used: float) -> ModelCall:
    return ModelCall("t", START, Call("summary", "small-1", 0.5, Usage(calls=1, **used)))  # type: ignore[arg-type]


@pytest.fixture(params=["memory", "sqlite"])
def memory(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Memory]:
    path = ":memory:" if request.param == "memory" else tmp_path / "agent.db"
    with Memory(path, clock=FrozenClock(START), embedder=HashEmbedder(), settings=Settings(window=400)) as opened:
        yield opened
        assert opened.check() == []


def talk(thread: Thread, turns: int, start: int = 0) -> None:
    for number in range(start, start + turns):
        thread.add("user", f"On day {number} I walked {number + 3} km along the river and met Nora, who paints boats.")
        thread.add("assistant", f"That is a good walk for day {number}.")


def tokens_of(thread: Thread) -> int:
    return sum(message_tokens(message, BuiltinCounter()) for message in thread.messages())


def used(thread: Thread, **options: object) -> TurnUsage:
    usage = thread.context(**options).usage  # type: ignore[arg-type]
    assert usage is not None
    return usage


class TestReport:
    def test_of_nothing(self) -> None:
        assert report([]) == UsageReport()
        assert report([]).saved_share == 0.0

    def test_sections_say_the_last_the_mean_and_the_total(self) -> None:
        found = report([turn(1, sections={"pinned": 4, "recent messages": 10}), turn(2, sections={"recent messages": 20})])
        assert found.sections == {"pinned": SectionTokens(0, 2.0, 4), "recent messages": SectionTokens(20, 15.0, 30)}
        assert (found.turns, found.tokens) == (2, 34)

    def test_sections_and_steps_stand_in_the_order_of_a_context(self) -> None:
        odd = turn(
            sections={"tools": 1, "mine": 1, "pinned": 1, "frame": 1}, seconds={"store": 1.0, "mine": 1.0, "context": 1.0}
        )
        assert list(report([odd]).sections) == ["pinned", "frame", "tools", "mine"]
        assert list(report([odd]).seconds) == ["context", "store", "mine"]

    def test_every_section_of_a_context_has_its_place(self) -> None:
        sections = get_args(SectionName)
        assert set(report([turn(sections=dict.fromkeys((*sections, "a"), 1))]).sections) == {*sections, "a"}
        assert list(report([turn(sections=dict.fromkeys((*sections, "a"), 1))]).sections)[-1] == "a"

    def test_what_was_saved(self) -> None:
        found = report([turn(1, history=8), turn(2, history=72)])
        assert (found.history, found.saved, found.saved_share) == (80, 60, 0.75)

    def test_latencies_are_over_the_turns_that_took_the_step(self) -> None:
        turns = [turn(number, seconds={"context": number / 10}) for number in range(1, 21)]
        turns.append(turn(21, seconds={"recall": 0.5}))
        assert report(turns).seconds == {"context": Latency(1.0, 1.9, 2.0), "recall": Latency(0.5, 0.5, 0.5)}

    def test_model_calls_add_up_and_tell_no_cost_that_nobody_told(self) -> None:
        told = report([], [call(tokens_in=10, tokens_out=2), call(tokens_in=5)]).model
        assert told == Usage(calls=2, tokens_in=15, tokens_out=2, cost=None)
        assert report([], [call(), call(cost=0.1), call(cost=0.2)]).model.cost == pytest.approx(0.3)

    @given(st.lists(st.floats(0, 10), min_size=1, max_size=60), st.floats(0.01, 1))
    def test_a_percentile_is_the_least_value_that_the_share_does_not_exceed(self, values: list[float], share: float) -> None:
        found = percentile(values, share)
        assert found in values
        assert sum(value <= found for value in values) >= share * len(values) - 1e-9
        assert sum(value < found for value in values) < share * len(values) + 1e-9

    @given(st.lists(st.floats(0, 1), max_size=20), st.randoms())
    def test_costs_add_up_to_the_same_in_any_order(self, costs: list[float], random: object) -> None:
        usages = [Usage(cost=cost) for cost in costs]
        before = plus(*usages)
        random.shuffle(usages)  # type: ignore[attr-defined]
        assert plus(*usages) == before


class TestTurn:
    def test_a_context_says_what_it_took(self, memory: Memory) -> None:
        thread = memory.user("u").thread("t")
        talk(thread, 4)
        context = thread.context(budget=300)
        usage = context.usage
        assert usage is not None
        assert (usage.context_id, usage.thread_id, usage.at, usage.budget) == (context.receipt_id, "t", START, 300)
        assert usage.sections == {str(name): tokens for name, tokens in context.sections.items()}
        assert (usage.tokens, usage.compactions) == (context.tokens, 0)
        assert usage.history == tokens_of(thread)
        assert usage.saved == usage.history - context.tokens

    def test_every_step_has_its_seconds(self, memory: Memory) -> None:
        thread = memory.thread("t")
        talk(thread, 30)
        usage = used(thread, budget=300)
        steps = {
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
        }
        assert usage.seconds.keys() == steps
        assert all(taken >= 0 for taken in usage.seconds.values())
        assert usage.seconds["context"] >= usage.seconds["view"] >= usage.seconds["view.fold"]
        assert usage.seconds["recall"] >= usage.seconds["recall.search"]
        assert usage.compactions == 1

    def test_tools_are_a_section(self, memory: Memory) -> None:
        thread = memory.thread("t")
        talk(thread, 2)
        tools = [{"type": "function", "function": {"name": "book", "parameters": {"type": "object"}}}]
        usage = used(thread, tools=tools)
        assert usage.sections["tools"] > 0
        assert usage.tokens == sum(usage.sections.values())

    def test_memory_is_the_size_of_the_memory_message(self, memory: Memory) -> None:
        memory.store("Nora paints boats.", pinned=True)
        thread = memory.thread("t")
        talk(thread, 2)
        context = thread.context()
        (message,) = [message for message in context.messages if message.name == "memory"]
        assert context.usage is not None
        assert context.usage.memory == message_tokens(message, BuiltinCounter())

    def test_seconds_are_no_part_of_what_replays(self, memory: Memory) -> None:
        thread = memory.thread("t")
        talk(thread, 3)
        context = thread.context()
        again = memory.replay(context.receipt_id)
        assert again.to_bytes() == context.to_bytes()
        assert again.usage is None

    @given(history=histories(), budget=st.integers(60, 2_000))
    def test_for_any_history_sections_add_up_and_the_history_is_counted(self, history: list[Message], budget: int) -> None:
        from bethink import BudgetError

        with Memory(clock=FrozenClock(), embedder=None, settings=Settings(segment_messages=6, node_fan_in=2)) as memory:
            thread = memory.thread("t")
            for end in range(0, len(history), 3):
                thread.append(history[end : end + 3])
                try:
                    context = thread.context(budget=budget)
                except BudgetError:
                    continue
                assert context.usage is not None
                assert sum(context.usage.sections.values()) == context.tokens
                assert context.usage.history == tokens_of(thread)
                assert not context.usage.estimated


class Refusing:
    """A store that is busy whenever usage is to be written."""

    def __init__(self, store: Store) -> None:
        self._store = store

    def __getattr__(self, name: str) -> Any:
        return getattr(self._store, name)

    def put(self, request: Put) -> None:
        if request.usage is not None:
            raise StoreBusy("somebody else writes")
        self._store.put(request)


def test_a_context_is_not_lost_to_usage_that_cannot_be_written(tmp_path: Path) -> None:
    store = Refusing(SqliteStore(tmp_path / "m.db"))
    with Memory(store=store, embedder=None) as memory:
        thread = memory.thread("t")
        talk(thread, 2)
        context = thread.context()
        assert context.usage is not None
        assert context.usage.history == tokens_of(thread)
        assert memory.replay(context.receipt_id).to_bytes() == context.to_bytes()
        assert thread.usage().turns == 0


class TestHistory:
    def test_it_grows_by_what_was_added(self, memory: Memory) -> None:
        thread = memory.thread("t")
        for start in range(0, 30, 3):
            talk(thread, 3, start)
            usage = used(thread, budget=250)
            assert (usage.history, usage.estimated) == (tokens_of(thread), False)
            assert (usage.counted.messages, usage.counted.tokens) == (2 * start + 6, usage.history)

    def test_the_full_history_is_not_read_for_it(self, memory: Memory, monkeypatch: pytest.MonkeyPatch) -> None:
        thread = memory.thread("t")
        talk(thread, 60)
        thread.context(budget=250)
        thread.add("user", "And today?")
        counted: list[str] = []
        whole = Measure.messages

        def counting(self: Measure, messages: Iterable[Message]) -> int:
            given = list(messages)
            counted.extend(message.id for message in given)
            return whole(self, given)

        monkeypatch.setattr(Measure, "messages", counting)
        assert used(thread, budget=250).history > 0
        assert len(counted) < 60

    def test_a_window_over_a_long_import_counts_it_a_page_at_a_time(
        self, memory: Memory, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setattr("bethink.steps.usage._PAGE", 40)
        thread = memory.thread("t")
        talk(thread, 100)
        whole = tokens_of(thread)
        first = used(thread, budget=400, policy=SlidingWindow(4))
        assert first.estimated
        assert first.history == pytest.approx(whole, rel=0.05)
        while (usage := used(thread, budget=400, policy=SlidingWindow(4))).estimated:
            assert usage.counted.messages > first.counted.messages
            first = usage
        assert usage.history == whole
        assert thread.usage().estimated > 1

    def test_after_a_forget_it_is_counted_anew(self, memory: Memory) -> None:
        thread = memory.thread("t")
        talk(thread, 40)
        used(thread, budget=250)
        gone = thread.messages()[4]
        memory.forget(message=gone.id)
        usage = used(thread, budget=250)
        assert (usage.history, usage.estimated) == (tokens_of(thread), False)

    def test_each_model_has_a_count_of_its_own(self, memory: Memory) -> None:
        thread = memory.thread("t")
        for start in range(4):
            talk(thread, 1, start)
            plain, for_model = used(thread), used(thread, for_model="claude-sonnet-4")
            assert plain.counter != for_model.counter
            assert plain.history == tokens_of(thread)
            assert not for_model.estimated

    def test_a_fork_counts_what_it_shares_and_starts_without_turns(self, memory: Memory) -> None:
        thread = memory.thread("t")
        talk(thread, 5)
        thread.context()
        fork = thread.fork(4, thread_id="fork")
        assert fork.usage() == UsageReport()
        usage = used(fork)
        assert usage.history == tokens_of(fork) < tokens_of(thread)
        assert (fork.usage().turns, thread.usage().turns, memory.usage().turns) == (1, 1, 2)


class TestThread:
    def test_turns_of_a_thread_and_of_a_namespace_add_up(self, memory: Memory) -> None:
        for name in ("ada", "bob"):
            thread = memory.user(name).thread("t")
            talk(thread, 3)
            thread.context()
            thread.context()
        found = memory.user("ada").thread("t").usage()
        assert (found.turns, found.since, found.until) == (2, START, START)
        assert found.tokens == sum(section.total for section in found.sections.values())
        assert memory.user("ada").usage() == found
        assert memory.usage().turns == 4

    def test_model_calls_are_counted_with_their_thread(self, memory: Memory) -> None:
        thread = memory.thread("t")
        talk(thread, 1)
        memory._engine.store.put(Put(namespace=memory.namespace, calls=(call(tokens_in=7, cost=0.25), call(tokens_out=2))))
        assert thread.usage().model == Usage(calls=2, tokens_in=7, tokens_out=2, cost=0.25)
        assert memory.thread("other").usage().model == Usage()
        assert memory.usage().model.calls == 2

    def test_a_forgotten_context_counts_no_more(self, memory: Memory) -> None:
        thread = memory.thread("t")
        talk(thread, 1)
        thread.context()
        shown = thread.messages()[0]
        talk(thread, 1, 1)
        thread.context()
        memory.forget(message=shown.id)
        assert thread.usage().turns == 0

    def test_nothing_is_left_of_a_forgotten_thread(self, memory: Memory) -> None:
        thread = memory.thread("t")
        talk(thread, 2)
        thread.context()
        memory._engine.store.put(Put(namespace=memory.namespace, calls=(call(cost=1.0),)))
        thread.delete()
        assert memory.usage() == UsageReport()

    def test_it_is_kept_across_reopening(self, tmp_path: Path) -> None:
        with Memory(tmp_path / "m.db", embedder=None) as memory:
            talk(memory.thread("t"), 3)
            memory.thread("t").context()
            before = memory.usage()
        with Memory(tmp_path / "m.db", embedder=None) as memory:
            assert memory.thread("t").usage() == before
            assert before.turns == 1

    def test_an_append_writes_nothing_of_it(self, memory: Memory) -> None:
        thread = memory.thread("t")
        talk(thread, 3)
        assert list(memory._engine.pages(Scan(what="usage", scope=Scope(memory.namespace)))) == []


@pytest.mark.slow
def test_contexts_of_several_processes_add_up(tmp_path: Path) -> None:
    code = (
        "import sys; from bethink import Memory\n"
        "with Memory(sys.argv[1], embedder=None) as memory:\n"
        "    thread = memory.thread('t')\n"
        "    for number in range(5):\n"
        "        thread.add('user', f'{sys.argv[2]} says {number}')\n"
        "        usage = thread.context().usage\n"
        "        assert usage.history > 0 and not usage.estimated\n"
    )
    with Memory(tmp_path / "m.db", embedder=None):
        pass
    others = [subprocess.Popen([sys.executable, "-c", code, str(tmp_path / "m.db"), name]) for name in ("ada", "bob")]
    assert [other.wait(60) for other in others] == [0, 0]
    with Memory(tmp_path / "m.db", embedder=None) as memory:
        thread = memory.thread("t")
        assert thread.usage().turns == 10
        assert used(thread).history == tokens_of(thread)
        assert memory.check() == []
