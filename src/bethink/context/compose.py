"""Choosing what goes into a context, within its budget. Pure.

What must be there goes first: pinned messages, pinned lines, the newest user message. Then the rest of the current turn, then
older messages while whole groups fit, then the memory block within its share.
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterable, Mapping, Sequence

import msgspec

from bethink.context.items import BLOCK, Item, SectionName, Shown, memory_message, shown, tag_of
from bethink.errors import BudgetError
from bethink.messages import Group, Message, ranges
from bethink.models import TokenCounter
from bethink.models.tokens import message_tokens, truncate
from bethink.records import Decision
from bethink.settings import Settings

__all__ = ["Composition", "Sources", "compose", "size_of", "with_cuts"]

# Shares of the memory block that a section may fill before the others have had their turn; what is left over is shared out
# afterwards in the same order. Pinned lines have no limit: they must be there.
_SHARES: tuple[tuple[SectionName, float], ...] = (
    ("project", 0.5),
    ("profile", 0.35),
    ("summary", 0.35),
    ("recalled", 0.35),
    ("previous session", 0.25),
)
_LEFT_OVER: tuple[tuple[SectionName, float], ...] = tuple((name, 1.0) for name, _ in _SHARES)
_SMALLEST_CUT = 48
_SHORTEST_LINE = 20  # tokens: a date, a name and a mark are most of that
# Frame and preface of a block: an estimate to choose by, checked against the real count at the end.
_EMPTY_BLOCK_TOKENS = 60


class Sources(msgspec.Struct, frozen=True, kw_only=True):
    """What memory found for a context: all there is to choose from.

    Attributes:
        pinned: messages always in view, by seq.
        recent: the newest groups in `messages.groups` order: what compaction decided to keep in view.
        sizes: tokens of each recent group, by its number.
        waiting: groups whose calls have no result yet; not shown, since a provider refuses a call without its result.
        items: candidates for the memory block, each section in the order in which it is to be filled.
        policy: the name of the policy that chose `recent`.
        decisions: what was done with the messages that are not in `recent`.
        limit: tokens that pinned and recent messages may take together, where the policy sets one.
    """

    pinned: tuple[Message, ...] = ()
    recent: tuple[Group, ...] = ()
    sizes: Mapping[int, int] = msgspec.field(default_factory=dict)
    waiting: tuple[Group, ...] = ()
    items: tuple[Item, ...] = ()
    policy: str = ""
    decisions: tuple[Decision, ...] = ()
    limit: int | None = None


class Composition(msgspec.Struct, frozen=True, kw_only=True):
    """What a context is made of, chosen and in order: the one value that rendering and the receipt are both made from.

    Attributes:
        recent: whole messages; those in `cuts` are shortened only when rendered.
        cuts: seq to (characters kept at the start, characters kept at the end).
        policy, decisions: which policy chose, and what was done with the messages that are not among `recent`.
        tokens: of all of it as it is shown.
    """

    pinned: tuple[Message, ...]
    block: tuple[Shown, ...]
    recent: tuple[Message, ...]
    cuts: dict[int, tuple[int, int]] = msgspec.field(default_factory=dict)
    omitted: tuple[str, ...] = ()
    policy: str = ""
    decisions: tuple[Decision, ...] = ()
    tokens: int


def compose(found: Sources, *, budget: int, counter: TokenCounter, settings: Settings) -> Composition:
    """Choose what goes into a context of at most `budget` tokens.

    What must be there: pinned messages, pinned lines, the newest user message with its group. Then the messages after it, then
    older ones while whole groups fit, then the memory block within `settings.memory_share`.

    Raises:
        BudgetError: what must be there does not fit.
    """
    must = _must_have(found, budget, counter)
    recent = _choose_recent(found, min(budget - must, _left_of_limit(found, counter)), counter)
    used = must + recent.tokens
    # The block has its share, and where the talk is still short also what that leaves below the compaction trigger.
    below_trigger = int(settings.compaction_trigger * budget) - used
    free = min(budget - used, max(int(settings.memory_share * budget), below_trigger))
    block, block_tokens = _choose_block(found.items, free, counter)
    waiting = tuple(
        f"call {call} waits for its result: shown once that has arrived" for group in found.waiting for call in group.open_calls
    )
    return Composition(
        pinned=found.pinned,
        block=block,
        recent=recent.messages,
        cuts=recent.cuts,
        omitted=waiting + recent.omitted,
        policy=found.policy,
        decisions=found.decisions + _dropped(found, recent.dropped),
        tokens=used + block_tokens,
    )


def _must_have(found: Sources, budget: int, counter: TokenCounter) -> int:
    """Tokens of what may not be left out."""
    newest = _newest_user_group(found)
    pinned = [shown(item, counter) for item in found.items if item.section == "pinned"]
    parts = (
        ("pinned messages", size_of(found.pinned, counter)),
        ("newest user message", 0 if newest is None else found.sizes[found.recent[newest].number]),
        ("pinned records", _block_tokens(pinned, counter)),
    )
    needed = sum(tokens for _, tokens in parts)
    if needed > budget:
        raise BudgetError(budget, needed, _largest_first(parts))
    return needed


def _left_of_limit(found: Sources, counter: TokenCounter) -> float:
    """What the policy's own limit leaves beside pinned messages and the newest user message."""
    if found.limit is None:
        return math.inf
    newest = _newest_user_group(found)
    parts = (
        ("pinned messages", size_of(found.pinned, counter)),
        ("newest user message", 0 if newest is None else found.sizes[found.recent[newest].number]),
    )
    needed = sum(tokens for _, tokens in parts)
    if needed > found.limit:
        raise BudgetError(found.limit, needed, _largest_first(parts), of=found.policy)
    return found.limit - needed


def _largest_first(parts: Iterable[tuple[str, int]]) -> tuple[tuple[str, int], ...]:
    return tuple(sorted((part for part in parts if part[1]), key=lambda part: -part[1]))


def _dropped(found: Sources, groups: Sequence[Group]) -> tuple[Decision, ...]:
    """What the budget left out although the policy keeps it."""
    if not groups:
        return ()
    seqs = sorted(message.seq for group in groups for message in group.messages)
    tokens = sum(found.sizes[group.number] for group in groups)
    return (Decision("budget", "left out", ranges(seqs), "did not fit", tokens),)


def _newest_user_group(found: Sources) -> int | None:
    """Where in `recent` the newest user message is; None if there is none, or if it is a pinned one."""
    pinned = max((message.seq for message in found.pinned if message.role == "user"), default=0)
    for index in range(len(found.recent) - 1, -1, -1):
        newest = max((message.seq for message in found.recent[index].messages if message.role == "user"), default=0)
        if newest:
            return index if newest > pinned else None
    return None


class _Recent(msgspec.Struct, frozen=True):
    messages: tuple[Message, ...]
    tokens: int
    cuts: dict[int, tuple[int, int]]
    omitted: tuple[str, ...]
    dropped: tuple[Group, ...]


def _choose_recent(found: Sources, free: float, counter: TokenCounter) -> _Recent:
    """The recent groups that fit into `free` tokens beside the newest user message (which is counted already)."""
    newest = _newest_user_group(found)
    turn_start = 0 if newest is None else newest + 1
    kept: list[Group] = [] if newest is None else [found.recent[newest]]
    cuts: dict[int, tuple[int, int]] = {}
    dropped: list[Group] = []
    used = 0
    for group in reversed(found.recent[turn_start:]):
        size = found.sizes[group.number]
        if used + size > free:
            shortened = _shorten(group, free - used, counter)
            if shortened is None:
                dropped.append(group)
                continue
            cuts |= shortened
            size = size_of(with_cuts(group.messages, shortened), counter)
        used += size
        kept.append(group)
    older = found.recent[: newest or 0]
    for position in range(len(older) - 1, -1, -1):
        size = found.sizes[older[position].number]
        if used + size > free:
            # Stop here, also if something older would fit: a gap in the middle of the talk would not be noticed.
            dropped += older[: position + 1]
            break
        used += size
        kept.append(older[position])
    kept.sort(key=lambda group: group.last_seq)
    omitted = tuple(_did_not_fit(group, found.sizes[group.number]) for group in dropped)
    return _Recent(tuple(message for group in kept for message in group.messages), used, cuts, omitted, tuple(dropped))


def _did_not_fit(group: Group, size: int) -> str:
    first, last = group.messages[0], group.messages[-1]
    which = f"message {first.seq}" if first is last else f"messages {first.seq}-{last.seq}"
    return f"{which} ({size:,} tokens) did not fit"


def _shorten(group: Group, free: float, counter: TokenCounter) -> dict[int, tuple[int, int]] | None:
    """Cuts that bring a group of the current turn down to `free` tokens by shortening its tool results, or None.

    Only results are cut: the model needs to see that its call was answered, and both ends of an answer tell the most.
    """
    results = [message for message in group.messages if message.role == "tool" and message.text]
    if not results:
        return None
    allowed = int(free) - size_of(with_cuts(group.messages, {message.seq: (0, 0) for message in results}), counter)
    each = allowed // len(results)
    while each >= _SMALLEST_CUT:
        cuts: dict[int, tuple[int, int]] = {}
        for message in results:
            if counter.count(message.text) > each:
                head = len(truncate(message.text, each * 2 // 3, counter))
                tail = _tail(message.text[head:], each // 3, counter)
                cuts[message.seq] = (head, tail)
        over = size_of(with_cuts(group.messages, cuts), counter) - free
        if over <= 0:
            return cuts or None
        # What is put together counts a little more than its parts did, some ids more than others.
        each -= max(1, math.ceil(over / len(results)))
    return None


# -- cutting --------------------------------------------------------------------------------------------------------------


def _tail(text: str, limit: int, counter: TokenCounter) -> int:
    """Length of an end of `text` within `limit` tokens that starts at a word; 0 where no word starts in it."""
    length = min(len(text), limit * 4)
    while length:
        space = re.search(r"\s", text[len(text) - length :])
        length = length - space.end() if space else 0
        if counter.count(text[len(text) - length :]) <= limit:
            return length
        length = length * 3 // 4
    return 0


def with_cuts(messages: Sequence[Message], cuts: Mapping[int, tuple[int, int]]) -> list[Message]:
    """The messages as shown: those that `cuts` names shortened to a start and an end, with a marker between."""
    return [_cut(message, *cuts[message.seq]) if message.seq in cuts else message for message in messages]


def _cut(message: Message, head: int, tail: int) -> Message:
    text = message.text
    left_out = len(text) - head - tail
    marker = f"[... {left_out:,} of {len(text):,} characters of message {message.id} are not shown ...]"
    shown = "\n".join(part for part in (text[:head], marker, text[len(text) - tail :] if tail else "") if part)
    # Without `raw`: what it came as would say the whole again.
    return msgspec.structs.replace(message, content=shown, raw=None)


# -- the memory block -----------------------------------------------------------------------------------------------------


def _choose_block(items: Sequence[Item], free: int, counter: TokenCounter) -> tuple[tuple[Shown, ...], int]:
    """Fill the memory block: each section up to its share, then what is left over in the same order of sections.

    `free` is what the block may cost besides its pinned lines. The number returned is what it does cost besides these.
    """
    lines: dict[int, Shown] = {}

    def line(position: int) -> Shown:
        # Written when its turn comes: most candidates lie beyond what their section may fill.
        if position not in lines:
            lines[position] = shown(items[position], counter)
        return lines[position]

    sections: dict[SectionName, list[int]] = {name: [] for name in BLOCK}
    for position, item in enumerate(items):
        sections[item.section].append(position)
    chosen = sections["pinned"].copy()
    pinned = len(chosen)
    base = _block_tokens([line(position) for position in chosen], counter)
    # The same words are shown once: a decision is in the profile and in the summary of the session that made it.
    said = {items[position].text for position in chosen}
    spent = 0 if chosen else _EMPTY_BLOCK_TOKENS
    filled = dict.fromkeys(BLOCK, 0)
    for shares in (_SHARES, _LEFT_OVER):
        for name, share in shares:
            left = min(int(share * free) - filled[name], free - spent)
            for position in sections[name]:
                if left < _SHORTEST_LINE:
                    break
                text = items[position].text
                if text in said:
                    continue
                tokens = line(position).tokens
                cost = tokens if filled[name] else tokens + _heading_tokens(name, counter)
                # What is too long is passed over: these are excerpts, and a shorter line may say more for its tokens.
                if cost > left:
                    continue
                chosen.append(position)
                said.add(text)
                filled[name] += tokens
                spent, left = spent + cost, left - cost
    # Tokens of a whole are not exactly the sum over its lines: the last word is the real count.
    while True:
        kept = set(chosen)
        block = tuple([line(position) for name in BLOCK for position in sections[name] if position in kept])
        tokens = _block_tokens(block, counter) - base
        if tokens <= free or len(chosen) == pinned:
            return block, tokens
        chosen.pop()


def _heading_tokens(name: SectionName, counter: TokenCounter) -> int:
    return 2 * counter.count(f"</{tag_of(name)}>") + 2


def _block_tokens(block: Sequence[Shown], counter: TokenCounter) -> int:
    message = memory_message(block)
    return 0 if message is None else message_tokens(message, counter)


def size_of(messages: Iterable[Message], counter: TokenCounter) -> int:
    """Tokens of messages, framing included."""
    return sum([message_tokens(message, counter) for message in messages])
