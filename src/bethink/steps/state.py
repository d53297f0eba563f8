"""The state of a thread's work: read, set by hand, shown in a context."""

from __future__ import annotations

from collections.abc import Sequence

from bethink.context import Item, item_of_record
from bethink.engine import Engine, ReadState
from bethink.errors import NotFound
from bethink.ids import new_id
from bethink.insights.state.adding import add_up, project_of
from bethink.insights.state.by_hand import Given, set_by_hand
from bethink.insights.state.lines import shown_first
from bethink.insights.state.values import State
from bethink.messages import Message
from bethink.records import StateEntry
from bethink.steps.append import append
from bethink.steps.derive import derive
from bethink.storage.base import Put, Read, Retire, Scope
from bethink.threads import ThreadInfo
from bethink.values import Namespace

__all__ = ["made", "own_items", "read_state", "set_state", "state_items", "state_of", "there"]

_MOST = 24
"""Of decisions, questions and artifacts a context is offered the newest so many of each; `State` has all."""


def read_state(engine: Engine, namespace: Namespace, thread_id: str) -> State:
    """The state of a thread, or of the project that it is part of; what was said since is drawn first."""
    with engine.telemetry.span("state", namespace=namespace, thread_id=thread_id):
        derive(engine, namespace)
        return state_of(engine, namespace, thread_id)


def state_of(engine: Engine, namespace: Namespace, thread_id: str) -> State:
    """The same, from what has been drawn already."""
    return _read(engine, namespace, thread_id).state


def _read(engine: Engine, namespace: Namespace, thread_id: str) -> ReadState:
    """The state of a thread with its entries, those of all threads of its project; read once for each revision of the records.

    Of a project all entries of the namespace are looked at, else those of the thread.
    """
    # Before they are read: what is written meanwhile has a higher revision, and the next call reads again.
    revision = engine.store.revision(namespace)
    known = engine.states.get((namespace, thread_id))
    if known is not None and known.revision == revision:
        return known
    entries = _entries(engine, namespace, thread_id)
    project = project_of(entries)
    if project:
        by_thread: dict[str, list[StateEntry]] = {}
        for entry in _entries(engine, namespace):
            by_thread.setdefault(entry.thread_id, []).append(entry)
        entries = [entry for own in by_thread.values() if project_of(own) == project for entry in own]
    read = ReadState(revision, {entry.id: entry for entry in entries}, add_up(entries))
    engine.states.keep((namespace, thread_id), read)
    return read


def _entries(engine: Engine, namespace: Namespace, thread_id: str | None = None) -> list[StateEntry]:
    found = engine.records(Scope(namespace), kinds=("state",), current=False, thread_id=thread_id)
    return [stored.record for stored in found if isinstance(stored.record, StateEntry)]


def set_state(engine: Engine, namespace: Namespace, thread_id: str, found: Given) -> State:
    """Add what was given, in one transaction; the thread is made if need be. Returns the state afterwards.

    Raises:
        NotFound: an answer or a withdrawal names no entry of this state that is current.
    """
    derive(engine, namespace)
    now = engine.clock.now()
    known = _read(engine, namespace, thread_id)
    current = {entry.id: entry for entry in known.state}
    open_questions = [each.id for each in current.values() if each.part == "question"]
    questions = {name: known.entries[_named(name, open_questions)] for name, _ in found.answers}
    withdrawn = [_named(name, list(current)) for name in found.withdraw]
    tip = made(engine, namespace, thread_id).tip
    entries = set_by_hand(found, thread_id=thread_id, seq=tip, now=now, fresh=lambda: new_id(now), questions=questions)
    retire = tuple(Retire(entry_id, now, "withdrawn") for entry_id in withdrawn)
    engine.store.put(Put(namespace=namespace, records=entries, retire=retire))
    return state_of(engine, namespace, thread_id)


def _named(name: str, ids: Sequence[str]) -> str:
    """The entry of an id, or of the short mark by which a context names it."""
    mark = name.removeprefix("[").removesuffix("]").removeprefix("mem:")
    found = [entry_id for entry_id in ids if entry_id == mark or (len(mark) >= 8 and entry_id.endswith(mark))]
    if len(found) != 1:
        raise NotFound(f"{len(found) or 'no'} current entries of this state are named {name!r} — see `state()` for their ids")
    return found[0]


def there(engine: Engine, namespace: Namespace, thread_id: str) -> ThreadInfo:
    """What is known of a thread, or NotFound."""
    return engine.store.read(Read(namespace=namespace, thread_id=thread_id, limit=0)).thread


def made(engine: Engine, namespace: Namespace, thread_id: str) -> ThreadInfo:
    """The same of a thread that is made if it is not there."""
    try:
        return there(engine, namespace, thread_id)
    except NotFound:
        append(engine, namespace, thread_id, ())
        return there(engine, namespace, thread_id)


def state_items(engine: Engine, namespace: Namespace, thread_id: str, reason: str, visible: frozenset[str]) -> tuple[Item, ...]:
    """The state as lines for a context, in the order in which they deserve room.

    Left out is what the messages in view say themselves, but for the goal and the phase. Insights must have been drawn.
    """
    known = _read(engine, namespace, thread_id)
    return tuple(
        item_of_record(known.entries[entry.id], "project", reason)
        for entry in shown_first(known.state, _MOST)
        if entry.part in ("goal", "phase") or not entry.sources or not visible.issuperset(entry.sources)
    )


def own_items(engine: Engine, namespace: Namespace, thread_id: str, shown: Sequence[Message]) -> tuple[Item, ...]:
    """The state of the thread that a context is of."""
    return state_items(engine, namespace, thread_id, "the state of the work", frozenset(message.id for message in shown))
