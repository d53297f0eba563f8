"""What is left of a session when it ends: its summary, and a profile that is back within its bound.

The summary names first what was decided, and why, then what the extractive summariser finds worth a line among what can be
read alone (see `offered`); each line rests on its messages. Both steps give the same result for the same input, so ending a
session twice changes nothing.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from datetime import datetime

from bethink.compaction.extractive import select, shortened, summarise
from bethink.ids import derived_id
from bethink.insights.domains.sectioned import beyond
from bethink.insights.domains.template import ProfileTemplate
from bethink.insights.extract import extract
from bethink.insights.offered import offered, with_reason
from bethink.insights.reconcile import reconcile
from bethink.insights.retention import first_hand
from bethink.messages import Message, lowest_trust
from bethink.records import Insight, Line, Source, Summary
from bethink.settings import Settings
from bethink.storage.base import Retire

__all__ = ["archive", "session_summary"]


def session_summary(
    messages: Sequence[Message],
    *,
    thread_id: str,
    through: int,
    now: datetime,
    settings: Settings,
    count: Callable[[str], int],
) -> Summary | None:
    """The summary of a session; None where no user said anything that is worth a line.

    Args:
        messages: the session's messages, stored, in order.
        thread_id: its thread.
        through: seq of the last message that it covers.
        count: tokens of a text. The lines have at most `settings.summary_tokens` together, line breaks included.

    The id follows from the thread and `through`. `trust` is the lowest among the messages cited.
    """
    if not any(message.role == "user" and message.text.strip() for message in messages):
        return None
    said = {message.id: message for message in messages}
    stated = extract(messages, thread_id=thread_id, now=now)
    decisions = _decisions(stated, now)
    decided, left = _fitting(decisions, said, settings.summary_tokens // 2, count)
    limit = settings.summary_tokens // 2 + settings.summary_tokens % 2 + left
    found = select(offered(messages, stated), limit=limit, count=count) or summarise(messages, limit=limit, count=count)
    lines = (*decided, *(line for line in found if not _says_a_decision(line, decisions, said)))
    if not lines:
        return None
    sources = _sources(lines, thread_id)
    last = messages[-1].created_at or now
    return Summary(
        id=derived_id(last, "summary", thread_id, str(through)),
        text="\n".join(line.text for line in lines),
        trust=lowest_trust(said[source.message_id].trust for source in sources),
        recorded_at=now,
        valid_from=messages[0].created_at or now,
        importance="medium",
        sources=sources,
        thread_id=thread_id,
        lines=lines,
        through=through,
    )


def archive(
    insights: Iterable[Insight], *, now: datetime, settings: Settings, template: ProfileTemplate | None = None
) -> tuple[Retire, ...]:
    """What leaves a profile because better ones fill it, or its section of a template. It stays in history, and comes back when
    it is said again. Each subject has a profile of its own.

    What somebody told of another is in nobody's profile, so it neither fills it nor leaves it.
    """
    profiles: dict[str, list[Insight]] = {}
    for insight in filter(first_hand, insights):
        profiles.setdefault(insight.subject, []).append(insight)
    return tuple(
        Retire(
            record_id=insight.id,
            at=now,
            reason=f"archived: retention score {score:.3f} is below {_those_kept(template, settings)}",
        )
        for profile in profiles.values()
        for insight, score in beyond(profile, now=now, settings=settings, template=template)
    )


def _those_kept(template: ProfileTemplate | None, settings: Settings) -> str:
    return f"the {settings.profile_size} kept" if template is None else f"those that {template.name} keeps of its section"


def _decisions(stated: Sequence[Insight], now: datetime) -> list[Insight]:
    """What was decided and not taken back before the session ended, oldest first."""
    made = [insight for insight in stated if insight.topic == "decision"]
    changes = reconcile((), made, now=now)
    closed = {retire.record_id for retire in changes.retire}
    return [insight for insight in changes.records if insight.id not in closed]


def _fitting(
    decisions: Sequence[Insight], said: Mapping[str, Message], limit: int, count: Callable[[str], int]
) -> tuple[list[Line], int]:
    """Decisions as lines, oldest first, and the tokens of `limit` that are left; the newest go in first."""
    lines: list[Line] = []
    for insight in reversed(decisions):
        text = with_reason(insight, said)
        cost = count(text) + 1
        if cost > limit:
            continue
        limit -= cost
        latest = said[insight.sources[-1].message_id]
        ids = tuple(source.message_id for source in insight.sources)
        at = latest.created_at or insight.recorded_at
        lines.append(Line(text=text, sources=ids, at=at, speaker=latest.speaker))
    return lines[::-1], limit


def _says_a_decision(line: Line, decisions: Iterable[Insight], said: Mapping[str, Message]) -> bool:
    """Whether a line is the sentence that a decision was drawn from, which would say it twice."""
    return any(
        source.message_id in line.sources and line.text == shortened(said[source.message_id].text[source.start : source.end])
        for insight in decisions
        for source in insight.sources
    )


def _sources(lines: Iterable[Line], thread_id: str) -> tuple[Source, ...]:
    """One source for each message cited, in the order of the lines; its text is the first line that cites it."""
    texts: dict[str, str] = {}
    for line in lines:
        for message_id in line.sources:
            texts.setdefault(message_id, line.text)
    return tuple(Source(message_id, thread_id, text) for message_id, text in texts.items())
