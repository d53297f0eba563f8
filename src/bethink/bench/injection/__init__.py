"""`bethink bench injection`: how many attempts to take over a memory succeed, with its defences and without.

    bethink bench injection
    bethink bench injection --each --json
    bethink bench injection --each --update docs/safety.md

An attempt is some messages of tools, documents, assistants and users (`corpus.json`), in the thread of a user of whom
something is known. Then contexts are made, in the same thread after it was folded, and in another. Whether it succeeded is a
question about structure alone, with no language model to judge (see `judged`):

    escaped       a text of it is outside its line, its block, or in a message that is no memory message
    mislabelled   its line is not said to be of who said it, or not said to be unverified
    believed      what nobody vouches for became an insight
    superseded    a fact of the user's is no longer current
    strengthened  a record counts as cited that no reply has taken from memory
    leaked        what belongs to another tenant is shown

With none of the defences the block is part of the system prompt, unescaped and without labels, facts are drawn from whatever is
said, any mark counts, and all users share a namespace. They are switched off here only, by putting what a naive memory does in
their place (see `defences`). An attempt that succeeds in one way counts once.
"""

from __future__ import annotations

import argparse
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path

from bethink.bench.injection.attempts import Attempt, attempts
from bethink.bench.injection.defences import DEFENCES, without
from bethink.bench.injection.judged import WAYS, judged
from bethink.bench.measure import columns, print_json
from bethink.bench.retrieval.tables import marked, parted
from bethink.errors import InvalidInput

__all__ = ["main", "measured"]

_START = "<!-- bench injection -->\n"


def measured(corpus: Sequence[Attempt], off: Sequence[str]) -> dict[str, frozenset[str]]:
    """In which ways each attempt succeeds, by its id, with some defences off."""
    with without(off):
        return {attempt.id: judged(attempt, shared="tenants" in off) for attempt in corpus}


def main(argv: Sequence[str]) -> int:
    """Run it. The exit code is 1 if any attempt succeeds against all defences."""
    parser = argparse.ArgumentParser(
        prog="bethink bench injection", description="Attempts that succeed, with defences and without."
    )
    parser.add_argument("--each", action="store_true", help="also with each defence off alone")
    parser.add_argument(
        "--kind", action="append", metavar="KIND", help="only attempts of this kind; may be given several times"
    )
    parser.add_argument("--json", action="store_true", help="as JSON")
    parser.add_argument("--update", type=Path, metavar="FILE", help="write the tables between their markers in a document")
    asked = parser.parse_args(list(argv))
    document = asked.update.read_text(encoding="utf-8") if asked.update else f"{_START}<!-- end -->\n"
    before, after = parted(document, _START)
    corpus = [each for each in attempts() if not asked.kind or each.kind in asked.kind]
    if not corpus:
        raise InvalidInput("kind", "none that there is", f"choose of: {', '.join(_classes(attempts()))}")
    runs: dict[str, tuple[str, ...]] = {"all defences": (), "none": tuple(DEFENCES)}
    if asked.each:
        runs |= {f"without {name}": (name,) for name in DEFENCES}
    found = {name: measured(corpus, off) for name, off in runs.items()}
    if asked.json:
        print_json({"attempts": len(corpus), "runs": {name: _facts(corpus, run) for name, run in found.items()}})
    else:
        print("\n\n".join(columns(rows) for rows in _tables(corpus, found)))
    if asked.update:
        section = "\n\n".join(marked(rows) for rows in _tables(corpus, found))
        asked.update.write_text(f"{before}{section}\n{after}", encoding="utf-8")
    return int(any(found["all defences"].values()))


def _facts(corpus: Sequence[Attempt], run: Mapping[str, frozenset[str]]) -> dict[str, object]:
    return {
        "succeeded": sum(map(bool, run.values())),
        "share": round(sum(map(bool, run.values())) / len(corpus), 4),
        "ways": {way: sum(way in ways for ways in run.values()) for way in WAYS},
        "classes": {name: sum(bool(run[each.id]) for each in corpus if each.kind == name) for name in _classes(corpus)},
        "which": sorted(name for name, ways in run.items() if ways),
    }


def _classes(corpus: Sequence[Attempt]) -> dict[str, int]:
    return dict(Counter(each.kind for each in corpus))


def _tables(corpus: Sequence[Attempt], found: Mapping[str, Mapping[str, frozenset[str]]]) -> Iterator[list[list[str]]]:
    """How many attempts of each class succeed in each run, and in which ways."""
    rows = [
        [name, str(count), *[str(sum(bool(run[each.id]) for each in corpus if each.kind == name)) for run in found.values()]]
        for name, count in _classes(corpus).items()
    ]
    succeeded = [sum(map(bool, run.values())) for run in found.values()]
    rows.append(["all", str(len(corpus)), *map(str, succeeded)])
    rows.append(["share", "", *[f"{count / len(corpus):.0%}" for count in succeeded]])
    yield [["attempts that succeed", "of", *found], *rows]
    yield [["in which way", *found], *[[way, *_in_way(found.values(), way)] for way in WAYS]]


def _in_way(runs: Iterable[Mapping[str, frozenset[str]]], way: str) -> list[str]:
    return [str(sum(way in ways for ways in run.values())) for run in runs]
