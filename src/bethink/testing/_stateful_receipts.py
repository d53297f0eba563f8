"""`ReceiptRules`: the part of `StoreMachine` that stores receipts of contexts, and what turns and model calls took."""

from __future__ import annotations

from hypothesis import strategies as st
from hypothesis.stateful import rule

from bethink.models.language import Call, Usage
from bethink.records import Receipt, ReceiptLine
from bethink.storage.base import Scope
from bethink.testing._stateful import MachineBase, namespaces, record_ids, scan, thread_ids
from bethink.usage import ModelCall, TurnUsage

__all__ = ["ReceiptRules"]


class ReceiptRules(MachineBase):
    """Receipts of what is there, and usage of receipts that are there or are not."""

    @rule(data=st.data(), record_id=record_ids)
    def put_receipt(self, data: st.DataObject, record_id: str) -> None:
        """A receipt of a thread's newest messages, one recalled message, its first node and a record."""
        thread = self.draw_thread(data)
        if thread is None:
            return
        transcript = self.read(thread, limit=2, nodes=True)
        lines = [ReceiptLine("profile", "record", record_id, "current")] if self.has_record(thread.namespace, record_id) else []
        lines += [ReceiptLine("summary", "node", node.id, "folded") for node in transcript.nodes[:1]]
        recalled = self.draw_message(data, self.draw_thread(data, thread.namespace))
        lines += [ReceiptLine("recalled", "message", recalled.id, "match")] if recalled else []
        receipt = Receipt(
            id=self.fresh("c"),
            thread_id=thread.thread_id,
            created_at=self.now(),
            budget=100,
            tokens=10,
            counter="builtin",
            ranker="1",
            renderer=1,
            digest="",
            lines=tuple(lines),
            recent=tuple((message.seq, message.seq) for message in transcript.messages),
        )
        self.put(thread.namespace, receipt=receipt)

    @rule(data=st.data(), thread_id=thread_ids, tokens=st.integers(1, 9))
    def put_usage(self, data: st.DataObject, thread_id: str, tokens: int) -> None:
        """What a context took, of a receipt that is there or is not, and a call for a thread that is there or is not."""
        namespace = data.draw(namespaces)
        receipts = scan(self.reference, "receipts", Scope(namespace))
        context_id, of_thread = data.draw(
            st.sampled_from([("unknown", "t1"), *((receipt.id, receipt.thread_id) for receipt in receipts)])
        )
        usage = TurnUsage(
            context_id=context_id,
            thread_id=of_thread,
            at=self.now(),
            budget=100,
            counter="builtin",
            sections={"recent messages": tokens},
        )
        call = ModelCall(thread_id, self.now(), Call("summary", "small-1", 0.5, Usage(calls=1, tokens_in=tokens)))
        self.put(namespace, usage=usage, calls=(call,))
