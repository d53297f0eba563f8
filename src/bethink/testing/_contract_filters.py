"""The contract of `Search.where`: what a filter is true of is found, in each leg and before any limit, and nothing else."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

import msgspec
import pytest

from bethink.errors import InvalidInput
from bethink.storage.base import (
    And,
    Compare,
    Contains,
    Exists,
    Filter,
    In,
    Mark,
    Not,
    Or,
    Retire,
    Store,
)
from bethink.storage.base.filters import Comparison, Scalar
from bethink.testing._contract import (
    AT,
    NS,
    ContractBase,
    append,
    calls,
    embed,
    fork,
    hits,
    insight,
    line,
    note,
    put,
    result,
    say,
    scan,
    search,
    summary,
)
from bethink.testing._contract_in_view import LEGS, MANY, in_view
from bethink.values import Namespace

VALUES: dict[str, Any] = {
    "true": True,
    "false": False,
    "one": 1,
    "zero": 0,
    "one point": 1.0,
    "half": 0.5,
    "text one": "1",
    "text true": "true",
    "text null": "null",
    "empty": "",
    "null": None,
    "list": [1],
    "empty list": [],
    "object": {"b": True},
    "large": 2**53 + 1,
    "largest": 2**63 - 1,
    "least": -(2**63),
    "large float": float(2**53),
    "e acute": "é",
}
"""By the id of the record that has it as metadata "v"; one more has none."""

AWKWARD = (
    "a.b",
    "a b",
    '"',
    'a"b',
    "\\",
    "a\\b",
    "'",
    "$",
    "$.v",
    "[0]",
    "",
    "é",
    "x') OR 1=1 --",
    "\n",
    "%",
    "k" * 300,
    "?",
    ":x",
)


def topic(value: Scalar) -> Filter:
    return Compare(("metadata", "topic"), "eq", value)


class FilterContract(ContractBase):
    def test_a_filter_holds_in_each_leg(self, store: Store) -> None:
        append(store, say("m1", "bees", metadata={"topic": "a"}), say("m2", "bees", metadata={"topic": "b"}), say("m3", "bees"))
        put(store, note("r1", "bees", metadata={"topic": "a"}), note("r2", "bees"))
        embed(store)
        assert passing(store, topic("a")) == {"m1", "r1"}

    def test_it_holds_for_what_was_just_appended(self, store: Store) -> None:
        append(store, say("m1", "bees", metadata={"topic": "a"}), say("m2", "bees", metadata={"topic": "b"}))
        assert hits(store, "bees", where=topic("a")) == {"m1"}
        assert hits(store, "bees", where=Not(topic("a"))) == {"m2"}

    def test_without_a_filter_everything_passes(self, store: Store) -> None:
        append(store, say("m1", "bees"))
        assert hits(store, "bees", where=None) == {"m1"}

    @pytest.mark.parametrize("late", [0, 5])
    def test_V072_a_filter_that_one_in_a_hundred_passes_loses_none(self, store: Store, late: int) -> None:
        append(store, *(say(f"m{number}", "bees bees bees", metadata={"topic": "b"}) for number in range(5 * MANY)))
        for number in range(5):
            text = f"{number} of many other words, and bees"
            append(store, say(f"few{number}", text, metadata={"topic": "a"}), thread=f"few {number}")
        put(store, note("r1", "somewhere far from here there were bees", metadata={"topic": "a"}))
        embed(store)
        append(store, *(say(f"late{number}", "bees", metadata={"topic": "b"}) for number in range(late)))
        few = {*(f"few{number}" for number in range(5)), "r1"}
        for limit in (6, 10, 1_000):
            assert passing(store, topic("a"), limit=limit) == few
        for options in LEGS:
            assert len(hits(store, **options, where=topic("a"), limit=3)) == 3
            assert len(hits(store, **options, where=topic("b"), limit=50)) == 50
        assert hits(store, "zebras bees", where=topic("a")) == few

    def test_words_that_are_rare_only_where_the_filter_is_false_hide_nothing(self, store: Store) -> None:
        append(store, *(say(f"z{number}", f"zebras {number} and bees") for number in range(350)))
        append(store, say("m1", "bees", metadata={"topic": "a"}))
        assert hits(store, "zebras bees", where=topic("a"), limit=20) == {"m1"}

    def test_the_statistics_are_those_without_it(self, store: Store) -> None:
        append(store, say("m1", "bees and honey", metadata={"topic": "a"}), say("m2", "bees"))
        embed(store)
        append(store, say("m3", "rain"))
        whole = search(store, "bees honey", near="bees")
        some = search(store, "bees honey", near="bees", where=topic("a"))
        (found,) = some.candidates
        assert found == next(each for each in whole.candidates if each.id == "m1")
        assert msgspec.structs.replace(some, candidates=whole.candidates) == whole

    def test_nothing_may_pass(self, store: Store) -> None:
        append(store, say("m1", "bees"))
        put(store, note("r1", "bees"))
        embed(store)
        assert passing(store, topic("a")) == set()
        assert passing(store, In(("metadata", "topic"), ())) == set()

    def test_V077_V078_V079_a_filter_finds_nothing_of_another_namespace(self, store: Store) -> None:
        others: list[Namespace] = [("acme", "bob"), ("acme", "ada2"), (*NS, "below"), ("acme",)]
        for namespace in (NS, *others):
            append(store, say("m1", "bees", metadata={"topic": "a"}), namespace=namespace)
            put(store, note("r1", "bees", metadata={"topic": "a"}), namespace=namespace)
            embed(store, namespace)
        anything = Or((topic("a"), Not(topic("a"))))
        for where in (topic("a"), anything):
            for options in LEGS:
                found = search(store, **options, where=where).candidates
                assert [each.namespace for each in found] == [NS, NS]
                below = search(store, **options, where=where, subtree=True).candidates
                assert {each.namespace for each in below} == {NS, (*NS, "below")}

    def test_it_holds_beside_kinds_retired_records_and_what_is_in_view(self, store: Store) -> None:
        append(store, *(say(f"m{number}", "bees", metadata={"topic": "a"}) for number in range(1, 5)))
        put(store, *(note(f"r{number}", "bees", metadata={"topic": "a"}) for number in range(1, 4)), note("r4", "bees"))
        put(store, retire=(Retire("r1", AT, "archived"),))
        embed(store)
        assert passing(store, topic("a")) == {"m1", "m2", "m3", "m4", "r2", "r3"}
        assert passing(store, topic("a"), kinds=("note",)) == {"r2", "r3"}
        assert passing(store, topic("a"), kinds=("note",), current=False) == {"r1", "r2", "r3"}
        seen = in_view((1, 3), records=("r2",))
        assert passing(store, topic("a"), in_view=seen) == {"m4", "r3"}
        assert passing(store, topic("a"), in_view=seen, limit=1) <= {"m4", "r3"}

    def test_a_forks_copies_pass_as_their_originals_do(self, store: Store) -> None:
        append(store, say("m1", "bees", metadata={"topic": "a"}), say("m2", "bees"))
        store.mark(Mark(namespace=NS, thread_id="t", at=AT, tiers=(("m1", "long_term"),)))
        fork(store, 2)
        embed(store)
        for where in (topic("a"), Compare(("tier",), "eq", "long_term")):
            for options in LEGS:
                found = search(store, **options, where=where).candidates
                assert {(each.thread_id, each.id) for each in found} == {("t", "m1"), ("fork", "m1")}

    def test_what_is_no_filter_is_refused(self, store: Store) -> None:
        append(store, say("m1", "bees"))
        for where in (Filter(), And((Not(topic("a")), Filter())), Or((Filter(),)), Not(Filter())):
            with pytest.raises(InvalidInput, match="no filter"):
                search(store, "bees", where=where)


class FilterFieldContract(ContractBase):
    def test_kinds_roles_speakers_trust_threads_and_pins(self, store: Store) -> None:
        append(
            store,
            say("m1", "bees", name="Mara"),
            say("m2", "bees", role="assistant"),
            say("m3", "bees", external=True),
            calls("m4", "c1"),
            result("m5", "c1", "bees"),
            say("m6", "bees", name=""),
        )
        append(store, say("o1", "bees", name="Mara"), thread="other")
        put(
            store,
            note("r1", "bees", pinned=True),
            insight("r2", "bees"),
            summary("r3", line("bees", "m1")),
            msgspec.structs.replace(note("r4", "bees"), trust="external"),
        )
        embed(store)
        messages, records = {"m1", "m2", "m3", "m5", "m6", "o1"}, {"r1", "r2", "r3", "r4"}
        expected: dict[Filter, set[str]] = {
            eq("kind", "message"): messages,
            In(("kind",), ("note", "summary")): {"r1", "r3", "r4"},
            Not(eq("kind", "message")): records,
            eq("role", "user"): {"m1", "m3", "m6", "o1"},
            eq("role", "tool"): {"m5"},
            Exists(("role",)): messages,
            Not(eq("role", "user")): {"m2", "m5", *records},
            eq("speaker", "Mara"): {"m1", "o1"},
            In(("speaker",), ("Mara", "assistant")): {"m1", "m2", "o1"},
            eq("speaker", "user"): {"m3", "m6"},
            eq("speaker", "mara"): set(),
            Not(Exists(("speaker",))): records,
            eq("trust", "external"): {"m3", "r4"},
            eq("trust", "tool"): {"m5"},
            In(("trust",), ("user", "assistant")): {"m1", "m2", "m6", "o1", "r1", "r2", "r3"},
            eq("thread_id", "other"): {"o1"},
            eq("thread_id", "t"): {"m1", "m2", "m3", "m5", "m6", "r3"},
            Not(Exists(("thread_id",))): {"r1", "r2", "r4"},
            eq("pinned", True): {"r1"},
            eq("pinned", False): (messages | records) - {"r1"},
            In(("pinned",), (True, False)): messages | records,
            Exists(("tier",)): messages,
            And((eq("speaker", "Mara"), eq("thread_id", "t"))): {"m1"},
            Or((eq("speaker", "Mara"), eq("kind", "insight"))): {"m1", "o1", "r2"},
            Contains(("speaker",), "Mara"): set(),
        }
        assert {where: passing(store, where) for where in expected} == expected

    def test_a_tier_is_the_one_that_a_message_has_now(self, store: Store) -> None:
        append(store, say("m1", "bees"), say("m2", "bees", tier="ephemeral"), say("m3", "bees"))
        store.mark(Mark(namespace=NS, thread_id="t", at=AT, tiers=(("m1", "long_term"), ("m3", "permanent"))))
        assert hits(store, "bees", where=eq("tier", "long_term")) == {"m1"}
        embed(store)
        assert passing(store, eq("tier", "long_term")) == {"m1"}
        assert passing(store, eq("tier", "ephemeral")) == {"m2"}
        assert passing(store, eq("tier", "working")) == set()
        assert passing(store, eq("pinned", True)) == {"m3"}
        store.mark(Mark(namespace=NS, thread_id="t", at=AT, tiers=(("m3", "working"),)))
        assert passing(store, eq("pinned", True)) == set()
        assert passing(store, eq("tier", "working")) == {"m3"}

    def test_times_are_compared_to_the_microsecond(self, store: Store) -> None:
        moment = timedelta(microseconds=1)
        times = {"1": AT - moment, "2": AT, "3": AT + moment, "4": AT + timedelta(seconds=1), "5": AT.replace(year=900)}
        append(store, *(say(f"m{key}", "bees", created_at=at) for key, at in times.items()))
        put(store, *(note(f"r{key}", "bees", recorded_at=at) for key, at in times.items()))
        embed(store)
        expected: dict[Comparison, str] = {"eq": "2", "lt": "15", "lte": "125", "gt": "34", "gte": "234"}
        for op, keys in expected.items():
            both = {f"{kind}{key}" for key in keys for kind in "mr"}
            assert passing(store, Compare(("at",), op, AT)) == both
        assert passing(store, In(("at",), (AT, AT + moment, AT + timedelta(days=1)))) == {"m2", "m3", "r2", "r3"}
        within = And((Compare(("at",), "gte", AT), Compare(("at",), "lt", AT + timedelta(seconds=1))))
        assert passing(store, within) == {"m2", "m3", "r2", "r3"}


class FilterMetadataContract(ContractBase):
    def test_V076_a_value_is_equal_to_values_of_its_type_alone(self, store: Store) -> None:
        self._fill(store)
        expected: list[tuple[Scalar, set[str]]] = [
            (True, {"true"}),
            (False, {"false"}),
            (1, {"one", "one point"}),
            (1.0, {"one", "one point"}),
            (0, {"zero"}),
            (-0.0, {"zero"}),
            ("1", {"text one"}),
            ("true", {"text true"}),
            ("null", {"text null"}),
            ("", {"empty"}),
            (None, {"null"}),
            ("[1]", set()),
            ("[]", set()),
            ('{"b":true}', set()),
            (2**53 + 1, {"large"}),
            (2**53, {"large float"}),
            (2**63 - 1, {"largest"}),
            (-(2**63), {"least"}),
            (2.0**63, set()),
        ]
        for value, found in expected:
            where = Compare(("metadata", "v"), "eq", value)
            assert passing(store, where) == passing(store, In(("metadata", "v"), (value,))) == found
            assert passing(store, Not(where)) == {*VALUES, "missing"} - found

    def test_V076_what_is_nested_is_found_by_its_path(self, store: Store) -> None:
        self._fill(store)
        assert passing(store, Compare(("metadata", "v", "b"), "eq", True)) == {"object"}
        assert passing(store, Compare(("metadata", "v", "b"), "eq", 1)) == set()
        assert passing(store, Exists(("metadata", "v", "b"))) == {"object"}
        assert passing(store, Exists(("metadata", "v", "0"))) == set(), "a path leads through no list"
        assert passing(store, Exists(("metadata", "v", "b", "c"))) == set()

    def test_null_is_there_and_missing_is_not(self, store: Store) -> None:
        self._fill(store)
        assert passing(store, Exists(("metadata", "v"))) == set(VALUES)
        assert passing(store, Not(Exists(("metadata", "v")))) == {"missing"}
        assert passing(store, Compare(("metadata", "v"), "eq", None)) == {"null"}

    def test_an_order_is_among_numbers_or_among_texts(self, store: Store) -> None:
        self._fill(store)
        numbers = {name for name, value in VALUES.items() if isinstance(value, int | float) and not isinstance(value, bool)}
        assert passing(store, Compare(("metadata", "v"), "gt", 0.5)) == numbers - {"zero", "half", "least"}
        assert passing(store, Compare(("metadata", "v"), "gte", 0.5)) == numbers - {"zero", "least"}
        assert passing(store, Compare(("metadata", "v"), "lt", 1)) == {"zero", "half", "least"}
        assert passing(store, Compare(("metadata", "v"), "lte", 1)) == {"zero", "half", "least", "one", "one point"}
        assert passing(store, Compare(("metadata", "v"), "gt", 2.0**53)) == {"large", "largest"}
        assert passing(store, Compare(("metadata", "v"), "gte", "null")) == {"text null", "text true", "e acute"}
        assert passing(store, Compare(("metadata", "v"), "lt", "1")) == {"empty"}
        assert passing(store, Compare(("metadata", "v"), "gt", "true")) == {"e acute"}
        assert passing(store, Not(Compare(("metadata", "v"), "gt", 0.5))) == {
            *(set(VALUES) - numbers),
            *("zero", "half", "least", "missing"),
        }

    def test_one_of_several_may_be_of_any_type(self, store: Store) -> None:
        self._fill(store)
        assert passing(store, In(("metadata", "v"), (1, "1", True, None, "é"))) == {
            *("one", "one point", "text one", "true", "null", "e acute")
        }
        assert passing(store, In(("metadata", "v"), (0.5, False))) == {"half", "false"}

    def test_a_list_contains_its_items(self, store: Store) -> None:
        lists: dict[str, Any] = {
            "r1": [1, "a", None],
            "r2": [True, 0.5],
            "r3": ["1", [1], {"a": 1}, "é"],
            "r4": [],
            "r5": "a",
            "r6": {"a": 1},
            "r7": 1,
        }
        put(store, *(note(name, "bees", metadata={"tags": value}) for name, value in lists.items()), note("r8", "bees"))
        embed(store)
        cases: list[tuple[Scalar, set[str]]] = [
            (1, {"r1"}),
            (True, {"r2"}),
            ("a", {"r1"}),
            (None, {"r1"}),
            ("1", {"r3"}),
            ("é", {"r3"}),
            (0.5, {"r2"}),
            (False, set()),
            ("[1]", set()),
        ]
        for value, expected in cases:
            assert passing(store, Contains(("metadata", "tags"), value)) == expected

    def test_V074_a_key_is_a_key_whatever_it_holds(self, store: Store) -> None:
        put(store, *(note(f"r{number}", "bees", metadata={key: {key: "x"}}) for number, key in enumerate(AWKWARD)))
        append(store, *(say(f"m{number}", "bees", metadata={key: {key: ["x"]}}) for number, key in enumerate(AWKWARD)))
        put(store, note("other", "bees", metadata={"v": "x"}), namespace=("acme", "bob"))
        embed(store)
        for number, key in enumerate(AWKWARD):
            path = ("metadata", key, key)
            record, message = f"r{number}", f"m{number}"
            assert passing(store, Compare(path, "eq", "x")) == passing(store, In(path, ("x", 1))) == {record}
            assert passing(store, Contains(path, "x")) == {message}
            assert passing(store, Exists(path)) == passing(store, Exists(path[:2])) == {record, message}
            assert passing(store, And((Exists(path), Not(Compare(path, "eq", "x"))))) == {message}
            assert passing(store, Exists((*path, key))) == set()

    def test_V074_a_value_is_a_value_whatever_it_holds(self, store: Store) -> None:
        put(store, *(note(f"r{number}", "bees", metadata={"v": value}) for number, value in enumerate(AWKWARD)))
        embed(store)
        for number, value in enumerate(AWKWARD):
            where = Compare(("metadata", "v"), "eq", value)
            assert passing(store, where) == passing(store, In(("metadata", "v"), (value, "none of them"))) == {f"r{number}"}
            assert passing(store, eq("speaker", value or "x")) == passing(store, eq("thread_id", value or "x")) == set()

    def test_V075_every_operator_of_every_field_holds(self, store: Store) -> None:
        append(store, say("m1", "bees", name="Mara", metadata={"n": 5, "tags": ["a"]}))
        put(store, note("r1", "bees", metadata={"n": 7}), note("r2", "bees"))
        embed(store)
        everything = passing(store, Not(Compare(("metadata", "n"), "eq", "none")))
        assert everything == {"m1", "r1", "r2"}
        fields = ("at", "kind", "pinned", "role", "speaker", "thread_id", "tier", "trust")
        values: dict[str, Scalar] = {"at": AT + timedelta(days=1), "pinned": True}
        for path in (*((name,) for name in fields), ("metadata", "n")):
            value = values.get(path[0], 6 if len(path) > 1 else "external")
            tests: list[Filter] = [Compare(path, "eq", value), In(path, (value,)), Contains(path, value)]
            for where in tests:
                assert passing(store, where) == set()
                assert passing(store, Not(where)) == everything
        orders: tuple[Comparison, ...] = ("lt", "lte", "gt", "gte")
        assert [len(passing(store, Compare(("metadata", "n"), op, 6))) for op in orders] == [1, 1, 1, 1]

    def _fill(self, store: Store) -> None:
        put(store, *(note(name, "bees", metadata={"v": value}) for name, value in VALUES.items()), note("missing", "bees"))
        embed(store)


def eq(field: str, value: Scalar) -> Filter:
    return Compare((field,), "eq", value)


def passing(store: Store, where: Filter, **options: Any) -> set[str]:
    """What passes, by either leg; both must find the same, whether messages have been looked at before or not."""
    by_words = hits(store, "bees", where=where, **options)
    scan(store, "pending")
    assert hits(store, "bees", where=where, **options) == by_words
    by_meaning = hits(store, near="bees", where=where, **options)
    if options.get("limit", 200) >= MANY:
        assert by_meaning == by_words
    return by_words | by_meaning
