"""What the pieces of a text weigh in tokens, without a vocabulary.

A byte-pair tokeniser cuts a text into pieces (a word with the space before it, three digits, a run of punctuation, a run of
blanks) and then writes each piece with the longest tokens it has. The cut is easy to follow; what a piece comes to is told by

    words      a table of the English words that are one token (`words.txt`); any other word: its longest beginning that is in
               the table, and so much for each letter behind it
    digits     three to a token
    punctuation   a table of common runs, and the longest of them for others
    other scripts a weight for each character; unknown ones their UTF-8 length, which no tokeniser exceeds

No piece depends on its neighbours, so a text weighs what its pieces weigh.
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable
from functools import lru_cache
from pathlib import Path

__all__ = ["PIECE", "UNIT", "weigh"]

UNIT = 10
"""Weights are whole tenths of a token."""

# A line break between two characters that are no blanks is always a piece of its own: `tokens.lines_of` relies on it.
PIECE = re.compile(
    r" ?[^\x00-/:-@\[-`{-\x7f\s]{1,64}"  # a word: ASCII letters and digits, and all that is not ASCII
    r"|'(?:[stmd]|ll|re|ve)(?![A-Za-z])"
    r"| ?[!-/:-@\[-`{-~]{1,64}(?:[\r\n]{2,16}|[\r\n](?!\S))?"
    r"|\s{1,64}(?<! )|\s{1,64}(?!\S)|\s|."
)
_BLANKS = re.compile(r" *[\r\n]+| +|[^\S \r\n]+")
_RUN = re.compile(r"[0-9]+|[^0-9]+")
_SEGMENT = re.compile("[0-9]+|[A-Za-z]+")
_MARK = re.compile("[\u2010-\u2027]")
_HUMP = re.compile("[A-Z]+(?![a-z])|[A-Z]?[a-z]+")

_LETTER = 5
"""Units for each letter of an unknown word behind its known beginning: two letters a token."""
_UNKNOWN = 6
"""Units on top for a word that is not in the table: what keeps a sentence of rare names from coming out too low."""
_LEAST = 3
"""Units that each letter of an unknown word is worth at least."""


@lru_cache(maxsize=65_536)
def weigh(piece: str) -> int:
    """Units of one piece, as `PIECE` finds it."""
    spaced = piece[0] == " "
    word = piece[1:] if spaced else piece
    if word.isascii():
        if word.isalpha():
            return _word(word, spaced)
        if word.isalnum():
            return _code(word, spaced)
        if piece.isspace():
            return UNIT * _blanks(piece)
        # What ends in a letter is the end of a contraction.
        return UNIT if piece[-1].isalpha() else _punctuation(word, spaced)
    if piece.isspace():
        return UNIT * _blanks(piece)
    plain = _MARK.split(word)
    if "".join(plain).isascii():  # typographic quotes and dashes in an English word
        words = [weigh(" " * (spaced and not at) + part) for at, part in enumerate(plain) if part]
        return sum(words) + UNIT * (len(plain) - 1)
    return UNIT * spaced * word[0].isdecimal() + UNIT * math.ceil(sum(map(_run_weight, _RUN.findall(word))))


# -- words and numbers ----------------------------------------------------------------------------------------------------


def _word(word: str, spaced: bool) -> int:
    known = _table()[spaced]
    if word in known:
        return UNIT
    if not (word.islower() or word.isupper() or word[1:].islower()):
        humps = _HUMP.findall(word)
        return _word(humps[0], spaced) + sum([_word(hump, False) for hump in humps[1:]])
    if len(word) == 1:
        return UNIT
    end = len(word) - 1
    while end > 1 and word[:end] not in known:
        end -= 1
    rest = word[end:]
    units = UNIT + (UNIT if rest in _table()[False] else max(UNIT, _LETTER * len(rest))) + _UNKNOWN
    return max(units, _LEAST * len(word))


def _code(word: str, spaced: bool) -> int:
    """Letters and digits mixed: a number, an id, a hash, base64."""
    # A number takes no space before it into its token.
    units = UNIT * spaced + sum([_segment(run) for run in _SEGMENT.findall(word)])
    # Long mixtures are base64 and hashes, which hold no words.
    blob = math.ceil((0.65 if word.islower() else 0.75) * len(word)) if len(word) >= 12 and not word.isdigit() else 0
    return max(units, UNIT * (spaced + blob))


def _segment(run: str) -> int:
    return UNIT * ((len(run) + 2) // 3) if run.isdigit() else _word(run, False)


# -- punctuation and blanks -----------------------------------------------------------------------------------------------


def _punctuation(run: str, spaced: bool) -> int:
    marks = run.rstrip("\r\n")
    units = 0
    at = 0
    while at < len(marks):
        known = _table()[spaced and not at]
        end = len(marks)
        while end - at > 1 and marks[at:end] not in known:
            end -= 1
        units += UNIT
        at = end
    # Line breaks go into the token of the marks before them, unless it is a rare one.
    breaks = len(run) - len(marks)
    return units + UNIT * (breaks > 2 or (breaks == 2 and len(marks) > 2))


def _blanks(run: str) -> int:
    return sum(map(_blank, _BLANKS.findall(run)))


def _blank(run: str) -> int:
    if run[-1] in "\r\n":
        return 1 + len(run.lstrip(" ")) // 9
    if run[0] == " ":
        return 1
    return 1 + len(run) // 17 if run.isascii() else 2 * len(run)


# -- the table ------------------------------------------------------------------------------------------------------------


@lru_cache(maxsize=1)
def _table() -> tuple[set[str], set[str]]:
    """Words and runs of punctuation that are one token: (at the start of a text or after a mark, after a space). 5 MB.

    Read from `words.txt`: on each line the forms in which its words are one token (`_` a space before it, `a` `A` `AA` in small
    letters, with a capital, in capitals), then the words.
    """
    tables: tuple[set[str], set[str]] = set(), set()
    for line in Path(__file__).with_name("words.txt").read_text("ascii").splitlines()[1:]:
        forms, _, words = line.partition(" ")
        for form in forms.split("|"):
            spaced = form[0] == "_"
            tables[spaced].update(map(_FORMS[form.removeprefix("_")], words.split()))
    return tables


_FORMS: dict[str, Callable[[str], str]] = {"a": str, "A": str.capitalize, "AA": str.upper, "=": str}


# -- scripts --------------------------------------------------------------------------------------------------------------

_WEIGHTS: tuple[tuple[int, int, float], ...] = (
    (0x00A0, 0x024F, 1.25),  # Latin with accents
    (0x0300, 0x036F, 1.5),  # accents by themselves
    (0x0370, 0x03FF, 1.1),  # Greek
    (0x0410, 0x044F, 0.65),  # Russian
    (0x0450, 0x04FF, 2.3),  # other Cyrillic
    (0x0530, 0x058F, 2.2),  # Armenian
    (0x0591, 0x05C7, 2.0),  # Hebrew points
    (0x05C8, 0x05FF, 1.25),  # Hebrew
    (0x0621, 0x0652, 0.95),  # Arabic
    (0x0653, 0x06FF, 2.0),  # Arabic letters of other languages
    (0x0900, 0x097F, 1.3),  # Devanagari
    (0x0980, 0x09EF, 1.55),  # Bengali
    (0x0A00, 0x0AFF, 2.0),  # Gurmukhi, Gujarati
    (0x0B80, 0x0D7F, 2.0),  # Tamil to Malayalam
    (0x0E00, 0x0E7F, 1.1),  # Thai
    (0x10A0, 0x10FF, 2.2),  # Georgian
    (0x1E00, 0x1EFF, 1.5),  # Vietnamese
    (0x2000, 0x200A, 1.0),
    (0x200B, 0x200D, 2.0),  # joiners
    (0x2010, 0x2044, 1.0),  # dashes, quotes, bullets
    (0x20A0, 0x2193, 1.5),  # currency, arrows
    (0x2500, 0x25FF, 2.0),  # boxes
    (0x3000, 0x303F, 1.0),  # CJK punctuation
    (0x3040, 0x30FF, 1.1),  # kana
    (0x4E00, 0x9FFF, 1.6),  # Han
    (0xAC00, 0xD7A3, 1.4),  # Hangul
    (0xFF00, 0xFF20, 1.0),  # full-width punctuation and digits
)


def _run_weight(run: str) -> float:
    return (len(run) + 2) // 3 if run.isdecimal() else sum(map(_character_weight, run))


@lru_cache(maxsize=8_192)
def _character_weight(character: str) -> float:
    codepoint = ord(character)
    if codepoint < 0x80:
        return 0.42
    for first, last, weight in _WEIGHTS:
        if first <= codepoint <= last:
            return weight
    if codepoint >= 0x1F000:
        return 3.0  # emoji: four bytes, of which at least two are one token
    # A lone surrogate has no UTF-8; a counter is no place to refuse it.
    return float(len(character.encode("utf-8", "surrogatepass")))
