"""Whoever is asked: bethink, and three plain retrievers to compare it with.

    bethink    a database on disk, a thread for each session, default settings; hits are messages
    bm25       BM25 over whole messages, k1 1.2 and b 0.75, with the terms of `retrieval.terms`: stems, stop words left out
    dense      the cosine of "Speaker: text" and of the question as it is: what a vector store does by default
    rrf        reciprocal rank fusion of these two, k = 60

The plain ones are written here in a few lines each, so that what is compared can be read. All embed with the same embedder.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Sequence
from datetime import datetime
from functools import partial
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, Protocol

import msgspec

from bethink.bench.retrieval.questions import Question, Session
from bethink.memory import Memory
from bethink.messages import Message
from bethink.models import Embedder, TokenCounter
from bethink.retrieval.hits import Hit, RecallResult
from bethink.retrieval.ranker import Ranker
from bethink.retrieval.terms import index_terms, query_terms
from bethink.settings import Settings
from bethink.storage.sqlite import SqliteStore
from bethink.testing.doubles import FrozenClock

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

__all__ = ["BM25", "RRF", "Bethink", "Dense", "Found", "System", "lines_of", "unlimited"]

_FUSION = 60
"""The constant of reciprocal rank fusion, as its authors have it."""


class Found(msgspec.Struct, frozen=True):
    """One place of a ranking.

    Attributes:
        index: which message of the conversation, from 0.
        text: what of it would be put into a prompt: all of it, or a passage.
    """

    index: int
    text: str
    score: float


class System(Protocol):
    """Something that ranks the messages of one conversation. It is made, indexes once, is asked, and is closed."""

    def index(self, sessions: Sequence[Session]) -> None:
        """Take in a conversation, vectors included."""
        ...

    def ask(self, question: Question, k: int) -> Sequence[Found]:
        """The `k` best, or fewer, best first; no threshold."""
        ...

    def close(self) -> None: ...


def lines_of(sessions: Sequence[Session]) -> list[str]:
    """The messages as "Speaker: text"."""
    return [f"{message.speaker}: {message.text}" for session in sessions for message in session.messages]


def unlimited(ranker: Ranker) -> Ranker:
    """The ranker without its threshold: everything that was found is ranked."""
    return msgspec.structs.replace(ranker, threshold=0.0, lexical_threshold=0.0)


# -- bethink --------------------------------------------------------------------------------------------------------------


class Bethink:
    """bethink, as a program uses it: `Memory.recall` of messages.

    A question is asked when its data set says, or else right after the last message.
    """

    def __init__(
        self,
        embedder: Embedder | None,
        ranker: Ranker,
        settings: Settings | None = None,
        counter: TokenCounter | None = None,
    ) -> None:
        self._folder = TemporaryDirectory()
        store = SqliteStore(str(Path(self._folder.name, "memory.db")), durability="normal")
        self._clock = FrozenClock()
        memory = partial(Memory, store=store, embedder=embedder, settings=settings, counter=counter, clock=self._clock)
        self._ranking = memory(ranker=unlimited(ranker))
        self._ranker = ranker
        self._answering = memory(ranker=ranker)
        self._place: dict[tuple[str, int], int] = {}
        self._end = self._clock.now()

    def index(self, sessions: Sequence[Session]) -> None:
        for session in sessions:
            self._clock.set(_time(session.messages[-1], self._clock.now()))
            added = self._ranking.thread(session.name).append(session.messages)
            for message in added.messages:
                self._place[session.name, message.seq] = len(self._place)
        self._end = max(_time(session.messages[-1], self._end) for session in sessions)
        self._clock.set(self._end)
        # What the first recall would do: draw insights, embed what waits, index the tails of threads.
        self._ranking.recall("anything", 1)
        self._ranking.flush()

    def ask(self, question: Question, k: int) -> list[Found]:
        return self._found(self._recall(self._ranking, question, k))

    def hits(self, question: Question, k: int) -> list[tuple[int, Hit]]:
        """As `ask`, with all that is told of a hit."""
        return [(self._place[hit.thread_id or "", hit.seq], hit) for hit in self._recall(self._ranking, question, k)]

    def answer(self, question: Question, k: int) -> tuple[list[Found], float]:
        """With the threshold on; and the part of the ranker's own threshold that this question had to pass."""
        result = self._recall(self._answering, question, k)
        own = self._ranker.threshold if "dense" in result.legs else self._ranker.lexical_threshold
        return self._found(result), result.needed / own if own else 1.0

    def packed(self, question: Question, budget: int) -> list[Found]:
        """As many as fit into a budget, no threshold."""
        return self._found(self._recall(self._ranking, question, budget=budget))

    def _recall(self, memory: Memory, question: Question, k: int | None = None, *, budget: int | None = None) -> RecallResult:
        self._clock.set(question.at or self._end)
        return memory.recall(question.text, k, kinds=["message"], budget=budget)

    def _found(self, result: RecallResult) -> list[Found]:
        return [Found(self._place[hit.thread_id or "", hit.seq], hit.shown, hit.score) for hit in result]

    def close(self) -> None:
        self._ranking.close()
        self._folder.cleanup()


def _time(message: Message, otherwise: datetime) -> datetime:
    return message.created_at or otherwise


# -- plain retrievers -----------------------------------------------------------------------------------------------------


class BM25:
    """Robertson and Zaragoza 2009, with Lucene's idf: log(1 + (N - n + 0.5) / (n + 0.5))."""

    def __init__(self, k1: float = 1.2, b: float = 0.75) -> None:
        self._k1, self._b = k1, b
        self._texts: list[str] = []
        self._lengths: list[int] = []
        self._postings: dict[str, list[tuple[int, int]]] = {}

    def index(self, sessions: Sequence[Session]) -> None:
        self._texts = lines_of(sessions)
        for index, text in enumerate(self._texts):
            counts = Counter(index_terms(text).split())
            self._lengths.append(counts.total())
            for term, count in counts.items():
                self._postings.setdefault(term, []).append((index, count))

    def ask(self, question: Question, k: int) -> list[Found]:
        scores: dict[int, float] = {}
        mean = sum(self._lengths) / len(self._lengths)
        for term in query_terms(question.text):
            postings = self._postings.get(term, [])
            idf = math.log(1 + (len(self._texts) - len(postings) + 0.5) / (len(postings) + 0.5))
            for index, count in postings:
                length = 1 - self._b + self._b * self._lengths[index] / mean
                scores[index] = scores.get(index, 0.0) + idf * count * (self._k1 + 1) / (count + self._k1 * length)
        best = sorted(scores, key=lambda index: (-scores[index], index))[:k]
        return [Found(index, self._texts[index], scores[index]) for index in best]

    def close(self) -> None:
        """Nothing is held."""


class Dense:
    """The cosine, over all messages."""

    def __init__(self, embedder: Embedder) -> None:
        self._embedder = embedder
        self._texts: list[str] = []
        self._vectors: NDArray[np.float32] | None = None

    def index(self, sessions: Sequence[Session]) -> None:
        self._texts = lines_of(sessions)
        self._vectors = self._embedder.embed(self._texts)

    def ask(self, question: Question, k: int) -> list[Found]:
        import numpy as np

        if self._vectors is None:
            return []
        cosines = self._vectors @ self._embedder.embed([question.text])[0]
        best = np.argsort(-cosines, kind="stable")[:k].tolist()
        return [Found(index, self._texts[index], float(cosines[index])) for index in best]

    def close(self) -> None:
        """Nothing is held."""


class RRF:
    """Cormack, Clarke and Büttcher 2009: the sum of 1 / (60 + place) over both rankings."""

    def __init__(self, embedder: Embedder) -> None:
        self._legs: tuple[System, ...] = (BM25(), Dense(embedder))
        self._size = 0

    def index(self, sessions: Sequence[Session]) -> None:
        self._size = len(lines_of(sessions))
        for leg in self._legs:
            leg.index(sessions)

    def ask(self, question: Question, k: int) -> list[Found]:
        found: dict[int, Found] = {}
        for leg in self._legs:
            for place, each in enumerate(leg.ask(question, self._size), 1):
                before = found[each.index].score if each.index in found else 0.0
                found[each.index] = Found(each.index, each.text, before + 1 / (_FUSION + place))
        return sorted(found.values(), key=lambda each: (-each.score, each.index))[:k]

    def close(self) -> None:
        """Nothing is held."""
