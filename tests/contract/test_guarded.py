"""The store of a view: every verb of the waist asks for its namespace first, and what is refused never reaches the store."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import closing
from datetime import datetime, timedelta, timezone
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bethink.errors import PermissionDenied
from bethink.messages import Message
from bethink.records import Node, Note
from bethink.redaction import Redaction
from bethink.rights import Rights
from bethink.storage.base import (
    Acquire,
    Append,
    Attempt,
    Fold,
    Forget,
    Get,
    ItemChange,
    KeepItems,
    Lease,
    ListItems,
    Mark,
    Prune,
    Put,
    Read,
    Refine,
    RefreshItems,
    Release,
    Rewrite,
    Save,
    Scan,
    Scope,
    Search,
    Store,
)
from bethink.storage.guarded import GuardedStore
from bethink.storage.reference import ReferenceStore

AT = datetime(2026, 3, 1, 12, tzinfo=timezone.utc)
TEAM = ("acme", "team")
NODE = Node(id="n", level=1, covers=((1, 1),), lines=(), author="extractive", created_at=AT)
ATTEMPT = Attempt(span="s", node_id="n", model="m", at=AT)
MESSAGE = Message(role="user", content="bees", id="m1", created_at=AT)


def lease(namespace: tuple[str, ...]) -> Lease:
    return Lease(namespace=namespace, thread_id="t", holder="h", token=1, expires_at=AT)


def item(namespace: tuple[str, ...]) -> ItemChange:
    return ItemChange(namespace=namespace, key="k", at=AT, id="i1", value={}, text="")


Ask = Callable[[Any, tuple[str, ...]], object]

READING: dict[str, Ask] = {
    "read": lambda store, ns: store.read(Read(namespace=ns, thread_id="t")),
    "get": lambda store, ns: store.get(Get(scope=Scope(ns), records=("r",))),
    "search": lambda store, ns: store.search(Search(scope=Scope(ns), terms=("bees",))),
    "scan": lambda store, ns: store.scan(Scan(what="records", scope=Scope(ns))),
    "list_items": lambda store, ns: store.list_items(ListItems(scope=Scope(ns), at=AT)),
    "count_items": lambda store, ns: store.count_items(ListItems(scope=Scope(ns), at=AT)),
    "item_namespaces": lambda store, ns: store.item_namespaces(Scope(ns), AT),
    "has_expired": lambda store, ns: store.has_expired(Scope(ns), AT),
    "revision": lambda store, ns: store.revision(ns),
    "speakers": lambda store, ns: store.speakers(Scope(ns)),
    "stats": lambda store, ns: store.stats(Scope(ns)),
}
WRITING: dict[str, Ask] = {
    "append": lambda store, ns: store.append(Append(namespace=ns, thread_id="t", at=AT, messages=(MESSAGE,))),
    "put": lambda store, ns: store.put(Put(namespace=ns)),
    "keep_items": lambda store, ns: store.keep_items(KeepItems(changes=(item(ns),), history=1)),
    "refresh_items": lambda store, ns: store.refresh_items(RefreshItems(keys=((ns, "k"),), at=AT)),
    "fold": lambda store, ns: store.fold(Fold(namespace=ns, thread_id="t", nodes=(), through=0, expected_through=0)),
    "refine": lambda store, ns: store.refine(Refine(namespace=ns, thread_id="t", expected=NODE, attempt=ATTEMPT)),
    "mark": lambda store, ns: store.mark(Mark(namespace=ns, thread_id="t", at=AT, tiers=(("m1", "permanent"),))),
    "acquire": lambda store, ns: store.acquire(Acquire(namespace=ns, thread_id="t", holder="h", at=AT, until=AT)),
    "release": lambda store, ns: store.release(Release(lease(ns))),
    "save": lambda store, ns: store.save(Save(namespace=ns, thread_id="t", id="c", at=AT, state=b"", format="bytes")),
    "prune": lambda store, ns: store.prune(Prune(namespace=ns, thread_id="t", keep=1)),
    "rewrite": lambda store, ns: store.rewrite(Rewrite(scope=Scope(ns), by=Redaction())),
    "forget": lambda store, ns: store.forget(Forget(scope=Scope(ns), at=AT, thread_id="t")),
}
WHOLE: dict[str, Callable[[Any], object]] = {
    "check": lambda store: store.check(),
    "verify": lambda store: store.verify(("bees",)),
    "fill_space": lambda store: store.fill_space(None),
    "switch_space": lambda store: store.switch_space(None),
}
OTHERS = {"append_each", "bind_embedder", "spaces", "sweep", "close"}


class Untouched:
    """A store that must not be reached."""

    def __getattr__(self, name: str) -> object:
        raise AssertionError(f"{name} reached the store")


def guard(rights: Rights) -> GuardedStore:
    untouched: Any = Untouched()
    return GuardedStore(untouched, rights)


def test_every_verb_of_the_waist_is_guarded() -> None:
    verbs = {name for name, value in vars(Store).items() if callable(value) and not name.startswith("_")}
    guarded = {name for name, value in vars(GuardedStore).items() if callable(value) and not name.startswith("_")}
    assert guarded == verbs
    assert READING.keys() | WRITING.keys() | WHOLE.keys() | OTHERS == verbs


@pytest.mark.parametrize("namespace", [("acme",), ("acme", "teams"), ("acme", "tea"), ("other", "team"), ("acme", "Team")])
@pytest.mark.parametrize("verb", [*READING, *WRITING])
def test_V078_what_is_outside_is_refused_before_the_store_is_reached(verb: str, namespace: tuple[str, ...]) -> None:
    ask = (READING | WRITING)[verb]
    with pytest.raises(PermissionDenied) as denied:
        ask(guard(Rights.of([TEAM], [TEAM], "")), namespace)
    assert denied.value.place == namespace


@pytest.mark.parametrize("verb", WRITING)
def test_who_may_only_read_writes_nothing(verb: str) -> None:
    with pytest.raises(PermissionDenied, match="write in acme/team"):
        WRITING[verb](guard(Rights.of([TEAM], [], "")), TEAM)


@pytest.mark.parametrize("verb", WHOLE)
def test_what_is_of_the_whole_database_is_refused(verb: str) -> None:
    with pytest.raises(PermissionDenied, match="in the whole database"):
        WHOLE[verb](guard(Rights.of([()], [()], "")))


def test_a_request_that_is_allowed_goes_on_as_it_came() -> None:
    with closing(ReferenceStore()) as store:
        guarded = GuardedStore(store, Rights.of([], [TEAM], ""))
        below = (*TEAM, "below")
        guarded.append(Append(namespace=below, thread_id="t", at=AT, messages=(MESSAGE,)))
        assert guarded.read(Read(namespace=below, thread_id="t")) == store.read(Read(namespace=below, thread_id="t"))


def test_of_several_appends_those_that_are_refused_do_not_hold_up_the_others() -> None:
    with closing(ReferenceStore()) as store:
        guarded = GuardedStore(store, Rights.of([], [TEAM], ""))
        outcomes = guarded.append_each(
            [Append(namespace=ns, thread_id="t", at=AT, messages=(MESSAGE,)) for ns in (TEAM, ("acme",), (*TEAM, "x"))]
        )
    assert [type(each).__name__ for each in outcomes] == ["Appended", "PermissionDenied", "Appended"]


def test_closing_and_sweeping_do_nothing() -> None:
    guarded = guard(Rights.of([], [TEAM], ""))
    guarded.close()
    assert guarded.sweep() is False


def test_a_record_that_names_another_agent_is_refused() -> None:
    note = Note(id="r1", text="bees", trust="assistant", recorded_at=AT, author="writer")
    with pytest.raises(PermissionDenied, match="the word of another"):
        guard(Rights.of([], [TEAM], "researcher")).put(Put(namespace=TEAM, records=(note,)))


@pytest.mark.parametrize("record_id", ["r1", None])
def test_a_record_of_another_agent_is_forgotten_neither_alone_nor_with_its_namespace(record_id: str | None) -> None:
    with closing(ReferenceStore()) as store:
        note = Note(id="r1", text="bees", trust="assistant", recorded_at=AT, author="writer", retired_at=AT)
        store.put(Put(namespace=TEAM, records=(note,)))
        guarded = GuardedStore(store, Rights.of([], [TEAM], "researcher"))
        with pytest.raises(PermissionDenied, match="forget in acme/team"):
            guarded.forget(Forget(scope=Scope(TEAM, subtree=True), at=AT + timedelta(days=1), record_id=record_id))
        assert store.get(Get(scope=Scope(TEAM), records=("r1",))).records


# -- rights ---------------------------------------------------------------------------------------------------------------

_namespaces = st.lists(st.lists(st.sampled_from("ab"), max_size=3).map(tuple), max_size=4)


@given(_namespaces, _namespaces, st.lists(st.sampled_from("ab"), max_size=4).map(tuple))
def test_a_right_covers_a_namespace_and_all_below_it(
    read: list[tuple[str, ...]], write: list[tuple[str, ...]], namespace: tuple[str, ...]
) -> None:
    rights = Rights.of(read, write, "")
    assert rights.may_write(namespace) == any(namespace[: len(place)] == place for place in write)
    assert rights.may_read(namespace) == any(namespace[: len(place)] == place for place in [*read, *write])


@given(_namespaces, _namespaces, _namespaces, _namespaces, st.lists(st.sampled_from("ab"), max_size=4).map(tuple))
def test_narrowed_rights_never_allow_what_the_wider_did_not(
    read: list[tuple[str, ...]],
    write: list[tuple[str, ...]],
    less_read: list[tuple[str, ...]],
    less_write: list[tuple[str, ...]],
    namespace: tuple[str, ...],
) -> None:
    wide = Rights.of(read, write, "")
    try:
        narrow = wide.narrowed(Rights.of(less_read, less_write, ""))
    except PermissionDenied:
        return
    assert wide.may_write(namespace) or not narrow.may_write(namespace)
    assert wide.may_read(namespace) or not narrow.may_read(namespace)


@given(_namespaces)
def test_no_place_of_rights_lies_within_another(read: list[tuple[str, ...]]) -> None:
    places = Rights.of(read, [], "").reads
    assert not any(one != other and other[: len(one)] == one for one in places for other in places)
