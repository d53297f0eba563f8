"""Messages by their ids on SQLite: those that the index has, and those in tails that it does not have yet."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import closing
from datetime import datetime, timezone
from pathlib import Path

import pytest

from bethink.errors import Conflict
from bethink.ids import derived_id, may_be_new, new_id
from bethink.messages import Message
from bethink.records import Note, Source
from bethink.storage.base import Append, Appended, Forget, Get, Put, Read, Scope
from bethink.storage.sqlite import SqliteStore, tail
from bethink.storage.sqlite.queries import q

AT = datetime(2026, 3, 1, 12, tzinfo=timezone.utc)
NS = ("acme", "ada")


@pytest.fixture
def store(tmp_path: Path) -> Iterator[SqliteStore]:
    with closing(SqliteStore(tmp_path / "memory.db", durability="normal")) as store:
        yield store
        assert store.check() == []


def say(store: SqliteStore, text: str, thread_id: str = "t") -> Message:
    """A message whose id is made for it."""
    message = Message(role="user", content=text, id=new_id(AT), created_at=AT)
    return store.append(Append(namespace=NS, thread_id=thread_id, at=AT, messages=(message,), fresh=True)).messages[0]


def again(store: SqliteStore, message: Message, thread_id: str = "t") -> Appended:
    return store.append(Append(namespace=NS, thread_id=thread_id, at=AT, messages=(message,)))


def listed(store: SqliteStore) -> int:
    """How many messages the index of ids has."""
    with store._readers.reading() as database:
        count: int = database.execute("SELECT count(*) FROM messages WHERE listed = 1")[0][0]
        return count


def test_an_append_leaves_the_index_of_ids_to_the_search_that_settles(store: SqliteStore) -> None:
    said = [say(store, f"bees {number}") for number in range(tail.LONGEST)]
    assert listed(store) == 0
    say(store, "one more")
    store.speakers(Scope(NS))
    assert listed(store) == len(said) + 1


def test_a_message_that_says_nothing_is_listed_when_its_thread_is_settled(store: SqliteStore) -> None:
    say(store, "")
    with store._readers.reading() as database:
        (thread,) = database.execute("SELECT id FROM threads")[0]
    store._writer.run(lambda database: tail.settle_thread(database, thread))
    assert listed(store) == 1


def test_an_id_that_was_given_is_listed_at_once(store: SqliteStore) -> None:
    again(store, Message(role="user", content="hello", id="msg_1", created_at=AT))
    again(store, Message(role="user", content="hello", id=new_id(AT), created_at=AT))
    assert listed(store) == 2


def test_an_id_that_no_call_could_have_made_is_listed_at_once(store: SqliteStore) -> None:
    message = Message(role="user", content="hello", id="1", created_at=AT)
    store.append(Append(namespace=NS, thread_id="t", at=AT, messages=(message,), fresh=True))
    assert listed(store) == 1


def test_a_message_that_is_not_listed_is_found_by_its_id(store: SqliteStore) -> None:
    said = say(store, "hello")
    found = store.get(Get(scope=Scope(NS), messages=(said.id,))).messages
    assert [(each.thread_id, each.message) for each in found] == [("t", said)]


def test_a_retry_of_a_message_that_is_not_listed_writes_nothing_twice(store: SqliteStore) -> None:
    said = say(store, "hello")
    assert again(store, said) == Appended((said,), added=0, tip=1)


def test_the_id_of_a_message_that_is_not_listed_cannot_say_something_else(store: SqliteStore) -> None:
    said = say(store, "hello")
    with pytest.raises(Conflict, match="says something else"):
        again(store, Message(role="user", content="good-bye", id=said.id, created_at=AT))


def test_looking_for_ids_of_ones_own_never_reads_more_than_a_short_tail(store: SqliteStore) -> None:
    for number in range(3 * tail.LONGEST):
        again(store, Message(role="user", content=f"hello {number}", id=new_id(AT), created_at=AT))
        with store._readers.reading() as database:
            assert not database.execute(q.long_tail, (1, tail.LONGEST + 1))


def test_a_source_that_is_not_listed_is_found_and_forgotten_with_its_record(store: SqliteStore) -> None:
    said = say(store, "hello")
    source = Source(message_id=said.id, thread_id="t", text="hello")
    store.put(Put(namespace=NS, records=(Note(id="n", text="hello", trust="user", recorded_at=AT, sources=(source,)),)))
    receipt = store.forget(Forget(scope=Scope(NS), at=AT, message_id=said.id))
    assert (receipt.message_ids, receipt.record_ids) == ((said.id,), ("n",))


def test_a_copy_that_is_not_listed_is_the_home_of_what_rests_on_a_forgotten_thread(store: SqliteStore) -> None:
    said = say(store, "hello", "first")
    copy = again(store, said, "second").messages[0]
    source = Source(message_id=copy.id, thread_id="second", text="hello")
    store.put(Put(namespace=NS, records=(Note(id="n", text="hello", trust="user", recorded_at=AT, sources=(source,)),)))
    receipt = store.forget(Forget(scope=Scope(NS), at=AT, thread_id="second"))
    assert (receipt.message_ids, receipt.record_ids) == ((), ())
    assert store.read(Read(namespace=NS, thread_id="first")).messages == (said,)


def test_ids_that_are_made_here_may_be_new() -> None:
    assert may_be_new(new_id(AT))
    assert may_be_new(derived_id(AT, "x"))


@pytest.mark.parametrize(
    "given", ["", "7", "msg_123", "01a22b9a-86ad-4fb8-88ed-bdb363b417e6", "01a22b9a86ad7fb888edbdb363b417e6"]
)
def test_other_ids_cannot_be(given: str) -> None:
    assert not may_be_new(given)
