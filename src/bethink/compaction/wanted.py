"""The facts that a summary must not lose, and the sentences that bring them back.

A fact is a number, a date, a name or an identifier (see `facts`), or a decision: a statement that decides or promises. A model
is free in its words, so a fact is kept where its key or the word is somewhere in a summary, an identifier where it stands
letter by letter, and a decision where one line has most of its terms.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import TypeAlias

from bethink.compaction.facts import facts
from bethink.compaction.statements import Statement
from bethink.records import Line
from bethink.retrieval.terms import index_terms

__all__ = ["RESERVE", "Fact", "Wanted", "first_that_fit"]

Fact: TypeAlias = str | int
"""A fact by its key; a decision by the position of its statement."""

RESERVE = 0.3
"""Share of a summary's limit that a model is not told of: room for the facts that it leaves out."""

_SHARES = (1 - RESERVE, 0.5, 0.3)
"""Shares of the limit that are left to the model's own lines, one after the other, until enough facts are kept."""

# So many bytes more a line costs for its speaker and date, as in `extractive`.
_LINE_BYTES = 32
_DECISION_SHARE = 0.6
_WORD = re.compile(r"[^\W_]+(?:-[^\W_]+)*")
_POSSESSIVE = re.compile(r"'s\b|'")


class Wanted:
    """The facts of what was said, to see which of them a summary has, and to put back those that it lacks.

    Args:
        stated: what was said, without repetition, in order.
        order: the place of each message by its id; lines are ordered by the newest of those they rest on.
    """

    def __init__(self, stated: Sequence[Statement], order: Mapping[str, int]) -> None:
        self._stated = tuple(stated)
        self._order = order
        self._decisions = {each.position: frozenset(each.terms) for each in stated if each.commitment and not each.question}
        self._of = {
            each.position: frozenset[Fact](each.facts.all) | ({each.position} & self._decisions.keys()) for each in stated
        }
        self._identifiers = tuple(dict.fromkeys(name for each in stated for name in each.facts.identifiers))
        self._all = frozenset[Fact]().union(*self._of.values())

    def kept(self, lines: Sequence[Line]) -> frozenset[Fact]:
        """Those of the facts that are in `lines`."""
        texts = [line.text for line in lines]
        whole = "\n".join(texts)
        present: set[Fact] = {fact for found in facts(texts) for fact in found.all}
        for word in _WORD.findall(_POSSESSIVE.sub("", whole.lower().replace("’", "'"))):
            present.update((word, *word.split("-")))
        present.update(name for name in self._identifiers if name in whole)
        terms = [frozenset(index_terms(text).split()) for text in texts]
        decisions: set[Fact] = {
            position
            for position, wanted in self._decisions.items()
            if any(len(found & wanted) >= _DECISION_SHARE * len(wanted) for found in terms)
        }
        return self._all & (present | decisions)

    def put_back(
        self, lines: Sequence[Line], *, limit: int, count: Callable[[str], int], least: float = 0.0
    ) -> tuple[Line, ...]:
        """`lines` and, where these leave out facts, the statements with most of them per byte, as far as they fit.

        Where room is short, those of `lines` with the fewest facts give way: down to the share of the limit that the model was
        asked to fill, and further only as long as fewer than `least` facts are kept.

        Args:
            lines: a model's, within the limit.
            limit: tokens of all lines, each counted with the line break behind it.
            count: tokens of a text.
            least: how many facts are wanted.
        """
        if self._all <= self.kept(lines):
            return tuple(lines)
        sizes = [count(line.text) + 1 for line in lines]
        news = [len(self.kept([line])) / size for line, size in zip(lines, sizes, strict=True)]
        poorest = sorted(range(len(lines)), key=lambda place: (news[place], -place))
        summary: tuple[Line, ...] = ()
        for share in _SHARES:
            going, left = iter(poorest), set(poorest)
            while sum(sizes[place] for place in left) > share * limit and len(left) > 1:
                left.remove(next(going))
            summary = self._filled([lines[place] for place in sorted(left)], lines, limit, count)
            if len(self.kept(summary)) >= least:
                break
        return summary

    def _filled(self, chosen: list[Line], lines: Sequence[Line], limit: int, count: Callable[[str], int]) -> tuple[Line, ...]:
        """`chosen` with the statements that add most, then with others of `lines` as far as there is room."""
        missing = self._all - self.kept(chosen)
        left = limit - sum(count(line.text) + 1 for line in chosen)
        costs = {each.position: count(each.line.text) + 1 for each in self._stated}

        def gain(statement: Statement) -> tuple[float, int]:
            news = len(missing & self._of[statement.position])
            return news / (len(statement.line.text.encode()) + _LINE_BYTES), -statement.position

        candidates = list(self._stated)
        while candidates := [
            each for each in candidates if costs[each.position] <= left and not missing.isdisjoint(self._of[each.position])
        ]:
            best = max(candidates, key=gain)
            left -= costs[best.position]
            missing -= self._of[best.position]
            chosen.append(best.line)
        chosen += first_that_fit([line for line in lines if line not in chosen], left, count)
        return tuple(sorted(chosen, key=self._newest))

    def _newest(self, line: Line) -> int:
        return max(self._order.get(source, 0) for source in line.sources)


def first_that_fit(lines: Iterable[Line], limit: int, count: Callable[[str], int]) -> list[Line]:
    """The lines before the first that would pass `limit` tokens, each counted with the line break behind it."""
    fitting: list[Line] = []
    for line in lines:
        limit -= count(line.text) + 1
        if limit < 0:
            break
        fitting.append(line)
    return fitting
