"""Several policies, one after the other."""

from __future__ import annotations

from collections.abc import Sequence

from bethink.compaction.plan import Left, Plan
from bethink.compaction.policies.base import Policy, Room
from bethink.errors import InvalidInput
from bethink.messages import Group

__all__ = ["Chain", "parts_of"]


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
    def own_summaries(self) -> int:
        return max(policy.own_summaries for policy in self.policies)

    @property
    def shows_state(self) -> bool:
        return any(policy.shows_state for policy in self.policies)

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
