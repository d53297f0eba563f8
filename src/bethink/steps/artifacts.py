"""Artifacts: stored as items, opened by reference where the caller may read."""

from __future__ import annotations

from bethink.claims import ArtifactRef
from bethink.engine import Engine
from bethink.errors import CorruptStore, NotFound
from bethink.ids import new_id
from bethink.items.text import checked_paths, text_of
from bethink.records import ItemVersion
from bethink.sharing.artifacts import CONTENT, OpenArtifact, artifact_of, held, is_artifact, ref_of
from bethink.steps.items import find, keep
from bethink.storage.base import Get, ItemChange, Scan, Scope, StoredRecord
from bethink.values import Namespace

__all__ = ["open_artifact", "store_artifact"]

_WHOLE = 32
"""Characters: so long is no short mark."""


def store_artifact(engine: Engine, namespace: Namespace, key: str, content: object) -> ArtifactRef:
    """Store the next version of an artifact; what is stored already, word for word, is not stored again."""
    now = engine.clock.now()
    value = held(content)
    item = find(engine, namespace, key, refresh=False)
    if item is None or item.value != value:
        text = text_of(value, checked_paths([CONTENT]))
        change = ItemChange(namespace=namespace, key=key, at=now, id=new_id(now), value=value, text=text)
        (item,) = keep(engine, namespace, [change])
    assert item is not None, "what is put is there"
    return ref_of(item)


def open_artifact(engine: Engine, namespace: Namespace, name: str, ref: ArtifactRef | None) -> OpenArtifact:
    """The artifact of a reference, or of an id or the end of one, among what may be read.

    Raises:
        PermissionDenied: it is where this view may not read.
        NotFound: it is not there, or no longer.
        CorruptStore: what is there is not what the reference says.
    """
    found = _found(engine, namespace, name, ref)
    if len(found) != 1 or not is_artifact(found[0][1]) or not found[0][1].alive(engine.clock.now()):
        raise NotFound("no artifact of that reference here — it was removed, or its history is shorter (settings.item_history)")
    opened = artifact_of(*found[0])
    if ref is not None and opened.ref.digest != ref.digest:
        raise CorruptStore(f"artifact {opened.ref}: what is stored is not what its reference says — run check()")
    return opened


def _found(engine: Engine, namespace: Namespace, name: str, ref: ArtifactRef | None) -> list[tuple[Namespace, ItemVersion]]:
    if ref is not None:
        # A view may name a place outside its namespace, and its store says whether it may read there.
        if engine.rights is None and ref.namespace[: len(namespace)] != namespace:
            return []
        return _versions(engine.store.get(Get(scope=Scope(ref.namespace), records=(name,))).records)
    scopes = engine.readable(Scope(namespace, subtree=True))
    if len(name) >= _WHOLE:
        return [each for scope in scopes for each in _versions(engine.store.get(Get(scope=scope, records=(name,))).records)]
    found: list[tuple[Namespace, ItemVersion]] = []
    for scope in scopes:
        pages = engine.pages(Scan(what="records", scope=scope, kinds=("item",), current=False))
        found += _versions([each for each in pages if isinstance(each, StoredRecord) and each.record.id.endswith(name)])
    return found


def _versions(stored: tuple[StoredRecord, ...] | list[StoredRecord]) -> list[tuple[Namespace, ItemVersion]]:
    return [(each.namespace, each.record) for each in stored if isinstance(each.record, ItemVersion)]
