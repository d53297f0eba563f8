"""A context: derive, view the thread, gather what is known and what is recalled, compose, keep a receipt."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Literal

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
    pinned_tokens,
    receipt_for,
    render,
)
from bethink.engine import Engine, Known
from bethink.errors import BudgetError, Conflict, CorruptStore, InvalidInput, LimitExceeded, StoreError
from bethink.ids import new_id
from bethink.insights.retention import select_profile
from bethink.limits import NO_LIMITS, Limits, budget_within, near
from bethink.messages import Message, ranges
from bethink.models.measure import Measure
from bethink.records import AnyRecord, Insight, Node, Receipt
from bethink.settings import Oversize, check_choice
from bethink.steps.derive import derive
from bethink.steps.handoff import handed_items
from bethink.steps.recall import recall_from
from bethink.steps.state import own_items
from bethink.steps.usage import usage_of_turn
from bethink.steps.view import View, view_thread
from bethink.storage.base import Cursor, Get, InView, Put, Scope
from bethink.usage import TurnUsage
from bethink.values import Namespace, check_json, check_text

__all__ = ["Asked", "asked_for", "build_context"]


class Asked(msgspec.Struct, frozen=True, kw_only=True):
    """What is asked of a context; see `Thread.context`. What is None is as the memory's settings have it."""

    query: str | None = None
    budget: int | None = None
    policy: Policy
    oversize: Oversize | None = None
    for_model: str | None = None
    tools: tuple[dict[str, Any], ...] = ()
    limits: Limits = NO_LIMITS


def asked_for(
    policy: Policy,
    *,
    query: str | None,
    budget: int | None,
    oversize: Oversize | Literal["cut", "error"] | None,
    for_model: str | None,
    tools: Sequence[Mapping[str, Any]],
    limits: Limits,
) -> Asked:
    """What a caller asks, checked, and sharing nothing with what he may still change."""
    if query is not None:
        check_text(query, "query")
    if for_model is not None:
        check_text(for_model, "for_model")
    if isinstance(oversize, str):
        check_choice(oversize, "oversize", Literal["cut", "error"])
        oversize = Oversize(question=oversize, turn=oversize)
    elif not (oversize is None or isinstance(oversize, Oversize)):
        raise InvalidInput("oversize", f"a {type(oversize).__name__}", 'give "cut", "error" or an Oversize')
    for number, tool in enumerate(tools):
        check_json(tool, f"tools[{number}]")
    copied = tuple([msgspec.json.decode(msgspec.json.encode(tool, enc_hook=dict)) for tool in tools])
    return Asked(query=query, budget=budget, policy=policy, oversize=oversize, for_model=for_model, tools=copied, limits=limits)


def build_context(engine: Engine, namespace: Namespace, thread_id: str, asked: Asked) -> Context:
    """The context of a thread, its receipt stored, and what it took."""
    limits = asked.limits
    budget = budget_within(limits, asked.budget, window=engine.settings.window)
    if budget < 1:
        raise BudgetError(budget, 1, (("one of the tokens", 1),))
    measure = engine.measure(asked.for_model)
    around = measure.around(asked.tools)
    room = budget - sum(tokens for _, tokens in around)
    if room < 1:
        raise BudgetError(budget, budget - room, around)
    if limits.memory_tokens is not None:
        _check_pinned(engine, namespace, limits.memory_tokens, measure)
    with engine.telemetry.turn(most=limits.latency, namespace=namespace, thread_id=thread_id, budget=budget) as turn:
        found = _found(engine, namespace, thread_id, asked, room, measure)
        with engine.telemetry.span("compose"):
            sources = msgspec.structs.replace(found.sources, around=around, memory_limit=limits.memory_tokens)
            settings = engine.settings
            if asked.oversize is not None:
                settings = msgspec.structs.replace(settings, oversize=asked.oversize)
            made_of = compose(sources, budget=budget, measure=measure, settings=settings)
            context = render(made_of, budget=budget, measure=measure, tools=asked.tools)
            now = engine.clock.now()
            receipt = receipt_for(
                made_of,
                context,
                receipt_id=new_id(now),
                thread_id=thread_id,
                now=now,
                ranker=engine.ranker.fingerprint,
                query=found.query,
            )
        usage = usage_of_turn(engine, found.view, context, receipt)
        with engine.telemetry.span("store"):
            _store(engine, namespace, receipt, found.cursor)
        usage = msgspec.structs.replace(usage, seconds=turn.measured())
        _store_usage(engine, namespace, usage)
        warnings = near(limits, usage)
        engine.telemetry.tell("turn", usage)
        for warning in warnings:
            engine.telemetry.tell("warning", thread_id, warning)
        for problem in turn.without:
            engine.telemetry.tell("without", thread_id, problem)
    context = msgspec.structs.replace(context, receipt_id=receipt.id, usage=usage, warnings=warnings)
    return msgspec.structs.replace(context, without=tuple(turn.without))


class _Found(msgspec.Struct, frozen=True):
    """What there is to make a context of, and the cursor that is to be moved with it."""

    view: View
    query: str
    sources: Sources
    cursor: Cursor | None


def _found(engine: Engine, namespace: Namespace, thread_id: str, asked: Asked, room: int, measure: Measure) -> _Found:
    with engine.telemetry.span("derive"):
        cursor = derive(engine, namespace, hold=thread_id)
    with engine.telemetry.span("view"):
        view = view_thread(engine, namespace, thread_id, room, asked.policy, measure)
    shown = [*view.pinned, *(message for group in view.recent for message in group.messages)]
    query = asked.query
    if query is None:
        said = [message for message in shown if message.role == "user"]
        query = max(said, key=lambda message: message.seq).text if said else ""
    sources = Sources(
        pinned=view.pinned,
        recent=view.recent,
        sizes=view.sizes,
        waiting=view.waiting,
        items=(
            *handed_items(engine, namespace, thread_id),
            *(own_items(engine, namespace, thread_id, shown) if asked.policy.shows_state else ()),
            *_items(engine, namespace, thread_id, view, shown, query, room, measure),
        ),
        policy=asked.policy.name,
        decisions=view.decisions,
        limit=view.limit,
    )
    return _Found(view, query, sources, cursor)


def _check_pinned(engine: Engine, namespace: Namespace, most: int, measure: Measure) -> None:
    """LimitExceeded if what is pinned, and so must be shown, makes too large a memory message."""
    tokens = pinned_tokens(_pinned_items(engine.known(namespace)), measure)
    if tokens > most:
        raise LimitExceeded("memory_tokens", most, tokens, "tokens of what is pinned", "unpin something, or raise the limit")


def _pinned_items(known: Known) -> list[Item]:
    pinned: list[AnyRecord] = [*known.notes, *(insight for insight in known.current if insight.pinned)]
    return [item_of_record(record, "pinned", "pinned") for record in pinned]


def _store_usage(engine: Engine, namespace: Namespace, usage: TurnUsage) -> None:
    """Apart from the receipt, since how long that took to store is part of it."""
    try:
        engine.store.put(Put(namespace=namespace, usage=usage, relaxed=True))
    except CorruptStore:
        raise
    except StoreError as error:
        # The context is made and its receipt stored: it is not lost to a number that cannot be written now.
        import logging

        logging.getLogger("bethink").warning("what a context took was not stored: %s", type(error).__name__)


def _store(engine: Engine, namespace: Namespace, receipt: Receipt, cursor: Cursor | None) -> None:
    try:
        # The reply that is made of this context comes next; storing it takes the receipt along.
        engine.store.put(Put(namespace=namespace, receipt=receipt, cursor=cursor, relaxed=True))
    except Conflict:
        # Another process has looked at these messages meanwhile.
        engine.store.put(Put(namespace=namespace, receipt=receipt, relaxed=True))


def _items(
    engine: Engine,
    namespace: Namespace,
    thread_id: str,
    view: View,
    shown: Sequence[Message],
    query: str,
    budget: int,
    measure: Measure,
) -> tuple[Item, ...]:
    """Candidates for the memory block, section by section."""
    now = engine.clock.now()
    subjects = {"user"} | {message.name.casefold() for message in shown if message.role == "user" and message.name}
    known = engine.known(namespace)
    items = _pinned_items(known)
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
        in_view = InView(
            namespace=namespace,
            thread_id=thread_id,
            spans=ranges(sorted([message.seq for message in shown])),
            records=tuple(dict.fromkeys([item.id for item in (*items, *said) if item.of == "record"])),
        )
        said += _recalled_items(engine, query, in_view, known.by_id, measure)
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
    """Lines of the folded past that say something the messages in view do not, each once, in the order of their nodes.

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
    return [item_of_node(node, index, _node_reason(node)) for node, index in chosen]


def _node_reason(node: Node) -> str:
    written = "" if node.author == "extractive" else f", written by {node.author}"
    return f"folds messages {node.first_seq}-{node.last_seq}{written}"


def _chosen(engine: Engine, nodes: Sequence[Node], visible: set[str], limit: int) -> list[tuple[Node, int]]:
    """The lines of nodes that say most within `limit` tokens, each as its node and its number."""
    said = [(node, index) for node in nodes for index, line in enumerate(node.lines) if not visible.issuperset(line.sources)]
    if not said or limit < 1:
        return []
    chosen = engine.chosen_lines([node.lines[index] for node, index in said], limit)
    return [at for position, at in enumerate(said) if position in chosen]


def _recalled_items(engine: Engine, query: str, in_view: InView, known: Mapping[str, Insight], measure: Measure) -> list[Item]:
    """The best answers to a query that are not in view."""
    scope = Scope(in_view.namespace)
    hits = recall_from(engine, scope, query, in_view=in_view, go_on=True)
    # A hit says all of a message that a line shows; a record has sources and times of its own.
    found = [hit.id for hit in hits if hit.kind != "message"]
    records: dict[str, AnyRecord] = {record_id: known[record_id] for record_id in found if record_id in known}
    wanted = tuple(record_id for record_id in found if record_id not in known)
    if wanted:
        fetched = engine.store.get(Get(scope=scope, records=wanted)).records
        records.update((stored.record.id, stored.record) for stored in fetched)
    items: list[Item] = []
    for hit in hits:
        reason = _hit_reason(hit.score, hit.scores)
        if hit.kind == "message":
            item = item_of_message(
                hit.id,
                hit.text,
                at=hit.at,
                trust=hit.trust,
                speaker=hit.speaker,
                counter=measure,
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
    legs = ", ".join(f"{name} {value:.2f}" for name, value in scores.items() if round(value, 2))
    return f"score {score:.2f}" + (f" ({legs})" if legs else "")
