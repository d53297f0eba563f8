"""Episodes: stored by hand, drawn from the state of a thread, found again, bounded, forgotten."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from datetime import datetime, timedelta, timezone
from pathlib import Path
from typing import Any

import pytest

from bethink import AsyncMemory, Episode, InvalidInput, Memory, Message, NotFound, Settings, ToolCall
from bethink.insights.episodes import outgrown, worded
from bethink.testing.doubles import FrozenClock, HashEmbedder

AT = datetime(2026, 3, 2, 9, 0, tzinfo=timezone.utc)


@pytest.fixture
def clock() -> FrozenClock:
    return FrozenClock(AT)


@pytest.fixture
def memory(clock: FrozenClock, tmp_path: Path) -> Iterator[Memory]:
    with Memory(tmp_path / "agent.db", embedder=None, clock=clock) as opened:
        yield opened


def work(memory: Memory, name: str = "t", last: str = "Perfect, that worked.") -> None:
    """A thread with a goal, a decision, a tool, and a last word."""
    thread = memory.thread(name)
    thread.add("user", f"Our goal is to migrate the billing service of {name}.")
    thread.add("user", "We decided to use blue-green deploys, because the shop must stay open.")
    thread.append(
        [
            Message(role="assistant", tool_calls=(ToolCall(f"c-{name}", "terraform"),)),
            Message(role="tool", content="applied", tool_call_id=f"c-{name}"),
        ]
    )
    thread.add("user", last)


# -- by hand --------------------------------------------------------------------------------------------------------------


def test_what_is_stored_comes_back(memory: Memory) -> None:
    memory.thread("t").add("user", "hello")
    stored = memory.store_episode(
        "migrate the billing service",
        outcome="success",
        approach="blue-green",
        feedback="no downtime",
        tools=["terraform", "psql"],
        started_at=AT - timedelta(hours=2),
        tokens=1_200,
        cost=0.4,
        thread="t",
        metadata={"team": 7},
    )
    assert memory.episodes() == [stored]
    assert (stored.ended_at, stored.tools, stored.cost) == (AT, ("terraform", "psql"), 0.4)
    assert stored.text == "migrate the billing service (success); blue-green; feedback: no downtime"


@pytest.mark.parametrize(
    "wrong",
    [
        {"task": "  "},
        {"outcome": "great"},
        {"tools": "terraform"},
        {"tools": [""]},
        {"ended_at": AT.replace(tzinfo=None)},
        {"started_at": AT + timedelta(days=1)},
        {"tokens": -1},
        {"cost": float("nan")},
        {"cost": -1},
        {"importance": "huge"},
        {"metadata": {"a": object()}},
    ],
)
def test_what_cannot_be_taken_is_refused_and_nothing_stored(memory: Memory, wrong: dict[str, Any]) -> None:
    given: dict[str, Any] = {"task": "ship", **wrong}
    with pytest.raises(InvalidInput):
        memory.store_episode(given.pop("task"), **given)
    assert memory.episodes() == []


def test_a_thread_that_is_not_there_is_refused(memory: Memory) -> None:
    with pytest.raises(NotFound):
        memory.store_episode("ship", thread="nowhere")


def test_feedback_that_comes_later_takes_the_place_of_what_was_stored(memory: Memory) -> None:
    first = memory.store_episode("ship the letter")
    second = memory.store_episode("ship the letter", outcome="failure", feedback="it never came", replaces=first.id[-8:])
    assert memory.episodes() == [second]
    former = {each.id: each for each in memory.records("episode", current=False)}[first.id]
    assert former.superseded_by == second.id


# -- found again ----------------------------------------------------------------------------------------------------------


def test_what_worked_for_tasks_like_this(memory: Memory) -> None:
    worked = memory.store_episode("migrate the billing service", outcome="success", approach="blue-green")
    memory.store_episode("migrate the billing service", outcome="failure", approach="at night, all at once")
    memory.store_episode("paint the fence", outcome="success")
    assert memory.episodes("migrate the invoice service", outcome="success") == [worked]


def test_tasks_alike_are_found_by_meaning_too(clock: FrozenClock) -> None:
    with Memory(embedder=HashEmbedder(), clock=clock) as memory:
        stored = memory.store_episode("migrate the billing service", outcome="success")
        assert memory.episodes("migrate the billing service", 1) == [stored]


def test_since_and_until_are_about_the_end_of_the_work(memory: Memory, clock: FrozenClock) -> None:
    old = memory.store_episode("paint the fence", ended_at=AT - timedelta(days=30))
    new = memory.store_episode("paint the fence again")
    assert memory.episodes("paint the fence", since=AT - timedelta(days=7)) == [new]
    assert memory.episodes("paint the fence", until=AT) == [old]
    assert memory.episodes(since=AT - timedelta(days=7)) == [new]


def test_a_filter_holds_before_the_limit(memory: Memory) -> None:
    for number in range(12):
        memory.store_episode("paint the fence", metadata={"number": number})
    found = memory.episodes("paint the fence", 1, where={"metadata.number": 3})
    assert [each.metadata for each in found] == [{"number": 3}]


def test_without_a_task_the_last_come_first(memory: Memory, clock: FrozenClock) -> None:
    texts = [f"job {number}" for number in range(3)]
    for text in texts:
        memory.store_episode(text)
        clock.advance(timedelta(hours=1))
    assert [each.task for each in memory.episodes(k=2)] == texts[:0:-1]


def test_below_finds_those_of_other_users(memory: Memory) -> None:
    stored = memory.user("mara").store_episode("paint the fence")
    assert memory.episodes("paint the fence") == []
    assert memory.episodes("paint the fence", below=True) == [stored]


def test_recall_and_contexts_find_them(memory: Memory) -> None:
    stored = memory.store_episode("migrate the billing service", outcome="success", approach="blue-green deploys")
    hits = memory.recall("how did we migrate the billing service")
    assert [(hit.kind, hit.id) for hit in hits] == [("episode", stored.id)]
    thread = memory.thread("new")
    thread.add("user", "How do we migrate the billing service?")
    assert "blue-green deploys" in thread.context(budget=800).to_bytes().decode()


def test_an_event_loop_has_the_same(clock: FrozenClock) -> None:
    async def work_and_look() -> None:
        async with AsyncMemory(embedder=None, clock=clock) as memory:
            stored = await memory.store_episode("paint the fence", outcome="success", tools=iter(["brush"]))
            assert await memory.episodes("paint the fence", outcome="success") == [stored]
            thread = memory.thread("t")
            await thread.add("user", "Our goal is to ship the letter. We decided to use the post.")
            clock.advance(timedelta(hours=1))
            assert [each.thread_id for each in await memory.due(after=timedelta(minutes=30))] == ["t"]
            (ended,) = await memory.reflect_due(after=timedelta(minutes=30))
            assert await thread.reflection() == ended

    asyncio.run(work_and_look())


def test_bad_questions_are_refused(memory: Memory) -> None:
    with pytest.raises(InvalidInput):
        memory.episodes(outcome="great")  # type: ignore[arg-type]
    with pytest.raises(InvalidInput):
        memory.episodes(since=AT.replace(tzinfo=None))
    with pytest.raises(InvalidInput):
        memory.episodes("x", 0)


# -- drawn ----------------------------------------------------------------------------------------------------------------


def test_the_end_of_a_session_makes_one_of_its_state(memory: Memory, clock: FrozenClock) -> None:
    work(memory)
    clock.advance(timedelta(minutes=5))
    memory.thread("t").end()
    (episode,) = memory.episodes()
    assert episode.task == "migrate the billing service of t"
    assert episode.approach == "decided: use blue-green deploys, because the shop must stay open"
    assert (episode.outcome, episode.feedback) == ("success", "Perfect, that worked.")
    assert (episode.tools, episode.thread_id, episode.through) == (("terraform",), "t", 5)
    assert (episode.started_at, episode.ended_at) == (AT, AT)
    assert len(episode.entries) == 2
    assert len(episode.sources) == 4


def test_a_talk_without_a_piece_of_work_leaves_none(memory: Memory) -> None:
    thread = memory.thread("t")
    thread.add("user", "I live in Ghent and I like tea.")
    thread.add("assistant", "Good to know.")
    thread.end()
    assert memory.episodes() == []


def test_silence_is_no_success(memory: Memory) -> None:
    work(memory, last="Please send me the invoice of March.")
    memory.thread("t").end()
    assert [each.outcome for each in memory.episodes()] == ["unknown"]


def test_a_goal_set_by_hand_counts_as_one_that_was_said(memory: Memory) -> None:
    thread = memory.thread("t")
    thread.add("user", "Hello!")
    thread.set_state(goal="ship the letter", completed=["wrote it", "posted it"])
    thread.end()
    (episode,) = memory.episodes()
    assert (episode.task, episode.approach) == ("ship the letter", "done: wrote it; done: posted it")


def test_a_session_that_goes_on_has_one_episode(memory: Memory) -> None:
    work(memory, last="It still fails.")
    memory.thread("t").end()
    memory.thread("t").add("user", "Now it works, thanks.")
    memory.thread("t").end()
    assert [each.outcome for each in memory.episodes()] == ["success"]
    assert len(memory.records("episode", current=False)) == 2


def test_one_stored_by_hand_stays_beside_the_one_that_is_drawn(memory: Memory) -> None:
    work(memory)
    memory.store_episode("migrate billing", thread="t")
    memory.thread("t").end()
    assert len(memory.episodes()) == 2


def test_a_goal_that_was_withdrawn_leaves_none(memory: Memory) -> None:
    thread = memory.thread("t")
    thread.add("user", "Hello!")
    goal = thread.set_state(goal="ship the letter", decisions=["by post"]).goal
    thread.end()
    assert goal is not None
    thread.set_state(withdraw=[goal.id])
    thread.add("user", "Never mind.")
    thread.end()
    assert memory.episodes() == []


def test_what_contexts_took_is_its_cost(memory: Memory) -> None:
    work(memory)
    tokens = memory.thread("t").context(budget=800).tokens
    memory.thread("t").end()
    assert [each.tokens for each in memory.episodes()] == [tokens]


# -- bounded --------------------------------------------------------------------------------------------------------------


def test_the_least_useful_beyond_the_bound_is_archived(clock: FrozenClock) -> None:
    with Memory(embedder=None, clock=clock, settings=Settings(episode_limit=2)) as memory:
        first = memory.store_episode("paint the fence", importance="high")
        second = memory.store_episode("mow the lawn")
        memory.cite(first.id)
        clock.advance(timedelta(days=1))
        third = memory.store_episode("trim the hedge")
        assert {each.id for each in memory.episodes()} == {first.id, third.id}
        archived = {each.id: each for each in memory.records("episode", current=False)}[second.id]
        assert archived.reason == "archived: less useful than the 2 kept"


def test_the_oldest_goes_where_the_newest_are_kept(clock: FrozenClock) -> None:
    with Memory(embedder=None, clock=clock, settings=Settings(episode_limit=1, episode_keep="newest")) as memory:
        memory.store_episode("paint the fence", importance="high")
        clock.advance(timedelta(days=1))
        new = memory.store_episode("mow the lawn", importance="low")
        assert memory.episodes() == [new]


def test_pinned_ones_stay_and_count(clock: FrozenClock) -> None:
    def episode(number: int, **fields: Any) -> Episode:
        at = AT + timedelta(days=number)
        return Episode(
            id=f"p{number}", text="x", trust="user", recorded_at=at, task="x", outcome="unknown", ended_at=at, **fields
        )

    kept = [episode(0, pinned=True), episode(1, pinned=True), episode(2)]
    assert [each.record_id for each in outgrown(kept, now=AT, settings=Settings(episode_limit=2))] == ["p2"]
    assert outgrown(kept[:2], now=AT, settings=Settings(episode_limit=1)) == ()


def test_sessions_keep_to_the_bound(clock: FrozenClock) -> None:
    with Memory(embedder=None, clock=clock, settings=Settings(episode_limit=2)) as memory:
        for number in range(4):
            work(memory, f"t{number}")
            memory.thread(f"t{number}").end()
            clock.advance(timedelta(days=40))
        assert [each.thread_id for each in memory.episodes()] == ["t3", "t2"]


# -- forgotten ------------------------------------------------------------------------------------------------------------


def test_it_goes_with_a_message_that_it_was_made_of(memory: Memory) -> None:
    work(memory)
    memory.thread("t").end()
    decision = memory.thread("t").messages()[1]
    memory.forget(message=decision.id)
    assert memory.episodes() == []
    assert memory.verify("blue-green").clean


def test_it_goes_with_an_entry_of_the_state_that_was_set_by_hand(memory: Memory) -> None:
    thread = memory.thread("t")
    thread.add("user", "Hello!")
    state = thread.set_state(goal="ship the chartreuse letter", decisions=["by post"])
    thread.end()
    assert state.goal is not None
    memory.forget(record=state.goal.id)
    assert memory.episodes() == []
    assert memory.verify("chartreuse").clean
    assert memory.check() == []


def test_it_goes_with_its_thread(memory: Memory) -> None:
    work(memory)
    memory.thread("t").end()
    memory.store_episode("by hand", thread="t")
    other = memory.store_episode("of no thread")
    memory.thread("t").delete()
    assert memory.episodes() == [other]


def test_an_export_brings_it_along(memory: Memory, tmp_path: Path) -> None:
    work(memory)
    memory.thread("t").end()
    memory.store_episode("by hand", outcome="partial")
    (tmp_path / "all.jsonl").write_bytes(b"\n".join(memory.export()))
    with Memory(embedder=None, clock=FrozenClock(AT)) as copy:
        copy.import_file(tmp_path / "all.jsonl")
        assert copy.episodes() == memory.episodes()
        assert copy.check() == []


def test_the_words_say_only_what_there_is() -> None:
    assert worded("ship", "unknown", "", "") == "ship"
    assert worded("ship", "partial", "slowly", "late") == "ship (partial); slowly; feedback: late"
