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
from collections.abc import Callable, Iterable, Iterator, Sequence
from datetime import datetime, timedelta
from pathlib import Path
from types import TracebackType
from typing import TYPE_CHECKING, Literal

from typing_extensions import Self

from bethink.compaction.policies import Hybrid, Policy
from bethink.errors import InvalidInput
from bethink.insights.domains.given import GivenTemplate, template_from
from bethink.insights.domains.template import applied
from bethink.limits import NO_LIMITS, Budget, Limits
from bethink.long_term import LongTerm
from bethink.models import Clock, Embedder, SystemClock, TokenCounter
from bethink.opening import embedder_of, embedders_of, open_store, redacting
from bethink.redaction import Redaction
from bethink.retrieval.filters import Where, filter_of
from bethink.retrieval.grouping import Unit
from bethink.retrieval.recall import Searchable
from bethink.settings import ModelStepName, Settings
from bethink.steps import past
from bethink.steps.answer import Wanted, at_times
from bethink.steps.export import export
from bethink.steps.import_file import ImportReport, import_file
from bethink.steps.recall import embed_pending, recall_from, reembed
from bethink.steps.redact import RedactReport, redact
from bethink.steps.reflect import Reflection, catch_up, due_threads, reflect_due, reflect_pending
from bethink.steps.replay import replay
from bethink.steps.usage import usage_of
from bethink.storage.base import (
    Forget,
    ForgetReceipt,
    Problem,
    Scan,
    Scope,
    Stats,
    Store,
    Verification,
)
from bethink.telemetry import Listener, Telemetry
from bethink.thread import Thread, limits_within, policy_or
from bethink.threads import ThreadInfo
from bethink.usage import UsageReport
from bethink.values import Namespace, check_id, check_namespace, check_text

if TYPE_CHECKING:
    from bethink.context import Context
    from bethink.engine import Engine
    from bethink.models.language import AsyncLanguageModel, GivenModel, LanguageModel
    from bethink.retrieval.hits import Hit, RecallResult
    from bethink.retrieval.ranker import Ranker
    from bethink.retrieval.why import Why, WhyNot
    from bethink.steps.plan import RefinePlan
    from bethink.steps.refine import RefineReport

__all__ = ["Memory"]


class Memory(LongTerm):
    """Memory of one namespace and what is below it.

    Args:
        path: a SQLite file, made if it is not there; ":memory:" keeps everything in this process and forgets it on close.
        namespace: whose memory. Its first segment is the tenant.
        settings: budgets, triggers, sizes (see `Settings`).
        embedder: makes the vectors that are searched by meaning: an `Embedder`, or a name such as "minilm" or "openai:MODEL"
            (see `models.named`). "auto" takes the default one if its extra is installed, and none otherwise; None searches
            words alone. Of a list of several the one is used whose vectors the database holds, now and after a change of the
            model (`reembed`); a new database takes the first.
        counter: counts tokens, for every model. By default as `for_model` says, or the built-in one, which errs upwards.
        for_model: the name of the model that reads the contexts, such as "gpt-4o": its frames, images and tools are counted as
            its provider does, and its text exactly where its vocabulary is public and installed (extra "tokens").
        clock: tells the time.
        ranker: parameters of the ranking.
        language_model: asked where a step is better for one (see `models.language`): a `LanguageModel`, a function from text to
            text, or a name such as "openai:MODEL" or "ollama:MODEL" (`models.named`). None does without. By default it writes
            better summaries in the background (`settings.refine`).
        policy: what of a thread stays in view (see `compaction.policies`), unless the thread or the call names another.
        limits: how much a context and the language model may take (see `limits`), unless the thread or the call says otherwise.
        redaction: replaces secrets and personal data by placeholders before anything is stored or indexed (see `Redaction`);
            by default nothing is replaced.
        listener: is told what is done and what it took (see `telemetry`); nothing leaves the machine by itself.
        durability: "full" survives a power cut with every acknowledged write; "normal" survives a crash of the process.
        store: an open store, instead of `path`.
        profile: how profiles are laid out, and what is listened for besides: the name of a template ("healthcare"), a
            `ProfileTemplate`, a dataclass or a JSON Schema (see docs/profiles.md).

    Raises:
        SchemaError, CorruptStore: the file is of a newer version, of somebody else, or damaged.
        InvalidInput: the language model is none, or asynchronous; the template cannot be met.
    """

    def __init__(
        self,
        path: str | os.PathLike[str] = ":memory:",
        *,
        namespace: Sequence[str] = ("default",),
        settings: Settings | None = None,
        embedder: Embedder | str | Sequence[Embedder | str] | None = "auto",
        counter: TokenCounter | None = None,
        for_model: str = "",
        clock: Clock | None = None,
        ranker: Ranker | None = None,
        language_model: GivenModel | None = None,
        policy: Policy | None = None,
        limits: Limits | None = None,
        redaction: Redaction | None = None,
        listener: Listener | None = None,
        durability: Literal["full", "normal"] = "full",
        store: Store | None = None,
        profile: GivenTemplate | None = None,
    ) -> None:
        from bethink.engine import Engine
        from bethink.models.given import as_model
        from bethink.retrieval.ranker import Ranker

        self._namespace = check_namespace(namespace)
        chosen = embedders_of(embedder)
        self._policy = policy_or(policy, Hybrid())
        self._limits = limits_within(limits, NO_LIMITS)
        model = None if language_model is None else as_model(language_model)
        check_text(for_model, "for_model")
        template = None if profile is None else template_from(profile)
        applying = applied(template, settings or Settings())
        self._engine: Engine = Engine(
            redacting(store if store is not None else open_store(path, durability), redaction),
            clock=clock or SystemClock(),
            counter=counter,
            for_model=for_model,
            embedders=chosen,
            settings=applying,
            ranker=ranker or Ranker(),
            telemetry=Telemetry(listener),
            limits=self._limits,
            redaction=redaction,
            template=template,
        )
        if model is not None:
            self._use_model(model)

    def _use_model(self, model: LanguageModel | AsyncLanguageModel) -> None:
        from bethink.steps.refine import check_model

        self._engine.language_model = model
        try:
            check_model(self._engine)
        except InvalidInput:
            self._engine.close()
            raise
        if self._engine.settings.refine == "background":
            from bethink.steps.background import worker_for

            self._engine.watcher = worker_for(self._engine)

    @classmethod
    def _of(cls, engine: Engine, namespace: Namespace, policy: Policy, limits: Limits = NO_LIMITS) -> Memory:
        memory = cls.__new__(cls)
        memory._namespace = namespace
        memory._engine = engine
        memory._policy = policy
        memory._limits = limits
        return memory

    def __repr__(self) -> str:
        rights = self._engine.rights
        if rights is None:
            return f"Memory(namespace={self._namespace!r})"
        return (
            f"Memory(namespace={self._namespace!r}, agent={rights.agent!r}, reads={rights.reads!r}, writes={rights.writes!r})"
        )

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
        return Memory._of(self._engine, check_namespace((*self._namespace, *segments)), self._policy, self._limits)

    def user(self, user_id: str) -> Memory:
        """The memory of one user: `scope(user_id)`."""
        return self.scope(user_id)

    def view(
        self,
        *,
        read: Iterable[str | Sequence[str]] = (),
        write: Iterable[str | Sequence[str]] = (),
        agent: str = "",
    ) -> Memory:
        """This memory for somebody who may do a part of it: what is named here, under this name, and nothing else.

            researcher = team.view(agent="researcher", write=["researcher", "shared"])
            reviewer = team.view(agent="reviewer", read=["shared"])

        A view is a capability. It has all the verbs; each looks at its namespaces before it reads or writes anything, and
        raises `PermissionDenied` for what was not given. It cannot be widened: a view of a view has what that one has, or
        less. `recall` on it looks in all that it may read, at and below its namespace. Where it may only read it leaves no
        trace: nothing is drawn, counted, folded, embedded or kept as a receipt. What is of the whole database (`check`,
        `verify`, `reembed`) is not for views, and closing one closes nothing.

        Args:
            read, write: places below this namespace, each a segment or a tuple of segments, with all that is below them; () is
                this namespace itself. What may be written may be read. By default nothing.
            agent: whose word it is what is written through it: the author of notes, facts and episodes, the name of what the
                assistant says. Of a view of a view the same agent's; one that has none may be given one.

        Raises:
            InvalidInput: a place or a name that is none.
            PermissionDenied: it would have more than the view it is made of.
        """
        from bethink.rights import Rights, check_agent, places_below

        rights = Rights.of(
            places_below(self._namespace, read, "read"), places_below(self._namespace, write, "write"), check_agent(agent)
        )
        return Memory._of(self._engine.viewed(rights), self._namespace, self._policy, self._limits)

    @property
    def agent(self) -> str:
        """The name under which this view writes; "" for a memory that is no view, or one without a name."""
        return self._engine.agent

    def thread(self, thread_id: str | None = None, *, policy: Policy | None = None, limits: Limits | None = None) -> Thread:
        """A conversation of this namespace; without an id, a new one. Nothing is written before the first message.

        Args:
            policy: what of it stays in view through this handle, if not as the memory says.
            limits: of this handle; what they leave out, the memory says.
        """
        return Thread(
            self._engine,
            self._namespace,
            thread_id,
            policy_or(policy, self._policy),
            limits_within(limits, self._limits),
        )

    def threads(self, *, below: bool = False) -> list[ThreadInfo]:
        """The threads of this namespace, oldest first; with `below`, also of the namespaces below it."""
        pages = self._engine.pages(Scan(what="threads", scope=Scope(self._namespace, below)))
        return [item for item in pages if isinstance(item, ThreadInfo)]

    # -- recall and reflection ---------------------------------------------------------------------------------------------

    def recall(
        self,
        query: str,
        k: int | None = None,
        *,
        kinds: Sequence[Searchable] | None = None,
        below: bool = False,
        where: Where | None = None,
        unit: Unit = "message",
        budget: int | None = None,
        as_of: datetime | None = None,
        valid_at: datetime | None = None,
    ) -> RecallResult:
        """The best answers to a query among messages, notes, insights, session summaries and episodes; possibly none.

        Args:
            k: at most this many (`settings.recall_limit` if left out).
            kinds: only these sorts of things.
            below: also search the namespaces below this one. A view that may read only some of them looks in these, in one
                ranking; each hit names its namespace and its author.
            where: only what this filter is true of, such as `{"speaker": "Mara", "metadata.topic": {"in": ["billing"]}}`. It
                holds before any limit; docs/retrieval.md has the fields and operators.
            unit: what a hit is: a `"message"` or record by itself; a `"turn"`, which is a user message with what follows it; a
                `"session"`, which is a thread; or a `"record"` alone. A turn or session has the score of its best member and
                tells its `members`.
            budget: tokens that the lines of all hits may take, each as a context shows it. Without `k`, as many hits as fit.
                Long ones are cut to their best passage (`Hit.shown`); `left_out` of the result says what did not fit.
            as_of: as the system knew it at that time: messages stored by then, records as they were. What was forgotten since
                stays forgotten. docs/time.md says more.
            valid_at: what was true in the world at that time: messages said by then, records that held then, superseded ones
                too.

        Raises:
            InvalidInput: among others, a filter that names an unknown field or operator, or a value of the wrong type; a naive
                time, or an `as_of` that is yet to come.

        Cost: units that wait for their vector are embedded first, at most `settings.embed_at_recall` of them; `pending` of
        the result says how many still wait (they are ranked by their words alone).
        """
        scope, *beside = self._engine.readable(Scope(self._namespace, below))
        wanted = _wanted(query, k, kinds, where, unit, budget)
        wanted, _ = self._at_times((scope, *beside), wanted, as_of, valid_at)
        return recall_from(self._engine, scope, query, wanted, beside=beside)

    def _at_times(self, scopes: Sequence[Scope], wanted: Wanted, as_of: object, valid_at: object) -> tuple[Wanted, past.When]:
        """What is asked of a recall, at the times asked for. A question as of a time draws nothing from messages."""
        asked = past.when(self._engine, as_of, valid_at)
        if asked.as_of is None:
            for scope in scopes:
                catch_up(self._engine, scope.namespace)
        if not asked.is_now:
            wanted = at_times(self._engine, scopes, wanted, asked)
        return wanted, asked

    def why(
        self,
        query: str,
        k: int | None = None,
        *,
        kinds: Sequence[Searchable] | None = None,
        below: bool = False,
        where: Where | None = None,
        unit: Unit = "message",
        budget: int | None = None,
        as_of: datetime | None = None,
        valid_at: datetime | None = None,
    ) -> Why:
        """`recall`, explained: what was looked for, what ran, and of each hit its places by words and by meaning alone, the
        terms it holds, its neighbours, and what each leg added or took. `result` is what `recall` returns.
        """
        from bethink.steps.why import why

        scope = Scope(self._namespace, below)
        wanted, _ = self._at_times((scope,), _wanted(query, k, kinds, where, unit, budget), as_of, valid_at)
        return why(self._engine, scope, query, wanted)

    def why_not(
        self,
        item_id: str,
        query: str,
        k: int | None = None,
        *,
        kinds: Sequence[Searchable] | None = None,
        below: bool = False,
        where: Where | None = None,
        unit: Unit = "message",
        budget: int | None = None,
        as_of: datetime | None = None,
        valid_at: datetime | None = None,
    ) -> WhyNot:
        """At which step of such a `recall` a message or record falls out, by how much, and what would have it found.

        Args:
            item_id: of the message or the record; a record's short mark will do (`mem:3f2a9c1d`).

        What is in another namespace, and not below this one, is as if it were not there.
        """
        from bethink.steps.why import why_not

        check_text(item_id, "item_id")
        scope = Scope(self._namespace, below)
        wanted, asked = self._at_times((scope,), _wanted(query, k, kinds, where, unit, budget), as_of, valid_at)
        return why_not(self._engine, scope, item_id, query, wanted, asked)

    def retrieve(self, query: str, k: int = 5, *, where: Where | None = None) -> list[Hit]:
        """`recall` as a plain list: the k best answers, or fewer, or none."""
        return list(self.recall(query, k, where=where))

    def refine(
        self,
        *,
        below: bool = False,
        limit: int | None = None,
        steps: Sequence[ModelStepName] | None = None,
        budget: Budget | None = None,
    ) -> RefineReport:
        """Ask the language model for every summary that is due, thread after thread; see `Thread.refine`.

        Args:
            below: also threads of the namespaces below this one.
            limit, steps, budget: as of `Thread.refine`; a limit and a budget are for all threads together.

        Cost: reads every summary node of the threads once for each summary that is asked for.
        """
        from bethink.steps.refine import refine

        return refine(self._engine, self._namespace, below=below, limit=limit, limits=self._limits, steps=steps, budget=budget)

    def plan(self, *, below: bool = False, steps: Sequence[ModelStepName] | None = None) -> RefinePlan:
        """What `refine` would ask the language model now, thread after thread; see `Thread.plan`."""
        from bethink.steps.plan import plan

        return plan(self._engine, self._namespace, below=below, limits=self._limits, steps=steps)

    def reflect_due(
        self,
        *,
        after: timedelta | None = None,
        every: int | None = None,
        below: bool = False,
        limit: int | None = None,
    ) -> list[Reflection]:
        """End every session that is due, as `Thread.end` does it, and return what each left, the one that fell silent first
        first.

        Nobody needs to call it: contexts, recalls and profiles do this for their own namespace (see
        `settings.reflect_after`). It is for a scheduler, for many namespaces, and for those who leave the settings off.
        Processes that do it at once share the work; what one that died has left undone the next does, after five minutes.

        Args:
            after: a session is due after so long without a message; `settings.reflect_after` if left out.
            every: or with so many messages since the last time; `settings.reflect_every` if left out.
            below: also threads of the namespaces below this one.
            limit: at most so many.

        Raises:
            InvalidInput: neither a time nor a number is given, here or in the settings; or one that is none.
        """
        return reflect_due(self._engine, Scope(self._namespace, below), after=after, every=every, limit=limit)

    def due(self, *, after: timedelta | None = None, every: int | None = None, below: bool = False) -> list[ThreadInfo]:
        """The threads whose session `reflect_due` would end, in its order. Nothing is done."""
        return due_threads(self._engine, Scope(self._namespace, below), after=after, every=every)

    # -- looking back and forgetting --------------------------------------------------------------------------------------

    def replay(self, receipt_id: str) -> Context:
        """The context that was given under this receipt, the same bytes.

        Raises:
            NotFound: no such receipt here.
            Forgotten: something it shows has been forgotten since.
        """
        with self._engine.telemetry.span("replay", namespace=self._namespace):
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

    def redact(
        self,
        redaction: Redaction | None = None,
        *,
        dry_run: bool = False,
        progress: Callable[[int], None] | None = None,
    ) -> RedactReport:
        """Replace secrets and personal data in what is stored already, in this namespace and all below it: in messages,
        records, summaries, states, and whatever was derived from them. The bytes are erased as by `forget`, and `verify` finds
        none.

        Page after page, each in one transaction: after an interruption, call it again. What others write meanwhile may be
        missed; open the memory with `redaction=...` first, so that nothing new needs it.

        Args:
            redaction: what to replace; by default what the memory was opened with, or else all kinds that are known.
            dry_run: change nothing, and tell what would be.
            progress: called with a number of things each time that many have been looked at.

        Raises:
            StoreBusy: another process is writing for too long; what was done stays.
        """
        chosen = redaction or self._engine.redaction or Redaction()
        scope = Scope(self._namespace, subtree=True)
        return redact(self._engine, scope, chosen, dry_run=dry_run, progress=progress)

    # -- the database -----------------------------------------------------------------------------------------------------

    def check(self) -> list[Problem]:
        """Everything inconsistent in the whole database; empty when it is sound."""
        return self._engine.store.check()

    def stats(self) -> Stats:
        """Counts of this namespace and all below it, and facts of the database."""
        return self._engine.store.stats(Scope(self._namespace, subtree=True))

    def usage(self) -> UsageReport:
        """What the contexts and model calls of this namespace and all below it took together (see `Thread.usage`)."""
        return usage_of(self._engine, Scope(self._namespace, subtree=True))

    def flush(self, *, progress: Callable[[int], None] | None = None) -> int:
        """Do what waits in this namespace and below: end the sessions that are due by the settings, embed everything that has
        no vector yet. Returns how many vectors were made.
        """
        reflect_pending(self._engine, Scope(self._namespace, subtree=True))
        return embed_pending(self._engine, Scope(self._namespace, subtree=True), progress=progress)

    def reembed(self, embedder: Embedder | str | None = None, *, progress: Callable[[int], None] | None = None) -> int:
        """Take another embedding model: make the vectors of the whole database anew, beside those that there are, and then
        change over. Returns how many were made.

        Until then whoever uses the old model searches as before, this memory too if it does; who has the new one alone finds by
        meaning what it has vectors of already, and the rest by words. Each batch is one transaction: where it is interrupted,
        the next call with the same model goes on, and one with another model begins anew. Of the model that the database holds
        vectors of already, it drops what was begun and makes the vectors that are missing.

        Args:
            embedder: the new model, which this memory uses from the change on; by default the memory's own (the first of them).
            progress: called with the number of vectors that an earlier call has made, then with a number each time that many
                are.

        Raises:
            MissingExtra: there is no embedder.
            Conflict: another process has begun to change to another model meanwhile, and what was begun here is given up.
        """
        given = None if embedder is None else embedder_of(embedder)
        return reembed(self._engine, given, progress=progress)

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
        with self._engine.telemetry.span("import", namespace=self._namespace):
            return import_file(
                self._engine, self._namespace, Path(path), format=format, on_error=on_error, end=end, progress=progress
            )

    def close(self) -> None:
        """Close the database, for all that is open of it. Closing twice is fine, and closing a `view` closes nothing.

        A language model that is being asked in the background is not waited for: what it still answers is dropped, and asked
        for another time.
        """
        self._engine.close()


def _wanted(
    query: str,
    k: int | None,
    kinds: Sequence[Searchable] | None,
    where: Where | None,
    unit: Unit,
    budget: int | None,
) -> Wanted:
    """What is asked of a recall, checked before anything is read."""
    if not isinstance(query, str):
        raise InvalidInput("query", f"a {type(query).__name__}", "pass a string")
    return Wanted(k=k, kinds=None if kinds is None else tuple(kinds), where=filter_of(where), unit=unit, budget=budget)
