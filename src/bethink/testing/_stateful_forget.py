"""`ForgetRules`: the part of `StoreMachine` that takes things away: `forget`, whatever it names, and `rewrite`."""

from __future__ import annotations

from collections import Counter
from typing import Any

import msgspec
from hypothesis import strategies as st
from hypothesis.stateful import rule

from bethink.records import RecordKind
from bethink.redaction import Redaction
from bethink.storage.base import Forget, Rewrite, Scope, Store
from bethink.testing._stateful import MachineBase, record_ids, scan, scopes, thread_ids

__all__ = ["ForgetRules"]

_CHANGED = ("messages", "records", "nodes", "threads", "checkpoints", "receipts", "dropped")


class ForgetRules(MachineBase):
    """Forgetting of one thing or of much, and words replaced in all that is stored."""

    @rule(data=st.data(), scope=scopes)
    def forget_message(self, data: st.DataObject, scope: Scope) -> None:
        message = self.draw_message(data, self.draw_thread(data))
        if message is not None:
            self.forget(scope, message_id=message.id)

    @rule(scope=scopes, record_id=record_ids)
    def forget_record(self, scope: Scope, record_id: str) -> None:
        self.forget(scope, record_id=record_id)

    @rule(data=st.data(), scope=scopes, kind=st.sampled_from(("state", "episode")))
    def forget_work(self, data: st.DataObject, scope: Scope, kind: RecordKind) -> None:
        """An entry of a state, with the episodes that were made of it; or an episode."""
        there = [stored.record.id for stored in scan(self.reference, "records", scope, kinds=(kind,))]
        if there:
            self.forget(scope, record_id=data.draw(st.sampled_from(there)))

    @rule(scope=scopes, thread_id=st.none() | thread_ids, surely=st.integers(0, 4))
    def forget_much(self, scope: Scope, thread_id: str | None, surely: int) -> None:
        """A thread or a whole scope; not too often, or no run would ever hold much."""
        if surely == 0:
            self.forget(scope, **({} if thread_id is None else {"thread_id": thread_id}))

    @rule(data=st.data(), parent=st.booleans())
    def forget_fork(self, data: st.DataObject, parent: bool) -> None:
        """A fork, or the thread it was forked from, if that is still there."""
        forks = [(thread, thread.parent) for thread in self.threads() if thread.parent is not None]
        if forks:
            fork, point = data.draw(st.sampled_from(forks))
            self.forget(Scope(fork.namespace), thread_id=point.thread_id if parent else fork.thread_id)

    def forget(self, scope: Scope, **named: Any) -> None:
        request = Forget(scope=scope, at=self.now(), **named)
        self.both(lambda store: store.forget(request), lambda receipt: msgspec.structs.replace(receipt, id="", erased=True))

    @rule(
        scope=scopes,
        words=st.sampled_from(("Lisbon", "honey", "rain", "of two", "雨")),
        limit=st.integers(1, 6),
        dry=st.integers(0, 4),
    )
    def rewrite(self, scope: Scope, words: str, limit: int, dry: int) -> None:
        """Placeholders for some words, to the last page. A page is of whatever a store makes of its limit, so that only what
        all of them changed is compared."""
        request = Rewrite(scope=scope, by=Redaction(kinds=(), patterns={"word": words}), limit=limit, dry=dry == 0)
        self.both(lambda store: _rewritten(store, request))


def _rewritten(store: Store, request: Rewrite) -> tuple[Counter[str], Counter[str]]:
    """How many of each sort of thing were changed, and how many placeholders there are more."""
    changed, kinds = Counter[str](), Counter[str]()
    while True:
        page = store.rewrite(request)
        changed += Counter({name: getattr(page, name) for name in _CHANGED})
        kinds += Counter(page.kinds)
        if page.next is None:
            return changed, kinds
        request = msgspec.structs.replace(request, after=page.next)
