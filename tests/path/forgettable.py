"""Random histories full of canaries, and what forgetting is to leave of them: said once more, without looking at the code.

A canary is a word that stands in one place alone, or in several on purpose. Whoever holds it is a message of a thread, or a
note. It must be gone when all of its holders are, and must be there as long as one is.
"""

from __future__ import annotations

import json
import random
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass, field
from datetime import datetime, timedelta

from bethink import BudgetError, Memory
from bethink.errors import Forgotten, NotFound
from bethink.messages import Message, Raw, ToolCall
from bethink.records import AnyRecord, Insight, Summary
from bethink.testing.doubles import FrozenClock

Place = tuple[str, str]
"""Of a message: its thread, and its id. Of a note: "", and its id."""


@dataclass
class History:
    """What was said, and where each canary is."""

    memory: Memory
    clock: FrozenClock
    random: random.Random
    holders: dict[str, set[Place]] = field(default_factory=dict)
    groups: dict[str, set[str]] = field(default_factory=dict)
    """By the id of a message: the ids that go with it."""
    contexts: dict[str, bytes] = field(default_factory=dict)
    shared: list[str] = field(default_factory=list)
    number: int = 0

    def canary(self, *places: Place) -> str:
        word = "".join(self.random.choice("bcdfghjklmnpqrtvwxz") for _ in range(13))
        self.holders[word] = set(places)
        return word

    def next_id(self) -> str:
        self.number += 1
        return f"message-{self.number}"

    # -- saying things ----------------------------------------------------------------------------------------------------

    def say(self, thread: str) -> None:
        draw = self.random.random()
        if draw < 0.45:
            self._plain(thread)
        elif draw < 0.6:
            self._fact(thread)
        elif draw < 0.7:
            self._again(thread)
        else:
            self._call(thread)
        self.clock.advance(timedelta(minutes=self.random.randint(1, 900)))

    def _append(self, thread: str, *messages: Message) -> None:
        self.memory.thread(thread).append(messages)
        members = {message.id for message in messages}
        for message in messages:
            self.groups[message.id] = members

    def _plain(self, thread: str) -> None:
        name = self.next_id()
        place = (thread, name)
        text = f"We spoke about {self.canary(place)} and {self.canary(place)} in room {self.number}."
        raw = Raw("openai", json.dumps({"role": "user", "content": text, "x": self.canary(place)}).encode())
        role, raw_or_none = ("user", raw) if self.random.random() < 0.6 else ("assistant", None)
        metadata = {"topic": self.canary(place)} if self.random.random() < 0.5 else {}
        self._append(thread, Message(role=role, content=text, id=name, metadata=metadata, raw=raw_or_none))  # type: ignore[arg-type]

    def _fact(self, thread: str) -> None:
        name = self.next_id()
        word = self.canary((thread, name)).capitalize()
        kind = self.random.randrange(3)
        text = (f"I live in {word}.", f"I love {word.lower()}.", f"I'm allergic to {word.lower()}.")[kind]
        self.holders[word] = self.holders.pop(word.lower())
        if kind:
            self.holders[word.lower()] = self.holders.pop(word)
            self.shared.append(word.lower())
        self._append(thread, Message(role="user", content=text, id=name))

    def _again(self, thread: str) -> None:
        """What was said before, by another message: neither alone may take it along."""
        if not self.shared:
            return self._plain(thread)
        word, name = self.random.choice(self.shared), self.next_id()
        self.holders[word].add((thread, name))
        self._append(thread, Message(role="user", content=f"I love {word}.", id=name))
        return None

    def _call(self, thread: str) -> None:
        asks, answers = self.next_id(), self.next_id()
        call = ToolCall(f"call-{asks}", "search", json.dumps({"q": self.canary((thread, asks))}))
        found = f"found {self.canary((thread, answers))} and {self.canary((thread, answers))}"
        self._append(
            thread,
            Message(role="assistant", content=None, tool_calls=(call,), id=asks),
            Message(role="tool", tool_call_id=call.id, content=found, id=answers),
        )

    def note(self) -> None:
        word = self.canary()
        self.holders[word] = {("", self.memory.store(f"keep {word} in mind", {"x": word}).id)}

    def fork(self, thread: str, to: str) -> None:
        self.memory.thread(thread).fork(thread_id=to)
        for places in self.holders.values():
            places.update([(to, name) for of, name in list(places) if of == thread])

    # -- deriving things --------------------------------------------------------------------------------------------------

    def derive(self, thread: str) -> None:
        """Some of all that rests on what was said."""
        draw, handle = self.random.random(), self.memory.thread(thread)
        if draw < 0.4:
            with suppress(BudgetError):
                context = handle.context(self.random.choice(list(self.holders)), budget=self.random.randint(300, 1_500))
                self.contexts[context.receipt_id] = context.to_bytes()
        elif draw < 0.55:
            said = [message.text for message in handle.messages()]
            handle.checkpoint({"said": said}, view={"last": said[-1] if said else ""})
        elif draw < 0.65:
            handle.end()
        elif draw < 0.75:
            self.memory.flush()
        elif draw < 0.85:
            self.memory.recall(self.random.choice(list(self.holders)))
        elif stored := handle.messages():
            handle.promote(self.random.choice(stored).id, self.random.choice(("long_term", "permanent", "working")))

    # -- forgetting -------------------------------------------------------------------------------------------------------

    def places(self) -> set[Place]:
        """Whatever is there now and holds a canary."""
        return {place for places in self.holders.values() for place in places}

    def gone(self, places: set[Place]) -> set[str]:
        """The canaries that only these hold. They are held by nobody any more."""
        found = {word for word, held in self.holders.items() if held <= places}
        self.holders = {word: held - places for word, held in self.holders.items() if word not in found}
        return found


def build(memory: Memory, clock: FrozenClock, seed: int) -> History:
    """A history of some 220 messages in up to four threads, one of them perhaps a fork."""
    history = History(memory, clock, random.Random(seed))
    threads = ["a", "b", "c"]
    for thread in threads:
        history.say(thread)
    for step in range(history.random.randint(130, 180)):
        history.say(history.random.choice(threads))
        if history.random.random() < 0.12:
            history.derive(history.random.choice(threads))
        if history.random.random() < 0.05:
            history.note()
        if step == 60 and history.random.random() < 0.5:
            history.fork("b", "fork")
            threads.append("fork")
    for thread in threads:
        history.derive(thread)
    history.memory.profile()
    return history


def forget_some(history: History) -> set[str]:
    """Forget messages, notes and a whole thread; the canaries that must be gone."""
    draw, memory, gone = history.random, history.memory, set[str]()
    for _ in range(draw.randint(4, 10)):
        places = sorted(history.places())
        thread, name = draw.choice(places)
        if thread:
            memory.forget(message=name)
            members = history.groups[name]
            gone |= history.gone({place for place in places if place[0] and place[1] in members})
        else:
            memory.forget(record=name)
            gone |= history.gone({("", name)})
        if draw.random() < 0.3:
            history.derive(draw.choice(sorted({of for of, _ in history.places() if of})))
    for thread in draw.sample(["a", "b", "c"], draw.randint(1, 2)):
        memory.forget(thread=thread)
        gone |= history.gone({place for place in history.places() if place[0] == thread})
    return gone


# -- what is there --------------------------------------------------------------------------------------------------------


def messages_of(memory: Memory) -> dict[Place, Message]:
    return {(info.thread_id, each.id): each for info in memory.threads() for each in memory.thread(info.thread_id).messages()}


def records_of(memory: Memory) -> dict[str, AnyRecord]:
    return {record.id: record for record in memory.records(current=False)}


def unjustly_gone(before: dict[str, AnyRecord], after: dict[str, AnyRecord], there: set[Place]) -> Iterator[str]:
    """Records, or lines of them, that are gone although all they rest on is there."""
    for name, record in before.items():
        left = after.get(name)
        if isinstance(record, Summary):
            lines = [line for line in record.lines if all((record.thread_id, source) in there for source in line.sources)]
            if lines and (not isinstance(left, Summary) or not set(lines) <= set(left.lines)):
                yield f"lines of summary {name}"
        elif record.sources:
            names = {
                source.message_id for source in record.sources if any(of for of, known in there if known == source.message_id)
            }
            kept = set() if left is None else {source.message_id for source in left.sources}
            if not names <= kept:
                yield f"{record.kind} {name}"


def unrevived(after: dict[str, AnyRecord]) -> list[str]:
    """Subjects whose residence is known and yet none is current, or several are, or one that was left before another began.
    (One that the profile had no room for is archived, and stays so, until the next is told.)"""
    known = [each for each in after.values() if isinstance(each, Insight) and each.slot == "residence"]
    wrong = []
    for subject in sorted({each.subject for each in known}):
        current = [each for each in known if each.subject == subject and each.current]
        archived = [each for each in known if each.subject == subject and each.archived]
        left = [one for one in current for other in archived if began(one) < began(other)]
        if left or len(current) > 1 or not (current or archived):
            wrong.append(subject)
    return wrong


def began(insight: Insight) -> datetime:
    return insight.valid_from or insight.recorded_at


def wrongly_replayed(history: History) -> list[str]:
    """Contexts that are rebuilt as something else than they were."""
    wrong = []
    for receipt, was in history.contexts.items():
        with suppress(Forgotten, NotFound):
            if history.memory.replay(receipt).to_bytes() != was:
                wrong.append(receipt)
    return wrong
