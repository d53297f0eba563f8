"""`MachineBase`: what all parts of `StoreMachine` share: the two stores, how one is compared with the other, and the few
namespaces, threads, records and texts that random steps choose among.

    step ─▶ request ─▶ the reference ─┐
                  └──▶ the store ─────┴▶ equal answers, or the same error

Each part is a class of rules of its own (`ThreadRules`, `SearchRules` and so on): a step draws what it acts on from what the
reference holds.
"""

from __future__ import annotations

from collections.abc import Callable
from datetime import datetime, timedelta
from typing import Any, TypeVar

import msgspec
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine

from bethink.errors import BethinkError
from bethink.messages import Message
from bethink.models import Fingerprint
from bethink.records import AnyRecord
from bethink.storage.base import Append, Get, Put, Read, Scan, Scope, Store, Transcript, What
from bethink.storage.reference import ReferenceStore
from bethink.testing.doubles import START, HashEmbedder
from bethink.threads import ThreadInfo
from bethink.values import Namespace

__all__ = [
    "EMBEDDERS",
    "EVERYTHING",
    "NAMESPACES",
    "TOKENS",
    "MachineBase",
    "embedders",
    "namespaces",
    "read",
    "record_ids",
    "scan",
    "scopes",
    "texts",
    "thread_ids",
]


T = TypeVar("T")

NAMESPACES: tuple[Namespace, ...] = (("a",), ("a", "b"), ("ab",))
EVERYTHING = Scope((), subtree=True)
# Two of one dimension, so that vectors of one could be taken for those of the other.
EMBEDDERS = (HashEmbedder(), HashEmbedder(name="other"), HashEmbedder(16, "small"))
embedders = st.sampled_from(EMBEDDERS)
TOKENS = Fingerprint("tokens", 4, "")

# One namespace and one thread come more often than the others, so that something builds up.
namespaces = st.sampled_from((("a",), ("a",), ("a",), ("a", "b"), ("ab",)))
scopes = st.builds(Scope, namespaces, st.booleans())
thread_ids = st.sampled_from(("t1", "t1", "t2", "t3"))
texts = st.sampled_from(
    ("bees make honey", "rain in Lisbon", "honey from Lisbon", "東京に雨", "bees bees rain", "", "100 % of a_b")
)
record_ids = st.sampled_from(("r1", "r2", "r3", "r4"))


class MachineBase(RuleBasedStateMachine):
    """The reference and the store under test, with a clock and ids that follow from the steps."""

    def make_store(self) -> Store:
        """An empty store. Override it."""
        raise NotImplementedError("a subclass of StoreMachine makes the store")

    def reopen(self, store: Store) -> Store:
        """Close the store and open its data again; the same object where there are no files."""
        return store

    def __init__(self) -> None:
        super().__init__()
        self.reference = ReferenceStore()
        self.store = self.make_store()
        self.count = 0
        self.both(lambda store: store.bind_embedder(EMBEDDERS[0].fingerprint))

    def teardown(self) -> None:
        self.store.close()

    def both(self, act: Callable[[Store], T], same: Callable[[T], object] = lambda answer: answer) -> None:
        """Do it to both: what they answer, seen through `same`, must be equal, or both raise the same error."""
        expected, actual = _outcome(act, self.reference), _outcome(act, self.store)
        if isinstance(expected, BethinkError) or isinstance(actual, BethinkError):
            assert isinstance(actual, type(expected)), (actual, expected)
        else:
            assert same(actual) == same(expected)

    def now(self) -> datetime:
        self.count += 1
        return START + timedelta(minutes=self.count)

    def fresh(self, sort: str) -> str:
        self.count += 1
        return f"{sort}{self.count}"

    def append(self, namespace: Namespace, thread_id: str, *messages: Message, **options: Any) -> None:
        request = Append(namespace=namespace, thread_id=thread_id, at=self.now(), messages=messages, **options)
        self.both(lambda store: store.append(request))

    def message(self, role: str, content: str | None, **fields: Any) -> Message:
        return Message(id=self.fresh("m"), role=role, content=content, created_at=self.now(), **fields)  # type: ignore[arg-type]

    def put(self, namespace: Namespace, *records: AnyRecord, **options: Any) -> None:
        request = Put(namespace=namespace, records=records, **options)
        self.both(lambda store: store.put(request))

    # -- what there is to choose from, in the reference -------------------------------------------------------------------

    def threads(self, namespace: Namespace | None = None) -> list[ThreadInfo]:
        scope = EVERYTHING if namespace is None else Scope(namespace)
        return scan(self.reference, "threads", scope)

    def draw_thread(self, data: st.DataObject, namespace: Namespace | None = None) -> ThreadInfo | None:
        threads = self.threads(namespace)
        return data.draw(st.sampled_from(threads)) if threads else None

    def draw_message(self, data: st.DataObject, thread: ThreadInfo | None) -> Message | None:
        messages = () if thread is None else self.messages(thread)
        return data.draw(st.sampled_from(messages)) if messages else None

    def messages(self, thread: ThreadInfo) -> tuple[Message, ...]:
        return self.read(thread).messages

    def read(self, thread: ThreadInfo, **options: Any) -> Transcript:
        return read(self.reference, thread, **options)

    def has_record(self, namespace: Namespace, record_id: str) -> bool:
        return bool(self.reference.get(Get(scope=Scope(namespace), records=(record_id,))).records)

    def in_use(self, newest: bool) -> HashEmbedder:
        """The embedder of the current space; of the one being filled if there is one and it is asked for."""
        found = self.reference.spaces()
        wanted = found[-1 if newest else 0].fingerprint
        return next(embedder for embedder in EMBEDDERS if embedder.fingerprint == wanted)


def _outcome(act: Callable[[Store], T], store: Store) -> T | BethinkError:
    try:
        return act(store)
    except BethinkError as error:
        return error


def scan(store: Store, what: What, scope: Scope, **options: Any) -> list[Any]:
    """Every item, in pages of three so that paging is used too."""
    request = Scan(what=what, scope=scope, limit=3, **options)
    items: list[Any] = []
    while True:
        page = store.scan(request)
        items += page.items
        if page.next is None:
            return items
        request = msgspec.structs.replace(request, after=page.next)


def read(store: Store, thread: ThreadInfo, **options: Any) -> Transcript:
    return store.read(Read(namespace=thread.namespace, thread_id=thread.thread_id, **options))
