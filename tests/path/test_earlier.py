"""What a new thread is told of the sessions that ended before it."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import datetime, timedelta, timezone

import pytest

from bethink.engine import SESSIONS
from bethink.memory import Memory
from bethink.models.tokens import BuiltinCounter
from bethink.settings import Settings
from bethink.storage.reference import ReferenceStore
from bethink.testing.doubles import FrozenClock

AT = datetime(2026, 3, 1, 9, tzinfo=timezone.utc)
DAY = timedelta(days=1)
CITIES = ("Ghent", "Porto", "Oslo", "Lima", "Turin", "Kyoto")


@pytest.fixture
def memory() -> Iterator[Memory]:
    clock = FrozenClock(AT)
    with Memory(store=ReferenceStore(), embedder=None, clock=clock) as held:
        for number, city in enumerate(CITIES):
            clock.set(AT + number * DAY)
            thread = held.thread(city)
            thread.add("user", f"The workshop in {city} starts at {number + 8}:15 and costs {number + 3}00 euros.")
            thread.end()
        clock.set(AT + 30 * DAY)
        yield held


def test_the_last_session_is_told_whole_and_the_others_by_a_digest_in_their_order(memory: Memory) -> None:
    context = memory.thread("new").context("", budget=3_000)
    (last,) = context.section("previous session")
    assert "Kyoto" in last.text
    earlier = [line.text for line in context.section("earlier sessions")]
    assert [next(city for city in CITIES if city in text) for text in earlier] == list(CITIES[:-1])


def test_every_line_of_the_digest_names_its_message_and_its_session(memory: Memory) -> None:
    for line in memory.thread("new").context("", budget=3_000).section("earlier sessions"):
        city = next(city for city in CITIES if city in line.text)
        assert line.sources == (memory.thread(city).messages()[0].id,)
        assert line.reason == f"of the summary of thread {city}"


def test_a_session_is_not_told_of_itself(memory: Memory) -> None:
    context = memory.thread("Oslo").context("", budget=3_000)
    told = [line.text for name in ("previous session", "earlier sessions") for line in context.section(name)]
    assert told
    assert not any("Oslo" in text for text in told)


def test_the_digest_has_the_room_of_one_summary_however_many_sessions_there_were() -> None:
    clock = FrozenClock(AT)
    with Memory(store=ReferenceStore(), embedder=None, clock=clock, settings=Settings(summary_tokens=80)) as memory:
        for number in range(SESSIONS + 8):
            clock.set(AT + number * DAY)
            thread = memory.thread(f"t{number}")
            thread.add("user", f"Invoice {number}4711 of 3{number} May goes to the Hotel Number{number} in Gate{number}.")
            thread.end()
        context = memory.thread("new").context("", budget=8_000)
    count = BuiltinCounter().count
    earlier = [line.item.text for line in context.made_of.block if line.item.section == "earlier sessions"]
    assert earlier
    assert sum(count(text) + 1 for text in earlier) <= 80


def test_what_was_superseded_since_is_told_with_what_holds_now(memory: Memory) -> None:
    first, second = memory.thread("a"), memory.thread("b")
    first.add("user", "I live in Riga and my flat number is 4512.")
    first.end()
    second.add("user", "I moved to Bern, where the flat number is 9921.")
    second.end()
    last = memory.thread("c")
    last.add("user", "The invoice number is 300417.")
    last.end()
    context = memory.thread("new").context("", budget=3_000)
    line = next(line for line in context.made_of.block if "4512" in line.item.text)
    assert line.item.changed == "lives in Bern"


def test_a_replay_has_the_same_bytes(memory: Memory) -> None:
    context = memory.thread("new").context("", budget=3_000)
    assert context.section("earlier sessions")
    assert memory.replay(context.receipt_id).to_bytes() == context.to_bytes()


def test_what_is_forgotten_is_told_no_more(memory: Memory) -> None:
    memory.forget(thread="Porto")
    context = memory.thread("new").context("", budget=3_000)
    assert not any("Porto" in line.text for line in context.lines)
