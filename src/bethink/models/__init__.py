"""What bethink does not own, as protocols, each with the implementation used when nothing is said.

- Clock          what time it is                          SystemClock
- TokenCounter   how many tokens a model would count      tokens.BuiltinCounter; exact.TiktokenCounter (extra "tokens")
- Embedder       text to vector                           minilm.MiniLM (extra "minilm"); none without it
- LanguageModel  prompt to reply (see `language`)         none; any function from text to text will do
"""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime, timezone
from typing import TYPE_CHECKING, Protocol

import msgspec

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

__all__ = ["Clock", "Embedder", "Fingerprint", "SystemClock", "TokenCounter"]


class Clock(Protocol):
    """Tells the time. Passed in everywhere, so that a test can stop it."""

    def now(self) -> datetime:
        """The present instant, aware, UTC, microseconds."""
        ...


class SystemClock:
    """The machine's clock."""

    def now(self) -> datetime:
        return datetime.now(timezone.utc)


class TokenCounter(Protocol):
    """Counts tokens as a model would, or higher: a budget must hold at the model, so a guess errs upwards."""

    @property
    def name(self) -> str:
        """Names the method and its version; kept on every receipt."""
        ...

    def count(self, text: str) -> int:
        """Tokens of a text; 0 for the empty text. A beginning that ends inside a word may count a few more than the whole: a
        word is often one token, its first letters seldom."""
        ...


class Fingerprint(msgspec.Struct, frozen=True):
    """Which vector space: vectors of two fingerprints are never compared.

    `probe` is a hash of the vectors of fixed probe sentences, rounded so that float noise between machines does not change
    it: it tells apart two models that share a name and a dimension.
    """

    name: str
    dimension: int
    probe: str


class Embedder(Protocol):
    """Turns texts into unit vectors."""

    @property
    def fingerprint(self) -> Fingerprint: ...

    def embed(self, texts: Sequence[str]) -> NDArray[np.float32]:
        """Vectors of `texts`, in order: shape (len(texts), dimension), float32, each of length 1.

        Raises:
            Whatever the model raises; then nothing of the batch counts as embedded.
        """
        ...
