"""`pending`, `approve`, `reject`: somebody's word on what would be known; `changes`, `undo`: taking a change back."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

import typer

from bethink.cli.options import Answer, Run, verb

if TYPE_CHECKING:
    from collections.abc import Sequence

    from bethink.cli.render import Page
    from bethink.records import AnyRecord
    from bethink.storage.base import Change

__all__ = ["register"]


def register(app: typer.Typer) -> None:
    verb(app, "pending", "bethink pending --user mara", "BETHINK_REVIEW=1 bethink pending --user mara --json")(pending)
    verb(app, "approve", "bethink approve mem:3f2a9c1d mem:77e0c2aa --user mara")(approve)
    verb(app, "reject", "bethink reject mem:3f2a9c1d --user mara")(reject)
    verb(app, "changes", "bethink changes --user mara", "bethink changes --user mara --json")(changes)
    verb(app, "undo", "bethink undo CHANGE_ID --user mara", "bethink undo SUMMARY_ID --user mara --json")(undo)


_IDS = Annotated[list[str], typer.Argument(metavar="ID...", help="Ids or marks, as `pending` shows them.", show_default=False)]


def pending(run: Run) -> Answer:
    """Show what waits to be approved. With BETHINK_REVIEW=1, what is drawn now waits as well."""
    with run.memory() as memory:
        found = memory.pending()
    return Answer({"pending": found}, lambda page: _show(page, found, "Nothing waits."))


def approve(run: Run, ids: _IDS) -> Answer:
    """Let what was proposed be known: all of it, or none."""
    with run.memory() as memory:
        found = memory.approve(*ids)
    return Answer({"records": found}, lambda page: _show(page, found, "All of it was approved before."))


def reject(run: Run, ids: _IDS) -> Answer:
    """Let what was proposed not be known: all of it, or none."""
    with run.memory() as memory:
        found = memory.reject(*ids)
    return Answer({"rejected": found}, lambda page: _show(page, found, "All of it was rejected before."))


def _show(page: Page, records: Sequence[AnyRecord], none: str) -> None:
    from bethink.cli.render import one_line, when
    from bethink.context import handle
    from bethink.records import Proposal

    if not records:
        page.say(none)
    for record in records:
        kind = record.proposed.kind if isinstance(record, Proposal) else record.kind
        page.item(one_line(record.text, 200), f"{kind}, {when(record.recorded_at)} · mem:{handle(record.id)}", indent=0)


def changes(run: Run) -> Answer:
    """Show what was stored together, oldest first."""
    with run.memory() as memory:
        found = memory.changes()
    return Answer({"changes": found}, lambda page: _show_changes(page, found))


def _show_changes(page: Page, found: Sequence[Change]) -> None:
    from bethink.cli.render import counted, when

    if not found:
        page.say("Nothing has been drawn or reviewed here.")
    for change in found:
        of = f" {change.thread_id}" if change.thread_id else ""
        page.item(f"{when(change.at)}  {change.what}{of}", f"{counted(len(change.added), 'record')} · {change.id}", indent=0)


def undo(
    run: Run,
    change: Annotated[
        str, typer.Argument(metavar="ID", help="Of a change, or of a record that it stored.", show_default=False)
    ],
) -> Answer:
    """Take one change back: what it stored is retired, what it retired is current again."""
    with run.memory() as memory:
        done = memory.undo(change)
    return Answer(done, lambda page: page.say(f"Change {done.undoes} is undone."))
