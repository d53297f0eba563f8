"""`Thread`: one conversation of a `Memory`, as users hold it. It only wires, as `Memory` does."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from datetime import datetime, timedelta
from typing import TYPE_CHECKING, Any, Literal, TypeAlias

from bethink.checkpoints import Checkpoint, CheckpointInfo
from bethink.compaction.policies import Policy
from bethink.errors import InvalidInput, NotFound
from bethink.formats import from_any
from bethink.handoffs import Handoff
from bethink.ids import new_id
from bethink.insights.state.by_hand import DecisionGiven, given
from bethink.insights.state.by_hand import Given as Stated
from bethink.insights.state.values import Artifact, State
from bethink.limits import NO_LIMITS, Budget, Limits, budget_within
from bethink.marks import Scored, Tiered
from bethink.messages import Message, Part, Role, Tier, ToolCall, made
from bethink.records import Summary
from bethink.settings import ModelStepName, Oversize
from bethink.steps.append import append, append_request
from bethink.steps.checkpoint import checkpoints, fork_at_checkpoint, prune, resume, save, save_request
from bethink.steps.context import Asked, asked_for, build_context
from bethink.steps.handoff import conclude, hand_on, handoffs, namespace_of_handoff, task_message
from bethink.steps.promote import promote, scores, tiers
from bethink.steps.reflect import Reflection, reflect, reflection_of
from bethink.steps.state import read_state, set_state
from bethink.steps.summaries import SummaryNode, expand, summaries
from bethink.steps.usage import usage_of
from bethink.storage.base import Append, Appended, Forget, ForgetReceipt, Read, Save, Scope
from bethink.threads import ForkPoint, ThreadInfo
from bethink.turns import Turn
from bethink.usage import UsageReport
from bethink.values import Namespace, check_id

if TYPE_CHECKING:
    from bethink.context import Context
    from bethink.engine import Engine
    from bethink.steps.plan import RefinePlan
    from bethink.steps.refine import RefineReport

__all__ = ["Given", "Thread", "limits_within", "policy_or"]

Given: TypeAlias = "Message | Mapping[str, Any]"
"""A message as a caller may give it: a `Message`, an OpenAI chat dict, or an OpenAI Responses item."""


class Thread:
    """One conversation. A handle: making it reads and writes nothing."""

    def __init__(
        self, engine: Engine, namespace: Namespace, thread_id: str | None, policy: Policy, limits: Limits = NO_LIMITS
    ) -> None:
        self._engine = engine
        self._namespace = namespace
        self._id = new_id(engine.clock.now()) if thread_id is None else check_id(thread_id, "thread_id")
        self._policy = policy
        self._limits = limits

    def __repr__(self) -> str:
        return f"Thread({self._id!r}, namespace={self.namespace!r})"

    @property
    def id(self) -> str:
        """Unique within the namespace."""
        return self._id

    @property
    def namespace(self) -> Namespace:
        return self._namespace

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
        request = self._append_request(messages, expected_tip)
        with self._engine.appending(request):
            return self._engine.store.append(request)

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

    def context(
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
        """What the model should see now, never more than `budget` tokens (`settings.window` if left out).

        Folds the oldest messages first when the policy says so (by default when they pass `settings.compaction_trigger` of the
        budget), and stores a receipt that `Memory.replay` rebuilds the same context from. An embedder that fails is done
        without: see `Context.without`.

        Args:
            query: what to recall for; the newest user message if left out.
            policy: what stays in view this time, if not as the thread or the memory says.
            oversize: what is done with a message of the current turn that is larger than the room for it, if not as
                `settings.oversize` says: "cut" shortens also the newest user message, "error" shortens nothing.
            for_model: the model that reads it, if not the one the memory was opened for.
            tools: schemas that the request will offer: counted in, and handed back as `Context.tools`. With tools or a model
                named, the budget is that of the whole request, with what begins the reply.
            limits: for this time; what they leave out, the thread or the memory says.

        Raises:
            LimitExceeded: the budget is above the limit, what is pinned above that of the memory message, or it took too long.
            BudgetError: what must be in it (tools, pinned messages and notes, the newest user message) does not fit, or the
                budget is below 1.
            InvalidInput: a tool that is not JSON.
        """
        return self._build(self._asked(query, budget, policy, oversize, for_model, tools, limits))

    def _asked(
        self,
        query: str | None,
        budget: int | None,
        policy: Policy | None,
        oversize: Oversize | Literal["cut", "error"] | None,
        for_model: str | None,
        tools: Sequence[Mapping[str, Any]],
        limits: Limits | None,
    ) -> Asked:
        return asked_for(
            policy_or(policy, self._policy),
            query=query,
            budget=budget,
            oversize=oversize,
            for_model=for_model,
            tools=tools,
            limits=limits_within(limits, self._limits),
        )

    def _build(self, asked: Asked) -> Context:
        return build_context(self._engine, self.namespace, self._id, asked)

    def usage(self) -> UsageReport:
        """What the contexts and model calls of this thread took: tokens by section, what was saved against the full history,
        seconds by step, compactions, cost. Nothing of a fork's parent; a forgotten context no longer counts.

        Reads a small row for each context: about 20 µs.
        """
        return usage_of(self._engine, Scope(self.namespace), self._id)

    def refine(
        self,
        *,
        limit: int | None = None,
        steps: Sequence[ModelStepName] | None = None,
        budget: Budget | None = None,
    ) -> RefineReport:
        """Ask the language model for every summary of this thread that is due, and wait for it. Where `settings.importance`
        says so, also how much the newest messages matter that have no score yet.

        The other steps (`settings.model_steps`) are done in their order, each for messages that it was not done for: insights
        are extracted beside those of the rules, those near each other reconciled, their importance judged, a session that was
        ended summed up. What of an answer does not stand is dropped and counted (`RefineReport.asked`).

        The oldest span comes first, a node above others after these. A model's summary takes the place of the node it was made
        for; one that fails leaves everything as it was, is kept as a failed attempt, and is tried again after a wait that
        doubles (`settings.model_backoff`). What is said, forgotten or folded meanwhile is never covered by it. A thread that is
        not there has nothing that is due.

        Args:
            limit: at most so many summaries. Each takes one call, or several where its messages do not fit the model's window.
                Scores take one call for 40 messages, and four at most. What came of the other steps counts likewise.
            steps: what to do; by default `settings.model_steps`.
            budget: what this call may take of the model, in the place of `Limits.per_call`.

        Raises:
            InvalidInput: the memory has no language model, or an asynchronous one; the limit is below 1; an unknown step.
        """
        from bethink.steps.refine import refine

        return refine(self._engine, self.namespace, self._id, limit=limit, limits=self._limits, steps=steps, budget=budget)

    def plan(self, *, steps: Sequence[ModelStepName] | None = None) -> RefinePlan:
        """What `refine` would ask the language model for this thread now: each call, what it is for, and its tokens at most.
        Asks nothing, and stores nothing but insights that rules draw.

        What follows only from the answers (a summary above summaries that are still to be written, insights that are near
        those still to be extracted) is not in it.
        """
        from bethink.steps.plan import plan

        return plan(self._engine, self.namespace, self._id, limits=self._limits, steps=steps)

    def summaries(self) -> list[SummaryNode]:
        """The summary nodes of the thread, by level and by what they cover, with the last attempts of models at them. [] if
        nothing has been folded.
        """
        return summaries(self._engine, self.namespace, self._id)

    def expand(self, node_id: str) -> list[Message]:
        """The messages that a summary node stands for, in order, through all levels. A node that was replaced since has an
        answer too: a receipt may name it.

        Raises:
            NotFound: the thread has no such node.
        """
        return expand(self._engine, self.namespace, self._id, check_id(node_id, "node_id"))

    def promote(self, message: int | str, tier: Tier = "permanent") -> Tier:
        """Give a message another tier, higher or lower, from now on. Returns the tier it had.

        The message itself stays as it was stored, and so does every context given before. One that becomes permanent is in
        every context again, also when it was folded, with the call or the results that belong to it; one that is permanent no
        longer takes its place among the others. System and developer messages stay in view whatever their tier. Doing it again
        changes nothing.

        Args:
            message: its seq or its id.
            tier: "permanent", "long_term", "working" or "ephemeral"; what the last three mean is for a policy, see `Tiers`.

        Raises:
            NotFound: no such message in this thread.
        """
        return promote(self._engine, self.namespace, self._id, message, tier)

    def tiers(self) -> dict[int, Tiered]:
        """The tiers that messages of this thread were given by `promote`, by seq, and when. {} if there is no such thread."""
        return tiers(self._engine, self.namespace, self._id)

    def scores(self) -> dict[int, Scored]:
        """How much messages of this thread matter by the judgement of a model (`settings.importance`), by seq, oldest first.
        Those that are not among them go by rules. Reads the whole thread; {} if there is none.
        """
        return scores(self._engine, self.namespace, self._id)

    def end(self) -> Summary | None:
        """End the session: write its summary, draw its insights and its episode, bring the profile up to date.

        Returns the summary, or None where there is nothing to sum up. Calling it again without new messages changes nothing;
        a thread may go on after it. With `Settings(review=True)` the summary waits to be approved (see `Memory.pending`).

        Raises:
            NotFound: there is no such thread.
        """
        with self._engine.telemetry.span("end", namespace=self.namespace, thread_id=self._id):
            return reflect(self._engine, self.namespace, self._id)

    def reflection(self) -> Reflection | None:
        """What the last end of this session left, be it by `end()` or because it was due: summary, insights, decisions, open
        tasks, episode; as far as it still holds. None before the first.

        Raises:
            NotFound: there is no such thread.
        """
        return reflection_of(self._engine, self.namespace, self._id)

    def state(self) -> State:
        """The state of the work in this thread, or of the project it is part of: goal, phase, decisions with their reasons,
        facts, finished tasks, artifacts, open questions, and what is no longer current.

        Entries are drawn by rule from what users and assistants said and what tools wrote, and set with `set_state`. Empty for
        a thread that is not there.
        """
        return read_state(self._engine, self.namespace, self._id)

    def set_state(
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
        """Add to the state by hand, all or nothing; returns the state afterwards. Nothing is overwritten: a goal or phase takes
        the place of the former, the rest is added, and `State.history` keeps what is no longer current.

        Args:
            project: the work that this thread is part of. All threads of the namespace that say so share one state.
            decisions: each what was decided, or `(what, because)`.
            artifacts: each a path or URI, or an `Artifact` that also says what it is.
            answers: answers to open questions, by the questions' ids.
            withdraw: ids of entries that are not, or no longer, so.

        Raises:
            InvalidInput: one of them cannot be taken, or nothing is given.
            NotFound: an answer or a withdrawal names nothing that is current.
        """
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
        return self._set_state(found)

    def _set_state(self, found: Stated) -> State:
        return set_state(self._engine, self.namespace, self._id, found)

    def state_block(self, budget: int) -> str:
        """The state as a text of at most `budget` tokens, to give to a sub-agent instead of the transcript: the goal first,
        then the phase, the newest decisions with their reasons, open questions, artifacts, the last 10 facts and 5 finished
        tasks.

        Raises:
            BudgetError: the goal does not fit, or the budget is below 1.
        """
        from bethink.context import state_block

        return state_block(self.state(), budget=budget, counter=self._engine.counter)

    def handoff(
        self,
        task: str,
        *,
        artifacts: Iterable[str | Artifact] = (),
        constraints: Iterable[str] = (),
        budget: int | None = None,
        thread_id: str | None = None,
    ) -> Handoff[Thread]:
        """Hand a task to a specialist: in a thread of its own, with the state of this one and nothing of its messages.

        The specialist's thread is in the namespace `(*namespace, "handoff", thread_id)`: neither of the two recalls anything of
        the other. Each of its contexts shows the task and the state of this thread as it is then. `conclude` there brings the
        result back. The same task under the same `thread_id` again is a retry.

        Args:
            artifacts: what to work on: paths, URIs, or `Artifact`s.
            constraints: what to keep to, a line each.
            budget: tokens of the first context (`settings.window` if left out).
            thread_id: of the specialist's thread; a new one if left out.

        Raises:
            InvalidInput: an empty task, or something that is no artifact or constraint.
            BudgetError: the task does not fit.
            LimitExceeded: the budget is above the limit.
            Conflict: that thread was given another task.
        """
        return self._handoff(task_message(task, artifacts, constraints), budget, thread_id)

    def _handoff(self, task: Message, budget: int | None, thread_id: str | None) -> Handoff[Thread]:
        child_id = new_id(self._engine.clock.now()) if thread_id is None else thread_id
        # Before anything is written: the name may be none.
        below = namespace_of_handoff(self._namespace, child_id)
        budget = budget_within(self._limits, budget, window=self._engine.settings.window)
        hand_on(self._engine, self._namespace, self._id, child_id, task, budget)
        child = Thread(self._engine, below, child_id, self._policy, self._limits)
        return Handoff(thread=child, context=child.context(budget=budget), parent_id=self._id)

    def handoffs(self) -> list[ThreadInfo]:
        """The threads of the specialists that this one has handed tasks to, oldest first."""
        return handoffs(self._engine, self.namespace, self._id)

    def conclude(self, text: str, *, artifacts: Iterable[str | Artifact] = (), name: str | None = None) -> Message:
        """End the task of a `handoff` with its result: all of this thread that its parent gets to see.

        The parent gets one assistant message, and in its state the finished task and the artifacts. Returns that message.
        Concluding again with the same text is a retry.

        Args:
            name: under which the result is said; the agent's if left out, or "specialist".

        Raises:
            InvalidInput: nobody handed a task to this thread.
            NotFound: the parent has been forgotten.
            Conflict: it was concluded with another text.
        """
        said_by = name or self._engine.agent or "specialist"
        return conclude(self._engine, self.namespace, self._id, text, artifacts, said_by)

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
        fork = Thread(self._engine, self._namespace, thread_id, self._policy, self._limits)
        if isinstance(at, str):
            fork_at_checkpoint(self._engine, self.namespace, self._id, at, fork.id)
            return fork
        append(self._engine, self.namespace, fork.id, (), fork_of=ForkPoint(self._id, at))
        return fork

    def delete(self) -> ForgetReceipt:
        """Forget the thread and everything that rests on it alone: `memory.forget(thread=...)`."""
        return self._engine.forget(Forget(scope=Scope(self._namespace), at=self._engine.clock.now(), thread_id=self._id))


def limits_within(given: Limits | None, wider: Limits) -> Limits:
    """`given`, and where it says nothing the wider ones."""
    if given is None:
        return wider
    if not isinstance(given, Limits):
        raise InvalidInput("limits", f"a {type(given).__name__}", "give Limits(...)")
    return given.within(wider)


def policy_or(given: Policy | None, otherwise: Policy) -> Policy:
    """`given`, or the other where nothing is said."""
    if given is None:
        return otherwise
    if not isinstance(given, Policy):
        raise InvalidInput("policy", f"a {type(given).__name__}", "give a policy, such as SlidingWindow(20)")
    return given
