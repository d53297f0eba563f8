"""A model's summaries, end to end: `Thread.refine`, `Memory.refine`, `summaries`, `expand`."""

from __future__ import annotations

import asyncio
import re
from collections.abc import Callable
from datetime import timedelta
from pathlib import Path

import msgspec
import pytest

from bethink import AsyncMemory, Backoff, Hierarchy, InvalidInput, Memory, Message, NotFound, Settings, StoreBusy, Thread
from bethink.models.language import GivenModel, Prompt, Reply
from bethink.models.tokens import BuiltinCounter
from bethink.storage.base import Read, Refine, Transcript
from bethink.storage.reference import ReferenceStore
from bethink.testing.doubles import AsyncScriptedModel, FrozenClock, Hang, Scripted, ScriptedModel, summing_up

SMALL = Settings(
    window=600, segment_messages=6, node_fan_in=3, node_tokens=80, refine="manual", model_timeout=timedelta(seconds=20)
)
BACKOFF = SMALL.model_backoff


def said(number: int) -> list[Message]:
    return [
        Message(role="user", content=f"Parcel QX-{1000 + number} goes to depot {number} on Monday.", id=f"u{number}"),
        Message(role="assistant", content=f"Good. I noted parcel QX-{1000 + number}.", id=f"a{number}"),
    ]


def opened(model: GivenModel | None, clock: FrozenClock | None = None, **options: object) -> Memory:
    options.setdefault("settings", SMALL)
    return Memory(clock=clock or FrozenClock(), embedder=None, language_model=model, **options)  # type: ignore[arg-type]


def talk(memory: Memory, turns: int = 20, thread_id: str = "t") -> Thread:
    """A thread of so many turns, folded for the small window."""
    thread = memory.thread(thread_id)
    for number in range(turns):
        thread.append(said(number))
    thread.context()
    return thread


def seen(thread: Thread) -> list[dict[str, object]]:
    """What a model would be shown of it now."""
    return thread.context("parcels").to_openai()


def authors(thread: Thread) -> set[str]:
    return {summary.author for summary in thread.summaries()}


def model(name: str = "small") -> ScriptedModel:
    return ScriptedModel(summing_up, name=name)


# -- what a model's summary changes ----------------------------------------------------------------------------------------


def test_every_node_gets_the_models_summary_and_says_so() -> None:
    with opened(model()) as memory:
        thread = talk(memory)
        assert authors(thread) == {"extractive"}
        report = thread.refine()
        assert authors(thread) == {"small"}
        assert len(report.written) == len(thread.summaries()) == memory.stats().nodes
        assert (report.failed, report.due, report.waiting, report.given_up, report.overtaken) == ((), 0, 0, 0, 0)
        assert memory.check() == []


def test_the_context_shows_the_models_lines_from_then_on_and_says_who_wrote_them() -> None:
    # With room for the model's lines no sentence has to be put back in their place.
    with opened(model(), settings=msgspec.structs.replace(SMALL, node_tokens=400)) as memory:
        thread = talk(memory)
        thread.refine()
        context = thread.context()
        lines = [line for line in context.lines if line.section == "summary"]
        assert any("Summed up: " in line.text for line in lines)
        assert all(line.reason.endswith(", written by small") for line in lines)


def test_nothing_else_of_the_thread_changes() -> None:
    with opened(model()) as memory:
        thread = talk(memory)
        before = thread.messages(), thread.info(), [(node.level, node.covers) for node in thread.summaries()]
        thread.refine()
        assert (thread.messages(), thread.info(), [(node.level, node.covers) for node in thread.summaries()]) == before


def test_each_node_keeps_to_its_limit_of_tokens() -> None:
    count = BuiltinCounter().count
    with opened(model()) as memory:
        thread = talk(memory, 40)
        thread.refine()
        assert all(sum(count(line.text) for line in node.lines) <= SMALL.node_tokens for node in thread.summaries())


def test_what_was_shown_before_is_replayed_to_the_same_bytes() -> None:
    with opened(model()) as memory:
        thread = talk(memory)
        first = thread.context()
        thread.refine()
        second = thread.context()
        for number in range(20, 40):
            thread.append(said(number))
        third = thread.context()
        thread.refine()
        assert first.messages != second.messages
        for context in (first, second, third):
            assert memory.replay(context.receipt_id).messages == context.messages


def test_a_node_above_is_made_of_the_models_lines_below_it() -> None:
    small = model()
    with opened(small) as memory:
        thread = talk(memory)
        thread.refine()
        above = [node for node in thread.summaries() if node.level == 2]
        assert above
        # Its prompt lists lines of the nodes below, which are the model's by then.
        assert all(any("Summed up: Summed up:" in line.text for line in node.lines) for node in above)
        assert not any("Summed up: Summed up: Summed up:" in prompt.user for prompt in small.prompts)


def test_a_node_above_is_asked_for_once_after_all_below_it() -> None:
    small = model()
    with opened(small) as memory:
        thread = talk(memory, 40)
        thread.refine()
        assert small.calls == len(thread.summaries())


def test_what_was_settled_is_not_asked_for_again() -> None:
    small = model()
    with opened(small) as memory:
        thread = talk(memory)
        thread.refine()
        calls = small.calls
        assert thread.refine().attempts == ()
        assert small.calls == calls


def test_another_model_leaves_alone_what_a_model_has_written() -> None:
    store = ReferenceStore()
    thread = talk(opened(model("first"), store=store))
    thread.refine()
    other = model("second")
    again = opened(other, store=store).thread("t")
    assert again.refine().attempts == ()
    for number in range(20, 40):
        again.append(said(number))
    again.context()
    again.refine()
    assert authors(again) == {"first", "second"}


def test_a_new_node_below_makes_those_above_due_again_and_no_other() -> None:
    small = model()
    with opened(small) as memory:
        thread = talk(memory, 40)
        thread.refine()
        calls = small.calls
        top = max(thread.summaries(), key=lambda node: node.level)
        # A child changes when something of it is forgotten.
        (first, *_) = thread.expand(top.id)
        memory.forget(message=first.id)
        report = thread.refine()
        assert small.calls == calls + len(report.written)
        assert [len(report.written), report.due] == [top.level, 0]
        assert all(attempt.node_id in {node.id for node in thread.summaries()} for attempt in report.written)


def test_the_oldest_span_comes_first_and_a_limit_leaves_the_rest() -> None:
    with opened(model()) as memory:
        thread = talk(memory)
        report = thread.refine(limit=2)
        assert (len(report.written), report.due > 0) == (2, True)
        newer = [node.author for node in thread.summaries() if node.level == 1]
        assert newer[:3] == ["small", "small", "extractive"]
        while thread.refine(limit=2).written:
            pass
        assert authors(thread) == {"small"}


def test_nothing_worth_a_line_is_not_asked_about() -> None:
    silent = ScriptedModel([])
    with opened(silent) as memory:
        thread = memory.thread("t")
        for number in range(400):
            thread.append([{"role": "user", "content": "?" * 40, "id": f"m{number}"}])
        thread.context()
        assert thread.summaries()
        report = thread.refine()
        assert (silent.calls, report.usage.calls) == (0, 0)
        assert thread.refine().attempts == ()


def test_a_thread_without_summaries_or_without_messages_has_nothing_due() -> None:
    with opened(ScriptedModel([])) as memory:
        memory.thread("t").append(said(1))
        for thread_id in ("t", "nobody"):
            thread = memory.thread(thread_id)
            assert (thread.refine().attempts, thread.summaries()) == ((), [])
        assert [info.thread_id for info in memory.threads()] == ["t"]


def test_the_report_and_the_attempts_say_what_the_calls_took() -> None:
    def dear(prompt: Prompt) -> Reply:
        return Reply(summing_up(prompt), 100, 10, 0.5)

    with opened(ScriptedModel(dear, name="dear")) as memory:
        thread = talk(memory)
        report = thread.refine()
        count = len(report.written)
        assert (report.usage.calls, report.usage.tokens_in, report.usage.cost) == (count, 100 * count, 0.5 * count)
        assert report.seconds == pytest.approx(sum(attempt.seconds for attempt in report.attempts))
        kept = [attempt for node in thread.summaries() for attempt in node.attempts]
        assert sorted(attempt.node_id for attempt in kept) == sorted(attempt.node_id for attempt in report.written)
        assert all((attempt.model, attempt.usage.tokens_out, attempt.seconds > 0) == ("dear", 10, True) for attempt in kept)


def test_a_memory_refines_all_of_its_threads_and_below_if_asked() -> None:
    with opened(model()) as memory:
        one, two = talk(memory, thread_id="one"), talk(memory, thread_id="two")
        lower = talk(memory.user("mara"))
        memory.refine()
        assert (authors(one), authors(two), authors(lower)) == ({"small"}, {"small"}, {"extractive"})
        memory.refine(below=True)
        assert authors(lower) == {"small"}


def test_the_limit_holds_over_all_threads() -> None:
    small = model()
    with opened(small) as memory:
        for name in ("one", "two"):
            talk(memory, thread_id=name)
        total = memory.stats().nodes
        report = memory.refine(limit=total - 1)
        assert small.calls == len(report.written) == total - 1
        assert report.due == 1


def test_without_a_model_refining_says_how_to_give_one() -> None:
    with opened(None) as memory, pytest.raises(InvalidInput, match="language_model="):
        memory.refine()
    with opened(model()) as memory, pytest.raises(InvalidInput, match="limit"):
        memory.thread("t").refine(limit=0)


@pytest.mark.parametrize(
    ("settings", "field"),
    [
        (Settings(model_window=200), "model_window"),
        (Settings(summary_language="tlh"), "summary_language"),
        (Settings(summary_instructions="\ud800"), "summary_instructions"),
    ],
)
def test_settings_that_no_model_could_work_with_are_refused_when_it_is_given(settings: Settings, field: str) -> None:
    with pytest.raises(InvalidInput, match=f"settings.{field}"):
        opened(model(), settings=settings)
    with pytest.raises(InvalidInput, match=f"settings.{field}"):
        AsyncMemory(language_model=model(), embedder=None, settings=settings)
    opened(None, settings=settings).close()


def test_a_policy_that_hides_the_past_is_refined_as_well_where_it_has_folded() -> None:
    with opened(model()) as memory:
        thread = talk(memory)
        forked = thread.fork(thread_id="fork")
        assert authors(forked) == {"extractive"}
        forked.refine()
        assert (authors(forked), authors(thread)) == ({"small"}, {"extractive"})
        assert memory.check() == []


def test_a_thread_shows_the_segments_that_are_its_own_whatever_a_fork_has_below_the_same_node() -> None:
    def of_messages(prompt: Prompt) -> str:
        return "no" if "Summed up" in prompt.user else summing_up(prompt)

    store = ReferenceStore()
    policy = Hierarchy(4, 8)
    one = opened(ScriptedModel(of_messages, name="one"), store=store, policy=policy)
    two = opened(ScriptedModel(of_messages, name="two"), store=store, policy=policy)
    talk(one, 40).fork(thread_id="fork")
    for memory, thread_id in ((two, "fork"), (one, "t")):
        memory.thread(thread_id).refine()
    for memory, thread_id, other in ((two, "fork", "one"), (one, "t", "two")):
        context = memory.thread(thread_id).context()
        assert any("written by" in line.reason for line in context.lines)
        assert not any(line.reason.endswith(f"written by {other}") for line in context.lines)


# -- a model that fails ----------------------------------------------------------------------------------------------------

CHATTER = "The user talks about parcels and where each of them goes and what the depots are like, " * 2 + "."
ERROR_TEXT = "Error code: 429 - {'error': {'message': 'Rate limit reached for gpt-small', 'type': 'requests'}}"
FAILURES: list[tuple[str, Scripted | Callable[[Prompt], str]]] = [
    ("error", ConnectionError("no route to host")),
    ("timeout", TimeoutError("slow")),
    ("timeout", Hang(30.0)),
    ("uncited", ERROR_TEXT),
    ("empty", ""),
    ("empty", " \n\n "),
    ("too long", Reply("[1] " + "parcels and depots and so on " * 400, truncated=True)),
    ("other language", lambda prompt: _in_german(prompt)),
    ("uncited", "I'm sorry, but I can't help with that request."),
    ("lost facts", f"[1] {CHATTER}"),
]


def _in_german(prompt: Prompt) -> str:
    numbers = re.findall(r"QX-\d+", prompt.user)
    return "\n".join(f"[1] Das Paket {number} ist auf dem Weg und wird von uns nicht mehr gesehen." for number in numbers[:3])


def failing(answer: Scripted | Callable[[Prompt], str]) -> ScriptedModel:
    return ScriptedModel(answer if callable(answer) else lambda _: answer, name="small")


@pytest.mark.parametrize(("reason", "answer"), FAILURES)
def test_V009_V012_a_failure_leaves_the_thread_and_its_context_as_they_were(
    reason: str, answer: Scripted | Callable[[Prompt], str]
) -> None:
    # So that no room is left to put facts back beside CHATTER.
    limit = BuiltinCounter().count(CHATTER) + 2
    settings = msgspec.structs.replace(SMALL, model_timeout=timedelta(seconds=0.05), node_tokens=limit)
    bad = failing(answer)
    with opened(bad, settings=settings) as memory:
        thread = talk(memory)
        before = seen(thread), thread.messages(), thread.info(), [node.node for node in thread.summaries()]
        report = thread.refine(limit=1)
        (attempt,) = report.failed
        assert (attempt.reason, attempt.number, report.written) == (reason, 1, ())
        assert (seen(thread), thread.messages(), thread.info(), [node.node for node in thread.summaries()]) == before
        assert thread.summaries()[0].failed == attempt
        assert memory.check() == []
    bad.release()


def test_V009_a_failed_attempt_is_tried_again_after_its_wait_and_not_before() -> None:
    clock = FrozenClock()
    answers: list[Scripted] = [ConnectionError()]
    flaky = ScriptedModel(lambda prompt: answers.pop() if answers else summing_up(prompt), name="small")
    with opened(flaky, clock) as memory:
        thread = talk(memory)
        (attempt,) = thread.refine(limit=1).failed
        assert attempt.retry_at is not None
        report = thread.refine()
        assert (report.waiting, report.retry_at) == (1, attempt.retry_at)
        assert thread.summaries()[0].author == "extractive"
        clock.set(attempt.retry_at - timedelta(microseconds=1))
        assert thread.refine().attempts == ()
        clock.set(attempt.retry_at)
        report = thread.refine()
        assert report.written[0].number == 2
        assert (authors(thread), report.waiting, report.retry_at) == ({"small"}, 0, None)


def test_V009_after_so_many_failures_a_span_is_given_up_and_the_extractive_summary_stays() -> None:
    clock = FrozenClock()
    settings = Settings(window=600, refine="manual", model_backoff=Backoff(attempts=3))
    bad = ScriptedModel(lambda _: "nothing that cites anything", name="small")
    with opened(bad, clock, settings=settings) as memory:
        thread = talk(memory)
        count = len(thread.summaries())
        before = seen(thread)
        for number in (1, 2, 3):
            assert {attempt.number for attempt in thread.refine().failed} == {number}
            clock.advance(timedelta(hours=1))
        report = thread.refine()
        assert (report.attempts, report.given_up, report.waiting, bad.calls) == ((), count, 0, 3 * count)
        assert all(node.failed is not None and node.failed.given_up for node in thread.summaries())
        assert seen(thread) == before


def test_a_span_that_was_given_up_is_asked_for_again_when_it_changes_or_the_instructions_do() -> None:
    store = ReferenceStore()
    settings = Settings(window=600, refine="manual", model_backoff=Backoff(attempts=1))
    thread = talk(opened(failing("no"), store=store, settings=settings))
    assert thread.refine().given_up == len(thread.summaries())
    good = opened(model(), store=store, settings=settings)
    assert good.thread("t").refine().attempts == ()
    good.forget(message="u0")
    assert len(good.thread("t").refine().written) == 1
    told = Settings(window=600, refine="manual", model_backoff=Backoff(attempts=1), summary_instructions="Mind the depots.")
    assert len(opened(model(), store=store, settings=told).thread("t").refine().written) == len(thread.summaries()) - 1


def test_above_what_was_given_up_the_model_is_asked_all_the_same() -> None:
    def only_above(prompt: Prompt) -> str:
        return summing_up(prompt) if "user, " in prompt.user and "assistant, " not in prompt.user else "no"

    settings = Settings(window=600, segment_messages=6, node_fan_in=3, refine="manual", model_backoff=Backoff(attempts=1))
    with opened(ScriptedModel(only_above, name="small"), settings=settings) as memory:
        thread = memory.thread("t")
        for number in range(40):
            thread.append(said(number))
        thread.context()
        report = thread.refine()
        levels = {node.level: node.author for node in thread.summaries()}
        assert levels[1] == "extractive"
        assert report.given_up >= 3
        assert any(node.level == 2 and node.attempts for node in thread.summaries())


def test_a_model_out_of_reach_is_not_asked_for_everything_that_is_due() -> None:
    down = failing(ConnectionError())
    with opened(down) as memory:
        thread = talk(memory, 40)
        report = thread.refine()
        assert down.calls == len(report.failed) == 3
        assert report.due > 3


def test_an_attempt_quotes_nothing_of_what_was_said_or_answered() -> None:
    leaky = ScriptedModel(lambda prompt: ConnectionError(prompt.user), name="small")
    with opened(leaky) as memory:
        thread = talk(memory)
        (attempt,) = thread.refine(limit=1).failed
        assert (attempt.detail, attempt.usage.calls) == ("ConnectionError", 1)


# -- meanwhile -------------------------------------------------------------------------------------------------------------


def interrupted(memory_of: list[Memory], act: Callable[[Thread], object]) -> ScriptedModel:
    """A model during whose first answer something happens."""
    todo = [act]

    def answer(prompt: Prompt) -> str:
        if todo:
            todo.pop()(memory_of[0].thread("t"))
        return summing_up(prompt)

    return ScriptedModel(answer, name="small")


def while_asked(act: Callable[[Thread], object]) -> tuple[Memory, Thread]:
    memories: list[Memory] = []
    memories.append(opened(interrupted(memories, act)))
    return memories[0], talk(memories[0])


def test_V038_a_message_that_arrives_meanwhile_is_there_and_is_not_covered() -> None:
    memory, thread = while_asked(lambda thread: thread.append(said(99)))
    covered = [node.covers for node in thread.summaries()]
    thread.refine()
    assert [node.covers for node in thread.summaries()] == covered
    assert [message.id for message in thread.messages(2)] == ["u99", "a99"]
    assert "QX-1099" in thread.context().text
    assert not any("QX-1099" in line.text for node in thread.summaries() for line in node.lines)
    assert memory.check() == []


def test_V038_a_thread_that_is_forgotten_meanwhile_stays_forgotten() -> None:
    memory, thread = while_asked(lambda thread: thread.delete())
    report = thread.refine()
    assert (report.attempts, report.overtaken, report.usage.calls) == ((), 1, 1)
    assert (memory.threads(), memory.stats().nodes, memory.stats().attempts) == ([], 0, 0)


def test_V038_a_message_that_is_forgotten_meanwhile_is_in_no_summary() -> None:
    memory, thread = while_asked(lambda _: memory.forget(message="u0"))
    report = thread.refine()
    assert report.overtaken == 1
    assert not any("QX-1000" in line.text for node in thread.summaries() for line in node.lines if "u0" in line.sources)
    assert all("u0" not in line.sources for node in thread.summaries() for line in node.lines)
    assert (authors(thread), memory.check()) == ({"small"}, [])


def test_what_folds_meanwhile_is_kept_and_refined_after_it() -> None:
    def folds(thread: Thread) -> None:
        for number in range(20, 40):
            thread.append(said(number))
        thread.context()

    memory, thread = while_asked(folds)
    before = len(thread.summaries())
    thread.refine()
    assert len(thread.summaries()) > before
    assert (authors(thread), memory.check()) == ({"small"}, [])


def test_of_two_who_refine_at_once_one_writes_and_the_other_finds_it_done() -> None:
    memory, thread = while_asked(lambda thread: thread.refine(limit=1))
    report = thread.refine()
    assert report.overtaken == 1
    assert len(report.written) == len(thread.summaries()) - 1
    assert (authors(thread), memory.check()) == ({"small"}, [])
    assert len(thread.summaries()) == memory.stats().nodes


class BrokenStore(ReferenceStore):
    """Raises at the n-th verb from now on, before or after it is done."""

    def __init__(self) -> None:
        super().__init__()
        self.left = -1
        self.after = False

    def _step(self) -> bool:
        self.left -= 1
        return self.left == 0

    def read(self, request, /):  # type: ignore[no-untyped-def]
        if self._step():
            raise StoreBusy("locked")
        return super().read(request)

    def refine(self, request: Refine, /) -> None:
        broken = self._step()
        if broken and not self.after:
            raise StoreBusy("locked")
        super().refine(request)
        if broken:
            raise StoreBusy("locked")


@pytest.mark.parametrize("after", [False, True])
def test_V022_a_store_that_fails_at_any_step_leaves_every_node_old_or_new_and_the_next_call_goes_on(after: bool) -> None:
    for step in range(1, 60):
        store = BrokenStore()
        store.after = after
        with opened(model(), store=store) as memory:
            thread = talk(memory)
            messages, covers = thread.messages(), [node.covers for node in thread.summaries()]
            store.left = step
            try:
                thread.refine()
            except StoreBusy:
                done = False
            else:
                done = True
            store.left = -1
            assert memory.check() == []
            assert (thread.messages(), [node.covers for node in thread.summaries()]) == (messages, covers)
            thread.refine()
            assert authors(thread) == {"small"}
            if done:
                return
    pytest.fail("the call never came to its end")


def test_an_interrupt_in_the_middle_of_a_call_loses_nothing() -> None:
    answers: list[Scripted] = [KeyboardInterrupt()]
    stopped = ScriptedModel(lambda prompt: answers.pop() if answers else summing_up(prompt), name="small")
    with opened(stopped, settings=Settings(window=600, refine="manual", model_timeout=None)) as memory:
        thread = talk(memory)
        before = seen(thread)
        with pytest.raises(KeyboardInterrupt):
            thread.refine()
        assert (seen(thread), thread.summaries()[0].attempts) == (before, ())
        assert thread.refine().written


# -- forgetting ------------------------------------------------------------------------------------------------------------


def test_V082_forgetting_a_message_takes_the_models_lines_that_rest_on_it_to_the_last_byte(tmp_path: Path) -> None:
    with opened(model(), path=tmp_path / "a.db") as memory:
        thread = memory.thread("t")
        thread.add("user", "The keeper of the lighthouse of Ouessant is called Ewen Kerbrat.", id="secret")
        for number in range(20):
            thread.append(said(number))
        thread.context()
        thread.refine()
        assert any("Kerbrat" in line.text for node in thread.summaries() for line in node.lines)
        shown = thread.context()
        memory.forget(message="secret")
        assert not any("Kerbrat" in line.text for node in thread.summaries() for line in node.lines)
        assert memory.verify("The keeper of the lighthouse of Ouessant is called Ewen Kerbrat.", "Kerbrat").clean
        with pytest.raises(NotFound):
            memory.replay(shown.receipt_id)
        assert memory.check() == []


def test_V082_words_that_a_model_took_from_a_message_it_does_not_cite_go_with_that_message() -> None:
    def leaks(prompt: Prompt) -> str:
        told = (
            "[2] Parcel QX-1000 goes to depot 0 on Monday, where somebody limps.\n" if "He limps since" in prompt.user else ""
        )
        return told + summing_up(prompt)

    with opened(ScriptedModel(leaks, name="small"), settings=msgspec.structs.replace(SMALL, node_tokens=400)) as memory:
        thread = memory.thread("t")
        thread.add("user", "He limps since the storm.", id="secret")
        for number in range(60):
            thread.append(said(number))
        thread.context()
        thread.refine()
        leaked = [line for node in thread.summaries() for line in node.lines if "somebody limps" in line.text]
        assert leaked
        assert not any("secret" in line.sources for line in leaked)
        memory.forget(message="secret")
        assert not any("limps" in line.text for node in thread.summaries() for line in node.lines)
        assert memory.verify("somebody limps").clean
        assert memory.check() == []


def test_what_a_model_wrote_of_a_forgotten_message_is_written_anew_of_the_others() -> None:
    small = model()
    with opened(small) as memory:
        thread = talk(memory)
        thread.refine()
        memory.forget(message="u0")
        calls = small.calls
        report = thread.refine()
        assert small.calls == calls + len(report.written) > calls
        assert all("QX-1000" not in prompt.user.replace("noted parcel QX-1000", "") for prompt in small.prompts[calls:])
        assert thread.summaries()[0].lines


def test_forgetting_a_thread_leaves_no_attempt() -> None:
    with opened(failing("no")) as memory:
        thread = talk(memory)
        thread.refine()
        assert memory.stats().attempts > 0
        thread.delete()
        assert (memory.stats().attempts, memory.stats().nodes, memory.check()) == (0, 0, [])


# -- looking ---------------------------------------------------------------------------------------------------------------


def test_expanding_a_node_of_any_level_gives_the_messages_it_covers_in_order() -> None:
    with opened(model()) as memory:
        thread = talk(memory, 80)
        extractive = [node.id for node in thread.summaries()]
        thread.refine()
        by_seq = {message.seq: message for message in thread.messages()}
        assert {node.level for node in thread.summaries()} == {1, 2, 3}
        for node in thread.summaries():
            expected = [by_seq[seq] for first, last in node.covers for seq in range(first, last + 1)]
            assert thread.expand(node.id) == expected
        # What a receipt named before it was replaced.
        assert [message.id for message in thread.expand(extractive[0])][:2] == ["u0", "a0"]


def test_expanding_what_the_thread_does_not_have_is_not_found() -> None:
    with opened(model()) as memory:
        node_id = talk(memory).summaries()[0].id
        for thread, named in (("t", "n9"), ("other", node_id)):
            with pytest.raises(NotFound):
                memory.thread(thread).expand(named)
        memory.thread("t").delete()
        with pytest.raises(NotFound):
            memory.thread("t").expand(node_id)


def test_a_forgotten_message_is_not_expanded_to() -> None:
    with opened(model()) as memory:
        thread = talk(memory)
        thread.refine()
        memory.forget(message="u1")
        node = thread.summaries()[0]
        assert "u1" not in [message.id for message in thread.expand(node.id)]


def test_level_by_level_each_message_is_covered_once() -> None:
    with opened(model()) as memory:
        thread = talk(memory, 80)
        thread.refine()
        through = thread.info().folded_through
        for level in (1, 2, 3):
            covers = [span for node in thread.summaries() if node.level == level for span in node.covers]
            seqs = [seq for first, last in covers for seq in range(first, last + 1)]
            assert len(seqs) == len(set(seqs))
            assert max(seqs) <= through
        assert len([node for node in thread.summaries() if node.level == 1]) > 3


# -- on an event loop ------------------------------------------------------------------------------------------------------


def test_a_loop_refines_with_a_model_of_its_own_sort(tmp_path: Path) -> None:
    async def talk_async() -> None:
        asked = AsyncScriptedModel(summing_up, name="async")
        async with AsyncMemory(
            tmp_path / "a.db", language_model=asked, embedder=None, clock=FrozenClock(), settings=SMALL
        ) as memory:
            thread = memory.thread("t")
            for number in range(20):
                await thread.append(said(number))
            await thread.context()
            report = await thread.refine(limit=1)
            assert len(report.written) == 1
            report = await memory.refine()
            nodes = await thread.summaries()
            assert {node.author for node in nodes} == {"async"}
            assert asked.calls == len(nodes)
            assert [message.id for message in await thread.expand(nodes[0].id)][:2] == ["u0", "a0"]
            assert await memory.check() == []

    asyncio.run(talk_async())


def test_a_task_that_is_cancelled_while_it_asks_loses_nothing(tmp_path: Path) -> None:
    async def talk_async() -> None:
        begun = asyncio.Event()

        def hang(_: Prompt) -> Hang:
            begun.set()
            return Hang(60.0)

        asked = AsyncScriptedModel(hang, name="async")
        async with AsyncMemory(
            tmp_path / "a.db", language_model=asked, embedder=None, clock=FrozenClock(), settings=SMALL
        ) as memory:
            thread = memory.thread("t")
            for number in range(20):
                await thread.append(said(number))
            await thread.context()
            before = await thread.summaries()
            task = asyncio.create_task(thread.refine())
            await begun.wait()
            task.cancel()
            with pytest.raises(asyncio.CancelledError):
                await task
            assert await thread.summaries() == before
            assert await memory.check() == []

    asyncio.run(talk_async())


class CancellingStore(ReferenceStore):
    """Has the task that uses it cancelled in the middle of its n-th verb from now on."""

    def __init__(self) -> None:
        super().__init__()
        self.left = -1
        self.cancel: Callable[[], object] = lambda: None

    def _step(self) -> None:
        self.left -= 1
        if self.left == 0:
            self.cancel()

    def read(self, request: Read, /) -> Transcript:
        self._step()
        return super().read(request)

    def refine(self, request: Refine, /) -> None:
        self._step()
        super().refine(request)


def test_V020_a_task_that_is_cancelled_at_any_step_leaves_every_node_old_or_new_and_the_next_goes_on() -> None:
    async def once(step: int) -> bool:
        store = CancellingStore()
        asked = AsyncScriptedModel(summing_up, name="async")
        async with AsyncMemory(store=store, language_model=asked, embedder=None, clock=FrozenClock(), settings=SMALL) as memory:
            thread = memory.thread("t")
            for number in range(20):
                await thread.append(said(number))
            await thread.context()
            covers = [node.covers for node in await thread.summaries()]
            task = asyncio.create_task(thread.refine())
            loop = asyncio.get_running_loop()
            store.cancel = lambda: loop.call_soon_threadsafe(task.cancel)
            store.left = step
            await asyncio.wait([task])
            store.left = -1
            assert await memory.check() == []
            assert [node.covers for node in await thread.summaries()] == covers
            await thread.refine()
            assert {node.author for node in await thread.summaries()} == {"async"}
            return task.cancelled()

    cancelled = [asyncio.run(once(step)) for step in range(1, 22)]
    assert cancelled[:10] == [True] * 10
    assert not cancelled[-1]


# -- cases of the field ----------------------------------------------------------------------------------------------------


def test_V010_one_user_message_before_sixty_others_is_summarised_from_what_there_is() -> None:
    small = model()
    with opened(small) as memory:
        thread = memory.thread("t")
        thread.add("user", "Move every parcel to its depot.")
        for number in range(60):
            thread.add("assistant", f"Parcel QX-{2000 + number} is in depot {number} now.")
        thread.context(budget=2_000)
        thread.add("user", "And now?")
        for number in range(60, 100):
            thread.add("assistant", f"Parcel QX-{2000 + number} is in depot {number} now.")
        thread.context(budget=900)
        thread.refine()
        assert small.prompts
        assert all("[1] " in prompt.user for prompt in small.prompts)
        assert not any("please provide" in line.text.lower() for node in thread.summaries() for line in node.lines)


def test_V011_every_message_is_verbatim_or_covered_by_a_models_summary() -> None:
    with opened(model()) as memory:
        thread = talk(memory)
        thread.refine()
        covered = {seq for node in thread.summaries() for first, last in node.covers for seq in range(first, last + 1)}
        verbatim = {message.seq for message in thread.messages() if message.text in thread.context().text}
        assert covered | verbatim == {message.seq for message in thread.messages()}


def test_V012_a_model_that_repeats_and_adds_never_makes_a_summary_grow() -> None:
    written: list[str] = []

    def hoarder(prompt: Prompt) -> str:
        written.append(summing_up(prompt))
        return "\n".join(written)

    count = BuiltinCounter().count
    with opened(ScriptedModel(hoarder, name="small")) as memory:
        thread = memory.thread("t")
        for number in range(120):
            thread.append(said(number))
            if number % 6 == 5:
                assert thread.context().tokens <= 600
                thread.refine()
        assert all(sum(count(line.text) for line in node.lines) <= SMALL.node_tokens for node in thread.summaries())


def test_V013_the_newest_instruction_is_there_verbatim_after_the_model_has_written() -> None:
    with opened(model()) as memory:
        thread = talk(memory)
        thread.add("user", "Show me the plan first, marker PLAN-7.")
        thread.context()
        thread.refine()
        assert thread.context().to_openai()[-1] == {"role": "user", "content": "Show me the plan first, marker PLAN-7."}


def test_V014_instructions_are_in_the_prompt_and_never_in_the_thread_or_its_context() -> None:
    def obeys(prompt: Prompt) -> str:
        return f"[1] List open tasks, marker ZX9.\n{summing_up(prompt)}"

    small = ScriptedModel(obeys, name="small")
    settings = Settings(window=600, refine="manual", summary_instructions="list open tasks, marker ZX9")
    with opened(small, settings=settings) as memory:
        thread = talk(memory)
        thread.refine()
        assert all("ZX9" in prompt.system for prompt in small.prompts)
        assert authors(thread) == {"small"}
        assert "ZX9" not in thread.context().text
        assert not any("ZX9" in message.text for message in thread.messages())
        assert not any("ZX9" in line.text for node in thread.summaries() for line in node.lines)


def test_V015_an_oversized_result_is_cut_for_the_model_which_is_never_asked_about_nothing() -> None:
    small = model()
    with opened(small) as memory:
        thread = memory.thread("t")
        thread.append(said(1))
        thread.append(
            [
                {"role": "user", "content": "Read the log of depot 3."},
                {
                    "role": "assistant",
                    "tool_calls": [{"id": "c", "type": "function", "function": {"name": "read", "arguments": "{}"}}],
                },
                {"role": "tool", "tool_call_id": "c", "content": "line of the log. " * 2_000},
                {"role": "assistant", "content": "The log of depot 3 has 2000 lines."},
            ]
        )
        for number in range(2, 20):
            thread.append(said(number))
        thread.context()
        thread.refine()
        count = BuiltinCounter().count
        assert small.prompts
        assert all(count(prompt.text) <= SMALL.model_window for prompt in small.prompts)
        assert all("[1] " in prompt.user for prompt in small.prompts)


PAPER = "It is wrapped in paper. " * 8


def test_V016_the_summarisers_window_is_its_own_and_a_long_span_takes_several_passes() -> None:
    small = ScriptedModel(lambda prompt: summing_up(prompt).replace(PAPER.strip(), ""), name="small")
    settings = Settings(window=1_000, refine="manual", model_window=1_500, segment_messages=40, node_tokens=120)
    with opened(small, settings=settings) as memory:
        thread = memory.thread("t")
        for number in range(60):
            thread.add("user", f"Parcel QX-{number} goes to depot {number}. {PAPER}")
        thread.context()
        count = BuiltinCounter().count
        nodes = len(thread.summaries())
        report = thread.refine()
        assert len(report.written) == nodes
        assert report.usage.calls > nodes
        assert all(count(prompt.text) + prompt.max_tokens <= 1_500 for prompt in small.prompts)


def test_V018_the_same_context_after_close_and_reopen_in_another_handle(tmp_path: Path) -> None:
    with opened(model(), path=tmp_path / "a.db") as memory:
        thread = talk(memory)
        thread.refine()
        before = thread.context("parcels")
    silent = ScriptedModel([])
    with opened(silent, path=tmp_path / "a.db") as memory:
        after = memory.thread("t").context("parcels")
        assert (after.messages, after.tokens) == (before.messages, before.tokens)
        assert memory.thread("t").refine().attempts == ()


def test_V019_summaries_go_on_for_as_long_as_the_thread_does() -> None:
    small = model()
    with opened(small) as memory:
        thread = memory.thread("t")
        for number in range(250):
            thread.append(said(number))
            if number % 10 == 9:
                assert thread.context().tokens <= 600
                thread.refine()
        assert authors(thread) == {"small"}
        assert thread.info().folded_through > 450


def test_V030_every_message_is_shown_to_the_model_once_on_the_lowest_level() -> None:
    small = model()
    with opened(small) as memory:
        thread = memory.thread("t")
        for number in range(60):
            thread.append(said(number))
            # A caller that passes its whole history again adds nothing.
            thread.append([message for n in range(number + 1) for message in said(n)])
            thread.context()
            thread.refine()
        asked = [line for prompt in small.prompts for line in prompt.user.splitlines() if "noted parcel" in line]
        told = re.findall(r"I noted parcel (QX-\d+)", "\n".join(line for line in asked if "Summed up" not in line))
        assert told
        # From the second level on lines of summaries are shown, the extractive ones among them word for word.
        lowest = [node for node in thread.summaries() if node.level == 1]
        assert len(thread.messages()) == 120
        assert sum(last - first + 1 for node in lowest for first, last in node.covers) == thread.info().folded_through


def test_V062_one_oversized_message_is_summarised_once() -> None:
    small = model()
    with opened(small, settings=Settings(window=1_000, refine="manual")) as memory:
        thread = memory.thread("t")
        thread.append(said(0))
        thread.add("user", "Here is the manifest. " + "Crate of lamps, crate of ropes. " * 800, id="big")
        for number in range(1, 8):
            thread.append(said(number))
            assert thread.context().tokens <= 1_000
            thread.refine()
        assert sum("Here is the manifest" in prompt.user and "Summed up" not in prompt.user for prompt in small.prompts) == 1


def test_V067_a_reply_in_blocks_is_a_failed_attempt_and_never_their_repr() -> None:
    def blocks(_: str) -> str:
        return [{"type": "thinking", "thinking": "hm"}, {"type": "text", "text": "[1] S"}]  # type: ignore[return-value]

    with opened(blocks) as memory:
        thread = talk(memory)
        (attempt,) = thread.refine(limit=1).failed
        assert attempt.reason == "error"
        assert authors(thread) == {"extractive"}
        assert "thinking" not in thread.context().text


def test_V067_thinking_before_a_summary_is_no_part_of_it() -> None:
    def thinks(prompt: Prompt) -> str:
        return f"<think>[1] The user wants parcels.</think>\n{summing_up(prompt)}"

    with opened(ScriptedModel(thinks, name="small")) as memory:
        thread = talk(memory)
        thread.refine()
        assert authors(thread) == {"small"}
        assert not any("wants parcels" in line.text for node in thread.summaries() for line in node.lines)
