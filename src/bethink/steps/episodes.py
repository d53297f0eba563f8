"""Episodes: stored by hand, drawn where a session ends, found by what they were about, and kept within their bound."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime

from bethink.engine import Engine
from bethink.errors import PermissionDenied
from bethink.insights.episodes import drawn_episode, outgrown
from bethink.messages import Message
from bethink.models.language import Usage
from bethink.records import Episode, Outcome, StateEntry
from bethink.settings import check_choice
from bethink.steps.answer import Wanted
from bethink.steps.recall import recall_from
from bethink.steps.usage import usage_of
from bethink.storage.base import And, Compare, Filter, Get, InView, Retire, Scope, fields_of, passes
from bethink.usage import plus
from bethink.values import Namespace, utc

__all__ = ["chosen_by", "current_episodes", "draw_episode", "find_episodes", "store_episode"]

_REPLACED = "replaced by what was stored of it later"


def store_episode(engine: Engine, namespace: Namespace, episode: Episode, replaces: str | None) -> Episode:
    """Store an episode as given, in the place of another one if so asked; what outgrows the bound is archived. All of it is one
    transaction.

    Raises:
        NotFound: the thread it names is not there, or no record has the id `replaces`.
    """
    now = episode.recorded_at
    retire: tuple[Retire, ...] = ()
    if replaces is not None:
        _check_own(engine, namespace, replaces)
        retire = (Retire(replaces, now, _REPLACED, superseded_by=episode.id),)
    kept = [each for each in current_episodes(engine, namespace) if each.id != replaces]
    retire += outgrown([*kept, episode], now=now, settings=engine.settings)
    return engine.keep(namespace, episode, retire=retire)


def _check_own(engine: Engine, namespace: Namespace, record_id: str) -> None:
    """PermissionDenied if a view would replace what is the word of another agent."""
    if not engine.agent:
        return
    for stored in engine.store.get(Get(scope=Scope(namespace), records=(record_id,))).records:
        if stored.record.author not in ("", engine.agent):
            raise PermissionDenied("replace", namespace, f"it is the word of {stored.record.author!r}")


def draw_episode(
    engine: Engine, namespace: Namespace, thread_id: str, messages: Sequence[Message], *, through: int, now: datetime
) -> Episode | None:
    """The episode that a thread is, as far as it has come; see `insights.episodes.drawn_episode`. Its state must be drawn."""
    found = engine.records(Scope(namespace), kinds=("state",), current=False, thread_id=thread_id)
    # What came while this was being read belongs to the next time.
    entries = [stored.record for stored in found if isinstance(stored.record, StateEntry) and stored.record.seq <= through]
    if not entries:
        return None
    spent = usage_of(engine, Scope(namespace), thread_id)
    used = plus(spent.model, Usage(tokens_in=spent.tokens))
    return drawn_episode(entries, messages, thread_id=thread_id, through=through, now=now, used=used)


def current_episodes(engine: Engine, namespace: Namespace) -> list[Episode]:
    """The current ones of a namespace: as many as `settings.episode_limit` lets be, and those that are pinned."""
    return [record for record in engine.current(namespace, "episode") if isinstance(record, Episode)]


def find_episodes(engine: Engine, scope: Scope, task: str | None, k: int | None, where: Filter | None) -> list[Episode]:
    """The current episodes of tasks like this one, the most alike first; without a task, those that ended last first.

    The filter holds inside the search, before any limit.
    """
    k = engine.settings.recall_limit if k is None else k
    if task is None:
        return _newest(engine, scope, k, where)
    # The task at hand is what the others are looked for beside: they need not answer it, only be like it (`Ranker.tail`).
    beside = InView(namespace=scope.namespace, thread_id="")
    hits = recall_from(engine, scope, task, Wanted(k=k, kinds=("episode",), where=where, in_view=beside))
    fetched = engine.store.get(Get(scope=scope, records=tuple(hit.id for hit in hits))).records
    by_place = {(stored.namespace, stored.record.id): stored.record for stored in fetched}
    found = [by_place.get((hit.namespace, hit.id)) for hit in hits]
    return [record for record in found if isinstance(record, Episode)]


def _newest(engine: Engine, scope: Scope, k: int, where: Filter | None) -> list[Episode]:
    """Reads the current episodes, of which each namespace has a bounded number."""
    stored = engine.records(scope, kinds=("episode",), current=True)
    episodes = [each.record for each in stored if isinstance(each.record, Episode)]
    passing = [each for each in episodes if where is None or passes(where, fields_of(each, "", {}))]
    return sorted(passing, key=lambda episode: (episode.ended_at, episode.id), reverse=True)[:k]


def chosen_by(outcome: Outcome | None, since: datetime | None, until: datetime | None, where: Filter | None) -> Filter | None:
    """Of that outcome, ended at `since` or later and before `until`, and what a filter is true of besides.

    Raises:
        InvalidInput: no outcome, or a naive time.
    """
    parts: list[Filter] = [] if where is None else [where]
    if outcome is not None:
        check_choice(outcome, "outcome", Outcome)
        parts.append(Compare(("outcome",), "eq", outcome))
    if since is not None:
        parts.append(Compare(("at",), "gte", utc(since, "since")))
    if until is not None:
        parts.append(Compare(("at",), "lt", utc(until, "until")))
    return And(tuple(parts)) if parts else None
