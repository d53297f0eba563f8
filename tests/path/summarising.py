"""A conversation, replies to it, and what becomes of them: what the tests of a model's summaries set up."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from datetime import datetime, timedelta, timezone

from hypothesis import HealthCheck, settings

from bethink.compaction.model_reply import Grounds, read_reply
from bethink.compaction.model_summary import Outcome, Written, summarise_with_model
from bethink.compaction.prompts import frame_of, shown_messages
from bethink.messages import Message
from bethink.models.driving import arun, run
from bethink.models.tokens import BuiltinCounter
from bethink.records import Line
from bethink.storage.base import FailureReason
from bethink.testing.doubles import AsyncScriptedModel, Scripted, ScriptedModel

AT = datetime(2026, 3, 1, 12, tzinfo=timezone.utc)
for_any = settings(max_examples=60, deadline=None, suppress_health_check=[HealthCheck.too_slow])
count = BuiltinCounter().count


def thread(*said: tuple[str, str]) -> list[Message]:
    """Messages m1, m2, ... a day apart, each given as (role or name, text)."""
    found = []
    for at, (speaker, text) in enumerate(said, 1):
        role = speaker if speaker in ("user", "assistant", "tool", "system") else "user"
        fields = {"role": role, "name": None if role == speaker else speaker, "tool_call_id": "c" if role == "tool" else None}
        found.append(Message(content=text, id=f"m{at}", created_at=AT + timedelta(days=at), **fields))  # type: ignore[arg-type]
    return found


TRIP = thread(
    ("user", "I am planning a trip to Porto with Ada from 14 March to 18 March."),
    ("assistant", "Good. I looked at trains and at hotels near the station."),
    ("user", "We decided to take the 7:30 train because Ada gets sick on buses."),
    ("assistant", "I booked two seats, the reference is QX-4071."),
    ("user", "The budget for the hotel is 480 euros, and it must have a lift."),
    ("assistant", "I wrote the plan to docs/porto.md. Shall we look for restaurants as well?"),
)
GOOD = """\
[1] The user and Ada travel to Porto from 14 March to 18 March.
[3] They decided to take the 7:30 train, because Ada gets sick on buses.
[4] Two seats are booked, reference QX-4071.
[5] The hotel may cost 480 euros and must have a lift.
[6] The plan is in docs/porto.md; restaurants are an open question.
"""


def asked(
    script: Sequence[Scripted],
    messages: Sequence[Message] = TRIP,
    *,
    limit: int = 200,
    timeout: float | None = None,
    **options: object,
) -> Outcome:
    """The outcome, which is the same with either driver."""

    def step() -> object:
        return summarise_with_model(messages, limit=limit, count=count, author="small-1", **options)  # type: ignore[arg-type]

    found: Outcome = run(step(), ScriptedModel(list(script)), timeout=timeout)  # type: ignore[arg-type]
    again: Outcome = asyncio.run(arun(step(), AsyncScriptedModel(list(script)), timeout=timeout))  # type: ignore[arg-type]
    assert again == found
    return found


def written(reply: Scripted, messages: Sequence[Message] = TRIP, limit: int = 200, **options: object) -> Written:
    outcome = asked([reply], messages, limit=limit, **options)  # type: ignore[arg-type]
    assert isinstance(outcome, Written), outcome
    return outcome


def lines_of(reply: str, messages: Sequence[Message] = TRIP, limit: int = 200) -> tuple[Line, ...] | FailureReason:
    """The lines of a reply before lost facts are put back."""
    return read_reply(reply, Grounds(shown_messages(messages), frame_of(limit, "", "")), limit=limit, count=count)


def texts_of(reply: str, messages: Sequence[Message] = TRIP, limit: int = 200) -> list[str]:
    found = lines_of(reply, messages, limit)
    assert not isinstance(found, str), found
    return [line.text for line in found]


def sources_of(reply: str, messages: Sequence[Message] = TRIP) -> tuple[str, ...]:
    found = lines_of(reply, messages)
    assert not isinstance(found, str), found
    (line,) = found
    return line.sources


def tokens(lines: Sequence[Line]) -> int:
    return sum(count(line.text) + 1 for line in lines)
