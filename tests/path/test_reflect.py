"""What is left of a session, and of a profile that grew too large."""

from __future__ import annotations

from datetime import datetime, timedelta, timezone

import msgspec
from hypothesis import given
from hypothesis import strategies as st

from bethink.insights.reflect import archive, session_summary
from bethink.insights.retention import select_profile
from bethink.messages import Message, Role
from bethink.records import Insight, Summary
from bethink.settings import Settings

START = datetime(2026, 3, 1, 9, tzinfo=timezone.utc)
NOW = START + timedelta(days=1)


def session(*turns: tuple[Role, str]) -> list[Message]:
    return [
        Message(
            role=role, content=text, id=f"m{number}", created_at=START + timedelta(minutes=number), seq=number, group=number
        )
        for number, (role, text) in enumerate(turns, start=1)
    ]


def count(text: str) -> int:
    return len(text.split())


def summary_of(messages: list[Message], settings: Settings | None = None) -> Summary | None:
    return session_summary(
        messages, thread_id="t1", through=len(messages), now=NOW, settings=settings or Settings(), count=count
    )


TRIP: tuple[tuple[Role, str], ...] = (
    ("user", "I need to be in Lisbon on 14 March for a conference of 300 people."),
    ("assistant", "There is a flight at 7:40 for 210 euros and a night train for 95 euros."),
    ("user", "Let's take the flight."),
    ("assistant", "Booked flight TP571 on 13 March."),
    ("user", "Sorry, I changed my mind: the night train instead of the flight."),
    ("assistant", "Done, the night train leaves at 21:34 from Madrid."),
)


def test_a_summary_names_first_what_was_decided_in_the_end() -> None:
    summary = summary_of(session(*TRIP))
    assert summary is not None
    assert [line.text for line in summary.lines[:2]] == ["decided against: the flight", "decided: the night train"]


def test_every_line_rests_on_messages_of_the_session_and_every_one_is_a_source() -> None:
    messages = session(*TRIP)
    summary = summary_of(messages)
    assert summary is not None
    cited = [message_id for line in summary.lines for message_id in line.sources]
    assert cited
    assert all(line.sources for line in summary.lines)
    assert sorted(source.message_id for source in summary.sources) == sorted(set(cited))
    assert {source.thread_id for source in summary.sources} == {"t1"}
    lines = {line.text for line in summary.lines}
    assert all(source.text in lines for source in summary.sources)


def test_the_text_is_the_lines() -> None:
    summary = summary_of(session(*TRIP))
    assert summary is not None
    assert summary.text.split("\n") == [line.text for line in summary.lines]


def test_a_decision_is_not_said_twice() -> None:
    summary = summary_of(
        session(("user", "I decided to learn Spanish."), ("assistant", "Good luck in Sevilla with 3 teachers!"))
    )
    assert summary is not None
    assert [line.text for line in summary.lines if "Spanish" in line.text] == ["decided: learn Spanish"]


def lines_of(*turns: tuple[Role, str]) -> list[str]:
    summary = summary_of(session(*turns))
    return [] if summary is None else [line.text for line in summary.lines]


def test_a_decision_comes_with_its_reason() -> None:
    said = "We decided to use PostGIS because four of us edit at once."
    assert lines_of(("user", said)) == ["decided: use PostGIS, because four of us edit at once"]


def test_a_short_answer_comes_with_its_question_and_rests_on_both() -> None:
    summary = summary_of(
        session(
            ("user", "The flood map goes to the city council of Ghent."),
            ("assistant", "Good to know. And the deadline?"),
            ("user", "Still 30 September."),
            ("assistant", "Noted."),
        )
    )
    assert summary is not None
    assert [line.text for line in summary.lines] == [
        "The flood map goes to the city council of Ghent.",
        "And the deadline? Still 30 September.",
    ]
    assert summary.lines[1].sources == ("m2", "m3")


def test_half_a_sentence_takes_what_goes_on_with_it_along() -> None:
    said = "With my dog. Her name is Biscuit and she weighs 12 kilos."
    assert lines_of(("user", said)) == [said]


def test_questions_of_the_assistant_and_courtesies_are_no_lines() -> None:
    turns: tuple[tuple[Role, str], ...] = (
        ("user", "The course in Porto starts on 14 September."),
        ("assistant", "Noted. Shall I block the days?"),
        ("user", "Please."),
        ("assistant", "Anything else?"),
        ("user", "No, good night!"),
    )
    assert lines_of(*turns) == ["The course in Porto starts on 14 September."]


def test_what_was_put_right_is_not_told_as_it_was_first_said() -> None:
    turns: tuple[tuple[Role, str], ...] = (
        ("user", "Ines arrives in Brussels on 12 May."),
        ("assistant", "It is in the calendar for Tuesday 12 May."),
        ("user", "Sorry, I meant 14 May, not 12 May."),
    )
    assert lines_of(*turns) == ["Ines arrives in Brussels on 12 May. Sorry, I meant 14 May, not 12 May."]


def test_trust_is_the_lowest_of_what_is_cited() -> None:
    summary = summary_of(
        session(("user", "I decided to learn Spanish."), ("assistant", "The course of 12 weeks starts in Sevilla on 3 May."))
    )
    assert summary is not None
    assert summary.trust == "assistant"


def test_a_session_without_a_word_of_the_user_has_no_summary() -> None:
    assert summary_of([]) is None
    assert summary_of(session(("assistant", "Hello, the weather in Rome is 21 degrees."))) is None
    assert summary_of(session(("user", "  "), ("assistant", "The weather in Rome is 21 degrees."))) is None


def test_ending_twice_gives_the_same_summary() -> None:
    assert summary_of(session(*TRIP)) == summary_of(session(*TRIP))


def test_the_id_names_the_thread_and_how_far_it_goes() -> None:
    messages = session(*TRIP)
    one, shorter = summary_of(messages), summary_of(messages[:-1])
    assert one is not None
    assert shorter is not None
    assert (one.thread_id, one.through, shorter.through) == ("t1", 6, 5)
    assert one.id != shorter.id


@given(
    st.lists(
        st.tuples(st.sampled_from(["user", "assistant"]), st.sampled_from([text for _, text in TRIP] + ["", "ok", "Thanks!"])),
        max_size=12,
    ),
    st.integers(1, 60),
)
def test_a_summary_never_exceeds_its_tokens(turns: list[tuple[Role, str]], limit: int) -> None:
    summary = summary_of(session(*turns), Settings(summary_tokens=limit))
    if summary is not None:
        assert sum(count(line.text) + 1 for line in summary.lines) <= limit


# -- archive --------------------------------------------------------------------------------------------------------------


def insight(number: int) -> Insight:
    at = START - timedelta(days=number)
    name = f"thing {number:02}"
    return Insight(
        id=f"{number:02}",
        text=name,
        trust="user",
        recorded_at=at,
        topic="preference",
        subject="user",
        slot=f"likes:{name}",
        value=name,
    )


def test_what_scores_lowest_beyond_the_bound_is_archived_with_its_score() -> None:
    known = [insight(number) for number in range(22)]
    retired = archive(known, now=NOW, settings=Settings(profile_size=20))
    assert [retire.record_id for retire in retired] == ["20", "21"]
    assert all(retire.superseded_by is None and retire.at == NOW for retire in retired)
    assert retired[0].reason == "archived: retention score 0.497 is below the 20 kept"


def test_a_profile_within_its_bound_loses_nothing() -> None:
    assert archive([insight(number) for number in range(20)], now=NOW, settings=Settings(profile_size=20)) == ()


def test_V096_what_was_told_of_others_takes_no_place_from_the_user_and_is_not_archived() -> None:
    told = [msgspec.structs.replace(insight(number), subject="kim", metadata={"told_by": "user"}) for number in range(5)]
    known = [insight(number) for number in range(10, 13)]
    retired = archive([*told, *known], now=NOW, settings=Settings(profile_size=2))
    assert [retire.record_id for retire in retired] == ["12"]


def test_archiving_leaves_the_profile_as_it_was_shown() -> None:
    known = [insight(number) for number in range(25)]
    settings = Settings(profile_size=7)
    gone = {retire.record_id for retire in archive(known, now=NOW, settings=settings)}
    left = [told for told in known if told.id not in gone]
    assert select_profile(left, now=NOW, settings=settings) == select_profile(known, now=NOW, settings=settings)
    assert archive(left, now=NOW, settings=settings) == ()
