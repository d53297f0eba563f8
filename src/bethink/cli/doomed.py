"""What a forget is about to take, and the proof that it is gone.

Before: one line that names it, and its words. After: the words are looked for in every byte of the files, but for those that
something kept still says. (The words of a forgotten insight are still in the message it was drawn from.)
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import TYPE_CHECKING

import msgspec

from bethink.errors import NotFound
from bethink.items.text import strings_of
from bethink.records import EVERY_KIND, Episode, ItemVersion, StateEntry, Summary
from bethink.storage.base import Get, Read, Scan, Scope, StoredMessage, StoredRecord, Verification
from bethink.storage.derive import made_of

if TYPE_CHECKING:
    from bethink.memory import Memory
    from bethink.messages import Message
    from bethink.records import AnyRecord, RecordKind
    from bethink.storage.base import Store

__all__ = ["Doomed", "Proof", "message", "namespace", "prove", "record", "thread"]

_EVERYTHING = Scope((), subtree=True)


class Doomed(msgspec.Struct, frozen=True):
    """What is named, for a person to say yes to, and the words that must be gone."""

    what: str
    texts: tuple[str, ...]


class Proof(msgspec.Struct, frozen=True):
    """What the files showed (None where there was nothing to look for), and how many texts something kept still says."""

    verification: Verification | None
    still_said: int

    @property
    def failed(self) -> bool:
        return self.verification is not None and not self.verification.clean


def message(memory: Memory, store: Store, message_id: str) -> Doomed:
    """A message with the rest of its group, in every thread that holds it, and the records that rest on any of these.

    Raises:
        NotFound: no such message here.
    """
    found = store.get(Get(scope=Scope(memory.namespace), messages=(message_id,))).messages
    if not found:
        raise NotFound(f"no message of that id in {'/'.join(memory.namespace)} — `bethink show THREAD` lists the ids")
    members: dict[str, Message] = {}
    for stored in found:
        seq = stored.message.seq
        place = Read(namespace=stored.namespace, thread_id=stored.thread_id, after=seq - 1, before=seq + 1, whole_groups=True)
        members |= {member.id: member for member in store.read(place).messages}
    what = f"message {found[0].message.seq} of thread {found[0].thread_id}"
    if len(members) > 1:
        what += f" and the {len(members) - 1} that belong to it"
    return Doomed(what, _distinct((*_words(members.values()), *_derived(_records(memory), members))))


def record(memory: Memory, record_id: str) -> Doomed:
    """A record, by its id or its short mark; of a version of an item, all of its key."""
    mark = record_id.removeprefix("[").removesuffix("]").removeprefix("mem:")
    known_here, versions = _records(memory), _versions(memory)
    named = [known.id for known in known_here if known.id.endswith(mark)]
    keys = {known.key for known in versions if known.id.endswith(mark)}
    going = [known for known in known_here if known.id in named or made_of(known, named)]
    going += [known for known in versions if known.key in keys]
    return Doomed(f"record {mark}", _distinct(words for known in going for words in _said_of(known)))


def thread(memory: Memory, thread_id: str) -> Doomed:
    """A thread with its messages, and the records that rest on them.

    Raises:
        NotFound: no such thread here.
    """
    info = memory.thread(thread_id).info()
    members = {member.id: member for member in memory.thread(thread_id).messages()}
    what = f"thread {thread_id} with its {info.count:,} messages"
    return Doomed(what, _distinct((*_words(members.values()), *_derived(_records(memory), members, thread_id))))


def namespace(memory: Memory, store: Store) -> Doomed:
    """Everything of a namespace and below."""
    threads = memory.threads(below=True)
    texts = [
        words
        for info in threads
        for words in _words(store.read(Read(namespace=info.namespace, thread_id=info.thread_id)).messages)
    ]
    known = [*_records(memory, below=True), *_versions(memory, below=True)]
    texts += [words for each in known for words in _said_of(each)]
    what = f"everything in {'/'.join(memory.namespace)} and below: {len(threads):,} threads, all notes, insights and items"
    return Doomed(what, _distinct(texts))


def prove(memory: Memory, store: Store, texts: Sequence[str]) -> Proof:
    """Look for the texts in the files.

    Cost: reads the files once. Only where something is found, all messages and records too, to tell a remnant from what
    somebody else said; then the files again.
    """
    found = memory.verify(*texts) if texts else None
    if found is None or found.clean:
        return Proof(found, 0)
    gone = _unsaid(store, texts)
    return Proof(memory.verify(*gone) if gone else None, len(texts) - len(gone))


def _unsaid(store: Store, texts: Sequence[str]) -> list[str]:
    """Those of the texts that nothing stored says, alone or within a longer text."""
    left = list(texts)
    for scan in (Scan(what="messages", scope=_EVERYTHING), Scan(what="records", scope=_EVERYTHING, kinds=EVERY_KIND)):
        page = store.scan(scan)
        while left:
            said = [words for item in page.items for words in _said_by(item)]
            left = [text for text in left if not any(text in words for words in said)]
            if page.next is None:
                break
            page = store.scan(msgspec.structs.replace(scan, after=page.next))
    return left


def _said_by(item: object) -> Iterator[str]:
    if isinstance(item, StoredMessage):
        yield from _words([item.message])
    elif isinstance(item, StoredRecord):
        yield from _said_of(item.record)
        yield from (source.text for source in item.record.sources)


def _words(messages: Iterable[Message]) -> Iterator[str]:
    for each in messages:
        yield each.text
        yield from (call.arguments for call in each.tool_calls)


def _records(memory: Memory, *, below: bool = False) -> list[AnyRecord]:
    """All records, those no longer current, the entries of states and what waits to be approved included."""
    kinds: tuple[RecordKind, ...] = ("state", "proposal")
    more = [record for kind in kinds for record in memory.records(kind, current=False, below=below)]
    return [*memory.records(current=False, below=below), *more]


def _versions(memory: Memory, *, below: bool = False) -> list[ItemVersion]:
    """All versions of items, those that have expired included: they are in the file."""
    found = memory._engine.records(Scope(memory.namespace, below), kinds=("item",), current=False)
    return [stored.record for stored in found if isinstance(stored.record, ItemVersion)]


def _said_of(known: AnyRecord) -> Iterator[str]:
    yield known.text
    if isinstance(known, ItemVersion):
        yield known.key
        yield from strings_of(known.value)
    if isinstance(known, StateEntry):
        yield from (known.because, known.ref)
    if isinstance(known, Episode):
        yield from (known.task, known.approach, known.feedback)


def _derived(records: Sequence[AnyRecord], members: dict[str, Message], thread_id: str = "") -> Iterator[str]:
    """What records say on the strength of these messages, and of the state of a thread what was set by hand: of a summary only
    the lines that rest on them.
    """
    entries = [known.id for known in records if isinstance(known, StateEntry) and _rests_on(known, members)]
    for known in records:
        if isinstance(known, Summary):
            yield from (line.text for line in known.lines if not members.keys().isdisjoint(line.sources))
            continue
        worded = [source.text for source in known.sources if source.message_id in members]
        of_thread = isinstance(known, StateEntry | Episode) and known.thread_id == thread_id != ""
        if worded or of_thread or made_of(known, entries):
            yield from (*_said_of(known), *worded)


def _rests_on(known: AnyRecord, members: dict[str, Message]) -> bool:
    return any(source.message_id in members for source in known.sources)


def _distinct(texts: Iterable[str]) -> tuple[str, ...]:
    return tuple(dict.fromkeys(text for text in texts if text.strip()))
