"""Ids: UUIDv7 strings (RFC 9562), sortable by the time they carry.

Two kinds, one shape. `new_id` is for what somebody says: time plus randomness. `derived_id` is for what follows from
something already stored (a summary, an insight): its time is its source's time and its other bits are a hash of what it is
derived from, so deriving twice gives the same id and writing it twice writes it once.
"""

from __future__ import annotations

import hashlib
import os
from datetime import datetime

__all__ = ["derived_id", "new_id"]

_VERSION_AND_VARIANT = (0x7 << 76) | (0b10 << 62)


def new_id(at: datetime) -> str:
    """A fresh UUIDv7 for the instant `at` (aware)."""
    return _uuid7(at, int.from_bytes(os.urandom(10), "big"))


def derived_id(at: datetime, *parts: str) -> str:
    """The UUIDv7 that stands for `parts` at the instant `at`: the same arguments, the same id."""
    digest = hashlib.blake2b(digest_size=10)
    for part in parts:
        encoded = part.encode()
        # The length goes first so that ("ab", "c") and ("a", "bc") differ.
        digest.update(len(encoded).to_bytes(8, "big"))
        digest.update(encoded)
    return _uuid7(at, int.from_bytes(digest.digest(), "big"))


def _uuid7(at: datetime, low: int) -> str:
    millis = max(0, int(at.timestamp() * 1000)) & ((1 << 48) - 1)
    rand_a, rand_b = (low >> 62) & 0xFFF, low & ((1 << 62) - 1)
    value = (millis << 80) | _VERSION_AND_VARIANT | (rand_a << 64) | rand_b
    text = f"{value:032x}"
    return f"{text[:8]}-{text[8:12]}-{text[12:16]}-{text[16:20]}-{text[20:]}"
