"""Recall: embed what waits, ask the waist for candidates, rank them; then as turns or sessions, and within a budget."""

from __future__ import annotations

from collections.abc import Callable
from datetime import datetime

import msgspec

from bethink.context.items import Item, shown
from bethink.engine import Engine
from bethink.errors import InvalidInput, MissingExtra, NotFound
from bethink.messages import Message
from bethink.models import TokenCounter
from bethink.retrieval.grouping import Unit, grouped
from bethink.retrieval.hits import Member, excerpt
from bethink.retrieval.packing import SHORTEST, Passages, packed
from bethink.retrieval.rank import Hit, RecallResult
from bethink.retrieval.recall import Looked, Searchable, answer, look
from bethink.settings import check_choice
from bethink.storage.base import Filter, InView, Pending, Put, Read, Scan, Scope, fields_of, passes
from bethink.values import Namespace

__all__ = ["Wanted", "answered", "embed_pending", "look_for", "most_of", "recall_from", "reembed"]

_RECORDS: tuple[Searchable, ...] = ("note", "insight", "summary")
_MOST = 200
"""Hits for a budget alone."""
_REACH = 64
"""Messages before and after a hit in which its turn is looked for."""


class Wanted(msgspec.Struct, frozen=True, kw_only=True):
    """What is asked of a recall; see `Memory.recall`. What is None is as the memory's settings have it.

    Attributes:
        passages: whether long hits come with their best passage, also where there is no budget.
    """

    k: int | None = None
    kinds: tuple[Searchable, ...] | None = None
    in_view: InView | None = None
    where: Filter | None = None
    unit: Unit = "message"
    budget: int | None = None
    passages: bool = False


def recall_from(engine: Engine, scope: Scope, query: str, wanted: Wanted) -> RecallResult:
    """The best answers to a query within a scope, as asked for, or none, with the reason."""
    with engine.telemetry.span("recall", namespace=scope.namespace) as span:
        with engine.telemetry.span("recall.embed"):
            embed_pending(engine, scope, limit=engine.settings.embed_at_recall)
        found = answered(engine, look_for(engine, scope, query, wanted), wanted)
        span.add(hits=len(found))
    return found


def look_for(engine: Engine, scope: Scope, query: str, wanted: Wanted) -> Looked:
    """The search of a recall.

    Raises:
        InvalidInput: `k` or `budget` below 1, a unit that is none, records alone asked for together with messages.
    """
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
        search=engine.store.search,
        speakers=engine.store.speakers,
        embedder=engine.bound_embedder(),
        now=engine.clock.now(),
        k=most_of(engine, wanted),
        kinds=kinds,
        in_view=wanted.in_view,
        where=wanted.where,
        span=engine.telemetry.span,
    )


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
        ranked = answer(
            looked,
            ranker=engine.ranker,
            k=k if whole else max(1, len(looked.found.candidates)),
            now=engine.clock.now() if now is None else now,
        )
        if not ranked.hits:
            return ranked
        if not whole:
            ranked = grouped(ranked, wanted.unit, k=k, turn=lambda hit: _turn(engine, hit, wanted.where))
        if wanted.budget is None and not wanted.passages:
            return ranked
        # Here and not above: only a budget weighs words once more, and that needs numpy.
        from bethink.retrieval.legs import term_weights

        weights = term_weights(looked.found, looked.terms, engine.ranker.least_units)
        passages = Passages(weights, engine.counter)
        if wanted.budget is None:
            return passages.of(ranked)
        return packed(ranked, budget=wanted.budget, passages=passages, cost=lambda line: _tokens(line, engine.counter))


def _tokens(line: Hit | Member, counter: TokenCounter) -> int:
    """Of a hit as a context shows it: one line, with who said it and when."""
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
    return shown(item, counter).tokens


def _turn(engine: Engine, hit: Hit, where: Filter | None) -> list[Message]:
    """The messages of a hit's turn that the filter is true of: from the user message at or before it up to the next one, or
    `_REACH` messages either way.
    """
    if hit.thread_id is None:
        return []
    request = Read(
        namespace=hit.namespace,
        thread_id=hit.thread_id,
        after=max(0, hit.seq - _REACH),
        before=hit.seq + _REACH,
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


def embed_pending(
    engine: Engine, scope: Scope, *, limit: int | None = None, progress: Callable[[int], None] | None = None
) -> int:
    """Embed units that wait for their vector, oldest first; returns how many. Each batch, of the size that suits the embedder,
    is one transaction.
    """
    embedder = engine.bound_embedder()
    done = 0
    while embedder is not None and (limit is None or done < limit):
        size = embedder.batch_size if limit is None else min(embedder.batch_size, limit - done)
        waiting = [
            item for item in engine.store.scan(Scan(what="pending", scope=scope, limit=size)).items if isinstance(item, Pending)
        ]
        if not waiting:
            break
        vectors = embedder.embed([item.text for item in waiting])
        pairs = tuple((item.unit, vector.tobytes()) for item, vector in zip(waiting, vectors, strict=True))
        engine.store.put(Put(namespace=scope.namespace, vectors=pairs))
        done += len(waiting)
        if progress is not None:
            progress(len(waiting))
        if len(waiting) < size:
            break
    return done


def reembed(engine: Engine, namespace: Namespace, *, progress: Callable[[int], None] | None = None) -> int:
    """Drop all vectors of the database for this embedder's, and make those of a namespace and below. Batches are searchable as
    they come; those of other namespaces are made when they are next recalled from or flushed.
    """
    if engine.embedder is None:
        raise MissingExtra("embedding", "minilm")
    engine.bound_embedder(replace=True)
    return embed_pending(engine, Scope(namespace, subtree=True), progress=progress)
