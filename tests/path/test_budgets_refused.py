"""A budget that cannot be met: an error that lists what would not fit, each with its size, and says by how much."""

from __future__ import annotations

import pytest

from bethink import (
    BudgetError,
    Hierarchy,
    Hybrid,
    InvalidInput,
    Memory,
    Messages,
    Policy,
    Settings,
    SlidingWindow,
    Summarize,
    Tiers,
    TokenWindow,
    ToolCall,
)
from bethink.testing.doubles import FrozenClock

POLICIES = (Hybrid(), Summarize(Messages(4), Messages(2)), Hierarchy(), Tiers(), SlidingWindow(1), TokenWindow(9_000))
each_policy = pytest.mark.parametrize("policy", POLICIES, ids=lambda policy: type(policy).__name__)


def memory_with_pinned(policy: Policy) -> Memory:
    memory = Memory(embedder=None, clock=FrozenClock(), policy=policy)
    thread = memory.thread("t")
    thread.add("system", "always " * 60)
    for number in range(12):
        thread.add("user", f"question {number}")
        thread.add("assistant", f"answer {number}")
    thread.add("user", "the goal " * 30, tier="permanent")
    thread.add("user", "and now? " * 20)
    memory.store("never " * 40, pinned=True)
    return memory


@each_policy
def test_pinned_things_that_exceed_the_budget_are_listed_largest_first(policy: Policy) -> None:
    with memory_with_pinned(policy) as memory, pytest.raises(BudgetError) as caught:
        memory.thread("t").context(budget=150)
    error = caught.value
    assert {name for name, _ in error.parts} == {"pinned messages", "pinned records", "newest user message"}
    sizes = [size for _, size in error.parts]
    assert sizes == sorted(sizes, reverse=True)
    assert error.needed == sum(sizes) > error.budget == 150
    assert f"{error.needed - 150:,} too few" in str(error)
    assert all(f"{name} ({size:,})" in str(error) for name, size in error.parts)


@each_policy
def test_what_the_error_asks_for_is_enough_and_one_less_is_not(policy: Policy) -> None:
    with memory_with_pinned(policy) as memory:
        thread = memory.thread("t")
        with pytest.raises(BudgetError) as caught:
            thread.context(budget=10)
        needed = caught.value.needed
        with pytest.raises(BudgetError):
            thread.context(budget=needed - 1)
        assert thread.context(budget=needed).tokens <= needed


@each_policy
def test_a_refused_context_leaves_no_receipt_and_every_message(policy: Policy) -> None:
    with memory_with_pinned(policy) as memory:
        thread = memory.thread("t")
        before = thread.messages(), memory.stats().receipts
        with pytest.raises(BudgetError):
            thread.context(budget=20)
        assert (thread.messages(), memory.stats().receipts) == before
        assert memory.check() == []


@each_policy
@pytest.mark.parametrize("budget", [0, -1, -8_000])
def test_a_budget_below_one_says_what_it_lacks(policy: Policy, budget: int) -> None:
    with memory_with_pinned(policy) as memory, pytest.raises(BudgetError) as caught:
        memory.thread("t").context(budget=budget)
    error = caught.value
    assert (error.budget, error.needed, error.unit) == (budget, 1, "tokens")
    assert f"{1 - budget:,} too few" in str(error)


@pytest.mark.parametrize("window", [0, -1])
def test_a_window_of_no_tokens_is_a_budget_error(window: int) -> None:
    with pytest.raises(BudgetError, match=r"settings\.window") as caught:
        Settings(window=window)
    assert (caught.value.budget, caught.value.needed) == (window, 1)
    assert isinstance(caught.value, InvalidInput)


def test_a_window_smaller_than_one_group_keeps_the_group_that_is_the_turn() -> None:
    with Memory(embedder=None, clock=FrozenClock(), policy=SlidingWindow(2)) as memory:
        thread = memory.thread("t")
        thread.add("user", "hello")
        thread.add("user", "look everywhere")
        ids = [f"c{number}" for number in range(4)]
        thread.add("assistant", tool_calls=[ToolCall(each, "look") for each in ids])
        for each in ids:
            thread.add("tool", "nothing", tool_call_id=each)
        assert [message.role for message in thread.context().messages] == ["user", "assistant", *["tool"] * 4]


def test_a_window_smaller_than_one_group_leaves_an_older_group_out_whole() -> None:
    with Memory(embedder=None, clock=FrozenClock(), policy=SlidingWindow(2)) as memory:
        thread = memory.thread("t")
        thread.add("assistant", tool_calls=[ToolCall("c", "look"), ToolCall("d", "look")])
        thread.add("tool", "nothing", tool_call_id="c")
        thread.add("tool", "nothing", tool_call_id="d")
        thread.add("user", "and now?")
        context = thread.context()
        assert [message.role for message in context.messages] == ["user"]
        (decision,) = context.explain().decisions
        assert (decision.done, decision.messages) == ("left out", ((1, 3),))


def test_a_token_window_smaller_than_the_newest_group_says_which_knob_is_too_small() -> None:
    with Memory(embedder=None, clock=FrozenClock(), policy=TokenWindow(10)) as memory:
        memory.thread("t").add("user", "word " * 50)
        with pytest.raises(BudgetError, match="newest user message") as caught:
            memory.thread("t").context()
    assert (caught.value.field, caught.value.budget) == ("token-window(budget=10)", 10)
