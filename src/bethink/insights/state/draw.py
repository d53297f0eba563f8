"""Entries of a state, drawn by rule from what was said and from what tools wrote.

    message ─▶ own words ─▶ sentences ─▶ clauses ─▶ rule ─▶ value and reason ─▶ entry

Read are the sender's own words (see `insights.clauses`), of users and assistants. What is external, quoted, pasted, asked,
supposed or denied states nothing. A file counts as written once its tool call has a result that reports no error. Precision
comes before recall: an entry that is missing can be set by hand, a wrong one misleads whoever is given the state.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from datetime import datetime

import msgspec

from bethink.compaction.sentences import is_fence, sentences
from bethink.ids import derived_id
from bethink.insights.clauses import MAX_OWN_LENGTH, own_words, written_out
from bethink.insights.english import FILLER, HEDGE, HYPOTHETICAL
from bethink.insights.state.files import written_by
from bethink.insights.state.keys import key_of, key_of_known, left_in, old_in, reason_in
from bethink.insights.state.rules import (
    AMID,
    HANGING,
    MADE,
    NEXT_REASON,
    PATH,
    POINTING,
    REPORTED,
    RULES,
    SAID,
    UNSURE,
    WEAK,
    Rule,
)
from bethink.insights.triggers import words
from bethink.messages import Message
from bethink.records import Source, StateEntry, StatePart

__all__ = ["draw"]

_LONGEST = 200
"""Characters of an entry. What is longer is a paragraph and no entry."""

_MOST_CLAUSES = 24
"""Of a sentence. One of more is a list or a paste, and looking at all of it would be quadratic."""

_INLINE_CODE = re.compile(r"`([^`\s]{1,100})`")
_BOLD = re.compile(r"\*\*")
_BOX = re.compile(r"\[([ xX])\]\s*$")
# Where else than at its start a sentence may begin to state something.
_CLAUSE = re.compile(
    r"(?:[,;:\u2013\u2014]|\s-{1,2})\s+(?:(?:and|so|then|but)\s+){0,2}|\s+(?:and|so)\s+(?=(?:we|I|our|the|let us)\b)"
    # "After a long talk we decided ..."
    r"|(?<=^)(?:after|following|based on|during|at|in|on|for|with|last|this|yesterday|together)\b[^,.;:]{0,60}?\s"
    r"(?<!that )(?<!which )(?<!where )(?<!after )(?=(?:we|I) )",
    re.IGNORECASE,
)
# What goes on after a value without being part of it.
_BEYOND = re.compile(
    r"(?:,| [\u2013\u2014-])? (?:but|although|though|whereas|which means|and (?:I|we|my|our|then|now|it|so|that)\b)"
    r"|, (?:so|which|how|what|can|could|would|should|do|does|is there|any|please|especially)\b|[;\u2014]| \u2013 | - |\s\("
)
_ASKED = re.compile(
    r"(?:,| -|;) (?:(?:and|so|but|or|also|then|now) )*(?:can|could|would|will|do|does|did|is|are|was|what|how|which|where|why"
    r"|when|who|should|any|has|have|(?-i:may)|please)\b",
    re.IGNORECASE,
)
_HEADING = re.compile(r"^[ \t]*#{1,6}[ \t]+\W*$", re.MULTILINE)
_SPLIT = re.compile(r"[,:] ")
_OF_IT = re.compile(r"(?:it|them)\b", re.IGNORECASE)


class _Found(msgspec.Struct, frozen=True):
    """An entry to be, and where its sentence stands."""

    part: StatePart
    text: str
    start: int
    end: int
    because: str = ""
    ref: str = ""
    digest: str = ""
    key: str = ""
    old: str = ""
    place: int = 0


def draw(
    messages: Sequence[Message], *, thread_id: str, now: datetime, after: int = 0, through: int | None = None
) -> tuple[StateEntry, ...]:
    """The entries that messages state, in their order.

    Args:
        messages: of one thread, by seq; those up to `after` are looked at only for calls that later ones answer, those beyond
            `through` not at all.
        now: system time, aware; a message without a time counts as said then.

    Deterministic; linear in the messages.
    """
    messages = [message for message in messages if through is None or message.seq <= through]
    found = (*_said(messages, after), *_written(messages, after))
    entries = {entry.id: entry for entry in (_entry(each, message, thread_id, now) for message, each in found)}
    return tuple(sorted(entries.values(), key=lambda entry: (entry.seq, entry.place)))


def _written(messages: Sequence[Message], after: int) -> Iterator[tuple[Message, _Found]]:
    """Files that tools wrote, each with the message that made the call: in the order of the calls, after what it says."""
    for message, call in written_by(messages, after):
        yield message, _Found("artifact", "", 0, 0, ref=call.ref, digest=call.digest, place=len(message.text) + call.number)


def _said(messages: Sequence[Message], after: int) -> Iterator[tuple[Message, _Found]]:
    for message in messages:
        if message.seq > after and message.role in ("user", "assistant") and not message.external and message.id:
            told = sorted(_of_text(message.text, by_user=message.role == "user"), key=lambda found: found.place or found.start)
            yield from ((message, found) for found in _without_repeats(told))


def _without_repeats(told: Sequence[_Found]) -> Iterator[_Found]:
    """What one message says, in its order, without what it says again. What it revises stays: the last word stands."""
    last: dict[tuple[StatePart, str], _Found] = {}
    for found in told:
        about = found.part, found.key or key_of(found.part, found.text, found.ref)
        known = last.get(about)
        if known is None or known.text != found.text or found.because not in ("", known.because):
            last[about] = found
            yield found


def _entry(found: _Found, message: Message, thread_id: str, now: datetime) -> StateEntry:
    said = message.created_at or now
    key = found.key or key_of(found.part, found.text, found.ref)
    place = found.place or found.start
    return StateEntry(
        id=derived_id(said, "state", thread_id, message.id, found.part, str(place), found.text, found.ref, found.digest),
        text=found.text,
        trust=message.trust,
        recorded_at=now,
        valid_from=said,
        sources=(Source(message.id, thread_id, found.text, found.start, found.end),),
        thread_id=thread_id,
        part=found.part,
        seq=message.seq,
        place=place,
        because=found.because,
        key=key,
        old=found.old,
        ref=found.ref,
        digest=found.digest,
    )


# -- sentences ------------------------------------------------------------------------------------------------------------


def _of_text(text: str, *, by_user: bool) -> Iterator[_Found]:
    hints = SAID if by_user else REPORTED
    if len(text) > MAX_OWN_LENGTH:
        return
    if not _hinted(text, hints) and "[" not in text:
        return
    own = own_words(_BOLD.sub("  ", _INLINE_CODE.sub(r"  \1", text)))
    waiting: _Found | None = None
    for start, end, sentence in sentences(own):
        box = _BOX.search(own[max(0, start - 8) : start])
        # A reason and a box may stand without a word that hints at a state.
        if not (waiting or box or _hinted(sentence, hints)) or not _is_prose(text, own, start, end, by_user=by_user):
            continue
        plain = written_out(sentence)
        # "We decided to wait. The reason is that ..."
        reason = NEXT_REASON.match(plain.rstrip(" .!")) if waiting is not None else None
        if waiting is not None:
            yield msgspec.structs.replace(waiting, because=_tidy(next(filter(None, reason.groups())))) if reason else waiting
            waiting = None
        if plain.rstrip("\"')*_ ").endswith("?"):
            # An open question may well end like one; and what comes before "..., can you help me?" is stated.
            yield from _open_question(plain, start, end)
            asked = _ASKED.search(plain)
            plain = plain[: asked.start()] if asked else ""
        if reason or not plain:
            continue
        for found in _of_sentence(plain, box, start, end, by_user=by_user):
            if found.part == "decision" and not found.because:
                if waiting is not None:
                    yield waiting
                waiting = found
            else:
                yield found
    if waiting is not None:
        yield waiting


def _hinted(text: str, hints: Sequence[str]) -> bool:
    lowered = text.lower()
    return any(hint in lowered for hint in hints)


def _is_prose(text: str, own: str, start: int, end: int, *, by_user: bool) -> bool:
    """Whether what stands there is a sentence, whole and its sender's own."""
    if is_fence(own[start:end]) or _cut_off(text, own, end):
        return False
    return by_user or not _is_heading(own, start)


def _is_heading(own: str, start: int) -> bool:
    """Whether a sentence is the heading of a section: it says what that is about, as an assistant's advice has it."""
    return bool(_HEADING.match(own, own.rfind("\n", 0, start) + 1, start))


def _cut_off(text: str, own: str, end: int) -> bool:
    """Whether a sentence goes on with words that are not its sender's: they have been blanked."""
    rest = own[end : end + 4].lstrip(" ")
    at = end + len(own[end : end + 4]) - len(rest)
    return rest[:1] == "\n" and not text[at].isspace()


def _open_question(sentence: str, start: int, end: int) -> Iterator[_Found]:
    for rule in RULES:
        if rule.part == "question" and rule.line:
            match = rule.finds.match(sentence)
            if match and _says_something(match["value"]):
                yield _Found("question", _tidy(match["value"]), start, end)
                return


def _of_sentence(sentence: str, box: re.Match[str] | None, start: int, end: int, *, by_user: bool) -> Iterator[_Found]:
    body = sentence.rstrip(" .!…。！*_~)\"'")
    if box is not None:
        # A checklist that an assistant writes is a proposal, unless a box is ticked.
        ticked = box.group(1) != " "
        if (ticked or by_user) and _says_something(body) and len(body) <= _LONGEST:
            yield _Found("task" if ticked else "question", _tidy(body), start, end)
        return
    if HYPOTHETICAL.match(body):
        return
    files = tuple(_files(body, start, end))
    yield from files
    taken = 0
    for at, first in _starts(body):
        if at < taken:
            continue
        for rule in RULES:
            # "I have written src/x.py" is the file.
            if rule.by_user > by_user or (rule.line and not first) or (files and rule.part == "task"):
                continue
            match = rule.finds.match(body, at)
            found = _found(rule, match, body[:at], start, end) if match else None
            if match and found is not None:
                yield found
                # A list goes on: "I have written the parser and we decided to ..."
                taken = match.start("value") + 1
                break


def _starts(body: str) -> Iterator[tuple[int, bool]]:
    """Where a clause may begin, and whether the sentence does there."""
    filler = FILLER.match(body)
    places = {0: True}
    if filler:
        places.setdefault(filler.end(), True)
    for mark in _CLAUSE.finditer(body):
        places.setdefault(mark.end(), False)
    yield from sorted(places.items())[:_MOST_CLAUSES]


def _found(rule: Rule, match: re.Match[str], lead: str, start: int, end: int) -> _Found | None:
    if UNSURE.search(lead):
        return None
    value, because = reason_in(match["value"])
    value, because = (_tidy(_BEYOND.split(part, maxsplit=1)[0]) for part in (value, because))
    if len(because) > _LONGEST:
        because = _tidy(_SPLIT.split(because, maxsplit=1)[0])[:_LONGEST]
    if len(value) > _LONGEST:
        value = _tidy(_SPLIT.split(value, maxsplit=1)[0])
    if not _says_something(value) or len(value) > _LONGEST:
        return None
    # A question may end so: "which region to deploy to".
    if rule.part != "question" and HANGING.search(value):
        return None
    if (rule.part == "decision" and POINTING.match(value)) or (rule.part == "task" and _OF_IT.match(value)):
        return None
    if rule.part in ("decision", "goal", "task") and (HEDGE.search(value) or AMID.search(value)):
        return None
    groups = match.groupdict()
    text = rule.text.format(value=value, verb=(groups.get("verb") or "").lower())
    if rule.part == "phase" and len(value.split()) > 6:
        return None
    key = key_of_known(groups["key"], value) if groups.get("key") else ""
    # Words that were written out may have made the sentence longer; what it says stands before what the next one says.
    place = min(start + len(lead), end - 1)
    if rule.part != "decision":
        return _Found(rule.part, text, start, end, key=key, place=place)
    return _Found(rule.part, text, start, end, because=because, old=old_in(text) or left_in(lead), place=place)


def _files(body: str, start: int, end: int) -> Iterator[_Found]:
    made = MADE.search(body)
    if made is None or UNSURE.search(body[: made.start()]) or HEDGE.search(body):
        return
    for path in PATH.finditer(body, made.end()):
        yield _Found("artifact", "", start, end, ref=path.group().rstrip("."), place=min(start + path.start(), end - 1))


def _says_something(value: str) -> bool:
    return not WEAK.match(value) and any(len(word) > 2 for word in words(value))


def _tidy(value: str) -> str:
    return " ".join(value.split()).strip(" ,;:.!。！*_\"'").replace("**", "")
