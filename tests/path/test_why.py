"""Why a hit is one, and where something else falls out: told by what ranked, so that it cannot differ from it."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import datetime, timedelta, timezone
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import msgspec
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from bethink import Memory, Message, Why, WhyNot
from bethink.errors import InvalidInput
from bethink.models import Embedder
from bethink.retrieval.hits import RecallResult
from bethink.retrieval.ranker import Ranker
from bethink.retrieval.why import Step
from bethink.storage.base import Store
from bethink.storage.reference import ReferenceStore
from bethink.storage.sqlite import SqliteStore
from bethink.testing.doubles import FrozenClock, HashEmbedder

AT = datetime(2024, 5, 6, 12, tzinfo=timezone.utc)


def memory_of(*texts: str, embedder: Embedder | None = None, ranker: Ranker | None = None) -> Memory:
    memory = Memory(":memory:", embedder=embedder, ranker=ranker or Ranker(), clock=FrozenClock(AT))
    memory.thread("t").append([Message(role="user", content=text, name="Mara") for text in texts])
    return memory


def ids(memory: Memory) -> list[str]:
    return [message.id for message in memory.thread("t").messages()]


# -- at other times -------------------------------------------------------------------------------------------------------

NEXT = AT + timedelta(days=1)


@pytest.fixture
def moved() -> Memory:
    """Lives in Porto, and a day later in Ghent."""
    clock = FrozenClock(AT)
    memory = Memory(embedder=None, clock=clock)
    memory.thread("t").add("user", "I live in Porto.", id="m1")
    memory.profile()
    clock.set(NEXT)
    memory.thread("t").add("user", "I live in Ghent now.", id="m2")
    memory.profile()
    clock.set(NEXT + timedelta(days=1))
    return memory


def home(memory: Memory, place: str) -> str:
    return next(each.id for each in memory.records("insight", current=False) if each.text.endswith(place))


@pytest.mark.parametrize("asked", [{"as_of": AT}, {"valid_at": AT}, {"as_of": NEXT, "valid_at": AT}, {}])
def test_why_at_a_time_has_the_hits_of_that_recall(moved: Memory, asked: dict[str, Any]) -> None:
    told = moved.why("live in Porto", kinds=["insight", "message"], **asked)
    assert told.result == moved.recall("live in Porto", kinds=["insight", "message"], **asked)
    assert [each.hit for each in told.hits] == list(told.result)


@pytest.mark.parametrize(
    ("name", "asked", "detail", "change"),
    [
        ("m2", {"as_of": AT}, "it was stored after that time", "a later as_of"),
        ("Ghent", {"as_of": AT}, "it was not known yet at that time", "a later as_of"),
        ("Porto", {"as_of": NEXT}, "it was known at that time, and no longer current", "an earlier as_of"),
        ("m2", {"valid_at": AT}, "it was said after that time", "a later valid_at"),
        ("Porto", {"valid_at": NEXT}, "it did not hold at that time of the world, as far as is known", "another valid_at"),
    ],
)
def test_what_was_not_there_at_a_time_or_did_not_hold_says_so(
    moved: Memory, name: str, asked: dict[str, Any], detail: str, change: str
) -> None:
    item = name if name == "m2" else home(moved, name)
    told = moved.why_not(item, "live in Ghent", **asked)
    assert (told.step, told.detail, told.change) == ("time", detail, change)


def test_what_was_current_then_is_found_at_that_time_and_retired_now(moved: Memory) -> None:
    porto = home(moved, "Porto")
    assert moved.why_not(porto, "live in Porto", as_of=AT).found
    assert moved.why_not(porto, "live in Porto").step == "retired"


def test_a_time_that_is_yet_to_come_is_refused(moved: Memory) -> None:
    with pytest.raises(InvalidInput, match="yet to come"):
        moved.why("live in Porto", as_of=NEXT + timedelta(days=9))


# -- why ------------------------------------------------------------------------------------------------------------------


@pytest.fixture
def told() -> Why:
    memory = memory_of(
        "Where is the harbour?",
        "The old harbour is by the river, the new harbour by the sea.",
        "Take the tram.",
        "A river has two banks.",
    )
    return memory.why("harbour by the river", 2)


def test_it_has_the_recall_itself(told: Why) -> None:
    assert [reason.hit for reason in told.hits] == list(told.result)
    assert len(told.result) == 2


def test_it_says_how_telling_each_term_is(told: Why) -> None:
    assert {term: known.units for term, known in told.terms.items()} == {"harbour": 2, "river": 2}
    assert sum(known.weight for known in told.terms.values()) == pytest.approx(1)


def test_a_hit_tells_the_terms_that_it_holds_and_how_often(told: Why) -> None:
    assert told.hits[0].terms == {"harbour": 2, "river": 1}


def test_a_hit_tells_its_places_by_score_and_by_each_leg_alone(told: Why) -> None:
    placed = told.hits[0].placed
    assert (placed.rank, placed.by_words, placed.by_meaning) == (1, 1, None)


def test_a_hit_tells_which_messages_around_it_hold_something_of_the_query(told: Why) -> None:
    assert [(each.seq, each.terms) for each in told.hits[0].neighbours] == [(1, {"harbour": 1}), (4, {"river": 1})]


def test_the_parts_of_a_score_sum_to_it(told: Why) -> None:
    for reason in told.hits:
        assert sum(reason.hit.scores.values()) == pytest.approx(reason.hit.score, abs=1e-6)


def test_it_says_what_the_best_was_worth_and_what_it_had_to_be(told: Why) -> None:
    ranker = Ranker()
    assert told.best == told.hits[0].placed.worth
    assert (told.threshold, told.least) == (ranker.lexical_threshold, ranker.lexical_threshold * ranker.tail)


def test_by_meaning_ranks_by_the_cosine_alone() -> None:
    told = memory_of("one two", "two three", "three four", embedder=HashEmbedder(), ranker=open_ranker(0)).why("two")
    by_meaning = sorted(told.hits, key=lambda reason: reason.placed.by_meaning or 0)
    assert [reason.cosine for reason in by_meaning] == sorted((reason.cosine or 0 for reason in told.hits), reverse=True)


def test_names_and_times_of_the_query_are_told() -> None:
    told = memory_of("The harbour is closed.").why("What did Mara say of the harbour in May 2023?")
    assert told.names == ("Mara",)
    assert [relation for _, _, relation in told.times] == ["within"]


def test_nothing_found_is_explained_as_well() -> None:
    told = memory_of("The harbour is closed.").why("quantum chromodynamics")
    assert (told.hits, told.candidates, told.units) == ((), 0, 1)
    assert told.result.empty_reason


def test_all_of_it_is_json(told: Why) -> None:
    assert msgspec.json.decode(msgspec.json.encode(told))["hits"][0]["terms"] == {"harbour": 2, "river": 1}


# -- why not --------------------------------------------------------------------------------------------------------------


def test_a_hit_is_found_and_says_which_it_is() -> None:
    memory = memory_of("The harbour is closed.")
    told = memory.why_not(ids(memory)[0], "harbour")
    assert (told.found, told.detail) == (True, "it is in hit 1")


def test_what_is_not_stored_is_told_so() -> None:
    assert memory_of("The harbour.").why_not("nothing", "harbour").step == "stored"


def test_what_is_in_another_namespace_is_as_if_it_were_not_there() -> None:
    memory = memory_of("The harbour.")
    note = memory.user("ines").store("The harbour.")
    assert memory.user("mara").why_not(note.id, "harbour").step == "stored"


def test_what_is_in_a_namespace_below_says_so() -> None:
    memory = memory_of("The tram.")
    note = memory.user("ines").store("The harbour.")
    told = memory.why_not(note.id, "harbour")
    assert (told.step, told.change) == ("namespace", "below=True")
    assert memory.why_not(note.id, "harbour", below=True).found


def test_a_pinned_message_is_not_searched() -> None:
    memory = memory_of("Something else.")
    memory.thread("t").append([Message(role="system", content="The harbour.")])
    assert memory.why_not(ids(memory)[-1], "harbour").step == "searched"


def test_a_pinned_message_within_a_turn_is_found() -> None:
    memory = memory_of("The harbour.")
    memory.thread("t").append([Message(role="system", content="Be brief.")])
    assert memory.why_not(ids(memory)[-1], "harbour", unit="turn").found


def test_another_kind_names_the_kinds_asked_for() -> None:
    memory = memory_of("The harbour.")
    told = memory.why_not(ids(memory)[0], "harbour", kinds=["note"])
    assert (told.step, told.detail) == ("kind", "it is of kind message; asked for: note")


def test_records_alone_leave_messages_out_by_kind() -> None:
    memory = memory_of("The harbour.")
    assert memory.why_not(ids(memory)[0], "harbour", unit="record").change == 'unit="message"'


def test_a_superseded_insight_names_what_took_its_place() -> None:
    memory = memory_of("I live in Ghent.", "I live in Lyon now.")
    old, new = sorted(memory.records("insight", current=False), key=lambda record: record.current)
    told = memory.why_not(old.id, "Ghent")
    assert (told.step, told.superseded_by) == ("retired", new.id)


def test_a_record_is_known_by_its_short_mark() -> None:
    memory = memory_of("Something else.")
    note = memory.store("The harbour is closed.")
    assert memory.why_not(f"mem:{note.id[-8:]}", "harbour").id == note.id


def test_a_filter_names_the_comparison_that_is_not_true() -> None:
    memory = memory_of("The harbour.")
    told = memory.why_not(ids(memory)[0], "harbour", where={"role": "user", "speaker": "Tobias"})
    assert (told.step, told.condition) == ("filter", 'speaker eq "Tobias"; it has "Mara"')


@pytest.mark.parametrize(
    ("where", "condition"),
    [
        ({"metadata.x": {"exists": True}}, "metadata.x exists; it has no such field"),
        ({"not": {"speaker": "Mara"}}, 'not (speaker eq "Mara")'),
        (
            {"or": [{"speaker": "Ines"}, {"role": {"in": ["tool", "assistant"]}}]},
            'none of: speaker eq "Ines"; it has "Mara"; role in ["tool","assistant"]; it has "user"',
        ),
    ],
)
def test_a_condition_is_told_with_what_there_is_instead(where: dict[str, Any], condition: str) -> None:
    memory = memory_of("The harbour.")
    assert memory.why_not(ids(memory)[0], "harbour", where=where).condition == condition


def test_an_empty_query_is_named() -> None:
    memory = memory_of("The harbour.")
    assert memory.why_not(ids(memory)[0], " ").step == "query"


def test_what_holds_no_word_of_the_query_is_in_no_leg() -> None:
    memory = memory_of("The harbour.", *[f"Filler {number}" for number in range(5)], "The tram.")
    told = memory.why_not(ids(memory)[-1], "harbour")
    assert told.step == "legs"
    assert "by words alone" in told.detail


def test_what_is_beyond_the_first_of_each_leg_tells_its_place_there() -> None:
    memory = memory_of(*["harbour " * 3 + "and so on"] * 80, *["filler words"] * 5, "harbour " + "of many other things " * 15)
    told = memory.why_not(ids(memory)[-1], "harbour")
    assert (told.step, told.placed is not None and told.placed.by_words) == ("legs", 81)


def test_the_threshold_tells_by_how_much() -> None:
    memory = memory_of("The harbour of the town.", *["Filler."] * 9)
    told = memory.why_not(ids(memory)[0], "harbour dues quota ledger statute archive vestibule")
    assert told.step == "threshold"
    assert told.placed is not None
    assert told.placed.worth < (told.needed or 0)


def test_the_cut_at_k_tells_the_rank_and_the_last_hit() -> None:
    memory = memory_of("The harbour harbour.", "Filler.", "Filler.", "Filler.", "A harbour of some other sort.")
    told = memory.why_not(ids(memory)[-1], "harbour", 1)
    assert (told.step, told.k) == ("k", 2)
    assert told.needed == memory.recall("harbour", 1)[0].score


def test_the_budget_tells_what_the_line_takes_and_what_was_left() -> None:
    memory = memory_of("The harbour.", "Filler.", "Filler.", "The harbour " + "is closed and closed again " * 6)
    told = memory.why_not(ids(memory)[-1], "harbour", 5, budget=30)
    assert told.step == "budget"
    assert (told.tokens or 0) > (told.left or 0)


def test_a_message_in_two_threads_is_found_in_whichever_passes() -> None:
    memory = memory_of("The harbour.")
    memory.thread("t").fork(thread_id="copy")
    assert memory.why_not(ids(memory)[0], "harbour", where={"thread_id": "copy"}).found


# -- for any memory and query ---------------------------------------------------------------------------------------------

WORDS = ["harbour", "river", "tram", "sea", "bank", "old", "when", "Mara", "yesterday", "May"]
texts = st.lists(st.sampled_from(WORDS), max_size=12).map(" ".join)
roles = st.sampled_from(["user", "assistant", "system"])
wheres = st.sampled_from([None, None, {"speaker": "Mara"}, {"role": "assistant"}, {"not": {"kind": "note"}}, {"metadata.x": 1}])
STEPS: tuple[Step, ...] = (
    *("stored", "namespace", "kind", "retired", "searched", "query", "filter", "legs", "threshold", "k", "budget", "found"),
)


def open_ranker(threshold: float) -> Ranker:
    return Ranker(threshold=threshold, lexical_threshold=threshold)


def held(result: RecallResult) -> Iterator[str]:
    for hit in result:
        yield hit.id
        yield from (member.id for member in hit.members)


@pytest.mark.parametrize("kind", ["reference", "sqlite"])
@settings(max_examples=30, deadline=None)
@given(
    st.lists(
        st.tuples(st.sampled_from(["user", "assistant", "system"]), st.sampled_from(["Mara", "Ines"]), texts), max_size=14
    ),
    st.lists(texts.filter(str.strip), max_size=3),
    texts,
    st.booleans(),
    st.fixed_dictionaries(
        {
            "k": st.sampled_from([None, 1, 2, 5]),
            "kinds": st.sampled_from([None, None, ["message"], ["note", "insight"]]),
            "where": wheres,
            "unit": st.sampled_from(["message", "message", "turn", "session"]),
            "budget": st.sampled_from([None, None, 10, 40, 200]),
        }
    ),
)
def test_everything_is_a_hit_or_falls_at_a_step_and_without_that_further_on(
    kind: str, said: list[tuple[Any, str, str]], notes: list[str], query: str, embeds: bool, asked: dict[str, Any]
) -> None:
    with TemporaryDirectory() as folder:
        store: Store = ReferenceStore() if kind == "reference" else SqliteStore(str(Path(folder, "memory.db")))
        try:
            _everything_is_explained(store, said, notes, query, embeds, asked)
        finally:
            store.close()


def _everything_is_explained(
    store: Store, said: list[tuple[Any, str, str]], notes: list[str], query: str, embeds: bool, asked: dict[str, Any]
) -> None:
    embedder = HashEmbedder() if embeds else None
    clock = FrozenClock(AT)

    def opened(threshold: float | None) -> Memory:
        ranker = Ranker() if threshold is None else open_ranker(threshold)
        return Memory(store=store, embedder=embedder, ranker=ranker, clock=clock)

    memory = opened(None)
    messages = memory.thread("t").append(
        [
            Message(role=role, name=name if role == "user" else None, content=text, created_at=AT - timedelta(days=number))
            for number, (role, name, text) in enumerate(said)
        ]
    )
    for text in notes:
        memory.store(text)
    found = set(held(memory.recall(query, **asked)))
    records = memory.records(current=False)
    for thing_id in [*(message.id for message in messages.messages), *(record.id for record in records)]:
        told = memory.why_not(thing_id, query, **asked)
        assert told.found == (thing_id in found)
        assert told.detail
        _remove_obstacles(opened, thing_id, query, dict(asked), told)


def _remove_obstacles(opened: Any, thing_id: str, query: str, asked: dict[str, Any], told: WhyNot) -> None:
    """Each obstacle that an argument puts up, taken away: what is next lies further on, and in the end it is a hit."""
    threshold = None
    while told.step in ("filter", "threshold", "k", "budget"):
        if told.step == "filter":
            asked["where"] = None
        elif told.step == "threshold":
            threshold = told.threshold
        elif told.step == "k":
            asked["k"] = told.k
        else:
            asked["budget"] = 1_000_000
        memory = opened(threshold)
        then = memory.why_not(thing_id, query, **asked)
        assert STEPS.index(then.step) > STEPS.index(told.step), (told, then)
        told = then
        assert told.found == (thing_id in set(held(memory.recall(query, **asked))))
