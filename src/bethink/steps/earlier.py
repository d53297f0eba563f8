"""What a context says of sessions that have ended: the last of other threads whole, and a digest of those before it.

The digest is chosen among the lines of their summaries by the measure that these were chosen with, so none of them is reworded,
and all it holds is a sentence that somebody said, with its source. It has the room of one summary, however many sessions there
were: what a question needs of them beyond that is recalled.
"""

from __future__ import annotations

from collections.abc import Sequence

from bethink.context import Item, items_of_summary
from bethink.engine import Engine
from bethink.records import Summary

__all__ = ["ended_sessions"]


def ended_sessions(engine: Engine, summaries: Sequence[Summary], thread_id: str) -> list[Item]:
    """Lines of other threads' session summaries: first those of the newest, then the digest of the others, oldest first.

    Args:
        summaries: one for each thread, the newest first (see `Known`).
    """
    others = [summary for summary in summaries if summary.thread_id != thread_id]
    if not others:
        return []
    previous, *before = others
    said = [(summary, index) for summary in reversed(before) for index in range(len(summary.lines))]
    chosen = engine.chosen_lines([summary.lines[index] for summary, index in said], engine.settings.summary_tokens)
    return [
        *items_of_summary(previous, "previous session", f"summary of thread {previous.thread_id}"),
        *[
            items_of_summary(summary, "earlier sessions", f"of the summary of thread {summary.thread_id}")[index]
            for position, (summary, index) in enumerate(said)
            if position in chosen
        ],
    ]
