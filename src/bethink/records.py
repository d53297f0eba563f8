"""Long-term values: what is kept beyond one thread, and what threads fold into.

    Record ─┬─ Note       text as given, by `store()`
            ├─ Insight    one curated fact about somebody: the profile is made of these
            ├─ Summary    of a thread that was ended
            ├─ Episode    a piece of work, and how it went
            ├─ StateEntry one thing that the state of a thread's work is made of
            ├─ Proposal   what waits for somebody's word before it is known (`Settings.review`)
            └─ ItemVersion what a key of a namespace held, from one `put` to the next
    Node                  a summary of a span of one thread's messages (a fold)
    Receipt               what a context was made of

All are frozen. A record's text never changes under its id: a newer statement is a new record that supersedes the old one. What
does change is counted (`access_count`, `last_accessed`), joined by further `sources`, or closed (`retired_at`). Two times
are kept: `valid_from`/`valid_to` say when it is true in the world, `recorded_at`/`retired_at` when the system knew it.

Every derived text names the messages it rests on; when those are forgotten, so is the text.
"""

from __future__ import annotations

from datetime import datetime, timedelta
from typing import Any, Literal, TypeAlias, get_args

import msgspec

from bethink.claims import Claim
from bethink.ids import time_of
from bethink.messages import Trust

__all__ = [
    "EVERY_KIND",
    "AnyRecord",
    "Cut",
    "Decision",
    "Done",
    "Episode",
    "Importance",
    "Insight",
    "ItemVersion",
    "Line",
    "Node",
    "Note",
    "Outcome",
    "Polarity",
    "Proposal",
    "Receipt",
    "ReceiptLine",
    "Record",
    "RecordKind",
    "Source",
    "StateEntry",
    "StatePart",
    "Summary",
    "Topic",
]

Done: TypeAlias = Literal["folded", "left out", "waits", "shortened", "promoted"]
Importance: TypeAlias = Literal["high", "medium", "low"]
Outcome: TypeAlias = Literal["success", "partial", "failure", "unknown"]
Polarity: TypeAlias = Literal["positive", "negative"]
RecordKind: TypeAlias = Literal["note", "insight", "summary", "episode", "state", "proposal", "item"]
StatePart: TypeAlias = Literal["goal", "phase", "decision", "fact", "task", "artifact", "question", "answer", "project"]
Topic: TypeAlias = Literal["identity", "preference", "constraint", "goal", "plan", "decision", "relation", "event", "skill"]


EVERY_KIND: tuple[RecordKind, ...] = get_args(RecordKind)


class Source(msgspec.Struct, frozen=True, omit_defaults=True):
    """One message that a record rests on.

    `text` is the record as this message alone would word it: when other sources are forgotten, a record that survives takes
    its text from one that remains, and nothing of the forgotten wording is left. `start`/`end` is the span in the message's
    text, in characters.
    """

    message_id: str
    thread_id: str
    text: str
    start: int = 0
    end: int = 0


class Line(msgspec.Struct, frozen=True, omit_defaults=True, gc=False):
    """One line of a summary: a text, the ids of the messages it rests on (never empty), when the newest of them was said."""

    text: str
    sources: tuple[str, ...]
    at: datetime
    speaker: str = ""


_ARCHIVED = "archived"
"""How the reason of what was retired for want of room begins."""


class Record(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True, tag_field="kind"):
    """What all long-term records share.

    Attributes:
        id: UUIDv7; of a derived record, made from what it is derived from (see `ids.derived_id`).
        text: what it says, in one line or a few.
        trust: the lowest trust among its sources.
        recorded_at: when the system came to know it.
        retired_at: when it stopped being current (superseded, archived, withdrawn); None while it is.
        valid_from, valid_to: when it is true in the world; None is open.
        importance, pinned, access_count, last_accessed: see `insights.retention`.
        superseded_by, reason: the record that took its place, and why it was retired.
        sources: the messages it rests on, oldest first; empty for a note given by the caller.
        metadata: JSON of the caller's own.
        author: the agent whose word it is (see `Memory.view`); "" where it was drawn from what somebody said, or stored by
            whoever holds the memory.
    """

    id: str
    text: str
    trust: Trust
    recorded_at: datetime
    retired_at: datetime | None = None
    valid_from: datetime | None = None
    valid_to: datetime | None = None
    importance: Importance = "medium"
    pinned: bool = False
    access_count: int = 0
    last_accessed: datetime | None = None
    superseded_by: str | None = None
    reason: str = ""
    sources: tuple[Source, ...] = ()
    metadata: dict[str, Any] = msgspec.field(default_factory=dict)
    author: str = ""

    @property
    def kind(self) -> RecordKind:
        """`"note"`, `"insight"`, `"summary"`, `"episode"`, `"state"`, `"proposal"` or `"item"`."""
        raise NotImplementedError("a Record is always one of its kinds")

    @property
    def at(self) -> datetime:
        """The time by which it is found: when the system came to know it, and of an episode, when the work ended."""
        return self.recorded_at

    @property
    def archived(self) -> bool:
        """Whether it was retired for want of room, and nothing took its place."""
        return not self.current and self.superseded_by is None and self.reason.startswith(_ARCHIVED)

    @property
    def current(self) -> bool:
        return self.retired_at is None


class Note(Record, frozen=True, kw_only=True, omit_defaults=True, tag="note"):
    """A text that the caller asked to keep. With a `claim` it is a fact on the blackboard of its namespace."""

    claim: Claim | None = None

    @property
    def kind(self) -> RecordKind:
        return "note"


class Insight(Record, frozen=True, kw_only=True, omit_defaults=True, tag="insight"):
    """One fact about somebody.

    Attributes:
        topic: what sort of fact.
        subject: whom it is about: `"user"`, or a name in lower case.
        slot: which question it answers (`"name"`, `"residence"`, `"diet"`, `"likes:coffee"`). A subject has one current value
            per slot; another value in the same slot supersedes the former.
        value: the answer, normalised for comparison.
        polarity: negative for what is denied or disliked.
        confidence: from 0 to 1, how sure the way it was drawn is: what a plain sentence of the user says is 0.9, what somebody
            tells of another 0.6; 1 for what a caller states. Saying it again makes sources, not confidence.
    """

    topic: Topic
    subject: str
    slot: str
    value: str
    polarity: Polarity = "positive"
    confidence: float = 1.0

    @property
    def kind(self) -> RecordKind:
        return "insight"

    @property
    def date_added(self) -> datetime:
        """When it came to be known; the same as `recorded_at`."""
        return self.recorded_at

    @property
    def said_at(self) -> datetime:
        """When it was first said: the time in its id, to the millisecond; of a foreign id, since when it is true. Never later
        than it came to be known, which may be long after that.
        """
        said = time_of(self.id) or self.valid_from
        return said if said is not None and said <= self.recorded_at else self.recorded_at

    @property
    def source_session_ids(self) -> tuple[str, ...]:
        """The threads that it was said in, in the order of its sources, each once."""
        return tuple(dict.fromkeys([source.thread_id for source in self.sources]))


class Summary(Record, frozen=True, kw_only=True, omit_defaults=True, tag="summary"):
    """The summary of a thread up to `through`. `text` is its lines joined by newlines.

    `author` is the model that wrote it, "" for none. A model's rests on every message it was shown, and goes with the first.
    """

    thread_id: str
    lines: tuple[Line, ...]
    through: int
    author: str = ""

    @property
    def kind(self) -> RecordKind:
        return "summary"


class Episode(Record, frozen=True, kw_only=True, omit_defaults=True, tag="episode"):
    """One piece of work, and how it went. `text` says all of it (see `insights.episodes.worded`).

    One that has a thread lives and dies with it. It goes with the first of its sources, and with the first entry of the state
    that it was made of, for the reason that those do: nobody can say which of its words came from which.

    Attributes:
        task: what was to be done.
        outcome: what came of it; "unknown" where nobody has said.
        approach: how it was gone about.
        feedback: what somebody said of the result.
        tools: names of the tools that were used, in the order of their first use.
        started_at, ended_at: when; `ended_at` of one that is still going on is the time of its last message.
        tokens: of the contexts and model calls that it took.
        cost: what the model calls cost, in the currency of whoever prices them; None where nobody does.
        thread_id: the thread it was done in, "" for none; `through` is the seq of the last message that it was made of.
        entries: ids of the entries of that thread's state that it was made of.
    """

    task: str
    outcome: Outcome
    ended_at: datetime
    started_at: datetime | None = None
    approach: str = ""
    feedback: str = ""
    tools: tuple[str, ...] = ()
    tokens: int = 0
    cost: float | None = None
    thread_id: str = ""
    through: int = 0
    entries: tuple[str, ...] = ()

    @property
    def kind(self) -> RecordKind:
        return "episode"

    @property
    def at(self) -> datetime:
        return self.ended_at


class StateEntry(Record, frozen=True, kw_only=True, omit_defaults=True, tag="state"):
    """One thing that the state of a thread's work is made of. It never changes: the state is what the entries add up to.

    It lives and dies with its thread, and goes with the first of its sources that is forgotten: nobody can say which of its
    words came from which. Search does not find it; what it was drawn from is found.

    Attributes:
        thread_id: whose state.
        part: what sort of thing. An "answer" closes the question `about`; "project" names the work that the thread is part of.
        seq: where in the thread it was said, or the thread's tip when it was set by hand.
        place: orders the entries of one message, or of one call.
        because: the reason of a decision.
        key: what it is about: a later entry of the same part and key takes its place. "" for nothing in particular.
        old: of a decision or fact, the words of what it replaces.
        ref, digest: of an artifact, where it is, and a digest of what it held.
        about: of an answer, the id of its question.
    """

    thread_id: str
    part: StatePart
    seq: int = 0
    place: int = 0
    because: str = ""
    key: str = ""
    old: str = ""
    ref: str = ""
    digest: str = ""
    about: str = ""

    @property
    def kind(self) -> RecordKind:
        return "state"


class Proposal(Record, frozen=True, kw_only=True, omit_defaults=True, tag="proposal"):
    """An insight, session summary or episode that is to be known once somebody approves it. It waits while it is current; its
    reason says what came of it.

    It is in no profile, recall or context. Text, trust and sources are those of what it proposes, and it is forgotten with
    those as that would be.

    Attributes:
        proposed: as it was drawn; `recorded_at` of what comes of it is the time of the approval.
    """

    proposed: Insight | Summary | Episode

    @property
    def kind(self) -> RecordKind:
        return "proposal"


class ItemVersion(Record, frozen=True, kw_only=True, omit_defaults=True, tag="item"):
    """What a key of a namespace held from one `put` to the next. `text` is what search reads of it, if anything.

    The version that is current is the item. Former ones are retired: they are its history, which search does not find. All go
    together: whatever forgets one forgets the key. `superseded_by` is never set, since nothing of an item comes back by itself.

    Attributes:
        key: under which it was put; unique in its namespace.
        value: a JSON object.
        version: 1 for the first, and one more with each `put` while the key is there.
        created_at: when the first version was put; `recorded_at` is when this one was.
        ttl: how long it lives, from its `put` or its last refresh; None for as long as it is kept.
        expires_at: from then on it is not there for anybody, whether it has been removed yet or not.
    """

    key: str
    value: dict[str, Any]
    created_at: datetime
    version: int = 1
    ttl: timedelta | None = None
    expires_at: datetime | None = None

    @property
    def kind(self) -> RecordKind:
        return "item"

    def alive(self, at: datetime) -> bool:
        """Whether it has not expired."""
        return self.expires_at is None or self.expires_at > at


AnyRecord: TypeAlias = Note | Insight | Summary | Episode | StateEntry | Proposal | ItemVersion


class Node(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """A summary of a span of one thread: level 1 of messages, level n of the nodes of level n-1 named in `children`.

    Attributes:
        covers: the seqs it stands for, as inclusive ranges in order. Exactly these messages, no others.
        lines: what is left of them; may be empty (nothing worth a line).
        author: who wrote it: `"extractive"`, or a model's name.
        span: of a model's: what its lines were made of (see `compaction.attempts.span_of`).
        replaced_by: the node that took its place; "" while it stands. It is kept for the receipts that name it.
    """

    id: str
    level: int
    covers: tuple[tuple[int, int], ...]
    lines: tuple[Line, ...]
    author: str
    created_at: datetime
    children: tuple[str, ...] = ()
    span: str = ""
    replaced_by: str = ""

    @property
    def first_seq(self) -> int:
        return self.covers[0][0]

    @property
    def last_seq(self) -> int:
        return self.covers[-1][1]


class ReceiptLine(msgspec.Struct, frozen=True, omit_defaults=True, gc=False):
    """One line of a context outside the recent messages: where it stood, what it was made of, why it was there.

    `of` says what `id` names: a message, a record, or a node. `index` is the line's number within a node or a session summary,
    -1 for the whole. `cut` is the span of a message's text that was shown, in characters. `changed_by` is the record that had
    taken the place of something the line says, `disputed_by` are those that contradicted it. `tokens` are of the line, with a
    heading that it stands first under. `group` is the title of the part of a profile that it stood in.
    """

    section: str
    of: Literal["message", "record", "node"]
    id: str
    reason: str
    index: int = -1
    tokens: int = 0
    cut: tuple[int, int] | None = None
    changed_by: str = ""
    scores: dict[str, float] = msgspec.field(default_factory=dict)
    disputed_by: tuple[str, ...] = ()
    group: str = ""


class Decision(msgspec.Struct, frozen=True, omit_defaults=True, gc=False):
    """What was done with messages of a thread that are not in a context verbatim, or are for having been given another tier:
    who decided it, and why.

    Attributes:
        policy: the name of the policy; "budget" where they did not fit, "pairing" where a result is awaited.
        done: folded into summaries, left out of view, waiting for a result, or shown shortened; or promoted: in view with
            another tier than the one it was appended with.
        messages: which, as inclusive seq ranges in order.
        tokens: what they would take; 0 where that was not counted.
    """

    policy: str
    done: Done
    messages: tuple[tuple[int, int], ...]
    reason: str
    tokens: int = 0

    @property
    def count(self) -> int:
        """How many messages."""
        return sum(last - first + 1 for first, last in self.messages)


class Cut(msgspec.Struct, frozen=True, array_like=True, gc=False):
    """How one text of a message is shown shortened (see `context.cutting`). Holds places, no words.

    Attributes:
        seq: of the message.
        part: which of its contents and calls, counted from 0: its parts, or its content as one; then its tool calls.
        leaf: which string within the arguments of a call, in their order; -1 for all of it.
        start, end: characters that are kept there.
        tokens: what the whole of it counts.
    """

    seq: int
    part: int
    leaf: int
    start: int
    end: int
    tokens: int


class Receipt(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """What one context was made of: ids, never text, and all that is needed to build the same bytes again.

    Attributes:
        pinned, recent: the messages shown verbatim, as inclusive seq ranges in order: those always in view, and the newest.
        cuts: texts of recent messages that are shown shortened, in order.
        memory_before: the seq of the message that the memory message stands before; 0 for right after the pinned messages.
        for_model: the model whose frames were counted; "" where none was named.
        around: what the request counts besides its messages, each (name, tokens).
        digest: SHA-256 of the context's messages; `replay` compares.
        query_digest: SHA-256 of the query, so that the words asked are not kept a second time.
        policy, decisions: which policy chose what is in view, and what was done with the rest. `replay` needs neither.
    """

    id: str
    thread_id: str
    created_at: datetime
    budget: int
    tokens: int
    counter: str
    ranker: str
    renderer: int
    digest: str
    query_digest: str = ""
    lines: tuple[ReceiptLine, ...] = ()
    pinned: tuple[tuple[int, int], ...] = ()
    recent: tuple[tuple[int, int], ...] = ()
    cuts: tuple[Cut, ...] = ()
    memory_before: int = 0
    for_model: str = ""
    around: tuple[tuple[str, int], ...] = ()
    policy: str = ""
    decisions: tuple[Decision, ...] = ()
