"""A reply, read from an answer of OpenAI's chat API: what was said, what it took, whether it is whole.

    choices[0] ── message.content ──▶ the words, without what the model thought before them
               └─ finish_reason   ──▶ cut off: "length", or "content_filter" in mid-answer
    usage      ── prompt_tokens, completion_tokens, where they are told

A refusal, or an answer that a filter took back, is a reply without words: it was paid for, and says nothing. What a model
thinks comes in a field of its own at some servers (`reasoning_content`, `reasoning`), before the words in <think>...</think> at
others; neither is an answer.
"""

from __future__ import annotations

import re
from typing import Any

from bethink.models.http import error_code
from bethink.models.language import Reply

__all__ = ["NoReply", "reply_of"]

_CUT_OFF = frozenset({"length", "content_filter"})
_THOUGHT = re.compile(r"\A\s*<think>.*?(</think>\s*|\Z)", re.DOTALL)


class NoReply(Exception):
    """An answer that holds none; `problem` says what it is instead."""

    def __init__(self, problem: str) -> None:
        super().__init__(problem)
        self.problem = problem


def reply_of(answer: Any) -> Reply:
    """The reply in a decoded answer.

    Raises:
        NoReply: there is none in it.
    """
    choices = answer.get("choices") if isinstance(answer, dict) else None
    first = choices[0] if isinstance(choices, list) and choices else None
    message = first.get("message") if isinstance(first, dict) else None
    if not isinstance(first, dict) or not isinstance(message, dict):
        raise NoReply(_instead(answer))
    usage = answer.get("usage")
    usage = usage if isinstance(usage, dict) else {}
    return Reply(
        _THOUGHT.sub("", _words(message.get("content"))),
        tokens_in=_count(usage.get("prompt_tokens")),
        tokens_out=_count(usage.get("completion_tokens")),
        truncated=first.get("finish_reason") in _CUT_OFF,
    )


def _instead(answer: object) -> str:
    if isinstance(answer, dict) and answer.get("error"):
        code = error_code(answer)
        return "an error in place of an answer" + (f" ({code})" if code else "")
    return "an answer without a message"


def _words(content: object) -> str:
    """Of a string, or of a list of parts; "" for none."""
    if isinstance(content, str):
        return content
    parts = content if isinstance(content, list) else []
    texts = [part.get("text") for part in parts if isinstance(part, dict)]
    return "".join([text for text in texts if isinstance(text, str)])


def _count(tokens: object) -> int | None:
    return tokens if isinstance(tokens, int) and not isinstance(tokens, bool) and tokens >= 0 else None
