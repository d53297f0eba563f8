"""Ranking: absolute scores, a threshold that means something, names, ties, and what an empty answer says."""

from __future__ import annotations

from collections import Counter
from datetime import datetime, timedelta, timezone
from typing import Any

import msgspec
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from bethink.errors import InvalidInput
from bethink.retrieval.dates import time_cues
from bethink.retrieval.hits import RecallResult
from bethink.retrieval.names import speakers_in, without_names
from bethink.retrieval.rank import rank
from bethink.retrieval.ranker import Ranker
from bethink.retrieval.terms import index_terms, query_terms
from bethink.storage.base import Candidate, Found

NOW = datetime(2026, 3, 1, 12, tzinfo=timezone.utc)
OPEN = Ranker(threshold=0.0, lexical_threshold=0.0, tail=0.0)
PLAIN = msgspec.structs.replace(OPEN, length=0.0, question=0.0, when=0.0)
MEANING = msgspec.structs.replace(PLAIN, dense=1.0, alike=1.0)


def candidate(text: str, **fields: Any) -> Candidate:
    terms = index_terms(text).split()
    positions = {term: tuple(place for place, each in enumerate(terms) if each == term) for term in terms}
    values: dict[str, Any] = {
        "kind": "message", "id": text[:20], "namespace": ("acme", "u"), "thread_id": "t", "seq": 1, "text": text,
        "speaker": "user", "trust": "user", "at": NOW - timedelta(days=1), "positions": positions, "length": len(terms),
    }  # fmt: skip
    return Candidate(**(values | fields))


def found(*candidates: Candidate, pending: int = 0) -> Found:
    frequency = Counter(term for each in candidates for term in each.counts)
    lengths = [each.length for each in candidates]
    mean = sum(lengths) / len(lengths) if lengths else 0.0
    return Found(candidates=candidates, units=len(candidates), mean_length=mean, frequency=dict(frequency), pending=pending)


def ask(query: str, *candidates: Candidate, ranker: Ranker = OPEN, k: int = 10, pending: int = 0) -> RecallResult:
    names = speakers_in(query, {each.speaker for each in candidates})
    return rank(found(*candidates, pending=pending), query, query_terms(query), names=names, k=k, now=NOW, ranker=ranker)


def texts(result: RecallResult) -> list[str]:
    return [hit.text for hit in result]


# -- scores ---------------------------------------------------------------------------------------------------------------


def test_V069_only_what_is_near_enough_passes_the_threshold() -> None:
    near = {cosine: candidate(f"note {cosine}", cosine=cosine) for cosine in (0.95, 0.5, 0.0, -0.9)}
    result = ask("anything", *near.values(), ranker=msgspec.structs.replace(MEANING, threshold=0.7, tail=1.0))
    assert texts(result) == ["note 0.95"]
    assert result[0].score == pytest.approx(0.95**2, abs=1e-6)


def test_V069_opposite_meaning_scores_as_unrelated_and_not_below() -> None:
    result = ask("anything", candidate("a", cosine=-0.9), candidate("b", cosine=0.0), ranker=MEANING)
    assert [hit.score for hit in result] == [0.0, 0.0]


def test_V069_the_same_text_scores_highest() -> None:
    query = "rotate the deploy key"
    same, longer = candidate(query, cosine=1.0), candidate(f"{query} before the weekend", cosine=0.8)
    result = ask(query, longer, same)
    assert result[0].text == query
    assert result[0].score > result[1].score


def test_scores_do_not_depend_on_what_else_was_found() -> None:
    one, other = candidate("the key is rotated monthly", cosine=0.6), candidate("lunch at noon", cosine=0.1)
    statistics = found(one, other)
    alone = msgspec.structs.replace(statistics, candidates=(one,))
    query = "when is the key rotated"

    def score(given: Found) -> float:
        return rank(given, query, query_terms(query), k=1, now=NOW, ranker=OPEN)[0].score

    assert score(alone) == score(statistics)


def test_the_legs_sum_to_the_score() -> None:
    said = candidate("I adopted a cat", speaker="Melanie", cosine=0.5)
    hit = ask("which cat did Caroline adopt", said, candidate("hello", speaker="Caroline", cosine=0.1))[0]
    assert set(hit.scores) == {"lexical", "dense", "speaker", "form"}
    assert sum(hit.scores.values()) == pytest.approx(hit.score, abs=1e-6)


def test_a_rare_word_weighs_more_than_a_common_one() -> None:
    common = [candidate(f"the garden in week {number}") for number in range(6)]
    result = ask("zucchini garden", candidate("zucchini soup"), *common)
    assert result[0].text == "zucchini soup"


def test_a_word_that_is_nowhere_lowers_every_score() -> None:
    note = candidate("the garden is green")
    assert ask("garden submarine", note)[0].score < ask("garden", note)[0].score


def test_of_equal_words_the_shorter_text_is_nearer() -> None:
    long = candidate("a garden, and then a very long story about many other things that happened there last year")
    assert texts(ask("garden", long, candidate("a garden"), ranker=PLAIN))[0] == "a garden"


def test_what_has_no_vector_yet_is_ranked_by_its_words() -> None:
    waiting, embedded = candidate("the deploy key rotates"), candidate("lunch is at noon", cosine=0.05)
    result = ask("deploy key rotates", embedded, waiting, pending=1)
    assert result[0].text == waiting.text
    assert "dense" not in result[0].scores
    assert result.pending == 1


def test_the_result_says_which_legs_ran() -> None:
    assert ask("garden", candidate("a garden")).legs == ("lexical",)
    assert ask("garden", candidate("a garden", cosine=0.8)).legs == ("lexical", "dense")
    assert ask("?", candidate("a garden", cosine=0.8)).legs == ("dense",)


# -- neighbours -----------------------------------------------------------------------------------------------------------


def test_an_answer_is_found_by_the_question_before_it() -> None:
    question, answer = candidate("Where did you go on holiday?", seq=4), candidate("The Baltic, for a week", seq=5)
    elsewhere = candidate("The Baltic, for a month", seq=9)
    ranked = ask("holiday", elsewhere, answer, question)
    assert texts(ranked) == [answer.text, question.text, elsewhere.text]
    assert ranked[0].scores["lexical"] == 0
    assert ranked[0].scores["context"] > 0
    assert ranked[2].score == 0


def test_the_message_before_tells_more_than_the_one_after() -> None:
    turns = [candidate(text, seq=seq) for seq, text in enumerate(["fine today", "holiday plans", "fine again"], 1)]
    before, after = (next(hit for hit in ask("holiday", *turns, ranker=PLAIN) if hit.seq == seq) for seq in (1, 3))
    assert after.score > before.score > 0


def test_a_neighbour_is_near_in_the_same_thread_only() -> None:
    held = candidate("holiday plans", seq=4)
    places: list[dict[str, Any]] = [
        {"seq": 7},
        {"seq": 5, "thread_id": "u"},
        {"seq": 5, "namespace": ("acme", "v")},
        {"seq": 5, "kind": "summary"},
    ]
    others = [candidate(f"fine {number}", **place) for number, place in enumerate(places)]
    assert [hit.score for hit in ask("holiday", held, *others)][1:] == [0, 0, 0, 0]


def test_a_long_message_has_less_of_its_neighbours() -> None:
    held = candidate("holiday plans", seq=4)
    short, long = (candidate("well " * times, seq=5, id=str(times)) for times in (50, 200))
    beside_short, beside_long = (ask("holiday", held, each, ranker=PLAIN)[1].score for each in (short, long))
    assert beside_short > beside_long > 0


def test_what_is_meant_around_a_message_counts_as_well() -> None:
    near = candidate("a", seq=1, cosine=0.6)
    beside, far = candidate("b", seq=2, cosine=0.1), candidate("c", seq=9, cosine=0.1)
    scores = {hit.text: hit.scores for hit in ask("anything", near, beside, far, ranker=MEANING)}
    assert scores["b"]["dense"] == scores["c"]["dense"]
    assert scores["b"]["context"] > 0
    assert "context" not in scores["c"]


def test_neighbours_never_say_more_of_a_term_than_its_weight() -> None:
    turns = [candidate("holiday " * 20, seq=seq, id=str(seq)) for seq in range(1, 6)]
    assert all(hit.score < 1 for hit in ask("holiday", *turns, ranker=PLAIN))


# -- passages -------------------------------------------------------------------------------------------------------------


def test_a_long_text_is_weighed_by_its_best_passage() -> None:
    together, apart = "the garden has zucchini", f"the garden {'and so on ' * 40} has zucchini"
    filler = "and so on " * 120
    close, wide = candidate(f"{filler} {together} {filler}", id="close"), candidate(f"{filler} {apart} {filler}", id="wide")
    assert [hit.id for hit in ask("zucchini garden", wide, close, ranker=PLAIN)] == ["close", "wide"]


def test_a_word_weighs_the_same_wherever_it_stands_in_a_long_text() -> None:
    filler = "and so on " * 120
    ends = [candidate(text, id=text[:9]) for text in (f"zucchini {filler}", f"{filler} zucchini")]
    first, last = (ask("zucchini", each, ranker=PLAIN)[0].score for each in ends)
    assert first == pytest.approx(last, rel=0.3)


# -- form and time --------------------------------------------------------------------------------------------------------


def test_who_only_asks_is_ranked_below_who_tells() -> None:
    asks, tells = candidate("garden, you say?", id="a"), candidate("garden, you say.", id="b")
    ranked = ask("garden", asks, tells)
    assert [hit.id for hit in ranked] == ["b", "a"]
    assert ranked[1].scores["form"] < ranked[0].scores["form"]


def test_a_text_that_names_a_time_answers_when() -> None:
    dated, undated = candidate("I ran a race last week", id="a"), candidate("I ran a race with Jon", id="b")
    assert [hit.id for hit in ask("when was the race", undated, dated)] == ["a", "b"]
    assert len({hit.score for hit in ask("why the race", undated, dated)}) == 1


def test_what_is_beside_lends_its_words_and_is_no_answer() -> None:
    question, answer = candidate("Where did you go on holiday?", seq=4), candidate("The Baltic, for a week", seq=5)
    whole = ask("holiday", question, answer)
    given = msgspec.structs.replace(found(question, answer), candidates=(answer,), beside=(question,))
    (hit,) = rank(given, "holiday", query_terms("holiday"), k=10, now=NOW, ranker=OPEN)
    assert hit == whole[0]


def test_a_record_is_neither_short_nor_long_nor_of_a_time() -> None:
    query = "the race on 3 February 2026"
    record = candidate("a race", kind="insight", seq=0, at=datetime(2026, 2, 3, tzinfo=timezone.utc))
    (hit,) = rank(found(record), query, query_terms(query), cues=time_cues(query, now=NOW), k=1, now=NOW, ranker=OPEN)
    assert set(hit.scores) == {"lexical"}


@pytest.mark.parametrize(("day", "hits"), [(3, 1), (4, 0)])
def test_a_time_alone_is_an_answer_only_for_what_was_said_within_it(day: int, hits: int) -> None:
    query = "anything on 3 February 2026"
    said = candidate("we had soup", at=datetime(2026, 2, day, 1, tzinfo=timezone.utc), cosine=0.0)
    cues = time_cues(query, now=NOW)
    result = rank(found(said), query, query_terms(query), cues=cues, k=1, now=NOW, ranker=Ranker())
    assert len(result) == hits
    assert result or "scores 0.00" in result.empty_reason


def test_what_was_said_at_the_time_that_is_named_comes_first() -> None:
    query = "the race on 3 February 2026"
    then, now = (candidate("I ran a race", id=str(day), at=datetime(2026, 2, day, tzinfo=timezone.utc)) for day in (3, 20))
    cues = time_cues(query, now=NOW)
    ranked = rank(found(now, then), query, query_terms(query), cues=cues, k=2, now=NOW, ranker=OPEN)
    assert [hit.id for hit in ranked] == ["3", "20"]
    assert ranked[0].scores["time"] == pytest.approx(OPEN.time)


# -- names ----------------------------------------------------------------------------------------------------------------


def test_what_the_named_speaker_said_comes_first() -> None:
    hers, his = candidate("I went camping", speaker="Caroline"), candidate("I went camping too", speaker="Jon")
    assert texts(ask("When did Caroline go camping", his, hers))[0] == hers.text


def test_a_named_speaker_counts_where_nothing_of_hers_was_found() -> None:
    his, query = candidate("I went camping too", speaker="Jon"), "When did Caroline go camping"
    hit = rank(found(his), query, query_terms(query), names=frozenset({"Caroline"}), k=1, now=NOW, ranker=OPEN)[0]
    assert hit.scores["speaker"] < 0


def test_beside_what_is_in_view_all_have_the_share_that_those_after_the_best_have() -> None:
    ranker, query = msgspec.structs.replace(MEANING, threshold=0.5, tail=0.6), "anything"
    near, far = candidate("near", cosine=0.4**0.5), candidate("far", cosine=0.2**0.5)
    given = found(near, far)
    alone = rank(given, query, query_terms(query), k=5, now=NOW, ranker=ranker)
    assert (list(alone), alone.empty_reason) == ([], "the best of 2 candidates scores 0.40, below the threshold of 0.50")
    assert texts(rank(given, query, query_terms(query), beside=True, k=5, now=NOW, ranker=ranker)) == ["near"]
    nothing = rank(found(far), query, query_terms(query), beside=True, k=5, now=NOW, ranker=ranker)
    assert nothing.empty_reason == "the best of 1 candidates scores 0.20, below the threshold of 0.30"


def test_a_name_is_never_a_filter() -> None:
    his, hers = candidate("Caroline went camping in May", speaker="Jon"), candidate("good morning", speaker="Caroline")
    assert texts(ask("When did Caroline go camping", his, hers))[0] == his.text


def test_records_and_roles_lose_nothing_to_a_named_speaker() -> None:
    note = candidate("Caroline likes camping", kind="note", speaker="", thread_id=None)
    reply = candidate("camping it is", speaker="assistant")
    for hit in ask("Caroline camping", note, reply, candidate("camping", speaker="Caroline")):
        assert "speaker" not in hit.scores


@pytest.mark.parametrize(
    ("query", "speakers", "named"),
    [
        ("What did Caroline's sister say?", {"Caroline", "Melanie"}, {"Caroline"}),
        ("what did caroline say", {"Caroline"}, {"Caroline"}),
        ("Is Lopez coming?", {"Maria Lopez", "Ann"}, {"Maria Lopez"}),
        ("the user said", {"user", "assistant", ""}, set()),
        ("will it rain in may", {"Will"}, set()),
        ("Joanna and Nate", {"Joanna", "Nate"}, {"Joanna", "Nate"}),
        ("Anna's brother", {"Ann"}, set()),
        ("Łukasz?", {"Lukasz"}, {"Lukasz"}),
        ("", {"Ann"}, set()),
    ],
)
def test_speakers_are_found_by_a_word_of_their_name(query: str, speakers: set[str], named: set[str]) -> None:
    assert speakers_in(query, speakers) == named


def test_names_are_taken_out_with_their_s() -> None:
    assert without_names("What is Caroline's dog called?", {"Caroline"}) == "What is dog called?"
    assert without_names("What is Caroline’s dog called?", {"Caroline"}) == "What is dog called?"


def test_a_query_of_nothing_but_a_name_stays() -> None:
    assert without_names("Caroline?", {"Caroline"}) == "Caroline?"


# -- order ----------------------------------------------------------------------------------------------------------------


def test_of_equals_the_newer_comes_first_then_the_smaller_id() -> None:
    old = candidate("garden", id="a", at=NOW - timedelta(days=9))
    new_b, new_a = candidate("garden", id="c"), candidate("garden", id="b")
    assert [hit.id for hit in ask("garden", old, new_b, new_a)] == ["b", "c", "a"]


def test_V052_a_time_in_the_future_gives_no_advantage() -> None:
    future, present = candidate("garden", id="b", at=NOW + timedelta(days=10)), candidate("garden", id="a", at=NOW)
    assert [hit.id for hit in ask("garden", future, present)] == ["a", "b"]


@settings(max_examples=30, deadline=None)
@given(st.permutations([f"garden of word{number % 3}" for number in range(6)]))
def test_the_order_of_candidates_does_not_matter(order: list[str]) -> None:
    candidates = [candidate(text, id=f"{text}{place}", cosine=0.3) for place, text in enumerate(sorted(order))]
    shuffled = sorted(candidates, key=lambda each: order.index(each.text))
    assert ask("garden word1", *shuffled) == ask("garden word1", *candidates)


def test_a_message_of_several_forks_is_one_hit() -> None:
    forks = [candidate("the garden", id="m1", thread_id=thread) for thread in ("t1", "t2", "t3")]
    assert [hit.thread_id for hit in ask("garden", *forks)] == ["t1"]


def test_the_same_id_and_text_in_two_namespaces_are_two_hits() -> None:
    both = [candidate("the garden", id="m1", namespace=("acme", user)) for user in ("a", "b")]
    assert [hit.namespace for hit in ask("garden", *both)] == [("acme", "a"), ("acme", "b")]


# -- k and nothing --------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("k", [0, -1])
def test_k_must_be_one_or_more(k: int) -> None:
    with pytest.raises(InvalidInput, match="k: "):
        ask("garden", candidate("garden"), k=k)


def test_V073_k_is_what_comes_back() -> None:
    many = [candidate(f"garden {number}") for number in range(80)]
    assert len(ask("garden", *many, k=50)) == 50


def test_below_the_threshold_nothing_comes_back_and_the_reason_is_given() -> None:
    result = ask("submarine engine trouble", candidate("lunch at noon", cosine=0.05), ranker=Ranker())
    assert len(result) == 0
    assert not result
    assert "below the threshold of 0.2" in result.empty_reason


def test_weak_hits_do_not_follow_a_strong_one() -> None:
    strong, weak = candidate("the garden", cosine=0.9), candidate("lunch at noon", cosine=0.1)
    assert texts(ask("garden", strong, weak, ranker=Ranker())) == ["the garden"]


@pytest.mark.parametrize(
    ("query", "held", "reason"),
    [
        ("garden", (), "nothing is stored here"),
        ("  ", (candidate("garden"),), "the query is empty"),
    ],
)
def test_an_empty_answer_says_why(query: str, held: tuple[Candidate, ...], reason: str) -> None:
    answer = msgspec.structs.replace(found(*held), candidates=())
    assert rank(answer, query, query_terms(query), k=3, now=NOW).empty_reason == reason


def test_no_shared_word_is_a_reason() -> None:
    nothing = Found(candidates=(), units=3, mean_length=4.0, frequency={}, pending=0)
    assert "shares a word" in rank(nothing, "garden", ("garden",), k=3, now=NOW).empty_reason


def test_a_result_is_a_sequence_of_hits() -> None:
    result = ask("garden", candidate("garden one"), candidate("garden two"))
    assert len(result) == 2
    assert list(result) == [result[0], result[1]] == list(result[:2])
    assert result[-1] in result


# -- parameters -----------------------------------------------------------------------------------------------------------


def test_a_fingerprint_tells_parameters_apart() -> None:
    assert Ranker().fingerprint == Ranker().fingerprint
    assert Ranker(dense=0.5).fingerprint != Ranker().fingerprint
    assert Ranker().fingerprint.startswith("legs-3-")


@pytest.mark.parametrize(
    "parameters",
    [
        {"dense": 1.5},
        {"b": -0.1},
        {"k1": -1.0},
        {"threshold": 2.0},
        {"tail": float("nan")},
        {"speaker": 1.1},
        {"reply": 1.1},
        {"alike": 0.0},
        {"context": -0.1},
        {"damping": float("inf")},
        {"least_units": -1},
    ],
)
def test_parameters_out_of_range_are_refused(parameters: dict[str, Any]) -> None:
    with pytest.raises(InvalidInput, match=next(iter(parameters))):
        Ranker(**parameters)


@settings(max_examples=60, deadline=None)
@given(
    st.lists(
        st.tuples(
            st.text("abc garden", max_size=30), st.none() | st.floats(-1, 1), st.sampled_from(["", "user", "Ann", "Bob"])
        ),
        max_size=6,
    ),
    st.text("abc garden Ann", max_size=20),
)
def test_every_score_is_between_zero_and_one_and_they_fall(held: list[tuple[str, float | None, str]], query: str) -> None:
    candidates = [
        candidate(text, id=str(place), cosine=cosine, speaker=speaker) for place, (text, cosine, speaker) in enumerate(held)
    ]
    scores = [hit.score for hit in ask(query, *candidates, ranker=Ranker(threshold=0.0, lexical_threshold=0.0))]
    assert all(0 <= score <= 1 for score in scores)
    assert scores == sorted(scores, reverse=True)
