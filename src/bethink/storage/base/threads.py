"""Messages and summary nodes: what threads are made of and read back as."""

from __future__ import annotations

from datetime import datetime

import msgspec

from bethink.marks import Scored, Tiered
from bethink.messages import Message
from bethink.records import Node
from bethink.storage.base.summaries import Attempt
from bethink.storage.base.turns import Lease
from bethink.threads import ForkPoint, ThreadInfo
from bethink.values import Namespace

__all__ = ["Append", "Appended", "Fold", "Read", "Transcript"]


class Append(msgspec.Struct, frozen=True, kw_only=True):
    """Messages for the end of a thread, which is made if it is not there.

    Contract:
        - all messages or none; the order given is kept, contiguous: no other writer's message comes between.
        - a message whose id is in the thread already, and says the same (`messages.same_message`), is left out: a retry
          writes nothing twice. One that says something else raises Conflict. An id twice within the batch likewise.
        - `expected_tip`: raises Conflict(expected, actual) unless the thread's tip equals it; 0 means "no message yet".
          A batch that is entirely a retry succeeds whatever the tip.
        - seq and group come from `threads.place`; its InvalidMessage leaves the thread untouched.
        - `fork_of`: the thread must not exist yet (Conflict); it starts as a copy of the parent's messages up to that seq,
          with the same ids and seqs, its nodes that lie within (and their attempts), and its cursors cut down to it. NotFound
          if the parent is not there; InvalidInput if seq is beyond its tip or would cut a group in two (a call without its
          result).
          Its checkpoints at or below that seq are copied too, under the same ids; the parent of a copy is the nearest before it
          that was copied. So are the entries of its state at or below that seq, current or not, whose sources it has: as
          `derive.states_within` words them.
        - `checkpoint_id`: with `fork_of`; of the checkpoints, only that one and those it comes from are copied, so that it is
          the newest of the fork. NotFound if the parent has none of that id; InvalidInput if its seq is not that of `fork_of`.
        - `lease`: raises Conflict unless it is the thread's current one (see `Acquire`), or the batch is entirely a retry. A
          lease that has run out stays current until somebody takes the next: what is refused is whoever was overtaken.
        - without a `lease`, those of others are not looked at: they bind who uses them. (Looking would cost each append one
          page more; and a late tool result or an import must not be held up by somebody's turn.)
        - an empty batch makes the thread if needed, and changes nothing else.

    Attributes:
        messages: each with an id and a created_at.
        fresh: the ids were made for this call (`ids.new_id`), so none of them can be in the thread: it need not be looked for.
        metadata: for the thread, if it is made by this call.
        at: system time of the call.
    """

    namespace: Namespace
    thread_id: str
    at: datetime
    messages: tuple[Message, ...] = ()
    fresh: bool = False
    expected_tip: int | None = None
    fork_of: ForkPoint | None = None
    checkpoint_id: str | None = None
    metadata: dict[str, object] = msgspec.field(default_factory=dict)
    lease: Lease | None = None


class Appended(msgspec.Struct, frozen=True):
    """The batch as stored, in the order given: new messages with their place, retried ones as they already were.

    `added` counts the new ones; `tip` is the thread's tip after the call.
    """

    messages: tuple[Message, ...]
    added: int
    tip: int


class Read(msgspec.Struct, frozen=True, kw_only=True):
    """Messages of a thread.

    Contract:
        - `limit`: the newest that many, returned oldest first; None for all; 0 for none.
        - `before` / `after`: only seqs below / above (exclusive); the limit counts from the newest within.
        - `unfolded`: only seqs above the thread's `folded_through`, as it is at this moment.
        - `whole_groups`: also the members of the returned messages' groups that lie outside, so no result is without its
          call and no answered call without its result. The result may then exceed the limit.
        - `pinned`: also every system and developer message of the thread, and every one whose tier is "permanent" now (with
          `whole_groups`, and their groups).
        - `marks`: also the tiers that messages of the thread were given by `Mark`, of the whole thread, and the scores of the
          messages returned.
        - `nodes`: also the thread's summary nodes that are no child of another, ordered by first_seq.
        - `tree`: instead of those, every node that has not been replaced (see `Refine`), ordered by level and first_seq; and
          the attempts that are kept, ordered by node and model.
        - raises NotFound if there is no such thread.
    """

    namespace: Namespace
    thread_id: str
    limit: int | None = None
    before: int | None = None
    after: int | None = None
    unfolded: bool = False
    whole_groups: bool = False
    pinned: bool = False
    nodes: bool = False
    tree: bool = False
    marks: bool = False


class Transcript(msgspec.Struct, frozen=True):
    """What `read` found, of one moment: messages by seq, nodes and attempts as asked for; tiers and scores by the seq of their
    message.
    """

    thread: ThreadInfo
    messages: tuple[Message, ...]
    nodes: tuple[Node, ...] = ()
    attempts: tuple[Attempt, ...] = ()
    tiers: dict[int, Tiered] = msgspec.field(default_factory=dict)
    scores: dict[int, Scored] = msgspec.field(default_factory=dict)


class Fold(msgspec.Struct, frozen=True, kw_only=True):
    """Summary nodes for a thread.

    Contract:
        - one transaction: the nodes are in, `folded_through` is `through`, and the children named are children.
        - `expected_through`: raises Conflict unless the thread's `folded_through` equals it: of two who fold the same span,
          one wins, and the other finds its work done.
        - a node whose covered messages are not all there (forgotten meanwhile) raises Conflict, as does one with a child that
          was replaced meanwhile; NotFound if the thread is gone.
        - no message is changed or removed.
    """

    namespace: Namespace
    thread_id: str
    nodes: tuple[Node, ...]
    through: int
    expected_through: int
