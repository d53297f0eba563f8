"""Hits into a budget of tokens: which are taken, and how much of a long one. Pure.

    hits, best first ─▶ what each takes as a line ─▶ by value per token, while they fit ─▶ room that is left: longer passages

Among turns of a talk the rank is the value per token: a longer one costs more and holds the answer as much more often. (LoCoMo,
development: the chance to be evidence by score, rank and tokens, divided by the tokens, takes them by rank again.) A long reply
does not. So a line of more than `_TURN` tokens is worth less, by the root of how much longer it is, and no text takes more than
`LONGEST` before the others have had their turn: it is cut to its best passage, the sentences next to each other that hold most
of the query.

A context shows lines under headings of their days: the first line of a day takes its heading's tokens too, those after it
only their own. (To take lines of days that are there before better ones gained nothing.)
"""

from __future__ import annotations

import math
from collections.abc import Callable, Container, Iterator, Mapping, Sequence

import msgspec

from bethink.errors import InvalidInput
from bethink.models import TokenCounter
from bethink.models.characters import boundary
from bethink.models.tokens import truncate
from bethink.retrieval.hits import Hit, LeftOut, Member, RecallResult
from bethink.retrieval.terms import index_terms

__all__ = ["LONGEST", "SHORTEST", "Cost", "Passages", "packed", "passage"]

LONGEST = 120
"""Tokens of a text, as long as there is no room to spare."""
SHORTEST = 10
"""Tokens of the shortest line: little more than who said it."""

_TURN = 80
_SHORTEST_PASSAGE = 40
_MARKS = 2
"""Tokens by which another passage of the same text may differ in what frames it."""
_PIECE = 200
"""Characters: what is longer and no sentence (a table, a log) is taken apart at its spaces."""

replace = msgspec.structs.replace


class Passages(msgspec.Struct, frozen=True):
    """Finds what is shown of a long text.

    Attributes:
        weights: of each term of the query (`legs.term_weights`).
        counter: counts the text alone.
    """

    weights: Mapping[str, float]
    counter: TokenCounter

    def cut(self, line: Hit | Member, longest: int = LONGEST) -> tuple[int, int] | None:
        """Which characters of its text are its best passage of at most `longest` tokens; None if all of it fits."""
        if self.counter.count(line.text) <= longest:
            return None
        return passage(line.text, self.weights, longest, self.counter)

    def of(self, result: RecallResult) -> RecallResult:
        """The hits, each long one with its passage."""
        return replace(result, hits=tuple([replace(hit, cut=self.cut(hit)) for hit in result.hits]))


class Cost(msgspec.Struct, frozen=True):
    """What a line takes: its own tokens, and those of the heading of its day, which only the first line of a day pays."""

    tokens: int
    day: str
    heading: int


class _Line(msgspec.Struct, frozen=True):
    of: Hit | Member
    cut: tuple[int, int] | None
    cost: Cost

    def tokens(self, days: Container[str]) -> int:
        """Beside lines of these days."""
        return self.cost.tokens if self.cost.day in days else self.cost.tokens + self.cost.heading


def packed(result: RecallResult, *, budget: int, passages: Passages, cost: Callable[[Hit | Member], Cost]) -> RecallResult:
    """What of a recall fits into a budget, still best first, and what does not.

    A hit with members goes in by its best member; the others join it as far as there is room. Whatever does not fit when its
    turn comes is passed over, since a shorter one behind it may; but a long text goes in by a shorter passage.

    Args:
        budget: tokens for all lines and the headings of their days.
        cost: of the line of a hit or member, with the passage that it has.

    Raises:
        InvalidInput: a budget of less than 1.
    """
    if budget < 1:
        raise InvalidInput("budget", f"{budget}", "use 1 token or more")

    def line(of: Hit | Member, longest: int) -> _Line:
        cut = passages.cut(of, longest)
        return _Line(of, cut, cost(replace(of, cut=cut)))

    def fitted(each: _Line, room: int) -> _Line:
        """The line, or if that is too long, a shorter passage of a text that is cut anyway."""
        tokens = each.tokens(days)
        if tokens <= room or each.cut is None:
            return each
        start, end = each.cut
        frame = tokens - passages.counter.count(each.of.text[start:end])
        longest = room - frame - _MARKS
        return line(each.of, longest) if longest >= _SHORTEST_PASSAGE else each

    units = [[line(each, LONGEST) for each in _lines(hit)] for hit in result.hits]
    left, taken, passed = budget, dict[tuple[int, int], _Line](), dict[tuple[int, int], tuple[int, int]]()
    days = set[str]()
    for unit in sorted(
        range(len(units)), key=lambda unit: (-_value(result.hits[unit].score, units[unit][0].cost.tokens), unit)
    ):
        for place, whole in enumerate(units[unit]):
            each = fitted(whole, left)
            tokens = each.tokens(days)
            if tokens <= left and (not place or (unit, 0) in taken):
                taken[unit, place] = each
                days.add(each.cost.day)
                left -= tokens
            else:
                passed[unit, place] = tokens, left
    # What room is left goes to longer passages, the best first.
    for at in sorted(taken):
        each = taken[at]
        if each.cut is not None and left > 0:
            longer = line(each.of, LONGEST + left)
            more = longer.cost.tokens - each.cost.tokens
            if more <= left:
                taken[at] = longer
                left -= more
    days.clear()
    hits = [
        _taken(hit, [taken[unit, place] for place in range(len(units[unit])) if (unit, place) in taken], days)
        for unit, hit in enumerate(result.hits)
        if (unit, 0) in taken
    ]
    left_out = [_left_out(units[unit][place].of, *passed[unit, place]) for unit, place in sorted(passed)]
    reason = result.empty_reason
    if result.hits and not hits:
        least = min(each[0].tokens(()) for each in units)
        reason = f"no answer fits: the shortest takes {least} tokens, the budget is {budget}"
    return replace(result, hits=tuple(hits), left_out=tuple(left_out), tokens=budget - left, empty_reason=reason)


def _value(score: float, tokens: int) -> float:
    return score / math.sqrt(max(1.0, tokens / _TURN))


def _lines(hit: Hit) -> Sequence[Hit | Member]:
    """The lines that a hit would take, in the order in which they go in."""
    if not hit.members:
        return (hit,)
    return sorted(hit.members, key=lambda each: (each.id != hit.id, each.score is None, -(each.score or 0.0), each.seq))


def _taken(hit: Hit, lines: Sequence[_Line], days: set[str]) -> Hit:
    """The hit with what its lines take beside those of `days`, which theirs are added to."""
    cuts, tokens = {id(each.of): each.cut for each in lines}, dict[int, int]()
    order = {id(of): place for place, of in enumerate(hit.members)}
    for each in sorted(lines, key=lambda each: order.get(id(each.of), 0)):
        tokens[id(each.of)] = each.tokens(days)
        days.add(each.cost.day)
    members = [replace(each, cut=cuts[id(each)], tokens=tokens[id(each)]) for each in hit.members if id(each) in cuts]
    return replace(hit, cut=lines[0].cut, tokens=sum(tokens.values()), members=tuple(members))


def _left_out(of: Hit | Member, tokens: int, left: int) -> LeftOut:
    return LeftOut(kind=of.kind, id=of.id, thread_id=of.thread_id, seq=of.seq, score=of.score, tokens=tokens, left=left)


# -- passages -------------------------------------------------------------------------------------------------------------


def passage(text: str, weights: Mapping[str, float], room: int, counter: TokenCounter) -> tuple[int, int]:
    """Where the best passage of at most `room` tokens is in a text: whole sentences next to each other, as many as fit, that
    hold most of the query, each term counted as `legs.Words` counts it; of equal ones the middle one. A text that holds nothing
    of the query is shown from its beginning. Time is linear in the text.
    """
    pieces = list(_pieces(text))
    if not pieces:
        return 0, len(truncate(text, room, counter))
    runs = list(_runs(text, pieces, weights, room, counter))
    most = max(worth for worth, _, _ in runs)
    equal = [(first, last) for worth, first, last in runs if worth > most - 1e-9]
    first, last = equal[len(equal) // 2 if most else 0]
    start = pieces[first][0] if first else 0
    # A whole counts a little more than its sentences; a single one may be larger than the room.
    while last > first and counter.count(text[start : pieces[last][1]]) > room:
        last -= 1
    return start, start + len(truncate(text[start : pieces[last][1]], room, counter))


def _runs(
    text: str, pieces: Sequence[tuple[int, int]], weights: Mapping[str, float], room: int, counter: TokenCounter
) -> Iterator[tuple[float, int, int]]:
    """What each run of pieces that fit is worth: those that neither end could be lengthened, by their first and last piece."""
    sizes = [counter.count(text[start:end]) for start, end in pieces]
    terms = [[term for term in index_terms(text[start:end]).split(" ") if term in weights] for start, end in pieces]
    held = dict.fromkeys(weights, 0)
    first = size = 0
    for last in range(len(pieces)):
        size += sizes[last]
        for term in terms[last]:
            held[term] += 1
        while size > room and first < last:
            size -= sizes[first]
            for term in terms[first]:
                held[term] -= 1
            first += 1
        if last + 1 == len(pieces) or size + sizes[last + 1] > room:
            yield sum([weights[term] * count / (1 + count) for term, count in held.items() if count]), first, last


def _pieces(text: str) -> Iterator[tuple[int, int]]:
    # Here and not above: its patterns are not compiled by who has no long text.
    from bethink.compaction.sentences import sentences

    for start, end, _ in sentences(text):
        while end - start > _PIECE:
            space = max(text.rfind(mark, start + 1, start + _PIECE) for mark in " \n")
            stop = space + 1 if space > 0 else start + _PIECE
            while not boundary(text, stop):
                stop += 1
            yield start, stop
            start = stop
        if end > start:
            yield start, end
