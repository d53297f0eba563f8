"""Policies that fold: summary nodes stand for what is old.

Whatever their knobs say, they fold before a context of this budget would have to drop something: past `compaction_trigger` of
it, down to `compaction_keep`. A message is therefore in view, or in a summary, and never in neither for want of room.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TypeAlias

import msgspec

from bethink.compaction.plan import Plan, plan, start_of_turn
from bethink.compaction.policies.base import Messages, Policy, Room, Tokens, check_least, count, figures
from bethink.errors import InvalidInput
from bethink.messages import Group

__all__ = ["Hierarchy", "Hybrid", "Summarize"]

_Size: TypeAlias = Messages | Tokens


class Hybrid(Policy, frozen=True):
    """A summary of the old and a window of the new. Past `settings.compaction_trigger` of the budget the oldest fold until
    `settings.compaction_keep` of it is left; what was folded for a smaller budget is shown again where a larger one has room.
    """

    def arrange(self, groups: Sequence[Group], room: Room) -> Plan:
        found = plan(groups, budget=room.budget, fixed=room.fixed, size=room.size, settings=room.settings)
        if found.fold:
            return msgspec.structs.replace(found, policy=self.name)
        most = min(room.budget - room.fixed, int(room.settings.compaction_keep * room.budget))
        return msgspec.structs.replace(found, again=most - found.tokens)


class Summarize(Policy, frozen=True):
    """Past `trigger` the oldest fold until `keep` is left verbatim.

    Args:
        trigger: `Messages(n)` or `Tokens(n)` that are not folded, pinned ones counted in with the tokens; or a share of the
            budget.
        keep: `Messages(n)` or `Tokens(n)` that stay verbatim; the current turn stays even where it is more.

    Raises:
        BudgetError: a trigger or a keep below 1.
        InvalidInput: a share that is none, or a keep that the trigger does not exceed.
    """

    trigger: Messages | Tokens | float = 0.75
    keep: Messages | Tokens = Messages(20)

    def __post_init__(self) -> None:
        if isinstance(self.trigger, Messages | Tokens):
            check_least("summarize", "trigger", self.trigger.n, _unit(self.trigger))
        elif isinstance(self.trigger, bool) or not isinstance(self.trigger, int | float) or not 0 < self.trigger <= 1:
            raise InvalidInput("summarize.trigger", "no size", "give Messages(n), Tokens(n), or a share above 0 and up to 1")
        if not isinstance(self.keep, Messages | Tokens):
            raise InvalidInput("summarize.keep", f"a {type(self.keep).__name__}", "give Messages(n) or Tokens(n)")
        check_least("summarize", "keep", self.keep.n, _unit(self.keep))
        trigger = None if isinstance(self.trigger, int | float) else self.trigger
        if trigger and _unit(trigger) == _unit(self.keep) and trigger.n <= self.keep.n:
            raise InvalidInput("summarize.keep", f"{self.keep}, with a trigger of {self.trigger}", "keep less than the trigger")

    def arrange(self, groups: Sequence[Group], room: Room) -> Plan:
        if isinstance(self.trigger, Messages):
            passed = count(groups) > self.trigger.n
        else:
            most = self.trigger.n if isinstance(self.trigger, Tokens) else self.trigger * room.budget
            passed = room.fixed + room.tokens(groups) > most
        cut = _cut(groups, self.keep, room) if passed else 0
        what = self.trigger if isinstance(self.trigger, Messages | Tokens) else f"{self.trigger * 100:g} % of the budget"
        return _folded(groups, cut, room, self.name, f"more than {what}, keeps {self.keep}")


class Hierarchy(Policy, frozen=True):
    """The newest `immediate` messages verbatim, the newest `segments` before them each by its own summary, and for all that is
    older the higher levels. Each level feeds the next: when a segment's worth of messages (`settings.segment_messages`) has
    passed out of the immediate ones it folds, and `settings.node_fan_in` summaries of a level become one of the next.

    With `project`, before all of these the state of the thread's work (see `Thread.state`): the goal, decisions, open
    questions, artifacts, the last facts and finished tasks.

    Raises:
        BudgetError: fewer than 1 message or segment.
        InvalidInput: a `project` that is neither true nor false.
    """

    immediate: int = 10
    segments: int = 3
    project: bool = True

    def __post_init__(self) -> None:
        check_least("hierarchy", "immediate", self.immediate, "messages")
        check_least("hierarchy", "segments", self.segments, "segments")
        if not isinstance(self.project, bool):
            raise InvalidInput("hierarchy.project", f"a {type(self.project).__name__}", "give True or False")

    @property
    def own_summaries(self) -> int:
        return self.segments

    @property
    def shows_state(self) -> bool:
        return self.project

    def arrange(self, groups: Sequence[Group], room: Room) -> Plan:
        passed = count(groups) >= self.immediate + room.settings.segment_messages
        cut = _cut(groups, Messages(self.immediate), room) if passed else 0
        return _folded(groups, cut, room, self.name, f"a segment older than the newest {figures(self.immediate, 'messages')}")


def _unit(size: _Size) -> str:
    return "messages" if isinstance(size, Messages) else "tokens"


def _cut(groups: Sequence[Group], keep: _Size, room: Room) -> int:
    """How many of the oldest groups must go so that the rest is at most `keep`, the current turn aside."""
    turn = start_of_turn(groups)
    sizes = [len(group.messages) if isinstance(keep, Messages) else room.size(group) for group in groups]
    left = sum(sizes)
    cut = 0
    while cut < turn and left > keep.n:
        left -= sizes[cut]
        cut += 1
    return cut


def _folded(groups: Sequence[Group], cut: int, room: Room, policy: str, reason: str) -> Plan:
    """The plan that folds the oldest `cut` groups, and more where the budget asks for it."""
    rest = plan(groups[cut:], budget=room.budget, fixed=room.fixed, size=room.size, settings=room.settings)
    fold = (*groups[:cut], *rest.fold)
    if not fold:
        return rest
    return Plan(
        fold=fold,
        keep=rest.keep,
        through=fold[-1].last_seq,
        tokens=rest.tokens,
        policy=policy,
        reason=reason if not rest.fold else rest.reason,
    )
