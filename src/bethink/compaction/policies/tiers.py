"""Retention by what a message is."""

from __future__ import annotations

from collections.abc import Sequence

from bethink.compaction.importance import importance
from bethink.compaction.plan import Left, Plan, start_of_turn
from bethink.compaction.policies.base import Policy, Room, check_least, figures
from bethink.errors import BudgetError
from bethink.messages import Group, Tier

__all__ = ["Tiers"]


class Tiers(Policy, frozen=True):
    """Each message stays in view by its tier (`Message.tier`), the newest of each tier within its limit, in messages.

    permanent   always, without a limit: it is pinned
    long_term   the newest `long_term`, however much was said since
    working     the newest `working`; one that scores `important` or more counts as long_term (see `importance`)
    ephemeral   the newest `ephemeral`: by default none once its turn is over

    A group has the highest tier of its messages, and goes or stays whole. Where the newest that do not fit lie between others,
    the talk in view has gaps: what is left out is said by `Context.explain`. This reads all that is not folded; in a long
    thread join it with a policy that folds: `Tiers() | Summarize()`.

    Raises:
        BudgetError: a limit below 0, or all of them 0, which would keep nothing.
    """

    long_term: int = 20
    working: int = 10
    ephemeral: int = 0
    important: int = 7

    def __post_init__(self) -> None:
        for tier in ("long_term", "working", "ephemeral"):
            check_least("tiers", tier, getattr(self, tier), "messages", 0)
        check_least("tiers", "important", self.important, "points")
        if not self.long_term + self.working + self.ephemeral:
            raise BudgetError(0, 1, (("one of the messages", 1),), of="tiers", unit="messages")

    def arrange(self, groups: Sequence[Group], room: Room) -> Plan:
        turn = start_of_turn(groups)
        limits: dict[Tier, int] = {"long_term": self.long_term, "working": self.working, "ephemeral": self.ephemeral}
        free = dict(limits)
        tiers: list[Tier] = [self._tier(group) for group in groups]
        for group, tier in zip(groups[turn:], tiers[turn:], strict=True):
            free[tier] -= len(group.messages)
        name = self.name
        kept: list[Group] = list(groups[turn:])
        left: list[Left] = []
        for group, tier in zip(reversed(groups[:turn]), reversed(tiers[:turn]), strict=True):
            free[tier] -= len(group.messages)
            if free[tier] >= 0:
                kept.append(group)
            else:
                newest = figures(limits[tier], "messages")
                left.append(Left(group, name, f"older than the newest {newest} of tier {tier}"))
        kept.sort(key=lambda group: group.last_seq)
        return Plan(keep=tuple(kept), tokens=room.tokens(kept), left=tuple(reversed(left)))

    def _tier(self, group: Group) -> Tier:
        tiers = {message.tier for message in group.messages}
        if "long_term" in tiers or "permanent" in tiers:
            return "long_term"
        if "working" not in tiers:
            return "ephemeral"
        scored = (importance(message) for message in group.messages if message.tier == "working")
        return "long_term" if max(scored) >= self.important else "working"
