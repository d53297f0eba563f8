"""What is read of a message: all of it, or pieces at even distances where it is a pasted file.

    |piece|.........|piece|.........|piece|.........|piece|

Reading costs a microsecond a character, so what is read is bounded. The beginning alone would say nothing of the rest: a log
ends with what went wrong, a list goes on as it began.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

__all__ = ["excerpt"]

_PIECE = 4_000
"""Characters of a piece, where there is room for several."""

_FENCE = re.compile(r"^[ \t]*(`{3,}(?!.*`)|~{3,})", re.MULTILINE)


def excerpt(text: str, most: int) -> str:
    """`text`, or at most about `most` characters of it: its beginning, its end, and pieces between, a blank line between two.

    A piece starts and ends at a line break where there is one, else at a space. Code fences are closed and opened between two
    as it needs, so that code stays code and words stay words. Linear in the text, at some nanoseconds a character.
    """
    if len(text) <= most:
        return text
    number = max(2, most // _PIECE)
    size = most // number
    starts = [index * (len(text) - size) // (number - 1) for index in range(number)]
    pieces = [(_after(text, start, size), _before(text, start + size, size)) for start in starts]
    fences = _fences(text, [place for piece in pieces for place in piece])
    read: list[str] = []
    left = ""
    for start, end in pieces:
        entered = next(fences)
        if left != entered:
            read += [f"{fence}\n" for fence in (left, entered) if fence]
        read.append(f"{text[start:end]}\n\n" if end < len(text) else text[start:])
        left = next(fences)
    return "".join(read)


def _after(text: str, start: int, size: int) -> int:
    """Where the first whole line at or behind `start` begins, or word."""
    if start == 0 or text[start - 1] == "\n":
        return start
    for mark in "\n ":
        found = text.find(mark, start, start + size // 2)
        if found >= 0:
            return found + 1
    return start


def _before(text: str, end: int, size: int) -> int:
    """Where the last whole line before `end` ends, or word."""
    if end >= len(text):
        return end
    for mark in "\n ":
        found = text.rfind(mark, end - size // 2, end + 1)
        if found >= 0:
            return found
    return end


def _fences(text: str, places: list[int]) -> Iterator[str]:
    """For each place, in order, the marks of the code fence it is in; "" where it is in none."""
    marks = _FENCE.finditer(text)
    mark = next(marks, None)
    fence = ""
    for place in places:
        while mark is not None and mark.start() < place:
            if not fence:
                fence = mark.group(1)
            elif mark.group(1).startswith(fence):
                fence = ""
            mark = next(marks, None)
        yield fence
