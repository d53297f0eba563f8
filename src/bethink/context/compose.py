"""Choosing what goes into a context, within its budget. Pure.

What must be there goes first: pinned messages, pinned lines, the newest user message. Then the rest of the current turn, then
older messages while whole groups fit, then the memory block within its share. What is too large for its room is shortened where
`Oversize` says so, and only then.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence

import msgspec

from bethink.compaction.plan import newest_that_fit
from bethink.context.block import choose_block, pinned_tokens
from bethink.context.cutting import Cuts, cut_to_fit, with_cuts
from bethink.context.items import Shown
from bethink.context.lines import words_of
from bethink.context.position import arranged
from bethink.errors import BudgetError
from bethink.messages import Group, Message, ranges
from bethink.models.measure import Measure
from bethink.records import Cut, Decision
from bethink.settings import Settings

__all__ = ["Composition", "Sources", "compose"]


class Sources(msgspec.Struct, frozen=True, kw_only=True):
    """What memory found for a context: all there is to choose from.

    Attributes:
        pinned: messages always in view, by seq.
        recent: the newest groups in `messages.groups` order: what compaction decided to keep in view.
        sizes: tokens of each recent group, by its number.
        waiting: groups whose calls have no result yet; not shown, since a provider refuses a call without its result.
        lines: candidates for the memory block, each section in the order in which it is to be filled.
        policy: the name of the policy that chose `recent`.
        decisions: what was done with the messages that are not in `recent`.
        limit: tokens that pinned and recent messages may take together, where the policy sets one.
        around: what the request counts besides its messages, each (name, tokens).
        memory_limit: tokens of the memory message, where the caller sets one that its pinned lines keep.
    """

    pinned: tuple[Message, ...] = ()
    recent: tuple[Group, ...] = ()
    sizes: Mapping[int, int] = msgspec.field(default_factory=dict)
    waiting: tuple[Group, ...] = ()
    lines: tuple[Shown, ...] = ()
    policy: str = ""
    decisions: tuple[Decision, ...] = ()
    limit: int | None = None
    around: tuple[tuple[str, int], ...] = ()
    memory_limit: int | None = None


class Composition(msgspec.Struct, frozen=True, kw_only=True):
    """What a context is made of, chosen and in order: the one value that rendering and the receipt are both made from.

    Attributes:
        block: the lines of the memory message, in the order shown.
        memory_before: the seq of the message that the memory message stands before; 0 for right after the pinned ones.
        recent: whole messages; those in `cuts` are shortened only when rendered.
        policy, decisions: which policy chose, and what was done with the messages that are not among `recent`.
        around: what the request counts besides its messages, each (name, tokens).
        memory: tokens of the memory message, which the block's lines and their frame make.
        tokens: of all of it as it is shown.
    """

    pinned: tuple[Message, ...]
    block: tuple[Shown, ...]
    memory: int = 0
    memory_before: int = 0
    recent: tuple[Message, ...]
    cuts: Cuts = msgspec.field(default_factory=dict)
    omitted: tuple[str, ...] = ()
    policy: str = ""
    decisions: tuple[Decision, ...] = ()
    around: tuple[tuple[str, int], ...] = ()
    tokens: int


def compose(
    found: Sources,
    *,
    budget: int,
    measure: Measure,
    settings: Settings,
    words: Callable[[str], frozenset[str]] = words_of,
) -> Composition:
    """Choose what goes into a context of at most `budget` tokens.

    What must be there: what is `around` the messages, pinned messages, pinned lines, the newest user message. Then the messages
    after it, then older ones while whole groups fit, then the memory block within `settings.memory_share`. `words` is
    `words_of`, or does the same.

    Raises:
        BudgetError: what must be there does not fit.
    """
    room = _Room(found, budget, measure)
    recent = _choose_recent(found, room, measure, settings)
    used = room.fixed + recent.tokens
    # The block has its share, and where the talk is still short also what that leaves below the compaction trigger.
    below_trigger = int(settings.compaction_trigger * room.whole) - (used - room.around)
    free = min(budget - used, max(int(settings.memory_share * room.whole), below_trigger))
    if found.memory_limit is not None:
        free = min(free, found.memory_limit - room.lines)
    memory_before = recent.question if settings.memory_at == "question" else 0
    after = recent.from_question if memory_before else recent.tokens
    before = room.pinned + recent.tokens - after
    block, more = choose_block(
        found.lines,
        free,
        measure,
        lambda sections: arranged(
            sections,
            at="question" if memory_before else "start",
            order=settings.line_order,
            before=before,
            after=after,
        ),
        words,
    )
    waiting = tuple(
        f"call {call} waits for its result: shown once that has arrived" for group in found.waiting for call in group.open_calls
    )
    return Composition(
        pinned=found.pinned,
        block=block,
        memory=room.lines + more,
        memory_before=memory_before if block else 0,
        recent=recent.messages,
        cuts=recent.cuts,
        omitted=waiting + recent.omitted,
        policy=found.policy,
        decisions=(*found.decisions, *_dropped(found, recent.dropped), *_shortened(recent, measure)),
        around=found.around,
        tokens=used + more,
    )


class _Room:
    """What is taken already, and how much is left for recent messages.

    Attributes:
        whole: tokens for messages: the budget without what is around them.
        around: tokens around the messages.
        pinned, lines: tokens of the pinned messages, and of a memory message of pinned lines alone.
        fixed: tokens that are taken in any case, the newest user message apart.
        left: tokens for recent messages, that one included.
    """

    def __init__(self, found: Sources, budget: int, measure: Measure) -> None:
        self.lines = pinned_tokens(found.lines, measure)
        self.pinned = measure.messages(found.pinned)
        self._parts = (("pinned messages", self.pinned), *found.around, ("pinned records", self.lines))
        self._budget = budget
        self._limit, self._policy = found.limit, found.policy
        self.around = sum([tokens for _, tokens in found.around])
        self.whole = budget - self.around
        self.fixed = sum([tokens for _, tokens in self._parts])
        self.left = budget - self.fixed
        if self._limit is not None:
            self.left = min(self.left, self._limit - self.pinned)

    def check(self, name: str, tokens: int) -> None:
        """Raise BudgetError if so many tokens of recent messages, which must be shown, do not fit."""
        if self.fixed + tokens > self._budget:
            raise _too_small(self._budget, (*self._parts, (name, tokens)))
        if self._limit is not None and self.pinned + tokens > self._limit:
            raise _too_small(self._limit, (self._parts[0], (name, tokens)), of=self._policy)


def _too_small(size: int, parts: Iterable[tuple[str, int]], of: str = "budget") -> BudgetError:
    """The parts that do not fit, largest first."""
    there = sorted([part for part in parts if part[1]], key=lambda part: -part[1])
    return BudgetError(size, sum([tokens for _, tokens in there]), tuple(there), of=of)


# -- recent messages ------------------------------------------------------------------------------------------------------


class _Recent(msgspec.Struct, frozen=True, kw_only=True):
    """The recent messages that were chosen.

    Attributes:
        tokens: of them as they are shown.
        question: the seq of the newest user message, 0 if it is not among them; `from_question`: tokens from there on.
    """

    messages: tuple[Message, ...]
    tokens: int
    question: int
    from_question: int
    cuts: Cuts
    omitted: tuple[str, ...]
    dropped: tuple[Group, ...]


def _choose_recent(found: Sources, room: _Room, measure: Measure, settings: Settings) -> _Recent:
    """The newest user message, what follows it, and of what is older as many whole groups as fit."""
    how = settings.oversize
    at, start = _current_turn(found)
    turn, older = found.recent[start:], found.recent[: start if at is None else at]
    question = None if at is None else found.recent[at]
    asked = 0 if question is None else found.sizes[question.number]
    in_turn = sum([found.sizes[group.number] for group in turn])
    if how.question == "error" or question is None:
        room.check("newest user message", asked)
    if how.turn == "error" and turn:
        room.check("current turn", asked + in_turn)

    chosen = _Chosen(found.sizes, room, measure, settings)
    if question is not None:
        # What follows it has half of the room, if it needs as much and the question may be cut for it.
        fair = chosen.left - min(in_turn, chosen.left // 2)
        if not chosen.take(question, whole=chosen.left if how.question == "error" else fair, fair=fair):
            room.check("newest user message", asked)
            chosen.keep(question, asked)
    dropped: list[Group] = []
    for group in reversed(turn):
        # What is older of the turn has half of what is left, if it needs as much and this group has to be cut anyway.
        in_turn -= found.sizes[group.number]
        fair = chosen.left - min(in_turn, chosen.left // 2)
        if not chosen.take(group, whole=chosen.left, fair=fair):
            dropped.append(group)
    from_question = chosen.used
    # No older one than the first that does not fit: a gap in the middle of the talk would not be noticed.
    sizes = found.sizes
    fitting = newest_that_fit(older, chosen.left, lambda group: sizes[group.messages[0].group])
    dropped += older[: len(older) - len(fitting)]
    groups = sorted((*fitting, *chosen.kept), key=lambda group: group.messages[-1].seq)
    return _Recent(
        messages=tuple([message for group in groups for message in group.messages]),
        tokens=chosen.used + sum([sizes[group.messages[0].group] for group in fitting]),
        question=0 if question is None else question.messages[0].seq,
        from_question=from_question,
        cuts=chosen.cuts,
        omitted=tuple([_did_not_fit(group, found.sizes[group.number]) for group in dropped]),
        dropped=tuple(dropped),
    )


class _Chosen:
    """The groups chosen so far, and the room that is left."""

    def __init__(self, sizes: Mapping[int, int], room: _Room, measure: Measure, settings: Settings) -> None:
        self._sizes, self._measure, self._how = sizes, measure, settings.oversize
        # What has to be cut anyway is to leave the memory block some room, though not more than it takes itself.
        self._high = int(settings.compaction_trigger * room.whole) - (room.fixed - room.around)
        self.left = room.left
        self.used = 0
        self.kept: list[Group] = []
        self.cuts: dict[int, tuple[Cut, ...]] = {}

    def keep(self, group: Group, size: int) -> None:
        self.kept.append(group)
        self.used += size
        self.left -= size

    def take(self, group: Group, *, whole: int, fair: int) -> bool:
        """Keep a group, verbatim up to `whole` tokens; cut to about `fair` tokens, or at least to what is left, if it has more.
        False if it cannot be.
        """
        size = self._sizes[group.number]
        if size > whole:
            if self.left < 1:
                return False
            rooms = (max(min(fair, self._high - self.used), fair // 2), fair, self.left)
            cuts = cut_to_fit(group.messages, rooms, self._measure, self._how)
            if cuts is None:
                return False
            self.cuts |= cuts
            size = self._measure.messages(with_cuts(group.messages, cuts))
        self.keep(group, size)
        return True


def _current_turn(found: Sources) -> tuple[int | None, int]:
    """Where in `recent` the newest user message is, and where what follows it starts.

    None for the first if there is no such message, or if it is a pinned one. Where nobody has asked anything, the newest group
    is the current turn.
    """
    pinned = max([message.seq for message in found.pinned if message.role == "user"], default=0)
    for index in range(len(found.recent) - 1, -1, -1):
        newest = max([message.seq for message in found.recent[index].messages if message.role == "user"], default=0)
        if newest > pinned:
            return index, index + 1
        if newest:
            break
    if pinned:
        follow = [index for index, group in enumerate(found.recent) if group.last_seq > pinned]
        return None, follow[0] if follow else len(found.recent)
    return None, max(0, len(found.recent) - 1)


def _did_not_fit(group: Group, size: int) -> str:
    first, last = group.messages[0], group.messages[-1]
    which = f"message {first.seq}" if first is last else f"messages {first.seq}-{last.seq}"
    return f"{which} ({size:,} tokens) did not fit"


def _dropped(found: Sources, groups: Sequence[Group]) -> tuple[Decision, ...]:
    """What the budget left out although the policy keeps it."""
    if not groups:
        return ()
    seqs = sorted([message.seq for group in groups for message in group.messages])
    tokens = sum([found.sizes[group.number] for group in groups])
    return (Decision("budget", "left out", ranges(seqs), "did not fit", tokens),)


def _shortened(recent: _Recent, measure: Measure) -> tuple[Decision, ...]:
    """What is shown shortened, with what of it is not shown."""
    if not recent.cuts:
        return ()
    whole = [message for message in recent.messages if message.seq in recent.cuts]
    tokens = measure.messages(whole) - measure.messages(with_cuts(whole, recent.cuts))
    return (Decision("budget", "shortened", ranges(sorted(recent.cuts)), "larger than the room for it", tokens),)
