"""What is read out of chat sentences, and what is not."""

from __future__ import annotations

import json
from datetime import datetime, timedelta, timezone
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from bethink.insights import clauses
from bethink.insights.extract import MAX_TEXT, extract
from bethink.insights.rules import RULES, TRIGGERS, Rule
from bethink.insights.times import find
from bethink.insights.triggers import words
from bethink.messages import Message, Part
from bethink.records import Insight

SAID = datetime(2022, 11, 8, 15, tzinfo=timezone.utc)  # a Tuesday
NOW = datetime(2026, 11, 29, 9, tzinfo=timezone.utc)


def user(text: str, **fields: Any) -> Message:
    given_fields: dict[str, Any] = {"role": "user", "content": text, "id": "m1", "created_at": SAID} | fields
    return Message(**given_fields)


def insights(text: str, **fields: Any) -> tuple[Insight, ...]:
    return extract([user(text, **fields)], thread_id="t1", now=NOW)


def texts(text: str, **fields: Any) -> list[str]:
    return [insight.text for insight in insights(text, **fields)]


STATED: list[tuple[str, list[str]]] = [
    # identity
    ("My name is Ana Souza.", ["name: Ana Souza"]),
    ("my name is ana", ["name: ana"]),
    ("Hi, I'm Ana!", ["name: Ana"]),
    ("Hello, I'm Ana and I live in Porto", ["name: Ana", "lives in Porto"]),
    ("Hi, my name is Ana and I love hiking", ["name: Ana", "likes hiking"]),
    ("Call me Bob", ["name: Bob"]),
    ("Hello there, my name is João Pereira and I live in São Paulo.", ["name: João Pereira", "lives in São Paulo"]),
    ("I live in Porto, Portugal.", ["lives in Porto"]),
    ("i live in porto and i'm vegan", ["lives in porto", "vegan"]),
    ("We live in the Netherlands.", ["lives in the Netherlands"]),
    ("I’ve lived in Madrid for ten years", ["lives in Madrid"]),
    ("I moved back to Lisbon in 2021", ["lives in Lisbon"]),
    ("I’m from Brazil originally.", ["from Brazil"]),
    ("I was born in Lima", ["from Lima"]),
    ("I'm a software engineer at Stripe", ["works at Stripe", "works as software engineer"]),
    ("I work as a barista at Blue Bottle", ["works at Blue Bottle", "works as barista"]),
    ("I started working at Siemens last month", ["works at Siemens"]),
    ("I quit my job at Acme", ["does not work at Acme"]),
    ("I'm 27 years old", ["age: 27"]),
    ("I turned 40 yesterday", ["age: 40"]),
    ("My birthday's on the 3rd of May", ["birthday: 3rd of May"]),
    ("I speak French and Spanish", ["speaks French", "speaks Spanish"]),
    ("I got married in June 2020", ["married"]),
    ("My pronouns are they/them", ["pronouns: they/them"]),
    # constraints
    ("I'm allergic to peanuts and shellfish, what can I cook?", ["allergic to peanuts", "allergic to shellfish"]),
    ("im allergic to cats", ["allergic to cats"]),
    ("I have a severe nut allergy", ["nut allergy"]),
    ("I'm not allergic to cats", ["not allergic to cats"]),
    ("I'm no longer allergic to milk", ["no longer allergic to milk"]),
    ("I'm lactose-intolerant", ["lactose intolerant"]),
    ("I was diagnosed with asthma", ["has asthma"]),
    ("I take metformin daily", ["takes metformin"]),
    ("I'm a vegetarian", ["vegetarian"]),
    ("I’m not vegetarian any more", ["no longer vegetarian"]),
    ("I'm on a keto diet", ["keto"]),
    ("I don't eat meat or fish", ["does not eat meat", "does not eat fish"]),
    ("I don't drink alcohol", ["does not drink alcohol"]),
    ("I can't drive", ["cannot drive"]),
    ("I'm afraid of heights", ["afraid of heights"]),
    ("Our budget for the trip is 1500 euros", ["budget for the trip: 1500 euros"]),
    ("I can't spend more than $500", ["budget: at most $500"]),
    # preferences
    ("I like hiking, jazz, and cooking.", ["likes hiking", "likes jazz", "likes cooking"]),
    ("I really love Thai curry", ["likes Thai curry"]),
    ("i dont like onions", ["does not like onions"]),
    ("I can't stand loud music", ["does not like loud music"]),
    ("I'm not a fan of crowds", ["does not like crowds"]),
    ("I don't like spicy food, but I love sushi", ["does not like spicy food", "likes sushi"]),
    ("I used to love sushi", ["no longer likes sushi"]),
    ("I no longer like coffee", ["no longer likes coffee"]),
    ("I love rock and roll", ["likes rock and roll"]),
    ('I love "Home Alone"', ["likes Home Alone"]),
    ("My favourite color is green", ["favourite color: green"]),
    ("Jazz is my favourite music", ["favourite music: Jazz"]),
    ("I prefer aisle seats", ["prefers aisle seats"]),
    ("I prefer tea to coffee", ["prefers tea to coffee"]),
    # plans, decisions, events
    ("I'm moving to Oslo next month.", ["plans to move to Oslo (December 2022)"]),
    ("I'm planning to visit Japan in May", ["plans to visit Japan (May 2023)"]),
    ("I will fly to Oslo on Friday", ["plans to fly to Oslo (11 November 2022)"]),
    ("I have an interview on Friday", ["has an interview (11 November 2022)"]),
    ("I'm planning a trip to Japan", ["plans a trip to Japan"]),
    ("I cancelled my trip to Rome", ["cancelled: trip to Rome"]),
    ("Let's go with the night train", ["decided: the night train"]),
    ("I decided to learn Spanish", ["decided: learn Spanish"]),
    ("I've decided against buying a car", ["decided against: buying a car"]),
    ("I was in Lisbon last week", ["was in Lisbon (week of 31 October 2022)"]),
    ("I bought a new bike yesterday", ["bought a new bike (7 November 2022)"]),
    ("Last night I joined a chess club", ["joined a chess club (7 November 2022)"]),
    ("Last Friday, I finished my thesis", ["finished my thesis (4 November 2022)"]),
    ("I graduated from Porto University in 2015", ["graduated from Porto University (2015)"]),
    ("I adopted a kitten", ["adopted a kitten"]),
    # people
    ("my boss is Tom", ["boss: Tom"]),
    ("My mom's name is Rita", ["mom: Rita"]),
    ("I'm looking for a gift for my wife Ana", ["wife: Ana"]),
    ("I have two cats named Milo and Otis", ["cat: Milo", "cat: Otis"]),
    ("It is for my daughter Sara's birthday", ["daughter: Sara"]),
    ("My wife is allergic to nuts", ["Wife: allergic to nuts"]),
    ("My sister Ana lives in Berlin", ["sister: Ana", "Ana: lives in Berlin"]),
    # what replaces something
    ("I moved from Porto to Gdansk last month.", ["lives in Gdansk", "does not live in Porto"]),
    ("I used to live in Rome", ["no longer lives in Rome"]),
    ("I don't live in Porto, I live in Braga", ["does not live in Porto", "lives in Braga"]),
    ("Correction: I live in Lisbon, not Porto", ["lives in Lisbon", "does not live in Porto"]),
    ("I live in Porto now, not in Lisbon.", ["lives in Porto", "does not live in Lisbon"]),
    ("Sorry, my name is Bob, not Rob.", ["name: Bob", "name is not Rob"]),
    ("I switched from coffee to tea", ["uses tea", "does not use coffee"]),
    ("I switched from vegetarian to vegan", ["vegan", "not vegetarian"]),
    ("I changed my mind: the bus instead of the train", ["decided against: the train", "decided: the bus"]),
    ("Actually, let's take the ferry rather than the bus.", ["decided: the ferry", "decided against: the bus"]),
    ("Actually it's Lisbon, not Porto.", ["correction: Lisbon, not Porto"]),
    ("No, it's not Porto, it's Lisbon", ["correction: Lisbon, not Porto"]),
    # when it was so is no part of it
    ("I moved to Ghent five weeks ago", ["lives in Ghent"]),
    ("I moved to Porto a couple of months ago", ["lives in Porto"]),
    ("I moved to Oslo about two and a half years back", ["lives in Oslo"]),
    ("I've lived in Braga since March", ["lives in Braga"]),
    ("I live in Lima for now", ["lives in Lima"]),
    ("I work at Siemens for the time being", ["works at Siemens"]),
    ("I joined a chess club several months ago", ["joined a chess club"]),
    ("I'll work from Portugal from 10 to 23 August", ["plans to work from Portugal from 10 to 23 August (2023)"]),
    # nor is what ends the sentence
    ("I prefer night trains to flying anyway.", ["prefers night trains to flying"]),
    ("I love sushi though", ["likes sushi"]),
    ("I like tea, actually", ["likes tea"]),
    ("Let's take the ferry then", ["decided: the ferry"]),
    # goals, skills, what somebody has and is busy with
    ("My dream is to open a bakery", ["goal: open a bakery"]),
    ("I want to become a nurse", ["goal: become a nurse"]),
    ("I want to learn Rust this year", ["goal: learn Rust (2022)"]),
    ("I'm saving up for a new car", ["goal: for a new car"]),
    ("I don't want to buy a car", ["not the goal: buy a car"]),
    ("I know how to bake bread", ["can bake bread"]),
    ("I can play the piano", ["can play the piano"]),
    ("I play chess", ["plays chess"]),
    ("I've been playing the piano for years", ["plays piano"]),
    ("I'm good at cooking", ["good at cooking"]),
    ("I'm not good at maths", ["not good at maths"]),
    ("I have two dogs", ["has two dogs"]),
    ("I have three little kids", ["has three little kids"]),
    ("I don't have any kids", []),
    ("I'm working on a thesis about bees", ["is working on a thesis about bees"]),
    ("My hobbies are chess and rowing", ["likes chess", "likes rowing"]),
    ("Painting is my happy place", ["likes Painting"]),
    # the law
    ("I'm on probation", ["on probation"]),
    ("I'm on a student visa", ["on a student visa"]),
    ("I signed an NDA", ["signed NDA"]),
    ("I'm not allowed to leave the country", ["not allowed to leave the country"]),
    ("I have joint custody of my kids", ["has joint custody of my kids"]),
    # a past that names no day
    ("I visited Rome the other day", ["visited Rome"]),
    ("Recently, we went to the beach", ["went to the beach"]),
    ("I found an old map a few days ago", ["found an old map"]),
    # others
    ("Hi! I'm Mara.", ["name: Mara"]),
    ("We decided to use PostGIS because four of us edit at once", ["decided: use PostGIS"]),
    ("My goal is the Ghent half marathon on 25 October.", ["goal: the Ghent half marathon (25 October 2023)"]),
]


@pytest.mark.parametrize(("said", "expected"), STATED, ids=[said for said, _ in STATED])
def test_a_statement_is_read(said: str, expected: list[str]) -> None:
    assert texts(said) == expected


NOT_STATED = [
    # asked
    "Do I live in Rome?",
    "I live in Rome?",
    "I live in Rome, right?",
    "Would you say I like jazz?",
    "Can you tell me if I like jazz?",
    # supposed, wished, unsure
    "If I lived in Rome, I would love pizza",
    "I'll move to Porto next year if I get the job",
    "Say I live in Rome, what would rent be?",
    "Pretend I live in Rome",
    "When I lived in Rome, I loved it",
    "I wish I lived in Rome",
    "I might be allergic to nuts",
    "Maybe I like jazz",
    "I think I like jazz",
    "I'm probably moving to Rome next week",
    "I could live in Rome",
    # courtesies and chat
    "I would like a coffee",
    "I'd love to hear more",
    "I love you",
    "I love it",
    "I like your idea",
    "I like the way you explained that",
    "I love it when it rains",
    "I can't wait to see you",
    "I'll send you the file",
    "I'll take a look tomorrow",
    "Let's see",
    "Call me later",
    "Thanks, I really enjoyed this!",
    # without content of its own
    "I've changed my mind about the journey",
    "I changed my mind about that",
    "I'll call her tomorrow",
    "I'll meet him on Friday",
    "I decided on that one",
    "I decided to do the same thing",
    "I decided against the idea",
    "We decided to use it",
    "Hi! I'm German.",
    "I wonder about that",
    "I am in the kitchen/bathroom",
    # not about this
    "I live in fear",
    "I live with my parents",
    "I come from work",
    "I work from home",
    "I'm a bit tired",
    "I'm 5 minutes away",
    "My wife is German",
    "Hi, I'm German",
    "Hi, I'm vegan curious",
    "I moved here from Sweden",
    "I bought it yesterday",
    "It's exhausting, not fun",
    "I take my coffee black",
    "I don't have any allergies",
    "I'm a vegetarian restaurant owner",
    "My mom is an excellent baker",
    "My teacher, Mrs. Patel, is here",
    "I don't really like any of those suggestions",
    "I love to",
    "I want to know more",
    "I want to start",
    "I want to book a flight",
    "I can see it",
    "I can play",
    "I have a question",
    "I have two ideas",
    "I'm good",
    "I'm good with that",
    "I'm not allowed",
    "I found the bug",
    "I'm learning a lot",
    "I hope to hear from you",
    # said by somebody else, quoted, pasted, recalled
    'She said "I live in Paris"',
    "“I’m allergic to nuts” is what he wrote",
    "My friend says I like jazz",
    "He told me I love jazz",
    'Translate "I am allergic to nuts" to French',
    "Translate this: I am allergic to nuts",
    "Please proofread: I live in Paris and I love cheese",
    "Can you rewrite this for me: I live in Paris.\nI love cheese.",
    "> I live in Rome",
    "```\nI live in Rome\n```",
    "`I live in Rome`",
    '<memory id="a1">I live in Rome</memory> thanks',
    "<memory>I live in Rome. I love jazz.",
    "<document>I live in Rome</document>",
    "User: I live in Rome\nAssistant: Nice",
    "Here's an email I got:\nI live in Rome and hate cats",
    "From: a@b.c\nSubject: I live in Rome",
    # languages without phrases are left alone
    "Mieszkam w Gdańsku",
    "Jeg bor i Oslo",
    "",
]


@pytest.mark.parametrize("said", NOT_STATED)
def test_nothing_is_read_into_what_states_nothing(said: str) -> None:
    assert texts(said) == []


def test_a_very_long_message_is_a_document_and_states_nothing() -> None:
    assert texts("I live in Rome. " + "Lorem ipsum dolor. " * 400) == []


# -- whose statement ------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("role", ["assistant", "system", "developer", "tool"])
def test_V095_only_what_a_user_says_is_evidence(role: str) -> None:
    message = user("I love skiing in Norway", role=role, tool_call_id="c1" if role == "tool" else None)
    assert extract([message], thread_id="t1", now=NOW) == ()


def test_V095_a_suggestion_of_the_assistant_is_no_fact_of_the_user() -> None:
    asked = user("Any holiday ideas?")
    answered = Message(role="assistant", content="You love skiing in Norway, go there.", id="m2", created_at=SAID)
    assert extract([asked, answered], thread_id="t1", now=NOW) == ()


def test_external_text_is_no_evidence() -> None:
    assert texts("I love skiing", external=True) == []


def test_V096_what_is_said_of_a_colleague_is_about_the_colleague() -> None:
    colleague, jazz = insights("My colleague Kim cannot stand jazz.")
    assert (colleague.subject, colleague.slot, colleague.value) == ("user", "relation:colleague:kim", "kim")
    assert (jazz.subject, jazz.slot, jazz.polarity) == ("kim", "likes:jazz", "negative")
    assert jazz.text == "Kim: does not like jazz"
    assert jazz.metadata == {"told_by": "user"}


def test_a_named_speaker_is_the_subject_and_is_named_in_the_text() -> None:
    (found,) = insights("I love hiking", name="Caroline")
    assert (found.subject, found.text, found.metadata) == ("caroline", "Caroline: likes hiking", {})


# -- what an insight holds ------------------------------------------------------------------------------------------------


def test_the_source_is_the_sentence_in_the_message() -> None:
    said = "Good morning! I’m allergic to peanuts. Thanks."
    (found,) = insights(said)
    (source,) = found.sources
    assert (source.message_id, source.thread_id, source.text) == ("m1", "t1", "allergic to peanuts")
    assert said[source.start : source.end] == "I’m allergic to peanuts."


def test_text_parts_are_read_and_pictures_are_not() -> None:
    parts = (Part("image", ref="file-1"), Part("text", "I love hiking"), Part("reasoning", "I love skiing"))
    assert [found.text for found in extract([user("", content=parts)], thread_id="t1", now=NOW)] == ["likes hiking"]


@pytest.mark.parametrize(
    ("said", "importance"),
    [
        ("I'm allergic to peanuts", "high"),
        ("I have asthma", "high"),
        ("My name is Ana", "high"),
        ("I like tea", "medium"),
        ("I live in Porto", "medium"),
        ("I saw Dune yesterday", "low"),
    ],
)
def test_importance_follows_the_sort_of_fact(said: str, importance: str) -> None:
    assert [found.importance for found in insights(said)] == [importance]


def test_trust_and_times_come_from_the_message() -> None:
    (found,) = insights("I like tea")
    assert (found.trust, found.recorded_at, found.valid_from) == ("user", NOW, SAID)


def test_a_message_without_a_time_counts_as_said_now() -> None:
    (found,) = insights("I like tea", created_at=None)
    assert found.valid_from == NOW


def test_a_fact_said_twice_in_a_message_comes_once() -> None:
    assert texts("I like tea. Really, I like tea!") == ["likes tea"]


def test_V094_spacing_case_and_articles_make_no_other_fact() -> None:
    slots = {(found.slot, found.value) for said in ("I like the beach", "i LIKE   the Beach") for found in insights(said)}
    assert slots == {("likes:beach", "beach")}


def test_the_same_message_gives_the_same_ids() -> None:
    assert insights("I like tea") == insights("I like tea")


def test_other_facts_and_other_times_have_other_ids() -> None:
    ids = {
        found.id
        for said, at in (("I like tea", SAID), ("I do not like tea", SAID), ("I like tea", SAID + timedelta(days=1)))
        for found in insights(said, created_at=at)
    }
    assert len(ids) == 3


@given(st.text(max_size=300))
def test_any_text_is_taken_and_its_facts_are_bounded(said: str) -> None:
    for found in insights(said):
        assert 0 < len(found.text) <= MAX_TEXT
        assert 0 <= found.sources[0].start < found.sources[0].end <= len(said)


@given(st.lists(st.sampled_from([said for said, _ in STATED] + NOT_STATED), max_size=5))
def test_facts_of_several_messages_come_in_their_order(said: list[str]) -> None:
    messages = [user(text, id=f"m{number}") for number, text in enumerate(said)]
    order = [found.sources[0].message_id for found in extract(messages, thread_id="t1", now=NOW)]
    assert order == sorted(order, key=lambda name: int(name[1:]))


# -- what is passed over --------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("rule", RULES, ids=[f"{at}-{rule.slot}" for at, rule in enumerate(RULES)])
def test_whatever_a_rule_matches_holds_one_of_its_triggers(rule: Rule) -> None:
    @settings(max_examples=6, deadline=None, derandomize=True, suppress_health_check=list(HealthCheck))
    @given(st.from_regex(rule.pattern))
    def holds(text: str) -> None:
        match = rule.pattern.search(text)
        assert match is None or not rule.triggers.isdisjoint(words(match.group()))

    holds()


@pytest.mark.shared
def test_sentences_without_a_trigger_would_state_nothing(shared: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    conversation = json.loads((shared / "data/locomo/locomo_dev.json").read_text(encoding="utf-8"))[0]["conversation"]
    turns = [turn["text"] for session in conversation.values() if isinstance(session, list) for turn in session]
    messages = [user(text, id=f"m{number}") for number, text in enumerate(turns)]
    quickly = extract(messages, thread_id="t1", now=NOW)
    every = frozenset(word for text in turns for word in words(text))
    monkeypatch.setattr(clauses, "TRIGGERS", TRIGGERS | every)
    monkeypatch.setattr(clauses, "SPEAKING", every)
    assert extract(messages, thread_id="t1", now=NOW) == quickly


# -- times ----------------------------------------------------------------------------------------------------------------


def test_V051_last_week_is_the_week_before_the_message() -> None:
    (found,) = insights("I was in Lisbon last week")
    assert found.valid_from == datetime(2022, 10, 31, tzinfo=timezone.utc)
    assert "2022" in found.text


def test_a_move_is_true_from_the_time_it_names() -> None:
    found, _ = insights("I moved from Porto to Gdansk in May")
    assert found.valid_from == datetime(2022, 5, 1, tzinfo=timezone.utc)


@pytest.mark.parametrize(
    ("words", "since"),
    [
        ("five weeks ago", datetime(2022, 10, 3, tzinfo=timezone.utc)),
        ("a couple of months ago", datetime(2022, 9, 1, tzinfo=timezone.utc)),
        ("two years back", datetime(2020, 1, 1, tzinfo=timezone.utc)),
        ("in March", datetime(2022, 3, 1, tzinfo=timezone.utc)),
        ("a few weeks ago", SAID),
        ("for now", SAID),
    ],
)
def test_a_time_in_words_leaves_the_value_and_says_since_when(words: str, since: datetime) -> None:
    (found,) = insights(f"I moved to Ghent {words}")
    assert (found.text, found.valid_from) == ("lives in Ghent", since)


def test_a_plan_is_true_from_when_it_is_told() -> None:
    (found,) = insights("I'm planning to visit Japan in May")
    assert found.valid_from == SAID


@pytest.mark.parametrize(
    ("words", "past", "future"),
    [
        ("yesterday", "7 November 2022", "7 November 2022"),
        ("tonight", "8 November 2022", "8 November 2022"),
        ("two weeks ago", "week of 24 October 2022", "week of 24 October 2022"),
        ("a couple of years ago", "2020", "2020"),
        ("last month", "October 2022", "October 2022"),
        ("last weekend", "weekend of 5 November 2022", "weekend of 5 November 2022"),
        ("in May", "May 2022", "May 2023"),
        ("last May", "May 2022", "May 2022"),
        ("in May 2019", "May 2019", "May 2019"),
        ("on Friday", "4 November 2022", "11 November 2022"),
        ("next Tuesday", "15 November 2022", "15 November 2022"),
        ("on 3 May", "3 May 2022", "3 May 2023"),
        ("May 3rd, 2021", "3 May 2021", "3 May 2021"),
        ("on Saturday, March 12th", "12 March 2022", "12 March 2023"),
        ("2021-05-03", "3 May 2021", "3 May 2021"),
        ("since 2019", "2019", "2019"),
        ("in two weeks", None, "week of 21 November 2022"),
        ("31 June", None, None),
        ("9999 years ago", None, None),
        ("a few days ago", None, None),
        ("recently", None, None),
    ],
)
def test_times_are_meant_from_the_moment_of_the_words(words: str, past: str | None, future: str | None) -> None:
    labels = [when.label if (when := find(words, SAID, future=ahead)) else None for ahead in (False, True)]
    assert labels == [past, future]


@given(
    st.datetimes(timezones=st.just(timezone.utc)),
    st.sampled_from(["yesterday", "last week", "next month", "in May", "2 years ago"]),
)
def test_times_at_the_edges_of_the_calendar_raise_nothing(said: datetime, words: str) -> None:
    for future in (False, True):
        find(words, said, future=future)


# -- real conversations ---------------------------------------------------------------------------------------------------


@pytest.mark.shared
def test_every_fact_in_real_conversations_rests_on_a_sentence_of_its_speaker(shared: Path) -> None:
    conversations = json.loads((shared / "data/locomo/locomo_dev.json").read_text(encoding="utf-8"))
    found = 0
    for conversation in conversations:
        turns = [
            turn for name, session in conversation["conversation"].items() if isinstance(session, list) for turn in session
        ]
        messages = {turn["dia_id"]: user(turn["text"], id=turn["dia_id"], name=turn["speaker"]) for turn in turns}
        for insight in extract(list(messages.values()), thread_id="t1", now=NOW):
            (source,) = insight.sources
            said = messages[source.message_id]
            assert insight.metadata or insight.subject == said.speaker.casefold()
            assert said.text[source.start : source.end].strip() == said.text[source.start : source.end] != ""
            found += 1
    assert found > 150


def test_V096_what_is_told_of_another_is_less_sure_than_what_one_says_of_oneself() -> None:
    sister, home = insights("My sister Ana lives in Berlin")
    assert (sister.subject, sister.confidence) == ("user", 0.9)
    assert (home.subject, home.confidence) == ("ana", 0.6)


def test_an_insight_tells_the_sessions_it_was_said_in_and_when_it_came_to_be_known() -> None:
    (found,) = insights("I like tea")
    assert (found.source_session_ids, found.date_added) == (("t1",), NOW)
