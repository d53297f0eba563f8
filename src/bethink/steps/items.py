"""Items: what each verb does with a checked request. Every answer is of one moment, that of the engine's clock."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from datetime import datetime
from functools import partial

import msgspec

from bethink.engine import Bound, Engine
from bethink.errors import Conflict
from bethink.items import FoundItem, Item, item_of
from bethink.records import ItemVersion
from bethink.retrieval.hits import Hit
from bethink.retrieval.recall import answer, look
from bethink.steps.answer import search_in
from bethink.steps.recall import embed_some
from bethink.storage.base import (
    Filter,
    Forget,
    ForgetReceipt,
    Get,
    ItemChange,
    KeepItems,
    ListItems,
    RefreshItems,
    Scope,
    StoredItem,
    StoredRecord,
)
from bethink.storage.base.filters import alive
from bethink.storage.items import refreshed
from bethink.values import Namespace

__all__ = ["Wanted", "count", "find", "history", "is_there", "keep", "listed", "restore", "search", "sweep"]

replace = msgspec.structs.replace


class Wanted(msgspec.Struct, frozen=True, kw_only=True):
    """What is asked of a list or a search; see `Items.search`."""

    where: Filter | None = None
    limit: int = 10
    offset: int = 0
    threshold: float | None = None
    refresh: bool = False


def keep(engine: Engine, namespace: Namespace, changes: Sequence[ItemChange]) -> list[Item | None]:
    """Make changes in one transaction; each item as it is then, None for one that is removed."""
    with engine.telemetry.span("items.put", namespace=namespace) as span:
        kept = engine.store.keep_items(KeepItems(changes=tuple(changes), history=engine.settings.item_history))
        span.add(items=len(kept))
    return [None if each is None else item_of(each.namespace, each.item) for each in kept]


def find(engine: Engine, namespace: Namespace, key: str, *, refresh: bool) -> Item | None:
    """The item of a key; with `refresh`, its time begins anew."""
    now = engine.clock.now()
    found = engine.store.list_items(ListItems(scope=Scope(namespace), at=now, keys=(key,)))
    return next(iter(_given_out(engine, found, now, refresh)), None)


def history(engine: Engine, namespace: Namespace, key: str) -> list[Item]:
    """The item of a key and its former versions, newest first."""
    request = ListItems(scope=Scope(namespace), at=engine.clock.now(), keys=(key,), former=True)
    return [item_of(each.namespace, each.item) for each in engine.store.list_items(request)]


def count(engine: Engine, scope: Scope, where: Filter | None) -> int:
    return engine.store.count_items(ListItems(scope=scope, at=engine.clock.now(), where=where))


def listed(engine: Engine, scope: Scope, wanted: Wanted) -> list[FoundItem]:
    """Items without a query, the one put last first."""
    now = engine.clock.now()
    request = ListItems(scope=scope, at=now, where=wanted.where, limit=wanted.limit, offset=wanted.offset)
    found = _given_out(engine, engine.store.list_items(request), now, wanted.refresh)
    return [_scored(item, None) for item in found]


def search(engine: Engine, scope: Scope, query: str, wanted: Wanted) -> list[FoundItem]:
    """Items that answer a query, best first. A threshold of 0 has all items pass, those without a score last."""
    if not wanted.limit:
        return []
    now, most = engine.clock.now(), wanted.offset + wanted.limit
    with engine.telemetry.span("items.search", namespace=scope.namespace) as span:
        hits = engine.in_space(lambda bound: _hits(engine, bound, scope, query, wanted, now))
        scores = {(hit.namespace, hit.id): hit.score for hit in hits}
        request = ListItems(scope=scope, at=now, ids=tuple([hit.id for hit in hits]))
        # Those that were replaced since they were found are not among them. Of equal scores the one put last comes first.
        found = sorted(engine.store.list_items(request), key=lambda each: -scores[each.namespace, each.item.id])
        if wanted.threshold == 0 and len(found) < most:
            rest = engine.store.list_items(ListItems(scope=scope, at=now, where=wanted.where, limit=most))
            found += [each for each in rest if (each.namespace, each.item.id) not in scores]
        page = found[wanted.offset : most]
        span.add(hits=len(page))
    items = _given_out(engine, page, now, wanted.refresh)
    return [_scored(item, scores.get((item.namespace, item.id), 0.0)) for item in items]


def _hits(engine: Engine, bound: Bound | None, scope: Scope, query: str, wanted: Wanted, now: datetime) -> tuple[Hit, ...]:
    embed_some(engine, bound, scope)
    where = wanted.where
    if engine.store.has_expired(scope, now):
        where = alive(now) if where is None else alive(now) & where
    looked = look(
        query,
        scope=scope,
        search=partial(search_in, engine, bound),
        # A name is what a value is about, not who speaks.
        speakers=lambda _: (),
        embedder=None if bound is None else bound.embedder,
        of_tokens=None if bound is None else bound.of_tokens,
        now=now,
        k=wanted.offset + wanted.limit,
        kinds=("item",),
        where=where,
        span=engine.telemetry.span,
    )
    ranker = engine.ranker
    if wanted.threshold is not None:
        ranker = replace(ranker, threshold=wanted.threshold, lexical_threshold=wanted.threshold)
    return answer(looked, ranker=ranker, k=wanted.offset + wanted.limit, now=now).hits


def sweep(engine: Engine, scope: Scope) -> ForgetReceipt:
    """Erase what has expired, with all its bytes. Where nothing has, nothing is written."""
    return engine.forget(Forget(scope=scope, at=engine.clock.now(), expired=True))


def is_there(engine: Engine, stored: StoredRecord) -> bool:
    """Whether a record is no version of an item, or one that has not expired, and whose item has not."""
    item = stored.record
    if not isinstance(item, ItemVersion):
        return True
    now = engine.clock.now()
    if not item.current:
        current = ListItems(scope=Scope(stored.namespace), at=now, keys=(item.key,), limit=1)
        return item.alive(now) and bool(engine.store.list_items(current))
    return item.alive(now)


def restore(engine: Engine, namespace: Namespace, item: ItemVersion) -> bool:
    """Put a version of an item as it was elsewhere, with its id, number and times, behind those that are here. Whether it was
    put: one that has expired, or that is not above the version here, is left out.
    """
    now = engine.clock.now()
    held = engine.store.list_items(ListItems(scope=Scope(namespace), at=now, keys=(item.key,)))
    known = engine.store.get(Get(scope=Scope(namespace), records=(item.id,))).records
    version = held[0].item.version if held else 0
    if known or version >= item.version or not item.alive(now):
        return False
    change = ItemChange(
        namespace=namespace,
        key=item.key,
        at=now,
        put_at=item.recorded_at,
        id=item.id,
        value=item.value,
        text=item.text,
        ttl=item.ttl,
        expires_at=item.expires_at,
        expected_version=version,
        version=item.version,
        created_at=item.created_at,
        author=item.author,
    )
    try:
        keep(engine, namespace, (change,))
    except Conflict:
        # Somebody has put another meanwhile, which is newer.
        return False
    return True


def _given_out(engine: Engine, found: Iterable[StoredItem], now: datetime, refresh: bool) -> list[Item]:
    """Items as they are read: with `refresh`, each lives on from now."""
    stored = list(found)
    if refresh and (keys := tuple([(each.namespace, each.item.key) for each in stored if each.item.ttl is not None])):
        engine.store.refresh_items(RefreshItems(keys=keys, at=now))
        stored = [StoredItem(each.namespace, refreshed(each.item, now) or each.item) for each in stored]
    return [item_of(each.namespace, each.item) for each in stored]


def _scored(item: Item, score: float | None) -> FoundItem:
    return FoundItem(**msgspec.structs.asdict(item), score=score)
