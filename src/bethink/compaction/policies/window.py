"""Windows: the newest of a thread, and nothing in place of the rest."""

from __future__ import annotations

from collections.abc import Sequence
from typing import ClassVar

from bethink.compaction.plan import Left, Plan, newest_that_fit, start_of_turn, start_of_turns
from bethink.compaction.policies.base import Policy, Room, Turns, check_least, count, figures
from bethink.messages import Group

__all__ = ["SlidingWindow", "TokenWindow"]


class SlidingWindow(Policy, frozen=True):
    """The newest `n` messages, or `Turns(n)`; system and pinned messages stay besides.

    A group that the edge would split is left out whole. The current turn stays whole even where it is longer than the window:
    half of a tool call is no use to anybody.

    Raises:
        BudgetError: a window below 1.
    """

    summary: ClassVar[bool] = False

    n: int | Turns = 20

    def __post_init__(self) -> None:
        if isinstance(self.n, Turns):
            check_least("sliding-window", "n", self.n.n, "turns")
        else:
            check_least("sliding-window", "n", self.n, "messages")

    def arrange(self, groups: Sequence[Group], room: Room) -> Plan:
        turn = start_of_turn(groups)
        start = start_of_turns(groups, self.n.n) if isinstance(self.n, Turns) else _messages_back(groups, turn, self.n)
        window = figures(self.n.n, "turns") if isinstance(self.n, Turns) else figures(self.n, "messages")
        return _window(groups, start, room, self.name, f"older than the newest {window}")


class TokenWindow(Policy, frozen=True):
    """The newest whole groups within `budget` tokens, pinned messages counted in.

    Raises:
        BudgetError: a budget below 1; when a context is made, one that pinned messages and the newest user message exceed.
    """

    summary: ClassVar[bool] = False

    budget: int = 4_000

    def __post_init__(self) -> None:
        check_least("token-window", "budget", self.budget, "tokens")

    def arrange(self, groups: Sequence[Group], room: Room) -> Plan:
        turn = start_of_turn(groups)
        limit = min(self.budget, room.budget)
        free = limit - room.fixed - room.tokens(groups[turn:])
        start = turn - len(newest_that_fit(groups[:turn], free, room.size))
        return _window(groups, start, room, self.name, f"beyond the newest {limit:,} tokens", limit)


def _window(groups: Sequence[Group], start: int, room: Room, policy: str, reason: str, limit: int | None = None) -> Plan:
    return Plan(
        keep=tuple(groups[start:]),
        tokens=room.tokens(groups[start:]),
        left=tuple(Left(group, policy, reason) for group in groups[:start]),
        limit=limit,
    )


def _messages_back(groups: Sequence[Group], turn: int, n: int) -> int:
    """Where the newest `n` messages start, in whole groups; at most at `turn`."""
    used = count(groups[turn:])
    start = turn
    while start > 0 and used + len(groups[start - 1].messages) <= n:
        start -= 1
        used += len(groups[start].messages)
    return start
