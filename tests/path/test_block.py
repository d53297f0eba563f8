"""What goes into the memory block: each thing once, within its room."""

from __future__ import annotations

from hypothesis import given, settings
from hypothesis import strategies as st

from bethink import Memory
from bethink.context import Item
from bethink.context.block import block_tokens, choose_block
from bethink.context.items import BLOCK, SectionName, Shown, shown
from bethink.models.measure import Measure
from bethink.models.tokens import BuiltinCounter
from bethink.testing.doubles import START, FrozenClock

MEASURE = Measure(BuiltinCounter())


def item(section: SectionName, text: str, *sources: str) -> Item:
    of = "message" if section == "recalled" else "record"
    return Item(
        section=section,
        of="message" if of == "message" else "record",
        id=f"{section}-{text[:8]}",
        text=text,
        at=START,
        trust="user",
        reason="",
        sources=sources,
    )


def in_order(sections: dict[SectionName, list[Shown]]) -> tuple[Shown, ...]:
    return tuple(line for name in BLOCK for line in sections[name])


def chosen(*items: Item, free: int = 1_000) -> list[tuple[SectionName, str]]:
    block, tokens = choose_block([shown(each, MEASURE) for each in items], free, MEASURE, in_order)
    pinned = [line for line in block if line.item.section == "pinned"]
    assert tokens == block_tokens(block, MEASURE) - block_tokens(pinned, MEASURE) <= free
    return [(line.item.section, line.item.text) for line in block]


MOVED = "I moved to Ghent. I'm allergic to peanuts."


def test_a_line_of_a_summary_gives_way_to_the_message_it_is_from() -> None:
    found = chosen(item("summary", "I moved to Ghent.", "m1"), item("recalled", MOVED, "m1"))
    assert found == [("recalled", MOVED)]


def test_a_line_of_a_summary_that_an_insight_says_is_not_shown() -> None:
    found = chosen(item("profile", "allergic to peanuts", "m1"), item("summary", "I'm allergic to peanuts.", "m1"))
    assert found == [("profile", "allergic to peanuts")]


def test_a_message_that_says_no_more_than_an_insight_is_not_shown() -> None:
    found = chosen(item("profile", "lives in Ghent", "m1"), item("recalled", "I live in Ghent", "m1"))
    assert found == [("profile", "lives in Ghent")]


def test_an_insight_stays_beside_the_message_it_is_from() -> None:
    found = chosen(item("profile", "allergic to peanuts", "m1"), item("recalled", MOVED, "m1"))
    assert found == [("profile", "allergic to peanuts"), ("recalled", MOVED)]


def test_what_a_message_says_besides_is_shown() -> None:
    found = chosen(item("profile", "lives in Ghent", "m1"), item("recalled", "I live in Ghent, at 12 Quay Street", "m1"))
    assert len(found) == 2


def test_a_denial_is_not_taken_for_the_same() -> None:
    found = chosen(item("profile", "lives in Ghent", "m1"), item("summary", "I do not live in Ghent.", "m1"))
    assert len(found) == 2


def test_what_another_message_says_is_shown_though_the_words_are_the_same() -> None:
    found = chosen(item("recalled", MOVED, "m1"), item("previous session", "I moved to Ghent.", "m2"))
    assert len(found) == 2


WORDS = st.lists(
    st.sampled_from(("I", "live", "in", "Ghent", "near", "the", "old", "port", "and", "like", "it")), min_size=1, max_size=30
)
ITEMS = st.lists(
    st.builds(
        lambda section, words, source: item(section, " ".join(words), source),
        st.sampled_from(("profile", "recalled", "previous session", "summary")),
        WORDS,
        st.sampled_from(("m1", "m2", "m3")),
    ),
    max_size=20,
)


@settings(max_examples=200, deadline=None)
@given(ITEMS, st.integers(0, 600))
def test_for_any_candidates_the_room_holds_and_no_text_stands_twice(items: list[Item], free: int) -> None:
    texts = [text for _, text in chosen(*items, free=free)]
    assert len(set(texts)) == len(texts)


@settings(max_examples=100, deadline=None)
@given(ITEMS)
def test_with_room_enough_no_word_of_a_candidate_is_lost(items: list[Item]) -> None:
    shown = chosen(*items, free=100_000)
    for source in ("m1", "m2", "m3"):
        given_words = {word.lower() for each in items if source in each.sources for word in each.text.split()}
        left = {word.lower() for _, text in shown for word in text.split()}
        assert given_words - {"i", "a", "the"} <= left


def test_a_fact_is_shown_once_in_a_context() -> None:
    memory = Memory(clock=FrozenClock(START), embedder=None)
    old = memory.thread("old")
    old.add("user", "We decided to rent the red cabin at the lake for August.")
    old.add("assistant", "Noted.")
    old.end()
    thread = memory.thread("new")
    thread.add("user", "What did we decide about the cabin at the lake?")
    context = thread.context()
    assert context.to_bytes().decode().count("red cabin") == 1
    assert memory.replay(context.receipt_id).to_bytes() == context.to_bytes()
