"""Ids: UUIDv7 strings (RFC 9562), sortable by the time they carry.

Two kinds, one shape. `new_id` is for what somebody says: time plus randomness. `derived_id` is for what follows from
something already stored (a summary, an insight): its time is its source's time and its other bits are a hash of what it is
derived from, so deriving twice gives the same id and writing it twice writes it once.
"""

from __future__ import annotations

import hashlib
import os
from datetime import datetime, timezone

__all__ = ["derived_id", "may_be_new", "new_id", "time_of", "to_millis"]

_VARIANT = {f"{digit:x}": f"{0b1000 | (digit & 0b11):x}" for digit in range(16)}


def new_id(at: datetime) -> str:
    """A fresh UUIDv7 for the instant `at` (aware)."""
    return _uuid7(at, os.urandom(10).hex())


def may_be_new(given: str) -> bool:
    """Whether an id looks as those of `new_id` do. Others may look so too."""
    return len(given) == 36 and given[14] == "7" and given[8] == given[13] == given[18] == given[23] == "-"


def time_of(given: str) -> datetime | None:
    """The time that an id carries, to the millisecond; None for an id that is no UUIDv7 as `new_id` writes it."""
    if not may_be_new(given):
        return None
    try:
        return datetime.fromtimestamp(int(given[:8] + given[9:13], 16) / 1000, timezone.utc)
    except (ValueError, OverflowError, OSError):
        # Not hexadecimal, or beyond the year 9999.
        return None


def to_millis(at: datetime) -> datetime:
    """A time as an id carries it, cut to the millisecond."""
    return at.replace(microsecond=at.microsecond // 1000 * 1000)


def derived_id(at: datetime, *parts: str) -> str:
    """The UUIDv7 that stands for `parts` at the instant `at`: the same arguments, the same id."""
    digest = hashlib.blake2b(digest_size=10)
    for part in parts:
        encoded = part.encode()
        # The length goes first so that ("ab", "c") and ("a", "bc") differ.
        digest.update(len(encoded).to_bytes(8, "big"))
        digest.update(encoded)
    return _uuid7(at, digest.hexdigest())


def _uuid7(at: datetime, other: str) -> str:
    """The time, the version (7) and the variant, and 74 of the 80 bits that `other` says in hexadecimal."""
    time = f"{max(0, int(at.timestamp() * 1000)):012x}"
    return f"{time[-12:-4]}-{time[-4:]}-7{other[1:4]}-{_VARIANT[other[4]]}{other[5:8]}-{other[8:]}"
