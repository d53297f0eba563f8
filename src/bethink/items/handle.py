"""`Items`: the verbs, of one namespace. What is given is checked here, before anything is read or written."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from datetime import datetime, timedelta
from typing import Any

from bethink.checkpoints import plain_object
from bethink.engine import Engine
from bethink.errors import InvalidInput
from bethink.ids import new_id
from bethink.items import FoundItem, Index, Item, ItemPut
from bethink.items.places import checked_pattern, listed_places
from bethink.items.text import checked_paths, text_of
from bethink.retrieval.filters import Where, item_filter
from bethink.steps import items as steps
from bethink.storage.base import ForgetReceipt, ItemChange, Scope
from bethink.values import Namespace, check_id, check_namespace

__all__ = ["Items", "own_value"]

_VALUE = 'pass a dict, such as {"color": "red"}; to remove the item: delete(key)'


class Items:
    """The items of a namespace: `memory.items`.

    All of it holds for what has not expired: an item that has is there for no verb, from that moment on.
    """

    def __init__(self, engine: Engine, namespace: Namespace) -> None:
        self._engine = engine
        self._namespace = namespace

    def __repr__(self) -> str:
        return f"Items(namespace={self._namespace!r})"

    @property
    def namespace(self) -> Namespace:
        """Whose items these are."""
        return self._namespace

    def put(
        self,
        key: str,
        value: Mapping[str, Any],
        *,
        ttl: timedelta | None = None,
        index: Index = True,
        expected_version: int | None = None,
    ) -> Item:
        """Set what a key holds. Returns the item, which has the next version if the key was there.

        Args:
            value: a JSON object.
            ttl: it expires this long after its `put`, or its last refresh; None for never.
            index: what search reads of it: all strings (True), nothing (False), or those at some paths, such as
                `["title", "notes[*].text"]` (see `items.text`).
            expected_version: put it only if the item is of this version; 0 for "not there".

        Raises:
            InvalidInput: a value that is no JSON object, a `ttl` of 0 or less, a path that is none; nothing was written.
            Conflict: another version is there: `expected` and `actual` say which.

        The version before is kept in the history (`settings.item_history`).
        """
        change = ItemPut(key=key, value=own_value(value), ttl=ttl, index=index, expected_version=expected_version)
        (item,) = self.put_many((change,))
        assert item is not None, "what is put is there"
        return item

    def put_many(self, changes: Iterable[ItemPut]) -> list[Item | None]:
        """Several puts and removals in one transaction: all or none. Returns each item as it is then, in the order given; for
        one that is removed what it was, or None if it was not there.

        Of several changes of one key each follows from the one before.
        """
        now = self._engine.clock.now()
        made = [self._change(each, f"changes[{place}]", now) for place, each in enumerate(changes)]
        return steps.keep(self._engine, self._namespace, made)

    def _change(self, given: object, field: str, now: datetime) -> ItemChange:
        if not isinstance(given, ItemPut):
            raise InvalidInput(field, f"a {type(given).__name__}", "pass an ItemPut")
        paths = checked_paths(given.index)
        value = None if given.value is None else own_value(given.value)
        return ItemChange(
            namespace=check_namespace((*self._namespace, *checked_pattern(given.below, "below"))),
            key=check_id(given.key, "key"),
            at=now,
            id=new_id(now),
            value=value,
            text="" if value is None else text_of(value, paths),
            ttl=_ttl(given.ttl, now),
            expected_version=_whole(given.expected_version, "expected_version", "a version, 0 for not there"),
        )

    def get(self, key: str, *, refresh: bool = False) -> Item | None:
        """What a key holds; None if it is not there.

        Args:
            refresh: an item that expires lives on for its whole `ttl` from now. It is one write; without it, none.
        """
        return steps.find(self._engine, self._namespace, check_id(key, "key"), refresh=_flag(refresh, "refresh"))

    def search(
        self,
        query: str | None = None,
        *,
        where: Where | None = None,
        below: bool = False,
        limit: int = 10,
        offset: int = 0,
        threshold: float | None = None,
        refresh: bool = False,
    ) -> list[FoundItem]:
        """Items by words and meaning, best first; without a query all, the one put last first.

        Args:
            where: only those whose values this filter is true of: `{"color": "red", "size.height": {"gte": 3}}`. It holds
                before any limit; docs/items.md has the operators.
            below: also those of the namespaces below this one.
            limit, offset: so many of them, from that place on.
            threshold: a score from 0 to 1 below which nothing is an answer; the ranker's own if left out. With 0 all items
                pass: those that have no score come last, with 0.
            refresh: as for `get`, those that are returned.

        Cost: that of `recall` with a query. A list with a filter, or from a late place on, reads what it passes over.
        """
        if query is not None and not isinstance(query, str):
            raise InvalidInput("query", f"a {type(query).__name__}", "pass a string, or leave it out for a list")
        _flag(refresh, "refresh")
        wanted = steps.Wanted(
            where=item_filter(where),
            limit=_whole(limit, "limit", "how many items") or 0,
            offset=_whole(offset, "offset", "how many items to pass over") or 0,
            threshold=_share(threshold),
            refresh=refresh,
        )
        if query is None:
            return steps.listed(self._engine, self._scope(below), wanted)
        return steps.search(self._engine, self._scope(below), query, wanted)

    def count(self, *, where: Where | None = None, below: bool = False) -> int:
        """How many items there are; arguments as of `search`."""
        return steps.count(self._engine, self._scope(below), item_filter(where))

    def delete(self, *keys: str, expected_version: int | None = None) -> list[str]:
        """Remove items with their history. Returns those of the keys that were there, each once.

        Args:
            expected_version: as for `put`; with one key alone.

        Nothing finds them any more; their bytes may be in free pages of the file until something is forgotten.
        `memory.forget(record=item.id)` removes an item down to those.
        """
        if isinstance(expected_version, int) and len(keys) != 1:
            raise InvalidInput("expected_version", f"one for {len(keys)} keys", "it is of one item: delete one key")
        names = list(dict.fromkeys(keys))
        removed = self.put_many([ItemPut(key=key, value=None, expected_version=expected_version) for key in names])
        return [key for key, item in zip(names, removed, strict=True) if item is not None]

    def history(self, key: str) -> list[Item]:
        """The versions of an item, newest first: the first is the item as it is. [] if it is not there.

        Former ones that have expired themselves are left out.
        """
        return steps.history(self._engine, self._namespace, check_id(key, "key"))

    def list_namespaces(
        self,
        *,
        prefix: Sequence[str] = (),
        suffix: Sequence[str] = (),
        max_depth: int | None = None,
        limit: int = 100,
        offset: int = 0,
    ) -> list[Namespace]:
        """The namespaces at and below this one that have items, sorted, each as its segments below this one: () is this one,
        and `memory.scope(*segments)` opens another.

        Args:
            prefix, suffix: the first and last segments; "*" stands for any one.
            max_depth: cut each to so many segments; what is equal then is there once.
            limit, offset: so many of them, from that place on.
        """
        return listed_places(
            [found[len(self._namespace) :] for found in self._namespaces()],
            prefix=checked_pattern(prefix, "prefix"),
            suffix=checked_pattern(suffix, "suffix"),
            max_depth=_whole(max_depth, "max_depth", "how many segments"),
            limit=_whole(limit, "limit", "how many namespaces"),
            offset=_whole(offset, "offset", "how many to pass over") or 0,
        )

    def _namespaces(self) -> tuple[Namespace, ...]:
        return self._engine.store.item_namespaces(self._scope(True), self._engine.clock.now())

    def sweep(self) -> ForgetReceipt:
        """Erase what has expired in this namespace and below, down to the free pages of the file, as `Memory.forget` does.
        Returns the receipt; `record_ids` are the versions that went.

        Nobody has to call it for items to be gone: no verb finds them. It takes back their room, and their bytes.
        Cost: a look in an index where nothing has expired, else that of a forget.
        """
        return steps.sweep(self._engine, self._scope(True))

    def _scope(self, below: bool) -> Scope:
        return Scope(self._namespace, _flag(below, "below"))


def own_value(given: object) -> dict[str, Any]:
    """A value as JSON of its own, which nobody else can change.

    Raises:
        InvalidInput: it is no JSON object, or one of more than 10 MiB.
    """
    if not isinstance(given, Mapping):
        raise InvalidInput("value", f"a {type(given).__name__}", _VALUE)
    return plain_object(given, "value")


def _ttl(given: object, now: datetime) -> timedelta | None:
    if given is None:
        return None
    if not isinstance(given, timedelta):
        raise InvalidInput("ttl", f"a {type(given).__name__}", "pass a timedelta, such as timedelta(minutes=30)")
    if given <= timedelta():
        raise InvalidInput("ttl", "no time at all", "use more than 0, or None for no end; to remove the item: delete(key)")
    try:
        _ = now + given
    except OverflowError:
        raise InvalidInput("ttl", f"{given.days:,} days", "no date is that far away: use None for no end") from None
    return given


def _whole(given: object, field: str, what: str) -> int | None:
    if given is None:
        return None
    if isinstance(given, bool) or not isinstance(given, int):
        raise InvalidInput(field, f"a {type(given).__name__}", f"pass {what} as a whole number")
    if not 0 <= given < 2**31:
        raise InvalidInput(field, f"{given}", "use 0 or more" if given < 0 else "use less than 2,147,483,648")
    return given


def _share(given: object) -> float | None:
    if given is None:
        return None
    if isinstance(given, bool) or not isinstance(given, int | float) or not 0 <= given <= 1:
        raise InvalidInput("threshold", "no share", "use a number from 0 to 1, or leave it out")
    return float(given)


def _flag(given: object, field: str) -> bool:
    if not isinstance(given, bool):
        raise InvalidInput(field, f"a {type(given).__name__}", "pass True or False")
    return given
