"""What bethink does not own, as protocols, each with the implementation used when nothing is said.

- Clock          what time it is                          SystemClock
- TokenCounter   how many tokens a model would count      tokens.BuiltinCounter; exact.TiktokenCounter (extra "tokens")
- Embedder       text to vector                           minilm.MiniLM (extra "minilm"); none without it. Others: `named`
- LanguageModel  prompt to reply (see `language`)         none; any function from text to text will do
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from datetime import datetime, timezone
from typing import TYPE_CHECKING, NamedTuple, Protocol, runtime_checkable

import msgspec

from bethink.errors import EmbedderMismatch

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

__all__ = [
    "Clock",
    "Embedded",
    "Embedder",
    "EmbedderLimits",
    "Fingerprint",
    "SystemClock",
    "TokenCounter",
    "TokenEmbedder",
    "embed_queries",
    "limits_of",
    "mismatch",
]


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

    def count(self, text: str, /) -> int:
        """Tokens of a text; 0 for the empty text. A beginning that ends inside a word may count a few more than the whole: a
        word is often one token, its first letters seldom."""
        ...


class Fingerprint(msgspec.Struct, frozen=True):
    """Which vector space: vectors of two spaces are never compared.

    Attributes:
        name: of the model.
        dimension: of its vectors.
        probe: what the model makes of fixed sentences, in 32 hexadecimal digits (see `vectors.probe`): it tells apart two
            models, or two versions of one, that share a name and a dimension.
    """

    name: str
    dimension: int
    probe: str

    def same_space(self, other: Fingerprint) -> bool:
        """Whether vectors of both may be compared.

        Names and dimensions are equal; of the 128 bits of the probes at most 6 differ. Two runs of one model on different
        machines or behind a remote service are never quite equal: at a cosine of 0.9999 about one bit differs; at 0.95 (another
        version) 11 do, and 64 in vectors that have nothing to do with each other.
        """
        if (self.name, self.dimension) != (other.name, other.dimension):
            return False
        return self.probe == other.probe or _differing_bits(self.probe, other.probe) <= _MOST_DIFFERING

    def __str__(self) -> str:
        return f"{self.name} ({self.dimension} dimensions)"


_PROBE = re.compile(r"[0-9a-f]{32}")
_MOST_DIFFERING = 6


def _differing_bits(one: str, other: str) -> int:
    if not (_PROBE.fullmatch(one) and _PROBE.fullmatch(other)):
        return 128  # of another kind: equal, or nothing alike
    return (int(one, 16) ^ int(other, 16)).bit_count()


def mismatch(bound: Fingerprint, given: Fingerprint, *, filling: Fingerprint | None = None) -> EmbedderMismatch:
    """The error of a store that holds vectors of `bound`, and maybe some of `filling` that are to take their place, and is
    opened with `given`."""
    other = f"another version of {given}" if str(bound) == str(given) else f"{bound}, not of {given}"
    if filling is not None:
        other += f", and is about to change to {filling}"
    return EmbedderMismatch(
        f"the database holds vectors of {other} — open it with the embedder that made them, or make all of them anew with this "
        "one: memory.reembed(), or `bethink reembed --embedder NAME`",
        bound=bound,
        given=given,
    )


class Embedder(Protocol):
    """Turns texts into unit vectors.

    It may also say how much it takes (`max_tokens`, `batch_size`; see `EmbedderLimits`), that it runs in this process and
    tells its fingerprint for nothing (`local`), and have an `embed_queries` of the same shape, for a model that wants questions
    marked as such (see `embed_queries`).
    """

    @property
    def fingerprint(self) -> Fingerprint: ...

    def embed(self, texts: Sequence[str]) -> NDArray[np.float32]:
        """Vectors of `texts`, in order: shape (len(texts), dimension), float32, each of length 1.

        Raises:
            Whatever the model raises; then nothing of the batch counts as embedded.
        """
        ...


class Embedded(NamedTuple):
    """What one run of a model gives of some texts, in their order.

    Attributes:
        vectors: as of `Embedder.embed`.
        tokens: of each text an int8 array of shape (its tokens, dimension): whole numbers from -7 to 7, of which directions
            alone count; the dimension is even. Marks that the model puts around a text, and punctuation, are not among them;
            a text of nothing else has none.
    """

    vectors: NDArray[np.float32]
    tokens: list[NDArray[np.int8]]


@runtime_checkable
class TokenEmbedder(Embedder, Protocol):
    """An embedder that also gives vectors of the tokens of a text, at no further run of the model (see `retrieval.maxsim`)."""

    @property
    def token_fingerprint(self) -> Fingerprint:
        """Of the space of the tokens' vectors; its dimension is theirs."""
        ...

    def embed_tokens(self, texts: Sequence[str]) -> Embedded:
        """As `embed`, with the vectors of the tokens."""
        ...


class EmbedderLimits(msgspec.Struct, frozen=True):
    """How much an embedder takes.

    Attributes:
        max_tokens: of a text, the model's own; what lies beyond is not seen. None where nobody says.
        batch_size: texts of one call that suit it.
    """

    max_tokens: int | None = None
    batch_size: int = 64


def limits_of(embedder: Embedder) -> EmbedderLimits:
    """What an embedder says of itself in its attributes `max_tokens` and `batch_size`; the defaults where it says nothing."""
    batch = getattr(embedder, "batch_size", None)
    limits = EmbedderLimits(max_tokens=getattr(embedder, "max_tokens", None))
    return limits if batch is None else msgspec.structs.replace(limits, batch_size=max(1, batch))


def embed_queries(embedder: Embedder, texts: Sequence[str]) -> NDArray[np.float32]:
    """Vectors of questions, in the same space and form as those of `Embedder.embed`.

    By the embedder's own `embed_queries` where it has one: some models were trained with a mark before a question, or before a
    text.
    """
    embed: Callable[[Sequence[str]], NDArray[np.float32]] = getattr(embedder, "embed_queries", embedder.embed)
    return embed(texts)
