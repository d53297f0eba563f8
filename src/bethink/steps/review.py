"""Review: what waits to be known, and somebody's word on it: one transaction, on what is known when it is given."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime

import msgspec

from bethink.engine import Engine
from bethink.errors import Conflict, NotFound
from bethink.ids import new_id
from bethink.insights.proposing import APPROVED, REJECTED, approving
from bethink.insights.reflect import archive
from bethink.records import AnyRecord, Episode, Insight, Proposal, Summary
from bethink.steps.derive import current_after
from bethink.steps.reflect import former_of, replaced
from bethink.storage.base import Change, Get, Put, Retire, Scope
from bethink.values import Namespace

__all__ = ["approve", "pending", "reject"]

_ATTEMPTS = 20


def pending(engine: Engine, namespace: Namespace) -> list[Proposal]:
    """What waits, oldest first."""
    found = engine.records(Scope(namespace), kinds=("proposal",))
    return [stored.record for stored in found if isinstance(stored.record, Proposal)]


def approve(engine: Engine, namespace: Namespace, ids: Sequence[str]) -> list[AnyRecord]:
    """What was proposed comes to be known, all of it or none; returns the records that say it, without those that were
    approved before.
    """
    for _ in range(_ATTEMPTS):
        revision = engine.store.revision(namespace)
        waiting = _waiting(engine, namespace, ids, APPROVED)
        if not waiting:
            return []
        now = engine.clock.now()
        known = engine.insights(namespace)
        changes = approving(known, waiting, now=now)
        summaries, retire = _summaries(engine, namespace, waiting, now)
        retire += changes.retire + archive(
            current_after(known, changes), now=now, settings=engine.settings, template=engine.template
        )
        put = Put(
            namespace=namespace,
            at=now,
            records=(*changes.records, *summaries),
            retire=(*retire, *_closed(waiting, now, APPROVED)),
            change=Change(id=new_id(now), at=now, what="reviewed"),
            at_revision=revision,
        )
        if _put(engine, put):
            fetched = engine.store.get(Get(scope=Scope(namespace), records=tuple(each.id for each in put.records)))
            return [stored.record for stored in fetched.records]
    raise Conflict("the records of this namespace keep changing — call approve() again")


def reject(engine: Engine, namespace: Namespace, ids: Sequence[str]) -> list[Proposal]:
    """What was proposed is not to be known; returns the proposals, without those that were rejected before."""
    for _ in range(_ATTEMPTS):
        revision = engine.store.revision(namespace)
        waiting = _waiting(engine, namespace, ids, REJECTED)
        if not waiting:
            return []
        now = engine.clock.now()
        change = Change(id=new_id(now), at=now, what="reviewed")
        put = Put(namespace=namespace, at=now, retire=_closed(waiting, now, REJECTED), change=change, at_revision=revision)
        if _put(engine, put):
            return waiting
    raise Conflict("the records of this namespace keep changing — call reject() again")


def _put(engine: Engine, put: Put) -> bool:
    try:
        engine.store.put(put)
    except (Conflict, NotFound):
        # Something has changed, or was forgotten, since it was read: look again.
        return False
    return True


def _closed(waiting: Sequence[Proposal], now: datetime, reason: str) -> tuple[Retire, ...]:
    return tuple([Retire(each.id, now, reason) for each in waiting])


def _waiting(engine: Engine, namespace: Namespace, ids: Sequence[str], word: str) -> list[Proposal]:
    """Those of the proposals that wait, in the order in which they came; the others have been given the same word already.

    Raises:
        NotFound: one is not there; it may have been forgotten with what it rested on.
        Conflict: one has been given another word.
    """
    found = engine.store.get(Get(scope=Scope(namespace), records=tuple(ids))).records
    proposals = {stored.record.id: stored.record for stored in found if isinstance(stored.record, Proposal)}
    missing = [name for name in ids if name not in proposals]
    if missing:
        raise NotFound(f"proposal {missing[0]!r} is not in this namespace — see pending()")
    for each in proposals.values():
        if not each.current and each.reason != word:
            raise Conflict(f"proposal {each.id!r} has been {each.reason} already")
    current = [each for each in proposals.values() if each.current]
    return sorted(current, key=lambda each: (each.recorded_at, each.id))


def _summaries(
    engine: Engine, namespace: Namespace, waiting: Sequence[Proposal], now: datetime
) -> tuple[list[Summary | Episode], tuple[Retire, ...]]:
    """The summaries and episodes among some proposals; of each sort the one of a thread that goes furthest stands."""
    drawn = [each.proposed for each in waiting if not isinstance(each.proposed, Insight)]
    known = [msgspec.structs.replace(each, recorded_at=now) for each in drawn]
    retire: list[Retire] = []
    for thread_id, kind in dict.fromkeys((each.thread_id, each.kind) for each in known):
        own = [each for each in known if (each.thread_id, each.kind) == (thread_id, kind)]
        names = {each.id for each in own}
        own += [each for each in former_of(engine, namespace, own[0]) if each.id not in names]
        last = max(own, key=lambda each: (each.through, each.id))
        retire += replaced(own, last, now)
    return known, tuple(retire)
