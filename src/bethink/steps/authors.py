"""Whose word the records are that a recall has found, and what contradicts them."""

from __future__ import annotations

import msgspec

from bethink.claims import Contrary
from bethink.engine import Engine
from bethink.records import Note
from bethink.retrieval.hits import Hit, RecallResult
from bethink.sharing.facts import answers_of, contraries, standing
from bethink.storage.base import Get, Scope
from bethink.values import Namespace

__all__ = ["board_of", "with_authors"]

_AUTHORED = ("note", "episode")
"""What agents write. Everything else is drawn from what was said, and has its speaker or its sources."""


def with_authors(engine: Engine, result: RecallResult, *, now: bool) -> RecallResult:
    """The hits with their authors; with `now`, facts of boards with what contradicts them now.

    Cost: where notes or episodes were found, one look for each of their namespaces; where a fact was, a reading of its board.
    """
    wanted: dict[Namespace, list[str]] = {}
    for hit in result.hits:
        if hit.kind in _AUTHORED:
            wanted.setdefault(hit.namespace, []).append(hit.id)
    found: dict[tuple[Namespace, str], tuple[str, tuple[Contrary, ...]]] = {}
    for namespace, ids in wanted.items():
        records = [each.record for each in engine.store.get(Get(scope=Scope(namespace), records=tuple(ids))).records]
        facts = now and any(isinstance(record, Note) and record.claim is not None for record in records)
        answers = answers_of(board_of(engine, namespace)) if facts else {}
        for record in records:
            others = contraries(record, answers) if isinstance(record, Note) else ()
            if record.author:
                found[namespace, record.id] = record.author, others
    if not found:
        return result
    return msgspec.structs.replace(
        result, hits=tuple([_authored(hit, found.get((hit.namespace, hit.id))) for hit in result.hits])
    )


def board_of(engine: Engine, namespace: Namespace) -> list[Note]:
    """What stands on the board of a namespace, oldest first."""
    return standing([record for record in engine.current(namespace, "note") if isinstance(record, Note)])


def _authored(hit: Hit, known: tuple[str, tuple[Contrary, ...]] | None) -> Hit:
    return hit if known is None else msgspec.structs.replace(hit, author=known[0], disputed_by=known[1])
