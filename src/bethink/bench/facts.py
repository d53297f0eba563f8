"""`bethink bench facts`: how many numbers, dates and names of folded messages survive, with no model.

    bethink bench facts PATH/locomo10.json PATH/longmemeval_s.json

Each conversation is one thread of a memory of its own, all its sessions one after the other; a context is asked for after each
session, which folds what is old, and the thread is ended. What is left of the folded messages is then the lines of the summary
nodes in view, the session summary, the state of the work as `state_block` shows it, and the profiles. Their tokens are counted
as text, without the date and name beside a line.

    a quarter    `settings.node_tokens` chosen for each conversation, so that what is left has at most 25 % of the tokens of
                 what was folded; all other settings as they come
    as it comes  default settings: fewer tokens

What is left is compared with as many tokens of the same messages, chosen otherwise:

    first        the first sentences of the conversation
    sessions     the first sentences of each session, as many tokens as its share
    random       sentences by chance, mean of `--seeds` (5)
    closest      the sentences closest to the centroid of all (TF-IDF)
    oracle       those with most facts for their tokens, by who knows what is counted: about the most that can be kept

Goals, at a quarter: 0.75 of the distinct facts, and 1.5 times what first and random sentences keep. Where random sentences keep
two thirds, as where everything is said many times over, nobody can keep 1.5 times as much: the oracle tells. What counts as a
fact, and as the same fact, is in `survival`. The summariser was made on some of the conversations ("development"), so the
others count more.
"""

from __future__ import annotations

import argparse
import sys
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from pathlib import Path

import msgspec

from bethink.bench import survival
from bethink.bench.conversations import Conversation, conversations
from bethink.bench.locomo import DEVELOPMENT
from bethink.bench.measure import columns, print_json
from bethink.bench.survival import KINDS, Fact, Kind
from bethink.compaction.sentences import sentences
from bethink.errors import BudgetError
from bethink.insights.state.lines import line_of_entry, shown_first
from bethink.memory import Memory
from bethink.messages import Message
from bethink.models.tokens import BuiltinCounter
from bethink.settings import Settings
from bethink.storage.base import Read
from bethink.storage.reference import ReferenceStore
from bethink.testing.doubles import FrozenClock

__all__ = ["OURS", "Folded", "Tally", "evaluate", "fold", "fold_to", "main", "next_size", "size_of", "total"]

GOAL_SHARE, GOAL_TIMES = 0.75, 1.5
OURS, FIRST, SESSIONS, RANDOM, CLOSEST, ORACLE = "bethink", "first", "sessions", "random", "closest", "oracle"
COMPARED = (FIRST, SESSIONS, RANDOM)
"""Whom the second goal names: leading sentences, both ways, and random ones."""

_SHARE = 0.25
_SEEDS = 5
_CLOSE = 0.98
_ATTEMPTS = 8
_SOURCES = {"locomo": "LoCoMo", "longmemeval": "LongMemEval", "beam": "BEAM"}
_DEVELOPMENT = {"locomo": DEVELOPMENT, "longmemeval": ("852ce960",), "beam": ("1", "2", "3")}
"""The conversations that the summariser was made on, by their source."""

Count = Callable[[str], int]


class Folded(msgspec.Struct, frozen=True):
    """A conversation after folding: its folded messages, session by session, and what is left of them."""

    sessions: tuple[tuple[Message, ...], ...]
    nodes: tuple[str, ...]
    summary: tuple[str, ...]
    state: tuple[str, ...]
    profile: tuple[str, ...]

    @property
    def beside_nodes(self) -> tuple[str, ...]:
        """What is the same for every size of a node."""
        return self.summary + self.state + self.profile

    @property
    def left(self) -> tuple[str, ...]:
        return self.nodes + self.beside_nodes


class Tally(msgspec.Struct, frozen=True):
    """Counts of one conversation, or the sums of several.

    Attributes:
        messages, tokens: of what was folded.
        left: tokens of what is left of it.
        there: distinct facts by kind.
        kept: how many of them survive, by chooser and kind; a mean where chance chose.
        forms: of each kind, by form: how many survive with bethink, of how many.
    """

    messages: int
    tokens: int
    left: int
    there: dict[Kind, int]
    kept: dict[str, dict[Kind, float]]
    forms: dict[Kind, dict[str, tuple[int, int]]]

    def share(self, chooser: str, kind: Kind | None = None) -> float:
        """The share that survives of a kind, or of all; 0 where there is none."""
        kinds = KINDS if kind is None else (kind,)
        there = sum(self.there[each] for each in kinds)
        return sum(self.kept[chooser][each] for each in kinds) / there if there else 0.0

    def times(self, chooser: str, who: str = OURS) -> float:
        """How many times as much bethink, or `who`, keeps."""
        other = self.share(chooser)
        return self.share(who) / other if other else float("inf")

    @property
    def reached(self) -> bool:
        """Both goals."""
        return self.share(OURS) >= GOAL_SHARE and all(self.times(chooser) >= GOAL_TIMES for chooser in COMPARED)


def main(argv: list[str]) -> int:
    """Run the benchmark. Returns 1 if a goal was missed in one of the groups, and 0 otherwise."""
    parser = argparse.ArgumentParser(prog="bethink bench facts", description="Facts that survive folding, with no model.")
    parser.add_argument("paths", type=Path, nargs="+", metavar="PATH", help="LoCoMo, LongMemEval, BEAM, or any file to import")
    parser.add_argument("--budget", type=int, default=8_000, help="tokens of the contexts that fold (8000)")
    parser.add_argument("--share", type=float, default=_SHARE, help="tokens of what is left, of those folded (0.25)")
    parser.add_argument("--seeds", type=int, default=_SEEDS, help="random choices that the mean is taken of (5)")
    parser.add_argument("--json", action="store_true", help="print JSON")
    options = parser.parse_args(argv)

    quarter: dict[str, dict[str, Tally]] = {}
    as_it_comes: dict[str, dict[str, Tally]] = {}
    for conversation in (found for path in options.paths for found in conversations(path)):
        print(conversation.name, file=sys.stderr)
        group = _group(conversation)
        default = fold(conversation, Settings(), budget=options.budget)
        chosen = fold_to(conversation, options.share, budget=options.budget, default=default)
        if chosen is None:
            print("  left out: too short to fold, or what is left beside the nodes is larger", file=sys.stderr)
            continue
        quarter.setdefault(group, {})[conversation.name] = evaluate(chosen, conversation.speakers, seeds=options.seeds)
        as_it_comes.setdefault(group, {})[conversation.name] = evaluate(default, conversation.speakers, seeds=options.seeds)
    if not quarter:
        parser.error("nothing to measure: no conversation is long enough to fold")
    groups = {name: total(tallies.values()) for name, tallies in quarter.items()}
    defaults = {name: total(tallies.values()) for name, tallies in as_it_comes.items()}
    if options.json:
        print_json(
            {
                "groups": {name: _figures(tally) for name, tally in groups.items()},
                "as_it_comes": {name: _figures(tally) for name, tally in defaults.items()},
                "conversations": {name: _figures(tally) for tallies in quarter.values() for name, tally in tallies.items()},
            }
        )
    else:
        _print(groups, defaults, options)
    return 0 if all(tally.reached for tally in groups.values()) else 1


def _group(conversation: Conversation) -> str:
    name = _SOURCES.get(conversation.source, conversation.source)
    if conversation.source in _DEVELOPMENT:
        name += " development" if conversation.name in _DEVELOPMENT[conversation.source] else " others"
    return name


# -- folding --------------------------------------------------------------------------------------------------------------


def fold(conversation: Conversation, settings: Settings, *, budget: int) -> Folded:
    """What a memory leaves of a conversation as it goes on, session by session, and then ends."""
    # Contexts without a memory block, and without a query to recall for: what folds is the same, at a third of the time.
    settings = msgspec.structs.replace(settings, memory_share=0.0)
    store, clock = ReferenceStore(), FrozenClock()
    with Memory(store=store, settings=settings, embedder=None, clock=clock) as memory:
        thread = memory.thread(conversation.name)
        stored: list[tuple[Message, ...]] = []
        for session in filter(None, conversation.sessions):
            clock.set(session[-1].created_at or clock.now())
            stored.append(thread.append(session).messages)
            with suppress(BudgetError):  # a pasted text that is larger than the context; it has folded what is before it
                thread.context("", budget=budget)
        summary = thread.end()
        state = [line_of_entry(entry) for entry in shown_first(thread.state())]
        profile = [insight.text for speaker in sorted({*conversation.speakers, "user"}) for insight in memory.profile(speaker)]
        nodes = store.read(Read(namespace=memory.namespace, thread_id=thread.id, limit=0, nodes=True)).nodes
    nodes = tuple(sorted(nodes, key=lambda node: node.first_seq))
    folded = {seq for node in nodes for first, last in node.covers for seq in range(first, last + 1)}
    return Folded(
        sessions=tuple(tuple(message for message in session if message.seq in folded) for session in stored),
        nodes=tuple(line.text for node in nodes for line in node.lines),
        summary=() if summary is None else tuple(line.text for line in summary.lines),
        state=tuple(state),
        profile=tuple(profile),
    )


def fold_to(conversation: Conversation, share: float, *, budget: int, default: Folded) -> Folded | None:
    """The same with as large summary nodes as leave at most that share of the tokens (to 2 %); None if nothing folds, or if
    what is left beside the nodes is more alone.

    Args:
        default: the conversation folded with default settings. What folds and what is left beside the nodes are the same for
            every size of a node, so they say how many tokens the nodes may have.
    """
    count = BuiltinCounter().count
    target = int(share * size_of(_texts(default), count)) - size_of(default.beside_nodes, count)
    found, size, tried = default, Settings().node_tokens, dict[int, int]()
    best: Folded | None = None
    while size not in tried:
        if len(tried):
            found = fold(conversation, Settings(node_tokens=size), budget=budget)
        tried[size] = size_of(found.nodes, count)
        if not tried[size] or target < 1:
            return None
        if tried[size] <= target and tried[size] == max(each for each in tried.values() if each <= target):
            best = found
        if _CLOSE * target <= tried[size] <= target or len(tried) == _ATTEMPTS:
            break
        size = next_size(tried, (1 + _CLOSE) / 2 * target, target)
    return best


def next_size(tried: Mapping[int, int], aim: float, most: int) -> int:
    """The size of a node to try next, by the tokens that came of those that were tried, in order.

    Between the largest that left at most `most` tokens and the smallest that left more, on the straight line through the two;
    while all are on one side, on that through the last two, or through the origin.
    """
    fitting = max((size for size, tokens in tried.items() if tokens <= most), default=0)
    larger = min((size for size, tokens in tried.items() if tokens > most), default=0)
    if fitting and larger:
        pair = (fitting, larger)
    else:
        pair = (list(tried)[-2], list(tried)[-1]) if len(tried) > 1 else (0, next(iter(tried)))
    (size, tokens), (other, others) = ((each, tried.get(each, 0)) for each in pair)
    guess = other + (aim - others) * (other - size) / (others - tokens) if others != tokens else 2.0 * other
    if fitting and larger:
        return max(min(int(guess), larger - 1), fitting)
    return max(1, int(guess))


def size_of(texts: Iterable[str], count: Count) -> int:
    """Tokens of texts, each with its line break."""
    return sum(count(text) + 1 for text in texts)


def _texts(folded: Folded) -> Iterator[str]:
    return (message.text for session in folded.sessions for message in session)


# -- counting -------------------------------------------------------------------------------------------------------------


def evaluate(folded: Folded, speakers: frozenset[str], *, seeds: int = _SEEDS) -> Tally:
    """Count the facts of the folded messages, and those that each way of choosing as many tokens keeps."""
    count = BuiltinCounter().count
    sessions = [[text for message in session for _, _, text in sentences(message.text)] for session in folded.sessions]
    every = [text for session in sessions for text in session]
    there = survival.said(every, speakers)
    left = size_of(folded.left, count)

    def kept(texts: Sequence[str]) -> dict[Kind, float]:
        return _by_kind(survival.kept(there, every, texts, speakers))

    ours = survival.kept(there, every, folded.left, speakers)
    by_chance = [kept(survival.first(survival.shuffled(every, seed), left, count)) for seed in range(seeds)]
    forms: dict[Kind, dict[str, tuple[int, int]]] = {kind: {} for kind in KINDS}
    for fact, times in there.items():
        form = survival.form_of(fact, times)
        survived, of = forms[fact[0]].get(form, (0, 0))
        forms[fact[0]][form] = (survived + (fact in ours), of + 1)
    return Tally(
        messages=sum(map(len, folded.sessions)),
        tokens=size_of(_texts(folded), count),
        left=left,
        there={kind: sum(each == kind for each, _ in there) for kind in KINDS},
        kept={
            OURS: _by_kind(ours),
            FIRST: kept(survival.first(every, left, count)),
            SESSIONS: kept(_first_of_each(sessions, left, count)),
            RANDOM: {kind: sum(each[kind] for each in by_chance) / seeds for kind in KINDS},
            CLOSEST: kept(survival.first(survival.closest(every), left, count)),
            ORACLE: kept(survival.most_facts(every, speakers, left, count)),
        },
        forms=forms,
    )


def _first_of_each(sessions: Sequence[Sequence[str]], limit: int, count: Count) -> list[str]:
    sizes = [size_of(session, count) for session in sessions]
    whole = sum(sizes)
    return [
        text
        for session, size in zip(sessions, sizes, strict=True)
        for text in survival.first(session, limit * size // (whole or 1), count)
    ]


def _by_kind(facts: Iterable[Fact]) -> dict[Kind, float]:
    counted = Counter(kind for kind, _ in facts)
    return {kind: counted[kind] for kind in KINDS}


def total(tallies: Iterable[Tally]) -> Tally:
    """The sums: a fact of two conversations is two facts."""
    given = list(tallies)
    forms: dict[Kind, dict[str, tuple[int, int]]] = {}
    for kind in KINDS:
        names = dict.fromkeys(form for tally in given for form in tally.forms[kind])
        found = {form: [tally.forms[kind].get(form, (0, 0)) for tally in given] for form in names}
        forms[kind] = {form: (sum(kept for kept, _ in each), sum(of for _, of in each)) for form, each in found.items()}
    return Tally(
        messages=sum(tally.messages for tally in given),
        tokens=sum(tally.tokens for tally in given),
        left=sum(tally.left for tally in given),
        there={kind: sum(tally.there[kind] for tally in given) for kind in KINDS},
        kept={
            chooser: {kind: sum(tally.kept[chooser][kind] for tally in given) for kind in KINDS} for chooser in given[0].kept
        },
        forms=forms,
    )


# -- printing -------------------------------------------------------------------------------------------------------------


def _figures(tally: Tally) -> dict[str, object]:
    return {
        "messages": tally.messages,
        "tokens": tally.tokens,
        "left": tally.left,
        "facts": tally.there,
        "kept": {
            chooser: {"all": tally.share(chooser), **{kind: tally.share(chooser, kind) for kind in KINDS}}
            for chooser in tally.kept
        },
        "times": {chooser: tally.times(chooser) for chooser in tally.kept if chooser != OURS and tally.share(chooser)},
        "oracle_times": {chooser: tally.times(chooser, ORACLE) for chooser in COMPARED if tally.share(chooser)},
        "forms": tally.forms,
        "reached": tally.reached,
    }


def _print(groups: Mapping[str, Tally], defaults: Mapping[str, Tally], options: argparse.Namespace) -> None:
    print(f"distinct facts of folded messages that survive, no model; contexts of {options.budget:,} tokens\n")
    for name, tally in groups.items():
        print(_table(name, tally))
        share = tally.share(OURS)
        print(f"\n{share:.3f} of the facts: goal {GOAL_SHARE:g} {_verdict(share, GOAL_SHARE)}")
        for chooser in COMPARED:
            times = tally.times(chooser)
            verdict = f"goal {GOAL_TIMES:g} {_verdict(times, GOAL_TIMES)}"
            print(f"{times:.2f} times what {chooser!r} keeps: {verdict} (oracle {tally.times(chooser, ORACLE):.2f})")
        print(f"\n{_lost(tally)}\n")
    print("with default settings\n")
    for name, tally in defaults.items():
        print(f"{_table(name, tally)}\n")


def _verdict(found: float, goal: float) -> str:
    return "reached" if found >= goal else "MISSED"


def _table(name: str, tally: Tally) -> str:
    size = f"{tally.left:,} of {tally.tokens:,} tokens ({tally.left / tally.tokens:.1%}), {tally.messages:,} messages"
    rows = [[name, *(f"{kind} ({tally.there[kind]:,})" for kind in KINDS), f"all ({sum(tally.there.values()):,})"]]
    for chooser in tally.kept:
        shares = [tally.share(chooser, kind) for kind in KINDS]
        rows.append([chooser, *(f"{share:.2f}" for share in shares), f"{tally.share(chooser):.2f}"])
    return f"{size}\n{columns(rows)}"


def _lost(tally: Tally) -> str:
    """Of each form of fact, how many are gone."""
    rows = [["lost with bethink", "lost", "of", "kept"]]
    for kind in KINDS:
        for form, (kept, there) in sorted(tally.forms[kind].items(), key=lambda each: (each[1][0] - each[1][1], each[0])):
            rows.append([f"{kind}: {form}", str(there - kept), str(there), f"{kept / there:.2f}"])
    return columns(rows)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
