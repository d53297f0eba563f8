"""The retention score against values computed by hand, and what the profile makes of it."""

from __future__ import annotations

import math
from datetime import datetime, timedelta, timezone
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bethink.errors import InvalidInput
from bethink.ids import derived_id
from bethink.insights.retention import beyond, curve, exempt, first_hand, score, select_profile
from bethink.records import Episode, Importance, Insight
from bethink.settings import Retention, Settings

NOW = datetime(2026, 11, 30, 12, tzinfo=timezone.utc)
DAY = timedelta(days=1)


def insight(name: str = "a", **fields: Any) -> Insight:
    given_fields: dict[str, Any] = {
        "text": f"likes {name}",
        "trust": "user",
        "recorded_at": NOW - 30 * DAY,
        "topic": "preference",
        "subject": "user",
        "slot": f"likes:{name}",
        "value": name,
    } | fields
    return Insight(id=name, **given_fields)


def test_an_insight_is_as_old_as_what_was_said_however_late_it_was_recorded() -> None:
    said = derived_id(NOW - 10 * DAY, "coffee")
    late, at_once = (insight(said, recorded_at=at) for at in (NOW, NOW - 10 * DAY))
    assert score(late, now=NOW, retention=Retention()) == score(at_once, now=NOW, retention=Retention())
    assert late.said_at == NOW - 10 * DAY


def test_an_episode_is_as_old_as_the_work() -> None:
    done: dict[str, Any] = {"text": "x", "trust": "user", "task": "x", "outcome": "success", "ended_at": NOW - 10 * DAY}
    late, at_once = (Episode(id="e", recorded_at=at, **done) for at in (NOW, NOW - 10 * DAY))
    assert score(late, now=NOW, retention=Retention()) == score(at_once, now=NOW, retention=Retention())


@pytest.mark.parametrize(
    ("days", "accesses", "importance", "expected"),
    [
        (0, 0, "medium", 1.3),  # e^0 + 0.3
        (6.9, 0, "medium", 0.7945 + 0.3),  # e^(-6.9/30)
        (7, 0, "medium", 0.7919),  # e^(-7/30): the boost is over at exactly 7 days
        (30, 0, "medium", 0.3679),  # 1/e: an e-folding time
        (30, 0, "high", 0.5518),
        (30, 0, "low", 0.2943),
        (30, 1, "medium", 0.5540),  # strength 1 + ln 2
        (30, 10, "medium", 0.7451),  # strength 1 + ln 11 = 3.3979
        (60, 0, "medium", 0.1353),
        (365, 0, "high", 0.0000),
    ],
)
def test_score_is_the_published_formula(days: float, accesses: int, importance: Importance, expected: float) -> None:
    told = insight(recorded_at=NOW - timedelta(days=days), access_count=accesses, importance=importance)
    assert score(told, now=NOW, retention=Retention()) == pytest.approx(expected, abs=5e-5)


def test_days_count_from_the_last_access() -> None:
    cited = insight(recorded_at=NOW - 300 * DAY, last_accessed=NOW - 30 * DAY, access_count=10)
    assert score(cited, now=NOW, retention=Retention()) == pytest.approx(0.7451, abs=5e-5)


def test_the_boost_is_for_what_is_new_not_for_what_was_used() -> None:
    cited = insight(recorded_at=NOW - 300 * DAY, last_accessed=NOW)
    assert score(cited, now=NOW, retention=Retention()) == 1.0


@pytest.mark.parametrize("ahead", [timedelta(seconds=1), 10 * DAY, 40 * DAY, 400 * DAY])
def test_V052_what_is_dated_in_the_future_scores_as_what_is_fresh(ahead: timedelta) -> None:
    fresh = score(insight(recorded_at=NOW), now=NOW, retention=Retention())
    assert score(insight(recorded_at=NOW + ahead), now=NOW, retention=Retention()) == fresh
    assert score(insight(recorded_at=NOW, last_accessed=NOW + ahead), now=NOW, retention=Retention()) == fresh


def test_V052_a_clock_that_goes_back_does_not_raise_a_score() -> None:
    told = insight(recorded_at=NOW)
    assert score(told, now=NOW - 40 * DAY, retention=Retention()) == score(told, now=NOW, retention=Retention())


@given(st.integers(-4000, 4000), st.integers(-4000, 4000), st.integers(0, 10**9), st.sampled_from(["high", "medium", "low"]))
def test_score_is_within_its_range_for_any_ages(recorded: int, accessed: int, count: int, importance: Importance) -> None:
    told = insight(
        recorded_at=NOW + recorded * DAY, last_accessed=NOW + accessed * DAY, access_count=count, importance=importance
    )
    value = score(told, now=NOW, retention=Retention())
    assert math.isfinite(value)
    assert 0 <= value <= 1.3 * 1.5


def test_parameters_come_from_the_settings() -> None:
    quick = Retention(base_decay=timedelta(days=3), recency_boost=0.0, medium=2.0)
    assert score(insight(recorded_at=NOW - 3 * DAY), now=NOW, retention=quick) == pytest.approx(2 / math.e)


@pytest.mark.parametrize(
    ("told", "expected"),
    [
        (insight("tea", pinned=True), True),
        (insight("peanuts", topic="constraint", slot="allergy:peanuts"), True),
        (insight("asthma", topic="constraint", slot="medical:asthma"), True),
        (insight("lactose", topic="constraint", slot="intolerance:lactose"), True),
        (insight("parole", topic="constraint", slot="legal:on parole"), True),
        (insight("budget", topic="constraint", slot="budget"), False),
        (insight("tea"), False),
        (insight("allergy", topic="preference", slot="allergy:talk"), False),
    ],
)
def test_what_is_pinned_and_what_concerns_health_or_the_law_is_exempt(told: Insight, expected: bool) -> None:
    assert exempt(told) is expected


def test_which_constraints_are_exempt_is_a_setting() -> None:
    budget = insight("budget", topic="constraint", slot="budget")
    assert exempt(budget, Retention(exempt=("budget",)))
    assert not exempt(insight("nuts", topic="constraint", slot="allergy:nuts"), Retention(exempt=()))


@pytest.mark.parametrize(
    "wrong",
    [{"base_decay": timedelta()}, {"recency_window": -DAY}, {"high": -1.0}, {"low": math.nan}, {"recency_boost": math.inf}],
)
def test_parameters_that_make_no_score_are_refused(wrong: dict[str, Any]) -> None:
    with pytest.raises(InvalidInput, match=next(iter(wrong))):
        Retention(**wrong)


def test_a_curve_is_the_scores_to_come() -> None:
    told = insight(recorded_at=NOW)
    expected = tuple(score(told, now=NOW + each * DAY, retention=Retention()) for each in (0, 10, 90))
    assert curve(told, start=NOW, days=(0, 10, 90), retention=Retention()) == expected


# -- the profile ----------------------------------------------------------------------------------------------------------


def names(selected: tuple[tuple[Insight, float], ...]) -> list[str]:
    return [told.id for told, _ in selected]


def test_profile_has_exempt_ones_first_then_the_highest_scores_then_ids() -> None:
    told = [
        insight("b", recorded_at=NOW - 20 * DAY),
        insight("a", recorded_at=NOW - 20 * DAY),
        insight("fresh", recorded_at=NOW),
        insight("peanuts", topic="constraint", slot="allergy:peanuts", recorded_at=NOW - 900 * DAY),
    ]
    assert names(select_profile(told, now=NOW, settings=Settings())) == ["peanuts", "fresh", "a", "b"]


def test_profile_is_bounded_and_the_rest_is_beyond_it() -> None:
    told = [insight(f"{number:02}", recorded_at=NOW - number * DAY) for number in range(30)]
    settings = Settings(profile_size=20)
    assert names(select_profile(told, now=NOW, settings=settings)) == [f"{number:02}" for number in range(20)]
    assert names(beyond(told, now=NOW, settings=settings)) == [f"{number:02}" for number in range(20, 30)]


def test_no_bound_leaves_out_an_allergy() -> None:
    told = [insight(f"a{number}", topic="constraint", slot=f"allergy:a{number}") for number in range(5)]
    settings = Settings(profile_size=2)
    assert len(select_profile([*told, insight("tea")], now=NOW, settings=settings)) == 5
    assert names(beyond([*told, insight("tea")], now=NOW, settings=settings)) == ["tea"]


def test_V096_what_is_told_of_somebody_else_is_not_first_hand() -> None:
    kim = insight("jazz", subject="kim", polarity="negative", metadata={"told_by": "user"})
    assert not first_hand(kim)
    assert first_hand(insight("jazz"))


def test_the_profile_of_a_third_person_is_what_was_told_of_them() -> None:
    kim = insight("jazz", subject="kim", polarity="negative", metadata={"told_by": "user"})
    assert names(select_profile([kim], now=NOW, settings=Settings())) == ["jazz"]


def test_profile_holds_nothing_retired_and_nothing_untrusted() -> None:
    told = [insight("old", retired_at=NOW), insight("page", trust="external"), insight("tool", trust="tool")]
    assert select_profile(told, now=NOW, settings=Settings()) == ()
    assert beyond(told, now=NOW, settings=Settings()) == ()
