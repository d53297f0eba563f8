"""What of a thread is in view: pinned and recent messages, and the summary nodes that stand for the rest.

Folds first when the trigger is passed. Folding hides nothing: a larger budget shows folded messages again.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

import msgspec

from bethink.compaction.fold import fold
from bethink.compaction.plan import newest_that_fit, plan
from bethink.context.compose import size_of
from bethink.engine import Engine
from bethink.errors import Conflict, NotFound
from bethink.messages import Group, Message, groups
from bethink.records import Node
from bethink.steps.append import append
from bethink.storage.base import Fold, Read, Transcript
from bethink.threads import ThreadInfo
from bethink.values import Namespace

__all__ = ["View", "view_thread"]

_PAGE = 64
_ATTEMPTS = 20


class View(msgspec.Struct, frozen=True):
    """A thread as a context needs it: what is pinned, what is recent, whose results are awaited, what stands for the rest.

    `sizes` are the tokens of each recent group, by its number.
    """

    pinned: tuple[Message, ...]
    recent: tuple[Group, ...]
    sizes: dict[int, int]
    waiting: tuple[Group, ...]
    nodes: tuple[Node, ...]


def view_thread(engine: Engine, namespace: Namespace, thread_id: str, budget: int) -> View:
    """Pinned and recent messages and the summary nodes of a thread; folds first when the trigger is passed."""

    sizes: dict[int, int] = {}

    def size(group: Group) -> int:
        number = group.number
        if number not in sizes:
            sizes[number] = size_of(group.messages, engine.counter)
        return sizes[number]

    for _ in range(_ATTEMPTS):
        sizes.clear()
        transcript = _unfolded(engine, namespace, thread_id)
        thread = transcript.thread
        pinned, talk = _without_pinned(groups(transcript.messages))
        talk = _not_covered(talk, transcript.nodes, thread.folded_through)
        fixed = size_of(pinned, engine.counter)
        planned = plan(talk, budget=budget, fixed=fixed, size=size, settings=engine.settings)
        if not planned.fold:
            room = min(budget - fixed, int(engine.settings.compaction_keep * budget)) - planned.tokens
            recent = _with_older(engine, thread, planned.keep, room, size)
            return View(pinned, recent, sizes, planned.waiting, transcript.nodes)
        nodes = fold(
            planned.fold,
            transcript.nodes,
            namespace=namespace,
            thread_id=thread_id,
            now=engine.clock.now(),
            settings=engine.settings,
            count=engine.counter.count,
        )
        request = Fold(
            namespace=namespace,
            thread_id=thread_id,
            nodes=nodes,
            through=planned.through,
            expected_through=thread.folded_through,
        )
        try:
            engine.store.fold(request)
        except Conflict:
            # Another process folded first, or something of the span was forgotten: look again.
            continue
        roots = engine.store.read(Read(namespace=namespace, thread_id=thread_id, limit=0, nodes=True)).nodes
        return View(pinned, planned.keep, sizes, planned.waiting, roots)
    raise _too_fast(thread_id)


def _too_fast(thread_id: str) -> Conflict:
    return Conflict(f"thread {thread_id!r} changes faster than it can be folded — call context() again")


def _without_pinned(found: Sequence[Group]) -> tuple[tuple[Message, ...], tuple[Group, ...]]:
    """Pinned messages by seq, and the groups of the others. What shares a group with a pinned message is pinned with it, unless
    one of its calls still waits for its result.
    """
    pinned = [group for group in found if any(message.pinned for message in group.messages) and not group.open_calls]
    if not pinned:
        return (), tuple(found)
    numbers = {group.number for group in pinned}
    messages = sorted((message for group in pinned for message in group.messages), key=lambda message: message.seq)
    return tuple(messages), tuple(group for group in found if group.number not in numbers)


def _not_covered(found: tuple[Group, ...], nodes: Sequence[Node], through: int) -> tuple[Group, ...]:
    """Groups past `through` that no node stands for. (A fork may inherit nodes beyond its own `folded_through`.)"""
    spans = [span for node in nodes if node.last_seq > through for span in node.covers]
    if not spans:
        return found
    return tuple(group for group in found if not any(first <= group.last_seq <= last for first, last in spans))


def _unfolded(engine: Engine, namespace: Namespace, thread_id: str) -> Transcript:
    head = Read(namespace=namespace, thread_id=thread_id, limit=0)
    try:
        thread = engine.store.read(head).thread
    except NotFound:
        # A context before the first message: the start of a session, with what earlier ones left.
        append(engine, namespace, thread_id, ())
        thread = engine.store.read(head).thread
    for _ in range(_ATTEMPTS):
        through = thread.folded_through
        transcript = engine.store.read(
            Read(namespace=namespace, thread_id=thread_id, after=through, whole_groups=True, pinned=True, nodes=True)
        )
        thread = transcript.thread
        if thread.folded_through == through:
            return transcript
        # Another process has folded between the two reads: some of these messages its nodes stand for already.
    raise _too_fast(thread_id)


def _with_older(
    engine: Engine, thread: ThreadInfo, recent: tuple[Group, ...], room: int, size: Callable[[Group], int]
) -> tuple[Group, ...]:
    """`recent`, with folded groups before it as far as there is room.

    A thread that was folded for a smaller budget is thereby shown verbatim again as far as a larger one allows.
    """
    before = thread.folded_through + 1
    while room > 0 and before > 1:
        page = engine.store.read(
            Read(namespace=thread.namespace, thread_id=thread.thread_id, before=before, limit=_PAGE, whole_groups=True)
        ).messages
        known = {group.number for group in recent}
        found = [group for group in _without_pinned(groups(page))[1] if group.number not in known and not group.open_calls]
        fitting = newest_that_fit(found, room, size)
        recent = fitting + recent
        room -= sum(map(size, fitting))
        if len(fitting) < len(found) or not page:
            break
        # The page proper is its newest _PAGE messages; a member of a group may be far older and says nothing of where it ends.
        before = sorted((message.seq for message in page if message.seq < before), reverse=True)[:_PAGE][-1]
    return recent
