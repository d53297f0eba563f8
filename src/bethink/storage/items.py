"""What a change makes of an item: one pure function, which every backend calls before it writes anything.

changes + what is there ─ planned ─▶ steps: remove a key, retire a version, add a version, trim the history
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from datetime import datetime
from typing import Any, NamedTuple

import msgspec

from bethink.errors import Conflict
from bethink.records import ItemVersion
from bethink.storage.base.items import ItemChange, StoredItem
from bethink.values import Namespace

__all__ = ["Step", "planned", "refreshed"]

replace = msgspec.structs.replace

REPLACED = "another version was put"


class Step(NamedTuple):
    """What one change does, in this order.

    Attributes:
        clear: remove every version of the key.
        former: write this over the version of its id, which is retired.
        item: add this version.
        answer: what `keep_items` returns for the change.
    """

    namespace: Namespace
    key: str
    clear: bool
    former: ItemVersion | None
    item: ItemVersion | None
    answer: StoredItem | None


def planned(
    changes: Iterable[ItemChange],
    there: Callable[[Namespace, str], ItemVersion | None],
    used: Callable[[Namespace, str], bool],
) -> list[Step]:
    """The steps of a `KeepItems`, each as the ones before it leave the item.

    Args:
        there: the current version of a key, expired or not.
        used: whether a namespace has a record of an id.

    Raises:
        Conflict: a version is not the one that was expected, or an id or number is taken.
    """
    held: dict[tuple[Namespace, str], ItemVersion | None] = {}
    ids: set[tuple[Namespace, str]] = set()
    steps = []
    for change in changes:
        place = change.namespace, change.key
        if place not in held:
            held[place] = there(*place)
        stored = held[place]
        found = stored if stored is not None and stored.alive(change.at) else None
        _expect(change, found)
        if change.value is None:
            removed = None if found is None else StoredItem(change.namespace, found)
            steps.append(Step(*place, stored is not None, None, None, removed))
            held[place] = None
            continue
        new = change.namespace, change.id
        if new in ids or used(*new):
            raise Conflict(f"record {change.id!r} is in this namespace already — a version needs a new id")
        ids.add(new)
        item = _version(change, change.value, found)
        former = None if found is None else replace(found, retired_at=item.recorded_at, reason=REPLACED)
        steps.append(Step(*place, found is None, former, item, StoredItem(change.namespace, item)))
        held[place] = item
    return steps


def _expect(change: ItemChange, found: ItemVersion | None) -> None:
    actual = 0 if found is None else found.version
    if change.expected_version not in (None, actual):
        raise Conflict(
            f"the item is of version {actual}, not {change.expected_version} (0: not there) — read it and try again",
            expected=change.expected_version,
            actual=actual,
        )
    if change.version is not None and change.version <= actual:
        raise Conflict(
            f"the item is of version {actual}, and {change.version} is not above it",
            expected=change.version - 1,
            actual=actual,
        )


def _version(change: ItemChange, value: dict[str, Any], found: ItemVersion | None) -> ItemVersion:
    put_at = change.put_at or change.at
    return ItemVersion(
        id=change.id,
        text=change.text,
        trust="assistant" if change.author else "user",
        recorded_at=put_at,
        key=change.key,
        value=value,
        created_at=found.created_at if found is not None else change.created_at or put_at,
        version=change.version or (1 if found is None else found.version + 1),
        ttl=change.ttl,
        expires_at=change.expires_at or (None if change.ttl is None else put_at + change.ttl),
        author=change.author,
    )


def refreshed(item: ItemVersion, at: datetime) -> ItemVersion | None:
    """The item as a refresh at that moment leaves it; None where there is nothing to do."""
    if item.ttl is None or not item.alive(at):
        return None
    return replace(item, expires_at=at + item.ttl)
