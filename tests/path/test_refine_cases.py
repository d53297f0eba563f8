"""Failures of the field that a model's summaries must not have."""

from __future__ import annotations

import re
from pathlib import Path

from tests.path.refining import SMALL, authors, model, opened, said, talk

from bethink import Settings
from bethink.models.language import Prompt
from bethink.models.tokens import BuiltinCounter
from bethink.testing.doubles import ScriptedModel, summing_up


def test_V010_one_user_message_before_sixty_others_is_summarised_from_what_there_is() -> None:
    small = model()
    with opened(small) as memory:
        thread = memory.thread("t")
        thread.add("user", "Move every parcel to its depot.")
        for number in range(60):
            thread.add("assistant", f"Parcel QX-{2000 + number} is in depot {number} now.")
        thread.context(budget=2_000)
        thread.add("user", "And now?")
        for number in range(60, 100):
            thread.add("assistant", f"Parcel QX-{2000 + number} is in depot {number} now.")
        thread.context(budget=900)
        thread.refine()
        assert small.prompts
        assert all("[1] " in prompt.user for prompt in small.prompts)
        assert not any("please provide" in line.text.lower() for node in thread.summaries() for line in node.lines)


def test_V011_every_message_is_verbatim_or_covered_by_a_models_summary() -> None:
    with opened(model()) as memory:
        thread = talk(memory)
        thread.refine()
        covered = {seq for node in thread.summaries() for first, last in node.covers for seq in range(first, last + 1)}
        verbatim = {message.seq for message in thread.messages() if message.text in thread.context().text}
        assert covered | verbatim == {message.seq for message in thread.messages()}


def test_V012_a_model_that_repeats_and_adds_never_makes_a_summary_grow() -> None:
    written: list[str] = []

    def hoarder(prompt: Prompt) -> str:
        written.append(summing_up(prompt))
        return "\n".join(written)

    count = BuiltinCounter().count
    with opened(ScriptedModel(hoarder, name="small")) as memory:
        thread = memory.thread("t")
        for number in range(120):
            thread.append(said(number))
            if number % 6 == 5:
                assert thread.context().tokens <= 600
                thread.refine()
        assert all(sum(count(line.text) for line in node.lines) <= SMALL.node_tokens for node in thread.summaries())


def test_V013_the_newest_instruction_is_there_verbatim_after_the_model_has_written() -> None:
    with opened(model()) as memory:
        thread = talk(memory)
        thread.add("user", "Show me the plan first, marker PLAN-7.")
        thread.context()
        thread.refine()
        assert thread.context().to_openai()[-1] == {"role": "user", "content": "Show me the plan first, marker PLAN-7."}


def test_V014_instructions_are_in_the_prompt_and_never_in_the_thread_or_its_context() -> None:
    def obeys(prompt: Prompt) -> str:
        return f"[1] List open tasks, marker ZX9.\n{summing_up(prompt)}"

    small = ScriptedModel(obeys, name="small")
    settings = Settings(window=600, refine="manual", summary_instructions="list open tasks, marker ZX9")
    with opened(small, settings=settings) as memory:
        thread = talk(memory)
        thread.refine()
        assert all("ZX9" in prompt.system for prompt in small.prompts)
        assert authors(thread) == {"small"}
        assert "ZX9" not in thread.context().text
        assert not any("ZX9" in message.text for message in thread.messages())
        assert not any("ZX9" in line.text for node in thread.summaries() for line in node.lines)


def test_V015_an_oversized_result_is_cut_for_the_model_which_is_never_asked_about_nothing() -> None:
    small = model()
    with opened(small) as memory:
        thread = memory.thread("t")
        thread.append(said(1))
        thread.append(
            [
                {"role": "user", "content": "Read the log of depot 3."},
                {
                    "role": "assistant",
                    "tool_calls": [{"id": "c", "type": "function", "function": {"name": "read", "arguments": "{}"}}],
                },
                {"role": "tool", "tool_call_id": "c", "content": "line of the log. " * 2_000},
                {"role": "assistant", "content": "The log of depot 3 has 2000 lines."},
            ]
        )
        for number in range(2, 20):
            thread.append(said(number))
        thread.context()
        thread.refine()
        count = BuiltinCounter().count
        assert small.prompts
        assert all(count(prompt.text) <= SMALL.model_window for prompt in small.prompts)
        assert all("[1] " in prompt.user for prompt in small.prompts)


PAPER = "It is wrapped in paper. " * 8


def test_V016_the_summarisers_window_is_its_own_and_a_long_span_takes_several_passes() -> None:
    small = ScriptedModel(lambda prompt: summing_up(prompt).replace(PAPER.strip(), ""), name="small")
    settings = Settings(window=1_000, refine="manual", model_window=1_500, segment_messages=40, node_tokens=120)
    with opened(small, settings=settings) as memory:
        thread = memory.thread("t")
        for number in range(60):
            thread.add("user", f"Parcel QX-{number} goes to depot {number}. {PAPER}")
        thread.context()
        count = BuiltinCounter().count
        nodes = len(thread.summaries())
        report = thread.refine()
        assert len(report.written) == nodes
        assert report.usage.calls > nodes
        assert all(count(prompt.text) + prompt.max_tokens <= 1_500 for prompt in small.prompts)


def test_V018_the_same_context_after_close_and_reopen_in_another_handle(tmp_path: Path) -> None:
    with opened(model(), path=tmp_path / "a.db") as memory:
        thread = talk(memory)
        thread.refine()
        before = thread.context("parcels")
    silent = ScriptedModel([])
    with opened(silent, path=tmp_path / "a.db") as memory:
        after = memory.thread("t").context("parcels")
        assert (after.messages, after.tokens) == (before.messages, before.tokens)
        assert memory.thread("t").refine().attempts == ()


def test_V019_summaries_go_on_for_as_long_as_the_thread_does() -> None:
    small = model()
    with opened(small) as memory:
        thread = memory.thread("t")
        for number in range(250):
            thread.append(said(number))
            if number % 10 == 9:
                assert thread.context().tokens <= 600
                thread.refine()
        assert authors(thread) == {"small"}
        assert thread.info().folded_through > 450


def test_V030_every_message_is_shown_to_the_model_once_on_the_lowest_level() -> None:
    small = model()
    with opened(small) as memory:
        thread = memory.thread("t")
        for number in range(60):
            thread.append(said(number))
            # A caller that passes its whole history again adds nothing.
            thread.append([message for n in range(number + 1) for message in said(n)])
            thread.context()
            thread.refine()
        asked = [line for prompt in small.prompts for line in prompt.user.splitlines() if "noted parcel" in line]
        told = re.findall(r"I noted parcel (QX-\d+)", "\n".join(line for line in asked if "Summed up" not in line))
        assert told
        # From the second level on lines of summaries are shown, the extractive ones among them word for word.
        lowest = [node for node in thread.summaries() if node.level == 1]
        assert len(thread.messages()) == 120
        assert sum(last - first + 1 for node in lowest for first, last in node.covers) == thread.info().folded_through


def test_V062_one_oversized_message_is_summarised_once() -> None:
    small = model()
    with opened(small, settings=Settings(window=1_000, refine="manual")) as memory:
        thread = memory.thread("t")
        thread.append(said(0))
        thread.add("user", "Here is the manifest. " + "Crate of lamps, crate of ropes. " * 800, id="big")
        for number in range(1, 8):
            thread.append(said(number))
            assert thread.context().tokens <= 1_000
            thread.refine()
        assert sum("Here is the manifest" in prompt.user and "Summed up" not in prompt.user for prompt in small.prompts) == 1


def test_V067_a_reply_in_blocks_is_a_failed_attempt_and_never_their_repr() -> None:
    def blocks(_: str) -> str:
        return [{"type": "thinking", "thinking": "hm"}, {"type": "text", "text": "[1] S"}]  # type: ignore[return-value]

    with opened(blocks) as memory:
        thread = talk(memory)
        (attempt,) = thread.refine(limit=1).failed
        assert attempt.reason == "error"
        assert authors(thread) == {"extractive"}
        assert "thinking" not in thread.context().text


def test_V067_thinking_before_a_summary_is_no_part_of_it() -> None:
    def thinks(prompt: Prompt) -> str:
        return f"<think>[1] The user wants parcels.</think>\n{summing_up(prompt)}"

    with opened(ScriptedModel(thinks, name="small")) as memory:
        thread = talk(memory)
        thread.refine()
        assert authors(thread) == {"small"}
        assert not any("wants parcels" in line.text for node in thread.summaries() for line in node.lines)
