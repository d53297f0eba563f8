"""`RecordRules`: the part of `StoreMachine` that stores, cites, retires and restores records."""

from __future__ import annotations

from hypothesis import strategies as st
from hypothesis.stateful import rule

from bethink.claims import Claim
from bethink.records import Episode, Insight, Line, Note, Outcome, Proposal, Source, StateEntry, Summary
from bethink.storage.base import Change, Cite, Cursor, Pin, Put, Restore, Retire, Scope, Store
from bethink.testing._stateful import MachineBase, namespaces, record_ids, scan, texts
from bethink.testing.doubles import START
from bethink.values import Namespace

__all__ = ["RecordRules"]

_claims = st.sampled_from((None, Claim(about="bees"), Claim(about="bees", value="40"), Claim(about="Bees", value="50")))


class RecordRules(MachineBase):
    """Records of every kind but items, with their lineage, and what becomes of them."""

    @rule(namespace=namespaces, record_id=record_ids, text=texts, author=st.sampled_from(("", "ann", "ben")), claim=_claims)
    def put_note(self, namespace: Namespace, record_id: str, text: str, author: str, claim: Claim | None) -> None:
        self.put(namespace, Note(id=record_id, text=text, trust="user", recorded_at=self.now(), author=author, claim=claim))

    @rule(data=st.data(), record_id=record_ids, slot=st.sampled_from(("home", "diet")), amount=st.integers(1, 3))
    def put_insight(self, data: st.DataObject, record_id: str, slot: str, amount: int) -> None:
        namespace = data.draw(namespaces)
        sources: list[Source] = []
        for _ in range(amount):
            thread = self.draw_thread(data, namespace)
            message = self.draw_message(data, thread)
            if thread is not None and message is not None:
                sources.append(Source(message.id, thread.thread_id, data.draw(texts)))
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

    @rule(data=st.data(), text=texts, said=st.booleans())
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

    @rule(data=st.data(), text=texts, said=st.booleans(), outcome=st.sampled_from(("success", "failure", "unknown")))
    def put_episode(self, data: st.DataObject, text: str, said: bool, outcome: Outcome) -> None:
        """One given by hand, or made of a message and an entry of a thread's state, which may be of another thread."""
        thread = self.draw_thread(data) if said else None
        message = self.draw_message(data, thread)
        namespace = data.draw(namespaces) if thread is None else thread.namespace
        entries = [
            stored.record.id
            for stored in scan(self.reference, "records", Scope(namespace), kinds=("state",))
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

    @rule(data=st.data(), namespace=namespaces, by=st.none() | record_ids, closed=st.booleans())
    def retire(self, data: st.DataObject, namespace: Namespace, by: str | None, closed: bool) -> None:
        there = [stored.record.id for stored in scan(self.reference, "records", Scope(namespace))]
        record_id = data.draw(st.sampled_from([*there, "unknown"]))
        if by != record_id:
            valid_to = START if closed else None
            self.put(namespace, retire=(Retire(record_id, self.now(), "newer", superseded_by=by, valid_to=valid_to),))

    @rule(namespace=namespaces, cited=st.lists(record_ids, min_size=1, max_size=3), later=st.booleans())
    def cite(self, namespace: Namespace, cited: list[str], later: bool) -> None:
        """Uses of records; with `later`, told of later than they were."""
        cite = tuple(Cite(record_id, self.now()) for record_id in cited)
        self.put(namespace, cite=cite, at=self.now() if later else None)

    @rule(data=st.data(), namespace=namespaces, pinned=st.booleans())
    def pin(self, data: st.DataObject, namespace: Namespace, pinned: bool) -> None:
        """Some record, which may be of a kind that cannot be pinned, or retired."""
        there = [stored.record.id for stored in scan(self.reference, "records", Scope(namespace))]
        self.put(namespace, pin=(Pin(data.draw(st.sampled_from([*there, "unknown"])), pinned),), at=self.now())

    @rule(data=st.data(), namespace=namespaces, closed=st.booleans(), stale=st.integers(0, 4), without=st.integers(0, 2))
    def restore(self, data: st.DataObject, namespace: Namespace, closed: bool, stale: int, without: int) -> None:
        """A change that takes a record back to something, without some of its sources, beside one that is new; now and then one
        that rests on what is no longer so."""
        there = [stored.record for stored in scan(self.reference, "records", Scope(namespace))]
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
