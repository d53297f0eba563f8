"""Vectors that are made once: an embedder whose work is kept in a file, by model and text.

Embedding some thousand turns takes minutes and searching them seconds, so a second run would mostly wait. The file holds no
text: a vector is found by the fingerprint of its model and the SHA-256 of what was embedded. Each batch is committed as it is
made, so that an interrupted run loses one batch at most.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from time import perf_counter
from typing import TYPE_CHECKING

from bethink.models import Embedded, Embedder, Fingerprint, TokenEmbedder

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

__all__ = ["Vectors", "VectorsOfTokens"]

_BATCH = 64
_SCHEMA = """CREATE TABLE IF NOT EXISTS vectors (
    space TEXT NOT NULL, text BLOB NOT NULL, vector BLOB NOT NULL, seconds REAL NOT NULL, PRIMARY KEY (space, text)
) WITHOUT ROWID"""
_TOKENS = """CREATE TABLE IF NOT EXISTS tokens (
    space TEXT NOT NULL, text BLOB NOT NULL, data BLOB NOT NULL, PRIMARY KEY (space, text)
) WITHOUT ROWID"""


class Vectors:
    """Embeds like the embedder it wraps. Not for several threads.

    Attributes:
        spared: seconds that the vectors found in the file took when they were made; so that the time of indexing can be told
            whether they were there or not.

    Args:
        path: the file, made if it is not there; None for a temporary one.
    """

    def __init__(self, embedder: Embedder, path: Path | None = None) -> None:
        import apsw

        self.spared = 0.0
        self._embedder = embedder
        self._fresh = False
        self._file = apsw.Connection("" if path is None else str(path))
        self._file.set_busy_timeout(10_000)
        self._file.execute("PRAGMA journal_mode = WAL; PRAGMA synchronous = NORMAL")
        self._file.execute(_SCHEMA)
        self._space = _named(embedder.fingerprint)

    @property
    def fingerprint(self) -> Fingerprint:
        return self._embedder.fingerprint

    @contextmanager
    def fresh(self) -> Iterator[None]:
        """Within, the model embeds every text anew, so that the time is the model's. Nothing of it is kept."""
        self._fresh = True
        try:
            yield
        finally:
            self._fresh = False

    def embed(self, texts: Sequence[str]) -> NDArray[np.float32]:
        """See `Embedder.embed`."""
        import numpy as np

        if self._fresh or not texts:
            return self._embedder.embed(texts)
        found: dict[str, bytes] = {}
        for text in dict.fromkeys(texts):
            for vector, seconds in self._file.execute(
                "SELECT vector, seconds FROM vectors WHERE space = ? AND text = ?", (self._space, _key(text))
            ):
                found[text] = bytes(vector)
                self.spared += seconds
        missing = [text for text in dict.fromkeys(texts) if text not in found]
        for start in range(0, len(missing), _BATCH):
            found.update(self._made(missing[start : start + _BATCH]))
        vectors = np.empty((len(texts), self.fingerprint.dimension), dtype=np.float32)
        for row, text in enumerate(texts):
            vectors[row] = np.frombuffer(found[text], dtype=np.float32)
        return vectors

    def _made(self, texts: list[str]) -> dict[str, bytes]:
        import numpy as np

        started = perf_counter()
        vectors = np.ascontiguousarray(self._embedder.embed(texts), dtype=np.float32)
        seconds = (perf_counter() - started) / len(texts)
        with self._file:
            self._keep(texts, vectors, seconds)
        return {text: vector.tobytes() for text, vector in zip(texts, vectors, strict=True)}

    def _keep(self, texts: list[str], vectors: NDArray[np.float32], seconds: float) -> None:
        self._file.executemany(
            "INSERT OR IGNORE INTO vectors VALUES (?, ?, ?, ?)",
            [(self._space, _key(text), vector.tobytes(), seconds) for text, vector in zip(texts, vectors, strict=True)],
        )

    def close(self) -> None:
        """Close the file. Closing twice is fine."""
        self._file.close()


class VectorsOfTokens(Vectors):
    """The same of an embedder that gives vectors of tokens as well. Those are kept in the same file."""

    def __init__(self, embedder: TokenEmbedder, path: Path | None = None) -> None:
        super().__init__(embedder, path)
        self._of_tokens = embedder
        self._file.execute(_TOKENS)
        self._token_space = _named(embedder.token_fingerprint)

    @property
    def token_fingerprint(self) -> Fingerprint:
        return self._of_tokens.token_fingerprint

    def embed_tokens(self, texts: Sequence[str]) -> Embedded:
        """See `TokenEmbedder.embed_tokens`."""
        import numpy as np

        if self._fresh or not texts:
            return self._of_tokens.embed_tokens(texts)
        found: dict[str, bytes] = {}
        for text in dict.fromkeys(texts):
            given = (self._token_space, _key(text))
            rows = self._file.execute("SELECT data FROM tokens WHERE space = ? AND text = ?", given)
            found.update((text, data) for (data,) in rows)
        missing = [text for text in dict.fromkeys(texts) if text not in found]
        for start in range(0, len(missing), _BATCH):
            found.update(self._tokens_made(missing[start : start + _BATCH]))
        shape = (-1, self.token_fingerprint.dimension)
        return Embedded(self.embed(texts), [np.frombuffer(found[text], dtype=np.int8).reshape(shape) for text in texts])

    def _tokens_made(self, texts: list[str]) -> dict[str, bytes]:
        started = perf_counter()
        vectors, tokens = self._of_tokens.embed_tokens(texts)
        seconds = (perf_counter() - started) / len(texts)
        # They are read from the file in a moment, and were not spared.
        self.spared -= seconds * len(texts)
        made = {text: each.tobytes() for text, each in zip(texts, tokens, strict=True)}
        with self._file:
            self._keep(texts, vectors, seconds)
            self._file.executemany(
                "INSERT OR IGNORE INTO tokens VALUES (?, ?, ?)",
                [(self._token_space, _key(text), data) for text, data in made.items()],
            )
        return made


def _named(fingerprint: Fingerprint) -> str:
    return f"{fingerprint.name}/{fingerprint.dimension}/{fingerprint.probe}"


def _key(text: str) -> bytes:
    return hashlib.sha256(text.encode()).digest()
