"""What is noted beside messages."""

from __future__ import annotations

from datetime import datetime

import msgspec

from bethink.messages import Tier
from bethink.values import Namespace

__all__ = ["Mark"]


class Mark(msgspec.Struct, frozen=True, kw_only=True):
    """Tiers and scores for messages of a thread, by the messages' ids.

    Contract:
        - all of it or none: NotFound unless the thread and every message named are there.
        - nothing else changes: messages, their order, nodes, cursors and receipts stay as they are.
        - `tiers`: the tier of a message from now on, in place of any before; the last counts where one is named twice. Giving a
          message the tier that it has, of its own or given before, writes nothing.
        - `scores`: by `author`, from 1 to 10, in place of any before; the last counts. The score that it has by the same author
          writes nothing.
        - a fork starts with those of the messages that it takes over. They go with their message when that is forgotten.
    """

    namespace: Namespace
    thread_id: str
    at: datetime
    tiers: tuple[tuple[str, Tier], ...] = ()
    scores: tuple[tuple[str, int], ...] = ()
    author: str = ""
