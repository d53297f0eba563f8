"""The default backend: everything in one SQLite file, for any number of threads and processes."""

from __future__ import annotations

from bethink.storage.sqlite.store import SqliteStore

__all__ = ["SqliteStore"]
