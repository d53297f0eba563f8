"""A model's words go with the messages that they were taken from."""

from __future__ import annotations

from pathlib import Path

import msgspec
import pytest
from tests.path.refining import SMALL, failing, model, opened, said, talk

from bethink import NotFound
from bethink.models.language import Prompt
from bethink.testing.doubles import ScriptedModel, summing_up


def test_V082_forgetting_a_message_takes_the_models_lines_that_rest_on_it_to_the_last_byte(tmp_path: Path) -> None:
    with opened(model(), path=tmp_path / "a.db") as memory:
        thread = memory.thread("t")
        thread.add("user", "The keeper of the lighthouse of Ouessant is called Ewen Kerbrat.", id="secret")
        for number in range(20):
            thread.append(said(number))
        thread.context()
        thread.refine()
        assert any("Kerbrat" in line.text for node in thread.summaries() for line in node.lines)
        shown = thread.context()
        memory.forget(message="secret")
        assert not any("Kerbrat" in line.text for node in thread.summaries() for line in node.lines)
        assert memory.verify("The keeper of the lighthouse of Ouessant is called Ewen Kerbrat.", "Kerbrat").clean
        with pytest.raises(NotFound):
            memory.replay(shown.receipt_id)
        assert memory.check() == []


def test_V082_words_that_a_model_took_from_a_message_it_does_not_cite_go_with_that_message() -> None:
    def leaks(prompt: Prompt) -> str:
        told = (
            "[2] Parcel QX-1000 goes to depot 0 on Monday, where somebody limps.\n" if "He limps since" in prompt.user else ""
        )
        return told + summing_up(prompt)

    with opened(ScriptedModel(leaks, name="small"), settings=msgspec.structs.replace(SMALL, node_tokens=400)) as memory:
        thread = memory.thread("t")
        thread.add("user", "He limps since the storm.", id="secret")
        for number in range(60):
            thread.append(said(number))
        thread.context()
        thread.refine()
        leaked = [line for node in thread.summaries() for line in node.lines if "somebody limps" in line.text]
        assert leaked
        assert not any("secret" in line.sources for line in leaked)
        memory.forget(message="secret")
        assert not any("limps" in line.text for node in thread.summaries() for line in node.lines)
        assert memory.verify("somebody limps").clean
        assert memory.check() == []


def test_what_a_model_wrote_of_a_forgotten_message_is_written_anew_of_the_others() -> None:
    small = model()
    with opened(small) as memory:
        thread = talk(memory)
        thread.refine()
        memory.forget(message="u0")
        calls = small.calls
        report = thread.refine()
        assert small.calls == calls + len(report.written) > calls
        assert all("QX-1000" not in prompt.user.replace("noted parcel QX-1000", "") for prompt in small.prompts[calls:])
        assert thread.summaries()[0].lines


def test_forgetting_a_thread_leaves_no_attempt() -> None:
    with opened(failing("no")) as memory:
        thread = talk(memory)
        thread.refine()
        assert memory.stats().attempts > 0
        thread.delete()
        assert (memory.stats().attempts, memory.stats().nodes, memory.check()) == (0, 0, [])
