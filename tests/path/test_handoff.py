"""Work handed to a specialist: what it is shown, what it cannot see, what comes back, what forgetting does to either side."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from typing import Any, cast

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from bethink import Artifact, AsyncMemory, BudgetError, Conflict, InvalidInput, Memory, NotFound, StoreBusy, Thread
from bethink.storage.base import Store
from bethink.storage.reference import ReferenceStore
from bethink.storage.sqlite import SqliteStore

SECRET = "The blue whale sings at midnight."
TASK = "Write the parser"


@pytest.fixture(params=["reference", "sqlite"])
def memory(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Memory]:
    store: Store = ReferenceStore() if request.param == "reference" else SqliteStore(tmp_path / "memory.db")
    with closing(store), Memory(store=store, namespace=("acme", "mara"), embedder=None) as memory:
        yield memory
        assert memory.check() == []


@pytest.fixture
def thread(memory: Memory) -> Thread:
    thread = memory.thread("lead")
    thread.add("user", f"{SECRET} I'm allergic to peanuts. The goal is to ship version 1.0 by 30 June.")
    thread.add("assistant", "Understood: the whale, the peanuts, the date.")
    thread.set_state(decisions=[("Use SQLite", "it is one file")])
    return thread


def child_memory(memory: Memory, thread_id: str = "w1") -> Memory:
    """The memory of the namespace that the specialist's thread is in."""
    return memory.scope("handoff", thread_id)


# -- what it is shown -----------------------------------------------------------------------------------------------------


def test_the_context_holds_the_task_and_the_state_and_nothing_else(thread: Thread) -> None:
    handoff = thread.handoff(
        TASK, artifacts=["spec.md", Artifact("api.json", "the interface")], constraints=["no new dependency"], thread_id="w1"
    )
    task, memory = handoff.messages
    assert (task.role, task.content) == (
        "user",
        "Task: Write the parser\n\nConstraints:\n- no new dependency\n\nArtifacts:\n- spec.md\n- api.json: the interface",
    )
    assert [line.text.split(" (")[0] for line in handoff.context.section("project")] == [
        "- goal: ship version 1.0 by 30 June",
        "- decided: Use SQLite, because it is one file",
    ]
    assert [line.section for line in handoff.context.lines] == ["pinned", "project", "project"]
    assert memory.name == "memory"
    assert handoff.to_openai() == handoff.context.to_openai()


def test_nothing_of_the_transcript_is_in_it(thread: Thread) -> None:
    text = thread.handoff(TASK).context.text
    assert not any(word in text for word in ("whale", "midnight", "peanuts", "Understood"))


@given(st.lists(st.text(st.characters(codec="utf-8", exclude_characters="\x00"), min_size=30, max_size=80), max_size=4))
@settings(suppress_health_check=[HealthCheck.function_scoped_fixture], max_examples=25)
def test_of_no_transcript_a_word_is_in_it(said: list[str]) -> None:
    with Memory(embedder=None) as memory:
        thread = memory.thread("lead")
        for text in said:
            thread.add("assistant", f"{text} qwzx{len(text)}")
        assert "qwzx" not in thread.handoff(TASK).context.text


def test_every_later_context_shows_the_state_as_it_then_is(thread: Thread) -> None:
    specialist = thread.handoff(TASK).thread
    specialist.add("assistant", "Which database?")
    thread.set_state(decisions=["Use PostgreSQL instead of SQLite"])
    shown = [line.text.split(" (")[0] for line in specialist.context(budget=2_000).section("project")]
    assert shown == ["- goal: ship version 1.0 by 30 June", "- decided: Use PostgreSQL instead of SQLite"]


def test_the_task_stays_in_view_whatever_is_said_since(thread: Thread) -> None:
    specialist = thread.handoff(TASK).thread
    for number in range(80):
        specialist.add("assistant", f"Step {number} of the long way to a parser that works.")
    assert TASK in specialist.context(budget=400).messages[0].text


def test_its_contexts_are_replayed_as_they_were(memory: Memory, thread: Thread) -> None:
    handoff = thread.handoff(TASK, thread_id="w1")
    thread.set_state(goal="another goal", decisions=["Against SQLite"])
    assert child_memory(memory).replay(handoff.context.receipt_id).to_bytes() == handoff.context.to_bytes()


def test_the_budget_holds(thread: Thread) -> None:
    thread.set_state(facts=[f"fact number {number} of the whole affair" for number in range(40)])
    for budget in (60, 120, 300):
        assert thread.handoff(TASK, budget=budget).context.tokens <= budget


# -- what it cannot see ---------------------------------------------------------------------------------------------------


def test_neither_recalls_anything_of_the_other(memory: Memory, thread: Thread) -> None:
    specialist = thread.handoff(TASK, thread_id="w1").thread
    specialist.add("assistant", "The red herring swims at noon.")
    assert child_memory(memory).retrieve("blue whale midnight") == []
    assert memory.retrieve("red herring noon") == []
    assert "whale" not in specialist.context("blue whale midnight", budget=2_000).text
    assert "herring" not in thread.context("red herring noon", budget=2_000).text


def test_nor_does_it_know_the_users_profile_or_add_to_it(memory: Memory, thread: Thread) -> None:
    specialist = thread.handoff("I live in Ghent and I'm allergic to shellfish: find a dish", thread_id="w1").thread
    assert "peanuts" not in specialist.context(budget=2_000).text
    assert not any("shellfish" in insight.text for insight in memory.profile())
    assert len(child_memory(memory).profile()) == 0


def test_its_session_is_no_previous_session_of_anybody(memory: Memory, thread: Thread) -> None:
    specialist = thread.handoff(TASK).thread
    specialist.add("assistant", "The red herring swims at noon, and 14 others with it.")
    specialist.end()
    assert memory.thread("next").context(budget=2_000).section("previous session") == ()


def test_two_specialists_see_nothing_of_each_other(thread: Thread) -> None:
    one, two = thread.handoff(TASK).thread, thread.handoff("Write the docs").thread
    one.add("assistant", "The red herring swims at noon.")
    assert "herring" not in two.context("red herring noon", budget=2_000).text
    assert [message.text for message in two.messages()] == ["Task: Write the docs"]


def test_a_specialist_may_hand_on_in_turn_and_each_is_shown_the_state_above_it(thread: Thread) -> None:
    specialist = thread.handoff(TASK, thread_id="w1").thread
    specialist.set_state(goal="a parser in 200 lines")
    below = specialist.handoff("Write the lexer", thread_id="w2")
    assert [line.text.split(" (")[0] for line in below.context.section("project")] == ["- goal: a parser in 200 lines"]
    assert below.thread.namespace == ("acme", "mara", "handoff", "w1", "handoff", "w2")


# -- links ----------------------------------------------------------------------------------------------------------------


def test_the_threads_are_linked(memory: Memory, thread: Thread) -> None:
    handoff = thread.handoff(TASK, thread_id="w1")
    assert (handoff.parent_id, handoff.thread.id) == ("lead", "w1")
    assert handoff.thread.namespace == ("acme", "mara", "handoff", "w1")
    assert handoff.thread.info().handed_from == "lead"
    assert thread.info().handed_from is None
    assert [info.thread_id for info in thread.handoffs()] == ["w1"]
    assert memory.thread("other").handoffs() == []
    assert [info.thread_id for info in memory.threads()] == ["lead"]
    assert [info.thread_id for info in memory.threads(below=True)] == ["lead", "w1"]


def test_the_same_task_again_is_a_retry(thread: Thread) -> None:
    first = thread.handoff(TASK, thread_id="w1")
    first.thread.add("assistant", "Half of it is there.")
    again = thread.handoff(TASK, thread_id="w1")
    assert [message.text for message in again.thread.messages()] == ["Task: Write the parser", "Half of it is there."]
    with pytest.raises(Conflict):
        thread.handoff("Something else", thread_id="w1")


def test_a_fork_of_a_specialists_thread_is_nobodys(thread: Thread) -> None:
    fork = thread.handoff(TASK, thread_id="w1").thread.fork(thread_id="w2")
    assert fork.info().handed_from is None
    with pytest.raises(InvalidInput):
        fork.conclude("done")


# -- the result -----------------------------------------------------------------------------------------------------------


def test_only_the_result_comes_back(thread: Thread) -> None:
    specialist = thread.handoff(TASK, thread_id="w1").thread
    specialist.add("assistant", "Let me think about herrings first.")
    message = specialist.conclude("The parser is in place.", artifacts=["src/parser.py", Artifact("r.md", "notes", "abc")])
    assert thread.messages()[-1] == message
    assert (message.role, message.name, message.text) == ("assistant", "specialist", "The parser is in place.")
    state = thread.state()
    assert [entry.text for entry in state.completed] == [TASK]
    assert [(entry.ref, entry.text, entry.digest) for entry in state.artifacts] == [
        ("src/parser.py", "", ""),
        ("r.md", "notes", "abc"),
    ]
    assert {(entry.by, entry.sources) for entry in (*state.completed, *state.artifacts)} == {("assistant", (message.id,))}
    assert "herrings" not in thread.context("herrings", budget=2_000).text


def test_concluding_again_is_a_retry_and_with_another_text_a_conflict(thread: Thread) -> None:
    specialist = thread.handoff(TASK).thread
    first = specialist.conclude("Done.", artifacts=["a.md"])
    assert specialist.conclude("Done.", artifacts=["a.md"]) == first
    assert len(thread.messages()) == 3
    assert len(thread.state().completed) == 1
    with pytest.raises(Conflict):
        specialist.conclude("Not quite.")


def test_what_was_not_named_before_is_added(thread: Thread) -> None:
    specialist = thread.handoff(TASK).thread
    specialist.conclude("Done.", artifacts=["a.md"])
    specialist.conclude("Done.", artifacts=["b.md", "b.md"])
    assert {entry.ref for entry in thread.state().artifacts} == {"a.md", "b.md"}
    assert len(thread.state().completed) == 1


def test_what_was_made_is_what_the_specialist_says_and_not_what_its_words_suggest(thread: Thread) -> None:
    made = Artifact("src/parser.py", "the parser", "abc")
    thread.handoff(TASK).thread.conclude("I've created src/parser.py.", artifacts=[made])
    assert [(entry.ref, entry.text, entry.digest) for entry in thread.state().artifacts] == [
        ("src/parser.py", "the parser", "abc")
    ]


class _Interrupted:
    """A store whose next `put` fails, as if the process had died before it."""

    def __init__(self, store: Store) -> None:
        self.store = store
        self.fails = False

    def __getattr__(self, name: str) -> Any:
        if name == "put" and self.fails:
            self.fails = False
            raise StoreBusy("interrupted")
        return getattr(self.store, name)


def test_a_conclusion_that_was_interrupted_is_completed_by_the_next(tmp_path: Path) -> None:
    store = _Interrupted(SqliteStore(tmp_path / "memory.db"))
    with Memory(store=cast("Store", store), embedder=None) as memory:
        thread = memory.thread("lead")
        specialist = thread.handoff(TASK).thread
        store.fails = True
        with pytest.raises(StoreBusy):
            specialist.conclude("Done.", artifacts=["a.md"])
        specialist.conclude("Done.", artifacts=["a.md"])
        assert [message.text for message in thread.messages()] == ["Done."]
        assert [entry.ref or entry.text for entry in thread.state()] == [TASK, "a.md"]


def test_a_thread_that_nobody_handed_work_to_has_nothing_to_conclude(memory: Memory, thread: Thread) -> None:
    with pytest.raises(InvalidInput):
        thread.conclude("done")
    with pytest.raises(NotFound):
        child_memory(memory).thread("w1").conclude("done")


# -- forgetting -----------------------------------------------------------------------------------------------------------


def test_what_the_parent_forgets_the_specialist_is_not_shown_again(memory: Memory, thread: Thread) -> None:
    handoff = thread.handoff(TASK, thread_id="w1")
    memory.forget(message=thread.messages()[0].id)
    shown = [line.text.split(" (")[0] for line in handoff.thread.context(budget=2_000).section("project")]
    assert shown == ["- decided: Use SQLite, because it is one file"]
    with pytest.raises(NotFound):
        child_memory(memory).replay(handoff.context.receipt_id)
    assert memory.verify("ship version 1.0").clean


def test_a_parent_that_goes_leaves_the_specialists_thread_without_a_state(memory: Memory, thread: Thread) -> None:
    specialist = thread.handoff(TASK).thread
    thread.delete()
    assert specialist.context(budget=2_000).section("project") == ()
    assert [message.text for message in specialist.messages()] == ["Task: Write the parser"]
    with pytest.raises(NotFound):
        specialist.conclude("done")
    assert memory.threads() == []


def test_a_specialists_thread_that_goes_leaves_its_result(thread: Thread) -> None:
    specialist = thread.handoff(TASK).thread
    specialist.conclude("The parser is in place.", artifacts=["src/parser.py"])
    before = thread.state()
    specialist.delete()
    assert thread.messages()[-1].text == "The parser is in place."
    assert thread.state() == before
    assert thread.handoffs() == []


def test_forgetting_the_result_takes_the_entries_it_brought(memory: Memory, thread: Thread) -> None:
    specialist = thread.handoff(TASK).thread
    message = specialist.conclude("The parser is in place.", artifacts=["src/parser.py"])
    memory.forget(message=message.id)
    assert (thread.state().completed, thread.state().artifacts) == ((), ())


def test_forgetting_the_namespace_takes_both(memory: Memory, thread: Thread) -> None:
    thread.handoff(TASK)
    memory.forget(namespace=("acme", "mara"))
    assert memory.threads(below=True) == []
    assert memory.verify(TASK, SECRET).clean


# -- what is refused ------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "wrong",
    [
        {"task": ""},
        {"task": None},
        {"task": TASK, "constraints": "one"},
        {"task": TASK, "constraints": [""]},
        {"task": TASK, "artifacts": "a.md"},
        {"task": TASK, "artifacts": [3]},
        {"task": TASK, "thread_id": ""},
        {"task": TASK, "thread_id": "a\nb"},
    ],
)
def test_what_cannot_be_taken_is_refused_and_nothing_is_made(memory: Memory, thread: Thread, wrong: dict[str, Any]) -> None:
    with pytest.raises(InvalidInput):
        thread.handoff(**wrong)
    assert thread.handoffs() == []


@pytest.mark.parametrize("budget", [3, 0, -1])
def test_a_task_that_does_not_fit_is_an_error_that_names_it_and_makes_nothing(thread: Thread, budget: int) -> None:
    with pytest.raises(BudgetError) as caught:
        thread.handoff(TASK, budget=budget)
    assert [name for name, _ in caught.value.parts] == ["the task"]
    assert thread.handoffs() == []


def test_the_twin_for_an_event_loop_hands_on_and_concludes() -> None:
    async def work() -> None:
        async with AsyncMemory(embedder=None) as memory:
            lead = memory.thread("lead")
            await lead.set_state(goal="Ship")
            handoff = await lead.handoff(TASK, constraints=["soon"])
            await handoff.thread.add("assistant", "On it.")
            await handoff.thread.conclude("Done.", artifacts=["a.md"])
            state = await lead.state()
            assert [entry.text for entry in state.completed] == [TASK]
            assert [info.handed_from for info in await lead.handoffs()] == ["lead"]

    asyncio.run(work())
