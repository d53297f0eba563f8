"""`import`, `export`: conversations in, everything out."""

from __future__ import annotations

import os
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal

import msgspec
import typer

from bethink.cli.failures import Interrupted
from bethink.cli.options import Answer, Run, verb
from bethink.cli.progress import progress
from bethink.errors import InvalidInput

if TYPE_CHECKING:
    from bethink.cli.render import Page
    from bethink.memory import Memory
    from bethink.steps.import_file import ImportReport

__all__ = ["register"]

_Format = Literal["openai", "responses", "chatgpt", "claude", "langchain", "locomo", "jsonl"]
_OnError = Literal["stop", "skip"]
_SHOWN_ERRORS = 10


def register(app: typer.Typer) -> None:
    verb(
        app,
        "import",
        "bethink import chat.json --user mara --end",
        "bethink import conversations.json --format chatgpt --on-error skip",
        "bethink import backup.jsonl --db restored.db",
    )(import_)
    verb(app, "export", "bethink export > backup.jsonl", "bethink export mara.jsonl --user mara")(export)


def import_(
    run: Run,
    file: Annotated[
        Path, typer.Argument(metavar="FILE", help="JSON or JSON Lines.", exists=True, dir_okay=False, show_default=False)
    ],
    format: Annotated[  # noqa: A002 - the word of the Python API
        _Format | None, typer.Option(help="What the file is; found out if left out.", show_default=False)
    ] = None,
    on_error: Annotated[_OnError, typer.Option(help="At an item that cannot be taken.")] = "stop",
    end: Annotated[bool, typer.Option("--end", help="End each conversation: summary and profile.")] = False,
) -> Answer:
    """Import conversations; doing it again adds only what is missing.

    The database is made if need be. After Ctrl-C or an error what came before is stored, whole.
    """
    stored = 0
    with run.memory(create=True) as memory, progress("importing") as advance:

        def count(messages: int) -> None:
            nonlocal stored
            stored += messages
            advance(messages)

        try:
            report = memory.import_file(file, format=format, on_error=on_error, end=end, progress=count)
        except KeyboardInterrupt:
            raise Interrupted(
                f"interrupted: {stored:,} messages are stored, nothing half — run it again to go on from there"
            ) from None
    return Answer(_facts_of(report), lambda page: _show_report(page, report))


def _facts_of(report: ImportReport) -> dict[str, object]:
    errors = [{"where": error.field, "problem": error.problem, "fix": error.fix} for error in report.errors]
    return {**msgspec.structs.asdict(report), "errors": errors}


def _show_report(page: Page, report: ImportReport) -> None:
    from bethink.cli.render import counted

    held = f"{counted(report.messages, 'message')} in {counted(report.conversations, 'conversation')}"
    page.say(f"{held}, format {report.format}; {report.added:,} of them new.")
    if report.records:
        page.say(f"{counted(report.records, 'record')} restored.")
    if report.checkpoints:
        page.say(f"{counted(report.checkpoints, 'checkpoint')} restored.")
    if report.ended:
        page.say(f"{counted(report.ended, 'session')} ended.")
    if report.errors:
        page.say(f"{counted(len(report.errors), 'item')} left out:")
    for error in report.errors[:_SHOWN_ERRORS]:
        page.note(str(error), indent=2)
    if len(report.errors) > _SHOWN_ERRORS:
        page.note(f"and {len(report.errors) - _SHOWN_ERRORS:,} more; --json lists all", indent=2)


def export(
    run: Run,
    file: Annotated[Path | None, typer.Argument(metavar="[FILE]", help="Where to; stdout if left out.", dir_okay=False)] = None,
    overwrite: Annotated[bool, typer.Option("--overwrite", help="Replace the file if it is there.")] = False,
) -> Answer:
    """Write everything as JSON Lines, which `import` reads back."""
    if file is not None and file.exists() and not overwrite:
        raise InvalidInput("file", "there already", "choose another name, or add --overwrite")
    with run.memory() as memory:
        if file is not None:
            lines = _write(memory, file)
            return Answer({"file": os.fspath(file), "lines": lines}, lambda page: page.say(f"{lines:,} lines in {file}"))
        if run.as_json:
            return Answer({"lines": [msgspec.Raw(line) for line in memory.export()]}, _show_nothing)
        for line in memory.export():
            typer.echo(line, nl=False)
    return Answer({}, _show_nothing)


def _write(memory: Memory, file: Path) -> int:
    """Write beside the file first: one that is there is replaced by a whole one or not at all."""
    beside = file.with_name(f"{file.name}.part")
    try:
        with beside.open("wb") as out:
            lines = sum(bool(out.write(line)) for line in memory.export())
        beside.replace(file)
    finally:
        beside.unlink(missing_ok=True)
    return lines


def _show_nothing(_page: Page) -> None:
    """The lines are written already."""
