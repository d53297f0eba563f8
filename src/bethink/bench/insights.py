"""`bethink bench insights`: what is known of two people after months of talk, with no model.

    bethink bench insights PATH/locomo10.json
    bethink bench insights PATH/locomo10.json --embedder minilm

Both speakers of a LoCoMo conversation are people, so each one's own words are evidence of himself, and of nobody else: each has
a profile under his name. Every session is a thread that is ended, as it would be; what is known at the end is measured twice.

    insights    of every message by itself: precision and recall beside the turns that are evidence of the questions, and beside
                the data set's own observations, of the same turn and then also in the same words
    citations   the observations stand for replies to contexts that show 20 insights each: are those credited that were drawn
                from the same turns (`insights.citations`)
    memory      of a new thread in which both say hello, nothing is asked, and the memory block has `--tokens` (1,000): of how
                many questions it holds the evidence, beside the last so many tokens of the conversation, and as many of turns
                spread evenly over it

Goal: the profiles and summaries hold all the evidence of 1.5 times as many questions as the last so many tokens do. `known` has
the measures. Rules were made on some of the conversations ("development"), so the others count more.
"""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Iterable, Mapping, Sequence
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any

import msgspec

from bethink.bench.known import Against, Asked, Drawn, Held, Observation, Shown, against, credited, held, sum_of, terms
from bethink.bench.measure import columns, print_json
from bethink.bench.retrieval.questions import ADVERSARIAL, Case, Session, cases, group_of
from bethink.bench.retrieval.tables import marked, parted
from bethink.context import ContextLine
from bethink.insights.extract import extract
from bethink.insights.unstated import meant, sayings
from bethink.limits import Limits
from bethink.memory import Memory
from bethink.messages import Message
from bethink.models import Embedder
from bethink.models.cached import CachedEmbedder
from bethink.models.minilm import MiniLM
from bethink.models.tokens import BuiltinCounter
from bethink.records import Insight
from bethink.settings import Settings
from bethink.storage.reference import ReferenceStore
from bethink.testing.doubles import FrozenClock

__all__ = ["Labels", "Measured", "labels", "main", "measured", "total"]

GOAL = 1.5
OURS, LAST, SPREAD = "profiles and summaries", "last of the talk", "turns spread evenly"
EVIDENCE, OBSERVED, SAME = "evidence of questions", "observations, by turn", "observations, in words"
CREDITED = "replies (observations) that use them"

_START = "<!-- bench insights -->\n"
_BY_MEANING = "<!-- bench insights minilm -->\n"
_Rows = list[list[str]]


class Labels(msgspec.Struct, frozen=True):
    """What a data set says of a conversation besides its evidence: observations, and the answer to each question."""

    observations: tuple[Observation, ...]
    answers: dict[str, str]


class Measured(msgspec.Struct, frozen=True, kw_only=True):
    """What was measured of a conversation, or of several together.

    Attributes:
        insights: how many insights were drawn, by topic.
        right: how many of each topic are from a turn of evidence.
        against: what they were held against, by its name.
        held: of how many questions a block holds the evidence, by what the block is made of.
    """

    insights: dict[str, int]
    right: dict[str, int]
    against: dict[str, Against]
    held: dict[str, Held]

    def times(self, count: str = "all") -> float:
        """Of how many times as many questions as the last of the talk our block holds the evidence."""
        ours, last = (getattr(self.held[name], count) for name in (OURS, LAST))
        return float(ours / last) if last else float("inf")


def main(argv: Sequence[str]) -> int:
    """Run the benchmark. Returns 1 if the goal was missed in one of the groups, and 0 otherwise.

    Raises:
        ImportFailed: the data is not what it should be.
        InvalidInput: the document has no place for the report.
    """
    parser = argparse.ArgumentParser(prog="bethink bench insights", description="What is known of people, with no model.")
    parser.add_argument("path", type=Path, metavar="PATH", help="the LoCoMo data")
    parser.add_argument("--tokens", type=int, default=1_000, help="tokens of the memory block (1000)")
    parser.add_argument(
        "--embedder", choices=("minilm", "none"), default="none", help="minilm: draw by meaning as well (`insights.unstated`)"
    )
    parser.add_argument("--json", action="store_true", help="print JSON")
    parser.add_argument("--update", type=Path, metavar="FILE", help="write the tables into a document")
    options = parser.parse_args(argv)
    if options.tokens < 1:
        parser.error("--tokens: use 1 or more")
    start = _START if options.embedder == "none" else _BY_MEANING
    document = options.update.read_text(encoding="utf-8") if options.update else start + "<!-- end -->\n"
    before, after = parted(document, start)

    # It remembers what it was asked last: here and in the memory the same sentences are embedded.
    embedder = None if options.embedder == "none" else CachedEmbedder(MiniLM())
    groups: dict[str, list[Measured]] = {}
    found: dict[str, Measured] = {}
    known = labels(options.path)
    for case in cases("locomo", [options.path]):
        print(case.name, file=sys.stderr)
        found[case.name] = measured(case, known[case.name], tokens=options.tokens, embedder=embedder)
        groups.setdefault(group_of("locomo", case.name), []).append(found[case.name])
    made = {group: total(each) for group, each in groups.items()}
    if options.json:
        print_json({"groups": _figures(made), "conversations": _figures(found)})
    else:
        print("\n\n".join([*(columns(rows) for rows in _tables(made)), *_verdicts(made)]))
    if options.update:
        section = "\n\n".join([*(marked(rows) for rows in _tables(made)), *_verdicts(made)])
        options.update.write_text(f"{before}{section}\n{after}", encoding="utf-8")
    return 0 if all(each.times() >= GOAL for each in made.values()) else 1


def labels(path: Path) -> dict[str, Labels]:
    """Observations and answers of each conversation of LoCoMo, by its name."""
    found = {}
    for item in json.loads(path.read_bytes()):
        observed = [
            Observation(_turns(cited), speaker.casefold(), text)
            for session in item.get("observation", {}).values()
            for speaker, listed in session.items()
            for text, cited in listed
        ]
        answers = {each["question"]: str(each.get("answer", "")) for each in item["qa"]}
        found[item["sample_id"]] = Labels(tuple(observed), answers)
    return found


def _turns(cited: Any) -> frozenset[str]:
    """One turn, or several in a list or in a string."""
    written = cited if isinstance(cited, str) else " ".join(cited)
    return frozenset(written.replace(",", " ").split())


# -- measuring ------------------------------------------------------------------------------------------------------------


def measured(case: Case, known: Labels, *, tokens: int, embedder: Embedder | None = None) -> Measured:
    """What is known after a conversation, held against what the data set says.

    Args:
        embedder: by which insights are drawn from what no rule reads (see `insights.unstated`).
    """
    sessions = case.read()
    questions = [question for question in case.questions if question.category != ADVERSARIAL]
    said = {turn: message.text for session in sessions for turn, message in zip(session.turns, session.messages, strict=True)}
    asked = [
        Asked(question.turns, terms(known.answers.get(question.text, "")) & _terms(said[turn] for turn in question.turns))
        for question in questions
    ]
    drawn, blocks = _remembered(case, sessions, tokens, embedder)
    talk = [(message, turn) for session in sessions for message, turn in zip(session.messages, session.turns, strict=True)]
    blocks[LAST] = _within(talk[::-1], tokens)
    # About as many turns as fit, each as far from the next.
    apart = max(1, len(talk) // max(1, len(blocks[LAST][0])))
    blocks[SPREAD] = _within(talk[apart // 2 :: apart], tokens)
    evidence = [Observation(frozenset({turn}), "", "") for turn in sorted({turn for each in questions for turn in each.turns})]
    wanted = {turn for each in evidence for turn in each.turns}
    return Measured(
        insights=_by_topic(drawn),
        right=_by_topic([insight for insight in drawn if insight.turn in wanted]),
        against={
            EVIDENCE: against(drawn, evidence, said),
            OBSERVED: against(drawn, known.observations, said),
            SAME: against(drawn, known.observations, said, same_words=True),
            CREDITED: credited(
                drawn,
                known.observations,
                Settings().citation_overlap or 1.0,
                embedder=embedder,
                nearness=Settings().citation_nearness or 1.0,
            ),
        },
        held={name: held(asked, lines, size) for name, (lines, size) in blocks.items()},
    )


def _terms(texts: Iterable[str]) -> frozenset[str]:
    return frozenset().union(*map(terms, texts))


def _by_topic(drawn: Iterable[Drawn]) -> dict[str, int]:
    counts: dict[str, int] = {}
    for insight in drawn:
        counts[insight.topic] = counts.get(insight.topic, 0) + 1
    return counts


def _remembered(
    case: Case, sessions: Sequence[Session], tokens: int, embedder: Embedder | None
) -> tuple[list[Drawn], dict[str, tuple[list[Shown], int]]]:
    """The insights of every message, and the lines of the block at the end, all of them and by section, with their tokens."""
    clock = FrozenClock()
    turns: dict[str, str] = {}
    drawn: list[Drawn] = []
    with Memory(store=ReferenceStore(), embedder=embedder, clock=clock) as memory:
        for session in sessions:
            thread = memory.thread(session.name)
            stored = thread.append(session.messages).messages
            turns |= {message.id: turn for message, turn in zip(stored, session.turns, strict=True)}
            clock.set(max(clock.now(), *[message.created_at or clock.now() for message in stored]))
            for insight in _stated(stored, thread.id, clock.now(), embedder):
                # Without whom it is about, which an observation says as well, but that is no news.
                text = insight.text.partition(": ")[2]
                drawn.append(Drawn(turns[insight.sources[0].message_id], insight.subject, text, insight.topic))
            thread.end()
        clock.set(clock.now() + timedelta(days=1))
        thread = memory.thread("after")
        for speaker in case.speakers:
            thread.add("user", "Hello!", name=speaker)
        context = thread.context("", budget=2 * tokens, limits=Limits(memory_tokens=tokens))
    lines: dict[str, list[ContextLine]] = {}
    for line in context.lines:
        if line.section != "recent messages":
            lines.setdefault(line.section, []).append(line)
    blocks = {name: (_shown(some, turns), sum(line.tokens for line in some)) for name, some in sorted(lines.items())}
    every = [line for some in lines.values() for line in some]
    return drawn, {OURS: (_shown(every, turns), context.made_of.memory), **blocks}


def _stated(messages: Sequence[Message], thread_id: str, now: datetime, embedder: Embedder | None) -> Sequence[Insight]:
    """By rules, and by meaning where there is an embedder."""
    stated = extract(messages, thread_id=thread_id, now=now)
    said = sayings(messages, stated) if embedder else ()
    if embedder is None or not said:
        return stated
    return (*stated, *meant(said, embedder.embed([saying.text for saying in said]), thread_id=thread_id, now=now))


def _shown(lines: Iterable[ContextLine], turns: Mapping[str, str]) -> list[Shown]:
    return [Shown(line.text, frozenset(turns[source] for source in line.sources if source in turns)) for line in lines]


def _within(talk: Iterable[tuple[Message, str]], tokens: int) -> tuple[list[Shown], int]:
    """Turns word for word, with their speakers, as many as fit before the first that does not."""
    counter, left, shown = BuiltinCounter(), tokens, list[Shown]()
    for message, turn in talk:
        cost = counter.count(f"{message.speaker}: {message.text}") + 1
        if cost > left:
            break
        left -= cost
        shown.append(Shown(message.text, frozenset({turn})))
    return shown, tokens - left


def total(measured_: Sequence[Measured]) -> Measured:
    """The sums over at least one conversation. What a block of one is made of, that of another may lack."""
    names = dict.fromkeys(name for each in measured_ for name in each.held)
    return Measured(
        insights=_added([each.insights for each in measured_]),
        right=_added([each.right for each in measured_]),
        against={name: sum_of([each.against[name] for each in measured_]) for name in measured_[0].against},
        held={name: sum_of([each.held[name] for each in measured_ if name in each.held]) for name in names},
    )


def _added(counts: Iterable[Mapping[str, int]]) -> dict[str, int]:
    added: dict[str, int] = {}
    for each in counts:
        for name, count in each.items():
            added[name] = added.get(name, 0) + count
    return added


# -- printing -------------------------------------------------------------------------------------------------------------


def _figures(found: Mapping[str, Measured]) -> dict[str, object]:
    return {
        name: {
            "insights": each.insights,
            "right": each.right,
            "against": {
                other: {
                    **msgspec.structs.asdict(of),
                    "precision": round(of.precision, 4),
                    "recall": round(of.recall, 4),
                    "chance": round(of.chance, 4),
                }
                for other, of in each.against.items()
            },
            "held": each.held,
            "times": {count: each.times(count) for count in ("all", "any", "said") if getattr(each.held[LAST], count)},
            "reached": each.times() >= GOAL,
        }
        for name, each in found.items()
    }


def _tables(made: Mapping[str, Measured]) -> Iterable[_Rows]:
    yield [
        ["insights beside", "on", "insights", "precision", "chance", "recall", "of"],
        *(
            [
                name,
                group,
                str(of.insights),
                _share(of.precision),
                _share(of.chance),
                _share(of.recall),
                f"{of.wanted:,}",
            ]
            for group, each in made.items()
            for name, of in each.against.items()
        ),
    ]
    topics = sorted({topic for each in made.values() for topic in each.insights})
    yield [
        ["insights by topic", *(f"{group}: {head}" for group in made for head in ("drawn", "from evidence"))],
        *([topic, *(cell for each in made.values() for cell in _of_topic(each, topic))] for topic in topics),
    ]
    yield [
        ["questions whose evidence is held", "on", "tokens", "lines", "questions", "all of it", "some", "answers", "in words"],
        *(
            [
                name,
                group,
                f"{of.tokens:,}",
                str(of.lines),
                str(of.questions),
                str(of.all),
                str(of.any),
                str(of.worded),
                str(of.said),
            ]
            for group, each in made.items()
            for name, of in each.held.items()
        ),
    ]


def _of_topic(of: Measured, topic: str) -> list[str]:
    drawn = of.insights.get(topic, 0)
    return [str(drawn), _share(of.right.get(topic, 0) / drawn) if drawn else "-"]


def _verdicts(made: Mapping[str, Measured]) -> Iterable[str]:
    for group, each in made.items():
        verdict = "reached" if each.times() >= GOAL else "MISSED"
        yield (
            f"{group}: all the evidence of {each.times():.2f} times as many questions as the last of the talk: "
            f"goal {GOAL:g} {verdict}; some of it of {each.times('any'):.2f} times, the answer in words of "
            f"{each.times('said'):.2f} times as many."
        )


def _share(value: float) -> str:
    return f"{value:.3f}".removeprefix("0")


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
