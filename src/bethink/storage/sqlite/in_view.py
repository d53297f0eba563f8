"""What whoever searches has before him already, told by message numbers: a window of any length is one range of them.

    InView ─▶ LeftOut ─┬─ ranges   the messages of the thread
                       ├─ others   their copies in other threads, where there are any; records
                       └─ units    all of these one by one, for who can leave out nothing else

A thread's number and a seq are a message's number, and every unit knows its owner, so most legs ask of the few units that they
have found whether those are in view.
"""

from __future__ import annotations

from bisect import bisect_right
from functools import cached_property
from itertools import accumulate

from bethink.storage.base import InView
from bethink.storage.sqlite.driver import Database, Row
from bethink.storage.sqlite.queries import q
from bethink.storage.sqlite.values import SEQ_BITS, listed, path_of

__all__ = ["LeftOut"]

_LAST_SEQ = (1 << SEQ_BITS) - 1


class LeftOut:
    """What a search is not to find. True if there may be any.

    Attributes:
        others: units beside those of the thread's own messages.
    """

    def __init__(self, database: Database, asked: InView | None, namespaces: list[Row]) -> None:
        """`namespaces` are those of the scope, number and path first."""
        self._database = database
        self._ranges: list[tuple[int, int]] = []
        self._copies: frozenset[int] = frozenset()
        self.others: frozenset[int] = frozenset()
        number = None if asked is None else next((row[0] for row in namespaces if row[1] == path_of(asked.namespace)), None)
        if asked is None or number is None:
            return
        for thread, alone in database.execute(q.thread_in_view, (number, asked.thread_id)) if asked.spans else ():
            first = thread << SEQ_BITS
            self._ranges = sorted((first + max(start, 1), first + min(end, _LAST_SEQ)) for start, end in asked.spans)
            if not alone:
                rows = database.execute(q.copies_in_view, (number, thread, listed(self._ranges)))
                self._copies = frozenset([message for message, _ in rows])
                self.others = frozenset([unit for _, unit in rows if unit is not None])
        if asked.records:
            self.others |= {unit for (unit,) in database.execute(q.records_in_view, (number, listed(asked.records)))}
        self._starts = [start for start, _ in self._ranges]
        # Ranges may overlap: of those that have begun, the one that goes on longest decides.
        self._ends = list(accumulate([end for _, end in self._ranges], max))

    def __bool__(self) -> bool:
        return bool(self._ranges or self.others or self._copies)

    @property
    def messages(self) -> bool:
        """Whether messages of the thread may be in view, which are not among `others`."""
        return bool(self._ranges)

    def holds_message(self, number: int) -> bool:
        """Whether the message of that number is in view."""
        if not self._ranges:
            return False
        begun = bisect_right(self._starts, number)
        return (begun > 0 and number <= self._ends[begun - 1]) or number in self._copies

    @cached_property
    def units(self) -> tuple[int, ...]:
        """All units that are left out, ascending."""
        own = self._database.execute(q.units_in_view, (listed(self._ranges),)) if self._ranges else ()
        return tuple(sorted(self.others.union([unit for (unit,) in own])))
