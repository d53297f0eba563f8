"""What of a thread is in view: pinned and recent messages, and the summary nodes that stand for the rest.

A policy decides. One that folds is given what is not folded yet, and its folds are stored here; folding hides nothing: a larger
budget shows folded messages again. One that is a mere window is given the newest messages, page after page until it needs no
more, so that its cost does not grow with the thread.

Tiers are those of now (`marks`). What was made permanent after it was folded is pinned again; what is permanent no longer, and
was passed over when the messages around it were folded, comes first among what is not folded.
"""

from __future__ import annotations

from collections.abc import Callable

import msgspec

from bethink.compaction.plan import Plan, newest_that_fit, start_of_turn
from bethink.compaction.policies import Policy, Room
from bethink.compaction.talk import Talk, talk_of, without_pinned
from bethink.engine import Engine
from bethink.errors import Conflict, InvalidInput, NotFound
from bethink.messages import Group, Message, groups
from bethink.models.measure import Measure
from bethink.records import Decision, Node
from bethink.settings import Settings
from bethink.steps.append import append
from bethink.steps.decisions import decisions, promoted, without
from bethink.storage.base import Fold, Get, Read, Scope, Transcript
from bethink.threads import ThreadInfo
from bethink.values import Namespace

__all__ = ["View", "view_thread"]

_PAGE = 64
_ATTEMPTS = 20
_MANY_UNSCORED = 8
"""Messages for which a model is asked in the background; one call is for many."""


class View(msgspec.Struct, frozen=True, kw_only=True):
    """A thread as a context needs it: what is pinned, what is recent, whose results are awaited, what stands for the rest.

    Attributes:
        sizes: the tokens of each recent group, by its number.
        nodes: summary nodes for what is folded. Those in `segments` come before all others where room is short.
        decisions: what was done with the messages that are neither pinned nor recent, and which of the others were promoted.
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
        talk = _unfolded(engine, namespace, thread_id, measure)
        transcript = talk.transcript
        thread = transcript.thread
        sight = _Sight(engine.settings, measure, budget, policy, talk)
        planned = sight.plan
        if not planned.fold:
            if transcript.nodes:
                engine.notice(namespace, thread_id, folded=False)
            recent = _with_older(engine, transcript, planned.keep, planned.again, sight.size)
            return _view(engine, sight, transcript, thread.folded_through, recent, transcript.nodes)
        if not engine.may_write(namespace):
            # What a fold would leave, unstored.
            made = _folded(engine, transcript, planned)
            children = {child for node in made for child in node.children}
            roots = tuple(
                sorted(
                    [node for node in (*transcript.nodes, *made) if node.id not in children],
                    key=lambda node: (node.first_seq, node.id),
                )
            )
            return _view(engine, sight, transcript, thread.folded_through, planned.keep, roots)
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
    raise Conflict(f"thread {thread_id!r} changes faster than it can be folded — call context() again")


def _folded(engine: Engine, transcript: Transcript, planned: Plan) -> tuple[Node, ...]:
    # Here and not above: its patterns are not compiled by who folds nothing.
    from bethink.compaction.fold import fold

    thread = transcript.thread
    return fold(
        planned.fold,
        transcript.nodes,
        namespace=thread.namespace,
        thread_id=thread.thread_id,
        now=engine.clock.now(),
        settings=engine.settings,
        count=engine.counter.count,
    )


def _fold(engine: Engine, transcript: Transcript, planned: Plan) -> None:
    thread, nodes = transcript.thread, _folded(engine, transcript, planned)
    engine.store.fold(
        Fold(
            namespace=thread.namespace,
            thread_id=thread.thread_id,
            nodes=nodes,
            # What folds may be older than all that is folded already: see the module's head.
            through=max(planned.through, thread.folded_through),
            expected_through=thread.folded_through,
        )
    )


def _newest(engine: Engine, namespace: Namespace, thread_id: str, budget: int, policy: Policy, measure: Measure) -> View:
    """The newest of the log, folded or not."""
    limit = _PAGE
    while True:
        read = Read(namespace=namespace, thread_id=thread_id, limit=limit, whole_groups=True, pinned=True, marks=True)
        try:
            transcript = engine.store.read(read)
        except NotFound:
            if not engine.may_write(namespace):
                raise
            append(engine, namespace, thread_id, ())
            continue
        sight = _Sight(engine.settings, measure, budget, policy, talk_of(transcript, measure))
        seqs = sorted((message.seq for message in transcript.messages), reverse=True)
        if limit >= transcript.thread.count:
            return _view(engine, sight, transcript, 0, sight.plan.keep)
        # The page proper is the newest `limit`; pinned messages and members of its groups may be far older.
        first = seqs[limit - 1]
        asked = any(message.role == "user" for group in sight.whole for message in group.messages)
        left = sight.plan.left
        if asked and left and left[0].group is sight.whole[0]:
            # What is older than a group left out is left out for the same reason, unread.
            unread = without(((1, first - 1),), seqs)
            decision = Decision(left[0].policy, "left out", unread, f"{left[0].reason}; not looked at")
            return _view(engine, sight, transcript, first - 1, sight.plan.keep, unread=(decision,))
        limit *= 2


class _Sight:
    """A talk as a policy sees it, with its plan for it."""

    def __init__(self, settings: Settings, measure: Measure, budget: int, policy: Policy, talk: Talk) -> None:
        self._measure = measure
        self.sizes = dict(talk.sizes)
        self.policy = policy
        self.pinned, self.whole, self.waiting = talk.pinned, talk.whole, talk.waiting
        room = Room(
            budget=budget,
            fixed=measure.messages(talk.pinned),
            size=self.size,
            settings=settings,
            pinned=talk.pinned,
            tiers=talk.transcript.tiers,
            scores=talk.transcript.scores,
        )
        self.plan = _checked(policy.arrange(self.whole, room), self.whole, policy)

    def size(self, group: Group) -> int:
        number = group.messages[0].group
        tokens = self.sizes.get(number)
        if tokens is None:
            tokens = self.sizes[number] = self._measure.messages(group.messages)
        return tokens


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
    unread: tuple[Decision, ...] = (),
) -> View:
    own = sight.policy.own_summaries
    plan, pinned = sight.plan, sight.pinned
    found = decisions(plan, pinned=pinned, recent=recent, waiting=sight.waiting, nodes=nodes, size=sight.size)
    _notice_unscored(engine, sight, read)
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
        decisions=(*promoted(pinned, recent, read.tiers), *found, *unread),
        limit=sight.plan.limit,
    )


def _notice_unscored(engine: Engine, sight: _Sight, read: Transcript) -> None:
    """Tell whoever asks a model in the background that there is enough to ask for."""
    if engine.settings.importance == "model" and engine.watcher is not None:
        from bethink.compaction.importance import to_be_scored

        talk = [message for group in sight.whole for message in group.messages]
        if len(to_be_scored(talk, read.tiers, read.scores)) >= _MANY_UNSCORED:
            engine.notice(read.thread.namespace, read.thread.thread_id, folded=False, unscored=True)


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


def _last_seq(group: Group) -> int:
    return group.last_seq


def _unfolded(engine: Engine, namespace: Namespace, thread_id: str, measure: Measure) -> Talk:
    """What is not folded of a thread, sized."""
    read = Read(namespace=namespace, thread_id=thread_id, unfolded=True, whole_groups=True, pinned=True, nodes=True, marks=True)
    try:
        transcript = engine.store.read(read)
    except NotFound:
        if not engine.may_write(namespace):
            raise
        # A context before the first message: the start of a session, with what earlier ones left.
        append(engine, namespace, thread_id, ())
        transcript = engine.store.read(read)
    if transcript.tiers:
        transcript = _with_passed_over(engine, transcript)
    key = (namespace, thread_id, measure.name)
    talk = talk_of(transcript, measure, engine.talks.get(key))
    engine.talks.keep(key, talk)
    return talk


def _with_passed_over(engine: Engine, transcript: Transcript) -> Transcript:
    """With messages before `folded_through` that no node stands for: pinned when those around them folded, and now not."""
    thread = transcript.thread
    read = {message.seq for message in transcript.messages}
    candidates = [(seq, seq) for seq in sorted(transcript.tiers) if seq <= thread.folded_through and seq not in read]
    spans = [span for node in transcript.nodes for span in node.covers]
    covered = [seq for first, last in spans for seq, _ in candidates if first <= seq <= last]
    found: dict[int, Message] = {}
    scores = dict(transcript.scores)
    for first, last in without(candidates, covered):
        more = engine.store.read(
            Read(
                namespace=thread.namespace,
                thread_id=thread.thread_id,
                after=first - 1,
                before=last + 1,
                whole_groups=True,
                marks=True,
            )
        )
        found.update((message.seq, message) for message in more.messages)
        scores |= more.scores
    if not found:
        return transcript
    found.update((message.seq, message) for message in transcript.messages)
    messages = tuple([found[seq] for seq in sorted(found)])
    return msgspec.structs.replace(transcript, messages=messages, scores=scores)


def _with_older(
    engine: Engine, transcript: Transcript, recent: tuple[Group, ...], room: int, size: Callable[[Group], int]
) -> tuple[Group, ...]:
    """`recent`, with folded groups before it as far as there is room.

    A thread that was folded for a smaller budget is thereby shown verbatim again as far as a larger one allows.
    """
    thread = transcript.thread
    before = thread.folded_through + 1
    while room > 0 and before > 1:
        page = engine.store.read(
            Read(namespace=thread.namespace, thread_id=thread.thread_id, before=before, limit=_PAGE, whole_groups=True)
        ).messages
        known = {group.number for group in recent}
        _, talk = without_pinned(groups(page), transcript.tiers)
        found = [group for group in talk if group.number not in known and not group.open_calls]
        fitting = newest_that_fit(found, room, size)
        recent = tuple(sorted((*fitting, *recent), key=_last_seq))
        room -= sum(map(size, fitting))
        if len(fitting) < len(found) or not page:
            break
        # The page proper is its newest _PAGE messages; a member of a group may be far older and says nothing of where it ends.
        before = sorted((message.seq for message in page if message.seq < before), reverse=True)[:_PAGE][-1]
    return recent
