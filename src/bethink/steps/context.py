"""A context: derive, view the thread, gather what is known and what is recalled, compose, keep a receipt."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import msgspec

from bethink.compaction.policies import Policy
from bethink.context import (
    Context,
    Item,
    Sources,
    compose,
    item_of_message,
    item_of_node,
    item_of_record,
    items_of_summary,
    receipt_for,
    render,
)
from bethink.engine import Engine
from bethink.errors import BudgetError, Conflict
from bethink.ids import new_id
from bethink.insights.retention import select_profile
from bethink.messages import Message
from bethink.records import AnyRecord, Insight, Node
from bethink.steps.derive import derive
from bethink.steps.handoff import handed_items
from bethink.steps.recall import recall_from
from bethink.steps.state import own_items, with_state
from bethink.steps.view import View, view_thread
from bethink.storage.base import Get, Put, Scope
from bethink.values import Namespace

__all__ = ["build_context"]

_SPARE_HITS = 32


def build_context(
    engine: Engine, namespace: Namespace, thread_id: str, query: str | None, budget: int | None, policy: Policy
) -> Context:
    """The context of a thread by a policy, its receipt stored."""
    budget = engine.settings.window if budget is None else budget
    if budget < 1:
        raise BudgetError(budget, 1, (("one of the tokens", 1),))
    cursor = derive(engine, namespace, hold=thread_id)
    view = view_thread(engine, namespace, thread_id, budget, policy)
    shown = [message for group in view.recent for message in group.messages]
    if query is None:
        query = next((message.text for message in reversed(shown) if message.role == "user"), "")
    items = with_state(
        _items(engine, namespace, thread_id, view, shown, query, budget),
        (
            *handed_items(engine, namespace, thread_id),
            *(own_items(engine, namespace, thread_id, shown) if policy.shows_state else ()),
        ),
    )
    found = Sources(
        pinned=view.pinned,
        recent=view.recent,
        sizes=view.sizes,
        waiting=view.waiting,
        items=items,
        policy=policy.name,
        decisions=view.decisions,
        limit=view.limit,
    )
    made_of = compose(found, budget=budget, counter=engine.counter, settings=engine.settings)
    context = render(made_of, budget=budget, counter=engine.counter)
    now = engine.clock.now()
    receipt = receipt_for(
        made_of,
        context,
        receipt_id=new_id(now),
        thread_id=thread_id,
        now=now,
        counter=engine.counter,
        ranker=engine.ranker.fingerprint,
        query=query,
    )
    try:
        # The reply that is made of this context comes next; storing it takes the receipt along.
        engine.store.put(Put(namespace=namespace, receipt=receipt, cursor=cursor, relaxed=True))
    except Conflict:
        # Another process has looked at these messages meanwhile.
        engine.store.put(Put(namespace=namespace, receipt=receipt, relaxed=True))
    return msgspec.structs.replace(context, receipt_id=receipt.id)


def _items(
    engine: Engine, namespace: Namespace, thread_id: str, view: View, shown: Sequence[Message], query: str, budget: int
) -> tuple[Item, ...]:
    """Candidates for the memory block, section by section."""
    now = engine.clock.now()
    subjects = {"user"} | {message.name.casefold() for message in shown if message.role == "user" and message.name}
    known = engine.known(namespace)
    pinned: list[AnyRecord] = [*known.notes, *(insight for insight in known.current if insight.pinned)]
    items = [item_of_record(record, "pinned", "pinned") for record in pinned]
    about = [insight for insight in known.current if insight.subject in subjects and not insight.pinned]
    for insight, score in select_profile(about, now=now, settings=engine.settings):
        items.append(item_of_record(insight, "profile", _profile_reason(insight, score), {"retention": score}))
    said: list[Item] = []
    # The newest session summary of another thread.
    previous = next((summary for summary in known.summaries if summary.thread_id != thread_id), None)
    if previous is not None:
        said += items_of_summary(previous, "previous session", f"summary of thread {previous.thread_id}")
    said += _summary_items(engine, view, shown, budget)
    if query:
        said += _recalled_items(engine, namespace, query, shown, {item.id for item in (*items, *said)})
    return (*items, *_with_changes(said, known.changed))


def _with_changes(items: Sequence[Item], changed: Mapping[str, Insight]) -> list[Item]:
    """Items, those that quote a message which said something superseded since with what took its place."""
    found: list[Item] = []
    for item in items:
        if not changed.keys().isdisjoint(item.sources):
            by = next(changed[source] for source in item.sources if source in changed)
            item = msgspec.structs.replace(item, changed=by.text, changed_by=by.id)
        found.append(item)
    return found


def _summary_items(engine: Engine, view: View, shown: Sequence[Message], budget: int) -> list[Item]:
    """Lines of the folded past that say something the recent messages do not, each once, in the order of their nodes.

    The lines of `view.segments` have the first choice of the room.
    """
    visible = {message.id for message in shown}
    limit = int(engine.settings.memory_share * budget)
    first = {node.id for node in view.segments}
    # A segment may be a root or a child of one: its lines are then lines of both.
    own = _chosen(engine, view.segments, visible, limit)
    taken = {node.lines[index] for node, index in own}
    limit -= sum(engine.counter.count(line.text) for line in taken)
    rest = _chosen(engine, [node for node in view.nodes if node.id not in first], visible, limit)
    chosen = [*own, *((node, index) for node, index in rest if node.lines[index] not in taken)]
    if own:
        chosen.sort(key=lambda at: (at[0].last_seq, -at[0].level, at[1]))
    return [item_of_node(node, index, f"folds messages {node.first_seq}-{node.last_seq}") for node, index in chosen]


def _chosen(engine: Engine, nodes: Sequence[Node], visible: set[str], limit: int) -> list[tuple[Node, int]]:
    """The lines of nodes that say most within `limit` tokens, each as its node and its number."""
    said = [(node, index) for node in nodes for index, line in enumerate(node.lines) if not visible.issuperset(line.sources)]
    if not said or limit < 1:
        return []
    chosen = engine.chosen_lines([node.lines[index] for node, index in said], limit)
    return [at for position, at in enumerate(said) if position in chosen]


def _recalled_items(engine: Engine, namespace: Namespace, query: str, shown: Sequence[Message], used: set[str]) -> list[Item]:

    visible = {message.id for message in shown}
    # More than will be shown, since what is in view anyway is often the best match. (All of it would be ranking for nothing.)
    spare = min(len(visible), _SPARE_HITS)
    hits = recall_from(engine, Scope(namespace), query, k=engine.settings.recall_limit + spare)
    hits_left = [hit for hit in hits if hit.id not in visible and hit.id not in used][: engine.settings.recall_limit]
    # A hit says all of a message that a line shows; a record has sources and times of its own.
    wanted = tuple(hit.id for hit in hits_left if hit.kind != "message")
    fetched = engine.store.get(Get(scope=Scope(namespace), records=wanted)).records if wanted else ()
    records = {stored.record.id: stored.record for stored in fetched}
    items: list[Item] = []
    for hit in hits_left:
        reason = _hit_reason(hit.score, hit.scores)
        if hit.kind == "message":
            item = item_of_message(
                hit.id,
                hit.text,
                at=hit.at,
                trust=hit.trust,
                speaker=hit.speaker,
                counter=engine.counter,
                reason=reason,
                scores=hit.scores,
            )
            items.append(item)
        elif hit.id in records:
            items.append(item_of_record(records[hit.id], "recalled", reason, hit.scores))
    return items


def _profile_reason(insight: Insight, score: float) -> str:
    said = f"said {len(insight.sources)}x" if len(insight.sources) > 1 else "said once"
    cited = f", cited {insight.access_count}x" if insight.access_count else ""
    return f"{insight.topic}, {said}{cited}, retention {score:.2f}"


def _hit_reason(score: float, scores: Mapping[str, float]) -> str:
    legs = ", ".join(f"{name} {value:.2f}" for name, value in scores.items())
    return f"score {score:.2f}" + (f" ({legs})" if legs else "")
