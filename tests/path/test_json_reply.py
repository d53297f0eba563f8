"""Replies of models as JSON: what is whole is read, whatever stands around it."""

from __future__ import annotations

import json
import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bethink.compaction.json_reply import Items, number_of, numbers_of, read_items, words_of

GOOD = '{"facts": [{"text": "likes trains"}, {"text": "lives in Porto"}]}'
BOTH = ({"text": "likes trains"}, {"text": "lives in Porto"})


@pytest.mark.parametrize(
    "reply",
    [
        GOOD,
        f"```json\n{GOOD}\n```",
        f"```\n{GOOD}\n```",
        f"Sure! Here you go:\n{GOOD}\nAnything else?",
        f"\ufeff{GOOD}",
        f"<think>maybe {{'facts': []}}</think>\n{GOOD}",
        GOOD.replace("}]}", "},],}"),
        GOOD.replace('"', "'"),
        GOOD.replace('"text": "likes trains"', '"text": "likes trains"').replace("facts", "Facts"),
        '[{"text": "likes trains"}, {"text": "lives in Porto"}]',
        '{"text": "likes trains"}\n{"text": "lives in Porto"}',
        f'{{"result": {GOOD}, "note": "done"}}',
        f"{{\n  // what I found\n  {GOOD[1:-1]} /* all of it */ }}",
    ],
)
def test_V089_valid_items_are_read_whatever_stands_around_them(reply: str) -> None:
    assert read_items(reply, "facts") == Items(BOTH)


def test_V090_braces_in_prose_before_the_json_do_not_hide_it() -> None:
    reply = 'Given {the trip}, result: {"facts":["likes trains"]} done {ok}'
    assert read_items(reply, "facts") == Items(("likes trains",))


@pytest.mark.parametrize("before", ["{", "[", "{ and [ and {", "[1, 2", '{"a": ', "a [link](x) {", "[see note]"])
def test_V090_brackets_that_are_never_closed_do_not_hide_it(before: str) -> None:
    found = read_items(f"{before} so: {GOOD}", "facts")
    assert isinstance(found, Items)
    assert found.items == BOTH


@pytest.mark.parametrize("reply", ["", " \n", "\ufeff", "<think>hm"])
def test_V089_nothing_is_empty(reply: str) -> None:
    assert read_items(reply, "facts") == "empty"


@pytest.mark.parametrize(
    "reply", ["I cannot help.", "{", "[", "{{{", "[[[[", "{the trip}", '{"facts', "42", '"facts"', "[1, 2]"]
)
def test_V089_what_holds_no_items_is_unreadable(reply: str) -> None:
    assert read_items(reply, "facts") == "unreadable"


@pytest.mark.parametrize("reply", ['{"facts": []}', "[]", "{}", '{"facts": null}', "```json\n[]\n```"])
def test_no_items_are_an_answer(reply: str) -> None:
    assert read_items(reply, "facts") == Items()


@pytest.mark.parametrize(
    "damaged", ["{bad}", '{"text": }', "{'text' 'x'}", "oops", '{"text": "a" "b"}', '{"a": [1, {x}'[:12] + "]}"]
)
def test_V089_one_bad_item_among_good_ones_is_dropped_and_not_the_answer(damaged: str) -> None:
    reply = f'{{"facts": [{{"text": "likes trains"}}, {damaged}, {{"text": "lives in Porto"}}]}}'
    found = read_items(reply, "facts")
    assert isinstance(found, Items)
    assert [item for item in found.items if item.get("text")] == list(BOTH)


@given(st.integers(0, len(GOOD)))
def test_V089_a_reply_that_breaks_off_gives_whole_items_and_never_half_of_one(end: int) -> None:
    found = read_items(GOOD[:end], "facts")
    assert found in ("empty", "unreadable") or (isinstance(found, Items) and found.items in ((), BOTH[:1], BOTH))


def test_numbers_that_json_does_not_know_are_nothing() -> None:
    assert read_items('{"facts": [{"a": NaN, "b": -Infinity, "c": None, "d": True}]}', "facts") == Items(
        ({"a": None, "b": None, "c": None, "d": True},)
    )


_JSON = st.recursive(
    st.none() | st.booleans() | st.integers(-(10**9), 10**9) | st.text(max_size=8).filter(lambda text: "\x00" not in text),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.sampled_from("abc"), inner, max_size=3),
    max_leaves=8,
)


@given(st.lists(_JSON, max_size=5), st.booleans())
def test_whatever_json_encodes_is_read_as_it_was(items: list[object], ascii_only: bool) -> None:
    text = json.dumps({"facts": items}, ensure_ascii=ascii_only)
    plain = json.loads(text.replace("\ufeff", ""))
    assert read_items(text, "facts") == Items(tuple(plain["facts"]))


@given(st.text(alphabet="{}[]\",:'\\ab1 \n", max_size=60))
def test_it_never_raises(text: str) -> None:
    read_items(text, "facts")


@pytest.mark.parametrize("part", ["{", "[", '["', "['a", '{"a":', "[{", '{"a":[', "[x,", "\\", '"'])
def test_a_reply_of_nothing_but_beginnings_comes_to_its_end(part: str) -> None:
    found = read_items(part * 20_000, "facts")
    assert found == "unreadable" or (
        isinstance(found, Items) and all(isinstance(item, str | dict | list) for item in found.items)
    )


@pytest.mark.parametrize(
    ("value", "number"),
    [
        (3, 3),
        ("3", 3),
        ("[3]", 3),
        ("#12", 12),
        (3.0, 3),
        (3.5, None),
        ("abc", None),
        (True, None),
        (None, None),
        (math.inf, None),
    ],
)
def test_a_number_as_models_write_it(value: object, number: int | None) -> None:
    assert number_of(value) == number


def test_several_numbers_as_models_write_them() -> None:
    assert [numbers_of(value) for value in ([1, "2", "x"], "1, 2", 4, "[5]")] == [(1, 2, None), (1, 2), (4,), (5,)]


def test_words_are_one_line() -> None:
    assert [words_of(value) for value in (" a\n b ", 3, None)] == ["a b", "", ""]
