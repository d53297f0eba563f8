"""A context: view the thread, derive, gather what is known and what is recalled, compose, keep a receipt."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from datetime import datetime
from typing import Any, Literal

import msgspec

from bethink.compaction.policies import Policy
from bethink.context import (
    Context,
    Item,
    Shown,
    Sources,
    as_disputed,
    compose,
    item_of_message,
    items_of_hit,
    pinned_tokens,
    receipt_for,
    render,
)
from bethink.engine import Engine, Known
from bethink.errors import BudgetError, Conflict, CorruptStore, InvalidInput, LimitExceeded, StoreError
from bethink.ids import new_id
from bethink.insights.domains.sectioned import laid_out
from bethink.insights.retention import select_profile
from bethink.limits import NO_LIMITS, Limits, budget_within, near
from bethink.messages import Message, ranges
from bethink.models.measure import Measure
from bethink.records import AnyRecord, Insight, Receipt
from bethink.settings import Oversize, check_choice
from bethink.steps.answer import Wanted
from bethink.steps.derive import derive
from bethink.steps.earlier import ended_sessions
from bethink.steps.folded import folded_lines, with_changes
from bethink.steps.handoff import handed_items
from bethink.steps.recall import recall_from
from bethink.steps.reflect import end_idle, reflect_if_long
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
            made_of = compose(sources, budget=budget, measure=measure, settings=settings, words=engine.lines.words)
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
        recorded = engine.may_write(namespace)
        if recorded:
            with engine.telemetry.span("store"):
                _store(engine, namespace, receipt, found.cursor)
        usage = msgspec.structs.replace(usage, seconds=turn.measured())
        if recorded:
            _store_usage(engine, namespace, usage)
        warnings = near(limits, usage)
        engine.telemetry.tell("turn", usage)
        for warning in warnings:
            engine.telemetry.tell("warning", thread_id, warning)
        for problem in turn.without:
            engine.telemetry.tell("without", thread_id, problem)
    context = msgspec.structs.replace(context, receipt_id=receipt.id if recorded else "", usage=usage, warnings=warnings)
    return msgspec.structs.replace(context, without=tuple(turn.without))


class _Found(msgspec.Struct, frozen=True):
    """What there is to make a context of, and the cursor that is to be moved with it."""

    view: View
    query: str
    sources: Sources
    cursor: Cursor | None


def _found(engine: Engine, namespace: Namespace, thread_id: str, asked: Asked, room: int, measure: Measure) -> _Found:
    end_idle(engine, namespace)
    with engine.telemetry.span("view"):
        view = view_thread(engine, namespace, thread_id, room, asked.policy, measure)
    reflect_if_long(engine, view.thread)
    with engine.telemetry.span("derive"):
        cursor = derive(engine, namespace, view=view)
    shown = [*view.pinned, *(message for group in view.recent for message in group.messages)]
    query = None if asked.query is None else engine.redacted(asked.query)
    if query is None:
        said = [message for message in shown if message.role == "user"]
        query = max(said, key=lambda message: message.seq).text if said else ""
    state = handed_items(engine, namespace, thread_id)
    if asked.policy.shows_state:
        state += own_items(engine, namespace, thread_id, shown)
    sources = Sources(
        pinned=view.pinned,
        recent=view.recent,
        sizes=view.sizes,
        waiting=view.waiting,
        lines=(
            *[engine.lines.shown(item, measure) for item in state],
            *_lines(engine, namespace, thread_id, view, shown, query, room, measure),
        ),
        policy=asked.policy.name,
        decisions=view.decisions,
        limit=view.limit,
    )
    return _Found(view, query, sources, cursor)


def _check_pinned(engine: Engine, namespace: Namespace, most: int, measure: Measure) -> None:
    """LimitExceeded if what is pinned, and so must be shown, makes too large a memory message."""
    tokens = pinned_tokens(_pinned_lines(engine, engine.known(namespace), measure), measure)
    if tokens > most:
        raise LimitExceeded("memory_tokens", most, tokens, "tokens of what is pinned", "unpin something, or raise the limit")


def _pinned_lines(engine: Engine, known: Known, measure: Measure) -> list[Shown]:
    pinned: list[AnyRecord] = [*known.notes, *[insight for insight in known.current if insight.pinned]]
    return [engine.lines.of_record(record, "pinned", "pinned", {}, measure) for record in pinned]


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


def _lines(
    engine: Engine,
    namespace: Namespace,
    thread_id: str,
    view: View,
    shown: Sequence[Message],
    query: str,
    budget: int,
    measure: Measure,
) -> list[Shown]:
    """Candidates for the memory block, section by section."""
    now = engine.clock.now()
    subjects = {"user"} | {message.name.casefold() for message in shown if message.role == "user" and message.name}
    known = engine.known(namespace)
    lines = _pinned_lines(engine, known, measure)
    about = [insight for insight in known.current if insight.subject in subjects and not insight.pinned]
    for insight, score, group in _profile(engine, about, now):
        reason = _profile_reason(insight, score)
        lines.append(engine.lines.of_record(insight, "profile", reason, {"retention": score}, measure, group))
    said = ended_sessions(engine, known.summaries, thread_id)
    lines += [engine.lines.shown(item, measure) for item in with_changes(said, known.changed)]
    recalled: list[Item] = []
    if query:
        in_view = InView(
            namespace=namespace,
            thread_id=thread_id,
            spans=ranges(sorted([message.seq for message in shown])),
            records=tuple(dict.fromkeys([line.item.id for line in lines])),
        )
        recalled = with_changes(_recalled_items(engine, query, in_view, known.by_id, measure), known.changed)
    visible = frozenset([message.id for message in shown])
    return [
        *lines,
        *folded_lines(engine, view, visible, known.changed, budget, measure),
        *[engine.lines.shown(item, measure) for item in recalled],
    ]


def _profile(engine: Engine, about: Sequence[Insight], now: datetime) -> Iterator[tuple[Insight, float, str]]:
    """What is to be shown of a profile, each with its score and the title of its section, in the order of importance."""
    template, settings = engine.template, engine.settings
    if template is None:
        for insight, score in select_profile(about, now=now, settings=settings):
            yield insight, score, ""
        return
    laid = laid_out(about, template, size=settings.profile_size, now=now, retention=settings.retention)
    for section, pairs in laid.sections:
        for insight, score in pairs:
            yield insight, score, section.shown


def _recalled_items(engine: Engine, query: str, in_view: InView, known: Mapping[str, Insight], measure: Measure) -> list[Item]:
    """The best answers to a query that are not in view."""
    scope = Scope(in_view.namespace)
    hits = recall_from(engine, scope, query, Wanted(in_view=in_view, passages=True), go_on=True)
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
                cut=hit.cut,
            )
            items.append(item)
        elif hit.id in records:
            items += [as_disputed(item, hit.disputed_by) for item in items_of_hit(records[hit.id], reason, hit.scores)]
    # Lines of a summary fill what room is left: whole, it was passed over where it did not fit.
    return [*[item for item in items if item.index < 0], *[item for item in items if item.index >= 0]]


def _profile_reason(insight: Insight, score: float) -> str:
    said = f"said {len(insight.sources)}x" if len(insight.sources) > 1 else "said once"
    cited = f", cited {insight.access_count}x" if insight.access_count else ""
    return f"{insight.topic}, {said}{cited}, retention {score:.2f}"


def _hit_reason(score: float, scores: Mapping[str, float]) -> str:
    legs = ", ".join(f"{name} {value:.2f}" for name, value in scores.items() if round(value, 2))
    return f"score {score:.2f}" + (f" ({legs})" if legs else "")
