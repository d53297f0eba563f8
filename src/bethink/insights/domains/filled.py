"""The values of a section, out of the insights that it holds. Pure.

A value is what somebody said, or a number or choice that is in it; where an insight has none of the kind that is asked for, it
fills nothing. So nothing is ever invented, and each value has the insight that it came from.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from typing import Any, TypeAlias

import msgspec

from bethink.insights.domains.template import Holds
from bethink.records import Insight

__all__ = ["Filled", "answer_of", "fill", "number_in"]

_Value: TypeAlias = str | int | float | bool
_NUMBER = re.compile(
    r"(?<![\w.])(?P<sign>-)?[$€£¥]?\s?(?P<digits>\d{1,3}(?:,\d{3})+(?:\.\d+)?|\d+(?:\.\d+)?)\s?(?P<times>k|m|thousand|million)?(?![A-Za-z\d])",
    re.IGNORECASE,
)
_TIMES = {"": 1, "k": 1_000, "thousand": 1_000, "m": 1_000_000, "million": 1_000_000}
_WORD = re.compile(r"[^\s,;:()\"]+")
_EDGES = " \t,.;:!?\"'*_()[]"


class Filled(msgspec.Struct, frozen=True):
    """A value, or a list of them, and the ids of the insights behind: of a list, one for each value in its order.

    A single value that nothing fills is None, and has no id.
    """

    value: Any
    insight_ids: tuple[str, ...] = ()


def fill(holds: Holds, insights: Sequence[Insight]) -> Filled:
    """The values of a section that holds these insights, the best kept first."""
    found = [(value, insight.id) for insight in insights if (value := _value(holds, insight)) is not None]
    if holds.many:
        return Filled([value for value, _ in found], tuple([insight_id for _, insight_id in found]))
    return Filled(found[0][0], (found[0][1],)) if found else Filled(None)


def _value(holds: Holds, insight: Insight) -> _Value | None:
    if holds.kind == "line":
        return insight.text
    affirmed = insight.polarity == "positive"
    if holds.kind == "flag":
        return affirmed
    answer = answer_of(insight)
    if holds.kind == "text":
        return answer
    if holds.kind == "choice":
        return _choice(f"{answer} {insight.value}", holds.choices)
    number = number_in(answer)
    if holds.kind == "integer":
        return int(number) if number is not None and number.is_integer() else None
    return number


def answer_of(insight: Insight) -> str:
    """The answer of an insight as it was said: of "lives in the Netherlands", "Netherlands". Where its words are not all in the
    text in their order, the short form that it is compared by.

    >>> answer_of(insight)  # doctest: +SKIP
    'Porto'
    """
    wanted = [word for word in insight.value.split(" @")[0].split() if word]
    text, at = insight.text, 0
    spoken = [(match.group().strip(_EDGES).casefold(), match) for match in _WORD.finditer(text)]
    best: tuple[int, int] | None = None
    for begin, (word, first) in enumerate(spoken):
        if not wanted or word != wanted[0]:
            continue
        end = _last_of(wanted, [each for each, _ in spoken[begin:]])
        if end is not None:
            best = first.start(), spoken[begin + end][1].end()
    if best is None:
        return insight.value.split(" @")[at]
    return text[best[0] : best[1]].strip(_EDGES)


def _last_of(wanted: Sequence[str], spoken: Iterable[str]) -> int | None:
    """Where the last of the words wanted stands, if all are there in their order."""
    left = list(wanted)
    for at, word in enumerate(spoken):
        if word == left[0]:
            left.pop(0)
            if not left:
                return at
    return None


def number_in(text: str) -> float | None:
    """The first number of a text: "$85,000 a year" is 85000, "80k" is 80000; None if there is none."""
    match = _NUMBER.search(text)
    if match is None:
        return None
    number = float(match["digits"].replace(",", "")) * _TIMES[(match["times"] or "").casefold()]
    return -number if match["sign"] else number


def _choice(said: str, choices: Sequence[str]) -> str | None:
    """The one choice whose words are said; None for none or several of them."""
    folded = f" {_plain(said)} "
    found = [choice for choice in choices if f" {_plain(choice)} " in folded]
    # "very high" says "high" as well: the longer one was meant.
    found = [each for each in found if not any(each is not other and _plain(each) in _plain(other) for other in found)]
    return found[0] if len(found) == 1 else None


def _plain(text: str) -> str:
    return " ".join([word.strip(_EDGES) for word in re.split(r"[\s_-]+", text.casefold())])
