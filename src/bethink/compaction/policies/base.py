"""What a policy is: a frozen value with one pure method.

    groups in view, Room  ── arrange ──▶  Plan: what folds, what is kept, what is left out and why

The groups come in the order in which they were completed, whole, without pinned messages and without calls that wait for their
result. Every policy keeps the current turn (`plan.start_of_turn`): the newest user message and all that follows it. So a policy
decides about what is older, and no choice of numbers can lose the question that is to be answered.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, ClassVar

import msgspec

from bethink.compaction.plan import Plan
from bethink.errors import BudgetError, InvalidInput
from bethink.messages import Group
from bethink.settings import Settings

if TYPE_CHECKING:
    from bethink.compaction.policies.chain import Chain

__all__ = ["Messages", "Policy", "Room", "Tokens", "Turns", "check_least", "count", "figures"]


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
    """

    budget: int
    fixed: int
    size: Callable[[Group], int]
    settings: Settings

    def tokens(self, groups: Sequence[Group]) -> int:
        return sum(map(self.size, groups))


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
        knobs = ", ".join(f"{field}={getattr(self, field)}" for field in self.__struct_fields__)
        return f"{words}({knobs})" if knobs else words

    def __str__(self) -> str:
        return self.name

    def __or__(self, other: Policy) -> Chain:
        """This policy, and `other` on what it keeps."""
        from bethink.compaction.policies.chain import Chain, parts_of

        return Chain((*parts_of(self), *parts_of(other)))


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
