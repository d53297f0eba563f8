"""Recall: embed what waits, ask the waist for candidates, rank them. And the change of the model that embeds.

All of it is of one space (see `storage.base.spaces`): the one that the engine's embedder is bound to, named in each request.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TypeAlias

from bethink.engine import Bound, Engine
from bethink.errors import Conflict, EmbedderMismatch, EmbeddingFailed
from bethink.models import Embedder
from bethink.retrieval.hits import RecallResult
from bethink.steps.answer import Wanted, answered, look_for
from bethink.storage.base import Pending, Put, Scan, Scope, TokenVectors

__all__ = ["embed_pending", "embed_some", "recall_from", "reembed"]

Progress: TypeAlias = Callable[[int], None]
"""Is told each number of vectors that were made."""


def recall_from(
    engine: Engine, scope: Scope, query: str, wanted: Wanted, *, go_on: bool = False, beside: Sequence[Scope] = ()
) -> RecallResult:
    """The best answers to a query within a scope, as asked for, or none, with the reason; `beside` it, in other scopes that
    have nothing in common with it.

    With `go_on`, an embedder that fails is done without: words alone are searched, and the turn that is being made says so.
    """

    def found(bound: Bound | None) -> RecallResult:
        for each in (scope, *beside):
            embed_some(engine, bound, each)
        return by(bound)

    def by(bound: Bound | None) -> RecallResult:
        return answered(engine, look_for(engine, bound, scope, query, wanted, beside), wanted)

    with engine.telemetry.span("recall", namespace=scope.namespace) as span:
        try:
            hits = engine.in_space(found)
        except EmbeddingFailed as failure:
            if not go_on:
                raise
            engine.telemetry.go_without(f"{failure} (recalled by words alone)")
            hits = by(None)
        span.add(hits=len(hits))
    return hits


def embed_some(engine: Engine, bound: Bound | None, scope: Scope) -> None:
    """What a recall embeds of what waits: at most `settings.embed_at_recall` units; nothing where nothing may be written."""
    if not engine.may_write(scope.namespace):
        return
    with engine.telemetry.span("recall.embed"):
        _embed(engine, bound, scope, limit=engine.settings.embed_at_recall)


def embed_pending(engine: Engine, scope: Scope, *, progress: Progress | None = None) -> int:
    """Embed units that wait for their vector, oldest first; returns how many. Each batch, of the size that suits the embedder,
    is one transaction.
    """
    done = engine.in_space(lambda bound: _embed(engine, bound, scope, progress=progress))
    engine.in_space(lambda bound: _embed_tokens(engine, bound, scope))
    _swept(engine)
    return done


def _embed(
    engine: Engine, bound: Bound | None, scope: Scope, *, limit: int | None = None, progress: Progress | None = None
) -> int:
    """`embed_pending` in one space, at most `limit` units."""
    done = 0
    while bound is not None and (limit is None or done < limit):
        size = bound.embedder.batch_size if limit is None else min(bound.embedder.batch_size, limit - done)
        page = engine.store.scan(Scan(what="pending", scope=scope, limit=size, space=bound.space))
        waiting = [item for item in page.items if isinstance(item, Pending)]
        if not waiting:
            break
        vectors, tokens = _made(bound, waiting)
        engine.store.put(Put(namespace=scope.namespace, vectors=vectors, space=bound.space, tokens=tokens))
        done += len(waiting)
        if progress is not None:
            progress(len(waiting))
        if len(waiting) < size:
            break
    return done


def _made(bound: Bound, waiting: list[Pending]) -> tuple[tuple[tuple[int, bytes], ...], TokenVectors | None]:
    """Vectors, and those of tokens if they are wanted, of one run of the model."""
    texts, units = [item.text for item in waiting], [item.unit for item in waiting]
    if bound.of_tokens is None:
        vectors, tokens = bound.embedder.embed(texts), None
    else:
        from bethink.retrieval.maxsim import packed

        vectors, of_each = bound.of_tokens.embed_tokens(texts)
        data = [packed(each) for each in of_each]
        tokens = TokenVectors(bound.of_tokens.token_fingerprint, tuple(zip(units, data, strict=True)))
    return tuple((unit, vector.tobytes()) for unit, vector in zip(units, vectors, strict=True)), tokens


def _embed_tokens(engine: Engine, bound: Bound | None, scope: Scope) -> None:
    """Give what was embedded without vectors of its tokens those."""
    while bound is not None and bound.of_tokens is not None:
        wanted, size = bound.of_tokens.token_fingerprint, bound.embedder.batch_size
        page = engine.store.scan(Scan(what="pending", scope=scope, limit=size, tokens=wanted))
        waiting = [item for item in page.items if isinstance(item, Pending)]
        if not waiting:
            return
        engine.store.put(Put(namespace=scope.namespace, tokens=_made(bound, waiting)[1]))


_EVERYTHING = Scope((), subtree=True)
_MEANWHILE = 256
"""So many units may wait at the change: no more than came since none did, while others write."""


def reembed(engine: Engine, given: Embedder | None, *, progress: Progress | None = None) -> int:
    """See `Memory.reembed`. Whoever else writes meanwhile does not keep it from coming to its end."""
    with engine.telemetry.span("reembed") as span:
        target = engine.target(given)
        engine.store.fill_space(target.space)
        if progress is not None:
            progress(sum(space.vectors for space in engine.store.spaces() if space.fingerprint == target.space))
        try:
            done = _embed(engine, target, _EVERYTHING, progress=progress)
            while not engine.store.switch_space(target.space, waiting=_MEANWHILE):
                done += _embed(engine, target, _EVERYTHING, progress=progress)
            engine.adopt(target)
            done += _embed(engine, target, _EVERYTHING, progress=progress)
        except EmbedderMismatch:
            raise Conflict(
                f"the change to {target.space} was given up, since somebody has begun one to another model — let that come to "
                "its end, or call reembed again to begin this one anew"
            ) from None
        span.add(vectors=done)
        _swept(engine)
    return done


def _swept(engine: Engine) -> None:
    """Remove what a change of the model, this one or one that was interrupted, has left."""
    while engine.store.sweep():
        pass
