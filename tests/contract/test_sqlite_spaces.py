"""Vector spaces in SQLite: what a switch costs, what is swept and when, what memory holds, and what `check` sees."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import numpy as np
import pytest
from numpy.typing import NDArray

from bethink.models import Fingerprint
from bethink.records import Note
from bethink.storage.base import Forget, Pending, Put, Scan, Scope, Search
from bethink.storage.sqlite import SqliteStore, partition, spaces
from bethink.storage.sqlite.queries import q
from bethink.testing.doubles import START as AT

NS = ("acme", "ada")
EVERYTHING = Scope((), subtree=True)
Floats = NDArray[np.float32]

OLD, NEW, OTHER = Fingerprint("old", 64, "0" * 16), Fingerprint("new", 96, "1" * 16), Fingerprint("other", 64, "2" * 16)


@pytest.fixture
def store(tmp_path: Path) -> Iterator[SqliteStore]:
    with closing(SqliteStore(tmp_path / "memory.db", durability="normal")) as store:
        store.bind_embedder(OLD)
        yield store
        assert store.check() == []


def drawn(count: int, space: Fingerprint) -> Floats:
    random = np.random.default_rng(int(space.probe[0]) + 1)
    vectors = random.standard_normal((count, space.dimension))
    unit: Floats = (vectors / np.linalg.norm(vectors, axis=1, keepdims=True)).astype(np.float32)
    return unit


def keep(store: SqliteStore, count: int, namespace: tuple[str, ...] = NS) -> None:
    notes = tuple(Note(id=f"r{each}", text="bees", trust="user", recorded_at=AT) for each in range(count))
    store.put(Put(namespace=namespace, records=notes))


def fill(store: SqliteStore, vectors: Floats, space: Fingerprint, namespace: tuple[str, ...] = NS) -> None:
    """The units that wait get these, in their order."""
    waiting = store.scan(Scan(what="pending", scope=Scope(namespace), limit=len(vectors), space=space)).items
    units = [each.unit for each in waiting if isinstance(each, Pending)]
    pairs = tuple((unit, vector.tobytes()) for unit, vector in zip(units, vectors, strict=True))
    store.put(Put(namespace=namespace, vectors=pairs, space=space))


def changed(store: SqliteStore, count: int) -> None:
    """A file of two spaces' vectors, of which the first is leaving."""
    keep(store, count)
    fill(store, drawn(count, OLD), OLD)
    store.fill_space(NEW)
    fill(store, drawn(count, NEW), NEW)
    assert store.switch_space(NEW)


def rows(store: SqliteStore, table: str) -> int:
    with store._readers.reading() as database:
        count: int = database.execute(f"SELECT count(*) FROM {table}")[0][0]
        return count


def nearest(store: SqliteStore, vector: Floats, space: Fingerprint, limit: int = 10) -> set[str]:
    found = store.search(Search(scope=Scope(NS), vector=vector.tobytes(), limit=limit, space=space))
    return {each.id for each in found.candidates}


def true(vectors: Floats, query: Floats, limit: int = 10) -> set[str]:
    return {f"r{each}" for each in np.argsort(-(vectors @ query), kind="stable")[:limit]}


# -- what it costs --------------------------------------------------------------------------------------------------------


def test_a_switch_writes_two_rows_however_many_vectors_there_are(store: SqliteStore) -> None:
    keep(store, 300)
    fill(store, drawn(300, OLD), OLD)
    store.fill_space(NEW)
    fill(store, drawn(300, NEW), NEW)
    before, after = store._writer.run(
        lambda database: (database.total_changes(), (spaces.switch(database, NEW, 0), database.total_changes())[1])
    )
    assert after - before == 2


@pytest.mark.parametrize(
    ("statement", "step"),
    [
        ("codes_after", "COVERING INDEX vectors_by_space (space=? AND namespace=? AND id>?)"),
        ("vector_states", "COVERING INDEX vectors_by_space (space=? AND namespace=?)"),
        ("vectors_after", "INDEX vectors_by_space (space=? AND namespace=? AND id>?)"),
        ("namespaces_in_scope", "SEARCH p USING PRIMARY KEY (space=? AND namespace=?)"),
        ("scan_pending_of_namespace", "SEARCH p USING COVERING INDEX pending_by_namespace (space=? AND namespace=? AND unit>?"),
        ("scan_pending", "SEARCH p USING PRIMARY KEY (space=? AND unit>?"),
        ("sweep_vectors", "SEARCH vectors USING COVERING INDEX vectors_by_space (space=?)"),
        ("drop_pending", "SEARCH pending USING PRIMARY KEY (space=? AND unit=?)"),
        ("drop_vectors", "SEARCH vectors USING COVERING INDEX sqlite_autoindex_vectors_1 (unit=?)"),
    ],
)
def test_what_is_read_of_a_space_is_read_from_its_part_of_an_index(store: SqliteStore, statement: str, step: str) -> None:
    sql = getattr(q, statement).replace("{order}", "ASC")
    with store._readers.reading() as database:
        count = max([sql.count("?") - sum(sql.count(f"?{n}") for n in range(1, 7)), *(n for n in range(7) if f"?{n}" in sql)])
        plan = [row[3] for row in database.execute(f"EXPLAIN QUERY PLAN {sql}", (None,) * count)]
    assert any(step in line for line in plan), plan
    # Namespaces of a scope come by path, and are few.
    assert statement == "namespaces_in_scope" or not [line for line in plan if "TEMP B-TREE" in line]


# -- sweeping -------------------------------------------------------------------------------------------------------------


def test_what_a_switch_leaves_is_swept_some_at_a_time_and_the_rest_later(
    store: SqliteStore, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(spaces, "_SWEPT", 10)
    changed(store, 35)
    assert [store.sweep() for _ in range(2)] == [True, True]
    assert rows(store, "vectors") == 50
    assert store.check() == []
    with closing(SqliteStore(store.path, durability="normal")) as other:
        assert [other.sweep() for _ in range(3)] == [True, False, False]
    assert (rows(store, "vectors"), rows(store, "spaces"), rows(store, "partitions")) == (35, 1, 1)


def test_what_was_given_up_is_swept_with_all_that_waited_for_it(store: SqliteStore, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(spaces, "_SWEPT_PENDING", 10)
    keep(store, 25)
    for space in (NEW, OTHER, NEW):
        store.fill_space(space)
    assert (rows(store, "spaces"), rows(store, "pending")) == (4, 100)
    while store.sweep():
        assert store.check() == []
    assert (rows(store, "spaces"), rows(store, "pending")) == (2, 50)


def test_what_is_forgotten_before_the_sweep_leaves_no_vector_anywhere(store: SqliteStore) -> None:
    changed(store, 20)
    store.forget(Forget(scope=Scope(NS), at=AT, record_id="r3"))
    assert rows(store, "vectors") == 38
    assert store.check() == []
    store.forget(Forget(scope=Scope(("acme",), subtree=True), at=AT))
    assert (rows(store, "vectors"), rows(store, "partitions"), rows(store, "pending")) == (0, 0, 0)


# -- what memory holds ----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("count", [30, 200])
def test_each_space_finds_its_own_nearest_in_every_process(
    store: SqliteStore, monkeypatch: pytest.MonkeyPatch, count: int
) -> None:
    monkeypatch.setattr(partition, "EXACT", 40)
    old, new = drawn(count, OLD), drawn(count, OTHER)
    keep(store, count)
    fill(store, old, OLD)
    with closing(SqliteStore(store.path, durability="normal")) as other:
        store.fill_space(OTHER)
        for first in range(0, count, 50):
            fill(store, new[first : first + 50], OTHER)
            for reader in (store, other):
                assert nearest(reader, old[7], OLD) == true(old, old[7])
                assert nearest(reader, new[7], OTHER) == true(new[: first + 50], new[7])
        store.switch_space(OTHER)
        for reader in (store, other):
            assert nearest(reader, new[11], OTHER) == true(new, new[11])
        while other.sweep():
            pass
        for reader in (store, other):
            assert nearest(reader, new[12], OTHER) == true(new, new[12])


def test_a_number_of_a_space_is_never_given_again(store: SqliteStore) -> None:
    keep(store, 5)
    fill(store, drawn(5, OLD), OLD)
    numbers = set()
    for space in (NEW, OTHER, NEW, OLD):
        store.fill_space(space)
        fill(store, drawn(5, space), space)
        store.switch_space(space)
        while store.sweep():
            pass
        with store._readers.reading() as database:
            numbers.add(spaces.in_use(database)[0].number)
        assert nearest(store, drawn(5, space)[2], space, 1) == {"r2"}
    assert len(numbers) == 4


# -- check ----------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("damage", "repair", "what"),
    [
        (
            "UPDATE spaces SET state = 'leaving' WHERE id = 1",
            "UPDATE spaces SET state = 'current' WHERE id = 1",
            "are not one that is current and at most one that is filling",
        ),
        (
            "UPDATE partitions SET embedded = embedded + 1 WHERE space = 2",
            "UPDATE partitions SET embedded = embedded - 1 WHERE space = 2",
            "does not count the vectors of its space and namespace",
        ),
        (
            "UPDATE partitions SET namespace = 99 WHERE space = 2",
            "UPDATE partitions SET namespace = (SELECT namespace FROM partitions WHERE space = 1) WHERE space = 2",
            "is counted nowhere",
        ),
        (
            "UPDATE spaces SET dimension = 8 WHERE id = 2",
            "UPDATE spaces SET dimension = 96 WHERE id = 2",
            "is not of the dimension of its space",
        ),
        (
            "INSERT INTO pending (space, unit, namespace) SELECT 2, unit, namespace FROM vectors WHERE space = 2 LIMIT 1",
            "DELETE FROM pending WHERE unit IN (SELECT unit FROM vectors WHERE space = 2)",
            "has no vector of a space in use and does not wait for one, or both",
        ),
        (
            "DELETE FROM pending WHERE space = 2",
            "INSERT INTO pending (space, unit, namespace) SELECT 2, id, namespace FROM units WHERE id > 4",
            "has no vector of a space in use and does not wait for one, or both",
        ),
        (
            "UPDATE vectors SET space = 9 WHERE space = 2",
            "UPDATE vectors SET space = 2 WHERE space = 9",
            "has no unit or no space, or differs from its unit in namespace, kind or state",
        ),
    ],
)
def test_check_sees_what_is_wrong_with_a_space(store: SqliteStore, damage: str, repair: str, what: str) -> None:
    keep(store, 6)
    fill(store, drawn(6, OLD), OLD)
    store.fill_space(NEW)
    fill(store, drawn(4, NEW), NEW)
    assert store.check() == []
    store._writer.run(lambda database: database.execute(damage))
    assert what in {problem.what for problem in store.check()}
    store._writer.run(lambda database: database.execute(repair))
