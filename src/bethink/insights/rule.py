"""One way to state one sort of fact, and the words that many such ways begin with.

Patterns see clauses as `clauses.written_out` leaves them: "I am", "do not", no filler in front. A pattern is matched at the
start of a clause and nearly always begins with "I", "we" or "my"; that is what makes "she said I live in Rome" no residence.
`rules` has those of everyday life, `domains.wordings` those of single domains.

Groups that a rule's pattern may have:
    value   the answer                       old    the former answer, denied by the same words
    neg     it is denied                     past   it was so and is no longer
    of      what the answer is about         verb   the word to tell it with
"""

# ruff: noqa: E501 - a pattern is read whole

from __future__ import annotations

import re
from functools import cache
from typing import Literal, TypeAlias

import msgspec

from bethink.insights import english
from bethink.insights.triggers import triggers
from bethink.records import Importance, Topic

__all__ = ["BE", "DO", "MONEY", "Rule", "Shape", "Wording", "rule"]

Shape: TypeAlias = Literal["thing", "place", "name", "proper", "choice", "deed", "words"]


class Rule(msgspec.Struct, frozen=True, kw_only=True):
    """One way to state one sort of fact.

    Attributes:
        source: of `pattern`, which is compiled when a clause first needs it and matched at its start.
        triggers: a clause without one of these words does not match; empty: any may.
        slot: with `{key}`, the value in its short form, `{name}`, that without a version ("python" of "Python 3.12"), and `{of}`.
        says, denies: the record's text, with `{value}`, `{of}` and `{verb}`.
        shape: what its value may look like (see `extract`).
        many: a list ("peanuts and shellfish") is several facts.
        dated: only with a time ("yesterday", "in May").
        spoken_of: also about others ("my wife is allergic to nuts").
        told: it is what an assistant is told to do, and so speaks of nobody.
        more: another rule may find something else in the same clause ("a nurse at St. Mary's").
    """

    source: str
    triggers: frozenset[str]
    topic: Topic
    slot: str
    says: str
    denies: str
    importance: Importance = "medium"
    shape: Shape = "thing"
    negative: bool = False
    many: bool = False
    dated: bool = False
    spoken_of: bool = False
    told: bool = False
    more: bool = False

    @property
    def pattern(self) -> re.Pattern[str]:
        return _compiled(self.source)


@cache
def _compiled(source: str) -> re.Pattern[str]:
    return english.pattern(source)


DO = r"(?:I|we) (?:(?P<past>no longer |used to |stopped |quit )|(?P<neg>do not |never |did never |have never )|do )?"
BE = r"(?:I|we) (?:am |are |have been |(?P<past>used to be |am no longer |are no longer |was once )|(?P<neg>am not |are not |have never been ))"
MONEY = r"(?:[$€£¥]\s?\d[\d.,]*\s?(?:k|m|thousand|million)?|\d[\d.,]*\s?(?:k\b)?\s?(?:dollars|euros?|pounds|usd|eur|gbp|bucks|yen|francs|chf))(?: (?:per|a|each) (?:night|month|week|day|year|person))?"

Wording: TypeAlias = tuple[Topic, str, str, str]
"""Topic, slot, and what a rule says and denies."""


def rule(
    topic: Topic,
    slot: str,
    says: str,
    denies: str,
    pattern: str,
    importance: Importance = "medium",
    shape: Shape = "thing",
    *,
    flags: str = "",
    needs: str = "",
) -> Rule:
    words = flags.split()
    return Rule(
        source=pattern,
        triggers=triggers(pattern) | frozenset(needs.split()),
        topic=topic,
        slot=slot,
        says=says,
        denies=denies,
        importance=importance,
        shape=shape,
        negative="negative" in words,
        many="many" in words,
        dated="dated" in words,
        spoken_of="spoken_of" in words,
        told="told" in words,
        more="more" in words,
    )
