"""Times that a query names: which are found, which are not, how they are read, and how well a moment fits them."""

from __future__ import annotations

import time
from datetime import datetime, timedelta, timezone
from zoneinfo import ZoneInfo

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from bethink.errors import InvalidInput
from bethink.retrieval.dates import TimeCue, asks_when, said_times, time_cues, time_score

UTC = timezone.utc
NOW = datetime(2024, 5, 15, 12, tzinfo=UTC)  # a Wednesday


def read(query: str, now: datetime = NOW) -> list[tuple[str, str, str]]:
    """Start, end and precision of each cue that has them: dates where it is midnight."""
    found = [cue for cue in time_cues(query, now=now) if cue.start is not None and cue.end is not None]
    return [(f"{cue.start:%Y-%m-%d}", f"{cue.end:%Y-%m-%d}", str(cue.precision)) for cue in found]


def the_cue(query: str, now: datetime = NOW) -> TimeCue:
    (cue,) = time_cues(query, now=now)
    return cue


# -- a date ---------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "query",
    [
        "what happened on 7 May 2023?",
        "What happened on May 7, 2023",
        "May 7th 2023",
        "the 7th of May, 2023",
        "7-May-2023",
        "Sunday, May 7th, 2023",
        "notes of 2023-05-07",
        "notes of 2023-05-07T21:30:00Z",
        "notes of 2023/5/7",
        "notizen vom 7.5.2023",
        "Was war am 7. Mai 2023?",
        "le 7 mai 2023",
        "el 7 de mayo de 2023",
        "il 7 maggio 2023",
        "7 maja 2023",
        "7 мая 2023",
        "2023年5月7日に何をしましたか",
        "我在2023年5月7日说了什么",
        "2023년 5월 7일에 뭐 했어",
    ],
)
def test_a_date_is_that_day_in_every_spelling(query: str) -> None:
    assert read(query) == [("2023-05-07", "2023-05-08", "day")]


@pytest.mark.parametrize(
    ("query", "first", "after", "precision"),
    [
        ("in May 2023", "2023-05-01", "2023-06-01", "month"),
        ("what about May '23", "2023-05-01", "2023-06-01", "month"),
        ("2023-05", "2023-05-01", "2023-06-01", "month"),
        ("en mayo de 2023", "2023-05-01", "2023-06-01", "month"),
        ("в мае 2023", "2023-05-01", "2023-06-01", "month"),
        ("2023年5月", "2023-05-01", "2023-06-01", "month"),
        ("2022", "2022-01-01", "2023-01-01", "year"),
        ("What did we do in 2022?", "2022-01-01", "2023-01-01", "year"),
        ("the 2022 trip", "2022-01-01", "2023-01-01", "year"),
        ("summer of 2022", "2022-06-01", "2022-09-01", "season"),
        ("winter 2022", "2022-12-01", "2023-03-01", "season"),
        ("Q2 2023 numbers", "2023-04-01", "2023-07-01", "season"),
        ("Christmas 2022", "2022-12-24", "2022-12-27", "day"),
        ("Easter 2024", "2024-03-29", "2024-04-02", "day"),
        ("Thanksgiving 2023", "2023-11-23", "2023-11-24", "day"),
        ("new year's eve 2023", "2023-12-31", "2024-01-01", "day"),
        ("St.  Patrick's Day 2023", "2023-03-17", "2023-03-18", "day"),
        ("May 7-9, 2023", "2023-05-07", "2023-05-10", "day"),
    ],
)
def test_a_time_with_its_year_is_the_same_whenever_one_asks(query: str, first: str, after: str, precision: str) -> None:
    assert read(query) == read(query, datetime(2031, 1, 1, tzinfo=UTC)) == [(first, after, precision)]


def test_a_date_that_can_be_read_in_two_ways_is_two_cues() -> None:
    assert [first for first, _, _ in read("on 5/7/2023")] == ["2023-07-05", "2023-05-07"]
    assert [first for first, _, _ in read("on 5/17/2023")] == ["2023-05-17"]


# -- without its year -----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("query", "first", "precision"),
    [
        ("in May", "2024-05-01", "month"),
        ("in June", "2023-06-01", "month"),
        ("im Juni", "2023-06-01", "month"),
        ("since sept", "2023-09-01", "month"),
        ("the July meeting", "2023-07-01", "month"),
        ("5月に", "2024-05-01", "month"),
        ("on May 14", "2024-05-14", "day"),
        ("on 16 May", "2023-05-16", "day"),
        ("the March 8 meeting", "2024-03-08", "day"),
        ("5月14日", "2024-05-14", "day"),
        ("on February 29", "2024-02-29", "day"),
        ("in the summer", "2023-06-01", "season"),
        ("in the fall", "2023-09-01", "season"),
        ("this spring", "2024-03-01", "season"),
        ("at Christmas", "2023-12-24", "day"),
        ("on the 3rd", "2024-05-03", "day"),
        ("on the 16th", "2024-04-16", "day"),
        ("on the 31st", "2024-03-31", "day"),
    ],
)
def test_what_comes_every_year_or_month_is_the_latest_that_has_begun(query: str, first: str, precision: str) -> None:
    assert [(start, found) for start, _, found in read(query)] == [(first, precision)]


def test_a_cue_says_whether_its_year_was_named() -> None:
    assert the_cue("in May").yearly
    assert the_cue("on May 7th").yearly
    assert not the_cue("in May 2023").yearly
    assert not the_cue("last May").yearly


@pytest.mark.parametrize(
    ("query", "first"),
    [
        ("last May", "2023-05-01"),
        ("last April", "2024-04-01"),
        ("this June", "2024-06-01"),
        ("next May", "2025-05-01"),
        ("last summer", "2023-06-01"),
        ("last winter", "2023-12-01"),
        ("next Christmas", "2024-12-24"),
        ("last Christmas", "2023-12-24"),
    ],
)
def test_last_has_ended_and_next_has_not_begun(query: str, first: str) -> None:
    assert [start for start, _, _ in read(query)] == [first]


# -- counted from today ---------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("query", "first", "after", "precision"),
    [
        ("yesterday", "2024-05-14", "2024-05-15", "day"),
        ("what did I say today", "2024-05-15", "2024-05-16", "day"),
        ("yesterday evening", "2024-05-14", "2024-05-15", "day"),
        ("last night", "2024-05-14", "2024-05-15", "day"),
        ("tomorrow", "2024-05-16", "2024-05-17", "day"),
        ("the day before yesterday", "2024-05-13", "2024-05-14", "day"),
        ("gestern", "2024-05-14", "2024-05-15", "day"),
        ("昨天我说了什么", "2024-05-14", "2024-05-15", "day"),
        ("last week", "2024-05-06", "2024-05-13", "week"),
        ("letzte Woche", "2024-05-06", "2024-05-13", "week"),
        ("先週", "2024-05-06", "2024-05-13", "week"),
        ("this week", "2024-05-13", "2024-05-20", "week"),
        ("next week", "2024-05-20", "2024-05-27", "week"),
        ("the week before last", "2024-04-29", "2024-05-06", "week"),
        ("last month", "2024-04-01", "2024-05-01", "month"),
        ("last year", "2023-01-01", "2024-01-01", "year"),
        ("earlier this year", "2024-01-01", "2025-01-01", "year"),
        ("last weekend", "2024-05-11", "2024-05-13", "day"),
        ("over the weekend", "2024-05-11", "2024-05-13", "day"),
        ("on Friday", "2024-05-10", "2024-05-11", "day"),
        ("on Wednesday", "2024-05-08", "2024-05-09", "day"),
        ("last Friday", "2024-05-10", "2024-05-11", "day"),
        ("last fri", "2024-05-10", "2024-05-11", "day"),
        ("this Friday", "2024-05-17", "2024-05-18", "day"),
        ("next Friday", "2024-05-17", "2024-05-18", "day"),
        ("this coming Monday", "2024-05-20", "2024-05-21", "day"),
        ("three days ago", "2024-05-12", "2024-05-13", "day"),
        ("a few days ago", "2024-05-10", "2024-05-14", "week"),
        ("two weeks ago", "2024-04-28", "2024-05-05", "week"),
        ("a week or two ago", "2024-04-28", "2024-05-12", "week"),
        ("2-3 weeks ago", "2024-04-21", "2024-05-05", "week"),
        ("a month ago", "2024-03-31", "2024-05-01", "month"),
        ("4 years ago", "2020-01-01", "2021-01-01", "year"),
        ("an hour ago", "2024-05-15", "2024-05-16", "day"),
        ("in the last 3 months", "2024-02-15", "2024-05-16", "season"),
        ("in the past week", "2024-05-08", "2024-05-16", "week"),
        ("the last few days", "2024-05-10", "2024-05-16", "week"),
        ("over the next two weeks", "2024-05-15", "2024-05-30", "week"),
    ],
)
def test_what_is_counted_from_today(query: str, first: str, after: str, precision: str) -> None:
    assert read(query) == [(first, after, precision)]


# -- parts, distances, ranges ---------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("query", "first", "after", "precision"),
    [
        ("early June 2022", "2022-06-01", "2022-06-11", "week"),
        ("late June 2022", "2022-06-21", "2022-07-01", "week"),
        ("mid-June 2022", "2022-06-11", "2022-06-21", "week"),
        ("in early 2022", "2022-01-01", "2022-05-02", "season"),
        ("at the end of 2022", "2022-09-01", "2023-01-01", "season"),
        ("the first half of September 2022", "2022-09-01", "2022-09-16", "week"),
        ("the second week of November 2023", "2023-11-08", "2023-11-15", "week"),
        ("the last week of May 2023", "2023-05-25", "2023-06-01", "week"),
        ("the first weekend of August 2023", "2023-08-05", "2023-08-07", "day"),
        ("the last Friday in August 2023", "2023-08-25", "2023-08-26", "day"),
        ("early in June 2022", "2022-06-01", "2022-06-11", "week"),
        ("Did it start in June 2022?", "2022-06-01", "2022-07-01", "month"),
        ("When did it end? In June 2022", "2022-06-01", "2022-07-01", "month"),
        ("weeks before June 2022", "2022-06-01", "2022-07-01", "month"),
        ("every day after June 2022", "2022-06-01", "2022-07-01", "month"),
        ("the week before 16 November 2023", "2023-11-09", "2023-11-16", "week"),
        ("two weeks before August 11, 2023", "2023-07-25", "2023-08-01", "week"),
        ("three days after May 7, 2023", "2023-05-10", "2023-05-11", "day"),
        ("the day after May 7, 2023", "2023-05-08", "2023-05-09", "day"),
        ("the month before June 2022", "2022-05-01", "2022-06-01", "month"),
        ("the Sunday before October 25, 2022", "2022-10-23", "2022-10-24", "day"),
        ("the Saturday after October 28, 2023", "2023-11-04", "2023-11-05", "day"),
        ("last weekend before April 10, 2023", "2023-04-08", "2023-04-10", "day"),
        ("between May and July 2022", "2022-05-01", "2022-08-01", "season"),
        ("between May and July", "2023-05-01", "2023-08-01", "season"),
        ("from May 2022 to February", "2022-05-01", "2023-03-01", "year"),
        ("from 3 May 2022 until 9 June 2022", "2022-05-03", "2022-06-10", "month"),
        ("between August 11 and August 15 2023", "2023-08-11", "2023-08-16", "week"),
        ("from 2019 to 2021", "2019-01-01", "2022-01-01", "year"),
    ],
)
def test_what_stands_around_a_time_belongs_to_it(query: str, first: str, after: str, precision: str) -> None:
    assert read(query) == [(first, after, precision)]


def test_months_in_a_row_are_a_cue_each() -> None:
    assert [first for first, _, _ in read("in April, May and June 2022")] == ["2024-04-01", "2024-05-01", "2022-06-01"]


def test_what_was_said_on_a_day_is_counted_from_that_day() -> None:
    assert read("her issue last week, as mentioned on November 6, 2023")[0] == ("2023-10-30", "2023-11-06", "week")
    assert read("finished last Friday on 23 January, 2022")[0] == ("2022-01-21", "2022-01-22", "day")


# -- relations and places -------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("query", "relation"),
    [
        ("before June 2022", "before"),
        ("prior to June 2022", "before"),
        ("until June 2022", "until"),
        ("by June 2022", "until"),
        ("since June 2022", "since"),
        ("after June 2022", "after"),
        ("around June 2022", "around"),
        ("in June 2022", "within"),
        ("June 2022", "within"),
    ],
)
def test_a_relation_is_told_and_the_time_is_the_one_that_is_named(query: str, relation: str) -> None:
    cue = the_cue(query)
    assert cue.relation == relation
    assert read(query) == [("2022-06-01", "2022-07-01", "month")]


def test_a_cue_says_where_its_words_stand() -> None:
    query = "What did she paint in early June 2022, and last week?"
    assert [query[slice(*cue.span)] for cue in time_cues(query, now=NOW)] == ["in early June 2022", "last week"]


def test_letters_that_grow_in_lower_case_do_not_move_the_place() -> None:
    query = "İİİ what was on 7 May 2023"
    assert query[slice(*the_cue(query).span)] == "on 7 May 2023"


@pytest.mark.parametrize(
    ("query", "relation", "event"),
    [
        ("What did she do before the trip?", "before", "the trip"),
        ("How was he after Maria's wedding in Ghent?", "after", "maria's wedding"),
        ("since my last day", "since", None),
        ("How did they feel during the charity race?", "within", "the charity race"),
        ("Answer before the second question", "before", None),
        ("after me", "after", None),
    ],
)
def test_an_event_is_a_relation_without_a_time(query: str, relation: str, event: str | None) -> None:
    found = time_cues(query, now=NOW)
    assert [(cue.relation, cue.event, cue.start, cue.end) for cue in found] == (
        [(relation, event, None, None)] if event else []
    )


def test_an_event_beside_a_date_leaves_the_date_alone() -> None:
    event, date = time_cues("after his trip in August 2023", now=NOW)
    assert (event.event, event.start) == ("his trip", None)
    assert date.start == datetime(2023, 8, 1, tzinfo=UTC)


# -- what is no time ------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "query",
    [
        "",
        "May I ask you something?",
        "It may be wrong, and it may not",
        "you may 3 times",
        "the 7 may be wrong",
        "this may help",
        "What did May say to April about June?",
        "Is August's brother called May?",
        "a present for May",
        "We march on",
        "the second question",
        "the third floor",
        "on the 3rd floor",
        "on the 2nd attempt",
        "the cat sat on the mat",
        "my last SAT score",
        "the sun is out",
        "mon ami",
        "he wed her",
        "2023 units were sold",
        "in 2000 lines of code",
        "a file of 2022 bytes",
        "it costs $2023",
        "order #2023",
        "port localhost:2022",
        "version 2023.5.7",
        "release 1.2.3",
        "10.0.2023.1",
        "call 555-2019-05",
        "24/7 support",
        "and/or 5/7",
        "fall in love",
        "in the fall of the empire",
        "do not fall over",
        "a hot spring",
        "spring water",
        "every Friday",
        "on Fridays",
        "Black Friday deals",
        "a Christmas tree",
        "in 5 minutes",
        "two weeks of holidays",
        "the last day of the course",
        "the last week of the course",
        "last but not least",
        "the past is past",
        "a mars bar",
        "set the date",
        "what is the agenda",
        "go ahead, back up two files",
        "3個月",
        "31/6/2023",
        "2023-13-45",
        "30/30/2023",
        "在月球上",
        "decent octopus marching augustly",
    ],
)
def test_what_only_looks_like_a_time_is_none(query: str) -> None:
    assert time_cues(query, now=NOW) == ()


# -- zones ----------------------------------------------------------------------------------------------------------------


def test_V053_a_day_is_one_of_the_zone_in_which_it_is_asked() -> None:
    shanghai = ZoneInfo("Asia/Shanghai")
    said = datetime(2026, 7, 9, 21, 30, tzinfo=UTC)
    now = datetime(2026, 7, 20, 9, tzinfo=shanghai)

    def holds(query: str) -> bool:
        cue = the_cue(query, now)
        return cue.start is not None and cue.end is not None and cue.start <= said < cue.end

    assert holds("what did I say on 2026-07-10?")
    assert not holds("what did I say on 2026-07-09?")
    assert time_score(said, time_cues("on 10 July", now=now)) == 1.0


def test_V053_yesterday_is_the_day_before_where_one_is() -> None:
    moment = datetime(2026, 7, 9, 21, 30, tzinfo=UTC)
    assert read("yesterday", moment) == [("2026-07-08", "2026-07-09", "day")]
    cue = the_cue("yesterday", moment.astimezone(ZoneInfo("Asia/Shanghai")))
    assert (cue.start, cue.end) == (datetime(2026, 7, 8, 16, tzinfo=UTC), datetime(2026, 7, 9, 16, tzinfo=UTC))


def test_V048_the_same_day_in_a_zone_behind_utc() -> None:
    cue = the_cue("on 2025-06-05", datetime(2025, 6, 6, tzinfo=ZoneInfo("America/New_York")))
    assert (cue.start, cue.end) == (datetime(2025, 6, 5, 4, tzinfo=UTC), datetime(2025, 6, 6, 4, tzinfo=UTC))


def test_the_day_on_which_clocks_change_has_23_hours() -> None:
    cue = the_cue("on 2024-03-31", datetime(2024, 5, 1, tzinfo=ZoneInfo("Europe/Brussels")))
    assert cue.start is not None
    assert cue.end is not None
    assert cue.end - cue.start == timedelta(hours=23)


def test_a_day_that_a_zone_skipped_is_none() -> None:
    assert time_cues("on 2011-12-30", now=datetime(2012, 5, 1, tzinfo=ZoneInfo("Pacific/Apia"))) == ()


def test_a_time_without_a_zone_is_refused() -> None:
    with pytest.raises(InvalidInput, match="now"):
        time_cues("yesterday", now=datetime(2024, 5, 15))  # noqa: DTZ001


# -- what a message says of its own time ----------------------------------------------------------------------------------


def test_V051_last_week_in_a_message_is_the_week_before_the_message() -> None:
    (cue,) = said_times("I was in Lisbon last week", datetime(2022, 11, 8, 9, tzinfo=UTC))
    assert (cue.start, cue.end) == (datetime(2022, 10, 31, tzinfo=UTC), datetime(2022, 11, 7, tzinfo=UTC))


def test_yesterday_in_a_message_is_the_day_before_it() -> None:
    (cue,) = said_times("I went to a support group yesterday and it was great", datetime(2023, 5, 8, 13, 56, tzinfo=UTC))
    assert cue.start == datetime(2023, 5, 7, tzinfo=UTC)


def test_a_message_has_no_events() -> None:
    assert said_times("We slept after the trip", NOW) == ()


@pytest.mark.parametrize(
    ("query", "asks"),
    [
        ("When did Melanie go camping?", True),
        ("since when has she been a nurse", True),
        ("What year did John start surfing?", True),
        ("In which month's game did he score?", True),
        ("How long ago was her birthday?", True),
        ("What day was it", True),
        ("What did she do when it rained?", False),
        ("What did she say about the year?", False),
        ("", False),
    ],
)
def test_whether_a_question_asks_for_a_time(query: str, asks: bool) -> None:
    assert asks_when(query) is asks


# -- how well a moment fits -----------------------------------------------------------------------------------------------


def at(day: str) -> datetime:
    return datetime.fromisoformat(f"{day}T12:00:00+00:00")


def score(day: str, query: str) -> float:
    return round(time_score(at(day), time_cues(query, now=NOW)), 3)


def test_what_was_said_in_the_time_scores_by_how_finely_it_was_named() -> None:
    queries = ("on 7 May 2023", "the week after 6 May 2023", "in May 2023", "in spring 2023", "in 2023")
    assert [score("2023-05-07", query) for query in queries] == [1.0, 0.75, 0.5, 0.35, 0.25]


def test_no_cue_and_an_event_score_nothing() -> None:
    assert time_score(NOW, ()) == 0.0
    assert time_score(NOW, time_cues("before the trip", now=NOW)) == 0.0


def test_soon_after_is_nearly_as_good_and_before_is_worse() -> None:
    days = ("2023-05-07", "2023-05-08", "2023-05-12", "2023-06-07", "2023-05-06", "2023-05-01")
    assert [score(day, "on 7 May 2023") for day in days] == [1.0, 0.909, 0.526, 0.141, 0.667, 0.154]


def test_the_best_cue_counts() -> None:
    assert score("2023-05-07", "in 2019 or on 7 May 2023") == 1.0


def test_the_side_of_a_time_counts_half() -> None:
    assert score("2021-01-01", "before June 2022") == score("2022-05-31", "before June 2022") == 0.25
    assert score("2022-06-30", "until June 2022") == score("2022-06-01", "since June 2022") == 0.25
    assert score("2022-06-15", "before June 2022") < score("2022-06-02", "before June 2022") < 0.25
    assert score("2022-06-15", "after June 2022") < score("2022-07-01", "after June 2022") == 0.25


def test_another_year_fits_a_cue_without_a_year_half_as_well() -> None:
    assert [score(day, "in May") for day in ("2024-05-02", "2023-05-02", "2019-05-02")] == [0.5, 0.25, 0.25]
    assert score("2023-05-02", "in May 2022") < 0.01


def test_a_leap_day_is_the_28th_in_other_years() -> None:
    assert score("2023-02-28", "on February 29") == 0.5


def test_what_a_message_tells_of_counts_less_than_when_it_was_said() -> None:
    cues = time_cues("in summer 2021", now=NOW)
    said = said_times("That was last summer", at("2022-03-01"))
    told = time_score(at("2022-03-01"), cues, said)
    assert time_score(at("2022-03-01"), cues) < told < time_score(at("2021-07-01"), cues)
    assert time_score(at("2022-03-01"), time_cues("in summer 2019", now=NOW), said) < told


def test_V052_what_is_dated_in_the_future_is_only_far_from_a_time() -> None:
    cues = time_cues("yesterday", now=NOW)
    scores = [time_score(NOW + timedelta(days=days), cues) for days in (-1, 0, 10, 400)]
    assert scores == sorted(scores, reverse=True)
    assert all(0 <= each <= 1 for each in scores)


@given(
    st.integers(0, 1000), st.integers(0, 1000), st.sampled_from(["on 7 May 2023", "in May 2023", "in 2023", "since May 2023"])
)
def test_a_score_never_rises_with_the_distance(one: int, other: int, query: str) -> None:
    (cue,) = time_cues(query, now=NOW)
    assert cue.start is not None
    assert cue.end is not None
    near, far = sorted((one, other))
    assert time_score(cue.end + timedelta(days=near), [cue]) >= time_score(cue.end + timedelta(days=far), [cue])
    assert time_score(cue.start - timedelta(days=near), [cue]) >= time_score(cue.start - timedelta(days=far), [cue])


# -- for any text ---------------------------------------------------------------------------------------------------------

_WORDS = """
the last this next past week weekend month year day days friday may march june 2023 2022 7 7th 3rd of in on before after since
until between and to early late first second half ago two a few yesterday christmas summer fall as mentioned - , . / 年 月 日 5
12 31 99 9999 mai 昨天 İ ' '23 q2
"""
_ZONES = st.sampled_from(["UTC", "Asia/Shanghai", "America/St_Johns", "Pacific/Apia", "Africa/Cairo", "Pacific/Kiritimati"])
_MOMENTS = st.datetimes() | st.datetimes(max_value=datetime(2, 3, 1)) | st.datetimes(min_value=datetime(9998, 10, 1))  # noqa: DTZ001
_TEXTS = st.text(max_size=200) | st.lists(st.sampled_from(_WORDS.split()), max_size=20).map(" ".join)


@settings(max_examples=300)
@given(_TEXTS, _MOMENTS, _ZONES)
def test_any_text_at_any_moment_gives_ordered_intervals_within_it(text: str, moment: datetime, zone: str) -> None:
    now = moment.replace(tzinfo=ZoneInfo(zone))
    try:
        now.astimezone(UTC)
    except OverflowError:
        return
    cues = time_cues(text, now=now)
    assert cues == time_cues(text, now=now)
    assert [cue.span for cue in cues] == sorted(cue.span for cue in cues)
    for cue in cues:
        assert 0 <= cue.span[0] < cue.span[1] <= len(text)
        assert (cue.start is None) == (cue.end is None) == bool(cue.event)
        if cue.start is not None and cue.end is not None:
            assert cue.start < cue.end
            assert cue.start.tzinfo is cue.end.tzinfo is UTC
        assert 0 <= time_score(now, [cue]) <= 1


@pytest.mark.parametrize("piece", ["in May ", "the week before ", "2023-", "may ", " ", "7", "last ", "a few "])
def test_ten_megabytes_cost_what_their_first_page_costs(piece: str) -> None:
    query = piece * (10_000_000 // len(piece))
    start = time.thread_time()
    assert len(time_cues(query, now=NOW)) <= 32
    assert time.thread_time() - start < 1
