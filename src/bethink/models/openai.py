"""Vectors from a server that speaks OpenAI's embeddings API: OpenAI itself, Ollama, vLLM, llama.cpp, LM Studio, and others.

    texts ─▶ cut to what the model reads ─▶ requests of many texts ─▶ POST {base_url}/embeddings ─▶ sorted by their index

Needs nothing beyond bethink (see `http`). Every text that is embedded is sent to that server, and only because somebody made
one of these: none is ever made by default, and making one sends nothing yet.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

from bethink.errors import EmbeddingFailed
from bethink.models.openai_server import openai_server
from bethink.models.probed import ProbedEmbedder, _at_least_one
from bethink.models.tokens import BuiltinCounter, truncate

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

__all__ = ["OpenAIEmbedder"]

_MOST_BYTES = 300_000
"""Of one request. OpenAI takes 300,000 tokens, and a token is a byte at least."""


class OpenAIEmbedder(ProbedEmbedder):
    """An `Embedder` behind an OpenAI-compatible HTTP API. Its fingerprint takes one request, of eight fixed sentences.

    Args:
        model: as the server calls it.
        api_key: by default that of the environment, OPENAI_API_KEY; with a `base_url` given here none is sent unless it is
            given here too, so that a key never goes to a server it is not for.
        base_url: up to and without `/embeddings`; by default that of the environment, OPENAI_BASE_URL, or OpenAI's own.
        dimensions: shorter vectors, for models that can make them (text-embedding-3-*); None takes what the model gives.
        max_tokens: what is beyond is cut off; a server would refuse the text. Counted by the built-in counter, with a margin.
        batch_size: texts of one request. Some servers take fewer: 32 is text-embeddings-inference's limit.
        timeout: seconds of one attempt.
        retries: how often a request is sent again that met no connection, no answer in time, 429 or a fault of the server.
            Waits between are as long as the server asks for, up to 60 s, or 0.5 s and then twice as long each time.

    Raises:
        InvalidInput: no address, no key where one is needed, or a key that no header can hold.
    """

    def __init__(
        self,
        model: str = "text-embedding-3-small",
        *,
        api_key: str | None = None,
        base_url: str | None = None,
        dimensions: int | None = None,
        max_tokens: int = 8_191,
        batch_size: int = 256,
        timeout: float = 30.0,
        retries: int = 3,
    ) -> None:
        super().__init__(model, dimension=dimensions, max_tokens=max_tokens, batch_size=batch_size)
        self._model = model
        self._asked_dimensions = dimensions
        self._client = openai_server(
            model, api_key=api_key, base_url=base_url, timeout=timeout, retries=retries, failure=EmbeddingFailed
        )
        self._most_tokens = _at_least_one(max_tokens, "max_tokens")

    def __repr__(self) -> str:
        return f"OpenAIEmbedder({self._model!r}, at {self._client.host!r})"

    def _encode(self, texts: list[str]) -> Any:
        import numpy as np

        # A server refuses an empty text, and there is nothing in it to be found by.
        said = [index for index, text in enumerate(texts) if text.strip()]
        found = [self._ask(batch) for batch in self._batches([self._cut(texts[index]) for index in said])]
        width = found[0].shape[1] if found else self.fingerprint.dimension
        if any(part.shape[1] != width for part in found):
            raise EmbeddingFailed(self._name, "vectors of different lengths", "check the server")
        vectors = np.zeros((len(texts), width), dtype=np.float32)
        vectors[:, 0] = 1.0
        if found:
            vectors[said] = np.concatenate(found)
        return vectors

    def _cut(self, text: str) -> str:
        most = self._most_tokens
        # Of rare scripts the counter may miss a fifth.
        return text if len(text) * 4 <= most or len(text.encode()) <= most else truncate(text, most * 4 // 5, BuiltinCounter())

    def _batches(self, texts: list[str]) -> Iterator[list[str]]:
        batch: list[str] = []
        room = _MOST_BYTES
        for text in texts:
            size = len(text.encode())
            if batch and (len(batch) == self.batch_size or size > room):
                yield batch
                batch, room = [], _MOST_BYTES
            batch.append(text)
            room -= size
        if batch:
            yield batch

    def _ask(self, texts: list[str]) -> NDArray[np.float32]:
        request: dict[str, Any] = {"model": self._model, "input": texts, "encoding_format": "float"}
        if self._asked_dimensions is not None:
            request["dimensions"] = self._asked_dimensions
        return self._in_order(self._client.post("embeddings", request), len(texts))

    def _in_order(self, answer: Any, count: int) -> NDArray[np.float32]:
        import numpy as np

        data = answer.get("data") if isinstance(answer, dict) else None
        if not isinstance(data, list):
            raise EmbeddingFailed(
                self._name, 'an answer without "data"', "check that the base URL is that of an embeddings API"
            )
        if len(data) != count:
            raise EmbeddingFailed(self._name, f"{len(data):,} vectors for {count:,} texts", "give a smaller batch_size")
        ordered: list[Any] = [None] * count
        for item in data:
            index = item.get("index") if isinstance(item, dict) else None
            if type(index) is not int or not 0 <= index < count or ordered[index] is not None:
                raise EmbeddingFailed(self._name, "an index that is missing, given twice or out of range", "check the server")
            ordered[index] = item.get("embedding")
        try:
            vectors: NDArray[np.float32] = np.asarray(ordered, dtype=np.float32)
        except (TypeError, ValueError):
            vectors = np.empty((count, 0), dtype=np.float32)
        if vectors.ndim != 2 or vectors.size == 0:
            raise EmbeddingFailed(self._name, "vectors that are no lists of as many numbers each", "check the server")
        return vectors
