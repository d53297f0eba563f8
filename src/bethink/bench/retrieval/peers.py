"""Stores of others, asked as their documentation says: LangGraph's `InMemoryStore` and Chroma (extra "bench").

Both are given the messages as "Speaker: text", which serves them better than the text alone, and the embedder that everybody
has. Each is imported when it is made.
"""

from __future__ import annotations

import importlib.util
from collections.abc import Callable, Sequence
from functools import partial
from typing import Any

from bethink.bench.retrieval.questions import Question, Session
from bethink.bench.retrieval.systems import Found, System, lines_of
from bethink.models import Embedder

__all__ = ["PEERS", "Chroma", "LangGraph", "missing"]

_NAMESPACE = ("messages",)
_BATCH = 1000


class LangGraph:
    """`langgraph.store.memory.InMemoryStore` with an index of one field: exact cosine over everything."""

    def __init__(self, embedder: Embedder) -> None:
        from langgraph.store.memory import InMemoryStore

        index = {"dims": embedder.fingerprint.dimension, "embed": partial(_lists, embedder), "fields": ["text"]}
        self._store: Any = InMemoryStore(index=index)
        self._texts: list[str] = []

    def index(self, sessions: Sequence[Session]) -> None:
        from langgraph.store.base import PutOp

        self._texts = lines_of(sessions)
        self._store.batch([PutOp(_NAMESPACE, str(index), {"text": text}) for index, text in enumerate(self._texts)])

    def ask(self, question: Question, k: int) -> list[Found]:
        found = self._store.search(_NAMESPACE, query=question.text, limit=k)
        return [Found(int(item.key), self._texts[int(item.key)], item.score) for item in found]

    def close(self) -> None:
        """Nothing is held."""


class Chroma:
    """`chromadb`'s client in memory: an HNSW index by cosine, all else as it comes."""

    def __init__(self, embedder: Embedder) -> None:
        import chromadb

        self._embedder = embedder
        self._texts: list[str] = []
        self._client: Any = chromadb.EphemeralClient(settings=chromadb.Settings(anonymized_telemetry=False))
        self._collection: Any = self._client.create_collection(
            "messages", configuration={"hnsw": {"space": "cosine"}}, embedding_function=None
        )

    def index(self, sessions: Sequence[Session]) -> None:
        self._texts = lines_of(sessions)
        vectors = self._embedder.embed(self._texts)
        for start in range(0, len(self._texts), _BATCH):
            part = slice(start, start + _BATCH)
            ids = [str(start + index) for index in range(len(self._texts[part]))]
            self._collection.add(ids=ids, embeddings=vectors[part], documents=self._texts[part])

    def ask(self, question: Question, k: int) -> list[Found]:
        vectors = self._embedder.embed([question.text])
        found = self._collection.query(query_embeddings=vectors, n_results=min(k, len(self._texts)), include=["distances"])
        places = zip(map(int, found["ids"][0]), found["distances"][0], strict=True)
        return [Found(index, self._texts[index], 1 - distance) for index, distance in places]

    def close(self) -> None:
        # The client's memory is shared by all clients of a process.
        self._client.delete_collection("messages")


PEERS: dict[str, Callable[[Embedder], System]] = {"langgraph": LangGraph, "chroma": Chroma}
_MODULES = {"langgraph": "langgraph.store", "chroma": "chromadb"}


def missing(name: str) -> str:
    """Why one of `PEERS` cannot be asked; "" if it can."""
    try:
        installed = importlib.util.find_spec(_MODULES[name]) is not None
    except ModuleNotFoundError:  # the package that it is part of
        installed = False
    return "" if installed else 'it is not installed: pip install "bethink[bench]"'


def _lists(embedder: Embedder, texts: Sequence[str]) -> list[list[float]]:
    vectors: list[list[float]] = embedder.embed(texts).tolist()
    return vectors
