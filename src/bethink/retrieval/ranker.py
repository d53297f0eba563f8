"""The parameters of ranking, in one value with a fingerprint."""

from __future__ import annotations

import hashlib
import math

import msgspec

from bethink.errors import InvalidInput
from bethink.retrieval.rerank import Reranker

__all__ = ["DEFAULT", "Ranker"]

_NAME, _VERSION = "legs", 3


class Ranker(msgspec.Struct, frozen=True, kw_only=True):
    """The parameters of ranking; shares and scores are from 0 to 1. The defaults were chosen on four conversations of LoCoMo.

    Attributes:
        k1, b: BM25's saturation of term counts and correction for length.
        asking: part of their weight that words have which questions are put in (`terms.asking_terms`; English).
        dated: part that the words of a time have which the query names: "in May 2023" is rarely said in that month.
        dense: weight of the dense leg; the lexical one has the rest.
        alike: cosine from which two texts mean the same.
        context: how much of its neighbours' term counts a message has; `dense_context` of their cosines' squares. One that is
            so many terms long as `damping` has all of that, one twice as long has half.
        speaker: share taken from what was said by others than the speakers whom the query names.
        length: share added to a message for each e-fold of terms beyond 20 (taken for each below); at most 1.5 of it, or 2
            below. A record is short or long by how it was made.
        question: share taken from what ends in a question mark; less from a text of more than 20 terms, which says more than
            that.
        reply: share taken from messages of the roles assistant and tool, unless the query asks for what was answered (English):
            what somebody said of himself is evidence, and what he was told about it is not.
        when: share added to what says a time, for a query that asks when or how long. English.
        time: what is added for having been said on the very day that the query names; less for a less exact time. For what was
            said near that time and not within it, it decides the order only, and does not lift a score over a threshold.
        tokens: what is added for each 1 of likeness above chance, for answering the query token by token; for the order only,
            as time nearby.
        chance: likeness that a text of 20 tokens has with any query; `chance_growth` more for each e-fold of tokens.
        token_context: how much of its neighbours' likeness a message has, damped as `context` is.
        threshold: score below which even the best candidate is no answer, and nothing is returned; for a query of up to two
            words that tell. Of one of n such words the fourth root of 2 / n of it: half of a long question is not held by
            chance. (See `term_weights`; n is the effective number of terms, 1 / sum of squared weights.)
        lexical_threshold: the same where the dense leg did not run.
        tail: hits after the best one may have that share of the threshold; and all, where what is in view was not looked for,
            since the best one may be among that.
        least_units: a scope of fewer units is ranked as if it had that many, the others without any word of the query: of
            five notes every word of each would else look common, and every word of none decisive.
        reranker: corrects the scores of what is returned, where tokens are compared (`rerank`). None for none.
    """

    k1: float = 0.9
    b: float = 0.4
    asking: float = 0.6
    dated: float = 0.3
    dense: float = 0.4
    alike: float = 0.9
    context: float = 1.25
    dense_context: float = 0.8
    damping: float = 60.0
    speaker: float = 0.3
    length: float = 0.05
    question: float = 0.25
    reply: float = 0.2
    when: float = 0.2
    time: float = 0.2
    tokens: float = 0.5
    chance: float = 0.2
    chance_growth: float = 0.04
    token_context: float = 0.4
    threshold: float = 0.25
    lexical_threshold: float = 0.26
    tail: float = 0.5
    least_units: int = 200
    reranker: Reranker | None = None

    def __post_init__(self) -> None:
        shares = (
            "b",
            "asking",
            "dated",
            "dense",
            "speaker",
            "length",
            "question",
            "reply",
            "when",
            "time",
            "tokens",
            "chance",
            "chance_growth",
            "threshold",
            "lexical_threshold",
            "tail",
        )
        for name in shares:
            if not 0 <= getattr(self, name) <= 1:
                raise InvalidInput(f"ranker.{name}", f"{getattr(self, name)}", "use a number from 0 to 1")
        if not 0 < self.alike <= 1:
            raise InvalidInput("ranker.alike", f"{self.alike}", "use a number above 0, at most 1")
        for name in ("k1", "context", "dense_context", "token_context", "damping"):
            if not 0 <= getattr(self, name) < math.inf:
                raise InvalidInput(f"ranker.{name}", f"{getattr(self, name)}", "use a number of 0 or more")
        if self.least_units < 0:
            raise InvalidInput("ranker.least_units", f"{self.least_units}", "use 0 or more")

    @property
    def fingerprint(self) -> str:
        """Names method, version and parameters; kept on every receipt."""
        digest = hashlib.sha256(msgspec.json.encode(self)).hexdigest()
        return f"{_NAME}-{_VERSION}-{digest[:12]}"


DEFAULT = Ranker()
