"""`bench NAME` for each benchmark: a module of `bethink.bench` with `main(argv)`.

What follows the name goes to the benchmark as it is.
"""

from __future__ import annotations

import importlib
from typing import Annotated

import typer

from bethink.cli.options import examples

__all__ = ["app"]

app = typer.Typer(help="Measure bethink on this machine.", no_args_is_help=False, rich_markup_mode=None)

_PASS_ON = {"ignore_unknown_options": True}
_Rest = Annotated[list[str] | None, typer.Argument(metavar="[OPTIONS]...", help="For the benchmark; `-- --help` lists them.")]


@app.callback(invoke_without_command=True, epilog=examples("bethink bench append", "bethink bench context -- --help"))
def _bench(ctx: typer.Context) -> None:
    if ctx.invoked_subcommand is None:
        typer.echo(ctx.get_help())


@app.command(context_settings=_PASS_ON, epilog=examples("bethink bench append", "bethink bench append -- --help"))
def append(options: _Rest = None) -> None:
    """Durable appends a second, beside other stores, in one run."""
    _run("append", options)


@app.command(context_settings=_PASS_ON, epilog=examples("bethink bench context", "bethink bench context -- --help"))
def context(options: _Rest = None) -> None:
    """Time to build the context of a long, compacted thread."""
    _run("context", options)


@app.command(
    context_settings=_PASS_ON,
    epilog=examples("bethink bench dense", "bethink bench dense --records 100000 --in 1000000 --json"),
)
def dense(options: _Rest = None) -> None:
    """Search by meaning in a large file: time, recall, memory."""
    _run("dense", options)


@app.command(
    context_settings=_PASS_ON,
    epilog=examples("bethink bench lexical", "bethink bench lexical --records 100000 --in 1000000 --json"),
)
def lexical(options: _Rest = None) -> None:
    """Search by words in a large file: time of a recall, and of adding."""
    _run("lexical", options)


@app.command("open", context_settings=_PASS_ON, epilog=examples("bethink bench open", "bethink bench open -- --help"))
def opening(options: _Rest = None) -> None:
    """Time to the first answer of a new process."""
    _run("open", options)


@app.command(
    context_settings=_PASS_ON,
    epilog=examples("bethink bench growth --plot growth.svg", "bethink bench growth data/longmemeval_s.json"),
)
def growth(options: _Rest = None) -> None:
    """Tokens of each turn as a conversation grows, and time of its appends."""
    _run("growth", options)


@app.command(
    context_settings=_PASS_ON,
    epilog=examples("bethink bench year", "bethink bench year --sessions 3000 --insights 3 --json"),
)
def year(options: _Rest = None) -> None:
    """Time to end a session, as the sessions of a user add up."""
    _run("year", options)


@app.command(
    context_settings=_PASS_ON,
    epilog=examples("bethink bench facts data/locomo10.json", "bethink bench facts data/*.json --json"),
)
def facts(
    paths: Annotated[
        list[str], typer.Argument(metavar="PATH...", help="LoCoMo, LongMemEval, BEAM, or exports.", show_default=False)
    ],
) -> None:
    """Numbers, dates and names that survive folding, with no model."""
    _run("facts", paths)


@app.command(
    context_settings=_PASS_ON,
    epilog=examples("bethink bench insights data/locomo10.json", "bethink bench insights data/locomo10.json --json"),
)
def insights(
    path: Annotated[str, typer.Argument(metavar="PATH", help="The LoCoMo data.", show_default=False)],
    options: _Rest = None,
) -> None:
    """What is known of people after months of talk, with no model."""
    _run("insights", [path, *(options or ())])


@app.command(
    context_settings=_PASS_ON,
    epilog=examples(
        "bethink bench locomo data/locomo10.json",
        "bethink bench locomo data/locomo10.json --against bm25,dense,rrf",
        "bethink bench locomo data/locomo10.json -- --help",
    ),
)
def locomo(
    path: Annotated[str, typer.Argument(metavar="PATH", help="The LoCoMo data.", show_default=False)],
    options: _Rest = None,
) -> None:
    """Share of LoCoMo's evidence that is recalled, beside other retrievers."""
    _run("locomo", [path, *(options or ())])


@app.command(
    context_settings=_PASS_ON,
    epilog=examples(
        "bethink bench longmemeval data/longmemeval_s.json",
        "bethink bench longmemeval data/longmemeval_s.json --embedder none --json",
    ),
)
def longmemeval(
    path: Annotated[str, typer.Argument(metavar="PATH", help="The LongMemEval data.", show_default=False)],
    options: _Rest = None,
) -> None:
    """Share of LongMemEval's evidence that is recalled, beside other retrievers."""
    _run("longmemeval", [path, *(options or ())])


@app.command(
    context_settings=_PASS_ON,
    epilog=examples("bethink bench beam data/100K", "bethink bench beam data/100K/1 data/100K/2 --against bm25,dense"),
)
def beam(
    paths: Annotated[
        list[str], typer.Argument(metavar="PATH...", help="Chats of BEAM, or folders of them.", show_default=False)
    ],
) -> None:
    """Share of BEAM's evidence that is recalled, beside other retrievers."""
    _run("beam", paths)


@app.command(
    context_settings=_PASS_ON,
    epilog=examples("bethink bench injection", "bethink bench injection --each --json"),
)
def injection(options: _Rest = None) -> None:
    """Attempts to take over a memory that succeed, with its defences and without."""
    _run("injection", options)


@app.command(
    context_settings=_PASS_ON,
    epilog=examples("bethink bench tokens", "bethink bench tokens data/locomo10.json docs"),
)
def tokens(options: _Rest = None) -> None:
    """How close the built-in token counter comes to real vocabularies."""
    _run("tokens", options)


def _run(name: str, argv: list[str] | None) -> None:
    code = importlib.import_module(f"bethink.bench.{name}").main(list(argv or ()))
    if code:
        raise typer.Exit(code)
