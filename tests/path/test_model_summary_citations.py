"""What a model's reply cites: how it is read, and what is added to it or dropped."""

from __future__ import annotations

import pytest
from tests.path.summarising import (
    GOOD,
    lines_of,
    sources_of,
    texts_of,
    thread,
)

from bethink.compaction.model_reply import Cited, cited_statements


@pytest.mark.parametrize(
    "line",
    [
        "[1, 3] Ada goes",
        "- [1,3] Ada goes",
        "* [#1, #3] Ada goes",
        "1. [1] [3] Ada goes",
        "[1][3]: Ada goes",
        "**[1 and 3]** Ada goes",
        "[messages 1, 3] – Ada goes",
        "Ada goes [1, 3]",
        "Ada goes [1], [3].",
        "【1，3】 Ada goes".replace("，", ","),
        "- [ ] [1;3] Ada goes",
        "[3-3, 1] Ada goes",
    ],
)
def test_citations_are_read_however_they_are_written(line: str) -> None:
    (found,) = cited_statements(line)
    assert found.text == "Ada goes"
    assert [number for number in range(10) if found.names(number)] == [1, 3]


def test_a_range_cites_all_within_it_either_way_round() -> None:
    (found,) = cited_statements("[6-4] Ada goes")
    assert [number for number in range(10) if found.names(number)] == [4, 5, 6]


@pytest.mark.parametrize(
    "line", ["[x] Ada goes", "[draft 2] Ada goes", "Ada [3] goes", "[] Ada goes", "[1234567] Ada goes", "(3) Ada goes"]
)
def test_other_brackets_cite_nothing(line: str) -> None:
    (found,) = cited_statements(line)
    assert found.cites == ()


def test_a_minus_behind_a_citation_stays() -> None:
    assert cited_statements("[3] -5 degrees")[0] == Cited("-5 degrees", ((3, 3),))


def test_V089_fences_and_talk_around_the_lines_are_left_out() -> None:
    wrapped = f"Here is the summary you asked for:\n\n```text\n{GOOD}```\n\nLet me know if you need more!"
    assert texts_of(wrapped) == texts_of(GOOD)


def test_thinking_aloud_is_no_part_of_a_reply() -> None:
    assert texts_of(f"<think>\n[2] The user wants Lisbon?\n</think>\n{GOOD}") == texts_of(GOOD)


def test_V091_numbers_that_were_never_offered_are_dropped_and_the_others_count() -> None:
    assert sources_of("[3, 77] They take the 7:30 train.") == ("m3",)


def test_a_message_with_a_rare_word_of_a_line_is_added_to_its_sources() -> None:
    assert sources_of("[3] They take the 7:30 train, reference QX-4071.") == ("m3", "m4")


def test_one_common_word_adds_no_source_and_two_rare_ones_do() -> None:
    assert sources_of("[1] The user plans a trip to Porto by train.") == ("m1",)
    assert sources_of("[1] The user plans a trip to Porto, and has looked for a lift and a budget.") == ("m1", "m5")


def test_the_name_of_a_speaker_adds_no_source() -> None:
    messages = thread(("Ada", "I moved to Porto."), ("Ben", "Did you like the station, Ada? Ben here."))
    assert sources_of("[1] It was Porto that Ada moved to, as Ben knows.", messages) == ("m1",)


def test_a_line_whose_words_are_mostly_from_elsewhere_rests_on_all_that_was_shown() -> None:
    assert sources_of("[3] Travelling companion suffers motion illness aboard coaches.") == tuple(
        f"m{at}" for at in range(1, 7)
    )


def test_a_line_of_words_that_everybody_else_said_rests_on_all_that_was_shown() -> None:
    parcel = "Heavy parcels wait at the depot."
    messages = thread(("user", parcel), ("user", parcel), ("user", parcel), ("user", "The weather is fine."))
    assert sources_of("[4] Fine weather.", messages) == ("m4",)
    assert sources_of("[4] Heavy parcels wait in fine weather.", messages) == ("m1", "m2", "m3", "m4")


@pytest.mark.parametrize("invented", ["The train leaves at 9:45.", "The hotel costs 4800 euros.", "The reference is QX-4072."])
def test_a_line_with_a_number_that_nobody_said_is_dropped(invented: str) -> None:
    assert lines_of(f"[3, 4, 5] {invented}") == "uncited"


def test_a_date_may_be_that_of_a_message() -> None:
    assert texts_of("[4] On 2026-03-05 two seats were booked.") == ["On 2026-03-05 two seats were booked."]


def test_a_number_is_the_same_however_it_is_grouped() -> None:
    messages = thread(("user", "The budget is 12,500 euros for the 7th."))
    assert texts_of("[1] The budget is 12500 euros, by 07.", messages) == ["The budget is 12500 euros, by 07."]


def test_a_line_copied_from_the_list_loses_its_heading() -> None:
    assert texts_of("[4] assistant, 2026-03-05: I booked two seats.") == ["I booked two seats."]


def test_speakers_of_a_line_are_those_it_cites() -> None:
    found = lines_of("[3, 4] They take the 7:30 train, reference QX-4071.")
    assert not isinstance(found, str)
    assert found[0].speaker == "user and assistant"


def test_lines_stand_in_the_order_of_what_they_rest_on() -> None:
    assert texts_of("\n".join(reversed(GOOD.splitlines()))) == texts_of(GOOD)
