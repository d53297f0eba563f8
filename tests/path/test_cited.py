"""Records that replies use without naming them: the overlap of a reply with what its context showed."""

from __future__ import annotations

from datetime import datetime, timezone
from threading import Thread as SystemThread

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bethink.errors import InvalidInput
from bethink.insights.citations import overlaps, used
from bethink.memory import Memory
from bethink.settings import Settings
from bethink.storage.reference import ReferenceStore
from bethink.testing.doubles import FrozenClock

AT = datetime(2026, 3, 1, 9, tzinfo=timezone.utc)
SHOWN = {
    "nuts": "allergic to peanuts",
    "home": "lives in Ghent",
    "train": "plans to take the night train to Vienna (12 May 2026)",
    "tea": "likes green tea",
    "jazz": "likes jazz",
}


def memory(**fields: float | None) -> Memory:
    settings = Settings(**fields)  # type: ignore[arg-type]
    return Memory(store=ReferenceStore(), embedder=None, clock=FrozenClock(AT), settings=settings)


def counts(held: Memory) -> dict[str, int]:
    return {record.text: record.access_count for record in held.records("insight")}


# -- overlap --------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("reply", "expected"),
    [
        ("I left out the satay, since you are allergic to peanuts.", ("nuts",)),
        ("The night train to Vienna leaves at nine on 12 May.", ("train",)),
        ("You could have a green tea on the night train to Vienna.", ("train", "tea")),
        ("What would you like to drink?", ()),
        ("There is a train at noon.", ()),
        ("", ()),
    ],
)
def test_a_reply_uses_the_lines_whose_words_it_has(reply: str, expected: tuple[str, ...]) -> None:
    assert used(reply, SHOWN, threshold=0.5) == expected


def test_the_words_have_to_stand_together() -> None:
    far = "Take the night bus. It is cheap. It is slow as well. Vienna has a train station."
    assert used(far, SHOWN, threshold=0.5) == ()


def test_whom_a_line_is_about_is_no_part_of_it() -> None:
    assert overlaps("Kim called.", {"a": "Kim: likes jazz", "b": "lives in Ghent"})["a"] == 0.0


@given(st.text(), st.dictionaries(st.text(max_size=3), st.text(), max_size=5))
def test_an_overlap_is_from_0_to_below_1_for_any_texts(reply: str, shown: dict[str, str]) -> None:
    found = overlaps(reply, shown)
    assert found.keys() == shown.keys()
    assert all(0 <= overlap < 1 for overlap in found.values())


# -- in a thread ----------------------------------------------------------------------------------------------------------


def test_a_reply_without_marks_strengthens_what_it_uses_of_its_context() -> None:
    with memory() as held:
        held.thread("before").add("user", "I'm allergic to peanuts. I live in Ghent.")
        thread = held.thread("dinner")
        thread.add("user", "What shall I cook?")
        thread.context(budget=1_000)
        thread.add("assistant", "A curry, without peanuts: you are allergic to them.")
        assert counts(held) == {"allergic to peanuts": 1, "lives in Ghent": 0}
        thread.context(budget=1_000)
        assert counts(held) == {"allergic to peanuts": 1, "lives in Ghent": 0}


def test_a_reply_that_comes_after_calls_is_one_to_the_same_context() -> None:
    with memory() as held:
        held.thread("before").add("user", "I live in Ghent.")
        thread = held.thread("weather")
        thread.add("user", "Will it rain?")
        thread.context(budget=1_000)
        thread.append(
            [{"role": "assistant", "content": "One moment."}, {"role": "assistant", "content": "You live in Ghent: yes."}]
        )
        assert counts(held) == {"lives in Ghent": 1}


def test_a_reply_with_marks_uses_what_it_names_and_nothing_else() -> None:
    with memory() as held:
        held.thread("before").add("user", "I'm allergic to peanuts. I live in Ghent.")
        thread = held.thread("dinner")
        thread.add("user", "What shall I cook?")
        thread.context(budget=1_000)
        (home,) = [record for record in held.records("insight") if record.text == "lives in Ghent"]
        thread.add("assistant", f"You live in Ghent [mem:{home.id[-8:]}]. You are allergic to peanuts.")
        assert counts(held) == {"allergic to peanuts": 0, "lives in Ghent": 1}


def test_a_reply_uses_nothing_of_a_context_after_which_a_user_has_spoken() -> None:
    with memory() as held:
        held.thread("before").add("user", "I live in Ghent.")
        thread = held.thread("weather")
        thread.add("user", "Will it rain?")
        thread.context(budget=1_000)
        thread.add("user", "Never mind.")
        thread.add("assistant", "You live in Ghent.")
        assert counts(held) == {"lives in Ghent": 0}


def test_without_a_context_nothing_is_used() -> None:
    with memory() as held:
        thread = held.thread("t")
        thread.add("user", "I live in Ghent.")
        thread.add("assistant", "You live in Ghent.")
        assert counts(held) == {"lives in Ghent": 0}


def test_overlap_can_be_turned_off() -> None:
    with memory(citation_overlap=None) as held:
        held.thread("before").add("user", "I live in Ghent.")
        thread = held.thread("weather")
        thread.add("user", "Will it rain?")
        thread.context(budget=1_000)
        thread.add("assistant", "You live in Ghent.")
        assert counts(held) == {"lives in Ghent": 0}


@pytest.mark.parametrize("given_overlap", [0.0, -1.0, 1.5])
def test_a_threshold_that_means_nothing_is_refused(given_overlap: float) -> None:
    with pytest.raises(InvalidInput, match="citation_overlap"):
        Settings(citation_overlap=given_overlap)


def test_uses_from_many_threads_of_a_process_all_count() -> None:
    with memory() as held:
        note = held.store("Never book night flights.")
        workers = [SystemThread(target=held.cite, args=(note.id,)) for _ in range(16)]
        for worker in workers:
            worker.start()
        for worker in workers:
            worker.join()
        assert [record.access_count for record in held.records("note")] == [16]
