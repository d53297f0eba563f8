"""Recall of what was said at the time that a query names, however far from the best it is by its words."""

from __future__ import annotations

from datetime import datetime, timedelta, timezone

from bethink.messages import Message
from bethink.retrieval.hits import RecallResult
from bethink.retrieval.ranker import Ranker
from bethink.retrieval.recall import answer, look
from bethink.storage.base import Append, Filter, Scope
from bethink.storage.base.filters import Compare
from bethink.storage.reference import ReferenceStore

NOW = datetime(2026, 3, 1, 12, tzinfo=timezone.utc)
RACE = "the race, the race, what a race"


def asked(query: str, where: Filter | None = None) -> RecallResult:
    """Of a store with 80 messages about races in February, and one that mentions a race on 9 May 2025."""
    store = ReferenceStore()
    month = [
        Message(id=f"r{number}", role="user", content=RACE, created_at=NOW - timedelta(hours=number)) for number in range(80)
    ]
    once = Message(
        id="once",
        role="user",
        content="It was a long day with the children, and then there was a race on television as well",
        created_at=datetime(2025, 5, 9, tzinfo=timezone.utc),
    )
    store.append(Append(namespace=("u",), thread_id="old", at=NOW, messages=(once,)))
    store.append(Append(namespace=("u",), thread_id="new", at=NOW, messages=tuple(month)))
    looked = look(
        query,
        scope=Scope(("u",)),
        search=store.search,
        speakers=store.speakers,
        embedder=None,
        k=10,
        now=NOW,
        where=where,
    )
    return answer(looked, ranker=Ranker(threshold=0.0, lexical_threshold=0.0), k=10, now=NOW)


def test_what_was_said_on_the_day_that_is_named_is_a_candidate() -> None:
    (hit,) = [hit for hit in asked("the race on 9 May 2025") if hit.id == "once"]
    assert hit.scores["time"] > 0


def test_each_candidate_is_ranked_once() -> None:
    result = asked("the race on 28 February 2026")
    assert len({hit.id for hit in result}) == len(result)


def test_the_filter_holds_at_that_time_too() -> None:
    late = Compare(("at",), "gte", datetime(2026, 1, 1, tzinfo=timezone.utc))
    assert "once" not in [hit.id for hit in asked("the race on 9 May 2025", late)]


def test_a_time_at_the_end_of_the_calendar_is_no_error() -> None:
    assert len(asked("the race on 31 December 9999")) > 0
