"""A model that fails: nothing of the thread changes, and it is asked again after a while, not for ever."""

from __future__ import annotations

import re
from collections.abc import Callable
from datetime import timedelta

import msgspec
import pytest
from tests.path.refining import SMALL, authors, failing, model, opened, said, seen, talk

from bethink import Backoff, Settings
from bethink.models.language import Prompt, Reply
from bethink.models.tokens import BuiltinCounter
from bethink.storage.reference import ReferenceStore
from bethink.testing.doubles import FrozenClock, Hang, Scripted, ScriptedModel, summing_up

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
