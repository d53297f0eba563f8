"""The end of a session: its summary, its insights, its episode, a profile within bounds.

    end() ────────────────────────────┐
    idle, or so many messages ─▶ due ─┴▶ derive ─▶ summary, episode, what leaves the profile ─▶ one transaction with the cursor

Who notices that a session is idle: whoever next looks at the namespace (`catch_up`), or calls `reflect_due`. There is no queue,
since a thread whose "reflected" cursor is behind its tip says all that an entry in one would: what is left to do, and through
where it was done. It cannot be lost, forgotten or processed twice, and an index finds it. A lease keeps two processes from the
same work; should both do it (it ended, or somebody called `end()`), the compare-and-set of the cursor keeps one result.

A summary and an episode are made of the whole session each time, and take the place of the former. So it makes no difference
whether a session was reflected on once or ten times, or how long nobody could: the last one says what it would have said.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from contextlib import suppress
from datetime import datetime, timedelta

import msgspec

from bethink.engine import Engine
from bethink.errors import Conflict, EmbeddingFailed, InvalidInput, NotFound, ThreadBusy
from bethink.ids import new_id
from bethink.insights.state.adding import add_up
from bethink.insights.state.values import Entry
from bethink.messages import Message
from bethink.records import AnyRecord, Episode, Insight, Proposal, StateEntry, Summary
from bethink.steps import cited
from bethink.steps.derive import current_after, derive
from bethink.steps.unstated import unstated
from bethink.storage.base import Acquire, Change, Cite, Cursor, Due, Lease, Put, Read, Release, Retire, Scan, Scope
from bethink.threads import ThreadInfo
from bethink.values import Namespace

__all__ = [
    "Reflection",
    "catch_up",
    "due_threads",
    "end_idle",
    "former_of",
    "former_summary",
    "reflect",
    "reflect_due",
    "reflect_if_long",
    "reflect_pending",
    "reflection_of",
    "replaced",
]

_ATTEMPTS = 20
_LASTS = timedelta(minutes=5)
"""A lease: many times what a session takes. Who dies holds up the others for so long, and them alone."""
_AT_ONCE = 4
"""Sessions that a call ends for others, the newest first. What is left the next calls end, or `reflect_due`."""


class Reflection(msgspec.Struct, frozen=True, kw_only=True):
    """What is left of a session that was ended.

    Attributes:
        through: the seq of the last message that was looked at.
        summary: None where there was nothing to sum up.
        insights: current ones that rest on this thread, oldest first.
        decisions, open_tasks: of the state of its work, oldest first.
        episode: None where the thread is no piece of work.
    """

    namespace: Namespace
    thread_id: str
    through: int
    summary: Summary | None = None
    insights: tuple[Insight, ...] = ()
    decisions: tuple[Entry, ...] = ()
    open_tasks: tuple[Entry, ...] = ()
    episode: Episode | None = None


# -- one session ----------------------------------------------------------------------------------------------------------


def reflect(engine: Engine, namespace: Namespace, thread_id: str) -> Summary | None:
    """End a thread's session. Without a new message nothing is done. Returns its summary, if there is one."""
    began = engine.clock.now()
    change = Change(id=new_id(began), at=began, what="ended", thread_id=thread_id)
    for _ in range(_ATTEMPTS):
        transcript = engine.store.read(Read(namespace=namespace, thread_id=thread_id))
        thread = transcript.thread
        if thread.reflected_through == thread.tip:
            return _waiting(engine, namespace, thread_id, thread.tip) or next(_former(engine, namespace, thread_id), None)
        derive(engine, namespace, relaxed=True, part_of=change)
        put = _result(engine, namespace, thread, transcript.messages)
        if put.records or put.retire:
            put = msgspec.structs.replace(put, change=change)
        try:
            engine.store.put(put)
        except (Conflict, NotFound):
            # Another process ended it first, or something of it was forgotten meanwhile: look again.
            continue
        if engine.settings.model_steps != ("summarise",):
            # There is something to ask a model for, now that the session is whole.
            engine.notice(namespace, thread_id, folded=True)
        drawn = (record.proposed if isinstance(record, Proposal) else record for record in put.records)
        return next((record for record in drawn if isinstance(record, Summary)), None)
    raise Conflict(f"thread {thread_id!r} is being ended by somebody else — call end() again")


def _result(engine: Engine, namespace: Namespace, thread: ThreadInfo, messages: tuple[Message, ...]) -> Put:
    """All that the end of a session stores. Insights are there already: each was stored with the move of its own cursor."""
    from bethink.insights.episodes import outgrown
    from bethink.insights.reflect import archive, session_summary
    from bethink.steps.episodes import current_episodes, draw_episode

    now, settings = engine.clock.now(), engine.settings
    thread_id, through = thread.thread_id, thread.tip
    summary = session_summary(
        messages, thread_id=thread_id, through=through, now=now, settings=settings, count=engine.counter.count
    )
    episode = draw_episode(engine, namespace, thread_id, messages, through=through, now=now)
    meant = unstated(engine, thread, messages)
    uses = cited.meant(engine, thread, messages)
    if settings.review:
        from bethink.insights.proposing import proposal_of, proposals

        proposed = [proposal_of(each, now=now) for each in (summary, episode) if each is not None]
        more = proposals(engine.insights(namespace), meant, now=now) if meant else ()
        return _put(namespace, thread, [*more, *proposed], (), now, uses)
    records: list[AnyRecord] = []
    if meant:
        from bethink.insights.reconcile import reconcile

        changes = reconcile(known := engine.insights(namespace), meant, now=now)
        records += changes.records
        retire = changes.retire + archive(current_after(known, changes), now=now, settings=settings, template=engine.template)
    else:
        # Not what `Engine.known` holds: that would read all of history once more, since what was drawn has changed the records.
        insights = [record for record in engine.current(namespace, "insight") if isinstance(record, Insight)]
        retire = archive(insights, now=now, settings=settings, template=engine.template)
    if summary is not None:
        records.append(summary)
        retire += replaced(_former(engine, namespace, thread_id), summary, now)
    drawn = list(_drawn(engine, namespace, thread_id))
    if episode is None:
        # The goal was withdrawn, say: had nobody reflected before, there would be none.
        retire += tuple([Retire(each.id, now, "there is no such piece of work in the thread any more") for each in drawn])
    else:
        records.append(episode)
        retire += replaced(drawn, episode, now)
        gone = {episode.id, *[each.id for each in drawn]}
        kept = [each for each in current_episodes(engine, namespace) if each.id not in gone]
        retire += outgrown([*kept, episode], now=now, settings=settings)
    return _put(namespace, thread, records, retire, now, uses)


def _put(
    namespace: Namespace,
    thread: ThreadInfo,
    records: Sequence[AnyRecord],
    retire: tuple[Retire, ...],
    now: datetime,
    uses: tuple[Cite, ...],
) -> Put:
    return Put(
        namespace=namespace,
        records=tuple(records),
        retire=retire,
        cite=uses,
        cursor=Cursor(thread.thread_id, "reflected", thread.reflected_through, thread.tip),
        at=now,
    )


def _waiting(engine: Engine, namespace: Namespace, thread_id: str, through: int) -> Summary | None:
    """The summary of the thread as it is, while it waits to be approved."""
    found = engine.records(Scope(namespace), kinds=("proposal",), current=True, thread_id=thread_id, newest=True)
    waiting = (stored.record.proposed for stored in found if isinstance(stored.record, Proposal))
    return next((each for each in waiting if isinstance(each, Summary) and each.through == through), None)


def former_of(engine: Engine, namespace: Namespace, of: Summary | Episode) -> list[Summary | Episode]:
    """What is current of the same sort, as it was drawn of the same thread."""
    look = _former if isinstance(of, Summary) else _drawn
    return list(look(engine, namespace, of.thread_id))


def former_summary(engine: Engine, namespace: Namespace, thread_id: str) -> Summary | None:
    """The current summary of a thread, if it has one."""
    return next(_former(engine, namespace, thread_id), None)


def _former(engine: Engine, namespace: Namespace, thread_id: str) -> Iterator[Summary]:
    """The current summary of the thread, if it has one."""
    found = engine.records(Scope(namespace), kinds=("summary",), current=True, thread_id=thread_id, newest=True)
    return (stored.record for stored in found if isinstance(stored.record, Summary))


def _drawn(engine: Engine, namespace: Namespace, thread_id: str) -> Iterator[Episode]:
    """The current episode that was drawn of it; those that were stored by hand stay beside it."""
    found = engine.records(Scope(namespace), kinds=("episode",), current=True, thread_id=thread_id, newest=True)
    episodes = (stored.record for stored in found if isinstance(stored.record, Episode))
    return (episode for episode in episodes if episode.through)


def replaced(former: Iterable[AnyRecord], by: AnyRecord, now: datetime) -> tuple[Retire, ...]:
    reason = f"replaced by a later {by.kind} of the same thread"
    return tuple(Retire(each.id, now, reason, superseded_by=by.id) for each in former if each.id != by.id)


def reflection_of(engine: Engine, namespace: Namespace, thread_id: str) -> Reflection | None:
    """What the last end of a session left, as far as it has not been superseded or forgotten since; None if it never ended.

    Raises:
        NotFound: there is no such thread.
    """
    thread = engine.store.read(Read(namespace=namespace, thread_id=thread_id, limit=0)).thread
    if not thread.reflected_through:
        return None
    found = engine.records(Scope(namespace), kinds=("state",), current=False, thread_id=thread_id)
    state = add_up(stored.record for stored in found if isinstance(stored.record, StateEntry))
    return Reflection(
        namespace=namespace,
        thread_id=thread_id,
        through=thread.reflected_through,
        summary=next(_former(engine, namespace, thread_id), None),
        insights=tuple(
            insight
            for insight in engine.insights(namespace, current=True)
            if any(source.thread_id == thread_id for source in insight.sources)
        ),
        decisions=state.decisions,
        open_tasks=state.questions,
        episode=next(_drawn(engine, namespace, thread_id), None),
    )


# -- those that are due ---------------------------------------------------------------------------------------------------


def catch_up(engine: Engine, namespace: Namespace) -> None:
    """What whoever reads the records of a namespace does first: end sessions that are idle, draw what has not been drawn."""
    end_idle(engine, namespace)
    derive(engine, namespace)


def end_idle(engine: Engine, namespace: Namespace) -> None:
    """End sessions of the namespace that are idle (`settings.reflect_after`; without it, none is looked at).

    Cost: a look at the threads that are not ended, and of at most `_AT_ONCE` the end.
    """
    after = engine.settings.reflect_after
    if after is not None and engine.may_write(namespace):
        scan = Scan(what="threads", scope=Scope(namespace), due=_due(engine, after, None), newest=True, limit=_AT_ONCE)
        for thread in _in_time(engine.store.scan(scan).items):
            _reflect_alone(engine, thread)


def reflect_if_long(engine: Engine, thread: ThreadInfo) -> None:
    """Reflect on a thread if so many messages have come since the last time (`settings.reflect_every`)."""
    every = engine.settings.reflect_every
    if every is not None and engine.may_write(thread.namespace) and thread.tip - thread.reflected_through >= every:
        _reflect_alone(engine, thread)


def reflect_due(
    engine: Engine, scope: Scope, *, after: timedelta | None = None, every: int | None = None, limit: int | None = None
) -> list[Reflection]:
    """End every session that is due, those that fell silent first come first; see `Memory.reflect_due`."""
    if limit is not None and limit < 1:
        raise InvalidInput("limit", f"{limit}", "use 1 or more, or leave it out for all")
    done: list[Reflection] = []
    with engine.telemetry.span("reflect", namespace=scope.namespace) as span:
        for thread in due_threads(engine, scope, after=after, every=every)[:limit]:
            if _reflect_alone(engine, thread):
                with suppress(NotFound):
                    found = reflection_of(engine, thread.namespace, thread.thread_id)
                    done += [] if found is None else [found]
        span.add(sessions=len(done))
    return done


def due_threads(engine: Engine, scope: Scope, *, after: timedelta | None = None, every: int | None = None) -> list[ThreadInfo]:
    """The threads whose session is due, by the time of their last message. What is None is as the settings have it.

    Raises:
        InvalidInput: neither they nor the settings say when a session is due; or a value that is none.
    """
    if after is not None and after <= timedelta():
        raise InvalidInput("after", f"{after}", "use more than 0, such as timedelta(minutes=30)")
    if every is not None and every < 1:
        raise InvalidInput("every", f"{every}", "use 1 or more")
    settings = engine.settings
    due = _due(engine, after or settings.reflect_after, every or settings.reflect_every)
    if due.idle_since is None and due.messages is None:
        raise InvalidInput(
            "after", "nothing that says when a session is due", "pass after=timedelta(minutes=30), or set reflect_after"
        )
    return _in_time(engine.pages(Scan(what="threads", scope=scope, due=due)))


def reflect_pending(engine: Engine, scope: Scope) -> None:
    """End what is due by the settings, if they say anything."""
    if engine.settings.reflect_after is not None or engine.settings.reflect_every is not None:
        reflect_due(engine, scope)


def _due(engine: Engine, after: timedelta | None, every: int | None) -> Due:
    return Due(idle_since=None if after is None else engine.clock.now() - after, messages=every)


def _in_time(items: Iterable[object]) -> list[ThreadInfo]:
    threads = [item for item in items if isinstance(item, ThreadInfo)]
    return sorted(threads, key=lambda thread: (thread.updated_at, thread.namespace, thread.thread_id))


def _reflect_alone(engine: Engine, thread: ThreadInfo) -> bool:
    """Reflect under a lease; False where that is not to be done any more: somebody else does it or has done it, or the thread
    is gone; or not yet, since the embedder failed: then it stays due."""
    lease = _leased(engine, thread)
    if lease is None:
        return False
    try:
        now = engine.store.read(Read(namespace=thread.namespace, thread_id=thread.thread_id, limit=0)).thread
        if now.reflected_through == now.tip:
            return False
        with engine.telemetry.span("end", namespace=thread.namespace, thread_id=thread.thread_id):
            reflect(engine, thread.namespace, thread.thread_id)
    except (Conflict, NotFound, EmbeddingFailed):
        return False
    finally:
        engine.store.release(Release(lease))
    return True


def _leased(engine: Engine, thread: ThreadInfo) -> Lease | None:
    now = engine.clock.now()
    request = Acquire(
        namespace=thread.namespace,
        thread_id=thread.thread_id,
        holder=new_id(now),
        at=now,
        until=now + _LASTS,
        purpose="reflection",
    )
    try:
        return engine.store.acquire(request)
    except (ThreadBusy, NotFound):
        return None
