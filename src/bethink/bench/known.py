"""What a memory knows of people, held against what a data set says of them: the measures of `bethink bench insights`.

    insights ─┬─ beside the evidence of the questions     was it drawn from a turn that a question asks for
              └─ beside the data set's own observations   was it drawn from a turn that one was, and does it say the same

    observations ─▶ which insights each repeats           as replies are credited with what their contexts showed

    a block of lines ─▶ questions whose evidence it holds  by the turns that its lines rest on, and by the words of the answer

Precision has to be read beside chance, which is the precision of turns drawn blindly: where four turns in ten are evidence, so
are four in ten of those. Pure, but for the embedder that is given.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import TypeVar

import msgspec

from bethink.insights.citations import half_used, near, used, wording
from bethink.models import Embedder
from bethink.retrieval.terms import index_terms, stop_words

__all__ = [
    "Against",
    "Asked",
    "Drawn",
    "Held",
    "Observation",
    "Shown",
    "against",
    "credited",
    "held",
    "says_the_same",
    "sum_of",
    "terms",
]

_SAME = 0.5
_SHOWN = 20


class Drawn(msgspec.Struct, frozen=True):
    """An insight as it was drawn: from which turn, about whom, and what it says without the name."""

    turn: str
    subject: str
    text: str
    topic: str


class Observation(msgspec.Struct, frozen=True):
    """What a data set observes of somebody, and in which turns."""

    turns: frozenset[str]
    subject: str
    text: str


class Against(msgspec.Struct, frozen=True, kw_only=True):
    """Counts of insights beside what there is to be found; sums over conversations are sums of each.

    Attributes:
        insights, right: how many were drawn, and how many of them are right.
        wanted, found: how many are to be found, and how many of them were.
        turns, wanted_turns: how many turns there are, and how many of them are right.
    """

    insights: int
    right: int
    wanted: int
    found: int
    turns: int
    wanted_turns: int

    @property
    def precision(self) -> float:
        return self.right / self.insights if self.insights else 0.0

    @property
    def recall(self) -> float:
        return self.found / self.wanted if self.wanted else 0.0

    @property
    def chance(self) -> float:
        """The precision of turns drawn blindly."""
        return self.wanted_turns / self.turns if self.turns else 0.0


class Asked(msgspec.Struct, frozen=True):
    """A question: the turns of its evidence, and those terms of its answer that these turns say."""

    turns: frozenset[str]
    answer: frozenset[str]


class Shown(msgspec.Struct, frozen=True):
    """A line of a block: what it says, and the turns that it rests on."""

    text: str
    turns: frozenset[str]


class Held(msgspec.Struct, frozen=True, kw_only=True):
    """How many questions a block holds the evidence of.

    Attributes:
        questions: how many were asked.
        all, any: of how many it has every turn of the evidence, or one of them.
        worded: how many have answers with words that their evidence says.
        said: of how many of these it has every turn, in lines that say each of those words.
        tokens, lines: of the block.
    """

    questions: int
    all: int
    any: int
    worded: int
    said: int
    tokens: int
    lines: int


def credited(
    drawn: Sequence[Drawn],
    observed: Sequence[Observation],
    threshold: float,
    *,
    embedder: Embedder | None = None,
    nearness: float = 1.0,
) -> Against:
    """Observations as replies to contexts that show 20 insights about the same person: are those credited that were drawn from
    the turns of the observation, and no others.

    An observation of a turn that says again what another turn said is held to be wrong about that other turn's insight, though
    nobody would say so: precision is a lower bound.

    Args:
        threshold: of the overlap in words.
        embedder: by which those that are meant in other words are credited too, from the cosine `nearness` on.
    """
    flagged = right = pairs = wanted = 0
    for observation in observed:
        own = [insight for insight in drawn if insight.subject == observation.subject]
        meant = [insight for insight in own if insight.turn in observation.turns]
        others = [insight for insight in own if insight.turn not in observation.turns]
        shown = [*meant, *others[:: max(1, len(others) // _SHOWN)]][:_SHOWN]
        named = {str(number): insight.text for number, insight in enumerate(shown)}
        found = list(used(observation.text, named, threshold=threshold))
        half = half_used(observation.text, named, threshold=threshold) if embedder else {}
        if embedder is not None and half:
            texts = [*(wording(named[name]) for name in half), *(text for said in half.values() for text in said)]
            found += near(half, named, dict(zip(texts, embedder.embed(texts), strict=True)), threshold=nearness)
        flagged += len(found)
        right += sum(int(number) < len(meant) for number in found)
        pairs += len(shown)
        wanted += min(len(meant), len(shown))
    return Against(insights=flagged, right=right, wanted=wanted, found=right, turns=pairs, wanted_turns=wanted)


_T = TypeVar("_T", Against, Held)


def terms(text: str) -> frozenset[str]:
    """What a text is about: its index terms, without those that are in any text."""
    return frozenset(term for term in index_terms(text).split() if term not in stop_words)


def says_the_same(insight: str, observation: str) -> bool:
    """Whether half of what an insight says is in an observation, in the same words."""
    said = terms(insight)
    return bool(said) and len(said & terms(observation)) >= _SAME * len(said)


def against(
    drawn: Sequence[Drawn], observed: Sequence[Observation], turns: Iterable[str], *, same_words: bool = False
) -> Against:
    """Insights beside observations of the same turns, whomever of the two speakers they are put down to.

    Args:
        turns: all there are.
        same_words: only an observation that says the same counts.
    """
    by_turn: dict[str, list[Observation]] = {}
    for observation in observed:
        for turn in observation.turns:
            by_turn.setdefault(turn, []).append(observation)
    right, found = 0, set[int]()
    for insight in drawn:
        meant = [
            observation
            for observation in by_turn.get(insight.turn, ())
            if not same_words or says_the_same(insight.text, observation.text)
        ]
        right += bool(meant)
        found.update(map(id, meant))
    every = list(turns)
    return Against(
        insights=len(drawn),
        right=right,
        wanted=len(observed),
        found=len(found),
        turns=len(every),
        wanted_turns=sum(turn in by_turn for turn in every),
    )


def held(asked: Sequence[Asked], block: Sequence[Shown], tokens: int) -> Held:
    """The questions whose evidence a block of lines holds."""
    by_turn: dict[str, list[Shown]] = {}
    for line in block:
        for turn in line.turns:
            by_turn.setdefault(turn, []).append(line)
    words = {line.text: terms(line.text) for line in block}
    whole = [question for question in asked if question.turns <= by_turn.keys()]
    return Held(
        questions=len(asked),
        all=len(whole),
        any=sum(not question.turns.isdisjoint(by_turn) for question in asked),
        worded=sum(bool(question.answer) for question in asked),
        said=sum(
            question.answer <= {term for turn in question.turns for line in by_turn[turn] for term in words[line.text]}
            for question in whole
            if question.answer
        ),
        tokens=tokens,
        lines=len(block),
    )


def sum_of(counts: Sequence[_T]) -> _T:
    """The sums of counts, of one sort and at least one of them, name by name."""
    return type(counts[0])(**{name: sum(getattr(each, name) for each in counts) for name in counts[0].__struct_fields__})
