"""Where a text may be cut without taking apart what a reader sees as one character."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bethink.models.characters import boundary

WHOLE = {
    "a family": "👨\u200d👩\u200d👧\u200d👦",
    "a flag": "🇩🇪",
    "the flag of a region": "🏴\U000e0067\U000e0062\U000e0065\U000e006e\U000e0067\U000e007f",
    "a keycap": "1\ufe0f\u20e3",
    "a skin tone": "👍🏽",
    "a rainbow flag": "🏳\ufe0f\u200d🌈",
    "a letter and its accent": "e\u0301",
    "a blank and its accent": " \u0301",
    "Devanagari, joined by a virama": "क\u094dष",
    "Devanagari, with a vowel sign": "नि",
    "Thai, with a vowel behind": "กำ",
    "Hangul, in letters": "\u1112\u1161\u11ab",
    "Hangul, a syllable and its last letter": "\uac00\u11a8",
    "an Arabic number sign": "\u06001",
    "two halves of one character": "\ud83d\ude00",
    "the end of a line": "\r\n",
}


@pytest.mark.parametrize("name", WHOLE)
def test_a_character_is_not_cut(name: str) -> None:
    text = f"x{WHOLE[name]}x"
    assert [at for at in range(len(text) + 1) if boundary(text, at)] == [0, 1, len(text) - 1, len(text)]


@pytest.mark.parametrize("text", ["ab", "a b", "é1", "日本", "한국", "😀😀", "\n\n", "\n\r", "на", "مر"])
def test_characters_side_by_side_may_be_parted(text: str) -> None:
    assert all(boundary(text, at) for at in range(len(text) + 1))


def test_flags_in_a_row_are_parted_in_twos() -> None:
    text = "🇩🇪🇯🇵🇫🇷"
    assert [at for at in range(len(text) + 1) if boundary(text, at)] == [0, 2, 4, 6]


@given(st.text())
def test_any_text_may_be_cut_at_its_ends(text: str) -> None:
    assert boundary(text, 0)
    assert boundary(text, len(text))
