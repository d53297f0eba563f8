"""What a memory is opened with, made of what its user names: a store of a path, embedders of names."""

from __future__ import annotations

import os
from typing import Literal, cast

from bethink.errors import InvalidInput
from bethink.models import Embedder
from bethink.redaction import Redaction
from bethink.storage.base import Store

__all__ = ["embedder_of", "embedders_of", "open_store", "redacting"]


def open_store(path: str | os.PathLike[str], durability: Literal["full", "normal"]) -> Store:
    name = os.fspath(path)
    if name == ":memory:":
        from bethink.storage.reference import ReferenceStore

        return ReferenceStore()
    if "://" in name:
        raise InvalidInput("path", f"a {name.split('://', 1)[0]} address", "give the path of a SQLite file")
    from bethink.storage.sqlite import SqliteStore

    return SqliteStore(name, durability=durability)


def redacting(store: Store, redaction: Redaction | None) -> Store:
    if redaction is None:
        return store
    from bethink.storage.redacting import RedactingStore

    # What it does not change it passes on by name, which no checker sees.
    return cast("Store", RedactingStore(store, redaction))


def embedders_of(given: object) -> tuple[Embedder, ...]:
    several = given if isinstance(given, (list, tuple)) else (given,)
    return tuple([found for each in several if (found := embedder_of(each)) is not None])


def embedder_of(given: object) -> Embedder | None:
    from bethink.models.named import CHOICES, embedder_named

    if isinstance(given, str):
        return embedder_named(given)
    if given is not None and not callable(getattr(given, "embed", None)):
        fix = f"pass an Embedder, None, or one of: {CHOICES}; for a function: embedder_from(function, name=...)"
        raise InvalidInput("embedder", f"a {type(given).__name__} without `embed`", fix)
    return cast("Embedder | None", given)
