"""The dense leg of SQLite: which way it goes, that both ways find the same, and what memory holds of it."""

from __future__ import annotations

import os
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray

from bethink.models import Fingerprint
from bethink.records import Note
from bethink.storage.base import Forget, Found, InView, Pending, Put, Retire, Scan, Scope, Search
from bethink.storage.sqlite import SqliteStore, codes, dense, partition
from bethink.testing.doubles import START as AT

NS = ("acme", "ada")
DIMENSION = 96
Floats = NDArray[np.float32]


@pytest.fixture
def store(tmp_path: Path) -> Iterator[SqliteStore]:
    with closing(SqliteStore(tmp_path / "memory.db", durability="normal")) as store:
        store.bind_embedder(Fingerprint("drawn", DIMENSION, "0" * 16))
        yield store
        assert store.check() == []


@pytest.fixture
def few(monkeypatch: pytest.MonkeyPatch) -> None:
    """More than 40 vectors of a namespace are many."""
    monkeypatch.setattr(partition, "EXACT", 40)


def drawn(count: int, seed: int = 1, dimension: int = DIMENSION) -> Floats:
    """Vectors of length 1 in clusters of twenty."""
    random = np.random.default_rng(seed)
    centres = random.standard_normal((-(-count // 20), dimension))
    vectors = np.repeat(centres, 20, axis=0)[:count] + 0.6 * random.standard_normal((count, dimension))
    unit: Floats = (vectors / np.linalg.norm(vectors, axis=1, keepdims=True)).astype(np.float32)
    return unit


def keep(store: SqliteStore, vectors: Floats, *, namespace: tuple[str, ...] = NS, prefix: str = "r") -> None:
    """A note for each vector, and the vector."""
    notes = tuple(Note(id=f"{prefix}{each}", text="bees", trust="user", recorded_at=AT) for each in range(len(vectors)))
    store.put(Put(namespace=namespace, records=notes))
    waiting = store.scan(Scan(what="pending", scope=Scope(namespace), limit=len(notes))).items
    units = [each.unit for each in waiting if isinstance(each, Pending)]
    pairs = zip(units, vectors, strict=True)
    store.put(Put(namespace=namespace, vectors=tuple((unit, vector.tobytes()) for unit, vector in pairs)))


def near(store: SqliteStore, query: Floats, limit: int = 10, **options: object) -> Found:
    options.setdefault("scope", Scope(NS))
    return store.search(Search(vector=query.tobytes(), limit=limit, **options))  # type: ignore[arg-type]


def ids(found: Found) -> set[str]:
    return {each.id for each in found.candidates}


def true(vectors: Floats, query: Floats, limit: int = 10, out: frozenset[int] = frozenset()) -> set[str]:
    order = [int(each) for each in np.argsort(-(vectors @ query), kind="stable") if int(each) not in out]
    return {f"r{each}" for each in order[:limit]}


# -- which way ------------------------------------------------------------------------------------------------------------


@pytest.mark.usefixtures("few")
def test_few_vectors_are_all_compared_and_many_are_chosen_by_their_codes(store: SqliteStore) -> None:
    vectors = drawn(60)
    keep(store, vectors[:40])
    assert near(store, vectors[0]).paths == ("exact",)
    keep(store, vectors[40:], prefix="more")
    assert near(store, vectors[0]).paths == ("codes",)
    store.forget(Forget(scope=Scope(NS), at=AT, record_id="more19"))
    for number in range(19):
        store.put(Put(namespace=NS, retire=(Retire(f"more{number}", AT, "old"),)))
    assert near(store, vectors[0]).paths == ("codes",)  # retired ones are still vectors
    assert store.search(Search(scope=Scope(NS), terms=("bee",))).paths == ()


def test_the_way_depends_on_the_size_alone() -> None:
    assert (partition.path_for(0), partition.path_for(partition.EXACT)) == ("exact", "exact")
    assert partition.path_for(partition.EXACT + 1) == "codes"


@pytest.mark.usefixtures("few")
def test_a_subtree_is_searched_each_namespace_in_its_own_way(store: SqliteStore) -> None:
    vectors = drawn(80)
    keep(store, vectors[:60])
    keep(store, vectors[60:], namespace=("acme", "bob"), prefix="b")
    found = near(store, vectors[60], 1, scope=Scope(("acme",), subtree=True))
    assert (found.paths, ids(found)) == (("codes", "exact"), {"b0"})


# -- the same answer ------------------------------------------------------------------------------------------------------


@pytest.mark.usefixtures("few")
def test_both_ways_find_the_same_with_the_same_cosines(store: SqliteStore) -> None:
    vectors = drawn(300)
    keep(store, vectors)
    for query in vectors[::15]:
        found = near(store, query)
        assert ids(found) == true(vectors, query)
        for each in found.candidates:
            assert each.cosine == pytest.approx(float(vectors[int(each.id[1:])] @ query), abs=1e-6)


@pytest.mark.slow
def test_codes_find_99_of_100_of_the_ten_nearest_of_many() -> None:
    vectors, queries = drawn(20_000, dimension=384), drawn(20_000, dimension=384)[::400]
    held = coded(vectors)
    shares = []
    for query in queries:
        nearest = set(np.argsort(-(vectors @ query))[:10].tolist())
        shares.append(len(nearest & set(codes.nearest(held, len(vectors), query, 64).tolist())) / 10)
    assert np.mean(shares) >= 0.99


@pytest.mark.usefixtures("few")
def test_filters_hold_before_anything_is_cut(store: SqliteStore) -> None:
    vectors = drawn(300)
    keep(store, vectors)
    gone = [int(each) for each in np.argsort(-(vectors @ vectors[0]))[:200]]
    retired, in_view = gone[:100], gone[100:]
    store.put(Put(namespace=NS, retire=tuple(Retire(f"r{each}", AT, "old") for each in retired)))
    view = InView(namespace=NS, thread_id="t", records=tuple(f"r{each}" for each in in_view))
    found = near(store, vectors[0], in_view=view)
    assert ids(found) == true(vectors, vectors[0], out=frozenset(gone))
    assert ids(near(store, vectors[0], current=False)) == true(vectors, vectors[0])
    assert near(store, vectors[0], kinds=("message", "insight")).candidates == ()


def test_a_small_tenant_in_a_large_file_is_found_whole(store: SqliteStore) -> None:
    vectors = drawn(1_000)
    keep(store, vectors[:950], namespace=("acme", "bob"))
    keep(store, vectors[950:])
    for query in vectors[::50]:
        found = near(store, query)
        assert ids(found) == true(vectors[950:], query)
        assert found.paths == ("exact",)


@pytest.mark.usefixtures("few")
def test_more_are_found_as_they_come_and_none_that_went(store: SqliteStore) -> None:
    vectors = drawn(200)
    keep(store, vectors[:50])
    assert ids(near(store, vectors[60])) == true(vectors[:50], vectors[60])
    with closing(SqliteStore(store.path, durability="normal")) as other:
        for first in range(50, 200, 50):
            notes = tuple(Note(id=f"r{each}", text="bees", trust="user", recorded_at=AT) for each in range(first, first + 50))
            store.put(Put(namespace=NS, records=notes))
            waiting = store.scan(Scan(what="pending", scope=Scope(NS), limit=50)).items
            pairs = zip(waiting, vectors[first : first + 50], strict=True)
            store.put(Put(namespace=NS, vectors=tuple((each.unit, vector.tobytes()) for each, vector in pairs)))  # type: ignore[union-attr]
            for reader in (store, other):
                assert ids(near(reader, vectors[60])) == true(vectors[: first + 50], vectors[60])
        store.forget(Forget(scope=Scope(NS), at=AT, record_id="r60"))
        for reader in (store, other):
            assert ids(near(reader, vectors[60])) == true(vectors, vectors[60], out=frozenset({60}))


@pytest.mark.usefixtures("few")
def test_threads_that_search_while_others_add_find_what_was_there(store: SqliteStore) -> None:
    vectors = drawn(400)
    keep(store, vectors[:100])

    def add(number: int) -> None:
        keep(store, vectors[100 + 20 * number : 120 + 20 * number], namespace=(*NS, f"{number}"), prefix=f"n{number}-")

    def search(number: int) -> set[str]:
        return ids(near(store, vectors[number], 1))

    with ThreadPoolExecutor(8) as pool:
        adding = [pool.submit(add, number) for number in range(5)]
        found = [pool.submit(search, number) for number in range(60)]
        assert [each.result() for each in found] == [{f"r{number}"} for number in range(60)]
        assert [each.result() for each in adding] == [None] * 5


@pytest.mark.skipif(not hasattr(os, "fork"), reason="no fork on this system")
@pytest.mark.usefixtures("few")
def test_a_forked_child_finds_what_its_parent_does(store: SqliteStore) -> None:
    vectors = drawn(100)
    keep(store, vectors)
    assert ids(near(store, vectors[7], 1)) == {"r7"}
    child = os.fork()
    if child == 0:
        # Only os._exit leaves a forked test runner; the status says whether all went well.
        try:
            os._exit(0 if ids(near(store, vectors[8], 1)) == {"r8"} else 2)
        finally:
            os._exit(1)
    assert os.waitpid(child, 0)[1] == 0
    assert ids(near(store, vectors[9], 1)) == {"r9"}


# -- what memory holds ----------------------------------------------------------------------------------------------------


def partitions(store: SqliteStore) -> list[partition.Partition]:
    assert store._partitions is not None
    return [held.partition for held in store._partitions._held.values() if held.partition is not None]


def test_nothing_of_what_was_forgotten_stays_in_memory(store: SqliteStore) -> None:
    vectors = drawn(20)
    keep(store, vectors)
    keep(store, vectors, namespace=("acme", "bob"))
    with closing(SqliteStore(store.path, durability="normal")) as other:
        for reader in (store, other):
            near(reader, vectors[0])
            near(reader, vectors[0], scope=Scope(("acme", "bob")))
        store.forget(Forget(scope=Scope(NS), at=AT, record_id="r3"))
        assert partitions(store) == []
        # Another process lets go of it at its next search, whatever that is of.
        near(other, vectors[0], scope=Scope(("acme", "bob")))
        assert [each.count for each in partitions(other)] == [20]


@pytest.mark.usefixtures("few")
def test_many_vectors_take_five_bits_a_component_and_no_more(store: SqliteStore) -> None:
    vectors = drawn(2_000)
    keep(store, vectors)
    near(store, vectors[0])
    (held,) = partitions(store)
    assert held.path == "codes"
    assert held.nbytes <= 1.1 * len(vectors) * (5 * DIMENSION / 8 + 17)


@pytest.mark.usefixtures("few")
@pytest.mark.parametrize("count", [30, 60])
def test_a_record_that_is_retired_or_revived_is_read_alone(store: SqliteStore, count: int) -> None:
    vectors = drawn(count)
    keep(store, vectors)
    near(store, vectors[4])
    note = Note(id="r4", text="bees", trust="user", recorded_at=AT)
    for turn in range(1, 4):
        store.put(Put(namespace=NS, retire=(Retire("r4", AT, "old"),)))
        assert ids(near(store, vectors[4])) == true(vectors, vectors[4], out=frozenset({4}))
        store.put(Put(namespace=NS, records=(note,)))
        assert ids(near(store, vectors[4])) == true(vectors, vectors[4])
        (held,) = partitions(store)
        assert (held.count, held.live) == (count + 2 * turn, count)


def test_a_partition_of_replaced_vectors_is_loaded_anew(store: SqliteStore) -> None:
    vectors = drawn(3)
    keep(store, vectors)
    for turn in range(20):
        store.put(Put(namespace=NS, retire=(Retire(f"r{turn % 3}", AT, "old"),)))
        store.put(Put(namespace=NS, records=(Note(id=f"r{turn % 3}", text="bees", trust="user", recorded_at=AT),)))
        assert ids(near(store, vectors[0])) == {"r0", "r1", "r2"}
        (held,) = partitions(store)
        assert held.count <= 9


def test_partitions_that_were_not_searched_for_long_are_dropped(store: SqliteStore, monkeypatch: pytest.MonkeyPatch) -> None:
    vectors = drawn(60)
    names = [("acme", name) for name in ("a", "b", "c")]
    for name in names:
        keep(store, vectors, namespace=name)
        near(store, vectors[0], scope=Scope(name))
    assert len(partitions(store)) == 3
    monkeypatch.setattr(dense, "HELD", int(2.5 * partitions(store)[0].nbytes))
    for name in (names[0], names[1]):
        assert ids(near(store, vectors[5], 1, scope=Scope(name))) == {"r5"}
    assert len(partitions(store)) == 2
    monkeypatch.setattr(dense, "HELD", 0)
    assert ids(near(store, vectors[5], 1, scope=Scope(names[2]))) == {"r5"}
    assert len(partitions(store)) == 1


def test_check_tells_a_code_that_is_not_its_vectors(store: SqliteStore) -> None:
    keep(store, drawn(3))
    right = codes.codes_of(drawn(3))[1]
    store._writer.run(lambda database: database.execute("UPDATE vectors SET code = ? WHERE id = 2", (bytes(len(right)),)))
    assert [(each.what, each.where) for each in store.check()] == [("has a code that is not its own", "vector row 2")]
    store._writer.run(lambda database: database.execute("UPDATE vectors SET code = ? WHERE id = 2", (right,)))


# -- codes ----------------------------------------------------------------------------------------------------------------


def coded(vectors: Floats) -> codes.Codes:
    """Codes of vectors, put in place in two steps that share a byte of each plane."""
    levels = np.frombuffer(b"".join(codes.codes_of(vectors)), np.uint8).reshape(len(vectors), -1)
    held = codes.empty(len(vectors), levels.shape[1])
    part = len(vectors) // 2 | 1
    held.fill(0, levels[:part])
    held.fill(part, levels[part:])
    return held


def signs(held: codes.Codes, count: int) -> NDArray[np.uint8]:
    """What the planes say of each component, a vector a column."""
    planes = np.concatenate(list(held.planes), axis=1)
    return np.unpackbits(planes.view(np.uint8), axis=1, bitorder="little")[:, :count]


def lanes(plane: NDArray[np.uint64], count: int) -> NDArray[np.bool_]:
    return np.unpackbits(plane.view(np.uint8), bitorder="little")[:count].view(np.bool_)


@given(st.integers(1, 200), st.integers(0, 50))
def test_products_order_vectors_as_their_levels_do(dimension: int, seed: int) -> None:
    vectors = drawn(40, seed, dimension)
    query = drawn(1, seed + 100, dimension)[0]
    levels = np.clip(np.floor(vectors * np.float32(dimension**0.5 / 0.335)), -8, 7)
    expected = levels @ np.rint(query * np.float32(127 / float(np.abs(query).max())))
    apart = codes._products(coded(vectors).levels, np.arange(40), query) - expected
    assert (apart == apart[0]).all()


@given(st.integers(1, 200), st.integers(0, 50))
def test_planes_hold_the_signs_wherever_they_are_put_in_place(dimension: int, seed: int) -> None:
    vectors = drawn(seed + 3, seed, dimension)
    held = coded(vectors)
    assert {len(code) for code in codes.codes_of(vectors)} == {codes.code_bytes(dimension)}
    assert (signs(held, len(vectors))[:dimension] == (vectors >= 0).T).all()


def test_planes_go_on_in_further_blocks(monkeypatch: pytest.MonkeyPatch) -> None:
    vectors = drawn(400)
    whole = coded(vectors)
    monkeypatch.setattr(codes, "_BLOCK", 2)
    monkeypatch.setattr(codes, "_PAGE", 64)
    blocks = coded(vectors)
    assert blocks.planes.shape == (4, DIMENSION, 2)
    assert (signs(blocks, 400) == signs(whole, 400)).all()
    found = [codes._by_signs(each.planes, vectors[7], 20, codes._lanes(each.planes, 400, None)) for each in (whole, blocks)]
    assert found[0].tolist() == found[1].tolist()


@given(st.integers(1, 130), st.integers(0, 50))
def test_planes_are_added_up_in_every_lane(count: int, seed: int) -> None:
    planes = np.random.default_rng(seed).integers(0, 2**64, (count, 2), dtype=np.uint64)
    expected = np.sum([lanes(plane, 128) for plane in planes], axis=0)
    digits = np.empty((count.bit_length(), 2), np.uint64)
    codes._add(planes, np.empty_like(planes), digits)
    found = np.sum([lanes(digit, 128).astype(int) << place for place, digit in enumerate(digits)], axis=0)
    assert found.tolist() == expected.tolist()


@given(st.lists(st.tuples(st.integers(0, 7), st.booleans()), min_size=1, max_size=300), st.data())
def test_the_greatest_are_all_down_to_some_sum_and_enough(given_: list[tuple[int, bool]], data: st.DataObject) -> None:
    sums, eligible = np.array([each for each, _ in given_]), np.array([may for _, may in given_])
    if not eligible.any():
        return
    wanted = data.draw(st.integers(1, int(eligible.sum())))
    room = codes.empty(len(sums), 0).planes
    digits = np.stack([codes._lanes(room, len(sums), (sums >> place & 1).astype(np.bool_)) for place in range(3)])
    found = codes._places(codes._greatest(digits, wanted, codes._lanes(room, len(sums), eligible))).tolist()
    least = np.sort(sums[eligible])[::-1][wanted - 1]
    assert found == np.flatnonzero(eligible & (sums >= least)).tolist()


@given(st.integers(2_100, 4_000), st.integers(0, 20), st.booleans())
@settings(max_examples=20)
def test_what_is_chosen_does_not_rest_on_the_order_of_the_vectors(count: int, seed: int, filtered: bool) -> None:
    random = np.random.default_rng(seed)
    vectors, query = drawn(count, seed, 32), drawn(1, seed + 100, 32)[0]
    eligible = random.random(count) < 0.7 if filtered else None
    order = random.permutation(count)
    chosen = codes.nearest(coded(vectors), count, query, 26, eligible)
    again = codes.nearest(coded(vectors[order]), count, query, 26, None if eligible is None else eligible[order])
    assert len(chosen) >= 26
    assert sorted(order[again].tolist()) == chosen.tolist()
    assert eligible is None or eligible[chosen].all()
