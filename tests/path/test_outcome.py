"""How a piece of work went, by what the user says of it."""

from __future__ import annotations

import pytest

from bethink.insights.outcome import verdict_in
from bethink.messages import Message
from bethink.records import Outcome


def outcome_of(*texts: str) -> Outcome | None:
    verdict = verdict_in([Message(role="user", content=text, id=f"m{number}") for number, text in enumerate(texts)])
    return None if verdict is None else verdict.outcome


@pytest.mark.parametrize(
    ("said", "outcome"),
    [
        ("Perfect, that worked.", "success"),
        ("Great, it works now!", "success"),
        ("Thanks. The issue is solved.", "success"),
        ("All tests pass.", "success"),
        ("That's exactly what I needed, thank you.", "success"),
        ("It doesn't work.", "failure"),
        ("That didn't help.", "failure"),
        ("Still failing with a timeout.", "failure"),
        ("The tests fail on CI.", "failure"),
        ("The export crashed again.", "failure"),
        ("That is not what I wanted.", "failure"),
        ("It works, except for the logo.", "partial"),
        ("It works but the table is too wide.", "partial"),
        ("It mostly works.", "partial"),
    ],
)
def test_what_a_user_says_of_it_is_the_outcome(said: str, outcome: Outcome) -> None:
    assert outcome_of(said) == outcome


@pytest.mark.parametrize(
    "said",
    [
        "Does it work?",
        "Did that work",
        "If it works, send it to Tom.",
        "It should work.",
        "Let me know when it works or fails, would you?",
        'My boss wrote: "I looked at it all week and it doesn\'t work for us".',
        "I worked in Ghent for 3 years.",
        "Please send the report to the board.",
        "",
    ],
)
def test_what_is_asked_supposed_or_quoted_says_nothing(said: str) -> None:
    assert outcome_of(said) is None


def test_the_last_word_counts() -> None:
    assert outcome_of("It doesn't work.", "Now it works, thanks.") == "success"
    assert outcome_of("It works.", "Sorry, it still fails.") == "failure"


def test_it_is_looked_for_in_the_last_words_only() -> None:
    assert outcome_of("It works.", "And the next page?", "Blue, please.", "Send it to Tom.") is None


def test_an_assistant_and_what_is_external_have_no_say() -> None:
    said = [
        Message(role="assistant", content="Perfect, it works now.", id="m1"),
        Message(role="user", content="It works now.", id="m2", external=True),
    ]
    assert verdict_in(said) is None


def test_the_sentence_and_its_place_are_told() -> None:
    message = Message(role="user", content="Thanks for the map. It works now! Bye.", id="m1")
    verdict = verdict_in([message])
    assert verdict is not None
    assert verdict.text == "It works now!"
    assert message.text[verdict.start : verdict.end] == "It works now!"
