"""Changes of what is known, and taking one back."""

from __future__ import annotations

from datetime import datetime

from bethink.engine import Engine
from bethink.errors import Conflict, InvalidInput, NotFound
from bethink.ids import new_id
from bethink.insights.undoing import merged, undoing
from bethink.storage.base import Change, Put, Scan, Scope, StoredVersion
from bethink.values import Namespace

__all__ = ["changes", "undo"]

_ATTEMPTS = 20


def changes(engine: Engine, namespace: Namespace, *, since: datetime | None = None) -> list[Change]:
    """What was stored together, oldest first; later than `since`."""
    scan = Scan(what="changes", scope=Scope(namespace), since=since)
    return merged(item for item in engine.pages(scan) if isinstance(item, Change))


def undo(engine: Engine, namespace: Namespace, name: str) -> Change:
    """Take a change back, named by its id or that of a record it added; returns the change that did it, the same each time.

    Raises:
        NotFound: no such change here.
        InvalidInput: it was itself an undoing.
        Conflict: something newer rests on it.
    """
    for _ in range(_ATTEMPTS):
        # Before anything is read: what changes meanwhile is noticed.
        revision = engine.store.revision(namespace)
        known = changes(engine, namespace)
        change = next((each for each in known if name == each.id or name in each.added), None)
        if change is None:
            raise NotFound(f"change {name!r} is not in this namespace")
        if change.what == "undone":
            raise InvalidInput("change", "one that took another back", "say it again, or store it anew")
        done = next((each for each in known if each.undoes == change.id), None)
        if done is not None:
            return done
        now = engine.clock.now()
        versions = Scan(what="versions", scope=Scope(namespace))
        plan = undoing(
            change,
            [stored.record for stored in engine.records(Scope(namespace), current=False)],
            [item for item in engine.pages(versions) if isinstance(item, StoredVersion)],
            now=now,
            cancelled={name for each in known if each.undoes for name in (each.id, each.undoes)},
        )
        if plan.obstacles:
            if engine.store.revision(namespace) != revision:
                # What was read was of several moments.
                continue
            raise Conflict(f"change {change.id} cannot be undone — {'; '.join(plan.obstacles)}")
        done = Change(id=new_id(now), at=now, what="undone", thread_id=change.thread_id, undoes=change.id)
        put = Put(namespace=namespace, at=now, restore=plan.restore, retire=plan.retire, change=done, at_revision=revision)
        try:
            engine.store.put(put)
        except (Conflict, NotFound):
            # Somebody else has changed something: look again.
            continue
        return done
    raise Conflict("the records of this namespace keep changing — call undo() again")
