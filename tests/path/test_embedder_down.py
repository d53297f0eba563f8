"""An embedder that fails: a context goes on by words and says so, a recall raises, and nothing is lost."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from bethink import AsyncMemory, Context, EmbeddingFailed, Listener, Memory
from bethink.models import Fingerprint
from bethink.testing.doubles import HashEmbedder

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

SAID = ("The red kite breeds in the valley.", "We meet at the old mill.", "Bring the blue tent.")
PROBLEM = "embedder service: status 503 — try again later (recalled by words alone)"


class Service:
    """An embedder that can be down, for texts, for questions, or altogether, its fingerprint included."""

    def __init__(self) -> None:
        self._inner = HashEmbedder()
        self.down: frozenset[str] = frozenset()

    def _answer(self, of: str) -> None:
        if of in self.down:
            raise EmbeddingFailed("service", "status 503", "try again later", status=503)

    @property
    def fingerprint(self) -> Fingerprint:
        self._answer("fingerprint")
        return self._inner.fingerprint

    def embed(self, texts: Sequence[str]) -> NDArray[np.float32]:
        self._answer("texts")
        return self._inner.embed(texts)

    def embed_queries(self, texts: Sequence[str]) -> NDArray[np.float32]:
        self._answer("questions")
        return self._inner.embed(texts)


class Heard(Listener):
    def __init__(self) -> None:
        self.problems: list[tuple[str, str]] = []

    def without(self, thread_id: str, problem: str) -> None:
        self.problems.append((thread_id, problem))


@pytest.fixture
def service() -> Service:
    return Service()


@pytest.fixture
def heard() -> Heard:
    return Heard()


@pytest.fixture
def memory(tmp_path: Path, service: Service, heard: Heard) -> Iterator[Memory]:
    with Memory(tmp_path / "a.db", embedder=service, listener=heard) as memory:
        for text in SAID:
            memory.thread("before").add("user", text)
        memory.thread("now").add("user", "Where does the kite breed?")
        yield memory
        assert memory.check() == []


def recalled(context: Context) -> list[str]:
    return [line.text for line in context.lines if line.section == "recalled"]


ALTOGETHER = frozenset({"fingerprint", "texts", "questions"})


@pytest.mark.parametrize("down", [{"texts"}, {"questions"}, ALTOGETHER], ids=["texts", "questions", "altogether"])
def test_a_context_goes_on_by_words_and_says_so(memory: Memory, service: Service, heard: Heard, down: set[str]) -> None:
    service.down = frozenset(down)
    context = memory.thread("now").context()
    assert any(SAID[0] in text for text in recalled(context))
    assert all("dense" not in line.scores for line in context.lines)
    assert context.without == (PROBLEM,)
    assert heard.problems == [("now", PROBLEM)]
    assert memory.replay(context.receipt_id).to_bytes() == context.to_bytes()


def test_a_service_that_fails_later_is_done_without_too(memory: Memory, service: Service) -> None:
    assert memory.thread("now").context().without == ()
    service.down = ALTOGETHER
    memory.thread("now").add("user", "And where do we meet?")
    assert memory.thread("now").context().without == (PROBLEM,)


def test_what_waits_meanwhile_is_embedded_when_the_service_is_back(memory: Memory, service: Service) -> None:
    service.down = ALTOGETHER
    memory.thread("now").context()
    assert memory.stats().pending == 4
    service.down = frozenset()
    context = memory.thread("now").context()
    assert context.without == ()
    assert memory.stats().pending == 0
    assert any("dense" in line.scores for line in context.lines)


@pytest.mark.parametrize("act", [lambda memory: memory.recall("kite"), lambda memory: memory.flush()], ids=["recall", "flush"])
def test_a_recall_raises(memory: Memory, service: Service, act: Callable[[Memory], object]) -> None:
    service.down = ALTOGETHER
    with pytest.raises(EmbeddingFailed, match="status 503"):
        act(memory)


def test_it_is_logged_without_a_word_of_anybody(memory: Memory, service: Service, caplog: pytest.LogCaptureFixture) -> None:
    service.down = ALTOGETHER
    with caplog.at_level(logging.WARNING, "bethink"):
        memory.thread("now").context()
    assert [record.getMessage() for record in caplog.records] == [PROBLEM]


def test_on_an_event_loop_it_is_the_same(tmp_path: Path, service: Service) -> None:
    async def built() -> Context:
        memory = AsyncMemory(tmp_path / "b.db", embedder=service)
        try:
            await memory.thread("before").add("user", SAID[0])
            await memory.thread("now").add("user", "Where does the kite breed?")
            service.down = ALTOGETHER
            return await memory.thread("now").context()
        finally:
            await memory.close()

    context = asyncio.run(built())
    assert context.without == (PROBLEM,)
    assert any(SAID[0] in text for text in recalled(context))
