"""Records of a kind, page by page, of which only those are read that are not known: the history of what is known of somebody is
read whole by whoever reconciles, and hardly any of it has changed since the last time.

Each row says at which revision of its namespace it was last written (`changed`). An index has the numbers of a kind with that,
so what is kept is used only where the read at hand finds it unchanged, whichever process has written meanwhile.
"""

from __future__ import annotations

import threading

from bethink.storage.base import Page, Scan, StoredRecord
from bethink.storage.sqlite.driver import Database
from bethink.storage.sqlite.queries import q
from bethink.storage.sqlite.values import decode_record, is_unchanging, listed, path_of

__all__ = ["Histories"]

_KEPT = 20_000
"""Records of a file that are kept; of more, none are for a moment."""
_END = (1 << 63) - 1


class Histories:
    """Keeps records by their row numbers. Nothing is kept that a caller could change. May be used from many threads."""

    def __init__(self) -> None:
        self._kept: dict[int, tuple[int, StoredRecord]] = {}
        self._lock = threading.Lock()

    def serves(self, request: Scan) -> bool:
        """Whether a scan is of one kind in one namespace, history and all, in the order of insertion."""
        whole = not (request.current or request.pinned or request.by_id or request.newest or request.scope.subtree)
        one_kind = request.kinds is not None and len(request.kinds) == 1
        return request.what == "records" and whole and one_kind and request.thread_id is None

    def scan(self, database: Database, request: Scan) -> Page:
        """See `storage.base.Scan`; of what it `serves`."""
        assert request.kinds is not None, "it is of one kind"
        namespace = request.scope.namespace
        after = 0 if request.after is None else int(request.after)
        parameters = (path_of(namespace), request.kinds[0], after, _END, request.limit + 1)
        rows = database.execute(q.versions_of_kind, parameters)
        page = rows[: request.limit]
        kept = self._kept
        found = {number: known[1] for number, changed in page if (known := kept.get(number)) and known[0] == changed}
        missing = [number for number, _ in page if number not in found]
        if missing:
            new: dict[int, tuple[int, StoredRecord]] = {}
            for number, changed, body in database.execute(q.records_by_number, (listed(missing),)):
                found[number] = StoredRecord(namespace, decode_record(body))
                if is_unchanging(body):
                    new[number] = (changed, found[number])
            with self._lock:
                if len(self._kept) + len(new) > _KEPT:
                    self._kept = {}
                self._kept.update(new)
        items = tuple([found[number] for number, _ in page if number in found])
        return Page(items, str(page[-1][0]) if len(rows) > len(page) else None)

    def clear(self) -> None:
        """Keep none: what was removed from the database is not to live on in the process."""
        with self._lock:
            self._kept = {}
