"""What is said to have taken the place of old words."""

from __future__ import annotations

from datetime import datetime, timezone
from typing import Any

from bethink.insights.standing import changed_since
from bethink.records import Insight, Source

NOW = datetime(2026, 11, 30, 12, tzinfo=timezone.utc)


def lives_in(city: str, *messages: str, **fields: Any) -> Insight:
    text = f"lives in {city}"
    return Insight(
        id=city,
        text=text,
        trust="user",
        recorded_at=NOW,
        topic="identity",
        subject="user",
        slot="residence",
        value=city,
        sources=tuple(Source(message, "t", text) for message in messages),
        **fields,
    )


def left(city: str, *messages: str, to: str) -> Insight:
    return lives_in(city, *messages, retired_at=NOW, superseded_by=to)


def test_every_message_that_said_what_was_superseded_is_told_what_holds() -> None:
    ghent = lives_in("Ghent", "m3")
    assert changed_since([left("Porto", "m1", "m2", to="Ghent"), ghent]) == {"m1": ghent, "m2": ghent}


def test_what_was_superseded_twice_is_told_the_last() -> None:
    oslo = lives_in("Oslo", "m3")
    former = [left("Porto", "m1", to="Ghent"), left("Ghent", "m2", to="Oslo")]
    assert changed_since([*former, oslo]) == {"m1": oslo, "m2": oslo}


def test_a_message_that_says_what_holds_needs_no_telling() -> None:
    ghent = lives_in("Ghent", "m1", "m2")
    assert changed_since([left("Porto", "m1", to="Ghent"), ghent]) == {}


def test_nothing_is_told_where_the_successor_is_gone_or_withdrawn() -> None:
    withdrawn = lives_in("Oslo", "m2", retired_at=NOW)
    assert changed_since([left("Porto", "m1", to="Ghent"), left("Turin", "m3", to="Oslo"), withdrawn]) == {}


def test_a_message_with_two_changes_is_told_the_later() -> None:
    ghent, oslo = lives_in("Ghent", "m2"), lives_in("Oslo", "m3")
    assert changed_since([left("Porto", "m1", to="Ghent"), left("Turin", "m1", to="Oslo"), ghent, oslo]) == {"m1": oslo}
