"""How a piece of work went, by what the user says of it in the end.

    the last user messages, newest first ─▶ own words ─▶ sentences ─▶ the first that says how it went

Only what a user states himself counts: a question ("did it work?"), a supposition ("if it works"), what is quoted or external
says nothing. Nor does an assistant that reports its own success. Silence is no success either: the outcome is "unknown" then.
"""

from __future__ import annotations

import re
from collections.abc import Sequence

import msgspec

from bethink.compaction.extractive import shortened
from bethink.compaction.sentences import is_fence, sentences
from bethink.insights.clauses import own_words, written_out
from bethink.insights.english import HEDGE, HYPOTHETICAL, QUESTION, pattern
from bethink.messages import Message
from bethink.records import Outcome

__all__ = ["Verdict", "verdict_in"]

_LAST = 3
"""So many of a user's last messages are looked at: what he says of the work, he says when it is done."""

_IT = r"(?:it|that|this|everything|all of it|the \w+|which)"
_NOW = r"(?:(?:just|really|finally|still|also|all|now) ){0,2}"
_PARTIAL = pattern(
    r"\b(?:partly|partially|mostly|almost|nearly|half) (?:works?|worked|working|done|fixed|solved|there|right|correct)\b"
    rf"|\b{_IT} {_NOW}(?:works|worked),? (?:but|except|apart from)\b|\b(?:works|worked) (?:only )?in part\b"
)
_FAILURE = pattern(
    rf"\b{_IT} {_NOW}(?:does|did|do|is|has|was) not {_NOW}(?:work|working|worked|help|helped|right|correct|fixed|solved)\b"
    rf"|\b(?:still|again) (?:broken|failing|fails|failed|crashing|crashes|wrong|not working|the same (?:error|problem))\b"
    rf"|\b{_IT} {_NOW}(?:failed|fails|broke|breaks|crashed|crashes|is broken|is wrong|was wrong)\b"
    r"|\b(?:the )?tests? (?:still )?(?:fail|fails|failed|are failing)\b|\bmade it worse\b|\bgive up\b"
    r"|\bnot what I (?:wanted|asked|needed)\b"
)
_SUCCESS = pattern(
    rf"\b{_IT} {_NOW}(?:works|worked|is fixed|is solved|did it|did the trick|is done|is perfect|is exactly what I)\b"
    r"|\b(?:works|worked|working|runs|went) (?:now|fine|great|perfectly|well|like a charm|smoothly)\b"
    r"|^\W*(?:perfect|excellent|brilliant|great job|well done|good job|nice work|great work|solved|fixed)\b"
    r"|\b(?:problem|issue|bug) (?:is |was )?(?:solved|fixed|gone)\b"
    r"|\b(?:all |the )?tests? (?:all |now )*(?:pass|passed|are green)\b"
    r"|\bexactly what I (?:wanted|needed|asked for)\b|\blooks (?:good|great|perfect) to me\b|\bmade it work\b"
)
_SAYS: tuple[tuple[Outcome, re.Pattern[str]], ...] = (("partial", _PARTIAL), ("failure", _FAILURE), ("success", _SUCCESS))
"""The first that fits: "it works, except for the logo" holds "it works"."""


class Verdict(msgspec.Struct, frozen=True):
    """How it went, the sentence that says so, and the message it is in."""

    outcome: Outcome
    text: str
    message: Message
    start: int
    end: int


def verdict_in(messages: Sequence[Message]) -> Verdict | None:
    """What the user says last of how it went; None where he says nothing of it.

    Args:
        messages: of a thread, stored, in order.

    Deterministic. English.
    """
    said = [message for message in messages if message.role == "user" and not message.external][-_LAST:]
    for message in reversed(said):
        for start, end, sentence in reversed(sentences(own_words(message.text))):
            outcome = _outcome_of(sentence)
            if outcome is not None:
                return Verdict(outcome, shortened(sentence), message, start, end)
    return None


def _outcome_of(sentence: str) -> Outcome | None:
    plain = written_out(sentence)
    asks = plain.endswith("?") or QUESTION.match(plain) is not None
    if asks or is_fence(sentence) or HYPOTHETICAL.match(plain) or HEDGE.search(plain):
        return None
    return next((outcome for outcome, says in _SAYS if says.search(plain)), None)
