"""Checkpoints: an agent's state, saved at a point of its thread, to go on from or to branch off.

    CheckpointInfo      what is known of one without its state
    └─ Checkpoint       with it

The checkpoints of a thread form lines: each names the one whose state it followed from. What a state means is its framework's
affair: it is bytes with the name of their format, given back as they were given and never unpickled or run. Beside it stands a
JSON view, for people and for tools that do not know the format.
"""

from __future__ import annotations

import hashlib
from collections.abc import Collection, Mapping
from datetime import datetime
from typing import Any

import msgspec

from bethink.errors import CorruptStore, InvalidInput
from bethink.values import Namespace, check_id, check_json

__all__ = [
    "JSON",
    "MAX_BYTES",
    "Checkpoint",
    "CheckpointInfo",
    "damage",
    "digest_of",
    "encoded_state",
    "line_of",
    "plain_object",
    "relinked",
]

MAX_BYTES = 10 * 1024 * 1024
"""Of a state; and of a view or metadata, as JSON."""

JSON = "json"

_encoder = msgspec.json.Encoder(enc_hook=dict)


class CheckpointInfo(msgspec.Struct, frozen=True, kw_only=True):
    """What is known of a checkpoint without reading its state.

    Attributes:
        id: UUIDv7, or the caller's own; unique within its thread. A fork has copies under the same ids.
        seq: the tip of its thread when it was saved: the state knows of messages up to this one.
        parent_id: the checkpoint of the same thread that it followed from; None for the first of a line. When that one is
            removed, the nearest that is left of those before it.
        label: a name for people; may be empty.
        format: how the state is encoded: `"json"`, or a name that its framework understands.
        size: of the state, in bytes.
        digest: SHA-256 of the state, in hexadecimal.
        view: JSON of what the state holds, for looking at; may be empty.
        metadata: JSON of the caller's own.
        damaged: its view or metadata cannot be read, and are empty here. Damage to the state itself shows when it is read.
    """

    namespace: Namespace
    thread_id: str
    id: str
    seq: int
    created_at: datetime
    format: str
    size: int
    digest: str
    parent_id: str | None = None
    label: str = ""
    view: dict[str, Any] = msgspec.field(default_factory=dict)
    metadata: dict[str, Any] = msgspec.field(default_factory=dict)
    damaged: bool = False


class Checkpoint(CheckpointInfo, frozen=True, kw_only=True):
    """A checkpoint with its state: the bytes that were saved, each one."""

    state: bytes

    @property
    def value(self) -> Any:
        """The state as the JSON value it encodes.

        Raises:
            InvalidInput: it is of another format; decode `state` with what wrote it.
        """
        if self.format != JSON:
            raise InvalidInput("format", f"{self.format!r}", "decode `state` with the framework that wrote it")
        return msgspec.json.decode(self.state)


def encoded_state(state: object, format: str) -> bytes:  # noqa: A002 - the field's name
    """A state as it is stored: bytes as they are, any JSON value encoded.

    Raises:
        InvalidInput: a value that is neither; bytes that are not of the format "json" they are said to have; more than
            `MAX_BYTES`.
    """
    check_id(format, "format")
    if isinstance(state, (bytes, bytearray, memoryview)):
        encoded = bytes(state)
        if format == JSON and not _is_json(encoded):
            raise InvalidInput("state", "bytes that are not JSON", 'name their format, such as format="msgpack"')
    elif format != JSON:
        raise InvalidInput("state", f"a {type(state).__name__} in the format {format!r}", "pass the encoded bytes")
    else:
        check_json(state, "state")
        encoded = _encoder.encode(state)
    return _small_enough(encoded, "state", "keep the large parts elsewhere, and their place in the state")


def plain_object(value: Mapping[str, Any] | None, field: str) -> dict[str, Any]:
    """A view or metadata as dicts and lists of its own, which nobody else can change; {} for None.

    Raises:
        InvalidInput: it is no JSON object, or more than `MAX_BYTES` of it.
    """
    if value is None:
        return {}
    if not isinstance(value, Mapping):
        raise InvalidInput(field, f"a {type(value).__name__}", "pass a dict")
    check_json(value, field)
    encoded = _small_enough(_encoder.encode(value), field, "put less into it")
    return msgspec.json.decode(encoded, type=dict[str, Any])


def _small_enough(encoded: bytes, field: str, fix: str) -> bytes:
    if len(encoded) > MAX_BYTES:
        raise InvalidInput(field, f"{len(encoded):,} bytes", f"use at most {MAX_BYTES:,}: {fix}")
    return encoded


def _is_json(encoded: bytes) -> bool:
    try:
        msgspec.json.decode(encoded)
    except (msgspec.DecodeError, RecursionError):
        return False
    return True


def digest_of(state: bytes) -> str:
    """SHA-256, in hexadecimal."""
    return hashlib.sha256(state).hexdigest()


def damage(checkpoint_id: str) -> CorruptStore:
    """What reading a damaged checkpoint raises."""
    return CorruptStore(
        f"checkpoint {checkpoint_id!r} is damaged: it is not what was saved — resume from another one, and prune this one"
    )


# -- lines ----------------------------------------------------------------------------------------------------------------


def line_of(links: Mapping[str, str | None], checkpoint_id: str) -> set[str]:
    """A checkpoint and all that it comes from; `links` are the parents of its thread's checkpoints, by id."""
    line = set()
    at: str | None = checkpoint_id
    while at is not None and at not in line:
        line.add(at)
        at = links.get(at)
    return line


def relinked(links: Mapping[str, str | None], going: Collection[str]) -> dict[str, str | None]:
    """New parents for the checkpoints that stay while their parents go: the nearest before them that stays, or None.

    Args:
        links: the parents of a thread's checkpoints, by id.
        going: ids of those that go. Pass a set.
    """
    found: dict[str, str | None] = {}
    for name, parent in links.items():
        if name in going or parent is None or parent not in going:
            continue
        at: str | None = parent
        while at is not None and at in going:
            at = links.get(at)
        found[name] = at
    return found
