"""From rankings to figures: what one answer is worth, and the means of many. Pure.

A context would show a message it recalls as one line with who said it, under a heading of the day. `evidence_within` counts
such lines, and one heading for each day that has any, for whoever is asked; what frames the whole memory block is not counted.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from datetime import datetime, timezone
from statistics import fmean, median, quantiles

import msgspec

from bethink.bench.retrieval import metrics
from bethink.bench.retrieval.questions import Question, Session
from bethink.bench.retrieval.systems import Found
from bethink.context.items import Item, shown
from bethink.messages import Message
from bethink.models import TokenCounter

__all__ = ["BUDGETS", "Asked", "Figures", "Scores", "Talk", "figures", "judge", "mean_of"]

BUDGETS = (250, 500, 1000, 2000, 4000)
_UNDATED = datetime(2024, 1, 1, tzinfo=timezone.utc)


class Scores(msgspec.Struct, frozen=True, kw_only=True):
    """Of one question, or the means over many; from 0 to 1, greater is better. See `metrics` for the formulas.

    Figures without "session" in their name are of turns, and None where no evidence is known by turns. A session stands where
    its best turn stands. `evidence_within` takes whole messages by rank; `packed_within` is what a recall with that budget
    returned, of bethink alone: a message counts that was cut to a passage.
    """

    recall_at_5: float | None = None
    recall_at_10: float | None = None
    recall_any_at_5: float | None = None
    recall_any_at_10: float | None = None
    recall_all_at_5: float | None = None
    recall_all_at_10: float | None = None
    ndcg_at_10: float | None = None
    mrr: float | None = None
    session_recall_at_5: float | None = None
    session_recall_at_10: float | None = None
    session_recall_any_at_5: float | None = None
    session_recall_any_at_10: float | None = None
    session_recall_all_at_5: float | None = None
    session_recall_all_at_10: float | None = None
    session_ndcg_at_10: float | None = None
    session_mrr: float | None = None
    session_hit_at_1: float | None = None
    evidence_within_250_tokens: float | None = None
    evidence_within_500_tokens: float | None = None
    evidence_within_1000_tokens: float | None = None
    evidence_within_2000_tokens: float | None = None
    evidence_within_4000_tokens: float | None = None
    packed_within_250_tokens: float | None = None
    packed_within_500_tokens: float | None = None
    packed_within_1000_tokens: float | None = None
    packed_within_2000_tokens: float | None = None
    packed_within_4000_tokens: float | None = None


class Asked(msgspec.Struct, frozen=True, kw_only=True):
    """What came of one question: of which case and category, how good, and how long it took."""

    case: str
    category: str
    scores: Scores
    seconds: float
    cpu: float


class Figures(Scores, frozen=True, kw_only=True):
    """Means over questions, and what asking and indexing took.

    Attributes:
        query_ms_p50, query_ms_p95: wall time of one query for 10, its embedding by the model included. query_cpu_ms_p50: the
        processor's time of the same. index_seconds: wall time of taking in the conversations, embedding included; vectors out
        of a cache count with the time they took.
    """

    questions: int
    query_ms_p50: float
    query_ms_p95: float
    query_cpu_ms_p50: float
    index_seconds: float
    by_category: dict[str, Scores]


class Talk(msgspec.Struct, frozen=True):
    """The messages of a conversation by their index, with the names that evidence uses."""

    messages: tuple[Message, ...]
    turns: tuple[str, ...]
    sessions: tuple[str, ...]

    @classmethod
    def of(cls, sessions: Sequence[Session]) -> Talk:
        return cls(
            tuple(message for session in sessions for message in session.messages),
            tuple(turn for session in sessions for turn in session.turns),
            tuple(session.name for session in sessions for _ in session.turns),
        )


def judge(
    question: Question,
    talk: Talk,
    best: Sequence[Found],
    deep: Sequence[Found],
    counter: TokenCounter,
    packed: Mapping[int, Sequence[Found]] | None = None,
) -> Scores:
    """How good a ranking is for a question.

    Args:
        best: what a query for 10 returned; figures "at" 5 and 10 of turns are of it.
        deep: what a query for many returned; all others are of it.
        counter: counts the tokens of a line.
        packed: by budget, what a query for as much as fits into it returned.
    """
    turns = {budget: [talk.turns[each.index] for each in found] for budget, found in (packed or {}).items() if question.turns}
    within = {
        f"packed_within_{budget}_tokens": metrics.recall_at(names, question.turns, max(1, len(names)))
        for budget, names in turns.items()
    }
    return Scores(**_of_turns(question, talk, best, deep, counter), **_of_sessions(question, talk, deep), **within)


def _of_turns(
    question: Question, talk: Talk, best: Sequence[Found], deep: Sequence[Found], counter: TokenCounter
) -> dict[str, float]:
    wanted = question.turns
    if not wanted:
        return {}
    ranked = [talk.turns[each.index] for each in best]
    sized = [_sized(talk.turns[each.index], each.text, talk.messages[each.index], counter) for each in deep]
    return {
        **_at(ranked, wanted),
        "ndcg_at_10": metrics.ndcg_at(ranked, wanted, 10),
        "mrr": metrics.reciprocal_rank([each.name for each in sized], wanted),
        **{f"evidence_within_{budget}_tokens": metrics.within(sized, wanted, budget) for budget in BUDGETS},
    }


def _of_sessions(question: Question, talk: Talk, deep: Sequence[Found]) -> dict[str, float]:
    wanted = question.sessions
    # By their best turn: a session stands where it comes first.
    ranked = list(dict.fromkeys(talk.sessions[each.index] for each in deep))
    found = {
        **_at(ranked, wanted),
        "ndcg_at_10": metrics.ndcg_at(ranked, wanted, 10),
        "mrr": metrics.reciprocal_rank(ranked, wanted),
        "hit_at_1": metrics.any_at(ranked, wanted, 1),
    }
    return {f"session_{name}": value for name, value in found.items()}


def _at(ranked: Sequence[str], wanted: frozenset[str]) -> dict[str, float]:
    measures = {"recall": metrics.recall_at, "recall_any": metrics.any_at, "recall_all": metrics.all_at}
    return {f"{name}_at_{k}": measure(ranked, wanted, k) for name, measure in measures.items() for k in (5, 10)}


def _sized(name: str, text: str, message: Message, counter: TokenCounter) -> metrics.Sized:
    at, trust, speaker = message.created_at or _UNDATED, message.trust, message.speaker
    # What others index says who said it, as the line does.
    text = text.removeprefix(f"{speaker}: ")
    line = shown(
        Item(section="recalled", of="message", id="", text=text, at=at, trust=trust, reason="", speaker=speaker), counter
    )
    return metrics.Sized(name, line.tokens, line.heading, line.heading_tokens)


# -- means ----------------------------------------------------------------------------------------------------------------


def mean_of(scores: Iterable[Scores]) -> Scores:
    """The mean of each figure over those that have it, to four decimals."""
    given = list(scores)
    means: dict[str, float] = {}
    for name in Scores.__struct_fields__:
        values = [value for each in given if (value := getattr(each, name)) is not None]
        if values:
            means[name] = round(fmean(values), 4)
    return Scores(**means)


def figures(asked: Sequence[Asked], *, index_seconds: float) -> Figures:
    """The means over at least one question, and by category in order of name."""
    categories = sorted({each.category for each in asked})
    seconds = [each.seconds for each in asked]
    return Figures(
        **msgspec.structs.asdict(mean_of(each.scores for each in asked)),
        questions=len(asked),
        query_ms_p50=_ms(median(seconds)),
        query_ms_p95=_ms(quantiles(seconds, n=20)[-1] if len(seconds) > 1 else seconds[0]),
        query_cpu_ms_p50=_ms(median(each.cpu for each in asked)),
        index_seconds=round(index_seconds, 2),
        by_category={name: mean_of(each.scores for each in asked if each.category == name) for name in categories},
    )


def _ms(seconds: float) -> float:
    return round(1000 * seconds, 2)
