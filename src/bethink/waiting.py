"""Those of one process who wait for a turn of a thread: one line for each thread, and one who asks the store.

    join ─▶ in line ─▶ first: asks the store ─▶ begin ─▶ its turn ─▶ end: the next is woken
                          └▶ busy ─▶ waits: for the one who has it if that is in this process, else a while

Who has the turn in another process cannot tell us when it is given back, so the first in line asks again after a while, at odd
intervals that grow to a tenth of a second. Who has it in this process wakes the first in line, which until then need not ask.
Either way nobody waits beyond the end of a lease: a holder that died, or never came back, is in nobody's way for longer.

The line is fair among those of a process. Among processes the first to ask after the end gets it, and that would always be the
one that knows when the end is. So a process that has had a thread for two seconds without a break makes one, long enough for
whoever waits elsewhere to ask.
"""

from __future__ import annotations

import os
import random
import threading
import time
from collections.abc import Callable
from datetime import timedelta
from typing import NamedTuple, TypeAlias
from weakref import WeakKeyDictionary

from bethink.errors import ThreadBusy
from bethink.models import Clock
from bethink.storage.base import Store
from bethink.values import Namespace

__all__ = ["Lines", "Wait", "lines_of"]

Key: TypeAlias = tuple[Namespace, str]
"""A namespace and a thread in it."""

_SHORTEST, _FIRST, _LONGEST = 0.001, 0.005, 0.1
_LATEST = 1.5 * _LONGEST
"""The longest time between two questions, see `Wait.seconds`."""
_LONG = 2.0
"""How long a process may have a thread without a break that is longer than that."""


class _Had(NamedTuple):
    """From when to when this process had a thread without a break, of `time.monotonic`."""

    since: float
    until: float


class _Line:
    """Of one thread."""

    __slots__ = ("here", "since", "waiting")

    def __init__(self) -> None:
        self.since = 0.0
        """Since when this process has had the thread without a break."""
        self.waiting: dict[str, Callable[[], object]] = {}
        """Holders-to-be in the order in which they came, each with what wakes it."""
        self.here: set[str] = set()
        """Those, and who has the turn if it is one of this process."""


class Lines:
    """The lines for one store. Safe to use from many threads; whatever wakes somebody is called outside of the lock."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._lines: dict[Key, _Line] = {}
        self._had: dict[Key, _Had] = {}
        """Of threads that were given back a moment ago, in that order."""

    def join(self, key: Key, holder: str, wake: Callable[[], object]) -> None:
        """Stand at the end. `wake` may be called from any thread, when something may have changed for this one."""
        with self._lock:
            line = self._lines.setdefault(key, _Line())
            line.waiting[holder] = wake
            line.here.add(holder)

    def is_first(self, key: Key, holder: str) -> bool:
        with self._lock:
            return next(iter(self._lines[key].waiting), None) == holder

    def is_here(self, key: Key, holder: str) -> bool:
        """Whether it waits or has its turn in this process."""
        with self._lock:
            return holder in self._lines[key].here

    def begin(self, key: Key, holder: str) -> None:
        """It has its turn now; another is the first in line."""
        with self._lock:
            line = self._lines[key]
            del line.waiting[holder]
            now = time.monotonic()
            had = self._had.get(key)
            line.since = had.since if had is not None and now < had.until + _LATEST else now
            wake = _first(line)
        wake()

    def end(self, key: Key, holder: str) -> None:
        """It has had its turn, or waits no more. Doing it twice is fine."""
        with self._lock:
            line = self._lines.get(key)
            if line is None:
                return
            if holder in line.here and holder not in line.waiting:
                self._note(key, _Had(line.since, time.monotonic()))
            line.here.discard(holder)
            line.waiting.pop(holder, None)
            if not line.here:
                del self._lines[key]
            wake = _first(line)
        wake()

    def break_left(self, key: Key) -> float:
        """How many seconds this process is to leave the thread alone, since it has had it for long."""
        with self._lock:
            had = self._had.get(key)
            if had is None or had.until - had.since < _LONG:
                return 0.0
            return max(0.0, had.until + _LATEST - time.monotonic())

    def _note(self, key: Key, had: _Had) -> None:
        """Remember that it was had, and drop what is of no interest any more."""
        self._had.pop(key, None)
        self._had[key] = had
        while (oldest := next(iter(self._had))) != key and self._had[oldest].until + _LATEST < had.until:
            del self._had[oldest]


def _first(line: _Line) -> Callable[[], object]:
    """What wakes the first in line."""
    return next(iter(line.waiting.values()), _nobody)


def _nobody() -> None:
    """There is nobody to wake."""


class Wait:
    """How one who has joined a line goes about it: when to ask the store, and how long to wait in between."""

    def __init__(self, lines: Lines, key: Key, holder: str, timeout: timedelta, clock: Clock) -> None:
        self._lines = lines
        self._key = key
        self._holder = holder
        self._clock = clock
        self._deadline = time.monotonic() + timeout.total_seconds()
        self._late = False
        self._break = 0.0
        self._interval = _FIRST

    def asks(self) -> bool:
        """Whether the store is to be asked now: by the first in line, and by each once when its time is over."""
        self._late = time.monotonic() >= self._deadline
        self._break = self._lines.break_left(self._key)
        return self._late or (not self._break and self._lines.is_first(self._key, self._holder))

    def seconds(self, busy: ThreadBusy | None) -> float:
        """How long to wait to be woken, before `asks` is called again. `busy` is what the store answered, if it was asked.

        Raises:
            ThreadBusy: that answer, when the time is over.
        """
        left = self._deadline - time.monotonic()
        pause = self._break or left
        if busy is not None:
            if self._late:
                raise busy
            pause = (busy.until - self._clock.now()).total_seconds()
            if not self._lines.is_here(self._key, busy.holder):
                pause = min(pause, self._interval * random.uniform(0.5, 1.5))  # noqa: S311 - no secret
                self._interval = min(2 * self._interval, _LONGEST)
        return max(_SHORTEST, min(pause, left))


_of_store: WeakKeyDictionary[Store, Lines] = WeakKeyDictionary()
_lock = threading.Lock()


def lines_of(store: Store) -> Lines:
    """The lines for a store in this process."""
    with _lock:
        found = _of_store.get(store)
        if found is None:
            found = _of_store[store] = Lines()
        return found


def _after_fork() -> None:
    """In the child: those in line are threads of the parent."""
    # The lock may have been held by one of them.
    global _of_store, _lock
    _of_store, _lock = WeakKeyDictionary(), threading.Lock()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_after_fork)
