"""Entries that a caller sets, checked. Pure: ids are passed in."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from datetime import datetime
from typing import Any, TypeAlias

import msgspec

from bethink.errors import InvalidInput
from bethink.insights.state.keys import key_of, old_in
from bethink.insights.state.values import Artifact
from bethink.records import Source, StateEntry, StatePart
from bethink.values import check_id, check_text

__all__ = ["MAX_TEXT", "Given", "artifact", "given", "set_by_hand", "texts"]

MAX_TEXT = 1_000
"""Characters of an entry. What is longer belongs into a file, with an artifact that names it."""

DecisionGiven: TypeAlias = "str | tuple[str, str]"
"""What was decided, or that and the reason."""


class Given(msgspec.Struct, frozen=True, kw_only=True):
    """What a caller sets in one call, checked: see `Thread.set_state`."""

    project: str | None = None
    goal: str | None = None
    phase: str | None = None
    decisions: tuple[tuple[str, str], ...] = ()
    facts: tuple[str, ...] = ()
    completed: tuple[str, ...] = ()
    artifacts: tuple[Artifact, ...] = ()
    questions: tuple[str, ...] = ()
    answers: tuple[tuple[str, str], ...] = ()
    withdraw: tuple[str, ...] = ()


def given(
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
) -> Given:
    """The arguments of `Thread.set_state` as values that share nothing with what the caller may still change.

    Raises:
        InvalidInput: one of them cannot be taken, or there is nothing to set.
    """
    if answers is not None and not isinstance(answers, Mapping):
        raise InvalidInput(
            "answers", f"a {type(answers).__name__}", "give a mapping from the ids of questions to their answers"
        )
    found = Given(
        project=None if project is None else check_id(project, "project"),
        goal=None if goal is None else _text(goal, "goal"),
        phase=None if phase is None else _text(phase, "phase"),
        decisions=tuple(_decision(each, field) for each, field in _listed(decisions, "decisions")),
        facts=texts(facts, "facts"),
        completed=texts(completed, "completed"),
        artifacts=tuple(artifact(each, field) for each, field in _listed(artifacts, "artifacts")),
        questions=texts(questions, "questions"),
        answers=tuple((check_id(key, "answers"), _text(text, f"answers[{key!r}]")) for key, text in (answers or {}).items()),
        withdraw=tuple(check_id(each, field) for each, field in _listed(withdraw, "withdraw")),
    )
    if found == Given():
        raise InvalidInput("set_state", "nothing to set", "name a goal, a phase, decisions, facts, ...")
    return found


def set_by_hand(
    found: Given,
    *,
    thread_id: str,
    seq: int,
    now: datetime,
    fresh: Callable[[], str],
    questions: Mapping[str, StateEntry],
) -> tuple[StateEntry, ...]:
    """The entries that say what was given, in its order.

    Args:
        seq: the thread's tip.
        fresh: a new id each time.
        questions: those that `found.answers` names, by the name used there. An answer belongs to its question's thread and
            rests on what that rests on, so that it goes with it.
    """
    said: list[tuple[StatePart, dict[str, Any]]] = []

    def say(part: StatePart, text: str, **fields: Any) -> None:
        said.append((part, {"text": text, **fields}))

    single: tuple[tuple[StatePart, str | None], ...] = (
        ("project", found.project),
        ("goal", found.goal),
        ("phase", found.phase),
    )
    for part, text in single:
        if text is not None:
            say(part, text)
    for name, reply in found.answers:
        question = questions[name]
        sources = tuple(Source(source.message_id, source.thread_id, reply) for source in question.sources)
        say("answer", reply, about=question.id, sources=sources, thread_id=question.thread_id, seq=question.seq)
    for text, because in found.decisions:
        say("decision", text, because=because, old=old_in(text))
    for text in found.questions:
        say("question", text)
    for each in found.artifacts:
        say("artifact", each.text, ref=each.ref, digest=each.digest)
    for text in found.facts:
        say("fact", text)
    for text in found.completed:
        say("task", text)
    return tuple(
        StateEntry(
            id=fresh(),
            trust="user",
            recorded_at=now,
            part=part,
            place=place,
            key=key_of(part, fields["text"], fields.get("ref", "")),
            **{"thread_id": thread_id, "seq": seq, **fields},
        )
        for place, (part, fields) in enumerate(said)
    )


def texts(values: object, field: str) -> tuple[str, ...]:
    """A list of texts, each a line or a few, checked."""
    return tuple(_text(each, name) for each, name in _listed(values, field))


def _listed(values: Any, field: str) -> list[tuple[Any, str]]:
    if isinstance(values, str | Mapping) or not isinstance(values, Iterable):
        raise InvalidInput(field, f"a {type(values).__name__}", "give a list, also for one")
    return [(value, f"{field}[{index}]") for index, value in enumerate(values)]


def _text(value: object, field: str) -> str:
    text = check_text(value, field).strip()
    if not text:
        raise InvalidInput(field, "empty", "say something, or leave it out")
    if len(text) > MAX_TEXT:
        raise InvalidInput(field, f"{len(text):,} characters", f"use at most {MAX_TEXT:,}; put the rest into a file")
    return text


def _decision(value: object, field: str) -> tuple[str, str]:
    if isinstance(value, str):
        return _text(value, field), ""
    if isinstance(value, tuple | list) and len(value) == 2:
        return _text(value[0], f"{field}[0]"), _text(value[1], f"{field}[1]")
    raise InvalidInput(field, f"a {type(value).__name__}", "give what was decided, or that and the reason: (what, because)")


def artifact(value: object, field: str) -> Artifact:
    """A path or an `Artifact`, checked.

    Raises:
        InvalidInput: it is neither, or one of its fields cannot be taken.
    """
    if isinstance(value, str):
        value = Artifact(value)
    if not isinstance(value, Artifact):
        raise InvalidInput(field, f"a {type(value).__name__}", "give a path, or Artifact(ref, text, digest)")
    ref = _text(value.ref, f"{field}.ref")
    text = check_text(value.text, f"{field}.text").strip()
    digest = check_text(value.digest, f"{field}.digest").strip()
    if len(text) > MAX_TEXT or len(digest) > MAX_TEXT:
        raise InvalidInput(field, "more than a line", f"use at most {MAX_TEXT:,} characters for what it is and for its digest")
    return Artifact(ref, text, digest)
