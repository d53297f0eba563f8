"""What people say of themselves in words that no rule reads, by meaning: sentences that are like prototypes of such statements.

    message ─▶ sentences that no rule read ─▶ sayings ─▶ vectors (made by whoever has the embedder) ─▶ near enough ─▶ insight

A saying is a sentence that begins with "I", "we", "my" or "our" and can be read alone: no question, no supposition, nobody
addressed, nothing pointed at. Its vector is held against those of the prototypes whose verb has the same tense, and against
those of sentences that say nothing (`prototypes`). One that is nearer to the former by `MARGIN` is an insight: of the topic of
the nearest prototype, in its own words with the verb turned (see `turned`), with a confidence below that of any rule.

Whose words count is decided as it is for rules: only a user's own (see `clauses.own_words`). English alone. Pure: vectors
come in as values, so that embedding stays at the waist.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from datetime import datetime
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING

import msgspec

from bethink.compaction.sentences import is_fence, sentences
from bethink.compaction.statements import is_courtesy
from bethink.ids import derived_id
from bethink.insights import english, times
from bethink.insights.clauses import own_words, written_out
from bethink.insights.extract import bounded
from bethink.insights.prototypes import MARGIN, PROTOTYPES, SAY_NOTHING, SOFTNESS, VERSION
from bethink.insights.shapes import key, strip_date
from bethink.insights.turned import TENSES, Tense, tense_of, turned
from bethink.messages import Message
from bethink.records import Insight, Source, Topic

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

__all__ = ["CONFIDENCE", "MOST", "Saying", "meant", "sayings"]

CONFIDENCE = 0.5
"""In an insight that was drawn by meaning."""

MOST = 8
"""Sentences of one message that are looked at, the first ones."""

_FEWEST_WORDS, _MOST_WORDS = 5, 60
_OWN = english.pattern(r"(?:I|we|my|our)\b")
_AHEAD: frozenset[Topic] = frozenset({"goal", "plan", "decision"})
_EDGES = " .!…*_~)\"'"


class Saying(msgspec.Struct, frozen=True):
    """A sentence of a user that may say something of him.

    Attributes:
        text: as it was said; what is embedded.
        clause: from its subject on, contractions written out.
        start, end: where it stands in the message.
    """

    message: Message
    text: str
    clause: str
    start: int
    end: int


def sayings(messages: Sequence[Message], stated: Sequence[Insight]) -> tuple[Saying, ...]:
    """The sayings of `messages`, in order; at most `MOST` of each.

    Args:
        messages: any, stored; those that are no evidence are passed over.
        stated: what rules drew from them: a sentence that one of them read is left out.
    """
    read: dict[str, list[tuple[int, int]]] = {}
    for insight in stated:
        for source in insight.sources:
            read.setdefault(source.message_id, []).append((source.start, source.end))
    found: list[Saying] = []
    for message in messages:
        if message.role == "user" and not message.external and message.id:
            found += list(_of(message, read.get(message.id, ())))[:MOST]
    return tuple(found)


def _of(message: Message, read: Sequence[tuple[int, int]]) -> Iterator[Saying]:
    own = own_words(message.text)
    for start, end, sentence in sentences(own):
        if any(start < last and first < end for first, last in read) or _is_cut(message.text, own, start, end):
            continue
        clause = _clause(sentence)
        if clause:
            yield Saying(message, sentence, clause, start, end)


def _is_cut(text: str, own: str, start: int, end: int) -> bool:
    """Whether a sentence goes on in what its speaker only passes on: half of it says something else, or nothing."""
    beside = (*range(max(0, start - 2), start), *range(end, min(end + 2, len(text))))
    return any(own[place] == "\n" and text[place] != "\n" for place in beside)


def _clause(sentence: str) -> str:
    """What a sentence says, from its subject on; "" where it says nothing of its speaker that can be read alone."""
    asked = sentence.rstrip("\"')*_ ").endswith("?")
    if asked or is_fence(sentence) or english.HYPOTHETICAL.match(sentence) or is_courtesy(sentence):
        return ""
    plain = written_out(sentence).rstrip(_EDGES)
    starts = [0, *[mark.end() for mark in english.BOUNDARY.finditer(plain)]]
    pieces = (english.FILLER.sub("", plain[start:]) for start in starts)
    clause = next((piece for piece in pieces if _OWN.match(piece)), "")
    fits = _FEWEST_WORDS <= clause.count(" ") + 1 <= _MOST_WORDS
    return clause if fits and not (english.HEDGE.search(clause) or english.POINTING.search(clause)) else ""


# -- nearness -------------------------------------------------------------------------------------------------------------


class _Vectors(msgspec.Struct, frozen=True):
    """Of prototypes, row by row: topics, and units of length 1."""

    topics: tuple[Topic, ...]
    units: NDArray[np.float32]


@cache
def _prototypes() -> tuple[dict[Tense, _Vectors], NDArray[np.float32]]:
    """Those of each tense, and the units of what says nothing."""
    import numpy as np

    rows: NDArray[np.int8] = np.load(Path(__file__).with_name("prototypes.npy"), allow_pickle=False)
    units = rows.astype(np.float32)
    units /= np.linalg.norm(units, axis=1, keepdims=True)
    each: list[tuple[Topic, Tense]] = [(topic, tense_of(sentence)) for topic, some in PROTOTYPES.items() for sentence in some]
    assert len(rows) == len(each) + len(SAY_NOTHING), "the vectors are those of the sentences"
    by_tense: dict[Tense, _Vectors] = {}
    for tense in TENSES:
        own = [row for row, (_, of) in enumerate(each) if of == tense]
        topics: list[Topic] = [each[row][0] for row in own]
        by_tense[tense] = _Vectors(tuple(topics), units[own])
    return by_tense, units[len(each) :]


def _nearest(vector: NDArray[np.float32], tense: Tense) -> tuple[Topic, float]:
    """The topic of the nearest prototype, and by how much the prototypes are nearer than what says nothing."""
    by_tense, nothing = _prototypes()
    known = by_tense[tense]
    near = known.units @ vector
    return known.topics[int(near.argmax())], _soft(near) - _soft(nothing @ vector)


def _soft(cosines: NDArray[np.float32]) -> float:
    import numpy as np

    return float(SOFTNESS * np.log(np.mean(np.exp(cosines / SOFTNESS))))


# -- insights -------------------------------------------------------------------------------------------------------------


def meant(
    said: Sequence[Saying], vectors: NDArray[np.float32], *, thread_id: str, now: datetime, margin: float = MARGIN
) -> tuple[Insight, ...]:
    """The insights among sayings, in their order.

    Args:
        said: as `sayings` finds them.
        vectors: of their texts, float32, of length 1, shape (len(said), 384), in the calibrated space.
        thread_id: the thread they stand in, for the sources.
        now: system time, aware; a message without a time counts as said then.

    Deterministic; some 0.1 ms for each.
    """
    found: dict[tuple[str, str], Insight] = {}
    for saying, vector in zip(said, vectors, strict=True):
        topic, nearer = _nearest(vector, tense_of(saying.clause))
        if nearer >= margin:
            insight = _insight(saying, topic, thread_id, now)
            found.setdefault((insight.id, saying.message.id), insight)
    return tuple(found.values())


def _insight(saying: Saying, topic: Topic, thread_id: str, now: datetime) -> Insight:
    message = saying.message
    said = message.created_at or now
    speaker = (message.name or "").strip()
    when = times.find(saying.clause, said, future=topic in _AHEAD)
    words = turned(strip_date(saying.clause) if when else saying.clause)
    short = key(words, deed=True)
    if topic == "event" and when is not None:
        short = f"{short} @{when.at:%Y-%m-%d}"
    shown = f"{words} ({when.label})" if when else words
    text = bounded(f"{speaker[:1].upper()}{speaker[1:]}: {shown}" if speaker else shown)
    since = when.at if when is not None and when.at <= said and topic not in _AHEAD else said
    slot = f"{topic}:{short}"
    subject = speaker.casefold() or "user"
    return Insight(
        id=derived_id(said, "insight", subject, slot, short, "positive"),
        text=text,
        trust=message.trust,
        recorded_at=now,
        valid_from=since,
        importance="low",
        sources=(Source(message.id, thread_id, text, saying.start, saying.end),),
        metadata={"drawn": f"prototypes {VERSION}"},
        topic=topic,
        subject=subject,
        slot=slot,
        value=short,
        confidence=CONFIDENCE,
    )
