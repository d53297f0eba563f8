"""A recall within a budget: what is taken, how much of what is long, and what is told of the rest."""

from __future__ import annotations

from datetime import datetime, timedelta, timezone

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bethink import Memory, Message, Settings
from bethink.context.items import Item, shown
from bethink.errors import InvalidInput
from bethink.models.tokens import BuiltinCounter
from bethink.retrieval.hits import Hit, Member, RecallResult, excerpt
from bethink.retrieval.packing import LONGEST, Cost, Passages, packed, passage
from bethink.retrieval.ranker import Ranker
from bethink.retrieval.terms import query_terms

COUNTER = BuiltinCounter()
CHEQUE = dict.fromkeys(query_terms("cheque"), 1.0)
AT = datetime(2024, 5, 6, tzinfo=timezone.utc)
FILLER = [f"Sentence {number} is about something else altogether." for number in range(60)]


def hit(name: str, text: str, score: float, members: tuple[Member, ...] = (), at: datetime = AT) -> Hit:
    return Hit(
        kind="message",
        id=name,
        namespace=("a",),
        thread_id="t",
        seq=1,
        text=text,
        speaker="Mara",
        trust="user",
        at=at,
        score=score,
        scores={"lexical": score},
        members=members,
    )


def cost_of(of: Hit | Member) -> Cost:
    text = excerpt(of.text, of.cut)
    item = Item(section="recalled", of="message", id=of.id, text=text, at=of.at, trust=of.trust, reason="", speaker=of.speaker)
    line = shown(item, COUNTER)
    return Cost(line.tokens, line.heading, line.heading_tokens)


def cost(*lines: Hit | Member) -> int:
    """Of lines with one heading for each of their days."""
    costs = [cost_of(each) for each in lines]
    return sum(each.tokens for each in costs) + sum({each.day: each.heading for each in costs}.values())


def pack(budget: int, *hits: Hit, weights: dict[str, float] | None = None) -> RecallResult:
    passages = Passages(weights or CHEQUE, COUNTER)
    return packed(RecallResult(hits=hits), budget=budget, passages=passages, cost=cost_of)


def names(result: RecallResult) -> list[str]:
    return [each.id for each in result]


texts = st.one_of(
    st.text(max_size=200),
    st.integers(1, 80).map(lambda number: " ".join(FILLER[:number])),
    st.integers(1, 3000).map(lambda number: "x" * number),
)


@given(
    st.lists(st.tuples(texts, st.floats(0, 1), st.integers(0, 3)), max_size=6),
    st.integers(1, 600),
)
def test_lines_and_headings_never_take_more_than_the_budget(given_hits: list[tuple[str, float, int]], budget: int) -> None:
    hits = [
        hit(f"h{number}", text, score, at=AT + timedelta(days=days)) for number, (text, score, days) in enumerate(given_hits)
    ]
    hits.sort(key=lambda each: -each.score)
    result = pack(budget, *hits)
    assert result.tokens == cost(*result.hits) <= budget
    for first in range(len(result) + 1):
        assert sum(each.tokens for each in result[:first]) == cost(*result[:first]), "of any number of the best hits"
    assert sorted(names(result) + [each.id for each in result.left_out]) == sorted(each.id for each in hits)
    assert names(result) == [each.id for each in hits if each.id in names(result)]


def test_short_lines_go_in_by_rank() -> None:
    result = pack(36, hit("a", "The cheque came on Monday.", 0.9), hit("b", "A cheque.", 0.5), hit("c", "Cheque!", 0.4))
    assert names(result) == ["a", "b"]


def test_what_does_not_fit_is_passed_over_for_what_does() -> None:
    result = pack(40, hit("a", "cheque " * 60, 0.9), hit("b", "A cheque.", 0.5))
    assert names(result) == ["b"]


def test_the_second_line_of_a_day_takes_no_heading() -> None:
    first, second = hit("a", "The cheque came.", 0.9), hit("b", "A cheque.", 0.5)
    later = hit("b", "A cheque.", 0.5, at=AT + timedelta(days=1))
    room = cost(first, second)
    assert [each.tokens for each in pack(room, first, second)] == [cost(first), room - cost(first)]
    assert names(pack(room, first, later)) == ["a"]


def test_a_line_of_another_day_is_passed_over_for_one_of_a_day_that_is_there() -> None:
    first, later = hit("a", "The cheque came.", 0.9), hit("b", "A cheque.", 0.5, at=AT + timedelta(days=1))
    third = hit("c", "Cheques.", 0.4)
    assert names(pack(cost(first, third), first, later, third)) == ["a", "c"]


def test_the_lines_of_a_turn_take_one_heading() -> None:
    members = tuple(
        Member(kind="message", id=name, thread_id="t", seq=seq, text=f"{name} cheque", speaker="Mara", trust="user", at=AT)
        for seq, name in enumerate("ab", 1)
    )
    (found,) = pack(100, hit("b", "b cheque", 0.9, members))
    assert [each.tokens for each in found.members] == [cost(members[0]), cost(*members) - cost(members[0])]
    assert found.tokens == cost(*members)


def test_what_is_left_out_says_what_it_takes_and_what_was_left() -> None:
    result = pack(40, hit("a", "A cheque.", 0.9), hit("b", "The cheque came on Monday, and that was that, said she.", 0.5))
    (left_out,) = result.left_out
    assert (left_out.id, left_out.score, left_out.left) == ("b", 0.5, 40 - result.tokens)
    assert left_out.tokens > left_out.left


def test_a_long_text_makes_room_for_others_by_its_best_passage() -> None:
    text = " ".join([*FILLER, "The cheque has the number 4711.", *FILLER])
    result = pack(200, hit("a", text, 0.9), hit("b", "A cheque.", 0.5))
    assert names(result) == ["a", "b"]
    assert "The cheque has the number 4711." in result[0].shown
    assert result[0].shown.startswith("… Sentence")
    assert result[0].shown.endswith(" …")


def test_room_that_is_left_goes_to_a_longer_passage() -> None:
    text = " ".join([*FILLER[:20], "The cheque has the number 4711."])
    assert COUNTER.count(text) > LONGEST
    assert pack(1_000, hit("a", text, 0.9))[0].shown == text


def test_a_budget_of_less_than_a_passage_has_a_shorter_one() -> None:
    text = " ".join([*FILLER, "The cheque has the number 4711."])
    result = pack(80, hit("a", text, 0.9))
    assert "The cheque has the number 4711." in result[0].shown


def test_of_a_long_and_a_short_answer_of_like_score_the_short_one_goes_first() -> None:
    long = " ".join(["The cheque came.", *FILLER[:8]])
    result = pack(cost(hit("a", long, 0.5)), hit("a", long, 0.50), hit("b", "The cheque came.", 0.49))
    assert names(result) == ["b"]


def test_where_nothing_fits_the_reason_says_how_much_the_shortest_takes() -> None:
    result = pack(3, hit("a", "The cheque came.", 0.9))
    assert (
        result.empty_reason
        == f"no answer fits: the shortest takes {cost(hit('a', 'The cheque came.', 1))} tokens, the budget is 3"
    )


def test_a_passage_ends_at_the_ends_of_sentences() -> None:
    text = " ".join([*FILLER, "The cheque has the number 4711.", *FILLER])
    start, end = passage(text, CHEQUE, 60, COUNTER)
    assert text[start:end].startswith("Sentence")
    assert text[start:end].endswith(".")
    assert "cheque" in text[start:end]


@given(texts, st.integers(1, 100))
def test_a_passage_fits_its_room(text: str, room: int) -> None:
    start, end = passage(text, CHEQUE, room, COUNTER)
    assert COUNTER.count(text[start:end]) <= room


def test_a_text_that_holds_no_word_of_the_query_is_shown_from_its_beginning() -> None:
    assert passage(" ".join(FILLER), CHEQUE, 50, COUNTER)[0] == 0


def test_a_long_line_without_sentences_is_cut_where_the_word_stands() -> None:
    text = "spam " * 500 + "cheque " + "spam " * 500
    start, end = passage(text, CHEQUE, 50, COUNTER)
    assert "cheque" in text[start:end]


# -- through the memory ---------------------------------------------------------------------------------------------------


@pytest.fixture
def memory() -> Memory:
    memory = Memory(":memory:", embedder=None)
    memory.thread("t").append([Message(role="user", content=f"The cheque number {number} came.") for number in range(30)])
    return memory


def test_a_budget_alone_gives_as_many_as_fit(memory: Memory) -> None:
    found = memory.recall("cheque", budget=500)
    assert len(found) > Settings().recall_limit
    assert found.tokens <= 500


def test_k_and_budget_both_hold(memory: Memory) -> None:
    assert len(memory.recall("cheque", 3, budget=500)) == 3
    assert len(memory.recall("cheque", 3, budget=40)) == 2


def test_without_a_budget_nothing_is_cut_or_counted(memory: Memory) -> None:
    found = memory.recall("cheque")
    assert (found.tokens, found.left_out, {each.cut for each in found}) == (0, (), {None})


@pytest.mark.parametrize("budget", [0, -1])
def test_a_budget_of_nothing_is_refused(memory: Memory, budget: int) -> None:
    with pytest.raises(InvalidInput, match=r"^budget: "):
        memory.recall("cheque", budget=budget)


def test_a_context_shows_a_long_hit_by_its_best_passage() -> None:
    memory = Memory(":memory:", embedder=None, ranker=Ranker(lexical_threshold=0.0))
    memory.thread("before").append([Message(role="user", content=" ".join([*FILLER, "The cheque has the number 4711."]))])
    thread = memory.thread("now")
    thread.append([Message(role="user", content="Which number has the cheque?")])
    built = thread.context(budget=2_000)
    (line,) = [line for line in built.lines if line.section == "recalled"]
    assert "4711" in line.text
    assert memory.replay(built.receipt_id).messages == built.messages
