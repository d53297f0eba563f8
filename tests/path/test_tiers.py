"""Tiers: what each limit keeps, what is promoted, and how much a message matters by rules."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from pathlib import Path

import msgspec
import pytest
from tests.path.arranging import calling, chat, left, result, said, seqs, size

from bethink import (
    AsyncMemory,
    BudgetError,
    Hybrid,
    InvalidInput,
    Memory,
    Message,
    Messages,
    NotFound,
    Policy,
    Settings,
    SlidingWindow,
    Summarize,
    Tiers,
    Tokens,
    Turns,
    policy_from,
)
from bethink.compaction.importance import importance
from bethink.compaction.plan import Plan
from bethink.compaction.policies import Room
from bethink.context import Context
from bethink.marks import TIERS, Scored, Tiered
from bethink.messages import Tier, groups
from bethink.testing.doubles import START, FrozenClock
from bethink.threads import place

SMALL = Settings(segment_messages=4, node_fan_in=2)
FOLDING = Summarize(Messages(8), Messages(4))


def arranged(policy: Policy, messages: Sequence[Message], **room: object) -> Plan:
    whole = groups(place(messages, tip=0, last=None, calls={}).messages)
    return policy.arrange(whole, Room(budget=10_000, fixed=0, size=size, settings=SMALL, **room))  # type: ignore[arg-type]


def memory_of(messages: Sequence[Message], policy: Policy | None = None) -> Memory:
    memory = Memory(clock=FrozenClock(), embedder=None, settings=SMALL, policy=policy)
    memory.thread("t").append(list(messages))
    return memory


def pinned(context: Context) -> list[int]:
    return [message.seq for message in context.made_of.pinned]


def recent(context: Context) -> list[int]:
    return [message.seq for message in context.made_of.recent]


# -- tiers -----------------------------------------------------------------------------------------------------------------


class TestTiers:
    def test_the_newest_of_each_tier_stay_within_its_limit(self) -> None:
        thread = [
            *[said("user", "a plain word", "long_term") for _ in range(4)],
            *[said("user", "a plain word") for _ in range(4)],
            *[said("user", "a plain word", "ephemeral") for _ in range(4)],
            said("user", "now"),
        ]
        plan = arranged(Tiers(3, 3, 2), thread)
        assert seqs(plan.keep) == [2, 3, 4, 7, 8, 11, 12, 13]
        assert left(plan) == [1, 5, 6, 9, 10]
        assert plan.left[0].reason == "tier long_term is full: older than its newest 3 messages"

    def test_by_default_twenty_ten_and_none(self) -> None:
        assert Tiers() == Tiers(long_term=20, working=10, ephemeral=0, important=7)

    def test_an_ephemeral_message_is_in_view_in_its_own_turn(self) -> None:
        thread = [said("user", "hello", "ephemeral"), said("assistant", "hm", "ephemeral")]
        assert seqs(arranged(Tiers(), thread).keep) == [1, 2]
        assert seqs(arranged(Tiers(), [*thread, said("user")]).keep) == [3]

    def test_an_important_working_message_stays_as_long_as_a_long_term_one(self) -> None:
        thread = [said("user", "We decided to ship on 2026-05-04 with PostgreSQL 17."), *chat(10)]
        assert seqs(arranged(Tiers(working=4), thread).keep) == [1, 18, 19, 20, 21]
        assert seqs(arranged(Tiers(working=4, important=11), thread).keep) == [18, 19, 20, 21]

    def test_a_permanent_message_stays_whatever_the_limits(self) -> None:
        thread = memory_of([said("user", "never forget this", "permanent"), *chat(20)], Tiers(1, 1)).thread("t")
        assert thread.context().messages[0].text == "never forget this"

    def test_a_group_has_the_highest_tier_of_its_messages_and_stays_whole(self) -> None:
        call = msgspec.structs.replace(calling("a"), tier="long_term")
        answer = msgspec.structs.replace(result("a"), tier="ephemeral")
        assert seqs(arranged(Tiers(working=1), [call, answer, *chat(4)]).keep)[:2] == [1, 2]

    def test_a_promoted_message_counts_by_the_tier_it_was_given(self) -> None:
        given = {1: Tiered("long_term", START), 12: Tiered("ephemeral", START)}
        assert seqs(arranged(Tiers(working=4), [*chat(6), said("user")], tiers=given).keep) == [1, 9, 10, 11, 13]

    def test_a_limit_may_be_messages_or_a_number(self) -> None:
        thread = chat(10)
        assert arranged(Tiers(working=Messages(4)), thread).keep == arranged(Tiers(working=4), thread).keep

    def test_a_limit_may_be_tokens(self) -> None:
        plan = arranged(Tiers(working=Tokens(45)), chat(5))
        assert seqs(plan.keep) == [7, 8, 9, 10]
        assert plan.left[0].reason == "tier working is full: older than its newest 45 tokens"

    def test_a_limit_may_be_turns(self) -> None:
        thread = [said("user", "a plain word", "long_term"), *chat(5)]
        plan = arranged(Tiers(long_term=Turns(9), working=Turns(2)), thread)
        assert seqs(plan.keep) == [1, 8, 9, 10, 11]
        assert plan.left[0].reason == "tier working is full: older than its newest 2 turns"

    def test_no_turns_at_all_are_the_current_one(self) -> None:
        assert seqs(arranged(Tiers(working=Turns(0)), chat(3)).keep) == [5, 6]

    def test_what_is_larger_than_is_left_ends_its_tier(self) -> None:
        thread = [said("user"), said("assistant", "x" * 50), said("user"), said("assistant"), said("user")]
        assert seqs(arranged(Tiers(working=Tokens(35)), thread).keep) == [3, 4, 5]

    def test_a_tier_that_keeps_nothing_says_so(self) -> None:
        plan = arranged(Tiers(), [said("user", "hello", "ephemeral"), said("user")])
        assert plan.left[0].reason == "of tier ephemeral, which keeps nothing past its turn"

    def test_a_group_beyond_its_limit_is_left_out_whole(self) -> None:
        thread = [said("user"), calling("a"), result("a"), said("user"), said("assistant")]
        assert (seqs(arranged(Tiers(working=3), thread).keep), left(arranged(Tiers(working=3), thread))) == ([4, 5], [1, 2, 3])

    def test_a_score_that_a_model_gave_counts(self) -> None:
        scored = {1: Scored(9, "judge", START), 2: Scored(1, "judge", START)}
        thread = [said("user"), said("assistant", "We decided to ship on 2026-05-04 with PostgreSQL 17."), *chat(10)]
        assert seqs(arranged(Tiers(working=2), thread, scores=scored).keep) == [1, 21, 22]

    def test_what_no_model_has_scored_is_scored_by_the_rules(self) -> None:
        scored = {2: Scored(9, "judge", START)}
        thread = [said("user", "We decided to ship on 2026-05-04 with PostgreSQL 17."), *chat(10)]
        assert seqs(arranged(Tiers(working=2), thread, scores=scored).keep) == [1, 2, 20, 21]

    @pytest.mark.parametrize("policy", [Tiers(), Tiers(Turns(3), Tokens(99), Messages(1), 11, Tokens(500)), Tiers(permanent=4)])
    def test_it_is_read_back_from_its_name(self, policy: Tiers) -> None:
        assert policy_from(policy.name) == policy

    @pytest.mark.parametrize(
        "knobs",
        [
            {"working": "many"},
            {"working": 0.5},
            {"important": True},
            {"permanent": Turns(3)},
            {"permanent": "all"},
        ],
        ids=str,
    )
    def test_what_is_no_limit_is_refused(self, knobs: dict[str, object]) -> None:
        with pytest.raises(InvalidInput):
            Tiers(**knobs)  # type: ignore[arg-type]

    @pytest.mark.parametrize("knobs", [{"working": Tokens(-1)}, {"permanent": -1}, {"permanent": Tokens(-1)}], ids=str)
    def test_a_limit_below_zero_is_a_budget_error(self, knobs: dict[str, object]) -> None:
        with pytest.raises(BudgetError):
            Tiers(**knobs)  # type: ignore[arg-type]


class TestPermanentLimit:
    def test_as_many_as_it_allows_stay(self) -> None:
        thread = memory_of([said("system"), *chat(4)], Tiers(permanent=2)).thread("t")
        thread.promote(2)
        thread.promote(3)
        assert pinned(thread.context()) == [1, 2, 3]

    def test_more_are_an_error_that_lists_them_and_says_by_how_much(self) -> None:
        thread = memory_of([calling("a"), result("a"), *chat(4)], Tiers(permanent=Messages(2))).thread("t")
        thread.promote(2)
        thread.promote(4)
        with pytest.raises(BudgetError) as caught:
            thread.context()
        error = caught.value
        assert (error.field, error.budget, error.needed, error.unit) == ("tiers.permanent", 2, 3, "messages")
        assert error.parts == (("messages 1-2", 2), ("message 4", 1))

    def test_it_may_be_tokens(self) -> None:
        thread = memory_of([said("user", "word " * 50), *chat(4)]).thread("t")
        thread.promote(1)
        with pytest.raises(BudgetError) as caught:
            thread.context(policy=Tiers(permanent=Tokens(40)))
        assert (caught.value.unit, caught.value.parts[0][0]) == ("tokens", "message 1")
        assert pinned(thread.context(policy=Tiers(permanent=Tokens(caught.value.needed)))) == [1]

    def test_the_smallest_of_many_are_listed_together(self) -> None:
        thread = memory_of([said("user", "x", "permanent") for _ in range(20)], Tiers(permanent=0)).thread("t")
        with pytest.raises(BudgetError) as caught:
            thread.context()
        assert (len(caught.value.parts), caught.value.parts[-1]) == (9, ("12 more", 12))

    def test_what_is_permanent_no_longer_does_not_count(self) -> None:
        thread = memory_of([said("user", tier="permanent"), *chat(2)], Tiers(permanent=0)).thread("t")
        thread.promote(1, "long_term")
        assert thread.context().messages


@pytest.mark.parametrize(
    ("text", "least", "most"),
    [
        ("thanks!", 1, 2),
        ("ok", 1, 2),
        ("the weather is mild", 3, 5),
        ("do you like it?", 1, 4),
        ("We decided to use PostgreSQL 17 from 2026-05-04.", 7, 10),
        ("I'm allergic to peanuts, never order them at Mario's.", 7, 10),
        ("The deadline must be 3 July.", 7, 10),
        ("deploy failed with error E42 in src/app.py", 6, 10),
    ],
)
def test_importance_goes_by_what_is_said(text: str, least: int, most: int) -> None:
    assert least <= importance(said("user", text)) <= most


@pytest.mark.parametrize("message", [said("user", ""), said("user", "  "), calling("a")])
def test_what_says_nothing_in_words_scores_five(message: Message) -> None:
    assert importance(message) == 5


# -- promoted --------------------------------------------------------------------------------------------------------------


class TestPromote:
    def test_a_promoted_message_is_in_view_from_now_on(self) -> None:
        thread = memory_of(chat(10), SlidingWindow(4)).thread("t")
        assert pinned(thread.context()) == []
        thread.promote(3)
        assert (pinned(thread.context()), recent(thread.context())) == ([3], [17, 18, 19, 20])

    def test_it_is_named_by_its_seq_or_its_id(self) -> None:
        thread = memory_of(chat(2)).thread("t")
        thread.promote(2)
        thread.promote(thread.messages()[2].id)
        assert list(thread.tiers()) == [2, 3]

    def test_it_says_which_tier_the_message_had(self) -> None:
        thread = memory_of([said("user", tier="long_term")]).thread("t")
        assert [thread.promote(1), thread.promote(1), thread.promote(1, "working")] == ["long_term", "permanent", "permanent"]

    def test_doing_it_again_changes_nothing(self) -> None:
        clock = FrozenClock()
        thread = Memory(clock=clock, embedder=None).thread("t")
        thread.append(chat(2))
        at = clock.now()
        thread.promote(1)
        before = thread.context().to_bytes()
        clock.advance(clock.now() - START)
        thread.promote(1)
        assert thread.tiers() == {1: Tiered("permanent", at)}
        assert thread.context().to_bytes() == before

    def test_the_message_stays_as_it_was_stored(self) -> None:
        thread = memory_of(chat(2)).thread("t")
        before = thread.messages()
        thread.promote(1)
        assert thread.messages() == before
        assert [message.tier for message in thread.context().messages] == ["working"] * 4

    def test_a_message_promoted_after_it_was_folded_is_in_view_again(self) -> None:
        memory = memory_of(chat(10), FOLDING)
        thread = memory.thread("t")
        assert recent(thread.context()) == [17, 18, 19, 20]
        thread.promote(5)
        context = thread.context()
        assert (pinned(context), recent(context)) == ([5], [17, 18, 19, 20])
        (promoted, folded) = context.explain().decisions
        assert (promoted.done, promoted.messages) == ("promoted", ((5, 5),))
        assert (folded.done, folded.messages) == ("folded", ((1, 4), (6, 16)))
        assert memory.check() == []

    def test_the_summary_does_not_repeat_it(self) -> None:
        told = said("assistant", "The train to Porto leaves at 07:30 from platform 4.")
        thread = memory_of([told, *chat(10)], FOLDING).thread("t")
        assert any("07:30" in line.text for line in thread.context().section("summary"))
        thread.promote(1)
        assert not any("07:30" in line.text for line in thread.context().section("summary"))

    def test_an_older_receipt_gives_the_same_bytes(self) -> None:
        memory = memory_of([said("user", "the goal", "permanent"), *chat(10)], FOLDING)
        thread = memory.thread("t")
        before = thread.context()
        thread.promote(1, "ephemeral")
        thread.promote(6)
        after = thread.context()
        for context in (before, after):
            again = memory.replay(context.receipt_id)
            assert (again.to_bytes(), again.explain()) == (context.to_bytes(), context.explain())
        assert before.to_bytes() != after.to_bytes()

    def test_what_is_permanent_no_longer_takes_its_place_among_the_others(self) -> None:
        thread = memory_of([said("user", "the goal", "permanent"), *chat(2)]).thread("t")
        thread.promote(1, "working")
        assert (pinned(thread.context()), recent(thread.context())) == ([], [1, 2, 3, 4, 5])

    @pytest.mark.parametrize("tier", ["working", "ephemeral"])
    def test_and_is_not_lost_where_the_messages_around_it_were_folded(self, tier: Tier) -> None:
        memory = memory_of([*chat(1), said("user", "the goal", "permanent"), *chat(10)], FOLDING)
        thread = memory.thread("t")
        assert pinned(thread.context()) == [3]
        through = thread.info().folded_through
        thread.promote(3, tier)
        assert recent(thread.context()) == [3, 20, 21, 22, 23]
        thread.append(chat(4))
        context = thread.context()
        assert (pinned(context), recent(context)) == ([], [28, 29, 30, 31])
        assert context.explain().decisions[-1].messages == ((3, 3), (20, 27))
        assert thread.info().folded_through > through
        assert memory.check() == []

    def test_nor_where_it_was_promoted_and_is_again_what_it_was(self) -> None:
        thread = memory_of(chat(3), FOLDING).thread("t")
        thread.promote(2)
        thread.append(chat(10))
        thread.context()
        thread.promote(2, "working")
        assert recent(thread.context())[0] == 2

    def test_one_that_folds_alone_does_not_unfold_what_is_newer(self) -> None:
        memory = memory_of([said("user", "the goal", "permanent"), *chat(10)])
        thread = memory.thread("t")
        thread.context(policy=FOLDING)
        thread.promote(1, "working")
        through = thread.info().folded_through
        context = thread.context(policy=Summarize(Tokens(1), Messages(4)))
        assert thread.info().folded_through == through
        assert (recent(context), context.explain().decisions[-1].messages) == ([18, 19, 20, 21], ((1, 1),))
        assert memory.check() == []

    def test_a_larger_budget_shows_it_in_its_place(self) -> None:
        thread = memory_of([*chat(1), said("user", "the goal", "permanent"), *chat(20)], Hybrid()).thread("t")
        thread.context(budget=200)
        thread.promote(3, "working")
        found = recent(thread.context(budget=4_000))
        assert found == sorted(found) == list(range(1, 44))

    def test_and_where_there_is_too_little_room_it_goes_before_what_is_newer(self) -> None:
        memory = memory_of([*chat(1), said("user", "the goal", "permanent"), *chat(20)], Hybrid())
        thread = memory.thread("t")
        thread.context(budget=200)
        thread.promote(3, "working")
        memory.store("word " * 600, pinned=True)
        found = recent(thread.context(budget=1_000))
        assert len(found) > 10
        assert found == list(range(found[0], 44))

    def test_it_brings_its_call_and_results(self) -> None:
        thread = memory_of([said("user"), calling("a", "b"), result("a"), result("b"), *chat(5)], SlidingWindow(2)).thread("t")
        thread.promote(4)
        context = thread.context()
        assert pinned(context) == [2, 3, 4]
        assert [message["role"] for message in context.to_openai()[:3]] == ["assistant", "tool", "tool"]

    def test_a_call_that_waits_is_not_in_view_before_its_result(self) -> None:
        thread = memory_of([said("user"), calling("a"), *chat(2)], SlidingWindow(2)).thread("t")
        thread.promote(2)
        assert pinned(thread.context()) == []
        thread.append([result("a"), *chat(5)])
        assert pinned(thread.context()) == [2, 7]

    @pytest.mark.parametrize("tier", TIERS)
    def test_system_messages_stay_in_view_whatever_their_tier(self, tier: Tier) -> None:
        thread = memory_of([said("system"), *chat(10)], SlidingWindow(2)).thread("t")
        thread.promote(1, tier)
        assert pinned(thread.context()) == [1]

    @pytest.mark.parametrize("policy", [SlidingWindow(2), FOLDING, Hybrid(), Tiers(2, 2)], ids=str)
    def test_every_policy_honours_it(self, policy: Policy) -> None:
        thread = memory_of(chat(10), policy).thread("t")
        thread.promote(4)
        assert pinned(thread.context(budget=300)) == [4]

    def test_a_fork_has_what_was_promoted_before_it(self) -> None:
        thread = memory_of(chat(10), SlidingWindow(2)).thread("t")
        thread.promote(3)
        fork = thread.fork(6)
        thread.promote(5)
        assert (pinned(fork.context()), pinned(thread.context())) == ([3], [3, 5])

    def test_promoted_messages_that_the_budget_cannot_hold_are_a_budget_error(self) -> None:
        thread = memory_of([said("user", "word " * 200), *chat(2)]).thread("t")
        thread.context(budget=150)
        thread.promote(1)
        with pytest.raises(BudgetError) as caught:
            thread.context(budget=150)
        assert caught.value.parts[0][0] == "pinned messages"
        assert caught.value.needed > 150

    def test_what_is_not_there_is_not_found(self) -> None:
        memory = memory_of(chat(1))
        memory.thread("u").append([Message(role="user", content="hm", id="of another thread")])
        for message in (0, 3, -1, "nothing", "of another thread"):
            with pytest.raises(NotFound):
                memory.thread("t").promote(message)
        with pytest.raises(NotFound):
            memory.thread("none").promote(1)
        assert (memory.thread("t").tiers(), memory.thread("none").tiers()) == ({}, {})

    def test_an_export_says_the_tier_that_a_message_has_now(self, tmp_path: Path) -> None:
        memory = memory_of(chat(10))
        memory.thread("t").promote(3)
        file = tmp_path / "export.jsonl"
        file.write_bytes(b"".join(memory.export()))
        with Memory(embedder=None, policy=SlidingWindow(2)) as restored:
            restored.import_file(file)
            assert pinned(restored.thread("t").context()) == [3]
        assert memory.import_file(file).added == 0

    @pytest.mark.parametrize("tier", ["forever", "", 3, None])
    def test_what_is_no_tier_is_refused(self, tier: object) -> None:
        with pytest.raises(InvalidInput, match="permanent, long_term, working, ephemeral"):
            memory_of(chat(1)).thread("t").promote(1, tier)  # type: ignore[arg-type]

    @pytest.mark.parametrize("message", [True, None, 1.0, ""])
    def test_what_names_no_message_is_refused(self, message: object) -> None:
        with pytest.raises(InvalidInput, match="message"):
            memory_of(chat(1)).thread("t").promote(message)  # type: ignore[arg-type]

    def test_an_explanation_says_what_is_in_view_for_having_been_promoted(self) -> None:
        thread = memory_of(chat(10), Tiers(long_term=2, working=4)).thread("t")
        thread.promote(1, "long_term")
        thread.promote(3)
        thread.promote(5)
        explained = thread.context().explain()
        promoted = [(each.messages, each.reason) for each in explained.decisions if each.done == "promoted"]
        day = START.date().isoformat()
        assert promoted == [
            (((3, 3), (5, 5)), f"tier permanent since {day}"),
            (((1, 1),), f"tier long_term since {day}"),
        ]
        assert f"promoted  messages 3, 5: tier permanent since {day} [promote]" in str(explained)
        assert "left out  messages 2, 4, 6-16" in str(explained)
        assert "tier working is full: older than its newest 4 messages" in str(explained)

    def test_the_async_twin_does_the_same(self) -> None:
        async def talk() -> tuple[Tier, list[int], list[int]]:
            async with AsyncMemory(embedder=None, policy=SlidingWindow(2)) as memory:
                thread = memory.thread("t")
                await thread.append(chat(5))
                return await thread.promote(1), list(await thread.tiers()), pinned(await thread.context())

        assert asyncio.run(talk()) == ("working", [1], [1])
