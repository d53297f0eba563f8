"""Choosing the lines of the memory block within its room. Pure.

Each section is filled up to its share, then what is left over goes to them in the same order. Pinned lines have no limit: they
must be there. The first line of a day in a section costs a heading more than those that follow.

What somebody said once is shown once. A message can come as an insight, as a line of a summary, and as a hit; of two lines that
rest on the same message, one whose words are all in the other is not shown. That is why a recalled summary comes line by line.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence

from bethink.context.items import BLOCK, MEMORY, Item, SectionName, Shown, headed, memory_lines, tag_of
from bethink.context.lines import words_of
from bethink.models.measure import Measure

__all__ = ["block_tokens", "choose_block", "pinned_tokens"]

# Shares of the memory block that a section may fill before the others have had their turn; what is left over is shared out
# afterwards in the same order.
_SHARES: tuple[tuple[SectionName, float], ...] = (
    ("project", 0.5),
    ("profile", 0.35),
    ("summary", 0.35),
    ("recalled", 0.35),
    ("previous session", 0.25),
    ("earlier sessions", 0.35),
)
_LEFT_OVER: tuple[tuple[SectionName, float], ...] = tuple((name, 1.0) for name, _ in _SHARES)
_NO_NEWS = frozenset({"a", "am", "an", "i", "m", "my", "our", "the", "to", "we"})
_SHORTEST_LINE = 12  # tokens: a name, a mark and a few words
# Frame and preface of a block: an estimate to choose by, checked against the real count at the end.
_EMPTY_BLOCK_TOKENS = 60


def choose_block(
    lines: Sequence[Shown],
    free: int,
    measure: Measure,
    arrange: Callable[[dict[SectionName, list[Shown]]], tuple[Shown, ...]],
    words: Callable[[str], frozenset[str]] = words_of,
) -> tuple[tuple[Shown, ...], int]:
    """The lines of the block, as `arrange` puts those chosen of each section and with the tokens of their headings, and what
    they cost besides the pinned ones.

    Args:
        lines: candidates, each section in the order in which it is to be filled.
        free: what the block may cost besides its pinned lines.
        words: as `words_of`.
    """
    sections: dict[SectionName, list[int]] = {name: [] for name in BLOCK}
    for position, line in enumerate(lines):
        sections[line.item.section].append(position)
    chosen = sections["pinned"].copy()
    pinned = len(chosen)
    base = block_tokens([lines[position] for position in chosen], measure)
    said = _Said(lines, chosen, words)
    spent = 0 if chosen else _EMPTY_BLOCK_TOKENS
    filled = dict.fromkeys(BLOCK, 0)
    days: dict[SectionName, set[str]] = {name: set() for name in BLOCK}
    for shares in (_SHARES, _LEFT_OVER):
        for name, share in shares:
            left = min(int(share * free) - filled[name], free - spent)
            there = days[name]
            for position in sections[name]:
                if left < _SHORTEST_LINE:
                    break
                line = lines[position]
                tokens = line.tokens if line.heading in there else line.tokens + line.heading_tokens
                cost = tokens if filled[name] else tokens + _tag_tokens(name, measure)
                # What is too long is passed over: these are excerpts, and a shorter line may say more for its tokens.
                if cost > left or said.again(line.item):
                    continue
                for told in said.add(position):
                    chosen.remove(told)
                    filled[lines[told].item.section] -= lines[told].tokens
                    spent -= lines[told].tokens
                chosen.append(position)
                there.add(line.heading)
                filled[name] += tokens
                spent, left = spent + cost, left - cost
    # Tokens of a whole are not exactly the sum over its lines: the last word is the real count.
    while True:
        kept = set(chosen)
        block = arrange({name: [lines[at] for at in positions if at in kept] for name, positions in sections.items()})
        tokens = block_tokens(block, measure) - base
        if tokens <= free or len(chosen) == pinned:
            return headed(block), tokens
        chosen.pop()


class _Said:
    """What the lines chosen so far say. Words are compared only between lines that rest on the same message."""

    def __init__(self, lines: Sequence[Shown], chosen: Sequence[int], words: Callable[[str], frozenset[str]]) -> None:
        self._lines = lines
        self._words = words
        self._texts: set[str] = set()
        self._by_source: dict[str, list[int]] = {}
        for position in chosen:
            self.add(position)

    def again(self, item: Item) -> bool:
        """Whether a candidate says nothing that is not said yet."""
        text, known = item.text, self._by_source
        if text in self._texts:
            return True
        for source in item.sources:
            for other in known.get(source, ()):
                if self._within(text, self._lines[other].item):
                    return True
        return False

    def add(self, position: int) -> Sequence[int]:
        """Note what a line says; returns the lines of summaries that it makes superfluous."""
        item, known = self._lines[position].item, self._by_source
        told = self._told(item) if item.of == "message" else ()
        for other in told:
            for source in self._lines[other].item.sources:
                known[source].remove(other)
        self._texts.add(item.text)
        for source in item.sources:
            known.setdefault(source, []).append(position)
        return told

    def _told(self, message: Item) -> list[int]:
        """Lines of summaries that say nothing which is not in this message, theirs too: it says it better."""
        beside = dict.fromkeys([other for source in message.sources for other in self._by_source.get(source, ())])
        items = {other: self._lines[other].item for other in beside}
        return [other for other, item in items.items() if item.index >= 0 and item.text in message.text]

    def _within(self, text: str, other: Item) -> bool:
        """Whether all that a text says is in another line: as it stands, or in the words of a record, which puts "I live in
        Ghent" as "lives in Ghent". A mere "I" or "the" says nothing.
        """
        if text in other.text:
            return True
        # Twice as long, it says more; and most are: a message beside the insight drawn from it.
        if other.of != "record" or other.index >= 0 or len(text) > 2 * len(other.text):
            return False
        return (self._words(text) - _NO_NEWS).issubset(self._words(other.text))


def _tag_tokens(name: SectionName, measure: Measure) -> int:
    return 2 * measure.count(f"</{tag_of(name)}>") + 2


def pinned_tokens(lines: Iterable[Shown], measure: Measure) -> int:
    """What a message of the pinned lines among some would cost, and of no others."""
    return block_tokens([line for line in lines if line.item.section == "pinned"], measure)


def block_tokens(block: Sequence[Shown], measure: Measure) -> int:
    """What the message that carries the block costs; 0 for no line."""
    return measure.lines(memory_lines(block), name=MEMORY) if block else 0
