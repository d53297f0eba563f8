"""`demo`: the tour."""

from __future__ import annotations

import tempfile
from pathlib import Path
from typing import Annotated

import typer

from bethink.cli.options import examples, print_answer
from bethink.errors import InvalidInput

__all__ = ["register"]

_KEPT = Path("demo.db")


def register(app: typer.Typer) -> None:
    app.command("demo", epilog=examples("bethink demo", "bethink demo --keep", "bethink demo --db tour.db --json"))(demo)


def demo(
    db: Annotated[Path | None, typer.Option(help="Where to keep the database of the tour.", show_default=False)] = None,
    keep: Annotated[bool, typer.Option("--keep", help="Keep it, as demo.db if no --db is given.")] = False,
    as_json: Annotated[bool, typer.Option("--json", help="Print one JSON document.")] = False,
) -> None:
    """Show what bethink does, in under a minute.

    Seven sessions of two people are imported; everything shown is computed here and now, on a database of its own.
    Without --keep or --db it is removed at the end.
    """
    path = db or (_KEPT if keep else None)
    if path is None:
        with tempfile.TemporaryDirectory(prefix="bethink-demo-", ignore_cleanup_errors=True) as folder:
            _tour(Path(folder, "demo.db"), kept=False, as_json=as_json)
        return
    if path.exists():
        raise InvalidInput(
            "db", "a file that is there already", "remove it first, or name another: the tour starts from nothing"
        )
    _tour(path, kept=True, as_json=as_json)


def _tour(path: Path, *, kept: bool, as_json: bool) -> None:
    from bethink.cli.demo import tour
    from bethink.cli.options import Answer
    from bethink.cli.render import Page

    facts = tour(path, kept=kept, page=None if as_json else Page())
    if as_json:
        print_answer(Answer(facts, lambda _page: None), as_json=True)
