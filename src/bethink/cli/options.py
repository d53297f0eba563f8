"""What every command takes, and how a function becomes a command.

A command is a function from a `Run` (which database, whose memory) and its own arguments to an `Answer`: the facts, and how
to show them to a person. `verb` adds the shared options to its signature, prints the answer in the form asked for, and sets
the exit code. So every command has the same options, and its --json holds what its text says.
"""

from __future__ import annotations

import inspect
import json
import os
import re
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, TypeVar

import msgspec
import typer

from bethink.cli.template import template_of_environment
from bethink.errors import InvalidInput, InvalidNamespace, NotFound
from bethink.values import Namespace, check_namespace

if TYPE_CHECKING:
    from bethink.cli.render import Page
    from bethink.memory import Memory
    from bethink.storage.base import Store

__all__ = ["Answer", "Run", "examples", "parse_namespace", "print_answer", "verb"]

_ADDRESS = re.compile(r"[A-Za-z][A-Za-z0-9+.\-]+:/")
"""Of a server, as a path writes it: with one slash of two. (A single letter is a drive.)"""

_Function = TypeVar("_Function", bound=Callable[..., "Answer"])


class Answer(msgspec.Struct, frozen=True):
    """What a command found.

    Attributes:
        facts: for --json: structs, dicts, lists and plain values.
        show: writes them on a page for a person.
        code: the exit code; 1 where the finding is a bad one.
    """

    facts: Any
    show: Callable[[Page], None]
    code: int = 0


class Run(msgspec.Struct, frozen=True, kw_only=True):
    """One call of the command line."""

    db: Path
    namespace: Namespace
    as_json: bool = False
    embedder: str = "auto"

    @contextmanager
    def memory(self, *, create: bool = False, language_model: str | None = None) -> Iterator[Memory]:
        """The memory asked for; closed afterwards. A language model is only asked when somebody says so.

        Raises:
            NotFound: there is no such file, and the command is not one that makes it (`create`).
        """
        with self.database(create=create, language_model=language_model) as (memory, _):
            yield memory

    @contextmanager
    def database(self, *, create: bool = False, language_model: str | None = None) -> Iterator[tuple[Memory, Store]]:
        """The memory asked for, and the store beneath it for looking things up by id."""
        if str(self.db) == ":memory:" or self.db.is_dir():
            raise InvalidInput("db", "not a file", "give the path of a SQLite file, such as --db agent.db")
        if _ADDRESS.match(str(self.db)):
            # Not shown: it may hold a password.
            raise InvalidInput("db", "an address", "give the path of a SQLite file, such as --db agent.db")
        if not create and not self.db.exists():
            raise NotFound(
                f"no database at {self.db} — make one with `bethink import FILE`, or look around with `bethink demo`"
            )
        from bethink.memory import Memory
        from bethink.models.named import embedder_named
        from bethink.settings import Settings
        from bethink.storage.sqlite import SqliteStore

        embedder = embedder_named(self.embedder)
        store = SqliteStore(os.fspath(self.db))
        # Whoever reviews must not have the command line draw past him.
        review = os.environ.get("BETHINK_REVIEW", "") not in ("", "0")
        settings = Settings(refine="manual", review=review)
        # Nor without the template by which the memory is kept elsewhere.
        with Memory(
            store=store,
            namespace=self.namespace,
            embedder=embedder,
            language_model=language_model,
            settings=settings,
            profile=template_of_environment(),
        ) as memory:
            yield memory, store


def parse_namespace(text: str, user: str | None = None) -> Namespace:
    """`acme/mara` as `("acme", "mara")`; a JSON list for segments that hold a slash; `user` is one segment more.

    Raises:
        InvalidNamespace: an empty segment, or a list that is none.
    """
    segments: Any = text.split("/")
    if text.startswith("["):
        try:
            segments = json.loads(text)
        except ValueError:
            raise InvalidNamespace("namespace", "not a JSON list", """write it as '["acme", "a/b"]'""") from None
    return check_namespace(segments if user is None else [*segments, user])


def examples(*lines: str) -> str:
    """The end of a help text. The mark in front keeps the lines as they are."""
    return "\b\nExamples:\n" + "\n".join(f"  {line}" for line in lines)


def print_answer(answer: Answer, *, as_json: bool) -> None:
    """Write an answer on stdout: one JSON document, or text."""
    if as_json:
        typer.echo(msgspec.json.encode(answer.facts))
        return
    from bethink.cli.render import Page

    answer.show(Page())


def verb(app: typer.Typer, name: str, *shown: str) -> Callable[[_Function], _Function]:
    """Make a function the command `name` of `app`, with the shared options; `shown` are examples for its help."""

    def register(function: _Function) -> _Function:
        own = list(inspect.signature(function, eval_str=True).parameters.values())[1:]
        parameters = [*own, *_SHARED]

        def command(**given: Any) -> None:
            db, namespace, user, embedder, as_json = (given.pop(parameter.name) for parameter in _SHARED)
            run = Run(db=db, namespace=parse_namespace(namespace, user), as_json=as_json, embedder=embedder)
            answer = function(run, **given)
            print_answer(answer, as_json=as_json)
            if answer.code:
                raise typer.Exit(answer.code)

        command.__doc__ = function.__doc__
        command.__annotations__ = {parameter.name: parameter.annotation for parameter in parameters}
        command.__signature__ = inspect.Signature(parameters)  # type: ignore[attr-defined]
        app.command(name, epilog=examples(*shown))(command)
        return function

    return register


def _option(name: str, kind: Any, default: object) -> inspect.Parameter:
    return inspect.Parameter(name, inspect.Parameter.KEYWORD_ONLY, default=default, annotation=kind)


_SHARED: Sequence[inspect.Parameter] = (
    _option("db", Annotated[Path, typer.Option(envvar="BETHINK_DB", help="The database file.")], Path("bethink.db")),
    _option(
        "namespace", Annotated[str, typer.Option(help="Whose memory: segments between slashes, or a JSON list.")], "default"
    ),
    _option("user", Annotated[str | None, typer.Option(help="One more segment of the namespace.")], None),
    _option(
        "embedder",
        Annotated[
            str,
            typer.Option(
                envvar="BETHINK_EMBEDDER", help="auto, none, minilm, multilingual, openai:MODEL ...: see docs/embedders.md."
            ),
        ],
        "auto",
    ),
    _option("as_json", Annotated[bool, typer.Option("--json", help="Print one JSON document.")], False),
)
