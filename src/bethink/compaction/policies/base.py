"""What a policy is: a frozen value with one pure method; and a chain of them, which is one again.

    groups in view, Room  ── arrange ──▶  Plan: what folds, what is kept, what is left out and why

The groups come in the order in which they were completed, whole, without pinned messages and without calls that wait for their
result. Every policy keeps the current turn (`plan.start_of_turn`): the newest user message and all that follows it. So a policy
decides about what is older, and no choice of numbers can lose the question that is to be answered.

A message is what it was when it was appended. What it was given later, a tier or a score, a policy asks the room for.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from typing import ClassVar

import msgspec

from bethink.compaction.plan import Left, Plan
from bethink.errors import BudgetError, InvalidInput
from bethink.marks import Scored, Tiered, tier_of
from bethink.messages import Group, Message, Tier
from bethink.settings import Settings

__all__ = ["Chain", "Messages", "Policy", "Room", "Tokens", "Turns", "check_least", "count", "figures", "parts_of"]


class Messages(msgspec.Struct, frozen=True):
    """So many messages."""

    n: int

    def __str__(self) -> str:
        return f"{self.n} messages"


class Turns(msgspec.Struct, frozen=True):
    """So many turns: a user message and all that follows it, up to the next."""

    n: int

    def __str__(self) -> str:
        return f"{self.n} turns"


class Tokens(msgspec.Struct, frozen=True):
    """So many tokens, by the memory's counter."""

    n: int

    def __str__(self) -> str:
        return f"{self.n} tokens"


class Room(msgspec.Struct, frozen=True, kw_only=True):
    """What a policy has to fit its groups into.

    Attributes:
        budget: tokens of the context.
        fixed: tokens of it that pinned messages take.
        size: tokens of a group as it would be shown. Cheap to ask again.
        settings: `compaction_trigger` and `compaction_keep` hold for every policy that folds.
        pinned: those messages.
        tiers, scores: what messages were given later, by seq.
    """

    budget: int
    fixed: int
    size: Callable[[Group], int]
    settings: Settings
    pinned: tuple[Message, ...] = ()
    tiers: Mapping[int, Tiered] = msgspec.field(default_factory=dict)
    scores: Mapping[int, Scored] = msgspec.field(default_factory=dict)

    def tokens(self, groups: Sequence[Group]) -> int:
        return sum(map(self.size, groups))

    def tier(self, message: Message) -> Tier:
        """The tier of a message now."""
        return tier_of(message, self.tiers)

    def importance(self, message: Message) -> int:
        """How much a message matters, from 1 to 10: the score that a model gave it, or by rules (`compaction.importance`)."""
        scored = self.scores.get(message.seq)
        if scored is not None:
            return scored.score
        # Here and not above: its patterns take longer to compile than all policies to import.
        from bethink.compaction.importance import importance

        return importance(message)


class Policy(msgspec.Struct, frozen=True):
    """Decides what of a thread is in view. Subclass it to write one of your own; its fields are its knobs.

    `summary`: whether it works beside the folded past. Where it does, it is given the groups that are not folded, and summary
    nodes stand for the rest. Where it does not, it is given the newest groups of the log, and no more than it needs: once it
    leaves out the oldest group it was given, it must be one that would leave out everything older too.
    """

    summary: ClassVar[bool] = True

    def arrange(self, groups: Sequence[Group], room: Room) -> Plan:
        """What is to be done with the groups in view. Pure: the same groups and room, the same plan."""
        raise NotImplementedError("a Policy says how it arranges groups")

    @property
    def own_summaries(self) -> int:
        """How many of the newest segments are shown each by its own summary, before higher levels stand for the rest; 0 for
        as the levels happen to stand.
        """
        return 0

    @property
    def shows_state(self) -> bool:
        """Whether the state of the thread's work stands in the context, its goal first."""
        return False

    @property
    def name(self) -> str:
        """The policy as text, its parameters included: what receipts and reasons call it, and what `policy_from` reads."""
        words = re.sub(r"(?<!^)(?=[A-Z])", "-", type(self).__name__).lower()
        given = [(field, getattr(self, field)) for field in self.__struct_fields__]
        knobs = ", ".join(f"{field}={value}" for field, value in given if value is not None)
        return f"{words}({knobs})" if knobs else words

    def __str__(self) -> str:
        return self.name

    def __or__(self, other: Policy) -> Chain:
        """This policy, and `other` on what it keeps."""
        return Chain((*parts_of(self), *parts_of(other)))


class Chain(Policy, frozen=True):
    """`Tiers() | Summarize()`: each policy works on what the one before it keeps.

    What a policy has left out folds along when a later one folds what lies around it: a summary stands for a whole span.

    Raises:
        InvalidInput: fewer than two policies, or one that is none.
    """

    policies: tuple[Policy, ...]

    def __post_init__(self) -> None:
        if len(self.policies) < 2:
            raise InvalidInput("chain", f"{len(self.policies)} policies", "join two or more with |")
        for policy in self.policies:
            if not isinstance(policy, Policy):
                raise InvalidInput("chain", f"a {type(policy).__name__}", "join policies with |")

    @property
    def summary(self) -> bool:  # type: ignore[override]
        return any(policy.summary for policy in self.policies)

    @property
    def shows_state(self) -> bool:
        return any(policy.shows_state for policy in self.policies)

    @property
    def own_summaries(self) -> int:
        return max(policy.own_summaries for policy in self.policies)

    @property
    def name(self) -> str:
        return " | ".join(policy.name for policy in self.policies)

    def arrange(self, groups: Sequence[Group], room: Room) -> Plan:
        keep = tuple(groups)
        left: list[Left] = []
        limits: list[int] = []
        folding: list[Plan] = []
        plans: list[Plan] = []
        for policy in self.policies:
            plans.append(found := policy.arrange(keep, room))
            keep = found.keep
            left += found.left
            limits += [] if found.limit is None else [found.limit]
            folding += [found] if found.fold else []
        through = max((found.through for found in folding), default=0)
        return Plan(
            fold=tuple(group for group in groups if group.last_seq <= through),
            keep=keep,
            left=tuple(sorted((each for each in left if each.group.last_seq > through), key=lambda each: each.group.last_seq)),
            through=through,
            tokens=room.tokens(keep),
            policy=" | ".join(found.policy for found in folding),
            reason="; ".join(found.reason for found in folding or plans if found.reason),
            limit=min(limits, default=None),
        )


def parts_of(policy: Policy) -> tuple[Policy, ...]:
    """The policies that a policy is a chain of; itself for any other."""
    if not isinstance(policy, Policy):
        raise InvalidInput("policy", f"a {type(policy).__name__}", "join policies with |")
    return policy.policies if isinstance(policy, Chain) else (policy,)


def count(groups: Sequence[Group]) -> int:
    """Messages in `groups`."""
    return sum(len(group.messages) for group in groups)


def figures(figure: int, what: str) -> str:
    """ "1 message", "12 messages"."""
    return f"{figure:,} {what.removesuffix('s') if figure == 1 else what}"


def check_least(policy: str, knob: str, given: object, unit: str, least: int = 1) -> None:
    """Raise BudgetError for a size below `least`, InvalidInput for one that is no whole number."""
    if isinstance(given, bool) or not isinstance(given, int):
        raise InvalidInput(f"{policy}.{knob}", f"a {type(given).__name__}", f"give a whole number of {unit}")
    if given < least:
        raise BudgetError(given, least, ((f"one of the {unit}" if least else "none", least),), of=f"{policy}.{knob}", unit=unit)
