"""Proof of absence: look for pieces of a text in every byte of the files.

text ─▶ needles: pieces of it, in each form in which it may be stored ─▶ filescan ─▶ minus what live rows still say
"""

from __future__ import annotations

import base64
import json
import subprocess
import sys
from collections.abc import Iterable, Iterator
from pathlib import Path

import msgspec

from bethink.errors import StoreError
from bethink.storage.base import Verification
from bethink.storage.sqlite import filescan
from bethink.storage.sqlite.driver import Database
from bethink.storage.sqlite.queries import q

__all__ = ["needles_of", "verify"]

PIECE = 32
"""Bytes of a piece. A remnant of a row is whole or cut at one end, so several pieces are looked for, not only the first."""

PIECES = 16
SHORTEST = 4
"""A shorter text says nothing about where it came from: three letters are in any file."""
SHORTEST_TERM = 8
"""Single words are looked for from this length on: the full-text index holds words, not texts."""


def needles_of(text: str) -> tuple[bytes, ...]:
    """What to look for to find a text or a part of it: in UTF-8, as JSON escapes it, and as index terms; each once."""
    # Here and not above: it brings the stemmer.
    from bethink.retrieval.terms import index_terms

    terms = index_terms(text)
    words = [term.encode() for term in terms.split(" ") if len(term.encode()) >= SHORTEST_TERM]
    return tuple(dict.fromkeys([piece for form in (*_forms(text), terms.encode()) for piece in _pieces(form)] + words))


def _forms(text: str) -> tuple[bytes, bytes]:
    return text.encode(), msgspec.json.encode(text)[1:-1]


def _pieces(form: bytes) -> Iterator[bytes]:
    if len(form) < SHORTEST:
        return
    if len(form) <= PIECE:
        yield form
        return
    step = max(PIECE // 2, (len(form) - PIECE) // PIECES)
    for start in (*range(0, len(form) - PIECE, step), len(form) - PIECE):
        yield form[start : start + PIECE]


def verify(database: Database, path: str, texts: Iterable[str]) -> Verification:
    """Scan the database's files.

    A piece that a live row holds as well is no hit, for it may be that row's; but where a live row holds a text whole, the text
    is there, and all of its pieces count.
    """
    of_text = {text: needles_of(text) for text in texts}
    needles = tuple(dict.fromkeys(needle for found in of_text.values() for needle in found))
    found = _scan(needles, [f"{path}{suffix}" for suffix in ("", "-wal", "-shm", "-journal")])
    suspects = {needles[index] for _, _, hits in found for index, _ in hits}
    there = {
        needle
        for text, pieces in of_text.items()
        if suspects.intersection(pieces) and any(_is_live(database, form) for form in _forms(text) if form)
        for needle in pieces
    }
    excused = {needle for needle in suspects - there if _is_live(database, needle)}
    return Verification(
        needles=len(needles),
        files=tuple((Path(name).name, size) for name, size, _ in found),
        hits=tuple(
            (Path(name).name, offset, needles[index].decode("utf-8", "replace"))
            for name, _, hits in found
            for index, offset in hits
            if needles[index] not in excused
        ),
    )


def _scan(needles: tuple[bytes, ...], paths: list[str]) -> list[tuple[str, int, list[tuple[int, int]]]]:
    encoded = [base64.b64encode(needle).decode() for needle in needles]
    request = f"{json.dumps(encoded)}\n{json.dumps(paths)}\n"
    command = [sys.executable, "-I", "-S", filescan.__file__]
    done = subprocess.run(command, input=request.encode(), capture_output=True, check=False)  # noqa: S603 - our own program
    if done.returncode:
        raise StoreError("the files could not be read to be verified — see that this process may read them")
    found: list[tuple[str, int, list[tuple[int, int]]]] = msgspec.json.decode(
        done.stdout, type=list[tuple[str, int, list[tuple[int, int]]]]
    )
    return found


def _is_live(database: Database, needle: bytes) -> bool:
    return bool(database.execute(q.live_bytes, (needle,)))
