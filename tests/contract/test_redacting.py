"""A store that redacts keeps the storage contract, and knows every verb of it."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import closing

import pytest

from bethink.redaction import Redaction
from bethink.storage.base import Store
from bethink.storage.redacting import PASSED, RedactingStore
from bethink.storage.reference import ReferenceStore
from bethink.testing.store import StoreContract


class TestRedactingStore(StoreContract):
    @pytest.fixture
    def store(self) -> Iterator[Store]:
        # What the contract itself replaces must not be gone before.
        with closing(RedactingStore(ReferenceStore(), Redaction(kinds=("jwt",)))) as store:
            yield store


def test_every_verb_either_redacts_or_is_known_to_store_no_words() -> None:
    verbs = {name for name, value in vars(Store).items() if callable(value) and not name.startswith("_")}
    redacting = {name for name in vars(RedactingStore) if not name.startswith("_")}
    assert redacting | PASSED == verbs
    assert redacting.isdisjoint(PASSED)


def test_a_verb_that_nobody_has_thought_of_is_refused() -> None:
    with pytest.raises(AttributeError, match="no verb 'put_anything'"):
        RedactingStore(ReferenceStore(), Redaction()).put_anything  # noqa: B018
