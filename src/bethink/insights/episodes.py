"""Episodes: what was done, how, and what came of it; made of a thread's state, and kept within a bound.

    entries of the state ─┬─ goal ─────────────────▶ task
                          ├─ decisions, tasks done ▶ approach       ┐
    messages ─┬─ calls ───────────────────────────▶ tools           ├─▶ Episode, with every message and entry it was made of
              ├─ last words of the user ──────────▶ outcome, feedback┘
              └─ first and last ──────────────────▶ time

The outcome is what the user says of it (`outcome`), and "unknown" where he says nothing: that a list of tasks is done does not
tell whether it was any good. Nothing here is guessed, so a talk without a goal or a finished task leaves no episode.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from datetime import datetime
from typing import Any

from bethink.errors import InvalidInput
from bethink.ids import derived_id, new_id
from bethink.insights.outcome import verdict_in
from bethink.insights.retention import score
from bethink.insights.state.adding import add_up
from bethink.insights.state.values import Entry, State
from bethink.messages import Message, Trust, lowest_trust
from bethink.models.language import Usage
from bethink.records import Episode, Importance, Outcome, Source, StateEntry
from bethink.settings import Settings, check_choice
from bethink.storage.base import Retire
from bethink.values import check_id, check_json, check_text, utc

__all__ = ["drawn_episode", "given_episode", "outgrown", "worded"]

_MOST = 6
"""Decisions, and tasks done, that an approach names: the newest."""


def worded(task: str, outcome: Outcome, approach: str, feedback: str) -> str:
    """All of an episode that is words, in one text: what search looks at, and what a context shows."""
    parts = [f"{task} ({outcome})" if outcome != "unknown" else task, approach, f"feedback: {feedback}" if feedback else ""]
    return "; ".join(part for part in parts if part)


def given_episode(
    task: str,
    *,
    outcome: Outcome,
    now: datetime,
    approach: str = "",
    feedback: str = "",
    tools: Iterable[str] = (),
    started_at: datetime | None = None,
    ended_at: datetime | None = None,
    tokens: int = 0,
    cost: float | None = None,
    thread_id: str | None = None,
    importance: Importance = "medium",
    pinned: bool = False,
    metadata: Mapping[str, Any] | None = None,
) -> Episode:
    """An episode as a caller gives it, checked; see `Memory.store_episode`."""
    for field, text in (("task", task), ("approach", approach), ("feedback", feedback)):
        check_text(text, field)
    if not task.strip():
        raise InvalidInput("task", "empty", "say what was to be done")
    check_choice(outcome, "outcome", Outcome)
    check_choice(importance, "importance", Importance)
    if isinstance(tools, str):
        raise InvalidInput("tools", "a string", "pass a list of names")
    ended = now if ended_at is None else utc(ended_at, "ended_at")
    started = None if started_at is None else utc(started_at, "started_at")
    if started is not None and started > ended:
        raise InvalidInput("started_at", "later than the end", "give the time at which the work began")
    if isinstance(tokens, bool) or not isinstance(tokens, int) or not 0 <= tokens < 2**63:
        raise InvalidInput("tokens", "not a number of tokens", "use 0 or more")
    if cost is not None and not (isinstance(cost, int | float) and math.isfinite(cost) and cost >= 0):
        raise InvalidInput("cost", "not a sum of money", "use a number from 0 up, or None")
    check_json(dict(metadata or {}), "metadata")
    return Episode(
        id=new_id(now),
        text=worded(task, outcome, approach, feedback),
        trust="user",
        recorded_at=now,
        importance=importance,
        pinned=pinned,
        metadata=dict(metadata or {}),
        task=task,
        outcome=outcome,
        approach=approach,
        feedback=feedback,
        tools=tuple([check_id(name, f"tools[{index}]") for index, name in enumerate(tools)]),
        started_at=started,
        ended_at=ended,
        tokens=tokens,
        cost=None if cost is None else float(cost),
        thread_id="" if thread_id is None else check_id(thread_id, "thread"),
    )


def drawn_episode(
    entries: Sequence[StateEntry],
    messages: Sequence[Message],
    *,
    thread_id: str,
    through: int,
    now: datetime,
    used: Usage,
) -> Episode | None:
    """The episode of a thread; None where there is no piece of work in it, or nothing was done about it yet.

    Args:
        entries: of the thread's own state.
        messages: of the thread, stored, in order, up to the seq `through`.
        used: tokens and cost of its contexts and model calls.

    The id follows from the thread and `through`. `trust` is the lowest of what it was made of.
    """
    state = add_up(entries)
    task = _task(state)
    if task is None or not messages:
        return None
    tools: dict[str, str] = {}
    for message in messages:
        for call in message.tool_calls:
            tools.setdefault(call.name, message.id)
    verdict = verdict_in(messages)
    done = [entry for entry in state.completed if entry.id != task.id]
    steps = [*state.decisions[-_MOST:], *done[-_MOST:]]
    if not (steps or tools or verdict or state.goal is None):
        return None
    approach = "; ".join(map(_step, steps))
    outcome: Outcome = verdict.outcome if verdict else "unknown"
    feedback = verdict.text if verdict else ""
    made_of = [task, *steps]
    said = {message.id: message for message in messages}
    cited = dict.fromkeys([*(name for entry in made_of for name in entry.sources if name in said), *tools.values()])
    sources = [Source(name, thread_id, "") for name in cited]
    if verdict is not None and verdict.message.id not in cited:
        sources.append(Source(verdict.message.id, thread_id, feedback, verdict.start, verdict.end))
    last = messages[-1].created_at or now
    trusts: list[Trust] = [said[source.message_id].trust for source in sources]
    if any(not entry.sources for entry in made_of):
        # What was set by hand was set by whoever runs the agent.
        trusts.append("user")
    return Episode(
        id=derived_id(last, "episode", thread_id, str(through)),
        text=worded(task.text, outcome, approach, feedback),
        trust=lowest_trust(trusts),
        recorded_at=now,
        task=task.text,
        outcome=outcome,
        approach=approach,
        feedback=feedback,
        tools=tuple(tools),
        started_at=messages[0].created_at or now,
        ended_at=last,
        tokens=used.tokens_in + used.tokens_out,
        cost=used.cost,
        thread_id=thread_id,
        through=through,
        entries=tuple(entry.id for entry in made_of),
        sources=tuple(sources),
    )


def outgrown(episodes: Iterable[Episode], *, now: datetime, settings: Settings) -> tuple[Retire, ...]:
    """What is to be archived so that no more than `settings.episode_limit` current episodes are left.

    It is the least useful (by the retention score: used and important ones last longer) or the oldest, as
    `settings.episode_keep` says. Pinned ones stay, and count. Archived ones stay in history.
    """
    current = [episode for episode in episodes if episode.current]
    over = len(current) - settings.episode_limit
    if over <= 0:
        return ()
    useful = settings.episode_keep == "useful"

    def worth(episode: Episode) -> tuple[float, datetime, str]:
        kept = score(episode, now=now, retention=settings.retention) if useful else 0.0
        return kept, episode.ended_at, episode.id

    reason = f"archived: {'less useful' if useful else 'older'} than the {settings.episode_limit} kept"
    loose = sorted([episode for episode in current if not episode.pinned], key=worth)
    return tuple(Retire(episode.id, now, reason) for episode in loose[:over])


def _task(state: State) -> Entry | None:
    """What was to be done: the goal, or else the last task that was finished."""
    return state.goal or (state.completed[-1] if state.completed else None)


def _step(entry: Entry) -> str:
    because = f", because {entry.because}" if entry.because else ""
    return f"{'decided' if entry.part == 'decision' else 'done'}: {entry.text}{because}"
