"""`history` and `diff`: what took whose place, and what changed between two times."""

from __future__ import annotations

from datetime import datetime, timezone
from typing import TYPE_CHECKING, Annotated

import typer

from bethink.cli.options import Answer, Run, verb
from bethink.errors import InvalidInput

if TYPE_CHECKING:
    from collections.abc import Sequence

    from bethink.cli.render import Page
    from bethink.insights.differences import Diff, HistoryEntry, HistoryEvent
    from bethink.records import AnyRecord

__all__ = ["AsOf", "ValidAt", "moment_of", "register"]

AsOf = Annotated[
    str | None, typer.Option("--as-of", metavar="TIME", help="As it was known then: 2026-03-01, or a time with its zone.")
]
ValidAt = Annotated[
    str | None, typer.Option("--valid-at", metavar="TIME", help="What was true in the world then.", show_default=False)
]


def register(app: typer.Typer) -> None:
    verb(
        app,
        "history",
        "bethink history residence --user mara",
        "bethink history mem:3f2a9c1d --user mara --json",
        "bethink history employer --subject tom --user mara",
    )(history)
    verb(
        app,
        "diff",
        "bethink diff --since 2026-03-01 --user mara",
        "bethink diff --since 2026-03-01 --until 2026-03-08T12:00:00Z --json",
    )(diff)


def moment_of(text: str | None, field: str) -> datetime | None:
    """A time from the command line. A date is its first moment in UTC, and so for a time its zone must be told."""
    if text is None:
        return None
    try:
        at = datetime.fromisoformat(text.strip().replace("Z", "+00:00"))
    except ValueError:
        fix = "write a date such as 2026-03-01, or a time such as 2026-03-01T12:00:00Z"
        raise InvalidInput(field, "neither a date nor a time", fix) from None
    if at.tzinfo is None and len(text.strip()) <= len("2026-03-01"):
        return at.replace(tzinfo=timezone.utc)
    return at


def history(
    run: Run,
    item: Annotated[str, typer.Argument(metavar="ID", help="A record's id or mark, or a slot such as residence.")],
    subject: Annotated[str, typer.Option(help='Whose slot: "user", or a name.')] = "user",
) -> Answer:
    """Show what took whose place, why, and from which words; oldest first."""
    with run.memory() as memory:
        found = memory.history(item, subject=subject)
    return Answer({"entries": found}, lambda page: _show_history(page, found))


def _show_history(page: Page, entries: Sequence[HistoryEntry]) -> None:
    from bethink.cli.render import one_line
    from bethink.context import handle

    texts = {entry.record.id: entry.record.text for entry in entries}
    for entry in entries:
        state = "current" if entry.record.current else "no longer current"
        page.item(one_line(entry.record.text), f"{state} · mem:{handle(entry.record.id)}", indent=0)
        for event in entry.events:
            page.note(_told(event, texts), indent=2)


def _told(event: HistoryEvent, texts: dict[str, str]) -> str:
    from bethink.cli.render import counted, one_line, when

    said = f"{when(event.at)}  {event.what}"
    if event.what == "retired":
        by = texts.get(event.superseded_by or "")
        return f"{said}: {event.reason}" + ("" if by is None else f"; now: {one_line(by)}")
    if event.sources:
        newest = event.sources[-1]
        more = f" and {counted(len(event.sources) - 1, 'other')}" if len(event.sources) > 1 else ""
        return f"{said}, from {newest.thread_id}: {newest.message_id}{more}"
    return said


def diff(
    run: Run,
    since: Annotated[str, typer.Option(metavar="TIME", help="The earlier time.", show_default=False)],
    until: Annotated[str | None, typer.Option(metavar="TIME", help="The later time.", show_default="now")] = None,
) -> Answer:
    """Show what was learned, changed, retired, archived and forgotten between two times."""
    start = moment_of(since, "since")
    assert start is not None, "an option without default is always given"
    with run.memory() as memory:
        found = memory.diff(start, moment_of(until, "until"))
    return Answer(found, lambda page: _show_diff(page, found))


def _show_diff(page: Page, found: Diff) -> None:
    from bethink.cli.render import counted, one_line

    if not found:
        page.say("Nothing has changed.")
    for mark, what, records in (
        ("+", "learned", found.learned),
        ("+", "current again", found.returned),
        ("-", "retired", found.retired),
        ("-", "archived", found.archived),
    ):
        for record in records:
            page.item(f"{mark} {one_line(record.text)}", _because(what, record), indent=0)
    for changed in found.changed:
        page.item(f"~ {one_line(changed.old.text)} → {one_line(changed.new.text)}", changed.reason, indent=0)
    if found.forgotten_messages or found.forgotten_records:
        messages = counted(found.forgotten_messages, "message")
        page.note(f"Forgotten: {messages}, {counted(found.forgotten_records, 'record')}.")


def _because(what: str, record: AnyRecord) -> str:
    return f"{what}: {record.reason}" if record.reason and not record.reason.startswith(what) else record.reason or what
