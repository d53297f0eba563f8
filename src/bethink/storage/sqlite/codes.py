"""Codes: four bits for each component of a vector, and how the nearest of very many are found by them.

    signs of the components in which the query is largest ─ counted ─▶ some thousand
        ─ products with the whole codes ─▶ a few, to be compared exactly

A component is coded as one of 16 levels of equal width about 0, as wide as is best for the components of a long random unit
vector (0.335 / √dimension: the uniform quantiser of Max, 1960, σ = 1 / √dimension). The highest of the four bits is its sign.
So a code rests on its vector alone; nothing is trained, and one that was made once stays right whatever else is stored.

Signs are held in planes: of one component those of all vectors, 64 in a word. A search reads a quarter of the planes, those of
the components that matter most to it, and adds them up in all lanes at once, by full adders of bitwise operations on whole
planes, into planes of the binary digits of the sums. Of the digits, highest first, it reads off which vectors have the greatest
sums. That is a third of the bits that a Hamming distance compares, and orders better: they hold four fifths of the query.

Sums, and products of levels with the query taken to 8 bits, are whole numbers which float32 holds exactly, and what ties with
the last that is kept is kept. So what is chosen rests on the query and the codes that are there: not on their order, nor on
who counts. Neither step loses anything that a filter left: what is not eligible is out before the first cut.
"""

from __future__ import annotations

import math
import threading
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

__all__ = ["Codes", "code_bytes", "codes_of", "empty", "nearest"]

Vector = NDArray[np.float32]
Words = NDArray[np.uint64]
Bytes = NDArray[np.uint8]
Mask = NDArray[np.bool_]
Positions = NDArray[np.intp]

_WIDTH = 0.335
"""Of a level, in units of 1 / √dimension."""
_SIGN = 8
"""Of the first of two components in a byte: the bit that is its sign, and the levels from there on."""
_PLANES_OF = 4
"""The first step reads one plane of so many."""
_KEPT, _KEPT_OF, _KEPT_AT_MOST = 500, 64, 4_000
"""How many it leaves at least: so many, and one of so many; four times what is wanted if that is more."""
_LANES = 64
_BLOCK = 2_048
"""Words of a plane at a time: the intermediate values stay in the cache."""
_PAGE = 8_192
"""Codes that are turned into planes at a time."""
_ROWS = 512
"""Rows of a product: the same; and above 1,000 BLAS takes several threads, which costs more time than it saves."""


class Codes(NamedTuple):
    """Room for codes, of which the first are filled, in the forms in which each step reads them.

    Attributes:
        planes: signs, by block of lanes and component: a vector a bit, the lowest of each byte first. There are two components
            for each byte of a code: those of the first half, then those of the second. Bits of lanes that are not filled mean
            nothing.
        levels: the codes as they are stored, one vector a row: a component of the first half and one of the second in a byte.
    """

    planes: Words
    levels: Bytes

    @property
    def nbytes(self) -> int:
        return self.planes.nbytes + self.levels.nbytes

    def fill(self, first: int, levels: Bytes) -> None:
        """Put codes in place from vector `first` on."""
        last = first + len(levels)
        self.levels[first:last] = levels
        lanes = _LANES * self.planes.shape[2]
        while first < last:
            block, lane = divmod(first, lanes)
            end = min(last, first + _PAGE, (block + 1) * lanes)
            self._fill_planes(block, lane, self.levels[first:end])
            first = end

    def _fill_planes(self, block: int, lane: int, levels: Bytes) -> None:
        # What stands in the byte that is shared with the vector before stays.
        shared = lane % 8
        turned = np.zeros((levels.shape[1], shared + len(levels)), np.uint8)
        turned[:, shared:] = levels.T
        signs = np.concatenate([turned & _SIGN, turned & _SIGN << 4])
        packed = np.packbits(signs.view(np.bool_), axis=1, bitorder="little")
        first = lane // 8
        planes = self.planes[block].view(np.uint8)[:, first : first + packed.shape[1]]
        packed[:, 0] |= planes[:, 0] & (1 << shared) - 1
        planes[:] = packed


def code_bytes(dimension: int) -> int:
    """The length of a code."""
    return -(-dimension // 2)


def codes_of(vectors: Vector) -> list[bytes]:
    """The code of each row."""
    count, dimension = vectors.shape
    half = code_bytes(dimension)
    levels = np.zeros((count, 2 * half), np.uint8)
    levels[:, :dimension] = np.clip(np.floor(vectors * np.float32(dimension**0.5 / _WIDTH)) + _SIGN, 0, 2 * _SIGN - 1)
    packed = levels[:, :half] | levels[:, half:] << 4
    return [row.tobytes() for row in packed]


def empty(room: int, length: int) -> Codes:
    """Room for so many codes of a length in bytes."""
    words = -(-room // _LANES)
    blocks = max(1, -(-words // _BLOCK))
    return Codes(np.empty((blocks, 2 * length, -(-words // blocks)), np.uint64), np.empty((room, length), np.uint8))


def nearest(codes: Codes, filled: int, query: Vector, count: int, eligible: Mask | None = None) -> Positions:
    """The vectors that are likely to be the `count` nearest to a query, ascending, and those that tie with the last of them; as
    many as that if so many are eligible.

    Args:
        filled: how many codes there are.
        eligible: of each of them; None for all.
    """
    among = filled if eligible is None else int(np.count_nonzero(eligible))
    kept = max(4 * count, min(_KEPT + among // _KEPT_OF, _KEPT_AT_MOST))
    if among > kept:
        chosen = _by_signs(codes.planes, query, kept, _lanes(codes.planes, filled, eligible))
    else:
        chosen = np.arange(filled) if eligible is None else np.flatnonzero(eligible)
    if len(chosen) > count:
        products = _products(codes.levels, chosen, query)
        chosen = chosen[products >= np.partition(products, len(products) - count)[len(products) - count]]
    return chosen


# -- by signs -------------------------------------------------------------------------------------------------------------


def _lanes(planes: Words, filled: int, eligible: Mask | None) -> Words:
    """The eligible vectors as a plane over all blocks."""
    plane = np.zeros(len(planes) * planes.shape[2], np.uint64)
    lanes = plane.view(np.uint8)
    if eligible is None:
        lanes[: filled // 8] = 255
        lanes[filled // 8 : -(-filled // 8)] = (1 << filled % 8) - 1
    else:
        lanes[: -(-filled // 8)] = np.packbits(eligible, bitorder="little")
    return plane


class _Scratch(threading.local):
    """Buffers of a thread: what is allocated anew for each search costs more than what is done in it."""

    def __init__(self) -> None:
        self._words = np.empty(0, np.uint64)

    def of(self, *shape: int) -> Words:
        size = math.prod(shape)
        if len(self._words) < size:
            self._words = np.empty(size, np.uint64)
        return self._words[:size].reshape(shape)


_scratch = _Scratch()


def _by_signs(planes: Words, query: Vector, wanted: int, eligible: Words) -> Positions:
    """The eligible vectors that agree most with the signs of the query's largest components: all down to the greatest sum at
    which they are `wanted` or more.
    """
    largest = np.argsort(-np.abs(query), kind="stable")[: -(-len(query) // _PLANES_OF)]
    negative = query[largest] < 0
    largest = np.concatenate([largest[~negative], largest[negative]])
    below = len(largest) - int(np.count_nonzero(negative))
    width = planes.shape[2]
    agreeing, spare = _scratch.of(2, len(largest), width)
    sums = np.empty((len(largest).bit_length(), len(eligible)), np.uint64)
    for number, block in enumerate(planes):
        # Whole rows, those of lanes that are not filled too: operations on parts of rows take three times as long. With `mode`
        # nothing is copied once more on its way.
        block.take(largest, axis=0, out=agreeing, mode="clip")
        np.invert(agreeing[below:], out=agreeing[below:])
        _add(agreeing, spare, sums[:, number * width : (number + 1) * width])
    return _places(_greatest(sums, wanted, eligible))


def _add(planes: Words, spare: Words, digits: Words) -> None:
    """Add up all lanes. Writes over the planes, and as many spare ones.

    Args:
        digits: for the planes of the binary digits of the sums, lowest first: as many as the number of planes has.
    """
    for digit in digits:
        # Of three planes a full adder leaves one, and one of the next digit.
        left, done = len(planes), 0
        carried, spare = spare[: left // 2], spare[left // 2 :]
        while left > 2:
            third = left // 3
            one, two, three = planes[:third], planes[third : 2 * third], planes[2 * third : 3 * third]
            carry = carried[done : done + third]
            np.bitwise_and(one, two, out=carry)
            np.bitwise_xor(one, two, out=two)
            np.bitwise_and(two, three, out=one)
            np.bitwise_or(carry, one, out=carry)
            np.bitwise_xor(two, three, out=one)
            over = left - 3 * third
            planes[third : third + over] = planes[3 * third : left]
            left, done = third + over, done + third
        if left == 2:
            np.bitwise_and(planes[0], planes[1], out=carried[done])
            np.bitwise_xor(planes[0], planes[1], out=digit)
            done += 1
        else:
            digit[:] = planes[0]
        planes = carried[:done]


def _greatest(digits: Words, wanted: int, eligible: Words) -> Words:
    """The lanes with the greatest sums as a plane: of the eligible, all down to the greatest sum at which they are enough."""
    chosen, open_ = np.zeros_like(eligible), eligible
    for digit in digits[::-1]:
        higher = open_ & digit
        count = int(np.bitwise_count(higher).sum(dtype=np.int64))
        if count >= wanted:
            open_ = higher
        else:
            chosen |= higher
            open_ = open_ & ~digit
            wanted -= count
    return chosen | open_


def _places(plane: Words) -> Positions:
    """The lanes that are set, ascending."""
    lanes = plane.view(np.uint8)
    places = np.flatnonzero(lanes)
    within = np.flatnonzero(np.unpackbits(lanes[places], bitorder="little").view(np.bool_))
    found: Positions = (places[within >> 3] << 3) + (within & 7)
    return found


# -- by products ----------------------------------------------------------------------------------------------------------


def _products(levels: Bytes, chosen: Positions, query: Vector) -> Vector:
    """Products of the query with codes; up to a factor and a constant, which change no order. Exact to 8,000 components."""
    half = levels.shape[1]
    whole = np.zeros(2 * half, np.float32)
    whole[: len(query)] = np.rint(query * np.float32(127 / (float(np.abs(query).max()) or 1.0)))
    products = np.empty(len(chosen), np.float32)
    for first in range(0, len(chosen), _ROWS):
        rows = levels.take(chosen[first : first + _ROWS], axis=0)
        part = products[first : first + _ROWS]
        np.matmul((rows & 15).astype(np.float32), whole[:half], out=part)
        part += (rows >> 4).astype(np.float32) @ whole[half:]
    return products
