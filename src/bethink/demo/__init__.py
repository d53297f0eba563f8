"""A made-up transcript to try things on: Mara over five sessions, and Tobias, whose plans look like hers, over two."""

from __future__ import annotations

from importlib.resources import as_file, files

from bethink.importing import Conversation, read

__all__ = ["conversations"]


def conversations() -> tuple[Conversation, ...]:
    """The sessions of the transcript in the order in which they are written down: Mara's by time, then those of Tobias."""
    with as_file(files(__name__) / "transcript.json") as path:
        return tuple(read(path, "openai"))
