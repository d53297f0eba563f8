"""Between Python's values and the database's: times, namespaces, scopes, JSON bodies."""

from __future__ import annotations

import zlib
from datetime import datetime, timedelta, timezone
from functools import lru_cache
from typing import Any, NamedTuple, TypeVar

import msgspec

from bethink.errors import CorruptStore
from bethink.messages import Message, Part, Raw, Role, Trust, canonical_json
from bethink.records import AnyRecord, Node, Receipt
from bethink.storage.base import Asked, Attempt, Change, Scope, Version
from bethink.threads import ForkPoint, ThreadInfo
from bethink.usage import ModelCall, TurnUsage
from bethink.values import Namespace

T = TypeVar("T")

__all__ = [
    "SEQ_BITS",
    "Said",
    "body_of",
    "decode_asked",
    "decode_attempt",
    "decode_body",
    "decode_call",
    "decode_change",
    "decode_message",
    "decode_node",
    "decode_receipt",
    "decode_record",
    "decode_said",
    "decode_usage",
    "decode_version",
    "drop_kept",
    "encode",
    "encode_receipt",
    "is_unchanging",
    "listed",
    "micros",
    "moment",
    "namespace_of",
    "path_of",
    "path_range",
    "thread_info",
]

SEQ_BITS = 32
"""messages.id is the thread's number shifted by this, plus seq."""

_KEPT = 8_192
"""Decoded rows of each sort that are kept for the next who reads them."""
_LONGEST_KEPT = 20_000
"""Bytes of a row."""
_FASTEST = 1
_ITEM = b'{"kind":"item"'
"""So begins what holds a value that whoever is given it can change."""
_UNREADABLE = "a row of the database cannot be read — run `bethink check`"

_EPOCH = datetime(1970, 1, 1, tzinfo=timezone.utc)
_MICROSECOND = timedelta(microseconds=1)

_encoder = msgspec.json.Encoder()
_messages = msgspec.json.Decoder(Message)
_records: msgspec.json.Decoder[AnyRecord] = msgspec.json.Decoder(AnyRecord)
_nodes = msgspec.json.Decoder(Node)
_attempts = msgspec.json.Decoder(Attempt)
_receipts = msgspec.json.Decoder(Receipt)
_versions = msgspec.json.Decoder(Version)
_changes = msgspec.json.Decoder(Change)
_usage = msgspec.json.Decoder(TurnUsage)
_calls = msgspec.json.Decoder(ModelCall)
_asked = msgspec.json.Decoder(Asked)
_objects = msgspec.json.Decoder(dict[str, Any])

replace = msgspec.structs.replace


class _Words(msgspec.Struct, frozen=True):
    """As much of a stored message as search needs."""

    role: Role
    content: str | tuple[Part, ...] | None = None
    name: str | None = None
    external: bool = False


_words = msgspec.json.Decoder(_Words)


def micros(at: datetime) -> int:
    """Microseconds since 1970 of an aware datetime. Exact, unlike `timestamp()`."""
    return (at - _EPOCH) // _MICROSECOND


def moment(value: int) -> datetime:
    """The aware UTC datetime of so many microseconds since 1970."""
    return _EPOCH + timedelta(0, 0, value)


def path_of(namespace: Namespace) -> str:
    """A namespace as text: each segment followed by U+001F, so that a prefix of segments is a prefix of the text."""
    return "".join(f"{segment}\x1f" for segment in namespace)


@lru_cache(maxsize=1_024)
def namespace_of(path: str) -> Namespace:
    return tuple(path[:-1].split("\x1f"))


def path_range(scope: Scope) -> tuple[str, str | bytes]:
    """The paths in scope are those from the first, inclusive, to the second, exclusive, compared byte by byte."""
    path = path_of(scope.namespace)
    if not scope.subtree:
        # No path has a NUL.
        return path, path + "\x00"
    # U+0020 is next after the U+001F that the path ends with. Below the empty namespace is everything, and SQLite sorts
    # every text before any blob.
    return path, path[:-1] + " " if path else b""


def encode(value: Any) -> bytes:
    return _encoder.encode(value)


def listed(values: Any) -> str:
    """Values as JSON text, for `IN (SELECT value FROM json_each(?))`."""
    return _encoder.encode(list(values)).decode()


def body_of(message: Message) -> bytes:
    """A message as stored: without raw, and without its place, which the columns say."""
    return canonical_json(replace(message, seq=0, group=0) if message.seq or message.group else message)


def is_unchanging(body: bytes) -> bool:
    """Whether nothing in what is decoded from a row can be changed by whoever is given it."""
    return b'"metadata":' not in body


def decode_message(body: bytes, seq: int, group: int, raw: bytes | None, raw_format: str | None) -> Message:
    """A message in its place. Kept if nothing in it can be changed: a window is read at every context, and moves by a turn."""
    decoded = _message if len(body) <= _LONGEST_KEPT and raw is None and is_unchanging(body) else _message.__wrapped__
    return decoded(body, seq, group, raw, raw_format)


@lru_cache(maxsize=_KEPT)
def _message(body: bytes, seq: int, group: int, raw: bytes | None, raw_format: str | None) -> Message:
    message = _decoded(_messages, body)
    if raw is None:
        return replace(message, seq=seq, group=group)
    return replace(message, seq=seq, group=group, raw=Raw(raw_format or "", raw))


def decode_body(body: bytes) -> Message:
    """A message without its raw form and its place."""
    return _decoded(_messages, body)


class Said(NamedTuple):
    """What search is told of a message: its words, who said them, and who vouches for them."""

    text: str
    speaker: str
    trust: Trust


def decode_said(body: bytes) -> Said:
    """What is said in a message; the rest of it is passed over. Kept: a talk comes back to the same again and again."""
    return _said(body) if len(body) <= _LONGEST_KEPT else _said.__wrapped__(body)


@lru_cache(maxsize=_KEPT)
def _said(body: bytes) -> Said:
    words = _decoded(_words, body)
    said = Message(role=words.role, content=words.content, name=words.name, external=words.external)
    return Said(said.text, said.speaker, said.trust)


def decode_record(body: bytes) -> AnyRecord:
    """A record, likewise kept: a profile is read at every context, and a record's row changes seldom."""
    return _record(body) if is_unchanging(body) and not body.startswith(_ITEM) else _record.__wrapped__(body)


@lru_cache(maxsize=_KEPT)
def _record(body: bytes) -> AnyRecord:
    return _decoded(_records, body)


@lru_cache(maxsize=_KEPT)
def decode_node(body: bytes) -> Node:
    """A summary node, likewise kept."""
    return _decoded(_nodes, body)


def decode_attempt(body: bytes) -> Attempt:
    return _decoded(_attempts, body)


def drop_kept() -> None:
    """Keep none: what was removed from the database is not to live on in the process."""
    for cache in (_message, _said, _record, decode_node, namespace_of):
        cache.cache_clear()


def encode_receipt(receipt: Receipt) -> bytes:
    """JSON, deflated: to a sixth, since a receipt is mostly ids and reasons that resemble each other. None of it is words."""
    return zlib.compress(_encoder.encode(receipt), _FASTEST)


def decode_receipt(body: bytes) -> Receipt:
    try:
        return _decoded(_receipts, zlib.decompress(body))
    except zlib.error as error:
        raise CorruptStore(_UNREADABLE) from error


def decode_version(body: bytes) -> Version:
    return _decoded(_versions, body)


def decode_change(body: bytes) -> Change:
    return _decoded(_changes, body)


def decode_usage(body: bytes) -> TurnUsage:
    return _decoded(_usage, body)


def decode_asked(body: bytes) -> Asked:
    return _decoded(_asked, body)


def decode_call(body: bytes) -> ModelCall:
    return _decoded(_calls, body)


def _decoded(decoder: msgspec.json.Decoder[T], body: bytes) -> T:
    try:
        return decoder.decode(body)
    except msgspec.DecodeError as error:
        raise CorruptStore(_UNREADABLE) from error


def thread_info(row: tuple[Any, ...]) -> ThreadInfo:
    """From the columns of `thread_columns`: path, thread_id, created_at, updated_at, tip, count, the three cursors, parent,
    parent's seq, metadata."""
    path, thread_id, created, updated, tip, count, folded, extracted, reflected, parent, parent_seq, metadata = row
    return ThreadInfo(
        namespace=namespace_of(path),
        thread_id=thread_id,
        created_at=moment(created),
        updated_at=moment(updated),
        tip=tip,
        count=count,
        folded_through=folded,
        extracted_through=extracted,
        reflected_through=reflected,
        parent=None if parent is None else ForkPoint(parent, parent_seq),
        metadata=_decoded(_objects, metadata),
    )
