"""What users hold: `Memory`, a namespace of a database, and `Thread`, one conversation in it.

    memory = Memory("agent.db")
    mara = memory.user("mara")
    thread = mara.thread("trip")
    thread.add("user", "I moved to Ghent. I'm allergic to peanuts.")
    prompt = thread.context("book me a dinner", budget=800).to_openai()

Every method is one step of the way of a message, or one look at what is kept; what a step does is in `engine`. All calls are
synchronous and thread-safe; `AsyncMemory` has the same methods for use on an event loop.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from datetime import datetime, timedelta
from pathlib import Path
from types import TracebackType
from typing import TYPE_CHECKING, Any, Literal, TypeAlias

import msgspec
from typing_extensions import Self

from bethink.checkpoints import Checkpoint, CheckpointInfo
from bethink.compaction.policies import Hybrid, Policy
from bethink.errors import InvalidInput, NotFound
from bethink.formats import from_any
from bethink.ids import new_id
from bethink.messages import Message, Part, Role, Tier, ToolCall, made
from bethink.models import Clock, Embedder, SystemClock, TokenCounter
from bethink.records import AnyRecord, Importance, Insight, Note, RecordKind, Summary
from bethink.retrieval.recall import Searchable
from bethink.settings import Settings
from bethink.steps.append import append, append_request
from bethink.steps.checkpoint import checkpoints, fork_at_checkpoint, prune, resume, save, save_request
from bethink.steps.context import build_context
from bethink.steps.derive import derive
from bethink.steps.export import export
from bethink.steps.import_file import ImportReport, import_file
from bethink.steps.recall import embed_pending, recall_from, reembed
from bethink.steps.reflect import reflect
from bethink.steps.replay import replay
from bethink.storage.base import (
    Append,
    Appended,
    Cite,
    Forget,
    ForgetReceipt,
    Get,
    Problem,
    Put,
    Read,
    Save,
    Scan,
    Scope,
    Stats,
    Store,
    Verification,
)
from bethink.threads import ForkPoint, ThreadInfo
from bethink.turns import Turn
from bethink.values import Namespace, check_id, check_json, check_namespace, check_text, utc

if TYPE_CHECKING:
    from bethink.context import Context
    from bethink.engine import Engine
    from bethink.retrieval.rank import Hit, Ranker, RecallResult

__all__ = ["Given", "Memory", "Profile", "ProfileEntry", "Thread"]

Given: TypeAlias = "Message | Mapping[str, Any]"
"""A message as a caller may give it: a `Message`, an OpenAI chat dict, or an OpenAI Responses item."""


class ProfileEntry(msgspec.Struct, frozen=True):
    """An insight of a profile, and its retention score now."""

    insight: Insight
    score: float


class Profile(msgspec.Struct, frozen=True):
    """The current insights about one subject, best kept first; at most `settings.profile_size` of them."""

    subject: str
    entries: tuple[ProfileEntry, ...]

    def __iter__(self) -> Iterator[Insight]:
        return iter([entry.insight for entry in self.entries])

    def __len__(self) -> int:
        return len(self.entries)


class Memory:
    """Memory of one namespace and what is below it.

    Args:
        path: a SQLite file, made if it is not there; ":memory:" keeps everything in this process and forgets it on close.
        namespace: whose memory. Its first segment is the tenant.
        settings: budgets, triggers, sizes (see `Settings`).
        embedder: "auto" takes the default embedder if its extra is installed, and none otherwise; None searches words alone.
        counter: counts tokens; the built-in one errs upwards for every model.
        clock: tells the time.
        ranker: parameters of the ranking.
        policy: what of a thread stays in view (see `compaction.policies`), unless the thread or the call names another.
        durability: "full" survives a power cut with every acknowledged write; "normal" survives a crash of the process.
        store: an open store, instead of `path`.

    Raises:
        SchemaError, CorruptStore: the file is of a newer version, of somebody else, or damaged.
    """

    def __init__(
        self,
        path: str | os.PathLike[str] = ":memory:",
        *,
        namespace: Sequence[str] = ("default",),
        settings: Settings | None = None,
        embedder: Embedder | Literal["auto"] | None = "auto",
        counter: TokenCounter | None = None,
        clock: Clock | None = None,
        ranker: Ranker | None = None,
        policy: Policy | None = None,
        durability: Literal["full", "normal"] = "full",
        store: Store | None = None,
    ) -> None:
        from bethink.engine import Engine
        from bethink.models.tokens import BuiltinCounter
        from bethink.retrieval.rank import Ranker

        self._namespace = check_namespace(namespace)
        self._policy = _policy(policy, Hybrid())
        self._engine: Engine = Engine(
            store if store is not None else _open_store(path, durability),
            clock=clock or SystemClock(),
            counter=counter or BuiltinCounter(),
            embedder=_default_embedder() if embedder == "auto" else embedder,
            settings=settings or Settings(),
            ranker=ranker or Ranker(),
        )

    @classmethod
    def _of(cls, engine: Engine, namespace: Namespace, policy: Policy) -> Memory:
        memory = cls.__new__(cls)
        memory._namespace = namespace
        memory._engine = engine
        memory._policy = policy
        return memory

    def __repr__(self) -> str:
        return f"Memory(namespace={self._namespace!r})"

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None) -> None:
        self.close()

    # -- namespaces and threads -------------------------------------------------------------------------------------------

    @property
    def namespace(self) -> Namespace:
        """Whose memory this is."""
        return self._namespace

    def scope(self, *segments: str) -> Memory:
        """The memory of a namespace below this one, on the same database. Nothing is written."""
        return Memory._of(self._engine, check_namespace((*self._namespace, *segments)), self._policy)

    def user(self, user_id: str) -> Memory:
        """The memory of one user: `scope(user_id)`."""
        return self.scope(user_id)

    def thread(self, thread_id: str | None = None, *, policy: Policy | None = None) -> Thread:
        """A conversation of this namespace; without an id, a new one. Nothing is written before the first message.

        Args:
            policy: what of it stays in view through this handle, if not as the memory says.
        """
        name = new_id(self._engine.clock.now()) if thread_id is None else check_id(thread_id, "thread_id")
        return Thread(self, name, _policy(policy, self._policy))

    def threads(self, *, below: bool = False) -> list[ThreadInfo]:
        """The threads of this namespace, oldest first; with `below`, also of the namespaces below it."""
        pages = self._engine.pages(Scan(what="threads", scope=Scope(self._namespace, below)))
        return [item for item in pages if isinstance(item, ThreadInfo)]

    # -- long-term memory -------------------------------------------------------------------------------------------------

    def store(
        self,
        text: str,
        metadata: Mapping[str, Any] | None = None,
        *,
        importance: Importance = "medium",
        pinned: bool = False,
        at: datetime | None = None,
    ) -> Note:
        """Keep a text. Returns the note, searchable from now on; `pinned` puts it into every context.

        Args:
            metadata: JSON of your own, given back with it.
            at: when it is true in the world, if not from now on; aware.
        """
        check_text(text, "text")
        if not text.strip():
            raise InvalidInput("text", "empty", "there is nothing to keep")
        check_json(dict(metadata or {}), "metadata")
        if importance not in ("high", "medium", "low"):
            raise InvalidInput("importance", f"{importance!r}", "use high, medium or low")
        now = self._engine.clock.now()
        note = Note(
            id=new_id(now),
            text=text,
            trust="user",
            recorded_at=now,
            valid_from=None if at is None else utc(at, "at"),
            importance=importance,
            pinned=pinned,
            metadata=dict(metadata or {}),
        )
        self._engine.keep(self._namespace, note)
        return note

    def recall(
        self,
        query: str,
        k: int | None = None,
        *,
        kinds: Sequence[Searchable] | None = None,
        below: bool = False,
    ) -> RecallResult:
        """The best answers to a query among messages, notes, insights and session summaries; possibly none.

        Args:
            k: at most this many (`settings.recall_limit` if left out).
            kinds: only these sorts of things.
            below: also search the namespaces below this one.

        Cost: units that wait for their vector are embedded first, at most `settings.embed_at_recall` of them; `pending` of
        the result says how many still wait (they are ranked by their words alone).
        """
        check_text(query, "query")
        derive(self._engine, self._namespace)
        return recall_from(
            self._engine, Scope(self._namespace, below), query, k=k, kinds=None if kinds is None else tuple(kinds)
        )

    def retrieve(self, query: str, k: int = 5) -> list[Hit]:
        """`recall` as a plain list: the k best answers, or fewer, or none."""
        return list(self.recall(query, k))

    def profile(self, subject: str = "user") -> Profile:
        """What is currently known about somebody: `"user"`, or a speaker's or third person's name.

        Insights are first drawn from messages that none have been drawn from yet.
        """
        from bethink.insights.retention import select_profile

        derive(self._engine, self._namespace)
        known = [
            insight for insight in self._engine.insights(self._namespace, current=True) if insight.subject == subject.casefold()
        ]
        chosen = select_profile(known, now=self._engine.clock.now(), settings=self._engine.settings)
        return Profile(subject.casefold(), tuple(ProfileEntry(insight, score) for insight, score in chosen))

    def records(self, kind: RecordKind | None = None, *, current: bool = True, below: bool = False) -> list[AnyRecord]:
        """Long-term records, oldest first; with `current=False` also those that were superseded or archived."""
        derive(self._engine, self._namespace)
        found = self._engine.records(Scope(self._namespace, below), kinds=None if kind is None else (kind,), current=current)
        return [stored.record for stored in found]

    def cite(self, *record_ids: str) -> list[AnyRecord]:
        """Count a use of records: it strengthens them. Takes ids, or the short marks that a context shows (`[mem:...]`).

        Raises:
            NotFound: no such record here, or a mark that fits several.
        """
        now = self._engine.clock.now()
        ids = [self._record_id(given) for given in record_ids]
        self._engine.store.put(Put(namespace=self._namespace, cite=tuple(Cite(found, now) for found in ids)))
        fetched = self._engine.store.get(Get(scope=Scope(self._namespace), records=tuple(ids)))
        by_id = {stored.record.id: stored.record for stored in fetched.records}
        return [by_id[found] for found in ids]

    def _record_id(self, given: str) -> str:
        mark = check_id(given, "record id").removeprefix("[").removesuffix("]").removeprefix("mem:")
        if len(mark) >= 32:
            return mark
        found = [
            stored.record.id
            for stored in self._engine.records(Scope(self._namespace), current=False)
            if stored.record.id.endswith(mark)
        ]
        if len(found) != 1:
            raise NotFound(f"{len(found) or 'no'} records here end in {mark!r} — give the whole id")
        return found[0]

    # -- looking back and forgetting --------------------------------------------------------------------------------------

    def replay(self, receipt_id: str) -> Context:
        """The context that was given under this receipt, the same bytes.

        Raises:
            NotFound: no such receipt here.
            Forgotten: something it shows has been forgotten since.
        """
        return replay(self._engine, self._namespace, check_id(receipt_id, "receipt id"))

    def forget(
        self,
        *,
        message: str | None = None,
        record: str | None = None,
        thread: str | None = None,
        namespace: Sequence[str] | None = None,
    ) -> ForgetReceipt:
        """Remove one thing and everything that rests on it, down to the free pages of the file. Name exactly one.

        Args:
            message: a message id; the messages of its tool call and result go with it, in every fork.
            record: a record id or its short mark. The messages it came from stay, and are not drawn from again.
            thread: a thread id of this namespace. Messages that a fork, or the thread it was forked from, holds too stay there.
            namespace: a whole namespace, this one or one below it, with all below.

        Raises:
            NotFound: nothing of that name here; nothing was removed.
            InvalidInput: not exactly one was named.
        """
        named = [
            name
            for name, value in (("message", message), ("record", record), ("thread", thread), ("namespace", namespace))
            if value is not None
        ]
        if len(named) != 1:
            raise InvalidInput("forget", f"{len(named)} things named", "name one of message, record, thread, namespace")
        scope = Scope(self._namespace)
        if namespace is not None:
            wanted = check_namespace(namespace)
            if wanted[: len(self._namespace)] != self._namespace:
                raise InvalidInput(
                    "namespace", "not this memory's namespace or one below it", "open the memory of that namespace"
                )
            scope = Scope(wanted, subtree=True)
        return self._engine.forget(
            Forget(
                scope=scope,
                at=self._engine.clock.now(),
                message_id=None if message is None else check_id(message, "message"),
                record_id=None if record is None else self._record_id(record),
                thread_id=None if thread is None else check_id(thread, "thread"),
            )
        )

    def verify(self, *texts: str) -> Verification:
        """Look for words in every byte of the database's files: after a forget, the proof that they are gone.

        A piece of a text that something else still says is no hit; a whole text that something still says is one.
        """
        for index, text in enumerate(texts):
            check_text(text, f"texts[{index}]")
        if not any(text.strip() for text in texts):
            raise InvalidInput("texts", "nothing to look for", "give the words that must be gone")
        return self._engine.store.verify(texts)

    # -- the database -----------------------------------------------------------------------------------------------------

    def check(self) -> list[Problem]:
        """Everything inconsistent in the whole database; empty when it is sound."""
        return self._engine.store.check()

    def stats(self) -> Stats:
        """Counts of this namespace and all below it, and facts of the database."""
        return self._engine.store.stats(Scope(self._namespace, subtree=True))

    def flush(self, *, progress: Callable[[int], None] | None = None) -> int:
        """Embed everything in this namespace and below that waits for its vector; returns how many."""
        return embed_pending(self._engine, Scope(self._namespace, subtree=True), progress=progress)

    def reembed(self, *, progress: Callable[[int], None] | None = None) -> int:
        """Take another embedding model: drop all vectors of the database, and make those of this namespace and below.

        Returns how many were made. Those of other namespaces are made when they are next recalled from or flushed; until then
        words alone find what they hold.
        """
        return reembed(self._engine, self._namespace, progress=progress)

    def export(self) -> Iterator[bytes]:
        """Everything of this namespace and below, as JSON lines that `import_file` reads (format "jsonl")."""
        return export(self._engine, Scope(self._namespace, subtree=True))

    def import_file(
        self,
        path: str | os.PathLike[str],
        *,
        format: str | None = None,  # noqa: A002 - the word that the command line and the documentation use
        on_error: Literal["stop", "skip"] = "stop",
        end: bool = False,
        progress: Callable[[int], None] | None = None,
    ) -> ImportReport:
        """Import conversations from a file into this namespace. Doing it again, or after an interruption, adds only what is
        missing.

        Args:
            format: openai, responses, chatgpt, claude, langchain, locomo or jsonl; found out when left out.
            on_error: stop at the first item that cannot be taken (what came before it stays), or leave it out and report it.
            end: end each conversation: its summary is made and the profile brought up to date.
            progress: called with a number of messages each time that many are stored.
        """
        return import_file(
            self._engine, self._namespace, Path(path), format=format, on_error=on_error, end=end, progress=progress
        )

    def close(self) -> None:
        """Close the database, for every view of it. Closing twice is fine."""
        self._engine.store.close()


class Thread:
    """One conversation. A handle: making it reads and writes nothing."""

    def __init__(self, memory: Memory, thread_id: str, policy: Policy) -> None:
        self._memory = memory
        self._policy = policy
        self._engine = memory._engine
        self._id = thread_id

    def __repr__(self) -> str:
        return f"Thread({self._id!r}, namespace={self.namespace!r})"

    @property
    def id(self) -> str:
        """Unique within the namespace."""
        return self._id

    @property
    def namespace(self) -> Namespace:
        return self._memory.namespace

    def add(
        self,
        role: Role,
        content: str | Sequence[Part] | None = None,
        *,
        id: str = "",  # noqa: A002 - the field's name on the message
        name: str | None = None,
        tool_calls: Sequence[ToolCall] = (),
        tool_call_id: str | None = None,
        created_at: datetime | None = None,
        metadata: Mapping[str, Any] | None = None,
        tier: Tier = "working",
        external: bool = False,
    ) -> Message:
        """Append one message; returns it as stored. See `Message` for the fields and `append` for the rules."""
        message = made(
            role,
            content,
            id=id,
            name=name,
            tool_calls=tool_calls,
            tool_call_id=tool_call_id,
            created_at=created_at,
            metadata=metadata,
            tier=tier,
            external=external,
        )
        return self.append([message]).messages[0]

    def append(self, messages: Iterable[Given], *, expected_tip: int | None = None) -> Appended:
        """Append messages, all or none, in this order and next to each other.

        A message whose id is there already is not added again (a retry); its stored form is returned in its place. What a
        dict says at the moment of the call is what is stored.

        Raises:
            InvalidMessage: one of them cannot be taken (unknown role, a tool result without its call, ...).
            Conflict: the thread's tip is not `expected_tip`, or an id is there with other content.
        """
        return self._engine.store.append(self._append_request(messages, expected_tip))

    def _append_request(self, messages: Iterable[Given], expected_tip: int | None) -> Append:
        given = [from_any(message, field=f"messages[{index}]") for index, message in enumerate(messages)]
        return append_request(self._engine, self.namespace, self._id, given, expected_tip=expected_tip)

    def turn(self, *, timeout: timedelta = timedelta(seconds=90), lease: timedelta = timedelta(seconds=60)) -> Turn:
        """A turn of this thread, for `with`: among all who take turns, in whatever process, one at a time has it.

        Begin it before reading what an answer is made of, so that nobody answers the same message twice. A thread that is not
        there yet is made when the turn begins. See `turns` for what holds when it runs out.

        Args:
            timeout: how long to wait for it, up to a day; 0 asks once. By default longer than a lease, so that whoever waits
                for one that died gets his turn.
            lease: how long it may take, up to a day, before others may have theirs; `Turn.renew` makes it longer. One that
                dies in its turn holds up the others for no longer than this.

        Raises:
            ThreadBusy: when it begins: another had it all the time. `until` says when that ends at the latest.
        """
        return Turn(self._engine, self.namespace, self._id, timeout=timeout, lease=lease)

    def messages(self, limit: int | None = None, *, before: int | None = None) -> list[Message]:
        """The newest `limit` messages (all if left out), oldest first; with `before`, those below that seq. [] if there is
        no such thread.
        """
        if limit is not None and limit < 0:
            raise InvalidInput("limit", f"{limit}", "use 0 or more, or leave it out for all")
        try:
            found = self._engine.store.read(Read(namespace=self.namespace, thread_id=self._id, limit=limit, before=before))
        except NotFound:
            return []
        return list(found.messages)

    def info(self) -> ThreadInfo:
        """Its tip, counts and cursors.

        Raises:
            NotFound: it has no message yet, or was forgotten.
        """
        return self._engine.store.read(Read(namespace=self.namespace, thread_id=self._id, limit=0)).thread

    def context(self, query: str | None = None, *, budget: int | None = None, policy: Policy | None = None) -> Context:
        """What the model should see now, never more than `budget` tokens (`settings.window` if left out).

        Folds the oldest messages first when the policy says so (by default when they pass `settings.compaction_trigger` of the
        budget), and stores a receipt that `Memory.replay` rebuilds the same context from.

        Args:
            query: what to recall for; the newest user message if left out.
            policy: what stays in view this time, if not as the thread or the memory says.

        Raises:
            BudgetError: what must be in it (pinned messages and notes, the newest user message) does not fit, or the budget is
                below 1.
        """
        if query is not None:
            check_text(query, "query")
        return build_context(self._engine, self.namespace, self._id, query, budget, _policy(policy, self._policy))

    def end(self) -> Summary | None:
        """End the session: write its summary, draw its insights, bring the profile up to date.

        Returns the summary, or None where there is nothing to sum up. Calling it again without new messages changes nothing;
        a thread may go on after it.

        Raises:
            NotFound: there is no such thread.
        """
        return reflect(self._engine, self.namespace, self._id)

    def checkpoint(
        self,
        state: object,
        *,
        label: str = "",
        view: Mapping[str, Any] | None = None,
        metadata: Mapping[str, Any] | None = None,
        format: str = "json",  # noqa: A002 - the field's name on the checkpoint
        parent: str | None = None,
        id: str = "",  # noqa: A002 - likewise
    ) -> Checkpoint:
        """Save an agent's state at the tip of this thread, to `resume` from or to `fork` at. Returns it as stored.

        Args:
            state: any JSON value, or bytes, which come back as they are; at most 10 MiB.
            label: a name for people.
            view: JSON of what the state holds, for looking at.
            metadata: JSON of your own.
            format: what the bytes are, such as `"msgpack"`.
            parent: the checkpoint that this one followed from; the newest of the thread if left out.
            id: an id of your own: saving the same again under it is a retry, and writes nothing twice.

        Raises:
            InvalidInput: the state cannot be taken, or the parent is no checkpoint of this thread.
            Conflict: the id is there with another state.
        """
        return save(
            self._engine,
            self._save_request(
                state, label=label, view=view, metadata=metadata, format=format, parent=parent, checkpoint_id=id
            ),
        )

    def _save_request(self, state: object, **options: Any) -> Save:
        return save_request(self._engine, self.namespace, self._id, state, **options)

    def checkpoints(self, limit: int | None = None) -> list[CheckpointInfo]:
        """The newest `limit` checkpoints (all if left out), newest first, without their states. [] if there are none."""
        return checkpoints(self._engine, self.namespace, self._id, limit)

    def resume(self, checkpoint_id: str | None = None) -> Checkpoint:
        """A checkpoint of this thread with its state; the newest if none is named.

        Raises:
            NotFound: the thread has none, or that one is another thread's.
            CorruptStore: it is damaged; others can still be read.
        """
        return resume(self._engine, self.namespace, self._id, checkpoint_id)

    def prune(self, *checkpoint_ids: str, keep: int | None = None) -> list[str]:
        """Remove checkpoints: those named, or all but the `keep` newest. Returns the ids of those removed, oldest first.

        What stays is linked to the nearest of its line that stays. Messages are not touched.

        Raises:
            NotFound: no such thread, or no such checkpoint in it; nothing was removed.
        """
        return prune(self._engine, self.namespace, self._id, checkpoint_ids, keep)

    def fork(self, at: int | str | None = None, *, thread_id: str | None = None) -> Thread:
        """A new thread that starts as this one was at `at` (as it is, if left out) and goes its own way.

        Args:
            at: a seq: the messages up to it, and the checkpoints at or below it. Or the id of a checkpoint: the messages up to
                its seq, that checkpoint and those it comes from; the fork resumes from it.

        Raises:
            InvalidInput: `at` lies beyond the tip or between a tool call and its result.
            NotFound: `at` is no checkpoint of this thread.
            Conflict: there is a thread of that id already.
        """
        if at is None:
            at = self.info().tip
        fork = self._memory.thread(thread_id, policy=self._policy)
        if isinstance(at, str):
            fork_at_checkpoint(self._engine, self.namespace, self._id, at, fork.id)
            return fork
        append(self._engine, self.namespace, fork.id, (), fork_of=ForkPoint(self._id, at))
        return fork

    def delete(self) -> ForgetReceipt:
        """Forget the thread and everything that rests on it alone: `memory.forget(thread=...)`."""
        return self._memory.forget(thread=self._id)


def _policy(given: Policy | None, otherwise: Policy) -> Policy:
    if given is None:
        return otherwise
    if not isinstance(given, Policy):
        raise InvalidInput("policy", f"a {type(given).__name__}", "give a policy, such as SlidingWindow(20)")
    return given


def _open_store(path: str | os.PathLike[str], durability: Literal["full", "normal"]) -> Store:
    name = os.fspath(path)
    if name == ":memory:":
        from bethink.storage.reference import ReferenceStore

        return ReferenceStore()
    if "://" in name:
        raise InvalidInput("path", f"a {name.split('://', 1)[0]} address", "give the path of a SQLite file")
    from bethink.storage.sqlite import SqliteStore

    return SqliteStore(name, durability=durability)


def _default_embedder() -> Embedder | None:
    from bethink.models.minilm import MiniLM

    return MiniLM() if MiniLM.available() else None
