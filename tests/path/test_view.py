"""What of a thread is in view while others fold it."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any, cast

from bethink import Memory
from bethink.bench.talk import turns
from bethink.storage.base import Read, Store, Transcript
from bethink.storage.sqlite import SqliteStore


class InBetween:
    """A store, and something that another process does between the first read and the second."""

    def __init__(self, store: Store, event: Callable[[], object]) -> None:
        self._store = store
        self._event = event
        self._heads = 0

    def __getattr__(self, name: str) -> Any:
        return getattr(self._store, name)

    def read(self, request: Read, /) -> Transcript:
        transcript = self._store.read(request)
        if request.limit == 0:
            self._heads += 1
            if self._heads == 1:
                self._event()
        return transcript


def test_what_another_process_folds_between_two_reads_is_not_folded_again(tmp_path: Path) -> None:
    path = tmp_path / "m.db"
    with Memory(path, embedder=None) as other:
        other.thread("t").append(list(turns(120)))
        store = InBetween(SqliteStore(path), lambda: other.thread("t").context(budget=4_000))
        with Memory(store=cast("Store", store), embedder=None) as memory:
            memory.thread("t").context(budget=600)
            roots = store.read(Read(namespace=memory.namespace, thread_id="t", limit=0, nodes=True)).nodes
    covered = [seq for node in roots for first, last in node.covers for seq in range(first, last + 1)]
    assert covered
    assert len(covered) == len(set(covered))
