"""Questions as of a time, about a time of the world, and about what has changed."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import datetime, timedelta, timezone
from pathlib import Path

import msgspec
import pytest

from bethink import Insight, InvalidInput, Memory, NotFound, Settings
from bethink.insights.past import true_at
from bethink.records import Source
from bethink.storage.base import Version
from bethink.storage.known import as_known
from bethink.testing.doubles import START, FrozenClock

DAY = timedelta(days=1)


@pytest.fixture
def clock() -> FrozenClock:
    return FrozenClock()


@pytest.fixture(params=["memory", "sqlite"])
def memory(request: pytest.FixtureRequest, tmp_path: Path, clock: FrozenClock) -> Iterator[Memory]:
    path = ":memory:" if request.param == "memory" else tmp_path / "memory.db"
    with Memory(path, clock=clock, embedder=None, settings=Settings(profile_size=3)) as opened:
        yield opened


def tell(memory: Memory, clock: FrozenClock, *texts: str, thread: str = "t") -> list[datetime]:
    """Each a day after the other, and somebody asks: when each was told."""
    times = []
    for text in texts:
        memory.thread(thread).add("user", text)
        memory.profile()
        times.append(clock.now())
        clock.advance(DAY)
    return times


def texts(found: object) -> list[str]:
    return [each.text for each in found]  # type: ignore[attr-defined]


class TestSystemTime:
    def test_the_profile_is_as_it_was_known_then(self, memory: Memory, clock: FrozenClock) -> None:
        porto, ghent = tell(memory, clock, "I live in Porto.", "I moved to Ghent.")
        assert texts(memory.profile(as_of=porto)) == ["lives in Porto"]
        assert texts(memory.profile(as_of=ghent)) == ["lives in Ghent"]

    def test_before_anything_was_known_there_is_nothing(self, memory: Memory, clock: FrozenClock) -> None:
        (told,) = tell(memory, clock, "I live in Porto.")
        assert not memory.profile(as_of=told - DAY)
        assert not memory.recall("Porto", as_of=told - DAY)

    def test_uses_count_from_when_they_were_told_of(self, memory: Memory, clock: FrozenClock) -> None:
        (told,) = tell(memory, clock, "I live in Porto.")
        memory.cite(memory.records("insight")[0].id)
        cited = clock.now()
        counts = [
            memory.profile(as_of=at).entries[0].insight.access_count for at in (told, cited - timedelta(microseconds=1), cited)
        ]
        assert counts == [0, 0, 1]

    def test_what_was_archived_and_came_back_was_away_in_between(self, memory: Memory, clock: FrozenClock) -> None:
        tell(memory, clock, "I like coffee.", "I live in Porto.", "I work at Acme.", "My name is Mara.", "I'm vegetarian.")
        archived = clock.now()
        assert "likes coffee" not in texts(memory.profile())
        clock.advance(DAY)
        tell(memory, clock, "I like coffee.")
        (record,) = [record for record in memory.records("insight", current=False) if record.text == "likes coffee"]
        events = [event.what for event in memory.history(record.id)[0].events]
        assert "likes coffee" not in texts(memory.profile(as_of=archived))
        assert events[:2] == ["recorded", "retired"]
        assert "restated" in events

    def test_a_source_that_came_later_is_none_yet(self, memory: Memory, clock: FrozenClock) -> None:
        first, _ = tell(memory, clock, "I live in Porto.", "I live in Porto.")
        (then,) = memory.profile(as_of=first)
        (now,) = memory.profile()
        assert (len(then.sources), len(now.sources)) == (1, 2)

    def test_messages_that_were_stored_later_are_not_recalled(self, memory: Memory, clock: FrozenClock) -> None:
        first, _ = tell(memory, clock, "The bees are in the garden.", "The bees are in the orchard.")
        assert texts(memory.recall("bees", as_of=first)) == ["The bees are in the garden."]

    def test_a_turn_ends_with_what_was_stored_by_then(self, memory: Memory, clock: FrozenClock) -> None:
        (asked,) = tell(memory, clock, "Where are the bees?")
        memory.thread("t").add("assistant", "In the garden.")
        (hit,) = memory.recall("bees", unit="turn", as_of=asked)
        assert texts(hit.members) == ["Where are the bees?"]

    def test_V051_an_old_message_that_was_imported_late_was_not_known_before(self, memory: Memory, clock: FrozenClock) -> None:
        clock.advance(9 * DAY)
        memory.thread("old").add("user", "The bees are in the garden.", created_at=START)
        assert not memory.recall("bees", as_of=START + DAY)
        assert memory.recall("bees", as_of=clock.now())

    def test_what_was_forgotten_since_stays_forgotten(self, memory: Memory, clock: FrozenClock) -> None:
        porto, ghent = tell(memory, clock, "I live in Porto.", "I moved to Ghent.")
        said = memory.thread("t").messages()
        memory.forget(message=said[1].id)
        assert texts(memory.profile(as_of=ghent)) == ["lives in Porto"]
        assert not memory.recall("Ghent", as_of=ghent)
        memory.forget(message=said[0].id)
        assert not memory.profile(as_of=porto)

    @pytest.mark.parametrize("verb", ["profile", "recall"])
    def test_V050_a_time_to_come_or_without_a_zone_is_refused(self, memory: Memory, clock: FrozenClock, verb: str) -> None:
        args = ("bees",) if verb == "recall" else ()
        for wrong in (clock.now() + DAY, START.replace(tzinfo=None), "2026-01-01"):
            with pytest.raises(InvalidInput, match="as_of"):
                getattr(memory, verb)(*args, as_of=wrong)
        with pytest.raises(InvalidInput, match="valid_at"):
            getattr(memory, verb)(*args, valid_at=START.replace(tzinfo=None))


class TestWorldTime:
    def test_what_was_true_then_may_have_been_superseded_since(self, memory: Memory, clock: FrozenClock) -> None:
        porto, ghent = tell(memory, clock, "I live in Porto.", "I moved to Ghent.")
        assert texts(memory.profile(valid_at=porto)) == ["lives in Porto"]
        assert texts(memory.profile(valid_at=ghent)) == ["lives in Ghent"]
        assert texts(memory.recall("where does she live", kinds=["insight"], valid_at=porto)) == ["lives in Porto"]

    def test_both_times_together_say_what_was_believed_then_of_then(self, memory: Memory, clock: FrozenClock) -> None:
        porto, ghent = tell(memory, clock, "I live in Porto.", "I moved to Ghent.")
        assert texts(memory.profile(as_of=porto, valid_at=ghent)) == ["lives in Porto"]
        assert texts(memory.profile(as_of=ghent, valid_at=porto)) == ["lives in Porto"]

    def test_what_has_been_corrected_never_was_true(self, memory: Memory, clock: FrozenClock) -> None:
        wrong, _ = tell(memory, clock, "I live in Porto.", "Actually it's Lisbon, not Porto.")
        assert texts(memory.profile(as_of=wrong)) == ["lives in Porto"]
        assert texts(memory.profile(valid_at=wrong)) == []

    def test_a_message_that_was_said_later_is_not_recalled(self, memory: Memory, clock: FrozenClock) -> None:
        first, _ = tell(memory, clock, "The bees are in the garden.", "The bees are in the orchard.")
        assert texts(memory.recall("bees", valid_at=first)) == ["The bees are in the garden."]

    def test_a_time_to_come_may_be_asked_for(self, memory: Memory, clock: FrozenClock) -> None:
        tell(memory, clock, "I live in Porto.")
        memory.store("the key is in the shed", at=clock.now() + 10 * DAY)
        assert texts(memory.profile(valid_at=clock.now() + 99 * DAY)) == ["lives in Porto"]
        assert not memory.recall("key shed", valid_at=clock.now())
        assert memory.recall("key shed", valid_at=clock.now() + 11 * DAY)


class TestHistory:
    def test_V092_it_tells_what_took_whose_place_and_why_oldest_first(self, memory: Memory, clock: FrozenClock) -> None:
        porto, ghent = tell(memory, clock, "I live in Porto.", "I moved to Ghent.")
        first, second = memory.history("residence")
        said = [message.id for message in memory.thread("t").messages()]
        assert [first.record.text, second.record.text] == ["lives in Porto", "lives in Ghent"]
        assert [(event.at, event.what) for event in first.events] == [(porto, "recorded"), (ghent, "retired")]
        assert (first.events[1].reason, first.events[1].superseded_by) == ("superseded", second.record.id)
        assert [source.message_id for source in second.events[0].sources] == said[1:]

    def test_it_is_the_same_from_any_of_its_records_or_their_marks(self, memory: Memory, clock: FrozenClock) -> None:
        tell(memory, clock, "I live in Porto.", "I moved to Ghent.", "I moved to Lisbon.", "I like tea.")
        whole = memory.history("residence")
        assert len(whole) == 3
        for entry in whole:
            assert memory.history(entry.record.id) == whole
            assert memory.history(f"mem:{entry.record.id.replace('-', '')[-8:]}") == whole

    def test_what_was_said_again_and_became_current_again_is_told(self, memory: Memory, clock: FrozenClock) -> None:
        tell(memory, clock, "I live in Porto.", "I moved to Ghent.", "I moved to Porto.")
        first, _ = memory.history("residence")
        assert [event.what for event in first.events] == ["recorded", "retired", "restated", "returned"]

    def test_an_unknown_record_or_slot_is_not_found(self, memory: Memory) -> None:
        for unknown in ("residence", "mem:3f2a9c1d", "019bea82-cf80-7db8-b808-604b99e76e19"):
            with pytest.raises(NotFound):
                memory.history(unknown)


class TestDiff:
    def test_it_tells_what_was_learned_changed_and_archived(self, memory: Memory, clock: FrozenClock) -> None:
        tell(memory, clock, "I like coffee.", "I live in Porto.", "I work at Acme.")
        since = clock.now()
        clock.advance(DAY)
        tell(memory, clock, "I moved to Ghent.", "My name is Mara.")
        found = memory.diff(since)
        assert texts(found.learned) == ["name: Mara"]
        assert [(each.old.text, each.new.text, each.reason) for each in found.changed] == [
            ("lives in Porto", "lives in Ghent", "superseded")
        ]
        assert len(found.archived) == 1
        assert not found.retired

    def test_a_change_by_way_of_others_is_one_change(self, memory: Memory, clock: FrozenClock) -> None:
        (since, *_) = tell(memory, clock, "I live in Porto.", "I moved to Ghent.", "I moved to Lisbon.")
        found = memory.diff(since)
        assert [(each.old.text, each.new.text) for each in found.changed] == [("lives in Porto", "lives in Lisbon")]
        assert not found.learned

    def test_what_came_and_went_again_is_no_difference(self, memory: Memory, clock: FrozenClock) -> None:
        (since, *_) = tell(memory, clock, "I live in Porto.", "I moved to Ghent.", "I moved to Porto.")
        assert not memory.diff(since)

    def test_what_was_forgotten_is_counted_and_not_named(self, memory: Memory, clock: FrozenClock) -> None:
        (since,) = tell(memory, clock, "I live in Porto.")
        memory.forget(message=memory.thread("t").messages()[0].id)
        found = memory.diff(since)
        assert (found.forgotten_messages, found.forgotten_records) == (1, 1)
        assert b"Porto" not in msgspec.json.encode(found)
        assert not memory.diff(since - 2 * DAY, since - DAY)

    def test_times_in_the_wrong_order_or_to_come_are_refused(self, memory: Memory, clock: FrozenClock) -> None:
        clock.advance(9 * DAY)
        with pytest.raises(InvalidInput, match="since"):
            memory.diff(START + DAY, START)
        with pytest.raises(InvalidInput, match="until"):
            memory.diff(START, clock.now() + DAY)
        with pytest.raises(InvalidInput, match="since"):
            memory.diff(START.replace(tzinfo=None))


def insight(**fields: object) -> Insight:
    given = {"id": "r", "text": "lives in Porto", "trust": "user", "recorded_at": START, "topic": "identity", "subject": "user"}
    return Insight(**{**given, "slot": "residence", "value": "porto", **fields})  # type: ignore[arg-type]


class TestAsKnown:
    def test_changes_of_different_fields_are_each_taken_back(self) -> None:
        versions = [
            Version(until=START + DAY, before={"access_count": 0}),
            Version(until=START + 2 * DAY, before={"reason": ""}),
        ]
        known = as_known(insight(access_count=1, reason="x"), versions, START)
        assert known == insight()

    def test_words_of_a_later_source_are_not_those_of_then(self) -> None:
        sources = (Source("m1", "t", "in Porto"), Source("m2", "t", "Porto it is"))
        version = Version(until=START + DAY, gained=(("t", "m2"),))
        known = as_known(insight(text="Porto it is", sources=sources), [version], START)
        assert known is not None
        assert known.text == "in Porto"

    def test_a_record_whose_sources_of_then_are_gone_is_not_there(self) -> None:
        version = Version(until=START + DAY, gained=(("t", "m2"),))
        record = insight(sources=(Source("m2", "t", "Porto it is"),))
        assert as_known(record, [version], START) is None
        assert as_known(record, [version], START + DAY) == record

    def test_the_copy_of_a_message_in_another_thread_is_a_source_of_its_own(self) -> None:
        sources = (Source("m1", "t", "x"), Source("m1", "fork", "x"))
        known = as_known(insight(sources=sources), [Version(until=START + DAY, gained=(("fork", "m1"),))], START)
        assert known is not None
        assert known.sources == sources[:1]

    def test_an_interval_holds_its_beginning_and_not_its_end(self) -> None:
        record = insight(valid_from=START, valid_to=START + DAY, retired_at=START, superseded_by="s", reason="superseded")
        assert [true_at(record, START + step) for step in (-DAY, 0 * DAY, DAY)] == [False, True, False]

    def test_a_time_with_another_offset_is_the_same_time(self, memory: Memory, clock: FrozenClock) -> None:
        (told,) = tell(memory, clock, "I live in Porto.")
        assert len(memory.profile(as_of=told.astimezone(timezone(timedelta(hours=9))))) == 1
