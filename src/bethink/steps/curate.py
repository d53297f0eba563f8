"""What a language model does for long-term memory, thread by thread: the jobs, and how their outcomes are stored.

    progress ─▶ the next job: messages, or what was drawn from them ─▶ step ─▶ outcome ─▶ one Put with its Asked

A job is about a stretch of one thread. What came of it is stored in one transaction with the record that it was asked
(`Asked`), against the one that was kept before: so nothing is asked twice for the same messages, and of two processes one wins.
Where it fails, that record is all that is stored, and memory stays as it is without a model.
"""

from __future__ import annotations

from collections.abc import Callable, Generator, Iterable, Iterator, Sequence
from datetime import datetime

import msgspec

from bethink.compaction.model_summary import Written
from bethink.engine import Engine
from bethink.errors import Conflict, NotFound
from bethink.ids import new_id
from bethink.insights.asked import Progress, asked_of, progress_of
from bethink.insights.model_extract import EXTRACT_PROMPT, Extracted, extract_span, extract_with_model
from bethink.insights.model_importance import IMPORTANCE_PROMPT, MOST_WEIGHED, Weighed, weigh_with_model
from bethink.insights.model_reconcile import (
    MOST_PAIRS,
    RECONCILE_PROMPT,
    Decided,
    decided_changes,
    near_pairs,
    reconcile_with_model,
)
from bethink.insights.model_reflect import REFLECT_PROMPT, model_summary, reflect_with_model
from bethink.insights.proposing import proposals
from bethink.insights.reconcile import Changes, reconcile
from bethink.insights.reflect import archive
from bethink.insights.retention import exempt
from bethink.messages import Message
from bethink.records import Insight
from bethink.steps.derive import current_after
from bethink.steps.refine_report import Answered, Found, Step, Tally
from bethink.steps.reflect import former_summary
from bethink.steps.usage import Meter
from bethink.storage.base import Ask, Asked, AskedStep, Change, Cursor, Get, Put, Read, Retire, Scan, Scope, Weigh
from bethink.threads import ThreadInfo
from bethink.values import Namespace

__all__ = ["ASKED_STEPS", "Job", "asked_in", "curating", "jobs_of"]

ASKED_STEPS: tuple[AskedStep, ...] = ("extract", "reconcile", "importance", "reflect")
"""The steps, in the order in which they are done: each goes on with what the one before it has brought."""

_PAGE = 400
"""Messages read at a time."""

replace = msgspec.structs.replace


class Stored(msgspec.Struct, frozen=True, kw_only=True):
    """What of an answer is to be stored.

    Attributes:
        put: without what was asked.
        kept: how many things of the answer are in it.
        dropped: how many are not, by why.
    """

    put: Put
    kept: int = 0
    dropped: dict[str, int] = msgspec.field(default_factory=dict)


class Job(msgspec.Struct, frozen=True, kw_only=True):
    """Something to ask a model.

    Attributes:
        step, first, through, prompt: see `Asked`.
        last: what is kept of asking for the same.
        work: the step of a model, not started yet.
        store: what an answer comes to, as of a time.
    """

    step: AskedStep
    first: int
    through: int
    prompt: str
    work: Step
    store: Callable[[Found, datetime], Stored]
    last: Asked | None = None


class _Thread(msgspec.Struct, frozen=True):
    """A thread as a step finds it, and how far the step before is with it."""

    engine: Engine
    namespace: Namespace
    info: ThreadInfo
    model: str
    settled: int

    @property
    def thread_id(self) -> str:
        return self.info.thread_id

    def put(self, now: datetime, changes: Changes) -> Put:
        """A request for what changes, which one `undo` takes back."""
        put = Put(namespace=self.namespace, records=changes.records, retire=changes.retire, at=now)
        return self.undoable(put, now) if put.records or put.retire else put

    def undoable(self, put: Put, now: datetime) -> Put:
        return replace(put, change=Change(id=new_id(now), at=now, what="drawn", thread_id=self.thread_id))


# -- doing ----------------------------------------------------------------------------------------------------------------


def curating(
    engine: Engine, namespace: Namespace, thread_id: str, model: str, tally: Tally, meter: Meter
) -> Generator[Step, Answered, None]:
    """Do the steps of `tally.steps` that are about long-term memory, for one thread."""
    for step in ASKED_STEPS:
        if step in tally.steps:
            yield from _doing(engine, namespace, thread_id, step, model, tally, meter)


def _doing(
    engine: Engine, namespace: Namespace, thread_id: str, step: AskedStep, model: str, tally: Tally, meter: Meter
) -> Generator[Step, Answered, None]:
    # Each at most once in a call, whatever comes of it.
    tried: set[int] = set()
    while True:
        try:
            progress, jobs = jobs_of(engine, namespace, thread_id, step, model, tally.steps)
        except NotFound:
            return
        job = next((each for each in jobs if each.first not in tried), None)
        refusal = meter.refusal
        if job is not None and refusal is not None:
            tally.limited = refusal.limit
        if job is None or refusal is not None or not tally.may_ask:
            tally.leave_asked(progress, left=job is not None)
            return
        tried.add(job.first)
        answered = yield meter.within(job.work)
        meter.keep(answered.calls)
        if meter.refused:
            tally.drop(answered)
        else:
            tally.add_asked(*_settle(engine, namespace, thread_id, job, answered, model))


def _settle(
    engine: Engine, namespace: Namespace, thread_id: str, job: Job, answered: Answered, model: str
) -> tuple[Asked, bool]:
    """Store what came of a job; the record of it, and whether it was kept."""
    now, outcome = engine.clock.now(), answered.outcome
    reason = "" if isinstance(outcome, Written) else outcome.reason
    stored = Stored(put=Put(namespace=namespace, at=now)) if reason else job.store(outcome, now)
    asked = asked_of(
        job.step,
        thread_id=thread_id,
        first=job.first,
        through=job.through,
        model=model,
        prompt=job.prompt,
        at=now,
        last=job.last,
        backoff=engine.settings.model_backoff,
        reason=reason,
        detail="" if isinstance(outcome, Written) else outcome.detail,
        kept=stored.kept,
        dropped=stored.dropped,
        usage=outcome.usage,
        seconds=answered.seconds,
    )
    try:
        engine.store.put(replace(stored.put, asked=(Ask(asked, job.last),)))
    except (Conflict, NotFound):
        # Somebody else was faster, or something of it was forgotten meanwhile: nothing of it is stored.
        return asked, False
    return asked, True


# -- what there is to do --------------------------------------------------------------------------------------------------


def asked_in(engine: Engine, scope: Scope, thread_id: str | None = None) -> Iterator[Asked]:
    """What came of asking, in the order of the first attempts."""
    for item in engine.pages(Scan(what="asked", scope=scope, thread_id=thread_id)):
        assert isinstance(item, Asked), "a page holds what was asked for"
        yield item


def jobs_of(
    engine: Engine, namespace: Namespace, thread_id: str, step: AskedStep, model: str, steps: Sequence[str]
) -> tuple[Progress, Iterator[Job]]:
    """How a step stands for a thread, and what there is to ask now, oldest first. Nothing is stored, and no model is asked.

    Raises:
        NotFound: the thread is gone.
    """
    info = engine.store.read(Read(namespace=namespace, thread_id=thread_id, limit=0)).thread
    rows = list(asked_in(engine, Scope(namespace), thread_id))
    now, backoff = engine.clock.now(), engine.settings.model_backoff
    progress = progress_of([each for each in rows if each.step == step], model=model, now=now, backoff=backoff)
    settled = info.tip
    if step != "extract" and "extract" in steps and info.handed_from is None:
        # What waits to be extracted comes to be known later, and is to be compared and judged then.
        before = progress_of([each for each in rows if each.step == "extract"], model=model, now=now, backoff=backoff)
        settled = before.settled if before.due or before.waiting else info.tip
    found = _JOBS[step](_Thread(engine, namespace, info, model, settled), progress)
    return progress, found


def _extract_jobs(thread: _Thread, progress: Progress) -> Iterator[Job]:
    # Who hands work to a specialist is not the user, and states nothing about one.
    if thread.info.handed_from is not None:
        return
    for last in progress.due:
        if messages := _messages(thread, last.first, last.through):
            yield _extract_job(thread, messages, last.first, last.through, last)
    first = start = progress.through + 1
    settings, count = thread.engine.settings, thread.engine.counter.count
    while start <= thread.info.tip:
        page = _messages(thread, start, start + _PAGE - 1)
        span = extract_span(page, count=count, window=settings.model_window)
        if not span:
            start += _PAGE
            continue
        through = span[-1].seq if len(span) < len(page) else min(start + _PAGE - 1, thread.info.tip)
        yield _extract_job(thread, span, first, through, None)
        first = start = through + 1


def _extract_job(thread: _Thread, messages: Sequence[Message], first: int, through: int, last: Asked | None) -> Job:
    engine, namespace = thread.engine, thread.namespace
    rules = [each for each in engine.insights(namespace) if "drawn_by" not in each.metadata]

    def store(found: Found, now: datetime) -> Stored:
        assert isinstance(found, Extracted), "a step is answered with what came of it"
        drawn = [replace(each, recorded_at=now) for each in found.insights]
        known = engine.insights(namespace)
        if engine.settings.review:
            waiting = Changes(proposals(known, drawn, now=now))  # type: ignore[arg-type]
            return Stored(put=thread.put(now, waiting), kept=len(waiting.records), dropped=found.dropped)
        changes = reconcile(known, drawn, now=now)
        left = (
            archive(current_after(known, changes), now=now, settings=engine.settings, template=engine.template)
            if changes.records
            else ()
        )
        changes = replace(changes, retire=changes.retire + left)
        return Stored(put=thread.put(now, changes), kept=len(changes.records), dropped=found.dropped)

    work = extract_with_model(messages, thread_id=thread.thread_id, now=engine.clock.now(), author=thread.model, rules=rules)
    return Job(step="extract", first=first, through=through, prompt=EXTRACT_PROMPT, work=work, store=store, last=last)


def _reconcile_jobs(thread: _Thread, progress: Progress) -> Iterator[Job]:
    engine, namespace = thread.engine, thread.namespace
    if engine.settings.review:
        return
    for first, through, last in _stretches(thread, progress):
        current = engine.insights(namespace, current=True)
        placed = _placed(thread, current, first, through)
        pairs = near_pairs(current, placed)
        # As many of them as one call takes, whole messages at a time.
        seqs = [placed[pair.newer.id] for pair in pairs]
        pairs = tuple([pair for _, pair in sorted(zip(seqs, pairs, strict=True), key=lambda each: each[0])])
        if len(pairs) > MOST_PAIRS and last is None and (cut := sorted(seqs)[MOST_PAIRS] - 1) >= min(seqs):
            through = cut
            pairs = tuple([pair for pair in pairs if placed[pair.newer.id] <= cut])
        if not pairs and last is None:
            continue

        def store(found: Found, now: datetime) -> Stored:
            assert isinstance(found, Decided), "a step is answered with what came of it"
            known = engine.insights(namespace, current=True)
            changes, unchanged = decided_changes(found.decisions, known, now=now, retention=engine.settings.retention)
            return Stored(put=thread.put(now, changes), kept=len(changes.retire), dropped=_sum(found.dropped, unchanged))

        yield Job(
            step="reconcile",
            first=first,
            through=through,
            prompt=RECONCILE_PROMPT,
            work=reconcile_with_model(pairs),
            store=store,
            last=last,
        )


def _importance_jobs(thread: _Thread, progress: Progress) -> Iterator[Job]:
    engine, namespace = thread.engine, thread.namespace
    if engine.settings.review:
        return
    for first, through, last in _stretches(thread, progress):
        current = [each for each in engine.insights(namespace, current=True) if not exempt(each, engine.settings.retention)]
        placed = _placed(thread, current, first, through)
        asked = sorted((each for each in current if each.id in placed), key=lambda each: (placed[each.id], each.id))
        if len(asked) > MOST_WEIGHED and last is None and (cut := placed[asked[MOST_WEIGHED].id] - 1) >= placed[asked[0].id]:
            through = cut
            asked = [each for each in asked if placed[each.id] <= cut]
        if not asked and last is None:
            continue

        def store(found: Found, now: datetime) -> Stored:
            assert isinstance(found, Weighed), "a step is answered with what came of it"
            there = {each.id: each for each in engine.insights(namespace, current=True)}
            weigh = tuple(
                [
                    Weigh(name, importance)
                    for name, importance in found.importance
                    if name in there and there[name].importance != importance
                ]
            )
            return Stored(put=Put(namespace=namespace, weigh=weigh, at=now), kept=len(weigh), dropped=found.dropped)

        yield Job(
            step="importance",
            first=first,
            through=through,
            prompt=IMPORTANCE_PROMPT,
            work=weigh_with_model(asked),
            store=store,
            last=last,
        )


def _reflect_jobs(thread: _Thread, progress: Progress) -> Iterator[Job]:
    engine, at = thread.engine, thread.info.reflected_through
    last = next((each for each in progress.due if each.first == at), None)
    if engine.settings.review or not at or (last is None and progress.through >= at):
        return
    former = former_summary(engine, thread.namespace, thread.thread_id)
    if former is None or former.through != at:
        return
    messages = engine.store.read(Read(namespace=thread.namespace, thread_id=thread.thread_id, before=at + 1)).messages

    def store(found: Found, now: datetime) -> Stored:
        assert isinstance(found, Written), "a step is answered with what came of it"
        summary = model_summary(found, messages, former, now=now)
        if summary is None:
            return Stored(put=Put(namespace=thread.namespace, at=now))
        retire = Retire(former.id, now, "replaced by a model's summary of the same session", superseded_by=summary.id)
        # Unless it was ended again meanwhile.
        cursor = Cursor(thread.thread_id, "reflected", at, at)
        put = Put(namespace=thread.namespace, records=(summary,), retire=(retire,), cursor=cursor, at=now)
        return Stored(put=thread.undoable(put, now), kept=len(summary.lines))

    work = reflect_with_model(messages, count=engine.counter.count, author=thread.model, settings=engine.settings)
    yield Job(step="reflect", first=at, through=at, prompt=REFLECT_PROMPT, work=work, store=store, last=last)


_JOBS: dict[AskedStep, Callable[[_Thread, Progress], Iterator[Job]]] = {
    "extract": _extract_jobs,
    "reconcile": _reconcile_jobs,
    "importance": _importance_jobs,
    "reflect": _reflect_jobs,
}


# -- looking up -----------------------------------------------------------------------------------------------------------


def _messages(thread: _Thread, first: int, through: int) -> tuple[Message, ...]:
    read = Read(namespace=thread.namespace, thread_id=thread.thread_id, after=first - 1, before=through + 1)
    return thread.engine.store.read(read).messages


def _stretches(thread: _Thread, progress: Progress) -> Iterator[tuple[int, int, Asked | None]]:
    """`(first, through, last)` of what is to be asked about: what failed, and what was never asked."""
    for last in progress.due:
        yield last.first, last.through, last
    if progress.through < thread.settled:
        yield progress.through + 1, thread.settled, None


def _placed(thread: _Thread, insights: Iterable[Insight], first: int, through: int) -> dict[str, int]:
    """The seq of the newest message of this stretch of the thread that an insight rests on, by the insight's id."""
    of: dict[str, list[str]] = {}
    for each in insights:
        for source in each.sources:
            if source.thread_id == thread.thread_id:
                of.setdefault(source.message_id, []).append(each.id)
    found: dict[str, int] = {}
    if of:
        got = thread.engine.store.get(Get(scope=Scope(thread.namespace), messages=tuple(of), thread_id=thread.thread_id))
        for stored in got.messages:
            if stored.thread_id == thread.thread_id and first <= stored.message.seq <= through:
                for name in of[stored.message.id]:
                    found[name] = max(found.get(name, 0), stored.message.seq)
    return found


def _sum(one: dict[str, int], other: dict[str, int]) -> dict[str, int]:
    return {why: one.get(why, 0) + other.get(why, 0) for why in sorted({*one, *other})}
