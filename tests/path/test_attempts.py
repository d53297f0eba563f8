"""Attempts at asking a model, and when the next one is due: `compaction.attempts`."""

from __future__ import annotations

from datetime import datetime, timedelta, timezone
from itertools import pairwise

import msgspec
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from bethink.compaction.attempts import attempt_of, is_due, retry_after, span_key, span_of
from bethink.compaction.model_summary import Failed, Outcome, Written
from bethink.errors import InvalidInput
from bethink.models.language import Usage
from bethink.records import Node
from bethink.settings import Backoff
from bethink.storage.base import Attempt

NOW = datetime(2026, 3, 1, 12, tzinfo=timezone.utc)
SPAN = span_key("1-2")
FAILED = Failed(reason="timeout", detail="no answer within 5 s", usage=Usage(calls=1, tokens_in=10))
for_any = settings(max_examples=100, deadline=None)
policies = st.builds(
    Backoff,
    first=st.timedeltas(timedelta(milliseconds=1), timedelta(minutes=1)),
    factor=st.floats(1, 100),
    most=st.timedeltas(timedelta(minutes=1), timedelta(days=30)),
    jitter=st.floats(0, 0.99),
    attempts=st.integers(1, 10_000),
)


def attempt(
    outcome: Outcome, last: Attempt | None = None, *, span: str = SPAN, model: str = "a", at: datetime = NOW
) -> Attempt:
    return attempt_of(outcome, span=span, node_id="n1", model=model, at=at, last=last)


def failures(number: int) -> list[Attempt]:
    """So many attempts that fail, each made when it is due."""
    made: list[Attempt] = []
    at = NOW
    for _ in range(number):
        made.append(attempt(FAILED, made[-1] if made else None, at=at))
        at = made[-1].retry_at or at
    return made


def due(last: Attempt | None, after: timedelta = timedelta(), *, span: str = SPAN, model: str = "a") -> bool:
    return is_due(last, span=span, model=model, now=NOW + after)


# -- attempts --------------------------------------------------------------------------------------------------------------


def test_an_attempt_says_what_was_asked_and_what_came_of_it() -> None:
    made = attempt(FAILED)
    assert (made.span, made.node_id, made.model, made.at, made.number) == (SPAN, "n1", "a", NOW, 1)
    assert (made.reason, made.detail, made.usage) == ("timeout", "no answer within 5 s", Usage(calls=1, tokens_in=10))
    assert made.failed


def test_V009_a_failed_attempt_says_when_the_next_is_due() -> None:
    made = attempt(FAILED)
    assert made.retry_at is not None
    wait = made.retry_at - NOW
    assert timedelta() < wait <= Backoff().first
    assert not due(made)
    assert not due(made, wait - timedelta(microseconds=1))
    assert due(made, wait)


def test_a_success_is_not_asked_for_again() -> None:
    made = attempt(Written(lines=(), author="a", usage=Usage(calls=2)))
    assert (made.failed, made.given_up, made.retry_at, made.usage) == (False, False, None, Usage(calls=2))
    assert not due(made, timedelta(days=400))


def test_what_was_never_attempted_is_due() -> None:
    assert due(None)


def test_failures_in_a_row_are_counted_and_each_waits_longer() -> None:
    made = failures(5)
    assert [each.number for each in made] == [1, 2, 3, 4, 5]
    waits = [each.retry_at - each.at for each in made if each.retry_at is not None]
    assert all(later > sooner for sooner, later in pairwise(waits))


def test_after_the_most_attempts_a_span_is_given_up() -> None:
    last = failures(Backoff().attempts)[-1]
    assert last.given_up
    assert not due(last, timedelta(days=400))


def test_a_span_that_was_given_up_is_due_again_when_it_changes() -> None:
    last = failures(Backoff().attempts)[-1]
    changed = span_key("1-1")
    assert due(last, span=changed)
    assert attempt(FAILED, last, span=changed).number == 1


def test_another_model_starts_anew() -> None:
    last = failures(Backoff().attempts)[-1]
    assert due(last, model="b")
    assert attempt(FAILED, last, model="b").number == 1


def test_a_clock_that_was_set_back_blocks_nothing() -> None:
    made = attempt(FAILED)
    assert due(made, -timedelta(days=365))


def test_an_attempt_comes_back_from_json() -> None:
    for made in (*failures(2), attempt(Written(lines=(), author="a"))):
        assert msgspec.json.decode(msgspec.json.encode(made), type=Attempt) == made


# -- spans -----------------------------------------------------------------------------------------------------------------


def node(node_id: str, *covers: tuple[int, int], level: int = 1, children: tuple[str, ...] = ()) -> Node:
    return Node(id=node_id, level=level, covers=covers, lines=(), author="x", created_at=NOW, children=children)


def test_a_summary_of_messages_is_named_by_what_it_covers_and_not_by_its_id() -> None:
    assert span_of(node("n1", (1, 3), (5, 6))) == span_of(node("n2", (1, 3), (5, 6)))


@pytest.mark.parametrize("covers", [[(1, 3)], [(1, 2), (5, 6)], [(1, 3), (5, 7)], [(1, 6)], [(11, 3), (5, 6)]])
def test_of_other_messages_it_has_another_name(covers: list[tuple[int, int]]) -> None:
    assert span_of(node("n1", *covers)) != span_of(node("n1", (1, 3), (5, 6)))


def test_a_summary_of_nodes_is_named_by_these_and_by_what_they_cover() -> None:
    above = node("up", (1, 4), level=2, children=("n1", "n2"))
    below = [node("n1", (1, 2)), node("n2", (3, 4))]
    others = [
        [node("w1", (1, 2)), below[1]],
        [node("n1", (1, 1)), below[1]],
        [below[1], below[0]],
        below[:1],
    ]
    assert span_of(above, below) == span_of(node("other", (1, 4), level=2, children=("n1", "n2")), below)
    assert len({span_of(above, children) for children in (below, *others)}) == 5


def test_the_key_of_what_is_asked_changes_with_the_span_and_with_the_instructions() -> None:
    assert len({span_key("a"), span_key("b"), span_key("a", "be brief"), span_key("a", "be long")}) == 4
    assert span_key("a", "be brief") == span_key("a", "be brief")


# -- waits -----------------------------------------------------------------------------------------------------------------


def test_a_wait_without_jitter_doubles_up_to_the_cap() -> None:
    policy = Backoff(first=timedelta(seconds=10), most=timedelta(seconds=60), jitter=0.0, attempts=6)
    waits = [retry_after(number, seed="", backoff=policy) for number in range(1, 7)]
    assert [wait and wait.total_seconds() for wait in waits] == [10, 20, 40, 60, 60, None]


@for_any
@given(policies, st.integers(1, 20_000), st.text(st.characters(codec="utf-8")))
def test_any_wait_is_within_its_bounds_and_always_the_same(policy: Backoff, number: int, seed: str) -> None:
    wait = retry_after(number, seed=seed, backoff=policy)
    assert wait == retry_after(number, seed=seed, backoff=policy)
    assert (wait is None) == (number >= policy.attempts)
    if wait is not None:
        tick = timedelta(microseconds=1)
        assert policy.first * (1 - policy.jitter) - tick <= wait <= policy.most


def test_spans_that_fail_together_do_not_come_back_together() -> None:
    waits = {retry_after(1, seed=str(seed)) for seed in range(100)}
    assert len(waits) == 100


@pytest.mark.parametrize(
    ("fields", "field"),
    [
        ({"first": timedelta()}, "first"),
        ({"first": timedelta(hours=2)}, "first"),
        ({"factor": 0.5}, "factor"),
        ({"factor": float("nan")}, "factor"),
        ({"jitter": 1.0}, "jitter"),
        ({"jitter": -0.1}, "jitter"),
        ({"attempts": 0}, "attempts"),
    ],
)
def test_a_policy_that_makes_no_sense_is_refused(fields: dict[str, object], field: str) -> None:
    with pytest.raises(InvalidInput, match=field):
        Backoff(**fields)  # type: ignore[arg-type]
