"""How much of LoCoMo's evidence does recall find, and does it keep quiet when it has no answer?

    python -m bethink.bench.locomo locomo10.json [--lexical] [--json]

Each conversation is put into a store of its own, each turn one message, and its questions are asked of `recall` with k = 10.

- Recall at 5 and 10: the share of a question's evidence turns among the hits, averaged over the questions of categories 1 to 4
  (multi-hop, temporal, open-domain, single-hop) that have evidence. The threshold is on: no hits, no recall.
- Lost: the share of those questions that got no hit at all.
- Quiet: the share of unrelated questions that rightly got none. These are questions about another conversation, with the
  names of its speakers exchanged for the ones who speak here. Some happen to have an answer: people share hobbies.

The data is CC BY-NC 4.0 and not part of bethink: https://github.com/snap-research/locomo, data/locomo10.json. The parameters of
`Ranker` were chosen on the conversations of `DEVELOPMENT`; the others tell what they are worth.
"""

from __future__ import annotations

import argparse
import json
import re
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from datetime import datetime, timezone
from pathlib import Path
from statistics import fmean, median
from typing import Any

import msgspec

from bethink.importing import read
from bethink.messages import Message
from bethink.models import Embedder
from bethink.models.minilm import MiniLM
from bethink.retrieval.rank import DEFAULT, Ranker, RecallResult
from bethink.retrieval.recall import recall
from bethink.storage.base import Append, Pending, Put, Scan, Scope, Store
from bethink.storage.reference import ReferenceStore

__all__ = ["DEVELOPMENT", "Figures", "Report", "evaluate", "main"]

DEVELOPMENT = ("conv-26", "conv-30", "conv-41", "conv-42")
_CATEGORIES = {1: "multi-hop", 2: "temporal", 3: "open-domain", 4: "single-hop"}
_EVIDENCE = re.compile(r"D:?(\d+):0*(\d+)")
_NOW = datetime(2026, 1, 1, tzinfo=timezone.utc)
_EVERY = 8
"""Of the other conversations' questions, every so many is asked as an unrelated one."""


class Figures(msgspec.Struct, frozen=True, kw_only=True):
    """Shares from 0 to 1; see the module's head.

    Attributes:
        milliseconds: median wall time of one recall, the query's embedding included.
    """

    questions: int
    recall_at_5: float
    recall_at_10: float
    lost: float
    quiet: float
    milliseconds: float
    by_category: dict[str, float]


class Report(msgspec.Struct, frozen=True, kw_only=True):
    """What was run, and the figures of each conversation and of two groups: "development" and "others"."""

    embedder: str
    ranker: str
    conversations: dict[str, Figures]
    groups: dict[str, Figures]


class _Question(msgspec.Struct, frozen=True):
    text: str
    category: int
    evidence: frozenset[str]


class _Sample(msgspec.Struct, frozen=True):
    name: str
    speakers: tuple[str, str]
    questions: tuple[_Question, ...]
    threads: dict[str, tuple[Message, ...]]


class _Asked(msgspec.Struct, frozen=True):
    """What came of one question. `found` says of each hit whether it is evidence; None for an unrelated question."""

    category: int
    evidence: int
    found: tuple[bool, ...] | None
    hits: int
    seconds: float


def evaluate(
    path: Path, *, embedder: Embedder | None, ranker: Ranker = DEFAULT, progress: Callable[[str], None] = lambda _: None
) -> Report:
    """Ask every question of the file. About two minutes for six conversations with MiniLM, half a minute without.

    Args:
        path: LoCoMo's JSON file.
        embedder: for the dense leg; None for the lexical leg alone.
        progress: called with the name of each conversation before it is done.
    """
    samples = _samples(path)
    asked: dict[str, list[_Asked]] = {}
    for sample in samples:
        progress(sample.name)
        asked[sample.name] = list(_ask(sample, samples, embedder, ranker))
    groups = {
        "development": [each for name, some in asked.items() if name in DEVELOPMENT for each in some],
        "others": [each for name, some in asked.items() if name not in DEVELOPMENT for each in some],
    }
    return Report(
        embedder=embedder.fingerprint.name if embedder else "none",
        ranker=ranker.fingerprint,
        conversations={name: _figures(some) for name, some in asked.items()},
        groups={name: _figures(some) for name, some in groups.items() if some},
    )


# -- the data -------------------------------------------------------------------------------------------------------------


def _samples(path: Path) -> list[_Sample]:
    threads: dict[str, dict[str, tuple[Message, ...]]] = {}
    for conversation in read(path, "locomo"):
        threads.setdefault(conversation.thread_id.split("/")[0], {})[conversation.thread_id] = conversation.messages
    return [
        _Sample(
            item["sample_id"],
            (item["conversation"]["speaker_a"], item["conversation"]["speaker_b"]),
            tuple(map(_question, item["qa"])),
            threads[item["sample_id"]],
        )
        for item in json.loads(path.read_bytes())
    ]


def _question(item: dict[str, Any]) -> _Question:
    # A few citations are misspelt: "D:11:26", "D30:05", two in one string.
    cited = _EVIDENCE.findall(" ".join(item.get("evidence", ())))
    return _Question(item["question"], item["category"], frozenset(f"D{session}:{turn}" for session, turn in cited))


def _unrelated(sample: _Sample, samples: list[_Sample]) -> Iterator[_Question]:
    for other in samples:
        if other is sample:
            continue
        for question in other.questions[::_EVERY]:
            text = question.text
            for theirs, ours in zip(other.speakers, sample.speakers, strict=True):
                text = re.sub(rf"\b{re.escape(theirs)}\b", ours, text)
            yield _Question(text, 0, frozenset())


# -- asking ---------------------------------------------------------------------------------------------------------------


def _ask(sample: _Sample, samples: list[_Sample], embedder: Embedder | None, ranker: Ranker) -> Iterator[_Asked]:
    scope = Scope((sample.name,))
    store = ReferenceStore()
    turn_of = _fill(store, scope, sample, embedder)
    turns = frozenset(turn_of.values())

    def timed(question: _Question) -> tuple[RecallResult, float]:
        start = time.perf_counter()
        result = recall(
            question.text,
            scope=scope,
            search=store.search,
            speakers=store.speakers,
            embedder=embedder,
            ranker=ranker,
            k=10,
            now=_NOW,
        )
        return result, time.perf_counter() - start

    for question in sample.questions:
        evidence = question.evidence & turns
        if question.category in _CATEGORIES and evidence:
            result, seconds = timed(question)
            found = tuple(turn_of[hit.id] in evidence for hit in result)
            yield _Asked(question.category, len(evidence), found, len(result), seconds)
    for question in _unrelated(sample, samples):
        result, seconds = timed(question)
        yield _Asked(0, 0, None, len(result), seconds)
    store.close()


def _fill(store: Store, scope: Scope, sample: _Sample, embedder: Embedder | None) -> dict[str, str]:
    """Store the turns with their vectors; returns which turn each message id is."""
    turn_of: dict[str, str] = {}
    for thread_id, messages in sample.threads.items():
        store.append(Append(namespace=scope.namespace, thread_id=thread_id, at=_NOW, messages=messages))
        turn_of.update((message.id, message.metadata["dia_id"]) for message in messages)
    if embedder is not None:
        store.bind_embedder(embedder.fingerprint)
        page = store.scan(Scan(what="pending", scope=scope, limit=len(turn_of)))
        waiting = [item for item in page.items if isinstance(item, Pending)]
        vectors = embedder.embed([item.text for item in waiting])
        pairs = tuple((item.unit, vector.tobytes()) for item, vector in zip(waiting, vectors, strict=True))
        store.put(Put(namespace=scope.namespace, vectors=pairs))
    return turn_of


# -- figures --------------------------------------------------------------------------------------------------------------


def _figures(asked: list[_Asked]) -> Figures:
    answerable = [each for each in asked if each.found is not None]
    unrelated = [each for each in asked if each.found is None]
    categories = {name: [each for each in answerable if each.category == number] for number, name in _CATEGORIES.items()}
    return Figures(
        questions=len(answerable),
        recall_at_5=_mean(_recalled(each, 5) for each in answerable),
        recall_at_10=_mean(_recalled(each, 10) for each in answerable),
        lost=_mean(not each.hits for each in answerable),
        quiet=_mean(not each.hits for each in unrelated),
        milliseconds=round(1000 * median(each.seconds for each in asked), 2),
        by_category={name: _mean(_recalled(each, 10) for each in some) for name, some in categories.items() if some},
    )


def _recalled(asked: _Asked, k: int) -> float:
    return sum((asked.found or ())[:k]) / asked.evidence


def _mean(shares: Iterator[float]) -> float:
    collected = list(shares)
    return round(fmean(collected), 4) if collected else 0.0


# -- printing -------------------------------------------------------------------------------------------------------------


def main(argv: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(prog="python -m bethink.bench.locomo", description="Retrieval on LoCoMo.")
    parser.add_argument("path", type=Path, help="LoCoMo's JSON file")
    parser.add_argument("--lexical", action="store_true", help="without an embedder, even where one is installed")
    parser.add_argument("--json", action="store_true", help="print the report as JSON")
    arguments = parser.parse_args(argv)
    embedder = None if arguments.lexical or not MiniLM.available() else MiniLM()
    report = evaluate(arguments.path, embedder=embedder, progress=lambda name: print(name, file=sys.stderr))
    if arguments.json:
        print(json.dumps(msgspec.to_builtins(report), indent=2))
        return 0
    print(f"embedder {report.embedder}, ranker {report.ranker}")
    print(f"{'':12}  questions    R@5   R@10   lost  quiet     ms  {'  '.join(f'{name:>11}' for name in _CATEGORIES.values())}")
    for name, row in {**report.conversations, **report.groups}.items():
        categories = "  ".join(f"{row.by_category.get(each, 0):11.3f}" for each in _CATEGORIES.values())
        print(
            f"{name:12}  {row.questions:9}  {row.recall_at_5:.3f}  {row.recall_at_10:.3f}  {row.lost:.3f}  {row.quiet:.3f}"
            f"  {row.milliseconds:5.1f}  {categories}"
        )
    return 0


if __name__ == "__main__":
    sys.exit(main())
