"""The command line: parse, call `Memory`, print. It holds no logic of its own.

    app.py        the program: its commands, its version, what a failure looks like
    options.py    what every command takes (--db, --namespace, --user, --json), and `verb`, which makes one
    failures.py   errors as one line or as JSON, and the exit codes
    render.py     plain text and tables that fit 80 columns
    commands/     one small file per family of verbs
    demo.py       the tour behind `bethink demo`

Nothing heavy is imported before a command runs, so that `bethink --help` answers at once.
"""

from __future__ import annotations

import io
import sys

__all__ = ["main"]


def main() -> None:
    """Run the command line on `sys.argv` and exit with its code."""
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(errors="replace")  # a terminal that has no sign for a letter shows a ? in its place
    from bethink.cli.app import app

    app(prog_name="bethink")
