"""Where sentences begin and end: `compaction.sentences`."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bethink.compaction.sentences import is_fence, sentences


def texts(text: str) -> list[str]:
    return [sentence for _, _, sentence in sentences(text)]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("I moved. It rains! Really? Yes.", ["I moved.", "It rains!", "Really?", "Yes."]),
        ("i moved to berlin. my budget is 3000", ["i moved to berlin.", "my budget is 3000"]),
        ("Dr. Smith met Mrs. Jones vs. the city.", ["Dr. Smith met Mrs. Jones vs. the city."]),
        ("Bring fruit, e.g. apples, i.e. food. Thanks", ["Bring fruit, e.g. apples, i.e. food.", "Thanks"]),
        ("At 5 p.m. we left. At 6 p.m. It rained.", ["At 5 p.m. we left.", "At 6 p.m.", "It rained."]),
        ("J. R. Smith wrote it. So did I. And you.", ["J. R. Smith wrote it.", "So did I.", "And you."]),
        ("The answer is no. See fig. 3 and No. 7.", ["The answer is no.", "See fig. 3 and No. 7."]),
        ("Due on Jan. 5 or on Sat. Ask me.", ["Due on Jan. 5 or on Sat.", "Ask me."]),
        ("It costs 3.50 in v1.2.3 of app.py. Fine.", ["It costs 3.50 in v1.2.3 of app.py.", "Fine."]),
        ("See https://a.example/b.html?q=1. Then go.", ["See https://a.example/b.html?q=1.", "Then go."]),
        ("Well... maybe not. So… Yes.", ["Well... maybe not.", "So…", "Yes."]),
        ('He said "Go." She went.', ['He said "Go."', "She went."]),
        ("我住在北京。你呢？好！", ["我住在北京。", "你呢？", "好！"]),
        ("मैं घर पर हूँ। तुम कहाँ हो?", ["मैं घर पर हूँ।", "तुम कहाँ हो?"]),
    ],
)
def test_prose_is_split_where_a_reader_would(text: str, expected: list[str]) -> None:
    assert texts(text) == expected


def test_list_items_are_sentences_without_their_markers() -> None:
    assert texts("To do:\n- buy milk. and eggs\n* [x] call Ana\n1. pay\n2) rest\n# Title\n> quoted") == [
        "To do:",
        "buy milk.",
        "and eggs",
        "call Ana",
        "pay",
        "rest",
        "Title",
        "quoted",
    ]


def test_a_line_ends_a_sentence_unless_it_was_only_wrapped() -> None:
    assert texts("short line\nanother") == ["short line", "another"]
    wrapped = "This sentence is so long that the editor wrapped it\nand went on below. Next."
    assert texts(wrapped) == [wrapped[:-6], "Next."]


def test_a_code_fence_is_one_item() -> None:
    fence = "```python\nprint(1). x\n\n# y. z\n```"
    assert texts(f"Look.\n{fence}\nDone.") == ["Look.", fence, "Done."]
    assert [is_fence(text) for text in texts(f"Look.\n{fence}")] == [False, True]


def test_an_unclosed_fence_goes_to_the_end() -> None:
    assert texts("Look.\n~~~\na. b\nc") == ["Look.", "~~~\na. b\nc"]


def test_code_marks_within_a_line_are_no_fence() -> None:
    assert texts("```x = 1``` sets it.\nThen go.") == ["```x = 1``` sets it.", "Then go."]


def test_punctuation_alone_is_no_sentence() -> None:
    assert texts("... !!\n---\n🎉") == []


def test_long_runs_of_punctuation_take_no_time_of_their_own() -> None:
    assert texts("." * 200_000 + "x") == ["." * 200_000 + "x"]


@given(st.text(st.sampled_from("aB1 .!?…。\n\r\t`~-*\"'”)é\u0301你\u2028"), max_size=80))
def test_spans_are_disjoint_in_order_and_trimmed(text: str) -> None:
    behind = 0
    for start, end, sentence in sentences(text):
        assert behind <= start < end
        assert sentence == text[start:end] == sentence.strip()
        behind = end


# No ")": with it a letter may be a list marker, as in "B) ".
@given(st.text(st.sampled_from("aB1 .!?…。\n\t-*”]é你"), max_size=80))
def test_no_letter_or_digit_is_lost_outside_list_markers(text: str) -> None:
    kept = "".join(texts(text))
    assert [character for character in kept if character.isalpha()] == [character for character in text if character.isalpha()]
