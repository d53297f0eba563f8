"""The contract of `append`, `read` and `fold`."""

from __future__ import annotations

import itertools
from datetime import timedelta
from typing import Any

import msgspec
import pytest
from hypothesis import HealthCheck, given, settings

from bethink.errors import Conflict, InvalidInput, InvalidMessage, NotFound
from bethink.messages import Message, Part, Raw, ToolCall
from bethink.storage.base import Append, Appended, Cursor, Scope, Store
from bethink.testing._contract import (
    AT,
    NS,
    ContractBase,
    append,
    calls,
    embed,
    fold,
    forget,
    fork,
    get,
    hits,
    ids,
    info,
    line,
    node,
    put,
    read,
    result,
    say,
    scan,
    search,
    seqs,
    together,
)
from bethink.testing._contract_marks import mark
from bethink.testing.strategies import histories
from bethink.threads import ForkPoint

_serial = itertools.count()


class AppendContract(ContractBase):
    def test_the_first_append_makes_the_thread(self, store: Store) -> None:
        append(store, say("m1"), metadata={"title": "First"})
        thread = info(store)
        assert (thread.namespace, thread.thread_id, thread.tip, thread.count) == (NS, "t", 1, 1)
        assert (thread.created_at, thread.updated_at, thread.metadata) == (AT, AT, {"title": "First"})
        assert (thread.folded_through, thread.extracted_through, thread.reflected_through, thread.parent) == (0, 0, 0, None)

    def test_several_appends_are_done_or_refused_each_by_itself(self, store: Store) -> None:
        append(store, say("m1"))
        requests = [
            Append(namespace=NS, thread_id=thread, at=AT, messages=messages, expected_tip=tip)
            for thread, messages, tip in (
                ("t", (say("m2"),), 1),
                ("t", (say("m3"),), 1),
                ("u", (say("m1"), result("m2", "c9")), None),
                ("v", (), None),
                ("t", (say("m1", "something else"),), None),
                ("t", (say("m2"), say("m4")), None),
            )
        ]
        outcomes = store.append_each(requests)
        kinds = [type(outcome).__name__ for outcome in outcomes]
        assert kinds == ["Appended", "Conflict", "InvalidMessage", "Appended", "Conflict", "Appended"]
        assert [outcome.tip for outcome in outcomes if isinstance(outcome, Appended)] == [2, 0, 3]
        assert ids(read(store).messages) == ["m1", "m2", "m4"]
        assert {thread.thread_id for thread in scan(store, "threads")} == {"t", "v"}
        assert store.append_each([]) == []

    def test_metadata_is_for_the_call_that_makes_the_thread(self, store: Store) -> None:
        append(store, say("m1"), metadata={"title": "First"})
        append(store, say("m2"), metadata={"title": "Second"})
        assert info(store).metadata == {"title": "First"}

    def test_updated_at_is_the_system_time_of_the_newest_message(self, store: Store) -> None:
        append(store, say("m1"))
        append(store, say("m2", created_at=AT - timedelta(days=9)), at=AT + timedelta(hours=1))
        assert info(store).updated_at == AT + timedelta(hours=1)
        assert info(store).created_at == AT

    def test_an_empty_batch_makes_the_thread(self, store: Store) -> None:
        assert append(store).tip == 0
        assert (info(store).tip, info(store).count) == (0, 0)

    def test_an_empty_batch_changes_nothing_else(self, store: Store) -> None:
        append(store, say("m1"))
        before = read(store)
        appended = append(store, at=AT + timedelta(hours=1), metadata={"late": True})
        assert (appended.messages, appended.added, appended.tip) == ((), 0, 1)
        assert read(store) == before

    def test_the_order_given_is_kept_and_numbered_without_gaps(self, store: Store) -> None:
        first = append(store, *(say(f"m{number}") for number in (3, 1, 2)))
        second = append(store, say("m0"))
        assert seqs(first.messages + second.messages) == [1, 2, 3, 4]
        assert ids(read(store).messages) == ["m3", "m1", "m2", "m0"]

    def test_the_answer_is_the_batch_as_stored(self, store: Store) -> None:
        appended = append(store, say("m1"), say("m2"))
        assert (appended.messages, appended.added, appended.tip) == (read(store).messages, 2, 2)

    def test_a_message_comes_back_as_it_was_given(self, store: Store) -> None:
        message = Message(
            role="assistant",
            content=(
                Part("reasoning", "hm"),
                Part("text", "père 👩‍👩‍👧‍👦 e\u0301"),
                Part("image", ref="https://example.org/a.png"),
            ),
            tool_calls=(ToolCall("c1", "search", '{"q":  1.0}'),),
            name="Ada",
            id="m1",
            created_at=AT + timedelta(microseconds=1),
            metadata={"n": [1, 2.5, None, {"deep": True}]},
            tier="permanent",
            external=True,
            raw=Raw("openai", b'{"role": "assistant",  "unknown": [1]}'),
        )
        append(store, message)
        (stored,) = read(store).messages
        assert (stored.seq, stored.group) == (1, 1)
        assert [getattr(stored, name) for name in _GIVEN] == [getattr(message, name) for name in _GIVEN]

    @settings(
        max_examples=25,
        deadline=None,
        suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.differing_executors],
    )
    @given(history=histories())
    def test_any_history_comes_back_in_order(self, store: Store, history: list[Message]) -> None:
        thread = f"any-{next(_serial)}"
        append(store, *history, thread=thread)
        stored = read(store, thread).messages
        assert [[getattr(each, name) for name in _GIVEN] for each in stored] == [
            [getattr(each, name) for name in _GIVEN] for each in history
        ]

    def test_V032_order_is_insertion_whatever_the_clock_says(self, store: Store) -> None:
        for number in range(10):
            append(store, say(f"m{number}"))
        append(store, *(say(f"m{number}", created_at=AT - timedelta(days=number)) for number in range(10, 20)))
        for _ in range(5):
            assert ids(read(store).messages) == [f"m{number}" for number in range(20)]

    def test_all_messages_or_none(self, store: Store) -> None:
        with pytest.raises(InvalidMessage):
            append(store, say("m1"), result("m2", "never-called"))
        with pytest.raises(NotFound):
            read(store)
        assert store.stats(Scope(NS)).units == 0

    def test_a_refused_batch_leaves_the_thread_untouched(self, store: Store) -> None:
        append(store, say("m1"))
        before = read(store)
        with pytest.raises(InvalidMessage):
            append(store, say("m2"), result("m3", "never-called"), at=AT + timedelta(hours=1))
        assert read(store) == before

    def test_V021_a_failed_append_can_be_retried_with_the_same_ids(self, store: Store) -> None:
        append(store, calls("m1", "c1"))
        with pytest.raises(InvalidMessage):
            append(store, result("m2", "c1"), result("m3", "c1"))
        append(store, result("m2", "c1"))
        append(store, say("m3", role="assistant"))
        assert ids(read(store).messages) == ["m1", "m2", "m3"]

    def test_V028_a_retry_writes_nothing_twice(self, store: Store) -> None:
        first = append(store, say("m1"))
        retried = append(store, say("m1"), at=AT + timedelta(hours=1))
        append(store, say("m2", role="assistant"))
        assert (retried.messages, retried.added, retried.tip) == (first.messages, 0, 1)
        assert ids(read(store).messages) == ["m1", "m2"]
        assert store.stats(Scope(NS)).units == 2

    def test_V028_the_same_text_under_another_id_is_another_message(self, store: Store) -> None:
        append(store, say("m1", "yes"))
        append(store, say("m2", "yes"))
        assert ids(read(store).messages) == ["m1", "m2"]

    def test_a_retry_may_carry_new_messages(self, store: Store) -> None:
        append(store, say("m1"), say("m2"))
        appended = append(store, say("m2"), say("m3"))
        assert (ids(appended.messages), seqs(appended.messages), appended.added, appended.tip) == (["m2", "m3"], [2, 3], 1, 3)

    def test_a_retry_may_come_with_another_time_and_metadata(self, store: Store) -> None:
        append(store, say("m1"))
        append(store, say("m1", created_at=AT + timedelta(days=1), metadata={"retry": 1}))
        assert read(store).messages[0].created_at == AT

    def test_an_id_that_says_something_else_is_a_conflict(self, store: Store) -> None:
        append(store, say("m1", "yes"))
        before = read(store)
        with pytest.raises(Conflict):
            append(store, say("m2"), say("m1", "no"))
        assert read(store) == before

    def test_an_id_twice_in_one_batch_is_stored_once(self, store: Store) -> None:
        appended = append(store, say("m1"), say("m1"), say("m2"))
        assert (seqs(appended.messages), appended.added) == ([1, 1, 2], 2)
        assert ids(read(store).messages) == ["m1", "m2"]

    def test_an_id_twice_in_one_batch_that_differs_is_a_conflict(self, store: Store) -> None:
        with pytest.raises(Conflict):
            append(store, say("m1", "yes"), say("m1", "no"))
        with pytest.raises(NotFound):
            read(store)

    def test_expected_tip_lets_the_next_append_through(self, store: Store) -> None:
        append(store, say("m1"), expected_tip=0)
        assert append(store, say("m2"), expected_tip=1).tip == 2

    @pytest.mark.parametrize("expected", [0, 1, 3])
    def test_another_tip_is_a_conflict_that_names_both(self, store: Store, expected: int) -> None:
        append(store, say("m1"), say("m2"))
        before = read(store)
        with pytest.raises(Conflict) as caught:
            append(store, say("m3"), expected_tip=expected)
        assert (caught.value.expected, caught.value.actual) == (expected, 2)
        assert read(store) == before

    def test_a_conflict_about_the_tip_makes_no_thread(self, store: Store) -> None:
        with pytest.raises(Conflict):
            append(store, say("m1"), expected_tip=1)
        with pytest.raises(NotFound):
            read(store)

    def test_a_batch_that_is_entirely_a_retry_succeeds_whatever_the_tip(self, store: Store) -> None:
        append(store, say("m1"), expected_tip=0)
        append(store, say("m2"))
        assert append(store, say("m1"), expected_tip=0).added == 0

    def test_V035_appends_in_quick_succession_never_conflict_falsely(self, store: Store) -> None:
        tip = 0
        for number in range(100):
            tip = append(store, say(f"m{number}"), expected_tip=tip).tip
        with pytest.raises(Conflict):
            append(store, say("late"), expected_tip=tip - 1)

    def test_of_many_who_expect_the_same_tip_one_wins(self, store: Store) -> None:
        append(store, say("m0"))
        outcomes = together(*(lambda n=n: append(store, say(f"w{n}"), expected_tip=1) for n in range(6)))
        assert sum(isinstance(outcome, Conflict) for outcome in outcomes) == 5
        assert info(store).tip == 2

    def test_no_other_writer_comes_between_the_messages_of_a_batch(self, store: Store) -> None:
        def writer(name: int) -> None:
            for batch in range(5):
                append(store, *(say(f"{name}-{batch}-{number}") for number in range(4)))

        assert together(*(lambda n=n: writer(n) for n in range(4))) == [None] * 4
        stored = read(store).messages
        assert seqs(stored) == list(range(1, 81))
        assert len(set(ids(stored))) == 80
        batches = [{message.id.rsplit("-", 1)[0] for message in stored[start : start + 4]} for start in range(0, 80, 4)]
        assert all(len(batch) == 1 for batch in batches)

    def test_a_call_and_its_results_share_a_group(self, store: Store) -> None:
        append(store, say("m1"), calls("m2", "c1", "c2"), result("m3", "c2"))
        append(store, say("m4"))
        late = append(store, result("m5", "c1"))
        assert [message.group for message in read(store).messages] == [1, 2, 2, 4, 2]
        assert late.messages[0].group == 2

    def test_a_second_result_for_a_call_is_refused(self, store: Store) -> None:
        append(store, calls("m1", "c1"), result("m2", "c1"))
        with pytest.raises(InvalidMessage):
            append(store, result("m3", "c1"))

    def test_a_call_id_may_come_back_once_its_result_is_in(self, store: Store) -> None:
        append(store, calls("m1", "c1"), result("m2", "c1"))
        append(store, calls("m3", "c1"))
        assert append(store, result("m4", "c1")).messages[0].group == 3

    def test_a_message_without_words_and_one_that_is_pinned_are_no_units(self, store: Store) -> None:
        append(store, say("m1", "?!"), say("m2", "hidden words", "system"))
        assert hits(store, "hidden") == set()
        assert store.stats(Scope(NS)).units == 0


class ForkContract(ContractBase):
    def test_a_fork_starts_as_a_copy_up_to_the_seq(self, store: Store) -> None:
        append(store, say("m1"), say("m2"), say("m3"))
        appended = fork(store, 2)
        assert appended.tip == 2
        assert read(store, "fork").messages == read(store).messages[:2]
        thread = info(store, "fork")
        assert (thread.tip, thread.count, thread.parent) == (2, 2, ForkPoint("t", 2))

    def test_a_fork_and_its_parent_go_their_own_ways(self, store: Store) -> None:
        append(store, say("m1"), say("m2"))
        append(store, say("f1"), thread="fork", fork_of=ForkPoint("t", 1))
        append(store, say("m3"))
        assert (ids(read(store, "fork").messages), seqs(read(store, "fork").messages)) == (["m1", "f1"], [1, 2])
        assert ids(read(store).messages) == ["m1", "m2", "m3"]

    def test_a_fork_at_zero_is_empty(self, store: Store) -> None:
        append(store, say("m1"))
        fork(store, 0)
        assert read(store, "fork").messages == ()

    def test_a_fork_onto_a_thread_that_exists_is_a_conflict(self, store: Store) -> None:
        append(store, say("m1"))
        append(store, say("x1"), thread="fork")
        with pytest.raises(Conflict):
            fork(store, 1)
        assert ids(read(store, "fork").messages) == ["x1"]

    def test_a_fork_of_nothing_is_not_found(self, store: Store) -> None:
        with pytest.raises(NotFound):
            fork(store, 0)

    def test_a_fork_beyond_the_tip_is_refused(self, store: Store) -> None:
        append(store, say("m1"))
        with pytest.raises(InvalidInput):
            fork(store, 2)
        with pytest.raises(NotFound):
            read(store, "fork")

    @pytest.mark.parametrize("seq", [1, 2, 3])
    def test_a_fork_may_not_cut_a_group_in_two(self, store: Store, seq: int) -> None:
        append(store, calls("m1", "c1", "c2"), result("m2", "c1"), say("m3"), result("m4", "c2"))
        with pytest.raises(InvalidInput):
            fork(store, seq)

    def test_an_open_call_may_be_answered_in_each_branch(self, store: Store) -> None:
        append(store, calls("m1", "c1"))
        fork(store, 1)
        append(store, result("m2", "c1", "one"))
        append(store, result("f2", "c1", "other"), thread="fork")
        assert [message.group for message in read(store, "fork").messages] == [1, 1]

    def test_a_fork_takes_the_nodes_that_lie_within(self, store: Store) -> None:
        append(store, *(say(f"m{number}") for number in range(1, 7)))
        fold(store, node("n1", 1, 2, line("one", "m1")), node("n2", 3, 4, line("three", "m3")), through=4)
        fork(store, 3)
        assert [each.id for each in read(store, "fork", nodes=True).nodes] == ["n1"]
        assert [each.id for each in read(store, nodes=True).nodes] == ["n1", "n2"]

    def test_a_child_whose_parent_stays_behind_is_on_top_in_the_fork(self, store: Store) -> None:
        append(store, *(say(f"m{number}") for number in range(1, 5)))
        fold(store, node("n1", 1, 2), node("n2", 3, 4), node("n3", 1, 4, level=2, children=("n1", "n2")), through=4)
        fork(store, 2)
        assert [each.id for each in read(store, "fork", nodes=True).nodes] == ["n1"]

    def test_the_cursors_of_a_fork_are_cut_down(self, store: Store) -> None:
        append(store, *(say(f"m{number}") for number in range(1, 7)))
        fold(store, node("n1", 1, 2), through=2)
        put(store, cursor=Cursor("t", "extracted", 0, 6))
        put(store, cursor=Cursor("t", "reflected", 0, 5))
        fork(store, 3)
        thread = info(store, "fork")
        assert (thread.folded_through, thread.extracted_through, thread.reflected_through) == (2, 3, 3)

    def test_what_only_a_node_left_behind_covered_is_unfolded_in_the_fork(self, store: Store) -> None:
        append(store, *(say(f"m{number}") for number in range(1, 7)))
        fold(store, node("n1", 1, 2), node("n2", 3, 5), through=5)
        fork(store, 4)
        assert info(store, "fork").folded_through == 2

    def test_the_copies_of_a_fork_are_found_and_need_no_second_embedding(self, store: Store) -> None:
        append(store, say("m1", "bees make honey"))
        embed(store)
        fork(store, 1)
        assert search(store, "honey").pending == 0
        assert {(each.thread_id, each.id) for each in search(store, near="honey").candidates} == {("t", "m1"), ("fork", "m1")}

    def test_get_finds_a_shared_message_once_for_each_fork(self, store: Store) -> None:
        append(store, say("m1"))
        fork(store, 1)
        assert sorted(each.thread_id for each in get(store, messages=("m1",)).messages) == ["fork", "t"]


class ReadContract(ContractBase):
    def test_V033_limit_returns_the_latest_in_order(self, store: Store) -> None:
        append(store, *(say(f"m{number}") for number in range(1, 11)))
        assert ids(read(store, limit=3).messages) == ["m8", "m9", "m10"]
        assert read(store, limit=0).messages == ()
        assert len(read(store, limit=99).messages) == len(read(store).messages) == 10

    def test_before_and_after_are_exclusive(self, store: Store) -> None:
        append(store, *(say(f"m{number}") for number in range(1, 8)))
        assert seqs(read(store, after=2, before=5).messages) == [3, 4]
        assert read(store, after=7).messages == read(store, before=1).messages == ()

    def test_the_limit_counts_from_the_newest_within(self, store: Store) -> None:
        append(store, *(say(f"m{number}") for number in range(1, 8)))
        assert seqs(read(store, before=6, limit=2).messages) == [4, 5]
        assert seqs(read(store, after=2, limit=2).messages) == [6, 7]

    def test_unfolded_is_what_lies_past_the_fold_as_it_is_now(self, store: Store) -> None:
        append(store, *(say(f"m{number}") for number in range(1, 6)))
        assert seqs(read(store, unfolded=True).messages) == [1, 2, 3, 4, 5]
        fold(store, node("n1", 1, 3), through=3)
        assert seqs(read(store, unfolded=True).messages) == [4, 5]
        assert seqs(read(store, unfolded=True, after=4).messages) == [5]
        assert seqs(read(store, unfolded=True, after=2, before=5).messages) == [4]

    def test_what_was_read_before_hides_nothing_that_has_happened_since(self, store: Store) -> None:
        whole: dict[str, Any] = {"unfolded": True, "whole_groups": True, "pinned": True, "nodes": True, "marks": True}
        append(store, say("m1"), calls("m2", "c1"), say("m3"), say("m4"), say("m5"))
        assert seqs(read(store, **whole).messages) == [1, 2, 3, 4, 5]
        append(store, say("m6"))
        assert seqs(read(store, **whole).messages) == [1, 2, 3, 4, 5, 6]
        fold(store, node("n1", 1, 3, line("rain", "m1")), through=3)
        assert seqs(read(store, **whole).messages) == [4, 5, 6]
        append(store, result("m7", "c1"))
        assert seqs(read(store, **whole).messages) == [2, 4, 5, 6, 7]
        mark(store, (1, "permanent"), (4, "ephemeral"), scores=((5, 9),))
        found = read(store, **whole)
        assert (seqs(found.messages), sorted(found.tiers), sorted(found.scores)) == ([1, 2, 4, 5, 6, 7], [1, 4], [5])
        forget(store, message_id="m5")
        assert seqs(read(store, **whole).messages) == [1, 2, 4, 6, 7]
        forget(store, message_id="m1")
        found = read(store, **whole)
        assert (seqs(found.messages), [each.lines for each in found.nodes]) == ([2, 4, 6, 7], [()])
        forget(store, thread_id="t")
        append(store, say("m8"))
        assert ids(read(store, **whole).messages) == ["m8"]

    def test_whole_groups_brings_the_members_that_lie_outside(self, store: Store) -> None:
        append(store, say("m1"), calls("m2", "c1", "c2"), result("m3", "c1"), say("m4"), result("m5", "c2"), say("m6"))
        assert seqs(read(store, limit=2).messages) == [5, 6]
        assert seqs(read(store, limit=2, whole_groups=True).messages) == [2, 3, 5, 6]
        assert seqs(read(store, before=3, limit=1, whole_groups=True).messages) == [2, 3, 5]

    def test_pinned_brings_system_developer_and_permanent_messages(self, store: Store) -> None:
        append(
            store,
            say("m1", role="system"),
            say("m2", role="developer"),
            say("m3", tier="permanent"),
            say("m4", tier="long_term"),
            say("m5"),
        )
        assert ids(read(store, limit=1, pinned=True).messages) == ["m1", "m2", "m3", "m5"]
        assert ids(read(store, limit=0, pinned=True).messages) == ["m1", "m2", "m3"]

    def test_pinned_with_whole_groups_brings_their_groups(self, store: Store) -> None:
        append(
            store,
            msgspec.structs.replace(calls("m1", "c1"), tier="permanent"),
            say("m2"),
            result("m3", "c1"),
            say("m4"),
            say("m5"),
        )
        assert seqs(read(store, limit=1, pinned=True).messages) == [1, 5]
        assert seqs(read(store, limit=1, pinned=True, whole_groups=True).messages) == [1, 3, 5]

    def test_nodes_come_only_when_asked_for(self, store: Store) -> None:
        append(store, say("m1"))
        fold(store, node("n1", 1, 1), through=1)
        assert read(store).nodes == ()
        assert [each.id for each in read(store, nodes=True).nodes] == ["n1"]

    def test_nodes_are_those_that_are_no_child_by_first_seq(self, store: Store) -> None:
        append(store, *(say(f"m{number}") for number in range(1, 7)))
        fold(store, node("n2", 5, 6), node("n1", 1, 2), node("n0", 3, 4), through=6)
        fold(store, node("up", 1, 4, level=2, children=("n1", "n0")), through=6, expected=6)
        assert [each.id for each in read(store, nodes=True).nodes] == ["up", "n2"]

    def test_reading_a_thread_that_is_not_there_is_not_found_and_makes_none(self, store: Store) -> None:
        with pytest.raises(NotFound):
            read(store)
        assert store.stats(Scope((), subtree=True)).threads == 0


class FoldContract(ContractBase):
    def test_the_nodes_are_in_and_the_cursor_has_moved(self, store: Store) -> None:
        append(store, say("m1"), say("m2"), say("m3"))
        folded = node("n1", 1, 2, line("both said hello", "m1", "m2"))
        assert fold(store, folded, through=2) == info(store)
        assert info(store).folded_through == 2
        assert read(store, nodes=True).nodes == (folded,)
        assert get(store, nodes=("n1", "unknown")).nodes == (folded,)

    def test_no_message_is_changed_or_removed(self, store: Store) -> None:
        append(store, say("m1"), say("m2"))
        before = read(store).messages
        fold(store, node("n1", 1, 2), through=2)
        assert read(store).messages == before
        assert hits(store, "hello") == {"m1", "m2"}

    def test_another_expected_through_is_a_conflict(self, store: Store) -> None:
        append(store, say("m1"), say("m2"))
        fold(store, node("n1", 1, 1), through=1)
        with pytest.raises(Conflict):
            fold(store, node("n2", 1, 2), through=2, expected=0)
        assert [each.id for each in read(store, nodes=True).nodes] == ["n1"]
        assert info(store).folded_through == 1

    def test_of_two_who_fold_the_same_span_one_wins(self, store: Store) -> None:
        append(store, say("m1"), say("m2"))
        outcomes = together(*(lambda n=n: fold(store, node(f"n{n}", 1, 2), through=2) for n in range(4)))
        assert sum(isinstance(outcome, Conflict) for outcome in outcomes) == 3
        assert len(read(store, nodes=True).nodes) == 1

    def test_a_node_over_a_forgotten_message_is_a_conflict(self, store: Store) -> None:
        append(store, say("m1"), say("m2"), say("m3"))
        forget(store, message_id="m2")
        with pytest.raises(Conflict):
            fold(store, node("n0", 1, 1), node("n1", 1, 3), through=3)
        assert read(store, nodes=True).nodes == ()
        assert info(store).folded_through == 0

    def test_a_node_with_a_child_that_is_not_there_is_a_conflict(self, store: Store) -> None:
        append(store, say("m1"))
        with pytest.raises(Conflict):
            fold(store, node("n2", 1, 1, level=2, children=("n1",)), through=1)
        assert read(store, nodes=True).nodes == ()

    def test_a_node_under_the_id_of_another_is_a_conflict(self, store: Store) -> None:
        append(store, say("m1"), say("m2"))
        fold(store, node("n1", 1, 1, line("one", "m1")), through=1)
        with pytest.raises(Conflict):
            fold(store, node("n1", 2, 2), through=2, expected=1)
        assert get(store, nodes=("n1",)).nodes == (node("n1", 1, 1, line("one", "m1")),)

    def test_folding_a_thread_that_is_not_there_is_not_found(self, store: Store) -> None:
        with pytest.raises(NotFound):
            fold(store, through=0)


_GIVEN = (
    "role",
    "content",
    "tool_calls",
    "tool_call_id",
    "name",
    "id",
    "created_at",
    "metadata",
    "tier",
    "external",
    "raw",
)
