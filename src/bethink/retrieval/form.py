"""What the form of a text tells, whatever its words: how much it says, whether it asks, who said it, if it names a time."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np

from bethink.retrieval.ranker import Ranker
from bethink.retrieval.terms import QUESTION_MARKS
from bethink.storage.base import Candidate

if TYPE_CHECKING:
    from bethink.retrieval.legs import Column

__all__ = ["asks_for_reply", "asks_when", "form_shares"]

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


def form_shares(candidates: Sequence[Candidate], lengths: Column, when: bool, reply: bool, ranker: Ranker) -> Column:
    """What is added for the form of each text, as a share of what it has; -1 or more.

    Args:
        lengths: of the candidates, in terms.
        when, reply: what the query asks for (`asks_when`, `asks_for_reply`).
    """
    terms = np.maximum(1.0, lengths)
    messages = np.array([each.kind == "message" for each in candidates], dtype=bool)
    shares = np.where(messages, ranker.length * np.clip(np.log(terms / _SHORT), _LEAST, _MOST), 0.0)
    asking = np.array([each.text.rstrip().endswith(QUESTION_MARKS) for each in candidates], dtype=bool)
    shares -= np.where(asking, ranker.question * np.minimum(1.0, _SHORT / terms), 0.0)
    if not reply:
        shares -= ranker.reply * np.array([each.speaker in _ANSWERING for each in candidates], dtype=bool)
    if when:
        shares += ranker.when * np.array([_says_when(each.text) for each in candidates], dtype=bool)
    return np.maximum(-1.0, shares)


def _says_when(text: str) -> bool:
    return any(word in _TIMES or word.isdecimal() for word in _TIME_WORD.findall(text.lower()))
