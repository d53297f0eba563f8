"""Work handed to a specialist: the task and the state go, the transcript does not; the result comes back.

The specialist's thread lives in a namespace of its own below its parent's, `(..., "handoff", thread id)`. So the two cannot
find each other's messages, insights or summaries: that is a condition of every query, not something to be remembered here.
What the specialist is shown of its parent is the task, and in each of its contexts the parent's state as it then is, by the
ids of its entries. They are looked up in the parent's namespace, so that forgetting what an entry rests on takes it out of
every context to come, and takes the receipts that show it along.

What goes with what: a parent that is forgotten leaves the specialist's thread, which then shows no state; a specialist's thread
that is forgotten leaves its result, which is a message of the parent. Forgetting the parent's namespace takes all below it.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from datetime import datetime

from bethink.context import Item
from bethink.engine import Engine
from bethink.errors import BudgetError, InvalidInput
from bethink.ids import derived_id
from bethink.insights.state.by_hand import MAX_TEXT, artifact, texts
from bethink.insights.state.keys import key_of
from bethink.insights.state.values import Artifact
from bethink.messages import Message, checked
from bethink.records import Source, StateEntry, StatePart
from bethink.steps.append import append
from bethink.steps.derive import derive
from bethink.steps.state import made, state_items, there
from bethink.storage.base import Put, Read, Scan, Scope
from bethink.threads import HANDOFF, ThreadInfo
from bethink.values import Namespace, check_id, check_namespace, check_text

__all__ = ["conclude", "hand_on", "handed_items", "handoffs", "namespace_of_handoff", "parent_of", "task_message"]

_TASK_ID = "task"


def namespace_of_handoff(namespace: Namespace, child_id: str) -> Namespace:
    """Where the thread of a specialist lives."""
    return check_namespace((*namespace, HANDOFF, check_id(child_id, "thread_id")))


def parent_of(engine: Engine, namespace: Namespace, thread_id: str) -> tuple[Namespace, str] | None:
    """The namespace and thread that handed work to this one; None for any other thread."""
    # Looked up only where a specialist's thread can be: all other contexts do not pay for it.
    if len(namespace) < 3 or namespace[-2:] != (HANDOFF, thread_id):
        return None
    handed_from = there(engine, namespace, thread_id).handed_from
    return None if handed_from is None else (namespace[:-2], handed_from)


def task_message(task: object, artifacts: Iterable[str | Artifact], constraints: Iterable[str]) -> Message:
    """What the specialist is asked to do. It is pinned: always in view, whatever is said in its thread.

    Raises:
        InvalidInput: an empty task, or something that is no artifact or constraint.
    """
    text = check_text(task, "task").strip()
    if not text:
        raise InvalidInput("task", "empty", "say what is to be done")
    given = _artifacts(artifacts)
    parts = [f"Task: {text}"]
    bounds = texts(constraints, "constraints")
    if bounds:
        parts.append("\n".join(("Constraints:", *(f"- {each}" for each in bounds))))
    if given:
        parts.append("\n".join(("Artifacts:", *(f"- {each.ref}{f': {each.text}' if each.text else ''}" for each in given))))
    return checked(
        Message(id=_TASK_ID, role="user", content="\n\n".join(parts), tier="permanent", metadata={"task": text}), "task"
    )


def hand_on(
    engine: Engine, namespace: Namespace, thread_id: str, child_id: str, message: Message, budget: int | None
) -> Namespace:
    """Make the specialist's thread, with its task. The same task for the same thread again is a retry.

    Raises:
        BudgetError: the task alone does not fit; nothing was made.
        Conflict: the thread has been given another task.
    """
    budget = engine.settings.window if budget is None else budget
    measure = engine.measure()
    parts = (("the task", measure.message(message)), *measure.around())
    needed = sum(tokens for _, tokens in parts)
    if needed > budget:
        raise BudgetError(budget, needed, parts)
    below = namespace_of_handoff(namespace, child_id)
    with engine.telemetry.span("handoff", namespace=namespace, thread_id=thread_id):
        made(engine, namespace, thread_id)
        append(engine, below, child_id, (message,), metadata={HANDOFF: {"thread": thread_id}})
    return below


def handoffs(engine: Engine, namespace: Namespace, thread_id: str) -> list[ThreadInfo]:
    """The threads of specialists that a thread has handed work to, oldest first."""
    pages = engine.pages(Scan(what="threads", scope=Scope((*namespace, HANDOFF), subtree=True)))
    depth = len(namespace) + 2
    return [
        info
        for info in pages
        if isinstance(info, ThreadInfo) and len(info.namespace) == depth and info.handed_from == thread_id
    ]


def handed_items(engine: Engine, namespace: Namespace, thread_id: str) -> tuple[Item, ...]:
    """The state of the thread that handed work to this one, as lines for its context; none for any other thread, or for a view
    that may not read there."""
    parent = parent_of(engine, namespace, thread_id)
    if parent is None or not engine.may_read(parent[0]):
        return ()
    derive(engine, parent[0])
    return state_items(engine, *parent, f"the state of thread {parent[1]}, which handed this on", frozenset())


def conclude(
    engine: Engine,
    namespace: Namespace,
    thread_id: str,
    text: str,
    artifacts: Iterable[str | Artifact],
    name: str,
) -> Message:
    """Bring a specialist's result back: a message in the parent, and there the finished task and what was made.

    The same result again is a retry; artifacts that were not named before are added.

    Raises:
        InvalidInput: nobody handed anything to this thread.
        NotFound: the parent has been forgotten.
        Conflict: it was concluded with another result.
    """
    parent = parent_of(engine, namespace, thread_id)
    if parent is None:
        raise InvalidInput("conclude", "a thread that nobody handed work to", "use the thread of a `handoff`")
    given = _artifacts(artifacts)
    above, parent_id = parent
    there(engine, above, parent_id)
    task, created = _task_of(engine, namespace, thread_id)
    message = checked(
        Message(
            id=derived_id(created, "result", thread_id),
            role="assistant",
            content=text,
            name=check_id(name, "name"),
            metadata={HANDOFF: thread_id},
        ),
        "conclude",
    )
    stored = append(engine, above, parent_id, (message,)).messages[0]
    found: list[tuple[StatePart, Artifact]] = [("artifact", each) for each in dict.fromkeys(given)]
    if task:
        found.insert(0, ("task", Artifact("", task[:MAX_TEXT])))
    engine.store.put(Put(namespace=above, records=_entries(found, stored, parent_id, engine)))
    return stored


def _artifacts(artifacts: Iterable[str | Artifact]) -> list[Artifact]:
    if isinstance(artifacts, str):
        raise InvalidInput("artifacts", "a str", "give a list, also for one")
    return [artifact(each, f"artifacts[{index}]") for index, each in enumerate(artifacts)]


def _task_of(engine: Engine, namespace: Namespace, thread_id: str) -> tuple[str, datetime]:
    """What a specialist was asked, and when; "" and the time of its thread where the task has been forgotten."""
    first = engine.store.read(Read(namespace=namespace, thread_id=thread_id, before=2)).messages
    if not first:
        return "", there(engine, namespace, thread_id).created_at
    task, created = first[0].metadata.get("task", ""), first[0].created_at
    assert created is not None, "a stored message has its time"
    return task if isinstance(task, str) else "", created


def _entries(
    found: Sequence[tuple[StatePart, Artifact]], stored: Message, parent_id: str, engine: Engine
) -> tuple[StateEntry, ...]:
    assert stored.created_at is not None, "a stored message has its time"
    return tuple(
        StateEntry(
            id=derived_id(stored.created_at, "concluded", parent_id, stored.id, part, each.text, each.ref, each.digest),
            text=each.text,
            trust=stored.trust,
            recorded_at=engine.clock.now(),
            valid_from=stored.created_at,
            sources=(Source(stored.id, parent_id, each.text),),
            thread_id=parent_id,
            part=part,
            seq=stored.seq,
            place=place,
            key=key_of(part, each.text, each.ref),
            ref=each.ref,
            digest=each.digest,
        )
        # After what the rules draw from the result itself: who concludes knows best what was made.
        for place, (part, each) in enumerate(found, len(stored.text))
    )
