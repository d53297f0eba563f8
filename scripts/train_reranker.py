"""Learn the weights of `retrieval.rerank`, and print them with what they are worth.

    python scripts/train_reranker.py --locomo locomo10.json --beam data/100K [--cache vectors.db]

Needs the extra "minilm". Each question of the development conversations is asked with tokens compared and no threshold; of the
best 60 hits each piece of evidence is paired with each other one. A pair is the difference of their features. All questions of
a data set weigh the same, and BEAM's together half as much as LoCoMo's. The score's own weight is left free, the others are
held small (`RIDGE`), and all are told relative to it. Cross-validated: for each conversation of LoCoMo, weights are learned
from the rest.
"""

from __future__ import annotations

import argparse
from collections import Counter
from collections.abc import Sequence
from contextlib import closing
from pathlib import Path
from typing import NamedTuple

import msgspec
import numpy as np
from numpy.typing import NDArray

from bethink.bench.retrieval.metrics import ndcg_at, recall_at
from bethink.bench.retrieval.questions import ADVERSARIAL, Question, Source, cases, group_of
from bethink.bench.retrieval.systems import Bethink
from bethink.bench.retrieval.vectors import VectorsOfTokens
from bethink.models.minilm import MiniLM
from bethink.retrieval.hits import Hit
from bethink.retrieval.ranker import Ranker
from bethink.retrieval.rerank import FEATURES, Reranker, features, reranked
from bethink.settings import Settings

DEPTH, RIDGE, BEAM_SHARE, STEPS = 60, 0.03, 0.5, 50
Numbers = NDArray[np.float64]


class Asked(NamedTuple):
    """A question, and the hits with the names of their messages."""

    source: Source
    case: str
    question: Question
    hits: list[Hit]
    names: list[str]

    @property
    def right(self) -> NDArray[np.bool_]:
        return np.array([name in self.question.turns for name in self.names], dtype=bool)


def asked(source: Source, path: Path, vectors: VectorsOfTokens) -> list[Asked]:
    found = []
    for case in cases(source, [path]):
        sessions = case.read()
        turns = [turn for session in sessions for turn in session.turns]
        with closing(Bethink(vectors, Ranker(), Settings(maxsim=True))) as system:
            system.index(sessions)
            for question in case.questions:
                hits = system.hits(question, DEPTH)
                found.append(Asked(source, case.name, question, [hit for _, hit in hits], [turns[place] for place, _ in hits]))
        print(f"{source} {case.name}: {len(found)} questions so far", flush=True)
    return found


def pairs(questions: Sequence[Asked]) -> tuple[Numbers, Numbers]:
    """Differences of features, the score's first, and the weight of each."""
    telling = [each for each in questions if each.right.any() and not each.right.all()]
    of_source = Counter(each.source for each in telling)
    differences, weights = [], []
    for each in telling:
        scores = np.array([[hit.score] for hit in each.hits])
        of = np.hstack([scores, features(each.hits)])
        some = (of[each.right][:, np.newaxis] - of[~each.right][np.newaxis]).reshape(-1, of.shape[1])
        differences.append(some)
        share = (BEAM_SHARE if each.source == "beam" else 1.0) / of_source[each.source]
        weights.append(np.full(len(some), share / len(some)))
    return np.concatenate(differences), np.concatenate(weights)


def learned(questions: Sequence[Asked]) -> Reranker:
    """Newton's method on the logistic loss of the pairs."""
    differences, shares = pairs(questions)
    spread = differences.std(axis=0) + 1e-9
    scaled, shares = differences / spread, shares / shares.sum()
    ridge = np.array([1e-6] + [RIDGE] * len(FEATURES))
    weights = np.zeros(len(ridge))
    for _ in range(STEPS):
        wrong = 1 / (1 + np.exp(scaled @ weights))
        slope = ridge * weights - (scaled * (shares * wrong)[:, np.newaxis]).sum(axis=0)
        bend = (scaled * (shares * wrong * (1 - wrong))[:, np.newaxis]).T @ scaled + np.diag(ridge)
        weights = weights - np.linalg.solve(bend, slope)
    plain = weights / spread
    return Reranker(weights=tuple(round(float(weight), 3) for weight in plain[1:] / plain[0]))


def worth(questions: Sequence[Asked], reranker: Reranker | None) -> str:
    """Recall and NDCG at 10 of questions that have an answer."""
    recalls, gains = [], []
    for each in questions:
        if each.question.category == ADVERSARIAL or not each.question.turns:
            continue
        name = dict(zip([hit.id for hit in each.hits], each.names, strict=True))
        hits = each.hits if reranker is None else reranked(each.hits, reranker)
        ranked = [name[hit.id] for hit in hits]
        recalls.append(recall_at(ranked, each.question.turns, 10))
        gains.append(ndcg_at(ranked, each.question.turns, 10))
    return f"{np.mean(recalls):.4f} {np.mean(gains):.4f}"


def main() -> None:
    parser = argparse.ArgumentParser(description="Learn the weights of the reranker.")
    parser.add_argument("--locomo", type=Path, required=True)
    parser.add_argument("--beam", type=Path, required=True)
    parser.add_argument("--cache", type=Path)
    options = parser.parse_args()
    with closing(VectorsOfTokens(MiniLM(), options.cache)) as vectors:
        questions = asked("locomo", options.locomo, vectors) + asked("beam", options.beam, vectors)
    development = [each for each in questions if group_of(each.source, each.case) == "development"]
    of_locomo = [each for each in development if each.source == "locomo"]
    for name in sorted({each.case for each in of_locomo}):
        reranker = learned([each for each in development if each.case != name])
        held = [each for each in of_locomo if each.case == name]
        print(f"without {name}: recall, NDCG at 10 of it {worth(held, None)} -> {worth(held, reranker)}")
    reranker = learned(development)
    for source in ("locomo", "beam"):
        for group in ("development", "others"):
            held = [each for each in questions if each.source == source and group_of(each.source, each.case) == group]
            print(f"{source} {group}: {worth(held, None)} -> {worth(held, reranker)}")
    print(msgspec.json.encode(dict(zip(FEATURES, reranker.weights, strict=True))).decode())


if __name__ == "__main__":
    main()
