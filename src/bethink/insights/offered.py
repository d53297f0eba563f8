"""What a session offers for its summary: lines that can be read by somebody who was not there.

    sentences ─▶ half a sentence gets what it answers ─▶ a correction gets what it corrects ─▶ no questions of the assistant

A short answer ("Still 30 September.") says something only after its question, so the two are one line that rests on both
messages. Where no question precedes, the sentence that goes on with it ("With my dog. Her name is Biscuit.") is taken along;
without either it is left out. What was put right later in the session is not offered as it was first said.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence

import msgspec

from bethink.compaction.extractive import MAX_LINE_LENGTH, sentences_of, shortened
from bethink.compaction.statements import is_courtesy, is_elliptic, is_leaning
from bethink.insights.extract import CORRECTION
from bethink.messages import Message
from bethink.records import Insight, Line

__all__ = ["offered", "with_reason"]

_REASON = re.compile(r"[ ,]+(because\b[^.!?;]{3,120})")
_SHORT_QUESTION = 8


def offered(messages: Sequence[Message], stated: Iterable[Insight]) -> list[tuple[Line, str]]:
    """Lines with the role of their speaker, in order.

    Args:
        messages: of the session, stored, in order.
        stated: the insights that they state, of which the corrections count here.
    """
    found: list[tuple[Line, str]] = []
    question: tuple[Message, str] | None = None
    for message in messages:
        said = list(sentences_of(message))
        if said:
            found += [(line, message.role) for line in _lines(message, said, question)]
            asks = said[-1].endswith("?")
            question = (message, said[-1]) if asks else None
    for insight in stated:
        if insight.slot.startswith(f"{CORRECTION}:"):
            found = _corrected(found, insight)
    return found


def with_reason(decision: Insight, said: Mapping[str, Message]) -> str:
    """The text of a decision, with the reason that was given for it in the same sentence."""
    source = decision.sources[-1]
    reason = _REASON.search(said[source.message_id].text[source.start : source.end])
    return shortened(f"{decision.text}, {reason[1].strip(' ,')}") if reason else decision.text


def _lines(message: Message, said: Sequence[str], question: tuple[Message, str] | None) -> Iterable[Line]:
    at = 0
    while at < len(said):
        text, asked = said[at], question if at == 0 else None
        at += 1
        if text.endswith("?") and (message.role != "user" or text.count(" ") + 1 < _SHORT_QUESTION):
            continue
        if not is_elliptic(text):
            yield _line(text, message)
        elif is_courtesy(text):
            continue
        elif asked and asked[0].speaker != message.speaker and len(asked[1]) + len(text) < MAX_LINE_LENGTH:
            yield _line(f"{asked[1]} {text}", asked[0], message)
        elif at < len(said) and is_leaning(said[at]) and not said[at].endswith("?"):
            yield _line(shortened(f"{text} {said[at]}"), message)
            at += 1


def _line(text: str, *messages: Message) -> Line:
    latest = messages[-1]
    assert latest.created_at is not None, "a stored message has a time"
    return Line(text=text, sources=tuple(message.id for message in messages), at=latest.created_at, speaker=latest.voice)


def _corrected(lines: Sequence[tuple[Line, str]], correction: Insight) -> list[tuple[Line, str]]:
    """`lines` without what `correction` puts right; its own line begins with the latest such line of the same speaker."""
    source = correction.sources[0]
    place = next((at for at, (line, _) in enumerate(lines) if source.message_id in line.sources), None)
    new, _, old = correction.text.rpartition(": ")[2].partition(", not ")
    if place is None or not old:
        return list(lines)
    holds = re.compile(rf"(?<!\w){re.escape(old)}(?!\w)", re.IGNORECASE)
    wrong = [at for at in range(place) if holds.search(lines[at][0].text) and new not in lines[at][0].text]
    line, role = lines[place]
    own = next((lines[at][0] for at in reversed(wrong) if lines[at][0].speaker == line.speaker), None)
    if own is not None and len(own.text) + len(line.text) < MAX_LINE_LENGTH:
        sources = tuple(dict.fromkeys((*own.sources, *line.sources)))
        line = msgspec.structs.replace(line, text=f"{own.text} {line.text}", sources=sources)
    kept = [pair for at, pair in enumerate(lines[:place]) if at not in wrong]
    return [*kept, (line, role), *lines[place + 1 :]]
