"""New statements against what is known."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from datetime import datetime, timedelta, timezone
from itertools import chain
from typing import Any

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from bethink.ids import derived_id
from bethink.insights.extract import extract
from bethink.insights.reconcile import Changes, reconcile
from bethink.messages import Message
from bethink.records import Insight, Source

START = datetime(2026, 3, 1, 9, tzinfo=timezone.utc)
DAY = timedelta(days=1)
NOW = START + 300 * DAY


def said(day: float, text: str, *, message: str = "", thread: str = "t1", name: str | None = None) -> list[Insight]:
    """What a message of that day states."""
    at = START + timedelta(days=day)
    sent = Message(role="user", content=text, id=message or f"m{day}", created_at=at, name=name)
    return list(extract([sent], thread_id=thread, now=NOW))


def put(known: Sequence[Insight], changes: Changes) -> list[Insight]:
    """What a store holds after the `Put` (see its contract)."""
    held = {insight.id: insight for insight in known}
    for record in changes.records:
        before = held.get(record.id)
        if before is None:
            held[record.id] = record
            continue
        has = {(source.message_id, source.thread_id) for source in before.sources}
        added = [source for source in record.sources if (source.message_id, source.thread_id) not in has]
        held[record.id] = msgspec.structs.replace(
            before, sources=(*before.sources, *added), retired_at=None, superseded_by=None, reason="", valid_to=None
        )
    for retire in changes.retire:
        if held[retire.record_id].current:
            held[retire.record_id] = msgspec.structs.replace(
                held[retire.record_id],
                retired_at=retire.at,
                reason=retire.reason,
                superseded_by=retire.superseded_by,
                valid_to=retire.valid_to,
            )
    return list(held.values())


def after(*statements: list[Insight]) -> list[Insight]:
    """What is held after each of `statements` was taken in, one after the other."""
    known: list[Insight] = []
    for statement in statements:
        known = put(known, reconcile(known, statement, now=NOW))
    return known


def current(known: Sequence[Insight]) -> list[str]:
    return sorted(insight.text for insight in known if insight.current)


def history(known: Sequence[Insight]) -> list[str]:
    return sorted(insight.text for insight in known if not insight.current)


def by_text(known: Sequence[Insight], text: str) -> Insight:
    (found,) = (insight for insight in known if insight.text == text)
    return found


# -- the same again -------------------------------------------------------------------------------------------------------


def test_V094_the_same_fact_again_is_one_fact_with_two_sources() -> None:
    known = after(said(0, "I like tea"), said(1, "i  LIKE tea"))
    assert current(known) == ["likes tea"]
    assert history(known) == []
    assert [source.message_id for source in known[0].sources] == ["m0", "m1"]


def test_V029_another_way_and_another_thread_make_no_second_record() -> None:
    known = after(said(0, "I like tea"), said(1, "I am fond of tea", thread="t2"), said(2, "I enjoy tea", thread="t3"))
    assert current(known) == ["likes tea"]


def test_a_statement_whose_source_is_known_changes_nothing() -> None:
    known = after(said(0, "I like tea"))
    changes = reconcile(known, said(0, "I like tea"), now=NOW)
    assert (changes.records, changes.retire) == ((), ())
    assert [insight.text for insight in changes.kept] == ["likes tea"]


def test_the_message_of_a_fork_is_another_source_and_revives_nothing() -> None:
    first, second = said(0, "I live in Porto"), said(1, "I live in Gdansk")
    known = after(first, second, said(0, "I live in Porto", thread="fork"))
    assert current(known) == ["lives in Gdansk"]
    assert len(by_text(known, "lives in Porto").sources) == 2


# -- a newer answer -------------------------------------------------------------------------------------------------------


def test_V092_a_newer_answer_supersedes_and_the_old_one_keeps_its_interval() -> None:
    known = after(said(0, "I live in Porto"), said(10, "I moved to Gdansk"))
    assert current(known) == ["lives in Gdansk"]
    porto, gdansk = by_text(known, "lives in Porto"), by_text(known, "lives in Gdansk")
    assert (porto.valid_from, porto.valid_to) == (START, START + 10 * DAY)
    assert (porto.superseded_by, porto.reason) == (gdansk.id, "superseded")


def test_V092_names_that_change() -> None:
    assert current(after(said(0, "My name is Ana"), said(1, "My name is Eva"))) == ["name: Eva"]


def test_V093_a_contradiction_never_leaves_neither() -> None:
    known = after(said(0, "I like jazz"), said(1, "I do not like jazz"))
    assert current(known) == ["does not like jazz"]
    assert history(known) == ["likes jazz"]


def test_V050_order_is_that_of_instants_whatever_their_zone() -> None:
    east = timezone(timedelta(hours=5, minutes=30))
    first = Message(role="user", content="I live in Porto", id="a", created_at=START)
    later = Message(role="user", content="I live in Pune", id="b", created_at=(START + timedelta(hours=1)).astimezone(east))
    known = after(*(list(extract([message], thread_id="t1", now=NOW)) for message in (later, first)))
    assert current(known) == ["lives in Pune"]


@pytest.mark.parametrize("old", ["city", "City", " city "])
def test_V098_one_live_value_for_a_key(old: str) -> None:
    known = after(said(0, f"My favourite {old} is Porto"), said(1, "My favourite city is Gdansk"))
    assert current(known) == ["favourite city: Gdansk"]


def test_a_move_from_one_place_to_another_closes_the_one_for_the_other() -> None:
    known = after(said(0, "I live in Porto"), said(10, "I moved from Porto to Gdansk"))
    assert current(known) == ["lives in Gdansk"]
    assert by_text(known, "lives in Porto").superseded_by == by_text(known, "lives in Gdansk").id


def test_a_move_told_late_ends_the_old_interval_no_earlier_than_it_began() -> None:
    known = after(said(0, "I live in Porto"), said(1, "I moved to Gdansk last year"))
    assert current(known) == ["lives in Gdansk"]
    porto = by_text(known, "lives in Porto")
    assert porto.valid_to == porto.valid_from


def test_a_denial_of_the_current_answer_takes_its_place() -> None:
    known = after(said(0, "I am vegetarian"), said(1, "I'm not vegetarian any more"))
    assert current(known) == ["no longer vegetarian"]


def test_a_denial_of_another_answer_is_only_history() -> None:
    known = after(said(0, "I live in Lisbon"), said(1, "I used to live in Porto"))
    assert current(known) == ["lives in Lisbon"]
    assert history(known) == ["no longer lives in Porto"]


def test_lists_stand_side_by_side() -> None:
    known = after(said(0, "I like tea"), said(1, "I like coffee"), said(2, "My dog Miso is old"), said(3, "My dog Rex is new"))
    assert current(known) == ["dog: Miso", "dog: Rex", "likes coffee", "likes tea"]


def test_a_mind_that_was_changed_leaves_one_decision() -> None:
    known = after(said(0, "Let's take the night train"), said(1, "I changed my mind: the bus instead of the night train"))
    assert current(known) == ["decided against: the night train", "decided: the bus"]


def test_V096_another_persons_dislike_leaves_the_users_likes_alone() -> None:
    known = after(said(0, "I love jazz"), said(1, "My colleague Kim cannot stand jazz"))
    assert current(known) == ["Kim: does not like jazz", "colleague: Kim", "likes jazz"]


# -- back again, and late -------------------------------------------------------------------------------------------------


def test_an_answer_said_again_is_current_again_under_its_id() -> None:
    first = after(said(0, "I live in Porto"))
    known = after(said(0, "I live in Porto"), said(1, "I live in Gdansk"), said(2, "I live in Porto"))
    assert current(known) == ["lives in Porto"]
    porto, gdansk = by_text(known, "lives in Porto"), by_text(known, "lives in Gdansk")
    assert porto.id == first[0].id
    assert (gdansk.superseded_by, gdansk.valid_to) == (porto.id, START + 2 * DAY)


def test_an_old_conversation_imported_late_changes_nothing_newer() -> None:
    known = after(said(10, "I live in Gdansk"), said(0, "I live in Porto"))
    assert current(known) == ["lives in Gdansk"]
    porto = by_text(known, "lives in Porto")
    assert (porto.superseded_by, porto.valid_to) == (by_text(known, "lives in Gdansk").id, START + 10 * DAY)


def test_history_that_comes_late_is_closed_by_what_came_next() -> None:
    known = after(said(20, "I live in Oslo"), said(10, "I live in Gdansk"), said(0, "I live in Porto"))
    assert by_text(known, "lives in Porto").superseded_by == by_text(known, "lives in Gdansk").id
    assert by_text(known, "lives in Gdansk").superseded_by == by_text(known, "lives in Oslo").id


def test_what_came_back_is_as_late_as_its_return() -> None:
    known = after(
        said(0, "I live in Porto"), said(10, "I live in Gdansk"), said(20, "I live in Porto"), said(15, "I live in Oslo")
    )
    assert current(known) == ["lives in Porto"]
    assert by_text(known, "lives in Oslo").valid_to == START + 20 * DAY


def test_V052_a_message_dated_in_the_future_does_not_win_for_ever() -> None:
    known = after(said(700, "I live in Porto"), said(800, "I live in Oslo"), said(299, "I live in Gdansk"))
    later = list(
        extract([Message(role="user", content="I live in Rome", id="x", created_at=NOW + DAY)], thread_id="t1", now=NOW + DAY)
    )
    assert current(put(known, reconcile(known, later, now=NOW + DAY))) == ["lives in Rome"]


def test_an_archived_fact_comes_back_when_it_is_said_again() -> None:
    (tea,) = said(0, "I like tea")
    archived = msgspec.structs.replace(tea, retired_at=NOW, reason="archived: …")
    assert current(put([archived], reconcile([archived], said(1, "I like tea"), now=NOW))) == ["likes tea"]


# -- corrections ----------------------------------------------------------------------------------------------------------


def test_a_correction_is_about_what_it_corrects() -> None:
    known = after(said(0, "I live in Porto"), said(1, "Actually it's Lisbon, not Porto"))
    assert current(known) == ["lives in Lisbon"]
    assert by_text(known, "lives in Lisbon").slot == "residence"


def test_a_correction_in_the_same_batch() -> None:
    assert current(after([*said(0, "My name is Rob"), *said(1, "Sorry, it's Bob, not Rob")])) == ["name: Bob"]


def test_a_correction_of_nothing_known_is_kept_as_it_was_said() -> None:
    assert current(after(said(1, "Actually it's Lisbon, not Porto"))) == ["correction: Lisbon, not Porto"]


def test_a_correction_touches_no_other_subject() -> None:
    known = after(said(0, "I live in Porto", name="Eva"), said(1, "Actually it's Lisbon, not Porto", name="Ana"))
    assert "Eva: lives in Porto" in current(known)


# -- trust ----------------------------------------------------------------------------------------------------------------


def test_what_is_trusted_less_supersedes_nothing() -> None:
    page = [msgspec.structs.replace(insight, trust="external") for insight in said(1, "I live in Gdansk")]
    known = after(said(0, "I live in Porto"), page)
    assert current(known) == ["lives in Porto"]
    assert history(known) == ["lives in Gdansk"]


# -- for any statements ---------------------------------------------------------------------------------------------------

SLOTS = {"residence": ("porto", "gdansk", "oslo"), "diet": ("vegan", "vegetarian"), "likes:tea": ("tea",)}


def statement(number: int, day: int, slot: str, value: str, **fields: Any) -> Insight:
    subject, polarity = fields["subject"], fields["polarity"]
    at = START + day * DAY
    text = f"{polarity} {value}"
    return Insight(
        id=derived_id(at, "insight", subject, slot, value, polarity),
        text=text,
        trust=fields["trust"],
        recorded_at=NOW,
        valid_from=at,
        sources=(Source(f"m{number}", "t1", text),),
        topic="identity",
        subject=subject,
        slot=slot,
        value=value,
        polarity=polarity,
    )


@st.composite
def statements(draw: st.DrawFn) -> list[list[Insight]]:
    """Batches of statements, each statement from a message of its own."""
    count = draw(st.integers(1, 10))
    made = []
    for number in range(count):
        slot = draw(st.sampled_from(sorted(SLOTS)))
        made.append(
            statement(
                number,
                draw(st.integers(0, 6)),
                slot,
                draw(st.sampled_from(SLOTS[slot])),
                subject=draw(st.sampled_from(["user", "kim"])),
                polarity=draw(st.sampled_from(["positive", "negative"])),
                trust=draw(st.sampled_from(["user", "user", "external"])),
            )
        )
    cut = draw(st.integers(0, count))
    return [batch for batch in (made[:cut], made[cut:]) if batch]


@given(statements())
def test_taking_the_same_in_again_changes_nothing(batches: list[list[Insight]]) -> None:
    known = after(*batches)
    for batch in (*batches, list(chain.from_iterable(batches))):
        again = reconcile(known, batch, now=NOW + DAY)
        assert (again.records, again.retire) == ((), ())
        assert len(again.kept) == len(batch)


@given(statements())
def test_a_slot_never_has_two_current_answers(batches: list[list[Insight]]) -> None:
    counts = Counter((insight.subject, insight.slot) for insight in after(*batches) if insight.current)
    assert max(counts.values()) == 1


@given(statements())
def test_a_slot_that_was_answered_is_never_left_without_an_answer(batches: list[list[Insight]]) -> None:
    known = after(*batches)
    answered = {(insight.subject, insight.slot) for insight in known}
    assert answered == {(insight.subject, insight.slot) for insight in known if insight.current}


@given(statements())
def test_no_statement_is_lost(batches: list[list[Insight]]) -> None:
    known = after(*batches)
    held = {
        (insight.subject, insight.slot, insight.value, insight.polarity, source.message_id)
        for insight in known
        for source in insight.sources
    }
    for insight in chain.from_iterable(batches):
        assert (insight.subject, insight.slot, insight.value, insight.polarity, insight.sources[0].message_id) in held


@given(statements())
def test_history_names_what_took_its_place_and_never_ends_before_it_began(batches: list[list[Insight]]) -> None:
    known = {insight.id: insight for insight in after(*batches)}
    for insight in known.values():
        if insight.current:
            assert (insight.superseded_by, insight.valid_to) == (None, None)
            continue
        assert insight.superseded_by is not None
        successor = known[insight.superseded_by]
        assert (successor.subject, successor.slot) == (insight.subject, insight.slot)
        assert insight.valid_from is not None
        assert insight.valid_to is not None
        assert insight.valid_to >= insight.valid_from


@given(statements())
def test_history_leads_to_what_holds_now(batches: list[list[Insight]]) -> None:
    assert_history_ends(batches)


@given(
    st.lists(st.lists(st.tuples(st.integers(0, 6), st.sampled_from(SLOTS["residence"])), min_size=1, max_size=4), max_size=4)
)
def test_one_who_moves_to_and_fro_and_tells_it_out_of_order_lives_somewhere(moves: list[list[tuple[int, str]]]) -> None:
    number = iter(range(100))
    assert_history_ends(
        [
            [
                statement(next(number), day, "residence", place, subject="user", polarity="positive", trust="user")
                for day, place in batch
            ]
            for batch in moves
        ]
    )


def test_an_older_mention_of_what_came_back_and_ended_does_not_end_it_by_what_it_had_ended() -> None:
    def lives(number: int, day: int, place: str) -> Insight:
        return statement(number, day, "residence", place, subject="user", polarity="positive", trust="user")

    known = after(
        [lives(1, 1, "oslo"), lives(2, 4, "porto"), lives(3, 6, "gdansk"), lives(4, 7, "oslo")], [lives(5, 3, "gdansk")]
    )
    assert {insight.value: insight.superseded_by and by_id(known, insight.superseded_by).value for insight in known} == {
        "oslo": None,
        "porto": "gdansk",
        "gdansk": "oslo",
    }


def by_id(known: Sequence[Insight], insight_id: str) -> Insight:
    return next(insight for insight in known if insight.id == insight_id)


def assert_history_ends(batches: list[list[Insight]]) -> None:
    known = {insight.id: insight for insight in after(*batches)}
    for insight in known.values():
        seen = []
        while insight.superseded_by is not None:
            assert insight.id not in seen
            seen.append(insight.id)
            insight = known[insight.superseded_by]
        assert insight.current


@given(statements())
def test_the_same_statements_give_the_same_records(batches: list[list[Insight]]) -> None:
    assert after(*batches) == after(*batches)


@given(statements())
def test_subjects_do_not_touch_each_other(batches: list[list[Insight]]) -> None:
    alone = after(*([insight for insight in batch if insight.subject == "user"] for batch in batches))
    together = [insight for insight in after(*batches) if insight.subject == "user"]
    assert together == alone


# -- beyond one slot ------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("first", "correction", "expected"),
    [
        ("I'm planning to visit Japan on 12 May", "Sorry, I meant 14 May, not 12 May.", "plans to visit Japan (14 May 2026)"),
        ("I decided to take the night train", "Sorry, I meant the ferry, not the night train", "decided: take the ferry"),
        ("I'm planning a trip to Japan", "Sorry, I meant Korea, not Japan", "plans a trip to Korea"),
    ],
)
def test_a_correction_exchanges_the_words_in_what_holds_them(first: str, correction: str, expected: str) -> None:
    known = after(said(0, first), said(0.1, correction))
    assert current(known) == [expected]
    (wrong,) = (insight for insight in known if not insight.current)
    assert (wrong.reason, wrong.superseded_by) == ("corrected", by_text(known, expected).id)
    again = reconcile(known, said(0.1, correction), now=NOW)
    assert (again.records, again.retire) == ((), ())


def test_a_correction_of_an_event_moves_the_time_from_which_it_is_true() -> None:
    known = after(said(90, "I visited Rome on 12 May"), said(90.1, "Sorry, I meant 14 May, not 12 May."))
    assert current(known) == ["visited Rome (14 May 2026)"]
    assert by_text(known, "visited Rome (14 May 2026)").valid_from == datetime(2026, 5, 14, tzinfo=timezone.utc)


def test_a_correction_of_nothing_known_is_an_event_of_little_weight() -> None:
    (kept,) = after(said(1, "Sorry, I meant 14 May, not 12 May."))
    assert (kept.topic, kept.importance, kept.text) == ("event", "low", "correction: 14 May, not 12 May")


@pytest.mark.parametrize("late", [False, True])
def test_a_switch_ends_a_preference_for_what_was_left(late: bool) -> None:
    preference, switch = said(0, "I prefer night trains to flying anyway"), said(9, "I switched from the night train to flying")
    known = after(switch, preference) if late else after(preference, switch)
    assert current(known) == ["does not use the night train", "uses flying"]
    assert by_text(known, "prefers night trains to flying").superseded_by == by_text(known, "uses flying").id


def test_a_preference_that_is_stated_after_the_switch_stays() -> None:
    known = after(said(0, "I switched from coffee to tea"), said(9, "I prefer coffee to tea"))
    assert "prefers coffee to tea" in current(known)


def test_a_switch_leaves_other_preferences_alone() -> None:
    known = after(said(0, "I prefer coffee to water"), said(1, "I prefer Thai curry"), said(9, "I switched from coffee to tea"))
    assert {"prefers coffee to water", "prefers Thai curry"} <= set(current(known))


# -- near-duplicates ------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("first", "again"),
    [
        ("I love hikes", "I enjoy hiking"),
        ("I'm allergic to nuts", "I have a nut allergy"),
        ("I plan to visit Japan", "I plan on visiting Japan"),
        ("I love watching movies", "I like watching a movie"),
    ],
)
def test_V094_what_differs_in_the_form_of_its_words_is_one_fact_with_both_sources(first: str, again: str) -> None:
    held = after(said(1, first), said(2, again))
    assert [(insight.current, [source.message_id for source in insight.sources]) for insight in held] == [(True, ["m1", "m2"])]


@pytest.mark.parametrize(
    ("first", "other"),
    [
        ("I love C++", "I love C#"),
        ("I love tea with milk", "I love tea without milk"),
        ("I love hiking", "I love hiking in the rain"),
        ("I can play the piano", "I can play the guitar"),
    ],
)
def test_what_only_looks_alike_stands_side_by_side(first: str, other: str) -> None:
    assert [insight.current for insight in after(said(1, first), said(2, other))] == [True, True]


def test_a_denial_in_another_form_takes_the_place_of_what_it_denies() -> None:
    held = after(said(1, "I love hikes"), said(2, "I don't like hiking"))
    assert [(insight.text, insight.current) for insight in held] == [("likes hikes", False), ("does not like hiking", True)]


def test_how_many_there_are_is_one_answer() -> None:
    held = after(said(1, "I have two dogs"), said(2, "We have three dogs"))
    assert [(insight.text, insight.current) for insight in held] == [("has two dogs", False), ("has three dogs", True)]


def test_V096_hating_mornings_says_nothing_against_coffee() -> None:
    held = after(said(1, "I love coffee"), said(2, "I hate mornings"))
    assert [insight.text for insight in held if insight.current] == ["likes coffee", "does not like mornings"]
