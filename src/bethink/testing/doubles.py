"""Stand-ins for what bethink does not own: time, an embedding model, and the randomness of ids. All deterministic."""

from __future__ import annotations

import hashlib
import itertools
from collections.abc import Sequence
from datetime import datetime, timedelta, timezone
from typing import TYPE_CHECKING

from bethink.ids import derived_id
from bethink.models import Fingerprint

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

__all__ = ["FrozenClock", "HashEmbedder", "SeededIds"]

START = datetime(2026, 1, 5, 9, 0, tzinfo=timezone.utc)
"""Where a test's time begins when nothing is said: a Monday morning."""


class FrozenClock:
    """A clock that moves only when told to, also backwards."""

    def __init__(self, at: datetime = START) -> None:
        self._at = at

    def now(self) -> datetime:
        return self._at

    def advance(self, by: timedelta) -> datetime:
        """Move on by `by` and return the new time."""
        self._at += by
        return self._at

    def set(self, at: datetime) -> None:
        self._at = at


class HashEmbedder:
    """Bag of words, hashed: texts that share words have similar vectors, and nothing has to be loaded.

    A word counts towards one of `dimension` places, with a sign; both come from its hash. A text without words points at the
    first place, since every vector has length 1. Embedders of another name hash differently.
    """

    def __init__(self, dimension: int = 32, name: str = "hash") -> None:
        self._dimension = dimension
        self._name = name

    @property
    def fingerprint(self) -> Fingerprint:
        probe = hashlib.blake2b(self.embed(["a probe of the hashed bag of words"]).astype("<f4").tobytes(), digest_size=8)
        return Fingerprint(self._name, self._dimension, probe.hexdigest())

    def embed(self, texts: Sequence[str]) -> NDArray[np.float32]:
        """Vectors of `texts`, in order: shape (len(texts), dimension), float32, each of length 1."""
        import numpy as np

        vectors = np.zeros((len(texts), self._dimension), dtype=np.float32)
        for vector, text in zip(vectors, texts, strict=True):
            for word in text.casefold().split():
                digest = hashlib.blake2b(word.encode(), digest_size=8, person=self._name.encode()[:16]).digest()
                vector[int.from_bytes(digest[1:], "big") % self._dimension] += 1.0 if digest[0] % 2 else -1.0
            if not vector.any():
                vector[0] = 1.0
            vector /= np.linalg.norm(vector)
        return vectors

    def stored(self, text: str) -> bytes:
        """The vector of one text as a store keeps it: little-endian float32."""
        vector: bytes = self.embed([text])[0].astype("<f4").tobytes()
        return vector


class SeededIds:
    """UUIDv7 strings that come out the same in every run: `ids()` for the next one."""

    def __init__(self, seed: str = "", at: datetime = START) -> None:
        self._seed = seed
        self._at = at
        self._count = itertools.count(1)

    def __call__(self) -> str:
        return derived_id(self._at, self._seed, str(next(self._count)))
