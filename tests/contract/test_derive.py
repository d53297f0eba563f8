"""What is left of derived values when what they rest on is forgotten."""

from __future__ import annotations

from datetime import timedelta
from itertools import groupby

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from bethink.messages import Message
from bethink.records import Insight, Line, Node, Note, Receipt, ReceiptLine, Source, Summary
from bethink.retrieval.terms import index_terms
from bethink.storage.derive import (
    node_without,
    nodes_within,
    receipt_shows,
    record_without,
    rehomed,
    reopened,
    summary_without,
    terms_of,
)
from bethink.testing.doubles import START

ONE, BOTH, TWO = Line("of one", ("m1",), START), Line("of both", ("m1", "m2"), START), Line("of two", ("m2",), START)


def node(*covers: tuple[int, int], lines: tuple[Line, ...] = (), node_id: str = "n", children: tuple[str, ...] = ()) -> Node:
    return Node(id=node_id, level=1, covers=covers, lines=lines, author="extractive", created_at=START, children=children)


def summary(*lines: Line, sources: tuple[Source, ...] = ()) -> Summary:
    text = "\n".join(line.text for line in lines)
    return Summary(id="s", text=text, trust="user", recorded_at=START, thread_id="t", lines=lines, through=2, sources=sources)


def insight(
    record_id: str, *sources: Source, slot: str = "home", minutes: int = 0, superseded_by: str | None = None
) -> Insight:
    at = START + timedelta(minutes=minutes)
    return Insight(
        id=record_id,
        text="as first said",
        trust="tool",
        recorded_at=at,
        topic="identity",
        subject="user",
        slot=slot,
        value="x",
        sources=sources,
        superseded_by=superseded_by,
        retired_at=None if superseded_by is None else at,
        reason="" if superseded_by is None else "newer",
        valid_to=None if superseded_by is None else at,
    )


def archived(record_id: str, *, minutes: int = 0) -> Insight:
    return msgspec.structs.replace(insight(record_id, minutes=minutes), retired_at=START, reason="archived: no room")


def seqs_of(covers: tuple[tuple[int, int], ...]) -> list[int]:
    return [seq for first, last in covers for seq in range(first, last + 1)]


def ranges_of(seqs: set[int]) -> tuple[tuple[int, int], ...]:
    runs = [[seq for _, seq in run] for _, run in groupby(enumerate(sorted(seqs)), key=lambda pair: pair[1] - pair[0])]
    return tuple((run[0], run[-1]) for run in runs)


class TestNode:
    def test_a_line_that_cites_a_gone_message_goes_also_when_others_support_it(self) -> None:
        left = node_without(node((1, 3), lines=(ONE, BOTH, TWO)), {"m1"}, {1})
        assert left is not None
        assert left.lines == (TWO,)

    @given(covered=st.sets(st.integers(1, 20), min_size=1), gone=st.sets(st.integers(1, 20)))
    def test_covers_is_exactly_what_is_left(self, covered: set[int], gone: set[int]) -> None:
        left = node_without(node(*ranges_of(covered)), set(), gone)
        assert (ranges_of(covered - gone) or None) == (left.covers if left else None)

    def test_a_node_that_is_not_touched_is_returned_itself(self) -> None:
        untouched = node((1, 3), lines=(ONE,), children=("a",))
        assert node_without(untouched, {"m9"}, {9}, {"b"}) is untouched

    def test_children_that_went_are_named_no_more(self) -> None:
        left = node_without(node((1, 3), children=("a", "b")), set(), set(), {"a"})
        assert left is not None
        assert left.children == ("b",)


class TestForkNodes:
    def test_nodes_that_reach_beyond_the_fork_stay_behind(self) -> None:
        given_nodes = (node((1, 2), node_id="a"), node((3, 6), node_id="b"))
        assert nodes_within(given_nodes, 4, 6) == (given_nodes[:1], 2)
        assert nodes_within(given_nodes, 6, 6) == (given_nodes, 6)
        assert nodes_within(given_nodes, 1, 6) == ((), 0)

    def test_messages_no_node_covers_do_not_hold_the_cursor_back(self) -> None:
        pinned_first = (node((2, 3), node_id="a"), node((5, 9), node_id="b"))
        assert nodes_within(pinned_first, 4, 9) == (pinned_first[:1], 4)

    @given(
        covers=st.lists(st.sets(st.integers(1, 12), min_size=1), max_size=4), seq=st.integers(0, 12), folded=st.integers(0, 12)
    )
    def test_everything_folded_in_the_fork_is_covered_there_or_was_nowhere(
        self, covers: list[set[int]], seq: int, folded: int
    ) -> None:
        nodes = tuple(node(*ranges_of(covered), node_id=str(index)) for index, covered in enumerate(covers))
        kept, through = nodes_within(nodes, seq, folded)
        assert through <= min(seq, folded)
        assert all(each.last_seq <= seq for each in kept)
        in_parent = {covered for each in nodes for covered in seqs_of(each.covers)}
        in_fork = {covered for each in kept for covered in seqs_of(each.covers)}
        assert {covered for covered in in_parent if covered <= through} <= in_fork


class TestSummary:
    def test_its_text_is_rebuilt_from_the_lines_left(self) -> None:
        left = summary_without(summary(ONE, TWO, Line("of three", ("m3",), START)), {"m1"})
        assert left is not None
        assert (left.text, left.lines[0]) == ("of two\nof three", TWO)

    def test_a_summary_without_a_line_left_goes(self) -> None:
        assert summary_without(summary(ONE, BOTH), {"m1"}) is None

    def test_a_summary_that_never_had_a_line_stays(self) -> None:
        empty = summary()
        assert summary_without(empty, {"m1"}) is empty

    def test_as_a_record_only_messages_of_its_thread_touch_its_lines(self) -> None:
        given_summary = summary(ONE)
        assert record_without(given_summary, {("other", "m1")}) is given_summary
        assert record_without(given_summary, {("t", "m1")}) is None

    def test_as_a_record_it_loses_sources_and_lines(self) -> None:
        sources = (Source("m1", "t", ""), Source("m2", "t", ""))
        left = record_without(summary(ONE, TWO, sources=sources), {("t", "m1")})
        assert isinstance(left, Summary)
        assert (left.text, left.lines, left.sources) == ("of two", (TWO,), sources[1:])


class TestRecord:
    def test_it_takes_the_wording_of_the_newest_source_left(self) -> None:
        sources = (Source("m1", "t", "one"), Source("m2", "t", "two"), Source("m3", "t", "three"))
        left = record_without(insight("r", *sources), {("t", "m1")})
        assert left is not None
        assert (left.text, left.sources, left.trust) == ("three", sources[1:], "tool")

    def test_a_record_without_a_source_left_goes(self) -> None:
        assert record_without(insight("r", Source("m1", "t", "one")), {("t", "m1")}) is None

    def test_a_record_that_never_had_a_source_stays(self) -> None:
        given_note = Note(id="r", text="as given", trust="user", recorded_at=START)
        assert record_without(given_note, {("t", "m1")}) is given_note

    def test_the_same_message_id_in_another_thread_is_another_source(self) -> None:
        given_insight = insight("r", Source("m1", "t", "one"))
        assert record_without(given_insight, {("fork", "m1")}) is given_insight


class TestRehomed:
    def test_a_source_names_the_other_thread_and_nothing_else_changes(self) -> None:
        given_insight = insight("r", Source("m1", "t", "one", 2, 5), Source("m2", "t", "two"))
        moved = rehomed(given_insight, {("t", "m1"): "fork"})
        assert moved == insight("r", Source("m1", "fork", "one", 2, 5), Source("m2", "t", "two"))

    def test_a_source_that_is_there_already_is_not_doubled(self) -> None:
        given_insight = insight("r", Source("m1", "fork", "one"), Source("m2", "t", "two"), Source("m1", "t", "again"))
        moved = rehomed(given_insight, {("t", "m1"): "fork"})
        assert moved == insight("r", Source("m1", "fork", "one"), Source("m2", "t", "two"))

    def test_an_untouched_record_is_returned_as_it_is(self) -> None:
        given_insight = insight("r", Source("m1", "t", "one"))
        assert rehomed(given_insight, {("other", "m1"): "fork", ("t", "m2"): "fork"}) is given_insight


class TestReopened:
    def test_an_orphan_becomes_current_again(self) -> None:
        (back,) = reopened([insight("old", superseded_by="gone")], [])
        assert back == insight("old")

    def test_unless_its_slot_is_taken(self) -> None:
        (still,) = reopened([insight("old", superseded_by="gone")], [insight("now", minutes=5)])
        assert (still.current, still.superseded_by, still.reason) == (False, "now", "newer")

    def test_nor_where_one_that_began_later_was_archived(self) -> None:
        kept = archived("moved on", minutes=5)
        (still,) = reopened([insight("old", superseded_by="gone")], [kept])
        assert (still.current, still.superseded_by) == (False, "moved on")

    def test_one_that_was_archived_before_it_began_does_not_matter(self) -> None:
        (back,) = reopened([insight("new", minutes=5, superseded_by="gone")], [archived("old")])
        assert back.current

    def test_nor_does_one_that_was_withdrawn(self) -> None:
        withdrawn = msgspec.structs.replace(archived("wrong", minutes=5), reason="withdrawn")
        (back,) = reopened([insight("old", superseded_by="gone")], [withdrawn])
        assert back.current

    def test_another_slot_does_not_matter(self) -> None:
        (back,) = reopened([insight("old", superseded_by="gone")], [insight("now", slot="diet")])
        assert back.current

    @pytest.mark.parametrize("turned", [False, True])
    def test_of_two_for_one_slot_the_newest_comes_back(self, turned: bool) -> None:
        orphans = [insight("a", minutes=2, superseded_by="gone"), insight("b", minutes=1, superseded_by="gone")]
        newest, older = reopened(orphans[::-1] if turned else orphans, [])
        assert (newest.id, newest.current, older.superseded_by) == ("a", True, "a")

    def test_notes_have_no_slot_and_all_come_back(self) -> None:
        notes = [
            Note(id=name, text="x", trust="user", recorded_at=START, retired_at=START, superseded_by="gone") for name in "ab"
        ]
        assert [note.current for note in reopened(notes, [])] == [True, True]


class TestReceipt:
    receipt = Receipt(
        id="c",
        thread_id="t",
        created_at=START,
        budget=1,
        tokens=1,
        counter="x",
        ranker="x",
        renderer=1,
        digest="",
        pinned=((1, 1),),
        recent=((4, 6), (9, 9)),
        lines=(
            ReceiptLine("recalled", "message", "m", ""),
            ReceiptLine("profile", "record", "r", ""),
            ReceiptLine("summary", "node", "n", ""),
        ),
    )

    def shows(self, **gone: object) -> bool:
        nothing: dict[str, object] = {"seqs": {}, "message_ids": set(), "record_ids": set(), "node_ids": set()}
        return receipt_shows(self.receipt, **{**nothing, **gone})  # type: ignore[arg-type]

    def test_nothing_gone_is_not_shown(self) -> None:
        assert not self.shows()

    @pytest.mark.parametrize("seq", range(1, 11))
    def test_messages_shown_verbatim(self, seq: int) -> None:
        assert self.shows(seqs={"t": {seq}}) == (seq in {1, 4, 5, 6, 9})
        assert not self.shows(seqs={"other": {seq}})

    def test_lines_name_messages_records_and_nodes(self) -> None:
        for sort, name in (("message_ids", "m"), ("record_ids", "r"), ("node_ids", "n")):
            assert self.shows(**{sort: {name}})
            assert not self.shows(**{sort: {"m", "r", "n"} - {name}})


def test_a_message_is_found_by_its_words_unless_it_is_in_view_anyway() -> None:
    assert terms_of(Message(role="user", content="Bees make honey")) == index_terms("Bees make honey")
    assert terms_of(Message(role="system", content="Bees make honey")) == ""
    assert terms_of(Message(role="user", content="Bees make honey", tier="permanent")) == ""


def test_what_lies_far_down_a_message_is_not_found() -> None:
    terms = terms_of(Message(role="user", content="bees " * 4_000 + "honey")).split()
    assert set(terms) == {"bee"}
