"""The contract of items: `keep_items`, `refresh_items`, `list_items`, `count_items`, `item_namespaces`, and what searches and
forgets do with them."""

from __future__ import annotations

from datetime import datetime, timedelta
from typing import Any

import pytest

from bethink.errors import Conflict, InvalidInput, NotFound
from bethink.records import EVERY_KIND, ItemVersion
from bethink.storage.base import (
    Cite,
    Compare,
    Exists,
    Filter,
    Forget,
    ForgetReceipt,
    ItemChange,
    KeepItems,
    ListItems,
    Pin,
    RefreshItems,
    Retire,
    Scope,
    Store,
    StoredItem,
)
from bethink.storage.base.filters import alive
from bethink.testing._contract import (
    AT,
    EMBEDDER,
    NS,
    ContractBase,
    append,
    embed,
    forget,
    get,
    hits,
    note,
    put,
    say,
    scan,
    search,
    together,
)
from bethink.values import Namespace

_MINUTE = timedelta(minutes=1)
BELOW: Namespace = (*NS, "trip")


def at(minutes: float) -> datetime:
    return AT + minutes * _MINUTE


def change(key: str, value: dict[str, Any] | None, item_id: str = "", *, after: float = 0, **fields: Any) -> ItemChange:
    """A change `after` so many minutes; its id is that of the key and the minute, if none is given."""
    fields.setdefault("namespace", NS)
    if isinstance(minutes := fields.pop("minutes", None), int | float):
        fields["ttl"] = minutes * _MINUTE
    return ItemChange(id=item_id or f"{key}-{after}", key=key, value=value, at=at(after), **fields)


def keep(store: Store, *changes: ItemChange, history: int = 9) -> tuple[StoredItem | None, ...]:
    return store.keep_items(KeepItems(changes=changes, history=history))


def keep_one(
    store: Store, key: str, value: dict[str, Any], item_id: str = "", *, history: int = 9, **fields: Any
) -> ItemVersion:
    (stored,) = keep(store, change(key, value, item_id, **fields), history=history)
    assert stored is not None
    return stored.item


def listed(
    store: Store, namespace: Namespace = NS, *, subtree: bool = False, after: float = 0, **options: Any
) -> list[StoredItem]:
    return list(store.list_items(ListItems(scope=Scope(namespace, subtree), at=at(after), **options)))


def keys(store: Store, namespace: Namespace = NS, **options: Any) -> list[str]:
    return [stored.item.key for stored in listed(store, namespace, **options)]


def item(store: Store, key: str, namespace: Namespace = NS, *, after: float = 0) -> ItemVersion | None:
    found = listed(store, namespace, keys=(key,), after=after)
    return found[0].item if found else None


def history(store: Store, key: str, *, after: float = 0) -> list[int]:
    """The versions of a key, newest first."""
    return [stored.item.version for stored in listed(store, keys=(key,), former=True, after=after)]


def found_items(store: Store, query: str, *, after: float = 0, where: Filter | None = None, **options: Any) -> set[str]:
    lives = alive(at(after))
    return hits(store, query, kinds=("item",), where=lives if where is None else lives & where, **options)


class ItemContract(ContractBase):
    def test_an_item_comes_back_as_it_was_put(self, store: Store) -> None:
        value = {"a": [1, 2.5, None, True, {"b": "東京"}], "": {}}
        kept = keep_one(store, "k", value, after=3)
        assert item(store, "k") == kept
        assert (kept.value, kept.version, kept.created_at, kept.recorded_at) == (value, 1, at(3), at(3))

    def test_a_value_that_its_reader_changes_is_not_changed_for_others(self, store: Store) -> None:
        keep_one(store, "k", {"a": [1]})
        first = item(store, "k")
        assert first is not None
        first.value["a"].append(2)
        again = item(store, "k")
        assert again is not None
        assert again.value == {"a": [1]}

    def test_a_key_that_is_not_there_is_in_no_answer(self, store: Store) -> None:
        assert item(store, "k") is None

    def test_another_put_makes_the_next_version(self, store: Store) -> None:
        keep_one(store, "k", {"n": 1}, after=0)
        second = keep_one(store, "k", {"n": 2}, after=5)
        assert (second.version, second.created_at, second.recorded_at) == (2, at(0), at(5))
        assert item(store, "k") == second

    def test_the_version_before_is_kept_and_retired(self, store: Store) -> None:
        keep_one(store, "k", {"n": 1}, after=0)
        keep_one(store, "k", {"n": 2}, after=5)
        newest, former = [stored.item for stored in listed(store, keys=("k",), former=True)]
        assert (newest.value, former.value) == ({"n": 2}, {"n": 1})
        assert (newest.retired_at, former.retired_at) == (None, at(5))

    @pytest.mark.parametrize(("kept", "left"), [(0, [6]), (1, [6, 5]), (9, [6, 5, 4, 3, 2, 1])])
    def test_so_many_former_versions_stay(self, store: Store, kept: int, left: list[int]) -> None:
        for number in range(6):
            keep_one(store, "k", {"n": number}, after=number, history=kept)
        assert history(store, "k") == left

    def test_what_is_beyond_the_history_is_gone(self, store: Store) -> None:
        keep_one(store, "k", {"n": 1}, "first", history=0)
        keep_one(store, "k", {"n": 2}, "second", history=0)
        assert get(store, records=("first",)).records == ()

    def test_a_removed_item_goes_with_its_history(self, store: Store) -> None:
        keep_one(store, "k", {"n": 1}, "first")
        second = keep_one(store, "k", {"n": 2}, "second")
        assert keep(store, change("k", None, after=9)) == (StoredItem(NS, second),)
        assert keep(store, change("k", None, after=9)) == (None,)
        assert listed(store) == listed(store, keys=("k",), former=True) == []
        assert get(store, records=("first", "second")).records == ()

    def test_a_key_that_was_removed_begins_anew(self, store: Store) -> None:
        keep_one(store, "k", {"n": 1}, after=0)
        keep(store, change("k", None))
        again = keep_one(store, "k", {"n": 2}, after=7)
        assert (again.version, again.created_at) == (1, at(7))

    # -- compare and set --------------------------------------------------------------------------------------------------

    def test_the_version_that_is_expected_is_replaced(self, store: Store) -> None:
        keep_one(store, "k", {"n": 1}, expected_version=0)
        assert keep_one(store, "k", {"n": 2}, after=1, expected_version=1).version == 2

    @pytest.mark.parametrize("expected", [0, 2, 7])
    def test_another_version_than_expected_is_a_conflict_that_names_both(self, store: Store, expected: int) -> None:
        keep_one(store, "k", {"n": 1})
        with pytest.raises(Conflict) as refused:
            keep_one(store, "k", {"n": 2}, after=1, expected_version=expected)
        assert (refused.value.expected, refused.value.actual) == (expected, 1)
        assert history(store, "k") == [1]

    def test_a_removal_can_expect_a_version_too(self, store: Store) -> None:
        keep_one(store, "k", {"n": 1})
        with pytest.raises(Conflict):
            keep(store, change("k", None, expected_version=2))
        assert keep(store, change("k", None, expected_version=1)) != (None,)

    def test_of_many_who_expect_the_same_version_one_wins(self, store: Store) -> None:
        keep_one(store, "k", {"n": 0})
        put_it = [
            lambda number=number: keep_one(store, "k", {"n": number}, f"from-{number}", expected_version=1)
            for number in range(8)
        ]
        outcomes = together(*put_it)
        assert sum(isinstance(outcome, ItemVersion) for outcome in outcomes) == 1
        assert sum(isinstance(outcome, Conflict) for outcome in outcomes) == 7
        assert history(store, "k") == [2, 1]

    def test_without_an_expected_version_no_put_is_lost(self, store: Store) -> None:
        together(*[lambda number=number: keep_one(store, "k", {"n": number}, f"i{number}") for number in range(8)])
        assert history(store, "k") == [8, 7, 6, 5, 4, 3, 2, 1]

    def test_an_id_that_is_taken_is_a_conflict(self, store: Store) -> None:
        put(store, note("taken"))
        with pytest.raises(Conflict):
            keep_one(store, "k", {"n": 1}, "taken")
        with pytest.raises(Conflict):
            keep(store, change("k", {}, "same"), change("l", {}, "same"))
        assert listed(store) == []

    def test_a_version_can_be_given_its_number(self, store: Store) -> None:
        assert keep_one(store, "k", {"n": 1}, version=4, created_at=at(-5), after=1).created_at == at(-5)
        with pytest.raises(Conflict):
            keep_one(store, "k", {"n": 2}, after=2, version=4)
        assert keep_one(store, "k", {"n": 3}, after=3, version=9).version == 9

    # -- several changes --------------------------------------------------------------------------------------------------

    def test_changes_are_done_in_order(self, store: Store) -> None:
        answers = keep(
            store,
            change("k", {"n": 1}, "i1"),
            change("k", {"n": 2}, "i2", expected_version=1),
            change("l", {"n": 3}, "i3", namespace=BELOW),
            change("k", None, expected_version=2),
            change("k", {"n": 4}, "i4", expected_version=0),
        )
        assert [answer and (answer.namespace, answer.item.key, answer.item.version) for answer in answers] == [
            (NS, "k", 1),
            (NS, "k", 2),
            (BELOW, "l", 1),
            (NS, "k", 2),
            (NS, "k", 1),
        ]
        assert history(store, "k") == [1]

    def test_of_several_changes_all_or_none_are_made(self, store: Store) -> None:
        keep_one(store, "k", {"n": 1})
        with pytest.raises(Conflict):
            keep(store, change("new", {}), change("k", None), change("other", {}, expected_version=3))
        assert keys(store) == ["k"]

    # -- lists ------------------------------------------------------------------------------------------------------------

    def test_the_item_put_last_comes_first(self, store: Store) -> None:
        for number, key in enumerate("abca"):
            keep_one(store, key, {}, after=number)
        assert keys(store) == ["a", "c", "b"]

    def test_a_list_has_pages(self, store: Store) -> None:
        for number, key in enumerate("abcde"):
            keep_one(store, key, {}, after=number)
        assert keys(store, limit=2) == ["e", "d"]
        assert keys(store, limit=2, offset=3) == ["b", "a"]
        assert keys(store, offset=4) == ["a"]
        assert keys(store, limit=0) == []

    def test_a_filter_holds_before_the_limit(self, store: Store) -> None:
        for number in range(6):
            keep_one(store, f"k{number}", {"n": number, "deep": {"even": number % 2 == 0}})
        even = Compare(("value", "deep", "even"), "eq", True)
        assert sorted(keys(store, where=even, limit=3)) == ["k0", "k2", "k4"]
        assert keys(store, where=Compare(("value", "n"), "gte", 4) & even) == ["k4"]
        assert keys(store, where=Exists(("value", "n", "x"))) == []
        request = ListItems(scope=Scope(NS), at=AT, where=even, limit=1, offset=1)
        assert store.count_items(request) == 3

    def test_keys_and_ids_choose(self, store: Store) -> None:
        for key in "abc":
            keep_one(store, key, {}, f"id-{key}")
        assert keys(store, keys=("c", "a", "a", "x")) == ["c", "a"]
        assert keys(store, ids=("id-b", "x")) == ["b"]
        assert keys(store, keys=()) == []

    def test_a_former_version_is_no_item(self, store: Store) -> None:
        keep_one(store, "k", {"n": 1}, "first")
        keep_one(store, "k", {"n": 2}, "second")
        assert listed(store, ids=("first",)) == []
        assert store.count_items(ListItems(scope=Scope(NS), at=AT)) == 1

    @pytest.mark.parametrize("segment", ["a_b", "a-b", "axb", "a%b", "%", "a\\b", "A_B"])
    def test_V077_a_namespace_is_exactly_itself(self, store: Store, segment: str) -> None:
        for each in ("a_b", "a-b", "axb", "a%b", "%", "a\\b", "A_B"):
            keep_one(store, "k", {"said": f"honey of {each}"}, f"id {each}", namespace=("acme", each), text="honey")
        namespace = ("acme", segment)
        assert [stored.item.id for stored in listed(store, namespace)] == [f"id {segment}"]
        assert found_items(store, "honey", namespace=namespace) == {f"id {segment}"}
        keep(store, change("k", None, namespace=namespace))
        assert len(listed(store, ("acme",), subtree=True)) == 6

    def test_V078_a_scope_is_of_whole_segments(self, store: Store) -> None:
        for segments in (("user1",), ("user10",), ("user1", "x")):
            keep_one(store, "k", {}, "/".join(segments), namespace=segments, text="honey")
        assert [stored.namespace for stored in listed(store, ("user1",))] == [("user1",)]
        assert {stored.namespace for stored in listed(store, ("user1",), subtree=True)} == {("user1",), ("user1", "x")}
        assert found_items(store, "honey", namespace=("user1",), subtree=True) == {"user1", "user1/x"}
        forget(store, ("user1",), subtree=True)
        assert [stored.namespace for stored in listed(store, (), subtree=True)] == [("user10",)]

    def test_namespaces_with_items_are_listed(self, store: Store) -> None:
        append(store, say("m1"), namespace=("acme", "talk"))
        for namespace in (BELOW, NS, ("acmes",)):
            keep_one(store, "k", {}, namespace=namespace, minutes=5)
        assert store.item_namespaces(Scope(("acme",), subtree=True), AT) == (NS, BELOW)
        assert store.item_namespaces(Scope(NS), AT) == (NS,)
        assert store.item_namespaces(Scope(NS), at(5)) == ()

    def test_items_leave_the_revision_alone(self, store: Store) -> None:
        put(store, note("r1"))
        before = store.revision(NS)
        keep_one(store, "k", {"n": 1}, minutes=5)
        keep_one(store, "k", {"n": 2}, after=1, minutes=5)
        store.refresh_items(RefreshItems(keys=((NS, "k"),), at=at(2)))
        keep(store, change("k", None))
        assert store.revision(NS) == before

    def test_a_scan_of_records_has_versions_only_if_it_names_them(self, store: Store) -> None:
        keep_one(store, "k", {"n": 1}, "i1", minutes=5)
        put(store, note("r1"))
        assert [each.record.id for each in scan(store, "records")] == ["r1"]
        assert [each.record.id for each in scan(store, "records", kinds=EVERY_KIND)] == ["i1", "r1"]

    def test_a_version_is_no_record_to_put_retire_or_cite(self, store: Store) -> None:
        kept = keep_one(store, "k", {"n": 1}, "i1")
        with pytest.raises(InvalidInput):
            put(store, retire=(Retire("i1", AT, "x"),))
        with pytest.raises(InvalidInput):
            put(store, cite=(Cite("i1", AT),))
        with pytest.raises(InvalidInput):
            put(store, pin=(Pin("i1"),), at=AT)
        with pytest.raises(InvalidInput):
            put(store, kept)
        assert item(store, "k") == kept

    def test_versions_are_records_of_their_own_kind(self, store: Store) -> None:
        put(store, note("r1"))
        keep_one(store, "k", {"n": 1}, "i1")
        keep_one(store, "k", {"n": 2}, "i2")
        assert [stored.record.id for stored in scan(store, "records", kinds=("item",))] == ["i1", "i2"]
        assert [stored.record.id for stored in scan(store, "records", kinds=("item",), current=True)] == ["i2"]
        assert store.stats(Scope(NS)).records == {"item": 2, "note": 1}

    def test_another_handle_sees_the_same_items(self, store: Store) -> None:
        keep_one(store, "k", {"n": 1})
        other = self.reopen(store)
        assert item(other, "k") == item(store, "k")
        keep_one(other, "k", {"n": 2}, after=1)
        assert item(store, "k") == item(other, "k")


class ItemLifeContract(ContractBase):
    """How long items live."""

    def test_an_item_without_a_ttl_stays(self, store: Store) -> None:
        keep_one(store, "k", {})
        assert keys(store, after=10**7) == ["k"]

    def test_an_item_expires_after_its_ttl(self, store: Store) -> None:
        kept = keep_one(store, "k", {}, minutes=5, after=1)
        assert (kept.ttl, kept.expires_at) == (5 * _MINUTE, at(6))
        assert keys(store, after=5.9) == ["k"]
        assert keys(store, after=6) == []

    def test_V087_an_expired_item_is_nowhere_before_any_sweep(self, store: Store) -> None:
        keep_one(store, "k", {"said": "honey"}, minutes=5, text="honey")
        embed(store)
        assert item(store, "k", after=6) is None
        assert found_items(store, "honey", after=6) == set()
        assert found_items(store, near="honey", query="", after=6) == set()
        assert listed(store, after=6) == listed(store, keys=("k",), former=True, after=6) == []
        assert store.count_items(ListItems(scope=Scope(NS), at=at(6))) == 0
        assert store.item_namespaces(Scope(NS), at(6)) == ()

    def test_what_has_expired_is_not_there_for_who_expects_a_version(self, store: Store) -> None:
        keep_one(store, "k", {"n": 1}, minutes=5)
        with pytest.raises(Conflict) as refused:
            keep_one(store, "k", {"n": 2}, after=5, expected_version=1)
        assert refused.value.actual == 0
        assert keep_one(store, "k", {"n": 2}, after=5, expected_version=0).version == 1
        assert history(store, "k", after=5) == [1]

    def test_what_has_expired_cannot_be_removed_any_more(self, store: Store) -> None:
        keep_one(store, "k", {"n": 1}, "i1", minutes=5)
        assert keep(store, change("k", None, after=5)) == (None,)
        assert get(store, records=("i1",)).records == ()

    def test_it_is_known_whether_anything_has_expired(self, store: Store) -> None:
        keep_one(store, "k", {"n": 1}, minutes=5)
        keep_one(store, "k", {"n": 2}, after=1)
        keep_one(store, "k", {}, namespace=BELOW, minutes=9)
        assert [store.has_expired(Scope(NS), at(after)) for after in (4.9, 5)] == [False, True]
        assert [store.has_expired(Scope(BELOW), at(after)) for after in (8.9, 9)] == [False, True]
        store.forget(Forget(scope=Scope(NS), at=at(9), expired=True))
        assert not store.has_expired(Scope(NS), at(9))
        assert store.has_expired(Scope(("acme",), subtree=True), at(9))

    def test_a_put_gives_a_new_life(self, store: Store) -> None:
        keep_one(store, "k", {}, minutes=5)
        keep_one(store, "k", {}, after=4, minutes=5)
        assert keys(store, after=8) == ["k"]
        keep_one(store, "k", {}, after=8)
        assert keys(store, after=10**6) == ["k"]

    def test_a_former_version_expires_by_itself(self, store: Store) -> None:
        keep_one(store, "k", {"n": 1}, minutes=5)
        keep_one(store, "k", {"n": 2}, after=1)
        assert history(store, "k", after=4) == [2, 1]
        assert history(store, "k", after=5) == [2]

    # -- refresh ----------------------------------------------------------------------------------------------------------

    def test_a_refresh_counts_from_its_moment(self, store: Store) -> None:
        kept = keep_one(store, "k", {}, minutes=5)
        assert store.refresh_items(RefreshItems(keys=((NS, "k"),), at=at(4))) == 1
        left = item(store, "k", after=8)
        assert left is not None
        assert (left.expires_at, left.version, left.id, left.recorded_at) == (at(9), 1, kept.id, kept.recorded_at)
        assert keys(store, after=9) == []

    def test_V088_a_refresh_is_of_the_keys_it_names_alone(self, store: Store) -> None:
        keep(store, change("a", {}, minutes=10), change("b", {}, minutes=10))
        keep_one(store, "a", {}, namespace=BELOW, minutes=10)
        assert store.refresh_items(RefreshItems(keys=((NS, "a"), (NS, "a")), at=at(6))) == 1
        assert [(stored.namespace, stored.item.key) for stored in listed(store, subtree=True, after=11)] == [(NS, "a")]

    def test_what_has_no_ttl_has_expired_or_is_not_there_is_passed_over(self, store: Store) -> None:
        keep(store, change("forever", {}), change("over", {}, minutes=5))
        named = ((NS, "forever"), (NS, "over"), (NS, "nothing"), (("other",), "over"))
        assert store.refresh_items(RefreshItems(keys=named, at=at(5))) == 0
        assert keys(store, after=6) == ["forever"]

    def test_a_refreshed_item_is_found_by_its_new_end(self, store: Store) -> None:
        keep_one(store, "k", {}, "i1", minutes=5, text="honey")
        store.refresh_items(RefreshItems(keys=((NS, "k"),), at=at(4)))
        assert found_items(store, "honey", after=6) == {"i1"}
        assert found_items(store, "honey", after=9) == set()


class ItemSearchContract(ContractBase):
    def test_an_item_is_found_by_its_text(self, store: Store) -> None:
        keep_one(store, "k", {"n": 1}, "i1", text="bees make honey")
        (candidate,) = search(store, "honey", kinds=("item",)).candidates
        assert (candidate.kind, candidate.id, candidate.namespace, candidate.text) == ("item", "i1", NS, "bees make honey")
        assert (candidate.thread_id, candidate.at, candidate.positions) == (None, AT, {"honey": (2,)})

    def test_an_item_is_found_by_meaning(self, store: Store) -> None:
        keep_one(store, "k", {}, "i1", text="bees make honey")
        keep_one(store, "l", {}, "i2", text="")
        embed(store)
        (candidate,) = search(store, near="bees make honey", kinds=("item",)).candidates
        assert candidate.id == "i1"
        assert candidate.cosine == pytest.approx(1.0, abs=1e-3)
        assert store.spaces()[0].fingerprint == EMBEDDER.fingerprint

    def test_items_are_found_only_by_who_asks_for_them(self, store: Store) -> None:
        append(store, say("m1", "honey"))
        keep_one(store, "k", {}, "i1", text="honey")
        assert hits(store, "honey") == {"m1"}
        assert hits(store, "honey", kinds=("message", "item")) == {"m1", "i1"}
        embed(store)
        assert hits(store, near="honey") == {"m1"}
        assert hits(store, near="honey", kinds=("item",)) == {"i1"}
        assert hits(store, near="honey", kinds=("message", "item")) == {"m1", "i1"}

    def test_an_item_without_a_text_is_not_searched(self, store: Store) -> None:
        keep_one(store, "k", {"said": "honey"}, text="")
        assert found_items(store, "honey") == set()
        assert scan(store, "pending") == []

    def test_search_finds_the_newest_version_alone(self, store: Store) -> None:
        keep_one(store, "k", {}, "i1", text="honey from Lisbon")
        embed(store)
        keep_one(store, "k", {}, "i2", text="rain from Lisbon")
        embed(store)
        for current in (True, False):
            assert hits(store, "honey", kinds=("item",), current=current) == set()
            assert hits(store, "Lisbon", kinds=("item",), current=current) == {"i2"}
            assert hits(store, near="honey from Lisbon", kinds=("item",), current=current) == {"i2"}
        assert search(store, "honey Lisbon").frequency == {"lisbon": 1}

    def test_a_search_before_a_put_changes_nothing_for_one_after_it(self, store: Store) -> None:
        for number in range(4):
            keep_one(store, f"k{number}", {}, f"i{number}", text="honey from Lisbon")
        assert search(store, "honey Lisbon", kinds=("item",)).frequency == {"honey": 4, "lisbon": 4}
        keep_one(store, "k0", {}, "i4", text="rain from Lisbon")
        keep(store, change("k1", None))
        assert search(store, "honey Lisbon", kinds=("item",)).frequency == {"honey": 2, "lisbon": 3}
        assert hits(store, "honey", kinds=("item",)) == {"i2", "i3"}

    def test_a_filter_reads_values(self, store: Store) -> None:
        for number in range(4):
            keep_one(store, f"k{number}", {"n": number, "tags": ["x", number]}, f"i{number}", text="honey")
        embed(store)
        for where, expected in (
            (Compare(("value", "n"), "gt", 1), {"i2", "i3"}),
            (~Compare(("value", "n"), "eq", 2), {"i0", "i1", "i3"}),
            (Exists(("value", "m")), set()),
        ):
            assert found_items(store, "honey", where=where) == expected
            assert found_items(store, "", near="honey", where=where) == expected

    def test_a_value_is_no_field_of_other_things(self, store: Store) -> None:
        append(store, say("m1", "honey", metadata={"value": {"n": 1}}))
        put(store, note("r1", "honey", metadata={"n": 1}))
        assert hits(store, "honey", where=Exists(("value", "n"))) == set()
        assert hits(store, "honey", where=~Exists(("value", "n"))) == {"m1", "r1"}
        assert hits(store, "honey", where=alive(AT)) == {"m1", "r1"}

    def test_a_removed_item_is_not_found_and_counts_no_more(self, store: Store) -> None:
        append(store, say("m1", "honey"))
        keep_one(store, "k", {}, "i1", text="honey")
        embed(store)
        keep(store, change("k", None))
        found = search(store, "honey", near="honey", kinds=("message", "item"))
        assert ({each.id for each in found.candidates}, found.units, found.frequency) == ({"m1"}, 1, {"honey": 1})


class ForgetItemContract(ContractBase):
    def sweep(self, store: Store, after: float, namespace: Namespace = NS, *, subtree: bool = True) -> ForgetReceipt:
        return store.forget(Forget(scope=Scope(namespace, subtree), at=at(after), expired=True))

    def test_a_version_takes_its_key_along(self, store: Store) -> None:
        keep_one(store, "k", {"n": 1}, "i1")
        keep_one(store, "k", {"n": 2}, "i2", after=1)
        keep_one(store, "l", {}, "i3")
        assert forget(store, record_id="i1").record_ids == ("i1", "i2")
        assert keys(store) == ["l"]

    def test_nothing_of_a_forgotten_item_can_be_read_in_the_files(self, store: Store) -> None:
        keep_one(store, "a key of saffron", {"said": "cinnamon in the morning"}, "i1", text="said: cinnamon in the morning")
        keep_one(store, "a key of saffron", {"said": "cardamom in the evening"}, "i2", text="said: cardamom in the evening")
        forget(store, record_id="i2")
        assert store.verify(("a key of saffron", "cinnamon in the morning", "cardamom in the evening")).clean

    def test_a_sweep_removes_what_has_expired_and_nothing_else(self, store: Store) -> None:
        keep_one(store, "over", {"n": 1}, "i1", minutes=5)
        keep_one(store, "over", {"n": 2}, "i2", minutes=5)
        keep_one(store, "stays", {"n": 1}, "i3", minutes=5)
        keep_one(store, "stays", {"n": 2}, "i4", after=1, minutes=50)
        keep_one(store, "stays", {"n": 3}, "i5", after=2)
        put(store, note("r1"))
        append(store, say("m1"))
        receipt = self.sweep(store, 6)
        assert (receipt.record_ids, receipt.message_ids, receipt.revived) == (("i1", "i2", "i3"), (), ())
        assert [each.record.id for each in scan(store, "records", kinds=EVERY_KIND)] == ["i4", "i5", "r1"]
        assert history(store, "stays", after=6) == [3, 2]

    def test_a_key_whose_item_has_expired_goes_with_versions_that_would_live_on(self, store: Store) -> None:
        keep_one(store, "k", {"n": 1}, "i1")
        keep_one(store, "k", {"n": 2}, "i2", minutes=5)
        assert history(store, "k", after=5) == []
        assert self.sweep(store, 5).record_ids == ("i1", "i2")

    def test_a_sweep_is_of_its_scope(self, store: Store) -> None:
        for namespace in (NS, BELOW, ("acme", "ad")):
            keep_one(store, "k", {}, "/".join(namespace), namespace=namespace, minutes=5)
        assert self.sweep(store, 5, subtree=False).record_ids == ("acme/ada",)
        assert self.sweep(store, 5).record_ids == ("acme/ada/trip",)
        assert self.sweep(store, 5).record_ids == ()

    def test_a_sweep_erases_the_bytes(self, store: Store) -> None:
        keep_one(store, "k", {"said": "cinnamon in the morning"}, text="said: cinnamon in the morning", minutes=5)
        embed(store)
        receipt = self.sweep(store, 5)
        assert (receipt.units, receipt.erased) == (1, True)
        assert store.verify(("cinnamon in the morning",)).clean

    def test_a_sweep_names_nothing_else(self, store: Store) -> None:
        with pytest.raises(InvalidInput):
            store.forget(Forget(scope=Scope(NS), at=AT, expired=True, record_id="r1"))

    def test_an_item_of_another_namespace_is_not_forgotten(self, store: Store) -> None:
        keep_one(store, "k", {}, "i1", namespace=BELOW)
        with pytest.raises(NotFound):
            forget(store, record_id="i1")
        assert forget(store, subtree=True, record_id="i1").record_ids == ("i1",)

    def test_a_forgotten_namespace_takes_its_items_along(self, store: Store) -> None:
        keep_one(store, "k", {}, "i1", text="honey")
        keep_one(store, "k", {}, "i2", text="honey", after=1)
        keep_one(store, "k", {}, "i3", namespace=BELOW)
        assert forget(store).record_ids == ("i1", "i2")
        assert keys(store, subtree=True) == ["k"]
        assert keep_one(store, "k", {}, "i1").version == 1
