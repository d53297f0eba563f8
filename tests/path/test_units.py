"""Hits as messages, turns, sessions or records."""

from __future__ import annotations

import pytest

from bethink import Memory, Message
from bethink.errors import InvalidInput
from bethink.retrieval.hits import Hit
from bethink.retrieval.ranker import Ranker


@pytest.fixture
def memory() -> Memory:
    memory = Memory(":memory:", embedder=None, ranker=Ranker(lexical_threshold=0.0))
    memory.thread("march").append(
        [
            Message(role="user", content="When does the refund come?"),
            Message(role="assistant", content="Refunds are paid within thirty days."),
            Message(role="assistant", content="Anything else?"),
            Message(role="user", content="The refund for case twelve as well?"),
            Message(role="assistant", content="Yes."),
        ]
    )
    memory.thread("april").append([Message(role="user", content="My refund came.")])
    memory.store("Refund policy: within 30 days.")
    return memory


def seqs(hit: Hit) -> list[int]:
    return [member.seq for member in hit.members]


def test_by_default_each_hit_is_a_unit_of_its_own(memory: Memory) -> None:
    assert {hit.members for hit in memory.recall("refund")} == {()}


def test_a_turn_is_a_user_message_with_all_that_follows_it_up_to_the_next(memory: Memory) -> None:
    found = memory.recall("refund", unit="turn")
    turns = {(hit.thread_id, *seqs(hit)) for hit in found if hit.kind == "message"}
    assert turns == {("march", 1, 2, 3), ("march", 4, 5), ("april", 1)}


def test_what_only_belongs_to_a_turn_has_no_score(memory: Memory) -> None:
    asked = Message(role="user", content="How much is the deposit?")
    memory.thread("long").append([asked, *(Message(role="assistant", content=f"Step {step}.") for step in range(5))])
    (turn,) = memory.recall("deposit", 1, unit="turn")
    # The two next to what answers are hits of their own, for its sake.
    assert [member.score is None for member in turn.members] == [False, False, False, True, True, True]


def test_messages_before_any_user_message_are_a_turn() -> None:
    memory = Memory(":memory:", embedder=None, ranker=Ranker(lexical_threshold=0.0))
    memory.thread("t").append(
        [Message(role="assistant", content="Welcome to refunds."), Message(role="user", content="Hello.")]
    )
    assert seqs(memory.recall("refunds", unit="turn")[0]) == [1]


def test_a_turn_shows_no_message_that_the_filter_is_not_true_of(memory: Memory) -> None:
    found = memory.recall("refund", unit="turn", where={"role": "user"})
    assert {member.speaker for hit in found for member in hit.members} == {"user"}


def test_a_session_is_a_thread_by_those_of_its_messages_that_answer(memory: Memory) -> None:
    found = memory.recall("refund", unit="session", kinds=["message"])
    assert {hit.thread_id for hit in found} == {"march", "april"}
    assert len(found) == 2


def test_a_session_summary_belongs_to_its_session(memory: Memory) -> None:
    memory.thread("march").end()
    found = memory.recall("refund", unit="session")
    (march,) = [hit for hit in found if hit.thread_id == "march"]
    assert "summary" in {member.kind for member in march.members}


def test_a_note_is_a_unit_of_its_own_among_turns_and_sessions(memory: Memory) -> None:
    for found in (memory.recall("refund policy", unit="turn"), memory.recall("refund policy", unit="session")):
        (note,) = [hit for hit in found if hit.kind == "note"]
        assert [member.id for member in note.members] == [note.id]


def test_a_unit_has_the_score_of_its_best_member(memory: Memory) -> None:
    best = {hit.id: hit.score for hit in memory.recall("refund", 20)}
    for hit in (*memory.recall("refund", unit="turn"), *memory.recall("refund", unit="session")):
        assert hit.score == best[hit.id] == max(member.score or 0 for member in hit.members)


def test_k_counts_units(memory: Memory) -> None:
    assert len(memory.recall("refund", 1, unit="turn")) == 1
    assert len(memory.recall("refund", 2, unit="session")) == 2


def test_records_are_notes_insights_and_summaries_alone(memory: Memory) -> None:
    assert {hit.kind for hit in memory.recall("refund", unit="record")} == {"note"}


def test_records_of_messages_are_refused(memory: Memory) -> None:
    with pytest.raises(InvalidInput, match=r"^kinds: "):
        memory.recall("refund", unit="record", kinds=["message", "note"])


def test_a_unit_that_is_none_is_refused(memory: Memory) -> None:
    with pytest.raises(InvalidInput, match=r"^unit: "):
        memory.recall("refund", unit="page")  # type: ignore[arg-type]


def test_a_turn_within_a_budget_begins_with_what_answers(memory: Memory) -> None:
    (whole,) = memory.recall("refund case twelve", 1, unit="turn", budget=200)
    (part,) = memory.recall("refund case twelve", 1, unit="turn", budget=whole.tokens - 1)
    assert [member.id for member in part.members] == [part.id]
    assert part.tokens < whole.tokens
