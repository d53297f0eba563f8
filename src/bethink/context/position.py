"""Where lines stand within a context. Pure.

Models use best what stands near the start or the end of what they read ("Lost in the Middle", Liu et al. 2024). Messages of a
thread have their order, and so have the lines of a summary. Sections, and lines ranked by a score, have no such order: these
stand in the order in which they matter, from the nearer edge of the whole context inwards:

    memory at the start      sections in the order of `BLOCK`; the best lines first while the start is nearer than the end
    memory at the question   sections in the reverse order; the best lines last

Where a context is short, both of its edges are near, and the lines alternate between them.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from bethink.context.items import BLOCK, SectionName, Shown
from bethink.settings import LineOrder, MemoryPlace

__all__ = ["arranged", "from_edges"]

_RANKED: frozenset[SectionName] = frozenset({"profile", "recalled"})
"""Sections whose lines are ranked by a score, best first, and stand in no order of their own."""


def arranged(
    sections: Mapping[SectionName, Sequence[Shown]], *, at: MemoryPlace, order: LineOrder, before: int, after: int
) -> tuple[Shown, ...]:
    """The lines of a memory block as they are shown.

    Args:
        sections: the lines of each, ranked ones best first.
        at: where the block stands.
        order: of ranked lines.
        before, after: tokens of the context before the block, and after it.
    """
    names = BLOCK if at == "start" else BLOCK[::-1]
    sizes = {name: sum([line.tokens for line in sections.get(name, ())]) for name in names}
    after += sum(sizes.values())
    shown: list[Shown] = []
    for name in names:
        lines = sections.get(name, ())
        after -= sizes[name]
        if name in _RANKED and len(lines) > 1:
            if order == "edges":
                lines = from_edges(lines, before, after)
            elif order == "chronological":
                lines = sorted(lines, key=lambda line: line.item.at)
        shown += lines
        before += sizes[name]
    return tuple(shown)


def from_edges(lines: Sequence[Shown], before: int, after: int) -> list[Shown]:
    """Lines that came best first, each put at that end of what is left of their place which is nearer to an edge.

    So no line has fewer tokens between itself and the nearer edge than a better one. `before` and `after` are the tokens from
    their place to the two edges.
    """
    front: list[Shown] = []
    back: list[Shown] = []
    for line in lines:
        if before <= after:
            front.append(line)
            before += line.tokens
        else:
            back.append(line)
            after += line.tokens
    return front + back[::-1]
