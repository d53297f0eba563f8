"""The language model behind an OpenAI-compatible API, against a real server on this machine that behaves well, and badly."""

from __future__ import annotations

import json
import os
import pickle
import time
import traceback
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from tests.path.serving import KEY, Answer, Server, cut_short, dripping, hang_up, refusing, serving, well_with
from typer.testing import CliRunner

from bethink import InvalidInput, Memory, ModelFailed, OpenAIModel, Prompt, Reply, Settings
from bethink.cli.app import app
from bethink.models import http
from bethink.testing.doubles import summing_up

PROMPT = Prompt(purpose="summary", system="Sum it up.", user="The red kite flew.", max_tokens=50)


def answered(request: dict[str, Any]) -> dict[str, Any]:
    """As a well-behaved server answers: what is said in the tests' own words."""
    return choice({"role": "assistant", "content": f"{request['model']} has read {len(request['messages'])}"})


def choice(message: object, finish: str = "stop") -> dict[str, Any]:
    usage = {"prompt_tokens": 12, "completion_tokens": 5, "total_tokens": 17}
    return {"object": "chat.completion", "choices": [{"index": 0, "message": message, "finish_reason": finish}], "usage": usage}


def saying(body: object) -> Answer:
    return well_with(lambda _: body)


@pytest.fixture
def server(monkeypatch: pytest.MonkeyPatch) -> Iterator[Server]:
    monkeypatch.setattr(http, "_FIRST_WAIT", 0.001)
    for name in ("http_proxy", "https_proxy", "OPENAI_API_KEY", "OPENAI_BASE_URL"):
        monkeypatch.delenv(name, raising=False)
        monkeypatch.delenv(name.upper(), raising=False)
    with serving(well_with(answered)) as running:
        yield running


def model(server: Server, **options: Any) -> OpenAIModel:
    return OpenAIModel("m", **{"base_url": server.url, "api_key": KEY, "timeout": 5.0, **options})


def refused(server: Server, **options: Any) -> ModelFailed:
    """How asking fails. Neither the error nor its traceback may hold the key or the prompt."""
    with pytest.raises(ModelFailed) as raised:
        model(server, **options).complete(PROMPT)
    told = "".join(traceback.format_exception(raised.value))
    assert KEY not in told
    assert PROMPT.user not in told
    return raised.value


# -- a server that behaves well -------------------------------------------------------------------------------------------


def test_it_sends_what_the_api_asks_for_and_returns_what_was_said(server: Server) -> None:
    assert model(server).complete(PROMPT) == Reply("m has read 2", tokens_in=12, tokens_out=5)
    messages = [{"role": "system", "content": PROMPT.system}, {"role": "user", "content": PROMPT.user}]
    assert server.requests == [{"model": "m", "messages": messages, "max_tokens": 50}]
    path, headers, _ = server.seen[0]
    assert (path, headers["Authorization"]) == ("/v1/chat/completions", f"Bearer {KEY}")


def test_a_prompt_without_instructions_is_one_message(server: Server) -> None:
    model(server).complete(Prompt(purpose="summary", system="", user="kite", max_tokens=9))
    assert server.requests[0]["messages"] == [{"role": "user", "content": "kite"}]


def test_options_headers_and_room_to_think_go_along(server: Server) -> None:
    model(server, options={"temperature": 0}, headers={"api-key": "azure"}, thinking_tokens=100).complete(PROMPT)
    assert (server.requests[0]["temperature"], server.requests[0]["max_tokens"]) == (0, 150)
    assert server.seen[0][1]["api-key"] == "azure"


@pytest.mark.parametrize("url", ["https://api.openai.com/v1", "https://mara.openai.azure.com/openai/v1"])
def test_openai_itself_is_told_the_limit_by_its_newer_name(monkeypatch: pytest.MonkeyPatch, url: str) -> None:
    asked: list[dict[str, Any]] = []

    def post(_: http.JsonClient, _path: str, request: dict[str, Any], **_doubtful: object) -> dict[str, Any]:
        asked.append(request)
        return answered(request)

    monkeypatch.setattr(http.JsonClient, "post", post)
    OpenAIModel("m", base_url=url, api_key=KEY).complete(PROMPT)
    assert asked[0]["max_completion_tokens"] == 50
    assert "max_tokens" not in asked[0]


def test_an_answer_that_was_cut_off_says_so(server: Server) -> None:
    server.answers = [saying(choice({"content": "The red"}, "length"))]
    assert model(server).complete(PROMPT).truncated


@pytest.mark.parametrize(
    ("content", "text"),
    [("said", "said"), (None, ""), ([{"type": "text", "text": "in "}, {"type": "text", "text": "parts"}], "in parts")],
)
def test_words_come_as_a_string_as_parts_or_not_at_all(server: Server, content: object, text: str) -> None:
    server.answers = [saying(choice({"content": content}))]
    assert model(server).complete(PROMPT).text == text


@pytest.mark.parametrize("usage", [None, {}, {"prompt_tokens": "12"}, {"prompt_tokens": -1, "completion_tokens": True}, []])
def test_a_server_that_does_not_say_what_it_took_is_not_guessed_for(server: Server, usage: object) -> None:
    server.answers = [saying({**answered({"model": "m", "messages": []}), "usage": usage})]
    found = model(server).complete(PROMPT)
    assert (found.tokens_in, found.tokens_out) == (None, None)


# -- a server that behaves badly ------------------------------------------------------------------------------------------

PASSING = {
    **{f"HTTP {status}": refusing(status) for status in (408, 429, 500, 503)},
    "hangs up": hang_up,
    "cut short": cut_short(answered),
}


@pytest.mark.parametrize("answer", PASSING.values(), ids=PASSING)
def test_a_fault_that_passes_is_not_noticed(server: Server, answer: Answer) -> None:
    server.answers = [answer, answer]
    assert model(server).complete(PROMPT).text == "m has read 2"


@pytest.mark.parametrize("answer", PASSING.values(), ids=PASSING)
def test_a_fault_that_stays_is_an_error_after_so_many_attempts(server: Server, answer: Answer) -> None:
    server.answers = [answer] * 9
    assert "tried 2 times" in str(refused(server, retries=1))
    assert len(server.requests) == 2


def test_no_attempt_takes_longer_than_its_timeout(server: Server) -> None:
    server.answers = [dripping]
    started = time.monotonic()
    assert "no answer within 0.2 s" in str(refused(server, timeout=0.2, retries=0))
    assert time.monotonic() - started < 0.9


@pytest.mark.parametrize(("status", "told"), [(400, "model's name"), (401, "API key"), (413, "shorter prompt")])
def test_a_refusal_is_an_error_at_once_and_says_what_to_do(server: Server, status: int, told: str) -> None:
    server.answers = [refusing(status)]
    error = refused(server)
    assert (error.status, told in error.fix) == (status, True)
    assert len(server.requests) == 1


@pytest.mark.parametrize("body", [[], {}, {"choices": []}, {"choices": [None]}, {"choices": [{"message": "hi"}]}, "text"])
def test_an_answer_of_another_shape_is_an_error(server: Server, body: object) -> None:
    server.answers = [saying(body)]
    assert "without a message" in str(refused(server))


def test_the_error_survives_a_process_boundary(server: Server) -> None:
    server.answers = [refusing(401)]
    error = refused(server)
    again = pickle.loads(pickle.dumps(error))
    assert (str(again), again.status, again.name) == (str(error), 401, "m")


# -- keys and addresses ---------------------------------------------------------------------------------------------------


def test_a_key_of_the_environment_goes_to_no_server_that_is_named_here(server: Server, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", KEY)
    model(server, api_key=None).complete(PROMPT)
    assert "Authorization" not in server.seen[0][1]


def test_its_repr_holds_no_key(server: Server) -> None:
    assert KEY not in repr(model(server, headers={"api-key": KEY}))


@pytest.mark.parametrize(
    "options",
    [
        {"timeout": 0.0},
        {"retries": -1},
        {"thinking_tokens": -1},
        {"options": {"messages": []}},
        {"options": {"stream": True}},
        {"headers": {"a b": "c"}},
        {"headers": {"api-key": "a\nb"}},
        {"api_key": "a b"},
        {"base_url": "localhost"},
    ],
)
def test_what_cannot_be_sent_is_refused_when_it_is_made(server: Server, options: dict[str, Any]) -> None:
    with pytest.raises(InvalidInput):
        model(server, **options)


def test_openai_itself_needs_a_key(server: Server) -> None:
    with pytest.raises(InvalidInput, match="OPENAI_API_KEY"):
        OpenAIModel("m")


# -- in use ---------------------------------------------------------------------------------------------------------------


def summaries(request: dict[str, Any]) -> dict[str, Any]:
    system, user = (message["content"] for message in request["messages"])
    return choice({"content": summing_up(Prompt(purpose="summary", system=system, user=user, max_tokens=999))})


def folded(path: Path) -> None:
    with Memory(path, settings=Settings(window=900, segment_messages=6), embedder=None) as memory:
        thread = memory.thread("parcels")
        for number in range(24):
            thread.add("user", f"Parcel QX-{number} goes to depot {number} on Monday.")
            thread.add("assistant", f"Noted, depot {number}.")
        thread.context()


def command(*arguments: str, url: str) -> tuple[int, str]:
    found = CliRunner().invoke(app, [*arguments, "--embedder", "none"], env={"OPENAI_BASE_URL": url, **os.environ})
    return found.exit_code, found.output


def test_the_command_line_has_a_server_write_the_summaries_that_are_due(server: Server, tmp_path: Path) -> None:
    path = tmp_path / "agent.db"
    folded(path)
    server.well = well_with(summaries)
    code, told = command("refine", "--model", "openai:small", "--db", str(path), "--json", url=server.url)
    assert code == 0, told
    assert json.loads(told)["attempts"]
    with Memory(path, embedder=None) as memory:
        assert {node.author for node in memory.thread("parcels").summaries()} == {"small"}


def test_a_server_that_fails_leaves_the_summaries_as_they_were_and_the_exit_code_says_so(
    server: Server, tmp_path: Path
) -> None:
    path = tmp_path / "agent.db"
    folded(path)
    server.well = refusing(401)
    code, told = command("refine", "parcels", "--model", "openai:small", "--db", str(path), url=server.url)
    assert (code, "ModelFailed: HTTP 401" in told, KEY in told) == (1, True, False)
    with Memory(path, embedder=None) as memory:
        assert {node.author for node in memory.thread("parcels").summaries()} == {"extractive"}
