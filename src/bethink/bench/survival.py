"""Which facts of a conversation are still in what is left of it: what `bethink bench facts` measures, and compares with.

A fact is a distinct number, date or name (see `compaction.facts`), folded so that the same fact in another form is the same:
case, thousands separators, ordinals ("5th", "5"), a plural s ("Nikons", "Nikon"), forms of a date ("5 May", "May 5th",
"2026-05-05"). The names of those who speak are none, since every line carries them anyway. The same rules find the facts of the
conversation and of what is left, whoever chose it.

Pure functions over texts; the random choice is seeded.
"""

from __future__ import annotations

import heapq
import math
import random
import re
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Literal, TypeAlias

from bethink.compaction.facts import Facts, facts
from bethink.retrieval.terms import index_terms

__all__ = ["KINDS", "Fact", "Kind", "closest", "first", "form_of", "kept", "most_facts", "said", "shuffled"]

Kind: TypeAlias = Literal["numbers", "dates", "names"]
KINDS: tuple[Kind, ...] = ("numbers", "dates", "names")

Fact: TypeAlias = tuple[Kind, str]

_MONTHS = ("jan", "feb", "mar", "apr", "may", "jun", "jul", "aug", "sep", "oct", "nov", "dec")
_WEEKDAYS = ("mon", "tue", "wed", "thu", "fri", "sat", "sun")
_WEEKDAY = re.compile(r"(mon|tues|wednes|thurs|fri|satur|sun)day")
_ISO = re.compile(r"(\d{4})-(\d\d)-(\d\d)")
_ORDINAL = re.compile(r"(?<=\d)(?:st|nd|rd|th)$")
_YEAR = re.compile(r"(?:19|20)\d\d")
_CLOCK = re.compile(r"\d{1,2}(?::\d\d)?(?:[ap]m)?")
_SHORT = 10


def said(sentences: Sequence[str], speakers: frozenset[str]) -> dict[Fact, int]:
    """The distinct facts of sentences, in order of appearance, each with the number of sentences that say it."""
    return dict(Counter(fact for found in facts(sentences, speakers) for fact in dict.fromkeys(_keys(found))))


def kept(there: Mapping[Fact, int], sentences: Sequence[str], texts: Sequence[str], speakers: frozenset[str]) -> set[Fact]:
    """Those of the facts `there`, of `sentences`, that `texts` still say.

    A name at the start of a text counts where the conversation has shown it to be one: the two are read together.
    """
    found = facts([*sentences, *texts], speakers)[len(sentences) :]
    return {fact for each in found for fact in _keys(each) if fact in there}


def _keys(found: Facts) -> Iterator[Fact]:
    for number in found.numbers:
        if not _ISO.fullmatch(number):
            yield "numbers", _ORDINAL.sub("", number)
    for date in found.dates:
        yield "dates", _date(date)
    for name in found.names:
        singular = name[:-1] if len(name) > 3 and name.endswith("s") and not name.endswith("ss") else name
        if _WEEKDAY.fullmatch(singular):
            yield "dates", singular[:3]
        else:
            yield "names", singular


def _date(date: str) -> str:
    iso = _ISO.fullmatch(date)
    if iso and 1 <= int(iso[2]) <= len(_MONTHS):
        return f"{_MONTHS[int(iso[2]) - 1]} {int(iso[3])}"
    month, _, day = date.partition(" ")
    return f"{month} {int(day)}" if month in _MONTHS and day.isdecimal() else date


def form_of(fact: Fact, times: int) -> str:
    """What sort of number, date or name a fact is that is said so many times, in words that tell nothing of what was said."""
    kind, key = fact
    if kind == "names":
        return "said once" if times == 1 else "said twice or three times" if times <= 3 else "said more often"
    if kind == "dates":
        if key in _WEEKDAYS:
            return "weekday"
        if key in _MONTHS:
            return "month"
        if key[:3] in _MONTHS and key[3:4] == " ":
            return "day of a month"
        return "in figures" if key[:1].isdigit() and " " not in key else "relative"
    if _YEAR.fullmatch(key):
        return "year"
    if key.isdecimal():
        return f"whole, up to {_SHORT}" if int(key) <= _SHORT else f"whole, above {_SHORT}"
    return "time of day" if _CLOCK.fullmatch(key) else "with a unit, a fraction, a range"


# -- choices to compare with ----------------------------------------------------------------------------------------------


def first(texts: Sequence[str], limit: int, count: Callable[[str], int]) -> list[str]:
    """Texts from the start on, as many as fit `limit` tokens, each with its line break; what does not fit is passed over."""
    chosen: list[str] = []
    for text in texts:
        cost = count(text) + 1
        if cost <= limit:
            limit -= cost
            chosen.append(text)
        if limit <= 1:
            break
    return chosen


def shuffled(texts: Sequence[str], seed: int) -> list[str]:
    """The texts in an order that chance decides; the same seed, the same order."""
    found = list(texts)
    random.Random(seed).shuffle(found)
    return found


def most_facts(texts: Sequence[str], speakers: frozenset[str], limit: int, count: Callable[[str], int]) -> list[str]:
    """The texts that bring most new facts for their tokens, one after the other, as many as fit `limit` tokens.

    What whoever knows which facts are counted can do: near the most that so many tokens of whole sentences can hold (greedy
    coverage is within 1 - 1/e of it), and all of them where it reaches all.
    """
    of = [frozenset(_keys(found)) for found in facts(texts, speakers)]
    sizes = [count(text) + 1 for text in texts]
    ranking = [(-len(found) / sizes[index], index) for index, found in enumerate(of) if found]
    heapq.heapify(ranking)
    known: set[Fact] = set()
    chosen: list[int] = []
    while ranking:
        _, index = heapq.heappop(ranking)
        current = (-len(of[index] - known) / sizes[index], index)
        if not current[0] or sizes[index] > limit:
            continue
        if ranking and current > ranking[0]:
            heapq.heappush(ranking, current)
            continue
        limit -= sizes[index]
        known |= of[index]
        chosen.append(index)
    return [texts[index] for index in sorted(chosen)]


def closest(texts: Sequence[str]) -> list[str]:
    """The texts by their closeness (TF-IDF, cosine) to the centroid of all, closest first: a summariser in ten lines.

    Radev, Jing, Styś and Tam, "Centroid-based summarization of multiple documents", Information Processing and Management 40,
    2004, without its position and overlap terms.
    """
    counts = [Counter(index_terms(text).split()) for text in texts]
    spread = Counter(term for found in counts for term in found)
    rarity = {term: math.log((len(texts) + 1) / number) for term, number in spread.items()}
    centroid = Counter[str]()
    for found in counts:
        for term, number in found.items():
            centroid[term] += number
    weights = {term: number * rarity[term] for term, number in centroid.items()}

    def closeness(found: Counter[str]) -> float:
        length = math.sqrt(sum([(number * rarity[term]) ** 2 for term, number in found.items()]))
        return sum([number * rarity[term] * weights[term] for term, number in found.items()]) / length if length else 0.0

    ranked = sorted(range(len(texts)), key=lambda index: (-closeness(counts[index]), index))
    return [texts[index] for index in ranked]
