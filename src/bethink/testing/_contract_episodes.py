"""The contract: episodes, which are searched as any record is and go with what they were made of."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

import pytest

from bethink.errors import NotFound
from bethink.records import Episode, Outcome, Source, StateEntry
from bethink.storage.base import Compare, Exists, Not, Retire, Store
from bethink.testing._contract import (
    AT,
    EVERYTHING,
    ContractBase,
    append,
    embed,
    forget,
    fork,
    get,
    hits,
    put,
    receipt,
    record,
    say,
    scan,
    search,
    shown,
    source,
)

_WORDS = "forty-two green bottles"


def episode(episode_id: str, text: str, *sources: Source, outcome: Outcome = "success", **fields: Any) -> Episode:
    fields.setdefault("ended_at", AT)
    return Episode(
        id=episode_id, text=text, trust="user", recorded_at=AT, task=text, outcome=outcome, sources=sources, **fields
    )


def entry(entry_id: str, text: str, *sources: Source) -> StateEntry:
    return StateEntry(id=entry_id, text=text, trust="user", recorded_at=AT, thread_id="t", part="fact", sources=sources)


class EpisodeContract(ContractBase):
    def test_an_episode_comes_back_as_it_was(self, store: Store) -> None:
        append(store, say("m1"))
        put(store, entry("e1", "use SQLite", source("m1")))
        given = episode(
            "p1",
            "ship it",
            source("m1"),
            thread_id="t",
            through=1,
            approach="in small steps",
            feedback="it works",
            tools=("search", "write"),
            started_at=AT - timedelta(hours=1),
            tokens=900,
            cost=0.25,
            entries=("e1",),
            metadata={"team": 7},
        )
        put(store, given)
        assert record(store, "p1") == given

    def test_search_finds_an_episode_by_words_and_by_meaning(self, store: Store) -> None:
        put(store, episode("p1", "honey"), episode("p2", "rain"))
        embed(store)
        assert hits(store, "honey") == {"p1"}
        assert hits(store, near="rain", kinds=("episode",), limit=1) == {"p2"}
        assert hits(store, "honey", kinds=("message", "note", "insight", "summary")) == set()

    def test_an_episode_is_found_by_the_time_at_which_it_ended(self, store: Store) -> None:
        put(store, episode("p1", "honey"), episode("p2", "honey", ended_at=AT + timedelta(days=9, microseconds=5)))
        later = Compare(("at",), "gt", AT + timedelta(days=9))
        assert hits(store, "honey", where=later) == {"p2"}
        (found,) = search(store, "honey", where=later).candidates
        assert (found.kind, found.at) == ("episode", AT + timedelta(days=9, microseconds=5))

    def test_an_episode_is_filtered_by_outcome_and_thread(self, store: Store) -> None:
        append(store, say("m1", "honey"))
        put(store, episode("p1", "honey"), episode("p2", "honey", outcome="failure", thread_id="t"))
        assert hits(store, "honey", where=Compare(("outcome",), "eq", "failure")) == {"p2"}
        assert hits(store, "honey", where=Not(Exists(("outcome",)))) == {"m1"}
        assert hits(store, "honey", where=Compare(("thread_id",), "eq", "t")) == {"m1", "p2"}

    def test_an_episode_that_was_retired_is_found_only_when_asked_for(self, store: Store) -> None:
        put(store, episode("p1", "honey"))
        put(store, retire=(Retire("p1", AT, "archived"),))
        assert hits(store, "honey") == set()
        assert hits(store, "honey", current=False) == {"p1"}

    def test_an_episode_is_scanned_by_its_thread_and_kind(self, store: Store) -> None:
        append(store, say("m1"))
        put(store, episode("p1", "one", thread_id="t"), episode("p2", "two"), entry("e1", "three"))
        assert [each.record.id for each in scan(store, "records", kinds=("episode",), thread_id="t")] == ["p1"]
        assert [each.record.id for each in scan(store, "records", kinds=("episode",))] == ["p1", "p2"]

    def test_the_thread_and_entries_of_an_episode_must_be_there(self, store: Store) -> None:
        with pytest.raises(NotFound):
            put(store, episode("p1", "one", thread_id="t"))
        append(store, say("m1"))
        with pytest.raises(NotFound):
            put(store, episode("p1", "one", thread_id="t", entries=("e1",)))
        assert scan(store, "records") == []

    def test_an_episode_goes_with_the_first_of_its_sources(self, store: Store) -> None:
        append(store, say("m1"), say("m2"))
        put(store, episode("p1", _WORDS, source("m1"), source("m2"), thread_id="t"), episode("p2", "kept", thread_id="t"))
        put(store, receipt=receipt("c1", shown("record", "p1")))
        went = forget(store, message_id="m1")
        assert (went.record_ids, went.receipts) == (("p1",), 1)
        assert [each.record.id for each in scan(store, "records")] == ["p2"]
        assert store.verify((_WORDS,)).clean

    def test_an_episode_goes_with_an_entry_that_it_was_made_of(self, store: Store) -> None:
        append(store, say("m1"))
        put(store, entry("e1", "use SQLite"), entry("e2", "ship"))
        put(
            store,
            episode("p1", _WORDS, thread_id="t", entries=("e1", "e2")),
            episode("p2", "of the other", thread_id="t", entries=("e2",)),
        )
        assert forget(store, record_id="e1").record_ids == ("e1", "p1")
        assert [each.record.id for each in scan(store, "records")] == ["e2", "p2"]
        assert store.verify((_WORDS,)).clean

    def test_an_episode_goes_with_a_message_that_an_entry_was_drawn_from(self, store: Store) -> None:
        append(store, say("m1"), say("m2"))
        put(store, entry("e1", "use SQLite", source("m1")))
        put(store, episode("p1", _WORDS, source("m2"), thread_id="t", entries=("e1",)))
        assert forget(store, message_id="m1").record_ids == ("e1", "p1")
        assert store.stats(EVERYTHING).units == 1

    def test_an_episode_goes_with_its_thread(self, store: Store) -> None:
        append(store, say("m1"))
        put(store, episode("p1", _WORDS, thread_id="t"), episode("p2", "of no thread"))
        assert forget(store, thread_id="t").record_ids == ("p1",)
        assert [each.record.id for each in scan(store, "records")] == ["p2"]
        assert store.verify((_WORDS,)).clean

    def test_a_fork_has_no_episode_of_its_parent(self, store: Store) -> None:
        append(store, say("m1"))
        put(store, episode("p1", "one", source("m1"), thread_id="t"))
        fork(store, 1)
        assert scan(store, "records", kinds=("episode",), thread_id="fork") == []
        assert forget(store, thread_id="t").record_ids == ("p1",)
        assert get(store, records=("p1",)).records == ()
