"""Characters as readers see them: where a text may be cut without taking one apart.

An emoji sequence, a flag, a letter with its accents, a Hangul syllable, a consonant with what joins the next: all are several
code points and one character. The rules are those of Unicode's UAX 29 for extended grapheme clusters, told from general
categories and combining classes instead of its own tables, so they hold for whatever Unicode the running Python knows.
"""

from __future__ import annotations

import unicodedata

__all__ = ["boundary"]

_JOINER = "\u200d"
_VIRAMA = 9
"""The combining class of the signs that join a consonant to the next."""
_PREPENDED = frozenset("\u0600\u0601\u0602\u0603\u0604\u0605\u06dd\u070f\u08e2\U000110bd\U000110cd")


def boundary(text: str, at: int) -> bool:
    """Whether `text` may be cut before its character `at`; so at its beginning and its end."""
    if not 0 < at < len(text):
        return True
    before, after = text[at - 1], text[at]
    if before < "\x80" and after < "\x80":
        return before != "\r" or after != "\n"
    if before == _JOINER or before in _PREPENDED or unicodedata.combining(before) == _VIRAMA:
        return False
    if _is_flag_half(before) and _is_flag_half(after):
        first = at - 1
        while first and _is_flag_half(text[first - 1]):
            first -= 1
        return (at - first) % 2 == 0
    return not (_extends(after) or _joins_hangul(before, after) or _is_pair(before, after))


def _extends(character: str) -> bool:
    return (
        unicodedata.category(character)[0] == "M"
        or character in "\u200c\u200d\u0e33\u0eb3"
        or "\U0001f3fb" <= character <= "\U0001f3ff"  # skin tones
        or "\U000e0020" <= character <= "\U000e007f"  # tags, in the flags of regions
    )


def _is_flag_half(character: str) -> bool:
    return "\U0001f1e6" <= character <= "\U0001f1ff"


def _joins_hangul(before: str, after: str) -> bool:
    """Whether they are letters of one syllable, or a syllable and its last letter."""
    return "\u1100" <= after <= "\u11ff" and ("\u1100" <= before <= "\u11ff" or "\uac00" <= before <= "\ud7a3")


def _is_pair(before: str, after: str) -> bool:
    """Whether they are the two halves of a character that UTF-16 was not put together from."""
    return "\ud800" <= before <= "\udbff" and "\udc00" <= after <= "\udfff"
