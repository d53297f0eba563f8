"""The contract of `refine`: a model's summary in the place of another, and the attempts at one."""

from __future__ import annotations

from datetime import timedelta

import msgspec
import pytest

from bethink.errors import Conflict, NotFound
from bethink.models.language import Usage
from bethink.records import Line, Node
from bethink.storage.base import Attempt, FailureReason, Refine, Store
from bethink.testing._contract import (
    AT,
    EVERYTHING,
    NS,
    ContractBase,
    append,
    fold,
    forget,
    fork,
    get,
    line,
    node,
    put,
    read,
    receipt,
    say,
    scan,
    shown,
    together,
)

replace = msgspec.structs.replace


def written(of: Node, node_id: str, *lines: Line, author: str = "gpt") -> Node:
    """A model's node in the place of another."""
    return replace(of, id=node_id, lines=lines, author=author, span="x")


def attempt(node_id: str, *, model: str = "gpt", number: int = 1, reason: FailureReason | str = "") -> Attempt:
    return Attempt(
        span="x",
        node_id=node_id,
        model=model,
        at=AT,
        number=number,
        reason=reason,  # type: ignore[arg-type]
        usage=Usage(calls=1, tokens_in=10),
        retry_at=AT + timedelta(minutes=1) if reason else None,
    )


def refine(store: Store, expected: Node, node: Node | None = None, *, thread: str = "t", **fields: str | int) -> None:
    made = attempt(expected.id if node is None else node.id, **fields)  # type: ignore[arg-type]
    store.refine(Refine(namespace=NS, thread_id=thread, expected=expected, attempt=made, node=node))


def tree(store: Store, thread: str = "t") -> list[str]:
    """The ids of the nodes that have not been replaced."""
    return [each.id for each in read(store, thread, tree=True, limit=0).nodes]


N1 = node("n1", 1, 2, line("of one", "m1"), line("of two", "m2"))
N2 = node("n2", 3, 4, line("of three", "m3"))
UP = node("up", 1, 4, line("of one", "m1"), level=2, children=("n1", "n2"))
M1 = written(N1, "w1", line("one and two", "m1", "m2"), line("one", "m1"))


class RefineContract(ContractBase):
    @pytest.fixture
    def folded(self, store: Store) -> Store:
        """Thread `t` of five messages: two nodes of two each."""
        append(store, *(say(f"m{number}", f"bees {number}") for number in range(1, 6)))
        fold(store, N1, N2, through=4)
        return store

    # -- replacing ----------------------------------------------------------------------------------------------------------

    def test_the_new_node_stands_where_the_other_stood(self, folded: Store) -> None:
        refine(folded, N1, M1)
        assert read(folded, nodes=True, limit=0).nodes == (M1, N2)
        assert read(folded, tree=True, limit=0).nodes == (M1, N2)

    def test_nothing_else_of_the_thread_changes(self, folded: Store) -> None:
        before = read(folded)
        refine(folded, N1, M1)
        assert read(folded) == before

    def test_a_replaced_node_is_still_there_by_its_id_and_names_the_other(self, folded: Store) -> None:
        refine(folded, N1, M1)
        assert get(folded, nodes=("n1",)).nodes == (replace(N1, replaced_by="w1"),)

    def test_a_node_above_has_it_as_its_child(self, folded: Store) -> None:
        fold(folded, UP, through=4, expected=4)
        refine(folded, N1, M1)
        assert read(folded, nodes=True, limit=0).nodes == (replace(UP, children=("w1", "n2")),)
        assert tree(folded) == ["w1", "n2", "up"]

    def test_a_node_above_may_be_replaced_and_keeps_its_children(self, folded: Store) -> None:
        fold(folded, UP, through=4, expected=4)
        above = written(UP, "w2", line("all", "m1", "m3"))
        refine(folded, UP, above)
        assert read(folded, nodes=True, limit=0).nodes == (above,)
        refine(folded, N1, M1)
        assert read(folded, nodes=True, limit=0).nodes == (replace(above, children=("w1", "n2")),)
        assert get(folded, nodes=("up",)).nodes == (replace(UP, children=("w1", "n2"), replaced_by="w2"),)

    def test_a_replacement_may_be_replaced(self, folded: Store) -> None:
        refine(folded, N1, M1)
        refine(folded, M1, written(M1, "w2", line("again", "m1")))
        assert tree(folded) == ["w2", "n2"]
        assert {each.id: each.replaced_by for each in get(folded, nodes=("n1", "w1", "w2")).nodes} == {
            "n1": "w1",
            "w1": "w2",
            "w2": "",
        }

    def test_a_node_that_was_replaced_or_never_was_is_a_conflict_and_nothing_changes(self, folded: Store) -> None:
        refine(folded, N1, M1)
        before = read(folded, tree=True)
        for expected in (N1, node("n9", 1, 2)):
            with pytest.raises(Conflict):
                refine(folded, expected, written(N1, "w9"))
        assert read(folded, tree=True) == before

    def test_what_was_made_of_something_forgotten_is_a_conflict_and_nothing_changes(self, folded: Store) -> None:
        forget(folded, message_id="m1")
        before = read(folded, tree=True)
        with pytest.raises(Conflict):
            refine(folded, N1, M1)
        with pytest.raises(Conflict):
            refine(folded, N1, reason="error")
        assert read(folded, tree=True) == before

    def test_a_node_with_another_child_by_now_is_a_conflict(self, folded: Store) -> None:
        fold(folded, UP, through=4, expected=4)
        refine(folded, N1, M1)
        with pytest.raises(Conflict):
            refine(folded, UP, written(UP, "w2", line("all", "m1")))

    def test_an_id_that_the_thread_has_is_a_conflict_and_nothing_changes(self, folded: Store) -> None:
        before = read(folded, tree=True)
        with pytest.raises(Conflict):
            refine(folded, N1, written(N1, "n2", line("one", "m1")))
        assert read(folded, tree=True) == before

    def test_V038_a_thread_that_was_forgotten_meanwhile_is_not_found_and_stays_away(self, folded: Store) -> None:
        forget(folded, thread_id="t")
        with pytest.raises(NotFound):
            refine(folded, N1, M1)
        assert scan(folded, "threads") == []
        assert get(folded, nodes=("n1", "w1")).nodes == ()

    def test_of_two_who_replace_the_same_node_one_wins(self, folded: Store) -> None:
        outcomes = together(*(lambda n=n: refine(folded, N1, written(N1, f"w{n}", line("one", "m1"))) for n in range(4)))
        assert sum(isinstance(outcome, Conflict) for outcome in outcomes) == 3
        assert len(read(folded, nodes=True, limit=0).nodes) == 2

    def test_who_folds_a_node_that_was_replaced_meanwhile_has_a_conflict(self, folded: Store) -> None:
        refine(folded, N1, M1)
        with pytest.raises(Conflict):
            fold(folded, UP, through=4, expected=4)
        with pytest.raises(Conflict):
            fold(folded, node("n1", 5, 5), through=5, expected=4)
        fold(folded, replace(UP, children=("w1", "n2")), through=4, expected=4)
        assert [each.id for each in read(folded, nodes=True, limit=0).nodes] == ["up"]

    # -- attempts -----------------------------------------------------------------------------------------------------------

    def test_a_failed_attempt_is_kept_and_changes_nothing_else(self, folded: Store) -> None:
        before = read(folded, nodes=True)
        refine(folded, N1, reason="timeout")
        assert read(folded, nodes=True) == before
        assert read(folded, tree=True).attempts == (attempt("n1", reason="timeout"),)

    def test_the_last_attempt_of_each_model_is_kept(self, folded: Store) -> None:
        refine(folded, N2, reason="error")
        refine(folded, N1, reason="error", model="b")
        refine(folded, N1, reason="error", model="a")
        refine(folded, N1, reason="timeout", model="b", number=2)
        kept = [(each.node_id, each.model, each.number) for each in read(folded, tree=True, limit=0).attempts]
        assert kept == [("n1", "a", 1), ("n1", "b", 2), ("n2", "gpt", 1)]

    def test_attempts_come_only_with_the_tree(self, folded: Store) -> None:
        refine(folded, N1, reason="error")
        assert read(folded, nodes=True).attempts == ()

    def test_a_success_that_replaces_nothing_is_kept_too(self, folded: Store) -> None:
        refine(folded, N1)
        assert read(folded, tree=True).attempts == (attempt("n1"),)

    def test_with_a_replaced_node_its_attempts_go(self, folded: Store) -> None:
        refine(folded, N1, reason="error", model="other")
        refine(folded, N1, reason="error")
        refine(folded, N1, M1, number=2)
        assert read(folded, tree=True).attempts == (attempt("w1", number=2),)

    def test_stats_count_what_stands_and_what_is_kept(self, folded: Store) -> None:
        refine(folded, N1, M1)
        refine(folded, N2, reason="error")
        stats = folded.stats(EVERYTHING)
        assert (stats.nodes, stats.attempts) == (2, 2)

    # -- forks --------------------------------------------------------------------------------------------------------------

    def test_a_fork_takes_what_lies_within_with_what_it_had_replaced_and_its_attempts(self, folded: Store) -> None:
        refine(folded, N1, M1)
        refine(folded, N2, reason="error")
        fork(folded, 3)
        forked = read(folded, "fork", tree=True)
        assert (forked.nodes, forked.attempts) == ((M1,), (attempt("w1"),))
        assert get(folded, nodes=("n1", "n2"), thread_id="fork").nodes == (replace(N1, replaced_by="w1"),)

    def test_a_fork_and_its_parent_are_replaced_apart(self, folded: Store) -> None:
        fork(folded, 5)
        refine(folded, N1, M1)
        assert tree(folded, "fork") == ["n1", "n2"]
        refine(folded, N1, written(N1, "w2", line("one", "m1")), thread="fork")
        assert (tree(folded), tree(folded, "fork")) == (["w1", "n2"], ["w2", "n2"])

    def test_nodes_by_id_may_be_of_one_thread_alone(self, folded: Store) -> None:
        fork(folded, 5)
        refine(folded, N1, M1)
        assert get(folded, nodes=("n1",), thread_id="fork").nodes == (N1,)
        assert get(folded, nodes=("n1",), thread_id="t").nodes == (replace(N1, replaced_by="w1"),)
        assert get(folded, nodes=("w1",), thread_id="fork").nodes == ()

    def test_with_its_parent_forgotten_a_fork_can_still_replay_what_it_has_shown(self, folded: Store) -> None:
        fold(folded, UP, through=4, expected=4)
        fork(folded, 5)
        put(folded, receipt=receipt("of the fork", shown("node", "n1"), shown("node", "up"), thread="fork"))
        refine(folded, N1, written(N1, "w2", line("one", "m1")), thread="fork")
        refine(folded, N2, written(N2, "w3", line("three", "m3")))
        forget(folded, thread_id="t")
        assert [each.id for each in scan(folded, "receipts")] == ["of the fork"]
        assert [each.id for each in get(folded, nodes=("n1", "up")).nodes] == ["n1", "up"]

    # -- forgetting ---------------------------------------------------------------------------------------------------------

    def test_a_models_summary_goes_whole_with_any_message_it_covers_and_what_it_replaced_stands_again(
        self, folded: Store
    ) -> None:
        refine(folded, N1, written(N1, "w1", line("one", "m1")))
        # "one" cites m1 alone, and was written by somebody who had read m2.
        assert forget(folded, message_id="m2").lines == 2
        left = replace(N1, covers=((1, 1),), lines=(line("of one", "m1"),))
        assert read(folded, nodes=True, limit=0).nodes == (left, N2)
        assert get(folded, nodes=("w1",)).nodes == ()
        assert read(folded, tree=True).attempts == ()

    def test_of_several_that_replaced_each_other_all_go_and_the_first_stands_again(self, folded: Store) -> None:
        refine(folded, N1, M1)
        refine(folded, M1, written(M1, "w2", line("again", "m1"), author="other"))
        forget(folded, message_id="m2")
        assert tree(folded) == ["n1", "n2"]
        assert get(folded, nodes=("w1", "w2")).nodes == ()

    def test_one_that_covers_none_of_it_stays(self, folded: Store) -> None:
        refine(folded, N1, M1)
        refine(folded, N2, other := written(N2, "w2", line("three", "m3")))
        forget(folded, message_id="m1")
        assert read(folded, nodes=True, limit=0).nodes[1:] == (other,)

    def test_what_stands_again_is_the_child_of_the_node_above(self, folded: Store) -> None:
        fold(folded, UP, through=4, expected=4)
        refine(folded, N1, M1)
        refine(folded, N2, written(N2, "w2", line("three", "m3")))
        forget(folded, message_id="m2")
        (above,) = read(folded, nodes=True, limit=0).nodes
        assert above.children == ("n1", "w2")

    def test_a_node_above_that_a_model_wrote_goes_too_and_has_the_children_that_stand_then(self, folded: Store) -> None:
        fold(folded, UP, through=4, expected=4)
        refine(folded, UP, written(UP, "w0", line("all", "m3")))
        refine(folded, N1, M1)
        refine(folded, N2, written(N2, "w2", line("three", "m3")))
        forget(folded, message_id="m2")
        (above,) = read(folded, nodes=True, limit=0).nodes
        assert (above.id, above.children, above.replaced_by) == ("up", ("n1", "w2"), "")
        assert tree(folded) == ["n1", "w2", "up"]

    def test_lines_that_a_node_above_has_of_it_go_too_unless_somebody_said_them(self, folded: Store) -> None:
        said, unsaid = line("of one", "m1"), line("one, as two tells it", "m1")
        refine(folded, N1, written(N1, "w1", said, unsaid))
        fold(folded, node("up", 1, 4, said, unsaid, level=2, children=("w1", "n2")), through=4, expected=4)
        assert forget(folded, message_id="m2").lines == 4
        (above,) = read(folded, nodes=True, limit=0).nodes
        assert (above.lines, above.children) == ((said,), ("n1", "n2"))

    def test_a_fork_gets_back_what_its_parent_had_before_the_model(self, folded: Store) -> None:
        refine(folded, N1, M1)
        fork(folded, 5)
        forget(folded, message_id="m2")
        assert (tree(folded), tree(folded, "fork")) == (["n1", "n2"], ["n1", "n2"])
        assert get(folded, nodes=("w1",)).nodes == ()

    def test_the_words_are_nowhere_afterwards_whoever_wrote_them(self, folded: Store) -> None:
        words = "honey from the lighthouse keeper of Ouessant"
        refine(folded, N1, first := written(N1, "w1", line(words, "m1")))
        refine(folded, first, written(N1, "w2", line(words[:30], "m2")))
        forget(folded, message_id="m1")
        assert folded.verify((words, words[:30])).hits == ()

    def test_when_all_that_it_covers_is_forgotten_everything_of_it_goes(self, folded: Store) -> None:
        refine(folded, N1, M1)
        refine(folded, N2, reason="error")
        forget(folded, message_id="m1")
        forget(folded, message_id="m2")
        assert get(folded, nodes=("n1", "w1")).nodes == ()
        assert [each.node_id for each in read(folded, tree=True).attempts] == ["n2"]

    def test_receipts_of_a_replaced_node_go_with_what_it_shows(self, folded: Store) -> None:
        put(folded, receipt=receipt("before", shown("node", "n1")))
        refine(folded, N1, M1)
        put(folded, receipt=receipt("after", shown("node", "w1")))
        assert sorted(each.id for each in scan(folded, "receipts")) == ["after", "before"]
        assert forget(folded, message_id="m1").receipts == 2

    def test_a_child_that_goes_is_named_by_no_version_of_the_node_above(self, folded: Store) -> None:
        fold(folded, UP, through=4, expected=4)
        refine(folded, N1, M1)
        forget(folded, message_id="m1")
        forget(folded, message_id="m2")
        assert tree(folded) == ["n2", "up"]
        assert get(folded, nodes=("up",)).nodes[0].children == ("n2",)

    def test_with_the_thread_and_with_the_namespace_everything_goes(self, folded: Store) -> None:
        refine(folded, N1, M1)
        refine(folded, N2, reason="error")
        forget(folded, thread_id="t")
        assert (folded.stats(EVERYTHING).nodes, folded.stats(EVERYTHING).attempts) == (0, 0)
        append(folded, *(say(f"m{number}") for number in range(1, 6)))
        fold(folded, N1, N2, through=4)
        refine(folded, N1, reason="error")
        forget(folded)
        assert (folded.stats(EVERYTHING).nodes, folded.stats(EVERYTHING).attempts) == (0, 0)

    def test_another_handle_sees_what_was_refined(self, folded: Store) -> None:
        refine(folded, N1, M1)
        other = self.reopen(folded)
        assert read(other, tree=True) == read(folded, tree=True)
        if other is not folded:
            other.close()
