"""The contract of `acquire`, `release`, and of appends with a lease."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

import msgspec
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from bethink.errors import Conflict, NotFound, ThreadBusy
from bethink.storage.base import Acquire, Append, Appended, Lease, Purpose, Release, Scope, Store
from bethink.testing._contract import AT, NS, ContractBase, append, forget, fork, ids, info, read, say, together
from bethink.values import Namespace

_MINUTE = timedelta(minutes=1)


def acquire(
    store: Store,
    holder: str = "ada",
    *,
    after: int = 0,
    minutes: int = 10,
    thread: str = "t",
    namespace: Namespace = NS,
    token: int | None = None,
    purpose: Purpose = "turn",
) -> Lease:
    """A lease asked for `after` so many minutes, for so many."""
    at = AT + after * _MINUTE
    return store.acquire(
        Acquire(
            namespace=namespace,
            thread_id=thread,
            holder=holder,
            at=at,
            until=at + minutes * _MINUTE,
            token=token,
            purpose=purpose,
        )
    )


def release(store: Store, lease: Lease) -> None:
    store.release(Release(lease))


def renew(store: Store, lease: Lease, **options: Any) -> Lease:
    return acquire(store, lease.holder, thread=lease.thread_id, token=lease.token, **options)


class LeaseContract(ContractBase):
    @pytest.fixture
    def begun(self, store: Store) -> Store:
        """The store with a thread of one message."""
        append(store, say("m1"))
        return store

    # -- acquire ----------------------------------------------------------------------------------------------------------

    def test_a_free_thread_is_granted(self, begun: Store) -> None:
        lease = acquire(begun, "ada", after=1, minutes=5)
        assert lease == Lease(namespace=NS, thread_id="t", token=1, holder="ada", expires_at=AT + 6 * _MINUTE)

    def test_a_thread_that_is_not_there_cannot_be_had(self, begun: Store) -> None:
        with pytest.raises(NotFound):
            acquire(begun, thread="nowhere")
        with pytest.raises(NotFound):
            acquire(begun, namespace=("acme", "bob"))

    def test_another_waits_until_the_end_and_is_told_when_that_is(self, begun: Store) -> None:
        lease = acquire(begun, "ada", minutes=5)
        with pytest.raises(ThreadBusy) as caught:
            acquire(begun, "bob", after=4)
        assert (caught.value.thread_id, caught.value.until, caught.value.holder) == ("t", lease.expires_at, "ada")

    def test_a_lease_ends_at_the_instant_it_names(self, begun: Store) -> None:
        acquire(begun, "ada", minutes=5)
        assert acquire(begun, "bob", after=5).token == 2

    def test_a_turn_and_a_reflection_know_nothing_of_each_other(self, begun: Store) -> None:
        turn, reflection = acquire(begun, "ada"), acquire(begun, "bob", purpose="reflection")
        assert (turn.token, reflection.token, reflection.purpose) == (1, 1, "reflection")
        with pytest.raises(ThreadBusy):
            acquire(begun, "cy", after=1, purpose="reflection")
        release(begun, reflection)
        assert acquire(begun, "cy", after=1, purpose="reflection").token == 2
        append(begun, say("m2"), lease=turn)
        with pytest.raises(ThreadBusy):
            acquire(begun, "cy", after=1)

    def test_a_lease_to_reflect_is_none_to_write(self, begun: Store) -> None:
        lease = acquire(begun, "ada", purpose="reflection")
        with pytest.raises(Conflict):
            append(begun, say("m2"), lease=lease)

    def test_the_same_holder_renews_with_the_same_token(self, begun: Store) -> None:
        acquire(begun, "ada", minutes=5)
        assert acquire(begun, "ada", after=1, minutes=9).expires_at == AT + 10 * _MINUTE
        with pytest.raises(ThreadBusy):
            acquire(begun, "bob", after=9)
        shorter = acquire(begun, "ada", after=2, minutes=1)
        assert (shorter.token, shorter.expires_at) == (1, AT + 3 * _MINUTE)
        assert acquire(begun, "bob", after=3).token == 2

    def test_the_same_holder_after_the_end_gets_the_next(self, begun: Store) -> None:
        acquire(begun, "ada", minutes=5)
        assert acquire(begun, "ada", after=5).token == 2

    def test_tokens_grow_whatever_ended_the_lease(self, begun: Store) -> None:
        release(begun, acquire(begun, "ada"))
        assert acquire(begun, "bob", minutes=1).token == 2
        assert acquire(begun, "ada", after=1).token == 3

    def test_a_clock_that_was_put_back_lengthens_a_lease_and_repeats_no_token(self, begun: Store) -> None:
        acquire(begun, "ada", after=60, minutes=5)
        with pytest.raises(ThreadBusy):
            acquire(begun, "bob", after=-60)
        assert acquire(begun, "bob", after=65).token == 2

    def test_threads_have_leases_of_their_own(self, begun: Store) -> None:
        append(begun, say("m1"), thread="u")
        append(begun, say("m1"), namespace=("acme", "bob"))
        assert [
            acquire(begun, "ada").token,
            acquire(begun, "bob", thread="u").token,
            acquire(begun, "eve", namespace=("acme", "bob")).token,
        ] == [1, 1, 1]

    def test_taking_a_turn_changes_nothing_of_the_thread(self, begun: Store) -> None:
        before = read(begun)
        release(begun, acquire(begun, after=3))
        assert read(begun) == before

    def test_of_many_at_once_one_is_granted(self, begun: Store) -> None:
        outcomes = together(*(lambda holder=f"h{number}": acquire(begun, holder) for number in range(8)))
        granted = [outcome for outcome in outcomes if isinstance(outcome, Lease)]
        assert [lease.token for lease in granted] == [1]
        assert sum(isinstance(outcome, ThreadBusy) for outcome in outcomes) == 7

    def test_another_handle_sees_it(self, begun: Store) -> None:
        acquire(begun, "ada")
        other = self.reopen(begun)
        with pytest.raises(ThreadBusy):
            acquire(other, "bob")
        if other is not begun:
            other.close()

    # -- renewals ---------------------------------------------------------------------------------------------------------

    def test_a_renewal_goes_on_with_what_has_run_out_if_nobody_took_the_next(self, begun: Store) -> None:
        lease = acquire(begun, "ada", minutes=5)
        renewed = renew(begun, lease, after=7, minutes=5)
        assert (renewed.token, renewed.expires_at) == (1, AT + 12 * _MINUTE)
        with pytest.raises(ThreadBusy):
            acquire(begun, "bob", after=8)

    def test_a_renewal_is_refused_once_somebody_had_the_next(self, begun: Store) -> None:
        lease = acquire(begun, "ada", minutes=5)
        release(begun, acquire(begun, "bob", after=5))
        with pytest.raises(Conflict) as caught:
            renew(begun, lease, after=6)
        assert not isinstance(caught.value, ThreadBusy)
        assert acquire(begun, "eve", after=6).token == 3

    def test_a_renewal_is_refused_after_it_was_given_back(self, begun: Store) -> None:
        lease = acquire(begun)
        release(begun, lease)
        with pytest.raises(Conflict):
            renew(begun, lease)

    def test_a_renewal_of_what_never_was_is_refused(self, begun: Store) -> None:
        with pytest.raises(Conflict):
            acquire(begun, token=1)

    # -- release ----------------------------------------------------------------------------------------------------------

    def test_what_is_given_back_is_free_at_once(self, begun: Store) -> None:
        release(begun, acquire(begun, "ada"))
        assert acquire(begun, "bob").token == 2

    def test_giving_back_what_is_not_ones_own_changes_nothing(self, begun: Store) -> None:
        old = acquire(begun, "ada", minutes=1)
        lease = acquire(begun, "bob", after=1)
        for foreign in (old, msgspec.structs.replace(lease, holder="ada"), msgspec.structs.replace(lease, token=1)):
            release(begun, foreign)
            with pytest.raises(ThreadBusy):
                acquire(begun, "eve", after=2)
        release(begun, msgspec.structs.replace(lease, thread_id="nowhere"))

    def test_giving_back_twice_is_fine(self, begun: Store) -> None:
        lease = acquire(begun, "ada")
        release(begun, lease)
        acquire(begun, "bob")
        release(begun, lease)
        with pytest.raises(ThreadBusy):
            acquire(begun, "eve")

    def test_giving_back_after_the_end_leaves_the_thread_free(self, begun: Store) -> None:
        release(begun, acquire(begun, "ada", minutes=1))
        assert acquire(begun, "bob", after=2).token == 2

    # -- appends ----------------------------------------------------------------------------------------------------------

    def test_the_holder_appends(self, begun: Store) -> None:
        lease = acquire(begun)
        assert append(begun, say("m2"), lease=lease).tip == 2
        assert append(begun, say("m3"), lease=renew(begun, lease, after=1)).tip == 3

    def test_a_lease_is_known_by_its_token_and_not_by_its_end(self, begun: Store) -> None:
        lease = acquire(begun)
        renew(begun, lease, after=1)
        assert append(begun, say("m2"), lease=lease).tip == 2

    def test_V039_whoever_was_overtaken_writes_nothing(self, begun: Store) -> None:
        lease = acquire(begun, "ada", minutes=5)
        newer = acquire(begun, "bob", after=5)
        before = read(begun)
        with pytest.raises(Conflict):
            append(begun, say("m2"), say("m3"), lease=lease)
        assert read(begun) == before
        assert append(begun, say("m4"), lease=newer).tip == 2

    def test_a_lease_that_ran_out_serves_until_somebody_takes_the_next(self, begun: Store) -> None:
        lease = acquire(begun, minutes=1)
        assert append(begun, say("m2"), lease=lease, at=AT + 30 * _MINUTE).tip == 2

    def test_a_lease_that_was_given_back_serves_no_more(self, begun: Store) -> None:
        lease = acquire(begun)
        release(begun, lease)
        for messages in ((say("m2"),), ()):
            with pytest.raises(Conflict):
                append(begun, *messages, lease=lease)

    def test_a_lease_is_of_one_thread(self, begun: Store) -> None:
        append(begun, say("m1"), thread="u")
        append(begun, say("m1"), namespace=("acme", "bob"))
        lease = acquire(begun)
        acquire(begun, thread="u")
        acquire(begun, namespace=("acme", "bob"))
        with pytest.raises(Conflict):
            append(begun, say("m2"), thread="u", lease=lease)
        with pytest.raises(Conflict):
            append(begun, say("m2"), namespace=("acme", "bob"), lease=lease)

    def test_a_retry_of_what_is_stored_succeeds_whosever_turn_it_is(self, begun: Store) -> None:
        lease = acquire(begun, "ada", minutes=5)
        append(begun, say("m2"), lease=lease)
        acquire(begun, "bob", after=5)
        assert append(begun, say("m2"), lease=lease).added == 0
        with pytest.raises(Conflict):
            append(begun, say("m2"), say("m3"), lease=lease)

    def test_an_append_without_a_lease_is_not_held_up(self, begun: Store) -> None:
        acquire(begun)
        assert append(begun, say("m2")).tip == 2

    def test_a_lease_and_an_expected_tip_must_both_hold(self, begun: Store) -> None:
        lease = acquire(begun)
        with pytest.raises(Conflict) as caught:
            append(begun, say("m2"), lease=lease, expected_tip=0)
        assert (caught.value.expected, caught.value.actual) == (0, 1)

    def test_of_several_appends_each_is_held_to_its_own_lease(self, begun: Store) -> None:
        old = acquire(begun, "ada", minutes=1)
        lease = acquire(begun, "bob", after=1)
        requests = [
            Append(namespace=NS, thread_id="t", at=AT, messages=(say(name),), lease=held)
            for name, held in (("m2", lease), ("m3", old), ("m4", None), ("m5", lease))
        ]
        outcomes = begun.append_each(requests)
        assert [type(outcome) for outcome in outcomes] == [Appended, Conflict, Appended, Appended]
        assert ids(read(begun).messages) == ["m1", "m2", "m4", "m5"]

    # -- forks and forgetting ---------------------------------------------------------------------------------------------

    def test_a_fork_starts_without_one(self, begun: Store) -> None:
        lease = acquire(begun, "ada")
        fork(begun, 1)
        assert acquire(begun, "bob", thread="fork").token == 1
        with pytest.raises(ThreadBusy):
            acquire(begun, "bob")
        with pytest.raises(Conflict):
            append(begun, say("m2"), thread="fork", lease=lease)

    def test_a_forgotten_message_leaves_the_turn_alone(self, begun: Store) -> None:
        lease = acquire(begun, "ada")
        forget(begun, message_id="m1")
        with pytest.raises(ThreadBusy):
            acquire(begun, "bob")
        assert append(begun, say("m2"), lease=lease).tip == 2

    @pytest.mark.parametrize("whole", [False, True])
    def test_V038_with_a_forgotten_thread_the_turn_is_over(self, begun: Store, whole: bool) -> None:
        lease = acquire(begun, "ada")
        if whole:
            forget(begun)
        else:
            forget(begun, thread_id="t")
        with pytest.raises(Conflict):
            append(begun, say("m2"), lease=lease)
        with pytest.raises(NotFound):
            info(begun)
        append(begun, say("m9"))
        with pytest.raises(Conflict):
            append(begun, say("m2"), lease=lease)
        acquire(begun, "bob")
        with pytest.raises(Conflict):
            append(begun, say("m2"), lease=lease)
        assert ids(read(begun).messages) == ["m9"]

    def test_of_a_forgotten_thread_the_holder_is_gone_too(self, begun: Store) -> None:
        acquire(begun, "the-holder-of-the-zanzibar-file")
        assert not begun.verify(("the-holder-of-the-zanzibar-file",)).clean
        forget(begun, thread_id="t")
        assert begun.verify(("the-holder-of-the-zanzibar-file",)).clean

    def test_a_lease_counts_as_nothing(self, begun: Store) -> None:
        before = begun.stats(Scope(NS))
        acquire(begun)
        after = begun.stats(Scope(NS))
        assert (after.threads, after.messages, after.units) == (before.threads, before.messages, before.units)

    # -- any order --------------------------------------------------------------------------------------------------------

    @settings(
        max_examples=20,
        deadline=None,
        suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.differing_executors],
    )
    @given(data=st.data())
    def test_whatever_three_holders_do_one_turn_at_a_time_is_current(self, begun: Store, data: st.DataObject) -> None:
        _ThreeHolders(begun).play(data)


_STEPS = st.sampled_from(("acquire", "acquire", "acquire", "renew", "release", "append", "append", "wait", "back"))


class _ThreeHolders:
    """Three who take turns at one thread, with a model of one line: whose turn it is, its token, and when it ends.

    Each keeps every lease it ever had and may use an old one at any time, as a process would that slept through its end.
    """

    _count = 0

    def __init__(self, store: Store) -> None:
        _ThreeHolders._count += 1
        self.store = store
        self.thread = f"played-{_ThreeHolders._count}"
        self.now = 0
        self.current: tuple[str, int, int] | None = None
        self.token = 0
        self.leases: list[Lease] = []
        self.said: list[int] = []
        append(store, thread=self.thread)

    def play(self, data: st.DataObject) -> None:
        for step in data.draw(st.lists(_STEPS, max_size=25)):
            if step in ("renew", "release", "append") and not self.leases:
                continue
            if step == "acquire":
                self.acquire(data.draw(st.sampled_from(("ada", "bob", "eve"))), data.draw(st.integers(1, 5)))
            elif step in ("wait", "back"):
                self.now += data.draw(st.integers(1, 4)) * (1 if step == "wait" else -1)
            else:
                getattr(self, step)(data.draw(st.sampled_from(self.leases)))
        self.one_is_current()
        tokens = [int(message.text) for message in read(self.store, self.thread).messages]
        assert tokens == self.said
        assert tokens == sorted(tokens), "a turn was broken into"

    def acquire(self, holder: str, minutes: int) -> None:
        held = self.current is not None and self.current[2] > self.now
        if held and self.current is not None and self.current[0] != holder:
            with pytest.raises(ThreadBusy) as caught:
                acquire(self.store, holder, after=self.now, minutes=minutes, thread=self.thread)
            assert caught.value.until == AT + self.current[2] * _MINUTE
            return
        lease = acquire(self.store, holder, after=self.now, minutes=minutes, thread=self.thread)
        self.token += not held
        assert lease.token == self.token
        self.current = (holder, self.token, self.now + minutes)
        self.leases.append(lease)

    def is_current(self, lease: Lease) -> bool:
        return self.current is not None and (lease.holder, lease.token) == self.current[:2]

    def renew(self, lease: Lease) -> None:
        if not self.is_current(lease):
            with pytest.raises(Conflict):
                renew(self.store, lease, after=self.now)
            return
        renewed = renew(self.store, lease, after=self.now, minutes=3)
        assert renewed.token == lease.token
        self.current = (lease.holder, lease.token, self.now + 3)

    def release(self, lease: Lease) -> None:
        release(self.store, lease)
        if self.is_current(lease):
            self.current = None

    def append(self, lease: Lease) -> None:
        message = say(f"{self.thread}-{len(self.said)}", str(lease.token))
        if self.is_current(lease):
            append(self.store, message, thread=self.thread, lease=lease)
            self.said.append(lease.token)
        else:
            with pytest.raises(Conflict):
                append(self.store, message, thread=self.thread, lease=lease)

    def one_is_current(self) -> None:
        """Of all leases that were ever granted, at most one token is taken, and that is the greatest."""
        taken: set[int] = set()
        for lease in self.leases:
            try:
                append(self.store, thread=self.thread, lease=lease)
            except Conflict:
                continue
            taken.add(lease.token)
        assert taken <= {self.token}
