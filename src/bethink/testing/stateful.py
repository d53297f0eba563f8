"""`StoreMachine`: random use of a store, each step also done to the reference, and everything compared after each step.

    class MyStoreMachine(StoreMachine):
        def make_store(self) -> Store: ...

    TestMyStoreMachine = MyStoreMachine.TestCase

What is compared: every answer (or the type of the error), and after each step all that can be scanned and counted. What is not:
search scores and candidates beyond a limit (each backend has its own BM25), ids of forget receipts, sizes.
"""

from __future__ import annotations

from datetime import timedelta
from typing import Any

from hypothesis import strategies as st
from hypothesis.stateful import initialize, invariant, rule

from bethink.messages import Message
from bethink.records import Note
from bethink.storage.base import Due, Get, Scope, Store, What
from bethink.testing._stateful import EVERYTHING, NAMESPACES, TOKENS, read, scan, texts
from bethink.testing._stateful_asked import AskedRules
from bethink.testing._stateful_checkpoints import CheckpointRules
from bethink.testing._stateful_folds import FoldRules
from bethink.testing._stateful_forget import ForgetRules
from bethink.testing._stateful_items import ItemRules
from bethink.testing._stateful_leases import LeaseRules
from bethink.testing._stateful_receipts import ReceiptRules
from bethink.testing._stateful_records import RecordRules
from bethink.testing._stateful_search import SearchRules
from bethink.testing._stateful_spaces import SpaceRules
from bethink.testing._stateful_threads import ThreadRules
from bethink.testing.doubles import START
from bethink.testing.strategies import histories
from bethink.values import Namespace

__all__ = ["StoreMachine"]


_PAST: tuple[What, ...] = ("versions", "changes", "forgotten")


class StoreMachine(
    ThreadRules,
    FoldRules,
    CheckpointRules,
    LeaseRules,
    RecordRules,
    ReceiptRules,
    AskedRules,
    ItemRules,
    SpaceRules,
    SearchRules,
    ForgetRules,
):
    """Random appends, forks, folds, puts, searches, forgets and reopenings of a store and of the reference."""

    def __init__(self) -> None:
        super().__init__()
        self.revisions: dict[Namespace, tuple[int, list[Any]]] = {}

    @initialize(history=histories(max_size=8), texts=st.lists(texts, max_size=2), embedded=st.booleans())
    def begin(self, history: list[Message], texts: list[str], embedded: bool) -> None:
        """A conversation and a few notes to start with, so that every step has something to act on."""
        self.append(("a",), "t1", *history)
        notes = (
            Note(id=f"r{number}", text=text, trust="user", recorded_at=self.now()) for number, text in enumerate(texts, start=1)
        )
        self.put(("a",), *notes)
        if embedded:
            self.embed_waiting(("a",), 100)

    @rule()
    def reopen_store(self) -> None:
        self.store = self.reopen(self.store)

    # -- what must hold after every step ----------------------------------------------------------------------------------

    @invariant()
    def the_same_is_stored(self) -> None:
        self.both(_contents)

    @invariant()
    def the_same_is_counted(self) -> None:
        self.both(lambda store: [_counts(store, Scope(namespace, subtree=True)) for namespace in NAMESPACES])

    @invariant()
    def an_equal_revision_means_equal_records(self) -> None:
        for namespace in NAMESPACES:
            now = (self.store.revision(namespace), scan(self.store, "records", Scope(namespace)))
            before = self.revisions.setdefault(namespace, now)
            assert now[0] >= before[0]
            assert now[0] > before[0] or now[1] == before[1]
            self.revisions[namespace] = now

    @invariant()
    def the_store_is_sound(self) -> None:
        assert self.reference.check() == []
        assert self.store.check() == []


def _contents(store: Store) -> dict[str, object]:
    """All that can be read; waiting units by their texts, since their numbers are each store's own."""
    listed: tuple[What, ...] = ("threads", "messages", "records", "receipts", "checkpoints", "usage", "model calls", "asked")
    contents: dict[str, object] = {what: scan(store, what, EVERYTHING) for what in (*listed, *_PAST)}
    contents["items"] = scan(store, "records", EVERYTHING, kinds=("item",))
    since = START + timedelta(minutes=20)
    contents["lately"] = [scan(store, what, Scope(("a",), True), since=since) for what in _PAST]
    contents["of one"] = scan(store, "versions", Scope(("a",)), record_id="r1")
    contents["stored by"] = [
        scan(store, "messages", scope, stored_by=since, thread_id=of)
        for scope in (EVERYTHING, Scope(("a",)))
        for of in (None, "t1")
    ]
    contents["spoken by"] = store.speakers(EVERYTHING, at=since)
    for kind in ("summary", "episode", "insight"):
        contents[f"{kind} by id"] = [
            scan(store, "records", Scope(namespace), kinds=(kind,), current=True, by_id=True, newest=newest)
            for namespace in NAMESPACES
            for newest in (False, True)
        ]
    ages = (Due(idle_since=START + timedelta(minutes=9)), Due(messages=3), Due(idle_since=START, messages=2))
    contents["due"] = [scan(store, "threads", EVERYTHING, due=due) for due in ages]
    contents["speakers"] = [store.speakers(Scope(namespace, subtree)) for namespace in NAMESPACES for subtree in (False, True)]
    contents["by ending"] = store.get(Get(scope=EVERYTHING, endings=("1", "12"))).records
    saved = tuple(each.id for each in scan(store, "checkpoints", EVERYTHING))
    contents["states"] = store.get(Get(scope=EVERYTHING, checkpoints=saved)).checkpoints
    contents["pending"] = [
        sorted(unit.text for unit in scan(store, "pending", EVERYTHING, space=space.fingerprint)) for space in store.spaces()
    ]
    contents["without tokens"] = sorted(unit.text for unit in scan(store, "pending", EVERYTHING, tokens=TOKENS))
    contents["spaces"] = store.spaces()
    threads = scan(store, "threads", EVERYTHING)
    contents["nodes"] = [read(store, thread, nodes=True, limit=0) for thread in threads]
    contents["tree"] = [read(store, thread, tree=True, limit=0) for thread in threads]
    whole = {"unfolded": True, "whole_groups": True, "pinned": True, "nodes": True, "marks": True}
    contents["unfolded"] = [read(store, thread, **whole) for thread in threads]
    contents["marks"] = [read(store, thread, pinned=True, marks=True, limit=2) for thread in threads]
    return contents


def _counts(store: Store, scope: Scope) -> dict[str, object]:
    stats = store.stats(scope)
    names = ("threads", "messages", "nodes", "attempts", "retired", "receipts", "checkpoints", "units", "pending", "embedder")
    records = {kind: count for kind, count in stats.records.items() if count}
    return {**{name: getattr(stats, name) for name in names}, "records": records}
