"""An entry as one line, and which entries to show: the goal first, what bears on the next step before what is done."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from bethink.insights.state.values import Entry, State
from bethink.records import StateEntry

__all__ = ["line_of_entry", "shown_first"]

MOST_FACTS = 10
MOST_COMPLETED = 5

_LABELS = {
    "goal": "goal",
    "phase": "phase",
    "decision": "decided",
    "question": "open",
    "artifact": "artifact",
    "fact": "fact",
    "task": "done",
}


def line_of_entry(entry: Entry | StateEntry) -> str:
    """`decided: use SQLite, because it is one file`: the same for an entry as stored and as read."""
    label = _LABELS.get(entry.part, entry.part)
    if entry.part == "artifact":
        return f"{label}: {entry.ref} ({entry.text})" if entry.text else f"{label}: {entry.ref}"
    return f"{label}: {entry.text}" + (f", because {entry.because}" if entry.because else "")


def shown_first(state: State, most: int | None = None) -> Iterator[Entry]:
    """The current entries in the order in which they deserve room: goal, phase, decisions, open questions, artifacts (at most
    `most` of each, if given), the last 10 facts, the last 5 tasks; of each sort the newest first.
    """
    yield from (entry for entry in (state.goal, state.phase) if entry is not None)
    for entries in (state.decisions, state.questions, state.artifacts):
        yield from _last(entries, len(entries) if most is None else most)
    yield from _last(state.facts, MOST_FACTS)
    yield from _last(state.completed, MOST_COMPLETED)


def _last(entries: Sequence[Entry], most: int) -> Iterator[Entry]:
    return reversed(entries[max(0, len(entries) - most) :])
