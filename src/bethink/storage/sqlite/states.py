"""What a fork takes over of the state of its parent. Everything else that is done with entries is done as with any record."""

from __future__ import annotations

from bethink.records import StateEntry
from bethink.storage.derive import states_within
from bethink.storage.sqlite.driver import Database
from bethink.storage.sqlite.queries import q
from bethink.storage.sqlite.values import decode_record, encode

__all__ = ["fork"]


def fork(database: Database, namespace: int, parent_id: str, seq: int, fork_id: str) -> None:
    """Copy the entries at or below a seq into a fork whose messages are there already."""
    rows = database.execute(q.state_of_thread, (namespace, parent_id))
    entries = [entry for entry in (decode_record(body) for (body,) in rows) if isinstance(entry, StateEntry)]
    copies = 0
    for entry in states_within(entries, seq, fork_id):
        found = [database.execute(q.find_message, (namespace, fork_id, source.message_id)) for source in entry.sources]
        # What was imported has its seqs anew, so a source may lie beyond the fork though the entry does not.
        if all(found):
            row = (namespace, entry.id, entry.kind, not entry.current, None, fork_id, entry.pinned, encode(entry))
            record = database.insert(q.add_record, row)
            database.executemany(q.add_source, [(message[0][0], record) for message in found])
            copies += 1
    if copies:
        database.execute(q.next_revision)
        database.execute(q.set_revision, (namespace,))
