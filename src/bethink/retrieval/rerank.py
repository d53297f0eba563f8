"""A learned correction of scores: a linear model of what a hit's legs came to, its form, and the hits around it.

    score of the ranker ── + weights · features ──▶ score      (`learned` in `Hit.scores`)

The weights are relative to the ranker's own score, which has a weight of 1: with all of them 0 nothing changes. They were
learned from pairs of one evidence and one other message each, as the difference that tells them apart (pairwise logistic
regression: Burges et al., "Learning to rank using gradient descent", 2005, with a linear model), by
`scripts/train_reranker.py`, on four conversations of LoCoMo and three of BEAM.

It is an option and not the default, because it follows the data that it has seen: trained on LoCoMo alone it ranks BEAM worse.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import TYPE_CHECKING

import msgspec

from bethink.errors import InvalidInput
from bethink.retrieval.terms import QUESTION_MARKS

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from bethink.retrieval.hits import Hit

__all__ = ["FEATURES", "Reranker", "corrected", "features", "reranked"]

FEATURES = (
    *("lexical", "dense", "context", "speaker", "form", "time", "tokens"),
    "root",  # of the score: what is more among low scores than among high ones
    "words",  # 1 for 200 of them, by their logarithm
    "question",  # whether it ends in a question mark
    "before",  # score of the message before it, if that is a hit
    "after",
)
"""Of a hit: its legs, and what is told beside them."""

_LEARNED = (0.015, -0.138, 0.075, -0.286, 0.411, 0.3, -0.061, 0.009, -0.05, 0.012, -0.036, -0.026)
"""As printed by `scripts/train_reranker.py`, for the defaults of `Ranker`: to be learned anew when those change."""
_WORDS = math.log(200)


class Reranker(msgspec.Struct, frozen=True, kw_only=True):
    """Its weights, in the order of `FEATURES`. The ranker uses it where tokens are compared (`Settings.maxsim`): with those it
    was trained.
    """

    weights: tuple[float, ...] = _LEARNED

    def __post_init__(self) -> None:
        if len(self.weights) != len(FEATURES):
            raise InvalidInput("reranker.weights", f"{len(self.weights)} weights", f"give {len(FEATURES)}, as in FEATURES")
        if not all(map(math.isfinite, self.weights)):
            raise InvalidInput("reranker.weights", "a weight that is not finite", "use numbers")


def features(hits: Sequence[Hit]) -> NDArray[np.float64]:
    """Of each hit, shape (hits, features); the hits are all of one answer."""
    import numpy as np

    scores = {(hit.namespace, hit.thread_id, hit.seq): hit.score for hit in hits if hit.kind == "message"}

    def beside(hit: Hit, step: int) -> float:
        return scores.get((hit.namespace, hit.thread_id, hit.seq + step), 0.0) if hit.kind == "message" else 0.0

    rows = [
        (
            *(hit.scores.get(leg, 0.0) for leg in FEATURES[:7]),
            math.sqrt(hit.score),
            math.log1p(len(hit.text.split())) / _WORDS,
            float(hit.text.rstrip().endswith(QUESTION_MARKS)),
            beside(hit, -1),
            beside(hit, 1),
        )
        for hit in hits
    ]
    return np.array(rows, dtype=np.float64).reshape(len(hits), len(FEATURES))


def corrected(hits: Sequence[Hit], reranker: Reranker) -> list[Hit]:
    """The hits with their corrected scores, in the order given. A score stays within 0 and 1."""
    import numpy as np

    # By rows: a product of matrices may sum in another order on another machine.
    learned = (features(hits) * np.array(reranker.weights)).sum(axis=1).tolist()
    changed = []
    for hit, more in zip(hits, learned, strict=True):
        score = round(min(1.0, max(0.0, hit.score + more)), 6)
        changed.append(msgspec.structs.replace(hit, score=score, scores=hit.scores | {"learned": score - hit.score}))
    return changed


def reranked(hits: Sequence[Hit], reranker: Reranker) -> list[Hit]:
    """The hits in the order of their corrected scores; equal ones stay in theirs."""
    return sorted(corrected(hits, reranker), key=lambda hit: -hit.score)
