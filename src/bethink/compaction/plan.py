"""Which groups of a thread fold, and why.

The unfolded part of a thread, in the order in which its groups were completed:

    | oldest ......... cut ......... newest user message ......... newest |
    |      fold         |               keep (verbatim)                   |      waiting: calls without a result

Nothing happens until the whole passes `compaction_trigger` of the budget. Then the oldest groups fold until what is kept is at
most `compaction_keep` of it: the distance between the two shares is why not every message folds something. The current turn
(the newest user message and all after it) is never folded, however large. A call without its result is neither folded nor
counted: no model may be shown one, and its result is still to come.

The cut falls between whole groups, so no result is ever without its call. It is named by one number, `through`: the groups
completed at or before that seq are folded, those completed after it are not. Reading the messages after `through` with whole
groups therefore gives back exactly what was kept, a call made before the cut and answered after it included.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

import msgspec

from bethink.messages import Group
from bethink.settings import Settings

__all__ = ["Left", "Plan", "newest_that_fit", "plan", "start_of_turn", "start_of_turns"]


class Left(msgspec.Struct, frozen=True):
    """A group that a policy takes out of view without folding it."""

    group: Group
    policy: str
    reason: str


class Plan(msgspec.Struct, frozen=True, kw_only=True):
    """What is to be done with the groups in view. `fold`, `keep`, `left` and `waiting` together are the groups given, each in
    their order.

    Attributes:
        fold: the oldest groups, to be replaced in view by summary nodes; empty when there is nothing to do.
        keep: the groups that stay verbatim.
        waiting: groups with a call that has no result yet.
        through: the thread's new `folded_through`: the seq of the last message in `fold`; 0 when nothing folds. A group is
            folded exactly if its last message is at or below it (and it was not waiting then).
        tokens: size of `keep`.
        reason: why it folds, or does not, in a few words with figures.
        policy: the name of the policy that folds; "" when nothing folds.
        left: groups that are neither folded nor in view.
        again: tokens of the folded past that may be shown verbatim again, before `keep`.
        limit: tokens that pinned and recent messages may take together, where that is less than the budget.
    """

    fold: tuple[Group, ...] = ()
    keep: tuple[Group, ...] = ()
    waiting: tuple[Group, ...] = ()
    through: int = 0
    tokens: int = 0
    reason: str = ""
    policy: str = ""
    left: tuple[Left, ...] = ()
    again: int = 0
    limit: int | None = None


def plan(groups: Sequence[Group], *, budget: int, fixed: int, size: Callable[[Group], int], settings: Settings) -> Plan:
    """Decide what folds. Pure and deterministic; calls `size` once for each group that is not waiting.

    Args:
        groups: the unfolded groups as `messages.groups` orders them, without pinned messages.
        budget: tokens of the context.
        fixed: tokens of it that are always taken (instructions, pinned messages).
        size: tokens of a group as it would be shown.
        settings: `compaction_trigger` and `compaction_keep` are used.

    Returns:
        A plan with an empty `fold` while all of it is within the trigger, or when nothing is older than the current turn.
        `fixed` and `tokens` together may exceed the target, and even the budget, when the current turn alone does.
    """
    waiting = tuple([group for group in groups if group.open_calls])
    whole = tuple([group for group in groups if not group.open_calls]) if waiting else tuple(groups)
    sizes = [size(group) for group in whole]
    tokens = sum(sizes)
    used = f"{fixed + tokens:,} of {budget:,} tokens"
    trigger = f"{settings.compaction_trigger * 100:g} %"
    if fixed + tokens <= settings.compaction_trigger * budget:
        return Plan(keep=whole, waiting=waiting, tokens=tokens, reason=f"{used} are within {trigger}")

    turn = start_of_turn(whole)
    target = settings.compaction_keep * budget
    cut = 0
    while cut < turn and fixed + tokens > target:
        tokens -= sizes[cut]
        cut += 1
    if cut == 0:
        reason = f"{used} passed {trigger}, but nothing is older than the current turn"
        return Plan(keep=whole, waiting=waiting, tokens=tokens, reason=reason)
    return Plan(
        fold=whole[:cut],
        keep=whole[cut:],
        waiting=waiting,
        through=whole[cut - 1].last_seq,
        tokens=tokens,
        reason=f"{used} passed {trigger}",
    )


def newest_that_fit(groups: Sequence[Group], limit: int, size: Callable[[Group], int]) -> tuple[Group, ...]:
    """The longest run of whole groups at the end of `groups` whose sizes sum to at most `limit` tokens, in their order.

    It ends at the first group that does not fit, even if an older one would: a conversation with a hole in it misleads.
    """
    start = len(groups)
    while start > 0:
        limit -= size(groups[start - 1])
        if limit < 0:
            break
        start -= 1
    return tuple(groups[start:])


def start_of_turn(groups: Sequence[Group]) -> int:
    """Where the current turn starts: at the newest user message, or at the newest group where nobody has asked anything."""
    for position in range(len(groups) - 1, -1, -1):
        if any(message.role == "user" for message in groups[position].messages):
            return position
    return max(0, len(groups) - 1)


def start_of_turns(groups: Sequence[Group], n: int) -> int:
    """Where the newest `n` turns start. What was said before the first user message belongs to the first turn."""
    if n < 1:
        return start_of_turn(groups)
    asked = [position for position, group in enumerate(groups) if any(message.role == "user" for message in group.messages)]
    return asked[-n] if len(asked) > n else 0
