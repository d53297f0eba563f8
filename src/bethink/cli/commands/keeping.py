"""`store`, `cite`: keep a text of one's own, and count the use of what is kept."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Literal

import typer

from bethink.cli.commands.threads import parse_metadata
from bethink.cli.options import Answer, Run, verb

if TYPE_CHECKING:
    from bethink.cli.render import Page
    from bethink.records import AnyRecord

__all__ = ["register"]

_Importance = Literal["high", "medium", "low"]


def register(app: typer.Typer) -> None:
    verb(
        app,
        "store",
        'bethink store "Invoices go to the Lyon office." --user mara',
        'bethink store "Never book night flights." --pin --user mara',
        """bethink store "Sits in row 12." --metadata '{"from": "crm"}'""",
    )(store)
    verb(app, "cite", "bethink cite 3f2a9c1d --user mara", "bethink cite mem:3f2a9c1d mem:77b01e52 --user mara")(cite)


def store(
    run: Run,
    text: Annotated[str, typer.Argument(metavar="TEXT", help="What to keep.", show_default=False)],
    pin: Annotated[bool, typer.Option("--pin", help="Put it into every context.")] = False,
    importance: Annotated[_Importance, typer.Option(help="How much it weighs.")] = "medium",
    metadata: Annotated[str | None, typer.Option(help="A JSON object to keep with it.")] = None,
) -> Answer:
    """Keep a text, as a note that recall finds.

    The database is made if need be.
    """
    given = parse_metadata(metadata)
    with run.memory(create=True) as memory:
        note = memory.store(text, given, importance=importance, pinned=pin)
    return Answer({"record": note}, lambda page: page.say(f"Kept as {note.id}" + (", in every context" if pin else "")))


def cite(
    run: Run,
    ids: Annotated[list[str], typer.Argument(metavar="ID...", help="Ids, or the marks a context shows.", show_default=False)],
) -> Answer:
    """Count a use of records: it strengthens them."""
    with run.memory() as memory:
        cited = memory.cite(*ids)
    return Answer({"records": cited}, lambda page: _show_cited(page, cited))


def _show_cited(page: Page, cited: list[AnyRecord]) -> None:
    from bethink.cli.render import counted, one_line

    for record in cited:
        page.item(one_line(record.text), f"{record.kind} {record.id}, cited {counted(record.access_count, 'time')}", indent=0)
