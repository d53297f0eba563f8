"""What the summariser without a model keeps: `compaction.extractive`, with `statements` and `facts` below it."""

from __future__ import annotations

import json
import random
from collections.abc import Callable, Sequence
from datetime import datetime, timedelta, timezone
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from bethink.compaction.extractive import MAX_LINE_LENGTH, choose, shortened, summarise
from bethink.compaction.facts import Facts, facts
from bethink.compaction.sentences import sentences
from bethink.compaction.statements import is_expression
from bethink.messages import Message, Part
from bethink.records import Line
from bethink.testing.strategies import histories

AT = datetime(2026, 3, 1, 12, tzinfo=timezone.utc)
for_any = settings(max_examples=60, deadline=None, suppress_health_check=[HealthCheck.too_slow])


def count(text: str) -> int:
    return -(-len(text) // 4)


def thread(*said: tuple[str, str]) -> list[Message]:
    """Messages m1, m2, ... a minute apart, each given as (role or name, text)."""
    found = []
    for at, (speaker, text) in enumerate(said, 1):
        role = speaker if speaker in ("user", "assistant", "tool", "system") else "user"
        fields = {"role": role, "name": None if role == speaker else speaker, "tool_call_id": "c" if role == "tool" else None}
        found.append(Message(content=text, id=f"m{at}", created_at=AT + timedelta(minutes=at), **fields))  # type: ignore[arg-type]
    return found


def summary(*said: tuple[str, str], limit: int = 1_000) -> list[str]:
    return [line.text for line in summarise(thread(*said), limit=limit, count=count)]


# -- lines -----------------------------------------------------------------------------------------------------------------


def test_nothing_said_leaves_nothing() -> None:
    assert summarise((), limit=100, count=count) == ()
    assert choose((), limit=100, count=count) == ()


def test_a_line_is_a_sentence_word_for_word_with_its_source_time_and_speaker() -> None:
    found = summarise(thread(("user", "Hello!"), ("Ada", "We  moved to\tPorto. It rains.")), limit=100, count=count)
    assert found[0] == Line(text="We moved to Porto.", sources=("m2",), at=AT + timedelta(minutes=2), speaker="Ada")


def test_lines_are_in_the_order_in_which_they_were_said() -> None:
    said = [
        ("user", f"Shelf {letter} holds {number} boxes.") for letter, number in zip("BCDEFG", (9, 2, 7, 4, 8, 1), strict=True)
    ]
    assert summary(*said) == [text for _, text in said]


def test_courtesies_alone_are_not_worth_a_line() -> None:
    chat = [
        ("user", "Hi there!"),
        ("assistant", "Hello! How can I help you today?"),
        ("user", "Great, thanks!"),
        ("user", "Yep, Anna."),
    ]
    assert summary(*chat) == []


def test_a_sentence_longer_than_a_line_is_quoted_to_its_end() -> None:
    towns = ("Aarhus", "Bergen", "Cork", "Delft", "Evora", "Faro", "Ghent", "Hasselt", "Imola", "Jena", "Kotor", "Lugano")
    said = "so we went on " + ", ".join(f"then we stayed for {index + 13} days in {town}" for index, town in enumerate(towns))
    lines = [line.text for line in summarise(thread(("user", said)), limit=1_000, count=count)]
    assert len(lines) > 1
    assert all(len(line) <= 240 and line.removesuffix("…") in said for line in lines)
    assert all(line.endswith("…") for line in lines[:-1])
    assert all(any(town in line for line in lines) for town in towns)


def test_a_sentence_without_words_is_one_line() -> None:
    assert len(summarise(thread(("user", "key " + "x" * 5_000)), limit=1_000, count=count)) == 1


def test_reasoning_and_system_texts_are_left_out() -> None:
    said = thread(("system", "You are a pirate named Flint."), ("user", "Use this. The rate applies in Porto."))
    parts = (Part("reasoning", "Perhaps Lisbon."), Part("image", ref="https://a.example/i.png"), Part("text", "Porto is set."))
    said.append(Message(role="assistant", content=parts, id="m3", created_at=AT))
    texts = [line.text for line in summarise(said, limit=1_000, count=count)]
    assert texts == ["Use this.", "The rate applies in Porto.", "Porto is set."]


def test_of_a_code_block_only_what_brings_a_fact_is_kept_and_words_come_first() -> None:
    code = "```python\nimport flask\n# as agreed with Ana\nrate = 4711\nrun(rate)\nclass Ledger(Model):\n```"
    said = [("user", f"Use this:\n{code}\nThe rate applies in Porto."), ("assistant", "Understood, in Porto from now on.")]
    whole = [line.text for line in summarise(thread(*said), limit=1_000, count=count)]
    assert "rate = 4711" in whole
    assert "class Ledger(Model):" in whole
    assert "# as agreed with Ana" in whole
    assert "run(rate)" not in whole
    assert not any("```" in line for line in whole)
    assert "rate = 4711" not in [line.text for line in summarise(thread(*said), limit=20, count=count)]


def test_V066_missing_content_is_no_text() -> None:
    said = [Message(role="assistant", content=content, id="m", created_at=AT) for content in (None, "", ())]
    assert summarise(said, limit=100, count=count) == ()


def test_json_of_a_tool_is_one_line() -> None:
    assert summary(("tool", '{"status": "booked",\n "reference": "R-1042"}')) == ['{"status": "booked", "reference": "R-1042"}']


# -- bounds ----------------------------------------------------------------------------------------------------------------


def test_a_long_sentence_without_a_comma_is_cut_at_a_word() -> None:
    text, rest = summary(("user", "The parcel " + "really " * 60 + "weighs 4 kg."))
    assert len(text) <= MAX_LINE_LENGTH
    assert text.endswith("really…")
    assert rest.endswith("really weighs 4 kg.")


def test_a_script_without_spaces_is_cut_between_letters() -> None:
    assert shortened("你" * 300) == "你" * 239 + "…"
    assert shortened("e\u0301" * 10, 12) == "e\u0301" * 5 + "…"


def test_what_fits_is_not_cut() -> None:
    assert shortened(" a \n b ", 3) == "a b"


def test_V015_one_message_far_above_the_limit_leaves_its_beginning() -> None:
    (text,) = summary(("user", "The parcel for Porto " + "really " * 20_000), limit=20)
    assert text.startswith("The parcel for Porto")
    assert text.endswith("…")
    assert count(text) < 20


def test_a_limit_below_a_few_words_leaves_nothing() -> None:
    assert summary(("user", "The parcel for Porto weighs 4 kg."), limit=1) == []


def test_a_megabyte_in_one_message_costs_no_more_than_its_first_pages() -> None:
    text = "Box 17 is in Porto. " + "nothing " * 120_000
    assert "Box 17 is in Porto." in summary(("user", text), limit=60)


# -- what is kept ----------------------------------------------------------------------------------------------------------


def test_facts_and_decisions_are_kept_before_small_talk() -> None:
    chat = [
        ("user", "The weather has been so strange lately, hasn't it?"),
        ("assistant", "It has, people talk about the weather all the time these days."),
        ("user", "We decided to go with PostgreSQL 17 for the billing service."),
        ("assistant", "People like the weather when it is not strange, and talk about it."),
        ("user", "The deadline is May 5 and the contact is Ana Sousa."),
    ]
    assert summary(*chat, limit=32) == [
        "We decided to go with PostgreSQL 17 for the billing service.",
        "The deadline is May 5 and the contact is Ana Sousa.",
    ]


def test_a_fact_is_not_kept_twice_while_another_is_missing() -> None:
    chat = [
        ("user", "Berlin is where the office of Ana is."),
        ("user", "The office has Ana."),
        ("user", "The gate code is 7719."),
    ]
    assert summary(*chat, limit=17) == ["The office has Ana.", "The gate code is 7719."]


def test_the_users_words_are_kept_before_the_assistants_and_a_tools() -> None:
    chat = [
        ("tool", "Crate 10 sits in hall B."),
        ("assistant", "Crate 20 sits in hall C."),
        ("user", "Crate 30 sits in hall D."),
    ]
    assert summary(*chat, limit=7) == ["Crate 30 sits in hall D."]
    assert summary(*chat, limit=14) == ["Crate 20 sits in hall C.", "Crate 30 sits in hall D."]


# -- the newest wins -------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "later",
    ["make the budget 3500", "Actually the budget should be 3500 now.", "We raised the budget to 3,500 EUR."],
)
def test_a_statement_revised_with_another_number_is_replaced(later: str) -> None:
    assert summary(("user", "The budget is 3000."), ("assistant", "Noted, the budget is 3000."), ("user", later)) == [later]


def test_a_question_replaces_no_statement() -> None:
    assert "The budget is 3000." in summary(("user", "The budget is 3000."), ("user", "What is the budget?"))


def test_a_number_is_not_replaced_by_a_statement_without_one() -> None:
    assert "The budget is 3000." in summary(("user", "The budget is 3000."), ("user", "I would like to set the budget."))


@pytest.mark.parametrize(
    ("sooner", "later"),
    [
        ("Anna owes me 20 euros for lunch.", "Boris owes me 30 euros for lunch."),
        ("On May 5 I ran 10 km in the park.", "On May 9 I ran 12 km in the park."),
        ("Invoice AB-12 is paid with 40 euros.", "Invoice AB-13 is paid with 50 euros."),
    ],
    ids=["other people", "other days", "other things"],
)
def test_what_is_about_something_else_stays(sooner: str, later: str) -> None:
    assert summary(("user", sooner), ("user", later)) == [sooner, later]


@pytest.mark.parametrize(
    ("sooner", "later"),
    [
        ("PORT=5000", "PORT=8080"),
        ("The budget = 500", "The budget = 700"),
        ("latency < 200 ms", "latency < 300 ms"),
        ("The meeting is from 9 to 10.", "The meeting is from 10 to 11."),
        ("Gate 12 is where we board.", "Gate 12 is where we board at 9:40."),
        ("We serve 500+ users.", "We serve 700+ users."),
    ],
    ids=["a setting", "in signs", "a limit", "two values", "the same gate", "a plus that adds nothing"],
)
def test_the_value_of_a_thing_is_revised_however_it_is_written(sooner: str, later: str) -> None:
    assert summary(("user", sooner), ("user", later)) == [later]


@pytest.mark.parametrize(
    ("sooner", "later"),
    [
        ("3 apples + 4 apples = 7 apples", "3 apples + 5 apples = 8 apples"),
        ("so f(2) = 4 holds", "so f(3) = 9 holds"),
        (r"the slope is \frac{3}{4}", r"the slope is \frac{5}{6}"),
        ("the area is 5 × 8 square metres", "the area is 6 × 9 square metres"),
        ("for row in range(0, 10):", "for row in range(5, 20):"),
    ],
    ids=["sum", "function", "TeX", "product", "code"],
)
def test_an_expression_is_revised_by_no_other(sooner: str, later: str) -> None:
    assert summary(("user", sooner), ("user", later)) == [sooner, later]
    assert summary(("user", sooner), ("user", sooner)) == [sooner]


@pytest.mark.parametrize(
    ("sooner", "later"),
    [
        ("Day 1: practise scales for 20 minutes.", "Day 2: practise scales for 30 minutes."),
        ("Room 12 is booked for 40 people.", "Room 14 is booked for 60 people."),
        ("7:00 AM - walk the dog for 15 minutes", "6:00 PM - walk the dog for 25 minutes"),
        ("2019: sold 300 units", "2020: sold 350 units"),
    ],
    ids=["day", "room", "time", "year"],
)
def test_what_a_number_in_front_names_is_something_else_than_what_another_names(sooner: str, later: str) -> None:
    assert summary(("user", sooner), ("user", later)) == [sooner, later]


def test_rows_of_one_message_revise_each_other_only_where_it_says_so() -> None:
    rows = ["Trains to Ghent leave at 9:40.", "Trains to Ghent leave at 10:40."]
    assert summary(("user", "\n".join(rows))) == rows
    assert summary(("user", rows[0]), ("user", rows[1])) == rows[1:]
    assert summary(("user", "The budget is 3000. Sorry, the budget is 3500.")) == ["Sorry, the budget is 3500."]


def test_what_has_more_numbers_than_are_said_anew_stays() -> None:
    sooner, later = "The trip costs 3000 euros, with 800 for trains.", "The trip costs 3500 euros with trains."
    assert summary(("user", sooner), ("user", later)) == [sooner, later]
    assert summary(("user", later), ("user", sooner)) == [sooner]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("x = 5", True),
        ("sin(30) = 0.5", True),
        ("2^10 is 1024", True),
        ("Add 3 * 2 cups.", True),
        ("timeout = 30", False),
        ("const limit = 5;", False),
        ("speed = 60 km/h", False),
        ("temperature ≈ 37 °C", False),
        ("The *budget* is 5.", False),
        ("Open 9 - 17", False),
        ("I rate it 4/5.", False),
        ("We use C++ 17.", False),
        ("The budget is <500 EUR.", False),
    ],
)
def test_an_expression_is_more_than_a_name_and_its_value(text: str, expected: bool) -> None:
    assert is_expression(text) is expected


def test_two_people_may_say_the_same_of_themselves() -> None:
    assert len(summary(("Ada", "My budget is 3000."), ("Ben", "My budget is 3500."))) == 2


def test_an_echo_is_replaced_by_the_users_own_words_also_when_it_comes_later() -> None:
    assert summary(("user", "The flight leaves at 9:40."), ("assistant", "So the flight leaves at 9:40.")) == [
        "The flight leaves at 9:40."
    ]


# -- choosing among lines --------------------------------------------------------------------------------------------------


def lines(*texts: str) -> list[Line]:
    return [Line(text=text, sources=(f"m{at}",), at=AT) for at, text in enumerate(texts)]


def test_choose_returns_lines_as_they_are_in_the_order_given() -> None:
    given_lines = lines("The gate code is 7719.", "It was fun.", "Ana moved to Porto.")
    assert choose(given_lines, limit=1_000, count=count) == tuple(given_lines)
    assert choose(given_lines, limit=13, count=count) == (given_lines[0], given_lines[2])


def test_choose_lets_the_newest_of_two_summaries_win() -> None:
    sooner, later = lines("The budget is 3000.", "The budget is 3500.")
    assert choose([sooner, later], limit=1_000, count=count) == (later,)


# -- facts -----------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("I paid $3,500.50 at 3pm, 20% off", Facts(numbers=("3500.50", "3pm", "20%"))),
        ("It is due on May 5th or next week", Facts(numbers=("5th",), dates=("may 5", "next week", "may"))),
        ("on 5 May or 2026-05-06", Facts(numbers=("5", "2026-05-06"), dates=("may 5", "2026-05-06", "may"))),
        ("i may march on monday", Facts(dates=("mon",))),
        ("We met O'Brien in New York", Facts(names=("obrien", "new", "york"))),
        ("Porto is Ana's town, and NASA knows", Facts(names=("ana", "nasa"))),
        ("ask ada@example.org about src/app.py", Facts(identifiers=("ada@example.org", "src/app.py"))),
        ("see `rm x` in do_it and ABC-12", Facts(names=("abc",), numbers=("12",), identifiers=("`rm x`", "do_it", "ABC-12"))),
        ("nothing here", Facts()),
    ],
)
def test_facts_of_a_sentence(text: str, expected: Facts) -> None:
    (found,) = facts([text])
    assert {name: set(getattr(found, name)) for name in Facts.__struct_fields__} == {
        name: set(getattr(expected, name)) for name in Facts.__struct_fields__
    }


def test_a_word_that_starts_a_sentence_is_a_name_where_it_is_one_elsewhere() -> None:
    first, _ = facts(["Porto is far.", "I live in Porto."])
    assert first.names == ("porto",)
    assert facts(["Porto is far."])[0].names == ()


# -- for any history, and for real ones ------------------------------------------------------------------------------------


@for_any
@given(histories(), st.integers(1, 200))
def test_any_summary_is_bounded_ordered_cited_and_word_for_word(history: list[Message], limit: int) -> None:
    found = summarise(history, limit=limit, count=count)
    assert count("\n".join(line.text for line in found)) <= limit
    order = [message.id for message in history]
    cited = [order.index(line.sources[0]) for line in found]
    assert cited == sorted(cited)
    for line, at in zip(found, cited, strict=True):
        assert len(line.text) <= MAX_LINE_LENGTH
        assert line.text.removesuffix("…") in " ".join(history[at].text.split())


@for_any
@given(histories(), st.integers(1, 200))
def test_the_same_history_gives_the_same_summary(history: list[Message], limit: int) -> None:
    assert summarise(history, limit=limit, count=count) == summarise(history, limit=limit, count=count)


def of_locomo(shared: Path) -> list[list[Message]]:
    found = []
    for sample in json.loads((shared / "data/locomo/locomo_dev.json").read_text()):
        conversation, turns = sample["conversation"], []
        for number in range(1, 40):
            turns += conversation.get(f"session_{number}", [])
        found.append(thread(*[(turn["speaker"], turn["text"]) for turn in turns]))
    return found


def survival(spans: Sequence[Sequence[Message]], summariser: Callable[[Sequence[Message], int], list[str]]) -> float:
    """Share of the distinct facts of each conversation that are in the summaries of its segments at a quarter of the tokens."""
    kept = there = 0
    for messages in spans:
        speakers = frozenset(message.speaker.lower() for message in messages)
        all_facts: set[str] = set()
        kept_facts: set[str] = set()
        for start in range(0, len(messages), 24):
            segment = messages[start : start + 24]
            limit = sum(count(message.text) for message in segment) // 4
            every = [text for message in segment for _, _, text in sentences(message.text)]
            all_facts |= {fact for found in facts(every, speakers) for fact in found.all}
            kept_facts |= {fact for found in facts(summariser(segment, limit), speakers) for fact in found.all}
        kept += len(kept_facts & all_facts)
        there += len(all_facts)
    return kept / there


def first_that_fit(texts: Sequence[str], limit: int) -> list[str]:
    kept: list[str] = []
    for text in texts:
        limit -= count(text) + 1
        if limit < 0:
            break
        kept.append(text)
    return kept


@pytest.mark.shared
def test_more_facts_of_real_conversations_survive_than_in_the_first_or_in_random_sentences(shared: Path) -> None:
    def every(messages: Sequence[Message]) -> list[str]:
        return [text for message in messages for _, _, text in sentences(message.text)]

    def shuffled(messages: Sequence[Message]) -> list[str]:
        texts = every(messages)
        random.Random(7).shuffle(texts)
        return texts

    spans = of_locomo(shared)
    ours = survival(spans, lambda span, limit: [line.text for line in summarise(span, limit=limit, count=count)])
    lead = survival(spans, lambda span, limit: first_that_fit(every(span), limit))
    chance = survival(spans, lambda span, limit: first_that_fit(shuffled(span), limit))
    assert ours > 0.75
    assert ours > 1.5 * max(lead, chance)
