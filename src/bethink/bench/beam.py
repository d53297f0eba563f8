"""`bethink bench beam`: how much of the evidence of BEAM's probing questions recall finds.

    bethink bench beam 100K                  a folder of chats
    bethink bench beam 100K/1 100K/2/chat.json --against bm25,dense,rrf

Long chats with an assistant, each with twenty questions of ten kinds; evidence is messages. Summaries and orders of events rest
on up to twenty of them, so their recall at 10 is low by construction. What is measured, and how, is told in `retrieval` and its
modules. The data is not part of bethink: https://github.com/mohammadtavakoli78/BEAM. Parameters were chosen on chats 1 to 3.
"""

from __future__ import annotations

import sys
from collections.abc import Sequence

from bethink.bench.retrieval import command

__all__ = ["main"]


def main(argv: Sequence[str]) -> int:
    """Run the benchmark (see `retrieval.command`)."""
    return command.main("beam", argv)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
