"""What holds for any history under any policy and any combination of them, whatever is promoted meanwhile, and whatever is done
with messages too large.
"""

from __future__ import annotations

import json
import os
from collections.abc import Mapping, Sequence
from functools import reduce
from operator import or_
from typing import Any, get_args

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from tests.path.sendable import assert_calls_are_paired, newest_user_message

from bethink import (
    BudgetError,
    Hierarchy,
    Hybrid,
    Memory,
    Message,
    Messages,
    Oversize,
    Part,
    Policy,
    Settings,
    SlidingWindow,
    Summarize,
    Tiered,
    Tiers,
    Tokens,
    TokenWindow,
    ToolCall,
    Turns,
    policy_from,
)
from bethink.compaction.policies.base import parts_of
from bethink.context import Context
from bethink.marks import TIERS, is_pinned, tier_of
from bethink.messages import Tier, groups
from bethink.models.measure import Measure
from bethink.models.tokens import BuiltinCounter, message_tokens
from bethink.settings import Boundary, Keep, LineOrder, MemoryPlace
from bethink.steps import view
from bethink.testing.doubles import FrozenClock
from bethink.testing.strategies import histories

# Half as many as for the default policy: 5,000, and 100,000 with `make nightly`; of messages of any size, which take longer, a
# quarter of that.
RANDOM_HISTORIES = int(os.environ.get("RANDOM_HISTORIES", "10000")) // 2
OF_ANY_SIZE = RANDOM_HISTORIES // 4
PARTS = max(4, RANDOM_HISTORIES // 2_500)  # so that several processes share the work, and tell early what they find
BUDGETS = st.one_of(st.integers(40, 400), st.integers(400, 3_000))
COUNTER = BuiltinCounter()


def summarizing(trigger: Messages | Tokens | float, keep: Messages | Tokens) -> Policy:
    if type(trigger) is type(keep) and keep.n >= trigger.n:
        trigger = type(keep)(keep.n + 1)
    return Summarize(trigger, keep)


SINGLE = st.one_of(
    st.just(Hybrid()),
    st.builds(SlidingWindow, st.integers(1, 12) | st.integers(1, 4).map(Turns)),
    st.builds(TokenWindow, st.integers(20, 800)),
    st.builds(
        summarizing,
        st.integers(2, 16).map(Messages) | st.integers(20, 400).map(Tokens) | st.sampled_from((0.3, 0.75, 1.0)),
        st.integers(1, 8).map(Messages) | st.integers(10, 300).map(Tokens),
    ),
    st.builds(Hierarchy, st.integers(1, 8), st.integers(1, 4)),
    st.builds(
        Tiers,
        st.integers(0, 6) | st.integers(0, 3).map(Turns),
        st.integers(1, 8) | st.integers(1, 200).map(Tokens),
        st.integers(0, 3) | st.integers(0, 3).map(Messages),
        st.integers(4, 10),
        st.sampled_from((None, None, None, 4, Messages(8), Tokens(90))),
    ),
)
PROMOTIONS = st.lists(st.tuples(st.integers(0, 23), st.sampled_from(TIERS)), max_size=5)
POLICIES = st.one_of(SINGLE, st.lists(SINGLE, min_size=2, max_size=3).map(lambda found: reduce(or_, found)))


def pinned_messages(stored: Sequence[Message], tiers: Mapping[int, Tiered]) -> list[Message]:
    """Those always in view, with the groups they belong to."""
    found = [group for group in groups(stored) if any(is_pinned(message, tiers) for message in group.messages)]
    return [message for group in found if not group.open_calls for message in group.messages]


def context_or_none(memory: Memory, budget: int, policy: Policy) -> Context | None:
    """The context, or None where the documented error says rightly that what must be there does not fit."""
    try:
        return memory.thread("t").context(budget=budget, policy=policy)
    except BudgetError as error:
        stored, tiers = memory.thread("t").messages(), memory.thread("t").tiers()
        if error.field == "tiers.permanent":
            assert_rightly_limited(error, stored, tiers)
        else:
            assert_rightly_refused(error, stored, tiers, budget, policy)
        return None


def assert_rightly_limited(error: BudgetError, stored: Sequence[Message], tiers: Mapping[int, Tiered]) -> None:
    pinned = groups(pinned_messages(stored, tiers))
    held = [group for group in pinned if any(tier_of(message, tiers) == "permanent" for message in group.messages)]
    messages = [message for group in held for message in group.messages]
    needed = len(messages) if error.unit == "messages" else sum(message_tokens(message, COUNTER) for message in messages)
    assert error.needed == sum(size for _, size in error.parts) == needed > error.budget


def assert_rightly_refused(
    error: BudgetError, stored: Sequence[Message], tiers: Mapping[int, Tiered], budget: int, policy: Policy
) -> None:
    newest = newest_user_message(stored)
    must = {message.id: message for message in pinned_messages(stored, tiers)}
    must |= {newest.id: newest} if newest else {}
    assert error.needed == sum(message_tokens(message, COUNTER) for message in must.values()) > error.budget
    assert error.field in ("budget", policy.name)
    assert error.budget <= budget


def assert_everything_is_accounted_for(context: Context, stored: Sequence[Message]) -> None:
    """Each message is shown, or the explanation says what was done with it. (An open call may have been folded around.)"""
    explained = context.explain()
    spans = [span for part in explained.kept for span in part.messages]
    spans += [span for decision in explained.decisions if decision.done != "promoted" for span in decision.messages]
    told = {seq for first, last in spans for seq in range(first, last + 1)}
    whole = {message.seq for group in groups(stored) if not group.open_calls for message in group.messages}
    assert told >= whole


@pytest.mark.parametrize("part", range(PARTS))
@settings(max_examples=max(1, RANDOM_HISTORIES // PARTS), deadline=None, suppress_health_check=list(HealthCheck))
@given(
    history=histories(),
    budget=BUDGETS,
    chosen=st.lists(POLICIES, min_size=1, max_size=3),
    promoted=PROMOTIONS,
)
def test_any_history_keeps_every_promise_under_any_policy(
    part: int, history: list[Message], budget: int, chosen: list[Policy], promoted: list[tuple[int, Tier]]
) -> None:
    # Read in pages of any length, the same bytes.
    with pytest.MonkeyPatch.context() as patch:
        made = []
        for page in (64, 3):
            patch.setattr(view, "_PAGE", page)
            made.append(run(history, budget, chosen, promoted))
    assert made[0] == made[1]


def run(history: list[Message], budget: int, chosen: list[Policy], promoted: list[tuple[int, Tier]]) -> list[bytes]:
    """The contexts of a thread that grows, one for each policy in its turn, some of its messages promoted before each."""
    memory = Memory(clock=FrozenClock(), embedder=None, settings=Settings(segment_messages=6, node_fan_in=2))
    thread = memory.thread("t")
    made: list[bytes] = []
    contexts: list[Context] = []
    size = max(1, -(-len(history) // len(chosen)))
    for number, policy in enumerate(chosen):
        thread.append(history[number * size : (number + 1) * size])
        for place, tier in promoted[number :: len(chosen)] if history else ():
            thread.promote(history[place % min(len(history), (number + 1) * size)].id, tier)
        context = context_or_none(memory, budget, policy)
        made.append(b"too small" if context is None else context.to_bytes())
        if context is not None:
            assert_promises(memory, context, budget, policy)
            contexts.append(context)
    for context in contexts:
        again = memory.replay(context.receipt_id)
        assert (again.to_bytes(), again.explain()) == (context.to_bytes(), context.explain())
    assert [(message.id, message.content) for message in thread.messages()] == [(m.id, m.content) for m in history]
    assert memory.check() == []
    return made


def assert_promises(memory: Memory, context: Context, budget: int, policy: Policy) -> None:
    stored, tiers = memory.thread("t").messages(), memory.thread("t").tiers()
    assert sum(message_tokens(message, COUNTER) for message in context.messages) == context.tokens <= budget
    assert_calls_are_paired(context.to_openai())
    shown = {message.id: message.content for message in context.messages if message.id}
    must = [*pinned_messages(stored, tiers), *filter(None, [newest_user_message(stored)])]
    assert all(shown.get(message.id) == message.content for message in must)
    assert_everything_is_accounted_for(context, stored)
    verbatim = sum(part.tokens for part in context.explain().kept if part.messages)
    assert all(verbatim <= part.budget for part in parts_of(policy) if isinstance(part, TokenWindow))


@settings(max_examples=200, deadline=None)
@given(policy=POLICIES)
def test_any_policy_is_read_back_from_its_name(policy: Policy) -> None:
    assert policy_from(str(policy)) == policy


# -- messages too large ---------------------------------------------------------------------------------------------------

OVERSIZE = st.builds(
    Oversize,
    question=st.sampled_from(("cut", "error")),
    turn=st.sampled_from(("cut", "cut", "error")),
    keep=st.sampled_from(get_args(Keep)),
    boundary=st.sampled_from(get_args(Boundary)),
)
PLACES = st.builds(
    Settings,
    memory_at=st.sampled_from(get_args(MemoryPlace)),
    line_order=st.sampled_from(get_args(LineOrder)),
    oversize=OVERSIZE,
    segment_messages=st.just(6),
    node_fan_in=st.just(2),
)
TOOL = {"type": "function", "function": {"name": "search", "parameters": {"type": "object"}}}
MODELS = st.sampled_from((None, "gpt-4o", "claude-sonnet-4-5", "my-model"))


TEXTS = st.sampled_from(("I live in Lisbon. ", "私は東京に住んでいます。", "line one\nline two\n\n", "x" * 40, "👩‍👩‍👧‍👦 é"))
TIMES = st.sampled_from((300, 40, 10, 3, 1, 1))
LONG = st.builds(lambda text, times: text * times, TEXTS, TIMES)
IMAGE = Part("image", ref="https://example.org/a.png")
ARGUMENTS = st.one_of(
    st.builds(lambda text: json.dumps({"path": "a.py", "lines": [text, "é"], "n": 1.50}), LONG),
    st.builds(lambda times: json.dumps(list(range(times))), TIMES),
    st.just(""),
)


@st.composite
def agents(draw: st.DrawFn) -> list[Message]:
    """What an agent does: a talk, a question, and calls with their results, any of them of any size."""
    said: list[Message] = []

    def say(**fields: Any) -> None:
        said.append(Message(id=f"m{len(said) + 1}", **fields))

    for role in draw(st.lists(st.sampled_from(("user", "assistant", "system")), max_size=4)):
        say(role=role, content=draw(TEXTS if role == "system" else LONG))
    parts = st.lists(st.one_of(LONG.map(lambda text: Part("text", text)), st.just(IMAGE)), min_size=1, max_size=4)
    say(role="user", content=draw(st.one_of(LONG, parts.map(tuple))))
    for step in range(draw(st.integers(0, 3))):
        ids = [f"call_{step}_{number}" for number in range(draw(st.integers(1, 3)))]
        calls = tuple(ToolCall(call, "write", draw(ARGUMENTS)) for call in ids)
        say(role="assistant", content=draw(st.none() | LONG), tool_calls=calls)
        for call in ids:
            say(role="tool", content=draw(LONG), tool_call_id=call)
    return said


def refusal(error: BudgetError, budget: int) -> bytes:
    assert error.needed > error.budget <= budget
    assert error.needed == sum(size for _, size in error.parts)
    return str(error).encode()


@pytest.mark.parametrize("part", range(PARTS))
@settings(max_examples=max(1, OF_ANY_SIZE // PARTS), deadline=None, suppress_health_check=list(HealthCheck))
@given(history=agents(), budget=st.integers(200, 4_000), policy=POLICIES, how=PLACES, model=MODELS, tools=st.integers(0, 2))
def test_messages_of_any_size_keep_every_promise(
    part: int, history: list[Message], budget: int, policy: Policy, how: Settings, model: str | None, tools: int
) -> None:
    measure = Measure(COUNTER, model or "")
    made = []
    for _ in range(2):
        memory = Memory(clock=FrozenClock(), embedder=None, counter=COUNTER, settings=how)
        thread = memory.thread("t")
        thread.append(history)
        stored = thread.messages()
        must = {message.id: message for message in pinned_messages(stored, {})}
        newest = newest_user_message(stored)
        try:
            context = thread.context(budget=budget, policy=policy, for_model=model, tools=[TOOL] * tools)
        except BudgetError as error:
            made.append(refusal(error, budget))
            continue
        around = sum(tokens for _, tokens in measure.around([TOOL] * tools))
        assert measure.messages(context.messages) + around == context.tokens <= budget
        assert sum(context.sections.values()) == context.tokens
        assert_calls_are_paired(context.to_openai())
        assert_everything_is_accounted_for(context, stored)
        shown = {message.id: message for message in context.messages if message.id}
        if newest is not None:
            assert newest.id in shown
            if how.oversize.question == "error":
                must[newest.id] = newest
        assert all(shown[message.id].content == message.content for message in must.values())
        if how.oversize == Oversize(question="error", turn="error"):
            by_id = {message.id: message for message in stored}
            assert all(message.content == by_id[message.id].content for message in shown.values())
        for message in shown.values():
            assert all(json.loads(call.arguments or "1") for call in message.tool_calls)
        again = memory.replay(context.receipt_id)
        assert (again.to_bytes(), again.explain()) == (context.to_bytes(), context.explain())
        assert [(message.id, message.content) for message in stored] == [(m.id, m.content) for m in history]
        assert memory.check() == []
        made.append(context.to_bytes())
    assert made[0] == made[1]
