"""Insights, entries of states and citations out of messages, exactly once: what is drawn is stored together with the move of
the thread's cursor.

An interrupted derivation is simply done by the next call that needs it; two processes that draw from the same messages at the
same time store one result.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import msgspec

from bethink.engine import Engine
from bethink.errors import Conflict, NotFound
from bethink.ids import new_id
from bethink.messages import Message
from bethink.records import AnyRecord, Insight
from bethink.steps.cited import citations
from bethink.steps.view import View
from bethink.storage.base import Change, Cursor, Put, Read, Retire, Scan, Scope
from bethink.threads import ThreadInfo
from bethink.values import Namespace

if TYPE_CHECKING:
    from bethink.insights.reconcile import Changes

__all__ = ["current_after", "derive"]

_PAGE = 64


def derive(
    engine: Engine,
    namespace: Namespace,
    *,
    view: View | None = None,
    relaxed: bool = False,
    part_of: Change | None = None,
) -> Cursor | None:
    """Draw insights from every message of the namespace that none have been drawn from yet.

    Most turns say nothing to remember, and then all there is to store is that they have been looked at. For the thread of a
    `view` that is left to the caller, who has something to store anyway and saves a wait for the disk: it gets the cursor to
    move. What the view has read is not read again. What is stored is a change of its own, or `part_of` one.

    With `relaxed`, nothing waits for the disk: the caller is about to store something that does and takes it along. Where
    nothing may be written, nothing is drawn.
    """
    if not engine.may_write(namespace):
        return None
    held: Cursor | None = None
    scan = Scan(what="threads", scope=Scope(namespace), behind=True, limit=_PAGE)
    while True:
        page = engine.store.scan(scan)
        for thread in page.items:
            assert isinstance(thread, ThreadInfo), "a page of threads holds threads"
            own = view is not None and thread.thread_id == view.thread.thread_id
            put = _extract(engine, thread, view if own else None)
            if put is not None and (put.records or put.retire):
                put = msgspec.structs.replace(put, change=part_of or _change(put))
            if put is not None and own and not (put.records or put.retire or put.cite):
                held = put.cursor
            elif put is not None:
                _store(engine, msgspec.structs.replace(put, relaxed=relaxed))
        if page.next is None:
            return held
        scan = msgspec.structs.replace(scan, after=page.next)


def _change(put: Put) -> Change:
    assert put.at is not None, "what is drawn has its time"
    thread_id = "" if put.cursor is None else put.cursor.thread_id
    return Change(id=new_id(put.at), at=put.at, what="drawn", thread_id=thread_id)


def _store(engine: Engine, put: Put) -> None:
    try:
        engine.store.put(put)
    except (Conflict, NotFound):
        # Another process drew them first, or something that this rests on was forgotten meanwhile. Nothing of it is stored, and
        # what is still to be drawn the next call draws: the cursor has not moved.
        return


def _extract(engine: Engine, thread: ThreadInfo, view: View | None) -> Put | None:
    """What is to be stored of a thread's new messages; None if the thread is gone."""
    # Here and not above: compiling the patterns takes longer than all other imports of a Memory together.
    from bethink.insights.domains.asked import rules_of
    from bethink.insights.extract import extract
    from bethink.insights.state.draw import draw

    after = thread.extracted_through
    read = Read(namespace=thread.namespace, thread_id=thread.thread_id, after=after)
    try:
        through, new = _seen(view, after) or _read(engine, read)
        whole = new
        if any(message.role == "tool" for message in new):
            # What a result answers may lie before it.
            whole = engine.store.read(msgspec.structs.replace(read, before=through + 1, whole_groups=True)).messages
    except NotFound:
        return None
    now = engine.clock.now()
    # Who hands work to a specialist is not the user, and states nothing about one.
    own = new if thread.handed_from is None else ()
    found = extract(own, thread_id=thread.thread_id, now=now, also=rules_of(engine.template))
    entries = draw(whole, thread_id=thread.thread_id, now=now, after=after, through=through)
    records: tuple[AnyRecord, ...] = entries
    retire: tuple[Retire, ...] = ()
    # Most turns say nothing to remember: then nothing that is known needs to be looked at.
    if found and engine.settings.review:
        from bethink.insights.proposing import proposals

        records = (*proposals(engine.insights(thread.namespace), found, now=now), *entries)
    elif found:
        from bethink.insights.reconcile import reconcile
        from bethink.insights.reflect import archive

        known = engine.insights(thread.namespace)
        changes = reconcile(known, found, now=now)
        records = (*changes.records, *entries)
        retire = changes.retire + archive(
            current_after(known, changes), now=now, settings=engine.settings, template=engine.template
        )
    return Put(
        namespace=thread.namespace,
        records=records,
        retire=retire,
        cite=citations(engine, thread.namespace, thread.thread_id, new),
        cursor=Cursor(thread.thread_id, "extracted", after, through),
        at=now,
    )


def _read(engine: Engine, read: Read) -> tuple[int, tuple[Message, ...]]:
    transcript = engine.store.read(read)
    return transcript.thread.tip, transcript.messages


def _seen(view: View | None, after: int) -> tuple[int, tuple[Message, ...]] | None:
    """The tip of a thread and its messages after a seq as a view has read them; None if it has not."""
    if view is None or not view.past <= after < view.thread.tip:
        return None
    return view.thread.tip, tuple([message for message in view.seen if message.seq > after])


def current_after(known: Sequence[Insight], changes: Changes) -> list[Insight]:
    """What is current once the changes have been made."""
    current = {insight.id: insight for insight in known if insight.current}
    current.update((insight.id, insight) for insight in changes.records)
    for retire in changes.retire:
        current.pop(retire.record_id, None)
    return list(current.values())
