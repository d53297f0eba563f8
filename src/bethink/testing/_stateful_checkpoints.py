"""`CheckpointRules`: the part of `StoreMachine` that saves, prunes and forks at states of agents."""

from __future__ import annotations

import msgspec
from hypothesis import strategies as st
from hypothesis.stateful import rule

from bethink.storage.base import Prune, Save, Scope
from bethink.testing._stateful import MachineBase, scan, thread_ids
from bethink.threads import ForkPoint, ThreadInfo

__all__ = ["CheckpointRules"]


class CheckpointRules(MachineBase):
    """States in a line of parents, of which some are retries and some name no parent there is."""

    @rule(data=st.data(), state=st.binary(max_size=4), again=st.integers(0, 3), seq=st.none() | st.integers(0, 9))
    def save(self, data: st.DataObject, state: bytes, again: int, seq: int | None) -> None:
        """A new checkpoint, or another save under a known id: with the same state it is a retry."""
        thread = self.draw_thread(data)
        if thread is None:
            return
        known = self.checkpoints(thread)
        parent = data.draw(st.sampled_from((msgspec.UNSET, None, "unknown", *known)))
        request = Save(
            namespace=thread.namespace,
            thread_id=thread.thread_id,
            id=data.draw(st.sampled_from(known)) if known and again == 0 else self.fresh("k"),
            at=self.now(),
            state=state[:again],
            format="bytes",
            view={"size": again},
            parent_id=parent,
            seq=seq,
        )
        self.both(lambda store: store.save(request))

    @rule(data=st.data(), keep=st.none() | st.integers(0, 4))
    def prune(self, data: st.DataObject, keep: int | None) -> None:
        thread = self.draw_thread(data)
        if thread is None:
            return
        known = self.checkpoints(thread)
        going = data.draw(st.lists(st.sampled_from(known), max_size=3)) if known and keep is None else []
        request = Prune(namespace=thread.namespace, thread_id=thread.thread_id, keep=keep, ids=tuple(going))
        self.both(lambda store: store.prune(request))

    @rule(data=st.data(), to=thread_ids, exactly=st.integers(0, 4))
    def fork_at_checkpoint(self, data: st.DataObject, to: str, exactly: int) -> None:
        thread = self.draw_thread(data)
        found = [] if thread is None else scan(self.reference, "checkpoints", Scope(thread.namespace))
        if thread is None or not found:
            return
        at = data.draw(st.sampled_from(found))
        seq = at.seq if exactly else at.seq + 1
        # Now and then one of another thread, which is refused.
        of = at.thread_id if exactly > 1 else thread.thread_id
        self.append(thread.namespace, to, fork_of=ForkPoint(of, seq), checkpoint_id=at.id)

    def checkpoints(self, thread: ThreadInfo) -> list[str]:
        """Ids of a thread's."""
        found = scan(self.reference, "checkpoints", Scope(thread.namespace))
        return [each.id for each in found if each.thread_id == thread.thread_id]
