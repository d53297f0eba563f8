"""Shared memory: what several agents write on one board, each under its own name.

    Board.post ─▶ Note with a Claim, an author and a time ─▶ standing (facts) ─▶ Fact, and the Facts that contradict it

A fact is a note, so it has what every note has: it is searched, forgotten, exported and known as of a time. Whether two facts
contradict each other is not stored: it follows from those that are current, so no two writers can lose a mark, and a mark is
gone when one of the two is.

    facts       the values, and what follows from notes. Pure
    artifacts   texts and JSON values that are passed on by reference. Pure
    board       `Board`: the verbs; `async_board` the same for an event loop
"""

from __future__ import annotations

__all__: list[str] = []
