"""What the parts of `StoreContract` share: the fixtures, and a vocabulary that makes requests short enough to read."""

from __future__ import annotations

import contextlib
import threading
from collections.abc import Callable, Iterable, Iterator
from typing import Any, TypeVar

import msgspec
import pytest

from bethink.errors import StoreClosed
from bethink.messages import Message, ToolCall
from bethink.records import AnyRecord, Insight, Line, Node, Note, Receipt, ReceiptLine, Source, Summary
from bethink.retrieval.terms import index_terms
from bethink.storage.base import (
    Append,
    Appended,
    Fetched,
    Fold,
    Forget,
    ForgetReceipt,
    Found,
    Get,
    Pending,
    Put,
    Read,
    Scan,
    Scope,
    Search,
    Store,
    Transcript,
    What,
)
from bethink.testing.doubles import START, HashEmbedder
from bethink.threads import ForkPoint, ThreadInfo
from bethink.values import Namespace

T = TypeVar("T")

AT = START
NS: Namespace = ("acme", "ada")
EVERYTHING = Scope((), subtree=True)
EMBEDDER = HashEmbedder()


class ContractBase:
    """The fixtures of every part of the contract."""

    @pytest.fixture
    def store(self) -> Iterator[Store]:
        """An empty store; override it. Close it after the yield."""
        raise NotImplementedError("a subclass of StoreContract defines the fixture `store`")

    def reopen(self, store: Store) -> Store:
        """Another handle on the same data, as another process would open it; `store` itself where there are no files."""
        return store

    @pytest.fixture(autouse=True)
    def _sound(self, store: Store) -> Iterator[None]:
        """Whatever a test did, the store is consistent afterwards."""
        yield
        with contextlib.suppress(StoreClosed):
            assert store.check() == []


# -- messages and threads -------------------------------------------------------------------------------------------------


def say(message_id: str, text: str = "hello", role: str = "user", **fields: Any) -> Message:
    return Message(id=message_id, role=role, content=text, created_at=fields.pop("created_at", AT), **fields)  # type: ignore[arg-type]


def calls(message_id: str, *call_ids: str) -> Message:
    """An assistant message that makes these calls."""
    made = tuple(ToolCall(call_id, "search") for call_id in call_ids)
    return Message(id=message_id, role="assistant", tool_calls=made, created_at=AT)


def result(message_id: str, call_id: str, text: str = "found") -> Message:
    return say(message_id, text, role="tool", tool_call_id=call_id)


def append(
    store: Store,
    *messages: Message,
    thread: str = "t",
    namespace: Namespace = NS,
    **options: Any,
) -> Appended:
    options.setdefault("at", AT)
    return store.append(Append(namespace=namespace, thread_id=thread, messages=messages, **options))


def fork(store: Store, seq: int, *, to: str = "fork", of: str = "t", namespace: Namespace = NS) -> Appended:
    return append(store, thread=to, namespace=namespace, fork_of=ForkPoint(of, seq))


def read(store: Store, thread: str = "t", namespace: Namespace = NS, **options: Any) -> Transcript:
    return store.read(Read(namespace=namespace, thread_id=thread, **options))


def info(store: Store, thread: str = "t", namespace: Namespace = NS) -> ThreadInfo:
    return read(store, thread, namespace, limit=0).thread


def ids(messages: Iterable[Message]) -> list[str]:
    return [message.id for message in messages]


def seqs(messages: Iterable[Message]) -> list[int]:
    return [message.seq for message in messages]


def node(node_id: str, first: int, last: int, *lines: Line, level: int = 1, children: tuple[str, ...] = ()) -> Node:
    """A node over the seqs from `first` to `last`."""
    return Node(
        id=node_id, level=level, covers=((first, last),), lines=lines, author="extractive", created_at=AT, children=children
    )


def line(text: str, *message_ids: str) -> Line:
    return Line(text, message_ids, AT)


def fold(store: Store, *nodes: Node, through: int, expected: int = 0, thread: str = "t") -> ThreadInfo:
    return store.fold(Fold(namespace=NS, thread_id=thread, nodes=nodes, through=through, expected_through=expected))


# -- records --------------------------------------------------------------------------------------------------------------


def source(message_id: str, text: str = "as said", thread: str = "t") -> Source:
    return Source(message_id, thread, text)


def note(record_id: str, text: str = "a note", *sources: Source, **fields: Any) -> Note:
    return Note(id=record_id, text=text, trust="user", recorded_at=fields.pop("recorded_at", AT), sources=sources, **fields)


def insight(record_id: str, text: str, *sources: Source, slot: str = "residence", **fields: Any) -> Insight:
    fields.setdefault("recorded_at", AT)
    return Insight(
        id=record_id,
        text=text,
        trust="user",
        topic="identity",
        subject="user",
        slot=slot,
        value=text,
        sources=sources,
        **fields,
    )


def summary(record_id: str, *lines: Line, thread: str = "t", through: int = 1) -> Summary:
    text = "\n".join(each.text for each in lines)
    cited = dict.fromkeys(message_id for each in lines for message_id in each.sources)
    sources = tuple(source(message_id, "", thread) for message_id in cited)
    return Summary(
        id=record_id, text=text, trust="user", recorded_at=AT, thread_id=thread, lines=lines, through=through, sources=sources
    )


def receipt(receipt_id: str, *lines: ReceiptLine, thread: str = "t", recent: tuple[tuple[int, int], ...] = ()) -> Receipt:
    return Receipt(
        id=receipt_id,
        thread_id=thread,
        created_at=AT,
        budget=100,
        tokens=50,
        counter="builtin",
        ranker="1",
        renderer=1,
        digest="0" * 64,
        lines=lines,
        recent=recent,
    )


def shown(of: Any, thing_id: str) -> ReceiptLine:
    """A receipt's line for a message, record or node."""
    return ReceiptLine("recalled", of, thing_id, "because")


def put(store: Store, *records: AnyRecord, namespace: Namespace = NS, **options: Any) -> None:
    store.put(Put(namespace=namespace, records=records, **options))


def get(store: Store, namespace: Namespace = NS, subtree: bool = False, **wanted: Any) -> Fetched:
    return store.get(Get(scope=Scope(namespace, subtree), **wanted))


def record(store: Store, record_id: str, namespace: Namespace = NS) -> AnyRecord:
    """The stored record; fails if there is none."""
    (stored,) = get(store, namespace, records=(record_id,)).records
    return stored.record


# -- search, scan, forget -------------------------------------------------------------------------------------------------


def search(
    store: Store, query: str = "", namespace: Namespace = NS, *, subtree: bool = False, near: str | None = None, **options: Any
) -> Found:
    """`query` for the lexical leg, `near` for the dense one."""
    return store.search(
        Search(
            scope=Scope(namespace, subtree),
            terms=tuple(dict.fromkeys(index_terms(query).split())),
            vector=None if near is None else EMBEDDER.stored(near),
            **options,
        )
    )


def hits(store: Store, query: str = "", namespace: Namespace = NS, **options: Any) -> set[str]:
    """Ids of the candidates of a search."""
    return {candidate.id for candidate in search(store, query, namespace, **options).candidates}


def scan(store: Store, what: What, namespace: Namespace = NS, *, subtree: bool = False, **options: Any) -> list[Any]:
    """Every item, from however many pages it takes."""
    request = Scan(what=what, scope=Scope(namespace, subtree), **options)
    items: list[Any] = []
    while True:
        page = store.scan(request)
        assert len(page.items) <= request.limit
        items += page.items
        if page.next is None:
            return items
        request = msgspec.structs.replace(request, after=page.next)


def embed(store: Store, namespace: Namespace = NS) -> None:
    """Give every pending unit of a namespace its vector."""
    store.bind_embedder(EMBEDDER.fingerprint)
    waiting: list[Pending] = scan(store, "pending", namespace)
    store.put(Put(namespace=namespace, vectors=tuple((unit.unit, EMBEDDER.stored(unit.text)) for unit in waiting)))


def forget(store: Store, namespace: Namespace = NS, *, subtree: bool = False, **named: Any) -> ForgetReceipt:
    return store.forget(Forget(scope=Scope(namespace, subtree), at=AT, **named))


def together(*actions: Callable[[], T]) -> list[T | BaseException]:
    """Run the actions at once, each in a thread of its own: what each returned or raised, in the order given."""
    outcomes: dict[int, T | BaseException] = {}
    barrier = threading.Barrier(len(actions))

    def run(index: int) -> None:
        barrier.wait()
        try:
            outcomes[index] = actions[index]()
        except Exception as error:
            outcomes[index] = error

    workers = [threading.Thread(target=run, args=(index,)) for index in range(len(actions))]
    for worker in workers:
        worker.start()
    for worker in workers:
        worker.join()
    return [outcomes[index] for index in range(len(actions))]
