"""A model's summaries, end to end: `Thread.refine`, `Memory.refine`, `summaries`, `expand`."""

from __future__ import annotations

import msgspec
import pytest
from tests.path.refining import SMALL, authors, model, opened, said, talk

from bethink import AsyncMemory, Hierarchy, InvalidInput, NotFound, Settings
from bethink.models.language import Prompt, Reply
from bethink.models.tokens import BuiltinCounter
from bethink.storage.reference import ReferenceStore
from bethink.testing.doubles import ScriptedModel, summing_up

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
