"""The dry run of a profile: what the end of a session would archive, and that looking writes nothing."""

from __future__ import annotations

from datetime import datetime, timedelta, timezone

import pytest

from bethink.errors import InvalidInput
from bethink.memory import Memory
from bethink.profile import Profile
from bethink.settings import Retention, Settings
from bethink.storage.reference import ReferenceStore
from bethink.testing.doubles import FrozenClock

AT = datetime(2026, 3, 1, 9, tzinfo=timezone.utc)
DAY = timedelta(days=1)
SAID = "I'm allergic to peanuts. I live in Ghent. I like jazz. I like tea. I bought a kayak yesterday."


@pytest.fixture
def memory() -> Memory:
    held = Memory(store=ReferenceStore(), embedder=None, clock=FrozenClock(AT), settings=Settings(profile_size=6))
    held.thread("t").add("user", SAID, created_at=AT)
    return held


def told(entries: object) -> list[str]:
    return [entry.insight.text for entry in entries]  # type: ignore[attr-defined]


def test_a_profile_within_its_bound_would_lose_nothing(memory: Memory) -> None:
    preview = memory.profile().preview()
    assert told(preview.keep) == told(memory.profile().entries)
    assert preview.archive == ()


def test_a_smaller_bound_would_archive_what_scores_lowest_and_no_allergy(memory: Memory) -> None:
    preview = memory.profile().preview(size=2)
    assert len(preview.keep) == 2
    assert "allergic to peanuts" in told(preview.keep)
    assert told(preview.archive)[-1] == "bought a kayak (28 February 2026)"


def test_a_preview_of_later_goes_by_the_scores_of_then(memory: Memory) -> None:
    now, then = memory.profile().preview(), memory.profile().preview(AT + 30 * DAY)
    assert all(after.score < before.score for before, after in zip(now.keep, then.keep, strict=True))


def test_other_parameters_can_be_tried(memory: Memory) -> None:
    loud = memory.profile().preview(size=2, retention=Retention(low=9.0))
    assert "bought a kayak (28 February 2026)" in told(loud.keep)


def test_a_preview_writes_nothing(memory: Memory) -> None:
    before = memory.profile(), list(memory.export())
    memory.profile().preview(AT + 400 * DAY, size=1)
    assert (memory.profile(), list(memory.export())) == before


def test_the_end_of_a_session_archives_what_was_previewed() -> None:
    clock = FrozenClock(AT)
    with Memory(store=ReferenceStore(), embedder=None, clock=clock, settings=Settings(profile_size=4)) as memory:
        thread = memory.thread("t")
        thread.add("user", SAID)
        first = memory.profile()
        assert told(first.beyond) == []  # deriving keeps to the bound as well
        assert len(first) == 4
        thread.end()
        assert told(memory.profile().entries) == told(first.preview().keep)


def test_a_time_without_a_zone_is_refused(memory: Memory) -> None:
    with pytest.raises(InvalidInput, match="at"):
        memory.profile().preview(datetime(2026, 3, 1))  # noqa: DTZ001 - that is what is refused


def test_a_profile_that_was_never_read_has_to_be_told_when() -> None:
    with pytest.raises(InvalidInput, match="say when"):
        Profile("user", ()).preview()
