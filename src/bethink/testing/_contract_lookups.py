"""The contract of what is asked often and must cost little: revision, speakers, ends of ids, pinned records, common terms."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from bethink.errors import NotFound
from bethink.storage.base import Cite, Cursor, Get, Pin, Retire, Scope, Store
from bethink.testing._contract import (
    AT,
    EVERYTHING,
    NS,
    ContractBase,
    append,
    calls,
    embed,
    forget,
    fork,
    get,
    hits,
    insight,
    line,
    note,
    put,
    receipt,
    record,
    say,
    scan,
    search,
    source,
    summary,
)

OTHER = ("acme", "bob")
_LONG, _LIKE, _OTHER = "0198-7000-3f2a9c1d", "0199-7000-3f2a9c1d", "0198-7000-77b01e52"


class EndingContract(ContractBase):
    @pytest.mark.parametrize(
        ("ending", "found"),
        [
            ("77b01e52", [_OTHER]),
            ("3f2a9c1d", [_LONG, _LIKE]),
            ("0198-7000-3f2a9c1d", [_LONG]),
            ("-7000-3f2a9c1d", [_LONG, _LIKE]),
            ("9c1d", [_LONG, _LIKE]),
            ("2", [_OTHER, "r2"]),
            ("r2", ["r2"]),
            ("", []),
            ("3F2A9C1D", []),
            ("x3f2a9c1d", []),
            ("%9c1d", []),
            ("0199-7000-77b01e52", []),
        ],
    )
    def test_records_are_found_by_the_end_of_their_ids(self, store: Store, ending: str, found: list[str]) -> None:
        put(store, *[note(name) for name in (_LONG, _OTHER, "r2", _LIKE)])
        put(store, retire=(Retire(_LONG, AT, "archived"),))
        assert [each.record.id for each in get(store, endings=(ending,)).records] == found

    def test_what_several_endings_and_an_id_name_is_there_once_with_the_id_first(self, store: Store) -> None:
        put(store, *[note(name) for name in (_LONG, _OTHER, _LIKE)])
        fetched = get(store, records=(_LIKE,), endings=("77b01e52", "9c1d", "3f2a9c1d"))
        assert [each.record.id for each in fetched.records] == [_LIKE, _LONG, _OTHER]

    def test_an_ending_finds_nothing_of_other_namespaces(self, store: Store) -> None:
        below = (*NS, "below")
        for namespace in (NS, OTHER, below):
            put(store, note(_LONG), namespace=namespace)
        for ending in ("3f2a9c1d", "9c1d"):
            assert [each.namespace for each in get(store, endings=(ending,)).records] == [NS]
            whole = store.get(Get(scope=Scope(NS, subtree=True), endings=(ending,)))
            assert [each.namespace for each in whole.records] == [NS, below]


class RevisionContract(ContractBase):
    def test_a_revision_grows_with_every_change_of_the_records(self, store: Store) -> None:
        append(store, say("m1", "I live in Lisbon"), say("m2", "yes, in Lisbon"))
        changes: list[Callable[[], object]] = [
            lambda: put(store, insight("r1", "lives in Lisbon", source("m1"))),
            lambda: put(store, insight("r1", "lives in Lisbon", source("m2"))),
            lambda: put(store, cite=(Cite("r1", AT),)),
            lambda: put(store, note("r2")),
            lambda: put(store, pin=(Pin("r2"),), at=AT),
            lambda: put(store, retire=(Retire("r1", AT, "superseded", superseded_by="r2"),)),
            lambda: forget(store, record_id="r2"),
            lambda: forget(store, message_id="m1"),
            lambda: forget(store),
        ]
        revisions = [store.revision(NS)]
        for change in changes:
            change()
            revisions.append(store.revision(NS))
        assert revisions == sorted(set(revisions))

    def test_a_revision_grows_when_a_source_moves_to_a_fork(self, store: Store) -> None:
        append(store, say("m1", "I live in Lisbon"))
        fork(store, 1)
        put(store, insight("r1", "lives in Lisbon", source("m1")))
        before = store.revision(NS)
        forget(store, thread_id="t")
        assert record(store, "r1").sources[0].thread_id == "fork"
        assert store.revision(NS) > before

    def test_a_revision_stays_while_no_record_changes(self, store: Store) -> None:
        append(store, say("m1", "bees"))
        put(store, note("r1"))
        before = store.revision(NS)
        append(store, say("m2", "honey"), say("m3", "rain"))
        put(store, cursor=Cursor("t", "extracted", 0, 3), receipt=receipt("c1"))
        embed(store)
        forget(store, message_id="m3")
        hits(store, "bees")
        assert store.revision(NS) == before

    def test_a_refused_request_leaves_the_revision(self, store: Store) -> None:
        put(store, note("r1"))
        before = store.revision(NS)
        with pytest.raises(NotFound):
            put(store, insight("r2", "lives in Lisbon", source("nowhere")))
        assert store.revision(NS) == before

    def test_a_revision_never_comes_back(self, store: Store) -> None:
        seen = [store.revision(NS)]
        for _ in range(3):
            append(store, say("m1"))
            put(store, note("r1"), note("r2"))
            seen.append(store.revision(NS))
            forget(store)
            seen.append(store.revision(NS))
            put(store, note("r1"), namespace=OTHER)
            append(store, say("m1"))
            seen.append(store.revision(NS))
        assert seen == sorted(seen)
        assert len(set(seen[1::3])) == 3

    def test_another_handle_sees_the_revision(self, store: Store) -> None:
        put(store, note("r1"))
        other = self.reopen(store)
        try:
            assert other.revision(NS) == store.revision(NS)
            put(other, note("r2"))
            assert other.revision(NS) == store.revision(NS)
        finally:
            if other is not store:
                other.close()


class SpeakersContract(ContractBase):
    def test_speakers_are_the_names_in_scope_each_once_and_sorted(self, store: Store) -> None:
        append(store, say("m1", "bees", name="Zoe"), say("m2", "honey", name="Ada"), say("m3", "rain", name="Zoe"), say("m4"))
        append(store, say("m1", "bees", name="Éva"), thread="u")
        append(store, say("m1", "bees", name="Bob"), namespace=("acme", "ada", "x"))
        append(store, say("m1", "bees", name="Carl"), namespace=OTHER)
        assert store.speakers(Scope(NS)) == ("Ada", "Zoe", "Éva")
        assert store.speakers(Scope(NS, subtree=True)) == ("Ada", "Bob", "Zoe", "Éva")
        assert store.speakers(EVERYTHING) == ("Ada", "Bob", "Carl", "Zoe", "Éva")
        assert store.speakers(Scope(("acme", "nobody"))) == ()

    def test_a_message_that_search_cannot_find_gives_no_name(self, store: Store) -> None:
        append(store, say("m1", "?!", name="Ada"), say("m2", "honey", name="Bob"), say("m3", "wax", "system", name="Carl"))
        assert store.speakers(Scope(NS)) == ("Bob",)

    def test_a_tool_is_no_speaker(self, store: Store) -> None:
        append(store, calls("m1", "c1"), say("m2", "rain", role="tool", tool_call_id="c1", name="weather"))
        assert hits(store, "rain") == {"m2"}
        assert store.speakers(Scope(NS)) == ()

    def test_a_name_goes_with_its_last_message(self, store: Store) -> None:
        append(store, say("m1", "bees", name="Ada"), say("m2", "honey", name="Ada"))
        forget(store, message_id="m1")
        assert store.speakers(Scope(NS)) == ("Ada",)
        forget(store, message_id="m2")
        assert store.speakers(Scope(NS)) == ()

    def test_a_fork_keeps_the_names(self, store: Store) -> None:
        append(store, say("m1", "bees", name="Ada"))
        fork(store, 1)
        forget(store, thread_id="t")
        assert store.speakers(Scope(NS)) == ("Ada",)


class LookupContract(ContractBase):
    def test_pinned_leaves_out_every_other_record(self, store: Store) -> None:
        append(store, say("m1"))
        put(store, note("r1", pinned=True), note("r2"), insight("r3", "lives in Lisbon", pinned=True))
        put(store, summary("r4", line("hello", "m1")), note("r5", pinned=True), retire=(Retire("r1", AT, "archived"),))
        put(store, note("r1", pinned=True), namespace=(*NS, "x"))

        def pinned(**options: Any) -> list[str]:
            return [each.record.id for each in scan(store, "records", pinned=True, **options)]

        assert pinned(limit=1) == ["r1", "r3", "r5"]
        assert pinned(newest=True, limit=2) == ["r5", "r3", "r1"]
        assert pinned(kinds=("note",), current=True) == ["r5"]
        assert pinned(kinds=()) == []
        assert pinned(subtree=True) == ["r1", "r3", "r5", "r1"]
        forget(store, record_id="r5")
        assert pinned(current=True) == ["r3"]

    def test_records_of_one_kind_page_in_their_order(self, store: Store) -> None:
        put(store, *(note(f"n{number}") for number in range(3)), insight("i1", "lives in Lisbon"), note("n3"))
        put(store, retire=(Retire("n1", AT, "archived"),))
        put(store, note("other"), namespace=(*NS, "x"))
        notes = [each.record.id for each in scan(store, "records", kinds=("note",), limit=1)]
        assert notes == ["n0", "n1", "n2", "n3"]
        newest = [each.record.id for each in scan(store, "records", kinds=("note",), current=True, newest=True, limit=2)]
        assert newest == ["n3", "n2", "n0"]

    def test_frequencies_follow_what_is_added_and_what_goes(self, store: Store) -> None:
        other = self.reopen(store)
        try:
            append(store, say("m1", "bees"), say("m2", "bees and honey"))
            assert [search(each, "bees honey").frequency for each in (store, other)] == [{"bee": 2, "honey": 1}] * 2
            append(other, say("m3", "honey"))
            assert [search(each, "bees honey").frequency for each in (store, other)] == [{"bee": 2, "honey": 2}] * 2
            forget(other, message_id="m2")
            assert [search(each, "bees honey").frequency for each in (store, other)] == [{"bee": 1, "honey": 1}] * 2
            append(store, say("m4", "bees"), say("m5", "bees"))
            assert [search(each, "bees honey").frequency for each in (store, other)] == [{"bee": 3, "honey": 1}] * 2
            forget(store)
            append(store, say("m6", "honey"))
            assert [search(each, "bees honey").frequency for each in (store, other)] == [{"honey": 1}] * 2
        finally:
            if other is not store:
                other.close()

    def test_units_that_hold_a_rare_term_are_found_among_thousands_that_hold_a_common_one(self, store: Store) -> None:
        crowd = [say(f"c{number}", "bees") for number in range(1_500)]
        append(store, *crowd[:750], say("m1", "bees and honey"), say("m2", "a badger"), *crowd[750:])
        assert {"m1", "m2"} <= hits(store, "bees honey badger", limit=5)
        assert len(hits(store, "bees", limit=5)) == 5
        put(store, note("r1", "bees"))
        assert hits(store, "bees honey badger", kinds=("note",), limit=5) == {"r1"}
