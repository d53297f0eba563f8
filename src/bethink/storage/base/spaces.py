"""Vector spaces: whose vectors a database holds, and whose are to take their place.

    bind_embedder ─▶ current ──────────────────────── switch_space ─▶ its vectors are swept away
       fill_space ─▶ filling ─ put, until nothing waits ──┘  └─▶ current

A space is what one embedder's fingerprint names. Vectors of two spaces say nothing to each other: every vector that is stored,
and every one that is asked with, belongs to one space and meets the vectors of that one alone.
"""

from __future__ import annotations

from typing import Literal

import msgspec

from bethink.models import Fingerprint

__all__ = ["Space"]


class Space(msgspec.Struct, frozen=True):
    """A vector space of a database.

    Attributes:
        fingerprint: of its embedder.
        state: "current" is searched where nothing else is said. "filling" is to take its place; each unit waits in both by
            itself, and one that is forgotten goes from both.
        vectors: how many it holds, of all namespaces.
        pending: how many units have none of it yet. A backend may leave out messages that no search has met yet.
    """

    fingerprint: Fingerprint
    state: Literal["current", "filling"]
    vectors: int
    pending: int
