"""Facts that a model leaves out come back, within the limit."""

from __future__ import annotations

import re
from collections.abc import Sequence
from datetime import timedelta

import pytest
from tests.path.summarising import (
    AT,
    TRIP,
    asked,
    count,
    thread,
    tokens,
    written,
)

from bethink.compaction.extractive import sentences_of, summarise
from bethink.compaction.model_summary import Written
from bethink.compaction.statements import statements
from bethink.compaction.wanted import Wanted
from bethink.messages import Message
from bethink.records import Line


def test_facts_that_the_model_left_out_come_back_word_for_word() -> None:
    found = written("[1, 3] The user goes to Porto by train with Ada, who gets sick on buses.")
    said = [line.text for line in found.lines]
    assert "I booked two seats, the reference is QX-4071." in said
    assert "The budget for the hotel is 480 euros, and it must have a lift." in said
    assert any("docs/porto.md" in text for text in said)
    assert found.put_back == len(found.lines) - 1


def test_a_sentence_that_comes_back_cites_the_message_it_is_from() -> None:
    found = written("[1, 3] The user goes to Porto by train with Ada, who gets sick on buses.")
    by_text = {line.text: line for line in found.lines}
    assert by_text["I booked two seats, the reference is QX-4071."] == Line(
        text="I booked two seats, the reference is QX-4071.", sources=("m4",), at=AT + timedelta(days=4), speaker="assistant"
    )


def test_a_decision_that_the_model_left_out_comes_back() -> None:
    messages = thread(("user", "We decided to write the parser by hand."), ("user", "The tests of the parser are slow."))
    assert "We decided to write the parser by hand." in [
        line.text for line in written("[2] The tests are slow.", messages).lines
    ]


def test_facts_come_back_within_the_limit_and_the_last_lines_give_way() -> None:
    vague = "\n".join(
        f"[{at}] {text}" for at, text in enumerate(("Porto is where the user goes", *["Trains and hotels near it"] * 2), 1)
    )
    for limit in range(40, 120, 5):
        outcome = asked([vague], limit=limit)
        if isinstance(outcome, Written):
            assert tokens(outcome.lines) <= limit
            assert outcome.lines
        else:
            assert outcome.reason == "lost facts"


def test_a_model_keeps_most_of_the_facts_that_would_be_kept_without_it() -> None:
    messages = thread(*[("user", f"Parcel QX-{seq}71 weighs {seq * 13} kg.") for seq in range(1, 30)])
    found = written("[1-29] Parcels are weighed.", messages, limit=200)
    kept = re.compile(r"QX-\d+")
    without = {fact for line in summarise(messages, limit=200, count=count) for fact in kept.findall(line.text)}
    assert len({fact for line in found.lines for fact in kept.findall(line.text)}) >= 0.75 * len(without)


def wanted_of(messages: Sequence[Message]) -> Wanted:
    said = [
        (Line(text=text, sources=(message.id,), at=AT, speaker=message.speaker), message.role)
        for message in messages
        for text in sentences_of(message)
    ]
    return Wanted(statements(said), {message.id: at for at, message in enumerate(messages)})


def written_as(*said: str) -> list[Line]:
    return [Line(text=text, sources=("m1",), at=AT) for text in said]


@pytest.mark.parametrize(
    ("said", "summary"),
    [
        ("We met with Ada in Porto.", "Ada's trip: porto."),
        ("We met with Jean-Luc there, and with O’Brien.", "O'Brien's people and jean-luc."),
        ("The price of it was 3,500 euros.", "It cost 3500."),
        ("The meeting is on Tuesday, May 5.", "Meeting: Tues, 5 May."),
        ("The file of the plan is docs/porto.md now.", "See docs/porto.md, the plan."),
    ],
)
def test_a_fact_is_kept_in_other_words_around_it(said: str, summary: str) -> None:
    wanted = wanted_of(thread(("user", said)))
    assert wanted.kept(written_as(said)) == wanted.kept(written_as(summary)) != frozenset()


@pytest.mark.parametrize(
    ("said", "summary"),
    [
        ("The lift takes 3 people up there.", "The lift takes 13 people, at 7:30."),
        ("The file of the report is docs/porto.md now.", "The report is a file in docs: porto."),
        ("We decided to write the parser by hand.", "A parser exists."),
        ("We met with Ann in the morning.", "Annual meetings."),
    ],
)
def test_a_fact_is_not_kept_by_what_only_looks_like_it(said: str, summary: str) -> None:
    wanted = wanted_of(thread(("user", said)))
    assert wanted.kept(written_as(said))
    assert not wanted.kept(written_as(summary))


def test_a_question_decides_nothing() -> None:
    asked = "Should we switch to the other one instead?"
    assert wanted_of(thread(("user", asked))).kept(written_as(asked)) == frozenset()


def test_lines_that_gave_way_come_back_where_there_is_room() -> None:
    lines = [
        Line(text=f"They talked about {thing} in general.", sources=("m1",), at=AT) for thing in ("trains", "hotels", "lifts")
    ]
    price = "It costs 480 euros."
    summary = wanted_of(thread(("user", price))).put_back(lines, limit=tokens(lines) + count(price) + 1, count=count)
    assert {line.text for line in summary} == {price, *(line.text for line in lines)}


def test_lines_with_the_fewest_facts_give_way_first() -> None:
    rich = Line(text="Two seats are booked, reference QX-4071.", sources=("m4",), at=AT)
    poor = Line(text="There was some talk about trains, hotels and such things.", sources=("m2",), at=AT)
    summary = wanted_of(TRIP).put_back([poor, rich], limit=34, count=count)
    assert rich in summary
    assert poor not in summary
    assert tokens(summary) <= 34


def test_lines_give_way_further_only_where_too_few_facts_are_kept() -> None:
    poor = [
        Line(text=f"There was some talk of {thing} and such.", sources=("m2",), at=AT)
        for thing in ("trains", "hotels", "lifts")
    ]
    wanted = wanted_of(TRIP)
    some = wanted.put_back(poor, limit=60, count=count)
    most = wanted.put_back(poor, limit=60, count=count, least=1_000)
    assert len(wanted.kept(most)) > len(wanted.kept(some))
    assert len(set(poor) & set(some)) > len(set(poor) & set(most))
