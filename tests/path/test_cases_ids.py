"""Ids: what is accepted once works everywhere, and what is refused is refused everywhere alike."""

from __future__ import annotations

import uuid
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from bethink import InvalidInput, Memory, Message, NotFound
from bethink.values import check_id

LISTED = (
    "a", "user-123", "user_123", "a.b", "a:b", "a@b.example", "7up", str(uuid.UUID(int=7)), "x" * 200, "-", "--", "*", '"', "'",
    "(", "NEAR(", "OR", "a/b", "a\\b", "%", "_", "[1]", "$x", "é", "e\u0301", "北京", "🎉", " a", "a ", "a b",
    ";--", "{}", "null", "..",
)  # fmt: skip
REFUSED = ("", " ", "x" * 201, "a\nb", "a\x00b", "\ud800", 7, None)


def accepted(text: str) -> bool:
    try:
        check_id(text, "id")
    except InvalidInput:
        return False
    return True


def use(memory: Memory, name: str) -> None:
    """Scope, write, get, list, search and delete, under one id as user, thread and message."""
    own = memory.user(name)
    thread = own.thread(name)
    thread.append([{"role": "user", "content": "the barn owl sleeps", "id": name}])
    assert [message.id for message in thread.messages()] == [name]
    assert [info.thread_id for info in own.threads()] == [name]
    assert [(hit.id, hit.thread_id, hit.namespace) for hit in own.recall("barn owl")] == [(name, name, own.namespace)]
    assert memory.recall("barn owl").hits == ()
    own.forget(message=name)
    assert own.recall("barn owl").hits == ()
    own.forget(thread=name)
    assert list(own.threads()) == []


@pytest.mark.parametrize("name", LISTED)
def test_V060_an_id_that_is_accepted_works_in_every_operation_on_a_file(tmp_path: Path, name: str) -> None:
    with Memory(tmp_path / "a.db", embedder=None) as memory:
        use(memory, name)


@settings(max_examples=40, deadline=None)
@given(st.text(min_size=1, max_size=200).filter(accepted))
def test_V060_any_id_that_is_accepted_works_in_every_operation(name: str) -> None:
    with Memory(embedder=None) as memory:
        use(memory, name)


OPERATIONS: dict[str, Callable[[Memory, Any], object]] = {
    "scope": lambda memory, name: memory.scope(name),
    "user": lambda memory, name: memory.user(name),
    "thread": lambda memory, name: memory.thread(name).add("user", "x"),
    "message": lambda memory, name: memory.thread("t").append([Message(role="user", content="x", id=name)]),
    "forget message": lambda memory, name: memory.forget(message=name),
    "forget thread": lambda memory, name: memory.forget(thread=name),
}


@pytest.mark.parametrize("operation", OPERATIONS)
@pytest.mark.parametrize("name", REFUSED, ids=ascii)
def test_V060_an_id_that_is_refused_is_refused_by_every_operation(operation: str, name: Any) -> None:
    if name == "" and operation == "message":
        pytest.skip("a message without an id is given one")
    if name is None and operation in ("thread", "message", "forget message", "forget thread"):
        pytest.skip("None asks for an id that is made, or for nothing")
    with Memory(embedder=None) as memory, pytest.raises(InvalidInput) as raised:
        OPERATIONS[operation](memory, name)
    assert not isinstance(raised.value, NotFound)
