"""What is promised of a message larger than its budget: within the limit for any text, whole characters, both ends, a name."""

from __future__ import annotations

import random
import re

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from bethink.context.oversize import Boundary, Keep, joined, marker_of, shorten
from bethink.errors import BudgetError, InvalidInput
from bethink.models import TokenCounter
from bethink.models.characters import boundary as is_boundary
from bethink.models.tokens import BuiltinCounter

COUNTER = BuiltinCounter()
LOG = "\n".join(
    f"2026-11-30 14:{number // 60:02}:{number % 60:02} worker {number % 7} finished job {number}." for number in range(900)
)
ESSAY = "\n\n".join(
    " ".join(f"In chapter {chapter} the {number}th sentence says something that is worth reading." for number in range(12))
    for chapter in range(30)
)
CHINESE = "我们把发布推迟到三月的第二周，因为供应商无法提前交付传感器。请通知客户。" * 60
FAMILY = "👨‍👩‍👧‍👦"
WHOLE = (
    FAMILY,
    "🇩🇪",
    "é",
    "नि",
    "1️⃣",
    "👍🏽",
    "한",
    "각",
    "กำ",
    "\r\n",
    "\ud83d\ude00",
    "؀1",
    " ",
    "a",
    "\n\n",
    ". ",
    " \u0301",
    "x\u200d",
)

any_text = st.one_of(
    st.text(max_size=400),
    st.lists(st.sampled_from(WHOLE), max_size=200).map("".join),
    st.builds(lambda text, times: text * times, st.text(min_size=1, max_size=30), st.integers(1, 200)),
)
keeps = st.sampled_from(("both", "start", "end"))
boundaries = st.sampled_from(("paragraph", "sentence", "word"))


class Odd:
    """A counter for which parts of words count more than words, and joined parts more than the parts."""

    name = "odd"

    def count(self, text: str) -> int:
        return sum((7 * len(word)) % 5 + 1 for word in re.split(r"\s", text)) + text.count("\n") if text else 0


COUNTERS: tuple[TokenCounter, ...] = (COUNTER, Odd())
counters = st.sampled_from(COUNTERS)


# -- for any text ---------------------------------------------------------------------------------------------------------


@settings(max_examples=200)
@given(any_text, st.integers(-1, 400), counters, keeps, boundaries)
@example("a" * 300, 60, COUNTER, "both", "paragraph")
@example(LOG, 300, COUNTER, "both", "paragraph")
def test_what_is_shown_never_counts_more_than_the_limit(
    text: str, limit: int, counter: TokenCounter, keep: Keep, boundary: Boundary
) -> None:
    whole = counter.count(text)
    least = counter.count(marker_of("m1", left_out=len(text), characters=len(text), tokens=whole))
    if limit < min(whole, least):
        with pytest.raises(BudgetError) as caught:
            shorten(text, limit, counter, message_id="m1", keep=keep, boundary=boundary)
        assert caught.value.needed == least
    else:
        shortened = shorten(text, limit, counter, message_id="m1", keep=keep, boundary=boundary)
        assert counter.count(shortened.text) <= limit


@settings(max_examples=200)
@given(any_text, st.integers(20, 300), counters, keeps, boundaries)
def test_what_is_shown_is_the_ends_of_the_text_and_the_marker(
    text: str, limit: int, counter: TokenCounter, keep: Keep, boundary: Boundary
) -> None:
    try:
        made = shorten(text, limit, counter, message_id="m1", keep=keep, boundary=boundary)
    except BudgetError:
        return
    assert made.text == joined(text, made.start, made.end, made.marker)
    if made.marker:
        assert made.start + made.end < len(text)
        assert f"{len(text) - made.start - made.end:,} of {len(text):,} characters" in made.marker
    else:
        assert (made.text, made.start, made.end) == (text, len(text), 0)


@settings(max_examples=200)
@given(st.lists(st.sampled_from(WHOLE), max_size=300), st.integers(20, 200), keeps, boundaries)
def test_V056_a_cut_takes_no_character_apart(characters: list[str], limit: int, keep: Keep, boundary: Boundary) -> None:
    text = "".join(characters)
    try:
        made = shorten(text, limit, COUNTER, message_id="m1", keep=keep, boundary=boundary)
    except BudgetError:
        return
    assert is_boundary(text, made.start)
    assert is_boundary(text, len(text) - made.end)


@pytest.mark.parametrize("word", ["ab\u200d ", "ab \u0301"])
@pytest.mark.parametrize("keep", ["start", "end"])
def test_a_blank_that_is_part_of_a_character_is_no_place_to_cut(word: str, keep: Keep) -> None:
    text = word * 500
    made = shorten(text, 100, COUNTER, message_id="m1", keep=keep)
    assert is_boundary(text, made.start)
    assert is_boundary(text, len(text) - made.end)


# -- what is kept ---------------------------------------------------------------------------------------------------------


def test_what_fits_is_shown_as_it_is() -> None:
    made = shorten("hello", 1, COUNTER, message_id="m1")
    assert (made.text, made.start, made.end, made.marker) == ("hello", 5, 0, "")


def test_the_marker_names_the_message_and_its_full_size() -> None:
    made = shorten(LOG, 200, COUNTER, message_id="m17")
    left_out = len(LOG) - made.start - made.end
    assert made.marker == (
        f"[... {left_out:,} of {len(LOG):,} characters ({COUNTER.count(LOG):,} tokens) of message m17 are not shown ...]"
    )


def test_both_ends_are_kept_the_start_twice_as_long() -> None:
    made = shorten(LOG, 600, COUNTER, message_id="m1")
    assert made.text.startswith("2026-11-30 14:00:00 worker 0")
    assert made.text.endswith("finished job 899.")
    assert 1.6 < made.start / made.end < 2.4


@pytest.mark.parametrize(("keep", "start", "end"), [("start", True, False), ("end", False, True), ("both", True, True)])
def test_the_ends_that_are_asked_for_are_kept(keep: Keep, start: bool, end: bool) -> None:
    made = shorten(ESSAY, 300, COUNTER, message_id="m1", keep=keep)
    assert (made.start > 0, made.end > 0) == (start, end)


def test_little_of_the_limit_is_left_unused() -> None:
    assert COUNTER.count(shorten(LOG, 1_000, COUNTER, message_id="m1").text) > 900
    assert COUNTER.count(shorten(CHINESE, 500, COUNTER, message_id="m1").text) > 420


def test_one_long_word_is_still_shown() -> None:
    made = shorten("x" * 5_000, 200, COUNTER, message_id="m1")
    assert made.start > 100
    assert made.end > 50


def test_nothing_but_the_marker_is_shown_where_nothing_else_fits() -> None:
    marker = marker_of("m1", left_out=len(LOG), characters=len(LOG), tokens=COUNTER.count(LOG))
    made = shorten(LOG, COUNTER.count(marker), COUNTER, message_id="m1")
    assert (made.text, made.start, made.end) == (marker, 0, 0)


def test_the_same_text_is_cut_the_same_way_again() -> None:
    assert shorten(ESSAY, 400, COUNTER, message_id="m1") == shorten(ESSAY, 400, COUNTER, message_id="m1")


# -- where it is cut ------------------------------------------------------------------------------------------------------


def test_a_cut_between_paragraphs_comes_first() -> None:
    made = shorten(ESSAY, 2_000, COUNTER, message_id="m1")
    assert ESSAY[made.start :].startswith("\n\n")
    assert ESSAY[: len(ESSAY) - made.end].endswith("\n\n")


def test_a_cut_between_sentences_comes_next() -> None:
    made = shorten(ESSAY, 200, COUNTER, message_id="m1")
    assert ESSAY[: made.start].endswith("reading.")
    assert re.match(r"In chapter \d+ the", ESSAY[len(ESSAY) - made.end :])


def test_a_cut_between_sentences_is_found_without_spaces() -> None:
    made = shorten(CHINESE, 400, COUNTER, message_id="m1")
    assert CHINESE[: made.start].endswith("。")
    assert CHINESE[: len(CHINESE) - made.end].endswith("。")


def test_a_cut_between_words_is_the_finest_where_there_are_words() -> None:
    words = " ".join(f"word{number}" for number in range(2_000))
    made = shorten(words, 300, COUNTER, message_id="m1")
    assert words[made.start] == " "
    assert words[len(words) - made.end - 1] == " "


def test_a_boundary_asked_for_is_the_coarsest_taken() -> None:
    by_word = shorten(ESSAY, 2_000, COUNTER, message_id="m1", boundary="word")
    by_paragraph = shorten(ESSAY, 2_000, COUNTER, message_id="m1", boundary="paragraph")
    assert by_word.start > by_paragraph.start


def test_lines_of_a_log_are_kept_whole() -> None:
    made = shorten(LOG, 500, COUNTER, message_id="m1")
    shown = [line for line in made.text.split("\n") if line != made.marker]
    assert set(shown) <= set(LOG.split("\n"))


# -- what is refused ------------------------------------------------------------------------------------------------------


def test_a_limit_below_the_marker_says_what_is_needed() -> None:
    with pytest.raises(BudgetError, match="the marker of message m1") as caught:
        shorten(LOG, 10, COUNTER, message_id="m1")
    assert shorten(LOG, caught.value.needed, COUNTER, message_id="m1").marker


def test_an_error_quotes_nothing_of_the_text() -> None:
    with pytest.raises(BudgetError) as caught:
        shorten("peanuts " * 500, 10, COUNTER, message_id="m1")
    assert "peanuts" not in str(caught.value)


@pytest.mark.parametrize(("field", "options"), [("keep", {"keep": "middle"}), ("boundary", {"boundary": "page"})])
def test_an_option_that_is_not_known_is_refused_by_name(field: str, options: dict[str, str]) -> None:
    with pytest.raises(InvalidInput, match=field):
        shorten(LOG, 500, COUNTER, message_id="m1", **options)  # type: ignore[arg-type]


# -- what it costs --------------------------------------------------------------------------------------------------------


def test_a_huge_text_is_counted_whole_once_and_then_little_of_it() -> None:
    class Recording(BuiltinCounter):
        read = 0

        def count(self, text: str) -> int:
            Recording.read += len(text)
            return super().count(text)

    chance = random.Random(1)
    text = " ".join(chance.choice(("alpha", "beta.", "gamma\n", "delta\n\n")) for _ in range(200_000))
    shorten(text, 300, Recording(), message_id="m1")
    assert Recording.read < len(text) + 100_000
