"""Step 5: the waist. Everything above is values; everything below is a database.

A store has few verbs. Each takes one frozen request record and is one transaction: all of it happens or none, and what a verb
returned has been committed. Options are added as fields with defaults, so a backend never breaks on a new one.

    append   messages into a thread (or a fork of another)        put      records, citations, cursors, receipts, vectors
    read     the newest messages of a thread, its summary nodes   search   candidates for a query, with their statistics
    get      things by id                                         forget   things and all that rests on them
    fold     summary nodes over a span of a thread                scan     everything, page by page
    refine   a model's summary in the place of another            prune    checkpoints that are no longer wanted
    mark     tiers and scores beside messages                     release  give back a turn
    save     a checkpoint of a thread                             check    list what is inconsistent
    acquire  a turn of a thread, for a while                      rewrite  what is stored, in other words: redacted
    revision, speakers, stats, close
    keep_items, refresh_items, list_items, count_items, item_namespaces, has_expired: JSON under keys
    bind_embedder, fill_space, switch_space, sweep, spaces: whose vectors there are

What holds for every verb (`bethink.testing.StoreContract` states each sentence as a test):

- **Namespaces.** A request names one namespace and touches no other. Where `subtree=True`, also those whose leading whole
  segments equal it: ("a",) covers ("a", "b") and never ("ab",). Comparison is exact: case, `_`, `%` and `-` are letters
  like any other. The condition is part of the query itself, never a filter after a limit.
- **Threads.** `thread_id` is unique within its namespace; the same id in two namespaces is two threads.
- **Order.** Messages are ordered by `seq`, given inside the transaction; time plays no part.
- **Opening never writes** user data, and reading never does; an index may be brought up to date by either.
- **Errors** are those of `bethink.errors`; a driver's own error never escapes, it is the `__cause__`.
- A store may be used from many threads at once, and by many processes on one database; it survives `os.fork`.

Arguments have been checked by the caller (`bethink.values`, `messages.checked`): a store need not repeat it.

The words of a message or record become index terms by `derive.terms_of`, so that every backend tokenises alike. When a store
makes them is its own affair, but what was committed is found by the next search.
"""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime
from typing import Protocol

from bethink.checkpoints import Checkpoint
from bethink.errors import BethinkError
from bethink.models import Fingerprint
from bethink.storage.base.asking import Ask, Asked, AskedStep
from bethink.storage.base.checkpoints import Prune, Save
from bethink.storage.base.filters import And, Compare, Contains, Exists, Filter, In, Not, Or, fields_of, passes
from bethink.storage.base.forgetting import Forget, ForgetReceipt, Verification
from bethink.storage.base.items import ItemChange, KeepItems, ListItems, RefreshItems, StoredItem
from bethink.storage.base.marks import Mark
from bethink.storage.base.past import Change, ForgottenCount, Past, Restore, StoredVersion, Version, restored, version_of
from bethink.storage.base.records import (
    Cite,
    Cursor,
    Fetched,
    Get,
    Pin,
    Put,
    Retire,
    StoredMessage,
    StoredRecord,
    TokenVectors,
    Weigh,
)
from bethink.storage.base.rewriting import Rewrite, Rewritten, rewritten
from bethink.storage.base.scanning import Due, Page, Pending, Problem, Scan, Scanned, Stats, What
from bethink.storage.base.scope import Scope
from bethink.storage.base.search import Candidate, Found, InView, Search
from bethink.storage.base.spaces import Space
from bethink.storage.base.summaries import Attempt, FailureReason, Refine
from bethink.storage.base.threads import Append, Appended, Fold, Read, Transcript
from bethink.storage.base.turns import Acquire, Lease, Purpose, Release
from bethink.threads import ThreadInfo
from bethink.values import Namespace

__all__ = [
    "Acquire",
    "And",
    "Append",
    "Appended",
    "Ask",
    "Asked",
    "AskedStep",
    "Attempt",
    "Candidate",
    "Change",
    "Cite",
    "Compare",
    "Contains",
    "Cursor",
    "Due",
    "Exists",
    "FailureReason",
    "Fetched",
    "Filter",
    "Fold",
    "Forget",
    "ForgetReceipt",
    "ForgottenCount",
    "Found",
    "Get",
    "In",
    "InView",
    "ItemChange",
    "KeepItems",
    "Lease",
    "ListItems",
    "Mark",
    "Not",
    "Or",
    "Page",
    "Past",
    "Pending",
    "Pin",
    "Problem",
    "Prune",
    "Purpose",
    "Put",
    "Read",
    "Refine",
    "RefreshItems",
    "Release",
    "Restore",
    "Retire",
    "Rewrite",
    "Rewritten",
    "Save",
    "Scan",
    "Scanned",
    "Scope",
    "Search",
    "Space",
    "Stats",
    "Store",
    "StoredItem",
    "StoredMessage",
    "StoredRecord",
    "StoredVersion",
    "TokenVectors",
    "Transcript",
    "Verification",
    "Version",
    "Weigh",
    "What",
    "fields_of",
    "passes",
    "restored",
    "rewritten",
    "version_of",
]


class Store(Protocol):
    """The waist. See the module's head and the request records for the contract."""

    def append(self, request: Append, /) -> Appended: ...

    def append_each(self, requests: Sequence[Append], /) -> list[Appended | BethinkError]:
        """Several appends that are nothing to each other, in order, for the price of one: each is done or refused by itself.

        Returns the outcome of each in its place; an error is what `append` would have raised.
        """
        ...

    def read(self, request: Read, /) -> Transcript: ...

    def get(self, request: Get, /) -> Fetched: ...

    def fold(self, request: Fold, /) -> ThreadInfo: ...

    def refine(self, request: Refine, /) -> None: ...

    def mark(self, request: Mark, /) -> None: ...

    def acquire(self, request: Acquire, /) -> Lease: ...

    def release(self, request: Release, /) -> None: ...

    def put(self, request: Put, /) -> None: ...

    def save(self, request: Save, /) -> Checkpoint: ...

    def prune(self, request: Prune, /) -> tuple[str, ...]: ...

    def keep_items(self, request: KeepItems, /) -> tuple[StoredItem | None, ...]: ...

    def refresh_items(self, request: RefreshItems, /) -> int: ...

    def list_items(self, request: ListItems, /) -> tuple[StoredItem, ...]: ...

    def count_items(self, request: ListItems, /) -> int:
        """How many `list_items` finds, whatever its limit and offset."""
        ...

    def item_namespaces(self, scope: Scope, at: datetime, /) -> tuple[Namespace, ...]:
        """The namespaces of the scope that have an item which has not expired by `at`, sorted."""
        ...

    def has_expired(self, scope: Scope, at: datetime, /) -> bool:
        """Whether the scope has versions of items that have expired by `at` and have not been removed."""
        ...

    def search(self, request: Search, /) -> Found: ...

    def forget(self, request: Forget, /) -> ForgetReceipt: ...

    def rewrite(self, request: Rewrite, /) -> Rewritten: ...

    def scan(self, request: Scan, /) -> Page: ...

    def revision(self, namespace: Namespace, /) -> int:
        """A number that grows with every change of the records of this namespace (put, retire, cite, sources, forget), items
        aside.

        Equal numbers mean equal records. It may grow without a change, and never falls, also when the namespace is forgotten
        and used again. Cheap: one row.
        """
        ...

    def speakers(self, scope: Scope, /, *, at: datetime | None = None) -> tuple[str, ...]:
        """The names (`Message.name`) under which messages of the scope that search can find were said, sorted, each once; with
        `at`, of those that were stored by then.

        The name of a tool is none. With the last message of a name the name is gone. Cheap: the messages are not read. With
        `at`, every message of the scope that has a name is looked at.
        """
        ...

    def check(self) -> list[Problem]:
        """Everything inconsistent, of the whole database; empty when sound. Reads every row once: about 1 s per 100,000."""
        ...

    def verify(self, texts: tuple[str, ...], /) -> Verification:
        """Look for the words of `texts` in every byte of the database's files. Reads them whole."""
        ...

    def stats(self, scope: Scope, /) -> Stats: ...

    def spaces(self) -> tuple[Space, ...]:
        """The vector spaces of the database: the current one, then the one that is being filled if there is one. None at all
        before an embedder is bound. Reads a row for each namespace."""
        ...

    def bind_embedder(self, fingerprint: Fingerprint) -> None:
        """Say whose vectors the current space holds. The first call decides.

        Raises:
            EmbedderMismatch: it is another's.
        """
        ...

    def fill_space(self, fingerprint: Fingerprint) -> None:
        """Begin a space that is to become the current one. Every unit waits in it; the current one is as it was.

        Of the same embedder again: goes on with it as it is. Of another: what was begun before is given up, all of it. Of the
        current space's own: what was begun is given up, and that is all. Where no embedder is bound, this one is bound.
        """
        ...

    def switch_space(self, fingerprint: Fingerprint, *, waiting: int = 0) -> bool:
        """Make the space that is being filled the current one, if no more than `waiting` units wait in it; those wait on.
        Whether it is the current one now.

        From then on the vectors of the one before are neither found nor taken; `sweep` removes them.

        Raises:
            EmbedderMismatch: it is neither being filled nor current.
        """
        ...

    def sweep(self) -> bool:
        """Remove some vectors of spaces that were given up or replaced, in a transaction that leaves others their turn. Whether
        there are more."""
        ...

    def close(self) -> None:
        """Release everything. Closing twice is fine; any other call afterwards raises StoreClosed."""
        ...
