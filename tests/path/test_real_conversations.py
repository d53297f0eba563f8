"""Every conversation of LoCoMo through the whole way: what must hold on real talk."""

from __future__ import annotations

import json
from collections import Counter
from pathlib import Path

import pytest
from tests.path.sendable import assert_calls_are_paired

from bethink import Memory
from bethink.models.tokens import BuiltinCounter, message_tokens

MESSAGES = {"conv-26": 419, "conv-30": 369, "conv-41": 663, "conv-42": 629, "conv-43": 680, "conv-44": 675}
BUDGETS = (300, 800, 2_000, 8_000)


@pytest.fixture(scope="module")
def imported(shared: Path, tmp_path_factory: pytest.TempPathFactory) -> tuple[Memory, Path]:
    path = shared / "data" / "locomo" / "locomo_dev.json"
    memory = Memory(tmp_path_factory.mktemp("locomo") / "agent.db", embedder=None, durability="normal")
    memory.import_file(path)
    return memory, path


@pytest.mark.shared
class TestLocomo:
    def test_every_message_is_there_once(self, imported: tuple[Memory, Path]) -> None:
        memory, _ = imported
        counts = Counter(info.thread_id.split("/")[0] for info in memory.threads(below=True) for _ in range(info.count))
        assert counts == MESSAGES

    def test_importing_again_adds_nothing(self, imported: tuple[Memory, Path]) -> None:
        memory, path = imported
        before = memory.stats()
        assert memory.import_file(path).added == 0
        assert memory.stats().messages == before.messages == sum(MESSAGES.values())

    def test_the_order_is_that_of_the_file(self, imported: tuple[Memory, Path]) -> None:
        memory, path = imported
        for sample in json.loads(path.read_text()):
            talk = sample["conversation"]
            for name, turns in talk.items():
                if isinstance(turns, list):
                    stored = memory.thread(f"{sample['sample_id']}/{name}").messages()
                    assert [message.metadata["dia_id"] for message in stored] == [turn["dia_id"] for turn in turns]

    def test_any_budget_holds_and_replays(self, imported: tuple[Memory, Path]) -> None:
        memory, _ = imported
        counter = BuiltinCounter()
        # One long thread out of all sessions of a conversation, so that there is something to fold.
        for conversation in MESSAGES:
            apart = memory.scope("whole")
            whole = apart.thread(conversation)
            sessions = [info for info in memory.threads() if info.thread_id.startswith(f"{conversation}/")]
            for info in sessions:
                whole.append(memory.thread(info.thread_id).messages())
            assert whole.info().count == MESSAGES[conversation]
            for budget in BUDGETS:
                context = whole.context(budget=budget)
                assert sum(message_tokens(message, counter) for message in context.messages) == context.tokens <= budget
                assert_calls_are_paired(context.to_openai())
                newest = whole.messages(1)[0]
                assert any(message.id == newest.id for message in context.messages)
                assert apart.replay(context.receipt_id).to_bytes() == context.to_bytes()

    def test_the_store_is_sound_afterwards(self, imported: tuple[Memory, Path]) -> None:
        assert imported[0].check() == []
