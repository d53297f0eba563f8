"""Answers held to a JSON Schema, against real servers on this machine that know schemas, JSON alone, or neither."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.path.serving import KEY, Answer, Handler, Server, refusing, serving

from bethink import InvalidInput, ModelFailed, OpenAIModel, Prompt
from bethink.models import http
from bethink.models.structured import MENTIONED, Structured, response_format

CLOSED = {
    "type": "object",
    "properties": {"facts": {"type": "array", "items": {"type": "string"}}},
    "required": ["facts"],
    "additionalProperties": False,
}
PROMPT = Prompt(purpose="extract", system="List facts as JSON.", user="I moved to Ghent.", max_tokens=50, schema=CLOSED)
WORDS = Prompt(purpose="summary", system="Sum it up.", user="I moved to Ghent.", max_tokens=50)
OTHER = Prompt(purpose="reconcile", system="As JSON.", user="...", max_tokens=50, schema=CLOSED)

# What servers have been seen to answer to a field that they do not take.
REFUSALS: dict[str, object] = {
    "OpenAI": {
        "error": {
            "message": "Invalid parameter: 'response_format' of type 'json_schema' is not supported with this model.",
            "type": "invalid_request_error",
            "param": "response_format",
            "code": None,
        }
    },
    "LM Studio": {"error": "'response_format.type' must be 'json_schema' or 'text'"},
    "llama.cpp": {"error": {"code": 400, "message": 'response_format type must be one of "text" or "json_object"'}},
    "llama.cpp, of a schema": {"error": {"code": 400, "message": "JSON schema error at #: unrecognized type"}},
    "vLLM": {"object": "error", "message": "[{'type': 'extra_forbidden', 'loc': ('body', 'response_format')}]", "code": 400},
    "Groq": {"error": {"message": "This model does not support response format `json_schema`."}},
    "DeepSeek": {"error": {"message": "This response_format type is unavailable now", "code": "invalid_request_error"}},
}


def form_of(request: dict[str, Any]) -> str:
    return str(request.get("response_format", {"type": "none"})["type"])


def knowing(*forms: str, refusal: object = REFUSALS["OpenAI"], status: int = 400) -> Answer:
    """A server that takes these forms, and no others."""

    def answer(handler: Handler, request: dict[str, Any]) -> None:
        if form_of(request) not in forms:
            refusing(status, refusal)(handler, request)
            return
        message = {"role": "assistant", "content": '{"facts": []}'}
        handler.send(200, json.dumps({"choices": [{"message": message, "finish_reason": "stop"}]}).encode())

    return answer


@pytest.fixture
def server(monkeypatch: pytest.MonkeyPatch) -> Iterator[Server]:
    monkeypatch.setattr(http, "_FIRST_WAIT", 0.001)
    for name in ("http_proxy", "https_proxy"):
        monkeypatch.delenv(name, raising=False)
        monkeypatch.delenv(name.upper(), raising=False)
    with serving(knowing("json_schema", "json_object", "none")) as running:
        yield running


def model(server: Server, structured: Structured = "auto", **options: Any) -> OpenAIModel:
    return OpenAIModel("m", base_url=server.url, api_key=KEY, timeout=5.0, structured=structured, **options)


def forms(server: Server) -> list[str]:
    return [form_of(request) for request in server.requests]


# -- what is sent ---------------------------------------------------------------------------------------------------------


def test_a_prompt_with_a_schema_is_sent_it(server: Server) -> None:
    model(server).complete(PROMPT)
    asked = {"name": "extract", "schema": CLOSED, "strict": True}
    assert server.requests[0]["response_format"] == {"type": "json_schema", "json_schema": asked}


def test_a_prompt_without_one_asks_for_no_form(server: Server) -> None:
    model(server).complete(WORDS)
    assert "response_format" not in server.requests[0]


@pytest.mark.parametrize(
    "schema",
    [
        {"type": "object"},
        {**CLOSED, "additionalProperties": True},
        {**CLOSED, "required": []},
        {"type": "array", "items": {"type": "object", "properties": {"a": {}}}},
        {**CLOSED, "$defs": {"inner": {"type": "object"}}},
    ],
)
def test_a_schema_that_openai_would_not_take_to_the_letter_is_not_sent_as_strict(schema: dict[str, Any]) -> None:
    prompt = Prompt(purpose="p", system="", user="", max_tokens=1, schema=schema)
    assert response_format(prompt, "schema")["response_format"]["json_schema"]["strict"] is False


@given(st.text(min_size=1, max_size=200))
def test_for_any_purpose_the_schema_has_a_name_that_servers_take(purpose: str) -> None:
    prompt = Prompt(purpose=purpose, system="", user="", max_tokens=1, schema=CLOSED)
    name = response_format(prompt, "schema")["response_format"]["json_schema"]["name"]
    assert 1 <= len(name) <= 64
    assert all(letter.isascii() and (letter.isalnum() or letter in "_-") for letter in name)


@pytest.mark.parametrize(("structured", "form"), [("schema", "json_schema"), ("object", "json_object"), ("none", "none")])
def test_a_form_that_is_chosen_is_the_only_one(server: Server, structured: Structured, form: str) -> None:
    model(server, structured).complete(PROMPT)
    server.well = knowing("text")
    if structured != "none":
        with pytest.raises(ModelFailed, match="HTTP 400"):
            model(server, structured).complete(PROMPT)
    assert set(forms(server)) == {form}


def test_a_form_among_the_options_takes_the_place_of_all(server: Server) -> None:
    server.well = knowing("text")
    model(server, options={"response_format": {"type": "text"}}).complete(PROMPT)
    assert forms(server) == ["text"]


def test_a_form_that_is_none_is_refused(server: Server) -> None:
    with pytest.raises(InvalidInput, match=r"structured: 'json'.*auto, schema, object, none"):
        model(server, "json")  # type: ignore[arg-type]


# -- what is refused ------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("status", [400, 422, 501])
@pytest.mark.parametrize("refusal", REFUSALS.values(), ids=REFUSALS)
def test_a_server_that_refuses_schemas_is_asked_for_json_and_the_answer_counts(
    server: Server, refusal: object, status: int
) -> None:
    server.well = knowing("json_object", "none", refusal=refusal, status=status)
    assert model(server).complete(PROMPT).text == '{"facts": []}'
    assert forms(server) == ["json_schema", "json_object"]


def test_a_server_that_refuses_both_is_asked_with_neither(server: Server) -> None:
    server.well = knowing("none")
    model(server).complete(PROMPT)
    assert forms(server) == ["json_schema", "json_object", "none"]


def test_what_it_took_is_remembered(server: Server) -> None:
    server.well = knowing("none")
    asking = model(server)
    for _ in range(3):
        asking.complete(PROMPT)
    assert forms(server) == ["json_schema", "json_object", "none", "none", "none"]


def test_what_it_refused_for_one_purpose_may_do_for_another(server: Server) -> None:
    server.answers = [refusing(400, REFUSALS["llama.cpp, of a schema"])]
    asking = model(server)
    for prompt in (PROMPT, OTHER, PROMPT):
        asking.complete(prompt)
    assert forms(server) == ["json_schema", "json_object", "json_schema", "json_object"]


def test_a_refusal_that_is_about_something_else_is_an_error_at_once(server: Server) -> None:
    server.answers = [refusing(400, {"error": {"message": "no such model", "code": "model_not_found"}})]
    with pytest.raises(ModelFailed, match="model_not_found"):
        model(server).complete(PROMPT)
    assert len(server.requests) == 1


def test_a_refusal_that_does_not_go_away_teaches_nothing(server: Server) -> None:
    server.answers = [refusing(400, REFUSALS["OpenAI"])] * 3
    asking = model(server)
    with pytest.raises(ModelFailed, match="HTTP 400"):
        asking.complete(PROMPT)
    asking.complete(PROMPT)
    assert forms(server) == ["json_schema", "json_object", "none", "json_schema"]


@pytest.mark.parametrize("status", [429, 500, 503])
def test_a_fault_that_passes_is_no_refusal_of_the_form(server: Server, status: int) -> None:
    server.answers = [refusing(status, REFUSALS["OpenAI"])]
    model(server).complete(PROMPT)
    assert forms(server) == ["json_schema", "json_schema"]


def test_words_that_are_no_json_come_through_where_a_server_takes_the_field_and_does_not_heed_it(server: Server) -> None:
    server.answers = [lambda handler, _: handler.send(200, b'{"choices": [{"message": {"content": "Sure! Here: {}"}}]}')]
    assert model(server).complete(PROMPT).text == "Sure! Here: {}"


def test_many_threads_find_the_same_way(server: Server) -> None:
    server.well = knowing("none")
    asking = model(server)
    with ThreadPoolExecutor(8) as threads:
        assert {reply.text for reply in threads.map(asking.complete, [PROMPT] * 24)} == {'{"facts": []}'}
    asking.complete(PROMPT)
    assert forms(server)[-1] == "none"


@pytest.mark.parametrize("told", ["no such model", "context length exceeded", "invalid api key", "quota"])
def test_other_refusals_do_not_mention_the_form(told: str) -> None:
    assert MENTIONED.search(told.encode()) is None


# -- the other field that servers differ in -------------------------------------------------------------------------------


def limits_named(name: str, refusal: str) -> Answer:
    def answer(handler: Handler, request: dict[str, Any]) -> None:
        if name not in request:
            refusing(400, {"error": {"message": refusal, "code": "unsupported_parameter"}})(handler, request)
            return
        handler.send(200, b'{"choices": [{"message": {"content": "said"}}]}')

    return answer


NEWER = "Unsupported parameter: 'max_tokens' is not supported with this model. Use 'max_completion_tokens' instead."
OLDER = "Unrecognized request argument supplied: max_completion_tokens"


def newer_first(asking: OpenAIModel) -> OpenAIModel:
    asking._limit = "max_completion_tokens"
    return asking


@pytest.mark.parametrize(
    ("name", "refusal", "begins"), [("max_completion_tokens", NEWER, lambda asking: asking), ("max_tokens", OLDER, newer_first)]
)
def test_a_limit_by_a_name_that_is_refused_is_given_by_the_other_and_that_is_remembered(
    server: Server, name: str, refusal: str, begins: Callable[[OpenAIModel], OpenAIModel]
) -> None:
    server.well = limits_named(name, refusal)
    asking = begins(model(server))
    for prompt in (WORDS, PROMPT):
        assert asking.complete(prompt).text == "said"
    assert [name in request for request in server.requests] == [False, True, True]
    assert all(len({"max_tokens", "max_completion_tokens"} & set(request)) == 1 for request in server.requests)
