"""Vectors at the door of a store: what every backend refuses, before it writes or compares anything."""

from __future__ import annotations

from collections.abc import Sequence

from bethink.errors import InvalidInput
from bethink.storage.base import TokenVectors

__all__ = ["check_query", "check_tokens", "check_vectors"]

_TOLERANCE = 0.01
"""How far from 1 a length may be: half precision is within; a vector that nobody has normalised seldom is."""
_FIX = "pass what the bound embedder gives: finite float32 values, of length 1 together"


def check_vectors(vectors: Sequence[bytes], dimension: int | None) -> None:
    """Vectors that are to be stored, each as little-endian float32.

    Raises:
        InvalidInput: there is no embedder (`dimension` is None); one has another dimension, holds a value that is not finite,
            is zero, or is not of length 1. The first such is named by its place among them.
    """
    if dimension is None:
        raise InvalidInput("vectors", "no embedder is bound to the store", "call bind_embedder first")
    for place, vector in enumerate(vectors):
        if len(vector) != 4 * dimension:
            raise InvalidInput(f"vectors[{place}]", f"{len(vector)} bytes", f"pass {dimension} float32 values")
    fault = _fault(vectors)
    if fault is not None:
        raise InvalidInput(f"vectors[{fault[0]}]", fault[1], _FIX)


def check_query(vector: bytes, dimension: int | None) -> None:
    """The vector of a query. Without an embedder (`dimension` is None) there is nothing to compare it with, and any will do.

    Raises:
        InvalidInput: as for `check_vectors`.
    """
    if dimension is None:
        return
    if len(vector) != 4 * dimension:
        raise InvalidInput("vector", f"{len(vector)} bytes", f"pass {dimension} float32 values")
    fault = _fault([vector])
    if fault is not None:
        raise InvalidInput("vector", fault[1], _FIX)


def check_tokens(tokens: TokenVectors) -> None:
    """Vectors of tokens that are to be stored.

    Raises:
        InvalidInput: some are not whole vectors of their dimension. The first such is named by its place among them.
    """
    dimension = tokens.space.dimension
    if dimension < 2 or dimension % 2:
        raise InvalidInput("tokens.space.dimension", f"{dimension}", "use an even number above 0")
    for place, (_, data) in enumerate(tokens.of):
        if len(data) % (dimension // 2):
            raise InvalidInput(f"tokens[{place}]", f"{len(data)} bytes", f"pass {dimension // 2} bytes for each token")


def _fault(vectors: Sequence[bytes]) -> tuple[int, str] | None:
    """The place of the first vector that cannot be one, and what it is instead. All have the same dimension."""
    import numpy as np

    if not vectors:
        return None
    matrix = np.frombuffer(b"".join(vectors), dtype="<f4").reshape(len(vectors), -1)
    with np.errstate(all="ignore"):
        lengths = np.sqrt(np.einsum("ij,ij->i", matrix, matrix, dtype=np.float64))
    wrong = np.flatnonzero(~(np.abs(lengths - 1) <= _TOLERANCE))
    if not len(wrong):
        return None
    place = int(wrong[0])
    if not np.isfinite(matrix[place]).all():
        return place, "a vector with a value that is not finite"
    return place, "a zero vector" if not lengths[place] else f"a vector of length {lengths[place]:.3g}"
