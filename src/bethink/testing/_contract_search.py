"""The contract of `search`, and of namespaces in every verb."""

from __future__ import annotations

import pytest

from bethink.errors import NotFound
from bethink.storage.base import Retire, Scope, Search, Store
from bethink.testing._contract import (
    AT,
    EMBEDDER,
    EVERYTHING,
    NS,
    ContractBase,
    append,
    embed,
    forget,
    get,
    hits,
    info,
    insight,
    line,
    note,
    put,
    read,
    record,
    say,
    scan,
    search,
    summary,
)
from bethink.values import Namespace

AWKWARD = ("a_b", "a-b", "axb", "a%b", "%", "a\\b", "A_B", "a", "ab", "a.b", "a/b", "é", "e\u0301", '"', "'", "*", "用户")


class SearchContract(ContractBase):
    def test_a_unit_that_holds_any_of_the_terms_is_a_candidate(self, store: Store) -> None:
        append(store, say("m1", "bees make honey"), say("m2", "bears eat fish"), say("m3", "rain"))
        assert hits(store, "honey fish zebra") == {"m1", "m2"}

    def test_no_terms_and_no_vector_find_nothing(self, store: Store) -> None:
        append(store, say("m1", "bees make honey"))
        found = search(store)
        assert (found.candidates, found.units) == ((), 1)

    def test_a_candidate_carries_what_ranking_needs(self, store: Store) -> None:
        append(store, say("m1", "bees bees honey", name="Ada"), say("m2", "bees in a web page", external=True))
        put(store, insight("r1", "keeps bees"), summary("r2", line("bees", "m1")))
        found = {each.id: each for each in search(store, "bees honey").candidates}
        (bee, honey) = ("bee", "honey")
        first = found["m1"]
        assert (first.kind, first.namespace, first.thread_id, first.seq) == ("message", NS, "t", 1)
        assert (first.text, first.speaker, first.trust, first.at) == ("bees bees honey", "Ada", "user", AT)
        assert (first.counts, first.length, first.cosine) == ({bee: 2, honey: 1}, 3, None)
        assert (found["m2"].trust, found["m2"].speaker) == ("external", "user")
        assert (found["r1"].kind, found["r1"].text, found["r1"].at, found["r1"].counts) == (
            "insight",
            "keeps bees",
            AT,
            {bee: 1},
        )
        assert (found["r2"].kind, found["r2"].thread_id) == ("summary", "t")

    def test_statistics_are_those_of_the_units_in_scope(self, store: Store) -> None:
        append(store, say("m1", "bees bees honey"), say("m2", "bees"), say("m3", "rain and wind"))
        put(store, note("r1", "honey"))
        append(store, say("m1", "bees"), namespace=("acme", "bob"))
        found = search(store, "bees honey zebra")
        assert (found.units, found.mean_length, found.frequency, found.pending) == (4, 2.0, {"bee": 2, "honey": 2}, 4)

    def test_statistics_of_nothing(self, store: Store) -> None:
        found = search(store, "bees", near="bees")
        assert (found.candidates, found.units, found.mean_length, found.frequency, found.pending) == ((), 0, 0.0, {}, 0)

    def test_pending_counts_the_units_without_a_vector(self, store: Store) -> None:
        append(store, say("m1", "bees"))
        embed(store)
        append(store, say("m2", "bees"))
        found = search(store, "bees", near="bees")
        assert found.pending == 1
        cosines = {each.id: each.cosine for each in found.candidates}
        assert cosines == {"m1": pytest.approx(1), "m2": None}

    def test_the_dense_leg_finds_what_shares_no_term(self, store: Store) -> None:
        append(store, say("m1", "bees"), say("m2", "rain"))
        embed(store)
        (nearest,) = search(store, near="bees", limit=1).candidates
        assert (nearest.id, nearest.counts) == ("m1", {})
        assert nearest.cosine == pytest.approx(1)

    def test_the_dense_leg_is_left_out_without_a_vector(self, store: Store) -> None:
        append(store, say("m1", "bees"), say("m2", "rain"))
        embed(store)
        (found,) = search(store, "bees").candidates
        assert (found.id, found.cosine) == ("m1", None)

    def test_a_candidate_of_the_lexical_leg_has_its_cosine_too(self, store: Store) -> None:
        append(store, say("m1", "bees"), say("m2", "rain"))
        embed(store)
        found = {each.id: each.cosine for each in search(store, "rain", near="bees", limit=1).candidates}
        assert found == {"m1": pytest.approx(1), "m2": pytest.approx(_cosine("rain", "bees"), abs=1e-6)}

    def test_the_nearest_come_first(self, store: Store) -> None:
        words = ["one", "one two", "one two three", "one two three four", "five six"]
        append(store, *(say(f"m{number}", text) for number, text in enumerate(words)))
        embed(store)
        by_cosine = sorted(range(len(words)), key=lambda number: -_cosine(words[number], "one two"))
        assert hits(store, near="one two", limit=2) == {f"m{number}" for number in by_cosine[:2]}

    def test_V072_filters_hold_before_the_limit_in_both_legs(self, store: Store) -> None:
        append(store, *(say(f"b{number}", "bees honey") for number in range(60)), namespace=("acme", "bob"))
        append(store, *(say(f"a{number}", f"bees {number} far away from there") for number in range(3)))
        put(store, note("r1", "something about bees and other matters"))
        embed(store)
        embed(store, ("acme", "bob"))
        assert hits(store, "bees", limit=5) == {"a0", "a1", "a2", "r1"}
        assert hits(store, near="bees honey", limit=5) == {"a0", "a1", "a2", "r1"}
        assert hits(store, "bees", kinds=("note",), limit=1) == {"r1"}
        assert hits(store, near="bees honey", kinds=("note",), limit=1) == {"r1"}

    def test_V073_the_limit_is_the_limit_in_each_leg(self, store: Store) -> None:
        append(store, *(say(f"m{number}", "bees") for number in range(60)))
        embed(store)
        for limit, expected in ((50, 50), (0, 0), (1000, 60)):
            assert len(hits(store, "bees", limit=limit)) == expected
            assert len(hits(store, near="bees", limit=limit)) == expected

    def test_the_lexical_leg_takes_the_best(self, store: Store) -> None:
        append(store, *(say(f"m{number}", "bees and many other words that dilute them") for number in range(10)))
        append(store, say("best", "bees bees bees"))
        assert hits(store, "bees", limit=1) == {"best"}

    def test_kinds_are_those_asked_for(self, store: Store) -> None:
        append(store, say("m1", "bees"))
        put(store, note("r1", "bees"), insight("r2", "bees"), summary("r3", line("bees", "m1")))
        for kind, expected in (("message", "m1"), ("note", "r1"), ("insight", "r2"), ("summary", "r3")):
            assert hits(store, "bees", kinds=(kind,)) == {expected}
        assert hits(store, "bees") == {"m1", "r1", "r2", "r3"}
        assert hits(store, "bees", kinds=()) == set()

    def test_retired_records_are_found_only_when_asked_for(self, store: Store) -> None:
        put(store, note("r1", "bees"), note("r2", "bees"))
        embed(store)
        put(store, retire=(Retire("r1", AT, "archived"),))
        assert hits(store, "bees", limit=1) == hits(store, near="bees", limit=1) == {"r2"}
        assert hits(store, "bees", current=False) == hits(store, near="bees", current=False) == {"r1", "r2"}

    @pytest.mark.parametrize("text", ["ABC-1234", "a | b", "naïve", "私は東京", "NEAR(x)", 'say "x" OR y', "col:umn", "x*"])
    def test_V058_V059_a_query_is_text_whatever_it_holds(self, store: Store, text: str) -> None:
        append(store, say("m1", text), say("m2", "rain"))
        assert hits(store, text) == {"m1"}

    def test_terms_are_matched_whole_and_exactly(self, store: Store) -> None:
        append(store, say("m1", "a bee is to be"), say("m2", "a beehive AND"))
        assert {each.id for each in store.search(_terms("bee")).candidates} == {"m1"}
        assert {each.id for each in store.search(_terms("be", "beehi")).candidates} == {"m1"}


class NamespaceContract(ContractBase):
    def test_V077_namespaces_are_compared_letter_by_letter(self, store: Store) -> None:
        for name in AWKWARD:
            append(store, say(f"m {name}", "bees"), namespace=("users", name))
            put(store, note(f"r {name}", "bees"), namespace=("users", name))
            embed(store, ("users", name))
        for name in AWKWARD:
            namespace = ("users", name)
            own = {f"m {name}", f"r {name}"}
            assert hits(store, "bees", namespace) == hits(store, near="bees", namespace=namespace) == own
            assert {each.id for each in search(store, "bees", namespace, subtree=True).candidates} == own
            assert [each.message.id for each in scan(store, "messages", namespace)] == [f"m {name}"]
            assert [each.record.id for each in scan(store, "records", namespace, subtree=True)] == [f"r {name}"]
            assert store.stats(Scope(namespace, subtree=True)).messages == 1
            assert search(store, "bees", namespace).units == 2
        left = set(AWKWARD)
        for name in AWKWARD:
            assert forget(store, ("users", name), subtree=True).message_ids == (f"m {name}",)
            left.remove(name)
            assert {each.message.id for each in scan(store, "messages", ("users",), subtree=True)} == {
                f"m {other}" for other in left
            }

    def test_V078_a_subtree_is_whole_segments(self, store: Store) -> None:
        namespaces: list[Namespace] = [("user1",), ("user10",), ("user1", "x"), ("user1x",), ("other", "user1")]
        for number, namespace in enumerate(namespaces):
            append(store, say(f"m{number}", "bees"), namespace=namespace)
        assert hits(store, "bees", ("user1",)) == {"m0"}
        assert hits(store, "bees", ("user1",), subtree=True) == {"m0", "m2"}
        assert len(scan(store, "threads", ("user1",))) == 1
        assert len(scan(store, "threads", ("user1",), subtree=True)) == 2
        assert store.stats(Scope(("user1",), subtree=True)).threads == 2
        assert [each.message.id for each in get(store, ("user1",), True, messages=("m0", "m1", "m2", "m3")).messages] == [
            "m0",
            "m2",
        ]
        assert forget(store, ("user1",), subtree=True).message_ids == ("m0", "m2")
        assert store.stats(EVERYTHING).messages == 3

    def test_V079_the_same_thread_id_in_two_namespaces_is_two_threads(self, store: Store) -> None:
        append(store, say("m1", "hers: bees"))
        append(store, say("m1", "his: bees"), namespace=("acme", "bob"))
        append(store, say("m2", "elsewhere: bees"), namespace=("other", "ada"))
        assert [message.content for message in read(store).messages] == ["hers: bees"]
        assert [each.text for each in search(store, "bees").candidates] == ["hers: bees"]
        assert info(store, namespace=("other", "ada")).count == 1

    def test_a_request_in_another_namespace_finds_nothing(self, store: Store) -> None:
        append(store, say("m1"))
        put(store, note("r1"))
        other = ("acme", "bob")
        with pytest.raises(NotFound):
            read(store, namespace=other)
        with pytest.raises(NotFound):
            put(store, namespace=other, retire=(Retire("r1", AT, "not his"),))
        assert get(store, other, messages=("m1",), records=("r1",)).records == ()
        assert get(store, ("acme",), records=("r1",)).records == ()
        assert record(store, "r1").current

    def test_V080_forgetting_one_user_leaves_the_others_whole(self, store: Store) -> None:
        users: list[Namespace] = [("acme", name) for name in ("a", "b", "c")]
        for user in users:
            append(store, say("m1", "bees"), namespace=user)
            put(store, *(note(f"r{number}", "bees") for number in range(5)), namespace=user)
        before = [(read(store, namespace=user), scan(store, "records", user)) for user in users[1:]]
        assert len(forget(store, users[0]).record_ids) == 5
        assert [(read(store, namespace=user), scan(store, "records", user)) for user in users[1:]] == before
        assert hits(store, "bees", users[0]) == set()
        assert len(hits(store, "bees", users[1])) == 6


def _cosine(one: str, other: str) -> float:
    first, second = EMBEDDER.embed([one, other])
    return float(first @ second)


def _terms(*terms: str) -> Search:
    return Search(scope=Scope(NS), terms=terms)
