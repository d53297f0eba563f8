"""Likeness token by token: what it comes to, how it is kept, what it changes of an order, and who has it."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import closing
from datetime import datetime, timezone
from pathlib import Path
from typing import Any

import msgspec
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from numpy.typing import NDArray

from bethink import Memory, Message, Settings
from bethink.errors import EmbeddingFailed, InvalidInput
from bethink.models import Embedded, TokenEmbedder
from bethink.models.cached import CachedTokenEmbedder
from bethink.retrieval.legs import neighbours
from bethink.retrieval.maxsim import maxsim, packed
from bethink.retrieval.ranker import Ranker
from bethink.retrieval.rerank import Reranker
from bethink.storage.base import Candidate
from bethink.testing.doubles import HashEmbedder, HashTokenEmbedder

_whole = st.integers(-7, 7).map(int)


def tokens(count: int, dimension: int = 6) -> st.SearchStrategy[NDArray[np.int8]]:
    return arrays(np.int8, (count, dimension), elements=_whole)


_some = st.integers(0, 5).flatmap(tokens)


# -- the measure ----------------------------------------------------------------------------------------------------------


@given(query=_some, texts=st.lists(_some, max_size=6))
def test_it_is_the_mean_of_the_greatest_cosines_whatever_the_texts(
    query: NDArray[np.int8], texts: list[NDArray[np.int8]]
) -> None:
    def unit(vectors: NDArray[np.int8]) -> NDArray[np.float64]:
        whole = vectors.astype(np.float64)
        units: NDArray[np.float64] = whole / np.maximum(np.linalg.norm(whole, axis=1, keepdims=True), 1)
        return units

    expected = [(unit(query) @ unit(text).T).max(axis=1).mean() if len(text) and len(query) else 0.0 for text in texts]
    np.testing.assert_allclose(maxsim(query, [packed(text) for text in texts]), expected, atol=1e-6)


@given(query=tokens(3), text=tokens(4), others=st.lists(_some, max_size=3))
def test_what_else_is_compared_changes_no_bit(query: NDArray[np.int8], text: NDArray[np.int8], others: list[Any]) -> None:
    alone = maxsim(query, [packed(text)])
    assert maxsim(query, [*map(packed, others), packed(text)])[-1:].tobytes() == alone.tobytes()


@given(vectors=_some)
def test_two_components_are_a_byte(vectors: NDArray[np.int8]) -> None:
    data = packed(vectors)
    assert len(data) == vectors.size // 2
    pairs = np.frombuffer(data, np.uint8)
    assert np.array_equal(np.stack(np.divmod(pairs, 16), axis=1).reshape(vectors.shape).astype(np.int8) - 8, vectors)


def test_neighbours_of_some_are_those_that_they_have_among_all() -> None:
    at = datetime(2026, 1, 1, tzinfo=timezone.utc)

    def candidate(kind: Any, thread: str | None, seq: int) -> Candidate:
        return Candidate(
            kind=kind, id=f"{thread}{seq}", namespace=("a",), thread_id=thread, seq=seq, text="", speaker="", trust="user",
            at=at, positions={}, length=1,
        )  # fmt: skip

    told = [candidate("message", "t", seq) for seq in (3, 1, 2, 5)]
    told += [candidate("message", "u", 2), candidate("summary", "t", 0), candidate("note", None, 0)]
    whole = neighbours(told)
    for rows in ([], [2], [5, 0], [6, 4, 3, 2, 1]):
        assert np.array_equal(neighbours(told, rows), whole[rows])


# -- a memory -------------------------------------------------------------------------------------------------------------


class Letters(HashTokenEmbedder):
    """It counts the texts that are run through it."""

    def __init__(self, name: str = "letters") -> None:
        super().__init__(name=name)
        self.runs = 0

    def embed(self, texts: Sequence[str]) -> NDArray[np.float32]:
        self.runs += len(texts)
        return super().embed(texts)


ON = Settings(maxsim=True)
SAID = ("The pots are fired twice.", "A potter knows potatoes.", "It rained all day on the roof.")
QUESTION = "How are the pots fired?"


def said(memory: Memory) -> Memory:
    memory.thread("t").append([Message(role="user", content=text) for text in SAID])
    return memory


def scores(memory: Memory, query: str = QUESTION) -> list[dict[str, float]]:
    return [hit.scores for hit in memory.recall(query)]


def test_the_double_is_a_token_embedder() -> None:
    embedder: TokenEmbedder = Letters()
    assert isinstance(embedder, TokenEmbedder)
    assert not isinstance(HashEmbedder(), TokenEmbedder)


def test_it_is_off_unless_it_is_asked_for() -> None:
    with closing(said(Memory(embedder=Letters()))) as memory:
        assert "tokens" not in memory.recall(QUESTION).legs
        assert not any("tokens" in each for each in scores(memory))


def test_it_is_one_leg_of_the_score() -> None:
    with closing(said(Memory(embedder=Letters(), settings=ON))) as memory:
        result = memory.recall(QUESTION)
        assert result.legs == ("lexical", "dense", "tokens")
        assert any(hit.scores.get("tokens", 0) > 0 for hit in result)
        for hit in result:
            assert sum(hit.scores.values()) == pytest.approx(hit.score, abs=1e-5)
            assert 0 <= hit.score <= 1


def test_it_orders_and_does_not_decide_whether_there_is_an_answer() -> None:
    def found(settings: Settings, query: str) -> set[str]:
        with closing(said(Memory(embedder=Letters(), settings=settings))) as memory:
            return {hit.id for hit in memory.recall(query)}

    for query in (QUESTION, "potato rain", "Was the firmware fixed?", "nothing of the kind"):
        assert len(found(ON, query)) == len(found(Settings(), query))


@pytest.mark.parametrize("ranker", [Ranker(), Ranker(reranker=Reranker())])
def test_why_tells_of_the_ranking_that_recall_gives(ranker: Ranker) -> None:
    with closing(said(Memory(embedder=Letters(), settings=ON, ranker=ranker))) as memory:
        result, told = memory.recall(QUESTION), memory.why(QUESTION)
        assert [hit.scores for hit in told.result] == [hit.scores for hit in result]
        assert [each.placed.rank for each in told.hits] == list(range(1, len(result) + 1))
        assert len(result) > 1
        assert memory.why_not(result[-1].id, QUESTION, len(result) - 1).step == "k"


def test_a_weight_of_nothing_leaves_it_out() -> None:
    with closing(said(Memory(embedder=Letters(), settings=ON, ranker=Ranker(tokens=0.0)))) as memory:
        assert memory.recall(QUESTION).legs == ("lexical", "dense")


def test_a_message_is_run_through_the_model_once() -> None:
    embedder = Letters()
    with closing(said(Memory(embedder=embedder, settings=ON))) as memory:
        memory.flush()
        embedder.runs = 0
        memory.thread("t").append([Message(role="user", content="The kiln is hot.")])
        memory.recall(QUESTION)
        assert embedder.runs == 2


def test_the_same_data_and_query_give_the_same_bytes(tmp_path: Path) -> None:
    def asked(name: str) -> list[tuple[str, float, dict[str, float]]]:
        with closing(said(Memory(tmp_path / name, embedder=Letters(), settings=ON))) as memory:
            return [(hit.text, hit.score, hit.scores) for hit in memory.recall(QUESTION)]

    assert asked("one.db") == asked("two.db")


def test_what_was_stored_without_is_given_tokens_by_flush(tmp_path: Path) -> None:
    path = tmp_path / "memory.db"
    with closing(said(Memory(path, embedder=Letters()))) as memory:
        memory.flush()
    with closing(Memory(path, embedder=Letters(), settings=ON)) as memory:
        assert not any("tokens" in each for each in scores(memory))
        memory.flush()
        assert any("tokens" in each for each in scores(memory))
        assert not memory.check()


def test_what_is_forgotten_leaves_nothing_to_compare(tmp_path: Path) -> None:
    with closing(said(Memory(tmp_path / "memory.db", embedder=Letters(), settings=ON))) as memory:
        (first, *_) = memory.recall(QUESTION)
        memory.forget(message=first.id)
        assert first.id not in {hit.id for hit in memory.recall(QUESTION)}
        assert not memory.check()


@pytest.mark.parametrize(("embedder", "found"), [(None, "no embedder"), (HashEmbedder(), "whole texts")])
def test_it_is_refused_where_nobody_gives_tokens(embedder: Any, found: str) -> None:
    with pytest.raises(InvalidInput, match=found) as refused:
        Memory(embedder=embedder, settings=ON)
    assert refused.value.field == "settings.maxsim"


def test_another_model_without_tokens_is_refused_too() -> None:
    with closing(said(Memory(embedder=Letters(), settings=ON))) as memory, pytest.raises(InvalidInput, match="whole texts"):
        memory.reembed(HashEmbedder(name="other"))


def test_a_change_of_the_model_makes_tokens_anew() -> None:
    with closing(said(Memory(embedder=Letters(), settings=ON))) as memory:
        memory.flush()
        memory.reembed(Letters("others"))
        assert any("tokens" in each for each in scores(memory))


@pytest.mark.parametrize(
    "broken",
    [
        [],
        [np.zeros((2, 16), np.float32)],
        [np.zeros((2, 6), np.int8)],
        [np.zeros(16, np.int8)],
        [np.full((1, 16), 8, np.int8)],
        [np.full((1, 16), -128, np.int8)],
    ],
)
def test_V024_tokens_that_are_none_are_refused(broken: list[Any]) -> None:
    class Broken(Letters):
        def embed_tokens(self, texts: Sequence[str]) -> Embedded:
            return Embedded(self.embed(texts), broken)

    with pytest.raises(EmbeddingFailed, match="tokens of"):
        CachedTokenEmbedder(Broken()).embed_tokens(["one text"])


def test_what_was_embedded_last_is_remembered_with_its_tokens() -> None:
    embedder = Letters()
    cached = CachedTokenEmbedder(embedder)
    first = cached.embed_tokens(["a pot", "rain"])
    runs = embedder.runs
    again = cached.embed_tokens(["rain", "a pot"])
    assert np.array_equal(again.vectors, first.vectors[::-1])
    assert np.array_equal(again.tokens[0], first.tokens[1])
    assert np.array_equal(cached.embed_queries(["rain"])[0], first.vectors[1])
    assert embedder.runs == runs
    cached.forget()
    cached.embed_tokens(["rain"])
    assert embedder.runs == runs + 1


def test_no_texts_have_no_tokens() -> None:
    vectors, of_tokens = CachedTokenEmbedder(Letters()).embed_tokens([])
    assert (len(vectors), of_tokens) == (0, [])


@pytest.mark.parametrize("name", ["tokens", "chance", "chance_growth", "token_context"])
@pytest.mark.parametrize("value", [-0.1, float("nan"), float("inf")])
def test_parameters_that_mean_nothing_are_refused(name: str, value: float) -> None:
    with pytest.raises(InvalidInput, match=rf"ranker\.{name}"):
        msgspec.structs.replace(Ranker(), **{name: value})
