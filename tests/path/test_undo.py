"""Taking one change back, exactly, or not at all."""

from __future__ import annotations

from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from datetime import timedelta
from pathlib import Path

import pytest

from bethink import Conflict, InvalidInput, Memory, NotFound, Settings
from bethink.records import AnyRecord
from bethink.testing.doubles import FrozenClock

DAY = timedelta(days=1)


@pytest.fixture
def clock() -> FrozenClock:
    return FrozenClock()


@pytest.fixture(params=["memory", "sqlite"])
def memory(request: pytest.FixtureRequest, tmp_path: Path, clock: FrozenClock) -> Iterator[Memory]:
    path = ":memory:" if request.param == "memory" else tmp_path / "memory.db"
    with Memory(path, clock=clock, embedder=None, settings=Settings(profile_size=3)) as opened:
        yield opened


def say(memory: Memory, clock: FrozenClock, *texts: str, thread: str = "t") -> None:
    for text in texts:
        memory.thread(thread).add("user", text)
        clock.advance(DAY)


def standing(memory: Memory) -> dict[str, AnyRecord]:
    return {record.id: record for record in memory.records(current=True)}


def profile(memory: Memory) -> list[str]:
    return sorted(insight.text for insight in memory.profile())


class TestUndo:
    def test_what_an_end_stored_is_retired_and_what_it_retired_is_current_again(
        self, memory: Memory, clock: FrozenClock
    ) -> None:
        say(memory, clock, "I live in Porto.", "I like coffee.")
        memory.thread("t").end()
        before = standing(memory)
        say(memory, clock, "I moved to Ghent.")
        summary = memory.thread("t").end()
        assert summary is not None
        assert profile(memory) == ["likes coffee", "lives in Ghent"]
        memory.undo(summary.id)
        assert standing(memory) == before
        assert [record.reason for record in memory.records("summary", current=False)].count("undone") == 1

    def test_undoing_twice_changes_nothing(self, memory: Memory, clock: FrozenClock) -> None:
        say(memory, clock, "I live in Porto.")
        summary = memory.thread("t").end()
        assert summary is not None
        done = memory.undo(summary.id)
        records = memory.records(current=False)
        clock.advance(DAY)
        assert memory.undo(summary.id) == done
        assert memory.records(current=False) == records

    def test_of_several_at_once_one_does_it(self, memory: Memory, clock: FrozenClock) -> None:
        say(memory, clock, "I live in Porto.")
        memory.profile()
        (change,) = memory.changes()
        with ThreadPoolExecutor(6) as pool:
            done = {each.id for each in pool.map(lambda _: memory.undo(change.id), range(6))}
        assert len(done) == 1
        assert [each.what for each in memory.changes()] == ["drawn", "undone"]

    def test_ending_again_or_asking_again_does_not_bring_it_back(self, memory: Memory, clock: FrozenClock) -> None:
        say(memory, clock, "I live in Porto.")
        summary = memory.thread("t").end()
        assert summary is not None
        memory.undo(summary.id)
        assert memory.thread("t").end() is None
        assert profile(memory) == []

    def test_a_drawing_is_a_change_of_its_own(self, memory: Memory, clock: FrozenClock) -> None:
        say(memory, clock, "I live in Porto.")
        assert profile(memory) == ["lives in Porto"]
        say(memory, clock, "I moved to Ghent.")
        assert profile(memory) == ["lives in Ghent"]
        first, second = memory.changes()
        assert (first.what, first.thread_id, len(first.added)) == ("drawn", "t", 1)
        memory.undo(second.id)
        assert profile(memory) == ["lives in Porto"]

    def test_a_source_that_came_with_it_goes_with_it(self, memory: Memory, clock: FrozenClock) -> None:
        say(memory, clock, "I live in Porto.")
        before = list(memory.profile())
        say(memory, clock, "I live in Porto.")
        assert list(memory.profile()) != before
        memory.undo(memory.changes()[-1].id)
        assert list(memory.profile()) == before

    def test_a_use_since_stands_in_nobodys_way_and_stays_counted(self, memory: Memory, clock: FrozenClock) -> None:
        say(memory, clock, "I live in Porto.")
        (record,) = memory.profile()
        memory.cite(record.id)
        memory.undo(memory.changes()[-1].id)
        (left,) = memory.records("insight", current=False)
        assert (left.current, left.access_count) == (False, 1)

    def test_what_was_superseded_since_is_in_the_way(self, memory: Memory, clock: FrozenClock) -> None:
        for text in ("I live in Porto.", "I moved to Ghent.", "I moved to Lisbon."):
            say(memory, clock, text)
            memory.profile()
        first, second, third = memory.changes()
        before = memory.records(current=False)
        for earlier in (first, second):
            with pytest.raises(Conflict, match=r"been closed since"):
                memory.undo(earlier.id)
        assert memory.records(current=False) == before
        for change in (third, second, first):
            memory.undo(change.id)
        assert profile(memory) == []

    def test_what_was_said_again_since_is_in_the_way(self, memory: Memory, clock: FrozenClock) -> None:
        for _ in range(2):
            say(memory, clock, "I live in Porto.")
            memory.profile()
        with pytest.raises(Conflict, match="been said again"):
            memory.undo(memory.changes()[0].id)

    def test_a_slot_that_was_taken_since_is_in_the_way_of_what_was_archived(self, memory: Memory, clock: FrozenClock) -> None:
        say(memory, clock, "I like coffee.")
        memory.profile()
        clock.advance(99 * DAY)
        say(memory, clock, "My name is Mara.", "I'm vegetarian.", "I live in Porto.")
        memory.profile()
        archiving = memory.changes()[-1]
        assert "likes coffee" not in profile(memory)
        say(memory, clock, "I don't like coffee.")
        memory.profile()
        with pytest.raises(Conflict):
            memory.undo(archiving.id)

    def test_as_of_a_time_before_the_undoing_it_is_as_it_was(self, memory: Memory, clock: FrozenClock) -> None:
        say(memory, clock, "I live in Porto.")
        memory.profile()
        asked = clock.now()
        clock.advance(DAY)
        memory.undo(memory.changes()[0].id)
        assert [insight.text for insight in memory.profile(as_of=asked)] == ["lives in Porto"]
        assert not memory.profile(as_of=clock.now())

    def test_after_a_forget_it_takes_back_what_is_left(self, memory: Memory, clock: FrozenClock) -> None:
        say(memory, clock, "I live in Porto.", "I moved to Ghent.")
        memory.profile()
        memory.forget(message=memory.thread("t").messages()[1].id)
        memory.undo(memory.changes()[0].id)
        assert profile(memory) == []
        assert memory.check() == []

    def test_an_unknown_change_is_not_found_and_an_undoing_is_not_undone(self, memory: Memory, clock: FrozenClock) -> None:
        with pytest.raises(NotFound):
            memory.undo("unknown")
        say(memory, clock, "I live in Porto.")
        memory.profile()
        done = memory.undo(memory.changes()[0].id)
        with pytest.raises(InvalidInput):
            memory.undo(done.id)

    def test_another_namespace_has_no_such_change(self, memory: Memory, clock: FrozenClock) -> None:
        say(memory, clock, "I live in Porto.")
        memory.profile()
        with pytest.raises(NotFound):
            memory.user("other").undo(memory.changes()[0].id)
