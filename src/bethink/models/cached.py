"""Models that remember what they were asked last.

A context counts the same message for the plan, for the choice and for the result; and it embeds the newest message twice, once
to store its vector and once as the query.
"""

from __future__ import annotations

import threading
from collections.abc import Sequence
from functools import lru_cache
from typing import TYPE_CHECKING

from bethink.models import Embedded, Embedder, Fingerprint, TokenCounter, TokenEmbedder, embed_queries, limits_of
from bethink.models.pieces import weigh
from bethink.models.tokens import SLICE, BuiltinCounter, count_spans, lines_of, span

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

__all__ = ["CachedCounter", "CachedEmbedder", "CachedTokenEmbedder"]

_SHORT_TEXTS, _SHORT = 16_384, 2_048
_LONG_TEXTS, _LONG = 64, 131_072
_SPANS = 4_096


class CachedCounter:
    """Counts like the counter it wraps, and keeps the counts of the last thousands of short texts and of a few long ones.

    With the built-in counter, a text of many lines is put together from what its lines count: a memory block is long, and new
    every time, but few of its lines are.

    `forget` empties it: what was removed from the database is not to live on in the process.
    """

    def __init__(self, counter: TokenCounter) -> None:
        self._counter = counter
        self._lined = type(counter) is BuiltinCounter
        count = self._by_lines if self._lined else counter.count
        self._short = lru_cache(maxsize=_SHORT_TEXTS)(count)
        self._long = lru_cache(maxsize=_LONG_TEXTS)(count)
        self._span = lru_cache(maxsize=_SPANS)(span)

    @property
    def name(self) -> str:
        return self._counter.name

    def count(self, text: str) -> int:
        if len(text) <= _SHORT:
            return self._short(text)
        return self._long(text) if len(text) <= _LONG else self._counter.count(text)

    def count_lines(self, lines: Sequence[str]) -> int:
        """What `count` counts for lines joined by line breaks, none of which is empty, begins or ends with white space, or has
        a break within. Where they were counted before, their text is neither made nor read.
        """
        if not self._lined or sum(map(len, lines)) + len(lines) > SLICE:
            return self.count("\n".join(lines))
        return self._together(lines)

    def _by_lines(self, text: str) -> int:
        return self._counter.count(text) if len(text) > SLICE else self._together(lines_of(text))

    def _together(self, lines: Sequence[str]) -> int:
        return count_spans([self._span(line) if len(line) <= _SHORT else span(line) for line in lines])

    def forget(self) -> None:
        self._short.cache_clear()
        self._long.cache_clear()
        self._span.cache_clear()
        weigh.cache_clear()


_VECTORS, _EMBEDDED = 256, 4_096


class CachedEmbedder:
    """Embeds like the embedder it wraps, and keeps the vectors of the last texts that are not long.

    What the embedder returns is checked (see `vectors.unit_vectors`), so that no store is ever given a vector that would spoil
    a ranking. `forget` empties it.
    """

    def __init__(self, embedder: Embedder) -> None:
        self._embedder = embedder
        self._own_queries = hasattr(embedder, "embed_queries")
        self._fingerprint: Fingerprint | None = None
        self._kept: dict[tuple[bool, str], NDArray[np.float32]] = {}
        self._lock = threading.Lock()

    @property
    def fingerprint(self) -> Fingerprint:
        """Of the embedder; asked for once, since it may take a call of a model to find out."""
        if self._fingerprint is None:
            self._fingerprint = self._embedder.fingerprint
        return self._fingerprint

    @property
    def max_tokens(self) -> int | None:
        return limits_of(self._embedder).max_tokens

    @property
    def local(self) -> bool:
        """Whether it says that it runs in this process, so that it may be asked by who must not wait for a server."""
        return bool(getattr(self._embedder, "local", False))

    @property
    def batch_size(self) -> int:
        return limits_of(self._embedder).batch_size

    def embed(self, texts: Sequence[str]) -> NDArray[np.float32]:
        """See `Embedder.embed`.

        Raises:
            EmbeddingFailed: what the embedder returned are no vectors of its dimension, or none of all texts.
        """
        return self._embed(texts, asked=False)

    def embed_queries(self, texts: Sequence[str]) -> NDArray[np.float32]:
        """See `embed_queries` of `bethink.models`. Raises as `embed` does."""
        return self._embed(texts, asked=self._own_queries)

    def _embed(self, texts: Sequence[str], *, asked: bool) -> NDArray[np.float32]:
        import numpy as np

        from bethink.models.vectors import unit_vectors

        space = self.fingerprint
        if not texts:
            return np.empty((0, space.dimension), dtype=np.float32)
        with self._lock:
            known = {text: self._kept[asked, text] for text in texts if (asked, text) in self._kept}
        new = list(dict.fromkeys(text for text in texts if text not in known))
        if new:
            found = embed_queries(self._embedder, new) if asked else self._embedder.embed(new)
            vectors = unit_vectors(found, count=len(new), dimension=space.dimension, embedder=space.name)
            known.update(zip(new, vectors, strict=True))
            self._keep({(asked, text): known[text] for text in new if len(text) <= _EMBEDDED})
        return np.stack([known[text] for text in texts])

    def _keep(self, vectors: dict[tuple[bool, str], NDArray[np.float32]]) -> None:
        with self._lock:
            self._kept.update(vectors)
            for key in list(self._kept)[:-_VECTORS]:
                del self._kept[key]

    def forget(self) -> None:
        with self._lock:
            self._kept.clear()


class CachedTokenEmbedder(CachedEmbedder):
    """The same of an embedder that gives vectors of tokens as well. `embed_queries` of a text that `embed_tokens` was asked for
    runs no model, unless the embedder has questions of its own.
    """

    def __init__(self, embedder: TokenEmbedder) -> None:
        super().__init__(embedder)
        self._of_tokens = embedder
        self._token_space: Fingerprint | None = None
        self._tokens: dict[str, tuple[NDArray[np.float32], NDArray[np.int8]]] = {}

    @property
    def token_fingerprint(self) -> Fingerprint:
        if self._token_space is None:
            self._token_space = self._of_tokens.token_fingerprint
        return self._token_space

    def embed_tokens(self, texts: Sequence[str]) -> Embedded:
        """See `TokenEmbedder.embed_tokens`.

        Raises:
            EmbeddingFailed: what the embedder returned are no vectors of its dimensions, or none of all texts.
        """
        import numpy as np

        from bethink.models.vectors import token_vectors, unit_vectors

        space, token_space = self.fingerprint, self.token_fingerprint
        if not texts:
            return Embedded(np.empty((0, space.dimension), dtype=np.float32), [])
        with self._lock:
            known = {text: self._tokens[text] for text in texts if text in self._tokens}
        new = list(dict.fromkeys(text for text in texts if text not in known))
        if new:
            found = self._of_tokens.embed_tokens(new)
            vectors = unit_vectors(found.vectors, count=len(new), dimension=space.dimension, embedder=space.name)
            tokens = token_vectors(found.tokens, count=len(new), dimension=token_space.dimension, embedder=space.name)
            known.update(zip(new, zip(vectors, tokens, strict=True), strict=True))
            short = [text for text in new if len(text) <= _EMBEDDED]
            self._keep({(False, text): known[text][0] for text in short})
            with self._lock:
                self._tokens.update((text, known[text]) for text in short)
                for text in list(self._tokens)[:-_VECTORS]:
                    del self._tokens[text]
        return Embedded(np.stack([known[text][0] for text in texts]), [known[text][1] for text in texts])

    def forget(self) -> None:
        super().forget()
        with self._lock:
            self._tokens.clear()
