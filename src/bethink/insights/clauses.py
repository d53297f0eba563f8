"""The clauses of a message in which its speaker states something.

    text ─▶ own words ─▶ sentences ─▶ words written out ─▶ clauses ─▶ without questions, conditions and hedges

What is quoted, pasted, code, or recalled from memory is not the speaker's statement and is blanked first, character for
character, so that positions keep their meaning. Then contractions are written out ("I'm" is "I am", "don't" is "do not") and
adverbs that change nothing are dropped, so that the rules in `english` can stay plain.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

import msgspec

from bethink.compaction.sentences import is_fence, sentences
from bethink.insights import english
from bethink.insights.rules import SPEAKING, TRIGGERS
from bethink.insights.triggers import words

__all__ = ["Clause", "clauses", "own_words", "written_out"]

MAX_OWN_LENGTH = 6_000
"""A longer message is a document that was pasted; nobody types that."""

_STRAIGHT = str.maketrans({"\u2019": "'", "\u2018": "'", "\u02bc": "'", "\u201c": '"', "\u201d": '"', "\u00a0": " "})


class Clause(msgspec.Struct, frozen=True):
    """A statement in plain words.

    Attributes:
        text: from its subject on, contractions written out.
        lead: the words in front that were dropped ("last night").
        before: what precedes it in the sentence.
        rest: what follows it in the sentence, for lists.
        sentence: the whole sentence, written out.
        start, end: where the sentence stands in the message.
        first: whether it is the sentence's first.
    """

    text: str
    lead: str
    before: str
    rest: str
    sentence: str
    start: int
    end: int
    first: bool


def clauses(text: str, also: frozenset[str] = frozenset()) -> Iterator[Clause]:
    """The clauses of `text` that may state a fact, in order. Linear in the text.

    A sentence without a trigger costs next to nothing; a word of `also` is one besides.
    """
    if not _may_state(words(text), also):
        return
    for start, end, sentence in sentences(own_words(text)):
        if not _may_state(words(sentence), also) or is_fence(sentence) or english.HYPOTHETICAL.match(sentence):
            continue
        plain = written_out(sentence)
        first = True
        for before, piece, rest in _stated(plain):
            stripped = english.FILLER.sub("", piece)
            lead = piece[: len(piece) - len(stripped)]
            if stripped and not english.HEDGE.search(english.WISH.sub("", stripped)):
                yield Clause(stripped, lead, before, rest, plain, start, end, first)
                first = False


def _may_state(found: frozenset[str], also: frozenset[str]) -> bool:
    return not (TRIGGERS.isdisjoint(found) or SPEAKING.isdisjoint(found)) or not also.isdisjoint(found)


def own_words(text: str) -> str:
    """`text` with everything blanked that its sender only passes on; of the same length, quotes and apostrophes straight."""
    if len(text) > MAX_OWN_LENGTH:
        return "\n" * len(text)
    text = text.translate(_STRAIGHT)
    for marks, pattern in english.NOT_OWN_WORDS:
        if any(map(text.__contains__, marks)):
            text = pattern.sub(_blank, text)
    return english.QUOTED.sub(_blank_speech, text) if any(map(text.__contains__, "\"'\u00ab")) else text


def _blank(match: re.Match[str]) -> str:
    return "\n" * len(match.group())


def _blank_speech(match: re.Match[str]) -> str:
    """Titles stay, without their quotes; what somebody says goes."""
    words = match.group()[1:-1]
    if len(words.split()) <= english.LONGEST_TITLE and not english.FIRST_PERSON.search(words):
        return f" {words} "
    return _blank(match)


def written_out(sentence: str) -> str:
    """`sentence` with contractions written out, single spaces, and no adverb between "I" and its verb."""
    sentence = english.CONTRACTIONS.sub(_in_full, sentence)
    sentence = " ".join(sentence.split())
    if english.ADVERB_WORDS.isdisjoint(words(sentence)):
        return sentence
    sentence = english.ADVERBS.sub(r"\1", sentence)
    return english.ADVERBS_AFTER_AUXILIARY.sub(r"\1", sentence)


def _in_full(match: re.Match[str]) -> str:
    if match["form"]:
        # "A certificate by Let's Encrypt": a name.
        if match["form"] == "Let's" and match.start() and match.string[match.end() : match.end() + 2].strip().isupper():
            return match["form"]
        return english.WRITTEN_OUT[match["form"].casefold()]
    if match["stem"]:
        return f"{match['stem']} not"
    if match["is"]:
        return f"{match['is']} is"
    return f"{match['who']} is " if match["who"] else "I"


def _stated(sentence: str) -> list[tuple[str, str, str]]:
    """`(before, clause, rest)` of each clause that is stated: neither asked nor conditional."""
    question = sentence.rstrip("\"')*_ ").endswith("?")
    body = sentence.rstrip(" .!?…*_~)\"'")
    kept: list[tuple[str, str, str]] = []
    at = 0
    marks = [*english.BOUNDARY.finditer(body), None]
    for mark in marks:
        piece = body[at : mark.start() if mark else len(body)].strip()
        if question and english.QUESTION.match(piece):
            return kept
        if english.CONDITION.match(piece):
            # "I will go if ..." is one condition; "I am vegan, if that helps" is a fact with a remark.
            return kept[:-1] if at and body[:at].rstrip()[-1:] not in ",;:" else kept
        rest = body[mark.end() if mark else len(body) :]
        kept.append((body[:at], piece, rest))
        at = mark.end() if mark else len(body)
    return [] if question else kept
