"""What a note on a blackboard says about what, and the artifacts that it points to. Values; `sharing` gives them their meaning.

Claim         which question a note answers, and how
Contrary      another fact that answers the same question otherwise
ArtifactRef   where a stored text or JSON value is, which version of it, and what it must be
"""

from __future__ import annotations

import msgspec

from bethink.values import Namespace

__all__ = ["ArtifactRef", "Claim", "Contrary", "folded"]


class ArtifactRef(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """A reference to one version of a stored artifact. It holds nothing of the content, so it may be shown to anybody.

    Attributes:
        id: of the version. `str()` of a reference, `art:` with this, is what `Memory.artifact` takes as well.
        namespace: where it is; only who may read there can open it.
        key: under which it was stored.
        version: 1 for the first under its key, and one more with each.
        digest: SHA-256 of the content's bytes, in hex (see `sharing.artifacts`).
        size: of these, in bytes.
        author: the agent that stored it; "" for whoever holds the memory.
    """

    id: str
    namespace: Namespace
    key: str
    version: int
    digest: str
    size: int
    author: str = ""

    def __str__(self) -> str:
        return f"art:{self.id}"

    @property
    def short(self) -> str:
        """As lines show it: key, version, size, and the mark that opens it."""
        return f"{self.key}@{self.version}, {self.size:,} bytes, art:{self.id[-8:]}"


class Contrary(msgspec.Struct, frozen=True):
    """A fact that contradicts another: its id, whose word it is, and its answer."""

    id: str
    author: str
    value: str


class Claim(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """What makes a note a fact on a board.

    Attributes:
        about: its subject, as the author wrote it; compared without regard to case and white space.
        slot: which question about the subject it answers; "" for none in particular.
        value: the answer. Facts with different answers to one question contradict each other; "" answers none, and
            contradicts nothing.
        source: where the author has it from, in words.
        artifacts: what it points to.
    """

    about: str
    slot: str = ""
    value: str = ""
    source: str = ""
    artifacts: tuple[ArtifactRef, ...] = ()

    @property
    def question(self) -> tuple[str, str] | None:
        """Subject and slot as they are compared; None where it answers nothing."""
        return (folded(self.about), folded(self.slot)) if self.value else None

    @property
    def answer(self) -> str:
        """The value as it is compared."""
        return folded(self.value)


def folded(text: str) -> str:
    """A text as subjects, slots and values are compared: without regard to case and white space."""
    return " ".join(text.casefold().split())
