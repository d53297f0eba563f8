"""Where lines stand within a context. Pure.

Models use best what stands near the start or the end of what they read ("Lost in the Middle", Liu et al. 2024). Messages of a
thread have their order, and so have the lines of a summary. Sections, and lines ranked by a score, have no such order: these
stand in the order in which they matter, from the nearer edge of the whole context inwards. What was said on one day stands
together, under its heading, where the best line of that day does:

    memory at the start      sections in the order of `BLOCK`; the best days first while the start is nearer than the end, and
                             of a day its best lines
    memory at the question   sections in the reverse order; the best days and lines last

Where a context is short, both of its edges are near, and the days alternate between them.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from bethink.context.items import BLOCK, SectionName, Shown
from bethink.settings import LineOrder, MemoryPlace

__all__ = ["arranged", "by_day", "from_edges"]

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
    sizes = {name: _tokens(sections.get(name, ())) for name in names}
    after += sum(sizes.values())
    shown: list[Shown] = []
    for name in names:
        lines = sections.get(name, ())
        after -= sizes[name]
        if name in _RANKED and len(lines) > 1:
            if order == "chronological":
                groups = list(dict.fromkeys([line.item.group for line in lines]))
                lines = sorted(lines, key=lambda line: (groups.index(line.item.group), line.item.at))
            elif order == "edges":
                lines = from_edges(by_day(lines), before, after)
            else:
                lines = [line for day in by_day(lines) for line in day]
        shown += lines
        before += sizes[name]
    return tuple(shown)


def by_day(lines: Sequence[Shown]) -> list[list[Shown]]:
    """The lines of each day together, in their order; the days in the order of their first lines."""
    days: dict[str, list[Shown]] = {}
    for line in lines:
        days.setdefault(line.heading, []).append(line)
    return list(days.values())


def from_edges(days: Sequence[Sequence[Shown]], before: int, after: int) -> list[Shown]:
    """The lines of days, both best first, each day put at that end of what is left of their place which is nearer to an edge.

    So no day has fewer tokens between itself and the nearer edge than a better one, nor has a line than a better one of its
    day. `before` and `after` are the tokens from their place to the two edges.
    """
    front: list[Shown] = []
    back: list[Shown] = []
    for day in days:
        if before <= after:
            front += day
            before += _tokens(day)
        else:
            back += day
            after += _tokens(day)
    return front + back[::-1]


def _tokens(lines: Sequence[Shown]) -> int:
    """Of lines with one heading for each of their days."""
    days = {line.heading: line.heading_tokens for line in lines}
    return sum([line.tokens for line in lines]) + sum(days.values())
