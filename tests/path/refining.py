"""Threads about parcels and a model that sums them up: what the tests of `refine` set up."""

from __future__ import annotations

from collections.abc import Callable
from datetime import timedelta

from bethink import Memory, Message, Settings, Thread
from bethink.models.language import GivenModel, Prompt
from bethink.testing.doubles import FrozenClock, Scripted, ScriptedModel, summing_up

SMALL = Settings(
    window=600, segment_messages=6, node_fan_in=3, node_tokens=80, refine="manual", model_timeout=timedelta(seconds=20)
)
BACKOFF = SMALL.model_backoff


def said(number: int) -> list[Message]:
    return [
        Message(role="user", content=f"Parcel QX-{1000 + number} goes to depot {number} on Monday.", id=f"u{number}"),
        Message(role="assistant", content=f"Good. I noted parcel QX-{1000 + number}.", id=f"a{number}"),
    ]


def opened(model: GivenModel | None, clock: FrozenClock | None = None, **options: object) -> Memory:
    options.setdefault("settings", SMALL)
    return Memory(clock=clock or FrozenClock(), embedder=None, language_model=model, **options)  # type: ignore[arg-type]


def talk(memory: Memory, turns: int = 20, thread_id: str = "t") -> Thread:
    """A thread of so many turns, folded for the small window."""
    thread = memory.thread(thread_id)
    for number in range(turns):
        thread.append(said(number))
    thread.context()
    return thread


def seen(thread: Thread) -> list[dict[str, object]]:
    """What a model would be shown of it now."""
    return thread.context("parcels").to_openai()


def authors(thread: Thread) -> set[str]:
    return {summary.author for summary in thread.summaries()}


def model(name: str = "small") -> ScriptedModel:
    return ScriptedModel(summing_up, name=name)


def failing(answer: Scripted | Callable[[Prompt], str]) -> ScriptedModel:
    return ScriptedModel(answer if callable(answer) else lambda _: answer, name="small")
