"""A board: read what stands on it, add to it, and close what no longer holds, each in one transaction.

What an author has answered before is closed in the transaction that stores his newer answer, on condition that nobody has
changed the records of the namespace since they were read; whoever was overtaken reads again. So of two processes that write as
one agent at the same time neither loses the other's answer, and one of the two stands.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from bethink.claims import Claim
from bethink.engine import Engine
from bethink.errors import Conflict, InvalidInput, NotFound, PermissionDenied
from bethink.ids import new_id
from bethink.messages import Message, Trust, lowest_trust
from bethink.records import Note, Source
from bethink.sharing.facts import Fact, facts_of, same_post, standing
from bethink.steps.authors import board_of
from bethink.steps.past import notes_at, when
from bethink.storage.base import Get, Put, Retire, Scope
from bethink.values import Namespace, check_id

__all__ = ["all_facts", "close_others", "fact_of", "facts_as_of", "facts_now", "post", "withdraw"]

_ATTEMPTS = 1_000
"""Each one that fails is a write of somebody else that succeeded."""


def facts_now(engine: Engine, namespace: Namespace) -> list[Fact]:
    """What stands, oldest first."""
    stands = board_of(engine, namespace)
    return facts_of(namespace, stands, stands)


def facts_as_of(engine: Engine, namespace: Namespace, at: object) -> list[Fact]:
    """What stood at a system time, marked as it was then.

    Raises:
        InvalidInput: a naive time, or one that is yet to come.
    """
    as_of = when(engine, at, None).as_of
    assert as_of is not None, "a time was given"
    stood = standing(notes_at(engine, namespace, as_of))
    return facts_of(namespace, stood, stood)


def all_facts(engine: Engine, namespace: Namespace) -> list[Fact]:
    """What was ever posted and has not been forgotten, oldest first."""
    found = [each.record for each in engine.records(Scope(namespace), kinds=("note",), current=False)]
    notes = [record for record in found if isinstance(record, Note)]
    return facts_of(namespace, notes, standing(notes))


def post(
    engine: Engine, namespace: Namespace, text: str, claim: Claim, *, messages: Sequence[str | Message], trust: Trust
) -> Fact:
    """Put a fact on the board under the agent's name. What says the same already is returned in its place.

    Raises:
        InvalidInput: nobody's name.
        NotFound: a message that it rests on is not in this namespace.
    """
    if not engine.agent:
        raise InvalidInput("agent", "none", "a fact has an author: post through memory.view(agent=..., write=[...])")
    with engine.telemetry.span("board.post", namespace=namespace):
        for _ in range(_ATTEMPTS):
            note = _note(engine, namespace, text, claim, messages, trust)
            revision = engine.store.revision(namespace)
            stands = board_of(engine, namespace)
            if (known := same_post(stands, note)) is not None:
                return facts_of(namespace, [known], stands)[0]
            question = claim.question
            former = [each for each in stands if question is not None and _same_place(each, note)]
            put = Put(
                namespace=namespace,
                records=(note,),
                retire=tuple([Retire(each.id, note.recorded_at, "superseded", note.id, note.recorded_at) for each in former]),
                at=note.recorded_at,
                # What answers no question takes nobody's place, and need not know what else there is.
                at_revision=None if question is None else revision,
            )
            try:
                engine.store.put(put)
            except Conflict:
                continue
            return facts_of(namespace, [note], [each for each in stands if each not in former])[0]
    raise Conflict("this board changes faster than it can be written — post again")


def _note(
    engine: Engine, namespace: Namespace, text: str, claim: Claim, messages: Sequence[str | Message], trust: Trust
) -> Note:
    now = engine.clock.now()
    ids = [given.id if isinstance(given, Message) else check_id(given, "messages") for given in messages]
    sources: list[Source] = []
    trusts: list[Trust] = [trust]
    if ids:
        found = {each.message.id: each for each in engine.store.get(Get(scope=Scope(namespace), messages=tuple(ids))).messages}
        for each in ids:
            if each not in found:
                raise NotFound(f"message {each!r} is not in {'/'.join(namespace)}, the namespace of this board")
            sources.append(Source(each, found[each].thread_id, text))
            trusts.append(found[each].message.trust)
    note = Note(
        id=new_id(now),
        text=text,
        trust=lowest_trust(trusts),
        recorded_at=now,
        sources=tuple(sources),
        author=engine.agent,
        claim=claim,
    )
    return note if engine.redaction is None else engine.redaction.record(note)


def _same_place(one: Note, other: Note) -> bool:
    assert one.claim is not None, "what stands on a board has a claim"
    assert other.claim is not None, "what is posted has a claim"
    return one.author == other.author and one.claim.question == other.claim.question


def fact_of(facts: Iterable[Fact], given: object, namespace: Namespace) -> Fact:
    """The fact of an id, or of its short mark.

    Raises:
        NotFound: there is none, or several.
    """
    if isinstance(given, Fact):
        name = given.id
    else:
        name = check_id(given, "fact").removeprefix("[").removesuffix("]").removeprefix("mem:")
    found = [fact for fact in facts if fact.id == name or (len(name) >= 8 and fact.id.endswith(name))]
    if len(found) != 1:
        raise NotFound(f"{len(found) or 'no'} facts on the board of {'/'.join(namespace)} have that id — give the whole id")
    return found[0]


def withdraw(engine: Engine, namespace: Namespace, given: object) -> Fact:
    """Close a fact. Closing one that is closed changes nothing.

    Raises:
        PermissionDenied: it is another agent's.
    """
    fact = fact_of(all_facts(engine, namespace), given, namespace)
    if engine.rights is not None and fact.author != engine.agent:
        fix = f"it is the word of {fact.author!r}; to say which of several holds: resolve"
        raise PermissionDenied("withdraw", namespace, fix)
    if fact.retired_at is None:
        now = engine.clock.now()
        engine.store.put(Put(namespace=namespace, retire=(Retire(fact.id, now, "withdrawn", None, now),), at=now))
    return fact_of(all_facts(engine, namespace), fact, namespace)


def close_others(engine: Engine, namespace: Namespace, given: object) -> list[Fact]:
    """Close what contradicts a fact; returns what was closed, as it is then.

    Raises:
        Conflict: the fact stands no longer.
    """
    by = f"resolved by {engine.agent}" if engine.agent else "resolved"
    for _ in range(_ATTEMPTS):
        revision = engine.store.revision(namespace)
        keep = fact_of(all_facts(engine, namespace), given, namespace)
        if keep.retired_at is not None:
            raise Conflict(f"that fact stands no longer: {keep.reason} — post it again, or keep another")
        now = engine.clock.now()
        others = tuple([Retire(other.id, now, by, keep.id, now) for other in keep.contradicted_by])
        if not others:
            return []
        try:
            engine.store.put(Put(namespace=namespace, retire=others, at=now, at_revision=revision))
        except Conflict:
            continue
        closed = {each.record_id for each in others}
        return [fact for fact in all_facts(engine, namespace) if fact.id in closed]
    raise Conflict("this board changes faster than it can be written — resolve again")
