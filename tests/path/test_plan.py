"""Which groups fold: `compaction.plan`."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime, timezone

from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from bethink.compaction.plan import Plan, newest_that_fit, plan
from bethink.messages import Group, Message, ToolCall, groups
from bethink.settings import Settings
from bethink.testing.strategies import histories
from bethink.threads import place

AT = datetime(2026, 3, 1, 12, tzinfo=timezone.utc)
SETTINGS = Settings()  # folds past 75 % of the budget, down to 50 %


def said(role: str, text: str = "x" * 10, **fields: object) -> Message:
    return Message(role=role, content=text, created_at=AT, **fields)  # type: ignore[arg-type]


def calling(*ids: str, text: str = "") -> Message:
    calls = tuple(ToolCall(call_id, "search") for call_id in ids)
    return Message(role="assistant", content=text or None, tool_calls=calls, created_at=AT)


def result(call_id: str, text: str = "x" * 10) -> Message:
    return said("tool", text, tool_call_id=call_id)


def chat(turns: int) -> list[Message]:
    return [said(role) for _ in range(turns) for role in ("user", "assistant")]


def size(group: Group) -> int:
    """Ten characters, ten tokens."""
    return sum(len(message.text) for message in group.messages)


def threaded(messages: Sequence[Message]) -> tuple[Group, ...]:
    found = groups(place(messages, tip=0, last=None, calls={}).messages)
    return tuple(group for group in found if not any(message.pinned for message in group.messages))


def planned(*messages: Message, budget: int, fixed: int = 0) -> Plan:
    return plan(threaded(messages), budget=budget, fixed=fixed, size=size, settings=SETTINGS)


def seqs(found: Sequence[Group]) -> list[int]:
    return [message.seq for group in found for message in group.messages]


# -- when ------------------------------------------------------------------------------------------------------------------


def test_nothing_folds_at_the_trigger() -> None:
    found = planned(*chat(3), budget=80)
    assert (found.fold, found.through, found.tokens) == ((), 0, 60)
    assert found.reason == "60 of 80 tokens are within 75 %"


def test_past_the_trigger_the_oldest_fold_until_half_of_the_budget_is_kept() -> None:
    found = planned(*chat(4), budget=100)
    assert seqs(found.fold) == [1, 2, 3]
    assert seqs(found.keep) == [4, 5, 6, 7, 8]
    assert (found.through, found.tokens) == (3, 50)
    assert found.reason == "80 of 100 tokens passed 75 %"


def test_what_is_fixed_counts() -> None:
    assert planned(*chat(3), budget=100).fold == ()
    found = planned(*chat(3), budget=100, fixed=20)
    assert (seqs(found.fold), found.tokens) == ([1, 2, 3], 30)


def test_after_folding_the_next_message_does_not_fold_again() -> None:
    found = planned(*chat(4), budget=100)
    again = plan(found.keep, budget=100, fixed=0, size=size, settings=SETTINGS)
    assert (again.fold, again.keep) == ((), found.keep)


def test_an_empty_thread_needs_nothing() -> None:
    assert planned(budget=100) == Plan(reason="0 of 100 tokens are within 75 %")


# -- what never folds ------------------------------------------------------------------------------------------------------


def test_V013_the_newest_user_message_is_kept_however_long() -> None:
    found = planned(*chat(3), said("user", "x" * 500), said("assistant"), budget=100)
    assert seqs(found.fold) == [1, 2, 3, 4, 5, 6]
    assert seqs(found.keep) == [7, 8]


def test_the_current_turn_is_kept_as_a_whole() -> None:
    turn = [said("user"), calling("a", text="x" * 60), result("a"), said("assistant", "x" * 60)]
    found = planned(*turn, budget=100)
    assert (found.fold, seqs(found.keep)) == ((), [1, 2, 3, 4])
    assert found.reason == "140 of 100 tokens passed 75 %, but nothing is older than the current turn"


def test_V010_one_user_message_before_sixty_others_skips_compaction_rather_than_fold_nothing() -> None:
    found = planned(said("user"), *[said("assistant") for _ in range(60)], budget=100)
    assert (found.fold, len(found.keep)) == ((), 61)


def test_where_nobody_has_asked_anything_the_newest_group_is_kept() -> None:
    found = planned(*[said("assistant") for _ in range(12)], budget=100)
    assert seqs(found.keep) == [8, 9, 10, 11, 12]


# -- tool calls ------------------------------------------------------------------------------------------------------------


def test_V001_a_call_that_does_not_fit_takes_its_result_along() -> None:
    thread = [said("user"), calling("c1", text="x" * 80), result("c1"), said("user"), said("assistant")]
    found = planned(*thread, budget=100)
    assert (seqs(found.fold), seqs(found.keep)) == ([1, 2, 3], [4, 5])


def test_V002_eight_parallel_results_stay_with_their_call() -> None:
    ids = [f"c{number}" for number in range(1, 9)]
    thread = [said("user"), calling(*ids), *[result(call_id) for call_id in ids], said("user")]
    found = planned(*thread, budget=100)
    assert (seqs(found.fold), seqs(found.keep)) == ([*range(1, 11)], [11])


def test_V003_a_turn_of_which_one_result_is_missing_waits_whole() -> None:
    thread = [*chat(4), calling("c1", "c2"), result("c1", "x" * 3_000)]
    found = planned(*thread, budget=1_000)
    assert seqs(found.waiting) == [9, 10]
    assert found.fold == ()
    complete = planned(*thread, result("c2", "x" * 40), said("user"), budget=1_000)
    assert seqs(complete.fold)[-3:] == [9, 10, 11]


def test_V004_no_cut_leaves_half_a_call_wherever_it_falls() -> None:
    thread = [*chat(2), calling("c1"), said("user"), result("c1"), said("assistant"), said("user")]
    cuts = set()
    for budget in range(10, 107):
        found = planned(*thread, budget=budget)
        cuts.add(len(found.fold))
        assert len({5, 7} & set(seqs(found.keep))) in (0, 2)
    assert cuts == {3, 4, 5, 6, 7}


def test_V005_a_call_that_waits_for_approval_is_not_folded_while_the_rest_is() -> None:
    thread = [said("user"), calling("c1"), *chat(6)]
    found = planned(*thread, budget=100)
    assert (seqs(found.waiting), found.tokens) == ([2], 50)
    assert seqs(found.fold) == [1, *range(3, 10)]
    assert found.through == 9


def test_V005_the_late_result_is_read_back_with_its_call() -> None:
    thread = [said("user"), calling("c1"), *chat(6)]
    through = planned(*thread, budget=100).through
    answered = groups(place([*thread, result("c1")], tip=0, last=None, calls={}).messages)
    unfolded = [group for group in answered if group.last_seq > through]
    later = plan(unfolded, budget=100, fixed=0, size=size, settings=SETTINGS)
    assert seqs(later.keep)[-2:] == [2, 15]
    assert later.waiting == ()


def test_a_call_answered_late_holds_back_nothing_that_is_older() -> None:
    thread = [calling("c1"), *chat(4), result("c1"), said("user")]
    found = planned(*thread, budget=100)
    assert (seqs(found.fold), found.through) == ([2, 3, 4, 5, 6], 6)
    assert seqs(found.keep) == [7, 8, 9, 1, 10, 11]


def test_V006_V007_when_the_newest_message_is_a_result_its_whole_turn_is_kept() -> None:
    thread = [said("user"), calling("c1"), result("c1"), calling("c2"), result("c2", "x" * 90)]
    found = planned(*thread, budget=100)
    assert seqs(found.keep) == [1, 2, 3, 4, 5]
    assert seqs(newest_that_fit(found.keep, 90, size)) == [4, 5]


def test_V062_one_oversized_message_folds_once_and_what_follows_is_within_budget() -> None:
    thread = [said("user"), said("assistant", "x" * 5_000)]
    unfolded: list[Message] = []
    folds = 0
    through = 0
    for message in [*thread, *chat(6)]:
        unfolded.append(message)
        known = [group for group in threaded(unfolded) if group.last_seq > through]
        found = plan(known, budget=1_000, fixed=0, size=size, settings=SETTINGS)
        if found.fold:
            folds += 1
            through = found.through
            assert found.tokens <= 500
    assert folds == 1


# -- the longest run that fits ---------------------------------------------------------------------------------------------


def test_the_newest_that_fit_end_at_the_first_that_does_not() -> None:
    found = threaded([said("user"), said("assistant", "x" * 100), said("user"), said("assistant")])
    assert seqs(newest_that_fit(found, 30, size)) == [3, 4]
    assert seqs(newest_that_fit(found, 20, size)) == [3, 4]
    assert newest_that_fit(found, 9, size) == ()


# -- for any history -------------------------------------------------------------------------------------------------------

for_any = settings(max_examples=60, deadline=None, suppress_health_check=[HealthCheck.too_slow])
figures = st.tuples(st.integers(1, 600), st.integers(0, 100))


@for_any
@given(histories(), figures)
def test_V011_every_group_is_folded_kept_or_waiting_and_none_is_split(history: list[Message], figures: tuple[int, int]) -> None:
    budget, fixed = figures
    given_groups = threaded(history)
    found = plan(given_groups, budget=budget, fixed=fixed, size=size, settings=SETTINGS)
    closed = tuple(group for group in given_groups if not group.open_calls)
    assert found.fold + found.keep == closed
    assert found.waiting == tuple(group for group in given_groups if group.open_calls)
    assert found.tokens == sum(map(size, found.keep))


@for_any
@given(histories(), figures)
def test_what_is_kept_meets_the_target_or_is_the_current_turn(history: list[Message], figures: tuple[int, int]) -> None:
    budget, fixed = figures
    found = plan(threaded(history), budget=budget, fixed=fixed, size=size, settings=SETTINGS)
    used = fixed + found.tokens
    if found.fold:
        assert used + sum(map(size, found.fold)) > SETTINGS.compaction_trigger * budget
        # Not one more than needed:
        assert used + size(found.fold[-1]) > SETTINGS.compaction_keep * budget
    if used > SETTINGS.compaction_trigger * budget:
        turn = [group for group in found.keep if any(message.role == "user" for message in group.messages)]
        assert turn[:1] == list(found.keep[:1]) or not turn
        assert len(turn) <= 1


@for_any
@given(histories(), figures)
def test_the_newest_user_message_is_kept_with_all_that_follows(history: list[Message], figures: tuple[int, int]) -> None:
    budget, fixed = figures
    given_groups = threaded(history)
    found = plan(given_groups, budget=budget, fixed=fixed, size=size, settings=SETTINGS)
    asked = [group.last_seq for group in given_groups if group.messages[0].role == "user"]
    if asked:
        assert not [group for group in found.fold if group.last_seq >= asked[-1]]


@for_any
@given(histories(), figures)
def test_through_alone_tells_the_folded_from_the_kept(history: list[Message], figures: tuple[int, int]) -> None:
    budget, fixed = figures
    found = plan(threaded(history), budget=budget, fixed=fixed, size=size, settings=SETTINGS)
    assert all(group.last_seq <= found.through for group in found.fold)
    assert all(group.last_seq > found.through for group in found.keep)


@for_any
@given(histories(), st.integers(0, 600))
def test_the_newest_that_fit_are_the_longest_run_within_the_limit(history: list[Message], limit: int) -> None:
    given_groups = threaded(history)
    found = newest_that_fit(given_groups, limit, size)
    assert found == given_groups[len(given_groups) - len(found) :]
    assert sum(map(size, found)) <= limit
    if len(found) < len(given_groups):
        assert sum(map(size, given_groups[-len(found) - 1 :])) > limit
