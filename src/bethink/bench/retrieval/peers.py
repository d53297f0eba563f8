"""Stores of others, asked as their documentation says: LangGraph's `InMemoryStore`, Chroma and mem0 (extra "bench").

All are given the messages as "Speaker: text", which serves them better than the text alone, and the same embedder.
None asks a language model, and nothing leaves the machine. Each is imported when it is made.
"""

from __future__ import annotations

import importlib.util
import os
from collections.abc import Callable, Sequence
from functools import lru_cache, partial
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from bethink.bench.retrieval.questions import Question, Session
from bethink.bench.retrieval.systems import Found, System, lines_of
from bethink.models import Embedder

__all__ = ["PEERS", "Chroma", "LangGraph", "Mem0", "missing"]

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


class Mem0:
    """`mem0.Memory` with its local Qdrant, `infer=False` (each message is a memory) and no threshold.

    As installed by itself it searches by cosine; its keyword and entity signals need more packages, of which one downloads a
    model.
    """

    def __init__(self, embedder: Embedder) -> None:
        # Read once, when it is imported: where it keeps its own files, and that it reports nothing.
        os.environ["MEM0_TELEMETRY"] = "false"
        os.environ["MEM0_DIR"] = _home().name
        from mem0 import Memory as Mem0Memory

        self._folder = TemporaryDirectory()
        store = {
            "path": str(Path(self._folder.name, "qdrant")),
            "collection_name": "messages",
            "embedding_model_dims": embedder.fingerprint.dimension,
        }
        # Neither model is called: one is replaced below, the other not needed. Making them takes a key.
        unused = {"provider": "openai", "config": {"api_key": "none"}}
        config = {"vector_store": {"provider": "qdrant", "config": store}, "embedder": unused, "llm": unused}
        self._memory: Any = Mem0Memory.from_config({**config, "history_db_path": ":memory:"})
        self._memory.embedding_model = _Mem0Embedding(embedder)
        self._texts: list[str] = []

    def index(self, sessions: Sequence[Session]) -> None:
        self._texts = lines_of(sessions)
        for index, text in enumerate(self._texts):
            message = {"role": "user", "content": text}
            self._memory.add([message], user_id=_NAMESPACE[0], infer=False, metadata={"index": index})

    def ask(self, question: Question, k: int) -> list[Found]:
        found = self._memory.search(question.text, filters={"user_id": _NAMESPACE[0]}, top_k=k, threshold=0.0)["results"]
        return [Found(each["metadata"]["index"], self._texts[each["metadata"]["index"]], each["score"]) for each in found]

    def close(self) -> None:
        self._memory.vector_store.client.close()
        self._memory.close()
        self._folder.cleanup()


class _Mem0Embedding:
    """An embedder as mem0 calls one."""

    def __init__(self, embedder: Embedder) -> None:
        self._embedder = embedder

    def embed(self, text: str, memory_action: str | None = None) -> list[float]:
        del memory_action
        return _lists(self._embedder, [text])[0]


@lru_cache(maxsize=1)
def _home() -> TemporaryDirectory[str]:
    return TemporaryDirectory()


PEERS: dict[str, Callable[[Embedder], System]] = {"langgraph": LangGraph, "chroma": Chroma, "mem0": Mem0}
_MODULES = {"langgraph": "langgraph.store", "chroma": "chromadb", "mem0": "mem0"}


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
