"""What a memory keeps from one context to the next makes a context faster and never another one."""

from __future__ import annotations

import os
import random
from contextlib import closing, suppress
from datetime import timedelta
from pathlib import Path

import msgspec
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from bethink import Hierarchy, Memory, Message, Messages, Policy, Settings, Summarize, Tiers
from bethink.bench.talk import text_of
from bethink.compaction.talk import talk_of
from bethink.errors import BethinkError
from bethink.marks import TIERS, Tiered
from bethink.models.measure import Measure
from bethink.models.tokens import BuiltinCounter
from bethink.storage.base import Get, Scope, Transcript
from bethink.testing.doubles import START, FrozenClock
from bethink.testing.strategies import histories
from bethink.threads import ThreadInfo

HISTORIES = max(1, int(os.environ.get("RANDOM_HISTORIES", "10000")) // 500)
FACTS = ("I live in Ghent.", "I moved to Paris.", "I'm allergic to peanuts.", "We decided to use Postgres.", "My name is Ada.")
POLICIES: tuple[Policy | None, ...] = (
    None,
    None,
    Summarize(Messages(12), Messages(6)),
    Hierarchy(immediate=4, segments=2),
    Tiers() | Summarize(Messages(10), Messages(5)),
)
MEASURE = Measure(BuiltinCounter())


def opened(path: Path, clock: FrozenClock) -> Memory:
    return Memory(
        path,
        embedder=None,
        clock=clock,
        durability="normal",
        settings=Settings(segment_messages=6, node_fan_in=2),
    )


def told(memory: Memory, thread: str, budget: int, policy: Policy | None) -> tuple[object, ...]:
    """A context and its receipt, but for the id that this has; or what is wrong."""
    try:
        context = memory.thread(thread, policy=policy).context(budget=budget)
    except BethinkError as error:
        return (type(error), str(error))
    wanted = Get(scope=Scope(memory.namespace), receipts=(context.receipt_id,))
    (receipt,) = memory._engine.store.get(wanted).receipts
    return context.to_bytes(), msgspec.structs.replace(receipt, id=""), context.lines, context.sections, context.omitted


def said(random: random.Random) -> str:
    return random.choice(FACTS) if random.random() < 0.3 else text_of(random.randrange(1_000), random.randrange(40, 240))


def happens(memory: Memory, random: random.Random, thread: str, calls: list[str]) -> None:
    """One thing of all that may happen to a thread between two contexts."""
    conversation = memory.thread(thread)
    messages = conversation.messages()
    chance = random.random()
    if chance < 0.55 or not messages:
        conversation.append([{"role": random.choice(("user", "assistant")), "content": said(random)}])
    elif chance < 0.6:
        conversation.append([{"role": "system", "content": said(random)}])
    elif chance < 0.7:
        calls.append(f"c{len(messages)}-{random.random()}")
        call = {"id": calls[-1], "type": "function", "function": {"name": "look", "arguments": "{}"}}
        conversation.append([{"role": "assistant", "content": None, "tool_calls": [call]}])
    elif chance < 0.78 and calls:
        conversation.append([{"role": "tool", "tool_call_id": calls.pop(0), "content": said(random)}])
    elif chance < 0.86:
        conversation.promote(random.choice(messages).seq, random.choice(TIERS))
    elif chance < 0.92:
        memory.forget(message=random.choice(messages).id)
    elif chance < 0.95:
        memory.store(said(random), pinned=random.random() < 0.5)
    elif chance < 0.97:
        conversation.end()
    else:
        conversation.add("user", said(random), metadata={"n": len(messages)})


@pytest.mark.parametrize("seed", range(HISTORIES))
def test_a_context_of_a_memory_long_open_is_that_of_one_just_opened(seed: int, tmp_path: Path) -> None:
    chance = random.Random(seed)
    clock = FrozenClock()
    calls: list[str] = []
    with closing(opened(tmp_path / "m.db", clock)) as one, closing(opened(tmp_path / "m.db", clock)) as other:
        for _ in range(40):
            clock.advance(timedelta(minutes=chance.choice((1, 90))))
            for _ in range(chance.choice((1, 1, 2, 6))):
                # A call whose message was forgotten meanwhile gets no result.
                with suppress(BethinkError):
                    happens(chance.choice((one, other)), chance, "t", calls)
            budget, policy = chance.choice((300, 600, 600, 2_000)), chance.choice(POLICIES)
            # The first folds, and says so; from then on nothing changes.
            told(chance.choice((one, other)), "t", budget, policy)
            found = told(chance.choice((one, other)), "t", budget, policy)
            with closing(opened(tmp_path / "m.db", clock)) as fresh:
                assert told(fresh, "t", budget, policy) == found


@settings(max_examples=HISTORIES * 10, deadline=None, suppress_health_check=list(HealthCheck))
@given(history=histories(), pieces=st.lists(st.integers(0, 12), min_size=1), tiered=st.booleans())
def test_a_talk_that_goes_on_is_the_talk_taken_apart_anew(history: list[Message], pieces: list[int], tiered: bool) -> None:
    memory = Memory(clock=FrozenClock(), embedder=None)
    memory.thread("t").append(history)
    stored = tuple(memory.thread("t").messages())
    info = memory.thread("t").info()
    tiers = {stored[0].seq: Tiered("permanent", START)} if tiered and stored else {}

    def transcript(count: int) -> Transcript:
        tip = stored[count - 1].seq if count else 0
        thread: ThreadInfo = msgspec.structs.replace(info, tip=tip, count=count)
        return Transcript(thread, stored[:count], tiers=tiers)

    talk, count = None, 0
    for piece in (*pieces, len(stored)):
        count = min(len(stored), count + piece)
        talk = talk_of(transcript(count), MEASURE, talk)
        assert talk == talk_of(transcript(count), MEASURE)


def test_a_forget_empties_what_is_kept_for_the_next_context(tmp_path: Path) -> None:
    with closing(opened(tmp_path / "m.db", FrozenClock())) as memory:
        thread = memory.thread("t")
        for number in range(40):
            thread.add("user", f"The code of door {number} is {number * 7919}.")
        thread.context(budget=600)
        engine = memory._engine
        line, words = engine.lines._line.cache_info, engine.lines._words.cache_info
        key = memory.namespace, "t", engine.measure().name
        assert line().currsize > 0
        assert engine.talks.get(key) is not None
        assert engine.folded.get(key) is not None
        memory.forget(message=thread.messages()[0].id)
        assert line().currsize == words().currsize == 0
        assert (engine.talks.get(key), engine.folded.get(key)) == (None, None)


def test_what_another_process_forgets_is_in_no_context_any_more(tmp_path: Path) -> None:
    clock = FrozenClock()
    with closing(opened(tmp_path / "m.db", clock)) as one, closing(opened(tmp_path / "m.db", clock)) as other:
        thread = one.thread("t")
        thread.add("user", "The harbour master is called Quentin Abernathy.")
        for number in range(40):
            thread.add("user", f"The ferry number {number} leaves at {number % 24} o'clock.")
        assert "Abernathy" in thread.context(budget=600).text
        other.forget(message=thread.messages()[0].id)
        assert "Abernathy" not in thread.context(budget=600).text
