"""The figures of the retrieval benchmarks, by examples worked out by hand, and what holds for any ranking."""

from __future__ import annotations

import math
from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bethink.bench.retrieval.metrics import Sized, all_at, any_at, ndcg_at, recall_at, reciprocal_rank, within
from bethink.bench.retrieval.threshold import Probe, curve, measured
from bethink.errors import InvalidInput

RANKED = ["a", "b", "c", "d", "e"]
NAMES = st.sampled_from("abcdefgh")
RANKINGS = st.lists(NAMES, max_size=12)
WANTED = st.frozensets(NAMES, min_size=1)


def test_recall_is_the_share_of_what_is_wanted_among_the_first() -> None:
    assert recall_at(RANKED, frozenset("bdz"), 3) == pytest.approx(1 / 3)
    assert recall_at(RANKED, frozenset("bdz"), 4) == pytest.approx(2 / 3)


def test_one_that_is_found_is_enough_for_any_and_not_for_all() -> None:
    assert (any_at(RANKED, frozenset("bz"), 5), all_at(RANKED, frozenset("bz"), 5)) == (1.0, 0.0)
    assert (any_at(RANKED, frozenset("b"), 1), all_at(RANKED, frozenset("ab"), 2)) == (0.0, 1.0)


def test_ndcg_weighs_a_place_by_the_logarithm() -> None:
    # Found at places 2 and 4; the best would be 1 and 2.
    expected = (1 / math.log2(3) + 1 / math.log2(5)) / (1 + 1 / math.log2(3))
    assert ndcg_at(RANKED, frozenset("bd"), 5) == pytest.approx(expected)


def test_ndcg_wants_no_more_than_k_can_hold() -> None:
    assert ndcg_at(RANKED, frozenset(RANKED), 2) == pytest.approx(1.0)


def test_the_reciprocal_rank_is_of_the_first_that_is_wanted() -> None:
    assert reciprocal_rank(RANKED, frozenset("dc")) == pytest.approx(1 / 3)
    assert reciprocal_rank(RANKED, frozenset("z")) == 0.0


def test_a_name_that_comes_twice_counts_once_and_takes_two_places() -> None:
    twice = ["a", "a", "b"]
    assert recall_at(twice, frozenset("ab"), 2) == 0.5
    assert ndcg_at(twice, frozenset("a"), 3) == pytest.approx(1.0)
    assert reciprocal_rank(twice, frozenset("b")) == pytest.approx(1 / 3)


def test_a_budget_passes_over_what_does_not_fit_and_goes_on() -> None:
    sized = [Sized("a", 60), Sized("b", 50), Sized("c", 40)]
    assert within(sized, frozenset("abc"), 100) == pytest.approx(2 / 3)  # a and c
    assert within(sized, frozenset("b"), 100) == 0.0
    assert within(sized, frozenset("b"), 110) == 1.0


def test_a_line_of_exactly_the_budget_fits() -> None:
    assert within([Sized("a", 100)], frozenset("a"), 100) == 1.0


def test_the_heading_of_a_day_is_counted_once() -> None:
    sized = [Sized("a", 40, "monday", 8), Sized("b", 40, "tuesday", 8), Sized("c", 40, "monday", 8)]
    assert within(sized, frozenset("abc"), 88) == pytest.approx(2 / 3)  # a and c
    assert within(sized, frozenset("ab"), 96) == 1.0
    assert within(sized, frozenset("a"), 47) == 0.0


def test_a_question_without_evidence_has_no_figures() -> None:
    for figure in (recall_at, any_at, all_at, ndcg_at):
        with pytest.raises(InvalidInput):
            figure(RANKED, frozenset(), 5)
    with pytest.raises(InvalidInput):
        reciprocal_rank(RANKED, frozenset())


@pytest.mark.parametrize("k", [0, -1])
def test_k_is_at_least_one(k: int) -> None:
    with pytest.raises(InvalidInput):
        recall_at(RANKED, frozenset("a"), k)


@given(RANKINGS, WANTED)
def test_every_figure_is_a_share_for_any_ranking(ranked: list[str], wanted: frozenset[str]) -> None:
    for k in range(1, len(ranked) + 2):
        found = any_at(ranked, wanted, k), recall_at(ranked, wanted, k), all_at(ranked, wanted, k)
        assert 1 >= found[0] >= found[1] >= found[2] >= 0
        assert 0 <= ndcg_at(ranked, wanted, k) <= 1 + 1e-12
    assert 0 <= reciprocal_rank(ranked, wanted) <= 1


@given(RANKINGS, WANTED)
def test_a_longer_list_finds_no_less(ranked: list[str], wanted: frozenset[str]) -> None:
    for figure in (recall_at, any_at, all_at):
        values = [figure(ranked, wanted, k) for k in range(1, len(ranked) + 2)]
        assert all(shorter <= longer for shorter, longer in pairwise(values))


@given(RANKINGS, WANTED)
def test_what_is_first_has_the_best_figures(ranked: list[str], wanted: frozenset[str]) -> None:
    best = [*sorted(wanted), *ranked]
    assert ndcg_at(best, wanted, 5) == pytest.approx(1.0)
    assert (reciprocal_rank(best, wanted), all_at(best, wanted, len(wanted))) == (1.0, 1.0)


SIZED = st.lists(st.builds(Sized, NAMES, st.integers(1, 50), NAMES, st.integers(0, 10)), max_size=12)


@given(SIZED, WANTED, st.integers(1, 400))
def test_a_budget_for_everything_finds_what_there_is(ranked: list[Sized], wanted: frozenset[str], budget: int) -> None:
    there = recall_at([each.name for each in ranked], wanted, len(ranked) + 1)
    assert 0 <= within(ranked, wanted, budget) <= there
    assert within(ranked, wanted, 60 * 12) == there


# -- the threshold --------------------------------------------------------------------------------------------------------


def related(*scores: float, found: str, evidence: int = 1, hits: int = 0, kept: int = 0) -> Probe:
    return Probe(evidence=evidence, scores=scores, found=tuple(each == "+" for each in found), hits=hits, kept=kept)


def unrelated(*scores: float, hits: int = 0) -> Probe:
    return Probe(evidence=0, scores=scores, found=(False,) * len(scores), hits=hits, kept=0)


def test_the_ranker_s_own_threshold_is_measured_by_what_it_returned() -> None:
    probes = [related(0.5, 0.3, found="+-", hits=1, kept=1), related(0.2, found="+"), unrelated(0.3, hits=1), unrelated(0.1)]
    found = measured(probes, 0.25, 0.6)
    assert found is not None
    assert (found.related, found.unrelated) == (2, 2)
    assert (found.own.threshold, found.own.quiet, found.own.lost, found.own.silent) == (0.25, 0.5, 0.5, 0.5)


def test_the_curve_says_what_other_thresholds_would_do() -> None:
    probes = [related(0.5, 0.2, found="-+"), unrelated(0.3)]
    points = {point.threshold: point for point in curve(probes, 0.5)}
    assert (points[0.0].quiet, points[0.0].lost, points[0.0].silent) == (0.0, 0.0, 0.0)
    assert (points[0.4].quiet, points[0.4].lost) == (1.0, 0.0)  # hits after the first need half of it
    assert (points[0.42].lost, points[0.42].silent) == (1.0, 0.0)
    assert (points[0.52].lost, points[0.52].silent) == (1.0, 1.0)


def test_a_curve_only_rises() -> None:
    probes = [related(0.5, 0.2, found="-+"), related(0.33, found="+"), unrelated(0.3), unrelated(0.41), unrelated()]
    for before, after in pairwise(curve(probes, 0.6)):
        assert before.quiet <= after.quiet
        assert before.lost <= after.lost
        assert before.silent <= after.silent


def test_without_unrelated_questions_a_threshold_has_no_figures() -> None:
    assert measured([related(0.5, found="+")], 0.2, 0.6) is None
    assert measured([unrelated(0.5)], 0.2, 0.6) is None
