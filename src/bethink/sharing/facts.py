"""Facts of a board: what stands, what contradicts it, what a new one takes the place of. Pure.

An author has one answer to a question (a subject and a slot): his newer one takes the place of the former, whether it is the
same or not. Answers of different authors stand beside each other. Where they are not the same each is marked with the others,
until one is withdrawn by its author or somebody resolves it. What answers no question (no value) stands for itself.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from datetime import datetime
from typing import TypeAlias

import msgspec

from bethink.claims import ArtifactRef, Claim, Contrary, folded
from bethink.context.items import Item, disputed_as, heading_of, line_of, told_with
from bethink.messages import Trust
from bethink.records import Note
from bethink.values import Namespace

__all__ = [
    "Answers",
    "Dispute",
    "Fact",
    "answers_of",
    "contraries",
    "disputes_of",
    "facts_of",
    "lines_of",
    "matches",
    "same_post",
    "standing",
]

_Question: TypeAlias = tuple[str, str]
Answers: TypeAlias = dict[_Question, list[tuple[Note, Claim]]]
"""Notes with their claims, by the question that they answer."""


class Fact(msgspec.Struct, frozen=True, kw_only=True):
    """One fact of a board.

    Attributes:
        id: of the note that it is; its short mark in lines is `[mem:...]` with the last eight characters.
        namespace: of the board.
        author: the agent whose word it is.
        about, slot, value, source, artifacts: see `Claim`.
        at: when it was posted.
        trust: whose word it rests on in the end (see `Board.post`).
        contradicted_by: what other authors answer to the same question, where that is something else; oldest first.
        sources: ids of the messages that it rests on.
        retired_at, reason, superseded_by: of one that stands no longer, when, why, and for what.
    """

    id: str
    namespace: Namespace
    text: str
    author: str
    about: str
    at: datetime
    slot: str = ""
    value: str = ""
    source: str = ""
    artifacts: tuple[ArtifactRef, ...] = ()
    trust: Trust = "assistant"
    contradicted_by: tuple[Contrary, ...] = ()
    sources: tuple[str, ...] = ()
    retired_at: datetime | None = None
    reason: str = ""
    superseded_by: str | None = None

    @property
    def line(self) -> str:
        """As prompts show it, under the heading of its day: author, text, source, artifacts, what contradicts it, its mark.
        Escaped, as all recalled text is.
        """
        return line_of(
            Item(
                section="recalled",
                of="record",
                id=self.id,
                text=told_with(self.text, Claim(about=self.about, source=self.source, artifacts=self.artifacts)),
                at=self.at,
                trust=self.trust,
                reason="",
                speaker=self.author,
                disputed=disputed_as(self.contradicted_by),
            )
        )


class Dispute(msgspec.Struct, frozen=True, kw_only=True):
    """A question that agents answer differently, and the facts that do, oldest first."""

    about: str
    slot: str
    facts: tuple[Fact, ...]


def facts_of(namespace: Namespace, notes: Iterable[Note], beside: Sequence[Note]) -> list[Fact]:
    """Notes with a claim as facts, in order; each that is current is marked with what of `beside` (see `standing`) contradicts
    it.
    """
    found: list[Fact] = []
    answers = answers_of(beside)
    for note in notes:
        claim = note.claim
        if claim is None:
            continue
        fact = Fact(
            id=note.id,
            namespace=namespace,
            text=note.text,
            author=note.author,
            about=claim.about,
            slot=claim.slot,
            value=claim.value,
            source=claim.source,
            artifacts=claim.artifacts,
            at=note.recorded_at,
            trust=note.trust,
            contradicted_by=contraries(note, answers) if note.current else (),
            sources=tuple([source.message_id for source in note.sources]),
            retired_at=note.retired_at,
            reason=note.reason,
            superseded_by=note.superseded_by,
        )
        found.append(fact)
    return found


def standing(notes: Iterable[Note]) -> list[Note]:
    """The current notes with a claim, of each author's answers to one question the newest alone, oldest first."""
    newest: dict[tuple[str, _Question], Note] = {}
    free: list[Note] = []
    for note in sorted(notes, key=_age):
        if note.claim is None or not note.current:
            continue
        if note.claim.question is None:
            free.append(note)
        else:
            newest[note.author, note.claim.question] = note
    return sorted([*free, *newest.values()], key=_age)


def answers_of(notes: Iterable[Note]) -> Answers:
    """What answers a question, by the question, in the order given."""
    found: Answers = {}
    for note in notes:
        if note.claim is not None and (question := note.claim.question) is not None:
            found.setdefault(question, []).append((note, note.claim))
    return found


def contraries(note: Note, answers: Answers) -> tuple[Contrary, ...]:
    """What other authors answer to the question of a note, where that is something else; in the order of `answers`."""
    claim = note.claim
    if claim is None or (question := claim.question) is None:
        return ()
    return tuple(
        [
            Contrary(other.id, other.author, said.value)
            for other, said in answers.get(question, ())
            if other.author != note.author and said.answer != claim.answer
        ]
    )


def same_post(known: Iterable[Note], note: Note) -> Note | None:
    """What is on the board already and says, in the same words of the same author, all that a note says."""
    alike = [
        each
        for each in known
        if each.current
        and (each.author, each.claim, each.text, each.trust) == (note.author, note.claim, note.text, note.trust)
        and {(source.thread_id, source.message_id) for source in note.sources}
        <= {(source.thread_id, source.message_id) for source in each.sources}
    ]
    return alike[-1] if alike else None


def disputes_of(facts: Iterable[Fact]) -> list[Dispute]:
    """The facts that contradict each other, by their question, in the order of the oldest of each."""
    found: dict[_Question, list[Fact]] = {}
    for fact in facts:
        if fact.contradicted_by:
            found.setdefault((folded(fact.about), folded(fact.slot)), []).append(fact)
    return [Dispute(about=each[0].about, slot=each[0].slot, facts=tuple(each)) for each in found.values()]


def lines_of(facts: Iterable[Fact]) -> str:
    """Facts as lines for a prompt, oldest first, under the headings of their days. The same facts, the same bytes."""
    lines: list[str] = []
    heading = ""
    for fact in facts:
        if (day := heading_of(fact.at)) != heading:
            heading = day
            lines.append(day)
        lines.append(fact.line)
    return "\n".join(lines)


def matches(fact: Fact, *, about: str | None, slot: str | None, author: str | None) -> bool:
    """Whether a fact has that subject, slot and author; None matches any."""
    return (
        (about is None or folded(fact.about) == folded(about))
        and (slot is None or folded(fact.slot) == folded(slot))
        and (author is None or fact.author == author)
    )


def _age(note: Note) -> tuple[datetime, str]:
    return note.recorded_at, note.id
