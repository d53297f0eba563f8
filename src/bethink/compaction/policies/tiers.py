"""Retention by what a message is."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TypeAlias

from bethink.compaction.plan import Left, Plan, start_of_turn, start_of_turns
from bethink.compaction.policies.base import Messages, Policy, Room, Tokens, Turns, check_least, figures
from bethink.errors import BudgetError, InvalidInput
from bethink.messages import Group, Tier, groups

__all__ = ["Tiers"]

Limit: TypeAlias = int | Messages | Turns | Tokens
"""Of a tier; a number is one of messages."""

_LIMITED: tuple[Tier, ...] = ("long_term", "working", "ephemeral")
_MOST_LISTED = 8


class Tiers(Policy, frozen=True):
    """Each message stays in view by its tier (`Message.tier`, or what `Thread.promote` made of it), the newest of each tier
    within its limit: `Messages(n)` or a plain number, `Tokens(n)`, or `Turns(n)` for those of the newest n turns.

    permanent   always: it is pinned. With a limit, more than that is an error, since none of it may be left out
    long_term   the newest `long_term`, however much was said since
    working     the newest `working`; one that scores `important` or more counts as long_term (see `Room.importance`)
    ephemeral   the newest `ephemeral`: by default none once its turn is over

    A group has the highest tier of its messages, and goes or stays whole. Where the newest that do not fit lie between others,
    the talk in view has gaps: what is left out is said by `Context.explain`. This reads all that is not folded; in a long
    thread join it with a policy that folds: `Tiers() | Summarize()`.

    Args:
        important: a score from 1 to 10; 11 for none.
        permanent: `Messages(n)` or `Tokens(n)` that permanent messages may take together, calls and results that belong to
            them counted in; None for no limit of their own.

    Raises:
        BudgetError: a limit below 0, or all of them 0, which would keep nothing; when a context is made, permanent messages
            beyond `permanent`, with what they are and by how much.
        InvalidInput: a limit that is none.
    """

    long_term: Limit = 20
    working: Limit = 10
    ephemeral: Limit = 0
    important: int = 7
    permanent: int | Messages | Tokens | None = None

    def __post_init__(self) -> None:
        for tier in _LIMITED:
            check_least("tiers", tier, _number(getattr(self, tier)), _unit(getattr(self, tier)), 0)
        check_least("tiers", "important", self.important, "points")
        if isinstance(self.permanent, Turns):
            raise InvalidInput("tiers.permanent", "a number of turns", "give Messages(n) or Tokens(n), or None for no limit")
        if self.permanent is not None:
            check_least("tiers", "permanent", _number(self.permanent), _unit(self.permanent), 0)
        if not any(_number(getattr(self, tier)) for tier in _LIMITED):
            raise BudgetError(0, 1, (("one of the messages", 1),), of="tiers", unit="messages")

    def arrange(self, groups: Sequence[Group], room: Room) -> Plan:
        self._check_permanent(room)
        tiers: list[Tier] = [self._tier(group, room) for group in groups]
        kept = {tier: self._kept(tier, tiers, groups, room) for tier in _LIMITED}
        name = self.name
        keep = tuple(group for position, group in enumerate(groups) if position in kept[tiers[position]])
        return Plan(
            keep=keep,
            tokens=room.tokens(keep),
            left=tuple(
                Left(group, name, _full(tier, getattr(self, tier)))
                for position, (group, tier) in enumerate(zip(groups, tiers, strict=True))
                if position not in kept[tier]
            ),
        )

    def _kept(self, tier: Tier, tiers: Sequence[Tier], groups: Sequence[Group], room: Room) -> set[int]:
        """Where the groups of a tier are that stay: those of the current turn, and the newest before it within the limit."""
        limit: Limit = getattr(self, tier)
        ours = [position for position, found in enumerate(tiers) if found == tier]
        if isinstance(limit, Turns):
            start = start_of_turns(groups, limit.n)
            return {position for position in ours if position >= start}
        turn = start_of_turn(groups)
        kept: set[int] = set()
        free = _number(limit)
        for position in reversed(ours):
            free -= room.size(groups[position]) if isinstance(limit, Tokens) else len(groups[position].messages)
            if free < 0 and position < turn:
                break
            kept.add(position)
        return kept

    def _tier(self, group: Group, room: Room) -> Tier:
        tiers = {room.tier(message) for message in group.messages}
        if "long_term" in tiers or "permanent" in tiers:
            return "long_term"
        if "working" not in tiers:
            return "ephemeral"
        scored = (room.importance(message) for message in group.messages if room.tier(message) == "working")
        return "long_term" if max(scored) >= self.important else "working"

    def _check_permanent(self, room: Room) -> None:
        """Raise BudgetError where more is permanent than `permanent` allows."""
        if self.permanent is None:
            return
        by_tokens = isinstance(self.permanent, Tokens)
        held = [group for group in groups(room.pinned) if any(room.tier(message) == "permanent" for message in group.messages)]
        parts = [(_called(group), room.size(group) if by_tokens else len(group.messages)) for group in held]
        needed = sum(size for _, size in parts)
        if needed > _number(self.permanent):
            parts.sort(key=lambda part: -part[1])
            listed, more = parts[:_MOST_LISTED], parts[_MOST_LISTED:]
            if more:
                listed.append((f"{len(more)} more", sum(size for _, size in more)))
            raise BudgetError(_number(self.permanent), needed, tuple(listed), of="tiers.permanent", unit=_unit(self.permanent))


def _number(limit: Limit) -> int:
    return limit.n if isinstance(limit, Messages | Turns | Tokens) else limit


def _unit(limit: Limit) -> str:
    if isinstance(limit, Turns):
        return "turns"
    return "tokens" if isinstance(limit, Tokens) else "messages"


def _full(tier: Tier, limit: Limit) -> str:
    """Why a group of a tier is left out."""
    if not _number(limit):
        return f"of tier {tier}, which keeps nothing past its turn"
    return f"tier {tier} is full: older than its newest {figures(_number(limit), _unit(limit))}"


def _called(group: Group) -> str:
    first, last = group.messages[0].seq, group.last_seq
    return f"message {first}" if first == last else f"messages {first}-{last}"
