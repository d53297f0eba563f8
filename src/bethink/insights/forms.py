"""When two values are one in other words: by what they are about, and by the form of their words alone."""

from __future__ import annotations

import re

from bethink.retrieval.terms import index_terms, stop_words

__all__ = ["alike", "content", "form_of"]

_DENYING = frozenset({"no", "not", "never", "without", "non", "against"})
_SIGNS = re.compile(r"[^\w\s,.;:!?'\"()|-]")


def content(words: str) -> frozenset[str]:
    """The stems of what words are about, in no order."""
    return frozenset(term for term in index_terms(words).split() if term not in stop_words)


def form_of(words: str) -> tuple[str, ...]:
    """The words in order, each by its stem, without those that say nothing; what is left of a name's signs ("C++", "C#") says
    something, and so does a "not".

    >>> form_of("hikes in the hills") == form_of("hiking in hills")
    True
    """
    kept = tuple([word for word in index_terms(words).split() if word not in stop_words or word in _DENYING])
    return (*kept, *_SIGNS.findall(words)) if kept else (words,)


def alike(one: str, other: str) -> bool:
    """Whether two values have the same words, in whatever form."""
    return one == other or form_of(one) == form_of(other)
