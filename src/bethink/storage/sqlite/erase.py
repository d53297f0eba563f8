"""Taking deleted bytes out of the files.

`secure_delete` zeroes a deleted row where it stands. Three places remain, and each is cleaned after a forget has been
committed: segments of the full-text index, which keep deleted terms until they are merged (`_clean_lexicon`); copies of rows in
the free part of pages that SQLite has split or joined (`VACUUM` writes every page anew); and the write-ahead log (a checkpoint
that truncates it). The cost is that of writing the file twice over: seconds for 100 MB.

meta.erasures_due counts the forgets, meta.erasures_done those whose bytes are gone. If the process dies in between, or a reader
holds the log open for too long, the next forget, open or close does the work.
"""

from __future__ import annotations

import random
import time
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import timedelta

from bethink.errors import StoreBusy, StoreError
from bethink.storage.sqlite.driver import Database
from bethink.storage.sqlite.queries import q
from bethink.storage.sqlite.units import index_all

__all__ = ["erase", "is_due"]


def is_due(database: Database) -> bool:
    return _count(database, "erasures_due") > _count(database, "erasures_done")


def erase(database: Database, timeout: timedelta) -> bool:
    """Clean the files of what was deleted. False if that was not to be done within `timeout`: `check` reports it then."""
    deadline = time.monotonic() + timeout.total_seconds()
    try:
        due = _count(database, "erasures_due")
        if due <= _count(database, "erasures_done"):
            return True
        with _waiting_only_for_checkpoints(database):
            _clean_lexicon(database)
            database.execute("VACUUM")
            while not _truncated(database):
                if time.monotonic() >= deadline:
                    return False
                time.sleep(random.uniform(0.001, 0.02))  # noqa: S311 - no secret
            # Another process may have finished a later one meanwhile.
            database.execute(q.finish_erasures, (due,))
    except StoreError:
        return False
    return True


def _clean_lexicon(database: Database) -> None:
    """Merge the segments of the full-text index into one that names nothing that was deleted.

    A merge drops the marks of what was deleted, and with them terms that nothing else names, only where it knows that there
    are no older segments: not where all lie on one level below empty ones, as small segments come to. Once they are merged so,
    there is a single one, with which `optimize` does nothing. So a second one is made, of a row that comes and goes; since it
    is smaller, it stays on a level of its own, and the next merge is known to be the last. An index of a single page, than
    which nothing is smaller, is written anew.
    """
    database.execute(q.optimize_lexicon)
    with _in_transaction(database):
        small: bool = database.execute(q.count_lexicon_pages)[0][0] <= 1
        if small:
            database.execute(q.empty_lexicon)
            index_all(database)
        else:
            database.execute(q.pass_through_lexicon)
            database.execute(q.pass_out_of_lexicon)
    if not small:
        database.execute(q.optimize_lexicon)


@contextmanager
def _in_transaction(database: Database) -> Iterator[None]:
    database.execute("BEGIN IMMEDIATE")
    try:
        yield
    except BaseException:
        database.execute("ROLLBACK")
        raise
    database.execute("COMMIT")


@contextmanager
def _waiting_only_for_checkpoints(database: Database) -> Iterator[None]:
    """Without waiting for the disk at each commit: here only the checkpoint's order matters."""
    durability = database.execute("PRAGMA synchronous")[0][0]
    database.execute("PRAGMA synchronous = NORMAL")
    try:
        yield
    finally:
        database.execute(f"PRAGMA synchronous = {durability}")


def _count(database: Database, key: str) -> int:
    count: int = database.execute(q.meta, (key,))[0][0]
    return count


def _truncated(database: Database) -> bool:
    """Whether the log could be emptied: not while somebody reads what is in it."""
    try:
        refused: int = database.execute("PRAGMA wal_checkpoint(TRUNCATE)")[0][0]
    except StoreBusy:
        return False
    return not refused
