"""Failures of the field about calls and results that lost each other, through `Memory`, for every budget there is."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import Any

import pytest

from bethink import (
    BudgetError,
    Hierarchy,
    Hybrid,
    Memory,
    Messages,
    Policy,
    Settings,
    SlidingWindow,
    Summarize,
    Tiers,
    Tokens,
    TokenWindow,
)
from bethink.context import Context
from bethink.testing.doubles import FrozenClock

Given = Mapping[str, Any]

POLICIES: tuple[Policy, ...] = (
    Hybrid(),
    SlidingWindow(1),
    SlidingWindow(5),
    TokenWindow(300),
    Summarize(Messages(6), Messages(5)),
    Summarize(Tokens(120), Tokens(60)),
    Tiers(long_term=1, working=3),
    Hierarchy(),
)
each_policy = pytest.mark.parametrize("policy", POLICIES, ids=str)


def user(text: str = "and now?") -> Given:
    return {"role": "user", "content": text}


def assistant(text: str = "as you say") -> Given:
    return {"role": "assistant", "content": text}


def calls(*ids: str) -> Given:
    asked = [{"id": each, "type": "function", "function": {"name": "look", "arguments": "{}"}} for each in ids]
    return {"role": "assistant", "content": None, "tool_calls": asked}


def result(call_id: str, text: str = "found") -> Given:
    return {"role": "tool", "tool_call_id": call_id, "content": text}


def contexts(thread: Sequence[Given], policy: Policy, budgets: Sequence[int]) -> list[Context]:
    """The context of a thread for each budget, each in a memory of its own; those that are refused are left out."""
    found: list[Context] = []
    for budget in budgets:
        with Memory(embedder=None, clock=FrozenClock(), settings=Settings(segment_messages=4)) as memory:
            memory.thread("t").append(thread)
            try:
                context = memory.thread("t").context(budget=budget, policy=policy)
            except BudgetError:
                continue
        assert context.tokens <= budget
        found.append(context)
    return found


def shown(context: Context) -> set[str]:
    """The ids of the calls in view, each of which has its result, and each result its call before it."""
    asked: list[str] = []
    answered: list[str] = []
    for message in context.to_openai():
        asked += [call["id"] for call in message.get("tool_calls", ())]
        if message["role"] == "tool":
            assert message["tool_call_id"] in asked, "a result without its call"
            answered.append(message["tool_call_id"])
    assert sorted(asked) == sorted(answered), "a call without its result, or one that is there twice"
    return set(asked)


@each_policy
def test_V001_a_call_and_its_result_are_both_there_or_neither(policy: Policy) -> None:
    thread = [user(), calls("c1"), result("c1", "word " * 40), user(), assistant()]
    found = contexts(thread, policy, range(20, 220, 18))
    assert found
    for context in found:
        shown(context)


@each_policy
def test_V002_eight_results_stay_with_their_call_and_no_summary_stands_between(policy: Policy) -> None:
    ids = [f"c{number}" for number in range(1, 9)]
    thread = [user(), calls(*ids), *(result(each) for each in ids), user("thanks, and the other one?")]
    found = contexts(thread, policy, range(40, 400, 40))
    assert found
    for context in found:
        assert len(shown(context)) in (0, 8)
        roles = "".join(message.role[0] for message in context.messages)
        assert "t" * 8 in roles or "t" not in roles


@each_policy
def test_V003_one_result_of_two_is_not_shown_without_the_other(policy: Policy) -> None:
    with Memory(embedder=None, clock=FrozenClock()) as memory:
        thread = memory.thread("t")
        thread.append([user("hello there"), assistant(), user("look twice"), calls("c1", "c2"), result("c1", "word " * 3_000)])
        assert shown(thread.context(budget=1_000, policy=policy)) == set()
        thread.append([result("c2", "word " * 40)])
        assert shown(thread.context(budget=1_000, policy=policy)) in ({"c1", "c2"}, set())
        assert shown(thread.context(budget=8_000, policy=Hybrid())) == {"c1", "c2"}


@each_policy
def test_V004_wherever_messages_are_removed_no_half_of_a_call_stays(policy: Policy) -> None:
    thread = [user(), assistant(), user(), assistant(), calls("c1"), user(), result("c1"), assistant(), user("last one")]
    found = contexts(thread, policy, range(16, 160, 7))
    assert found
    for context in found:
        assert shown(context) in (set(), {"c1"})


@each_policy
def test_V006_a_result_that_is_newest_comes_with_its_call(policy: Policy) -> None:
    thread = [user(), assistant(), user("look it up"), calls("c1"), result("c1", "it is blue")]
    (context,) = contexts(thread, policy, [1_000])
    assert [message.role for message in context.messages][-2:] == ["assistant", "tool"]
    assert shown(context) == {"c1"}


@each_policy
def test_V007_a_large_newest_result_is_shortened_with_its_call_or_it_is_an_error(policy: Policy) -> None:
    thread = [
        {"role": "system", "content": "be brief"},
        user("look twice"),
        calls("c1"),
        result("c1"),
        calls("c2"),
        result("c2", "word " * 400),
    ]
    refused = shortened = 0
    for budget in range(10, 700, 60):
        found = contexts(thread, policy, [budget])
        refused += not found
        for context in found:
            newest = context.to_openai()[-1]
            if newest["role"] == "tool" and newest["tool_call_id"] == "c2":
                shortened += newest["content"] != "word " * 400
            shown(context)
    assert refused
    assert shortened


@pytest.mark.parametrize("policy", [Hybrid(), Summarize(0.5, Messages(4)), TokenWindow(900)], ids=str)
def test_V063_a_call_with_a_long_argument_takes_the_room_it_needs(policy: Policy) -> None:
    asked = {"id": "c1", "type": "function", "function": {"name": "save", "arguments": json.dumps({"rows": ["row"] * 9_000})}}
    saving = {"role": "assistant", "content": "", "tool_calls": [asked]}
    thread = [user("save it"), saving, result("c1", "saved"), assistant("done"), user("and now?")]
    (small,) = contexts(thread, policy, [1_000])
    assert shown(small) == set()
    (decision,) = [each for each in small.explain().decisions if (2, 3) in each.messages or (1, 3) in each.messages]
    assert decision.done in ("folded", "left out")
    if policy != TokenWindow(900):
        (large,) = contexts(thread, policy, [60_000])
        assert shown(large) == {"c1"}
