"""The end of a session: its summary, its insights, a profile within bounds."""

from __future__ import annotations

from datetime import datetime

from bethink.engine import Engine
from bethink.errors import Conflict, NotFound
from bethink.ids import new_id
from bethink.records import Proposal, Summary
from bethink.steps.derive import derive
from bethink.storage.base import Change, Cursor, Put, Read, Retire, Scan, Scope, StoredRecord
from bethink.values import Namespace

__all__ = ["former_summary", "reflect", "replaced"]

_ATTEMPTS = 20


def reflect(engine: Engine, namespace: Namespace, thread_id: str) -> Summary | None:
    """End a thread: its summary, its insights, a profile within bounds. Without a new message nothing is done."""
    from bethink.insights.proposing import proposal_of
    from bethink.insights.reflect import archive, session_summary

    began = engine.clock.now()
    change = Change(id=new_id(began), at=began, what="ended", thread_id=thread_id)
    for _ in range(_ATTEMPTS):
        transcript = engine.store.read(Read(namespace=namespace, thread_id=thread_id))
        thread = transcript.thread
        former = former_summary(engine, namespace, thread_id)
        if thread.reflected_through == thread.tip:
            return _waiting(engine, namespace, thread_id, thread.tip) or former
        derive(engine, namespace, part_of=change)
        now = engine.clock.now()
        summary = session_summary(
            transcript.messages,
            thread_id=thread_id,
            through=thread.tip,
            now=now,
            settings=engine.settings,
            count=engine.counter.count,
        )
        retire: tuple[Retire, ...] = ()
        stored: Summary | Proposal | None = summary
        if engine.settings.review:
            stored = None if summary is None else proposal_of(summary, now=now)
        else:
            retire = archive(engine.insights(namespace, current=True), now=now, settings=engine.settings)
        if not engine.settings.review and former is not None and summary is not None and former.id != summary.id:
            retire += (replaced(former, summary, now),)
        put = Put(
            namespace=namespace,
            records=() if stored is None else (stored,),
            retire=retire,
            cursor=Cursor(thread_id, "reflected", thread.reflected_through, thread.tip),
            at=now,
            change=change if stored is not None or retire else None,
        )
        try:
            engine.store.put(put)
        except (Conflict, NotFound):
            # Another process ended it first, or something of it was forgotten meanwhile: look again.
            continue
        return summary
    raise Conflict(f"thread {thread_id!r} is being ended by somebody else — call end() again")


def _waiting(engine: Engine, namespace: Namespace, thread_id: str, through: int) -> Summary | None:
    """The summary of the thread as it is, while it waits to be approved."""
    scan = Scan(what="records", scope=Scope(namespace), kinds=("proposal",), current=True, thread_id=thread_id, newest=True)
    for item in engine.pages(scan):
        if isinstance(item, StoredRecord) and isinstance(item.record, Proposal):
            proposed = item.record.proposed
            if isinstance(proposed, Summary) and proposed.through == through:
                return proposed
    return None


def former_summary(engine: Engine, namespace: Namespace, thread_id: str) -> Summary | None:
    scan = Scan(what="records", scope=Scope(namespace), kinds=("summary",), current=True, thread_id=thread_id, newest=True)
    for item in engine.pages(scan):
        if isinstance(item, StoredRecord) and isinstance(item.record, Summary):
            return item.record
    return None


def replaced(former: Summary, by: Summary, now: datetime) -> Retire:
    return Retire(former.id, now, reason="replaced by a later summary of the same thread", superseded_by=by.id)
