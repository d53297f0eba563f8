"""What entries add up to. Pure.

Read in the order in which they were said or set. The newest goal and phase stand. A decision takes the place of the one it
names as replaced, and of the one about the same thing (`StateEntry.key`), as facts do; an artifact that of its former version.
What an assistant says takes the place of no decision or fact of a person: both stand, each with who said it. One that says
what is current already adds nothing, unless it brings the reason, or a person's word for an assistant's. A question is closed
by its answer, or by a later decision, fact or finished task that says all its words.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from functools import cache

import msgspec

from bethink.insights.state.keys import content_of
from bethink.insights.state.values import By, Entry, State, Status
from bethink.records import StateEntry, StatePart

__all__ = ["add_up", "entry_of", "ordered", "project_of"]

_ONE_OF_A_KIND: frozenset[StatePart] = frozenset(("goal", "phase"))
_CLOSING: frozenset[StatePart] = frozenset(("decision", "task", "fact"))
_DECIDED_BY_PEOPLE: frozenset[StatePart] = frozenset(("decision", "fact"))
_NOT_SHOWN: frozenset[StatePart] = frozenset(("answer", "project"))
_FEWEST_TERMS = 2
# They ask, or say that something is open: no part of what it is about.
_ASKING = (
    "which what who how when where whether decide decided figure out settle settled agree agreed clarify determine find work"
    " need yet use choose pick todo not"
)


@cache
def _asking() -> frozenset[str]:
    return content_of(_ASKING)


def ordered(entries: Iterable[StateEntry]) -> list[StateEntry]:
    """Entries of one thread or several in the order in which they were said or set.

    Within a thread that is the order of the log, whatever its clocks say; several threads are merged by time.
    """
    threads: dict[str, list[StateEntry]] = {}
    for entry in entries:
        threads.setdefault(entry.thread_id, []).append(entry)
    timed = []
    for thread_id, own in threads.items():
        own.sort(
            key=lambda entry: (
                entry.seq,
                not entry.sources,
                *((entry.recorded_at,) if not entry.sources else ()),
                entry.place,
                entry.id,
            )
        )
        at = None
        for number, entry in enumerate(own):
            said = entry.valid_from or entry.recorded_at
            at = said if at is None else max(at, said)
            timed.append((at, thread_id, number, entry))
    return [entry for *_, entry in sorted(timed, key=lambda item: item[:3])]


def project_of(entries: Iterable[StateEntry]) -> str:
    """The project that a thread is part of, by its entries; "" for none."""
    named = ordered(entry for entry in entries if entry.part == "project" and entry.current)
    return named[-1].text if named else ""


def entry_of(entry: StateEntry) -> Entry:
    """An entry as it is read."""
    by: By = "hand" if not entry.sources else "user" if entry.trust == "user" else "assistant"
    return Entry(
        id=entry.id,
        part=entry.part,
        text=entry.text,
        by=by,
        at=entry.valid_from or entry.recorded_at,
        thread_id=entry.thread_id,
        sources=tuple(source.message_id for source in entry.sources),
        because=entry.because,
        ref=entry.ref,
        digest=entry.digest,
        status="current" if entry.current else "withdrawn",
    )


def add_up(entries: Iterable[StateEntry]) -> State:
    """The state that entries of one thread, or of the threads of one project, add up to."""
    given = ordered(entries)
    standing = _Standing()
    for entry in given:
        if entry.part not in _NOT_SHOWN:
            standing.add(entry)
    for entry in given:
        if entry.part == "answer" and entry.current:
            standing.answer(entry)
    goals, phases = standing.current("goal"), standing.current("phase")
    return State(
        project=project_of(given),
        goal=goals[-1] if goals else None,
        phase=phases[-1] if phases else None,
        decisions=standing.current("decision"),
        facts=standing.current("fact"),
        completed=standing.current("task"),
        artifacts=standing.current("artifact"),
        questions=standing.current("question"),
        history=tuple(standing.past),
    )


class _Standing:
    """What is current while entries are read one after the other."""

    def __init__(self) -> None:
        self.past: list[Entry] = []
        self._current: dict[StatePart, dict[str, Entry]] = {}
        self._about: dict[tuple[StatePart, str], list[str]] = {}
        """Ids of the current entries about one thing."""
        self._keys: dict[str, tuple[StatePart, str]] = {}
        self._decisions, self._questions = _Words(), _Words()

    def current(self, part: StatePart) -> tuple[Entry, ...]:
        return tuple(self._current.get(part, {}).values())

    def add(self, entry: StateEntry) -> None:
        read = entry_of(entry)
        if not entry.current:
            self.past.append(read)
            return
        about = (entry.part, "" if entry.part in _ONE_OF_A_KIND else entry.key or entry.id)
        standing = self._current.setdefault(entry.part, {})
        same = [standing[each] for each in self._about.get(about, ())]
        if any(_repeats(read, each) for each in same):
            return
        if entry.old and entry.part == "decision":
            named = self._decisions.that_say(content_of(entry.old))
            same += [standing[each] for each in named if standing[each] not in same]
        if entry.part in _DECIDED_BY_PEOPLE and read.by == "assistant":
            same = [each for each in same if each.by == "assistant"]
        self._close(same, entry, "superseded")
        if entry.part in _CLOSING and self._questions:
            questions = self._current["question"]
            settled = [questions[each] for each in self._questions.said_by(content_of(entry.text))]
            self._close(settled, entry, "answered")
        self._add_words(entry)
        standing[entry.id] = read
        self._about.setdefault(about, []).append(entry.id)
        self._keys[entry.id] = about

    def answer(self, entry: StateEntry) -> None:
        question = self._current.get("question", {}).get(entry.about)
        self._close([] if question is None else [question], entry, "answered")

    def _add_words(self, entry: StateEntry) -> None:
        if entry.part == "decision":
            self._decisions.add(entry.id, content_of(entry.text))
        elif entry.part == "question":
            words = content_of(entry.text) - _asking()
            if len(words) >= _FEWEST_TERMS:
                self._questions.add(entry.id, words)

    def _close(self, closed: Sequence[Entry], by: StateEntry, status: Status) -> None:
        for each in closed:
            del self._current[each.part][each.id]
            self._about[self._keys.pop(each.id)].remove(each.id)
            self._decisions.remove(each.id)
            self._questions.remove(each.id)
            answer = by.text if status == "answered" else ""
            self.past.append(msgspec.structs.replace(each, status=status, closed_by=by.id, answer=answer))


def _repeats(entry: Entry, known: Entry) -> bool:
    """Whether an entry says what is known already, no better than before."""
    if (entry.text.casefold(), entry.ref, entry.digest) != (known.text.casefold(), known.ref, known.digest):
        return False
    if entry.because and not known.because:
        return False
    vouched = known.by == "assistant" and entry.by != "assistant"
    return not (vouched and (entry.because or not known.because))


class _Words:
    """Entries by their terms, so that a long history is not read through for each entry that is added to it."""

    def __init__(self) -> None:
        self._terms: dict[str, frozenset[str]] = {}
        self._saying: dict[str, dict[str, None]] = {}
        """By term, the ids of the entries that say it, oldest first."""

    def __bool__(self) -> bool:
        return bool(self._terms)

    def add(self, entry_id: str, terms: frozenset[str]) -> None:
        self._terms[entry_id] = terms
        for term in terms:
            self._saying.setdefault(term, {})[entry_id] = None

    def remove(self, entry_id: str) -> None:
        for term in self._terms.pop(entry_id, ()):
            del self._saying[term][entry_id]

    def that_say(self, words: frozenset[str]) -> list[str]:
        """The entries that say all the words, oldest first; none for no words."""
        rarest = min((self._saying.get(word, {}) for word in words), key=len, default={})
        return [entry_id for entry_id in rarest if words <= self._terms[entry_id]]

    def said_by(self, words: frozenset[str]) -> list[str]:
        """The entries of which all words are among these, oldest first."""
        met = {entry_id for word in words for entry_id in self._saying.get(word, ())}
        return [entry_id for entry_id in self._terms if entry_id in met and self._terms[entry_id] <= words] if met else []
