"""A SQLite store in a file, and a few messages in it."""

from __future__ import annotations

import warnings
from datetime import datetime, timezone
from pathlib import Path
from typing import Any

from bethink.messages import Message
from bethink.storage.base import Append, Read, Scope, Store
from bethink.storage.sqlite import SqliteStore
from bethink.storage.sqlite.driver import Driver
from bethink.storage.sqlite.queries import q
from bethink.storage.sqlite.values import path_range

__all__ = ["AT", "EVERYTHING", "NS", "add", "opened", "texts", "unsettled"]

AT = datetime(2026, 3, 1, 12, tzinfo=timezone.utc)
NS = ("acme", "ada")
EVERYTHING = Scope((), subtree=True)


def opened(path: Path, driver: Driver = "apsw", **options: Any) -> SqliteStore:
    """A store that does not wait for the disk and is quiet about the standard library's SQLite."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", RuntimeWarning)
        return SqliteStore(path, driver=driver, **{"durability": "normal", **options})


def add(store: Store, thread_id: str, *texts: str, namespace: tuple[str, ...] = NS, prefix: str = "m") -> None:
    """Append user messages whose ids are the prefix, the thread and their number."""
    messages = tuple(
        Message(role="user", content=text, id=f"{prefix}-{thread_id}-{number}", created_at=AT)
        for number, text in enumerate(texts)
    )
    store.append(Append(namespace=namespace, thread_id=thread_id, at=AT, messages=messages))


def unsettled(store: SqliteStore) -> int:
    with store._readers.reading() as database:
        return len(database.execute(q.tail_numbers, (*path_range(EVERYTHING), -1)))


def texts(store: Store, thread_id: str, namespace: tuple[str, ...] = NS) -> list[str]:
    return [message.text for message in store.read(Read(namespace=namespace, thread_id=thread_id)).messages]
