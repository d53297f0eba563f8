"""Step 5: the waist. Everything above is values; everything below is a database.

A store has few verbs. Each takes one frozen request record and is one transaction: all of it happens or none, and what a verb
returned has been committed. Options are added as fields with defaults, so a backend never breaks on a new one.

    append   messages into a thread (or a fork of another)        put      records, citations, cursors, receipts, vectors
    read     the newest messages of a thread, its summary nodes   search   candidates for a query, with their statistics
    get      things by id                                         forget   things and all that rests on them
    fold     summary nodes over a span of a thread                scan     everything, page by page
    save     a checkpoint of a thread                             prune    checkpoints that are no longer wanted
    acquire  a turn of a thread, for a while                      release  give it back
    check    list what is inconsistent                            revision, speakers, stats, bind_embedder, close

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
from typing import Any, Literal, Protocol, TypeAlias

import msgspec

from bethink.checkpoints import Checkpoint, CheckpointInfo
from bethink.errors import BethinkError
from bethink.messages import Message, Trust
from bethink.models import Fingerprint
from bethink.records import AnyRecord, Node, Receipt, RecordKind
from bethink.threads import ForkPoint, ThreadInfo
from bethink.values import Namespace

__all__ = [
    "Acquire",
    "Append",
    "Appended",
    "Candidate",
    "Cite",
    "Cursor",
    "Fetched",
    "Fold",
    "Forget",
    "ForgetReceipt",
    "Found",
    "Get",
    "Lease",
    "Page",
    "Pending",
    "Problem",
    "Prune",
    "Put",
    "Read",
    "Release",
    "Retire",
    "Save",
    "Scan",
    "Scope",
    "Search",
    "Stats",
    "Store",
    "StoredMessage",
    "StoredRecord",
    "Transcript",
    "Verification",
    "What",
]


class Scope(msgspec.Struct, frozen=True):
    """One namespace, or with `subtree` it and all below it."""

    namespace: Namespace
    subtree: bool = False


# -- threads --------------------------------------------------------------------------------------------------------------


class Append(msgspec.Struct, frozen=True, kw_only=True):
    """Messages for the end of a thread, which is made if it is not there.

    Contract:
        - all messages or none; the order given is kept, contiguous: no other writer's message comes between.
        - a message whose id is in the thread already, and says the same (`messages.same_message`), is left out: a retry
          writes nothing twice. One that says something else raises Conflict. An id twice within the batch likewise.
        - `expected_tip`: raises Conflict(expected, actual) unless the thread's tip equals it; 0 means "no message yet".
          A batch that is entirely a retry succeeds whatever the tip.
        - seq and group come from `threads.place`; its InvalidMessage leaves the thread untouched.
        - `fork_of`: the thread must not exist yet (Conflict); it starts as a copy of the parent's messages up to that seq,
          with the same ids and seqs, its nodes that lie within, and its cursors cut down to it. NotFound if the parent is not
          there; InvalidInput if seq is beyond its tip or would cut a group in two (a call without its result).
          Its checkpoints at or below that seq are copied too, under the same ids; the parent of a copy is the nearest before it
          that was copied.
        - `checkpoint_id`: with `fork_of`; of the checkpoints, only that one and those it comes from are copied, so that it is
          the newest of the fork. NotFound if the parent has none of that id; InvalidInput if its seq is not that of `fork_of`.
        - `lease`: raises Conflict unless it is the thread's current one (see `Acquire`), or the batch is entirely a retry. A
          lease that has run out stays current until somebody takes the next: what is refused is whoever was overtaken.
        - without a `lease`, those of others are not looked at: they bind who uses them. (Looking would cost each append one
          page more; and a late tool result or an import must not be held up by somebody's turn.)
        - an empty batch makes the thread if needed, and changes nothing else.

    Attributes:
        messages: each with an id and a created_at.
        fresh: the ids were made for this call (`ids.new_id`), so none of them can be in the thread: it need not be looked for.
        metadata: for the thread, if it is made by this call.
        at: system time of the call.
    """

    namespace: Namespace
    thread_id: str
    at: datetime
    messages: tuple[Message, ...] = ()
    fresh: bool = False
    expected_tip: int | None = None
    fork_of: ForkPoint | None = None
    checkpoint_id: str | None = None
    metadata: dict[str, object] = msgspec.field(default_factory=dict)
    lease: Lease | None = None


class Appended(msgspec.Struct, frozen=True):
    """The batch as stored, in the order given: new messages with their place, retried ones as they already were.

    `added` counts the new ones; `tip` is the thread's tip after the call.
    """

    messages: tuple[Message, ...]
    added: int
    tip: int


class Read(msgspec.Struct, frozen=True, kw_only=True):
    """Messages of a thread.

    Contract:
        - `limit`: the newest that many, returned oldest first; None for all; 0 for none.
        - `before` / `after`: only seqs below / above (exclusive); the limit counts from the newest within.
        - `whole_groups`: also the members of the returned messages' groups that lie outside, so no result is without its
          call and no answered call without its result. The result may then exceed the limit.
        - `pinned`: also every system and developer message of the thread, and every one of tier "permanent" (with
          `whole_groups`, and their groups).
        - `nodes`: also the thread's summary nodes that are no child of another, ordered by first_seq.
        - raises NotFound if there is no such thread.
    """

    namespace: Namespace
    thread_id: str
    limit: int | None = None
    before: int | None = None
    after: int | None = None
    whole_groups: bool = False
    pinned: bool = False
    nodes: bool = False


class Transcript(msgspec.Struct, frozen=True):
    """What `read` found, of one moment: messages by seq, nodes by first_seq."""

    thread: ThreadInfo
    messages: tuple[Message, ...]
    nodes: tuple[Node, ...] = ()


class Fold(msgspec.Struct, frozen=True, kw_only=True):
    """Summary nodes for a thread.

    Contract:
        - one transaction: the nodes are in, `folded_through` is `through`, and the children named are children.
        - `expected_through`: raises Conflict unless the thread's `folded_through` equals it: of two who fold the same span,
          one wins, and the other finds its work done.
        - a node whose covered messages are not all there (forgotten meanwhile) raises Conflict; NotFound if the thread is gone.
        - no message is changed or removed.
    """

    namespace: Namespace
    thread_id: str
    nodes: tuple[Node, ...]
    through: int
    expected_through: int


# -- checkpoints ----------------------------------------------------------------------------------------------------------


class Save(msgspec.Struct, frozen=True, kw_only=True):
    """A checkpoint for a thread. What is returned is the checkpoint as stored.

    Contract:
        - NotFound unless the thread is there.
        - an id that the thread has already, with the same state, format, label, view and metadata, is a retry: nothing is
          written, and the stored checkpoint is returned, wherever it stands. With anything else it raises Conflict.
        - `parent_id`: InvalidInput unless the thread has a checkpoint of that id. Left out, it is the newest checkpoint of the
          thread, if there is one; None says that it follows from none.
        - `seq`: the thread's tip at that moment if it is left out; InvalidInput unless it is from 0 to the tip. It may lie
          between a tool call and its result, where an agent may well stop; a fork cannot.
        - the state comes back byte for byte. One whose bytes are not what was saved raises CorruptStore when it is read.
    """

    namespace: Namespace
    thread_id: str
    id: str
    at: datetime
    state: bytes
    format: str
    label: str = ""
    view: dict[str, Any] = msgspec.field(default_factory=dict)
    metadata: dict[str, Any] = msgspec.field(default_factory=dict)
    parent_id: str | msgspec.UnsetType | None = msgspec.UNSET
    seq: int | None = None


class Prune(msgspec.Struct, frozen=True, kw_only=True):
    """Remove checkpoints of a thread: all but the `keep` newest, or those of some ids. Their ids are returned, oldest first.

    Contract:
        - name one of `keep` and `ids`, else InvalidInput. NotFound if the thread is not there, or has none of one of the ids.
        - a checkpoint that stays while its parent goes gets the nearest before it that stays as its parent, or none.
        - other threads keep their copies.
        - their bytes may be in free pages of the file until something is forgotten.
    """

    namespace: Namespace
    thread_id: str
    keep: int | None = None
    ids: tuple[str, ...] = ()


# -- turns ----------------------------------------------------------------------------------------------------------------


class Lease(msgspec.Struct, frozen=True, kw_only=True):
    """The turn of one holder to write to a thread, until it ends or is given back.

    Attributes:
        token: the fencing number. It grows with each lease of the thread and never comes back while the thread is there, also
            not after a crash: whoever meets a greater one has been overtaken.
        holder: the id of who has it, of the caller's making; a fresh one for each turn, so that nobody takes another's for his.
        expires_at: when it ends by itself.
    """

    namespace: Namespace
    thread_id: str
    token: int
    holder: str
    expires_at: datetime


class Acquire(msgspec.Struct, frozen=True, kw_only=True):
    """A lease of a thread, or more time for one.

    Contract:
        - NotFound if there is no such thread.
        - nobody has it, or it has ended (`expires_at` is `at` or earlier): granted, with the next token; the first is 1.
        - the same holder has it: renewed until `until`, which may be earlier or later than before; the token stays.
        - another holder has it: raises ThreadBusy, which says until when.
        - with `token`, it is a renewal and nothing else: Conflict unless the current lease has this token and holder. It may
          have run out, if nobody has taken the next.
        - nothing of the thread changes. Time is what `at` says; the store has no clock. Holders on several machines need clocks
          that agree to well within a lease.
        - a new token has been committed as durably as a message before the call returns; a renewal need not wait for the disk
          (see `Put.relaxed`): a machine that loses it has lost its holder too.

    A fork starts without a lease; with a forgotten thread its lease goes, and with that the turn of whoever had it.
    """

    namespace: Namespace
    thread_id: str
    holder: str
    at: datetime
    until: datetime
    token: int | None = None


class Release(msgspec.Struct, frozen=True):
    """Give a lease back.

    Contract:
        - if it is the thread's current one, nobody has it from now on, and an append with it is refused; else nothing changes.
        - it need not wait for the disk: one that is lost ends by itself.
    """

    lease: Lease


# -- records --------------------------------------------------------------------------------------------------------------


class Retire(msgspec.Struct, frozen=True):
    """Close a record: it stops being current and stays in history. Retiring a retired one changes nothing."""

    record_id: str
    at: datetime
    reason: str
    superseded_by: str | None = None
    valid_to: datetime | None = None


class Cite(msgspec.Struct, frozen=True):
    """A use of a record: access_count + 1 and last_accessed = max(last_accessed, at), atomically under concurrency."""

    record_id: str
    at: datetime


class Cursor(msgspec.Struct, frozen=True):
    """Move a thread's cursor from what it was; Conflict, and nothing of the request, if it is elsewhere by now.

    That is what makes derivation exactly-once: the result of reading messages up to `through` is stored with the move.
    """

    thread_id: str
    which: Literal["extracted", "reflected"]
    expected: int
    through: int


class Put(msgspec.Struct, frozen=True, kw_only=True):
    """Long-term records and what goes with them, in one transaction.

    Contract, in the order in which it is applied:
        - `cursor` first: a Conflict leaves everything untouched.
        - `records`: a new id is inserted; a known id gains the sources it lacks (same message and thread: once) and, if it
          was retired, becomes current again (retired_at, superseded_by, reason and valid_to are cleared); its text,
          trust and counters stay. A source names a message that must be there, else NotFound.
        - `retire`, `cite`: an unknown id raises NotFound.
        - `receipt`: stored; a known id raises Conflict.
        - `vectors`: unit numbers from a `Pending` page, each with its float32 vector of the bound embedder's dimension
          (InvalidInput otherwise); a unit forgotten meanwhile is passed over.
        - `relaxed`: the call need not wait for the disk. Should the machine fail, the whole of it may be gone, until something
          that is not relaxed has been committed after it; the process may fail at any time.
    """

    namespace: Namespace
    records: tuple[AnyRecord, ...] = ()
    retire: tuple[Retire, ...] = ()
    cite: tuple[Cite, ...] = ()
    cursor: Cursor | None = None
    receipt: Receipt | None = None
    vectors: tuple[tuple[int, bytes], ...] = ()
    relaxed: bool = False


class Get(msgspec.Struct, frozen=True, kw_only=True):
    """Things by id within a scope. Unknown ids are simply absent from the answer.

    Attributes:
        thread_id: of checkpoints: only this thread's.
    """

    scope: Scope
    messages: tuple[str, ...] = ()
    records: tuple[str, ...] = ()
    nodes: tuple[str, ...] = ()
    receipts: tuple[str, ...] = ()
    checkpoints: tuple[str, ...] = ()
    thread_id: str | None = None


class StoredMessage(msgspec.Struct, frozen=True):
    """A message with where it is."""

    namespace: Namespace
    thread_id: str
    message: Message


class StoredRecord(msgspec.Struct, frozen=True):
    """A record with where it is."""

    namespace: Namespace
    record: AnyRecord


class Fetched(msgspec.Struct, frozen=True):
    """Answer of `get`. A message or checkpoint id that several threads hold (forks) is there once for each."""

    messages: tuple[StoredMessage, ...] = ()
    records: tuple[StoredRecord, ...] = ()
    nodes: tuple[Node, ...] = ()
    receipts: tuple[Receipt, ...] = ()
    checkpoints: tuple[Checkpoint, ...] = ()


# -- search ---------------------------------------------------------------------------------------------------------------


class Search(msgspec.Struct, frozen=True, kw_only=True):
    """Candidates for a query; ranking them is `retrieval.rank`, the same for every backend.

    Contract:
        - lexical leg: of the units in scope that hold any of `terms`, the `limit` best by the backend's own BM25. A backend may
          pass over units that hold only the commonest of `terms`, where the frequencies of all come to more than 300 and to
          more than four times `limit`, and `kinds` names all.
        - dense leg: of the units in scope that have a vector, the `limit` nearest to `vector` by cosine. Left out when
          `vector` is None.
        - filters (`scope`, `kinds`, `current`) hold inside each leg, before any limit.
        - the union of both is returned, each candidate with everything ranking needs; order is unspecified.
        - retired records are left out unless `current` is False.
    """

    scope: Scope
    terms: tuple[str, ...] = ()
    vector: bytes | None = None
    kinds: tuple[Literal["message", "note", "insight", "summary"], ...] = ("message", "note", "insight", "summary")
    limit: int = 200
    current: bool = True


class Candidate(msgspec.Struct, frozen=True, kw_only=True):
    """A unit that may answer the query.

    Attributes:
        counts: how often each query term occurs in it (absent: not at all).
        length: how many terms it has in all.
        cosine: similarity to the query's vector, -1 to 1; None if it has no vector (yet) or none was asked for.
    """

    kind: Literal["message"] | RecordKind
    id: str
    namespace: Namespace
    thread_id: str | None
    seq: int
    text: str
    speaker: str
    trust: Trust
    at: datetime
    counts: dict[str, int]
    length: int
    cosine: float | None = None


class Found(msgspec.Struct, frozen=True, kw_only=True):
    """Answer of `search`: candidates, and statistics of the units in scope.

    Attributes:
        units: how many there are.
        mean_length: their mean number of terms.
        frequency: for each query term, in how many of them it occurs (absent: none).
        pending: how many still wait for their vector.
    """

    candidates: tuple[Candidate, ...]
    units: int
    mean_length: float
    frequency: dict[str, int]
    pending: int


# -- forgetting -----------------------------------------------------------------------------------------------------------


class Forget(msgspec.Struct, frozen=True, kw_only=True):
    """Remove something and everything that rests on it. Name exactly one of message, record, thread; or none, for the scope.

    Contract:
        - a message goes from every thread of the scope that holds it (forks), with the other members of its group: half a
          tool call is no use to anybody.
        - with a message go: its units (full text, vector), the summary lines that cite it (a node or summary left without
          lines goes if nothing it covers is left), itself as a source of records, and every receipt that shows it or anything
          removed or changed with it.
        - a record left without a source goes too; one that keeps a source takes that source's wording. What a removed
          record had superseded becomes current again, unless another record of the same subject and slot is.
        - a record: it, its unit, and receipts that show it. The messages it came from stay.
        - a thread: itself, its nodes, its receipts, its session summaries, and its messages. A message that another thread of
          the namespace holds too (a fork, or the thread it was forked from; the same id, and the same in all but its place)
          stays there, and so does what rests on it: a record's source that named the forgotten thread then names the thread
          that still holds the message, of several the one created first.
        - with a message go the checkpoints of its threads that are at or after its seq: what an agent knew by then may hold its
          words. Those that stay are linked as after `Prune`. With a thread go its checkpoints; forks keep their copies. With a
          record go none.
        - the scope: everything in it, and the namespaces themselves.
        - afterwards the deleted bytes are in no page of the files (free pages and write-ahead log included); only then does
          the call return.
        - NotFound if what is named is not there; forgetting a scope that holds nothing returns a receipt of zeros.
    """

    scope: Scope
    at: datetime
    message_id: str | None = None
    record_id: str | None = None
    thread_id: str | None = None


class ForgetReceipt(msgspec.Struct, frozen=True, kw_only=True):
    """What a forget removed. It holds counts and hashes, never the words.

    Attributes:
        message_ids, record_ids, thread_ids: what went (the ids are not secret and help an audit); of a forgotten thread's
            messages those that no other thread holds.
        lines, units, receipts, checkpoints: how many summary lines, search units, context receipts, and checkpoints went.
        changed: records that stay, with other wording or fewer sources.
        revived: records that became current again.
        erased: whether free pages and log have been cleaned of the bytes (False only if a reader held the log open for
            longer than the timeout; `check` reports it, and the next forget, open or close finishes it).
    """

    id: str
    at: datetime
    scope: Scope
    message_ids: tuple[str, ...] = ()
    record_ids: tuple[str, ...] = ()
    thread_ids: tuple[str, ...] = ()
    changed: tuple[str, ...] = ()
    revived: tuple[str, ...] = ()
    lines: int = 0
    units: int = 0
    receipts: int = 0
    checkpoints: int = 0
    erased: bool = True


class Verification(msgspec.Struct, frozen=True, kw_only=True):
    """Result of looking for a text in the raw bytes of the database.

    Attributes:
        needles: how many byte strings were looked for (pieces of the text in every encoding it may be stored in).
        files: the files read, each with its size.
        hits: where a piece was found, `(file, offset, piece)`; empty if it is nowhere.
    """

    needles: int
    files: tuple[tuple[str, int], ...]
    hits: tuple[tuple[str, int, str], ...]

    @property
    def clean(self) -> bool:
        return not self.hits


# -- scanning -------------------------------------------------------------------------------------------------------------

What: TypeAlias = Literal["threads", "messages", "records", "receipts", "pending", "checkpoints"]


class Scan(msgspec.Struct, frozen=True, kw_only=True):
    """A page of everything of one sort in a scope.

    Contract: pass `Page.next` as `after` until it is None; each item that is there throughout comes exactly once, whatever is
    written meanwhile. Order: threads by creation, messages by thread and seq, records, receipts and checkpoints by insertion,
    pending units by number; `newest` reverses it. Checkpoints come without their states.

    Attributes:
        thread_id: only of this thread (messages, receipts, summaries, checkpoints).
        kinds, current: for records; `current=True` leaves out the retired.
        pinned: for records: only pinned ones.
        behind: for threads: only those with messages past their "extracted" cursor.
    """

    what: What
    scope: Scope
    after: str | None = None
    limit: int = 500
    newest: bool = False
    thread_id: str | None = None
    kinds: tuple[RecordKind, ...] | None = None
    current: bool = False
    pinned: bool = False
    behind: bool = False


class Pending(msgspec.Struct, frozen=True):
    """A unit that waits for its vector: its number and the text to embed."""

    unit: int
    text: str


class Page(msgspec.Struct, frozen=True):
    """Items of the sort asked for, and where to go on; `next` is None at the end."""

    items: tuple[ThreadInfo | StoredMessage | StoredRecord | Receipt | Pending | CheckpointInfo, ...]
    next: str | None = None


class Problem(msgspec.Struct, frozen=True):
    """An inconsistency that `check` found: what it is, where, and how to mend it."""

    what: str
    where: str
    fix: str = ""


class Stats(msgspec.Struct, frozen=True, kw_only=True):
    """Counts of a scope, and facts of the whole database."""

    namespaces: int
    threads: int
    messages: int
    nodes: int
    records: dict[str, int]
    retired: int
    receipts: int
    checkpoints: int
    units: int
    pending: int
    schema_version: int
    embedder: Fingerprint | None
    size_bytes: int
    engine: str


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

    def acquire(self, request: Acquire, /) -> Lease: ...

    def release(self, request: Release, /) -> None: ...

    def put(self, request: Put, /) -> None: ...

    def save(self, request: Save, /) -> Checkpoint: ...

    def prune(self, request: Prune, /) -> tuple[str, ...]: ...

    def search(self, request: Search, /) -> Found: ...

    def forget(self, request: Forget, /) -> ForgetReceipt: ...

    def scan(self, request: Scan, /) -> Page: ...

    def revision(self, namespace: Namespace, /) -> int:
        """A number that grows with every change of the records of this namespace (put, retire, cite, sources, forget).

        Equal numbers mean equal records. It may grow without a change, and never falls, also when the namespace is forgotten
        and used again. Cheap: one row.
        """
        ...

    def speakers(self, scope: Scope, /) -> tuple[str, ...]:
        """The names (`Message.name`) under which messages of the scope that search can find were said, sorted, each once.

        The name of a tool is none. With the last message of a name the name is gone. Cheap: the messages are not read.
        """
        ...

    def check(self) -> list[Problem]:
        """Everything inconsistent, of the whole database; empty when sound. Reads every row once: about 1 s per 100,000."""
        ...

    def verify(self, texts: tuple[str, ...], /) -> Verification:
        """Look for the words of `texts` in every byte of the database's files. Reads them whole."""
        ...

    def stats(self, scope: Scope, /) -> Stats: ...

    def bind_embedder(self, fingerprint: Fingerprint, *, replace: bool = False) -> None:
        """Say whose vectors this database holds. The first call decides.

        Raises:
            EmbedderMismatch: another's are in it. With `replace` those are dropped and every unit is pending again.
        """
        ...

    def close(self) -> None:
        """Release everything. Closing twice is fine; any other call afterwards raises StoreClosed."""
        ...
