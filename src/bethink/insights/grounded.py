"""What a model says that a user stated, held against the words of the message that it cites.

    item ─▶ about whom ─▶ its value in a sentence of the message ─▶ topic and slot ─▶ insight in the words of that sentence
               │                     │
               └─────────────────────┴──▶ the reason why it is dropped

A model says where something is stated and what sort of statement it is; the words of the record are the user's. Its value is
made of words of one sentence, a quote stands there letter by letter, and the text is that sentence, in the language it was said
in. So nothing that a model makes up is ever stored, and an insight rests on one message, whole, and goes with it. What rules
have drawn from the same message stands: where the two differ, they are what is true.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from datetime import datetime
from functools import cache
from typing import Any, get_args

import msgspec

from bethink.compaction.extractive import shortened
from bethink.compaction.json_reply import words_of
from bethink.compaction.sentences import is_fence, sentences
from bethink.ids import derived_id
from bethink.insights import english, times
from bethink.insights.clauses import written_out
from bethink.insights.extract import MAX_TEXT
from bethink.insights.forms import content
from bethink.insights.rules import RULES
from bethink.insights.shapes import key
from bethink.messages import Message
from bethink.records import Importance, Insight, Polarity, Source, Topic

__all__ = ["Own", "grounded", "kinds"]

_OWN, _HEARSAY = 0.7, 0.5
"""Confidence in what a model has found: less than in a plain sentence that a rule has read."""
_SELF = frozenset(("", "user", "the user", "me", "i", "myself", "self", "speaker", "the speaker"))
_MOST_VALUE, _MOST_NAME = 8, 3
"""Words of a value, and of a name."""
_AHEAD = frozenset({"goal", "plan", "decision"})
_NEGATIVE = frozenset(("negative", "denied", "no", "true"))
_SPACE = re.compile(r"\s+")
_EDGES = " \t\n.,;:!?\"'*_()[]-–—…"


class _Kind(msgspec.Struct, frozen=True):
    """A sort of slot, as the rules have it."""

    topic: Topic
    keyed: bool
    importance: Importance
    deed: bool


@cache
def kinds() -> Mapping[str, _Kind]:
    """The slots that a model may name: those of the rules that need nothing but a value."""
    found: dict[str, _Kind] = {}
    for rule in RULES:
        name, _, named = rule.slot.partition(":")
        fields = set(re.findall(r"\{(\w+)\}", f"{rule.slot} {rule.says} {rule.denies}"))
        if fields <= {"key", "value"} and name not in found:
            found[name] = _Kind(rule.topic, bool(named), rule.importance, rule.shape == "deed")
    return found


class Own(msgspec.Struct, frozen=True):
    """A message of a user, what of it are his own words (see `clauses.own_words`), and their language ("" if unknown)."""

    message: Message
    words: str
    language: str = ""

    @property
    def speaker(self) -> str:
        return (self.message.name or "").strip()

    @property
    def subject(self) -> str:
        return self.speaker.casefold() or "user"


class _Stated(msgspec.Struct, frozen=True):
    """The sentence that states it, and where."""

    text: str
    start: int
    end: int


def _topic_of(given: object) -> Topic | None:
    """A topic as a model writes one; None for none of them."""
    word = words_of(given).casefold()
    return next((topic for topic in get_args(Topic) if topic == word), None)


def grounded(
    item: Mapping[str, Any], own: Own, *, thread_id: str, now: datetime, by: Mapping[str, Any], rules: Sequence[Insight]
) -> Insight | str:
    """The insight that an item of a model's reply comes to for one message that it cites, or why it is dropped.

    Args:
        item: fields as the prompt asks for them; what is missing or of another sort counts as not said.
        now: system time.
        by: for the metadata: who drew it, and with which prompt.
        rules: what rules have drawn from the message.
    """
    value = words_of(item.get("value")).strip(_EDGES)
    kind, topic = kinds().get(_slot_name(item)), _topic_of(item.get("topic"))
    topic = kind.topic if kind is not None else topic
    if not value or topic is None or not content(value) or len(value.split()) > _MOST_VALUE or len(value) > MAX_TEXT:
        return "incomplete"
    shown = _about(item, own)
    if shown is None:
        return "unknown person"
    stated = _stated(item, value, own.words)
    if isinstance(stated, str):
        return stated
    subject = shown.casefold() if shown else own.subject
    polarity: Polarity = "negative" if _negative(item) else "positive"
    short = key(value, deed=kind is not None and kind.deed)
    slot = f"{topic}:{short}" if kind is None else f"{_slot_name(item)}:{short}" if kind.keyed else _slot_name(item)
    if any(_says_the_same(rule, subject, slot, value) for rule in rules):
        return "known by rule"
    if not shown and own.language == "en" and not english.SELF.search(written_out(stated.text)):
        return "not about its speaker"
    said = own.message.created_at or now
    when = times.find(stated.text, said, future=topic in _AHEAD)
    name = shown or own.speaker
    # "Yesterday" means another day to whoever reads it later.
    dated = f" ({when.label})" if when is not None and when.label.casefold() not in stated.text.casefold() else ""
    text = shortened(stated.text, MAX_TEXT - len(dated)) + dated
    text = shortened(f"{name[:1].upper()}{name[1:]}: {text}" if name else text, MAX_TEXT)
    past = when is not None and when.at <= said and topic not in _AHEAD
    return Insight(
        id=derived_id(said, "insight", subject, slot, short, polarity),
        text=text,
        trust=own.message.trust,
        recorded_at=now,
        valid_from=when.at if past and when is not None else said,
        importance=_importance(item, kind),
        sources=(Source(own.message.id, thread_id, text, stated.start, stated.end),),
        metadata={**by, **({"told_by": own.speaker or "user"} if shown else {})},
        topic=topic,
        subject=subject,
        slot=slot,
        value=short,
        polarity=polarity,
        confidence=_HEARSAY if shown else _OWN,
    )


def _slot_name(item: Mapping[str, Any]) -> str:
    return words_of(item.get("slot")).casefold().partition(":")[0]


def _about(item: Mapping[str, Any], own: Own) -> str | None:
    """The name of another whom an item is about; "" for its speaker, None for somebody whom the message does not name."""
    name = words_of(item.get("about", item.get("subject"))).strip(_EDGES)
    if name.casefold() in _SELF or name.casefold() == own.subject:
        return ""
    named = content(name) or frozenset([name.casefold()])
    if len(name.split()) > _MOST_NAME or not named <= content(own.words):
        return None
    return name


def _stated(item: Mapping[str, Any], value: str, words: str) -> _Stated | str:
    """The first sentence that has the value, that of the quote before others."""
    wanted = content(value)
    found = [
        _Stated(_SPACE.sub(" ", text), start, end)
        for start, end, text in sentences(words)
        if not is_fence(text) and _has(text, value, wanted)
    ]
    quote = _plain(words_of(item.get("quote")))
    if quote and quote not in _plain(words):
        return "misquoted"
    quoted = [each for each in found if quote in _plain(each.text) or _plain(each.text) in quote]
    if not found or (quote and not quoted):
        return "not in its source"
    return (quoted or found)[0]


def _has(text: str, value: str, wanted: frozenset[str]) -> bool:
    """Whether a sentence has the words of a value: of a script without spaces, one after the other."""
    plain = _plain(value)
    if wanted and all(not term.isascii() and len(term) <= 2 for term in wanted):
        return plain in _plain(text)
    return wanted <= content(text)


def _plain(text: str) -> str:
    return _SPACE.sub(" ", text.translate(_QUOTES)).strip(_EDGES).casefold()


_QUOTES = str.maketrans({"’": "'", "‘": "'", "“": '"', "”": '"'})


def _negative(item: Mapping[str, Any]) -> bool:
    given = item.get("negative", item.get("polarity"))
    return given is True or words_of(given).casefold() in _NEGATIVE


def _says_the_same(rule: Insight, subject: str, slot: str, value: str) -> bool:
    """Whether a rule has read the same statement: the same slot, or the same words, of whomever."""
    one, other = content(rule.value), content(value)
    return (rule.subject, rule.slot) == (subject, slot) or one <= other or other <= one


def _importance(item: Mapping[str, Any], kind: _Kind | None) -> Importance:
    if kind is not None and kind.importance == "high":
        return "high"
    given = words_of(item.get("importance")).casefold()
    return next((each for each in get_args(Importance) if each == given), "medium")
