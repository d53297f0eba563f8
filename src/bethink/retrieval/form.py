"""What the form of a text tells, whatever its words: how much it says, whether it asks, who said it, if it names a time."""

from __future__ import annotations

import math
import re

from bethink.retrieval.ranker import Ranker
from bethink.retrieval.terms import QUESTION_MARKS
from bethink.storage.base import Candidate

__all__ = ["asks_for_reply", "asks_when", "form_share"]

_WHEN = re.compile(r"^\W*when\b|\bhow long\b|\b(?:what|which) (?:day|date|month|year|time)\b", re.IGNORECASE)
_GIVEN = "advised|explained|gave|given|listed|mentioned|proposed|provided|recommended|said|suggested|told|wrote"
_GIFT = "advice|answer|explanation|recommendation|reply|response|suggestion"
_REPLY = re.compile(
    rf"\b(?:did|have|had) you\b|\byou(?:['’]ve| have| had)? (?:\w+ )?(?:{_GIVEN})\b|\byour (?:\w+ )?(?:{_GIFT})s?\b"
    r"|\bassistant\b",
    re.IGNORECASE,
)
_ANSWERING = frozenset({"assistant", "tool"})
_SAID = """
yesterday today tonight tomorrow last next ago week weekend month year day days since recently monday tuesday wednesday thursday
friday saturday sunday january february march april may june july august september october november december
"""
_TIMES = frozenset(_SAID.split())
_TIME_WORD = re.compile(r"[a-z]{3,9}|20\d\d")
_SHORT, _LEAST, _MOST = 20, -2.0, 1.5


def asks_when(query: str) -> bool:
    """Whether a query asks for a time. English."""
    return bool(_WHEN.search(query))


def asks_for_reply(query: str) -> bool:
    """Whether it asks for what the assistant has said. English."""
    return bool(_REPLY.search(query))


def form_share(candidate: Candidate, when: bool, reply: bool, ranker: Ranker) -> float:
    """What is added for the form of a text, as a share of what it has; -1 or more.

    Args:
        when, reply: what the query asks for (`asks_when`, `asks_for_reply`).
    """
    share = 0.0
    if candidate.kind == "message":
        share += ranker.length * min(_MOST, max(_LEAST, math.log(max(1, candidate.length) / _SHORT)))
    if candidate.text.rstrip().endswith(QUESTION_MARKS):
        share -= ranker.question * min(1.0, _SHORT / max(1, candidate.length))
    if candidate.speaker in _ANSWERING and not reply:
        share -= ranker.reply
    if when and any(word in _TIMES or word.isdecimal() for word in _TIME_WORD.findall(candidate.text.lower())):
        share += ranker.when
    return max(-1.0, share)
