"""`StoreMachine`: random use of a store, each step also done to the reference, and everything compared after each step.

    class MyStoreMachine(StoreMachine):
        def make_store(self) -> Store: ...

    TestMyStoreMachine = MyStoreMachine.TestCase

What is compared: every answer (or the type of the error), and after each step all that can be scanned and counted. What is not:
search scores and candidates beyond a limit (each backend has its own BM25), ids of forget receipts, sizes.
"""

from __future__ import annotations

from collections.abc import Callable
from datetime import datetime, timedelta
from typing import Any, TypeVar

import msgspec
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, rule

from bethink.errors import BethinkError
from bethink.marks import TIERS
from bethink.messages import Message, Tier, ToolCall
from bethink.models import Fingerprint
from bethink.models.language import Call, Usage
from bethink.records import (
    AnyRecord,
    Episode,
    Insight,
    Line,
    Node,
    Note,
    Outcome,
    Proposal,
    Receipt,
    ReceiptLine,
    RecordKind,
    Source,
    StateEntry,
    Summary,
)
from bethink.retrieval.terms import index_terms
from bethink.storage.base import (
    Acquire,
    Append,
    Ask,
    Asked,
    AskedStep,
    Attempt,
    Candidate,
    Change,
    Cite,
    Cursor,
    Due,
    Filter,
    Fold,
    Forget,
    Found,
    Get,
    InView,
    Lease,
    Mark,
    Past,
    Prune,
    Purpose,
    Put,
    Read,
    Refine,
    Release,
    Restore,
    Retire,
    Save,
    Scan,
    Scope,
    Search,
    Store,
    TokenVectors,
    Transcript,
    Weigh,
    What,
)
from bethink.storage.reference import ReferenceStore
from bethink.testing._stateful_items import ItemRules, but_items
from bethink.testing.doubles import START, HashEmbedder
from bethink.testing.strategies import filters, histories
from bethink.threads import ForkPoint, ThreadInfo
from bethink.usage import ModelCall, TurnUsage
from bethink.values import Namespace

__all__ = ["StoreMachine"]

T = TypeVar("T")

_NAMESPACES: tuple[Namespace, ...] = (("a",), ("a", "b"), ("ab",))
_EVERYTHING = Scope((), subtree=True)
# Two of one dimension, so that vectors of one could be taken for those of the other.
_EMBEDDERS = (HashEmbedder(), HashEmbedder(name="other"), HashEmbedder(16, "small"))
_EMBEDDER = _EMBEDDERS[0]
_embedders = st.sampled_from(_EMBEDDERS)
_TOKENS = Fingerprint("tokens", 4, "")

# One namespace and one thread come more often than the others, so that something builds up.
_namespaces = st.sampled_from((("a",), ("a",), ("a",), ("a", "b"), ("ab",)))
_scopes = st.builds(Scope, _namespaces, st.booleans())
_threads = st.sampled_from(("t1", "t1", "t2", "t3"))
_texts = st.sampled_from(
    ("bees make honey", "rain in Lisbon", "honey from Lisbon", "東京に雨", "bees bees rain", "", "100 % of a_b")
)
_record_ids = st.sampled_from(("r1", "r2", "r3", "r4"))
_KINDS = ("message", "note", "insight", "summary", "episode")
_call_ids = st.sampled_from(("c1", "c2", "c3"))


_PAST: tuple[What, ...] = ("versions", "changes", "forgotten")


class StoreMachine(ItemRules, RuleBasedStateMachine):
    """Random appends, forks, folds, puts, searches, forgets and reopenings of a store and of the reference."""

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
        self.leases: list[Lease] = []
        self.revisions: dict[Namespace, tuple[int, list[Any]]] = {}
        self.both(lambda store: store.bind_embedder(_EMBEDDER.fingerprint))

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

    # -- threads ----------------------------------------------------------------------------------------------------------

    def append(self, namespace: Namespace, thread_id: str, *messages: Message, **options: Any) -> None:
        request = Append(namespace=namespace, thread_id=thread_id, at=self.now(), messages=messages, **options)
        self.both(lambda store: store.append(request))

    def message(self, role: str, content: str | None, **fields: Any) -> Message:
        return Message(id=self.fresh("m"), role=role, content=content, created_at=self.now(), **fields)  # type: ignore[arg-type]

    @initialize(history=histories(max_size=8), texts=st.lists(_texts, max_size=2), embedded=st.booleans())
    def begin(self, history: list[Message], texts: list[str], embedded: bool) -> None:
        """A conversation and a few notes to start with, so that every step has something to act on."""
        self.append(("a",), "t1", *history)
        notes = (
            Note(id=f"r{number}", text=text, trust="user", recorded_at=self.now()) for number, text in enumerate(texts, start=1)
        )
        self.put(("a",), *notes)
        if embedded:
            self.embed_waiting(("a",), 100)

    @rule(namespace=_namespaces, thread_id=_threads, texts=st.lists(_texts, max_size=5), pinned=st.booleans())
    def append_turns(self, namespace: Namespace, thread_id: str, texts: list[str], pinned: bool) -> None:
        role = "system" if pinned else "user"
        self.append(namespace, thread_id, *(self.message(role, text) for text in texts))

    @rule(namespace=_namespaces, thread_id=_threads, call_ids=st.lists(_call_ids, min_size=1, max_size=2, unique=True))
    def append_calls(self, namespace: Namespace, thread_id: str, call_ids: list[str]) -> None:
        made = tuple(ToolCall(call_id, "search") for call_id in call_ids)
        self.append(namespace, thread_id, self.message("assistant", None, tool_calls=made))

    @rule(namespace=_namespaces, thread_id=_threads, call_id=_call_ids, text=_texts)
    def append_result(self, namespace: Namespace, thread_id: str, call_id: str, text: str) -> None:
        self.append(namespace, thread_id, self.message("tool", text, tool_call_id=call_id))

    @rule(data=st.data(), text=st.none() | _texts, more=st.booleans())
    def append_again(self, data: st.DataObject, text: str | None, more: bool) -> None:
        """A retry, or with `text` another message under a known id; with `more` something new beside it."""
        thread = self.draw_thread(data)
        known = self.draw_message(data, thread)
        if thread is None or known is None:
            return
        again = msgspec.structs.replace(known, seq=0, group=0, **({} if text is None else {"content": text}))
        new = [self.message("user", "bees")] if more else []
        self.append(thread.namespace, thread.thread_id, again, *new)

    @rule(data=st.data(), expected=st.integers(-1, 1))
    def append_expecting(self, data: st.DataObject, expected: int) -> None:
        thread = self.draw_thread(data)
        if thread is not None:
            tip = max(0, thread.tip + expected)
            self.append(thread.namespace, thread.thread_id, self.message("user", "rain"), expected_tip=tip)

    @rule(data=st.data(), to=_threads)
    def fork(self, data: st.DataObject, to: str) -> None:
        thread = self.draw_thread(data)
        if thread is not None:
            seq = data.draw(st.integers(0, thread.tip + 1))
            self.append(thread.namespace, to, fork_of=ForkPoint(thread.thread_id, seq))

    @rule(data=st.data(), stale=st.integers(0, 9))
    def fold(self, data: st.DataObject, stale: int) -> None:
        thread = self.draw_thread(data)
        if thread is None:
            return
        messages = [message for message in self.messages(thread) if message.seq > thread.folded_through]
        chosen = messages[: data.draw(st.integers(0, len(messages)))]
        nodes = [self.node(chosen)] if chosen else []
        self.fold_in(thread, nodes, max([thread.folded_through, *(m.seq for m in chosen)]), stale=stale == 0)

    @rule(data=st.data())
    def fold_higher(self, data: st.DataObject) -> None:
        thread = self.draw_thread(data)
        if thread is None:
            return
        top = self.read(thread, nodes=True, limit=0).nodes
        chosen = top[: data.draw(st.integers(0, len(top)))]
        if len(chosen) >= 2:
            lines = tuple(line for child in chosen for line in child.lines)[:2]
            covers = tuple(sorted(span for child in chosen for span in child.covers))
            up = Node(
                id=self.fresh("n"),
                level=chosen[0].level + 1,
                covers=covers,
                lines=lines,
                author="extractive",
                created_at=self.now(),
                children=tuple(child.id for child in chosen),
            )
            self.fold_in(thread, [up], thread.folded_through)

    @rule(data=st.data(), model=st.sampled_from(("gpt", "llama")), outcome=st.sampled_from(("", "", "error", "same", "stale")))
    def refine(self, data: st.DataObject, model: str, outcome: str) -> None:
        """A model's summary of some node, of which one line is left; a failed attempt; a success that changes nothing; or one
        that comes too late."""
        thread = self.draw_thread(data)
        nodes = () if thread is None else self.read(thread, tree=True, limit=0).nodes
        if thread is None or not nodes:
            return
        expected = data.draw(st.sampled_from(nodes))
        node = None
        if outcome in ("", "stale"):
            node = msgspec.structs.replace(expected, id=self.fresh("n"), lines=expected.lines[:1], author=model, span="x")
        if outcome == "stale":
            expected = msgspec.structs.replace(expected, covers=((1, 1), (3, 3)))
        attempt = Attempt(
            span="x",
            node_id=(node or expected).id,
            model=model,
            at=self.now(),
            reason="error" if outcome == "error" else "",
        )
        request = Refine(namespace=thread.namespace, thread_id=thread.thread_id, expected=expected, attempt=attempt, node=node)
        self.both(lambda store: store.refine(request))

    def fold_in(self, thread: ThreadInfo, nodes: list[Node], through: int, *, stale: bool = False) -> None:
        request = Fold(
            namespace=thread.namespace,
            thread_id=thread.thread_id,
            nodes=tuple(nodes),
            through=through,
            expected_through=thread.folded_through + stale,
        )
        self.both(lambda store: store.fold(request))

    def node(self, messages: list[Message]) -> Node:
        """A node over these, with a line for each that has text and one that rests on the first two."""
        lines = [Line(message.text, (message.id,), START) for message in messages if message.text]
        lines += [Line("of two", (messages[0].id, messages[1].id), START)] if len(messages) > 1 else []
        covers: list[tuple[int, int]] = []
        for message in messages:
            if covers and covers[-1][1] == message.seq - 1:
                covers[-1] = (covers[-1][0], message.seq)
            else:
                covers.append((message.seq, message.seq))
        return Node(
            id=self.fresh("n"), level=1, covers=tuple(covers), lines=tuple(lines), author="extractive", created_at=self.now()
        )

    @rule(data=st.data(), tier=st.sampled_from(TIERS), score=st.none() | st.integers(1, 10), unknown=st.integers(0, 9))
    def mark(self, data: st.DataObject, tier: Tier, score: int | None, unknown: int) -> None:
        """Another tier for a message, or a score; now and then for one that is not there, beside one that is."""
        thread = self.draw_thread(data)
        known = self.draw_message(data, thread)
        if thread is None or known is None:
            return
        named = (known.id, "unknown") if unknown == 0 else (known.id,)
        request = Mark(
            namespace=thread.namespace,
            thread_id=thread.thread_id,
            at=self.now(),
            tiers=tuple((each, tier) for each in named) if score is None else (),
            scores=() if score is None else tuple((each, score) for each in named),
            author="model" if tier == "working" else "",
        )
        self.both(lambda store: store.mark(request))

    # -- checkpoints ------------------------------------------------------------------------------------------------------

    @rule(data=st.data(), state=st.binary(max_size=4), again=st.integers(0, 3), seq=st.none() | st.integers(0, 9))
    def save(self, data: st.DataObject, state: bytes, again: int, seq: int | None) -> None:
        """A new checkpoint, or another save under a known id: with the same state it is a retry."""
        thread = self.draw_thread(data)
        if thread is None:
            return
        known = self.checkpoints(thread)
        parent = data.draw(st.sampled_from((msgspec.UNSET, None, "unknown", *known)))
        request = Save(
            namespace=thread.namespace,
            thread_id=thread.thread_id,
            id=data.draw(st.sampled_from(known)) if known and again == 0 else self.fresh("k"),
            at=self.now(),
            state=state[:again],
            format="bytes",
            view={"size": again},
            parent_id=parent,
            seq=seq,
        )
        self.both(lambda store: store.save(request))

    @rule(data=st.data(), keep=st.none() | st.integers(0, 4))
    def prune(self, data: st.DataObject, keep: int | None) -> None:
        thread = self.draw_thread(data)
        if thread is None:
            return
        known = self.checkpoints(thread)
        going = data.draw(st.lists(st.sampled_from(known), max_size=3)) if known and keep is None else []
        request = Prune(namespace=thread.namespace, thread_id=thread.thread_id, keep=keep, ids=tuple(going))
        self.both(lambda store: store.prune(request))

    @rule(data=st.data(), to=_threads, exactly=st.integers(0, 4))
    def fork_at_checkpoint(self, data: st.DataObject, to: str, exactly: int) -> None:
        thread = self.draw_thread(data)
        found = [] if thread is None else _scan(self.reference, "checkpoints", Scope(thread.namespace))
        if thread is None or not found:
            return
        at = data.draw(st.sampled_from(found))
        seq = at.seq if exactly else at.seq + 1
        # Now and then one of another thread, which is refused.
        of = at.thread_id if exactly > 1 else thread.thread_id
        self.append(thread.namespace, to, fork_of=ForkPoint(of, seq), checkpoint_id=at.id)

    def checkpoints(self, thread: ThreadInfo) -> list[str]:
        """Ids of a thread's."""
        found = _scan(self.reference, "checkpoints", Scope(thread.namespace))
        return [each.id for each in found if each.thread_id == thread.thread_id]

    # -- turns ------------------------------------------------------------------------------------------------------------

    @rule(
        namespace=_namespaces,
        thread_id=_threads,
        holder=st.sampled_from(("h1", "h2")),
        minutes=st.integers(1, 20),
        purpose=st.sampled_from(("turn", "turn", "reflection")),
    )
    def acquire(self, namespace: Namespace, thread_id: str, holder: str, minutes: int, purpose: Purpose) -> None:
        """Every step is a minute, so some leases end by themselves."""
        self.acquire_lease(namespace, thread_id, holder, minutes, purpose=purpose)

    @rule(data=st.data(), minutes=st.integers(1, 20))
    def renew(self, data: st.DataObject, minutes: int) -> None:
        lease = self.draw_lease(data)
        if lease is not None:
            named = {"token": lease.token, "purpose": lease.purpose}
            self.acquire_lease(lease.namespace, lease.thread_id, lease.holder, minutes, **named)

    def acquire_lease(self, namespace: Namespace, thread_id: str, holder: str, minutes: int, **options: Any) -> None:
        at = self.now()
        until = at + timedelta(minutes=minutes)
        request = Acquire(namespace=namespace, thread_id=thread_id, holder=holder, at=at, until=until, **options)

        def acquire(store: Store) -> Lease:
            lease = store.acquire(request)
            self.leases = [*self.leases[-5:], lease]
            return lease

        self.both(acquire)

    @rule(data=st.data())
    def release(self, data: st.DataObject) -> None:
        lease = self.draw_lease(data)
        if lease is not None:
            self.both(lambda store: store.release(Release(lease)))

    @rule(data=st.data(), elsewhere=st.integers(0, 9))
    def append_with_lease(self, data: st.DataObject, elsewhere: int) -> None:
        lease = self.draw_lease(data)
        if lease is not None:
            thread_id = "t3" if elsewhere == 0 else lease.thread_id
            self.append(lease.namespace, thread_id, self.message("user", "rain"), lease=lease)

    def draw_lease(self, data: st.DataObject) -> Lease | None:
        """One of the last, current or not."""
        return data.draw(st.sampled_from(self.leases)) if self.leases else None

    # -- records ----------------------------------------------------------------------------------------------------------

    def put(self, namespace: Namespace, *records: AnyRecord, **options: Any) -> None:
        request = Put(namespace=namespace, records=records, **options)
        self.both(lambda store: store.put(request))

    @rule(namespace=_namespaces, record_id=_record_ids, text=_texts)
    def put_note(self, namespace: Namespace, record_id: str, text: str) -> None:
        self.put(namespace, Note(id=record_id, text=text, trust="user", recorded_at=self.now()))

    @rule(data=st.data(), record_id=_record_ids, slot=st.sampled_from(("home", "diet")), amount=st.integers(1, 3))
    def put_insight(self, data: st.DataObject, record_id: str, slot: str, amount: int) -> None:
        namespace = data.draw(_namespaces)
        sources: list[Source] = []
        for _ in range(amount):
            thread = self.draw_thread(data, namespace)
            message = self.draw_message(data, thread)
            if thread is not None and message is not None:
                sources.append(Source(message.id, thread.thread_id, data.draw(_texts)))
        text = sources[0].text if sources else "given"
        unique = {(source.thread_id, source.message_id): source for source in sources}
        insight = Insight(
            id=record_id,
            text=text,
            trust="user",
            recorded_at=self.now(),
            topic="identity",
            subject="user",
            slot=slot,
            value=text,
            sources=tuple(unique.values()),
        )
        self.put(namespace, insight)

    @rule(data=st.data(), text=_texts, said=st.booleans())
    def put_state(self, data: st.DataObject, text: str, said: bool) -> None:
        """An entry of a thread's state: drawn from one of its messages, or set by hand."""
        thread = self.draw_thread(data)
        message = self.draw_message(data, thread) if said else None
        if thread is None:
            return
        entry = StateEntry(
            id=self.fresh("e"),
            text=text,
            trust="user",
            recorded_at=self.now(),
            thread_id=thread.thread_id if text else "t3",
            part="fact",
            seq=thread.tip if message is None else message.seq,
            sources=() if message is None else (Source(message.id, thread.thread_id, text),),
        )
        self.put(thread.namespace, entry)

    @rule(data=st.data(), amount=st.integers(1, 2))
    def put_proposal(self, data: st.DataObject, amount: int) -> None:
        """An insight that waits to be approved, with the change that it is part of."""
        thread = self.draw_thread(data)
        messages = () if thread is None else self.messages(thread)
        if thread is None or not messages:
            return
        sources = tuple(Source(each.id, thread.thread_id, each.text or "given") for each in messages[-amount:])
        insight = Insight(
            id="r1",
            text=sources[0].text,
            trust="user",
            recorded_at=self.now(),
            topic="identity",
            subject="user",
            slot="home",
            value="home",
            sources=sources,
        )
        proposal = Proposal(
            id=self.fresh("p"),
            text=insight.text,
            trust="user",
            recorded_at=insight.recorded_at,
            sources=sources,
            proposed=insight,
        )
        self.put(thread.namespace, proposal, change=Change(id=self.fresh("c"), at=self.now(), what="drawn"))

    @rule(data=st.data(), text=_texts, said=st.booleans(), outcome=st.sampled_from(("success", "failure", "unknown")))
    def put_episode(self, data: st.DataObject, text: str, said: bool, outcome: Outcome) -> None:
        """One given by hand, or made of a message and an entry of a thread's state, which may be of another thread."""
        thread = self.draw_thread(data) if said else None
        message = self.draw_message(data, thread)
        namespace = data.draw(_namespaces) if thread is None else thread.namespace
        entries = [
            stored.record.id
            for stored in _scan(self.reference, "records", Scope(namespace), kinds=("state",))
            if thread is not None and stored.record.thread_id == thread.thread_id
        ]
        now = self.now()
        episode = Episode(
            id=self.fresh("ep"),
            text=text,
            trust="user",
            recorded_at=now,
            task=text,
            outcome=outcome,
            ended_at=now,
            thread_id="" if thread is None else thread.thread_id,
            entries=tuple(entries[:2]),
            sources=() if thread is None or message is None else (Source(message.id, thread.thread_id, text),),
        )
        self.put(namespace, episode)

    @rule(data=st.data())
    def put_summary(self, data: st.DataObject) -> None:
        """The session summary with the move of its cursor, as `end()` stores it."""
        thread = self.draw_thread(data)
        if thread is None:
            return
        messages = [message for message in self.messages(thread) if message.text]
        lines = tuple(Line(message.text, (message.id,), START) for message in messages[-3:])
        summary = Summary(
            id=self.fresh("s"),
            text="\n".join(line.text for line in lines),
            trust="user",
            recorded_at=self.now(),
            thread_id=thread.thread_id,
            lines=lines,
            through=thread.tip,
            sources=tuple(Source(message.id, thread.thread_id, "") for message in messages[-3:]),
        )
        expected = data.draw(st.sampled_from((thread.reflected_through, thread.reflected_through, 1)))
        self.put(thread.namespace, summary, cursor=Cursor(thread.thread_id, "reflected", expected, thread.tip))

    @rule(data=st.data(), namespace=_namespaces, by=st.none() | _record_ids, closed=st.booleans())
    def retire(self, data: st.DataObject, namespace: Namespace, by: str | None, closed: bool) -> None:
        there = [stored.record.id for stored in _scan(self.reference, "records", Scope(namespace))]
        record_id = data.draw(st.sampled_from([*there, "unknown"]))
        if by != record_id:
            valid_to = START if closed else None
            self.put(namespace, retire=(Retire(record_id, self.now(), "newer", superseded_by=by, valid_to=valid_to),))

    @rule(namespace=_namespaces, cited=st.lists(_record_ids, min_size=1, max_size=3), later=st.booleans())
    def cite(self, namespace: Namespace, cited: list[str], later: bool) -> None:
        """Uses of records; with `later`, told of later than they were."""
        cite = tuple(Cite(record_id, self.now()) for record_id in cited)
        self.put(namespace, cite=cite, at=self.now() if later else None)

    @rule(data=st.data(), namespace=_namespaces, closed=st.booleans(), stale=st.integers(0, 4), without=st.integers(0, 2))
    def restore(self, data: st.DataObject, namespace: Namespace, closed: bool, stale: int, without: int) -> None:
        """A change that takes a record back to something, without some of its sources, beside one that is new; now and then one
        that rests on what is no longer so."""
        there = [stored.record for stored in _scan(self.reference, "records", Scope(namespace))]
        record = data.draw(st.sampled_from([None, *there]))
        record_id, sources = ("unknown", ()) if record is None else (record.id, record.sources)
        if isinstance(record, StateEntry | Summary):
            return
        restore = Restore(
            record_id=record_id,
            retired_at=self.now() if closed else None,
            reason="undone" if closed else "",
            without=tuple((source.thread_id, source.message_id) for source in sources[:without]),
        )
        change = Change(id=self.fresh("c"), at=self.now(), what="undone", undoes="c0")
        note = Note(id=self.fresh("n"), text="bees", trust="user", recorded_at=self.now())

        def put(store: Store) -> None:
            revision = store.revision(namespace) + (stale == 0)
            store.put(
                Put(
                    namespace=namespace,
                    at=change.at,
                    records=(note,),
                    restore=(restore,),
                    change=change,
                    at_revision=revision,
                )
            )

        self.both(put)

    @rule(data=st.data(), record_id=_record_ids)
    def put_receipt(self, data: st.DataObject, record_id: str) -> None:
        """A receipt of a thread's newest messages, one recalled message, its first node and a record."""
        thread = self.draw_thread(data)
        if thread is None:
            return
        transcript = self.read(thread, limit=2, nodes=True)
        lines = [ReceiptLine("profile", "record", record_id, "current")] if self.has_record(thread.namespace, record_id) else []
        lines += [ReceiptLine("summary", "node", node.id, "folded") for node in transcript.nodes[:1]]
        recalled = self.draw_message(data, self.draw_thread(data, thread.namespace))
        lines += [ReceiptLine("recalled", "message", recalled.id, "match")] if recalled else []
        receipt = Receipt(
            id=self.fresh("c"),
            thread_id=thread.thread_id,
            created_at=self.now(),
            budget=100,
            tokens=10,
            counter="builtin",
            ranker="1",
            renderer=1,
            digest="",
            lines=tuple(lines),
            recent=tuple((message.seq, message.seq) for message in transcript.messages),
        )
        self.put(thread.namespace, receipt=receipt)

    @rule(data=st.data(), thread_id=_threads, tokens=st.integers(1, 9))
    def put_usage(self, data: st.DataObject, thread_id: str, tokens: int) -> None:
        """What a context took, of a receipt that is there or is not, and a call for a thread that is there or is not."""
        namespace = data.draw(_namespaces)
        receipts = _scan(self.reference, "receipts", Scope(namespace))
        context_id, of_thread = data.draw(
            st.sampled_from([("unknown", "t1"), *((receipt.id, receipt.thread_id) for receipt in receipts)])
        )
        usage = TurnUsage(
            context_id=context_id,
            thread_id=of_thread,
            at=self.now(),
            budget=100,
            counter="builtin",
            sections={"recent messages": tokens},
        )
        call = ModelCall(thread_id, self.now(), Call("summary", "small-1", 0.5, Usage(calls=1, tokens_in=tokens)))
        self.put(namespace, usage=usage, calls=(call,))

    @rule(
        data=st.data(),
        step=st.sampled_from(["extract", "reflect"]),
        first=st.integers(1, 3),
        failed=st.booleans(),
        fresh=st.booleans(),
    )
    def ask(self, data: st.DataObject, step: AskedStep, first: int, failed: bool, fresh: bool) -> None:
        """What came of asking a model about a thread's messages, after the last time or as if there had been none; how much a
        record matters."""
        thread = self.draw_thread(data)
        if thread is None:
            return
        kept = _scan(self.reference, "asked", Scope(thread.namespace), thread_id=thread.thread_id)
        last = next((each for each in kept if (each.step, each.first) == (step, first)), None)
        asked = Asked(
            thread_id=thread.thread_id,
            step=step,
            first=first,
            through=max(first, thread.tip),
            model="small-1",
            prompt="extract 1",
            at=self.now(),
            number=1 if last is None else last.number + 1,
            reason="error" if failed else "",
        )
        record_id = data.draw(_record_ids)
        weigh = (Weigh(record_id, "high" if failed else "low"),) if self.has_record(thread.namespace, record_id) else ()
        self.put(thread.namespace, asked=(Ask(asked, None if fresh else last),), weigh=weigh, at=self.now())

    @rule(namespace=_namespaces, amount=st.integers(1, 8), newest=st.booleans())
    def embed(self, namespace: Namespace, amount: int, newest: bool) -> None:
        self.embed_waiting(namespace, amount, newest)

    def embed_waiting(self, namespace: Namespace, amount: int, newest: bool = False) -> None:
        """Vectors for some of the waiting units, of the current space or of the one being filled. Their numbers are each
        store's own; their texts are the same."""
        embedder = self.in_use(newest)

        def embed(store: Store) -> list[str]:
            waiting = _scan(store, "pending", Scope(namespace), space=embedder.fingerprint)
            texts = sorted({unit.text for unit in waiting})[:amount]
            vectors = tuple((unit.unit, embedder.stored(unit.text)) for unit in waiting if unit.text in texts)
            # Half of them with tokens from the start.
            tokens = tuple((unit.unit, _tokens(unit.text)) for unit in waiting if unit.text in texts[::2])
            given = TokenVectors(_TOKENS, tokens)
            store.put(Put(namespace=namespace, vectors=vectors, space=embedder.fingerprint, tokens=given))
            return texts

        self.both(embed)

    @rule(namespace=_namespaces, amount=st.integers(1, 8))
    def give_tokens(self, namespace: Namespace, amount: int) -> None:
        """Vectors of their tokens for some of the units that have a vector and none."""

        def give(store: Store) -> list[str]:
            waiting = _scan(store, "pending", Scope(namespace), tokens=_TOKENS)
            texts = sorted({unit.text for unit in waiting})[:amount]
            tokens = tuple((unit.unit, _tokens(unit.text)) for unit in waiting if unit.text in texts)
            store.put(Put(namespace=namespace, tokens=TokenVectors(_TOKENS, tokens)))
            return texts

        self.both(give)

    @rule(embedder=_embedders)
    def fill_space(self, embedder: HashEmbedder) -> None:
        """Begin another space, go on with one, or give one up."""
        self.both(lambda store: store.fill_space(embedder.fingerprint))

    @rule(surely=st.booleans(), embedder=_embedders, waiting=st.sampled_from((0, 0, 2)))
    def switch_space(self, surely: bool, embedder: HashEmbedder, waiting: int) -> None:
        """To the space that is being filled, all of it if `surely`; or to whichever, which may be none in use."""
        if surely:
            embedder, waiting = self.in_use(newest=True), 0
            for namespace in _NAMESPACES:
                self.embed_waiting(namespace, 100, newest=True)
        self.both(lambda store: store.switch_space(embedder.fingerprint, waiting=waiting))

    @rule()
    def sweep(self) -> None:
        """Backends may take several turns at it."""
        self.both(lambda store: store.sweep(), lambda _: None)

    @rule(text=_texts, embedder=_embedders, newest=st.booleans())
    def put_late_vectors(self, text: str, embedder: HashEmbedder, newest: bool) -> None:
        """Vectors for a space that may not be in use (any more); of another dimension, for one that is."""
        space = self.in_use(newest).fingerprint
        named = embedder.fingerprint if embedder.fingerprint.dimension == space.dimension else space

        def put(store: Store) -> None:
            units = [each.unit for each in _scan(store, "pending", Scope(("a",)), space=space) if each.text == text]
            store.put(Put(namespace=("a",), vectors=tuple((unit, embedder.stored(text)) for unit in units), space=named))

        self.both(put)

    def in_use(self, newest: bool) -> HashEmbedder:
        """The embedder of the current space; of the one being filled if there is one and it is asked for."""
        found = self.reference.spaces()
        wanted = found[-1 if newest else 0].fingerprint
        return next(embedder for embedder in _EMBEDDERS if embedder.fingerprint == wanted)

    # -- search, forget, reopen -------------------------------------------------------------------------------------------

    @rule(
        scope=_scopes,
        query=_texts,
        near=st.none() | _texts,
        kinds=st.just(set(_KINDS)) | st.sets(st.sampled_from(_KINDS)),
        current=st.booleans(),
        around=st.sampled_from((0, 1000)),
        where=st.none() | filters(),
        embedder=st.none() | _embedders,
    )
    def search(
        self,
        scope: Scope,
        query: str,
        near: str | None,
        kinds: set[Any],
        current: bool,
        around: int,
        where: Filter | None,
        embedder: HashEmbedder | None,
    ) -> None:
        """Of the space of an embedder, which may not be in use, or of the one being filled, else of the current one."""
        asked = self.in_use(newest=True) if embedder is None else embedder
        request = Search(
            scope=scope,
            terms=tuple(dict.fromkeys(index_terms(query).split())),
            vector=None if near is None else asked.stored(near),
            kinds=tuple(sorted(kinds)),
            limit=1000,
            around=around,
            current=current,
            where=where,
            tokens=_TOKENS,
            space=asked.fingerprint,
        )
        self.both(lambda store: store.search(request), _comparable)

    @rule(
        data=st.data(),
        scope=_scopes,
        query=_texts,
        near=st.none() | _texts,
        spans=st.lists(st.tuples(st.integers(0, 8), st.integers(1, 12)), max_size=3),
        records=st.lists(_record_ids, max_size=2),
        limit=st.integers(1, 4),
    )
    def search_beside(
        self,
        data: st.DataObject,
        scope: Scope,
        query: str,
        near: str | None,
        spans: list[tuple[int, int]],
        records: list[str],
        limit: int,
    ) -> None:
        """What is in view is not found, a limit is of what is left, and that is as it was."""
        seen = InView(
            namespace=data.draw(_namespaces), thread_id=data.draw(_threads), spans=tuple(spans), records=tuple(records)
        )
        terms = tuple(dict.fromkeys(index_terms(query).split()))
        vector = None if near is None else self.in_use(newest=False).stored(near)
        request = Search(scope=scope, terms=terms, vector=vector, limit=1000, around=1000)
        beside = msgspec.structs.replace(request, in_view=seen)
        self.both(lambda store: store.search(beside), _comparable)
        left = self.store.search(beside)
        whole = {(each.namespace, each.thread_id, each.id): each for each in self.store.search(request).candidates}
        assert all(each == whole[each.namespace, each.thread_id, each.id] for each in left.candidates)
        by_words = sum(bool(each.counts) for each in left.candidates)
        for_words = msgspec.structs.replace(beside, vector=None, limit=limit, around=0)
        assert len(self.store.search(for_words).candidates) == min(limit, by_words)

    @rule(data=st.data(), scope=_scopes, query=_texts, near=st.none() | _texts, ago=st.none() | st.integers(0, 40))
    def search_past(self, data: st.DataObject, scope: Scope, query: str, near: str | None, ago: int | None) -> None:
        """Among what there was some time ago, with the records that somebody says there were."""
        records = [(each.namespace, each.record.id) for each in _scan(self.reference, "records", scope)]
        known = data.draw(st.lists(st.sampled_from(records), max_size=4, unique=True)) if records else []
        past = Past(
            at=None if ago is None else START + timedelta(minutes=max(0, self.count - ago)),
            known=tuple(known),
            found=tuple(known[: data.draw(st.integers(0, len(known)))]),
        )
        request = Search(
            scope=scope,
            terms=tuple(dict.fromkeys(index_terms(query).split())),
            vector=None if near is None else self.in_use(newest=False).stored(near),
            limit=1000,
            around=1000,
            past=past,
            where=data.draw(st.none() | filters()),
        )
        self.both(lambda store: store.search(request), _comparable)

    @rule(data=st.data(), scope=_scopes)
    def forget_message(self, data: st.DataObject, scope: Scope) -> None:
        message = self.draw_message(data, self.draw_thread(data))
        if message is not None:
            self.forget(scope, message_id=message.id)

    @rule(scope=_scopes, record_id=_record_ids)
    def forget_record(self, scope: Scope, record_id: str) -> None:
        self.forget(scope, record_id=record_id)

    @rule(data=st.data(), scope=_scopes, kind=st.sampled_from(("state", "episode")))
    def forget_work(self, data: st.DataObject, scope: Scope, kind: RecordKind) -> None:
        """An entry of a state, with the episodes that were made of it; or an episode."""
        there = [stored.record.id for stored in _scan(self.reference, "records", scope, kinds=(kind,))]
        if there:
            self.forget(scope, record_id=data.draw(st.sampled_from(there)))

    @rule(scope=_scopes, thread_id=st.none() | _threads, surely=st.integers(0, 4))
    def forget_much(self, scope: Scope, thread_id: str | None, surely: int) -> None:
        """A thread or a whole scope; not too often, or no run would ever hold much."""
        if surely == 0:
            self.forget(scope, **({} if thread_id is None else {"thread_id": thread_id}))

    @rule(data=st.data(), parent=st.booleans())
    def forget_fork(self, data: st.DataObject, parent: bool) -> None:
        """A fork, or the thread it was forked from, if that is still there."""
        forks = [(thread, thread.parent) for thread in self.threads() if thread.parent is not None]
        if forks:
            fork, point = data.draw(st.sampled_from(forks))
            self.forget(Scope(fork.namespace), thread_id=point.thread_id if parent else fork.thread_id)

    def forget(self, scope: Scope, **named: Any) -> None:
        request = Forget(scope=scope, at=self.now(), **named)
        self.both(lambda store: store.forget(request), lambda receipt: msgspec.structs.replace(receipt, id="", erased=True))

    @rule()
    def reopen_store(self) -> None:
        self.store = self.reopen(self.store)

    # -- what must hold after every step ----------------------------------------------------------------------------------

    @invariant()
    def the_same_is_stored(self) -> None:
        self.both(_contents)

    @invariant()
    def the_same_is_counted(self) -> None:
        self.both(lambda store: [_counts(store, Scope(namespace, subtree=True)) for namespace in _NAMESPACES])

    @invariant()
    def an_equal_revision_means_equal_records(self) -> None:
        for namespace in _NAMESPACES:
            now = (self.store.revision(namespace), but_items(_scan(self.store, "records", Scope(namespace))))
            before = self.revisions.setdefault(namespace, now)
            assert now[0] >= before[0]
            assert now[0] > before[0] or now[1] == before[1]
            self.revisions[namespace] = now

    @invariant()
    def the_store_is_sound(self) -> None:
        assert self.reference.check() == []
        assert self.store.check() == []

    # -- what there is to choose from, in the reference -------------------------------------------------------------------

    def threads(self, namespace: Namespace | None = None) -> list[ThreadInfo]:
        scope = _EVERYTHING if namespace is None else Scope(namespace)
        return _scan(self.reference, "threads", scope)

    def draw_thread(self, data: st.DataObject, namespace: Namespace | None = None) -> ThreadInfo | None:
        threads = self.threads(namespace)
        return data.draw(st.sampled_from(threads)) if threads else None

    def draw_message(self, data: st.DataObject, thread: ThreadInfo | None) -> Message | None:
        messages = () if thread is None else self.messages(thread)
        return data.draw(st.sampled_from(messages)) if messages else None

    def messages(self, thread: ThreadInfo) -> tuple[Message, ...]:
        return self.read(thread).messages

    def read(self, thread: ThreadInfo, **options: Any) -> Transcript:
        return _read(self.reference, thread, **options)

    def has_record(self, namespace: Namespace, record_id: str) -> bool:
        return bool(self.reference.get(Get(scope=Scope(namespace), records=(record_id,))).records)


def _outcome(act: Callable[[Store], T], store: Store) -> T | BethinkError:
    try:
        return act(store)
    except BethinkError as error:
        return error


def _contents(store: Store) -> dict[str, object]:
    """All that can be read; waiting units by their texts, since their numbers are each store's own."""
    listed: tuple[What, ...] = ("threads", "messages", "records", "receipts", "checkpoints", "usage", "model calls", "asked")
    contents: dict[str, object] = {what: _scan(store, what, _EVERYTHING) for what in (*listed, *_PAST)}
    since = START + timedelta(minutes=20)
    contents["lately"] = [_scan(store, what, Scope(("a",), True), since=since) for what in _PAST]
    contents["of one"] = _scan(store, "versions", Scope(("a",)), record_id="r1")
    contents["stored by"] = [
        _scan(store, "messages", scope, stored_by=since, thread_id=of)
        for scope in (_EVERYTHING, Scope(("a",)))
        for of in (None, "t1")
    ]
    contents["spoken by"] = store.speakers(_EVERYTHING, at=since)
    for kind in ("summary", "episode", "insight"):
        contents[f"{kind} by id"] = [
            _scan(store, "records", Scope(namespace), kinds=(kind,), current=True, by_id=True, newest=newest)
            for namespace in _NAMESPACES
            for newest in (False, True)
        ]
    ages = (Due(idle_since=START + timedelta(minutes=9)), Due(messages=3), Due(idle_since=START, messages=2))
    contents["due"] = [_scan(store, "threads", _EVERYTHING, due=due) for due in ages]
    contents["speakers"] = [store.speakers(Scope(namespace, subtree)) for namespace in _NAMESPACES for subtree in (False, True)]
    saved = tuple(each.id for each in _scan(store, "checkpoints", _EVERYTHING))
    contents["states"] = store.get(Get(scope=_EVERYTHING, checkpoints=saved)).checkpoints
    contents["pending"] = [
        sorted(unit.text for unit in _scan(store, "pending", _EVERYTHING, space=space.fingerprint)) for space in store.spaces()
    ]
    contents["without tokens"] = sorted(unit.text for unit in _scan(store, "pending", _EVERYTHING, tokens=_TOKENS))
    contents["spaces"] = store.spaces()
    threads = _scan(store, "threads", _EVERYTHING)
    contents["nodes"] = [_read(store, thread, nodes=True, limit=0) for thread in threads]
    contents["tree"] = [_read(store, thread, tree=True, limit=0) for thread in threads]
    whole = {"unfolded": True, "whole_groups": True, "pinned": True, "nodes": True, "marks": True}
    contents["unfolded"] = [_read(store, thread, **whole) for thread in threads]
    contents["marks"] = [_read(store, thread, pinned=True, marks=True, limit=2) for thread in threads]
    return contents


def _tokens(text: str) -> bytes:
    """Two bytes for each word."""
    return b"".join(word.encode()[:1] * 2 for word in text.split())


def _scan(store: Store, what: What, scope: Scope, **options: Any) -> list[Any]:
    """Every item, in pages of three so that paging is used too."""
    request = Scan(what=what, scope=scope, limit=3, **options)
    items: list[Any] = []
    while True:
        page = store.scan(request)
        items += page.items
        if page.next is None:
            return items
        request = msgspec.structs.replace(request, after=page.next)


def _read(store: Store, thread: ThreadInfo, **options: Any) -> Transcript:
    return store.read(Read(namespace=thread.namespace, thread_id=thread.thread_id, **options))


def _counts(store: Store, scope: Scope) -> dict[str, object]:
    stats = store.stats(scope)
    names = ("threads", "messages", "nodes", "attempts", "retired", "receipts", "checkpoints", "units", "pending", "embedder")
    records = {kind: count for kind, count in stats.records.items() if count}
    return {**{name: getattr(stats, name) for name in names}, "records": records}


def _comparable(found: Found) -> object:
    """What two backends must agree on: all but the order, and the last digits of a cosine."""
    candidates, beside = (sorted(map(_told, each)) for each in (found.candidates, found.beside))
    return candidates, beside, found.units, round(found.mean_length, 6), found.frequency, found.pending


def _told(candidate: Candidate) -> tuple[Any, ...]:
    return (
        candidate.namespace,
        candidate.kind,
        candidate.thread_id or "",
        candidate.id,
        candidate.text,
        candidate.speaker,
        candidate.trust,
        sorted(candidate.counts.items()),
        candidate.length,
        None if candidate.cosine is None else round(candidate.cosine, 3) + 0.0,
    )
