"""Which records the replies of a thread have used: those that they name by their marks, or else those whose words they have of
what the context before them showed.

The context of a reply is the newest one after which no user has spoken before the reply, as its receipt says: places in the
thread, no clocks. What was derived once is never counted again, since it is stored with the move of the cursor past the reply.

What a reply says in other words is found where a session is reflected on (`meant`), since it takes vectors: it is counted with
the move of that cursor, and is never what the words have been counted for.
"""

from __future__ import annotations

from collections.abc import Sequence

from bethink.context import handle
from bethink.engine import Engine
from bethink.insights.citations import cited, half_used, near, used, wording
from bethink.messages import Message
from bethink.records import Receipt
from bethink.storage.base import Cite, Get, Read, Scan, Scope
from bethink.threads import ThreadInfo
from bethink.values import Namespace

__all__ = ["citations", "meant"]

_LOOKED_AT = 64
"""The most receipts that the contexts of new replies are looked for among, the newest first."""
_LOOKED_BACK = 64
"""Messages before a reply in which a mark may have been planted."""


def citations(engine: Engine, namespace: Namespace, thread_id: str, messages: Sequence[Message]) -> tuple[Cite, ...]:
    """Uses of records by the replies among new messages of a thread, in order: each strengthens its record, once a reply."""
    replies = [message for message in messages if message.role == "assistant" and message.created_at and message.text.strip()]
    if not replies:
        return ()
    found: dict[int, tuple[str, ...]] = {}
    marked = [message for message in replies if "[mem:" in message.text]
    if marked:
        handles = {handle(stored.record.id): stored.record.id for stored in engine.records(Scope(namespace), current=False)}
        for message in marked:
            named = cited(message.text, handles)
            planted = _planted(engine, namespace, thread_id, message.seq) if named else ""
            found[message.seq] = tuple([record_id for record_id in named if handle(record_id) not in planted])
    threshold = engine.settings.citation_overlap
    unmarked = [message for message in replies if message.seq not in found]
    if threshold is not None and unmarked:
        between = frozenset([message.seq for message in messages if message.role != "user"])
        shown = _shown(engine, namespace, thread_id, unmarked, between)
        for message in unmarked:
            if message.seq in shown:
                found[message.seq] = used(message.text, shown[message.seq], threshold=threshold)
    return tuple(
        Cite(record_id, message.created_at)
        for message in replies
        for record_id in found.get(message.seq, ())
        if message.created_at is not None
    )


def meant(engine: Engine, thread: ThreadInfo, messages: Sequence[Message]) -> tuple[Cite, ...]:
    """Uses by the replies past a thread's "reflected" cursor that words alone do not show, in order; none without an embedder
    that thresholds were chosen for.

    Args:
        messages: of the thread, all of them.

    Raises:
        EmbeddingFailed: the embedder did.
    """
    overlap, nearness = engine.settings.citation_overlap, engine.settings.citation_nearness
    embedder = None if overlap is None or nearness is None else engine.calibrated
    new = [message for message in messages if message.seq > thread.reflected_through and message.role == "assistant"]
    replies = [message for message in new if message.created_at and message.text.strip() and "[mem:" not in message.text]
    if embedder is None or overlap is None or nearness is None or not replies:
        return ()
    between = frozenset([message.seq for message in messages if message.role != "user"])
    shown = _shown(engine, thread.namespace, thread.thread_id, replies, between)
    half = {seq: half_used(message.text, shown[seq], threshold=overlap) for message in replies if (seq := message.seq) in shown}
    asked = [(wording(shown[seq][name]), *said) for seq, some in half.items() for name, said in some.items()]
    texts = list(dict.fromkeys([text for each in asked for text in each]))
    if not texts:
        return ()
    vectors = dict(zip(texts, embedder.embed(texts), strict=True))
    return tuple(
        Cite(name, message.created_at)
        for message in replies
        if message.seq in half and message.created_at is not None
        for name in near(half[message.seq], shown[message.seq], vectors, threshold=nearness)
    )


def _planted(engine: Engine, namespace: Namespace, thread_id: str, before: int) -> str:
    """What tools and documents said in the messages before a reply. A mark that stands there was not taken from memory, however
    faithfully the reply repeats it: whoever wrote it could make his own record last, or another's.
    """
    read = Read(namespace=namespace, thread_id=thread_id, before=before, limit=_LOOKED_BACK)
    said = engine.store.read(read).messages
    return "\n".join(message.text for message in said if message.trust in ("tool", "external") and "mem" in message.text)


def _shown(
    engine: Engine, namespace: Namespace, thread_id: str, replies: Sequence[Message], between: frozenset[int]
) -> dict[int, dict[str, str]]:
    """The texts of the records that the context of each reply showed, by their ids; by the seq of the reply.

    Args:
        between: seqs of what may stand between a context and its reply.
    """
    # Mostly one reply follows one context; a context may have been asked for twice.
    limit = min(_LOOKED_AT, 2 * len(replies) + 1)
    scan = Scan(what="receipts", scope=Scope(namespace), thread_id=thread_id, newest=True, limit=limit)
    receipts = [item for item in engine.store.scan(scan).items if isinstance(item, Receipt)]
    of_reply: dict[int, list[str]] = {}
    for reply in replies:
        receipt = next((each for each in receipts if _last(each) < reply.seq), None)
        if receipt is not None and between.issuperset(range(_last(receipt) + 1, reply.seq)):
            # A summary is shown by its lines, and what a reply uses of one is not the whole.
            of_reply[reply.seq] = [line.id for line in receipt.lines if line.of == "record" and line.index < 0]
    ids = tuple(dict.fromkeys([record_id for some in of_reply.values() for record_id in some]))
    if not ids:
        return {}
    known = engine.known(namespace).by_id
    texts = {record_id: known[record_id].text for record_id in ids if record_id in known}
    wanted = tuple([record_id for record_id in ids if record_id not in texts])
    if wanted:
        fetched = engine.store.get(Get(scope=Scope(namespace), records=wanted)).records
        texts |= {stored.record.id: stored.record.text for stored in fetched}
    return {
        seq: {record_id: texts[record_id] for record_id in dict.fromkeys(some) if record_id in texts}
        for seq, some in of_reply.items()
    }


def _last(receipt: Receipt) -> int:
    """The newest message that a context shows."""
    return max([last for _, last in (*receipt.recent, *receipt.pinned)], default=0)
