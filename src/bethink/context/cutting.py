"""Messages that are larger than the room for them, shortened to fit it. Pure.

A message says its texts in several places: its content, or each part of it, then the arguments of its calls. Each place can be
shortened by itself (see `oversize`); a `Cut` says which, and what of it is kept:

    content or text part   its ends, with a marker between
    image, sound, file     whole, or a marker in its place
    arguments of a call    JSON stays JSON: the strings within are shortened, or a small object takes the place of all of it;
                           free text is shortened as text

The room is shared fairly: short texts stay whole, and the long ones have the same room each. Texts give way first, then images
from the last to the first, then whole arguments, those first whose strings are the least of them.
"""

from __future__ import annotations

import json
import re
from bisect import bisect_left
from collections.abc import Iterable, Mapping, Sequence
from functools import cached_property
from itertools import groupby
from typing import TypeAlias

import msgspec

from bethink.context.oversize import joined, marker_of, shorten
from bethink.formats.content import custom_calls
from bethink.formats.openai_chat import chat_form
from bethink.messages import Message, Part, Raw, ToolCall
from bethink.models.measure import Measure
from bethink.records import Cut
from bethink.settings import Oversize

__all__ = ["Cuts", "by_seq", "cut_to_fit", "with_cuts"]

Cuts: TypeAlias = Mapping[int, tuple[Cut, ...]]
"""The cuts of each message that is shortened, by its seq."""

_WHOLE = -1
_LEAST = 64
"""Tokens. Texts up to here are left whole; longer ones are to keep as much, if images and arguments can give way."""

_SHORT = 16
"""Characters. What is no longer is not worth counting."""

# A JSON string, and whether it is the key of something. Exact within valid JSON.
_STRING = re.compile(r'("[^"\\]*(?:\\.[^"\\]*)*")(\s*:)?', re.DOTALL)


class _Text(msgspec.Struct, frozen=True):
    """A text that may be shortened: where it stands, and what it counts."""

    message: Message
    part: int
    leaf: int
    text: str
    tokens: int

    def cut(self, start: int = 0, end: int = 0) -> Cut:
        return Cut(self.message.seq, self.part, self.leaf, start, end, self.tokens)

    @property
    def marker(self) -> str:
        return marker_of(self.message.id, left_out=len(self.text), characters=len(self.text), tokens=self.tokens)


def cut_to_fit(
    messages: Sequence[Message], rooms: Sequence[int], measure: Measure, how: Oversize
) -> dict[int, tuple[Cut, ...]] | None:
    """Cuts that bring `messages` down to one of `rooms`, each so many tokens for all of them together; None if nothing does.

    It is the first room that leaves something of every text; the last one, if all must give way to their markers. {} where
    nothing need be cut.

    Costs one count of each text, and some 40 of texts about as long as what is kept of it.
    """
    measure = measure.remembering()
    if measure.messages(messages) <= rooms[0]:
        return {}
    work = _Work(messages, measure, how)
    for room, least in (*((room, _LEAST) for room in dict.fromkeys(rooms)), (rooms[-1], 0)):
        found = work.cuts(room, least)
        if found is not None:
            return found
    return None


class _Work:
    """Messages that are to be cut, with all that can be cut of them."""

    def __init__(self, messages: Sequence[Message], measure: Measure, how: Oversize) -> None:
        self._messages, self._measure, self._how = messages, measure, how
        found = [text for message in messages for text in _texts(message, measure)]
        self._long = [text for text in found if text.tokens > _LEAST]

    @cached_property
    def _whole(self) -> list[_Text]:
        """What can only be shown or not, in the order in which it gives way."""
        return [*_media(self._messages, self._measure), *_arguments(self._messages, self._long, self._measure)]

    def cuts(self, room: int, least: int) -> dict[int, tuple[Cut, ...]] | None:
        """Cuts that share the room among the long texts, where as little as possible is not shown at all; None if one of them
        would have less than `least` tokens besides its marker.
        """
        if self._enough(0, room, least):
            return self._filled(0, room)
        # The more is gone, the more room is left.
        gone = bisect_left(range(len(self._whole) + 1), True, key=lambda gone: self._enough(gone, room, least))
        return self._filled(gone, room) if gone <= len(self._whole) else None

    def _enough(self, gone: int, room: int, least: int) -> bool:
        long, nothing = self._left(gone)
        return room - self._size(nothing) >= least * len(long)

    def _left(self, gone: int) -> tuple[list[_Text], list[Cut]]:
        """The long texts where the first `gone` are not shown, and the cuts where nothing is shown of the long ones either."""
        away = self._whole[:gone] if gone else []
        places = {(text.message.seq, text.part) for text in away}
        long = [text for text in self._long if (text.message.seq, text.part) not in places]
        return long, [text.cut() for text in (*away, *long)]

    def _size(self, cuts: Iterable[Cut]) -> int:
        return self._measure.messages(with_cuts(self._messages, by_seq(cuts)))

    def _filled(self, gone: int, room: int) -> dict[int, tuple[Cut, ...]]:
        """The cuts where the long texts share what is left of the room."""
        long, nothing = self._left(gone)
        away = nothing[:gone]
        alone = [self._measure.count(text.marker) for text in long]
        spare = room - self._size(nothing)
        # What is put together may count a little more than its parts did, and JSON escapes much: so it is tried until it fits.
        while spare > 0:
            share = _share([text.tokens - marker for text, marker in zip(long, alone, strict=True)], spare)
            cuts = away.copy()
            for text, marker in zip(long, alone, strict=True):
                if text.tokens > marker + share:
                    cuts.append(self._shortened(text, marker + share))
            over = self._size(cuts) - room
            if over <= 0:
                return by_seq(cuts)
            spare -= over
        return by_seq(nothing)

    def _shortened(self, text: _Text, limit: int) -> Cut:
        keep, boundary = self._how.keep, self._how.boundary
        kept = shorten(text.text, limit, self._measure, message_id=text.message.id, keep=keep, boundary=boundary)
        return text.cut(kept.start, kept.end)


def _share(wanted: Sequence[int], spare: int) -> int:
    """The most that each of several may have, so that all together have at most `spare`: who wants less leaves the rest."""
    left = len(wanted)
    for want in sorted(wanted):
        if want * left > spare:
            return spare // left
        spare -= want
        left -= 1
    return max(wanted, default=0)


# -- places ---------------------------------------------------------------------------------------------------------------


def _texts(message: Message, measure: Measure) -> list[_Text]:
    """What may be shortened of a message, in order."""
    if isinstance(message.content, str):
        found = [(0, _WHOLE, message.content)]
    else:
        found = [(at, _WHOLE, part.text) for at, part in enumerate(message.content or ()) if _is_words(part)]
    for at, call in _calls(message):
        if _is_json(call.arguments):
            found += [(at, leaf, text) for leaf, text in enumerate(_strings(call.arguments))]
        else:
            found.append((at, _WHOLE, call.arguments))
    return [_Text(message, part, leaf, text, measure.count(text)) for part, leaf, text in found if len(text) > _SHORT]


def _media(messages: Sequence[Message], measure: Measure) -> list[_Text]:
    """Parts that are no text, the last first."""
    found = [
        _Text(message, at, _WHOLE, "", measure.message(Message(role="user", content=(part,))) - measure.framing.message)
        for message in messages
        if isinstance(message.content, tuple)
        for at, part in enumerate(message.content)
        if not _is_words(part)
    ]
    return [media for media in reversed(found) if media.tokens > _LEAST]


def _arguments(messages: Sequence[Message], long: Iterable[_Text], measure: Measure) -> list[_Text]:
    """The arguments of calls that are JSON, first those of which the most is left when their strings are shortened."""
    saved: dict[tuple[int, int], int] = {}
    for text in long:
        place = text.message.seq, text.part
        saved[place] = saved.get(place, 0) + text.tokens - _LEAST
    found = [
        _Text(message, at, _WHOLE, call.arguments, measure.count(call.arguments))
        for message in messages
        for at, call in _calls(message)
        if len(call.arguments) > _SHORT and _is_json(call.arguments)
    ]
    worth = [whole for whole in found if whole.tokens > _LEAST]
    return sorted(worth, key=lambda whole: saved.get((whole.message.seq, whole.part), 0) - whole.tokens)


def _calls(message: Message) -> list[tuple[int, ToolCall]]:
    """Its calls, each with its number as a part."""
    return list(enumerate(message.tool_calls, _contents(message)))


def _contents(message: Message) -> int:
    return len(message.content) if isinstance(message.content, tuple) else 1


def _is_words(part: Part) -> bool:
    return part.type in ("text", "reasoning") and not part.ref


def _is_json(text: str) -> bool:
    try:
        json.loads(text, parse_int=str)  # a number of any length is one
    except ValueError:
        return False
    except RecursionError:  # nested deeper than can be read, and nothing else was wrong so far
        return _can_be_read(text)
    return True


def _can_be_read(text: str) -> bool:
    """Whether all its strings are those of JSON."""
    try:
        _strings(text)
    except ValueError:
        return False
    return True


def _strings(arguments: str) -> list[str]:
    """The strings within a JSON text that are no keys, in order."""
    return [json.loads(found[1]) for found in _STRING.finditer(arguments) if found[2] is None]


# -- as shown -------------------------------------------------------------------------------------------------------------


def by_seq(cuts: Iterable[Cut]) -> dict[int, tuple[Cut, ...]]:
    """Cuts by message, each message's in the order of their places."""
    ordered = sorted(cuts, key=lambda cut: (cut.seq, cut.part, cut.leaf))
    return {seq: tuple(found) for seq, found in groupby(ordered, key=lambda cut: cut.seq)}


def with_cuts(messages: Sequence[Message], cuts: Cuts) -> list[Message]:
    """The messages as shown: those that `cuts` names with markers for what is left out of them."""
    if not cuts:
        return list(messages)
    return [_cut(message, cuts[message.seq]) if message.seq in cuts else message for message in messages]


def _cut(message: Message, cuts: Sequence[Cut]) -> Message:
    content = list(message.content) if isinstance(message.content, tuple) else message.content
    calls = list(message.tool_calls)
    for part, places in groupby(cuts, key=lambda cut: cut.part):
        here = list(places)
        if part >= _contents(message):
            call = calls[part - _contents(message)]
            arguments = _cut_arguments(message, call.arguments, here)
            calls[part - _contents(message)] = msgspec.structs.replace(call, arguments=arguments)
        elif isinstance(content, list):
            content[part] = _cut_part(message, content[part], here[0])
        else:
            content = _cut_text(message, content or "", here[0])
    shown = tuple(content) if isinstance(content, list) else content
    cut = msgspec.structs.replace(message, content=shown, tool_calls=tuple(calls))
    # What it came as would say the whole again. Only that a call's input is free text is said nowhere else.
    raw = Raw("openai", msgspec.json.encode(chat_form(cut))) if custom_calls(message) else None
    return msgspec.structs.replace(cut, raw=raw)


def _cut_part(message: Message, part: Part, cut: Cut) -> Part:
    if _is_words(part):
        return msgspec.structs.replace(part, text=_cut_text(message, part.text, cut))
    return Part("text", f"[{part.type} of message {message.id} ({cut.tokens:,} tokens) is not shown]")


def _cut_text(message: Message, text: str, cut: Cut) -> str:
    left_out = len(text) - cut.start - cut.end
    marker = marker_of(message.id, left_out=left_out, characters=len(text), tokens=cut.tokens)
    return joined(text, cut.start, cut.end, marker)


def _cut_arguments(message: Message, arguments: str, cuts: Sequence[Cut]) -> str:
    if cuts[0].leaf == _WHOLE:
        if not _is_json(arguments):
            return _cut_text(message, arguments, cuts[0])
        return json.dumps({"not_shown": _cut_text(message, arguments, cuts[0])})
    wanted = {cut.leaf: cut for cut in cuts}
    made: list[str] = []
    done, leaf = 0, 0
    for found in _STRING.finditer(arguments):
        if found[2] is not None:
            continue
        if leaf in wanted:
            text = _cut_text(message, json.loads(found[1]), wanted[leaf])
            made += [arguments[done : found.start()], _json_string(text)]
            done = found.end()
        leaf += 1
    return "".join([*made, arguments[done:]])


def _json_string(text: str) -> str:
    # Half of a pair of UTF-16 can be written in JSON, but not in UTF-8.
    lone = any("\ud800" <= letter <= "\udfff" for letter in text)
    return json.dumps(text, ensure_ascii=lone)
