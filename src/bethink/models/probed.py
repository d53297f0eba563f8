"""What the embedders of other packages, of servers and of plain functions have in common.

An adapter says how texts become arrays (`_encode`); here these are checked and brought to length 1, and the fingerprint is
measured when it is first asked for.
"""

from __future__ import annotations

import inspect
import threading
from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any, ClassVar

from bethink.errors import InvalidInput
from bethink.models import Embedder, Fingerprint, embed_queries, limits_of
from bethink.models.vectors import fingerprint_of, unit_vectors
from bethink.values import check_id, check_text

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

__all__ = ["FunctionEmbedder", "Prefixed", "ProbedEmbedder", "embedder_from"]


class ProbedEmbedder(ABC):
    """An `Embedder` whose fingerprint is measured by embedding `vectors.PROBES`, once, at first use. Safe to use from many
    threads if `_encode` is.

    Args:
        name: of the model; what its fingerprint says.
        dimension: what its vectors must have; None learns it from the first ones.
        max_tokens, batch_size: see `EmbedderLimits`.
    """

    zero: ClassVar[str] = "refuse"
    """What becomes of a vector of length 0; see `vectors.unit_vectors`."""

    def __init__(self, name: str, *, dimension: int | None = None, max_tokens: int | None = None, batch_size: int = 64) -> None:
        self._name = check_id(name, "model")
        self._dimension = None if dimension is None else _at_least_one(dimension, "dimension")
        self.max_tokens = None if max_tokens is None else _at_least_one(max_tokens, "max_tokens")
        self.batch_size = _at_least_one(batch_size, "batch_size")
        self._measured: Fingerprint | None = None
        self._measuring = threading.Lock()

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self._name!r})"

    @property
    def fingerprint(self) -> Fingerprint:
        """Loads the model, or asks the server, when it is first looked at."""
        if self._measured is None:
            with self._measuring:
                if self._measured is None:
                    self._measured = fingerprint_of(self._name, lambda texts: self._checked(texts, self._encode))
        return self._measured

    def embed(self, texts: Sequence[str]) -> NDArray[np.float32]:
        """Vectors of `texts`, in order: float32, shape (len(texts), dimension), each of length 1.

        Raises:
            EmbeddingFailed: what came back are no vectors of that dimension, or none of all texts.
        """
        return self._all(texts, self._encode)

    def _all(self, texts: Sequence[str], encode: Callable[[list[str]], Any]) -> NDArray[np.float32]:
        if isinstance(texts, str):
            raise InvalidInput("texts", "a single text", "pass a list of texts")
        if not texts:
            return unit_vectors((), count=0, dimension=self.fingerprint.dimension, embedder=self._name)
        return self._checked(texts, encode)

    def _checked(self, texts: Sequence[str], encode: Callable[[list[str]], Any]) -> NDArray[np.float32]:
        dimension = self._dimension if self._measured is None else self._measured.dimension
        found = encode(list(texts))
        return unit_vectors(found, count=len(texts), dimension=dimension, embedder=self._name, zero=self.zero)

    @abstractmethod
    def _encode(self, texts: list[str]) -> Any:
        """Something that numpy makes an array of shape (len(texts), dimension) of; `texts` are one or more."""


class FunctionEmbedder(ProbedEmbedder):
    """A function from texts to vectors, as an `Embedder`. See `embedder_from`."""

    def __init__(self, function: Callable[[list[str]], Any], name: str, **limits: Any) -> None:
        super().__init__(name, **limits)
        self._function = function

    def _encode(self, texts: list[str]) -> Any:
        return self._function(texts)


def embedder_from(
    function: Callable[[list[str]], Any],
    *,
    name: str,
    dimension: int | None = None,
    max_tokens: int | None = None,
    batch_size: int = 64,
) -> FunctionEmbedder:
    """Any function from a list of texts to as many vectors, as an `Embedder`.

    Args:
        function: returns an array, or lists of numbers, of any length but 0; they are brought to length 1. Called from
            whichever thread embeds. Must give the same vector for the same text.
        name: of the model and its version: a database remembers it, and refuses vectors of another.
        dimension: of its vectors; None learns it from the first ones.

    Raises:
        InvalidInput: no function, an asynchronous one, or a name that cannot be kept.
    """
    if not callable(function):
        raise InvalidInput("function", f"a {type(function).__name__}", "pass a function from a list of texts to vectors")
    if inspect.iscoroutinefunction(function) or inspect.iscoroutinefunction(getattr(function, "__call__", None)):  # noqa: B004
        raise InvalidInput("function", "asynchronous", "pass a synchronous one: vectors are made on worker threads")
    return FunctionEmbedder(function, name, dimension=dimension, max_tokens=max_tokens, batch_size=batch_size)


class Prefixed:
    """An embedder that puts a mark before each text and another before each question, as models such as E5 and Nomic were
    trained: `Prefixed(embedder, text="passage: ", query="query: ")`.

    The mark of a text is part of what the fingerprint is measured by.
    """

    def __init__(self, embedder: Embedder, *, text: str, query: str) -> None:
        self._embedder = embedder
        self._text, self._query = check_text(text, "text"), check_text(query, "query")
        self.max_tokens = limits_of(embedder).max_tokens
        self.batch_size = limits_of(embedder).batch_size
        self._measured: Fingerprint | None = None

    def __repr__(self) -> str:
        return f"Prefixed({self._embedder!r})"

    @property
    def fingerprint(self) -> Fingerprint:
        if self._measured is None:
            self._measured = fingerprint_of(self._embedder.fingerprint.name, self.embed)
        return self._measured

    def embed(self, texts: Sequence[str]) -> NDArray[np.float32]:
        """See `Embedder.embed`."""
        return self._embedder.embed([self._text + text for text in texts])

    def embed_queries(self, texts: Sequence[str]) -> NDArray[np.float32]:
        """See `embed_queries` of `bethink.models`."""
        return embed_queries(self._embedder, [self._query + text for text in texts])


def _at_least_one(value: int, field: str) -> int:
    if isinstance(value, bool) or not isinstance(value, int) or value < 1:
        raise InvalidInput(field, f"a {type(value).__name__} that is no number from 1 up", "give 1 or more")
    return value
