"""What stands for the groups that fold: `compaction.fold`."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime, timedelta, timezone
from itertools import pairwise

import msgspec
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from bethink.compaction.fold import fold
from bethink.compaction.plan import plan
from bethink.messages import Group, Message, Part, ToolCall, groups
from bethink.records import Node
from bethink.settings import Settings
from bethink.testing.strategies import histories
from bethink.threads import place

AT = datetime(2026, 3, 1, 12, tzinfo=timezone.utc)
NOW = AT + timedelta(days=1)
for_any = settings(max_examples=60, deadline=None, suppress_health_check=[HealthCheck.too_slow])


def count(text: str) -> int:
    return len(text.split())


def said(role: str, text: str, **fields: object) -> Message:
    return Message(role=role, content=text, created_at=AT, **fields)  # type: ignore[arg-type]


def threaded(messages: Sequence[Message]) -> tuple[Group, ...]:
    named = [msgspec.structs.replace(message, id=message.id or f"m{at}") for at, message in enumerate(messages, 1)]
    return groups(place(named, tip=0, last=None, calls={}).messages)


def statements(number: int) -> tuple[Group, ...]:
    return threaded([said("user", f"Item {at} of the inventory weighs {at * 7} kg.") for at in range(1, number + 1)])


def folded(found: Sequence[Group], roots: Sequence[Node] = (), **changed: int) -> tuple[Node, ...]:
    knobs = Settings(**{"node_tokens": 40, **changed})  # type: ignore[arg-type]
    return fold(found, roots, namespace=("acme", "ada"), thread_id="t", now=NOW, settings=knobs, count=count)


def covered(nodes: Sequence[Node]) -> list[int]:
    return [seq for node in nodes for first, last in node.covers for seq in range(first, last + 1)]


def roots_of(nodes: Sequence[Node]) -> list[Node]:
    children = {child for node in nodes for child in node.children}
    return [node for node in nodes if node.id not in children]


# -- segments --------------------------------------------------------------------------------------------------------------


def test_nothing_gives_no_node() -> None:
    assert folded(()) == ()


def test_a_span_becomes_one_node_that_says_what_it_covers() -> None:
    (node,) = folded(statements(5))
    assert (node.level, node.covers, node.author, node.created_at, node.children) == (1, ((1, 5),), "extractive", NOW, ())


def test_long_spans_are_split_evenly() -> None:
    assert [node.covers for node in folded(statements(50), segment_messages=24)] == [((1, 17),), ((18, 34),), ((35, 50),)]


def test_a_call_and_its_results_are_in_one_segment() -> None:
    ids = ("a", "b", "c")
    calls = Message(role="assistant", tool_calls=tuple(ToolCall(call_id, "f") for call_id in ids), created_at=AT)
    thread = [said("user", "one"), calls, *[said("tool", "found it", tool_call_id=call_id) for call_id in ids]]
    assert [node.covers for node in folded(threaded(thread), segment_messages=3)] == [((1, 1),), ((2, 5),)]


def test_a_late_result_is_covered_with_its_call_around_what_was_said_meanwhile() -> None:
    calls = Message(role="assistant", tool_calls=(ToolCall("a", "f"),), created_at=AT)
    thread = threaded([calls, said("user", "one"), said("user", "two"), said("tool", "found", tool_call_id="a")])
    assert [node.covers for node in folded(thread, segment_messages=2)] == [((2, 3),), ((1, 1), (4, 4))]


def test_what_lies_between_and_is_pinned_is_not_covered() -> None:
    found = statements(5)
    (node,) = folded(found[:2] + found[3:])
    assert node.covers == ((1, 2), (4, 5))


# -- levels ----------------------------------------------------------------------------------------------------------------


def test_the_oldest_nodes_of_a_full_level_get_a_parent() -> None:
    nodes = folded(statements(7), segment_messages=1, node_fan_in=3)
    assert [(node.level, node.covers) for node in nodes] == [
        *[(1, ((seq, seq),)) for seq in range(1, 8)],
        (2, ((1, 3),)),
        (2, ((4, 6),)),
    ]
    assert nodes[7].children == tuple(node.id for node in nodes[:3])
    assert [node.covers for node in roots_of(nodes)] == [((7, 7),), ((1, 3),), ((4, 6),)]


def test_standing_roots_count_and_come_first() -> None:
    found = statements(4)
    first = folded(found[:3], segment_messages=1, node_fan_in=3)
    leaf, parent = folded(found[3:], list(reversed(first)), segment_messages=1, node_fan_in=3)
    assert (leaf.covers, parent.level, parent.covers) == (((4, 4),), 2, ((1, 3),))
    assert parent.children == tuple(node.id for node in first)


def test_a_parent_holds_lines_of_its_children_word_for_word() -> None:
    nodes = folded(statements(12), segment_messages=2, node_fan_in=2)
    by_id = {node.id: node for node in nodes}
    for parent in (node for node in nodes if node.level > 1):
        assert parent.lines
        assert set(parent.lines) <= {line for child in parent.children for line in by_id[child].lines}


# -- ids -------------------------------------------------------------------------------------------------------------------


def test_folding_again_later_gives_the_same_ids_and_lines() -> None:
    found = statements(12)
    knobs = Settings(segment_messages=2, node_fan_in=2)
    one, two = (
        fold(found, (), namespace=("a",), thread_id="t", now=now, settings=knobs, count=count)
        for now in (NOW, NOW + timedelta(days=1))
    )
    assert [(node.id, node.lines) for node in one] == [(node.id, node.lines) for node in two]


def test_another_thread_or_namespace_gives_other_ids() -> None:
    places = [(("a", "b"), "t"), (("a",), "t"), (("a",), "b"), (("a", "b"), "u")]
    ids = {
        fold(statements(2), (), namespace=namespace, thread_id=thread, now=NOW, settings=Settings(), count=count)[0].id
        for namespace, thread in places
    }
    assert len(ids) == len(places)


# -- content ---------------------------------------------------------------------------------------------------------------


def test_V066_a_message_without_content_leaves_no_trace_of_none() -> None:
    call = Message(role="assistant", tool_calls=(ToolCall("a", "f"),), created_at=AT)
    empty = Message(role="assistant", content=(), created_at=AT)
    thread = threaded([said("user", ""), call, said("tool", "", tool_call_id="a"), empty])
    (node,) = folded(thread)
    assert (node.covers, node.lines) == (((1, 4),), ())
    assert b"None" not in msgspec.json.encode(node)


def test_V067_of_a_list_of_parts_the_text_alone_is_used() -> None:
    parts = (Part("reasoning", "The user seems to be in Rome."), Part("text", "The ferry to Capri leaves at 9:15."))
    (node,) = folded(threaded([Message(role="assistant", content=parts, created_at=AT)]))
    assert [line.text for line in node.lines] == ["The ferry to Capri leaves at 9:15."]


def test_V015_an_oversized_result_is_cut_and_crowds_nothing_out() -> None:
    call = Message(role="assistant", tool_calls=(ToolCall("a", "f"),), created_at=AT)
    blob = "[" + ", ".join(f'"row {at}"' for at in range(4_000)) + "]"
    thread = [said("user", "My flight is LH-1801 on Friday."), call, said("tool", blob, tool_call_id="a")]
    (node,) = folded(threaded(thread), node_tokens=60)
    assert "My flight is LH-1801 on Friday." in [line.text for line in node.lines]
    assert all(len(line.text) <= 240 for line in node.lines)


# -- over a long thread ----------------------------------------------------------------------------------------------------


def test_V012_V019_over_1250_messages_it_goes_on_folding_and_everything_stays_bounded() -> None:
    knobs = Settings(segment_messages=8, node_tokens=40, node_fan_in=4)
    budget = 200
    unfolded: list[Message] = []
    nodes: list[Node] = []
    roots: list[Node] = []
    through, folds = 0, []
    for seq in range(1, 1_251):
        role = "user" if seq % 2 else "assistant"
        text = f"Parcel {seq} for depot {seq % 13} weighs {seq % 90} kg."
        unfolded.append(said(role, text, id=f"m{seq}", seq=seq, group=seq))
        found = plan(
            groups(unfolded),
            budget=budget,
            fixed=0,
            size=lambda group: sum(count(message.text) for message in group.messages),
            settings=knobs,
        )
        if found.fold:
            made = fold(found.fold, roots, namespace=("a",), thread_id="t", now=NOW, settings=knobs, count=count)
            nodes += made
            roots = roots_of([*roots, *made])
            through = found.through
            unfolded = [message for group in found.keep for message in group.messages]
            folds.append(seq)
        assert found.tokens <= budget * knobs.compaction_trigger
        levels = [root.level for root in roots]
        assert all(levels.count(level) <= knobs.node_fan_in for level in levels)
        assert len(roots) <= 4 * knobs.node_fan_in
    assert max(later - sooner for sooner, later in pairwise(folds)) <= 20
    assert folds[-1] > 1_225
    assert all(sum(count(line.text) for line in node.lines) <= knobs.node_tokens for node in nodes)
    # V011: every message is either verbatim or covered, once by the roots and once by level 1.
    assert sorted(covered(roots)) == sorted(covered([node for node in nodes if node.level == 1])) == list(range(1, through + 1))
    assert [message.seq for message in unfolded] == list(range(through + 1, 1_251))


@for_any
@given(histories(), st.integers(1, 6), st.integers(2, 4), st.integers(1, 30))
def test_V011_any_history_is_covered_exactly_once_per_level_of_roots(
    history: list[Message], segment: int, fan_in: int, node_tokens: int
) -> None:
    closed = [group for group in threaded(history) if not group.open_calls]
    nodes = folded(closed, segment_messages=segment, node_fan_in=fan_in, node_tokens=node_tokens)
    expected = sorted(message.seq for group in closed for message in group.messages)
    assert sorted(covered([node for node in nodes if node.level == 1])) == expected
    assert sorted(covered(roots_of(nodes))) == expected
    assert len({node.id for node in nodes}) == len(nodes)
    levels = [root.level for root in roots_of(nodes)]
    assert all(levels.count(level) <= fan_in for level in levels)


@for_any
@given(histories(), st.integers(1, 6), st.integers(2, 4), st.integers(1, 30))
def test_any_node_is_within_its_tokens_and_cites_only_what_it_covers(
    history: list[Message], segment: int, fan_in: int, node_tokens: int
) -> None:
    closed = [group for group in threaded(history) if not group.open_calls]
    seq_of = {message.id: message.seq for group in closed for message in group.messages}
    for node in folded(closed, segment_messages=segment, node_fan_in=fan_in, node_tokens=node_tokens):
        assert sum(count(line.text) for line in node.lines) <= node_tokens
        assert {seq_of[source] for line in node.lines for source in line.sources} <= set(covered([node]))


@for_any
@given(histories())
def test_folding_twice_gives_the_same_bytes(history: list[Message]) -> None:
    closed = [group for group in threaded(history) if not group.open_calls]
    one, two = (msgspec.json.encode(folded(closed, segment_messages=2, node_fan_in=2)) for _ in range(2))
    assert one == two
