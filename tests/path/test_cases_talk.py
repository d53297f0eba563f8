"""Failures of the field about what a conversation is told twice, told empty, or told too long, through `Memory`."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Mapping
from datetime import datetime, timezone
from pathlib import Path
from typing import Any

import pytest

from bethink import BethinkError, InvalidInput, Memory, Message, Part, Settings, ToolCall
from bethink.models.driving import run
from bethink.models.given import as_model
from bethink.models.language import Answer, ModelError, ModelStep, Prompt
from bethink.testing.doubles import FrozenClock, HashEmbedder

START = datetime(2026, 3, 2, 9, 0, tzinfo=timezone.utc)

# -- compaction and reopening ---------------------------------------------------------------------------------------------

REOPENED = """
import sys
from datetime import datetime, timezone
from bethink import Memory, Settings
from bethink.testing.doubles import FrozenClock

clock = FrozenClock(datetime(2026, 3, 2, 9, 0, tzinfo=timezone.utc))
with Memory(sys.argv[1], embedder=None, clock=clock, settings=Settings(window=400)) as memory:
    context = memory.thread("t").context()
    sys.stdout.buffer.write(b"%d " % context.tokens + context.to_bytes())
"""


def test_V018_another_process_builds_the_same_bytes_after_compaction(tmp_path: Path) -> None:
    path = tmp_path / "a.db"
    with Memory(path, embedder=None, clock=FrozenClock(START), settings=Settings(window=400)) as memory:
        thread = memory.thread("t")
        for number in range(60):
            thread.add("user", f"Note {number}: the meeting with team {number} is in room {number + 100}.")
        context = thread.context()
        assert thread.info().folded_through > 0
    output = subprocess.run([sys.executable, "-c", REOPENED, str(path)], capture_output=True, check=True).stdout
    assert output == b"%d " % context.tokens + context.to_bytes()


def test_V062_one_message_far_above_the_budget_folds_once_and_every_context_fits() -> None:
    with Memory(embedder=None, clock=FrozenClock(START)) as memory:
        thread = memory.thread("t")
        thread.add("user", "please look through this")
        thread.add("assistant", "here it is: " + "word " * 5_000)
        folds = [0]
        for turn in range(6):
            thread.add("user", f"question {turn}")
            assert thread.context(budget=1_000).tokens <= 1_000
            folds.append(thread.info().folded_through)
            thread.add("assistant", f"answer {turn}")
        assert len(set(folds)) <= 2


# -- the same again -------------------------------------------------------------------------------------------------------


def test_V026_a_history_that_is_handed_back_is_not_stored_again(tmp_path: Path) -> None:
    file = tmp_path / "session.jsonl"
    with Memory(tmp_path / "a.db", embedder=None, clock=FrozenClock(START)) as memory:
        memory.thread("t").add("user", "hello")
        memory.thread("t").add("assistant", "hi")
        file.write_bytes(b"".join(memory.export()))
    with Memory(tmp_path / "b.db", embedder=None, clock=FrozenClock(START)) as memory:
        memory.import_file(file)
        thread = memory.thread("t")
        restored = thread.messages()
        # A provider of history hands back what it has, and the turn comes behind it.
        thread.append([*restored, {"role": "user", "content": "and now?"}])
        thread.context()
        thread.append([*thread.messages(), {"role": "assistant", "content": "now this"}])
        assert [message.text for message in thread.messages()] == ["hello", "hi", "and now?", "now this"]


def test_V029_a_fact_is_one_record_whichever_thread_says_it_and_also_after_reopening(tmp_path: Path) -> None:
    for round_number in range(3):
        with Memory(tmp_path / "a.db", embedder=None, clock=FrozenClock(START)) as memory:
            thread = memory.thread(f"t{round_number}")
            thread.add("user", ("I live in Ghent.", "I live in Ghent", "As I said, I live in Ghent.")[round_number])
            thread.end()
            assert [insight.text for insight in memory.profile()] == ["lives in Ghent"]
            assert len(memory.records("insight", current=False)) == 1


def test_V030_whoever_passes_the_whole_history_each_turn_stores_each_message_once() -> None:
    with Memory(embedder=None, clock=FrozenClock(START)) as memory:
        thread = memory.thread("t")
        history: list[Mapping[str, Any]] = []
        for turn in range(3):
            history.append({"role": "user", "content": f"I like fruit {turn}", "id": f"u{turn}"})
            thread.append(history)
            thread.context()
            history.append({"role": "assistant", "content": "noted", "id": f"a{turn}"})
            thread.append(history)
        assert [message.id for message in thread.messages()] == ["u0", "a0", "u1", "a1", "u2", "a2"]
        assert [len(insight.sources) for insight in memory.records("insight")] == [1, 1, 1]


# -- content --------------------------------------------------------------------------------------------------------------

IMAGE = {"type": "image_url", "image_url": {"url": "https://example.org/cat.png"}}


def test_V065_the_words_beside_an_image_are_used_and_an_image_alone_says_nothing() -> None:
    with Memory(embedder=HashEmbedder(), clock=FrozenClock(START)) as memory:
        thread = memory.thread("t")
        before, after = ({"type": "text", "text": text} for text in ("I live in Ghent.", "I like tea."))
        with_words = {"role": "user", "content": [before, IMAGE, after]}
        alone = {"role": "user", "content": [IMAGE]}
        thread.append([with_words, alone])
        thread.end()
        assert sorted(insight.text for insight in memory.profile()) == ["likes tea", "lives in Ghent"]
        assert thread.context().to_openai()[-2:] == [with_words, alone]
        assert {hit.text for hit in memory.recall("Ghent tea", kinds=["message"])} == {"I live in Ghent.\nI like tea."}


@pytest.mark.parametrize("nothing", [{}, {"content": None}, {"content": ""}, {"content": []}])
def test_V066_an_assistant_that_only_calls_goes_the_whole_way(nothing: dict[str, Any], tmp_path: Path) -> None:
    call = {"id": "c1", "type": "function", "function": {"name": "look", "arguments": "{}"}}
    asking = {"role": "assistant", **nothing, "tool_calls": [call]}
    with Memory(tmp_path / "a.db", embedder=None, clock=FrozenClock(START)) as memory:
        thread = memory.thread("t")
        thread.append([{"role": "user", "content": "Look up the ferry."}, asking])
        thread.append([{"role": "tool", "tool_call_id": "c1", "content": "It leaves at 9:15."}])
        assert asking in thread.context(budget=4_000).to_openai()
        for number in range(30):
            thread.add("user", f"Note {number}: the meeting with team {number} is in room {number + 100}.")
        context = thread.context(budget=300)
        summary = thread.end()
        assert summary is not None
        assert thread.info().folded_through >= 3
        assert "None" not in context.text + summary.text
        assert b"".join(memory.export()).count(b"None") == 0
        assert memory.check() == []


def test_V067_a_reply_in_parts_is_an_error_and_never_printed_into_a_summary() -> None:
    def step() -> ModelStep[Answer]:
        return (yield Prompt(purpose="summary", system="", user="Sum up.", max_tokens=9))

    parts: Any = [{"type": "thinking", "thinking": "hm"}, {"type": "text", "text": "S"}]
    assert isinstance(run(step(), as_model(lambda _: parts, "in parts")), ModelError)


# -- what has no form in JSON ---------------------------------------------------------------------------------------------


def _part(memory: Memory) -> object:
    return memory.thread("t").append([{"role": "user", "content": [{"type": "text", "text": b"x"}]}])


def _argument(memory: Memory) -> object:
    call = {"id": "c", "type": "function", "function": {"name": "f", "arguments": {"at": b"x"}}}
    return memory.thread("t").append([{"role": "assistant", "content": None, "tool_calls": [call]}])


def _call(memory: Memory) -> object:
    arguments: Any = b"x"
    return memory.thread("t").add("assistant", tool_calls=[ToolCall("c", "f", arguments)])


def _result(memory: Memory) -> object:
    return memory.thread("t").append([{"role": "tool", "tool_call_id": "c0", "content": b"x"}])


def _message(memory: Memory) -> object:
    text: Any = b"x"
    return memory.thread("t").append([Message(role="user", content=(Part("text", text),))])


def _message_metadata(memory: Memory) -> object:
    return memory.thread("t").add("user", "hello", metadata={"at": b"x"})


def _note_metadata(memory: Memory) -> object:
    return memory.store("hello", {"at": b"x"})


def _state(memory: Memory) -> object:
    return memory.thread("t").checkpoint({"at": b"x"})


def _view(memory: Memory) -> object:
    return memory.thread("t").checkpoint(None, view={"at": b"x"})


@pytest.mark.parametrize("give", [_part, _argument, _call, _result, _message, _message_metadata, _note_metadata, _state, _view])
def test_V110_bytes_are_refused_everywhere_before_anything_is_written(give: Any, tmp_path: Path) -> None:
    with Memory(tmp_path / "a.db", embedder=None, clock=FrozenClock(START)) as memory:
        memory.thread("t").add("assistant", tool_calls=[ToolCall("c0", "f")])
        before = memory.thread("t").messages(), memory.stats().units
        with pytest.raises(InvalidInput) as caught:
            give(memory)
        assert isinstance(caught.value, BethinkError)
        assert "x" not in caught.value.field.split(".")
        assert (memory.thread("t").messages(), memory.stats().units) == before
        assert memory.records() == []
        assert memory.thread("t").checkpoints() == []


def test_V110_a_state_of_bytes_comes_back_as_it_is() -> None:
    with Memory(embedder=None, clock=FrozenClock(START)) as memory:
        saved = memory.thread("t").checkpoint(b"\x00\xff", format="x")
        assert memory.thread("t").resume(saved.id).state == b"\x00\xff"
