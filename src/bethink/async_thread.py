"""`AsyncThread`: the methods of `Thread`, awaited. See `async_memory`."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from datetime import datetime, timedelta
from typing import TYPE_CHECKING, Any, Literal

from bethink.checkpoints import Checkpoint, CheckpointInfo
from bethink.compaction.policies import Policy
from bethink.handoffs import Handoff
from bethink.hop import hop as _hop
from bethink.insights.state.by_hand import DecisionGiven, given
from bethink.insights.state.values import Artifact, State
from bethink.limits import Budget, Limits
from bethink.marks import Scored, Tiered
from bethink.messages import Message, Part, Role, Tier, ToolCall, made
from bethink.records import Summary
from bethink.settings import ModelStepName, Oversize
from bethink.steps.checkpoint import save
from bethink.steps.handoff import task_message
from bethink.steps.reflect import Reflection
from bethink.storage.base import Appended, ForgetReceipt
from bethink.thread import Given, Thread
from bethink.threads import ThreadInfo
from bethink.turns import AsyncTurn
from bethink.usage import UsageReport
from bethink.values import Namespace

if TYPE_CHECKING:
    from bethink.context import Context
    from bethink.engine import Engine
    from bethink.steps.background import LoopWorker
    from bethink.steps.plan import RefinePlan
    from bethink.steps.refine import RefineReport
    from bethink.steps.summaries import SummaryNode

__all__ = ["AsyncThread", "loop_worker"]


def loop_worker(engine: Engine) -> LoopWorker | None:
    """Whoever asks an asynchronous model in the background."""
    if engine.watcher is None:
        return None
    from bethink.steps.background import LoopWorker

    return engine.watcher if isinstance(engine.watcher, LoopWorker) else None


def start_worker(engine: Engine) -> None:
    """Have whoever asks in the background begin, if there is something to do."""
    worker = loop_worker(engine)
    if worker is not None:
        worker.start()


class AsyncThread:
    """`Thread` for an event loop; arguments and results are the same."""

    def __init__(self, thread: Thread) -> None:
        self._sync = thread

    def __repr__(self) -> str:
        return f"AsyncThread({self.id!r}, namespace={self.namespace!r})"

    @property
    def id(self) -> str:
        return self._sync.id

    @property
    def namespace(self) -> Namespace:
        return self._sync.namespace

    async def add(
        self,
        role: Role,
        content: str | Sequence[Part] | None = None,
        *,
        id: str = "",  # noqa: A002 - as in Thread
        name: str | None = None,
        tool_calls: Sequence[ToolCall] = (),
        tool_call_id: str | None = None,
        created_at: datetime | None = None,
        metadata: Mapping[str, Any] | None = None,
        tier: Tier = "working",
        external: bool = False,
    ) -> Message:
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
        return (await self.append([message])).messages[0]

    async def append(self, messages: Iterable[Given], *, expected_tip: int | None = None) -> Appended:
        from bethink.async_appends import appends_to

        # Taken as values here and not on the worker thread: what the caller changes from now on is not ours.
        request = self._sync._append_request(messages, expected_tip)
        with self._sync._engine.appending(request):
            return await appends_to(self._sync._engine.store).append(request)

    def turn(self, *, timeout: timedelta = timedelta(seconds=90), lease: timedelta = timedelta(seconds=60)) -> AsyncTurn:
        return AsyncTurn(self._sync.turn(timeout=timeout, lease=lease))

    async def messages(self, limit: int | None = None, *, before: int | None = None) -> list[Message]:
        return await _hop(self._sync.messages, limit, before=before)

    async def info(self) -> ThreadInfo:
        return await _hop(self._sync.info)

    async def context(
        self,
        query: str | None = None,
        *,
        budget: int | None = None,
        policy: Policy | None = None,
        oversize: Oversize | Literal["cut", "error"] | None = None,
        for_model: str | None = None,
        tools: Sequence[Mapping[str, Any]] = (),
        limits: Limits | None = None,
    ) -> Context:
        # Taken as values here and not on the worker thread: the caller may change his tools from now on.
        asked = self._sync._asked(query, budget, policy, oversize, for_model, tools, limits)
        context = await _hop(self._sync._build, asked)
        start_worker(self._sync._engine)
        return context

    async def usage(self) -> UsageReport:
        return await _hop(self._sync.usage)

    async def refine(
        self,
        *,
        limit: int | None = None,
        steps: Sequence[ModelStepName] | None = None,
        budget: Budget | None = None,
    ) -> RefineReport:
        from bethink.steps.refine import refine_async

        return await refine_async(
            self._sync._engine,
            self.namespace,
            self.id,
            limit=limit,
            limits=self._sync._limits,
            steps=steps,
            budget=budget,
        )

    async def plan(self, *, steps: Sequence[ModelStepName] | None = None) -> RefinePlan:
        return await _hop(self._sync.plan, steps=steps)

    async def summaries(self) -> list[SummaryNode]:
        return await _hop(self._sync.summaries)

    async def expand(self, node_id: str) -> list[Message]:
        return await _hop(self._sync.expand, node_id)

    async def promote(self, message: int | str, tier: Tier = "permanent") -> Tier:
        return await _hop(self._sync.promote, message, tier)

    async def tiers(self) -> dict[int, Tiered]:
        return await _hop(self._sync.tiers)

    async def scores(self) -> dict[int, Scored]:
        return await _hop(self._sync.scores)

    async def end(self) -> Summary | None:
        summary = await _hop(self._sync.end)
        start_worker(self._sync._engine)
        return summary

    async def reflection(self) -> Reflection | None:
        return await _hop(self._sync.reflection)

    async def state(self) -> State:
        return await _hop(self._sync.state)

    async def set_state(
        self,
        *,
        project: str | None = None,
        goal: str | None = None,
        phase: str | None = None,
        decisions: Iterable[DecisionGiven] = (),
        facts: Iterable[str] = (),
        completed: Iterable[str] = (),
        artifacts: Iterable[str | Artifact] = (),
        questions: Iterable[str] = (),
        answers: Mapping[str, str] | None = None,
        withdraw: Iterable[str] = (),
    ) -> State:
        # Taken as values here and not on the worker thread.
        found = given(
            project=project,
            goal=goal,
            phase=phase,
            decisions=decisions,
            facts=facts,
            completed=completed,
            artifacts=artifacts,
            questions=questions,
            answers=answers,
            withdraw=withdraw,
        )
        return await _hop(self._sync._set_state, found)

    async def state_block(self, budget: int) -> str:
        return await _hop(self._sync.state_block, budget)

    async def handoff(
        self,
        task: str,
        *,
        artifacts: Iterable[str | Artifact] = (),
        constraints: Iterable[str] = (),
        budget: int | None = None,
        thread_id: str | None = None,
    ) -> Handoff[AsyncThread]:
        # Likewise.
        message = task_message(task, artifacts, constraints)
        handed = await _hop(self._sync._handoff, message, budget, thread_id)
        return Handoff(thread=AsyncThread(handed.thread), context=handed.context, parent_id=handed.parent_id)

    async def handoffs(self) -> list[ThreadInfo]:
        return await _hop(self._sync.handoffs)

    async def conclude(self, text: str, *, artifacts: Iterable[str | Artifact] = (), name: str | None = None) -> Message:
        return await _hop(self._sync.conclude, text, artifacts=artifacts, name=name)

    async def checkpoint(
        self,
        state: object,
        *,
        label: str = "",
        view: Mapping[str, Any] | None = None,
        metadata: Mapping[str, Any] | None = None,
        format: str = "json",  # noqa: A002 - as in Thread
        parent: str | None = None,
        id: str = "",  # noqa: A002 - as in Thread
    ) -> Checkpoint:
        # Taken as values here and not on the worker thread: the agent goes on with its state.
        request = self._sync._save_request(
            state, label=label, view=view, metadata=metadata, format=format, parent=parent, checkpoint_id=id
        )
        return await _hop(save, self._sync._engine, request)

    async def checkpoints(self, limit: int | None = None) -> list[CheckpointInfo]:
        return await _hop(self._sync.checkpoints, limit)

    async def resume(self, checkpoint_id: str | None = None) -> Checkpoint:
        return await _hop(self._sync.resume, checkpoint_id)

    async def prune(self, *checkpoint_ids: str, keep: int | None = None) -> list[str]:
        return await _hop(self._sync.prune, *checkpoint_ids, keep=keep)

    async def fork(self, at: int | str | None = None, *, thread_id: str | None = None) -> AsyncThread:
        return AsyncThread(await _hop(self._sync.fork, at, thread_id=thread_id))

    async def delete(self) -> ForgetReceipt:
        return await _hop(self._sync.delete)
