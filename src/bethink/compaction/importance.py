"""How much a message matters, from 1 to 10, by rules: what `Tiers` keeps longer than the rest.

    2    a courtesy: "thanks!", "ok"; nothing at all
    4    what people say
    +3   a decision, a commitment, a constraint ("we decided", "must", "never", "allergic")
    +1   each sort of fact it holds: a number, a date, a name, an identifier; at most 2 in all
    +1   an error that was reported
    -1   a question, or the output of a tool

A rule of thumb, not a judgement: microseconds, no model, the same for the same words. A message without words (a call, an
image) is a 5: neither lost early nor kept for long.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence

from bethink.compaction.facts import facts
from bethink.compaction.sentences import sentences
from bethink.compaction.statements import is_commitment, is_courtesy
from bethink.marks import Scored, Tiered, tier_of
from bethink.messages import Message

__all__ = ["UNREADABLE", "importance", "to_be_scored"]

UNREADABLE = 5
"""The score of what says nothing in words."""

_COURTESY, _PLAIN, _COMMITMENT, _MOST = 2, 4, 3, 10
_MOST_FACTS = 2
_MOST_READ = 2_000  # characters: what matters in a page is not on its second half alone
_ERROR = re.compile(r"\b(?:errors?|exception|traceback|fail(?:ed|s|ure)?|crash(?:ed|es)?|denied|timed? ?out)\b", re.IGNORECASE)


def importance(message: Message) -> int:
    """The score of a message, 1 to 10. Pure."""
    text = message.text[:_MOST_READ]
    if not text.strip():
        return UNREADABLE
    told = [sentence for _, _, sentence in sentences(text) if not is_courtesy(sentence)]
    if not told:
        return _COURTESY
    score = _PLAIN
    if any(map(is_commitment, told)):
        score += _COMMITMENT
    sorts = [(found.numbers, found.dates, found.names, found.identifiers) for found in facts(told)]
    score += min(_MOST_FACTS, sum(any(column) for column in zip(*sorts, strict=True)))
    score += bool(_ERROR.search(text))
    score -= all(sentence.rstrip().endswith(("?", "？")) for sentence in told)
    score -= message.role == "tool"
    return max(1, min(_MOST, score))


def to_be_scored(messages: Sequence[Message], tiers: Mapping[int, Tiered], scores: Mapping[int, Scored]) -> tuple[Message, ...]:
    """Those that a score makes a difference for: of tier working, with words, not scored yet."""
    return tuple(
        message
        for message in messages
        if message.seq not in scores
        and message.role not in ("system", "developer")
        and tier_of(message, tiers) == "working"
        and message.text.strip()
    )
