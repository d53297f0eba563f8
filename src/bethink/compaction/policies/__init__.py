"""Policies: what of a thread stays in view, one small class for each way the field knows. Pure over values.

    SlidingWindow   the newest messages, or turns
    TokenWindow     the newest tokens
    Summarize       past a trigger the oldest fold into summary nodes
    Hybrid          the same by shares of the budget, and the window grows again where there is room: the default
    Hierarchy       the newest messages, summaries of the segments before them, summaries of summaries, the state of the work
    Tiers           retention by what a message is: a limit for each tier

They are values: comparable, written as text (`str(policy)`) and read back (`policy_from`), and composed with `|`, where each
works on what the one before it keeps. None of them touches the stored log.
"""

from __future__ import annotations

from bethink.compaction.policies.base import Chain, Messages, Policy, Room, Tokens, Turns
from bethink.compaction.policies.folding import Hierarchy, Hybrid, Summarize
from bethink.compaction.policies.text import policy_from
from bethink.compaction.policies.tiers import Tiers
from bethink.compaction.policies.window import SlidingWindow, TokenWindow

__all__ = [
    "Chain",
    "Hierarchy",
    "Hybrid",
    "Messages",
    "Policy",
    "Room",
    "SlidingWindow",
    "Summarize",
    "Tiers",
    "TokenWindow",
    "Tokens",
    "Turns",
    "policy_from",
]
