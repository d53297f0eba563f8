"""The reference store keeps the storage contract, and the state machine that compares others with it runs."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from contextlib import closing

import pytest
from hypothesis import settings

from bethink.storage.base import Store
from bethink.storage.reference import ReferenceStore
from bethink.testing.stateful import StoreMachine
from bethink.testing.store import StoreContract


class TestReferenceStore(StoreContract):
    @pytest.fixture
    def store(self) -> Iterator[Store]:
        with closing(ReferenceStore()) as store:
            yield store


class ReferenceMachine(StoreMachine):
    def make_store(self) -> Store:
        return ReferenceStore()


TestReferenceMachine = ReferenceMachine.TestCase
TestReferenceMachine.settings = settings(max_examples=15, stateful_step_count=25, deadline=None)


def test_no_sentence_of_the_contract_hides_another() -> None:
    # Of two tests of one name, in two parts that a store inherits, only one would run.
    named = Counter(name for part in StoreContract.__mro__ for name in vars(part) if name.startswith("test_"))
    assert [name for name, count in named.items() if count > 1] == []
