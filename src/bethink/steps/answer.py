"""What is asked of a recall, and its answer: searched for, ranked, as turns or sessions, within a budget.

`steps.recall` returns the answer, `steps.why` explains it.
"""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime
from functools import partial

import msgspec

from bethink.context.items import Item, as_disputed, shown
from bethink.engine import Bound, Engine
from bethink.errors import InvalidInput, NotFound
from bethink.messages import Message
from bethink.models import TokenCounter
from bethink.retrieval.grouping import Unit, grouped
from bethink.retrieval.hits import Hit, Member, RecallResult, excerpt
from bethink.retrieval.packing import SHORTEST, Cost, Passages, packed
from bethink.retrieval.recall import Looked, Searchable, answer, look, weighed_for
from bethink.settings import check_choice
from bethink.steps.authors import with_authors
from bethink.steps.past import When, past_of, said_by, tip_at
from bethink.steps.several import search_each, speakers_of_each
from bethink.storage.base import Filter, Found, InView, Past, Read, Scope, Search, fields_of, passes

__all__ = ["Wanted", "answered", "at_times", "look_for", "most_of", "search_in"]

_RECORDS: tuple[Searchable, ...] = ("note", "insight", "summary", "episode")
_MOST = 200
"""Hits for a budget alone; so many of each leg are ranked for one."""
_REACH = 64
"""Messages before and after a hit in which its turn is looked for."""


class Wanted(msgspec.Struct, frozen=True, kw_only=True):
    """What is asked of a recall; see `Memory.recall`. What is None is as the memory's settings have it.

    Attributes:
        passages: whether long hits come with their best passage, also where there is no budget.
        past: among what there was at a time, as if asked then.
    """

    k: int | None = None
    kinds: tuple[Searchable, ...] | None = None
    in_view: InView | None = None
    where: Filter | None = None
    unit: Unit = "message"
    budget: int | None = None
    passages: bool = False
    past: Past | None = None

    @property
    def at(self) -> datetime | None:
        """When the question is asked; None for now."""
        return None if self.past is None else self.past.at


def at_times(engine: Engine, scopes: Sequence[Scope], wanted: Wanted, asked: When) -> Wanted:
    """The same, as of a system time, or about a time of the world, in scopes that have nothing in common."""
    where = wanted.where
    if asked.valid_at is not None:
        said = said_by(asked.valid_at)
        where = said if where is None else where & said
    known = [past_of(engine, scope, asked) for scope in scopes]
    there = Past(
        at=asked.as_of,
        known=tuple([place for each in known for place in each.known]),
        found=tuple([place for each in known for place in each.found]),
    )
    return msgspec.structs.replace(wanted, past=there, where=where)


def look_for(
    engine: Engine, bound: Bound | None, scope: Scope, query: str, wanted: Wanted, beside: Sequence[Scope] = ()
) -> Looked:
    """The search of a recall, among vectors of the space that its own is of; by words alone without one. What is found in the
    scopes `beside` is ranked with the rest.

    Raises:
        InvalidInput: `k` or `budget` below 1, a unit that is none, records alone asked for together with messages.
    """
    query = engine.redacted(query)
    check_choice(wanted.unit, "unit", Unit)
    kinds = wanted.kinds
    if wanted.unit == "record":
        kinds = _RECORDS if kinds is None else kinds
        if "message" in kinds:
            raise InvalidInput("kinds", "messages, with unit record", 'leave "message" out, or use unit="message"')
    if wanted.budget is not None and wanted.budget < 1:
        raise InvalidInput("budget", f"{wanted.budget}", "use 1 token or more")
    return look(
        query,
        scope=scope,
        search=search_each(partial(search_in, engine, bound), (scope, *beside)),
        speakers=speakers_of_each(engine, (scope, *beside), wanted.at),
        embedder=None if bound is None else bound.embedder,
        of_tokens=None if bound is None else bound.of_tokens,
        now=wanted.at or engine.clock.now(),
        # What fits is more than a few: with so many of each leg, there is more evidence within 500 and 1,000 tokens (LoCoMo).
        k=_MOST if wanted.k is None and wanted.budget is not None else most_of(engine, wanted),
        kinds=kinds,
        in_view=wanted.in_view,
        where=wanted.where,
        past=wanted.past,
        span=engine.telemetry.span,
    )


def search_in(engine: Engine, bound: Bound | None, request: Search) -> Found:
    """Among vectors of the space that the query's is of."""
    return engine.store.search(request if bound is None else msgspec.structs.replace(request, space=bound.space))


def most_of(engine: Engine, wanted: Wanted) -> int:
    """How many hits are asked for: as many as a budget may have room for, where only that is given."""
    if wanted.k is None and wanted.budget is not None:
        return max(1, min(_MOST, wanted.budget // SHORTEST))
    most = engine.settings.recall_limit if wanted.k is None else wanted.k
    if most < 1:
        raise InvalidInput("k", f"{most}", "ask for 1 hit or more")
    return most


def answered(engine: Engine, looked: Looked, wanted: Wanted, *, now: datetime | None = None) -> RecallResult:
    """The answer to what was looked for: ranked, grouped, and within the budget."""
    k = most_of(engine, wanted)
    whole = wanted.unit in ("message", "record")
    with engine.telemetry.span("recall.rank"):
        asked = weighed_for(looked, engine.ranker)
        ranked = answer(
            looked,
            ranker=engine.ranker,
            k=k if whole else max(1, len(looked.found.candidates)),
            now=now or wanted.at or engine.clock.now(),
            asked=asked,
        )
        if not ranked.hits:
            return ranked
        ranked = with_authors(engine, ranked, now=wanted.past is None)
        if not whole:
            ranked = grouped(ranked, wanted.unit, k=k, turn=lambda hit: _turn(engine, hit, wanted))
        if wanted.budget is None and not wanted.passages:
            return ranked
        passages = Passages(asked.weights, engine.counter)
        if wanted.budget is None:
            return passages.of(ranked)
        return packed(ranked, budget=wanted.budget, passages=passages, cost=lambda line: _cost(line, engine.counter))


def _cost(line: Hit | Member, counter: TokenCounter) -> Cost:
    """Of a hit as a context shows it: one line, with who said it, under the heading of its day."""
    item = Item(
        section="recalled",
        of="message" if line.kind == "message" else "record",
        id=line.id,
        text=excerpt(line.text, line.cut),
        at=line.at,
        trust=line.trust,
        reason="",
        speaker=line.speaker,
    )
    if isinstance(line, Hit) and line.author:
        item = as_disputed(msgspec.structs.replace(item, speaker=line.author), line.disputed_by)
    written = shown(item, counter)
    return Cost(written.tokens, written.heading, written.heading_tokens)


def _turn(engine: Engine, hit: Hit, wanted: Wanted) -> list[Message]:
    """The messages of a hit's turn that there were and the filter is true of: from the user message at or before it up to the
    next one, or `_REACH` messages either way.
    """
    if hit.thread_id is None:
        return []
    where, end = wanted.where, hit.seq + _REACH
    if wanted.at is not None:
        end = min(end, tip_at(engine, hit.namespace, hit.thread_id, wanted.at) + 1)
    request = Read(
        namespace=hit.namespace,
        thread_id=hit.thread_id,
        after=max(0, hit.seq - _REACH),
        before=end,
        marks=where is not None,
    )
    try:
        found = engine.store.read(request)
    except NotFound:
        # Forgotten since it was found.
        return []
    asked = [message.seq for message in found.messages if message.role == "user"]
    first = max([seq for seq in asked if seq <= hit.seq], default=0)
    last = min([seq for seq in asked if seq > hit.seq], default=hit.seq + _REACH)
    return [
        message
        for message in found.messages
        if first <= message.seq < last and (where is None or passes(where, fields_of(message, hit.thread_id, found.tiers)))
    ]
