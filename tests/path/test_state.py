"""The state of a thread as users hold it: drawn and set, forgotten, forked, shared by a project, shown in a context."""

from __future__ import annotations

import asyncio
import json
import subprocess
import sys
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner

from bethink import Artifact, AsyncMemory, Hierarchy, InvalidInput, Memory, NotFound, State, Thread, ToolCall, policy_from
from bethink.cli.app import app
from bethink.records import StateEntry
from bethink.storage.base import Store
from bethink.storage.reference import ReferenceStore
from bethink.storage.sqlite import SqliteStore

GOAL = "The goal is to ship version 1.0 by 30 June."
DECIDED = "We decided to use SQLite because it is one file."


@pytest.fixture(params=["reference", "sqlite"])
def memory(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Memory]:
    store: Store = ReferenceStore() if request.param == "reference" else SqliteStore(tmp_path / "memory.db")
    with closing(store), Memory(store=store, namespace=("acme", "mara"), embedder=None) as memory:
        yield memory
        assert memory.check() == []


@pytest.fixture
def thread(memory: Memory) -> Thread:
    return memory.thread("build")


def words(state: State) -> list[str]:
    return [entry.ref or entry.text for entry in state]


# -- drawn ----------------------------------------------------------------------------------------------------------------


def test_what_was_said_is_drawn_when_the_state_is_read(thread: Thread) -> None:
    message = thread.add("user", f"{GOAL} {DECIDED}")
    thread.add("assistant", "I've created `src/store.py`.")
    state = thread.state()
    assert (state.goal and state.goal.text) == "ship version 1.0 by 30 June"
    (decision,) = state.decisions
    assert (decision.text, decision.because, decision.by) == ("use SQLite", "it is one file", "user")
    assert decision.sources == (message.id,)
    assert [(entry.ref, entry.by) for entry in state.artifacts] == [("src/store.py", "assistant")]


def test_reading_it_again_adds_nothing(memory: Memory, thread: Thread) -> None:
    thread.add("user", f"{GOAL} {DECIDED}")
    before = thread.state()
    assert thread.state() == before
    assert len(memory.records("state")) == 2


def test_a_thread_that_is_not_there_has_an_empty_state(memory: Memory) -> None:
    assert memory.thread("nowhere").state() == State()
    assert memory.threads() == []


def test_each_thread_has_its_own(memory: Memory, thread: Thread) -> None:
    thread.add("user", GOAL)
    memory.thread("other").add("user", DECIDED)
    assert words(thread.state()) == ["ship version 1.0 by 30 June"]
    assert words(memory.thread("other").state()) == ["use SQLite"]


def test_a_file_counts_once_its_call_is_answered(thread: Thread) -> None:
    call = ToolCall("c1", "write_file", json.dumps({"path": "src/x.py", "content": "x"}))
    thread.add("assistant", tool_calls=[call])
    assert words(thread.state()) == []
    thread.add("tool", "ok", tool_call_id="c1")
    assert words(thread.state()) == ["src/x.py"]


def test_what_nobody_in_the_conversation_wrote_states_nothing(thread: Thread) -> None:
    thread.add("user", DECIDED, external=True)
    assert not thread.state()


def test_it_is_no_part_of_the_profile_nor_of_other_records(memory: Memory, thread: Thread) -> None:
    thread.set_state(goal="ship", facts=["the team is small"])
    assert len(memory.profile()) == 0
    assert memory.records() == []
    assert [record.kind for record in memory.records("state")] == ["state", "state"]
    assert memory.retrieve("small team") == []


# -- by hand --------------------------------------------------------------------------------------------------------------


def test_everything_can_be_set_by_hand_at_once(thread: Thread) -> None:
    state = thread.set_state(
        goal="Ship",
        phase="testing",
        decisions=["No Windows", ("Use ruff", "it is fast")],
        facts=["Team of 3"],
        completed=["Set up CI"],
        artifacts=["src/x.py", Artifact("out/r.pdf", "the report", "abc")],
        questions=["Which region?"],
    )
    first, second = ["Ship", "testing", "No Windows", "Use ruff"], ["Team of 3", "Set up CI", "src/x.py", "out/r.pdf"]
    assert words(state) == [*first, *second, "Which region?"]
    assert state.decisions[1].because == "it is fast"
    assert (state.artifacts[1].text, state.artifacts[1].digest) == ("the report", "abc")
    assert {entry.by for entry in state} == {"hand"}
    assert thread.state() == state


def test_a_later_goal_takes_the_place_of_the_former_which_stays_in_history(thread: Thread) -> None:
    thread.set_state(goal="one")
    state = thread.set_state(goal="two")
    assert (state.goal and state.goal.text) == "two"
    assert [(entry.text, entry.status) for entry in state.history] == [("one", "superseded")]


def test_an_answer_names_its_question_by_its_id_or_mark(thread: Thread) -> None:
    state = thread.set_state(questions=["Which region?", "Who pays?"])
    first, second = state.questions
    state = thread.set_state(answers={first.id: "eu-west-1", second.id[-8:]: "we do"})
    assert state.questions == ()
    assert [(entry.text, entry.status, entry.answer) for entry in state.history] == [
        ("Which region?", "answered", "eu-west-1"),
        ("Who pays?", "answered", "we do"),
    ]


def test_what_is_wrong_can_be_withdrawn(thread: Thread) -> None:
    (fact,) = thread.set_state(facts=["wrong"]).facts
    state = thread.set_state(withdraw=[fact.id])
    assert (state.facts, [entry.status for entry in state.history]) == ((), ["withdrawn"])


def test_what_does_not_exist_can_be_neither_answered_nor_withdrawn_and_nothing_is_set(thread: Thread) -> None:
    (fact,) = thread.set_state(facts=["so"]).facts
    for wrong in ({"answers": {fact.id: "it is no question"}}, {"withdraw": ["unknown"]}):
        with pytest.raises(NotFound):
            thread.set_state(goal="ship", **wrong)
    assert thread.state().goal is None


def test_a_thread_is_not_made_for_what_cannot_be_set(memory: Memory) -> None:
    with pytest.raises(NotFound):
        memory.thread("nobody").set_state(goal="ship", withdraw=["unknown"])
    assert memory.threads() == []


@pytest.mark.parametrize(
    "wrong",
    [
        {},
        {"goal": ""},
        {"goal": "   "},
        {"goal": 3},
        {"goal": "x\x00"},
        {"goal": "x" * 1_001},
        {"phase": ["testing"]},
        {"decisions": "use SQLite"},
        {"decisions": [("a", "b", "c")]},
        {"decisions": [("a", "")]},
        {"facts": 3},
        {"facts": [None]},
        {"artifacts": [Artifact("")]},
        {"artifacts": [{"ref": "a.md"}]},
        {"questions": {"a": "b"}},
        {"answers": ["a"]},
        {"withdraw": "e1"},
        {"project": ""},
    ],
)
def test_what_cannot_be_taken_is_refused_by_name_and_nothing_is_set(thread: Thread, wrong: dict[str, Any]) -> None:
    with pytest.raises(InvalidInput) as caught:
        thread.set_state(**wrong)
    assert caught.value.field.startswith(next(iter(wrong), "set_state"))
    assert thread.state() == State()


def test_no_word_of_the_caller_is_in_an_error(thread: Thread) -> None:
    with pytest.raises(InvalidInput) as caught:
        thread.set_state(facts=["secret " * 200])
    assert "secret" not in str(caught.value)


# -- forgetting and forking -----------------------------------------------------------------------------------------------


def test_forgetting_a_message_takes_what_was_drawn_from_it_and_nothing_else(memory: Memory, thread: Thread) -> None:
    first = thread.add("user", "We decided to use SQLite because it is one file.")
    second = thread.add("user", "We decided to use PostgreSQL instead of SQLite.")
    thread.set_state(goal="Ship")
    assert words(thread.state()) == ["Ship", "use PostgreSQL instead of SQLite"]
    memory.forget(message=second.id)
    assert words(thread.state()) == ["Ship", "use SQLite"]
    memory.forget(message=first.id)
    assert words(thread.state()) == ["Ship"]
    assert memory.verify("it is one file").clean


def test_forgetting_what_asks_takes_the_answer_along(memory: Memory, thread: Thread) -> None:
    message = thread.add("user", "Open question: who pays for the hosting?")
    (question,) = thread.state().questions
    thread.set_state(answers={question.id: "the violet department"})
    memory.forget(message=message.id)
    assert memory.records("state", current=False) == []
    assert memory.verify("the violet department").clean


def test_forgetting_a_thread_takes_its_state(memory: Memory, thread: Thread) -> None:
    thread.add("user", GOAL)
    thread.set_state(facts=["the violet department pays"])
    thread.delete()
    assert memory.records("state", current=False) == []
    assert memory.verify("violet department").clean


def test_an_entry_can_be_forgotten_by_its_id_and_is_not_drawn_again(memory: Memory, thread: Thread) -> None:
    thread.add("user", f"{GOAL} {DECIDED}")
    (decision,) = thread.state().decisions
    memory.forget(record=decision.id)
    assert words(thread.state()) == ["ship version 1.0 by 30 June"]


def test_a_fork_starts_with_the_state_of_its_place_and_goes_its_own_way(memory: Memory, thread: Thread) -> None:
    thread.add("user", GOAL)
    thread.set_state(decisions=["Use SQLite"])
    thread.add("user", "We decided to rent a van.")
    fork = thread.fork(1, thread_id="fork")
    assert words(fork.state()) == ["ship version 1.0 by 30 June", "Use SQLite"]
    fork.set_state(goal="something else")
    assert words(thread.state()) == ["ship version 1.0 by 30 June", "Use SQLite", "rent a van"]
    thread.delete()
    assert words(fork.state()) == ["something else", "Use SQLite"]


def test_a_fork_draws_what_its_parent_had_not(thread: Thread) -> None:
    thread.add("user", GOAL)
    assert words(thread.fork(thread_id="fork").state()) == ["ship version 1.0 by 30 June"]


def test_an_export_brings_it_back(memory: Memory, thread: Thread, tmp_path: Path) -> None:
    thread.add("user", f"{GOAL} {DECIDED}")
    state = thread.set_state(facts=["Team of 3"], questions=["Which region?"])
    file = tmp_path / "all.jsonl"
    file.write_bytes(b"".join(memory.export()))
    with Memory(namespace=("acme", "mara"), embedder=None) as other:
        other.import_file(file)
        assert other.thread("build").state() == state


def test_an_export_keeps_the_order_though_seqs_begin_anew(memory: Memory, thread: Thread, tmp_path: Path) -> None:
    first = [thread.add("user", f"Remark {number}.") for number in range(5)]
    thread.set_state(goal="set early")
    thread.add("user", GOAL)
    for message in first[:4]:
        memory.forget(message=message.id)
    file = tmp_path / "all.jsonl"
    file.write_bytes(b"".join(memory.export()))
    with Memory(namespace=("acme", "mara"), embedder=None) as other:
        other.import_file(file)
        again = other.thread("build")
        assert words(again.state()) == ["ship version 1.0 by 30 June"]
        assert words(again.set_state(goal="set late")) == ["set late"]


# -- projects -------------------------------------------------------------------------------------------------------------


def test_a_project_is_taken_up_again_in_another_thread(memory: Memory, thread: Thread) -> None:
    thread.set_state(project="apollo", goal="Ship", decisions=["Use SQLite"])
    thread.add("user", "We decided to rent a van.")
    tomorrow = memory.thread("tomorrow")
    state = tomorrow.set_state(project="apollo", completed=["Set up CI"])
    assert (state.project, words(state)) == ("apollo", ["Ship", "Use SQLite", "rent a van", "Set up CI"])
    assert thread.state() == state


def test_threads_that_are_part_of_none_or_of_another_have_their_own(memory: Memory, thread: Thread) -> None:
    thread.set_state(project="apollo", goal="Ship")
    memory.thread("other").set_state(project="gemini", goal="Float")
    memory.thread("alone").set_state(goal="Rest")
    assert [words(memory.thread(name).state()) for name in ("build", "other", "alone")] == [["Ship"], ["Float"], ["Rest"]]


def test_a_thread_may_change_its_project(memory: Memory, thread: Thread) -> None:
    thread.set_state(project="apollo", goal="Ship")
    memory.thread("other").set_state(project="apollo")
    thread.set_state(project="gemini")
    assert words(memory.thread("other").state()) == []
    assert thread.state().project == "gemini"


def test_a_question_of_one_thread_may_be_answered_in_another(memory: Memory, thread: Thread) -> None:
    message = thread.add("user", "Open question: who pays for the hosting?")
    thread.set_state(project="apollo")
    other = memory.thread("other")
    (question,) = other.set_state(project="apollo").questions
    assert other.set_state(answers={question.id: "the violet department"}).questions == ()
    memory.forget(message=message.id)
    assert memory.verify("the violet department").clean


def test_the_same_project_of_another_namespace_is_another(memory: Memory, thread: Thread) -> None:
    thread.set_state(project="apollo", goal="Ship")
    assert memory.scope("team").thread("x").set_state(project="apollo").goal is None


# -- in a context ---------------------------------------------------------------------------------------------------------


def project_lines(thread: Thread, policy: Hierarchy, budget: int = 3_000) -> list[str]:
    return [line.text for line in thread.context(budget=budget, policy=policy).section("project")]


def test_a_hierarchy_shows_the_state_goal_first(thread: Thread) -> None:
    thread.set_state(decisions=[("Use ruff", "it is fast")], goal="Ship", facts=["Team of 3"])
    thread.add("user", "Hello there.")
    lines = project_lines(thread, Hierarchy())
    assert [line.split(" (")[0] for line in lines] == [
        "- goal: Ship",
        "- decided: Use ruff, because it is fast",
        "- fact: Team of 3",
    ]
    assert thread.context(budget=3_000, policy=Hierarchy()).lines[0].section == "project"


def test_without_project_and_by_other_policies_it_is_not_shown(thread: Thread) -> None:
    thread.set_state(goal="Ship")
    thread.add("user", "Hello there.")
    assert project_lines(thread, Hierarchy(project=False)) == []
    assert thread.context(budget=3_000).section("project") == ()


def test_what_a_message_in_view_says_is_not_said_twice(thread: Thread) -> None:
    thread.add("user", f"{GOAL} {DECIDED}")
    assert [line.split(" (")[0] for line in project_lines(thread, Hierarchy())] == ["- goal: ship version 1.0 by 30 June"]


def test_nor_is_what_the_profile_or_a_summary_says(memory: Memory, thread: Thread) -> None:
    thread.add("user", "We decided to use SQLite because it is one file.")
    for number in range(60):
        thread.add("user", f"And here is remark number {number} on a matter of no importance whatsoever.")
    context = thread.context(budget=1_200, policy=Hierarchy(immediate=4))
    assert context.text.count("use SQLite") == 1
    assert "- decided: use SQLite, because it is one file" in context.section("project")[0].text


def test_a_context_that_shows_it_is_replayed_though_the_state_has_moved_on(memory: Memory, thread: Thread) -> None:
    thread.set_state(goal="one", questions=["Which region?"])
    thread.add("user", "Hello there.")
    context = thread.context(budget=3_000, policy=Hierarchy())
    question = thread.state().questions[0]
    thread.set_state(goal="two", answers={question.id: "eu-west-1"})
    assert memory.replay(context.receipt_id).to_bytes() == context.to_bytes()


def test_forgetting_what_it_shows_takes_the_receipt(memory: Memory, thread: Thread) -> None:
    message = thread.add("user", GOAL)
    thread.add("user", "Hello there.")
    context = thread.context(budget=3_000, policy=Hierarchy(immediate=1))
    memory.forget(message=message.id)
    with pytest.raises(NotFound):
        memory.replay(context.receipt_id)


def test_the_policy_is_written_and_read_with_it() -> None:
    policy = Hierarchy(project=False)
    assert str(policy) == "hierarchy(immediate=10, segments=3, project=False)"
    assert policy_from(str(policy)) == policy
    assert policy_from("hierarchy(project=true)") == Hierarchy()
    with pytest.raises(InvalidInput):
        policy_from("hierarchy(project=3)")


def test_state_block_is_held_by_the_counter_of_the_memory(thread: Thread) -> None:
    thread.set_state(goal="Ship", facts=[f"fact number {number}" for number in range(30)])
    from bethink.models.tokens import BuiltinCounter

    assert 100 < BuiltinCounter().count(thread.state_block(200)) <= 200


# -- from the command line ------------------------------------------------------------------------------------------------


def shell(tmp_path: Path, *words: str, code: int = 0) -> str:
    result = CliRunner().invoke(app, [*words, "--db", str(tmp_path / "a.db")])
    assert result.exit_code == code, result.output
    return result.output


def test_the_state_is_set_and_shown_from_the_command_line(tmp_path: Path) -> None:
    given = ("--goal", "Ship", "--decision", "Use ruff because it is fast", "--artifact", "a.md=notes", "--done", "Set up CI")
    shell(tmp_path, "state", "t", *given, "--question", "Which region?")
    found = json.loads(shell(tmp_path, "state", "t", "--json"))["state"]
    assert (found["goal"]["text"], found["decisions"][0]["because"]) == ("Ship", "it is fast")
    assert (found["artifacts"][0]["ref"], found["artifacts"][0]["text"]) == ("a.md", "notes")
    answered = shell(tmp_path, "state", "t", "--answer", f"{found['questions'][0]['id']}=eu-west-1", "--history")
    assert "goal: Ship" in answered
    assert "answered: eu-west-1" in answered
    assert shell(tmp_path, "state", "t", "--block", "100").startswith("<state>")


def test_a_task_is_handed_on_from_the_command_line(tmp_path: Path) -> None:
    shell(tmp_path, "state", "t", "--goal", "Ship")
    words = ("handoff", "t", "Write the docs", "--constraint", "one page", "--id", "docs")
    found = json.loads(shell(tmp_path, *words, "--json"))
    assert (found["thread_id"], found["namespace"]) == ("docs", ["default", "handoff", "docs"])
    assert "goal: Ship" in found["messages"][1]["content"]
    assert "thread docs in default/handoff/docs" in shell(tmp_path, *words)


def test_forgetting_a_thread_proves_that_its_state_is_gone(tmp_path: Path) -> None:
    shell(tmp_path, "state", "t", "--decision", "Use ruff because the violet department likes it")
    proof = json.loads(shell(tmp_path, "forget", "--thread", "t", "--yes", "--json"))
    assert proof["verification"]["hits"] == []
    with Memory(tmp_path / "a.db", embedder=None) as memory:
        assert memory.verify("the violet department likes it").clean


@pytest.mark.parametrize(
    ("words", "code"),
    [
        (("state", "nowhere"), 3),
        (("state", "t", "--answer", "no mark"), 2),
        (("state", "t", "--withdraw", "unknown"), 3),
        (("state", "t", "--block", "0"), 2),
        (("handoff", "t", ""), 2),
        (("handoff", "nowhere", "a task"), 3),
        (("handoff", "t", "a task", "--budget", "2"), 2),
    ],
)
def test_bad_input_has_its_exit_code(tmp_path: Path, words: tuple[str, ...], code: int) -> None:
    shell(tmp_path, "state", "t", "--goal", "Ship")
    shell(tmp_path, *words, code=code)


# -- several at once ------------------------------------------------------------------------------------------------------


def set_facts(path: str, name: str) -> None:
    """What each of two processes does."""
    with Memory(path, embedder=None, durability="normal") as memory:
        thread = memory.thread("t")
        print("ready", flush=True)
        sys.stdin.readline()
        for number in range(20):
            thread.add("user", f"We decided to call box {name}{number} Robert{number}{name}.")
            thread.set_state(facts=[f"{name} {number}"])


def test_two_processes_lose_nothing_of_each_other(tmp_path: Path) -> None:
    path = tmp_path / "memory.db"
    Memory(path, embedder=None).close()
    code = f"import sys; sys.path.insert(0, {str(Path(__file__).parent)!r}); from test_state import set_facts as go; "
    code += "go(*sys.argv[1:])"
    pipes: dict[str, Any] = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE, "text": True}
    workers = [subprocess.Popen([sys.executable, "-c", code, str(path), name], **pipes) for name in ("a", "b")]
    for worker in workers:
        assert worker.stdout is not None
        assert worker.stdout.readline() == "ready\n"
    for worker in workers:
        worker.communicate("go\n", timeout=60)
    assert [worker.returncode for worker in workers] == [0, 0]
    with Memory(path, embedder=None) as memory:
        state = memory.thread("t").state()
        assert sorted(entry.text for entry in state.facts) == sorted(f"{name} {n}" for name in "ab" for n in range(20))
        drawn = [record for record in memory.records("state") if isinstance(record, StateEntry) and record.part == "decision"]
        assert len(drawn) == len({record.text for record in drawn}) == 40
        assert memory.check() == []


def test_the_twin_for_an_event_loop_says_the_same() -> None:
    async def talk() -> None:
        async with AsyncMemory(embedder=None) as memory:
            thread = memory.thread("t")
            await thread.add("user", GOAL)
            state = await thread.set_state(facts=["Team of 3"])
            assert state == await thread.state()
            assert words(state) == ["ship version 1.0 by 30 June", "Team of 3"]
            assert "Team of 3" in await thread.state_block(200)

    asyncio.run(talk())
