"""A context: derive, view the thread, gather what is known and what is recalled, compose, keep a receipt."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import msgspec

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
from bethink.errors import Conflict, InvalidInput
from bethink.ids import new_id
from bethink.insights.retention import select_profile
from bethink.messages import Message
from bethink.records import AnyRecord, Insight, Node
from bethink.steps.derive import derive
from bethink.steps.recall import recall_from
from bethink.steps.view import View, view_thread
from bethink.storage.base import Get, Put, Scope
from bethink.values import Namespace

__all__ = ["build_context"]

_SPARE_HITS = 32


def build_context(engine: Engine, namespace: Namespace, thread_id: str, query: str | None, budget: int | None) -> Context:
    """The context of a thread, its receipt stored."""
    budget = engine.settings.window if budget is None else budget
    if budget < 1:
        raise InvalidInput("budget", f"{budget} tokens", "use 1 or more")
    cursor = derive(engine, namespace, hold=thread_id)
    view = view_thread(engine, namespace, thread_id, budget)
    shown = [message for group in view.recent for message in group.messages]
    if query is None:
        query = next((message.text for message in reversed(shown) if message.role == "user"), "")
    items = _items(engine, namespace, thread_id, view, shown, query, budget)
    found = Sources(pinned=view.pinned, recent=view.recent, sizes=view.sizes, waiting=view.waiting, items=items)
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
    said += _summary_items(engine, view.nodes, shown, budget)
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


def _summary_items(engine: Engine, nodes: Sequence[Node], shown: Sequence[Message], budget: int) -> list[Item]:
    """Lines of the folded past that say something the recent messages do not."""
    visible = {message.id for message in shown}
    said = [(node, index) for node in nodes for index, line in enumerate(node.lines) if not visible.issuperset(line.sources)]
    chosen = engine.chosen_lines([node.lines[index] for node, index in said], int(engine.settings.memory_share * budget))
    reasons = {node.id: f"folds messages {node.first_seq}-{node.last_seq}" for node in nodes}
    return [item_of_node(node, index, reasons[node.id]) for position, (node, index) in enumerate(said) if position in chosen]


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
