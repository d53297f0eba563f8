"""A scripted year: 500 sessions of one user, compressed to seconds. What he is known by at the end is small, current and safe.

40 facts change, each once and at a time of its own; 20 are told in the first weeks and never used again; 5 allergies are told
once; 3 notes and insights are pinned. Everything else of the 500 sessions is talk.
"""

from __future__ import annotations

import random
from collections.abc import Iterator
from datetime import datetime, timedelta, timezone

import pytest

from bethink import Insight, Memory, Settings
from bethink.storage.base import Put
from bethink.testing.doubles import FrozenClock

START = datetime(2026, 1, 1, 8, tzinfo=timezone.utc)
SESSIONS = 500
ALLERGIES = ("peanuts", "shellfish", "latex", "penicillin", "sesame")
NEVER_CITED = tuple(f"I like board game {number}." for number in range(20))
# Of each: who or what it is about, and its two values. A subject's own slot, so that nothing else may take its place.
CHANGES = tuple((f"Person{number}", f"Town{number}a", f"Town{number}b") for number in range(36))
OWN = (
    ("I live in Ghent now.", "I live in Porto now.", "lives in Ghent", "lives in Porto"),
    ("I work at Acme.", "I work at Umbra.", "works at Acme", "works at Umbra"),
    ("My name is Mara Lind.", "My name is Mara Sol.", "Mara Lind", "Mara Sol"),
    ("My favourite colour is green.", "My favourite colour is blue.", "green", "blue"),
)
TALK = (
    "What do I cook tonight?",
    "The train was late again and the coffee was cold.",
    "Please find a table for four at noon.",
    "The meeting moved to the large room.",
)


class Year:
    """The memory at the end of it, and what was said."""

    def __init__(self) -> None:
        self.clock = FrozenClock(START)
        self.settings = Settings(reflect_after=timedelta(hours=2))
        self.memory = Memory(embedder=None, clock=self.clock, settings=self.settings)
        self.sizes: list[int] = []
        self.pinned: list[str] = []

    def live(self) -> None:
        said = self.script()
        for number in range(SESSIONS):
            thread = self.memory.thread(f"s{number:03}")
            for name, text in said.get(number, ()):
                thread.add("user", text, name=name)
            thread.add("user", TALK[number % len(TALK)])
            # The end of each session is noticed at the beginning of the next.
            if number % 25 == 0:
                self.sizes.append(len(self.memory.profile()))
            if number == 100:
                self.pin()
            self.clock.advance(timedelta(hours=17, minutes=30))
        self.memory.flush()

    def script(self) -> dict[int, list[tuple[str | None, str]]]:
        chance = random.Random(8)
        said: dict[int, list[tuple[str | None, str]]] = {}
        for name, first, second in CHANGES:
            before, after = sorted(chance.sample(range(SESSIONS), 2))
            said.setdefault(before, []).append((name, f"I live in {first} now."))
            said.setdefault(after, []).append((name, f"I live in {second} now."))
        for first, second, *_ in OWN:
            before, after = sorted(chance.sample(range(20, SESSIONS), 2))
            said.setdefault(before, []).append((None, first))
            said.setdefault(after, []).append((None, second))
        for number, text in enumerate(NEVER_CITED):
            said.setdefault(number, []).append((None, text))
        for number, allergen in enumerate(ALLERGIES):
            said.setdefault(5 + number * 3, []).append((None, f"I'm allergic to {allergen}."))
        return said

    def pin(self) -> None:
        """A note, and an insight given by hand."""
        note = self.memory.store("Never book night flights.", pinned=True)
        insight = Insight(
            id="019b76da-a800-7000-8000-000000000001",
            text="speaks Tamil",
            trust="user",
            recorded_at=self.clock.now(),
            topic="identity",
            subject="user",
            slot="language",
            value="tamil",
            pinned=True,
            importance="low",
        )
        self.memory._engine.store.put(Put(namespace=("default",), records=(insight,)))
        self.pinned += [note.id, insight.id]


@pytest.fixture(scope="module")
def year() -> Iterator[Year]:
    lived = Year()
    lived.live()
    yield lived
    lived.memory.close()


pytestmark = pytest.mark.slow


def profile(year: Year, subject: str = "user") -> list[str]:
    return [insight.text for insight in year.memory.profile(subject)]


def test_the_profile_stays_within_its_bound(year: Year) -> None:
    assert max(*year.sizes, len(profile(year))) <= year.settings.profile_size


def test_every_allergy_is_known_a_year_later(year: Year) -> None:
    known = " ".join(profile(year))
    assert [allergen for allergen in ALLERGIES if allergen not in known] == []


def test_what_is_pinned_survives(year: Year) -> None:
    current = {record.id for record in year.memory.records()}
    assert set(year.pinned) <= current
    assert "speaks Tamil" in profile(year)


@pytest.mark.parametrize(("name", "old", "new"), CHANGES)
def test_what_others_told_is_as_they_told_it_last(year: Year, name: str, old: str, new: str) -> None:
    known = " ".join(profile(year, name))
    assert new in known
    assert old not in known


@pytest.mark.parametrize(("first", "second", "old", "new"), OWN)
def test_what_the_user_told_is_as_he_told_it_last(year: Year, first: str, second: str, old: str, new: str) -> None:
    insights = [record for record in year.memory.records("insight", current=False) if isinstance(record, Insight)]
    own = [insight for insight in insights if insight.subject == "user"]
    assert [insight.text for insight in own if old in insight.text and insight.current] == []
    latest = [insight for insight in own if new in insight.text]
    # Current, or archived for its low score; never superseded by what is older.
    assert latest
    assert all(insight.superseded_by is None for insight in latest)


def test_what_was_never_used_leaves_before_what_matters(year: Year) -> None:
    insights = [record for record in year.memory.records("insight", current=False) if isinstance(record, Insight)]
    games = [insight for insight in insights if "board game" in insight.text]
    assert len(games) == len(NEVER_CITED)
    archived = [insight for insight in games if not insight.current]
    assert archived
    assert all(insight.reason.startswith("archived") for insight in archived)


def test_every_session_but_the_last_was_ended_by_itself(year: Year) -> None:
    open_ones = [thread.thread_id for thread in year.memory.threads() if thread.reflected_through < thread.tip]
    assert open_ones in ([], [f"s{SESSIONS - 1}"])


def test_the_next_session_starts_with_the_last_one(year: Year) -> None:
    year.memory.thread("next").add("user", "Hello again!")
    sections = [line.section for line in year.memory.thread("next").context(budget=1_500).lines]
    assert "profile" in sections
    previous = year.memory.thread(f"s{SESSIONS - 1}").reflection()
    assert previous is not None


def test_the_database_is_sound(year: Year) -> None:
    assert year.memory.check() == []
