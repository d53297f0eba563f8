"""Scores of a language model in a memory: asked for by `refine`, stored beside messages, and never waited for."""

from __future__ import annotations

import asyncio
import re
import time
from collections.abc import Callable

import pytest

from bethink import AsyncMemory, InvalidInput, Memory, Message, Policy, Scored, Settings, Tiers
from bethink.compaction.model_scores import MOST_AT_ONCE
from bethink.compaction.plan import Plan
from bethink.compaction.policies import Room
from bethink.messages import Group
from bethink.models.language import Prompt, Reply
from bethink.testing.doubles import AsyncScriptedModel, FrozenClock, ScriptedModel
from bethink.thread import Thread

BY_HAND = Settings(importance="model", refine="manual")
IN_BACKGROUND = Settings(importance="model")
LINE = re.compile(r"^\[([a-z2-7]{5})\] [^:]*: (.*)$", re.MULTILINE)


def judge(prompt: Prompt) -> str:
    """A 9 for what is said to matter, a 2 for the rest."""
    if prompt.purpose != "importance":
        return ""
    return "\n".join(f"{label}: {9 if 'matters' in text else 2}" for label, text in LINE.findall(prompt.user))


def memory_of(model: Callable[[Prompt], str] | ScriptedModel, settings: Settings = BY_HAND, **options: object) -> Memory:
    made = model if isinstance(model, ScriptedModel) else ScriptedModel(lambda prompt: Reply(model(prompt)), name="judge")
    clock = options.pop("clock", FrozenClock())
    return Memory(clock=clock, embedder=None, settings=settings, language_model=made, **options)  # type: ignore[arg-type]


def said(*texts: str) -> list[Message]:
    return [Message(role="user", content=text) for text in texts]


def scores(thread: Thread) -> dict[int, int]:
    return {seq: scored.score for seq, scored in thread.scores().items()}


def until(true: Callable[[], bool]) -> None:
    """Wait for the background."""
    for _ in range(1_000):
        if true():
            return
        time.sleep(0.01)
    raise AssertionError("it did not happen")


def test_refine_scores_the_messages_of_a_thread() -> None:
    memory = memory_of(judge)
    thread = memory.thread("t")
    thread.append(said("this matters", "this does not"))
    report = thread.refine()
    assert (report.scored, report.unscored, report.score_failure, report.usage.calls) == (2, 0, "", 1)
    assert scores(thread) == {1: 9, 2: 2}
    assert memory.check() == []


def test_a_score_is_stored_with_its_author_and_time() -> None:
    clock = FrozenClock()
    thread = memory_of(judge, clock=clock).thread("t")
    thread.append(said("this matters"))
    thread.refine()
    assert thread.scores() == {1: Scored(9, "judge", clock.now())}


def test_no_message_is_scored_twice() -> None:
    thread = memory_of(judge).thread("t")
    thread.append(said("this matters"))
    thread.refine()
    thread.append(said("this as well matters"))
    assert [thread.refine().scored for _ in range(2)] == [1, 0]
    assert thread.refine().usage.calls == 0


def test_without_the_setting_nobody_is_asked() -> None:
    thread = memory_of(judge, Settings(refine="manual")).thread("t")
    thread.append(said("this matters"))
    report = thread.refine()
    assert (report.scored, report.usage.calls, scores(thread)) == (0, 0, {})


def test_a_memory_refines_every_thread_of_it() -> None:
    memory = memory_of(judge)
    for name in ("one", "two"):
        memory.thread(name).append(said("this matters"))
    memory.user("mara").thread("three").append(said("this matters"))
    assert (memory.refine().scored, memory.refine(below=True).scored) == (2, 1)


def test_of_very_many_messages_the_newest_are_scored_first() -> None:
    thread = memory_of(judge).thread("t")
    thread.append(said(*(f"word {number}" for number in range(MOST_AT_ONCE + 3))))
    assert [thread.refine().scored for _ in range(3)] == [MOST_AT_ONCE, 3, 0]


def test_what_scores_high_stays_longer() -> None:
    thread = memory_of(judge, policy=Tiers(long_term=5, working=2)).thread("t")
    thread.append(said("it matters", *("the weather is mild" for _ in range(6))))
    assert 1 not in [message.seq for message in thread.context().made_of.recent]
    thread.refine()
    assert [message.seq for message in thread.context().made_of.recent] == [1, 6, 7]


def test_what_the_rules_took_for_important_may_score_low() -> None:
    thread = memory_of(judge, policy=Tiers(long_term=5, working=2)).thread("t")
    thread.append(said("We decided to ship on 2026-05-04 with PostgreSQL 17.", *("mild weather" for _ in range(6))))
    assert 1 in [message.seq for message in thread.context().made_of.recent]
    thread.refine()
    assert [message.seq for message in thread.context().made_of.recent] == [6, 7]


def test_a_policy_of_ones_own_may_ask_how_much_a_message_matters() -> None:
    class Best(Policy, frozen=True):
        def arrange(self, groups: tuple[Group, ...], room: Room) -> Plan:  # type: ignore[override]
            from bethink.compaction.plan import Left

            low = [group for group in groups[:-1] if room.importance(group.messages[0]) < 7]
            return Plan(
                keep=tuple(group for group in groups if group not in low),
                left=tuple(Left(group, self.name, "it matters little") for group in low),
            )

    thread = memory_of(judge, policy=Best()).thread("t")
    thread.append(said("it matters", "mild weather", "and now?"))
    thread.refine()
    assert [message.seq for message in thread.context().made_of.recent] == [1, 3]


def test_a_context_asks_no_model() -> None:
    def fail(prompt: Prompt) -> str:
        raise AssertionError("a context must not wait for a model")

    thread = memory_of(fail, policy=Tiers(working=2)).thread("t")
    thread.append(said(*(f"word {number}" for number in range(30))))
    assert thread.context().messages


@pytest.mark.parametrize(
    ("answer", "reason"), [(ConnectionError("down"), "error"), (TimeoutError(), "timeout"), ("I had rather not.", "unreadable")]
)
def test_a_model_that_fails_changes_nothing_and_is_asked_again(answer: str | Exception, reason: str) -> None:
    answers = iter([answer, None])
    clock = FrozenClock()

    def script(prompt: Prompt) -> Reply:
        found = next(answers)
        if isinstance(found, Exception):
            raise found
        return Reply(judge(prompt) if found is None else found)

    memory = memory_of(ScriptedModel(script), clock=clock)
    thread = memory.thread("t")
    thread.append(said("this matters"))
    report = thread.refine()
    assert (report.scored, report.unscored, report.score_failure) == (0, 1, reason)
    assert report.retry_at == clock.now() + BY_HAND.model_backoff.first
    assert (scores(thread), memory.check()) == ({}, [])
    assert thread.refine().scored == 1


def test_a_message_that_is_forgotten_meanwhile_takes_the_scores_of_its_batch_along_until_the_next_time() -> None:
    def forgetting(prompt: Prompt) -> str:
        if memory.thread("t").messages()[0].text == "forget me":
            memory.forget(message=memory.thread("t").messages()[0].id)
        return judge(prompt)

    memory = memory_of(forgetting)
    thread = memory.thread("t")
    thread.append(said("forget me", "this matters"))
    assert (thread.refine().scored, scores(thread)) == (0, {})
    assert (thread.refine().scored, scores(thread)) == (1, {2: 9})
    assert memory.check() == []


def test_a_thread_that_begins_anew_meanwhile_gets_no_score_of_the_old() -> None:
    def renewing(prompt: Prompt) -> str:
        memory.forget(thread="t")
        memory.thread("t").append(said("something else"))
        return judge(prompt)

    memory = memory_of(renewing)
    thread = memory.thread("t")
    thread.append(said("this matters"))
    assert (thread.refine().scored, scores(thread)) == (0, {})


def test_a_fork_has_the_scores_of_its_messages() -> None:
    thread = memory_of(judge).thread("t")
    thread.append(said("this matters", "so", "this matters"))
    thread.refine()
    assert scores(thread.fork(2)) == {1: 9, 2: 2}


def test_in_the_background_many_are_scored_at_once() -> None:
    prompts: list[Prompt] = []

    def answer(prompt: Prompt) -> str:
        prompts.append(prompt)
        return judge(prompt)

    with memory_of(answer, IN_BACKGROUND) as memory:
        thread = memory.thread("t")
        thread.append(said(*("this matters" for _ in range(7))))
        thread.context()
        thread.append(said("this matters"))
        thread.context()
        until(lambda: len(scores(thread)) == 8)
        assert len(prompts) == 1


def test_in_the_background_one_that_failed_waits_for_its_time() -> None:
    calls: list[Prompt] = []

    def fail(prompt: Prompt) -> str:
        calls.append(prompt)
        raise ConnectionError

    clock = FrozenClock()
    with memory_of(fail, IN_BACKGROUND, clock=clock) as memory:
        thread = memory.thread("t")
        thread.append(said(*("this matters" for _ in range(8))))
        thread.context()
        until(lambda: len(calls) == 1)
        for _ in range(5):
            thread.context()
        time.sleep(0.05)
        assert len(calls) == 1
        clock.advance(IN_BACKGROUND.model_backoff.first)
        thread.context()
        until(lambda: len(calls) == 2)


def test_an_asynchronous_model_scores_as_well() -> None:
    async def talk() -> tuple[int, list[int]]:
        model = AsyncScriptedModel(lambda prompt: Reply(judge(prompt)))
        async with AsyncMemory(embedder=None, settings=BY_HAND, language_model=model) as memory:
            thread = memory.thread("t")
            await thread.append(said("this matters", "so"))
            return (await thread.refine()).scored, [scored.score for scored in (await thread.scores()).values()]

    assert asyncio.run(talk()) == (2, [9, 2])


def test_a_thread_that_is_not_there_has_no_scores() -> None:
    assert memory_of(judge).thread("none").scores() == {}


def test_only_rules_or_the_model_say_how_much_a_message_matters() -> None:
    with pytest.raises(InvalidInput, match=r"settings\.importance"):
        Settings(importance="dice")  # type: ignore[arg-type]
