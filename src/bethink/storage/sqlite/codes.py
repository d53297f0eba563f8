"""Codes: two bits for each component of a vector, and how the nearest of very many are found by them.

    all codes ─ Hamming distance of the signs ─▶ some thousand ─ products with the codes ─▶ a few, to be compared exactly

A component is coded as one of -3, -1, 1, 3, the borders at 0 and ±0.98 / √dimension: the best four levels for the components of
a long random unit vector (Lloyd and Max, σ = 1 / √dimension). So a code rests on its vector alone; nothing is trained, and one
that was made once stays right whatever else is stored.

The first step compares signs with signs: an exclusive or and a bit count, 6 words a vector of 384 dimensions. The second takes
the query to 4 bits and the codes as they are, which orders far better and costs more, so it sees only what the first kept.
Neither loses anything that a filter left: what is not eligible is out before the first cut.

Of 100,000 vectors (real ones of MiniLM, mixed), with 2,000 kept by the first step and 128 by the second, those 128 hold
99.5 % of the true ten nearest; signs alone, without the second bit, would hold 96.6 %.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

__all__ = ["Words", "code_bytes", "codes_of", "nearest", "words_of"]

Words = NDArray[np.uint64]
"""Codes, one a column: the words of the signs, then as many of the second bits."""

_KEPT, _KEPT_OF, _KEPT_AT_MOST = 800, 80, 5_000
"""How many the first step leaves at least: so many, and one of so many columns; four times what is wanted if that is more."""
_BORDER = 0.9816
_BLOCK = 65_536
"""Columns at a time: the intermediate values stay in the cache."""
_SAMPLED = 32_768
_PARTIAL = 262_144
"""From so many columns on, the first step looks at two thirds of the signs, and at the rest where those are near."""
_NEAR = 0.06
_WHOLE = 3
"""Words whose bits can be counted in a byte."""
_LEVELS = 7.5


def code_bytes(dimension: int) -> int:
    """The length of a code: two bits a component, in whole words for each bit."""
    return 16 * _words(dimension)


def _words(dimension: int) -> int:
    return -(-dimension // 64)


def codes_of(vectors: NDArray[np.float32]) -> list[bytes]:
    """The code of each row: the words of the signs, then those of the second bits, little-endian."""
    count, dimension = vectors.shape
    bits = np.zeros((count, 2, 64 * _words(dimension)), dtype=np.bool_)
    positive, far = vectors > 0, np.abs(vectors) > np.float32(_BORDER / dimension**0.5)
    bits[:, 0, :dimension] = positive
    bits[:, 1, :dimension] = positive == far
    packed = np.packbits(bits.reshape(count, -1), axis=1, bitorder="little")
    return [row.tobytes() for row in packed]


def words_of(codes: list[bytes]) -> Words:
    """Codes as columns."""
    rows = np.frombuffer(b"".join(codes), dtype="<u8").reshape(len(codes), -1)
    columns: Words = np.ascontiguousarray(rows.T, dtype=np.uint64)
    return columns


def nearest(
    words: Words, query: NDArray[np.float32], count: int, eligible: NDArray[np.bool_] | None = None
) -> NDArray[np.intp]:
    """The columns that are likely to hold the `count` nearest to a query, ascending; no more than `count`, and as many as that
    if so many are eligible.

    Args:
        words: shape (2 * words of the dimension, columns).
        eligible: of each column; None for all.
    """
    columns = words.shape[1]
    wanted = max(4 * count, min(_KEPT + columns // _KEPT_OF, _KEPT_AT_MOST))
    among = columns if eligible is None else int(np.count_nonzero(eligible))
    if among <= wanted:
        kept = np.arange(columns) if eligible is None else np.flatnonzero(eligible)
    else:
        kept = _by_signs(words[: len(words) // 2], _signs(query), wanted, eligible)
    if len(kept) <= count:
        return kept
    # Not `take`: of columns in a buffer with room for more it would copy the whole buffer first.
    products = _products(words[:, kept], query)
    chosen: NDArray[np.intp] = kept[np.sort(np.argpartition(-products, count - 1)[:count])]
    return chosen


def _signs(query: NDArray[np.float32]) -> Words:
    signs: Words = words_of(codes_of(query[np.newaxis]))[:, 0]
    return signs[: len(signs) // 2]


def _by_signs(signs: Words, query: Words, wanted: int, eligible: NDArray[np.bool_] | None) -> NDArray[np.intp]:
    """At least `wanted` columns whose signs differ least from the query's. `wanted` or more must be eligible."""
    columns = signs.shape[1]
    partial = 2 * len(signs) // 3
    if columns < _PARTIAL or partial < _WHOLE:
        return _least(_distances(signs, query), wanted, eligible)
    distances = _distances(signs[:partial], query[:partial])
    near = _least(distances, max(wanted, int(_NEAR * columns)), eligible)
    rest = _distances(signs[partial:][:, near], query[partial:])
    return near[_least(distances[near] + rest, wanted, None)]


def _distances(signs: Words, query: Words) -> NDArray[np.uint16]:
    """In how many places each column differs from the query."""
    columns = signs.shape[1]
    distances = np.zeros(columns, dtype=np.uint16)
    size = min(columns, _BLOCK)
    differing, ones, together = np.empty(size, np.uint64), np.empty(size, np.uint8), np.empty(size, np.uint8)
    for first in range(0, columns, _BLOCK):
        block = distances[first : first + _BLOCK]
        apart, counted, total = differing[: len(block)], ones[: len(block)], together[: len(block)]
        for word in range(len(query)):
            np.bitwise_xor(signs[word, first : first + _BLOCK], query[word], out=apart)
            if word % _WHOLE == 0:
                np.bitwise_count(apart, out=total)
            else:
                np.add(total, np.bitwise_count(apart, out=counted), out=total)
            if word % _WHOLE == _WHOLE - 1 or word == len(query) - 1:
                np.add(block, total, out=block)
    return distances


def _least(distances: NDArray[np.uint16], wanted: int, eligible: NDArray[np.bool_] | None) -> NDArray[np.intp]:
    """The columns with the least distances: all up to the distance at which there are at least `wanted`."""
    if eligible is not None:
        distances[~eligible] = np.iinfo(np.uint16).max
    # A sample tells the distance nearly; one further is looked at until there are enough.
    step = max(1, len(distances) // _SAMPLED)
    frequency = np.bincount(distances[::step])
    limit = int(np.searchsorted(np.cumsum(frequency), wanted / step))
    found = np.flatnonzero(distances <= limit)
    while len(found) < wanted:
        limit += 1
        found = np.flatnonzero(distances <= limit)
    return found


def _products(words: Words, query: NDArray[np.float32]) -> NDArray[np.float32]:
    """Products of the query, at 4 bits a component, with codes; up to a factor and a constant, which change no order.

    A component's level is 2 * sign + second bit - 1.5, times 2, and the query's is a number of 4 bits less 7.5. So the product
    is a sum of bit counts, one for each bit of the query and each of the code.
    """
    half = len(words) // 2
    scale = float(np.abs(query).max()) / _LEVELS or 1.0
    levels = np.clip(np.floor(query / scale) + 8, 0, 15).astype(np.uint8)
    of_code = np.repeat(np.array([2, 1], np.float32), half)
    products = (np.float32(-_LEVELS) * of_code) @ np.bitwise_count(words).astype(np.float32)
    for bit in range(4):
        plane = np.zeros(64 * half, np.bool_)
        plane[: len(levels)] = (levels >> bit) & 1
        mask = np.packbits(plane, bitorder="little").view("<u8").astype(np.uint64)
        shared = np.bitwise_count(words & np.concatenate([mask, mask])[:, np.newaxis])
        products += (of_code * np.float32(2**bit)) @ shared.astype(np.float32)
    found: NDArray[np.float32] = products.astype(np.float32, copy=False)
    return found
