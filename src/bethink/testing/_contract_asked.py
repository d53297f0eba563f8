"""The contract of what came of asking a model about long-term memory, and of how much a record matters."""

from __future__ import annotations

from datetime import timedelta

import msgspec
import pytest

from bethink.errors import Conflict, NotFound
from bethink.models.language import Usage
from bethink.storage.base import Ask, Asked, Retire, Store, Weigh
from bethink.testing._contract import (
    AT,
    EVERYTHING,
    NS,
    ContractBase,
    append,
    forget,
    fork,
    line,
    note,
    put,
    say,
    scan,
    source,
    summary,
)

__all__ = ["AskedContract"]

LATER = AT + timedelta(hours=1)


def asked(first: int = 1, through: int = 1, *, thread: str = "t", failed: bool = False) -> Asked:
    return Asked(
        thread_id=thread,
        step="extract",
        first=first,
        through=through,
        model="small-1",
        prompt="extract 1",
        at=AT,
        reason="timeout" if failed else "",
        kept=0 if failed else 2,
        dropped={} if failed else {"unknown number": 1},
        usage=Usage(calls=1, tokens_in=100, tokens_out=20, cost=0.002),
        seconds=1.5,
        retry_at=AT + timedelta(seconds=30) if failed else None,
    )


class AskedContract(ContractBase):
    def test_what_was_asked_comes_back_in_the_order_of_the_first_attempts(self, store: Store) -> None:
        append(store, say("m1"), say("m2"))
        put(store, asked=(Ask(asked(2, 2, failed=True)), Ask(asked(1, 1))))
        put(store, asked=(Ask(asked(2, 2), asked(2, 2, failed=True)),))
        assert scan(store, "asked") == [asked(2, 2), asked(1, 1)]
        assert scan(store, "asked", newest=True, limit=1) == [asked(1, 1), asked(2, 2)]
        assert scan(self.reopen(store), "asked", thread_id="t") == [asked(2, 2), asked(1, 1)]

    def test_of_two_who_asked_for_the_same_one_wins_and_nothing_of_the_other_is_stored(self, store: Store) -> None:
        append(store, say("m1"))
        put(store, asked=(Ask(asked()),))
        for expected in (None, asked(failed=True)):
            with pytest.raises(Conflict):
                put(store, note("r1"), asked=(Ask(asked(), expected),))
        assert scan(store, "records") == []
        assert scan(store, "asked") == [asked()]

    def test_what_is_asked_of_a_thread_that_is_gone_is_not_stored(self, store: Store) -> None:
        append(store, say("m1"))
        with pytest.raises(NotFound):
            put(store, note("r1"), asked=(Ask(asked(thread="gone")),))
        assert scan(store, "records") == []

    def test_what_was_asked_of_one_thread_and_of_one_namespace(self, store: Store) -> None:
        for namespace in (NS, (*NS, "below"), ("acme", "adam")):
            for thread in ("t", "other"):
                append(store, say("m1"), thread=thread, namespace=namespace)
                put(store, asked=(Ask(asked(thread=thread)),), namespace=namespace)
        for subtree, copies in ((False, 1), (True, 2)):
            assert scan(store, "asked", thread_id="t", subtree=subtree) == [asked()] * copies
            assert len(scan(store, "asked", subtree=subtree)) == 2 * copies

    def test_a_fork_takes_what_succeeded_up_to_its_end(self, store: Store) -> None:
        append(store, *[say(f"m{n}") for n in range(1, 7)])
        put(store, asked=(Ask(asked(1, 2)), Ask(asked(3, 5)), Ask(asked(6, 6))))
        put(store, asked=(Ask(msgspec.structs.replace(asked(1, 2, failed=True), step="reconcile")),))
        fork(store, 4)
        assert scan(store, "asked", thread_id="fork") == [asked(1, 2, thread="fork"), asked(3, 4, thread="fork")]

    def test_it_stays_when_a_message_is_forgotten_and_goes_with_its_thread(self, store: Store) -> None:
        append(store, say("m1"), say("m2"))
        append(store, say("m1"), thread="quokka watching")
        put(store, asked=(Ask(asked(1, 2)), Ask(asked(thread="quokka watching"))))
        forget(store, message_id="m2")
        assert len(scan(store, "asked")) == 2
        forget(store, thread_id="quokka watching")
        assert scan(store, "asked") == [asked(1, 2)]
        assert store.verify(("quokka watching",)).clean
        forget(store)
        assert store.stats(EVERYTHING).namespaces == 0

    def test_a_models_summary_goes_whole_and_what_it_replaced_stands_again_without_the_words(self, store: Store) -> None:
        append(store, say("m1", "alpha"), say("m2", "beta"))
        first = summary("s1", line("alpha", "m1"), line("beta", "m2"))
        put(store, first)
        written = msgspec.structs.replace(
            summary("s2", line("both", "m1")), author="small-1", sources=(source("m1", "both"), source("m2", ""))
        )
        put(store, written, retire=(Retire("s1", LATER, "replaced", superseded_by="s2"),))
        forget(store, message_id="m2")
        (left,) = [stored.record for stored in scan(store, "records")]
        assert (left.id, left.current, left.text) == ("s1", True, "alpha")

    def test_a_summary_that_was_replaced_by_a_later_one_of_its_thread_stays_so(self, store: Store) -> None:
        append(store, say("m1", "alpha"), say("m2", "beta"), say("m3", "gamma"))
        put(store, summary("s1", line("alpha", "m1")))
        written = msgspec.structs.replace(summary("s2", line("both", "m1")), author="small-1", sources=(source("m2", ""),))
        put(store, written, retire=(Retire("s1", LATER, "replaced", superseded_by="s2"),))
        put(store, summary("s3", line("gamma", "m3")), retire=(Retire("s2", LATER, "replaced", superseded_by="s3"),))
        forget(store, message_id="m2")
        left = {stored.record.id: stored.record.superseded_by for stored in scan(store, "records")}
        assert left == {"s1": "s3", "s3": None}

    def test_how_much_a_record_matters_is_changed_and_what_it_was_is_kept(self, store: Store) -> None:
        append(store, say("m1"))
        put(store, note("r1"))
        put(store, weigh=(Weigh("r1", "high"), Weigh("r1", "high")), at=LATER)
        (stored,) = scan(store, "records")
        assert stored.record.importance == "high"
        assert [version.version.before for version in scan(store, "versions")] == [{"importance": "medium"}]

    def test_a_record_that_is_not_there_is_not_weighed(self, store: Store) -> None:
        with pytest.raises(NotFound):
            put(store, weigh=(Weigh("gone", "high"),), at=LATER)
