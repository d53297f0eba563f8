"""The embedder behind an OpenAI-compatible API, against a real server on this machine that behaves well, and badly."""

from __future__ import annotations

import json
import os
import pickle
import socket
import threading
import time
import traceback
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from tests.path.serving import KEY, Answer, Handler, Server, cut_short, dripping, hang_up, refusing, serving, well_with
from typer.testing import CliRunner

from bethink import EmbeddingFailed, InvalidInput, Memory, OpenAIEmbedder
from bethink.cli.app import app
from bethink.models import http
from bethink.models.vectors import PROBES
from bethink.testing.doubles import HashEmbedder

TEXTS = ("red kite", "blue heron", "barn owl")


def vectors_of(request: dict[str, Any]) -> list[dict[str, Any]]:
    """What a well-behaved server puts under "data"."""
    found = HashEmbedder(request.get("dimensions", 16), request["model"]).embed(request["input"])
    return [{"object": "embedding", "index": index, "embedding": vector.tolist()} for index, vector in enumerate(found)]


def answered(request: dict[str, Any]) -> dict[str, Any]:
    return {"object": "list", "data": vectors_of(request)}


well = well_with(answered)


def giving(change: Callable[[list[dict[str, Any]]], object]) -> Answer:
    return well_with(lambda request: {"data": change(vectors_of(request))})


@pytest.fixture
def server(monkeypatch: pytest.MonkeyPatch) -> Iterator[Server]:
    monkeypatch.setattr(http, "_FIRST_WAIT", 0.001)
    for name in ("http_proxy", "https_proxy", "OPENAI_API_KEY", "OPENAI_BASE_URL"):
        monkeypatch.delenv(name, raising=False)
        monkeypatch.delenv(name.upper(), raising=False)
    with serving(well) as running:
        yield running


def embedder(server: Server, **options: Any) -> OpenAIEmbedder:
    return OpenAIEmbedder("m", **{"base_url": server.url, "api_key": KEY, "timeout": 5.0, **options})


def refused(server: Server, **options: Any) -> EmbeddingFailed:
    """How embedding fails. Neither the error nor its traceback may hold the key or a text."""
    with pytest.raises(EmbeddingFailed) as raised:
        embedder(server, **options).embed(TEXTS)
    told = "".join(traceback.format_exception(raised.value))
    assert KEY not in told
    assert TEXTS[0] not in told
    return raised.value


# -- a server that behaves well -------------------------------------------------------------------------------------------


def test_it_sends_what_the_api_asks_for_and_returns_unit_vectors(server: Server) -> None:
    found = embedder(server).embed(TEXTS)
    np.testing.assert_allclose(found, HashEmbedder(16, "m").embed(TEXTS), atol=1e-6)
    assert server.requests == [{"model": "m", "input": list(TEXTS), "encoding_format": "float"}]
    path, headers, _ = server.seen[0]
    assert (path, headers["Authorization"]) == ("/v1/embeddings", f"Bearer {KEY}")


def test_shorter_vectors_are_asked_for_only_if_somebody_does(server: Server) -> None:
    assert embedder(server, dimensions=8).embed(["x"]).shape == (1, 8)
    assert server.requests[0]["dimensions"] == 8


def test_a_memory_finds_by_what_the_server_says(server: Server) -> None:
    with Memory(embedder=embedder(server)) as memory:
        memory.thread("t").append([{"role": "user", "content": text} for text in TEXTS])
        assert memory.recall("kite")[0].text == "red kite"
    assert server.requests[0]["input"] == list(PROBES)


def test_making_one_and_appending_sends_nothing(server: Server) -> None:
    with Memory(embedder=embedder(server)) as memory:
        memory.thread("t").add("user", "hello")
    assert server.requests == []


def test_one_connection_serves_all_requests_of_a_thread(server: Server) -> None:
    model = embedder(server, batch_size=1)
    model.embed(TEXTS)
    assert len({port for _, _, port in server.seen}) == 1


def test_a_connection_that_the_server_has_closed_meanwhile_is_no_failure(server: Server) -> None:
    model = embedder(server, retries=0)

    def closing(handler: Handler, request: dict[str, Any]) -> None:
        well(handler, request)
        handler.close_connection = True

    server.answers = [closing]
    model.embed(TEXTS)
    time.sleep(0.05)
    assert len(model.embed(TEXTS)) == 3


def test_threads_have_connections_of_their_own(server: Server) -> None:
    model = embedder(server)
    expected = model.embed(TEXTS).tobytes()
    found: list[bytes] = []
    threads = [threading.Thread(target=lambda: found.append(model.embed(TEXTS).tobytes())) for _ in range(6)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert found == [expected] * 6


@pytest.mark.parametrize(("texts", "options", "sizes"), [(7, {"batch_size": 3}, [3, 3, 1]), (3, {"batch_size": 3}, [3])])
def test_requests_hold_as_many_texts_as_they_may(server: Server, texts: int, options: Any, sizes: list[int]) -> None:
    asked = [f"word{number}" for number in range(texts)]
    found = embedder(server, **options).embed(asked)
    assert [len(request["input"]) for request in server.requests] == sizes
    np.testing.assert_allclose(found, HashEmbedder(16, "m").embed(asked), atol=1e-6)


def test_a_request_stays_below_the_tokens_that_the_api_takes(server: Server) -> None:
    embedder(server).embed(["语" * 8_000] * 30)
    assert all(sum(len(text.encode()) for text in request["input"]) <= 300_000 for request in server.requests)
    assert sum(len(request["input"]) for request in server.requests) == 30


@pytest.mark.parametrize("text", ["word " * 9_000, "语言" * 20_000, "x" * 1_000_000], ids=["words", "han", "one"])
def test_what_the_model_would_not_read_is_cut_off(server: Server, text: str) -> None:
    embedder(server, max_tokens=1_000).embed([text, "short"])
    sent, short = server.requests[0]["input"]
    assert 100 < len(sent) < len(text)
    assert text.startswith(sent)
    assert short == "short"


def test_texts_of_spaces_are_not_sent(server: Server) -> None:
    found = embedder(server).embed(["", "kite", " \n"])
    assert server.requests[0]["input"] == ["kite"]
    assert found[0].tolist() == found[2].tolist() == [1.0, *[0.0] * 15]
    assert embedder(server).embed([""]).shape == (1, 16)


# -- a server that behaves badly, for a while -----------------------------------------------------------------------------


def half_a_document(handler: Handler, request: dict[str, Any]) -> None:
    handler.send(200, json.dumps({"data": vectors_of(request)}).encode()[:-9])


PASSING = {
    **{f"HTTP {status}": refusing(status) for status in (408, 429, 500, 502, 503, 504)},
    "hangs up": hang_up,
    "cut short": cut_short(answered),
    "half a document": half_a_document,
}


@pytest.mark.parametrize("answer", PASSING.values(), ids=PASSING)
def test_a_fault_that_passes_is_not_noticed(server: Server, answer: Answer) -> None:
    server.answers = [answer, answer]
    np.testing.assert_allclose(embedder(server).embed(TEXTS), HashEmbedder(16, "m").embed(TEXTS), atol=1e-6)
    assert len(server.requests) == 3


@pytest.mark.parametrize("answer", PASSING.values(), ids=PASSING)
def test_a_fault_that_stays_is_an_error_after_so_many_attempts(server: Server, answer: Answer) -> None:
    server.answers = [answer] * 9
    error = refused(server, retries=2)
    assert "tried 3 times" in str(error)
    assert len(server.requests) == 3


def test_no_server_is_an_error_that_names_the_host(server: Server) -> None:
    with socket.create_server(("127.0.0.1", 0)) as free:
        port = free.getsockname()[1]
    error = refused(server, base_url=f"http://127.0.0.1:{port}/v1", retries=1)
    assert f"no connection to 127.0.0.1:{port}" in str(error)


@pytest.mark.parametrize("answer", [lambda *_: time.sleep(1), dripping], ids=["silent", "dripping"])
def test_no_attempt_takes_longer_than_its_timeout(server: Server, answer: Answer) -> None:
    server.answers = [answer]
    started = time.monotonic()
    assert "no answer within 0.2 s" in str(refused(server, timeout=0.2, retries=0))
    assert time.monotonic() - started < 0.9


@pytest.mark.parametrize("said", ["0.3", "0.30"])
def test_the_server_says_how_long_to_wait(server: Server, said: str) -> None:
    server.answers = [refusing(429, Retry_After=said)]
    started = time.monotonic()
    embedder(server).embed(TEXTS)
    assert time.monotonic() - started >= 0.3


def test_a_date_to_wait_for_is_understood(server: Server) -> None:
    server.answers = [refusing(503, Retry_After="Wed, 21 Oct 2015 07:28:00 GMT")]
    assert len(embedder(server).embed(TEXTS)) == 3


@pytest.mark.parametrize("said", ["3600", "Fri, 31 Dec 2999 23:59:59 GMT"])
def test_who_asks_to_wait_for_an_hour_is_not_waited_for(server: Server, said: str) -> None:
    server.answers = [refusing(429, Retry_After=said)]
    assert refused(server).status == 429
    assert len(server.requests) == 1


def test_a_quota_that_is_used_up_is_not_asked_again(server: Server) -> None:
    server.answers = [refusing(429, {"error": {"message": KEY, "code": "insufficient_quota"}})]
    assert "insufficient_quota" in str(refused(server))
    assert len(server.requests) == 1


# -- a server that refuses, or answers nonsense ---------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("status", "told"), [(400, "model's name"), (401, "API key"), (403, "API key"), (404, "base URL"), (413, "batch_size")]
)
def test_a_refusal_is_an_error_at_once_and_says_what_to_do(server: Server, status: int, told: str) -> None:
    server.answers = [refusing(status)]
    error = refused(server)
    assert (error.status, told in error.fix) == (status, True)
    assert len(server.requests) == 1


def test_a_redirect_is_not_followed_with_the_key(server: Server) -> None:
    server.answers = [refusing(307, Location="http://127.0.0.1:1/v1/embeddings")]
    assert refused(server).status == 307
    assert len(server.requests) == 1


def test_indices_in_any_order_are_put_in_order(server: Server) -> None:
    server.answers = [giving(lambda data: data[::-1])]
    np.testing.assert_allclose(embedder(server).embed(TEXTS), HashEmbedder(16, "m").embed(TEXTS), atol=1e-6)


NONSENSE: dict[str, tuple[Answer, str]] = {
    "fewer vectors": (giving(lambda data: data[:-1]), "2 vectors for 3 texts"),
    "more vectors": (giving(lambda data: [*data, data[0]]), "4 vectors for 3 texts"),
    "none": (giving(lambda _: []), "0 vectors for 3 texts"),
    "an index twice": (giving(lambda data: [data[0], data[0], data[2]]), "an index that is"),
    "an index out of range": (giving(lambda data: [{**each, "index": each["index"] + 1} for each in data]), "an index that is"),
    "no index": (giving(lambda data: [{"embedding": each["embedding"]} for each in data]), "an index that is"),
    "no embedding": (giving(lambda data: [{"index": each["index"]} for each in data]), "no lists of as many numbers"),
    "words": (giving(lambda data: [{**each, "embedding": "AAAA"} for each in data]), "no lists of as many numbers"),
    "empty vectors": (giving(lambda data: [{**each, "embedding": []} for each in data]), "no lists of as many numbers"),
    "ragged vectors": (
        giving(lambda data: [{**each, "embedding": [1.0] * (each["index"] + 1)} for each in data]),
        "no lists of as many numbers",
    ),
    "zero vectors": (giving(lambda data: [{**each, "embedding": [0.0] * 16} for each in data]), "has length 0"),
    "no data": (refusing(200, {"embeddings": []}), 'an answer without "data"'),
    "a list": (refusing(200, [1, 2]), 'an answer without "data"'),
    "data that is none": (giving(lambda _: None), 'an answer without "data"'),
}


@pytest.mark.parametrize(("answer", "problem"), NONSENSE.values(), ids=NONSENSE)
def test_an_answer_that_makes_no_sense_is_an_error(server: Server, answer: Answer, problem: str) -> None:
    server.answers = [answer]
    assert problem in str(refused(server))


@pytest.mark.parametrize("answer", [NONSENSE["fewer vectors"][0], refusing(401), NONSENSE["zero vectors"][0]])
def test_a_failure_leaves_its_batch_waiting_and_nothing_half_embedded(server: Server, answer: Answer) -> None:
    model = embedder(server, batch_size=2)
    with Memory(embedder=model) as memory:
        memory.thread("t").append([{"role": "user", "content": text} for text in TEXTS])
        assert model.fingerprint.dimension == 16
        server.answers = [well, answer]
        with pytest.raises(EmbeddingFailed):
            memory.flush()
        assert memory.stats().pending == 1
        memory.flush()
        assert memory.stats().pending == 0
        assert memory.check() == []


# -- the key, and the address ---------------------------------------------------------------------------------------------


def test_the_key_is_shown_nowhere(server: Server) -> None:
    model = embedder(server)
    for shown in (repr(model), str(model), repr(model._client)):
        assert KEY not in shown
    assert server.url.split("/")[2] in repr(model)


@pytest.mark.parametrize("key", ["sk-a b", "sk-a\r\nX: y", "sk-é", "Bearer sk"])
def test_a_key_that_no_header_can_hold_is_refused_and_not_shown(server: Server, key: str) -> None:
    with pytest.raises(InvalidInput, match="api_key") as raised:
        embedder(server, api_key=key)
    assert key not in str(raised.value)


def test_a_key_may_end_with_the_line_it_was_read_from(server: Server) -> None:
    embedder(server, api_key=f"{KEY}\n").embed(TEXTS)
    assert server.seen[0][1]["Authorization"] == f"Bearer {KEY}"


def test_the_key_of_the_environment_goes_only_where_the_environment_says(
    server: Server, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", KEY)
    embedder(server, api_key=None).embed(TEXTS)
    assert "Authorization" not in server.seen[0][1]
    monkeypatch.setenv("OPENAI_BASE_URL", server.url)
    OpenAIEmbedder("m").embed(TEXTS)
    assert server.seen[1][1]["Authorization"] == f"Bearer {KEY}"


def test_openai_itself_needs_a_key(server: Server) -> None:
    with pytest.raises(InvalidInput, match="set OPENAI_API_KEY"):
        OpenAIEmbedder()


@pytest.mark.parametrize(
    "url",
    ["", "localhost:11434", "ftp://x/v1", "http://", "http://u:p@x/v1", "http://x/v1?key=1", "http://x:99999", "http://x y/"],
)
def test_an_address_that_is_none_is_refused(server: Server, url: str) -> None:
    with pytest.raises(InvalidInput, match="base_url"):
        embedder(server, base_url=url or " ")


@pytest.mark.parametrize(
    "options", [{"timeout": 0.0}, {"retries": -1}, {"batch_size": 0}, {"dimensions": 0}, {"max_tokens": 0}]
)
def test_numbers_that_mean_nothing_are_refused(server: Server, options: dict[str, Any]) -> None:
    with pytest.raises(InvalidInput):
        embedder(server, **options)


def test_a_proxy_of_the_environment_is_asked(server: Server, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("http_proxy", server.url.removesuffix("/v1"))
    monkeypatch.setenv("no_proxy", "")
    embedder(server, base_url="http://embeddings.invalid/v1").embed(TEXTS)
    assert server.seen[0][0] == "http://embeddings.invalid/v1/embeddings"


def test_the_error_survives_a_process_boundary(server: Server) -> None:
    server.answers = [refusing(401)]
    error = refused(server)
    copied = pickle.loads(pickle.dumps(error))
    assert (str(copied), copied.status) == (str(error), 401)


@pytest.mark.skipif(not hasattr(os, "fork"), reason="the system has no fork")
@pytest.mark.filterwarnings("ignore:.*multi-threaded.*:DeprecationWarning")
def test_a_child_process_opens_a_connection_of_its_own(server: Server) -> None:
    model = embedder(server)
    model.embed(TEXTS)
    child = os.fork()
    if child == 0:
        try:
            os._exit(0 if len(model.embed(TEXTS)) == 3 else 1)
        except BaseException:
            os._exit(2)
    assert os.waitpid(child, 0)[1] == 0
    model.embed(TEXTS)
    ports = [port for _, _, port in server.seen]
    assert ports[0] == ports[2] != ports[1]


# -- another model --------------------------------------------------------------------------------------------------------


def test_V070_the_command_line_says_which_command_takes_another_model(server: Server, tmp_path: Path) -> None:
    environment = {"OPENAI_BASE_URL": server.url}
    path = tmp_path / "a.db"

    def bethink(*arguments: str, embedder: str) -> Any:
        return CliRunner().invoke(app, [*arguments, "--db", str(path), "--embedder", embedder], env=environment)

    with Memory(path, embedder="none") as memory:
        memory.thread("t").append([{"role": "user", "content": text} for text in TEXTS])
    assert bethink("flush", embedder="openai:one").exit_code == 0
    refusal = bethink("recall", "kite", embedder="openai:other")
    assert refusal.exit_code == 5
    assert "one (16 dimensions), not of other (16 dimensions)" in refusal.stderr
    assert "bethink reembed --embedder NAME" in refusal.stderr
    assert "red kite" in bethink("recall", "kite", embedder="openai:one").stdout
    assert bethink("reembed", embedder="openai:other").exit_code == 0
    assert "red kite" in bethink("recall", "kite", embedder="openai:other").stdout
    assert bethink("recall", "kite", embedder="openai:one").exit_code == 5


def test_the_command_line_reports_a_server_that_fails_in_one_line(server: Server, tmp_path: Path) -> None:
    path = tmp_path / "a.db"
    with Memory(path, embedder="none") as memory:
        memory.thread("t").add("user", "hello")
    server.answers = [refusing(401)]
    result = CliRunner().invoke(
        app, ["flush", "--db", str(path), "--embedder", "openai:m"], env={"OPENAI_BASE_URL": server.url, "OPENAI_API_KEY": KEY}
    )
    assert result.exit_code == 1
    assert result.stderr.strip().count("\n") == 0
    assert "HTTP 401" in result.stderr
    assert KEY not in result.stderr
