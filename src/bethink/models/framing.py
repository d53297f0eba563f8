"""What a model counts besides text: the frames of messages, calls and tools, and images.

A `Framing` holds the numbers of a family of models, `framing_of` picks one by a model's name. Where a provider documents a
number it is that number, and the docstring says where; the others err upwards. Counting itself is in `tokens`.
"""

from __future__ import annotations

import re

import msgspec

__all__ = ["FRAMING", "Framing", "framing_of"]


class Framing(msgspec.Struct, frozen=True, kw_only=True):
    """Tokens that are no text. The defaults are above what any family below documents, images of its newest models apart.

    Attributes:
        name: of the family.
        encoding: the vocabulary that its text is counted with, where it is public (see `exact.ENCODINGS`).
        message: around each message: start, role, separator, end.
        named: for having a name, besides the name.
        call: around each tool call.
        tools: once, if there are any tools.
        tool: around each tool's schema.
        reply: at the end of a request, where the reply is begun for the model.
        image: for an image of any size, at the detail the provider takes by default.
        image_low: for an image that the message asks to see at detail "low".
        other: for a sound or a file, whose size is not known.
    """

    name: str = "generic"
    encoding: str = ""
    message: int = 5
    named: int = 1
    call: int = 8
    tools: int = 16
    tool: int = 10
    reply: int = 3
    image: int = 1_600
    image_low: int = 1_600
    other: int = 1_600


FRAMING = Framing()
"""For a model that is not known."""


def _openai(image_low: int, image: int, encoding: str = "o200k_base") -> Framing:
    """OpenAI's chat models.

    The cookbook ("How to count tokens with tiktoken") has 3 for each message and its role (one token), 1 for a name, 3 for the
    reply; 10 for a function at most and 12 for having any. What surrounds a call is not documented.

    Images are tiles of 512 px ("Images and vision", calculating costs): a base, and so much for each of at most 8 tiles, which
    an image has after it was made to fit 2,048 by 768; at detail "low" the base alone. Or they are patches of 32 px, at most
    1,536, times a factor, at any detail.
    """
    return Framing(name="openai", encoding=encoding, message=4, tools=12, image=image, image_low=image_low)


def _tiles(base: int, tile: int, encoding: str = "o200k_base") -> Framing:
    return _openai(base, base + 8 * tile, encoding)


def _patches(factor: float) -> Framing:
    tokens = -int(-1_536 * factor // 1)
    return _openai(tokens, tokens)


def _anthropic(tools: int, image: int) -> Framing:
    """Anthropic's models.

    "Tool use: pricing" has what the system prompt that tools bring counts: 530 at most with Claude 3 Opus, 346 with all others.
    "Vision" has an image at width times height / 750, about 1,600 at most; 4,784 for the models from Claude 4.7 on, which see
    images of 2,576 px. There is no detail to choose. Frames are not documented.
    """
    return Framing(name="anthropic", tools=tools, image=image, image_low=image)


# The first that fits counts. A name goes on with a date or nothing: "gpt-5" is not "gpt-5.5", which is not known.
_DATED = r"(-\d{3,8}(-\d\d)*|-latest|-preview)*$"
_FAMILIES: tuple[tuple[str, Framing], ...] = (
    (r"gpt-4o-mini" + _DATED, _tiles(2_833, 5_667)),
    (r"(gpt-4\.1|gpt-5)-mini" + _DATED, _patches(1.62)),
    (r"(gpt-4\.1|gpt-5)-nano" + _DATED, _patches(2.46)),
    (r"o4-mini" + _DATED, _patches(1.72)),
    (r"gpt-4\.1" + _DATED, _openai(85, 1_536)),
    (r"(gpt-4o|gpt-4\.5|chatgpt-4o)" + _DATED, _tiles(85, 170)),
    (r"(gpt-4-turbo|gpt-4|gpt-4-32k|gpt-3\.5-turbo|gpt-3\.5-turbo-16k)" + _DATED, _tiles(85, 170, "cl100k_base")),
    (r"(o1|o3|o1-pro|o3-pro)" + _DATED, _tiles(75, 150)),
    (r"gpt-5(-chat)?" + _DATED, _tiles(70, 140)),
    (r"claude-3-opus", _anthropic(530, 1_600)),
    (r"claude-(3([-.].*)?|(opus|sonnet|haiku)-4([-.][0-6])?)" + _DATED, _anthropic(346, 1_600)),
    (r"claude-", _anthropic(346, 4_784)),
)
_COMPILED = tuple([(re.compile(pattern), framing) for pattern, framing in _FAMILIES])


def framing_of(model: str) -> Framing:
    """The framing of a model, by the name its provider gives it, with or without a `provider/` before it; `FRAMING` for a
    name that is not known. A family's newer models are not taken to be like the older ones: pass a `Framing` of your own.
    """
    name = model.lower().rpartition("/")[2]
    for pattern, framing in _COMPILED:
        if pattern.match(name):
            return framing
    return FRAMING
