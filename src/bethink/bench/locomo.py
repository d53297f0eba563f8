"""`bethink bench locomo`: how much of the evidence of LoCoMo's questions recall finds, and whether it keeps quiet without an
answer.

    bethink bench locomo locomo10.json
    bethink bench locomo locomo10.json --against bm25,dense,rrf --cache vectors.db --json

Ten conversations of two people over months; evidence is turns. What is measured, and how, is told in `retrieval` and its
modules. The data is CC BY-NC 4.0 and not part of bethink: https://github.com/snap-research/locomo, data/locomo10.json.
Parameters were chosen on four of the conversations (`conversations.DEVELOPMENT`); the others tell what they are worth.
"""

from __future__ import annotations

import sys
from collections.abc import Sequence

from bethink.bench.retrieval import command

__all__ = ["main"]


def main(argv: Sequence[str]) -> int:
    """Run the benchmark (see `retrieval.command`)."""
    return command.main("locomo", argv)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
