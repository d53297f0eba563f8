"""`AskedRules`: the part of `StoreMachine` that stores what came of asking a model about long-term memory."""

from __future__ import annotations

from hypothesis import strategies as st
from hypothesis.stateful import rule

from bethink.storage.base import Ask, Asked, AskedStep, Scope, Weigh
from bethink.testing._stateful import MachineBase, record_ids, scan

__all__ = ["AskedRules"]


class AskedRules(MachineBase):
    """What was asked of threads that are there, after the last time or as if there had been none; how much records matter."""

    @rule(
        data=st.data(),
        step=st.sampled_from(["extract", "reflect"]),
        first=st.integers(1, 3),
        failed=st.booleans(),
        fresh=st.booleans(),
        record_id=record_ids,
    )
    def ask(self, data: st.DataObject, step: AskedStep, first: int, failed: bool, fresh: bool, record_id: str) -> None:
        """What came of asking a model about a thread's messages; how much a record matters."""
        thread = self.draw_thread(data)
        if thread is None:
            return
        kept = scan(self.reference, "asked", Scope(thread.namespace), thread_id=thread.thread_id)
        last = next((each for each in kept if (each.step, each.first) == (step, first)), None)
        asked = Asked(
            thread_id=thread.thread_id,
            step=step,
            first=first,
            through=max(first, thread.tip),
            model="small-1",
            prompt="extract 1",
            at=self.now(),
            number=1 if last is None else last.number + 1,
            reason="error" if failed else "",
        )
        weigh = (Weigh(record_id, "high" if failed else "low"),) if self.has_record(thread.namespace, record_id) else ()
        self.put(thread.namespace, asked=(Ask(asked, None if fresh else last),), weigh=weigh, at=self.now())
