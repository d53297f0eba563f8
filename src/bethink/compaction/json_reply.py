"""What of a model's reply is JSON: the items that were asked for, however it wrapped them.

    reply ─▶ without what it thought aloud ─▶ every value that begins at a bracket ─▶ those that hold the items ─▶ items

A reply may stand in a code fence, in prose with braces of its own, in single quotes, with trailing commas, with fields nobody
asked for, as a bare list or as one object after another; it may break off. What can be read whole is read: an item that is
damaged is dropped and counted, not the answer. An item that was cut off is never half of one. What the items say is for the
step to believe or not (see `insights.model_extract`).
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterator
from typing import Any, Literal

import msgspec

from bethink.compaction.model_reply import spoken

__all__ = ["Items", "number_of", "numbers_of", "read_items", "words_of"]

_MOST_READ = 100_000
_DEEPEST = 24
# Characters that may be looked at, as a multiple of the reply: what is read twice, after a false start, counts twice.
_EFFORT = 6

_SPACE = re.compile(r"(?:\s+|//[^\n]*|/\*.*?\*/)*", re.DOTALL)
_NUMBER = re.compile(r"[-+]?\d{1,30}(?:\.\d{1,30})?(?:[eE][-+]?\d{1,3})?(?![\w.])")
_WORDS: dict[str, Any] = {
    "true": True,
    "false": False,
    "null": None,
    "none": None,
    "nan": None,
    "infinity": None,
    "undefined": None,
}
_WORD = re.compile(r"-?[A-Za-z_][\w-]*")
_STRING = {
    '"': re.compile(r'"((?:[^"\\]|\\.)*)(?:"|\Z)', re.DOTALL),
    "'": re.compile(r"'((?:[^'\\]|\\.)*)(?:'|\Z)", re.DOTALL),
}
_ESCAPE = re.compile(r"\\(?:u([0-9a-fA-F]{4})|(.))", re.DOTALL)
_ESCAPED = {"n": "\n", "t": "\t", "r": "\r", "b": "\b", "f": "\f"}
_OPEN = re.compile(r"[\[{]")
_INTEGER = re.compile(r"\W*(\d{1,9})\W*")


class Items(msgspec.Struct, frozen=True):
    """What a reply holds.

    Attributes:
        items: any JSON values, in order; () where the reply says that there are none.
        damaged: how many more there were of which nothing can be read.
    """

    items: tuple[Any, ...] = ()
    damaged: int = 0


def read_items(text: str, name: str) -> Items | Literal["empty", "unreadable"]:
    """The items that a reply holds under `name`, or as what it is. Never raises, whatever the text. Linear in it.

    An object with that key is what was asked for, at whatever depth. Where there is none: a list of objects; objects one after
    another. A value under the key that is no list is the one item.
    """
    text = spoken(text)[:_MOST_READ].strip()
    if not text:
        return "empty"
    reader = _Reader(text)
    values = list(reader.values())
    named = [found for value in values for found in _under(value, name.casefold())]
    if named:
        return Items(tuple([item for found in named for item in found]), reader.damaged)
    lists = [value for value in values if isinstance(value, list) and any(isinstance(item, dict) for item in value)]
    if lists:
        return Items(tuple([item for value in lists for item in value]), reader.damaged)
    objects = [value for value in values if isinstance(value, dict) and value]
    if objects:
        return Items(tuple(objects), reader.damaged)
    return Items() if any(value in ([], {}) for value in values) and not reader.damaged else "unreadable"


def number_of(value: object) -> int | None:
    """A whole number as models write one (3, "3", "[3]", 3.0); None for anything else."""
    if isinstance(value, bool):
        return None
    if isinstance(value, str) and (match := _INTEGER.fullmatch(value)):
        return int(match[1])
    if isinstance(value, float) and not (math.isfinite(value) and value.is_integer()):
        return None
    return int(value) if isinstance(value, int | float) else None


def numbers_of(value: object) -> tuple[int | None, ...]:
    """Numbers in a list, or the one that stands for a list; "2, 5" are two. None for each that is none."""
    if isinstance(value, str):
        value = [part for part in re.split(r"[,;\s]+", value.strip("[]() ")) if part]
    return tuple(map(number_of, value)) if isinstance(value, list) else (number_of(value),)


def words_of(value: object) -> str:
    """A text on one line; "" for what is none."""
    return " ".join(value.split()) if isinstance(value, str) else ""


def _under(value: object, name: str, depth: int = 3) -> Iterator[list[Any]]:
    """What stands under a key, as lists."""
    if not isinstance(value, dict) or not depth:
        return
    for key, held in value.items():
        if key.casefold() == name:
            yield held if isinstance(held, list) else [] if held is None else [held]
        else:
            yield from _under(held, name, depth - 1)


def _holds_items(value: object) -> bool:
    """Whether it is a list with an object in it, or has a list that is not empty."""
    if isinstance(value, dict):
        return any(isinstance(held, list) and held for held in value.values())
    return isinstance(value, list) and any(isinstance(item, dict) for item in value)


class _Unreadable(Exception):
    """What stands there is no value."""


class _Cut(Exception):
    """The text ends within a value; `value` is what of it is whole, if anything."""

    def __init__(self, value: Any = None) -> None:
        self.value = value


class _Reader:
    """Reads values out of a text, from wherever one begins."""

    def __init__(self, text: str) -> None:
        self._text = text
        self._at = 0
        self._left = _EFFORT * len(text) + 1_000
        self.damaged = 0

    def values(self) -> Iterator[Any]:
        """Each list and object of the text that is not within another."""
        while self._left > 0 and (begins := _OPEN.search(self._text, self._at)):
            start, self._at = begins.start(), begins.start()
            damaged = self.damaged
            try:
                value = self._value(_DEEPEST)
            except _Unreadable:
                self.damaged, self._at = damaged, start + 1
                continue
            except _Cut as cut:
                # A brace of prose may never be closed, and what was asked for come after it.
                if not _holds_items(cut.value):
                    self.damaged, self._at = damaged, start + 1
                    continue
                self._at, value = len(self._text), cut.value
            yield value

    def _moved(self, to: int) -> None:
        self._left -= to - self._at
        self._at = to
        if self._left <= 0:
            raise _Unreadable

    def _peek(self) -> str:
        """The next character that is no space."""
        space = _SPACE.match(self._text, self._at)
        assert space is not None, "it matches nothing too"
        self._moved(space.end())
        if self._at >= len(self._text):
            raise _Cut
        return self._text[self._at]

    def _value(self, depth: int) -> Any:
        first = self._peek()
        if not depth:
            raise _Unreadable
        if first == "{":
            return self._object(depth - 1)
        if first == "[":
            return self._list(depth - 1)
        if first in _STRING:
            return self._string(first)
        if number := _NUMBER.match(self._text, self._at):
            self._moved(number.end())
            if self._at == len(self._text):
                # It may be the beginning of a longer one.
                raise _Cut
            return float(number.group()) if set(number.group()) & set(".eE") else int(number.group())
        word = _WORD.match(self._text, self._at)
        if word is None or word.group().strip("-").casefold() not in _WORDS:
            raise _Unreadable
        self._moved(word.end())
        return _WORDS[word.group().strip("-").casefold()]

    def _string(self, quote: str) -> str:
        match = _STRING[quote].match(self._text, self._at)
        if match is None or (match.end() == len(self._text) and (len(match.group()) < 2 or match.group()[-1] != quote)):
            raise _Cut
        self._moved(match.end())
        return (
            _ESCAPE.sub(_unescaped, match[1]).encode("utf-16", "surrogatepass").decode("utf-16", "replace").replace("\x00", "")
        )

    def _object(self, depth: int) -> dict[str, Any]:
        self._moved(self._at + 1)
        found: dict[str, Any] = {}
        try:
            while (first := self._peek()) != "}":
                if first == ",":
                    self._moved(self._at + 1)
                    continue
                if first not in _STRING:
                    raise _Unreadable
                key = self._string(first)
                if self._peek() != ":":
                    raise _Unreadable
                self._moved(self._at + 1)
                try:
                    found[key] = self._value(depth)
                except _Cut as cut:
                    if isinstance(cut.value, list):
                        found[key] = cut.value
                    raise
                if self._peek() not in ",}":
                    raise _Unreadable
        except _Cut:
            # Whole but for its end, if what it holds is a list: that one's items are whole.
            raise _Cut(found if any(isinstance(value, list) for value in found.values()) else None) from None
        self._moved(self._at + 1)
        return found

    def _list(self, depth: int) -> list[Any]:
        self._moved(self._at + 1)
        found: list[Any] = []
        try:
            while (first := self._peek()) != "]":
                if first == ",":
                    self._moved(self._at + 1)
                    continue
                start = self._at
                try:
                    value = self._value(depth)
                    if self._peek() not in ",]":
                        raise _Unreadable
                    found.append(value)
                except _Unreadable:
                    self.damaged += 1
                    self._skip(start)
        except _Cut:
            raise _Cut(found) from None
        self._moved(self._at + 1)
        return found

    def _skip(self, start: int) -> None:
        """Go behind a damaged item: to the comma after it, or to the end of the list."""
        self._at = start
        depth = 0
        while True:
            character = self._peek()
            if character in _STRING:
                try:
                    self._string(character)
                    continue
                except _Cut:
                    if character == '"':
                        raise
            if not depth and character in ",]":
                return
            depth += (character in "{[") - (character in "}]")
            if depth < 0:
                raise _Unreadable
            self._moved(self._at + 1)


def _unescaped(match: re.Match[str]) -> str:
    if match[1]:
        return chr(int(match[1], 16))
    return _ESCAPED.get(match[2], match[2])
