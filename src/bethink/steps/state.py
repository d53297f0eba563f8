"""The state of a thread's work: read, set by hand, shown in a context."""

from __future__ import annotations

from collections.abc import Sequence

from bethink.context import Item, item_of_record
from bethink.engine import Engine
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
from bethink.storage.base import Put, Read, Retire
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
    return _known(engine, namespace, thread_id)[1]


def _known(engine: Engine, namespace: Namespace, thread_id: str) -> tuple[dict[str, StateEntry], State]:
    """The entries of a thread and of all others that are part of the same project, by id, and what they add up to."""
    known = engine.entries(namespace)
    own = known.by_thread.get(thread_id, ())
    project = project_of(own)
    shared = [of_thread for of_thread in known.by_thread.values() if project_of(of_thread) == project] if project else [own]
    entries = {entry.id: entry for of_thread in shared for entry in of_thread}
    if thread_id not in known.states:
        known.states[thread_id] = add_up(entries.values())
    return entries, known.states[thread_id]


def set_state(engine: Engine, namespace: Namespace, thread_id: str, found: Given) -> State:
    """Add what was given, in one transaction; the thread is made if need be. Returns the state afterwards.

    Raises:
        NotFound: an answer or a withdrawal names no entry of this state that is current.
    """
    derive(engine, namespace)
    tip = made(engine, namespace, thread_id).tip
    now = engine.clock.now()
    records, state = _known(engine, namespace, thread_id)
    current = {entry.id: entry for entry in state}
    open_questions = [each.id for each in current.values() if each.part == "question"]
    questions = {name: records[_named(name, open_questions)] for name, _ in found.answers}
    withdrawn = [_named(name, list(current)) for name in found.withdraw]
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
    records, state = _known(engine, namespace, thread_id)
    return tuple(
        item_of_record(records[entry.id], "project", reason)
        for entry in shown_first(state, _MOST)
        if entry.part in ("goal", "phase") or not entry.sources or not visible.issuperset(entry.sources)
    )


def own_items(engine: Engine, namespace: Namespace, thread_id: str, shown: Sequence[Message]) -> tuple[Item, ...]:
    """The state of the thread that a context is of."""
    return state_items(engine, namespace, thread_id, "the state of the work", frozenset(message.id for message in shown))
