"""`Board`: the verbs, of one namespace. What is given is checked here, before anything is read or written."""

from __future__ import annotations

from collections.abc import Iterable
from datetime import datetime

import msgspec

from bethink.claims import ArtifactRef, Claim
from bethink.engine import Engine
from bethink.errors import InvalidInput
from bethink.messages import Message, Trust
from bethink.sharing.facts import Dispute, Fact, disputes_of, lines_of, matches
from bethink.steps import board as steps
from bethink.values import Namespace, check_text

__all__ = ["Board"]


class Board:
    """The blackboard of a namespace: `memory.board`. Facts that agents post, each under its own name.

    An agent's newer answer to a question takes the place of its former one. Different answers of two agents both stand, each
    marked with the other, until one is withdrawn by its author or somebody resolves it.
    """

    def __init__(self, engine: Engine, namespace: Namespace) -> None:
        self._engine = engine
        self._namespace = namespace

    def __repr__(self) -> str:
        return f"Board(namespace={self._namespace!r})"

    @property
    def namespace(self) -> Namespace:
        """Whose board this is."""
        return self._namespace

    def post(
        self,
        text: str,
        *,
        about: str,
        slot: str = "",
        value: str | float | None = None,
        source: str = "",
        artifacts: Iterable[ArtifactRef] = (),
        messages: Iterable[str | Message] = (),
        trust: Trust = "assistant",
    ) -> Fact:
        """Post a fact under the name of this view's agent. Posting the same again changes nothing.

            board.post("The budget is 40,000 euros.", about="launch", slot="budget", value=40_000, source="mail of 3 May")

        Args:
            text: the fact, in a sentence that is understood without the rest: it is what others read and what search finds.
            about: its subject; `slot`: which question about that it answers, if any. Compared without regard to case and
                white space.
            value: the answer. Without one the fact answers nothing: it contradicts no other, and takes the place of none.
            source: where it is from, in words.
            artifacts: what it points to (see `Memory.store_artifact`).
            messages: messages of this namespace that it rests on, or their ids: the fact is forgotten with the last of them.
            trust: "assistant" for what the agent has worked out; "tool" or "external" for what it passes on. The lowest among
                this and the messages' is kept.

        Raises:
            InvalidInput: nothing to say, or nobody's name: post through `memory.view(agent=..., write=[...])`.
            PermissionDenied: this view may not write here.
            NotFound: a message is not in this namespace.

        Cost: that of `read`, and one transaction; once more each time that somebody else has written meanwhile.
        """
        check_text(text, "text")
        if not text.strip():
            raise InvalidInput("text", "empty", "say what is the case")
        if trust not in ("assistant", "tool", "external"):
            raise InvalidInput(
                "trust", f"{trust!r}", "use assistant, tool or external: what an agent posts is not the user's word"
            )
        given = [_ref(each, f"artifacts[{index}]") for index, each in enumerate(artifacts)]
        claim = Claim(
            about=_words(about, "about", needed=True),
            slot=_words(slot, "slot"),
            value=_value(value),
            source=_words(source, "source"),
            artifacts=tuple(given),
        )
        if isinstance(messages, str | Message):
            raise InvalidInput("messages", "one by itself", "give a list, also for one")
        return steps.post(self._engine, self._namespace, text, claim, messages=tuple(messages), trust=trust)

    def read(
        self,
        about: str | None = None,
        *,
        slot: str | None = None,
        author: str | None = None,
        as_of: datetime | None = None,
    ) -> list[Fact]:
        """What stands on the board, oldest first, each fact with what contradicts it.

        Args:
            about, slot, author: only facts of that subject, slot, agent.
            as_of: as it stood at that system time. What was forgotten since stays forgotten.

        Cost: reads the current notes of the namespace: some 15 ms for 1,000. With `as_of` all of them, and their versions.
        """
        if as_of is None:
            found = steps.facts_now(self._engine, self._namespace)
        else:
            found = steps.facts_as_of(self._engine, self._namespace, as_of)
        return [fact for fact in found if matches(fact, about=about, slot=slot, author=author)]

    def history(self, about: str | None = None, *, slot: str | None = None, author: str | None = None) -> list[Fact]:
        """The same with facts that stand no longer: superseded by their author, withdrawn, resolved. Oldest first."""
        found = steps.all_facts(self._engine, self._namespace)
        return [fact for fact in found if matches(fact, about=about, slot=slot, author=author)]

    def disputes(self, about: str | None = None) -> list[Dispute]:
        """The questions that agents answer differently, each with the facts that do, oldest first."""
        return disputes_of(self.read(about))

    def text(self, about: str | None = None, *, slot: str | None = None, author: str | None = None) -> str:
        """The facts as lines for a prompt, under the headings of their days: who says what, from where, and who contradicts
        it. It is data, escaped; the same facts give the same bytes. "" for none.
        """
        return lines_of(self.read(about, slot=slot, author=author))

    def withdraw(self, fact: Fact | str) -> Fact:
        """Take back a fact of this view's own agent; returns it as it is then. It stays in `history`, and no longer contradicts
        anything. Whoever holds the memory itself may withdraw any.

        Args:
            fact: the fact, its id, or its short mark (`mem:3f2a9c1d`).

        Raises:
            PermissionDenied: it is another agent's, or this view may not write here.
            NotFound: no such fact on this board.
        """
        return steps.withdraw(self._engine, self._namespace, fact)

    def resolve(self, keep: Fact | str) -> list[Fact]:
        """Settle a dispute: what contradicts this fact stands no longer, in favour of it. Returns what was closed, with the
        name of who did; [] where nothing contradicts it.

        Raises:
            PermissionDenied: this view may not write here.
            NotFound: no such fact on this board.
            Conflict: it stands no longer itself.
        """
        return steps.close_others(self._engine, self._namespace, keep)


def _words(given: object, field: str, *, needed: bool = False) -> str:
    text = check_text(given, field)
    if needed and not text.strip():
        raise InvalidInput(field, "empty", "say what the fact is about")
    return " ".join(text.split())


def _value(given: object) -> str:
    if given is None:
        return ""
    if isinstance(given, bool) or not isinstance(given, str | int | float):
        raise InvalidInput("value", f"a {type(given).__name__}", "pass a text or a number; larger things: an artifact")
    text = check_text(given, "value") if isinstance(given, str) else msgspec.json.encode(given).decode()
    if not text.strip() or text == "null":
        raise InvalidInput("value", "no answer", "leave it out for a fact that answers no question")
    return " ".join(text.split())


def _ref(given: object, field: str) -> ArtifactRef:
    if not isinstance(given, ArtifactRef):
        raise InvalidInput(field, f"a {type(given).__name__}", "pass what store_artifact has returned")
    return given
