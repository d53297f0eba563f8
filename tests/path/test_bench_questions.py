"""Published data sets as questions with evidence: made-up files in each shape, and the real ones where they are there."""

from __future__ import annotations

from collections import Counter
from datetime import datetime, timezone
from pathlib import Path
from typing import Any

import pytest
from tests.path.published import beam, haystack, locomo, sample, written

from bethink.bench.retrieval.questions import Case, Source, cases, group_of, unrelated
from bethink.errors import ImportFailed


def only(source: Source, path: Path) -> Case:
    (case,) = cases(source, [path])
    return case


def asked(**fields: object) -> dict[str, Any]:
    return {"question": "What?", "category": 4, "evidence": ["D1:1"], **fields}


# -- LoCoMo ---------------------------------------------------------------------------------------------------------------


def test_a_conversation_of_locomo_has_its_sessions_and_its_questions(tmp_path: Path) -> None:
    case = cases("locomo", [locomo(tmp_path)])[0]
    assert (case.name, case.speakers) == ("conv-26", ("Ada", "Bo"))
    assert [(session.name, session.turns) for session in case.read()] == [("D1", ("D1:1", "D1:2")), ("D2", ("D2:1", "D2:2"))]
    (question,) = case.questions
    assert (question.category, question.turns, question.sessions) == ("multi-hop", frozenset(["D1:1"]), frozenset(["D1"]))


def test_misspelt_evidence_is_read_as_it_was_meant(tmp_path: Path) -> None:
    case = only("locomo", locomo(tmp_path, sample("conv-1", "Ada", "Bo", asked(evidence=["D:1:02; D2:1", "D1:2"]))))
    assert case.questions[0].turns == {"D1:2", "D2:1"}


def test_evidence_that_is_nowhere_is_left_out(tmp_path: Path) -> None:
    given = sample("conv-1", "Ada", "Bo", asked(evidence=["D1:1", "D9:9"]), asked(evidence=["D9:9"]), asked(evidence=[]))
    case = only("locomo", locomo(tmp_path, given))
    assert [question.turns for question in case.questions] == [{"D1:1"}]
    assert case.unlabelled == 2


def test_questions_about_what_the_other_said_keep_their_evidence(tmp_path: Path) -> None:
    case = only("locomo", locomo(tmp_path, sample("conv-1", "Ada", "Bo", asked(category=5))))
    assert [question.category for question in case.questions] == ["adversarial"]


def test_a_conversation_is_in_the_half_that_its_id_says() -> None:
    assert [group_of("locomo", name) for name in ("conv-26", "conv-30", "conv-41", "conv-42")] == ["development"] * 4
    assert [group_of("locomo", name) for name in ("conv-43", "conv-44", "conv-47")] == ["others"] * 3
    assert [group_of("beam", name) for name in ("1", "2", "3", "4", "10")] == ["development"] * 3 + ["others"] * 2


def test_unrelated_questions_ask_about_the_people_who_speak_here(tmp_path: Path) -> None:
    ours, theirs = cases("locomo", [locomo(tmp_path, sample("conv-1", "Ada", "Bo"), sample("conv-2", "Bo", "Ada"))])
    # Both names at once: a name of theirs is one of ours.
    assert [question.text for question in unrelated(ours, [ours, theirs])] == ["Which kayak did Ada buy?"]
    assert [question.turns for question in unrelated(ours, [ours, theirs])] == [frozenset()]


# -- LongMemEval ----------------------------------------------------------------------------------------------------------


def test_a_question_of_longmemeval_has_the_sessions_of_its_answer_and_the_turns_that_are_marked(tmp_path: Path) -> None:
    case = only("longmemeval", written(tmp_path / "s.json", [haystack()]))
    (question,) = case.questions
    assert (question.category, question.sessions, question.turns) == ("multi-session", frozenset("1"), frozenset(["1:0"]))
    assert question.at == datetime(2023, 7, 20, 8, tzinfo=timezone.utc)


def test_a_haystack_is_read_in_the_order_of_its_dates_under_the_names_of_its_places(tmp_path: Path) -> None:
    case = only("longmemeval", written(tmp_path / "s.json", [haystack()]))
    sessions = case.read()
    assert [(session.name, session.turns) for session in sessions] == [("1", ("1:0", "1:1")), ("0", ("0:0", "0:1"))]
    assert sessions[0].messages[0].text == "I practise the cello every day."


def test_labels_are_not_stored_with_what_is_searched(tmp_path: Path) -> None:
    case = only("longmemeval", written(tmp_path / "s.json", [haystack()]))
    for session in case.read():
        for message in session.messages:
            assert set(message.metadata) == {"turn"}


def test_without_marks_only_the_sessions_are_known(tmp_path: Path) -> None:
    plain = haystack(haystack_sessions=[[{"role": "user", "content": "Hi."}], [{"role": "user", "content": "Cello."}]])
    (question,) = only("longmemeval", written(tmp_path / "s.json", [plain])).questions
    assert (question.sessions, question.turns) == (frozenset("1"), frozenset[str]())


def test_a_question_without_an_answer_is_not_asked(tmp_path: Path) -> None:
    case = only("longmemeval", written(tmp_path / "s.json", [haystack(question_id="q1_abs")]))
    assert (case.questions, case.unlabelled) == ((), 1)


def test_several_questions_of_one_haystack_are_read(tmp_path: Path) -> None:
    several = haystack(questions=["Which instrument?", "What is boiled?"], answer_session_ids=[["answer_1"], ["filler_1"]])
    case = only("longmemeval", written(tmp_path / "s.json", [several]))
    assert [(question.text, question.sessions) for question in case.questions] == [
        ("Which instrument?", frozenset("1")),
        ("What is boiled?", frozenset("0")),
    ]


# -- BEAM -----------------------------------------------------------------------------------------------------------------


def test_a_chat_of_beam_has_its_batches_as_sessions(tmp_path: Path) -> None:
    case = only("beam", beam(tmp_path / "7"))
    assert case.name == "7"
    assert [(session.name, session.turns) for session in case.read()] == [("1", ("1:0", "1:1")), ("2", ("2:2", "2:3"))]


def test_sources_are_read_in_lists_and_by_role_and_abstention_has_none(tmp_path: Path) -> None:
    case = only("beam", beam(tmp_path / "7"))
    assert {question.category: question.turns for question in case.questions} == {
        "information_extraction": {"1:0"},
        "knowledge_update": {"2:2", "2:3"},
    }
    assert case.unlabelled == 1


def test_a_chat_is_named_by_its_file_its_folder_or_the_folder_of_all(tmp_path: Path) -> None:
    for name in ("9", "10"):
        beam(tmp_path / name)
    assert [case.name for case in cases("beam", [tmp_path])] == ["9", "10"]
    assert [case.name for case in cases("beam", [tmp_path / "10", tmp_path / "9" / "chat.json"])] == ["10", "9"]


# -- bad input ------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("source", "content"),
    [
        ("locomo", [{"sample_id": "conv-1", "conversation": {}, "qa": []}]),
        ("longmemeval", [haystack(answer_session_ids=None)]),
        ("longmemeval", [haystack(question_date="yesterday")]),
        ("longmemeval", [{"question_id": "q1"}]),
        ("longmemeval", []),
    ],
)
def test_a_file_of_another_shape_is_refused_by_its_place(tmp_path: Path, source: Source, content: object) -> None:
    with pytest.raises(ImportFailed):
        cases(source, [written(tmp_path / "data.json", content)])


def test_questions_of_beam_that_are_not_there_are_named(tmp_path: Path) -> None:
    (beam(tmp_path / "7") / "probing_questions.json").unlink()
    with pytest.raises(ImportFailed, match=r"probing_questions\.json"):
        cases("beam", [tmp_path / "7"])


def test_a_folder_without_a_chat_is_refused(tmp_path: Path) -> None:
    with pytest.raises(ImportFailed):
        cases("beam", [tmp_path])


# -- the real files -------------------------------------------------------------------------------------------------------


@pytest.mark.shared
def test_locomo_has_the_questions_that_are_known_of_it(shared: Path) -> None:
    found = cases("locomo", [shared / "data/locomo/locomo_dev.json"])
    assert Counter(question.category for case in found for question in case.questions) == {
        "single-hop": 480,
        "adversarial": 272,
        "temporal": 180,
        "multi-hop": 172,
        "open-domain": 51,
    }


@pytest.mark.shared
def test_all_but_abstention_of_beam_has_evidence(shared: Path) -> None:
    found = cases("beam", [shared / "data/beam/100K"])
    assert [(len(case.questions), case.unlabelled) for case in found] == [(18, 2)] * 7


@pytest.mark.shared
def test_the_haystacks_of_longmemeval_are_read(shared: Path) -> None:
    found = cases("longmemeval", [shared / "data/longmemeval/longmemeval_s.json"])
    assert [(len(case.questions), len(case.read())) for case in found] == [(9, 39), (9, 41), (8, 40)]
