"""Conversations from a file, into a namespace and below: read, append batch by batch, end.

Ids are the same at every reading, and appending an id again adds nothing: an interrupted import is resumed, and a finished one
repeated without effect, by doing it again.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from datetime import timedelta
from pathlib import Path

import msgspec

from bethink.checkpoints import Checkpoint
from bethink.engine import Engine
from bethink.errors import Conflict, ImportFailed, InvalidInput, NotFound
from bethink.importing import Conversation, OnError, PlacedCheckpoint, detect, read, read_checkpoints, read_records
from bethink.messages import Message
from bethink.records import AnyRecord, ItemVersion
from bethink.steps.append import append
from bethink.steps.items import restore
from bethink.steps.reflect import reflect
from bethink.storage.base import Cursor, Get, Put, Read, Save, Scope, StoredRecord
from bethink.values import Namespace

__all__ = ["ImportReport", "import_file"]

_CLOCKS_DIFFER = timedelta(days=1)
"""By so much at most: a record of tomorrow is from another machine, one of next year a mistake."""
_BATCH = 200


class ImportReport(msgspec.Struct, frozen=True, kw_only=True):
    """What an import did.

    Attributes:
        conversations, messages: how many the file holds (of those that could be taken).
        added: messages that were not there before.
        records, checkpoints: long-term records, and states of agents, that were not there before (only bethink's own export
            holds any).
        ended: sessions that were ended.
        errors: what was left out and why, with `on_error="skip"`.
    """

    format: str
    conversations: int = 0
    messages: int = 0
    added: int = 0
    records: int = 0
    checkpoints: int = 0
    ended: int = 0
    errors: tuple[ImportFailed, ...] = ()


def import_file(
    engine: Engine,
    namespace: Namespace,
    path: Path,
    *,
    format: str | None = None,  # noqa: A002 - the word that the command line and the documentation use
    on_error: OnError = "stop",
    end: bool = False,
    progress: Callable[[int], None] | None = None,
) -> ImportReport:
    """Import a file. What was stored before an error stays."""
    errors: list[ImportFailed] = []
    format = format or detect(path)  # noqa: A001
    conversations = messages = added = ended = 0
    for conversation in read(path, format, on_error=on_error, errors=errors):
        where = _place(namespace, conversation)
        conversations += 1
        for batch in _batches(conversation):
            try:
                added += append(engine, where, conversation.thread_id, batch, metadata=conversation.metadata).added
            except Conflict as error:
                problem = ImportFailed(
                    f"thread {conversation.thread_id}",
                    str(error),
                    "import it under another namespace, or forget the thread first",
                )
                if on_error == "stop":
                    raise problem from error
                errors.append(problem)
                break
            messages += len(batch)
            if progress is not None:
                progress(len(batch))
        if conversation.settled:
            _settle(engine, where, conversation.thread_id)
        if end and conversation.messages:
            reflect(engine, where, conversation.thread_id)
            ended += 1
    own = format == "jsonl"
    records = _import_records(engine, namespace, path, on_error, errors) if own else 0
    checkpoints = _import_checkpoints(engine, namespace, path, on_error, errors) if own else 0
    return ImportReport(
        format=format,
        conversations=conversations,
        messages=messages,
        added=added,
        records=records,
        checkpoints=checkpoints,
        ended=ended,
        errors=tuple(errors),
    )


def _settle(engine: Engine, namespace: Namespace, thread_id: str) -> None:
    """Leave the drawing of insights to the file, which holds them: drawing again would bring back what was forgotten."""
    thread = engine.store.read(Read(namespace=namespace, thread_id=thread_id, limit=0)).thread
    if thread.extracted_through == 0:
        cursor = Cursor(thread_id, "extracted", 0, thread.tip)
        engine.store.put(Put(namespace=namespace, cursor=cursor))


def _place(namespace: Namespace, found: Conversation | StoredRecord | Checkpoint) -> Namespace:
    """Where something of a file goes: into the importing namespace or below it, never outside."""
    if found.namespace:
        if found.namespace[: len(namespace)] == namespace:
            return found.namespace
        # Written under another tenant: the rest of its place is kept.
        return (*namespace, *found.namespace[1:])
    if isinstance(found, Conversation) and found.user:
        return (*namespace, found.user)
    return namespace


def _batches(conversation: Conversation) -> Iterator[tuple[Message, ...]]:
    """Its messages in batches; an empty one for a conversation without any, so that its thread is made."""
    for start in range(0, len(conversation.messages) or 1, _BATCH):
        yield conversation.messages[start : start + _BATCH]


def _import_checkpoints(engine: Engine, namespace: Namespace, path: Path, on_error: OnError, errors: list[ImportFailed]) -> int:
    added = 0
    for placed in read_checkpoints(path, on_error=on_error, errors=errors):
        where = _place(namespace, placed.checkpoint)
        try:
            added += _restore(engine, where, placed)
        except (Conflict, InvalidInput, NotFound) as error:
            problem = ImportFailed(
                f"checkpoint {placed.checkpoint.id}",
                "its thread, a message or its parent is not here, or is another one",
                "import its whole thread into a namespace that has none of its id",
            )
            if on_error == "stop":
                raise problem from error
            errors.append(problem)
    return added


def _restore(engine: Engine, namespace: Namespace, placed: PlacedCheckpoint) -> bool:
    """Save a checkpoint behind the message that it stood behind; whether it was not there before."""
    given, scope = placed.checkpoint, Scope(namespace)
    seq = 0
    if placed.after:
        messages = engine.store.get(Get(scope=scope, messages=(placed.after,))).messages
        seqs = [stored.message.seq for stored in messages if stored.thread_id == given.thread_id]
        if not seqs:
            raise NotFound(f"message {placed.after!r} is not in thread {given.thread_id!r}")
        seq = seqs[0]
    there = engine.store.get(Get(scope=scope, checkpoints=(given.id,), thread_id=given.thread_id)).checkpoints
    engine.store.save(
        Save(
            namespace=namespace,
            thread_id=given.thread_id,
            id=given.id,
            at=given.created_at,
            state=given.state,
            format=given.format,
            label=given.label,
            view=given.view,
            metadata=given.metadata,
            parent_id=given.parent_id,
            seq=seq,
        )
    )
    return not there


def _import_records(engine: Engine, namespace: Namespace, path: Path, on_error: OnError, errors: list[ImportFailed]) -> int:
    added = 0
    for stored in read_records(path, on_error=on_error, errors=errors):
        where = _place(namespace, stored)
        if isinstance(stored.record, ItemVersion):
            added += restore(engine, where, stored.record)
            continue
        # A known record is left as it is: putting it again would make a superseded one current.
        if engine.store.get(Get(scope=Scope(where), records=(stored.record.id,))).records:
            continue
        try:
            _put(engine, where, stored.record)
        except ImportFailed as problem:
            if on_error == "stop":
                raise
            errors.append(problem)
            continue
        added += 1
    return added


def _put(engine: Engine, namespace: Namespace, record: AnyRecord) -> None:
    """Store a record of a file.

    Raises:
        ImportFailed: it is of a time that is yet to come, or a message that it rests on is not here.
    """
    if record.recorded_at > engine.clock.now() + _CLOCKS_DIFFER:
        fix = "see whether the clock is right, here and where it was written"
        raise ImportFailed(f"record {record.id}: recorded_at", "a time that is yet to come", fix)
    try:
        engine.store.put(Put(namespace=namespace, records=(record,)))
    except NotFound as error:
        raise ImportFailed(f"record {record.id}", "rests on a message that is not here", "import that thread too") from error
