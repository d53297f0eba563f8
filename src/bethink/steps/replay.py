"""Back from a receipt to the context it was given for."""

from __future__ import annotations

from bethink.context import Context, Named, rebuild
from bethink.engine import Engine
from bethink.errors import NotFound
from bethink.messages import Message
from bethink.records import Receipt
from bethink.steps.handoff import parent_of
from bethink.storage.base import Get, Read, Scope
from bethink.values import Namespace

__all__ = ["replay"]


def replay(engine: Engine, namespace: Namespace, receipt_id: str) -> Context:
    """The context that a receipt was given for, the same bytes."""
    scope = Scope(namespace)
    receipts = engine.store.get(Get(scope=scope, receipts=(receipt_id,))).receipts
    if not receipts:
        raise NotFound(f"no context {receipt_id!r} in {'/'.join(namespace)} — it was never made here, or was forgotten")
    receipt = receipts[0]
    ids = {kind: tuple(line.id for line in receipt.lines if line.of == kind) for kind in ("message", "record", "node")}
    ids["record"] += tuple(line.changed_by for line in receipt.lines if line.changed_by)
    ids["record"] += tuple(other for line in receipt.lines for other in line.disputed_by)
    fetched = engine.store.get(Get(scope=scope, messages=ids["message"], records=ids["record"], nodes=ids["node"]))
    records = {stored.record.id: stored.record for stored in fetched.records}
    parent = parent_of(engine, namespace, receipt.thread_id)
    if parent is not None:
        above = engine.store.get(Get(scope=Scope(parent[0]), records=ids["record"])).records
        records.update((stored.record.id, stored.record) for stored in above)
    named = Named(
        messages=_messages_of(engine, namespace, receipt),
        quoted={stored.message.id: stored.message for stored in fetched.messages},
        records=records,
        nodes={node.id: node for node in fetched.nodes},
    )
    return rebuild(receipt, named, measure=engine.measure(receipt.for_model))


def _messages_of(engine: Engine, namespace: Namespace, receipt: Receipt) -> dict[int, Message]:
    found: dict[int, Message] = {}
    for first, last in (*receipt.pinned, *receipt.recent):
        read = Read(namespace=namespace, thread_id=receipt.thread_id, after=first - 1, before=last + 1)
        found.update({message.seq: message for message in engine.store.read(read).messages})
    return found
