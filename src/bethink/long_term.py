"""The verbs of long-term memory: what is kept, known, was known, and waits to be. `Memory` has them all.

store, store_episode, items ─▶ kept        profile, records, episodes, history, diff ─▶ looked at
pending ─▶ approve, reject                 changes ─▶ undo
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from datetime import datetime
from typing import TYPE_CHECKING, Any

import msgspec

from bethink.errors import InvalidInput, NotFound, PermissionDenied
from bethink.ids import new_id
from bethink.insights.domains.given import GivenTemplate, template_from
from bethink.messages import Trust
from bethink.profile import Profile, profile_of
from bethink.records import AnyRecord, Episode, Importance, Note, Outcome, Proposal, RecordKind
from bethink.retrieval.filters import Where, filter_of
from bethink.steps import past
from bethink.steps import undo as undoing
from bethink.steps.reflect import catch_up
from bethink.storage.base import Change, Cite, Get, Pin, Put, Scope
from bethink.values import Namespace, check_id, check_json, check_text, utc

if TYPE_CHECKING:
    from bethink.claims import ArtifactRef
    from bethink.engine import Engine
    from bethink.insights.differences import Diff, HistoryEntry
    from bethink.items.handle import Items
    from bethink.sharing.artifacts import OpenArtifact
    from bethink.sharing.board import Board

__all__ = ["LongTerm"]


class LongTerm:
    """Of one namespace; see `Memory`, which is made of it."""

    _engine: Engine
    _namespace: Namespace

    @property
    def items(self) -> Items:
        """JSON objects under keys, of this namespace (see `items.handle.Items`)."""
        from bethink.items.handle import Items

        return Items(self._engine, self._namespace)

    @property
    def board(self) -> Board:
        """The blackboard of this namespace: facts that agents post, each under its own name (see `sharing.board.Board`)."""
        from bethink.sharing.board import Board

        return Board(self._engine, self._namespace)

    def store_artifact(self, key: str, content: Any) -> ArtifactRef:
        """Store a text or JSON value that agents pass on by reference. Returns the reference to this version of it.

        The same content again is the same version. It is the item `key` of this namespace (see `items`), with its history
        (`settings.item_history`): a former version can be opened for as long as it is there.

        Raises:
            InvalidInput: it is neither a text nor JSON, or more than 10 MiB of it.
        """
        from bethink.steps.artifacts import store_artifact

        return store_artifact(self._engine, self._namespace, check_id(key, "key"), content)

    def artifact(self, ref: ArtifactRef | str) -> OpenArtifact:
        """Open an artifact: the version that the reference names, wherever this memory or view may read.

        Args:
            ref: the reference, or `art:` with its id, or with the last eight characters as lines show it (which looks through
                all items).

        Raises:
            PermissionDenied: it is where this view may not read.
            NotFound: it is not there, or no longer.
            CorruptStore: what is stored is not what the reference says.
        """
        from bethink.sharing.artifacts import checked_ref
        from bethink.steps.artifacts import open_artifact

        return open_artifact(self._engine, self._namespace, *checked_ref(ref))

    def store(
        self,
        text: str,
        metadata: Mapping[str, Any] | None = None,
        *,
        importance: Importance = "medium",
        pinned: bool = False,
        trust: Trust | None = None,
        at: datetime | None = None,
    ) -> Note:
        """Keep a text. Returns the note as stored, searchable from now on; `pinned` puts it into every context.

        Args:
            metadata: JSON of your own, given back with it.
            trust: who vouches for it: `"user"` for what he said or the developer knows; `"assistant"`, `"tool"` or `"external"`
                for what an agent keeps of a reply, a tool or a document, so that it is shown as that and never as the user's.
                By default "user"; "assistant" through the view of an agent, which cannot vouch for the user.
            at: when it is true in the world, if not from now on; aware.
        """
        check_text(text, "text")
        if not text.strip():
            raise InvalidInput("text", "empty", "there is nothing to keep")
        check_json(dict(metadata or {}), "metadata")
        if importance not in ("high", "medium", "low"):
            raise InvalidInput("importance", f"{importance!r}", "use high, medium or low")
        if trust is None:
            trust = "assistant" if self._engine.agent else "user"
        if trust == "user" and self._engine.agent:
            raise PermissionDenied("write", self._namespace, "what an agent stores is not the user's word: leave trust out")
        if trust not in ("user", "assistant", "tool", "external"):
            raise InvalidInput("trust", f"{trust!r}", "use user, assistant, tool or external")
        now = self._engine.clock.now()
        note = Note(
            id=new_id(now),
            text=text,
            trust=trust,
            recorded_at=now,
            valid_from=None if at is None else utc(at, "at"),
            importance=importance,
            pinned=pinned,
            metadata=dict(metadata or {}),
            author=self._engine.agent,
        )
        return self._engine.keep(self._namespace, note)

    def store_episode(
        self,
        task: str,
        *,
        outcome: Outcome = "unknown",
        approach: str = "",
        feedback: str = "",
        tools: Iterable[str] = (),
        started_at: datetime | None = None,
        ended_at: datetime | None = None,
        tokens: int = 0,
        cost: float | None = None,
        thread: str | None = None,
        replaces: str | None = None,
        importance: Importance = "medium",
        pinned: bool = False,
        metadata: Mapping[str, Any] | None = None,
    ) -> Episode:
        """Keep a record of a piece of work: what was to be done, how it was gone about, what came of it. Returns it as stored.

        The end of a session makes one by itself of a thread that has a goal or a finished task (see `Thread.end`). A namespace
        keeps `settings.episode_limit` of them current; what is worth least is archived, be it this one.

        Args:
            outcome: "success", "partial", "failure" or "unknown".
            tools: names of the tools that were used.
            started_at, ended_at: aware; the end is now if left out.
            tokens, cost: what it took; the cost in whatever currency you count in.
            thread: the thread it was done in: the episode goes with it.
            replaces: the id of an episode that this one takes the place of, when feedback comes later, say.
            metadata: JSON of your own, given back with it.

        Raises:
            InvalidInput: one of them cannot be taken.
            NotFound: there is no such thread or record here.
        """
        from bethink.insights.episodes import given_episode
        from bethink.steps.episodes import store_episode

        episode = given_episode(
            task,
            outcome=outcome,
            approach=approach,
            feedback=feedback,
            tools=tools,
            started_at=started_at,
            ended_at=ended_at,
            tokens=tokens,
            cost=cost,
            thread_id=thread,
            importance=importance,
            pinned=pinned,
            metadata=metadata,
            now=self._engine.clock.now(),
        )
        episode = msgspec.structs.replace(episode, author=self._engine.agent)
        former = None if replaces is None else self._record_id(replaces)
        return store_episode(self._engine, self._namespace, episode, former)

    def episodes(
        self,
        task: str | None = None,
        k: int | None = None,
        *,
        outcome: Outcome | None = None,
        since: datetime | None = None,
        until: datetime | None = None,
        where: Where | None = None,
        below: bool = False,
    ) -> list[Episode]:
        """What was done of tasks like this one, the most alike first; without a task, what ended last first.

            memory.episodes("move the billing service", outcome="success")

        `recall(task, kinds=["episode"])` tells the scores as well.

        Args:
            k: at most this many (`settings.recall_limit` if left out).
            outcome: only with this outcome.
            since, until: only what ended at `since` or later, and before `until`; aware.
            where: only what this filter is true of besides (see `recall`).
            below: also of the namespaces below this one.
        """
        from bethink.steps.episodes import chosen_by, find_episodes

        if k is not None and k < 1:
            raise InvalidInput("k", f"{k}", "ask for 1 episode or more")
        if task is not None:
            check_text(task, "task")
        chosen = chosen_by(outcome, since, until, filter_of(where))
        catch_up(self._engine, self._namespace)
        return find_episodes(self._engine, Scope(self._namespace, below), task, k, chosen)

    def profile(
        self,
        subject: str = "user",
        *,
        template: GivenTemplate | None = None,
        as_of: datetime | None = None,
        valid_at: datetime | None = None,
    ) -> Profile:
        """What is currently known about somebody: `"user"`, or a speaker's or third person's name.

        Insights are first drawn from messages that none have been drawn from yet; not so for a question `as_of` a time.

        Args:
            template: lays it out in sections: a name ("healthcare"), a `ProfileTemplate`, a dataclass or a JSON Schema; by
                default that of the memory, if it has one. One of this call alone chooses among what is known: what it asks for
                besides is listened for by a memory that is opened with it.
            as_of: the profile as it would have been shown at that time: what was known, scored as it was used by then, within
                the bound of today's settings. What was forgotten since stays forgotten.
            valid_at: what was true in the world at that time, as far as is known: superseded insights too.

        Raises:
            InvalidInput: a naive time, or an `as_of` that is yet to come; a template that cannot be met.
        """
        engine = self._engine
        if template is None:
            chosen = engine.template
        else:
            chosen = template_from(template)
            chosen.check_room(chosen.bound(engine.settings), "settings.profile_size")
        asked = past.when(self._engine, as_of, valid_at)
        if asked.as_of is None:
            catch_up(self._engine, self._namespace)
        whose = subject.casefold()
        if asked.is_now:
            known = [insight for insight in engine.insights(self._namespace, current=True) if insight.subject == whose]
            return profile_of(
                whose, known, now=engine.clock.now(), settings=engine.settings, template=chosen, own=engine.template
            )
        held = past.held_at(engine, self._namespace, asked, whose)
        now = asked.as_of or engine.clock.now()
        known = list(held.values())
        return profile_of(whose, known, now=now, settings=engine.settings, template=chosen, own=engine.template, then=True)

    def records(self, kind: RecordKind | None = None, *, current: bool = True, below: bool = False) -> list[AnyRecord]:
        """Long-term records, oldest first; with `current=False` also those that were superseded or archived.

        Entries of the states of threads (kind "state") come only when they are asked for: see `Thread.state`. Items are read by
        their keys: see `items`.
        """
        if kind == "item":
            raise InvalidInput("kind", "item", "items end, and records do not: use memory.items")
        catch_up(self._engine, self._namespace)
        kinds: tuple[RecordKind, ...] = ("note", "insight", "summary", "episode") if kind is None else (kind,)
        found = self._engine.records(Scope(self._namespace, below), kinds=kinds, current=current)
        return [stored.record for stored in found]

    def cite(self, *record_ids: str) -> list[AnyRecord]:
        """Count a use of records: it strengthens them. Takes ids, or the short marks that a context shows (`[mem:...]`).

        Raises:
            NotFound: no such record here, or a mark that fits several.
        """
        now = self._engine.clock.now()
        ids = [self._record_id(given) for given in record_ids]
        self._engine.store.put(Put(namespace=self._namespace, at=now, cite=tuple(Cite(found, now) for found in ids)))
        return self._records_named(ids)

    def pin(self, *records: str) -> list[AnyRecord]:
        """Keep records in view until they are let go: a note is in every context, an insight in every context and profile
        whatever it scores, an episode is never archived. Takes ids or short marks; returns the records. Pinning again changes
        nothing. A newer statement takes the place of a pinned insight as of any other, and is not pinned by that.

        Raises:
            NotFound: no such record here, or a mark that fits several.
            Conflict: one is no longer current.
            InvalidInput: one is no note, insight or episode.

        What is pinned takes room: `context` raises when it does not fit (`BudgetError`, or `Limits.memory_tokens`).
        """
        return self._pin(records, pinned=True)

    def unpin(self, *records: str) -> list[AnyRecord]:
        """Let pinned records go: from now on they are shown and kept by their scores. See `pin`; takes retired ones too."""
        return self._pin(records, pinned=False)

    def _pin(self, records: Sequence[str], *, pinned: bool) -> list[AnyRecord]:
        now = self._engine.clock.now()
        ids = [self._record_id(given) for given in records]
        pins = tuple([Pin(found, pinned) for found in ids])
        self._engine.store.put(Put(namespace=self._namespace, at=now, pin=pins))
        return self._records_named(ids)

    def _records_named(self, ids: Sequence[str]) -> list[AnyRecord]:
        fetched = self._engine.store.get(Get(scope=Scope(self._namespace), records=tuple(ids)))
        by_id = {stored.record.id: stored.record for stored in fetched.records}
        return [by_id[found] for found in ids]

    def _record_id(self, given: str) -> str:
        mark = check_id(given, "record id").removeprefix("[").removesuffix("]").removeprefix("mem:")
        if len(mark) >= 32:
            return mark
        fetched = self._engine.store.get(Get(scope=Scope(self._namespace), endings=(mark,)))
        found = [stored.record.id for stored in fetched.records if stored.record.kind != "item"]
        if len(found) != 1:
            raise NotFound(f"{len(found) or 'no'} records here end in {mark!r} — give the whole id")
        return found[0]

    def history(self, item: str, *, subject: str = "user") -> list[HistoryEntry]:
        """What took whose place, oldest first, each record with what happened to it: when it was recorded, said again, retired
        and why, and current again.

        Args:
            item: a record id or its short mark (`mem:3f2a9c1d`); or a slot of the subject, such as `"residence"`.

        Raises:
            NotFound: no such record here, or nothing was ever kept in such a slot.
        """
        check_text(item, "item")
        catch_up(self._engine, self._namespace)
        whose = subject.casefold()
        if any((each.subject, each.slot) == (whose, item) for each in self._engine.insights(self._namespace)):
            return past.history(self._engine, self._namespace, subject=whose, slot=item)
        return past.history(self._engine, self._namespace, record_id=self._record_id(item))

    def diff(self, since: datetime, until: datetime | None = None) -> Diff:
        """What was learned, changed, retired, archived and forgotten in this namespace between two times; `until` now if it is
        left out.

        Raises:
            InvalidInput: a naive time, one that is yet to come, or `since` after `until`.
        """
        catch_up(self._engine, self._namespace)
        return past.diff(self._engine, self._namespace, since, until)

    def pending(self) -> list[Proposal]:
        """With `Settings(review=True)`: the insights, session summaries and episodes that wait to be approved, oldest first.
        They are in no profile, recall or context, survive a restart, and are forgotten with what they rest on.
        """
        from bethink.steps import review

        if self._engine.settings.review:
            catch_up(self._engine, self._namespace)
        return review.pending(self._engine, self._namespace)

    def approve(self, *proposals: str) -> list[AnyRecord]:
        """Let what was proposed be known, all of it or none; returns the records that say it. Approving again changes nothing.

        Args:
            proposals: ids or short marks of what is `pending`. What is known by now decides what each adds to or supersedes.

        Raises:
            NotFound: one is not there, or was forgotten with what it rested on.
            Conflict: one was rejected before.
        """
        from bethink.steps import review

        return review.approve(self._engine, self._namespace, [self._record_id(given) for given in proposals])

    def reject(self, *proposals: str) -> list[Proposal]:
        """Let what was proposed not be known; returns the proposals. What they rest on is not drawn from again. Rejecting again
        changes nothing.

        Raises:
            NotFound: one is not there, or was forgotten with what it rested on.
            Conflict: one was approved before: see `undo`.
        """
        from bethink.steps import review

        return review.reject(self._engine, self._namespace, [self._record_id(given) for given in proposals])

    def changes(self, since: datetime | None = None) -> list[Change]:
        """What was stored together in this namespace, oldest first: each drawing of insights that had something to store, each
        end of a thread, each word of a review, each undoing. With `since`, those later than that.
        """
        return undoing.changes(self._engine, self._namespace, since=None if since is None else utc(since, "since"))

    def undo(self, change: str) -> Change:
        """Take one change back: what it stored is retired, what it retired is current again, what gained a source by it is
        without that. Uses that were counted stay counted, and its messages are not drawn from again. Undoing twice changes
        nothing.

        Args:
            change: its id (see `changes`), or that of a record it stored, such as the summary that `end()` returned.

        Returns:
            The change that took it back; `undoes` names the other.

        Raises:
            NotFound: no such change here.
            InvalidInput: it was itself an undoing.
            Conflict: something newer rests on what it stored or retired; the error says which records. Nothing was changed.
        """
        return undoing.undo(self._engine, self._namespace, check_id(change, "change"))
