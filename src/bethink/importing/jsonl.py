"""bethink's own export: JSON Lines, one thread, message, record or checkpoint a line, each with its namespace.

    {"type":"thread","namespace":["acme","ada"],"thread":{"thread_id":"t1",...}}
    {"type":"message","namespace":["acme","ada"],"thread_id":"t1","message":{"role":"user",...},"raw":{...}}
    {"type":"record","namespace":["acme","ada"],"record":{"kind":"note",...}}
    {"type":"checkpoint","namespace":["acme","ada"],"after":"019a...","checkpoint":{"state":"eyJzdGVwIjoxfQ==",...}}

A thread's line stands before its messages. A line is complete in itself: two exports may be joined, one may be cut at any
line, and a last line without its end is read like any other.
"""

from __future__ import annotations

from collections.abc import Iterator
from datetime import datetime
from pathlib import Path
from typing import Any, TypeAlias

import msgspec

from bethink.checkpoints import Checkpoint, digest_of, encoded_state
from bethink.errors import ImportFailed
from bethink.importing.conversation import Conversation, Draft, Items, Problems, assemble
from bethink.importing.files import items_of
from bethink.messages import Message, Raw
from bethink.records import AnyRecord, Insight, ItemVersion
from bethink.storage.base import StoredMessage, StoredRecord
from bethink.threads import ThreadInfo
from bethink.values import Namespace, check_id, check_json, check_namespace, check_text

__all__ = ["PlacedCheckpoint", "checkpoints", "conversations", "export_line", "records"]


class PlacedCheckpoint(msgspec.Struct, frozen=True):
    """A checkpoint, and the id of the last message of its thread that it knows of; "" if it knows of none.

    Messages that are imported get seqs without gaps, so its own seq need not be theirs.
    """

    checkpoint: Checkpoint
    after: str = ""


class _RawText(msgspec.Struct, frozen=True):
    """`Raw` with its JSON as text, where bytes would be written in base64."""

    format: str
    json: str


class _ThreadLine(msgspec.Struct, frozen=True, tag_field="type", tag="thread"):
    namespace: Namespace
    thread: ThreadInfo


class _MessageLine(msgspec.Struct, frozen=True, tag_field="type", tag="message", omit_defaults=True):
    namespace: Namespace
    thread_id: str
    message: Message
    raw: _RawText | None = None


class _RecordLine(msgspec.Struct, frozen=True, tag_field="type", tag="record"):
    namespace: Namespace
    record: AnyRecord


class _CheckpointLine(msgspec.Struct, frozen=True, tag_field="type", tag="checkpoint", omit_defaults=True):
    namespace: Namespace
    checkpoint: Checkpoint
    after: str = ""


_Line: TypeAlias = _ThreadLine | _MessageLine | _RecordLine | _CheckpointLine


def export_line(item: ThreadInfo | StoredMessage | StoredRecord | PlacedCheckpoint) -> bytes:
    """One line of an export, with its end: for what a store's `scan` yields of "threads", "messages" or "records", and for
    checkpoints.
    """
    line: _Line
    if isinstance(item, ThreadInfo):
        line = _ThreadLine(item.namespace, item)
    elif isinstance(item, StoredMessage):
        raw = item.message.raw
        text = _RawText(raw.format, raw.json.decode()) if raw else None
        line = _MessageLine(item.namespace, item.thread_id, msgspec.structs.replace(item.message, raw=None), text)
    elif isinstance(item, PlacedCheckpoint):
        line = _CheckpointLine(item.checkpoint.namespace, item.checkpoint, item.after)
    else:
        line = _RecordLine(item.namespace, item.record)
    return msgspec.json.encode(line) + b"\n"


def conversations(items: Items, _name: str, problems: Problems) -> Iterator[Conversation]:
    """The threads of an export. One whose messages are not together in the file comes in several conversations."""
    thread: tuple[Namespace, str] | None = None
    info: ThreadInfo | None = None
    drafts: list[Draft] = []

    def finished() -> Iterator[Conversation]:
        if thread is not None:
            namespace, thread_id = thread
            settled = info is not None and 0 < info.tip <= info.extracted_through
            metadata = dict(info.metadata) if info else {}
            yield assemble("jsonl", thread_id, drafts, problems, namespace=namespace, settled=settled, metadata=metadata)

    for where, item in items:
        with problems.at(where):
            line = _line(item, where)
            if isinstance(line, _RecordLine | _CheckpointLine):
                continue
            key = line.namespace, line.thread.thread_id if isinstance(line, _ThreadLine) else line.thread_id
            if key != thread:
                yield from finished()
                thread, info, drafts = key, None, []
            if isinstance(line, _ThreadLine):
                info = line.thread
            else:
                raw = Raw(line.raw.format, line.raw.json.encode()) if line.raw else None
                drafts.append(Draft(f"{where}: message", msgspec.structs.replace(line.message, raw=raw)))
    yield from finished()


def records(path: Path, problems: Problems) -> Iterator[StoredRecord]:
    """The long-term records of an export. Other lines are passed over, without a look at what they hold."""
    for where, item in items_of(path, problems):
        with problems.at(where):
            if isinstance(item, dict) and item.get("type") == "record":
                line = _line(item, where)
                assert isinstance(line, _RecordLine)
                yield StoredRecord(line.namespace, line.record)


def checkpoints(path: Path, problems: Problems) -> Iterator[PlacedCheckpoint]:
    """The checkpoints of an export, each after its parent. One whose state is not what was saved is a problem."""
    for where, item in items_of(path, problems):
        with problems.at(where):
            if isinstance(item, dict) and item.get("type") == "checkpoint":
                line = _line(item, where)
                assert isinstance(line, _CheckpointLine)
                found = line.checkpoint
                if digest_of(encoded_state(found.state, found.format)) != found.digest:
                    raise ImportFailed(
                        f"{where}: checkpoint.state", "not what was saved", "restore the line as it was exported"
                    )
                yield PlacedCheckpoint(msgspec.structs.replace(found, namespace=line.namespace), line.after)


def _check_record(record: AnyRecord, where: str) -> None:
    """What a decoder lets pass and no record that was exported has."""
    for name in record.__struct_fields__:
        if isinstance(at := getattr(record, name), datetime) and at.tzinfo is None:
            raise ImportFailed(f"{where}.{name}", "a naive time (no zone)", "restore the line as it was exported")
    if isinstance(record, Insight) and not record.sources:
        fix = "name the messages it rests on; what rests on none is a note"
        raise ImportFailed(f"{where}.sources", "an insight without a source", fix)
    if isinstance(record, ItemVersion):
        check_id(record.key, f"{where}.key", ImportFailed)


def _line(item: Any, where: str) -> _Line:
    check_json(item, where, ImportFailed)
    try:
        line: _Line = msgspec.convert(item, _Line)
    except msgspec.ValidationError as error:
        # "Expected `str`, got `int` - at `$.message.role`": types and paths, no content.
        problem, _, path = str(error).partition(" - at ")
        field = path.strip("`").removeprefix("$").lstrip(".")
        raise ImportFailed(f"{where}: {field}" if field else where, problem, "restore the line as it was exported") from None
    check_namespace(line.namespace)
    if isinstance(line, _RecordLine):
        _check_record(line.record, f"{where}: record")
    if isinstance(line, _MessageLine):
        check_id(line.thread_id, f"{where}: thread_id", ImportFailed)
        if line.raw:
            check_text(line.raw.json, f"{where}: raw", ImportFailed)
    elif isinstance(line, _ThreadLine):
        check_id(line.thread.thread_id, f"{where}: thread.thread_id", ImportFailed)
    elif isinstance(line, _CheckpointLine):
        check_id(line.checkpoint.thread_id, f"{where}: checkpoint.thread_id", ImportFailed)
        check_id(line.checkpoint.id, f"{where}: checkpoint.id", ImportFailed)
    return line
