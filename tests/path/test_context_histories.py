"""What holds for any history: the promises about a context, on random threads."""

from __future__ import annotations

import os

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from tests.path.sendable import assert_calls_are_paired, newest_user_message

from bethink import BudgetError, Memory, Message, Settings
from bethink.context import Context
from bethink.messages import groups
from bethink.models.tokens import BuiltinCounter, message_tokens
from bethink.testing.doubles import FrozenClock
from bethink.testing.strategies import histories

RANDOM_HISTORIES = int(os.environ.get("RANDOM_HISTORIES", "10000"))
BUDGETS = st.one_of(st.integers(40, 400), st.integers(400, 6_000))
PARTS = 4  # so that several processes share the work


def context_or_none(memory: Memory, budget: int) -> Context | None:
    """The context, or None where the documented error says rightly that what must be there does not fit."""
    counter = BuiltinCounter()
    try:
        return memory.thread("t").context(budget=budget)
    except BudgetError as error:
        needed = error.needed
        stored = memory.thread("t").messages()
        newest = newest_user_message(stored)
        pinned = [group for group in groups(stored) if any(message.pinned for message in group.messages)]
        must = {message.id: message for group in pinned if not group.open_calls for message in group.messages}
        must |= {newest.id: newest} if newest else {}
        assert needed == sum(message_tokens(message, counter) for message in must.values()) > budget
        return None


@pytest.mark.parametrize("part", range(PARTS))
@settings(max_examples=RANDOM_HISTORIES // PARTS, deadline=None, suppress_health_check=list(HealthCheck))
@given(history=histories(), budget=BUDGETS, pieces=st.integers(1, 3))
def test_any_history_gives_a_context_that_keeps_every_promise(
    part: int, history: list[Message], budget: int, pieces: int
) -> None:
    bytes_of_runs = []
    for _ in range(2):
        memory = Memory(clock=FrozenClock(), embedder=None, settings=Settings(segment_messages=6, node_fan_in=2))
        thread = memory.thread("t")
        run: list[bytes] = []
        size = max(1, -(-len(history) // pieces))
        for start in range(0, len(history), size):
            seen = history[: start + size]
            thread.append(history[start : start + size])
            context = context_or_none(memory, budget)
            if context is None:
                run.append(b"too small")
                continue
            counter = BuiltinCounter()
            assert sum(message_tokens(message, counter) for message in context.messages) == context.tokens <= budget
            assert_calls_are_paired(context.to_openai())
            newest = newest_user_message(seen)
            if newest is not None:
                assert any(message.id == newest.id and message.content == newest.content for message in context.messages)
            assert all(any(line.id == message.id for line in context.lines) for message in context.messages if message.id)
            assert memory.replay(context.receipt_id).to_bytes() == context.to_bytes()
            run.append(context.to_bytes())
        assert [message.id for message in thread.messages()] == [message.id for message in history]
        assert memory.check() == []
        bytes_of_runs.append(run)
    assert bytes_of_runs[0] == bytes_of_runs[1]
