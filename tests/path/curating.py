"""A memory whose model draws insights, reconciles, weighs and sums up: what the tests of these steps set up."""

from __future__ import annotations

import html
import json
import re
from collections.abc import Callable
from datetime import timedelta
from typing import Any

import msgspec

from bethink import Memory, Settings
from bethink.models.language import GivenModel, Prompt
from bethink.records import AnyRecord
from bethink.settings import ModelStepName
from bethink.storage.base import Scan, Scope
from bethink.testing.doubles import FrozenClock, Scripted, ScriptedModel, remembering

STEPS: tuple[ModelStepName, ...] = ("extract", "reconcile", "importance", "reflect")
SETTINGS = Settings(refine="manual", model_steps=STEPS, model_timeout=timedelta(seconds=20))

_LISTED = re.compile(r"^\[(\d+)\] (user|assistant)[^:\n]*: (.*)$", re.MULTILINE)


def opened(model: GivenModel | None, clock: FrozenClock | None = None, **options: Any) -> Memory:
    options.setdefault("settings", SETTINGS)
    return Memory(clock=clock or FrozenClock(), embedder=None, language_model=model, **options)


def item(message: int, value: str, **fields: object) -> dict[str, object]:
    return {"message": message, "about": "user", "topic": "preference", "slot": "likes", "value": value, **fields}


def insights(*items: object) -> str:
    return json.dumps({"insights": list(items)})


def decisions(*items: tuple[object, object, str]) -> str:
    return json.dumps({"decisions": [{"new": new, "old": old, "action": action} for new, old, action in items]})


def pairs_of(prompt: Prompt) -> list[tuple[int, int]]:
    """The pairs that a prompt asks about, newer and older."""
    return [(int(new), int(old)) for new, old in re.findall(r"(\d+) and (\d+)", prompt.user.partition("Pairs:")[2])]


def shown(prompt: Prompt) -> list[tuple[int, str, str]]:
    """Number, role and words of each turn that a prompt shows."""
    return [(int(number), role, html.unescape(text)) for number, role, text in _LISTED.findall(prompt.user)]


good = remembering
"""A script that does every step well enough."""


def scripted(answer: Scripted | Callable[[Prompt], Scripted], name: str = "small") -> ScriptedModel:
    return ScriptedModel(answer if callable(answer) else lambda _: answer, name=name)


def talked(memory: Memory, thread_id: str = "t", *, end: bool = True) -> None:
    """A session in which a user says something that rules read and something that they do not."""
    thread = memory.thread(thread_id)
    turns = (
        ("user", "I live in Porto and I am allergic to peanuts."),
        ("assistant", "You love skiing in Norway, go there."),
        ("user", "These days I really dig black coffee."),
        ("user", "My mornings begin with strong coffee."),
        ("user", "We decided to take the night train to Lisbon on 3 May 2026, because it is cheaper."),
    )
    for number, (role, text) in enumerate(turns):
        thread.append([{"role": role, "content": text, "id": f"{thread_id}{number}"}])
    if end:
        thread.end()


def known(memory: Memory) -> list[AnyRecord]:
    """Every record, in the order of ids, current or not."""
    page = memory._engine.store.scan(Scan(what="records", scope=Scope((), subtree=True), limit=10_000))
    return sorted((each.record for each in page.items), key=lambda record: record.id)  # type: ignore[union-attr]


def encoded(memory: Memory) -> bytes:
    """All records, as bytes."""
    return msgspec.json.encode(known(memory))
