"""Whole conversations out of data sets that others publish: every session of one pair of speakers, one after the other.

    LongMemEval   a list of questions, each with its haystack of sessions, put in the order of their dates
    BEAM          `chat.json` of one conversation: batches of turns, each turn a question with what follows it
    others        any file that `importing` reads; LoCoMo's sessions are put together

A message says in its metadata where the data set has it, so that evidence can name it: LoCoMo's `dia_id` ("D1:3"), and `turn`,
which is LongMemEval's place of session and turn in the haystack ("12:3"), or BEAM's batch and id of the message ("1:58").

The data is never part of bethink; a benchmark is given a path.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from datetime import datetime, timedelta, timezone
from pathlib import Path
from typing import Any

import msgspec

from bethink.errors import ImportFailed
from bethink.ids import derived_id
from bethink.importing import detect, read
from bethink.messages import Message, Role, checked

__all__ = ["DEVELOPMENT", "Conversation", "conversations", "of_haystack", "time_of"]

DEVELOPMENT = {
    "locomo": ("conv-26", "conv-30", "conv-41", "conv-42"),
    "longmemeval": ("852ce960",),
    "beam": ("1", "2", "3"),
}
"""The conversations that parameters were chosen on, by their source; the others tell what the choice is worth."""

_LONGMEMEVAL, _BEAM = "longmemeval", "beam"
_MONTHS = ("jan", "feb", "mar", "apr", "may", "jun", "jul", "aug", "sep", "oct", "nov", "dec")
_UNDATED = datetime(2024, 1, 1, tzinfo=timezone.utc)
_MARK = re.compile(r"\s*->->[\s\d,]*$")
"""What BEAM puts behind a question: its place in the plan the chat was made from."""


class Conversation(msgspec.Struct, frozen=True):
    """One conversation: its sessions in order, each message with an id, and with a time if the file dates it.

    Attributes:
        name: `conv-26`, the id of the question whose haystack it is, or the folder of the chat.
        source: the format it was read from, `longmemeval` and `beam` included.
    """

    name: str
    source: str
    sessions: tuple[tuple[Message, ...], ...]

    @property
    def messages(self) -> tuple[Message, ...]:
        return tuple(message for session in self.sessions for message in session)

    @property
    def speakers(self) -> frozenset[str]:
        """Who speaks, in small letters: a role, or a person's name."""
        return frozenset(message.speaker.lower() for message in self.messages)


def conversations(path: Path) -> list[Conversation]:
    """The conversations of a file, in its order. Threads named `a/b` are sessions of `a`, as LoCoMo's are.

    Raises:
        ImportFailed: the file is of no format that is known.
    """
    first, entries = _entries(path)
    if "haystack_sessions" in first:
        return [of_haystack(entry, f"[{index}]") for index, entry in enumerate(entries)]
    if "batch_number" in first:
        return [_of_batches(entries, path.resolve().parent.name)]
    source = detect(path)
    sessions: dict[str, list[tuple[Message, ...]]] = {}
    for thread in read(path, source):
        name = thread.thread_id.split("/")[0] if source == "locomo" else thread.thread_id
        sessions.setdefault(name, []).append(thread.messages)
    return [Conversation(name, source, tuple(found)) for name, found in sessions.items()]


def _entries(path: Path) -> tuple[Mapping[str, Any], list[Any]]:
    """The first entry of a JSON list of objects, and all of them; empty for anything else."""
    try:
        entries = json.loads(path.read_bytes()) if path.suffix == ".json" and path.is_file() else None
    except (UnicodeDecodeError, json.JSONDecodeError):
        entries = None
    if isinstance(entries, list) and entries and isinstance(entries[0], dict):
        return entries[0], entries
    return {}, []


def _message(turn: Mapping[str, str], at: datetime, where: str, name: str, *place: str) -> Message:
    role: Role = "user" if turn["role"] == "user" else "assistant"
    message = Message(role=role, content=turn["content"], created_at=at, id=derived_id(at, *place), metadata={"turn": name})
    return checked(message, where)


def of_haystack(entry: Mapping[str, Any], where: str) -> Conversation:
    """The haystack of one question of LongMemEval, as a conversation."""
    try:
        name, dates, sessions = entry["question_id"], entry["haystack_dates"], entry["haystack_sessions"]
        # The haystack is not in the order of its dates; a conversation is.
        dated = sorted(zip(map(time_of, dates), range(len(dates)), sessions, strict=True), key=lambda each: each[0])
        found = tuple(
            tuple(
                _message(
                    turn,
                    start + timedelta(minutes=position),
                    where,
                    f"{index}:{position}",
                    *(_LONGMEMEVAL, name, str(number), str(position)),
                )
                for position, turn in enumerate(session)
            )
            for number, (start, index, session) in enumerate(dated)
        )
    except (AttributeError, KeyError, TypeError, ValueError):
        raise ImportFailed(where, "not a question of LongMemEval", "use its official file, as it was published") from None
    return Conversation(name, _LONGMEMEVAL, found)


def time_of(written: str) -> datetime:
    """A date of LongMemEval, `2023/07/12 (Wed) 10:14`; the weekday says nothing new, and its name depends on the locale."""
    date, _, clock = written.split(" ")
    return datetime.strptime(f"{date} {clock}", "%Y/%m/%d %H:%M").replace(tzinfo=timezone.utc)


def _of_batches(batches: list[Any], name: str) -> Conversation:
    sessions: list[tuple[Message, ...]] = []
    at = _UNDATED
    try:
        for batch in batches:
            for turn in batch["turns"]:
                session = []
                for said in turn:
                    # Only the first message of a batch has its date.
                    at = _day(said["time_anchor"]) if said.get("time_anchor") else at + timedelta(minutes=1)
                    plain = {"role": said["role"], "content": _MARK.sub("", said["content"])}
                    turn_name = f"{batch['batch_number']}:{said['id']}"
                    session.append(_message(plain, at, name, turn_name, _BEAM, name, str(said["id"])))
                sessions.append(tuple(session))
    except (AttributeError, KeyError, TypeError, ValueError):
        raise ImportFailed("file", "not a chat of BEAM", "use its chat.json, as it was published") from None
    return Conversation(name, _BEAM, tuple(sessions))


def _day(written: str) -> datetime:
    """`March-15-2024`; not by strptime, whose month names depend on the locale."""
    month, day, year = written.split("-")
    return datetime(int(year), _MONTHS.index(month[:3].lower()) + 1, int(day), tzinfo=timezone.utc)
