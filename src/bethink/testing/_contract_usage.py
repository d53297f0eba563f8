"""The contract of what is kept beside receipts and threads: what a context took, and calls of a language model."""

from __future__ import annotations

from datetime import timedelta

from bethink.models.language import Call, Usage
from bethink.storage.base import Store
from bethink.testing._contract import AT, EVERYTHING, NS, ContractBase, append, forget, fork, put, receipt, say, scan, shown
from bethink.usage import Counted, ModelCall, TurnUsage

__all__ = ["UsageContract"]


def usage(context_id: str, *, thread: str = "t", tokens: int = 50) -> TurnUsage:
    return TurnUsage(
        context_id=context_id,
        thread_id=thread,
        at=AT,
        budget=100,
        counter="builtin",
        sections={"pinned": 3, "recent messages": tokens - 3},
        memory=7,
        history=900,
        estimated=True,
        counted=Counted(4, 3, 80),
        seconds={"context": 0.004, "recall": 0.001},
        compactions=1,
    )


def call(thread: str = "t", *, hours: int = 0) -> ModelCall:
    used = Usage(calls=1, tokens_in=100, tokens_out=20, cost=0.002)
    return ModelCall(thread, AT + timedelta(hours=hours), Call("summary", "small-1", 1.25, used, "timeout"))


class UsageContract(ContractBase):
    def test_usage_comes_back_as_it_was_given_in_the_order_of_its_receipts(self, store: Store) -> None:
        append(store, say("m1"))
        put(store, receipt=receipt("c1"), usage=usage("c1"))
        put(store, receipt=receipt("c2"))
        put(store, receipt=receipt("c3"))
        put(store, usage=usage("c3"))
        put(store, usage=usage("c2"))
        assert scan(store, "usage") == [usage("c1"), usage("c2"), usage("c3")]
        assert scan(store, "usage", newest=True, limit=1) == [usage("c3"), usage("c2"), usage("c1")]
        assert scan(self.reopen(store), "usage", thread_id="t") == [usage("c1"), usage("c2"), usage("c3")]

    def test_the_first_usage_of_a_receipt_stays(self, store: Store) -> None:
        append(store, say("m1"))
        put(store, receipt=receipt("c1"), usage=usage("c1"))
        put(store, usage=usage("c1", tokens=60))
        assert scan(store, "usage") == [usage("c1")]

    def test_usage_of_a_receipt_that_is_not_there_is_passed_over(self, store: Store) -> None:
        append(store, say("m1"))
        append(store, say("m1"), namespace=("other",))
        put(store, receipt=receipt("c1"))
        put(store, usage=usage("gone"))
        put(store, usage=usage("c1"), namespace=("other",))
        put(store, usage=usage("c1"), namespace=("never seen",))
        assert scan(store, "usage", (), subtree=True) == []

    def test_model_calls_come_back_in_the_order_in_which_they_were_stored(self, store: Store) -> None:
        append(store, say("m1"))
        put(store, calls=(call(hours=2), call(hours=1)))
        put(store, calls=(call(hours=3),))
        assert scan(store, "model calls") == [call(hours=2), call(hours=1), call(hours=3)]
        assert scan(store, "model calls", newest=True, limit=2) == [call(hours=3), call(hours=1), call(hours=2)]

    def test_model_calls_of_a_thread_that_is_not_there_are_passed_over(self, store: Store) -> None:
        append(store, say("m1"))
        put(store, calls=(call("gone"), call()))
        put(store, calls=(call(),), namespace=("never seen",))
        assert scan(store, "model calls", (), subtree=True) == [call()]

    def test_usage_of_one_thread_and_of_one_namespace(self, store: Store) -> None:
        for namespace in (NS, (*NS, "below"), ("acme", "adam")):
            for thread in ("t", "other"):
                append(store, say("m1"), thread=thread, namespace=namespace)
                made = receipt(f"c-{thread}", thread=thread)
                told = usage(made.id, thread=thread)
                put(store, receipt=made, usage=told, calls=(call(thread),), namespace=namespace)
        for subtree, copies in ((False, 1), (True, 2)):
            assert scan(store, "usage", thread_id="t", subtree=subtree) == [usage("c-t")] * copies
            assert scan(store, "model calls", thread_id="t", subtree=subtree) == [call("t")] * copies
            assert len(scan(store, "usage", subtree=subtree)) == 2 * copies
            assert len(scan(store, "model calls", subtree=subtree)) == 2 * copies

    def test_a_fork_takes_neither(self, store: Store) -> None:
        append(store, say("m1"))
        put(store, receipt=receipt("c1"), usage=usage("c1"), calls=(call(),))
        fork(store, 1)
        assert scan(store, "usage", thread_id="fork") == []
        assert scan(store, "model calls", thread_id="fork") == []

    def test_usage_is_forgotten_with_its_receipt_and_calls_stay(self, store: Store) -> None:
        append(store, say("m1"), say("m2"))
        put(store, receipt=receipt("c1", shown("message", "m1")), usage=usage("c1"), calls=(call(),))
        put(store, receipt=receipt("c2", shown("message", "m2")), usage=usage("c2"))
        forget(store, message_id="m1")
        assert scan(store, "usage") == [usage("c2")]
        assert scan(store, "model calls") == [call()]

    def test_usage_and_calls_are_forgotten_with_their_thread(self, store: Store) -> None:
        for thread in ("t", "other"):
            append(store, say(f"m-{thread}"), thread=thread)
            made = receipt(f"c-{thread}", thread=thread)
            put(store, receipt=made, usage=usage(made.id, thread=thread), calls=(call(thread),))
        forget(store, thread_id="t")
        assert scan(store, "usage") == [usage("c-other", thread="other")]
        assert scan(store, "model calls") == [call("other")]

    def test_usage_and_calls_are_forgotten_with_their_namespace(self, store: Store) -> None:
        append(store, say("m1"))
        put(store, receipt=receipt("c1"), usage=usage("c1"), calls=(call(),))
        forget(store)
        assert scan(store, "usage") == scan(store, "model calls") == []
        assert store.stats(EVERYTHING).namespaces == 0

    def test_a_forgotten_name_of_a_thread_is_found_no_more(self, store: Store) -> None:
        append(store, say("m1"), thread="quokka watching")
        made = receipt("c1", thread="quokka watching")
        put(store, receipt=made, usage=usage("c1", thread=made.thread_id), calls=(call(made.thread_id),))
        forget(store, thread_id="quokka watching")
        assert store.verify(("quokka watching",)).clean
