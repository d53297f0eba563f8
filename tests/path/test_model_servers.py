"""Language models by the names of their servers: where each is, which key it gets, and what is made of its dialect.

Each dialect is played by a real server on this machine, as the server of that name answers, in good times and in bad.
"""

from __future__ import annotations

import sys
import time
import traceback
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, NamedTuple, cast

import pytest
from tests.path.serving import KEY, Answer, Server, cut_short, dripping, hang_up, refusing, serving, well_with

from bethink import InvalidInput, Memory, MissingExtra, ModelFailed, OpenAIModel, Prompt, Reply, Settings
from bethink.models import http
from bethink.models.named import language_model_named
from bethink.testing.doubles import summing_up

PROMPT = Prompt(purpose="summary", system="Sum it up.", user="The red kite flew.", max_tokens=50)
VARIABLES = (
    "OPENAI_API_KEY",
    "OPENAI_BASE_URL",
    "OPENAI_API_VERSION",
    "AZURE_OPENAI_ENDPOINT",
    "AZURE_OPENAI_API_KEY",
    "OLLAMA_HOST",
    "OLLAMA_API_KEY",
    "VLLM_BASE_URL",
    "VLLM_API_KEY",
    "LLAMA_BASE_URL",
    "LLAMA_API_KEY",
)


class Dialect(NamedTuple):
    """How a kind of server is named, found, asked, and how it answers.

    Attributes:
        address: its variable, and what stands in it of the server's URL.
        key: the variable of its key, and the header that carries it.
        path, limit: of the requests.
        extras: fields of its own in an answer, in its choice, and in its message.
    """

    kind: str
    address: tuple[str, Callable[[str], str]]
    key: tuple[str, str]
    path: str
    limit: str
    extras: tuple[dict[str, Any], dict[str, Any], dict[str, Any]]

    def answer(self, content: object = "said", finish: str | None = "stop", **message: Any) -> dict[str, Any]:
        whole, choice, own = self.extras
        said = {"role": "assistant", "content": content, **own, **message}
        return {
            "id": "chatcmpl-1",
            "object": "chat.completion",
            "choices": [{"index": 0, "message": said, "finish_reason": finish, **choice}],
            "usage": {"prompt_tokens": 12, "completion_tokens": 5, "total_tokens": 17},
            **whole,
        }


def root(url: str) -> str:
    return url.removesuffix("/v1")


SAFE = {"hate": {"filtered": False, "severity": "safe"}}
DIALECTS = [
    Dialect(
        "openai",
        ("OPENAI_BASE_URL", str),
        ("OPENAI_API_KEY", "Authorization"),
        "/v1/chat/completions",
        "max_tokens",
        (
            {"service_tier": "default", "system_fingerprint": "fp_1"},
            {"logprobs": None},
            {"refusal": None, "annotations": []},
        ),
    ),
    Dialect(
        "azure",
        ("AZURE_OPENAI_ENDPOINT", root),
        ("AZURE_OPENAI_API_KEY", "api-key"),
        "/openai/v1/chat/completions",
        "max_completion_tokens",
        (
            {"prompt_filter_results": [{"prompt_index": 0, "content_filter_results": SAFE}]},
            {"content_filter_results": SAFE},
            {"refusal": None},
        ),
    ),
    Dialect(
        "ollama",
        ("OLLAMA_HOST", lambda url: root(url).removeprefix("http://")),
        ("OLLAMA_API_KEY", "Authorization"),
        "/v1/chat/completions",
        "max_tokens",
        ({"system_fingerprint": "fp_ollama"}, {}, {"reasoning": "Kites are birds."}),
    ),
    Dialect(
        "vllm",
        ("VLLM_BASE_URL", str),
        ("VLLM_API_KEY", "Authorization"),
        "/v1/chat/completions",
        "max_tokens",
        (
            {"prompt_logprobs": None, "kv_transfer_params": None},
            {"stop_reason": None, "token_ids": None},
            {"reasoning_content": "Kites are birds.", "tool_calls": [], "refusal": None},
        ),
    ),
    Dialect(
        "llamacpp",
        ("LLAMA_BASE_URL", str),
        ("LLAMA_API_KEY", "Authorization"),
        "/v1/chat/completions",
        "max_tokens",
        ({"timings": {"prompt_n": 12, "predicted_n": 5}}, {}, {"reasoning_content": "Kites are birds."}),
    ),
]


@pytest.fixture(autouse=True)
def no_variables(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(http, "_FIRST_WAIT", 0.001)
    for name in (*VARIABLES, "http_proxy", "https_proxy", "HTTP_PROXY", "HTTPS_PROXY"):
        monkeypatch.delenv(name, raising=False)


@pytest.fixture(params=DIALECTS, ids=lambda dialect: dialect.kind)
def dialect(request: pytest.FixtureRequest) -> Dialect:
    return cast("Dialect", request.param)


@pytest.fixture
def server(dialect: Dialect, monkeypatch: pytest.MonkeyPatch) -> Iterator[Server]:
    with serving(well_with(lambda _: dialect.answer())) as running:
        variable, written = dialect.address
        monkeypatch.setenv(variable, written(running.url))
        monkeypatch.setenv(dialect.key[0], KEY)
        yield running


def asked(dialect: Dialect, **changed: Any) -> Reply:
    return named(dialect, **changed).complete(PROMPT)


def named(dialect: Dialect, **changed: Any) -> OpenAIModel:
    model = language_model_named(f"{dialect.kind}:kite-1")
    assert isinstance(model, OpenAIModel)
    for name, value in changed.items():
        setattr(model._client, f"_{name}", value)
    return model


def refused(dialect: Dialect, **changed: Any) -> ModelFailed:
    with pytest.raises(ModelFailed) as raised:
        asked(dialect, **changed)
    told = "".join(traceback.format_exception(raised.value))
    assert KEY not in told
    assert PROMPT.user not in told
    return raised.value


# -- in good times --------------------------------------------------------------------------------------------------------


def test_a_server_is_found_by_its_own_variables_and_gets_its_own_key(
    dialect: Dialect, server: Server, monkeypatch: pytest.MonkeyPatch
) -> None:
    if dialect.kind != "openai":
        monkeypatch.setenv("OPENAI_API_KEY", "sk-of-another-server")
    model = named(dialect)
    assert (model.name, model.complete(PROMPT)) == ("kite-1", Reply("said", tokens_in=12, tokens_out=5))
    path, headers, _ = server.seen[0]
    assert path == dialect.path
    assert headers[dialect.key[1]] in (KEY, f"Bearer {KEY}")
    assert "sk-of-another-server" not in str(headers)
    assert server.requests[0]["model"] == "kite-1"
    assert server.requests[0][dialect.limit] == 50


@pytest.mark.parametrize(
    "dialect", [each for each in DIALECTS if each.kind != "azure"], ids=lambda each: each.kind, indirect=True
)
def test_a_server_without_a_key_is_sent_none(dialect: Dialect, server: Server, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv(dialect.key[0])
    asked(dialect)
    assert "Authorization" not in server.seen[0][1]


def test_an_answer_that_was_cut_off_says_so(dialect: Dialect, server: Server) -> None:
    server.answers = [well_with(lambda _: dialect.answer("The red", "length"))]
    found = asked(dialect)
    assert (found.text, found.truncated) == ("The red", True)


def test_a_model_that_only_got_to_think_was_cut_off_and_said_nothing(dialect: Dialect, server: Server) -> None:
    server.answers = [well_with(lambda _: dialect.answer("", "length", reasoning_content="So a kite is"))]
    found = asked(dialect)
    assert (found.text, found.truncated, found.tokens_out) == ("", True, 5)


@pytest.mark.parametrize(
    ("content", "text"),
    [
        ("<think>\nA kite is a bird.\n</think>\n\nIt flew.", "It flew."),
        ("\n<think></think>It flew.", "It flew."),
        ("<think>A kite is", ""),
        ("It flew. <think>is no mark here</think>", "It flew. <think>is no mark here</think>"),
    ],
)
def test_what_a_model_thinks_before_it_speaks_is_no_part_of_the_answer(
    dialect: Dialect, server: Server, content: str, text: str
) -> None:
    server.answers = [well_with(lambda _: dialect.answer(content))]
    assert asked(dialect).text == text


def test_a_refusal_of_the_model_is_a_paid_answer_without_words(dialect: Dialect, server: Server) -> None:
    server.answers = [well_with(lambda _: dialect.answer(None, refusal="I cannot help with that."))]
    assert asked(dialect) == Reply("", tokens_in=12, tokens_out=5)


def test_an_answer_that_a_filter_stopped_was_cut_off(dialect: Dialect, server: Server) -> None:
    server.answers = [well_with(lambda _: dialect.answer("The red", "content_filter"))]
    assert asked(dialect).truncated


def test_an_answer_whose_end_has_no_reason_is_whole(dialect: Dialect, server: Server) -> None:
    server.answers = [well_with(lambda _: dialect.answer(finish=None))]
    assert asked(dialect) == Reply("said", tokens_in=12, tokens_out=5)


def test_a_server_that_does_not_say_what_it_took_is_not_guessed_for(dialect: Dialect, server: Server) -> None:
    answer = dialect.answer()
    del answer["usage"]
    server.answers = [well_with(lambda _: answer)]
    assert asked(dialect) == Reply("said")


# -- in bad times ---------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("headers", "waited"),
    [({"Retry_After": "7"}, 7.0), ({"retry_after_ms": "1250", "Retry_After": "2"}, 1.25), ({"retry_after_ms": "soon"}, 0.001)],
)
def test_a_server_that_is_asked_too_much_is_asked_again_as_long_after_as_it_says(
    dialect: Dialect, server: Server, monkeypatch: pytest.MonkeyPatch, headers: dict[str, str], waited: float
) -> None:
    waits: list[float] = []
    monkeypatch.setattr(time, "sleep", waits.append)
    server.answers = [refusing(429, {"error": {"code": "429", "message": "Rate limit exceeded"}}, **headers)]
    assert asked(dialect).text == "said"
    assert waits == [pytest.approx(waited, rel=0.25)]


def test_a_server_that_asks_for_too_long_a_wait_is_not_waited_for(dialect: Dialect, server: Server) -> None:
    server.answers = [refusing(429, Retry_After="3600")]
    assert refused(dialect).status == 429
    assert len(server.requests) == 1


@pytest.mark.parametrize("answer", [refusing(500), refusing(503), hang_up, cut_short(lambda _: {"choices": []})])
def test_a_fault_that_passes_is_not_noticed_and_one_that_stays_is_an_error(
    dialect: Dialect, server: Server, answer: Answer
) -> None:
    server.answers = [answer]
    assert asked(dialect).text == "said"
    server.answers = [answer] * 3
    assert "tried 3 times" in str(refused(dialect))


def test_a_server_that_takes_too_long_is_an_error(dialect: Dialect, server: Server) -> None:
    server.answers = [dripping]
    started = time.monotonic()
    assert "no answer within 0.2 s" in str(refused(dialect, timeout=0.2, retries=0))
    assert time.monotonic() - started < 0.9


@pytest.mark.parametrize(
    ("body", "told"),
    [
        ({"choices": []}, "an answer without a message"),
        ({"choices": [], "usage": None}, "an answer without a message"),
        ({"error": {"code": "model_not_loaded", "message": KEY}}, "an error in place of an answer (model_not_loaded)"),
        ({"error": KEY}, "an error in place of an answer"),
        ({"error": {"code": 502, "message": KEY}, "choices": None}, "an error in place of an answer"),
    ],
)
def test_an_answer_that_holds_none_is_an_error(dialect: Dialect, server: Server, body: object, told: str) -> None:
    server.answers = [well_with(lambda _: body)]
    assert refused(dialect).problem == told


@pytest.mark.parametrize(
    ("error", "fix"),
    [
        ({"code": "content_filter", "innererror": {"code": "ResponsibleAIPolicyViolation"}, "status": 400}, "filter"),
        ({"code": "context_length_exceeded", "type": "invalid_request_error"}, "less at once"),
        ({"code": 400, "type": "exceed_context_size_error", "n_ctx": 4096}, "less at once"),
    ],
)
def test_a_prompt_that_is_refused_for_what_it_is_says_so(
    dialect: Dialect, server: Server, error: dict[str, Any], fix: str
) -> None:
    server.answers = [refusing(400, {"error": {"message": f"{PROMPT.user} {KEY}", **error}})]
    found = refused(dialect)
    assert (found.status, fix in found.fix) == (400, True)
    assert len(server.requests) == 1


def test_a_server_writes_the_summaries_of_a_thread(dialect: Dialect, server: Server, tmp_path: Path) -> None:
    def summing(request: dict[str, Any]) -> object:
        system, user = (message["content"] for message in request["messages"])
        return dialect.answer(summing_up(Prompt(purpose="summary", system=system, user=user, max_tokens=999)))

    server.well = well_with(summing)
    settings = Settings(window=900, segment_messages=6, refine="manual")
    with Memory(tmp_path / "m.db", language_model=f"{dialect.kind}:kite-1", settings=settings, embedder=None) as memory:
        thread = memory.thread("parcels")
        for number in range(24):
            thread.add("user", f"Parcel QX-{number} goes to depot {number} on Monday.")
            thread.add("assistant", f"Noted, depot {number}.")
        thread.context()
        assert thread.refine().failed == ()
        assert {node.author for node in thread.summaries()} == {"kite-1"}


# -- names ----------------------------------------------------------------------------------------------------------------


def address(model: object) -> str:
    assert isinstance(model, OpenAIModel)
    return f"{model._client._url.geturl()}/{model._path}"


@pytest.mark.parametrize(
    ("name", "url"),
    [
        ("ollama:llama3.2", "http://127.0.0.1:11434/v1/chat/completions"),
        ("ollama:qwen3:8b", "http://127.0.0.1:11434/v1/chat/completions"),
        ("vllm:Qwen/Qwen3-8B", "http://127.0.0.1:8000/v1/chat/completions"),
        ("llamacpp:any", "http://127.0.0.1:8080/v1/chat/completions"),
    ],
)
def test_a_server_of_ones_own_is_looked_for_on_this_machine(name: str, url: str) -> None:
    model = language_model_named(name)
    assert (address(model), model.name) == (url, name.partition(":")[2])


@pytest.mark.parametrize(
    ("host", "url"),
    [
        ("", "http://127.0.0.1:11434/v1"),
        ("0.0.0.0", "http://127.0.0.1:11434/v1"),
        ("0.0.0.0:11500", "http://127.0.0.1:11500/v1"),
        ("[::]:11500", "http://127.0.0.1:11500/v1"),
        ("[fd00::1]:11500", "http://[fd00::1]:11500/v1"),
        ("gpu-1", "http://gpu-1:11434/v1"),
        ("gpu-1:80/", "http://gpu-1:80/v1"),
        ("http://gpu-1", "http://gpu-1:80/v1"),
        ("https://ollama.example/proxy", "https://ollama.example:443/proxy/v1"),
        ("http://gpu-1:11434/v1", "http://gpu-1:11434/v1"),
    ],
)
def test_the_address_of_ollama_is_read_as_ollama_reads_it(monkeypatch: pytest.MonkeyPatch, host: str, url: str) -> None:
    monkeypatch.setenv("OLLAMA_HOST", host)
    assert address(language_model_named("ollama:llama3.2")) == f"{url}/chat/completions"


@pytest.mark.parametrize("host", ["gpu-1:port", "ftp://gpu-1", "http://[::1"])
def test_an_address_that_is_none_is_refused(monkeypatch: pytest.MonkeyPatch, host: str) -> None:
    monkeypatch.setenv("OLLAMA_HOST", host)
    with pytest.raises(InvalidInput, match="base_url"):
        language_model_named("ollama:llama3.2")


@pytest.mark.parametrize("name", ["gpt-4o", "ollama", "azure:", "minilm", "", ":x"])
def test_a_name_that_is_none_is_refused_with_all_that_are(name: str) -> None:
    with pytest.raises(InvalidInput, match=r"openai:MODEL, azure:DEPLOYMENT, ollama:MODEL.*litellm:PROVIDER/MODEL"):
        language_model_named(name)


# -- Azure ----------------------------------------------------------------------------------------------------------------

ENDPOINT = "https://mara.openai.azure.com"


@pytest.mark.parametrize("endpoint", [ENDPOINT, f"{ENDPOINT}/", f"{ENDPOINT}/openai", f"{ENDPOINT}/openai/v1/"])
def test_azure_without_a_version_is_its_api_without_versions(endpoint: str) -> None:
    model = OpenAIModel.azure("small", endpoint=endpoint, api_key=KEY)
    assert address(model) == f"{ENDPOINT}/openai/v1/chat/completions"


def test_azure_with_a_version_is_the_api_of_that_deployment(monkeypatch: pytest.MonkeyPatch) -> None:
    expected = f"{ENDPOINT}/openai/deployments/my%20small%2F1/chat/completions?api-version=2024-10-21"
    given = OpenAIModel.azure("my small/1", endpoint=ENDPOINT, api_key=KEY, api_version="2024-10-21")
    monkeypatch.setenv("OPENAI_API_VERSION", "2024-10-21")
    read = OpenAIModel.azure("my small/1", endpoint=ENDPOINT, api_key=KEY)
    assert (address(given), address(read)) == (expected, expected)


def test_a_version_goes_along_with_each_request(monkeypatch: pytest.MonkeyPatch) -> None:
    with serving(well_with(lambda _: DIALECTS[1].answer())) as running:
        model = OpenAIModel.azure("small", endpoint=root(running.url), api_key=KEY, api_version="2024-10-21", timeout=5.0)
        assert model.complete(PROMPT).text == "said"
        assert running.seen[0][0] == "/openai/deployments/small/chat/completions?api-version=2024-10-21"
        assert running.seen[0][1]["api-key"] == KEY
        assert "Authorization" not in running.seen[0][1]


def test_a_token_of_ones_own_takes_the_place_of_the_key() -> None:
    with serving(well_with(lambda _: DIALECTS[1].answer())) as running:
        token = {"Authorization": "Bearer of-entra"}
        OpenAIModel.azure("small", endpoint=root(running.url), headers=token, timeout=5.0).complete(PROMPT)
        assert running.seen[0][1]["Authorization"] == "Bearer of-entra"
        assert "api-key" not in running.seen[0][1]


def test_the_key_of_the_environment_goes_to_the_endpoint_of_the_environment_alone(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("AZURE_OPENAI_API_KEY", KEY)
    with pytest.raises(InvalidInput, match="api_key: none"):
        OpenAIModel.azure("small", endpoint="https://another.openai.azure.com")


@pytest.mark.parametrize(
    ("given", "told"),
    [
        ({}, "AZURE_OPENAI_ENDPOINT"),
        ({"endpoint": ENDPOINT}, "AZURE_OPENAI_API_KEY"),
        ({"endpoint": ENDPOINT, "api_key": " "}, "AZURE_OPENAI_API_KEY"),
        ({"endpoint": "mara", "api_key": KEY}, "base_url"),
        ({"endpoint": ENDPOINT, "api_key": "a\nb"}, "headers"),
        ({"endpoint": ENDPOINT, "api_key": KEY, "api_version": "2024&x=1"}, "api_version"),
        ({"endpoint": ENDPOINT, "api_key": KEY, "retries": -1}, "retries"),
    ],
)
def test_what_cannot_be_sent_to_azure_is_refused_when_it_is_made(given: dict[str, Any], told: str) -> None:
    with pytest.raises(InvalidInput, match=told) as raised:
        OpenAIModel.azure("small", **given)
    assert KEY not in str(raised.value)


def test_no_repr_shows_the_key_of_azure() -> None:
    assert KEY not in repr(OpenAIModel.azure("small", endpoint=ENDPOINT, api_key=KEY))


# -- LiteLLM --------------------------------------------------------------------------------------------------------------


def test_without_litellm_it_says_what_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    # None in the place of a module is how Python is told that there is none, whether it is installed here or not.
    monkeypatch.setitem(sys.modules, "litellm", None)
    with pytest.raises(MissingExtra, match=r'pip install "bethink\[litellm\]"'):
        Memory(language_model="litellm:anthropic/claude-sonnet-4-5")
