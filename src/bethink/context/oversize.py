"""One message that is larger than what it may count: its two ends, and a marker between them. Pure.

    the beginning                                       2/3 of the room
    [... 41,210 of 52,000 characters (13,870 tokens) of message m17 are not shown ...]
    the end                                             1/3

Both ends of a long text tell the most: what was asked and what it came to, the head of a log and its last lines. The cut falls
between paragraphs where that does not cost half of what fits, else between sentences, else between words, and never inside a
character as readers see it. The marker names the message, so that the rest can be asked for.
"""

from __future__ import annotations

import re

import msgspec

from bethink.errors import BudgetError
from bethink.models import TokenCounter
from bethink.models.characters import boundary as is_boundary
from bethink.models.tokens import truncate
from bethink.settings import Boundary, Keep, check_choice

__all__ = ["Boundary", "Keep", "Shortened", "joined", "marker_of", "shorten"]

# Where a text may be cut, coarsest first. What a pattern matches is left out: it is blank, or empty.
_BREAKS: dict[Boundary, re.Pattern[str]] = {
    "paragraph": re.compile(r"\s{0,9}\n[^\S\n]{0,99}\n\s{0,99}"),
    "sentence": re.compile(r"(?<=[.!?…])\s+|(?<=[.!?…][\"')\]”’»])\s+|(?<=[。！？])(?![。！？」』）])|\s{0,9}\n\s{0,99}"),
    "word": re.compile(r"\s+"),
}


class Shortened(msgspec.Struct, frozen=True):
    """What is left of a text.

    Attributes:
        text: what to show: `joined` of the others.
        start, end: how many characters are kept at the start and at the end.
        marker: what stands for the rest; "" where nothing was left out.
    """

    text: str
    start: int
    end: int
    marker: str


def shorten(
    text: str,
    limit: int,
    counter: TokenCounter,
    *,
    message_id: str,
    keep: Keep = "both",
    boundary: Boundary = "paragraph",
) -> Shortened:
    """`text` as it is if it counts at most `limit` tokens; else its ends with a marker, which together count at most that.

    Costs one count of the whole, and some 40 of texts about as long as what is kept.

    Args:
        text: of a message.
        limit: in tokens.
        counter: what counts them.
        message_id: for the marker.
        keep: which end. Of both, the start has two thirds.
        boundary: the coarsest place to cut at; finer ones are taken where it would cost half of what fits.

    Raises:
        BudgetError: not even the marker fits.
        InvalidInput: `keep` or `boundary` is none of its values.
    """
    check_choice(keep, "keep", Keep)
    check_choice(boundary, "boundary", Boundary)
    tokens = counter.count(text)
    if tokens <= limit:
        return Shortened(text, len(text), 0, "")
    nothing = _made(text, 0, 0, message_id, tokens)
    alone = counter.count(nothing.text)
    if alone > limit:
        raise BudgetError(limit, alone, ((f"the marker of message {message_id}", alone),))
    room = limit - alone
    while room > 0:
        start, end = _ends(text, room, counter, keep, boundary)
        shortened = _made(text, start, end, message_id, tokens)
        excess = counter.count(shortened.text) - limit
        if excess <= 0 and start + end < len(text):
            return shortened
        room -= max(excess, 1)  # parts that are joined may count a few more than each by itself
    return nothing


def marker_of(message_id: str, *, left_out: int, characters: int, tokens: int) -> str:
    """What stands where `left_out` of the `characters` of a message were. `tokens` is what the whole of it counts."""
    return f"[... {left_out:,} of {characters:,} characters ({tokens:,} tokens) of message {message_id} are not shown ...]"


def joined(text: str, start: int, end: int, marker: str) -> str:
    """The first `start` characters of a text, the marker, and its last `end` characters, on lines of their own."""
    return "\n".join([part for part in (text[:start], marker, text[len(text) - end :]) if part])


def _made(text: str, start: int, end: int, message_id: str, tokens: int) -> Shortened:
    marker = marker_of(message_id, left_out=len(text) - start - end, characters=len(text), tokens=tokens)
    return Shortened(joined(text, start, end, marker), start, end, marker)


# -- where to cut ---------------------------------------------------------------------------------------------------------


def _ends(text: str, room: int, counter: TokenCounter, keep: Keep, boundary: Boundary) -> tuple[int, int]:
    """How many characters to keep at the start and at the end, within `room` tokens."""
    share = {"both": room * 2 // 3, "start": room, "end": 0}[keep]
    start = _snapped_start(text, len(truncate(text, share, counter)), boundary) if share else 0
    start = start if text[:start].strip() else 0
    rest = text[start:]
    kept = truncate(rest, room - share, counter, keep="end") if room > share else ""
    end = len(rest) - _snapped_end(rest, len(rest) - len(kept), boundary) if kept else 0
    return start, end if rest[len(rest) - end :].strip() else 0


def _snapped_start(text: str, at: int, boundary: Boundary) -> int:
    """The last break before `at`, or at it, that keeps half; `at` itself where there is none."""
    if at == len(text):
        return at
    for pattern in _from(boundary):
        # A little more is looked at, so that a break right behind the cut is seen whole.
        for found in reversed(list(pattern.finditer(text, at // 2, min(at + 2, len(text))))):
            if at // 2 < found.start() <= at and is_boundary(text, found.start()):
                return found.start()
    return at


def _snapped_end(text: str, at: int, boundary: Boundary) -> int:
    """The first break behind `at`, or at it, that keeps half; `at` itself where there is none."""
    last = at + (len(text) - at) // 2
    for pattern in _from(boundary):
        for found in pattern.finditer(text, max(at - 2, 0), last):
            if at <= found.end() < len(text) and is_boundary(text, found.end()):
                return found.end()
    return at


def _from(boundary: Boundary) -> list[re.Pattern[str]]:
    names = list(_BREAKS)
    return [_BREAKS[name] for name in names[names.index(boundary) :]]
