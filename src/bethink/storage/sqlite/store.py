"""`SqliteStore`: the verbs of the waist, each a transaction on one file.

reading: Readers.reading ─▶ transcripts.read, records.get, records.scan, search.search, check.check
writing: Writer.run      ─▶ threads.append, threads.fold, threads.refine, records.put, forget.forget ─▶ erase.erase
"""

from __future__ import annotations

import os
import threading
import weakref
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from datetime import datetime, timedelta
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

import msgspec

from bethink.checkpoints import Checkpoint
from bethink.errors import BethinkError, CorruptStore, InvalidInput, StoreError
from bethink.models import Fingerprint
from bethink.storage.base import (
    Acquire,
    Append,
    Appended,
    Fetched,
    Fold,
    Forget,
    ForgetReceipt,
    Found,
    Get,
    KeepItems,
    Lease,
    ListItems,
    Mark,
    Page,
    Problem,
    Prune,
    Put,
    Read,
    Refine,
    RefreshItems,
    Release,
    Rewrite,
    Rewritten,
    Save,
    Scan,
    Scope,
    Search,
    Space,
    Stats,
    StoredItem,
    Transcript,
    Verification,
)
from bethink.storage.sqlite import checkpoints, items, leases, marks, records, spaces, threads
from bethink.storage.sqlite import forget as forgetting
from bethink.storage.sqlite.check import check, check_lexicon
from bethink.storage.sqlite.connection import Durability, Options, Readers, open_connection
from bethink.storage.sqlite.driver import Database, Driver, choose
from bethink.storage.sqlite.erase import erase, is_due
from bethink.storage.sqlite.histories import Histories
from bethink.storage.sqlite.lexicon import Frequencies
from bethink.storage.sqlite.migrate import SCHEMA_VERSION, prepare, version_of
from bethink.storage.sqlite.past import speakers_by
from bethink.storage.sqlite.queries import q
from bethink.storage.sqlite.rewrite import rewrite
from bethink.storage.sqlite.search import search
from bethink.storage.sqlite.tail import Tails, Unsettled, has_tails, settle
from bethink.storage.sqlite.transcripts import Transcripts
from bethink.storage.sqlite.values import drop_kept, path_of, path_range
from bethink.storage.sqlite.verify import verify
from bethink.storage.sqlite.writer import Writer
from bethink.threads import ThreadInfo
from bethink.values import Namespace

if TYPE_CHECKING:
    from bethink.storage.sqlite.dense import Partitions

__all__ = ["SqliteStore"]


class SqliteStore:
    """A `Store` in one SQLite file, which is made if it is not there.

    Any number of threads may use one store, and any number of processes one file. After `os.fork` the child goes on with
    connections of its own.

    Args:
        path: the file. Beside it, SQLite keeps `<path>-wal` and `<path>-shm` while it is open.
        durability: "full" waits for the disk at every commit, so that a power failure loses nothing. "normal" leaves that to
            the operating system: a process that dies loses nothing, a machine that does may lose the last commits.
        busy_timeout: how long to wait for another process's write before StoreBusy.
        driver: "apsw" or "sqlite3"; apsw if it is there when nothing is said. Within one process a file must only be opened
            through one of them (POSIX locks do not keep two SQLite libraries of one process apart).

    Raises:
        SchemaError: the file was written by a newer version, or by another program.
        CorruptStore: the file is damaged, or is no SQLite database.
    """

    def __init__(
        self,
        path: str | os.PathLike[str],
        *,
        durability: Durability = "full",
        busy_timeout: timedelta = timedelta(seconds=30),
        driver: Driver | None = None,
    ) -> None:
        if durability not in ("full", "normal"):
            raise InvalidInput("durability", f"{durability!r}", 'use "full" or "normal"')
        # Absolute, so that a later change of directory changes nothing.
        self._options = Options(str(Path(path).absolute()), choose(driver), durability, busy_timeout)
        self._partitions: Partitions | None = None
        self._frequencies = Frequencies()
        self._tails = Tails()
        self._transcripts = Transcripts()
        self._histories = Histories()
        self._closed = False
        file = self._options.path
        database = open_connection(self._options, lambda database: version_of(database, file))
        try:
            prepare(database, file)
        except StoreError:
            database.close()
            raise
        self._engine = database.version
        self._connect(database)
        _stores.add(self)
        # A process that died within a forget left this to us.
        self._finish_erasure(timedelta(0))

    @property
    def path(self) -> Path:
        """The file."""
        return Path(self._options.path)

    def _connect(self, database: Database | None = None) -> None:
        self._first_search = threading.Lock()
        self._readers = Readers(self._options)
        self._writer = Writer(self._options, database)

    def _after_fork(self) -> None:
        """In the child: leave the parent's connections alone, and open others when they are needed."""
        _inherited.extend((*self._readers.abandoned(), *self._writer.abandoned()))
        self._partitions = None
        self._frequencies, self._tails = Frequencies(), Tails()
        self._transcripts = Transcripts()
        self._histories = Histories()
        if not self._closed:
            self._connect()

    # -- verbs ------------------------------------------------------------------------------------------------------------

    def append(self, request: Append, /) -> Appended:
        """See `storage.base.Append`. About 0.35 ms for one message at full durability; concurrent calls share commits."""
        batch = threads.batch_of(request)
        return self._writer.run(lambda database: threads.append(database, batch))

    def append_each(self, requests: Sequence[Append], /) -> list[Appended | BethinkError]:
        """See `storage.base.Store.append_each`."""
        batches = [threads.batch_of(request) for request in requests]
        return self._writer.run_each([partial(threads.append, batch=batch) for batch in batches])

    def read(self, request: Read, /) -> Transcript:
        """See `storage.base.Read`."""
        with self._readers.reading() as database:
            return self._transcripts.read(database, request)

    def get(self, request: Get, /) -> Fetched:
        """See `storage.base.Get`."""
        with self._readers.reading() as database:
            return records.get(database, request)

    def fold(self, request: Fold, /) -> ThreadInfo:
        """See `storage.base.Fold`."""
        return self._writer.run(lambda database: threads.fold(database, request))

    def refine(self, request: Refine, /) -> None:
        """See `storage.base.Refine`."""
        self._writer.run(lambda database: threads.refine(database, request))

    def mark(self, request: Mark, /) -> None:
        """See `storage.base.Mark`."""
        self._writer.run(lambda database: marks.mark(database, request))

    def acquire(self, request: Acquire, /) -> Lease:
        """See `storage.base.Acquire`. A new token waits for the disk as a message does; a renewal does not."""
        return self._writer.run(lambda database: leases.acquire(database, request), relaxed=request.token is not None)

    def release(self, request: Release, /) -> None:
        """See `storage.base.Release`."""
        self._writer.run(lambda database: leases.release(database, request.lease), relaxed=True)

    def put(self, request: Put, /) -> None:
        """See `storage.base.Put`."""
        self._writer.run(lambda database: records.put(database, request), relaxed=request.relaxed)

    def save(self, request: Save, /) -> Checkpoint:
        """See `storage.base.Save`."""
        given = checkpoints.saving(request)
        return self._writer.run(lambda database: checkpoints.save(database, given))

    def prune(self, request: Prune, /) -> tuple[str, ...]:
        """See `storage.base.Prune`."""
        return self._writer.run(lambda database: checkpoints.prune(database, request))

    def keep_items(self, request: KeepItems, /) -> tuple[StoredItem | None, ...]:
        """See `storage.base.KeepItems`. A commit, as an append is, and the full-text index of what is searched."""
        return self._writer.run(lambda database: items.keep_items(database, request))

    def refresh_items(self, request: RefreshItems, /) -> int:
        """See `storage.base.RefreshItems`."""
        return self._writer.run(lambda database: items.refresh_items(database, request), relaxed=True)

    def list_items(self, request: ListItems, /) -> tuple[StoredItem, ...]:
        """See `storage.base.ListItems`. With a filter or an offset it reads what it passes over."""
        with self._readers.reading() as database:
            return items.list_items(database, request)

    def count_items(self, request: ListItems, /) -> int:
        """See `storage.base.Store.count_items`."""
        with self._readers.reading() as database:
            return items.count_items(database, request)

    def item_namespaces(self, scope: Scope, at: datetime, /) -> tuple[Namespace, ...]:
        """See `storage.base.Store.item_namespaces`. A step in an index for each namespace of the scope."""
        with self._readers.reading() as database:
            return items.item_namespaces(database, scope, at)

    def has_expired(self, scope: Scope, at: datetime, /) -> bool:
        """See `storage.base.Store.has_expired`. Likewise."""
        with self._readers.reading() as database:
            return items.has_expired(database, scope, at)

    def search(self, request: Search, /) -> Found:
        """See `storage.base.Search`. The first search after many appends makes their index terms: some 0.07 ms a message."""
        with self._searching(request.scope) as (database, tail):
            return search(database, request, self._vectors, self._frequencies, tail)

    @contextmanager
    def _searching(self, scope: Scope) -> Iterator[tuple[Database, list[Unsettled]]]:
        """A connection within a read transaction, and the tails of the scope in it: short ones, if that can be had."""
        with self._readers.reading() as database:
            tail = self._tails.short(database, scope)
            if tail is not None:
                yield database, tail
                return
        try:
            self._settle(scope)
        except CorruptStore:
            raise
        except StoreError:
            # Who cannot write, or not now, finds as much by reading the tails.
            pass
        with self._readers.reading() as database:
            yield database, self._tails.of(database, scope)

    def _settle(self, scope: Scope) -> None:
        """Settle the tails of a scope, in transactions that leave others their turn."""
        while self._writer.run(lambda database: settle(database, scope)):
            pass

    def _settle_whole(self, scope: Scope) -> None:
        """Settle every tail of a scope: a message has no unit before. Who cannot must not be told that nothing waits."""
        with self._readers.reading() as database:
            tails = has_tails(database, scope)
        if tails:
            self._settle(scope)

    def revision(self, namespace: Namespace, /) -> int:
        """See `storage.base.Store.revision`."""
        with self._readers.reading() as database:
            number: int = database.execute(q.revision, (path_of(namespace),))[0][0]
            return number

    def speakers(self, scope: Scope, /, *, at: datetime | None = None) -> tuple[str, ...]:
        """See `storage.base.Store.speakers`. Costs a step in an index for each name in each namespace of the scope."""
        with self._searching(scope) as (database, tail):
            if at is not None:
                return speakers_by(database, scope, tail, at)
            names = {name for (name,) in database.execute(q.speakers, path_range(scope))}
            names.update([message.speaker for message in tail if message.speaker])
            return tuple(sorted(names))

    def forget(self, request: Forget, /) -> ForgetReceipt:
        """See `storage.base.Forget`. Rewrites the file, see `erase`."""
        receipt = self._writer.run(lambda database: forgetting.forget(database, request))
        if request.expired and not receipt.record_ids:
            return msgspec.structs.replace(receipt, erased=True)
        self._drop_kept()
        erased = self._writer.alone(lambda database: erase(database, self._options.timeout))
        return msgspec.structs.replace(receipt, erased=erased)

    def rewrite(self, request: Rewrite, /) -> Rewritten:
        """See `storage.base.Rewrite`. The last call rewrites the file if anything was changed, see `erase`."""
        if request.dry:
            with self._readers.reading() as database:
                return rewrite(database, request)
        done = self._writer.run(lambda database: rewrite(database, request))
        if done.changed:
            self._drop_kept()
        if done.next is not None:
            return done
        erased = self._writer.alone(lambda database: erase(database, self._options.timeout))
        return msgspec.structs.replace(done, erased=erased)

    def _drop_kept(self) -> None:
        """What was removed from the file is not to live on in what this process keeps of it."""
        self._frequencies.clear()
        self._tails.clear()
        self._transcripts.clear()
        self._histories.clear()
        if self._partitions is not None:
            self._partitions.clear()
        drop_kept()

    def _vectors(self) -> Partitions:
        # numpy takes longer to import than everything else here; who never searches by vector does not wait for it.
        from bethink.storage.sqlite.dense import Partitions

        with self._first_search:
            if self._partitions is None:
                self._partitions = Partitions()
            return self._partitions

    def scan(self, request: Scan, /) -> Page:
        """See `storage.base.Scan`."""
        if request.what == "pending":
            self._settle_whole(request.scope)
        with self._readers.reading() as database:
            if self._histories.serves(request):
                return self._histories.scan(database, request)
            return records.scan(database, request)

    def check(self) -> list[Problem]:
        """Everything inconsistent, of the whole database; empty when sound."""
        with self._readers.reading() as database:
            found = check(database)
        # The full-text index checks itself in a statement that counts as a write.
        return found + self._writer.run(check_lexicon)

    def verify(self, texts: tuple[str, ...], /) -> Verification:
        """Look for the words of `texts` in every byte of the database's files. What is still stored elsewhere is no hit."""
        with self._readers.reading() as database:
            return verify(database, self._options.path, texts)

    def stats(self, scope: Scope, /) -> Stats:
        """Counts of a scope, and facts of the whole database."""
        with self._searching(scope) as (database, tail):
            return self._stats(database, scope, len(tail))

    def _stats(self, database: Database, scope: Scope, unsettled: int) -> Stats:
        span = path_range(scope)
        thread_count, messages = database.execute(q.count_threads, span)[0]
        kinds = database.execute(q.count_records, span)
        current = spaces.in_use(database)[0]
        totals = database.execute(q.namespaces_in_scope, (current.number, *span))
        units = sum(row[2] for row in totals) + unsettled
        return Stats(
            namespaces=database.execute(q.count_namespaces, span)[0][0],
            threads=thread_count,
            messages=messages,
            nodes=database.execute(q.count_nodes, span)[0][0],
            records={kind: count for kind, count, _ in kinds},
            retired=sum(retired for _, _, retired in kinds),
            receipts=database.execute(q.count_receipts, span)[0][0],
            checkpoints=database.execute(q.count_checkpoints, span)[0][0],
            units=units,
            pending=units - sum(row[4] for row in totals),
            schema_version=SCHEMA_VERSION,
            embedder=current.fingerprint,
            size_bytes=sum(_size(f"{self._options.path}{suffix}") for suffix in ("", "-wal")),
            engine=self._engine,
            attempts=database.execute(q.count_attempts, span)[0][0],
        )

    def spaces(self) -> tuple[Space, ...]:
        """See `storage.base.Store.spaces`."""
        with self._readers.reading() as database:
            return spaces.spaces(database)

    def bind_embedder(self, fingerprint: Fingerprint) -> None:
        """See `storage.base.Store.bind_embedder`."""
        with self._readers.reading() as database:
            if spaces.embedder(database) == fingerprint:
                return
        self._writer.run(lambda database: spaces.bind(database, fingerprint))

    def fill_space(self, fingerprint: Fingerprint) -> None:
        """See `storage.base.Store.fill_space`."""
        self._writer.run(lambda database: spaces.fill(database, fingerprint))

    def switch_space(self, fingerprint: Fingerprint, *, waiting: int = 0) -> bool:
        """See `storage.base.Store.switch_space`. What is appended during the call waits afterwards."""
        self._settle_whole(Scope((), subtree=True))
        return self._writer.run(lambda database: spaces.switch(database, fingerprint, waiting))

    def sweep(self) -> bool:
        """See `storage.base.Store.sweep`. Does not wait for the disk: what comes back after a power cut is swept again."""
        with self._readers.reading() as database:
            if not database.execute(q.space_leaving):
                return False
        return self._writer.run(spaces.sweep, relaxed=True)

    def _finish_erasure(self, timeout: timedelta) -> None:
        with self._readers.reading() as database:
            due = is_due(database)
        if due:
            self._writer.alone(lambda database: erase(database, timeout))

    def close(self) -> None:
        """Release everything, after the writes that are under way. Closing twice is fine."""
        if self._closed:
            return
        with suppress(StoreError):
            self._finish_erasure(self._options.timeout)
        self._closed = True
        self._writer.close()
        self._readers.close()


def _size(path: str) -> int:
    try:
        return Path(path).stat().st_size
    except FileNotFoundError:
        return 0


# -- fork -----------------------------------------------------------------------------------------------------------------

_stores: weakref.WeakSet[SqliteStore] = weakref.WeakSet()

_inherited: list[Database] = []
"""Connections of the parent process. SQLite forbids a child to use or to close them, so they are kept here for good."""


def _after_fork() -> None:
    for store in list(_stores):
        store._after_fork()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_after_fork)
