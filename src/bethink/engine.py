"""One open database with its models: what every `Memory` view of it shares, and what the `steps` work with."""

from __future__ import annotations

import copy
from collections import OrderedDict
from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager, suppress
from functools import partial
from threading import Lock
from typing import Generic, NamedTuple, Protocol, TypeAlias, TypeVar, cast

import msgspec

from bethink.compaction.talk import Talk
from bethink.context import FoldedLines, Lines
from bethink.errors import EmbedderMismatch, InvalidInput, MissingExtra, PermissionDenied
from bethink.insights.domains.template import ProfileTemplate
from bethink.insights.standing import changed_since
from bethink.insights.state.values import State
from bethink.limits import NO_LIMITS, Limits
from bethink.models import Clock, Embedder, Fingerprint, TokenCounter, TokenEmbedder, mismatch
from bethink.models.cached import CachedCounter, CachedEmbedder, CachedTokenEmbedder
from bethink.models.driving import arun, run
from bethink.models.given import is_async_model
from bethink.models.language import AsyncLanguageModel, LanguageModel, ModelStep, Observer
from bethink.models.measure import Measure, counter_for
from bethink.records import AnyRecord, Insight, Line, Note, RecordKind, StateEntry, Summary
from bethink.redaction import Redaction
from bethink.retrieval.ranker import Ranker
from bethink.rights import Rights
from bethink.settings import Settings
from bethink.storage.base import (
    Append,
    Forget,
    ForgetReceipt,
    Get,
    Put,
    Retire,
    Rewrite,
    Rewritten,
    Scan,
    Scanned,
    Scope,
    Store,
    StoredRecord,
)
from bethink.storage.guarded import GuardedStore
from bethink.telemetry import Telemetry
from bethink.usage import Counted
from bethink.values import Namespace

__all__ = ["SESSIONS", "Bound", "Engine", "Known", "ReadState", "Watcher"]

_K = TypeVar("_K")
_T = TypeVar("_T")
_R = TypeVar("_R", bound=AnyRecord)
_V = TypeVar("_V")
_Wording: TypeAlias = tuple[tuple[str, ...], tuple[str, ...], int]
"""Texts and speakers of lines, and a limit."""

SESSIONS = 32
"""Ended sessions that a context looks back at; older ones are recalled."""

_CHOICES = 256
_NAMESPACES = 64
_THREADS = 64


class Known(msgspec.Struct, frozen=True, kw_only=True):
    """What every context of a namespace is to have at hand of its records.

    Attributes:
        insights: all, oldest first; `by_id` has them by their ids.
        current: those that are current, oldest first.
        changed: by message id, what has taken the place of something the message said (see `changed_since`).
        notes: the current ones that are pinned, oldest first.
        summaries: those of the sessions in which something was said last, one for each thread, the newest first; at most
            `SESSIONS`.
    """

    insights: tuple[Insight, ...]
    by_id: dict[str, Insight]
    current: tuple[Insight, ...]
    changed: dict[str, Insight]
    notes: tuple[Note, ...]
    summaries: tuple[Summary, ...]


class Watcher(Protocol):
    """Whoever has something to do when threads fold. No method raises, or takes long."""

    def notice(self, namespace: Namespace, thread_id: str, *, folded: bool, unscored: bool = False) -> None:
        """A thread with summaries was looked at; `folded` says whether some of them are new, `unscored` that there are messages
        enough to ask for their scores.
        """
        ...

    def forgot(self) -> None:
        """Something was forgotten: summaries may have lost lines."""
        ...

    def close(self) -> None:
        """The store is about to be closed. Afterwards it is not touched any more."""
        ...


class Bound(NamedTuple):
    """An embedder, and the space of the database that is its own, under the fingerprint that is stored there."""

    embedder: CachedEmbedder
    space: Fingerprint

    @property
    def of_tokens(self) -> CachedTokenEmbedder | None:
        """The embedder, if vectors of tokens are wanted."""
        return self.embedder if isinstance(self.embedder, CachedTokenEmbedder) else None


_TOKENS = 'take an embedder that gives vectors of tokens, such as "minilm" (extra "minilm"), or leave maxsim off'
_THRESHOLDS = 'take the embedder "minilm" (extra "minilm"), or leave the setting out'


def _fit(embedder: Embedder, settings: Settings) -> CachedEmbedder:
    """An embedder that remembers, and that gives what the settings want of it."""
    if not settings.maxsim:
        return CachedEmbedder(embedder)
    if not isinstance(embedder, TokenEmbedder):
        raise InvalidInput("settings.maxsim", "an embedder of whole texts alone", _TOKENS)
    return CachedTokenEmbedder(embedder)


class ReadState(msgspec.Struct, frozen=True):
    """A state as it was read at a revision of its namespace's records, and the entries that it adds up from, by id."""

    revision: int
    entries: dict[str, StateEntry]
    state: State


class Engine:
    """Store, clock, counter, embedders, language model, settings, ranker. Safe to use from many threads.

    `counter` counts what is stored, `measure` what a context costs.

    Attributes:
        language_model: asked by steps (see `ask`); None where nobody gave one, and every step does without. An asynchronous one
            is asked on event loops alone.
        counted: how much of the threads seen last has been counted (see `steps.usage`).
        lines: items as the lines of contexts.
        folded, talks: of the threads seen last, the lines of their folded past and what is talked about in the rest.
        redaction: what the store takes out of all that is written, and questions are redacted by; None for nothing.
        rights: what the view whose engine this is was given; None for whoever holds the memory.
        limits: of the memory: what is done for it in the background keeps to them.
        telemetry: opens the spans of what is done, and tells whoever listens.
        watcher: is told of threads that have summaries; None where nobody wants to know.
    """

    def __init__(
        self,
        store: Store,
        *,
        clock: Clock,
        counter: TokenCounter | None,
        embedders: Sequence[Embedder],
        settings: Settings,
        ranker: Ranker,
        language_model: LanguageModel | AsyncLanguageModel | None = None,
        telemetry: Telemetry | None = None,
        limits: Limits = NO_LIMITS,
        for_model: str = "",
        redaction: Redaction | None = None,
        template: ProfileTemplate | None = None,
    ) -> None:
        self.store = store
        self.template = template
        self.redaction = redaction
        self.clock = clock
        self.counter = CachedCounter(counter or counter_for(for_model))
        self._own_counter = counter is not None
        self._measure = Measure(self.counter, for_model)
        self._counters = {self.counter.name: self.counter}
        self._choices: _Last[_Wording, frozenset[int]] = _Last(_CHOICES)
        self._embedders = tuple([_fit(each, settings) for each in embedders])
        if settings.maxsim and not embedders:
            raise InvalidInput("settings.maxsim", "no embedder", _TOKENS)
        if settings.prototypes and self.calibrated is None:
            raise InvalidInput("settings.prototypes", "no embedder that it has thresholds for", _THRESHOLDS)
        self.language_model = language_model
        self.telemetry = telemetry or Telemetry()
        self.limits = limits
        self.watcher: Watcher | None = None
        self.settings = settings
        self.ranker = ranker
        self._known: _Last[Namespace, tuple[int, Known]] = _Last(_NAMESPACES)
        self.counted: _Last[tuple[object, ...], Counted] = _Last(_CHOICES)
        self.states: _Last[tuple[Namespace, str], ReadState] = _Last(_NAMESPACES)
        self.lines = Lines()
        self.folded: _Last[tuple[object, ...], FoldedLines] = _Last(_THREADS)
        self.talks: _Last[tuple[object, ...], Talk] = _Last(_THREADS)
        self._bound: Bound | None = None
        self.rights: Rights | None = None

    # -- views ------------------------------------------------------------------------------------------------------------

    def viewed(self, rights: Rights) -> Engine:
        """This engine for a view: the same models and what is kept at hand, and a store that does what the rights allow.

        What is kept at hand is found under a revision or a reading of the store, which refuses first.

        Raises:
            PermissionDenied: this is the engine of a view that has less.
        """
        allowed = rights if self.rights is None else self.rights.narrowed(rights)
        beneath = self.store.beneath if isinstance(self.store, GuardedStore) else self.store
        viewed = copy.copy(self)
        viewed.rights = allowed
        # It has every verb of the waist (a test compares them).
        viewed.store = GuardedStore(beneath, allowed)
        return viewed

    @property
    def agent(self) -> str:
        """Whose word it is what is stored; "" for whoever holds the memory."""
        return "" if self.rights is None else self.rights.agent

    def may_read(self, namespace: Namespace) -> bool:
        """Whether a namespace and all below it may be read."""
        return self.rights is None or self.rights.may_read(namespace)

    def may_write(self, namespace: Namespace) -> bool:
        """Whether a namespace and all below it may be written. Where not, reading leaves no trace: nothing is drawn, counted,
        folded or kept as a receipt.
        """
        return self.rights is None or self.rights.may_write(namespace)

    def readable(self, scope: Scope) -> tuple[Scope, ...]:
        """The scope, if it may be read; otherwise what of it may be, each place by itself.

        Raises:
            PermissionDenied: nothing of it may be read.
        """
        if self.rights is None:
            return (scope,)
        places = self.rights.readable_below(scope.namespace)
        if not places:
            raise PermissionDenied("read", scope.namespace, "nothing here or below was given to it")
        return tuple([Scope(place, scope.subtree) for place in places])

    # -- what steps ask for -----------------------------------------------------------------------------------------------

    def chosen_lines(self, lines: Sequence[Line], limit: int) -> frozenset[int]:
        """Which of the lines `compaction.extractive.choose` chooses, by position.

        Remembered: the folded past changes seldom, and every context of a thread asks for the same choice of it.
        """
        # What is chosen depends on words and speakers alone.
        wording = tuple([line.text for line in lines]), tuple([line.speaker for line in lines]), limit
        positions = self._choices.get(wording)
        if positions is None:
            # Here and not above: its patterns are not compiled by who has nothing folded.
            from bethink.compaction.extractive import choose

            chosen = set(choose(lines, limit=limit, count=self.counter.count))
            positions = frozenset(position for position, line in enumerate(lines) if line in chosen)
            self._choices.keep(wording, positions)
        return positions

    def measure(self, for_model: str | None = None) -> Measure:
        """How a context is measured for the model that reads it; for the memory's own, if none is named here."""
        if for_model is None or for_model == self._measure.model:
            return self._measure
        if self._own_counter:
            return Measure(self.counter, for_model)
        counter = counter_for(for_model)
        return Measure(self._counters.setdefault(counter.name, CachedCounter(counter)), for_model)

    def notice(self, namespace: Namespace, thread_id: str, *, folded: bool, unscored: bool = False) -> None:
        """Tell the watcher."""
        if self.watcher is not None and self.may_write(namespace):
            self.watcher.notice(namespace, thread_id, folded=folded, unscored=unscored)

    def close(self) -> None:
        """Close the store, after whoever watches has let go of it. A view closes nothing."""
        if self.rights is not None:
            return
        if self.watcher is not None:
            self.watcher.close()
        self.store.close()

    def forget(self, request: Forget) -> ForgetReceipt:
        """Forget in the database, and in what this process keeps at hand."""
        with self.telemetry.span("forget", namespace=request.scope.namespace):
            receipt = self.store.forget(request)
        if request.expired and not receipt.record_ids:
            return receipt
        self._forget_kept()
        return receipt

    def rewrite(self, request: Rewrite) -> Rewritten:
        """Rewrite in the database, and forget what this process keeps at hand of it."""
        done = self.store.rewrite(request)
        if done.changed and not request.dry:
            self._forget_kept()
        return done

    def redacted(self, question: str) -> str:
        """A question in the words in which what it asks for is stored."""
        return question if self.redaction is None else self.redaction.text(question)

    def _forget_kept(self) -> None:
        for counter in list(self._counters.values()):
            counter.forget()
        for embedder in self._embedders:
            embedder.forget()
        self._choices.clear()
        self._known.clear()
        self.counted.clear()
        self.states.clear()
        self.lines.forget()
        self.folded.clear()
        self.talks.clear()
        if self.watcher is not None:
            self.watcher.forgot()

    def appending(self, request: Append) -> AbstractContextManager[object]:
        """The span of an append, which is done in several ways."""
        return self.telemetry.span(
            "append", namespace=request.namespace, thread_id=request.thread_id, messages=len(request.messages)
        )

    def ask(self, step: ModelStep[_T], *, observe: Observer | None = None) -> _T:
        """Run a step with the language model, each call within `settings.model_timeout`; see `models.driving.run`.

        Raises:
            InvalidInput: there is no model, or it is one of an event loop.
        """
        model = self._model()
        if is_async_model(model):
            raise InvalidInput("language_model", "asynchronous", "ask it on its event loop: use AsyncMemory")
        return run(step, cast("LanguageModel", model), timeout=self._model_timeout(), observe=observe)

    async def ask_async(self, step: ModelStep[_T], *, observe: Observer | None = None) -> _T:
        """`ask` for an event loop: an asynchronous model is asked on it, a synchronous one in a worker thread, for whose answer
        a cancelled task waits.

        Raises:
            InvalidInput: there is no model.
        """
        model = self._model()
        if is_async_model(model):
            return await arun(step, cast("AsyncLanguageModel", model), timeout=self._model_timeout(), observe=observe)
        import anyio.to_thread

        return await anyio.to_thread.run_sync(partial(self.ask, step, observe=observe))

    @property
    def model_name(self) -> str:
        """The language model's name.

        Raises:
            InvalidInput: there is no model.
        """
        return self._model().name

    def _model(self) -> LanguageModel | AsyncLanguageModel:
        if self.language_model is None:
            raise InvalidInput("language_model", "none", "open the memory with language_model=...")
        return self.language_model

    def _model_timeout(self) -> float | None:
        return None if self.settings.model_timeout is None else self.settings.model_timeout.total_seconds()

    @property
    def embedder(self) -> CachedEmbedder | None:
        """The first of the embedders, which a new database is bound to; None where there is none."""
        return self._embedders[0] if self._embedders else None

    @property
    def calibrated(self) -> CachedEmbedder | None:
        """The first of the embedders, if it runs in this process and thresholds of nearness were chosen for its space."""
        embedder = self.embedder
        if embedder is None or not embedder.local:
            return None
        from bethink.insights.prototypes import calibrated

        return embedder if calibrated(embedder.fingerprint) else None

    def in_space(self, act: Callable[[Bound | None], _T]) -> _T:
        """Do something with the embedder whose space is the database's, or None where there is no embedder. It is done again,
        once, if the database refuses that space by now: another process may have changed the model for one that is here too.

        Raises:
            EmbedderMismatch: the database holds vectors of none of the embedders.
        """
        bound = self._bound or self._bind()
        try:
            return act(bound)
        except EmbedderMismatch:
            self._bound = None
            return act(self._bind())

    def _bind(self) -> Bound | None:
        if not self._embedders:
            return None
        if not (spaces := self.store.spaces()):
            if self.rights is not None and not self.rights.writes:
                return None
            # Another process may be first.
            with suppress(EmbedderMismatch):
                self.store.bind_embedder(self._embedders[0].fingerprint)
            spaces = self.store.spaces()
        # The current one first, then the one that is being filled. Two runs of one model are never quite equal; what the
        # database remembers stays as it is.
        for space in spaces:
            for embedder in self._embedders:
                if embedder.fingerprint.same_space(space.fingerprint):
                    self._bound = Bound(embedder, space.fingerprint)
                    return self._bound
        current, *filling = [space.fingerprint for space in spaces]
        raise mismatch(current, self._embedders[0].fingerprint, filling=filling[0] if filling else None)

    def target(self, given: Embedder | None) -> Bound:
        """The embedder to fill a space with: the one given, which is at hand from now on, or else the first. It has the space
        that is its own already, or is to have a new one.

        Raises:
            MissingExtra: there is none.
        """
        if given is not None:
            self._embedders = (*self._embedders, _fit(given, self.settings))
        if not self._embedders:
            raise MissingExtra("embedding", "minilm")
        embedder = self._embedders[0 if given is None else -1]
        own = [space.fingerprint for space in self.store.spaces() if embedder.fingerprint.same_space(space.fingerprint)]
        return Bound(embedder, own[0] if own else embedder.fingerprint)

    def adopt(self, target: Bound) -> None:
        """Its space is the current one: it comes first from now on."""
        self._embedders = (target.embedder, *[each for each in self._embedders if each is not target.embedder])
        self._bound = target

    def pages(self, scan: Scan) -> Iterator[Scanned]:
        """Every item of a scan, page after page."""
        while True:
            page = self.store.scan(scan)
            yield from page.items
            if page.next is None:
                return
            scan = msgspec.structs.replace(scan, after=page.next)

    def records(
        self,
        scope: Scope,
        *,
        kinds: tuple[RecordKind, ...] | None = None,
        current: bool = True,
        pinned: bool = False,
        newest: bool = False,
        thread_id: str | None = None,
        limit: int = 500,
    ) -> Iterator[StoredRecord]:
        """Records of a scope, oldest first unless `newest`; `limit` is the size of a page, not of the answer. Without `kinds`,
        of all kinds but items, of which nobody but `steps.items` needs to know.
        """
        scan = Scan(
            what="records",
            scope=scope,
            kinds=kinds,
            current=current,
            pinned=pinned,
            newest=newest,
            thread_id=thread_id,
            limit=limit,
        )
        return (item for item in self.pages(scan) if isinstance(item, StoredRecord))

    def current(self, namespace: Namespace, kind: RecordKind) -> list[AnyRecord]:
        """The current records of a kind, in the order of their ids. Reads those alone, however many are history."""
        scan = Scan(what="records", scope=Scope(namespace), kinds=(kind,), current=True, by_id=True)
        return [item.record for item in self.pages(scan) if isinstance(item, StoredRecord)]

    def insights(self, namespace: Namespace, *, current: bool = False) -> tuple[Insight, ...]:
        """The insights of a namespace, oldest first; by default with those that are no longer current.

        See `known`.
        """
        known = self.known(namespace)
        return known.current if current else known.insights

    def known(self, namespace: Namespace) -> Known:
        """What is known in a namespace.

        Read once for each revision of the namespace's records, and kept for the last namespaces asked for.
        """
        # Before they are read: what is written meanwhile has a higher revision, and the next call reads again.
        revision = self.store.revision(namespace)
        at, known = self._known.get(namespace) or (None, None)
        if known is None or at != revision:
            known = self._read_known(Scope(namespace))
            self._known.keep(namespace, (revision, known))
        return known

    def _read_known(self, scope: Scope) -> Known:
        found = (stored.record for stored in self.records(scope, kinds=("insight",), current=False))
        insights = tuple([record for record in found if isinstance(record, Insight)])
        pinned = (stored.record for stored in self.records(scope, kinds=("note",), pinned=True))
        summaries: list[Summary] = []
        ended: set[str] = set()
        # By their ids, which carry the time of the last message: sessions need not be ended in the order of the talk.
        latest = Scan(what="records", scope=scope, kinds=("summary",), current=True, by_id=True, newest=True, limit=SESSIONS)
        for item in self.pages(latest):
            summary = item.record if isinstance(item, StoredRecord) else None
            if isinstance(summary, Summary) and summary.thread_id not in ended:
                ended.add(summary.thread_id)
                summaries.append(summary)
                if len(summaries) == SESSIONS:
                    break
        return Known(
            insights=insights,
            by_id={insight.id: insight for insight in insights},
            current=tuple([insight for insight in insights if insight.current]),
            changed=changed_since(insights),
            notes=tuple([record for record in pinned if isinstance(record, Note)]),
            summaries=tuple(summaries),
        )

    def keep(self, namespace: Namespace, record: _R, *, retire: tuple[Retire, ...] = ()) -> _R:
        """Store a record that the caller gives, and retire others in the same transaction; returns it as it is stored: redacted
        if need be, and archived at once where what is there already is worth more.
        """
        with self.telemetry.span("store", namespace=namespace, records=1):
            self.store.put(Put(namespace=namespace, records=(record,), retire=retire, at=record.recorded_at))
        (stored,) = self.store.get(Get(scope=Scope(namespace), records=(record.id,))).records
        assert isinstance(stored.record, type(record)), "an id of ours names no other record"
        return stored.record


class _Last(Generic[_K, _V]):
    """The values kept last, at most `most` of them, each under its key. May be used from many threads."""

    def __init__(self, most: int) -> None:
        self._most = most
        self._kept: OrderedDict[_K, _V] = OrderedDict()
        self._lock = Lock()

    def get(self, key: _K) -> _V | None:
        with self._lock:
            value = self._kept.get(key)
            if value is not None:
                self._kept.move_to_end(key)
            return value

    def keep(self, key: _K, value: _V) -> None:
        with self._lock:
            self._kept[key] = value
            self._kept.move_to_end(key)
            if len(self._kept) > self._most:
                self._kept.popitem(last=False)

    def clear(self) -> None:
        with self._lock:
            self._kept.clear()
