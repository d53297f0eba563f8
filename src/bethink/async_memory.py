"""`AsyncMemory`: the methods of `Memory`, awaited.

Each call makes one hop to a worker thread and is one call of the synchronous method there: the whole transaction runs on one
thread, so a cancelled task leaves either all of it or none, and the event loop never waits for the disk. Appends of several
tasks share hops and waits for the disk (see `async_appends`). Nothing is bound to a loop: one object serves any number of them,
one after the other or at once.

What a caller's dict says is read when the coroutine starts to run, before the hop. Making an `AsyncMemory` opens the file: that
takes a few milliseconds on the calling thread.
"""

from __future__ import annotations

import itertools
import os
from collections.abc import AsyncIterator, Callable, Iterable, Mapping, Sequence
from datetime import datetime, timedelta
from types import TracebackType
from typing import TYPE_CHECKING, Any, Literal

from typing_extensions import Self

from bethink.async_thread import AsyncThread, loop_worker
from bethink.compaction.policies import Policy
from bethink.hop import hop as _hop
from bethink.insights.domains.given import GivenTemplate
from bethink.limits import Budget, Limits
from bethink.memory import Memory
from bethink.messages import Trust
from bethink.models import Clock, Embedder, TokenCounter
from bethink.profile import Profile
from bethink.records import AnyRecord, Episode, Importance, Note, Outcome, Proposal, RecordKind
from bethink.redaction import Redaction
from bethink.settings import ModelStepName, Settings
from bethink.steps.redact import RedactReport
from bethink.steps.reflect import Reflection
from bethink.storage.base import Change, ForgetReceipt, Problem, Stats, Store, Verification
from bethink.telemetry import Listener
from bethink.threads import ThreadInfo
from bethink.usage import UsageReport
from bethink.values import Namespace

if TYPE_CHECKING:
    from bethink.claims import ArtifactRef
    from bethink.context import Context
    from bethink.insights.differences import Diff, HistoryEntry
    from bethink.items.async_handle import AsyncItems
    from bethink.models.language import AsyncGivenModel
    from bethink.retrieval.filters import Where
    from bethink.retrieval.grouping import Unit
    from bethink.retrieval.hits import Hit, RecallResult
    from bethink.retrieval.ranker import Ranker
    from bethink.retrieval.recall import Searchable
    from bethink.retrieval.why import Why, WhyNot
    from bethink.sharing.artifacts import OpenArtifact
    from bethink.sharing.async_board import AsyncBoard
    from bethink.steps.import_file import ImportReport
    from bethink.steps.plan import RefinePlan
    from bethink.steps.refine import RefineReport

__all__ = ["AsyncMemory"]

_EXPORT_PAGE = 200


class AsyncMemory:
    """`Memory` for an event loop; arguments and results are the same.

    The language model may also be an `AsyncLanguageModel`, or an `async def` function: it is asked on the loop of the caller. A
    synchronous one is asked in worker threads.
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
        language_model: AsyncGivenModel | None = None,
        policy: Policy | None = None,
        limits: Limits | None = None,
        redaction: Redaction | None = None,
        listener: Listener | None = None,
        durability: Literal["full", "normal"] = "full",
        store: Store | None = None,
        profile: GivenTemplate | None = None,
    ) -> None:
        self._sync = Memory(
            path,
            namespace=namespace,
            settings=settings,
            embedder=embedder,
            counter=counter,
            for_model=for_model,
            clock=clock,
            ranker=ranker,
            policy=policy,
            limits=limits,
            redaction=redaction,
            listener=listener,
            durability=durability,
            store=store,
            profile=profile,
        )
        if language_model is not None:
            from bethink.models.given import as_any_model

            # Not by way of `Memory`, which takes none that is asynchronous.
            self._sync._use_model(as_any_model(language_model))

    @classmethod
    def _of(cls, memory: Memory) -> AsyncMemory:
        twin = cls.__new__(cls)
        twin._sync = memory
        return twin

    def __repr__(self) -> str:
        return f"AsyncMemory(namespace={self.namespace!r})"

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        await self.close()

    @property
    def namespace(self) -> Namespace:
        return self._sync.namespace

    def scope(self, *segments: str) -> AsyncMemory:
        return AsyncMemory._of(self._sync.scope(*segments))

    def user(self, user_id: str) -> AsyncMemory:
        return AsyncMemory._of(self._sync.user(user_id))

    def thread(
        self, thread_id: str | None = None, *, policy: Policy | None = None, limits: Limits | None = None
    ) -> AsyncThread:
        return AsyncThread(self._sync.thread(thread_id, policy=policy, limits=limits))

    def view(
        self,
        *,
        read: Iterable[str | Sequence[str]] = (),
        write: Iterable[str | Sequence[str]] = (),
        agent: str = "",
    ) -> AsyncMemory:
        return AsyncMemory._of(self._sync.view(read=read, write=write, agent=agent))

    @property
    def agent(self) -> str:
        return self._sync.agent

    async def threads(self, *, below: bool = False) -> list[ThreadInfo]:
        return await _hop(self._sync.threads, below=below)

    @property
    def items(self) -> AsyncItems:
        from bethink.items.async_handle import AsyncItems

        return AsyncItems(self._sync.items)

    @property
    def board(self) -> AsyncBoard:
        from bethink.sharing.async_board import AsyncBoard

        return AsyncBoard(self._sync.board)

    async def store_artifact(self, key: str, content: Any) -> ArtifactRef:
        return await _hop(self._sync.store_artifact, key, content)

    async def artifact(self, ref: ArtifactRef | str) -> OpenArtifact:
        return await _hop(self._sync.artifact, ref)

    async def store(
        self,
        text: str,
        metadata: Mapping[str, Any] | None = None,
        *,
        importance: Importance = "medium",
        pinned: bool = False,
        trust: Trust | None = None,
        at: datetime | None = None,
    ) -> Note:
        return await _hop(
            self._sync.store, text, dict(metadata or {}), importance=importance, pinned=pinned, trust=trust, at=at
        )

    async def store_episode(
        self,
        task: str,
        *,
        outcome: Outcome = "unknown",
        approach: str = "",
        feedback: str = "",
        tools: Iterable[str] = (),
        started_at: datetime | None = None,
        ended_at: datetime | None = None,
        tokens: int = 0,
        cost: float | None = None,
        thread: str | None = None,
        replaces: str | None = None,
        importance: Importance = "medium",
        pinned: bool = False,
        metadata: Mapping[str, Any] | None = None,
    ) -> Episode:
        return await _hop(
            self._sync.store_episode,
            task,
            outcome=outcome,
            approach=approach,
            feedback=feedback,
            tools=tools if isinstance(tools, str) else tuple(tools),
            started_at=started_at,
            ended_at=ended_at,
            tokens=tokens,
            cost=cost,
            thread=thread,
            replaces=replaces,
            importance=importance,
            pinned=pinned,
            metadata=dict(metadata or {}),
        )

    async def episodes(
        self,
        task: str | None = None,
        k: int | None = None,
        *,
        outcome: Outcome | None = None,
        since: datetime | None = None,
        until: datetime | None = None,
        where: Where | None = None,
        below: bool = False,
    ) -> list[Episode]:
        return await _hop(self._sync.episodes, task, k, outcome=outcome, since=since, until=until, where=where, below=below)

    async def recall(
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
        return await _hop(
            self._sync.recall,
            query,
            k,
            kinds=kinds,
            below=below,
            where=where,
            unit=unit,
            budget=budget,
            as_of=as_of,
            valid_at=valid_at,
        )

    async def why(
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
        return await _hop(
            self._sync.why,
            query,
            k,
            kinds=kinds,
            below=below,
            where=where,
            unit=unit,
            budget=budget,
            as_of=as_of,
            valid_at=valid_at,
        )

    async def why_not(
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
        return await _hop(
            self._sync.why_not,
            item_id,
            query,
            k,
            kinds=kinds,
            below=below,
            where=where,
            unit=unit,
            budget=budget,
            as_of=as_of,
            valid_at=valid_at,
        )

    async def retrieve(self, query: str, k: int = 5, *, where: Where | None = None) -> list[Hit]:
        return await _hop(self._sync.retrieve, query, k, where=where)

    async def profile(
        self,
        subject: str = "user",
        *,
        template: GivenTemplate | None = None,
        as_of: datetime | None = None,
        valid_at: datetime | None = None,
    ) -> Profile:
        return await _hop(self._sync.profile, subject, template=template, as_of=as_of, valid_at=valid_at)

    async def history(self, item: str, *, subject: str = "user") -> list[HistoryEntry]:
        return await _hop(self._sync.history, item, subject=subject)

    async def pending(self) -> list[Proposal]:
        return await _hop(self._sync.pending)

    async def approve(self, *proposals: str) -> list[AnyRecord]:
        return await _hop(self._sync.approve, *proposals)

    async def reject(self, *proposals: str) -> list[Proposal]:
        return await _hop(self._sync.reject, *proposals)

    async def changes(self, since: datetime | None = None) -> list[Change]:
        return await _hop(self._sync.changes, since)

    async def undo(self, change: str) -> Change:
        return await _hop(self._sync.undo, change)

    async def diff(self, since: datetime, until: datetime | None = None) -> Diff:
        return await _hop(self._sync.diff, since, until)

    async def records(self, kind: RecordKind | None = None, *, current: bool = True, below: bool = False) -> list[AnyRecord]:
        return await _hop(self._sync.records, kind, current=current, below=below)

    async def cite(self, *record_ids: str) -> list[AnyRecord]:
        return await _hop(self._sync.cite, *record_ids)

    async def pin(self, *records: str) -> list[AnyRecord]:
        return await _hop(self._sync.pin, *records)

    async def unpin(self, *records: str) -> list[AnyRecord]:
        return await _hop(self._sync.unpin, *records)

    async def refine(
        self,
        *,
        below: bool = False,
        limit: int | None = None,
        steps: Sequence[ModelStepName] | None = None,
        budget: Budget | None = None,
    ) -> RefineReport:
        from bethink.steps.refine import refine_async

        return await refine_async(
            self._sync._engine,
            self.namespace,
            below=below,
            limit=limit,
            limits=self._sync._limits,
            steps=steps,
            budget=budget,
        )

    async def plan(self, *, below: bool = False, steps: Sequence[ModelStepName] | None = None) -> RefinePlan:
        return await _hop(self._sync.plan, below=below, steps=steps)

    async def reflect_due(
        self,
        *,
        after: timedelta | None = None,
        every: int | None = None,
        below: bool = False,
        limit: int | None = None,
    ) -> list[Reflection]:
        return await _hop(self._sync.reflect_due, after=after, every=every, below=below, limit=limit)

    async def due(self, *, after: timedelta | None = None, every: int | None = None, below: bool = False) -> list[ThreadInfo]:
        return await _hop(self._sync.due, after=after, every=every, below=below)

    async def replay(self, receipt_id: str) -> Context:
        return await _hop(self._sync.replay, receipt_id)

    async def forget(
        self,
        *,
        message: str | None = None,
        record: str | None = None,
        thread: str | None = None,
        namespace: Sequence[str] | None = None,
    ) -> ForgetReceipt:
        return await _hop(self._sync.forget, message=message, record=record, thread=thread, namespace=namespace)

    async def verify(self, *texts: str) -> Verification:
        return await _hop(self._sync.verify, *texts)

    async def redact(
        self,
        redaction: Redaction | None = None,
        *,
        dry_run: bool = False,
        progress: Callable[[int], None] | None = None,
    ) -> RedactReport:
        return await _hop(self._sync.redact, redaction, dry_run=dry_run, progress=progress)

    async def check(self) -> list[Problem]:
        return await _hop(self._sync.check)

    async def stats(self) -> Stats:
        return await _hop(self._sync.stats)

    async def usage(self) -> UsageReport:
        return await _hop(self._sync.usage)

    async def flush(self, *, progress: Callable[[int], None] | None = None) -> int:
        return await _hop(self._sync.flush, progress=progress)

    async def reembed(self, embedder: Embedder | str | None = None, *, progress: Callable[[int], None] | None = None) -> int:
        return await _hop(self._sync.reembed, embedder, progress=progress)

    async def export(self) -> AsyncIterator[bytes]:
        lines = self._sync.export()
        while page := await _hop(list, itertools.islice(lines, _EXPORT_PAGE)):
            for line in page:
                yield line

    async def import_file(
        self,
        path: str | os.PathLike[str],
        *,
        format: str | None = None,  # noqa: A002 - as in Memory
        on_error: Literal["stop", "skip"] = "stop",
        end: bool = False,
        progress: Callable[[int], None] | None = None,
    ) -> ImportReport:
        return await _hop(self._sync.import_file, path, format=format, on_error=on_error, end=end, progress=progress)

    async def close(self) -> None:
        worker = loop_worker(self._sync._engine)
        if worker is not None:
            await worker.aclose()
        await _hop(self._sync.close)
