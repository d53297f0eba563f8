"""`queries.sql` by name: `q.find_thread` is the statement under `-- name: find_thread`."""

from __future__ import annotations

import re
from importlib.resources import files

__all__ = ["Queries", "q", "statements"]

_HEADER = re.compile(r"^-- name: (\w+)\n", re.MULTILINE)


class Queries:
    """The statements of a file, each an attribute."""

    def __init__(self, text: str) -> None:
        _, *parts = _HEADER.split(text)
        bodies = dict(zip(parts[::2], parts[1::2], strict=True))
        self._statements = {name: _bare(body) for name, body in bodies.items()}
        self._about = {name: body.splitlines()[0].removeprefix("-- ") for name, body in bodies.items()}
        # As real attributes, so that using one costs no more than any other name.
        self.__dict__.update(self._statements)

    def __getattr__(self, name: str) -> str:
        raise AttributeError(f"queries.sql has no statement named {name!r}")

    @property
    def names(self) -> tuple[str, ...]:
        return tuple(self._statements)

    def about(self, name: str) -> str:
        """The first line under a statement's name."""
        return self._about[name]


def _bare(body: str) -> str:
    """The statement without comments and line breaks: it is looked up by its text at every call."""
    return " ".join(line.split("--")[0].strip() for line in body.splitlines()).strip().rstrip(";")


def statements(name: str) -> str:
    """The text of an SQL file of this package."""
    return files("bethink.storage.sqlite").joinpath(name).read_text(encoding="utf-8")


q = Queries(statements("queries.sql"))
