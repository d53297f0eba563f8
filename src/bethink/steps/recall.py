"""Recall: embed what waits, ask the waist for candidates, rank them."""

from __future__ import annotations

from collections.abc import Callable

from bethink.engine import Engine
from bethink.errors import MissingExtra
from bethink.retrieval.rank import RecallResult
from bethink.retrieval.recall import Searchable, recall
from bethink.storage.base import Filter, InView, Pending, Put, Scan, Scope
from bethink.values import Namespace

__all__ = ["embed_pending", "recall_from", "reembed"]

_EMBEDDING_BATCH = 64


def recall_from(
    engine: Engine,
    scope: Scope,
    query: str,
    *,
    k: int | None = None,
    kinds: tuple[Searchable, ...] | None = None,
    in_view: InView | None = None,
    where: Filter | None = None,
) -> RecallResult:
    """The best answers to a query within a scope that pass a filter and are not in view, or none, with the reason."""
    with engine.telemetry.span("recall", namespace=scope.namespace) as span:
        with engine.telemetry.span("recall.embed"):
            embed_pending(engine, scope, limit=engine.settings.embed_at_recall)
        found = recall(
            query,
            scope=scope,
            search=engine.store.search,
            speakers=engine.store.speakers,
            embedder=engine.bound_embedder(),
            ranker=engine.ranker,
            now=engine.clock.now(),
            k=engine.settings.recall_limit if k is None else k,
            kinds=kinds,
            in_view=in_view,
            where=where,
            span=engine.telemetry.span,
        )
        span.add(hits=len(found))
    return found


def embed_pending(
    engine: Engine, scope: Scope, *, limit: int | None = None, progress: Callable[[int], None] | None = None
) -> int:
    """Embed units that wait for their vector, oldest first; returns how many. Each batch is one transaction."""
    embedder = engine.bound_embedder()
    done = 0
    while embedder is not None and (limit is None or done < limit):
        size = _EMBEDDING_BATCH if limit is None else min(_EMBEDDING_BATCH, limit - done)
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
