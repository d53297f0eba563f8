"""Words without which nothing is stated, so that most sentences are passed over at the cost of a set intersection.

A rule's triggers are the words in its pattern that do not belong to grammar. Whatever the pattern matches holds at least one of
them (a test draws matches of every pattern and looks), and a sentence without the trigger of any rule states no fact.
"""

from __future__ import annotations

import re
from itertools import product

__all__ = ["triggers", "words"]

_WORD = re.compile(r"[^\W\d_]+")
# What in a pattern is no word of the text: names of groups, flags, classes of characters.
_SYNTAX = re.compile(r"\(\?P<\w+>|\(\?-?[a-z]+:|\(\?P=\w+\)|\(\?[!:=]|\\[a-zA-Z]|\[(?:[^\]]*[^\]a-z])[^\]]*\]")
# A word of a pattern, with letters that may be missing ("favou?rite") or differ ("organi[sz]ed").
_LITERAL = re.compile(r"(?:\[[a-z]+\]|[^\W\d_]\??)+")
_LETTER = re.compile(r"\[([a-z]+)\]|([^\W\d_])(\??)")

_GRAMMAR_WORDS = """
a an the my our your his her their its some any this that these those all no not never i we me us it is are am was were be
been being do does did have has had having can may must could would should to of in on at for with by from as or and but if
so than then now still just actually definitely probably really very more most about around up out off over under away back
into who which where when what last next too also without rather instead one first second good big great real time once
you how new get go got way know people always life things thing need since stay week day month year want best friends care
well long each part better place everyone little every full far enough able amazing huge bad safe options business data
personal project plant food recipe social curious offer yesterday free check keep hard until natural low high
serious real major massive avid beginner careful wonderful fantastic fast slow decent terrible excellent heavy
s m t d re ve k y g x b ll ly nd rd st th ish ies co
"""
_GRAMMAR = frozenset(_GRAMMAR_WORDS.split())


def words(text: str) -> frozenset[str]:
    """The words of `text`, case folded."""
    return frozenset(_WORD.findall(text.casefold()))


def triggers(pattern: str) -> frozenset[str]:
    """The words in `pattern`, a regular expression, apart from those of grammar and from praise."""
    plain = _SYNTAX.sub(" ", pattern).casefold()
    found = {word for literal in _LITERAL.findall(plain) for word in _spelled(literal)}
    return frozenset(found - _GRAMMAR)


def _spelled(literal: str) -> list[str]:
    letters = [
        tuple(several) if several else ((one, "") if optional else (one,))
        for several, one, optional in _LETTER.findall(literal)
    ]
    return ["".join(chosen) for chosen in product(*letters)]
