"""`profile`: what is known about somebody, from which words, and what it replaced."""

from __future__ import annotations

from datetime import timedelta
from typing import TYPE_CHECKING, Annotated, Any

import msgspec
import typer

from bethink.cli.commands.past import AsOf, ValidAt, moment_of
from bethink.cli.options import Answer, Run, verb
from bethink.cli.template import Template, given_template
from bethink.records import Insight, Source

if TYPE_CHECKING:
    from datetime import datetime

    from bethink.cli.render import Page
    from bethink.insights.domains.given import GivenTemplate
    from bethink.memory import Memory
    from bethink.messages import Message
    from bethink.profile import Profile, ProfileEntry, ProfilePreview

__all__ = ["Quote", "Quotes", "history_of", "reason_retired", "register", "show_entry", "show_retired"]

_SHOWN_CHARACTERS = 80
_DAYS = tuple(range(0, 91, 3))
_BARS = "▁▂▃▄▅▆▇█"


def register(app: typer.Typer) -> None:
    verb(
        app,
        "profile",
        "bethink profile --user mara",
        "bethink profile --user mara --history",
        "bethink profile --user mara --plot",
        "bethink profile --user mara --preview 30",
        "bethink profile --user mara --as-of 2026-03-01",
        "bethink profile --template healthcare --user mara",
        "bethink profile --template patient.json --user mara --json",
        "bethink profile --subject tom --user mara --json",
    )(profile)


class Quote(msgspec.Struct, frozen=True):
    """The words an insight rests on, and where they were said."""

    thread_id: str
    message_id: str
    seq: int
    said_at: datetime | None
    text: str


class Quotes:
    """Looks up the words behind insights; reads each thread once."""

    def __init__(self, memory: Memory) -> None:
        self._memory = memory
        self._threads: dict[str, dict[str, Message]] = {}

    def of(self, insight: Insight) -> tuple[Quote, ...]:
        """One for each source, oldest first."""
        return tuple(self._quote(source) for source in insight.sources)

    def _quote(self, source: Source) -> Quote:
        if source.thread_id not in self._threads:
            messages = self._memory.thread(source.thread_id).messages()
            self._threads[source.thread_id] = {message.id: message for message in messages}
        message = self._threads[source.thread_id].get(source.message_id)
        if message is None:
            # Forgotten since the insight was read; its own wording is all there is.
            return Quote(source.thread_id, source.message_id, 0, None, source.text)
        said = message.text[source.start : source.end] or source.text
        return Quote(source.thread_id, message.id, message.seq, message.created_at, said)


def profile(
    run: Run,
    subject: Annotated[str, typer.Option(help='Whom it is about: "user", or a name.')] = "user",
    history: Annotated[bool, typer.Option("--history", help="Also what is no longer current, and why.")] = False,
    plot: Annotated[bool, typer.Option("--plot", help="Also how each score will fall if nobody uses it.")] = False,
    preview: Annotated[
        int | None, typer.Option("--preview", min=0, help="Also what the end of a session in so many days would archive.")
    ] = None,
    as_of: AsOf = None,
    valid_at: ValidAt = None,
    template: Template = None,
) -> Answer:
    """Show what is known about somebody, with its sources."""
    given = None if template is None else given_template(template)
    with run.memory() as memory:
        current = memory.profile(
            subject, template=given, as_of=moment_of(as_of, "as_of"), valid_at=moment_of(valid_at, "valid_at")
        )
        known = history_of(memory, subject)
        quotes = Quotes(memory)
        sources = {insight.id: quotes.of(insight) for insight in (*current, *known.values())}
    past = [insight for insight in known.values() if not insight.current] if history else []
    ahead = None if preview is None else current.preview(_in_days(current, preview))
    facts = {
        "subject": current.subject,
        "entries": [
            {
                "insight": entry.insight,
                "score": round(entry.score, 4),
                "quotes": sources[entry.insight.id],
                **({"curve": _curve(current, entry)} if plot else {}),
            }
            for entry in current.entries
        ],
        **({} if current.template is None else _laid_out(current, given)),
        **({} if ahead is None else {"preview": {"in_days": preview, "keep": ahead.keep, "archive": ahead.archive}}),
        **({"history": [{"insight": insight, "quotes": sources[insight.id]} for insight in past]} if history else {}),
    }

    def show(page: Page) -> None:
        _show(page, current, past if history else None, known, sources)
        if plot:
            _plot(page, current)
        if ahead is not None:
            _show_preview(page, ahead, preview or 0)

    return Answer(facts, show)


def _laid_out(current: Profile, given: GivenTemplate | None) -> dict[str, Any]:
    """The sections, each value with its insights; of a JSON Schema also the object that it is true of."""
    assert current.template is not None
    sections = [
        {"name": each.name, "title": each.title, "value": each.value, "insights": each.insight_ids} for each in current.sections
    ]
    filled = {"profile": current.to(given)} if isinstance(given, dict) else {}
    return {"template": current.template.name, "sections": sections, **filled}


def _in_days(current: Profile, days: int) -> datetime | None:
    return None if current.at is None else current.at + timedelta(days=days)


def _curve(current: Profile, entry: ProfileEntry) -> dict[str, float]:
    """The scores to come, by days from now."""
    from bethink.insights.retention import curve

    assert current.at is not None, "a profile of a memory was read at a time"
    scores = curve(entry.insight, start=current.at, days=_DAYS, retention=current.retention)
    return {str(day): round(score, 4) for day, score in zip(_DAYS, scores, strict=True)}


def _plot(page: Page, current: Profile) -> None:
    """A bar for every three days, and the scores at the start, in the middle and at the end."""
    from bethink.cli.render import one_line
    from bethink.insights.retention import exempt

    if not current:
        return
    highest = (1 + current.retention.recency_boost) * max(
        current.retention.high, current.retention.medium, current.retention.low
    )
    page.blank()
    page.heading(f"The next {_DAYS[-1]} days, if nobody uses them")
    for entry in current.entries:
        scores = list(_curve(current, entry).values())
        bars = "".join(_BARS[min(len(_BARS) - 1, int(score / highest * len(_BARS)))] for score in scores)
        kept = ", kept whatever it scores" if exempt(entry.insight, current.retention) else ""
        middle = len(scores) // 2
        told = f"{scores[0]:.2f} now, {scores[middle]:.2f} in {_DAYS[middle]} days, {scores[-1]:.2f} at the end{kept}"
        page.item(f"{bars}  {one_line(entry.insight.text)}", told, indent=0)


def _show_preview(page: Page, ahead: ProfilePreview, days: int) -> None:
    page.blank()
    when = f"The end of a session in {days} days" if days else "The end of a session now"
    page.heading(f"{when} would archive {len(ahead.archive)} of {len(ahead.keep) + len(ahead.archive)}")
    for entry in ahead.archive:
        page.item(f"{entry.score:.2f}  {entry.insight.text}", entry.insight.topic, indent=0)


def history_of(memory: Memory, subject: str) -> dict[str, Insight]:
    """Every insight there ever was about a subject, by id, oldest first."""
    found = (record for record in memory.records("insight", current=False) if isinstance(record, Insight))
    return {insight.id: insight for insight in found if insight.subject == subject.casefold()}


def _show(
    page: Page,
    current: Profile,
    past: list[Insight] | None,
    known: dict[str, Insight],
    sources: dict[str, tuple[Quote, ...]],
) -> None:
    if not current:
        page.say(f"Nothing is known about {current.subject} here.")
    if current.template is None:
        for entry in current.entries:
            show_entry(page, entry, sources[entry.insight.id])
    for section in filter(len, current.sections):
        page.heading(section.title)
        for entry in section.entries:
            show_entry(page, entry, sources[entry.insight.id])
    if empty := [section.title for section in current.sections if not len(section)]:
        page.note(f"nothing yet: {', '.join(empty)}")
    if past is None:
        return
    page.blank()
    page.heading("No longer current" if past else "Nothing was ever superseded.")
    for insight in past:
        show_retired(page, insight, known)
        page.note(source_line(insight, sources[insight.id]), indent=2)


def show_entry(page: Page, entry: ProfileEntry, quotes: tuple[Quote, ...]) -> None:
    """A line of the profile: its score, what it says, and the newest of the words it rests on."""
    from bethink.cli.render import one_line

    insight = entry.insight
    page.item(f"{entry.score:.2f}  {one_line(insight.text)}", f"{insight.topic} · {source_line(insight, quotes)}", indent=0)


def show_retired(page: Page, insight: Insight, known: dict[str, Insight]) -> None:
    """An insight that is no longer current: what it said, until when, and why."""
    from bethink.cli.render import one_line

    page.item(one_line(insight.text), reason_retired(insight, known), indent=0)


def source_line(insight: Insight, quotes: tuple[Quote, ...]) -> str:
    """Where the newest of the words were said, and the words."""
    from bethink.cli.render import around

    if not quotes:
        return "no source"
    newest = quotes[-1]
    date = f"{newest.said_at:%Y-%m-%d}" if newest.said_at else "undated"
    more = f" and {len(quotes) - 1} more" if len(quotes) > 1 else ""
    return f"{newest.thread_id} #{newest.seq}, {date}{more}: “{around(newest.text, insight.text, _SHOWN_CHARACTERS)}”"


def reason_retired(insight: Insight, known: dict[str, Insight]) -> str:
    """Why an insight is no longer current, and what took its place."""
    from bethink.cli.render import one_line, when

    since = f"until {when(insight.valid_to or insight.retired_at)}"
    reason = f"{since}: {insight.reason}" if insight.reason else since
    successor = known.get(insight.superseded_by or "")
    return reason if successor is None or successor.text in reason else f"{reason}; now: {one_line(successor.text)}"
