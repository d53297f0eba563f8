"""A model's summaries: what came of asking for one, and how one takes the place of another."""

from __future__ import annotations

from datetime import datetime
from typing import Literal, TypeAlias

import msgspec

from bethink.models.language import Usage
from bethink.records import Node
from bethink.values import Namespace

__all__ = ["Attempt", "FailureReason", "Refine"]

FailureReason: TypeAlias = Literal[
    "error", "timeout", "empty", "too long", "other language", "uncited", "lost facts", "unreadable"
]
"""`"error"` or `"timeout"` of the model; or what its reply was (see `compaction.model_reply` and `compaction.json_reply`)."""


class Attempt(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """One time that a model was asked for the summary of a span. Nothing of it quotes what was said.

    Attributes:
        span: what it was to summarise (see `compaction.attempts.span_key`).
        node_id: the node that the summary was for; after a success that changed it, the node that took its place.
        model: its name.
        at: when it ended.
        number: which attempt it was for this span and model, from 1.
        reason: why it failed; "" for one that succeeded.
        detail: what happened, in a few words.
        usage: what the calls took.
        seconds: how long the calls took together.
        retry_at: when to ask again; None after a success, and where the span is given up.
    """

    span: str
    node_id: str
    model: str
    at: datetime
    number: int = 1
    reason: FailureReason | Literal[""] = ""
    detail: str = ""
    usage: Usage = Usage()
    seconds: float = 0.0
    retry_at: datetime | None = None

    @property
    def failed(self) -> bool:
        return self.reason != ""

    @property
    def given_up(self) -> bool:
        return self.failed and self.retry_at is None


class Refine(msgspec.Struct, frozen=True, kw_only=True):
    """What came of asking a model for the summary of a node.

    Contract:
        - one transaction: `attempt` is kept in the place of the last one of its node and model, and `node`, if there is one,
          stands where `expected` stood: at the top, or among the children of the node above.
        - raises Conflict, and changes nothing, unless `expected` is there as it was read: of two who ask for the same summary
          one wins, and what was made of something forgotten meanwhile is dropped. NotFound if the thread is gone.
        - `node` covers what `expected` covers, with the same children, under an id that is new to the thread (else Conflict).
        - a node that was replaced is in no answer of `read` any more. `get` has it, with `replaced_by`, since receipts name it.
        - when a message is forgotten, a model's node that covers it goes whole, whatever its lines cite, and the node that it
          had replaced stands again, without the lines that cite the message (see `derive.nodes_without`).
        - the attempts of a replaced node go; a fork takes those of the nodes that stand in it.
        - no message is changed, and no cursor.

    Attributes:
        expected: as it was read before the model was asked.
        attempt: its `node_id` is that of `node`, or of `expected` where there is none.
    """

    namespace: Namespace
    thread_id: str
    expected: Node
    attempt: Attempt
    node: Node | None = None
