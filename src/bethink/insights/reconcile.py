"""New statements against what is known: the same again, a newer answer, or history.

A subject has one current insight per slot. For each incoming statement, the oldest first:

    its source is known           nothing
    the same answer is current    that insight gains the source
    a later answer is known       history, superseded by the next later one
    it denies another answer      history: denying Porto says nothing against Lisbon
    it is trusted less            history: what a page says supersedes nothing that a user said
    else                          it is current (again, if it was known), and what was current goes to history

What differs in the form of its words alone is one answer: a hike and hikes, nuts and a nut. The first way it was said names the
slot, and all sources are its sources.

Two statements reach beyond their slot. A correction ("14 May, not 12 May") takes the place of what holds the wrong words, with
the words exchanged. "I switched from X to Y" ends a preference for X over Y, whatever slot that is in.

All of it is one `Put`, in which the new answer is stored before the old one is closed: a contradiction never leaves neither. No
statement is dropped; what is not current stays in history with what took its place.

What is later is a question of when it was said, which a derived id carries, not of when it came in: an old conversation that is
imported late changes nothing that is newer. Nothing counts as said after the system knew of it, so that a message dated in the
future does not win for ever.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from datetime import datetime

import msgspec

from bethink.ids import derived_id, to_millis
from bethink.insights import times
from bethink.insights.extract import CORRECTION
from bethink.insights.forms import alike, content, form_of
from bethink.insights.shapes import key
from bethink.messages import lowest_trust
from bethink.records import Insight
from bethink.storage.base import Retire

__all__ = ["Changes", "reconcile", "trusted_less"]


class Changes(msgspec.Struct, frozen=True):
    """What to store, in one `Put`.

    Attributes:
        records: new insights, and known ones (their id) that gain sources or become current again. All are open.
        retire: what is closed after that, some of `records` among them.
        kept: incoming statements that were known already, word and source.
    """

    records: tuple[Insight, ...] = ()
    retire: tuple[Retire, ...] = ()
    kept: tuple[Insight, ...] = ()


def reconcile(current: Sequence[Insight], incoming: Sequence[Insight], *, now: datetime) -> Changes:
    """What `incoming` changes.

    Args:
        current: all insights of the namespace, those in history too.
        incoming: new statements, each with its sources; of equally old ones the later in the sequence was said later.
        now: system time of the change.

    Taking the same statements in again changes nothing. Linear in both, quadratic in how often one answer changed.
    """
    book = _Book(current, now)
    kept: list[Insight] = []
    for statement in sorted(incoming, key=lambda each: each.said_at):
        meant, wrong = book.resolved(book.as_known(statement))
        if not book.take(meant, "corrected" if wrong else "superseded"):
            kept.append(meant)
            continue
        if wrong is not None:
            book.close(wrong, meant, "corrected")
        book.end_preferences(meant)
    return Changes(book.records(), book.retired(), tuple(kept))


class _Book:
    """The insights of a namespace while statements are taken into it."""

    def __init__(self, known: Iterable[Insight], now: datetime) -> None:
        self._now = now
        self._before = {insight.id: insight for insight in known}
        self._insights: dict[str, Insight] = {}
        self._slots: dict[tuple[str, str], list[str]] = {}
        self._subjects: dict[str, list[str]] = {}
        self._alike: dict[tuple[str, str, tuple[str, ...]], list[str]] = {}
        self._touched: dict[str, None] = {}
        for insight in self._before.values():
            self._write(insight)
        self._touched.clear()

    def _write(self, insight: Insight) -> None:
        if insight.id not in self._insights:
            self._slots.setdefault((insight.subject, insight.slot), []).append(insight.id)
            self._subjects.setdefault(insight.subject, []).append(insight.id)
            kind, _, named = insight.slot.partition(":")
            if named:
                self._alike.setdefault((insight.subject, kind, form_of(named)), []).append(insight.slot)
        self._insights[insight.id] = insight
        self._touched[insight.id] = None

    # -- taking a statement in --------------------------------------------------------------------------------------------

    def take(self, statement: Insight, how: str = "superseded") -> bool:
        """Take a statement in; False if it was there, word and source. `how` begins the reason of what it closes."""
        answers = self._slot(statement)
        equal = [insight for insight in answers if _same_answer(insight, statement)]
        if any(_holds(insight, statement) for insight in equal):
            return False
        same = max(equal, key=lambda insight: (insight.current, self._order(insight), insight.id), default=None)
        taken = _joined(same, statement) if same else _open(statement)
        if same is not None and (same.current or statement.said_at <= self._order(same)):
            # Of one that came to its end later than this was said, it is one more mention.
            self._write(taken)
            return True
        others = [insight for insight in answers if not _same_answer(insight, statement)]
        head = max((insight for insight in others if insight.current), key=lambda insight: insight.id, default=None)
        after = [insight for insight in others if _held(insight) and self._order(insight) > statement.said_at]
        if after:
            following = min(after, key=lambda insight: (self._order(insight), insight.id))
            began = _began(following)
            self._write(self._closed(taken, following, began if began > _began(taken) else self._order(following)))
        elif head is not None and (_denies_another(statement, head) or _trusted_less(statement, head)):
            # It never held; what did once hold keeps its own time.
            closed = self._closed(taken, head, _began(taken))
            self._write(msgspec.structs.replace(closed, valid_to=same.valid_to) if same else closed)
        else:
            self._write(_open(taken))
            if head is not None:
                self._write(self._closed(head, taken, _began(statement), how))
        return True

    def close(self, insight: Insight, by: Insight, how: str = "superseded") -> None:
        """Close what another slot's answer `by` took the place of, if both are current."""
        insight, by = self._insights[insight.id], self._insights[by.id]
        if insight.current and by.current and insight.id != by.id and not _trusted_less(by, insight):
            self._write(self._closed(insight, by, _began(by), how))

    def end_preferences(self, statement: Insight) -> None:
        """Close a preference for X over Y where a switch from X to Y was told later; `statement` may be either of the two."""
        known = [self._insights[name] for name in self._subjects[statement.subject]]
        if _leaves(statement):
            switches, preferences = [statement], known
        elif statement.id not in self._before and _preferred(statement) is not None:
            switches, preferences = [insight for insight in known if _leaves(insight)], [statement]
        else:
            return
        for left in switches:
            taken_up = next((insight for insight in known if _same_switch(insight, left)), None)
            if taken_up is None:
                continue
            for insight in preferences:
                if self._order(insight) <= left.said_at and _is_preference(insight, left.value, taken_up.value):
                    self.close(insight, taken_up)

    def _closed(self, insight: Insight, by: Insight, ended: datetime, how: str = "superseded") -> Insight:
        return msgspec.structs.replace(
            insight,
            retired_at=self._now,
            superseded_by=by.id,
            # Never the words of the other: they may be forgotten, and this stays.
            reason=how,
            valid_to=max(ended, _began(insight)),
        )

    # -- looking up -------------------------------------------------------------------------------------------------------

    def as_known(self, statement: Insight) -> Insight:
        """A statement in the slot, and with the value, of what is known that has the same words in another form."""
        kind, _, named = statement.slot.partition(":")
        if not named or kind == CORRECTION:
            return statement
        slot, value = statement.slot, statement.value
        same = self._alike.get((statement.subject, kind, form_of(named)), ())
        if same:
            slot = same[0]
        answers = [self._insights[name] for name in self._slots.get((statement.subject, slot), ())]
        if all(insight.value != value for insight in answers):
            # A slot that is named by its value has it in the same form.
            value = slot.partition(":")[2] if named == value else value
            value = next((insight.value for insight in answers if alike(insight.value, value)), value)
        if (slot, value) == (statement.slot, statement.value):
            return statement
        polarity = statement.polarity
        renamed = derived_id(statement.said_at, "insight", statement.subject, slot, value, polarity)
        return msgspec.structs.replace(statement, id=renamed, slot=slot, value=value)

    def _slot(self, statement: Insight) -> list[Insight]:
        return [self._insights[name] for name in self._slots.get((statement.subject, statement.slot), ())]

    def _order(self, insight: Insight) -> datetime:
        """When it was last said, as far as is known: no earlier than what it replaced came to its end."""
        order = insight.said_at
        for other in self._slot(insight):
            if other.superseded_by == insight.id and other.retired_at and other.valid_to and _held(other):
                order = max(order, other.said_at, min(to_millis(other.valid_to), to_millis(other.retired_at)))
        return order

    def resolved(self, statement: Insight) -> tuple[Insight, Insight | None]:
        """A correction ("it is Lisbon, not Porto") as what it puts right, with the words exchanged, and what was wrong.
        Anything else, and a correction of nothing known, as it is.

        First what has the wrong words for its value, then what has them in its text, that of the same thread before others.
        """
        kind, _, old = statement.slot.partition(":")
        if kind != CORRECTION:
            return statement, None
        known = [self._insights[name] for name in self._subjects.get(statement.subject, ())]
        for insight in known:
            if insight.value == statement.value and _holds(insight, statement):
                return _answering(statement, insight), None
        wrong = [insight for insight in known if _is_wrong(insight, old) and self._order(insight) <= statement.said_at]
        if wrong:
            latest = max(wrong, key=lambda insight: (self._order(insight), insight.id))
            return _answering(statement, latest), latest
        holding = [insight for insight in known if _holds_words(insight, statement)]
        for insight in holding:
            corrected = _exchanged(statement, insight)
            if corrected.id in self._insights and _holds(self._insights[corrected.id], statement):
                return corrected, None
        holding = [
            insight
            for insight in holding
            if insight.current and self._order(insight) <= statement.said_at and not _trusted_less(statement, insight)
        ]
        if not holding:
            return statement, None
        latest = max(holding, key=lambda insight: (_share_thread(insight, statement), self._order(insight), insight.id))
        return _exchanged(statement, latest), latest

    # -- what changed -----------------------------------------------------------------------------------------------------

    def records(self) -> tuple[Insight, ...]:
        """What is new, has gained sources or is current again, open."""
        return tuple(_open(self._insights[name]) for name in self._touched if self._is_put(name))

    def retired(self) -> tuple[Retire, ...]:
        closed = (self._insights[name] for name in self._touched)
        return tuple(
            Retire(insight.id, insight.retired_at, insight.reason, insight.superseded_by, insight.valid_to)
            for insight in closed
            if insight.retired_at is not None and (self._is_put(insight.id) or self._before[insight.id].current)
        )

    def _is_put(self, name: str) -> bool:
        before, after = self._before.get(name), self._insights[name]
        return before is None or before.sources != after.sources or (after.current and not before.current)


def trusted_less(statement: Insight, head: Insight) -> bool:
    """Whether a statement may not take the place of another, since it is trusted less."""
    return _trusted_less(statement, head)


# -- one insight ----------------------------------------------------------------------------------------------------------


def _began(insight: Insight) -> datetime:
    return insight.valid_from or insight.said_at


def _held(insight: Insight) -> bool:
    """Whether it was ever taken to be true, if only for a moment."""
    return insight.current or insight.valid_to is None or insight.valid_to > _began(insight)


def _same_answer(one: Insight, other: Insight) -> bool:
    return one.value == other.value and one.polarity == other.polarity


def _holds(insight: Insight, statement: Insight) -> bool:
    """Whether `insight` rests on the messages of `statement` already."""
    known = {(source.message_id, source.thread_id) for source in insight.sources}
    return all((source.message_id, source.thread_id) in known for source in statement.sources) and (
        bool(statement.sources) or insight.id == statement.id
    )


def _denies_another(statement: Insight, head: Insight) -> bool:
    return statement.polarity == "negative" and head.polarity == "positive" and statement.value != head.value


def _trusted_less(statement: Insight, head: Insight) -> bool:
    return statement.trust != head.trust and lowest_trust((statement.trust, head.trust)) == statement.trust


def _open(insight: Insight) -> Insight:
    if insight.current:
        return insight
    return msgspec.structs.replace(insight, retired_at=None, superseded_by=None, reason="", valid_to=None)


def _joined(insight: Insight, statement: Insight) -> Insight:
    """`insight` with the sources of `statement` that it lacks, after its own."""
    known = {(source.message_id, source.thread_id) for source in insight.sources}
    new = [source for source in statement.sources if (source.message_id, source.thread_id) not in known]
    return msgspec.structs.replace(insight, sources=(*insight.sources, *new))


def _is_wrong(insight: Insight, old: str) -> bool:
    """Whether a correction of `old` may mean this one. Where the slot names the value, another value is another slot."""
    named_by_value = insight.slot.rpartition(":")[2] == insight.value
    return insight.current and insight.polarity == "positive" and key(insight.value) == old and not named_by_value


def _swap(statement: Insight) -> tuple[str, str]:
    """`(new, old)` of a correction, as they were said."""
    new, _, old = statement.text.rpartition(": ")[2].partition(", not ")
    return new, old


def _words_of(text: str) -> re.Pattern[str]:
    return re.compile(rf"(?<!\w){re.escape(text)}(?!\w)", re.IGNORECASE)


def _share_thread(insight: Insight, statement: Insight) -> bool:
    return not {source.thread_id for source in insight.sources}.isdisjoint(source.thread_id for source in statement.sources)


def _holds_words(insight: Insight, statement: Insight) -> bool:
    """Whether the wrong words of a correction are in the text of `insight`. A bare number could be anything elsewhere."""
    old = _swap(statement)[1]
    if not old or insight.polarity != "positive" or insight.slot.startswith(f"{CORRECTION}:"):
        return False
    return bool(_words_of(old).search(insight.text)) and (any(map(str.isalpha, old)) or _share_thread(insight, statement))


def _exchanged(statement: Insight, insight: Insight) -> Insight:
    """`insight` with the words exchanged that the correction `statement` is about."""
    new, old = _swap(statement)
    said = statement.said_at
    text = _words_of(old).sub(lambda _: new, insight.text, count=1)
    when = times.find(new, said, future=insight.topic in ("plan", "goal"))
    value = _words_of(key(old)).sub(lambda _: key(new), insight.value, count=1)
    if value == insight.value:
        undated = value.partition(" @")[0]
        value = f"{undated} @{when.at:%Y-%m-%d}" if when else f"{undated} @{key(new)}"
    first, _, named = insight.slot.rpartition(":")
    slot = f"{first}:{value}" if named == insight.value else insight.slot
    return msgspec.structs.replace(
        statement,
        id=derived_id(said, "insight", statement.subject, slot, value, statement.polarity),
        text=text,
        sources=tuple(msgspec.structs.replace(source, text=text) for source in statement.sources),
        valid_from=when.at if when and insight.topic == "event" else insight.valid_from,
        topic=insight.topic,
        slot=slot,
        value=value,
        importance=insight.importance,
    )


def _leaves(insight: Insight) -> bool:
    """Whether it says that something is not used, as both halves of "I switched from X to Y" together do."""
    return insight.polarity == "negative" and insight.slot.startswith("uses:")


def _same_switch(insight: Insight, left: Insight) -> bool:
    """Whether `insight` is what was taken up in the sentence in which `left` was given up."""
    spans = {(source.thread_id, source.message_id, source.start) for source in left.sources}
    return (
        insight.polarity == "positive"
        and insight.slot.startswith("uses:")
        and any((source.thread_id, source.message_id, source.start) in spans for source in insight.sources)
    )


def _preferred(insight: Insight) -> tuple[str, str] | None:
    """`(what, to what)` somebody prefers; to "" where nothing is named."""
    if insight.polarity != "positive":
        return None
    kind, _, named = insight.slot.partition(":")
    if kind == "prefers":
        return insight.value, next((words for words in named.split("|") if words != insight.value), "")
    stated = insight.text.rpartition(": ")[2].startswith("prefers ")
    return (insight.value, "") if kind == "uses" or (kind == "likes" and stated) else None


def _is_preference(insight: Insight, left: str, taken_up: str) -> bool:
    preferred = _preferred(insight)
    if preferred is None:
        return False
    what, to_what = preferred
    return content(what) == content(left) and (not to_what or content(to_what) == content(taken_up))


def _answering(statement: Insight, insight: Insight) -> Insight:
    """The correction `statement` as another answer in the slot of `insight`, in its wording."""
    new, old = _swap(statement)
    text = re.sub(re.escape(old), lambda _: new, insight.text, count=1, flags=re.IGNORECASE) if old else statement.text
    if text == insight.text:
        text = statement.text
    return msgspec.structs.replace(
        statement,
        id=derived_id(statement.said_at, "insight", statement.subject, insight.slot, statement.value, statement.polarity),
        text=text,
        sources=tuple(msgspec.structs.replace(source, text=text) for source in statement.sources),
        topic=insight.topic,
        slot=insight.slot,
        importance=insight.importance,
    )
