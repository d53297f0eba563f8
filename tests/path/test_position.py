"""What matters stands near the edges of a context: measured on assemblies of random lines, and on a context itself."""

from __future__ import annotations

import random
from collections.abc import Sequence
from datetime import timedelta
from itertools import pairwise

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from bethink import Memory, Settings
from bethink.context import Context, Item
from bethink.context.items import BLOCK, SectionName, Shown, headed, heading_of
from bethink.context.position import arranged, by_day, from_edges
from bethink.records import ReceiptLine
from bethink.settings import LineOrder, MemoryPlace
from bethink.testing.doubles import START, FrozenClock

SIZES = st.lists(st.integers(5, 60), max_size=12)
BESIDE = st.integers(0, 1_000)


HEADING = 8


def lines(section: SectionName, sizes: Sequence[int], *, a_day: int = 1) -> list[Shown]:
    """Lines of these tokens, best first; said in another order, so many of them a day."""
    times = random.Random(len(sizes)).sample(range(len(sizes)), len(sizes))
    said = [START + timedelta(days=time // a_day, minutes=time % a_day) for time in times]
    return [
        Shown(
            Item(
                section=section,
                of="record",
                id=f"{section} {rank}",
                text=f"{section} {rank}",
                at=said[rank],
                trust="user",
                reason="",
            ),
            f"- {section} {rank}",
            size,
            ReceiptLine(section=section, of="record", id=f"{section} {rank}", reason="", tokens=size),
            heading_of(said[rank]),
            HEADING,
        )
        for rank, size in enumerate(sizes)
    ]


def distances(shown: Sequence[Shown], before: int, after: int) -> dict[str, int]:
    """Tokens between each line, with its heading where it has one, and the nearer edge of the context."""
    block = headed(shown)
    total = sum(line.tokens for line in block)
    found: dict[str, int] = {}
    at = 0
    for line in block:
        found[line.item.id] = min(before + at, after + total - at - line.tokens)
        at += line.tokens
    return found


@settings(max_examples=300)
@given(SIZES, BESIDE, BESIDE)
def test_where_each_was_said_on_its_own_day_no_line_is_farther_from_an_edge_than_a_worse_one(
    sizes: list[int], before: int, after: int
) -> None:
    ranked = lines("recalled", sizes)
    distance = distances(from_edges(by_day(ranked), before, after), before, after)
    assert len(distance) == len(ranked)
    assert all(distance[better.item.id] <= distance[worse.item.id] for better, worse in pairwise(ranked))


@settings(max_examples=300)
@given(SIZES, st.integers(1, 5), BESIDE, BESIDE)
def test_a_day_stands_together_no_farther_than_a_worse_one_and_its_best_line_nearest(
    sizes: list[int], a_day: int, before: int, after: int
) -> None:
    ranked = lines("recalled", sizes, a_day=a_day)
    shown = from_edges(by_day(ranked), before, after)
    headings = [line.heading for line in headed(shown) if line.tokens > sizes[int(line.item.id.split()[1])]]
    assert sorted(headings) == sorted({line.heading for line in ranked}), "each day has one heading"
    distance = distances(shown, before, after)
    days = by_day(ranked)
    nearest = [min(distance[line.item.id] for line in day) for day in days]
    assert nearest == sorted(nearest)
    of_days = [[int(line.item.id.split()[1]) for line in shown if line.heading == day[0].heading] for day in days]
    assert all(numbers in (sorted(numbers), sorted(numbers, reverse=True)) for numbers in of_days)


@settings(max_examples=100)
@given(st.lists(st.integers(10, 40), min_size=4, max_size=12), st.integers(0, 60), st.integers(0, 60))
def test_the_better_half_is_nearer_to_the_edges_than_in_plain_order(sizes: list[int], before: int, after: int) -> None:
    ranked = lines("recalled", [20] * len(sizes))
    half = [line.item.id for line in ranked[: len(ranked) // 2]]
    edges, plain = (distances(order, before, after) for order in (from_edges(by_day(ranked), before, after), ranked))
    assert sum(map(edges.__getitem__, half)) <= sum(map(plain.__getitem__, half))


def test_with_both_edges_near_the_strongest_is_first_and_the_second_last() -> None:
    ranked = lines("recalled", [20] * 5)
    assert [line.item.id[-1] for line in from_edges(by_day(ranked), 0, 0)] == ["0", "2", "4", "3", "1"]


@pytest.mark.parametrize(("before", "after", "order"), [(0, 500, "01234"), (500, 0, "43210")])
def test_with_one_edge_near_the_strongest_are_at_that_end(before: int, after: int, order: str) -> None:
    ranked = lines("profile", [20] * 5)
    assert "".join(line.item.id[-1] for line in from_edges(by_day(ranked), before, after)) == order


@settings(max_examples=200)
@given(
    st.fixed_dictionaries(dict.fromkeys(BLOCK, SIZES)),
    st.sampled_from(("start", "question")),
    st.sampled_from(("edges", "ranked", "chronological")),
    BESIDE,
    BESIDE,
)
def test_an_arrangement_shows_every_line_once_section_by_section(
    sizes: dict[SectionName, list[int]], at: MemoryPlace, order: LineOrder, before: int, after: int
) -> None:
    sections = {name: lines(name, found) for name, found in sizes.items()}
    shown = arranged(sections, at=at, order=order, before=before, after=after)
    assert sorted(line.item.id for line in shown) == sorted(line.item.id for found in sections.values() for line in found)
    names = [line.item.section for line in shown]
    assert names == sorted(names, key=BLOCK.index, reverse=at == "question")
    for name in ("pinned", "previous session", "summary"):
        assert [line for line in shown if line.item.section == name] == sections[name], "their order is their own"


def test_lines_by_score_stand_with_the_best_line_of_their_day() -> None:
    ranked = lines("recalled", [20] * 9, a_day=3)
    shown = arranged({"recalled": ranked}, at="start", order="ranked", before=10, after=10)
    assert list(shown) == [line for day in by_day(ranked) for line in day] != ranked


@pytest.mark.parametrize("order", ["ranked", "chronological"])
def test_the_option_says_how_ranked_lines_stand(order: LineOrder) -> None:
    ranked = lines("recalled", [20] * 6)
    shown = arranged({"recalled": ranked}, at="start", order=order, before=10, after=10)
    assert list(shown) == (ranked if order == "ranked" else sorted(ranked, key=lambda line: line.item.at))


# -- in a context ---------------------------------------------------------------------------------------------------------


def talk(memory: Memory) -> Context:
    """A context with a profile, recalled lines, a summary and recent messages."""
    old = memory.thread("old")
    facts = ("I live in Porto.", "I'm allergic to peanuts.", "I prefer window seats.", "My name is Mara.", "I work at Acme.")
    for number, fact in enumerate(facts):
        old.add("user", f"{fact} We also looked at train {number} to Lisbon for the trip.", id=f"asked {number}")
        old.add("assistant", f"Noted for the trip: train {number} to Lisbon leaves at {number + 7}:15.", id=f"told {number}")
    old.end()
    thread = memory.thread("new")
    for number in range(30):
        thread.add("user", f"For chapter {number}, please check the figures of table {number} again.")
        thread.add("assistant", f"The figures of table {number} in chapter {number} add up to {number * 17}.")
    thread.add("user", "Which train to Lisbon did we look at for the trip?")
    return thread.context(budget=1_600)


def memory_with(**options: object) -> Memory:
    return Memory(clock=FrozenClock(START), embedder=None, settings=Settings(**options))  # type: ignore[arg-type]


def scored(context: Context, section: SectionName) -> list[float]:
    return [next(iter(line.scores.values())) for line in context.section(section)]


def test_by_default_the_memory_stands_at_the_start_and_its_best_lines_first() -> None:
    context = talk(memory_with())
    assert context.messages[0].name == "memory"
    assert [line.section for line in context.lines][:1] == ["profile"]
    profile = scored(context, "profile")
    assert len(profile) > 2
    assert profile == sorted(profile, reverse=True)


def test_at_the_question_the_memory_stands_right_before_it_and_its_best_lines_last() -> None:
    context = talk(memory_with(memory_at="question"))
    assert [message.name for message in context.messages].index("memory") == len(context.messages) - 2
    assert context.messages[-1].text.startswith("Which train")
    profile = scored(context, "profile")
    assert profile == sorted(profile)
    sections = list(dict.fromkeys(line.section for line in context.lines if line.section in BLOCK))
    assert sections == [name for name in reversed(BLOCK) if name in sections]


def test_the_messages_of_a_thread_stay_in_their_order_wherever_the_memory_stands() -> None:
    orders = [
        [message.text for message in talk(memory_with(memory_at=at)).messages if message.name != "memory"]
        for at in ("start", "question")
    ]
    assert orders[0] == orders[1]


def test_what_comes_before_a_memory_at_the_question_is_the_same_in_the_next_turn() -> None:
    memory = memory_with(memory_at="question")
    before = talk(memory)
    thread = memory.thread("new")
    thread.add("assistant", "Train 3, at 10:15.")
    thread.add("user", "And where do I live?")
    after = thread.context(budget=1_600)
    first = [message.id for message in before.messages[:-2]]
    assert len(first) > 4
    assert [message.id for message in after.messages[: len(first)]] == first


@pytest.mark.parametrize("at", ["start", "question"])
@pytest.mark.parametrize("order", ["edges", "ranked", "chronological"])
def test_the_position_costs_no_token_and_is_replayed(at: MemoryPlace, order: LineOrder) -> None:
    plain = talk(memory_with(line_order="ranked"))
    memory = memory_with(memory_at=at, line_order=order)
    context = talk(memory)
    assert context.tokens == plain.tokens
    assert sum(context.sections.values()) == context.tokens
    assert memory.replay(context.receipt_id).to_bytes() == context.to_bytes()
    assert sorted(line.text[:40] for line in context.lines) == sorted(line.text[:40] for line in plain.lines)


def test_a_memory_at_the_question_stands_before_it_and_not_between_a_call_and_its_result() -> None:
    memory = memory_with(memory_at="question")
    memory.store("the deploy key is in the vault", pinned=True)
    thread = memory.thread("t")
    thread.append(
        [
            {"role": "user", "content": "look"},
            {
                "role": "assistant",
                "content": None,
                "tool_calls": [{"id": "c", "type": "function", "function": {"name": "f", "arguments": "{}"}}],
            },
            {"role": "tool", "tool_call_id": "c", "content": "seen"},
        ]
    )
    assert [message["role"] for message in thread.context().to_openai()] == ["user", "user", "assistant", "tool"]
    assert thread.context().messages[0].name == "memory"


def test_a_thread_where_nobody_asks_has_its_memory_at_the_start() -> None:
    memory = memory_with(memory_at="question")
    memory.store("the deploy key is in the vault", pinned=True)
    thread = memory.thread("t")
    thread.add("assistant", "hello")
    thread.add("assistant", "are you there?")
    assert [message.name for message in thread.context().messages] == ["memory", None, None]
