"""How much each word of a query counts, and how much of a threshold it has to pass."""

from __future__ import annotations

from datetime import datetime, timedelta, timezone

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from bethink.messages import Message
from bethink.retrieval.dates import time_cues
from bethink.retrieval.hits import RecallResult
from bethink.retrieval.legs import leniency, term_weights
from bethink.retrieval.rank import rank
from bethink.retrieval.ranker import Ranker
from bethink.retrieval.recall import answer, look
from bethink.retrieval.terms import asking_terms, query_terms, stop_words, unspaced_runs
from bethink.storage.base import Append, Found, Scope, Search
from bethink.storage.reference import ReferenceStore

NOW = datetime(2026, 3, 1, 12, tzinfo=timezone.utc)
OPEN = Ranker(threshold=0.0, lexical_threshold=0.0)


def store_of(*messages: Message) -> ReferenceStore:
    store = ReferenceStore()
    for number, message in enumerate(messages):
        store.append(Append(namespace=("u",), thread_id=f"t{number}", at=NOW, messages=(message,)))
    return store


def said(text: str, at: datetime = NOW - timedelta(days=1), role: str = "user") -> Message:
    return Message(role=role, content=text, created_at=at)  # type: ignore[arg-type]


def recalled(store: ReferenceStore, query: str, ranker: Ranker = OPEN) -> RecallResult:
    looked = look(query, scope=Scope(("u",)), search=store.search, speakers=store.speakers, embedder=None, k=5, now=NOW)
    return answer(looked, ranker=ranker, k=5, now=NOW)


# -- words of asking and of time ------------------------------------------------------------------------------------------


def test_words_of_asking_are_no_stop_words_and_no_answer_either() -> None:
    assert asking_terms().isdisjoint(stop_words)
    store = store_of(said("She is active, and that activity"), said("The pottery was on Tuesday"))
    assert [hit.text[:11] for hit in recalled(store, "What kind of activity was the pottery?")] == [
        "The pottery",
        "She is acti",
    ]


def test_a_question_of_nothing_but_words_of_asking_finds_them() -> None:
    (hit,) = recalled(store_of(said("That kind of activity")), "What kind of activity?", Ranker())
    assert hit.scores["lexical"] > 0


def test_words_of_a_time_count_less_than_what_is_asked_about() -> None:
    store = store_of(said("In May it rained"), said("The pottery broke"))
    best = recalled(store, "Which pottery broke in May 2021?")[0]
    assert best.text == "The pottery broke"
    assert (
        best.scores["lexical"]
        > recalled(store, "Which pottery broke in May 2021?", msgspec.structs.replace(OPEN, dated=1.0))[0].scores["lexical"]
    )


@pytest.mark.parametrize("query", ["What happened on 9 May 2025?", "anything in May 2025?", "9 May 2025"])
def test_who_asks_for_a_time_alone_is_told_what_was_said_then(query: str) -> None:
    then = said("We had soup", datetime(2025, 5, 9, 18, tzinfo=timezone.utc))
    found = store_of(then).search(Search(scope=Scope(("u",)), terms=("soup",)))
    cues = time_cues(query, now=NOW)
    (hit,) = rank(msgspec.structs.replace(found, frequency={}), query, query_terms(query), cues=cues, k=1, now=NOW)
    assert hit.text == "We had soup"


# -- replies --------------------------------------------------------------------------------------------------------------

OWN, REPLY = said("The visa was refused in the end"), said("A visa can be refused in the end", role="assistant")


def test_what_the_user_said_is_above_what_he_was_answered() -> None:
    assert [hit.speaker for hit in recalled(store_of(REPLY, OWN), "Why was the visa refused?")] == ["user", "assistant"]


@pytest.mark.parametrize("query", ["What did you say of the visa that is refused?", "your advice on a refused visa"])
def test_who_asks_for_the_reply_has_it_weighed_alike(query: str) -> None:
    reply = next(hit for hit in recalled(store_of(REPLY, OWN), query) if hit.speaker == "assistant")
    plain = next(hit for hit in recalled(store_of(REPLY, OWN), query, Ranker(reply=0.0)) if hit.speaker == "assistant")
    assert reply.score == plain.score


# -- the threshold --------------------------------------------------------------------------------------------------------

WEIGHTS = st.dictionaries(st.text(min_size=1, max_size=3), st.floats(0.01, 1.0), min_size=1, max_size=12)


@given(WEIGHTS)
def test_leniency_is_a_part_and_one_more_word_never_makes_it_stricter(weights: dict[str, float]) -> None:
    def of(given: dict[str, float]) -> float:
        total = sum(given.values())
        return leniency({term: weight / total for term, weight in given.items()})

    mean = sum(weights.values()) / len(weights)
    assert 0 < of(weights) <= 1
    assert of({**weights, "another": mean}) <= of(weights) + 1e-9


def test_up_to_two_words_have_to_pass_the_whole_threshold() -> None:
    assert leniency({}) == leniency({"a": 1.0}) == leniency({"a": 0.5, "b": 0.5}) == 1.0
    assert leniency(dict.fromkeys("abcd", 0.25)) == pytest.approx(0.5**0.25)


def test_the_result_says_what_was_needed() -> None:
    store = store_of(said("The pottery broke"))
    assert recalled(store, "pottery", Ranker()).needed == Ranker().lexical_threshold
    assert recalled(store, "a kayak for rent beside the lake of Garda", Ranker()).needed < Ranker().lexical_threshold


# -- scripts without spaces -----------------------------------------------------------------------------------------------

CHINESE = ("我们上个月搬到北京去了", "他在医院当护士", "周末我想学做陶艺", "妈妈的生日是三月五日", "这家餐厅的面条很好吃")
JAPANESE = ("先月、京都へ引っ越しました", "姉は病院で看護師をしています", "週末に陶芸を習いたい", "母の誕生日は三月五日です")
THAI = ("เดือนที่แล้วเราย้ายไปเชียงใหม่", "พี่สาวเป็นพยาบาลที่โรงพยาบาล", "สุดสัปดาห์นี้อยากเรียนปั้นดิน", "วันเกิดแม่คือวันที่ห้ามีนาคม")
KOREAN = (
    "지난달에 부산으로 이사했어요",
    "언니는 병원에서 간호사로 일해요",
    "주말에 도예를 배우고 싶어요",
    "어머니 생신은 삼월 오일이에요",
)


@pytest.mark.parametrize(
    ("texts", "query", "answer"),
    [
        (CHINESE, "你们什么时候搬到北京的？", 0),
        (CHINESE, "谁是护士？", 1),
        (CHINESE, "想学什么？陶艺吗？", 2),
        (JAPANESE, "いつ京都に引っ越したの？", 0),
        (JAPANESE, "誰が看護師ですか", 1),
        (JAPANESE, "陶芸", 2),
        (THAI, "ย้ายไปเชียงใหม่เมื่อไหร่", 0),
        (THAI, "ใครเป็นพยาบาล", 1),
        (KOREAN, "부산에는 언제 이사했나요?", 0),
        (KOREAN, "간호사는 누구예요?", 1),
        (KOREAN, "도예를 배우려는 사람", 2),
    ],
)
def test_a_question_in_a_script_without_spaces_is_answered(texts: tuple[str, ...], query: str, answer: int) -> None:
    assert recalled(store_of(*map(said, texts)), query, Ranker())[0].text == texts[answer]


@pytest.mark.parametrize(
    ("texts", "query"),
    [
        (CHINESE, "大象喜欢吃什么？"),
        (JAPANESE, "象は何を食べますか"),
        (KOREAN, "코끼리는 무엇을 먹나요?"),
        (CHINESE, "火车票多少钱"),
    ],
)
def test_an_unrelated_one_is_not(texts: tuple[str, ...], query: str) -> None:
    assert len(recalled(store_of(*map(said, texts)), query, Ranker())) == 0


@given(
    st.text("京都大学病院부산에서กขค ab", min_size=1, max_size=12),
    st.sets(st.sampled_from(["京", "京都", "大学", "부산", "에서", "กข", "a"])),
)
def test_weights_of_any_query_are_shares(query: str, occurring: set[str]) -> None:
    given = Found(candidates=(), units=10, mean_length=5.0, frequency=dict.fromkeys(occurring, 3), pending=0)
    terms = query_terms(query)
    weights = term_weights(given, terms, 200, runs=unspaced_runs(query))
    assert weights.keys() == set(terms)
    assert all(weight >= 0 for weight in weights.values())
    assert not terms or sum(weights.values()) == pytest.approx(1.0)
