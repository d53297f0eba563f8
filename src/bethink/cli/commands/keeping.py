"""`store`, `pin`, `unpin`, `cite`: keep a text of one's own, keep it in view, and count the use of what is kept."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Literal

import typer

from bethink.cli.commands.threads import parse_metadata
from bethink.cli.options import Answer, Run, verb

if TYPE_CHECKING:
    from collections.abc import Callable

    from bethink.cli.render import Page
    from bethink.records import AnyRecord

__all__ = ["register"]

_Importance = Literal["high", "medium", "low"]
_Ids = Annotated[list[str], typer.Argument(metavar="ID...", help="Ids, or the marks a context shows.", show_default=False)]


def register(app: typer.Typer) -> None:
    verb(
        app,
        "store",
        'bethink store "Invoices go to the Lyon office." --user mara',
        'bethink store "Never book night flights." --pin --user mara',
        """bethink store "Sits in row 12." --metadata '{"from": "crm"}'""",
    )(store)
    verb(app, "pin", "bethink pin mem:3f2a9c1d --user mara", "bethink pin 3f2a9c1d 77b01e52 --user mara --json")(pin)
    verb(app, "unpin", "bethink unpin mem:3f2a9c1d --user mara")(unpin)
    verb(app, "cite", "bethink cite 3f2a9c1d --user mara", "bethink cite mem:3f2a9c1d mem:77b01e52 --user mara")(cite)


def store(
    run: Run,
    text: Annotated[str, typer.Argument(metavar="TEXT", help="What to keep.", show_default=False)],
    pinned: Annotated[bool, typer.Option("--pin", help="Put it into every context.")] = False,
    importance: Annotated[_Importance, typer.Option(help="How much it weighs.")] = "medium",
    metadata: Annotated[str | None, typer.Option(help="A JSON object to keep with it.")] = None,
) -> Answer:
    """Keep a text, as a note that recall finds.

    The database is made if need be.
    """
    given = parse_metadata(metadata)
    with run.memory(create=True) as memory:
        note = memory.store(text, given, importance=importance, pinned=pinned)
    return Answer({"record": note}, lambda page: page.say(f"Kept as {note.id}" + (", in every context" if pinned else "")))


def pin(run: Run, ids: _Ids) -> Answer:
    """Keep records in view: notes and insights in every context, episodes from being archived."""
    with run.memory() as memory:
        pinned = memory.pin(*ids)
    return Answer({"records": pinned}, lambda page: _show(page, pinned, lambda _: "pinned"))


def unpin(run: Run, ids: _Ids) -> Answer:
    """Let pinned records go: from now on they are kept by their scores."""
    with run.memory() as memory:
        records = memory.unpin(*ids)
    return Answer({"records": records}, lambda page: _show(page, records, lambda _: "not pinned"))


def cite(run: Run, ids: _Ids) -> Answer:
    """Count a use of records: it strengthens them."""
    with run.memory() as memory:
        cited = memory.cite(*ids)
    return Answer({"records": cited}, lambda page: _show(page, cited, _times))


def _times(record: AnyRecord) -> str:
    from bethink.cli.render import counted

    return f"cited {counted(record.access_count, 'time')}"


def _show(page: Page, records: list[AnyRecord], told: Callable[[AnyRecord], str]) -> None:
    from bethink.cli.render import one_line

    for record in records:
        page.item(one_line(record.text), f"{record.kind} {record.id}, {told(record)}", indent=0)
