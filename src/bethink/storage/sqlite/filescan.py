"""Find byte strings in files: run as a program of its own by `verify`.

Reads lines of JSON from standard input: first the needles (base64), then the files. Writes `[file, size, [[needle, offset]]]`
for each. It is a process of its own because closing a file drops every POSIX lock that the process holds on it, SQLite's
included; and it takes the needles from standard input because a command line can be seen by others.

It uses the standard library alone, so that it starts in a few milliseconds.
"""

import base64
import json
import sys
from pathlib import Path

_CHUNK = 1 << 24


def find(path: str, needles: list[bytes]) -> tuple[int, list[tuple[int, int]]]:
    """The size of the file, and for each needle (by its index) that occurs in it, where it does first."""
    hits: dict[int, int] = {}
    overlap = max(map(len, needles), default=1) - 1
    size = 0
    with Path(path).open("rb") as file:
        tail = b""
        while chunk := file.read(_CHUNK):
            window = tail + chunk
            start = size - len(tail)
            for index, needle in enumerate(needles):
                if index not in hits and (at := window.find(needle)) >= 0:
                    hits[index] = start + at
            size += len(chunk)
            tail = window[-overlap:] if overlap else b""
    return size, sorted(hits.items())


def main() -> None:
    needles = [base64.b64decode(text) for text in json.loads(sys.stdin.readline())]
    found = [(path, *find(path, needles)) for path in json.loads(sys.stdin.readline()) if Path(path).exists()]
    json.dump(found, sys.stdout)


if __name__ == "__main__":
    main()
