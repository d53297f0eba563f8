"""The summariser that asks a model: a step that yields prompts and ends in lines, or in the reason why there are none.

    messages, or lines of nodes ─▶ numbered list ─▶ prompt, one a pass ─▶ checked lines ─▶ lost facts put back ─▶ Written
                                                          │                    │                  │
                                                          └────────────────────┴──────────────────┴──▶ Failed

The extractive summariser is the measure. Where it finds nothing worth a line, no model is asked. Facts (numbers, dates, names,
identifiers, decisions) are known before a model is asked: those that it leaves out come back as the sentences that state them,
word for word, and a summary that keeps clearly fewer than the extractive one is refused. So what a model writes is never much
poorer in facts than the summary that serves meanwhile.

A step sees one fixed span. What is said while a model works is not in it, and no line can cite it.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TypeAlias

import msgspec

from bethink.compaction.extractive import choose, select, sentences_of
from bethink.compaction.languages import LANGUAGE_NAMES, language_of
from bethink.compaction.model_reply import Grounds, read_reply
from bethink.compaction.prompts import Shown, frame_of, passes, prompt_for, shown_lines, shown_messages
from bethink.compaction.statements import statements, without_repetition
from bethink.compaction.wanted import RESERVE, Wanted
from bethink.errors import InvalidInput
from bethink.messages import Message, role_of_voice
from bethink.models.language import PLANNED, ModelError, ModelStep, Usage
from bethink.records import Line
from bethink.storage.base import FailureReason
from bethink.values import check_text

__all__ = ["Failed", "Outcome", "Written", "summarise_lines_with_model", "summarise_with_model"]

_LEAST_KEPT = 0.75
"""A summary must keep this share of the facts that the extractive one of the same limit keeps."""

# A reply has its citations, and a model its own count of tokens.
_REPLY_FACTOR, _REPLY_FRAME = 2, 128
# In several passes each may write at least so many tokens.
_LEAST_IN_PASS = 48
# A pass must have room for this many tokens of material.
_LEAST_ROOM = 128

_ROLES = ("user", "assistant", "tool")


class Written(msgspec.Struct, frozen=True, kw_only=True):
    """A summary.

    Attributes:
        lines: oldest first, within the limit; () for a span of which nothing is worth a line.
        author: the model's name; `"extractive"` where no model was asked.
        put_back: how many of the lines are sentences with facts that the model left out.
        usage: what the calls took.
    """

    lines: tuple[Line, ...]
    author: str
    put_back: int = 0
    usage: Usage = Usage()


class Failed(msgspec.Struct, frozen=True, kw_only=True):
    """No summary, and why. Nothing is changed by it.

    Attributes:
        reason: `"error"` or `"timeout"` of the model; or what its reply was (see `model_reply.read_reply`), or `"lost facts"`.
        detail: what happened, in a few words that quote nothing.
        usage: what the calls took all the same.
    """

    reason: FailureReason
    detail: str = ""
    usage: Usage = Usage()


Outcome: TypeAlias = Written | Failed


def summarise_with_model(
    messages: Sequence[Message],
    *,
    limit: int,
    count: Callable[[str], int],
    author: str,
    window: int = 8_000,
    language: str = "",
    instructions: str = "",
) -> ModelStep[Outcome]:
    """A step that summarises a span of a thread.

    Args:
        messages: stored messages, in order. What the model is shown of them is settled now, before the step starts.
        limit: tokens that the lines may have together, each counted with the line break behind it.
        count: tokens of a text.
        author: the model's name, for what it wrote.
        window: tokens of the model that summarises, of prompt and reply together; the agent's own budget does not matter here.
            A span that does not fit is summarised in several passes, each within it.
        language: a code of `languages.LANGUAGE_NAMES`; "" for the language of the conversation.
        instructions: what the developer asks of the summary besides; never part of it.

    Returns:
        A step that ends in an `Outcome` and asks once a pass. It raises nothing, whatever it is sent.

    Raises:
        InvalidInput: a limit below 1, a window too small for the prompt, an unknown language.
    """
    said = [
        (Line(text=text, sources=(message.id,), at=at, speaker=message.voice), message.role)
        for message in messages
        if (at := message.created_at) is not None
        for text in sentences_of(message)
    ]
    task = _Task(limit, count, author, language, language or _spoken(messages), instructions)
    return _step(task, shown_messages(messages), said, window)


def summarise_lines_with_model(
    lines: Sequence[Line],
    *,
    limit: int,
    count: Callable[[str], int],
    author: str,
    window: int = 8_000,
    language: str = "",
    instructions: str = "",
) -> ModelStep[Outcome]:
    """A step that summarises the lines of nodes, oldest first, for the node above them.

    Arguments and result as for `summarise_with_model`. A line that rests on some of `lines` cites the messages these cite.
    """
    said = [(line, role_of_voice(line.speaker)) for line in lines]
    hint = language or language_of("\n".join(line.text for line in lines))
    return _step(_Task(limit, count, author, language, hint, instructions), shown_lines(lines), said, window)


def _spoken(messages: Sequence[Message]) -> str:
    """The language of the users, or of everybody where that of the users cannot be told."""
    users = language_of("\n".join(message.text for message in messages if message.role == "user"))
    return users or language_of("\n".join(message.text for message in messages if message.role in _ROLES))


# -- the step -------------------------------------------------------------------------------------------------------------


class _Task(msgspec.Struct, frozen=True):
    """What was asked for. `hint` is the language to write in, which is not insisted on unless it is `language`."""

    limit: int
    count: Callable[[str], int]
    author: str
    language: str
    hint: str
    instructions: str

    def frame(self, share: int) -> str:
        """The instructions for a pass that may fill `share` tokens of the limit."""
        return frame_of(max(1, int((1 - RESERVE) * share)), self.hint, self.instructions)

    def size(self, lines: Sequence[Line]) -> int:
        return sum(self.count(line.text) + 1 for line in lines)


def _longest_reply(share: int) -> int:
    return _REPLY_FACTOR * share + _REPLY_FRAME


def _step(task: _Task, shown: Sequence[Shown], said: Sequence[tuple[Line, str]], window: int) -> ModelStep[Outcome]:
    """Checks what was given, and hands back the step itself."""
    if task.limit < 1:
        raise InvalidInput("limit", f"{task.limit}", "use 1 token or more")
    if task.language and task.language not in LANGUAGE_NAMES:
        raise InvalidInput("language", "not a code that can be told", f"use one of {', '.join(LANGUAGE_NAMES)}, or ''")
    check_text(task.instructions, "instructions")
    taken = _longest_reply(task.limit)
    taken += task.count(prompt_for((), task.frame(task.limit), taken).text)
    if window - taken < _LEAST_ROOM:
        raise InvalidInput("window", f"{window} tokens", f"use at least {taken + _LEAST_ROOM} for a summary of {task.limit}")
    return _summarised(task, tuple(passes(shown, window - taken, task.count)), tuple(said))


def _summarised(task: _Task, runs: Sequence[tuple[Shown, ...]], said: Sequence[tuple[Line, str]]) -> ModelStep[Outcome]:
    baseline = select(said, limit=task.limit, count=task.count)
    if not baseline or not runs:
        return Written(lines=baseline, author="extractive")
    usage = Usage()
    lines: list[Line] = []
    sizes = [sum(len(each.text) for each in run) for run in runs]
    for run, size in zip(runs, sizes, strict=True):
        # Each pass gets its share of the limit. Together they may get more, of which the best lines are taken.
        share = min(task.limit, max(_LEAST_IN_PASS, task.limit * size // sum(sizes)))
        frame = task.frame(share)
        answer = yield prompt_for(run, frame, _longest_reply(share))
        if answer is PLANNED:
            continue
        usage = usage.plus(answer)
        if isinstance(answer, ModelError):
            return Failed(reason=answer.reason, detail=answer.detail, usage=usage)
        found = read_reply(
            answer.text,
            Grounds(run, frame),
            limit=share,
            count=task.count,
            language=task.language,
            truncated=answer.truncated,
        )
        if isinstance(found, str):
            return Failed(reason=found, detail=f"a reply of {len(answer.text):,} characters", usage=usage)
        lines += found
    if task.size(lines) > task.limit:
        lines = list(choose(lines, limit=task.limit, count=task.count))
    order = {source: each.number for run in runs for each in run for source in each.sources}
    wanted = Wanted(without_repetition(statements(said)), order)
    measure = len(wanted.kept(baseline))
    summary = wanted.put_back(lines, limit=task.limit, count=task.count, least=_LEAST_KEPT * measure)
    kept = len(wanted.kept(summary))
    if kept < _LEAST_KEPT * measure:
        return Failed(reason="lost facts", detail=f"{kept} facts kept, where no model keeps {measure}", usage=usage)
    return Written(lines=summary, author=task.author, put_back=sum(line not in lines for line in summary), usage=usage)
