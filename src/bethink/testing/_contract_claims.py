"""The contract: notes with an author and a claim, which are notes like any other; an author has one answer to a question."""

from __future__ import annotations

from datetime import datetime, timedelta

from bethink.claims import ArtifactRef, Claim
from bethink.records import Note
from bethink.storage.base import Restore, Retire, Store
from bethink.testing._contract import AT, NS, ContractBase, append, forget, get, hits, note, put, record, say, source

_BUDGET = Claim(about="Launch", slot="budget", value="40,000")


def _posted(record_id: str, author: str, value: str, *, days: int = 0, slot: str = "budget") -> Note:
    claim = Claim(about="launch", slot=slot, value=value)
    return note(record_id, f"It is {value}.", author=author, claim=claim, recorded_at=_day(days))


def _day(days: int) -> datetime:
    return AT + timedelta(days=days)


def _superseded(new: Note, *former: str) -> tuple[Retire, ...]:
    return tuple([Retire(each, new.recorded_at, "superseded", new.id) for each in former])


class ClaimContract(ContractBase):
    def test_a_note_with_a_claim_comes_back_as_it_was(self, store: Store) -> None:
        ref = ArtifactRef(id="i1", namespace=NS, key="report", version=3, digest="0" * 64, size=7, author="writer")
        claim = Claim(about="launch", slot="budget", value="40,000", source="mail of 3 May", artifacts=(ref,))
        given = note("r1", "bees", author="researcher", claim=claim, metadata={"team": 7})
        put(store, given)
        assert record(store, "r1") == given

    def test_search_finds_it_by_the_words_of_its_text_alone(self, store: Store) -> None:
        put(store, note("r1", "bees", author="researcher", claim=_BUDGET))
        assert hits(store, "bees") == {"r1"}
        assert hits(store, "launch") == hits(store, "researcher") == set()

    def test_known_again_it_keeps_its_author_and_its_claim(self, store: Store) -> None:
        put(store, note("r1", "bees", author="researcher", claim=_BUDGET))
        put(store, note("r1", "wasps", author="writer"))
        known = record(store, "r1")
        assert isinstance(known, Note)
        assert (known.text, known.author, known.claim) == ("bees", "researcher", _BUDGET)

    def test_it_goes_with_the_last_message_that_it_rests_on(self, store: Store) -> None:
        append(store, say("m1"), say("m2"))
        put(store, note("r1", "bees", source("m1", "bees"), source("m2", "bees"), author="a", claim=_BUDGET))
        forget(store, message_id="m1")
        assert record(store, "r1").author == "a"
        forget(store, message_id="m2")
        assert get(store, records=("r1",)).records == ()

    def test_with_an_answer_the_one_before_it_of_the_same_author_stands_again(self, store: Store) -> None:
        first, second = _posted("r1", "a", "40"), _posted("r2", "a", "50", days=1)
        put(store, first)
        put(store, second, retire=_superseded(second, "r1"))
        forget(store, record_id="r2")
        assert record(store, "r1").current

    def test_it_does_not_where_the_author_has_answered_since(self, store: Store) -> None:
        first, second, third = _posted("r1", "a", "40"), _posted("r2", "a", "50", days=1), _posted("r3", "a", "60", days=2)
        put(store, first)
        put(store, second, retire=_superseded(second, "r1"))
        put(store, third, retire=_superseded(third, "r2"))
        forget(store, record_id="r2")
        assert (record(store, "r1").superseded_by, record(store, "r3").current) == ("r3", True)

    def test_of_several_answers_of_an_author_the_newest_stands_again_and_one_of_every_other(self, store: Store) -> None:
        put(store, _posted("r1", "a", "40"), _posted("r2", "a", "50", days=1), _posted("r3", "b", "60"))
        put(store, _posted("r4", "b", "70", slot="date"))
        kept = _posted("r5", "c", "80", days=2)
        put(store, kept, retire=_superseded(kept, "r1", "r2", "r3"))
        forget(store, record_id="r5")
        assert [record(store, each).current for each in ("r1", "r2", "r3", "r4")] == [False, True, True, True]
        assert record(store, "r1").superseded_by == "r2"

    def test_what_was_withdrawn_is_current_again_when_that_is_taken_back(self, store: Store) -> None:
        put(store, note("r1", "bees", author="a", claim=_BUDGET))
        put(store, retire=(Retire("r1", _day(1), "withdrawn"),))
        put(store, restore=(Restore(record_id="r1"),), at=_day(2))
        assert record(store, "r1") == note("r1", "bees", author="a", claim=_BUDGET)
