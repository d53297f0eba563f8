"""What a person reads: short paragraphs, lines with a quieter note, and tables, within the width there is.

Remembered text is shown as it is but for control characters, which could drive the terminal, and it is never taken for markup.
Without a terminal, or with NO_COLOR, there is no styling at all.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from datetime import datetime

from rich.console import Console
from rich.table import Table
from rich.text import Text

__all__ = ["Page", "around", "counted", "one_line", "size", "when"]

# C0 and C1 controls and the marks that reorder text: an escape sequence in a message must not reach the terminal.
_CONTROL = re.compile("[\x00-\x1f\x7f-\x9f\u200e\u200f\u202a-\u202e\u2066-\u2069]+")
_LAST_COLUMN = 40


class Page:
    """A place to write for a person: stdout, at its width (80 where there is no terminal)."""

    def __init__(self, console: Console | None = None) -> None:
        self._console = console or Console(highlight=False, markup=False, emoji=False)

    def blank(self) -> None:
        self._console.print()

    def say(self, text: str, *, indent: int = 0, style: str = "") -> None:
        """A paragraph, wrapped at words."""
        for line in Text(_clean(text), style=style).wrap(self._console, max(20, self._console.width - indent)):
            line.rstrip()
            self._console.print(Text(" " * indent) + line)

    def heading(self, text: str) -> None:
        self.say(text, style="bold")

    def note(self, text: str, *, indent: int = 0) -> None:
        """A paragraph that stands back."""
        self.say(text, indent=indent, style="dim")

    def exact(self, text: str) -> None:
        """A line for copying: never wrapped."""
        self._console.print(Text(text), soft_wrap=True)

    def item(self, text: str, note: str = "", *, indent: int = 2) -> None:
        """A line of a list, and below it why it is there."""
        self.say(text, indent=indent)
        if note:
            self.note(note, indent=indent + 2)

    def table(self, columns: Sequence[str], rows: Iterable[Sequence[object]]) -> None:
        """Columns of text under small headings; a name that begins with ">" is set flush right. The last column wraps."""
        table = Table(box=None, pad_edge=False, padding=(0, 2, 0, 0), header_style="dim")
        for position, column in enumerate(columns):
            last = position == len(columns) - 1
            table.add_column(
                column.lstrip(">"),
                justify="right" if column.startswith(">") else "left",
                overflow="fold",
                min_width=min(_LAST_COLUMN, self._console.width // 3) if last and len(columns) > 2 else None,
            )
        for row in rows:
            table.add_row(*(Text(one_line(str(cell))) for cell in row))
        self._print_table(table)

    def pairs(self, rows: Iterable[tuple[str, object]]) -> None:
        """Names and values, one below the other."""
        table = Table.grid(padding=(0, 2, 0, 0))
        for name, value in rows:
            table.add_row(Text(name, style="dim"), Text(_clean(str(value))))
        self._print_table(table)

    def _print_table(self, table: Table) -> None:
        """Without the blanks that fill up each line: they would be copied along."""
        with self._console.capture() as drawn:
            self._console.print(table)
        for line in drawn.get().splitlines():
            self._console.out(line.rstrip(), highlight=False)


def one_line(text: str, limit: int | None = None) -> str:
    """A text on one line, without control characters, cut at `limit` characters."""
    line = " ".join(_clean(text).split())
    return line if limit is None or len(line) <= limit else line[: limit - 1].rstrip() + "…"


def around(text: str, words: str, limit: int) -> str:
    """At most `limit` characters of a text, on one line: about the longest of `words` that it says."""
    line = one_line(text)
    if len(line) <= limit:
        return line
    folded = line.casefold()
    places = (folded.find(word) for word in sorted(words.casefold().split(), key=len, reverse=True))
    place = next((at for at in places if at >= 0), 0)
    start = max(0, min(place - limit // 2, len(line) - limit + 1))
    # From the next word on, unless that is the one looked for.
    start = min(line.find(" ", start) + 1, place) if start else 0
    return one_line(f"…{line[start:]}" if start else line, limit)


def _clean(text: str) -> str:
    return "\n".join(_CONTROL.sub(" ", line) for line in text.splitlines())


def when(at: datetime | None) -> str:
    """`2026-03-02 18:20`, in UTC."""
    return "-" if at is None else at.strftime("%Y-%m-%d %H:%M")


def counted(number: int, noun: str, plural: str = "") -> str:
    """`1 message`, `1,240 messages`."""
    return f"{number:,} {noun if number == 1 else plural or noun + 's'}"


def size(of_bytes: int) -> str:
    """A size for a person: `96 kB`, `1.2 MB`."""
    if of_bytes < 1_000_000:
        return f"{of_bytes / 1_000:.0f} kB"
    return f"{of_bytes / 1_000_000:.1f} MB"
