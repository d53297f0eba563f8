"""`episodes`, `episode`, `reflect`: what was done and how it went; sessions that are due."""

from __future__ import annotations

from datetime import datetime, timedelta
from typing import TYPE_CHECKING, Annotated, Literal

import msgspec
import typer

from bethink.cli.commands.threads import parse_metadata
from bethink.cli.options import Answer, Run, verb
from bethink.errors import InvalidInput
from bethink.values import utc

if TYPE_CHECKING:
    from bethink.cli.render import Page
    from bethink.records import Episode
    from bethink.steps.reflect import Reflection
    from bethink.threads import ThreadInfo

__all__ = ["register"]

_Outcome = Literal["success", "partial", "failure", "unknown"]
_SINCE = Annotated[str | None, typer.Option(metavar="TIME", help="Only what ended then or later, as 2026-03-01T00:00:00Z.")]
_UNTIL = Annotated[str | None, typer.Option(metavar="TIME", help="Only what ended before.")]
_BELOW = Annotated[bool, typer.Option("--below", help="Also the namespaces below.")]


def register(app: typer.Typer) -> None:
    verb(
        app,
        "episodes",
        "bethink episodes --user mara",
        'bethink episodes "move the billing service" --outcome success --below',
        "bethink episodes --since 2026-03-01T00:00:00Z --json",
    )(episodes)
    verb(
        app,
        "episode",
        'bethink episode "Move the billing service" --outcome success --tool psql',
        'bethink episode "Paint the fence" --feedback "Green." --replaces 3f2a9c1d',
    )(episode)
    verb(
        app,
        "reflect",
        "bethink reflect --below                        # what is due",
        "bethink reflect --due --below                  # end it; for cron",
        "bethink reflect --due --idle 15 --every 40 --user mara --json",
    )(reflect)


def episodes(
    run: Run,
    task: Annotated[str | None, typer.Argument(metavar="[TASK]", help="A task: those like it.", show_default=False)] = None,
    k: Annotated[int | None, typer.Option("-k", "--limit", min=1, help="At most so many.", show_default="8")] = None,
    outcome: Annotated[_Outcome | None, typer.Option(help="Only with this outcome.")] = None,
    since: _SINCE = None,
    until: _UNTIL = None,
    below: _BELOW = False,
) -> Answer:
    """Show what was done of tasks like this one, and how it went.

    Without a task, what ended last.
    """
    begin, end = _time(since, "since"), _time(until, "until")
    with run.memory() as memory:
        found = memory.episodes(task, k, outcome=outcome, since=begin, until=end, below=below)
    return Answer({"task": task, "episodes": found}, lambda page: _show(page, found))


def _show(page: Page, found: list[Episode]) -> None:
    from bethink.cli.render import one_line, when

    if not found:
        page.say("No such episode.")
    for each in found:
        tools = f", with {', '.join(each.tools)}" if each.tools else ""
        where = f", in {each.thread_id}" if each.thread_id else ""
        page.item(one_line(each.text), f"{when(each.ended_at)}{where}{tools} · {each.id}", indent=0)


def episode(
    run: Run,
    task: Annotated[str, typer.Argument(metavar="TASK", help="What was to be done.", show_default=False)],
    outcome: Annotated[_Outcome, typer.Option(help="What came of it.")] = "unknown",
    approach: Annotated[str, typer.Option(help="How it was gone about.")] = "",
    feedback: Annotated[str, typer.Option(help="What was said of the result.")] = "",
    tool: Annotated[list[str] | None, typer.Option(help="A tool that was used; may be repeated.")] = None,
    cost: Annotated[float | None, typer.Option(help="What it cost.")] = None,
    thread: Annotated[str | None, typer.Option(help="The thread it was done in: it goes with it.")] = None,
    replaces: Annotated[str | None, typer.Option(metavar="ID", help="The episode it takes the place of.")] = None,
    pin: Annotated[bool, typer.Option("--pin", help="Never archive it.")] = False,
    metadata: Annotated[str | None, typer.Option(help="A JSON object to keep with it.")] = None,
) -> Answer:
    """Keep a record of a piece of work.

    The database is made if need be.
    """
    given = parse_metadata(metadata)
    with run.memory(create=True) as memory:
        stored = memory.store_episode(
            task,
            outcome=outcome,
            approach=approach,
            feedback=feedback,
            tools=tool or (),
            cost=cost,
            thread=thread,
            replaces=replaces,
            pinned=pin,
            metadata=given,
        )
    return Answer({"episode": stored}, lambda page: page.say(f"Kept as {stored.id}"))


def reflect(
    run: Run,
    due: Annotated[bool, typer.Option("--due", help="End them; without it, only show them.")] = False,
    idle: Annotated[int, typer.Option(min=1, help="Due is a session after so many minutes without a message.")] = 30,
    every: Annotated[int | None, typer.Option(min=1, help="Or with so many messages since the last time.")] = None,
    limit: Annotated[int | None, typer.Option("--limit", "-n", min=1, help="End at most so many.")] = None,
    below: _BELOW = False,
) -> Answer:
    """Show the sessions that are due to be ended, or end them.

    Each is ended once, however many processes do this at a time.
    """
    after = timedelta(minutes=idle)
    with run.memory() as memory:
        if not due:
            threads = memory.due(after=after, every=every, below=below)
            return Answer({"due": threads}, lambda page: _show_due(page, threads))
        ended = memory.reflect_due(after=after, every=every, below=below, limit=limit)
    return Answer({"ended": ended}, lambda page: _show_ended(page, ended))


def _show_due(page: Page, threads: list[ThreadInfo]) -> None:
    from bethink.cli.render import when

    if not threads:
        page.say("No session is due.")
        return
    rows = [
        ("/".join(each.namespace), f"{each.tip - each.reflected_through:,}", when(each.updated_at), each.thread_id)
        for each in threads
    ]
    page.table(("namespace", ">new messages", "updated", "thread"), rows)
    page.note("--due ends them.")


def _show_ended(page: Page, ended: list[Reflection]) -> None:
    from bethink.cli.render import counted, one_line

    if not ended:
        page.say("No session is due.")
    for each in ended:
        parts = [
            counted(0 if each.summary is None else len(each.summary.lines), "line"),
            counted(len(each.insights), "insight"),
            counted(len(each.decisions), "decision"),
            counted(len(each.open_tasks), "open task"),
        ]
        page.item(f"{'/'.join(each.namespace)} {each.thread_id}", ", ".join(parts), indent=0)
        if each.episode is not None:
            page.note(one_line(each.episode.text), indent=2)


def _time(text: str | None, field: str) -> datetime | None:
    """An RFC 3339 time.

    Raises:
        InvalidInput: it is none, or has no zone.
    """
    if text is None:
        return None
    try:
        # Python's own parser takes no "Z" before 3.11.
        found = msgspec.convert(text, type=datetime)
    except msgspec.ValidationError as error:
        raise InvalidInput(field, "not a time", "write it as 2026-03-01T00:00:00Z") from error
    return utc(found, field)
