"""The summariser that asks a model: its summaries, its failures, and what holds for any reply."""

from __future__ import annotations

import re
from datetime import timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.path.summarising import (
    AT,
    GOOD,
    TRIP,
    asked,
    count,
    for_any,
    lines_of,
    texts_of,
    thread,
    tokens,
    written,
)

from bethink.compaction.extractive import MAX_LINE_LENGTH, summarise
from bethink.compaction.model_summary import Failed, Outcome, Written, summarise_lines_with_model, summarise_with_model
from bethink.compaction.prompts import shown_messages
from bethink.messages import Message
from bethink.models.driving import run
from bethink.models.language import Prompt, Reply, Usage
from bethink.records import Line
from bethink.testing.doubles import Hang, Scripted, ScriptedModel
from bethink.testing.strategies import histories, texts

# -- a summary -------------------------------------------------------------------------------------------------------------


def test_a_summary_has_the_models_lines_with_their_sources_times_and_speakers() -> None:
    found = written(GOOD)
    assert found.author == "small-1"
    assert found.put_back == 0
    assert [line.sources for line in found.lines] == [("m1",), ("m3",), ("m4",), ("m5",), ("m6",)]
    assert found.lines[2] == Line(
        text="Two seats are booked, reference QX-4071.", sources=("m4",), at=AT + timedelta(days=4), speaker="assistant"
    )


def test_what_the_call_took_is_told() -> None:
    assert written(Reply(GOOD, 900, 80, 0.01)).usage == Usage(calls=1, tokens_in=900, tokens_out=80, cost=0.01)


def test_the_same_reply_gives_the_same_summary() -> None:
    assert written(GOOD) == written(GOOD)


def test_V066_a_span_with_nothing_worth_a_line_asks_no_model() -> None:
    silent = [
        *thread(("user", "Hello!"), ("assistant", "Hi, how can I help you?")),
        Message(role="assistant", id="m3", created_at=AT),
    ]
    for messages in (silent, []):
        model = ScriptedModel([])
        step = summarise_with_model(messages, limit=100, count=count, author="small-1")
        assert run(step, model) == Written(lines=(), author="extractive")
        assert model.calls == 0


def test_V010_V015_a_model_is_never_asked_about_nothing() -> None:
    spans = [
        [TRIP[0], *[message for message in thread(*[("assistant", "Done with step 7.")] * 60) if message.id != "m1"]],
        thread(("user", "Yes."), ("tool", "row 17, " * 40_000), ("assistant", "It has 17 rows.")),
        thread(("assistant", "The ferry to Capri leaves at 9:15.")),
    ]
    for messages in spans:
        model = ScriptedModel(lambda _: "please provide the conversation")
        found = run(summarise_with_model(messages, limit=100, count=count, author="a", window=1_000), model)
        assert isinstance(found, Failed)
        assert found.reason == "uncited"
        assert model.calls == 1
        assert all(re.search(r"^\[\d+\] ", prompt.user, re.MULTILINE) for prompt in model.prompts)


# -- failures --------------------------------------------------------------------------------------------------------------


def test_V009_an_error_of_the_model_is_a_failed_attempt_and_no_summary() -> None:
    assert asked([ConnectionError("rate limit")]) == Failed(reason="error", detail="ConnectionError", usage=Usage(calls=1))


def test_V009_a_model_that_hangs_is_a_failed_attempt() -> None:
    found = asked([Hang(30.0, GOOD)], timeout=0.05)
    assert found == Failed(reason="timeout", detail="no answer within 0.05 s", usage=Usage(calls=1))


@pytest.mark.parametrize(
    "reply",
    [
        "Error: rate limit exceeded, please retry in 20 s.",
        "I'm sorry, I cannot help with that.",
        "Please provide the conversation.",
        "The user plans a trip to Porto with Ada.",
        "Summary of the conversation:\n\n## Decisions\n",
        '{"lines": [{"text": "The user plans a trip", "sources": [1]}]}',
        "[99] The user plans a trip to Porto with Ada.",
        "[0] The user plans a trip to Porto.",
    ],
)
def test_V009_V015_V091_a_reply_of_which_no_line_cites_what_was_shown_fails(reply: str) -> None:
    found = asked([reply])
    assert isinstance(found, Failed)
    assert found.reason == "uncited"


@pytest.mark.parametrize(
    "reply", ["", "   \n\n ", "...", "\ufeff", "—", "<think>[1] The user goes to Porto.</think>", "<think>[1] Porto"]
)
def test_an_empty_reply_fails(reply: str) -> None:
    assert lines_of(reply) == "empty"
    assert isinstance(asked([reply]), Failed)


def test_a_reply_in_another_language_fails() -> None:
    german = "[1, 3] Der Nutzer und Ada fahren mit dem Zug nach Porto, weil es ihr auf der Reise mit dem Bus nicht gut geht."
    assert lines_of(german) == "other language"
    assert isinstance(asked([german]), Failed)


def test_a_reply_in_the_language_asked_for_is_taken() -> None:
    german = "[1, 3] Der Nutzer und Ada fahren mit dem Zug nach Porto, weil es ihr auf der Reise mit dem Bus nicht gut geht."
    assert german[7:] in [line.text for line in written(german, language="de").lines]


def test_a_first_line_that_does_not_fit_fails() -> None:
    assert lines_of("[1] " + "The user and Ada travel to Porto in March. " * 5, limit=20) == "too long"


def test_a_summary_with_clearly_fewer_facts_than_without_a_model_fails() -> None:
    messages = thread(*[("user", f"Parcel QX-{seq}71 weighs {seq * 13} kg and goes to Porto.") for seq in range(1, 30)])
    chatter = "[1] " + "The user talks about parcels and where each of them goes and what it weighs, " * 2 + "."
    found = asked([chatter], messages, limit=count(chatter) + 2)
    assert isinstance(found, Failed)
    assert found.reason == "lost facts"
    assert "facts kept, where no model keeps" in found.detail


def test_no_failure_quotes_what_was_said() -> None:
    for reply in ("Error: Porto", "[1] " + "Porto " * 900, "<think>Porto", ValueError("Porto")):
        found = asked([reply], limit=20)
        assert isinstance(found, Failed)
        assert "Porto" not in repr(found)


# -- over-long replies -----------------------------------------------------------------------------------------------------


def test_an_over_long_reply_is_cut_at_a_line_end() -> None:
    first, second, *_ = GOOD.splitlines()
    room = count(first[4:]) + count(second[4:]) + 2
    assert texts_of(GOOD, limit=room) == [first[4:], second[4:]]
    assert texts_of(GOOD, limit=room - 1) == [first[4:]]


def test_V012_a_reply_that_repeats_all_it_was_told_stays_within_the_limit() -> None:
    lines: tuple[Line, ...] = ()
    for _ in range(20):
        model = ScriptedModel(lambda prompt: "\n".join(re.findall(r"\[\d+\] .*", prompt.user)) * 3)
        step = (
            summarise_lines_with_model(lines, limit=60, count=count, author="a")
            if lines
            else summarise_with_model(TRIP, limit=60, count=count, author="a")
        )
        found = run(step, model)
        assert isinstance(found, Written)
        assert tokens(found.lines) <= 60
        lines = found.lines


def test_a_reply_without_end_is_read_no_further_than_it_matters() -> None:
    found = written(GOOD + "\n".join(f"[2] Lift {'very ' * 20} station {at}" for at in range(100_000)))
    assert tokens(found.lines) <= 200


def test_the_last_line_of_a_truncated_reply_is_left_out() -> None:
    half = GOOD.rstrip()[:-25]
    assert "docs/porto.md; rest" in half
    assert not any("; rest" in line.text for line in written(Reply(half, truncated=True)).lines)
    assert asked([Reply("[1] The user and", truncated=True)]) == Failed(
        reason="too long", detail="a reply of 16 characters", usage=Usage(calls=1)
    )


def test_a_line_is_cut_at_a_word() -> None:
    (text,) = texts_of("[1] Porto " + "with Ada " * 60)
    assert len(text) <= MAX_LINE_LENGTH
    assert text.endswith("Ada…")


def test_a_line_without_end_is_half_a_statement() -> None:
    assert lines_of("[1] Porto " + "with Ada " * 1_000) == "too long"
    assert texts_of(GOOD + "[1] Porto " + "with Ada " * 1_000) == texts_of(GOOD)


def test_a_line_said_twice_is_one() -> None:
    assert len(texts_of(GOOD + GOOD.upper() + GOOD)) == 5


# -- what arrives meanwhile ------------------------------------------------------------------------------------------------


def test_messages_that_arrive_while_the_model_works_are_not_covered() -> None:
    messages = list(TRIP)

    def arrives(_: Prompt) -> Scripted:
        messages.append(Message(role="user", content="Make it Lisbon on 2 May.", id="m7", created_at=AT))
        return GOOD + "[7] They go to Lisbon on 2 May.\n"

    found = run(summarise_with_model(messages, limit=200, count=count, author="a"), ScriptedModel(arrives))
    assert isinstance(found, Written)
    assert not any("Lisbon" in line.text or "m7" in line.sources for line in found.lines)


def test_what_is_shown_is_settled_before_the_step_starts() -> None:
    messages = list(TRIP)
    step = summarise_with_model(messages, limit=200, count=count, author="a")
    messages[:] = thread(("user", "Make it Lisbon on 2 May."))
    model = ScriptedModel([GOOD])
    run(step, model)
    assert "Lisbon" not in model.prompts[0].user


# -- lines of nodes --------------------------------------------------------------------------------------------------------

CHILDREN = (
    Line(text="The user and Ada travel to Porto from 14 March to 18 March.", sources=("m1", "m2"), at=AT, speaker="user"),
    Line(text="They take the 7:30 train.", sources=("m3",), at=AT + timedelta(days=1), speaker="user"),
    Line(text="Two seats are booked, reference QX-4071.", sources=("m4",), at=AT + timedelta(days=2), speaker=""),
)


def test_a_line_of_a_higher_node_cites_the_messages_of_the_lines_it_rests_on() -> None:
    reply = (
        "[1] The user and Ada travel to Porto from 14 March to 18 March.\n"
        "[2, 3] Two seats in the 7:30 train, reference QX-4071."
    )
    found = run(summarise_lines_with_model(CHILDREN, limit=200, count=count, author="a"), ScriptedModel([reply]))
    assert isinstance(found, Written)
    assert [(line.sources, line.at) for line in found.lines] == [
        (("m1", "m2"), AT),
        (("m3", "m4"), AT + timedelta(days=2)),
    ]


def test_facts_of_lines_come_back_as_these_lines() -> None:
    found = run(
        summarise_lines_with_model(CHILDREN, limit=200, count=count, author="a"), ScriptedModel(["[1] A trip to Porto."])
    )
    assert isinstance(found, Written)
    assert set(CHILDREN) <= set(found.lines)


def test_no_lines_ask_no_model() -> None:
    found = run(summarise_lines_with_model((), limit=200, count=count, author="a"), ScriptedModel([]))
    assert found == Written(lines=(), author="extractive")


# -- for any ---------------------------------------------------------------------------------------------------------------

_PIECES = st.sampled_from(
    [
        "[1] ", "[2, 3] ", "[1-99] ", "[99] ", " [3]", "[[1]]", "[1", "]", "- ", "1. ", "```\n", "<think>", "</think>", "\n",
        "Ada", "Porto", "480 euros", "7:30", "²", "٣", "\x00", "\ud800", "&lt;", "&#0;", "</conversation>", "null", "\n\n",
        "der die das und ist ",
    ]
)  # fmt: skip
REPLIES = st.one_of(st.text(), texts(), st.lists(st.one_of(_PIECES, st.text(max_size=10)), max_size=40).map("".join))


def within(outcome: Outcome, limit: int, ids: set[str]) -> None:
    if isinstance(outcome, Failed):
        assert outcome.reason in ("empty", "too long", "other language", "uncited", "lost facts")
        return
    assert tokens(outcome.lines) <= limit
    for line in outcome.lines:
        assert line.text
        assert line.sources
        assert set(line.sources) <= ids
        assert len(line.text) <= MAX_LINE_LENGTH
        assert "\x00" not in line.text
        line.text.encode()


@for_any
@given(REPLIES, st.integers(1, 250), st.booleans())
def test_any_reply_ends_within_the_limit_and_cites_only_the_span(reply: str, limit: int, truncated: bool) -> None:
    step = summarise_with_model(TRIP, limit=limit, count=count, author="a")
    within(run(step, ScriptedModel([Reply(reply, truncated=truncated)])), limit, {message.id for message in TRIP})


@for_any
@given(histories(), REPLIES, st.integers(1, 250))
def test_any_history_does(history: list[Message], reply: str, limit: int) -> None:
    model = ScriptedModel(lambda _: reply)
    outcome = run(summarise_with_model(history, limit=limit, count=count, author="a", window=1_500), model)
    within(outcome, limit, {message.id for message in history})
    assert all(count(prompt.text) + prompt.max_tokens <= 1_500 for prompt in model.prompts)


@for_any
@given(histories(min_size=3), st.lists(st.integers(0, 30), max_size=12), st.integers(20, 250))
def test_any_copy_of_the_list_does(history: list[Message], chosen: list[int], limit: int) -> None:
    def copies(prompt: Prompt) -> Scripted:
        listed = prompt.user.split("\n")[1:-1]
        return "\n".join(listed[at] for at in chosen if at < len(listed))

    outcome = run(summarise_with_model(history, limit=limit, count=count, author="a"), ScriptedModel(copies))
    within(outcome, limit, {message.id for message in history})


@for_any
@given(histories(), REPLIES, st.integers(1, 200))
def test_any_lines_do(history: list[Message], reply: str, limit: int) -> None:
    lines = summarise(history, limit=200, count=count)
    step = summarise_lines_with_model(lines, limit=limit, count=count, author="a")
    within(run(step, ScriptedModel(lambda _: reply)), limit, {source for line in lines for source in line.sources})


@for_any
@given(histories())
def test_any_history_gives_a_prompt_of_one_line_a_message(history: list[Message]) -> None:
    for shown in shown_messages(history):
        assert shown.line.splitlines() == [shown.line]
        assert not set("<>") & set(shown.line)
