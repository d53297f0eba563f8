"""The program `bethink`: its commands in the order of its help, its version, and one way to fail."""

from __future__ import annotations

import sys
from importlib.metadata import version
from typing import Annotated, Any

import typer
from typer.core import TyperGroup

from bethink.cli.commands import (
    bench,
    board,
    checkpoints,
    context,
    database,
    demo,
    episodes,
    forgetting,
    items,
    keeping,
    past,
    profile,
    recall,
    redacting,
    review,
    state,
    summaries,
    templates,
    threads,
    transfer,
    usage,
)
from bethink.cli.failures import Interrupted, UsageError, report
from bethink.cli.options import examples
from bethink.errors import BethinkError

__all__ = ["app"]


class _Program(TyperGroup):
    """The group of all commands. What a command raises ends here, as a message and an exit code."""

    def main(self, *args: Any, **kwargs: Any) -> Any:
        given = kwargs.get("args") or (args[0] if args else None)
        words = list(sys.argv[1:] if given is None else given)
        as_json = "--json" in (words[: words.index("--")] if "--" in words else words)
        kwargs["standalone_mode"] = False
        try:
            code = super().main(*args, **kwargs)
        except (BethinkError, Interrupted, KeyboardInterrupt, OSError, UsageError, typer.Abort) as error:
            code = report(error, as_json=as_json)
        except Exception as error:  # the last line of defence: a memory's words must not end up in a traceback
            code = report(error, as_json=as_json)
        sys.exit(code if isinstance(code, int) else 0)


app = typer.Typer(
    cls=_Program,
    name="bethink",
    add_completion=False,
    rich_markup_mode=None,
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"]},
    epilog=examples(
        "bethink demo                                   # the tour, in a minute",
        "bethink import chat.json --user mara --end",
        'bethink recall "where does she live" --user mara',
    ),
)


def _show_version(asked: bool) -> None:
    if asked:
        typer.echo(f"bethink {version('bethink')}")
        raise typer.Exit


@app.callback(invoke_without_command=True)
def _bethink(
    ctx: typer.Context,
    _version: Annotated[
        bool, typer.Option("--version", callback=_show_version, is_eager=True, help="Print the version.")
    ] = False,
) -> None:
    """Memory for AI agents, in one SQLite file.

    Every command takes --db (or BETHINK_DB), --namespace, --user and --json. Times are UTC.

    Exit codes: 2 bad input, 3 not found, 4 conflict, 5 database, 1 anything else that is wrong.
    """
    if ctx.invoked_subcommand is None:
        typer.echo(ctx.get_help())


demo.register(app)
transfer.register(app)
threads.register(app)
checkpoints.register(app)
state.register(app)
summaries.register(app)
context.register(app)
recall.register(app)
profile.register(app)
templates.register(app)
keeping.register(app)
past.register(app)
review.register(app)
episodes.register(app)
forgetting.register(app)
redacting.register(app)
usage.register(app)
database.register(app)
app.add_typer(items.app, name="items")
app.add_typer(board.app, name="board")
app.add_typer(bench.app, name="bench")
