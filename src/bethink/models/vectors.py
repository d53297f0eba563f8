"""What embedders give, made fit for use: checked, of length 1, and told apart from what other models give.

whatever a model returns ── unit_vectors ──▶ float32, shape (n, dimension), each row of length 1
                         ── probe ─────────▶ 128 bits that are nearly the same in every run of one model, and in no other's
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

from bethink.errors import EmbeddingFailed
from bethink.models import Fingerprint

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

__all__ = ["PROBES", "fingerprint_of", "probe", "token_vectors", "unit_vectors"]

PROBES = (
    "The cat sleeps on the warm roof.",
    "Quarterly revenue rose by 12 percent.",
    "Wo ist der nächste Bahnhof?",
    "I moved to Ghent in May.",
    "def add(a, b): return a + b",
    "She is allergic to peanuts and plays the cello.",
    "明日の会議は午後三時からです。",
    "no",
)
"""What every embedder is asked for its fingerprint. Never changed: databases rest on it."""

_BITS_OF_ONE = 16
_LEAST = 1e-12
_UNIT = 1e-5
"""How far from 1 a length may be: float noise."""


def unit_vectors(found: Any, *, count: int, dimension: int | None, embedder: str, zero: str = "refuse") -> NDArray[np.float32]:
    """What a model returned for `count` texts, as unit vectors. Costs a pass over them.

    Args:
        found: an array, or nested sequences of numbers.
        dimension: the one they must have; None takes any, as long as it is the same for all.
        embedder: named in errors.
        zero: "refuse" refuses a vector of length 0. "first" puts the first axis in its place, for models that have nothing to
            say of a text without known words: such texts are then near to each other and to nothing else.

    Raises:
        EmbeddingFailed: not numbers, not `count` of them, of another dimension, not finite, or of length 0.
    """
    import numpy as np

    try:
        vectors = np.asarray(found, dtype=np.float32)
    except (TypeError, ValueError, OverflowError):
        raise EmbeddingFailed(
            embedder, "what it returned is no array of numbers", "return as many numbers for each text"
        ) from None
    if count == 0 and vectors.size == 0:
        return np.empty((0, dimension or 0), dtype=np.float32)
    if vectors.ndim != 2:
        raise EmbeddingFailed(embedder, f"an array of {vectors.ndim} dimensions", "return shape (texts, dimension)")
    if len(vectors) != count:
        raise EmbeddingFailed(embedder, f"{len(vectors):,} vectors for {count:,} texts", "return one for each text, in order")
    if vectors.shape[1] != dimension and (dimension is not None or vectors.shape[1] == 0):
        wanted = "some" if dimension is None else f"{dimension:,}"
        raise EmbeddingFailed(
            embedder, f"vectors of {vectors.shape[1]:,} numbers, not {wanted}", "use the model it was made for"
        )
    with np.errstate(over="ignore", invalid="ignore"):
        fit = bool((np.abs(np.linalg.norm(vectors, axis=1) - 1) <= _UNIT).all())
    if fit:
        return np.ascontiguousarray(vectors)
    # Scaled first: the square of a large float32 is infinite, that of a small one is 0.
    largest = np.abs(vectors).max(axis=1, keepdims=True)
    if not np.isfinite(largest).all():
        row = int(np.flatnonzero(~np.isfinite(largest))[0])
        raise EmbeddingFailed(embedder, f"vector {row} holds numbers that are not finite", "check the model and that text")
    empty = largest[:, 0] < _LEAST
    if empty.any():
        if zero == "refuse":
            row = int(np.flatnonzero(empty)[0])
            raise EmbeddingFailed(embedder, f"vector {row} has length 0, so it points nowhere", "check the model and that text")
        vectors = np.where(empty[:, None], np.eye(1, vectors.shape[1], dtype=np.float32), vectors)
        largest[empty] = 1
    scaled = vectors / largest
    unit: NDArray[np.float32] = scaled / np.linalg.norm(scaled, axis=1, keepdims=True)
    return np.ascontiguousarray(unit, dtype=np.float32)


def token_vectors(found: Any, *, count: int, dimension: int, embedder: str) -> list[NDArray[np.int8]]:
    """What a model returned for the tokens of `count` texts.

    Raises:
        EmbeddingFailed: not `count` arrays, or one is not of int8, of shape (tokens, `dimension`) and within -7 to 7.
    """
    import numpy as np

    arrays = [np.asarray(each) for each in found]
    if len(arrays) != count:
        raise EmbeddingFailed(embedder, f"tokens of {len(arrays):,} texts, not of {count:,}", "return one array for each text")
    for place, each in enumerate(arrays):
        if each.dtype != np.int8 or each.ndim != 2 or each.shape[1] != dimension:
            fault = f"tokens of text {place} are {each.dtype} of shape {each.shape}"
            raise EmbeddingFailed(embedder, fault, f"return int8 of shape (tokens, {dimension})")
        if each.size and max(int(each.max()), -int(each.min())) > 7:
            raise EmbeddingFailed(embedder, f"tokens of text {place} have numbers beyond 7", "return numbers from -7 to 7")
    return arrays


def probe(vectors: NDArray[np.float32]) -> str:
    """128 bits of the vectors of `PROBES`, as 32 hexadecimal digits: on which side of 16 fixed planes each of them lies.

    Two vectors at an angle a differ in a/pi of their bits on average (Charikar, "Similarity estimation techniques from rounding
    algorithms", 2002), so noise moves few bits, and another model moves half of them. See `Fingerprint.same_space`.
    """
    import numpy as np

    count, dimension = vectors.shape
    size = count * _BITS_OF_ONE * dimension
    drawn = np.frombuffer(hashlib.shake_256(b"bethink probe").digest((size + 7) // 8), dtype=np.uint8)
    planes = np.unpackbits(drawn)[:size].reshape(count, _BITS_OF_ONE, dimension).astype(np.float64) * 2 - 1
    sides = np.einsum("tbd,td->tb", planes, vectors.astype(np.float64)) > 0
    return np.packbits(sides).tobytes().hex()


def fingerprint_of(name: str, embed: Callable[[Sequence[str]], NDArray[np.float32]]) -> Fingerprint:
    """The fingerprint of a model, measured by embedding `PROBES`."""
    vectors = embed(PROBES)
    return Fingerprint(name=name, dimension=vectors.shape[1], probe=probe(vectors))
