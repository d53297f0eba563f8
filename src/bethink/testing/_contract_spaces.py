"""The contract of vector spaces: what is searched while another is filled, when it takes over, and that two never mix."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from bethink.errors import EmbedderMismatch, InvalidInput
from bethink.models import Fingerprint
from bethink.storage.base import Found, Pending, Put, Retire, Scan, Scope, Search, Store
from bethink.testing._contract import AT, EMBEDDER, NS, ContractBase, append, embed, forget, fork, note, put, say, scan
from bethink.testing.doubles import HashEmbedder
from bethink.values import Namespace

OLD, NEW, OTHER = EMBEDDER, HashEmbedder(16, "new"), HashEmbedder(32, "other")
_ALL = Scope((), subtree=True)

Refused = Callable[[Store, Fingerprint], object]


def waiting(store: Store, embedder: HashEmbedder, scope: Scope = _ALL) -> list[Pending]:
    """Units that have no vector of an embedder's space."""
    found = store.scan(Scan(what="pending", scope=scope, space=embedder.fingerprint)).items
    return [each for each in found if isinstance(each, Pending)]


def fill(store: Store, embedder: HashEmbedder, limit: int | None = None, namespace: Namespace = ()) -> None:
    """Give the units that wait in an embedder's space their vectors, or the first of them."""
    units = waiting(store, embedder, Scope(namespace, subtree=True))[:limit]
    vectors = tuple((each.unit, embedder.stored(each.text)) for each in units)
    store.put(Put(namespace=namespace, vectors=vectors, space=embedder.fingerprint))


def near(store: Store, embedder: HashEmbedder, text: str, **options: object) -> Found:
    options.setdefault("scope", _ALL)
    return store.search(Search(vector=embedder.stored(text), space=embedder.fingerprint, **options))  # type: ignore[arg-type]


def cosines(found: Found) -> dict[str, float]:
    return {each.id: round(each.cosine, 4) for each in found.candidates if each.cosine is not None}


def states(store: Store) -> list[tuple[str, str, int, int]]:
    return [(each.fingerprint.name, each.state, each.vectors, each.pending) for each in store.spaces()]


def swept(store: Store) -> Store:
    while store.sweep():
        pass
    return store


class SpaceContract(ContractBase):
    def test_there_is_no_space_before_an_embedder_is_bound(self, store: Store) -> None:
        put(store, note("r1", "bees"))
        assert store.spaces() == ()
        store.bind_embedder(OLD.fingerprint)
        assert states(store) == [("hash", "current", 0, 1)]

    def test_filling_where_no_embedder_is_bound_binds_it(self, store: Store) -> None:
        store.fill_space(NEW.fingerprint)
        assert states(store) == [("new", "current", 0, 0)]
        assert store.switch_space(NEW.fingerprint)

    def test_a_space_that_is_filled_changes_nothing_of_the_current_one(self, store: Store) -> None:
        append(store, say("m1", "bees"), say("m2", "bees honey"))
        embed(store)
        before = near(store, OLD, "bees")
        store.fill_space(NEW.fingerprint)
        fill(store, NEW, 1)
        assert near(store, OLD, "bees") == before
        assert scan(store, "pending") == []
        assert (store.stats(Scope(NS)).embedder, store.stats(Scope(NS)).pending) == (OLD.fingerprint, 0)
        assert states(store) == [("hash", "current", 2, 0), ("new", "filling", 1, 1)]

    def test_a_space_that_is_filled_is_searched_by_who_names_it_and_the_rest_is_pending(self, store: Store) -> None:
        put(store, note("r1", "bees"), note("r2", "honey"))
        embed(store)
        store.fill_space(NEW.fingerprint)
        assert near(store, NEW, "bees").candidates == ()
        fill(store, NEW, 1)
        found = near(store, NEW, "bees", terms=("honey",))
        assert cosines(found) == {"r1": 1.0}
        assert {each.id for each in found.candidates} == {"r1", "r2"}
        assert found.pending == 1
        assert store.search(Search(scope=_ALL, terms=("honey",), space=NEW.fingerprint)).pending == 1

    def test_it_takes_over_when_nothing_waits_and_not_before(self, store: Store) -> None:
        put(store, note("r1", "bees"), note("r2", "honey"))
        embed(store)
        store.fill_space(NEW.fingerprint)
        fill(store, NEW, 1)
        assert not store.switch_space(NEW.fingerprint)
        assert cosines(near(store, OLD, "honey"))["r2"] == 1.0
        fill(store, NEW)
        assert store.switch_space(NEW.fingerprint)
        assert states(store) == [("new", "current", 2, 0)]
        assert store.stats(Scope(NS)).embedder == NEW.fingerprint
        assert store.search(Search(scope=_ALL, vector=NEW.stored("honey"))).candidates == near(store, NEW, "honey").candidates
        assert store.switch_space(NEW.fingerprint), "switching twice is fine"

    def test_a_few_may_wait_where_whoever_switches_says_so(self, store: Store) -> None:
        put(store, note("r1", "bees"), note("r2", "honey"), note("r3", "wax"))
        embed(store)
        store.fill_space(NEW.fingerprint)
        fill(store, NEW, 1)
        assert not store.switch_space(NEW.fingerprint, waiting=1)
        assert store.switch_space(NEW.fingerprint, waiting=2)
        assert [each.text for each in scan(store, "pending")] == ["honey", "wax"]
        assert states(store) == [("new", "current", 1, 2)]

    def test_what_waits_in_any_namespace_keeps_it_from_taking_over(self, store: Store) -> None:
        put(store, note("r1", "bees"))
        append(store, say("m1", "honey"), namespace=("acme", "bob"))
        store.bind_embedder(OLD.fingerprint)
        store.fill_space(NEW.fingerprint)
        fill(store, NEW, namespace=NS)
        assert not store.switch_space(NEW.fingerprint)
        fill(store, NEW, namespace=("acme",))
        assert store.switch_space(NEW.fingerprint)

    def test_filling_the_same_again_goes_on_where_it_was(self, store: Store) -> None:
        put(store, note("r1", "bees"), note("r2", "honey"))
        embed(store)
        store.fill_space(NEW.fingerprint)
        fill(store, NEW, 1)
        store.fill_space(NEW.fingerprint)
        assert [each.text for each in waiting(store, NEW)] == ["honey"]

    def test_filling_another_gives_up_what_was_begun(self, store: Store) -> None:
        put(store, note("r1", "bees"), note("r2", "honey"))
        embed(store)
        store.fill_space(NEW.fingerprint)
        fill(store, NEW)
        store.fill_space(OTHER.fingerprint)
        assert states(swept(store)) == [("hash", "current", 2, 0), ("other", "filling", 0, 2)]
        store.fill_space(NEW.fingerprint)
        assert len(waiting(store, NEW)) == 2

    def test_filling_the_current_one_gives_up_what_was_begun_and_no_more(self, store: Store) -> None:
        put(store, note("r1", "bees"))
        embed(store)
        store.fill_space(NEW.fingerprint)
        store.fill_space(OLD.fingerprint)
        assert states(swept(store)) == [("hash", "current", 1, 0)]
        assert store.switch_space(OLD.fingerprint)

    @pytest.mark.parametrize(
        "use",
        [
            lambda store, space: store.search(Search(scope=_ALL, vector=OLD.stored("bees"), space=space)),
            lambda store, space: store.search(Search(scope=_ALL, terms=("bee",), space=space)),
            lambda store, space: store.scan(Scan(what="pending", scope=_ALL, space=space)),
            lambda store, space: store.put(Put(namespace=NS, vectors=((1, OLD.stored("bees")),), space=space)),
            lambda store, space: store.switch_space(space),
        ],
        ids=["search", "search by words", "scan", "put", "switch"],
    )
    @pytest.mark.parametrize("of", ["never there", "given up", "replaced"])
    def test_V071_a_space_that_is_not_in_use_is_refused(self, store: Store, use: Refused, of: str) -> None:
        put(store, note("r1", "bees"))
        embed(store)
        space = OLD if of == "replaced" else OTHER
        if of == "given up":
            store.fill_space(OTHER.fingerprint)
            fill(store, OTHER)
        store.fill_space(NEW.fingerprint)
        if of == "replaced":
            fill(store, NEW)
            store.switch_space(NEW.fingerprint)
        with pytest.raises(EmbedderMismatch) as refused:
            use(store, space.fingerprint)
        assert refused.value.given == space.fingerprint
        assert refused.value.bound == (NEW if of == "replaced" else OLD).fingerprint
        with pytest.raises(EmbedderMismatch):
            use(swept(store), space.fingerprint)

    def test_V071_spaces_of_one_dimension_are_never_mixed(self, store: Store) -> None:
        put(store, note("r1", "bees"), note("r2", "honey"))
        embed(store)
        store.fill_space(OTHER.fingerprint)
        fill(store, OTHER, 1)
        assert cosines(near(store, OTHER, "bees")) == {"r1": 1.0}
        apart = float(OLD.embed(["bees"])[0] @ OLD.embed(["honey"])[0])
        assert cosines(near(store, OLD, "bees")) == {"r1": 1.0, "r2": round(apart, 4)}

    def test_V070_a_vector_has_the_dimension_of_its_space(self, store: Store) -> None:
        put(store, note("r1", "bees"))
        embed(store)
        store.fill_space(NEW.fingerprint)
        (unit,) = waiting(store, NEW)
        for vector, space in ((OLD.stored("bees"), NEW), (NEW.stored("bees"), OLD)):
            with pytest.raises(InvalidInput):
                put(store, vectors=((unit.unit, vector),), space=space.fingerprint)
            with pytest.raises(InvalidInput):
                store.search(Search(scope=_ALL, vector=vector, space=space.fingerprint))
        with pytest.raises(InvalidInput):
            put(store, vectors=((unit.unit, NEW.stored("bees")),))
        assert len(waiting(store, NEW)) == 1

    def test_what_comes_meanwhile_waits_in_both(self, store: Store) -> None:
        put(store, note("r1", "bees"))
        embed(store)
        store.fill_space(NEW.fingerprint)
        fill(store, NEW)
        append(store, say("m1", "honey"))
        assert [each.text for each in waiting(store, NEW)] == [each.text for each in waiting(store, OLD)] == ["honey"]
        assert not store.switch_space(NEW.fingerprint)
        embed(store)
        assert (len(waiting(store, NEW)), len(waiting(store, OLD))) == (1, 0)
        fill(store, NEW)
        assert store.switch_space(NEW.fingerprint)
        assert cosines(near(store, NEW, "honey"))["m1"] == 1.0

    @pytest.mark.parametrize("moment", ["filling", "replaced"])
    def test_what_is_forgotten_goes_from_all(self, store: Store, moment: str) -> None:
        put(store, note("r1", "bees"), note("r2", "honey"), note("r3", "wax"))
        embed(store)
        store.fill_space(NEW.fingerprint)
        fill(store, NEW, 2 if moment == "filling" else None)
        if moment == "replaced":
            store.switch_space(NEW.fingerprint)
        forget(store, record_id="r1")
        forget(store, record_id="r3")
        assert waiting(store, NEW) == []
        assert cosines(near(store, NEW, "honey")) == {"r2": 1.0}
        assert store.switch_space(NEW.fingerprint)
        assert states(swept(store)) == [("new", "current", 1, 0)]

    def test_a_namespace_that_is_forgotten_goes_from_all(self, store: Store) -> None:
        put(store, note("r1", "bees"))
        append(store, say("m1", "honey"), namespace=("acme", "bob"))
        embed(store)
        store.fill_space(NEW.fingerprint)
        fill(store, NEW, namespace=NS)
        forget(store, ("acme",), subtree=True)
        assert states(store) == [("hash", "current", 0, 0), ("new", "filling", 0, 0)]

    def test_a_late_vector_of_what_was_forgotten_is_passed_over(self, store: Store) -> None:
        put(store, note("r1", "bees"))
        embed(store)
        store.fill_space(NEW.fingerprint)
        (unit,) = waiting(store, NEW)
        forget(store, record_id="r1")
        put(store, vectors=((unit.unit, NEW.stored("bees")),), space=NEW.fingerprint)
        assert states(store) == [("hash", "current", 0, 0), ("new", "filling", 0, 0)]

    def test_a_fork_has_the_vectors_of_both(self, store: Store) -> None:
        append(store, say("m1", "bees"), say("m2", "honey"))
        embed(store)
        store.fill_space(NEW.fingerprint)
        fill(store, NEW, 1)
        fork(store, 2)
        assert states(store) == [("hash", "current", 4, 0), ("new", "filling", 2, 2)]
        assert [each.text for each in waiting(store, NEW)] == ["honey", "honey"]

    def test_a_record_that_is_retired_or_revived_is_so_in_both(self, store: Store) -> None:
        put(store, note("r1", "bees"), note("r2", "honey"))
        embed(store)
        store.fill_space(NEW.fingerprint)
        fill(store, NEW)
        put(store, retire=(Retire("r1", AT, "old"),))
        for embedder in (OLD, NEW):
            assert cosines(near(store, embedder, "bees")).keys() == {"r2"}
            assert cosines(near(store, embedder, "bees", current=False)).keys() == {"r1", "r2"}
        put(store, note("r1", "bees"))
        for embedder in (OLD, NEW):
            assert cosines(near(store, embedder, "bees")).keys() == {"r1", "r2"}

    def test_a_vector_may_be_given_again(self, store: Store) -> None:
        put(store, note("r1", "bees"))
        embed(store)
        store.fill_space(NEW.fingerprint)
        (unit,) = waiting(store, NEW)
        put(store, vectors=((unit.unit, NEW.stored("rain")),), space=NEW.fingerprint)
        put(store, vectors=((unit.unit, NEW.stored("bees")),), space=NEW.fingerprint)
        assert cosines(near(store, NEW, "bees")) == cosines(near(store, OLD, "bees")) == {"r1": 1.0}
        assert states(store) == [("hash", "current", 1, 0), ("new", "filling", 1, 0)]

    def test_another_handle_sees_it_fill_and_take_over(self, store: Store) -> None:
        other = self.reopen(store)
        try:
            put(store, note("r1", "bees"), note("r2", "honey"))
            embed(store)
            assert cosines(near(other, OLD, "bees"))["r1"] == 1.0
            store.fill_space(NEW.fingerprint)
            fill(store, NEW, 1)
            assert cosines(near(other, NEW, "bees")) == {"r1": 1.0}
            fill(store, NEW)
            assert cosines(near(other, NEW, "honey")).keys() == {"r1", "r2"}
            store.switch_space(NEW.fingerprint)
            with pytest.raises(EmbedderMismatch):
                near(other, OLD, "bees")
            assert cosines(near(other, NEW, "honey"))["r2"] == 1.0
            assert swept(other).spaces() == store.spaces()
        finally:
            if other is not store:
                other.close()

    def test_there_and_back_again(self, store: Store) -> None:
        """A space that returns is a new one: nothing of what it once held is found."""
        put(store, note("r1", "bees"))
        embed(store)
        for embedder in (NEW, OLD, NEW, OLD):
            store.fill_space(embedder.fingerprint)
            assert near(store, embedder, "bees").candidates == ()
            fill(store, embedder)
            assert store.switch_space(embedder.fingerprint)
            assert cosines(near(store, embedder, "bees")) == {"r1": 1.0}
        assert states(swept(store)) == [("hash", "current", 1, 0)]

    def test_nothing_is_left_to_sweep_where_nothing_was_given_up(self, store: Store) -> None:
        assert not store.sweep()
        put(store, note("r1", "bees"))
        embed(store)
        assert not store.sweep()
