"""`ThreadRules`: the part of `StoreMachine` that appends, retries, forks and marks messages."""

from __future__ import annotations

import msgspec
from hypothesis import strategies as st
from hypothesis.stateful import rule

from bethink.marks import TIERS
from bethink.messages import Tier, ToolCall
from bethink.storage.base import Mark
from bethink.testing._stateful import MachineBase, namespaces, texts, thread_ids
from bethink.threads import ForkPoint
from bethink.values import Namespace

__all__ = ["ThreadRules"]


_call_ids = st.sampled_from(("c1", "c2", "c3"))


class ThreadRules(MachineBase):
    """Messages of every kind, some of them refused; forks; tiers and scores given later."""

    @rule(namespace=namespaces, thread_id=thread_ids, texts=st.lists(texts, max_size=5), pinned=st.booleans())
    def append_turns(self, namespace: Namespace, thread_id: str, texts: list[str], pinned: bool) -> None:
        role = "system" if pinned else "user"
        self.append(namespace, thread_id, *(self.message(role, text) for text in texts))

    @rule(namespace=namespaces, thread_id=thread_ids, call_ids=st.lists(_call_ids, min_size=1, max_size=2, unique=True))
    def append_calls(self, namespace: Namespace, thread_id: str, call_ids: list[str]) -> None:
        made = tuple(ToolCall(call_id, "search") for call_id in call_ids)
        self.append(namespace, thread_id, self.message("assistant", None, tool_calls=made))

    @rule(namespace=namespaces, thread_id=thread_ids, call_id=_call_ids, text=texts)
    def append_result(self, namespace: Namespace, thread_id: str, call_id: str, text: str) -> None:
        self.append(namespace, thread_id, self.message("tool", text, tool_call_id=call_id))

    @rule(data=st.data(), text=st.none() | texts, more=st.booleans())
    def append_again(self, data: st.DataObject, text: str | None, more: bool) -> None:
        """A retry, or with `text` another message under a known id; with `more` something new beside it."""
        thread = self.draw_thread(data)
        known = self.draw_message(data, thread)
        if thread is None or known is None:
            return
        again = msgspec.structs.replace(known, seq=0, group=0, **({} if text is None else {"content": text}))
        new = [self.message("user", "bees")] if more else []
        self.append(thread.namespace, thread.thread_id, again, *new)

    @rule(data=st.data(), expected=st.integers(-1, 1))
    def append_expecting(self, data: st.DataObject, expected: int) -> None:
        thread = self.draw_thread(data)
        if thread is not None:
            tip = max(0, thread.tip + expected)
            self.append(thread.namespace, thread.thread_id, self.message("user", "rain"), expected_tip=tip)

    @rule(data=st.data(), to=thread_ids)
    def fork(self, data: st.DataObject, to: str) -> None:
        thread = self.draw_thread(data)
        if thread is not None:
            seq = data.draw(st.integers(0, thread.tip + 1))
            self.append(thread.namespace, to, fork_of=ForkPoint(thread.thread_id, seq))

    @rule(data=st.data(), tier=st.sampled_from(TIERS), score=st.none() | st.integers(1, 10), unknown=st.integers(0, 9))
    def mark(self, data: st.DataObject, tier: Tier, score: int | None, unknown: int) -> None:
        """Another tier for a message, or a score; now and then for one that is not there, beside one that is."""
        thread = self.draw_thread(data)
        known = self.draw_message(data, thread)
        if thread is None or known is None:
            return
        named = (known.id, "unknown") if unknown == 0 else (known.id,)
        request = Mark(
            namespace=thread.namespace,
            thread_id=thread.thread_id,
            at=self.now(),
            tiers=tuple((each, tier) for each in named) if score is None else (),
            scores=() if score is None else tuple((each, score) for each in named),
            author="model" if tier == "working" else "",
        )
        self.both(lambda store: store.mark(request))
