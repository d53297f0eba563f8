"""A language model in the steps of long-term memory: what it brings, and that it can do no harm."""

from __future__ import annotations

import json
from datetime import timedelta

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.path.curating import (
    SETTINGS,
    STEPS,
    decisions,
    encoded,
    good,
    insights,
    item,
    known,
    opened,
    pairs_of,
    scripted,
    shown,
    talked,
)

from bethink import AsyncMemory, Budget, Insight, Limits, Memory, Message, RefineReport, Settings, Summary
from bethink.errors import InvalidInput
from bethink.insights.model_reconcile import Decision, Pair, decided_changes
from bethink.models.language import Prompt, Reply
from bethink.storage.reference import ReferenceStore
from bethink.testing.doubles import AsyncScriptedModel, FrozenClock, Hang, Scripted

EXTRACT = msgspec.structs.replace(SETTINGS, model_steps=("extract",))
RECONCILE = msgspec.structs.replace(SETTINGS, model_steps=("extract", "reconcile"))


def drawn(memory: Memory) -> list[Insight]:
    return [each for each in known(memory) if isinstance(each, Insight) and "drawn_by" in each.metadata]


def extracted(reply: str, *said: tuple[str, str]) -> tuple[list[Insight], RefineReport]:
    """What a reply brings for a thread in which this was said."""
    with opened(scripted(reply), settings=EXTRACT) as memory:
        thread = memory.thread("t")
        for role, text in said:
            thread.add(role, text)  # type: ignore[arg-type]
        report = thread.refine()
        assert memory.check() == []
        return drawn(memory), report


# -- extracting -----------------------------------------------------------------------------------------------------------


def test_what_a_model_finds_is_kept_in_the_words_of_the_user_with_its_source_model_and_prompt() -> None:
    reply = insights(item(1, "black coffee", quote="dig black coffee", text="adores espresso", color="brown"))
    (found,), report = extracted(reply, ("user", "These days I really dig black coffee. It rains."))
    assert (found.text, found.slot, found.subject) == ("These days I really dig black coffee.", "likes:black coffee", "user")
    assert found.metadata == {"drawn_by": "small", "prompt": "extract 1"}
    assert (found.sources[0].start, found.sources[0].end, found.confidence) == (0, 37, 0.7)
    (asked,) = report.asked
    assert (asked.model, asked.prompt, asked.kept, asked.dropped, asked.usage.calls) == ("small", "extract 1", 1, {}, 1)


@pytest.mark.parametrize(
    ("why", "given"),
    [
        ("unknown number", item(7, "black coffee")),
        ("unknown number", item(0, "black coffee")),
        ("unknown number", {"about": "user", "topic": "preference", "value": "black coffee"}),
        ("not said by a user", item(2, "skiing")),
        ("not in its source", item(1, "green tea")),
        ("not in its source", item(1, "black rain")),
        ("misquoted", item(1, "black coffee", quote="I love black coffee")),
        ("unknown person", item(1, "black coffee", about="Kim")),
        ("incomplete", item(1, "")),
        ("incomplete", item(1, "black coffee", slot="other", topic="horoscope")),
        ("damaged", "black coffee"),
    ],
)
def test_V091_what_does_not_stand_is_dropped_and_counted_and_the_rest_is_kept(why: str, given: object) -> None:
    reply = insights(given, item(3, "night walks"))
    said = (("user", "These days I really dig black coffee. It rains."), ("assistant", "You love skiing."))
    found, report = extracted(reply, *said, ("user", "What I enjoy most are night walks."))
    assert [each.value for each in found] == ["night walks"]
    assert report.asked[0].dropped == {why: 1}


def test_V095_roles_reach_the_model_and_a_suggestion_of_the_assistant_is_no_fact() -> None:
    model = scripted(insights(item(2, "skiing"), item(1, "skiing")))
    with opened(model, settings=EXTRACT) as memory:
        thread = memory.thread("t")
        thread.add("user", "Any holiday ideas?")
        thread.add("assistant", "You love skiing in Norway, go there.")
        report = thread.refine()
        assert [(number, role) for number, role, _ in shown(model.prompts[0])] == [(1, "user"), (2, "assistant")]
        assert drawn(memory) == []
        assert report.asked[0].dropped == {"not in its source": 1, "not said by a user": 1}


def test_V096_what_is_said_of_a_colleague_is_about_the_colleague() -> None:
    reply = insights(item(1, "brass bands", about="Kim", negative=True))
    with opened(scripted(reply), settings=EXTRACT) as memory:
        memory.thread("t").add("user", "As for my colleague Kim, no brass bands near her.")
        memory.refine()
        (found,) = drawn(memory)
        assert (found.subject, found.polarity, found.metadata["told_by"]) == ("kim", "negative", "user")
        assert "brass bands" not in " ".join(each.value for each in memory.profile())


def test_V096_what_rules_have_read_of_a_colleague_does_not_become_the_users() -> None:
    found, report = extracted(insights(item(1, "jazz", negative=True)), ("user", "My colleague Kim cannot stand jazz."))
    assert found == []
    assert report.asked[0].dropped == {"known by rule": 1}


def test_V096_a_sentence_that_says_nothing_of_its_speaker_is_no_fact_about_him() -> None:
    said = "The trains of the north are late and the people there are used to it, and the weather is what it is."
    found, report = extracted(insights(item(1, "trains")), ("user", said))
    assert (found, report.asked[0].dropped) == ([], {"not about its speaker": 1})


def test_V097_the_language_of_the_user_is_named_and_his_words_are_kept() -> None:
    said = "Para mim não há nada como os comboios da noite, e também gosto muito de viajar com os meus filhos."
    model = scripted(insights(item(1, "comboios da noite"), item(1, "night trains")))
    with opened(model, settings=EXTRACT) as memory:
        memory.thread("t").add("user", said)
        memory.refine()
        assert "Write in Portuguese" in model.prompts[0].system
        assert [each.text for each in drawn(memory)] == [said]
        assert memory.recall("comboios", kinds=("insight",)).hits


def test_V099_one_foreign_word_does_not_change_the_language_that_is_named() -> None:
    model = scripted(insights())
    with opened(model, settings=EXTRACT) as memory:
        thread = memory.thread("t")
        thread.add("user", "Ich habe gestern zum ersten Mal お好み焼き gegessen und es war für mich das Beste von allen.")
        thread.add("assistant", "That is great, and what do you like about it, if I may ask you?")
        thread.refine()
        assert "Write in German" in model.prompts[0].system


def test_the_trust_of_an_insight_is_that_of_its_message_and_a_page_is_no_evidence() -> None:
    model = scripted(insights(item(1, "black coffee")))
    with opened(model, settings=EXTRACT) as memory:
        memory.thread("t").append([Message(role="user", content="I dig black coffee.", external=True)])
        report = memory.refine()
        assert (model.calls, drawn(memory), report.asked) == (0, [], ())


def test_what_memory_has_put_into_a_prompt_is_not_extracted_again() -> None:
    model = scripted(insights(item(1, "black coffee")))
    with opened(model, settings=EXTRACT) as memory:
        memory.thread("t").add("user", "<memory>The user digs black coffee.</memory> What now?")
        memory.refine()
        assert "coffee" not in model.prompts[0].user
        assert drawn(memory) == []


def test_nothing_is_asked_twice_and_what_is_said_later_once() -> None:
    model = scripted(good)
    with opened(model, settings=EXTRACT) as memory:
        talked(memory)
        first = memory.refine()
        assert (memory.refine().asked, model.calls) == ((), 1)
        memory.thread("t").add("user", "Lately I enjoy river swims.")
        (later,) = memory.refine().asked
        assert (first.asked[0].through, later.first, later.through) == (5, 6, 6)
        assert [words for _, _, words in shown(model.prompts[1])] == ["Lately I enjoy river swims."]


def test_a_long_past_is_asked_about_in_several_calls_that_fit_the_window() -> None:
    model = scripted(good)
    with opened(model, settings=EXTRACT) as memory:
        thread = memory.thread("t")
        for number in range(60):
            thread.add("user", f"What I enjoy is hobby number {number}.")
        plan = thread.plan()
        report = thread.refine()
        assert [(each.first, each.through) for each in plan.planned] == [(each.first, each.through) for each in report.asked]
        assert [each.first for each in report.asked] == [1, 25, 49]
        assert len(drawn(memory)) == 60


def test_a_fork_and_a_forgotten_message_make_no_model_ask_again() -> None:
    model = scripted(good)
    with opened(model, settings=EXTRACT) as memory:
        talked(memory, end=False)
        memory.refine()
        memory.thread("t").fork(at=3, thread_id="fork")
        memory.forget(message="t3")
        assert memory.refine().asked == ()
        assert memory.check() == []


def test_an_insight_goes_with_its_message() -> None:
    with opened(scripted(good), settings=EXTRACT) as memory:
        talked(memory)
        memory.refine()
        memory.forget(message="t2")
        assert "These days I really dig black coffee." not in [each.text for each in drawn(memory)]
        assert memory.verify("really dig black coffee").clean


def test_with_review_it_waits_for_somebodys_word() -> None:
    with opened(scripted(good), settings=msgspec.structs.replace(SETTINGS, review=True)) as memory:
        talked(memory)
        report = memory.refine()
        assert [each.step for each in report.asked] == ["extract"]
        assert drawn(memory) == []
        assert [each.text for each in memory.pending() if "dig black coffee" in each.text]


def test_what_a_model_has_drawn_can_be_undone() -> None:
    with opened(scripted(good), settings=EXTRACT) as memory:
        talked(memory)
        memory.refine()
        memory.undo(next(each.id for each in memory.changes() if each.what == "drawn"))
        assert [each for each in drawn(memory) if each.current] == []


# -- reconciling ----------------------------------------------------------------------------------------------------------


def reconciled(decide: object, *, said: tuple[str, ...] = ()) -> tuple[list[Insight], RefineReport]:
    """What a script of decisions makes of two insights that are near each other."""

    def script(prompt: Prompt) -> str:
        if prompt.purpose == "extract":
            return good(prompt)
        assert pairs_of(prompt) == [(1, 2)]
        return decide(prompt) if callable(decide) else str(decide)

    clock = FrozenClock()
    with opened(scripted(script), clock, settings=RECONCILE) as memory:
        for text in said or ("These days I really dig black coffee.", "My mornings begin with strong coffee."):
            memory.thread("t").add("user", text)
            clock.advance(timedelta(hours=1))
        report = memory.refine()
        assert memory.check() == []
        return drawn(memory), report


def test_one_that_says_the_same_in_other_words_is_merged_with_its_sources() -> None:
    (older, newer), report = reconciled(decisions((1, 2, "merge")))
    assert (older.current, len(older.sources)) == (True, 2)
    assert (newer.current, newer.superseded_by, newer.reason) == (False, older.id, "merged")
    assert report.asked[-1].kept == 1


def test_a_newer_state_takes_the_place_of_the_older_which_stays_in_history() -> None:
    (older, newer), _ = reconciled(decisions(("1", "[2]", "UPDATE")))
    assert newer.current
    assert (older.current, older.superseded_by, older.reason) == (False, newer.id, "superseded")
    assert older.valid_to == newer.valid_from


def test_what_is_two_things_stays_two() -> None:
    found, report = reconciled(decisions((1, 2, "none")))
    assert all(each.current for each in found)
    assert (report.asked[-1].kept, report.asked[-1].dropped) == (0, {})


@pytest.mark.parametrize(
    ("why", "given"),
    [
        ("unknown number", (12, 2, "supersede")),
        ("unknown number", (1, "abc", "supersede")),
        ("unknown number", (1, None, "merge")),
        ("unknown number", ("019b8d62-7a80-7eae-b872-70d142a9087a", 2, "supersede")),
        ("pair not offered", (1, 1, "supersede")),
        ("unknown action", (1, 2, "delete")),
        ("decided twice", (1, 2, "supersede")),
    ],
)
def test_V091_numbers_that_were_not_offered_change_nothing_and_the_others_count(
    why: str, given: tuple[object, object, str]
) -> None:
    (older, newer), report = reconciled(decisions((1, 2, "merge"), given))
    assert (older.current, newer.current) == (True, False)
    assert report.asked[-1].dropped == {why: 1}


def test_V091_another_tenants_record_is_never_offered_and_cannot_be_named() -> None:
    replies = {"id": ""}

    def script(prompt: Prompt) -> str:
        return good(prompt) if prompt.purpose == "extract" else decisions((replies["id"], 1, "supersede"), (1, 2, "none"))

    store = ReferenceStore()
    other = opened(scripted(good), store=store, settings=EXTRACT, namespace=("other",))
    talked(other)
    other.refine()
    theirs = list(other.profile())
    replies["id"] = theirs[0].id
    model = scripted(script)
    mine = opened(model, store=store, settings=RECONCILE, namespace=("mine",))
    talked(mine)
    report = mine.refine()
    assert report.asked[-1].dropped == {"unknown number": 1}
    assert not any(each.id in prompt.text for prompt in model.prompts for each in theirs)
    assert list(other.profile()) == theirs


def test_nothing_that_is_pinned_or_of_a_safety_kind_is_closed_by_a_model() -> None:
    def script(prompt: Prompt) -> str:
        return insights() if prompt.purpose == "extract" else decisions(*[(a, b, "supersede") for a, b in pairs_of(prompt)])

    with opened(scripted(script), settings=RECONCILE) as memory:
        for text in ("I am allergic to peanuts.", "I am allergic to roasted peanuts.", "I like tea.", "I like green tea."):
            memory.thread("t").add("user", text)
        memory.pin(next(each.id for each in memory.profile() if each.value == "tea"))
        report = memory.refine()
        assert (report.asked[-1].kept, report.asked[-1].dropped) == (0, {"protected": 2})
        assert sorted(each.value for each in memory.profile()) == ["green tea", "peanuts", "roasted peanuts", "tea"]


def test_what_nobody_protects_is_closed_as_it_decides() -> None:
    def script(prompt: Prompt) -> str:
        return insights() if prompt.purpose == "extract" else decisions(*[(a, b, "supersede") for a, b in pairs_of(prompt)])

    with opened(scripted(script), settings=RECONCILE) as memory:
        for text in ("I like tea.", "I like green tea."):
            memory.thread("t").add("user", text)
        assert memory.refine().asked[-1].kept == 1
        assert [each.value for each in memory.profile()] == ["green tea"]


def test_what_is_trusted_less_neither_supersedes_nor_joins_what_a_user_said() -> None:
    with opened(scripted(good), settings=EXTRACT) as memory:
        talked(memory)
        memory.refine()
        older, newer = (each for each in memory.profile() if each.value in ("black coffee", "strong coffee"))
        doubtful = msgspec.structs.replace(newer, trust="external")
        for action in ("merge", "supersede"):
            decision = Decision(Pair(doubtful, older), action)
            changes, dropped = decided_changes(
                [decision], [older, doubtful], now=newer.recorded_at, retention=SETTINGS.retention
            )
            assert (changes.records, changes.retire, dropped) == ((), (), {"trusted less": 1})


def test_different_people_are_never_compared() -> None:
    model = scripted(lambda prompt: insights() if prompt.purpose == "extract" else decisions((1, 2, "supersede")))
    with opened(model, settings=RECONCILE) as memory:
        memory.thread("t").add("user", "I like black coffee. My colleague Kim likes strong black coffee.")
        memory.refine()
        assert {prompt.purpose for prompt in model.prompts} == {"extract"}


# -- importance and reflection --------------------------------------------------------------------------------------------


def test_how_much_insights_matter_is_judged_and_what_they_were_is_kept() -> None:
    settings = msgspec.structs.replace(SETTINGS, model_steps=("importance",))
    with opened(scripted(good), settings=settings) as memory:
        memory.thread("t").add("user", "I like black coffee. I live in Porto.")
        report = memory.refine()
        assert {each.importance for each in memory.profile()} == {"high"}
        assert report.asked[0].kept == 2
        assert memory.refine().asked == ()


@pytest.mark.parametrize(
    ("why", "given"),
    [
        ("unknown number", {"id": 9, "importance": "high"}),
        ("unknown importance", {"id": 1, "importance": "vital"}),
        ("unknown importance", {"id": 1, "importance": 11}),
        ("decided twice", {"id": 2, "importance": "high"}),
    ],
)
def test_an_importance_that_is_none_is_dropped_and_counted(why: str, given: object) -> None:
    settings = msgspec.structs.replace(SETTINGS, model_steps=("importance",))
    reply = json.dumps({"importance": [{"id": 2, "importance": "low"}, given]})
    with opened(scripted(reply), settings=settings) as memory:
        memory.thread("t").add("user", "I like black coffee. I live in Porto.")
        report = memory.refine()
        assert (report.asked[0].dropped, report.asked[0].kept) == ({why: 1}, 1)
        assert sorted(each.importance for each in memory.profile()) == ["low", "medium"]


def summed_up(memory: Memory) -> Summary:
    reflection = memory.thread("t").reflection()
    assert reflection is not None
    assert reflection.summary is not None
    return reflection.summary


def test_a_session_that_was_ended_is_summed_up_and_its_summary_goes_whole_with_a_message() -> None:
    settings = msgspec.structs.replace(SETTINGS, model_steps=("reflect",))
    with opened(scripted(good), settings=settings) as memory:
        talked(memory)
        without = summed_up(memory)
        report = memory.refine()
        found = summed_up(memory)
        assert (found.author, found.lines[0].text[:9]) == ("small", "Summed up")
        assert (found.id != without.id, report.asked[0].first) == (True, 5)
        assert memory.refine().asked == ()
        memory.forget(message="t1")
        left = summed_up(memory)
        assert (left.id, left.author) == (without.id, "")
        assert memory.check() == []


def test_a_session_that_goes_on_is_summed_up_again_when_it_ends_again() -> None:
    settings = msgspec.structs.replace(SETTINGS, model_steps=("reflect",))
    with opened(scripted(good), settings=settings) as memory:
        talked(memory)
        memory.refine()
        memory.thread("t").add("user", "One thing more: the hotel is booked for 4 nights.")
        memory.thread("t").end()
        memory.refine()
        summaries = [each for each in known(memory) if isinstance(each, Summary)]
        assert [(each.through, each.author) for each in summaries if each.current] == [(6, "small")]
        assert len(summaries) == 4


# -- failing --------------------------------------------------------------------------------------------------------------

FAILURES: list[Scripted] = [
    ConnectionError("no route to host"),
    TimeoutError("slow"),
    "",
    "  \n",
    "I'm sorry, but I can't help with that request.",
    "{the trip} and [more",
    '{"insights": "none", "decisions": "none", "importance": "none"}',
    Reply('{"insights": [{"message": 1, "quote": "I li', truncated=True),
    insights(item(99, "green tea"), item(2, "skiing"), item(1, "moon cheese"), 7),
    decisions((99, 1, "supersede"), ("x", "y", "merge"), (1, 1, "merge")),
    json.dumps({"importance": [{"id": 99, "importance": "high"}, {"id": 1, "importance": "godlike"}]}),
    "[1] The moon is made of cheese. [2] Everything is green.",
    "\ud800\x00\ufeff",
    "[" * 3_000,
]


def without_a_model() -> bytes:
    with opened(None) as memory:
        talked(memory)
        memory.profile()
        return encoded(memory)


@pytest.mark.parametrize("answer", FAILURES, ids=range(len(FAILURES)))
def test_whatever_fails_everything_is_as_without_a_model(answer: Scripted) -> None:
    with opened(scripted(answer)) as memory:
        talked(memory)
        report = memory.refine()
        assert report.asked
        assert encoded(memory) == without_a_model()
        assert memory.check() == []


def test_a_call_that_hangs_fails_in_time() -> None:
    slow = scripted(Hang(30.0))
    with opened(slow, settings=msgspec.structs.replace(SETTINGS, model_timeout=timedelta(seconds=0.05))) as memory:
        talked(memory)
        report = memory.refine()
        assert {each.reason for each in report.failed} == {"timeout"}
        assert encoded(memory) == without_a_model()
    slow.release()


@given(st.data())
def test_whichever_calls_fail_in_whichever_way_it_ends_as_if_none_had(data: st.DataObject) -> None:
    def script(prompt: Prompt) -> Scripted:
        broken = [answer for answer in FAILURES[:6] if not isinstance(answer, Reply)]
        return data.draw(st.sampled_from([*broken, None])) or good(prompt)

    def run(memory: Memory, clock: FrozenClock) -> bytes:
        talked(memory)
        for _ in range(4):
            memory.refine()
            clock.advance(timedelta(hours=2))
        return b"\n".join(sorted(each.text.encode() for each in known(memory) if each.current))

    clock, sound = FrozenClock(), FrozenClock()
    settings = msgspec.structs.replace(SETTINGS, model_backoff=msgspec.structs.replace(SETTINGS.model_backoff, attempts=99))
    with opened(scripted(script), clock, settings=settings) as memory, opened(scripted(good), sound) as whole:
        run(memory, clock)
        memory._engine.language_model = scripted(good)
        for _ in range(4):
            memory.refine()
            clock.advance(timedelta(hours=2))
        wanted = run(whole, sound)
        assert b"\n".join(sorted(each.text.encode() for each in known(memory) if each.current)) == wanted
        assert memory.check() == []


def test_what_failed_waits_is_tried_again_and_is_given_up_in_the_end() -> None:
    clock = FrozenClock()
    with opened(scripted("nothing to read"), clock, settings=EXTRACT) as memory:
        talked(memory)
        (first,) = memory.refine().failed
        assert (first.reason, memory.refine().waiting, memory.plan().failed) == ("unreadable", 1, (first,))
        for number in range(2, 7):
            clock.advance(timedelta(hours=2))
            (again,) = memory.refine().failed
            assert again.number == number
        clock.advance(timedelta(days=9))
        assert (memory.refine().given_up, memory.plan().given_up, memory.plan().calls) == (1, 1, 0)
        memory._engine.language_model = scripted(good, name="another")
        assert memory.refine().asked[0].kept > 0


def test_an_outage_of_any_length_leaves_no_trace() -> None:
    clock = FrozenClock()
    with opened(scripted(ConnectionError()), clock, settings=EXTRACT) as memory:
        talked(memory)
        for number in range(1, 20):
            (failed,) = memory.refine().failed
            assert (failed.reason, failed.number) == ("error", number)
            clock.advance(timedelta(hours=2))
        memory._engine.language_model = scripted(good)
        assert [asked.kept for asked in memory.refine().asked] == [3]


def test_the_prompts_carry_the_schema_of_their_answers() -> None:
    model = scripted(good)
    with opened(model) as memory:
        talked(memory)
        memory.refine()
        schemas = {prompt.purpose: prompt.schema and prompt.schema["required"] for prompt in model.prompts}
        assert schemas == {
            "extract": ["insights"],
            "reconcile": ["decisions"],
            "importance of insights": ["importance"],
            "reflect": None,
        }


def test_after_three_errors_in_a_row_the_rest_is_left_for_later() -> None:
    model = scripted(ConnectionError())
    with opened(model, settings=EXTRACT) as memory:
        for name in "abcde":
            talked(memory, name)
        report = memory.refine()
        assert (model.calls, report.due, len(report.failed)) == (3, 2, 3)


def test_of_two_who_ask_for_the_same_one_wins() -> None:
    store = ReferenceStore()
    second = opened(scripted(good), store=store, settings=EXTRACT)

    def script(prompt: Prompt) -> str:
        second.refine()
        return good(prompt)

    first = opened(scripted(script), store=store, settings=EXTRACT)
    talked(first)
    report = first.refine()
    assert (report.overtaken, report.asked) == (1, ())
    assert len({each.id for each in drawn(first)}) == len(drawn(first)) == 3


def test_what_is_forgotten_while_the_model_works_is_not_drawn_from() -> None:
    def script(prompt: Prompt) -> str:
        memory.forget(message="t2")
        return good(prompt)

    memory = opened(scripted(script), settings=EXTRACT)
    talked(memory)
    report = memory.refine()
    assert (report.overtaken, drawn(memory)) == (1, [])
    assert memory.verify("really dig black coffee").clean


# -- choice, budgets, plan ------------------------------------------------------------------------------------------------


def test_by_default_a_model_does_none_of_it() -> None:
    model = scripted(good)
    with opened(model, settings=Settings(refine="manual")) as memory:
        talked(memory)
        assert (memory.refine().asked, model.calls) == ((), 0)


@pytest.mark.parametrize("step", STEPS)
def test_each_step_is_chosen_by_itself(step: str) -> None:
    with opened(scripted(good), settings=Settings(refine="manual")) as memory:
        talked(memory)
        memory.thread("t").add("user", "I like strong black coffee. I like black coffee.")
        memory.thread("t").end()
        assert {each.step for each in memory.refine(steps=[step]).asked} == {step}  # type: ignore[list-item]


@pytest.mark.parametrize("steps", [["dream"], "extract"])
def test_an_unknown_step_is_refused(steps: object) -> None:
    with opened(scripted(good)) as memory, pytest.raises(InvalidInput, match="steps"):
        memory.refine(steps=steps)  # type: ignore[arg-type]
    with pytest.raises(InvalidInput, match="model_steps"):
        Settings(model_steps=("dream",))  # type: ignore[arg-type]


def told(prompt: Prompt) -> Reply:
    return Reply(good(prompt), tokens_in=100, tokens_out=50, cost=0.01)


@pytest.mark.parametrize(
    ("limits", "limited", "calls"),
    [
        (Limits(per_call=Budget(max_calls=2)), "per_call.max_calls", 2),
        (Limits(per_thread=Budget(max_calls=1)), "per_thread.max_calls", 2),
        (Limits(per_day=Budget(max_calls=3)), "per_day.max_calls", 3),
        (Limits(per_day=Budget(max_cost=0.02)), "per_day.max_cost", 2),
        (Limits(per_call=Budget(max_tokens=1_300)), "per_call.max_tokens", 3),
        (Limits(per_call=Budget(max_tokens=200)), "per_call.max_tokens", 0),
        (Limits(model_calls=1), "model_calls", 2),
    ],
)
def test_no_call_passes_a_budget(limits: Limits, limited: str, calls: int) -> None:
    model = scripted(told)
    with opened(model, limits=limits) as memory:
        talked(memory, "a")
        talked(memory, "b")
        report = memory.refine()
        assert (model.calls, report.limited, report.due > 0) == (calls, limited, True)
        assert memory.check() == []


def test_a_budget_of_a_day_is_there_again_on_the_next_and_one_of_a_thread_is_not() -> None:
    clock, model = FrozenClock(), scripted(told)
    limits = Limits(per_day=Budget(max_calls=1), per_thread=Budget(max_calls=2))
    with opened(model, clock, limits=limits) as memory:
        talked(memory)
        for expected in ("per_day.max_calls", "per_day.max_calls", "per_thread.max_calls"):
            assert memory.refine().limited == expected or expected == "per_day.max_calls"
            clock.advance(timedelta(days=1))
        assert model.calls == 2


def test_a_budget_can_be_given_for_one_call() -> None:
    model = scripted(told)
    with opened(model) as memory:
        talked(memory)
        assert memory.refine(budget=Budget(max_calls=1)).limited == "per_call.max_calls"
        assert model.calls == 1


@pytest.mark.parametrize("field", ["max_calls", "max_tokens", "max_cost"])
def test_a_budget_below_nothing_is_refused(field: str) -> None:
    with pytest.raises(InvalidInput, match=field):
        Budget(**{field: -1})


def test_a_plan_says_which_calls_would_be_made_and_asks_and_stores_nothing() -> None:
    model = scripted(good)
    with opened(model) as memory:
        talked(memory)
        memory.profile()
        before = encoded(memory)
        plan = memory.plan()
        assert (model.calls, encoded(memory)) == (0, before)
        assert [(each.step, each.thread_id, each.first, each.through) for each in plan.planned] == [
            ("extract", "t", 1, 5),
            ("importance", "t", 1, 5),
            ("reflect", "t", 5, 5),
        ]
        report = memory.refine(steps=["extract"])
        (asked,) = model.prompts
        first = plan.planned[0]
        count = memory._engine.counter.count
        assert (first.tokens_in, first.tokens_out) == (count(asked.text), asked.max_tokens)
        assert len(report.asked) == 1


def test_a_plan_has_the_summaries_with_all_their_calls() -> None:
    small = Settings(window=600, segment_messages=12, node_tokens=80, refine="manual", model_window=1_100, importance="model")
    model = scripted(good)
    with opened(model, settings=small) as memory:
        thread = memory.thread("t")
        for number in range(30):
            thread.add("user", f"Parcel QX-{1000 + number} goes to depot {number} on Monday, " + "and so on " * 12)
        thread.context()
        plan = thread.plan()
        assert {each.step for each in plan.planned} == {"summarise", "scores"}
        summaries = [each for each in plan.planned if each.step == "summarise"]
        assert max(each.calls for each in summaries) > 1
        thread.refine(limit=len(summaries))
        asked = [prompt for prompt in model.prompts if prompt.purpose == "summary"]
        assert len(asked) == sum(each.calls for each in summaries)
        assert sum(prompt.max_tokens for prompt in asked) == sum(each.tokens_out for each in summaries)


def test_a_plan_says_which_limit_is_reached() -> None:
    with opened(scripted(told), limits=Limits(per_day=Budget(max_calls=0))) as memory:
        talked(memory)
        assert memory.plan().limited == "per_day.max_calls"


def test_what_calls_took_is_counted_with_the_thread() -> None:
    with opened(scripted(told)) as memory:
        talked(memory)
        report = memory.refine()
        usage = memory.thread("t").usage().model
        assert (usage.calls, usage.cost) == (report.usage.calls, report.usage.cost)


@pytest.mark.anyio
async def test_an_event_loop_asks_in_the_same_way() -> None:
    model = AsyncScriptedModel(good, name="small")
    async with AsyncMemory(embedder=None, clock=FrozenClock(), settings=SETTINGS, language_model=model) as memory:
        for text in ("These days I really dig black coffee.", "My mornings begin with strong coffee."):
            await memory.thread("t").add("user", text)
        await memory.thread("t").end()
        plan = await memory.plan()
        report = await memory.refine()
        assert [each.step for each in plan.planned] == ["extract", "reflect"]
        assert [each.step for each in report.asked] == list(STEPS)
        assert (await memory.thread("t").plan(steps=["extract"])).planned == ()
        assert (await memory.thread("t").refine(steps=["extract"], budget=Budget(max_calls=1))).asked == ()
