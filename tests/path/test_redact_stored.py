"""Redaction as things are written, and of what is stored already: nothing of it is left in any file."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import anyio
import msgspec
import pytest

from bethink import AsyncMemory, Memory, Redaction
from bethink.errors import Conflict, Forgotten, NotFound
from bethink.messages import Message
from bethink.storage.base import Rewrite, Rewritten, Scope
from bethink.storage.sqlite import SqliteStore
from bethink.testing.doubles import FrozenClock, HashEmbedder

ADDRESS = "ana.quispe@example.org"
CARD = "4111 1111 1111 1111"
KEY = "sk-" + "proj-" + "Ab3dE5gH7jK9mN1pQ3sT5vW7yZ"
PASSWORD = "Tr0ub4dor&3"
SECRETS = (ADDRESS, CARD, KEY, PASSWORD)


def fill(memory: Memory) -> None:
    """Every sort of thing that can hold a word, holding secrets."""
    thread = memory.thread("t", limits=None)
    thread.add("user", f"Hi, I'm Ana. I live in Ghent. My email is {ADDRESS}.", metadata={"from": ADDRESS})
    thread.append(
        [
            {
                "role": "assistant",
                "content": None,
                "tool_calls": [
                    {
                        "id": "c1",
                        "type": "function",
                        "function": {"name": "pay", "arguments": json.dumps({"card": CARD, "password": PASSWORD})},
                    }
                ],
                "x_unknown": {"key": KEY},
            },
            {"role": "tool", "tool_call_id": "c1", "content": f"charged {CARD}, key {KEY}"},
        ]
    )
    thread.add("user", f"the password for the box is {PASSWORD}")
    thread.checkpoint({"draft": f"mail {ADDRESS}", "n": 1}, view={"mail": ADDRESS})
    memory.store(f"pay with {CARD}", {"key": KEY})
    for number in range(12):
        thread.add("user", f"Note {number}: I wrote to {ADDRESS} about item {number} and it was fine.")
        thread.add("assistant", f"Noted {number}.")
    thread.context(f"what is the key {KEY}", budget=900)
    thread.end()


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "memory.db"


def opened(path: Path, redaction: Redaction | None = None, **options: Any) -> Memory:
    return Memory(path, embedder=HashEmbedder(), clock=FrozenClock(), redaction=redaction, **options)


@pytest.fixture
def plain(path: Path) -> Iterator[Memory]:
    with opened(path) as memory:
        yield memory


class TestAsThingsAreWritten:
    def test_no_secret_ever_reaches_a_file(self, path: Path) -> None:
        with opened(path, Redaction()) as memory:
            fill(memory)
            memory.flush()
            assert memory.verify(*SECRETS).clean
            assert memory.check() == []
            assert memory.redact(dry_run=True).changed == 0

    def test_V103_nor_what_is_shown_of_it(self, path: Path) -> None:
        with opened(path, Redaction()) as memory:
            memory.thread("t").add("user", f"Remember my API key {KEY}")
            shown = memory.thread("t").context("what is my key", budget=500).to_bytes() + b"".join(memory.export())
            assert KEY.encode() not in shown
            assert b"[redacted:api_key]" in shown

    def test_what_is_returned_is_what_was_stored(self, path: Path) -> None:
        with opened(path, Redaction()) as memory:
            assert memory.store(f"pay with {CARD}").text == "pay with [redacted:card]"
            memory.thread("t").add("user", f"mail {ADDRESS}")
            assert [each.text for each in memory.thread("t").messages()] == ["mail [redacted:email]"]

    def test_a_retry_of_an_id_writes_nothing_twice(self, path: Path) -> None:
        with opened(path, Redaction()) as memory:
            for _ in range(2):
                memory.thread("t").append([Message(role="user", content=f"mail {ADDRESS}", id="m1")])
            assert memory.thread("t").info().count == 1
            with pytest.raises(Conflict):
                memory.thread("t").append([Message(role="user", content="another", id="m1")])

    def test_a_question_finds_what_it_names(self, path: Path) -> None:
        with opened(path, Redaction()) as memory:
            memory.store(f"the supplier is {ADDRESS}")
            memory.store("the weather is fine")
            assert [hit.text for hit in memory.retrieve(f"who is {ADDRESS}", k=1)] == ["the supplier is [redacted:email]"]

    def test_a_receipt_holds_no_digest_of_the_question_as_it_was_asked(self, path: Path) -> None:
        with opened(path, Redaction()) as memory, opened(path.with_name("other.db"), Redaction()) as other:
            digests = []
            for each, mail in ((memory, ADDRESS), (other, "somebody.else@example.org")):
                each.thread("t").add("user", "hello")
                receipt = each.thread("t").context(f"what of {mail}", budget=500).receipt_id
                found = each._engine.store.get(_receipt(receipt)).receipts
                digests.append(found[0].query_digest)
            assert digests[0] == digests[1]

    def test_items_are_redacted_too(self, path: Path) -> None:
        with opened(path, Redaction()) as memory:
            memory.items.put("contact", {"mail": ADDRESS, "password": PASSWORD})
            assert memory.verify(ADDRESS, PASSWORD).clean

    def test_without_it_everything_is_kept_as_it_came(self, plain: Memory) -> None:
        plain.thread("t").add("user", f"mail {ADDRESS}")
        assert plain.thread("t").messages()[0].text == f"mail {ADDRESS}"

    def test_a_state_that_is_set_by_hand_is_redacted_too(self, path: Path) -> None:
        with opened(path, Redaction()) as memory:
            memory.thread("t").add("user", "Which address was it?")
            memory.thread("t").set_state(goal=f"write to {ADDRESS}", facts=[f"{ADDRESS} is hers"])
            assert memory.verify(ADDRESS).clean


def _receipt(receipt_id: str) -> Any:
    from bethink.storage.base import Get

    return Get(scope=Scope(("default",)), receipts=(receipt_id,))


class TestOfWhatIsStored:
    def test_nothing_of_it_is_left_in_any_file(self, plain: Memory) -> None:
        fill(plain)
        plain.flush()
        assert not plain.verify(ADDRESS).clean
        report = plain.redact()
        assert report.erased
        assert report.messages >= 16
        assert report.records >= 1
        assert report.checkpoints == 1
        assert set(report.kinds) == {"api_key", "card", "email", "password"}
        assert plain.verify(*SECRETS).clean
        assert plain.check() == []

    def test_what_it_leaves_is_what_writing_it_so_would_have_left(self, plain: Memory, path: Path) -> None:
        fill(plain)
        plain.redact()
        with opened(path.with_name("other.db"), Redaction()) as other:
            fill(other)
            said = [each.text for each in other.thread("t").messages()]
            assert [each.text for each in plain.thread("t").messages()] == said

    def test_a_dry_run_says_the_same_and_changes_nothing(self, plain: Memory) -> None:
        fill(plain)
        before = b"".join(plain.export())
        dry = plain.redact(dry_run=True)
        assert b"".join(plain.export()) == before
        assert dry.dry_run
        wet = plain.redact()
        assert (dry.messages, dry.records, dry.nodes, dry.checkpoints) == (
            wet.messages,
            wet.records,
            wet.nodes,
            wet.checkpoints,
        )
        assert dry.kinds == wet.kinds

    def test_items_of_every_version_are_rewritten(self, plain: Memory) -> None:
        for number in range(2):
            plain.items.put("contact", {"mail": ADDRESS, "n": number})
        assert plain.redact().records >= 1
        assert plain.verify(ADDRESS).clean
        assert plain.check() == []

    def test_again_it_changes_nothing(self, plain: Memory) -> None:
        fill(plain)
        plain.redact()
        assert plain.redact().changed == 0

    def test_a_context_that_showed_some_of_it_cannot_be_replayed(self, plain: Memory) -> None:
        plain.thread("t").add("user", f"mail {ADDRESS}")
        receipt = plain.thread("t").context("x", budget=500).receipt_id
        plain.redact()
        with pytest.raises((NotFound, Forgotten)):
            plain.replay(receipt)

    def test_contexts_and_searches_go_on_with_the_new_words(self, plain: Memory) -> None:
        fill(plain)
        plain.thread("t").context("who did I write to", budget=700)
        plain.redact()
        again = plain.thread("t").context("who did I write to", budget=700)
        assert ADDRESS.encode() not in again.to_bytes()
        assert plain.replay(again.receipt_id).to_bytes() == again.to_bytes()
        assert "[redacted:email]" in plain.retrieve("wrote about item 3", k=1)[0].text

    def test_facts_that_hold_nothing_stay(self, plain: Memory) -> None:
        fill(plain)
        before = {insight.text for insight in plain.profile() if ADDRESS not in insight.text}
        plain.redact()
        assert before <= {insight.text for insight in plain.profile()}
        assert any("Ghent" in text for text in before)

    def test_other_users_are_left_alone(self, plain: Memory) -> None:
        for user in ("ana", "ben"):
            plain.user(user).store(f"mail {ADDRESS}")
        plain.user("ana").redact()
        assert [plain.user(user).records()[0].text for user in ("ana", "ben")] == ["mail [redacted:email]", f"mail {ADDRESS}"]

    def test_another_process_sees_the_new_words_at_once(self, plain: Memory, path: Path) -> None:
        plain.thread("t").add("user", f"mail {ADDRESS}")
        with opened(path) as other:
            assert other.retrieve("mail", k=1)[0].text == f"mail {ADDRESS}"
            other.thread("t").context("mail", budget=400)
            plain.redact()
            assert other.thread("t").messages()[0].text == "mail [redacted:email]"
            assert [hit.text for hit in other.retrieve("quispe")] == []
            assert ADDRESS.encode() not in other.thread("t").context("mail", budget=400).to_bytes()

    def test_what_was_interrupted_goes_on_with_the_next_call(self, path: Path) -> None:
        class Stops(SqliteStore):
            left = 3

            def rewrite(self, request: Rewrite, /) -> Rewritten:
                self.left -= 1
                if not self.left:
                    raise KeyboardInterrupt
                return super().rewrite(msgspec.structs.replace(request, limit=5))

        with opened(path) as memory:
            fill(memory)
        with Memory(store=Stops(path), embedder=None, clock=FrozenClock()) as memory, pytest.raises(KeyboardInterrupt):
            memory.redact()
        with opened(path) as memory:
            assert 0 < memory.redact(dry_run=True).messages < 16
            memory.redact()
            assert memory.verify(*SECRETS).clean
            assert memory.check() == []

    def test_progress_tells_what_was_looked_at(self, plain: Memory) -> None:
        fill(plain)
        seen: list[int] = []
        report = plain.redact(progress=seen.append)
        assert sum(seen) == report.looked_at > 30


def test_the_same_on_an_event_loop(path: Path) -> None:
    async def main() -> None:
        async with AsyncMemory(path, embedder=None, redaction=Redaction()) as memory:
            await memory.thread("t").add("user", f"mail {ADDRESS}")
            assert (await memory.verify(ADDRESS)).clean
            assert (await memory.redact()).changed == 0

    anyio.run(main)
