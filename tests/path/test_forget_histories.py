"""Forgetting, on random histories: of some two hundred canaries each no byte is left, and nothing else is missing.

`FORGET_HISTORIES` says how many: 8 by default, 1,000 with `make nightly`.
"""

from __future__ import annotations

import os
from pathlib import Path

import pytest
from tests.path.forgettable import (
    build,
    forget_some,
    messages_of,
    records_of,
    unjustly_gone,
    unrevived,
    wrongly_replayed,
)

from bethink import Memory, Settings
from bethink.testing.doubles import FrozenClock, HashEmbedder

HISTORIES = int(os.environ.get("FORGET_HISTORIES", "8"))
PARTS = 4  # so that several processes share the work
SETTINGS = Settings(window=1_500, segment_messages=8, node_fan_in=2)


def check_history(path: Path, seed: int) -> int:
    """How many canaries were looked for and not found."""
    clock = FrozenClock()
    with Memory(path, clock=clock, embedder=HashEmbedder(), settings=SETTINGS, durability="normal") as memory:
        history = build(memory, clock, seed)
        messages, records = messages_of(memory), records_of(memory)
        gone = forget_some(history)
        found = memory.verify(*sorted(gone))
        assert found.clean, (seed, found.hits[:3])
        there = history.places()
        left = messages_of(memory)
        assert {place for place in there if place[0]} <= left.keys(), seed
        assert all(messages[place] == message for place, message in left.items()), seed
        after = records_of(memory)
        assert {name for of, name in there if not of} == {name for name, record in after.items() if record.kind == "note"}, seed
        assert list(unjustly_gone(records, after, set(left))) == [], seed
        assert unrevived(after) == [], seed
        assert wrongly_replayed(history) == [], seed
        assert memory.check() == [], seed
    return len(gone)


@pytest.mark.parametrize("part", range(PARTS))
def test_no_byte_of_what_was_forgotten_is_left_and_nothing_else_is_missing(part: int, tmp_path: Path) -> None:
    looked_for = []
    for seed in range(part, HISTORIES, PARTS):
        path = tmp_path / f"{seed}.db"
        looked_for.append(check_history(path, seed))
        path.unlink()
    # A history of few may lose all of a thread, and one note.
    assert min(looked_for) > 20
