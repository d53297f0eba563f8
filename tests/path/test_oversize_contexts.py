"""What a context does with one message larger than the room for it: shortened or refused, as the option says."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from bethink import BudgetError, InvalidInput, Memory, Message, Oversize, Part, Settings, Summarize, TokenWindow, ToolCall
from bethink.context import Context
from bethink.testing.doubles import START, FrozenClock

LOG = "".join(f"line {number} of the log\n" for number in range(4_000))
PASTE = "".join(f"Sentence {number} of what I pasted says something. " for number in range(1_500))


@pytest.fixture(params=["memory", "sqlite"])
def memory(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Memory]:
    path = ":memory:" if request.param == "memory" else tmp_path / "agent.db"
    with Memory(path, clock=FrozenClock(START), embedder=None) as memory:
        yield memory


def memory_with(**options: Any) -> Memory:
    return Memory(clock=FrozenClock(START), embedder=None, settings=Settings(**options))


def run_a_tool(memory: Memory, *results: str, arguments: str = "{}", question: str = "read the log") -> None:
    thread = memory.thread("t")
    thread.add("user", question)
    calls = [ToolCall(f"c{number}", "read", arguments) for number in range(len(results))]
    thread.add("assistant", tool_calls=calls)
    for number, text in enumerate(results):
        thread.add("tool", text, tool_call_id=f"c{number}")


def of_role(context: Context, role: str) -> list[Message]:
    return [message for message in context.messages if message.role == role and message.name != "memory"]


# -- the newest user message ----------------------------------------------------------------------------------------------


def test_by_default_a_question_larger_than_the_budget_is_an_error_that_names_it(memory: Memory) -> None:
    memory.thread("t").add("user", PASTE)
    with pytest.raises(BudgetError, match="newest user message") as caught:
        memory.thread("t").context(budget=1_000)
    assert caught.value.parts == (("newest user message", caught.value.needed),)
    assert "Sentence" not in str(caught.value)


def test_by_option_a_question_larger_than_the_budget_is_cut_to_both_its_ends(memory: Memory) -> None:
    stored = memory.thread("t").add("user", PASTE)
    context = memory.thread("t").context(budget=1_000, oversize="cut")
    (shown,) = of_role(context, "user")
    assert shown.text.startswith("Sentence 0 of what I pasted")
    assert shown.text.endswith("Sentence 1499 of what I pasted says something. ")
    assert f"of message {stored.id} are not shown" in shown.text
    assert 600 < context.tokens <= 1_000
    assert memory.thread("t").messages()[0].text == PASTE


def test_a_question_that_fits_is_verbatim_whatever_the_option(memory: Memory) -> None:
    memory.thread("t").add("user", PASTE)
    whole = memory.thread("t").context(budget=100_000)
    needed = whole.sections["recent messages"]
    context = memory.thread("t").context(budget=needed, oversize="cut")
    assert [message.text for message in of_role(context, "user")] == [PASTE]


def test_the_option_can_be_set_for_a_memory() -> None:
    memory = memory_with(oversize=Oversize(question="cut", keep="start", boundary="sentence"))
    memory.thread("t").add("user", PASTE)
    (shown,) = of_role(memory.thread("t").context(budget=1_000), "user")
    assert shown.text.startswith("Sentence 0")
    assert shown.text.endswith("are not shown ...]")
    assert shown.text.split("\n[...")[0].endswith("says something.")


def test_a_cut_question_leaves_room_for_what_follows_it_in_its_turn(memory: Memory) -> None:
    run_a_tool(memory, "found: 42", question=PASTE)
    context = memory.thread("t").context(budget=1_000, oversize="cut")
    assert [message.text for message in of_role(context, "tool")] == ["found: 42"]
    assert "are not shown" in of_role(context, "user")[0].text


def test_a_cut_question_leaves_room_for_what_is_remembered(memory: Memory) -> None:
    memory.thread("old").add("user", "I live in Porto and I'm allergic to peanuts.")
    memory.thread("t").add("user", PASTE)
    context = memory.thread("t").context(budget=1_000, oversize="cut")
    assert context.section("profile")


def test_a_question_of_text_and_images_is_cut_beside_them(memory: Memory) -> None:
    image = Part("image", ref="https://example.org/a.png")
    memory.thread("t").add("user", [Part("text", PASTE), image])
    context = memory.thread("t").context(budget=4_000, oversize="cut")
    (form,) = [form for form in context.to_openai() if form.get("name") != "memory"]
    assert [part["type"] for part in form["content"]] == ["text", "image_url"]
    assert "are not shown" in form["content"][0]["text"]
    assert context.tokens <= 4_000


def test_a_pinned_message_is_never_cut(memory: Memory) -> None:
    memory.thread("t").add("system", PASTE)
    memory.thread("t").add("user", "hello")
    with pytest.raises(BudgetError, match="pinned messages"):
        memory.thread("t").context(budget=1_000, oversize="cut")


def test_a_token_window_holds_for_a_question_that_is_cut(memory: Memory) -> None:
    memory.thread("t").add("user", PASTE)
    thread = memory.thread("t", policy=TokenWindow(500))
    assert 400 < thread.context(budget=4_000, oversize="cut").sections["recent messages"] <= 500
    with pytest.raises(BudgetError, match="token-window") as caught:
        thread.context(budget=40_000)
    assert caught.value.budget == 500


# -- what follows it ------------------------------------------------------------------------------------------------------


def test_V007_the_newest_result_is_shortened_with_its_call_and_the_explanation_says_so(memory: Memory) -> None:
    memory.thread("t").add("system", "You are a careful assistant.")
    run_a_tool(memory, "the folder holds app.log")
    memory.thread("t").append(
        [
            Message(role="assistant", tool_calls=(ToolCall("last", "read", "{}"),)),
            Message(role="tool", content=LOG, tool_call_id="last"),
        ]
    )
    context = memory.thread("t").context(budget=600)
    forms = context.to_openai()
    assert [form["role"] for form in forms] == ["system", "user", "assistant", "tool", "assistant", "tool"]
    assert "are not shown" in forms[-1]["content"]
    (decision,) = [decision for decision in context.explain().decisions if decision.done == "shortened"]
    assert (decision.policy, decision.messages) == ("budget", ((6, 6),))
    assert "shortened messages 6" in str(context.explain())


def test_results_of_parallel_calls_share_the_room(memory: Memory) -> None:
    run_a_tool(memory, LOG, "short", LOG)
    first, second, third = of_role(memory.thread("t").context(budget=2_000), "tool")
    assert second.text == "short"
    assert 0.8 < len(first.text) / len(third.text) < 1.25


def test_a_result_too_large_leaves_room_for_the_calls_before_it(memory: Memory) -> None:
    run_a_tool(memory, "first result, " * 30)
    thread = memory.thread("t")
    thread.add("assistant", tool_calls=[ToolCall("last", "read", "{}")])
    thread.add("tool", LOG, tool_call_id="last")
    results = of_role(thread.context(budget=1_000), "tool")
    assert results[0].text == "first result, " * 30
    assert "are not shown" in results[1].text


def test_V063_arguments_larger_than_the_budget_are_cut_and_stay_json(memory: Memory) -> None:
    arguments = json.dumps({"path": "app.py", "content": LOG})
    run_a_tool(memory, "written", arguments=arguments)
    context = memory.thread("t").context(budget=800)
    (call,) = of_role(context, "assistant")[0].tool_calls
    made = json.loads(call.arguments)
    assert made["path"] == "app.py"
    assert "are not shown" in made["content"]
    assert of_role(context, "tool")[0].text == "written"
    assert memory.thread("t").messages()[1].tool_calls[0].arguments == arguments


def test_an_answer_larger_than_the_budget_is_cut_too(memory: Memory) -> None:
    memory.thread("t").add("user", "write it down")
    memory.thread("t").add("assistant", PASTE)
    (answer,) = of_role(memory.thread("t").context(budget=1_000), "assistant")
    assert "are not shown" in answer.text


def test_by_option_a_turn_that_does_not_fit_is_an_error_that_names_it(memory: Memory) -> None:
    run_a_tool(memory, LOG)
    with pytest.raises(BudgetError, match="current turn") as caught:
        memory.thread("t").context(budget=1_000, oversize="error")
    assert memory.thread("t").context(budget=caught.value.needed, oversize="error").messages[-1].text == LOG


def test_what_has_to_be_shortened_leaves_the_memory_block_room(memory: Memory) -> None:
    memory.thread("old").add("user", "I live in Porto and I'm allergic to peanuts.")
    run_a_tool(memory, LOG)
    context = memory.thread("t").context(budget=1_000)
    assert context.section("profile")
    assert context.tokens <= 1_000


def test_V062_an_older_message_larger_than_the_budget_folds_once(memory: Memory) -> None:
    thread = memory.thread("t", policy=Summarize())
    thread.add("user", "read this, please")
    thread.add("assistant", PASTE)
    folds = []
    for number in range(6):
        thread.add("user", f"short question {number}")
        context = thread.context(budget=1_000)
        folds += [decision for decision in context.explain().decisions if decision.policy.startswith("summarize")]
        assert context.tokens <= 1_000
        thread.add("assistant", f"short answer {number}")
    assert len(folds) == 1


# -- the record of it -----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("keep", ["both", "start", "end"])
@pytest.mark.parametrize("boundary", ["paragraph", "sentence", "word"])
def test_a_context_with_cuts_is_replayed_byte_for_byte(memory: Memory, keep: Any, boundary: Any) -> None:
    run_a_tool(memory, LOG, PASTE, arguments=json.dumps({"path": "app.py", "content": LOG}), question=PASTE)
    how = Oversize(question="cut", keep=keep, boundary=boundary)
    context = memory.thread("t").context(budget=2_000, oversize=how)
    again = memory.replay(context.receipt_id)
    assert (again.to_bytes(), again.explain()) == (context.to_bytes(), context.explain())
    shortened = [line for line in context.lines if line.reason.endswith(", shortened")]
    assert len(shortened) == 4


def test_what_is_cut_is_in_no_byte_that_is_sent(memory: Memory) -> None:
    run_a_tool(memory, LOG)
    context = memory.thread("t").context(budget=500)
    assert "line 2000 of the log" not in context.to_bytes().decode()


@pytest.mark.parametrize(("given", "field"), [("drop", "oversize"), (True, "oversize"), ({"question": "cut"}, "oversize")])
def test_an_option_that_is_not_known_is_refused(memory: Memory, given: Any, field: str) -> None:
    memory.thread("t").add("user", "hello")
    with pytest.raises(InvalidInput, match=field):
        memory.thread("t").context(oversize=given)


@pytest.mark.parametrize("field", ["question", "turn", "keep", "boundary"])
def test_a_choice_that_is_not_known_is_refused_by_name(field: str) -> None:
    with pytest.raises(InvalidInput, match=rf"oversize\.{field}.*use one of"):
        Oversize(**{field: "page"})  # type: ignore[arg-type]


@pytest.mark.parametrize("field", ["memory_at", "line_order"])
def test_a_position_that_is_not_known_is_refused_by_name(field: str) -> None:
    with pytest.raises(InvalidInput, match=rf"settings\.{field}.*use one of"):
        Settings(**{field: "middle"})  # type: ignore[arg-type]
