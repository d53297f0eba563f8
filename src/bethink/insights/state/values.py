"""What a state is read as."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import datetime
from typing import Literal, TypeAlias

import msgspec

from bethink.records import StatePart

__all__ = ["Artifact", "By", "Entry", "State", "Status"]

By: TypeAlias = Literal["hand", "user", "assistant"]
Status: TypeAlias = Literal["current", "superseded", "answered", "withdrawn"]


class Artifact(msgspec.Struct, frozen=True):
    """Something that was made: where it is (a path, a URI), what it is, and a digest of what it holds."""

    ref: str
    text: str = ""
    digest: str = ""


class Entry(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """One thing of a state.

    Attributes:
        id: names it, for `set_state(answers=..., withdraw=...)`, `memory.forget(record=...)` and `why`.
        part: what sort of thing.
        text: what it says; of an artifact, what it is.
        by: who says so: it was set by hand, or drawn from what a user or an assistant said.
        at: when that was.
        thread_id: the thread it came from.
        sources: ids of the messages it was drawn from; none if it was set by hand.
        because: the reason of a decision, "" if none was given.
        ref, digest: of an artifact, see `Artifact`.
        status: whether it is current, or what became of it.
        closed_by: the entry that superseded or answered it. `answer` is the text of the latter.
    """

    id: str
    part: StatePart
    text: str
    by: By
    at: datetime
    thread_id: str
    sources: tuple[str, ...] = ()
    because: str = ""
    ref: str = ""
    digest: str = ""
    status: Status = "current"
    closed_by: str = ""
    answer: str = ""


class State(msgspec.Struct, frozen=True, kw_only=True):
    """The state of a thread's work, or of the project that several threads are part of. Each tuple is oldest first.

    Attributes:
        project: the name of the project; "" for a thread that is part of none.
        goal, phase: None until one is known.
        decisions, facts, completed, artifacts, questions: what is current. Questions are what is open, tasks included.
        history: what is no longer current and why, oldest first.
    """

    project: str = ""
    goal: Entry | None = None
    phase: Entry | None = None
    decisions: tuple[Entry, ...] = ()
    facts: tuple[Entry, ...] = ()
    completed: tuple[Entry, ...] = ()
    artifacts: tuple[Entry, ...] = ()
    questions: tuple[Entry, ...] = ()
    history: tuple[Entry, ...] = ()

    def __iter__(self) -> Iterator[Entry]:
        """Everything current: the goal, the phase, and the rest in the order of the fields."""
        yield from (entry for entry in (self.goal, self.phase) if entry is not None)
        for entries in (self.decisions, self.facts, self.completed, self.artifacts, self.questions):
            yield from entries

    def __bool__(self) -> bool:
        """Whether anything is current."""
        return any(True for _ in self)
