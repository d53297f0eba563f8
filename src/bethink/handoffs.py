"""`Handoff`: work handed to a specialist, with the thread that is the specialist's own and the context it starts from."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Generic, TypeVar

import msgspec

from bethink.messages import Message

if TYPE_CHECKING:
    from bethink.context import Context

__all__ = ["Handoff"]

ThreadT = TypeVar("ThreadT")


class Handoff(msgspec.Struct, Generic[ThreadT], frozen=True, kw_only=True):
    """A task in a thread of its own, and what whoever does it should see first.

    Attributes:
        thread: the specialist's thread; add its replies there, ask it for the next context, and `conclude` it.
        context: the first context: the task with its artifacts and constraints, and the state of the thread that hands it on.
        parent_id: the thread that hands it on.
    """

    thread: ThreadT
    context: Context
    parent_id: str

    @property
    def messages(self) -> tuple[Message, ...]:
        """Those of the first context."""
        return self.context.messages

    def to_openai(self) -> list[dict[str, Any]]:
        """The first context as OpenAI chat dicts."""
        return self.context.to_openai()
