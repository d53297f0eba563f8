"""The contract of checkpoints: `save` and `prune`, and what reading, forking and forgetting do with them."""

from __future__ import annotations

import hashlib
from datetime import timedelta
from typing import Any

import pytest

from bethink.checkpoints import Checkpoint, CheckpointInfo
from bethink.errors import Conflict, InvalidInput, NotFound
from bethink.storage.base import Get, Prune, Save, Scope, Store
from bethink.testing._contract import (
    AT,
    EVERYTHING,
    NS,
    ContractBase,
    append,
    calls,
    forget,
    fork,
    info,
    note,
    put,
    read,
    result,
    say,
    scan,
    together,
)
from bethink.threads import ForkPoint
from bethink.values import Namespace

OTHER = ("acme", "bob")
_WORDS = "the zanzibar consignment 4711"


def save(
    store: Store, name: str, state: bytes = b"{}", *, thread: str = "t", namespace: Namespace = NS, **options: Any
) -> Checkpoint:
    options.setdefault("at", AT)
    options.setdefault("format", "json")
    return store.save(Save(namespace=namespace, thread_id=thread, id=name, state=state, **options))


def prune(store: Store, *names: str, keep: int | None = None, thread: str = "t") -> tuple[str, ...]:
    return store.prune(Prune(namespace=NS, thread_id=thread, ids=names, keep=keep))


def stored(store: Store, name: str, thread: str = "t") -> Checkpoint:
    (found,) = store.get(Get(scope=Scope(NS), checkpoints=(name,), thread_id=thread)).checkpoints
    return found


def listed(store: Store, thread: str | None = "t", **options: Any) -> list[CheckpointInfo]:
    found: list[CheckpointInfo] = scan(store, "checkpoints", thread_id=thread, **options)
    return found


def names(store: Store, thread: str = "t") -> list[str]:
    return [checkpoint.id for checkpoint in listed(store, thread)]


def parents(store: Store, thread: str = "t") -> dict[str, str | None]:
    return {checkpoint.id: checkpoint.parent_id for checkpoint in listed(store, thread)}


class SaveContract(ContractBase):
    def test_a_checkpoint_comes_back_as_it_was_saved(self, store: Store) -> None:
        append(store, say("m1"), say("m2"))
        state = bytes(range(256)) * 5_000
        at = AT + timedelta(microseconds=1)
        made = save(
            store, "c1", state, at=at, format="msgpack", label="before the call", view={"step": 3}, metadata={"by": ["x", None]}
        )
        assert made == stored(self.reopen(store), "c1")
        assert (made.namespace, made.thread_id, made.seq, made.parent_id) == (NS, "t", 2, None)
        assert (made.state, made.format, made.size) == (state, "msgpack", len(state))
        assert made.digest == hashlib.sha256(state).hexdigest()
        assert (made.label, made.view, made.metadata) == ("before the call", {"step": 3}, {"by": ["x", None]})
        assert (made.created_at, made.damaged) == (at, False)

    def test_an_empty_state_is_a_state(self, store: Store) -> None:
        append(store, say("m1"))
        save(store, "c1", b"")
        assert (stored(store, "c1").state, stored(store, "c1").size) == (b"", 0)

    def test_a_thread_that_is_not_there_has_none(self, store: Store) -> None:
        append(store, say("m1"))
        for thread, namespace in (("u", NS), ("t", OTHER)):
            with pytest.raises(NotFound):
                save(store, "c1", thread=thread, namespace=namespace)
        assert listed(store, None) == scan(store, "checkpoints", subtree=True) == []

    def test_it_changes_nothing_else_of_its_thread(self, store: Store) -> None:
        append(store, say("m1"))
        before = read(store, nodes=True)
        save(store, "c1", at=AT + timedelta(days=1))
        assert read(store, nodes=True) == before

    def test_it_stands_at_the_tip_of_its_thread(self, store: Store) -> None:
        append(store, thread="t")
        assert save(store, "c0").seq == 0
        append(store, say("m1"), calls("m2", "k1"))
        assert save(store, "c1").seq == 2

    def test_or_at_a_seq_that_the_thread_has_reached(self, store: Store) -> None:
        append(store, say("m1"), say("m2"))
        assert save(store, "c1", seq=1).seq == 1
        assert save(store, "c0", seq=0).seq == 0
        for seq in (-1, 3):
            with pytest.raises(InvalidInput):
                save(store, "c2", seq=seq)
        assert names(store) == ["c1", "c0"]

    def test_a_retry_writes_nothing_twice(self, store: Store) -> None:
        append(store, say("m1"))
        made = save(store, "c1", b"one", format="x", view={"a": 1})
        append(store, say("m2"))
        save(store, "c2")
        assert save(store, "c1", b"one", format="x", view={"a": 1}, at=AT + timedelta(days=1)) == made
        assert names(store) == ["c1", "c2"]

    @pytest.mark.parametrize(
        "other",
        [{"state": b"two"}, {"format": "y"}, {"label": "else"}, {"view": {"a": 1}}, {"metadata": {"a": 1}}],
        ids=lambda other: next(iter(other)),
    )
    def test_an_id_that_holds_something_else_is_a_conflict(self, store: Store, other: dict[str, Any]) -> None:
        append(store, say("m1"))
        made = save(store, "c1", b"one")
        with pytest.raises(Conflict):
            save(store, "c1", **{"state": b"one", **other})
        assert stored(store, "c1") == made

    def test_a_parent_is_a_checkpoint_of_the_same_thread(self, store: Store) -> None:
        append(store, say("m1"))
        append(store, say("u1"), thread="u")
        save(store, "c1")
        save(store, "d1", thread="u")
        assert save(store, "c2", parent_id="c1").parent_id == "c1"
        for astray in ("d1", "nothing", "c3"):
            with pytest.raises(InvalidInput):
                save(store, "c3", parent_id=astray)
        assert names(store) == ["c1", "c2"]

    def test_the_newest_is_the_parent_if_none_is_named(self, store: Store) -> None:
        append(store, say("m1"))
        for name in ("c1", "c2"):
            save(store, name)
        save(store, "b2", parent_id="c1")
        save(store, "b3")
        save(store, "a1", parent_id=None)
        assert parents(store) == {"c1": None, "c2": "c1", "b2": "c1", "b3": "b2", "a1": None}

    def test_the_same_id_in_two_threads_is_two_checkpoints(self, store: Store) -> None:
        append(store, say("m1"))
        append(store, say("u1"), thread="u")
        append(store, say("m1"), namespace=OTHER)
        save(store, "c1", b"t")
        save(store, "c1", b"u", thread="u")
        save(store, "c1", b"bob", namespace=OTHER)
        assert (stored(store, "c1").state, stored(store, "c1", "u").state) == (b"t", b"u")
        both = store.get(Get(scope=Scope(NS), checkpoints=("c1",))).checkpoints
        assert [checkpoint.state for checkpoint in both] == [b"t", b"u"]
        below = store.get(Get(scope=Scope(("acme",), subtree=True), checkpoints=("c1", "c2"))).checkpoints
        assert [checkpoint.state for checkpoint in below] == [b"t", b"u", b"bob"]
        assert store.get(Get(scope=Scope(("acme",)), checkpoints=("c1",))).checkpoints == ()

    def test_a_list_of_them_is_in_order_and_without_states(self, store: Store) -> None:
        append(store, say("m1"))
        append(store, say("u1"), thread="u")
        for number in range(7):
            save(store, f"c{number}", bytes(number), thread="tu"[number % 2], label=f"no {number}", view={"n": number})
        found = listed(store, limit=2)
        assert [(each.id, each.size, each.label, each.view) for each in found] == [
            (f"c{number}", number, f"no {number}", {"n": number}) for number in (0, 2, 4, 6)
        ]
        assert not any(isinstance(each, Checkpoint) for each in found)
        assert listed(store, limit=2, newest=True) == found[::-1]
        assert listed(store, None, limit=3) == scan(store, "checkpoints", ("acme",), subtree=True, limit=3)
        assert [each.id for each in listed(store, None)] == [f"c{number}" for number in range(7)]
        assert scan(store, "checkpoints", OTHER) == scan(store, "checkpoints", ("acme",)) == []
        assert scan(store, "checkpoints", ("acme",), subtree=True, thread_id="u", newest=True)[0].id == "c5"

    def test_they_are_counted(self, store: Store) -> None:
        append(store, say("m1"))
        save(store, "c1")
        save(store, "c2")
        assert (
            store.stats(Scope(NS)).checkpoints,
            store.stats(EVERYTHING).checkpoints,
            store.stats(Scope(OTHER)).checkpoints,
        ) == (
            2,
            2,
            0,
        )

    def test_of_many_writers_each_saves_its_own(self, store: Store) -> None:
        append(store, say("m1"))
        together(*(lambda number=number: save(store, f"c{number}", bytes([number])) for number in range(8)))
        assert sorted(names(store)) == [f"c{number}" for number in range(8)]
        line = parents(store)
        assert list(line.values()) == [None, *list(line)[:-1]]


class PruneContract(ContractBase):
    @pytest.fixture
    def lined(self, store: Store) -> Store:
        """A line c1-c2-c3-c4 with a branch b3-b4 off c2, in the order c1, c2, c3, b3, c4, b4."""
        append(store, say("m1"))
        for name, parent in (("c1", None), ("c2", "c1"), ("c3", "c2"), ("b3", "c2"), ("c4", "c3"), ("b4", "b3")):
            save(store, name, name.encode(), parent_id=parent)
        return store

    def test_the_newest_are_kept_and_linked_to_what_is_left(self, lined: Store) -> None:
        assert prune(lined, keep=3) == ("c1", "c2", "c3")
        assert parents(lined) == {"b3": None, "c4": None, "b4": "b3"}
        assert stored(lined, "b4").state == b"b4"

    def test_those_named_go_and_the_nearest_before_them_takes_over(self, lined: Store) -> None:
        assert prune(lined, "b3", "c2", "c2") == ("c2", "b3")
        assert parents(lined) == {"c1": None, "c3": "c1", "c4": "c3", "b4": "c1"}

    def test_keeping_more_than_there_are_removes_none(self, lined: Store) -> None:
        assert prune(lined, keep=6) == prune(lined, keep=60) == ()
        assert len(names(lined)) == 6

    def test_keeping_none_removes_all(self, lined: Store) -> None:
        assert len(prune(lined, keep=0)) == 6
        assert (names(lined), lined.stats(EVERYTHING).checkpoints) == ([], 0)
        assert lined.get(Get(scope=Scope(NS), checkpoints=("c1",))).checkpoints == ()
        assert save(lined, "c1", b"another").parent_id is None

    def test_it_touches_neither_messages_nor_other_threads(self, lined: Store) -> None:
        append(lined, say("u1"), thread="u")
        save(lined, "d1", thread="u")
        before = read(lined, nodes=True)
        prune(lined, keep=0)
        assert (read(lined, nodes=True), names(lined, "u")) == (before, ["d1"])

    def test_an_unknown_one_is_not_found_and_the_others_stay(self, lined: Store) -> None:
        with pytest.raises(NotFound):
            prune(lined, "c1", "nothing")
        with pytest.raises(NotFound):
            prune(lined, keep=1, thread="nowhere")
        assert len(names(lined)) == 6

    def test_it_is_told_either_how_many_or_which(self, lined: Store) -> None:
        for named, keep in (((), None), (("c1",), 2)):
            with pytest.raises(InvalidInput):
                prune(lined, *named, keep=keep)
        assert len(names(lined)) == 6


class CheckpointForkContract(ContractBase):
    @pytest.fixture
    def forkable(self, store: Store) -> Store:
        """c1 at 1; c2, x2 (off c1) and c3 at 2; c4 at 3."""
        append(store, say("m1", "one"))
        save(store, "c1", b"1")
        append(store, say("m2", "two"))
        save(store, "c2", b"2")
        save(store, "x2", b"x", parent_id="c1")
        save(store, "c3", b"3", parent_id="c2")
        append(store, say("m3", "three"))
        save(store, "c4", b"4")
        return store

    def test_a_fork_takes_along_those_at_or_below_its_seq(self, forkable: Store) -> None:
        fork(forkable, 2)
        assert parents(forkable, "fork") == {"c1": None, "c2": "c1", "x2": "c1", "c3": "c2"}
        copy = stored(forkable, "c3", "fork")
        assert (copy.thread_id, copy.state, copy.seq) == ("fork", b"3", 2)
        assert names(forkable) == ["c1", "c2", "x2", "c3", "c4"]

    def test_one_at_a_checkpoint_takes_along_its_line_alone(self, forkable: Store) -> None:
        append(forkable, thread="fork", fork_of=ForkPoint("t", 2), checkpoint_id="x2")
        assert parents(forkable, "fork") == {"c1": None, "x2": "c1"}

    def test_what_is_not_of_that_thread_and_place_is_refused(self, forkable: Store) -> None:
        append(forkable, say("u1"), thread="u")
        save(forkable, "d1", thread="u")
        with pytest.raises(NotFound):
            append(forkable, thread="fork", fork_of=ForkPoint("t", 1), checkpoint_id="d1")
        with pytest.raises(InvalidInput):
            append(forkable, thread="fork", fork_of=ForkPoint("t", 1), checkpoint_id="c2")
        with pytest.raises(NotFound):
            info(forkable, "fork")

    def test_a_parent_beyond_the_fork_is_replaced_by_the_nearest_within(self, forkable: Store) -> None:
        save(forkable, "back", seq=1)
        fork(forkable, 1)
        assert parents(forkable, "fork") == {"c1": None, "back": "c1"}

    def test_a_fork_goes_on_by_itself(self, forkable: Store) -> None:
        fork(forkable, 2)
        save(forkable, "f1", thread="fork")
        prune(forkable, keep=0)
        assert names(forkable, "fork") == ["c1", "c2", "x2", "c3", "f1"]
        assert stored(forkable, "c2", "fork").state == b"2"
        prune(forkable, keep=1, thread="fork")
        assert names(forkable, "fork") == ["f1"]

    def test_the_parent_may_go_and_the_copies_stay(self, forkable: Store) -> None:
        fork(forkable, 2)
        assert forget(forkable, thread_id="t").checkpoints == 5
        assert stored(forkable, "x2", "fork").state == b"x"
        assert forget(forkable, thread_id="fork").checkpoints == 4
        assert forkable.stats(EVERYTHING).checkpoints == 0


class ForgetCheckpointContract(ContractBase):
    def test_what_may_know_of_a_message_goes_with_it(self, store: Store) -> None:
        append(store, say("m1", "one"))
        save(store, "c1", b"1")
        append(store, say("m2", _WORDS), say("m3", "three"))
        save(store, "c2", _WORDS.encode())
        save(store, "c3", b"3", parent_id="c1", seq=1)
        save(store, "c4", b"4", parent_id="c2", seq=1)
        assert forget(store, message_id="m2").checkpoints == 1
        assert parents(store) == {"c1": None, "c3": "c1", "c4": "c1"}
        assert store.verify((_WORDS,)).clean

    def test_with_a_group_go_those_since_its_first_message(self, store: Store) -> None:
        append(store, say("m1"), calls("m2", "k1"))
        save(store, "c1", seq=1)
        save(store, "c2")
        append(store, result("m3", "k1"), say("m4"))
        save(store, "c3")
        assert forget(store, message_id="m3").checkpoints == 2
        assert names(store) == ["c1"]

    def test_in_every_fork_that_holds_it(self, store: Store) -> None:
        append(store, say("m1"), say("m2"))
        save(store, "c2")
        fork(store, 2)
        fork(store, 1, to="early")
        save(store, "e1", thread="early")
        assert forget(store, message_id="m2").checkpoints == 2
        assert [names(store, thread) for thread in ("t", "fork", "early")] == [[], [], ["e1"]]

    def test_a_record_takes_none_along(self, store: Store) -> None:
        append(store, say("m1"))
        save(store, "c1")
        put(store, note("r1"))
        assert forget(store, record_id="r1").checkpoints == 0
        assert names(store) == ["c1"]

    def test_a_thread_takes_its_own_along(self, store: Store) -> None:
        append(store, say("m1"))
        append(store, say("u1"), thread="u")
        save(store, "c1", b"\x00" + _WORDS.encode(), label=_WORDS, view={"said": _WORDS}, metadata={_WORDS: 1})
        save(store, "d1", thread="u")
        assert not store.verify((_WORDS,)).clean
        assert forget(store, thread_id="t").checkpoints == 1
        assert [each.id for each in listed(store, None)] == ["d1"]
        assert store.verify((_WORDS,)).clean

    def test_a_scope_takes_all_along(self, store: Store) -> None:
        append(store, say("m1"))
        append(store, say("m1"), namespace=OTHER)
        save(store, "c1")
        save(store, "c1", namespace=OTHER)
        assert forget(store).checkpoints == 1
        assert (store.stats(EVERYTHING).checkpoints, listed(store, None)) == (1, [])

    def test_what_was_pruned_is_nowhere_after_a_forget(self, store: Store) -> None:
        append(store, say("m1"))
        save(store, "c1", _WORDS.encode() * 1_000)
        prune(store, "c1")
        forget(store, thread_id="t")
        assert store.verify((_WORDS,)).clean
