"""`checkpoints`: the saved states of a thread, and pruning them."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

import typer

from bethink.cli.commands.threads import ThreadArgument
from bethink.cli.options import Answer, Run, verb

if TYPE_CHECKING:
    from bethink.checkpoints import CheckpointInfo
    from bethink.cli.render import Page

__all__ = ["register"]


def register(app: typer.Typer) -> None:
    verb(
        app,
        "checkpoints",
        "bethink checkpoints trip --user mara",
        "bethink checkpoints trip --user mara --keep 5",
    )(checkpoints)


def checkpoints(
    run: Run,
    thread: ThreadArgument,
    limit: Annotated[
        int | None, typer.Option("--limit", "-n", min=0, help="The newest so many; all if left out.", show_default=False)
    ] = None,
    keep: Annotated[
        int | None, typer.Option("--keep", min=0, help="First remove all but the newest so many.", show_default=False)
    ] = None,
) -> Answer:
    """List the saved states of a thread, newest first."""
    with run.memory() as memory:
        conversation = memory.thread(thread)
        # A thread that is not there is an error, one without checkpoints is not.
        conversation.info()
        removed = [] if keep is None else conversation.prune(keep=keep)
        found = conversation.checkpoints(limit)
    return Answer(
        {"thread_id": thread, "checkpoints": found, "removed": removed}, lambda page: _show(page, thread, found, len(removed))
    )


def _show(page: Page, thread: str, found: list[CheckpointInfo], removed: int) -> None:
    from bethink.cli.render import counted, one_line, when

    if removed:
        page.note(f"{counted(removed, 'checkpoint')} removed.")
    if not found:
        page.say(f"Thread {thread} has no checkpoints.")
        return
    for each in found:
        damaged = ", damaged" if each.damaged else ""
        page.item(
            one_line(f"{each.id} {each.label}"),
            f"at message {each.seq}, {when(each.created_at)}, {each.format}, {counted(each.size, 'byte')}{damaged}",
            indent=0,
        )
