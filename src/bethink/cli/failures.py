"""What a failure looks like: one clear line, or with --json one object, on stderr; never a traceback.

0    done
1    found something wrong (`verify` has hits, `check` has problems), or any other failure
2    bad input: arguments, messages, an import file, a budget
3    not found, or forgotten
4    conflict: somebody wrote first
5    the database: busy, damaged, of a newer version, of another embedder
130  interrupted (Ctrl-C)
"""

from __future__ import annotations

import os
import sys
import traceback
from typing import cast

import msgspec
import typer

from bethink.errors import BethinkError, BudgetError, Conflict, InvalidInput, NotFound, StoreError

__all__ = ["Interrupted", "UsageError", "report"]

# typer carries its own copy of click's errors in newer releases and click's in older ones: this is whichever it is.
UsageError = cast("type[Exception]", typer.BadParameter.__mro__[1])

_CODES: tuple[tuple[type[Exception], int], ...] = (
    (InvalidInput, 2),
    (BudgetError, 2),
    (UsageError, 2),
    (NotFound, 3),
    (Conflict, 4),
    (StoreError, 5),
)
_INTERRUPTED = 130


class Interrupted(Exception):
    """Ctrl-C, with what is stored so far."""


def report(error: BaseException, *, as_json: bool) -> int:
    """Print a failure on stderr; returns the exit code that goes with it."""
    message, code = _message(error), _code(error)
    if as_json:
        found = {"type": type(error).__name__, "message": message, "field": getattr(error, "field", None)}
        typer.echo(msgspec.json.encode({"error": found}), err=True)
    else:
        typer.echo(f"bethink: {message}", err=True)
    return code


def _code(error: BaseException) -> int:
    if isinstance(error, (Interrupted, KeyboardInterrupt)):
        return _INTERRUPTED
    return next((code for kind, code in _CODES if isinstance(error, kind)), 1)


def _message(error: BaseException) -> str:
    if isinstance(error, (BethinkError, Interrupted)):
        return str(error)
    if isinstance(error, KeyboardInterrupt):
        return "interrupted"
    if isinstance(error, typer.Abort):
        return "stopped, nothing was done"
    if isinstance(error, UsageError):
        return _usage(error)
    if isinstance(error, OSError):
        where = os.fsdecode(error.filename) if isinstance(error.filename, (str, bytes)) else "file"
        return f"{where}: {(error.strerror or type(error).__name__).lower()}"
    return _fault(error)


def _usage(error: BaseException) -> str:
    message = str(error.format_message()).rstrip(".")  # type: ignore[attr-defined]
    # The parser repeats the words it could not place, and those may be a memory.
    if "unexpected extra argument" in message:
        message = 'too many arguments: put a text of several words in "quotes"'
    context = getattr(error, "ctx", None)
    path = "bethink" if context is None else context.command_path
    return f"{message} — see {path} --help"


def _fault(error: BaseException) -> str:
    """A fault of ours: where it is, without the words it may hold."""
    frames = traceback.extract_tb(error.__traceback__)
    where = f" at {os.path.basename(frames[-1].filename)}:{frames[-1].lineno}" if frames else ""  # noqa: PTH119
    if os.environ.get("BETHINK_TRACEBACK"):
        traceback.print_exception(error, file=sys.stderr)
    return (
        f"a fault in bethink itself ({type(error).__name__}{where}) — please report it; "
        "BETHINK_TRACEBACK=1 shows the whole, which may hold your words"
    )
