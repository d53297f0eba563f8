"""The contract of vectors: what is refused, and what the dense leg finds whatever filter, tenant or other handle there is."""

from __future__ import annotations

import struct

import pytest

from bethink.errors import InvalidInput
from bethink.storage.base import Pending, Put, Retire, Scope, Search, Store
from bethink.testing._contract import AT, EMBEDDER, NS, ContractBase, append, embed, forget, hits, note, put, say, scan, search

_DIMENSION = EMBEDDER.fingerprint.dimension


def _vector(*values: float) -> bytes:
    """These values, and zeros up to the dimension."""
    return struct.pack(f"<{_DIMENSION}f", *values, *[0.0] * (_DIMENSION - len(values)))


_SOUND = _vector(1)
_UNSOUND = {
    "too short": _SOUND[:-4],
    "too long": _SOUND + bytes(4),
    "nothing": b"",
    "not a number": _vector(1, float("nan")),
    "infinite": _vector(float("inf")),
    "zero": _vector(),
    "not of length 1": _vector(1, 1),
}


class VectorContract(ContractBase):
    @pytest.mark.parametrize("fault", _UNSOUND)
    def test_V070_a_vector_that_cannot_be_one_is_refused_with_its_batch(self, store: Store, fault: str) -> None:
        store.bind_embedder(EMBEDDER.fingerprint)
        put(store, note("r1", "bees"), note("r2", "honey"))
        first, second = (each.unit for each in scan(store, "pending"))
        with pytest.raises(InvalidInput) as refused:
            store.put(Put(namespace=NS, records=(note("r3"),), vectors=((first, _SOUND), (second, _UNSOUND[fault]))))
        assert refused.value.field == "vectors[1]"
        assert len(scan(store, "pending")) == len(scan(store, "records")) == 2
        assert search(store, near="bees").candidates == ()

    @pytest.mark.parametrize("fault", _UNSOUND)
    def test_V070_a_query_that_cannot_be_a_vector_is_refused(self, store: Store, fault: str) -> None:
        put(store, note("r1", "bees"))
        embed(store)
        with pytest.raises(InvalidInput) as refused:
            store.search(Search(scope=Scope(NS), vector=_UNSOUND[fault]))
        assert refused.value.field == "vector"

    def test_a_vector_of_half_precision_is_near_enough_to_length_1(self, store: Store) -> None:
        store.bind_embedder(EMBEDDER.fingerprint)
        put(store, note("r1", "bees"))
        (waiting,) = scan(store, "pending")
        put(store, vectors=((waiting.unit, _vector(0.9998)),))
        (found,) = store.search(Search(scope=Scope(NS), vector=_SOUND)).candidates
        assert found.cosine == pytest.approx(0.9998)

    def test_V072_a_small_tenant_beside_a_large_one_loses_nothing(self, store: Store) -> None:
        append(store, *(say(f"b{number}", "bees and honey") for number in range(500)), namespace=("acme", "bob"))
        append(store, *(say(f"a{number}", f"bees {number} quite far away") for number in range(5)))
        embed(store, ("acme", "bob"))
        embed(store)
        assert hits(store, near="bees and honey", limit=5) == {f"a{number}" for number in range(5)}

    def test_V072_a_kind_that_one_in_a_hundred_is_of_is_found_whole(self, store: Store) -> None:
        append(store, *(say(f"m{number}", "bees and honey") for number in range(300)))
        put(store, *(note(f"r{number}", f"{number} other matters") for number in range(3)))
        embed(store)
        assert hits(store, near="bees and honey", kinds=("note",), limit=3) == {"r0", "r1", "r2"}

    def test_vectors_that_come_late_count_at_once_wherever_their_units_stand(self, store: Store) -> None:
        store.bind_embedder(EMBEDDER.fingerprint)
        texts = ["bees", "honey", "wax", "clover"]
        put(store, *(note(f"r{number}", text) for number, text in enumerate(texts)))
        waiting: list[Pending] = scan(store, "pending")
        for each in reversed(waiting):
            put(store, vectors=((each.unit, EMBEDDER.stored(each.text)),))
            assert search(store, near=each.text, limit=1).candidates[0].cosine == pytest.approx(1)
        for number, text in enumerate(texts):
            assert hits(store, text, near="rain", limit=1) >= {f"r{number}"}

    def test_V041_another_handle_sees_vectors_come_change_and_go(self, store: Store) -> None:
        other = self.reopen(store)
        try:
            put(store, note("r1", "bees"), note("r2", "bees honey"))
            embed(store)
            assert hits(other, near="bees") == {"r1", "r2"}
            put(store, note("r3", "bees wax"))
            embed(store)
            assert hits(other, near="bees") == {"r1", "r2", "r3"}
            put(store, retire=(Retire("r2", AT, "old"),))
            assert hits(other, near="bees") == {"r1", "r3"}
            assert hits(other, near="bees", current=False) == {"r1", "r2", "r3"}
            forget(store, record_id="r1")
            assert hits(other, near="bees") == {"r3"}
        finally:
            if other is not store:
                other.close()
