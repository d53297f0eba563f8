"""Pinning and letting go: what stays in view whatever it scores."""

from __future__ import annotations

from datetime import datetime, timedelta, timezone

import pytest

from bethink import AsyncMemory, Conflict, InvalidInput, Memory, NotFound, Settings
from bethink.errors import LimitExceeded
from bethink.limits import Limits
from bethink.records import Insight
from bethink.testing.doubles import FrozenClock

AT = datetime(2026, 3, 2, 9, 0, tzinfo=timezone.utc)


@pytest.fixture
def clock() -> FrozenClock:
    return FrozenClock(AT)


@pytest.fixture
def memory(clock: FrozenClock) -> Memory:
    return Memory(embedder=None, clock=clock, settings=Settings(profile_size=2))


def insight(memory: Memory, slot: str) -> Insight:
    return next(each for each in memory.profile() if each.slot == slot)


def liking(memory: Memory, *things: str) -> None:
    """A session that says so, and ends."""
    thread = memory.thread()
    for thing in things:
        thread.add("user", f"I love {thing}.")
    thread.end()


def test_a_pinned_note_is_in_every_context_until_it_is_let_go(memory: Memory) -> None:
    note = memory.store("Invoices go to the Lyon office.")
    thread = memory.thread("t")
    thread.add("user", "hello")
    assert "Lyon" not in str(thread.context().messages)
    memory.pin(note.id)
    assert "Lyon" in str(thread.context().messages)
    memory.unpin(note.id)
    assert "Lyon" not in str(thread.context().messages)


def test_a_pinned_insight_is_never_archived(memory: Memory, clock: FrozenClock) -> None:
    liking(memory, "tea")
    (tea,) = memory.pin(next(iter(memory.profile())).id)
    for number, things in enumerate((("coffee", "jazz"), ("skiing", "opera"))):
        clock.set(AT + timedelta(days=40 * (number + 1)))
        liking(memory, *things)
    assert tea.id in [each.id for each in memory.profile()]
    memory.unpin(tea.id)
    liking(memory, "chess")
    assert tea.id not in [each.id for each in memory.profile()]


def test_pinning_again_changes_nothing(memory: Memory) -> None:
    note = memory.store("Never book night flights.")
    memory.pin(note.id)
    assert memory.pin(note.id, note.id) == [memory.records("note")[0]] * 2
    assert [event.what for event in memory.history(note.id)[0].events] == ["recorded", "pinned"]


def test_history_tells_when_it_was_pinned_and_let_go(memory: Memory, clock: FrozenClock) -> None:
    note = memory.store("Never book night flights.")
    for step, verb in enumerate((memory.pin, memory.unpin, memory.pin)):
        clock.set(AT + timedelta(hours=step + 1))
        verb(note.id)
    told = [(event.what, event.at - AT) for event in memory.history(note.id)[0].events[1:]]
    assert told == [("pinned", timedelta(hours=1)), ("unpinned", timedelta(hours=2)), ("pinned", timedelta(hours=3))]


def test_a_profile_as_of_a_time_has_what_was_pinned_then(memory: Memory, clock: FrozenClock) -> None:
    thread = memory.thread("t")
    for thing in ("tea", "jazz"):
        thread.add("user", f"I love {thing}.")
    second = list(memory.profile())[1]
    clock.set(AT + timedelta(hours=1))
    memory.pin(second.id)
    clock.set(AT + timedelta(hours=2))
    before, after = (memory.profile(as_of=AT + timedelta(minutes=minutes)) for minutes in (30, 90))
    assert [each.pinned for each in before] == [False, False]
    assert next((each.id, each.pinned) for each in after) == (second.id, True)


def test_a_newer_statement_takes_the_place_of_a_pinned_one_and_is_not_pinned(memory: Memory) -> None:
    thread = memory.thread("t")
    thread.add("user", "I live in Porto.")
    memory.pin(insight(memory, "residence").id)
    thread.add("user", "I moved to Ghent.")
    home = insight(memory, "residence")
    assert (home.value, home.pinned) == ("ghent", False)


def test_what_is_no_longer_current_is_refused_with_what_to_do(memory: Memory) -> None:
    thread = memory.thread("t")
    thread.add("user", "I live in Porto.")
    former = insight(memory, "residence")
    thread.add("user", "I moved to Ghent.")
    memory.profile()
    with pytest.raises(Conflict, match="pin what took its place"):
        memory.pin(former.id)


def test_what_is_not_there_is_refused_and_nothing_of_the_call_is_done(memory: Memory) -> None:
    note = memory.store("Never book night flights.")
    with pytest.raises(NotFound):
        memory.pin(note.id, "01980000000070008000000000000001")
    with pytest.raises(NotFound):
        memory.pin("ffffffff")
    assert not memory.records("note")[0].pinned


def test_a_session_summary_cannot_be_pinned(memory: Memory) -> None:
    liking(memory, "tea")
    with pytest.raises(InvalidInput, match="pin a note, an insight or an episode"):
        memory.pin(memory.records("summary")[0].id)


def test_what_another_user_has_is_not_there(memory: Memory) -> None:
    note = memory.user("ada").store("Never book night flights.")
    with pytest.raises(NotFound):
        memory.user("bob").pin(note.id)


def test_more_than_a_limit_takes_is_refused_by_the_context(memory: Memory) -> None:
    thread = memory.thread("t", limits=Limits(memory_tokens=100))
    thread.add("user", "hello")
    memory.pin(memory.store("word " * 200).id)
    with pytest.raises(LimitExceeded, match="unpin something"):
        thread.context()


async def _pinned_on_a_loop() -> tuple[bool, bool]:
    async with AsyncMemory(embedder=None) as memory:
        note = await memory.store("Never book night flights.")
        return (await memory.pin(note.id))[0].pinned, (await memory.unpin(note.id))[0].pinned


def test_on_an_event_loop_it_is_the_same() -> None:
    import asyncio

    assert asyncio.run(_pinned_on_a_loop()) == (True, False)
