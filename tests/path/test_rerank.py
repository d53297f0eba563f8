"""The learned correction: what it is told of a hit, what it does to an order, and when."""

from __future__ import annotations

import math
from contextlib import closing
from datetime import datetime, timezone
from typing import Any

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from bethink import Memory, Message, Settings
from bethink.errors import InvalidInput
from bethink.retrieval.hits import Hit
from bethink.retrieval.ranker import Ranker
from bethink.retrieval.rerank import FEATURES, Reranker, features, reranked
from bethink.testing.doubles import HashTokenEmbedder

NOTHING = Reranker(weights=(0.0,) * len(FEATURES))


def hit(seq: int, score: float = 0.25, text: str = "Some words here", **fields: Any) -> Hit:
    values: dict[str, Any] = {
        "kind": "message", "id": f"m{seq}", "namespace": ("a",), "thread_id": "t", "seq": seq, "text": text, "speaker": "user",
        "trust": "user", "at": datetime(2026, 1, 1, tzinfo=timezone.utc), "score": score, "scores": {"lexical": score},
    }  # fmt: skip
    return Hit(**(values | fields))


def weighing(**weights: float) -> Reranker:
    return Reranker(weights=tuple(weights.get(name, 0.0) for name in FEATURES))


def told(hits: list[Hit], row: int = 0) -> dict[str, float]:
    return dict(zip(FEATURES, features(hits)[row].tolist(), strict=True))


def test_a_hit_is_told_by_its_legs_and_its_form() -> None:
    found = told([hit(1, scores={"lexical": 0.3, "speaker": -0.05}, text="Where is the " + "very " * 197 + "end?")])
    assert (found["lexical"], found["speaker"], found["dense"]) == (0.3, -0.05, 0.0)
    assert (found["root"], found["question"]) == (0.5, 1.0)
    assert found["words"] == pytest.approx(math.log(202) / math.log(200))


def test_a_hit_is_told_by_the_hits_before_and_after_it_in_its_thread() -> None:
    hits = [hit(2), hit(1, 0.4), hit(3, 0.1), hit(1, 0.9, thread_id="other"), hit(3, 0.8, namespace=("b",))]
    assert (told(hits)["before"], told(hits)["after"]) == (0.4, 0.1)
    assert (told(hits, 3)["before"], told(hits, 3)["after"]) == (0.0, 0.0)


def test_a_record_has_no_neighbours() -> None:
    note = hit(0, kind="note", thread_id=None)
    assert (told([note, hit(1, thread_id=None)])["after"]) == 0.0


def test_no_hits_have_no_features() -> None:
    assert features([]).shape == (0, len(FEATURES))
    assert reranked([], Reranker()) == []


def test_a_weight_changes_the_order_and_says_so() -> None:
    hits = [hit(1, 0.3, text="Is it so?"), hit(4, 0.28)]
    found = reranked(hits, weighing(question=-0.1))
    assert [each.id for each in found] == ["m4", "m1"]
    assert found[1].scores == {"lexical": 0.3, "learned": pytest.approx(-0.1)}


def test_equal_hits_stay_in_their_order() -> None:
    hits = [hit(5), hit(1), hit(3)]
    assert [each.id for each in reranked(hits, NOTHING)] == ["m5", "m1", "m3"]


_numbers = st.floats(-3, 3, allow_nan=False)


@given(
    scores=st.lists(st.floats(0, 1).map(lambda score: round(score, 6)), max_size=8),
    weights=st.lists(_numbers, min_size=len(FEATURES), max_size=len(FEATURES)),
)
def test_scores_stay_between_0_and_1_fall_and_are_the_sum_of_their_legs(scores: list[float], weights: list[float]) -> None:
    found = reranked([hit(seq, score) for seq, score in enumerate(scores)], Reranker(weights=tuple(weights)))
    assert sorted((each.score for each in found), reverse=True) == [each.score for each in found]
    assert {each.id for each in found} == {f"m{seq}" for seq in range(len(scores))}
    for each in found:
        assert 0 <= each.score <= 1
        assert sum(each.scores.values()) == pytest.approx(each.score)


@pytest.mark.parametrize(
    ("weights", "problem"), [((1.0,), "weights"), ((math.nan,) * len(FEATURES), "finite"), ((math.inf,) * 12, "finite")]
)
def test_weights_that_mean_nothing_are_refused(weights: tuple[float, ...], problem: str) -> None:
    with pytest.raises(InvalidInput, match=problem):
        Reranker(weights=weights)


def test_another_reranker_is_another_ranker() -> None:
    fingerprints = {Ranker(reranker=each).fingerprint for each in (None, Reranker(), NOTHING, weighing(time=1.0))}
    assert len(fingerprints) == 4


def answers(ranker: Ranker, *, maxsim: bool, k: int = 5) -> list[tuple[str, dict[str, float]]]:
    said = ("The pots are fired twice.", "Do potters fire pots?", "A potter fires what is dry.", "It rained.")
    with closing(Memory(embedder=HashTokenEmbedder(), ranker=ranker, settings=Settings(maxsim=maxsim))) as memory:
        memory.thread("t").append([Message(role="user", content=text) for text in said])
        return [(each.text, each.scores) for each in memory.recall("What do potters fire?", k)]


def test_it_is_off_unless_it_is_asked_for_and_tokens_are_compared() -> None:
    asked = Ranker(reranker=weighing(words=0.1))
    assert not any("learned" in scores for _, scores in answers(Ranker(), maxsim=True) + answers(asked, maxsim=False))
    assert all("learned" in scores for _, scores in answers(asked, maxsim=True))


def test_it_chooses_among_more_than_are_returned() -> None:
    (plain,) = answers(Ranker(), maxsim=True, k=1)
    (chosen,) = answers(Ranker(reranker=weighing(question=1.0)), maxsim=True, k=1)
    assert not plain[0].endswith("?")
    assert chosen[0] == "Do potters fire pots?"


def test_the_learned_weights_are_told_by_their_names() -> None:
    assert len(Reranker().weights) == len(FEATURES)
    assert msgspec.structs.replace(Reranker(), weights=NOTHING.weights) == NOTHING
