"""`bethink bench longmemeval`: how much of the evidence of LongMemEval's questions recall finds.

    bethink bench longmemeval longmemeval_s.json
    bethink bench longmemeval longmemeval_s.json --against bm25,dense --cache vectors.db

Each question has a haystack of sessions with an assistant; evidence is sessions, and turns where the file marks them. Haystacks
share most of their sessions, so a cache spares most of the embedding. What is measured, and how, is told in `retrieval` and its
modules. The data is not part of bethink: https://github.com/xiaowu0162/LongMemEval.
"""

from __future__ import annotations

import sys
from collections.abc import Sequence

from bethink.bench.retrieval import command

__all__ = ["main"]


def main(argv: Sequence[str]) -> int:
    """Run the benchmark (see `retrieval.command`)."""
    return command.main("longmemeval", argv)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
