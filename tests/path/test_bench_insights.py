"""`bethink bench insights`: what counts as right, as held, and as credited, on data of a few lines."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from tests.path.published import locomo, sample

from bethink.bench.insights import LAST, OURS, labels, main, measured, total
from bethink.bench.known import Against, Asked, Drawn, Observation, Shown, against, credited, held, says_the_same, sum_of
from bethink.bench.retrieval.questions import cases
from bethink.errors import InvalidInput

TURNS = ("D1:1", "D1:2", "D1:3", "D1:4")
DRAWN = [Drawn("D1:1", "ada", "bought a kayak", "event"), Drawn("D1:2", "ada", "likes tea", "preference")]


def observed(turn: str, text: str, subject: str = "ada") -> Observation:
    return Observation(frozenset({turn}), subject, text)


def test_precision_and_recall_go_by_turns_and_chance_is_that_of_any_turn() -> None:
    found = against(DRAWN, [observed("D1:1", "Ada has a kayak."), observed("D1:3", "Ada is tired.")], TURNS)
    assert (found.precision, found.recall, found.chance) == (0.5, 0.5, 0.5)


def test_in_words_an_observation_of_the_turn_has_to_say_the_same() -> None:
    other = [observed("D1:1", "Ada is tired.")]
    assert against(DRAWN, other, TURNS).right == 1
    assert against(DRAWN, other, TURNS, same_words=True).right == 0


def test_the_same_is_half_of_its_words_in_whatever_form() -> None:
    assert says_the_same("bought a kayak", "Ada buys kayaks.")
    assert not says_the_same("bought a kayak in Ghent last year", "A kayak.")
    assert not says_the_same("", "A kayak.")


def test_a_question_is_held_whole_in_part_or_in_words() -> None:
    asked = [
        Asked(frozenset({"D1:1"}), frozenset({"kayak"})),
        Asked(frozenset({"D1:1", "D1:2"}), frozenset()),
        Asked(frozenset({"D1:1"}), frozenset({"ghent"})),
        Asked(frozenset({"D1:4"}), frozenset()),
    ]
    found = held(asked, [Shown("bought a kayak", frozenset({"D1:1"}))], 12)
    assert (found.questions, found.all, found.any, found.worded, found.said) == (4, 2, 3, 2, 1)


def test_a_reply_is_credited_with_what_it_says_again() -> None:
    found = credited(DRAWN, [observed("D1:1", "Ada bought a kayak.")], 0.5)
    assert (found.insights, found.right, found.wanted, found.turns) == (1, 1, 1, 2)


def test_nothing_to_find_is_no_division_by_zero() -> None:
    nothing = against([], [], [])
    assert (nothing.precision, nothing.recall, nothing.chance) == (0.0, 0.0, 0.0)
    assert sum_of([nothing, nothing]) == Against(insights=0, right=0, wanted=0, found=0, turns=0, wanted_turns=0)


def test_each_speakers_words_are_evidence_of_himself(tmp_path: Path) -> None:
    path = locomo(tmp_path)
    case = cases("locomo", [path])[0]
    found = measured(case, labels(path)[case.name], tokens=400)
    assert found.insights == {"event": 3, "relation": 1}
    assert found.held[OURS].all == 1
    assert found.held[LAST].questions == 1
    assert total([found, found]).held[OURS].all == 2


def test_observations_name_one_turn_or_several(tmp_path: Path) -> None:
    given = sample("conv-26", "Ada", "Bo")
    given["observation"] = {"session_1_observation": {"Ada": [["Ada has a kayak.", "D1:1"], ["Both.", ["D1:1", "D1:2"]]]}}
    found = labels(locomo(tmp_path, given))["conv-26"]
    assert [sorted(each.turns) for each in found.observations] == [["D1:1"], ["D1:1", "D1:2"]]
    assert found.answers == {"Which kayak did Ada buy?": "a kayak"}


def test_the_tables_take_their_place_in_a_document(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    document = tmp_path / "b.md"
    document.write_text("before\n<!-- bench insights -->\nold\n<!-- end -->\nafter\n")
    main([str(locomo(tmp_path)), "--tokens", "300", "--json", "--update", str(document)])
    figures = json.loads(capsys.readouterr().out)
    assert set(figures["groups"]) == {"development", "others"}
    text = document.read_text()
    assert text.startswith("before\n<!-- bench insights -->\n| insights beside")
    assert text.endswith("<!-- end -->\nafter\n")
    assert "old" not in text


def test_a_document_without_a_place_is_refused_before_anything_is_measured(tmp_path: Path) -> None:
    document = tmp_path / "b.md"
    document.write_text("nothing\n")
    with pytest.raises(InvalidInput, match="no place"):
        main([str(locomo(tmp_path)), "--update", str(document)])
