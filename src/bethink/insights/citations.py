"""Which memories an answer used, with no model.

    marks     a context shows each recalled line with a short handle; a model that uses the line names it as `[mem:HANDLE]`.
              Several may share a bracket: `[mem:a1, mem:b2]` or `[mem:a1, b2]`
    overlap   of a reply without marks: the lines of which two neighbouring sentences of the reply hold nearly all the words
    nearness  of a line that is half held: whether a sentence of the reply means the same, by the vectors of both

Overlap weighs a word by how few of the lines shown have it (ln((n + 1) / lines), inverse document frequency among them), so
what all lines say ("likes") proves nothing, and neither does a name or the date behind an event. A line of few words is
mentioned by chance more easily than one of many: each counts as if it had one more word, which the reply lacks. The threshold
(`settings.citation_overlap`) was chosen on the development half of LoCoMo, where the observations of the data set stand for
replies: `bethink bench insights` measures it.

Nearness is asked of lines with an overlap of `HALF` or more alone: of all pairs that are as near as the threshold
(`settings.citation_nearness`), none had less than some of the words in common, and most sentences need no vector so. Vectors
come in as values.
"""

from __future__ import annotations

import math
import re
from collections import Counter
from collections.abc import Mapping
from itertools import pairwise
from typing import TYPE_CHECKING

from bethink.compaction.sentences import sentences
from bethink.insights.forms import content

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

__all__ = ["HALF", "cited", "half_used", "near", "overlaps", "used", "wording"]

HALF = 0.25
"""The overlap from which a line may be used in other words."""

_MARKER = re.compile(r"\[mem:([^\[\]]{1,400})\]")
_WHEN = re.compile(r" \([^()]*\d\)$")
_LONGEST = 20_000
"""Characters of a reply that are looked at."""


def cited(reply: str, handles: Mapping[str, str]) -> tuple[str, ...]:
    """Ids of the records that `reply` names, each once, in the order of their first mention.

    Args:
        reply: what the model answered.
        handles: record id by the handle its context showed. Handles that are not in it are the model's invention: ignored.
    """
    named = (
        handle.strip().removeprefix("mem:").strip() for marker in _MARKER.finditer(reply) for handle in marker[1].split(",")
    )
    return tuple(dict.fromkeys(handles[handle] for handle in named if handle in handles))


def used(reply: str, shown: Mapping[str, str], *, threshold: float) -> tuple[str, ...]:
    """Ids of the lines that a reply uses by their overlap with it, in the order of `shown`.

    Args:
        shown: the text of each record that the context showed, by its id.
        threshold: the least overlap, above 0.
    """
    return tuple(name for name, overlap in overlaps(reply, shown).items() if overlap >= threshold)


def overlaps(reply: str, shown: Mapping[str, str]) -> dict[str, float]:
    """Of each line the share of its weight that two neighbouring sentences of the reply hold, from 0 to below 1. Linear in the
    reply and in the lines.
    """
    lines = {name: content(wording(text)) for name, text in shown.items()}
    spread = Counter(term for terms in lines.values() for term in terms)
    weight = {term: math.log((len(lines) + 1) / number) for term, number in spread.items()}
    rarest = math.log(len(lines) + 1)
    said = [content(text) & weight.keys() for _, _, text in sentences(reply[:_LONGEST])]
    windows = [one | other for one, other in pairwise([*said, frozenset[str]()])]
    found: dict[str, float] = {}
    for name, terms in lines.items():
        whole = sum(weight[term] for term in sorted(terms))
        most = max([sum(weight[term] for term in sorted(terms & window)) for window in windows], default=0.0)
        found[name] = most / (whole + rarest) if whole else 0.0
    return found


def wording(line: str) -> str:
    """What a line says, without whom it is about and the date behind it."""
    return _WHEN.sub("", line.partition(": ")[2] or line)


def half_used(reply: str, shown: Mapping[str, str], *, threshold: float) -> dict[str, tuple[str, ...]]:
    """Of each line that has some overlap with a reply, but less than `threshold`, the sentences of the reply that share words
    with it; in the order of `shown`.
    """
    said = [(text, content(text)) for _, _, text in sentences(reply[:_LONGEST])]
    return {
        name: tuple([text for text, terms in said if not terms.isdisjoint(content(wording(shown[name])))])
        for name, overlap in overlaps(reply, shown).items()
        if HALF <= overlap < threshold
    }


def near(
    half: Mapping[str, tuple[str, ...]],
    shown: Mapping[str, str],
    vectors: Mapping[str, NDArray[np.float32]],
    *,
    threshold: float,
) -> tuple[str, ...]:
    """Ids of the lines that a sentence means as well, in the order of `half`.

    Args:
        half: as `half_used` finds them.
        shown: the lines.
        vectors: of length 1, of each line's `wording` and of each sentence, by the text.
        threshold: the least cosine.
    """
    return tuple(
        [
            name
            for name, said in half.items()
            if any(float(vectors[wording(shown[name])] @ vectors[sentence]) >= threshold for sentence in said)
        ]
    )
