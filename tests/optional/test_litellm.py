"""A language model by way of LiteLLM itself, against a real server on this machine (`make litellm`; else skipped)."""

from __future__ import annotations

import json
import subprocess
import sys
import time
import traceback
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from tests.path.serving import KEY, Answer, Handler, Server, hang_up, refusing, serving, well_with

from bethink import InvalidInput, LiteLLMModel, Memory, ModelFailed, Prompt, Reply, Settings
from bethink.models import http
from bethink.models.named import language_model_named
from bethink.models.structured import Structured
from bethink.testing.doubles import summing_up

pytest.importorskip("litellm", reason='LiteLLM is not installed: pip install "bethink[litellm]"')

# LiteLLM and what it brings warn of their own affairs; those of this project stay errors.
pytestmark = [
    pytest.mark.slow,
    pytest.mark.filterwarnings("ignore"),
    pytest.mark.filterwarnings("error:::bethink"),
]

PROMPT = Prompt(purpose="summary", system="Sum it up.", user="The red kite flew.", max_tokens=50)
SCHEMA = {"type": "object", "properties": {}, "required": [], "additionalProperties": False}
STRUCTURED = Prompt(purpose="extract", system="As JSON.", user="The red kite flew.", max_tokens=50, schema=SCHEMA)


def answered(request: dict[str, Any]) -> dict[str, Any]:
    return choice({"role": "assistant", "content": f"{request['model']} has read {len(request['messages'])}"})


def choice(message: object, finish: str = "stop") -> dict[str, Any]:
    return {
        "id": "chatcmpl-1",
        "object": "chat.completion",
        "created": 1,
        "model": "m",
        "choices": [{"index": 0, "message": message, "finish_reason": finish}],
        "usage": {"prompt_tokens": 1_000_000, "completion_tokens": 5, "total_tokens": 1_000_005},
    }


@pytest.fixture
def server(monkeypatch: pytest.MonkeyPatch) -> Iterator[Server]:
    monkeypatch.setattr(http, "_FIRST_WAIT", 0.001)
    for name in ("http_proxy", "https_proxy", "OPENAI_API_KEY", "OPENAI_BASE_URL"):
        monkeypatch.delenv(name, raising=False)
        monkeypatch.delenv(name.upper(), raising=False)
    with serving(well_with(answered)) as running:
        yield running


def model(server: Server, name: str = "openai/gpt-4o-mini", **options: Any) -> LiteLLMModel:
    return LiteLLMModel(name, **{"base_url": server.url, "api_key": KEY, "timeout": 5.0, **options})


def refused(server: Server, **options: Any) -> ModelFailed:
    with pytest.raises(ModelFailed) as raised:
        model(server, **options).complete(PROMPT)
    told = "".join(traceback.format_exception(raised.value))
    assert KEY not in told
    assert PROMPT.user not in told
    return raised.value


# -- a provider that behaves well -----------------------------------------------------------------------------------------


def test_it_asks_the_provider_and_returns_what_was_said_took_and_cost(server: Server) -> None:
    found = model(server).complete(PROMPT)
    assert (found.text, found.tokens_in, found.tokens_out, found.truncated) == ("gpt-4o-mini has read 2", 1_000_000, 5, False)
    assert found.cost == pytest.approx(0.15, rel=0.01)  # US dollars for a million tokens read
    messages = [{"role": "system", "content": PROMPT.system}, {"role": "user", "content": PROMPT.user}]
    assert server.requests == [{"model": "gpt-4o-mini", "messages": messages, "max_tokens": 50}]
    assert server.seen[0][1]["authorization"] == f"Bearer {KEY}"


def test_a_model_whose_price_nobody_knows_has_no_cost(server: Server) -> None:
    assert model(server, "openai/of-my-own").complete(PROMPT).cost is None


def test_options_and_room_to_think_go_along(server: Server) -> None:
    model(server, options={"temperature": 0}, thinking_tokens=100).complete(PROMPT)
    assert (server.requests[0]["temperature"], server.requests[0]["max_tokens"]) == (0, 150)


def test_an_answer_that_was_cut_off_says_so(server: Server) -> None:
    server.answers = [well_with(lambda _: choice({"role": "assistant", "content": "The red"}, "length"))]
    assert model(server).complete(PROMPT).truncated


def test_a_refusal_is_an_answer_without_words(server: Server) -> None:
    server.answers = [well_with(lambda _: choice({"role": "assistant", "content": None, "refusal": "No."}))]
    found = model(server).complete(PROMPT)
    assert (found.text, found.tokens_out) == ("", 5)


def test_by_name_it_is_the_same(monkeypatch: pytest.MonkeyPatch, server: Server) -> None:
    monkeypatch.setenv("OPENAI_API_BASE", server.url)
    monkeypatch.setenv("OPENAI_API_KEY", KEY)
    named = language_model_named("litellm:openai/gpt-4o-mini")
    assert (named.name, named.complete(PROMPT).text) == ("openai/gpt-4o-mini", "gpt-4o-mini has read 2")


def test_it_writes_the_summaries_of_a_thread_and_their_cost_is_counted(server: Server, tmp_path: Path) -> None:
    def summing(request: dict[str, Any]) -> object:
        system, user = (message["content"] for message in request["messages"])
        said = summing_up(Prompt(purpose="summary", system=system, user=user, max_tokens=999))
        return choice({"role": "assistant", "content": said})

    server.well = well_with(summing)
    settings = Settings(window=900, segment_messages=6, refine="manual")
    with Memory(tmp_path / "m.db", language_model=model(server), settings=settings, embedder=None) as memory:
        thread = memory.thread("parcels")
        for number in range(24):
            thread.add("user", f"Parcel QX-{number} goes to depot {number} on Monday.")
            thread.add("assistant", f"Noted, depot {number}.")
        thread.context()
        report = thread.refine(limit=2)
        assert (len(report.written), report.failed) == (2, ())
        assert report.usage.cost == pytest.approx(0.3, rel=0.01)


# -- the form of an answer ------------------------------------------------------------------------------------------------


def form_of(request: dict[str, Any]) -> str:
    return str(request.get("response_format", {"type": "none"})["type"])


def knowing(*forms: str) -> Answer:
    def answer(handler: Handler, request: dict[str, Any]) -> None:
        if form_of(request) in forms:
            handler.send(200, json.dumps(choice({"role": "assistant", "content": "{}"})).encode())
        else:
            refusing(400, {"error": {"message": "response_format is not supported", "code": None}})(handler, request)

    return answer


@pytest.mark.parametrize(
    ("structured", "forms"),
    [
        ("auto", ["json_schema", "json_object", "none", "none"]),
        ("none", ["none", "none"]),
    ],
)
def test_a_form_that_is_refused_gives_way_and_what_was_taken_is_remembered(
    server: Server, structured: Structured, forms: list[str]
) -> None:
    server.well = knowing("none")
    asking = model(server, structured=structured)
    for _ in range(2):
        assert asking.complete(STRUCTURED).text == "{}"
    assert [form_of(request) for request in server.requests] == forms


def test_a_schema_that_is_taken_is_sent_whole(server: Server) -> None:
    model(server).complete(STRUCTURED)
    assert server.requests[0]["response_format"]["json_schema"]["schema"] == SCHEMA


def test_a_form_that_litellm_knows_the_provider_not_to_take_gives_way_as_well(server: Server) -> None:
    # It refuses by itself and sends nothing; the answer here is no Cohere's, so that the next step is what fails.
    with pytest.raises(ModelFailed, match="APIConnectionError"):
        model(server, "cohere/command-r", retries=0).complete(STRUCTURED)
    assert [form_of(request) for request in server.requests] == ["none"]


# -- a provider that behaves badly ----------------------------------------------------------------------------------------

PASSING = {**{f"HTTP {status}": refusing(status) for status in (408, 429, 500, 503)}, "hangs up": hang_up}


@pytest.mark.parametrize("answer", PASSING.values(), ids=PASSING)
def test_a_fault_that_passes_is_not_noticed_and_one_that_stays_is_an_error(server: Server, answer: Answer) -> None:
    server.answers = [answer]
    assert model(server).complete(PROMPT).text == "gpt-4o-mini has read 2"
    server.answers = [answer] * 9
    server.requests.clear()
    assert "tried 3 times" in str(refused(server))
    assert len(server.requests) == 3


def test_a_provider_that_is_asked_too_much_is_asked_again_as_long_after_as_it_says(
    server: Server, monkeypatch: pytest.MonkeyPatch
) -> None:
    waits: list[float] = []
    monkeypatch.setattr(time, "sleep", waits.append)
    server.answers = [refusing(429, Retry_After="7")]
    model(server).complete(PROMPT)
    assert 7.0 in waits


def test_a_provider_that_says_nothing_in_time_is_an_error(server: Server) -> None:
    server.answers = [lambda handler, _: time.sleep(2.0)]
    assert "Timeout" in str(refused(server, timeout=0.3, retries=0))


@pytest.mark.parametrize(("status", "told"), [(400, "model's name"), (401, "API key"), (403, "API key may")])
def test_a_refusal_is_an_error_at_once_and_says_what_to_do(server: Server, status: int, told: str) -> None:
    server.answers = [refusing(status)]
    error = refused(server)
    assert (error.status, told in error.fix, len(server.requests)) == (status, True, 1)


def test_an_answer_without_choices_is_an_error(server: Server) -> None:
    server.answers = [well_with(lambda _: {"choices": []})]
    assert refused(server).problem == "an answer without a message"


def test_a_provider_that_litellm_does_not_know_is_an_error(server: Server) -> None:
    assert "BadRequestError 400" in str(refused(server, name="nobody/knows"))


def test_a_failed_call_prints_nothing(server: Server, capfd: pytest.CaptureFixture[str]) -> None:
    server.answers = [refusing(400)]
    refused(server)
    refused(server, name="nobody/knows")
    assert capfd.readouterr().out == ""


def test_loading_it_asks_the_network_for_nothing_and_leaves_the_environment_as_it_was() -> None:
    code = """
import os, sys

def refuse(event, arguments):
    if event in {"socket.connect", "socket.getaddrinfo"}:
        print("network", event, file=sys.stdout)
        raise PermissionError("network")

sys.addaudithook(refuse)
before = dict(os.environ)
from bethink.models.litellm_model import _litellm
_litellm()
print("same" if dict(os.environ) == before else "changed")
"""
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.split() == ["same"]


def test_it_is_loaded_at_the_first_prompt() -> None:
    code = "import sys; from bethink import LiteLLMModel; LiteLLMModel('openai/x'); print('litellm' in sys.modules)"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "False"


@pytest.mark.parametrize(
    "options",
    [
        {"options": {"messages": []}},
        {"options": {"num_retries": 3}},
        {"thinking_tokens": -1},
        {"retries": -1},
        {"timeout": 0.0},
        {"structured": "json"},
        {"name": ""},
    ],
)
def test_what_cannot_be_sent_is_refused_when_it_is_made(server: Server, options: dict[str, Any]) -> None:
    with pytest.raises(InvalidInput):
        model(server, **options)


def test_its_repr_holds_no_key(server: Server) -> None:
    assert KEY not in repr(model(server))


def test_a_reply_is_one_of_ours(server: Server) -> None:
    assert isinstance(model(server).complete(PROMPT), Reply)
