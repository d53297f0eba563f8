"""Items through `Memory`: put, get, search, delete, history, namespaces, time, and what is refused."""

from __future__ import annotations

import asyncio
import json
import threading
from collections.abc import Callable, Iterator
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from bethink import (
    AsyncMemory,
    Compare,
    Conflict,
    InvalidInput,
    InvalidNamespace,
    Item,
    ItemPut,
    Memory,
    Settings,
)
from bethink.items import Index
from bethink.items.places import listed_places
from bethink.items.text import checked_paths, text_of
from bethink.testing.doubles import FrozenClock, HashEmbedder

MINUTE = timedelta(minutes=1)


class Open:
    """A memory, and its clock."""

    def __init__(self, memory: Memory, clock: FrozenClock) -> None:
        self.memory, self.clock = memory, clock
        self.items = memory.user("mara").items

    def later(self, minutes: float) -> None:
        self.clock.advance(minutes * MINUTE)


@pytest.fixture(params=["reference", "sqlite"])
def kept(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Open]:
    path = ":memory:" if request.param == "reference" else tmp_path / "a.db"
    clock = FrozenClock()
    with Memory(path, namespace=("acme",), clock=clock, embedder=HashEmbedder(), durability="normal") as memory:
        yield Open(memory, clock)
        assert memory.check() == []


def keys(items: list[Any]) -> list[str]:
    return [item.key for item in items]


# -- put and get ----------------------------------------------------------------------------------------------------------


def test_what_is_put_is_got(kept: Open) -> None:
    item = kept.items.put("prefs", {"food": "pizza", "seats": [1, 2.5, None]})
    assert kept.items.get("prefs") == item
    assert (item.namespace, item.key, item.version) == (("acme", "mara"), "prefs", 1)
    assert item.created_at == item.updated_at == kept.clock.now()
    assert item.value == {"food": "pizza", "seats": [1, 2.5, None]}


def test_a_key_that_is_not_there_is_none(kept: Open) -> None:
    assert kept.items.get("prefs") is None
    assert kept.items.history("prefs") == []


def test_another_put_is_another_version_and_the_former_is_history(kept: Open) -> None:
    first = kept.items.put("prefs", {"food": "pizza"})
    kept.later(1)
    second = kept.items.put("prefs", {"food": "sushi"})
    newest, former = kept.items.history("prefs")
    assert newest == second == kept.items.get("prefs")
    assert (second.version, second.created_at, second.updated_at) == (2, first.created_at, kept.clock.now())
    assert (former.id, former.value, former.replaced_at) == (first.id, first.value, kept.clock.now())


@pytest.mark.parametrize(("kept_versions", "left"), [(0, [5]), (2, [5, 4, 3])])
def test_a_history_is_as_long_as_the_settings_say(kept_versions: int, left: list[int]) -> None:
    with Memory(settings=Settings(item_history=kept_versions), embedder=None) as memory:
        for number in range(5):
            memory.items.put("k", {"n": number})
        assert [item.version for item in memory.items.history("k")] == left


def test_what_the_caller_changes_afterwards_is_not_stored(kept: Open) -> None:
    value: dict[str, Any] = {"tags": ["a"]}
    returned = kept.items.put("k", value)
    value["tags"].append("b")
    returned.value["tags"].append("c")
    found = kept.items.get("k")
    assert found is not None
    assert found.value == {"tags": ["a"]}


@settings(max_examples=40, deadline=None)
@given(
    st.dictionaries(
        st.text(st.characters(exclude_categories=["Cs"], exclude_characters="\x00"), max_size=8),
        st.recursive(
            st.none()
            | st.booleans()
            | st.integers(-(2**63), 2**63 - 1)
            | st.floats(allow_nan=False, allow_infinity=False)
            | st.text(st.characters(exclude_categories=["Cs"], exclude_characters="\x00")),
            lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.sampled_from(["a", "b.c", '"', ""]), inner),
            max_leaves=6,
        ),
        max_size=4,
    )
)
def test_any_json_object_comes_back_equal(value: dict[str, Any]) -> None:
    with Memory(embedder=None) as memory:
        memory.items.put("k", value)
        found = memory.items.get("k")
        assert found is not None
        assert json.dumps(found.value) == json.dumps(value)


def test_d1_keys_of_any_script_are_exact(kept: Open) -> None:
    names = ["مفتاح 12", "מפתח", "a\u202eb", "ab", "é", "e\u0301", "A", "a"]
    for name in names:
        kept.items.put(name, {"said": name})
    for name in names:
        found = kept.items.get(name)
        assert found is not None
        assert found.value == {"said": name}
    assert kept.items.count() == len(names)


# -- delete ---------------------------------------------------------------------------------------------------------------


def test_V084_delete_tells_what_was_there_and_it_is_gone(kept: Open) -> None:
    kept.items.put("k", {"said": "honey"})
    assert kept.items.delete("k") == ["k"]
    assert kept.items.delete("k") == []
    assert kept.items.get("k") is None
    assert kept.items.search("honey") == kept.items.search() == kept.items.history("k") == []
    assert kept.memory.user("otto").items.delete("k") == []


def test_V086_delete_names_what_was_and_what_was_not_deleted(kept: Open) -> None:
    kept.items.put("Ada", {})
    assert kept.items.delete("Ada", "Adda", "Ada") == ["Ada"]


def test_V083_many_puts_and_deletes_leave_no_rows_behind(tmp_path: Path) -> None:
    from bethink.storage.sqlite import SqliteStore

    store = SqliteStore(tmp_path / "a.db", durability="normal")

    def rows() -> dict[str, int]:
        with store._readers.reading() as database:
            names = ["items", "records", "units", "pending", "vectors", "tokens"]
            return {name: database.execute(f"SELECT count(*) FROM {name}")[0][0] for name in names}

    with Memory(store=store, embedder=HashEmbedder()) as memory:
        before = rows()
        for number in range(60):
            memory.items.put(f"k{number % 7}", {"said": f"honey {number}"})
            if number % 5 == 0:
                memory.flush()
            if number % 2:
                memory.items.delete(f"k{number % 7}")
        memory.items.delete(*[f"k{number}" for number in range(7)])
        assert rows() == before
        assert memory.check() == []


# -- compare and set ------------------------------------------------------------------------------------------------------


def test_a_version_that_is_not_there_is_a_conflict_that_names_both(kept: Open) -> None:
    kept.items.put("k", {"n": 1}, expected_version=0)
    kept.items.put("k", {"n": 2}, expected_version=1)
    for act in (
        lambda: kept.items.put("k", {"n": 3}, expected_version=1),
        lambda: kept.items.delete("k", expected_version=1),
        lambda: kept.items.put_many([ItemPut(key="new", value={}), ItemPut(key="k", value=None, expected_version=1)]),
    ):
        with pytest.raises(Conflict, match="version 2, not 1") as refused:
            act()
        assert (refused.value.expected, refused.value.actual) == (1, 2)
    assert keys(kept.items.search()) == ["k"]
    assert kept.items.delete("k", expected_version=2) == ["k"]


def test_counting_up_from_many_threads_loses_none(tmp_path: Path) -> None:
    with Memory(tmp_path / "a.db", embedder=None, durability="normal") as memory:
        memory.items.put("count", {"n": 0})

        def count() -> None:
            done = 0
            while done < 5:
                item = memory.items.get("count")
                assert item is not None
                try:
                    memory.items.put("count", {"n": item.value["n"] + 1}, expected_version=item.version)
                except Conflict:
                    continue
                done += 1

        workers = [threading.Thread(target=count) for _ in range(4)]
        for worker in workers:
            worker.start()
        for worker in workers:
            worker.join()
        found = memory.items.get("count")
        assert found is not None
        assert (found.value, found.version) == ({"n": 20}, 21)


# -- several at once ------------------------------------------------------------------------------------------------------


def test_several_puts_are_one_transaction(kept: Open) -> None:
    items = kept.items.put_many(
        [ItemPut(key="a", value={"n": 1}), ItemPut(key="b", value={"n": 2}, below=("trip",)), ItemPut(key="c", value=None)]
    )
    assert [item and (item.namespace, item.key) for item in items] == [
        (("acme", "mara"), "a"),
        (("acme", "mara", "trip"), "b"),
        None,
    ]


def test_one_bad_put_keeps_all_out(kept: Open) -> None:
    with pytest.raises(InvalidInput):
        kept.items.put_many([ItemPut(key="a", value={}), ItemPut(key="", value={})])
    assert kept.items.search() == []


# -- time -----------------------------------------------------------------------------------------------------------------


def test_V087_an_expired_item_is_invisible_everywhere_without_a_sweep(kept: Open) -> None:
    kept.items.put("k", {"said": "honey"}, ttl=5 * MINUTE)
    kept.memory.flush()
    assert keys(kept.items.search("honey")) == ["k"]
    kept.later(6)
    assert kept.items.get("k") is None
    assert kept.items.get("k", refresh=True) is None
    assert kept.items.search("honey") == kept.items.search("honey", threshold=0) == kept.items.search() == []
    assert kept.items.history("k") == []
    assert kept.items.count() == kept.items.count(where={"said": "honey"}) == 0
    assert kept.memory.items.list_namespaces() == []
    assert kept.items.delete("k") == []
    assert b"honey" not in b"".join(kept.memory.export())


def test_V088_a_refresh_is_of_its_own_key_alone(kept: Open) -> None:
    kept.items.put("a", {}, ttl=10 * MINUTE)
    kept.items.put("b", {}, ttl=10 * MINUTE)
    kept.later(6)
    kept.items.get("a", refresh=True)
    kept.items.get("b", refresh=False)
    kept.later(5)
    assert keys(kept.items.search()) == ["a"]


def test_a_refresh_tells_the_new_end(kept: Open) -> None:
    kept.items.put("k", {"said": "honey"}, ttl=10 * MINUTE)
    kept.later(6)
    expected = kept.clock.now() + 10 * MINUTE
    for found in (kept.items.get("k", refresh=True), kept.items.get("k"), *kept.items.search("honey")):
        assert found is not None
        assert (found.expires_at, found.version) == (expected, 1)


def test_a_search_refreshes_what_it_returns_and_nothing_else(kept: Open) -> None:
    kept.items.put_many([ItemPut(key=key, value={"said": f"honey {key}"}, ttl=10 * MINUTE) for key in "abc"])
    kept.later(6)
    first = keys(kept.items.search(limit=1, refresh=True))
    second = keys(kept.items.search("honey a", limit=1, refresh=True))
    kept.later(5)
    assert {*first, *second} == set(keys(kept.items.search())) == {"c", "a"}


def test_an_item_that_is_put_again_has_a_life_of_its_own(kept: Open) -> None:
    kept.items.put("k", {}, ttl=5 * MINUTE)
    kept.items.put("k", {})
    kept.later(60)
    assert [item.version for item in kept.items.history("k")] == [2]


def test_d2_a_year_from_a_leap_day_is_so_many_days() -> None:
    from datetime import datetime, timezone

    leap = datetime(2028, 2, 29, 12, tzinfo=timezone.utc)
    with Memory(clock=FrozenClock(leap), embedder=None) as memory:
        item = memory.items.put("k", {}, ttl=timedelta(days=365))
        assert item.expires_at == datetime(2029, 2, 28, 12, tzinfo=timezone.utc)


def test_a_sweep_erases_what_has_expired_and_its_bytes(kept: Open) -> None:
    kept.items.put("over", {"said": "cinnamon in the morning"}, ttl=MINUTE)
    kept.items.put("stays", {"said": "cardamom in the evening"}, ttl=60 * MINUTE)
    kept.memory.flush()
    kept.later(2)
    receipt = kept.memory.items.sweep()
    assert (len(receipt.record_ids), receipt.erased) == (1, True)
    assert kept.memory.verify("cinnamon in the morning").clean
    assert not kept.memory.verify("cardamom in the evening").clean
    assert keys(kept.items.search()) == ["stays"]
    assert kept.items.sweep().record_ids == ()


# -- search ---------------------------------------------------------------------------------------------------------------


@pytest.fixture
def trips(kept: Open) -> Open:
    for number, (key, value) in enumerate(
        (
            ("ghent", {"to": "Ghent by train", "days": 3, "who": {"name": "Mara", "vegan": True}}),
            ("porto", {"to": "Porto by plane", "days": 8, "tags": ["sea", "wine"]}),
            ("oslo", {"to": "Oslo by train", "days": 5, "who": {"name": "Otto"}}),
        )
    ):
        kept.clock.advance(number * MINUTE)
        kept.items.put(key, value)
    return kept


def test_items_are_found_by_words_best_first(trips: Open) -> None:
    found = trips.items.search("the train to Ghent")
    assert keys(found)[0] == "ghent"
    scores = [item.score or 0.0 for item in found]
    assert scores == sorted(scores, reverse=True)
    assert all(0 < score <= 1 for score in scores)


def test_items_are_found_by_meaning_alone(trips: Open) -> None:
    trips.memory.flush()
    assert keys(trips.items.search("to: Porto by plane tags: sea tags: wine", limit=1)) == ["porto"]


def test_nothing_is_no_answer_to_what_nothing_says(trips: Open) -> None:
    assert trips.items.search("zebra") == trips.items.search("") == trips.items.search("   ") == []


def test_a_threshold_of_0_lets_all_pass_in_the_order_of_their_scores(trips: Open) -> None:
    found = trips.items.search("Ghent", threshold=0)
    assert sorted(keys(found)) == ["ghent", "oslo", "porto"]
    assert found[0].key == "ghent"
    pages = [trips.items.search("Ghent", threshold=0, limit=1, offset=offset) for offset in range(4)]
    assert [page[0].key for page in pages[:3]] == keys(found)
    assert pages[3] == []


def test_without_a_query_the_item_put_last_comes_first(trips: Open) -> None:
    assert keys(trips.items.search()) == ["oslo", "porto", "ghent"]
    assert keys(trips.items.search(limit=1, offset=1)) == ["porto"]
    assert [item.score for item in trips.items.search(limit=1)] == [None]
    assert trips.items.search(limit=0) == trips.items.search("Ghent", limit=0) == []


@pytest.mark.parametrize(
    ("where", "expected"),
    [
        ({"days": 3}, ["ghent"]),
        ({"days": {"gte": 5}}, ["oslo", "porto"]),
        ({"$or": [{"days": 8}, {"who.name": "Otto"}]}, ["oslo", "porto"]),
        ({"who.vegan": True}, ["ghent"]),
        ({"who.vegan": 1}, []),
        ({"who.vegan": {"$ne": True}}, ["oslo", "porto"]),
        ({"who": {"exists": True}}, ["ghent", "oslo"]),
        ({"tags": {"contains": "sea"}}, ["porto"]),
        ({"to": {"in": ["Oslo by train", "x"]}}, ["oslo"]),
        (Compare(("value", "days"), "lt", 5), ["ghent"]),
    ],
)
def test_filters_are_over_values_with_and_without_a_query(trips: Open, where: Any, expected: list[str]) -> None:
    assert sorted(keys(trips.items.search(where=where))) == expected
    assert sorted(keys(trips.items.search("by train or by plane", where=where, threshold=0))) == expected
    assert trips.items.count(where=where) == len(expected)


def test_a_search_below_finds_items_of_the_namespaces_below(trips: Open) -> None:
    assert trips.memory.items.search("Ghent") == []
    assert keys(trips.memory.items.search("Ghent", below=True)) == ["ghent"]
    assert trips.memory.items.count(below=True) == 3


def test_recall_and_contexts_leave_items_out(trips: Open) -> None:
    mara = trips.memory.user("mara")
    assert list(mara.recall("the train to Ghent")) == []
    mara.thread("t").add("user", "the train to Ghent leaves at nine")
    assert [hit.kind for hit in mara.recall("the train to Ghent")] == ["message"]
    assert "Oslo" not in mara.thread("t").context(budget=500).text
    with pytest.raises(InvalidInput, match=r"memory\.items"):
        mara.records("item")


def test_a_reply_that_names_an_item_by_a_mark_cites_nothing(trips: Open) -> None:
    item = trips.items.get("ghent")
    assert item is not None
    thread = trips.memory.user("mara").thread("t")
    thread.add("user", "I live in Porto.")
    thread.add("assistant", f"So you said [mem:{item.id[-8:]}].")
    assert len(trips.memory.user("mara").profile()) == 1
    with pytest.raises(InvalidInput):
        trips.memory.user("mara").cite(item.id)


def test_a_former_version_is_not_found(trips: Open) -> None:
    trips.memory.flush()
    trips.items.put("ghent", {"to": "Antwerp"})
    assert keys(trips.items.search("Ghent")) == []
    assert keys(trips.items.search("Antwerp")) == ["ghent"]


@pytest.mark.parametrize(
    ("index", "found"),
    [(True, True), (False, False), (["to"], True), (["who.name"], False), (["$"], True), ([], False), (["nothing"], False)],
)
def test_search_reads_what_the_index_says(kept: Open, index: Index, found: bool) -> None:
    kept.items.put("k", {"to": "Ghent", "who": {"name": "Mara"}}, index=index)
    assert bool(kept.items.search("Ghent")) is found


def test_V081_a_keyword_that_is_none_is_refused(kept: Open) -> None:
    with pytest.raises(TypeError):
        kept.items.search("x", user="otto")  # type: ignore[call-arg]


# -- what of a value is read ----------------------------------------------------------------------------------------------

VALUE = {
    "title": "Trip",
    "notes": [{"text": "one", "by": "Mara"}, {"text": "two"}],
    "deep": {"a.b": "dotted", "n": 3, "list": [["x"], "y"]},
    "blank": "  ",
}


@pytest.mark.parametrize(
    ("index", "lines"),
    [
        (True, ["title: Trip", "text: one", "by: Mara", "text: two", "a.b: dotted", "list: x", "list: y"]),
        (False, []),
        (["$"], ["title: Trip", "text: one", "by: Mara", "text: two", "a.b: dotted", "list: x", "list: y"]),
        (["title"], ["title: Trip"]),
        (["notes[*].text"], ["text: one", "text: two"]),
        (["notes[-1]"], ["text: two"]),
        (["notes[5]", "notes.text", "title.x", "deep[0]"], []),
        (["deep.*"], ["a.b: dotted", "list: x", "list: y"]),
        (['["deep", "a.b"]'], ["a.b: dotted"]),
        (["deep.list[0][*]"], ["list: x"]),
        (["title", "$"], ["title: Trip", "text: one", "by: Mara", "text: two", "a.b: dotted", "list: x", "list: y"]),
    ],
)
def test_paths_choose_the_strings_that_are_read(index: Index, lines: list[str]) -> None:
    assert text_of(VALUE, checked_paths(index)).splitlines() == lines


@pytest.mark.parametrize("path", ["", ".", "a..b", "a[", "a[b]", "a]b", "[", "[1]", "[]", "a[1.5]", "a\x00"])
def test_a_path_that_is_none_is_refused(path: str) -> None:
    with pytest.raises(InvalidInput) as refused:
        checked_paths([path])
    assert refused.value.field == "index[0]"


# -- namespaces -----------------------------------------------------------------------------------------------------------


def test_namespaces_are_listed_below_the_memory_that_is_asked(kept: Open) -> None:
    for below in ((), ("users", "a"), ("users", "a", "x"), ("users", "b", "x")):
        kept.memory.items.put_many([ItemPut(key="k", value={}, below=below)])
    assert kept.memory.items.list_namespaces() == [(), ("users", "a"), ("users", "a", "x"), ("users", "b", "x")]
    assert kept.memory.scope("users").items.list_namespaces() == [("a",), ("a", "x"), ("b", "x")]
    for found in kept.memory.items.list_namespaces()[1:]:
        assert kept.memory.scope(*found).items.get("k") is not None


PLACES = [("a", "v1"), ("a", "v2"), ("ab", "v1"), ("b", "x", "v1"), ("b",)]


@pytest.mark.parametrize(
    ("asked", "expected"),
    [
        ({}, sorted(PLACES)),
        ({"prefix": ("a",)}, [("a", "v1"), ("a", "v2")]),
        ({"suffix": ("v1",)}, [("a", "v1"), ("ab", "v1"), ("b", "x", "v1")]),
        ({"prefix": ("*", "v1")}, [("a", "v1"), ("ab", "v1")]),
        ({"prefix": ("b",), "suffix": ("*", "v1")}, [("b", "x", "v1")]),
        ({"prefix": ("a", "v1", "x")}, []),
        ({"max_depth": 1}, [("a",), ("ab",), ("b",)]),
        ({"max_depth": 1, "limit": 1, "offset": 1}, [("ab",)]),
        ({"limit": 0}, []),
        ({"offset": 4}, [("b", "x", "v1")]),
    ],
)
def test_namespaces_match_from_either_end_and_are_cut(asked: dict[str, Any], expected: list[tuple[str, ...]]) -> None:
    assert listed_places(PLACES, **asked) == expected


def test_V079_items_of_two_users_and_two_tenants_never_meet(kept: Open) -> None:
    for tenant in ("acme", "umbrella"):
        for user in ("ada", "otto"):
            Memory._of(kept.memory._engine, (tenant, user), kept.memory._policy).items.put(
                "k", {"said": f"honey {tenant} {user}"}
            )
    ada = kept.memory.user("ada").items
    assert [item.value["said"] for item in ada.search("honey")] == ["honey acme ada"]
    assert [item.namespace for item in kept.memory.items.search("honey", below=True, threshold=0)].count(
        ("umbrella", "ada")
    ) == 0


def test_V080_forgetting_one_user_leaves_the_items_of_others(kept: Open) -> None:
    for user in ("ada", "otto", "eve"):
        for number in range(5):
            kept.memory.user(user).items.put(f"k{number}", {"n": number})
    kept.memory.forget(namespace=("acme", "ada"))
    assert [kept.memory.user(user).items.count() for user in ("ada", "otto", "eve")] == [0, 5, 5]


# -- forgetting, export ---------------------------------------------------------------------------------------------------


def test_a_forgotten_item_goes_with_its_history(kept: Open) -> None:
    first = kept.items.put("k", {"said": "cinnamon in the morning"})
    kept.items.put("k", {"said": "cardamom in the evening"})
    kept.memory.user("mara").forget(record=first.id)
    assert kept.items.get("k") is None
    assert kept.memory.verify("cinnamon in the morning", "cardamom in the evening").clean


def exported(memory: Memory, path: Path) -> Path:
    path.write_bytes(b"".join(memory.export()))
    return path


def everything(memory: Memory) -> list[list[Item]]:
    return [memory.scope(*below).items.history("k") for below in memory.items.list_namespaces()]


def test_an_export_brings_items_back_with_their_history(kept: Open, tmp_path: Path) -> None:
    kept.items.put("k", {"n": 1})
    kept.later(1)
    kept.items.put("k", {"n": 2}, ttl=60 * MINUTE)
    kept.later(1)
    kept.items.get("k", refresh=True)
    kept.memory.scope("below").items.put("k", {"said": "honey"})
    kept.memory.scope("over").items.put("k", {}, ttl=MINUTE)
    kept.later(1)
    path = exported(kept.memory, tmp_path / "a.jsonl")
    with Memory(namespace=("acme",), clock=kept.clock, embedder=HashEmbedder()) as other:
        assert other.import_file(path).records == 3
        assert everything(other) == everything(kept.memory)
        assert keys(other.items.search("honey", below=True)) == ["k"]
        assert other.import_file(path).records == 0
        assert other.check() == []


def test_an_import_never_overwrites_a_newer_version(kept: Open, tmp_path: Path) -> None:
    kept.items.put("k", {"n": 1})
    path = exported(kept.memory, tmp_path / "a.jsonl")
    kept.items.put("k", {"n": 2})
    assert kept.memory.import_file(path).records == 0
    found = kept.items.get("k")
    assert found is not None
    assert found.value == {"n": 2}


# -- refused --------------------------------------------------------------------------------------------------------------

LOOP: dict[str, Any] = {}
LOOP["a"] = LOOP


@pytest.mark.parametrize(
    ("act", "field"),
    [
        pytest.param(lambda items: items.put("", {}), "key", id="no key"),
        pytest.param(lambda items: items.put("  ", {}), "key", id="a blank key"),
        pytest.param(lambda items: items.put("a\nb", {}), "key", id="a key of two lines"),
        pytest.param(lambda items: items.put("k" * 201, {}), "key", id="a long key"),
        pytest.param(lambda items: items.put(1, {}), "key", id="a number as key"),
        pytest.param(lambda items: items.put("k", None), "value", id="nothing"),
        pytest.param(lambda items: items.put("k", [1]), "value", id="a list"),
        pytest.param(lambda items: items.put("k", "{}"), "value", id="a text"),
        pytest.param(lambda items: items.put("k", {"a": float("nan")}), "value.a", id="NaN"),
        pytest.param(lambda items: items.put("k", {"a": [float("inf")]}), "value.a[0]", id="infinite"),
        pytest.param(lambda items: items.put("k", {"a": timedelta(1)}), "value.a", id="no JSON"),
        pytest.param(lambda items: items.put("k", {"a": 2**63}), "value.a", id="a large integer"),
        pytest.param(lambda items: items.put("k", {1: 2}), "value", id="a key that is no text"),
        pytest.param(lambda items: items.put("k", {"a": "\x00"}), "value.a", id="NUL"),
        pytest.param(lambda items: items.put("k", {"a": "\ud800"}), "value.a", id="half a character"),
        pytest.param(lambda items: items.put("k", {"a": "x" * 11_000_000}), "value", id="too large"),
        pytest.param(lambda items: items.put("k", {}, ttl=timedelta()), "ttl", id="no time"),
        pytest.param(lambda items: items.put("k", {}, ttl=-MINUTE), "ttl", id="a negative time"),
        pytest.param(lambda items: items.put("k", {}, ttl=60), "ttl", id="a number as time"),
        pytest.param(lambda items: items.put("k", {}, ttl=timedelta.max), "ttl", id="beyond all dates"),
        pytest.param(lambda items: items.put("k", {}, expected_version=-1), "expected_version", id="below 0"),
        pytest.param(lambda items: items.put("k", {}, expected_version=True), "expected_version", id="true"),
        pytest.param(lambda items: items.put("k", {}, expected_version=1.0), "expected_version", id="a float"),
        pytest.param(lambda items: items.put("k", {}, index="title"), "index", id="a path alone"),
        pytest.param(lambda items: items.put("k", {}, index=["a..b"]), "index[0]", id="no path"),
        pytest.param(lambda items: items.put("k", {}, index=[1]), "index[0]", id="a number as path"),
        pytest.param(lambda items: items.put_many([{"key": "k"}]), "changes[0]", id="a dict for a put"),
        pytest.param(lambda items: items.get(""), "key", id="get of no key"),
        pytest.param(lambda items: items.get("k", refresh=1), "refresh", id="refresh 1"),
        pytest.param(lambda items: items.delete("a", "b", expected_version=1), "expected_version", id="one for two"),
        pytest.param(lambda items: items.delete("a", ""), "key", id="delete of no key"),
        pytest.param(lambda items: items.history(None), "key", id="history of nothing"),
        pytest.param(lambda items: items.search(3), "query", id="a number as query"),
        pytest.param(lambda items: items.search(limit=-1), "limit", id="a negative limit"),
        pytest.param(lambda items: items.search(offset=-1), "offset", id="a negative offset"),
        pytest.param(lambda items: items.search("x", threshold=1.5), "threshold", id="more than all"),
        pytest.param(lambda items: items.search("x", threshold=float("nan")), "threshold", id="a threshold that is none"),
        pytest.param(lambda items: items.search(where={}), "where", id="an empty filter"),
        pytest.param(lambda items: items.search(where={"a": {"near": 1}}), "where.value.a", id="no operator"),
        pytest.param(lambda items: items.search(where=Compare(("kind",), "eq", "note")), "where", id="a field of others"),
        pytest.param(lambda items: items.search(below="yes"), "below", id="below yes"),
        pytest.param(lambda items: items.count(where={"": 1}), "where", id="a nameless field"),
        pytest.param(lambda items: items.list_namespaces(max_depth=0), "max_depth", id="depth 0"),
        pytest.param(lambda items: items.list_namespaces(limit=-1), "limit", id="less than none"),
    ],
)
def test_what_is_refused_names_its_field_and_nothing_is_written(kept: Open, act: Callable[[Any], object], field: str) -> None:
    kept.items.put("a", {"n": 1})
    with pytest.raises(InvalidInput) as refused:
        act(kept.items)
    assert refused.value.field == field
    assert refused.value.fix
    assert [(item.key, item.version) for item in kept.items.search()] == [("a", 1)]


@pytest.mark.parametrize(
    "act",
    [
        pytest.param(lambda memory: memory.scope("a", "").items, id="an empty segment"),
        pytest.param(lambda memory: memory.items.put_many([ItemPut(key="k", value={}, below=("",))]), id="an empty one below"),
        pytest.param(lambda memory: memory.items.put_many([ItemPut(key="k", value={}, below=("x",) * 20)]), id="too deep"),
        pytest.param(lambda memory: memory.items.list_namespaces(prefix="users"), id="a text for segments"),
        pytest.param(lambda memory: memory.items.list_namespaces(suffix=("",)), id="an empty pattern"),
    ],
)
def test_a_namespace_that_is_none_is_refused(kept: Open, act: Callable[[Memory], object]) -> None:
    with pytest.raises(InvalidNamespace):
        act(kept.memory)
    assert kept.memory.items.count(below=True) == 0


def test_a_circular_value_is_refused(kept: Open) -> None:
    with pytest.raises(InvalidInput):
        kept.items.put("k", LOOP)


def test_a_history_below_nothing_is_refused() -> None:
    with pytest.raises(InvalidInput, match="item_history"):
        Settings(item_history=-1)


# -- the twin -------------------------------------------------------------------------------------------------------------


def test_the_twin_does_the_same(tmp_path: Path) -> None:
    async def use() -> None:
        async with AsyncMemory(tmp_path / "a.db", clock=FrozenClock(), embedder=HashEmbedder()) as memory:
            items = memory.user("mara").items
            value: dict[str, Any] = {"food": ["pizza"]}
            putting = asyncio.create_task(items.put("prefs", value, ttl=5 * MINUTE))
            await asyncio.sleep(0)
            value["food"].append("sushi")
            item = await putting
            assert item.value == {"food": ["pizza"]}
            assert await items.get("prefs", refresh=True) == item
            assert keys(await items.search("pizza")) == ["prefs"]
            assert await items.put_many([ItemPut(key="x", value={}), ItemPut(key="prefs", value=None)])
            assert (await items.count(), await items.delete("x"), await items.history("x")) == (1, ["x"], [])
            assert await memory.items.list_namespaces() == []
            assert (await items.sweep()).record_ids == ()

    asyncio.run(use())
