"""`FoldRules`: the part of `StoreMachine` that folds messages and nodes, and puts a model's summaries in the place."""

from __future__ import annotations

import msgspec
from hypothesis import strategies as st
from hypothesis.stateful import rule

from bethink.messages import Message
from bethink.records import Line, Node
from bethink.storage.base import Attempt, Fold, Refine
from bethink.testing._stateful import MachineBase
from bethink.testing.doubles import START
from bethink.threads import ThreadInfo

__all__ = ["FoldRules"]


class FoldRules(MachineBase):
    """Nodes over messages and over nodes, and what a model makes of them."""

    @rule(data=st.data(), stale=st.integers(0, 9))
    def fold(self, data: st.DataObject, stale: int) -> None:
        thread = self.draw_thread(data)
        if thread is None:
            return
        messages = [message for message in self.messages(thread) if message.seq > thread.folded_through]
        chosen = messages[: data.draw(st.integers(0, len(messages)))]
        nodes = [self.node(chosen)] if chosen else []
        self.fold_in(thread, nodes, max([thread.folded_through, *(m.seq for m in chosen)]), stale=stale == 0)

    @rule(data=st.data())
    def fold_higher(self, data: st.DataObject) -> None:
        thread = self.draw_thread(data)
        if thread is None:
            return
        top = self.read(thread, nodes=True, limit=0).nodes
        chosen = top[: data.draw(st.integers(0, len(top)))]
        if len(chosen) >= 2:
            lines = tuple(line for child in chosen for line in child.lines)[:2]
            covers = tuple(sorted(span for child in chosen for span in child.covers))
            up = Node(
                id=self.fresh("n"),
                level=chosen[0].level + 1,
                covers=covers,
                lines=lines,
                author="extractive",
                created_at=self.now(),
                children=tuple(child.id for child in chosen),
            )
            self.fold_in(thread, [up], thread.folded_through)

    @rule(data=st.data(), model=st.sampled_from(("gpt", "llama")), outcome=st.sampled_from(("", "", "error", "same", "stale")))
    def refine(self, data: st.DataObject, model: str, outcome: str) -> None:
        """A model's summary of some node, of which one line is left; a failed attempt; a success that changes nothing; or one
        that comes too late."""
        thread = self.draw_thread(data)
        nodes = () if thread is None else self.read(thread, tree=True, limit=0).nodes
        if thread is None or not nodes:
            return
        expected = data.draw(st.sampled_from(nodes))
        node = None
        if outcome in ("", "stale"):
            node = msgspec.structs.replace(expected, id=self.fresh("n"), lines=expected.lines[:1], author=model, span="x")
        if outcome == "stale":
            expected = msgspec.structs.replace(expected, covers=((1, 1), (3, 3)))
        attempt = Attempt(
            span="x",
            node_id=(node or expected).id,
            model=model,
            at=self.now(),
            reason="error" if outcome == "error" else "",
        )
        request = Refine(namespace=thread.namespace, thread_id=thread.thread_id, expected=expected, attempt=attempt, node=node)
        self.both(lambda store: store.refine(request))

    def fold_in(self, thread: ThreadInfo, nodes: list[Node], through: int, *, stale: bool = False) -> None:
        request = Fold(
            namespace=thread.namespace,
            thread_id=thread.thread_id,
            nodes=tuple(nodes),
            through=through,
            expected_through=thread.folded_through + stale,
        )
        self.both(lambda store: store.fold(request))

    def node(self, messages: list[Message]) -> Node:
        """A node over these, with a line for each that has text and one that rests on the first two."""
        lines = [Line(message.text, (message.id,), START) for message in messages if message.text]
        lines += [Line("of two", (messages[0].id, messages[1].id), START)] if len(messages) > 1 else []
        covers: list[tuple[int, int]] = []
        for message in messages:
            if covers and covers[-1][1] == message.seq - 1:
                covers[-1] = (covers[-1][0], message.seq)
            else:
                covers.append((message.seq, message.seq))
        return Node(
            id=self.fresh("n"), level=1, covers=tuple(covers), lines=tuple(lines), author="extractive", created_at=self.now()
        )
