"""Filters as SQL: for any filter and anything stored, SQLite finds what the definition of the filter says."""

from __future__ import annotations

import warnings
from collections.abc import Iterator
from contextlib import closing
from datetime import timedelta
from itertools import count
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from msgspec.structs import replace

from bethink.messages import Message, Role, Tier, Trust
from bethink.records import AnyRecord, Insight, Line, Note, Source, Summary
from bethink.storage.base import (
    And,
    Append,
    Compare,
    Contains,
    Exists,
    Filter,
    In,
    Not,
    Or,
    Pending,
    Put,
    Scan,
    Scope,
    Search,
    fields_of,
    passes,
)
from bethink.storage.sqlite import SqliteStore, filters
from bethink.storage.sqlite.driver import Driver
from bethink.storage.sqlite.values import micros
from bethink.testing.doubles import START, HashEmbedder
from bethink.testing.strategies import filters as any_filter
from bethink.testing.strategies import metadata
from bethink.values import Namespace

EMBEDDER = HashEmbedder()
NUMBERS = count()
MOMENTS = st.integers(-3, 3).map(lambda minutes: START + timedelta(minutes=minutes)) | st.integers(-2, 2).map(
    lambda moments: START + timedelta(microseconds=moments)
)
ROLES: tuple[Role, ...] = ("user", "assistant")
TIERS: tuple[Tier, ...] = ("working", "long_term", "ephemeral")
TRUSTS: tuple[Trust, ...] = ("user", "assistant", "tool", "external")


@pytest.fixture(scope="module", params=["apsw", "sqlite3"])
def store(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[SqliteStore]:
    """One store for all examples, each of which has a namespace of its own."""
    driver: Driver = request.param
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", RuntimeWarning)
        path: Path = tmp_path_factory.mktemp(driver) / "memory.db"
        opened = SqliteStore(path, driver=driver, durability="normal")
    with closing(opened):
        opened.bind_embedder(EMBEDDER.fingerprint)
        yield opened


@st.composite
def said(draw: st.DrawFn) -> Message:
    return Message(
        role=draw(st.sampled_from(ROLES)),
        content="bees",
        name=draw(st.sampled_from((None, None, "Ada", ""))),
        external=draw(st.booleans()),
        tier=draw(st.sampled_from(TIERS)),
        created_at=draw(MOMENTS),
        metadata=draw(metadata()),
    )


@st.composite
def kept(draw: st.DrawFn) -> AnyRecord:
    shared: dict[str, Any] = {
        "id": "",
        "text": "bees",
        "trust": draw(st.sampled_from(TRUSTS)),
        "recorded_at": draw(MOMENTS),
        "pinned": draw(st.booleans()),
        "metadata": draw(metadata()),
        "author": draw(st.sampled_from(("", "ann", "ben"))),
    }
    kind = draw(st.sampled_from(("note", "note", "insight", "summary")))
    if kind == "insight":
        return Insight(**shared, topic="identity", subject="user", slot="x", value="x")
    if kind == "summary":
        return Summary(
            **shared,
            thread_id="t",
            lines=(Line("bees", ("x",), START),),
            through=1,
            sources=(Source("x", "t", ""),),
        )
    return Note(**shared)


@settings(max_examples=60, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow])
@given(
    messages=st.lists(said(), max_size=4),
    records=st.lists(kept(), max_size=4),
    settled=st.booleans(),
    rare=st.booleans(),
    wanted=st.lists(any_filter(), min_size=1, max_size=8),
)
def test_SQL_is_true_where_the_filter_is(
    store: SqliteStore,
    messages: list[Message],
    records: list[AnyRecord],
    settled: bool,
    rare: bool,
    wanted: list[Filter],
) -> None:
    namespace = (str(next(NUMBERS)),)
    stored = fill(store, namespace, messages, records)
    if settled:
        embed(store, namespace)
    if rare:
        # Words that few have are looked for in another way than words that most have.
        other = tuple(Note(id=f"o{number}", text="rain", trust="user", recorded_at=START) for number in range(9))
        store.put(Put(namespace=namespace, records=other))
    for where in wanted:
        expected = {name for name, fields in stored.items() if passes(where, fields)}
        assert found(store, namespace, where, words=True) == expected
        if settled:
            assert found(store, namespace, where, words=False) == expected
            one = found(store, namespace, where, words=False, limit=1)
            assert one <= expected
            assert len(one) == min(1, len(expected))


def test_no_value_and_no_key_is_text_of_a_statement() -> None:
    strange = 'zebra\' OR "1"="1'
    path = ("metadata", strange, "zebra")
    tests: tuple[Filter, ...] = (
        *(Compare(path, op, value) for op in ("eq", "lt", "lte", "gt", "gte") for value in (strange, 4711, 0.4711)),
        *(Compare((name,), "eq", strange) for name in ("kind", "role", "speaker", "thread_id", "tier", "trust")),
        *(test for where in (path, ("metadata", "zebra")) for test in (In(where, (strange, 4711)), Contains(where, strange))),
        Exists(path),
        In(("speaker",), (strange,)),
    )
    for where in (*tests, And(tests), Or(tests), Not(And(tests))):
        for condition in (filters.of_message(where), filters.of_record(where)):
            assert "zebra" not in condition.sql
            assert "4711" not in condition.sql
            assert condition.sql.count("?") == len(condition.parameters)


@pytest.mark.parametrize(("few", "scans"), [(0, False), (3, True), (40, False)])
def test_all_units_are_looked_at_only_where_few_of_the_nearest_pass(
    store: SqliteStore, monkeypatch: pytest.MonkeyPatch, few: int, scans: bool
) -> None:
    namespace = (f"few {few}",)
    words = (("b", "bees"),) * 250 + (("a", "bees" if few > 3 else "far away from them"),) * few
    notes = [
        Note(id=f"r{number}", text=text, trust="user", recorded_at=START, metadata={"topic": topic})
        for number, (topic, text) in enumerate(words)
    ]
    store.put(Put(namespace=namespace, records=tuple(notes)))
    embed(store, namespace)
    asked: list[str] = []
    whole = filters.Passing._scan

    def counted(self: filters.Passing) -> list[int]:
        asked.append("all")
        return whole(self)

    monkeypatch.setattr(filters.Passing, "_scan", counted)
    where = Compare(("metadata", "topic"), "eq", "b" if not few or few > 3 else "a")
    assert len(found(store, namespace, where, words=False, limit=3)) == 3
    assert bool(asked) is scans


@given(where=any_filter(), message=said(), record=kept())
def test_what_passes_a_filter_is_of_its_span_of_time(where: Filter, message: Message, record: AnyRecord) -> None:
    first, last = filters.span_of(where)
    for thing in (message, record):
        fields = fields_of(thing, "t", {})
        assert first <= micros(fields["at"]) <= last or not passes(where, fields)


def test_a_span_of_time_is_no_wider_than_its_filter() -> None:
    day = timedelta(days=1)
    since, before = Compare(("at",), "gte", START), Compare(("at",), "lt", START + day)
    later = Compare(("at",), "gte", START + 3 * day) & Compare(("at",), "lte", START + 4 * day)
    role = Compare(("role",), "eq", "user")
    assert filters.span_of(And((since, before, role))) == (micros(START), micros(START + day))
    assert filters.span_of(Or((And((since, before)), later))) == (micros(START), micros(START + 4 * day))
    first, last = filters.span_of(And((before, later)))
    assert first > last


@pytest.mark.parametrize("words", [True, False])
def test_what_was_said_at_a_time_is_found_without_a_look_at_all_units(
    store: SqliteStore, monkeypatch: pytest.MonkeyPatch, words: bool
) -> None:
    namespace = (f"at a time {words}",)
    said_daily = [
        Message(role="user", content="bees", id=f"{namespace[0]} {day}", created_at=START + timedelta(days=day))
        for day in range(600)
    ]
    store.append(Append(namespace=namespace, thread_id="t", messages=tuple(said_daily), at=START))
    embed(store, namespace)

    def refused(self: filters.Passing) -> list[int]:
        raise AssertionError("all units were looked at")

    monkeypatch.setattr(filters.Passing, "_scan", refused)
    where = Compare(("at",), "gte", START + timedelta(days=300)) & Compare(("at",), "lt", START + timedelta(days=303))
    assert found(store, namespace, where, words=words) == {f"{namespace[0]} {day}" for day in (300, 301, 302)}


def test_check_sees_a_unit_that_has_another_time(store: SqliteStore) -> None:
    namespace = ("another time",)
    moment = START - timedelta(days=30_000, microseconds=1)
    said_once = Message(role="user", content="bees", id="another time", created_at=moment)
    store.append(Append(namespace=namespace, thread_id="t", messages=(said_once,), at=START))
    records = [
        Note(id=f"n{digit}", text="bees", trust="user", recorded_at=moment.replace(microsecond=digit)) for digit in (0, 120_000)
    ]
    store.put(Put(namespace=namespace, records=tuple(records)))
    embed(store, namespace)
    assert store.check() == []
    mine = "namespace = (SELECT max(id) FROM namespaces)"
    store._writer.run(lambda database: database.execute(f"UPDATE units SET at = at + 1 WHERE {mine}"))
    assert sorted(problem.what for problem in store.check()) == [
        "has a unit that is not there, stands for something else, or has another time",
        "has a unit with another time",
        "has a unit with another time",
    ]
    store._writer.run(lambda database: database.execute(f"UPDATE units SET at = at - 1 WHERE {mine}"))


@pytest.mark.slow
def test_V072_the_nearest_of_few_that_pass_are_found_among_thousands(store: SqliteStore) -> None:
    namespace, size = ("thousands",), 5_000
    draw = np.random.default_rng(72)
    vectors = draw.standard_normal((size, EMBEDDER.fingerprint.dimension)).astype("<f4")
    vectors /= np.linalg.norm(vectors, axis=1, keepdims=True)
    notes = [
        Note(id=f"r{number}", text="bees", trust="user", recorded_at=START, metadata={"n": number % 100})
        for number in range(size)
    ]
    store.put(Put(namespace=namespace, records=tuple(notes)))
    waiting = store.scan(Scan(what="pending", scope=Scope(namespace), limit=size)).items
    units = [item.unit for item in waiting if isinstance(item, Pending)]
    store.put(Put(namespace=namespace, vectors=tuple(zip(units, map(bytes, vectors), strict=True))))
    query = vectors[0] + vectors[1]
    query /= np.linalg.norm(query)
    near = sorted(range(7, size, 100), key=lambda number: -float(vectors[number] @ query))
    where = Compare(("metadata", "n"), "eq", 7)
    request = Search(scope=Scope(namespace), vector=query.tobytes(), limit=10, where=where)
    assert {candidate.id for candidate in store.search(request).candidates} == {f"r{number}" for number in near[:10]}


def fill(
    store: SqliteStore, namespace: Namespace, messages: list[Message], records: list[AnyRecord]
) -> dict[str, dict[str, Any]]:
    """Store them, after a message for the summaries to rest on that search cannot find; the fields of each by its id."""
    named = [replace(message, id=f"m{number}") for number, message in enumerate(messages)]
    put = [replace(record, id=f"r{number}") for number, record in enumerate(records)]
    wordless = Message(role="assistant", id="x", created_at=START)
    store.append(Append(namespace=namespace, thread_id="t", at=START, messages=(wordless, *named)))
    store.put(Put(namespace=namespace, records=tuple(put)))
    return {thing.id: fields_of(thing, "t", {}) for thing in (*named, *put)}


def embed(store: SqliteStore, namespace: Namespace) -> None:
    waiting = store.scan(Scan(what="pending", scope=Scope(namespace), limit=1_000)).items
    vectors = tuple((unit.unit, EMBEDDER.stored(unit.text)) for unit in waiting if isinstance(unit, Pending))
    store.put(Put(namespace=namespace, vectors=vectors))


def found(store: SqliteStore, namespace: Namespace, where: Filter, *, words: bool, limit: int = 200) -> set[str]:
    request = Search(
        scope=Scope(namespace),
        terms=("bee",) if words else (),
        vector=None if words else EMBEDDER.stored("bees"),
        limit=limit,
        where=where,
    )
    return {candidate.id for candidate in store.search(request).candidates}
