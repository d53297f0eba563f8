"""Failures of the field that concern several steps at once, each named by its id."""

from __future__ import annotations

import sqlite3
import subprocess
import sys
from collections.abc import Sequence
from datetime import datetime, timezone
from pathlib import Path
from threading import Thread as OsThread

import numpy as np
import pytest
from numpy.typing import NDArray

from bethink import Conflict, Memory, Message, NotFound, Settings, ToolCall
from bethink.ids import derived_id
from bethink.models.tokens import BuiltinCounter, message_tokens
from bethink.storage.base import Append, Appended, Fold, Forget, Scope
from bethink.storage.reference import ReferenceStore
from bethink.testing.doubles import FrozenClock, HashEmbedder
from bethink.threads import ThreadInfo

START = datetime(2026, 3, 2, 9, 0, tzinfo=timezone.utc)
SMALL = Settings(window=300)


def test_V017_opening_a_memory_writes_nothing(tmp_path: Path) -> None:
    path = tmp_path / "a.db"
    with Memory(path, embedder=None) as memory:
        memory.thread("t").append([{"role": "user", "content": str(number)} for number in range(5)])
    before = path.read_bytes()
    with Memory(path, embedder=None) as memory:
        assert len(memory.thread("t").messages()) == 5
    assert path.read_bytes() == before


class FailingEmbedder(HashEmbedder):
    """Refuses texts with a certain word."""

    def embed(self, texts: Sequence[str]) -> NDArray[np.float32]:
        if any("poison" in text for text in texts):
            raise ValueError("cannot embed this")
        return super().embed(texts)


def test_V024_an_embedder_that_fails_leaves_nothing_half_embedded(tmp_path: Path) -> None:
    with Memory(tmp_path / "a.db", embedder=FailingEmbedder()) as memory:
        memory.thread("t").append([{"role": "user", "content": text} for text in ("red kite", "poison ivy", "blue heron")])
        with pytest.raises(ValueError, match="cannot embed"):
            memory.flush()
        assert memory.stats().pending == 3
        assert memory.check() == []
    with Memory(tmp_path / "a.db", embedder=HashEmbedder()) as memory:
        assert memory.flush() == 3
        assert memory.recall("poison ivy")[0].text == "poison ivy"


class GatedStore(ReferenceStore):
    """Does something else between the planning of a fold and its storing."""

    def __init__(self) -> None:
        super().__init__()
        self.meanwhile: list[Append | Forget] = []

    def fold(self, request: Fold, /) -> ThreadInfo:
        while self.meanwhile:
            step = self.meanwhile.pop()
            _ = self.append(step) if isinstance(step, Append) else self.forget(step)
        return super().fold(request)


def filled(store: GatedStore) -> Memory:
    memory = Memory(store=store, clock=FrozenClock(START), embedder=None, settings=SMALL)
    for number in range(40):
        memory.thread("t").add("user", f"note {number}: the meeting with team {number} is in room {number + 100}")
    return memory


def appended(text: str) -> Append:
    message = Message(role="user", content=text, id="late", created_at=START)
    return Append(namespace=("default",), thread_id="t", at=START, messages=(message,))


def test_V038_a_message_that_comes_while_a_fold_is_made_is_not_covered_by_it() -> None:
    store = GatedStore()
    memory = filled(store)
    store.meanwhile = [appended("I arrived meanwhile")]
    memory.thread("t").context()
    assert memory.thread("t").messages(1)[0].text == "I arrived meanwhile"
    assert memory.thread("t").info().folded_through < 41
    assert "I arrived meanwhile" in memory.thread("t").context().text


def test_V038_a_thread_that_is_forgotten_while_a_fold_is_made_stays_forgotten() -> None:
    store = GatedStore()
    memory = filled(store)
    store.meanwhile = [Forget(scope=Scope(("default",)), at=START, thread_id="t")]
    with pytest.raises(NotFound):
        memory.thread("t").context()
    assert memory.threads() == []
    assert not any("team 3" in line.text for line in memory.thread("t").context().lines)


ADDING = """
import sys
from bethink import Memory
from bethink.testing.doubles import HashEmbedder

with Memory(sys.argv[1], embedder=HashEmbedder()) as memory:
    memory.store("the heron stands in the pond")
    memory.flush()
"""


def test_V041_what_another_process_adds_is_in_every_way_of_looking_also_after_reopening(tmp_path: Path) -> None:
    def ways(memory: Memory) -> list[list[str]]:
        listed = [record.text for record in memory.records("note")]
        of_words = memory.recall("heron")
        of_vectors = memory.recall("the heron stands in the pond")
        assert "dense" in of_vectors.legs
        return [listed, [hit.text for hit in of_words], [hit.text for hit in of_vectors]]

    path = tmp_path / "a.db"
    with Memory(path, embedder=HashEmbedder()) as memory:
        memory.store("red kite")
        memory.flush()
        assert [len(found) for found in ways(memory)] == [1, 0, 0]
        subprocess.run([sys.executable, "-c", ADDING, str(path)], check=True)
        seen = ways(memory)
        assert seen[0] == ["red kite", "the heron stands in the pond"]
        assert seen[1] == seen[2] == ["the heron stands in the pond"]
    with Memory(path, embedder=HashEmbedder()) as memory:
        assert ways(memory) == seen


def test_V047_making_a_thread_twice_at_once_is_making_it_once(tmp_path: Path) -> None:
    with Memory(tmp_path / "a.db", embedder=None) as memory:
        results: list[Appended] = []
        makers = [OsThread(target=lambda: results.append(memory.thread("s1").append([]))) for _ in range(8)]
        for maker in makers:
            maker.start()
        for maker in makers:
            maker.join()
        assert len(results) == 8
        memory.thread("s1").add("user", "still working, heron")
        assert [info.thread_id for info in memory.threads()] == ["s1"]
        assert memory.recall("heron")[0].text == "still working, heron"
        with pytest.raises(Conflict):
            memory.thread("s1").fork(thread_id="s1")


def test_V064_a_shortened_result_is_short_in_everything_that_is_sent() -> None:
    with Memory(clock=FrozenClock(START), embedder=None) as memory:
        thread = memory.thread("t")
        thread.add("user", "read the log")
        thread.add("assistant", tool_calls=[ToolCall("c1", "read", "{}")])
        whole = " ".join(f"line {number} of the log" for number in range(5_000))
        thread.append([{"role": "tool", "tool_call_id": "c1", "content": whole, "tool_responses": [{"content": whole}]}])
        context = thread.context(budget=500)
        assert sum(message_tokens(message, BuiltinCounter()) for message in context.messages) <= 500
        (result,) = [message for message in context.to_openai() if message["role"] == "tool"]
        assert set(result) == {"role", "content", "tool_call_id"}
        assert result["content"].startswith("line 0 of the log")
        assert result["content"].endswith("line 4999 of the log")
        assert "are not shown" in result["content"]
        assert memory.replay(context.receipt_id).to_bytes() == context.to_bytes()
        assert thread.messages()[2].text == whole, "what is stored is whole"


def test_V064_a_result_is_shortened_whatever_the_tokens_of_its_id() -> None:
    whole = " ".join(f"line {number} of the log" for number in range(5_000))
    with Memory(clock=FrozenClock(START), embedder=None) as memory:
        for number in range(24):
            thread = memory.thread(f"t{number}")
            thread.add("user", "read the log")
            thread.add("assistant", tool_calls=[ToolCall("c1", "read", "{}")])
            thread.add("tool", whole, tool_call_id="c1", id=derived_id(START, str(number)))
            shown = [message.text for message in thread.context(budget=500).messages if message.role == "tool"]
            assert len(shown) == 1
            assert "are not shown" in shown[0]


def test_V068_a_row_without_optional_fields_or_with_unknown_ones_still_works(tmp_path: Path) -> None:
    path = tmp_path / "a.db"
    with Memory(path, embedder=None) as memory:
        memory.thread("t").append([{"role": "user", "content": "the red kite"}, {"role": "developer", "content": "be brief"}])
        stored = memory.thread("t").messages()[0]
    with sqlite3.connect(path) as database:
        body = f'{{"role":"user","content":"the red kite","id":"{stored.id}","created_at":"2026-01-01T00:00:00Z","later":[1]}}'
        assert database.execute("UPDATE messages SET body = ? WHERE seq = 1", (body.encode(),)).rowcount == 1
    database.close()
    with Memory(path, embedder=None) as memory:
        assert [message.text for message in memory.thread("t").messages()] == ["the red kite", "be brief"]
        assert memory.recall("kite")[0].text == "the red kite"
        assert memory.thread("t").context().tokens > 0
        assert memory.thread("t").end() is not None
