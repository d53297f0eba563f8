"""`AsyncBoard`: the methods of `Board`, awaited."""

from __future__ import annotations

from collections.abc import Iterable
from datetime import datetime

from bethink.claims import ArtifactRef
from bethink.hop import hop
from bethink.messages import Message, Trust
from bethink.sharing.board import Board
from bethink.sharing.facts import Dispute, Fact
from bethink.values import Namespace

__all__ = ["AsyncBoard"]


class AsyncBoard:
    """`Board` for an event loop; arguments and results are the same."""

    def __init__(self, board: Board) -> None:
        self._sync = board

    def __repr__(self) -> str:
        return f"AsyncBoard(namespace={self.namespace!r})"

    @property
    def namespace(self) -> Namespace:
        return self._sync.namespace

    async def post(
        self,
        text: str,
        *,
        about: str,
        slot: str = "",
        value: str | float | None = None,
        source: str = "",
        artifacts: Iterable[ArtifactRef] = (),
        messages: Iterable[str | Message] = (),
        trust: Trust = "assistant",
    ) -> Fact:
        return await hop(
            self._sync.post,
            text,
            about=about,
            slot=slot,
            value=value,
            source=source,
            artifacts=tuple(artifacts),
            messages=messages if isinstance(messages, str | Message) else tuple(messages),
            trust=trust,
        )

    async def read(
        self,
        about: str | None = None,
        *,
        slot: str | None = None,
        author: str | None = None,
        as_of: datetime | None = None,
    ) -> list[Fact]:
        return await hop(self._sync.read, about, slot=slot, author=author, as_of=as_of)

    async def history(self, about: str | None = None, *, slot: str | None = None, author: str | None = None) -> list[Fact]:
        return await hop(self._sync.history, about, slot=slot, author=author)

    async def disputes(self, about: str | None = None) -> list[Dispute]:
        return await hop(self._sync.disputes, about)

    async def text(self, about: str | None = None, *, slot: str | None = None, author: str | None = None) -> str:
        return await hop(self._sync.text, about, slot=slot, author=author)

    async def withdraw(self, fact: Fact | str) -> Fact:
        return await hop(self._sync.withdraw, fact)

    async def resolve(self, keep: Fact | str) -> list[Fact]:
        return await hop(self._sync.resolve, keep)
