"""The policies: each knob, each default, what they refuse, how they join, and what a context says of them."""

from __future__ import annotations

import asyncio
import pickle
from collections.abc import Sequence
from pathlib import Path

import pytest
from tests.path.arranging import calling, chat, left, result, said, seqs, size

from bethink import (
    AsyncMemory,
    BudgetError,
    Chain,
    Hierarchy,
    Hybrid,
    InvalidInput,
    Memory,
    Message,
    Messages,
    Policy,
    Settings,
    SlidingWindow,
    Summarize,
    Tiers,
    Tokens,
    TokenWindow,
    Turns,
    policy_from,
)
from bethink.compaction.plan import Plan
from bethink.compaction.policies import Room
from bethink.context import Context
from bethink.messages import Group, groups
from bethink.storage.base import Get, Scope
from bethink.testing.doubles import FrozenClock
from bethink.threads import place

SMALL = Settings(segment_messages=4, node_fan_in=2)


def arranged(
    policy: Policy, messages: Sequence[Message], budget: int = 10_000, settings: Settings = SMALL, fixed: int = 0
) -> Plan:
    whole = groups(place(messages, tip=0, last=None, calls={}).messages)
    return policy.arrange(whole, Room(budget=budget, fixed=fixed, size=size, settings=settings))


def memory_of(messages: Sequence[Message], policy: Policy | None = None, settings: Settings = SMALL) -> Memory:
    memory = Memory(clock=FrozenClock(), embedder=None, settings=settings, policy=policy)
    memory.thread("t").append(list(messages))
    return memory


def recent(context: Context) -> list[int]:
    return [message.seq for message in context.messages if message.seq and not message.pinned]


# -- windows ---------------------------------------------------------------------------------------------------------------


class TestSlidingWindow:
    def test_keeps_the_newest_messages(self) -> None:
        plan = arranged(SlidingWindow(3), chat(4))
        assert (seqs(plan.keep), left(plan), plan.fold) == ([6, 7, 8], [1, 2, 3, 4, 5], ())

    def test_keeps_twenty_by_default(self) -> None:
        assert len(seqs(arranged(SlidingWindow(), chat(15)).keep)) == 20

    def test_keeps_the_newest_turns(self) -> None:
        thread = [said("user"), calling("a"), result("a"), *chat(2)]
        assert seqs(arranged(SlidingWindow(Turns(2)), thread).keep) == [4, 5, 6, 7]
        assert seqs(arranged(SlidingWindow(Turns(3)), thread).keep) == [1, 2, 3, 4, 5, 6, 7]

    def test_what_was_said_before_the_first_user_message_belongs_to_the_first_turn(self) -> None:
        assert seqs(arranged(SlidingWindow(Turns(1)), [said("assistant"), said("user")]).keep) == [1, 2]

    def test_V002_eight_parallel_results_stay_with_their_call(self) -> None:
        ids = [f"c{number}" for number in range(8)]
        thread = [said("user"), calling(*ids), *map(result, ids)]
        assert seqs(arranged(SlidingWindow(5), thread).keep) == list(range(1, 11))
        assert seqs(arranged(SlidingWindow(5), [*thread, said("user")]).keep) == [11]

    def test_V006_the_newest_result_is_kept_with_its_call(self) -> None:
        assert seqs(arranged(SlidingWindow(1), [*chat(2), said("user"), calling("a"), result("a")]).keep) == [5, 6, 7]

    def test_V004_no_window_leaves_half_a_call(self) -> None:
        thread = [*chat(2), calling("c1"), said("user"), result("c1"), said("assistant"), said("user")]
        for n in range(1, 10):
            assert len({5, 7} & set(seqs(arranged(SlidingWindow(n), thread).keep))) in (0, 2)

    def test_system_and_goal_messages_stay_besides(self) -> None:
        thread = [said("system", "be brief"), said("user", "the goal", "permanent"), *chat(10)]
        context = memory_of(thread, SlidingWindow(4)).thread("t").context()
        assert [message.seq for message in context.messages if message.seq] == [1, 2, 19, 20, 21, 22]

    def test_no_summary_is_shown_and_nothing_folds(self) -> None:
        thread = memory_of(chat(40), SlidingWindow(4)).thread("t")
        context = thread.context(budget=300)
        assert (context.section("summary"), thread.info().folded_through) == ((), 0)

    def test_shows_what_was_folded_for_another_policy(self) -> None:
        thread = memory_of(chat(40)).thread("t")
        thread.context(policy=Summarize(Messages(6), Messages(2)))
        assert recent(thread.context(policy=SlidingWindow(10))) == list(range(71, 81))

    def test_the_newest_user_message_is_found_however_far_back(self) -> None:
        thread = memory_of([*chat(5), said("user"), *[said("assistant", "y") for _ in range(300)]], SlidingWindow(4)).thread(
            "t"
        )
        assert recent(thread.context(budget=8_000))[0] == 11

    def test_a_thread_without_messages_has_an_empty_context(self) -> None:
        assert Memory(embedder=None, policy=SlidingWindow(4)).thread("new").context().messages == ()


class TestTokenWindow:
    def test_keeps_the_newest_that_fit_with_what_is_pinned(self) -> None:
        plan = arranged(TokenWindow(50), chat(4), fixed=15)
        assert (seqs(plan.keep), left(plan), plan.tokens) == ([6, 7, 8], [1, 2, 3, 4, 5], 30)

    def test_is_4000_tokens_by_default(self) -> None:
        assert TokenWindow().budget == 4_000

    def test_V001_a_call_that_does_not_fit_takes_its_result_along(self) -> None:
        thread = [said("user"), calling("c1"), result("c1", "x" * 80), said("user"), said("assistant")]
        assert seqs(arranged(TokenWindow(90), thread).keep) == [4, 5]

    def test_pinned_and_recent_messages_never_exceed_it(self) -> None:
        ids = [f"c{number}" for number in range(6)]
        turn = [message for call in ids for message in (calling(call), result(call, "word " * 60))]
        context = memory_of([said("system"), said("user"), *turn]).thread("t").context(policy=TokenWindow(200))
        verbatim = [part for part in context.explain().kept if part.messages]
        assert sum(part.tokens for part in verbatim) <= 200
        assert any(decision.policy == "budget" for decision in context.explain().decisions)

    def test_one_that_the_newest_user_message_exceeds_is_an_error_that_says_by_how_much(self) -> None:
        thread = memory_of([said("system", "word " * 30), said("user", "word " * 50)]).thread("t")
        with pytest.raises(BudgetError, match="newest user message") as caught:
            thread.context(policy=TokenWindow(40))
        error = caught.value
        assert (error.field, error.budget) == ("token-window(budget=40)", 40)
        assert error.needed == sum(tokens for _, tokens in error.parts)
        assert [name for name, _ in error.parts] == ["newest user message", "pinned messages"]
        assert thread.context(policy=TokenWindow(error.needed)).messages


# -- folding ---------------------------------------------------------------------------------------------------------------


class TestSummarize:
    def test_folds_past_a_number_of_messages(self) -> None:
        policy = Summarize(Messages(6), Messages(3))
        assert arranged(policy, chat(3)).fold == ()
        plan = arranged(policy, chat(4))
        assert (seqs(plan.fold), seqs(plan.keep), plan.through) == ([1, 2, 3, 4, 5], [6, 7, 8], 5)
        assert plan.reason == "more than 6 messages, keeps 3 messages"

    def test_folds_past_a_number_of_tokens_pinned_ones_counted_in(self) -> None:
        policy = Summarize(Tokens(60), Tokens(25))
        assert arranged(policy, chat(3)).fold == ()
        assert seqs(arranged(policy, chat(3), fixed=1).keep) == [5, 6]

    def test_folds_past_a_share_of_the_budget(self) -> None:
        policy = Summarize(0.5, Messages(2))
        assert arranged(policy, chat(3), budget=120).fold == ()
        assert seqs(arranged(policy, chat(3), budget=119).keep) == [5, 6]

    def test_by_default_past_three_quarters_to_twenty_messages(self) -> None:
        assert arranged(Summarize(), chat(15), budget=400).fold == ()
        assert len(seqs(arranged(Summarize(), chat(20), budget=500).keep)) == 20

    def test_never_keeps_more_than_a_context_of_the_budget_could_show(self) -> None:
        plan = arranged(Summarize(Messages(100), Messages(50)), chat(20), budget=100)
        assert plan.tokens <= 50

    def test_V013_the_current_turn_stays_however_little_is_kept(self) -> None:
        plan = arranged(Summarize(Messages(2), Messages(1)), [*chat(3), said("user"), calling("a"), result("a")])
        assert seqs(plan.keep) == [7, 8, 9]

    def test_V011_every_message_is_verbatim_or_covered(self) -> None:
        memory = memory_of(chat(12), Summarize(Messages(8), Messages(4)))
        explained = memory.thread("t").context().explain()
        (folded,) = explained.decisions
        assert (folded.done, folded.messages) == ("folded", ((1, 20),))
        assert recent(memory.thread("t").context()) == [21, 22, 23, 24]

    def test_V012_V019_it_goes_on_firing_and_the_summary_stays_bounded(self) -> None:
        thread = memory_of([], Summarize(Messages(20), Messages(8))).thread("t")
        for number in range(400):
            thread.append([said("user", f"I paid {number} euros to shop {number}."), said("assistant", "Noted.")])
            context = thread.context(budget=600)
            assert context.tokens <= 600
            assert thread.info().tip - thread.info().folded_through <= 20

    def test_V018_the_same_bytes_after_close_and_reopen(self, tmp_path: Path) -> None:
        policy = Summarize(Messages(8), Messages(4))
        found = []
        with Memory(tmp_path / "m.db", embedder=None) as memory:
            memory.thread("t").append(chat(20))
            memory.thread("t").context(policy=policy)
            found.append(memory.thread("t").context(policy=policy).to_bytes())
        with Memory(tmp_path / "m.db", embedder=None) as memory:
            found.append(memory.thread("t").context(policy=policy).to_bytes())
        assert found[0] == found[1]

    def test_V005_a_call_answered_after_compaction_comes_back_with_its_result(self) -> None:
        thread = memory_of([said("user"), calling("c1"), *chat(6)], Summarize(Messages(6), Messages(4))).thread("t")
        assert [decision.done for decision in thread.context().explain().decisions] == ["folded", "waits"]
        thread.append([result("c1")])
        assert recent(thread.context())[-2:] == [2, 15]


class TestHybrid:
    def test_is_the_default(self) -> None:
        assert memory_of(chat(2)).thread("t").context().explain().policy == "hybrid"

    def test_shows_again_what_a_larger_budget_has_room_for(self) -> None:
        thread = memory_of(chat(40)).thread("t")
        few = recent(thread.context(budget=300))
        more = recent(thread.context(budget=3_000))
        assert len(more) > len(few)


class TestHierarchy:
    def test_a_segment_folds_when_it_has_passed_out_of_the_immediate_messages(self) -> None:
        assert arranged(Hierarchy(3), chat(3)).fold == ()
        plan = arranged(Hierarchy(3), [*chat(3), said("user")])
        assert (seqs(plan.fold), seqs(plan.keep)) == ([1, 2, 3, 4], [5, 6, 7])

    def test_keeps_ten_messages_and_three_segments_by_default(self) -> None:
        assert Hierarchy() == Hierarchy(10, 3)

    def test_the_newest_segments_are_shown_each_by_its_own_summary(self) -> None:
        memory = memory_of([], Hierarchy(2, 3))
        thread = memory.thread("t")
        for number in range(20):
            thread.append([said("user", f"On day {number} I met Friend{number} in Town{number}."), said("assistant", "ok")])
            context = thread.context(budget=4_000)
        names = tuple({line.id for line in context.section("summary")})
        nodes = memory._engine.store.get(Get(scope=Scope(memory.namespace), nodes=names)).nodes
        segments = sorted(node.last_seq for node in nodes if node.level == 1)
        folded = thread.info().folded_through
        assert segments[-3:] == [folded - 8, folded - 4, folded]
        assert max(node.level for node in nodes) > 1

    def test_no_line_is_shown_twice(self) -> None:
        thread = memory_of([], Hierarchy(2, 4)).thread("t")
        for number in range(30):
            thread.append([said("user", f"I paid {number} euros to shop {number}."), said("assistant", "ok")])
            texts = [line.text for line in thread.context(budget=2_000).section("summary")]
            assert len(texts) == len(set(texts))


# -- joined ----------------------------------------------------------------------------------------------------------------


class TestChain:
    def test_each_works_on_what_the_one_before_keeps(self) -> None:
        plan = arranged(SlidingWindow(6) | SlidingWindow(Turns(2)), chat(5))
        assert (seqs(plan.keep), left(plan)) == ([7, 8, 9, 10], [1, 2, 3, 4, 5, 6])
        assert {each.policy for each in plan.left} == {"sliding-window(n=6)", "sliding-window(n=2 turns)"}

    def test_what_one_left_out_folds_along_with_what_lies_around_it(self) -> None:
        thread = [said("user", "a"), said("assistant", "b", "ephemeral"), *chat(4)]
        plan = arranged(Tiers() | Summarize(Messages(4), Messages(2)), thread)
        assert (seqs(plan.fold), seqs(plan.keep), plan.left) == ([1, 2, 3, 4, 5, 6, 7, 8], [9, 10], ())
        assert plan.policy == "summarize(trigger=4 messages, keep=2 messages)"

    def test_it_is_one_chain_however_it_was_joined(self) -> None:
        one, two, three = SlidingWindow(9), Tiers(), Hybrid()
        assert (one | two) | three == one | (two | three) == Chain((one, two, three))

    def test_the_smallest_limit_holds(self) -> None:
        assert arranged(TokenWindow(90) | TokenWindow(40), chat(8)).limit == 40


# -- bad input -------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "text",
    [
        "sliding-window(0)",
        "sliding-window(-1)",
        "sliding-window(0 turns)",
        "token-window(0)",
        "summarize(trigger=0 messages)",
        "summarize(keep=0 tokens)",
        "hierarchy(0)",
        "hierarchy(segments=0)",
        "tiers(working=-1)",
        "tiers(0, 0, 0)",
    ],
)
def test_a_policy_that_keeps_nothing_is_a_budget_error(text: str) -> None:
    with pytest.raises(BudgetError) as caught:
        policy_from(text)
    assert caught.value.needed > caught.value.budget


@pytest.mark.parametrize(
    "text",
    [
        "",
        "|",
        "nothing",
        "sliding-window(",
        "sliding-window(much)",
        "sliding-window(1, 2)",
        "sliding-window(4 tokens)",
        "sliding-window(1.5)",
        "sliding-window(1.5 turns)",
        "tiers(colour=3)",
        "tiers(working=1, working=2)",
        "hybrid(3)",
        "summarize(trigger=1.5)",
        "summarize(trigger=3 turns)",
        "summarize(keep=0.5)",
        "summarize(trigger=5 messages, keep=5 messages)",
    ],
)
def test_what_is_no_policy_is_refused(text: str) -> None:
    with pytest.raises(InvalidInput):
        policy_from(text)


@pytest.mark.parametrize("budget", [0, -5])
def test_a_budget_below_one_is_a_budget_error(budget: int) -> None:
    with pytest.raises(BudgetError) as caught:
        memory_of(chat(1)).thread("t").context(budget=budget)
    assert (caught.value.budget, caught.value.field) == (budget, "budget")


def test_a_budget_error_survives_pickling() -> None:
    error = BudgetError(1, 3, (("pinned messages", 3),), of="token-window(budget=1)", unit="tokens")
    again = pickle.loads(pickle.dumps(error))
    assert (str(again), again.parts, again.field, again.unit) == (str(error), error.parts, error.field, error.unit)


@pytest.mark.parametrize("policy", ["sliding-window(3)", 3, SlidingWindow])
def test_only_a_policy_is_taken_for_one(policy: object) -> None:
    with pytest.raises(InvalidInput, match="policy"):
        Memory(embedder=None, policy=policy)  # type: ignore[arg-type]
    with pytest.raises(InvalidInput, match="policy"):
        memory_of(chat(1)).thread("t").context(policy=policy)  # type: ignore[arg-type]


class Forgetful(Policy, frozen=True):
    """Keeps the oldest group, and says nothing of the others."""

    def arrange(self, groups: Sequence[Group], room: Room) -> Plan:
        return Plan(keep=tuple(groups[:1]))


class OnlyQuestions(Policy, frozen=True):
    """A policy as a user may write one."""

    def arrange(self, groups: Sequence[Group], room: Room) -> Plan:
        from bethink.compaction.plan import Left, start_of_turn

        turn = start_of_turn(groups)
        asked = [any(m.role == "user" for m in group.messages) or index >= turn for index, group in enumerate(groups)]
        return Plan(
            keep=tuple(group for group, ours in zip(groups, asked, strict=True) if ours),
            left=tuple(Left(group, self.name, "no question") for group, ours in zip(groups, asked, strict=True) if not ours),
        )


def test_a_policy_of_ones_own_that_loses_the_current_turn_is_refused() -> None:
    with pytest.raises(InvalidInput, match="forgetful loses groups"):
        memory_of(chat(3), Forgetful()).thread("t").context()


def test_a_policy_of_ones_own_is_one_method() -> None:
    context = memory_of(chat(3), OnlyQuestions()).thread("t").context()
    assert recent(context) == [1, 3, 5, 6]
    assert "left out  messages 2, 4" in str(context.explain())


# -- which policy, and what it says ----------------------------------------------------------------------------------------


def test_the_nearest_policy_wins() -> None:
    memory = Memory(embedder=None, policy=SlidingWindow(6))
    memory.thread("t").append(chat(10))
    assert len(recent(memory.thread("t").context())) == 6
    assert len(recent(memory.thread("t", policy=SlidingWindow(4)).context())) == 4
    assert len(recent(memory.thread("t", policy=SlidingWindow(4)).context(policy=SlidingWindow(2)))) == 2


def test_a_users_memory_and_a_fork_have_the_policy_of_what_they_come_from() -> None:
    mara = Memory(embedder=None, policy=SlidingWindow(6)).user("mara")
    thread = mara.thread("t", policy=SlidingWindow(2))
    thread.append(chat(10))
    assert mara.thread("t").context().explain().policy == "sliding-window(n=6)"
    assert thread.fork().context().explain().policy == "sliding-window(n=2)"


def test_the_async_twin_takes_policies_in_the_same_three_places() -> None:
    async def talk() -> list[int]:
        async with AsyncMemory(embedder=None, policy=SlidingWindow(6)) as memory:
            await memory.thread("t").append(chat(10))
            of_thread = memory.thread("t", policy=SlidingWindow(4))
            contexts = [
                await memory.thread("t").context(),
                await of_thread.context(),
                await of_thread.context(policy=SlidingWindow(2)),
            ]
            return [len(recent(context)) for context in contexts]

    assert asyncio.run(talk()) == [6, 4, 2]


def test_an_explanation_has_figures_and_names_the_policy() -> None:
    explained = memory_of([said("system", "be brief"), *chat(50)], SlidingWindow(4)).thread("t").context().explain()
    assert explained.policy == "sliding-window(n=4)"
    assert [part.messages for part in explained.kept if part.messages] == [((1, 1),), ((98, 101),)]
    assert sum(decision.count for decision in explained.decisions) == 96
    assert {decision.policy for decision in explained.decisions} == {"sliding-window(n=4)"}
    text = str(explained)
    assert text.startswith("sliding-window(n=4): ")
    assert "recent messages: messages 98-101 (" in text
    assert "older than the newest 4 messages" in text


def test_an_explanation_says_what_the_budget_left_out() -> None:
    thread = memory_of([said("user", "word " * 80) for _ in range(6)], SlidingWindow(6)).thread("t")
    (dropped,) = thread.context(budget=300).explain().decisions
    assert (dropped.policy, dropped.done, dropped.reason) == ("budget", "left out", "did not fit")
    assert dropped.tokens > 0


def test_a_replayed_context_explains_itself_alike(tmp_path: Path) -> None:
    with Memory(tmp_path / "m.db", embedder=None) as memory:
        memory.thread("t").append([*chat(30), calling("a")])
        context = memory.thread("t").context(policy=Tiers(working=4) | Summarize(Messages(20), Messages(10)))
        assert memory.replay(context.receipt_id).explain() == context.explain()
        assert memory.check() == []


def test_a_window_reads_no_more_of_a_long_thread_than_it_needs(tmp_path: Path) -> None:
    class Counting:
        def __init__(self, path: Path) -> None:
            from bethink.storage.sqlite import SqliteStore

            self.store = SqliteStore(path)
            self.read_messages = 0

        def __getattr__(self, name: str) -> object:
            return getattr(self.store, name)

        def read(self, request: object, /) -> object:
            found = self.store.read(request)  # type: ignore[arg-type]
            self.read_messages += len(found.messages)
            return found

    store = Counting(tmp_path / "m.db")
    with Memory(store=store, embedder=None) as memory:  # type: ignore[arg-type]
        memory.thread("t").append(chat(1_000))
        memory.thread("t").context(policy=SlidingWindow(20))  # derives what is new
        store.read_messages = 0
        memory.thread("t").context(policy=SlidingWindow(20))
    assert store.read_messages <= 64
