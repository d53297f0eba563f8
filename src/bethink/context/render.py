"""The context itself, its receipt, and the way back from a receipt to the same bytes. Pure."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator, Mapping
from datetime import datetime
from typing import Any

import msgspec

from bethink.claims import Contrary
from bethink.context.block import block_tokens
from bethink.context.compose import Composition
from bethink.context.cutting import by_seq, with_cuts
from bethink.context.explain import Explanation, Load, explain, load_of, sections_of
from bethink.context.items import (
    BLOCK,
    Item,
    SectionName,
    as_disputed,
    headed,
    item_of_message,
    item_of_node,
    item_of_record,
    items_of_summary,
    memory_message,
    shown,
)
from bethink.errors import Forgotten, InvalidInput
from bethink.formats.openai_chat import to_openai_list
from bethink.limits import LimitWarning
from bethink.messages import Message, canonical_lines, groups, ranges
from bethink.models.measure import Measure
from bethink.records import AnyRecord, Node, Receipt, ReceiptLine, Summary
from bethink.usage import TurnUsage

__all__ = ["RENDERER", "Context", "ContextLine", "Named", "rebuild", "receipt_for", "render"]

RENDERER = 3
"""Version of the bytes made here and in `items`. A change of them raises it, so that an older receipt says why it cannot be
replayed."""


class ContextLine(msgspec.Struct, frozen=True, kw_only=True):
    """One line of a context as a reader sees it: its section, its words, why it is there, what it rests on.

    Attributes:
        tokens: of the line, with those of the heading of a day that it stands first under.
        at: when it was said; in the memory block, its day is the heading that it stands under.
    """

    section: SectionName
    text: str
    reason: str
    tokens: int
    id: str
    at: datetime | None = None
    sources: tuple[str, ...] = ()
    scores: dict[str, float] = msgspec.field(default_factory=dict)


class Context(msgspec.Struct, frozen=True, kw_only=True):
    """What to send to the model.

    Attributes:
        messages: in the order to send them: pinned, the memory message (if it has any line), the recent ones; or the memory
            message right before the newest user message (`settings.memory_at`).
        tools: those that the request is to offer, as they were given; not kept in the receipt.
        tokens: of all messages, and of the rest of the request where tools or a model were named, by the counter and frames
            named in the receipt; at most `budget`.
        made_of: what was chosen.
        receipt_id: names it for `replay`; "" for a context that was not recorded.
        usage: what it took; None for one that was replayed.
        warnings: which of its `Limits` it came near.
        without: what failed and was done without, and what to do about it. An embedder that fails ends no context: what is
            recalled is found by words alone.
    """

    messages: tuple[Message, ...]
    tokens: int
    budget: int
    made_of: Composition
    measure: Measure
    tools: tuple[dict[str, Any], ...] = ()
    receipt_id: str = ""
    usage: TurnUsage | None = None
    warnings: tuple[LimitWarning, ...] = ()
    without: tuple[str, ...] = ()

    def __repr__(self) -> str:
        return f"Context({self.tokens} of {self.budget} tokens, {len(self.messages)} messages, receipt {self.receipt_id!r})"

    @property
    def lines(self) -> tuple[ContextLine, ...]:
        """Every line with its reason, in the order shown. Made when it is asked for."""
        return tuple(_lines(self.made_of, self.measure))

    @property
    def headroom(self) -> int:
        """Tokens of the budget that are not used."""
        return self.budget - self.tokens

    @property
    def load(self) -> Load:
        """How full it is (see `explain.load_of`)."""
        return load_of(self.tokens, self.budget)

    @property
    def sections(self) -> dict[SectionName, int]:
        """Tokens by section, together `tokens`. "frame" is what surrounds the lines of the memory message."""
        return sections_of(self.made_of, self.measure)

    def explain(self) -> Explanation:
        """What is in it and what is not: which policy folded or left out which messages, and why. `print` shows it.

        A replayed context explains itself as its receipt does.
        """
        return explain(self.made_of, budget=self.budget, measure=self.measure)

    @property
    def omitted(self) -> tuple[str, ...]:
        """What is not among the recent messages and why: a call that waits for its result, a group that did not fit."""
        return self.made_of.omitted

    def section(self, name: SectionName) -> tuple[ContextLine, ...]:
        """The lines of one section."""
        return tuple(line for line in self.lines if line.section == name)

    def to_openai(self) -> list[dict[str, Any]]:
        """The messages as OpenAI chat dicts, each tool call directly followed by its results."""
        return to_openai_list(self.messages)

    def to_bytes(self) -> bytes:
        """The messages as one JSON document: the same context, the same bytes."""
        return msgspec.json.encode(self.to_openai())

    @property
    def text(self) -> str:
        """The whole as plain text, for a prompt that is one string."""
        return "\n".join(f"{message.speaker}: {message.text}" for message in self.messages if message.text)


def render(made_of: Composition, *, budget: int, measure: Measure, tools: tuple[dict[str, Any], ...] = ()) -> Context:
    """The context that a composition stands for. The same composition, the same bytes."""
    memory = memory_message(made_of.block)
    recent = with_cuts(made_of.recent, made_of.cuts)
    if memory is not None:
        at = next((at for at, message in enumerate(recent) if message.seq == made_of.memory_before), 0)
        recent.insert(at, memory)
    messages = (*made_of.pinned, *recent)
    return Context(messages=messages, tokens=made_of.tokens, budget=budget, made_of=made_of, measure=measure, tools=tools)


def _lines(made_of: Composition, measure: Measure) -> Iterator[ContextLine]:
    for message in made_of.pinned:
        yield _message_line(message, "pinned", f"{message.role} message, always in view", measure)
    for each in made_of.block:
        item = each.item
        yield ContextLine(
            section=item.section,
            text=each.line,
            reason=item.reason,
            tokens=each.tokens,
            id=item.id,
            at=item.at,
            sources=item.sources,
            scores=item.scores,
        )
    newest = max((message.seq for message in made_of.recent if message.role == "user"), default=0)
    kept = f"kept by {made_of.policy}" if made_of.policy else "kept in view"
    for message in with_cuts(made_of.recent, made_of.cuts):
        reason = "newest user message" if message.seq == newest else f"message {message.seq}, {kept}"
        if message.seq in made_of.cuts:
            reason += ", shortened"
        yield _message_line(message, "recent messages", reason, measure)


def _message_line(message: Message, section: SectionName, reason: str, measure: Measure) -> ContextLine:
    calls = "; ".join(f"calls {call.name}({call.arguments})" for call in message.tool_calls)
    return ContextLine(
        section=section,
        text=f"{message.speaker}: {' '.join(filter(None, (message.text, calls)))}",
        reason=reason,
        tokens=measure.message(message),
        id=message.id,
        at=message.created_at,
        sources=(message.id,),
    )


def receipt_for(
    made_of: Composition,
    context: Context,
    *,
    receipt_id: str,
    thread_id: str,
    now: datetime,
    ranker: str,
    query: str,
) -> Receipt:
    """What the context was made of: ids and places, no words."""
    return Receipt(
        id=receipt_id,
        thread_id=thread_id,
        created_at=now,
        budget=context.budget,
        tokens=context.tokens,
        counter=context.measure.name,
        ranker=ranker,
        renderer=RENDERER,
        digest=_digest(context),
        query_digest=hashlib.sha256(query.encode()).hexdigest() if query else "",
        lines=tuple([each.named for each in made_of.block]),
        pinned=ranges([message.seq for message in made_of.pinned]),
        recent=ranges(sorted([message.seq for message in made_of.recent])),
        cuts=tuple([cut for _, cuts in sorted(made_of.cuts.items()) for cut in cuts]),
        memory_before=made_of.memory_before,
        for_model=context.measure.model,
        around=made_of.around,
        policy=made_of.policy,
        decisions=made_of.decisions,
    )


def _digest(context: Context) -> str:
    """Of the messages in their canonical form, which the bytes of every format follow from."""
    return hashlib.sha256(canonical_lines(context.messages)).hexdigest()


class Named(msgspec.Struct, frozen=True, kw_only=True):
    """The things a receipt names, as fetched: messages of its thread by seq, quoted messages, records and nodes by id."""

    messages: Mapping[int, Message]
    quoted: Mapping[str, Message]
    records: Mapping[str, AnyRecord]
    nodes: Mapping[str, Node]


def rebuild(receipt: Receipt, named: Named, *, measure: Measure) -> Context:
    """The context that the receipt was given for, byte for byte.

    Raises:
        Forgotten: something it shows is no longer there, or no longer what it was.
        InvalidInput: it was rendered by another version.
    """
    if receipt.renderer != RENDERER:
        raise InvalidInput(
            "receipt", f"rendered by version {receipt.renderer} of the context format, this is {RENDERER}", "use that release"
        )
    pinned = tuple(_of(named.messages, seq, receipt) for first, last in receipt.pinned for seq in range(first, last + 1))
    recent = [_of(named.messages, seq, receipt) for first, last in receipt.recent for seq in range(first, last + 1)]
    block = headed([shown(_item_again(line, named, receipt, measure), measure) for line in receipt.lines])
    made_of = Composition(
        pinned=pinned,
        block=block,
        memory=block_tokens(block, measure),
        recent=tuple(message for group in groups(recent) for message in group.messages),
        memory_before=receipt.memory_before,
        cuts=by_seq(receipt.cuts),
        around=receipt.around,
        policy=receipt.policy,
        decisions=receipt.decisions,
        tokens=receipt.tokens,
    )
    context = render(made_of, budget=receipt.budget, measure=measure)
    if _digest(context) != receipt.digest:
        raise Forgotten(f"context {receipt.id}: something that it shows has been changed by a forget since")
    return msgspec.structs.replace(context, receipt_id=receipt.id)


def _of(things: Mapping[Any, Any], key: object, receipt: Receipt) -> Any:
    try:
        return things[key]
    except KeyError:
        raise Forgotten(f"context {receipt.id}: something that it shows has been forgotten since") from None


def _item_again(line: ReceiptLine, named: Named, receipt: Receipt, measure: Measure) -> Item:
    item = _line_again(line, named, receipt, measure)
    if line.disputed_by:
        item = as_disputed(item, [_contrary(_of(named.records, each, receipt)) for each in line.disputed_by])
    if not line.changed_by:
        return item
    successor: AnyRecord = _of(named.records, line.changed_by, receipt)
    return msgspec.structs.replace(item, changed=successor.text, changed_by=successor.id)


def _contrary(record: AnyRecord) -> Contrary:
    return Contrary(record.id, record.author, "")


def _line_again(line: ReceiptLine, named: Named, receipt: Receipt, measure: Measure) -> Item:
    section: SectionName = next(name for name in BLOCK if name == line.section)
    if line.of == "message":
        message = _of(named.quoted, line.id, receipt)
        assert message.created_at is not None, "a stored message has its time"
        item = item_of_message(
            message.id,
            message.text,
            at=message.created_at,
            trust=message.trust,
            speaker=message.speaker,
            counter=measure,
            reason=line.reason,
            scores=line.scores,
            cut=line.cut,
        )
        return msgspec.structs.replace(item, section=section)
    if line.of == "node":
        return item_of_node(_of(named.nodes, line.id, receipt), line.index, line.reason)
    record: AnyRecord = _of(named.records, line.id, receipt)
    if line.index < 0:
        item = item_of_record(record, section, line.reason, line.scores)
        return msgspec.structs.replace(item, group=line.group) if line.group else item
    assert isinstance(record, Summary), "only a summary is shown line by line"
    return items_of_summary(record, section, line.reason)[line.index]
