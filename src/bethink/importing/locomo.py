"""The LoCoMo data set: long conversations of two people over many dated sessions.

Each session is a thread, `conv-26/session_1`. Both speakers are people, so both have role "user" and are told apart by
name. The data dates sessions, not turns: a turn is put a minute after the one before, in UTC.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from datetime import datetime, timedelta, timezone
from typing import Any

from bethink.errors import ImportFailed
from bethink.importing.conversation import Conversation, Draft, Items, Problems, assemble, join, name_in, need, thread_name
from bethink.messages import Message

__all__ = ["conversations"]

_MONTHS = (
    "january", "february", "march", "april", "may", "june",
    "july", "august", "september", "october", "november", "december",
)  # fmt: skip


def conversations(items: Items, name: str, problems: Problems) -> Iterator[Conversation]:
    """The sessions of every sample, by their number."""
    for index, (where, item) in enumerate(items):
        with problems.at(where):
            sample = name_in(item, "sample_id") if isinstance(item, Mapping) else None
            conversation = need(item, "conversation", dict, where)
            at = join(where, "conversation")
            for number in _sessions(conversation):
                with problems.at(at):
                    yield _session(conversation, number, sample or thread_name(name, index, where), at, problems)


def _sessions(conversation: Mapping[str, Any]) -> list[int]:
    """Numbers of the sessions that have turns; some that only have a date are announced but not there."""
    numbers = (key.removeprefix("session_") for key, value in conversation.items() if isinstance(value, list))
    return sorted(int(number) for number in numbers if number.isdecimal())


def _session(conversation: Mapping[str, Any], number: int, sample: str, where: str, problems: Problems) -> Conversation:
    key = f"session_{number}"
    start = _time(need(conversation, f"{key}_date_time", str, where), join(where, f"{key}_date_time"))
    drafts: list[Draft] = []
    for index, turn in enumerate(conversation[key]):
        at = f"{join(where, key)}[{index}]"
        with problems.at(at):
            drafts.append(Draft(at, _message(turn, start + timedelta(minutes=index), at)))
    return assemble("locomo", f"{sample}/{key}", drafts, problems, title=f"{sample}, session {number}")


def _message(turn: Any, at: datetime, where: str) -> Message:
    text = need(turn, "text", str, where)
    caption = turn.get("blip_caption")
    if isinstance(caption, str) and caption:
        text += f" [shares an image: {caption}]"
    dia_id = name_in(turn, "dia_id")
    return Message(
        role="user",
        name=need(turn, "speaker", str, where),
        content=text,
        created_at=at,
        # No message id: "D1:1" is there once in every sample.
        metadata={"dia_id": dia_id} if dia_id else {},
    )


def _time(written: str, where: str) -> datetime:
    """`1:56 pm on 8 May, 2023`; not by strptime, whose month names depend on the locale."""
    try:
        clock, date = written.lower().split(" on ")
        time, half = clock.split()
        hour, minute = map(int, time.split(":"))
        day, month, year = date.replace(",", " ").split()
        hour = hour % 12 + (12 if half == "pm" else 0)
        return datetime(int(year), _MONTHS.index(month) + 1, int(day), hour, minute, tzinfo=timezone.utc)
    except ValueError:
        raise ImportFailed(where, "not a time as in the data set", 'write it like "1:56 pm on 8 May, 2023"') from None
