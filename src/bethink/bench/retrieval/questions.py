"""Data sets as cases: a conversation in sessions, and questions whose evidence is known by name.

    LoCoMo        a case is a pair of people; evidence is turns ("D1:3"), and the sessions that they are in. Questions of
                  category 5, "adversarial", ask somebody about what the other said: no answer, but evidence.
    LongMemEval   a case is a question with its haystack; evidence is sessions (`answer_session_ids`), and turns where the
                  file marks them (`has_answer`). Questions without an answer (ids in "_abs") have none, as in the
                  authors' own figures.
    BEAM          a case is a chat; evidence is messages (`source_chat_ids`). A batch is a session. Abstention has none.

Evidence that names nothing of the conversation is left out, and so is a question of which nothing is left. Conversations are
read when they are needed: LongMemEval's are 500 of half a million characters.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from datetime import datetime
from functools import partial
from pathlib import Path
from typing import Any, Literal, TypeAlias

import msgspec

from bethink.bench.conversations import DEVELOPMENT, Conversation, conversations, of_haystack, time_of
from bethink.errors import ImportFailed
from bethink.messages import Message

__all__ = ["ADVERSARIAL", "Case", "Question", "Session", "Source", "cases", "group_of", "unrelated"]

Source: TypeAlias = Literal["locomo", "longmemeval", "beam"]

ADVERSARIAL = "adversarial"
_CATEGORIES = {1: "multi-hop", 2: "temporal", 3: "open-domain", 4: "single-hop", 5: ADVERSARIAL}
_EVIDENCE = re.compile(r"D:?(\d+):0*(\d+)")
_EVERY = 8
_CHAT, _PROBES = "chat.json", "probing_questions.json"


class Question(msgspec.Struct, frozen=True, kw_only=True):
    """What is asked, and where the answer is.

    Attributes:
        turns, sessions: names of the evidence; () of turns where only sessions are known.
        at: when it is asked, if the file says so.
    """

    text: str
    category: str
    turns: frozenset[str] = frozenset()
    sessions: frozenset[str] = frozenset()
    at: datetime | None = None


class Session(msgspec.Struct, frozen=True):
    """A sitting: its name, and its messages with their names."""

    name: str
    messages: tuple[Message, ...]
    turns: tuple[str, ...]


class Case(msgspec.Struct, frozen=True, kw_only=True):
    """A conversation and its questions.

    Attributes:
        speakers: names of the people who speak, in the file's order; () where there are only roles.
        unlabelled: questions of the file that are not asked, since they have no evidence.
        read: reads the conversation.
    """

    name: str
    questions: tuple[Question, ...]
    read: Callable[[], tuple[Session, ...]]
    speakers: tuple[str, ...] = ()
    unlabelled: int = 0


def cases(source: Source, paths: Sequence[Path]) -> list[Case]:
    """The cases of files, in their order.

    Args:
        paths: for BEAM, a `chat.json`, its folder, or a folder of such folders; the questions lie beside the chat.

    Raises:
        ImportFailed: a file is not what it is said to be.
    """
    read = {"locomo": _locomo, "longmemeval": _longmemeval, "beam": _beam}[source]
    found = [case for path in paths for case in read(path)]
    if not found:
        raise ImportFailed("file", "no conversation", f"give the path of {source}'s data")
    return found


def group_of(source: Source, name: str) -> Literal["development", "others"]:
    """Which half of the data a case is in: parameters are chosen on "development" alone."""
    return "development" if name in DEVELOPMENT[source] else "others"


def unrelated(case: Case, every: Sequence[Case]) -> Iterator[Question]:
    """Questions that this conversation does not answer: one in eight of each other case, with the names of its speakers
    exchanged for the ones who speak here. Some happen to have an answer: people share hobbies.
    """
    for other in every:
        if other is case:
            continue
        for question in other.questions[::_EVERY]:
            yield Question(
                text=_renamed(question.text, dict(zip(other.speakers, case.speakers, strict=False))), category="unrelated"
            )


def _renamed(text: str, names: Mapping[str, str]) -> str:
    # All at once: a name of theirs may be one of ours.
    pattern = "|".join(map(re.escape, names))
    return re.sub(rf"\b(?:{pattern})\b", lambda found: names[found.group()], text) if names else text


def _case(name: str, asked: Sequence[Question], read: Callable[[], tuple[Session, ...]], *speakers: str) -> Case:
    labelled = tuple(question for question in asked if question.sessions)
    return Case(name=name, questions=labelled, read=read, speakers=speakers, unlabelled=len(asked) - len(labelled))


def _session(messages: Sequence[Message], key: str) -> Session:
    turns = tuple(str(message.metadata.get(key, "")) for message in messages)
    return Session(_session_of(turns[0]), tuple(messages), turns)


def _session_of(turn: str) -> str:
    return turn.split(":")[0]


# -- LoCoMo ---------------------------------------------------------------------------------------------------------------


def _locomo(path: Path) -> Iterator[Case]:
    talks = {talk.name: talk for talk in conversations(path)}
    for index, item in enumerate(_json(path)):
        try:
            name, speakers = item["sample_id"], (item["conversation"]["speaker_a"], item["conversation"]["speaker_b"])
            sessions = tuple(_session(messages, "dia_id") for messages in talks[name].sessions if messages)
            there = {turn for session in sessions for turn in session.turns}
            asked = [_locomo_question(each, there) for each in item["qa"]]
        except (AttributeError, KeyError, TypeError):
            raise ImportFailed(f"[{index}]", "not a conversation of LoCoMo", "use locomo10.json, as it was published") from None
        yield _case(name, asked, partial(_same, sessions), *speakers)


def _locomo_question(item: Mapping[str, Any], there: set[str]) -> Question:
    # A few citations are misspelt: "D:11:26", "D30:05", two in one string.
    cited = {f"D{session}:{turn}" for session, turn in _EVIDENCE.findall(" ".join(item.get("evidence", ())))} & there
    return Question(
        text=item["question"],
        category=_CATEGORIES[item["category"]],
        turns=frozenset(cited),
        sessions=frozenset(map(_session_of, cited)),
    )


def _same(sessions: tuple[Session, ...]) -> tuple[Session, ...]:
    return sessions


# -- LongMemEval ----------------------------------------------------------------------------------------------------------


def _longmemeval(path: Path) -> Iterator[Case]:
    for index, entry in enumerate(_json(path)):
        try:
            asked = list(_haystack_questions(entry))
            name = entry["question_id"]
        except (AttributeError, KeyError, TypeError, ValueError):
            raise ImportFailed(
                f"[{index}]", "not a question of LongMemEval", "use its official file, as it was published"
            ) from None
        yield _case(name, asked, partial(_haystack, entry, f"[{index}]"))


def _haystack_questions(entry: Mapping[str, Any]) -> Iterator[Question]:
    """The question of a haystack; or several, as in copies that ask more of one (`questions`, with the sessions of each)."""
    ids, sessions = entry["haystack_session_ids"], entry["haystack_sessions"]
    marked = frozenset(
        f"{index}:{place}"
        for index, session in enumerate(sessions)
        for place, turn in enumerate(session)
        if turn.get("has_answer")
    )
    several = "questions" in entry
    texts = entry["questions"] if several else [entry["question"]]
    answers = entry["answer_session_ids"] if several else [entry["answer_session_ids"]]
    at = time_of(entry["question_date"])
    for text, answer in zip(texts, answers, strict=True):
        found = frozenset(str(index) for index, session in enumerate(ids) if session in answer)
        if entry["question_id"].endswith("_abs"):
            found = frozenset()
        yield Question(
            text=text,
            category=entry["question_type"],
            turns=frozenset(turn for turn in marked if _session_of(turn) in found),
            sessions=found,
            at=at,
        )


def _haystack(entry: Mapping[str, Any], where: str) -> tuple[Session, ...]:
    return _sittings(of_haystack(entry, where))


def _sittings(talk: Conversation) -> tuple[Session, ...]:
    """The conversation by the sessions that its turns are named after."""
    found: dict[str, list[Message]] = {}
    for message in talk.messages:
        found.setdefault(_session_of(str(message.metadata["turn"])), []).append(message)
    return tuple(_session(messages, "turn") for messages in found.values())


# -- BEAM -----------------------------------------------------------------------------------------------------------------


def _beam(path: Path) -> Iterator[Case]:
    for chat in _chats(path):
        (talk,) = conversations(chat)
        sessions = _sittings(talk)
        turns = {turn.split(":")[1]: turn for session in sessions for turn in session.turns}
        try:
            probes = _json(chat.with_name(_PROBES))
            asked = [_probe(each, category, turns) for category, some in probes.items() for each in some]
        except (AttributeError, KeyError, TypeError):
            raise ImportFailed(_PROBES, "not the questions of BEAM", "use its files, as they were published") from None
        yield _case(talk.name, asked, partial(_same, sessions))


def _chats(path: Path) -> list[Path]:
    if not path.is_dir():
        return [path]
    if (path / _CHAT).is_file():
        return [path / _CHAT]
    # By number: "10" comes after "9".
    return sorted(path.glob(f"*/{_CHAT}"), key=lambda chat: (len(chat.parent.name), chat.parent.name))


def _probe(item: Mapping[str, Any], category: str, turns: Mapping[str, str]) -> Question:
    cited = frozenset(turns[each] for each in _flat(item.get("source_chat_ids")) if each in turns)
    return Question(text=item["question"], category=category, turns=cited, sessions=frozenset(map(_session_of, cited)))


def _flat(ids: object) -> Iterator[str]:
    """The ids in a list, or in lists by role ("original_info", "updated_info")."""
    if isinstance(ids, Mapping):
        ids = list(ids.values())
    if isinstance(ids, list):
        for each in ids:
            yield from _flat(each)
    elif ids is not None:
        yield str(ids)


def _json(path: Path) -> Any:
    try:
        return json.loads(path.read_bytes())
    except OSError as error:
        raise ImportFailed(path.name, error.strerror or "not readable", "give the path of the data") from None
    except (UnicodeDecodeError, json.JSONDecodeError):
        raise ImportFailed(path.name, "not JSON", "use the file as it was published") from None
