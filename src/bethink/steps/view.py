"""What of a thread is in view: pinned and recent messages, and the summary nodes that stand for the rest.

A policy decides. One that folds is given what is not folded yet, and its folds are stored here; folding hides nothing: a larger
budget shows folded messages again. One that is a mere window is given the newest messages, page after page until it needs no
more, so that its cost does not grow with the thread.
"""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Callable, Iterable, Sequence

import msgspec

from bethink.compaction.fold import fold
from bethink.compaction.plan import Plan, newest_that_fit, start_of_turn
from bethink.compaction.policies import Policy, Room
from bethink.engine import Engine
from bethink.errors import Conflict, InvalidInput, NotFound
from bethink.messages import Group, Message, groups, ranges
from bethink.models.measure import Measure
from bethink.records import Decision, Node
from bethink.settings import Settings
from bethink.steps.append import append
from bethink.storage.base import Fold, Get, Read, Scope, Transcript
from bethink.threads import ThreadInfo
from bethink.values import Namespace

__all__ = ["View", "view_thread"]

_PAGE = 64
_ATTEMPTS = 20


class View(msgspec.Struct, frozen=True, kw_only=True):
    """A thread as a context needs it: what is pinned, what is recent, whose results are awaited, what stands for the rest.

    Attributes:
        sizes: the tokens of each recent group, by its number.
        nodes: summary nodes for what is folded. Those in `segments` come before all others where room is short.
        decisions: what was done with the messages that are neither pinned nor recent.
        limit: see `Plan.limit`.
        thread: as it was read.
        seen, past: all messages of it past the seq `past`, among others.
        folds: how often something was folded for this view.
    """

    thread: ThreadInfo
    seen: tuple[Message, ...]
    past: int
    folds: int = 0
    pinned: tuple[Message, ...]
    recent: tuple[Group, ...]
    sizes: dict[int, int]
    waiting: tuple[Group, ...]
    nodes: tuple[Node, ...] = ()
    segments: tuple[Node, ...] = ()
    decisions: tuple[Decision, ...] = ()
    limit: int | None = None


def view_thread(engine: Engine, namespace: Namespace, thread_id: str, budget: int, policy: Policy, measure: Measure) -> View:
    """Pinned and recent messages and the summary nodes of a thread; folds first where the policy says so.

    `budget` is the room for messages, as `measure` counts them.
    """
    look = _beside_the_folded if policy.summary else _newest
    return look(engine, namespace, thread_id, budget, policy, measure)


def _beside_the_folded(
    engine: Engine, namespace: Namespace, thread_id: str, budget: int, policy: Policy, measure: Measure
) -> View:
    for _ in range(_ATTEMPTS):
        transcript = _unfolded(engine, namespace, thread_id)
        thread = transcript.thread
        pinned, talk = _without_pinned(groups(transcript.messages))
        sight = _Sight(
            engine.settings, measure, budget, policy, pinned, _not_covered(talk, transcript.nodes, thread.folded_through)
        )
        planned = sight.plan
        if not planned.fold:
            if transcript.nodes:
                engine.notice(namespace, thread_id, folded=False)
            recent = _with_older(engine, thread, planned.keep, planned.again, sight.size)
            return _view(engine, sight, transcript, thread.folded_through, recent, transcript.nodes)
        with engine.telemetry.span("view.fold", messages=sum(len(group.messages) for group in planned.fold)):
            try:
                _fold(engine, transcript, planned)
            except Conflict:
                # Another process folded first, or something of the span was forgotten: look again.
                continue
        engine.notice(namespace, thread_id, folded=True)
        roots = engine.store.read(Read(namespace=namespace, thread_id=thread_id, limit=0, nodes=True)).nodes
        found = _view(engine, sight, transcript, thread.folded_through, planned.keep, roots)
        return msgspec.structs.replace(found, folds=1)
    raise _too_fast(thread_id)


def _fold(engine: Engine, transcript: Transcript, planned: Plan) -> None:
    thread = transcript.thread
    nodes = fold(
        planned.fold,
        transcript.nodes,
        namespace=thread.namespace,
        thread_id=thread.thread_id,
        now=engine.clock.now(),
        settings=engine.settings,
        count=engine.counter.count,
    )
    engine.store.fold(
        Fold(
            namespace=thread.namespace,
            thread_id=thread.thread_id,
            nodes=nodes,
            through=planned.through,
            expected_through=thread.folded_through,
        )
    )


def _newest(engine: Engine, namespace: Namespace, thread_id: str, budget: int, policy: Policy, measure: Measure) -> View:
    """The newest of the log, folded or not."""
    limit = _PAGE
    while True:
        read = Read(namespace=namespace, thread_id=thread_id, limit=limit, whole_groups=True, pinned=True)
        try:
            transcript = engine.store.read(read)
        except NotFound:
            append(engine, namespace, thread_id, ())
            continue
        pinned, talk = _without_pinned(groups(transcript.messages))
        sight = _Sight(engine.settings, measure, budget, policy, pinned, talk)
        seqs = sorted((message.seq for message in transcript.messages), reverse=True)
        if limit >= transcript.thread.count:
            return _view(engine, sight, transcript, 0, sight.plan.keep)
        # The page proper is the newest `limit`; pinned messages and members of its groups may be far older.
        first = seqs[limit - 1]
        asked = any(message.role == "user" for group in sight.whole for message in group.messages)
        left = sight.plan.left
        if asked and left and left[0].group is sight.whole[0]:
            # What is older than a group left out is left out for the same reason, unread.
            unread = _without(((1, first - 1),), seqs)
            decision = Decision(left[0].policy, "left out", unread, f"{left[0].reason}; not looked at")
            return _view(engine, sight, transcript, first - 1, sight.plan.keep, decisions=(decision,))
        limit *= 2


class _Sight:
    """Groups as a policy sees them, with its plan for them."""

    def __init__(
        self,
        settings: Settings,
        measure: Measure,
        budget: int,
        policy: Policy,
        pinned: tuple[Message, ...],
        talk: tuple[Group, ...],
    ) -> None:
        self._measure = measure
        self.sizes: dict[int, int] = {}
        self.policy = policy
        self.pinned = pinned
        self.waiting = tuple(group for group in talk if group.open_calls)
        self.whole = tuple(group for group in talk if not group.open_calls) if self.waiting else talk
        room = Room(budget=budget, fixed=measure.messages(pinned), size=self.size, settings=settings)
        self.plan = _checked(policy.arrange(self.whole, room), self.whole, policy)

    def size(self, group: Group) -> int:
        number = group.number
        if number not in self.sizes:
            self.sizes[number] = self._measure.messages(group.messages)
        return self.sizes[number]


def _checked(plan: Plan, given: tuple[Group, ...], policy: Policy) -> Plan:
    """The plan, if it accounts for every group and keeps the current turn: policies may be a caller's own."""
    turn = given[start_of_turn(given) :]
    whole = len(plan.fold) + len(plan.keep) + len(plan.left) == len(given)
    if not whole or plan.keep[len(plan.keep) - len(turn) :] != turn or plan.waiting:
        raise InvalidInput(
            "policy",
            f"the plan of {policy.name} loses groups, or the current turn",
            "fold, keep or leave every group it is given, and keep the newest user message and all after it",
        )
    return plan


def _view(
    engine: Engine,
    sight: _Sight,
    read: Transcript,
    past: int,
    recent: tuple[Group, ...],
    nodes: tuple[Node, ...] = (),
    decisions: tuple[Decision, ...] = (),
) -> View:
    own = sight.policy.own_summaries
    for group in recent:
        sight.size(group)
    return View(
        thread=read.thread,
        seen=read.messages,
        past=past,
        pinned=sight.pinned,
        recent=recent,
        sizes=sight.sizes,
        waiting=sight.waiting,
        nodes=nodes,
        segments=_segments(engine, read.thread, nodes, own) if own else (),
        decisions=(*_decisions(sight, recent, nodes), *decisions),
        limit=sight.plan.limit,
    )


def _decisions(sight: _Sight, recent: tuple[Group, ...], nodes: tuple[Node, ...]) -> tuple[Decision, ...]:
    """What is not among the recent groups: folded, now or earlier, left out, or waiting for a result."""
    plan = sight.plan
    found: list[Decision] = []
    folded = _seqs(plan.fold)
    shown = [*folded, *_seqs(recent)]
    earlier = _without(sorted(span for node in nodes for span in node.covers), shown)
    if earlier:
        found.append(Decision("earlier contexts", "folded", earlier, "summaries stand for them"))
    if folded:
        found.append(Decision(plan.policy, "folded", ranges(folded), plan.reason, sum(map(sight.size, plan.fold))))
    reasons: dict[tuple[str, str], list[Group]] = {}
    for each in plan.left:
        reasons.setdefault((each.policy, each.reason), []).append(each.group)
    for (policy, reason), left in reasons.items():
        found.append(Decision(policy, "left out", ranges(_seqs(left)), reason, sum(map(sight.size, left))))
    if sight.waiting:
        found.append(Decision("pairing", "waits", ranges(_seqs(sight.waiting)), "a call has no result yet"))
    return tuple(found)


def _seqs(found: Sequence[Group]) -> list[int]:
    return sorted(message.seq for group in found for message in group.messages)


def _without(spans: Iterable[tuple[int, int]], seqs: Iterable[int]) -> tuple[tuple[int, int], ...]:
    """Inclusive ranges in order, without some seqs."""
    gone = sorted(seqs)
    left: list[tuple[int, int]] = []
    for start, end in spans:
        first = start
        for seq in gone[bisect_left(gone, start) : bisect_right(gone, end)]:
            if first < seq:
                left.append((first, seq - 1))
            first = seq + 1
        if first <= end:
            left.append((first, end))
    return _joined(left)


def _joined(spans: Iterable[tuple[int, int]]) -> tuple[tuple[int, int], ...]:
    """Disjoint ranges in order, those that touch made one."""
    joined: list[tuple[int, int]] = []
    for first, last in spans:
        if joined and joined[-1][1] == first - 1:
            joined[-1] = (joined[-1][0], last)
        else:
            joined.append((first, last))
    return tuple(joined)


def _segments(engine: Engine, thread: ThreadInfo, roots: tuple[Node, ...], most: int) -> tuple[Node, ...]:
    """The newest level-1 nodes of a thread, oldest first: roots, and children of the newest root above them."""
    found = [root for root in roots if root.level == 1]
    above = sorted((root for root in roots if root.level > 1), key=lambda root: root.last_seq)
    while len(found) < most and above:
        # Of this thread: a fork may have other nodes below the same one.
        wanted = Get(scope=Scope(thread.namespace), nodes=above.pop().children, thread_id=thread.thread_id)
        children = engine.store.get(wanted).nodes
        found += [child for child in children if child.level == 1]
        above = sorted([*above, *(child for child in children if child.level > 1)], key=lambda node: node.last_seq)
    return tuple(sorted(found, key=lambda node: node.last_seq)[-most:])


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
