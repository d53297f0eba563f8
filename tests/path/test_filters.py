"""Filters as users write them: what they mean, what is refused before anything runs, and recall that keeps to them."""

from __future__ import annotations

import json
from collections.abc import Iterator
from datetime import datetime, timedelta, timezone
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from typer.testing import CliRunner

from bethink import (
    And,
    AsyncMemory,
    Compare,
    Contains,
    Exists,
    Filter,
    In,
    InvalidInput,
    Memory,
    Message,
    Not,
    Or,
)
from bethink.cli.app import app
from bethink.retrieval.filters import MAX_DEPTH, MAX_NODES, MAX_VALUES, filter_of
from bethink.storage.base import passes
from bethink.testing.doubles import START, FrozenClock, HashEmbedder
from bethink.testing.strategies import filters, metadata

MARCH = datetime(2026, 3, 1, tzinfo=timezone.utc)
TOPIC = ("metadata", "topic")
SECRET = "a secret of somebody"


class TestReading:
    @pytest.mark.parametrize(
        ("where", "meant"),
        [
            ({"metadata.topic": "billing"}, Compare(TOPIC, "eq", "billing")),
            ({"metadata.topic": {"eq": "billing"}}, Compare(TOPIC, "eq", "billing")),
            ({"metadata.topic": None}, Compare(TOPIC, "eq", None)),
            ({"metadata.topic": {"ne": 1}}, Not(Compare(TOPIC, "eq", 1))),
            ({"metadata.a.b.c": False}, Compare(("metadata", "a", "b", "c"), "eq", False)),
            ({'["metadata", "a.b", ""]': 1}, Compare(("metadata", "a.b", ""), "eq", 1)),
            (
                {"metadata.n": {"gt": 1, "lte": 2.5}},
                And((Compare(("metadata", "n"), "gt", 1), Compare(("metadata", "n"), "lte", 2.5))),
            ),
            ({"metadata.topic": {"in": ["a", 1, None, True]}}, In(TOPIC, ("a", 1, None, True))),
            ({"metadata.topic": {"in": []}}, In(TOPIC, ())),
            ({"metadata.topic": {"nin": ["a"]}}, Not(In(TOPIC, ("a",)))),
            ({"metadata.topic": {"exists": True}}, Exists(TOPIC)),
            ({"metadata.topic": {"exists": False}}, Not(Exists(TOPIC))),
            ({"metadata.tags": {"contains": "a"}}, Contains(("metadata", "tags"), "a")),
            ({"kind": "note"}, Compare(("kind",), "eq", "note")),
            ({"trust": {"in": ["user", "external"]}}, In(("trust",), ("user", "external"))),
            ({"pinned": True}, Compare(("pinned",), "eq", True)),
            ({"at": {"gte": MARCH}}, Compare(("at",), "gte", MARCH)),
            ({"at": {"gte": "2026-03-01T00:00:00Z"}}, Compare(("at",), "gte", MARCH)),
            ({"at": {"lt": "2026-03-01T01:00:00+01:00"}}, Compare(("at",), "lt", MARCH)),
            ({"kind": "note", "role": "user"}, And((Compare(("kind",), "eq", "note"), Compare(("role",), "eq", "user")))),
            (
                {"or": [{"kind": "note"}, {"role": "user"}]},
                Or((Compare(("kind",), "eq", "note"), Compare(("role",), "eq", "user"))),
            ),
            ({"not": {"kind": "note"}}, Not(Compare(("kind",), "eq", "note"))),
            ({"$and": [{"metadata.n": {"$gte": 1}}]}, And((Compare(("metadata", "n"), "gte", 1),))),
            ({"AND": [{"kind": "note"}]}, And((Compare(("kind",), "eq", "note"),))),
            (
                Exists(TOPIC) & ~Exists(("role",)) | Exists(("tier",)),
                Or((And((Exists(TOPIC), Not(Exists(("role",))))), Exists(("tier",)))),
            ),
            ({"and": [Exists(TOPIC)]}, And((Exists(TOPIC),))),
        ],
    )
    def test_a_filter_as_written_is_the_filter_as_meant(self, where: Any, meant: Filter) -> None:
        assert repr(filter_of(where)) == repr(meant)

    def test_no_filter_is_none(self) -> None:
        assert filter_of(None) is None

    @settings(max_examples=50)
    @given(filters())
    def test_a_filter_that_was_read_reads_the_same_again(self, where: Filter) -> None:
        assert repr(filter_of(where)) == repr(where)


class TestRefusing:
    @pytest.mark.parametrize(
        ("where", "field", "said"),
        [
            ({"topic": "x"}, "where.topic", "no field of that name — use one of at, author, kind, .* metadata.<key>"),
            ({"metadata": "x"}, "where.metadata", "no field of that name"),
            ({"kind.name": "x"}, "where.kind.name", "no field"),
            ({"user_id": "x"}, "where.user_id", "no field"),
            ({"namespace": "x"}, "where.namespace", "no field"),
            ({"": "x"}, "where.<a path of 0 characters>", "no field"),
            ({"metadata..x": 1}, "where", "nothing between two dots"),
            ({"metadata.": 1}, "where", "nothing between two dots"),
            ({"[broken": 1}, "where", "no list of keys"),
            ({"[" * 5_000: 1}, "where", "no list of keys"),
            ({'["metadata", 1]': 1}, "where", "no list of keys"),
            ({1: 2}, "where", "an int — name a field as text"),
            ({"metadata.x": {"near": 1}}, "where.metadata.x", "no such operator — use one of eq, lt,"),
            ({"metadata.x": {"$regex": "a"}}, "where.metadata.x", "no such operator"),
            ({"metadata.x": {"a": {"b": True}}}, "where.metadata.x", "no such operator"),
            ({"metadata.x": {}}, "where.metadata.x", "an empty dict"),
            ({"metadata.x": [1]}, "where.metadata.x.eq", 'a list — pass one value; "in" takes a list'),
            ({"metadata.x": {"gt": [1]}}, "where.metadata.x.gt", "a list"),
            ({"metadata.x": {"gt": True}}, "where.metadata.x.gt", "a bool — it has no order"),
            ({"metadata.x": {"lt": None}}, "where.metadata.x.lt", "null — it has no order"),
            ({"metadata.x": {"in": "abc"}}, "where.metadata.x.in", "a str — pass a list"),
            ({"metadata.x": {"in": [1, {}]}}, "where.metadata.x.in[1]", "a dict"),
            ({"metadata.x": {"exists": 1}}, "where.metadata.x.exists", "an int — pass true or false"),
            ({"metadata.x": float("nan")}, "where.metadata.x.eq", "not finite"),
            ({"metadata.x": {"lt": float("inf")}}, "where.metadata.x.lt", "not finite"),
            ({"metadata.x": 2**63}, "where.metadata.x.eq", "64 bits"),
            ({"metadata.x": MARCH}, "where.metadata.x.eq", "a datetime — metadata is JSON"),
            ({"metadata.x": b"x"}, "where.metadata.x.eq", "a bytes"),
            ({"metadata.x": "a\x00"}, "where.metadata.x.eq", "NUL"),
            ({"metadata.a\x00": 1}, "where", "NUL"),
            ({"metadata.x": "\ud800"}, "where.metadata.x.eq", "surrogate"),
            ({"at": {"gte": datetime(2026, 3, 1)}}, "where.at.gte", "naive datetime"),  # noqa: DTZ001 - the point of it
            ({"at": {"gte": "2026-03-01T00:00:00"}}, "where.at.gte", "naive datetime"),
            ({"at": {"gte": "last week"}}, "where.at.gte", "no time — write it as 2026-03-01T00:00:00Z"),
            ({"at": 5}, "where.at.eq", "an int"),
            ({"kind": "messages"}, "where.kind.eq", "no kind of that name — use one of message, note"),
            ({"role": {"in": ["human"]}}, "where.role.in[0]", "no role of that name"),
            ({"trust": {"gt": "user"}}, "where.trust.gt", "not for this field"),
            ({"speaker": None}, "where.speaker.eq", 'null.* {"exists": false}'),
            ({"speaker": ["Mara"]}, "where.speaker.eq", "a list"),
            ({"speaker": {"contains": "M"}}, "where.speaker.contains", "only metadata"),
            ({"pinned": 1}, "where.pinned.eq", "an int — pass true or false"),
            ({"or": []}, "where.or", "an empty list"),
            ({"and": {"kind": "note"}}, "where.and", "a dict — pass a list"),
            ({"or": [{}]}, "where.or[0]", "empty"),
            ({"not": []}, "where.not", "a list"),
            ({"or": ["x"]}, "where.or[0]", "a str"),
            ({}, "where", "empty — it could mean everything or nothing"),
            ([], "where", "a list — pass a dict"),
            ("kind = note", "where", "a str — pass a dict"),
            (Compare(("topic",), "eq", 1), "where.topic", "no field"),
            (Compare(TOPIC, "near", 1), "where.metadata.topic", "no such comparison"),  # type: ignore[arg-type]
            (Compare(TOPIC, "eq", [1]), "where.metadata.topic.eq", "a list"),  # type: ignore[arg-type]
            (In(TOPIC, "abc"), "where.metadata.topic.in", "a str"),  # type: ignore[arg-type]
            (And(()), "where.and", "an empty list"),
            (Or((Exists(TOPIC), 5)), "where.or[1]", "an int"),  # type: ignore[arg-type]
            (And(5), "where.and", "an int"),  # type: ignore[arg-type]
            (Not(Exists(("x",))), "where.not.x", "no field"),
            (Filter(), "where", "no filter"),
        ],
    )
    def test_what_is_not_understood_is_refused_by_name(self, where: Any, field: str, said: str) -> None:
        with pytest.raises(InvalidInput, match=said) as refused:
            filter_of(where)
        assert refused.value.field == field
        assert refused.value.fix or "NUL" in said

    def test_a_filter_has_bounds(self) -> None:
        deep: dict[str, Any] = {"kind": "note"}
        for _ in range(MAX_DEPTH):
            deep = {"not": deep}
        circular: dict[str, Any] = {}
        circular["not"] = circular
        for where, said in (
            (deep, "deep"),
            (circular, "deep"),
            ({"or": [{"kind": "note"}] * MAX_NODES}, "conditions"),
            ({"metadata.x": {"in": list(range(MAX_VALUES + 1))}}, "1,001 values"),
            ({"metadata" + ".x" * 17: 1}, "path of 18 keys"),
            ({"metadata." + "x" * 10_001: 1}, "10,010 characters"),
            ({"metadata.x": "x" * 10_001}, "10,001 characters"),
        ):
            with pytest.raises(InvalidInput, match=said):
                filter_of(where)

    @pytest.mark.parametrize(
        "where",
        [
            {"metadata.x": [SECRET]},
            {"kind": SECRET},
            {"at": SECRET},
            {"metadata.x": {"in": SECRET}},
            {"metadata." + SECRET * 9 + "\n": []},
        ],
    )
    def test_a_value_is_in_no_error(self, where: dict[str, Any]) -> None:
        with pytest.raises(InvalidInput) as refused:
            filter_of(where)
        assert "secret" not in str(refused.value)

    @settings(max_examples=100)
    @given(
        st.recursive(
            st.none() | st.booleans() | st.floats() | st.integers() | st.text(max_size=8) | st.binary(max_size=2),
            lambda inner: (
                st.lists(inner, max_size=3)
                | st.dictionaries(
                    st.sampled_from(("and", "or", "not", "at", "kind", "metadata.x", "in", "gt", "$exists", "[0]"))
                    | st.text(max_size=4),
                    inner,
                    max_size=3,
                )
            ),
        )
    )
    def test_V074_anything_is_a_filter_or_invalid_input(self, where: Any) -> None:
        try:
            found = filter_of(where)
        except InvalidInput:
            return
        assert where is None or isinstance(found, Filter)


class TestMeaning:
    @settings(max_examples=100)
    @given(filters(), filters(), metadata())
    def test_not_is_the_exact_opposite(self, one: Filter, other: Filter, held: dict[str, Any]) -> None:
        fields = {"at": START, "kind": "note", "metadata": held, "pinned": False, "trust": "user"}
        assert passes(~one, fields) is not passes(one, fields)
        assert passes(one & other, fields) is (passes(one, fields) and passes(other, fields))
        assert passes(one | other, fields) is not passes(~one & ~other, fields)


@pytest.fixture(params=["memory", "sqlite"])
def memory(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Memory]:
    path = ":memory:" if request.param == "memory" else tmp_path / "agent.db"
    with Memory(path, clock=FrozenClock(), embedder=HashEmbedder()) as opened:
        yield opened
        assert opened.check() == []


def fill(memory: Memory) -> None:
    memory.thread("t").append(
        [
            said("m1", "Refund of the March invoice", name="Mara", metadata={"topic": "billing", "open": True}),
            said("m2", "Refund of the April invoice", name="Tobias", metadata={"topic": "billing", "open": False}),
            said("m3", "Refund of a train ticket", name="Mara", metadata={"topic": "travel"}),
        ]
    )
    memory.store("refund policy: an invoice within 30 days", {"topic": "policy", "since": {"year": 2024}})


def said(message_id: str, text: str, **fields: Any) -> Message:
    at = START + timedelta(days=int(message_id[1:]))
    return Message(id=message_id, role="user", content=text, created_at=at, **fields)


def texts(memory: Memory, where: Any, query: str = "refund invoice") -> set[str]:
    return {hit.id if hit.kind == "message" else hit.kind for hit in memory.recall(query, where=where)}


class TestRecall:
    @pytest.mark.parametrize(
        ("where", "expected"),
        [
            ({"metadata.topic": "billing"}, {"m1", "m2"}),
            ({"metadata.topic": "billing", "speaker": "Mara"}, {"m1"}),
            ({"metadata.topic": {"ne": "billing"}}, {"m3", "note"}),
            ({"metadata.open": False}, {"m2"}),
            ({"metadata.open": {"exists": False}}, {"m3", "note"}),
            ({"metadata.since.year": {"gte": 2024}}, {"note"}),
            ({"metadata.since.year": {"gte": "2024"}}, set()),
            ({"at": {"gte": START + timedelta(days=2), "lt": START + timedelta(days=3)}}, {"m2"}),
            ({"or": [{"kind": "note"}, {"speaker": {"in": ["Tobias"]}}]}, {"m2", "note"}),
            ({"thread_id": "t", "not": {"metadata.topic": "billing"}}, {"m3"}),
            (Compare(("speaker",), "eq", "Mara") & ~Compare(("metadata", "topic"), "eq", "travel"), {"m1"}),
        ],
    )
    def test_recall_finds_only_what_the_filter_is_true_of(self, memory: Memory, where: Any, expected: set[str]) -> None:
        fill(memory)
        assert texts(memory, where) == expected
        assert {
            hit.id if hit.kind == "message" else hit.kind for hit in memory.retrieve("refund invoice", where=where)
        } == expected

    def test_a_score_is_the_same_with_and_without_a_filter(self, memory: Memory) -> None:
        fill(memory)
        whole = {hit.id: hit for hit in memory.recall("refund invoice")}
        (hit,) = memory.recall("refund invoice", where={"metadata.open": True})
        assert hit == whole[hit.id]

    def test_what_is_left_out_makes_room_for_others(self, memory: Memory) -> None:
        memory.thread("t").append(said(f"m{number}", "herons", metadata={"n": number}) for number in range(300))
        assert {hit.id for hit in memory.recall("herons", 3, where={"metadata.n": {"lt": 2}})} == {"m0", "m1"}

    def test_nothing_that_passes_says_so(self, memory: Memory) -> None:
        fill(memory)
        found = memory.recall("refund invoice", where={"speaker": "nobody"})
        assert (list(found), found.empty_reason) == ([], "nothing that passes the filter matches the query")

    def test_V075_what_is_refused_is_refused_before_anything_runs(self, memory: Memory) -> None:
        memory.thread("t").add("user", "My name is Alma.")
        for where in ({"metadata.x": {"near": 1}}, {"topic": "x"}, {}):
            with pytest.raises(InvalidInput, match="where"):
                memory.recall("name", where=where)
            with pytest.raises(InvalidInput, match="where"):
                memory.retrieve("name", where=where)
        assert memory.threads()[0].extracted_through == 0

    @pytest.mark.parametrize("key", ["x') OR 1=1 --", 'x" OR "1"="1', "$", "[0]", "a b", "?", "x" * 9_000, "é", "\\", "%"])
    def test_V074_a_crafted_key_finds_nothing_of_others(self, memory: Memory, key: str) -> None:
        memory.user("bob").store("the herons of bob", {"v": "y"})
        memory.user("ada").store("the herons of ada", {"v": "y"})
        for where in ({json.dumps(["metadata", key]): "y"}, {json.dumps(["metadata", key]): {"exists": True}}):
            assert list(memory.user("ada").recall("herons", where=where)) == []
        with pytest.raises(InvalidInput):
            memory.user("ada").recall("herons", where={key: "y"})

    def test_V076_metadata_is_told_apart_by_type(self, memory: Memory) -> None:
        values: dict[str, Any] = {
            "true": True,
            "false": False,
            "one": 1,
            "zero": 0,
            "point": 1.0,
            "text": "1",
            "word": "true",
            "null": None,
            "list": [1],
            "deep": {"a": {"b": True}},
        }
        notes = {memory.store(f"herons {name}", {"v": value}).id: name for name, value in values.items()}
        notes[memory.store("herons missing").id] = "missing"

        def found(where: dict[str, Any]) -> set[str]:
            return {notes[hit.id] for hit in memory.recall("herons", 20, where=where)}

        assert found({"metadata.v": True}) == {"true"}
        assert found({"metadata.v": False}) == {"false"}
        assert found({"metadata.v": 1}) == found({"metadata.v": 1.0}) == {"one", "point"}
        assert found({"metadata.v": "1"}) == {"text"}
        assert found({"metadata.v": "true"}) == {"word"}
        assert found({"metadata.v": None}) == {"null"}
        assert found({"metadata.v": {"exists": False}}) == {"missing"}
        assert found({"metadata.v": {"contains": 1}}) == {"list"}
        assert found({"metadata.v.a.b": True}) == {"deep"}

    def test_V079_a_filter_names_no_namespace(self, memory: Memory) -> None:
        for field in ("namespace", "user", "user_id", "tenant", "app_id"):
            with pytest.raises(InvalidInput, match="no field of that name"):
                memory.recall("herons", where={field: "bob"})

    @pytest.mark.parametrize("keyword", ["filter", "filters", "metadata", "user_id"])
    def test_V081_a_filter_under_another_keyword_is_an_error(self, memory: Memory, keyword: str) -> None:
        with pytest.raises(TypeError):
            memory.recall("herons", **{keyword: {"speaker": "Mara"}})  # type: ignore[arg-type]
        with pytest.raises(TypeError):
            memory.retrieve("herons", **{keyword: {"speaker": "Mara"}})  # type: ignore[arg-type]


def test_a_filter_means_the_same_on_an_event_loop(tmp_path: Path) -> None:
    import anyio

    with Memory(tmp_path / "agent.db", clock=FrozenClock(), embedder=None) as memory:
        fill(memory)
        expected = memory.recall("refund", where={"speaker": "Mara"})

    async def ask() -> None:
        async with AsyncMemory(tmp_path / "agent.db", clock=FrozenClock(), embedder=None) as memory:
            assert await memory.recall("refund", where={"speaker": "Mara"}) == expected
            assert await memory.retrieve("refund", where={"speaker": "Mara"}) == list(expected)
            with pytest.raises(InvalidInput, match="where"):
                await memory.recall("refund", where={"speakers": "Mara"})

    anyio.run(ask)


class TestCommandLine:
    @pytest.fixture
    def db(self, tmp_path: Path) -> Path:
        path = tmp_path / "agent.db"
        with Memory(path, clock=FrozenClock(), embedder=None) as memory:
            fill(memory)
        return path

    def test_where_is_json(self, db: Path) -> None:
        words = ["recall", "refund", "--db", str(db), "--where", '{"metadata.topic": "billing", "speaker": "Mara"}', "--json"]
        result = CliRunner().invoke(app, words)
        assert result.exit_code == 0, result.output
        assert [hit["id"] for hit in json.loads(result.stdout)["hits"]] == ["m1"]

    @pytest.mark.parametrize(
        ("where", "said"),
        [
            ('{"speaker": ', "no JSON"),
            ("[" * 5_000, "no JSON"),
            ('{"speaker": "Mara", "speaker": "Tobias"}', "the same key twice"),
            ('{"metadata.x": NaN}', "not finite"),
            ('"Mara"', "a str"),
            ('{"topic": "x"}', "no field of that name"),
        ],
    )
    def test_what_is_no_filter_is_bad_input(self, db: Path, where: str, said: str) -> None:
        result = CliRunner().invoke(app, ["recall", "refund", "--db", str(db), "--where", where, "--json"])
        assert result.exit_code == 2, result.output
        error = json.loads(result.stderr)["error"]
        assert (error["type"], said in error["message"]) == ("InvalidInput", True)
        assert error["field"].startswith("where")

    def test_the_help_shows_how(self) -> None:
        assert "--where '{" in CliRunner().invoke(app, ["recall", "--help"]).output
