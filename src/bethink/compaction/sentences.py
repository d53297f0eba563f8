"""Where the sentences of a text are.

Two steps. Lines become blocks: a code fence is one block, a list item is one, and a line that was only wrapped goes on in the
next. Then each block that is no fence is split at its terminal punctuation, unless the full stop belongs to an abbreviation or
an initial, or an ellipsis is followed by more of the same sentence. Decimals, versions, URLs and file names hold no boundary,
as no space follows their stops; scripts that write no spaces have terminals of their own.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

__all__ = ["is_fence", "sentences"]

# A wrapped line is at least this long; a shorter one ended because its writer ended it.
_WRAPPED_LENGTH = 40

_LINE = re.compile(r"[^\r\n\u2028\u2029]+")
_BLANK_LINE = re.compile(r"(?:\r\n?|\n)[ \t]*(?:\r\n?|\n)|\u2029")
_FENCE = re.compile(r"\s*(`{3,}(?!.*`)|~{3,})")
_MARKER = re.compile(r"\s*(?:[-*+•‣◦–](?:\s\[[ xX]\])?|\(?\d{1,3}[.)]|\(?[a-zA-Z]\)|#{1,6}|>+)(?=\s)")
_CLOSING = "\"'”’»)\\]」』）】*_"
_TERMINAL = re.compile(rf"(?P<spaced>(?<![.!?…؟।])[.!?…؟।]+[{_CLOSING}]*)(?=\s|$)|[。！？｡]+[{_CLOSING}]*")
_WORDY = re.compile(r"[^\W_]")
_LAST_WORD = re.compile(r"[^\s(\[\"'“‘]*$")

_TITLES = """
dr mr mrs ms mx prof rev gen rep gov capt col lt sgt hon messrs mme mlle sr sra dra st mt ft
vs cf e.g i.e eg ie viz approx ca est z.b d.h u.a bzw p.ej
"""
_COUNTED = """
no nos nr fig figs eq sec ch vol pp p art ext tel c v
jan feb mar apr jun jul aug sep sept oct nov dec mon tue tues wed thu thur thurs fri sat sun
"""
_ENDINGS = "etc inc ltd co corp llc gmbh jr bros al usw a.m p.m am pm u.s u.k d.c ph.d m.d b.c a.d"

# What follows these is part of the phrase: they never end a sentence.
_BEFORE_A_NAME = frozenset(_TITLES.split())
# Abbreviations before a number; elsewhere words, or the end of a sentence.
_BEFORE_A_NUMBER = frozenset(_COUNTED.split())
# They may end a sentence; the small letter of the next word says that they do not.
_AT_THE_END = frozenset(_ENDINGS.split())


def sentences(text: str) -> list[tuple[int, int, str]]:
    """The sentences of `text`, in order, as `(start, end, text[start:end])` with no space at either end.

    List markers, heading marks and quote marks at the start of a line are left out. A code fence is one item, from its
    opening to its closing marks (or the end of the text); `is_fence` tells it from a sentence. Linear in the text.
    """
    found: list[tuple[int, int, str]] = []
    for start, end in _blocks(text):
        if is_fence(text[start:end]):
            found.append((start, end, text[start:end]))
            continue
        for left, right in _split(text, start, end):
            if _WORDY.search(text, left, right):
                found.append((left, right, text[left:right]))
    return found


def is_fence(sentence: str) -> bool:
    """Whether an item of `sentences` is a code fence."""
    return sentence.startswith(("```", "~~~"))


def _blocks(text: str) -> Iterator[tuple[int, int]]:
    """Spans of fences and of paragraphs, the latter without their marker."""
    fence: tuple[int, str] | None = None
    block: tuple[int, int] | None = None
    for line in _LINE.finditer(text):
        start, end = line.span()
        mark = _FENCE.match(line.group())
        if fence is not None:
            opened, marks = fence
            if mark and mark.group(1).startswith(marks):
                yield opened, start + mark.end()
                fence = None
            continue
        if mark:
            if block:
                yield block
            block, fence = None, (start + mark.start(1), mark.group(1))
            continue
        marker = _MARKER.match(line.group())
        if block is not None and marker is None and _goes_on(text, block, start, line.group()):
            block = (block[0], end)
            continue
        if block:
            yield block
        block = (start + (marker.end() if marker else 0), end)
    if block:
        yield block
    if fence:
        yield fence[0], len(text)


def _goes_on(text: str, block: tuple[int, int], start: int, line: str) -> bool:
    """Whether `line`, at `start`, continues `block` because the text was only wrapped there."""
    left, right = block
    above = text[max(left, text.rfind("\n", left, right) + 1) : right]
    return (
        len(above) >= _WRAPPED_LENGTH
        and line.lstrip()[:1].islower()
        and not _BLANK_LINE.search(text, right, start)
        and above.rstrip()[-1:] not in ".!?…:;。！？"
    )


def _split(text: str, start: int, end: int) -> Iterator[tuple[int, int]]:
    left = start
    for terminal in _TERMINAL.finditer(text, start, end):
        if terminal.group("spaced") and not _ends_here(text, left, terminal.start(), terminal.end(), end):
            continue
        yield _stripped(text, left, terminal.end())
        left = terminal.end()
    yield _stripped(text, left, end)


def _ends_here(text: str, left: int, stop: int, after: int, end: int) -> bool:
    """Whether the punctuation at `stop` ends the sentence that began at `left`; `after` is the position behind it."""
    marks = text[stop:after]
    following = text[after : min(end, after + 40)].lstrip(" \t\r\n\"'“‘(")[:1]
    if marks.startswith(("..", "…")):
        return not following.islower()
    if marks[0] != ".":
        return True
    word = _LAST_WORD.search(text, max(left, stop - 40), stop)
    last = word.group() if word else ""
    if last.lower() in _BEFORE_A_NAME:
        return not following
    if last.lower() in _BEFORE_A_NUMBER:
        return not following.isdigit()
    if last.lower() in _AT_THE_END:
        return not following.islower()
    # An initial ("J. Smith"); "I" is more often the pronoun.
    return not (len(last) == 1 and last.isupper() and last != "I" and last.isascii() and following.isupper())


def _stripped(text: str, left: int, right: int) -> tuple[int, int]:
    while left < right and text[left].isspace():
        left += 1
    while right > left and text[right - 1].isspace():
        right -= 1
    return left, right
