"""What is kept of one read for the next: never anything that the file does not say."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import closing
from datetime import datetime, timezone
from pathlib import Path

import pytest

from bethink.ids import new_id
from bethink.messages import Message
from bethink.records import Line, Node
from bethink.storage.base import Append, Fold, Forget, Mark, Read, Refine, Scope, Transcript
from bethink.storage.base.summaries import Attempt
from bethink.storage.sqlite import SqliteStore, transcripts

AT = datetime(2026, 3, 1, 12, tzinfo=timezone.utc)
NS = ("acme", "ada")
UNFOLDED = Read(namespace=NS, thread_id="t", unfolded=True, whole_groups=True, pinned=True, nodes=True, marks=True)


@pytest.fixture
def store(tmp_path: Path) -> Iterator[SqliteStore]:
    with closing(SqliteStore(tmp_path / "memory.db", durability="normal")) as store:
        yield store
        assert store.check() == []


@pytest.fixture
def other(store: SqliteStore) -> Iterator[SqliteStore]:
    """The same file, opened again: what another process would do."""
    with closing(SqliteStore(store.path, durability="normal")) as other:
        yield other


def say(store: SqliteStore, *messages: Message) -> None:
    store.append(Append(namespace=NS, thread_id="t", at=AT, messages=messages))


def message(message_id: str, text: str = "hello", **fields: object) -> Message:
    return Message(role="user", content=text, id=message_id, created_at=AT, **fields)  # type: ignore[arg-type]


def begin_anew(store: SqliteStore) -> None:
    store.forget(Forget(scope=Scope(NS), at=AT, thread_id="t"))
    say(store, message("m1", "anew"))


def node(node_id: str, first: int, last: int, text: str, source: str, author: str = "extractive") -> Node:
    return Node(id=node_id, level=1, covers=((first, last),), lines=(Line(text, (source,), AT),), author=author, created_at=AT)


def kept(store: SqliteStore) -> list[Transcript]:
    return [each.transcript for each in store._transcripts._kept.values()]


def same(store: SqliteStore) -> Transcript:
    """What is not folded, read with what is kept and, by a store that has kept nothing, from the file."""
    found = store.read(UNFOLDED)
    with closing(SqliteStore(store.path, durability="normal")) as fresh:
        assert found == fresh.read(UNFOLDED)
    return found


def test_the_next_read_adds_what_was_appended(store: SqliteStore) -> None:
    say(store, message("m1"), message("m2"))
    before = store.read(UNFOLDED)
    say(store, message("m3"))
    after = same(store)
    assert [one is other for one, other in zip(after.messages, before.messages, strict=False)] == [True, True]
    assert kept(store) == [after]


def test_whatever_another_store_does_is_read(store: SqliteStore, other: SqliteStore) -> None:
    say(store, *(message(f"m{number}", f"word{number}") for number in range(1, 9)))
    scope = Scope(NS)
    extractive = node("n1", 1, 3, "word1", "m1")
    attempt = Attempt(span="s", node_id="n1", model="gpt", at=AT)
    acts: tuple[Callable[[], object], ...] = (
        lambda: say(other, message("m9")),
        lambda: other.mark(Mark(namespace=NS, thread_id="t", tiers=(("m4", "permanent"),), at=AT)),
        lambda: other.mark(Mark(namespace=NS, thread_id="t", scores=(("m5", 9),), author="gpt", at=AT)),
        lambda: other.fold(Fold(namespace=NS, thread_id="t", nodes=(extractive,), through=3, expected_through=0)),
        lambda: other.refine(
            Refine(
                namespace=NS,
                thread_id="t",
                expected=extractive,
                attempt=attempt,
                node=node("w1", 1, 3, "a word", "m1", author="gpt"),
            )
        ),
        lambda: other.forget(Forget(scope=scope, at=AT, message_id="m6")),
        lambda: other.forget(Forget(scope=scope, at=AT, message_id="m1")),
        lambda: begin_anew(other),
    )
    same(store)
    for act in acts:
        before = store.read(UNFOLDED)
        act()
        assert same(store) != before


def test_a_forget_leaves_nothing_that_was_kept(store: SqliteStore) -> None:
    say(store, message("m1", "a secret"), message("m2"))
    store.read(UNFOLDED)
    store.forget(Forget(scope=Scope(NS), at=AT, message_id="m1"))
    assert kept(store) == []


def test_messages_that_a_caller_could_change_are_not_kept(store: SqliteStore) -> None:
    say(store, message("m1"))
    store.read(UNFOLDED)
    say(store, message("m2", metadata={"n": 1}))
    found = same(store)
    assert kept(store) == []
    found.messages[1].metadata["n"] = 2
    assert same(store).messages[1].metadata == {"n": 1}


def test_what_is_kept_is_bounded(store: SqliteStore, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(transcripts, "_KEPT", 2)
    for number in range(4):
        thread = f"t{number}"
        said = Message(role="user", content="hello", id=new_id(AT), created_at=AT)
        store.append(Append(namespace=NS, thread_id=thread, at=AT, messages=(said,)))
        store.read(Read(namespace=NS, thread_id=thread, unfolded=True))
    assert [each.thread.thread_id for each in kept(store)] == ["t2", "t3"]
    say(store, message("m1", "x" * (transcripts._LARGEST_KEPT + 1)))
    same(store)
    assert [each.thread.thread_id for each in kept(store)] == ["t2", "t3"]


def test_a_read_of_an_earlier_moment_does_not_see_what_a_later_one_has_kept(store: SqliteStore) -> None:
    say(store, message("m1"))
    with store._readers.reading() as early:
        early.execute("SELECT count(*) FROM threads")  # its moment begins with the first look
        say(store, message("m2"))
        assert len(store.read(UNFOLDED).messages) == 2
        assert len(store._transcripts.read(early, UNFOLDED).messages) == 1
    assert len(store.read(UNFOLDED).messages) == 2
