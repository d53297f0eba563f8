"""`bethink bench growth`: what a conversation costs as it grows: tokens of each turn's context, and time of an append.

    bethink bench growth --plot growth.svg          made-up talk
    bethink bench growth PATH/longmemeval_s.json    the conversations of a file, one after the other

**Tokens.** A turn is a user message and what answers it; its context is asked for after the user message (where only people
speak, after every other message). Compared are

    full history   every message so far
    window         the newest 20 messages
    hybrid         `Thread.context`: summary of the old, window of the new, profile, recalled lines, default settings, a budget

all counted by the same counter with framing. A hybrid's context swings between two folds, and turns differ in length, so what
it costs about a turn is the mean of 50 turns around it (26 to 75; at the end the last 50). Goal: about turn 500 within 5 % of
about turn 50. A budget that those turns do not fill yet is not judged: there the context is still the whole conversation, and
shorter for that. "Level from" is the turn from which on the mean stays within 5 % of the end: until the block of summary lines
is full, a context has less to say of the past.

**Appends.** Two threads of one file in turns, call by call: one that is grown to 10,000 messages, one that is new in each round
and kept at 100. Goal: p50 about message 10,000 within 1.3 times that about message 100. `full` waits for the disk in each call,
`normal` does not, so that the wait cannot hide a growth.
"""

from __future__ import annotations

import argparse
import sys
import tempfile
from collections.abc import Callable, Mapping, Sequence
from itertools import accumulate
from pathlib import Path
from statistics import fmean
from time import perf_counter
from typing import Literal, TypeAlias

import msgspec

from bethink.bench.conversations import conversations
from bethink.bench.measure import Series, Spread, columns, milliseconds, print_json
from bethink.bench.plot import Curve, chart
from bethink.bench.talk import START, text_of, turns
from bethink.ids import derived_id
from bethink.memory import Memory
from bethink.messages import Message
from bethink.models import TokenCounter
from bethink.models.tokens import BuiltinCounter, message_tokens
from bethink.testing.doubles import FrozenClock

__all__ = ["FULL_HISTORY", "Appends", "Growth", "Strategy", "append_times", "grow", "hybrid", "main", "window"]

FULL_HISTORY = "full history"
TOLERANCE = 0.05
APPEND_GOAL = 1.3

_WINDOW = 20
_BUDGETS = (8_000, 2_000)
_MARKS = (10, 50, 100, 200, 500)
_EARLY = 50
_AROUND = 50
_NEAR, _FAR, _STINT, _SIZE = 100, 10_000, 21, 600
_BATCH = 500
_DURABILITIES: tuple[Literal["full", "normal"], ...] = ("full", "normal")

Strategy: TypeAlias = "Callable[[int], int]"
"""Tokens of the context after so many messages of the conversation. Called once a turn, with growing numbers."""


class Growth(msgspec.Struct, frozen=True):
    """Tokens of the context at each turn, by strategy; the full history is always among them."""

    tokens: dict[str, tuple[int, ...]]

    @property
    def turns(self) -> int:
        return len(self.tokens[FULL_HISTORY])

    def about(self, name: str, turn: int) -> float:
        """Mean over the turns around `turn` (from 1), as many on either side where there are as many."""
        start = self._start(turn)
        return fmean(self.tokens[name][start : start + _AROUND])

    def _start(self, turn: int) -> int:
        return max(0, min(turn - 1 - _AROUND // 2, self.turns - _AROUND))

    def ratio(self, name: str) -> float:
        """What the last turn costs for one of turn 50."""
        return self.about(name, self.turns) / self.about(name, min(_EARLY, self.turns))

    def judged(self, name: str) -> bool:
        """Whether the strategy has to choose by turn 50: it costs less than the full history wherever `about` looks."""
        start = self._start(min(_EARLY, self.turns))
        pairs = zip(self.tokens[name][start:], self.tokens[FULL_HISTORY][start:], strict=True)
        return name != FULL_HISTORY and all(tokens < whole for tokens, whole in pairs)

    def verdict(self, name: str) -> str:
        if name == FULL_HISTORY:
            return "-"
        if not self.judged(name):
            return f"not full at {_EARLY}"
        return "reached" if abs(self.ratio(name) - 1) <= TOLERANCE else "MISSED"

    def passes(self, budget: int) -> int | None:
        """The first turn at which the full history has more tokens than the budget; None if it never has."""
        return next((turn for turn, tokens in enumerate(self.tokens[FULL_HISTORY], 1) if tokens > budget), None)

    def level_from(self, name: str) -> int | None:
        """The first turn from which on what a turn costs stays as at the end, within the tolerance; None if it never does."""
        end = self.about(name, self.turns)
        late = (turn for turn in range(self.turns, 0, -1) if abs(end / self.about(name, turn) - 1) > TOLERANCE)
        first = next(late, 0) + 1
        return first if first <= max(1, self.turns - _AROUND) else None

    def saved(self, name: str) -> float:
        """The share of the full history's tokens, over all turns, that the strategy does not send."""
        return 1 - sum(self.tokens[name]) / sum(self.tokens[FULL_HISTORY])


class Appends(msgspec.Struct, frozen=True):
    """Seconds of appends to a short thread and to a long one, round by round."""

    near: Series
    far: Series

    @property
    def ratio(self) -> Spread:
        """Median call of the long thread for one of the short."""
        return self.near.times_as_fast_as(self.far)

    @property
    def reached(self) -> bool:
        return self.ratio.median <= APPEND_GOAL


def main(argv: list[str]) -> int:
    """Run the benchmark. Returns 1 if a goal was missed, and 0 otherwise."""
    parser = argparse.ArgumentParser(prog="bethink bench growth", description="What a conversation costs as it grows.")
    parser.add_argument("path", type=Path, nargs="?", metavar="PATH", help="LoCoMo, LongMemEval, BEAM, or any file to import")
    parser.add_argument("--turns", type=int, default=500, help="turns of the conversation (500)")
    parser.add_argument("--budgets", type=int, nargs="+", default=list(_BUDGETS), help="budgets of hybrid contexts (8000 2000)")
    parser.add_argument("--window", type=int, default=_WINDOW, help="messages of the window (20)")
    parser.add_argument("--rounds", type=int, default=20, help="rounds of 21 appends to either thread; 0 leaves them out (20)")
    parser.add_argument("--far", type=int, default=_FAR, help="length of the long thread (10000)")
    parser.add_argument("--plot", type=Path, metavar="FILE.svg", help="write tokens per turn as a picture")
    parser.add_argument("--folder", type=Path, help="where to put the databases (a temporary folder)")
    parser.add_argument("--json", action="store_true", help="print JSON")
    options = parser.parse_args(argv)

    if options.turns < 1:
        parser.error("--turns: use 1 or more")
    if options.plot is not None and not options.plot.parent.is_dir():
        parser.error(f"--plot: there is no folder {options.plot.parent}")
    talk, dropped = _made_up(options.turns), 0
    if options.path is not None:
        talk, dropped = _from_file(options.path, longest=min(options.budgets) // 2)
    if len(asked_at(talk)) < options.turns:
        parser.error(f"the conversations have {len(asked_at(talk))} turns: name fewer with --turns, or another file")

    with tempfile.TemporaryDirectory(dir=options.folder) as name:
        folder = Path(name)
        clock, counter = FrozenClock(START), BuiltinCounter()
        with Memory(folder / "tokens.db", embedder=None, clock=clock, counter=counter, durability="normal") as memory:
            strategies: dict[str, Strategy] = {f"window, {options.window}": window(talk, options.window, counter)}
            for budget in options.budgets:
                strategies[f"hybrid, {budget:,}"] = hybrid(memory.user(str(budget)), talk, clock, budget)
            growth = grow(talk, strategies, counter, options.turns)
        appends: dict[str, Appends] = {
            level: append_times(folder / f"{level}.db", level, rounds=options.rounds, far=options.far)
            for level in (_DURABILITIES if options.rounds > 0 else ())
        }
    if options.plot is not None:
        options.plot.write_text(picture(growth), encoding="utf-8", newline="\n")
    if options.json:
        print_json(
            {
                "turns": growth.turns,
                "left_out": dropped,
                "passes": {str(budget): growth.passes(budget) for budget in options.budgets},
                "tokens": _figures(growth),
                "append": _append_figures(appends),
            }
        )
    else:
        _print(growth, dropped, options.budgets)
        if appends:
            _print_appends(appends, options.far)
    judged = [name for name in strategies if growth.judged(name)]
    reached = all(growth.verdict(name) == "reached" for name in judged if name.startswith("hybrid"))
    return 0 if reached and all(found.reached for found in appends.values()) else 1


# -- conversations --------------------------------------------------------------------------------------------------------


def _made_up(count: int) -> list[Message]:
    # Ids of their own, so that what is derived from a message is called the same in each run and costs the same tokens.
    return [
        msgspec.structs.replace(message, id=derived_id(START, "growth", str(number)))
        for number, message in enumerate(turns(2 * count))
    ]


def _from_file(path: Path, *, longest: int) -> tuple[list[Message], int]:
    """The messages of a file, without those that alone have more than `longest` tokens; and how many these are."""
    counter = BuiltinCounter()
    whole = [message for conversation in conversations(path) for message in conversation.messages]
    talk = [message for message in whole if message_tokens(message, counter) <= longest]
    return talk, len(whole) - len(talk)


def asked_at(talk: Sequence[Message]) -> list[int]:
    """After how many messages each turn asks for its context."""
    if any(message.role == "assistant" for message in talk):
        return [number for number, message in enumerate(talk, 1) if message.role == "user"]
    return list(range(1, len(talk) + 1, 2))


# -- strategies -----------------------------------------------------------------------------------------------------------


def _sums(talk: Sequence[Message], counter: TokenCounter) -> list[int]:
    """Tokens of the first n messages, for n from 0."""
    return list(accumulate((message_tokens(message, counter) for message in talk), initial=0))


def full_history(talk: Sequence[Message], counter: TokenCounter) -> Strategy:
    """Every message so far."""
    return _sums(talk, counter).__getitem__


def window(talk: Sequence[Message], size: int, counter: TokenCounter) -> Strategy:
    """The newest `size` messages."""
    sums = _sums(talk, counter)
    return lambda said: sums[said] - sums[max(0, said - size)]


def hybrid(memory: Memory, talk: Sequence[Message], clock: FrozenClock, budget: int) -> Strategy:
    """What `Thread.context` gives, the conversation appended as it goes on. The clock stands at the newest message."""
    thread = memory.thread("growth")
    appended = 0

    def tokens(said: int) -> int:
        nonlocal appended
        clock.set(talk[said - 1].created_at or clock.now())
        thread.append(talk[appended:said])
        appended = said
        return thread.context(budget=budget).tokens

    return tokens


def grow(talk: Sequence[Message], strategies: Mapping[str, Strategy], counter: TokenCounter, count: int) -> Growth:
    """Tokens of the first `count` turns, for each strategy and the full history."""
    asked = asked_at(talk)[:count]
    everyone = {FULL_HISTORY: full_history(talk, counter), **strategies}
    return Growth({name: tuple(strategy(said) for said in asked) for name, strategy in everyone.items()})


# -- appends --------------------------------------------------------------------------------------------------------------


def append_times(
    path: Path, durability: Literal["full", "normal"], *, rounds: int, near: int = _NEAR, far: int = _FAR
) -> Appends:
    """Appends 90 to 110 of a new thread in each round, in turns with as many of a thread of about `far` messages, one file."""
    before = _STINT // 2
    texts = [text_of(number, _SIZE) for number in range(_STINT)]
    near_times: list[tuple[float, ...]] = []
    far_times: list[tuple[float, ...]] = []
    with Memory(path, embedder=None, durability=durability) as memory:
        long = memory.thread("long")
        for start in range(0, far - (rounds * _STINT) // 2, _BATCH):
            count = min(_BATCH, far - (rounds * _STINT) // 2 - start)
            long.append({"role": "user", "content": text_of(start + number, _SIZE)} for number in range(count))
        for turn in range(-1, rounds):
            short = memory.thread(f"short-{turn}")
            short.append({"role": "user", "content": text_of(number, _SIZE)} for number in range(near - before - 1))
            memory.recall("anything")  # A search settles what was appended in bulk, as in a thread that is used.
            times: tuple[list[float], list[float]] = ([], [])
            for call, text in enumerate(texts):
                for which in (0, 1) if call % 2 else (1, 0):
                    thread = (short, long)[which]
                    started = perf_counter()
                    thread.append([{"role": "user", "content": text}])
                    times[which].append(perf_counter() - started)
            if turn >= 0:
                near_times.append(tuple(times[0]))
                far_times.append(tuple(times[1]))
    return Appends(Series(f"{near}", tuple(near_times)), Series(f"{far}", tuple(far_times)))


# -- printing -------------------------------------------------------------------------------------------------------------


def picture(growth: Growth) -> str:
    """Tokens per turn of every strategy, as SVG."""
    curves = [
        Curve(name, tuple((float(turn), float(tokens)) for turn, tokens in enumerate(found, 1)))
        for name, found in growth.tokens.items()
    ]
    return chart(curves, title="What each turn of a conversation costs", x="turn", y="tokens of its context")


def _figures(growth: Growth) -> dict[str, object]:
    return {
        name: {
            "at": {str(turn): tokens[turn - 1] for turn in _marks(growth)},
            "about": {str(turn): growth.about(name, turn) for turn in _marks(growth)},
            "ratio": growth.ratio(name),
            "verdict": growth.verdict(name),
            "level_from": growth.level_from(name),
            "total": sum(tokens),
            "saved": growth.saved(name),
            "by_turn": tokens,
        }
        for name, tokens in growth.tokens.items()
    }


def _append_figures(appends: Mapping[str, Appends]) -> dict[str, object]:
    return {
        level: {
            "near_p50_ms": milliseconds(found.near.p50),
            "far_p50_ms": milliseconds(found.far.p50),
            "ratio": found.ratio,
            "reached": found.reached,
        }
        for level, found in appends.items()
    }


def _marks(growth: Growth) -> list[int]:
    return sorted({*(turn for turn in _MARKS if turn <= growth.turns), growth.turns})


def _print(growth: Growth, dropped: int, budgets: Sequence[int]) -> None:
    marks = _marks(growth)
    early = min(_EARLY, growth.turns)
    print("tokens of a turn's context\n")
    rows = [
        ["turn", *map(str, marks), f"about {early}", f"about {growth.turns}", "ratio", f"goal {TOLERANCE:.0%}", "level from"]
    ]
    for name, tokens in growth.tokens.items():
        at = [f"{tokens[turn - 1]:,}" for turn in marks]
        about = [f"{growth.about(name, turn):,.0f}" for turn in (early, growth.turns)]
        rows.append([name, *at, *about, f"{growth.ratio(name):.3f}", growth.verdict(name), str(growth.level_from(name) or "-")])
    print(columns(rows))
    passed = ", ".join(f"{budget:,} tokens at turn {growth.passes(budget) or 'none'}" for budget in budgets)
    print(f"\nthe full history passes {passed}")
    print(f"\ntokens of all {growth.turns} contexts together\n")
    totals = [["", "tokens", "saved"]]
    totals += [[name, f"{sum(tokens):,}", f"{growth.saved(name):.1%}"] for name, tokens in growth.tokens.items()]
    print(columns(totals))
    if dropped:
        print(f"\nleft out: {dropped} messages of more tokens than half the smallest budget")


def _print_appends(appends: Mapping[str, Appends], far: int) -> None:
    print(f"\np50 of an append, ms; {_STINT} calls about that message in each round, in turns\n")
    rows = [["durability", f"message {_NEAR}", f"message {far:,}", "ratio", f"goal {APPEND_GOAL:g}"]]
    for level, found in appends.items():
        verdict = "reached" if found.reached else "MISSED"
        times = [milliseconds(series.p50).text(".3f") for series in (found.near, found.far)]
        rows.append([level, *times, found.ratio.text(), verdict])
    print(columns(rows))


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
