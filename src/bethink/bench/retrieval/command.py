"""The command line that the three benchmarks share.

Progress goes to stderr. Ctrl-C ends the run, not the work: the figures of the conversations that are done are printed, and
vectors stay in the cache. A document and a plot are written by a whole run alone.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path

import msgspec

from bethink.bench.measure import print_json
from bethink.bench.retrieval.peers import PEERS, missing
from bethink.bench.retrieval.questions import Source, cases
from bethink.bench.retrieval.report import report
from bethink.bench.retrieval.run import OURS, Results, run
from bethink.bench.retrieval.systems import BM25, RRF, Bethink, Dense, System
from bethink.bench.retrieval.tables import NAMES, divided, drawn, text, update
from bethink.bench.retrieval.vectors import Vectors, VectorsOfTokens
from bethink.models import Embedder, TokenCounter
from bethink.models.exact import ENCODINGS, TiktokenCounter
from bethink.models.minilm import MiniLM
from bethink.models.tokens import BuiltinCounter
from bethink.retrieval.ranker import Ranker
from bethink.retrieval.rerank import Reranker
from bethink.settings import Settings

__all__ = ["main"]

_BUILTIN = "builtin"
_EMBEDDING: dict[str, Callable[[Embedder], System]] = {"dense": Dense, "rrf": RRF, **PEERS}
_PEERS = ("bm25", *_EMBEDDING)
_INTERRUPTED = 130


def main(source: Source, argv: Sequence[str]) -> int:
    """Run a benchmark. Returns 130 if it was interrupted, and 0 otherwise.

    Raises:
        ImportFailed: the data is not what it should be.
        InvalidInput: the document has no place for the report; nothing was asked.
        MissingExtra: tokens are to be counted by a vocabulary that is not on this machine.
    """
    options = _parser(source).parse_args(argv)
    data = cases(source, options.paths)
    embedder = None if options.embedder == "none" or not MiniLM.available() else MiniLM()
    fingerprint = None if embedder is None else embedder.fingerprint
    if options.update:
        divided(options.update.read_text(encoding="utf-8"), source, fingerprint)
    vectors = None if embedder is None else VectorsOfTokens(embedder, options.cache)
    ranker, counter, results = Ranker(), _counter(options.counter), Results()
    systems, left_out = _systems(options.against, vectors, ranker, counter)
    for name, of in _options(options, ranker).items():
        if vectors is None:
            left_out[name] = "it needs an embedder"
        else:
            systems[name] = partial(Bethink, vectors, of, Settings(maxsim=True), counter)
    interrupted = False
    try:
        run(data, systems, results, vectors=vectors, counter=counter, limit=options.limit_questions, progress=_progress)
    except KeyboardInterrupt:
        interrupted = True
    finally:
        if vectors is not None:
            vectors.close()
    if not results.asked:
        _progress("interrupted before the first conversation was done")
        return _INTERRUPTED
    made = report(
        source,
        results,
        ranker=ranker,
        embedder=fingerprint,
        counter=counter.name,
        left_out=left_out,
        unlabelled=sum(case.unlabelled for case in data),
        interrupted=interrupted,
    )
    if options.json:
        print_json(made)
    else:
        print(text(made))
    if interrupted:
        return _INTERRUPTED
    if options.plot:
        options.plot.write_text(drawn(made), encoding="utf-8")
    if options.update:
        update(options.update, made)
    return 0


def _progress(line: str) -> None:
    print(line, file=sys.stderr)


def _systems(
    names: Sequence[str], vectors: Vectors | None, ranker: Ranker, counter: TokenCounter
) -> tuple[dict[str, Callable[[], System]], dict[str, str]]:
    """Who is asked, and who cannot be, with the reason."""
    systems: dict[str, Callable[[], System]] = {OURS: partial(Bethink, vectors, ranker, counter=counter)}
    left_out: dict[str, str] = {}
    for name in names:
        if name == "bm25":
            systems[name] = BM25
        elif vectors is None:
            left_out[name] = "it needs an embedder"
        elif name in PEERS and (why := missing(name)):
            left_out[name] = why
        else:
            systems[name] = partial(_EMBEDDING[name], vectors)
    return systems, left_out


def _options(options: argparse.Namespace, ranker: Ranker) -> dict[str, Ranker]:
    """bethink with options of its own, each a row beside the defaults."""
    found = {f"{OURS} maxsim": ranker} if options.maxsim else {}
    if options.rerank:
        found[f"{OURS} rerank"] = msgspec.structs.replace(ranker, reranker=Reranker())
    return found


def _counter(name: str) -> TokenCounter:
    """The counter of that name.

    Raises:
        MissingExtra: it needs a vocabulary that is not on this machine.
    """
    if name == _BUILTIN:
        return BuiltinCounter()
    counter = TiktokenCounter(name)
    counter.count("A vocabulary is loaded before the first question, or not found before it.")
    return counter


def _parser(source: Source) -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog=f"bethink bench {source}", description=f"Retrieval on {NAMES[source]}.")
    many = source == "beam"
    parser.add_argument("paths", type=Path, nargs="+" if many else 1, metavar="PATH", help=f"{NAMES[source]}'s data")
    parser.add_argument(
        "--against", type=_peers, default=(), metavar="NAMES", help=f"also ask others, by comma: {', '.join(_PEERS)}"
    )
    parser.add_argument(
        "--embedder", choices=("minilm", "none"), default="minilm", help="minilm (if its extra is installed), or none"
    )
    parser.add_argument(
        "--counter",
        choices=(_BUILTIN, *ENCODINGS),
        default=_BUILTIN,
        help="counts tokens: builtin, or exactly by a vocabulary of OpenAI's (extra tokens)",
    )
    parser.add_argument("--maxsim", action="store_true", help="also ask bethink with its setting maxsim")
    parser.add_argument("--rerank", action="store_true", help="also ask bethink with that and the learned reranker")
    parser.add_argument("--cache", type=Path, metavar="FILE", help="keep the vectors of messages there for the next run")
    parser.add_argument(
        "--limit-questions", type=_positive, metavar="N", help="at most N questions of a conversation, spread over all"
    )
    parser.add_argument("--plot", type=Path, metavar="FILE.svg", help="draw the evidence within budgets")
    parser.add_argument("--update", type=Path, metavar="FILE.md", help="write the tables between their markers in a document")
    parser.add_argument("--json", action="store_true", help="print one JSON object")
    return parser


def _peers(given: str) -> tuple[str, ...]:
    names = tuple(dict.fromkeys(given.split(",")))
    unknown = [name for name in names if name not in _PEERS]
    if unknown:
        raise argparse.ArgumentTypeError(f"unknown: {', '.join(unknown)}; there are {', '.join(_PEERS)}")
    return names


def _positive(given: str) -> int:
    if not given.isdecimal() or not int(given):
        raise argparse.ArgumentTypeError("use a whole number of 1 or more")
    return int(given)
