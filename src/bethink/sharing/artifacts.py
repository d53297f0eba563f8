"""Artifacts: texts and JSON values that agents pass on by reference, and no context holds what it only points to. Pure.

An artifact is an item of its namespace (`Memory.items`), under its own key, with a version, a history and words that search
finds. What it holds is in the item's value under "artifact". Its bytes, which digest and size are of, are the UTF-8 of a text,
or the JSON of anything else with its keys sorted and no white space.
"""

from __future__ import annotations

import hashlib
from typing import Any

import msgspec

from bethink.checkpoints import plain_object
from bethink.claims import ArtifactRef
from bethink.errors import InvalidInput
from bethink.items import Item, item_of
from bethink.records import ItemVersion
from bethink.values import Namespace, check_id

__all__ = ["CONTENT", "OpenArtifact", "artifact_of", "checked_ref", "held", "is_artifact", "ref_of"]

CONTENT = "artifact"
"""Where an item's value holds the content."""
_encoder = msgspec.json.Encoder(order="sorted")


class OpenArtifact(msgspec.Struct, frozen=True, kw_only=True):
    """An artifact that was opened: its reference, and what it holds, which is what the reference says it must be."""

    ref: ArtifactRef
    content: Any

    @property
    def text(self) -> str:
        """The content as text: itself, or its JSON."""
        return self.content if isinstance(self.content, str) else _bytes(self.content).decode()


def held(content: object) -> dict[str, Any]:
    """The value of the item that holds an artifact.

    Raises:
        InvalidInput: it is neither a text nor JSON, or more than 10 MiB of it.
    """
    # As JSON of its own, which nobody else can change.
    return plain_object({CONTENT: content}, "content")


def is_artifact(version: ItemVersion) -> bool:
    """Whether an item holds an artifact, and not something else that somebody put there."""
    return CONTENT in version.value


def ref_of(item: Item) -> ArtifactRef:
    """The reference to one version of an artifact."""
    data = _bytes(item.value[CONTENT])
    return ArtifactRef(
        id=item.id,
        namespace=item.namespace,
        key=item.key,
        version=item.version,
        digest=hashlib.sha256(data).hexdigest(),
        size=len(data),
        author=item.author,
    )


def artifact_of(namespace: Namespace, version: ItemVersion) -> OpenArtifact:
    """A version of an item as the artifact that it holds."""
    return OpenArtifact(ref=ref_of(item_of(namespace, version)), content=version.value[CONTENT])


def checked_ref(given: object) -> tuple[str, ArtifactRef | None]:
    """What names an artifact: the id, or the end of it, and the reference if that is what was given.

    Raises:
        InvalidInput: it is no reference, and no text of one.
    """
    if isinstance(given, ArtifactRef):
        return given.id, given
    name = check_id(given, "ref").removeprefix("[").removesuffix("]").removeprefix("art:")
    if len(name) < 8:
        raise InvalidInput(
            "ref", f"{len(name)} characters", "give the reference, or `art:` with its id or its last eight characters"
        )
    return name, None


def _bytes(content: Any) -> bytes:
    return content.encode() if isinstance(content, str) else _encoder.encode(content)
