"""What is noted beside messages, which never change: the tier that one was given later, and how much it matters.

    Message.tier ──▶ tier_of ◀── Tiered    the last that `promote` set
                        │
                        ▼
                    is_pinned ◀── role     system and developer messages are, whatever their tier

A `Scored` is what somebody (a model, by its name) thinks a message is worth keeping, from 1 to 10.
"""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime
from typing import get_args

import msgspec

from bethink.errors import InvalidInput
from bethink.messages import Message, Tier

__all__ = ["HIGHEST_SCORE", "LOWEST_SCORE", "TIERS", "Scored", "Tiered", "check_tier", "is_pinned", "tier_of"]

TIERS: tuple[Tier, ...] = get_args(Tier)
"""From what always stays to what leaves with its turn."""

LOWEST_SCORE, HIGHEST_SCORE = 1, 10


class Tiered(msgspec.Struct, frozen=True):
    """The tier that a message was given after it was stored, and when."""

    tier: Tier
    at: datetime


class Scored(msgspec.Struct, frozen=True):
    """How much a message matters, from 1 to 10, by whose judgement (a model's name), and when it was given."""

    score: int
    author: str
    at: datetime


def tier_of(message: Message, tiers: Mapping[int, Tiered]) -> Tier:
    """The tier of a stored message now; `tiers` is by seq."""
    given = tiers.get(message.seq)
    return message.tier if given is None else given.tier


def is_pinned(message: Message, tiers: Mapping[int, Tiered]) -> bool:
    """Whether a stored message is always in view and never folded, as things stand now; `tiers` is by seq."""
    if message.seq not in tiers:
        return message.pinned
    return tiers[message.seq].tier == "permanent" or message.role in ("system", "developer")


def check_tier(tier: object) -> Tier:
    """`tier`, or InvalidInput if it is none."""
    for known in TIERS:
        if tier == known:
            return known
    found = "no tier of that name" if isinstance(tier, str) else f"a {type(tier).__name__}"
    raise InvalidInput("tier", found, f"use one of {', '.join(TIERS)}")
